"""The density of people on a floor: Gaussians around them that walls reflect.

The density of n people solves the heat equation with a point mass at each of them at the start, at the time at which
the Gaussian around a person far from walls has the standard deviation `width`. Walls let nothing through: the integral
of the density is n in a corridor, too, and nobody affects the other side of a wall. A wall is represented by the links
between nodes that it cuts, up to half a grid spacing away from its true position.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from jostle.arrays import Array, Booleans
from jostle.crowds.geometry import Geometry
from jostle.crowds.outlines import around, package
from jostle.crowds.ways import Grid
from jostle.kernels import kernels_for

LARGEST_PART = 0.2
"""Largest fraction of a difference that two neighbouring nodes exchange in one pass. Close to 1/4, odd and even nodes
would keep different values; beyond 1/4, values would grow."""


@dataclass(frozen=True, eq=False)
class Floor:
    """A grid on a plan, with the links between neighbouring nodes that no wall cuts.

    >>> from jostle.crowds.plans import Plan
    >>> plan = Plan([(0, 0), (6, 0), (6, 2), (0, 2)], exits={"east": ((6, 0.5), (6, 1.5))})
    >>> floor = Floor.on(plan, plan.ways(0.2, spacing=0.1).grid)
    >>> found = floor.density(np.array([[3.0, 0.3], [1.0, 1.0]]), 0.35)
    >>> round(float(found.sum() * 0.1**2), 9), float(found.max().round(2))     # two people; 1.3 far from walls
    (2.0, 1.99)
    """

    grid: Grid
    east: Booleans
    """(nx, ny) whether node (i, j) and node (i + 1, j) are on the same side of all walls."""
    north: Booleans
    """(nx, ny) whether node (i, j) and node (i, j + 1) are on the same side of all walls."""
    inside: Booleans
    """(nodes,) whether each node is in the plan."""

    @staticmethod
    def on(plan: Geometry, grid: Grid) -> Floor:
        """The links of a grid on a plan."""
        shapely = package("shapely")
        outlines = shapely.get_parts(shapely.boundary(around(plan.columns))) if len(plan.columns) else []
        walls = np.array([*shapely.linestrings(plan.walls), *outlines])
        points = shapely.get_coordinates(shapely.segmentize(walls, grid.step / 2.0))
        index = np.floor((points - grid.lower) / grid.step + 0.5).astype(np.int64)
        around_them = np.stack(np.meshgrid([-1, 0, 1], [-1, 0, 1], indexing="ij"), axis=-1).reshape(-1, 2)
        near = np.unique((index[:, None] + around_them).reshape(-1, 2), axis=0)
        near = near[((near >= 0) & (near < np.array(grid.shape))).all(axis=1)]
        tree, start = shapely.STRtree(walls), grid.lower + grid.step * near
        links = []
        for axis in range(2):
            end = start + grid.step * np.eye(2)[axis]
            lines = shapely.linestrings(np.stack([start, end], axis=1))
            cut = np.unique(tree.query(lines, predicate="intersects")[0])
            open_ones = np.ones(grid.shape, dtype=bool)
            open_ones[tuple(near[cut].T)] = False
            links.append(open_ones)
        return Floor(grid, links[0], links[1], np.asarray(shapely.contains_xy(plan.area, grid.nodes())))

    def density(self, q: Array, width: float) -> Array:
        """(nx, ny) people per unit area at the nodes; people outside the grid do not count."""
        grid, area = self.grid, self.grid.step**2
        x = (q - grid.lower) / grid.step
        x = x[((x >= 0.0) & (x < np.array(grid.shape) - 1.0)).all(axis=1)]
        low = np.floor(x)
        part, (i, j) = x - low, low.astype(np.int64).T
        found = np.zeros(grid.shape)
        for a, b in ((0, 0), (0, 1), (1, 0), (1, 1)):
            share = np.abs(1 - a - part[:, 0]) * np.abs(1 - b - part[:, 1])
            np.add.at(found, (i + a, j + b), share / area)
        if len(x) == 0:
            return found
        variance = (width / grid.step) ** 2 / 2.0
        passes = int(np.ceil(variance / LARGEST_PART))
        return kernels_for(found).spread(found, self.east, self.north, variance / passes, passes)
