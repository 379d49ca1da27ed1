"""Polygons of plans, their edges, and the openings cut into them.

The edges of an outline run with the walkable side on their left, so the right-hand normal points outward. Convex
polygons are intersections of half-planes and do not need shapely.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from jostle._tools.arrays import Array, Booleans
from jostle._tools.installing import missing
from jostle.errors import InvalidValue

ON_EDGE = 1e-9
"""Largest distance of a point on an edge from this edge, as a fraction of the size of the plan."""

QUARTER = 32
"""Number of edges of the polygon that approximates a quarter of a circle."""


class Cut(NamedTuple):
    """The rest of edges (m, 2, 2) after openings (k, 2, 2) have been cut out."""

    walls: Array
    """(w, 2, 2) walls."""
    outward: Array
    """(k, 2) normals of the openings, away from the walkable side."""
    covered: Array
    """(k,) part of each opening that lies on edges: 1 if it is on one edge, 2 if it is between two rooms."""


def package(name: str) -> Any:
    """An optional package, imported when it is first needed.

    >>> package("math").pi > 3.0
    True
    """
    try:
        return import_module(name)
    except ImportError:
        raise missing(f"floor plans and crowds need the package {name}", "crowd") from None


def ring_edges(corners: Array) -> Array:
    """The edges (m, 2, 2) of a ring of corners (m, 2), from each to the next.

    >>> ring_edges(np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]))[2].tolist()
    [[0.0, 1.0], [0.0, 0.0]]
    """
    return np.stack([corners, np.roll(corners, -1, axis=0)], axis=1)


def segments_of(corners: Array) -> Array:
    """(k - 1, 2, 2) the segments of a line with k corners.

    >>> segments_of(np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 2.0]])).tolist()
    [[[0.0, 0.0], [1.0, 0.0]], [[1.0, 0.0], [1.0, 2.0]]]
    """
    return np.stack([corners[:-1], corners[1:]], axis=1)


def cut(edges: Array, openings: Array) -> Cut:
    """Cut the openings out of the edges; the ends of walls are bit-identical to those of the openings.

    >>> square = ring_edges(np.array([[0.0, 0.0], [4.0, 0.0], [4.0, 4.0], [0.0, 4.0]]))
    >>> left = cut(square, np.array([[[4.0, 1.0], [4.0, 2.0]]]))
    >>> len(left.walls), left.outward.tolist(), left.covered.tolist()
    (5, [[1.0, 0.0]], [1.0])
    """
    size = float(np.ptp(edges.reshape(-1, 2), axis=0).max(initial=0.0))
    along = edges[:, 1] - edges[:, 0]
    lengths = np.linalg.norm(along, axis=1)
    taken: list[list[tuple[float, float, Array, Array]]] = [[] for _ in edges]
    outward, covered = np.zeros((len(openings), 2)), np.zeros(len(openings))
    for k, opening in enumerate(openings):
        width = float(np.linalg.norm(opening[1] - opening[0]))
        for m in np.flatnonzero(_in_line(edges, along, lengths, opening, ON_EDGE * size)):
            part = (opening - edges[m, 0]) @ along[m] / lengths[m] ** 2
            ends = opening if part[0] <= part[1] else opening[::-1]
            low, high = max(part.min(), 0.0), min(part.max(), 1.0)
            if (high - low) * lengths[m] <= ON_EDGE * size:
                continue
            first, last = ends[0] if part.min() > 0.0 else edges[m, 0], ends[1] if part.max() < 1.0 else edges[m, 1]
            taken[m].append((low, high, first, last))
            covered[k] += (high - low) * lengths[m] / width
            outward[k] = np.array([along[m, 1], 0.0 - along[m, 0]]) / lengths[m]
    walls = [wall for m, edge in enumerate(edges) for wall in _left(edge, sorted(taken[m], key=lambda one: one[0]))]
    walls = [wall for wall in walls if np.linalg.norm(wall[1] - wall[0]) > ON_EDGE * size]
    return Cut(np.array(walls).reshape(-1, 2, 2), outward, covered.round(6))


def _in_line(edges: Array, along: Array, lengths: Array, opening: Array, allowed: float) -> Booleans:
    """(m,) whether each edge lies on the line of the opening; the longer of the two defines the line."""
    way = opening[1] - opening[0]
    width = np.linalg.norm(way)
    if width == 0.0:
        return np.zeros(len(edges), dtype=bool)
    from_opening = np.abs(_cross(edges - opening[0], way)).max(axis=1) / width
    from_edge = np.abs(_cross(opening - edges[:, :1], along[:, None])).max(axis=1) / np.where(lengths > 0, lengths, 1.0)
    return np.asarray(np.where(lengths < width, from_opening, from_edge) <= allowed) & (lengths > 0.0)


def _cross(a: Array, b: Array) -> Array:
    return np.asarray(a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0])


def _left(edge: Array, taken: list[tuple[float, float, Array, Array]]) -> list[Array]:
    """The pieces of an edge between the openings, which are sorted and may overlap."""
    walls, reached, start = [], 0.0, edge[0]
    for low, high, first, last in taken:
        if low > reached:
            walls.append(np.stack([start, first]))
        if high > reached:
            reached, start = high, last
    if reached < 1.0:
        walls.append(np.stack([start, edge[1]]))
    return walls


def distance_to(segments: Array, x: Array) -> Array:
    """(k, n) distances of points (n, 2) from segments (k, 2, 2).

    >>> distance_to(np.array([[[0.0, 0.0], [4.0, 0.0]]]), np.array([[2.0, 3.0]])).tolist()
    [[3.0]]
    """
    return np.asarray(np.linalg.norm(x - nearest_on(segments[:, None], x), axis=2))


def nearest_on(segments: Array, x: Array) -> Array:
    """(..., 2) points of segments (..., 2, 2) that are nearest to points (..., 2), with NumPy's rules of broadcasting.

    >>> nearest_on(np.array([[[0.0, 0.0], [4.0, 0.0]]]), np.array([[2.0, 3.0]])).tolist()
    [[2.0, 0.0]]
    """
    start, along = segments[..., 0, :], segments[..., 1, :] - segments[..., 0, :]
    square = np.einsum("...d,...d->...", along, along)
    part = np.einsum("...d,...d->...", x - start, along) / np.where(square > 0.0, square, 1.0)
    return np.asarray(start + np.clip(part, 0.0, 1.0)[..., None] * along)


def shrunk(segment: Array, by: float) -> Array:
    """A segment (2, 2) shortened at both ends, or its midpoint if nothing is left.

    >>> shrunk(np.array([[0.0, 0.0], [4.0, 0.0]]), 1.0).tolist()
    [[1.0, 0.0], [3.0, 0.0]]
    """
    middle, half = segment.mean(axis=0), segment - segment.mean(axis=0)
    return np.asarray(middle + half * max(1.0 - by / float(np.linalg.norm(half[0])), 0.0))


def around(columns: Array, distance: float = 0.0) -> Any:
    """Polygons that contain everything within a distance of round columns (k, 3), and hardly more.

    >>> area = around(np.array([[0.0, 0.0, 1.0]]), 0.5).area
    >>> 0.0 < area - np.pi * 1.5**2 < 0.001 * area
    True
    """
    shapely = package("shapely")
    larger = 1.0 / np.cos(np.pi / (4.0 * QUARTER))
    discs = shapely.buffer(shapely.points(columns[:, :2]), (columns[:, 2] + distance) * larger, quad_segs=QUARTER)
    return shapely.union_all(discs)


def a_segment(value: Any, what: str) -> Array:
    """Two different points, checked: numbers, a line of shapely, or what has one, such as `pedpy.MeasurementLine`."""
    line = getattr(value, "line", value)
    straight = getattr(line, "geom_type", None) == "LineString" and len(line.coords) == 2
    try:
        segment = np.array(line.coords)[:, :2] if straight else np.array(value, dtype=float).reshape(2, 2)
    except (TypeError, ValueError):
        raise InvalidValue(f"{what} must be two points ((x, y), (x, y)), not {value!r}") from None
    if not np.isfinite(segment).all() or (segment[0] == segment[1]).all():
        raise InvalidValue(f"{what} must be two different points, not {segment.tolist()}")
    segment.setflags(write=False)
    return segment


class HalfPlanes(NamedTuple):
    """A convex polygon: the points x with inward . x > offset for each edge."""

    corners: Array
    """(m, 2) corners, counter-clockwise, no three of them on one line."""
    inward: Array
    """(m, 2) unit normals of the edges, into the polygon."""
    offset: Array
    """(m,) offsets of the edges along their normals."""

    @staticmethod
    def of(ring: Array) -> HalfPlanes | None:
        """The half-planes of a ring of corners (m, 2), in either order; None if it is not convex, or meets itself.

        >>> HalfPlanes.of(np.array([[0.0, 0.0], [0.0, 3.0], [4.0, 3.0], [4.0, 0.0], [2.0, 0.0]])).corners.tolist()
        [[4.0, 0.0], [4.0, 3.0], [0.0, 3.0], [0.0, 0.0]]
        >>> HalfPlanes.of(np.array([[0.0, 0.0], [4.0, 0.0], [1.0, 1.0], [0.0, 4.0]])) is None
        True
        """
        corners = ring[(ring != np.roll(ring, 1, axis=0)).any(axis=1)]
        turns, ahead = _turns(corners)
        if not ahead[turns == 0.0].all():
            return None
        corners = corners[turns != 0.0]
        turns, _ = _turns(corners)
        if len(corners) >= 3 and (turns < 0.0).all():
            corners, turns = corners[::-1], -turns[::-1]
        if len(corners) < 3 or not (turns > 0.0).all() or not turns.sum() < 3.0 * np.pi:
            return None
        along = np.roll(corners, -1, axis=0) - corners
        inward = np.stack([-along[:, 1], along[:, 0]], axis=1) / np.linalg.norm(along, axis=1)[:, None]
        return HalfPlanes(corners, inward, np.einsum("md,md->m", inward, corners))

    def inside(self, x: Array) -> Booleans:
        """(n,) whether points (n, 2) are in the polygon, and not on its edges."""
        there = np.ones(len(x), dtype=bool)
        first, second = x[:, 0].copy(), x[:, 1].copy()
        for (a, b), offset in zip(self.inward, self.offset, strict=True):
            there &= a * first + b * second > offset
        return there

    def outside(self, x: Array) -> Array:
        """(n,) distances of points (n, 2) from the polygon; 0 inside."""
        far = np.zeros(len(x))
        out = np.flatnonzero(~self.inside(x))
        if len(out):
            far[out] = distance_to(ring_edges(self.corners), x[out]).min(axis=0)
        return far


def _turns(corners: Array) -> tuple[Array, Booleans]:
    """(m,) angle by which a ring turns at each corner, and whether it continues forward there."""
    before, after = corners - np.roll(corners, 1, axis=0), np.roll(corners, -1, axis=0) - corners
    cross = before[:, 0] * after[:, 1] - before[:, 1] * after[:, 0]
    along = np.einsum("md,md->m", before, after)
    return np.where(cross == 0.0, 0.0, np.arctan2(cross, along)), np.asarray(along > 0.0)


def geometry(area: Any) -> Any:
    """The polygon of an object that has one, such as `pedpy.WalkableArea`; anything else as it is.

    >>> from types import SimpleNamespace
    >>> geometry(SimpleNamespace(polygon="of shapely")), geometry([(0, 0), (4, 0), (0, 3)])
    ('of shapely', [(0, 0), (4, 0), (0, 3)])
    """
    return getattr(area, "polygon", area)


def plain_corners(area: Any) -> Array | None:
    """(k, 2) corners of an area that is given by numbers; None if it is given otherwise.

    >>> plain_corners([(0, 0), (4, 0), (0, 3)]).shape, plain_corners([[(0, 0), (4, 0), (0, 3)]]) is None
    ((3, 2), True)
    """
    try:
        corners = np.array(area, dtype=float)
    except (TypeError, ValueError):
        return None
    return corners if corners.ndim == 2 and corners.shape[1] == 2 and np.isfinite(corners).all() else None


def polygons(area: Any) -> list[Any]:
    """The polygons of an area, checked: simple, counter-clockwise, holes clockwise, not overlapping."""
    shapely, area = package("shapely"), geometry(area)
    if isinstance(area, shapely.Geometry):
        rooms = [part for part in shapely.get_parts(area) if part.geom_type == "Polygon"]
    elif isinstance(area, str) or not hasattr(area, "__len__"):
        raise InvalidValue(f"area must be a polygon of shapely, or its corners (k, 2), not {area!r}")
    elif len(area) and all(
        isinstance(geometry(part), shapely.Geometry) or plain_corners(part) is not None for part in area
    ):
        rooms = [room for part in area for room in polygons(part)]
    else:
        try:
            rooms = [shapely.Polygon(np.array(area, dtype=float))]
        except (TypeError, ValueError) as error:
            raise InvalidValue(f"area must be a polygon of shapely, or its corners (k, 2): {error}") from None
    if not rooms or any(room.is_empty for room in rooms):
        raise InvalidValue("the area has no polygon, or an empty one")
    for room in rooms:
        if not room.is_valid:
            raise InvalidValue(
                f"the area is not simple: {shapely.is_valid_reason(room)}. Its outline must not touch or cross itself; "
                f"correct it, or try shapely.make_valid(area)"
            )
    for k, room in enumerate(rooms):
        for j in range(k):
            common = rooms[j].intersection(room).area
            if common > ON_EDGE * room.area:
                raise InvalidValue(f"rooms {j} and {k} overlap by {common:.3g} square metres; merge them or move one")
    return [shapely.remove_repeated_points(shapely.orient_polygons(room)) for room in rooms]


def all_corners(room: Any) -> list[Array]:
    """The corners of the outline and of each hole of a polygon of shapely."""
    return [np.array(ring.coords)[:-1, :2] for ring in (room.exterior, *room.interiors)]


def rings(room: Any) -> list[Array]:
    """The corners of the outline and of each hole, without points between two edges on one line."""
    found = []
    for ring in all_corners(room):
        a, b = ring - np.roll(ring, 1, axis=0), np.roll(ring, -1, axis=0) - ring
        found.append(ring[a[:, 0] * b[:, 1] != a[:, 1] * b[:, 0]])
    return found


def without_doubles(walls: Array) -> Array:
    """The walls, where those between two rooms, which are edges of both, are kept once."""
    shapely = package("shapely")
    lines = shapely.line_merge(shapely.union_all(shapely.linestrings(walls)))
    straight = [shapely.get_coordinates(shapely.simplify(line, 0.0)) for line in shapely.get_parts(lines)]
    return np.concatenate([segments_of(line) for line in straight])
