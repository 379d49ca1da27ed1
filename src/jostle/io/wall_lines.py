"""The walls and the rods as lines for VTK, stored after the points and the contacts of each frame.

Unbounded walls are drawn slightly beyond the bodies of the frame, up to the next corners of a grid whose spacing is a
power of two. The lines therefore depend only on the frame, and a resumed file is identical to an uninterrupted one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import DTypeLike

from jostle._tools.arrays import Array, Integers
from jostle.sets.shapes import Shape, View, holding_walls, outlines, unbounded

CIRCLE_POINTS = 24
"""Number of points of a circle."""
WALL_HEIGHT = 2.0
"""Half the height of a wall on a line, in multiples of the largest radius."""


class WallLines(NamedTuple):
    """Polylines: points (w, 3), the numbers of the points along each line, and the end of each line in that list."""

    points: Array
    joined: Integers
    ends: Integers


NO_LINES = WallLines(np.zeros((0, 3)), np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))
"""Lines of a scene without walls."""


def rod_lines(ends: Array, dtype: DTypeLike) -> WallLines:
    """Rods with these ends (m, 2, d) as lines; those of absent bodies, at NaN, are left out.

    >>> rod_lines(np.array([[[0.0, 1.0], [2.0, 1.0]], [[0.0, 1.0], [np.nan, np.nan]]]), float).points.tolist()
    [[0.0, 1.0, 0.0], [2.0, 1.0, 0.0]]
    """
    there = ends[np.isfinite(ends).all(axis=(1, 2))]
    points = np.zeros((2 * len(there), 3), dtype=dtype)
    points[:, : ends.shape[2]] = there.reshape(-1, ends.shape[2])
    return WallLines(points, np.arange(len(points)), np.arange(2, len(points) + 1, 2))


def together(first: WallLines, second: WallLines) -> WallLines:
    """The lines of both."""
    if len(second.points) == 0:
        return first
    return WallLines(
        np.concatenate([first.points, second.points]),
        np.concatenate([first.joined, second.joined + len(first.points)]),
        np.concatenate([first.ends, second.ends + len(first.joined)]),
    )


class WallDrawer:
    """Draws the walls of successive frames; lines that do not change are not computed again.

    >>> floor = (Shape("plane", np.array([[0.0, 1.0], [0.0, 0.0]])),)
    >>> lines = WallDrawer(float).lines(floor, np.array([[0.5, 1.0], [3.0, 1.0]]), np.ones(2))
    >>> lines.points.tolist(), lines.joined.tolist(), lines.ends.tolist()
    ([[-8.0, 0.0, 0.0], [8.0, 0.0, 0.0]], [0, 1], [2])
    """

    def __init__(self, dtype: DTypeLike) -> None:
        self._dtype = dtype
        self._last: tuple[Sequence[Shape], bytes, WallLines] = ((), b"", NO_LINES)

    def lines(self, shapes: Sequence[Shape], x: Array, radii: Array) -> WallLines:
        """The lines of the walls around bodies at x (n, d)."""
        d, tallest = x.shape[1], float(radii.max(initial=0.0))
        if not shapes or shapes[0].points.shape[1] != d:  # no walls, or each entry of q is drawn as a point
            return NO_LINES
        view = View(np.zeros(d), np.ones(d))
        if unbounded(shapes):
            view = _snapped(holding_walls(shapes, View.empty(d).holding(x - tallest).holding(x + tallest)))
        size = np.array([*view.lower, *view.upper, tallest if d == 1 else 0.0]).tobytes()
        known, size_known, lines = self._last
        if shapes is not known or size != size_known:
            lines = _drawn(shapes, view, WALL_HEIGHT * (tallest or 1.0), self._dtype)
            self._last = shapes, size, lines
        return lines


def _drawn(shapes: Sequence[Shape], view: View, half: float, dtype: DTypeLike) -> WallLines:
    lines = [line.points for line in outlines(shapes, view, CIRCLE_POINTS)]
    if len(view.lower) == 1:
        lines = [np.array([[line[0, 0], -half], [line[0, 0], half]]) for line in lines]
    if not lines:
        return NO_LINES
    flat = np.concatenate(lines)
    points, joined = np.unique(np.pad(flat, ((0, 0), (0, 3 - flat.shape[1]))), axis=0, return_inverse=True)
    return WallLines(points.astype(dtype), joined.ravel(), np.cumsum([len(line) for line in lines]))


def _snapped(view: View) -> View:
    """The smallest box that contains the view on a grid whose spacing is the diagonal rounded up to a power of two."""
    lower, upper = (np.where(np.isfinite(end), end, 0.0) for end in view)
    size = float(np.linalg.norm(upper - lower))
    spacing = 2.0 ** np.ceil(np.log2(size)) if size > 0.0 else 1.0
    return View(spacing * np.floor(lower / spacing), spacing * np.ceil(upper / spacing))
