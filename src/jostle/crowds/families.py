"""Families and other people who stay together."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from jostle._tools.arguments import Positive, check_arguments
from jostle._tools.arrays import Array, Integers
from jostle.crowds.behaviour import Behaviour
from jostle.crowds.wish import NEAREST, Wish
from jostle.errors import InvalidValue

ALONE = -1
"""The family of people who are alone."""
SLOWEST = 0.2
"""Smallest fraction of their speed to which people slow down for their family: a person who stops in a corridor might
block the members for whom they wait."""


@check_arguments
@dataclass(frozen=True, eq=False, init=False)
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

    Raises
    ------
    InvalidValue
        If `family` is not a whole number of at least -1 for each person.

    Examples
    --------
    >>> import jostle as jo
    >>> plan = jo.crowds.Plan([(0, 0), (9, 0), (9, 3), (0, 3)], exits={"a": ((0, 1), (0, 2)), "b": ((9, 1), (9, 2))})
    >>> wish = Together(jo.crowds.walk(plan, radius=0.25, speed=[1.4, 0.8, 1.2]), [0, 0, -1], apart=1.0)
    >>> wish(0.0, np.array([[4.0, 1.5], [5.0, 1.5], [5.0, 2.0]])).round(1)[:, 0].tolist()
    [-0.8, -0.8, 1.2]
    """

    family: Integers
    apart: float

    def __init__(self, wish: Wish, family: ArrayLike, *, apart: Positive = 1.5) -> None:
        object.__setattr__(self, "wish", wish)
        super().__post_init__()
        found = np.array(family)
        if found.ndim != 1 or found.dtype.kind not in "iu" or (found < ALONE).any():
            raise InvalidValue(
                f"family must be one whole number for each person, -1 for people who are alone: {family!r}"
            )
        object.__setattr__(self, "family", found.astype(np.int64))
        object.__setattr__(self, "apart", float(apart))

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
        here = np.flatnonzero(there & (self.family != ALONE))
        here = here[np.argsort(self.family[here], kind="stable")]
        groups = np.split(here, np.flatnonzero(np.diff(self.family[here])) + 1)
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
