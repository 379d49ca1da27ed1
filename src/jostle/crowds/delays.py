"""The journey of each person: travel time, distance walked, time lost, time in jams.

Between two saved times a person of desired speed v0 walks the distance ds in the time dt; on stairs, v0 is multiplied
by their pace. With the sums over the intervals from the first in which they moved to the moment at which they left,

    way          sum of ds
    time loss    sum of max(0, dt - ds / v0)
    jam time     sum of dt over the intervals with ds / dt < JAM_SPEED v0

A person who has not moved yet, or has not reached their reaction time, waits on purpose: that time counts as `delay`,
not as lost. People who are pushed by others before their reaction time are not in a jam. The time that people stand at
stops, in queues and in front of closed gates counts as lost, and as jam time: files do not tell why people stand.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from jostle._tools.arguments import check_arguments
from jostle._tools.arrays import Array, Booleans
from jostle.crowds.leaving import distance_to_segment, known_plan, leaving_times, openings_of
from jostle.io.crowd_runs import fastest, planar
from jostle.io.moves import MAX_WALKING_ON, moves
from jostle.result.solution import Solution

JAM_SPEED = 0.2
"""A person who walks slower than this fraction of their desired speed is in a jam."""
WALKING_SPEED = 0.02
"""A person has begun to walk once they were faster than this fraction of their desired speed."""


@dataclass(frozen=True, eq=False)
class Travel:
    """The journey of each person; see `travel`."""

    start: Array
    """(n,) first time at which each person was present; NaN for people who never were."""
    delay: Array
    """(n,) time that each person stood before they first moved."""
    left: Array
    """(n,) time at which each person left; inf for people who did not, NaN for people who were never inside."""
    way: Array
    """(n,) distance that each person walked inside."""
    loss: Array
    """(n,) time that each person lost compared with the same way at the desired speed, also at stops and gates."""
    jammed: Array
    """(n,) time that each person was in a jam."""
    speeds_known: bool
    """Whether the desired speeds are known; if not, the fastest speed in the run replaces them."""

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
    found = sol.facts.speeds
    if found is not None:
        return found, True
    speed = fastest(sol)
    return np.full(sol.q.shape[1], speed if np.isfinite(speed) else 1.0), False


def stretches(sol: Solution, plan: Any, left: Array) -> Iterator[Stretch]:
    """The intervals between the saved times, for people inside until they leave at the times `left` (n,)."""
    speed, _ = desired_speeds(sol)
    began, reaction = np.zeros(len(left), dtype=bool), sol.facts.reaction
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
        free = speed * (1.0 if plan is None else plan.paces(place, move.after - move.before))
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
        Arrays (n,): `start`, `delay` before the first movement, time `left` (inf for people who did not leave), `way`
        (distance walked), `loss` (time lost), `jammed` (time in jams), and `time` from start to leaving. `speeds_known`
        tells whether the desired speeds are known; if not, the fastest speed in the run replaces them.

    Examples
    --------
    >>> import jostle as jo
    >>> plan = jo.crowds.Plan([(0, 0), (9, 0), (9, 1), (0, 1)], exits={"east": ((9, 0), (9, 1))})
    >>> people = jo.crowds.crowd(2, radius=0.2, room=plan, q0=[[1.0, 0.5], [7.0, 0.5]], speed=[2.0, 1.0])
    >>> found = travel(jo.solve(people, jo.Venel(), t=6.0, h=0.1, change=people.changes()))
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
    """Nearest exit, stairs or door."""
    people: int
    """Largest number of people in the jam at the same time."""
    t: float
    """Time of the largest number of people."""
    place: Array
    """(2,) mean position of the people in the jam at that time."""
    start: float
    end: float
    duration: float
    """Total time between start and end for which at least JAM_PEOPLE people were in the jam."""


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
        For each jam the `opening`, the largest number of `people` at the same time, its time `t` and the mean `place`
        of these people, the `start`, the `end`, and the `duration` in all.

    Examples
    --------
    >>> import jostle as jo
    >>> plan = jo.crowds.Plan([(0, 0), (5, 0), (5, 4), (0, 4)], exits={"gate": ((5, 1.5), (5, 2.0))})
    >>> people = jo.crowds.crowd(20, radius=0.2, room=plan, speed=1.3)
    >>> sol = jo.solve(people, jo.Venel(), t=20.0, h=0.05, change=people.changes())
    >>> [(jam.opening, jam.people >= 10) for jam in jams(sol)]
    [("exit 'gate'", True)]
    """
    known = known_plan(sol, plan, "jams")
    left, openings = leaving_times(sol, known), openings_of(known)
    best: dict[str, tuple[int, float, Array]] = {}
    spans: dict[str, list[tuple[float, float]]] = {}
    for each in stretches(sol, known, left):
        who = np.flatnonzero(each.jammed)
        if len(who) < JAM_PEOPLE:
            continue
        far = np.stack([distance_to_segment(each.place[who], ends) for ends in openings.values()])
        nearest = far.argmin(axis=0)
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
