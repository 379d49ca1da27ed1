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

TOGETHER = 32
"""Runs that are regressed in one call, lifted one above the other: it costs so many units of round-off at most."""
LONG = 4096
"""No more points than this in one call of several runs."""


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

    @cached_property
    def _calls(self) -> list[tuple[int, int]]:
        """Runs from .. to that are regressed together."""
        calls, first = [], 0
        for last in range(1, len(self.low) + 1):
            full = last - first == TOGETHER or self.starts[last] - self.starts[first] > LONG
            if full or last == len(self.low):
                calls.append((first, last))
                first = last
        return calls

    def isotonic(self, y: Array) -> Array:
        """The projection of y on the cone of the runs, point by point."""
        from scipy.optimize import isotonic_regression

        z, m = y[self.order], None if self.mass is None else self.mass[self.order]
        out = np.empty_like(z)
        lift = self._lift(z)
        for first, last in self._calls:
            part = slice(self.starts[first], self.starts[last])
            weights = None if m is None else m[part]
            if last == first + 1:
                out[part] = isotonic_regression(z[part], weights=weights).x
                continue
            up = np.repeat(lift[first:last] - lift[first], np.diff(self.starts[first : last + 1]))
            out[part] = isotonic_regression(z[part] + up, weights=weights).x - up
        if self.low.any():
            np.maximum(out, 0.0, out=out, where=self.low[self.run])
        if self.high.any():
            np.minimum(out, 0.0, out=out, where=self.high[self.run])
        result = np.empty_like(out)
        result[self.order] = out
        return result

    def _lift(self, z: Array) -> Array:
        """(r,) what puts each run above the one before it, so that no pool of equal values joins the two."""
        if len(self.low) == 0:
            return np.zeros(0)
        top, bottom = (extreme.reduceat(z, self.starts[:-1]) for extreme in (np.maximum, np.minimum))
        return np.concatenate([[0.0], np.cumsum(np.maximum(top[:-1] - bottom[1:], 0.0))])

    def pressure(self, lost: Array) -> Array:
        """(n + r,) sums of m (y - u) by edge, for lost = y - u; zero at free ends, min p = 0 between walls."""
        weighted = lost if self.mass is None else self.mass * lost
        p = np.zeros(len(self.order) + len(self.low))
        p[self.edges] = np.cumsum(weighted[self.order])
        number = np.arange(len(self.low))
        begins, ends = self.starts[:-1] + number, self.starts[1:] + number
        p[begins[1:]] = p[ends[:-1]]
        base = np.where(self.low, p[ends], p[begins])
        both = self.low & self.high
        if both.any():
            base[both] = np.minimum.reduceat(p, begins)[both]
        p -= np.repeat(base, np.diff(self.starts) + 1)
        p[begins[~self.low]] = 0.0
        p[ends[~self.high]] = 0.0
        return np.maximum(p, 0.0)

    def rates(self, u: Array) -> Array:
        """(n + r,) how fast each edge opens: u after it minus u before it; a wall is at rest, a free end is zero."""
        along = u[self.order]
        before, after = np.zeros(len(self.inner)), np.zeros(len(self.inner))
        before[self.edges], after[self.edges - 1] = along, along
        return np.where(self.closed, after - before, 0.0)
