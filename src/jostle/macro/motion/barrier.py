"""A pressure that is steep before the density is one (Degond, Hua & Navoret 2011), implicit in time.

    p = eps (rho / (1 - rho))^gamma

The mass moves freely, then the pressure of the *new* density acts: rho - h^2 Laplace p(rho) = what arrived. So the
steps need not become shorter with eps, and for eps -> 0 the scheme is `Splitting`: it preserves the asymptotics.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from jostle.arguments import Positive
from jostle.arrays import Array
from jostle.errors import InvalidValue, SchemeRefuses
from jostle.macro.motion.pressure import Spread, barrier
from jostle.macro.motion.problems import Crowd, Flow
from jostle.macro.motion.splitting import Splitting
from jostle.macro.motion.state import State

ROOM = 1e-6
"""A flow must begin with at least so much room below the density one."""


@dataclass(frozen=True, kw_only=True)
class Barrier(Splitting):
    """Flows with e = 0 and a barrier in the place of the constraint; the density stays below one by itself.

    >>> import jostle as jo
    >>> grid = jo.macro.Grid([0, 0], [4, 1], h=1 / 8, closed=True)
    >>> left, right = grid.block([0, 0], [1, 1]), grid.block([2, 0], [3, 1])
    >>> blocks = jo.macro.Flow(grid=grid, density=0.9 * (left | right), velocity=grid.velocity(left - right, 0))
    >>> after = jo.macro.solve(blocks, jo.macro.Barrier(eps=1e-4), t=1.0, h=0.05)
    >>> bool(after.density.max() < 1.0)
    True
    """

    solves: ClassVar[tuple[type[Any], ...]] = (Flow,)

    eps: Positive
    gamma: float = 2.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.gamma >= 1.0:
            raise InvalidValue(f"gamma must be at least 1, not {self.gamma}")

    def check(self, problem: Crowd | Flow) -> None:
        super().check(problem)
        most = float(np.max(problem.density))
        if most > 1.0 - ROOM:
            raise SchemeRefuses(
                f"Barrier has an infinite pressure at density 1, and the flow begins with {most:.9g}: begin below, as "
                f"with 0.99 times the density, or use jo.macro.Splitting"
            )

    def spread(self, problem: Crowd | Flow, state: State, arrived: Array, h: float) -> Spread:
        return barrier(problem.domain, arrived, self.eps * (h / problem.grid.h) ** 2, self.gamma, self.tol)
