"""The first time at which a polynomial gap becomes negative, to round-off.

Up to degree 2 the root is a formula without cancellation. For higher degrees the roots of the derivatives cut the time
into intervals on which the polynomial is monotone, so that no crossing is missed; each crossing is found by bisection.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from jostle.arrays import Array

BOUND_ROUND_OFF = 1e-9
"""Fraction of its constant term by which the bound of a polynomial is lowered, so that round-off never lifts it."""
MAX_BISECTIONS = 2000
"""Bisection of an interval of floats ends after fewer halvings than this."""


def first_crossing(c: Sequence[float], end: float) -> float | None:
    """The smallest s in (0, end] at which c[0] + c[1] s + c[2] s^2 + ... goes from positive to negative.

    c[0] must be positive. A root at which the polynomial only touches zero is not a crossing.

    >>> first_crossing([1.0, 0.0, -4.0], 9.0), first_crossing([1.0, -2.0, 1.0], 9.0)
    (0.5, None)
    >>> first_crossing([1.0, 0.0, -4.0], 0.4) is None
    True
    """
    degree = max((k for k, value in enumerate(c) if value != 0.0), default=0)
    if degree <= 2:
        s = _first_root_of_parabola(*c[: degree + 1], *[0.0] * (2 - degree))
        return s if s <= end else None
    before = 0.0
    for after in [*_turning_points(c[: degree + 1], end), end]:
        if value_at(c, after) < 0.0:
            return _sign_change(c, before, after)
        before = after
    return None


def first_of(c: Array, end: float) -> tuple[int, float] | None:
    """The row of c (k, d) whose polynomial crosses zero first in (0, end], and where.

    Rows that stay positive up to the earliest crossing so far by the bound c[0] + min(c[1], 0) s + ... are left out.

    >>> first_of(np.array([[1.0, 0.0, -4.0], [1.0, -4.0, 0.0], [1.0, 1.0, 0.0]]), 9.0)
    (1, 0.25)
    """
    found, s = None, end
    possible, powers, falling = np.arange(len(c)), np.arange(1, c.shape[1]), np.minimum(c[:, 1:], 0.0)
    while True:
        lowest = c[possible, 0] * (1.0 - BOUND_ROUND_OFF) + falling[possible] @ s**powers
        possible, lowest = possible[lowest <= 0.0], lowest[lowest <= 0.0]
        if len(possible) == 0:
            return found
        k = int(possible[np.argmin(lowest / c[possible, 0])])
        crossing = first_crossing(c[k].tolist(), s)
        if crossing is not None:
            found, s = (k, crossing), crossing
        possible = possible[possible != k]


def value_at(c: Sequence[float], s: float) -> float:
    """The value of a polynomial with ascending coefficients c.

    >>> value_at([1.0, 2.0, 3.0], 2.0)
    17.0
    """
    value = 0.0
    for each in reversed(c):
        value = value * s + each
    return value


def _first_root_of_parabola(c: float, b: float, a: float) -> float:
    """The first crossing of c + b s + a s^2 with c > 0; infinite if there is none."""
    discriminant = b * b - 4.0 * a * c
    if a > 0.0 and (b >= 0.0 or discriminant <= 0.0):
        return math.inf
    if a == 0.0:
        return -c / b if b < 0.0 else math.inf
    root = math.sqrt(discriminant)
    return 2.0 * c / (root - b) if b <= 0.0 else (b + root) / (-2.0 * a)


def _turning_points(c: Sequence[float], end: float) -> list[float]:
    """Points of (0, end), in order, between which the polynomial is monotone."""
    slope = [k * value for k, value in enumerate(c)][1:]
    points, before = [], 0.0
    for after in [*(_turning_points(slope, end) if len(slope) > 1 else []), end]:
        low, high = value_at(slope, before), value_at(slope, after)
        if low * high < 0.0:
            points.append(_sign_change(slope, before, after))
        if after < end:
            points.append(after)
        before = after
    return points


def _sign_change(c: Sequence[float], low: float, high: float) -> float:
    """Where a polynomial that is monotone between low and high changes its sign, by bisection down to neighbours."""
    rising = value_at(c, high) > 0.0
    for _ in range(MAX_BISECTIONS):
        middle = 0.5 * (low + high)
        if not low < middle < high:
            break
        if (value_at(c, middle) > 0.0) == rising:
            high = middle
        else:
            low = middle
    return high
