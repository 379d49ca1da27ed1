"""The default: picks a solver by the size of the problem, and says which in ``Projection.solver``."""

from __future__ import annotations

from dataclasses import dataclass

from jostle.convex.maps import Pairs
from jostle.convex.polyhedron import Polyhedron
from jostle.solvers.base import Solver
from jostle.solvers.exact import Exact
from jostle.solvers.interior_point import InteriorPoint
from jostle.solvers.nesterov import Nesterov

SMALL = 128
"""Up to so many rows the exact solver is the faster one on settled piles of discs."""
LOOSE = 1e-5
"""From this tolerance on, and in 3-D, first order beats second order on large problems."""


LAST_RESORT = 2000
"""Up to so many rows the exact solver is tried when the first choice fails (masses over many decades, say)."""


@dataclass(frozen=True, kw_only=True)
class Automatic(Solver):
    """Exact up to 128 rows; beyond, first order for spheres or loose tolerances, else second order.

    If the first choice does not converge, the others try (up to 128 rows there is only one).

    >>> import jostle as jo
    >>> jo.Automatic().project([-1.0], jo.Cone([[1.0]])).solver
    'Exact'
    """

    tol: float = 1e-8
    max_iterations: int = 200_000

    def _choices(self, K: Polyhedron) -> tuple[Solver, ...]:
        if K.G.shape[0] <= SMALL:
            return (Exact(tol=self.tol),)
        first = Nesterov(tol=self.tol, max_iterations=self.max_iterations)
        second = InteriorPoint(tol=self.tol)
        spheres = isinstance(K.G, Pairs) and K.G.dimension == 3
        order: tuple[Solver, ...] = (first, second) if spheres or self.tol >= LOOSE else (second, first)
        if K.G.shape[0] <= LAST_RESORT:
            return (order[0], Exact(tol=self.tol), order[1])
        return order
