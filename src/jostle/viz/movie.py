"""Films of a `Solution` or a moving density: mp4 and gif, in the plane and in space.

Time runs evenly: between two saved times bodies move in straight lines, as the affine q_h of the papers, while colours
and forces are those of the nearest saved time. Bodies that jumped, for example from one floor to another, are shown
where they are at the nearest saved time. The scale is the same in all pictures. A density is shown at the nearest saved
time.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from jostle._tools.arguments import Count, Finite, check_arguments
from jostle._tools.arrays import Array
from jostle._tools.rotations import matrices
from jostle.errors import InvalidValue
from jostle.io.images import Images
from jostle.pose import Pose
from jostle.result.solution import Solution
from jostle.viz.density_pictures import DensityPicture
from jostle.viz.drawing import AZIMUTH, ELEVATION, Picture
from jostle.viz.figures import figure_size, frames_at
from jostle.viz.films import FPS, Drawn, Gif, Mp4, film
from jostle.viz.scene import Frame, Scene
from jostle.viz.sources import Shown, ShownDensity, file_of, run_of

# The times of the pictures of a film, and frames between two saved times.


TIME_TOLERANCE = 1e-9
"""The end of a run gets a picture if it is missed by less than this fraction of the time between two pictures."""
MAX_PICTURES = 1_000_000
"""Largest number of pictures of a film, which lasts eleven hours."""
MAX_FPS = 100
"""Largest number of frames per second; a frame of a gif lasts at least a hundredth of a second."""
JUMP_FACTOR = 10.0
"""A body has jumped if it went this many times further between two saved times than its velocities allow."""


def moments(saved: Array, speed: float, fps: int = FPS) -> Array:
    """Evenly spaced times of the pictures of a film, for a run with these saved times.

    >>> moments(np.array([0.0, 0.05, 0.1]), 1.0).round(3).tolist()
    [0.0, 0.04, 0.08]
    """
    if not 0.0 < speed < np.inf:
        raise InvalidValue(f"speed must be positive and finite (time of the run per second of the film), not {speed}")
    if not 1 <= fps <= MAX_FPS:
        raise InvalidValue(f"fps must be between 1 and {MAX_FPS}, not {fps}")
    duration = float(saved[-1] - saved[0])
    pictures = fps * (duration / float(speed))
    if pictures > MAX_PICTURES:
        raise InvalidValue(
            f"at speed {speed:g} a film of this run would have {pictures:.3g} frames, at most "
            f"{MAX_PICTURES} are drawn: a speed of {duration / 60.0:.3g} gives a film of one minute"
        )
    count = int(np.floor(pictures + TIME_TOLERANCE)) + 1
    return np.asarray(saved[0] + speed / fps * np.arange(count))


def between(scene: Scene, t: float) -> Frame:
    """The frame at a time between two saved times."""
    saved = np.asarray(scene.sol.t)
    k = int(np.clip(np.searchsorted(saved, t, side="right") - 1, 0, max(len(saved) - 2, 0)))
    after = min(k + 1, len(saved) - 1)
    part = float(np.clip((t - saved[k]) / (saved[after] - saved[k]), 0.0, 1.0)) if after > k else 0.0
    frame = scene.frame(k if part < 0.5 else after)
    start, end = (scene.places(each)[frame.number] for each in (k, after))
    way, wraps = end - start, np.flatnonzero(np.isfinite(scene.period))
    L = scene.period[wraps]
    way[:, wraps] -= L * np.round(way[:, wraps] / L)
    x = start + part * way
    x[:, wraps] = (x[:, wraps] - scene.cell_start[wraps]) % L + scene.cell_start[wraps]
    fastest = np.maximum(*(scene.speeds(each)[frame.number] for each in (k, after)))
    jumped = np.linalg.norm(way, axis=1) > JUMP_FACTOR * fastest * (saved[after] - saved[k])
    turn = _turn_between(scene, k, after, part)
    if turn is not None and scene.facts.parts is not None:
        q = (1.0 - part) * np.asarray(scene.sol.q[k]) + part * np.asarray(scene.sol.q[after])
        x = scene.placed(Pose.of(scene.facts.bodies, q, turn).centres)[frame.number]
    x = np.where(np.isfinite(x) & ~jumped[:, None], x, frame.x)  # also for bodies that came or left in between
    i, j = frame.bars.rows.T
    shift = x - frame.x
    bars = replace(frame.bars, start=frame.bars.start + shift[i], end=frame.bars.end + shift[np.where(j >= 0, j, i)])
    axes = frame.axes if turn is None else matrices(turn)[frame.body]
    return replace(frame, t=float(t), x=x, bars=bars, axes=axes)


def _turn_between(scene: Scene, k: int, after: int, part: float) -> Array | None:
    """The turns of the bodies between two saved times: the mean angles, or the mean quaternions."""
    if scene.sol.orientation is None:
        return None
    start, end = (np.asarray(scene.sol.orientation[each]) for each in (k, after))
    if start.ndim == 1:
        return (1.0 - part) * start + part * end
    end = np.where((start * end).sum(axis=1)[:, None] < 0.0, -end, end)
    mean = (1.0 - part) * start + part * end
    return np.asarray(mean / np.linalg.norm(mean, axis=1)[:, None])


Painter = Callable[[Axes, float], None]
"""Paints the picture of a time on some axes."""
DPI = 110
"""Resolution of films, in dots per inch."""
LARGEST_SIZE = (1280, 960)
"""Largest width and height of a film, in pixels, unless a size is given."""
ASPECTS = (0.5, 3.0)
"""Smallest and largest width of a film, divided by its height, unless a size is given."""


@check_arguments
def animate(
    sol: Shown | ShownDensity,
    path: str | os.PathLike[str],
    *,
    speed: float = 1.0,
    colour: str | ArrayLike | None = None,
    contacts: bool = True,
    view: tuple[Finite, Finite] = (AZIMUTH, ELEVATION),
    size: tuple[Count, Count] | None = None,
    fps: Count = FPS,
    progress: Callable[[Drawn], object] | None = None,
) -> Path:
    """Write a film of a run.

    Save frames often enough for what should be visible, for example ``every=speed / 25``.

    Parameters
    ----------
    sol : Solution, EventSolution, Evolution, Images, str or path
        A solution, the run of a density, or the name of a file.
    path : str or path
        Name of the film, .mp4 or .gif.
    speed : float, default 1.0
        Playback speed: time of the run that passes in one second of the film, positive.
    colour : str or array_like, shape (n,), optional
        The quantity by which bodies or cells are coloured, as for `draw` and `density`. None: the speed of bodies, the
        density of cells.
    contacts : bool, default True
        Whether contact forces are drawn.
    view : (float, float), default (-62, 16)
        Azimuth and elevation of the view of bodies in space, in degrees.
    size : (int, int), optional
        Width and height in pixels, even numbers. None: a size that suits the picture, at most 1280 x 960.
    fps : int, default 25
        Number of frames per second, at most 100.
    progress : callable (Drawn) -> object, optional
        Called after each picture; `jostle.terminal.progress_bar` makes one that shows a bar. None: nothing is called.

    Returns
    -------
    Path
        The film.

    Examples
    --------
    >>> import jostle as jo, tempfile
    >>> sol = jo.solve(jo.models.rack(), jo.Maury(), t=0.1, h=0.02)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     made = animate(sol, Path(folder) / "rack.gif", progress=lambda drawn: print(drawn.step, end=" "))
    ...     made.name
    1 2 3 'rack.gif'
    """
    run = run_of(sol)
    times = moments(run.t, speed, fps)
    painted: tuple[Picture | DensityPicture, Painter]
    with film(path, file_of(run), fps) as made:
        if isinstance(run, Images):
            painted = _of_density(run, times, "density" if colour is None else colour)
        else:
            painted = _of_bodies(run, times, "speed" if colour is None else colour, view, contacts)
        picture, paint = painted
        _record(made, _figure(picture, size), times, paint, progress)
    return Path(path)


def _record(
    made: Mp4 | Gif, figure: Figure, times: Array, paint: Painter, progress: Callable[[Drawn], object] | None
) -> None:
    """Paint a picture for each time, and add it to the film.

    The axes and the colour bar are drawn once, because ticks are slow to draw; what moves is painted on a copy.
    """
    ax = figure.axes[0]
    canvas: Any = FigureCanvasAgg(figure)
    still: Any = None
    for step, t in enumerate(times, start=1):
        for artist in _moving(ax):
            artist.remove()
        paint(ax, float(t))
        if step == 1:
            canvas.draw()
            figure.set_layout_engine("none")  # keep the layout fixed from now on
            still = _still(canvas, ax)
        canvas.restore_region(still)
        for artist in sorted(_moving(ax), key=Artist.get_zorder):
            ax.draw_artist(artist)
        ax.draw_artist(ax.title)
        made.add(np.asarray(canvas.buffer_rgba())[..., :3])
        if progress is not None:
            progress(Drawn(step, len(times), float(t), float(times[-1])))


def _moving(ax: Axes) -> list[Artist]:
    """What is painted anew for each picture."""
    return [*ax.images, *ax.collections, *ax.lines, *ax.patches, *ax.texts]


def _still(canvas: Any, ax: Axes) -> Any:
    """The pixels of a figure without what moves on some axes, and without their title."""
    title = ax.get_title()
    ax.set_title("")  # matplotlib would move a title that is hidden
    for artist in _moving(ax):
        artist.set_visible(False)
    canvas.draw()
    for artist in _moving(ax):
        artist.set_visible(True)
    ax.set_title(title)
    return canvas.copy_from_bbox(canvas.figure.bbox)


def _of_bodies(
    sol: Solution, times: Array, colour: str | ArrayLike, view: tuple[Finite, Finite], contacts: bool
) -> tuple[Picture, Painter]:
    """A picture on the scale of all saved times next to these times, and what paints it at a time."""
    k = np.clip(np.searchsorted(sol.t, times, side="right") - 1, 0, len(sol.t) - 1)
    beside = np.unique(np.concatenate([k, np.minimum(k + 1, len(sol.t) - 1)]))
    picture = Picture.of(sol, beside.tolist(), colour, view)
    forces = picture.strongest[picture.strongest > 0.0]
    if len(forces):  # the widest bar is the median of the largest forces: one impact would make all other bars thin
        picture = replace(picture, strongest=np.array([np.median(forces)]))
    return picture, lambda ax, t: picture.onto(ax, between(picture.scene, t), contacts)


def _of_density(images: Images, times: Array, colour: str | ArrayLike) -> tuple[DensityPicture, Painter]:
    """A picture on the scale of the saved times nearest to these times, and what paints it at a time."""
    if not isinstance(colour, str):
        raise InvalidValue(f"colour must be the name of a field of the density, not {colour!r}")
    picture = DensityPicture.of(images, frames_at(images.t, times.tolist()), colour)
    return picture, lambda ax, t: picture.onto(ax, frames_at(images.t, [min(t, float(images.t[-1]))])[0])


def _figure(picture: Picture | DensityPicture, size: tuple[int, int] | None) -> Figure:
    """A figure with a colour bar and an even number of pixels in both directions."""
    if size is None:
        width, height = figure_size(picture.size)
        aspect = float(np.clip(width / height, *ASPECTS))
        high = min(LARGEST_SIZE[1], LARGEST_SIZE[0] / aspect)
        pixels = 2 * np.round(np.array([aspect * high, high]) / 2.0)
    else:
        pixels = np.array(size)
    figure = Figure(figsize=tuple(pixels / DPI), dpi=DPI, layout="compressed")
    picture.bar(figure, figure.subplots())
    return figure
