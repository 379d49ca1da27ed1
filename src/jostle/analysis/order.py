"""The order of convergence of a scheme, fitted to errors over several steps h."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from jostle.arguments import check_arguments
from jostle.arrays import Array, finite
from jostle.errors import InvalidValue


@dataclass(frozen=True)
class Order:
    """error ~ constant * h^order.

    >>> order([0.2, 0.1], [0.4, 0.2]).h.tolist()
    [0.2, 0.1]
    """

    order: float
    constant: float
    h: Array
    error: Array


@check_arguments
def order(h: ArrayLike, error: ArrayLike) -> Order:
    """Fit error = c h^k by least squares of the logarithms. One halving is noisy where impacts are: give five or more.

    >>> fit = order([0.1, 0.05, 0.025], [0.02, 0.005, 0.00125])
    >>> round(fit.order, 9), round(fit.constant, 9)
    (2.0, 2.0)
    """
    steps, errors = finite(h, "h").ravel(), finite(error, "error").ravel()
    if len(steps) != len(errors) or len(steps) < 2:
        raise InvalidValue(f"give as many errors as steps, two at least; not {len(errors)} and {len(steps)}")
    if (steps <= 0).any() or (errors <= 0).any():
        raise InvalidValue("steps and errors must be positive: an error of zero has no order")
    slope, intercept = np.polyfit(np.log(steps), np.log(errors), 1)
    return Order(float(slope), float(np.exp(intercept)), steps, errors)
