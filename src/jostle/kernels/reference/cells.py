"""What is near: balls and each other, points and segments."""

from __future__ import annotations

from jostle._tools.arrays import Array, Integers, Shorts
from jostle.kernels.interface import Kernel


@Kernel
def all_pairs(q: Array, radii: Array, cutoff: Array, period: Array) -> tuple[Integers, Array, Array]:
    """The (pairs, normal, gap) with gap |q_j - q_i| - r_i - r_j <= cutoff_i + cutoff_j, q_j the nearest image.

    pairs (2, m) are i and j, i < j, in order.
    """
    raise NotImplementedError


@Kernel
def pair_list(q: Array, radii: Array, period: Array, chunks: int) -> tuple[Shorts, Shorts]:
    """(i, j), i < j, in order: the balls that meet; q (n, d), d <= 3, searched in `chunks` at the same time."""
    raise NotImplementedError


@Kernel
def near(
    i: Shorts, j: Shorts, q: Array, radii: Array, cutoff: Array, period: Array, chunks: int
) -> tuple[Integers, Array, Array]:
    """(pairs, normal, gap) of `all_pairs`, of those in the list (i, j) alone, computed by `chunks` threads."""
    raise NotImplementedError


@Kernel
def near_segments(x: Array, limit: Array, start: Array, along: Array, dual: Array) -> tuple[Integers, Array]:
    """The rows point k + segment with a distance up to the limits (n,), or NaN, in order; and the distances.

    Segments are start + s along, 0 <= s <= 1, and dual = along / |along|^2; all (k, 2).
    """
    raise NotImplementedError
