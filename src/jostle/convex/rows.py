"""Rows c + G u >= 0 or c + G u = 0: the one object between sets, which make them, and solvers, which project on them.

House convention: gaps g >= 0, G = dg/dq, admissible velocities G u >= 0, multipliers p >= 0, impulse + G^T p. (Bourdin
& Maury 2020 write B = -G.) The kind of a row says which slacks it allows, and which multipliers: an inequality has
s >= 0 and p >= 0; an equality has s = 0, and its p has no sign; an equality with a bound b has -b <= p <= b, and s has
the other sign where p is at its bound, as for dry friction. A new kind needs its margin here, its residual in
`jostle.convex.residuals`, and solvers that know it; bounds are the business of `Solver.project` alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from jostle._tools.arguments import Truths
from jostle._tools.arrays import Array, Booleans, Integers, floats, place_of
from jostle.convex.cones import Cones
from jostle.convex.linear_map import LinearMap, Sparse
from jostle.errors import InvalidValue
from jostle.kernels.reference.cones import parts


@dataclass(frozen=True, eq=False)
class Rows:
    """The set {u : c + G u >= 0}, where some rows may hold with equality; nothing is checked.

    `Polyhedron` makes checked rows from anything that looks like arrays.

    >>> from jostle.convex.linear_map import Dense
    >>> K = Rows(Dense(np.array([[1.0, 0.0]])), np.array([-1.0]), np.zeros(1), np.zeros(1), None)     # u_x >= 1
    >>> K.slack([3.0, 0.0]).tolist()
    [2.0]
    """

    G: LinearMap
    """(m, N) gradients of the rows."""
    c: Array
    """(m,) offsets of the rows."""
    length: Array
    """(m,) what the violation of each row is compared with; 0: the distance moved, |G_i| |u - w|."""
    noise: Array
    """(m,) round-off of c."""
    equal: Booleans | None
    """(m,) which rows are equalities; None: all are inequalities."""
    describe: Callable[[int], str] = "row {}".format
    """What a row is, in words, for error messages."""
    cones: Cones | None = None
    """The friction cones of the first rows; None: no row is part of a cone."""
    bound: Array | None = None
    """(m,) the largest |p| of each equality; one that reaches it slips, to the side to which p does not suffice.
    Infinite, as for all rows if None: the equality holds."""

    def dense(self) -> Rows:
        """The same rows with G in dense form; these rows themselves if it is dense already."""
        G = self.G.dense()
        if G is self.G:
            return self
        return Rows(G, self.c, self.length, self.noise, self.equal, self.describe, self.cones, self.bound)

    def only(self, rows: Integers) -> Rows:
        """The rows with these numbers."""
        return Rows(
            self.G.rows(rows),
            self.c[rows],
            self.length[rows],
            self.noise[rows],
            some_kinds(self.equal, rows),
            lambda row: self.describe(int(rows[row])),
            None if self.cones is None else self.cones.only(rows),
            None if self.bound is None else self.bound[rows],
        )

    def with_noise(self, part: float) -> Rows:
        """The same rows, where slacks of contacts with friction up to a part of their length count as zero."""
        cones = self.cones
        if cones is None:
            return self
        length, noise = cones.blocks_of(self.length)[:, 0], self.noise.copy()
        least = np.repeat(part * length / cones.height**0.5, cones.height)
        noise[: cones.rows] = np.maximum(noise[: cones.rows], least)
        return Rows(self.G, self.c, self.length, noise, self.equal, self.describe, cones, self.bound)

    def normals(self) -> Rows:
        """The normal row of each block, and all rows that are in no cone: the least that the set demands."""
        cones = self.cones
        if cones is None:
            return self
        from scipy.sparse import csr_array, eye_array, hstack, vstack

        b, d, e = *cones.axis.shape, cones.height
        places = (np.arange(b)[:, None] * e + np.arange(d)).ravel()
        ends = np.arange(0, b * d + 1, d)
        axes = csr_array((cones.axis.ravel(), places, ends), shape=(b, b * e))
        others = len(self.c) - b * e
        turn = csr_array(
            vstack([hstack([axes, csr_array((b, others))]), hstack([csr_array((others, b * e)), eye_array(others)])])
        )
        first = np.append(np.arange(b) * e, np.arange(b * e, len(self.c)))
        return Rows(
            Sparse(csr_array(turn @ self.G.tocsr())),
            turn @ self.c,
            self.length[first],
            abs(turn) @ self.noise,
            some_kinds(self.equal, first),
            lambda row: self.describe(int(first[row])),
        )

    def normal_parts(self, values: Array) -> Array:
        """Values (m,) of the rows as those of `normals`: the normal part of each block, then all others."""
        cones = self.cones
        if cones is None:
            return values
        return np.append(parts(cones.blocks_of(values), cones.axis)[0], values[cones.rows :])

    def slack(self, u: ArrayLike) -> Array:
        """How far inside each half-space a point is, c + G u.

        Parameters
        ----------
        u : array_like
            The point, N numbers in any shape.

        Returns
        -------
        array, shape (m,)
            The slack of each row.
        """
        return self.c + (self.G @ floats(u, name="u").ravel())

    def margin(self, slack: Array) -> Array:
        """How far a slack is from violating each row.

        Parameters
        ----------
        slack : array, shape (m,)
            The slack of a point.

        Returns
        -------
        array, shape (m,)
            The slack of an inequality, -|s_i| of an equality: negative where the row is violated. All rows of a block
            have the number of the block: s_n by Coulomb's law, s_n - mu |s_T| by the convex one.

        Examples
        --------
        >>> import jostle as jo
        >>> K = jo.convex.Polyhedron([[1.0], [1.0]], [0.0, 0.0], equal=[False, True])
        >>> K.margin(K.slack([3.0])).tolist()
        [3.0, -3.0]
        """
        if self.cones is None:
            return slack if self.equal is None else margins(slack, self.equal)
        of_blocks = np.repeat(self.cones.margin(slack), self.cones.height)
        return np.concatenate([of_blocks, margins(slack, self.equal)[self.cones.rows :]])


def kinds(equal: Truths | None, rows: int) -> Booleans | None:
    """(m,) which of the rows are equalities, checked; None if none is.

    >>> kinds([True, False], 2).tolist(), kinds([False, False], 2)
    ([True, False], None)
    """
    if equal is None:
        return None
    given = np.asarray(equal)
    if given.shape != (rows,) or given.dtype != bool:
        raise InvalidValue(
            f"equal must be one True or False for each of the {rows} rows; it has shape {given.shape} and type "
            f"{given.dtype}"
        )
    return given if given.any() else None


def some_kinds(equal: Booleans | None, rows: Integers) -> Booleans | None:
    """Which of some rows are equalities; None if none is."""
    if equal is None:
        return None
    some: Booleans = equal[rows]
    return some if some.any() else None


def margins(slack: Array, equal: Booleans | None) -> Array:
    """The slack of inequalities, -|slack| of equalities: negative where a row is violated."""
    return slack if equal is None else np.where(equal, -np.abs(slack), slack)


def lengths(length: ArrayLike | None, rows: int, other: Array | None = None) -> Array:
    """(m,) the length of each row, 0 where there is none; one number given is that of all rows.

    The array lives where `other` does, if that is given.

    >>> lengths(0.5, 2).tolist(), lengths(None, 1).tolist()
    ([0.5, 0.5], [0.0])
    """
    place = np if other is None else place_of(other)
    if length is None:
        return place.zeros(rows)
    if isinstance(length, float) and length > 0.0:
        each: Array = place.empty(rows)
        each[:] = length
        return each
    given = floats(length, name="length")
    if given.ndim == 0:
        if not given > 0.0:
            raise InvalidValue(f"length must be positive, not {length}; None stands for no length")
        return place.full(rows, float(given))
    if given.shape != (rows,):
        raise InvalidValue(f"length must be one number, or one for each of the {rows} rows; it has shape {given.shape}")
    if not (given >= 0.0).all():
        row = int(np.argmin(given >= 0.0))
        raise InvalidValue(f"the length of row {row} is {given[row]}; it must be positive, or 0 for none")
    return given
