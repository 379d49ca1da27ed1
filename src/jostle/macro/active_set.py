"""The obstacle problem p >= 0, A p - b >= 0, p (A p - b) = 0 by the primal-dual active set method.

Hintermüller, Ito & Kunisch 2003. A = G M^-1 G^T is the five-point Laplacian of the isotropic law, an M-matrix, so the
method ends after finitely many steps from any start. It begins with all cells jammed, or with those of a guess, such
as the answer on a coarser grid. If div U <= 0 the first step is the answer (Bourdin & Maury 2020, Prop. 4).

Where a zone is shut in by walls, constants are in the kernel of A: then A p = b, and min p = 0 is chosen.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from jostle.arrays import Array, Booleans, Integers
from jostle.convex.metric import Metric
from jostle.convex.polyhedron import Polyhedron
from jostle.macro.multigrid import SMALL, solve
from jostle.solvers.base import Solver

LINEAR = 1e-12
"""To this residual the last linear system is solved."""
LOOSE = 1e-5
"""And to this one those before it, as long as cells change sides."""
ZERO = 1e-10
"""A pressure below this part of the largest, or a rate below this part of |b|, has no sign."""


@dataclass(frozen=True, kw_only=True, eq=False)
class ActiveSet(Solver):
    """Primal-dual active set for cones whose G M^-1 G^T is an M-matrix on cells of a grid.

    >>> import jostle as jo
    >>> chain = jo.Cone([[-1.0, 1.0, 0.0], [0.0, -1.0, 1.0]])
    >>> P = ActiveSet(cell=np.array([[0, 0], [1, 0]])).project([1.0, 0.0, 0.0], chain)
    >>> P.point.round(12).tolist(), P.multipliers.round(12).tolist()
    ([0.333333333333, 0.333333333333, 0.333333333333], [0.666666666667, 0.333333333333])
    """

    cell: Integers
    """(n, 2): where each row of G sits."""
    start: Array | None = None
    """Multipliers to start from: cells where they are positive are jammed at first."""
    tol: float = 1e-8
    max_iterations: int = 200

    def _solve(self, w: Array, K: Polyhedron, M: Metric, slack: Array, guess: Array | None) -> tuple[Array, Array, int]:
        G = K.G.tocsr()
        A = laplacian(G, M.inverse_diagonal)
        p, iterations = obstacle(A, -slack, self.cell, self.start if guess is None else guess, most=self.max_iterations)
        return w + M.solve(np.asarray(G.T @ p)), p, iterations


def laplacian(G: Any, inverse_mass: Array) -> Any:
    """G M^-1 G^T in CSR form."""
    from scipy.sparse import csr_array, diags_array

    return csr_array(G @ diags_array(inverse_mass) @ G.T)


def obstacle(
    A: Any, b: Array, cell: Integers, start: Array | None = None, *, tol: float = LINEAR, most: int = 200
) -> tuple[Array, int]:
    """(p, iterations) with p >= 0, A p >= b, p (A p - b) = 0, as far as the iterations lead.

    >>> from scipy.sparse import csr_array
    >>> A = csr_array([[2.0, -1.0], [-1.0, 2.0]])
    >>> obstacle(A, np.array([2.0, -4.0]), np.array([[0, 0], [1, 0]]))[0].tolist()
    [1.0, 0.0]
    """
    from scipy.sparse import csr_array, diags_array

    shut, pins, label = shut_in(A)
    if len(pins):
        pinned = np.zeros(len(b))
        pinned[pins] = np.where(A.diagonal()[pins] > 0.0, A.diagonal()[pins], 1.0)
        A = csr_array(A + diags_array(pinned))
    jammed = np.ones(len(b), dtype=bool) if start is None else (start > 0.0) | shut
    p = np.zeros(len(b)) if start is None else np.maximum(start, 0.0)
    scale = float(np.abs(b).max(initial=0.0))
    precision = max(tol, LOOSE) if len(b) > SMALL else tol
    for iterations in range(1, most + 1):  # noqa: B007
        inside = np.flatnonzero(jammed)
        part = A if len(inside) == len(b) else A[inside][:, inside]
        found = solve(part, b[inside], cell[inside], tol=precision, guess=p[inside])
        p = np.zeros(len(b))
        p[inside] = found
        rate = A @ p - b
        small = ZERO * float(np.abs(p).max(initial=0.0))
        following = np.where(jammed, (p > -small) | shut, rate < -ZERO * scale)
        if np.array_equal(following, jammed):
            if precision == tol:
                break
            precision = tol
        jammed = following
    if len(pins):
        low = np.full(label.max() + 1, np.inf)
        np.minimum.at(low, label, p)
        p = np.where(shut, p - low[label], p)
    return np.maximum(p, 0.0), iterations


def shut_in(A: Any) -> tuple[Booleans, Integers, Integers]:
    """Which rows belong to a connected part where A 1 = 0, one row of each such part, and the part of each row."""
    from scipy.sparse.csgraph import connected_components

    open_row = np.asarray(A.sum(axis=1)).ravel() > ZERO * A.diagonal()  # false where a cell has walls all around
    count, label = connected_components(A, directed=False)
    shut_part = np.bincount(label, weights=open_row, minlength=count) == 0
    _, first = np.unique(label, return_index=True)
    return shut_part[label], np.asarray(first[shut_part]), label
