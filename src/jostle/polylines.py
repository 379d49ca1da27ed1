"""Shapes of walls as polylines, as far as a view reaches: what pictures, the viewer and VTK draw."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, pairwise, product
from typing import Any, NamedTuple

import numpy as np

from jostle.arrays import Array
from jostle.shapes import BALL, BOWL, BOX, LINE, PLANE, SEGMENTS, SOLID, VESSEL, Shape

ROUND = 96
"""Points of a circle."""
MERIDIANS = 12
"""Outlines of a vessel, around its axis."""
ON_THE_EDGE = 1e-9
"""A corner this close to a plane, as a fraction of the diagonal of the view, lies on it."""
WALL, WIRE, CELL = "wall", "wire", "cell"


class Outline(NamedTuple):
    """One line of a wall: the points (m, d) of a polyline; in dimension 1, the one point where the wall is."""

    points: Array
    kind: str = WALL
    """'wall', a line; 'wire', a line of a curved wall in space; 'solid', a closed curve around an obstacle in
    the plane; 'cell', the ends of a periodic space."""


class View(NamedTuple):
    """A box (lower, upper) in dimension d, as far as things are shown."""

    lower: Array
    upper: Array

    @property
    def centre(self) -> Array:
        return np.asarray((self.lower + self.upper) / 2.0)

    @property
    def size(self) -> float:
        """The length of its diagonal."""
        return float(np.linalg.norm(self.upper - self.lower))

    @classmethod
    def empty(cls, d: int) -> View:
        """The view that holds nothing yet."""
        return cls(np.full(d, np.inf), np.full(d, -np.inf))

    def holding(self, points: Array) -> View:
        """The smallest box that also holds these points (m, d); NaN and infinity do not count."""
        low, high = (np.where(np.isfinite(points), points, no) for no in (np.inf, -np.inf))
        return View(
            np.minimum(self.lower, low.min(axis=0, initial=np.inf)),
            np.maximum(self.upper, high.max(axis=0, initial=-np.inf)),
        )

    def wider(self, part: float) -> View:
        """The same with a margin all around, a part of the diagonal; where it is infinite it stays so."""
        sides = self.upper - self.lower
        margin = part * (float(np.linalg.norm(sides[np.isfinite(sides)])) or 1.0)
        return View(self.lower - margin, self.upper + margin)


def outlines(shapes: Sequence[Shape], view: View, around: int = ROUND) -> list[Outline]:
    """The polylines of all shapes in the dimension of the view; walls without an end are cut where the view ends.

    `around` is the number of points of a circle.

    >>> import jostle as jo
    >>> from jostle.shapes import shapes_of
    >>> view = View(np.array([0.0, 0.0]), np.array([4.0, 3.0]))
    >>> [line.points.tolist() for line in outlines(shapes_of(jo.HalfSpace([0.0, 1.0], offset=1.0), 0.0), view)]
    [[[0.0, 1.0], [4.0, 1.0]]]
    >>> walls = shapes_of(jo.Outside([1.0, 1.0], 0.5) & jo.Box([0, 0], [4, np.inf]), 0.0)
    >>> [line.kind for line in outlines(walls, view)]
    ['solid', 'wall', 'wall', 'wall']
    """
    d = len(view.lower)
    return [line for shape in shapes if shape.points.shape[1] == d for line in _lines(shape, view, around)]


def holding_walls(shapes: Sequence[Shape], view: View) -> View:
    """The view, made larger so that every wall is in it, or the nearest point of one that has no end.

    >>> import jostle as jo
    >>> from jostle.shapes import shapes_of
    >>> ball = View(np.array([0.0, 1.0]), np.array([0.0, 1.0]))
    >>> wide = holding_walls(shapes_of(jo.HalfSpace([0.0, 1.0]) & jo.Box([-2, -np.inf], [2, np.inf]), 0.0), ball)
    >>> wide.lower.tolist(), wide.upper.tolist()
    ([-2.0, 0.0], [2.0, 1.0])
    """
    d = len(view.lower)
    for shape in shapes:
        if shape.points.shape[1] == d:
            view = view.holding(_extremes(shape, view))
    return view


def enclosure(shapes: Sequence[Shape], d: int) -> View:
    """The box of all walls that end somewhere, without obstacles; infinite along an axis that has no two of them.

    >>> import jostle as jo
    >>> from jostle.shapes import shapes_of
    >>> enclosure(shapes_of(jo.Box([0, 0], [3, np.inf]) & jo.HalfSpace([1.0, 0.0]), 0.0), 2)
    View(lower=array([  0., -inf]), upper=array([ 3., inf]))
    """
    box, somewhere = View.empty(d), View(np.zeros(d), np.ones(d))
    for shape in shapes:
        if shape.points.shape[1] == d and shape.kind not in (PLANE, BALL, SOLID):
            box = box.holding(_extremes(shape, somewhere))
    closed = box.lower < box.upper
    return View(np.where(closed, box.lower, -np.inf), np.where(closed, box.upper, np.inf))


def unbounded(shapes: Sequence[Shape]) -> bool:
    """Whether a wall is infinite, so that the part of it that is drawn depends on the view.

    >>> unbounded([Shape("box", np.array([[0.0, 0.0], [1.0, np.inf]]))])
    True
    """
    return any(shape.kind == PLANE or not np.isfinite(shape.points).all() for shape in shapes)


def _extremes(shape: Shape, view: View) -> Array:
    """(m, d) points that a view must hold to show the shape; of a plane, the one nearest to the centre of the view."""
    points = shape.points
    if shape.kind == PLANE:
        return np.asarray(view.centre[None] + (points[1, 0] - points[0] @ view.centre) * points[0])
    if shape.kind in (BALL, BOWL):
        return np.asarray(points[0] + np.array([[-1.0], [1.0]]) * points[1, 0])
    if shape.kind == VESSEL:
        return np.concatenate([line.points for line in _lines(shape, view, ROUND)])
    return points


def _lines(shape: Shape, view: View, around: int) -> Iterator[Outline]:
    kind, points = shape
    d = points.shape[1]
    if kind == PLANE:
        yield from _cut(points[0], float(points[1, 0]), view)
    elif kind == BOX:
        yield from sides(points[0], points[1], view, WALL)
    elif kind in (BALL, BOWL):
        style = WIRE if d == 3 else SOLID if kind == BALL and d == 2 else WALL
        yield from (Outline(line, style) for line in _round(points[0], float(points[1, 0]), around))
    elif kind == SEGMENTS:
        yield from map(Outline, points.reshape(-1, 2, d))
    elif kind == SOLID:
        yield Outline(np.concatenate([points, points[:1]]), SOLID)
    elif kind == VESSEL:
        yield from (Outline(line, WIRE) for line in _revolved(points[0], points[1], points[2:, :2], around))
    elif kind == LINE:
        yield Outline(points)


def _cut(unit: Array, offset: float, view: View) -> list[Outline]:
    """Where a plane cuts the edges of the view: a point, a segment, a polygon."""
    d = len(unit)
    if d == 1:
        return [Outline(np.array([[offset * unit[0]]]))]
    corners = np.array(list(product(*zip(view.lower, view.upper, strict=True))))
    height = corners @ unit - offset
    height[np.abs(height) <= ON_THE_EDGE * view.size] = 0.0
    ends = [corners[height == 0.0]]
    for a, b in combinations(range(len(corners)), 2):
        if np.count_nonzero(corners[a] != corners[b]) == 1 and height[a] * height[b] < 0.0:
            s = height[a] / (height[a] - height[b])
            ends.append((corners[a] + s * (corners[b] - corners[a]))[None])
    points = np.unique(np.concatenate(ends), axis=0)
    if len(points) < d:
        return []
    if d == 2:
        return [Outline(points[[0, -1]])]
    across, other = np.linalg.svd(unit[None])[2][1:]
    from_middle = points - points.mean(axis=0)
    turned = points[np.argsort(np.arctan2(from_middle @ other, from_middle @ across))]
    return [Outline(np.concatenate([turned, turned[:1]]))]


def sides(lower: Array, upper: Array, view: View, kind: str) -> list[Outline]:
    """The walls of a box: points, segments, or edges where two walls meet (or all of a wall that meets no other).

    >>> view = View(np.zeros(2), np.ones(2))
    >>> [line.points.tolist() for line in sides(np.array([0, -np.inf]), np.array([np.inf, np.inf]), view, WALL)]
    [[[0.0, 0.0], [0.0, 1.0]]]
    """
    d = len(lower)
    walls = [
        (axis, end) for axis, ends in enumerate(zip(lower, upper, strict=True)) for end in ends if np.isfinite(end)
    ]
    low, high = np.where(np.isfinite(lower), lower, view.lower), np.where(np.isfinite(upper), upper, view.upper)
    if d < 3:
        faces = [_face(low, high, {axis: end}) for axis, end in walls]
        return [Outline(face, kind) for face in faces]
    meeting = [dict(both) for both in combinations(walls, 2) if both[0][0] != both[1][0]]
    if meeting:
        return [Outline(_face(low, high, both), kind) for both in meeting]
    return [Outline(_face(low, high, {axis: end})[[0, 1, 3, 2, 0]], kind) for axis, end in walls]


def _face(low: Array, high: Array, fixed: dict[int, Any]) -> Array:
    """The corners of the part of a box where some coordinates are fixed."""
    ends = [(fixed[axis],) if axis in fixed else (low[axis], high[axis]) for axis in range(len(low))]
    return np.array(list(product(*ends)), dtype=float)


def _round(centre: Array, radius: float, around: int) -> Iterator[Array]:
    """Two points on a line, the circle in the plane, three great circles in space."""
    if len(centre) == 1:
        yield from ((centre - radius)[None], (centre + radius)[None])
    for a, b in combinations(np.eye(len(centre)), 2):
        yield centre + radius * _ring(a, b, around)


def _ring(a: Array, b: Array, around: int) -> Array:
    """cos a + sin b, closed."""
    angle = np.linspace(0.0, 2.0 * np.pi, around + 1)
    return np.asarray(np.outer(np.cos(angle), a) + np.outer(np.sin(angle), b))


def _revolved(base: Array, axis: Array, profile: Array, around: int) -> list[Array]:
    """The rings at the points of a profile (radius, height), and its meridians."""
    first, second = np.linalg.svd(axis[None])[2][1:]
    ring = _ring(first, second, around)
    rings = [base + rho * ring + z * axis for rho, z in profile if rho > 0.0]
    turn = ring[: around : max(around // MERIDIANS, 1)]
    return rings + [base + np.outer(profile[:, 0], e) + np.outer(profile[:, 1], axis) for e in turn]


def segments(lines: Sequence[Outline], d: int) -> Array:
    """(k, 2, d) the pieces of all outlines.

    >>> segments([Outline(np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 2.0]]))], 2).tolist()
    [[[0.0, 0.0], [1.0, 0.0]], [[1.0, 0.0], [1.0, 2.0]]]
    """
    return np.array([ends for line in lines for ends in pairwise(line.points)]).reshape(-1, 2, d)
