"""Smooth differential equations y' = f(t, y), followed until one of several watched values becomes negative.

The integrator is the Runge-Kutta method of order 8 of Dormand and Prince (DOP853 of SciPy). The crossing is searched on
the interpolation of each step, also between the samples and at the ends of the step.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from jostle._tools.arrays import Array
from jostle.errors import NotConverged

RELATIVE_TOLERANCE = 1e-12
"""Error of one integration step, relative to the state."""
SAMPLES = 8
"""Number of intervals of a step at whose ends the watched values are computed."""
MAX_STEPS = 100_000
"""Largest number of integration steps from one event to the next."""

OfState = Callable[[float, Array], Array]
"""A function of t and y."""


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
    derivative: OfState,
    t: float,
    y: Array,
    end: float,
    watched: OfState,
    floor: Array,
    sizes: Array | float,
    longest: Callable[[float, Array], float] | None = None,
    corrected: OfState | None = None,
) -> Followed:
    """Follow y' = f(t, y) from (t, y) to the end time, or until a watched value falls below -floor."""
    # The crossing returned is the root of the value itself, not of value + floor. A value that starts at zero, up to
    # its floor, and then falls has its crossing at the start. `sizes` are the magnitudes of the entries of y below
    # which errors are absolute. A step from (t, y) is at most `longest`(t, y); the watched values are looked at eight
    # times a step. Each step starts from the state `corrected`, which may differ from y by the error of integration.
    from scipy.integrate import DOP853

    if not end > t:
        return Followed([], t, y, None)
    tolerances = {"rtol": RELATIVE_TOLERANCE, "atol": RELATIVE_TOLERANCE * np.asarray(sizes, dtype=float)}
    stepper = DOP853(derivative, t, y, end, max_step=np.inf if longest is None else longest(t, y), **tolerances)
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
            there = before if when == start else np.array(inside(when))
            return Followed([*pieces, Piece(start, when, inside)], when, there, which)
        pieces.append(Piece(start, stepper.t, inside))
        if stepper.status == "finished":
            return Followed(pieces, stepper.t, stepper.y.copy(), None)
        if corrected is not None:
            stepper.y = corrected(stepper.t, stepper.y)
            stepper.f = derivative(stepper.t, stepper.y)
        if longest is not None:
            stepper.max_step = longest(stepper.t, stepper.y)
    raise NotConverged(f"t = {stepper.t:.15g}: more than {MAX_STEPS} integration steps without an event")


def _entry(watched: OfState, which: int, y: Callable[[float], Array], t: float) -> float:
    return float(watched(t, y(t))[which])


def _first_crossing(
    y: Callable[[float], Array], watched: OfState, floor: Array, start: float, end: float, fresh: bool
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
        found = _crossing_of(times, values[:, which], partial(_entry, watched, which, y), floor[which], fresh)
        if found is not None and (best is None or found < best[0]):
            best = found, which
    return best


def _crossing_of(
    times: Array, values: Array, value: Callable[[float], float], floor: float, fresh: bool
) -> float | None:
    """The first crossing of one value, between whose values at some times a dip below zero is looked for, too."""
    # The floor is in the values already. A dip around the end of a step is looked for in both steps, on either side.
    from scipy.optimize import minimize_scalar

    last = len(times) - 1
    opens = fresh and values[0] <= floor
    for k in range(last + 1):
        before, after = max(k - 1, 0), min(k + 1, last)
        if values[k] < 0.0:
            return _root(value, floor, times[before], times[k])
        if values[k] > min(values[before], values[after]) or (k == 0 and opens):
            continue
        middle = min(max(k, 1), last - 1)
        if values[k] <= abs(values[middle - 1] + values[middle + 1] - 2.0 * values[middle]):  # the dip may reach zero
            width = times[after] - times[before]
            wide = {"bounds": (times[before], times[after]), "method": "bounded", "options": {"xatol": 1e-12 * width}}
            lowest = minimize_scalar(value, **wide)
            if lowest.fun < -floor:
                return _root(value, floor, times[before], lowest.x)
    return None


def _root(value: Callable[[float], float], floor: float, low: float, high: float) -> float:
    """Where a value that is below -floor at `high` crosses zero, or -floor if it is not positive at `low`."""
    from scipy.optimize import brentq

    level = 0.0 if value(low) > 0.0 else floor
    if value(low) + level <= 0.0:
        return float(low)
    return float(brentq(lambda t: value(t) + level, low, high, xtol=1e-300, rtol=4 * np.finfo(float).eps))
