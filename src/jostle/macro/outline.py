"""Curved free boundaries: where the line between two centres leaves a zone, and zones given by their outline.

A function of (x, y) that is negative inside a zone has the boundary as its zero line. The isotropic law needs only the
distance theta h between a saturated centre and this line along an axis. The face between them has the mass theta h^2,
so that the masses of a row add up to the chord of the zone, and p falls to zero over theta h instead of h / 2 (the
symmetric scheme of Gibou, Fedkiw, Cheng & Kang 2002). With this mass, p has order 2 and u order 1.5 on any outline; a
staircase of cells gives orders 1 and 1/2.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from jostle._tools.arguments import check_arguments
from jostle._tools.arrays import Array, Booleans
from jostle.macro.checks import OfPlaces, point, polygon, positive, within

Outline = OfPlaces
"""A function of (x, y), negative inside a zone."""

BISECTION_STEPS = 50
"""Number of bisection steps that locate the boundary of a zone between two centres."""
MIN_DISTANCE = 1e-6
"""Smallest distance of a centre from the boundary of its zone, in cells."""


@check_arguments
@dataclass(frozen=True, eq=False)
class Disc:
    """A disc as an outline: the signed distance from its boundary, negative inside.

    Parameters
    ----------
    centre : array_like, shape (2,)
        Centre (x, y).
    radius : float
        Radius, positive.

    Examples
    --------
    >>> from jostle.macro import Grid, Isotropic
    >>> grid = Grid([-1, -1], [1, 1], h=1 / 8)
    >>> after = Isotropic(grid, Disc([0, 0], 0.9)).impact(grid.velocity(lambda x, y: -x, lambda x, y: -y))
    >>> exact = 0.5 * (0.81 - 2 * (1 / 16) ** 2)                           # (R^2 - r^2) / 2
    >>> round(float(after.pressure[8, 8]), 9) == round(exact, 9)
    True
    """

    centre: ArrayLike
    radius: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "centre", point(self.centre, "centre"))
        object.__setattr__(self, "radius", positive(self.radius, "radius"))

    def __call__(self, x: Array, y: Array) -> Array:
        x0, y0 = np.asarray(self.centre)
        return np.asarray(np.hypot(x - x0, y - y0) - self.radius)


@check_arguments
@dataclass(frozen=True, eq=False)
class Polygon:
    """A polygon as an outline: the signed distance from its boundary, negative inside (even-odd rule).

    Parameters
    ----------
    points : array_like, shape (n, 2)
        Corners (x, y) in order; at least three.

    Examples
    --------
    >>> Polygon([(0, 0), (4, 0), (0, 3)])(np.array([1.0, 4.0]), np.array([1.0, 3.0])).round(12).tolist()
    [-1.0, 2.4]
    """

    points: ArrayLike

    def __post_init__(self) -> None:
        object.__setattr__(self, "points", polygon(self.points))

    def __call__(self, x: Array, y: Array) -> Array:
        corners = np.asarray(self.points)
        nearest = np.full(np.shape(x), np.inf)
        for a, b in zip(corners, np.roll(corners, -1, axis=0), strict=True):
            side = b - a
            along = ((x - a[0]) * side[0] + (y - a[1]) * side[1]) / max(float(side @ side), np.finfo(float).tiny)
            part = np.clip(along, 0.0, 1.0)
            nearest = np.minimum(nearest, np.hypot(x - a[0] - part * side[0], y - a[1] - part * side[1]))
        return np.where(inside_polygon(corners, x, y), -nearest, nearest)


def inside_polygon(corners: Array, x: Array, y: Array) -> Booleans:
    """Which points lie in a polygon: those from which a ray crosses the sides an odd number of times."""
    inside = np.zeros(np.shape(x), dtype=bool)
    for (x0, y0), (x1, y1) in zip(corners, np.roll(corners, -1, axis=0), strict=True):
        crosses = (y0 > y) != (y1 > y)
        if y0 != y1:
            inside ^= crosses & (x < x0 + (y - y0) * (x1 - x0) / (y1 - y0))
    return inside


def crossing(outline: Outline, inner: Array, outer: Array) -> Array:
    """(m,): the fraction of the way from inner to outer points (m, 2) where the outline is crossed; NaN if it is not.

    >>> crossing(Disc([0, 0], 1.0), np.array([[0.0, 0.0]]), np.array([[2.0, 0.0]])).round(12).tolist()
    [0.5]
    """

    def outside(points: Array) -> Booleans:
        return ~within(outline, points[:, 0], points[:, 1])

    low, high = np.zeros(len(inner)), np.ones(len(inner))
    for _ in range(BISECTION_STEPS):
        middle = 0.5 * (low + high)
        beyond = outside(inner + middle[:, None] * (outer - inner))
        low, high = np.where(beyond, low, middle), np.where(beyond, middle, high)
    found = np.maximum(0.5 * (low + high), MIN_DISTANCE)
    return np.where(outside(outer) & ~outside(inner), found, np.nan)
