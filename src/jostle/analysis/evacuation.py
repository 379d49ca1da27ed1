"""Who left, and when: leaving times and the evacuation time."""

from __future__ import annotations

from typing import Any

import numpy as np

from jostle.analysis.crowds import END_TOLERANCE
from jostle.arguments import check_arguments
from jostle.arrays import Array
from jostle.errors import InvalidValue
from jostle.io.areas import floors, present, walkable
from jostle.io.crowd_runs import plan_of, planar
from jostle.io.moves import known, moves
from jostle.solution import Solution


@check_arguments
def leaving_times(sol: Solution, area: Any = None) -> Array:
    """The time at which each person left an area: the last time that they crossed its boundary.

    Without an area, for a run whose plan is not known, a person has left at the first frame without them.

    Parameters
    ----------
    sol : Solution
        A run of people in the plane.
    area : polygon, array_like or Plan, optional
        The area as a `shapely.Polygon`, its corners (m, 2), or a plan. None means the plan of the run.

    Returns
    -------
    ndarray, shape (n,)
        The times; inf for people who did not leave, NaN for people who were never in the area.

    Examples
    --------
    >>> import jostle as jo
    >>> walkers = jo.Sweeping(q0=[[0.5, 0.5], [-9.0, 0.5]], velocity=[1.0, 0.0], within=jo.Balls([0.2, 0.2]))
    >>> sol = jo.solve(walkers, jo.Venel(), t=2.0, h=0.2)
    >>> leaving_times(sol, [(-9, 0), (1.5, 0), (1.5, 1), (-9, 1)]).round(9).tolist()
    [1.0, inf]
    """
    left_behind = plan_of(sol) if area is None else area
    polygon = None if left_behind is None else walkable(left_behind)
    inside = present(np.asarray(planar(sol).q[0]), polygon)
    left = np.where(inside, np.inf, np.nan)
    some = moves(sol, left_behind)
    for move in some if polygon is None else known(some):
        now = present(move.after, polygon) & ~move.gone
        person = np.flatnonzero(inside & ~now)
        if polygon is None:
            left[person] = move.end[person]
        else:
            left[person] = move.time(person, _last_crossing(polygon, move.before[person], move.after[person]))
        inside = now
        left[inside] = np.inf
    return left


def _last_crossing(polygon: Any, before: Array, after: Array) -> Array:
    """(m,) fraction of each path at which it crosses the boundary for the last time; 1 if it does not."""
    outlines = [ring for floor in floors(polygon) for ring in (floor.exterior, *floor.interiors)]
    rings = [np.asarray(ring.coords)[:, :2] for ring in outlines]
    start = np.concatenate([ring[:-1] for ring in rings])
    edge, way = np.concatenate([np.diff(ring, axis=0) for ring in rings]), (after - before)[:, None]
    to = start - before[:, None]
    cross = way[..., 0] * edge[:, 1] - way[..., 1] * edge[:, 0]
    with np.errstate(divide="ignore", invalid="ignore"):
        part = (to[..., 0] * edge[:, 1] - to[..., 1] * edge[:, 0]) / cross
        along = (to[..., 0] * way[..., 1] - to[..., 1] * way[..., 0]) / cross
    met = (np.abs(part - 0.5) <= 0.5 + END_TOLERANCE) & (np.abs(along - 0.5) <= 0.5 + END_TOLERANCE)
    return np.asarray(np.where(met.any(axis=1), np.where(met, part, -np.inf).max(axis=1, initial=-np.inf), 1.0))


@check_arguments
def evacuation_time(sol: Solution, area: Any = None) -> float:
    """The time at which the last person left an area; inf if somebody did not leave it.

    Parameters
    ----------
    sol : Solution
        A run of people in the plane.
    area : polygon, array_like or Plan, optional
        The area as in `leaving_times`. None means the plan of the run.

    Returns
    -------
    float
        The largest of the `leaving_times`.

    Raises
    ------
    InvalidValue
        If nobody was ever in the area, or if people are left at the end and neither the area nor the plan is known.

    Examples
    --------
    >>> import jostle as jo
    >>> room = jo.crowds.Room([(0, 0), (5, 0), (5, 4), (0, 4)], doors=[((5, 1.2), (5, 2.8))])
    >>> sol = jo.solve(jo.crowds.crowd(8, radius=0.25, room=room), jo.Venel(), t=20.0, h=0.05, until=room.empty)
    >>> bool(sol.t[-2] < evacuation_time(sol, room) <= sol.t[-1])
    True
    """
    times = leaving_times(sol, area)
    check_area_is_known(sol, times, area, "evacuation_time")
    if np.isnan(times).all():
        raise InvalidValue("nobody was in the area at any saved time, so there is no evacuation time")
    return float(np.nanmax(times))


def check_area_is_known(sol: Solution, times: Array, area: Any, asked: str) -> None:
    """Raise if, by the leaving times, somebody is left at the end of a run whose plan is not known."""
    stays = np.flatnonzero(times == np.inf)
    if area is None and plan_of(sol) is None and len(stays):
        raise InvalidValue(
            f"person {stays[0]} is present at the end, at {sol.q[-1][stays[0]].tolist()}, and it is not known whether "
            f"that is inside: give the plan or the area, {asked}(sol, plan)"
        )
