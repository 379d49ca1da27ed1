"""Walls as polylines: what the sets of a problem look like, for pictures and for the viewer.

Walls without an end are shown as far as a given box reaches. Sets that have no shape in the space of one body, such as
the constraints of a user, are left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import singledispatch
from itertools import combinations, pairwise, product
from typing import Any, NamedTuple

import numpy as np

from jostle.arrays import Array, at
from jostle.sets.balls import Line
from jostle.sets.base import ConstraintSet, Intersection
from jostle.sets.polygons import Polygons
from jostle.sets.segments import Segments
from jostle.sets.vessels import Vessel
from jostle.sets.walls import Box, HalfSpace, Inside, Outside

ROUND = 96
"""Points of a circle."""
MERIDIANS = 12
"""Outlines of a vessel, around its axis."""
ON_THE_EDGE = 1e-9

PLACES = ("normal", "offset", "lower", "upper", "centre", "radius", "ends", "vertices", "profile", "axis", "base")
"""The attributes of sets that say where their walls are; any may be a function of time."""
WALL, SOLID, CELL = "wall", "solid", "cell"


class Outline(NamedTuple):
    """One line of a wall: the points (m, d) of a polyline; in dimension 1, the one point where the wall is."""

    points: Array
    kind: str = WALL
    """'wall', a line; 'solid', a closed curve in the plane around an obstacle; 'cell', the ends of a periodic space."""


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


def parts(within: ConstraintSet | None) -> tuple[ConstraintSet, ...]:
    """The sets of an intersection; none for a problem that is not known.

    >>> import jostle as jo
    >>> parts(jo.Balls([1.0]) & jo.Box([0.0], [9.0]))
    (Balls, Box)
    """
    if isinstance(within, Intersection):
        return tuple(part for Q in within.sets for part in parts(Q))
    return () if within is None else (within,)


def outlines(within: ConstraintSet | None, t: float, view: View) -> list[Outline]:
    """The walls at time t, as far as the view reaches.

    >>> import jostle as jo
    >>> view = View(np.array([0.0, 0.0]), np.array([4.0, 3.0]))
    >>> [line.points.tolist() for line in outlines(jo.HalfSpace([0.0, 1.0], offset=1.0), 0.0, view)]
    [[[0.0, 1.0], [4.0, 1.0]]]
    >>> [line.kind for line in outlines(jo.Outside([1.0, 1.0], 0.5) & jo.Box([0, 0], [4, np.inf]), 0.0, view)]
    ['solid', 'wall', 'wall', 'wall']
    """
    d = len(view.lower)
    return [line for Q in parts(within) for line in _lines(Q, t, view) if line.points.shape[1] == d]


def holding_walls(within: ConstraintSet | None, t: float, view: View) -> View:
    """The view, made larger so that every wall is in it, or the nearest point of one that has no end.

    >>> import jostle as jo
    >>> ball = View(np.array([0.0, 1.0]), np.array([0.0, 1.0]))
    >>> wide = holding_walls(jo.HalfSpace([0.0, 1.0]) & jo.Box([-2, -np.inf], [2, np.inf]), 0.0, ball)
    >>> wide.lower.tolist(), wide.upper.tolist()
    ([-2.0, 0.0], [2.0, 1.0])
    """
    d = len(view.lower)
    for Q in parts(within):
        if isinstance(Q, HalfSpace):
            unit, offset = _plane(Q, t)
            points = [view.centre + (offset - unit @ view.centre) * unit] if len(unit) == d else []
        elif isinstance(Q, Box):
            points = list(_ends(Q, t)) if Q.dimension == d else []
        else:
            points = [point for line in outlines(Q, t, view) for point in line.points]
        view = view.holding(np.array(points).reshape(-1, d))
    return view


def enclosure(within: ConstraintSet | None, t: float, d: int) -> View:
    """The box of all walls that end somewhere, without obstacles; infinite along an axis that has no two of them.

    >>> import jostle as jo
    >>> enclosure(jo.Box([0, 0], [3, np.inf]) & jo.HalfSpace([1.0, 0.0]), 0.0, 2)
    View(lower=array([  0., -inf]), upper=array([ 3., inf]))
    """
    nothing = View(np.full(d, np.inf), np.full(d, -np.inf))
    box, somewhere = nothing, View(np.zeros(d), np.ones(d))
    for Q in parts(within):
        if isinstance(Q, Box) and Q.dimension == d:
            box = box.holding(np.stack(_ends(Q, t)))
        elif not isinstance(Q, HalfSpace | Box):
            lines = [line.points for line in outlines(Q, t, somewhere) if line.kind != SOLID]
            box = box.holding(np.concatenate([np.zeros((0, d)), *lines]))
    closed = box.lower < box.upper
    return View(np.where(closed, box.lower, -np.inf), np.where(closed, box.upper, np.inf))


def moving(within: ConstraintSet | None) -> bool:
    """Do any of the walls that can be drawn move? (Bodies that swell do not count.)

    >>> import jostle as jo
    >>> moving(jo.Box([0.0], [1.0], radii=lambda t: [t])), moving(jo.HalfSpace([1.0], offset=lambda t: t))
    (False, True)
    """
    return any(callable(getattr(Q, name, None)) for Q in parts(within) for name in PLACES)


@singledispatch
def _lines(Q: ConstraintSet, t: float, view: View) -> list[Outline]:
    return []


@_lines.register
def _(Q: HalfSpace, t: float, view: View) -> list[Outline]:
    unit, offset = _plane(Q, t)
    return [] if len(unit) != len(view.lower) else _cut(unit, offset, view)


def _plane(Q: HalfSpace, t: float) -> tuple[Array, float]:
    normal = at(Q.normal, t).ravel()
    size = float(np.linalg.norm(normal))
    return normal / size, float(at(Q.offset, t).ravel()[0]) / size


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
    around = points[np.argsort(np.arctan2(from_middle @ other, from_middle @ across))]
    return [Outline(np.concatenate([around, around[:1]]))]


def _ends(Q: Box, t: float) -> tuple[Array, Array]:
    """(d,) lower and upper, infinite on open sides."""
    lower, upper = (np.broadcast_to(at(ends, t), (Q.dimension,)) for ends in (Q.lower, Q.upper))
    return lower, upper


@_lines.register
def _(Q: Box, t: float, view: View) -> list[Outline]:
    return [] if Q.dimension != len(view.lower) else sides(*_ends(Q, t), view, WALL)


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


@_lines.register
def _(Q: Line, t: float, view: View) -> list[Outline]:
    return [Outline(np.array([[end]])) for end in (Q.lower, Q.upper) if np.isfinite(end)]


@_lines.register
def _(Q: Outside, t: float, view: View) -> list[Outline]:
    centres = np.atleast_2d(at(Q.centre, t))
    radii = np.broadcast_to(at(Q.radius, t), (len(centres),))
    d = centres.shape[1]
    kind = SOLID if d == 2 and not isinstance(Q, Inside) else WALL
    shapes = {1: _two_points, 2: _circles, 3: _circles}
    return [Outline(points, kind) for c, r in zip(centres, radii, strict=True) for points in shapes[d](c, float(r))]


def _two_points(centre: Array, radius: float) -> Iterator[Array]:
    yield from ((centre - radius)[None], (centre + radius)[None])


def _circles(centre: Array, radius: float) -> Iterator[Array]:
    """The circle in the plane, three great circles in space."""
    axes = np.eye(len(centre))
    for a, b in combinations(axes, 2):
        yield centre + radius * _ring(a, b)


def _ring(a: Array, b: Array) -> Array:
    """cos a + sin b, closed."""
    angle = np.linspace(0.0, 2.0 * np.pi, ROUND + 1)
    return np.asarray(np.outer(np.cos(angle), a) + np.outer(np.sin(angle), b))


@_lines.register
def _(Q: Segments, t: float, view: View) -> list[Outline]:
    return [Outline(ends) for ends in at(Q.ends, t).reshape(-1, 2, 2)]


@_lines.register
def _(Q: Polygons, t: float, view: View) -> list[Outline]:
    vertices: Any = Q.vertices(t) if callable(Q.vertices) else Q.vertices
    several = [vertices] if np.ndim(vertices[0][0]) == 0 else vertices
    closed = [np.concatenate([polygon, polygon[:1]]) for polygon in (np.asarray(v, dtype=float) for v in several)]
    return [Outline(polygon, SOLID) for polygon in closed]


@_lines.register
def _(Q: Vessel, t: float, view: View) -> list[Outline]:
    axis, base, profile = (at(value, t) for value in (Q.axis, Q.base, Q.profile))
    axis = axis / np.linalg.norm(axis)
    across = np.linalg.svd(axis[None])[2][1:]
    ring = _ring(*across)
    rings = [base + rho * ring + z * axis for rho, z in profile if rho > 0.0]
    turn = _ring(*across)[: ROUND : ROUND // MERIDIANS]
    meridians = [base + np.outer(profile[:, 0], e) + np.outer(profile[:, 1], axis) for e in turn]
    return [Outline(points) for points in rings + meridians]


def segments(lines: list[Outline], d: int) -> Array:
    """(k, 2, d) the pieces of all outlines.

    >>> segments([Outline(np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 2.0]]))], 2).tolist()
    [[[0.0, 0.0], [1.0, 0.0]], [[1.0, 0.0], [1.0, 2.0]]]
    """
    return np.array([ends for line in lines for ends in pairwise(line.points)]).reshape(-1, 2, d)
