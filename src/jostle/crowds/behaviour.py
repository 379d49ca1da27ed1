"""Behaviours: wishes around another wish.

A behaviour changes where people go (`chosen`) or how they walk there (`towards`), and passes on everything else.
"""

from __future__ import annotations

from collections import namedtuple
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar

import numpy as np

from jostle._tools.arrays import Array, Booleans, Integers
from jostle.crowds.wish import Wish
from jostle.errors import InvalidValue
from jostle.plans.ways import Goal


@dataclass(frozen=True, eq=False)
class Behaviour(Wish):
    """Base class of wishes around another wish: it passes on everything, and behaviours replace what they change.

    A behaviour with a memory of its own names the NamedTuple type of it in the class attribute `notes`, returns its
    value as `noted` and takes it back by `note`. The memory of several nested behaviours has the fields of all of them.

    Parameters
    ----------
    wish : Wish
        The wish inside.

    Examples
    --------
    >>> import jostle as jo
    >>> class Slower(Behaviour):
    ...     def towards(self, t, q, goal):
    ...         return 0.5 * self.wish.towards(t, q, goal)
    >>> wish = Slower(jo.crowds.FreeWish(lambda t, q: [1.0, 0.0] + 0.0 * q, nearer=lambda q: -q[:, 0]))
    >>> q = np.array([[1.0, 0.0], [2.0, 0.0]])
    >>> wish(0.0, q).tolist(), wish.order(q)[0].tolist()
    ([[0.5, 0.0], [0.5, 0.0]], [-1.0, -2.0])
    """

    wish: Wish
    notes: ClassVar[type[Any] | None] = None

    def __post_init__(self) -> None:
        check_wish(self.wish, type(self).__name__)
        common = set(_fields(self.notes)) & set(_fields(self.wish.remembers))
        if common:
            raise InvalidValue(
                f"{type(self).__name__} cannot wrap a wish whose memory already has {', '.join(sorted(common))}: put "
                f"all stops of a journey into one route"
            )

    @property
    def noted(self) -> Any:
        """The memory of this behaviour itself: a value of the type `notes`."""
        return None

    def note(self, noted: Any) -> None:
        """Continue with a given memory of this behaviour itself.

        Parameters
        ----------
        noted : NamedTuple or None
            A value of `noted`; None means the memory at the start of a run.
        """

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


def _fields(memory: type[Any] | None) -> tuple[str, ...]:
    return () if memory is None else memory._fields


@cache
def _joined(outer: Any, inner: Any) -> type[Any]:
    """The NamedTuple with the fields of both."""
    return namedtuple(f"{outer.__name__}And{inner.__name__}", _fields(outer) + _fields(inner))


def polar(u: Array) -> tuple[Array, Array]:
    """Speeds (n,) and unit vectors (n, 2) of velocities; both are zero for people who stand.

    >>> polar(np.array([[0.0, 2.0], [0.0, 0.0]]))[1].tolist()
    [[0.0, 1.0], [0.0, 0.0]]
    """
    speed = np.sqrt(u[:, 0] ** 2 + u[:, 1] ** 2)
    return speed, u / np.where(speed > 0.0, speed, 1.0)[:, None]


def check_wish(given: object, behaviour: str) -> None:
    """Raise if what a behaviour is to wrap is not a `Wish`."""
    if not isinstance(given, Wish):
        raise InvalidValue(
            f"{behaviour} needs a wish that knows who is nearer to which exit: jo.crowds.walk(plan, ...), or for a "
            f"plain function jo.crowds.FreeWish(function, nearer=...), not {given!r}"
        )
