"""The density of people on a floor: Gaussians around them that walls reflect.

The density of n people solves the heat equation with a point mass at each of them at the start, at the time at which
the Gaussian around a person far from walls has the standard deviation `width`. Walls let nothing through: the integral
of the density is n in a corridor, too, and nobody affects the other side of a wall. A wall is represented by the links
between nodes that it cuts, up to half a grid spacing away from its true position.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from jostle._tools.arrays import Array, Booleans, Integers
from jostle.crowds.geometry import Geometry
from jostle.crowds.outlines import around, package
from jostle.crowds.ways import Grid
from jostle.kernels import kernels_for
from jostle.kernels.sharing import cut, together
from jostle.kernels.threads import threads

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
        found = np.zeros(self.grid.shape)
        for window, part in self.densities([q], width):
            found[window.slices] = part
        return found

    def densities(self, groups: Sequence[Array], width: float) -> list[tuple[Window, Array]]:
        """The densities of groups of people, each in the window of the grid outside of which it is zero.

        All threads share the work; the densities do not depend on their number.
        """
        grid = self.grid
        variance = (width / grid.step) ** 2 / 2.0
        passes = int(np.ceil(variance / LARGEST_PART))
        amounts = [self._amounts(q, passes) for q in groups]
        found = [np.zeros(window.shape) for window, _ in amounts]
        count = -(-threads() // max(len(groups), 1))
        pieces = [
            (*one, out, variance / passes, passes, *rows)
            for one, out in zip(amounts, found, strict=True)
            if out.size
            for rows in cut(len(out), max(1, min(count, len(out) // (2 * passes))))
        ]
        together(self._spread, pieces)
        return [(window, out) for (window, _), out in zip(amounts, found, strict=True)]

    def _amounts(self, q: Array, passes: int) -> tuple[Window, Array]:
        """The window that people at q can affect in some passes, and what each of its nodes has of them at first."""
        grid, area = self.grid, self.grid.step**2
        x = (q - grid.lower) / grid.step
        x = x[((x >= 0.0) & (x < np.array(grid.shape) - 1.0)).all(axis=1)]
        if len(x) == 0:
            return Window((0, 0), (0, 0)), np.zeros((0, 0))
        low = np.floor(x)
        part, cells = x - low, low.astype(np.int64)
        window = Window.between(cells.min(axis=0) - passes, cells.max(axis=0) + 2 + passes, grid.shape)
        i, j = (cells - window.low).T
        nodes, shares = [], []
        for a, b in ((0, 0), (0, 1), (1, 0), (1, 1)):
            nodes.append((i + a) * window.shape[1] + j + b)
            shares.append(np.abs(1 - a - part[:, 0]) * np.abs(1 - b - part[:, 1]) / area)
        size = window.shape[0] * window.shape[1]
        amount = np.asarray(np.bincount(np.concatenate(nodes), np.concatenate(shares), size), dtype=float)
        return window, amount.reshape(window.shape)

    def _spread(
        self, window: Window, amount: Array, out: Array, part: float, passes: int, first: int, last: int
    ) -> None:
        """Fill rows of a density. They depend on as many rows on both sides as there are passes."""
        rows = slice(max(first - passes, 0), min(last + passes, len(amount)))
        low, high = window.low[0] + rows.start, window.low[0] + rows.stop
        east, north = (np.ascontiguousarray(one[low:high, window.slices[1]]) for one in (self.east, self.north))
        found = kernels_for(amount).spread(amount[rows], east, north, part, passes)
        out[first:last] = found[first - rows.start : last - rows.start]


class Window(NamedTuple):
    """A rectangle of nodes of a grid: rows low[0] to high[0] - 1, columns low[1] to high[1] - 1."""

    low: tuple[int, int]
    high: tuple[int, int]

    @staticmethod
    def between(low: Integers, high: Integers, shape: tuple[int, int]) -> Window:
        """The part of a rectangle that lies on a grid of the given shape."""
        a, b = np.clip(low, 0, shape), np.clip(high, 0, shape)
        return Window((int(a[0]), int(a[1])), (int(b[0]), int(b[1])))

    @staticmethod
    def around(some: Booleans) -> Window:
        """The smallest rectangle that contains some nodes (nx, ny)."""
        rows, columns = (np.flatnonzero(some.any(axis=axis)) for axis in (1, 0))
        if len(rows) == 0:
            return Window((0, 0), (0, 0))
        return Window((int(rows[0]), int(columns[0])), (int(rows[-1]) + 1, int(columns[-1]) + 1))

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and columns."""
        return self.high[0] - self.low[0], self.high[1] - self.low[1]

    @property
    def slices(self) -> tuple[slice, slice]:
        """The rows and columns of the grid."""
        return slice(self.low[0], self.high[0]), slice(self.low[1], self.high[1])


class Density(NamedTuple):
    """The density of all people, and of the people of each goal."""

    total: Array
    """(nx, ny) people per unit area."""
    groups: dict[int, tuple[Window, Array]]
    """Densities by goal, each in the window outside of which it is zero."""

    @staticmethod
    def of(floor: Floor, q: Array, goal: Integers, width: float) -> Density:
        """The densities of people at q with the given goals."""
        goals = np.unique(goal)
        found = floor.densities([q[goal == one] for one in goals], width)
        total = np.zeros(floor.grid.shape)
        for window, part in found:
            total[window.slices] += part
        return Density(total, dict(zip(goals.tolist(), found, strict=True)))

    def cost(self, goal: int, window: Window, own: float, others: float) -> Array:
        """(rows, columns) 1 + own rho_own + others rho_others in a window; rho_own is the density of a goal."""
        cost = 1.0 + others * self.total[window.slices]
        if goal in self.groups:
            other, density = self.groups[goal]
            low, high = np.maximum(window.low, other.low), np.minimum(window.high, other.high)
            if (low < high).all():
                here = tuple(slice(a - c, b - c) for a, b, c in zip(low, high, window.low, strict=True))
                there = tuple(slice(a - c, b - c) for a, b, c in zip(low, high, other.low, strict=True))
                cost[here] += (own - others) * density[there]
        return np.maximum(cost, 1.0)
