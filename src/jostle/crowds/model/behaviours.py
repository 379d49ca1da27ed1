"""How people react to others, each a `Behaviour` around a wish.

No behaviour increases anybody's desired speed, and all of them depend only on the time and on the positions of people.

`Inhibition`, `TimeGap` and `Repulsion` are parts of the collision-free speed model of Tordeux, Chraibi & Seyfried 2016,
equations (3) and (5); `TimeGap` jumps when somebody enters the strip ahead from the side. `Following` and `AvoidJams`
are named by Venel 2010, "Integrating strategies in numerical modelling of crowd motion"; the rules here are our own.

People who touch do not block each other for ever if `TimeGap` wraps a `Repulsion` with a strength above 1, which turns
both so that neither has the other ahead. Behaviours wrap the wish that has the reaction times, so that others walk
around people who still stand.

`BEHAVIOURS` holds the behaviours that scenario files can name.
"""

from __future__ import annotations

import dataclasses
import inspect
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from jostle._tools.arguments import NotNegative, Positive, Truths, check_arguments
from jostle._tools.arrays import Array, Booleans, Integers, alike, contiguous, finite
from jostle._tools.plugins import Registry
from jostle.crowds.model.kernels import gaps_ahead, turned
from jostle.crowds.model.quickest import OTHERS_WEIGHT, OWN_WEIGHT, Quickest
from jostle.crowds.model.walk import check_reaction
from jostle.crowds.model.wish import NEAREST, Behaviour, Wish, polar
from jostle.errors import InvalidValue
from jostle.plans.plan import Plan
from jostle.plans.ways import people_chunks
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
class Sized(Behaviour):
    """A behaviour that knows the radii of people, one for all or one for each."""

    radii: ArrayLike

    def __post_init__(self) -> None:
        super().__post_init__()
        given = finite(self.radii, "radii")
        if not (given > 0.0).all():
            raise InvalidValue(f"radii must be positive; the smallest is {given.min():g}")
        object.__setattr__(self, "radii", given)


class Slowing(Sized):
    """A wish in which people slow down for others ahead of them, v = min(v0, limits), and do not turn."""

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
@dataclass(frozen=True, eq=False)
class Inhibition(Slowing):
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

    Examples
    --------
    >>> import jostle as jo
    >>> east = jo.crowds.FreeWish(lambda t, q: [1.4, 0.0], nearer=lambda q: -q[:, 0])
    >>> wish = Inhibition(east, [0.25, 0.25], T=1.0)
    >>> wish(0.0, np.array([[0.0, 0.0], [1.2, 0.0]])).round(12).tolist()        # 0.7 m are free
    [[0.7, 0.0], [1.4, 0.0]]
    """

    _: KW_ONLY
    T: Positive = TIME_GAP

    def _distance(self, speed: Array) -> float:
        return float(speed.max(initial=0.0)) * self.T

    def _limits(self, found: Ahead, q: Array, goal: Integers, wished: Array, speed: Array) -> tuple[Integers, Array]:
        rank, to = self.wish.order(q, goal)
        count = (to[found.walker] != to[found.other]) | (rank[found.other] < rank[found.walker])
        return found.walker[count], np.maximum(found.gap[count], 0.0) / self.T


@check_arguments
@dataclass(frozen=True, eq=False)
class Following(Slowing):
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

    Examples
    --------
    >>> import jostle as jo
    >>> east = jo.crowds.FreeWish(lambda t, q: [[1.4, 0.0], [0.6, 0.0]], nearer=lambda q: -q[:, 0])
    >>> wish = Following(east, [0.25, 0.25], sight=2.0)
    >>> wish(0.0, np.array([[0.0, 0.0], [1.5, 0.0]])).round(12).tolist()
    [[1.0, 0.0], [0.6, 0.0]]
    """

    _: KW_ONLY
    sight: Positive

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
        A wish with exits, such as ``jo.crowds.walk(plan, ...)``.
    flow : float, default 1.3
        People per second who pass one metre of an exit, positive.

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
            raise InvalidValue(
                "AvoidJams chooses among exits, and the wish has none: give it jo.crowds.walk(plan, ...)"
            )

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


FOLLOWING_TIME = 0.7
"""Default time gap in a crowd (s): a compromise for doors, corners and corridors
(`python benchmarks/behaviours.py --calibrate`)."""
FILE_TIME = 1.0
"""Default time gap in single file (s): speeds are within 0.03 m/s of the regression of Seyfried et al. 2005 from 0.6 to
1.5 m (`python benchmarks/validation.py --only "single file"`)."""
STRIP = 1.0
"""Default width of the strip ahead in which others count, relative to the width of both people."""
LONGEST_STEP = 0.1
"""Longest time step, as a fraction of T, for which flows through doors are within 5 % of those for short steps
(`python benchmarks/behaviours.py`)."""


@check_arguments
@dataclass(frozen=True, eq=False)
class TimeGap(Sized):
    """People keep a time gap to the person ahead: v = min(v0, gap / time), where gap is the distance to that person.

    People in single file keep a longer time gap than people in a crowd. The time is `T` for people who have somebody
    beside them, `T_file` for people who have nobody beside them, and changes linearly in between: see `gaps_ahead`.

    Parameters
    ----------
    wish : Wish
        The wish inside, whose speed is v0.
    radii : float or array_like, shape (n,)
        Radii of people (m), one for all or one for each.
    T : float, default 0.7
        Time gap in a crowd (s), positive.
    T_file : float, default 1.0
        Time gap in single file (s), positive.
    strip : float, default 1.0
        Others count as ahead whose centre is less than `strip` times both radii aside from the direction of walking.

    Examples
    --------
    >>> import jostle as jo
    >>> east = jo.crowds.FreeWish(lambda t, q: [1.4, 0.0], nearer=None)
    >>> wish = TimeGap(east, 0.25, T=0.7, T_file=1.0)
    >>> wish(0.0, np.array([[0.0, 0.0], [1.2, 0.0]])).round(12).tolist()        # 0.7 m are free
    [[0.7, 0.0], [1.4, 0.0]]
    >>> wish(0.0, np.array([[0.0, 0.0], [1.2, 0.0], [0.0, 0.6]])).round(12).tolist()        # the third one is beside
    [[1.0, 0.0], [1.4, 0.0], [1.4, 0.0]]
    """

    _: KW_ONLY
    T: Positive = FOLLOWING_TIME
    T_file: Positive = FILE_TIME
    strip: Positive = STRIP

    @property
    def longest_step(self) -> float:
        return min(self.wish.longest_step, LONGEST_STEP * min(self.T, self.T_file))

    def towards(self, t: float, q: Array, goal: Integers) -> Array:
        speed, direction = polar(self.wish.towards(t, q, goal))
        radii = alike(self.radii, "radii", q[:, 0], "the list of people")
        sight = max(self.T, self.T_file) * float(speed.max(initial=0.0))
        chunks = people_chunks(len(q))
        gap, beside = gaps_ahead(contiguous(q), radii, contiguous(direction), sight, self.strip, chunks)
        T = self.T_file + beside * (self.T - self.T_file)
        return np.asarray(np.minimum(speed, np.maximum(gap, 0.0) / T)[:, None] * direction)


STRENGTH = 2.0
"""Default repulsion of two people who touch, relative to the wish to walk on."""
DECAY = 0.1
"""Default distance over which the repulsion falls by a factor e (m)."""
SIGHT = 6.0
"""Largest gap, in decays, of people who repel each other: beyond it the repulsion is below 1/400 of the strength."""


@check_arguments
@dataclass(frozen=True, eq=False)
class Repulsion(Sized):
    """People turn away from others near them: e0 - sum of strength exp(-gap / decay) n, with the same speed.

    Parameters
    ----------
    wish : Wish
        The wish inside, whose direction is e0.
    radii : float or array_like, shape (n,)
        Radii of people (m), one for all or one for each.
    strength : float, default 2.0
        Repulsion of two people who touch, relative to the wish to walk on; 0 or more.
    decay : float, default 0.1
        Distance over which the repulsion falls by a factor e (m).

    Examples
    --------
    >>> import jostle as jo
    >>> east = jo.crowds.FreeWish(lambda t, q: [1.0, 0.0], nearer=None)
    >>> wish = Repulsion(east, 0.2, strength=1.0)
    >>> wish(0.0, np.array([[0.0, 0.0], [0.0, 0.4], [5.0, 0.0]])).round(2).tolist()    # the first two touch
    [[0.71, -0.71], [0.71, 0.71], [1.0, 0.0]]
    """

    _: KW_ONLY
    strength: NotNegative = STRENGTH
    decay: Positive = DECAY

    def towards(self, t: float, q: Array, goal: Integers) -> Array:
        speed, direction = polar(self.wish.towards(t, q, goal))
        radii = alike(self.radii, "radii", q[:, 0], "the list of people")
        sight, chunks = SIGHT * self.decay, people_chunks(len(q))
        e = turned(contiguous(q), radii, contiguous(direction), self.strength, self.decay, sight, chunks)
        return np.asarray(speed[:, None] * e)


@check_arguments
@dataclass(frozen=True, eq=False)
class Reaction(Behaviour):
    """People do not start to walk before their reaction time (the pre-movement time).

    People who stand may be pushed by others. The wish depends on the time alone, so that a resumed run needs no memory.

    Parameters
    ----------
    wish : Wish
        The wish after the reaction time.
    times : float or array_like, shape (n,)
        Reaction times, in the time of the run (s): one for all or one for each, 0 or more.

    Examples
    --------
    >>> from jostle.crowds.model.wish import FreeWish
    >>> east = FreeWish(lambda t, q: [1.4, 0.0] + 0.0 * q, nearer=None)
    >>> wish = Reaction(east, times=[0.0, 20.0])
    >>> wish(5.0, np.zeros((2, 2))).tolist(), wish(20.0, np.zeros((2, 2))).tolist()
    ([[1.4, 0.0], [0.0, 0.0]], [[1.4, 0.0], [1.4, 0.0]])
    """

    times: Array

    def __post_init__(self) -> None:
        super().__post_init__()
        found = finite(self.times, "times")
        if found.ndim > 1:
            raise InvalidValue(f"reaction times must be one for all or one for each, not {self.times!r}")
        check_reaction(found, "times")
        object.__setattr__(self, "times", found)

    def towards(self, t: float, q: Array, goal: Integers) -> Array:
        wished = self.wish.towards(t, q, goal)
        late = self._late(t, len(q))
        return np.where(late[:, None], 0.0, wished) if late.any() else wished

    def waits(self, t: float, n: int) -> Booleans:
        return self._late(t, n) | self.wish.waits(t, n)

    def _late(self, t: float, n: int) -> Booleans:
        return np.asarray(np.broadcast_to(self.times, (n,)) > t)


def reacting(wish: Wish, times: Array) -> Wish:
    """The wish of people with these reaction times (n,); the same wish if it has reaction times or needs none."""
    if not times.any():
        return wish
    inner = wish
    while isinstance(inner, Behaviour):
        if isinstance(inner, Reaction):
            return wish
        inner = inner.wish
    if isinstance(wish, Behaviour):
        raise InvalidValue(
            f"{type(wish).__name__} wraps a wish without the reaction times of the people: wrap people.wish, or "
            f"Reaction(wish, people.reaction), or give crowd() the behaviour as behaviour="
        )
    return Reaction(wish, times)


@check_arguments
@dataclass(frozen=True, eq=False)
class KnownExits(Behaviour):
    """People without a goal of their own take the nearest of the exits and stairs that they know.

    Unknown exits are infinitely far for them, also for `AvoidJams` around this wish.

    Parameters
    ----------
    wish : Wish
        A wish with exits.
    known : array_like of bool, shape (n, exits and stairs)
        Whether each person knows each exit, in the order of the goals of the wish.

    Examples
    --------
    >>> import jostle as jo
    >>> plan = jo.crowds.Plan([(0, 0), (9, 0), (9, 3), (0, 3)], exits={"a": ((0, 1), (0, 2)), "b": ((9, 1), (9, 2))})
    >>> wish = KnownExits(jo.crowds.walk(plan, radius=0.25), [[True, True], [False, True]])
    >>> wish.chosen(np.array([[1.0, 1.0], [1.0, 2.0]])).tolist()
    [0, 1]
    """

    known: Truths

    def __post_init__(self) -> None:
        super().__post_init__()
        found = np.array(self.known)
        if found.dtype != bool or found.ndim != 2 or found.shape[1] != self.eligible:
            raise InvalidValue(
                f"known must be True or False for each person and each of {self.eligible} exits and stairs, not "
                f"{self.known!r}"
            )
        if not found.any(axis=1).all():
            raise InvalidValue(f"known must have an exit for person {int(np.argmin(found.any(axis=1)))}")
        object.__setattr__(self, "known", found)

    def chosen(self, q: Array) -> Integers:
        first, own = self.wish.chosen(q), self.wish.own(len(q)) != NEAREST
        if own.all():
            return first
        far = self.lengths(q)[: self.eligible]
        return np.where(own | ~np.isfinite(far).any(axis=0), first, far.argmin(axis=0))

    def distance(self, q: Array, goal: Integers) -> Array:
        exits, there = goal < self.eligible, np.arange(len(q))
        known = np.asarray(self.known)[there, np.where(exits, goal, 0)] | ~exits
        return np.where(known | (self.wish.own(len(q)) != NEAREST), self.wish.distance(q, goal), np.inf)

    def lengths(self, q: Array) -> Array:
        far = np.array(self.wish.lengths(q))
        far[: self.eligible][~np.asarray(self.known).T] = np.inf
        return far


ALONE = -1
"""The family of people who are alone."""
SLOWEST = 0.2
"""Smallest fraction of their speed to which people slow down for their family: a person who stops in a corridor might
block the members for whom they wait."""


@check_arguments
@dataclass(frozen=True, eq=False)
class Together(Behaviour):
    """Families walk to the same exit at the speed of their slowest member, and wait for members who fall behind.

    A person whose way is shorter than that of the last member by more than `apart` slows down, to 20 % of their speed
    at twice that distance. People without a goal of their own go where the first member who is still present goes.

    Parameters
    ----------
    wish : Wish
        The wish of the people as if they were alone.
    family : array_like of int, shape (n,)
        Number of the family of each person; -1 for people who are alone.
    apart : float, default 1.5
        Difference in the lengths of their ways (m) from which members ahead slow down.

    Examples
    --------
    >>> import jostle as jo
    >>> plan = jo.crowds.Plan([(0, 0), (9, 0), (9, 3), (0, 3)], exits={"a": ((0, 1), (0, 2)), "b": ((9, 1), (9, 2))})
    >>> wish = Together(jo.crowds.walk(plan, radius=0.25, speed=[1.4, 0.8, 1.2]), [0, 0, -1], apart=1.0)
    >>> wish(0.0, np.array([[4.0, 1.5], [5.0, 1.5], [5.0, 2.0]])).round(1)[:, 0].tolist()
    [-0.8, -0.8, 1.2]
    """

    family: ArrayLike
    _: KW_ONLY
    apart: Positive = 1.5

    def __post_init__(self) -> None:
        super().__post_init__()
        found = np.array(self.family)
        if found.ndim != 1 or found.dtype.kind not in "iu" or (found < ALONE).any():
            raise InvalidValue(
                f"family must be one whole number for each person, -1 for people who are alone: {self.family!r}"
            )
        object.__setattr__(self, "family", found.astype(np.int64))

    def chosen(self, q: Array) -> Integers:
        first = self.wish.chosen(q)
        there = np.isfinite(self.wish.distance(q, first))
        goal, own = first.copy(), self.wish.own(len(q)) != NEAREST
        for members in self._families(there):
            goal[members[~own[members]]] = first[members[0]]
        return goal

    def towards(self, t: float, q: Array, goal: Integers) -> Array:
        wished = self.wish.towards(t, q, goal)
        far = self.wish.distance(q, goal)
        speed = np.linalg.norm(wished, axis=1)
        limit, pace = speed.copy(), self.wish.speeds(len(q))
        for members in self._families(np.isfinite(far)):
            ahead = far[members].max() - far[members]
            part = np.clip(2.0 - ahead / self.apart, SLOWEST, 1.0)
            limit[members] = part * pace[members].min()
        return wished * np.where(speed > limit, limit / np.where(speed > 0.0, speed, 1.0), 1.0)[:, None]

    def _families(self, there: Array) -> list[Integers]:
        """The present members of each family with two or more present members."""
        family = np.asarray(self.family)
        here = np.flatnonzero(there & (family != ALONE))
        here = here[np.argsort(family[here], kind="stable")]
        groups = np.split(here, np.flatnonzero(np.diff(family[here])) + 1)
        return [members for members in groups if len(members) > 1]


def neighbours(q: Array, size: int) -> Integers:
    """(n,) family of each person: families of a given size of people who stand close together; the last may be smaller.

    >>> neighbours(np.array([[0.0, 0.0], [5.0, 0.0], [0.5, 0.0], [5.5, 0.0]]), 2).tolist()
    [0, 1, 0, 1]
    """
    family, left = np.full(len(q), ALONE), np.arange(len(q))
    for number in range(-(-len(q) // size)):
        order = np.argsort(np.linalg.norm(q[left] - q[left[0]], axis=1), kind="stable")
        family[left[order[:size]]] = number
        left = np.sort(left[order[size:]])
    return family


@check_arguments
@dataclass(frozen=True, kw_only=True)
class Pedestrians:
    """The behaviour of people in buildings: `TimeGap` around `Repulsion` around `Quickest`.

    Called with a wish, its plan and the radii of people (n,), it returns the wish with this behaviour.

    Parameters
    ----------
    T : float, default 0.7
        Time gap that people in a crowd keep to the person ahead (s).
    T_file : float, default 1.0
        Time gap that people in single file keep to the person ahead (s).
    strip : float, default 1.0
        Width of the strip ahead in which others count, relative to the width of both people.
    own : float, default 0.8
        Weight of the density of people with the same goal (m2), 0 or more.
    others : float, default 4.0
        Weight of the density of people with other goals and of people who stand (m2), 0 or more.
    strength : float, default 2.0
        Repulsion of two people who touch, relative to the wish to walk on; 0 or more.
    decay : float, default 0.1
        Distance over which the repulsion falls by a factor e (m).

    Examples
    --------
    >>> import jostle as jo
    >>> plan = jo.crowds.Plan([(0, 0), (9, 0), (9, 3), (0, 3)], exits={"east": ((9, 0), (9, 3))})
    >>> people = jo.crowds.crowd(
    ...     2, radius=0.2, speed=1.4, room=plan, q0=[[4.0, 1.5], [4.9, 1.5]], behaviour=Pedestrians(T_file=0.5)
    ... )
    >>> people.wish(0.0, people.q0).round(2).tolist()        # half a metre is free
    [[1.0, 0.0], [1.4, 0.0]]
    """

    T: Positive = FOLLOWING_TIME
    T_file: Positive = FILE_TIME
    strip: Positive = STRIP
    own: NotNegative = OWN_WEIGHT
    others: NotNegative = OTHERS_WEIGHT
    strength: NotNegative = STRENGTH
    decay: Positive = DECAY

    def __call__(self, wish: Wish, plan: Plan, radii: ArrayLike) -> Wish:
        quick = Quickest(wish, plan, radii, own=self.own, others=self.others)
        aside = Repulsion(quick, radii, strength=self.strength, decay=self.decay)
        return TimeGap(aside, radii, T=self.T, T_file=self.T_file, strip=self.strip)


@dataclass(frozen=True)
class Plain:
    """People walk the shortest way at their own speed, and push: the model of Venel 2009, section 4.2.

    Called with a wish, its plan and the radii of people (n,), it returns the wish.

    Examples
    --------
    >>> import jostle as jo
    >>> plan = jo.crowds.Plan([(0, 0), (9, 0), (9, 3), (0, 3)], exits={"east": ((9, 0), (9, 3))})
    >>> places = [[4.0, 1.5], [4.5, 1.5]]
    >>> people = jo.crowds.crowd(2, room=plan, q0=places, behaviour=Plain())
    >>> people.wish(0.0, people.q0).tolist()                # those behind do not care for those in front
    [[1.34, 0.0], [1.34, 0.0]]
    """

    def __call__(self, wish: Wish, plan: Plan, radii: ArrayLike) -> Wish:
        return wish


def _check(name: str, item: Any) -> None:
    if not (isinstance(item, type) and dataclasses.is_dataclass(item) and callable(item)):
        raise InvalidValue(f"the behaviour {name!r} must be a dataclass, such as a Behaviour, not {item!r}")


BEHAVIOURS: Registry[Callable[..., Any]] = Registry(
    "jostle.behaviours",
    "behaviour",
    {
        "pedestrians": "jostle.crowds.model.behaviours:Pedestrians",
        "inhibition": "jostle.crowds.model.behaviours:Inhibition",
        "following": "jostle.crowds.model.behaviours:Following",
        "plain": "jostle.crowds.model.behaviours:Plain",
    },
    _check,
)
"""The behaviours that scenario files can name. A package adds one with an entry point of the group "jostle.behaviours",
a script with ``BEHAVIOURS.register("fatigue", Fatigue)``: a `Behaviour`, whose fields except wish, plan and radii are
its options, or a dataclass of options that is called with (wish, plan, radii)."""


def behaving(make: Callable[..., Wish], wish: Wish, plan: Plan, radii: Array) -> Wish:
    """The wish with a behaviour: a function of (wish, plan, radii), or a `Behaviour` class, perhaps with options.

    >>> import jostle as jo
    >>> plan = jo.crowds.Room([(0, 0), (5, 0), (5, 4), (0, 4)], doors=[((5, 1.2), (5, 2.8))])
    >>> behaving(partial(Inhibition, T=0.5), jo.crowds.walk(plan, radius=0.2), plan, np.full(3, 0.2)).T
    0.5
    """
    inner = make.func if isinstance(make, partial) else make
    if not (isinstance(inner, type) and issubclass(inner, Behaviour)):
        return make(wish, plan, radii)
    known = inspect.signature(inner).parameters
    return make(**{name: value for name, value in (("wish", wish), ("plan", plan), ("radii", radii)) if name in known})
