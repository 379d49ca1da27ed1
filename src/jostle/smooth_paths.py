"""Smooth differential equations y' = f(t, y), followed until one of several watched values becomes negative.

The integrator is the Runge-Kutta method of order 8 of Dormand and Prince (DOP853 of SciPy). The crossing is searched on
the interpolation of each step, also between its ends, and is then corrected by integrating to it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from jostle.arrays import Array
from jostle.errors import NotConverged

RELATIVE_TOLERANCE = 1e-12
"""Error of one integration step, relative to the state."""
SAMPLES = 8
"""Number of intervals of a step at whose ends the watched values are looked at."""
CORRECTIONS = 2
"""Number of Newton steps that correct the time of a crossing."""
SLOPE_OVER = 1e-4
"""Part of a step over which the slope of a watched value is taken."""
LARGEST_CORRECTION = 0.25
"""Largest correction of the time of a crossing, as a part of the time since the step began."""
MAX_STEPS = 100_000
"""Largest number of integration steps from one event to the next."""

ArrayOrNumber = Array | float
Derivative = Callable[[float, Array], Array]
Watched = Callable[[float, Array], Array]


class Piece(NamedTuple):
    """One integration step: y(t) for start <= t <= end."""

    start: float
    end: float
    y: Callable[[Any], Array]


class Followed(NamedTuple):
    """How far a path was followed."""

    pieces: list[Piece]
    t: float
    y: Array
    crossed: int | None
    """The watched value that became negative; None if the end time came first."""


def follow(
    derivative: Derivative,
    t: float,
    y: Array,
    end: float,
    watched: Watched,
    floor: Array,
    sizes: ArrayOrNumber,
    longest: float = np.inf,
) -> Followed:
    """Follow y' = f(t, y) from (t, y) to the end time, or until a watched value falls below -floor.

    The crossing returned is the root of the value itself, not of value + floor. A value that starts at zero, up to its
    floor, and then falls has its crossing at the start. `sizes` are the magnitudes of the entries of y below which
    errors are absolute. Steps are at most `longest`; the watched values are looked at eight times a step.

    >>> path = follow(lambda t, y: np.array([y[1], -10.0]), 0.0, np.array([1.25, 0.0]), 9.0, lambda t, y: y[:1],
    ...               np.array([1e-14]), 1.0)
    >>> round(float(path.t), 12), path.crossed
    (0.5, 0)
    """
    from scipy.integrate import DOP853

    if not end > t:
        return Followed([], t, y, None)
    tolerances = {"rtol": RELATIVE_TOLERANCE, "atol": RELATIVE_TOLERANCE * np.asarray(sizes, dtype=float)}
    stepper = DOP853(derivative, t, y, end, max_step=longest, **tolerances)
    pieces: list[Piece] = []
    for _ in range(MAX_STEPS):
        start, before = stepper.t, stepper.y.copy()
        stepper.step()
        if stepper.status == "failed":
            raise NotConverged(f"t = {start:.15g}: the force or the mass varies too fast to be integrated")
        inside = stepper.dense_output()
        found = _first_crossing(inside, watched, floor, start, stepper.t, fresh=start == t)
        if found is not None:
            when, which = found
            value = partial(_entry, watched, which)
            when, there = _corrected(derivative, start, before, when, inside, value, tolerances)
            return Followed([*pieces, Piece(start, when, inside)], when, there, which)
        pieces.append(Piece(start, stepper.t, inside))
        if stepper.status == "finished":
            return Followed(pieces, stepper.t, stepper.y.copy(), None)
    raise NotConverged(f"t = {stepper.t:.15g}: more than {MAX_STEPS} integration steps without an event")


def _entry(watched: Watched, which: int, t: float, y: Array) -> float:
    return float(watched(t, y)[which])


def _above(watched: Watched, which: int, floor: float, y: Callable[[float], Array], t: float) -> float:
    return float(watched(t, y(t))[which]) + floor


def _first_crossing(
    y: Callable[[float], Array], watched: Watched, floor: Array, start: float, end: float, fresh: bool
) -> tuple[float, int] | None:
    """The first time in a step at which a watched value becomes negative, and which one."""
    if len(floor) == 0:
        return None
    times = np.linspace(start, end, SAMPLES + 1)
    values = np.array([watched(s, y(s)) for s in times]) + floor
    if fresh:
        values[0] = np.maximum(values[0], floor)
    best: tuple[float, int] | None = None
    for which in range(values.shape[1]):
        found = _crossing_of(times, values[:, which], partial(_above, watched, which, floor[which], y))
        if found is not None and (best is None or found < best[0]):
            best = found, which
    return best


def _crossing_of(times: Array, values: Array, value: Callable[[float], float]) -> float | None:
    """The first crossing of one value, given at some times, between which a dip below zero is looked for."""
    from scipy.optimize import brentq, minimize_scalar

    for k in range(1, len(times)):
        low, high = times[k - 1], times[k]
        if values[k] < 0.0:
            if values[k - 1] <= 0.0 or value(low) <= 0.0:
                return float(low)
            return float(brentq(value, low, high, xtol=1e-300, rtol=4 * np.finfo(float).eps))
        if k + 1 < len(times) and values[k] <= min(values[k - 1], values[k + 1]):
            drops = values[k - 1] + values[k + 1] - 2.0 * values[k]
            if values[k] <= drops:  # a dip that may reach zero
                wide = {"bounds": (low, times[k + 1]), "method": "bounded", "options": {"xatol": 1e-12 * (high - low)}}
                lowest = minimize_scalar(value, **wide)
                if lowest.fun < 0.0:
                    return float(brentq(value, low, lowest.x, xtol=1e-300, rtol=4 * np.finfo(float).eps))
    return None


def _corrected(
    derivative: Derivative,
    start: float,
    before: Array,
    crossing: float,
    inside: Callable[[float], Array],
    value: Callable[[float, Array], float],
    tolerances: Any,
) -> tuple[float, Array]:
    """The time of a crossing and the state there, integrated from the start of the step instead of interpolated."""
    length = crossing - start
    near = crossing - SLOPE_OVER * length
    if not near < crossing:  # at the start, up to round-off
        return start, before
    slope = (value(crossing, inside(crossing)) - value(near, inside(near))) / (crossing - near)
    there = _integrated(derivative, start, before, crossing, tolerances)
    for _ in range(CORRECTIONS):
        miss = value(crossing, there)
        if slope == 0.0 or abs(miss) > LARGEST_CORRECTION * length * abs(slope):  # a graze
            break
        crossing -= miss / slope
        there = _integrated(derivative, start, before, crossing, tolerances)
    return crossing, there


def _integrated(derivative: Derivative, start: float, y: Array, end: float, tolerances: Any) -> Array:
    """The state at the end, in as few steps as the tolerance allows."""
    from scipy.integrate import DOP853

    stepper = DOP853(derivative, start, y, end, first_step=end - start, **tolerances)
    while stepper.status == "running":
        stepper.step()
    return np.array(stepper.y)
