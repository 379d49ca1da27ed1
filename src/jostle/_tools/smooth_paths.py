"""Smooth differential equations y' = f(t, y), followed until one of several watched values becomes negative.

The integrator is the Runge-Kutta method of order 8 of Dormand and Prince (DOP853 of SciPy). The crossing is searched on
the interpolation of each step, also between the samples and at the ends of the step.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
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
GROWTH = 10.0
"""Largest ratio of a step along a parabola to the one before."""

ROUGH = 1e-2
"""A polynomial of degree 5 through both ends of a step is as close as this part of the range of a watched value."""
PARTS: Array = np.linspace(0.0, 1.0, SAMPLES + 1)
"""Where in a step the watched values are computed."""
HERMITE: Array = PARTS[:, None] ** np.arange(6) @ np.linalg.inv(
    [[1, 0, 0, 0, 0, 0], [0, 1, 0, 0, 0, 0], [0, 0, 2, 0, 0, 0], [1] * 6, range(6), [k * (k - 1) for k in range(6)]]
)
"""Values of the polynomial with given values, slopes and second derivatives at 0 and 1 (Hermite interpolation)."""

OfState = Callable[[float, Array], Array]
"""A function of t and y."""
Watched = Callable[[Array, Array], Array]
"""A function of times (k,) and states (k, N) that returns values (k, m)."""


class Piece(NamedTuple):
    """One integration step: y(t) for start <= t <= end."""

    start: float
    end: float
    y: Callable[[Any], Array]
    first: Array
    """y(start)."""


class Followed(NamedTuple):
    """How far a path was followed."""

    pieces: list[Piece]
    t: float
    y: Array
    crossed: int | None
    """The watched value that became negative; None if the end time came first."""
    step: float | None
    """The longest step, with which a path like this one can begin."""


class _Inside:
    """The motion within one step; the three evaluations that it needs are made when it is first asked for."""

    def __init__(self, stepper: Any):
        self._found: Any = None
        self._stepper = copy(stepper)
        self._stepper.K_extended = stepper.K_extended.copy()  # later steps write there
        self._stepper.K = self._stepper.K_extended[: len(stepper.K)]

    def __call__(self, t: Any) -> Array:
        if self._found is None:
            self._found, self._stepper = self._stepper.dense_output(), None
        return np.asarray(self._found(t))

    def roughly(self) -> Array:
        """(9, n) positions at equal distances, by those, the velocities and the accelerations at both ends."""
        one, n = self._stepper, len(self._stepper.y) // 2
        h, before = one.h_previous, one.K[0]
        ends = (one.y_old[:n], h * before[:n], h * h * before[n:], one.y[:n], h * one.f[:n], h * h * one.f[n:])
        return np.asarray(HERMITE @ np.array(ends))


class _Parabola:
    """Steps along a parabola, which is known: they only cut the time in parts."""

    status = "running"

    def __init__(self, t: float, y: Array, a: Array, end: float, first: float):
        self.t, self.y, self.end, self.h, self.max_step = t, y, end, first / GROWTH, np.inf
        self._start, self._y, self._a = t, y, a

    def step(self) -> None:
        self.h = min(GROWTH * self.h, self.max_step)
        self.t = min(self.t + self.h, self.end)
        self.y = self(self.t)
        self.status = "finished" if self.t == self.end else "running"

    def __call__(self, t: Any) -> Array:
        s, n = t - self._start, len(self._a)
        q, u = self._y[:n], self._y[n:]
        if np.ndim(s):
            q, u, a = q[:, None], u[:, None], self._a[:, None]
        else:
            a = self._a
        return np.concatenate([q + s * (u + 0.5 * s * a), u + s * a])


def follow(
    derivative: OfState | Array,
    t: float,
    y: Array,
    end: float,
    watched: Watched,
    floor: Array,
    sizes: Array | float,
    longest: Callable[[float, Array], float] | None = None,
    corrected: OfState | None = None,
    first: float | None = None,
    positions: bool = False,
    coarse: bool = False,
) -> Followed:
    """Follow y' = f(t, y) from (t, y) to the end time, or until a watched value falls below -floor."""
    # The crossing returned is the root of the value itself, not of value + floor. A value that starts at zero, up to
    # its floor, and then falls has its crossing at the start. `sizes` are the magnitudes of the entries of y below
    # which errors are absolute. A step from (t, y) is at most `longest`(t, y), and the first one at most `first`; the
    # watched values are looked at eight times a step. Each step starts from the state `corrected`, which may differ
    # from y by the error of integration. An array in place of the derivative is a constant acceleration. Positions
    # alone are watched if `positions`; y has velocities below them. If `coarse`, three values a step are enough where
    # they are far from zero.
    from scipy.integrate import DOP853

    if not end > t:
        return Followed([], t, y, None, None)
    begin = None if first is None else min(first, end - t)
    stepper: Any
    if isinstance(derivative, np.ndarray):
        stepper = _Parabola(t, y, derivative, end, begin or end - t)
    else:
        accuracy = {"rtol": RELATIVE_TOLERANCE, "atol": RELATIVE_TOLERANCE * np.asarray(sizes, dtype=float)}
        stepper = DOP853(derivative, t, y, end, first_step=begin, **accuracy)
    pieces: list[Piece] = []
    values, h = None, 0.0
    for _ in range(MAX_STEPS):
        start, before = stepper.t, stepper.y
        if longest is not None:
            stepper.max_step = longest(start, before)
        stepper.step()
        if stepper.status == "failed":
            raise NotConverged(f"t = {start:.15g}: the force or the mass varies too fast to be integrated")
        inside, rough = stepper, None
        if isinstance(stepper, DOP853):
            inside = _Inside(stepper) if corrected is None else stepper.dense_output()
            rough = inside.roughly() if positions and corrected is None else None
        found, values = _first_crossing(inside, watched, floor, start, stepper.t, values, rough, coarse)
        h = max(h, stepper.t - start)
        if found is not None:
            when, which = found
            there = before if when == start else np.array(inside(when))
            return Followed([*pieces, Piece(start, when, inside, before)], when, there, which, h)
        pieces.append(Piece(start, stepper.t, inside, before))
        if stepper.status == "finished":
            return Followed(pieces, stepper.t, stepper.y.copy(), None, h)
        if corrected is not None:
            stepper.y = corrected(stepper.t, stepper.y)
            stepper.f = stepper.fun(stepper.t, stepper.y)
            values = watched(np.array([stepper.t]), stepper.y[None])[0]
    raise NotConverged(f"t = {stepper.t:.15g}: more than {MAX_STEPS} integration steps without an event")


def _entry(watched: Watched, which: int, y: Callable[[float], Array], t: float) -> float:
    return float(watched(np.array([t]), y(t)[None])[0, which])


def _first_crossing(
    y: Callable[[Any], Array],
    watched: Watched,
    floor: Array,
    start: float,
    end: float,
    known: Array | None,
    rough: Array | None,
    coarse: bool,
) -> tuple[tuple[float, int] | None, Array | None]:
    """The first time in a step at which a watched value becomes negative, and which one; and the values at its end.

    The values at the start are `known`, except in the first step. Where those of `rough` positions are far from zero,
    nothing else is looked at.
    """
    if len(floor) == 0:
        return None, None
    times = start + (end - start) * PARTS
    times[-1] = end
    if rough is not None or (coarse and known is not None):
        if rough is not None:
            values = watched(times, rough)
        else:
            where = times[[SAMPLES // 2, SAMPLES]]
            values = np.array([known, *watched(where, np.ascontiguousarray(y(where).T))])
        lowest, curvatures = values.min(axis=0), np.abs(values[:-2] + values[2:] - 2.0 * values[1:-1]).max(axis=0)
        if (lowest > curvatures + floor + ROUGH * (values.max(axis=0) - lowest)).all():
            return None, values[-1]
    values = watched(times, np.ascontiguousarray(y(times).T))
    if known is not None:
        values[0] = known
    last = values[-1].copy()
    values += floor
    if known is None:
        values[0] = np.maximum(values[0], floor)
    curvatures = np.abs(values[:-2] + values[2:] - 2.0 * values[1:-1]).max(axis=0)
    best: tuple[float, int] | None = None
    for which in (values.min(axis=0) <= np.maximum(curvatures, floor)).nonzero()[0]:
        value = partial(_entry, watched, which, y)
        found = _crossing_of(times, values[:, which], value, floor[which], known is None)
        if found is not None and (best is None or found < best[0]):
            best = found, int(which)
    return best, last


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
