"""What all plots share: parameters, the style of matplotlib, the colour maps, the pens of curves, and where to draw."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import matplotlib.pyplot as plt
from cycler import cycler
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap

from jostle._tools.arguments import check_arguments
from jostle._tools.colours import LIGHT, PALETTE, UNKNOWN
from jostle.errors import InvalidValue

BODY_COLOURS, CELL_COLOURS = (
    LinearSegmentedColormap.from_list(name, list(stops)).with_extremes(bad=UNKNOWN)
    for name, stops in (("jostle_bodies", LIGHT.bodies), ("jostle", LIGHT.cells))
)
"""Colour maps of bodies and of fields, from light (zero) to dark blue (largest value); readable in grey."""
for one in (BODY_COLOURS, CELL_COLOURS):
    colormaps.register(one, force=True)
STYLE: Any = {
    "axes.prop_cycle": cycler(color=PALETTE),
    "image.cmap": "jostle",
    "text.color": LIGHT.text,
    "axes.labelcolor": LIGHT.text,
    "axes.titlecolor": LIGHT.text,
    "axes.edgecolor": LIGHT.faint,
    "xtick.color": LIGHT.faint,
    "ytick.color": LIGHT.faint,
    "xtick.labelcolor": LIGHT.text,
    "ytick.labelcolor": LIGHT.text,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": False,
    "grid.color": LIGHT.line,
}
"""Settings of matplotlib for the colours and lines of jostle."""
LINE_STYLES = ("-", "--", ":", "-.")
"""Line styles, which change when the colours repeat."""
MAX_LEGEND_LINES = 8
"""Largest number of lines that a legend names."""

F = TypeVar("F", bound=Callable[..., Any])
PARAMETERS = {
    "sol": "Solution, EventSolution, str or path\n    A solution, or the name of a trajectory file.",
    "k": "int, default -1\n    Number of the frame; negative numbers count from the end.",
    "ax": "matplotlib Axes, optional\n    Where to draw. None: a new figure.",
    "view": "(float, float), default (-62, 16)\n    Azimuth and elevation of the view of bodies in space, in degrees.",
}
"""Descriptions of the parameters of plots, unless their docstrings have their own."""
RESULTS = {"Axes": "matplotlib Axes\n    The Axes with the picture.", "Figure": "matplotlib Figure\n    The figure."}
"""Descriptions of the results of plots, by their annotations."""


def plot(function: F) -> F:
    """A function that plots: its arguments are checked, and `PARAMETERS` and `RESULTS` complete its docstring."""
    if function.__doc__:  # not with python -OO
        text, _, examples = inspect.cleandoc(function.__doc__).partition("Examples\n")
        purpose, _, parameters = text.partition("Parameters\n----------\n")
        known = PARAMETERS | dict(re.findall(r"^(\w+) : (.*(?:\n    .*)*)", parameters, re.MULTILINE))
        described = "\n".join(f"{name} : {known[name]}" for name in inspect.signature(function).parameters)
        result = RESULTS[function.__annotations__["return"]]
        function.__doc__ = (
            f"{purpose}Parameters\n----------\n{described}\n\nReturns\n-------\n{result}\n\nExamples\n{examples}"
        )
    return check_arguments(function)


def use_style() -> None:
    """Draw all further matplotlib figures in the colours and line styles of jostle.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> with plt.rc_context():
    ...     use_style()
    ...     (line,) = plt.figure().subplots().plot([0.0, 1.0])
    ...     line.get_color() == PALETTE[0], plt.get_cmap().name
    (True, 'jostle')
    >>> plt.close()
    """
    plt.style.use(STYLE)


def axes(ax: Axes | None, size: tuple[float, float] = (6.4, 3.6)) -> Axes:
    """The given Axes, or those of a new figure.

    >>> new = axes(None)
    >>> axes(new) is new
    True
    >>> plt.close(new.figure)
    """
    if ax is not None:
        return ax
    figure = plt.figure(figsize=size, layout="compressed")  # the first one makes a notebook interactive, for good
    with plt.rc_context(STYLE):
        return figure.subplots()


def plain(text: str) -> str:
    r"""A text that matplotlib draws as it is: names and units may contain dollar signs, which enclose formulas.

    >>> plain(r"gate $\x$")
    'gate \\$\\x\\$'
    """
    return text.replace("$", r"\$")


def pen(number: int) -> dict[str, Any]:
    """Colour and style of line number 0, 1, 2 ...

    >>> pen(8) == {"color": PALETTE[1], "linestyle": "--"}
    True
    """
    return {
        "color": PALETTE[number % len(PALETTE)],
        "linestyle": LINE_STYLES[number // len(PALETTE) % len(LINE_STYLES)],
    }


def by_name(given: Any, parameter: str) -> dict[str, Any]:
    """Several things by their names, of which only one, without a name, may be given."""
    named = dict(given) if isinstance(given, Mapping) else {"": given}
    if not named:
        raise InvalidValue(f"{parameter} is empty: give one, or several by name, {{'name': ...}}")
    return named


def legend(ax: Axes, names: Sequence[str]) -> None:
    """A legend, if there is something to tell apart and not too much of it."""
    if 1 < len(names) <= MAX_LEGEND_LINES:
        ax.legend(frameon=False)
