"""As many frames as fit into a page: rounded to 16 bits, or left out evenly."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from jostle.arrays import Array
from jostle.errors import InvalidValue
from jostle.viz.films import Drawn

SAMPLED_FRAMES = 12
"""Number of frames whose sizes are measured to estimate the number of frames that fit."""
FILL_FRACTION = 0.95
"""Fraction of the space that the first estimate fills with frames."""
SPARE_BYTES = 2_500
"""Number of bytes for the scales and the note, which the estimate does not include."""
FRAME_OVERHEAD = 24
"""Number of bytes of a frame besides its data, for its time and the separators."""


class FrameEncoder(Protocol):
    """Converts frames into bytes."""

    @property
    def note(self) -> str:
        """The note on the page about the precision of its numbers."""

    def frame(self, frame: Any) -> bytes:
        """The bytes of a frame."""

    def fine_enough(self, frame: Any) -> bool:
        """Whether the numbers of a frame may be rounded to 16 bits."""

    def about(self) -> dict[str, Any]:
        """The data that all frames share."""


class Reel(Protocol):
    """Frames that a page plays, of bodies or of fields."""

    @property
    def t(self) -> Array:
        """The times of the frames."""

    def frames(self, numbers: Sequence[int]) -> Iterator[Any]:
        """Yield some of the frames; each has a time t."""

    def encoder(self, small: bool) -> FrameEncoder:
        """The encoder of the frames, which rounds to 16 bits if `small` is true."""

    def scales(self) -> Any:
        """The collector of frames that determines the colour scales."""


class Packed(NamedTuple):
    """As many frames as fit, and the data needed to show them."""

    about: dict[str, Any]
    frames: list[bytes]

    @classmethod
    def of(
        cls,
        reel: Reel,
        most_bytes: int,
        shell: int = 0,
        per_byte: float = 1.0,
        progress: Callable[[Drawn], object] | None = None,
    ) -> Packed:
        """Choose frames that take at most `most_bytes` with the shell, with `per_byte` bytes of text per byte."""
        encoder, frames, numbers, scales = _fitting(reel, most_bytes, shell, per_byte, progress or (lambda drawn: None))
        total, notes = len(reel.t), [encoder.note]
        if len(numbers) < total:
            notes.insert(0, f"{len(numbers)} of the {total} saved frames, to stay below {most_bytes / 1e6:.3g} MB.")
        now = {"times": reel.t[numbers].tolist(), "note": " ".join(filter(None, notes))}
        return cls(encoder.about() | scales.about(encoder) | now, frames)


def _fitting(
    reel: Reel, most_bytes: int, shell: int, per_byte: float, progress: Callable[[Drawn], object]
) -> tuple[FrameEncoder, list[bytes], list[int], Any]:
    """The encoder, the frames that fit, their numbers, and the scales."""
    total = len(reel.t)
    sample = [*reel.frames(evenly(total, SAMPLED_FRAMES))]
    choices = []
    for small in (False, True):
        encoder = reel.encoder(small)
        sizes = [per_byte * len(encoder.frame(frame)) + FRAME_OVERHEAD for frame in sample]
        left = most_bytes - shell - len(json.dumps(encoder.about()))
        count = min(total, int(FILL_FRACTION * left / np.mean(sizes)))
        choices.append((count, encoder, left, int(max(sizes))))
        if count == total or not all(encoder.fine_enough(frame) for frame in sample):
            break
    count, encoder, left, largest = max(
        choices, key=lambda choice: choice[0]
    )  # after compression, rounded frames may be longer
    while count > 0:
        numbers = evenly(total, count)
        frames, scales = list[bytes](), reel.scales()
        for frame in reel.frames(numbers):
            frames.append(encoder.frame(frame))
            scales.take(frame, encoder)
            progress(Drawn(len(frames), len(numbers), frame.t, float(reel.t[-1])))
        size = sum(per_byte * len(data) + FRAME_OVERHEAD for data in frames)
        if size <= left:
            return encoder, frames, numbers, scales
        count = min(count - 1, int(FILL_FRACTION * count * left / size))
    raise InvalidValue(
        f"one frame takes {largest} bytes: most_bytes must be at least {most_bytes - left + 2 * largest}"
    )


def evenly(total: int, count: int) -> list[int]:
    """At most `count` of the numbers 0 ... total - 1, evenly spaced; only the last one if count is 1.

    >>> evenly(10, 4), evenly(10, 1), evenly(2, 4)
    ([0, 3, 6, 9], [9], [0, 1])
    """
    if count == 1:
        return [total - 1]
    return [int(k) for k in np.unique(np.linspace(0, total - 1, min(count, total)).round())]
