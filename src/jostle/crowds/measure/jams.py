"""Jams: where and when people who want to go the same way hardly move, and what this place is called.

At a time, a jam consists of people with the same goal who are slow although they have begun to walk, as in `leaving`;
each is near another one, with no wall in between (single linkage). It continues in the jam at the next time that has
most people in common with it. Its front is the person with the shortest way to the goal. It is named after the first
opening that this way meets nearby, or else after the area of the plan in which the front stands, or else by the place
of the front.

The goal of a person is the exit that they were given, or else the exit or the stairs with the shortest way.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from jostle._tools.arguments import check_arguments
from jostle._tools.arrays import Array, Booleans, Integers
from jostle.crowds.measure.leaving import Step, known_plan, watch
from jostle.crowds.measure.moves import Frame, radii_in
from jostle.crowds.model.facts import crowd_facts
from jostle.crowds.model.walk import walk
from jostle.crowds.model.wish import NEAREST, Wish
from jostle.plans.openings import named_openings
from jostle.plans.outlines import package
from jostle.result.solution import Solution

JAM_PEOPLE = 5
"""Smallest number of people in a jam."""
JAM_DURATION = 2.0
"""Shortest total duration of a jam (s)."""
JAM_TIME = 20.0
"""Smallest time that people spend in a jam, all together (person-seconds)."""
NEIGHBOURS = 5.0
"""Largest distance between neighbours in a jam, in radii: 1 m between people of 0.2 m."""
BEFORE = 15.0
"""Largest length of the way from the front of a jam to the opening that gives it a name, in radii: 3 m."""
STRIDE = 1.0
"""Length of the straight pieces in which this way is followed, in radii."""
INTERVAL = 0.2
"""Shortest time between two looks at the jams (s)."""
USUAL_RADIUS = 0.2
"""Radius of people (m) where it is unknown."""


@dataclass(frozen=True, eq=False)
class Jam:
    """People who hardly move, near each other and on the same way; see `jams`."""

    at: str
    opening: str
    people: int
    t: float
    place: Array
    start: float
    end: float
    duration: float
    waited: float


@check_arguments
def jams(sol: Solution, plan: Any = None) -> list[Jam]:
    """The jams of a run, the largest first, named by the exits, stairs and doors that they stand before.

    People are in a jam while they are slower than 20 % of their desired speed, after they have begun to walk. A jam has
    at least 5 people with the same goal, each within 1 m of another one (5 radii) with no wall in between. It lasts for
    at least 2 s and 20 person-seconds. People in areas of the plan in which nobody is counted do not belong to jams.

    Parameters
    ----------
    sol : Solution
        A run of people in the plane.
    plan : Plan, optional
        The floor plan. None means the plan of the run.

    Returns
    -------
    list of Jam
        For each jam where it is, `at`, in words: before the first opening within 3 m of its front, in an area of the
        plan, or near a point; the `opening`, or '' if no opening is near; the largest number of `people` at the same
        time, its time `t` and the mean `place` of these people, the `start`, the `end`, the `duration` in all, and the
        person-seconds that people `waited` in it.

    Examples
    --------
    >>> import jostle as jo
    >>> plan = jo.crowds.Plan([(0, 0), (5, 0), (5, 4), (0, 4)], exits={"gate": ((5, 1.5), (5, 2.0))})
    >>> people = jo.crowds.crowd(20, radius=0.2, room=plan, speed=1.3)
    >>> sol = jo.solve(people, jo.Venel(), t=8.0, h=0.05, every=0.2)
    >>> [(jam.at, jam.people >= 10) for jam in jams(sol)]
    [("before exit 'gate'", True)]
    """
    known = known_plan(sol, plan, "jams")
    found = Jamming(sol, known)
    watch(sol, known, found)
    return found.jams


@dataclass
class _Growing:
    """A jam while it lasts."""

    who: Integers
    start: float
    end: float
    duration: float = 0.0
    waited: float = 0.0
    most: int = 0
    t: float = 0.0
    place: Any = None
    front: Any = None
    goal: int = 0


class Jamming:
    """The jams of a run, found while the steps of people are watched."""

    def __init__(self, sol: Solution, plan: Any):
        self.plan, self.now, self.over = plan, list[_Growing](), list[_Growing]()
        radii = radii_in(sol, 0) if len(sol.t) else np.zeros(0)
        self.radius = float(np.median(radii[radii > 0.0])) if (radii > 0.0).any() else USUAL_RADIUS
        self.smallest = float(radii[radii > 0.0].min(initial=self.radius))
        self.assigned, self.looked = crowd_facts(sol).goals, float(sol.t[0]) if len(sol.t) else 0.0
        shapely = package("shapely")
        self.walls = shapely.STRtree(shapely.linestrings(plan.walls))

    @cached_property
    def wish(self) -> Wish:
        """The shortest ways of people."""
        return walk(self.plan, radius=self.smallest, speed=1.0)

    def see(self, frame: Frame, here: Booleans, steps: Sequence[Step]) -> None:
        """Look at the jams, if the last look was INTERVAL before."""
        passed = frame.t - self.looked
        if not steps or passed < INTERVAL * (1.0 - 1e-9):
            return
        self.looked = frame.t
        who = np.flatnonzero(steps[-1].jammed)
        x = steps[-1].place[who]
        for area in self.plan.areas.values():
            if not area.counts:
                who, x = who[out := ~area.contains(x)], x[out]
        continued = []
        for members in self._groups(who, x) if len(who) >= JAM_PEOPLE else ():
            now, place = who[members], x[members]
            shared = [np.isin(one.who, now).sum() / min(len(one.who), len(now)) for one in self.now]
            if shared and max(shared) >= 0.5:
                jam = self.now.pop(int(np.argmax(shared)))
            else:
                jam = _Growing(now, frame.t - passed, frame.t)
            jam.who, jam.end = now, frame.t
            jam.duration += passed
            jam.waited += len(now) * passed
            if len(now) > jam.most:
                goal = self._goals(now, place)
                front = int(self.wish.distance(place, goal).argmin())
                jam.most, jam.t, jam.place = len(now), frame.t, place.mean(axis=0)
                jam.front, jam.goal = place[front], int(goal[front])
            continued.append(jam)
        self.over += self.now
        self.now = continued

    def _goals(self, who: Integers, x: Array) -> Integers:
        """(m,) exit or stairs to which each of some people at x (m, 2) walks."""
        nearest = self.wish.chosen(x)
        if self.assigned is None:
            return nearest
        own = np.where(self.assigned[who] < len(self.plan.exits), self.assigned[who], NEAREST)
        own = np.where(own == NEAREST, nearest, own)
        return np.where(np.isfinite(self.wish.distance(x, own)), own, nearest)

    def _groups(self, who: Integers, x: Array) -> list[Integers]:
        """The members of each jam among slow people at x (m, 2), the largest jam first."""
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components
        from scipy.spatial import cKDTree

        shapely, goal = package("shapely"), self._goals(who, x)
        i, j = cKDTree(x).query_pairs(NEIGHBOURS * self.radius, output_type="ndarray").T
        i, j = i[goal[i] == goal[j]], j[goal[i] == goal[j]]
        parted = self.walls.query(shapely.linestrings(np.stack([x[i], x[j]], axis=1)), predicate="intersects")[0]
        i, j = np.delete(i, parted), np.delete(j, parted)
        _, label = connected_components(coo_array((np.ones(len(i)), (i, j)), shape=(len(x), len(x))), directed=False)
        groups = [np.flatnonzero(label == one) for one in np.flatnonzero(np.bincount(label) >= JAM_PEOPLE)]
        return sorted(groups, key=len, reverse=True)

    @property
    def jams(self) -> list[Jam]:
        """The jams that last long enough, the largest first; those at the same place are one jam."""
        named: dict[tuple[str, str], list[_Growing]] = {}
        for one in [*self.over, *self.now]:
            named.setdefault(self._name(one.front, one.goal), []).append(one)
        found = []
        for (at, opening), same in named.items():
            worst = max(same, key=lambda one: one.most)
            start, end = min(one.start for one in same), max(one.end for one in same)
            duration, waited = sum(one.duration for one in same), sum(one.waited for one in same)
            if duration >= JAM_DURATION * (1.0 - 1e-9) and waited >= JAM_TIME * (1.0 - 1e-9):
                found.append(Jam(at, opening, worst.most, worst.t, worst.place, start, end, duration, waited))
        return sorted(found, key=lambda jam: -jam.people)

    def _name(self, front: Array, goal: int) -> tuple[str, str]:
        """Where a jam is, in words, and the opening before which it is, or ''."""
        shapely, way = package("shapely"), [front]
        for _ in range(round(BEFORE / STRIDE)):
            step = self.wish.towards(0.0, way[-1][None], np.array([goal]))[0]
            if not step.any():
                break
            way.append(way[-1] + STRIDE * self.radius * step / np.linalg.norm(step))
        met = []
        if len(way) > 1:
            line = shapely.LineString(way)
            for one in named_openings(self.plan):
                crossed = line.intersection(shapely.LineString(one.ends))
                if not crossed.is_empty:
                    met.append((float(shapely.line_locate_point(line, crossed.representative_point())), one.name))
        if met:
            return f"before {min(met)[1]}", min(met)[1]
        for name, area in self.plan.areas.items():
            if area.contains(front[None])[0]:
                return f"in {name}", ""
        return f"near ({front[0]:.0f}, {front[1]:.0f})", ""
