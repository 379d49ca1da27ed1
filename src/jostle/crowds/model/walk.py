"""The wish to walk to an exit along the shortest path, each person with their own speed.

It depends on the positions of people alone, so a resumed run is bit-identical to an uninterrupted one.

In a convex area without obstacles the shortest paths of discs to the exits are known in closed form. The centre of a
disc of radius r passes an exit on the segment that is r away from both of its posts. From a point in front of this
segment the shortest way is straight out. From a point to the side it is the tangent to the circle of radius r around
the nearer post, then an arc of this circle. With s the coordinate of the point along the exit, measured from the post,
and y its height above it,

    d^2 = s^2 + y^2,    turn = atan2(y, s) - arccos(r / d),    length = sqrt(d^2 - r^2) + r turn    where s < r,

and people walk in the direction (sin turn, -cos turn). `ways.Ways` finds the same ways on a grid.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from jostle._tools.arguments import Positive, check_arguments
from jostle._tools.arrays import Array, Booleans, Integers, finite, shaped
from jostle.crowds.model.defaults import RADIUS, SPEED
from jostle.crowds.model.wish import NEAREST, Wish
from jostle.errors import Implausible, InvalidValue, warn
from jostle.plans.plan import Plan
from jostle.plans.ways import FIT, Goal, Ways, goals_of, shortest_paths

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
    def on(plan: Plan) -> Exits:
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


class Shortest(Wish):
    """The wish of people who walk the shortest way to their own goal, or to the nearest exit."""

    speed: Array
    """() or (n,) desired speeds."""
    goal: Integers
    """() or (n,) number of the goal, or NEAREST."""

    def own(self, n: int) -> Integers:
        return np.broadcast_to(self.goal, (n,))

    def speeds(self, n: int) -> Array:
        return np.broadcast_to(self.speed, (n,))

    def chosen(self, q: Array) -> Integers:
        goal = self.own(len(q))
        return goal if (goal != NEAREST).all() else np.where(goal == NEAREST, self._nearest(q), goal)

    @abstractmethod
    def _nearest(self, q: Array) -> Integers:
        """(n,) exit, or stairs, with the shortest way."""


@dataclass(frozen=True, eq=False)
class Straight(Shortest):
    """The wish of people in a convex area without obstacles: the shortest way to the nearest exit, or to their own."""

    plan: Plan
    radius: Array
    """() or (n,) radii."""
    speed: Array
    goal: Integers

    @property
    def goals(self) -> tuple[Goal, ...]:
        return goals_of(self.plan, float(self.radius.max()))

    @property
    def eligible(self) -> int:
        return len(self.plan.exits)

    def widest(self, n: int) -> Array:
        return np.broadcast_to(self.radius, (n,))

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
        # The exit with the shortest way among those that are wide enough, or among all if none is.
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


ALIKE = 0.1
"""Relative difference of radii below which people share the paths of the widest of them."""
FASTEST = 10.0
"""Fastest speed of a person in metres per second: that of a sprinter."""
FASTEST_IN_RADII = 40.0
"""Fastest speed of a person in radii per second, where lengths are not in metres."""
SLOW, WALKING = 0.005, 0.4
"""Slowest and fastest speed of a person who walks, as fractions of the speed of a sprinter."""
LONGEST_PLAN, WIDEST_DOOR = 2500.0, 50.0
"""Longest plan and widest narrowest opening, in widths of a person (1 km and 20 m), that look like metres."""
LONGEST_REACTION = 86_400.0
"""Longest reaction time in seconds: a day."""


@dataclass(frozen=True, eq=False)
class Walk(Shortest):
    """Everyone walks along the shortest way to the nearest exit, or to their own goal; see `walk`."""

    ways: tuple[Ways, ...]
    group: Integers
    """() or (n,) number of the ways that each person takes."""
    speed: Array
    goal: Integers
    shut: Array
    """(k, 2, 2) segments that people do not pass although they could."""

    @property
    def closed(self) -> Array:
        return self.shut

    @property
    def goals(self) -> tuple[Goal, ...]:
        return self.ways[0].goals

    @property
    def eligible(self) -> int:
        return self.ways[0].eligible

    def widest(self, n: int) -> Array:
        radii = np.array([ways.radius for ways in self.ways])
        return np.broadcast_to(radii[self.group], (n,))

    def towards(self, t: float, q: Array, goal: Integers) -> Array:
        way = np.empty((len(q), 2))
        for ways, some in self._groups(len(q)):
            way[some] = ways.directions(q[some], goal[some])
        way *= self.speed[:, None] if self.speed.ndim else self.speed
        return way

    def lengths(self, q: Array) -> Array:
        far = np.empty((len(self.goals), len(q)))
        for ways, some in self._groups(len(q)):
            far[:, some] = ways.lengths(q[some])
        return far

    def distance(self, q: Array, goal: Integers) -> Array:
        far = np.empty(len(q))
        for ways, some in self._groups(len(q)):
            far[some] = ways.length(q[some], goal[some])
        return far

    def _nearest(self, q: Array) -> Integers:
        nearest = np.empty(len(q), dtype=np.int64)
        for ways, some in self._groups(len(q)):
            nearest[some] = ways.choice(q[some])
        return nearest

    def _groups(self, n: int) -> list[tuple[Ways, slice | Booleans]]:
        """The ways of each size of people, and who takes them."""
        if len(self.ways) == 1:
            return [(self.ways[0], slice(None))]
        if len(self.group) != n:
            raise InvalidValue(f"the wish was made for {len(self.group)} people, but q has {n}")
        return [(ways, self.group == k) for k, ways in enumerate(self.ways)]


@check_arguments
def walk(
    plan: Plan,
    *,
    radius: ArrayLike = RADIUS,
    speed: ArrayLike = SPEED,
    goal: str | Sequence[str | None] | None = None,
    spacing: Positive | None = None,
    closed: ArrayLike = (),
    stops: Mapping[str, ArrayLike] | None = None,
) -> Wish:
    """The wish to walk along the shortest path to the nearest exit of a plan, or to a given goal.

    The ways are found on a grid. In a convex plan without `spacing`, `closed` and `stops` they are known in closed
    form.

    Parameters
    ----------
    plan : Plan
        The floor plan.
    radius : float or array_like, shape (n,), default 0.2
        Radii of people (m), one for all or one for each.
    speed : float or array_like, shape (n,), default 1.34
        Desired speeds (m/s), one for all or one for each.
    goal : str or sequence of str, optional
        Name of the exit, the stairs or the stop of all people or of each person. None means the nearest exit.
    spacing : float, optional
        Spacing of the grid (m), at most half the radius. None means a quarter of the radius, or up to half of it on
        very large plans.
    closed : array_like, shape (k, 2, 2), default ()
        Segments that people do not pass although they could, such as a door that they do not know.
    stops : dict of str to array_like, optional
        Points (2,) or segments (2, 2) that may be goals, by name, of `goal` or of a `Journey`.

    Returns
    -------
    Wish
        The wish, with the exits, stairs and stops as goals.

    Examples
    --------
    >>> import jostle as jo
    >>> plan = jo.crowds.Plan([(0, 0), (6, 0), (6, 2), (2, 2), (2, 5), (0, 5)], exits={"north": ((0.4, 5), (1.6, 5))})
    >>> wish = walk(plan, radius=0.25, speed=1.4)
    >>> wish(0.0, np.array([[1.0, 4.0]])).round(6).tolist(), wish.length(np.array([[1.0, 4.0]])).round(1).tolist()
    ([[0.0, 1.4]], [1.0])
    """
    size, pace = sizes_and_speeds(radius, speed)
    if plan.convex and spacing is None and np.size(closed) == 0 and not stops:
        return Straight(plan, size, pace, goal_numbers(goal, list(plan.exits)))
    widest, group = similar_sizes(size)
    ways = tuple(shortest_paths(plan, r, spacing=spacing, closed=closed, stops=stops) for r in widest)
    shut = shaped(closed, "closed", -1, 2, 2)
    return Walk(ways, group, pace, goal_numbers(goal, [one.name for one in ways[0].goals]), shut)


def sizes_and_speeds(radius: ArrayLike, speed: ArrayLike) -> tuple[Array, Array]:
    """Radii and speeds, each () or (n,), checked.

    >>> sizes_and_speeds(0.25, [1.0, 1.5])
    (array(0.25), array([1. , 1.5]))
    """
    size, pace = finite(radius, "radius"), finite(speed, "speed")
    if not (size > 0.0).all() or not (pace >= 0.0).all() or size.ndim > 1 or pace.ndim > 1:
        raise InvalidValue(
            f"radius must be positive and speed not negative, one for all or one for each, not {radius!r} and {speed!r}"
        )
    check_speed(pace, size)
    return size, pace


def _fastest(radii: Array) -> float:
    """The fastest speed of people with these radii, in the unit of their lengths."""
    return max(FASTEST, FASTEST_IN_RADII * float(radii.max()))


def check_speed(speed: Array, radii: Array) -> None:
    """Raise, naming the person, if a speed is too fast for people: it was probably given in another unit.

    >>> check_speed(np.array(1.34), np.array(0.25))
    >>> check_speed(np.array(1340.0), np.array(250.0))     # lengths in millimetres
    """
    limit = _fastest(radii)
    impossible = np.flatnonzero(speed > limit)
    if len(impossible):
        found, who = speed.ravel()[impossible[0]], f" of person {impossible[0]}" if speed.ndim else ""
        raise InvalidValue(
            f"speed {found:g} m/s{who} is faster than people run, {limit:g} m/s; give speeds in metres per "
            f"second: km/h divided by 3.6, cm/s divided by 100"
        )


def warn_of_speeds(speed: Array, radii: Array) -> None:
    """Warn of people who hardly move, or run: a person who stands is possible, and often a mistake.

    >>> warn_of_speeds(np.array([0.6, 2.2]), np.array(0.25))
    """
    limit = _fastest(radii)
    slow, fast = "hardly moves, and may never leave", "runs and does not walk: km/h are divided by 3.6"
    for wrong, what in ((speed < SLOW * limit, slow), (speed > WALKING * limit, fast)):
        some = np.flatnonzero(wrong)
        if len(some):
            who = f"person {some[0]}" if speed.ndim else "everybody"
            warn(f"with the desired speed {speed.ravel()[some[0]]:g} m/s, {who} {what}", Implausible)


def warn_of_units(plan: Plan, radii: Array) -> None:
    """Warn of a plan that is so large for its people that it was probably given in another unit than metres.

    >>> room = Plan([(0, 0), (6, 0), (6, 5), (0, 5)], exits={"east": ((6, 2), (6, 3.2))})
    >>> warn_of_units(room, np.array([0.2]))
    """
    across = 2.0 * float(radii.max())
    length = float(np.ptp(plan.walls.reshape(-1, 2), axis=0).max())
    doors = np.array([*plan.exits.values(), *(link.start for link in plan.links.values()), *plan.doors])
    narrowest = float(np.linalg.norm(doors[:, 1] - doors[:, 0], axis=1).min())
    if length > LONGEST_PLAN * across or narrowest > WIDEST_DOOR * across:
        warn(
            f"the plan is {length:g} m long and its narrowest opening {narrowest:g} m wide, for people {across:g} m "
            f"wide: is it in millimetres or centimetres? Give lengths in metres",
            Implausible,
        )


def check_reaction(times: Array, name: str = "reaction") -> None:
    """Raise, naming the person, if a reaction time is so long that the person does not react: a wrong unit or number.

    >>> check_reaction(np.array([0.0, 120.0]))
    """
    if not ((times >= 0.0) & (times <= LONGEST_REACTION)).all():
        person = int(np.argmin((times >= 0.0) & (times <= LONGEST_REACTION)))
        who = f" for person {person}" if times.ndim else ""
        raise InvalidValue(
            f"{name} is {times.ravel()[person]:g} s{who}; a reaction time must be from 0 to {LONGEST_REACTION:g} s, a "
            f"day: leave people out who never walk"
        )


def similar_sizes(radii: Array) -> tuple[list[float], Integers]:
    """The largest radius of each group of people of similar radii, and the group of each person.

    >>> similar_sizes(np.array([0.2, 0.3, 0.21]))
    ([0.21, 0.3], array([0, 1, 0]))
    """
    sizes = np.unique(radii)
    widest: list[float] = []
    for size in sizes[::-1]:
        if not widest or size < (1.0 - ALIKE) * widest[-1]:
            widest.append(float(size))
    widest.reverse()
    return widest, np.searchsorted(widest, radii)


def goal_numbers(goal: str | Sequence[str | None] | None, names: Sequence[str]) -> Integers:
    """The numbers of goals by their names; None is the nearest."""
    given = [goal] if goal is None or isinstance(goal, str) else list(goal)
    known: dict[str | None, int] = {None: NEAREST, **{name: k for k, name in enumerate(names)}}
    for one in given:
        if one not in known:
            raise InvalidValue(f"there is no exit {one!r}; the exits are {', '.join(map(repr, names))}")
    found = np.array([known[one] for one in given])
    return found[0] if goal is None or isinstance(goal, str) else found
