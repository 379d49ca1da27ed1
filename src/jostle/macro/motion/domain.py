"""Where a density may move: the cells of a grid without walls and exits, and the faces that let it through.

The grid is staggered: densities and pressures are in cells, velocities and fluxes on faces, with one array per
direction, of shape (nx + 1, ny) and (nx, ny + 1).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from jostle.arrays import Array, Booleans, Integers
from jostle.errors import InvalidValue
from jostle.macro.checks import truths
from jostle.macro.five_point import FivePoint
from jostle.macro.grid import Grid
from jostle.macro.motion.passages import Faces as Faces
from jostle.macro.motion.passages import Passage

VACUUM = 1e-14
"""A face with less mass than this, in cells, has no velocity."""
HALF_CELL = 2.0
"""The weight of a face at an exit or an open side: the pressure is zero there, half a cell from the centre."""


@dataclass(frozen=True, eq=False, init=False)
class Domain:
    """The cells of a grid without walls; mass that enters an exit or crosses an open side is gone.

    `barriers` are walls without thickness: one boolean per face, across x and across y, true where nothing passes.
    `passages` lead from some cells to others.

    >>> room = Domain(Grid([0, 0], [3, 1], h=1.0, closed=True), exits=[[0], [0], [1]])
    >>> room.zone.ravel().tolist(), room.open[0].ravel().tolist()
    ([True, True, False], [False, True, True, False])
    """

    grid: Grid
    walls: Booleans
    exits: Booleans
    barriers: tuple[Booleans, Booleans]
    passages: tuple[Passage, ...]

    def __init__(
        self,
        grid: Grid,
        walls: ArrayLike | None = None,
        exits: ArrayLike | None = None,
        barriers: tuple[ArrayLike, ArrayLike] | None = None,
        passages: Sequence[Passage] = (),
    ):
        solid, out = (
            np.zeros(grid.shape, dtype=bool) if mask is None else grid.checked(mask, name).copy()
            for mask, name in ((walls, "walls"), (exits, "exits"))
        )
        if (solid & out).any():
            i, j = np.argwhere(solid & out)[0]
            raise InvalidValue(f"cell [{i}, {j}] is both a wall and an exit")
        thin = _checked(grid, barriers)
        ways = tuple(passages)
        _check_passages(ways, ~solid & ~out)
        values = {"grid": grid, "walls": solid, "exits": out, "barriers": thin, "passages": ways}
        for name, value in values.items():
            object.__setattr__(self, name, value)

    @cached_property
    def zone(self) -> Booleans:
        """(nx, ny): the cells that can hold mass."""
        return ~self.walls & ~self.exits

    @cached_property
    def open(self) -> tuple[Booleans, Booleans]:
        """The open faces: next to a cell of the zone, and not at a wall, a barrier or a closed side."""
        found = []
        for axis in (0, 1):
            beyond = [not closed for closed in self.grid.closed[axis]]
            free, zone = beside(~self.walls, axis, beyond), beside(self.zone, axis, (False, False))
            found.append(free[0] & free[1] & (zone[0] | zone[1]) & ~self.barriers[axis])
        return found[0], found[1]

    @cached_property
    def sides(self) -> tuple[Array, Array]:
        """The weights of the faces: 1 between two cells, 2 where the zone ends half a cell away, 0 if not open."""
        found = []
        for axis, through in enumerate(self.open):
            low, high = beside(self.zone, axis, (False, False))
            found.append(np.where(through, np.where(low & high, 1.0, HALF_CELL), 0.0))
        return found[0], found[1]

    @cached_property
    def shut(self) -> Integers:
        """(nx, ny): a number for each part of the zone without a way out; 0 elsewhere."""
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components

        number, ends = np.arange(self.zone.size).reshape(self.zone.shape), []
        for axis, weight in enumerate(self.sides):
            joined = weight[after(axis)][before(axis)] == 1.0
            ends.append(np.stack([number[before(axis)][joined], number[after(axis)][joined]]))
        i, j = np.concatenate(ends, axis=1)
        size = self.zone.size
        _, part = connected_components(coo_array((np.ones(len(i)), (i, j)), shape=(size, size)), directed=False)
        part = np.where(self.zone, part.reshape(self.zone.shape) + 1, 0)
        ways_out = self.laplacian().extra
        free = np.bincount(part.ravel(), weights=ways_out.ravel()) > 0.0
        for _ in self.passages:  # a passage may lead to a part that another passage has yet to mark as free
            for passage in self.passages:
                free[part[tuple(passage.start.T)]] |= free[part[tuple(passage.end.T)]].any()
        return np.where(free[part], 0, part)

    def divergence(self, flux: Faces) -> Array:
        """(nx, ny): the flux out of each cell minus the flux into it."""
        x, y = flux
        return x[1:] - x[:-1] + y[:, 1:] - y[:, :-1]

    def differences(self, field: Array) -> Faces:
        """On each open face: its weight times (value after - value before); the field is zero outside."""
        x, y = self.sides
        return x * np.diff(field, axis=0, prepend=0.0, append=0.0), y * np.diff(field, axis=1, prepend=0.0, append=0.0)

    def laplacian(self, by: Faces | None = None, zone: Booleans | None = None) -> FivePoint:
        """Minus the Laplacian of a field that is zero outside a zone (default: the whole zone).

        `by` divides the difference on each face by a number; the distance to the edge of the domain is then that
        between two cells.
        """
        between, extra, zone = [], np.zeros(self.grid.shape), self.zone if zone is None else zone
        for axis, weight in enumerate(self.sides):
            value = weight
            if by is not None:
                value = np.divide(
                    weight > 0.0, by[axis], out=np.zeros_like(weight), where=(weight > 0.0) & (by[axis] > 0.0)
                )
            low, high = beside(zone, axis, (False, False))
            inner, alone = np.where(low & high, value, 0.0), np.where(low != high, value, 0.0)
            between.append(np.ascontiguousarray(inner[after(axis)]))
            extra += np.where(zone, alone[before(axis)] + alone[after(axis)], 0.0)
        return FivePoint(between[0], between[1], extra)

    def means(self, field: Array) -> Faces:
        """On each face: the mean of the two cells beside it; outside the domain the field is zero."""
        found = []
        for axis in (0, 1):
            around = np.pad(field, [(1, 1) if k == axis else (0, 0) for k in (0, 1)])
            found.append(0.5 * (around[before(axis)] + around[after(axis)]))
        return found[0], found[1]


def _check_passages(passages: tuple[Passage, ...], zone: Booleans) -> None:
    """Refuse a passage that begins or ends outside the grid, in a wall or in an exit."""
    for passage in passages:
        if not isinstance(passage, Passage):
            raise InvalidValue(f"passages must be a list of jo.macro.Passage, not of {passage!r}")
        for name, cells in (("begins", passage.start), ("ends", passage.end)):
            known = np.asarray(((cells >= 0) & (cells < zone.shape)).all(axis=1))
            known[known] = zone[tuple(cells[known].T)]
            if not known.all():
                i, j = cells[np.flatnonzero(~known)[0]]
                raise InvalidValue(f"a passage {name} in cell ({i}, {j}), which is outside the grid, a wall or an exit")


def _checked(grid: Grid, barriers: tuple[ArrayLike, ArrayLike] | None) -> tuple[Booleans, Booleans]:
    """One boolean per face, across x and across y; by default there are no barriers."""
    if barriers is None:
        return np.zeros(grid.faces(0), dtype=bool), np.zeros(grid.faces(1), dtype=bool)
    if len(barriers) != 2:
        raise InvalidValue(f"barriers must be two masks, of the faces across x and across y, not {len(barriers)}")
    x, y = (truths(mask, "barriers").copy() for mask in barriers)
    for axis, mask in enumerate((x, y)):
        if mask.shape != grid.faces(axis):
            raise InvalidValue(
                f"barriers across {'xy'[axis]} must be one boolean per face, {grid.faces(axis)}, not an array of shape "
                f"{mask.shape}"
            )
    return x, y


def before(axis: int) -> tuple[slice, slice]:
    """All but the last along an axis: the padded cells before each face, or the faces before each cell."""
    return (slice(None, -1), slice(None)) if axis == 0 else (slice(None), slice(None, -1))


def after(axis: int) -> tuple[slice, slice]:
    """All but the first along an axis."""
    return (slice(1, None), slice(None)) if axis == 0 else (slice(None), slice(1, None))


def end_of(axis: int, k: int) -> tuple[slice | int, slice | int]:
    """The k-th along an axis."""
    return (k, slice(None)) if axis == 0 else (slice(None), k)


def beside(cells: Booleans, axis: int, ends: tuple[bool, bool] | list[bool]) -> tuple[Booleans, Booleans]:
    """The cells before and after each face across an axis; `ends` are the values beyond the first and last cells."""
    around = np.pad(cells, [(1, 1) if k == axis else (0, 0) for k in (0, 1)])
    around[end_of(axis, 0)], around[end_of(axis, -1)] = ends
    return around[before(axis)], around[after(axis)]
