"""A grid of square cells, with zones of saturated cells, their curved outlines, and velocity fields.

Cells are numbered [i, j], i along x and j along y.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from jostle._tools.arguments import Positive, check_arguments, set_fields
from jostle._tools.arrays import Array, Booleans, Integers, finite
from jostle.errors import InvalidValue
from jostle.macro.checks import OfPlaces, holds, point, polygon, truths, within

# Curved free boundaries: where the line between two centres leaves a zone, and zones given by their outline.
#
# A function of (x, y) that is negative inside a zone has the boundary as its zero line. The isotropic law needs only
# the distance theta h between a saturated centre and this line along an axis. The face between them has the mass theta
# h^2, so that the masses of a row add up to the chord of the zone, and p falls to zero over theta h instead of h / 2
# (the symmetric scheme of Gibou, Fedkiw, Cheng & Kang 2002). With this mass, p has order 2 and u order 1.5 on any
# outline; a staircase of cells gives orders 1 and 1/2.


Outline = OfPlaces
"""A function of (x, y), negative inside a zone."""

BISECTION_STEPS = 50
"""Number of bisection steps that locate the boundary of a zone between two centres."""
MIN_DISTANCE = 1e-6
"""Smallest distance of a centre from the boundary of its zone, in cells."""


@check_arguments
@dataclass(frozen=True, eq=False)
class Disc:
    """A disc as an outline: the signed distance from its boundary, negative inside.

    Parameters
    ----------
    centre : array_like, shape (2,)
        Centre (x, y).
    radius : float
        Radius, positive.

    Examples
    --------
    >>> from jostle.macro import Grid, Isotropic
    >>> grid = Grid([-1, -1], [1, 1], h=1 / 8)
    >>> after = Isotropic(grid, Disc([0, 0], 0.9)).impact(grid.velocity(lambda x, y: -x, lambda x, y: -y))
    >>> exact = 0.5 * (0.81 - 2 * (1 / 16) ** 2)                           # (R^2 - r^2) / 2
    >>> round(float(after.pressure[8, 8]), 9) == round(exact, 9)
    True
    """

    centre: ArrayLike
    radius: Positive

    def __post_init__(self) -> None:
        set_fields(self, centre=point(self.centre, "centre"), radius=float(self.radius))

    def __call__(self, x: Array, y: Array) -> Array:
        x0, y0 = np.asarray(self.centre)
        return np.asarray(np.hypot(x - x0, y - y0) - self.radius)


@check_arguments
@dataclass(frozen=True, eq=False)
class Polygon:
    """A polygon as an outline: the signed distance from its boundary, negative inside (even-odd rule).

    Parameters
    ----------
    points : array_like, shape (n, 2)
        Corners (x, y) in order; at least three.

    Examples
    --------
    >>> Polygon([(0, 0), (4, 0), (0, 3)])(np.array([1.0, 4.0]), np.array([1.0, 3.0])).round(12).tolist()
    [-1.0, 2.4]
    """

    points: ArrayLike

    def __post_init__(self) -> None:
        set_fields(self, points=polygon(self.points))

    def __call__(self, x: Array, y: Array) -> Array:
        corners = np.asarray(self.points)
        nearest = np.full(np.shape(x), np.inf)
        for a, b in zip(corners, np.roll(corners, -1, axis=0), strict=True):
            side = b - a
            along = ((x - a[0]) * side[0] + (y - a[1]) * side[1]) / max(float(side @ side), np.finfo(float).tiny)
            part = np.clip(along, 0.0, 1.0)
            nearest = np.minimum(nearest, np.hypot(x - a[0] - part * side[0], y - a[1] - part * side[1]))
        return np.where(inside_polygon(corners, x, y), -nearest, nearest)


def inside_polygon(corners: Array, x: Array, y: Array) -> Booleans:
    """Which points lie in a polygon: those from which a ray crosses the sides an odd number of times."""
    inside = np.zeros(np.shape(x), dtype=bool)
    for (x0, y0), (x1, y1) in zip(corners, np.roll(corners, -1, axis=0), strict=True):
        crosses = (y0 > y) != (y1 > y)
        if y0 != y1:
            inside ^= crosses & (x < x0 + (y - y0) * (x1 - x0) / (y1 - y0))
    return inside


def crossing(outline: Outline, inner: Array, outer: Array) -> Array:
    """(m,): the fraction of the way from inner to outer points (m, 2) where the outline is crossed; NaN if it is not.

    >>> crossing(Disc([0, 0], 1.0), np.array([[0.0, 0.0]]), np.array([[2.0, 0.0]])).round(12).tolist()
    [0.5]
    """

    def outside(points: Array) -> Booleans:
        return ~within(outline, points[:, 0], points[:, 1])

    low, high = np.zeros(len(inner)), np.ones(len(inner))
    for _ in range(BISECTION_STEPS):
        middle = 0.5 * (low + high)
        beyond = outside(inner + middle[:, None] * (outer - inner))
        low, high = np.where(beyond, low, middle), np.where(beyond, middle, high)
    found = np.maximum(0.5 * (low + high), MIN_DISTANCE)
    return np.where(outside(outer) & ~outside(inner), found, np.nan)


# Zones of cells as masks that also take part in arithmetic: `left | right` is a zone, `left - right` a field.


LOGICAL = {
    np.bitwise_and, np.bitwise_or, np.bitwise_xor, np.invert, np.logical_and, np.logical_or, np.logical_not,
    np.logical_xor, np.equal, np.not_equal,
}  # fmt: skip
"""Operations on masks that give a mask; in all others a mask counts as ones and zeros."""


class Mask(np.ndarray[Any, np.dtype[np.bool_]]):
    """A zone of cells: an array of booleans that can also be used in arithmetic.

    `left | right` is the zone of both, `left - right` a field with the values 1, -1 and 0. Masks are made by the
    methods `zone`, `block`, `disc` and `polygon` of a `Grid`.

    Parameters
    ----------
    values : array_like of bool
        One boolean per cell.

    Examples
    --------
    >>> left, right = Mask([True, True, False]), Mask([False, False, True])
    >>> bool((left | right).all()), (left - right).tolist(), (0.5 * left).tolist()
    (True, [1.0, 1.0, -1.0], [0.5, 0.5, 0.0])
    """

    def __new__(cls, values: Any) -> Mask:
        return np.array(values, dtype=bool).view(cls)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        logical = ufunc in LOGICAL or method == "reduce"
        plain = [_plain(value, logical) for value in inputs]
        if "out" in options:
            options["out"] = tuple(_plain(value, True) for value in options["out"])
        result = getattr(ufunc, method)(*plain, **options)
        if logical and isinstance(result, np.ndarray) and result.dtype == bool:
            return result.view(Mask)
        return result


def _plain(value: Any, logical: bool) -> Any:
    if not isinstance(value, Mask):
        return value
    array: Booleans = value.view(np.ndarray)
    return array if logical else array.astype(float)


def numbers(values: Any) -> Array:
    """A field, or a mask, as an ordinary array of floats."""
    return np.array(values, dtype=float, order="C").view(np.ndarray)


# Velocity fields on a grid: components in cells, on faces, or as functions of the place.
#
# Each law keeps the velocity where its constraint needs it (Bourdin & Maury 2020). The isotropic law (14) has
# velocities on faces and the pressure in cells (the staggered, or MAC, grid). The square law (30)-(31) has velocities
# in cells and pressures on faces, as grains have velocities and contacts have impulses.


FACE_MIDDLES = ((0.0, 0.5), (0.5, 0.0))
"""The middle of the face across each axis, in the coordinates of the cell after it."""


def before(axis: int) -> tuple[slice, slice]:
    """All but the last along an axis: the padded cells before each face, or the faces before each cell."""
    return (slice(None, -1), slice(None)) if axis == 0 else (slice(None), slice(None, -1))


def after(axis: int) -> tuple[slice, slice]:
    """All but the first along an axis: the padded cells after each face, or the faces after each cell."""
    return (slice(1, None), slice(None)) if axis == 0 else (slice(None), slice(1, None))


@dataclass(frozen=True, eq=False)
class Velocity:
    """A velocity field on a grid, made by `Grid.velocity`.

    Attributes
    ----------
    grid : Grid
        The grid.
    x : array or callable (x, y) -> array
        Velocity along x: one number per cell or per face across x, or a function of the coordinates.
    y : array or callable (x, y) -> array
        Velocity along y: one number per cell or per face across y, or a function of the coordinates.

    Examples
    --------
    >>> from jostle.macro import Grid
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
        """(nx, ny, 2): the velocity in the cells; a component given on faces is averaged over the two faces."""
        return np.stack([self._in_cells(axis) for axis in (0, 1)], axis=-1)

    def _in_cells(self, axis: int) -> Array:
        """(nx, ny): one component; of a component given on faces, the mean of the two faces of each cell."""
        field = (self.x, self.y)[axis]
        if callable(field):
            return sampled(field, *self.grid.centres)
        if field.shape == self.grid.shape:
            return field
        return 0.5 * (field[after(axis)] + field[before(axis)])

    def faces(self, axis: int, mass: ArrayLike | None = None) -> Array:
        """Return one component of the velocity on the faces across its axis.

        On a face between two cells, a component given in cells is the mean of both, weighted by their masses.

        Parameters
        ----------
        axis : int
            0 for the component along x, 1 for the component along y.
        mass : array_like, shape (nx, ny), optional
            Masses of the cells. None: all cells have the same mass. Faces between two cells without mass take the plain
            mean.

        Returns
        -------
        array, shape (nx + 1, ny) or (nx, ny + 1)
            The component on the faces.
        """
        field = (self.x, self.y)[axis]
        if callable(field):
            return sampled(field, *self.grid.places(*FACE_MIDDLES[axis]))
        if field.shape == self.grid.face_shapes[axis]:
            return field
        present = np.ones(self.grid.shape)
        m = present if mass is None else numbers(mass)
        total, count, values, weighted = (np.add(*beside(each, axis)) for each in (m, present, field, m * field))
        return np.asarray(np.divide(weighted, total, out=values / count, where=total > 0.0))

    def at(self, x: ArrayLike, y: ArrayLike, mass: ArrayLike | None = None) -> Array:
        """Interpolate the velocity at points.

        A component given in cells is constant in each cell, and on an edge it is the mean of the cells beside it,
        weighted by their masses. A component given on faces is linear between the two faces of a cell. Outside the grid
        the value of the nearest cell is used.

        Parameters
        ----------
        x : array_like
            x of the points.
        y : array_like
            y of the points; `x` and `y` are broadcast.
        mass : array_like, shape (nx, ny), optional
            Masses of the cells. None: all cells have the same mass.

        Returns
        -------
        array, shape (..., 2)
            The velocities at the points.

        Examples
        --------
        >>> from jostle.macro import Grid
        >>> grid = Grid([0, 0], [2, 1], h=1.0)
        >>> u = grid.velocity(np.array([[1.0], [3.0]]), 0)
        >>> u.at([0.5, 1.0], [0.5, 0.5])[:, 0].tolist(), u.at(1.0, 0.5, mass=[[0], [1]]).tolist()
        ([1.0, 2.0], [3.0, 0.0])
        """
        X, Y = np.broadcast_arrays(np.asarray(x, dtype=float), np.asarray(y, dtype=float))
        i, j = (np.clip(k, 0, n - 1) for k, n in zip(touched(self.grid, X, Y), self.grid.shape, strict=True))
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
            beyond = field[(i + 1, j) if axis == 0 else (i, j + 1)]
            values = values + np.clip(along, 0.0, 1.0) * (beyond - values)
        return np.asarray((weights * values).sum(axis=0) / weights.sum(axis=0))


def between_zeros(field: Any, axis: int, width: int = 1) -> Any:
    """A field with `width` zeros before and after it along an axis: np.pad takes several times as long."""
    n, m = field.shape
    shape, inside = ((n + 2 * width, m), slice(width, n + width)) if axis == 0 else ((n, m + 2 * width), slice(None))
    found = np.zeros(shape, dtype=field.dtype, order="F" if field.flags.fnc else "C")
    found[inside, slice(None) if axis == 0 else slice(width, m + width)] = field
    return found


def beside(field: Any, axis: int, ends: Sequence[Any] = (0, 0)) -> tuple[Any, Any]:
    """The cells before and after each face across an axis; `ends` are the values beyond the first and last cells."""
    around = between_zeros(field, axis)
    along = np.moveaxis(around, axis, 0)  # a view
    along[0], along[-1] = ends
    return around[before(axis)], around[after(axis)]


def sampled(field: Callable[[Array, Array], ArrayLike], x: Array, y: Array) -> Array:
    """The values of a function at points, finite and of their shape."""
    return finite(np.broadcast_to(np.asarray(field(x, y), dtype=float), x.shape), "a velocity")


# Square cells that fill a rectangle, and the walls at its sides.


Sides = bool | tuple[tuple[bool, bool], tuple[bool, bool]]
"""Which sides of the domain are walls: all, none, or ((left, right), (bottom, top))."""
Component = float | ArrayLike | Callable[[Array, Array], ArrayLike]
"""One component of a velocity: a number, one number per cell or per face, or a function of (x, y)."""
CELL_TOLERANCE = 1e-9
"""Lengths are compared up to this fraction of a cell."""


@check_arguments
@dataclass(frozen=True, eq=False, init=False)
class Grid:
    """A grid of square cells that fills a rectangle.

    Cells are numbered [i, j], i along x and j along y.

    Parameters
    ----------
    lower : array_like, shape (2,)
        Lower left corner (x, y) of the rectangle.
    upper : array_like, shape (2,)
        Upper right corner (x, y); both coordinates exceed those of `lower`.
    h : float
        Side of a cell, positive; it divides both sides of the rectangle.
    closed : bool or ((left, right), (bottom, top)), default False
        Which sides of the rectangle are walls: all, none, or one boolean per side. Sides that are not walls are open.

    Attributes
    ----------
    shape : tuple of int
        Number of cells (nx, ny) along x and along y.

    Examples
    --------
    >>> grid = Grid([0, 0], [2, 1], h=1 / 2)
    >>> grid.shape, grid.block([0, 0], [1, 1]).tolist()
    ((4, 2), [[True, True], [True, True], [False, False], [False, False]])
    """

    lower: Array
    upper: Array
    h: float
    shape: tuple[int, int]
    closed: tuple[tuple[bool, bool], tuple[bool, bool]]

    def __init__(self, lower: ArrayLike, upper: ArrayLike, h: Positive, *, closed: Sides = False):
        low, high, side = point(lower, "lower"), point(upper, "upper"), float(h)
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
        walls = tuple(tuple(bool(end) for end in axis) for axis in sides)
        set_fields(self, lower=low, upper=high, h=side, shape=(int(count[0]), int(count[1])), closed=walls)

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

    @property
    def face_shapes(self) -> tuple[tuple[int, int], tuple[int, int]]:
        """Shapes of arrays with one number per face: (nx + 1, ny) across x, (nx, ny + 1) across y."""
        nx, ny = self.shape
        return (nx + 1, ny), (nx, ny + 1)

    def zone(self, inside: Callable[[Array, Array], ArrayLike]) -> Mask:
        """Select the cells whose centre satisfies a condition.

        Parameters
        ----------
        inside : callable (x, y) -> array of bool
            The condition; x and y are arrays of shape (nx, ny).

        Returns
        -------
        Mask
            True for the cells that satisfy the condition.

        Examples
        --------
        >>> int(Grid([0, 0], [1, 1], h=1 / 4).zone(lambda x, y: x + y < 1).sum())
        6
        """
        return Mask(holds(inside, *self.centres))

    def block(self, lower: ArrayLike, upper: ArrayLike) -> Mask:
        """Select the cells whose centre lies in a rectangle; what lies outside the grid is left out.

        Parameters
        ----------
        lower : array_like, shape (2,)
            Lower left corner of the rectangle.
        upper : array_like, shape (2,)
            Upper right corner of the rectangle.

        Returns
        -------
        Mask
            True for the cells of the rectangle.

        Examples
        --------
        >>> int(Grid([0, 0], [1, 1], h=1 / 4).block([0, 0], [1, 0.5]).sum())
        8
        """
        low, high = point(lower, "lower"), point(upper, "upper")
        slack = CELL_TOLERANCE * self.h
        found = self.zone(
            lambda x, y: (x > low[0] - slack) & (x < high[0] - slack) & (y > low[1] - slack) & (y < high[1] - slack)
        )
        return self._some(found, f"the block from {low.tolist()} to {high.tolist()}")

    def disc(self, centre: ArrayLike, radius: float) -> Mask:
        """Select the cells whose centre lies in a disc; what lies outside the grid is left out.

        Parameters
        ----------
        centre : array_like, shape (2,)
            Centre of the disc.
        radius : float
            Radius of the disc, positive.

        Returns
        -------
        Mask
            True for the cells of the disc.

        Examples
        --------
        >>> int(Grid([-1, -1], [1, 1], h=1 / 2).disc([0, 0], 1.0).sum())
        12
        """
        disc = Disc(centre, radius)
        found = self.zone(lambda x, y: disc(x, y) < 0.0)
        return self._some(found, f"the disc with centre {np.asarray(centre).tolist()} and radius {radius:g}")

    def polygon(self, points: ArrayLike) -> Mask:
        """Select the cells whose centre lies in a polygon (even-odd rule); what lies outside the grid is left out.

        Parameters
        ----------
        points : array_like, shape (n, 2)
            Corners of the polygon, in order; at least three.

        Returns
        -------
        Mask
            True for the cells of the polygon.

        Examples
        --------
        >>> int(Grid([0, 0], [1, 1], h=1 / 4).polygon([(0, 0), (1, 0), (0, 1)]).sum())
        6
        """
        corners = polygon(points)
        found = self.zone(lambda x, y: inside_polygon(corners, x, y))
        return self._some(found, f"the polygon with corners {corners.tolist()}")

    def _some(self, zone: Mask, what: str) -> Mask:
        """A zone that is not empty."""
        if not zone.any():
            raise InvalidValue(
                f"{what} contains no centre of a cell: the grid reaches from {self.lower.tolist()} to "
                f"{self.upper.tolist()}, and its cells are {self.h:g} wide. Make it larger, or the cells smaller"
            )
        return zone

    def velocity(self, ux: Component, uy: Component) -> Velocity:
        """Make a velocity field from its two components.

        Parameters
        ----------
        ux : float, array_like or callable (x, y) -> array
            Velocity along x: one number, one number per cell (nx, ny) or per face across x (nx + 1, ny), or a function
            of the coordinates.
        uy : float, array_like or callable (x, y) -> array
            Velocity along y: one number, one number per cell (nx, ny) or per face across y (nx, ny + 1), or a function
            of the coordinates.

        Returns
        -------
        Velocity
            The velocity field on this grid.

        Examples
        --------
        >>> grid = Grid([0, 0], [2, 1], h=1.0)
        >>> grid.velocity(1.0, lambda x, y: x).cells[:, 0].tolist()
        [[1.0, 0.5], [1.0, 1.5]]
        """
        return Velocity(self, self._component(ux, 0), self._component(uy, 1))

    def _component(self, value: Component, axis: int) -> Array | Callable[[Array, Array], ArrayLike]:
        if callable(value):
            return value
        field = numbers(finite(numbers(value), "a velocity"))
        if field.ndim == 0:
            return np.full(self.shape, float(field))
        if field.shape not in (self.shape, self.face_shapes[axis]):
            raise InvalidValue(
                f"a velocity along {'xy'[axis]} must have one number per cell {self.shape} or per face "
                f"{self.face_shapes[axis]}, not shape {field.shape}"
            )
        return field


# Masks, walls and points on a grid.


def mask_of(grid: Grid, cells: ArrayLike, name: str) -> Booleans:
    """(nx, ny): a mask as an ordinary array, if it has one boolean per cell; `name` is that in the error message."""
    found = truths(cells, name)
    if found.shape != grid.shape:
        raise InvalidValue(f"{name} must be one boolean per cell, {grid.shape}, not an array of shape {found.shape}")
    return found


def walls_around(grid: Grid, cells: ArrayLike | None = None) -> Booleans:
    """(nx + 2, ny + 2): where there are walls, on a grid extended by one cell on each side.

    The outermost entries are the sides of the domain; a corner is a wall if one of its two sides is. `cells` are the
    walls inside.
    """
    (left, right), (bottom, top) = grid.closed
    wall = np.zeros((grid.shape[0] + 2, grid.shape[1] + 2), dtype=bool)
    wall[0], wall[-1] = left, right
    wall[:, 0] |= bottom
    wall[:, -1] |= top
    if cells is not None:
        wall[1:-1, 1:-1] = mask_of(grid, cells, "walls")
    return wall


def touched(grid: Grid, x: ArrayLike, y: ArrayLike) -> tuple[Integers, Integers]:
    """(4, ...) each: the cells [i, j] that contain points; -1 or nx (ny) outside the grid.

    A point on an edge belongs to two cells, a point on a corner to four. The first index runs over the four
    combinations (left, below), (left, above), (right, below), (right, above); inside a cell all four are the same.

    >>> touched(Grid([0, 0], [2, 1], h=1.0), 1.0, 0.5)[0].tolist()
    [0, 0, 1, 1]
    """
    around = []
    for place, low, n in zip((x, y), grid.lower, grid.shape, strict=True):
        cells = (np.asarray(place, dtype=float) - low) / grid.h
        shifted = (cells - CELL_TOLERANCE, cells + CELL_TOLERANCE)
        around.append([np.clip(np.floor(each), -1, n).astype(np.int64) for each in shifted])
    (left, right), (lower, upper) = around
    return np.stack([left, left, right, right]), np.stack([lower, upper, lower, upper])
