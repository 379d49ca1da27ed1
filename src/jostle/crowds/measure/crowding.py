"""Density and speed of a crowd, classic and Voronoi: of each person, of a measurement area, as maps of a run.

The Voronoi cell V_i of a person is the part of the walkable area W that is nearer to them than to anybody else, and, if
a cut-off radius is given, within that radius (a polygon around them). With M a measurement area and |.| the size of an
area,

    of a person    rho_i = 1 / |V_i|                               v_i = |x_i(t + w/2) - x_i(t - w/2)| / w
    classic        rho_M = N(M) / |M|                              v_M = mean of v_i over the people in M
    Voronoi        rho_M = 1/|M| sum_i |V_i and M| / |V_i|         v_M = 1/|M| sum_i v_i |V_i and M|

(Steffen & Seyfried 2010; the same as in PedPy, Schrödter et al. 2024.) Only people whose centres are in W count. Where
W is not convex, V_i is the part that contains the person, as in PedPy. Without a cut-off the cells of a convex W fill
it. Where W has several polygons, the floors of a plan, people on different floors do not affect each other.

The window w of speeds is described in `jostle.crowds.measure.speeds`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from jostle._tools.arguments import Count, Positive, check_arguments
from jostle._tools.arrays import Array, Booleans, Integers, finite, numbers
from jostle.crowds.measure.leaving import Step, known_plan, watch
from jostle.crowds.measure.moves import Frame, planar
from jostle.crowds.measure.speeds import Speeds
from jostle.crowds.model.facts import crowd_facts
from jostle.errors import InvalidValue
from jostle.plans.outlines import package
from jostle.plans.plan import floors, present, walkable
from jostle.result.solution import Solution

CIRCLE_QUARTER = 3
"""Number of sides of a quarter of a cut-off circle, as in PedPy."""
POLYGON = 3
"""Number that shapely gives the geometry type of polygons."""


@dataclass(frozen=True, eq=False)
class Density:
    """The Voronoi cells of one frame; see `density`."""

    person: Integers
    place: Array
    cells: NDArray[Any]
    density: Array
    speed: Array

    def over(self, measure: Any) -> tuple[float, float]:
        """Voronoi density and Voronoi speed of a measurement area, given as a polygon or its corners."""
        shapely, M = package("shapely"), walkable(measure)
        shared = shapely.area(shapely.intersection(self.cells, M))
        return float(shared @ self.density / M.area), float(shared @ self.speed / M.area)

    def classic(self, measure: Any) -> tuple[float, float]:
        """Classic density, and the mean speed of the people inside: NaN if there is nobody."""
        M = walkable(measure)
        inside = package("shapely").contains_xy(M, self.place)
        return float(inside.sum() / M.area), float(self.speed[inside].mean()) if inside.any() else np.nan


@check_arguments
def voronoi(
    sol: Solution, k: int, area: Any, *, cutoff: Positive | None = None, window: Positive | None = None
) -> Density:
    """Voronoi cells, densities and speeds of the people in one frame.

    Parameters
    ----------
    sol : Solution
        A run of people in the plane.
    k : int
        Number of the saved frame.
    area : polygon, array_like or Plan
        The walkable area as a `shapely.Polygon`, its corners (m, 2), or a plan.
    cutoff : float, optional
        Largest distance of the boundary of a cell from its person. None means no limit.
    window : float, optional
        Time (s) around the frame over which displacements give speeds, as in PedPy, where it is twice the frame step.
        None means five saved frames before and after the frame, and at most 1 s before and after it.

    Returns
    -------
    Density
        The people in the area: their numbers `person` (m,), `place` (m, 2), `cells` (m,) as `shapely.Polygon`,
        `density` (m,) in people per square metre and `speed` (m,). ``over(measure)`` and ``classic(measure)`` give
        density and speed of a measurement area.

    Examples
    --------
    >>> import jostle as jo
    >>> four = jo.Sweeping(q0=[[1, 1], [3, 1], [1, 3], [3, 3]], velocity=[0.0, 0.0], within=jo.Balls([0.2] * 4))
    >>> found = voronoi(jo.solve(four, jo.Venel(), t=0.1, h=0.1), -1, [(0, 0), (4, 0), (4, 4), (0, 4)])
    >>> found.density.tolist(), found.over([(1, 1), (2, 1), (2, 2), (1, 2)])
    ([0.25, 0.25, 0.25, 0.25], (0.25, 0.0))
    """
    return next(_measured(sol, _numbers(sol, k), walkable(area), cutoff, window))


def _numbers(sol: Solution, k: int | slice | Sequence[int] | None) -> Sequence[int]:
    """The numbers of chosen frames, from 0; None chooses all."""
    frames = range(len(planar(sol).t))
    if k is None or isinstance(k, slice):
        return frames if k is None else frames[k]
    return [frames[number] for number in ([k] if isinstance(k, int) else k)]


def _measured(
    sol: Solution, numbers: Sequence[int], W: Any, cutoff: float | None, window: float | None
) -> Iterator[Density]:
    """The Voronoi cells and the speeds of the people in each of these frames."""
    speeds = Speeds(sol.t, planar(sol).q.shape[1], W, numbers, window)
    for k in speeds.over(sol):
        yield _density(speeds.place(k), speeds.of(k), W, cutoff)


def _density(x: Array, speed: Array, W: Any, cutoff: float | None) -> Density:
    """The Voronoi cells of the people at x, NaN for those who are not in the area, with their speeds."""
    shapely = package("shapely")
    person = np.flatnonzero(present(x))
    cells = np.zeros(len(person), dtype=object)
    parts = floors(W)
    here = shapely.intersects_xy(np.array(parts)[:, None], *x[person].T)
    floor = here.argmax(axis=0)
    for number in np.unique(floor):
        some = np.flatnonzero(floor == number)
        cells[some] = _cells(x[person[some]], parts[number], cutoff)
    areas = shapely.area(cells)
    return Density(person, x[person], cells, 1.0 / areas, speed[person])


def _cells(place: Array, W: Any, cutoff: float | None) -> NDArray[Any]:
    """(m,) the cells of people on one floor."""
    shapely = package("shapely")
    cells = shapely.get_parts(shapely.voronoi_polygons(shapely.MultiPoint(place), extend_to=W, ordered=True))
    cells = shapely.intersection(shapely.convex_hull(cells), W)  # in hexagonal packings, round-off folds some cells
    points = shapely.points(place)
    if cutoff is not None:
        cells = shapely.intersection(cells, shapely.buffer(points, cutoff, quad_segs=CIRCLE_QUARTER))
    for i in np.flatnonzero(shapely.get_type_id(cells) != POLYGON):
        parts = shapely.get_parts(cells[i])
        parts = parts[shapely.get_type_id(parts) == POLYGON]
        cells[i] = parts[np.argmin(shapely.distance(parts, points[i]))]
    return np.asarray(cells)


class Densities(NamedTuple):
    """Density and speed in a measurement area at each saved time; see `densities`."""

    t: Array
    classic: Array
    voronoi: Array
    classic_speed: Array
    voronoi_speed: Array


@check_arguments
def densities(
    sol: Solution, area: Any, measure: Any = None, *, cutoff: Positive | None = None, window: Positive | None = None
) -> Densities:
    """Density and speed in a measurement area at each saved time.

    Parameters
    ----------
    sol : Solution
        A run of people in the plane.
    area : polygon, array_like or Plan
        The walkable area as a `shapely.Polygon`, its corners (m, 2), or a plan.
    measure : polygon or array_like, optional
        The measurement area. None means the whole walkable area.
    cutoff : float, optional
        Largest distance of the boundary of a cell from its person. None means no limit.
    window : float, optional
        Time (s) around each frame over which displacements give speeds, as for `voronoi`.

    Returns
    -------
    Densities
        Named tuple of arrays (k,): times `t`, densities `classic` and `voronoi` in people per square metre, speeds
        `classic_speed` (NaN while nobody is inside) and `voronoi_speed`.

    Examples
    --------
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
    for found in _measured(sol, _numbers(sol, None), W, cutoff, window):
        rows.append([*found.classic(M), *found.over(M)])
    classic, classic_speed, voronoi, voronoi_speed = np.array(rows).reshape(-1, 4).T
    return Densities(np.asarray(sol.t), classic, voronoi, classic_speed, voronoi_speed)


# Squares that cover a walkable area, for maps.


SQUARE_TOLERANCE = 1e-9
"""A last column or row that is narrower than this fraction of a square is left out."""


class Grid(NamedTuple):
    """Squares that cover a polygon, row by row."""

    polygon: Any
    x: Array
    y: Array
    squares: NDArray[Any]
    """(s,) part of each square inside the polygon."""
    area: Array
    """(s,) area of the part of each square inside the polygon."""

    @staticmethod
    def over(W: Any, size: float) -> Grid:
        """Squares with a given side that cover a polygon, from its lower left corner on."""
        shapely = package("shapely")
        low, high = np.reshape(W.bounds, (2, 2))
        count = np.maximum(np.ceil((high - low) / size - SQUARE_TOLERANCE), 1).astype(int)
        x, y = (low[axis] + size * np.arange(count[axis] + 1) for axis in (0, 1))
        x0, y0 = (values.ravel() for values in np.meshgrid(x[:-1], y[:-1]))
        x1, y1 = (values.ravel() for values in np.meshgrid(x[1:], y[1:]))
        squares = shapely.intersection(shapely.box(x0, y0, x1, y1), W)
        return Grid(W, x, y, squares, shapely.area(squares))

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.y) - 1, len(self.x) - 1

    @property
    def inside(self) -> Array:
        """(s,) area, NaN where it is zero."""
        return np.where(self.area > 0.0, self.area, np.nan)

    def numbers(self, x: Array) -> Integers:
        """(n,) numbers of the squares that contain the points x (n, 2)."""
        column, row = (
            np.clip(np.searchsorted(edges, places, side="right") - 1, 0, len(edges) - 2)
            for edges, places in zip((self.x, self.y), x.T, strict=True)
        )
        return np.asarray(row * self.shape[1] + column)

    def those_in(self, who: Integers, x: Array) -> tuple[Integers, Integers]:
        """Who of some people at x (m, 2) is in the polygon that the squares cover, and the numbers of their squares."""
        there = package("shapely").intersects_xy(self.polygon, x)
        return who[there], self.numbers(x[there])

    def share(self, found: Density) -> tuple[Any, Any]:
        """Two sparse arrays (s, m): 1 if the person is in the square, and the area that their cell shares with it."""
        from scipy.sparse import csr_array

        shapely = package("shapely")
        size = (len(self.squares), len(found.person))
        here = csr_array((np.ones(size[1]), (self.numbers(found.place), np.arange(size[1]))), shape=size)
        cell, square = shapely.STRtree(self.squares).query(found.cells, predicate="intersects")
        shared = shapely.area(shapely.intersection(found.cells[cell], self.squares[square]))
        return here, csr_array((shared, (square, cell)), shape=size)


# Maps of density and speed: the classic and the Voronoi values in squares that cover the walkable area.


@dataclass(frozen=True, eq=False)
class Map:
    """A quantity on a grid of squares that covers the area; for `pcolormesh(map.x, map.y, map.voronoi)`."""

    x: Array
    y: Array
    area: Array
    classic: Array
    voronoi: Array


@check_arguments
def density_map(
    sol: Solution, k: int | slice | Sequence[int] | None, area: Any, *, size: Positive, cutoff: Positive | None = None
) -> Map:
    """Densities in squares that cover the walkable area, of one frame or the mean over several frames.

    By both definitions the sum over all squares of density times area is the mean number of people, with or without a
    cut-off.

    Parameters
    ----------
    sol : Solution
        A run of people in the plane.
    k : int, slice, sequence of int or None
        Number of a saved frame, or the frames to average over. None means all frames.
    area : polygon, array_like or Plan
        The walkable area as a `shapely.Polygon`, its corners (m, 2), or a plan.
    size : float
        Side of the squares, in the unit of the area (m).
    cutoff : float, optional
        Largest distance of the boundary of a cell from its person. None means no limit.

    Returns
    -------
    Map
        The maps `classic` and `voronoi` (rows, columns), the lowest row first, NaN outside the area, with the edges `x`
        and `y` of the squares and the walkable `area` of each square.

    Examples
    --------
    >>> import jostle as jo
    >>> one = jo.Sweeping(q0=[[0.5, 0.5]], velocity=[0.0, 0.0], within=jo.Balls([0.2]))
    >>> found = density_map(jo.solve(one, jo.Venel(), t=0.1, h=0.1), -1, [(0, 0), (2, 0), (2, 1), (0, 1)], size=1.0)
    >>> found.classic.tolist(), found.voronoi.tolist()
    ([[1.0, 0.0]], [[0.5, 0.5]])
    """
    W = walkable(area)
    return _map(_placed(sol, _numbers(sol, k), W, cutoff), W, size, speeds=False)


def _placed(sol: Solution, numbers: Sequence[int], W: Any, cutoff: float | None) -> Iterator[Density]:
    """The Voronoi cells of the people in each of these frames, without their speeds."""
    for k in numbers:
        q = np.asarray(sol.q[k])
        yield _density(np.where(present(q, W)[:, None], q, np.nan), np.full(len(q), np.nan), W, cutoff)


@check_arguments
def speed_map(
    sol: Solution,
    k: int | slice | Sequence[int] | None,
    area: Any,
    *,
    size: Positive,
    cutoff: Positive | None = None,
    window: Positive | None = None,
) -> Map:
    """Speeds in squares that cover the walkable area, of one frame or the mean over several frames.

    The mean over several frames is taken over the frames in which the square has a speed.

    Parameters
    ----------
    sol, k, area, size, cutoff : Solution, int, polygon, float, float
        The same as for `density_map`.
    window : float, optional
        Time (s) around each frame over which displacements give speeds, as for `voronoi`.

    Returns
    -------
    Map
        The maps `classic` and `voronoi` (rows, columns), NaN outside the area and where nobody is, with the edges `x`
        and `y` of the squares and the walkable `area` of each square.

    Examples
    --------
    >>> import jostle as jo
    >>> one = jo.Sweeping(q0=[[0.5, 0.5]], velocity=[1.5, 0.0], within=jo.Balls([0.2]))
    >>> found = speed_map(jo.solve(one, jo.Venel(), t=0.1, h=0.1), -1, [(0, 0), (2, 0), (2, 1), (0, 1)], size=1.0)
    >>> found.classic.round(9).tolist(), found.voronoi.round(9).tolist()
    ([[1.5, nan]], [[1.5, 1.5]])
    """
    W = walkable(area)
    return _map(_measured(sol, _numbers(sol, k), W, cutoff, window), W, size, speeds=True)


def _map(frames: Iterator[Density], W: Any, size: float, *, speeds: bool) -> Map:
    grid = Grid.over(W, size)
    total, counted = np.zeros((2, len(grid.squares))), np.zeros((2, len(grid.squares)))
    for found in frames:
        classic, voronoi = grid.share(found)
        if speeds:
            sums = np.stack([classic @ found.speed, voronoi @ found.speed])
            weights = np.stack([classic.sum(axis=1), np.where(voronoi.sum(axis=1) > 0.0, grid.area, 0.0)])
        else:
            sums = np.stack([classic.sum(axis=1), voronoi @ found.density])
            weights = np.stack([grid.area, grid.area])
        total += np.divide(sums, weights, out=np.zeros_like(sums), where=weights > 0.0)
        counted += weights > 0.0
    mean = np.divide(total, counted, out=np.full_like(total, np.nan), where=counted > 0.0)
    classic_map, voronoi_map, area = (values.reshape(grid.shape) for values in (*mean, grid.area))
    return Map(grid.x, grid.y, area, classic_map, voronoi_map)


# The fundamental diagram: walking speed over density, measured in an area, and Weidmann's curve.
#
# The points are the Voronoi densities and speeds of a measurement area (Steffen & Seyfried 2010) at saved times. The
# curve of Weidmann (Transporttechnik der Fussgänger, 1993) is the usual reference for walking on level ground,
#
#     v(rho) = v0 (1 - exp(-1.913 (1 / rho - 1 / 5.4))),   v0 = 1.34 m/s.


WEIDMANN_SPEED, WEIDMANN_DECAY, WEIDMANN_DENSITY = 1.34, 1.913, 5.4
"""Free speed (m/s), decay (people per square metre) and largest density (people per square metre) of Weidmann 1993."""


@dataclass(frozen=True, eq=False)
class FundamentalDiagram:
    """Density and speed in an area, at the saved times at which somebody was in it; see `fundamental_diagram`."""

    t: Array
    density: Array
    speed: Array

    @property
    def flow(self) -> Array:
        """(k,) specific flow, density times speed."""
        return self.density * self.speed


@check_arguments
def fundamental_diagram(
    sol: Solution, measure: Any, plan: Any = None, *, window: Positive | None = None
) -> FundamentalDiagram:
    """Density and speed in a measurement area, at the saved times at which somebody is in it.

    Parameters
    ----------
    sol : Solution
        A run of people in the plane.
    measure : polygon or array_like
        The measurement area as a `shapely.Polygon` or its corners (m, 2).
    plan : Plan, optional
        The floor plan. None means the plan of the run.
    window : float, optional
        Time (s) around each frame over which displacements give speeds, as for `voronoi`.

    Returns
    -------
    FundamentalDiagram
        The fields are `t`, the Voronoi `density` (people per square metre), the Voronoi `speed`, and the specific
        `flow`, their product; (k,) each.

    Examples
    --------
    >>> import jostle as jo
    >>> plan = jo.crowds.Plan([(0, 0), (9, 0), (9, 1), (0, 1)], exits={"east": ((9, 0), (9, 1))})
    >>> q0, plain = [[1, 0.5], [2, 0.5], [3, 0.5]], jo.crowds.Plain()
    >>> people = jo.crowds.crowd(3, room=plan, q0=q0, speed=1.2, behaviour=plain)
    >>> found = fundamental_diagram(jo.solve(people, jo.Venel(), t=2.0, h=0.1), [(2, 0), (4, 0), (4, 1), (2, 1)])
    >>> float(found.speed.min().round(6)), bool((found.density > 0.0).all())
    (1.2, True)
    """
    found = densities(sol, known_plan(sol, plan, "fundamental_diagram"), measure, window=window)
    there = found.classic > 0.0
    return FundamentalDiagram(found.t[there], found.voronoi[there], found.voronoi_speed[there])


@check_arguments
def weidmann(density: ArrayLike, *, speed: Positive = WEIDMANN_SPEED) -> Array:
    """The walking speed at a density by Weidmann 1993: `speed` in an empty room, 0 from 5.4 people per square metre on.

    Parameters
    ----------
    density : array_like
        People per square metre, 0 or more.
    speed : float, default 1.34
        Free walking speed (m/s).

    Returns
    -------
    ndarray
        Walking speeds in the unit of `speed`, in the shape of `density`.

    Examples
    --------
    >>> weidmann([0.0, 1.0, 5.4]).round(3).tolist()
    [1.34, 1.058, 0.0]
    """
    rho = finite(density, "density")
    if (rho < 0.0).any():
        raise InvalidValue(f"a density must not be negative, not {rho[rho < 0.0].flat[0]}")
    with np.errstate(divide="ignore"):
        found = speed * (1.0 - np.exp(-WEIDMANN_DECAY * (1.0 / rho - 1.0 / WEIDMANN_DENSITY)))
    return np.asarray(np.maximum(found, 0.0))


# Levels of service A (free) to F (jammed), by the density of people.
#
# They are those of Fruin, Pedestrian Planning and Design, 1971: the area for each person in square feet, converted to
# people per square metre.


SQUARE_FOOT = 0.3048**2
"""A square foot in square metres."""
FRUIN_AREAS = {"walkways": (35, 25, 15, 10, 5), "stairs": (20, 15, 10, 7, 4), "queues": (13, 10, 7, 3, 2)}
"""Smallest area for each person, in square feet, of the levels A to E (Fruin 1971)."""
FRUIN = {use: tuple(1.0 / (feet * SQUARE_FOOT) for feet in areas) for use, areas in FRUIN_AREAS.items()}
"""Largest density of the levels A to E, in people per square metre."""
LEVELS = "ABCDEF"
"""Names of the levels of service."""


@check_arguments
def level_of_service(density: ArrayLike, *, use: str = "walkways") -> NDArray[np.str_]:
    """The level of service A (free) to F (jammed) of densities, by Fruin 1971.

    Parameters
    ----------
    density : array_like
        People per square metre, 0 or more.
    use : str, default "walkways"
        "walkways", "stairs" or "queues".

    Returns
    -------
    ndarray of str
        The levels, in the shape of `density`; '' where the density is NaN.

    Examples
    --------
    >>> level_of_service([0.2, 1.0, 3.0]).tolist(), level_of_service(3.0, use="queues").tolist()
    (['A', 'D', 'F'], 'D')
    """
    if use not in FRUIN:
        raise InvalidValue(f"use must be one of {', '.join(map(repr, FRUIN))}, not {use!r}")
    values = numbers(density, "density")
    if (values < 0.0).any():
        raise InvalidValue(f"a density must not be negative, not {values[values < 0.0].flat[0]}")
    number = np.searchsorted(FRUIN[use], values)  # a limit belongs to the better level
    return np.where(np.isnan(values), "", np.array(list(LEVELS))[np.minimum(number, len(LEVELS) - 1)])


# Maps of a crowd over a whole run: mean and worst density, speed and jam time.
#
# The densities are Voronoi densities in squares (see `jostle.crowds.measure.crowding`), at evenly spaced saved times.


SMALLEST_SHARE = 0.3
"""Smallest walkable fraction of a square that has a density."""
MAP_FRAMES = 40
"""Default number of saved times that a map looks at."""


@dataclass(frozen=True, eq=False)
class CrowdMaps:
    """Maps of a run on a grid of squares, for `pcolormesh(maps.x, maps.y, maps.worst)`; see `crowd_maps`."""

    x: Array
    y: Array
    mean: Array
    worst: Array
    when: Array
    speed: Array
    jammed: Array

    @property
    def peak(self) -> tuple[float, float, tuple[float, float]]:
        """The largest density, its time, and the middle of its square; NaN if nobody was in the area."""
        if not np.isfinite(self.worst).any() or not np.nanmax(self.worst) > 0.0:
            return np.nan, np.nan, (np.nan, np.nan)
        row, column = np.unravel_index(np.nanargmax(self.worst), self.worst.shape)
        place = (self.x[column : column + 2].mean(), self.y[row : row + 2].mean())
        return float(self.worst[row, column]), float(self.when[row, column]), (float(place[0]), float(place[1]))


@check_arguments
def crowd_maps(
    sol: Solution, plan: Any = None, *, size: Positive = 1.0, frames: Count = MAP_FRAMES, counted: bool = False
) -> CrowdMaps:
    """Maps of density, speed and jam time over a whole run, in squares that cover a floor plan.

    Densities and speeds are means over saved times that are evenly spaced from start to end, of people whose reaction
    time is over, outside of areas of the plan in which nobody is counted. Voronoi densities take about 0.1 ms for each
    person and time.

    Parameters
    ----------
    sol : Solution
        A run of people in the plane.
    plan : Plan, optional
        The floor plan. None means the plan of the run.
    size : float, default 1.0
        Side of the squares, in the unit of the plan (m).
    frames : int, default 40
        Number of saved times to look at.
    counted : bool, default False
        True divides the number of people in a square by its area, instead of Voronoi densities.

    Returns
    -------
    CrowdMaps
        Maps (rows, columns) of the `mean` and the `worst` density over the times looked at, the time `when` it
        occurred, the mean `speed` (NaN where nobody was) and the time `jammed` in the whole run (person-seconds per
        square metre), with the edges `x` and `y` of the squares; NaN outside and in squares that are hardly walkable.
        `peak` is the largest density with its time and place.

    Examples
    --------
    >>> import jostle as jo
    >>> plan = jo.crowds.Plan([(0, 0), (4, 0), (4, 2), (0, 2)], exits={"east": ((4, 0.5), (4, 1.5))})
    >>> sol = jo.solve(jo.crowds.crowd(6, radius=0.2, room=plan, speed=1.2), jo.Venel(), t=1.0, h=0.05)
    >>> maps = crowd_maps(sol, size=2.0)
    >>> maps.worst.shape, bool(maps.peak[0] >= 6 / 8), bool((maps.mean <= maps.worst).all())
    ((1, 2), True, True)
    """
    known = known_plan(sol, plan, "crowd_maps")
    mapped = Mapped(sol, known, size, frames, counted=counted)
    watch(sol, known, mapped)
    return mapped.maps


class Mapped:
    """The maps of a run, found while the steps of people are watched."""

    def __init__(self, sol: Solution, plan: Any, size: float, frames: int, *, counted: bool):
        self.W, self.t, self.counted = walkable(plan), np.asarray(sol.t), counted
        self.grid = Grid.over(_measured_part(self.W, plan), size)
        self.usable = self.grid.area >= SMALLEST_SHARE * size**2
        self.looked_at = np.unique(np.linspace(0, len(self.t) - 1, min(frames, len(self.t))).round().astype(int))
        self.speeds = Speeds(self.t, planar(sol).q.shape[1], self.W, self.looked_at.tolist())
        self.total, self.worst, self.speed, self.there, self.jammed = np.zeros((5, len(self.grid.squares)))
        self.when, self.k = np.full(len(self.grid.squares), np.nan), -1
        reaction = crowd_facts(sol).reaction
        self.late = np.zeros(sol.q.shape[1]) if reaction is None else reaction

    def see(self, frame: Frame, here: Booleans, steps: Sequence[Step]) -> None:
        """Add the jams of the steps, and the densities of the frames whose speeds are known by now."""
        squares = len(self.grid.squares)
        for step in steps:
            who = np.flatnonzero(step.jammed)
            who, square = self.grid.those_in(who, step.place[who])
            self.jammed += np.bincount(square, step.dt[who], squares)
        self.k += 1
        for k in self.speeds.see(self.k, frame):
            self._look(k)

    def _look(self, k: int) -> None:
        x, fast = self.speeds.place(k), self.speeds.of(k)
        here = np.flatnonzero(present(x))
        if len(here) == 0:
            return
        leaving = self.late <= self.t[k]
        who, square = self.grid.those_in(here[leaving[here]], x[here[leaving[here]]])
        squares = len(self.grid.squares)
        if self.counted:
            rho = np.bincount(square, minlength=squares) / self.grid.inside
        else:
            found = _density(x, fast, self.W, None)
            rho = (self.grid.share(found)[1] @ np.where(leaving[found.person], found.density, 0.0)) / self.grid.inside
        self.total += np.nan_to_num(rho)
        larger = rho > self.worst
        self.worst, self.when = np.where(larger, rho, self.worst), np.where(larger, self.t[k], self.when)
        self.speed += np.bincount(square, fast[who], squares)
        self.there += np.bincount(square, minlength=squares)

    @property
    def maps(self) -> CrowdMaps:
        """The maps."""
        speed = np.divide(self.speed, self.there, out=np.full_like(self.speed, np.nan), where=self.there > 0.0)
        layers = (self.total / len(self.looked_at), self.worst, self.when, speed, self.jammed / self.grid.inside)
        shaped = (np.where(self.usable, layer, np.nan).reshape(self.grid.shape) for layer in layers)
        return CrowdMaps(self.grid.x, self.grid.y, *shaped)


def _measured_part(W: Any, plan: Any) -> Any:
    """The walkable area without the areas in which nobody is counted."""
    shapely = package("shapely")
    left_out = [shapely.Polygon(one.corners) for one in getattr(plan, "areas", {}).values() if not one.counts]
    return shapely.difference(W, shapely.union_all(left_out)) if left_out else W
