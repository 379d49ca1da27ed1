"""Wishes: rules for the desired velocities of people.

A wish is a function (t, q) -> (n, 2), the velocity U of the sweeping process (Venel 2009, section 4.2), which knows the
goals of people and the ways to them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from jostle._tools.arrays import Array, Booleans, Integers, numbers
from jostle.errors import InvalidValue
from jostle.plans.ways import Goal

NEAREST = -1
"""The goal of people who take the nearest exit."""


class Wish(ABC):
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

    def remember(self, t: float, q: Array) -> None:  # noqa: B027 - most wishes have nothing to remember
        """Note what people have done so far, for wishes that depend on the past; it is called before each step.

        Parameters
        ----------
        t : float
            Time of the run (s).
        q : ndarray, shape (n, 2)
            Positions of all people (m).
        """

    @property
    def remembers(self) -> type[Any] | None:
        """The NamedTuple type of `memory`, for wishes that depend on the past: see `jostle.problems.Remembers`."""
        return None

    @property
    def memory(self) -> Any:
        """What `remember` has noted so far; None if the wish depends on the positions of people alone."""
        return None

    def remind(self, memory: Any) -> None:  # noqa: B027 - most wishes have nothing to remember
        """Continue with a given memory, for example that of a checkpoint.

        Parameters
        ----------
        memory : NamedTuple or None
            A value of `memory`; None means the memory at the start of a run.
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
