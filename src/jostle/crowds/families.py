"""Families and other people who stay together."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from jostle.arguments import Positive, check_arguments
from jostle.arrays import Array, Integers
from jostle.crowds.wish import NEAREST, Behaviour, Wish
from jostle.errors import InvalidValue

ALONE = -1
"""The family of people who are alone."""
SLOWEST = 0.2
"""People slow down for their family to this part of their speed at least: who stops in a corridor may hold those up for
whom they wait."""


@check_arguments
@dataclass(frozen=True, eq=False, init=False)
class Together(Behaviour):
    """Families walk to one exit at the speed of their slowest, and those ahead slow down for those behind.

    `family` (n,) is the number of each person's family, or -1 for people who are alone. Somebody whose way is shorter
    than that of the last of the family by more than `apart` (m) slows down, to SLOWEST of the speed at twice that.
    People without a goal of their own go where the first of the family goes who is still there.

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
        """The members of each family of which two or more are there."""
        here = np.flatnonzero(there & (self.family != ALONE))
        here = here[np.argsort(self.family[here], kind="stable")]
        groups = np.split(here, np.flatnonzero(np.diff(self.family[here])) + 1)
        return [members for members in groups if len(members) > 1]


def neighbours(q: Array, size: int) -> Integers:
    """(n,) families of this size made of people who stand close to each other; the last family may be smaller.

    >>> neighbours(np.array([[0.0, 0.0], [5.0, 0.0], [0.5, 0.0], [5.5, 0.0]]), 2).tolist()
    [0, 1, 0, 1]
    """
    family, left = np.full(len(q), ALONE), np.arange(len(q))
    for number in range(-(-len(q) // size)):
        order = np.argsort(np.linalg.norm(q[left] - q[left[0]], axis=1), kind="stable")
        family[left[order[:size]]] = number
        left = np.sort(left[order[size:]])
    return family
