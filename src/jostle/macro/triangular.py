"""The triangular law: u . e_k must not decrease along e_k, for the three directions of a triangular lattice.

    u + sum_k (d p_k / d e_k) e_k = U,   p_k >= 0,   sum_k int u_k d p_k / d e_k = 0        (Bourdin & Maury 2020, (35))

The velocity lives on a triangular lattice of its own, in any orientation, that fills the saturated cells: a point on
the edge of one is in it, and one on the edge of a wall is wall, so that left and right are alike. u is unique, the
pressures are not (Remark 3).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from jostle.arguments import Positive, check_arguments
from jostle.arrays import Array, Booleans, Integers, finite
from jostle.convex.polyhedron import Cone
from jostle.macro.checks import positive, within
from jostle.macro.grid import CELL_TOLERANCE, Grid, Velocity
from jostle.macro.isotonic import Isotonic
from jostle.macro.lattice import Lattice, triangular_lattice
from jostle.macro.law import Collision, Zone, cells, fitting, moreau, settle
from jostle.macro.outline import Outline

MAX_NEAREST = 6
"""Largest number of lattice points at the same distance from a place: those around a hexagon without its middle."""


@check_arguments
@dataclass(frozen=True, eq=False, init=False)
class Triangular:
    """The law of a triangular lattice with e_0 at an angle from the x axis; its spacing is h unless given.

    Outlines of the zone and of walls are looked at from the points of the lattice; masks, from the cells that these
    touch.

    >>> grid = Grid([-1, -1], [1, 1], h=1 / 6)
    >>> law = Triangular(grid, grid.disc([0, 0], 1.0))
    >>> after = law.impact(grid.velocity(0, lambda x, y: -y))
    >>> x, y = law.lattice.points.T
    >>> bool(abs(after.hit.velocity - np.stack([0.3 * x, -0.1 * y], axis=1)).max() < 0.1)
    True
    """

    grid: Grid
    saturated: Booleans
    outline: Outline | None
    wall: Booleans
    barrier: Outline | None
    zone: Booleans
    """The saturated cells, and those behind an outlined wall."""
    angle: float
    spacing: float
    tol: float

    def __init__(
        self,
        grid: Grid,
        saturated: Zone,
        *,
        walls: Zone | None = None,
        angle: float = 0.0,
        spacing: float | None = None,
        tol: Positive = 1e-6,
    ):
        settle(
            self,
            grid,
            saturated,
            walls,
            barrier=walls if callable(walls) else None,
            zone=cells(grid, saturated, "saturated"),
            angle=float(finite(angle, "angle")),
            spacing=grid.h if spacing is None else positive(spacing, "spacing"),
            tol=tol,
        )

    @cached_property
    def lattice(self) -> Lattice:
        """The points of the lattice that lie in saturated cells, or within the outline."""
        grid, outline, barrier = self.grid, self.outline, self.barrier

        def touches(field: Booleans, x: Array, y: Array) -> Booleans:
            i, j = grid.touched(x, y)
            return np.asarray(field[i + 1, j + 1].any(axis=0))

        def zone(x: Array, y: Array) -> Booleans:
            return touches(np.pad(self.zone, 1), x, y) if outline is None else within(outline, x, y)

        def walls(x: Array, y: Array) -> Booleans:
            if barrier is None:
                return touches(self.wall, x, y)
            domain = np.pad(np.ones(grid.shape, dtype=bool), 1)
            return touches(grid.walls(), x, y) | (touches(domain, x, y) & within(barrier, x, y))

        return triangular_lattice(
            self.spacing,
            box=(self.grid.lower, self.grid.upper),
            zone=zone,
            walls=walls,
            angle=self.angle,
        )

    @property
    def cone(self) -> Cone:
        """One row per pair of neighbours, or per neighbour in a wall."""
        return self.lattice.cone

    @property
    def mass(self) -> Array:
        """(n,): the area of a hexagon each."""
        return np.full(len(self.lattice), self.lattice.area)

    def sample(self, velocity: Velocity) -> Array:
        """(n, 2): the velocities at the points of the lattice."""
        x, y = self.lattice.points.T
        return fitting(velocity, self.grid).at(x, y, mass=self.zone)

    def impact(self, velocity: Velocity, *, restitution: float = 0.0) -> Collision:
        """u = U - (1 + e) sum_k d p_k / d e_k e_k; in a cell, u is that of the nearest points of the lattice."""
        solver = Isotonic(lattice=self.lattice, tol=self.tol)
        hit, lost = moreau(self.sample(velocity), self, restitution, solver)
        u = velocity.cells
        if len(self.lattice):
            number, weight = self._nearest
            u[self.saturated] = np.einsum("ck,cka->ca", weight, hit.velocity[number])
        return Collision(Velocity(self.grid, u[..., 0], u[..., 1]), self._pressure(hit.impulse), hit, lost)

    @cached_property
    def _nearest(self) -> tuple[Integers, Array]:
        """For each saturated cell the points that are nearest to its centre, and their weights: equals count alike."""
        from scipy.spatial import cKDTree

        centres = np.stack([c[self.saturated] for c in self.grid.centres], axis=1)
        count = min(MAX_NEAREST, len(self.lattice))
        distance, number = cKDTree(self.lattice.points).query(centres, k=np.arange(1, count + 1))
        nearest = distance <= distance[:, :1] + CELL_TOLERANCE * self.spacing
        return number, nearest / nearest.sum(axis=1, keepdims=True)

    def _pressure(self, impulse: Array) -> tuple[Array, ...]:
        """The means of the two contacts of each point in each direction, as densities."""
        fields, first = [], 0
        for runs in self.lattice.runs:
            by_edge = np.zeros(len(runs.inner))
            by_edge[runs.closed] = impulse[first : first + int(runs.closed.sum())]
            first += int(runs.closed.sum())
            field = np.zeros(len(self.lattice))
            field[runs.order] = 0.5 * (by_edge[runs.edges - 1] + by_edge[runs.edges])
            fields.append(field * self.lattice.spacing / self.lattice.area)
        return tuple(fields)
