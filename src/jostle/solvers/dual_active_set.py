"""The projection of small problems, exact up to round-off: a dual active-set method (Goldfarb & Idnani 1983).

The method starts at w and adds the most violated row until none is left, removing rows whose multiplier would become
negative. It ends after finitely many steps. Rows that depend on others (hyperstatic contacts, duplicates) stay out with
multiplier zero, and an empty polyhedron shows itself as a row that cannot be satisfied. Equalities are eliminated
before it starts (see `elimination`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from jostle.arrays import Array
from jostle.convex.emptiness import empty_set
from jostle.convex.metric import Metric
from jostle.convex.polyhedron import Polyhedron
from jostle.kernels import kernels_for, one_row
from jostle.kernels.reference.dense import EMPTY, ROUND_OFF
from jostle.solvers.base import Solver
from jostle.solvers.elimination import Rows, project_with_equalities

MAX_COLUMNS_A_ROW = 12
"""If there are more columns per row than this, columns that occur in no row are left out: two spheres have six."""


@dataclass(frozen=True, kw_only=True)
class ActiveSet(Solver):
    """Dual active-set method (Goldfarb & Idnani 1983), exact up to round-off, for up to about a hundred contacts.

    The cost grows like the cube of the number of active rows.

    Parameters
    ----------
    tol : float, default 1e-10
        Largest residual of an answer that counts as converged; dimensionless, between 0 and 1.
    max_iterations : int, default 10000
        Largest number of rows that are added or removed.

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
