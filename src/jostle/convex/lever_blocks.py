"""G of contacts at the ends of levers: a block of rows for each, on the velocities and spins of two bodies."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from jostle import kernels
from jostle._tools.arrays import Array, Booleans, Integers
from jostle.convex.cones import Cones
from jostle.convex.linear_map import LinearMap, Sparse
from jostle.convex.metric import Metric
from jostle.kernels import Answer, Cone, LeverRows

MAX_FEW_BLOCKS = 128
"""At most this many contacts with friction are swept at once, also those of balls in this form: it takes less to
prepare."""


@dataclass(frozen=True, eq=False)
class LeverBlocks(LinearMap):
    """Contacts of bodies of any shape: a block of rows for each, first v_i + second v_j.

    The velocities v (bodies, d + s) are those of the centres of mass and spins. `Grips` is the same for balls, whose
    levers are along the normals.

    Parameters
    ----------
    i : array of int, shape (m,)
        Number of the first body of each contact.
    j : array of int, shape (m,)
        Number of the second body; negative for a wall.
    first : array, shape (m, e, d + s)
        What the rows of each block are of v_i; its first d rows and columns are minus one on the diagonal, else zero.
    second : array, shape (m, e, d + s)
        What they are of v_j: the opposite in the first d columns; zero for a wall.
    bodies : int
        Number of bodies.
    places : array, shape (bodies, d), optional
        Positions of the bodies; solvers use them to divide space. None: not known.

    Examples
    --------
    >>> G = LeverBlocks(np.array([0]), np.array([-1]), -np.array([[[1.0, 0.0, 0.5], [0.0, 1.0, 2.0]]]),
    ...                 np.zeros((1, 2, 3)), bodies=1)
    >>> (G @ np.array([1.0, 0.0, -2.0])).tolist()
    [-0.0, 4.0]
    """

    i: Integers
    j: Integers
    first: Array
    second: Array
    bodies: int
    places: Array | None = None

    def __post_init__(self) -> None:
        for name in ("i", "j", "first", "second"):
            object.__setattr__(self, name, np.ascontiguousarray(getattr(self, name)))
        if self.places is not None:
            object.__setattr__(self, "places", np.ascontiguousarray(self.places))

    @cached_property
    def _rows(self) -> LeverRows:
        return LeverRows(self.i, self.j, self.first, self.second)

    @property
    def shape(self) -> tuple[int, int]:
        m, e, width = self.first.shape
        return m * e, self.bodies * width

    def _by_body(self, u: Array) -> Array:
        return np.ascontiguousarray(u).reshape(self.bodies, self.first.shape[2])

    def __matmul__(self, u: Array) -> Array:
        return kernels.rates_levers(self._rows, self._by_body(u)).ravel()

    def adjoint(self, p: Array) -> Array:
        p = np.ascontiguousarray(p).reshape(self.first.shape[:2])
        return kernels.adjoint_levers(self._rows, p, self.bodies).ravel()

    @cached_property
    def _matrix(self) -> Any:
        from scipy.sparse import csr_array

        width = self.first.shape[2]
        entries = np.stack([self.first, self.second], axis=2)
        columns = np.stack([self.i, self.j], axis=1)[:, None, :, None] * width + np.arange(width)
        there = entries != 0.0
        ends = np.append(0, there.sum(axis=(2, 3)).ravel().cumsum())
        columns = np.broadcast_to(columns, there.shape)[there]
        return csr_array((entries[there], columns.astype(np.int32), ends.astype(np.int32)), shape=self.shape)

    def tocsr(self) -> Any:
        return self._matrix

    def rows(self, selection: Booleans | Integers) -> Sparse:
        return Sparse(self._matrix[np.arange(self.shape[0])[selection]])

    def local_matrices(self, blocks: int, height: int, M: Metric) -> Array:
        if not M.diagonal or (blocks, height) != self.first.shape[:2]:
            return super().local_matrices(blocks, height, M)
        return kernels.local_levers(self._rows, self._by_body(M.inverse_diagonal))

    def swept(self, cones: Cones | None, equal: Booleans | None, M: Metric) -> tuple[LeverRows, Array] | None:
        if (
            cones is None
            or equal is not None
            or not M.diagonal
            or cones.rows != self.shape[0]
            or cones.rolling is not None
        ):
            return None
        inverse = self._by_body(M.inverse_diagonal)
        alike = (inverse[:, 1 : cones.axis.shape[1]] == inverse[:, :1]).all()
        return (self._rows, inverse) if alike else None

    def residuals(self, answer: Answer, cones: Cones | None, M: Metric) -> tuple[float, ...] | None:
        if cones is None or self.swept(cones, None, M) is None:
            return None
        blocks = (each.reshape(cones.axis.shape) for each in (answer.c, answer.c_noise, answer.length, answer.p))
        c, noise, length, p = blocks
        w, mass, u = (self._by_body(vector) for vector in (answer.w, answer.mass, answer.u))
        answer = Answer(c, noise, length, w, mass, u, p)
        return kernels.residual_levers(self._rows, cone_of(cones), cones.coulomb, answer)


def cone_of(cones: Cones) -> Cone:
    """The cones as kernels take them."""
    return Cone(np.ascontiguousarray(cones.axis), cones.mu, np.zeros(len(cones.mu)))
