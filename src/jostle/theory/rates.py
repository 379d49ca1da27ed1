"""The rates of a moving set: derivatives of the gaps by time, for (A2), (A3) and (A5).

They are differenced at the configuration. The time step of the differences is searched for, as those of gradients are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from jostle.arrays import Array, Integers
from jostle.convex.maps import as_map
from jostle.errors import JostleError
from jostle.sets.base import ConstraintSet
from jostle.sets.contacts import by_pair
from jostle.sets.differences import Differences
from jostle.theory.places import Place

RUNG = 16.0
"""Factor between neighbouring time steps of second differences."""
MAX_RUNGS = 400
"""Largest number of time steps that are tried."""
CURVED = 1e-4
"""Second differences of this size, relative to the first ones, are well above round-off."""
AGREEMENT = 0.1
"""Second derivatives by a step and by half of it agree up to this fraction, unless there is a kink in between."""


@dataclass(frozen=True, eq=False)
class Rates:
    """Of each row of a place."""

    first: Array
    """(m,) dg_i / dt."""
    turning: Array
    """(m,) |d grad g_i / dt|, in the dual norm of the metric."""
    second: Array
    """(m,) d^2 g_i / dt^2."""
    at_rest: bool
    """Whether it is known that the set does not move."""


def rates(place: Place) -> Rates:
    """The derivatives by time of all contacts of a place."""
    m = len(place.contacts.gap)
    nothing = np.zeros(m)
    if place.within.moving is False or m == 0:
        return Rates(nothing, nothing, nothing, place.within.moving is False)
    within, t, q, pairs, M = place.within, place.t, place.q, place.contacts.pairs, place.metric
    gap = place.contacts.gap

    def gaps(time: float) -> Array:
        try:
            there = within.linearise(time, q)
        except JostleError:  # at a time far from t the set may not exist: radii that shrink, say
            return np.full(m, np.nan)
        return by_pair(there.pairs, there.gap, pairs, np.nan)

    search = Differences(lambda _, time: gaps(float(time[0])))
    first = search.search(t, np.array([t]), gap).G[:, 0]
    steps = None if search.steps is None else search.steps.step[first != 0.0]
    if steps is None or len(steps) == 0:
        return Rates(nothing, nothing, nothing, False)
    s = float(np.median(steps))
    ahead, behind = (_gradients(within, t + way, q, pairs) for way in (s, -s))
    turning = np.asarray(as_map((ahead - behind) / (2.0 * s)).norms(M))
    return Rates(first, turning, _second(gaps, t, gap, s), False)


def _second(gaps: Callable[[float], Array], t: float, gap: Array, s: float) -> Array:
    """(m,) d^2 g_i / dt^2, by the first step above s that sees a curvature; 0 where none does.

    A step that sees more than half of it does is beyond a kink, and t itself is on a straight part.
    """

    def differences(step: float) -> tuple[Array, Array]:
        later, earlier = gaps(t + step), gaps(t - step)
        return later - earlier, (later - gap) + (earlier - gap)

    found, known = np.zeros(len(gap)), np.zeros(len(gap), dtype=bool)
    for _ in range(MAX_RUNGS):
        first, second = differences(s)
        curved = ~known & (np.abs(second) > CURVED * np.abs(first).max(initial=0.0)) & (s > 0.0)
        if curved.any():
            half = differences(s / 2.0)[1] / (s / 2.0) ** 2
            here = second / s**2
            smooth = np.abs(here - half) <= AGREEMENT * np.abs(here)
            found[curved & smooth] = here[curved & smooth]
            known |= curved
        if known.all() or not np.isfinite(first).all():
            break
        s *= RUNG
    return found


def _gradients(within: ConstraintSet, t: float, q: Array, pairs: Integers) -> Array:
    there = within.linearise(t, q)
    rows = by_pair(there.pairs, np.arange(len(there.pairs), dtype=float), pairs).astype(int)
    return np.asarray(there.G.rows(rows).toarray())
