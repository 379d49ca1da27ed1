"""Plots of results: orders of convergence, evacuation curves, bifurcation diagrams, basins of attraction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.ticker import NullFormatter
from numpy.typing import ArrayLike

from jostle._tools.arguments import Finite, Natural
from jostle._tools.arrays import Array, finite
from jostle._tools.colours import NEUTRAL, PALETTE
from jostle.analysis.order import Order
from jostle.analysis.statistics import band, summary
from jostle.crowds.measure.leaving import Leaving, check_area_is_known, watch
from jostle.errors import InvalidValue
from jostle.plans.stored import plan_of
from jostle.result.facts import Units
from jostle.vibro.branches import Branch
from jostle.viz.sources import TIME, Shown, solution, with_unit
from jostle.viz.style import MAX_LEGEND_LINES, axes, by_name, legend, pen, plot

MARKERS = "osD^v<>"
"""Markers of the curves in a plot of orders of convergence, one after the other."""
MAX_STEP_LABELS = 7
"""With more steps than this, a plot of orders labels powers of ten instead of the steps."""
MIN_STEP_RATIO = 1.5
"""Ratio of two neighbouring steps below which their labels would overlap."""
DOTS = 4000.0
"""Number of dots of a bifurcation diagram at which a dot has the size of one point."""


@plot
def orders(fits: Order | Mapping[str, Order], *, ax: Axes | None = None) -> Axes:
    """Plot errors over steps h with the fitted lines c h^k.

    Parameters
    ----------
    fits : Order or mapping of str to Order
        A fit of `jostle.analysis.order`, or several by name; the legend gives the order k of each.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from jostle.analysis import order
    >>> ax = orders({"Maury": order([0.1, 0.05], [0.2, 0.1]), "Paoli": order([0.1, 0.05], [0.04, 0.01])})
    >>> [line.get_label() for line in ax.lines[1::2]], ax.get_xscale()
    (['Maury: order 1.00', 'Paoli: order 2.00'], 'log')
    >>> plt.close(ax.figure)
    """
    named = by_name(fits, "fits")
    ax = axes(ax, (4.8, 4.0))
    for number, (name, fit) in enumerate(named.items()):
        colour = pen(number)["color"]
        ax.loglog(fit.h, fit.error, MARKERS[number % len(MARKERS)], color=colour, markersize=5.0)
        ends = np.array([fit.h.min(), fit.h.max()])
        words = f"{name}: order {fit.order:.2f}" if name else f"order {fit.order:.2f}"
        ax.loglog(ends, fit.constant * ends**fit.order, color=colour, linewidth=1.0, label=words)
    ax.set(xlabel="$h$", ylabel="error")
    _label_steps(ax, np.unique(np.concatenate([fit.h for fit in named.values()])))
    ax.legend(frameon=False)
    return ax


def _label_steps(ax: Axes, steps: Array) -> None:
    """Put ticks at the steps if their labels fit beside each other, otherwise at powers of ten."""
    ax.xaxis.set_minor_formatter(NullFormatter())
    if len(steps) <= MAX_STEP_LABELS and (steps[1:] >= MIN_STEP_RATIO * steps[:-1]).all():
        ax.set_xticks(steps, [f"{h:.3g}" for h in steps])
        ax.set_xticks([], minor=True)


@plot
def evacuation(runs: Shown | Mapping[str, Shown], area: Any = None, *, ax: Axes | None = None) -> Axes:
    """Plot the number of people inside over time.

    Parameters
    ----------
    runs : Solution, str or path, or a mapping of str to these
        One run, or several runs by name.
    area : Plan, Room, polygon or corners, optional
        The area that people leave, as in `jostle.crowds.leaving_times`. None: that of the floor plan of the run.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> import jostle as jo
    >>> room = jo.crowds.Room([(0, 0), (5, 0), (5, 4), (0, 4)], doors=[((5, 1.2), (5, 2.8))])
    >>> sol = jo.solve(jo.crowds.crowd(8, radius=0.25, room=room), jo.Venel(), t=20.0, h=0.05, until=room.empty)
    >>> ax = evacuation(sol, room)
    >>> ax.lines[0].get_ydata()[[0, -1]].tolist()
    [8, 0]
    >>> plt.close(ax.figure)
    """
    named = by_name(runs, "runs")
    found = []
    for sol in map(solution, named.values()):
        found.append((sol, Leaving()))
        watch(sol, plan_of(sol) if area is None else area, found[-1][1])
        check_area_is_known(sol, found[-1][1].left, area, "evacuation")
    ax = axes(ax)
    for number, (name, (sol, seen)) in enumerate(zip(named, found, strict=True)):
        came, left = (times[np.isfinite(times)] for times in (seen.came, seen.left))
        t = np.unique(np.concatenate([[sol.t[0], sol.t[-1]], came, left]))
        inside = (came[:, None] <= t).sum(axis=0) - (left[:, None] <= t).sum(axis=0)
        ax.step(t, inside, where="post", label=name, linewidth=1.4, **pen(number))
    units = next((sol.facts.units for sol, _ in found), Units())
    ax.set(xlabel=with_unit("$t$", units, TIME), ylabel="people inside")
    ax.set_ylim(bottom=0.0)
    legend(ax, list(named))
    return ax


@plot
def bifurcation(
    parameter: ArrayLike,
    values: Sequence[ArrayLike],
    *,
    names: tuple[str, str] = (r"$\omega$", "$q$"),
    ax: Axes | None = None,
) -> Axes:
    """Plot a bifurcation diagram: for each value of a parameter, all values seen in the long run.

    Parameters
    ----------
    parameter : array_like, shape (n,)
        Values of the parameter.
    values : sequence of array_like
        For each parameter, the observed values, such as the positions once per period.
    names : (str, str), default ("$\\omega$", "$q$")
        Labels of the axes.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> ax = bifurcation([2.6, 2.7], [[0.1], [0.2, 0.3]])
    >>> ax.lines[0].get_xydata().tolist()
    [[2.6, 0.1], [2.7, 0.2], [2.7, 0.3]]
    >>> plt.close(ax.figure)
    """
    where, seen = finite(parameter, "parameter").ravel(), [np.ravel(np.asarray(each, dtype=float)) for each in values]
    if len(where) != len(seen):
        raise InvalidValue(f"values must have one list per parameter, {len(where)}, not {len(seen)}")
    ax = axes(ax)
    x = np.repeat(where, [len(each) for each in seen])
    y = np.concatenate(seen) if seen else np.zeros(0)
    size = float(np.clip(np.sqrt(DOTS / max(len(x), 1)), 0.5, 3.0))
    ax.plot(x, y, ".", color=PALETTE[0], markersize=size, markeredgewidth=0.0)
    ax.set(xlabel=names[0], ylabel=names[1])
    return ax


POINTS = {"fold": "s", "doubling": "o", "grazing": "^"}
"""Markers of the points at which orbits change."""


@plot
def branches(
    followed: Branch | Sequence[Branch],
    *,
    coordinate: Natural = 0,
    names: tuple[str, str] = (r"$\omega$", "$q$"),
    ax: Axes | None = None,
) -> Axes:
    """Plot periodic orbits over a parameter: stable ones as lines, unstable ones dashed, and where they change.

    Parameters
    ----------
    followed : Branch or sequence of Branch
        Branches of `jo.vibro.follow`.
    coordinate : int, default 0
        Number of the coordinate that is drawn, at the start of a period.
    names : (str, str), default ("$\\omega$", "$q$")
        Labels of the axes.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> import jostle as jo
    >>> def swing(t, q, u, parameters):
    ...     return np.cos(parameters[0] * t) - q[0] - 0.1 * u[0]
    >>> copies = jo.vibro.Copies(q0=[-0.8], v0=[0.1], force=swing, parameters=[1.5])
    >>> ax = branches(jo.vibro.follow(copies, to=2.0, period=lambda parameters: 2 * np.pi / parameters[0], steps=32))
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['stable']
    >>> plt.close(ax.figure)
    """
    several = [followed] if isinstance(followed, Branch) else list(followed)
    ax = axes(ax)
    for number, branch in enumerate(several):
        value, q, stable = branch.value, branch.q[:, coordinate], branch.stable
        for word, style, shown in (("stable", "-", stable), ("unstable", "--", ~stable)):
            either = shown[:-1] | shown[1:] if word == "unstable" else shown[:-1] & shown[1:]
            for first in np.flatnonzero(either & ~np.append(False, either[:-1])):
                last = first + 1 + int(np.append(~either[first:], True).argmax())
                ax.plot(value[first:last], q[first:last], style, color=PALETTE[number % len(PALETTE)], label=word)
        for point in branch.points:
            (mark,) = ax.plot([point.value], [point.q[coordinate]], POINTS[point.kind], color="black", label=point.kind)
            mark.set(markerfacecolor="white", zorder=3.0)
    handles, labels = ax.get_legend_handles_labels()
    once = dict(zip(labels, handles, strict=True))
    ax.legend(once.values(), once.keys(), fontsize="small")
    ax.set(xlabel=names[0], ylabel=names[1])
    return ax


@plot
def basins(
    label: ArrayLike,
    x: tuple[Finite, Finite],
    y: tuple[Finite, Finite],
    *,
    names: tuple[str, str] = ("$q$", "$u$"),
    ax: Axes | None = None,
) -> Axes:
    """Draw basins of attraction: the attractor on which each start of a grid ends, as a colour.

    The legend gives the share of each basin.

    Parameters
    ----------
    label : array_like of int, shape (rows, columns)
        ``jo.vibro.basins(...).label`` for a grid of starts, with rows from the lowest y to the highest; -1, a start
        that ends on no periodic orbit, is grey, and -2, one that escapes to infinity, is black.
    x : (float, float)
        First and last value of the grid along x.
    y : (float, float)
        First and last value of the grid along y.
    names : (str, str), default ("$q$", "$u$")
        Labels of the axes.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> ax = basins([[0, 0], [1, -1]], (-1.0, 0.0), (0.0, 1.0))
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['0: 50 %', '1: 25 %', 'none: 25 %']
    >>> plt.close(ax.figure)
    """
    numbers = np.asarray(label)
    if numbers.ndim != 2 or numbers.size == 0 or numbers.dtype.kind not in "iu":
        raise InvalidValue(f"label must be whole numbers of shape (rows, columns), not {numbers.dtype} {numbers.shape}")
    if numbers.min() < -2:
        raise InvalidValue(f"label must be -2 or more, not {numbers.min()}")
    if x[0] == x[1] or y[0] == y[1]:
        raise InvalidValue(f"x and y must be the first and last values of the grid, not {x} and {y}")
    ax = axes(ax, (5.2, 4.6))
    colours = np.array([to_rgb(colour) for colour in (*PALETTE, NEUTRAL, "black")])
    shown = np.where(numbers < 0, len(PALETTE) - 1 - numbers, numbers % len(PALETTE))
    rows, columns = numbers.shape
    half = np.array([(x[1] - x[0]) / max(columns - 1, 1), (y[1] - y[0]) / max(rows - 1, 1)]) / 2.0
    extent = (x[0] - half[0], x[1] + half[0], y[0] - half[1], y[1] + half[1])
    ax.imshow(colours[shown], origin="lower", extent=extent, aspect="auto", interpolation="nearest")
    words = {-1: "none", -2: "escapes"}
    for number in [*np.unique(numbers[numbers >= 0]).tolist()[: MAX_LEGEND_LINES - 2], -1, -2]:
        share = float((numbers == number).mean())
        if share > 0.0:
            word, colour = words.get(number, str(number)), colours[shown[numbers == number][0]]
            ax.plot([], [], "s", color=colour, label=f"{word}: {100.0 * share:.0f} %")
    ax.set(xlabel=names[0], ylabel=names[1])
    ax.legend(frameon=True, loc="upper right", fontsize="small")
    return ax


# Plots of many runs: bands of quantiles, and means with confidence intervals.


OPACITY = 0.25
"""Opacity of bands."""


@plot
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

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> ax = quantile_band([0.0, 1.0], [[3.0, 2.0], [3.0, 1.0], [3.0, 0.0]])
    >>> ax.lines[0].get_ydata().tolist(), ax.get_legend().get_texts()[1].get_text()
    ([3.0, 1.0], 'median')
    >>> plt.close(ax.figure)
    """
    x, named = _places(t, "t"), by_name(curves, "curves")
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


@plot
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

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> ax = mean_curve([0.8, 1.2], [[1.0, 1.2, 1.4], [2.0, 2.1, 2.2]])
    >>> ax.lines[0].get_ydata().round(9).tolist()
    [1.2, 2.1]
    >>> plt.close(ax.figure)
    """
    places, named = _places(x, "x"), by_name(samples, "samples")
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


def _check_places(places: Any, count: int, name: str) -> None:
    if count != len(places):
        raise InvalidValue(f"{name} must have {len(places)} entries, one for each abscissa, not {count}")
