"""The forces in a pile: contact forces, stress, forces on walls, force chains.

A contact pushes the first of its bodies with -f n and the second, or the wall, with +f n: n is the unit vector from
the first to the second or into the wall, and f = p / h the impulse of a step over its length. The sums over contacts c,

    stress            sigma = 1/V sum_c f_c n_c (x) l_c        l the branch vector, from centre to centre or to the wall
    force on wall w   F_w = sum_{c on w} f_c n_c
    fabric            <n (x) n> = 1/m sum_c n_c (x) n_c

take those of one saved frame, that is, of the step that led there. (Christoffersen, Mehrabadi & Nemat-Nasser 1981 for
the stress; Radjai, Jean, Moreau & Roux 1996 for the strong contacts, those above the mean force.)

Where contacts depend on each other, as in a regular lattice, the forces are not unique: the solver has chosen some. The
total force on each body is unique, and so is what follows from the balance of all. Geometry is in `contact_numbers`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from jostle.arguments import check_arguments
from jostle.arrays import Array, Booleans, Integers, finite, shaped
from jostle.errors import InvalidValue
from jostle.sets.radii import body_radii
from jostle.shapes import walls_of
from jostle.solution import Solution

ABOVE_MEAN = 1.0 + 1e-12
"""A force is above the mean if it exceeds this multiple of the mean, which allows for round-off."""


@dataclass(frozen=True, eq=False)
class Forces:
    """The m contacts that carry a force; see `forces`.

    >>> pairs, normals = np.array([[0, 1], [1, -1]]), np.array([[1.0, 0.0], [0.0, -1.0]])
    >>> two = Forces(np.array([1.0, 3.0]), pairs, normals, present=np.ones(2, dtype=bool))
    >>> two.mean, two.between.tolist(), two.strong.tolist()
    (2.0, [True, False], [False, True])
    """

    magnitude: Array
    """(m,) f, positive where the contact pushes; negative, a pull, only where it is gluey."""
    pairs: Integers
    """(m, 2) (i, j) two bodies, (i, -1 - w) body i and wall w."""
    normals: Array
    """(m, d) unit vectors from the first body to the second, or into the wall."""
    present: Booleans
    """(n,) the bodies that were there: all of them, unless bodies come and go."""

    @property
    def mean(self) -> float:
        """<|f|> over these contacts; 0 if there are none."""
        return float(np.abs(self.magnitude).mean()) if len(self.magnitude) else 0.0

    @property
    def between(self) -> Booleans:
        """(m,) is the contact between two bodies, not with a wall?"""
        return np.asarray(self.pairs[:, 1] >= 0)

    @property
    def strong(self) -> Booleans:
        """(m,) is the force above the mean?"""
        return np.asarray(self.magnitude > ABOVE_MEAN * self.mean)


@check_arguments
def forces(sol: Solution, k: int = -1) -> Forces:
    """f = p / h of each contact with p != 0, in the step that led to frame k; none at the start.

    In an impact it is the mean force of the step, which grows as 1 / h. In first-order problems it is p itself, a
    velocity: the force on a body of unit drag. With a mass it is a mass times a velocity.

    >>> import jostle as jo
    >>> tower = jo.Motion(q0=[[0.0, 1.0], [0.0, 3.0]], force=[0.0, -10.0], mass=1.0,
    ...                   within=jo.Balls([1.0, 1.0]) & jo.HalfSpace([0, 1], radii=1.0))
    >>> found = forces(jo.solve(tower, jo.Maury(), t=0.1, h=0.01))
    >>> found.magnitude.round(9).tolist(), found.pairs.tolist()
    ([10.0, 20.0], [[0, 1], [0, -1]])
    """
    q = sol.q[k]
    p, pairs, normals = sol.multipliers[k], sol.pairs[k], sol.normals[k]
    d = normals.shape[1] or (q.shape[-1] if q.ndim else 1)  # balls on a line have q (n,) and normals (m, 1)
    x = q.reshape(-1, d)
    active = np.flatnonzero(p)
    if len(active) and normals.shape[1] == 0:
        raise InvalidValue(
            "the constraints of this run have no normals: forces are known only within sets that are made of contacts "
            "of bodies (Balls, walls), not under constraints on the whole configuration"
        )
    present = np.isfinite(x).all(axis=1)
    pairs, normals = pairs[active], normals[active].reshape(len(active), x.shape[1])
    present[pairs[pairs >= 0]] = True  # also those that left at the end of the step
    return Forces(p[active] / sol.duration(k), pairs, normals, present)


@check_arguments
def stress(sol: Solution, k: int = -1, *, radii: ArrayLike, volume: float) -> Array:
    """(d, d) the mean stress of the contacts, sigma = 1/V sum f n (x) l; compression is positive.

    The branch vector is l = (r_i + r_j) n between two bodies, across a periodic boundary too, and l = r_i n on a wall:
    a contact with a force is closed at the end of the step. The kinetic part 1/V sum m u (x) u is not in it. The volume
    V is that of the container.

    At rest V sigma = sum F_c (x) x_c - sum W_i (x) q_i, by the balance of all bodies, where F_c is the force on a wall
    at x_c and W_i a weight. So above a floor at height 0, V sigma_zz is the sum of m g z, and that is the integral over
    z of the weight above z.

    >>> import jostle as jo
    >>> press = jo.Motion(q0=[[1.0, 1.0], [3.0, 1.0]], force=[[6.0, 0.0], [-6.0, 0.0]], within=jo.Balls([1.0, 1.0]))
    >>> sol = jo.solve(press, jo.Maury(), t=0.1, h=0.01)
    >>> (stress(sol, radii=1.0, volume=8.0) + 0.0).round(9).tolist()
    [[1.5, 0.0], [0.0, 0.0]]
    """
    if not 0.0 < volume < np.inf:
        raise InvalidValue(f"the volume must be positive and finite, not {volume}")
    found = forces(sol, k)
    r = body_radii(finite(radii, "radii"), len(found.present), float(sol.t[k]), allow_zero=True)
    i, j = found.pairs.T
    branch = r[i] + np.where(found.between, r[np.maximum(j, 0)], 0.0)
    return np.asarray((found.normals.T * (found.magnitude * branch)) @ found.normals / volume)


@check_arguments
def pressure(sol: Solution, k: int = -1, *, radii: ArrayLike, volume: float) -> float:
    """The mean pressure of the contacts, trace(sigma) / d; see `stress`.

    >>> import jostle as jo
    >>> press = jo.Motion(q0=[[1.0, 1.0], [3.0, 1.0]], force=[[6.0, 0.0], [-6.0, 0.0]], within=jo.Balls([1.0, 1.0]))
    >>> round(pressure(jo.solve(press, jo.Maury(), t=0.1, h=0.01), radii=1.0, volume=8.0), 9)
    0.75
    """
    sigma = stress(sol, k, radii=radii, volume=volume)
    return float(np.trace(sigma) / len(sigma))


@check_arguments
def wall_force(sol: Solution, k: int = -1) -> Array:
    """(walls, d) the total force on each wall, F_w = sum f n over its contacts.

    Walls are numbered as in `pairs`: in the order of the sets, a `Box` first its lower sides, axis by axis, then its
    upper ones, those at infinity left out. Without friction the floor carries the whole weight of a pile at rest,
    however tall and narrow: there is no Janssen effect.

    >>> import jostle as jo
    >>> pile = jo.models.spheres([0.5, 0.4, 0.5], box=([0, 0], [1.1, np.inf]))
    >>> sol = jo.solve(pile, jo.Maury(), t=5.0, h=0.01)
    >>> left, floor, right = wall_force(sol)
    >>> floor.round(6).tolist(), pile.constant_force.sum(axis=0).round(6).tolist()
    ([0.0, -20.340556], [0.0, -20.340556])
    """
    found = forces(sol, k)
    on_wall = ~found.between
    walls = -1 - found.pairs[on_wall, 1]
    total = np.zeros((_walls(sol, k), found.normals.shape[1]))
    np.add.at(total, walls, (found.magnitude[:, None] * found.normals)[on_wall])
    return total


def _walls(sol: Solution, k: int) -> int:
    """How many walls there are, touched or not."""
    if sol.problem is not None:
        return walls_of(sol.problem.within, float(sol.t[k]), np.asarray(sol.q[k]))[0]
    if sol.walls is None:
        raise InvalidValue(
            "this file does not say how many walls there are: it is of the older format 1. Give the problem and the "
            "scheme of the run: jo.io.read(path, problem, scheme)"
        )
    return sol.walls


@check_arguments
def wall_pressure(sol: Solution, k: int = -1, *, area: ArrayLike) -> Array:
    """(walls,) the mean pressure on each wall, |F_w| / area, for one area or one for each; lengths in the plane.

    >>> import jostle as jo
    >>> pile = jo.models.spheres([0.5, 0.4, 0.5], box=([0, 0], [1.1, np.inf]))
    >>> sol = jo.solve(pile, jo.Maury(), t=5.0, h=0.01)
    >>> left, floor, right = wall_pressure(sol, area=[3.0, 1.1, 3.0])
    >>> round(float(floor), 6), bool(np.isclose(left, right))
    (18.491414, True)
    """
    total = wall_force(sol, k)
    size = finite(area, "area")
    if size.shape not in ((), (len(total),)) or not (size > 0.0).all():
        raise InvalidValue(f"area must be positive, one number or one for each of {len(total)} walls, not {area!r}")
    return np.asarray(np.linalg.norm(total, axis=1) / size)


@dataclass(frozen=True, eq=False)
class ForceDistribution:
    """How the forces are distributed; see `force_distribution`."""

    edges: Array
    """(b + 1,) the ends of the bins of f / <f>."""
    density: Array
    """(b,) the probability density: its integral over the bins is 1, less the part of the contacts outside of them."""
    share: float
    """The part of the contacts whose force is above the mean,"""
    load: float
    """and the part of the sum of all forces that these carry."""


@check_arguments
def force_distribution(sol: Solution, k: int = -1, *, bins: int | ArrayLike = 20) -> ForceDistribution:
    """The density of f / <f> over the contacts of frame k, and what those above the mean carry.

    `bins` is a number, from 0 to the largest force, or the edges.

    >>> import jostle as jo
    >>> tower = jo.Motion(q0=[[0.0, 1.0], [0.0, 3.0], [0.0, 5.0], [0.0, 7.0]], force=[0.0, -10.0],
    ...                   within=jo.Balls(np.ones(4)) & jo.HalfSpace([0, 1], radii=1.0))
    >>> found = force_distribution(jo.solve(tower, jo.Maury(), t=0.1, h=0.01), bins=[0, 0.5, 1, 1.5, 2])
    >>> found.density.tolist(), found.share, round(found.load, 9)           # 10, 20, 30 and 40
    ([0.5, 0.5, 0.5, 0.5], 0.5, 0.7)
    """
    found = forces(sol, k)
    if len(found.magnitude) == 0:
        raise InvalidValue(f"no contact carries a force at t = {sol.t[k]:g}: there is nothing to distribute")
    relative = found.magnitude / found.mean
    ends = (min(0.0, float(relative.min())), float(relative.max()))
    if isinstance(bins, int) and bins < 1:
        raise InvalidValue(f"bins must be at least 1, not {bins}")
    counts, edges = np.histogram(relative, bins=bins if isinstance(bins, int) else shaped(bins, "bins", -1), range=ends)
    strong = found.strong
    load = float(np.abs(relative[strong]).sum() / np.abs(relative).sum())
    return ForceDistribution(edges, counts / (len(relative) * np.diff(edges)), float(strong.mean()), load)


@dataclass(frozen=True, eq=False)
class ForceChains:
    """The strong network, the contacts with f > <f>; see `force_chains`."""

    pairs: Integers
    """(s, 2) the strong contacts."""
    cluster: Integers
    """(n,) to which cluster a body belongs, 0 the largest; -1 if it has no strong contact."""
    sizes: Integers
    """(c,) how many bodies each cluster has, the largest first."""
    fraction: float
    """The part of the bodies that are in the network."""
    fabric: Array
    """(d, d) <n (x) n> of all contacts with a force, trace 1; zero if there are none."""
    strong_fabric: Array
    """(d, d) <n (x) n> of the strong ones."""


@check_arguments
def force_chains(sol: Solution, k: int = -1) -> ForceChains:
    """The contacts above the mean force, their clusters, and the fabric <n (x) n> of all and of them.

    Bodies with a strong contact between them are in one cluster. Walls connect nothing, but a body that presses on a
    wall strongly is in the network.

    >>> import jostle as jo
    >>> tower = jo.Motion(q0=[[0.0, 1.0], [0.0, 3.0], [0.0, 5.0], [0.0, 7.0]], force=[0.0, -10.0],
    ...                   within=jo.Balls(np.ones(4)) & jo.HalfSpace([0, 1], radii=1.0))
    >>> chains = force_chains(jo.solve(tower, jo.Maury(), t=0.1, h=0.01))
    >>> chains.pairs.tolist(), chains.cluster.tolist(), chains.sizes.tolist(), chains.fraction
    ([[0, 1], [0, -1]], [0, 0, -1, -1], [2], 0.5)
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    found = forces(sol, k)
    strong, n = found.strong, len(found.present)
    pairs = found.pairs[strong]
    i, j = found.pairs[strong & found.between].T
    _, label = connected_components(coo_array((np.ones(len(i)), (i, j)), shape=(n, n)), directed=False)
    inside = np.zeros(n, dtype=bool)
    inside[pairs[pairs >= 0]] = True
    _, number, sizes = np.unique(label[inside], return_inverse=True, return_counts=True)
    order = np.argsort(-sizes, kind="stable")
    cluster = np.full(n, -1, dtype=np.int64)
    cluster[inside] = np.argsort(order)[number]
    fraction = float(inside.sum() / max(int(found.present.sum()), 1))
    fabrics = _fabric(found.normals), _fabric(found.normals[strong])
    return ForceChains(pairs, cluster, sizes[order], fraction, *fabrics)


def _fabric(normals: Array) -> Array:
    return np.asarray(normals.T @ normals / max(len(normals), 1))
