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

from jostle.arguments import check_arguments
from jostle.arrays import Array, Booleans, Integers, finite
from jostle.errors import InvalidValue
from jostle.macro.checks import holds, point, polygon, positive, truths
from jostle.macro.mask import Mask, mask, numbers
from jostle.macro.outline import Disc, inside_polygon

Component = float | ArrayLike | Callable[[Array, Array], ArrayLike]
"""One component of a velocity: a number, one number a cell or a face, or a function of (x, y)."""
Sides = bool | tuple[tuple[bool, bool], tuple[bool, bool]]
"""Which sides of the domain are walls: all, none, or ((left, right), (bottom, top))."""

CELL_TOLERANCE = 1e-9
"""Lengths are compared up to this fraction of a cell."""


@check_arguments
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
        return mask(holds(inside, *self.centres))

    def block(self, lower: ArrayLike, upper: ArrayLike) -> Mask:
        """The cells whose centre lies in a rectangle."""
        low, high = point(lower, "lower"), point(upper, "upper")
        slack = CELL_TOLERANCE * self.h
        return self.zone(
            lambda x, y: (x > low[0] - slack) & (x < high[0] - slack) & (y > low[1] - slack) & (y < high[1] - slack)
        )

    def disc(self, centre: ArrayLike, radius: float) -> Mask:
        """The cells whose centre lies in a disc.

        >>> int(Grid([-1, -1], [1, 1], h=1 / 2).disc([0, 0], 1.0).sum())
        12
        """
        disc = Disc(centre, radius)
        return self.zone(lambda x, y: disc(x, y) < 0.0)

    def polygon(self, points: ArrayLike) -> Mask:
        """The cells whose centre lies in a polygon, given by its corners (even-odd rule).

        >>> int(Grid([0, 0], [1, 1], h=1 / 4).polygon([(0, 0), (1, 0), (0, 1)]).sum())
        6
        """
        corners = polygon(points)
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
        """(nx + 2, ny + 2): is it a wall? The cells of a mask, and around them the sides of the domain.

        A corner is a wall if one of its sides is.
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
        """A mask, one boolean a cell."""
        found = truths(cells, name)
        if found.shape != self.shape:
            raise InvalidValue(f"{name} must be one boolean a cell, {self.shape}, not an array of shape {found.shape}")
        return found

    def touched(self, x: ArrayLike, y: ArrayLike) -> tuple[Integers, Integers]:
        """(4, ...): the numbers i and j of the cells around points; those outside are -1 or n.

        A point on an edge touches two cells, one at a corner four: none comes first. Else all four are the same.

        >>> Grid([0, 0], [2, 1], h=1.0).touched(1.0, 0.5)[0].tolist()
        [0, 0, 1, 1]
        """
        around = []
        for place, low, n in zip((x, y), self.lower, self.shape, strict=True):
            cells = (np.asarray(place, dtype=float) - low) / self.h
            shifted = (cells - CELL_TOLERANCE, cells + CELL_TOLERANCE)
            around.append([np.clip(np.floor(each), -1, n).astype(np.int64) for each in shifted])
        (left, right), (lower, upper) = around
        return np.stack([left, left, right, right]), np.stack([lower, upper, lower, upper])


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

    def at(self, x: ArrayLike, y: ArrayLike, mass: ArrayLike | None = None) -> Array:
        """(..., 2): the velocity at points: constant in each cell, or linear between two faces; outside, as nearest.

        On an edge it is the mean of the cells beside it, by mass if one has any.

        >>> grid = Grid([0, 0], [2, 1], h=1.0)
        >>> u = grid.velocity(np.array([[1.0], [3.0]]), 0)
        >>> u.at([0.5, 1.0], [0.5, 0.5])[:, 0].tolist(), u.at(1.0, 0.5, mass=[[0], [1]]).tolist()
        ([1.0, 2.0], [3.0, 0.0])
        """
        X, Y = np.broadcast_arrays(np.asarray(x, dtype=float), np.asarray(y, dtype=float))
        i, j = (np.clip(k, 0, n - 1) for k, n in zip(self.grid.touched(X, Y), self.grid.shape, strict=True))
        weights = np.ones(i.shape) if mass is None else numbers(mass)[i, j]
        weights = np.where(weights.sum(axis=0) > 0.0, weights, 1.0)
        return np.stack([self._at(axis, X, Y, i, j, weights) for axis in (0, 1)], axis=-1)

    def _at(self, axis: int, x: Array, y: Array, i: Integers, j: Integers, weights: Array) -> Array:
        field, grid = (self.x, self.y)[axis], self.grid
        if callable(field):
            return sampled(field, x, y)
        values = field[i, j]
        if field.shape != grid.shape:
            along = ((x, y)[axis] - grid.lower[axis]) / grid.h - (i, j)[axis]
            after = field[(i + 1, j) if axis == 0 else (i, j + 1)]
            values = values + np.clip(along, 0.0, 1.0) * (after - values)
        return np.asarray((weights * values).sum(axis=0) / weights.sum(axis=0))


def _beside(field: Array, axis: int) -> Array:
    """The sum over the one or two cells beside each face across an axis."""
    padded = np.pad(field, [(1, 1) if k == axis else (0, 0) for k in (0, 1)])
    return padded[:-1] + padded[1:] if axis == 0 else padded[:, :-1] + padded[:, 1:]


def sampled(field: Callable[[Array, Array], ArrayLike], x: Array, y: Array) -> Array:
    """The values of a function at points, finite and of their shape."""
    return finite(np.broadcast_to(np.asarray(field(x, y), dtype=float), x.shape), "a velocity")
