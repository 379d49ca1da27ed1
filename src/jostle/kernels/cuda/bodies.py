"""Many bodies: how fast they are, whether they stay near a place, and which are near the sides of a box."""

from __future__ import annotations

import cupy
import numpy as np

from jostle import kernels
from jostle._tools.arrays import Array, Integers
from jostle.kernels.cuda.launch import SUMMING_BLOCKS, each, floats, on_host, summed, summed_by_blocks, whole


@kernels.speeds.on("cupy")
def speeds(u: Array, v: Array, chunks: int) -> tuple[Array, float, float, float]:
    (n, d), larger = u.shape, cupy.empty(len(u))
    sums = summed_by_blocks("fill_speeds", d, n, *floats(u, v), larger, sums=3)
    moving, total, squares = on_host(sums).sum(axis=0).tolist()
    return larger, moving, total, squares


@kernels.outran.on("cupy")
def outran(u: Array, h: float, reach: Array, chunks: int) -> bool:
    (n, d), found = u.shape, cupy.zeros(1, np.int32)
    u, reach = floats(u, reach)
    each("look_for_fast", d, n, u, np.float64(h), reach, found)
    return bool(on_host(found)[0])


@kernels.stayed.on("cupy")
def stayed(q: Array, before: Array, radii: Array, reach: Array, room: Array, chunks: int) -> bool:
    (n, d), found = q.shape, cupy.zeros(1, np.int32)
    q, before = floats(q, before)
    sums = summed_by_blocks("sum_ways", d, n, q, before, sums=d)
    sizes = floats(radii, reach, room)
    each("look_for_strays", d, n, q, before, np.int64(len(sums)), sums, *sizes, found, most=SUMMING_BLOCKS)
    return not on_host(found)[0]


@kernels.near_sides.on("cupy")
def near_sides(
    x: Array, radii: Array, reach: Array, axis: Integers, sign: Array, ends: Array, chunks: int
) -> tuple[Integers, Array]:
    (n, d), k = x.shape, len(axis)
    (x, radii, reach, sign, ends), (axis,) = floats(x, radii, reach, sign, ends), whole(axis)
    bodies = x, radii, np.int64(len(radii) > 1), reach, np.int64(len(reach) > 1)
    box, start = (np.int64(k), axis, sign, ends), cupy.zeros(n + 1, np.int64)
    each("count_sides", d, n, *bodies, *box, start)
    start = summed(start)
    m = int(start[-1])
    rows, distances = cupy.empty(m, np.int64), cupy.empty(m)
    each("write_sides", d, n, *bodies, *box, start, rows, distances)
    return rows, distances
