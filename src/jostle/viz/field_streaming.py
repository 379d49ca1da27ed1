"""A moving density that is sent frame by frame, and grows while its file is being written."""

from __future__ import annotations

import threading
import time
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from jostle.errors import JostleError
from jostle.io.images import Images
from jostle.io.reading_images import read_images
from jostle.statuses import FINISHED, RUNNING
from jostle.viz.field_encoding import Fields
from jostle.viz.fitting import SAMPLED_FRAMES, evenly
from jostle.viz.streaming import MIN_INTERVAL

LIVE_SECONDS = 180.0
"""A run that is not finished counts as live if its file was written within this time, in seconds.

Image files have no lock, because they are rewritten completely with each checkpoint."""
UNFINISHED = "Not finished: the run is in progress, or was killed."
"""Note on the page about a run that has not ended."""


class FieldStream:
    """The header and the frames of a moving density; its file is read again when it was replaced.

    >>> fields = {"density": np.ones((2, 4, 3))}
    >>> stream = FieldStream(Images(t=np.array([0.0, 1.0]), lower=np.zeros(2), h=0.5, fields=fields), title="A block")
    >>> _, about = stream.header()
    >>> about["title"], about["times"], about["live"], stream.frame(2)
    ('A block', [0.0, 1.0], False, None)
    """

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
            unfinished, live = images.status == RUNNING, self._live()
            note = self._trouble or (UNFINISHED if unfinished else "")
            now = {"times": images.t.tolist(), "live": live, "status": images.status, "note": note}
            about = self._about | now | {"title": self.title, "session": self._number}
            told = zlib.crc32(note.encode(), zlib.crc32(images.t.tobytes()))
            return f"{self._number}-{len(images.t)}-{live}-{told:x}", about

    def frame(self, k: int) -> bytes | None:
        """The bytes of frame k; None if there is no such frame."""
        reel = self._reel
        return reel.encoder(small=False).frame(reel.frame(k)) if 0 <= k < len(reel.t) else None

    def _begin(self, images: Images) -> None:
        reel = Fields(images)
        encoder, scales = reel.encoder(small=False), reel.scales()
        for frame in reel.frames(evenly(len(images.t), SAMPLED_FRAMES)):
            scales.take(frame, encoder)
        self._reel, self._about = reel, encoder.about() | scales.about(encoder)

    def _live(self) -> bool:
        if self._reel.images.status != RUNNING or self._file is None or self._trouble:
            return False
        return time.time() - self._file[2] / 1e9 < LIVE_SECONDS

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

    The last frame of an unfinished run is the state at its checkpoint, which the next file may replace.

    >>> images = [Images(t=np.arange(n, dtype=float), lower=np.zeros(2), h=h, fields={"density": np.ones((n, 4, 3))})
    ...           for n, h in ((2, 0.5), (3, 0.5), (3, 0.25))]
    >>> continues(images[0], images[1]), continues(images[1], images[2])
    (True, False)
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
    """The identity of a file and the time when it was written; None if there is no file."""
    if path is None or not path.exists():
        return None
    found = path.stat()
    return found.st_dev, found.st_ino, found.st_mtime_ns
