"""Shapes of walls, as a few points that a file can store, and the lines and surfaces by which pictures show them.

A shape is a kind and points of the space of one body, (m, d):

    plane      the unit normal n, and (offset, 0, ...): the wall of the half-space n . x >= offset
    box        the lower and the upper corner, infinite where the box is open
    ball       the centre, and (radius, 0, ...): a round obstacle
    bowl       the same points: a round container
    segments   the two ends of each straight wall, one wall after the other
    line       the points of a polyline
    solid      the corners of a polygon in the plane that is an obstacle
    vessel     the base, the axis, and (radius, height, 0) of each point of the profile, in space

`OUTLINES` says for each class of sets which shapes it has. A package adds a class of its own with an entry point of the
group "jostle.outlines", named after the class, and a script with ``OUTLINES.register("Torus", function)``: the function
takes the set and the time, and returns a list of shapes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import chain, combinations, pairwise, product
from typing import Any, NamedTuple

import numpy as np

from jostle._tools.arrays import Array, at
from jostle._tools.plugins import Registry, is_of_jostle
from jostle.errors import InvalidValue
from jostle.sets.balls import Line
from jostle.sets.base import ConstraintSet, parts
from jostle.sets.joints import Joints
from jostle.sets.polygons import Polygons
from jostle.sets.presence import Presence
from jostle.sets.vessels import Vessel
from jostle.sets.walls import Box, HalfSpace, Inside, Outside, Segments, Walls

PLANE, BOX, BALL, BOWL, SEGMENTS, LINE, SOLID, VESSEL = KINDS = (
    "plane", "box", "ball", "bowl", "segments", "line", "solid", "vessel",
)  # fmt: skip
FEWEST = {PLANE: 2, BOX: 2, BALL: 2, BOWL: 2, SEGMENTS: 2, LINE: 1, SOLID: 3, VESSEL: 4}
"""The smallest number of points of each kind."""
PAIRS = (PLANE, BOX, BALL, BOWL)
"""Kinds that have exactly two points."""
PLACES = ("normal", "offset", "lower", "upper", "centre", "radius", "ends", "vertices", "profile", "axis", "base")
"""The attributes of the sets of jostle that say where their walls are; any may be a function of time."""


class Shape(NamedTuple):
    """A wall, or several straight walls, for files and pictures.

    Parameters
    ----------
    kind : str
        Kind of the shape: "plane", "box", "ball", "bowl", "segments", "line", "solid" or "vessel".
    points : array, shape (m, d)
        Points in the space of one body; their meaning depends on the kind, see `jostle.sets.outlines`.

    Examples
    --------
    >>> Shape("ball", np.array([[3.0, 1.0], [0.5, 0.0]])).kind
    'ball'
    """

    kind: str
    points: Array


Outliner = Callable[[Any, float], Sequence[Shape]]
"""The shapes of a set at a time."""


def _is_function(name: str, item: Any) -> None:
    if not callable(item):
        raise InvalidValue(f"the outline of {name} must be a function (set, t) -> shapes, not {item!r}")


OUTLINES: Registry[Outliner] = Registry(
    "jostle.outlines",
    "outline",
    {
        name: f"jostle.sets.outlines:{function}"
        for name, function in (
            ("HalfSpace", "half_space"), ("Box", "box"), ("Line", "box"), ("Outside", "balls"), ("Inside", "balls"),
            ("Segments", "segments"), ("Polygons", "polygons"), ("Vessel", "vessel"),
        )
    },
    check=_is_function,
)  # fmt: skip
"""The functions that give the shapes of sets, by the name of the class."""


def shapes_of(within: ConstraintSet | None, t: float) -> tuple[Shape, ...]:
    """The shapes of all walls at time t; sets that have none, such as the constraints of a user, are left out."""
    return tuple(chain.from_iterable(_shapes(Q, t) for Q in parts(within)))


def may_move(within: ConstraintSet | None) -> bool:
    """Whether walls that have a shape may move; bodies that swell do not count."""
    return any(_may_move(Q) for Q in parts(within) if _outliner(Q) is not None)


def between(before: Sequence[Shape], after: Sequence[Shape], part: float) -> tuple[Shape, ...]:
    """The shapes on the way from one saved time to the next, 0 <= part <= 1: points move straight on, as bodies do.

    >>> way = between([Shape("ball", np.zeros((2, 2)))], [Shape("ball", np.ones((2, 2)))], 0.25)
    >>> way[0].points.tolist()
    [[0.25, 0.25], [0.25, 0.25]]
    """
    nearer = before if part < 0.5 else after
    if [(one.kind, one.points.shape) for one in before] != [(one.kind, one.points.shape) for one in after]:
        return tuple(nearer)
    return tuple(_between(*shapes, part) for shapes in zip(before, after, nearer, strict=True))


def _between(before: Shape, after: Shape, nearer: Shape, part: float) -> Shape:
    ends = (before.points, after.points)
    with np.errstate(invalid="ignore"):  # open sides of boxes are infinite
        points = (1.0 - part) * ends[0] + part * ends[1]
    points = np.where(np.isfinite(points), points, nearer.points)
    if before.kind in (PLANE, VESSEL):
        row = 0 if before.kind == PLANE else 1
        size = float(np.linalg.norm(points[row]))
        points[row] = points[row] / size if size > 0.0 else nearer.points[row]
    return Shape(before.kind, points)


def same(one: Sequence[Shape], other: Sequence[Shape]) -> bool:
    """Whether two sequences of shapes are the same."""
    return len(one) == len(other) and all(
        a.kind == b.kind and np.array_equal(a.points, b.points) for a, b in zip(one, other, strict=True)
    )


def _outliner(Q: ConstraintSet) -> Outliner | None:
    """What gives the shapes of a set: the function of its class, or of the nearest class that it inherits from."""
    name = next((kind.__name__ for kind in type(Q).__mro__ if kind.__name__ in OUTLINES), None)
    return None if name is None else OUTLINES.get(name)


def _may_move(Q: ConstraintSet) -> bool:
    if is_of_jostle(Q):
        return any(callable(getattr(Q, name, None)) for name in PLACES)
    return Q.moving is not False


def _shapes(Q: ConstraintSet, t: float) -> list[Shape]:
    function = _outliner(Q)
    if function is None:
        return []
    return [checked(shape, f"the outline of {type(Q).__name__} at t = {t:g}") for shape in function(Q, t)]


def checked(shape: Shape, name: str) -> Shape:
    """The shape, if it is one: of a known kind, with as many points as the kind needs, finite except in open boxes."""
    try:
        kind, points = shape
        array = np.array(points, dtype=float)
    except (TypeError, ValueError):
        raise InvalidValue(f"{name} must be shapes, (kind, points), not {shape!r}") from None
    if kind not in KINDS:
        raise InvalidValue(f"{name} has the unknown kind {kind!r}; known: {', '.join(KINDS)}")
    few = FEWEST[kind]
    count = len(array) if array.ndim == 2 else -1
    if count < few or (kind in PAIRS and count > few) or (kind == SEGMENTS and count % 2):
        raise InvalidValue(
            f"{name} has points of shape {array.shape}; a {kind} needs (m, d) with at least {few} points"
        )
    if np.isnan(array).any() or (kind != BOX and np.isinf(array).any()):
        raise InvalidValue(f"{name} has a point that is not finite")
    return Shape(kind, array)


def half_space(Q: HalfSpace, t: float) -> list[Shape]:
    normal = at(Q.normal, t).ravel()
    size = float(np.linalg.norm(normal))
    return [Shape(PLANE, np.stack([normal / size, _first(at(Q.offset, t).ravel()[0] / size, len(normal))]))]


def box(Q: Box | Line, t: float) -> list[Shape]:
    d = 1 if isinstance(Q, Line) else Q.dimension
    return [Shape(BOX, np.stack([np.broadcast_to(at(ends, t), (d,)) for ends in (Q.lower, Q.upper)]))]


def balls(Q: Outside, t: float) -> list[Shape]:
    centres = np.atleast_2d(at(Q.centre, t))
    radii, kind = np.broadcast_to(at(Q.radius, t), (len(centres),)), BOWL if isinstance(Q, Inside) else BALL
    return [Shape(kind, np.stack([c, _first(r, len(c))])) for c, r in zip(centres, radii, strict=True)]


def segments(Q: Segments, t: float) -> list[Shape]:
    ends = at(Q.ends, t).reshape(-1, 2)
    return [Shape(SEGMENTS, ends)] if len(ends) else []


def polygons(Q: Polygons, t: float) -> list[Shape]:
    vertices: Any = Q.vertices(t) if callable(Q.vertices) else Q.vertices
    several = [vertices] if np.ndim(vertices[0][0]) == 0 else vertices
    return [Shape(SOLID, np.asarray(polygon, dtype=float)) for polygon in several]


def vessel(Q: Vessel, t: float) -> list[Shape]:
    axis, base, profile = (at(value, t) for value in (Q.axis, Q.base, Q.profile))
    flat = np.column_stack([profile, np.zeros(len(profile))])
    return [Shape(VESSEL, np.concatenate([base[None], axis[None] / np.linalg.norm(axis), flat]))]


def _first(value: Any, d: int) -> Array:
    """(value, 0, ...)"""
    row = np.zeros(d)
    row[0] = value
    return row


def walls_of(within: ConstraintSet, t: float, q: Array) -> tuple[int, tuple[str, ...]]:
    """The number of walls, touched or not, and their names; a constraint of a user has an empty name.

    >>> import jostle as jo
    >>> walls_of(jo.Balls([1.0]) & jo.HalfSpace([0.0, 1.0]), 0.0, np.array([[0.0, 1.0]]))
    (1, ('plane with normal [0.0, 1.0], at offset 0',))
    """
    if not np.isfinite(q).all():
        q = Presence.of(q, np.isfinite(q).all(axis=1)).placed(q)
    names: list[str] = []
    for Q in parts(within):
        if isinstance(Q, Walls):
            names += Q.row_names
        elif isinstance(Q, Line):
            names += ["lower wall", "upper wall"]
        elif isinstance(Q, Joints):
            names += [""] * Q.constraint_count
        else:
            names += [""] * int(Q.linearise(t, q, 0.0).constraint_count)
    return len(names), tuple(names) if any(names) else ()


# Shapes of walls as polylines inside a view: what pictures, the viewer and VTK draw.


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
    """The box (lower, upper) in dimension d inside which things are shown."""

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
        """The view with a margin on all sides, a part of its diagonal; infinite sides stay infinite."""
        sides = self.upper - self.lower
        margin = part * (float(np.linalg.norm(sides[np.isfinite(sides)])) or 1.0)
        return View(self.lower - margin, self.upper + margin)


def outlines(shapes: Sequence[Shape], view: View, around: int = ROUND) -> list[Outline]:
    """The polylines of all shapes in the dimension of the view; walls without an end are cut where the view ends.

    `around` is the number of points of a circle.
    """
    d = len(view.lower)
    return [line for shape in shapes if shape.points.shape[1] == d for line in _lines(shape, view, around)]


def holding_walls(shapes: Sequence[Shape], view: View) -> View:
    """The view, made larger so that every wall is in it, or the nearest point of one that has no end."""
    d = len(view.lower)
    for shape in shapes:
        if shape.points.shape[1] == d:
            view = view.holding(_extremes(shape, view))
    return view


def enclosure(shapes: Sequence[Shape], d: int) -> View:
    """The box of all walls that end somewhere, without obstacles; infinite along an axis that has no two of them."""
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
        yield centre + radius * _ring(a, b, _full_turn(around))


def _full_turn(around: int) -> Array:
    """The angles of a closed circle of this many points."""
    return np.linspace(0.0, 2.0 * np.pi, around + 1)


def _ring(a: Array, b: Array, angle: Array) -> Array:
    """cos a + sin b at some angles."""
    return np.asarray(np.outer(np.cos(angle), a) + np.outer(np.sin(angle), b))


def _revolved(base: Array, axis: Array, profile: Array, around: int) -> list[Array]:
    """The rings at the points of a profile (radius, height), and its meridians."""
    first, second = np.linalg.svd(axis[None])[2][1:]
    ring = _ring(first, second, _full_turn(around))
    rings = [base + rho * ring + z * axis for rho, z in profile if rho > 0.0]
    turn = ring[: around : max(around // MERIDIANS, 1)]
    return rings + [base + np.outer(profile[:, 0], e) + np.outer(profile[:, 1], axis) for e in turn]


def line_segments(lines: Sequence[Outline], d: int) -> Array:
    """(k, 2, d) the pieces of all outlines."""
    return np.array([ends for line in lines for ends in pairwise(line.points)]).reshape(-1, 2, d)


# Curved walls in space as surfaces of revolution: vessels, balls and bowls, which pictures show as glass.


LATITUDES = 25
"""Points of the profile of a ball, from pole to pole."""
SMOOTH_EDGE = 0.7
"""Where the cosine of the angle between two pieces of a profile is larger, the surface looks smooth."""


class Revolved(NamedTuple):
    """A profile (radius, height), (m, 2), that turns around an axis, a unit vector, through the base."""

    base: Array
    axis: Array
    profile: Array


class Patches(NamedTuple):
    """Quadrilaterals of a surface: rows along the profile, columns around the axis."""

    corners: Array
    """(rows, columns, 4, 3) in the order around each patch."""
    normals: Array
    """(rows, columns, 3) unit vectors in the middle of each patch."""


def surfaces(shapes: Sequence[Shape]) -> list[Revolved]:
    """The curved walls among the shapes in space.

    >>> import jostle as jo
    >>> from jostle.sets.outlines import shapes_of
    >>> [bucket] = surfaces(shapes_of(jo.Vessel([(0, 0), (1, 0), (1, 2)]) & jo.HalfSpace([0, 0, 1]), 0.0))
    >>> bucket.profile.tolist()
    [[0.0, 0.0], [1.0, 0.0], [1.0, 2.0]]
    """
    found = []
    for kind, points in shapes:
        if points.shape[1] != 3:
            continue
        if kind == VESSEL:
            found.append(Revolved(points[0], points[1], points[2:, :2]))
        elif kind in (BALL, BOWL):
            angle = np.linspace(-np.pi / 2.0, np.pi / 2.0, LATITUDES)
            profile = points[1, 0] * np.stack([np.abs(np.cos(angle)), np.sin(angle)], axis=1)
            found.append(Revolved(points[0], np.array([0.0, 0.0, 1.0]), profile))
    return found


def patches(surface: Revolved, around: int = 60, along: int = 2) -> Patches:
    """The surface as quadrilaterals, cut around the axis and along each piece of the profile.

    Normals turn evenly along the profile, except at sharp edges.

    >>> tube = patches(Revolved(np.zeros(3), np.eye(3)[2], np.array([[1.0, 0.0], [1.0, 2.0]])), around=8, along=1)
    >>> tube.corners.shape, float(np.linalg.norm(tube.normals[0, 0, :2]).round(9))
    ((1, 8, 4, 3), 1.0)
    """
    ends = np.stack([surface.profile[:-1], surface.profile[1:]], axis=1)
    ends = ends[np.linalg.norm(ends[:, 1] - ends[:, 0], axis=1) > 0.0]
    way = ends[:, 1] - ends[:, 0]
    across = np.stack([way[:, 1], -way[:, 0]], axis=1) / np.linalg.norm(way, axis=1, keepdims=True)
    before, after = np.roll(across, 1, axis=0), np.roll(across, -1, axis=0)
    before[0], after[-1] = across[0], across[-1]
    turned = [
        np.where((other * across).sum(axis=1, keepdims=True) > SMOOTH_EDGE, other + across, 2.0 * across)
        for other in (before, after)
    ]
    part = np.linspace(0.0, 1.0, along + 1)
    edges = ends[:, :1] + part[None, :, None] * (ends[:, 1:] - ends[:, :1])  # (pieces, along + 1, 2)
    middle = ((part[1:] + part[:-1]) / 2.0)[None, :, None]
    normal = ((1.0 - middle) * turned[0][:, None] + middle * turned[1][:, None]).reshape(-1, 2)
    lower, upper = edges[:, :-1].reshape(-1, 2), edges[:, 1:].reshape(-1, 2)
    first, second = np.linalg.svd(surface.axis[None])[2][1:]
    angle = _full_turn(around)
    ring, mid_ring = _ring(first, second, angle), _ring(first, second, (angle[1:] + angle[:-1]) / 2.0)

    def placed(flat: Array, turns: Array) -> Array:
        return np.asarray(flat[:, None, :1] * turns[None] + flat[:, None, 1:] * surface.axis)

    corners = [placed(flat, turns) for flat, turns in (
        (lower, ring[:-1]), (lower, ring[1:]), (upper, ring[1:]), (upper, ring[:-1])
    )]  # fmt: skip
    normals = placed(normal, mid_ring)
    return Patches(surface.base + np.stack(corners, axis=2), normals / np.linalg.norm(normals, axis=2, keepdims=True))
