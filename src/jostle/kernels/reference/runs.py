"""Isotonic regression along runs of points."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from jostle._tools.arrays import Array, Booleans, Integers


def isotonic(y: Array, mass: Array, order: Integers, starts: Integers, low: Booleans, high: Booleans) -> Array:
    """(n,) run by run, the nearest non-decreasing u to y, >= 0 after a wall (low), <= 0 before one (high).

    The points of run r are order[starts[r]:starts[r + 1]]; mass of length 0: all one.
    """
    u = np.empty(len(y))
    for run, (a, b) in enumerate(pairwise(starts)):
        points = order[a:b]
        u[points] = _pooled(y[points], mass[points] if len(mass) else np.ones(b - a))
        u[points] = np.maximum(u[points], 0.0) if low[run] else u[points]
        u[points] = np.minimum(u[points], 0.0) if high[run] else u[points]
    return u


def _pooled(y: Array, mass: Array) -> Array:
    """u_i is the largest, over where a block may begin, of the smallest mean of y up to where it may end."""
    n = len(y)
    total, sums = np.concatenate([[0.0], np.cumsum(mass)]), np.concatenate([[0.0], np.cumsum(mass * y)])
    mean = [[(sums[b] - sums[a]) / (total[b] - total[a]) for b in range(a + 1, n + 1)] for a in range(n)]
    return np.array([max(min(mean[a][i - a :]) for a in range(i + 1)) for i in range(n)])


def pressures(lost: Array, mass: Array, order: Integers, starts: Integers, low: Booleans, high: Booleans) -> Array:
    """(n + runs,) at the edges of all runs, the sum of mass times what was lost, from a free end on.

    Between two walls the least pressure is zero; at a free end it is zero, and nowhere is it negative.
    """
    edges = []
    for run, (a, b) in enumerate(pairwise(starts)):
        points = order[a:b]
        p = np.concatenate([[0.0], np.cumsum((mass[points] if len(mass) else 1.0) * lost[points])])
        p -= p.min() if low[run] and high[run] else p[-1] if low[run] else 0.0
        p = np.maximum(p, 0.0)
        p[0], p[-1] = p[0] if low[run] else 0.0, p[-1] if high[run] else 0.0
        edges.append(p)
    return np.concatenate(edges)
