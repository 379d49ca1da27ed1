"""The square law: u_x must not decrease along x, nor u_y along y, in the saturated zone.

    u + (d p_x / dx) e_x + (d p_y / dy) e_y = U,   p_x, p_y >= 0        (Bourdin & Maury 2020, (29)-(31))

There are two families of independent problems, with one isotonic regression per saturated run. With velocities in cells
and pressures on faces the result is exact for a U that is constant in each cell, and it equals the microscopic law of
discs in these cells.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from jostle._tools.arguments import Positive, check_arguments
from jostle._tools.arrays import Array
from jostle.convex.polyhedron import Cone
from jostle.macro.grid import Grid, Velocity
from jostle.macro.lattice import SQUARE, Isotonic, Lattice, along_edges, numbered
from jostle.macro.law import Law, Zone, fitting


@check_arguments
@dataclass(frozen=True, eq=False, init=False)
class Square(Law):
    """The impact law of a square lattice of grains along the axes of the grid.

    u_x must not decrease along x, nor u_y along y, in the saturated zone. Of a zone or of walls given by an outline,
    the cells count whose centre lies inside.

    Parameters
    ----------
    grid : Grid
        The grid.
    saturated : array_like of bool, shape (nx, ny), or callable (x, y) -> array
        The saturated zone, in which the density is one: a mask of cells, or an outline that is negative inside.
    walls : array_like of bool, shape (nx, ny), or callable (x, y) -> array, optional
        Walls inside the grid: a mask of cells or an outline. None: only the closed sides of the grid are walls.
    tol : float, default 1e-8
        Relative tolerance of the projection, positive.

    Examples
    --------
    >>> grid = Grid([-1, -1], [1, 1], h=1 / 10)
    >>> after = Square(grid, grid.disc([0, 0], 1.0)).impact(grid.velocity(0, lambda x, y: -y))
    >>> float(np.abs(after.u.cells[grid.disc([0, 0], 1.0)]).max().round(12))
    0.0
    """

    def __init__(self, grid: Grid, saturated: Zone, *, walls: Zone | None = None, tol: Positive = 1e-8):
        self._settle(grid, saturated, walls, tol=tol)

    @cached_property
    def lattice(self) -> Lattice:
        """The saturated cells, as discs of diameter h."""
        grid = self.grid
        return Lattice(grid.h, SQUARE, grid.lower - grid.h / 2.0, numbered(np.pad(self.saturated, 1), self.wall))

    @property
    def cone(self) -> Cone:
        """The admissible velocities: one row per face between two saturated cells, or between one and a wall."""
        return self.lattice.cone

    @property
    def mass(self) -> Array:
        """(n,): the mass h^2 of each saturated cell."""
        return np.full(len(self.lattice), self.grid.h**2)

    def sample(self, velocity: Velocity) -> Array:
        return fitting(velocity, self.grid).cells[self.saturated]

    @property
    def _solver(self) -> Isotonic:
        return Isotonic(lattice=self.lattice, tol=self.tol)

    def _after(self, velocity: Velocity, u: Array) -> Velocity:
        cells = velocity.cells
        cells[self.saturated] = u
        return Velocity(self.grid, cells[..., 0], cells[..., 1])

    def _pressure(self, impulse: Array) -> tuple[Array, Array]:
        fields, cells, ny = [], np.flatnonzero(self.saturated), self.grid.shape[1]
        for axis, (runs, by_edge) in enumerate(along_edges(self.lattice, impulse / self.grid.h)):
            face, step = (cells, ny) if axis == 0 else (cells + cells // ny, 1)  # the face before each cell
            field, ends = np.zeros(self.grid.face_shapes[axis]), runs.starts[1:] - 1
            field.ravel()[face[runs.order]] = by_edge[runs.edges - 1]
            field.ravel()[face[runs.order[ends]] + step] = by_edge[runs.edges[ends]]
            fields.append(field)
        return fields[0], fields[1]
