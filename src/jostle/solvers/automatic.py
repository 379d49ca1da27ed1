"""The default solver, which picks an algorithm by the size of the problem."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np

from jostle._tools.arrays import Array, place_of
from jostle.convex.linear_map import NormalRows
from jostle.convex.metric import Metric
from jostle.convex.projection import Projection
from jostle.convex.rows import Rows
from jostle.kernels import offers
from jostle.solvers.augmented_newton import AugmentedNewton
from jostle.solvers.base import Declined, Solver
from jostle.solvers.dual_active_set import ActiveSet
from jostle.solvers.gauss_seidel import AT_ONCE, GaussSeidel, aimed
from jostle.solvers.interior_point import BYTES, InteriorPoint, most_memory
from jostle.solvers.semismooth_newton import SemismoothNewton

PILE_TOLERANCE = 1e-3
"""The tolerance that `jostle.solve` takes where many bodies rub, and nobody gave one."""
MAX_EXACT_ROWS = 128
"""Problems with at most this many rows are solved by the active-set method."""
FIRST_ORDER_TOLERANCE = 1e-5
"""General rows are tried with first-order iterations if the tolerance is at least this large."""
MIN_TRIAL, TRIAL_CROSSINGS = 100, 3
"""Iterations of the first of the first-order trials for discs: at least MIN_TRIAL, and TRIAL_CROSSINGS times the square
root of the number of discs, in which forces cross the whole crowd that often. They suffice at rest, after a warm start,
or far apart. In a jam that moves, they take as long as two iterations of second order, which then starts closer."""
TRIALS = (1, 2, 4, 8)
"""Iterations of the successive trials, in multiples of those of the first. For thousands of people who are pressed, all
four take about as long as the eight to ten iterations of second order that they replace."""
TRIAL_RESIDUAL = 30.0
"""The next trial needs a residual below this many tolerances, and below half the one before; otherwise second order is
cheaper."""
FRICTION_ROUNDS, FIRST_SWEEPS, NEWTON_ITERATIONS = 4, 1000, 30
"""With friction, rounds of sweeps and of a few iterations of Newton's method alternate: what one leaves is what the
other solves quickly. Each round has twice as many sweeps as the one before. In piles of 1000 discs, one iteration of
Newton's method takes as long as about 200 sweeps."""
MAX_SPHERE_ITERATIONS = 20_000
"""First-order iterations for spheres. Where these do not suffice, second order is cheaper even in 3-D."""
PROOF_ITERATIONS = 10_000
"""First-order iterations after which multipliers that grow without end prove that the set is empty."""
FACTORISATIONS = 30
"""Typical number of factorisations of a second-order projection."""
ROW_OPERATIONS = 50
"""Operations of a factorisation in the time that one row takes in a first-order iteration."""
MIN_OPERATIONS = 1e11
"""Second order may always take this many operations, about ten seconds. Factors of N numbers for n unknowns take about
N^2 / n operations."""
MAX_FALLBACK_ROWS = 2000
"""The active-set method is the last attempt for at most this many rows (with masses over many decades, for example)."""

OTHER_KERNELS = ActiveSet.kernels | InteriorPoint.kernels
"""Kernels of the solvers other than Gauss-Seidel; if a device lacks them, only Gauss-Seidel is used."""


class NotGiven(float):
    """A tolerance that nobody gave."""


@dataclass(frozen=True, kw_only=True)
class Automatic(Solver):
    """The default solver: chooses an algorithm by the size of the problem; ``Projection.solver`` names it.

    Up to 128 rows are solved by `ActiveSet`. Larger problems of spheres are solved by `GaussSeidel`, those of discs by
    `InteriorPoint`, unless a few iterations of `GaussSeidel` are enough. More than 128 rows of which some are
    equalities are first tried by a semismooth Newton method. If one algorithm does not converge, the next tries (up to
    128 rows there is only one); ``Projection.iterations`` is their sum. Friction is swept. Where 1000 sweeps are
    not enough, 30 iterations of Newton's method and twice as many sweeps as before take turns, up to four times; then
    the step has missed the tolerance. ``Projection.remark`` and the progress of a run say so. On a GPU, which has no
    kernels for the others, `GaussSeidel` solves everything.

    Parameters
    ----------
    tol : float, default 1e-8
        Largest residual of an answer that counts as converged; dimensionless, between 0 and 1. If none is given,
        `jostle.solve` takes 1e-3 for eight or more bodies with Coulomb's law.
    max_iterations : int, default 200000
        Largest number of iterations of one projection, of all algorithms together.

    Examples
    --------
    >>> import jostle as jo
    >>> jo.Automatic().project([-1.0], jo.convex.Cone([[1.0]])).solver
    'ActiveSet'
    """

    kernels: ClassVar[frozenset[str]] = GaussSeidel.kernels
    takes_cones: ClassVar[bool] = True

    tol: float = NotGiven(1e-8)
    max_iterations: int = 200_000

    def _at_once(self, w: Array, K: Rows, M: Metric, name: str) -> Projection | None:
        first = _active_set(self.tol)
        if type(self) is not Automatic or len(K.c) > MAX_EXACT_ROWS or first.max_iterations > self.max_iterations:
            return None
        return first._at_once(w, K, M, name)

    def _swept_at_once(self, w: Array, K: Rows, M: Metric, guess: Array | None, name: str) -> Projection | None:
        if type(self) is not Automatic or self.max_iterations < AT_ONCE:
            return None
        return _sweeps(self.tol, min(AT_ONCE, FIRST_SWEEPS))._swept_at_once(w, K, M, guess, name)

    def _plan(self, K: Rows) -> Generator[Solver, Projection, None]:
        yield from aimed(K, self.tol)
        if not offers(K.c, OTHER_KERNELS):
            yield from self._first_order()
            return
        if K.cones is not None:
            for number in range(FRICTION_ROUNDS):
                yield self._trial(FIRST_SWEEPS << number)
                yield AugmentedNewton(tol=self.tol, max_iterations=NEWTON_ITERATIONS)
            return
        rows, active_set = K.G.shape[0], _active_set(self.tol)
        if rows <= MAX_EXACT_ROWS:
            yield active_set
            return
        contacts = K.G.contacts
        if K.equal is not None:
            yield SemismoothNewton(tol=self.tol)
        if contacts is not None and (contacts.width == 2 or K.equal is not None):
            yield from self._trials(contacts.bodies)
        elif contacts is not None:
            yield self._trial(MAX_SPHERE_ITERATIONS)
        elif self.tol >= FIRST_ORDER_TOLERANCE:
            yield self._trial(max(1, self.max_iterations // 2))
        yield _Affordable(tol=self.tol, instead=self.max_iterations)
        if rows <= MAX_FALLBACK_ROWS:
            yield active_set
        yield from self._first_order()

    def _first_order(self) -> Generator[Solver, Projection, None]:
        """First order with all iterations that are left, after a trial that may prove that the set is empty."""
        yield self._trial(PROOF_ITERATIONS)
        yield GaussSeidel(tol=self.tol, max_iterations=self.max_iterations)

    def _trials(self, discs: int) -> Generator[Solver, Projection, None]:
        """First-order trials, while first order may be cheaper."""
        yield _Guess(tol=self.tol)
        enough = TRIAL_RESIDUAL * self.tol
        first = max(MIN_TRIAL, int(TRIAL_CROSSINGS * np.sqrt(discs)))
        for longer in TRIALS:
            tried = yield self._trial(longer * first)
            if not tried.residual.worst <= enough:
                return
            enough = tried.residual.worst / 2.0

    def _trial(self, iterations: int) -> Solver:
        return _Trial(tol=self.tol, max_iterations=iterations)


@lru_cache
def _active_set(tol: float) -> ActiveSet:
    """The active-set method of a tolerance; every small projection needs one."""
    return ActiveSet(tol=tol)


@lru_cache
def _sweeps(tol: float, most: int) -> GaussSeidel:
    """At most this many sweeps of a tolerance; every small projection with friction needs them."""
    return GaussSeidel(tol=tol, max_iterations=most)


@dataclass(frozen=True, kw_only=True)
class _Affordable(InteriorPoint):
    """Second order, where its factorisations do not cost more than the iterations of first order that it replaces."""

    instead: int = 1

    @property
    def name(self) -> str:
        return InteriorPoint.__name__

    def _most_numbers(self, contacts: NormalRows) -> int:
        unknowns, rows = contacts.bodies * contacts.width, len(contacts.i)
        operations = max(MIN_OPERATIONS, ROW_OPERATIONS * rows * self.instead) / FACTORISATIONS
        return min(super()._most_numbers(contacts), int(np.sqrt(operations * unknowns)))

    def _declined(self, what: str, numbers: int) -> Declined:
        if numbers * BYTES > most_memory():
            return super()._declined(what, numbers)
        return Declined(f"the factors of {what} take longer than {self.instead} iterations of first order")


class _Guess(Solver):
    """The multipliers of the step before, without iterations."""

    @property
    def strict(self) -> bool:
        return False

    @property
    def name(self) -> str:
        return "Guess"

    def _solve(self, w: Array, K: Rows, M: Metric, slack: Array, guess: Array | None) -> tuple[Array, Array, int]:
        p = place_of(slack).zeros(len(slack)) if guess is None else np.maximum(guess, 0.0)
        if guess is not None and K.equal is not None:
            p = np.where(K.equal, guess, p)
        return w + M.solve(K.G.adjoint(p)), p, 0


class _Trial(GaussSeidel):
    """First-order iterations that may fail; a failure is not examined for a contradiction."""

    @property
    def strict(self) -> bool:
        return False

    @property
    def name(self) -> str:
        return GaussSeidel.__name__
