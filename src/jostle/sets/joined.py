"""The contacts of several sets as those of their intersection."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

import numpy as np

from jostle.arrays import Array, Booleans, Integers, place_of
from jostle.convex.maps import stacked
from jostle.kernels.sharing import concatenated, copy_all
from jostle.sets.contacts import Contacts, Reach, of_bodies


def joined(parts: list[Contacts], owned: tuple[int, ...], q: Array) -> Contacts:
    """The contacts of all parts at q, one after the other, with constraint numbers that differ between parts.

    `owned` is the number of constraint numbers that each part owns.
    """
    sizes = [len(part.gap) for part in parts]
    ends = np.cumsum(sizes)
    first, second = both = place_of(q).empty((2, sum(sizes)), dtype=np.int64)
    numbers, copies = 0, []
    for part, end, size in zip(parts, ends, sizes, strict=True):
        copies += [(both[row, end - size : end], part.pairs[:, row]) for row in (0, 1)]
    copy_all(copies)
    for end, size, own in zip(ends, sizes, owned, strict=True):
        i, j = first[end - size : end], second[end - size : end]
        if numbers:
            j[i < 0] += numbers
            j[(i >= 0) & (j < 0)] -= numbers
        numbers += own
    # a pair of bodies is described by its numbers, so that the arrays of such parts are not kept
    words = [part.describe if part.numbers else None for part in parts]

    def describe(row: int) -> str:
        block = int(np.searchsorted(ends, row, side="right"))
        say, here = words[block], row - int(ends[block] - sizes[block])
        return f"balls {int(first[row])} and {int(second[row])}" if say is None else say(here)

    gap, known = concatenated([part.gap for part in parts]), all(part.known for part in parts)
    return Contacts(
        gap,
        stacked(*[part.G for part in parts], pairs=both, known=known),
        both.T,
        numbers=numbers,
        length=concatenated([part.length for part in parts]),
        reach=_least([part.reach for part in parts]),
        describe=describe,
        at=q,
        bend=None if any(part.bend is None for part in parts) else concatenated([part.bend for part in parts]),
        bodies=max(part.bodies for part in parts),
        equal=_kinds_of(parts),
        gap_at=_gap_at(gap, ends, parts),
        known=known,
    )


def _kinds_of(parts: list[Contacts]) -> Booleans | None:
    """(m,) which rows of all parts are equalities; None if none is."""
    if all(part.equal is None for part in parts):
        return None
    return np.concatenate([np.zeros(len(part.gap), dtype=bool) if part.equal is None else part.equal for part in parts])


def _least(reaches: list[Reach]) -> Reach:
    """The smallest reach of all parts."""
    of_pairs = min((reach for reach in reaches if not of_bodies(reach)), default=np.inf)
    each = list({id(reach): reach for reach in reaches if of_bodies(reach)}.values())
    if not each:
        return of_pairs
    return reduce(np.minimum, each if of_pairs == np.inf else [*each, of_pairs / 2.0])


def _gap_at(gap: Array, ends: Integers, parts: list[Contacts]) -> Callable[[float, Integers], Array] | None:
    """`Contacts.gap_at` of contacts that are those of the parts, one after the other, each up to its end."""
    blocks = zip(ends.tolist(), parts, strict=True)
    moving = [(end - len(part.gap), end, part.gap_at) for end, part in blocks if part.gap_at is not None]
    if not moving:
        return None

    def gaps(t: float, rows: Integers) -> Array:
        found = gap[rows]
        for start, end, gap_at in moving:
            own = np.flatnonzero((rows >= start) & (rows < end))
            if len(own):
                found[own] = gap_at(t, rows[own] - start)
        return found

    return gaps
