"""The triangular law: u . e_k must not decrease along e_k, for the three directions of a triangular lattice.

    u + sum_k (d p_k / d e_k) e_k = U,   p_k >= 0,   sum_k int u_k d p_k / d e_k = 0        (Bourdin & Maury 2020, (35))

The velocity lives on a triangular lattice of its own, in any orientation, that fills the saturated cells. u is unique,
the pressures are not (Remark 3).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from jostle.arrays import Array, Booleans
from jostle.convex.polyhedron import Cone
from jostle.macro.grid import Grid, Velocity
from jostle.macro.isotonic import Isotonic
from jostle.macro.lattice import Lattice, triangular_lattice
from jostle.macro.law import Collision, Zone, moreau, settle
from jostle.macro.outline import Outline


@dataclass(frozen=True, eq=False, init=False)
class Triangular:
    """The law of a triangular lattice with e_0 at an angle from the x axis; its spacing is h unless given.

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
        tol: float = 1e-6,
    ):
        apart = grid.h if spacing is None else float(spacing)
        settle(self, grid, saturated, walls, angle=float(angle), spacing=apart, tol=tol)

    @cached_property
    def lattice(self) -> Lattice:
        """The points of the lattice that lie in saturated cells, or within the outline."""
        zone, outline = np.pad(self.saturated, 1), self.outline

        def looked_up(field: Booleans, x: Array, y: Array) -> Booleans:
            i, j = self.grid.cell_of(x, y)
            return np.asarray(field[i + 1, j + 1])

        return triangular_lattice(
            self.spacing,
            box=(self.grid.lower, self.grid.upper),
            zone=lambda x, y: looked_up(zone, x, y) if outline is None else np.asarray(outline(x, y)) < 0.0,
            walls=lambda x, y: looked_up(self.wall, x, y),
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
        return velocity.at(*self.lattice.points.T)

    def impact(self, velocity: Velocity, *, restitution: float = 0.0) -> Collision:
        """u = U - (1 + e) sum_k d p_k / d e_k e_k; in a cell, u is that of the nearest point of the lattice."""
        solver = Isotonic(lattice=self.lattice, tol=self.tol)
        hit, lost = moreau(self.sample(velocity), self, restitution, solver)
        u = velocity.cells
        if len(self.lattice):
            u[self.saturated] = hit.velocity[self._nearest]
        return Collision(Velocity(self.grid, u[..., 0], u[..., 1]), self._pressure(hit.impulse), hit, lost)

    @cached_property
    def _nearest(self) -> Array:
        from scipy.spatial import cKDTree

        centres = np.stack([c[self.saturated] for c in self.grid.centres], axis=1)
        return np.asarray(cKDTree(self.lattice.points).query(centres)[1])

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
