"""The faces of a staggered grid: which of them move, their masses, open widths and positions.

    mass   of a face over h^2: half the number of its saturated cells, so that p = 0 holds on the free boundary
    width  over h: 1, or 0 at a wall

On a curved free boundary the mass is theta instead of a half: see `outline`. A curved wall leaves a fraction of a face
open. This fraction is its width and a factor of its mass (Ng, Min & Gibou 2009). The velocity is then taken in the
middle of the open part, and nothing flows through the wall. Walls are detected at the corners of the cells: a wall
thinner than h that contains no corner is missed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from jostle.arrays import Array, Booleans, Integers
from jostle.macro.checks import within
from jostle.macro.grid import Grid
from jostle.macro.outline import MIN_DISTANCE, Outline, crossing

SIDES = ((np.s_[:-1, 1:-1], np.s_[1:, 1:-1]), (np.s_[1:-1, :-1], np.s_[1:-1, 1:]))
"""The cells before and after each face across an axis, in arrays (nx + 2, ny + 2)."""
FACE_MIDDLES = ((0.0, 0.5), (0.5, 0.0))
"""The middle of the face across each axis, in the coordinates of the cell after it."""


@dataclass(frozen=True, eq=False)
class Faces:
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


def faces(grid: Grid, zone: Booleans, wall: Booleans, outline: Outline | None, barrier: Outline | None) -> list[Faces]:
    """The faces across x and across y; `outline` and `barrier` are the curved boundaries of the zone and the walls.

    >>> grid = Grid([0, 0], [2, 1], h=1.0)
    >>> [across, _] = faces(grid, np.ones((2, 1), dtype=bool), grid.walls(), None, lambda x, y: y - 0.25)
    >>> across.mass.ravel().round(12).tolist(), across.place[0, 0].round(12).tolist()  # a quarter is wall
    ([0.375, 0.75, 0.375], [0.0, 0.625])
    """
    inside, found = np.pad(zone, 1), []
    for axis, (low, high) in enumerate(SIDES):
        place = np.stack(grid.places(*FACE_MIDDLES[axis]), axis=-1)
        mass = 0.5 * (inside[low].astype(float) + inside[high])
        free = (inside[low] != inside[high]) & ~wall[low] & ~wall[high]
        if outline is not None:
            _cut(grid, axis, free, inside[low], outline, mass, place)
        width = np.ones_like(mass)
        if barrier is not None:
            width, off = opening(grid, axis, barrier)
            place[..., 1 - axis] += off
        beside, shut = inside[low] | inside[high], wall[low] | wall[high] | (width <= MIN_DISTANCE)
        found.append(Faces(mass * width, width, beside & ~shut, beside & shut, place))
    return found


def _cut(grid: Grid, axis: int, free: Booleans, before: Booleans, outline: Outline, mass: Array, place: Array) -> None:
    """Move free faces that a curved boundary cuts between the boundary and the centre, with mass theta."""
    step, middle, first = np.zeros(2), place[free], before[free]
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
    first, last = (corner[:, :-1], corner[:, 1:]) if axis == 0 else (corner[:-1], corner[1:])
    solid = within(barrier, corner[..., 0], corner[..., 1])
    begins, ends = (solid[:, :-1], solid[:, 1:]) if axis == 0 else (solid[:-1], solid[1:])
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
