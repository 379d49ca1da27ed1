"""The scales of colours and of force bars, and the initial view, determined from some frames of a solution."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from jostle.arrays import Array
from jostle.polylines import View
from jostle.viz.encoding import Encoder
from jostle.viz.frames import Frame
from jostle.viz.scene import Scene

MAX_DISTANCE = 0.25
"""Distance from the walls up to which bodies are inside the first view, as a fraction of the diagonal."""


@dataclass
class Scales:
    """Collects frames, and determines the scales from them.

    >>> import jostle as jo
    >>> scene = Scene(jo.solve(jo.models.rack(2), jo.Maury(), t=1.0, h=0.1))
    >>> scales, encoder = Scales(), Encoder.of(scene, small=False)
    >>> for k in range(11):
    ...     scales.take(scene.frame(k), encoder)
    >>> scales.about(encoder)["quantities"][8]["name"], scales.about(encoder)["quantities"][8]["recipe"]
    ('y', {'part': 'x', 'axis': 1, 'overSurface': False})
    """

    samples: dict[str, list[Array]] = field(default_factory=dict)
    strongest: list[float] = field(default_factory=list)
    """The largest contact force of each frame that has contacts."""
    radii: list[float] = field(default_factory=list)
    """The median radius of each frame that has bodies."""

    def take(self, frame: Frame, encoder: Encoder) -> None:
        """Add a frame."""
        for quantity in encoder.quantities:
            self.samples.setdefault(quantity.name, []).append(quantity.sample(frame))
        strongest = float(np.abs(frame.bars.force).max(initial=0.0))
        if strongest:
            self.strongest.append(strongest)
        if len(frame.radii):
            self.radii.append(float(np.median(frame.radii)))

    def about(self, encoder: Encoder) -> dict[str, Any]:
        """The scales and the initial view, for the page."""
        home = _home(encoder.scene)
        return {
            "quantities": [
                {
                    "name": quantity.name,
                    "label": quantity.title(encoder.scene),
                    "range": quantity.range(self.samples.get(quantity.name, [])),
                    "beyond": quantity.most < 100.0,
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
