"""Sparse projections with equalities, chains above all: a semismooth Newton method with sparse factorisations.

In Euclidean coordinates with unit rows the solution of min 1/2 |x|^2, s = s0 + A x >= 0 is x = A^T p with

    p_i = max(0, p_i - s_i)   in an inequality,      s_i = 0   in an equality.

A Newton step takes the rows with p_i - s_i > 0, and all equalities, as active, and solves A_a A_a^T p_a = -s0_a, p = 0
elsewhere; it ends when the active rows repeat. (Hintermüller, Ito & Kunisch 2003 call it a primal-dual active-set
strategy.) Started from the rows that were active in the step before it mostly ends after one to three steps. The rows
of a chain couple neighbours only, so a factorisation takes a time in proportion to the number of links.

Rows may depend on each other: p_a is found by the proximal iteration (A_a A_a^T + delta) dp = -(s0_a + A_a A_a^T p_a),
which converges for every consistent system. Convergence of the active rows is not certain in general, so that nothing
is promised here: an answer that misses the tolerance is left to the other methods.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from jostle._tools.arrays import Array, Booleans
from jostle.convex.metric import Metric
from jostle.convex.rows import Rows
from jostle.solvers.base import Declined, Solver, unit_rows

REGULARISATION = 1e-10
"""delta, relative to the squared length one of the rows: directions of p below it are found by repetition."""
MAX_REFINEMENTS = 8
"""Largest number of proximal iterations with one factorisation."""
SETTLED = 0.1
"""The proximal iteration continues while it reduces the largest violation to less than this fraction."""
MAX_BAND_ENTRIES = 8_000_000
"""Factors are not computed if the band of A A^T has more entries than this."""


@dataclass(frozen=True, kw_only=True)
class SemismoothNewton(Solver):
    """Newton's method for the optimality conditions, with sparse factorisations. No promise to converge.

    >>> import jostle as jo
    >>> K = jo.convex.Polyhedron([[1.0, -1.0], [1.0, 0.0]], [0.0, -1.0], equal=[True, False])       # x = y, x >= 1
    >>> SemismoothNewton().project([0.0, 0.5], K).point.round(9).tolist()
    [1.0, 1.0]
    """

    @property
    def strict(self) -> bool:
        return False

    max_iterations: int = 30

    def _solve(self, w: Array, K: Rows, M: Metric, slack: Array, guess: Array | None) -> tuple[Array, Array, int]:
        unit, s0, noise = self._whitened(w, K, M, slack)
        A = unit_rows(K.G, M, unit)
        equal = np.zeros(len(s0), dtype=bool) if K.equal is None else K.equal
        p = np.zeros(len(s0)) if guess is None else guess * unit
        active = equal | ((p > 0.0) if p.any() else (s0 < 0.0))
        seen: set[bytes] = set()
        iterations = 0
        while iterations < self.max_iterations and active.tobytes() not in seen:
            seen.add(active.tobytes())
            iterations += 1
            p = _on_active(A, s0, noise, active, p)
            s = slack if equal.all() else slack + K.G @ M.solve(K.G.adjoint(p / unit))
            # the slack of an active row is zero but for round-off, so that its multiplier alone decides
            active = equal | (np.where(active, p, -s) > 0.0)
        p = np.where(equal, p, np.maximum(p, 0.0)) / unit
        return w + M.solve(K.G.adjoint(p)), p, iterations


def _on_active(A: Any, s0: Array, noise: Array, active: Booleans, guess: Array) -> Array:
    """p with s0 + A A^T p = 0 in the active rows, zero in the others."""
    rows = np.flatnonzero(active)
    p = np.zeros(len(s0))
    if len(rows) == 0:
        return p
    E = A if len(rows) == len(p) else A[rows]
    S = (E @ E.T).tocsr()
    solve = _factorised(S)
    on_rows, last = guess[rows], np.inf
    for _ in range(MAX_REFINEMENTS):
        lack = s0[rows] + S @ on_rows
        worst = float(np.abs(lack).max())
        if not worst < SETTLED * last or (np.abs(lack) <= noise[rows]).all():
            break
        on_rows, last = on_rows - solve(lack), worst
    p[rows] = on_rows
    return p


def _factorised(S: Any) -> Callable[[Array], Array]:
    """x = (S + delta)^-1 y by the Cholesky factor of a band along the chain; `Declined` if the band is large."""
    from scipy.linalg.lapack import dpbtrf, dpbtrs
    from scipy.sparse.csgraph import reverse_cuthill_mckee

    n, order = S.shape[0], reverse_cuthill_mckee(S, symmetric_mode=True)
    place = np.empty(n, dtype=np.int64)
    place[order] = np.arange(n)
    row, column = np.repeat(place, np.diff(S.indptr)), place[S.indices]
    below = row - column
    width = int(below.max(initial=0))
    if (width + 1) * n > MAX_BAND_ENTRIES:
        raise Declined(f"the factor of {n} active rows has a band of width {width + 1}, which is too large")
    band, lower = np.zeros((width + 1, n), order="F"), below >= 0
    band[below[lower], column[lower]] = S.data[lower]
    band[0] += REGULARISATION
    factor, failed = dpbtrf(band, lower=1, overwrite_ab=1)
    if failed:
        raise Declined(f"the matrix of {n} active rows is not positive definite, by round-off")

    def solve(y: Array) -> Array:
        x, _ = dpbtrs(factor, y[order], lower=1)
        return np.asarray(x)[place]

    return solve
