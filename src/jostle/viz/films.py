"""Films as files: mp4 (h264, by imageio-ffmpeg) and gif (by pillow), written frame by frame."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from jostle._tools.installing import missing
from jostle.errors import InvalidValue
from jostle.io.new_files import whole
from jostle.viz.sources import target_for

KINDS = (".mp4", ".gif")
"""File formats of films."""
FPS = 25
"""Default number of frames per second; in a gif each frame then lasts four ticks."""
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


@contextmanager
def film(path: str | os.PathLike[str], source: Path | None = None, fps: int = FPS) -> Iterator[Mp4 | Gif]:
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
        opened = (Mp4 if wanted.suffix.lower() == ".mp4" else Gif)(new, fps)
        try:
            yield opened
        except BaseException:
            opened.abandon()
            raise
        opened.close()


class Mp4:
    """h264 in the colour format that every player supports, which needs an even width and height."""

    def __init__(self, path: Path, fps: int) -> None:
        try:
            from imageio_ffmpeg import get_ffmpeg_exe
        except ImportError:
            raise missing("mp4 needs imageio-ffmpeg, gif works without it", "movie") from None
        self._program, self._path, self._fps = get_ffmpeg_exe(), path, fps
        self._process: subprocess.Popen[bytes] | None = None

    def add(self, picture: Pixels) -> None:
        """Add a picture."""
        if self._process is None:
            height, width = picture.shape[:2]
            if height % 2 or width % 2:
                raise InvalidValue(f"mp4 needs an even width and height, not {width} x {height}")
            raw = ["-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{width}x{height}", "-r", str(self._fps), "-i", "-"]
            kind = ["-c:v", "libx264", "-crf", str(MP4_QUALITY), "-pix_fmt", "yuv420p", "-movflags", "+faststart"]
            command = [self._program, "-y", "-v", "error", *raw, *kind, "-f", "mp4", f"file:{self._path}"]
            self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE)
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(np.ascontiguousarray(picture).tobytes())
        except BrokenPipeError:
            self.close()

    def close(self) -> None:
        """Finish the file after the last picture."""
        process, self._process = self._process, None
        if process is None:
            return
        _, said = process.communicate()
        if process.returncode:
            words = re.sub(r"\[[^\]]* @ 0x[0-9a-f]+\] *", "", said.decode(errors="replace"))  # without memory addresses
            raise OSError(words.strip() or f"ffmpeg ended with {process.returncode}")

    def abandon(self) -> None:
        """Give up the film."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()


class Gif:
    """A gif with 256 colours per picture; a repeated picture only extends the previous one."""

    def __init__(self, path: Path, fps: int) -> None:
        try:
            from PIL import Image
        except ImportError:
            raise missing("gif needs pillow", "movie") from None
        self._image, self._path, self._fps, self._pictures = Image, path, fps, list[Any]()

    def add(self, picture: Pixels) -> None:
        self._pictures.append(self._image.fromarray(picture).quantize(256, dither=self._image.Dither.NONE))

    def close(self) -> None:
        if not self._pictures:
            return
        ticks = np.diff(np.round(np.arange(len(self._pictures) + 1) * 1000 / (self._fps * GIF_TICK))).astype(int)
        first, *rest = self._pictures
        durations = (ticks * GIF_TICK).tolist()
        first.save(self._path, format="GIF", save_all=True, append_images=rest, duration=durations, loop=0)

    def abandon(self) -> None:
        self._pictures.clear()
