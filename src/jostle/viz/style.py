"""What all plots share: the style of matplotlib, the colour maps, the pens of curves, and where to draw."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import matplotlib.pyplot as plt
from cycler import cycler
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap

from jostle._tools.colours import LIGHT, PALETTE, UNKNOWN

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
    figure = plt.figure(figsize=size, layout="constrained")  # the first one makes a notebook interactive, for good
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


def legend(ax: Axes, names: Sequence[str]) -> None:
    """A legend, if there is something to tell apart and not too much of it."""
    if 1 < len(names) <= MAX_LEGEND_LINES:
        ax.legend(frameon=False)
