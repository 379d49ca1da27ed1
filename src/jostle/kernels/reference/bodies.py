"""Many bodies: how fast they are, whether they stay near a place, and which are near planes."""

from __future__ import annotations

from math import sqrt

from jostle._tools.arrays import Array, Integers
from jostle.kernels.interface import Kernel


@Kernel
def expected_ways(u: Array, v: Array, h: float, of_mean: float, of_spread: float, chunks: int) -> Array:
    """(n,) how far each body may go in a time h, by velocities u and v (n, d), computed by `chunks` threads.

    That is h times the larger of its two speeds, plus these multiples of the mean and of the standard deviation of the
    speeds of all bodies that move; the deviation counts as zero where it overflows.
    """
    raise NotImplementedError


def common_way(moving: float, total: float, squares: float, of_mean: float, of_spread: float) -> float:
    """What `expected_ways` adds to each speed: how many are not zero, their sum, and the sum of their squares."""
    mean = total / max(moving, 1.0)
    variance = squares / max(moving, 1.0) - mean * mean
    return of_mean * mean + of_spread * (sqrt(variance) if variance > 0.0 else 0.0)


@Kernel
def outran(u: Array, h: float, cutoff: Array, chunks: int) -> bool:
    """Whether a body with velocities u (n, d) goes further than its cutoff (n,) in a time h, or its way is NaN."""
    raise NotImplementedError


@Kernel
def stayed(q: Array, before: Array, radii: Array, cutoff: Array, room: Array, chunks: int) -> bool:
    """Whether radius + cutoff + the way of each body from `before` to q, less the mean way, is at most its room."""
    raise NotImplementedError


@Kernel
def near_planes(
    x: Array, radii: Array, cutoff: Array, unit: Array, offset: Array, chunks: int
) -> tuple[Integers, Array, Array]:
    """(pairs, normal, gap) of balls at x (n, d) and planes unit_k . x = offset_k with gap <= cutoff, or NaN.

    pairs (2, m) are the numbers of a ball and -1 - k, in order; radii and cutoff have one entry for each ball, or one
    for all. Coordinates along a plane do not count, even if they are NaN.
    """
    raise NotImplementedError
