"""Conjugate gradients with a multigrid by pairs of cells, for five-point matrices on any set of cells.

Four cells [i, j] with the same [i // 2, j // 2] become one. The coarse matrix P^T A P is halved, because in two
dimensions two faces in parallel, twice as long, carry what one carries (Braess 1995). Smoothing is by Jacobi's method;
the last level is factorised. Only the cells that are there take part, so the zone may have any shape.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from jostle.arrays import Array, Integers

SMALL = 3000
"""So many unknowns are factorised."""
JACOBI = 0.8
"""The weight of the smoother."""
SWEEPS = 2
"""Sweeps before the coarse correction, and as many after it."""
HALF = 0.5


@dataclass(frozen=True, eq=False)
class Level:
    """A matrix, its smoother, and how its unknowns join to make the next level; the last one solves."""

    A: Any
    inverse: Array
    parent: Integers | None
    count: int
    solve: Any

    def smooth(self, x: Array, b: Array) -> Array:
        for _ in range(SWEEPS):
            x = x + self.inverse * (b - self.A @ x)
        return x


def hierarchy(A: Any, cell: Integers) -> list[Level]:
    """The levels of a symmetric positive definite A whose unknowns sit in cells (n, 2)."""
    from scipy.sparse import csr_array
    from scipy.sparse.linalg import splu

    levels = []
    while A.shape[0] > SMALL:
        cell = cell // 2
        key = cell[:, 0] * (cell[:, 1].max() + 1) + cell[:, 1]
        kept, first, parent = np.unique(key, return_index=True, return_inverse=True)
        levels.append(Level(A, JACOBI / A.diagonal(), parent, len(kept), None))
        rows = np.repeat(parent, np.diff(A.indptr))
        A = csr_array((HALF * A.data, (rows, parent[A.indices])), shape=(len(kept), len(kept)))
        cell = cell[first]
    factor = splu(A.tocsc(), permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True})
    return [*levels, Level(A, np.zeros(0), None, 0, factor.solve)]


def cycle(levels: list[Level], b: Array) -> Array:
    """One V-cycle: a symmetric approximation of A^-1 b."""
    level = levels[0]
    if level.parent is None:
        return np.asarray(level.solve(b))
    x = level.inverse * b
    x = x + level.inverse * (b - level.A @ x)
    coarse: Array = np.bincount(level.parent, weights=b - level.A @ x, minlength=level.count).astype(float)
    x = x + cycle(levels[1:], coarse)[level.parent]
    return level.smooth(x, b)


def solve(A: Any, b: Array, cell: Integers, *, tol: float, guess: Array | None = None, most: int = 200) -> Array:
    """A x = b to |r| <= tol |b|, for symmetric positive definite A.

    >>> from scipy.sparse import csr_array
    >>> A = csr_array([[2.0, -1.0], [-1.0, 2.0]])
    >>> solve(A, np.array([1.0, 1.0]), np.array([[0, 0], [0, 1]]), tol=1e-12).tolist()
    [1.0, 1.0]
    """
    if A.shape[0] == 0:
        return np.zeros(0)
    levels = hierarchy(A, cell)
    if len(levels) == 1:
        return cycle(levels, b)
    x = np.zeros_like(b) if guess is None else guess
    r = b - A @ x
    enough = tol**2 * float((b * b).sum())
    z = cycle(levels, r)
    d, rz = z, float((r * z).sum())
    for _ in range(most):
        if float((r * r).sum()) <= enough:
            break
        Ad = A @ d
        size = rz / float((d * Ad).sum())
        x, r = x + size * d, r - size * Ad
        z = cycle(levels, r)
        rz, before = float((r * z).sum()), rz
        d = z + rz / before * d
    return x
