"""G as a linear map: dense rows, sparse rows, pairs of bodies, or a stack of these.

All act on flat vectors. A map offers

    G @ u              the rates of the gaps
    G.adjoint(p)       G^T p, the impulse of the multipliers
    G.magnitude(u)     |G| |u|, entry by entry: the scale of the round-off in G @ u
    G.norms(M)         |G_i| in the dual norm of M
    G.toarray(), G.tocsr(), G.rows(selection)

Pairs of bodies keep (i, j, normal): 32 bytes a row in 3-D instead of 72 in CSR. The normal points
from i to j, and (G u)_c = normal_c . (u_j - u_i); a wall is j < 0 and does not move.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from jostle.arrays import Array, Booleans, Integers
from jostle.convex.metric import Metric
from jostle.errors import InvalidValue
from jostle.kernels import compiled


class LinearMap(Protocol):
    """What every form of G offers; see the module's page."""

    @property
    def shape(self) -> tuple[int, int]: ...
    def __matmul__(self, u: Array) -> Array: ...
    def adjoint(self, p: Array) -> Array: ...
    def magnitude(self, u: Array) -> Array: ...
    def norms(self, M: Metric) -> Array: ...
    def toarray(self) -> Array: ...
    def tocsr(self) -> Any: ...
    def rows(self, selection: Booleans | Integers) -> LinearMap: ...


@dataclass(frozen=True, eq=False)
class Dense:
    """Rows of an (m, N) array.

    >>> G = Dense(np.array([[1.0, -1.0]]))
    >>> (G @ np.array([3.0, 1.0])).tolist(), G.adjoint(np.array([2.0])).tolist()
    ([2.0], [2.0, -2.0])
    """

    array: Array

    @property
    def shape(self) -> tuple[int, int]:
        return self.array.shape[0], self.array.shape[1]

    def __matmul__(self, u: Array) -> Array:
        return self.array @ u

    def adjoint(self, p: Array) -> Array:
        return p @ self.array

    def magnitude(self, u: Array) -> Array:
        return np.abs(self.array) @ np.abs(u)

    def norms(self, M: Metric) -> Array:
        white = M.whiten(self.array)
        return np.asarray(np.sqrt(np.einsum("ij,ij->i", white, white)))

    def toarray(self) -> Array:
        return self.array

    def tocsr(self) -> Any:
        from scipy.sparse import csr_array

        return csr_array(self.array)

    def rows(self, selection: Booleans | Integers) -> Dense:
        return Dense(self.array[selection])


@dataclass(frozen=True, eq=False)
class Sparse:
    """Rows of a scipy sparse matrix, kept in CSR form."""

    matrix: Any

    @property
    def shape(self) -> tuple[int, int]:
        return self.matrix.shape[0], self.matrix.shape[1]

    def __matmul__(self, u: Array) -> Array:
        return np.asarray(self.matrix @ u)

    def adjoint(self, p: Array) -> Array:
        return np.asarray(self.matrix.T @ p)

    def magnitude(self, u: Array) -> Array:
        return np.asarray(abs(self.matrix) @ np.abs(u))

    def norms(self, M: Metric) -> Array:
        if not M.diagonal:
            return Dense(self.toarray()).norms(M)
        inverse = M.inverse_diagonal
        return np.asarray(np.sqrt(self.matrix.multiply(self.matrix) @ inverse))

    def toarray(self) -> Array:
        return np.asarray(self.matrix.toarray())

    def tocsr(self) -> Any:
        return self.matrix

    def rows(self, selection: Booleans | Integers) -> Sparse:
        return Sparse(self.matrix[selection])


@dataclass(frozen=True, eq=False)
class Pairs:
    """One row per contact: normal . (u_j - u_i), with j < 0 for a wall at rest.

    >>> G = Pairs(np.array([0]), np.array([1]), np.array([[1.0, 0.0]]), bodies=2)
    >>> (G @ np.array([1.0, 0.0, -1.0, 0.0])).tolist()          # they approach
    [-2.0]
    """

    i: Integers
    j: Integers
    normal: Array
    bodies: int
    places: Array | None = None
    """(bodies, d) where they are, if known: solvers cut space in parts."""

    def __post_init__(self) -> None:
        m, n = len(self.i), self.bodies
        if len(self.j) != m or len(self.normal) != m or self.normal.ndim != 2:
            raise InvalidValue(f"{m} first bodies, {len(self.j)} second ones, normals of shape {self.normal.shape}")
        if m and (self.i.min() < 0 or self.i.max() >= n or self.j.max() >= n):
            raise InvalidValue(f"a pair names a body that is not one of 0 to {n - 1}")

    @property
    def dimension(self) -> int:
        return int(self.normal.shape[1])

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.i), self.bodies * self.dimension

    def _by_body(self, u: Array) -> Array:
        return np.ascontiguousarray(u).reshape(self.bodies, self.dimension)

    def __matmul__(self, u: Array) -> Array:
        return np.asarray(compiled().rates(self.i, self.j, self.normal, self._by_body(u)))

    def adjoint(self, p: Array) -> Array:
        return np.asarray(compiled().adjoint(self.i, self.j, self.normal, p, self.bodies)).ravel()

    def magnitude(self, u: Array) -> Array:
        return np.asarray(compiled().magnitude(self.i, self.j, self.normal, self._by_body(u)))

    def norms(self, M: Metric) -> Array:
        if not M.diagonal:
            return Dense(self.toarray()).norms(M)
        return np.asarray(compiled().norms(self.i, self.j, self.normal, self._by_body(M.inverse_diagonal)))

    def toarray(self) -> Array:
        return np.asarray(compiled().pairs_to_dense(self.i, self.j, self.normal, self.bodies))

    def tocsr(self) -> Any:
        from scipy.sparse import csr_array

        axes, moving, row = np.arange(self.dimension), self.j >= 0, np.arange(len(self.i))
        entries = np.concatenate([-self.normal, self.normal[moving]]).ravel()
        rows = np.repeat(np.concatenate([row, row[moving]]), self.dimension)
        columns = np.concatenate([self.i, self.j[moving]])[:, None] * self.dimension + axes
        return csr_array((entries, (rows, columns.ravel())), shape=self.shape)

    def rows(self, selection: Booleans | Integers) -> Pairs:
        return Pairs(self.i[selection], self.j[selection], self.normal[selection], self.bodies, self.places)


@dataclass(frozen=True, eq=False)
class Stacked:
    """Several maps on the same space, one above the other."""

    blocks: tuple[LinearMap, ...]

    @cached_property
    def shape(self) -> tuple[int, int]:
        return sum(block.shape[0] for block in self.blocks), self.blocks[0].shape[1]

    def __matmul__(self, u: Array) -> Array:
        return np.concatenate([block @ u for block in self.blocks])

    def adjoint(self, p: Array) -> Array:
        ends = np.cumsum([block.shape[0] for block in self.blocks])[:-1]
        parts = zip(self.blocks, np.split(p, ends), strict=True)
        return np.asarray(sum(block.adjoint(part) for block, part in parts))

    def magnitude(self, u: Array) -> Array:
        return np.concatenate([block.magnitude(u) for block in self.blocks])

    def norms(self, M: Metric) -> Array:
        return np.concatenate([block.norms(M) for block in self.blocks])

    def toarray(self) -> Array:
        return np.concatenate([block.toarray() for block in self.blocks])

    def tocsr(self) -> Any:
        from scipy.sparse import csr_array, vstack

        return csr_array(vstack([block.tocsr() for block in self.blocks]))

    def rows(self, selection: Booleans | Integers) -> LinearMap:
        return Sparse(self.tocsr()).rows(selection)


def stacked(*blocks: LinearMap, pairs: Integers | None = None) -> LinearMap:
    """The maps one above the other; pairs stay pairs when all of them are, with the numbers `pairs` (2, m) if given."""
    if len(blocks) == 1:
        return blocks[0]
    if all(isinstance(block, Pairs) for block in blocks):
        if pairs is None:
            pairs = np.concatenate([[block.i, block.j] for block in blocks], axis=1)  # type: ignore[attr-defined]
        return Pairs(
            pairs[0],
            pairs[1],
            np.concatenate([block.normal for block in blocks]),  # type: ignore[attr-defined]
            blocks[0].bodies,  # type: ignore[attr-defined]
            next((block.places for block in blocks if block.places is not None), None),  # type: ignore[attr-defined]
        )
    if all(isinstance(block, Dense) for block in blocks):
        return Dense(np.concatenate([block.toarray() for block in blocks]))
    return Stacked(tuple(blocks))


def as_map(G: ArrayLike | LinearMap | Any) -> LinearMap:
    """G in one of the forms above: an array, a scipy sparse matrix, or already a map."""
    if isinstance(G, Dense | Sparse | Pairs | Stacked):
        return G
    if hasattr(G, "tocsr"):
        return Sparse(G.tocsr())
    array = np.array(G, dtype=float, order="C")
    if array.ndim != 2:
        raise InvalidValue(f"G must have two axes (rows, coordinates), not shape {array.shape}")
    if not np.isfinite(array).all():
        raise InvalidValue("G has entries that are not finite")
    return Dense(array)
