"""The viewer as a file: one self-contained HTML page that plays a run in any browser."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol, cast

import numpy as np

from jostle.arguments import check_arguments
from jostle.arrays import Array
from jostle.errors import InvalidValue
from jostle.io.new_files import whole
from jostle.viz.document import EMBEDDED, document
from jostle.viz.encoding import Encoder, text
from jostle.viz.field_encoding import Fields
from jostle.viz.field_values import ShownDensity, density_in
from jostle.viz.films import Drawn
from jostle.viz.frames import Frame
from jostle.viz.given import Given, checked
from jostle.viz.scales import Scales
from jostle.viz.scene import Scene
from jostle.viz.sources import Shown, file_of, solution, target_for

PAGES = (".html", ".htm")
"""File formats of pages."""
SAMPLED_FRAMES = 12
"""Number of frames whose sizes are measured to estimate the number of frames that fit."""
FILL_FRACTION = 0.95
"""Fraction of the space that the first estimate fills with frames."""
SPARE_BYTES = 2_500
"""Number of bytes for the scales and the note, which the estimate does not include."""
FRAME_OVERHEAD = 24
"""Number of bytes of a frame besides its data, for its time and the separators."""


@check_arguments
def page(
    sol: Shown | ShownDensity,
    path: str | os.PathLike[str],
    *,
    title: str = "",
    quantities: Given | None = None,
    most_bytes: int = 40_000_000,
    progress: Callable[[Drawn], object] | None = None,
) -> Path:
    """Write a self-contained HTML page that plays a run in any browser, without network access.

    If the file would be larger than `most_bytes`, positions are rounded to 16 bits (finer than a hundredth of the
    smallest radius), and the values of a density to 16 bits of their range in each frame. If that is not enough, frames
    are left out evenly, and the page says so.

    Parameters
    ----------
    sol : Solution, Evolution, Images, str or path
        A solution, the run of a density, or the name of a file.
    path : str or path
        Name of the page, .html.
    title : str, default ""
        Title of the page; empty: "jostle".
    quantities : mapping of str to array_like or callable, optional
        Further numbers by which bodies are coloured, by name: one per body (n,), one per frame and body (k, n), or a
        function of the frame number. None: only the quantities in `jostle.viz.QUANTITIES`.
    most_bytes : int, default 40_000_000
        Largest size of the page, in bytes.
    progress : callable (Drawn) -> object, optional
        Called after each frame; `jostle.terminal.progress_bar` makes one that shows a bar. None: nothing is called.

    Returns
    -------
    Path
        The page.

    Raises
    ------
    InvalidValue
        If the suffix is wrong, a quantity does not fit the bodies, or not even one frame fits into `most_bytes`.
    WriteFailed
        If the page cannot be written.

    Examples
    --------
    >>> import jostle as jo, tempfile
    >>> sol = jo.solve(jo.models.rack(), jo.Maury(), t=2.0, h=0.1)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     html = page(sol, f"{folder}/rack.html", title="The break").read_text()
    >>> links = html.replace("http-equiv", "").replace("http://www.w3.org/2000/svg", "")
    >>> "<title>The break</title>" in html, "http" in links
    (True, False)
    """
    reel, source = reel_of(sol, quantities)
    wanted = target_for(path, "a page", PAGES, source)
    heading, names = title or "jostle", list(checked(quantities))
    shell = len(document(heading, {}, source=EMBEDDED).encode()) + SPARE_BYTES
    shell += len(json.dumps([heading, *names])) + 200 * len(names)
    packed = Packed.of(reel, most_bytes, shell, per_byte=4 / 3, progress=progress)
    html = document(heading, {"title": heading, **packed.about}, map(text, packed.frames), source=EMBEDDED)
    with whole(wanted) as new:
        new.write_text(html, encoding="utf-8")
    return wanted


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


@dataclass(frozen=True, eq=False)
class Bodies:
    """The frames of a solution, as a page plays them.

    >>> import jostle as jo
    >>> Bodies(Scene(jo.solve(jo.models.rack(2), jo.Maury(), t=0.2, h=0.1)), None).t.tolist()
    [0.0, 0.1, 0.2]
    """

    scene: Scene
    quantities: Given | None

    @property
    def t(self) -> Array:
        return self.scene.sol.t

    def frames(self, numbers: Sequence[int]) -> Iterator[Frame]:
        return self.scene.frames(numbers)

    def encoder(self, small: bool) -> Encoder:
        return Encoder.of(self.scene, small, self.quantities)

    def scales(self) -> Scales:
        return Scales()


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


def reel_of(sol: Shown | ShownDensity, quantities: Given | None) -> tuple[Reel, Path | None]:
    """The frames of a solution or of a moving density, and the file from which they are read.

    >>> reel_of(7, None)  # doctest: +IGNORE_EXCEPTION_DETAIL
    Traceback (most recent call last):
    jostle.errors.InvalidValue: sol must be a Solution or the name of a trajectory file, not 7
    """
    images = density_in(sol)
    if images is None:
        shown = solution(cast("Shown", sol))
        return Bodies(Scene(shown), quantities), file_of(shown)
    refuse_quantities(quantities)
    return Fields(images), images.path


def refuse_quantities(quantities: Given | None) -> None:
    """Raise `InvalidValue` if quantities of bodies are given for a density."""
    if checked(quantities):
        raise InvalidValue("quantities are numbers of bodies, which a density does not have: remove quantities=")


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
