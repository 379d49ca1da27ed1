"""The surface of convex polygons at one time, and the geometry of their corners."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from jostle.arrays import Array, Booleans, Integers, place_of
from jostle.sets.surfaces import Lines, Spheres, Surfaces, limit_of_each

DISC_MARGIN = 1e-12
"""The disc around a polygon is larger by this fraction, so that round-off leaves no corner outside."""


@dataclass(frozen=True, eq=False, slots=True)
class ConvexPolygons(Surfaces):
    """The signed distances to k polygons with the same number of edges each; shorter polygons repeat some edges."""

    edges: Lines
    """(k each) the edges of the polygons, one after the other."""
    normal: Array
    """(k each, 2), outwards."""
    each: int
    """Edges of each polygon."""
    discs: Spheres
    """(k) discs around the polygons: what is far from a disc is far from its polygon."""
    solid: ClassVar[bool] = True

    @classmethod
    def around(cls, polygons: Sequence[Array]) -> ConvexPolygons:
        each = max(len(polygon) for polygon in polygons)
        turn = [np.arange(each) % len(polygon) for polygon in polygons]
        start = np.concatenate([polygon[e] for polygon, e in zip(polygons, turn, strict=True)])
        end = np.concatenate([polygon[(e + 1) % len(polygon)] for polygon, e in zip(polygons, turn, strict=True)])
        along = end - start
        normal = np.stack([along[:, 1], -along[:, 0]], axis=1) / np.hypot(along[:, 0], along[:, 1])[:, None]
        centre = start.reshape(-1, each, 2).mean(axis=1)
        radius = np.linalg.norm(start.reshape(-1, each, 2) - centre[:, None], axis=2).max(axis=1)
        discs = Spheres(centre, (1.0 + DISC_MARGIN) * radius, 1.0)
        return cls(Lines.between(start, end), normal, each, discs)

    def distances(self, x: Array) -> Array:
        k = len(self.discs.centre)
        row = place_of(x).arange(len(x) * k)
        return self._signed(x[row // k], row % k).reshape(-1, k)

    def near(self, x: Array, limit: Array | float) -> tuple[Integers, Array]:
        k = len(self.discs.centre)
        row, _ = self.discs.near(x, limit)
        distance = self._signed(x[row // k], row % k)
        kept = ~(distance > limit_of_each(limit, x)[row // k])
        return row[kept], distance[kept]

    def slopes(self, x: Array, wall: Integers) -> tuple[Array, Array]:
        edges = self._edges(wall)
        distance, from_edge, at_a_vertex = self._to_edges(x, edges)
        outside = self._heights(x, edges).max(axis=1) > 0.0
        nearest = place_of(wall).arange(len(wall)), distance.argmin(axis=1)
        gradient, bend = self.normal[edges[nearest]], place_of(x).zeros(len(wall))
        corner = np.flatnonzero(outside & at_a_vertex[nearest] & (distance[nearest] > 0.0))
        bend[corner] = 1.0 / distance[nearest][corner]
        gradient[corner] = from_edge[nearest][corner] * bend[corner, None]
        return gradient, bend

    def hit(self, after: ConvexPolygons, x: Array, y: Array, wall: Integers) -> Booleans:
        edges, each = self._edges(wall).ravel(), self.each
        through = self.edges.hit(after.edges, np.repeat(x, each, axis=0), np.repeat(y, each, axis=0), edges)
        inside = self._signed(x, wall) < 0.0
        return through.reshape(-1, each).any(axis=1) | inside

    def sway(self, after: ConvexPolygons) -> float:
        return self.edges.sway(after.edges)

    def _signed(self, x: Array, wall: Integers) -> Array:
        edges = self._edges(wall)
        distance = self._to_edges(x, edges)[0].min(axis=1)
        signed: Array = np.where(self._heights(x, edges).max(axis=1) > 0.0, distance, -distance)
        return signed

    def _edges(self, wall: Integers) -> Integers:
        """(m, each) the edges of one polygon each."""
        return wall[:, None] * self.each + place_of(wall).arange(self.each)

    def _to_edges(self, x: Array, edges: Integers) -> tuple[Array, Array, Booleans]:
        """Distances to edges, the vectors from their nearest points, and whether those are vertices."""
        first, second, s = self.edges.apart(x[:, :1], x[:, 1:], edges)
        return np.sqrt(first * first + second * second), np.stack([first, second], axis=2), (s == 0.0) | (s == 1.0)

    def _heights(self, x: Array, edges: Integers) -> Array:
        """normal . (x - start): above the lines of edges."""
        heights: Array = np.einsum("med,med->me", x[:, None] - self.edges.start[edges], self.normal[edges])
        return heights
