"""Frames as bytes for the page, in the format that web/source.js reads.

The bytes of a frame are consecutive arrays, little-endian, each padded to a multiple of four bytes:

    head     float64 (9)      t, m, c, w, step, fast, low (3)
    number   uint32 (m)       only if a body is absent
    q, u     float32 (m d)    or, in small frames, uint16 and int16: q = low + step q', u = fast u'
    radii    float32 (m)      only if radii change
    sent     float32 (m)      one array per quantity that the page cannot compute
    first, second             int32 (c): rows of the bodies of a contact, second = -1 - w for wall w
    force    float32 (c)
    away     int8 (3 c)       127 times the unit vector to the wall
    walls    float32 (2 w d)  only if walls move or there are rods: both ends of each line

All positions are relative to an origin in the middle, so that 32 bits are enough also for distant systems.
"""

from __future__ import annotations

from base64 import b64encode
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from jostle.arrays import Array
from jostle.polylines import WIRE, View, segments
from jostle.revolved import surfaces
from jostle.viz.frames import Frame
from jostle.viz.given import Given, given
from jostle.viz.quantities import Part, Quantity, offered
from jostle.viz.scene import Scene

MAX_CODE = 2**16 - 1
"""Largest 16-bit code of a coordinate in a compact frame."""
RESOLUTION = 0.01
"""A compact frame must resolve positions to this fraction of the smallest radius."""
MAX_NORMAL = 127
"""Code of a component of length one of the normal of a wall."""
MAX_WALL_NAMES = 1000
"""Largest number of walls whose names are sent to the page; the others have numbers."""


@dataclass(frozen=True, eq=False)
class Encoder:
    """Converts the frames of a scene into bytes.

    >>> import jostle as jo
    >>> scene = Scene(jo.solve(jo.models.rack(2), jo.Maury(), t=1.0, h=0.1))
    >>> data = Encoder.of(scene, small=False).frame(scene.frame(-1))
    >>> np.frombuffer(data, "<f8", 4).tolist(), len(data)
    ([1.0, 4.0, 0.0, 0.0], 136)
    """

    scene: Scene
    small: bool
    """Whether positions are stored in 16 bits."""
    origin: Array
    """(d,) the origin of all positions."""
    seen: View
    """The box up to which unbounded walls are shown."""
    radii: Array | None
    """(n,) the radii if they never change, else None."""
    walls: Array | None
    """(w, 2, d) the walls if they are at rest, else None."""
    wires: int = 0
    """Number of the last walls that are lines of curved walls in space, which the page may show as glass."""
    given: tuple[Quantity, ...] = ()
    """Quantities given by the user."""
    note: ClassVar[str] = ""
    """Empty, because rounding of positions is too fine to be visible."""

    @classmethod
    def of(cls, scene: Scene, small: bool, quantities: Given | None = None) -> Encoder:
        first = scene.frame(0)
        seen = scene.view(first).holding(np.stack(scene.ways)).wider(0.02)
        radii = None if scene.radii_change else scene.radii(0)
        if radii is not None:
            radii[radii <= 0.0] = scene.point
        if scene.facts.walls_move or scene.has_rods:
            return cls(scene, small, seen.centre, seen, radii, None, given=tuple(given(scene, quantities)))
        lines = sorted(scene.walls(first.t, seen), key=lambda line: line.kind == WIRE)
        wires = len(segments([line for line in lines if line.kind == WIRE], scene.d))
        walls = segments(lines, scene.d)
        return cls(scene, small, seen.centre, seen, radii, walls, wires, tuple(given(scene, quantities)))

    def continued(self, scene: Scene) -> Encoder:
        """The same encoder for a scene with more frames, with the same origin."""
        later = Encoder.of(scene, self.small)
        return replace(later, origin=self.origin, given=self.given)

    @cached_property
    def quantities(self) -> list[Quantity]:
        """All quantities by which bodies can be coloured."""
        return [*offered(self.scene), *self.given]

    @cached_property
    def constant(self) -> list[Quantity]:
        """The quantities that are sent once, for all bodies."""
        return [quantity for quantity in self.quantities if quantity.constant is not None]

    @cached_property
    def sent(self) -> list[Quantity]:
        """The quantities that are sent with each frame: those of the user and of plug-ins."""
        return [one for one in self.quantities if one.constant is None and not isinstance(one.of, Part)]

    def recipe(self, quantity: Quantity) -> dict[str, Any]:
        """The instructions by which the page computes the values of a quantity."""
        for name, some in (("constant", self.constant), ("sent", self.sent)):
            if quantity in some:
                return {"part": name, "index": some.index(quantity)}
        assert isinstance(quantity.of, Part)
        return {"part": quantity.of.name, "axis": quantity.of.axis, "overSurface": quantity.of.over_surface}

    def frame(self, frame: Frame) -> bytes:
        """The bytes of a frame."""
        m, c = len(frame.number), len(frame.bars.force)
        x = frame.x - self.origin
        low, step, fast = np.zeros(self.scene.d), 1.0, 1.0
        arrays: list[NDArray[Any]] = [] if m == self.scene.count else [frame.number.astype("<u4")]
        if self.small:
            low = x.min(axis=0) if m else low
            step = (float(np.ptp(x, axis=0).max()) if m else 0.0) / MAX_CODE or 1.0
            fast = float(np.abs(frame.u).max(initial=0.0)) / (MAX_CODE // 2) or 1.0
            arrays += [np.rint((x - low) / step).astype("<u2"), np.rint(frame.u / fast).astype("<i2")]
        else:
            arrays += [x.astype("<f4"), frame.u.astype("<f4")]
        if self.radii is None:
            arrays.append(frame.radii.astype("<f4"))
        arrays += [quantity.of(frame).astype("<f4") for quantity in self.sent]
        away, bars = np.zeros((c, 3), dtype="i1"), frame.bars
        walls_at = np.flatnonzero(bars.rows[:, 1] < 0)
        unit = (bars.end - bars.start)[walls_at] / frame.radii[bars.rows[walls_at, 0], None]
        away[walls_at, : self.scene.d] = np.rint(MAX_NORMAL * unit)
        arrays += [rows.astype("<i4") for rows in bars.rows.T] + [bars.force.astype("<f4"), away]
        w = 0
        if self.walls is None:
            lines = segments(self.scene.walls(frame.t, self.seen), self.scene.d)
            walls = np.concatenate([lines, self.scene.rods(frame)]) - self.origin
            w = len(walls)
            arrays.append(walls.astype("<f4"))
        head = np.array([frame.t, m, c, w, step, fast, *[*low, 0.0][:3]], dtype="<f8")
        return joined(head, *arrays)

    def fine_enough(self, frame: Frame) -> bool:
        """Whether 16 bits are enough for the positions of a frame."""
        return bool(len(frame.x) == 0 or np.ptp(frame.x, axis=0).max() <= MAX_CODE * RESOLUTION * frame.radii.min())

    def about(self) -> dict[str, Any]:
        """The data that all frames share."""
        scene = self.scene
        return {
            "d": scene.d,
            "dimension": scene.dimension,
            "n": scene.count,
            "small": self.small,
            "origin": [*self.origin.tolist(), 0.0][:3],
            "radii": None if self.radii is None else text(joined(self.radii.astype("<f4"))),
            "walls": None if self.walls is None else text(joined((self.walls - self.origin).astype("<f4"))),
            "wires": self.wires,
            "glass": [
                {
                    "base": (each.base - self.origin).tolist(),
                    "axis": each.axis.tolist(),
                    "profile": each.profile.tolist(),
                }
                for each in (surfaces(scene.shapes(float(scene.sol.t[0]))) if self.wires else ())
            ],
            "period": [float(L) if np.isfinite(L) else None for L in scene.period] + [None] * (3 - scene.dimension),
            "force_name": scene.force_name,
            "contacts": scene.contacts_known,
            "points": not scene.sized,
            "sent": len(self.sent),
            "constant": [text(joined(one.constant(scene).astype("<f4"))) for one in self.constant if one.constant],
            "units": asdict(scene.facts.units),
            "wall_names": list(scene.facts.wall_names[:MAX_WALL_NAMES]),
            "exits": self._exits(),
        }

    def _exits(self) -> list[dict[str, Any]]:
        """The exits of the floor plan of a crowd: their names, and both ends in three dimensions."""
        plan = self.scene.facts.plan
        if plan is None or self.scene.d != 2:
            return []
        return [
            {"name": name, "ends": [*(ends[0] - self.origin).tolist(), 0.0, *(ends[1] - self.origin).tolist(), 0.0]}
            for name, ends in plan.exits.items()
        ]


def text(data: bytes) -> str:
    """Bytes as base64 text, for a page.

    >>> text(b"jostle")
    'am9zdGxl'
    """
    return b64encode(data).decode("ascii")


def joined(*arrays: NDArray[Any]) -> bytes:
    """The bytes of arrays, each padded to a multiple of four bytes.

    >>> joined(np.array([1, 2], "u1"), np.array([3], "<u4")).hex()
    '0102000003000000'
    """
    return b"".join(array.tobytes() + bytes(-array.nbytes % 4) for array in arrays)
