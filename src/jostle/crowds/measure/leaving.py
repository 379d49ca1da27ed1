"""Who left, and when; and the journey of each person: travel time, distance walked, time lost, time in jams."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from jostle._tools.arguments import check_arguments
from jostle._tools.arrays import Array, Booleans, Integers
from jostle.crowds.measure.moves import MAX_WALKING_ON, Frame, Move, check_known, fastest, frames_of
from jostle.crowds.model.facts import crowd_facts
from jostle.errors import InvalidValue
from jostle.plans.links import paces
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
    found = Crossed(line)
    for frame in frames_of(sol, plan):
        for move in frame.moves:
            check_known(move)
        found.see(frame, np.zeros(0, dtype=bool), ())
    return found.crossings


class Crossed:
    """The crossings of a line, found while the moves of people are watched."""

    def __init__(self, line: Any):
        self.first, self.along, self.length = _segment(line)
        self.side: Array | None = None
        self.found: list[tuple[Array, Integers, Array, Array]] = []

    def see(self, frame: Frame, here: Booleans, steps: Sequence[Step]) -> None:
        """Note who crosses the line."""
        right = np.array([self.along[1], -self.along[0]])
        for move in frame.moves:
            height = [(x - self.first) @ right for x in (move.before, move.after)]
            was, now = (np.nan_to_num(np.sign(h)) for h in height)
            side = was if self.side is None else np.where(move.landed, was, self.side)
            person = np.flatnonzero(side * now < 0.0)
            part = height[0][person] / (height[0] - height[1])[person]
            place = move.before[person] + part[:, None] * (move.after - move.before)[person]
            at = (place - self.first) @ self.along
            on = np.abs(at - self.length / 2.0) <= (0.5 + END_TOLERANCE) * self.length
            self.found.append((move.time(person, part)[on], person[on], now[person][on], place[on]))
            self.side = np.where(now != 0.0, now, side)

    @property
    def crossings(self) -> Crossings:
        """All crossings, in order of time."""
        nothing = (np.zeros(0), np.zeros(0, dtype=np.int64), np.zeros(0), np.zeros((0, 2)))
        t, who, direction, place = (np.concatenate(column) for column in zip(nothing, *self.found, strict=True))
        order = np.argsort(t, kind="stable")
        return Crossings(t[order], who[order], direction[order].astype(np.int64), place[order])

    @property
    def passed(self) -> Array:
        """The sorted times at which people crossed the line for the first time."""
        return _first(self.crossings)


def _first(crossed: Crossings, chosen: Booleans | slice = slice(None)) -> Array:
    """The sorted times of the first crossing of each person, among chosen ones."""
    _, first = np.unique(crossed.person[chosen], return_index=True)
    return np.sort(crossed.t[chosen][first])


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
    passed = _first(crossed, chosen)
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
    found = Leaving()
    watch(sol, plan_of(sol) if area is None else area, found)
    return found.left


# One pass over the frames of a run, in which all measures watch the same steps of people.


class Step(NamedTuple):
    """What people do between two saved frames, or on one part of their way if somebody takes stairs."""

    move: Move
    inside: Booleans
    """(n,) who is inside at the end."""
    leaves: Integers
    """Numbers of the people who leave."""
    until: Array
    """(n,) end of the step for each person, or the time at which they leave."""
    dt: Array
    """(n,) time that each person spends inside."""
    place: Array
    """(n, 2) positions in the middle of the step."""
    way: Array
    """(n,) distances walked inside."""
    speed: Array
    """(n,) desired speeds, which are smaller on stairs."""
    started: Booleans
    """(n,) whether each person has begun to walk, now or before."""
    jammed: Booleans
    """(n,) whether each person is slower than JAM_SPEED."""


class Watcher(Protocol):
    """A measure of a run that sees its frames, one after the other."""

    def see(self, frame: Frame, here: Booleans, steps: Sequence[Step]) -> None:
        """Take a frame, (n,) who is inside in it, and the steps since the frame before; none for the first frame."""


def watch(sol: Solution, area: Any, *watchers: Watcher) -> None:
    """Show all frames of a run to the watchers, one after the other, and what people do inside an area.

    Each frame is read once. Without an area, everybody who is present is inside.
    """
    polygon = None if area is None else walkable(area)
    reaction, speed = crowd_facts(sol).reaction, desired_speeds(sol)[0]
    late = np.zeros(len(speed)) if reaction is None else reaction
    here, began = np.zeros(len(speed), dtype=bool), np.zeros(len(speed), dtype=bool)
    for frame in frames_of(sol, area):
        steps: list[Step] = []
        for move in frame.moves:
            if polygon is not None:
                check_known(move)
            steps.append(_step(move, here, began, polygon, speed, late, area))
            here, began = steps[-1].inside, steps[-1].started
        here = here if frame.moves else present(frame.q, polygon)
        for one in watchers:
            one.see(frame, here, steps)


def _step(move: Move, here: Booleans, began: Booleans, polygon: Any, speed: Array, late: Array, area: Any) -> Step:
    inside = present(move.after, polygon) & ~move.gone
    leaves, until = np.flatnonzero(here & ~inside), move.end.copy()
    if polygon is not None:
        until[leaves] = move.time(leaves, _last_crossing(polygon, move.before[leaves], move.after[leaves]))
    there = (here | inside) & present(move.before)
    dt = np.where(there, np.maximum(until - move.start, 0.0), 0.0)
    longer = np.where(move.gone, MAX_WALKING_ON, 1.0) * (move.end - move.start)
    rate = np.linalg.norm(move.after - move.before, axis=1) / np.where(longer > 0.0, longer, 1.0)
    rate = np.nan_to_num(rate)
    place = np.where(move.gone[:, None], move.before, (move.before + move.after) / 2.0)
    stairs = area.shafts.values() if isinstance(area, Plan) else ()
    free = speed * (paces(stairs, place, move.after - move.before) if stairs else 1.0)
    started = began | ((dt > 0.0) & (rate > WALKING_SPEED * free) & (move.end > late))
    jammed = started & (dt > 0.0) & (speed > 0.0) & (rate < JAM_SPEED * free)
    return Step(move, inside, leaves, until, dt, place, rate * dt, free, started, jammed)


class Leaving:
    """Who came into an area and left it, when and where, found while the steps of people are watched."""

    came: Array
    """(n,) time at which each person came in; NaN for people who never did."""
    left: Array
    """(n,) time at which each person left for the last time; inf for people who did not leave."""
    end: Array
    """(n, 2) ends of the steps in which people left."""
    reach: Array
    """(n,) distance that each person could run in that step."""

    def see(self, frame: Frame, here: Booleans, steps: Sequence[Step]) -> None:
        """Note who comes and who leaves."""
        if not frame.moves:
            self.came, self.left = np.where(here, frame.t, np.nan), np.where(here, np.inf, np.nan)
            self.end, self.reach = np.zeros_like(frame.q), np.zeros(len(frame.q))
        for step in steps:
            who, move = step.leaves, step.move
            self.left[who], self.end[who] = step.until[who], move.after[who]
            self.reach[who] = RUNNING_SPEED * (move.end - move.start)[who]
            self.left[step.inside] = np.inf
        self.came[here & np.isnan(self.came)] = frame.t


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
    leaving, lines = Leaving(), exit_lines(known)
    watch(sol, known, leaving, *lines.values())
    return uses_of(known, leaving, lines)


def exit_lines(plan: Any) -> dict[str, Crossed]:
    """The crossings of each exit of a plan, to be watched."""
    return {name: Crossed(ends) for name, ends in plan.exits.items()}


def uses_of(plan: Any, leaving: Leaving, lines: Mapping[str, Crossed]) -> dict[str, ExitUse]:
    """Who left by each exit."""
    left = leaving.left
    last, by = np.full(len(left), -np.inf), np.full(len(left), -1)
    for number, line in enumerate(lines.values()):
        found = line.crossings
        for t, who in zip(found.t, found.person, strict=True):
            if t >= last[who]:
                last[who], by[who] = t, number
    unknown = np.flatnonzero((by < 0) & np.isfinite(left))
    if len(unknown):  # the nearest exit, if they could have run there
        far = distance_to(np.array(list(plan.exits.values()), dtype=float), leaving.end[unknown])
        by[unknown] = np.where(far.min(axis=0) <= leaving.reach[unknown], far.argmin(axis=0), -1)
    uses = {}
    for number, (name, line) in enumerate(lines.items()):
        who = np.flatnonzero((by == number) & np.isfinite(left))
        who = who[np.argsort(left[who], kind="stable")]
        uses[name] = ExitUse(name, line.length, who, left[who])
    return uses


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


def desired_speeds(sol: Solution) -> tuple[Array, bool]:
    """(n,) desired speeds, and whether they are known; if not, the fastest speed in the run replaces them."""
    found = crowd_facts(sol).speeds
    if found is not None:
        return found, True
    speed = fastest(sol)
    return np.full(sol.q.shape[1], speed if np.isfinite(speed) else 1.0), False


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
        Arrays (n,): `start` (first saved time at which each person was inside, NaN for people who never were), `delay`
        before the first movement, time `left` (inf for people who did not leave, NaN for people who were never inside),
        `way` (distance walked inside), `loss` (time lost compared with the same way at the desired speed, also at stops
        and gates), `jammed` (time in jams), and `time` from start to leaving, with the delay. `speeds_known` tells
        whether the desired speeds are known; if not, the fastest speed in the run replaces them.

    Examples
    --------
    >>> import jostle as jo
    >>> plan = jo.crowds.Plan([(0, 0), (9, 0), (9, 1), (0, 1)], exits={"east": ((9, 0), (9, 1))})
    >>> people = jo.crowds.crowd(2, radius=0.2, room=plan, q0=[[1.0, 0.5], [7.0, 0.5]], speed=[2.0, 1.0])
    >>> found = travel(jo.solve(people, jo.Venel(), t=6.0, h=0.05))
    >>> found.time.round(6).tolist(), found.way.round(6).tolist(), found.loss.round(6).tolist()
    ([4.0, 2.0], [8.0, 2.0], [0.0, 0.0])
    """
    known = known_plan(sol, plan, "travel")
    leaving, walked = Leaving(), Walked()
    watch(sol, known, leaving, walked)
    return walked.travel(sol, leaving)


class Walked:
    """The sums of `Travel`, found while the steps of people are watched."""

    def see(self, frame: Frame, here: Booleans, steps: Sequence[Step]) -> None:
        """Add the steps to the sums."""
        if not frame.moves:
            self.delay, self.way, self.loss, self.jammed = np.zeros((4, len(frame.q)))
        for step in steps:
            self.way += step.way
            self.delay += np.where(step.started, 0.0, step.dt)
            free = np.divide(step.way, step.speed, out=np.zeros(len(here)), where=step.speed > 0.0)
            lost = step.started & (step.speed > 0.0)
            self.loss += np.where(lost, np.maximum(step.dt - free, 0.0), 0.0)
            self.jammed += np.where(step.jammed, step.dt, 0.0)

    def travel(self, sol: Solution, leaving: Leaving) -> Travel:
        """The journeys of people who left an area."""
        is_known = desired_speeds(sol)[1]
        return Travel(leaving.came, self.delay, leaving.left, self.way, self.loss, self.jammed, is_known)
