"""What is near: balls and each other, points and segments; see `jostle.kernels.cpu.cells` for the grids."""

from __future__ import annotations

from typing import Any

import cupy
import numpy as np

from jostle import kernels
from jostle._tools.arrays import Array, Integers, Shorts
from jostle.kernels.cuda.launch import each, on_host, summed, summed_by_blocks

LEVELS = 16
MOST_CELLS = 2.0**20
"""Cells along an axis; beyond, they are made wider."""
REACH, FIRST = 3, 3
"""The last entries of `widths` and `counts` a level: the largest radius, and the number of its first cell."""
NONE = np.uint64(0)
"""In the place of an array that there is not."""


@kernels.pair_list.on("cupy")
def pair_list(q: Array, radii: Array, period: Array, chunks: int) -> tuple[Shorts, Shorts]:
    """See `reference.pair_list`; `chunks` makes no difference here."""
    (n, d), size = q.shape, 1 << (2 * len(q) - 1).bit_length()
    level, widths, counts, low = _levels(q, radii, on_host(period))
    cell, held = cupy.empty(n, np.int64), cupy.zeros(size + 1, np.uint64)
    each("fill_cells", d, n, q, level, widths, counts, low, period, np.int64(size), cell, held)
    start, order = summed(held.view(np.int64)), cupy.empty(n, np.int32)
    each("fill_buckets", d, n, cell, np.int64(size), start, cupy.zeros(size, np.uint32), order)
    table = order, start, np.int64(size), cell, q, radii, level, widths, counts, low, period
    number = cupy.zeros(n + 1, np.uint64)
    each("search", d, n, *table, number, NONE, NONE, NONE)
    begin = summed(number.view(np.int64))
    first, second = cupy.empty((2, int(begin[-1])), np.int32)
    each("search", d, n, *table, number, begin, cupy.zeros(n, np.uint32), second)
    each("sort_lists", d, n, begin, second)
    each("spread", d, n, begin, first)
    return first, second


def _levels(q: Array, radii: Array, period: Array) -> tuple[Any, Any, Any, Any]:
    """The level of each ball; the widths (levels, 4) of the cells of each, their counts (levels, 4), the corner."""
    (n, d), level, widest = q.shape, cupy.empty(len(q), np.int32), cupy.zeros(LEVELS, np.int64)
    extents = on_host(summed_by_blocks("fill_extents", d, n, q, radii, sums=2 * d + 1))
    low, high = extents[:, :d].min(axis=0), extents[:, d : 2 * d].max(axis=0)
    each("fill_levels", d, n, radii, extents[:, -1].max(), level, widest)
    radius = on_host(widest).view(np.float64)
    widths, counts = np.zeros((LEVELS, 4)), np.ones((LEVELS, 4), np.int64)
    widths[:, REACH], used = radius, radius > 0.0
    for k in range(d):
        periodic = period[k] < np.inf
        extent = period[k] if periodic else high[k] - low[k]
        wanted = np.maximum(2.0 * radius[used], extent / MOST_CELLS)
        fits = np.floor(extent / wanted).astype(np.int64)
        counts[used, k] = np.maximum(fits, 1) if periodic else fits + 1
        widths[used, k] = extent / counts[used, k] if periodic else wanted
    counts[1:, FIRST] = np.cumsum(counts[:, :FIRST].prod(axis=1))[:-1]
    counts[0, FIRST] = 0
    return level, cupy.asarray(widths), cupy.asarray(counts), cupy.asarray(low)


@kernels.near.on("cupy")
def near(
    i: Shorts, j: Shorts, q: Array, radii: Array, cutoff: Array, period: Array, chunks: int
) -> tuple[Integers, Array, Array]:
    return _near(len(i), i, j, q, radii, cutoff, period)


@kernels.all_pairs.on("cupy")
def all_pairs(q: Array, radii: Array, cutoff: Array, period: Array) -> tuple[Integers, Array, Array]:
    return _near(len(q) * (len(q) - 1) // 2, NONE, NONE, q, radii, cutoff, period)


def _near(
    most: int, i: Any, j: Any, q: Array, radii: Array, cutoff: Array, period: Array
) -> tuple[Integers, Array, Array]:
    n, d = q.shape
    if most == 0:
        return cupy.empty((2, 0), np.int64), cupy.empty((0, d)), cupy.empty(0)
    place = cupy.empty(most, np.int64)
    each("mark_near", d, most, np.int64(n), i, j, q, radii, cutoff, period, place)
    place = summed(place)
    m = int(place[-1])
    pairs, normal, gap = cupy.empty((2, m), np.int64), cupy.empty((m, d)), cupy.empty(m)
    each("write_near", d, most, np.int64(n), i, j, q, radii, period, place, pairs[0], pairs[1], normal, gap)
    return pairs, normal, gap


@kernels.near_segments.on("cupy")
def near_segments(x: Array, limit: Array, start: Array, along: Array, dual: Array) -> tuple[Integers, Array]:
    k, rows = len(start), len(x) * len(start)
    if rows == 0:
        return cupy.empty(0, np.int64), cupy.empty(0)
    x, start, along, dual = (cupy.ascontiguousarray(array) for array in (x, start, along, dual))
    place = cupy.empty(rows, np.int64)
    each("mark_segments", 2, rows, np.int64(k), x, limit, start, along, dual, place)
    place = summed(place)
    row, distance = cupy.empty(int(place[-1]), np.int64), cupy.empty(int(place[-1]))
    each("write_segments", 2, rows, np.int64(k), x, start, along, dual, place, row, distance)
    return row, distance
