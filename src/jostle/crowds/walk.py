"""The wish to walk to an exit along the shortest path, each person with their own speed.

It depends on the positions of people alone, so a resumed run is bit-identical to an uninterrupted one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from jostle._tools.arguments import Positive, check_arguments
from jostle._tools.arrays import Array, Booleans, Integers, finite, shaped
from jostle.crowds.geometry import Geometry
from jostle.crowds.goals import Goal
from jostle.crowds.straight import Straight
from jostle.crowds.ways import Ways
from jostle.crowds.wish import NEAREST, Wish
from jostle.errors import InvalidValue

ALIKE = 0.1
"""Relative difference of radii below which people share the paths of the widest of them."""
FASTEST = 10.0
"""Fastest speed of a person in metres per second: that of a sprinter."""
FASTEST_IN_RADII = 40.0
"""Fastest speed of a person in radii per second, where lengths are not in metres."""


class HasWays(Geometry, Protocol):
    """A plan that finds the shortest paths to its exits."""

    @property
    def convex(self) -> bool:
        """Whether the plan is one convex polygon without obstacles."""

    def ways(
        self,
        radius: float,
        *,
        spacing: float | None = None,
        closed: ArrayLike = (),
        stops: Mapping[str, ArrayLike] | None = None,
    ) -> Ways:
        """The shortest paths of a disc to all exits and stops."""


@dataclass(frozen=True, eq=False)
class Walk(Wish):
    """Everyone walks along the shortest way to the nearest exit, or to their own goal; see `walk`."""

    ways: tuple[Ways, ...]
    group: Integers
    """() or (n,) number of the ways that each person takes."""
    speed: Array
    """() or (n,) desired speeds."""
    goal: Integers
    """() or (n,) number of the goal, or NEAREST."""
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

    def own(self, n: int) -> Integers:
        return np.broadcast_to(self.goal, (n,))

    def speeds(self, n: int) -> Array:
        return np.broadcast_to(self.speed, (n,))

    def widest(self, n: int) -> Array:
        radii = np.array([ways.radius for ways in self.ways])
        return np.broadcast_to(radii[self.group], (n,))

    def chosen(self, q: Array) -> Integers:
        goal = self.own(len(q))
        if (goal != NEAREST).all():
            return goal
        return np.where(goal == NEAREST, self._of_each(lambda ways, x: ways.choice(x), q), goal)

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

    def _of_each(self, find: Callable[[Ways, Array], Integers], q: Array) -> Integers:
        found = np.empty(len(q), dtype=np.int64)
        for ways, some in self._groups(len(q)):
            found[some] = find(ways, q[some])
        return found

    def _groups(self, n: int) -> list[tuple[Ways, slice | Booleans]]:
        if len(self.ways) == 1:
            return [(self.ways[0], slice(None))]
        if len(self.group) != n:
            raise InvalidValue(f"the wish was made for {len(self.group)} people, but q has {n}")
        return [(ways, self.group == k) for k, ways in enumerate(self.ways)]


@check_arguments
def walk(
    plan: HasWays,
    *,
    radius: ArrayLike,
    speed: ArrayLike = 1.0,
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
    radius : float or array_like, shape (n,)
        Radii of people (m), one for all or one for each.
    speed : float or array_like, shape (n,), default 1.0
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

    Raises
    ------
    InvalidValue
        If a goal is unknown, if a radius is not positive, or if a speed is negative or too fast for people.

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
        return Straight(plan, size, pace, numbers(goal, list(plan.exits)))
    widest, group = alike(size)
    ways = tuple(plan.ways(r, spacing=spacing, closed=closed, stops=stops) for r in widest)
    shut = shaped(closed, "closed", -1, 2, 2)
    return Walk(ways, group, pace, numbers(goal, [one.name for one in ways[0].goals]), shut)


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


def check_speed(speed: Array, radii: Array) -> None:
    """Raise, naming the person, if a speed is too fast for people: it was probably given in another unit.

    >>> check_speed(np.array(1.34), np.array(0.25))
    >>> check_speed(np.array(1340.0), np.array(250.0))     # lengths in millimetres
    """
    limit = max(FASTEST, FASTEST_IN_RADII * float(radii.max()))
    fast = np.flatnonzero(speed > limit)
    if len(fast):
        found, who = speed.ravel()[fast[0]], f" of person {fast[0]}" if speed.ndim else ""
        raise InvalidValue(
            f"speed {found:g} m/s{who} is faster than people run, {limit:g} m/s; give speeds in metres per "
            f"second: km/h divided by 3.6, cm/s divided by 100"
        )


def alike(radii: Array) -> tuple[list[float], Integers]:
    """The largest radius of each group of people of similar radii, and the group of each person.

    >>> alike(np.array([0.2, 0.3, 0.21]))
    ([0.21, 0.3], array([0, 1, 0]))
    """
    sizes = np.unique(radii)
    widest: list[float] = []
    for size in sizes[::-1]:
        if not widest or size < (1.0 - ALIKE) * widest[-1]:
            widest.append(float(size))
    widest.reverse()
    return widest, np.searchsorted(widest, radii)


def numbers(goal: str | Sequence[str | None] | None, names: Sequence[str]) -> Integers:
    """The numbers of goals by their names; None is the nearest."""
    given = [goal] if goal is None or isinstance(goal, str) else list(goal)
    known: dict[str | None, int] = {None: NEAREST, **{name: k for k, name in enumerate(names)}}
    for one in given:
        if one not in known:
            raise InvalidValue(f"there is no exit {one!r}; the exits are {', '.join(map(repr, names))}")
    found = np.array([known[one] for one in given])
    return found[0] if goal is None or isinstance(goal, str) else found
