"""Isotonic regression along saturated runs: the projection behind the 1-D, square and triangular laws.

A run is a row of saturated points without a hole, in order. Velocities along it must not decrease, and at a wall, which
is at rest, they must not enter it. The projection of y on this cone C is (Bourdin & Maury 2020, section 3 and (30))

    u = isotonic regression of y,  held >= 0 after a wall and <= 0 before one,
    p = the sum of m (y - u) from a free end on:  p >= 0, and p = 0 wherever u increases.

Both ends walls: u = 0, and p is known up to a constant, which is chosen such that min p = 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from jostle.arrays import Array, Booleans, Integers
from jostle.kernels import kernels_for

EQUAL_MASSES = np.zeros(0)
"""Stands for masses that are all one."""


@dataclass(frozen=True, eq=False)
class Runs:
    """The runs of some points: which, in which order, and which of their ends are at walls.

    >>> runs = Runs(np.arange(5), np.array([0, 3, 5]), np.array([False, True]), np.array([False, False]))
    >>> y = np.array([2.0, 0.0, 1.0, -1.0, 3.0])
    >>> runs.isotonic(y).tolist(), runs.pressure(y - runs.isotonic(y)).tolist()
    ([1.0, 1.0, 1.0, 0.0, 3.0], [0.0, 1.0, 0.0, 0.0, 1.0, 0.0, 0.0])
    """

    order: Integers
    """(n,) the points, run by run,"""
    starts: Integers
    """(r + 1,) where each run begins in this order, and the last one ends."""
    low: Booleans
    """(r,) does it begin at a wall,"""
    high: Booleans
    """(r,) or end at one?"""
    mass: Array | None = None
    """(n,) masses of the points, if they differ."""

    @cached_property
    def run(self) -> Integers:
        """(n,) the run of each point, in order."""
        return np.repeat(np.arange(len(self.low)), np.diff(self.starts))

    @cached_property
    def edges(self) -> Integers:
        """(n,) the place after each point in an array by edges: a run of k points has k + 1."""
        return np.asarray(np.arange(len(self.order)) + self.run + 1)

    @cached_property
    def inner(self) -> Booleans:
        """(n + r,) edges between two points of a run, that is, contacts; the others are ends."""
        inner = np.ones(len(self.order) + len(self.low), dtype=bool)
        inner[self.starts[:-1] + np.arange(len(self.low))] = False
        inner[self.starts[1:] + np.arange(len(self.low))] = False
        return inner

    @cached_property
    def closed(self) -> Booleans:
        """(n + r,) edges at which something holds back: contacts and walls."""
        closed = self.inner.copy()
        closed[self.starts[:-1] + np.arange(len(self.low))] = self.low
        closed[self.starts[1:] + np.arange(len(self.low))] |= self.high
        return closed

    def isotonic(self, y: Array) -> Array:
        """The projection of y on the cone of the runs, point by point."""
        return kernels_for(y).isotonic(y, self._mass, self.order, self.starts, self.low, self.high)

    def pressure(self, lost: Array) -> Array:
        """(n + r,) sums of m (y - u) by edge, for lost = y - u; zero at free ends, min p = 0 between walls."""
        return kernels_for(lost).pressures(lost, self._mass, self.order, self.starts, self.low, self.high)

    @property
    def _mass(self) -> Array:
        return EQUAL_MASSES if self.mass is None else self.mass

    def rates(self, u: Array) -> Array:
        """(n + r,) how fast each edge opens: u after it minus u before it; a wall is at rest, a free end is zero."""
        along = u[self.order]
        before, after = np.zeros(len(self.inner)), np.zeros(len(self.inner))
        before[self.edges], after[self.edges - 1] = along, along
        return np.where(self.closed, after - before, 0.0)
