"""Which balls are near: the pairs (i, j, normal, gap) within reach, from a list that lasts for several steps.

The list holds the pairs that were within a cut-off when it was made. It serves as long as no ball has strayed so far,
and no radius grown so much, that a pair outside the list could be within reach:

    reach + 2 max |dq - mean dq| + 2 max dr <= cut-off.

The answer does not depend on the list: pairs come sorted, with i < j, whether it is old or new.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from jostle.arrays import Array, Integers
from jostle.errors import InvalidValue, NotFinite
from jostle.kernels import compiled

FEW = 64
"""Up to so many balls all pairs are looked at."""
SKIN = 0.3
"""How much further than asked the list reaches, as a part of the mean radius."""
WORTH_THREADS = 20_000
"""Balls from which on the list is made by all cores."""


class PairList(NamedTuple):
    """The pairs within `cutoff` at the configuration q with these radii."""

    i: Integers
    j: Integers
    q: Array
    radii: Array
    cutoff: float

    def serves(self, q: Array, radii: Array, reach: float) -> bool:
        """Are all pairs within reach at q among these?"""
        if q.shape != self.q.shape:
            return False
        needed = reach + 2.0 * max(float((radii - self.radii).max()), 0.0)
        return needed <= self.cutoff and bool(needed + 2.0 * compiled().strayed(q, self.q) <= self.cutoff)


def pair_list(q: Array, radii: Array, reach: float, period: Array) -> PairList:
    """A new list, with some room to move."""
    kernels = compiled()
    cutoff = min(reach + SKIN * float(radii.mean()), furthest(radii, period))
    chunks = kernels.threads() if len(q) >= WORTH_THREADS else 1
    i, j = kernels.pair_list(q, radii, cutoff, period, chunks)
    return PairList(i, j, q.copy(), radii.copy(), cutoff)


def near_pairs(
    q: Array, radii: Array, reach: float, period: Array, known: PairList | None
) -> tuple[tuple[Integers, Integers, Array, Array], PairList | None]:
    """(i, j, normal, gap) of the pairs with gap <= reach, i < j, in order; and the list, for the next time."""
    q, radii = np.ascontiguousarray(q), np.ascontiguousarray(radii)
    n, d = q.shape
    if n <= FEW or d > 3 or reach == np.inf:
        return compiled().all_pairs(q, radii, reach, period), None
    if not np.isfinite(q).all():
        ball = int(np.argmin(np.isfinite(q).all(axis=1)))
        raise NotFinite(f"the position of ball {ball} is {q[ball].tolist()}")
    if known is None or not known.serves(q, radii, reach):
        known = pair_list(q, radii, reach, period)
    return compiled().near(known.i, known.j, q, radii, reach, period), known


def furthest(radii: Array, period: Array) -> float:
    """The largest gap at which a pair still has one nearest image: half a period less two radii."""
    shortest = float(period.min(initial=np.inf))
    if shortest == np.inf or len(radii) == 0:
        return np.inf
    room = shortest / 2.0 - 2.0 * float(radii.max())
    if not room > 0.0:
        raise InvalidValue(
            f"the period {shortest:g} is too short for balls of radius {radii.max():g}: two of them could touch on "
            f"both sides; it must exceed four radii"
        )
    return room
