"""Many bodies: how fast they are, whether they stay near a place, and which are near planes.

Sums are taken for fixed blocks of bodies, and then in their order, so that they do not depend on the number of threads.
"""

from __future__ import annotations

import numpy as np

from jostle import kernels
from jostle.kernels.compiling import Floats, Floats2, Ints, Ints2, OutFloats, OutFloats2, OutInts, jit
from jostle.kernels.parallel import by_rows, cut, together
from jostle.kernels.reference.bodies import common_way

BLOCK = 4096
"""Number of bodies whose sums are taken together."""
MOVING, TOTAL, SQUARES = range(3)
"""The sums of a block of speeds: how many are not zero, their sum, and the sum of their squares."""


def _blocks(n: int, chunks: int) -> list[tuple[int, int]]:
    """The (first, last) of the blocks of n bodies that each thread takes."""
    return cut(-(-n // BLOCK), chunks)


@kernels.expected_ways.on("numpy")
def expected_ways(u: Floats2, v: Floats2, h: float, of_mean: float, of_spread: float, chunks: int) -> Floats:
    n = len(u)
    ways = np.empty(n)
    if n <= BLOCK:
        _fill_ways(u, v, h, of_mean, of_spread, ways)
        return ways
    sums = np.zeros((-(-n // BLOCK), 3))
    together(_fill_speeds, [(u, v, *part, ways, sums) for part in _blocks(n, chunks)])
    return by_rows(_ways, (ways,), h, common_way(*sums.sum(axis=0).tolist(), of_mean, of_spread))


def _ways(speeds: Floats, h: float, more: float) -> Floats:
    return h * (speeds + more)


_common_way = jit(helper=True)(common_way)


@jit(helper=True)
def _speeds(u: Floats2, v: Floats2, first: int, last: int, larger: OutFloats) -> tuple[float, float, float]:
    """Writes the larger speeds of some bodies; how many are not zero, their sum, and the sum of their squares."""
    moving, total, squares = 0.0, 0.0, 0.0
    for a in range(first, last):
        one, two = 0.0, 0.0
        for k in range(u.shape[1]):
            one += u[a, k] * u[a, k]
            two += v[a, k] * v[a, k]
        speed = np.sqrt(two if two > one or two != two else one)  # NaN if one of them is
        larger[a] = speed
        if speed != 0.0:
            moving += 1.0
        total += speed
        squares += speed * speed
    return moving, total, squares


@jit()
def _fill_speeds(u: Floats2, v: Floats2, first: int, last: int, larger: OutFloats, sums: OutFloats2) -> None:
    """The larger speeds in some blocks of bodies, and their sums."""
    for block in range(first, last):
        end = min((block + 1) * BLOCK, len(u))
        sums[block, MOVING], sums[block, TOTAL], sums[block, SQUARES] = _speeds(u, v, block * BLOCK, end, larger)


@jit()
def _fill_ways(u: Floats2, v: Floats2, h: float, of_mean: float, of_spread: float, ways: OutFloats) -> None:
    """The expected ways of few bodies."""
    moving, total, squares = _speeds(u, v, 0, len(u), ways)
    more = _common_way(moving, total, squares, of_mean, of_spread)
    for a in range(len(u)):
        ways[a] = h * (ways[a] + more)


@kernels.outran.on("numpy")
def outran(u: Floats2, h: float, cutoff: Floats, chunks: int) -> bool:
    if chunks == 1:
        return _outran(u, h, cutoff, 0, len(u))
    return any(together(_outran, [(u, h, cutoff, *part) for part in cut(len(u), chunks)]))


@jit()
def _outran(u: Floats2, h: float, cutoff: Floats, first: int, last: int) -> bool:
    """Whether one of some bodies goes further than its cutoff."""
    d = u.shape[1]
    for a in range(first, last):
        square = 0.0
        for k in range(d):
            square += u[a, k] * u[a, k]
        if not h * np.sqrt(square) <= cutoff[a]:
            return True
    return False


@kernels.stayed.on("numpy")
def stayed(q: Floats2, before: Floats2, radii: Floats, cutoff: Floats, room: Floats, chunks: int) -> bool:
    n, d = q.shape
    sums = np.zeros((-(-n // BLOCK), d))
    together(_add_ways, [(q, before, *part, sums) for part in _blocks(n, chunks)])
    rest = sums.sum(axis=0) / n, radii, cutoff, room
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
    q: Floats2, before: Floats2, first: int, last: int, mean: Floats, radii: Floats, cutoff: Floats, room: Floats
) -> bool:
    """Whether some bodies stayed in their rooms."""
    d = q.shape[1]
    for a in range(first, last):
        square = 0.0
        for k in range(d):
            square += (q[a, k] - before[a, k] - mean[k]) ** 2
        if not radii[a] + cutoff[a] + np.sqrt(square) <= room[a]:
            return False
    return True


@kernels.near_planes.on("numpy")
def near_planes(
    x: Floats2, radii: Floats, cutoff: Floats, unit: Floats2, offset: Floats, chunks: int
) -> tuple[Ints2, Floats2, Floats]:
    # Where there are many rows, the near ones are counted before they are written.
    (n, d), k = x.shape, len(unit)
    axis = np.empty(k, np.int64)
    _fill_axes(unit, axis)  # before threads share it
    given = x, radii, cutoff, unit, offset, axis
    if n * k <= MOST_UNCOUNTED:
        (first, second), normal, gap = _empty_contacts(n * k, d)
        m = _near_planes(*given, 0, n, 0, first, second, normal, gap)
        pairs = np.empty((2, m), np.int64)
        pairs[0], pairs[1] = first[:m], second[:m]
        return pairs, normal[:m].copy(), gap[:m].copy()
    parts = cut(n, chunks)
    (first, second), normal, gap = _empty_contacts(0, d)
    counts = together(_near_planes, [(*given, *part, 0, first, second, normal, gap) for part in parts])
    ends = np.cumsum(counts).tolist()
    pairs, normal, gap = _empty_contacts(ends[-1], d)
    starts = [end - count for end, count in zip(ends, counts, strict=True)]
    together(_near_planes, [(*given, *part, at, *pairs, normal, gap) for part, at in zip(parts, starts, strict=True)])
    return pairs, normal, gap


OBLIQUE = -1
MOST_UNCOUNTED = 4096
"""Up to this many rows, there is room for all of them at first."""


def _empty_contacts(m: int, d: int) -> tuple[Ints2, Floats2, Floats]:
    """Empty arrays for the pairs, normals and gaps of m rows."""
    return np.empty((2, m), np.int64), np.empty((m, d)), np.empty(m)


@jit()
def _fill_axes(unit: Floats2, axis: OutInts) -> None:
    """The axis that each plane is across, as most are; OBLIQUE for the others."""
    k, d = unit.shape
    for plane in range(k):
        found = 0
        for c in range(d):
            if unit[plane, c] != 0.0:
                found = c
        for c in range(found):
            if unit[plane, c] != 0.0:
                axis[plane] = OBLIQUE
                break
        else:
            axis[plane] = found


@jit()
def _near_planes(
    x: Floats2, radii: Floats, cutoff: Floats, unit: Floats2, offset: Floats, axis: Ints, first_ball: int,
    last_ball: int, start: int, first: OutInts, second: OutInts, normal: OutFloats2, gap: OutFloats,
) -> int:  # fmt: skip
    """Writes the near rows of some balls from a start on, if there is room, and returns how many there are."""
    (k, d), at, written = unit.shape, start, len(gap) > 0
    for a in range(first_ball, last_ball):
        radius = radii[a if len(radii) > 1 else 0]
        limit = cutoff[a if len(cutoff) > 1 else 0] + radius
        for plane in range(k):
            along, distance = axis[plane], 0.0
            if along != OBLIQUE:
                distance = unit[plane, along] * x[a, along]
            else:
                for c in range(d):
                    if unit[plane, c] != 0.0:
                        distance += unit[plane, c] * x[a, c]
            distance -= offset[plane]
            if not distance > limit:
                if written:
                    first[at], second[at], gap[at] = a, -1 - plane, distance - radius
                    for c in range(d):
                        normal[at, c] = -unit[plane, c]
                at += 1
    return at - start
