"""Projection of points in space onto the plane of a picture."""

from __future__ import annotations

import numpy as np

from jostle.arrays import Array

AZIMUTH, ELEVATION = -62.0, 16.0
"""Default azimuth and elevation of the view of space, in degrees."""


def directions(view: tuple[float, float]) -> Array:
    """(3, 3) rows: to the right, upwards, towards the eye. `view` is the azimuth and the elevation in degrees.

    >>> directions((-90.0, 0.0)).round(9) + 0.0
    array([[ 1.,  0.,  0.],
           [ 0.,  0.,  1.],
           [ 0., -1.,  0.]])
    """
    a, b = np.radians(view[0] + 90.0), np.radians(view[1])
    return np.array(
        [
            [np.cos(a), np.sin(a), 0.0],
            [-np.sin(b) * np.sin(a), np.sin(b) * np.cos(a), np.cos(b)],
            [np.cos(b) * np.sin(a), -np.cos(b) * np.cos(a), np.sin(b)],
        ]
    )


def as_seen(points: Array, view: tuple[float, float]) -> Array:
    """Points of space as they are seen: to the right, upwards, towards the eye; points of the plane as they are.

    >>> as_seen(np.array([[1.0, 2.0]]), (-60.0, 20.0)).tolist()
    [[1.0, 2.0]]
    """
    return points if points.shape[-1] == 2 else points @ directions(view).T
