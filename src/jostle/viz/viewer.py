"""The viewer as a file: one HTML page that plays a `Solution` in any browser, and asks nobody for anything."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from jostle.arguments import check_arguments
from jostle.errors import InvalidValue
from jostle.io.container import whole
from jostle.viz.document import EMBEDDED, document
from jostle.viz.encoding import Encoder, fine_enough, text
from jostle.viz.films import Drawn
from jostle.viz.given import Given, checked
from jostle.viz.scales import Scales
from jostle.viz.scene import Scene
from jostle.viz.sources import Shown, file_of, solution, target_for

PAGES = (".html", ".htm")
"""File formats of pages."""
SAMPLED_FRAMES = 12
"""Number of frames whose sizes are measured to estimate how many frames fit."""
FILL_FRACTION = 0.95
"""Fraction of the space that the first estimate fills with frames."""
SPARE_BYTES = 2_500
"""Bytes for what the estimate leaves out: scales and the note."""
FRAME_OVERHEAD = 24
"""Bytes that a frame takes besides its data: its time and the separators."""


@check_arguments
def page(
    sol: Shown,
    path: str | os.PathLike[str],
    *,
    title: str = "",
    quantities: Given | None = None,
    most_bytes: int = 40_000_000,
    progress: Callable[[Drawn], object] | None = None,
) -> Path:
    """Write a page that plays the solution, a .html file: WebGL, no network, nothing to install.

    `sol` may be the path of a trajectory file. `quantities` are further numbers to colour bodies by, under their names:
    (n,) one a body, (k, n) one for each frame too, or a function of the number of the frame; those that all runs have
    are in `jostle.viz.QUANTITIES`. Where the file would be larger than `most_bytes`, places are rounded to 16 bits,
    finer than a hundredth of the smallest radius; where that is not enough, frames are left out evenly, and the page
    says so. `progress` is called with a `Drawn` after each frame; `terminal.progress_bar` gives one.

    >>> import jostle as jo, tempfile
    >>> sol = jo.solve(jo.models.rack(), jo.Maury(), t=2.0, h=0.1)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     html = page(sol, f"{folder}/rack.html", title="The break").read_text()
    >>> "<title>The break</title>" in html, "http" in html.replace("http-equiv", "")
    (True, False)
    """
    shown = solution(sol)
    wanted = target_for(path, "a page", PAGES, file_of(shown))
    heading, names = title or "jostle", list(checked(quantities))
    shell = len(document(heading, {}, source=EMBEDDED).encode()) + SPARE_BYTES
    shell += len(json.dumps([heading, *names])) + 200 * len(names)
    packed = Packed.of(Scene(shown), quantities, most_bytes, shell, per_byte=4 / 3, progress=progress)
    html = document(heading, {"title": heading, **packed.about}, map(text, packed.frames), source=EMBEDDED)
    with whole(wanted) as new:
        new.write_text(html, encoding="utf-8")
    return wanted


class Packed(NamedTuple):
    """As many frames of a scene as there is room for, and what must be known to show them."""

    about: dict[str, Any]
    frames: list[bytes]

    @classmethod
    def of(
        cls,
        scene: Scene,
        quantities: Given | None,
        most_bytes: int,
        shell: int = 0,
        per_byte: float = 1.0,
        progress: Callable[[Drawn], object] | None = None,
    ) -> Packed:
        """Frames that take at most `most_bytes` with the shell, if each byte of theirs becomes `per_byte` bytes."""
        encoder, frames, numbers, scales = _fitting(
            scene, quantities, most_bytes, shell, per_byte, progress or (lambda drawn: None)
        )
        total, note = len(scene.sol.t), ""
        if len(numbers) < total:
            note = f"{len(numbers)} of the {total} saved frames, to stay below {most_bytes / 1e6:.3g} MB."
        times = scene.sol.t[numbers].tolist()
        return cls(encoder.about() | scales.about(encoder) | {"times": times, "note": note}, frames)


def _fitting(
    scene: Scene,
    quantities: Given | None,
    most_bytes: int,
    shell: int,
    per_byte: float,
    progress: Callable[[Drawn], object],
) -> tuple[Encoder, list[bytes], list[int], Scales]:
    """The frames, as many as there is room for, which they are, and what they say about all."""
    total = len(scene.sol.t)
    sample = [scene.frame(k) for k in evenly(total, SAMPLED_FRAMES)]
    for small in (False, True):
        encoder = Encoder.of(scene, small, quantities)
        sizes = [per_byte * len(encoder.frame(frame)) + FRAME_OVERHEAD for frame in sample]
        shell_here = shell + len(json.dumps(encoder.about()))
        left = most_bytes - shell_here
        count = min(total, int(FILL_FRACTION * left / np.mean(sizes)))
        if count == total or not all(fine_enough(frame) for frame in sample):
            break
    while count > 0:
        numbers = evenly(total, count)
        frames, scales = list[bytes](), Scales()
        for frame in scene.frames(numbers):
            frames.append(encoder.frame(frame))
            scales.take(frame, encoder)
            progress(Drawn(len(frames), len(numbers), frame.t, float(scene.sol.t[-1])))
        size = sum(per_byte * len(data) + FRAME_OVERHEAD for data in frames)
        if size <= left:
            return encoder, frames, numbers, scales
        count = min(count - 1, int(FILL_FRACTION * count * left / size))
    largest = int(max(sizes))
    raise InvalidValue(f"one frame takes {largest} bytes: most_bytes must be at least {shell_here + 2 * largest}")


def evenly(total: int, count: int) -> list[int]:
    """At most count of the numbers 0 ... total - 1, as evenly as can be; the last first, if there is one only.

    >>> evenly(10, 4), evenly(10, 1), evenly(2, 4)
    ([0, 3, 6, 9], [9], [0, 1])
    """
    if count == 1:
        return [total - 1]
    return [int(k) for k in np.unique(np.linspace(0, total - 1, min(count, total)).round())]
