"""Polyhedra {u : c + G u >= 0}, cones {u : G u >= 0}, and their polars.

House convention: gaps g >= 0, G = dg/dq, admissible velocities G u >= 0, multipliers p >= 0, impulse
+ G^T p. (Bourdin & Maury 2020 write B = -G.)

A row may be an equality, c_i + G_i u = 0: its slack is zero at every point of the set, and its multiplier has no sign.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from jostle._tools.arguments import Truths, check_arguments
from jostle._tools.arrays import Array, Booleans, Integers, contiguous, floats, place_of
from jostle.convex.linear_map import LinearMap, as_map
from jostle.errors import InvalidValue


@check_arguments
def _check(
    G: ArrayLike | LinearMap,
    c: ArrayLike,
    length: ArrayLike | None,
    describe: Callable[[int], str],
    noise: ArrayLike,
    equal: Truths | None,
) -> None:
    """Refuse arguments of a wrong type; `check_arguments` raises."""


@dataclass(frozen=True, eq=False, init=False)
class Polyhedron:
    """The polyhedron K = {u : c + G u >= 0}, where some rows may hold with equality.

    Parameters
    ----------
    G : array_like, shape (m, N), or LinearMap
        Gradients of the rows.
    c : array_like, shape (m,)
        Offsets of the rows.
    length : float or array_like, shape (m,), optional
        What the violation of each row is compared with: a radius, or a radius over h for velocities. None or 0: the
        distance moved, |G_i| |u - w|.
    describe : callable (int) -> str, default "row {}".format
        What a row is, in words, for error messages.
    noise : float or array_like, shape (m,), default 0.0
        Round-off in c: a slack below it counts as zero. The gap of two bodies far from the origin has fewer digits than
        c itself tells.
    equal : array_like of bool, shape (m,), optional
        Which rows are equalities, c_i + G_i u = 0. None: all are inequalities.

    Raises
    ------
    InvalidValue
        If shapes do not fit, or a length is negative.

    Examples
    --------
    >>> K = Polyhedron([[1.0, 0.0]], [-1.0])            # u_x >= 1
    >>> K.slack([3.0, 0.0]).tolist()
    [2.0]
    >>> import jostle as jo
    >>> line = Polyhedron([[1.0, 1.0], [1.0, 0.0]], [-2.0, 0.0], equal=[True, False])     # x + y = 2, x >= 0
    >>> P = jo.project([-1.0, 7.0], line)
    >>> P.point.round(12).tolist(), P.multipliers.round(12).tolist()
    ([0.0, 2.0], [-5.0, 6.0])
    """

    G: LinearMap
    c: Array
    length: Array
    describe: Callable[[int], str]
    noise: Array
    equal: Booleans | None

    def __init__(
        self,
        G: ArrayLike | LinearMap,
        c: ArrayLike,
        *,
        length: ArrayLike | None = None,
        describe: Callable[[int], str] = "row {}".format,
        noise: ArrayLike = 0.0,
        equal: Truths | None = None,
    ):
        if not isinstance(G, LinearMap):  # the library itself gives maps, in each step
            _check(G, c, length, describe, noise, equal)
            c, length, noise, equal = deepcopy((c, length, noise, equal))  # the caller may change its arrays
        rows, offset = as_map(G), floats(c, order="C")
        if offset.shape != rows.shape[:1]:
            raise InvalidValue(f"c has shape {offset.shape}, G has {rows.shape[0]} rows")
        object.__setattr__(self, "G", rows)
        object.__setattr__(self, "c", offset)
        own = getattr(length, "shape", None) == offset.shape and rows is G
        each = length if own else lengths(length, len(offset), offset)
        object.__setattr__(self, "length", contiguous(each))
        object.__setattr__(self, "describe", describe)
        known = noise if isinstance(noise, float) else floats(noise)
        same = np.shape(known) == offset.shape
        each = contiguous(known) if same else place_of(offset).zeros(len(offset)) + known
        object.__setattr__(self, "noise", each)
        object.__setattr__(self, "equal", kinds(equal, len(offset)))

    def dense(self) -> Polyhedron:
        """The same polyhedron with G in dense form.

        Returns
        -------
        Polyhedron
            This polyhedron itself if G is dense already.
        """
        G = self.G.dense()
        if G is self.G:
            return self
        return Polyhedron(G, self.c, length=self.length, describe=self.describe, noise=self.noise, equal=self.equal)

    def only(self, rows: Integers) -> Polyhedron:
        """The polyhedron of some of the rows.

        Parameters
        ----------
        rows : array of int
            Numbers of the rows.

        Returns
        -------
        Polyhedron
            The polyhedron with these rows.
        """
        return Polyhedron(
            self.G.rows(rows),
            self.c[rows],
            length=self.length[rows],
            describe=lambda row: self.describe(int(rows[row])),
            noise=self.noise[rows],
            equal=None if self.equal is None else self.equal[rows],
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
        >>> K = Polyhedron([[1.0], [1.0]], [0.0, 0.0], equal=[False, True])
        >>> K.margin(K.slack([3.0])).tolist()
        [3.0, -3.0]
        """
        return margins(slack, self.equal)


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


class Cone(Polyhedron):
    """The cone C = {u : G u >= 0} of the admissible velocities of closed contacts.

    Parameters
    ----------
    G : array_like, shape (m, N), or LinearMap
        Gradients of the closed contacts.
    describe : callable (int) -> str, default "row {}".format
        What a row is, in words, for error messages.
    equal : array_like of bool, shape (m,), optional
        Which rows are equalities, G_i u = 0. None: all are inequalities.

    Attributes
    ----------
    polar : Polar
        The polar cone N, to project on.

    Examples
    --------
    >>> Cone([[1.0, 0.0], [0.0, 1.0]]).slack([2.0, -1.0]).tolist()
    [2.0, -1.0]
    """

    def __init__(
        self,
        G: ArrayLike | LinearMap,
        *,
        describe: Callable[[int], str] = "row {}".format,
        equal: Truths | None = None,
    ):
        if not isinstance(G, LinearMap):
            _check(G, 0.0, None, describe, 0.0, equal)
        rows = as_map(G)
        super().__init__(rows, np.zeros(rows.shape[0]), describe=describe, equal=equal)

    @property
    def polar(self) -> Polar:
        """The polar cone N = {-M^-1 G^T p : p >= 0} in the metric of the projection; p has no sign in equalities."""
        return Polar(self)


@dataclass(frozen=True, eq=False)
class Polar:
    """The polar cone N of a cone C: <n, v>_M <= 0 for all n in N and v in C.

    Attributes
    ----------
    cone : Cone
        The cone C.
    """

    cone: Cone
