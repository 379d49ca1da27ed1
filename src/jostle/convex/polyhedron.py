"""Polyhedra {u : c + G u >= 0}, cones {u : G u >= 0} and their polars, as users write them: `Rows` that are checked."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from jostle._tools.arguments import Truths, check_arguments
from jostle._tools.arrays import contiguous, floats, place_of
from jostle.convex.cones import Cones, checked_cones
from jostle.convex.linear_map import LinearMap, as_map
from jostle.convex.rows import Rows, kinds, lengths
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


class Polyhedron(Rows):
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
    cones : Cones, optional
        Friction cones of the first rows, which are blocks of d rows each. None: no row is part of a cone.

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

    def __init__(
        self,
        G: ArrayLike | LinearMap,
        c: ArrayLike,
        *,
        length: ArrayLike | None = None,
        describe: Callable[[int], str] = "row {}".format,
        noise: ArrayLike = 0.0,
        equal: Truths | None = None,
        cones: Cones | None = None,
    ):
        if not isinstance(G, LinearMap):
            _check(G, c, length, describe, noise, equal)
            c, length, noise, equal = deepcopy((c, length, noise, equal))  # the caller may change its arrays
        rows, offset = as_map(G), floats(c, order="C", name="c")
        if offset.shape != rows.shape[:1]:
            raise InvalidValue(f"c has shape {offset.shape}, G has {rows.shape[0]} rows")
        each = contiguous(lengths(length, len(offset), offset))
        round_off = contiguous(place_of(offset).zeros(len(offset)) + floats(noise, name="noise"))
        which = kinds(equal, len(offset))
        blocks = None if cones is None else checked_cones(cones, len(offset), which)
        super().__init__(rows, offset, each, round_off, which, describe, blocks)


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

    Examples
    --------
    >>> Cone([[1.0, 0.0], [0.0, 1.0]]).slack([2.0, -1.0]).tolist()
    [2.0, -1.0]
    """

    def __init__(
        self, G: ArrayLike | LinearMap, *, describe: Callable[[int], str] = "row {}".format, equal: Truths | None = None
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
