"""G as a linear map on flat vectors: what every form offers, and the two general forms, dense and sparse rows.

A new form of G defines `shape`, ``G @ u``, `adjoint`, `tocsr` and `rows`; everything else follows from these, and is
defined again only where the form has a faster way. No code asks which type a map has: solvers ask which of its rows
are `contacts` of bodies, for which they have fused loops, and treat the `others` as general rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from jostle.arrays import Array, Booleans, Integers
from jostle.convex.metric import Metric
from jostle.kernels import kernels_for, one_row
from jostle.kernels.reference.dense import ROUND_OFF

TINY = float(np.finfo(float).tiny)
NO_ROWS = np.zeros(0, dtype=np.int64)


class Contacting(NamedTuple):
    """Rows that are contacts of bodies: normal . (u_j - u_i), with j < 0 for a wall at rest."""

    i: Integers
    j: Integers
    normal: Array
    """(k, d) unit vectors from i to j, up to a factor."""
    bodies: int
    places: Array | None
    """(bodies, d) positions of the bodies, if known; solvers use them to divide space."""

    @property
    def dimension(self) -> int:
        return int(self.normal.shape[1])


class Offsets(NamedTuple):
    """The rows of a polyhedron {u : c + G u >= 0} apart from G."""

    c: Array
    length: Array
    """(m,) what a violation is compared with, 0 for the distance moved."""
    noise: Array
    """(m,) the round-off of c."""
    equal: Booleans | None = None
    """(m,) which rows are equalities; None if all are inequalities."""


class LinearMap:
    """The gradients G, an (m, N) matrix in any form.

    A new form of G inherits from this class and defines `shape`, ``G @ u``, `adjoint`, `tocsr` and `rows`.

    Attributes
    ----------
    shape : (int, int)
        Number of rows and of coordinates, (m, N).
    contacts : Contacting or None
        The rows that are contacts of bodies, in the order of the rows; None if there are none.
    others : array of int
        Numbers of the rows that are not contacts of bodies.

    Examples
    --------
    >>> import jostle as jo
    >>> class Differences(LinearMap):
    ...     '''u[k + 1] - u[k], without a matrix.'''
    ...     shape = (2, 3)
    ...     def __matmul__(self, u):
    ...         return np.diff(u)
    ...     def adjoint(self, p):
    ...         return -np.diff(p, prepend=0.0, append=0.0)
    ...     def tocsr(self):
    ...         from scipy.sparse import csr_array
    ...         return csr_array(np.diff(np.eye(3), axis=0))
    ...     def rows(self, selection):
    ...         return Sparse(self.tocsr()[selection])
    >>> jo.project([3.0, 2.0, 1.0], jo.Cone(Differences())).point.round(9).tolist()
    [2.0, 2.0, 2.0]
    """

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and of coordinates, (m, N)."""
        raise NotImplementedError

    def __matmul__(self, u: Array) -> Array:
        """G u, the rates of the gaps."""
        raise NotImplementedError

    def adjoint(self, p: Array) -> Array:
        """G^T p, the impulse on each coordinate.

        Parameters
        ----------
        p : array, shape (m,)
            Multiplier of each row.

        Returns
        -------
        array, shape (N,)
            The impulse.
        """
        raise NotImplementedError

    def tocsr(self) -> Any:
        """G as a sparse matrix.

        Returns
        -------
        scipy.sparse.csr_array, shape (m, N)
            The matrix, in the memory of the host.
        """
        raise NotImplementedError

    def rows(self, selection: Booleans | Integers) -> LinearMap:
        """Some of the rows.

        Parameters
        ----------
        selection : array of int or bool
            Numbers of the rows, or True for each row to keep.

        Returns
        -------
        LinearMap
            The map of these rows.
        """
        raise NotImplementedError

    @property
    def contacts(self) -> Contacting | None:
        """The rows that are contacts of bodies, in the order of the rows; None if there are none."""
        return None

    @property
    def others(self) -> Integers:
        """Numbers of the rows that are not contacts of bodies."""
        return np.arange(self.shape[0])

    def toarray(self) -> Array:
        """G as a dense array.

        Returns
        -------
        array, shape (m, N)
            The matrix.
        """
        return np.asarray(self.tocsr().toarray())

    def dense(self) -> Dense:
        """G in dense form.

        Returns
        -------
        Dense
            The same map.
        """
        return Dense(self.toarray())

    def opposite(self) -> LinearMap:
        """The map -G.

        Returns
        -------
        LinearMap
            The opposite map.
        """
        return Sparse(-self.tocsr())

    def magnitude(self, u: Array) -> Array:
        """|G| |u|, entry by entry: the scale of the round-off in G @ u.

        Parameters
        ----------
        u : array, shape (N,)
            A vector.

        Returns
        -------
        array, shape (m,)
            One number for each row.
        """
        return np.asarray(abs(self.tocsr()) @ np.abs(u))

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
            return _dual_norms(self.toarray(), M)
        matrix = self.tocsr()
        return np.asarray(np.sqrt(matrix.multiply(matrix) @ M.inverse_diagonal))

    def whitened(self, rows: Offsets, M: Metric, w: Array, slack: Array) -> tuple[Array, Array, Array]:
        """The lengths of the rows, and the slack at w and its round-off in rows of length one.

        Parameters
        ----------
        rows : Offsets
            c, and the length, round-off and kind of each row.
        M : Metric
            The metric.
        w : array, shape (N,)
            A point.
        slack : array, shape (m,)
            c + G w.

        Returns
        -------
        tuple of array
            The length of each row in the dual norm, its slack and its round-off, which are not divided where the length
            is zero.
        """
        unit = self.norms(M)
        by = np.where(unit > 0.0, unit, 1.0)
        return unit, slack / by, (rows.noise + ROUND_OFF * (np.abs(rows.c) + self.magnitude(w))) / by

    def residuals(self, rows: Offsets, M: Metric, w: Array, u: Array, p: Array) -> tuple[float, float, float]:
        """The residuals of (u, p) as the projection of w on {u : c + G u >= 0}; see `Residual`.

        Parameters
        ----------
        rows : Offsets
            c, and the length, round-off and kind of each row.
        M : Metric
            The metric of the projection.
        w : array, shape (N,)
            The point that was projected.
        u : array, shape (N,)
            The projection.
        p : array, shape (m,)
            Its multipliers.

        Returns
        -------
        tuple of float
            The primal, dual and complementarity residuals.
        """
        if not np.isfinite(u).all() or not np.isfinite(p).all():
            return np.inf, np.inf, np.inf
        slack = rows.c + (self @ u)
        noise = rows.noise + ROUND_OFF * (np.abs(rows.c) + self.magnitude(np.abs(u) + np.abs(w)))
        slack = np.where(np.abs(slack) <= noise, 0.0, slack)
        moved, unit = u - w, self.norms(M)
        distance = M.norm(moved)

        violation, known = np.maximum(-slack, 0.0), rows.length > 0.0
        pushed = -p
        if rows.equal is not None:  # a slack of any sign violates an equality, and its multiplier has any sign
            violation, pushed = np.where(rows.equal, np.abs(slack), violation), np.where(rows.equal, 0.0, pushed)
        relative = (violation[known] / rows.length[known]).max(initial=0.0)
        moved_by = (violation[~known] / np.maximum(unit[~known], TINY)).max(initial=0.0)

        gap = M.times(moved) - self.adjoint(p)
        stationarity = np.sqrt(max(float(gap @ M.solve(gap)), 0.0))
        rounding = ROUND_OFF * (M.norm(np.abs(w) + np.abs(u)) + float(np.abs(p) @ unit))
        if not M.diagonal:  # an ill-conditioned matrix loses digits of its own
            sizes = np.abs(M.mass) @ (np.abs(w) + np.abs(u)) + np.abs(p) @ np.abs(self.toarray())
            rounding = max(rounding, ROUND_OFF * float(np.linalg.norm(np.abs(M.root) @ sizes)))
        negative = max(0.0, float((pushed * unit).max(initial=0.0)))
        return (
            max(float(relative), _ratio(float(moved_by), distance)),
            _ratio(max(float(stationarity) - rounding, 0.0) + negative, distance),
            _ratio(float(np.abs(p) @ np.abs(slack)), distance**2),
        )


@dataclass(frozen=True, eq=False)
class Dense(LinearMap):
    """A linear map by the rows of a dense array.

    Parameters
    ----------
    array : array, shape (m, N)
        The matrix.

    Examples
    --------
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

    def tocsr(self) -> Any:
        from scipy.sparse import csr_array

        return csr_array(self.array)

    def rows(self, selection: Booleans | Integers) -> Dense:
        return Dense(self.array[selection])

    def toarray(self) -> Array:
        return self.array

    def dense(self) -> Dense:
        return self

    def opposite(self) -> Dense:
        return Dense(-self.array)

    def magnitude(self, u: Array) -> Array:
        return np.abs(self.array) @ np.abs(u)

    def norms(self, M: Metric) -> Array:
        return _dual_norms(self.array, M)

    def residuals(self, rows: Offsets, M: Metric, w: Array, u: Array, p: Array) -> tuple[float, float, float]:
        if not M.diagonal or rows.equal is not None:
            return super().residuals(rows, M, w, u, p)
        G, length, noise = self.array, rows.length, rows.noise
        residual = one_row.residual_dense if one_row.serves(G) else kernels_for(G).residual_dense
        return residual(G, rows.c, w, M.mass, u, p, length, ROUND_OFF, noise)


@dataclass(frozen=True, eq=False)
class Sparse(LinearMap):
    """A linear map by the rows of a SciPy sparse matrix in CSR form.

    Parameters
    ----------
    matrix : scipy.sparse.csr_array, shape (m, N)
        The matrix.
    """

    matrix: Any

    @property
    def shape(self) -> tuple[int, int]:
        return self.matrix.shape[0], self.matrix.shape[1]

    def __matmul__(self, u: Array) -> Array:
        return np.asarray(self.matrix @ u)

    def adjoint(self, p: Array) -> Array:
        return np.asarray(self.matrix.T @ p)

    def tocsr(self) -> Any:
        return self.matrix

    def rows(self, selection: Booleans | Integers) -> Sparse:
        return Sparse(self.matrix[selection])


def _dual_norms(array: Array, M: Metric) -> Array:
    white = M.whiten(array)
    return np.asarray(np.sqrt(np.einsum("ij,ij->i", white, white)))


def _ratio(size: float, scale: float) -> float:
    """size / scale, where 0 / 0 = 0 and x / 0 = infinity."""
    if size == 0.0:
        return 0.0
    return size / scale if scale > 0.0 else np.inf
