"""The isotropic law: u is the projection of U on the fields with div u >= 0 in the saturated zone.

    u + grad p = U,   div u >= 0,   p >= 0,   p div u = 0        (Bourdin & Maury 2020, (14))

On a staggered grid, p is in saturated cells and u on faces. The mass of a face is half the number of its saturated
cells, so that p = 0 holds on the free boundary (for curved ones see `grid`). At a wall u . n = 0. Then A, minus the
Laplacian, is an M-matrix, and

    p >= 0,   A p - b >= 0,   p (A p - b) = 0,   b = -div U.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from jostle._tools.arguments import Positive, check_arguments
from jostle._tools.arrays import Array, Booleans, Integers
from jostle.convex.polyhedron import Cone
from jostle.macro.checks import within
from jostle.macro.grid import (
    FACE_MIDDLES,
    MIN_DISTANCE,
    Grid,
    Outline,
    Velocity,
    after,
    before,
    beside,
    crossing,
    sampled,
)
from jostle.macro.law import Law, Zone, fitting, outline_of
from jostle.macro.obstacle import FivePoint, PrimalDualActiveSet

# The faces of a staggered grid: which of them move, their masses, open widths and positions.
#
#     mass   of a face over h^2: half the number of its saturated cells, so that p = 0 holds on the free boundary
#     width  over h: 1, or 0 at a wall
#
# On a curved free boundary the mass is theta instead of a half: see `grid`. A curved wall leaves a fraction of a
# face open. This fraction is its width and a factor of its mass (Ng, Min & Gibou 2009). The velocity is then taken in
# the middle of the open part, and nothing flows through the wall. Walls are detected at the corners of the cells: a
# wall thinner than h that contains no corner is missed.


SIDES = ((np.s_[:-1, 1:-1], np.s_[1:, 1:-1]), (np.s_[1:-1, :-1], np.s_[1:-1, 1:]))
"""The cells before and after each face across an axis, in arrays (nx + 2, ny + 2)."""


@dataclass(frozen=True, eq=False)
class FacesAcross:
    """The faces across one axis; along it there is one more face than there are cells."""

    mass: Array
    width: Array
    moves: Booleans
    held: Booleans
    """Whether a face is beside a saturated cell and closed by a wall."""
    place: Array
    """(..., 2): positions at which the velocities are taken."""

    @property
    def count(self) -> int:
        """Number of faces that move."""
        return int(self.moves.sum())

    @property
    def number(self) -> Integers:
        """Numbers of the faces that move, in order; -1 for the others."""
        return np.where(self.moves, np.cumsum(self.moves).reshape(self.moves.shape) - 1, -1)


def faces(
    grid: Grid, zone: Booleans, wall: Booleans, outline: Outline | None, barrier: Outline | None
) -> tuple[FacesAcross, FacesAcross]:
    """The faces across x and across y; `outline` and `barrier` are the curved boundaries of the zone and the walls.

    >>> grid = Grid([0, 0], [2, 1], h=1.0)
    >>> open_sides = np.zeros((4, 3), dtype=bool)
    >>> [across, _] = faces(grid, np.ones((2, 1), dtype=bool), open_sides, None, lambda x, y: y - 0.25)
    >>> across.mass.ravel().round(12).tolist(), across.place[0, 0].round(12).tolist()  # a quarter is wall
    ([0.375, 0.75, 0.375], [0.0, 0.625])
    """
    found = []
    for axis in (0, 1):
        (low, high), across = beside(zone, axis), SIDES[axis]
        place = np.stack(grid.places(*FACE_MIDDLES[axis]), axis=-1)
        blocked = wall[across[0]] | wall[across[1]]
        mass = 0.5 * (low.astype(float) + high)
        if outline is not None:
            _cut(grid, axis, (low != high) & ~blocked, low, outline, mass, place)
        width = np.ones_like(mass)
        if barrier is not None:
            width, off = opening(grid, axis, barrier)
            place[..., 1 - axis] += off
        touching, shut = low | high, blocked | (width <= MIN_DISTANCE)
        found.append(FacesAcross(mass * width, width, touching & ~shut, touching & shut, place))
    across_x, across_y = found
    return across_x, across_y


def _cut(grid: Grid, axis: int, free: Booleans, inside: Booleans, outline: Outline, mass: Array, place: Array) -> None:
    """Move free faces that a curved boundary cuts to the middle between it and the centre, with mass theta."""
    # `inside` says whether the cell before each face is in the zone
    step, middle, first = np.zeros(2), place[free], inside[free]
    step[axis] = 0.5 * grid.h
    inner = middle + np.where(first, -1.0, 1.0)[:, None] * step
    theta = crossing(outline, inner, 2.0 * middle - inner)
    met = np.isfinite(theta)
    mass[free] = np.where(met, theta, mass[free])
    middle += np.where(met, np.where(first, 1.0, -1.0) * (theta - 1.0), 0.0)[:, None] * step
    place[free] = middle


def opening(grid: Grid, axis: int, barrier: Outline) -> tuple[Array, Array]:
    """For the faces across an axis: the open fraction, and the offset of its middle from the middle of the face."""
    corner = np.stack(grid.places(0.0, 0.0), axis=-1)
    solid = within(barrier, corner[..., 0], corner[..., 1])
    along = 1 - axis
    (first, last), (begins, ends) = ((field[before(along)], field[after(along)]) for field in (corner, solid))
    width, off = np.where(begins, 0.0, 1.0), np.zeros(begins.shape)
    cut = begins != ends
    wet, dry = np.where(begins[cut, None], first[cut], last[cut]), np.where(begins[cut, None], last[cut], first[cut])
    part = crossing(barrier, wet, dry)  # from the corner in the wall to the other
    width[cut] = 1.0 - part
    off[cut] = 0.5 * grid.h * np.where(begins[cut], part, -part)
    return width, off


def solid_cells(grid: Grid, barrier: Outline) -> Booleans:
    """The cells without an open side."""
    across, along = (opening(grid, axis, barrier)[0] > MIN_DISTANCE for axis in (0, 1))
    return np.asarray(~(across[:-1] | across[1:] | along[:, :-1] | along[:, 1:]))


@check_arguments
@dataclass(frozen=True, eq=False, init=False)
class Isotropic(Law):
    """The isotropic impact law: div u >= 0 in the saturated zone.

    A zone, or walls, given by an outline (a function of (x, y) that is negative inside, such as `Disc` or `Polygon`)
    keep their curved boundary. Given by a mask, they have the boundary of the cells. Outlined walls are detected at the
    corners of cells: a wall thinner than h that contains no corner is missed.

    Parameters
    ----------
    grid : Grid
        The grid.
    saturated : array_like of bool, shape (nx, ny), or callable (x, y) -> array
        The saturated zone, in which the density is one: a mask of cells or an outline.
    walls : array_like of bool, shape (nx, ny), or callable (x, y) -> array, optional
        Walls inside the grid: a mask of cells or an outline. None: only the closed sides of the grid are walls.
    tol : float, default 1e-8
        Relative tolerance of the projection, positive.

    Examples
    --------
    >>> grid = Grid([-1, -1], [1, 1], h=1 / 25)
    >>> law = Isotropic(grid, saturated=grid.disc([0, 0], 1.0))
    >>> after = law.impact(grid.velocity(lambda x, y: -x, lambda x, y: -y))       # u = 0, p = (1 - r^2) / 2
    >>> round(float(after.pressure.max()), 2), bool(abs(after.u.cells[law.saturated]).mean() < 0.02)
    (0.5, True)
    """

    outline: Outline | None
    barrier: Outline | None

    def __init__(self, grid: Grid, saturated: Zone, *, walls: Zone | None = None, tol: Positive = 1e-8):
        outline, barrier = outline_of(saturated), outline_of(walls)
        self._settle(grid, saturated, walls, solid=solid_cells, outline=outline, barrier=barrier, tol=tol)

    @cached_property
    def faces(self) -> tuple[FacesAcross, FacesAcross]:
        """The faces across x, and the faces across y."""
        return faces(self.grid, self.saturated, self.wall, self.outline, self.barrier)

    @cached_property
    def places(self) -> Array:
        """(m, 2): where the velocities of `sample` are taken: the middle of a face, or of its part inside a curved
        boundary.
        """
        return np.concatenate([side.place[side.moves] for side in self.faces])

    @cached_property
    def mass(self) -> Array:
        """(m,): masses of the velocities on the faces: h^2, and half of it on the free boundary."""
        return self.grid.h**2 * np.concatenate([side.mass[side.moves] for side in self.faces])

    @cached_property
    def cone(self) -> Cone:
        """The admissible velocities, div u >= 0 integrated over each saturated cell: one row per cell."""
        from scipy.sparse import csr_array

        n = int(self.saturated.sum())
        rows, columns, entries, first = [], [], [], 0
        for axis, side in enumerate(self.faces):
            number = side.number
            for sign, cells in zip((-1.0, 1.0), (before(axis), after(axis)), strict=True):
                face = number[cells][self.saturated]
                there = face >= 0
                rows.append(np.flatnonzero(there))
                columns.append(face[there] + first)
                entries.append(sign * self.grid.h * side.width[cells][self.saturated][there])
            first += side.count
        triplets = (np.concatenate(entries), (np.concatenate(rows), np.concatenate(columns)))
        return Cone(csr_array(triplets, shape=(n, len(self.mass))), describe="cell {}".format)

    def sample(self, velocity: Velocity) -> Array:
        parts, velocity = [], fitting(velocity, self.grid)
        for axis, side in enumerate(self.faces):
            field = (velocity.x, velocity.y)[axis]
            if callable(field):
                parts.append(sampled(field, *side.place[side.moves].T))
            else:
                parts.append(velocity.faces(axis, self.saturated)[side.moves])
        return np.concatenate(parts)

    @cached_property
    def matrix(self) -> FivePoint:
        """G M^-1 G^T: weight 1 between two cells, h over the distance to the free boundary, 0 at a wall."""
        weights = (
            np.divide(side.width**2, side.mass, out=np.zeros_like(side.mass), where=side.moves) for side in self.faces
        )
        return FivePoint.of_faces(weights, self.saturated)

    @property
    def _solver(self) -> PrimalDualActiveSet:
        return PrimalDualActiveSet(matrix=self.matrix, zone=self.saturated, tol=self.tol)

    def _after(self, velocity: Velocity, u: Array) -> Velocity:
        fields, first = [], 0
        for axis, side in enumerate(self.faces):
            field = np.where(side.held, 0.0, velocity.faces(axis, self.saturated))
            field[side.moves] = u[first : first + side.count]
            fields.append(field)
            first += side.count
        return Velocity(self.grid, *fields)

    def _pressure(self, impulse: Array) -> Array:
        pressure = np.zeros(self.grid.shape)
        pressure[self.saturated] = impulse
        return pressure

    def _shared(self, velocity: Velocity) -> float:
        """The energy that approaching cells lose by sharing one velocity on their face: m (a - b)^2 / 8 per face."""
        # P_N U contains this part, orthogonal to the rest, before U is averaged on faces.
        total = 0.0
        for axis, (side, field) in enumerate(zip(self.faces, (velocity.x, velocity.y), strict=True)):
            if callable(field) or field.shape != self.grid.shape:
                continue
            both, way = np.logical_and(*beside(self.saturated, axis)), np.subtract(*beside(field, axis))
            closer = np.where(both & side.moves, way, 0.0)
            total += 0.125 * self.grid.h**2 * float((side.mass * np.maximum(closer, 0.0) ** 2).sum())
        return total
