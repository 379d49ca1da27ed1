"""`reference.near_polygons`: separating axes of the edges, then the nearest features, then the rows of each pair."""

from __future__ import annotations

import numpy as np

from jostle import kernels
from jostle._tools.arrays import Array, Integers
from jostle.kernels.compiling import Floats, Floats2, Ints, OutFloats2, OutInts2, jit
from jostle.kernels.parallel import cut, together
from jostle.kernels.reference.polygons import EDGE, SAME, PolygonRows


@kernels.near_polygons.on("numpy")
def near_polygons(
    x: Array, start: Integers, rounding: Array, cutoff: Array, i: Integers, j: Integers, chunks: int
) -> PolygonRows:
    size = np.diff(start)
    ends = np.append(0, np.cumsum(size[i] + size[j] + 1))
    numbers, values = np.empty((ends[-1], 4), np.int64), np.empty((ends[-1], 4))
    parts = cut(len(i), chunks)
    given = x, start, rounding, cutoff, i, j
    counts = together(_fill_rows, [(*given, *part, int(ends[part[0]]), numbers, values) for part in parts])
    if len(parts) > 1:
        rows = np.concatenate([ends[part[0]] + np.arange(count) for part, count in zip(parts, counts, strict=True)])
        numbers, values = numbers[rows], values[rows]
    else:
        numbers, values = numbers[: counts[0]], values[: counts[0]]
    two = np.ascontiguousarray
    return PolygonRows(
        two(numbers[:, :2]), two(numbers[:, 2:]), two(values[:, 0]), two(values[:, 1:3]), two(values[:, 3])
    )


@jit()
def _fill_rows(
    x: Floats2, start: Ints, rounding: Floats, cutoff: Floats, i: Ints, j: Ints, first: int, last: int, at: int,
    numbers: OutInts2, values: OutFloats2,
) -> int:  # fmt: skip
    """Writes the rows of some pairs from row `at` on, and returns how many."""
    count = 0
    for c in range(first, last):
        a, b = i[c], j[c]
        a0, a1, b0, b1 = start[a], start[a + 1], start[b], start[b + 1]
        both = rounding[a] + rounding[b]
        distance, nx, ny, vertex, one, two = _nearest(x, a0, a1, b0, b1)
        before = at + count
        count += _above(x, a0, a1, b0, b1, nx, ny, both, cutoff, before, before, numbers, values)
        count += _above(x, b0, b1, a0, a1, -nx, -ny, both, cutoff, before, at + count, numbers, values)
        least, length = np.inf, _length(x, one, two)
        for row in range(before, at + count):
            least = min(least, values[row, 3])
        if not least <= distance - both + EDGE * (length + abs(distance)):
            of_a = a0 <= vertex < a1
            sign, other = (1.0, b0) if of_a else (-1.0, a0)
            end = b1 if of_a else a1
            gap = distance - both
            if not gap > cutoff[vertex] + _most(cutoff, other, end):
                dx, dy = x[two, 0] - x[one, 0], x[two, 1] - x[one, 1]
                square = dx * dx + dy * dy
                s = (
                    ((x[vertex, 0] - x[one, 0]) * dx + (x[vertex, 1] - x[one, 1]) * dy) / square
                    if square > 0.0
                    else 0.0
                )
                if distance > 0.0:
                    s = min(max(s, 0.0), 1.0)
                _write(numbers, values, at + count, vertex, other, one, two, s, sign * nx, sign * ny, gap)
                count += 1
    return count


@jit(helper=True)
def _write(numbers, values, row, vertex, other, one, two, s, nx, ny, gap):
    numbers[row, 0], numbers[row, 1], numbers[row, 2], numbers[row, 3] = vertex, other, one, two
    values[row, 0], values[row, 1], values[row, 2], values[row, 3] = s, nx, ny, gap


@jit(helper=True)
def _length(x, one, two):
    return np.sqrt((x[two, 0] - x[one, 0]) ** 2 + (x[two, 1] - x[one, 1]) ** 2)


@jit(helper=True)
def _most(cutoff, first, last):
    most = cutoff[first]
    for v in range(first + 1, last):
        most = max(most, cutoff[v])
    return most


@jit(helper=True)
def _separation(x, p0, p1, q0, q1):
    """(distance, unit normal, vertex of Q, ends) of the edge of P that is farthest from Q; -inf for a point."""
    best, nx, ny, vertex, one, two = -np.inf, np.nan, np.nan, q0, p0, p0
    if p1 - p0 == 1:
        return best, nx, ny, vertex, one, two
    for e in range(p0, p1):
        f = e + 1 if e + 1 < p1 else p0
        dx, dy = x[f, 0] - x[e, 0], x[f, 1] - x[e, 1]
        length = np.sqrt(dx * dx + dy * dy)
        mx, my = dy / length, -dx / length
        least, at = np.inf, q0
        for q in range(q0, q1):
            height = mx * (x[q, 0] - x[e, 0]) + my * (x[q, 1] - x[e, 1])
            if height < least:
                least, at = height, q
        if least > best:
            best, nx, ny, vertex, one, two = least, mx, my, at, e, f
    return best, nx, ny, vertex, one, two


@jit(helper=True)
def _nearest(x, a0, a1, b0, b1):
    """(distance, unit normal from A to B, nearest vertex, ends of the edge of the other core that it is nearest to)."""
    best, nx, ny, vertex, one, two = _separation(x, a0, a1, b0, b1)
    other = _separation(x, b0, b1, a0, a1)
    if other[0] > best:
        best, nx, ny, vertex, one, two = other[0], -other[1], -other[2], other[3], other[4], other[5]
    if best > 0.0:
        dx, dy = x[two, 0] - x[one, 0], x[two, 1] - x[one, 1]
        along = (x[vertex, 0] - x[one, 0]) * dx + (x[vertex, 1] - x[one, 1]) * dy
        if 0.0 <= along <= dx * dx + dy * dy:
            return best, nx, ny, vertex, one, two
    elif a1 - a0 > 2 or b1 - b0 > 2 or _cross(x, a0, a1, b0, b1):
        return best, nx, ny, vertex, one, two
    square, px, py, v, e, f = _by_features(x, a0, a1, b0, b1)
    back = _by_features(x, b0, b1, a0, a1)
    if back[0] < square:
        square, px, py, v, e, f = back[0], -back[1], -back[2], back[3], back[4], back[5]
    distance = np.sqrt(square)
    if distance > EDGE * _length(x, one, two) or best == -np.inf:
        return distance, px / distance, py / distance, v, e, f
    return best, nx, ny, vertex, one, two


@jit(helper=True)
def _cross(x, a0, a1, b0, b1):
    """Whether two segments cross each other."""
    if a1 - a0 < 2 or b1 - b0 < 2:
        return False
    ux, uy, vx, vy = x[a0 + 1, 0] - x[a0, 0], x[a0 + 1, 1] - x[a0, 1], x[b0 + 1, 0] - x[b0, 0], x[b0 + 1, 1] - x[b0, 1]
    wx, wy = x[b0, 0] - x[a0, 0], x[b0, 1] - x[a0, 1]
    area = ux * vy - uy * vx
    if abs(area) <= EDGE * np.sqrt((ux * ux + uy * uy) * (vx * vx + vy * vy)):
        return False
    s, r = (wx * vy - wy * vx) / area, (wx * uy - wy * ux) / area
    return 0.0 <= s <= 1.0 and 0.0 <= r <= 1.0


@jit(helper=True)
def _by_features(x, p0, p1, q0, q1):
    """The vertex of P and the edge of Q that are nearest: (squared distance, vector to the edge, vertex, ends)."""
    best, nx, ny, vertex, one, two = np.inf, np.nan, np.nan, p0, q0, q0
    edges = q1 - q0 if q1 - q0 > 2 else 1
    for v in range(p0, p1):
        for e in range(q0, q0 + edges):
            f = e + 1 if e + 1 < q1 else q0
            dx, dy = x[f, 0] - x[e, 0], x[f, 1] - x[e, 1]
            wx, wy = x[v, 0] - x[e, 0], x[v, 1] - x[e, 1]
            square = dx * dx + dy * dy
            s = min(max((wx * dx + wy * dy) / square, 0.0), 1.0) if square > 0.0 else 0.0
            ax, ay = s * dx - wx, s * dy - wy
            distance = ax * ax + ay * ay
            if distance < best:
                best, nx, ny, vertex, one, two = distance, ax, ay, v, e, f
    return best, nx, ny, vertex, one, two


@jit(helper=True)
def _facing(x, q0, q1, nx, ny):
    """The ends of the edge of Q that faces the direction n."""
    best, v = -np.inf, q0
    for q in range(q0, q1):
        height = nx * x[q, 0] + ny * x[q, 1]
        if height > best:
            best, v = height, q
    after, before = v + 1 if v + 1 < q1 else q0, v - 1 if v > q0 else q1 - 1
    if q1 - q0 == 2:
        return q0, q0 + 1
    ahead = nx * x[after, 0] + ny * x[after, 1] >= nx * x[before, 0] + ny * x[before, 1]
    return (v, after) if ahead else (before, v)


@jit(helper=True)
def _above(x, p0, p1, q0, q1, nx, ny, both, cutoff, known, at, numbers, values):
    """Writes the rows of vertices of P above the edge of Q that faces them, n being from P to Q; returns how many.

    The rows from `known` on are those of the other core.
    """
    one, two = _facing(x, q0, q1, -nx, -ny)
    dx, dy = x[two, 0] - x[one, 0], x[two, 1] - x[one, 1]
    width, most, count, outside = dx * ny - dy * nx, _most(cutoff, q0, q1), 0, SAME if known == at else EDGE
    length = np.sqrt(dx * dx + dy * dy)
    if not abs(width) > EDGE * length:
        return 0
    for v in range(p0, p1):
        wx, wy = x[v, 0] - x[one, 0], x[v, 1] - x[one, 1]
        s = (wx * ny - wy * nx) / width
        if not -outside <= s <= 1.0 + outside:
            continue
        gap = nx * (s * dx - wx) + ny * (s * dy - wy) - both
        if gap > cutoff[v] + most:
            continue
        twice = False
        for row in range(known, at):
            other = numbers[row, 0]
            apart = (x[other, 0] - x[v, 0]) * ny - (x[other, 1] - x[v, 1]) * nx
            if abs(apart) <= SAME * length and abs(values[row, 3] - gap) <= SAME * length:
                twice = True
        if not twice:
            _write(numbers, values, at + count, v, q0, one, two, s, nx, ny, gap)
            count += 1
    return count
