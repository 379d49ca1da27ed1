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
    whole    int8 (3 c)       only if bodies turn: 127 times the unit vector of the whole force
    axes     int8 (m d d)     only if bodies turn: 127 times their axes, one after the other
    walls    float32 (2 w d)  only if walls move or there are rods: both ends of each line

All positions are relative to an origin in the middle, so that 32 bits are enough also for distant systems.
"""

from __future__ import annotations

import json
import zlib
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from jostle._tools.arrays import Array, Booleans
from jostle.errors import BrokenFile, InvalidValue
from jostle.io.images import Images
from jostle.plans.outlines import package
from jostle.plans.stored import plan_of
from jostle.result.solution import Solution
from jostle.sets.outlines import WIRE, View, line_segments, surfaces
from jostle.viz.films import Drawn
from jostle.viz.quantities import FORCE, Part, Quantity, offered
from jostle.viz.scene import Frame, Scene
from jostle.viz.sources import (
    ENERGY,
    LENGTH,
    VACUUM,
    VELOCITY,
    colours,
    unit_of,
    with_unit,
)
from jostle.viz.sources import values as field_values

# Numbers given by the user to colour bodies: ``page(sol, path, quantities={"age": ages})``.


Given = Mapping[str, ArrayLike | Callable[[int], ArrayLike]]
"""Numbers given by the user, by name: (n,) for all frames, (k, n) per frame, or a function of the frame number."""
REAL_KINDS = "biufO"
"""Kinds of NumPy arrays of real numbers; in an array of objects, None is an unknown number."""
MAX_QUOTED = 60
"""Largest number of characters of a wrong value in an error message."""


def given(scene: Scene, numbers: Given | None) -> list[Quantity]:
    """The numbers given by the user, as quantities.

    >>> import jostle as jo
    >>> scene = Scene(jo.solve(jo.models.rack(2), jo.Maury(), t=0.2, h=0.1))
    >>> age, = given(scene, {"age": [30, 40, 50, 60]})
    >>> age.label, age.of(scene.frame(1)).tolist()
    ('age', [30.0, 40.0, 50.0, 60.0])
    """
    found = []
    for position, (name, values) in enumerate(checked(numbers).items()):
        of_frame = values if callable(values) else _by_frame(scene, name, values)
        found.append(Quantity(f"given{position}", _of(scene, name, of_frame), name))
    return found


def checked(numbers: Given | None) -> Given:
    """Check that the user gives numbers with names.

    >>> list(checked({"age": [30, 40]})), dict(checked(None))
    (['age'], {})
    """
    if numbers is None:
        return {}
    if not isinstance(numbers, Mapping) or not all(isinstance(name, str) for name in numbers):
        raise InvalidValue(f"quantities must be a mapping of names to numbers, {{'age': ages}}, not {_words(numbers)}")
    return numbers


def _real(name: str, values: ArrayLike) -> Array:
    try:
        array = np.asarray(values)
        if array.dtype.kind in REAL_KINDS:
            return np.asarray(array, dtype=float)
    except (TypeError, ValueError):
        pass
    raise InvalidValue(f"the quantity {name!r} must be real numbers, one per body, not {_words(values)}")


def _words(value: object) -> str:
    text = repr(value)
    return text if len(text) <= MAX_QUOTED else f"{text[:MAX_QUOTED]} ..."


def _by_frame(scene: Scene, name: str, values: ArrayLike) -> Callable[[int], Any]:
    array = _real(name, values)
    frames = len(scene.sol.t)
    if array.shape not in ((scene.bodies,), (frames, scene.bodies)):
        raise InvalidValue(
            f"the quantity {name!r} has shape {array.shape}: give one number per body, ({scene.bodies},), or one per "
            f"frame and body, ({frames}, {scene.bodies})"
        )
    unknown = np.full(scene.bodies, np.nan)  # for frames that were saved later
    return lambda k: array if array.ndim == 1 else array[k] if k < frames else unknown


def _of(scene: Scene, name: str, of_frame: Callable[[int], ArrayLike]) -> Callable[[Frame], Array]:
    def values(frame: Frame) -> Array:
        array = _real(name, of_frame(frame.k))
        if array.shape != (scene.bodies,):
            raise InvalidValue(
                f"the quantity {name!r} of frame {frame.k} has shape {array.shape}: one number per body is expected, "
                f"({scene.bodies},)"
            )
        return np.asarray(array[frame.body])

    return values


MAX_CODE = 2**16 - 1
"""Largest 16-bit code of a coordinate in a compact frame."""
RESOLUTION = 0.01
"""A compact frame must resolve positions to this fraction of the smallest radius."""
MAX_NORMAL = 127
"""Code of a component of length one of the normal of a wall."""
MAX_OUTLINE = 2000
"""Largest number of corners of a floor plan for which the page counts the people inside."""
MAX_WALL_NAMES = 1000
"""Largest number of walls whose names are sent to the page; the others have numbers."""


@dataclass(frozen=True, eq=False)
class Encoder:
    """Converts the frames of a scene into bytes."""

    scene: Scene
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
    small: bool = False
    """Whether positions are stored in 16 bits."""
    note: ClassVar[str] = ""
    """Empty, because rounding of positions is too fine to be visible."""

    @classmethod
    def of(cls, scene: Scene, quantities: Given | None = None) -> Encoder:
        first = scene.frame(0)
        seen = scene.view(first).holding(np.stack(scene.ways)).wider(0.02)
        if scene.facts.bodies.has_cores:
            raise InvalidValue("the viewer does not show shapes yet: use jo.viz.draw or jo.viz.animate")
        radii = None if scene.radii_change else scene.radii(0)
        if radii is not None:
            radii[radii <= 0.0] = scene.point
        walls, wires = None, 0
        if not scene.facts.walls_move and not scene.facts.rods:
            lines = sorted(scene.walls(first.t, seen), key=lambda line: line.kind == WIRE)
            wires = len(line_segments([line for line in lines if line.kind == WIRE], scene.d))
            walls = line_segments(lines, scene.d)
        return cls(scene, seen.centre, seen, radii, walls, wires, tuple(given(scene, quantities)))

    def continued(self, scene: Scene) -> Encoder:
        """The same encoder for a scene with more frames, with the same origin."""
        return replace(Encoder.of(scene), origin=self.origin, given=self.given, small=self.small)

    @property
    def t(self) -> Array:
        """The times of all frames."""
        return self.scene.sol.t

    @property
    def size(self) -> int:
        """Number of coordinates of a frame."""
        return int(np.prod(self.scene.sol.q.shape[1:]))

    def frames(self, numbers: Sequence[int]) -> Iterator[Frame]:
        """Read frames."""
        return self.scene.frames(numbers)

    def scales(self) -> Scales:
        """Scales to which no frame was added yet."""
        return Scales()

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

    def encoded(self, frame: Frame) -> bytes:
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
        touching = bars.rows[walls_at, 0]
        unit = (bars.end[walls_at] - frame.x[touching]) / frame.radii[touching, None]
        away[walls_at, : self.scene.d] = np.rint(MAX_NORMAL * unit)
        arrays += [rows.astype("<i4") for rows in bars.rows.T] + [bars.force.astype("<f4"), away]
        if frame.axes is not None:
            along = bars.end - bars.start
            whole = np.zeros((c, 3), dtype="i1")
            whole[:, : self.scene.d] = np.rint(MAX_NORMAL * along / np.linalg.norm(along, axis=1)[:, None])
            arrays += [whole, np.rint(MAX_NORMAL * frame.axes.transpose(0, 2, 1)).astype("i1")]
        w = 0
        if self.walls is None:
            lines = line_segments(self.scene.walls(frame.t, self.seen), self.scene.d)
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
            "called": scene.facts.called,
            "owner": text(joined(scene.owner.astype("<i4"))) if scene.facts.parts is not None else None,
            "turns": scene.sol.orientation is not None,
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
            "titles": {
                "position": with_unit("position", scene.facts.units, LENGTH),
                "velocity": with_unit("velocity", scene.facts.units, VELOCITY),
                "at": with_unit("at", scene.facts.units, LENGTH),
                "force": FORCE.title(scene),
                "energy": _energy_title(scene),
            },
            "contacts": scene.contacts_known,
            "points": not scene.sized,
            "sent": len(self.sent),
            "constant": [text(joined(one.constant(scene).astype("<f4"))) for one in self.constant if one.constant],
            "units": asdict(scene.facts.units),
            "wall_names": list(scene.facts.wall_names[:MAX_WALL_NAMES]),
            "exits": self._exits(),
            "outline": self._outline(),
        }

    def _exits(self) -> list[dict[str, Any]]:
        """The exits of the floor plan of a crowd: their names, and both ends in three dimensions."""
        plan = plan_of(self.scene.sol)
        if plan is None or self.scene.d != 2:
            return []
        return [
            {"name": name, "ends": [*(ends[0] - self.origin).tolist(), 0.0, *(ends[1] - self.origin).tolist(), 0.0]}
            for name, ends in plan.exits.items()
        ]

    def _outline(self) -> list[list[float]]:
        """The rings around and inside the floor plan of a crowd, each as x, y, x, y ...; empty if they are long."""
        plan = plan_of(self.scene.sol)
        if plan is None or self.scene.d != 2:
            return []
        if plan.half_planes is not None:
            rings = [plan.half_planes.corners]
        else:
            floors = package("shapely").get_parts(plan.area)
            rings = [np.asarray(ring.coords) for floor in floors for ring in (floor.exterior, *floor.interiors)]
        if sum(map(len, rings)) > MAX_OUTLINE:
            return []
        return [(ring - self.origin).ravel().tolist() for ring in rings]


def _energy_title(scene: Scene) -> str:
    """The title of the kinetic energy; empty if the page cannot compute it from masses and velocities."""
    facts = scene.facts
    if facts.masses is None or facts.parts is not None or scene.force_name != "force":
        return ""
    name = "kinetic energy" if scene.sol.orientation is None else "kinetic energy without rotation"
    return with_unit(name, facts.units, ENERGY)


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


# Frames of a moving density as bytes for the page, in the format that web/fields.js reads.
#
# The bytes of a frame are compressed by deflate. They are consecutive arrays, little-endian, each padded to a multiple
# of four bytes; cell (i, j) is entry i + nx j of each array of values:
#
#     head     float64 (1 + 2 f)   t, and for each of the f following arrays: low, step
#     values   float32 (nx ny)     or, in small frames, uint16: value = low + step code
#
# Scalar fields come first, in the order of `FieldEncoder.scalars`, then both components of the velocity.


DEFLATE_LEVEL = 1
"""Level of compression; higher levels take several times as long and save only a tenth."""
ROUNDED = f"Values are rounded to 1/{MAX_CODE} of their range in each frame."
"""Note on the page about rounded frames."""


class FieldFrame(NamedTuple):
    """The fields of one saved time."""

    t: float
    fields: dict[str, Array]
    """Fields by name: (nx, ny), or (nx, ny, 2) for the velocity."""


@dataclass(frozen=True, eq=False)
class FieldEncoder:
    """Converts the frames of a density into bytes.

    >>> images = Images(t=np.zeros(1), lower=np.zeros(2), h=0.5, fields={"density": np.full((1, 4, 3), 0.25)})
    >>> encoder = FieldEncoder(images)
    >>> (frame,) = encoder.frames([0])
    >>> data = zlib.decompress(encoder.encoded(frame))
    >>> np.frombuffer(data, "<f8", 3).tolist(), set(np.frombuffer(data, "<f4", 12, 24).tolist())
    ([0.0, 0.0, 1.0], {0.25})
    """

    images: Images
    small: bool = False
    """Whether values are stored in 16 bits."""

    @property
    def t(self) -> Array:
        """The times of all frames."""
        return self.images.t

    @property
    def size(self) -> int:
        """Number of values of a field in a frame."""
        return int(np.prod(next(iter(self.images.fields.values())).shape[1:]))

    def frames(self, numbers: Sequence[int]) -> Iterator[FieldFrame]:
        """Read frames; `BrokenFile` if the file was replaced by a run on another grid."""
        for k in numbers:
            found = {name: np.asarray(frames[k], dtype=float) for name, frames in self.images.fields.items()}
            if any(one.shape[:2] != self.images.shape for one in found.values()):
                raise BrokenFile(f"{self.images.path} was replaced by a run on another grid while it was being read")
            yield FieldFrame(float(self.t[k]), found)

    def scales(self) -> FieldScales:
        """Scales to which no frame was added yet."""
        return FieldScales()

    @property
    def note(self) -> str:
        """The note on the page about the precision."""
        return ROUNDED if self.small else ""

    @cached_property
    def scalars(self) -> list[str]:
        """Names of the scalar fields."""
        return [name for name, values in self.images.fields.items() if len(values.shape) == 3]

    def fine_enough(self, frame: FieldFrame) -> bool:
        """Whether the values can be rounded, which NaN and infinity cannot."""
        return all(bool(np.isfinite(one).all()) for one in frame.fields.values())

    def encoded(self, frame: FieldFrame) -> bytes:
        """The bytes of a frame."""
        shown = [frame.fields[name] for name in self.scalars]
        if "velocity" in frame.fields:
            shown += [frame.fields["velocity"][..., 0], frame.fields["velocity"][..., 1]]
        head, arrays = [frame.t], list[NDArray[Any]]()
        for one in shown:
            low, step = 0.0, 1.0
            if self.small:
                low = float(one.min())
                step = (float(one.max()) - low) / MAX_CODE or 1.0
            head += [low, step]
            codes = np.rint((one.T - low) / step).astype("<u2") if self.small else one.T.astype("<f4")
            arrays.append(codes)
        return zlib.compress(joined(np.array(head, dtype="<f8"), *arrays), DEFLATE_LEVEL)

    def about(self) -> dict[str, Any]:
        """The data that all frames share."""
        images = self.images
        nx, ny = images.shape
        size = np.array([nx, ny]) * images.h
        return {
            "d": 2,
            "dimension": 2,
            "n": nx * ny,
            "small": self.small,
            "contacts": False,
            "units": asdict(images.units),
            "titles": {"centre": with_unit("centre", images.units, LENGTH)},
            "home": {"lower": [*(-0.5 * size).tolist(), 0.0], "upper": [*(0.5 * size).tolist(), 0.0]},
            "reach": float(np.hypot(*size)),
            "grid": {
                "shape": [nx, ny],
                "h": images.h,
                "lower": images.lower.tolist(),
                "closed": [list(pair) for pair in images.closed],
                "walls": _bits(images.walls),
                "exits": _bits(images.exits),
                "scalars": self.scalars,
                "velocity": with_unit("velocity", images.units, unit_of(images, "velocity"))
                if "velocity" in images.fields
                else None,
                "vacuum": VACUUM,
            },
        }


def extremes(values: ArrayLike) -> Array:
    """The smallest and the largest finite value; empty if there is none."""
    found = np.asarray(values, dtype=float)
    found = found[np.isfinite(found)]
    return np.array([found.min(), found.max()]) if len(found) else found


def scale_of(quantity: Quantity, samples: Sequence[Array]) -> list[float]:
    """The values of the first and of the last colour, from the extremes of some frames."""
    values, start = np.concatenate([np.zeros(0), *samples]), quantity.low or 0.0
    if len(values) == 0:
        return [start, start + 1.0]
    low, high = float(values.min()) if quantity.low is None else quantity.low, float(values.max())
    return [low, high if high > low or quantity.low is None else low + 1.0]


@dataclass
class FieldScales:
    """Collects frames, and determines the colour scales from them.

    >>> images = Images(t=np.zeros(1), lower=np.zeros(2), h=0.5, fields={"density": np.full((1, 4, 3), 0.25)})
    >>> FieldScales().about(FieldEncoder(images))["quantities"][0]["range"]
    [0.0, 1.0]
    """

    taken: int = 0
    """Number of frames added."""
    samples: dict[str, list[Array]] = field(default_factory=dict)

    def take(self, frame: FieldFrame, encoder: FieldEncoder) -> None:
        """Add a frame."""
        self.taken += 1
        for name in colours(encoder.images):
            self.samples.setdefault(name, []).append(extremes(field_values(frame.fields, name)))

    def about(self, encoder: FieldEncoder, some: bool = False) -> dict[str, Any]:
        """The colour scales, for the page; `some`: whether it also shows frames that were not added."""
        images = encoder.images
        return {
            "quantities": [
                {
                    "name": name,
                    "label": with_unit(name, images.units, unit_of(images, name)),
                    "range": self._range(name),
                    "beyond": some and name != "density",
                    "steep": name == "pressure",
                    "categories": [],
                    "recipe": {"part": "cells", "name": name},
                }
                for name in colours(images)
            ]
        }

    def _range(self, name: str) -> list[float]:
        """The values of the first and the last colour: 0 and 1 for a density, otherwise those of the data."""
        found = np.concatenate([np.zeros(0), *self.samples.get(name, [])])
        if name == "density" or not len(found):
            return [0.0, 1.0]
        low = 0.0 if name in ("speed", "pressure") else float(found.min())
        high = float(found.max())
        return [low, high if high > low else low + 1.0]


def _bits(mask: Booleans | None) -> str | None:
    """A mask with one bit per cell, as text; None if it has no cells."""
    if mask is None or not mask.any():
        return None
    return text(np.packbits(mask.T.ravel(), bitorder="little").tobytes())


# As many frames as fit into a page: rounded to 16 bits, or left out evenly.


SAMPLED_FRAMES = 12
"""Number of frames whose sizes are measured to estimate the number of frames that fit."""
FILL_FRACTION = 0.95
"""Fraction of the space that the first estimate fills with frames."""
SPARE_BYTES = 2_500
"""Number of bytes for the scales and the note, which the estimate does not include."""
FRAME_OVERHEAD = 24
"""Number of bytes of a frame besides its data, for its time and the separators."""


class Packed(NamedTuple):
    """As many frames as fit, and the data needed to show them."""

    about: dict[str, Any]
    frames: list[bytes]

    @classmethod
    def of(
        cls,
        encoder: Encoder | FieldEncoder,
        most_bytes: int,
        shell: int = 0,
        per_byte: float = 1.0,
        progress: Callable[[Drawn], object] | None = None,
    ) -> Packed:
        """Choose frames that take at most `most_bytes` with the shell, with `per_byte` bytes of text per byte."""
        chosen = _fitting(encoder, most_bytes, shell, per_byte, progress or (lambda drawn: None))
        encoder, frames, numbers, scales = chosen
        total, notes = len(encoder.t), [encoder.note]
        if len(numbers) < total:
            notes.insert(0, f"{len(numbers)} of the {total} saved frames, to stay below {most_bytes / 1e6:.3g} MB.")
        now = {"times": encoder.t[numbers].tolist(), "note": " ".join(filter(None, notes))}
        return cls(encoder.about() | scales.about(encoder) | now, frames)


def _fitting(
    encoder: Any, most_bytes: int, shell: int, per_byte: float, progress: Callable[[Drawn], object]
) -> tuple[Any, list[bytes], list[int], Any]:
    """The encoder, rounded to 16 bits if necessary, the frames that fit, their numbers, and the scales."""
    total = len(encoder.t)
    sample = [*encoder.frames(evenly(total, SAMPLED_FRAMES))]
    choices = []
    for small in (False, True):
        encoder = replace(encoder, small=small)
        sizes = [per_byte * len(encoder.encoded(frame)) + FRAME_OVERHEAD for frame in sample]
        left = most_bytes - shell - len(json.dumps(encoder.about()))
        count = min(total, int(FILL_FRACTION * left / np.mean(sizes)))
        choices.append((count, encoder, left, int(max(sizes))))
        if count == total or not all(encoder.fine_enough(frame) for frame in sample):
            break
    # after compression, rounded frames may be longer
    count, encoder, left, largest = max(choices, key=lambda choice: choice[0])
    while count > 0:
        numbers = evenly(total, count)
        frames, scales = list[bytes](), encoder.scales()
        for frame in encoder.frames(numbers):
            frames.append(encoder.encoded(frame))
            scales.take(frame, encoder)
            progress(Drawn(len(frames), len(numbers), frame.t, float(encoder.t[-1])))
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


# The scales of colours and of force bars, and the initial view, determined from some frames of a solution.


MAX_DISTANCE = 0.25
"""Distance from the walls up to which bodies are inside the first view, as a fraction of the diagonal."""


@dataclass
class Scales:
    """Collects frames, and determines the scales from them."""

    taken: int = 0
    """Number of frames added."""
    samples: dict[str, list[Array]] = field(default_factory=dict)
    strongest: list[float] = field(default_factory=list)
    """The largest contact force of each frame that has contacts."""
    radii: list[float] = field(default_factory=list)
    """The median radius of each frame that has bodies."""

    def take(self, frame: Frame, encoder: Encoder) -> None:
        """Add a frame."""
        self.taken += 1
        for quantity in encoder.quantities:
            self.samples.setdefault(quantity.name, []).append(extremes(quantity.of(frame)))
        strongest = float(np.abs(frame.bars.force).max(initial=0.0))
        if strongest:
            self.strongest.append(strongest)
        if len(frame.radii):
            self.radii.append(float(np.median(frame.radii)))

    def about(self, encoder: Encoder, some: bool = False) -> dict[str, Any]:
        """The scales and the initial view, for the page; `some`: whether it also shows frames that were not added."""
        home = _home(encoder.scene)
        return {
            "quantities": [
                {
                    "name": quantity.name,
                    "label": quantity.title(encoder.scene),
                    "range": scale_of(quantity, self.samples.get(quantity.name, [])),
                    "beyond": some,
                    "steep": quantity.steep,
                    "categories": list(quantity.categories(encoder.scene)),
                    "recipe": encoder.recipe(quantity),
                }
                for quantity in encoder.quantities
            ],
            "strong": float(np.median(self.strongest)) if self.strongest else 1.0,
            "median": float(np.median(self.radii or [1.0])),
            "reach": encoder.seen.size,
            "home": {
                "lower": [*(home.lower - encoder.origin).tolist(), 0.0][:3],
                "upper": [*(home.upper - encoder.origin).tolist(), 0.0][:3],
            },
        }


def _home(scene: Scene) -> View:
    """The initial view: the walls, all bodies at the start, and their paths as far as they stay near the walls."""
    first = scene.frame(0)
    limit = scene.enclosure(first.t).wider(MAX_DISTANCE)
    ways = [np.clip(end, limit.lower, limit.upper) for end in scene.ways]
    return scene.view(first).holding(np.stack(ways))


def encoder_of(run: Solution | Images, quantities: Given | None) -> Encoder | FieldEncoder:
    """What converts the frames of a run of bodies or of a density; a density has no quantities of bodies."""
    if isinstance(run, Solution):
        return Encoder.of(Scene(run), quantities)
    if checked(quantities):
        raise InvalidValue("quantities are numbers of bodies, which a density does not have: remove quantities=")
    return FieldEncoder(run)
