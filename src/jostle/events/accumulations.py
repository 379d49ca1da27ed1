"""Limits of infinitely many impacts in a finite time: recognised by the geometric sequence of the flight times."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from jostle._tools.arrays import Array, Booleans, Integers

MAX_PERIOD = 6
"""Longest sequence of contacts whose repetition is recognised as an accumulation of impacts."""
STEADY, STEADY_LONG = 1e-6, 1e-2
"""Largest change of the ratio of successive flight times, over 1 - ratio, in an accumulation of impacts: of one
contact, where the sequence is geometric, and of several in turn, where it becomes so."""
REMAINING = 1e-8
"""Impacts are no longer computed one by one where their limit is nearer than this fraction of their longest flight."""
TIGHT = 100.0
"""Impacts of several contacts in turn are no longer computed one by one where all their gaps, now and in
the bounces that are left, are below this multiple of the round-off."""

MANY_AT_ONCE = 3
"""Contacts may come to rest by impacts at the same time if there are more of these than this number."""
DIED_OUT = 1e-6
"""Impacts at the same time end in rest where gap rates are below this fraction of the first of them."""
UNKNOWN_RATE = 1e3
"""Impacts at the same time are no longer told from rest where gap rates are below this multiple of their round-off."""

SOONER = 2.0
"""A contact may close before a limit if it does so in this multiple of the time that is left, at its present rate."""
SURE = 10.0
"""The time of a limit is sure up to this multiple of its error."""
LONG_FLIGHT = 1e-4
"""Impacts after more than this fraction of the longest flight do not accumulate."""
FAINT = 1e-6
"""Gap rates below this fraction of the largest velocity so far leave gaps that round-off may close."""


class RecentImpact(NamedTuple):
    """What the recognition of accumulations needs to know of an impact."""

    rows: tuple[int, ...]
    flight: float
    """Time since the impact before."""
    speed: float
    """Largest rate at which a gap closed."""
    longest: float
    """Longest flight in the sequence of impacts of the same few contacts."""
    gap: Array
    """(m,) gaps at the impact."""
    noise: Array
    """(m,) round-off of the gaps."""


class Limit(NamedTuple):
    """Where impacts accumulate."""

    remaining: float
    """Time from the last impact to the limit."""
    error: float
    rows: Integers


def remember(
    history: list[RecentImpact], rows: tuple[int, ...], flight: float, speed: float, gap: Array, noise: Array
) -> None:
    """Append an impact to the history in which accumulations are recognised."""
    recent = history[-MAX_PERIOD:]
    again = any(one.rows == rows for one in recent)
    longest = max(recent[-1].longest, flight) if again else flight
    history.append(RecentImpact(rows, flight, speed, longest, gap, noise))
    if len(history) > 6 * MAX_PERIOD:
        del history[: 3 * MAX_PERIOD]


def limit_of(history: Sequence[RecentImpact], at_rest: Integers) -> Limit | None:
    """Where the impacts accumulate; None if they do not, or if the limit is still far.

    Impacts without time between them have reached their limit when all their contacts are `at_rest`, with gap rate 0.
    """
    for period in range(1, min(MAX_PERIOD, len(history) // 3) + 1):
        if history[-1].rows != history[-1 - period].rows or history[-1].speed >= history[-1 - period].speed:
            continue
        last = history[-3 * period :]
        repeats = all(last[k].rows == last[k + period].rows for k in range(2 * period))
        if not (repeats and all(last[k].speed > last[k + period].speed for k in range(2 * period))):
            continue
        rows = np.unique([row for one in last for row in one.rows])
        T1, T2, T3 = (sum(one.flight for one in last[k * period : (k + 1) * period]) for k in range(3))
        if T3 == 0.0 and np.isin(rows, at_rest).all():
            return Limit(0.0, 0.0, rows)
        if not 0.0 < T3 < T2 < T1:
            continue
        ratio, change = T3 / T2, abs(T3 / T2 - T2 / T1)
        found = Limit(T3 * ratio / (1.0 - ratio), T3 * change / (1.0 - ratio) ** 2, rows)
        end = last[-1]
        left = max(one.speed for one in last[-period:]) * found.remaining  # how far gaps still open
        near = left <= end.noise[rows].min() or found.remaining <= REMAINING * end.longest
        in_turn = len({one.rows for one in last}) > 1
        if near and change <= (STEADY_LONG if in_turn else STEADY) * (1.0 - ratio):
            return found
        if in_turn and (np.maximum(end.gap[rows], left) <= TIGHT * end.noise[rows]).all():
            return found
    return None


def died_out(hits: Sequence[tuple[Integers, float]], closed: Integers, rate: Array, noise: Array) -> Booleans:
    """Which closed contacts rest after many impacts at the same time, given the rows and the speed of each.

    Infinitely many of them end in rest. Those that can be computed leave gap rates that are a little above round-off,
    with which bodies at rest would part.
    """
    if len(hits) <= MANY_AT_ONCE:
        return np.zeros(len(closed), dtype=bool)
    rows = np.unique(np.concatenate([rows for rows, _ in hits]))
    slow = np.abs(rate) <= np.minimum(UNKNOWN_RATE * noise, DIED_OUT * max(speed for _, speed in hits))
    return np.asarray(slow & np.isin(closed, rows))


def comes_before(limit: Limit, pairs: Integers, closed: Integers, gap: Array, rate: Array) -> bool:
    """Whether another contact of the same bodies closes before the limit: it changes the impacts that are left."""
    bodies = np.unique(pairs[limit.rows])
    others: Booleans = np.asarray(np.isin(pairs, bodies[bodies >= 0]).any(axis=1))
    others[closed] = others[limit.rows] = False
    soon = SOONER * limit.remaining + SURE * limit.error
    return bool((gap + soon * rate <= 0.0)[others].any())
