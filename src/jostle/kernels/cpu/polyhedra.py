"""`reference.near_solids`: nearest points by Gilbert, Johnson and Keerthi (1988), then the rows of each pair.

The iteration keeps a simplex of differences b - a of points of both cores, and v, its point nearest to 0. It ends when
the duality gap |v| - v . (b - a) / |v| of the next difference is closed, so that v is right whatever the rounding
did. Cores that overlap are rare, since the roundings around them touch first: they are compared along the normals of
all faces and of all pairs of edges.
"""

from __future__ import annotations

import numpy as np

from jostle import kernels
from jostle._tools.arrays import Array, Integers
from jostle.kernels.compiling import Floats, Floats2, Ints, Ints2, OutFloats2, OutInts2, jit
from jostle.kernels.parallel import cut, together
from jostle.kernels.reference.polyhedra import EDGE, GAP, MOST_POINTS, SAME, TOUCHING, SolidRows, Solids

ITERATIONS = 100
"""Largest number of iterations for a pair of cores; polyhedra take about ten."""
FREE = 7
"""Number of directions beside those of faces and edges: three axes of each core, and that of their centres."""
ASCENTS = 60
"""Steps towards the direction of least overlap of smooth cores."""
ALIGNED = 0.99
"""Faces whose normals agree with that of the pair to this cosine count as facing each other."""
FIRST = 2
"""The column of the scratch in which the pair of a row begins; its corners follow."""
WIDTH = 4
"""Number of corners between which a point of a core lies: up to three of a face, or those of a smooth core."""


@kernels.near_solids.on("numpy")
def near_solids(
    x: Array,
    start: Integers,
    rounding: Array,
    cutoff: Array,
    kind: Integers,
    solids: Solids,
    i: Integers,
    j: Integers,
    chunks: int,
) -> SolidRows:
    columns = 2 * WIDTH if solids.exponent.any() else WIDTH
    room = MOST_POINTS * len(i)
    numbers, values = np.empty((room, 2 + columns), np.int64), np.empty((room, columns + 4))
    parts = cut(len(i), chunks)
    size = 2 * int(np.diff(start).max(initial=1)) + 2 * int(np.diff(solids.corner_start).max(initial=2)) + 8
    given = x, start, rounding, cutoff, kind, *solids, i, j
    scratch = [(np.empty((size, FIRST + 2 + 2 * WIDTH), np.int64), np.empty((3 * size + 16, 16))) for _ in parts]
    counts = together(
        _fill_rows,
        [(*given, *part, size, *own, numbers, values) for part, own in zip(parts, scratch, strict=True)],
    )
    if len(parts) > 1:
        rows = np.concatenate(
            [MOST_POINTS * part[0] + np.arange(count) for part, count in zip(parts, counts, strict=True)]
        )
        numbers, values = numbers[rows], values[rows]
    else:
        numbers, values = numbers[: counts[0]], values[: counts[0]]
    two = np.ascontiguousarray
    return SolidRows(
        two(numbers[:, :2]),
        two(values[:, columns : columns + 3]),
        two(values[:, -1]),
        two(numbers[:, 2:]),
        two(values[:, :columns]),
    )


@jit()
def _fill_rows(
    x: Floats2, start: Ints, rounding: Floats, cutoff: Floats, kind: Ints, edge_start: Ints, edges: Ints2,
    face_start: Ints, corner_start: Ints, corners: Ints, exponent: Floats, inset: Floats, i: Ints, j: Ints,
    first: int, last: int, size: int, ids: OutInts2, work: OutFloats2, numbers: OutInts2, values: OutFloats2,
) -> int:  # fmt: skip
    """Writes the rows of some pairs from row MOST_POINTS * first on, and returns how many."""
    at = MOST_POINTS * first
    for c in range(first, last):
        a, b = i[c], j[c]
        core_a = start[a], start[a + 1], exponent[kind[a]], inset[kind[a]]
        core_b = start[b], start[b + 1], exponent[kind[b]], inset[kind[b]]
        both, limit = rounding[a] + rounding[b], cutoff[a] + cutoff[b]
        extent = max(_extent(x, start[a], start[a + 1]), _extent(x, start[b], start[b + 1])) + both
        distance, nx, ny, nz = _nearest(x, core_a, core_b, extent, limit + both, work)
        if distance - both > limit:
            continue
        if distance <= TOUCHING * extent:
            faces = edge_start, edges, face_start, corner_start, corners
            distance, nx, ny, nz = _least_overlap(x, core_a, kind[a], core_b, kind[b], faces)
        n = nx, ny, nz
        apart = distance > TOUCHING * extent
        one = _facing(x, core_a, kind[a], face_start, corner_start, corners, n, 1.0, extent, ids, 0, work, 0)
        two = _facing(x, core_b, kind[b], face_start, corner_start, corners, n, -1.0, extent, ids, 1, work, size)
        count = _common(x, core_a, core_b, one, two, n, apart, both, limit, extent, size, ids, work)
        at += _select(count, size, extent, ids, work, numbers, values, at)
    return at - MOST_POINTS * first


@jit(helper=True)
def _extent(x, first, last):
    most = 0.0
    for v in range(first + 1, last):
        for k in range(3):
            most = max(most, abs(x[v, k] - x[first, k]))
    return most


# ---------------------------------------------------------------------------------------------------------------------
# Nearest points
# ---------------------------------------------------------------------------------------------------------------------


@jit(helper=True)
def _support(x, core, nx, ny, nz):
    """The number of the corner that is farthest in a direction, the first one of smooth cores, and the point."""
    first, last, e, inset = core
    if e == 0.0:
        best, v = nx * x[first, 0] + ny * x[first, 1] + nz * x[first, 2], first
        for k in range(first + 1, last):
            height = nx * x[k, 0] + ny * x[k, 1] + nz * x[k, 2]
            if height > best:
                best, v = height, k
        return v, x[v, 0], x[v, 1], x[v, 2]
    c0, c1, c2 = _weights(x, core, nx, ny, nz)
    by = inset / np.sqrt(nx * nx + ny * ny + nz * nz)
    px, py, pz = x[first, 0] - by * nx, x[first, 1] - by * ny, x[first, 2] - by * nz
    for k in range(last - first - 1):
        c = c0 if k == 0 else (c1 if k == 1 else c2)
        v = first + 1 + k
        px += c * (x[v, 0] - x[first, 0])
        py += c * (x[v, 1] - x[first, 1])
        pz += c * (x[v, 2] - x[first, 2])
    return first, px, py, pz


@jit(helper=True)
def _weights(x, core, nx, ny, nz):
    """The support point of a smooth outline in a direction, as multiples of its semi-axes."""
    first, last, e, _ = core
    y0, y1, y2 = 0.0, 0.0, 0.0
    for k in range(last - first - 1):
        v = first + 1 + k
        y = nx * (x[v, 0] - x[first, 0]) + ny * (x[v, 1] - x[first, 1]) + nz * (x[v, 2] - x[first, 2])
        if k == 0:
            y0 = y
        elif k == 1:
            y1 = y
        else:
            y2 = y
    top = max(abs(y0), abs(y1), abs(y2))
    if not top > 0.0:
        return 0.0, 0.0, 0.0
    y0, y1, y2 = y0 / top, y1 / top, y2 / top
    if e == 2.0:
        by = 1.0 / np.sqrt(y0 * y0 + y1 * y1 + y2 * y2)
        return y0 * by, y1 * by, y2 * by
    power = 1.0 / (e - 1.0)
    p0, p1, p2 = abs(y0) ** power, abs(y1) ** power, abs(y2) ** power
    by = 1.0 / (p0 * abs(y0) + p1 * abs(y1) + p2 * abs(y2)) ** (1.0 / e)
    return np.copysign(p0 * by, y0), np.copysign(p1 * by, y1), np.copysign(p2 * by, y2)


@jit(helper=True)
def _nearest(x, core_a, core_b, extent, limit, work):
    """(distance, unit normal from A to B); a lower bound of the distance if it is above the limit, 0 for overlap.

    work[:4] has the differences of the simplex.
    """
    va, vb = core_a[0], core_b[0]
    vx, vy, vz = x[vb, 0] - x[va, 0], x[vb, 1] - x[va, 1], x[vb, 2] - x[va, 2]
    if vx * vx + vy * vy + vz * vz == 0.0:
        vx = extent
    size, square = 0, np.inf
    best, nx, ny, nz = -np.inf, 0.0, 0.0, 0.0
    for _ in range(ITERATIONS):
        _, ax, ay, az = _support(x, core_a, vx, vy, vz)
        _, bx, by, bz = _support(x, core_b, -vx, -vy, -vz)
        wx, wy, wz = bx - ax, by - ay, bz - az
        length = np.sqrt(vx * vx + vy * vy + vz * vz)
        bound = (vx * wx + vy * wy + vz * wz) / length
        if bound > best:
            best, nx, ny, nz = bound, vx / length, vy / length, vz / length
        if best > limit or (size > 0 and length - best <= GAP * length):
            return best, nx, ny, nz
        for k in range(size):
            if work[k, 0] == wx and work[k, 1] == wy and work[k, 2] == wz:
                return best, nx, ny, nz
        work[size, 0], work[size, 1], work[size, 2] = wx, wy, wz
        size = _reduce(work, size + 1)
        if size == 4:
            return 0.0, nx, ny, nz
        vx, vy, vz = work[4, 0], work[4, 1], work[4, 2]
        now = vx * vx + vy * vy + vz * vz
        if now <= (TOUCHING * extent) ** 2:
            return 0.0, nx, ny, nz
        if now >= square:
            return best, nx, ny, nz
        square = now
    return best, nx, ny, nz


@jit(helper=True)
def _reduce(Y, size):
    """The corners of a simplex that carry its point nearest to 0, which becomes Y[4]; 4 corners if 0 lies inside.

    Y[5] has the weights.
    """
    if size == 1:
        Y[4, 0], Y[4, 1], Y[4, 2] = Y[0, 0], Y[0, 1], Y[0, 2]
        return 1
    if size == 2:
        Y[5, 0], Y[5, 1], Y[5, 2] = _on_segment(Y, 0, 1)
        Y[5, 3] = 0.0
    elif size == 3:
        Y[5, 0], Y[5, 1], Y[5, 2] = _on_triangle(Y, 0, 1, 2)
        Y[5, 3] = 0.0
    else:
        best, inside = np.inf, True
        for out in range(4):
            p, q, r = (out + 1) % 4, (out + 2) % 4, (out + 3) % 4
            ax, ay, az = Y[q, 0] - Y[p, 0], Y[q, 1] - Y[p, 1], Y[q, 2] - Y[p, 2]
            bx, by, bz = Y[r, 0] - Y[p, 0], Y[r, 1] - Y[p, 1], Y[r, 2] - Y[p, 2]
            mx, my, mz = ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx
            zero = -(mx * Y[p, 0] + my * Y[p, 1] + mz * Y[p, 2])
            own = mx * (Y[out, 0] - Y[p, 0]) + my * (Y[out, 1] - Y[p, 1]) + mz * (Y[out, 2] - Y[p, 2])
            if zero * own > 0.0:
                continue  # 0 is on the side of the fourth corner
            inside = False
            one, two, three = _on_triangle(Y, p, q, r)
            square = 0.0
            for k in range(3):
                square += (one * Y[p, k] + two * Y[q, k] + three * Y[r, k]) ** 2
            if square < best:
                best = square
                Y[5, p], Y[5, q], Y[5, r], Y[5, out] = one, two, three, 0.0
        if inside:
            return 4
    kept = 0
    Y[4, 0] = Y[4, 1] = Y[4, 2] = 0.0
    for k in range(size):
        if Y[5, k] > 0.0:
            for d in range(3):
                Y[4, d] += Y[5, k] * Y[k, d]
                Y[kept, d] = Y[k, d]
            kept += 1
    return kept


@jit(helper=True)
def _on_segment(Y, p, q):
    """The weights of the point of a segment that is nearest to 0."""
    ax, ay, az = Y[q, 0] - Y[p, 0], Y[q, 1] - Y[p, 1], Y[q, 2] - Y[p, 2]
    square = ax * ax + ay * ay + az * az
    along = -(Y[p, 0] * ax + Y[p, 1] * ay + Y[p, 2] * az)
    if not along > 0.0:
        return 1.0, 0.0, 0.0
    if along >= square:
        return 0.0, 1.0, 0.0
    return 1.0 - along / square, along / square, 0.0


@jit(helper=True)
def _on_triangle(Y, p, q, r):
    """The weights of the point of a triangle that is nearest to 0, by the regions of its corners and edges."""
    ax, ay, az = Y[q, 0] - Y[p, 0], Y[q, 1] - Y[p, 1], Y[q, 2] - Y[p, 2]
    bx, by, bz = Y[r, 0] - Y[p, 0], Y[r, 1] - Y[p, 1], Y[r, 2] - Y[p, 2]
    d1 = -(ax * Y[p, 0] + ay * Y[p, 1] + az * Y[p, 2])
    d2 = -(bx * Y[p, 0] + by * Y[p, 1] + bz * Y[p, 2])
    if d1 <= 0.0 and d2 <= 0.0:
        return 1.0, 0.0, 0.0
    d3 = -(ax * Y[q, 0] + ay * Y[q, 1] + az * Y[q, 2])
    d4 = -(bx * Y[q, 0] + by * Y[q, 1] + bz * Y[q, 2])
    if d3 >= 0.0 and d4 <= d3:
        return 0.0, 1.0, 0.0
    d5 = -(ax * Y[r, 0] + ay * Y[r, 1] + az * Y[r, 2])
    d6 = -(bx * Y[r, 0] + by * Y[r, 1] + bz * Y[r, 2])
    if d6 >= 0.0 and d5 <= d6:
        return 0.0, 0.0, 1.0
    mx, my, mz = ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx
    area = mx * mx + my * my + mz * mz
    # areas of the triangles with 0, by products of whole vectors: they cancel less than differences of d1 ... d6
    of_r = _triple(Y, p, q, mx, my, mz)
    of_p = _triple(Y, q, r, mx, my, mz)
    of_q = _triple(Y, r, p, mx, my, mz)
    if of_r <= 0.0 and d1 >= 0.0 and d3 <= 0.0:
        s = d1 / (d1 - d3)
        return 1.0 - s, s, 0.0
    if of_q <= 0.0 and d2 >= 0.0 and d6 <= 0.0:
        s = d2 / (d2 - d6)
        return 1.0 - s, 0.0, s
    if of_p <= 0.0 and d4 - d3 >= 0.0 and d5 - d6 >= 0.0:
        s = (d4 - d3) / ((d4 - d3) + (d5 - d6))
        return 0.0, 1.0 - s, s
    total = of_p + of_q + of_r
    if not total > 0.0 or not area > 0.0:
        return 1.0, 0.0, 0.0
    return of_p / total, of_q / total, of_r / total


@jit(helper=True)
def _triple(Y, p, q, mx, my, mz):
    """m . (Y_p x Y_q)."""
    return (
        mx * (Y[p, 1] * Y[q, 2] - Y[p, 2] * Y[q, 1])
        + my * (Y[p, 2] * Y[q, 0] - Y[p, 0] * Y[q, 2])
        + mz * (Y[p, 0] * Y[q, 1] - Y[p, 1] * Y[q, 0])
    )


# ---------------------------------------------------------------------------------------------------------------------
# Overlaps
# ---------------------------------------------------------------------------------------------------------------------


@jit(helper=True)
def _least_overlap(x, core_a, kind_a, core_b, kind_b, faces):
    """(-depth, unit normal from A to B) of cores that overlap: that of a face, or perpendicular to two edges.

    Smooth cores take the best of these directions and of their axes, and go uphill from there, by steps along b - a
    across the direction, as long as they help.
    """
    edge_start, _, face_start, _, _ = faces
    edges_b = edge_start[kind_b + 1] - edge_start[kind_b]
    faces_a = face_start[kind_a + 1] - face_start[kind_a]
    faces_b = face_start[kind_b + 1] - face_start[kind_b]
    tried = faces_a + faces_b + edges_b * (edge_start[kind_a + 1] - edge_start[kind_a]) + FREE
    smooth = core_a[2] > 0.0 or core_b[2] > 0.0
    best, nx, ny, nz, step = -np.inf, np.nan, np.nan, np.nan, 1.0
    for k in range(tried + (ASCENTS if smooth else 0)):
        if k < tried:
            if k >= tried - FREE and best > -np.inf and not smooth:
                break
            mx, my, mz = _direction(x, k, tried, core_a, kind_a, core_b, kind_b, faces_a, faces_b, edges_b, faces)
        else:
            _, ax, ay, az = _support(x, core_a, nx, ny, nz)
            _, bx, by, bz = _support(x, core_b, -nx, -ny, -nz)
            gx, gy, gz = bx - ax - best * nx, by - ay - best * ny, bz - az - best * nz
            size = np.sqrt(gx * gx + gy * gy + gz * gz)
            if not size > EDGE * abs(best):
                break
            mx, my, mz = nx + step / size * gx, ny + step / size * gy, nz + step / size * gz
        length = np.sqrt(mx * mx + my * my + mz * mz)
        if not length > 0.0:
            continue
        before = best
        for sign in (1.0 / length, -1.0 / length):
            px, py, pz = sign * mx, sign * my, sign * mz
            _, ax, ay, az = _support(x, core_a, px, py, pz)
            _, bx, by, bz = _support(x, core_b, -px, -py, -pz)
            apart = px * (bx - ax) + py * (by - ay) + pz * (bz - az)
            if apart > best:
                best, nx, ny, nz = apart, px, py, pz
        if k >= tried and best == before:
            step *= 0.5
    return (best, nx, ny, nz) if best > -np.inf else (0.0, np.nan, np.nan, np.nan)


@jit(helper=True)
def _direction(x, k, tried, core_a, kind_a, core_b, kind_b, faces_a, faces_b, edges_b, faces):
    """Direction k in which cores may overlap least: normals of faces, of two edges, and FREE others."""
    edge_start, edges, face_start, corner_start, corners = faces
    if k < faces_a + faces_b:
        first, f = (core_a[0], face_start[kind_a] + k) if k < faces_a else (core_b[0], face_start[kind_b] + k - faces_a)
        return _face_normal(x, first, corner_start[f], corner_start[f + 1], corners)
    if k < tried - FREE:
        e, g = divmod(k - faces_a - faces_b, edges_b)
        e, g = e + edge_start[kind_a], g + edge_start[kind_b]
        p, q, r, s = core_a[0] + edges[e, 0], core_a[0] + edges[e, 1], core_b[0] + edges[g, 0], core_b[0] + edges[g, 1]
        ax, ay, az = x[q, 0] - x[p, 0], x[q, 1] - x[p, 1], x[q, 2] - x[p, 2]
        bx, by, bz = x[s, 0] - x[r, 0], x[s, 1] - x[r, 1], x[s, 2] - x[r, 2]
        mx, my, mz = ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx
        square = (ax * ax + ay * ay + az * az) * (bx * bx + by * by + bz * bz)
        return (mx, my, mz) if mx * mx + my * my + mz * mz > EDGE * square else (0.0, 0.0, 0.0)
    k -= tried - FREE
    core = core_a if k % 2 == 0 else core_b
    o = core[0]
    v = o + 1 + k // 2
    if k == FREE - 1:  # the centres
        v, o = core_b[0], core_a[0]
    elif v >= core[1]:
        return 0.0, 0.0, 0.0
    dx, dy, dz = x[v, 0] - x[o, 0], x[v, 1] - x[o, 1], x[v, 2] - x[o, 2]
    if core_a[2] > 0.0 or core_b[2] > 0.0:
        return dx, dy, dz
    # points and segments on one line: any direction across it
    if abs(dx) <= abs(dy) and abs(dx) <= abs(dz):
        return 0.0, dz, -dy
    return (dz, 0.0, -dx) if abs(dy) <= abs(dz) else (dy, -dx, 0.0)


@jit(helper=True)
def _face_normal(x, first, begin, end, corners):
    """The normal of a face, twice as long as its area (Newell)."""
    o = first + corners[begin]
    mx, my, mz = 0.0, 0.0, 0.0
    for c in range(begin + 1, end - 1):
        p, q = first + corners[c], first + corners[c + 1]
        ax, ay, az = x[p, 0] - x[o, 0], x[p, 1] - x[o, 1], x[p, 2] - x[o, 2]
        bx, by, bz = x[q, 0] - x[o, 0], x[q, 1] - x[o, 1], x[q, 2] - x[o, 2]
        mx, my, mz = mx + ay * bz - az * by, my + az * bx - ax * bz, mz + ax * by - ay * bx
    return mx, my, mz


# ---------------------------------------------------------------------------------------------------------------------
# Rows
# ---------------------------------------------------------------------------------------------------------------------


@jit(helper=True)
def _across(n):
    """Two unit vectors across n, so that the three are right-handed."""
    nx, ny, nz = n
    if abs(nx) <= abs(ny) and abs(nx) <= abs(nz):
        by = 1.0 / np.sqrt(ny * ny + nz * nz)
        ux, uy, uz = 0.0, nz * by, -ny * by
    elif abs(ny) <= abs(nz):
        by = 1.0 / np.sqrt(nx * nx + nz * nz)
        ux, uy, uz = -nz * by, 0.0, nx * by
    else:
        by = 1.0 / np.sqrt(nx * nx + ny * ny)
        ux, uy, uz = ny * by, -nx * by, 0.0
    return ux, uy, uz, ny * uz - nz * uy, nz * ux - nx * uz, nx * uy - ny * ux


@jit(helper=True)
def _place(x, v, origin, n, across):
    """The coordinates of a corner across the normal and along it, seen from another corner."""
    dx, dy, dz = x[v, 0] - x[origin, 0], x[v, 1] - x[origin, 1], x[v, 2] - x[origin, 2]
    ux, uy, uz, vx, vy, vz = across
    return dx * ux + dy * uy + dz * uz, dx * vx + dy * vy + dz * vz, dx * n[0] + dy * n[1] + dz * n[2]


@jit(helper=True)
def _facing(x, core, kind, face_start, corner_start, corners, n, sign, extent, ids, column, work, at):
    """The corners of the face that faces the direction sign n, in ids[:, column]: (their number, the cosine).

    Of the faces with all corners that are farthest in that direction it is the one across it; points and segments are
    faces of one and two corners, and smooth cores are points.
    """
    first, last, e, _ = core
    if e > 0.0 or last - first < 3:
        count = 1 if e > 0.0 else last - first
        tilt = 1.0
        for k in range(count):
            ids[k, column] = first + k
        if count == 2:
            dx, dy, dz = x[first + 1, 0] - x[first, 0], x[first + 1, 1] - x[first, 1], x[first + 1, 2] - x[first, 2]
            along = dx * n[0] + dy * n[1] + dz * n[2]
            tilt = np.sqrt(max(0.0, 1.0 - along * along / (dx * dx + dy * dy + dz * dz)))
        return count, tilt
    nx, ny, nz = sign * n[0], sign * n[1], sign * n[2]
    top = -np.inf
    for v in range(first, last):
        work[at + v - first, 3] = nx * x[v, 0] + ny * x[v, 1] + nz * x[v, 2]
        top = max(top, work[at + v - first, 3])
    most, cosine, face = 0, -np.inf, face_start[kind]
    for f in range(face_start[kind], face_start[kind + 1]):
        count = 0
        for c in range(corner_start[f], corner_start[f + 1]):
            if work[at + corners[c], 3] >= top - EDGE * extent:
                count += 1
        if count < most or count == 0:
            continue
        mx, my, mz = _face_normal(x, first, corner_start[f], corner_start[f + 1], corners)
        along = (mx * nx + my * ny + mz * nz) / np.sqrt(mx * mx + my * my + mz * mz)
        if count > most or along > cosine:
            most, cosine, face = count, along, f
    begin, end = corner_start[face], corner_start[face + 1]
    for c in range(begin, end):  # counter-clockwise seen along n, for both cores
        ids[c - begin if sign > 0.0 else end - 1 - c, column] = first + corners[c]
    return end - begin, cosine


@jit(helper=True)
def _common(x, core_a, core_b, facing_a, facing_b, n, apart, both, limit, extent, size, ids, work):
    """Writes the rows of a pair into the scratch, and returns how many.

    Rows 2 size and on of `work` have the place across the normal, the gap, the sign and the weights of each; `ids` has,
    from column 2 on, the pair and the corners.
    """
    across = _across(n)
    origin = core_a[0]
    (many_a, cosine_a), (many_b, cosine_b) = facing_a, facing_b
    for k in range(many_a):
        work[k, 0], work[k, 1], work[k, 2] = _place(x, ids[k, 0], origin, n, across)
    for k in range(many_b):
        work[size + k, 0], work[size + k, 1], work[size + k, 2] = _place(x, ids[k, 1], origin, n, across)
    if core_a[2] > 0.0:
        work[0, 0], work[0, 1], work[0, 2] = _touching(x, core_a, origin, n, 1.0, across)
    if core_b[2] > 0.0:
        work[size, 0], work[size, 1], work[size, 2] = _touching(x, core_b, origin, n, -1.0, across)
    # the ends of segments have normals of their own: a segment that turns a little then keeps clear of the other one
    ends = apart and many_a == 2 and many_b == 2
    near = (SAME if ends or min(cosine_a, cosine_b) > ALIGNED else EDGE) * extent
    count = 0
    for side in range(2):
        own, other, sign = (core_a, core_b, 1.0) if side == 0 else (core_b, core_a, -1.0)
        many, begin = (many_b, size) if side == 0 else (many_a, 0)
        lowest = np.inf
        for k in range(many):
            lowest = min(lowest, sign * work[begin + k, 2])
        for v in range(own[0], own[0] + 1 if own[2] > 0.0 else own[1]):
            if own[2] > 0.0:
                row = 0 if side == 0 else size
                p, q, height = work[row, 0], work[row, 1], work[row, 2]
            else:
                p, q, height = _place(x, v, origin, n, across)
            if lowest - sign * height - both > limit:
                continue
            far, i0, i1, i2, w0, w1, w2 = _above(work, begin, many, p, q, sign)
            mx, my, mz = n
            if ends:
                s, distance, mx, my, mz = _end(x, v, other[0], sign)
                if not (0.0 <= s <= 1.0 or far <= near):
                    continue
                i0, i1, w1, w2 = 0, 1, min(max(s, 0.0), 1.0), 0.0
                w0, gap = 1.0 - w1, distance - both
            elif far <= near or own[2] > 0.0:
                foot = w0 * work[begin + i0, 2] + w1 * work[begin + i1, 2] + w2 * work[begin + i2, 2]
                gap = sign * (foot - height) - both
            else:
                continue
            if gap > limit or (side == 1 and _known(work, 2 * size, count, p, q, gap, extent)):
                continue
            _put_place(work, 2 * size + count, p, q, gap, sign, mx, my, mz)
            ids[count, FIRST], ids[count, FIRST + 1] = v, other[0]
            k = _put_core(x, own, n, sign, v, v, v, 1.0, 0.0, 0.0, -1.0, ids, work, size, count, 0)
            column = 1 - side
            k = _put_core(
                x, other, n, -sign, ids[i0, column], ids[i1, column], ids[i2, column], w0, w1, w2, 1.0, ids, work,
                size, count, k,
            )  # fmt: skip
            _fill_up(ids, work, size, count, k)
            count += 1
    for k in range(many_a if many_a > 2 else many_a - 1):
        for m in range(many_b if many_b > 2 else many_b - 1):
            count = _crossing(
                k, many_a, m, many_b, core_a[0], core_b[0], n, both, limit, near, extent, size, ids, work, count
            )
    return count


@jit(helper=True)
def _end(x, v, first, sign):
    """The place of the foot of a corner on a segment, 0 to 1; the distance; and sign times the normal from v."""
    dx, dy, dz = x[first + 1, 0] - x[first, 0], x[first + 1, 1] - x[first, 1], x[first + 1, 2] - x[first, 2]
    px, py, pz = x[first, 0] - x[v, 0], x[first, 1] - x[v, 1], x[first, 2] - x[v, 2]
    s = -(px * dx + py * dy + pz * dz) / (dx * dx + dy * dy + dz * dz)
    t = min(max(s, 0.0), 1.0)
    px, py, pz = px + t * dx, py + t * dy, pz + t * dz
    distance = np.sqrt(px * px + py * py + pz * pz)
    by = sign / distance
    return s, distance, by * px, by * py, by * pz


@jit(helper=True)
def _touching(x, core, origin, n, sign, across):
    """Where a smooth core is farthest in the direction sign n, as `_place` has it."""
    _, px, py, pz = _support(x, core, sign * n[0], sign * n[1], sign * n[2])
    dx, dy, dz = px - x[origin, 0], py - x[origin, 1], pz - x[origin, 2]
    ux, uy, uz, vx, vy, vz = across
    return dx * ux + dy * uy + dz * uz, dx * vx + dy * vy + dz * vz, dx * n[0] + dy * n[1] + dz * n[2]


@jit(helper=True)
def _above(P, begin, many, p, q, sign):
    """How far a place is outside of a polygon, and the corners and weights of its point there, or near there."""
    x0, y0 = P[begin, 0], P[begin, 1]
    if many == 1:
        return np.sqrt((p - x0) ** 2 + (q - y0) ** 2), 0, 0, 0, 1.0, 0.0, 0.0
    if many == 2:
        dx, dy = P[begin + 1, 0] - x0, P[begin + 1, 1] - y0
        length = np.sqrt(dx * dx + dy * dy)
        if not length > EDGE * abs(P[begin + 1, 2] - P[begin, 2]):  # upright: the end that is nearer
            k = 0 if sign * (P[begin + 1, 2] - P[begin, 2]) >= 0.0 else 1
            return np.sqrt((p - P[begin + k, 0]) ** 2 + (q - P[begin + k, 1]) ** 2), k, k, k, 1.0, 0.0, 0.0
        s = ((p - x0) * dx + (q - y0) * dy) / length
        off = abs((p - x0) * dy - (q - y0) * dx) / length
        w = min(max(s / length, 0.0), 1.0)
        return max(off, -s, s - length), 0, 1, 1, 1.0 - w, w, 0.0
    far, best = -np.inf, -np.inf
    i1, i2, w1, w2 = 1, 2, 0.0, 0.0
    for k in range(many):
        m = k + 1 if k + 1 < many else 0
        xk, yk, xm, ym = P[begin + k, 0], P[begin + k, 1], P[begin + m, 0], P[begin + m, 1]
        length = np.sqrt((xm - xk) ** 2 + (ym - yk) ** 2)
        far = max(far, ((p - xk) * (ym - yk) - (q - yk) * (xm - xk)) / length) if length > 0.0 else far
        if 0 < k < many - 1:
            area = (xk - x0) * (ym - y0) - (yk - y0) * (xm - x0)
            one = ((p - x0) * (ym - y0) - (q - y0) * (xm - x0)) / area
            two = ((xk - x0) * (q - y0) - (yk - y0) * (p - x0)) / area
            least = min(one, two, 1.0 - one - two)
            if least > best:
                best, i1, i2, w1, w2 = least, k, m, one, two
    if best == -np.inf:
        return np.inf, 0, 0, 0, 1.0, 0.0, 0.0
    w0, w1, w2 = max(1.0 - w1 - w2, 0.0), max(w1, 0.0), max(w2, 0.0)
    total = w0 + w1 + w2
    return far, 0, i1, i2, w0 / total, w1 / total, w2 / total


@jit(helper=True)
def _known(work, begin, count, p, q, gap, extent):
    """Whether a row is at this place already, and its gap is not larger."""
    near, least = SAME * extent, EDGE * extent
    for row in range(begin, begin + count):
        if abs(work[row, 0] - p) <= near and abs(work[row, 1] - q) <= near and work[row, 2] <= gap + least:
            return True
    return False


@jit(helper=True)
def _put_place(work, row, p, q, gap, sign, nx, ny, nz):
    work[row, 0], work[row, 1], work[row, 2], work[row, 3] = p, q, gap, sign
    work[row, 13], work[row, 14], work[row, 15] = nx, ny, nz


@jit(helper=True)
def _put_core(x, core, n, sign, v0, v1, v2, w0, w1, w2, total, ids, work, size, row, k):
    """Writes the corners and weights of a point of a core behind the k that are there; returns their number."""
    number, value = FIRST + 2 + k, 4 + k
    if core[2] > 0.0:
        c0, c1, c2 = _weights(x, core, sign * n[0], sign * n[1], sign * n[2])
        axes = core[1] - core[0] - 1
        work[2 * size + row, value] = total * (1.0 - c0 - c1 - c2)
        ids[row, number] = core[0]
        for axis in range(axes):
            ids[row, number + 1 + axis] = core[0] + 1 + axis
            work[2 * size + row, value + 1 + axis] = total * (c0 if axis == 0 else (c1 if axis == 1 else c2))
        return k + axes + 1
    for v, w in ((v0, w0), (v1, w1), (v2, w2)):
        if w != 0.0:
            ids[row, FIRST + 2 + k] = v
            work[2 * size + row, 4 + k] = total * w
            k += 1
    return k


@jit(helper=True)
def _fill_up(ids, work, size, row, k):
    """Entries without a corner have the weight 0."""
    for column in range(k, 2 * WIDTH):
        ids[row, FIRST + 2 + column] = 0
        work[2 * size + row, 4 + column] = 0.0


@jit(helper=True)
def _crossing(k, many_a, m, many_b, start_a, start_b, n, both, limit, near, extent, size, ids, work, count):
    """Writes the row where edge k of the first polygon crosses edge m of the second; returns the number of rows."""
    after, behind = (k + 1 if k + 1 < many_a else 0), (m + 1 if m + 1 < many_b else 0)
    px, py, pz = work[k, 0], work[k, 1], work[k, 2]
    dx, dy, dz = work[after, 0] - px, work[after, 1] - py, work[after, 2] - pz
    qx, qy, qz = work[size + m, 0], work[size + m, 1], work[size + m, 2]
    ex, ey, ez = work[size + behind, 0] - qx, work[size + behind, 1] - qy, work[size + behind, 2] - qz
    area = dx * ey - dy * ex
    if not abs(area) * extent > near * np.sqrt((dx * dx + dy * dy) * (ex * ex + ey * ey)):
        return count  # corners near the other edge are rows already
    s = ((qx - px) * ey - (qy - py) * ex) / area
    t = ((qx - px) * dy - (qy - py) * dx) / area
    if not (-EDGE <= s <= 1.0 + EDGE and -EDGE <= t <= 1.0 + EDGE):
        return count
    gap = qz + t * ez - pz - s * dz - both
    place, other = px + s * dx, py + s * dy
    if gap > limit or _known(work, 2 * size, count, place, other, gap, extent):
        return count
    row = 2 * size + count
    a, b, c, d = ids[k, 0], ids[after, 0], ids[m, 1], ids[behind, 1]
    # a first corner stands for its core in the second place of a pair, so that it cannot stand for an edge there
    sign = -1.0 if c == start_b and a != start_a else 1.0
    first, second = (c, a) if sign < 0.0 else ((b, d) if c == start_b else (a, c))
    _put_place(work, row, place, other, gap, sign, n[0], n[1], n[2])
    ids[count, FIRST], ids[count, FIRST + 1] = first, second
    ids[count, 4], ids[count, 5], ids[count, 6], ids[count, 7] = a, b, c, d
    work[row, 4], work[row, 5] = sign * (s - 1.0), -sign * s
    work[row, 6], work[row, 7] = sign * (1.0 - t), sign * t
    _fill_up(ids, work, size, count, 4)
    return count + 1


@jit(helper=True)
def _select(count, size, extent, ids, work, numbers, values, at):
    """Writes the rows of a pair, at most MOST_POINTS: the nearest one first, then those farthest from others."""
    columns = numbers.shape[1] - 2
    kept = min(count, MOST_POINTS)
    least = np.inf
    for row in range(count):
        least = min(least, work[2 * size + row, 2])
        work[2 * size + row, 12] = np.inf
    for out in range(kept):
        chosen, best = out, -np.inf
        if count <= MOST_POINTS:
            chosen = out
        else:
            for row in range(count):
                spread = min(work[2 * size + row, 12], 2.0 * extent) - 2.0 * (work[2 * size + row, 2] - least)
                if work[2 * size + row, 12] >= 0.0 and spread > best + EDGE * extent:
                    chosen, best = row, spread
            p, q = work[2 * size + chosen, 0], work[2 * size + chosen, 1]
            for row in range(count):
                away = np.sqrt((work[2 * size + row, 0] - p) ** 2 + (work[2 * size + row, 1] - q) ** 2)
                work[2 * size + row, 12] = min(work[2 * size + row, 12], away)
            work[2 * size + chosen, 12] = -1.0
        sign = work[2 * size + chosen, 3]
        for k in range(2 + columns):
            numbers[at + out, k] = ids[chosen, FIRST + k]
        for k in range(columns):
            values[at + out, k] = work[2 * size + chosen, 4 + k]
        for k in range(3):
            values[at + out, columns + k] = sign * work[2 * size + chosen, 13 + k]
        values[at + out, columns + 3] = work[2 * size + chosen, 2]
    return kept
