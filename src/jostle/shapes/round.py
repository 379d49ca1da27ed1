"""Round shapes: balls, capsules, ellipsoids and superellipsoids. Their mass properties are closed formulas."""

from __future__ import annotations

from math import gamma, pi, prod
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from jostle._tools.arguments import Positive, check_arguments
from jostle._tools.arrays import Array, finite
from jostle.errors import InvalidValue
from jostle.shapes.shape import Core, Shape, Solid, solid, sphere, superellipsoid_support

SHARE = 0.5
"""Rounding radius of a smooth shape, as a fraction of its smallest radius of curvature."""
THINNEST = 1e-6
"""Smallest rounding radius of a smooth shape, as a fraction of its smallest semi-axis."""
ROUNDING = 1e-3
"""Rounding radius of shapes with corners and tips, as a fraction of their size."""


class _AnyDimension(Shape):
    """A shape that exists in the plane and in space."""

    def __init__(self) -> None:
        self._made: dict[int, Self] = {}

    def of_dimension(self, dimension: int) -> Self:
        if self._solid is not None or dimension not in (2, 3):
            super().of_dimension(dimension)
            return self
        if dimension not in self._made:
            made = type(self).__new__(type(self))
            made.__dict__ |= self.__dict__ | {"_made": {}, "_solid": self._in(dimension)}
            self._made[dimension] = made
        return self._made[dimension]

    def _in(self, d: int) -> Solid:
        raise NotImplementedError


@check_arguments
class Ball(_AnyDimension):
    """A disc in the plane, a ball in space.

    Parameters
    ----------
    radius : float
        Radius, positive.

    Examples
    --------
    >>> import jostle as jo
    >>> disc = jo.shapes.Ball(2.0).of_dimension(2)
    >>> disc.inertia.tolist(), disc.cores[0].vertices.tolist(), disc.cores[0].radius
    ([2.0], [[0.0, 0.0]], 2.0)
    """

    def __init__(self, radius: Positive):
        super().__init__()
        self.radius = float(radius)

    def __repr__(self) -> str:
        return f"Ball({self.radius:g})"

    def _in(self, d: int) -> Solid:
        measure, squares = superellipsoid_moments(np.full(d, self.radius), 2.0)
        return solid((Core(np.zeros((1, d)), self.radius),), measure, np.zeros(d), tensor(squares), 2.0 * self.radius)


@check_arguments
class Capsule(_AnyDimension):
    """A rod with round ends: all points at most `radius` away from a segment of a given length on the first axis.

    Parameters
    ----------
    length : float
        Length of the segment, positive; the capsule is longer by twice the radius.
    radius : float
        Radius of the ends, positive.

    Examples
    --------
    >>> import jostle as jo
    >>> rod = jo.shapes.Capsule(2.0, 0.5).of_dimension(3)
    >>> rod.cores[0].vertices.tolist(), rod.inertia.round(6).tolist()
    ([[-1.0, 0.0, 0.0], [1.0, 0.0, 0.0]], [0.11875, 0.665625, 0.665625])
    """

    def __init__(self, length: Positive, radius: Positive):
        super().__init__()
        self.length, self.radius = float(length), float(radius)

    def __repr__(self) -> str:
        return f"Capsule({self.length:g}, {self.radius:g})"

    def _in(self, d: int) -> Solid:
        a, r = self.length / 2.0, self.radius
        ends, of_ends = superellipsoid_moments(np.full(d, r), 2.0)
        middle = 2.0 * a * (2.0 * r if d == 2 else pi * r * r)
        # two half balls at the distance a: their centres of mass are c farther out
        c = r * (4.0 / (3.0 * pi) if d == 2 else 0.375)
        along = (middle * a * a / 3.0 + ends * (of_ends[0] + a * a + 2.0 * a * c)) / (middle + ends)
        across = (middle * r * r / (3.0 if d == 2 else 4.0) + ends * of_ends[0]) / (middle + ends)
        core = Core(np.pad([[-a], [a]], ((0, 0), (0, d - 1))), r, np.array([[0, 1]]))
        squares = np.array([along, *[across] * (d - 1)])
        return solid((core,), middle + ends, np.zeros(d), tensor(squares), 2.0 * r)


@check_arguments
class Superellipsoid(Shape):
    """All points with sum |x_i / a_i|^exponent <= 1, in the plane or in space: an ellipsoid for 2, nearly a box for 10.

    Parameters
    ----------
    semi_axes : array_like, shape (2,) or (3,)
        Half of the longest extent along each axis, positive.
    exponent : float
        Exponent, larger than 1 so that the shape is convex. Shapes with an exponent below 2 have sharp tips, which are
        rounded by a thousandth of the size.

    Examples
    --------
    >>> import jostle as jo
    >>> cushion = jo.shapes.Superellipsoid([1.0, 1.0, 0.5], 4.0)
    >>> cushion.dimension, round(cushion.measure, 6), cushion.inertia.round(6).tolist()
    (3, 3.240994, [0.34271, 0.34271, 0.548336])
    """

    def __init__(self, semi_axes: ArrayLike, exponent: float):
        a, e = sides_of(semi_axes, "semi_axes"), float(exponent)
        if not 1.0 < e < np.inf:
            raise InvalidValue(f"exponent is {e:g}; it must be larger than 1 and finite, so that the shape is convex")
        self.semi_axes, self.exponent = a, e
        d, size = len(a), 2.0 * float(a.min())
        if e < 2.0:
            radius, of_core = ROUNDING * size, a - ROUNDING * size
        else:
            radius, of_core = SHARE * smallest_curvature_radius(a, e), a
            if radius < THINNEST * a.min():
                raise InvalidValue(
                    f"{self!r} is too sharp: its smallest radius of curvature is {radius / SHARE:.2g}; take less "
                    f"different semi-axes or a smaller exponent"
                )
        measure, squares = superellipsoid_moments(a, e)
        core = Core(np.vstack([np.zeros(d), np.diag(of_core)]), radius, semi_axes=of_core, exponent=e)
        self._solid = solid((core,), measure, np.zeros(d), tensor(squares), size)

    def __repr__(self) -> str:
        return f"Superellipsoid({self.semi_axes.tolist()}, {self.exponent:g})"


@check_arguments
class Ellipsoid(Superellipsoid):
    """An ellipse in the plane, an ellipsoid in space, along the axes.

    Parameters
    ----------
    semi_axes : array_like, shape (2,) or (3,)
        Half of the extent along each axis, positive.

    Examples
    --------
    >>> import jostle as jo
    >>> egg = jo.shapes.Ellipsoid([2.0, 1.0])
    >>> round(egg.measure, 6), egg.inertia.tolist()
    (6.283185, [1.25])
    """

    def __init__(self, semi_axes: ArrayLike):
        super().__init__(semi_axes, 2.0)

    def __repr__(self) -> str:
        return f"Ellipsoid({self.semi_axes.tolist()})"


def sides_of(given: ArrayLike, name: str) -> Array:
    """Two or three positive lengths, checked.

    >>> sides_of([1, 2], "sides").tolist()
    [1.0, 2.0]
    """
    lengths = finite(given, name)
    if lengths.shape not in ((2,), (3,)):
        raise InvalidValue(f"{name} has shape {lengths.shape}: give 2 numbers in the plane or 3 in space")
    if lengths.min() <= 0.0:
        raise InvalidValue(f"{name} is {lengths.min():g} at index {int(lengths.argmin())}; it must be positive")
    return lengths


def superellipsoid_moments(a: Array, e: float) -> tuple[float, Array]:
    """The measure of sum |x_i / a_i|^e <= 1 and the mean squares of the coordinates (d,), by Dirichlet's integral.

    >>> superellipsoid_moments(np.array([1.0, 1.0, 2.0]), 2.0)[1].round(12).tolist()
    [0.2, 0.2, 0.8]
    """
    d = len(a)
    measure = 2.0**d * float(prod(a)) * gamma(1.0 + 1.0 / e) ** d / gamma(1.0 + d / e)
    if e == 2.0:
        return measure, a * a / (d + 2)
    return measure, a * a * gamma(3.0 / e) * gamma(1.0 + d / e) / (gamma(1.0 / e) * gamma(1.0 + (d + 2) / e))


def tensor(squares: Array) -> Array:
    """The inertia tensor of a body of mass 1 with the mean squares of its coordinates (d,); in the plane, (1, 1).

    >>> tensor(np.array([1.0, 2.0])).tolist(), tensor(np.array([1.0, 2.0, 3.0])).diagonal().tolist()
    ([[3.0]], [5.0, 4.0, 3.0])
    """
    total = float(squares.sum())
    return np.array([[total]]) if len(squares) == 2 else np.diag(total - squares)


def smallest_curvature_radius(a: Array, e: float) -> float:
    """The smallest radius of curvature of sum |x_i / a_i|^e = 1, e >= 2: sampled unless e = 2.

    The principal radii of curvature where the normal is n are the eigenvalues of the Hessian of the support function
    h(n) = (sum |a_i n_i|^q)^(1/q), q = e/(e - 1), on the tangent plane.

    >>> smallest_curvature_radius(np.array([2.0, 1.0]), 2.0), round(smallest_curvature_radius(np.ones(2), 4.0), 2)
    (0.5, 0.4)
    """
    if e == 2.0:
        return float(a.min() ** 2 / a.max())
    n, q, step = _bent_directions(a, e), e / (e - 1.0), 1e-4
    x = superellipsoid_support(a, e, n)
    h = np.einsum("ki,ki->k", n, x)
    y = np.abs(a * n)
    with np.errstate(divide="ignore"):
        second = np.minimum(a * a * y ** (q - 2.0), 1.0 / step**4)
    # H = (q - 1) h^(1 - q) diag(a_i^2 |a_i n_i|^(q - 2)) - (q - 1) x x^T / h
    H = (q - 1.0) * (
        np.einsum("k,ki,ij->kij", h ** (1.0 - q), second, np.eye(len(a))) - np.einsum("k,ki,kj->kij", 1.0 / h, x, x)
    )
    # n is an eigenvector with the eigenvalue 0: it is moved out of the way
    H += np.einsum("k,ki,kj->kij", np.trace(H, axis1=1, axis2=2), n, n)
    return float(np.linalg.eigvalsh(H).min())


def _bent_directions(a: Array, e: float) -> Array:
    """Unit normals at points spread over the surface, where all coordinates differ from 0."""
    n = sphere(len(a))
    x = np.sign(n) * np.abs(n) ** (2.0 / e)  # |x|^e = |n|^2, so that sum |x_i|^e = 1
    x = x[(np.abs(x) > 1e-3).all(axis=1)]
    normals = np.sign(x) * np.abs(x) ** (e - 1.0) / a
    return np.asarray(normals / np.linalg.norm(normals, axis=1, keepdims=True))
