"""The forces in a pile: contact forces, stress, forces on walls, and how the forces are distributed.

A contact pushes its first body with -f n and its second body, or the wall, with +f n: n is the unit vector from the
first to the second or into the wall, and f = p / h is the impulse of a step divided by its length. The sums over
contacts c, with F = f n and the force of friction,

    stress   sigma = 1/V sum_c F_c (x) l_c        l the branch vector, from centre to centre or to the wall

are taken over the step that led to one saved frame (Christoffersen, Mehrabadi & Nemat-Nasser 1981 for the stress).

Where contacts depend on each other, as in a regular lattice, the forces are not unique: the solver has chosen one
solution. The total force on each body is unique, and so is everything that follows from the balance of all bodies.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from jostle._tools.arguments import Positive, check_arguments
from jostle._tools.arrays import Array, Booleans, Integers, finite, shaped
from jostle._tools.rotations import AXES
from jostle.bodies import POINTS, body_radii
from jostle.contacts import Contacts
from jostle.convex.linear_map import Dense
from jostle.errors import InvalidValue
from jostle.laws import Coulomb
from jostle.result.solution import Solution
from jostle.sets.outlines import walls_of

RADIUS_TOLERANCE = 1e-6
"""Relative difference of a given radius from that of a run, whose file may have single precision."""
ABOVE_MEAN = 1.0 + 1e-12
"""A force is above the mean if it exceeds this multiple of the mean, which allows for round-off."""


@dataclass(frozen=True, eq=False, repr=False)
class Forces:
    """The m contacts of a frame that carry a force; returned by `forces`.

    Attributes
    ----------
    magnitude : ndarray, shape (m,)
        Forces f, positive where a contact pushes. Only gluey contacts pull, with negative forces.
    pairs : ndarray, shape (m, 2)
        (i, j) for two bodies, (i, -1 - w) for body i and wall w.
    normals : ndarray, shape (m, d)
        Unit vectors from the first body to the second, or into the wall.
    present : ndarray of bool, shape (n,)
        The bodies that were present in the step.
    noise : ndarray of bool, shape (m,)
        True for forces so small that, by the residual of the step, the contact may as well be open. Sums of forces
        include them; means and numbers of contacts do not.
    tangential : ndarray, shape (m, d), or None
        Forces of friction on the second body or the wall; None without friction.

    Examples
    --------
    >>> pairs, normals = np.array([[0, 1], [1, -1], [0, -1]]), np.array([[1.0, 0.0], [0.0, -1.0], [0.0, -1.0]])
    >>> noise = np.array([False, False, True])
    >>> three = Forces(np.array([1.0, 3.0, 1e-9]), pairs, normals, present=np.ones(2, dtype=bool), noise=noise)
    >>> three.mean, three.between.tolist(), three.strong.tolist()
    (2.0, [True, False, False], [False, True, False])
    >>> three
    Forces(3 contacts, 1 between bodies, mean force 2, largest 3)
    """

    magnitude: Array
    pairs: Integers
    normals: Array
    present: Booleans
    noise: Booleans
    tangential: Array | None = None

    def __repr__(self) -> str:
        contacts = f"{len(self.magnitude)} contacts, {self.between.sum()} between bodies"
        largest = np.abs(self.magnitude).max(initial=0.0)
        return f"{type(self).__name__}({contacts}, mean force {self.mean:.4g}, largest {largest:.4g})"

    @property
    def vectors(self) -> Array:
        """(m, d) the whole forces on the second body or the wall."""
        along = self.magnitude[:, None] * self.normals
        return along if self.tangential is None else along + self.tangential

    @property
    def mean(self) -> float:
        """Mean of the absolute forces that are not noise; 0 without contacts."""
        return float(np.abs(self.magnitude[~self.noise]).mean()) if not self.noise.all() else 0.0

    @property
    def between(self) -> Booleans:
        """(m,) True for contacts between two bodies, False for contacts with walls."""
        return np.asarray(self.pairs[:, 1] >= 0)

    @property
    def strong(self) -> Booleans:
        """(m,) True for forces above the mean."""
        return np.asarray(self.magnitude > ABOVE_MEAN * self.mean)


@check_arguments
def forces(sol: Solution, k: int = -1) -> Forces:
    """The contact forces f = p / h in the step that led to one saved frame.

    In an impact this is the mean force of the step, which grows as 1 / h. In first-order problems it is p itself, a
    velocity: the force on a body of unit drag; with masses it is a mass times a velocity.

    Parameters
    ----------
    sol : Solution
        A run with contacts.
    k : int, default -1
        Number of the saved frame. Frame 0 has no forces.

    Returns
    -------
    Forces
        The contacts with p != 0: magnitudes, pairs of bodies, normals, and which of them are solver noise.

    Examples
    --------
    >>> import jostle as jo
    >>> tower = jo.Motion(q0=[[0.0, 1.0], [0.0, 3.0]], force=[0.0, -10.0], mass=1.0,
    ...                   within=jo.Balls([1.0, 1.0]) & jo.HalfSpace([0, 1], radii=1.0))
    >>> found = forces(jo.solve(tower, jo.Maury(), t=0.1, h=0.01))
    >>> found.magnitude.round(9).tolist(), found.pairs.tolist()
    ([10.0, 20.0], [[0, 1], [0, -1]])
    """
    q = sol.places(k)
    p, pairs, normals = sol.multipliers[k], sol.pairs[k], sol.normals[k]
    d = normals.shape[1] or (q.shape[-1] if q.ndim else 1)  # balls on a line have q (n,) and normals (m, 1)
    x = q.reshape(-1, d)
    active = np.flatnonzero(p)
    if len(active) and normals.shape[1] == 0:
        raise InvalidValue(
            "the constraints of this run have no normals: forces are known only for contacts of bodies (Balls, "
            "walls), not for constraints on the whole configuration"
        )
    present: Booleans = np.isfinite(x).all(axis=1)  # type: ignore[assignment]
    pairs, normals = pairs[active], normals[active].reshape(len(active), x.shape[1])
    present[pairs[pairs >= 0]] = True  # bodies that left at the end of the step have contacts, too
    f = p[active] / sol.impulse_time(k)
    grip = None if sol.tangential is None else np.asarray(sol.tangential[k])[active] / sol.impulse_time(k)
    noise = _noise(sol, k, f, pairs, f[:, None] * normals + (0.0 if grip is None else grip))
    return Forces(f, pairs, normals, present, noise, grip)


@check_arguments
def mobilised(sol: Solution, k: int = -1) -> Array:
    """How much of their friction the contacts of a frame use, |f_T| / (mu f_n): 1 where they slide or are about to.

    Parameters
    ----------
    sol : Solution
        A run with friction and its problem.
    k : int, default -1
        Number of the saved frame.

    Returns
    -------
    ndarray, shape (m,)
        One number from 0 to 1 for each contact of `forces`; 0 where mu is 0.

    Examples
    --------
    >>> import jostle as jo
    >>> slope = jo.Motion(q0=[[0.0, 0.0]], force=[3.0, -10.0], law=jo.Coulomb(mu=0.6), within=jo.HalfSpace([0.0, 1.0]))
    >>> mobilised(jo.solve(slope, jo.Maury(), t=0.1, h=0.01)).round(9).tolist()
    [0.5]
    """
    law = getattr(sol.problem, "law", None)
    if sol.tangential is None or not isinstance(law, Coulomb):
        raise InvalidValue("this run has no friction, or its problem is not known: jo.io.read(path, problem) gives it")
    found = forces(sol, k)
    assert found.tangential is not None
    most = coefficients(law, found.pairs) * found.magnitude
    used = np.linalg.norm(found.tangential, axis=1)
    return np.asarray(np.divide(used, most, out=np.zeros_like(used), where=most > 0.0))


def coefficients(law: Coulomb, pairs: Integers) -> Array:
    """(m,) the coefficients of friction of contacts between these pairs."""
    m = len(pairs)
    return law.friction(Contacts(np.zeros(m), Dense(np.zeros((m, 1))), pairs, constraint_count=0, known=True))


def _noise(sol: Solution, k: int, f: Array, pairs: Integers, push: Array) -> Booleans:
    """(m,) True for forces that the residual of their step cannot tell from open gaps."""
    # The residual bounds sum p_c s_c by kappa |u - w|_M^2, so p_c s_c is kappa |u - w|_M^2 / m in the mean. A contact
    # is open if its slack s_c exceeds p_c, both as distances: p_c A_cc < s_c with A = G M^-1 G^T. The two are equal at
    # p_c^2 A_cc = kappa |u - w|_M^2 / m, and |u - w|_M^2 = |G^T p|^2 in the metric of M^-1.
    step = np.flatnonzero(sol.stats["t"] == sol.t[k])
    if len(step) == 0:
        return np.zeros(len(f), dtype=bool)
    n = int(pairs.max(initial=0)) + 1
    owner, masses = owners(sol), sol.facts.masses
    inverse = np.ones(n) if masses is None else 1.0 / (masses if owner is None else masses[owner])[:n]
    i, j = pairs.T
    between, total = j >= 0, np.zeros((n, push.shape[1]))
    np.add.at(total, i, -push)
    np.add.at(total, j[between], push[between])
    A = inverse[i] + np.where(between, inverse[np.maximum(j, 0)], 0.0)
    bound = sol.stats["complementarity"][step[0]] * float(inverse @ (total**2).sum(axis=1))
    return np.asarray(f**2 * A * len(f) < bound)


def owners(sol: Solution) -> Integers | None:
    """(b,) the body of each ball of a run with clumps; None if each body is one ball."""
    return None if sol.facts.parts is None else sol.facts.parts.owner


@check_arguments
def stress(sol: Solution, k: int = -1, *, radii: ArrayLike, volume: Positive) -> Array:
    """The mean stress of the contacts, sigma = 1/V sum F (x) l; compression is positive.

    F = f n is the force on the second body, with friction F = f n + f_T, and sigma is then symmetric in the mean only.
    The branch vector is l = (r_i + r_j) n between two balls, also across a periodic boundary, and l = r_i n at a wall:
    a contact with a force is closed at the end of the step. For clumps and shapes it goes from the centre of mass of
    one body to that of the other, or to the wall by the arm of the ball or of the corner. The kinetic part
    1/V sum m u (x) u is not included.

    At rest V sigma = sum F_c (x) x_c - sum W_i (x) q_i by the balance of all bodies, where F_c is the force on a wall
    at x_c and W_i a weight. So above a floor at height 0, V sigma_zz is the sum of m g z, which is the integral over z
    of the weight above z.

    Parameters
    ----------
    sol : Solution
        A run with contacts.
    k : int, default -1
        Number of the saved frame.
    radii : float or array_like, shape (n,)
        Radius of all balls or of each ball.
    volume : float
        Volume V of the container, its area in the plane; positive and finite.

    Returns
    -------
    ndarray, shape (d, d)
        The stress tensor.

    Examples
    --------
    >>> import jostle as jo
    >>> press = jo.Motion(q0=[[1.0, 1.0], [3.0, 1.0]], force=[[6.0, 0.0], [-6.0, 0.0]], within=jo.Balls([1.0, 1.0]))
    >>> sol = jo.solve(press, jo.Maury(), t=0.1, h=0.01)
    >>> (stress(sol, radii=1.0, volume=8.0) + 0.0).round(9).tolist()
    [[1.5, 0.0], [0.0, 0.0]]
    """
    found = forces(sol, k)
    r = body_radii(finite(radii, "radii"), len(found.present), float(sol.t[k]), allow_zero=True)
    _check_radii(sol, k, r)
    i, j = found.pairs.T
    branch = r[i] + np.where(found.between, r[np.maximum(j, 0)], 0.0)
    if found.tangential is None:
        return np.asarray((found.normals.T * (found.magnitude * branch)) @ found.normals / volume)
    branches, owner = branch[:, None] * found.normals, owners(sol)
    if owner is not None:
        q = np.asarray(sol.q[k]).reshape(-1, branches.shape[1])[owner]
        to_wall = sol.places(k)[i] - q[i] + branches
        branches = np.where(found.between[:, None], q[np.maximum(j, 0)] - q[i], to_wall)
    return np.asarray(found.vectors.T @ branches / volume)


def _check_radii(sol: Solution, k: int, radii: Array) -> None:
    """Refuse radii that are not those of the balls of the run, where these are known."""
    t = float(sol.t[k])
    bodies = POINTS if sol.problem is None else sol.problem.bodies
    known = sol.radii[k] if sol.problem is None else bodies.radii_at(t) if bodies.apart else None
    if known is None:
        return
    in_run = np.broadcast_to(known, radii.shape)  # 0 for bodies that are not there
    wrong = (in_run > 0.0) & ~np.isclose(radii, in_run, rtol=RADIUS_TOLERANCE, atol=0.0)
    if wrong.any():
        body = int(np.argmax(wrong))
        raise InvalidValue(
            f"radii must be those of the run: the radius of {sol.facts.bodies.name(body)} is {radii[body]:g}, and in "
            f"the run it is {in_run[body]:g} at t = {t:g}"
        )


@check_arguments
def pressure(sol: Solution, k: int = -1, *, radii: ArrayLike, volume: Positive) -> float:
    """The mean pressure of the contacts, trace(sigma) / d.

    Parameters
    ----------
    sol, k, radii, volume : Solution, int, array_like, float
        The same as for `stress`.

    Returns
    -------
    float
        The pressure; see `stress` for sigma.

    Examples
    --------
    >>> import jostle as jo
    >>> press = jo.Motion(q0=[[1.0, 1.0], [3.0, 1.0]], force=[[6.0, 0.0], [-6.0, 0.0]], within=jo.Balls([1.0, 1.0]))
    >>> round(pressure(jo.solve(press, jo.Maury(), t=0.1, h=0.01), radii=1.0, volume=8.0), 9)
    0.75
    """
    sigma = stress(sol, k, radii=radii, volume=volume)
    return float(np.trace(sigma) / len(sigma))


# The forces and pressures of a pile on its walls, F_w = sum of f_c n_c over the contacts c on wall w.


@check_arguments
def wall_force(sol: Solution, k: int = -1) -> Array:
    """The total force on each wall, F_w = sum f n over its contacts, and the forces of friction.

    Without friction the floor carries the whole weight of a pile at rest, however tall and narrow it is: there is no
    Janssen effect.

    Parameters
    ----------
    sol : Solution
        A run with contacts.
    k : int, default -1
        Number of the saved frame.

    Returns
    -------
    ndarray, shape (walls, d)
        The forces, in the order of the sets; `wall_labels` says which wall each row is. A `Box` has first its lower
        sides, axis by axis, then its upper sides; sides at infinity are left out.

    Examples
    --------
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
    np.add.at(total, walls, found.vectors[on_wall])
    return total


@check_arguments
def wall_torque(sol: Solution, k: int = -1, *, about: ArrayLike) -> Array:
    """The total torque on each wall about a point, the sum of (x - about) x F over its contacts.

    Parameters
    ----------
    sol : Solution
        A run with contacts.
    k : int, default -1
        Number of the saved frame.
    about : array_like, shape (d,)
        The point, such as the axis of a drum.

    Returns
    -------
    ndarray, shape (walls,) or (walls, 3)
        The torques, in the plane one number for each wall; see `wall_force` for the order.

    Examples
    --------
    >>> import jostle as jo
    >>> disc = jo.Motion(q0=[[2.0, 1.0]], force=[0.0, -10.0], within=jo.Balls([1.0]) & jo.HalfSpace([0.0, 1.0]))
    >>> wall_torque(jo.solve(disc, jo.Maury(), t=0.1, h=0.01), about=[0.0, 0.0]).round(9).tolist()
    [-20.0]
    """
    found = forces(sol, k)
    d = found.normals.shape[1]
    axis, on_wall = finite(about, "about"), ~found.between
    if d not in AXES or axis.shape != (d,):
        raise InvalidValue(f"about must be a point of the plane or of space, shape ({d},), not {axis.shape}")
    balls = found.pairs[on_wall, 0]
    known = sol.radii[k] if sol.problem is None else sol.problem.bodies.radii_at(float(sol.t[k]))
    r = np.broadcast_to(np.asarray(known, dtype=float), (len(found.present),))[balls]
    arms = sol.places(k).reshape(-1, d)[balls] + r[:, None] * found.normals[on_wall] - axis
    torques = np.cross(arms, found.vectors[on_wall]) if d == 3 else _cross(arms, found.vectors[on_wall])
    total = np.zeros((_walls(sol, k), *torques.shape[1:]))
    np.add.at(total, -1 - found.pairs[on_wall, 1], torques)
    return total


def _cross(one: Array, two: Array) -> Array:
    """one x two in the plane."""
    return np.asarray(one[:, 0] * two[:, 1] - one[:, 1] * two[:, 0])


@check_arguments
def wall_labels(sol: Solution) -> tuple[str, ...]:
    """A label for each row of `wall_force` and `wall_pressure`: the number of the wall and what it is.

    Parameters
    ----------
    sol : Solution
        A run, from memory or from a file.

    Returns
    -------
    tuple of str
        One label for each wall, all different: the number of the wall, as in `sol.impulses()`, and its name in
        ``sol.facts.wall_names``. Constraints of a user have no names.

    Examples
    --------
    >>> import jostle as jo
    >>> pile = jo.models.spheres([0.5, 0.4, 0.5], box=([0, 0], [1.1, np.inf]))
    >>> sol = jo.solve(pile, jo.Maury(), t=5.0, h=0.01)
    >>> for label, force in zip(wall_labels(sol), wall_force(sol).round(2) + 0.0):
    ...     print(label, force)
    wall 0 (wall q[0] >= lower) [-4.64  0.  ]
    wall 1 (wall q[1] >= lower) [  0.   -20.34]
    wall 2 (wall q[0] <= upper) [4.64 0.  ]
    """
    names = sol.facts.wall_names or ("",) * _walls(sol, 0)
    return tuple(f"wall {number} ({name})" if name else f"wall {number}" for number, name in enumerate(names))


def _walls(sol: Solution, k: int) -> int:
    """Number of walls, touched or not."""
    if sol.problem is not None:
        return walls_of(sol.problem.within, float(sol.t[k]), sol.places(k))[0]
    if sol.walls is None:
        raise InvalidValue(
            "this file does not contain the number of walls. Give the problem of the run: jo.io.read(path, problem)"
        )
    return sol.walls


@check_arguments
def wall_pressure(sol: Solution, k: int = -1, *, area: ArrayLike) -> Array:
    """The mean pressure on each wall, |F_w| / area.

    Parameters
    ----------
    sol : Solution
        A run with contacts.
    k : int, default -1
        Number of the saved frame.
    area : float or array_like, shape (walls,)
        Area of all walls or of each wall, positive; a length in the plane.

    Returns
    -------
    ndarray, shape (walls,)
        The pressures, in the order of `wall_force`.

    Examples
    --------
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


# Strong and weak contacts of a packing: the distribution of forces, and force chains.
#
# Contacts above the mean force are called strong (Radjai, Jean, Moreau & Roux 1996). The fabric of m contacts with the
# normals n_c is <n (x) n> = 1/m sum_c n_c (x) n_c.


@dataclass(frozen=True, eq=False)
class ForceDistribution:
    """The distribution of contact forces; see `force_distribution`."""

    edges: Array
    """(b + 1,) edges of the bins of f / <f>."""
    density: Array
    """(b,) probability density; its integral over the bins is the fraction of contacts inside them."""
    share: float
    """Fraction of the contacts whose force is above the mean."""
    load: float
    """Fraction of the sum of all forces that the contacts above the mean carry."""


@check_arguments
def force_distribution(sol: Solution, k: int = -1, *, bins: int | ArrayLike = 20) -> ForceDistribution:
    """The probability density of f / <f> over the contacts of one frame, and the load above the mean.

    Forces that are solver noise (``forces(sol).noise``) do not count.

    Parameters
    ----------
    sol : Solution
        A run with contacts.
    k : int, default -1
        Number of the saved frame.
    bins : int or array_like, default 20
        Number of bins between 0 and the largest force, or the edges of the bins.

    Returns
    -------
    ForceDistribution
        The fields are the `edges` (b + 1,) of the bins, the `density` (b,), the `share` of contacts whose force is
        above the mean, and the `load`, the share of the sum of all forces that they carry.

    Examples
    --------
    >>> import jostle as jo
    >>> tower = jo.Motion(q0=[[0.0, 1.0], [0.0, 3.0], [0.0, 5.0], [0.0, 7.0]], force=[0.0, -10.0],
    ...                   within=jo.Balls(np.ones(4)) & jo.HalfSpace([0, 1], radii=1.0))
    >>> found = force_distribution(jo.solve(tower, jo.Maury(), t=0.1, h=0.01), bins=[0, 0.5, 1, 1.5, 2])
    >>> found.density.tolist(), found.share, round(found.load, 9)           # 10, 20, 30 and 40
    ([0.5, 0.5, 0.5, 0.5], 0.5, 0.7)
    """
    found = forces(sol, k)
    if found.noise.all():
        raise InvalidValue(f"no contact carries a force at t = {sol.t[k]:g}, so there is no distribution")
    relative = found.magnitude[~found.noise] / found.mean
    ends = (min(0.0, float(relative.min())), float(relative.max()))
    if isinstance(bins, int) and bins < 1:
        raise InvalidValue(f"bins must be at least 1, not {bins}")
    counts, edges = np.histogram(relative, bins=bins if isinstance(bins, int) else shaped(bins, "bins", -1), range=ends)
    strong = found.strong[~found.noise]
    load = float(np.abs(relative[strong]).sum() / np.abs(relative).sum())
    return ForceDistribution(edges, counts / (len(relative) * np.diff(edges)), float(strong.mean()), load)


@dataclass(frozen=True, eq=False)
class ForceChains:
    """The strong network, made of the contacts with f > <f>; see `force_chains`."""

    pairs: Integers
    """(s, 2) strong contacts."""
    cluster: Integers
    """(n,) cluster of each body: 0 is the largest, -1 means no strong contact."""
    sizes: Integers
    """(c,) number of bodies in each cluster, the largest first."""
    fraction: float
    """Fraction of the bodies that are in the network."""
    fabric: Array
    """(d, d) <n (x) n> of all contacts with a force that is not solver noise, trace 1; zero if there are none."""
    strong_fabric: Array
    """(d, d) <n (x) n> of the strong contacts."""


@check_arguments
def force_chains(sol: Solution, k: int = -1) -> ForceChains:
    """The strong network of one frame: the contacts above the mean force, their clusters and their fabric.

    Bodies with a strong contact between them belong to one cluster. Walls do not connect clusters, but a body with a
    strong contact at a wall belongs to the network.

    Parameters
    ----------
    sol : Solution
        A run with contacts.
    k : int, default -1
        Number of the saved frame.

    Returns
    -------
    ForceChains
        The fields are the strong contacts `pairs` (s, 2), the `cluster` (n,) of each body (0 is the largest, -1 none),
        the `sizes` of the clusters, the `fraction` of bodies in the network, and the fabric <n (x) n> of all contacts,
        `fabric`, and of the strong ones, `strong_fabric` (d, d).

    Examples
    --------
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
    fabrics = _fabric(found.normals[~found.noise]), _fabric(found.normals[strong])
    return ForceChains(pairs, cluster, sizes[order], fraction, *fabrics)


def _fabric(normals: Array) -> Array:
    return np.asarray(normals.T @ normals / max(len(normals), 1))
