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
from jostle.errors import InvalidValue, NotConverged, SchemeRefuses
from jostle.macro.motion.domain import Domain
from jostle.macro.motion.pressure import INNER_TOLERANCE
from jostle.macro.motion.problems import Crowd, Flow, State
from jostle.macro.motion.splitting import Splitting
from jostle.macro.obstacle import FivePoint, linear_solution

MIN_ROOM = 1e-6
"""The density of a flow must be at least this much below one at the start."""
MAX_NEWTON_STEPS = 60
"""Largest number of Newton steps for the pressure."""
SWITCH_DENSITY = 0.5
"""Newton's method has the density as unknown in cells below this density, and the pressure in all others."""
MIN_RESIDUAL = 1e-12
"""Smallest relative residual to which the linear systems of Newton's method are solved."""


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

    def _spread(self, problem: Crowd | Flow, state: State, arrived: Array, h: float) -> tuple[Array, int]:
        return _potential(problem.domain, arrived, self.eps * (h / problem.grid.h) ** 2, self.gamma, self.tol)


def _potential(domain: Domain, arrived: Array, scale: float, gamma: float, tol: float) -> tuple[Array, int]:
    """The potential P = scale (rho / (1 - rho))^gamma with rho = arrived - A P, by Newton's method.

    The unknown is the density where it is small, and P elsewhere. Both then stay in their ranges, and the number of
    steps does not depend on the scale.
    """
    A, zone = domain.laplacian(), domain.zone
    rho = np.where(zone, np.clip(arrived, 0.0, 1.0 - SWITCH_DENSITY * 1e-3), 0.0)
    P = _pressure(rho, scale, gamma)
    for step in range(MAX_NEWTON_STEPS):
        lack = np.where(zone, arrived + domain.divergence(domain.differences(P)) - rho, 0.0)
        error = float(np.abs(lack).max())
        if error <= tol:
            return P, step
        stiff = _slope(rho, scale, gamma)
        derivative = FivePoint(A.east, A.north, A.extra + np.where(zone, stiff, 0.0))
        change = linear_solution(derivative, lack, max(INNER_TOLERANCE * tol / error, MIN_RESIDUAL))
        thin = rho < SWITCH_DENSITY
        by_density = np.clip(rho + stiff * change, 0.0, (1.0 + rho) / 2.0)
        by_pressure = np.maximum(P + change, P / 10.0)
        rho = np.where(zone, np.where(thin, by_density, _density(by_pressure, scale, gamma)), 0.0)
        P = np.where(thin, _pressure(rho, scale, gamma), by_pressure) * zone
    raise NotConverged(
        f"the pressure of the barrier did not converge in {MAX_NEWTON_STEPS} Newton steps: the error of the density is "
        f"{error:.2e}, more than tol = {tol:.0e}; use a smaller h or a larger tol"
    )


def _pressure(rho: Array, scale: float, gamma: float) -> Array:
    return np.asarray(scale * (rho / (1.0 - rho)) ** gamma)


def _density(P: Array, scale: float, gamma: float) -> Array:
    ratio = (P / scale) ** (1.0 / gamma)
    return np.asarray(ratio / (1.0 + ratio))


def _slope(rho: Array, scale: float, gamma: float) -> Array:
    """d rho / d P, cut off where there is no pressure."""
    thick = np.maximum(rho, 1e-8)
    slope = (1.0 - rho) ** (gamma + 1.0) / (scale * gamma * thick ** (gamma - 1.0))
    return np.minimum(slope, 1e12)
