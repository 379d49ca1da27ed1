"""What a wish says, and what wraps one.

A wish is a function (t, q) -> (n, 2), the velocity U of the sweeping process (Venel 2009, section 4.2), which also says
who is nearer to their goal, which exits there are, and what can be reached. A behaviour is a wish made from a wish: it
changes where people go (`chosen`) or how they walk there (`towards`), and passes on everything else.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import namedtuple
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from jostle.arrays import Array, Booleans, Integers, numbers
from jostle.crowds.goals import Goal
from jostle.errors import InvalidValue

NEAREST = -1
"""The goal of those who take the nearest exit."""


class Wish(ABC):
    """The velocities that people wish for, with the goals behind them.

    >>> import jostle as jo
    >>> room = jo.crowds.Room([(0, 0), (4, 0), (4, 3), (0, 3)], doors=[((4, 1), (4, 2))])
    >>> wish = room.walk(radius=0.25, speed=1.4)
    >>> isinstance(wish, Wish), [goal.name for goal in wish.goals]
    (True, ['door 0'])
    >>> q = np.array([[1.0, 1.5], [3.0, 1.5]])
    >>> wish(0.0, q).tolist(), wish.length(q).tolist()
    ([[1.4, 0.0], [1.4, 0.0]], [3.0, 1.0])
    """

    @property
    @abstractmethod
    def goals(self) -> tuple[Goal, ...]:
        """Where people can go: exits first, then stairs, then stops."""

    @property
    @abstractmethod
    def eligible(self) -> int:
        """The number of goals, exits and stairs, among which people without a goal of their own choose."""

    @abstractmethod
    def own(self, n: int) -> Integers:
        """(n,) the goal that each person has been given, or NEAREST."""

    @abstractmethod
    def speeds(self, n: int) -> Array:
        """(n,) how fast people wish to walk where nobody is in their way."""

    @abstractmethod
    def widest(self, n: int) -> Array:
        """(n,) the radius of the widest person who can go the way of each; infinite if the wish knows no ways."""

    @abstractmethod
    def chosen(self, q: Array) -> Integers:
        """(n,) the number of the goal that each person walks to now."""

    @abstractmethod
    def towards(self, t: float, q: Array, goal: Integers) -> Array:
        """(n, 2) the wish of people at q if they walk to these goals (n,)."""

    @abstractmethod
    def distance(self, q: Array, goal: Integers) -> Array:
        """(n,) how far it is to these goals (n,); infinite where there is no way, and outside."""

    @abstractmethod
    def lengths(self, q: Array) -> Array:
        """(goals, n) how far it is to each goal; infinite where there is no way, and outside."""

    def __call__(self, t: float, q: Array) -> Array:
        self.remember(t, q)
        return self.towards(t, q, self.chosen(q))

    def remember(self, t: float, q: Array) -> None:  # noqa: B027 - most wishes have nothing to remember
        """Note what people at q have done by the time t, for wishes that depend on it; called before each step."""

    @property
    def remembers(self) -> type[Any] | None:
        """The NamedTuple that `memory` is, for wishes that depend on the past: see `jostle.past.Remembers`."""
        return None

    @property
    def memory(self) -> Any:
        """What `remember` has noted so far; None if the wish depends on the places of people alone."""
        return None

    def remind(self, memory: Any) -> None:  # noqa: B027 - most wishes have nothing to remember
        """Go on with this memory, or start again with None."""

    def waits(self, t: float, n: int) -> Booleans:
        """(n,) who stands of their own accord at the time t, and will walk on later."""
        return np.zeros(n, dtype=bool)

    @property
    def closed(self) -> Array:
        """(k, 2, 2) the doors and exits that nobody passes now."""
        return np.zeros((0, 2, 2))

    @property
    def longest_step(self) -> float:
        """The longest time step with which results are near those of short steps; `solve` warns of longer ones."""
        return np.inf

    def length(self, q: Array) -> Array:
        """(n,) how far it is to the goal that each person walks to; infinite where there is no way, and outside."""
        return self.distance(q, self.chosen(q))

    def order(self, q: Array, goal: Integers | None = None) -> tuple[Array, Integers]:
        """(n,) how far it is, minus infinity for those who have left, and (n,) to which goal: who is before whom."""
        to = self.chosen(q) if goal is None else goal
        far = self.distance(q, to)
        return np.where(np.isfinite(far), far, -np.inf), to


@dataclass(frozen=True, eq=False)
class Behaviour(Wish):
    """A wish that wraps a wish and passes on everything; behaviours replace what they change.

    A behaviour with a memory of its own names its NamedTuple in `notes`, which it gives as `noted` and takes back by
    `note`. The memory of several behaviours around each other has the fields of all of them.

    >>> class Slower(Behaviour):
    ...     def towards(self, t, q, goal):
    ...         return 0.5 * self.wish.towards(t, q, goal)
    >>> wish = Slower(FreeWish(lambda t, q: [1.0, 0.0] + 0.0 * q, nearer=lambda q: -q[:, 0]))
    >>> q = np.array([[1.0, 0.0], [2.0, 0.0]])
    >>> wish(0.0, q).tolist(), wish.order(q)[0].tolist()
    ([[0.5, 0.0], [0.5, 0.0]], [-1.0, -2.0])
    """

    wish: Wish
    notes: ClassVar[type[Any] | None] = None
    """The NamedTuple of what this behaviour remembers itself, beside what the wish inside does."""

    def __post_init__(self) -> None:
        check_wish(self.wish, type(self).__name__)
        common = set(_fields(self.notes)) & set(_fields(self.wish.remembers))
        if common:
            raise InvalidValue(
                f"{type(self).__name__} cannot wrap a wish that remembers {', '.join(sorted(common))} itself: of "
                f"journeys, put all places into one route"
            )

    @property
    def noted(self) -> Any:
        """What this behaviour remembers itself: one of its `notes`."""
        return None

    def note(self, noted: Any) -> None:
        """Go on with this memory of the behaviour itself, or start again with None."""

    @property
    def goals(self) -> tuple[Goal, ...]:
        return self.wish.goals

    @property
    def eligible(self) -> int:
        return self.wish.eligible

    def own(self, n: int) -> Integers:
        return self.wish.own(n)

    def speeds(self, n: int) -> Array:
        return self.wish.speeds(n)

    def widest(self, n: int) -> Array:
        return self.wish.widest(n)

    def chosen(self, q: Array) -> Integers:
        return self.wish.chosen(q)

    def towards(self, t: float, q: Array, goal: Integers) -> Array:
        return self.wish.towards(t, q, goal)

    def distance(self, q: Array, goal: Integers) -> Array:
        return self.wish.distance(q, goal)

    def lengths(self, q: Array) -> Array:
        return self.wish.lengths(q)

    def waits(self, t: float, n: int) -> Booleans:
        return self.wish.waits(t, n)

    def remember(self, t: float, q: Array) -> None:
        self.wish.remember(t, q)

    @property
    def remembers(self) -> type[Any] | None:
        own: Any = self.notes
        inner: Any = self.wish.remembers
        return inner if own is None else own if inner is None else _joined(own, inner)

    @property
    def memory(self) -> Any:
        own, inner, kind = self.noted, self.wish.memory, self.remembers
        return inner if self.notes is None else own if kind is self.notes else kind(*own, *inner)  # type: ignore[misc]

    def remind(self, memory: Any) -> None:
        if self.notes is None:
            self.wish.remind(memory)
            return
        inner, count = self.wish.remembers, len(_fields(self.notes))
        self.note(None if memory is None else self.notes(*memory[:count]))
        self.wish.remind(None if memory is None or inner is None else inner(*memory[count:]))

    @property
    def closed(self) -> Array:
        return self.wish.closed

    @property
    def longest_step(self) -> float:
        return self.wish.longest_step

    def order(self, q: Array, goal: Integers | None = None) -> tuple[Array, Integers]:
        return self.wish.order(q, self.chosen(q) if goal is None else goal)


@dataclass(frozen=True, eq=False)
class FreeWish(Wish):
    """The wish of a function (t, q) -> (n, 2), without exits; `nearer` says who is before whom.

    `nearer` is a function (n, 2) -> (n,) of how far people have to go, minus infinity for those who have left; or None:
    then each goes their own way, and everyone who is ahead of somebody is before them.

    >>> wish = FreeWish(lambda t, q: [1.0, 0.0] + 0.0 * q, nearer=lambda q: -q[:, 0])
    >>> q = np.array([[1.0, 0.0], [2.0, 0.0]])
    >>> wish(0.0, q).tolist(), wish.order(q)[0].tolist()
    ([[1.0, 0.0], [1.0, 0.0]], [-1.0, -2.0])
    """

    function: Callable[[float, Array], ArrayLike]
    nearer: Callable[[Array], ArrayLike] | None

    def __init__(
        self, function: Callable[[float, Array], ArrayLike], *, nearer: Callable[[Array], ArrayLike] | None
    ) -> None:
        for name, value in (("function", function), ("nearer", nearer)):
            if not callable(value) and not (name == "nearer" and value is None):
                raise InvalidValue(f"{name} of a FreeWish must be a function, not {value!r}")
            object.__setattr__(self, name, value)

    @property
    def goals(self) -> tuple[Goal, ...]:
        return ()

    @property
    def eligible(self) -> int:
        return 0

    def own(self, n: int) -> Integers:
        return np.zeros(n, dtype=np.int64) if self.nearer else np.arange(n)

    def speeds(self, n: int) -> Array:
        raise _unknown("the speed of people who walk freely")

    def widest(self, n: int) -> Array:
        return np.full(n, np.inf)

    def chosen(self, q: Array) -> Integers:
        return self.own(len(q))

    def towards(self, t: float, q: Array, goal: Integers) -> Array:
        wished = numbers(self.function(t, q), f"what the wish returned at t = {t:g}")
        if wished.shape not in ((2,), q.shape):
            raise InvalidValue(f"a wish must return (n, 2) velocities, not an array of shape {wished.shape}")
        return wished if wished.shape == q.shape else np.tile(wished, (len(q), 1))

    def distance(self, q: Array, goal: Integers) -> Array:
        raise _unknown("the way to an exit")

    def lengths(self, q: Array) -> Array:
        return np.zeros((0, len(q)))

    def order(self, q: Array, goal: Integers | None = None) -> tuple[Array, Integers]:
        to = self.chosen(q) if goal is None else goal
        if self.nearer is None:
            return np.zeros(len(q)), to
        far = numbers(self.nearer(q), "what nearer of a FreeWish returned")
        if far.shape != (len(q),) or np.isnan(far).any():
            found = "NaN" if np.isnan(far).any() else f"an array of shape {far.shape}"
            raise InvalidValue(f"nearer of a FreeWish must return (n,) distances, not {found}")
        return far, to


def _fields(memory: type[Any] | None) -> tuple[str, ...]:
    return () if memory is None else memory._fields


@cache
def _joined(outer: Any, inner: Any) -> type[Any]:
    """The NamedTuple with the fields of both."""
    return namedtuple(f"{outer.__name__}And{inner.__name__}", _fields(outer) + _fields(inner))


def polar(u: Array) -> tuple[Array, Array]:
    """Speeds (n,) and unit vectors (n, 2) of velocities; zero for those who stand.

    >>> polar(np.array([[0.0, 2.0], [0.0, 0.0]]))[1].tolist()
    [[0.0, 1.0], [0.0, 0.0]]
    """
    speed = np.sqrt(u[:, 0] ** 2 + u[:, 1] ** 2)
    return speed, u / np.where(speed > 0.0, speed, 1.0)[:, None]


def check_wish(given: object, behaviour: str) -> None:
    """Raise if what a behaviour is to wrap is not a `Wish`."""
    if not isinstance(given, Wish):
        raise InvalidValue(
            f"{behaviour} needs to know who is nearer to which exit, and a function of (t, q) does not tell: give the "
            f"wish itself, such as plan.walk(...), or jo.crowds.FreeWish(function, nearer=...), not {given!r}"
        )


def _unknown(what: str) -> InvalidValue:
    return InvalidValue(f"a FreeWish does not know {what}: it has no exits; use plan.walk(...)")
