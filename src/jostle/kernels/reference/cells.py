"""What is near: balls and each other, points and segments."""

from __future__ import annotations

import numpy as np

from jostle._tools.arrays import Array, Integers, Shorts


def all_pairs(q: Array, radii: Array, reach: Array, period: Array) -> tuple[Integers, Array, Array]:
    """The (pairs, normal, gap) with gap |q_j - q_i| - r_i - r_j <= reach_i + reach_j, q_j the nearest image.

    pairs (2, m) are i and j, i < j, in order.
    """
    i, j = np.triu_indices(len(q), k=1)
    apart = q[j] - q[i]
    with np.errstate(invalid="ignore"):
        images = period * np.round(apart / period)
    apart = np.where(np.isfinite(period), apart - images, apart)
    distance = np.linalg.norm(apart, axis=1)
    near = ~(distance - radii[i] - radii[j] > reach[i] + reach[j])
    i, j, apart, distance = i[near], j[near], apart[near], distance[near]
    with np.errstate(invalid="ignore"):
        return np.stack([i, j]), apart / distance[:, None], distance - radii[i] - radii[j]


def pair_list(q: Array, radii: Array, period: Array, chunks: int) -> tuple[Shorts, Shorts]:
    """(i, j), i < j, in order: the balls that meet; q (n, d), d <= 3, searched in `chunks` at the same time."""
    i, j = all_pairs(q, radii, np.zeros(len(q)), period)[0]
    return i.astype(np.int32), j.astype(np.int32)


def near(
    i: Shorts, j: Shorts, q: Array, radii: Array, reach: Array, period: Array, chunks: int
) -> tuple[Integers, Array, Array]:
    """(pairs, normal, gap) of `all_pairs`, of those in the list (i, j) alone, computed by `chunks` threads."""
    listed = set(zip(i.tolist(), j.tolist(), strict=True))
    pairs, normal, gap = all_pairs(q, radii, reach, period)
    kept = [(one, other) in listed for one, other in pairs.T.tolist()]
    return pairs[:, kept], normal[kept], gap[kept]


def near_segments(x: Array, limit: Array, start: Array, along: Array, dual: Array) -> tuple[Integers, Array]:
    """The rows point k + segment with a distance up to the limits (n,), or NaN, in order; and the distances.

    Segments are start + s along, 0 <= s <= 1, and dual = along / |along|^2; all (k, 2).
    """
    apart = x[:, None] - start
    s = np.clip((apart * dual).sum(axis=2), 0.0, 1.0)
    distance = np.linalg.norm(apart - s[..., None] * along, axis=2)
    near = ~(distance > limit[:, None])
    return np.flatnonzero(near), distance[near]
