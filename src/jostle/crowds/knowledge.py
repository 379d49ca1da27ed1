"""People who know only some of the exits."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from jostle._tools.arguments import Truths, check_arguments
from jostle._tools.arrays import Array, Booleans, Integers
from jostle.crowds.behaviour import Behaviour
from jostle.crowds.wish import NEAREST, Wish
from jostle.errors import InvalidValue


@check_arguments
@dataclass(frozen=True, eq=False, init=False)
class KnownExits(Behaviour):
    """People without a goal of their own take the nearest of the exits and stairs that they know.

    Unknown exits are infinitely far for them, also for `AvoidJams` around this wish.

    Parameters
    ----------
    wish : Wish
        A wish with exits.
    known : array_like of bool, shape (n, exits and stairs)
        Whether each person knows each exit, in the order of the goals of the wish.

    Raises
    ------
    InvalidValue
        If `known` does not have this shape, or if somebody knows no exit.

    Examples
    --------
    >>> import jostle as jo
    >>> plan = jo.crowds.Plan([(0, 0), (9, 0), (9, 3), (0, 3)], exits={"a": ((0, 1), (0, 2)), "b": ((9, 1), (9, 2))})
    >>> wish = KnownExits(jo.crowds.walk(plan, radius=0.25), [[True, True], [False, True]])
    >>> wish.chosen(np.array([[1.0, 1.0], [1.0, 2.0]])).tolist()
    [0, 1]
    """

    known: Booleans

    def __init__(self, wish: Wish, known: Truths) -> None:
        object.__setattr__(self, "wish", wish)
        super().__post_init__()
        found = np.array(known)
        if found.dtype != bool or found.ndim != 2 or found.shape[1] != wish.eligible:
            raise InvalidValue(
                f"known must be True or False for each person and each of {wish.eligible} exits and stairs, not "
                f"{known!r}"
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

    def lengths(self, q: Array) -> Array:
        far = np.array(self.wish.lengths(q))
        far[: self.eligible][~self.known.T] = np.inf
        return far
