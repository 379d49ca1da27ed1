"""Wishes: rules for the desired velocities of people, and behaviours, which are wishes around another wish.

A wish is a function (t, q) -> (n, 2), the velocity U of the sweeping process (Venel 2009, section 4.2), which knows the
goals of people and the ways to them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import namedtuple
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, fields
from functools import cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from jostle._tools.arrays import Array, Booleans, Integers, numbers
from jostle._tools.of_run import OfRun
from jostle.errors import InvalidValue
from jostle.plans.ways import Goal
from jostle.problems import Remembers

NEAREST = -1
"""The goal of people who take the nearest exit."""


class Wish(Remembers, ABC):
    """Base class of rules for the desired velocities of people, and their goals.

    Examples
    --------
    >>> import jostle as jo
    >>> room = jo.crowds.Room([(0, 0), (4, 0), (4, 3), (0, 3)], doors=[((4, 1), (4, 2))])
    >>> wish = jo.crowds.walk(room, radius=0.25, speed=1.4)
    >>> isinstance(wish, Wish), [goal.name for goal in wish.goals]
    (True, ['door 0'])
    >>> q = np.array([[1.0, 1.5], [3.0, 1.5]])
    >>> wish(0.0, q).tolist(), wish.length(q).tolist()
    ([[1.4, 0.0], [1.4, 0.0]], [3.0, 1.0])
    """

    @property
    @abstractmethod
    def goals(self) -> tuple[Goal, ...]:
        """The goals of people: exits first, then stairs, then stops."""

    @property
    @abstractmethod
    def eligible(self) -> int:
        """Number of exits and stairs, among which people without a goal of their own choose."""

    @abstractmethod
    def own(self, n: int) -> Integers:
        """The goal that each person has been given.

        Parameters
        ----------
        n : int
            Number of people.

        Returns
        -------
        ndarray of int, shape (n,)
            Numbers of goals, or NEAREST (-1) for people without a goal of their own.
        """

    @abstractmethod
    def speeds(self, n: int) -> Array:
        """The desired speed of each person where nobody is in their way.

        Parameters
        ----------
        n : int
            Number of people.

        Returns
        -------
        ndarray, shape (n,)
            Speeds (m/s).
        """

    @abstractmethod
    def widest(self, n: int) -> Array:
        """The radius of the widest person who fits through the way of each person.

        Parameters
        ----------
        n : int
            Number of people.

        Returns
        -------
        ndarray, shape (n,)
            Radii (m); infinite if the wish does not know any ways.
        """

    @abstractmethod
    def chosen(self, q: Array) -> Integers:
        """The goal that each person walks to now.

        Parameters
        ----------
        q : ndarray, shape (n, 2)
            Positions of all people (m).

        Returns
        -------
        ndarray of int, shape (n,)
            Numbers of goals.
        """

    @abstractmethod
    def towards(self, t: float, q: Array, goal: Integers) -> Array:
        """The desired velocities of people on their way to given goals.

        Parameters
        ----------
        t : float
            Time of the run (s).
        q : ndarray, shape (n, 2)
            Positions of all people (m).
        goal : ndarray of int, shape (n,)
            Numbers of their goals.

        Returns
        -------
        ndarray, shape (n, 2)
            Velocities (m/s).
        """

    @abstractmethod
    def distance(self, q: Array, goal: Integers) -> Array:
        """The length of the way of each person to a given goal.

        Parameters
        ----------
        q : ndarray, shape (n, 2)
            Positions of all people (m).
        goal : ndarray of int, shape (n,)
            Numbers of their goals.

        Returns
        -------
        ndarray, shape (n,)
            Lengths (m); infinite where there is no way, and outside the plan.
        """

    @abstractmethod
    def lengths(self, q: Array) -> Array:
        """The length of the way of each person to every goal.

        Parameters
        ----------
        q : ndarray, shape (n, 2)
            Positions of all people (m).

        Returns
        -------
        ndarray, shape (goals, n)
            Lengths (m); infinite where there is no way, and outside the plan.
        """

    def __call__(self, t: float, q: Array) -> Array:
        self.remember(t, q)
        return self.towards(t, q, self.chosen(q))

    def remember(self, t: float, q: Array) -> None:
        """Note what people have done so far, for wishes that depend on the past; it is called before each step.

        Parameters
        ----------
        t : float
            Time of the run (s).
        q : ndarray, shape (n, 2)
            Positions of all people (m).
        """

    def waits(self, t: float, n: int) -> Booleans:
        """Tell who stands on purpose and will walk on later.

        Parameters
        ----------
        t : float
            Time of the run (s).
        n : int
            Number of people.

        Returns
        -------
        ndarray of bool, shape (n,)
            True for people who wait on purpose.
        """
        return np.zeros(n, dtype=bool)

    def cut_off(self, q: Array, goal: Integers) -> Booleans:
        """Tell who has no way to a given goal because doors or exits are closed.

        Parameters
        ----------
        q : ndarray, shape (n, 2)
            Positions of all people (m).
        goal : ndarray of int, shape (n,)
            Numbers of their goals.

        Returns
        -------
        ndarray of bool, shape (n,)
            True for people who have to wait at a closed door or exit.
        """
        return np.zeros(len(q), dtype=bool)

    @property
    def closed(self) -> Array:
        """(k, 2, 2) doors and exits that nobody passes now."""
        return np.zeros((0, 2, 2))

    @property
    def longest_step(self) -> float:
        """Longest time step (s) whose results are close to those of short steps; `solve` warns of longer ones."""
        return np.inf

    def length(self, q: Array) -> Array:
        """The length of the way of each person to the goal that they walk to.

        Parameters
        ----------
        q : ndarray, shape (n, 2)
            Positions of all people (m).

        Returns
        -------
        ndarray, shape (n,)
            Lengths (m); infinite where there is no way, and outside the plan.
        """
        return self.distance(q, self.chosen(q))

    def order(self, q: Array, goal: Integers | None = None) -> tuple[Array, Integers]:
        """The order in which people come to their goals: who is in front of whom.

        Parameters
        ----------
        q : ndarray, shape (n, 2)
            Positions of all people (m).
        goal : ndarray of int, shape (n,), optional
            Numbers of their goals. None means the goals that they walk to now.

        Returns
        -------
        pair of ndarray, shape (n,)
            The length of the way (m), minus infinity for people who have left, and the number of the goal.
        """
        to = self.chosen(q) if goal is None else goal
        far = self.distance(q, to)
        return np.where(np.isfinite(far), far, -np.inf), to


@dataclass(frozen=True, eq=False)
class FreeWish(Wish):
    """A wish given by a function of time and positions, without exits.

    Parameters
    ----------
    function : callable (t, q) -> array, shape (2,) or (n, 2)
        Desired velocities of people at positions q (n, 2) at time t: one for all, or one for each.
    nearer : callable (q) -> array, shape (n,), or None
        Distance that each person has to walk, minus infinity for people who have left, which orders people. None means
        that everyone goes their own way, and anybody ahead of a person counts as in front of them.

    Examples
    --------
    >>> wish = FreeWish(lambda t, q: [1.0, 0.0] + 0.0 * q, nearer=lambda q: -q[:, 0])
    >>> q = np.array([[1.0, 0.0], [2.0, 0.0]])
    >>> wish(0.0, q).tolist(), wish.order(q)[0].tolist()
    ([[1.0, 0.0], [1.0, 0.0]], [-1.0, -2.0])
    """

    function: Callable[[float, Array], ArrayLike]
    _: KW_ONLY
    nearer: Callable[[Array], ArrayLike] | None

    def __post_init__(self) -> None:
        for name, value in (("function", self.function), ("nearer", self.nearer)):
            if not callable(value) and not (name == "nearer" and value is None):
                raise InvalidValue(f"{name} of a FreeWish must be a function, not {value!r}")

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
        wished = numbers(self.function(t, q), f"the result of the wish at t = {t:g}")
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
        far = numbers(self.nearer(q), "the result of nearer of a FreeWish")
        if far.shape != (len(q),) or np.isnan(far).any():
            found = "NaN" if np.isnan(far).any() else f"an array of shape {far.shape}"
            raise InvalidValue(f"nearer of a FreeWish must return (n,) distances, not {found}")
        return far, to


def _unknown(what: str) -> InvalidValue:
    return InvalidValue(f"a FreeWish does not know {what}: it has no exits; use jo.crowds.walk(plan, ...)")


# Behaviours: wishes around another wish.
#
# A behaviour changes where people go (`chosen`) or how they walk there (`towards`), and passes on everything else.


@dataclass(frozen=True, eq=False)
class Behaviour(Wish):
    """Base class of wishes around another wish: it passes on everything, and behaviours replace what they change.

    A behaviour with a memory of its own names the NamedTuple type of it in the class attribute `notes` and sets its
    value as `noted`. The memory of several nested behaviours has the fields of all of them.

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
        common = set(_fields(self.notes)) & set(_fields(self.wish.memory_type))
        if common:
            raise InvalidValue(
                f"{type(self).__name__} cannot wrap a wish whose memory already has {', '.join(sorted(common))}: put "
                f"all stops of a journey into one route"
            )

    @property
    def _options(self) -> dict[str, float]:
        """The numbers that describe this behaviour, by name."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: float(value) for name, value in values.items() if isinstance(value, int | float)}

    noted = OfRun()
    """The memory of this behaviour itself, a value of the type `notes`, which belongs to the run."""

    def note(self, noted: Any) -> None:
        """Continue with a given memory of this behaviour itself; one that starts with another than None redefines this.

        Parameters
        ----------
        noted : NamedTuple or None
            A value of `noted`; None means the memory at the start of a run.
        """
        object.__setattr__(self, "noted", noted)

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

    def cut_off(self, q: Array, goal: Integers) -> Booleans:
        return self.wish.cut_off(q, goal)

    def remember(self, t: float, q: Array) -> None:
        self.wish.remember(t, q)

    @property
    def memory_type(self) -> type[Any] | None:
        own: Any = self.notes
        inner: Any = self.wish.memory_type
        return inner if own is None else own if inner is None else _joined(own, inner)

    @property
    def memory(self) -> Any:
        own, inner, kind = self.noted, self.wish.memory, self.memory_type
        return inner if self.notes is None else own if kind is self.notes else kind(*own, *inner)  # type: ignore[misc]

    def restore(self, memory: Any) -> None:
        if self.notes is None:
            self.wish.restore(memory)
            return
        inner, count = self.wish.memory_type, len(_fields(self.notes))
        self.note(None if memory is None else self.notes(*memory[:count]))
        self.wish.restore(None if memory is None or inner is None else inner(*memory[count:]))

    @property
    def closed(self) -> Array:
        return self.wish.closed

    @property
    def longest_step(self) -> float:
        return self.wish.longest_step

    def order(self, q: Array, goal: Integers | None = None) -> tuple[Array, Integers]:
        return self.wish.order(q, self.chosen(q) if goal is None else goal)


def behaviours_in_words(wish: Wish) -> str:
    """The behaviours around a wish with their options, the outermost one first.

    >>> import jostle as jo
    >>> plan = jo.crowds.Plan([(0, 0), (9, 0), (9, 3), (0, 3)], exits={"east": ((9, 0), (9, 3))})
    >>> wish = jo.crowds.walk(plan, radius=0.2)
    >>> behaviours_in_words(jo.crowds.Inhibition(wish, 0.2))
    'Inhibition(T=0.6)'
    >>> behaviours_in_words(wish)
    'none: people walk the shortest way at their desired speed'
    """
    found = []
    while isinstance(wish, Behaviour):
        options = ", ".join(f"{name}={value:g}" for name, value in wish._options.items())
        found.append(f"{type(wish).__name__}({options})" if options else type(wish).__name__)
        wish = wish.wish
    if found:
        return ", ".join(found)
    if isinstance(wish, FreeWish):
        return "none: desired velocities are given by a function"
    return "none: people walk the shortest way at their desired speed"


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
