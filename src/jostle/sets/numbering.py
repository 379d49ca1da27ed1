"""The numbers by which constraints keep their identity; see `Contacts.pairs` and `Contacts.numbers`."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np

from jostle.arrays import Integers, place_of
from jostle.errors import InvalidValue


def pairs_of_rows(row: Integers, k: int) -> Integers:
    """(body, -1 - wall) of the rows body k + wall."""
    pairs = place_of(row).empty((len(row), 2), dtype=np.int64)
    np.floor_divide(row, max(k, 1), out=pairs[:, 0])
    np.remainder(row, max(k, 1), out=pairs[:, 1])
    np.invert(pairs[:, 1], out=pairs[:, 1])  # -1 - wall
    return pairs


def check_owned(name: str, pairs: Integers, numbers: Any) -> None:
    """Refuse pairs that are not two whole numbers for each row, and numbers beyond those that the set declares."""
    if pairs.ndim != 2 or pairs.shape[1] != 2 or pairs.dtype.kind not in "iu":
        raise InvalidValue(
            f"the pairs of {name} must be two whole numbers for each row, shape (m, 2), not {pairs.dtype} of "
            f"{pairs.shape}"
        )
    if not isinstance(numbers, Integral):
        raise InvalidValue(f"{name} must declare a whole number of constraints, not numbers={numbers!r}")
    largest = _largest_number(pairs)
    if largest >= numbers:
        raise InvalidValue(
            f"{name} uses constraint number {largest} in its pairs but declares numbers={numbers}, so it cannot be "
            f"told apart from other sets in an intersection; build its Contacts with numbers={largest + 1}, the "
            f"number of constraints that the set can ever have"
        )


def check_bodies(name: str, pairs: Integers, n: int) -> None:
    """Refuse rows of bodies that do not exist."""
    of_bodies = pairs[pairs[:, 0] >= 0]
    if len(of_bodies) and int(of_bodies.max()) >= n:
        raise InvalidValue(
            f"{name} has a row for body {int(of_bodies.max())}, and there are {n} bodies, 0 to {n - 1}; (-1, k) stands "
            f"for constraint k on the whole configuration"
        )


def check_unchanged(name: str, numbers: int, before: int, t: float) -> None:
    """Refuse a set that declares another count than before: the numbers of the sets after it would shift."""
    if numbers != before:
        raise InvalidValue(
            f"{name} declares numbers={numbers} at t = {t:g} and declared numbers={before} before; declare the number "
            f"of constraints that the set can ever have, present or not"
        )


def same_pair(pairs: Integers) -> tuple[int, int] | None:
    """Two rows that name the same constraint, if any."""
    order = np.lexsort(pairs.T)
    same = np.flatnonzero((np.diff(pairs[order], axis=0) == 0).all(axis=1))
    if len(same) == 0:
        return None
    one, other = sorted(int(row) for row in order[same[0] :][:2])
    return one, other


def _largest_number(pairs: Integers) -> int:
    """The largest constraint number k in pairs; -1 if all rows are between two bodies."""
    if len(pairs) == 0:
        return -1
    lowest = min(int(pairs[:, 1].min()), 0)
    if int(pairs[:, 0].min()) >= 0:
        return -1 - lowest
    return max(-1 - lowest, int(pairs[pairs[:, 0] < 0, 1].max()))
