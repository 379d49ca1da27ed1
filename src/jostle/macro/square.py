"""The square law: u_x must not decrease along x, nor u_y along y, in the saturated zone.

    u + (d p_x / dx) e_x + (d p_y / dy) e_y = U,   p_x, p_y >= 0        (Bourdin & Maury 2020, (29)-(31))

Two families of independent problems, one isotonic regression a saturated run each. With velocities in cells and
pressures on faces the answer is exact for a U that is constant in each cell, and it is the microscopic law of discs
in these cells.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from jostle.arrays import Array, Booleans
from jostle.convex.polyhedron import Cone
from jostle.macro.grid import Grid, Velocity
from jostle.macro.isotonic import Isotonic
from jostle.macro.lattice import SQUARE, Lattice, numbered
from jostle.macro.law import Collision, moreau, settle


@dataclass(frozen=True, eq=False, init=False)
class Square:
    """The law of a square lattice along the axes of the grid; walls: a mask of cells that are walls.

    >>> grid = Grid([-1, -1], [1, 1], h=1 / 10)
    >>> after = Square(grid, grid.disc([0, 0], 1.0)).impact(grid.velocity(0, lambda x, y: -y))
    >>> float(np.abs(after.u.cells[grid.disc([0, 0], 1.0)]).max().round(12))
    0.0
    """

    grid: Grid
    saturated: Booleans
    wall: Booleans
    tol: float

    def __init__(self, grid: Grid, saturated: ArrayLike, *, walls: ArrayLike | None = None, tol: float = 1e-8):
        settle(self, grid, saturated, walls, tol=tol)

    @cached_property
    def lattice(self) -> Lattice:
        """The saturated cells, as discs of diameter h."""
        grid = self.grid
        return Lattice(grid.h, SQUARE, grid.lower - grid.h / 2.0, numbered(np.pad(self.saturated, 1), self.wall))

    @property
    def cone(self) -> Cone:
        """One row per face between two saturated cells, or between one and a wall."""
        return self.lattice.cone

    @property
    def mass(self) -> Array:
        """(n,): h^2 each."""
        return np.full(len(self.lattice), self.grid.h**2)

    def sample(self, velocity: Velocity) -> Array:
        """(n, 2): the velocities in the saturated cells."""
        return velocity.cells[self.saturated]

    def impact(self, velocity: Velocity, *, restitution: float = 0.0) -> Collision:
        """u_k = U_k - (1 + e) d p_k / d e_k."""
        hit, lost = moreau(self.sample(velocity), self, restitution, Isotonic(lattice=self.lattice, tol=self.tol))
        u = velocity.cells
        u[self.saturated] = hit.velocity
        return Collision(Velocity(self.grid, u[..., 0], u[..., 1]), self._pressure(hit.impulse), hit, lost)

    def _pressure(self, impulse: Array) -> tuple[Array, Array]:
        """The impulses over h, on faces."""
        fields, first = [], 0
        for axis, runs in enumerate(self.lattice.runs):
            by_edge = np.zeros(len(runs.inner))
            by_edge[runs.closed] = impulse[first : first + int(runs.closed.sum())]
            first += int(runs.closed.sum())
            i, j = self.lattice.place[runs.order].T - 1
            field = np.zeros(self.grid.faces(axis))
            field[i, j] = by_edge[runs.edges - 1]
            field[(i + 1, j) if axis == 0 else (i, j + 1)] = by_edge[runs.edges]
            fields.append(field / self.grid.h)
        return fields[0], fields[1]
