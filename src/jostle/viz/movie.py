"""Films of a `Solution` or a moving density: mp4 and gif, in the plane and in space, written frame by frame.

Time runs evenly: between two saved times bodies move in straight lines, as the affine q_h of the papers, while colours
and forces are those of the nearest saved time. Bodies that jumped, for example from one floor to another, are shown
where they are at the nearest saved time. The scale is the same in all pictures. A density is shown at the nearest saved
time.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, Protocol, cast

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from numpy.typing import ArrayLike, NDArray

from jostle._tools.arguments import Finite, check_arguments
from jostle._tools.arrays import Array
from jostle.errors import InvalidValue, MissingPackage
from jostle.io.images import Images
from jostle.io.new_files import whole
from jostle.result.solution import Solution
from jostle.viz.drawing import AZIMUTH, ELEVATION, Picture, figure_size, frames_at
from jostle.viz.moving_densities import DensityPicture, ShownDensity, density_in
from jostle.viz.scene import Frame, Scene
from jostle.viz.sources import Shown, file_of, solution, target_for

# Films as files: mp4 (h264, by imageio-ffmpeg) and gif (by pillow), written frame by frame.


KINDS = (".mp4", ".gif")
"""File formats of films."""
FPS = 25
"""Number of pictures per second; in a gif each picture lasts four ticks."""
MP4_QUALITY = 18
"""Rate factor of mp4 files, from 0 (lossless) to 51; lines stay sharp."""
GIF_TICK = 10
"""Shortest duration in a gif, in milliseconds."""

Pixels = NDArray[np.uint8]
"""A picture as pixels, (height, width, 3)."""


class Drawn(NamedTuple):
    """Progress of a film or a page, passed to ``animate(..., progress=...)`` after each picture.

    Attributes
    ----------
    step : int
        Number of pictures drawn.
    steps : int
        Number of all pictures.
    t : float
        Time of the run in the last picture.
    end : float
        Time of the run in the final picture.

    Examples
    --------
    >>> Drawn(step=1, steps=50, t=0.0, end=2.0).steps
    50
    """

    step: int
    steps: int
    t: float
    end: float


class Film(Protocol):
    """A film file to which pictures are added."""

    def add(self, picture: Pixels) -> None: ...
    def close(self) -> None:
        """Finish the file after the last picture."""

    def abandon(self) -> None:
        """Give up the film."""


@contextmanager
def film(path: str | os.PathLike[str], source: Path | None = None) -> Iterator[Film]:
    """Open a film to add pictures to; the file appears when it is complete. The suffix gives the format.

    `source` is the trajectory of the run, which must not be replaced.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with film(Path(folder) / "grey.gif") as grey:
    ...         grey.add(np.full((20, 30, 3), 128, dtype=np.uint8))
    ...     (Path(folder) / "grey.gif").stat().st_size > 0
    True
    """
    wanted = target_for(path, "a film", KINDS, source)
    with whole(wanted) as new:
        opened = Mp4(new) if wanted.suffix.lower() == ".mp4" else Gif(new)
        try:
            yield opened
        except BaseException:
            opened.abandon()
            raise
        opened.close()


class Mp4:
    """h264 in the colour format that every player supports, which needs an even width and height."""

    def __init__(self, path: Path) -> None:
        try:
            from imageio_ffmpeg import get_ffmpeg_exe
        except ImportError:
            raise MissingPackage(
                "mp4 needs imageio-ffmpeg: pip install 'jostle[movie]'; gif works without it"
            ) from None
        self._program, self._path = get_ffmpeg_exe(), path
        self._process: subprocess.Popen[bytes] | None = None

    def add(self, picture: Pixels) -> None:
        if self._process is None:
            height, width = picture.shape[:2]
            if height % 2 or width % 2:
                raise InvalidValue(f"mp4 needs an even width and height, not {width} x {height}")
            raw = ["-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{width}x{height}", "-r", str(FPS), "-i", "-"]
            kind = ["-c:v", "libx264", "-crf", str(MP4_QUALITY), "-pix_fmt", "yuv420p", "-movflags", "+faststart"]
            command = [self._program, "-y", "-v", "error", *raw, *kind, "-f", "mp4", f"file:{self._path}"]
            self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE)
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(np.ascontiguousarray(picture).tobytes())
        except BrokenPipeError:
            self.close()

    def close(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        _, said = process.communicate()
        if process.returncode:
            words = re.sub(r"\[[^\]]* @ 0x[0-9a-f]+\] *", "", said.decode(errors="replace"))  # without memory addresses
            raise OSError(words.strip() or f"ffmpeg ended with {process.returncode}")

    def abandon(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.communicate()


class Gif:
    """A gif with 256 colours per picture; a repeated picture only extends the previous one."""

    def __init__(self, path: Path) -> None:
        try:
            from PIL import Image
        except ImportError:
            raise MissingPackage("gif needs pillow: pip install 'jostle[movie]'") from None
        self._image, self._path, self._pictures = Image, path, list[Any]()

    def add(self, picture: Pixels) -> None:
        self._pictures.append(self._image.fromarray(picture).quantize(256, dither=self._image.Dither.NONE))

    def close(self) -> None:
        if not self._pictures:
            return
        ticks = np.diff(np.round(np.arange(len(self._pictures) + 1) * 1000 / (FPS * GIF_TICK))).astype(int)
        first, *rest = self._pictures
        durations = (ticks * GIF_TICK).tolist()
        first.save(self._path, format="GIF", save_all=True, append_images=rest, duration=durations, loop=0)

    def abandon(self) -> None:
        self._pictures.clear()


# The times of the pictures of a film, and frames between two saved times.


TIME_TOLERANCE = 1e-9
"""The end of a run gets a picture if it is missed by less than this fraction of the time between two pictures."""
MAX_PICTURES = 1_000_000
"""Largest number of pictures of a film, which lasts eleven hours."""
JUMP_FACTOR = 10.0
"""A body has jumped if it went this many times further between two saved times than its velocities allow."""


def moments(saved: Array, speed: float) -> Array:
    """Evenly spaced times of the pictures of a film, for a run with these saved times.

    >>> moments(np.array([0.0, 0.05, 0.1]), 1.0).round(3).tolist()
    [0.0, 0.04, 0.08]
    """
    if not 0.0 < speed < np.inf:
        raise InvalidValue(f"speed must be positive and finite (time of the run per second of the film), not {speed}")
    duration = float(saved[-1] - saved[0])
    pictures = FPS * (duration / float(speed))
    if pictures > MAX_PICTURES:
        raise InvalidValue(
            f"at speed {speed:g} a film of this run would have {pictures:.3g} pictures, at most "
            f"{MAX_PICTURES} are drawn: a speed of {duration / 60.0:.3g} gives a film of one minute"
        )
    count = int(np.floor(pictures + TIME_TOLERANCE)) + 1
    return np.asarray(saved[0] + speed / FPS * np.arange(count))


def between(scene: Scene, t: float) -> Frame:
    """The frame at a time between two saved times.

    >>> import jostle as jo
    >>> ball = jo.Motion(q0=[[0.0, 0.0]], v0=[[1.0, 0.0]], within=jo.Balls([0.1]))
    >>> scene = Scene(jo.solve(ball, jo.Maury(), t=1.0, h=0.1, every=0.5))
    >>> between(scene, 0.2).x.round(9).tolist()
    [[0.2, 0.0]]
    """
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
    x = np.where(np.isfinite(x) & ~jumped[:, None], x, frame.x)  # also for bodies that came or left in between
    i, j = frame.bars.rows.T
    shift = x - frame.x
    bars = replace(frame.bars, start=frame.bars.start + shift[i], end=frame.bars.end + shift[np.where(j >= 0, j, i)])
    return replace(frame, t=float(t), x=x, bars=bars)


DPI = 110
"""Resolution of films, in dots per inch."""


@check_arguments
def animate(
    sol: Shown | ShownDensity,
    path: str | os.PathLike[str],
    *,
    speed: float = 1.0,
    colour: str | ArrayLike | None = None,
    contacts: bool = True,
    view: tuple[Finite, Finite] = (AZIMUTH, ELEVATION),
    progress: Callable[[Drawn], object] | None = None,
) -> Path:
    """Write a film of a run, with 25 pictures per second.

    Save frames often enough for what should be visible, for example ``every=speed / 25``.

    Parameters
    ----------
    sol : Solution, EventSolution, Evolution, Images, str or path
        A solution, the run of a density, or the name of a file.
    path : str or path
        Name of the film, .mp4 or .gif.
    speed : float, default 1.0
        Time of the run that passes in one second of the film, positive.
    colour : str or array_like, shape (n,), optional
        The quantity by which bodies or cells are coloured, as for `draw` and `density`. None: the speed of bodies, the
        density of cells.
    contacts : bool, default True
        Whether contact forces are drawn.
    view : (float, float), default (-62, 16)
        Azimuth and elevation of the view of bodies in space, in degrees.
    progress : callable (Drawn) -> object, optional
        Called after each picture; `jostle.terminal.progress_bar` makes one that shows a bar. None: nothing is called.

    Returns
    -------
    Path
        The film.

    Raises
    ------
    MissingPackage
        If the packages for films are not installed.
    WriteFailed
        If the film cannot be written.

    Examples
    --------
    >>> import jostle as jo, tempfile
    >>> sol = jo.solve(jo.models.rack(), jo.Maury(), t=0.4, h=0.02)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     made = animate(sol, Path(folder) / "rack.gif", progress=lambda drawn: print(drawn.step, end=" "))
    ...     made.name
    1 2 3 4 5 6 7 8 9 10 11 'rack.gif'
    """
    images = density_in(sol)
    if images is not None:
        return _film_of_density(images, path, speed, colour, progress)
    shown = solution(cast("Shown", sol))
    times = moments(shown.t, speed)
    with film(path, file_of(shown)) as made:
        picture = _picture(shown, times, "speed" if colour is None else colour, view)

        def paint(ax: Axes, t: float) -> None:
            picture.onto(ax, between(picture.scene, t), contacts)

        _record(made, _figure(picture), times, paint, progress)
    return Path(path)


def _film_of_density(
    images: Images,
    path: str | os.PathLike[str],
    speed: float,
    colour: str | ArrayLike | None,
    progress: Callable[[Drawn], object] | None,
) -> Path:
    times = moments(images.t, speed)
    with film(path, images.path) as made:
        chosen: Any = "density" if colour is None else colour
        if not isinstance(chosen, str):
            raise InvalidValue(f"colour must be the name of a field of the density, not {chosen!r}")
        picture = DensityPicture.of(images, frames_at(images.t, times.tolist()), chosen)

        def paint(ax: Axes, t: float) -> None:
            picture.onto(ax, frames_at(images.t, [min(t, float(images.t[-1]))])[0])

        _record(made, _figure(picture), times, paint, progress)
    return Path(path)


def _record(
    made: Film,
    figure: Figure,
    times: Array,
    paint: Callable[[Axes, float], None],
    progress: Callable[[Drawn], object] | None,
) -> None:
    """Paint a picture for each time, and add it to the film."""
    ax = figure.axes[0]
    canvas: Any = FigureCanvasAgg(figure)
    for step, t in enumerate(times, start=1):
        for artist in (
            *ax.images,
            *ax.collections,
            *ax.lines,
            *ax.patches,
            *ax.texts,
        ):  # keep the axes, because ticks are slow to draw
            artist.remove()
        paint(ax, float(t))
        if step == 1:
            canvas.draw()
            figure.set_layout_engine("none")  # keep the layout fixed from now on
        canvas.draw()
        made.add(np.asarray(canvas.buffer_rgba())[..., :3])
        if progress is not None:
            progress(Drawn(step, len(times), float(t), float(times[-1])))


def _picture(sol: Solution, times: Array, colour: str | ArrayLike, view: tuple[Finite, Finite]) -> Picture:
    """A picture on the scale of all saved times next to these times."""
    k = np.clip(np.searchsorted(sol.t, times, side="right") - 1, 0, len(sol.t) - 1)
    beside = np.unique(np.concatenate([k, np.minimum(k + 1, len(sol.t) - 1)]))
    picture = Picture.of(sol, beside.tolist(), colour, view)
    forces = picture.strongest[picture.strongest > 0.0]
    # the widest bar is the median of the largest forces, since one impact would make all other bars thin
    return replace(picture, strongest=np.array([np.median(forces)])) if len(forces) else picture


def _figure(picture: Picture | DensityPicture) -> Figure:
    """A figure with a colour bar and an even number of pixels in both directions."""
    pixels = 2 * np.round(DPI * np.array(figure_size(picture)) / 2.0)
    figure = Figure(figsize=tuple(pixels / DPI), dpi=DPI, layout="constrained")
    picture.bar(figure, figure.subplots())
    return figure
