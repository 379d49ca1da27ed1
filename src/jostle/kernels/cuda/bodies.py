"""Many bodies: how fast they are, whether they stay near a place, and which are near planes."""

from __future__ import annotations

import cupy
import numpy as np

from jostle import kernels
from jostle._tools.arrays import Array, Integers
from jostle.kernels.cuda.launch import SUMMING_BLOCKS, each, floats, on_host, summed, summed_by_blocks
from jostle.kernels.reference.bodies import common_way


@kernels.expected_ways.on("cupy")
def expected_ways(u: Array, v: Array, h: float, of_mean: float, of_spread: float, chunks: int) -> Array:
    (n, d), larger = u.shape, cupy.empty(len(u))
    sums = summed_by_blocks("fill_speeds", d, n, *floats(u, v), larger, sums=3)
    moving, total, squares = on_host(sums).sum(axis=0).tolist()
    ways: Array = h * (larger + common_way(moving, total, squares, of_mean, of_spread))
    return ways


@kernels.outran.on("cupy")
def outran(u: Array, h: float, cutoff: Array, chunks: int) -> bool:
    (n, d), found = u.shape, cupy.zeros(1, np.int32)
    u, cutoff = floats(u, cutoff)
    each("look_for_fast", d, n, u, np.float64(h), cutoff, found)
    return bool(on_host(found)[0])


@kernels.stayed.on("cupy")
def stayed(q: Array, before: Array, radii: Array, cutoff: Array, room: Array, chunks: int) -> bool:
    (n, d), found = q.shape, cupy.zeros(1, np.int32)
    q, before = floats(q, before)
    sums = summed_by_blocks("sum_ways", d, n, q, before, sums=d)
    sizes = floats(radii, cutoff, room)
    each("look_for_strays", d, n, q, before, np.int64(len(sums)), sums, *sizes, found, most=SUMMING_BLOCKS)
    return not on_host(found)[0]


@kernels.near_planes.on("cupy")
def near_planes(
    x: Array, radii: Array, cutoff: Array, unit: Array, offset: Array, chunks: int
) -> tuple[Integers, Array, Array]:
    n, d = x.shape
    x, radii, cutoff, unit, offset = floats(x, radii, cutoff, unit, offset)
    bodies = x, radii, np.int64(len(radii) > 1), cutoff, np.int64(len(cutoff) > 1)
    planes, start = (np.int64(len(unit)), unit, offset), cupy.zeros(n + 1, np.int64)
    each("count_planes", d, n, *bodies, *planes, start)
    start = summed(start)
    m = int(start[-1])
    pairs, normal, gap = cupy.empty((2, m), np.int64), cupy.empty((m, d)), cupy.empty(m)
    each("write_planes", d, n, *bodies, *planes, start, pairs[0], pairs[1], normal, gap)
    return pairs, normal, gap
