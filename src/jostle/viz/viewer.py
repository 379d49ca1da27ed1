"""The viewer: one HTML file that plays a `Solution` in any browser, and asks nobody for anything.

The page is viewer.html in the folder web, with the styles, the scripts and the frames written into it.
"""

from __future__ import annotations

import json
import os
import re
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from jostle.errors import InvalidValue
from jostle.solution import Solution
from jostle.viz.encoding import Encoder, fine_enough
from jostle.viz.scene import Frame, Scene
from jostle.viz.shapes import View

SCRIPTS = ("source.js", "camera.js", "webgl.js", "canvas.js", "viewer.js")
SAMPLE = 12
"""Frames that are looked at to see how many fit,"""
CAREFUL = 0.95
"""with so much of the space given to them at first."""
OFF = 0.25
"""How far from the walls bodies are still seen at first, as a part of the diagonal."""
SPARE = 2_000
"""Bytes for what is not counted: scales, and the note."""
MOST = 98.0
"""Per cent of the forces on bodies that the colours tell apart: an impact would make all others look alike."""


def page(sol: Solution, path: str | os.PathLike[str], *, title: str = "", most_bytes: int = 40_000_000) -> Path:
    """Write a page that plays the solution: WebGL, no network, nothing to install.

    Where the file would be larger than `most_bytes`, places are rounded to 16 bits, finer than a hundredth of the
    smallest radius; where that is not enough, frames are left out evenly, and the page says so.

    >>> import jostle as jo, tempfile
    >>> sol = jo.solve(jo.models.rack(), jo.Maury(), t=2.0, h=0.1)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     text = page(sol, f"{folder}/rack.html", title="The break").read_text()
    >>> "<h1>The break</h1>" in text, "http" in text.replace("http-equiv", "")
    (True, False)
    """
    scene = Scene(sol)
    heading = title or "jostle"
    shell = len(_filled(heading, "", {}, []).encode()) + SPARE
    encoder, kept = _fitting(scene, most_bytes, shell)
    note = ""
    if len(kept) < len(sol.t):
        note = f"{len(kept)} of the {len(sol.t)} saved frames, to keep this file below {most_bytes / 1e6:.3g} MB."
    about = encoder.about() | _scales(scene, encoder, kept) | {"frames": [frame.about for frame in kept]}
    path = Path(path)
    path.write_text(_filled(heading, note, about, [frame.text for frame in kept]), encoding="utf-8")
    return path


class Kept(NamedTuple):
    """A frame that is written, and what the scales must know of it."""

    text: str
    about: dict[str, Any]
    fastest: float
    strongest: float
    """The largest force of a contact."""
    force: NDArray[np.float32]
    """(m,) on bodies."""
    radii: tuple[float, ...]
    """The smallest, the median and the largest; none without bodies."""

    @classmethod
    def of(cls, frame: Frame, encoder: Encoder) -> Kept:
        radii = tuple(np.quantile(frame.radii, [0.0, 0.5, 1.0]).tolist()) if len(frame.radii) else ()
        strongest = float(np.abs(frame.bars.force).max(initial=0.0))
        fastest = float(frame.speed.max(initial=0.0))
        return cls(*encoder.frame(frame), fastest, strongest, frame.force.astype(np.float32), radii)

    @property
    def size(self) -> int:
        return len(self.text) + len(json.dumps(self.about)) + 3


def _fitting(scene: Scene, most_bytes: int, shell: int) -> tuple[Encoder, list[Kept]]:
    """The frames, as many as there is room for."""
    total = len(scene.sol.t)
    sample = [scene.frame(k) for k in _evenly(total, SAMPLE)]
    for small in (False, True):
        encoder = Encoder.of(scene, small)
        each = float(np.mean([Kept.of(frame, encoder).size for frame in sample]))
        shell_here = shell + len(json.dumps(encoder.about()))
        left = most_bytes - shell_here
        count = min(total, int(CAREFUL * left / each))
        if count == total or not all(fine_enough(frame) for frame in sample):
            break
    while count > 0:
        kept = [Kept.of(scene.frame(k), encoder) for k in _evenly(total, count)]
        size = sum(frame.size for frame in kept)
        if size <= left:
            return encoder, kept
        count = min(count - 1, int(CAREFUL * count * left / size))
    largest = max(Kept.of(frame, encoder).size for frame in sample)
    raise InvalidValue(f"one frame takes {largest} bytes: most_bytes must be at least {shell_here + 2 * largest}")


def _evenly(total: int, count: int) -> list[int]:
    """At most count of the numbers 0 ... total - 1, as evenly as can be; the last first, if there is one only."""
    if count == 1:
        return [total - 1]
    return [int(k) for k in np.unique(np.linspace(0, total - 1, min(count, total)).round())]


def _scales(scene: Scene, encoder: Encoder, kept: list[Kept]) -> dict[str, Any]:
    """What the colours and the widths of bars mean, and where the eye is at first."""
    force = np.concatenate([frame.force for frame in kept])
    force = force[force > 0.0]
    strongest = [frame.strongest for frame in kept if frame.strongest]
    smallest, median, largest = np.array([frame.radii for frame in kept if frame.radii] or [(1.0, 1.0, 1.0)]).T
    home, seen = _home(scene), encoder.seen
    return {
        "ranges": {
            "speed": [0.0, max(frame.fastest for frame in kept) or 1.0],
            "force": [0.0, float(np.percentile(force, MOST)) if len(force) else 1.0],
            "radius": [float(smallest.min()), float(largest.max())],
            "number": [0, max(scene.count - 1, 1)],
        },
        "strong": float(np.median(strongest)) if strongest else 1.0,
        "median": float(np.median(median)),
        "reach": seen.size,
        "home": {
            "lower": [*(home.lower - encoder.origin).tolist(), 0.0][:3],
            "upper": [*(home.upper - encoder.origin).tolist(), 0.0][:3],
        },
    }


def _home(scene: Scene) -> View:
    """What is seen at first: the walls, all bodies at the start, and where they go if it is not far off the walls."""
    first = scene.frame(0)
    limit = scene.enclosure(first.t).wider(OFF)
    ways = [np.clip(end, limit.lower, limit.upper) for end in scene.ways]
    return scene.view(first).holding(np.stack(ways))


def _filled(title: str, note: str, about: dict[str, Any], frames: list[str]) -> str:
    web = files("jostle.viz") / "web"
    parts = {
        "title": escape(title),
        "note": escape(note),
        "style": (web / "viewer.css").read_text(encoding="utf-8"),
        "script": "\n".join((web / name).read_text(encoding="utf-8") for name in SCRIPTS),
        "about": json.dumps(about, allow_nan=False).replace("<", "\\u003c"),
        "frames": "\n".join(frames),
    }
    template = (web / "viewer.html").read_text(encoding="utf-8")
    return re.sub("@(title|note|style|script|about|frames)@", lambda found: parts[found[1]], template)
