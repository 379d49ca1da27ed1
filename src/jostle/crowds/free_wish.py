"""Wishes that a user writes as a function of time and positions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from jostle._tools.arrays import Array, Integers, numbers
from jostle.crowds.goals import Goal
from jostle.crowds.wish import Wish
from jostle.errors import InvalidValue


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

    Raises
    ------
    InvalidValue
        If `function` or `nearer` is not a function.

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
    return InvalidValue(f"a FreeWish does not know {what}: it has no exits; use plan.walk(...)")
