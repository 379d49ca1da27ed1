"""Convex polygons as obstacles for discs: g = dist(q, polygon) - r, signed, so that an overlap has a way out.

With the unit normals n_e of the edges, outwards, and a vertex v_e on each,

    g = max_e n_e . (q - v_e) - r     for a centre in the polygon: the way out through the nearest edge,
    g = |q - P q| - r                 for a centre outside, P q the nearest point of the polygon.

The signed distance to a convex set is convex, as the linearised schemes ask.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from jostle.arguments import check_arguments
from jostle.arrays import Array, InTime, finite
from jostle.errors import InvalidValue
from jostle.sets.convex_polygons import ConvexPolygons
from jostle.sets.surfaces import Surfaces
from jostle.sets.wall_sets import Walls, same_number

Vertices = ArrayLike | Sequence[ArrayLike]
"""One polygon, (corners, 2), or a list of them."""
STRAIGHT = 1e-9
"""Largest inward turn of a corner, in radians: that of a vertex in the middle of an edge, up to round-off."""
THIN = 1e-12
"""A polygon whose area is below this fraction of its perimeter squared is flat."""
ONE_TURN = 2.0 * np.pi


@check_arguments
class Polygons(Walls):
    """Convex polygons as obstacles for discs, at rest, moving or turning.

    Parameters
    ----------
    vertices : array_like, shape (corners, 2), a list of them, or callable (t) -> either
        Corners of one polygon or of several, in order around each, either way; a last vertex equal to the first is left
        out.
    radii : float, array_like, shape (n,), or callable (t) -> array, optional
        Radii of the discs. None: those of the `Balls` in an intersection; otherwise the bodies are points.

    Raises
    ------
    InvalidValue
        If a polygon has fewer than three corners, no area, or is not convex, or the number of polygons changes with
        time.

    Examples
    --------
    >>> square = [(0, 0), (2, 0), (2, 2), (0, 2)]
    >>> table = Polygons(square, radii=0.5)
    >>> table.gap(0.0, [1.0, 3.0]), table.gap(0.0, [5.0, 6.0]), table.gap(0.0, [1.0, 1.75])
    (0.5, 4.5, -0.75)
    >>> ram = Polygons(lambda t: np.array(square) + [t, 0.0], radii=0.5)
    >>> ram.moving, ram.gap(3.0, [1.0, 1.0])
    (True, 1.5)
    """

    passable = on_devices = True

    def __init__(self, vertices: Vertices | Callable[[float], Vertices], *, radii: InTime | None = None):
        super().__init__(radii, vertices)
        self.dimension = 2
        self.vertices = vertices if callable(vertices) else _polygons(vertices, "")
        polygons = self._polygons_at(0.0)
        self.names = tuple(f"polygon {k}" for k in range(len(polygons)))
        self.own_length = min(_inner_radius(polygon) for polygon in polygons)

    def _polygons_at(self, t: float) -> tuple[Array, ...]:
        return _polygons(self.vertices(t), f" at t = {t:g}") if callable(self.vertices) else self.vertices

    def _surfaces(self, t: float) -> Surfaces:
        polygons = self._polygons_at(t)
        same_number(self.names, len(polygons), "polygon", t)
        return ConvexPolygons.around(polygons)


def _polygons(vertices: Vertices, when: str) -> tuple[Array, ...]:
    """Every polygon, checked, read-only and counter-clockwise."""
    several: Any = vertices
    try:
        if np.ndim(several[0][0]) == 0:
            several = [several]
    except (TypeError, IndexError) as error:
        raise InvalidValue(
            f"vertices{when} must be one polygon, [(x, y), ...] with three corners or more, or a list of polygons, "
            f"not {vertices!r}"
        ) from error
    return tuple(_counter_clockwise(polygon, f"polygon {k}{when}") for k, polygon in enumerate(several))


def _counter_clockwise(vertices: ArrayLike, name: str) -> Array:
    polygon = finite(vertices, name)
    if polygon.ndim != 2 or polygon.shape[1] != 2:
        raise InvalidValue(f"{name} has shape {polygon.shape}; its corners are points of the plane, (corners, 2)")
    if len(polygon) > 1 and (polygon[0] == polygon[-1]).all():
        polygon = polygon[:-1]
    if len(polygon) < 3:
        raise InvalidValue(f"{name} has {len(polygon)} corners; it needs three. A thin wall is one of jo.Segments")
    polygon = polygon[:: _orientation(polygon, name)]
    polygon.setflags(write=False)
    return polygon


def _orientation(polygon: Array, name: str) -> int:
    """1 for counter-clockwise, -1 for clockwise; an error if the polygon is not convex."""
    along = np.roll(polygon, -1, axis=0) - polygon
    same = np.flatnonzero(~along.any(axis=1))
    if len(same):
        k = int(same[0])
        raise InvalidValue(f"vertices {k} and {k + 1} of {name} are the same point {polygon[k].tolist()}; drop one")
    area, perimeter = _area(polygon), np.hypot(along[:, 0], along[:, 1]).sum()
    if abs(area) <= THIN * perimeter**2:
        raise InvalidValue(f"{name} has no area; a thin wall is one of jo.Segments")
    before = np.roll(along, 1, axis=0)
    turn = np.sign(area) * np.arctan2(_cross(before, along), np.einsum("kd,kd->k", before, along))
    if turn.min() < -STRAIGHT:
        k = int(turn.argmin())
        raise InvalidValue(
            f"{name} is not convex: it turns inwards at vertex {k}, {polygon[k].tolist()}; cut it into convex polygons"
        )
    turns = round(turn.sum() / ONE_TURN)
    if turns != 1:
        raise InvalidValue(f"{name} is not convex: it crosses itself and winds around {turns} times")
    return int(np.sign(area))


def _cross(a: Array, b: Array) -> Array:
    return np.asarray(a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0])


def _area(polygon: Array) -> float:
    """Signed: positive for counter-clockwise."""
    from_first = polygon - polygon[0]
    return float(_cross(from_first, np.roll(from_first, -1, axis=0)).sum()) / 2.0


def _inner_radius(polygon: Array) -> float:
    """2 area / perimeter: the radius of the inscribed circle, if all edges touch it."""
    along = np.roll(polygon, -1, axis=0) - polygon
    return 2.0 * _area(polygon) / float(np.hypot(along[:, 0], along[:, 1]).sum())
