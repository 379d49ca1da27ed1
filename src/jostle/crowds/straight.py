"""The shortest paths of discs to the exits of a convex area without obstacles, in closed form.

The centre of a disc of radius r passes an exit on the segment that is r away from both of its posts. From a point in
front of this segment the shortest way is straight out. From a point to the side it is the tangent to the circle of
radius r around the nearer post, then an arc of this circle. With s the coordinate of the point along the exit, measured
from the post, and y its height above it,

    d^2 = s^2 + y^2,    turn = atan2(y, s) - arccos(r / d),    length = sqrt(d^2 - r^2) + r turn    where s < r,

and people walk in the direction (sin turn, -cos turn). `ways.Ways` finds the same ways on a grid.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from jostle._tools.arrays import Array, Booleans, Integers
from jostle.crowds.geometry import Geometry
from jostle.crowds.goals import Goal
from jostle.crowds.outlines import shrunk
from jostle.crowds.ways import FIT
from jostle.crowds.wish import NEAREST, Wish

DETOUR = 0.6
"""Upper bound, in radii, of the detour around a post compared with the straight line (pi / 2 - 1)."""


class Way(NamedTuple):
    """Shortest ways around a post, or straight out."""

    sine: Array
    """(n,) sine of the angle from straight out, positive towards the second post."""
    cosine: Array
    tangent: Array
    """(n,) length of the tangent to the circle around the post."""
    height: Array
    """(n,) height above the exit."""

    def length(self, radius: Array) -> Array:
        """(n,) length of the whole way."""
        turn = np.arctan2(np.abs(self.sine), self.cosine)
        return np.where(turn > 0.0, self.tangent + radius * turn, self.height)


class Exits(NamedTuple):
    """One exit, or several, in coordinates along and above them; vectors are complex numbers."""

    along: Any
    """Unit vectors from the first post to the second."""
    outward: Any
    """Unit vectors out of the area."""
    first: Any
    """The coordinates of the first posts along the exits."""
    level: Any
    """The coordinates of the exits along their outward vectors."""
    width: Any

    @staticmethod
    def on(plan: Geometry) -> Exits:
        """All exits of a plan."""
        ends = np.array(list(plan.exits.values())).reshape(-1, 4).view(complex)
        outward = np.array(list(plan.outward.values())).view(complex)[:, 0]
        post, width = ends[:, 0], np.abs(ends[:, 1] - ends[:, 0])
        along = (ends[:, 1] - post) / width
        return Exits(along, outward, (post.conj() * along).real, (post.conj() * outward).real, width)

    def of(self, number: Integers | int) -> Exits:
        """The exit with this number, or one for each number."""
        return Exits(*(values[number] for values in self))

    def each(self) -> list[Exits]:
        """The exits one by one."""
        return [self.of(number) for number in range(len(self.width))]

    def fit(self, radius: Array) -> Booleans:
        """Whether the exit is wide enough for people of this radius."""
        return np.asarray(self.width >= (1.0 + FIT) * 2.0 * radius)

    def chord(self, q: Array, radius: Array) -> Array:
        """(n,) squared straight distance to the segment that a centre passes."""
        s, y = self._across(q)
        half = 0.5 * self.width
        aside = np.maximum(np.abs(s - half) - np.maximum(half - radius, 0.0), 0.0)
        return np.asarray(aside * aside + y * y)

    def way(self, q: Array, radius: Array) -> Way:
        """The shortest paths from points (n, 2) inside; people who are too wide go to the middle of the exit.

        >>> exit = Exits(np.array(1.0), np.array(-1j), np.array(0.0), np.array(0.0), np.array(8.0))
        >>> way = exit.way(np.array([[-3.0, 1.0], [11.0, 1.0], [4.0, 2.0]]), np.array(1.0))
        >>> way.sine.tolist(), way.length(np.array(1.0)).round(6).tolist()
        ([1.0, -1.0, 0.0], [4.570796, 4.570796, 2.0])
        """
        s, y = self._across(q)
        nearer, r = np.minimum(s, self.width - s), np.minimum(radius, 0.5 * self.width)
        square = np.maximum(nearer * nearer + y * y, np.finfo(float).tiny)
        r = np.minimum(r, np.sqrt(square))  # people who overlap a post walk around it
        tangent = np.sqrt(np.maximum(square - r * r, 0.0))  # the maximum allows for round-off in the root above
        aside = nearer < r
        sine = np.where(aside, (y * r - nearer * tangent) / square, 0.0)
        cosine = np.where(aside, (nearer * r + y * tangent) / square, 1.0)
        return Way(np.where(nearer == s, sine, -sine), cosine, tangent, y)

    def _across(self, q: Array) -> tuple[Array, Array]:
        """(n,) coordinates s along the exit and y above it."""
        z = np.ascontiguousarray(q).view(complex)[:, 0].conj()
        return (z * self.along).real - self.first, self.level - (z * self.outward).real


@dataclass(frozen=True, eq=False)
class Straight(Wish):
    """The wish of people in a convex area without obstacles: the shortest way to the nearest exit, or to their own."""

    plan: Geometry
    radius: Array
    """() or (n,) radii."""
    speed: Array
    """() or (n,) desired speeds."""
    goal: Integers
    """() or (n,) number of the exit, or NEAREST."""

    @property
    def goals(self) -> tuple[Goal, ...]:
        widest = float(self.radius.max())
        return tuple(
            Goal(name, shrunk(ends, widest), self.plan.outward[name], float(np.linalg.norm(ends[1] - ends[0])))
            for name, ends in self.plan.exits.items()
        )

    @property
    def eligible(self) -> int:
        return len(self.plan.exits)

    def own(self, n: int) -> Integers:
        return np.broadcast_to(self.goal, (n,))

    def speeds(self, n: int) -> Array:
        return np.broadcast_to(self.speed, (n,))

    def widest(self, n: int) -> Array:
        return np.broadcast_to(self.radius, (n,))

    def chosen(self, q: Array) -> Integers:
        goal = self.own(len(q))
        if (goal != NEAREST).all():
            return goal
        return np.where(goal == NEAREST, self._nearest(q), goal)

    def towards(self, t: float, q: Array, goal: Integers) -> Array:
        out = np.flatnonzero(~self.plan.inside(q))
        if len(out):  # people who have left walk on, away from the nearest exit
            goal = goal.copy()
            goal[out] = np.argmin([one.chord(q[out], np.zeros(())) for one in self._exits.each()], axis=0)
        exits = self._exits.of(goal)
        way = exits.way(q, self.radius)
        way.sine[out], way.cosine[out] = 0.0, 1.0
        found = self.speed * (way.sine * exits.along + way.cosine * exits.outward)
        return np.asarray(found.view(float).reshape(-1, 2))

    def distance(self, q: Array, goal: Integers) -> Array:
        return self._lengths(self._exits.of(goal), q, self.radius)

    def lengths(self, q: Array) -> Array:
        return np.array([self._lengths(one, q, self.radius) for one in self._exits.each()])

    def _lengths(self, exits: Exits, q: Array, radius: Array) -> Array:
        there = self.plan.inside(q) & exits.fit(radius)
        return np.where(there, exits.way(q, radius).length(radius), np.inf)

    @cached_property
    def _exits(self) -> Exits:
        return Exits.on(self.plan)

    def _nearest(self, q: Array) -> Integers:
        """(n,) exit with the shortest way among those that are wide enough, or among all if none is."""
        if self.eligible == 1:
            return np.zeros(len(q), dtype=np.int64)
        each = self._exits.each()
        far = np.array([one.chord(q, self.radius) for one in each])
        fit = np.array([one.fit(self.radius) for one in each]).reshape(len(each), -1)
        if not fit.all():
            far = np.where(fit | ~fit.any(axis=0), far, np.inf)
        nearest = far.argmin(axis=0)
        limit = (np.sqrt(far.min(axis=0)) + DETOUR * self.radius) ** 2
        close = np.flatnonzero((far < limit).sum(axis=0) > 1)
        if len(close):  # the straight distance does not decide which way is shorter
            number, person = np.nonzero(far[:, close] < limit[close])
            size = self.radius[close[person]] if self.radius.ndim else self.radius
            ways = np.full((len(each), len(close)), np.inf)
            ways[number, person] = self._exits.of(number).way(q[close[person]], size).length(size)
            nearest[close] = ways.argmin(axis=0)
        return np.asarray(nearest)
