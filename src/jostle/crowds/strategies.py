"""Strategies: how people react to others, each a `Behaviour` around a wish.

No strategy increases anybody's desired speed. All of them depend only on the positions of people.

    inhibition    v = min(v0, s / T): the collision-free speed model of Tordeux, Chraibi & Seyfried 2016, equation (3)
    following     people slow down behind slower ones    Venel 2010, "Integrating strategies in numerical modelling of
    AvoidJams     people leave a jam for another exit    crowd motion", names both; the rules here are our own
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from jostle._tools.arguments import Positive, check_arguments
from jostle._tools.arrays import Array, Integers, finite
from jostle.crowds.behaviour import Behaviour, polar
from jostle.crowds.wish import NEAREST, Wish
from jostle.errors import InvalidValue
from jostle.sets.balls import Balls

TIME_GAP = 0.6
"""Default time gap T of the inhibition (s): of 0.30, 0.35, ..., 0.80 it gives the flows through doors that are nearest
to experiments (`python benchmarks/doors.py --calibrate`)."""
FLOW = 1.3
"""Default number of people per second and metre of an exit (Seyfried 2009: 1.6 to 2.0; design guides: 1.3)."""
ROUNDS = 4
"""Number of rounds in which the choice of exits is found."""


class Ahead(NamedTuple):
    """Pairs in which the other (m,) is ahead of the walker (m,), and the free distance gap (m,) between them."""

    walker: Integers
    other: Integers
    gap: Array


def ahead(balls: Balls, q: Array, direction: Array, radii: Array, sight: float) -> Ahead:
    """The pairs within sight in which the other's disc meets the strip of the walker's width ahead of the walker.

    Two people who walk the same way may each be ahead of the other, side by side in front of a door. Then the one who
    has the other more straight ahead is behind, and neither is if they are symmetric.

    >>> q, east = np.array([[0.0, 0.0], [2.0, 0.3], [2.0, 1.5]]), np.tile([1.0, 0.0], (3, 1))
    >>> found = ahead(Balls([0.5] * 3), q, east, np.full(3, 0.5), 5.0)
    >>> found.walker.tolist(), found.other.tolist(), found.gap.round(3).tolist()
    ([0], [1], [1.022])
    """
    contacts = balls.linearise(0.0, q, sight)
    i, j = contacts.pairs.T
    (x, y), width = contacts.normals.T, radii[i] + radii[j]
    a, b = direction[i].T, direction[j].T
    apart = contacts.gap + width
    along_i, along_j = x * a[0] + y * a[1], -(x * b[0] + y * b[1])
    before_i = (along_i > 0.0) & (np.abs(x * a[1] - y * a[0]) * apart < width)
    before_j = (along_j > 0.0) & (np.abs(x * b[1] - y * b[0]) * apart < width)
    both = before_i & before_j & (a[0] * b[0] + a[1] * b[1] > 0.0)
    before_i &= ~both | (along_i > along_j)
    before_j &= ~both | (along_j > along_i)
    return Ahead(
        np.concatenate([i[before_i], j[before_j]]),
        np.concatenate([j[before_i], i[before_j]]),
        np.concatenate([contacts.gap[before_i], contacts.gap[before_j]]),
    )


@dataclass(frozen=True, eq=False)
class Slowing(Behaviour):
    """A wish in which people slow down for others ahead of them, v = min(v0, limits), and do not turn."""

    radii: Array
    """() or (n,) radii."""

    def towards(self, t: float, q: Array, goal: Integers) -> Array:
        wished = self.wish.towards(t, q, goal)
        speed, direction = polar(wished)
        each = np.broadcast_to(self.radii, (len(q),))
        found = ahead(Balls(self.radii), q, direction, each, self._distance(speed))
        slowest = speed.copy()
        np.minimum.at(slowest, *self._limits(found, q, goal, wished, speed))
        return slowest[:, None] * direction

    @abstractmethod
    def _distance(self, speed: Array) -> float:
        """Largest distance of people who count as ahead."""

    @abstractmethod
    def _limits(self, found: Ahead, q: Array, goal: Integers, wished: Array, speed: Array) -> tuple[Integers, Array]:
        """Walkers (k,) and the speeds (k,) to which people ahead limit them."""


@check_arguments
def inhibition(wish: Wish, radii: ArrayLike, *, T: float = TIME_GAP) -> Wish:
    """People keep a time gap T to the person ahead: v = min(v0, s / T), where s is the free distance ahead.

    Among people with the same goal, only those who are nearer to it count (`Wish.order`), so that somebody can always
    walk on. People who meet head-on stop; they do not step aside.

    Parameters
    ----------
    wish : Wish
        The wish inside, whose speed is v0.
    radii : float or array_like, shape (n,)
        Radii of people (m), one for all or one for each.
    T : float, default 0.6
        Time gap (s), positive.

    Returns
    -------
    Wish
        The wish with lower speeds and the same directions.

    Raises
    ------
    InvalidValue
        If `wish` is not a `Wish`, or if T is not positive.

    Examples
    --------
    >>> import jostle as jo
    >>> east = jo.crowds.FreeWish(lambda t, q: [1.4, 0.0], nearer=lambda q: -q[:, 0])
    >>> wish = inhibition(east, [0.25, 0.25], T=1.0)
    >>> wish(0.0, np.array([[0.0, 0.0], [1.2, 0.0]])).round(12).tolist()        # 0.7 m are free
    [[0.7, 0.0], [1.4, 0.0]]
    """
    if not finite(T, "T") > 0.0:
        raise InvalidValue(f"T must be positive, not {T}")
    return Inhibition(wish, finite(radii, "radii"), float(T))


@dataclass(frozen=True, eq=False)
class Inhibition(Slowing):
    """See `inhibition`."""

    T: float

    def _distance(self, speed: Array) -> float:
        return float(speed.max(initial=0.0)) * self.T

    def _limits(self, found: Ahead, q: Array, goal: Integers, wished: Array, speed: Array) -> tuple[Integers, Array]:
        rank, to = self.wish.order(q, goal)
        count = (to[found.walker] != to[found.other]) | (rank[found.other] < rank[found.walker])
        return found.walker[count], np.maximum(found.gap[count], 0.0) / self.T


@check_arguments
def following(wish: Wish, radii: ArrayLike, *, sight: float) -> Wish:
    """People slow down behind slower people, gradually from the distance `sight` on.

    The speed is the minimum over the people ahead of w + (v0 - w) s / sight, where s is the free distance and w the
    desired speed of the other person in the same direction.

    Parameters
    ----------
    wish : Wish
        The wish inside, whose speed is v0.
    radii : float or array_like, shape (n,)
        Radii of people (m), one for all or one for each.
    sight : float
        Distance from which people slow down (m), positive.

    Returns
    -------
    Wish
        The wish with lower speeds and the same directions.

    Raises
    ------
    InvalidValue
        If `wish` is not a `Wish`, or if `sight` is not positive.

    Examples
    --------
    >>> import jostle as jo
    >>> east = jo.crowds.FreeWish(lambda t, q: [[1.4, 0.0], [0.6, 0.0]], nearer=lambda q: -q[:, 0])
    >>> wish = following(east, [0.25, 0.25], sight=2.0)
    >>> wish(0.0, np.array([[0.0, 0.0], [1.5, 0.0]])).round(12).tolist()
    [[1.0, 0.0], [0.6, 0.0]]
    """
    if not 0.0 < sight < np.inf:
        raise InvalidValue(f"sight must be positive, not {sight}")
    return Following(wish, finite(radii, "radii"), float(sight))


@dataclass(frozen=True, eq=False)
class Following(Slowing):
    """See `following`."""

    sight: float

    def _distance(self, speed: Array) -> float:
        return self.sight

    def _limits(self, found: Ahead, q: Array, goal: Integers, wished: Array, speed: Array) -> tuple[Integers, Array]:
        _, direction = polar(wished[found.walker])
        own, other = speed[found.walker], np.einsum("md,md->m", wished[found.other], direction)
        theirs = np.clip(other, 0.0, own)
        return found.walker, theirs + (own - theirs) * np.clip(found.gap / self.sight, 0.0, 1.0)


@check_arguments
@dataclass(frozen=True, eq=False)
class AvoidJams(Behaviour):
    """People choose the exit with the shortest expected time: that of the way, or that of the queue if it is longer.

    The queue at an exit are the people who go there and are nearer to it. The choice is found in four rounds, each from
    the mean of the queues in the rounds before. People with a goal of their own keep it.

    Parameters
    ----------
    wish : Wish
        A wish with exits, such as ``plan.walk(...)``.
    flow : float, default 1.3
        People per second who pass one metre of an exit, positive.

    Raises
    ------
    InvalidValue
        If the wish has no exits, or if `flow` is not positive.

    Examples
    --------
    >>> import jostle as jo
    >>> plan = jo.crowds.Plan([(0, 0), (9, 0), (9, 3), (0, 3)], exits={"a": ((0, 1), (0, 2)), "b": ((9, 1), (9, 2))})
    >>> q = np.array([[x, y] for x in (0.5, 1.5, 2.5, 3.5) for y in (0.5, 1.5, 2.5)])
    >>> wish = jo.crowds.walk(plan, radius=0.25, speed=1.4)
    >>> wish.chosen(q).tolist()
    [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]
    >>> AvoidJams(wish).chosen(q).tolist()
    [0, 0, 0, 0, 0, 0, 1, 0, 1, 1, 1, 1]
    """

    flow: Positive = FLOW

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.wish.eligible:
            raise InvalidValue("AvoidJams chooses among exits, and the wish has none: give it plan.walk(...)")
        if not 0.0 < self.flow < np.inf:
            raise InvalidValue(f"flow must be positive and finite (people per metre and second), not {self.flow}")

    def chosen(self, q: Array) -> Integers:
        first = self.wish.chosen(q)
        own = self.wish.own(len(q)) != NEAREST
        far = self.wish.lengths(q)
        there = np.isfinite(far).any(axis=0)
        eligible = self.wish.eligible
        far = far[:eligible]
        widths = np.array([goal.width for goal in self.wish.goals[:eligible]])
        pace = self.wish.speeds(len(q))
        walking = far / np.where(pace > 0.0, pace, 1.0)
        queue, goal = np.zeros_like(far), first
        for number in range(1, ROUNDS + 1):
            for g, ways in enumerate(far):
                before = np.sort(ways[there & (goal == g)])
                queue[g] += (np.searchsorted(before, ways) - queue[g]) / number
            waiting = queue / (self.flow * widths)[:, None]
            best = np.maximum(walking, waiting).argmin(axis=0)
            goal = np.where(there & ~own, best, first)
        return goal
