"""Where people head: directions between the nodes of grids."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from jostle._tools.arrays import Array, Integers

LOST = 0.3
"""Length of the mean direction around a person below which two ways are about equally long."""


def headings(
    q: Array,
    field: Integers,
    fields: Sequence[tuple[tuple[int, int], Array]],
    lower: Array,
    step: float,
    shape: tuple[int, int],
    exits: Array,
    outward: Array,
    chunks: int,
) -> Array:
    """(n, 2) unit vectors at q, each interpolated in the `field` (n,) of that person; 0 where its number is negative.

    A grid has the nodes lower + step (i, j), of which there are `shape`. A field is (low, direction): its direction
    (rows, columns, 2) at the nodes from `low` on. Directions are NaN where the field does not reach, or is NaN. Where
    those around a person cancel, their sum decides, or the longest of them if the sum is small too. People beyond the
    grid head along `outward` (k, 2) of the nearest of the segments `exits` (k, 2, 2). `chunks` says how many threads
    share the work; it does not change the result.
    """
    out = np.zeros((len(q), 2))
    for a in np.flatnonzero(np.asarray(field) >= 0):
        x = (q[a] - lower) / step
        cell = np.floor(x)
        if (cell < 0).any() or (cell >= np.array(shape) - 1).any():
            out[a] = outward[np.argmin([_distance(q[a], *ends) for ends in exits])]
            continue
        low, direction = fields[field[a]]
        i, j = (cell - low).astype(int)
        if i < 0 or j < 0 or i + 1 >= direction.shape[0] or j + 1 >= direction.shape[1]:
            out[a] = np.nan
            continue
        s, t = x - cell
        corners = direction[i : i + 2, j : j + 2].reshape(4, 2).astype(float)
        way = np.array([(1 - s) * (1 - t), (1 - s) * t, s * (1 - t), s * t]) @ corners
        if np.linalg.norm(way) < LOST:
            way = corners.sum(axis=0)
        if np.linalg.norm(way) < LOST:
            way = corners[np.argmax(np.linalg.norm(corners, axis=1))]
        out[a] = way / max(float(np.linalg.norm(way)), np.finfo(float).tiny)
    return out


def _distance(x: Array, start: Array, end: Array) -> float:
    """The distance from a point to a segment."""
    along = end - start
    square = float(along @ along)
    s = min(max(float((x - start) @ along) / square, 0.0), 1.0) if square > 0.0 else 0.0
    return float(np.linalg.norm(x - start - s * along))
