"""Small drawings as SVG text, without matplotlib: the thumbnails of results in notebooks.

Lines have the colour of the text around them, so that a drawing reads on light and on dark pages.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from html import escape

import numpy as np

from jostle.arrays import Array, Integers
from jostle.colours import LIGHT
from jostle.polylines import View

WIDTH, HEIGHT = 260.0, 180.0
"""Largest size of a drawing in pixels."""
MARGIN = 5.0
"""Margin around a drawing in pixels."""
MAX_DISCS = 1000
"""Largest number of discs in a drawing; of more, a random sample is drawn."""
MAX_LINES = 1000
"""Largest number of lines in a drawing; of more, an even selection is drawn."""
MAX_CELLS = 40
"""Largest number of cells of a field along an axis; of more, an even selection is drawn."""
MIN_SIDE = 24.0
"""Smallest width and height of a drawing in pixels."""
FLATTEST = 1e-3
"""Smallest side of what is drawn, as a fraction of the longest."""
LEVELS = 8
"""Number of tones of a field."""
MIN_DIAMETER = 1.5
"""Smallest diameter of a disc in pixels."""
INK, BODY = "currentColor", LIGHT.bodies[3]
"""Colours of walls, which is that of the text, and of bodies, which is readable on white and on black."""


def selection(count: int, most: int) -> Integers:
    """At most `most` of the numbers 0, ..., count - 1, evenly chosen.

    >>> selection(3, 10).tolist(), selection(10, 4).tolist()
    ([0, 1, 2], [0, 3, 6, 9])
    """
    return np.arange(count) if count <= most else np.linspace(0, count - 1, most).astype(np.int64)


def sample(count: int) -> Integers:
    """The bodies that are drawn: all of them, or about MAX_DISCS that are drawn at random, always the same ones.

    >>> sample(3).tolist(), len(sample(10**6)) <= MAX_DISCS
    ([0, 1, 2], True)
    """
    if count <= MAX_DISCS:
        return np.arange(count)
    return np.unique(np.random.default_rng(0).integers(count, size=MAX_DISCS))


@dataclass
class Sketch:
    """A drawing of a part of the plane.

    >>> sketch = Sketch.of(View(np.zeros(2), np.array([2.0, 1.0])))
    >>> sketch.discs(np.array([[1.0, 0.5]]), np.array([0.5]))
    >>> sketch.svg().startswith('<svg width="260" height="135"'), "M130.0 67.5h0" in sketch.svg()
    (True, True)
    """

    low: Array
    scale: float
    """Pixels of a unit of length."""
    size: tuple[float, float]
    """Width and height in pixels."""
    margin: Array
    """(2,) pixels around the view, to the left and below."""
    parts: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, view: View) -> Sketch | None:
        """A drawing of the view, as large as it may be; None if there is nothing to show."""
        low, high = (np.asarray(end, dtype=float)[:2] for end in (view.lower, view.upper))
        with np.errstate(all="ignore"):  # nothing, infinite places, or places too far apart for a difference
            sides = high - low
            longest = float(sides.max())
            if not (np.isfinite(sides).all() and (sides >= 0.0).all()):
                return None
            if longest == 0.0:
                low, sides, longest = low - 0.5, sides + 1.0, 1.0
            most = np.array([WIDTH, HEIGHT]) - 2.0 * MARGIN
            scale = float((most / np.maximum(sides, FLATTEST * longest)).min())
        if not (np.isfinite(scale) and scale > 0.0):
            return None
        size = np.maximum(sides * scale + 2.0 * MARGIN, MIN_SIDE)
        return cls(low, scale, (float(size[0]), float(size[1])), (size - sides * scale) / 2.0)

    def pixels(self, points: Array) -> Array:
        """(m, 2) places in the drawing, counted from its upper left corner."""
        x, y = ((np.asarray(points, dtype=float)[:, :2] - self.low) * self.scale + self.margin).T
        return np.stack([x, self.size[1] - y], axis=1)

    def discs(self, x: Array, radii: Array, colour: str = BODY) -> None:
        """Discs at x (m, 2), one path for all of a size: a dot of a round pen is a disc."""
        rows = np.flatnonzero(np.isfinite(x[:, :2]).all(axis=1))
        places = self.pixels(x[rows])
        across = np.maximum(np.round(4.0 * self.scale * radii[rows]) / 2.0, MIN_DIAMETER)
        for diameter in np.unique(across):
            dots = "".join(f"M{a:.1f} {b:.1f}h0" for a, b in places[across == diameter])
            self.parts.append(
                f'<path d="{dots}" stroke="{colour}" stroke-width="{diameter:g}" stroke-linecap="round" fill="none"/>'
            )

    def lines(self, lines: Sequence[Array], colour: str = INK, width: float = 1.2, dashed: bool = False) -> None:
        """Polylines, (m, 2) points each."""
        chosen = [lines[int(k)] for k in selection(len(lines), MAX_LINES)]
        path = "".join(_polyline(self.pixels(points)) for points in chosen if len(points) and np.isfinite(points).all())
        if path:
            pen = f'stroke="{colour}" stroke-width="{width:g}" stroke-linejoin="round"'
            pen += ' stroke-dasharray="4 3"' * dashed
            self.parts.append(f'<path d="{path}" {pen} fill="none"/>')

    def cells(self, values: Array, lower: Array, side: float) -> None:
        """A field of square cells (nx, ny): the larger a value, the stronger its tone."""
        columns, rows = (selection(count, MAX_CELLS) for count in values.shape)
        some = values[np.ix_(columns, rows)]
        highest = float(some[np.isfinite(some)].max(initial=0.0))
        if highest <= 0.0:
            return
        step = side * np.array(values.shape) / np.array(some.shape)
        level = np.ceil(LEVELS * np.where(np.isfinite(some), some, 0.0) / highest)
        wide, tall = step * self.scale
        for tone in range(1, LEVELS + 1):
            corners = self.pixels(lower + np.argwhere(level == tone) * step)
            path = "".join(f"M{a:.1f} {b:.1f}h{wide:.1f}v{-tall:.1f}h{-wide:.1f}z" for a, b in corners)
            if path:
                self.parts.append(f'<path d="{path}" fill="{BODY}" fill-opacity="{tone / LEVELS:g}"/>')

    def text(self, place: Array, words: str, anchor: str = "start") -> None:
        """Words at a place; `anchor` says which part of them is there: start, middle or end."""
        [[x, y]] = self.pixels(np.asarray(place, dtype=float)[None])
        self.parts.append(
            f'<text x="{x:.1f}" y="{y:.1f}" font-size="10" fill="{INK}" text-anchor="{anchor}">{escape(words)}</text>'
        )

    def svg(self) -> str:
        """The drawing as text."""
        width, height = self.size
        shape = f'width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.1f} {height:.1f}"'
        return f'<svg {shape} role="img">{"".join(self.parts)}</svg>'


def _polyline(points: Iterable[Array]) -> str:
    return "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
