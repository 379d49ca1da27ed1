"""Free motion, then a projection on {rho <= 1}: the splitting of Maury & Preux 2017 for flows, and of Maury,
Roudneff-Chupin & Santambrogio 2010 for crowds.

    arrived = density after free motion with u^n in time h
    rho^{n+1} = arrived + Laplace P,   P >= 0,   rho^{n+1} <= 1,   P (1 - rho^{n+1}) = 0
    u^{n+1} = transported u^n - grad P / h (flows);   u^{n+1} = U - grad P / h (crowds)

The projection is the obstacle step, which agrees with the Wasserstein projection to first order in the excess.
"""

from __future__ import annotations

from dataclasses import dataclass

from jostle._tools.arrays import Array
from jostle.macro.motion.domain import Faces, passed
from jostle.macro.motion.pressure import hard
from jostle.macro.motion.problems import Crowd, Flow, State
from jostle.macro.motion.scheme import Scheme, emptied
from jostle.macro.motion.transport import carried, flux, impulses, velocities


@dataclass(frozen=True, kw_only=True)
class Splitting(Scheme):
    """Free motion, then projection onto {rho <= 1}: Maury & Preux 2017; for crowds Maury et al. 2010.

    For crowds, and for flows with e = 0. The velocity after a step follows from the displacement of the mass.

    Parameters
    ----------
    tol : float, default 1e-8
        How much a density may exceed one, between 0 and 1.

    Examples
    --------
    >>> import jostle as jo
    >>> grid = jo.macro.Grid([0, 0], [4, 1], h=1 / 8, closed=True)
    >>> people = jo.macro.Crowd(grid=grid, density=0.5 * grid.block([0, 0], [2, 1]), velocity=grid.velocity(1.0, 0))
    >>> after = jo.macro.solve(people, jo.macro.Splitting(), t=4.0, h=0.05)
    >>> after.density[-1][:, 0].round(3).tolist()[-9:]              # all stand at the right wall
    [0.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]
    """

    def step(self, problem: Crowd | Flow, state: State, u: Faces, h: float) -> State:
        # Advance the density by one step that is short enough; `advance` cuts longer steps.
        domain, side = problem.domain, problem.grid.h
        free = flux(domain, state.density, u, h)
        arrived = state.density - domain.divergence(free)
        P, iterations = self._spread(problem, state, arrived, h)
        back = domain.differences(P)
        crossed = free[0] - back[0], free[1] - back[1]
        full = arrived + domain.divergence(back)
        if isinstance(problem, Flow):
            m, (x, y) = carried(domain, state.density, u, crossed), impulses(domain, P)
            u = velocities(domain, full, (m[0] - side / h * x, m[1] - side / h * y))
            pressure = P * (side / h) ** 2
        else:
            full = passed(domain.passages, full, u, h / domain.grid.h)
            u, pressure = (u[0] - side / h * back[0], u[1] - side / h * back[1]), P * side**2 / h
        density, gone = emptied(problem, full, crossed)
        return State(state.t + h, density, u, pressure, state.gone + gone, iterations)

    def _spread(self, problem: Crowd | Flow, state: State, arrived: Array, h: float) -> tuple[Array, int]:
        """The potential that spreads what exceeds the density one after free motion, and the number of iterations."""
        return hard(problem.domain, arrived, state.pressure, self.tol)
