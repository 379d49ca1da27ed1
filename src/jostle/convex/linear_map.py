"""G as a linear map on flat vectors: general rows, dense or sparse; contacts of bodies; and both together.

A new form of G defines `shape`, ``G @ u``, `adjoint`, `tocsr` and `rows`; everything else follows from these, and is
defined again only where the form has a faster way. No code asks which type a map has: solvers ask which of its rows
are `contacts` of bodies, for which they have fused loops, and treat the `others` as general rows.
"""

from __future__ import annotations

from dataclasses import InitVar, dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from jostle import kernels
from jostle._tools.arrays import Array, Booleans, Integers, contiguous, place_of, to_host
from jostle._tools.rotations import AXES, at_lever
from jostle.convex.cones import Cones
from jostle.convex.metric import Metric
from jostle.errors import InvalidValue
from jostle.kernels import Answer, Cone, ContactRows, Grip, GripRows, Lever, LeverRows, Stop, one_row
from jostle.kernels.parallel import chunks_of
from jostle.kernels.reference.cones import metrics_of_blocks, metrics_of_grips, sizes_grips
from jostle.kernels.reference.dense import ROUND_OFF

NO_ROWS = np.zeros(0, dtype=np.int64)
MAX_FEW_BLOCKS = 128
"""At most this many contacts with friction are swept at once, those of balls as `LeverBlocks`, which take less to
prepare."""


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

    shape: tuple[int, int]
    """Number of rows and of coordinates, (m, N)."""

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
    def contacts(self) -> NormalRows | None:
        """The rows that are contacts of bodies which do not turn, in the order of the rows; None if there are none."""
        return None

    @property
    def others(self) -> Integers:
        """Numbers of the rows that are not among `contacts`."""
        return np.arange(self.shape[0])

    def swept(self, cones: Cones | None, equal: Booleans | None, M: Metric) -> Array | None:
        """The inverse masses as the loop of a form takes them, which sweeps over all rows as blocks in friction cones.

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
        array, shape (bodies, ...), or None
            The inverse masses. None: the form has no such loop, or it does not take these rows.
        """
        return None

    def prepared(
        self, cones: Cones, inverse: Array, w: Array, c: Array, c_noise: Array, guess: Array | None
    ) -> Prepared:
        """The rows as that loop takes them.

        Parameters
        ----------
        cones : Cones
            The friction cones of all rows.
        inverse : array, shape (bodies, ...)
            What `swept` returned.
        w : array, shape (N,)
            A point.
        c, c_noise : array, shape (m,)
            Offsets of the rows, and their round-off.
        guess : array, shape (m,), or None
            Multipliers to start from. None: zeros.

        Returns
        -------
        Prepared
            The arrays of the loop.
        """
        raise NotImplementedError

    def sweep(self, blocks: Prepared, inverse: Array, coulomb: bool, stop: Stop, threads: int) -> tuple[Array, int]:
        """The multipliers that the loop finds.

        Parameters
        ----------
        blocks, inverse : Prepared, array
            What `prepared` and `swept` returned.
        coulomb : bool
            True for Coulomb's law, False for the convex one.
        stop : Stop
            When the sweeps end.
        threads : int
            Number of threads.

        Returns
        -------
        tuple of array and int
            The multipliers (m, d), and the number of sweeps.
        """
        raise NotImplementedError

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

    @cached_property
    def shape(self) -> tuple[int, int]:  # type: ignore[override]
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

    @cached_property
    def shape(self) -> tuple[int, int]:  # type: ignore[override]
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
# A contact is a block of rows, the velocity of body j relative to body i where they touch. There are three kinds, each
# with kernels of its own. A normal row alone, (G u)_c = normal_c . (u_j - u_i), takes 32 bytes in 3-D instead of 72 in
# CSR. Balls with spin touch at the ends of levers along the normal, which two numbers describe. Other bodies have
# levers of any direction, and keep the entries of their blocks.


class Prepared(NamedTuple):
    """Blocks in friction cones as the compiled loop of their arithmetic takes them."""

    table: Any
    """A `kernels.Grip` or `kernels.Lever`."""
    s0: Array
    """(m, d) the slack at rest."""
    start: Array
    """(m, d) a guess of the multipliers, in the cones."""
    unit: Array
    """(m,) the lengths of the normal rows in the dual norm."""
    noise: Array
    """(m,) margins up to this count as zero."""
    margin: Array
    """(m,) how far the contacts are from being violated at rest."""


@dataclass(frozen=True, eq=False)
class ContactMap(LinearMap):
    """Contacts of bodies as a linear map G: `NormalRows`, `BallBlocks` or `LeverBlocks`, by their arithmetic.

    Arrays are not copied, which saves time in each step: do not change them afterwards.

    Parameters
    ----------
    i : array of int, shape (m,)
        Number of the first body of each contact.
    j : array of int, shape (m,)
        Number of the second body; negative for a wall at rest.
    normal : array, shape (m, d)
        Unit vector from the first body to the second, or into the wall.
    bodies : int
        Number of bodies.
    positions : array, shape (bodies, d), optional
        Positions of the bodies; solvers use them to divide space. None: not known.
    known : bool, default False
        True if all numbers are certain to be those of bodies; they are then not checked, which saves time in each step.

    Attributes
    ----------
    height : int
        Number of rows of a contact.
    width : int
        Number of coordinates of a body.

    Examples
    --------
    >>> G = NormalRows(np.array([0]), np.array([1]), np.array([[1.0, 0.0]]), bodies=2)
    >>> isinstance(G, ContactMap), G.height, G.width
    (True, 1, 2)
    """

    i: Integers
    j: Integers
    normal: Array
    bodies: int
    positions: Array | None = None
    known: InitVar[bool] = False
    height: int = field(init=False, repr=False)
    width: int = field(init=False, repr=False)
    _rows: Any = field(init=False, repr=False)
    """The arrays as kernels take them."""

    def __post_init__(self, known: bool) -> None:
        on_host, positions = known and isinstance(self.normal, np.ndarray), self.positions
        if positions is not None and not (on_host and positions.flags.c_contiguous):
            object.__setattr__(self, "positions", contiguous(positions))
        if not (on_host and self.i.flags.c_contiguous and self.j.flags.c_contiguous and self.normal.flags.c_contiguous):
            self._check(known)

    def _check(self, known: bool) -> None:
        """The arrays as the kernels declare them; and one row per contact, between bodies that exist."""
        for name, kind in (("i", np.int64), ("j", np.int64), ("normal", float)):
            object.__setattr__(self, name, contiguous(getattr(self, name), kind))
        m, n = len(self.i), self.bodies
        if len(self.j) != m or len(self.normal) != m or self.normal.ndim != 2:
            raise InvalidValue(
                f"i has {m} entries, j {len(self.j)}, normal has shape {self.normal.shape}: give one row per contact"
            )
        if not known and m and (int(self.i.min()) < 0 or int(self.i.max()) >= n or int(self.j.max()) >= n):
            raise InvalidValue(f"a pair names a body that is not one of 0 to {n - 1}")

    def _keep(self, rows: Any, height: int, width: int) -> None:
        """Keep the arrays as kernels take them, and what every product asks for."""
        shape = len(self.i) * height, self.bodies * width
        self.__dict__.update(_rows=rows, height=height, width=width, shape=shape)

    def _by_body(self, u: Array) -> Array:
        by_body: Array = u.reshape(self.bodies, self.width)
        if isinstance(by_body, np.ndarray) and by_body.flags.c_contiguous:
            return by_body
        return contiguous(by_body, None)  # type: ignore[no-any-return]

    def _of_bodies(self, answer: Answer) -> Answer:
        """An answer whose velocities have one row for each body, and whose blocks one for each contact."""
        w, mass, u = map(self._by_body, (answer.w, answer.mass, answer.u))
        c, noise, length, p, blocks = answer.c, answer.c_noise, answer.length, answer.p, (len(self.i), -1)
        if self.height > 1:
            c, noise, length, p = c.reshape(blocks), noise.reshape(blocks), length.reshape(blocks), p.reshape(blocks)
        return Answer(c, noise, length, w, mass, u, p)

    def _sparse(self, first: Array, second: Array) -> Any:
        """The blocks (m, e, width) of the first bodies and of the second ones as a sparse matrix."""
        from scipy.sparse import csr_array

        i, j = to_host(self.i), to_host(self.j)
        entries = np.stack([first, second], axis=2)
        some = np.True_ if self.height == 1 else (entries != 0.0).any(axis=0)  # normal rows always have one pattern
        there = np.broadcast_to(some, entries.shape).copy()
        there[:, :, 1] &= (j >= 0)[:, None, None]
        columns = np.stack([i, j], axis=1)[:, None, :, None] * self.width + np.arange(self.width)
        columns = np.broadcast_to(columns, there.shape)[there]
        ends = np.append(0, there.sum(axis=(2, 3)).ravel().cumsum())
        return csr_array((entries[there], columns.astype(np.int32), ends.astype(np.int32)), shape=self.shape)


@dataclass(frozen=True, eq=False)
class NormalRows(ContactMap):
    """Contacts of bodies that do not turn: one row normal . (u_j - u_i) for each.

    The other parameters are those of `ContactMap`.

    Parameters
    ----------
    touching : bool, default True
        False for rods, which two bodies may have beside their contact: solvers take them for general rows, and an
        intersection of sets leaves the numbers of their bodies as they are.

    Examples
    --------
    >>> G = NormalRows(np.array([0]), np.array([1]), np.array([[1.0, 0.0]]), bodies=2)
    >>> (G @ np.array([1.0, 0.0, -1.0, 0.0])).tolist()          # they approach
    [-2.0]
    """

    touching: bool = True

    def __post_init__(self, known: bool) -> None:
        ContactMap.__post_init__(self, known)
        rows: ContactRows = tuple.__new__(ContactRows, (self.i, self.j, self.normal))  # ContactRows(...) is slower
        self._keep(rows, 1, self.normal.shape[1])

    @property
    def contacts(self) -> NormalRows | None:
        return self if self.touching else None

    @property
    def others(self) -> Integers:
        return NO_ROWS if self.touching else np.arange(len(self.i))

    def __matmul__(self, u: Array) -> Array:
        return kernels.rates(self._rows, self._by_body(u), chunks_of(len(self.i)))

    def adjoint(self, p: Array) -> Array:
        return kernels.adjoint(self._rows, p, self.bodies, chunks_of(len(self.i))).ravel()

    def magnitude(self, u: Array) -> Array:
        return kernels.magnitude(self._rows, self._by_body(u), chunks_of(len(self.i)))

    def norms(self, M: Metric) -> Array:
        if not M.diagonal:
            return super().norms(M)
        return kernels.norms(self._rows, self._by_body(M.inverse_diagonal), chunks_of(len(self.i)))

    def whitened(self, c: Array, c_noise: Array, M: Metric, w: Array, slack: Array) -> tuple[Array, Array, Array]:
        if not M.diagonal:
            return super().whitened(c, c_noise, M, w, slack)
        inverse, w = self._by_body(M.inverse_diagonal), self._by_body(w)
        return kernels.whitened(self._rows, inverse, w, c, c_noise, slack, chunks_of(len(self.i)))

    def toarray(self) -> Array:
        return kernels.pairs_to_dense(self._rows, self.bodies)

    def tocsr(self) -> Any:
        normal = to_host(self.normal)[:, None]
        return self._sparse(-normal, normal)

    def rows(self, selection: Booleans | Integers) -> NormalRows:
        i, j, normal = self.i[selection], self.j[selection], self.normal[selection]
        return NormalRows(i, j, normal, self.bodies, self.positions, True, self.touching)

    def opposite(self) -> NormalRows:
        return NormalRows(self.i, self.j, -self.normal, self.bodies, self.positions, True, self.touching)

    def residuals(self, answer: Answer, cones: Cones | None, M: Metric) -> tuple[float, ...] | None:
        if cones is not None:
            return None
        return kernels.residual_pairs(self._rows, self._of_bodies(answer), chunks_of(len(self.i)))


@dataclass(frozen=True, eq=False)
class BallBlocks(ContactMap):
    """Contacts of balls with spin: a block of d rows for each, the velocity of body j relative to i where they touch.

    The coordinates of a body are its velocity v (d numbers) and then its spin w (one in the plane, three in space).
    The block of a contact with the normal n is (v_j - w_j x r_j n) - (v_i + w_i x r_i n), without the terms of j for a
    wall. The other parameters are those of `ContactMap`.

    Parameters
    ----------
    arms : array, shape (m, 2)
        Distances r_i and r_j from the centres of the bodies to the point of contact; zero for a wall.
    rolling : bool, default False
        Whether the relative spin w_j - w_i follows in the block of each contact, for rolling resistance.

    Examples
    --------
    >>> G = BallBlocks(np.array([0]), np.array([-1]), np.array([[0.0, -1.0]]), bodies=1, arms=np.array([[0.5, 0.0]]))
    >>> (G @ np.array([1.0, 0.0, -2.0])).tolist()          # a disc that rolls on a floor
    [0.0, 0.0]
    """

    arms: Array = field(kw_only=True)
    rolling: bool = field(default=False, kw_only=True)

    def __post_init__(self, known: bool) -> None:
        object.__setattr__(self, "arms", contiguous(self.arms))
        ContactMap.__post_init__(self, known)
        if self.normal.shape[1] not in AXES or self.arms.shape != (len(self.i), 2):
            raise InvalidValue(
                f"bodies with spin live in two or three dimensions, and each contact has two arms: normal has shape "
                f"{self.normal.shape}, arms has shape {self.arms.shape}"
            )
        d = self.normal.shape[1]
        width = d + AXES[d]
        self._keep(GripRows(self.i, self.j, self.normal, self.arms), width if self.rolling else d, width)

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

    def tocsr(self) -> Any:
        n, arms = to_host(self.normal), to_host(self.arms)
        (m, d), e = n.shape, self.height
        first, second = np.zeros((m, e, self.width)), np.zeros((m, e, self.width))
        first[:, :d], second[:, :d] = -at_lever(arms[:, :1] * n, None), at_lever(-arms[:, 1:] * n, None)
        if self.rolling:
            first[:, d:, d:], second[:, d:, d:] = -np.eye(e - d), np.eye(e - d)
        return self._sparse(first, second)

    def rows(self, selection: Booleans | Integers) -> LinearMap:
        rows = np.arange(self.shape[0])[selection]
        c = rows[:: self.height] // self.height
        if not np.array_equal(rows, (c[:, None] * self.height + np.arange(self.height)).ravel()):
            return Sparse(self.tocsr()[rows])
        i, j, normal, arms = self.i[c], self.j[c], self.normal[c], self.arms[c]
        return BallBlocks(i, j, normal, self.bodies, self.positions, True, arms=arms, rolling=self.rolling)

    def _inverse(self, M: Metric) -> Array | None:
        """(bodies, 2) inverse masses and inertias; None if they differ between the coordinates of a body."""
        d, inverse = self.normal.shape[1], self._by_body(M.inverse_diagonal)
        pair = contiguous(inverse[:, [0, d]], None)
        alike = (inverse[:, :d] == pair[:, :1]).all() and (inverse[:, d:] == pair[:, 1:]).all()
        return pair if alike else None

    def swept(self, cones: Cones | None, equal: Booleans | None, M: Metric) -> Array | None:
        if cones is None or not M.diagonal or self.rolling or equal is not None:
            return None
        return self._inverse(M) if bool((cones.axis == self.normal).all()) else None

    def prepared(
        self, cones: Cones, inverse: Array, w: Array, c: Array, c_noise: Array, guess: Array | None
    ) -> Prepared:
        (m, d), slack = self.normal.shape, c + (self @ w)
        c, c_noise = c.reshape(m, d), c_noise.reshape(m, d)
        given = place_of(c).zeros((m, d)) if guess is None else guess.reshape(m, d)
        scale, noise, start = kernels.whitened_grips(
            self._rows, cones.mu, inverse, self._by_body(w), c, c_noise, given, chunks_of(m)
        )
        table = Grip(self.i, self.j, self.normal, self.arms, cones.mu, scale, noise)
        return Prepared(table, slack.reshape(m, d), start, np.sqrt(scale[:, 0]), noise, cones.margin(slack))

    def sweep(self, blocks: Prepared, inverse: Array, coulomb: bool, stop: Stop, threads: int) -> tuple[Array, int]:
        given = blocks.table, inverse, blocks.s0, blocks.start, coulomb, stop, threads, self.positions
        return kernels.sweep_grips(*given)

    def majorants(self, axis: Array, height: int, M: Metric) -> Array:
        inverse = self._inverse(M) if M.diagonal and not self.rolling else None
        if inverse is None:
            return super().majorants(axis, height, M)
        return metrics_of_grips(self._rows, inverse)[:, [0, 1, 0]]

    def residuals(self, answer: Answer, cones: Cones | None, M: Metric) -> tuple[float, ...] | None:
        if cones is None or self.swept(cones, None, M) is None:
            return None
        answer = self._of_bodies(answer)
        return kernels.residual_grips(self._rows, cones.mu, cones.coulomb, answer, chunks_of(len(self.i)))


@dataclass(frozen=True, eq=False)
class LeverBlocks(ContactMap):
    """Contacts of bodies of any shape: a block of rows for each, first v_i + second v_j.

    The velocities v (bodies, d + s) are those of the centres of mass and spins. The other parameters are those of
    `ContactMap`.

    Parameters
    ----------
    first : array, shape (m, e, d + s)
        What the rows of each block are of v_i; its first d rows and columns are minus one on the diagonal, else zero.
    second : array, shape (m, e, d + s)
        What they are of v_j: the opposite in the first d columns; zero for a wall.

    Examples
    --------
    >>> G = LeverBlocks(np.array([0]), np.array([-1]), np.array([[0.0, -1.0]]), bodies=1,
    ...                 first=-np.array([[[1.0, 0.0, 0.5], [0.0, 1.0, 2.0]]]), second=np.zeros((1, 2, 3)))
    >>> (G @ np.array([1.0, 0.0, -2.0]) + 0.0).tolist()
    [0.0, 4.0]
    """

    first: Array = field(kw_only=True)
    second: Array = field(kw_only=True)

    def __post_init__(self, known: bool) -> None:
        ContactMap.__post_init__(self, known)
        rows = LeverRows(self.i, self.j, np.ascontiguousarray(self.first), np.ascontiguousarray(self.second))
        self._keep(rows, *self.first.shape[1:])

    def __matmul__(self, u: Array) -> Array:
        return kernels.rates_levers(self._rows, self._by_body(u)).ravel()

    def adjoint(self, p: Array) -> Array:
        p = np.ascontiguousarray(p).reshape(self.first.shape[:2])
        return kernels.adjoint_levers(self._rows, p, self.bodies).ravel()

    def tocsr(self) -> Any:
        return self._sparse(self.first, self.second)

    def rows(self, selection: Booleans | Integers) -> Sparse:
        return Sparse(self.tocsr()[np.arange(self.shape[0])[selection]])

    def local_matrices(self, blocks: int, height: int, M: Metric) -> Array:
        if not M.diagonal or (blocks, height) != self.first.shape[:2]:
            return super().local_matrices(blocks, height, M)
        return kernels.local_levers(self._rows, self._by_body(M.inverse_diagonal))

    def swept(self, cones: Cones | None, equal: Booleans | None, M: Metric) -> Array | None:
        if cones is None or equal is not None or not M.diagonal:
            return None
        if cones.rows != self.shape[0] or cones.rolling is not None:
            return None
        inverse = self._by_body(M.inverse_diagonal)
        return inverse if (inverse[:, 1 : cones.axis.shape[1]] == inverse[:, :1]).all() else None

    def prepared(
        self, cones: Cones, inverse: Array, w: Array, c: Array, c_noise: Array, guess: Array | None
    ) -> Prepared:
        m, d = cones.axis.shape
        given = np.zeros((m, d)) if guess is None else guess.reshape(m, d)
        c, c_noise, w, cone = c.reshape(m, d), c_noise.reshape(m, d), self._by_body(w), _cone(cones)
        local, scale, noise, s0, start, margin = kernels.whitened_levers(
            self._rows, cone, cones.coulomb, inverse, w, c, c_noise, given
        )
        i, j, first, second = self._rows
        table = Lever(i, j, first, second, cone.normal, cone.mu, local, scale, noise)
        return Prepared(table, s0, start, np.sqrt(scale[:, 0]), noise[:, 0], margin)

    def sweep(self, blocks: Prepared, inverse: Array, coulomb: bool, stop: Stop, threads: int) -> tuple[Array, int]:
        given = blocks.table, inverse, blocks.s0, blocks.start, coulomb, stop, threads, self.positions
        return kernels.sweep_levers(*given)

    def residuals(self, answer: Answer, cones: Cones | None, M: Metric) -> tuple[float, ...] | None:
        if cones is None or self.swept(cones, None, M) is None:
            return None
        return kernels.residual_levers(self._rows, _cone(cones), cones.coulomb, self._of_bodies(answer))


def _cone(cones: Cones) -> Cone:
    """The cones as kernels take them."""
    return Cone(np.ascontiguousarray(cones.axis), cones.mu, np.zeros(len(cones.mu)))


@dataclass(frozen=True, eq=False)
class FootRows(LinearMap):
    """Rows normal . (sum of weight_k u_k) on the velocities (bodies, d) of parts of bodies that are not balls.

    Parameters
    ----------
    parts : array of int, shape (m, k)
        Numbers of parts.
    weights : array, shape (m, k)
        Their weights in each row.
    normal : array, shape (m, d)
        Unit vectors.
    bodies : int
        Number of parts.

    Examples
    --------
    >>> G = FootRows(np.array([[0, 1, 2]]), np.array([[-1.0, 0.5, 0.5]]), np.array([[0.0, 1.0]]), bodies=3)
    >>> (G @ np.array([5.0, 1.0, 5.0, 2.0, 5.0, 4.0])).tolist()
    [2.0]
    """

    parts: Integers
    weights: Array
    normal: Array
    bodies: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "shape", (len(self.parts), self.bodies * self.normal.shape[1]))

    def __matmul__(self, u: Array) -> Array:
        return np.asarray(np.einsum("md,mkd,mk->m", self.normal, u.reshape(self.bodies, -1)[self.parts], self.weights))

    def magnitude(self, u: Array) -> Array:
        return FootRows(self.parts, np.abs(self.weights), np.abs(self.normal), self.bodies) @ np.abs(u)

    def adjoint(self, p: Array) -> Array:
        out = np.empty((self.bodies, self.normal.shape[1]))
        for axis, along in enumerate((p[:, None] * self.normal).T):
            each = (along[:, None] * self.weights).ravel()
            out[:, axis] = np.bincount(self.parts.ravel(), each, self.bodies)
        return out.ravel()

    def tocsr(self) -> Any:
        from scipy.sparse import csr_array

        (m, k), d = self.parts.shape, self.normal.shape[1]
        columns = (d * self.parts[:, :, None] + np.arange(d)).ravel()
        entries = (self.weights[:, :, None] * self.normal[:, None]).ravel()
        matrix = csr_array((entries, columns, k * d * np.arange(m + 1)), shape=self.shape)
        matrix.sum_duplicates()
        return matrix

    def rows(self, selection: Booleans | Integers) -> FootRows:
        return FootRows(self.parts[selection], self.weights[selection], self.normal[selection], self.bodies)


# G with many contacts of bodies and a few general rows: a constraint of the user beside 10^4 discs, a joint.
#
# The contacts keep the form and the fused loops of `NormalRows`; the general rows do not cost them that.


@dataclass(frozen=True, eq=False)
class Mixed(LinearMap):
    """A linear map of contacts and general rows on the same space."""

    pairs: NormalRows
    general: LinearMap
    of_contacts: Booleans
    """(m,) True for each row that is a contact."""

    @cached_property
    def shape(self) -> tuple[int, int]:  # type: ignore[override]
        return len(self.of_contacts), self.pairs.shape[1]

    @property
    def contacts(self) -> NormalRows:
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

    def toarray(self) -> Array:
        array = np.empty(self.shape)
        array[self.of_contacts], array[self.others] = self.pairs.toarray(), self.general.toarray()
        return array

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
    found: list[NormalRows] = []
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
    joined = NormalRows(
        pairs[0],
        pairs[1],
        found[0].normal if len(found) == 1 else np.concatenate([contact.normal for contact in found]),
        found[0].bodies,
        next((contact.positions for contact in found if contact.positions is not None), None),
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
    return NormalRows(pairs[0], pairs[1], contacts.normal, contacts.bodies, contacts.positions, known)


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
