"""Moreau's catching-up algorithm: q^{k+1} = P_{Q(t^{k+1})}(q^k + h U(t^k, q^k)).

The projection is on the set itself, so it also serves where gaps are not convex (inside a ball, an annulus).
Venel 2009, section 1. Order 1; agrees with `Venel` to O(h^2) a step where both apply. Where Q is not convex and
h |U| exceeds its prox-regularity constant, the nearest point may lie behind an obstacle: a wall that is jumped over
is an error (`LeftTheSet`), but balls can change places.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from jostle.convex.metric import euclidean
from jostle.problems import Sweeping
from jostle.schemes.base import Scheme, State
from jostle.sets.nearest import nearest
from jostle.solvers.automatic import Automatic
from jostle.solvers.base import Solver


@dataclass(frozen=True, kw_only=True)
class CatchingUp(Scheme):
    """First order, exact projection on Q(t).

    >>> import jostle as jo
    >>> play = jo.Sweeping(q0=[0.0], within=jo.Box(lambda t: t - 0.5, lambda t: t + 0.5))
    >>> jo.solve(play, jo.CatchingUp(), t=2.0, h=0.1).q[-1].round(12).tolist()
    [1.5]
    """

    solver: Solver = field(default_factory=Automatic)

    def check(self, problem: Sweeping) -> None:
        self.needs_sweeping(problem)
        self.needs_everyone(problem.presence)

    def step(self, problem: Sweeping, state: State, h: float) -> State:
        t, q = state.t, state.q
        self.needs_everyone(state.presence)
        predicted = q + h * problem.velocity(t, q)
        P, contacts = nearest(problem.within, predicted, euclidean(q.shape), t + h, self.solver)
        return State(t + h, P.point, (P.point - q) / h, P, contacts, P.multipliers / h)
