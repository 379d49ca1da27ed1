"""The order of convergence of a scheme, fitted to errors for several time steps h."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from jostle._tools.arguments import check_arguments
from jostle._tools.arrays import Array, finite
from jostle.errors import Implausible, InvalidValue, warn

LEAST_RATIO = 1.0 + 1e-6
"""Time steps are different if the largest is at least this multiple of the smallest."""
LEAST_ORDER = 1e-6
"""Errors whose order is not above this do not become smaller."""
CONFIDENCE = 0.95
"""Confidence level of the uncertainty, if the logarithms of the errors are normally distributed."""


@dataclass(frozen=True)
class Order:
    """A fit error = constant * h^order; returned by `order`.

    Parameters
    ----------
    order : float
        Order of convergence.
    constant : float
        Factor in front of h^order.
    h : ndarray, shape (n,)
        Time steps.
    error : ndarray, shape (n,)
        Errors at these time steps.
    uncertainty : float, default inf
        Half the width of the 95 % confidence interval of the order, from the scatter of the errors around the fit. It
        is infinite for two errors.

    Examples
    --------
    >>> order([0.2, 0.1], [0.4, 0.2]).h.tolist()
    [0.2, 0.1]
    """

    order: float
    constant: float
    h: Array
    error: Array
    uncertainty: float = float("inf")

    def __str__(self) -> str:
        return f"{self.order:.2f} +- {self.uncertainty:.2f}"


@check_arguments
def order(h: ArrayLike, error: ArrayLike) -> Order:
    """Fit error = c h^k by least squares of the logarithms.

    A single halving of h is noisy where there are impacts: give five time steps or more.

    Parameters
    ----------
    h : array_like, shape (n,)
        Time steps, positive; at least two different ones.
    error : array_like, shape (n,)
        Errors at these time steps, positive.

    Returns
    -------
    Order
        The fit; ``str`` gives the order with its uncertainty.

    Warns
    -----
    Implausible
        If the errors do not become smaller with the steps: then the order is zero or negative.

    Examples
    --------
    >>> fit = order([0.1, 0.05, 0.025], [0.02, 0.005, 0.00125])
    >>> round(fit.order, 9), round(fit.constant, 9)
    (2.0, 2.0)
    >>> print(order([0.1, 0.05, 0.025, 0.0125], [0.11, 0.04, 0.03, 0.011]))          # erratic
    1.04 +- 0.63
    """
    steps, errors = finite(h, "h").ravel(), finite(error, "error").ravel()
    if len(steps) != len(errors) or len(steps) < 2:
        raise InvalidValue(
            f"h and error must have the same length, at least 2; they have {len(steps)} and {len(errors)}"
        )
    if (steps <= 0).any() or (errors <= 0).any():
        raise InvalidValue("steps and errors must be positive: an error of zero has no order")
    if steps.max() < LEAST_RATIO * steps.min():
        raise InvalidValue(f"all time steps are {steps[0]:g}: an order needs at least two different ones")
    slope, intercept = np.polyfit(np.log(steps), np.log(errors), 1)
    if slope <= LEAST_ORDER:
        warn(f"the errors do not become smaller with h, order {slope:.2f}: the scheme does not converge", Implausible)
    return Order(float(slope), float(np.exp(intercept)), steps, errors, _uncertainty(steps, errors, slope, intercept))


def _uncertainty(h: Array, error: Array, slope: float, intercept: float) -> float:
    """Half the width of the confidence interval of the slope, by Student's t with n - 2 degrees of freedom."""
    from scipy.special import stdtrit

    n, x = len(h), np.log(h)
    spread = float(((x - x.mean()) ** 2).sum())
    if n < 3 or spread == 0.0:
        return float("inf")
    scatter = float(((np.log(error) - slope * x - intercept) ** 2).sum()) / (n - 2)
    return float(stdtrit(n - 2, (1.0 + CONFIDENCE) / 2.0) * np.sqrt(scatter / spread))
