"""Derivatives of smooth functions of one variable, by central differences extrapolated to step zero (Richardson 1911).

The differences with the steps h, h/2, h/4 and h/8 have errors in powers of h^2, of which the first three are removed.
`best_step` chooses h. Along a motion h is chosen once, so that the error that is left is a smooth function as well.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from jostle.arrays import Array

HALVINGS = 3
"""Number of times that a step is halved for one derivative."""
STEPS = 12
"""Number of steps, each half as long as the one before, among which the best one is chosen."""

Function = Callable[[float], Array]
Difference = Callable[[Function, float], Array]


class Step(NamedTuple):
    """The step of a derivative, and the error that it has there."""

    h: float
    error: Array


def first_difference(f: Function, h: float) -> Array:
    """(f(h) - f(-h)) / 2h."""
    return (f(h) - f(-h)) / (2.0 * h)


def second_difference(f: Function, h: float) -> Array:
    """(f(h) - 2 f(0) + f(-h)) / h^2."""
    middle = f(0.0)
    return ((f(h) - middle) + (f(-h) - middle)) / (h * h)


def extrapolated(difference: Difference, f: Function, h: float) -> Array:
    """f'(0) or f''(0) by differences with steps from h down to h / 8.

    >>> float(extrapolated(first_difference, lambda s: np.array([np.exp(s)]), 0.1)[0].round(13))
    1.0
    """
    row = [difference(f, h * 0.5**k) for k in range(HALVINGS + 1)]
    for power in range(1, HALVINGS + 1):
        row = [fine + (fine - coarse) / (4.0**power - 1.0) for coarse, fine in pairwise(row)]
    return row[0]


def best_step(difference: Difference, f: Function, longest: float) -> Step:
    """The step of at most `longest` whose derivative differs least from that of half the step.

    >>> step = best_step(second_difference, lambda s: np.array([np.cos(s)]), 10.0)
    >>> 0.01 < step.h < 2.0, step.error[0] < 1e-10
    (True, np.True_)
    """
    steps = [longest * 0.5**k for k in range(STEPS)]
    found = [extrapolated(difference, f, h) for h in steps]
    changes = [np.abs(one - other) for one, other in pairwise(found)]
    best = int(np.argmin([change.max(initial=0.0) for change in changes]))
    return Step(steps[best], changes[best])
