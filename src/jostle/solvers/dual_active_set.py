"""The projection of small problems, exact up to round-off: a dual active-set method (Goldfarb & Idnani 1983).

The method starts at w and adds the most violated row until none is left, removing rows whose multiplier would become
negative. It ends after finitely many steps. Rows that depend on others (hyperstatic contacts, duplicates) stay out with
multiplier zero, and an empty polyhedron shows itself as a row that cannot be satisfied. Equalities are eliminated
before it starts (see `elimination`).

Bodies at rest have the same active rows in every step. So the rows that were active in the guess are tried first: one
Cholesky factorisation solves A_a A_a^T p_a = -s0_a, and the answer counts only if it satisfies the optimality
conditions up to the round-off that the method itself allows. Otherwise the method starts at w.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from jostle.arrays import Array, Integers
from jostle.convex.emptiness import empty_set
from jostle.convex.metric import Metric
from jostle.convex.polyhedron import Polyhedron
from jostle.kernels import kernels_for, one_row
from jostle.kernels.blas import one_blas_thread
from jostle.kernels.reference.dense import EMPTY, EPS, ROUND_OFF
from jostle.solvers.base import Solver
from jostle.solvers.elimination import Rows, project_with_equalities

MIN_GUESSED_ROWS = 60
"""The active rows of a guess are tried first if there are at least this many; with fewer the method itself is as fast
(`python benchmarks/settled_discs.py`)."""
MAX_TRIES = 3
"""Largest number of sets of active rows that are tried: that of the guess, and those after a change of rows."""
MAX_REFINEMENTS = 3
"""Largest number of iterative refinements of the multipliers of a set of active rows."""
MAX_COLUMNS_A_ROW = 12
"""If there are more columns per row than this, columns that occur in no row are left out: two spheres have six."""


@dataclass(frozen=True, kw_only=True)
class ActiveSet(Solver):
    """Dual active-set method (Goldfarb & Idnani 1983), exact up to round-off, for up to about a hundred contacts.

    The cost grows like the cube of the number of active rows. With at least 60 active rows in the guess, one
    factorisation is enough if the same rows are still active.

    Parameters
    ----------
    tol : float, default 1e-10
        Largest residual of an answer that counts as converged; dimensionless, between 0 and 1.
    max_iterations : int, default 10000
        Largest number of rows that are added or removed; `Projection.iterations` is this number, or that of the
        factorisations if the rows of the guess were enough.

    Examples
    --------
    >>> import jostle as jo
    >>> K = jo.Polyhedron([[1.0, 0.0], [1.0, 1.0]], [0.0, -1.0])
    >>> jo.ActiveSet().project([0.5, -1.5], K).point.round(12).tolist()
    [1.5, -0.5]
    """

    kernels: ClassVar[frozenset[str]] = frozenset({"exact", "project_dense"})
    accepts_start: ClassVar[bool] = False
    """False: resting contacts carry their load even where a step moves bodies by less than the tolerance."""

    tol: float = 1e-10
    max_iterations: int = 10_000

    def _solve(self, w: Array, K: Polyhedron, M: Metric, slack: Array, guess: Array | None) -> tuple[Array, Array, int]:
        G, allowed = K.G.toarray(), self.tol * K.length
        if K.equal is not None:
            unit, s0, noise = self._whitened(w, K, M, slack)
            rows = Rows(M.whiten(G) / unit[:, None], s0, noise, allowed / unit, K.equal)
            x, p, status, iterations = project_with_equalities(rows, self.max_iterations)
            u, p = w + M.unwhiten(x), p / unit
        elif (found := self._guessed(w, G, K, M, slack, guess)) is not None:
            return found
        elif M.diagonal:
            u, p, status, iterations = self._on_columns(w, G, K, M, allowed)
        else:
            unit, s0, noise = self._whitened(w, K, M, slack)
            A = np.ascontiguousarray(M.whiten(G) / unit[:, None])
            x, p, status, iterations = kernels_for(w).exact(A, s0, noise, allowed / unit, self.max_iterations)
            u, p = w + M.unwhiten(x), p / unit
        if status == EMPTY:
            raise empty_set(K, p)
        return u, p, iterations

    def _guessed(
        self, w: Array, G: Array, K: Polyhedron, M: Metric, slack: Array, guess: Array | None
    ) -> tuple[Array, Array, int] | None:
        """(u, p, factorisations) from the active rows of a guess; None if these rows, or few others, are not active."""
        if guess is None or not M.diagonal or np.count_nonzero(guess > 0.0) < MIN_GUESSED_ROWS:
            return None
        unit, s0, noise = self._whitened(w, K, M, slack)
        A, active = G * M.root / unit[:, None], guess > 0.0
        for tries in range(1, MAX_TRIES + 1):
            rows = np.flatnonzero(active)
            if len(rows) == 0:
                return None
            with one_blas_thread():
                p, s, x = _on_active(A, s0, rows)
            if p is None:
                return None
            tolerance = noise + 8 * EPS * np.linalg.norm(x)
            wrong = np.where(active, np.abs(s) > tolerance, s < -tolerance)
            if p.min(initial=0.0) >= 0.0 and not wrong.any():
                multipliers = np.zeros(len(s0))
                multipliers[rows] = p / unit[rows]
                return w + M.root * x, multipliers, tries
            if wrong[rows].any():
                return None
            active = wrong
            active[rows] = p > 0.0
        return None

    def _on_columns(
        self, w: Array, G: Array, K: Polyhedron, M: Metric, allowed: Array
    ) -> tuple[Array, Array, int, int]:
        """The projection in the coordinates that occur in a row: few of many, where few of many bodies touch."""
        if G.shape[1] <= MAX_COLUMNS_A_ROW * G.shape[0]:
            project = one_row.project_dense if one_row.serves(G) else kernels_for(w).project_dense
            return project(G, K.c, w, M.root, ROUND_OFF, K.noise, allowed, self.max_iterations)
        occur, u = np.flatnonzero(G.any(axis=0)), w.copy()
        rows = np.ascontiguousarray(G[:, occur])
        u[occur], p, status, iterations = kernels_for(w).project_dense(
            rows, K.c, w[occur], M.root[occur], ROUND_OFF, K.noise, allowed, self.max_iterations
        )
        return u, p, status, iterations


def _on_active(A: Array, s0: Array, rows: Integers) -> tuple[Array | None, Array, Array]:
    """(p, s, x) with x = A_a^T p and s = s0 + A x, zero in the active rows; p is None if they depend on each other."""
    from scipy.linalg.lapack import dpotrf, dpotrs

    E = A[rows]
    factor, failed = dpotrf(E @ E.T, lower=1, overwrite_a=1)
    p, x, s, worst = np.zeros(len(rows)), np.zeros(A.shape[1]), s0, np.inf
    for _ in range(1 + MAX_REFINEMENTS):
        lack = float(np.abs(s[rows]).max(initial=0.0))
        if failed or not lack < worst:
            break
        p, worst = p - dpotrs(factor, s[rows], lower=1)[0], lack
        x = E.T @ p
        s = s0 + A @ x
    return None if failed else p, s, x
