"""Density and speed of a crowd, classic and Voronoi: of each person, and of a measurement area.

The Voronoi cell V_i of a person is the part of the walkable area W that is nearer to them than to anybody else, and, if
a cut-off radius is given, within that radius (a polygon around them). With M a measurement area and |.| the size of an
area,

    of a person    rho_i = 1 / |V_i|                               v_i = |u_i|
    classic        rho_M = N(M) / |M|                              v_M = mean of v_i over the people in M
    Voronoi        rho_M = 1/|M| sum_i |V_i and M| / |V_i|         v_M = 1/|M| sum_i v_i |V_i and M|

(Steffen & Seyfried 2010; the same as in PedPy, Schrödter et al. 2024.) Only people whose centres are in W count. Where
W is not convex, V_i is the part that contains the person, as in PedPy. Without a cut-off the cells of a convex W fill
it. Where W has several polygons, the floors of a plan, people on different floors do not affect each other.

u is the velocity in the step that led to a frame; at the start of a first-order run it is zero.
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
from jostle.io.crowd_runs import planar
from jostle.solution import Solution

CIRCLE_QUARTER = 3
"""Number of sides of a quarter of a cut-off circle, as in PedPy."""
POLYGON = 3
"""Number that shapely gives the geometry type of polygons."""


@dataclass(frozen=True, eq=False)
class Density:
    """The Voronoi cells of one frame; see `density`."""

    person: Integers
    """(m,) numbers of the people in the area."""
    place: Array
    """(m, 2) positions."""
    cells: NDArray[Any]
    """(m,) Voronoi cells, `shapely.Polygon`."""
    density: Array
    """(m,) densities 1 / |V_i| in people per square metre."""
    speed: Array
    """(m,) walking speeds."""

    def over(self, measure: Any) -> tuple[float, float]:
        """Voronoi density and Voronoi speed of a measurement area, given as a polygon or its corners."""
        shapely, M = needed("shapely"), walkable(measure)
        shared = shapely.area(shapely.intersection(self.cells, M))
        return float(shared @ self.density / M.area), float(shared @ self.speed / M.area)

    def classic(self, measure: Any) -> tuple[float, float]:
        """Classic density, and the mean speed of the people inside: NaN if there is nobody."""
        M = walkable(measure)
        inside = needed("shapely").contains_xy(M, self.place)
        return float(inside.sum() / M.area), float(self.speed[inside].mean()) if inside.any() else np.nan


@check_arguments
def density(
    sol: Solution, k: int, area: Any, *, cutoff: float | None = None, quarter: Count = CIRCLE_QUARTER
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
    quarter : int, default 3
        Number of sides of the polygon that approximates a quarter of the cut-off circle.

    Returns
    -------
    Density
        The people in the area: their numbers `person` (m,), `place` (m, 2), `cells` (m,) as `shapely.Polygon`,
        `density` (m,) and `speed` (m,). ``over(measure)`` and ``classic(measure)`` give density and speed of a
        measurement area.

    Raises
    ------
    InvalidValue
        If the cut-off radius is not positive.

    Examples
    --------
    >>> import jostle as jo
    >>> four = jo.Sweeping(q0=[[1, 1], [3, 1], [1, 3], [3, 3]], velocity=[0.0, 0.0], within=jo.Balls([0.2] * 4))
    >>> found = density(jo.solve(four, jo.Venel(), t=0.1, h=0.1), -1, [(0, 0), (4, 0), (4, 4), (0, 4)])
    >>> found.density.tolist(), found.over([(1, 1), (2, 1), (2, 2), (1, 2)])
    ([0.25, 0.25, 0.25, 0.25], (0.25, 0.0))
    """
    return density_of(planar(sol).q[k], sol.u[k], walkable(area), cutoff, quarter)


def density_of(q: Array, u: Array, W: Any, cutoff: float | None, quarter: int) -> Density:
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
    cells = shapely.intersection(shapely.convex_hull(cells), W)  # in hexagonal packings, round-off folds some cells
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
    """(k,) classic density in people per square metre."""
    voronoi: Array
    """(k,) Voronoi density in people per square metre."""
    classic_speed: Array
    """(k,) mean speed of the people inside; NaN while nobody is inside."""
    voronoi_speed: Array
    """(k,) Voronoi speed."""


@check_arguments
def densities(
    sol: Solution, area: Any, measure: Any = None, *, cutoff: float | None = None, quarter: Count = CIRCLE_QUARTER
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
    quarter : int, default 3
        Number of sides of the polygon that approximates a quarter of the cut-off circle.

    Returns
    -------
    Densities
        Named tuple of arrays (k,): times `t`, densities `classic` and `voronoi` in people per square metre, speeds
        `classic_speed` (NaN while nobody is inside) and `voronoi_speed`.

    Raises
    ------
    InvalidValue
        If the cut-off radius is not positive.

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
    for _, q, u in frames(sol, None):
        found = density_of(q, u, W, cutoff, quarter)
        rows.append([*found.classic(M), *found.over(M)])
    classic, classic_speed, voronoi, voronoi_speed = np.array(rows).reshape(-1, 4).T
    return Densities(np.asarray(sol.t), classic, voronoi, classic_speed, voronoi_speed)


def frames(sol: Solution, k: int | slice | Sequence[int] | None) -> Iterator[tuple[int, Array, Array]]:
    """Number, positions and velocities of each chosen frame; None chooses all."""
    planar(sol)
    if k is None:
        yield from ((number, q, u) for number, (q, u) in enumerate(zip(sol.q, sol.u, strict=True)))
        return
    chosen: Iterable[int] = range(len(sol.t))[k] if isinstance(k, slice) else [k] if isinstance(k, int) else k
    for number in chosen:
        yield number, sol.q[number], sol.u[number]
