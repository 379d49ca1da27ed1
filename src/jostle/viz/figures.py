"""Figures of one frame or of several side by side: their sizes, their colour bars, and which frames they show."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from jostle._tools.arrays import Array
from jostle.errors import InvalidValue

MARGIN = 0.02
"""Margin around the bodies and walls, as a fraction of the size of the picture."""
HEADROOM = 1.05
"""The axis of a curve that starts at zero ends at this multiple of its maximum."""


class Scaled(Protocol):
    """What the frames of a figure have in common: their size and the scale of their colours."""

    @property
    def size(self) -> tuple[float, float]:
        """Width and height."""

    def bar(self, figure: Any, axes: Axes | list[Axes]) -> Any:
        """Add the colour bar."""


def painted(picture: Scaled, ax: Axes | None, paint: Callable[[Axes], None]) -> Axes:
    """The given Axes after `paint`, or those of a new figure, which has a colour bar."""
    if ax is not None:
        paint(ax)
        return ax
    ax = figure_for(picture).subplots()
    paint(ax)
    picture.bar(ax.figure, ax)
    return ax


def side_by_side(picture: Scaled, frames: Sequence[int], paint: Callable[[Axes, int], None]) -> Figure:
    """A figure with several frames side by side and one colour bar."""
    figure = figure_for(picture, len(frames))
    axes = figure.subplots(1, len(frames), sharex=True, sharey=True, squeeze=False)[0]
    for ax, k in zip(axes, frames, strict=True):
        paint(ax, k)
        if ax is not axes[0]:
            ax.set_ylabel("")
    picture.bar(figure, axes.tolist())
    return figure


def figure_for(picture: Scaled, number: int = 1) -> Figure:
    """A new figure for a number of frames side by side."""
    return plt.figure(figsize=figure_size(picture.size, number), layout="compressed")


def figure_size(size: tuple[float, float], number: int = 1) -> tuple[float, float]:
    """Width and height of a figure for a number of frames of this size side by side, in inches."""
    width, height = size
    tall = height / width
    each = float(np.clip(11.0 / number, 1.6, 6.0 / max(tall, 0.6)))
    return each * number + 1.3, each * max(tall, 0.15) + 0.8


def frames_at(t: Array, moments: int | Sequence[float]) -> list[int]:
    """The numbers of frames: a number of them evenly spaced from start to end, or those nearest to given times.

    >>> frames_at(np.array([0.0, 0.1, 0.2, 0.3]), 2), frames_at(np.array([0.0, 0.1, 0.2, 0.3]), [0.12])
    ([0, 3], [1])
    """
    last = len(t) - 1
    if isinstance(moments, int):
        if moments < 1:
            raise InvalidValue(f"moments must be at least 1, or a list of times, not {moments}")
        return [int(k) for k in np.unique(np.linspace(0 if moments > 1 else last, last, moments).round())]
    times = np.asarray(moments, dtype=float)
    if times.size == 0:
        raise InvalidValue(f"moments must be a number of frames or a list of times, not {moments!r}")
    if not ((times >= t[0]) & (times <= t[-1])).all():
        wrong = ", ".join(f"{each:g}" for each in times.ravel() if not t[0] <= each <= t[-1])
        raise InvalidValue(f"there is no frame at t = {wrong}: the run is from t = {t[0]:g} to {t[-1]:g}")
    return [int(np.abs(t - each).argmin()) for each in times.ravel()]
