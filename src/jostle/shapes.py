"""Shapes of walls: what an admissible set looks like, as a few points that a file can keep.

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

from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from jostle.arrays import Array, at
from jostle.errors import InvalidValue
from jostle.plugins import Registry
from jostle.sets.balls import Line
from jostle.sets.base import ConstraintSet, Intersection
from jostle.sets.containers import Inside
from jostle.sets.polygons import Polygons
from jostle.sets.presence import Presence
from jostle.sets.segments import Segments
from jostle.sets.vessels import Vessel
from jostle.sets.wall_sets import Walls
from jostle.sets.walls import Box, HalfSpace, Outside

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
        Points in the space of one body; their meaning depends on the kind, see `jostle.shapes`.

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
        name: f"jostle.shapes:{function}"
        for name, function in (
            ("HalfSpace", "half_space"), ("Box", "box"), ("Line", "box"), ("Outside", "balls"), ("Inside", "balls"),
            ("Segments", "segments"), ("Polygons", "polygons"), ("Vessel", "vessel"),
        )
    },
    check=_is_function,
)  # fmt: skip
"""The functions that give the shapes of sets, by the name of the class."""


def parts(within: ConstraintSet | None) -> tuple[ConstraintSet, ...]:
    """The sets of an intersection; none for a problem that is not known.

    >>> import jostle as jo
    >>> parts(jo.Balls([1.0]) & jo.Box([0.0], [9.0]))
    (Balls, Box)
    """
    if isinstance(within, Intersection):
        return tuple(part for Q in within.sets for part in parts(Q))
    return () if within is None else (within,)


def shapes_of(within: ConstraintSet | None, t: float) -> tuple[Shape, ...]:
    """The shapes of all walls at time t; sets that have none, such as the constraints of a user, are left out.

    >>> import jostle as jo
    >>> [(shape.kind, shape.points.tolist()) for shape in shapes_of(jo.Balls([1.0]) & jo.HalfSpace([0, 2], 1.0), 0.0)]
    [('plane', [[0.0, 1.0], [0.5, 0.0]])]
    """
    return tuple(chain.from_iterable(_shapes(Q, t) for Q in parts(within)))


def may_move(within: ConstraintSet | None) -> bool:
    """May walls that have a shape move? Bodies that swell do not count.

    >>> import jostle as jo
    >>> may_move(jo.Box([0.0], [1.0], radii=lambda t: [t])), may_move(jo.HalfSpace([1.0], offset=lambda t: t))
    (False, True)
    """
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
    """Whether two sequences of shapes are the same.

    >>> same([Shape("line", np.zeros((2, 2)))], [Shape("line", np.ones((2, 2)))])
    False
    """
    return len(one) == len(other) and all(
        a.kind == b.kind and np.array_equal(a.points, b.points) for a, b in zip(one, other, strict=True)
    )


def _outliner(Q: ConstraintSet) -> Outliner | None:
    """What gives the shapes of a set: the function of its class, or of the nearest class that it inherits from."""
    name = next((kind.__name__ for kind in type(Q).__mro__ if kind.__name__ in OUTLINES), None)
    return None if name is None else OUTLINES.get(name)


def _may_move(Q: ConstraintSet) -> bool:
    if type(Q).__module__.startswith("jostle."):
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
            names += Q.names
        elif isinstance(Q, Line):
            names += ["lower wall", "upper wall"]
        else:
            names += [""] * int(Q.linearise(t, q, 0.0).numbers)
    return len(names), tuple(names) if any(names) else ()
