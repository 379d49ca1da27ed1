"""G as a linear map on flat vectors: general rows, dense or sparse; contacts of bodies; and both together.

A new form of G defines `shape`, ``G @ u``, `adjoint`, `tocsr` and `rows`; everything else follows from these, and is
defined again only where the form has a faster way. No code asks which type a map has: solvers ask which of its rows
are `contacts` of bodies, for which they have fused loops, and treat the `others` as general rows.
"""

from __future__ import annotations

from dataclasses import InitVar, dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from jostle import kernels
from jostle._tools.arrays import Array, Booleans, Integers, contiguous, to_host
from jostle.convex.cones import Cones
from jostle.convex.metric import Metric
from jostle.errors import InvalidValue
from jostle.kernels import Answer, ContactRows, GripRows, LeverRows, one_row
from jostle.kernels.parallel import chunks_of
from jostle.kernels.reference.cones import metrics_of_blocks, metrics_of_grips, sizes_grips
from jostle.kernels.reference.dense import ROUND_OFF

NO_ROWS = np.zeros(0, dtype=np.int64)


class LinearMap:
    """The gradients G, an (m, N) matrix in any form.

    A new form of G inherits from this class and defines `shape`, ``G @ u``, `adjoint`, `tocsr` and `rows`.

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
    >>> jo.project([3.0, 2.0, 1.0], jo.convex.Cone(Differences())).point.round(9).tolist()
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
    def contacts(self) -> Pairs | None:
        """The rows that are contacts of bodies, in the order of the rows; None if there are none."""
        return None

    @property
    def others(self) -> Integers:
        """Numbers of the rows that are not contacts of bodies."""
        return np.arange(self.shape[0])

    @property
    def grips(self) -> Grips | None:
        """The map itself if its rows are blocks of contacts of balls with spin; None if they are not."""
        return None

    def swept(self, cones: Cones | None, equal: Booleans | None, M: Metric) -> tuple[LeverRows, Array] | None:
        """The rows as blocks with levers, where one compiled loop takes them all, which only some forms have.

        Parameters
        ----------
        cones : Cones or None
            The friction cones of the first rows.
        equal : array of bool, shape (m,), or None
            Which rows are equalities.
        M : Metric
            The metric.

        Returns
        -------
        tuple of LeverRows and array, or None
            The blocks, and the inverse masses (bodies, d + s) of all coordinates. None: the loop does not take them.
        """
        return None

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

    def whitened(self, c: Array, c_noise: Array, M: Metric, w: Array, slack: Array) -> tuple[Array, Array, Array]:
        """The lengths of the rows, and the slack at w and its round-off in rows of length one.

        Parameters
        ----------
        c : array, shape (m,)
            Offsets of the rows.
        c_noise : array, shape (m,)
            Round-off of c.
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
        return unit, slack / by, (c_noise + ROUND_OFF * (np.abs(c) + self.magnitude(w))) / by

    def local_matrices(self, blocks: int, height: int, M: Metric) -> Array:
        """(blocks, height, height): G_k M^-1 G_k^T of each of the first blocks of rows, each of the same height."""
        from scipy.sparse import csr_array

        A = self.tocsr()[: blocks * height]
        A = csr_array(A.multiply(M.root)) if M.diagonal else csr_array(M.whiten(A.toarray()))
        local, each = np.zeros((blocks, height, height)), [A[k::height] for k in range(height)]
        for one in range(height):
            for other in range(one, height):
                local[:, one, other] = local[:, other, one] = each[one].multiply(each[other]).sum(axis=1)
        return local

    def majorants(self, axis: Array, height: int, M: Metric) -> Array:
        """W_n, W_t, W_r whose matrix W_n n n^T + W_t (1 - n n^T) + W_r majorises the local matrix of each block.

        Parameters
        ----------
        axis : array, shape (blocks, d)
            The axis n of each block.
        height : int
            Number of rows of a block.
        M : Metric
            The metric.

        Returns
        -------
        array, shape (blocks, 3)
            The three numbers of each block.
        """
        return metrics_of_blocks(self.local_matrices(len(axis), height, M), axis)

    def residuals(self, answer: Answer, cones: Cones | None, M: Metric) -> tuple[float, ...] | None:
        """The residuals of an answer by one compiled loop, which only some forms have; see `Residual`.

        Parameters
        ----------
        answer : Answer
            A projection on inequalities in the metric of a diagonal.
        cones : Cones or None
            The friction cones of the first rows.
        M : Metric
            The metric, a diagonal.

        Returns
        -------
        tuple of float, or None
            The primal, dual and complementarity residuals; with friction cones also the natural map. None: the form
            has no such loop.
        """
        return None


@dataclass(frozen=True, eq=False)
class Dense(LinearMap):
    """A linear map by the rows of a dense array (m, N).

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

    def local_matrices(self, blocks: int, height: int, M: Metric) -> Array:
        # Sums of the products that are not zero, which are those of sparse rows to the last bit.
        first = self.array[: blocks * height]
        A = (first * M.root if M.diagonal else M.whiten(first)).reshape(blocks, height, first.shape[1])
        one, other = np.triu_indices(height)
        products = (A[:, one] * A[:, other]).reshape(blocks * len(one), first.shape[1])
        there = products != 0.0
        count = there.sum(axis=1)
        some, sums = np.flatnonzero(count), np.zeros(len(count))
        if len(some):
            sums[some] = np.add.reduceat(products[there], (count.cumsum() - count)[some])
        local = np.zeros((blocks, height, height))
        local[:, one, other] = local[:, other, one] = sums.reshape(blocks, len(one))
        return local

    def residuals(self, answer: Answer, cones: Cones | None, M: Metric) -> tuple[float, ...] | None:
        if cones is not None:
            return None
        G = self.array
        return (one_row.residual_dense if len(G) == 1 and one_row.serves(G) else kernels.residual_dense)(G, answer)


@dataclass(frozen=True, eq=False)
class Sparse(LinearMap):
    """A linear map by the rows of a matrix (m, N) in the CSR form of SciPy."""

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


# G of contacts of bodies: pairs of them, or a body and a wall.
#
# Pairs keep (i, j, normal): 32 bytes a row in 3-D instead of 72 in CSR. The normal points from i to j, and
# (G u)_c = normal_c . (u_j - u_i); a wall is j < 0 and does not move.


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
    contacts : Pairs
        The map itself: all rows are contacts of bodies.
    others : array of int
        Numbers of the rows that are not contacts of bodies: none.

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
    _rows: ContactRows = field(init=False, repr=False)

    def __post_init__(self, known: bool) -> None:
        on_host, places = known and isinstance(self.normal, np.ndarray), self.places
        if places is not None and not (on_host and places.flags.c_contiguous):
            object.__setattr__(self, "places", contiguous(places))
        if not (on_host and self.i.flags.c_contiguous and self.j.flags.c_contiguous and self.normal.flags.c_contiguous):
            self._check(known)
        rows: ContactRows = tuple.__new__(ContactRows, (self.i, self.j, self.normal))  # ContactRows(...) is slower
        object.__setattr__(self, "_rows", rows)

    def _check(self, known: bool) -> None:
        """The arrays as the kernels declare them; and one row per contact, between bodies that exist."""
        for name, kind in (("i", np.int64), ("j", np.int64), ("normal", float)):
            object.__setattr__(self, name, contiguous(getattr(self, name), kind))
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
        return len(self.i), self.bodies * self.normal.shape[1]

    @property
    def contacts(self) -> Pairs:
        return self

    @property
    def others(self) -> Integers:
        return NO_ROWS

    def _by_body(self, u: Array) -> Array:
        by_body: Array = u.reshape(self.bodies, self.normal.shape[1])
        if isinstance(by_body, np.ndarray) and by_body.flags.c_contiguous:
            return by_body
        return contiguous(by_body, None)  # type: ignore[no-any-return]

    def __matmul__(self, u: Array) -> Array:
        u = self._by_body(u)
        return kernels.rates(self._rows, u, chunks_of(len(self.i)))

    def adjoint(self, p: Array) -> Array:
        chunks = chunks_of(len(self.i))
        return kernels.adjoint(self._rows, p, self.bodies, chunks).ravel()

    def magnitude(self, u: Array) -> Array:
        u = self._by_body(u)
        return kernels.magnitude(self._rows, u, chunks_of(len(self.i)))

    def norms(self, M: Metric) -> Array:
        if not M.diagonal:
            return super().norms(M)
        return kernels.norms(self._rows, self._by_body(M.inverse_diagonal), chunks_of(len(self.i)))

    def whitened(self, c: Array, c_noise: Array, M: Metric, w: Array, slack: Array) -> tuple[Array, Array, Array]:
        if not M.diagonal:
            return super().whitened(c, c_noise, M, w, slack)
        inverse, w = self._by_body(M.inverse_diagonal), self._by_body(w)
        return kernels.whitened(self._rows, inverse, w, c, c_noise, slack, chunks_of(len(self.i)))

    def dense(self) -> Dense:
        return Dense(kernels.pairs_to_dense(self._rows, self.bodies))

    def toarray(self) -> Array:
        return kernels.pairs_to_dense(self._rows, self.bodies)

    def tocsr(self) -> Any:
        from scipy.sparse import csr_array

        i, j, normal = to_host(self.i), to_host(self.j), to_host(self.normal)
        axes, moving, row = np.arange(self.dimension), j >= 0, np.arange(len(i))
        entries = np.concatenate([-normal, normal[moving]]).ravel()
        rows = np.repeat(np.concatenate([row, row[moving]]), self.dimension)
        columns = np.concatenate([i, j[moving]])[:, None] * self.dimension + axes
        return csr_array((entries, (rows, columns.ravel())), shape=self.shape)

    def rows(self, selection: Booleans | Integers) -> Pairs:
        i, j, normal = self.i[selection], self.j[selection], self.normal[selection]
        return type(self)(i, j, normal, self.bodies, self.places, known=True)

    def opposite(self) -> Pairs:
        return type(self)(self.i, self.j, -self.normal, self.bodies, self.places, known=True)

    def residuals(self, answer: Answer, cones: Cones | None, M: Metric) -> tuple[float, ...] | None:
        if cones is not None:
            return None
        w, mass, u = (self._by_body(vector) for vector in (answer.w, answer.mass, answer.u))
        answer = answer._replace(w=w, mass=mass, u=u)
        return kernels.residual_pairs(self._rows, answer, chunks_of(len(self.i)))


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

    def tocsr(self) -> Any:
        from scipy.sparse import csr_array

        there, d = np.stack([self.i, self.j], axis=1), self.dimension
        bodies = there >= 0
        columns = (there[bodies] * d)[:, None] + np.arange(d)
        entries = np.stack([-self.normal, self.normal], axis=1)[bodies]
        ends = np.zeros(len(self.i) + 1, dtype=np.int32)
        np.cumsum(d * bodies.sum(axis=1), out=ends[1:])
        return csr_array((entries.ravel(), columns.astype(np.int32).ravel(), ends), shape=self.shape)


# G of contacts of balls with spin: blocks of rows, the relative velocity of the two bodies where they touch.


@dataclass(frozen=True, eq=False)
class Grips(LinearMap):
    """Contacts of balls with spin: a block of d rows for each, the velocity of body j relative to i where they touch.

    The coordinates of a body are its velocity v (d numbers) and then its spin w (one in the plane, three in space).
    The block of a contact with the normal n is (v_j - w_j x r_j n) - (v_i + w_i x r_i n), without the terms of j for a
    wall. Arrays are not copied: do not change them afterwards.

    Parameters
    ----------
    i : array of int, shape (m,)
        Number of the first body of each contact.
    j : array of int, shape (m,)
        Number of the second body; negative for a wall.
    normal : array, shape (m, d)
        Unit vector from the first body to the second, or into the wall.
    arms : array, shape (m, 2)
        Distances r_i and r_j from the centres of the bodies to the point of contact; zero for a wall.
    bodies : int
        Number of bodies.
    places : array, shape (bodies, d), optional
        Positions of the bodies; solvers use them to divide space. None: not known.
    rolling : bool, default False
        Whether the relative spin w_j - w_i follows in the block of each contact, for rolling resistance.

    Examples
    --------
    >>> G = Grips(np.array([0]), np.array([-1]), np.array([[0.0, -1.0]]), np.array([[0.5, 0.0]]), bodies=1)
    >>> (G @ np.array([1.0, 0.0, -2.0])).tolist()          # a disc that rolls on a floor
    [0.0, 0.0]
    """

    i: Integers
    j: Integers
    normal: Array
    arms: Array
    bodies: int
    places: Array | None = None
    rolling: bool = False
    _rows: GripRows = field(init=False, repr=False)

    def __post_init__(self) -> None:
        for name, kind in (("i", np.int64), ("j", np.int64), ("normal", float), ("arms", float)):
            object.__setattr__(self, name, contiguous(getattr(self, name), kind))
        if self.places is not None:
            object.__setattr__(self, "places", contiguous(self.places))
        m, n = len(self.i), self.bodies
        if len(self.j) != m or self.normal.ndim != 2 or len(self.normal) != m or self.arms.shape != (m, 2):
            raise InvalidValue(
                f"i has {m} entries, j {len(self.j)}, normal has shape {self.normal.shape}, arms has shape "
                f"{self.arms.shape}: give one row per contact"
            )
        if self.normal.shape[1] not in (2, 3):
            raise InvalidValue(f"bodies with spin live in two or three dimensions, not {self.normal.shape[1]}")
        if m and (int(self.i.min()) < 0 or int(self.i.max()) >= n or int(self.j.max()) >= n):
            raise InvalidValue(f"a pair names a body that is not one of 0 to {n - 1}")
        object.__setattr__(self, "_rows", GripRows(self.i, self.j, self.normal, self.arms))

    @property
    def dimension(self) -> int:
        """Dimension d of space."""
        return int(self.normal.shape[1])

    @property
    def spins(self) -> int:
        """Number of coordinates of a spin: one in the plane, three in space."""
        return 1 if self.dimension == 2 else 3

    @property
    def height(self) -> int:
        """Number of rows of a block."""
        return self.dimension + (self.spins if self.rolling else 0)

    @property
    def grips(self) -> Grips:
        return self

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.i) * self.height, self.bodies * (self.dimension + self.spins)

    @cached_property
    def _matrix(self) -> Any:
        from scipy.sparse import csr_array

        i, j, n, arms = to_host(self.i), to_host(self.j), to_host(self.normal), to_host(self.arms)
        m, d, s, e = len(i), self.dimension, self.spins, self.height
        turn = np.zeros((m, d, s))  # -w x n = turn w
        if d == 2:
            turn[:, 0, 0], turn[:, 1, 0] = n[:, 1], -n[:, 0]
        else:
            for a, b, c in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
                turn[:, a, b], turn[:, b, a] = -n[:, c], n[:, c]
        blocks, there = np.zeros((m, e, 2, d + s)), np.ones((m, e, 2, d + s), dtype=bool)
        blocks[:, :d, 0, :d], blocks[:, :d, 1, :d] = -np.eye(d), np.eye(d)
        blocks[:, :d, :, d:] = turn[:, :, None] * arms[:, None, :, None]
        if self.rolling:
            blocks[:, d:, 0, d:], blocks[:, d:, 1, d:] = -np.eye(s), np.eye(s)
        there &= (blocks != 0.0).any(axis=0)
        there[:, :, 1] &= (j >= 0)[:, None, None]
        columns = np.stack([i, j], axis=1)[:, None, :, None] * (d + s) + np.arange(d + s)
        columns = np.broadcast_to(columns, there.shape)[there]
        ends = np.append(0, there.sum(axis=(2, 3)).ravel().cumsum())
        return csr_array((blocks[there], columns.astype(np.int32), ends.astype(np.int32)), shape=self.shape)

    def _by_body(self, u: Array) -> Array:
        return contiguous(u.reshape(self.bodies, self.dimension + self.spins), None)  # type: ignore[no-any-return]

    def __matmul__(self, u: Array) -> Array:
        return kernels.rates_grips(self._rows, self._by_body(u), self.height, chunks_of(len(self.i))).ravel()

    def adjoint(self, p: Array) -> Array:
        p = contiguous(p.reshape(len(self.i), self.height), None)
        return kernels.adjoint_grips(self._rows, p, self.bodies, chunks_of(len(self.i))).ravel()

    def magnitude(self, u: Array) -> Array:
        return sizes_grips(self._rows, self._by_body(np.abs(u)), 1, self.height).ravel()

    def norms(self, M: Metric) -> Array:
        if not M.diagonal:
            return super().norms(M)
        squares = sizes_grips(self._rows, self._by_body(M.inverse_diagonal), 2, self.height)
        return np.asarray(np.sqrt(squares).ravel())

    def inverse_masses(self, M: Metric) -> Array | None:
        """The inverse mass and the inverse inertia of each body.

        Parameters
        ----------
        M : Metric
            The metric, a diagonal.

        Returns
        -------
        array, shape (bodies, 2), or None
            The inverse masses; None if they differ between the coordinates of a body.
        """
        d, inverse = self.dimension, M.inverse_diagonal.reshape(self.bodies, self.dimension + self.spins)
        pair = contiguous(inverse[:, [0, d]], None)
        alike = (inverse[:, :d] == pair[:, :1]).all() and (inverse[:, d:] == pair[:, 1:]).all()
        return pair if alike else None

    def fused(self, cones: Cones | None, equal: Booleans | None, M: Metric) -> Array | None:
        """The inverse masses where one compiled loop takes all rows: blocks of d rows in cones around the normals.

        Parameters
        ----------
        cones : Cones or None
            The friction cones of the first rows.
        equal : array of bool, shape (m,), or None
            Which rows are equalities.
        M : Metric
            The metric.

        Returns
        -------
        array, shape (bodies, 2), or None
            What `inverse_masses` returns; None if the loop does not take these rows.
        """
        if cones is None or not M.diagonal or self.rolling or equal is not None:
            return None
        return self.inverse_masses(M) if bool((cones.axis == self.normal).all()) else None

    def majorants(self, axis: Array, height: int, M: Metric) -> Array:
        masses = self.inverse_masses(M) if M.diagonal and not self.rolling else None
        if masses is None:
            return super().majorants(axis, height, M)
        return metrics_of_grips(self._rows, masses)[:, [0, 1, 0]]

    def residuals(self, answer: Answer, cones: Cones | None, M: Metric) -> tuple[float, ...] | None:
        if cones is None or self.fused(cones, None, M) is None:
            return None
        m = len(self.i)
        c, noise, length, p = (each.reshape(m, -1) for each in (answer.c, answer.c_noise, answer.length, answer.p))
        w, mass, u = (self._by_body(vector) for vector in (answer.w, answer.mass, answer.u))
        answer = Answer(c, noise, length, w, mass, u, p)
        return kernels.residual_grips(self._rows, cones.mu, cones.coulomb, answer, chunks_of(m))

    def tocsr(self) -> Any:
        return self._matrix

    def rows(self, selection: Booleans | Integers) -> LinearMap:
        rows = np.arange(self.shape[0])[selection]
        contacts = rows[:: self.height] // self.height
        if not np.array_equal(rows, (contacts[:, None] * self.height + np.arange(self.height)).ravel()):
            return Sparse(self._matrix[rows])
        i, j, normal, arms = self.i[contacts], self.j[contacts], self.normal[contacts], self.arms[contacts]
        return Grips(i, j, normal, arms, self.bodies, self.places, self.rolling)


# G with many contacts of bodies and a few general rows: a constraint of the user beside 10^4 discs, a joint.
#
# The contacts keep the form and the fused loops of `Pairs`; the general rows do not cost them that.


@dataclass(frozen=True, eq=False)
class Mixed(LinearMap):
    """A linear map of contacts and general rows on the same space."""

    pairs: Pairs
    general: LinearMap
    of_contacts: Booleans
    """(m,) True for each row that is a contact."""

    @cached_property
    def shape(self) -> tuple[int, int]:
        return len(self.of_contacts), self.pairs.shape[1]

    @property
    def contacts(self) -> Pairs:
        return self.pairs

    @cached_property
    def others(self) -> Integers:
        return np.flatnonzero(~self.of_contacts)

    def _merged(self, of_pairs: Array, of_general: Array) -> Array:
        """(m,) values of the contacts and of the general rows, in the order of the rows."""
        merged = np.empty(len(self.of_contacts))
        merged[self.of_contacts], merged[self.others] = of_pairs, of_general
        return merged

    def __matmul__(self, u: Array) -> Array:
        return self._merged(self.pairs @ u, self.general @ u)

    def adjoint(self, p: Array) -> Array:
        return self.pairs.adjoint(np.ascontiguousarray(p[self.of_contacts])) + self.general.adjoint(p[self.others])

    def magnitude(self, u: Array) -> Array:
        return self._merged(self.pairs.magnitude(u), self.general.magnitude(u))

    def norms(self, M: Metric) -> Array:
        return self._merged(self.pairs.norms(M), self.general.norms(M))

    def opposite(self) -> Mixed:
        return Mixed(self.pairs.opposite(), self.general.opposite(), self.of_contacts)

    def tocsr(self) -> Any:
        from scipy.sparse import csr_array, vstack

        rows = csr_array(vstack([self.pairs.tocsr(), self.general.tocsr()]))
        order = np.empty(self.shape[0], dtype=np.int64)
        order[np.concatenate([np.flatnonzero(self.of_contacts), self.others])] = np.arange(self.shape[0])
        return rows[order]

    def rows(self, selection: Booleans | Integers) -> LinearMap:
        chosen = np.arange(self.shape[0])[selection]
        of_contacts = self.of_contacts[chosen]
        place = np.empty(self.shape[0], dtype=np.int64)
        place[self.of_contacts], place[self.others] = np.arange(self.pairs.shape[0]), np.arange(len(self.others))
        pairs, general = self.pairs.rows(place[chosen[of_contacts]]), self.general.rows(place[chosen[~of_contacts]])
        if of_contacts.all():
            return pairs
        return Mixed(pairs, general, of_contacts) if of_contacts.any() else general


def stacked(*blocks: LinearMap, pairs: Integers | None = None, known: bool = False) -> LinearMap:
    """The maps one above the other: contacts stay contacts, all other rows are put together.

    `pairs` (2, m) are the numbers of the contacts, if those of the blocks are not to be kept; `known` if they are
    certain to be those of bodies.
    """
    there = blocks if len(blocks) == 1 else [block for block in blocks if block.shape[0]] or blocks[:1]
    if len(there) == 1:
        return there[0] if pairs is None else _renumbered(there[0], pairs, known)
    found: list[Pairs] = []
    others: list[LinearMap] = []
    for block in there:
        contacts = block.contacts
        if contacts is not None:
            found.append(contacts)
        if contacts is not block and len(block.others):
            others.append(block if contacts is None else block.rows(block.others))
    general = _put_together(others) if others else None
    if not found:
        assert general is not None
        return general
    of_contacts = None if general is None else np.concatenate([_of_contacts(block) for block in there])
    if pairs is None:
        pairs = np.concatenate([[contact.i, contact.j] for contact in found], axis=1)
    elif of_contacts is not None:
        pairs = np.ascontiguousarray(pairs[:, of_contacts])
    joined = Pairs(
        pairs[0],
        pairs[1],
        found[0].normal if len(found) == 1 else np.concatenate([contact.normal for contact in found]),
        found[0].bodies,
        next((contact.places for contact in found if contact.places is not None), None),
        known,
    )
    return joined if general is None or of_contacts is None else Mixed(joined, general, of_contacts)


def _of_contacts(block: LinearMap) -> Booleans:
    """(m,) which rows of a map are contacts."""
    of_contacts = np.ones(block.shape[0], dtype=bool)
    of_contacts[block.others] = False
    return of_contacts


def _renumbered(block: LinearMap, pairs: Integers, known: bool) -> LinearMap:
    """The map with other numbers of its contacts."""
    contacts = block.contacts
    if contacts is None or len(block.others):
        return block
    return Pairs(pairs[0], pairs[1], contacts.normal, contacts.bodies, contacts.places, known)


def _put_together(blocks: list[LinearMap]) -> LinearMap:
    """General rows one above the other; a foreign form stays as it is if it is alone."""
    if len(blocks) == 1:
        return blocks[0]
    if all(block.dense() is block for block in blocks):
        return Dense(np.concatenate([block.toarray() for block in blocks]))
    from scipy.sparse import csr_array, vstack

    return Sparse(csr_array(vstack([block.tocsr() for block in blocks])))


# The forms of G, and how an array, a sparse matrix or a map of the user's own becomes one of them.


def as_map(G: ArrayLike | LinearMap | Any) -> LinearMap:
    """G as a linear map: an array, a scipy sparse matrix, or a map as it is."""
    if isinstance(G, LinearMap):
        return G
    if hasattr(G, "adjoint"):
        raise InvalidValue(
            f"{type(G).__name__} looks like a linear map: let it inherit jostle.convex.linear_map.LinearMap"
        )
    if hasattr(G, "tocsr"):
        return Sparse(G.tocsr())
    array = np.array(G, dtype=float, order="C")
    if array.ndim != 2:
        raise InvalidValue(f"G must have two axes (rows, coordinates), not shape {array.shape}")
    if not np.isfinite(array).all():
        raise InvalidValue("G has entries that are not finite")
    return Dense(array)
