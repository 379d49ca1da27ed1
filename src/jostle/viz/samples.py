"""Plots of many runs: bands of quantiles, and means with confidence intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike

from jostle.analysis.bands import band
from jostle.analysis.samples import summary
from jostle.arguments import check_arguments
from jostle.arrays import finite
from jostle.errors import InvalidValue
from jostle.viz.style import axes, legend, pen

OPACITY = 0.25
"""Opacity of bands."""


@check_arguments
def quantile_band(
    t: ArrayLike,
    curves: ArrayLike | Mapping[str, ArrayLike],
    *,
    level: float = 0.9,
    names: tuple[str, str] = ("$t$", ""),
    ax: Axes | None = None,
) -> Axes:
    """Plot the median of many curves over t, and the band between two quantiles.

    Parameters
    ----------
    t : array_like, shape (k,)
        Abscissa of the curves.
    curves : array_like, shape (n, k), or mapping of str to array_like
        One row per curve, or several sets of curves by name.
    level : float, default 0.9
        Fraction of the curves inside the band, between 0 and 1; 0.9 is the band from 5 % to 95 %.
    names : (str, str), default ("$t$", "")
        Labels of the axes.
    ax : matplotlib Axes, optional
        Where to draw. None: a new figure.

    Returns
    -------
    matplotlib Axes
        The Axes with the plot.

    Raises
    ------
    InvalidValue
        If there are no curves, or they do not fit t.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> ax = quantile_band([0.0, 1.0], [[3.0, 2.0], [3.0, 1.0], [3.0, 0.0]])
    >>> ax.lines[0].get_ydata().tolist(), ax.get_legend().get_texts()[1].get_text()
    ([3.0, 1.0], 'median')
    >>> plt.close(ax.figure)
    """
    x, named = _places(t, "t"), _named(curves, "curves")
    found = {name: band(each, level=level) for name, each in named.items()}
    for one in found.values():
        _check_places(x, len(one.middle), "curves")
    ax = axes(ax)
    for number, (name, one) in enumerate(found.items()):
        words = f"{name}: " if name else ""
        label = f"{words}{100.0 * level:g} % of the runs"
        ax.fill_between(x, one.low, one.high, color=pen(number)["color"], alpha=OPACITY, linewidth=0.0, label=label)
        ax.plot(x, one.middle, label=f"{words}median", linewidth=1.4, **pen(number))
    ax.set(xlabel=names[0], ylabel=names[1])
    ax.legend(frameon=False)
    return ax


@check_arguments
def mean_curve(
    x: ArrayLike,
    samples: Sequence[ArrayLike] | Mapping[str, Sequence[ArrayLike]],
    *,
    confidence: float = 0.95,
    names: tuple[str, str] = ("", ""),
    ax: Axes | None = None,
) -> Axes:
    """Plot the mean of the samples at each x, with error bars for its confidence interval.

    Parameters
    ----------
    x : array_like, shape (k,)
        Abscissa of the samples.
    samples : sequence of array_like, or mapping of str to sequence
        The values at each x, such as a measure of all runs of a case; or several such lists by name.
    confidence : float, default 0.95
        Confidence level of the intervals, between 0 and 1.
    names : (str, str), default ("", "")
        Labels of the axes.
    ax : matplotlib Axes, optional
        Where to draw. None: a new figure.

    Returns
    -------
    matplotlib Axes
        The Axes with the plot.

    Raises
    ------
    InvalidValue
        If there are no samples, fewer than two values at an x, or infinite values.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> ax = mean_curve([0.8, 1.2], [[1.0, 1.2, 1.4], [2.0, 2.1, 2.2]])
    >>> ax.lines[0].get_ydata().round(9).tolist()
    [1.2, 2.1]
    >>> plt.close(ax.figure)
    """
    places, named = _places(x, "x"), _named(samples, "samples")
    found = {name: [summary(values, confidence=confidence) for values in each] for name, each in named.items()}
    for name, each in found.items():
        _check_places(places, len(each), "samples")
        if any(one.n < 2 or not np.isfinite(one.width) for one in each):
            raise InvalidValue(f"samples {name}: a confidence interval needs at least two values at each x, all finite")
    ax = axes(ax)
    for number, (name, each) in enumerate(found.items()):
        mean = np.array([one.mean for one in each])
        ends = [mean - [one.low for one in each], [one.high for one in each] - mean]
        ax.errorbar(places, mean, ends, label=name, marker="o", markersize=4.0, capsize=3.0, **pen(number))
    ax.set(xlabel=names[0], ylabel=names[1])
    legend(ax, list(named))
    return ax


def _places(values: ArrayLike, name: str) -> Any:
    places = finite(values, name)
    if places.ndim != 1:
        raise InvalidValue(f"{name} must be a list of numbers, not an array of shape {places.shape}")
    return places


def _named(values: Any, name: str) -> dict[str, Any]:
    named = dict(values) if isinstance(values, Mapping) else {"": values}
    if not named:
        raise InvalidValue(f"{name} is empty: there is nothing to draw")
    return named


def _check_places(places: Any, count: int, name: str) -> None:
    if count != len(places):
        raise InvalidValue(f"{name} must have {len(places)} entries, one for each abscissa, not {count}")
