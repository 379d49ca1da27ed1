"""Statistics of samples: means with confidence intervals, and quantiles.

With n independent values of mean m and standard deviation s, the confidence interval of the mean is

    m +- t_{n-1, (1 + c) / 2} s / sqrt(n)

with the quantile t of Student's distribution. It is exact for normally distributed values and approximate for others.
Quantiles are those of the sample, interpolated (Hyndman and Fan 1996, type 7, NumPy's default).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from jostle.arguments import check_arguments
from jostle.errors import InvalidValue

LEVELS = (0.05, 0.5, 0.95)
"""Default levels of the quantiles of a summary."""


class Summary(NamedTuple):
    """Mean, spread, confidence interval and quantiles of a sample; see `summary`."""

    n: int
    mean: float
    std: float
    """Standard deviation, with n - 1 in the denominator; NaN if n < 2, or if a value is infinite."""
    low: float
    """Lower end of the confidence interval of the mean; -inf if n < 2, or if a value is infinite."""
    high: float
    """Upper end of the confidence interval of the mean; inf if n < 2, or if a value is infinite."""
    quantiles: dict[float, float]
    """The quantiles by their levels."""

    @property
    def width(self) -> float:
        """The width of the confidence interval of the mean."""
        return self.high - self.low


@check_arguments
def summary(values: ArrayLike, *, confidence: float = 0.95, levels: Sequence[float] = LEVELS) -> Summary:
    """Mean, standard deviation, confidence interval of the mean, and quantiles of a sample.

    Parameters
    ----------
    values : array_like, shape (n,)
        The sample, without NaN. Infinite values are allowed.
    confidence : float, default 0.95
        Confidence level of the interval of the mean, between 0 and 1.
    levels : sequence of float, default (0.05, 0.5, 0.95)
        Levels of the quantiles, from 0 to 1.

    Returns
    -------
    Summary
        Named tuple (n, mean, std, low, high, quantiles): the interval of the mean is from low to high, and `quantiles`
        is a dictionary by level; `width` is high - low.

    Raises
    ------
    InvalidValue
        If `values` is not a list of numbers without NaN, or if a level is out of range.

    Examples
    --------
    >>> found = summary([1.0, 2.0, 3.0, 4.0])
    >>> found.mean, round(found.low, 3), round(found.high, 3), found.quantiles[0.5]
    (2.5, 0.446, 4.554, 2.5)
    """
    x = np.asarray(values, dtype=float)
    if x.ndim != 1 or np.isnan(x).any():
        raise InvalidValue(f"values must be a list of numbers without NaN, not an array of shape {x.shape}")
    check_fraction(confidence, "confidence")
    for level in levels:
        if not 0.0 <= level <= 1.0:
            raise InvalidValue(f"levels must be between 0 and 1, not {level}")
    n = len(x)
    if n == 0:
        return Summary(0, np.nan, np.nan, -np.inf, np.inf, {float(level): np.nan for level in levels})
    finite = bool(np.isfinite(x).all())
    mean = float(x.mean()) if finite or len(set(x[np.isinf(x)])) == 1 else np.nan
    std = float(x.std(ddof=1)) if n > 1 and finite else np.nan
    half = student_quantile(n, confidence) * std / np.sqrt(n) if n > 1 and finite else np.inf
    low, high = (mean - half, mean + half) if np.isfinite(half) else (-np.inf, np.inf)
    # linear interpolation between inf and inf gives NaN
    ways = np.quantile(x, levels, method="linear" if finite else "inverted_cdf")
    return Summary(n, mean, std, float(low), float(high), dict(zip(map(float, levels), ways.tolist(), strict=True)))


def student_quantile(n: int, confidence: float) -> float:
    """The quantile t of Student's distribution for the mean of n values."""
    from scipy.special import stdtrit  # the same as scipy.stats.t.ppf, which takes a second to import

    return float(stdtrit(n - 1, 0.5 + confidence / 2.0))


def check_fraction(value: float, name: str) -> None:
    """Refuse a value that is not between 0 and 1."""
    if not 0.0 < value < 1.0:
        raise InvalidValue(f"{name} must be between 0 and 1, not {value}")
