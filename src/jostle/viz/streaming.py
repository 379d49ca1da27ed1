"""A solution that is sent frame by frame, and grows while its file is being written."""

from __future__ import annotations

import threading
import time
import zlib
from pathlib import Path
from typing import Any

from jostle.errors import JostleError
from jostle.io.container import reading
from jostle.io.headers import header as header_of
from jostle.io.locks import being_written
from jostle.io.reading import read
from jostle.solution import Solution
from jostle.statuses import RUNNING
from jostle.viz.encoding import Encoder
from jostle.viz.fitting import SAMPLED_FRAMES, evenly
from jostle.viz.given import Given
from jostle.viz.scales import Scales
from jostle.viz.scene import Scene
from jostle.viz.sources import file_of

MIN_INTERVAL = 0.5
"""Shortest time between two reads of the file, in seconds."""
IDLE_FACTOR = 10.0
"""Shortest time between two reads of the file, in multiples of the duration of the last read."""
STOPPED = "The run stopped before its end: the process that wrote {name} ended. Continue it with jostle resume {name}"
"""Note on the page about a run whose process ended before the run."""


class Stream:
    """The header and the frames of a solution; a file that is being written is read again at intervals.

    >>> import jostle as jo
    >>> stream = Stream(jo.solve(jo.models.rack(), jo.Maury(), t=2.0, h=0.1), title="The break")
    >>> tag, about = stream.header()
    >>> tag, about["title"], len(about["times"]), about["live"], len(stream.frame(20) or b""), stream.frame(21)
    ('0-21-False-0', 'The break', 21, False, 264, None)
    """

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
        for k in evenly(len(sol.t), SAMPLED_FRAMES):
            self._scales.take(scene.frame(k), self._encoder)
        self._about = self._encoder.about() | self._scales.about(self._encoder)

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
            self._about = self._encoder.about() | self._scales.about(self._encoder)
        else:
            self._file, self._number = file_now, self._number + 1
            same = said.shape == self._sol.q.shape[1:]
            self._begin(read(path, self._problem, self._scheme) if same else read(path), None)
        self.live = said.status == RUNNING and being_written(path)


def _identity(path: Path | None) -> tuple[int, int] | None:
    if path is None or not path.exists():
        return None
    found = path.stat()
    return found.st_dev, found.st_ino
