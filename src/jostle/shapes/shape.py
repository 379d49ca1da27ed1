"""What all shapes have: a rigid body is one or several convex cores, each with a rounding radius, and has a mass.

    gap of two bodies = min over their cores of  dist(core_i, core_j) - radius_i - radius_j

A core is a point, a segment, a convex polygon or polyhedron, or what lies inside an ellipsoid. All points that are at
most `radius` away from it are the body.
"""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np

from jostle._tools.arrays import Array, Integers
from jostle._tools.rotations import principal
from jostle.errors import InvalidValue

DIRECTIONS = 48
"""Number of directions in which the outline of a shape in the plane is sampled where it is round."""
SUBDIVISIONS = 3
"""How often the triangles of an icosahedron are divided in four, for the directions of an outline in space."""
VISIBLE = 0.02
"""Smallest rounding, as a fraction of the size, that an outline shows as an arc; smaller ones are bevels."""


class Core(NamedTuple):
    """A convex core of a shape and the radius of the rounding around it.

    Parameters
    ----------
    vertices : array, shape (k, d)
        Points seen from the centre of mass of the body, along the axes in which the shape was given: one of a ball, two
        of a capsule, the corners of a polygon counter-clockwise; of a smooth core, its centre and the ends of its
        semi-axes.
    radius : float
        The rounding: how far the surface of the body is from the core.
    edges : array of int, shape (e, 2)
        Numbers of the two vertices of each edge; in the plane, counter-clockwise.
    faces : tuple of array of int
        Numbers of the vertices of each face of a polyhedron, counter-clockwise seen from outside.
    semi_axes : array, shape (d,), optional
        Semi-axes of a smooth core; None for all others. The support point of the core in a unit direction n is that of
        the ellipsoid or superellipsoid with these semi-axes, minus `inset` n.
    exponent : float, optional
        Exponent of a smooth core, 2 for an ellipsoid; None for all others.

    Examples
    --------
    >>> import jostle as jo
    >>> core, = jo.shapes.Box([2.0, 1.0], rounding=0.1).cores
    >>> core.vertices.tolist(), core.radius, core.edges.tolist()
    ([[0.9, 0.4], [-0.9, 0.4], [-0.9, -0.4], [0.9, -0.4]], 0.1, [[0, 1], [1, 2], [2, 3], [3, 0]])
    """

    vertices: Array
    radius: float
    edges: Integers = np.empty((0, 2), np.int64)
    faces: tuple[Integers, ...] = ()
    semi_axes: Array | None = None
    exponent: float | None = None

    @property
    def inset(self) -> float:
        """How far a smooth core lies inside its semi-axes: the radius, or 0 where the exponent is below 2."""
        return self.radius if self.exponent is not None and self.exponent >= 2.0 else 0.0

    def support(self, directions: Array) -> Array:
        """(m, d) the point of the core that is farthest in each direction (m, d).

        Parameters
        ----------
        directions : array, shape (m, d)
            Directions; their lengths do not matter.

        Returns
        -------
        array, shape (m, d)
            The points.

        Examples
        --------
        >>> import jostle as jo
        >>> jo.shapes.Capsule(2.0, 0.5).of_dimension(2).cores[0].support(np.array([[-3.0, 1.0]])).tolist()
        [[-1.0, 0.0]]
        """
        if self.semi_axes is None:
            return np.asarray(self.vertices[np.argmax(directions @ self.vertices.T, axis=1)])
        assert self.exponent is not None
        n = directions / np.linalg.norm(directions, axis=1, keepdims=True)
        axes = (self.vertices[1:] - self.vertices[0]) / self.semi_axes[:, None]
        outer = superellipsoid_support(self.semi_axes, self.exponent, n @ axes.T) @ axes
        return np.asarray(self.vertices[0] + outer - self.inset * n)

    def ball(self) -> tuple[Array, float]:
        """The centre and the radius of a ball that contains the core and its rounding.

        Returns
        -------
        centre : array, shape (d,)
            Centre of the ball.
        radius : float
            Radius of the ball.

        Examples
        --------
        >>> import jostle as jo
        >>> centre, radius = jo.shapes.Capsule(2.0, 0.5).of_dimension(3).cores[0].ball()
        >>> centre.tolist(), radius
        ([0.0, 0.0, 0.0], 1.5)
        """
        if self.semi_axes is not None and self.exponent is not None:
            return self.vertices[0], _farthest(self.semi_axes, self.exponent) + self.radius - self.inset
        centre = (self.vertices.min(axis=0) + self.vertices.max(axis=0)) / 2.0
        return centre, float(np.linalg.norm(self.vertices - centre, axis=1).max()) + self.radius

    def moved(self, R: Array, by: Array) -> Core:
        """The core after a rotation R about the origin and a displacement.

        Parameters
        ----------
        R : array, shape (d, d)
            Rotation matrix.
        by : array, shape (d,)
            Displacement.

        Returns
        -------
        Core
            The moved core.

        Examples
        --------
        >>> import jostle as jo
        >>> core = jo.shapes.Ball(1.0).of_dimension(2).cores[0].moved(np.eye(2), np.array([3.0, 4.0]))
        >>> core.vertices.tolist()
        [[3.0, 4.0]]
        """
        return self._replace(vertices=self.vertices @ R.T + by)


class Solid(NamedTuple):
    """The geometry of a shape, and what a body of this shape, mass 1 and one density has."""

    dimension: int
    cores: tuple[Core, ...]
    measure: float
    centre: Array
    inertia: Array
    axes: Array
    size: float


def solid(cores: tuple[Core, ...], measure: float, centre: Array, tensor: Array, size: float) -> Solid:
    """The geometry with the inertia tensor (d, d) about the centre of mass; in the plane, (1, 1)."""
    if len(centre) == 2:
        return Solid(2, cores, measure, centre, tensor.reshape(1), np.zeros(()), size)
    axes, moments = principal(tensor)
    return Solid(3, cores, measure, centre, moments, axes, size)


class Shape:
    """The shape of a rigid body: convex cores, their rounding, and mass properties.

    `Ball` and `Capsule` exist in the plane and in space; the set that takes them knows which, and `of_dimension` says
    it elsewhere. A shape lies in the coordinates in which it was given. A body moves it so that its centre of mass
    comes to the position q of the body, and rotates it about that point by the orientation of the body.

    Examples
    --------
    >>> import jostle as jo
    >>> bar = jo.shapes.Box([2.0, 1.0])
    >>> bar.dimension, bar.measure, bar.centre.tolist(), bar.inertia.round(9).tolist(), bar.size
    (2, 2.0, [0.0, 0.0], [0.416666667], 1.0)
    """

    _solid: Solid | None = None

    @property
    def dimension(self) -> int | None:
        """2 in the plane, 3 in space; None if it is not decided yet."""
        return None if self._solid is None else self._solid.dimension

    def of_dimension(self, dimension: int) -> Shape:
        """This shape in the plane (2) or in space (3).

        Parameters
        ----------
        dimension : int
            2 or 3.

        Returns
        -------
        Shape
            The shape, whose `dimension` is known.

        Examples
        --------
        >>> import jostle as jo
        >>> round(jo.shapes.Ball(1.0).of_dimension(3).measure, 6)
        4.18879
        """
        if self.dimension != dimension:
            other = {2: "in the plane", 3: "in space"}
            if dimension not in other:
                raise InvalidValue(f"dimension must be 2 or 3, not {dimension!r}")
            raise InvalidValue(f"{self!r} is {other[5 - dimension]}, and a shape {other[dimension]} is needed")
        return self

    @property
    def _known(self) -> Solid:
        if self._solid is None:
            raise InvalidValue(
                f"{self!r} may be in the plane or in space: write .of_dimension(2) or .of_dimension(3) behind it"
            )
        return self._solid

    @property
    def cores(self) -> tuple[Core, ...]:
        """The convex cores: one, or several of a `Compound`."""
        return self._known.cores

    @property
    def measure(self) -> float:
        """The area in the plane, the volume in space."""
        return self._known.measure

    @property
    def centre(self) -> Array:
        """(d,) the centre of mass, in the coordinates in which the shape was given."""
        return self._known.centre

    @property
    def inertia(self) -> Array:
        """(1,) in the plane, (3,) in space: moments of inertia of a body of mass 1 about its principal axes."""
        return self._known.inertia

    @property
    def axes(self) -> Array:
        """Orientation of the principal axes: 0 in the plane, a quaternion (w, x, y, z) in space."""
        return self._known.axes

    @property
    def size(self) -> float:
        """Diameter of the largest ball that fits inside: the smallest side of a box, twice the radius of a capsule."""
        return self._known.size

    @cached_property
    def _curves(self) -> tuple[Array, ...]:
        from scipy.spatial import ConvexHull

        found = []
        for core in self.cores:
            points = self._sampled(core)
            found.append(points[ConvexHull(points).vertices])
        return tuple(found)

    @cached_property
    def _mesh(self) -> tuple[Array, Integers]:
        from scipy.spatial import ConvexHull

        points, triangles, first = [], [], 0
        for core in self.cores:
            sampled = self._sampled(core)
            hull = ConvexHull(sampled)
            corners, simplices = sampled[hull.vertices], np.searchsorted(hull.vertices, hull.simplices)
            a, b, c = np.moveaxis(corners[simplices], 1, 0)
            inward = np.einsum("ij,ij->i", np.cross(b - a, c - a), hull.equations[:, :3]) < 0.0
            simplices[inward] = simplices[inward][:, ::-1]
            points.append(corners)
            triangles.append(simplices.astype(np.int64) + first)
            first += len(corners)
        return np.concatenate(points), np.concatenate(triangles)

    def outline(self) -> tuple[Array, ...]:
        """The outline in the plane: for each core, the points (k, 2) of a closed convex curve, counter-clockwise.

        Points are seen from the centre of mass. Corners that are rounded by less than a fiftieth of the size are shown
        as bevels.

        Returns
        -------
        tuple of array, shape (k, 2)
            The curves.

        Examples
        --------
        >>> import jostle as jo
        >>> curve, = jo.shapes.Box([2.0, 2.0]).outline()
        >>> curve.shape, curve.max(axis=0).round(9).tolist()
        ((8, 2), [1.0, 1.0])
        """
        if self._known.dimension != 2:
            raise InvalidValue(f"{self!r} is in space: use mesh() instead of outline()")
        return self._curves

    def mesh(self) -> tuple[Array, Integers]:
        """The surface in space: points (k, 3) and triangles (t, 3), counter-clockwise seen from outside.

        Points are seen from the centre of mass. Each core of a compound has a closed surface of its own.

        Returns
        -------
        points : array, shape (k, 3)
            The points.
        triangles : array of int, shape (t, 3)
            Numbers of the points of each triangle.

        Examples
        --------
        >>> import jostle as jo
        >>> points, triangles = jo.shapes.Box([1.0, 1.0, 2.0]).mesh()
        >>> points.shape, points.max(axis=0).round(9).tolist(), len(points) - len(triangles) / 2
        ((24, 3), [0.5, 0.5, 1.0], 2.0)
        """
        if self._known.dimension != 3:
            raise InvalidValue(f"{self!r} is in the plane: use outline() instead of mesh()")
        return self._mesh

    def _sampled(self, core: Core) -> Array:
        """(k, d) points of the surface, of which the outline is the convex hull."""
        n = sphere(self._known.dimension)
        if core.semi_axes is not None:
            return core.support(n) + core.radius * n
        flat = face_normals(core)
        if core.radius < VISIBLE * self.size and len(flat):
            n = flat
        elif len(flat):
            n = np.concatenate([flat, n])
        on_surface = n @ core.vertices.T > (n @ core.vertices.T).max(axis=1, keepdims=True) - 1e-9 * self.size
        i, j = np.nonzero(on_surface)
        return core.vertices[j] + core.radius * n[i]


def face_normals(core: Core) -> Array:
    """(f, d) the unit normals of the edges of a polygon, or of the faces of a polyhedron.

    >>> import jostle as jo
    >>> face_normals(jo.shapes.Box([1.0, 1.0]).cores[0]).tolist()
    [[0.0, 1.0], [-1.0, 0.0], [0.0, -1.0], [1.0, 0.0]]
    """
    x, d = core.vertices, core.vertices.shape[1]
    if d == 2:
        along = x[core.edges[:, 1]] - x[core.edges[:, 0]] if len(x) > 2 else np.empty((0, 2))
        normals = np.stack([along[:, 1], -along[:, 0]], axis=1)
    else:
        normals = np.array([polygon_normal(x[face]) for face in core.faces]).reshape(-1, 3)
    return np.asarray(normals / np.linalg.norm(normals, axis=1, keepdims=True) + 0.0)


def polygon_normal(corners: Array) -> Array:
    """The normal of a polygon in space, as long as twice its area (Newell).

    >>> polygon_normal(np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [0.0, 1.0, 0.0]])).tolist()
    [0.0, 0.0, 2.0]
    """
    arms = corners - corners[0]
    return np.asarray(np.cross(arms[1:-1], arms[2:]).sum(axis=0))


def superellipsoid_support(semi_axes: Array, exponent: float, n: Array) -> Array:
    """(m, d) the support points of sum |x_i / a_i|^e <= 1 in the directions n (m, d), by the dual exponent e/(e - 1).

    >>> superellipsoid_support(np.array([2.0, 1.0]), 2.0, np.array([[0.0, -3.0], [1.0, 2.0]])).round(6).tolist()
    [[0.0, -1.0], [1.414214, 0.707107]]
    """
    y = semi_axes * n
    y = y / np.abs(y).max(axis=1, keepdims=True)
    power = np.abs(y) ** (1.0 / (exponent - 1.0))
    scale = (power * np.abs(y)).sum(axis=1, keepdims=True) ** (1.0 / exponent)
    return np.asarray(semi_axes * np.sign(y) * power / scale)


def _farthest(semi_axes: Array, exponent: float) -> float:
    """The largest distance of a superellipsoid from its centre: max |x| with sum |x_i / a_i|^e = 1."""
    longest = float(semi_axes.max())
    if exponent <= 2.0:
        return longest
    power = 2.0 * exponent / (exponent - 2.0)
    return longest * float(((semi_axes / longest) ** power).sum() ** (1.0 / power))


def sphere(d: int) -> Array:
    """(k, d) unit vectors in all directions, with those of the axes among them.

    >>> sphere(2).shape, sphere(3).shape
    ((48, 2), (648, 3))
    """
    if d == 2:
        angle = 2.0 * np.pi * np.arange(DIRECTIONS) / DIRECTIONS
        return np.stack([np.cos(angle), np.sin(angle)], axis=1)
    golden = (1.0 + np.sqrt(5.0)) / 2.0
    from scipy.spatial import ConvexHull

    n = np.array([[a, b * golden, 0.0] for a in (-1.0, 1.0) for b in (-1.0, 1.0)])
    n = np.concatenate([np.roll(n, k, axis=1) for k in range(3)])
    for _ in range(SUBDIVISIONS):
        n /= np.linalg.norm(n, axis=1, keepdims=True)
        triangles = ConvexHull(n).simplices
        edges = np.unique(np.sort(np.concatenate([triangles[:, [k, k - 1]] for k in range(3)]), axis=1), axis=0)
        n = np.concatenate([n, n[edges].sum(axis=1)])
    n = np.concatenate([n, np.eye(3), -np.eye(3)])
    return np.asarray(n / np.linalg.norm(n, axis=1, keepdims=True))
