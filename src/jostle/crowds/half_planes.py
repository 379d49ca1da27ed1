"""Convex polygons as intersections of half-planes: which points are inside, and the distance of others."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from jostle._tools.arrays import Array, Booleans
from jostle.crowds.outlines import distance_to, ring_edges


class HalfPlanes(NamedTuple):
    """A convex polygon: the points x with inward . x > offset for each edge."""

    corners: Array
    """(m, 2) corners, counter-clockwise, no three of them on one line."""
    inward: Array
    """(m, 2) unit normals of the edges, into the polygon."""
    offset: Array
    """(m,) offsets of the edges along their normals."""

    @staticmethod
    def of(ring: Array) -> HalfPlanes | None:
        """The half-planes of a ring of corners (m, 2), in either order; None if it is not convex, or meets itself.

        >>> HalfPlanes.of(np.array([[0.0, 0.0], [0.0, 3.0], [4.0, 3.0], [4.0, 0.0], [2.0, 0.0]])).corners.tolist()
        [[4.0, 0.0], [4.0, 3.0], [0.0, 3.0], [0.0, 0.0]]
        >>> HalfPlanes.of(np.array([[0.0, 0.0], [4.0, 0.0], [1.0, 1.0], [0.0, 4.0]])) is None
        True
        """
        corners = ring[(ring != np.roll(ring, 1, axis=0)).any(axis=1)]
        turns, ahead = _turns(corners)
        if not ahead[turns == 0.0].all():
            return None
        corners = corners[turns != 0.0]
        turns, _ = _turns(corners)
        if len(corners) >= 3 and (turns < 0.0).all():
            corners, turns = corners[::-1], -turns[::-1]
        if len(corners) < 3 or not (turns > 0.0).all() or not turns.sum() < 3.0 * np.pi:
            return None
        along = np.roll(corners, -1, axis=0) - corners
        inward = np.stack([-along[:, 1], along[:, 0]], axis=1) / np.linalg.norm(along, axis=1)[:, None]
        return HalfPlanes(corners, inward, np.einsum("md,md->m", inward, corners))

    def inside(self, x: Array) -> Booleans:
        """(n,) whether points (n, 2) are in the polygon, and not on its edges."""
        there = np.ones(len(x), dtype=bool)
        first, second = x[:, 0].copy(), x[:, 1].copy()
        for (a, b), offset in zip(self.inward, self.offset, strict=True):
            there &= a * first + b * second > offset
        return there

    def outside(self, x: Array) -> Array:
        """(n,) distances of points (n, 2) from the polygon; 0 inside."""
        far = np.zeros(len(x))
        out = np.flatnonzero(~self.inside(x))
        if len(out):
            far[out] = distance_to(ring_edges(self.corners), x[out]).min(axis=0)
        return far


def _turns(corners: Array) -> tuple[Array, Booleans]:
    """(m,) angle by which a ring turns at each corner, and whether it continues forward there."""
    before, after = corners - np.roll(corners, 1, axis=0), np.roll(corners, -1, axis=0) - corners
    cross = before[:, 0] * after[:, 1] - before[:, 1] * after[:, 0]
    along = np.einsum("md,md->m", before, after)
    return np.where(cross == 0.0, 0.0, np.arctan2(cross, along)), np.asarray(along > 0.0)
