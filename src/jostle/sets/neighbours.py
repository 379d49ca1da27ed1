"""Neighbouring balls: the pairs (i, j, normal, gap) within reach, from a list that lasts for several steps.

Each ball has a reach, the way it may go in a step: a pair is within reach if gap <= reach_i + reach_j. The list holds
the pairs whose rooms met when it was made, a room being a ball around the same centre, larger than the radius and the
reach. It serves as long as each ball, with its reach, stays within its room, where only that counts which it did not
go together with all the others:

    r + reach + |dq - mean dq| <= room.

So one fast ball makes no long list for the others.

The answer does not depend on the list: pairs come sorted, with i < j, whether it is old or new.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from jostle import kernels
from jostle._tools.arrays import Array, Integers, Shorts, contiguous, lowest, squares
from jostle.errors import InvalidValue, NotFinite
from jostle.kernels.interface import offers_for_many
from jostle.kernels.parallel import all_finite, chunks_of, threads

MAX_ALL_PAIRS = 64
"""With at most this many balls all pairs are examined, without a list of neighbours."""
SKIN = 0.15
"""Margin of the neighbour list, as a fraction of the mean radius."""
REACH_MARGIN = 2.0
"""Margin of the neighbour list, in multiples of the reach: the list then lasts for several steps."""
PARALLEL_BALLS = 20_000
"""From this many balls on, the list is made by all threads."""


class PairList(NamedTuple):
    """The pairs whose rooms met at the configuration q."""

    i: Shorts
    j: Shorts
    q: Array
    room: Array

    def serves(self, q: Array, radii: Array, reach: Array) -> bool:
        """Whether all pairs within reach at q are in the list."""
        if q.shape != self.q.shape:
            return False
        if offers_for_many(q, "stayed"):
            return kernels.stayed(q, self.q, radii, contiguous(reach), self.room, chunks_of(len(q)))
        way = q - self.q
        return bool((radii + reach + np.sqrt(squares(way - way.mean(axis=0))) <= self.room).all())


def pair_list(q: Array, radii: Array, reach: Array, period: Array) -> PairList:
    """A new list, with some room to move."""
    most = furthest(radii, period) / 2.0
    room = radii + np.minimum(REACH_MARGIN * reach + SKIN * float(radii.mean()), most)
    chunks = threads() if len(q) >= PARALLEL_BALLS else 1
    i, j = kernels.pair_list(q, room, period, chunks)
    return PairList(i, j, q.copy(), room)


def near_pairs(
    q: Array, radii: Array, reach: Array, period: Array, known: PairList | None
) -> tuple[tuple[Integers, Integers, Array, Array], PairList | None]:
    """(i, j, normal, gap) of the pairs with gap <= reach_i + reach_j, i < j, in order; and the list, for next time."""
    if not (isinstance(q, np.ndarray) and q.flags.c_contiguous and radii.flags.c_contiguous):
        q, radii = contiguous(q, None), contiguous(radii, None)
    n, d = q.shape
    if known is None or not known.serves(q, radii, reach):  # a list serves only where all numbers are finite
        if n <= MAX_ALL_PAIRS or d > 3 or not all_finite(reach):
            return kernels.all_pairs(q, radii, reach, period), None
        if not all_finite(q):
            ball = int(np.argmin(np.isfinite(q).all(axis=1)))
            raise NotFinite(f"the position of ball {ball} is {q[ball].tolist()}")
        known = pair_list(q, radii, reach, period)
    return kernels.near(known.i, known.j, q, radii, reach, period, chunks_of(len(known.i))), known


def furthest(radii: Array, period: Array) -> float:
    """The largest gap at which a pair still has one nearest image: half a period less two radii."""
    shortest = lowest(period, np.inf)
    if shortest == np.inf or len(radii) == 0:
        return np.inf
    largest = float(radii.max())
    room = shortest / 2.0 - 2.0 * largest
    if not room > 0.0:
        raise InvalidValue(
            f"the period {shortest:g} is too short for balls of radius {largest:g}: two of them could touch on "
            f"both sides; it must exceed four radii"
        )
    return room
