"""How well contact forces are known: the least and the most that each multiplier can be.

Where contacts depend on each other only G^T p is unique, not p: `multiplier_range` is what each can be,

    min and max of p_i over {p >= 0 : G^T p = f, p_c = 0 where the contact c is open}       f the G^T p of the run

and `load_range` what the load of each person can be: a linear programme for each that the kernel of G^T leaves open.
`impulse_range` does the same for one impact, where p is known to be bounded for grains in the open space, and unbounded
only where walls wedge them in (Bourdin & Maury 2020, Prop. 2).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from jostle.analysis.angles import inequality_rows
from jostle.analysis.grains import forces
from jostle.arguments import NotNegative, check_arguments
from jostle.arrays import Array, Booleans, Integers, finite
from jostle.convex.polyhedron import Cone
from jostle.errors import InvalidValue
from jostle.schemes.maury import Maury
from jostle.schemes.venel import Venel
from jostle.sets.contacts import CLOSED, by_pair
from jostle.sets.presence import Presence
from jostle.solution import Solution

CLOSED_GAP = 1e-6
"""A contact is closed at the end of a step if its linearised gap is below this fraction of the smallest radius."""
SOLVED, UNBOUNDED = 0, 3
"""Status codes of SciPy's `linprog`."""
RANK_TOLERANCE = 1e-7
"""Contacts depend on each other if a singular value of G is below this fraction of the largest."""


@dataclass(frozen=True, eq=False)
class Range:
    """What each of some quantities can be; see `multiplier_range` and `load_range`."""

    pairs: Integers
    """(m, 2) the closed contacts, as in `sol.pairs`, or (n, 1) the persons."""
    value: Array
    """(m,) what the solver found,"""
    lower: Array
    """(m,) the least and"""
    upper: Array
    """(m,) the most that it can be: inf where people are wedged in between walls."""

    @property
    def unique(self) -> Booleans:
        """(m,) is there no choice, up to round-off?"""
        scale = np.abs(self.value).max(initial=0.0)
        return np.asarray(self.upper - self.lower <= RANK_TOLERANCE * scale)


@check_arguments
def multiplier_range(sol: Solution, k: int = -1, *, closed: NotNegative = CLOSED_GAP) -> Range:
    """The least and the most that p of each closed contact of frame k can be, with the same G^T p.

    Contacts without a force count, too, if they are closed at the end of the step: their gap is below `closed` times
    the smallest radius. Two linear programmes for each contact that is not unique: seconds for a hundred of them, half
    a minute for some hundred that hang together.

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
    """The least and the most that the load of each person of frame k can be; see `multiplier_range`.

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
    """The least and the most that each multiplier of a projection on a cone can be, with the same G^T p.

    >>> import jostle as jo
    >>> twice = jo.Cone([[1.0], [1.0]])                                  # one floor, counted two times
    >>> found = impulse_range(twice, jo.impact([-1.0], twice).impulse)
    >>> found.lower.round(9).tolist(), found.upper.round(9).tolist()
    ([0.0, 0.0], [1.0, 1.0])
    """
    p, G = finite(impulse, "impulse"), inequality_rows(cone)
    if p.shape != (len(G),):
        raise InvalidValue(f"impulse must be one number a row, ({len(G)},), not an array of shape {p.shape}")
    if p.min(initial=0.0) < 0.0:
        raise InvalidValue(f"impulses are not negative; the least is {p.min():g}")
    return Range(np.arange(len(p))[:, None], p, *_extremes(p, G, np.eye(len(p))))


class _Network(NamedTuple):
    """The closed contacts of a frame."""

    pairs: Integers
    p: Array
    G: Array
    """(m, n d)"""


def _network(sol: Solution, k: int, closed: float) -> _Network:
    if sol.problem is None:
        raise InvalidValue("contacts without a force are not in the file: read(path, problem) knows them")
    if sol.scheme is None:
        raise InvalidValue("the scheme says which contacts are closed: give it, jo.io.read(path, problem, scheme)")
    found = forces(sol, k)
    if (found.magnitude < 0.0).any():
        raise InvalidValue("gluey contacts pull: what their forces can be is not known")
    q = np.asarray(sol.q[k])
    n, d = q.shape
    here = np.isfinite(q).all(axis=1)
    t, within = float(sol.t[k]), sol.problem.within
    step = np.flatnonzero(sol.stats["t"] == sol.t[k])
    linearised = isinstance(sol.scheme, Venel | Maury) and len(step) > 0
    way = np.where(here[:, None], sol.u[k], 0.0) * (sol.stats["h"][step[0]] if linearised else 0.0)
    presence = Presence.of(q, here, within.widest())
    reach = 2.0 * float(np.linalg.norm(way, axis=1).max(initial=0.0)) + closed * within.widest()
    contacts = presence.within(within).linearise(t, presence.placed(q - way), reach)
    slack = contacts.gap + contacts.G @ way.ravel()
    touching = slack <= closed * contacts.tolerance() / CLOSED
    new = np.flatnonzero(touching & (by_pair(found.pairs, np.ones(len(found.pairs)), contacts.pairs) == 0.0))
    pairs = np.concatenate([found.pairs, contacts.pairs[new]])
    normals = np.concatenate([found.normals, contacts.normals[new].reshape(-1, d)])
    p = np.concatenate([found.magnitude, np.zeros(len(new))])
    order = np.lexsort(pairs.T[::-1])
    pairs, normals, p = pairs[order], normals[order], p[order]
    rows, (i, j) = np.arange(len(pairs)), pairs.T
    G = np.zeros((len(pairs), n, d))
    G[rows, i] = -normals
    G[rows[j >= 0], j[j >= 0]] = normals[j >= 0]
    return _Network(pairs, p, G.reshape(len(pairs), n * d))


def _extremes(p: Array, G: Array, sums: Array) -> tuple[Array, Array]:
    """The least and the most of sums @ p: (r,) each; contacts that hang together are looked at together."""
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
    """min weights . p over {p >= 0 : G^T p = G^T known}; -inf if there is none."""
    from scipy.optimize import linprog
    from scipy.sparse import csr_array

    moved = csr_array(G[:, G.any(axis=0)].T)
    for presolve in (True, False):  # presolve may not tell unbounded from infeasible; infeasible it is not
        exact = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10, "presolve": presolve}
        found = linprog(weights, A_eq=moved, b_eq=moved @ known, method="highs-ds", options=exact)
        if found.status in (SOLVED, UNBOUNDED):
            return float(found.fun) if found.status == SOLVED else -np.inf
    raise InvalidValue(f"the linear programme for the range of a multiplier was not solved: {found.message}")
