"""Shortest distances on a grid, the directions in which they decrease, and where people head."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from jostle._tools.arrays import Array, Booleans, Integers
from jostle.kernels.interface import kernel

LOST = 0.3
"""Length of the mean direction around a person below which two ways are about equally long."""
LEVEL = 1e-9
"""Two neighbouring values on a grid count as equal if they differ by less than this fraction of its step."""
FLAT = 0.3
"""Where a central difference of a distance is smaller than this, two paths are about equally long."""


@kernel("jostle.plans.compiled")
def marched(
    free: Booleans,
    start: Array,
    step: float,
    cost: Array | None = None,
    wanted: Booleans | None = None,
    slack: float = 0.0,
) -> Array:
    """(nx, ny) the distances on the free nodes of a grid from the finite values of start; infinite where none leads.

    They solve |grad d| = cost, where the cost (nx, ny) is 1 if it is not given. Fast marching (Sethian 1999): of all
    nodes that are not accepted, the one with the smallest `upwind` value is. If `wanted` (nx, ny) is given, distances
    are infinite where they exceed that of the last wanted node to be accepted by more than `slack`.
    """
    left = None if wanted is None else wanted & free & ~np.isfinite(start)
    limit = slack if left is not None and not left.any() else np.inf
    d, accepted = start.copy(), np.isfinite(start)
    lengths = np.full(start.shape, step) if cost is None else step * cost
    while True:
        tentative = np.where(free & ~accepted, upwind(np.where(accepted, d, np.inf), lengths), np.inf)
        node = np.unravel_index(np.argmin(tentative), d.shape)
        if not np.isfinite(tentative[node]) or tentative[node] > limit:
            return d
        d[node], accepted[node] = tentative[node], True
        if left is not None and left[node]:
            left[node] = False
            limit = np.inf if left.any() else d[node] + slack


def upwind(d: Array, step: Array) -> Array:
    """(nx, ny) T at each node from the others: sum over both axes of max(slope (T - base), 0)^2 = step^2.

    Towards a neighbour at d1, with d2 behind it, the difference (3 T - 4 d1 + d2) / 2 of second order has
    base = d1 + (d1 - d2) / 3 and slope 3 / 2. Unless d2 <= d1, the difference of first order is used, with base = d1
    and slope 1. Of the two sides of an axis the one with the smaller T counts. Infinite values are not known.
    """
    sides = []
    around = np.pad(d, 2, constant_values=np.inf)
    for axis, way in ((0, -1), (0, 1), (1, -1), (1, 1)):
        near, far = (np.roll(around, -way * k, axis)[2:-2, 2:-2] for k in (1, 2))
        with np.errstate(invalid="ignore"):
            rise = near - far
        second = np.isfinite(near) & np.isfinite(far) & (rise >= -LEVEL * step)
        base = np.where(second, near + np.maximum(np.where(second, rise, 0.0), 0.0) / 3.0, near)
        sides.append((base, np.where(second, 1.5, 1.0)))
    least = np.full(d.shape, np.inf)
    for x in sides[:2]:
        for y in sides[2:]:
            swap = x[0] > y[0]
            (a, slope_a), (b, slope_b) = (
                tuple(np.where(swap, v, u) for u, v in zip(one, other, strict=True)) for one, other in ((x, y), (y, x))
            )
            with np.errstate(invalid="ignore"):
                apart = b - a
                alone = ~(slope_a * apart < step)
                total = slope_a**2 + slope_b**2
                root = np.sqrt(total * step**2 - (slope_a * slope_b * apart) ** 2)
                both = a + (slope_b**2 * apart + root) / total
            least = np.minimum(least, np.where(alone, a + step / slope_a, both))
    return least


@kernel("jostle.plans.compiled")
def descent(d: Array, step: float, free: Booleans | None = None, otherwise: Array | None = None) -> Array:
    """(nodes, 2) -grad d / |grad d| of distances (nx, ny), from the finite values; 0 where none differ.

    Differences are central where both neighbours are finite, and one-sided where one is. Where the gradient is below
    FLAT, the lower neighbour along each axis decides; none, if both fall by the same, so that mirror images stay so.

    With `free` (nx, ny) and `otherwise` (nx, ny, 2), nodes that are not free keep the vectors of `otherwise`, and free
    nodes are NaN where the distance is not known there or at a free neighbour.
    """
    gradient, least = np.zeros((*d.shape, 2)), np.zeros((*d.shape, 2))
    for axis in range(2):
        values = np.moveaxis(np.where(np.isfinite(d), d, np.nan), axis, 0)
        rise = np.full((values.shape[0] + 1, values.shape[1]), np.nan)
        rise[1:-1] = (values[1:] - values[:-1]) / step
        below, above = rise[:-1], rise[1:]
        one, other = np.where(np.isnan(below), above, below), np.where(np.isnan(above), below, above)
        gradient[..., axis] = np.moveaxis(np.nan_to_num((one + other) / 2.0), 0, axis)
        down, up = np.maximum(np.nan_to_num(below), 0.0), np.maximum(-np.nan_to_num(above), 0.0)
        either = np.where(down > up, down, -up)
        least[..., axis] = np.moveaxis(np.where(np.abs(down - up) <= LEVEL, 0.0, either), 0, axis)
    flat = np.linalg.norm(gradient, axis=-1) < FLAT
    gradient[flat] = least[flat]
    size = np.linalg.norm(gradient, axis=-1, keepdims=True)
    found = -gradient / np.where(size > 0.0, size, 1.0)
    if free is not None and otherwise is not None:
        unknown = np.pad(free & ~np.isfinite(d), 1)
        beside = unknown | np.roll(unknown, 1, 0) | np.roll(unknown, -1, 0)
        beside |= np.roll(unknown, 1, 1) | np.roll(unknown, -1, 1)
        found[beside[1:-1, 1:-1]] = np.nan
        found = np.where(free[..., None], found, otherwise)
    return np.asarray(found.reshape(-1, 2))


@kernel("jostle.plans.compiled")
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
