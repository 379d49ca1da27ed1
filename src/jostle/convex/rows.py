"""Rows c + G u >= 0 or c + G u = 0: the one object between sets, which make them, and solvers, which project on them.

House convention: gaps g >= 0, G = dg/dq, admissible velocities G u >= 0, multipliers p >= 0, impulse + G^T p. (Bourdin
& Maury 2020 write B = -G.) The kind of a row says which slacks it allows, and which multipliers: an inequality has
s >= 0 and p >= 0; an equality has s = 0, and its p has no sign. A new kind needs its margin here, its residual in
`LinearMap.residuals`, and solvers that know it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from jostle._tools.arguments import Truths
from jostle._tools.arrays import Array, Booleans, Integers, floats, place_of
from jostle.convex.linear_map import LinearMap
from jostle.errors import InvalidValue


@dataclass(frozen=True, eq=False)
class Rows:
    """The set {u : c + G u >= 0}, where some rows may hold with equality; nothing is checked.

    `Polyhedron` makes checked rows from anything that looks like arrays.

    Parameters
    ----------
    G : LinearMap, shape (m, N)
        Gradients of the rows.
    c : array, shape (m,)
        Offsets of the rows.
    length : array, shape (m,)
        What the violation of each row is compared with; 0: the distance moved, |G_i| |u - w|.
    noise : array, shape (m,)
        Round-off of c.
    equal : array of bool, shape (m,), or None
        Which rows are equalities; None: all are inequalities.
    describe : callable (int) -> str, default "row {}".format
        What a row is, in words, for error messages.

    Examples
    --------
    >>> from jostle.convex.linear_map import Dense
    >>> K = Rows(Dense(np.array([[1.0, 0.0]])), np.array([-1.0]), np.zeros(1), np.zeros(1), None)     # u_x >= 1
    >>> K.slack([3.0, 0.0]).tolist()
    [2.0]
    """

    G: LinearMap
    c: Array
    length: Array
    noise: Array
    equal: Booleans | None
    describe: Callable[[int], str] = "row {}".format

    def dense(self) -> Rows:
        """The same rows with G in dense form.

        Returns
        -------
        Rows
            These rows themselves if G is dense already.
        """
        G = self.G.dense()
        return self if G is self.G else Rows(G, self.c, self.length, self.noise, self.equal, self.describe)

    def only(self, rows: Integers) -> Rows:
        """Some of the rows.

        Parameters
        ----------
        rows : array of int
            Numbers of the rows.

        Returns
        -------
        Rows
            These rows.
        """
        return Rows(
            self.G.rows(rows),
            self.c[rows],
            self.length[rows],
            self.noise[rows],
            some_kinds(self.equal, rows),
            lambda row: self.describe(int(rows[row])),
        )

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
        return self.c + (self.G @ floats(u).ravel())

    def margin(self, slack: Array) -> Array:
        """How far a slack is from violating each row.

        Parameters
        ----------
        slack : array, shape (m,)
            The slack of a point.

        Returns
        -------
        array, shape (m,)
            The slack of an inequality, -|s_i| of an equality: negative where the row is violated.

        Examples
        --------
        >>> import jostle as jo
        >>> K = jo.convex.Polyhedron([[1.0], [1.0]], [0.0, 0.0], equal=[False, True])
        >>> K.margin(K.slack([3.0])).tolist()
        [3.0, -3.0]
        """
        return slack if self.equal is None else margins(slack, self.equal)


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
    given = floats(length)
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
