"""Who has left a plan, without a look at the outline for most people: those in the middle of it, and those far away."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from jostle._tools.arrays import Array, Booleans
from jostle.crowds.geometry import Geometry
from jostle.crowds.outlines import package

OUTLET_RADII = 4.0
"""Default distance behind an exit at which people are removed from a run, in multiples of the largest radius."""
CELLS = 128
"""Number of cells along each side of the rectangle around a plan."""
MANY = 2000
"""Number of people from which on the cells of a plan are worth finding."""


class Interior(NamedTuple):
    """The rectangle around a plan, and those of its cells that lie in the plan as a whole.

    >>> from jostle.crowds.plans import Plan
    >>> plan = Plan([(0, 0), (6, 0), (6, 2), (2, 2), (2, 5), (0, 5)], exits={"north": ((0.4, 5), (1.6, 5))})
    >>> Interior.of(plan).contains(np.array([[1.0, 4.0], [4.0, 4.0], [1.0, 7.0]])).tolist()
    [True, False, False]
    """

    low: Array
    high: Array
    cells: Booleans
    """(CELLS, CELLS) whether the plan covers each cell."""

    @staticmethod
    def of(plan: Geometry) -> Interior:
        """The interior of a plan."""
        shapely = package("shapely")
        low, high = np.array(plan.area.bounds).reshape(2, 2)
        x, y = (np.linspace(a, b, CELLS + 1) for a, b in zip(low, high, strict=True))
        boxes = shapely.box(x[:-1, None], y[None, :-1], x[1:, None], y[None, 1:])
        return Interior(low, high, np.asarray(shapely.covers(plan.area, boxes)))

    def contains(self, q: Array) -> Booleans:
        """(n,) whether positions (n, 2) are in cells that the plan covers; False near its outline."""
        part = (q - self.low) / (self.high - self.low)
        there = np.asarray((part[:, 0] >= 0.0) & (part[:, 0] < 1.0) & (part[:, 1] >= 0.0) & (part[:, 1] < 1.0))
        i, j = (CELLS * np.where(there[:, None], part, 0.0)).astype(np.int64).T
        return np.asarray(there & self.cells[i, j])

    def beyond(self, q: Array, limit: float, outside: Callable[[Array], Array]) -> Booleans:
        """(n,) whether positions (n, 2) are further than `limit` from the plan; `outside` returns distances from it."""
        found = np.asarray(np.maximum(self.low - q, q - self.high).max(axis=1) > limit)
        near = np.flatnonzero(~found & ~self.contains(q))
        found[near] = outside(q[near]) > limit
        return found
