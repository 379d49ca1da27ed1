"""The default: picks a solver by the size of the problem, and says which in ``Projection.solver``."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import takewhile

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
TRIALS = (60, 240)
"""Iterations of first order that discs get to show whether they are enough: at rest, warm, or far apart they are."""
HOPELESS = 1e4
"""After the first trial, a residual beyond this times the tolerance ends it;"""
LONGER = 1200
"""after the second they go on if, at the rate of the two, so many more will do. Second order costs as much as that."""
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
            trials = len(list(takewhile(lambda answer: answer.solver == first.name, tried)))
            if trials == len(tried) and (more := self._trials(tried)):
                return self._trial(more)
            plan, done = (second, first), len(tried) - trials
        elif isinstance(K.G, Pairs):
            plan, done = (self._trial(PLENTY), second, first), len(tried)
        else:
            plan, done = (first, second) if self.tol >= LOOSE else (second, first), len(tried)
        if rows <= LAST_RESORT:
            plan = (*plan[:-1], Exact(tol=self.tol), plan[-1])
        return plan[done] if done < len(plan) else None

    def _trials(self, tried: list[Projection]) -> int:
        """How many iterations of first order are worth trying, after these; 0: none."""
        left = [answer.residual.worst / self.tol for answer in tried]
        if not tried:
            return TRIALS[0]
        if len(tried) == 1:
            return TRIALS[1] if left[0] <= HOPELESS else 0
        rate = math.log(left[0] / left[1]) / max(tried[1].iterations, 1) if left[1] < left[0] else 0.0
        return LONGER if len(tried) == 2 and rate * LONGER >= math.log(left[1]) else 0

    def _trial(self, iterations: int) -> Solver:
        """First order that may fail: nobody looks for a contradiction then."""
        trial = Budget(tol=self.tol, max_iterations=min(iterations, self.max_iterations))
        object.__setattr__(trial, "name", Nesterov.__name__)
        return trial
