"""Derivatives by finite differences, without memory: the same function at the same place has the same derivative.

`central` takes a step that is given. For smooth functions of one variable, `differentiated` finds the steps, and
`extrapolated` extrapolates differences to step zero (Richardson 1911).

The differences with the steps h, h/2, h/4 and h/8 have errors in powers of h^2, of which the first three are removed.
How fast a function varies shows in its values alone. `differentiated` therefore climbs from steps that are too short to
longer ones, and stops where the function no longer follows its extrapolation: a step that is too long can never be
taken for a good one, as it could on the way down, where the steps may be whole periods of the function.

It climbs in leaps while a parabola fits the values to round-off, and in factors of 2 after that. Whatever the function
has beside the parabola is then hardly above its round-off, far from a period.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from jostle._tools.arrays import Array
from jostle.errors import JostleError

EPS = float(np.finfo(float).eps)
"""Distance from 1 to the next larger double."""
RELATIVE_STEP = float(np.cbrt(EPS))
"""Step of central differences, as a fraction of the length over which a function varies."""
HALVINGS = 3
"""Number of times that a step is halved for one derivative."""
LEAP = 4
"""Powers of 2 between the steps that are tried while a parabola fits the values to round-off."""
SHORTEST = 64.0 * EPS
"""Step at which the search begins, as a fraction of the variable."""
PARABOLA_NOISE = 8.0
"""Values that a parabola predicts up to this multiple of their round-off are those of a parabola."""
FIRST_NOISE, SECOND_NOISE = 16.0, 400.0
"""Round-off of extrapolated first and second derivatives, in round-offs of the function over h and over h^2."""
RISEN = 1e3
"""The search ends where the error is larger than its least value so far by this factor."""
AGREED = 1.0 / 16.0
"""The error is at least this fraction of what it was at half the step: two derivatives may agree by chance."""
GROWN = 8.0
"""A step serves no longer where its error has grown by this factor."""
LESS = 1.5
"""A step serves no longer where the double step has an error that is smaller by this factor."""
MIXED = 1.0 / 32.0
"""The error of f' is at least this fraction of h times that of f'': differences of even functions are 0 for any h."""

Function = Callable[[float], Array]
Differences = Callable[[Function, list[float]], list[Array]]


class Derivatives(NamedTuple):
    """f' and f'' at 0 with their errors, and the steps that serve them."""

    first: Array
    first_error: Array
    first_step: float
    second: Array
    second_error: Array
    second_step: float


class Level(NamedTuple):
    """Differences with one step h."""

    power: int
    """The power of 2 that h is."""
    odd: Array
    """(f(h) - f(-h)) / 2."""
    even: Array
    """(f(h) + f(-h)) / 2 - f(0)."""
    noise: Array
    """The round-off of these."""


class Window(NamedTuple):
    """The derivatives by the steps h, h/2, h/4 and h/8."""

    h: float
    values: tuple[Array, Array]
    errors: tuple[Array, Array]


def central(f: Callable[[Array], Array], x: Array, step: float) -> Array:
    """(..., N) the derivative of a function of x, by central differences with one step along each coordinate.

    >>> central(lambda x: np.array([x[0] * x[1], x[1] ** 2]), np.array([2.0, 3.0]), 0.5).tolist()
    [[3.0, 2.0], [0.0, 6.0]]
    """
    columns = []
    for k in range(x.size):
        ahead, behind = x.ravel().copy(), x.ravel().copy()
        ahead[k] += step
        behind[k] -= step
        change = f(ahead.reshape(x.shape)) - f(behind.reshape(x.shape))
        columns.append(change / (ahead[k] - behind[k]))
    return np.stack(columns, axis=-1)


def first_differences(f: Function, steps: list[float]) -> list[Array]:
    """(f(h) - f(-h)) / 2h for each step h."""
    return [(f(h) - f(-h)) / (2.0 * h) for h in steps]


def second_differences(f: Function, steps: list[float]) -> list[Array]:
    """(f(h) - 2 f(0) + f(-h)) / h^2 for each step h."""
    middle = f(0.0)
    return [((f(h) - middle) + (f(-h) - middle)) / (h * h) for h in steps]


def extrapolated(differences: Differences, f: Function, h: float) -> Array:
    """f'(0) or f''(0) by differences with steps from h down to h / 8.

    >>> float(extrapolated(first_differences, lambda s: np.array([np.exp(s)]), 0.1)[0].round(13))
    1.0
    """
    return _at_zero(differences(f, [h * 0.5**k for k in range(HALVINGS + 1)]))


def differentiated(f: Function, longest: float, noise: Array | float = 0.0, size: float = 0.0) -> Derivatives:
    """f' and f'' at 0, by steps of at most `longest`, where f has a round-off of `noise`.

    `size` is that of the variable itself, t in f(s) = g(t + s). Steps across which f is not defined are not taken.

    >>> found = differentiated(lambda s: np.array([np.cos(s)]), 1e3)
    >>> 0.01 < found.second_step < 2.0, found.second_error[0] < 1e-9, abs(found.second[0] + 1.0) < 1e-10
    (True, np.True_, np.True_)
    """
    levels = _Levels(f, noise, EPS * size)
    top = math.floor(math.log2(longest))
    k = min(math.ceil(math.log2(max(SHORTEST * size, EPS * longest))), top)
    low = levels.at(k)
    while low is not None and k + LEAP <= top:
        high = levels.at(k + LEAP)
        if high is None or not _is_parabola(low, high):
            break
        k, low = k + LEAP, high
    known = levels.above(k - HALVINGS - 1)  # the longest of these steps is known to be short
    windows = [_window(known, None)]
    while known[-1].power < top and not all(_has_risen(windows, which) for which in (0, 1)):
        level = levels.at(known[-1].power + 1)
        if level is None:
            break
        known.append(level)
        windows.append(_window(known[-HALVINGS - 2 :], windows[-1]))
    one, two = (min(windows, key=lambda each: _largest(each.errors[which])) for which in (0, 1))
    return Derivatives(one.values[0], one.errors[0], one.h, two.values[1], two.errors[1], two.h)


def continued(
    f: Function, before: Derivatives, longest: float, noise: Array | float = 0.0, size: float = 0.0
) -> Derivatives | None:
    """f' and f'' at 0 by the steps that served for a function like f; None if others serve better.

    They serve while the errors are about as they were, and the double step does not have smaller ones.

    >>> found = differentiated(lambda s: np.array([np.cos(1.0 + s)]), 1e3)
    >>> continued(lambda s: np.array([np.cos(1.1 + s)]), found, 1e3).first_step == found.first_step
    True
    >>> continued(lambda s: np.array([np.cos(1.0 + 30.0 * s)]), found, 1e3) is None
    True
    """
    levels, found = cache(_Levels(f, noise, EPS * size).at), []
    for which, (h, known) in enumerate(
        ((before.first_step, before.first_error), (before.second_step, before.second_error))
    ):
        top = round(math.log2(h))
        used = [level for level in map(levels, range(top - HALVINGS - 1, top + 1)) if level is not None]
        if len(used) < HALVINGS + 2:
            return None
        window = _window(used, None)
        error, longer = _largest(window.errors[which]), levels(top + 1) if 2.0 * h <= longest else None
        if error > GROWN * _largest(known):
            return None
        if longer is not None and LESS * _largest(_window([*used[1:], longer], window).errors[which]) < error:
            return None
        found.append(window)
    one, two = found
    return Derivatives(one.values[0], one.errors[0], one.h, two.values[1], two.errors[1], two.h)


class _Levels:
    """The differences of a function with steps that are powers of 2: with these, t + h has no round-off."""

    def __init__(self, f: Function, noise: Array | float, jitter: float):
        self.f, self.noise, self.jitter = f, noise, jitter
        self.middle = f(0.0)

    def at(self, power: int) -> Level | None:
        """The differences with the step 2^power; None if the function is not defined there."""
        try:
            with np.errstate(all="ignore"):
                level = self.defined(power)
        except JostleError:
            return None
        return level if np.isfinite(level.odd).all() and np.isfinite(level.even).all() else None

    def defined(self, power: int) -> Level:
        h = 2.0**power
        ahead, behind = self.f(h) - self.middle, self.f(-h) - self.middle
        change = np.maximum(np.abs(ahead), np.abs(behind))
        noise = self.noise + self.jitter * change / h + EPS * (np.abs(self.middle) + change)
        return Level(power, (ahead - behind) / 2.0, (ahead + behind) / 2.0, noise)

    def above(self, power: int) -> list[Level]:
        """The five lowest levels from this power on, or lower ones where the function is not defined further away."""
        found: list[Level] = []
        for k in range(power, power + HALVINGS + 2):
            level = self.at(k)
            if level is None:
                break
            found.append(level)
        while len(found) < HALVINGS + 2:
            power -= 1
            found.insert(0, self.defined(power))
        return found


def _is_parabola(low: Level, high: Level) -> bool:
    """Whether the parabola through three points predicts two that are further away."""
    far = 2.0 ** (high.power - low.power)
    odd, even = np.abs(high.odd / far - low.odd), np.abs(high.even / far**2 - low.even)
    return bool((np.maximum(odd, even) <= PARABOLA_NOISE * high.noise).all())


def _window(levels: list[Level], before: Window | None) -> Window:
    """The derivatives by the last four of five levels; their errors by the first four, and by the window before."""
    top = levels[-1]
    h, values, changes = 2.0**top.power, [], []
    for differences in ([v.odd / 2.0**v.power for v in levels], [2.0 * v.even / 4.0**v.power for v in levels]):
        fine, coarse = _at_zero(differences[-2::-1]), _at_zero(differences[:0:-1])
        values.append(coarse)
        changes.append(np.abs(coarse - fine))
    first = np.maximum(np.maximum(changes[0], FIRST_NOISE * top.noise / h), MIXED * h * changes[1])
    second = np.maximum(np.maximum(changes[1], SECOND_NOISE * top.noise / h**2), changes[0] / h)
    if before is not None:
        first, second = (np.maximum(new, AGREED * old) for new, old in zip((first, second), before.errors, strict=True))
    return Window(h, (values[0], values[1]), (first, second))


def _has_risen(windows: list[Window], which: int) -> bool:
    """Whether the error of f' or f'' is far above the least one so far, in the last two windows."""
    errors = [_largest(each.errors[which]) for each in windows]
    return len(errors) > 2 and min(errors[-2:]) > RISEN * min(errors)


def _largest(v: Array) -> float:
    return float(v.max(initial=0.0))


def _at_zero(row: list[Array]) -> Array:
    """Differences with steps of which each is half the one before, extrapolated to step zero."""
    for power in range(1, HALVINGS + 1):
        row = [fine + (fine - coarse) / (4.0**power - 1.0) for coarse, fine in pairwise(row)]
    return row[0]
