"""Isotonic regression along saturated runs: the projection behind the 1-D, square and triangular laws.

A run is a sequence of adjacent saturated points. Velocities must not decrease along it, and must not point into a wall,
which is at rest. The projection of y on this cone C is (Bourdin & Maury 2020, section 3 and (30))

    u = isotonic regression of y,  held >= 0 after a wall and <= 0 before one,
    p = the sum of m (y - u) from a free end on:  p >= 0, and p = 0 wherever u increases.

If both ends are walls, u = 0 and p is known up to a constant, which is chosen such that min p = 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from jostle.arrays import Array, Booleans, Integers
from jostle.kernels import kernels_for

EQUAL_MASSES = np.zeros(0)
"""Tells the kernels that all masses are one."""


@dataclass(frozen=True, eq=False)
class Runs:
    """Points in runs, with the ends that are at walls.

    >>> runs = Runs(np.arange(5), np.array([0, 3, 5]), np.array([False, True]), np.array([False, False]))
    >>> y = np.array([2.0, 0.0, 1.0, -1.0, 3.0])
    >>> runs.isotonic(y).tolist(), runs.pressure(y - runs.isotonic(y)).tolist()
    ([1.0, 1.0, 1.0, 0.0, 3.0], [0.0, 1.0, 0.0, 0.0, 1.0, 0.0, 0.0])
    """

    order: Integers
    """(n,) the numbers of the points, run by run."""
    starts: Integers
    """(r + 1,) index in `order` at which each run begins, and at which the last run ends."""
    low: Booleans
    """(r,) whether each run begins at a wall."""
    high: Booleans
    """(r,) whether each run ends at a wall."""
    mass: Array | None = None
    """(n,) masses of the points; None if all are one."""

    @cached_property
    def run(self) -> Integers:
        """(n,) the run of each point of `order`."""
        return np.repeat(np.arange(len(self.low)), np.diff(self.starts))

    @cached_property
    def edges(self) -> Integers:
        """(n,) index of the edge after each point in arrays by edges; a run of k points has k + 1 edges."""
        return np.asarray(np.arange(len(self.order)) + self.run + 1)

    @cached_property
    def inner(self) -> Booleans:
        """(n + r,) whether an edge lies between two points of a run, that is, is a contact and not an end."""
        inner = np.ones(len(self.order) + len(self.low), dtype=bool)
        inner[self.starts[:-1] + np.arange(len(self.low))] = False
        inner[self.starts[1:] + np.arange(len(self.low))] = False
        return inner

    @cached_property
    def closed(self) -> Booleans:
        """(n + r,) whether an edge can carry an impulse: contacts and walls."""
        closed = self.inner.copy()
        closed[self.starts[:-1] + np.arange(len(self.low))] = self.low
        closed[self.starts[1:] + np.arange(len(self.low))] |= self.high
        return closed

    def isotonic(self, y: Array) -> Array:
        """(n,) the projection of y on the cone of the runs."""
        return kernels_for(y).isotonic(y, self._mass, self.order, self.starts, self.low, self.high)

    def pressure(self, lost: Array) -> Array:
        """(n + r,) the pressure p at each edge for lost = y - u; zero at free ends, min p = 0 between walls."""
        return kernels_for(lost).pressures(lost, self._mass, self.order, self.starts, self.low, self.high)

    @property
    def _mass(self) -> Array:
        return EQUAL_MASSES if self.mass is None else self.mass

    def rates(self, u: Array) -> Array:
        """(n + r,) opening rate of each edge: u after it minus u before it; walls are at rest, free ends give zero."""
        along = u[self.order]
        before, after = np.zeros(len(self.inner)), np.zeros(len(self.inner))
        before[self.edges], after[self.edges - 1] = along, along
        return np.where(self.closed, after - before, 0.0)
