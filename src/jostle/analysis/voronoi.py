"""How dense a crowd is and how fast it walks: classic and Voronoi, of each person, of a measurement area, on a grid.

The Voronoi cell V_i of a person is what is nearer to him than to anybody else, within the walkable area W, and where
asked for within a cut-off radius (a polygon around him). With M a measurement area and |.| the size of an area,

    of a person    rho_i = 1 / |V_i|                               v_i = |u_i|
    classic        rho_M = N(M) / |M|                              v_M = mean of v_i over those in M
    Voronoi        rho_M = 1/|M| sum_i |V_i and M| / |V_i|         v_M = 1/|M| sum_i v_i |V_i and M|

(Steffen & Seyfried 2010; the same as in PedPy, Schrödter et al. 2024.) Only those whose centres are in W count. Where W
is not convex, V_i is the part that contains the person, as in PedPy. Without a cut-off the cells of a convex W fill it.
Where W has several polygons, the floors of a plan, people on different floors have nothing to do with each other.

u is the velocity of the step that led to a frame: at the start of a first-order run it is zero.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from jostle.arguments import Count, check_arguments
from jostle.arrays import Array, Integers
from jostle.errors import InvalidValue
from jostle.io.areas import floors, needed, present, walkable
from jostle.io.moves import planar
from jostle.solution import Solution

CIRCLE_QUARTER = 3
"""Number of sides of a quarter of a cut-off circle, as in PedPy."""
SQUARE_TOLERANCE = 1e-9
"""A last square that is narrower than this fraction of a square is left out."""
POLYGON = 3
"""Number of the geometry type of polygons in shapely."""


@dataclass(frozen=True, eq=False)
class Density:
    """The Voronoi cells of one frame; see `density`."""

    person: Integers
    """(m,) the numbers of those in the area,"""
    place: Array
    """(m, 2) where they are,"""
    cells: NDArray[Any]
    """(m,) their cells, `shapely.Polygon`,"""
    density: Array
    """(m,) persons per square metre, 1 / |V_i|,"""
    speed: Array
    """(m,) and how fast they walk."""

    def over(self, measure: Any) -> tuple[float, float]:
        """Voronoi density and Voronoi speed of a measurement area, given as a polygon or its corners."""
        shapely, M = needed("shapely"), walkable(measure)
        shared = shapely.area(shapely.intersection(self.cells, M))
        return float(shared @ self.density / M.area), float(shared @ self.speed / M.area)

    def classic(self, measure: Any) -> tuple[float, float]:
        """Classic density, and the mean speed of those inside: NaN if there is nobody."""
        M = walkable(measure)
        inside = needed("shapely").contains_xy(M, self.place)
        return float(inside.sum() / M.area), float(self.speed[inside].mean()) if inside.any() else np.nan


@check_arguments
def density(
    sol: Solution, k: int, area: Any, *, cutoff: float | None = None, quarter: Count = CIRCLE_QUARTER
) -> Density:
    """Cells, densities and speeds of the people of frame k in a walkable area: a polygon, its corners, or a plan.

    >>> import jostle as jo
    >>> four = jo.Sweeping(q0=[[1, 1], [3, 1], [1, 3], [3, 3]], velocity=[0.0, 0.0], within=jo.Balls([0.2] * 4))
    >>> found = density(jo.solve(four, jo.Venel(), t=0.1, h=0.1), -1, [(0, 0), (4, 0), (4, 4), (0, 4)])
    >>> found.density.tolist(), found.over([(1, 1), (2, 1), (2, 2), (1, 2)])
    ([0.25, 0.25, 0.25, 0.25], (0.25, 0.0))
    """
    return _density(planar(sol).q[k], sol.u[k], walkable(area), cutoff, quarter)


def _density(q: Array, u: Array, W: Any, cutoff: float | None, quarter: int) -> Density:
    shapely = needed("shapely")
    if cutoff is not None and not 0.0 < cutoff < np.inf:
        raise InvalidValue(f"a cut-off radius must be positive and finite, not {cutoff}")
    person = np.flatnonzero(present(q, W))
    cells = np.zeros(len(person), dtype=object)
    parts = floors(W)
    here = shapely.intersects_xy(np.array(parts)[:, None], *q[person].T)
    floor = here.argmax(axis=0)
    for number in np.unique(floor):
        some = np.flatnonzero(floor == number)
        cells[some] = _cells(q[person[some]], parts[number], cutoff, quarter)
    areas = shapely.area(cells)
    return Density(person, q[person], cells, 1.0 / areas, np.linalg.norm(u[person], axis=1))


def _cells(place: Array, W: Any, cutoff: float | None, quarter: int) -> NDArray[Any]:
    """(m,) the cells of people on one floor."""
    shapely = needed("shapely")
    cells = shapely.get_parts(shapely.voronoi_polygons(shapely.MultiPoint(place), extend_to=W, ordered=True))
    cells = shapely.intersection(cells, W)
    points = shapely.points(place)
    if cutoff is not None:
        cells = shapely.intersection(cells, shapely.buffer(points, cutoff, quad_segs=quarter))
    for i in np.flatnonzero(shapely.get_type_id(cells) != POLYGON):
        parts = shapely.get_parts(cells[i])
        parts = parts[shapely.get_type_id(parts) == POLYGON]
        cells[i] = parts[np.argmin(shapely.distance(parts, points[i]))]
    return np.asarray(cells)


class Densities(NamedTuple):
    """Density and speed in a measurement area at each saved time; see `densities`."""

    t: Array
    classic: Array
    """(k,) persons per square metre, classic,"""
    voronoi: Array
    """(k,) and Voronoi;"""
    classic_speed: Array
    """(k,) mean speed of those inside, NaN while there is nobody,"""
    voronoi_speed: Array
    """(k,) and Voronoi."""


@check_arguments
def densities(
    sol: Solution, area: Any, measure: Any = None, *, cutoff: float | None = None, quarter: Count = CIRCLE_QUARTER
) -> Densities:
    """Density and speed in a measurement area, by default the whole walkable area, at each saved time.

    >>> import jostle as jo
    >>> room = jo.crowds.Room([(0, 0), (5, 0), (5, 4), (0, 4)], doors=[((5, 1.2), (5, 2.8))])
    >>> sol = jo.solve(jo.crowds.crowd(8, radius=0.25, room=room), jo.Venel(), t=20.0, h=0.05, until=room.empty)
    >>> found = densities(sol, room)
    >>> found.classic[[0, -1]].tolist(), found.voronoi[[0, -1]].round(9).tolist()
    ([0.4, 0.0], [0.4, 0.0])
    """
    W = walkable(area)
    M = W if measure is None else walkable(measure)
    rows = []
    for _, q, u in _frames(sol, None):
        found = _density(q, u, W, cutoff, quarter)
        rows.append([*found.classic(M), *found.over(M)])
    classic, classic_speed, voronoi, voronoi_speed = np.array(rows).reshape(-1, 4).T
    return Densities(np.asarray(sol.t), classic, voronoi, classic_speed, voronoi_speed)


def _frames(sol: Solution, k: int | slice | Sequence[int] | None) -> Iterator[tuple[int, Array, Array]]:
    """Number, positions and velocities of some frames, one after the other; None: of all."""
    planar(sol)
    if k is None:
        yield from ((number, q, u) for number, (q, u) in enumerate(zip(sol.q, sol.u, strict=True)))
        return
    chosen: Iterable[int] = range(len(sol.t))[k] if isinstance(k, slice) else [k] if isinstance(k, int) else k
    for number in chosen:
        yield number, sol.q[number], sol.u[number]


@dataclass(frozen=True, eq=False)
class Map:
    """A quantity on a grid of squares that covers the area; for `pcolormesh(map.x, map.y, map.voronoi)`."""

    x: Array
    """(c + 1,) the edges of the columns, and"""
    y: Array
    """(r + 1,) of the rows, from below."""
    area: Array
    """(r, c) how much of each square is in the walkable area: that part is what is measured in."""
    classic: Array
    """(r, c) NaN where the square is outside; speeds also where nobody is."""
    voronoi: Array
    """(r, c) likewise."""


@check_arguments
def density_map(
    sol: Solution,
    k: int | slice | Sequence[int] | None,
    area: Any,
    *,
    size: float,
    cutoff: float | None = None,
    quarter: Count = CIRCLE_QUARTER,
) -> Map:
    """Densities in squares of a size; of frame k, or the mean over several frames: a slice, numbers, or None, all.

    The sum over squares of density times area is the number of people, in the mean, by both definitions (without
    cut-off as with it).

    >>> import jostle as jo
    >>> one = jo.Sweeping(q0=[[0.5, 0.5]], velocity=[0.0, 0.0], within=jo.Balls([0.2]))
    >>> found = density_map(jo.solve(one, jo.Venel(), t=0.1, h=0.1), -1, [(0, 0), (2, 0), (2, 1), (0, 1)], size=1.0)
    >>> found.classic.tolist(), found.voronoi.tolist()
    ([[1.0, 0.0]], [[0.5, 0.5]])
    """
    return _map(sol, k, walkable(area), size, cutoff, quarter, speeds=False)


@check_arguments
def speed_map(
    sol: Solution,
    k: int | slice | Sequence[int] | None,
    area: Any,
    *,
    size: float,
    cutoff: float | None = None,
    quarter: Count = CIRCLE_QUARTER,
) -> Map:
    """Speeds in squares of a size, as `density_map`; over several frames, the mean over those in which there is one.

    >>> import jostle as jo
    >>> one = jo.Sweeping(q0=[[0.5, 0.5]], velocity=[1.5, 0.0], within=jo.Balls([0.2]))
    >>> found = speed_map(jo.solve(one, jo.Venel(), t=0.1, h=0.1), -1, [(0, 0), (2, 0), (2, 1), (0, 1)], size=1.0)
    >>> found.classic.tolist(), found.voronoi.tolist()
    ([[1.5, nan]], [[1.5, 1.5]])
    """
    return _map(sol, k, walkable(area), size, cutoff, quarter, speeds=True)


def _map(sol: Solution, k: Any, W: Any, size: float, cutoff: float | None, quarter: int, *, speeds: bool) -> Map:
    grid = _grid(W, size)
    total = np.zeros((2, len(grid.squares)))
    frames = np.zeros((2, len(grid.squares)))
    for _, q, u in _frames(sol, k):
        found = _density(q, u, W, cutoff, quarter)
        classic, voronoi = grid.share(found)
        value = (found.speed if speeds else np.ones(len(found.person)), found.speed if speeds else found.density)
        sums = np.stack([classic @ value[0], voronoi @ value[1]])
        if not speeds:
            total += sums / grid.inside
            frames += 1
            continue
        weights = np.stack([classic.sum(axis=1), np.where(voronoi.sum(axis=1) > 0.0, grid.area, 0.0)])
        total += np.divide(sums, weights, out=np.zeros_like(sums), where=weights > 0.0)
        frames += weights > 0.0
    mean = np.divide(total, frames, out=np.full_like(total, np.nan), where=frames > 0.0)
    classic_map, voronoi_map, area = (values.reshape(grid.shape) for values in (*mean, grid.area))
    return Map(grid.x, grid.y, area, classic_map, voronoi_map)


class _Grid(NamedTuple):
    """Squares that cover a polygon, those of a row one after the other."""

    x: Array
    y: Array
    squares: NDArray[Any]
    """(s,) what of each is in the polygon,"""
    area: Array
    """(s,) and how large that is."""

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.y) - 1, len(self.x) - 1

    @property
    def inside(self) -> Array:
        """(s,) the area, NaN where it is zero."""
        return np.where(self.area > 0.0, self.area, np.nan)

    def share(self, found: Density) -> tuple[Any, Any]:
        """(s, m) sparse: is the person in the square, and how much of his cell is?"""
        from scipy.sparse import csr_array

        shapely = needed("shapely")
        size = (len(self.squares), len(found.person))
        columns = self.shape[1]
        column, row = (
            np.clip(np.searchsorted(edges, place, side="right") - 1, 0, len(edges) - 2)
            for edges, place in zip((self.x, self.y), found.place.T, strict=True)
        )
        here = csr_array((np.ones(size[1]), (row * columns + column, np.arange(size[1]))), shape=size)
        cell, square = shapely.STRtree(self.squares).query(found.cells, predicate="intersects")
        shared = shapely.area(shapely.intersection(found.cells[cell], self.squares[square]))
        return here, csr_array((shared, (square, cell)), shape=size)


def _grid(W: Any, size: float) -> _Grid:
    shapely = needed("shapely")
    if not 0.0 < size < np.inf:
        raise InvalidValue(f"the size of the squares must be positive and finite, not {size}")
    low, high = np.reshape(W.bounds, (2, 2))
    count = np.maximum(np.ceil((high - low) / size - SQUARE_TOLERANCE), 1).astype(int)
    x, y = (low[axis] + size * np.arange(count[axis] + 1) for axis in (0, 1))
    x0, y0 = (values.ravel() for values in np.meshgrid(x[:-1], y[:-1]))
    x1, y1 = (values.ravel() for values in np.meshgrid(x[1:], y[1:]))
    squares = shapely.intersection(shapely.box(x0, y0, x1, y1), W)
    return _Grid(x, y, squares, shapely.area(squares))
