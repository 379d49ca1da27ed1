"""Frames of a moving density as bytes for the page, in the format that web/fields.js reads.

The bytes of a frame are compressed by deflate. They are consecutive arrays, little-endian, each padded to a multiple of
four bytes; cell (i, j) is entry i + nx j of each array of values:

    head     float64 (1 + 2 f)   t, and for each of the f following arrays: low, step
    values   float32 (nx ny)     or, in small frames, uint16: value = low + step code

Scalar fields come first, in the order of `FieldEncoder.scalars`, then both components of the velocity.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from jostle.arrays import Array, Booleans
from jostle.errors import BrokenFile
from jostle.io.images import Images
from jostle.viz.encoding import MAX_CODE, joined, text
from jostle.viz.field_values import VACUUM, colours, unit_of, values
from jostle.viz.quantities import FORCE_PERCENTILE
from jostle.viz.units import with_unit

DEFLATE_LEVEL = 1
"""Level of compression; higher levels take several times as long and save only a tenth."""
MAX_SAMPLES = 20_000
"""Largest number of cells of a frame from which the range of the pressure is determined."""
ROUNDED = f"Values are rounded to 1/{MAX_CODE} of their range in each frame."
"""Note on the page about rounded frames."""


class FieldFrame(NamedTuple):
    """The fields of one saved time."""

    t: float
    fields: dict[str, Array]
    """Fields by name: (nx, ny), or (nx, ny, 2) for the velocity."""


@dataclass(frozen=True, eq=False)
class Fields:
    """The frames of a moving density, as a page plays them.

    >>> fields = {"density": np.linspace(0.0, 1.0, 24).reshape(2, 4, 3)}
    >>> reel = Fields(Images(t=np.array([0.0, 1.0]), lower=np.zeros(2), h=0.5, fields=fields))
    >>> [frame.t for frame in reel.frames([0, 1])], reel.encoder(small=False).about()["grid"]["shape"]
    ([0.0, 1.0], [4, 3])
    """

    images: Images

    @property
    def t(self) -> Array:
        return self.images.t

    def frame(self, k: int) -> FieldFrame:
        """Frame k; `BrokenFile` if the file was replaced by a run on another grid."""
        found = {name: np.asarray(frames[k], dtype=float) for name, frames in self.images.fields.items()}
        if any(one.shape[:2] != self.images.shape for one in found.values()):
            raise BrokenFile(f"{self.images.path} was replaced by a run on another grid while it was being read")
        return FieldFrame(float(self.t[k]), found)

    def frames(self, numbers: Sequence[int]) -> Iterator[FieldFrame]:
        return (self.frame(k) for k in numbers)

    def encoder(self, small: bool) -> FieldEncoder:
        return FieldEncoder(self.images, small)

    def scales(self) -> FieldScales:
        return FieldScales(self.images)


@dataclass(frozen=True, eq=False)
class FieldEncoder:
    """Converts the frames of a density into bytes.

    >>> reel = Fields(Images(t=np.zeros(1), lower=np.zeros(2), h=0.5, fields={"density": np.full((1, 4, 3), 0.25)}))
    >>> data = zlib.decompress(reel.encoder(small=False).frame(reel.frame(0)))
    >>> np.frombuffer(data, "<f8", 3).tolist(), set(np.frombuffer(data, "<f4", 12, 24).tolist())
    ([0.0, 0.0, 1.0], {0.25})
    """

    images: Images
    small: bool
    """Whether values are stored in 16 bits."""

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

    def frame(self, frame: FieldFrame) -> bytes:
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


@dataclass
class FieldScales:
    """Collects frames, and determines the colour scales from them.

    >>> reel = Fields(Images(t=np.zeros(1), lower=np.zeros(2), h=0.5, fields={"density": np.full((1, 4, 3), 0.25)}))
    >>> reel.scales().about(reel.encoder(small=False))["quantities"][0]["range"]
    [0.0, 1.0]
    """

    images: Images
    taken: int = 0
    """Number of frames added."""
    samples: dict[str, list[Array]] = field(default_factory=dict)

    def take(self, frame: FieldFrame, encoder: FieldEncoder) -> None:
        """Add a frame."""
        self.taken += 1
        for name in colours(self.images):
            found = values(frame.fields, name)
            found = found[np.isfinite(found)]
            if name == "pressure":
                found = found[found > 0.0]
                found = found[:: len(found) // MAX_SAMPLES + 1]
            elif len(found):
                found = np.array([found.min(), found.max()])
            self.samples.setdefault(name, []).append(found)

    def about(self, encoder: FieldEncoder) -> dict[str, Any]:
        """The colour scales, for the page."""
        images, some = self.images, self.taken < len(self.images.t)
        return {
            "quantities": [
                {
                    "name": name,
                    "label": with_unit(name, images.units, unit_of(images, name)),
                    "range": self._range(name),
                    "beyond": name != "density" and (some or name == "pressure"),
                    "categories": [],
                    "recipe": {"part": "cells", "name": name},
                }
                for name in colours(images)
            ]
        }

    def _range(self, name: str) -> list[float]:
        """The values of the first and the last colour: 0 and 1 for a density, up to a percentile for a pressure."""
        found = np.concatenate([np.zeros(0), *self.samples.get(name, [])])
        if name == "density" or not len(found):
            return [0.0, 1.0]
        if name == "pressure":
            return [0.0, float(np.percentile(found, FORCE_PERCENTILE))]
        low = 0.0 if name == "speed" else float(found.min())
        high = float(found.max())
        return [low, high if high > low else low + 1.0]


def _bits(mask: Booleans | None) -> str | None:
    """A mask with one bit per cell, as text; None if it has no cells."""
    if mask is None or not mask.any():
        return None
    return text(np.packbits(mask.T.ravel(), bitorder="little").tobytes())
