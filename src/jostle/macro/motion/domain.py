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

from jostle._tools.arguments import check_arguments, set_fields
from jostle._tools.arrays import Array, Booleans, Integers, finite, shaped
from jostle.errors import InvalidValue
from jostle.macro.checks import truths
from jostle.macro.grid import Grid, after, before, beside, mask_of
from jostle.macro.obstacle import FivePoint

# Passages from some cells of a grid to others, such as stairs between floors that are drawn side by side.
#
# A passage leads one way. In time h a cell at its start gives at most the fraction |u| h / side of its density, where u
# is the speed of the people there, and a cell at its end takes at most the room it has. People who do not fit wait at
# the start: no pressure passes through a passage, as none passes between people on stairs and people on the next floor.


Faces = tuple[Array, Array]
"""Numbers on the faces across x, (nx + 1, ny), and on the faces across y, (nx, ny + 1)."""


@check_arguments
@dataclass(frozen=True, eq=False, init=False)
class Passage:
    """A one-way passage from cells of a grid to other cells, such as stairs between floors.

    The first cells of the start lead to the first cells of the end, the last ones to the last ones.

    Parameters
    ----------
    start : array_like of int, shape (m, 2)
        Indices [i, j] of the cells where the passage begins, from one side to the other.
    end : array_like of int, shape (k, 2)
        Indices [i, j] of the cells where the passage ends, in the same order.
    outward : array_like, shape (2,)
        Direction in which people leave the cells of the start; any length except zero.

    Examples
    --------
    >>> import jostle as jo
    >>> grid = jo.macro.Grid([0, 0], [6, 1], h=1.0, closed=True)
    >>> stairs = Passage([[2, 0]], [[4, 0]], outward=[1, 0])
    >>> people = jo.macro.Crowd(grid=grid, density=[[1], [1], [1], [0], [0], [0]], velocity=grid.velocity(1.0, 0),
    ...                         walls=[[0], [0], [0], [1], [0], [0]], passages=[stairs])
    >>> sol = jo.macro.solve(people, jo.macro.Splitting(), t=9.0, h=0.5)
    >>> sol.density[-1].ravel().round(6).tolist()                                # there is room for two
    [0.0, 0.0, 1.0, 0.0, 1.0, 1.0]
    """

    start: Integers
    end: Integers
    outward: Array

    def __init__(self, start: ArrayLike, end: ArrayLike, outward: ArrayLike):
        direction = shaped(outward, "outward", 2)
        length = float(np.linalg.norm(direction))
        if not length > 0.0:
            raise InvalidValue("outward must not be zero")
        ends = {name: _indices(cells, name) for name, cells in (("start", start), ("end", end))}
        set_fields(self, **ends, outward=direction / length)

    @cached_property
    def shares(self) -> Array:
        """(m, k): fraction of each cell of the start that leads to each cell of the end; both ends are equally wide."""
        left = np.linspace(0.0, 1.0, len(self.start) + 1)
        right = np.linspace(0.0, 1.0, len(self.end) + 1)
        low, high = (np.maximum.outer(left[:-1], right[:-1]), np.minimum.outer(left[1:], right[1:]))
        return np.asarray(np.maximum(high - low, 0.0) * len(self.start))


def passed(passages: Sequence[Passage], density: Array, u: Faces, cells: float) -> Array:
    """(nx, ny): the density after people with velocities u on the faces have used all passages.

    `cells` is the number of cells that people cross at speed 1: the time divided by the side of a cell.
    """
    if not passages:
        return density
    density = density.copy()
    for passage in passages:
        start, end = tuple(passage.start.T), tuple(passage.end.T)
        part = np.minimum(leaving_speeds(passage, u) * cells, 1.0)
        asked = (part * density[start])[:, None] * passage.shares
        room, wanted = np.maximum(1.0 - density[end], 0.0), asked.sum(axis=0)
        asked *= np.divide(room, wanted, out=np.ones_like(room), where=wanted > room)
        density[start] -= asked.sum(axis=1)
        density[end] += asked.sum(axis=0)
    return density


def leaving_speeds(passage: Passage, u: Faces) -> Array:
    """(m,): how fast people leave the cells of the start, u . outward, not negative.

    Each component of u is the larger of the two faces of the cell, because the face at the passage is closed.
    """
    i, j = passage.start.T
    x, y = (
        np.where(np.abs(before) > np.abs(after), before, after)
        for before, after in ((u[0][i, j], u[0][i + 1, j]), (u[1][i, j], u[1][i, j + 1]))
    )
    return np.asarray(np.maximum(x * passage.outward[0] + y * passage.outward[1], 0.0))


def _indices(cells: ArrayLike, name: str) -> Integers:
    found = finite(cells, name)
    if found.ndim != 2 or found.shape[1] != 2 or len(found) == 0 or (found != np.rint(found)).any():
        raise InvalidValue(f"{name} must be the indices [i, j] of one cell or more, not {cells!r}")
    indices = found.astype(np.int64)
    if len(np.unique(indices, axis=0)) < len(indices):
        raise InvalidValue(f"{name} contains a cell twice: {cells!r}")
    return indices


VACUUM = 1e-14
"""A face with less mass than this, in cells, has no velocity."""
HALF_CELL = 2.0
"""The weight of a face at an exit or an open side: the pressure is zero there, half a cell from the centre."""


@dataclass(frozen=True, eq=False, init=False)
class Domain:
    """The cells of a grid without walls; mass that enters an exit or crosses an open side is gone.

    `barriers` are walls without thickness: one boolean per face, across x and across y, true where nothing passes.
    `passages` lead from some cells to others.
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
            np.zeros(grid.shape, dtype=bool) if mask is None else mask_of(grid, mask, name)
            for mask, name in ((walls, "walls"), (exits, "exits"))
        )
        if (solid & out).any():
            i, j = np.argwhere(solid & out)[0]
            raise InvalidValue(f"cell [{i}, {j}] is both a wall and an exit")
        thin = _checked(grid, barriers)
        ways = tuple(passages)
        _check_passages(ways, ~solid & ~out)
        set_fields(self, grid=grid, walls=solid, exits=out, barriers=thin, passages=ways)

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
            free, zone = beside(~self.walls, axis, beyond), beside(self.zone, axis)
            found.append(free[0] & free[1] & (zone[0] | zone[1]) & ~self.barriers[axis])
        return found[0], found[1]

    @cached_property
    def sides(self) -> tuple[Array, Array]:
        """The weights of the faces: 1 between two cells, 2 where the zone ends half a cell away, 0 if not open."""
        found = []
        for axis, through in enumerate(self.open):
            both = np.logical_and(*beside(self.zone, axis))
            found.append(np.where(through, np.where(both, 1.0, HALF_CELL), 0.0))
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
        weights: Faces = self.sides
        if by is not None:
            x, y = (
                np.divide(open_, mass, out=np.zeros_like(mass), where=open_ & (mass > 0.0))
                for open_, mass in zip(self.open, by, strict=True)
            )
            weights = x, y
        return FivePoint.of_faces(weights, self.zone if zone is None else zone)

    def means(self, field: Array) -> Faces:
        """On each face: the mean of the two cells beside it; outside the domain the field is zero."""
        x, y = (0.5 * np.add(*beside(field, axis)) for axis in (0, 1))
        return x, y


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
        return np.zeros(grid.face_shapes[0], dtype=bool), np.zeros(grid.face_shapes[1], dtype=bool)
    if len(barriers) != 2:
        raise InvalidValue(f"barriers must be two masks, of the faces across x and across y, not {len(barriers)}")
    x, y = (truths(mask, "barriers") for mask in barriers)
    for axis, mask in enumerate((x, y)):
        if mask.shape != grid.face_shapes[axis]:
            raise InvalidValue(
                f"barriers across {'xy'[axis]} must be one boolean per face, {grid.face_shapes[axis]}, not an array of "
                f"shape {mask.shape}"
            )
    return x, y


# Checks of densities given by users: finite, not negative, zero in walls, and not more mass than fits.


MAX_EXCESS = 1e-9
"""A density may exceed one by this much, because of round-off."""
MASS_TOLERANCE = 1e-12
"""A mass may exceed the area it occupies by this fraction, because sums of many densities are rounded."""


def checked_density(grid: Grid, density: ArrayLike, walls: Booleans | None = None) -> Array:
    """(nx, ny): a density that is nowhere negative, and zero in walls.

    >>> checked_density(Grid([0, 0], [2, 1], h=1.0), [[0.5], [-0.5]])
    Traceback (most recent call last):
    ...
    jostle.errors.InvalidValue: density is -0.5 in cell (1, 0); it must not be negative
    """
    rho = finite(density, "density").view(np.ndarray)
    if rho.shape != grid.shape:
        raise InvalidValue(f"density must have one number per cell, shape {grid.shape}, not {rho.shape}")
    if rho.min() < 0.0:
        cell = _first(rho < 0.0)
        raise InvalidValue(f"density is {rho[cell]:g} in cell {cell}; it must not be negative")
    if walls is not None and (rho[walls] > 0.0).any():
        cell = _first(walls & (rho > 0.0))
        raise InvalidValue(f"density is {rho[cell]:g} in cell {cell}, which is a wall; it must be 0 there")
    return rho


def check_mass(domain: Domain, density: Array) -> None:
    """Refuse a density if an enclosed part of the domain cannot hold its mass.

    >>> room = Domain(Grid([0, 0], [2, 1], h=1.0, closed=True))
    >>> check_mass(room, np.array([[2.5], [0.0]]))
    Traceback (most recent call last):
    ...
    jostle.errors.InvalidValue: density has mass 2.5 in an area of 2 without an exit, around cell (0, 0); lower it
    """
    part, area = domain.shut, domain.grid.h**2
    mass, held = (np.bincount(part.ravel(), weights=field.ravel()) for field in (density, np.ones(part.shape)))
    full = mass > (1.0 + MASS_TOLERANCE) * held
    full[0] = False
    if full.any():
        k = int(np.flatnonzero(full)[0])
        raise InvalidValue(
            f"density has mass {mass[k] * area:.6g} in an area of {held[k] * area:.6g} without an exit, around cell "
            f"{_first(part == k)}; lower it"
        )


def _first(cells: Booleans) -> tuple[int, int]:
    i, j = np.argwhere(cells)[0]
    return int(i), int(j)
