"""What all plots share: a palette that is colour-blind safe, and where to draw."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import matplotlib.pyplot as plt
from matplotlib.axes import Axes

PALETTE = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
"""Blue, vermilion, green, purple, orange, sky, black: the colours of Okabe and Ito."""
GROUPS = ("#0072b2", "#f0e442", "#009e73", "#cc79a7", "#56b4e9", "#000000")
"""Blue, yellow, green, purple, sky, black: the colours of groups, which differ from those of forces."""
STYLES = ("-", "--", ":", "-.")
"""Line styles, which change when the colours repeat."""
MAX_LEGEND_LINES = 8
"""Largest number of lines that a legend names."""


def axes(ax: Axes | None, size: tuple[float, float] = (6.4, 3.6)) -> Axes:
    """The Axes that were given, or those of a new figure.

    >>> new = axes(None)
    >>> axes(new) is new
    True
    >>> plt.close(new.figure)
    """
    return plt.figure(figsize=size, layout="constrained").subplots() if ax is None else ax


def pen(number: int) -> dict[str, Any]:
    """Colour and style of line number 0, 1, 2 ...

    >>> pen(0), pen(8)
    ({'color': '#0072b2', 'linestyle': '-'}, {'color': '#d55e00', 'linestyle': '--'})
    """
    return {
        "color": PALETTE[number % len(PALETTE)],
        "linestyle": STYLES[number // len(PALETTE) % len(STYLES)],
    }


def legend(ax: Axes, names: Sequence[str]) -> None:
    """A legend, if there is something to tell apart and not too much of it."""
    if 1 < len(names) <= MAX_LEGEND_LINES:
        ax.legend(frameon=False)
