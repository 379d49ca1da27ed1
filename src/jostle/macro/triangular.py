"""The triangular law: u . e_k must not decrease along e_k, for the three directions of a triangular lattice.

    u + sum_k (d p_k / d e_k) e_k = U,   p_k >= 0,   sum_k int u_k d p_k / d e_k = 0        (Bourdin & Maury 2020, (35))

The velocity is defined on a separate triangular lattice, in any orientation, that fills the saturated cells. A point on
the edge of a saturated cell belongs to it, and a point on the edge of a wall belongs to the wall, so that mirror images
give mirror images. u is unique, the pressures are not (Remark 3).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from jostle._tools.arguments import Finite, Positive, check_arguments
from jostle._tools.arrays import Array, Booleans, Integers
from jostle.convex.polyhedron import Cone
from jostle.macro.checks import within
from jostle.macro.grid import CELL_TOLERANCE, Grid, Outline, Velocity, touched, walls_around
from jostle.macro.lattice import Isotonic, Lattice, along_edges, triangular_lattice
from jostle.macro.law import Law, Zone, cells, fitting, outline_of

MAX_NEAREST = 6
"""Largest number of lattice points at the same distance from a point: the corners of a hexagon."""


@check_arguments
@dataclass(frozen=True, eq=False, init=False)
class Triangular(Law):
    """The impact law of a triangular lattice of grains.

    u . e_k must not decrease along e_k, for the three directions of the lattice. A zone or walls given by an outline
    are evaluated at the points of the lattice; masks, in the cells that contain these points.

    **Walls are rough.** A wall, also a closed side of the grid, consists of fixed grains on the points of the same
    lattice. They push along e_k and not along the normal of the wall, so they take momentum along the wall too: grains
    that slide with (1, 0) on a floor along e_0 climb over its grains with (3/4, sqrt(3)/4), and a channel filled with
    grains is stopped by its sides. `Square` and `Isotropic` have smooth walls.

    Parameters
    ----------
    grid : Grid
        The grid.
    saturated : array_like of bool, shape (nx, ny), or callable (x, y) -> array
        The saturated zone, in which the density is one: a mask of cells, or an outline that is negative inside.
    walls : array_like of bool, shape (nx, ny), or callable (x, y) -> array, optional
        Walls inside the grid: a mask of cells or an outline. None: only the closed sides of the grid are walls.
    angle : float, default 0.0
        Angle of the direction e_0 with the x axis, in radians.
    spacing : float, optional
        Distance of neighbouring lattice points, positive. None: the side h of a cell.
    tol : float, default 1e-6
        Relative tolerance of the projection, positive.

    Attributes
    ----------
    zone : array of bool, shape (nx, ny)
        The saturated cells, including those behind an outlined wall.

    Examples
    --------
    >>> grid = Grid([-1, -1], [1, 1], h=1 / 6)
    >>> law = Triangular(grid, grid.disc([0, 0], 1.0))
    >>> after = law.impact(grid.velocity(0, lambda x, y: -y))
    >>> x, y = law.lattice.points.T
    >>> bool(abs(after.hit.velocity - np.stack([0.3 * x, -0.1 * y], axis=1)).max() < 0.1)
    True
    """

    outline: Outline | None
    barrier: Outline | None
    zone: Booleans
    angle: float
    spacing: float

    def __init__(
        self,
        grid: Grid,
        saturated: Zone,
        *,
        walls: Zone | None = None,
        angle: Finite = 0.0,
        spacing: Positive | None = None,
        tol: Positive = 1e-6,
    ):
        self._settle(
            grid,
            saturated,
            walls,
            outline=outline_of(saturated),
            barrier=outline_of(walls),
            zone=cells(grid, saturated, "saturated"),
            angle=float(angle),
            spacing=grid.h if spacing is None else float(spacing),
            tol=tol,
        )

    @cached_property
    def lattice(self) -> Lattice:
        """The lattice points that lie in saturated cells, or within the outline."""
        grid, outline, barrier = self.grid, self.outline, self.barrier

        def touches(field: Booleans, x: Array, y: Array) -> Booleans:
            i, j = touched(grid, x, y)
            return np.asarray(field[i + 1, j + 1].any(axis=0))

        def zone(x: Array, y: Array) -> Booleans:
            return touches(np.pad(self.zone, 1), x, y) if outline is None else within(outline, x, y)

        def walls(x: Array, y: Array) -> Booleans:
            if barrier is None:
                return touches(self.wall, x, y)
            domain = np.pad(np.ones(grid.shape, dtype=bool), 1)
            return touches(walls_around(grid), x, y) | (touches(domain, x, y) & within(barrier, x, y))

        return triangular_lattice(
            self.spacing, box=(self.grid.lower, self.grid.upper), zone=zone, walls=walls, angle=self.angle
        )

    @property
    def cone(self) -> Cone:
        """The admissible velocities: one row per pair of neighbours, and per neighbour in a wall."""
        return self.lattice.cone

    @property
    def mass(self) -> Array:
        """(n,): the mass of each lattice point, the area of a hexagon."""
        return np.full(len(self.lattice), self.lattice.area)

    def sample(self, velocity: Velocity) -> Array:
        x, y = self.lattice.points.T
        return fitting(velocity, self.grid).at(x, y, mass=self.zone)

    @property
    def _solver(self) -> Isotonic:
        return Isotonic(lattice=self.lattice, tol=self.tol)

    def _after(self, velocity: Velocity, u: Array) -> Velocity:
        # In a cell, u is the mean over the lattice points that are nearest to its centre.
        cells = velocity.cells
        if len(self.lattice):
            number, weight = self._nearest
            cells[self.saturated] = np.einsum("ck,cka->ca", weight, u[number])
        return Velocity(self.grid, cells[..., 0], cells[..., 1])

    @cached_property
    def _nearest(self) -> tuple[Integers, Array]:
        """The lattice points nearest to the centre of each saturated cell, with equal weights at equal distances."""
        from scipy.spatial import cKDTree

        centres = np.stack([c[self.saturated] for c in self.grid.centres], axis=1)
        count = min(MAX_NEAREST, len(self.lattice))
        distance, number = cKDTree(self.lattice.points).query(centres, k=np.arange(1, count + 1))
        nearest = distance <= distance[:, :1] + CELL_TOLERANCE * self.spacing
        return number, nearest / nearest.sum(axis=1, keepdims=True)

    def _pressure(self, impulse: Array) -> tuple[Array, ...]:
        """The mean impulses of the two contacts of each point in each direction, as densities."""
        fields = []
        for runs, by_edge in along_edges(self.lattice, impulse):
            field = np.zeros(len(self.lattice))
            field[runs.order] = 0.5 * (by_edge[runs.edges - 1] + by_edge[runs.edges])
            fields.append(field * self.lattice.spacing / self.lattice.area)
        return tuple(fields)
