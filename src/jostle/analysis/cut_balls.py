"""The exact volume of a disc or ball inside a rectangular region, by inclusion and exclusion of its corners."""

from __future__ import annotations

import numpy as np

from jostle.arrays import Array


def volumes_inside(x: Array, r: Array, low: Array, high: Array) -> Array:
    """(n,) volume of each ball inside the region."""
    d, size = len(low), r[:, None]
    below, above = np.clip(low - x, -size, size), np.clip(high - x, -size, size)
    inside = ((below < size) & (above > -size)).all(axis=1)
    parts = np.where(inside, np.pi * r**2 if d == 2 else 4.0 / 3.0 * np.pi * r**3, 0.0)
    cut = inside & ((below > -size) | (above < size)).any(axis=1)
    volume = _quadrant if d == 2 else _octant
    corners = np.stack([below[cut], above[cut]]) / size[cut]
    total = np.zeros(np.count_nonzero(cut))
    for sides in np.ndindex((2,) * d):
        total += (-1) ** sum(sides) * volume(*[corners[side, :, axis] for axis, side in enumerate(sides)])
    parts[cut] = r[cut] ** d * total
    return parts


def _quadrant(a: Array, b: Array, r: Array | float = 1.0) -> Array:
    """The area of the disc |x| <= r where x > a and y > b.

    Let s(x) = sqrt(r^2 - x^2), S its integral from -r, and c = s(b). The circular segment above |b| has the area
    T = S(-a) - S(-c) - |b| (c - a) to the right of a, if -c <= a <= c. The result is T if b > 0, else 2 S(-a) - T.
    """
    a, b = np.clip(a, -r, r), np.clip(b, -r, r)
    c = np.sqrt(r**2 - b**2)
    start = np.clip(a, -c, c)
    T = _under_arc(-start, r) - _under_arc(-c, r) - np.abs(b) * (c - start)
    return np.where(b > 0.0, T, 2.0 * _under_arc(-a, r) - T)


def _under_arc(x: Array, r: Array | float) -> Array:
    """S(x), the integral of sqrt(r^2 - x^2) from -r to x."""
    s = np.sqrt(np.maximum(r**2 - x**2, 0.0))
    return np.asarray((x * s + r**2 * (np.arctan2(x, s) + np.pi / 2.0)) / 2.0)


def _octant(a: Array, b: Array, c: Array) -> Array:
    """The volume of the unit ball where x > a, y > b and z > c.

    By the divergence theorem, three times the volume is the area on the sphere, minus a times the area of the face
    x = a (a quadrant of a smaller disc), minus b and c times the areas of the other two faces.
    """
    volume = _triangle(a, b, c)
    for u, v, w in ((a, b, c), (b, c, a), (c, a, b)):
        volume = volume - u * _quadrant(v, w, np.sqrt(1.0 - u**2))
    return volume / 3.0


def _triangle(a: Array, b: Array, c: Array) -> Array:
    """The area on the unit sphere where x > a, y > b and z > c.

    For a, b, c >= 0 it is a triangle with sides on three circles, or empty. By the Gauss-Bonnet theorem its area is
    the sum of its angles, minus pi, minus the angle of each arc times the height of its circle. For c < 0 it is the
    region x > a, y > b without the mirror image of the triangle for -c.
    """
    A, B, C = np.abs(a), np.abs(b), np.abs(c)
    area = np.zeros_like(A) - np.pi
    for u, v, w in ((A, B, C), (B, C, A), (C, A, B)):
        vertex, other = _root(u, v), _root(w, u)
        arc = np.arctan2(vertex, v) + np.arctan2(other, w) - np.pi / 2.0
        area = area + np.arctan2(vertex, u * v) - u * arc
    area = np.where(A**2 + B**2 + C**2 < 1.0, area, 0.0)
    area = np.where(c < 0.0, _lune(A, B) - area, area)
    area = np.where(b < 0.0, _lune(A, c) - area, area)
    return np.where(a < 0.0, _lune(b, c) - area, area)


def _lune(a: Array, b: Array) -> Array:
    """The area on the unit sphere where x > a and y > b, by the Gauss-Bonnet theorem."""
    vertex = _root(a, b)
    return np.asarray(2.0 * (np.arctan2(vertex, a * b) - a * np.arctan2(vertex, b) - b * np.arctan2(vertex, a)))


def _root(a: Array, b: Array) -> Array:
    """The height z of the point (a, b, z) of the unit sphere; 0 if there is no such point."""
    return np.asarray(np.sqrt(np.maximum(1.0 - a**2 - b**2, 0.0)))
