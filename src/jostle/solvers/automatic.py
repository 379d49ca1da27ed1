"""The default: picks a solver by the size of the problem, and says which in ``Projection.solver``."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import ClassVar

from jostle.convex.maps import Pairs
from jostle.convex.polyhedron import Polyhedron
from jostle.convex.projection import Projection
from jostle.solvers.base import Solver
from jostle.solvers.exact import Exact
from jostle.solvers.interior_point import InteriorPoint
from jostle.solvers.nesterov import Nesterov

SMALL = 128
"""Up to so many rows the exact solver does everything."""
LOOSE = 1e-5
"""From this tolerance on, rows that are not contacts of bodies go to first order."""
TRIALS = (60, 540)
"""Iterations of first order that discs get to show whether they are enough: at rest, warm, or far apart they are."""
HOPEFUL = 30.0
"""After the first trial, a residual below so many tolerances earns the second; beyond, second order is cheaper,"""
FEW, LIKELY = 1000, 1000.0
"""but up to FEW rows, where its set-up weighs more, below so many."""
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

    def _plan(self, K: Polyhedron) -> Generator[Solver, Projection, None]:
        rows, exact = K.G.shape[0], Exact(tol=self.tol)
        if rows <= SMALL:
            yield exact
            return
        first, second = Nesterov(tol=self.tol, max_iterations=self.max_iterations), InteriorPoint(tol=self.tol)
        last: tuple[Solver, Solver] = (second, first)
        if isinstance(K.G, Pairs) and K.G.dimension == 2:
            yield from self._trials(LIKELY if rows <= FEW else HOPEFUL)
        elif isinstance(K.G, Pairs):
            yield self._trial(PLENTY)
        elif self.tol >= LOOSE:
            last = (first, second)
        yield last[0]
        if rows <= LAST_RESORT:
            yield exact
        yield last[1]

    def _trials(self, hopeful: float) -> Generator[Solver, Projection, None]:
        """First order while it may be the cheaper way."""
        tried = yield self._trial(TRIALS[0])
        if tried.residual.worst <= hopeful * self.tol:
            yield self._trial(TRIALS[1])

    def _trial(self, iterations: int) -> Solver:
        return _Trial(tol=self.tol, max_iterations=min(iterations, self.max_iterations))


class _Trial(Nesterov):
    """First order that may fail: nobody looks for a contradiction then."""

    promises: ClassVar[bool] = False

    @property
    def name(self) -> str:
        return Nesterov.__name__
