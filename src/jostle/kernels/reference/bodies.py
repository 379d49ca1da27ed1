"""Many bodies: how fast they are, whether they stay near a place, and which are near the sides of a box."""

from __future__ import annotations

import numpy as np

from jostle._tools.arrays import Array, Integers, squares


def speeds(u: Array, v: Array, chunks: int) -> tuple[Array, float, float, float]:
    """(n,) the larger of two speeds of each body, those of the velocities u and v (n, d), computed by `chunks` threads.

    Also how many of them are not zero, their sum, and the sum of their squares.
    """
    larger = np.sqrt(np.maximum(squares(u), squares(v)))
    return larger, float(np.count_nonzero(larger)), float(larger.sum()), float(larger @ larger)


def outran(u: Array, h: float, reach: Array, chunks: int) -> bool:
    """Whether a body with velocities u (n, d) goes further than its reach (n,) in a time h, or its way is NaN."""
    return not (h * np.sqrt(squares(u)) <= reach).all()


def stayed(q: Array, before: Array, radii: Array, reach: Array, room: Array, chunks: int) -> bool:
    """Whether radius + reach + the way of each body from `before` to q, less the mean way, is at most its room."""
    way = q - before
    strayed = np.sqrt(squares(way - way.mean(axis=0)))
    return bool((radii + reach + strayed <= room).all())


def near_sides(
    x: Array, radii: Array, reach: Array, axis: Integers, sign: Array, ends: Array, chunks: int
) -> tuple[Integers, Array]:
    """The rows body k + side with a distance sign (x[axis] - end) up to radius + reach, or NaN; and the distances.

    radii and reach have one entry for each body, or one for all.
    """
    distance = sign * x[:, axis] - sign * ends
    near = ~(distance > (reach + radii)[:, None])
    return np.flatnonzero(near), distance[near]
