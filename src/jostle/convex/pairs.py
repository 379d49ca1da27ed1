"""G of contacts of bodies: pairs of them, or a body and a wall.

Pairs keep (i, j, normal): 32 bytes a row in 3-D instead of 72 in CSR. The normal points from i to j, and
(G u)_c = normal_c . (u_j - u_i); a wall is j < 0 and does not move.
"""

from __future__ import annotations

from dataclasses import InitVar, dataclass
from typing import Any

import numpy as np

from jostle.arrays import Array, Booleans, Integers, contiguous, to_host
from jostle.convex.linear_map import NO_ROWS, Contacting, LinearMap, Offsets
from jostle.convex.metric import Metric
from jostle.errors import InvalidValue
from jostle.kernels import kernels_for
from jostle.kernels.reference.dense import ROUND_OFF
from jostle.kernels.sharing import chunks_of


@dataclass(frozen=True, eq=False)
class Pairs(LinearMap):
    """Contacts of bodies as a linear map G: one row normal . (u_j - u_i) for each, with j < 0 for a wall at rest.

    Arrays are not copied, which saves time in each step: do not change them afterwards.

    Parameters
    ----------
    i : array of int, shape (m,)
        Number of the first body of each contact.
    j : array of int, shape (m,)
        Number of the second body; negative for a wall.
    normal : array, shape (m, d)
        Unit vector from the first body to the second, or into the wall.
    bodies : int
        Number of bodies.
    places : array, shape (bodies, d), optional
        Positions of the bodies; solvers use them to divide space. None: not known.
    known : bool, default False
        True if all numbers are certain to be those of bodies; they are then not checked, which saves time in each step.

    Attributes
    ----------
    shape : (int, int)
        Number of rows and of coordinates, (m, bodies d).
    dimension : int
        Dimension d of space.
    contacts : Contacting
        All rows, as contacts of bodies.
    others : array of int
        Numbers of the rows that are not contacts of bodies: none.

    Raises
    ------
    InvalidValue
        If the lengths of i, j and normal differ, or a number is not that of a body.

    Examples
    --------
    >>> G = Pairs(np.array([0]), np.array([1]), np.array([[1.0, 0.0]]), bodies=2)
    >>> (G @ np.array([1.0, 0.0, -1.0, 0.0])).tolist()          # they approach
    [-2.0]
    """

    i: Integers
    j: Integers
    normal: Array
    bodies: int
    places: Array | None = None
    known: InitVar[bool] = False

    def __post_init__(self, known: bool) -> None:
        for name, kind in (("i", np.int64), ("j", np.int64), ("normal", float)):  # as the kernels declare them
            object.__setattr__(self, name, contiguous(getattr(self, name), kind))
        if self.places is not None:
            object.__setattr__(self, "places", contiguous(self.places))
        m, n = len(self.i), self.bodies
        if len(self.j) != m or len(self.normal) != m or self.normal.ndim != 2:
            raise InvalidValue(
                f"i has {m} entries, j {len(self.j)}, normal has shape {self.normal.shape}: give one row per contact"
            )
        if not known and m and (self.i.min() < 0 or self.i.max() >= n or self.j.max() >= n):
            raise InvalidValue(f"a pair names a body that is not one of 0 to {n - 1}")

    @property
    def dimension(self) -> int:
        return int(self.normal.shape[1])

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.i), self.bodies * self.dimension

    @property
    def contacts(self) -> Contacting:
        return Contacting(self.i, self.j, self.normal, self.bodies, self.places)

    @property
    def others(self) -> Integers:
        return NO_ROWS

    @property
    def _rows(self) -> tuple[Integers, Integers, Array]:
        return self.i, self.j, self.normal

    def _by_body(self, u: Array) -> Array:
        by_body: Array = contiguous(u, None).reshape(self.bodies, self.dimension)
        return by_body

    def __matmul__(self, u: Array) -> Array:
        return kernels_for(self.normal).rates(*self._rows, self._by_body(u), chunks_of(len(self.i)))

    def adjoint(self, p: Array) -> Array:
        """G^T p, the impulse on each coordinate.

        Parameters
        ----------
        p : array, shape (m,)
            Multiplier of each row.

        Returns
        -------
        array, shape (bodies d,)
            The impulse.
        """
        chunks = chunks_of(len(self.i))
        return kernels_for(self.normal).adjoint(*self._rows, p, self.bodies, chunks).ravel()

    def magnitude(self, u: Array) -> Array:
        """|G| |u|, entry by entry: the scale of the round-off in G @ u.

        Parameters
        ----------
        u : array
            Velocities, bodies d numbers.

        Returns
        -------
        array, shape (m,)
            One number for each row.
        """
        return kernels_for(self.normal).magnitude(*self._rows, self._by_body(u), chunks_of(len(self.i)))

    def norms(self, M: Metric) -> Array:
        """The length of each row in the dual norm of a metric.

        Parameters
        ----------
        M : Metric
            The metric.

        Returns
        -------
        array, shape (m,)
            The lengths.
        """
        if not M.diagonal:
            return super().norms(M)
        return kernels_for(self.normal).norms(*self._rows, self._by_body(M.inverse_diagonal), chunks_of(len(self.i)))

    def whitened(self, rows: Offsets, M: Metric, w: Array, slack: Array) -> tuple[Array, Array, Array]:
        """The lengths of the rows, and the slack at w and its round-off in rows of length one.

        Parameters
        ----------
        rows : Offsets
            c, and the length, round-off and kind of each row.
        M : Metric
            The metric.
        w : array
            A point.
        slack : array, shape (m,)
            c + G w.

        Returns
        -------
        tuple of array
            The length of each row in the dual norm, its slack and its round-off, which are not divided where the length
            is zero.
        """
        if not M.diagonal:
            return super().whitened(rows, M, w, slack)
        inverse, w = self._by_body(M.inverse_diagonal), self._by_body(w)
        return kernels_for(self.normal).whitened(
            *self._rows, inverse, w, rows.c, rows.noise, slack, ROUND_OFF, chunks_of(len(self.i))
        )

    def toarray(self) -> Array:
        """G as a dense array.

        Returns
        -------
        array, shape (m, bodies d)
            The matrix.
        """
        return kernels_for(self.normal).pairs_to_dense(self.i, self.j, self.normal, self.bodies)

    def tocsr(self) -> Any:
        """G as a sparse matrix.

        Returns
        -------
        scipy.sparse.csr_array, shape (m, bodies d)
            The matrix, in the memory of the host.
        """
        from scipy.sparse import csr_array

        i, j, normal = to_host(self.i), to_host(self.j), to_host(self.normal)
        axes, moving, row = np.arange(self.dimension), j >= 0, np.arange(len(i))
        entries = np.concatenate([-normal, normal[moving]]).ravel()
        rows = np.repeat(np.concatenate([row, row[moving]]), self.dimension)
        columns = np.concatenate([i, j[moving]])[:, None] * self.dimension + axes
        return csr_array((entries, (rows, columns.ravel())), shape=self.shape)

    def rows(self, selection: Booleans | Integers) -> Pairs:
        """Some of the rows.

        Parameters
        ----------
        selection : array of int or bool
            Numbers of the rows, or True for each row to keep.

        Returns
        -------
        Pairs
            The map of these rows.
        """
        i, j, normal = self.i[selection], self.j[selection], self.normal[selection]
        return Pairs(i, j, normal, self.bodies, self.places, known=True)

    def opposite(self) -> Pairs:
        """The map -G.

        Returns
        -------
        Pairs
            The same contacts with opposite normals.
        """
        return Pairs(self.i, self.j, -self.normal, self.bodies, self.places, known=True)

    def residuals(self, rows: Offsets, M: Metric, w: Array, u: Array, p: Array) -> tuple[float, float, float]:
        """The residuals of (u, p) as the projection of w on {u : c + G u >= 0}; see `Residual`.

        Parameters
        ----------
        rows : Offsets
            c, and the length, round-off and kind of each row.
        M : Metric
            The metric of the projection.
        w : array
            The point that was projected.
        u : array
            The projection.
        p : array, shape (m,)
            Its multipliers.

        Returns
        -------
        tuple of float
            The primal, dual and complementarity residuals.
        """
        if not M.diagonal or rows.equal is not None:
            return super().residuals(rows, M, w, u, p)
        w, mass, u = (self._by_body(vector) for vector in (w, M.mass, u))
        return kernels_for(self.normal).residual_pairs(
            *self._rows, rows.c, w, mass, u, p, rows.length, ROUND_OFF, rows.noise, chunks_of(len(self.i))
        )


class Links(Pairs):
    """Rows normal . (u_j - u_i) that are not contacts: rods, which two bodies may have beside their contact.

    They have the compiled products of `Pairs`. Solvers take them for general rows, and an intersection of sets leaves
    the numbers of their bodies as they are.

    >>> G = Links(np.array([0]), np.array([1]), np.array([[1.0, 0.0]]), bodies=2)
    >>> (G @ np.array([1.0, 0.0, -1.0, 0.0])).tolist(), G.others.tolist()
    ([-2.0], [0])
    """

    @property
    def contacts(self) -> None:  # type: ignore[override]
        return None

    @property
    def others(self) -> Integers:
        return np.arange(len(self.i))

    def rows(self, selection: Booleans | Integers) -> Links:
        i, j, normal = self.i[selection], self.j[selection], self.normal[selection]
        return Links(i, j, normal, self.bodies, self.places, known=True)

    def opposite(self) -> Links:
        return Links(self.i, self.j, -self.normal, self.bodies, self.places, known=True)

    def tocsr(self) -> Any:
        from scipy.sparse import csr_array

        there, d = np.stack([self.i, self.j], axis=1), self.dimension
        bodies = there >= 0
        columns = (there[bodies] * d)[:, None] + np.arange(d)
        entries = np.stack([-self.normal, self.normal], axis=1)[bodies]
        ends = np.zeros(len(self.i) + 1, dtype=np.int32)
        np.cumsum(d * bodies.sum(axis=1), out=ends[1:])
        return csr_array((entries.ravel(), columns.astype(np.int32).ravel(), ends), shape=self.shape)
