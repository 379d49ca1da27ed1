"""Checks of the arguments of macroscopic laws: numbers, masks, conditions and outlines, which are easily confused.

mask        one boolean per cell, or one number that is exactly 0 or 1
condition   a function of (x, y) that is True inside
outline     a function of (x, y) that is negative inside
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from jostle._tools.arrays import Array, Booleans, finite
from jostle.errors import InvalidValue, NotFinite

OfPlaces = Callable[[Array, Array], ArrayLike]
"""A function of (x, y)."""


def point(value: ArrayLike, name: str) -> Array:
    """(2,): a point in the plane.

    >>> point([1, 2], "centre").tolist()
    [1.0, 2.0]
    """
    place = finite(value, name)
    if place.shape != (2,):
        raise InvalidValue(f"{name} must be two numbers (x, y), not {value!r}")
    return place


def polygon(points: ArrayLike) -> Array:
    """(n, 2): the corners of a polygon."""
    corners = finite(points, "points")
    if corners.ndim != 2 or corners.shape[1] != 2 or len(corners) < 3:
        raise InvalidValue(f"a polygon needs at least three corners (x, y), not an array of shape {corners.shape}")
    return corners


def truths(values: Any, name: str = "a mask") -> Booleans:
    """A mask as an ordinary array of booleans; densities and distances are refused.

    >>> truths([0.0, 1.0]).tolist()
    [False, True]
    """
    array = np.array(values)  # a copy: the caller may use its own array for something else
    if array.dtype == bool:
        return array
    if array.dtype.kind not in "iuf" or not ((array == 0) | (array == 1)).all():
        raise InvalidValue(f"{name} must be True or False (or 1 or 0); compare numbers first, as in density > 0.5")
    return np.asarray(array == 1)


def holds(condition: OfPlaces, x: Array, y: Array) -> Booleans:
    """Where a condition is true.

    >>> holds(lambda x, y: x < y, np.array([0.0, 2.0]), np.array([1.0, 1.0])).tolist()
    [True, False]
    """
    found = np.asarray(condition(x, y))
    if found.dtype != bool:
        raise InvalidValue(
            f"a condition must return True or False, not {found.dtype}; for an outline: lambda x, y: outline(x, y) < 0"
        )
    return np.broadcast_to(found, x.shape)


def within(outline: OfPlaces, x: Array, y: Array) -> Booleans:
    """Where an outline is negative.

    >>> within(lambda x, y: x - y, np.array([0.0, 2.0]), np.array([1.0, 1.0])).tolist()
    [True, False]
    """
    found = np.asarray(outline(x, y))
    if found.dtype.kind not in "iuf":
        raise InvalidValue(
            f"an outline must return numbers, negative inside, not {found.dtype}; turn a condition into a mask with "
            "grid.zone(condition)"
        )
    if np.isnan(found).any():
        raise NotFinite("an outline is nan at some points; it must be a number everywhere, negative inside")
    return np.broadcast_to(found < 0.0, x.shape)
