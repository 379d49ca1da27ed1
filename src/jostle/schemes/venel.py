"""Venel's prediction-correction scheme for sweeping processes: Venel 2009 (22).

    q^{k+1} = P_{Q~(t^{k+1}, q^k)} (q^k + h U(t^k, q^k)),
    Q~(t, q) = {x : g_i(t, q) + <grad g_i(t, q), x - q> >= 0},     P in the metric M of the problem

written here for the velocity u = (q^{k+1} - q^k) / h, the projection of U on K_h(t^{k+1}, q^k): the same point,
without the loss of digits in x - q, and with multipliers M (u - U) = G^T p that do not depend on h. If the gaps
are convex, q^k stays in Q(t^k) for every h. Order 1. Venel's M is the identity.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from jostle.problems import Sweeping
from jostle.schemes.base import Scheme
from jostle.schemes.capabilities import EQUALITIES, EXCHANGE, FIRST, METRIC, MOVING
from jostle.schemes.cutoff import project_velocity
from jostle.schemes.state import State


@dataclass(frozen=True, kw_only=True)
class Venel(Scheme):
    """Venel's prediction-correction scheme for sweeping processes: Venel 2009, (22).

    For crowds, points pushed by moving sets, the labyrinth. No overlaps at any step size, if every gap is convex in q.

    Parameters
    ----------
    solver : Solver, default Automatic()
        Solves the projections.

    Examples
    --------
    >>> import jostle as jo
    >>> point = jo.Sweeping(q0=[0.0], velocity=[1.0], within=jo.Box(0.0, 0.5))
    >>> jo.solve(point, jo.Venel(), t=1.0, h=0.1).q[-1].tolist()
    [0.5]
    """

    capabilities: ClassVar[frozenset[str]] = frozenset({FIRST, METRIC, MOVING, EXCHANGE, EQUALITIES})
    linearises: ClassVar[bool] = True
    on_devices: ClassVar[bool] = True

    def step(self, problem: Sweeping, state: State, h: float) -> State:
        # One step: (22) of Venel 2009, written for the velocity.
        wished, M = problem.velocity(state.t, state.q), problem.metric(state.q)
        contacts, (P, p) = project_velocity(self.solver, problem, state, h, wished, M, None)
        return State(state.t + h, *state.pose.moved(P.point, h), P, contacts, p)
