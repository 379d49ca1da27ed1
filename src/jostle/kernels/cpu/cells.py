"""Which balls are near each other: cells, a list of pairs that lasts for a while, and the pairs of the moment.

Balls of like size (within a factor of two) share a grid whose cells are as wide as two of them; each
ball looks into its own grid and into the coarser ones, so that a few large balls cost the small ones nothing.
All grids live in one table of about two entries a ball, a cell being found by its number modulo the size of the
table: neighbours in space are neighbours in memory, and far outliers cost no memory.

Pairs come out sorted by (i, j), whatever the cells and the number of threads.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from jostle.kernels.cpu.jit import jit
from jostle.kernels.cpu.naming import renamed

MOST_LEVELS = 16
ROOM = 8
"""Pairs a ball that are made room for at first; if there are more the search is done again."""
MOST_CELLS = 2.0**20
"""Cells along an axis; beyond, they are made wider."""


@jit()
def _grids(x, radii, period):
    """The level of each ball, and of each level the largest radius, the first cell's number, widths and counts."""
    n = len(x)
    largest = radii.max()
    level = np.empty(n, np.int64)
    reach = np.zeros(MOST_LEVELS)
    for a in range(n):
        k = 0
        while k + 1 < MOST_LEVELS and radii[a] <= largest / 2.0 ** (k + 1):
            k += 1
        level[a] = k
        reach[k] = max(reach[k], radii[a])
    low, high = np.empty(3), np.empty(3)
    for k in range(3):
        low[k], high[k] = x[:, k].min(), x[:, k].max()
    width, count = np.ones((MOST_LEVELS, 3)), np.ones((MOST_LEVELS, 3), np.int64)
    first = np.zeros(MOST_LEVELS + 1, np.int64)
    for v in range(MOST_LEVELS):
        cells = 1
        if reach[v] > 0.0:
            for k in range(3):
                extent = period[k] if period[k] < np.inf else high[k] - low[k]
                wanted = max(2.0 * reach[v], extent / MOST_CELLS)
                if period[k] < np.inf:
                    count[v, k] = max(1, int(extent / wanted))
                    width[v, k] = extent / count[v, k]
                else:
                    count[v, k], width[v, k] = int(extent / wanted) + 1, wanted
                cells *= count[v, k]
        first[v + 1] = first[v] + cells
    return level, reach, first, width, count, low


@jit()
def _cell(position, low, width, count, periodic):
    """The cell of a coordinate along one axis."""
    k = int(np.floor((position - low) / width))
    return k % count if periodic else min(max(k, 0), count - 1)


@jit()
def _sorted_by_cell(x, level, first, width, count, low, period):
    """The table: the balls in the order of their buckets, where each bucket starts, and the cell of each ball."""
    n = len(x)
    size = 1
    while size < 2 * n:
        size *= 2
    cell, start = np.empty(n, np.int64), np.zeros(size + 1, np.int64)
    for a in range(n):
        v = level[a]
        number = 0
        for k in range(2, -1, -1):
            number = number * count[v, k] + _cell(x[a, k], low[k], width[v, k], count[v, k], period[k] < np.inf)
        cell[a] = first[v] + number
        start[(cell[a] & (size - 1)) + 1] += 1
    for bucket in range(size):
        start[bucket + 1] += start[bucket]
    order, filled = np.empty(n, np.int64), start[:-1].copy()
    for a in range(n):
        bucket = cell[a] & (size - 1)
        order[filled[bucket]] = a
        filled[bucket] += 1
    return order, start, cell[order]


@jit()
def _range(position, cut, low, width, count, periodic):
    """The first cell and the number of cells within cut of a coordinate, along one axis."""
    lowest = int(np.floor((position - cut - low) / width))
    highest = int(np.floor((position + cut - low) / width))
    if periodic:
        return lowest % count, min(highest - lowest + 1, count)
    lowest, highest = min(max(lowest, 0), count - 1), min(max(highest, 0), count - 1)
    return lowest, highest - lowest + 1


@jit()
def _search(begin, end, order, start, cell, x, radii, level, reach, first, width, count, low, period, i, j):
    """The pairs that meet, found from the balls begin to end of the table; x, radii, level in its order.

    Writes as many as i and j have room for, and returns how many there are.
    """
    size = len(start) - 1
    found = 0
    wraps = period[0] < np.inf or period[1] < np.inf or period[2] < np.inf
    for a in range(begin, end):
        for v in range(level[a] + 1):
            if reach[v] == 0.0:
                continue
            cut, same = radii[a] + reach[v], v == level[a]
            nx, ny, nz = count[v]
            x0, x_span = _range(x[a, 0], cut, low[0], width[v, 0], nx, period[0] < np.inf)
            y0, y_span = _range(x[a, 1], cut, low[1], width[v, 1], ny, period[1] < np.inf)
            z0, z_span = _range(x[a, 2], cut, low[2], width[v, 2], nz, period[2] < np.inf)
            for kz in range(z0, z0 + z_span):
                z = kz if kz < nz else kz - nz
                for ky in range(y0, y0 + y_span):
                    y = ky if ky < ny else ky - ny
                    row = first[v] + (z * ny + y) * nx
                    kx, left = x0, x_span
                    while left > 0:
                        # a run of cells along x, cut where the period or the table begins anew
                        bucket = (row + kx) & (size - 1)
                        run = min(left, nx - kx, size - bucket)
                        number = row + kx
                        left -= run
                        kx = kx + run if kx + run < nx else 0
                        one = max(start[bucket], a + 1) if same else start[bucket]
                        for b in range(one, start[bucket + run]):
                            if cell[b] < number or cell[b] >= number + run:
                                continue
                            dx, dy, dz = x[b, 0] - x[a, 0], x[b, 1] - x[a, 1], x[b, 2] - x[a, 2]
                            if wraps:
                                dx, dy, dz = _image(dx, period[0]), _image(dy, period[1]), _image(dz, period[2])
                            near = radii[a] + radii[b]
                            if dx * dx + dy * dy + dz * dz <= near * near:
                                if found < len(i):
                                    i[found], j[found] = min(order[a], order[b]), max(order[a], order[b])
                                found += 1
    return found


@jit()
def _image(apart, period):
    """The shortest of apart + k period."""
    return apart - period * np.round(apart / period) if period < np.inf else apart


@jit()
def _in_order(i, j, found, n):
    """The first found[r] pairs of each row of i and j, all together sorted by i, then by j."""
    start = np.zeros(n + 1, np.int64)
    for r in range(len(found)):
        for c in range(found[r]):
            start[i[r, c] + 1] += 1
    for a in range(n):
        start[a + 1] += start[a]
    first, second, filled = np.empty(start[n], np.int32), np.empty(start[n], np.int32), start[:-1].copy()
    for r in range(len(found)):
        for c in range(found[r]):
            a, b = i[r, c], j[r, c]
            k = filled[a]
            while k > start[a] and second[k - 1] > b:
                second[k] = second[k - 1]
                k -= 1
            second[k], first[filled[a]] = b, a
            filled[a] += 1
    return first, second


def _pair_list(x, radii, period, chunks):
    level, reach, first, width, count, low = _grids(x, radii, period)
    order, start, cell = _sorted_by_cell(x, level, first, width, count, low, period)
    x, radii, level = x[order], radii[order], level[order]
    cuts = np.linspace(0, len(x), chunks + 1).astype(np.int64)
    found, room = np.zeros(chunks, np.int64), ROOM * (len(x) // chunks + 1)
    while True:
        i, j = np.empty((chunks, room), np.int32), np.empty((chunks, room), np.int32)
        for r in prange(chunks):
            found[r] = _search(
                cuts[r], cuts[r + 1], order, start, cell, x, radii, level, reach, first, width, count, low, period,
                i[r], j[r],
            )  # fmt: skip
        if found.max() <= room:
            return _in_order(i, j, found, len(x))
        room = found.max()


_serial = jit()(_pair_list)
_parallel = jit(parallel=True)(renamed(_pair_list, "_pair_list_parallel"))


def pair_list(q, radii, period, chunks):
    """(i, j) of the balls i < j that meet, in order; q (n, d), d <= 3, period (d,), infinite where open."""
    n, d = q.shape
    x, lengths = np.zeros((n, 3)), np.full(3, np.inf)
    x[:, :d], lengths[:d] = q, period
    return (_parallel if chunks > 1 else _serial)(x, radii, lengths, chunks)


@jit()
def near(i, j, q, radii, reach, period):
    """(i, j, normal, gap) of the listed pairs with gap <= reach_i + reach_j: see `reference.all_pairs`."""
    d = q.shape[1]
    first, second = np.empty(len(i), np.int64), np.empty(len(i), np.int64)
    normal, gap = np.empty((len(i), d)), np.empty(len(i))
    apart = np.empty(d)
    m = 0
    for c in range(len(i)):
        a, b, square = i[c], j[c], 0.0
        for k in range(d):
            apart[k] = q[b, k] - q[a, k]
            if period[k] < np.inf:
                apart[k] -= period[k] * np.round(apart[k] / period[k])
            square += apart[k] * apart[k]
        distance = np.sqrt(square)
        free = distance - radii[a] - radii[b]
        if not free > reach[a] + reach[b]:
            first[m], second[m], gap[m] = a, b, free
            for k in range(d):
                normal[m, k] = apart[k] / distance if distance > 0.0 else np.nan
            m += 1
    return first[:m].copy(), second[:m].copy(), normal[:m].copy(), gap[:m].copy()


@jit()
def all_pairs(q, radii, reach, period):
    """See `reference.all_pairs`."""
    n = len(q)
    i, j = np.empty(n * (n - 1) // 2, np.int32), np.empty(n * (n - 1) // 2, np.int32)
    m = 0
    for a in range(n):
        for b in range(a + 1, n):
            i[m], j[m] = a, b
            m += 1
    return near(i, j, q, radii, reach, period)


@jit()
def strayed(q, before):
    """(n,) how far each ball went since `before`, apart from what all of them went together."""
    n, d = q.shape
    mean = np.zeros(d)
    for a in range(n):
        for k in range(d):
            mean[k] += q[a, k] - before[a, k]
    mean /= n
    way = np.empty(n)
    for a in range(n):
        square = 0.0
        for k in range(d):
            square += (q[a, k] - before[a, k] - mean[k]) ** 2
        way[a] = np.sqrt(square)
    return way
