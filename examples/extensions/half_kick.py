"""A scheme: Maury's with the first half step of Störmer and Verlet, second order.

`step` contains only the equation. The base class handles absent bodies, checks, overlaps
and statistics.
"""

from dataclasses import dataclass
from typing import ClassVar

import jostle as jo
from jostle.schemes import SCHEMES
from jostle.schemes.capabilities import MOVING, SECOND
from jostle.schemes.cutoff import project_velocity


@dataclass(frozen=True, kw_only=True)
class HalfKick(jo.Scheme):
    """The force acts for half a step in the first step, so u belongs to mid-steps."""

    capabilities: ClassVar[frozenset[str]] = frozenset({SECOND, MOVING})
    linearises: ClassVar[bool] = True

    def step(self, problem, state, h):
        t, q, u, M = state.t, state.q, state.u, problem.metric(state.q)
        kick = h / 2 if state.projection is None else h
        predicted = u + kick * problem.acceleration(t, q, u)
        contacts, (P, p) = project_velocity(self.solver, problem, state, h, predicted, M)
        return jo.schemes.State.of(t + h, q + h * P.point, P.point, P, contacts, p.normal)


SCHEMES.register("half_kick", HalfKick)  # [scheme] kind = "half_kick" in scenario files
