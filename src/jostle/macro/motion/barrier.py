"""A pressure that becomes infinite at the density one (Degond, Hua & Navoret 2011), implicit in time.

    p = eps (rho / (1 - rho))^gamma

The mass moves freely, then the pressure of the *new* density acts: rho - h^2 Laplace p(rho) = arrived density. The
steps therefore need not become shorter with eps, and for eps -> 0 the scheme becomes `Splitting`: it is asymptotic
preserving.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from jostle._tools.arguments import Positive
from jostle._tools.arrays import Array
from jostle.errors import InvalidValue, SchemeRefuses
from jostle.macro.motion.pressure import Spread, barrier
from jostle.macro.motion.problems import Crowd, Flow, State
from jostle.macro.motion.splitting import Splitting

MIN_ROOM = 1e-6
"""The density of a flow must be at least this much below one at the start."""


@dataclass(frozen=True, kw_only=True)
class Barrier(Splitting):
    """A singular pressure keeps the density below one: Degond, Hua & Navoret 2011.

    For flows with e = 0. The pressure is p = eps (rho / (1 - rho))^gamma. With eps -> 0 the scheme becomes `Splitting`.

    Parameters
    ----------
    tol : float, default 1e-8
        Largest error of the density in Newton's method, between 0 and 1.
    eps : float
        Strength of the pressure, positive, in the unit of a squared velocity.
    gamma : float, default 2.0
        Exponent of the pressure, at least 1.

    Examples
    --------
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
        if most > 1.0 - MIN_ROOM:
            raise SchemeRefuses(
                f"Barrier has an infinite pressure at density 1, and the flow starts with density {most:.9g}: start "
                f"with a lower density, such as 0.99 times this one, or use jo.macro.Splitting"
            )

    def spread(self, problem: Crowd | Flow, state: State, arrived: Array, h: float) -> Spread:
        # Find the potential of the barrier for the new density, by Newton's method.
        return barrier(problem.domain, arrived, self.eps * (h / problem.grid.h) ** 2, self.gamma, self.tol)
