"""Reaction times: people stand until they have noticed the alarm and decided to leave.

Behaviours wrap the wish that has the reaction times, so that others walk around people who still stand.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from jostle._tools.arguments import check_arguments
from jostle._tools.arrays import Array, Booleans, Integers, finite
from jostle.crowds.behaviour import Behaviour
from jostle.crowds.wish import Wish
from jostle.errors import InvalidValue


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

    Raises
    ------
    InvalidValue
        If a time is negative.

    Examples
    --------
    >>> from jostle.crowds.free_wish import FreeWish
    >>> east = FreeWish(lambda t, q: [1.4, 0.0] + 0.0 * q, nearer=None)
    >>> wish = Reaction(east, times=[0.0, 20.0])
    >>> wish(5.0, np.zeros((2, 2))).tolist(), wish(20.0, np.zeros((2, 2))).tolist()
    ([[1.4, 0.0], [0.0, 0.0]], [[1.4, 0.0], [1.4, 0.0]])
    """

    times: Array

    def __init__(self, wish: Wish, times: Array) -> None:
        object.__setattr__(self, "wish", wish)
        super().__post_init__()
        found = finite(times, "times")
        if found.ndim > 1 or (found < 0.0).any():
            raise InvalidValue(f"reaction times must be 0 or more, one for all or one for each, not {times!r}")
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
    """The wish of people with these reaction times (n,); the same wish if it has reaction times or needs none.

    Raises
    ------
    InvalidValue
        If behaviours wrap a wish without reaction times: in their eyes nobody would stand.
    """
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
