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

from jostle._tools.arguments import Fraction, check_arguments
from jostle._tools.arrays import Array
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
def summary(values: ArrayLike, *, confidence: Fraction = 0.95, levels: Sequence[float] = LEVELS) -> Summary:
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

    Examples
    --------
    >>> found = summary([1.0, 2.0, 3.0, 4.0])
    >>> found.mean, round(found.low, 3), round(found.high, 3), found.quantiles[0.5]
    (2.5, 0.446, 4.554, 2.5)
    """
    x = np.asarray(values, dtype=float)
    if x.ndim != 1 or np.isnan(x).any():
        raise InvalidValue(f"values must be a list of numbers without NaN, not an array of shape {x.shape}")
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


# Bands of curves: mean curves with confidence and quantile bands, and the number of people inside over time.


class Band(NamedTuple):
    """Quantiles and means of several curves at the same places; see `band`."""

    low: Array
    middle: Array
    """Median of the curves."""
    high: Array
    mean: Array
    mean_low: Array
    """Lower end of the confidence interval of the mean."""
    mean_high: Array
    """Upper end of the confidence interval of the mean."""


@check_arguments
def band(curves: ArrayLike, *, level: Fraction = 0.9, confidence: Fraction = 0.95) -> Band:
    """The band between two quantiles, the median and the mean of several curves.

    A level of 0.9 gives the band from the 5 % to the 95 % quantile: at each place nine of ten curves are in it.

    Parameters
    ----------
    curves : array_like, shape (k, m)
        k curves, each with m finite values at the same places.
    level : float, default 0.9
        Fraction of the curves in the band, between 0 and 1.
    confidence : float, default 0.95
        Confidence level of the interval of the mean, between 0 and 1.

    Returns
    -------
    Band
        Named tuple (low, middle, high, mean, mean_low, mean_high) of arrays (m,): the band is from low to high, middle
        is the median, and the confidence interval of the mean is from mean_low to mean_high.

    Examples
    --------
    >>> found = band([[0.0, 1.0], [2.0, 1.0], [4.0, 1.0]], level=0.5)
    >>> found.low.tolist(), found.middle.tolist(), found.high.tolist()
    ([1.0, 1.0], [2.0, 1.0], [3.0, 1.0])
    """
    x = np.asarray(curves, dtype=float)
    if x.ndim != 2 or x.size == 0 or not np.isfinite(x).all():
        raise InvalidValue(f"curves must be finite numbers, one row for each curve, not of shape {x.shape}")
    low, middle, high = np.quantile(x, [0.5 - level / 2.0, 0.5, 0.5 + level / 2.0], axis=0)
    mean, k = x.mean(axis=0), len(x)
    half = student_quantile(k, confidence) * x.std(axis=0, ddof=1) / np.sqrt(k) if k > 1 else np.full(len(mean), np.inf)
    return Band(low, middle, high, mean, mean - half, mean + half)


@check_arguments
def people_inside(leaving_times: Sequence[ArrayLike], t: ArrayLike) -> Array:
    """The number of people inside as a function of time, in each of several runs.

    Parameters
    ----------
    leaving_times : sequence of array_like
        For each of k runs, the times at which people left; inf for people who did not.
    t : array_like, shape (m,)
        Times at which people are counted.

    Returns
    -------
    ndarray, shape (k, m)
        Numbers of people inside; a person who leaves at time t is no longer counted.

    Examples
    --------
    >>> people_inside([[1.0, 2.0, 3.0], [1.5, 1.6, float("inf")]], [0.0, 1.0, 1.55, 9.0]).tolist()
    [[3.0, 2.0, 2.0, 0.0], [3.0, 3.0, 2.0, 1.0]]
    """
    times = np.asarray(t, dtype=float)
    if times.ndim != 1 or np.isnan(times).any():
        raise InvalidValue(f"t must be a list of times without NaN, not {t!r:.80}")
    runs = [np.sort(np.asarray(each, dtype=float)) for each in leaving_times]
    if not runs or any(run.ndim != 1 or np.isnan(run).any() for run in runs):
        raise InvalidValue("leaving_times must hold a list of times, without NaN, for each run")
    return np.array([len(run) - np.searchsorted(run, times, side="right") for run in runs], dtype=float)
