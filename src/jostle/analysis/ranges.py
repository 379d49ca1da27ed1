"""How well contact forces are determined: the smallest and the largest value that each multiplier can have.

Where contacts depend on each other, only G^T p is unique, not p. `multiplier_range` gives for each multiplier

    min and max of p_i over {p >= 0 : G^T p = f, p_c = 0 where the contact c is open}       f the G^T p of the run

and `load_range` the same for the load of each person. Each multiplier or load that is not unique takes two linear
programs. `impulse_range` does the same for one impact, where p is bounded for grains in open space, and can be
unbounded only where walls wedge them in (Bourdin & Maury 2020, Prop. 2).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from jostle._tools.arguments import NotNegative, check_arguments
from jostle._tools.arrays import Array, Booleans, Integers, finite
from jostle.analysis.angles import inequality_rows
from jostle.analysis.forces import forces
from jostle.contacts import CLOSED, by_pair
from jostle.convex.polyhedron import Cone
from jostle.errors import InvalidValue
from jostle.result.solution import Solution
from jostle.schemes.maury import Maury
from jostle.schemes.venel import Venel
from jostle.sets.base import of_present
from jostle.sets.presence import Presence

CLOSED_GAP = 1e-6
"""A contact is closed at the end of a step if its linearised gap is below this fraction of the smallest radius."""
SOLVED, UNBOUNDED = 0, 3
"""Status codes of SciPy's `linprog`."""
RANK_TOLERANCE = 1e-7
"""Contacts depend on each other if a singular value of G is below this fraction of the largest."""


@dataclass(frozen=True, eq=False)
class Range:
    """Bounds of several quantities; see `multiplier_range` and `load_range`."""

    pairs: Integers
    """(m, 2) closed contacts, as in `sol.pairs`, or (n, 1) numbers of people or rows."""
    value: Array
    """(m,) values that the solver found."""
    lower: Array
    """(m,) smallest possible values."""
    upper: Array
    """(m,) largest possible values; inf where walls wedge bodies in."""

    @property
    def unique(self) -> Booleans:
        """(m,) whether the value is unique, up to round-off."""
        scale = np.abs(self.value).max(initial=0.0)
        return np.asarray(self.upper - self.lower <= RANK_TOLERANCE * scale)


@check_arguments
def multiplier_range(sol: Solution, k: int = -1, *, closed: NotNegative = CLOSED_GAP) -> Range:
    """The smallest and the largest possible multiplier p of each closed contact in one frame, for the same G^T p.

    Closed contacts without a force are included. Each contact that is not unique takes two linear programs: seconds
    for a hundred contacts, half a minute for several hundred that are connected.

    Parameters
    ----------
    sol : Solution
        A run with contacts, its problem and its scheme.
    k : int, default -1
        Number of the saved frame.
    closed : float, default 1e-6
        Largest gap of a closed contact at the end of the step, in units of the smallest radius.

    Returns
    -------
    Range
        The fields are the closed contacts `pairs` (m, 2), the `value` (m,) that the solver found, the bounds `lower`
        and `upper` (m,), and `unique` (m,). An upper bound is inf where walls wedge bodies in.

    Examples
    --------
    >>> import jostle as jo
    >>> wedged = jo.Sweeping(q0=[[0.0, 0.0]], velocity=[1.0, 0.0], within=jo.Box([-1, -1], [1, 1], radii=1.0))
    >>> found = multiplier_range(jo.solve(wedged, jo.Venel(), t=0.1, h=0.1))
    >>> found.pairs[:, 1].tolist(), found.lower.tolist(), found.upper.tolist()       # above, right, below, left
    ([-4, -3, -2, -1], [0.0, 1.0, 0.0, 0.0], [inf, inf, inf, inf])
    """
    network = _network(sol, k, closed)
    return Range(network.pairs, network.p, *_extremes(network.p, network.G, np.eye(len(network.p))))


@check_arguments
def load_range(sol: Solution, k: int = -1, *, closed: NotNegative = CLOSED_GAP) -> Range:
    """The smallest and the largest possible load of each person in one frame, for the same G^T p.

    The load is the sum of the multipliers p over the contacts of a person; see `multiplier_range`.

    Parameters
    ----------
    sol, k, closed : Solution, int, float
        The same as for `multiplier_range`.

    Returns
    -------
    Range
        The fields are the numbers of people `pairs` (n, 1), the `value` (n,) that the solver found, the bounds `lower`
        and `upper` (n,), and `unique` (n,). An upper bound is inf where walls wedge people in.

    Examples
    --------
    >>> import jostle as jo
    >>> wedged = jo.Sweeping(q0=[[0.0, 0.0]], velocity=[1.0, 0.0], within=jo.Box([-2, -1], [1, 1], radii=1.0))
    >>> found = load_range(jo.solve(wedged, jo.Venel(), t=0.1, h=0.1))
    >>> found.lower.tolist(), found.upper.tolist()
    ([1.0], [inf])
    """
    network = _network(sol, k, closed)
    persons = np.arange(sol.q.shape[1])[:, None]
    sums = (network.pairs[None] == persons[:, :, None]).any(axis=2).astype(float)
    return Range(persons, sums @ network.p, *_extremes(network.p, network.G, sums))


@check_arguments
def impulse_range(cone: Cone, impulse: ArrayLike) -> Range:
    """The smallest and the largest possible multiplier of each row in a projection onto a cone, for the same G^T p.

    Parameters
    ----------
    cone : Cone
        The cone of the contacts.
    impulse : array_like, shape (m,)
        Multipliers p >= 0 of the m rows, such as ``impact(u, cone).impulse``.

    Returns
    -------
    Range
        The fields are the numbers of the rows `pairs` (m, 1), the `value` (m,), the bounds `lower` and `upper` (m,),
        and `unique` (m,).

    Examples
    --------
    >>> import jostle as jo
    >>> twice = jo.convex.Cone([[1.0], [1.0]])                                  # one floor, counted two times
    >>> found = impulse_range(twice, jo.impact([-1.0], twice).impulse)
    >>> found.lower.round(9).tolist(), found.upper.round(9).tolist()
    ([0.0, 0.0], [1.0, 1.0])
    """
    p, G = finite(impulse, "impulse"), inequality_rows(cone)
    if p.shape != (len(G),):
        raise InvalidValue(f"impulse must have one number per row, shape ({len(G)},), not {p.shape}")
    if p.min(initial=0.0) < 0.0:
        raise InvalidValue(f"impulse must not be negative; its smallest entry is {p.min():g}")
    return Range(np.arange(len(p))[:, None], p, *_extremes(p, G, np.eye(len(p))))


class _Network(NamedTuple):
    """The closed contacts of a frame."""

    pairs: Integers
    p: Array
    G: Array
    """(m, n d) gradients of the gaps."""


def _network(sol: Solution, k: int, closed: float) -> _Network:
    if sol.problem is None:
        raise InvalidValue(
            "closed contacts without a force are not stored in the file: give the problem, jo.io.read(path, problem, "
            "scheme)"
        )
    if sol.scheme is None:
        raise InvalidValue("the scheme is needed to find closed contacts: give it, jo.io.read(path, problem, scheme)")
    found = forces(sol, k)
    if (found.magnitude < 0.0).any():
        raise InvalidValue("gluey contacts can pull: bounds of their forces are not available")
    if found.tangential is not None:
        raise InvalidValue("bounds of forces with friction are not available: they are not linear programs")
    q = np.asarray(sol.q[k])
    n, d = q.shape
    here = np.isfinite(q).all(axis=1)
    t, within = float(sol.t[k]), sol.problem.within
    step = np.flatnonzero(sol.stats["t"] == sol.t[k])
    linearised = isinstance(sol.scheme, Venel | Maury) and len(step) > 0
    way = np.where(here[:, None], sol.u[k], 0.0) * (sol.stats["h"][step[0]] if linearised else 0.0)
    presence = Presence.of(q, here, within.bodies.largest)
    cutoff = 2.0 * float(np.linalg.norm(way, axis=1).max(initial=0.0)) + closed * within.bodies.largest
    contacts = of_present(within, presence).linearise(t, presence.placed(q - way), cutoff)
    slack = contacts.gap + contacts.G @ way.ravel()
    touching = slack <= closed * contacts.tolerance() / CLOSED
    loaded = ~found.noise
    new = np.flatnonzero(touching & (by_pair(found.pairs, loaded.astype(float), contacts.pairs) == 0.0))
    pairs = np.concatenate([found.pairs[loaded], contacts.pairs[new]])
    normals = np.concatenate([found.normals[loaded], contacts.normals[new].reshape(-1, d)])
    p = np.concatenate([found.magnitude[loaded], np.zeros(len(new))])
    order = np.lexsort(pairs.T[::-1])
    pairs, normals, p = pairs[order], normals[order], p[order]
    rows, (i, j) = np.arange(len(pairs)), pairs.T
    G = np.zeros((len(pairs), n, d))
    G[rows, i] = -normals
    G[rows[j >= 0], j[j >= 0]] = normals[j >= 0]
    return _Network(pairs, p, G.reshape(len(pairs), n * d))


def _extremes(p: Array, G: Array, sums: Array) -> tuple[Array, Array]:
    """The minimum and the maximum of sums @ p, (r,) each, computed for each connected set of contacts."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    scale, touches = p.max(initial=0.0) or 1.0, csr_array(G != 0.0).astype(float)
    label = connected_components(touches @ touches.T, directed=False)[1] if len(p) else np.zeros(0)
    low, high = sums @ p, sums @ p
    for component in np.unique(label):
        chosen = np.flatnonzero(label == component)
        part, known = G[chosen], p[chosen] / scale
        U, s, _ = np.linalg.svd(part)
        kernel = U[:, int((s > RANK_TOLERANCE * s[0]).sum()) :]
        weights = sums[:, chosen]
        for row in np.flatnonzero(np.abs(weights @ kernel).max(axis=1, initial=0.0) > RANK_TOLERANCE):
            low[row] += scale * (_least(weights[row], part, known) - weights[row] @ known)
            high[row] += scale * (-_least(-weights[row], part, known) - weights[row] @ known)
    return low, high


def _least(weights: Array, G: Array, known: Array) -> float:
    """The minimum of weights . p over {p >= 0 : G^T p = G^T known}; -inf if it is unbounded."""
    from scipy.optimize import linprog
    from scipy.sparse import csr_array

    moved = csr_array(G[:, G.any(axis=0)].T)
    for presolve in (True, False):  # with presolve, unbounded and infeasible may look the same; it is never infeasible
        exact = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10, "presolve": presolve}
        found = linprog(weights, A_eq=moved, b_eq=moved @ known, method="highs-ds", options=exact)
        if found.status in (SOLVED, UNBOUNDED):
            return float(found.fun) if found.status == SOLVED else -np.inf
    raise InvalidValue(f"the linear program for the range of a multiplier was not solved: {found.message}")
