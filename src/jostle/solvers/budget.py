"""A fixed number of first-order iterations per projection, without a guarantee, as in game physics.

The constraint g / h + G u >= 0 of the next step repairs what this one left, so warm-started iterations, too few for
any one projection, hold a pile over many steps. A budget is not a converged projection, and its answer says so:
`converged` is False unless the tolerance was reached, `residual.primal` is the overlap it left, over the radius, and
`residual.complementarity` tells how far the impulses are from those of the projection.

Most steps of a pile need few iterations, and the blow of a falling body needs many: to stop at a given overlap leaves
much smaller worst ones in the same time than a fixed number of iterations.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from jostle.arrays import Array
from jostle.convex.polyhedron import Polyhedron
from jostle.errors import InvalidValue
from jostle.solvers.gauss_seidel import GaussSeidel


@dataclass(frozen=True, kw_only=True)
class Budget(GaussSeidel):
    """At most a fixed number of Gauss-Seidel sweeps, started from the previous step, without a guarantee.

    `solve` does not raise when the tolerance is not reached: the run ends with the status "budget", and ``sol.stats``
    has the overlap and the residual of each step.

    Parameters
    ----------
    tol : float, default 1e-6
        Residual at which the sweeps stop early; dimensionless, between 0 and 1.
    max_iterations : int, default 100
        Largest number of sweeps of one projection.
    overlap : float, default 0.0
        Largest overlap at which the sweeps stop, whatever the impulses are, as a fraction of the smallest radius, from
        0 to 1. 0 stops at `tol` alone.

    Raises
    ------
    InvalidValue
        If `overlap` is not in [0, 1); during a projection, if `overlap` is positive and a constraint has no radius to
        compare it with.

    Examples
    --------
    >>> import jostle as jo, numpy as np
    >>> heap = jo.models.spheres(np.full(200, 0.5), box=([0, 0], [12, np.inf]))
    >>> sol = jo.solve(heap, jo.Maury(solver=jo.Budget(max_iterations=400, overlap=1e-3)), t=0.5, h=0.01)
    >>> sol.status, bool(sol.gaps().min() > -1e-3 * 0.5)
    ('budget', True)
    """

    tol: float = 1e-6
    max_iterations: int = 100
    overlap: float = 0.0
    promises: ClassVar[bool] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0.0 <= self.overlap < 1.0:
            raise InvalidValue(f"overlap is a fraction of the smallest radius, from 0 to 1, not {self.overlap}")

    def _stop(self, K: Polyhedron, unit: Array, s0: Array, noise: Array, part: float) -> tuple[Array, float]:
        if self.overlap == 0.0:
            return super()._stop(K, unit, s0, noise, part)
        if not (K.length > 0.0).all():
            row = K.describe(int(np.argmin(K.length > 0.0)))
            raise InvalidValue(f"overlap is a fraction of the smallest radius, and {row} has none; leave overlap out")
        return np.maximum(self.overlap * K.length / unit, noise), np.inf
