"""The default: picks a solver by the size of the problem, and says which in ``Projection.solver``."""

from __future__ import annotations

from dataclasses import dataclass

from jostle.convex.maps import Pairs
from jostle.convex.polyhedron import Polyhedron
from jostle.convex.projection import Projection
from jostle.solvers.base import Solver
from jostle.solvers.budget import Budget
from jostle.solvers.exact import Exact
from jostle.solvers.interior_point import InteriorPoint
from jostle.solvers.nesterov import Nesterov

SMALL = 128
"""Up to so many rows the exact solver does everything."""
LOOSE = 1e-5
"""From this tolerance on, rows that are not contacts of bodies go to first order."""
TRIAL = 60
"""Iterations of first order that discs get to show whether they are enough (at rest, warm, or far apart they are);"""
NEARLY = 30.0
"""if their residual is within this factor of the tolerance,"""
LONGER = 600
"""they get so many more. Second order costs about as much as some thousand of them."""
PLENTY = 20_000
"""Iterations of first order that spheres get: beyond, second order is the cheaper one even in 3-D."""
LAST_RESORT = 2000
"""Up to so many rows the exact solver is tried when all else failed (masses over many decades, say)."""


@dataclass(frozen=True, kw_only=True)
class Automatic(Solver):
    """Exact up to 128 rows; spheres by first order; discs by second order, unless a trial of first order is enough.

    If one does not converge, the next tries (up to 128 rows there is only one).

    >>> import jostle as jo
    >>> jo.Automatic().project([-1.0], jo.Cone([[1.0]])).solver
    'Exact'
    """

    tol: float = 1e-8
    max_iterations: int = 200_000

    def _next(self, K: Polyhedron, tried: list[Projection]) -> Solver | None:
        rows = K.G.shape[0]
        if rows <= SMALL:
            return None if tried else Exact(tol=self.tol)
        first, second = Nesterov(tol=self.tol, max_iterations=self.max_iterations), InteriorPoint(tol=self.tol)
        plan: tuple[Solver, ...]
        if isinstance(K.G, Pairs) and K.G.dimension == 2:
            if len(tried) == 1 and tried[0].residual.worst <= NEARLY * self.tol:
                return self._trial(LONGER)
            plan = (self._trial(TRIAL), second, first)
            done = len(tried) - (len(tried) > 1 and tried[1].solver == first.name)
        elif isinstance(K.G, Pairs):
            plan, done = (self._trial(PLENTY), second, first), len(tried)
        else:
            plan, done = (first, second) if self.tol >= LOOSE else (second, first), len(tried)
        if rows <= LAST_RESORT:
            plan = (*plan[:-1], Exact(tol=self.tol), plan[-1])
        return plan[done] if done < len(plan) else None

    def _trial(self, iterations: int) -> Solver:
        """First order that may fail: nobody looks for a contradiction then."""
        trial = Budget(tol=self.tol, max_iterations=min(iterations, self.max_iterations))
        object.__setattr__(trial, "name", Nesterov.__name__)
        return trial
