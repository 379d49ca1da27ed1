"""Many bodies: how fast they are, whether they stay near a place, and which are near the sides of a box.

Sums are taken for fixed blocks of bodies, and then in their order, so that they do not depend on the number of threads.
"""

from __future__ import annotations

import numpy as np

from jostle import kernels
from jostle.kernels.compiling import Floats, Floats2, Ints, OutFloats, OutFloats2, OutInts, jit
from jostle.kernels.parallel import cut, together

BLOCK = 4096
"""Number of bodies whose sums are taken together."""
MOVING, TOTAL, SQUARES = range(3)
"""The sums of a block of speeds: how many are not zero, their sum, and the sum of their squares."""


def _blocks(n: int, chunks: int) -> list[tuple[int, int]]:
    """The (first, last) of the blocks of n bodies that each thread takes."""
    return cut(-(-n // BLOCK), chunks)


@kernels.speeds.on("numpy")
def speeds(u: Floats2, v: Floats2, chunks: int) -> tuple[Floats, float, float, float]:
    n = len(u)
    larger, sums = np.empty(n), np.zeros((-(-n // BLOCK), 3))
    together(_fill_speeds, [(u, v, *part, larger, sums) for part in _blocks(n, chunks)])
    moving, total, squares = sums.sum(axis=0).tolist()
    return larger, moving, total, squares


@jit()
def _fill_speeds(u: Floats2, v: Floats2, first: int, last: int, larger: OutFloats, sums: OutFloats2) -> None:
    """The larger speeds in some blocks of bodies, and their sums."""
    n, d = u.shape
    for block in range(first, last):
        moving, total, squares = 0.0, 0.0, 0.0
        for a in range(block * BLOCK, min((block + 1) * BLOCK, n)):
            one, two = 0.0, 0.0
            for k in range(d):
                one += u[a, k] * u[a, k]
                two += v[a, k] * v[a, k]
            speed = np.sqrt(two if two > one or two != two else one)  # NaN if one of them is
            larger[a] = speed
            if speed != 0.0:
                moving += 1.0
            total += speed
            squares += speed * speed
        sums[block, MOVING], sums[block, TOTAL], sums[block, SQUARES] = moving, total, squares


@kernels.outran.on("numpy")
def outran(u: Floats2, h: float, reach: Floats, chunks: int) -> bool:
    return any(together(_outran, [(u, h, reach, *part) for part in cut(len(u), chunks)]))


@jit()
def _outran(u: Floats2, h: float, reach: Floats, first: int, last: int) -> bool:
    """Whether one of some bodies goes further than its reach."""
    d = u.shape[1]
    for a in range(first, last):
        square = 0.0
        for k in range(d):
            square += u[a, k] * u[a, k]
        if not h * np.sqrt(square) <= reach[a]:
            return True
    return False


@kernels.stayed.on("numpy")
def stayed(q: Floats2, before: Floats2, radii: Floats, reach: Floats, room: Floats, chunks: int) -> bool:
    n, d = q.shape
    sums = np.zeros((-(-n // BLOCK), d))
    together(_add_ways, [(q, before, *part, sums) for part in _blocks(n, chunks)])
    rest = sums.sum(axis=0) / n, radii, reach, room
    return all(together(_stayed, [(q, before, *part, *rest) for part in cut(n, chunks)]))


@jit()
def _add_ways(q: Floats2, before: Floats2, first: int, last: int, sums: OutFloats2) -> None:
    """sums[block], zero at first, becomes the sum of the ways of the bodies of a block."""
    n, d = q.shape
    for block in range(first, last):
        for a in range(block * BLOCK, min((block + 1) * BLOCK, n)):
            for k in range(d):
                sums[block, k] += q[a, k] - before[a, k]


@jit()
def _stayed(
    q: Floats2, before: Floats2, first: int, last: int, mean: Floats, radii: Floats, reach: Floats, room: Floats
) -> bool:
    """Whether some bodies stayed in their rooms."""
    d = q.shape[1]
    for a in range(first, last):
        square = 0.0
        for k in range(d):
            square += (q[a, k] - before[a, k] - mean[k]) ** 2
        if not radii[a] + reach[a] + np.sqrt(square) <= room[a]:
            return False
    return True


@kernels.near_sides.on("numpy")
def near_sides(
    x: Floats2, radii: Floats, reach: Floats, axis: Ints, sign: Floats, ends: Floats, chunks: int
) -> tuple[Ints, Floats]:
    """See `reference.near_sides`. The near sides are counted before they are written."""
    bodies, parts = (x, radii, reach, axis, sign, ends), cut(len(x), chunks)
    counts = together(_near_sides, [(*bodies, *part, 0, NO_ROWS, NO_DISTANCES) for part in parts])
    ends_of_parts = np.cumsum(counts).tolist()
    rows, distances = np.empty(ends_of_parts[-1], np.int64), np.empty(ends_of_parts[-1])
    starts = [end - count for end, count in zip(ends_of_parts, counts, strict=True)]
    together(_near_sides, [(*bodies, *part, at, rows, distances) for part, at in zip(parts, starts, strict=True)])
    return rows, distances


NO_ROWS, NO_DISTANCES = np.empty(0, np.int64), np.empty(0)


@jit()
def _near_sides(
    x: Floats2, radii: Floats, reach: Floats, axis: Ints, sign: Floats, ends: Floats, first: int, last: int,
    start: int, rows: OutInts, distances: OutFloats,
) -> int:  # fmt: skip
    """Writes the near sides of some bodies from a start on, if there is room, and returns how many there are."""
    k, at, written = len(axis), start, len(rows) > 0
    for a in range(first, last):
        limit = reach[a if len(reach) > 1 else 0] + radii[a if len(radii) > 1 else 0]
        for side in range(k):
            distance = sign[side] * x[a, axis[side]] - sign[side] * ends[side]
            if not distance > limit:
                if written:
                    rows[at], distances[at] = a * k + side, distance
                at += 1
    return at - start
