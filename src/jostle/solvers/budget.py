"""A fixed number of first-order iterations a projection: the price of game physics, and what it leaves.

The constraint g / h + G u >= 0 of the next step repairs what this one left, so warm-started iterations, too few for
any one projection, hold a pile over many steps. A budget is not a converged projection, and its answer says so:
`converged` is False unless the tolerance was reached, `residual.primal` is the overlap it left, over the radius, and
`residual.complementarity` tells how far the impulses are from those of the projection.

Momentum lowers the mean error, and leaves it rough; plain sweeps are slow, but smooth it (Brandt 1977, of relaxation in
multigrid methods). The worst overlap is a rough error, and the next step takes over the smooth one with the impulses,
so a part of the budget goes into plain sweeps. In one projection from nothing that does not pay.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from jostle.solvers.nesterov import Nesterov

CALM = 8
"""One part in so many of the iterations, the last ones, leave no momentum: of 0, 1/20, 1/8, 1/6 and 1/4 the part that
left least in a pile of 10 000 discs."""


@dataclass(frozen=True, kw_only=True)
class Budget(Nesterov):
    """At most `max_iterations` accelerated iterations, warm-started from the step before; no promise.

    `solve` does not raise when the tolerance is not reached: the run ends with the status 'budget', and
    ``sol.stats`` has the overlap and the residual of each step.

    >>> import jostle as jo, numpy as np
    >>> heap = jo.models.spheres(np.full(200, 0.5), box=([0, 0], [12, np.inf]))
    >>> sol = jo.solve(heap, jo.Maury(solver=jo.Budget(max_iterations=60)), t=0.5, h=0.01)
    >>> sol.status, bool(sol.gaps().min() > -0.01)
    ('budget', True)
    """

    tol: float = 1e-6
    max_iterations: int = 100
    promises: ClassVar[bool] = False

    @property
    def _calm(self) -> int:
        return self.max_iterations // CALM
