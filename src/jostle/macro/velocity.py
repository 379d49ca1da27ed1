"""Velocity fields on a grid: components in cells, on faces, or as functions of the place.

Each law keeps the velocity where its constraint needs it (Bourdin & Maury 2020). The isotropic law (14) has velocities
on faces and the pressure in cells (the staggered, or MAC, grid). The square law (30)-(31) has velocities in cells and
pressures on faces, as grains have velocities and contacts have impulses.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from jostle.arrays import Array, Integers, finite
from jostle.macro.cells import Cells
from jostle.macro.mask import numbers


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
    cells : array, shape (nx, ny, 2)
        Velocity in the cells.

    Examples
    --------
    >>> from jostle.macro import Grid
    >>> grid = Grid([0, 0], [2, 1], h=1.0)
    >>> u = grid.velocity(lambda x, y: x, 0)
    >>> u.cells.tolist(), u.faces(0).ravel().tolist()
    ([[[0.5, 0.0]], [[1.5, 0.0]]], [0.0, 1.0, 2.0])
    """

    grid: Cells
    x: Array | Callable[[Array, Array], ArrayLike]
    y: Array | Callable[[Array, Array], ArrayLike]

    @property
    def cells(self) -> Array:
        """(nx, ny, 2): the velocity in the cells; a component given on faces is averaged over the two faces."""
        return np.stack([self.component(axis) for axis in (0, 1)], axis=-1)

    def component(self, axis: int) -> Array:
        """Return one component of the velocity in the cells.

        Parameters
        ----------
        axis : int
            0 for the component along x, 1 for the component along y.

        Returns
        -------
        array, shape (nx, ny)
            The component in the cells; of a component given on faces, the mean of the two faces of each cell.
        """
        field = (self.x, self.y)[axis]
        if callable(field):
            return sampled(field, *self.grid.centres)
        if field.shape == self.grid.shape:
            return field
        return 0.5 * (field[1:] + field[:-1]) if axis == 0 else 0.5 * (field[:, 1:] + field[:, :-1])

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
            return sampled(field, *self.grid.places(*((0.0, 0.5) if axis == 0 else (0.5, 0.0))))
        if field.shape == self.grid.faces(axis):
            return field
        present = np.ones(self.grid.shape)
        m = present if mass is None else numbers(mass)
        total, alone = _beside(m, axis), _beside(present, axis)
        plain_mean = _beside(field, axis) / alone
        return np.divide(_beside(m * field, axis), total, out=plain_mean, where=total > 0.0)

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
