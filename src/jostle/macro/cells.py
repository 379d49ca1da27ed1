"""Square cells that fill a rectangle, and the walls at its sides."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from jostle.arrays import Array, Booleans, Integers
from jostle.errors import InvalidValue
from jostle.macro.checks import point, positive, truths

Sides = bool | tuple[tuple[bool, bool], tuple[bool, bool]]
"""Which sides of the domain are walls: all, none, or ((left, right), (bottom, top))."""

CELL_TOLERANCE = 1e-9
"""Lengths are compared up to this fraction of a cell."""


@dataclass(frozen=True, eq=False, init=False)
class Cells:
    """The places of square cells, of their faces and of walls; see `Grid`."""

    lower: Array
    upper: Array
    h: float
    shape: tuple[int, int]
    closed: tuple[tuple[bool, bool], tuple[bool, bool]]

    def __init__(self, lower: ArrayLike, upper: ArrayLike, h: float, *, closed: Sides = False):
        low, high, side = point(lower, "lower"), point(upper, "upper"), positive(h, "h")
        if not (low < high).all():
            raise InvalidValue(f"a grid needs two corners (x, y) with lower < upper, not {lower!r} and {upper!r}")
        count = np.rint((high - low) / side).astype(int)
        off = np.abs(count * side - (high - low)) > CELL_TOLERANCE * side * np.maximum(count, 1)
        if off.any() or (count < 1).any():
            raise InvalidValue(
                f"cells of side {side:g} do not fill a box of {high[0] - low[0]:g} by {high[1] - low[1]:g}"
            )
        sides = ((bool(closed),) * 2,) * 2 if isinstance(closed, bool | np.bool_) else closed
        if np.shape(sides) != (2, 2):
            raise InvalidValue(f"closed is True, False or ((left, right), (bottom, top)), not {closed!r}")
        object.__setattr__(self, "lower", low)
        object.__setattr__(self, "upper", high)
        object.__setattr__(self, "h", side)
        object.__setattr__(self, "shape", (int(count[0]), int(count[1])))
        object.__setattr__(self, "closed", tuple(tuple(bool(end) for end in axis) for axis in sides))

    @cached_property
    def centres(self) -> tuple[Array, Array]:
        """x and y of the centres of the cells, each (nx, ny)."""
        return self.places(0.5, 0.5)

    def places(self, i: float, j: float) -> tuple[Array, Array]:
        """Return x and y of one point in each cell.

        Parameters
        ----------
        i : float
            Position inside the cell along x, in cells: 0 is the left side, 0.5 the centre. With 0, the right side of
            the last column is included.
        j : float
            Position inside the cell along y, in cells. With 0, the top side of the last row is included.

        Returns
        -------
        x, y : array, shape (nx, ny), with one more entry along an axis whose position is 0
            Coordinates of the points.
        """
        nx, ny = self.shape
        x = self.lower[0] + self.h * (np.arange(nx + (i == 0.0)) + i)
        y = self.lower[1] + self.h * (np.arange(ny + (j == 0.0)) + j)
        return tuple(np.meshgrid(x, y, indexing="ij"))

    def faces(self, axis: int) -> tuple[int, int]:
        """Return the shape of an array with one number per face across an axis.

        Parameters
        ----------
        axis : int
            0 for the faces across x, 1 for the faces across y.

        Returns
        -------
        tuple of int
            (nx + 1, ny) for the faces across x, (nx, ny + 1) for the faces across y.
        """
        nx, ny = self.shape
        return (nx + 1, ny) if axis == 0 else (nx, ny + 1)

    def walls(self, cells: ArrayLike | None = None) -> Booleans:
        """Mark walls on the grid extended by one cell on each side.

        The outermost entries stand for the sides of the domain; a corner is a wall if one of its two sides is.

        Parameters
        ----------
        cells : array_like of bool, shape (nx, ny), optional
            Cells that are walls. None: no cell is.

        Returns
        -------
        array of bool, shape (nx + 2, ny + 2)
            True where there is a wall.
        """
        (left, right), (bottom, top) = self.closed
        wall = np.zeros((self.shape[0] + 2, self.shape[1] + 2), dtype=bool)
        wall[0], wall[-1] = left, right
        wall[:, 0] |= bottom
        wall[:, -1] |= top
        if cells is not None:
            wall[1:-1, 1:-1] = self.checked(cells, "walls")
        return wall

    def checked(self, cells: ArrayLike, name: str) -> Booleans:
        """Check that a mask has one boolean per cell.

        Parameters
        ----------
        cells : array_like, shape (nx, ny)
            The mask: booleans, or numbers that are 0 or 1.
        name : str
            Name of the mask in error messages.

        Returns
        -------
        array of bool, shape (nx, ny)
            The mask as an ordinary array.

        Raises
        ------
        InvalidValue
            If the mask has another shape, or entries other than 0 and 1.
        """
        found = truths(cells, name)
        if found.shape != self.shape:
            raise InvalidValue(
                f"{name} must be one boolean per cell, {self.shape}, not an array of shape {found.shape}"
            )
        return found

    def touched(self, x: ArrayLike, y: ArrayLike) -> tuple[Integers, Integers]:
        """Find the cells that contain points.

        A point on an edge belongs to two cells, a point on a corner to four. The first index runs over the four
        combinations (left, below), (left, above), (right, below), (right, above); inside a cell all four are the same.

        Parameters
        ----------
        x : array_like
            x of the points.
        y : array_like
            y of the points, of the shape of `x`.

        Returns
        -------
        i, j : array of int, shape (4, ...)
            Cell numbers along x and along y; -1 or nx (ny) outside the grid.

        Examples
        --------
        >>> Cells([0, 0], [2, 1], h=1.0).touched(1.0, 0.5)[0].tolist()
        [0, 0, 1, 1]
        """
        around = []
        for place, low, n in zip((x, y), self.lower, self.shape, strict=True):
            cells = (np.asarray(place, dtype=float) - low) / self.h
            shifted = (cells - CELL_TOLERANCE, cells + CELL_TOLERANCE)
            around.append([np.clip(np.floor(each), -1, n).astype(np.int64) for each in shifted])
        (left, right), (lower, upper) = around
        return np.stack([left, left, right, right]), np.stack([lower, upper, lower, upper])
