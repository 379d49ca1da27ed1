"""Who left, and when; and the journey of each person: travel time, distance walked, time lost, time in jams."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from jostle._tools.arguments import check_arguments
from jostle._tools.arrays import Array, Booleans, Integers
from jostle.crowds.measure.moves import MAX_WALKING_ON, Move, fastest, known_moves, moves, planar
from jostle.crowds.model.facts import crowd_facts
from jostle.errors import InvalidValue
from jostle.plans.links import paces
from jostle.plans.openings import named_openings
from jostle.plans.outlines import a_segment, distance_to
from jostle.plans.plan import Plan, floors, present, walkable
from jostle.plans.stored import plan_of
from jostle.result.solution import Solution

# Who crossed a line, when, and the flow.
#
# Between two saved frames people walk straight on, leave, or take stairs, which does not count as a walk across what
# lies between: see `crowds.measure.moves`. With t_1 <= ... <= t_N the times at which N people pass a line of width b
# for the first time (Seyfried et al. 2009; N(t) as in PedPy's `compute_n_t`),
#
#     flow            J = (N - 1) / (t_N - t_1), or the slope of the least-squares line through (t_i, i)
#     specific flow   J_s = J / b


END_TOLERANCE = 1e-12
"""Fraction of its length by which a line is extended at both ends, to allow for round-off."""


@dataclass(frozen=True, eq=False)
class Crossings:
    """The crossings of a line, in order of time; see `crossings`."""

    t: Array
    person: Integers
    direction: Integers
    place: Array

    def __len__(self) -> int:
        return len(self.t)


@check_arguments
def crossings(sol: Solution, line: Any, *, plan: Plan | None = None) -> Crossings:
    """When, where and in which direction people cross a line segment.

    A person has crossed the line once they are beyond it; a person who stops on the line, or turns back there, has not.

    Parameters
    ----------
    sol : Solution
        A run of people in the plane.
    line : array_like, shape (2, 2), or line
        The two ends of the segment, ((x, y), (x, y)), a `shapely.LineString` or a `pedpy.MeasurementLine`.
    plan : Plan, optional
        A plan with stairs, on which people change floors. None means the plan of the run.

    Returns
    -------
    Crossings
        One entry for each crossing, in order of time: `t`, `person`, `direction` and `place` (m, 2) on the line. The
        direction is +1 from the left to the right of the line, seen from its first end to its second, and -1 back. The
        door of a `Room` whose ends run counter-clockwise around it is left in direction +1.

    Examples
    --------
    >>> import jostle as jo
    >>> walker = jo.Sweeping(q0=[[0.0, 0.0]], velocity=[1.0, 0.0], within=jo.Balls([0.2]))
    >>> found = crossings(jo.solve(walker, jo.Venel(), t=1.0, h=0.1), ((0.25, -1), (0.25, 1)))
    >>> found.t.round(9).tolist(), found.person.tolist(), found.direction.tolist()
    ([0.25], [0], [1])
    """
    first, along, length = _segment(line)
    right = np.array([along[1], -along[0]])
    side: Array | None = None
    found = []
    for move in known_moves(sol, plan):
        height = [(x - first) @ right for x in (move.before, move.after)]
        was, now = (np.nan_to_num(np.sign(h)) for h in height)
        side = was if side is None else np.where(move.landed, was, side)
        person = np.flatnonzero(side * now < 0.0)
        part = height[0][person] / (height[0] - height[1])[person]
        place = move.before[person] + part[:, None] * (move.after - move.before)[person]
        at = (place - first) @ along
        on = np.abs(at - length / 2.0) <= (0.5 + END_TOLERANCE) * length
        found.append((move.time(person, part)[on], person[on], now[person][on], place[on]))
        side = np.where(now != 0.0, now, side)
    if not found:
        return Crossings(np.zeros(0), np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64), np.zeros((0, 2)))
    t, who, direction, place = (np.concatenate(column) for column in zip(*found, strict=True))
    order = np.argsort(t, kind="stable")
    return Crossings(t[order], who[order], direction[order].astype(np.int64), place[order])


def _segment(line: Any) -> tuple[Array, Array, float]:
    ends = a_segment(line, "line")
    length = float(np.linalg.norm(ends[1] - ends[0]))
    return ends[0], (ends[1] - ends[0]) / length, length


@dataclass(frozen=True, eq=False)
class Flow:
    """The number of people who passed a line over time; see `flow`."""

    t: Array
    count: Integers
    passed: Array
    mean: float
    slope: float
    width: float

    @property
    def specific(self) -> float:
        """J_s in people per second and metre of width."""
        return self.mean / self.width


@check_arguments
def flow(sol: Solution, line: Any, *, direction: int = 0, plan: Plan | None = None) -> Flow:
    """The number of people who have passed a line as a function of time, and the flow through it.

    Parameters
    ----------
    sol : Solution
        A run of people in the plane.
    line : array_like, shape (2, 2), or line
        The two ends of the line, ((x, y), (x, y)), a `shapely.LineString` or a `pedpy.MeasurementLine`.
    direction : int, default 0
        +1 or -1 counts only people who cross in this direction (see `crossings`), 0 counts both.
    plan : Plan, optional
        A plan with stairs, on which people change floors. None means the plan of the run.

    Returns
    -------
    Flow
        The fields are the saved times `t` (k,), the number `count` (k,) of people who had passed by then, N(t), the
        sorted times `passed` (N,) at which they passed for the first time, the `mean` flow J = (N - 1) / (t_N - t_1)
        and the `slope` of N(t) in people per second, the `width` of the line, and the `specific` flow J_s per metre.
        Flows are NaN if fewer than two people passed, or all at once.

    Examples
    --------
    >>> import jostle as jo
    >>> file = jo.Sweeping(q0=[[-0.8 * k, 0.0] for k in range(6)], velocity=[1.2, 0.0], within=jo.Balls([0.2] * 6))
    >>> found = flow(jo.solve(file, jo.Venel(), t=10.0, h=0.05), ((2, -1), (2, 1)))
    >>> int(found.count[-1]), round(found.mean, 9), round(found.slope, 9), round(found.specific, 9)
    (6, 1.5, 1.5, 0.75)
    """
    if direction not in (-1, 0, 1):
        raise InvalidValue(f"direction must be +1, -1, or 0 for both, not {direction}")
    crossed = crossings(sol, line, plan=plan)
    chosen = np.full(len(crossed), True) if direction == 0 else crossed.direction == direction
    _, first = np.unique(crossed.person[chosen], return_index=True)
    passed = np.sort(crossed.t[chosen][first])
    count = np.searchsorted(passed, sol.t, side="right")
    mean, slope = _flow(passed), np.nan
    if np.isfinite(mean):
        off = passed - passed.mean()
        slope = float(off @ np.arange(len(passed)) / (off @ off))
    return Flow(np.asarray(sol.t), count, passed, mean, slope, _segment(line)[2])


def _flow(t: Array) -> float:
    """J = (N - 1) / (t_N - t_1); NaN if fewer than two people passed, or all at once."""
    return (len(t) - 1) / float(t[-1] - t[0]) if len(t) > 1 and t[-1] > t[0] else np.nan


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
    steps = moves(sol, left_behind) if polygon is None else known_moves(sol, left_behind)
    for move, person, now in _who_leaves(steps, inside, polygon):
        if polygon is None:
            left[person] = move.end[person]
        else:
            left[person] = move.time(person, _last_crossing(polygon, move.before[person], move.after[person]))
        left[now] = np.inf
    return left


def _who_leaves(steps: Iterable[Move], inside: Booleans, polygon: Any) -> Iterator[tuple[Move, Integers, Booleans]]:
    """Each move, with the numbers of the people who leave an area in it, and (n,) who is inside after it."""
    for move in steps:
        now = present(move.after, polygon) & ~move.gone
        yield move, np.flatnonzero(inside & ~now), now
        inside = now


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


# By which exit each person left, and when: N(t) and the flow of each exit.


NO_PLAN = (
    "the plan of this run is unknown, and so are its exits: give the plan, such as {asked}(sol, plan), or run it "
    "with jo.crowds.crowd or a scenario of kind 'crowd', whose files contain the plan"
)
"""Message for runs whose plan is not known."""
RUNNING_SPEED = 3.0
"""Largest speed of a person between two frames, in m/s."""


@dataclass(frozen=True, eq=False)
class ExitUse:
    """The people who left by one exit, with their times; see `exit_use`."""

    name: str
    width: float
    person: Integers
    t: Array

    @property
    def count(self) -> int:
        """The number of people who left by this exit."""
        return len(self.t)

    @property
    def flow(self) -> float:
        """J in people per second between the first and the last; NaN if fewer than two left, or all at once."""
        return _flow(self.t)

    @property
    def specific(self) -> float:
        """J_s in people per second and metre of width; NaN if J is NaN."""
        return self.flow / self.width

    def passed(self, t: Array) -> Integers:
        """N(t), the number of people who had left by this exit at the times t."""
        return np.searchsorted(self.t, t, side="right")


def known_plan(sol: Solution, plan: Any, asked: str) -> Any:
    """The given plan, or the plan of the run; raises if neither is known."""
    found = plan_of(sol) if plan is None else plan
    if found is None:
        raise InvalidValue(NO_PLAN.format(asked=asked))
    if not getattr(found, "exits", None):
        raise InvalidValue(f"{asked} needs a plan with named exits, such as jo.crowds.Plan, not {plan!r}")
    return found


@check_arguments
def exit_use(sol: Solution, plan: Any = None) -> dict[str, ExitUse]:
    """The people who left by each exit of a floor plan, with their times.

    Everyone is counted once, at the exit that they crossed last before they left the plan. The path of a person between
    two frames is taken as straight. If it misses all exits, the exit nearest to its end counts, provided that they
    could run there.

    Parameters
    ----------
    sol : Solution
        A run of people in the plane.
    plan : Plan, optional
        The floor plan. None means the plan of the run.

    Returns
    -------
    dict of str to ExitUse
        For each exit its `name`, its `width`, the numbers `person` (N,) and the times `t` (N,) of the people who left,
        in order of time, their `count`, the `flow` in people per second, and the `specific` flow per metre of width.

    Examples
    --------
    >>> import jostle as jo
    >>> exits = {"west": ((0, 1), (0, 2)), "east": ((9, 1), (9, 2.2))}
    >>> plan = jo.crowds.Plan([(0, 0), (9, 0), (9, 3), (0, 3)], exits=exits)
    >>> people = jo.crowds.crowd(3, radius=0.2, room=plan, q0=[[1, 1], [2, 1], [8, 1]])
    >>> sol = jo.solve(people, jo.Venel(), t=20.0, h=0.05, until=plan.empty)
    >>> [(one.name, one.count, round(one.width, 9)) for one in exit_use(sol).values()]
    [('west', 2, 1.0), ('east', 1, 1.2)]
    """
    known = known_plan(sol, plan, "exit_use")
    left = leaving_times(sol, known)
    names = list(known.exits)
    last, by = np.full(len(left), -np.inf), np.full(len(left), -1)
    for number, ends in enumerate(known.exits.values()):
        found = crossings(sol, ends, plan=known)
        for t, who in zip(found.t, found.person, strict=True):
            if t >= last[who]:
                last[who], by[who] = t, number
    unknown = (by < 0) & np.isfinite(left)
    if unknown.any():
        by[unknown] = _nearest_exits(sol, known)[unknown]
    uses = {}
    for number, name in enumerate(names):
        who = np.flatnonzero((by == number) & np.isfinite(left))
        who = who[np.argsort(left[who], kind="stable")]
        width = float(np.linalg.norm(np.diff(np.asarray(known.exits[name]), axis=0)))
        uses[name] = ExitUse(name, width, who, left[who])
    return uses


def _nearest_exits(sol: Solution, plan: Any) -> Integers:
    """(n,) exit nearest to the end of the path of each person, or -1 if they could not have run there in the time."""
    polygon = walkable(plan)
    inside = present(np.asarray(planar(sol).q[0]), polygon)
    by = np.full(len(inside), -1)
    for move, person, _ in _who_leaves(known_moves(sol, plan), inside, polygon):
        far = distance_to(np.array(list(plan.exits.values()), dtype=float), move.after[person])
        reach = RUNNING_SPEED * (move.end - move.start)[person]
        by[person] = np.where(far.min(axis=0) <= reach, far.argmin(axis=0), -1)
    return by


# The journey of each person: travel time, distance walked, time lost, time in jams.
#
# Between two saved times a person of desired speed v0 walks the distance ds in the time dt; on stairs, v0 is multiplied
# by their pace. With the sums over the intervals from the first in which they moved to the moment at which they left,
#
#     way          sum of ds
#     time loss    sum of max(0, dt - ds / v0)
#     jam time     sum of dt over the intervals with ds / dt < JAM_SPEED v0
#
# A person who has not moved yet, or has not reached their reaction time, waits on purpose: that time counts as `delay`,
# not as lost. People who are pushed by others before their reaction time are not in a jam. The time that people stand
# at stops, in queues and in front of closed gates counts as lost, and as jam time: files do not tell why people stand.


JAM_SPEED = 0.2
"""A person who walks slower than this fraction of their desired speed is in a jam."""
WALKING_SPEED = 0.02
"""A person has begun to walk once they were faster than this fraction of their desired speed."""


@dataclass(frozen=True, eq=False)
class Travel:
    """The journey of each person; see `travel`."""

    start: Array
    delay: Array
    left: Array
    way: Array
    loss: Array
    jammed: Array
    speeds_known: bool

    @property
    def time(self) -> Array:
        """(n,) time from the start to leaving, including the delay; inf for people who did not leave."""
        return self.left - self.start


class Stretch(NamedTuple):
    """One interval between two saved times."""

    start: Array
    """(n,) start of the interval for each person."""
    dt: Array
    """(n,) length of the interval for each person; 0 for people who are not inside."""
    place: Array
    """(n, 2) positions in the middle of the interval."""
    way: Array
    """(n,) distances walked in the interval."""
    speed: Array
    """(n,) desired speeds, which are smaller on stairs."""
    started: Booleans
    """(n,) whether each person has begun to walk, now or before."""
    jammed: Booleans
    """(n,) whether each person is in a jam."""


def desired_speeds(sol: Solution) -> tuple[Array, bool]:
    """(n,) desired speeds, and whether they are known; if not, the fastest speed in the run replaces them."""
    found = crowd_facts(sol).speeds
    if found is not None:
        return found, True
    speed = fastest(sol)
    return np.full(sol.q.shape[1], speed if np.isfinite(speed) else 1.0), False


def stretches(sol: Solution, plan: Any, left: Array) -> Iterator[Stretch]:
    """The intervals between the saved times, for people inside until they leave at the times `left` (n,)."""
    speed, _ = desired_speeds(sol)
    began, reaction = np.zeros(len(left), dtype=bool), crowd_facts(sol).reaction
    late = np.zeros(len(left)) if reaction is None else reaction
    for move in moves(sol, plan):
        longer = np.where(move.gone, MAX_WALKING_ON, 1.0)
        dt = np.clip(np.minimum(move.end, left) - move.start, 0.0, None)
        dt = np.where(np.isfinite(move.before).all(axis=1) & ~np.isnan(left), dt, 0.0)
        rate = np.linalg.norm(move.after - move.before, axis=1) / np.where(
            move.end > move.start, longer * (move.end - move.start), 1.0
        )
        rate = np.nan_to_num(rate)
        place = np.where(move.gone[:, None], move.before, (move.before + move.after) / 2.0)
        free = speed * (1.0 if plan is None else paces(plan.shafts.values(), place, move.after - move.before))
        began |= (dt > 0.0) & (rate > WALKING_SPEED * free) & (move.end > late)
        jammed = began & (dt > 0.0) & (speed > 0.0) & (rate < JAM_SPEED * free)
        yield Stretch(move.start, dt, place, rate * dt, free, began.copy(), jammed)


@check_arguments
def travel(sol: Solution, plan: Any = None) -> Travel:
    """Travel time, distance walked, time lost and time in jams of each person on a floor plan.

    Parameters
    ----------
    sol : Solution
        A run of people in the plane.
    plan : Plan, optional
        The floor plan. None means the plan of the run.

    Returns
    -------
    Travel
        Arrays (n,): `start` (first time at which each person was present, NaN for people who never were), `delay`
        before the first movement, time `left` (inf for people who did not leave, NaN for people who were never inside),
        `way` (distance walked inside), `loss` (time lost compared with the same way at the desired speed, also at stops
        and gates), `jammed` (time in jams), and `time` from start to leaving, with the delay. `speeds_known` tells
        whether the desired speeds are known; if not, the fastest speed in the run replaces them.

    Examples
    --------
    >>> import jostle as jo
    >>> plan = jo.crowds.Plan([(0, 0), (9, 0), (9, 1), (0, 1)], exits={"east": ((9, 0), (9, 1))})
    >>> people = jo.crowds.crowd(2, radius=0.2, room=plan, q0=[[1.0, 0.5], [7.0, 0.5]], speed=[2.0, 1.0])
    >>> found = travel(jo.solve(people, jo.Venel(), t=6.0, h=0.1))
    >>> found.time.round(6).tolist(), found.way.round(6).tolist(), found.loss.round(6).tolist()
    ([4.0, 2.0], [8.0, 2.0], [0.0, 0.0])
    """
    known = known_plan(sol, plan, "travel")
    left = leaving_times(sol, known)
    speed, is_known = desired_speeds(sol)
    n = len(left)
    start, delay, way, loss, jammed = np.full(n, np.nan), np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(n)
    for t, q in zip(sol.t, planar(sol).q, strict=True):
        start[np.isnan(start) & np.isfinite(q).all(axis=1)] = t
    for each in stretches(sol, known, left):
        way += each.way
        delay += np.where(each.started, 0.0, each.dt)
        free = np.divide(each.way, each.speed, out=np.zeros(n), where=speed > 0.0)
        loss += np.where(each.started & (speed > 0.0), np.maximum(each.dt - free, 0.0), 0.0)
        jammed += np.where(each.jammed, each.dt, 0.0)
    return Travel(start, delay, left, way, loss, jammed, is_known)


# Jams: where and when people could not walk at their own speed.


JAM_PEOPLE = 5
"""Smallest number of people at one opening that make a jam."""
JAM_DURATION = 2.0
"""Shortest total duration of a jam (s)."""


@dataclass(frozen=True, eq=False)
class Jam:
    """People who hardly move in front of an opening; see `jams`."""

    opening: str
    people: int
    t: float
    place: Array
    start: float
    end: float
    duration: float


@check_arguments
def jams(sol: Solution, plan: Any = None) -> list[Jam]:
    """The jams at the exits, stairs and doors of a floor plan, the largest first.

    People are in a jam while they are slower than 20 % of their desired speed; each belongs to the opening that is
    nearest in a straight line. A jam has at least 5 people and lasts for at least 2 s in all.

    Parameters
    ----------
    sol : Solution
        A run of people in the plane.
    plan : Plan, optional
        The floor plan. None means the plan of the run.

    Returns
    -------
    list of Jam
        For each jam the nearest `opening`, the largest number of `people` at the same time, its time `t` and the mean
        `place` of these people, the `start`, the `end`, and the `duration` in all, with at least 5 people in the jam.

    Examples
    --------
    >>> import jostle as jo
    >>> plan = jo.crowds.Plan([(0, 0), (5, 0), (5, 4), (0, 4)], exits={"gate": ((5, 1.5), (5, 2.0))})
    >>> people = jo.crowds.crowd(20, radius=0.2, room=plan, speed=1.3)
    >>> sol = jo.solve(people, jo.Venel(), t=8.0, h=0.1)
    >>> [(jam.opening, jam.people >= 10) for jam in jams(sol)]
    [("exit 'gate'", True)]
    """
    known = known_plan(sol, plan, "jams")
    left, openings = leaving_times(sol, known), {one.name: one.ends for one in named_openings(known)}
    best: dict[str, tuple[int, float, Array]] = {}
    spans: dict[str, list[tuple[float, float]]] = {}
    for each in stretches(sol, known, left):
        who = np.flatnonzero(each.jammed)
        if len(who) < JAM_PEOPLE:
            continue
        nearest = distance_to(np.array(list(openings.values())), each.place[who]).argmin(axis=0)
        for number, name in enumerate(openings):
            here = who[nearest == number]
            if len(here) < JAM_PEOPLE:
                continue
            t = float(each.start[here].min())
            spans.setdefault(name, []).append((t, float((each.start + each.dt)[here].max())))
            if len(here) > best.get(name, (0,))[0]:
                best[name] = (len(here), t, each.place[here].mean(axis=0))
    found = []
    for name, (people, t, place) in best.items():
        duration = float(sum(end - start for start, end in spans[name]))
        if duration >= JAM_DURATION:
            found.append(Jam(name, people, t, place, spans[name][0][0], spans[name][-1][1], duration))
    return sorted(found, key=lambda jam: -jam.people)
