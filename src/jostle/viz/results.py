"""What many numbers say: orders of convergence, evacuation curves, bifurcation diagrams."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import NullFormatter
from numpy.typing import ArrayLike

from jostle.analysis.crowds import check_area_is_known, leaving_times
from jostle.analysis.order import Order
from jostle.arguments import check_arguments
from jostle.arrays import Array, finite
from jostle.errors import InvalidValue
from jostle.viz.sources import Shown, solution
from jostle.viz.style import PALETTE, axes, legend, pen

MARKERS = "osD^v<>"
"""Markers of the curves in a plot of orders of convergence, one after the other."""
MAX_STEP_LABELS = 7
"""With more steps than this, a plot of orders labels powers of ten instead of the steps."""
MIN_STEP_RATIO = 1.5
"""Ratio of two neighbouring steps below which their labels would overlap."""
DOTS = 4000.0
"""Number of dots of a bifurcation diagram at which a dot has the size of one point."""


@check_arguments
def orders(fits: Order | Mapping[str, Order], *, ax: Axes | None = None) -> Axes:
    """Errors over steps h with the fitted lines c h^k, from `jostle.analysis.order`; the names say k.

    >>> import matplotlib.pyplot as plt
    >>> from jostle.analysis import order
    >>> ax = orders({"Maury": order([0.1, 0.05], [0.2, 0.1]), "Paoli": order([0.1, 0.05], [0.04, 0.01])})
    >>> [line.get_label() for line in ax.lines[1::2]], ax.get_xscale()
    (['Maury: order 1.00', 'Paoli: order 2.00'], 'log')
    >>> plt.close(ax.figure)
    """
    named = {"": fits} if isinstance(fits, Order) else dict(fits)
    if not named:
        raise InvalidValue("there is no fit to draw: give an Order, or some by their names, {'Maury': order(h, error)}")
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
    """Ticks at the steps themselves if their labels fit beside each other; else at powers of ten."""
    ax.xaxis.set_minor_formatter(NullFormatter())
    if len(steps) <= MAX_STEP_LABELS and (steps[1:] >= MIN_STEP_RATIO * steps[:-1]).all():
        ax.set_xticks(steps, [f"{h:.3g}" for h in steps])
        ax.set_xticks([], minor=True)


@check_arguments
def evacuation(runs: Shown | Mapping[str, Shown], area: Any = None, *, ax: Axes | None = None) -> Axes:
    """How many people are still inside, over time: of one run, or of several with names.

    `area` is what is to be left, as in `jostle.analysis.leaving_times`. A run whose plan is not known
    needs it, unless everybody was taken out.

    >>> import matplotlib.pyplot as plt
    >>> import jostle as jo
    >>> room = jo.crowds.Room([(0, 0), (5, 0), (5, 4), (0, 4)], doors=[((5, 1.2), (5, 2.8))])
    >>> sol = jo.solve(jo.crowds.crowd(8, radius=0.25, room=room), jo.Venel(), t=20.0, h=0.05, until=room.empty)
    >>> ax = evacuation(sol, room)
    >>> ax.lines[0].get_ydata()[[0, -1]].tolist()
    [8, 0]
    >>> plt.close(ax.figure)
    """
    named = dict(runs) if isinstance(runs, Mapping) else {"": runs}
    found = []
    for sol in map(solution, named.values()):
        found.append((sol, leaving_times(sol, area)))
        check_area_is_known(*found[-1], area, "evacuation")
    ax = axes(ax)
    for number, (name, (sol, left)) in enumerate(zip(named, found, strict=True)):
        here = int((~np.isnan(left)).sum())
        times = np.sort(left[np.isfinite(left)])
        t = np.concatenate([[sol.t[0]], times, [max(sol.t[-1], times.max(initial=sol.t[0]))]])
        inside = here - np.concatenate([np.arange(len(times) + 1), [len(times)]])
        ax.step(t, inside, where="post", label=name, linewidth=1.4, **pen(number))
    ax.set(xlabel="$t$", ylabel="people inside")
    ax.set_ylim(bottom=0.0)
    legend(ax, list(named))
    return ax


@check_arguments
def bifurcation(
    parameter: ArrayLike,
    values: Sequence[ArrayLike],
    *,
    names: tuple[str, str] = (r"$\omega$", "$q$"),
    ax: Axes | None = None,
) -> Axes:
    """For each value of a parameter, all the values that are seen in the long run, once a period say.

    >>> import matplotlib.pyplot as plt
    >>> ax = bifurcation([2.6, 2.7], [[0.1], [0.2, 0.3]])
    >>> ax.lines[0].get_xydata().tolist()
    [[2.6, 0.1], [2.7, 0.2], [2.7, 0.3]]
    >>> plt.close(ax.figure)
    """
    where, seen = finite(parameter, "parameter").ravel(), [np.ravel(np.asarray(each, dtype=float)) for each in values]
    if len(where) != len(seen):
        raise InvalidValue(f"give values for each parameter: there are {len(seen)} for {len(where)} parameters")
    ax = axes(ax)
    x = np.repeat(where, [len(each) for each in seen])
    y = np.concatenate(seen) if seen else np.zeros(0)
    size = float(np.clip(np.sqrt(DOTS / max(len(x), 1)), 0.5, 3.0))
    ax.plot(x, y, ".", color=PALETTE[0], markersize=size, markeredgewidth=0.0)
    ax.set(xlabel=names[0], ylabel=names[1])
    return ax
