"""Frames as bytes, for the page: what web/source.js reads.

The bytes of a frame are arrays one after the other, little-endian, each filled up to a multiple of four bytes:

    number   uint32 (m)       only if somebody is not there
    q, u     float32 (m d)    or, in small frames, uint16 and int16: q = low + step q', u = fast u'
    radii    float32 (m)      only if radii change
    first, second             int32 (c): rows of the bodies of a contact, second = -1 for a wall
    force    float32 (c)
    away     int8 (3 c)       127 times the unit vector to the wall
    walls    float32 (2 w d)  only if walls move: both ends of each line

All places are counted from an origin in the middle, so that 32 bits are enough wherever that is.
"""

from __future__ import annotations

from base64 import b64encode
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jostle.arrays import Array
from jostle.viz.scene import Frame, Scene
from jostle.viz.shapes import View, moving, segments

STEPS = 2**16 - 1
"""Places in a small frame,"""
FINE = 0.01
"""which must be finer than this part of the smallest radius."""
AWAY = 127


@dataclass(frozen=True, eq=False)
class Encoder:
    """Turns the frames of a scene into text.

    >>> import jostle as jo
    >>> scene = Scene(jo.solve(jo.models.rack(2), jo.Maury(), t=1.0, h=0.1))
    >>> text, about = Encoder.of(scene, small=False).frame(scene.frame(-1))
    >>> about["t"], about["m"], about["c"], about["w"], len(text)
    (1.0, 4, 0, 0, 88)
    """

    scene: Scene
    small: bool
    """Are places stored in 16 bits?"""
    origin: Array
    """(d,)"""
    seen: View
    """How far walls without an end are shown."""
    radii: Array | None
    """(n,) if they never change."""
    walls: Array | None
    """(w, 2, d) if they are at rest."""

    @classmethod
    def of(cls, scene: Scene, small: bool) -> Encoder:
        first = scene.frame(0)
        seen = scene.view(first).holding(np.stack(scene.ways)).wider(0.02)
        radii = None if scene.radii_change else scene.radii(0)
        if radii is not None:
            radii[radii <= 0.0] = scene.point
        walls = None if moving(scene.within) else segments(scene.walls(first.t, seen), scene.d)
        return cls(scene, small, seen.centre, seen, radii, walls)

    def frame(self, frame: Frame) -> tuple[str, dict[str, Any]]:
        """The bytes in base64, and what must be known to read them."""
        m, c = len(frame.number), len(frame.bars.force)
        x = frame.x - self.origin
        low, step, fast = x.min(axis=0, initial=0.0), 1.0, 1.0
        arrays: list[NDArray[Any]] = [] if m == self.scene.count else [frame.number.astype("<u4")]
        if self.small:
            low = x.min(axis=0) if m else low
            step = (float(np.ptp(x, axis=0).max()) if m else 0.0) / STEPS or 1.0
            fast = float(np.abs(frame.u).max(initial=0.0)) / (STEPS // 2) or 1.0
            arrays += [np.rint((x - low) / step).astype("<u2"), np.rint(frame.u / fast).astype("<i2")]
        else:
            low = np.zeros(self.scene.d)
            arrays += [x.astype("<f4"), frame.u.astype("<f4")]
        if self.radii is None:
            arrays.append(frame.radii.astype("<f4"))
        away = np.zeros((c, 3))
        away[:, : self.scene.d] = (frame.bars.end - frame.bars.start) / frame.radii[frame.bars.rows[:, 0], None]
        away[frame.bars.rows[:, 1] >= 0] = 0.0
        arrays += [rows.astype("<i4") for rows in frame.bars.rows.T]
        arrays += [frame.bars.force.astype("<f4"), np.rint(AWAY * away).astype("i1")]
        w = 0
        if self.walls is None:
            walls = segments(self.scene.walls(frame.t, self.seen), self.scene.d) - self.origin
            w = len(walls)
            arrays.append(walls.astype("<f4"))
        about = {"t": frame.t, "m": m, "c": c, "w": w, "low": low.tolist(), "step": step, "fast": fast}
        return _text(*arrays), about

    def about(self) -> dict[str, Any]:
        """What is the same in all frames."""
        scene = self.scene
        return {
            "d": scene.d,
            "dimension": scene.dimension,
            "n": scene.count,
            "small": self.small,
            "origin": [*self.origin.tolist(), 0.0][:3],
            "radii": None if self.radii is None else _text(self.radii.astype("<f4")),
            "walls": None if self.walls is None else _text((self.walls - self.origin).astype("<f4")),
            "period": [float(L) if np.isfinite(L) else None for L in scene.period] + [None] * (3 - scene.dimension),
            "force_name": scene.force_name,
            "points": not scene.radii(0).any(),
        }


def fine_enough(frame: Frame) -> bool:
    """Are 16 bits enough for these places?"""
    return bool(len(frame.x) == 0 or np.ptp(frame.x, axis=0).max() <= STEPS * FINE * frame.radii.min())


def _text(*arrays: NDArray[Any]) -> str:
    padded = [array.tobytes() + bytes(-array.nbytes % 4) for array in arrays]
    return b64encode(b"".join(padded)).decode("ascii")
