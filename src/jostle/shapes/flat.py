"""Convex shapes with flat faces: polygons, boxes, polyhedra. Their corners are rounded a little.

The rounding is taken inside the outline: the core is the set of all points that are at least the radius away from every
face, so that faces lie where they were given. Mass, centre and inertia are those of the outline with sharp corners.
"""

from __future__ import annotations

from itertools import product

import numpy as np
from numpy.typing import ArrayLike

from jostle._tools.arguments import check_arguments
from jostle._tools.arrays import Array, Booleans, Integers, finite
from jostle.errors import Implausible, InvalidValue, warn
from jostle.shapes.round import ROUNDING, sides_of, tensor
from jostle.shapes.shape import Core, Shape, solid

SAME = 1e-9
"""Points closer than this, as a fraction of the extent of a shape, are one; so are planes and lines."""
CLOSE = 1e-7
"""Corners of a core closer than this, as a fraction of the extent of the shape, become one."""
CLOSE = 1e-7
"""Corners of a core closer than this, as a fraction of the extent of the shape, become one."""


@check_arguments
class Polygon(Shape):
    """A convex polygon in the plane.

    Parameters
    ----------
    vertices : array_like, shape (k, 2)
        The corners in order, clockwise or not. Repeated corners, and those on the line between their neighbours, do
        not change the polygon.
    rounding : float, optional
        Radius of the corners. None: a thousandth of the size. Edges that are too short for the rounding vanish in it.

    Notes
    -----
    Mass, centre and inertia are those of the polygon with sharp corners.

    Examples
    --------
    >>> import jostle as jo
    >>> triangle = jo.shapes.Polygon([(0, 0), (3, 0), (0, 3)])
    >>> triangle.measure, triangle.centre.tolist(), triangle.inertia.round(9).tolist()
    (4.5, [1.0, 1.0], [1.0])
    """

    def __init__(self, vertices: ArrayLike, rounding: float | None = None):
        corners = _convex(_points(vertices, "vertices", 2))
        area, centre, squares = polygon_moments(corners)
        self._vertices = corners - centre
        normals, offsets = _lines(self._vertices)
        core, size = _shrunk(self._vertices, normals, offsets, rounding)
        self._solid = solid((core,), area, centre, tensor(squares.diagonal()), size)

    def __repr__(self) -> str:
        return f"a polygon of {len(self._vertices)} corners"


@check_arguments
class Box(Shape):
    """A rectangle in the plane, a cuboid in space, along the axes and about its centre of mass.

    Parameters
    ----------
    sides : array_like, shape (2,) or (3,)
        The whole lengths of the sides, positive.
    rounding : float, optional
        Radius of the corners and edges. None: a thousandth of the shortest side.

    Notes
    -----
    Mass and inertia are those of the box with sharp corners.

    Examples
    --------
    >>> import jostle as jo
    >>> brick = jo.shapes.Box([2.0, 1.0, 1.0])
    >>> brick.measure, (12 * brick.inertia).round(9).tolist(), len(brick.cores[0].faces), brick.cores[0].radius
    (2.0, [2.0, 5.0, 5.0], 6, 0.001)
    """

    def __init__(self, sides: ArrayLike, rounding: float | None = None):
        self.sides = sides_of(sides, "sides")
        d, size = len(self.sides), float(self.sides.min())
        radius = _radius(rounding, size)
        half = self.sides / 2.0 - radius
        if d == 2:
            signs = np.array([[1.0, 1.0], [-1.0, 1.0], [-1.0, -1.0], [1.0, -1.0]])
            core = Core(signs * half, radius, _ring(np.arange(4)))
        else:
            signs = np.array(list(product((-1.0, 1.0), repeat=3)))
            normals = np.concatenate([np.eye(3), -np.eye(3)])
            core = _polyhedron(signs * half, normals, signs @ normals.T > 0.0, radius)
        squares = self.sides**2 / 12.0
        self._solid = solid((core,), float(self.sides.prod()), np.zeros(d), tensor(squares), size)

    def __repr__(self) -> str:
        return f"Box({self.sides.tolist()})"


@check_arguments
class Hull(Shape):
    """A convex polyhedron in space: the convex hull of points.

    Parameters
    ----------
    points : array_like, shape (k, 3)
        The corners, in any order. Points inside the hull are left out, with a warning.
    rounding : float, optional
        Radius of the corners and edges. None: a thousandth of the size. Faces that are too small for the rounding
        vanish in it.

    Notes
    -----
    Mass, centre and inertia are those of the hull with sharp corners.

    Examples
    --------
    >>> import jostle as jo
    >>> corner = jo.shapes.Hull([(0, 0, 0), (4, 0, 0), (0, 4, 0), (0, 0, 4)])
    >>> round(corner.measure, 9), corner.centre.round(9).tolist(), len(corner.cores[0].faces)
    (10.666666667, [1.0, 1.0, 1.0], 4)
    """

    def __init__(self, points: ArrayLike, rounding: float | None = None):
        from scipy.spatial import ConvexHull, QhullError

        given = _points(points, "points", 3)
        extent = float(np.ptp(given, axis=0).max())
        try:
            hull = ConvexHull(given)
        except (QhullError, ValueError):
            raise InvalidValue(_flat(given)) from None
        volume, centre, squares = hull_moments(given, hull.simplices)
        if volume <= SAME * extent**3:
            raise InvalidValue(_flat(given))
        normals, offsets = _planes(hull.equations, centre, extent)
        depth = (offsets - (given - centre) @ normals.T).min(axis=1)
        inside = np.flatnonzero(depth > SAME * extent)
        if len(inside):
            warn(
                f"{len(inside)} of {len(given)} points lie inside their hull and are left out, the first at index "
                f"{inside[0]}: a hull is convex; for a shape that is not, use Compound",
                Implausible,
            )
        core, size = _shrunk(given - centre, normals, offsets, rounding)
        self._solid = solid((core,), volume, centre, np.trace(squares) * np.eye(3) - squares, size)

    def __repr__(self) -> str:
        return f"a hull of {len(self.cores[0].vertices)} corners"


def _points(given: ArrayLike, name: str, d: int) -> Array:
    points = finite(given, name)
    if points.ndim != 2 or points.shape[1] != d or len(points) <= d:
        other = "Hull takes points in space" if d == 2 else "Polygon takes points in the plane"
        where = "the plane" if d == 2 else "space"
        raise InvalidValue(f"{name} has shape {points.shape}: give {d + 1} or more points ({d}) of {where}; {other}")
    return points


def _flat(points: Array) -> str:
    return f"the {len(points)} points lie in one plane, so that their hull has no volume: add points off that plane"


def _radius(rounding: float | None, size: float) -> float:
    """The rounding radius, checked."""
    if rounding is None:
        return ROUNDING * size
    if not 0.0 < rounding < size / 2.0:
        raise InvalidValue(
            f"rounding is {rounding:g}; it must be positive and less than {size / 2.0:g}, the radius of the largest "
            f"ball inside"
        )
    return float(rounding)


def _convex(points: Array) -> Array:
    """The corners of a convex polygon, counter-clockwise, without those that change nothing; others are refused."""
    size = float(np.ptp(points, axis=0).max())
    kept = points
    while len(kept) > 2:  # one of two corners at the same place is left out in each round, and so on
        before, after = np.roll(kept, 1, axis=0), np.roll(kept, -1, axis=0)
        base = np.linalg.norm(after - before, axis=1)
        height = np.abs(_cross(kept - before, after - before))
        near = np.linalg.norm(kept - before, axis=1) <= SAME * size
        idle = near | ((height <= SAME * size * base) & (base > SAME * size))
        if not idle.any():
            break
        kept = np.delete(kept, int(np.argmax(idle)), axis=0)
    if len(kept) < 3:
        raise InvalidValue("the vertices lie on one line, so that the polygon has no area")
    along = np.roll(kept, -1, axis=0) - kept
    turns = np.arctan2(_cross(along, np.roll(along, -1, axis=0)), (along * np.roll(along, -1, axis=0)).sum(axis=1))
    if turns.sum() < 0.0:
        kept, turns = kept[::-1], -turns[::-1]
    if turns.min() <= 0.0 or turns.sum() > 3.0 * np.pi:
        what = "cross each other" if abs(turns.sum() - 2.0 * np.pi) > 1.0 else "turn inward"
        raise InvalidValue(
            f"the edges of the polygon {what}, so that it is not convex: cut it into convex polygons, and join them "
            f"with Compound([(Polygon(...), centre, 0.0), ...])"
        )
    return kept


def _cross(a: Array, b: Array) -> Array:
    return np.asarray(a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0])


def polygon_moments(x: Array) -> tuple[float, Array, Array]:
    """Area, centre of mass and mean products of coordinates (2, 2) about it, of a polygon, counter-clockwise (Green).

    >>> area, centre, squares = polygon_moments(np.array([[0.0, 0.0], [2.0, 0.0], [2.0, 1.0], [0.0, 1.0]]))
    >>> area, centre.tolist(), (12 * squares).round(9).tolist()
    (2.0, [1.0, 0.5], [[4.0, 0.0], [0.0, 1.0]])
    """
    origin = x.mean(axis=0)
    a = x - origin
    b = np.roll(a, -1, axis=0)
    c = _cross(a, b)
    area = float(c.sum()) / 2.0
    centre = c @ (a + b) / (6.0 * area)
    s = a + b
    squares = sum(np.einsum("k,ki,kj->ij", c, v, v) for v in (a, b, s)) / (24.0 * area)
    return area, origin + centre, np.asarray(squares - np.outer(centre, centre)) + 0.0


def hull_moments(points: Array, triangles: Integers) -> tuple[float, Array, Array]:
    """Volume, centre of mass and mean products of coordinates (3, 3) about it, of a convex polyhedron by tetrahedra.

    >>> from scipy.spatial import ConvexHull
    >>> cube = np.array([[x, y, z] for x in (0.0, 1.0) for y in (0.0, 1.0) for z in (0.0, 3.0)])
    >>> volume, centre, squares = hull_moments(cube, ConvexHull(cube).simplices)
    >>> round(volume, 9), centre.round(9).tolist(), (12 * squares.diagonal()).round(9).tolist()
    (3.0, [0.5, 0.5, 1.5], [1.0, 1.0, 9.0])
    """
    origin = points[np.unique(triangles)].mean(axis=0)
    a, b, c = np.moveaxis(points[triangles] - origin, 1, 0)
    six = np.abs(np.einsum("ki,ki->k", a, np.cross(b, c)))
    volume = float(six.sum()) / 6.0
    if volume == 0.0:
        return 0.0, origin, np.zeros((3, 3))
    s = a + b + c
    centre = six @ s / (24.0 * volume)
    squares = sum(np.einsum("k,ki,kj->ij", six, v, v) for v in (a, b, c, s)) / (120.0 * volume)
    return volume, origin + centre, np.asarray(squares - np.outer(centre, centre))


def _lines(x: Array) -> tuple[Array, Array]:
    """Unit normals (k, 2) and offsets (k,) of the edges of a polygon, counter-clockwise."""
    along = np.roll(x, -1, axis=0) - x
    normals = np.stack([along[:, 1], -along[:, 0]], axis=1) / np.linalg.norm(along, axis=1)[:, None]
    return normals, np.einsum("ki,ki->k", normals, x)


def _planes(equations: Array, centre: Array, extent: float) -> tuple[Array, Array]:
    """Unit normals and offsets of the faces about the centre; triangles of one face count once."""
    normals, offsets = equations[:, :3], -equations[:, 3] - equations[:, :3] @ centre
    left = np.arange(len(normals))
    kept = []
    while len(left):
        first = left[0]
        kept.append(first)
        same = np.abs(normals[left] - normals[first]).max(axis=1) <= SAME
        left = left[~(same & (np.abs(offsets[left] - offsets[first]) <= SAME * extent))]
    return normals[kept], offsets[kept]


def _shrunk(x: Array, normals: Array, offsets: Array, rounding: float | None) -> tuple[Core, float]:
    """The core of normals . x <= offsets for a rounding, and the size: the diameter of the largest ball inside."""
    from scipy.optimize import linprog
    from scipy.spatial import HalfspaceIntersection

    d, extent = x.shape[1], float(np.ptp(x, axis=0).max())
    cost = np.eye(d + 1)[-1]
    rows = np.concatenate([normals, np.ones((len(normals), 1))], axis=1)
    bounds = [(None, None)] * d + [(0.0, None)]
    inner = linprog(-cost, A_ub=rows, b_ub=offsets / extent, bounds=bounds).x * extent
    size = 2.0 * float(inner[-1])
    if size <= SAME * extent:
        raise InvalidValue(f"the shape is flat: {extent:.3g} long, but only {size:.3g} thick")
    radius = _radius(rounding, size)
    cut = HalfspaceIntersection(np.concatenate([normals, (radius - offsets)[:, None]], axis=1), inner[:-1])
    group = _groups(cut.intersections, CLOSE * extent)
    active = np.zeros((int(group.max()) + 1, len(normals)), bool)
    for number, planes in zip(group, cut.dual_facets, strict=True):
        active[number, planes] = True
    vertices = np.array([np.linalg.lstsq(normals[on], (offsets - radius)[on], rcond=CLOSE)[0] for on in active])
    if d == 3:
        return _polyhedron(vertices, normals, active, radius), size
    turn = vertices - vertices.mean(axis=0)
    vertices = vertices[np.argsort(np.arctan2(turn[:, 1], turn[:, 0]))]
    return Core(vertices, radius, _ring(np.arange(len(vertices)))), size


def _groups(points: Array, distance: float) -> Integers:
    """(k,) the number of the group of each point; points closer than a distance to the first of a group belong to it.

    >>> _groups(np.array([[0.0, 0.0], [3.0, 0.0], [0.1, 0.0]]), 0.2).tolist()
    [0, 1, 0]
    """
    group, number = np.full(len(points), -1), 0
    while (group < 0).any():
        first = points[np.argmax(group < 0)]
        group[(group < 0) & (np.abs(points - first).max(axis=1) <= distance)] = number
        number += 1
    return group


def _ring(numbers: Integers) -> Integers:
    """(k, 2) the edges of a closed ring of vertices."""
    return np.stack([numbers, np.roll(numbers, -1)], axis=1)


def _polyhedron(vertices: Array, normals: Array, active: Booleans, radius: float) -> Core:
    """The core with these vertices, and the faces in the planes that are active (vertices, planes) in 3 or more."""
    faces = []
    for n, on in zip(normals, map(np.flatnonzero, active.T), strict=True):
        if len(on) < 3:
            continue  # the face vanished in the rounding
        arms = vertices[on] - vertices[on].mean(axis=0)
        one = arms[np.argmax(np.abs(arms).max(axis=1))]
        other = np.cross(n, one)
        faces.append(on[np.argsort(np.arctan2(arms @ other, arms @ one))])
    edges = np.unique(np.sort(np.concatenate([_ring(face) for face in faces]), axis=1), axis=0)
    if len(vertices) - len(edges) + len(faces) != 2:
        raise InvalidValue(
            "faces of the hull are too nearly parallel or too small to tell apart: leave out points that are close to "
            "others, or give a larger rounding"
        )
    return Core(vertices, radius, edges, tuple(faces))
