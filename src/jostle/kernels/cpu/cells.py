"""Which balls are near each other: cells, a list of pairs that lasts for a while, and the pairs of the moment. Also
which points of the plane are near which segments.

Balls of like size (within a factor of two) share a grid whose cells are as wide as two of them; each
ball looks into its own grid and into the coarser ones, so that a few large balls cost the small ones nothing.
All grids live in one table of about two entries a ball, a cell being found by its number modulo the size of the
table: neighbours in space are neighbours in memory, and far outliers cost no memory.

Pairs come out sorted by (i, j), whatever the cells and the number of threads.
"""

from __future__ import annotations

import numpy as np

from jostle import kernels
from jostle.kernels.compiling import (
    Floats,
    Floats2,
    Ints,
    Ints2,
    OutBools,
    OutFloats,
    OutFloats2,
    OutInts,
    OutInts2,
    OutShorts,
    Shorts,
    Shorts2,
    jit,
)
from jostle.kernels.parallel import cut, together

MOST_LEVELS = 16
ROOM, SPARE = 8, 1.5
"""Pairs per ball for which memory is reserved: at least ROOM, or SPARE times the number in the samples. If there are
more pairs, the search is repeated."""
SAMPLES, SAMPLED = 8, 512
"""Before the search, pairs are counted in this many samples of the balls, each of one ball in SAMPLED."""
MOST_CELLS = 2.0**20
"""Largest number of cells along an axis; if there would be more, cells are wider."""


REACH, FIRST = 3, 3
"""The grid of a level is `widths` (levels, 4), the widths of a cell along three axes, and then the largest radius, 0 if
there is no ball; and `counts` (levels, 4), the number of cells along each axis, and then the number of the first."""


@kernels.pair_list.on("numpy")
def pair_list(q: Floats2, radii: Floats, period: Floats, chunks: int) -> tuple[Shorts, Shorts]:
    """(i, j) of the balls i < j that meet, in order: see `reference.pair_list`; q (n, d), d <= 3."""
    n, d = q.shape
    x, lengths = q, period
    if d < 3:
        x, lengths = np.zeros((n, 3)), np.full(3, np.inf)
        x[:, :d], lengths[:d] = q, period
    level, cell, order = np.empty((3, n), np.int64)
    start, low = np.zeros((1 << (2 * n - 1).bit_length()) + 1, np.int64), np.empty(3)
    widths, counts = np.zeros((MOST_LEVELS, 4)), np.ones((MOST_LEVELS, 4), np.int64)
    _fill_table(x, radii, lengths, level, widths, counts, low, cell, order, start)
    by_bucket = (array.take(order, axis=0) for array in (cell, x, radii, level))
    table = order, start, *by_bucket, widths, counts, low, lengths
    size = n // SAMPLED + 1
    a_ball = max(_search(at, at + size, *table, NO_LIST, NO_LIST) for at, _ in cut(n - size, SAMPLES)) / size
    room = int(max(ROOM, SPARE * a_ball) * (n // chunks + 1))
    while True:
        i, j = np.empty((chunks, room), np.int32), np.empty((chunks, room), np.int32)
        parts = [(*part, *table, *found) for part, *found in zip(cut(n, chunks), i, j, strict=True)]
        found = np.array(together(_search, parts))
        most = int(found.max())
        if most <= room:
            return _in_order(i, j, found, n)
        room = most


@jit(helper=True)
def _cell(position: float, low: float, width: float, count: int, periodic: bool) -> int:
    """The cell of a coordinate along one axis."""
    k = int(np.floor((position - low) / width))
    return k % count if periodic else min(max(k, 0), count - 1)


@jit()
def _fill_table(
    x: Floats2, radii: Floats, period: Floats, level: OutInts, widths: OutFloats2, counts: OutInts2, low: OutFloats,
    cell: OutInts, order: OutInts, start: OutInts,
) -> None:  # fmt: skip
    """The level and the cell of each ball, the grids, and the table: balls sorted by bucket, and where each starts.

    widths and start are zero, and counts one.
    """
    n, size, largest = len(x), len(start) - 1, 0.0
    for a in range(n):
        largest = max(largest, radii[a])
    for a in range(n):
        v, bound = 0, largest / 2.0
        while v + 1 < MOST_LEVELS and radii[a] <= bound:
            v += 1
            bound /= 2.0
        level[a] = v
        widths[v, REACH] = max(widths[v, REACH], radii[a])
    for k in range(3):
        least, most = x[0, k], x[0, k]
        for a in range(n):
            least, most = min(least, x[a, k]), max(most, x[a, k])
        low[k] = least
        periodic = period[k] < np.inf
        extent = period[k] if periodic else most - least
        for v in range(MOST_LEVELS):
            wanted = max(2.0 * widths[v, REACH], extent / MOST_CELLS)
            if widths[v, REACH] > 0.0:
                fits = int(extent / wanted)
                counts[v, k] = max(fits, 1) if periodic else fits + 1
                widths[v, k] = extent / counts[v, k] if periodic else wanted
    first = 0
    for v in range(MOST_LEVELS):
        counts[v, FIRST] = first
        first += counts[v, 0] * counts[v, 1] * counts[v, 2]
    for a in range(n):
        v, number = level[a], 0
        for k in range(2, -1, -1):
            number *= counts[v, k]
            if widths[v, REACH] > 0.0:
                number += _cell(x[a, k], low[k], widths[v, k], counts[v, k], period[k] < np.inf)
        cell[a] = counts[v, FIRST] + number
        start[cell[a] & (size - 1)] += 1
    total = 0
    for bucket in range(size + 1):
        total += start[bucket]
        start[bucket] = total
    for a in range(n - 1, -1, -1):
        bucket = cell[a] & (size - 1)
        start[bucket] -= 1
        order[start[bucket]] = a


@jit(helper=True)
def _range(position: float, cut: float, low: float, width: float, count: int, periodic: bool) -> tuple[int, int]:
    """The first cell and the number of cells within cut of a coordinate, along one axis."""
    lowest = int(np.floor((position - cut - low) / width))
    highest = int(np.floor((position + cut - low) / width))
    if periodic:
        return lowest % count, min(highest - lowest + 1, count)
    lowest, highest = min(max(lowest, 0), count - 1), min(max(highest, 0), count - 1)
    return lowest, highest - lowest + 1


@jit()
def _search(
    begin: int, end: int, order: Ints, start: Ints, cell: Ints, x: Floats2, radii: Floats, level: Ints,
    widths: Floats2, counts: Ints2, low: Floats, period: Floats, i: OutShorts, j: OutShorts,
) -> int:  # fmt: skip
    """The pairs that meet, found from the balls begin to end of the table; x, radii, level in its order.

    Writes as many as i and j have room for, and returns how many there are.
    """
    size = len(start) - 1
    found = 0
    wraps = min(period[0], period[1], period[2]) < np.inf
    for a in range(begin, end):
        for v in range(level[a] + 1):
            if widths[v, REACH] == 0.0:
                continue
            cut, same = radii[a] + widths[v, REACH], v == level[a]
            nx, ny, nz = counts[v, 0], counts[v, 1], counts[v, 2]
            x0, x_span = _range(x[a, 0], cut, low[0], widths[v, 0], nx, period[0] < np.inf)
            y0, y_span = _range(x[a, 1], cut, low[1], widths[v, 1], ny, period[1] < np.inf)
            z0, z_span = _range(x[a, 2], cut, low[2], widths[v, 2], nz, period[2] < np.inf)
            for kz in range(z0, z0 + z_span):
                z = kz if kz < nz else kz - nz
                for ky in range(y0, y0 + y_span):
                    y = ky if ky < ny else ky - ny
                    row = counts[v, FIRST] + (z * ny + y) * nx
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


@jit(helper=True)
def _image(apart: float, period: float) -> float:
    """The shortest of apart + k period."""
    return apart - period * np.rint(apart / period) if period < np.inf else apart


def _in_order(i: Shorts2, j: Shorts2, found: Ints, n: int) -> tuple[Shorts, Shorts]:
    """The first found[r] pairs of each row of i and j, all together sorted by i, then by j; one chunk for each row."""
    first, second = np.empty((2, int(found.sum())), np.int32)
    start, parts = np.zeros(n + 1, np.int64), cut(n, len(found))
    together(_count, [(i, found, *part, start) for part in parts])
    np.cumsum(start, out=start)
    filled = start.copy()
    together(_sort, [(i, j, found, *part, start, filled, first, second) for part in parts])
    return first, second


@jit()
def _count(i: Shorts2, found: Ints, low: int, high: int, start: OutInts) -> None:
    """start[a + 1], which is zero, becomes the number of pairs of ball a, of the balls low <= a < high."""
    for r in range(len(found)):
        for c in range(found[r]):
            if low <= i[r, c] < high:
                start[i[r, c] + 1] += 1


@jit()
def _sort(
    i: Shorts2, j: Shorts2, found: Ints, low: int, high: int, start: Ints, filled: OutInts, first: OutShorts,
    second: OutShorts,
) -> None:  # fmt: skip
    """Write the pairs of the balls low <= a < high in order, those of ball a from start[a] on; filled is start."""
    for r in range(len(found)):
        for c in range(found[r]):
            a, b = i[r, c], j[r, c]
            if not low <= a < high:
                continue
            k = filled[a]
            filled[a] += 1
            first[k] = a
            while k > start[a] and second[k - 1] > b:
                second[k] = second[k - 1]
                k -= 1
            second[k] = b


@kernels.near.on("numpy")
def near(
    i: Shorts, j: Shorts, q: Floats2, radii: Floats, cutoff: Floats, period: Floats, chunks: int
) -> tuple[Ints2, Floats2, Floats]:
    return _near(len(i), i, j, q, radii, cutoff, period, chunks)


@kernels.all_pairs.on("numpy")
def all_pairs(q: Floats2, radii: Floats, cutoff: Floats, period: Floats) -> tuple[Ints2, Floats2, Floats]:
    return _near(len(q) * (len(q) - 1) // 2, NO_LIST, NO_LIST, q, radii, cutoff, period, 1)


NO_LIST = np.empty(0, np.int32)


def _near(
    most: int, i: Shorts, j: Shorts, q: Floats2, radii: Floats, cutoff: Floats, period: Floats, chunks: int
) -> tuple[Ints2, Floats2, Floats]:
    """The near pairs of a list, or of all if it is empty, each thread taking a part of it."""
    d = q.shape[1]
    (first, second), normal, gap = np.empty((2, most), np.int64), np.empty((most, d)), np.empty(most)
    if chunks == 1:
        m = _fill_near(i, j, q, radii, cutoff, period, first, second, normal, gap)
        pairs = np.empty((2, m), np.int64)
        pairs[0], pairs[1] = first[:m], second[:m]
        return pairs, normal[:m].copy(), gap[:m].copy()
    listed, parts = (first, second, normal, gap), [slice(*part) for part in cut(most, chunks)]
    counts = together(
        _fill_near, [(i[part], j[part], q, radii, cutoff, period, *(array[part] for array in listed)) for part in parts]
    )
    ends = np.cumsum(counts)
    m = int(ends[-1])
    pairs, found_normal, found_gap = np.empty((2, m), np.int64), np.empty((m, d)), np.empty(m)

    def copy(to: int, first: int, count: int) -> None:
        for one, other in zip((*pairs, found_normal, found_gap), listed, strict=True):
            one[to : to + count] = other[first : first + count]

    together(copy, [(end - count, part.start, count) for end, count, part in zip(ends, counts, parts, strict=True)])
    return pairs, found_normal, found_gap


@jit(helper=True)
def _apart(q: Floats2, a: int, b: int, k: int, period: Floats) -> float:
    """The component k of q_b - q_a, q_b the nearest image."""
    way = q[b, k] - q[a, k]
    return way - period[k] * np.rint(way / period[k]) if period[k] < np.inf else way


@jit()
def _fill_near(
    i: Shorts, j: Shorts, q: Floats2, radii: Floats, cutoff: Floats, period: Floats, first: OutInts, second: OutInts,
    normal: OutFloats2, gap: OutFloats,
) -> int:  # fmt: skip
    """Writes the near pairs of the list, or of all if there is none, into the last arrays; returns how many."""
    n, d = q.shape
    a, b, m = 0, 0, 0
    for c in range(len(gap)):
        if len(i) > 0:
            a, b = i[c], j[c]
        else:
            b += 1
            if b == n:
                a, b = a + 1, a + 2
        square = 0.0
        for k in range(d):
            way = _apart(q, a, b, k, period)
            square += way * way
        distance = np.sqrt(square)
        free = distance - radii[a] - radii[b]
        if not free > cutoff[a] + cutoff[b]:
            first[m], second[m], gap[m] = a, b, free
            for k in range(d):
                normal[m, k] = _apart(q, a, b, k, period) / distance if distance > 0.0 else np.nan
            m += 1
    return m


A_POINT = 4
"""Near segments per point for which memory is reserved at first; if there are more, the search is repeated."""


@kernels.near_segments.on("numpy")
def near_segments(x: Floats2, limit: Floats, start: Floats2, along: Floats2, dual: Floats2) -> tuple[Ints, Floats]:
    start, along, dual = np.ascontiguousarray(start), np.ascontiguousarray(along), np.ascontiguousarray(dual)
    k = len(start)
    boxes, far = np.empty((4, k)), np.empty(k, np.bool_)
    room = max(A_POINT * len(x), k)
    while True:
        rows, distances = np.empty(room, np.int64), np.empty(room)
        found = _search_segments(x, limit, start, along, dual, boxes, far, rows, distances)
        if found <= room:
            return rows[:found].copy(), distances[:found].copy()
        room = found


@jit()
def _search_segments(
    x: Floats2, limit: Floats, start: Floats2, along: Floats2, dual: Floats2, boxes: OutFloats2, far: OutBools,
    rows: OutInts, distances: OutFloats,
) -> int:  # fmt: skip
    """Writes as many near segments as there is room for, and returns how many there are."""
    k, found = len(start), 0
    for w in range(k):
        one, two = start[w, 0], start[w, 1]
        one_end, two_end = one + along[w, 0], two + along[w, 1]
        boxes[0, w], boxes[1, w] = min(one, one_end), max(one, one_end)
        boxes[2, w], boxes[3, w] = min(two, two_end), max(two, two_end)
    for a in range(len(x)):
        one, two, cutoff = x[a, 0], x[a, 1], limit[a]
        for w in range(k):  # one box after the other, without a branch: many at a time
            beside = (one - cutoff > boxes[1, w]) | (one + cutoff < boxes[0, w])
            far[w] = beside | (two - cutoff > boxes[3, w]) | (two + cutoff < boxes[2, w])
        for w in range(k):
            if far[w]:
                continue
            first, second = one - start[w, 0], two - start[w, 1]
            s = min(max(first * dual[w, 0] + second * dual[w, 1], 0.0), 1.0)
            first, second = first - s * along[w, 0], second - s * along[w, 1]
            distance = np.sqrt(first * first + second * second)
            if not distance > cutoff:
                if found < len(rows):
                    rows[found], distances[found] = a * k + w, distance
                found += 1
    return found
