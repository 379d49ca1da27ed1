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

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from jostle import kernels
from jostle._tools.arrays import Array, Booleans, Integers
from jostle.convex.linear_map import LinearMap
from jostle.convex.metric import Metric
from jostle.convex.projection import Projection
from jostle.convex.residuals import Residual
from jostle.convex.rows import Rows
from jostle.kernels import one_row
from jostle.kernels.parallel import one_blas_thread
from jostle.kernels.reference.dense import CONTRADICTION, DEPENDENT, EMPTY, EPS, ROUND_OFF, SOLVED, TINY
from jostle.solvers.base import MAX_DENSE_ENTRIES, Solver

# Equalities in a small dense projection: eliminated by a QR factorisation, before the active-set method starts.
#
# In Euclidean coordinates with unit rows the problem is min 1/2 |x|^2 subject to s0_E + E x = 0 and s0_I + A x >= 0.
# With E^T = Q R, the shortest x that satisfies the equalities is x_E = -Q R^-T s0_E, and
#
#     x = x_E + y,    y = A'^T p,    A' = A - A Q Q^T,    min 1/2 |y|^2 subject to s0_I + A x_E + A' y >= 0,
#
# which has inequalities alone. The multipliers of the equalities follow from R p_E = Q^T (x - A^T p). Rows of E that
# depend on others are left out, with multiplier zero, if they agree with these; if they do not, the set is empty.
#
# `incompatible` returns what rows that depend on each other do not agree on, for any number of them.


REGULARISATION = 1e-10
"""Combinations of unit rows whose squared length is far below this value count as zero."""
REPETITIONS = 4
"""Each repetition multiplies a combination of unit rows of squared length l by delta / (l + delta), where delta is
`REGULARISATION`."""
REFINEMENTS = 2
"""Round-off of A A^T leaves about 1e-6 of a part that should be found; each refinement finds the rest of it."""


class UnitRows(NamedTuple):
    """s0 + A x >= 0, with equality in some rows, which all have length one."""

    A: Array
    s0: Array
    noise: Array
    """(m,) the round-off of s0."""
    allowed: Array
    """(m,) a row that cannot be satisfied, by at most this much, is left as it is."""
    equal: Booleans


def project_with_equalities(rows: UnitRows, max_iterations: int) -> tuple[Array, Array, int, int]:
    """(x, p, status, iterations) of min 1/2 |x|^2, as `kernels.exact` returns them.

    >>> A, equal = np.array([[0.6, 0.8], [1.0, 0.0]]), np.array([True, False])
    >>> rows = UnitRows(A, np.array([-1.0, -1.0]), np.zeros(2), np.zeros(2), equal)
    >>> x, p, status, _ = project_with_equalities(rows, 10)
    >>> x.round(12).tolist(), p.round(12).tolist(), status == SOLVED
    ([1.0, 0.5], [0.625, 0.625], True)
    """
    A, s0, noise, allowed, equal = rows
    first, rest = equal.nonzero()[0], (~equal).nonzero()[0]
    Q, R, order = _factors(A[first])
    rank = len(R)
    kept, others = first[order[:rank]], first[order[rank:]]
    p = np.zeros(len(s0))
    z = _solve(R, -s0[kept], transposed=True)
    x = Q @ z
    turned = _solve(R, R[:, rank:])  # E_others = turned^T E_kept
    left = s0[others] + A[others] @ x
    sizes = np.abs(s0[others]) + np.abs(turned.T) @ np.abs(s0[kept])
    noises = noise[others] + np.abs(turned.T) @ noise[kept] + 8 * EPS * float(np.linalg.norm(x))
    beyond = np.abs(left) - np.maximum(np.maximum(CONTRADICTION * sizes, noises), allowed[others])
    if beyond.max(initial=0.0) > 0.0:
        worst = int(np.argmax(beyond))
        sign = -np.sign(left[worst])
        p[others[worst]], p[kept] = sign, -sign * turned[:, worst]
        return x, p, EMPTY, 0
    if len(rest) == 0:
        p[kept] = _solve(R, z)
        return x, p, SOLVED, 1
    shadow = A[rest] @ Q
    inside = A[rest] - shadow @ Q.T
    inside -= (inside @ Q) @ Q.T  # once more, for the digits that the first subtraction lost
    inside[np.einsum("ij,ij->i", inside, inside) <= DEPENDENT**2] = 0.0
    n, start = A.shape[1], s0[rest] + A[rest] @ x
    rounding = noise[rest] + 8 * EPS * float(np.linalg.norm(x))
    y, p[rest], status, iterations = kernels.project_dense(
        np.ascontiguousarray(inside), start, np.zeros(n), np.ones(n), 0.0, rounding, allowed[rest], max_iterations
    )
    pull = shadow.T @ p[rest]
    p[kept] = _solve(R, -pull if status == EMPTY else z - pull)
    return x + y, p, status, iterations


def _factors(E: Array) -> tuple[Array, Array, Integers]:
    """Q (n, k), R (k, m) and an order of the m rows of E with E[order]^T = Q R, k being the rank of E."""
    # LAPACK is called without SciPy's checks, which take longer than the factorisation of a few rows.
    from scipy.linalg.lapack import dgeqp3, dorgqr

    packed, pivots, tau, _, _ = dgeqp3(E.T)
    size = min(packed.shape)
    rank = int((np.abs(packed.diagonal()) > DEPENDENT).sum())
    Q, _, _ = dorgqr(packed[:, :size], tau)
    return Q[:, :rank], np.triu(packed[:rank]), pivots - 1


def _solve(R: Array, right: Array, transposed: bool = False) -> Array:
    """The solution with the triangle R of `_factors`, or with its transpose."""
    from scipy.linalg.lapack import dtrtrs

    rank = len(R)
    if rank == 0 or right.size == 0:
        return np.zeros((rank, *right.shape[1:]))
    return np.asarray(dtrtrs(R[:, :rank], right, trans=transposed)[0])


def incompatible(G: LinearMap, c: Array) -> tuple[Array, Array]:
    """The part r of c / |G_i| that no u cancels, and the lengths |G_i| of the rows.

    With unit rows A = G / |G_i|, c / |G_i| - r + A u = 0 has a solution u, and r is the shortest vector for which it
    has one: zero, but for round-off, if no row depends on the others. It is the part in the null space of A A^T, to
    which the powers of delta (A A^T + delta)^-1 converge.

    >>> from jostle.convex.linear_map import Dense
    >>> G = Dense(np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 2.0]]))
    >>> [found.round(9).tolist() for found in incompatible(G, np.array([1.0, 3.0, 5.0]))]
    [[-1.0, 1.0, 0.0], [1.0, 1.0, 2.0]]
    """
    solve, unit = _regularised(G)
    total = c / unit
    found = np.zeros(len(c))
    for _ in range(REFINEMENTS):
        part = total - found
        for _ in range(REPETITIONS):
            part = REGULARISATION * solve(part)
        found += part
    return found, unit


def _regularised(G: LinearMap) -> tuple[Callable[[Array], Array], Array]:
    """(A A^T + delta)^-1 x as a function of x for the unit rows A of G, and the lengths of the rows."""
    from scipy.linalg.lapack import dpotrf, dpotrs
    from scipy.sparse import csr_array
    from scipy.sparse.linalg import splu

    m, n = G.shape
    if m * n <= MAX_DENSE_ENTRIES:
        E = G.toarray()
        unit = np.maximum(np.sqrt(np.einsum("ij,ij->i", E, E)), TINY)
        A = E / unit[:, None]
        factor, _ = dpotrf(A @ A.T + REGULARISATION * np.eye(m))
        return (lambda x: np.asarray(dpotrs(factor, x)[0])), unit
    rows = csr_array(G.tocsr())
    row = np.repeat(np.arange(m), np.diff(rows.indptr))
    unit = np.maximum(np.sqrt(np.bincount(row, weights=rows.data**2, minlength=m)), TINY)
    unit_rows = csr_array((rows.data / unit[row], rows.indices, rows.indptr), shape=rows.shape)
    S = unit_rows @ unit_rows.T
    S.setdiag(S.diagonal() + REGULARISATION)
    return splu(S.T, "MMD_AT_PLUS_A", diag_pivot_thresh=0.0).solve, unit  # the transpose of CSR is CSC, S is symmetric


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
    >>> K = jo.convex.Polyhedron([[1.0, 0.0], [1.0, 1.0]], [0.0, -1.0])
    >>> jo.ActiveSet().project([0.5, -1.5], K).point.round(12).tolist()
    [1.5, -0.5]
    """

    kernels: ClassVar[frozenset[str]] = frozenset({"exact", "project_dense", "project_few"})
    accepts_start: ClassVar[bool] = False
    """False: resting contacts carry their load even where a step moves bodies by less than the tolerance."""

    tol: float = 1e-10
    max_iterations: int = 10_000

    def _at_once(self, w: Array, K: Rows, M: Metric, name: str) -> Projection | None:
        rows, coordinates = K.G.shape
        if type(self) is not ActiveSet:  # which may solve in another way
            return None
        if not M.diagonal or K.equal is not None or K.cones is not None or coordinates > MAX_COLUMNS_A_ROW * rows:
            return None
        G = K.G.toarray()
        project = one_row.project_few if rows == 1 and one_row.serves(G) else kernels.project_few
        answer = project(G, (K.c, K.noise, K.length), w.ravel(), M.mass, M.root, self.tol, self.max_iterations)
        u, p, status, iterations, found = answer
        good = status == SOLVED and max(found) <= self.tol
        return Projection(u.reshape(w.shape), p, Residual(*found), iterations, good, self.name if iterations else name)

    def _solve(self, w: Array, K: Rows, M: Metric, slack: Array, guess: Array | None) -> tuple[Array, Array, int]:
        G, allowed = K.G.toarray(), self.tol * K.length
        if K.equal is not None:
            unit, s0, noise = self._whitened(w, K, M, slack)
            rows = UnitRows(M.whiten(G) / unit[:, None], s0, noise, allowed / unit, K.equal)
            x, p, status, iterations = project_with_equalities(rows, self.max_iterations)
            u, p = w + M.unwhiten(x), p / unit
        elif guess is not None and (found := self._guessed(w, G, K, M, slack, guess)) is not None:
            return found
        elif M.diagonal:
            u, p, status, iterations = self._on_columns(w, G, K, M, allowed)
        else:
            unit, s0, noise = self._whitened(w, K, M, slack)
            A = np.ascontiguousarray(M.whiten(G) / unit[:, None])
            x, p, status, iterations = kernels.exact(A, s0, noise, allowed / unit, self.max_iterations)
            u, p = w + M.unwhiten(x), p / unit
        if status == EMPTY:
            self._raise_if_proof(K, p, iterations)
            p = np.zeros(len(p))
        return u, p, iterations

    def _guessed(
        self, w: Array, G: Array, K: Rows, M: Metric, slack: Array, guess: Array
    ) -> tuple[Array, Array, int] | None:
        """(u, p, factorisations) from the active rows of a guess; None if these rows, or few others, are not active."""
        if not M.diagonal or np.count_nonzero(guess > 0.0) < MIN_GUESSED_ROWS:
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

    def _on_columns(self, w: Array, G: Array, K: Rows, M: Metric, allowed: Array) -> tuple[Array, Array, int, int]:
        """The projection in the coordinates that occur in a row: few of many, where few of many bodies touch."""
        if G.shape[1] <= MAX_COLUMNS_A_ROW * G.shape[0]:
            return kernels.project_dense(G, K.c, w, M.root, ROUND_OFF, K.noise, allowed, self.max_iterations)
        occur, u = np.flatnonzero(G.any(axis=0)), w.copy()
        rows = np.ascontiguousarray(G[:, occur])
        u[occur], p, status, iterations = kernels.project_dense(
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
