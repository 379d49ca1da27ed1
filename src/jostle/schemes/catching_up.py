"""Moreau's catching-up algorithm: q^{k+1} = P_{Q(t^{k+1})}(q^k + h U(t^k, q^k)).

P is the projection in the metric M of the problem: M (q^{k+1} - q^k - h U) = h G^T p. It is on the set itself, so it
also serves where gaps are not convex (inside a ball, an annulus). Venel 2009, section 1. Order 1; agrees with `Venel`
to O(h^2) a step where both apply. Where Q is not convex and h |U| exceeds its prox-regularity constant, the nearest
point may lie behind an obstacle: a wall or a ball that is jumped over is an error (`LeftTheSet`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from jostle._tools.arrays import Array
from jostle.convex.emptiness import Undecided, contradiction, empty_set
from jostle.convex.metric import metric
from jostle.errors import EmptySet, NotConverged
from jostle.problems import Sweeping
from jostle.schemes.base import Scheme
from jostle.schemes.capabilities import EQUALITIES, FIRST, METRIC, MOVING, NOT_CONVEX
from jostle.schemes.state import Impulses, State
from jostle.sets.base import ConstraintSet, Intersection, parts
from jostle.sets.nearest import nearest_with_contacts

SAMPLE_PLACES = (0.0, 1.0, -0.5, 3.0)
"""Points at which gaps are compared to see whether they are linear, in multiples of the size of q."""
SLOPE_TOLERANCE = 1e-9
"""Slopes between the sample places that differ by less than this fraction count as equal."""


@dataclass(frozen=True, kw_only=True)
class CatchingUp(Scheme):
    """Moreau's catching-up algorithm for sweeping processes: Moreau 1977; Venel 2009, section 1.

    Each step projects onto the set Q(t) itself, not onto its linearisation. Order 1.

    Parameters
    ----------
    solver : Solver, default Automatic()
        Solves the projections.

    Examples
    --------
    >>> import jostle as jo
    >>> play = jo.Sweeping(q0=[0.0], within=jo.Box(lambda t: t - 0.5, lambda t: t + 0.5))
    >>> jo.solve(play, jo.CatchingUp(), t=2.0, h=0.1).q[-1].round(12).tolist()
    [1.5]
    """

    capabilities: ClassVar[frozenset[str]] = frozenset({FIRST, METRIC, MOVING, NOT_CONVEX, EQUALITIES})

    def projects_positions(self, problem: Sweeping) -> bool:
        # Whether the residual of a step bounds the overlaps of its q.
        return True

    def step(self, problem: Sweeping, state: State, h: float) -> State:
        # One step: q^{k+1} = P_{Q(t^{k+1})}(q^k + h U(t^k, q^k)).
        t, q = state.t, state.q
        predicted = q + h * problem.velocity(t, q)
        try:
            P, contacts = nearest_with_contacts(problem.within, predicted, problem.metric(q), t + h, self.solver)
        except NotConverged as error:
            raise _proof_of_emptiness(problem.within, t + h, q) or error from None
        u, p = (P.point - q) / h, Impulses(P.multipliers / h)
        return State(t + h, state.pose.at(P.point), u, P, contacts, p)


def _proof_of_emptiness(within: ConstraintSet, t: float, q: Array) -> EmptySet | None:
    """The error that the constraints which are linear in q contradict each other, if they do: then Q(t) is empty."""
    linear = tuple(Q for Q in parts(within) if Q.flat or _looks_linear(Q, t, q))
    if not linear:
        return None
    K = Intersection(linear).linearise(t, q).positions(q)
    try:
        weights = contradiction(K, metric(1.0, q.shape))
    except Undecided:
        return None
    return None if weights is None else empty_set(K, weights)


def _looks_linear(Q: ConstraintSet, t: float, q: Array) -> bool:
    """Whether the gaps of a set of unknown convexity are linear between points around q."""
    if Q.convex_gaps is not None:
        return False
    size = float(np.abs(q).max(initial=0.0)) or 1.0
    way = size * np.cos(np.arange(1.0, q.size + 1.0)).reshape(q.shape)
    here, *there = (Q.gaps(t, q + part * way) for part in SAMPLE_PLACES)
    slopes = [(gap - here) / part for gap, part in zip(there, SAMPLE_PLACES[1:], strict=True)]
    return bool(np.ptp(slopes, axis=0).max(initial=0.0) <= SLOPE_TOLERANCE * np.abs(slopes).max(initial=0.0))
