"""Whether sets move, and whether those that declare to be at rest are: checks that a run makes between its steps."""

from __future__ import annotations

import numpy as np

from jostle._tools.arrays import Array, Booleans, to_host
from jostle._tools.plugins import is_of_jostle
from jostle.errors import InvalidValue
from jostle.sets.base import ConstraintSet
from jostle.sets.contacts import CLOSED, by_pair
from jostle.sets.user import UserSet

Parts = tuple[ConstraintSet, ...]
"""The parts of a set, `jostle.sets.base.parts`."""
Times = tuple[float, float]


def moved_row(now: Array, then: Array) -> int | None:
    """The row whose gap differs most between two times, if it differs by more than round-off; otherwise None.

    A gap that is NaN or infinite at both times does not differ.
    """
    if now.shape != then.shape:
        return min(len(now), len(then))  # the first row that only one of them has
    change, other = np.zeros(len(now)), (now != then) & ~(np.isnan(now) & np.isnan(then))
    change[other] = np.nan_to_num(np.abs(then[other] - now[other]), nan=np.inf)
    largest = np.abs(now).max(initial=0.0, where=np.isfinite(now))
    return int(np.argmax(change)) if change.max(initial=0.0) > CLOSED * largest else None


def moves(sets: Parts, times: Times, q: Array) -> bool:
    """Whether a set depends on time; where it does not say so, whether its gaps at q differ between two times."""
    found = False
    for Q in sets:  # all of them: the function of a user may contradict what was said of it
        known = Q.moving is True or (Q.moving is False and not isinstance(Q, UserSet))
        found |= bool(Q.moving) if known else _moves(Q, times, q)
    return found


def check_rest(sets: Parts, times: Times, q: Array) -> None:
    """Refuse `@constraints` that were given with ``moving=False``, although their gaps differ between two times."""
    for Q in sets:
        if Q.moving is False and isinstance(Q, UserSet):
            _moves(Q, times, q)


def _moves(Q: ConstraintSet, times: Times, q: Array) -> bool:
    """Whether the gaps of a set differ; an error if the function of a user does, and was said to be at rest."""
    now, then = (Q.gaps(t, q) for t in times)
    if not isinstance(Q, UserSet):
        return moved_row(now, then) is not None
    if len(now) != len(then):
        raise InvalidValue(
            f"{Q.name} returned {len(now)} gaps at t = {times[0]:g} and {len(then)} at t = {times[1]:g}: return "
            f"the same number at all times, a large one for a constraint that does not act"
        )
    row = moved_row(now, then)
    if row is not None and Q.moving is False:
        raise InvalidValue(
            f"constraint {row} of {Q.name} is {now[row]:.6g} at t = {times[0]:g} and {then[row]:.6g} at "
            f"t = {times[1]:g}, although moving=False was given: leave it out"
        )
    return row is not None


def check_declaration(sets: Parts, times: Times, q: Array, present: Booleans | None) -> None:
    """Refuse a class outside jostle that declares ``moving = False``, although its gaps differ between two times.

    `solve` asks from time to time, since a comparison costs two linearisations. With many bodies, only gaps up to
    about the distance of neighbours are compared; bodies that are not present are far away.
    """
    for Q in sets:
        if Q.moving is False and not is_of_jostle(Q):
            _check_declaration(Q, times, q, present)


def _check_declaration(Q: ConstraintSet, times: Times, q: Array, present: Booleans | None) -> None:
    """Refuse one set whose gaps differ between two times."""
    there = q if present is None else q[present]
    spread = float(np.ptp(there, axis=0).max()) if q.ndim == 2 and len(there) else 0.0
    reach = spread / len(there) ** (1.0 / q.shape[1]) if spread > 0.0 else np.inf
    before, contacts = (to_host(Q.linearise(t, q, reach)) for t in times)
    then = by_pair(before.pairs, before.gap, contacts.pairs, reach)  # a pair that is left out is beyond the reach
    row = moved_row(contacts.gap, then)
    if row is None:
        return
    known = (before.pairs == contacts.pairs[row]).all(axis=1).any()
    name = type(Q).__name__
    raise InvalidValue(
        f"the gap of {contacts.describe(row)} of {name} is {'' if known else 'above '}{then[row]:.6g} at "
        f"t = {times[0]:g} and {contacts.gap[row]:.6g} at t = {times[1]:g} at the same q, although {name} declares "
        f"moving = False: set moving = True in the class, or leave it out"
    )
