"""A run that is sent frame by frame, and grows while its file is being written."""

from __future__ import annotations

import threading
import time
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np

from jostle.errors import InvalidValue, JostleError
from jostle.io.hdf5 import reading
from jostle.io.images import Images, read_images
from jostle.io.layout import header as header_of
from jostle.io.new_files import being_written
from jostle.io.reading import read
from jostle.result.solution import Solution
from jostle.result.status import FINISHED, RUNNING
from jostle.viz.encoding import SAMPLED_FRAMES, Encoder, FieldEncoder, Given, encoder_of, evenly
from jostle.viz.sources import Shown, ShownDensity, file_of, run_of

MIN_INTERVAL = 0.5
"""Shortest time between two reads of the file, in seconds."""
IDLE_FACTOR = 10.0
"""Shortest time between two reads of the file, in multiples of the duration of the last read."""
MOST_READ, MOST_FRAMES = 400_000, 100
"""Numbers of coordinates, over all frames, and of frames that are read to determine the colour scales before a page
opens."""
STOPPED = "The run stopped before its end: the process that wrote {name} ended. Continue it with jostle resume {name}"
"""Note on the page about a run whose process ended before the run."""


class Stream:
    """The header and the frames of a run, whose file, if there is one, is read again at intervals."""

    live = False
    """Whether the file is being written."""

    def __init__(self, run: Solution | Images, *, title: str = "", quantities: Given | None = None) -> None:
        self.title, self.path = title or "jostle", file_of(run)
        self._lock = threading.Lock()
        self._number = 0
        """Number of times the run was replaced by another one."""
        self._trouble, self._next_look = "", 0.0
        self._file = _version(self.path)
        self._begin(run, quantities)
        self.live = self.path is not None and run.status == RUNNING and being_written(self.path)

    def header(self) -> tuple[str, dict[str, Any]]:
        """A tag that changes with the data, and the data for the page."""
        with self._lock:
            self._look()
            times, note = self._encoder.t, self._trouble or self._stopped()
            now = {"times": times.tolist(), "live": self.live, "status": self._run.status, "note": note}
            about = self._about | now | {"title": self.title, "session": self._number}
            told = zlib.crc32(note.encode(), zlib.crc32(times.tobytes()))
            return f"{self._number}-{len(times)}-{self.live}-{told:x}", about

    def frame(self, k: int) -> bytes | None:
        """The bytes of frame k; None if there is no such frame."""
        encoder: Any = self._encoder
        if not 0 <= k < len(encoder.t):
            return None
        (frame,) = encoder.frames([k])
        return bytes(encoder.encoded(frame))

    def _stopped(self) -> str:
        """The note about a run that was killed; empty otherwise."""
        if self.path is None or self.live or self._run.status != RUNNING:
            return ""
        return STOPPED.format(name=self.path.name)

    def _begin(self, run: Any, quantities: Given | None = None) -> None:
        """Show a run from its start, with colour scales from some of its frames."""
        self._run, encoder = run, cast("Any", encoder_of(run, quantities))
        self._scales = encoder.scales()
        for frame in encoder.frames(evenly(len(encoder.t), _readable(encoder.size))):
            self._scales.take(frame, encoder)
        self._show(encoder)

    def _show(self, encoder: Encoder | FieldEncoder) -> None:
        self._about = encoder.about() | self._scales.about(encoder, self._scales.taken < len(encoder.t))
        self._encoder = encoder

    def _look(self) -> None:
        """Read the file again if it may have changed."""
        begin = time.monotonic()
        if self.path is None or begin < self._next_look:
            return
        written = being_written(self.path)  # asked before the status is read: a run that ends meanwhile was not killed
        try:
            self._look_at(self.path)
            self.live, self._trouble = written and self._run.status == RUNNING, ""
        except JostleError as error:  # the file was removed, or replaced
            self.live, self._trouble = False, str(error)
        end = time.monotonic()
        self._next_look = end + max(MIN_INTERVAL, IDLE_FACTOR * (end - begin))

    def _look_at(self, path: Path) -> None:
        """Read the file again if it has changed."""
        raise NotImplementedError


class BodyStream(Stream):
    """A stream of bodies: the encoder goes on with the frames that are added to the file."""

    def __init__(self, run: Solution, *, title: str = "", quantities: Given | None = None) -> None:
        self._given = run.problem, run.scheme
        super().__init__(run, title=title, quantities=quantities)

    def _look_at(self, path: Path) -> None:
        with reading(path) as file:
            said = header_of(file)
        version = _version(path)
        same_file = version is not None and self._file is not None and version[:2] == self._file[:2]
        if same_file and said.frames == len(self._run.t) and said.status == self._run.status:
            return
        if said.frames == 0:  # a run that starts again
            return
        same_shape = said.shape == self._run.q.shape[1:]
        found = read(path, *self._given) if same_shape else read(path)
        if same_file and same_shape:
            encoder: Any = self._encoder
            encoder = encoder.continued(encoder.scene.continued(found))
            self._run = found
            self._scales.take(encoder.scene.frame(-1), encoder)
            self._show(encoder)
        else:
            self._begin(found)
            self._file, self._number = version, self._number + 1


class FieldStream(Stream):
    """A stream of a moving density: all frames are read again when the file has changed."""

    def _look_at(self, path: Path) -> None:
        version = _version(path)
        if version == self._file and not self._trouble:
            return
        before, found = self._run, read_images(path)
        self._begin(found)
        self._number += not continues(before, found)
        self._file = version


def _readable(size: int) -> int:
    """The number of frames of this many numbers from which the colour scales are determined before a page opens."""
    return min(MOST_FRAMES, max(SAMPLED_FRAMES, MOST_READ // max(size, 1)))


def continues(before: Images, after: Images) -> bool:
    """Whether one run continues another: the grids, times and totals of their common frames agree.

    The last frame of an unfinished run may lie between two times to save, and a resumed run replaces it.
    """
    shared = min(len(before.t), len(after.t))
    shorter = before if len(before.t) <= len(after.t) else after
    if shorter.status != FINISHED and before.t[shared - 1] != after.t[shared - 1]:
        shared -= 1
    old, new = (_known(one, shared) for one in (before, after))
    return len(old) == len(new) and all(np.array_equal(a, b) for a, b in zip(old, new, strict=True))


def _known(images: Images, frames: int) -> list[Any]:
    """The data that distinguish the first frames of a run from those of another run."""
    grid = [images.shape, images.h, images.lower, images.closed, images.walls, images.exits]
    names, totals = [list(images.fields), list(images.totals)], [one[:frames] for one in images.totals.values()]
    return [*grid, *names, images.t[:frames], *totals]


def _version(path: Path | None) -> tuple[int, int, int] | None:
    """The device and the number of a file, and the time when it was written; None if there is no file."""
    if path is None or not path.exists():
        return None
    found = path.stat()
    return found.st_dev, found.st_ino, found.st_mtime_ns


# A run in progress, for a viewer that keeps all frames: the new frames each time the file is read.
#
# The server sends a frame when it is looked at. A notebook holds the frames itself, so it gets each frame
# once, as soon as it is saved; of a long run it keeps every second frame, then every fourth, and so on.


LOOK_INTERVAL = 1.0
"""Time between two reads of a file that is being written, in seconds."""


def stream_of(sol: Shown | ShownDensity, title: str, quantities: Given | None) -> Stream:
    """The header and the frames of a solution, of the run of a density, or of the file of one."""
    run = run_of(sol)
    if isinstance(run, Images):
        return FieldStream(run, title=title, quantities=quantities)
    return BodyStream(run, title=title, quantities=quantities)


class News(NamedTuple):
    """Frames and data that a viewer does not have yet."""

    about: dict[str, Any]
    """The data that all frames share, with the times and lengths of the frames that are kept."""
    first: int
    """Number of the first of the new frames; 0 if they replace all frames that were sent before."""
    frames: list[bytes]


class Follower:
    """The frames of a stream that take at most `most_bytes`, and what is new in it."""

    def __init__(self, stream: Stream, most_bytes: int) -> None:
        self._stream, self._most_bytes = stream, most_bytes
        self._tag, self._session, self._edition = "", None, 0
        self.frames: list[bytes] = []
        """The bytes of the frames that are kept."""
        self._times: list[float] = []
        self._bytes, self._stride, self._next = 0, 1, 0

    def news(self) -> News | None:
        """The frames saved since the last call; None if nothing has changed."""
        tag, about = self._stream.header()
        if tag == self._tag:
            return None
        times, kept = about["times"], len(self.frames)
        if about["session"] != self._session or self._times != times[: self._next : self._stride]:
            self._session, kept = about["session"], 0  # another run, or frames of it were written again
            self.frames, self._times, self._bytes, self._stride, self._next = [], [], 0, 1, 0
        stride = self._stride
        while self._next < len(times) and self._take(self._next, times):
            self._next += self._stride
            if self._bytes > self._most_bytes:
                self._thin_out()
        if not about["live"] and self._times[-1:] != times[-1:]:
            self._take(len(times) - 1, times)  # the end of a run is always shown
        again = kept == 0 or stride != self._stride
        self._edition += again
        self._tag = tag
        return News(self._about(about), 0 if again else kept, self.frames[0 if again else kept :])

    def _take(self, k: int, times: list[float]) -> bool:
        """Keep frame k; False if it was cut off since the header was read."""
        frame = self._stream.frame(k)
        if frame is None:
            return False
        if len(frame) > self._most_bytes:
            raise InvalidValue(f"one frame takes {len(frame)} bytes: most_bytes must be at least {2 * len(frame)}")
        self.frames.append(frame)
        self._times.append(times[k])
        self._bytes += len(frame)
        return True

    def _thin_out(self) -> None:
        """Keep every second frame."""
        self.frames, self._times = self.frames[::2], self._times[::2]
        self._bytes = sum(map(len, self.frames))
        self._stride *= 2
        self._next = len(self.frames) * self._stride

    def _about(self, about: dict[str, Any]) -> dict[str, Any]:
        left_out = ""
        if self._stride > 1:
            most = f"{self._most_bytes / 1e6:.3g} MB"
            left_out = f"One in {self._stride} of the {len(about['times'])} saved frames, to stay below {most}."
        return about | {
            "times": list(self._times),
            "lengths": [len(frame) for frame in self.frames],
            "edition": self._edition,
            "note": " ".join(filter(None, [left_out, about["note"]])),
        }


def follow(follower: Follower, tell: Callable[[News], object], wanted: Callable[[], bool]) -> threading.Thread:
    """Report new frames from a thread, until the run has ended or the viewer is closed."""

    def go() -> None:
        pause = threading.Event()
        while wanted():
            try:
                news = follower.news()
            except JostleError:  # the file is being replaced; what is wrong with it is in the next header
                news = None
            if news is not None:
                tell(news)
                if not news.about["live"]:
                    return
            pause.wait(LOOK_INTERVAL)

    thread = threading.Thread(target=go, name="jostle follows a run", daemon=True)
    thread.start()
    return thread
