"""A run in progress, for a viewer that keeps all frames: the new frames each time the file is read.

The server sends a frame when it is looked at (`streaming`). A notebook holds the frames itself, so it gets each frame
once, as soon as it is saved; of a long run it keeps every second frame, then every fourth, and so on.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, NamedTuple, cast

from jostle.errors import InvalidValue, JostleError
from jostle.viz.field_streaming import FieldStream
from jostle.viz.field_values import ShownDensity, density_in
from jostle.viz.given import Given
from jostle.viz.reels import refuse_quantities
from jostle.viz.sources import Shown, solution
from jostle.viz.streaming import Stream

LOOK_INTERVAL = 1.0
"""Time between two reads of a file that is being written, in seconds."""


def stream_of(sol: Shown | ShownDensity, title: str, quantities: Given | None) -> Stream | FieldStream:
    """The header and the frames of a solution, of the run of a density, or of the file of one.

    >>> import jostle as jo
    >>> stream_of(jo.solve(jo.models.rack(), jo.Maury(), t=2.0, h=0.1), "The break", None).title
    'The break'
    """
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
    """The frames of a stream that take at most `most_bytes`, and what is new in it.

    >>> import jostle as jo
    >>> stream = stream_of(jo.solve(jo.models.rack(), jo.Maury(), t=2.0, h=0.1), "The break", None)
    >>> found = Follower(stream, most_bytes=10_000)
    >>> news = found.news()
    >>> len(news.frames), news.first, news.about["live"], found.news()
    (21, 0, False, None)
    >>> few = Follower(stream, most_bytes=2_000).news()
    >>> len(few.frames), few.about["note"]
    (6, 'One in 4 of the 21 saved frames, to stay below 0.002 MB.')
    """

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
