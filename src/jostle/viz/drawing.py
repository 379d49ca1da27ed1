"""Pictures of a `Solution`: one frame, or several side by side.

Discs are to scale, walls are black lines, and orange bars between centres are contact forces, whose width is the square
root of the force; gluey contacts that pull are purple. Bodies in space are drawn without perspective, and far bodies
are hidden behind near ones; forces are not hidden, but fade with the distance.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from jostle.arguments import Finite, check_arguments
from jostle.arrays import Array
from jostle.errors import InvalidValue
from jostle.viz.perspective import AZIMUTH, ELEVATION
from jostle.viz.picture import Picture
from jostle.viz.sources import Shown, solution


@check_arguments
def draw(
    sol: Shown,
    k: int = -1,
    *,
    ax: Axes | None = None,
    colour: str | ArrayLike = "speed",
    contacts: bool = True,
    view: tuple[Finite, Finite] = (AZIMUTH, ELEVATION),
) -> Axes:
    """Draw one frame of a solution: the bodies to scale, the forces between them, and the walls.

    Parameters
    ----------
    sol : Solution, EventSolution, str or path
        A solution, or the name of a trajectory file.
    k : int, default -1
        Number of the frame; negative numbers count from the end.
    ax : matplotlib Axes, optional
        Where to draw. None: a new figure, with a colour bar.
    colour : str or array_like, shape (n,), default "speed"
        The quantity by which bodies are coloured: a name in `jostle.viz.QUANTITIES`, such as "speed", "force",
        "pressure" (the forces on a body divided by its surface) or "group"; or one number per body.
    contacts : bool, default True
        Whether contact forces are drawn.
    view : (float, float), default (-62, 16)
        Azimuth and elevation of the view of bodies in space, in degrees.

    Returns
    -------
    matplotlib Axes
        The Axes with the picture.

    Raises
    ------
    InvalidValue
        If the colour is unknown, or the solution does not have what it needs.

    Examples
    --------
    >>> import jostle as jo
    >>> heap = jo.models.spheres(np.full(12, 0.5), box=([0, 0], [4, np.inf]))
    >>> ax = draw(jo.solve(heap, jo.Maury(), t=1.0, h=0.01, every=0.1), k=3)
    >>> ax.get_title(), ax.get_aspect(), len(ax.collections[0].get_offsets())
    ('t = 0.3', 1.0, 12)
    >>> plt.close(ax.figure)
    """
    picture = Picture.of(solution(sol), [k], colour, view)
    alone = ax is None
    if ax is None:
        ax = figure_for(picture).subplots()
    picture.onto(ax, picture.scene.frame(k), contacts)
    if alone:
        picture.bar(ax.figure, ax)
    return ax


@check_arguments
def strip(
    sol: Shown,
    moments: int | Sequence[float] = 3,
    *,
    colour: str | ArrayLike = "speed",
    contacts: bool = True,
    view: tuple[Finite, Finite] = (AZIMUTH, ELEVATION),
) -> Figure:
    """Draw several frames of a solution side by side, on one scale.

    Parameters
    ----------
    sol : Solution, EventSolution, str or path
        A solution, or the name of a trajectory file.
    moments : int or sequence of float, default 3
        Number of frames from start to end, or the times of the frames.
    colour : str or array_like, shape (n,), default "speed"
        The quantity by which bodies are coloured, as for `draw`.
    contacts : bool, default True
        Whether contact forces are drawn.
    view : (float, float), default (-62, 16)
        Azimuth and elevation of the view of bodies in space, in degrees.

    Returns
    -------
    matplotlib Figure
        The figure.

    Raises
    ------
    InvalidValue
        If a time lies outside the run, or the colour is unknown.

    Examples
    --------
    >>> import jostle as jo
    >>> figure = strip(jo.solve(jo.models.rack(), jo.Maury(), t=2.0, h=0.1), [0.0, 0.5, 2.0])
    >>> [ax.get_title() for ax in figure.axes[:-1]]
    ['t = 0', 't = 0.5', 't = 2']
    >>> plt.close(figure)
    """
    sol = solution(sol)
    frames = frames_at(sol.t, moments)
    picture = Picture.of(sol, frames, colour, view)
    figure = figure_for(picture, len(frames))
    axes = figure.subplots(1, len(frames), sharex=True, sharey=True, squeeze=False)[0]
    for ax, k in zip(axes, frames, strict=True):
        picture.onto(ax, picture.scene.frame(k), contacts)
        if ax is not axes[0]:
            ax.set_ylabel("")
    picture.bar(figure, axes.tolist())
    return figure


class Sized(Protocol):
    """A picture with a width and a height."""

    @property
    def size(self) -> tuple[float, float]: ...


def figure_size(picture: Sized, number: int = 1) -> tuple[float, float]:
    """Width and height of a figure for a number of frames side by side, in inches."""
    width, height = picture.size
    tall = height / width
    each = float(np.clip(11.0 / number, 1.6, 6.0 / max(tall, 0.6)))
    return each * number + 1.3, each * max(tall, 0.15) + 0.8


def figure_for(picture: Picture, number: int = 1) -> Figure:
    """A new figure for a number of frames side by side."""
    return plt.figure(figsize=figure_size(picture, number), layout="constrained")


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
    if times.size == 0 or not ((times >= t[0]) & (times <= t[-1])).all():
        raise InvalidValue(f"moments must be times from {t[0]:g} to {t[-1]:g}, not {moments}")
    return [int(np.abs(t - each).argmin()) for each in times.ravel()]
