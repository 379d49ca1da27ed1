"""The second-order projection: an interior point method, for tight tolerances in larger problems.

Contacts of bodies whose places are known go to our own method, whose Cholesky factors follow the bodies in space
(`kernels.cpu.barrier`); a few other rows beside them are left out at first, and matter only if they are violated then.
In all other cases PIQP (Schwan, Jiang, Kuhn & Jones 2023) does the work, on rows of length
one and distances divided by the largest violation, so that its absolute tolerance means the same in all units. Its
answer is put through our own stopping test, and asked for more precisely if it fails. Equalities go to PIQP as such.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, ClassVar

import numpy as np

from jostle import kernels
from jostle._tools.arrays import Array, Booleans
from jostle.convex.linear_map import NormalRows
from jostle.convex.metric import Metric
from jostle.convex.residuals import residual
from jostle.convex.rows import Rows
from jostle.kernels import ContactRows
from jostle.kernels.parallel import one_blas_thread, threads
from jostle.solvers.base import Declined, Solver

PIQP_TOLERANCES = (1e-1, 1e-3, 1e-5, 1e-7)
"""PIQP's tolerances, as fractions of ours, in the order in which they are tried."""
INNER_TOLERANCE = 0.8
"""Our own method stops at this fraction of tol, so that the stopping test from outside agrees with it."""
SMALLEST_PIQP_TOLERANCE = 1e-15
"""Smallest tolerance that PIQP is given."""
BYTES, GIB = 8, 2**30
MOST_MEMORY = 8 * GIB
"""Factors that would take more bytes than this, or than half of the machine's memory, are not computed."""
FAR_SLACK = 1e6
"""Rows whose slack exceeds this multiple of the largest violation are left out, and put back if they are violated."""


@dataclass(frozen=True, kw_only=True)
class InteriorPoint(Solver):
    """Interior-point method with sparse factorisations: ten to thirty iterations at any size and tolerance.

    Parameters
    ----------
    tol : float, default 1e-8
        Largest residual of an answer that counts as converged; dimensionless, between 0 and 1.
    max_iterations : int, default 200
        Largest number of iterations, each with one factorisation.

    Examples
    --------
    >>> import jostle as jo
    >>> K = jo.convex.Cone([[1.0, 0.0], [0.0, 1.0]])
    >>> jo.InteriorPoint().project([-1.0, 2.0], K).point.round(6) + 0.0
    array([0., 2.])
    """

    kernels: ClassVar[frozenset[str]] = frozenset({"interior_point"})

    max_iterations: int = 200

    def _solve(self, w: Array, K: Rows, M: Metric, slack: Array, guess: Array | None) -> tuple[Array, Array, int]:
        unit, s0, noise = self._whitened(w, K, M, slack)
        contacts = K.G.contacts
        if contacts is None or contacts.positions is None or not M.diagonal or K.equal is not None:
            return self._by_piqp(w, K, M, unit, s0)
        if len(K.G.others) == 0:
            return self._on_contacts(w, K, contacts, contacts.positions, M, unit, s0, noise, guess)
        return self._without_others(w, K, M, unit, s0, slack, guess)

    def _without_others(
        self, w: Array, K: Rows, M: Metric, unit: Array, s0: Array, slack: Array, guess: Array | None
    ) -> tuple[Array, Array, int]:
        """The projection for the contacts alone, if the other rows hold there; with all rows if they do not."""
        rows = np.delete(np.arange(len(K.c)), K.G.others)
        alone = K.only(rows)
        u, of_contacts, iterations = self._solve(w, alone, M, slack[rows], None if guess is None else guess[rows])
        if iterations >= self.max_iterations or (K.slack(u)[K.G.others] >= 0.0).all():
            p = np.zeros(len(K.c))
            p[rows] = of_contacts
            return u, p, iterations
        left = replace(self, max_iterations=self.max_iterations - iterations)
        u, p, more = left._by_piqp(w, K, M, unit, s0)
        return u, p, iterations + more

    def _on_contacts(
        self,
        w: Array,
        K: Rows,
        contacts: NormalRows,
        places: Array,
        M: Metric,
        unit: Array,
        s0: Array,
        noise: Array,
        guess: Array | None,
    ) -> tuple[Array, Array, int]:
        """By our own method, whose factorisation follows the bodies in space; without the guess if that fails."""
        mass = M.mass.reshape(contacts.bodies, contacts.width)
        rows = ContactRows(contacts.i, contacts.j, contacts.normal / unit[:, None])
        most = self._most_numbers(contacts)
        stop = self._stop(K, unit, s0, noise, INNER_TOLERANCE)
        nothing = np.zeros(len(s0))
        start = nothing if guess is None else np.maximum(guess, 0.0) * unit
        with one_blas_thread():
            p, used, far, numbers = kernels.interior_point(
                rows, mass, s0, start, places, *stop, self.max_iterations, most, threads()
            )
            if far > 1.0 and 0 < used < self.max_iterations and start.any():
                p, more, *_ = kernels.interior_point(
                    rows, mass, s0, nothing, places, *stop, self.max_iterations - used, most, threads()
                )
                used += more
        if numbers > most:
            raise self._declined(f"{contacts.bodies} bodies", numbers)
        p = p / unit
        return *_without_noise(w, K, M, w + M.solve(K.G.adjoint(p)), p, unit, self.tol), used

    def _most_numbers(self, contacts: NormalRows) -> int:
        """Factors of more numbers than this are not computed."""
        return most_memory() // BYTES

    def _declined(self, what: str, numbers: int) -> Declined:
        """The reason not to compute the factors of a problem, which have this many numbers."""
        return Declined(
            f"the factors of {what} would take {numbers * BYTES / GIB:.3g} GiB of memory, and "
            f"{most_memory() / GIB:.3g} GiB are allowed; choose GaussSeidel or Automatic"
        )

    def _by_piqp(self, w: Array, K: Rows, M: Metric, unit: Array, s0: Array) -> tuple[Array, Array, int]:
        from scipy.sparse import csr_array, diags_array

        white = K.G.tocsr() @ diags_array(M.root) if M.diagonal else csr_array(M.whiten(K.G.toarray()))
        A = csr_array(diags_array(1.0 / unit) @ white)
        numbers = fill(A)
        if numbers * BYTES > most_memory():
            raise self._declined(f"{A.shape[0]} rows", numbers)
        margin = K.margin(s0)
        scale = -margin.min()
        rows = np.flatnonzero(margin <= FAR_SLACK * scale)
        equal = None if K.equal is None else K.equal[rows]
        best, iterations, tries = None, 0, list(PIQP_TOLERANCES)
        while tries and iterations < self.max_iterations:
            eps = max(tries.pop(0) * self.tol, SMALLEST_PIQP_TOLERANCE)
            z, solved, count = _piqp(A[rows], s0[rows] / scale, equal, eps, self.max_iterations - iterations)
            iterations += count
            p = np.zeros(len(unit))
            p[rows] = z * scale / unit[rows]
            u = w + M.solve(K.G.adjoint(p))
            if not np.isfinite(u).all():
                break
            u, p = _without_noise(w, K, M, u, p, unit, self.tol)
            found = residual(w, K, M, u, p)
            if best is None or found.worst < best[0]:
                best = found.worst, u, p
            slack = K.slack(u) if K.equal is None else K.slack(u)[~K.equal]
            if len(rows) < len(unit) and (slack < 0.0).any():
                rows, tries, equal = np.arange(len(unit)), list(PIQP_TOLERANCES), K.equal
            elif found.worst <= self.tol or not solved or eps == SMALLEST_PIQP_TOLERANCE:
                break
        if best is None:
            return w.copy(), np.zeros(len(unit)), iterations
        return best[1], best[2], iterations


@cache
def most_memory() -> int:
    """Largest size of the factors in bytes: `MOST_MEMORY`, or half of the machine's memory if that is less."""
    try:
        own = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):  # not every system tells
        return MOST_MEMORY
    return min(MOST_MEMORY, own // 2)


def fill(A: Any) -> int:
    """An estimate of how many numbers the factors of I + A^T A have, those of A included.

    Factors are full at worst, or fill the profile of the matrix when its unknowns are numbered after Cuthill & McKee
    (1969). PIQP's own numbering leaves fewer in most cases.
    """
    from scipy.sparse.csgraph import reverse_cuthill_mckee

    n = int(A.shape[1])
    full = int(A.nnz) + n * (n + 1) // 2
    in_rows = np.diff(A.indptr).astype(float)
    if full * BYTES <= most_memory() or float((in_rows**2).sum()) * BYTES > most_memory():
        return full  # it fits, or the matrix alone does not
    pattern = abs(A).sign()
    square = (pattern.T @ pattern).tocsr()
    place = np.empty(n, dtype=np.int64)
    place[reverse_cuthill_mckee(square, symmetric_mode=True)] = np.arange(n)
    row, column = (place[k] for k in square.nonzero())
    first = np.arange(n)
    np.minimum.at(first, row, column)
    return int(A.nnz + (np.arange(n) - first + 1).sum())


def _without_noise(w: Array, K: Rows, M: Metric, u: Array, p: Array, unit: Array, tol: float) -> tuple[Array, Array]:
    """The same answer with p = 0 where the slack exceeds the multiplier (both as distances), if that is still good."""
    # An interior point leaves small multipliers everywhere; a contact that carries nothing should say so.
    open_rows = p * unit < K.slack(u) / unit
    clean = np.where(open_rows if K.equal is None else open_rows & ~K.equal, 0.0, p)
    v = w + M.solve(K.G.adjoint(clean))
    return (v, clean) if residual(w, K, M, v, clean).within(tol) else (u, p)


def _piqp(A: Any, s0: Array, equal: Booleans | None, eps: float, max_iterations: int) -> tuple[Array, bool, int]:
    """The multipliers of min 1/2 |x|^2, s0 + A x >= 0 (= 0 in equalities), whether PIQP converged, and iterations."""
    import piqp
    from scipy.sparse import csc_matrix, eye_array

    n = A.shape[1]
    solver = piqp.SparseSolver()
    solver.settings.eps_abs = solver.settings.eps_duality_gap_abs = eps
    solver.settings.eps_rel = solver.settings.eps_duality_gap_rel = 0.0
    solver.settings.max_iter = max_iterations
    if equal is None:
        solver.setup(csc_matrix(eye_array(n)), np.zeros(n), G=csc_matrix(A), h_l=-s0)
    elif equal.all():
        solver.setup(csc_matrix(eye_array(n)), np.zeros(n), A=csc_matrix(A), b=-s0)
    else:
        E, inequalities = csc_matrix(A[equal]), csc_matrix(A[~equal])
        solver.setup(csc_matrix(eye_array(n)), np.zeros(n), A=E, b=-s0[equal], G=inequalities, h_l=-s0[~equal])
    status, p = solver.solve(), np.empty(len(s0))
    if equal is None:
        p[:] = np.maximum(solver.result.z_l, 0.0)
    else:
        p[equal] = -np.asarray(solver.result.y)
        if not equal.all():
            p[~equal] = np.maximum(solver.result.z_l, 0.0)
    return p, status == piqp.PIQP_SOLVED, int(solver.result.info.iter)
