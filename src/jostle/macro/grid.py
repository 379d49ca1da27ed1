"""A grid of square cells, zones of saturated cells, and velocity fields.

Cells are numbered [i, j], i along x and j along y. Each law keeps the velocity where its constraint wants it
(Bourdin & Maury 2020): the isotropic law (14) on faces and the pressure in cells (the staggered, or MAC, grid), the
square law (30)-(31) in cells and the pressures on faces, as grains have velocities and contacts have impulses.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from jostle.arrays import Array, Booleans, finite
from jostle.errors import InvalidValue
from jostle.macro.mask import Mask, mask, numbers, plain
from jostle.macro.outline import inside_polygon

Component = float | ArrayLike | Callable[[Array, Array], ArrayLike]
"""One component of a velocity: a number, one number a cell or a face, or a function of (x, y)."""
Sides = bool | tuple[tuple[bool, bool], tuple[bool, bool]]
"""Which sides of the domain are walls: all, none, or ((left, right), (bottom, top))."""

ROUND_OFF = 1e-9
"""So much of a cell may be missing at the end of a row, and a centre may lie so far outside a zone."""


@dataclass(frozen=True, eq=False, init=False)
class Grid:
    """Square cells of side h that fill the box from lower to upper; closed sides are walls.

    >>> grid = Grid([0, 0], [2, 1], h=1 / 2)
    >>> grid.shape, grid.block([0, 0], [1, 1]).tolist()
    ((4, 2), [[True, True], [True, True], [False, False], [False, False]])
    """

    lower: Array
    upper: Array
    h: float
    shape: tuple[int, int]
    closed: tuple[tuple[bool, bool], tuple[bool, bool]]

    def __init__(self, lower: ArrayLike, upper: ArrayLike, h: float, *, closed: Sides = False):
        low, high, side = finite(lower, "lower"), finite(upper, "upper"), float(finite(h, "h"))
        if low.shape != (2,) or high.shape != (2,) or not (low < high).all():
            raise InvalidValue(f"a grid needs two corners (x, y) with lower < upper, not {lower!r} and {upper!r}")
        if side <= 0.0:
            raise InvalidValue(f"h must be positive, not {h!r}")
        count = np.rint((high - low) / side).astype(int)
        if (np.abs(count * side - (high - low)) > ROUND_OFF * side * np.maximum(count, 1)).any() or (count < 1).any():
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
        """x and y of a place in each cell: (1/2, 1/2) is its centre. A face has one place more along its axis."""
        nx, ny = self.shape
        x = self.lower[0] + self.h * (np.arange(nx + (i == 0.0)) + i)
        y = self.lower[1] + self.h * (np.arange(ny + (j == 0.0)) + j)
        return tuple(np.meshgrid(x, y, indexing="ij"))

    def zone(self, inside: Callable[[Array, Array], ArrayLike]) -> Mask:
        """The cells whose centre (x, y) satisfies a condition.

        >>> int(Grid([0, 0], [1, 1], h=1 / 4).zone(lambda x, y: x + y < 1).sum())
        6
        """
        return mask(np.broadcast_to(inside(*self.centres), self.shape))

    def block(self, lower: ArrayLike, upper: ArrayLike) -> Mask:
        """The cells whose centre lies in a rectangle."""
        low, high = finite(lower, "lower"), finite(upper, "upper")
        slack = ROUND_OFF * self.h
        return self.zone(
            lambda x, y: (x > low[0] - slack) & (x < high[0] - slack) & (y > low[1] - slack) & (y < high[1] - slack)
        )

    def disc(self, centre: ArrayLike, radius: float) -> Mask:
        """The cells whose centre lies in a disc.

        >>> int(Grid([-1, -1], [1, 1], h=1 / 2).disc([0, 0], 1.0).sum())
        12
        """
        x0, y0 = finite(centre, "centre")
        return self.zone(lambda x, y: (x - x0) ** 2 + (y - y0) ** 2 < radius**2)

    def polygon(self, points: ArrayLike) -> Mask:
        """The cells whose centre lies in a polygon, given by its corners (even-odd rule).

        >>> int(Grid([0, 0], [1, 1], h=1 / 4).polygon([(0, 0), (1, 0), (0, 1)]).sum())
        6
        """
        corners = finite(points, "points")
        if corners.ndim != 2 or corners.shape[1] != 2 or len(corners) < 3:
            raise InvalidValue(f"a polygon needs at least three corners (x, y), not an array of shape {corners.shape}")
        return self.zone(lambda x, y: inside_polygon(corners, x, y))

    def velocity(self, ux: Component, uy: Component) -> Velocity:
        """A velocity field from two components: numbers, arrays by cell or by face, or functions of (x, y)."""
        return Velocity(self, self._component(ux, 0), self._component(uy, 1))

    def _component(self, value: Component, axis: int) -> Array | Callable[[Array, Array], ArrayLike]:
        if callable(value):
            return value
        field = numbers(finite(numbers(value), "a velocity"))
        if field.ndim == 0:
            return np.full(self.shape, float(field))
        if field.shape not in (self.shape, self.faces(axis)):
            raise InvalidValue(
                f"a velocity along {'xy'[axis]} has one number a cell {self.shape} or a face {self.faces(axis)}, "
                f"not shape {field.shape}"
            )
        return field

    def faces(self, axis: int) -> tuple[int, int]:
        """How many faces across an axis there are."""
        nx, ny = self.shape
        return (nx + 1, ny) if axis == 0 else (nx, ny + 1)

    def walls(self, cells: ArrayLike | None = None) -> Booleans:
        """(nx + 2, ny + 2): is it a wall? The cells of a mask, and around them the sides of the domain."""
        (left, right), (bottom, top) = self.closed
        wall = np.zeros((self.shape[0] + 2, self.shape[1] + 2), dtype=bool)
        wall[0, 1:-1], wall[-1, 1:-1], wall[1:-1, 0], wall[1:-1, -1] = left, right, bottom, top
        if cells is not None:
            wall[1:-1, 1:-1] = self.checked(cells, "walls")
        return wall

    def checked(self, cells: ArrayLike, name: str) -> Booleans:
        """A mask, one boolean a cell."""
        found = plain(cells)
        if found.shape != self.shape:
            raise InvalidValue(f"{name} must be one boolean a cell, {self.shape}, not an array of shape {found.shape}")
        return found

    def cell_of(self, x: ArrayLike, y: ArrayLike) -> tuple[Array, Array]:
        """The numbers (i, j) of the cells in which points lie; those outside are -1 or n."""
        i = np.floor((np.asarray(x, dtype=float) - self.lower[0]) / self.h + ROUND_OFF)
        j = np.floor((np.asarray(y, dtype=float) - self.lower[1]) / self.h + ROUND_OFF)
        return tuple(np.clip(k, -1, n).astype(int) for k, n in zip((i, j), self.shape, strict=True))


@dataclass(frozen=True, eq=False)
class Velocity:
    """A velocity field on a grid, from `grid.velocity`: its components are arrays by cell or face, or functions.

    >>> grid = Grid([0, 0], [2, 1], h=1.0)
    >>> u = grid.velocity(lambda x, y: x, 0)
    >>> u.cells.tolist(), u.faces(0).ravel().tolist()
    ([[[0.5, 0.0]], [[1.5, 0.0]]], [0.0, 1.0, 2.0])
    """

    grid: Grid
    x: Array | Callable[[Array, Array], ArrayLike]
    y: Array | Callable[[Array, Array], ArrayLike]

    @property
    def cells(self) -> Array:
        """(nx, ny, 2): the velocity in the cells, the mean of their faces if it is kept there."""
        return np.stack([self.component(axis) for axis in (0, 1)], axis=-1)

    def component(self, axis: int) -> Array:
        """(nx, ny): the component along an axis in the cells."""
        field = (self.x, self.y)[axis]
        if callable(field):
            return sampled(field, *self.grid.centres)
        if field.shape == self.grid.shape:
            return field
        return 0.5 * (field[1:] + field[:-1]) if axis == 0 else 0.5 * (field[:, 1:] + field[:, :-1])

    def faces(self, axis: int, mass: ArrayLike | None = None) -> Array:
        """The component along an axis on its faces: from cells the mean of the two, by mass if one has any."""
        field = (self.x, self.y)[axis]
        if callable(field):
            return sampled(field, *self.grid.places(*((0.0, 0.5) if axis == 0 else (0.5, 0.0))))
        if field.shape == self.grid.faces(axis):
            return field
        present = np.ones(self.grid.shape)
        m = present if mass is None else numbers(mass)
        total, alone = _beside(m, axis), _beside(present, axis)
        plain_mean = _beside(field, axis) / alone
        return np.divide(_beside(m * field, axis), total, out=plain_mean, where=total > 0.0)

    def at(self, x: ArrayLike, y: ArrayLike) -> Array:
        """(..., 2): the velocity at points: constant in each cell, or linear between two faces; outside, as nearest."""
        X, Y = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
        return np.stack([self._at(axis, X, Y) for axis in (0, 1)], axis=-1)

    def _at(self, axis: int, x: Array, y: Array) -> Array:
        field, grid = (self.x, self.y)[axis], self.grid
        if callable(field):
            return sampled(field, x, y)
        i, j = (np.clip(k, 0, n - 1) for k, n in zip(grid.cell_of(x, y), grid.shape, strict=True))
        if field.shape == grid.shape:
            return np.asarray(field[i, j])
        along = ((x, y)[axis] - grid.lower[axis]) / grid.h - (i, j)[axis]
        part = np.clip(along, 0.0, 1.0)
        after = (i + 1, j) if axis == 0 else (i, j + 1)
        return np.asarray((1.0 - part) * field[i, j] + part * field[after])


def _beside(field: Array, axis: int) -> Array:
    """The sum over the one or two cells beside each face across an axis."""
    padded = np.pad(field, [(1, 1) if k == axis else (0, 0) for k in (0, 1)])
    return padded[:-1] + padded[1:] if axis == 0 else padded[:, :-1] + padded[:, 1:]


def sampled(field: Callable[[Array, Array], ArrayLike], x: Array, y: Array) -> Array:
    """The values of a function at points, finite and of their shape."""
    return finite(np.broadcast_to(np.asarray(field(x, y), dtype=float), x.shape), "a velocity")
