"""Convex polygons as obstacles for discs: g = dist(q, polygon) - r, signed, so that an overlap has a way out.

With the unit normals n_e of the edges, outwards, and a vertex v_e on each,

    g = max_e n_e . (q - v_e) - r     for a centre in the polygon: the way out through the nearest edge,
    g = |q - P q| - r                 for a centre outside, P q the nearest point of the polygon.

The signed distance to a convex set is convex, as the linearised schemes ask.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from jostle._tools.arguments import check_arguments
from jostle._tools.arrays import Array, Booleans, Integers, InTime, finite, place_of, read_only
from jostle.errors import InvalidValue
from jostle.sets.cores import Cores, obstacles
from jostle.sets.surfaces import Lines, Spheres, Surfaces, limit_of_each
from jostle.sets.walls import Obstacles, same_number

# The surface of convex polygons at one time, and the geometry of their corners.


DISC_MARGIN = 1e-12
"""The disc around a polygon is larger by this fraction, so that round-off leaves no corner outside."""


@dataclass(frozen=True, eq=False, slots=True)
class ConvexPolygons(Surfaces):
    """The signed distances to k polygons with the same number of edges each; shorter polygons repeat some edges."""

    edges: Lines
    """(k each) the edges of the polygons, one after the other."""
    normal: Array
    """(k each, 2), outwards."""
    each: int
    """Edges of each polygon."""
    discs: Spheres
    """(k) discs around the polygons: what is far from a disc is far from its polygon."""
    solid: ClassVar[bool] = True

    @classmethod
    def around(cls, polygons: Sequence[Array]) -> ConvexPolygons:
        each = max(len(polygon) for polygon in polygons)
        turn = [np.arange(each) % len(polygon) for polygon in polygons]
        start = np.concatenate([polygon[e] for polygon, e in zip(polygons, turn, strict=True)])
        end = np.concatenate([polygon[(e + 1) % len(polygon)] for polygon, e in zip(polygons, turn, strict=True)])
        along = end - start
        normal = np.stack([along[:, 1], -along[:, 0]], axis=1) / np.hypot(along[:, 0], along[:, 1])[:, None]
        centre = start.reshape(-1, each, 2).mean(axis=1)
        radius = np.linalg.norm(start.reshape(-1, each, 2) - centre[:, None], axis=2).max(axis=1)
        discs = Spheres(centre, (1.0 + DISC_MARGIN) * radius, 1.0)
        return cls(Lines.between(start, end), normal, each, discs)

    def distances(self, x: Array) -> Array:
        k = len(self.discs.centre)
        row = place_of(x).arange(len(x) * k)
        return self._signed(x[row // k], row % k).reshape(-1, k)

    def near(self, x: Array, limit: Array | float) -> tuple[Integers, Array]:
        k = len(self.discs.centre)
        row, _ = self.discs.near(x, limit)
        distance = self._signed(x[row // k], row % k)
        kept = ~(distance > limit_of_each(limit, x)[row // k])
        return row[kept], distance[kept]

    def slopes(self, x: Array, wall: Integers) -> tuple[Array, Array]:
        edges = self._edges(wall)
        distance, from_edge, at_a_vertex = self._to_edges(x, edges)
        outside = self._heights(x, edges).max(axis=1) > 0.0
        nearest = place_of(wall).arange(len(wall)), distance.argmin(axis=1)
        gradient, curvature = self.normal[edges[nearest]], place_of(x).zeros(len(wall))
        corner = np.flatnonzero(outside & at_a_vertex[nearest] & (distance[nearest] > 0.0))
        curvature[corner] = 1.0 / distance[nearest][corner]
        gradient[corner] = from_edge[nearest][corner] * curvature[corner, None]
        return gradient, curvature

    def hit(self, after: ConvexPolygons, x: Array, y: Array, wall: Integers) -> Booleans:
        edges, each = self._edges(wall).ravel(), self.each
        through = self.edges.hit(after.edges, np.repeat(x, each, axis=0), np.repeat(y, each, axis=0), edges)
        inside = self._signed(x, wall) < 0.0
        return through.reshape(-1, each).any(axis=1) | inside

    def sway(self, after: ConvexPolygons) -> float:
        return self.edges.sway(after.edges)

    def _signed(self, x: Array, wall: Integers) -> Array:
        edges = self._edges(wall)
        distance = self._to_edges(x, edges)[0].min(axis=1)
        signed: Array = np.where(self._heights(x, edges).max(axis=1) > 0.0, distance, -distance)
        return signed

    def _edges(self, wall: Integers) -> Integers:
        """(m, each) the edges of one polygon each."""
        return wall[:, None] * self.each + place_of(wall).arange(self.each)

    def _to_edges(self, x: Array, edges: Integers) -> tuple[Array, Array, Booleans]:
        """Distances to edges, the vectors from their nearest points, and whether those are vertices."""
        first, second, s = self.edges.apart(x[:, :1], x[:, 1:], edges)
        return np.sqrt(first * first + second * second), np.stack([first, second], axis=2), (s == 0.0) | (s == 1.0)

    def _heights(self, x: Array, edges: Integers) -> Array:
        """normal . (x - start): above the lines of edges."""
        heights: Array = np.einsum("med,med->me", x[:, None] - self.edges.start[edges], self.normal[edges])
        return heights


Vertices = ArrayLike | Sequence[ArrayLike]
"""One polygon, (corners, 2), or a list of them."""
STRAIGHT = 1e-9
"""Largest inward turn of a corner, in radians: that of a vertex in the middle of an edge, up to round-off."""
THIN = 1e-12
"""A polygon whose area is below this fraction of its perimeter squared is flat."""
ONE_TURN = 2.0 * np.pi


@check_arguments
class Polygons(Obstacles):
    """Convex polygons as obstacles for discs, at rest, moving or turning.

    Parameters
    ----------
    vertices : array_like, shape (corners, 2), a list of them, or callable (t) -> either
        Corners of one polygon or of several, in order around each, either way; a last vertex equal to the first is left
        out.
    radii : float, array_like, shape (n,), or callable (t) -> array, optional
        Radii of the discs. None: those of the `Balls` in an intersection; otherwise the bodies are points.

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

    on_devices = True

    def __init__(self, vertices: Vertices | Callable[[float], Vertices], *, radii: InTime | None = None):
        super().__init__(radii, vertices)
        self.dimension = 2
        self.vertices = vertices if callable(vertices) else _polygons(vertices, "")
        polygons = self._polygons_at(0.0)
        self.names = tuple(f"polygon {k}" for k in range(len(polygons)))
        self.own_length = min(_inner_radius(polygon) for polygon in polygons)

    def _polygons_at(self, t: float) -> tuple[Array, ...]:
        return _polygons(self.vertices(t), f" at t = {t:g}") if callable(self.vertices) else self.vertices

    def cores(self, t: float) -> tuple[Array, Cores] | None:
        polygons = self._polygons_at(t)
        sizes = np.array([len(polygon) for polygon in polygons])
        return np.concatenate(polygons), obstacles(sizes, np.zeros(len(sizes)))

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
    return read_only(polygon[:: _orientation(polygon, name)])


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
