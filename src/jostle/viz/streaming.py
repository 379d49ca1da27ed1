"""A solution that is sent frame by frame, and grows while its file is being written."""

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
from jostle.viz.encoding import SAMPLED_FRAMES, Encoder, FieldReel, Given, Scales, evenly, refuse_quantities
from jostle.viz.scene import Scene
from jostle.viz.sources import Shown, ShownDensity, density_in, file_of, solution

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
    """The header and the frames of a solution; a file that is being written is read again at intervals."""

    def __init__(self, sol: Solution, *, title: str = "", quantities: Given | None = None) -> None:
        self.title = title or "jostle"
        self.path = file_of(sol)
        self._problem, self._scheme = sol.problem, sol.scheme
        self._lock = threading.Lock()
        self._file = _identity(self.path)
        self._number = 0
        """Number of times the file was replaced by another one."""
        self._begin(sol, quantities)
        self.live = self.path is not None and sol.status == RUNNING and being_written(self.path)
        self.trouble = ""
        self._next_look = 0.0

    def header(self) -> tuple[str, dict[str, Any]]:
        """A tag that changes with the data, and the data for the page."""
        with self._lock:
            self._look()
            times, note = self._sol.t.tolist(), self.trouble or self._stopped()
            now = {"times": times, "live": self.live, "status": self._sol.status, "note": note}
            about = self._about | now | {"title": self.title, "session": self._number}
            return f"{self._number}-{len(times)}-{self.live}-{zlib.crc32(note.encode()):x}", about

    def frame(self, k: int) -> bytes | None:
        """The bytes of frame k; None if there is no such frame."""
        encoder = self._encoder
        if not 0 <= k < len(encoder.scene.sol.t):
            return None
        return encoder.frame(encoder.scene.frame(k))

    def _stopped(self) -> str:
        """The note about a run that was killed; empty otherwise."""
        if self.path is None or self.live or self._sol.status != RUNNING:
            return ""
        return STOPPED.format(name=self.path.name)

    def _begin(self, sol: Solution, quantities: Given | None) -> None:
        scene = Scene(sol)
        self._sol, self._encoder, self._scales = sol, Encoder.of(scene, False, quantities), Scales()
        for k in evenly(len(sol.t), _readable(sol.q[0].size)):
            self._scales.take(scene.frame(k), self._encoder)
        self._about = self._encoder.about() | self._scales.about(self._encoder, self._scales.taken < len(sol.t))

    def _look(self) -> None:
        """Read the file again if it may have changed."""
        begin = time.monotonic()
        if self.path is None or begin < self._next_look:
            return
        try:
            self._look_at(self.path)
            self.trouble = ""
        except JostleError as error:  # the file was removed, or replaced
            self.trouble, self.live = str(error), False
        end = time.monotonic()
        self._next_look = end + max(MIN_INTERVAL, IDLE_FACTOR * (end - begin))

    def _look_at(self, path: Path) -> None:
        with reading(path) as file:
            said = header_of(file)
        file_now = _identity(path)
        if file_now == self._file and said.frames == len(self._sol.t) and said.status == self._sol.status:
            self.live = said.status == RUNNING and being_written(path)  # the run may have been resumed
            return
        if said.frames == 0:  # a run that starts again
            return
        if file_now == self._file and said.shape == self._sol.q.shape[1:]:
            self._sol = read(path, self._problem, self._scheme)
            scene = self._encoder.scene.continued(self._sol)
            self._encoder = self._encoder.continued(scene)
            self._scales.take(scene.frame(-1), self._encoder)
            some = self._scales.taken < len(self._sol.t)
            self._about = self._encoder.about() | self._scales.about(self._encoder, some)
        else:
            self._file, self._number = file_now, self._number + 1
            same = said.shape == self._sol.q.shape[1:]
            self._begin(read(path, self._problem, self._scheme) if same else read(path), None)
        self.live = said.status == RUNNING and being_written(path)


def _readable(size: int) -> int:
    """The number of frames of this many numbers from which the colour scales are determined before a page opens."""
    return min(MOST_FRAMES, max(SAMPLED_FRAMES, MOST_READ // max(size, 1)))


def _identity(path: Path | None) -> tuple[int, ...] | None:
    """What distinguishes a file from one that replaced it; None if there is no file."""
    version = _version(path)
    return None if version is None else version[:2]


# A moving density that is sent frame by frame, and grows while its file is being written.


class FieldStream:
    """The header and the frames of a moving density; its file is read again when it was replaced."""

    def __init__(self, images: Images, *, title: str = "") -> None:
        self.title = title or "jostle"
        self._lock = threading.Lock()
        self._number = 0
        """Number of times the run was replaced by another one."""
        self._trouble = ""
        self._next_look = 0.0
        self._file = _version(images.path)
        self._begin(images)

    def header(self) -> tuple[str, dict[str, Any]]:
        """A tag that changes with the data, and the data for the page."""
        with self._lock:
            self._look()
            images = self._reel.images
            live, note = False, self._trouble
            if images.status == RUNNING and images.path is not None and not note:
                live = being_written(images.path)
                note = "" if live else STOPPED.format(name=images.path.name)
            now = {"times": images.t.tolist(), "live": live, "status": images.status, "note": note}
            about = self._about | now | {"title": self.title, "session": self._number}
            told = zlib.crc32(note.encode(), zlib.crc32(images.t.tobytes()))
            return f"{self._number}-{len(images.t)}-{live}-{told:x}", about

    def frame(self, k: int) -> bytes | None:
        """The bytes of frame k; None if there is no such frame."""
        reel = self._reel
        return reel.encoder(small=False).frame(reel.frame(k)) if 0 <= k < len(reel.t) else None

    def _begin(self, images: Images) -> None:
        reel = FieldReel(images)
        encoder, scales = reel.encoder(small=False), reel.scales()
        for frame in reel.frames(evenly(len(images.t), _readable(next(iter(images.fields.values()))[0].size))):
            scales.take(frame, encoder)
        self._reel, self._about = reel, encoder.about() | scales.about(encoder, scales.taken < len(images.t))

    def _look(self) -> None:
        """Read the file again if it has changed."""
        before, now = self._reel.images, time.monotonic()
        if before.path is None or now < self._next_look:
            return
        self._next_look = now + MIN_INTERVAL
        version = _version(before.path)
        if version == self._file and not self._trouble:
            return
        try:
            found = read_images(before.path)
            self._begin(found)
        except JostleError as error:  # the file was removed, or replaced
            self._trouble = str(error)
            return
        self._number += not continues(before, found)
        self._file, self._trouble = version, ""


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


def stream_of(sol: Shown | ShownDensity, title: str, quantities: Given | None) -> Stream | FieldStream:
    """The header and the frames of a solution, of the run of a density, or of the file of one."""
    images = density_in(sol)
    if images is None:
        return Stream(solution(cast("Shown", sol)), title=title, quantities=quantities)
    refuse_quantities(quantities)
    return FieldStream(images, title=title)


class News(NamedTuple):
    """Frames and data that a viewer does not have yet."""

    about: dict[str, Any]
    """The data that all frames share, with the times and lengths of the frames that are kept."""
    first: int
    """Number of the first of the new frames; 0 if they replace all frames that were sent before."""
    frames: list[bytes]


class Follower:
    """The frames of a stream that take at most `most_bytes`, and what is new in it."""

    def __init__(self, stream: Stream | FieldStream, most_bytes: int) -> None:
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
