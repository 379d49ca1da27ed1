"""A grid of square cells, with zones of saturated cells and velocity fields.

Cells are numbered [i, j], i along x and j along y.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from jostle.arguments import check_arguments
from jostle.arrays import Array, finite
from jostle.errors import InvalidValue
from jostle.macro.cells import CELL_TOLERANCE, Cells
from jostle.macro.checks import holds, point, polygon
from jostle.macro.mask import Mask, numbers
from jostle.macro.outline import Disc, inside_polygon
from jostle.macro.velocity import Velocity

Component = float | ArrayLike | Callable[[Array, Array], ArrayLike]
"""One component of a velocity: a number, one number per cell or per face, or a function of (x, y)."""


@check_arguments
@dataclass(frozen=True, eq=False, init=False)
class Grid(Cells):
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
    centres : tuple of array, each (nx, ny)
        x and y of the centres of the cells.

    Raises
    ------
    InvalidValue
        If `lower` is not below `upper`, h is not positive, or cells of side h do not fill the rectangle.

    Examples
    --------
    >>> grid = Grid([0, 0], [2, 1], h=1 / 2)
    >>> grid.shape, grid.block([0, 0], [1, 1]).tolist()
    ((4, 2), [[True, True], [True, True], [False, False], [False, False]])
    """

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

        Raises
        ------
        InvalidValue
            If `inside` does not return booleans.

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

        Raises
        ------
        InvalidValue
            If no centre of a cell lies in the rectangle.

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

        Raises
        ------
        InvalidValue
            If no centre of a cell lies in the disc.

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

        Raises
        ------
        InvalidValue
            If no centre of a cell lies in the polygon.

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

        Raises
        ------
        InvalidValue
            If an array has neither one number per cell nor one per face.
        NotFinite
            If an array contains nan or infinity.

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
        if field.shape not in (self.shape, self.faces(axis)):
            raise InvalidValue(
                f"a velocity along {'xy'[axis]} must have one number per cell {self.shape} or per face "
                f"{self.faces(axis)}, not shape {field.shape}"
            )
        return field
