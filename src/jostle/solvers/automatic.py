"""The default: picks a solver by the size of the problem, and says which in ``Projection.solver``."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from jostle.arrays import Array
from jostle.convex.maps import Pairs
from jostle.convex.metric import Metric
from jostle.convex.polyhedron import Polyhedron
from jostle.convex.projection import Projection
from jostle.solvers.base import Declined, Solver
from jostle.solvers.exact import Exact
from jostle.solvers.interior_point import BYTES, InteriorPoint, most_memory
from jostle.solvers.nesterov import Nesterov

SMALL = 128
"""Up to so many rows the exact solver does everything."""
LOOSE = 1e-5
"""From this tolerance on, rows that are not contacts of bodies go to first order."""
TRIALS = (40, 80, 160, 320)
"""Iterations of first order that discs get to show whether they are enough: at rest, warm, or far apart they are."""
LOADED, FAR_OFF = 0.5, 3000.0
"""They get none if in the guess more rows than this part carry something, and it is off by so many tolerances: in a jam
that moves they were never enough."""
HOPEFUL = 30.0
"""A residual below so many tolerances, and below half of that before, earns the next trial; else second order is
cheaper."""
PLENTY = 20_000
"""Iterations of first order that spheres get: beyond, second order is the cheaper one even in 3-D."""
PROOF = 10_000
"""Iterations of first order after which multipliers that grow without end prove that the set is empty."""
FACTORISATIONS = 30
"""Second order needs about this many."""
ROW_OPERATIONS = 50
"""Operations that a factorisation does in the time of one row in an iteration of first order."""
ALWAYS_AFFORDABLE = 1e11
"""Operations, about ten seconds of them, that second order may always take. Factors of N numbers for n unknowns take
about N^2 / n operations."""
LAST_RESORT = 2000
"""Up to so many rows the exact solver is tried when all else failed (masses over many decades, say)."""


@dataclass(frozen=True, kw_only=True)
class Automatic(Solver):
    """Exact up to 128 rows; spheres by first order; discs by second order, unless a trial of first order is enough.

    If one does not converge, the next tries (up to 128 rows there is only one). `max_iterations` is the limit of all
    of them together, and ``Projection.iterations`` is their sum.

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
        if isinstance(K.G, Pairs) and K.G.dimension == 2:
            yield from self._trials()
        elif isinstance(K.G, Pairs):
            yield self._trial(PLENTY)
        elif self.tol >= LOOSE:
            yield self._trial(max(1, self.max_iterations // 2))
        yield _Affordable(tol=self.tol, instead=self.max_iterations)
        if rows <= LAST_RESORT:
            yield exact
        yield self._trial(PROOF)
        yield Nesterov(tol=self.tol, max_iterations=self.max_iterations)

    def _trials(self) -> Generator[Solver, Projection, None]:
        """First order while it may be the cheaper way."""
        start = yield _Guess(tol=self.tol)
        if (start.multipliers > 0.0).mean() > LOADED and start.residual.worst > FAR_OFF * self.tol:
            return
        enough = HOPEFUL * self.tol
        for iterations in TRIALS:
            tried = yield self._trial(iterations)
            if not tried.residual.worst <= enough:
                return
            enough = tried.residual.worst / 2.0

    def _trial(self, iterations: int) -> Solver:
        return _Trial(tol=self.tol, max_iterations=iterations)


@dataclass(frozen=True, kw_only=True)
class _Affordable(InteriorPoint):
    """Second order, where its factorisations do not cost more than the iterations of first order that it replaces."""

    instead: int = 1

    @property
    def name(self) -> str:
        return InteriorPoint.__name__

    def _most_numbers(self, G: Pairs) -> int:
        unknowns, rows = G.shape[1], G.shape[0]
        operations = max(ALWAYS_AFFORDABLE, ROW_OPERATIONS * rows * self.instead) / FACTORISATIONS
        return min(super()._most_numbers(G), int(np.sqrt(operations * unknowns)))

    def _declined(self, what: str, numbers: int) -> Declined:
        if numbers * BYTES > most_memory():
            return super()._declined(what, numbers)
        return Declined(f"the factors of {what} take longer than {self.instead} iterations of first order")


class _Guess(Solver):
    """The multipliers of the step before, as they are."""

    promises: ClassVar[bool] = False

    @property
    def name(self) -> str:
        return "Guess"

    def _solve(self, w: Array, K: Polyhedron, M: Metric, slack: Array, guess: Array | None) -> tuple[Array, Array, int]:
        p = np.zeros(len(slack)) if guess is None else np.maximum(guess, 0.0)
        return w + M.solve(K.G.adjoint(p)), p, 0


class _Trial(Nesterov):
    """First order that may fail: nobody looks for a contradiction then."""

    promises: ClassVar[bool] = False

    @property
    def name(self) -> str:
        return Nesterov.__name__
