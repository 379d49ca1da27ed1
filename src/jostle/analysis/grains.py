"""The forces in a pile: contact forces and stress.

A contact pushes its first body with -f n and its second body, or the wall, with +f n: n is the unit vector from the
first to the second or into the wall, and f = p / h is the impulse of a step divided by its length. The sums over
contacts c,

    stress   sigma = 1/V sum_c f_c n_c (x) l_c        l the branch vector, from centre to centre or to the wall

are taken over the step that led to one saved frame (Christoffersen, Mehrabadi & Nemat-Nasser 1981 for the stress).

Where contacts depend on each other, as in a regular lattice, the forces are not unique: the solver has chosen one
solution. The total force on each body is unique, and so is everything that follows from the balance of all bodies.
`wall_forces` contains the forces on walls, `force_chains` the distribution of the forces.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from jostle.arguments import check_arguments
from jostle.arrays import Array, Booleans, Integers, finite
from jostle.errors import InvalidValue
from jostle.sets.radii import body_radii
from jostle.solution import Solution

RADIUS_TOLERANCE = 1e-6
"""Relative difference of a given radius from that of a run, whose file may have single precision."""
ABOVE_MEAN = 1.0 + 1e-12
"""A force is above the mean if it exceeds this multiple of the mean, which allows for round-off."""


@dataclass(frozen=True, eq=False)
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
    mean : float
        Mean of the absolute forces that are not noise; 0 without contacts.
    between : ndarray of bool, shape (m,)
        True for contacts between two bodies, False for contacts with walls.
    strong : ndarray of bool, shape (m,)
        True for forces above the mean.

    Examples
    --------
    >>> pairs, normals = np.array([[0, 1], [1, -1], [0, -1]]), np.array([[1.0, 0.0], [0.0, -1.0], [0.0, -1.0]])
    >>> noise = np.array([False, False, True])
    >>> three = Forces(np.array([1.0, 3.0, 1e-9]), pairs, normals, present=np.ones(2, dtype=bool), noise=noise)
    >>> three.mean, three.between.tolist(), three.strong.tolist()
    (2.0, [True, False, False], [False, True, False])
    """

    magnitude: Array
    pairs: Integers
    normals: Array
    present: Booleans
    noise: Booleans

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

    Raises
    ------
    InvalidValue
        If the contacts of the run were not saved, or if its constraints are not contacts of bodies.

    Examples
    --------
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
            "the constraints of this run have no normals: forces are known only for contacts of bodies (Balls, "
            "walls), not for constraints on the whole configuration"
        )
    present = np.isfinite(x).all(axis=1)
    pairs, normals = pairs[active], normals[active].reshape(len(active), x.shape[1])
    present[pairs[pairs >= 0]] = True  # bodies that left at the end of the step have contacts, too
    f = p[active] / sol.duration(k)
    return Forces(f, pairs, normals, present, _noise(sol, k, f, pairs, normals))


def _noise(sol: Solution, k: int, f: Array, pairs: Integers, normals: Array) -> Booleans:
    """(m,) True for forces that the residual of their step cannot tell from open gaps.

    The residual bounds sum p_c s_c by kappa |u - w|_M^2, so p_c s_c is kappa |u - w|_M^2 / m in the mean. A contact is
    open if its slack s_c exceeds p_c, both as distances: p_c A_cc < s_c with A = G M^-1 G^T. The two are equal at
    p_c^2 A_cc = kappa |u - w|_M^2 / m, and |u - w|_M^2 = |G^T p|^2 in the metric of M^-1.
    """
    step = np.flatnonzero(sol.stats["t"] == sol.t[k])
    if len(step) == 0:
        return np.zeros(len(f), dtype=bool)
    n = int(pairs.max(initial=0)) + 1
    inverse = np.ones(n) if sol.facts.masses is None else 1.0 / sol.facts.masses[:n]
    i, j = pairs.T
    between, push = j >= 0, f[:, None] * normals
    total = np.zeros((n, normals.shape[1]))
    np.add.at(total, i, -push)
    np.add.at(total, j[between], push[between])
    A = inverse[i] + np.where(between, inverse[np.maximum(j, 0)], 0.0)
    bound = sol.stats["complementarity"][step[0]] * float(inverse @ (total**2).sum(axis=1))
    return np.asarray(f**2 * A * len(f) < bound)


@check_arguments
def stress(sol: Solution, k: int = -1, *, radii: ArrayLike, volume: float) -> Array:
    """The mean stress of the contacts, sigma = 1/V sum f n (x) l; compression is positive.

    The branch vector is l = (r_i + r_j) n between two bodies, also across a periodic boundary, and l = r_i n at a wall:
    a contact with a force is closed at the end of the step. The kinetic part 1/V sum m u (x) u is not included.

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
        Radius of all bodies or of each body.
    volume : float
        Volume V of the container, its area in the plane; positive and finite.

    Returns
    -------
    ndarray, shape (d, d)
        The stress tensor.

    Raises
    ------
    InvalidValue
        If the volume is not positive and finite, the radii are not those of the balls of the run, or the contacts of
        the run were not saved.

    Examples
    --------
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
    _check_radii(sol, k, r)
    i, j = found.pairs.T
    branch = r[i] + np.where(found.between, r[np.maximum(j, 0)], 0.0)
    return np.asarray((found.normals.T * (found.magnitude * branch)) @ found.normals / volume)


def _check_radii(sol: Solution, k: int, radii: Array) -> None:
    """Refuse radii that are not those of the balls of the run, where these are known."""
    t = float(sol.t[k])
    known = sol.radii[k] if sol.problem is None else sol.problem.within.excluding(t, len(radii))
    if known is None:
        return
    in_run = np.broadcast_to(known, radii.shape)  # 0 for bodies that are not there
    wrong = (in_run > 0.0) & ~np.isclose(radii, in_run, rtol=RADIUS_TOLERANCE, atol=0.0)
    if wrong.any():
        body = int(np.argmax(wrong))
        raise InvalidValue(
            f"radii must be those of the run: the radius of body {body} is {radii[body]:g}, and in the run it is "
            f"{in_run[body]:g} at t = {t:g}"
        )


@check_arguments
def pressure(sol: Solution, k: int = -1, *, radii: ArrayLike, volume: float) -> float:
    """The mean pressure of the contacts, trace(sigma) / d.

    Parameters
    ----------
    sol : Solution
        A run with contacts.
    k : int, default -1
        Number of the saved frame.
    radii : float or array_like, shape (n,)
        Radius of all bodies or of each body.
    volume : float
        Volume V of the container, its area in the plane; positive and finite.

    Returns
    -------
    float
        The pressure; see `stress` for sigma.

    Raises
    ------
    InvalidValue
        If the volume is not positive and finite, the radii are not those of the balls of the run, or the contacts of
        the run were not saved.

    Examples
    --------
    >>> import jostle as jo
    >>> press = jo.Motion(q0=[[1.0, 1.0], [3.0, 1.0]], force=[[6.0, 0.0], [-6.0, 0.0]], within=jo.Balls([1.0, 1.0]))
    >>> round(pressure(jo.solve(press, jo.Maury(), t=0.1, h=0.01), radii=1.0, volume=8.0), 9)
    0.75
    """
    sigma = stress(sol, k, radii=radii, volume=volume)
    return float(np.trace(sigma) / len(sigma))
