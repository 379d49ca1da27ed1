"""The rods of a problem as a trajectory file stores them: between which bodies and points they are."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from jostle.arrays import Array, Integers, at
from jostle.sets.base import ConstraintSet
from jostle.sets.rods import Rods
from jostle.shapes import parts


class RecordedRods(NamedTuple):
    """Rods between bodies, and from bodies to points at rest.

    >>> rods = RecordedRods(np.array([[0, 1], [1, -1]]), np.array([[5.0, 5.0]]))
    >>> rods.ends(np.array([[0.0, 0.0], [1.0, 0.0]])).tolist()
    [[[0.0, 0.0], [1.0, 0.0]], [[1.0, 0.0], [5.0, 5.0]]]
    """

    pairs: Integers
    """(m, 2) numbers of the two bodies; -1 - k in second place stands for point k."""
    points: Array
    """(k, d)"""

    def ends(self, x: Array) -> Array:
        """(m, 2, d) the positions of the two ends of each rod, for bodies at x (n, d)."""
        if len(self.points) == 0:
            return x[self.pairs]
        return np.concatenate([x, self.points[::-1]])[self.pairs]  # entry -1 - k is point k


def rods_of(within: ConstraintSet) -> RecordedRods | None:
    """All rods of a set, except those to points that move; None if there are none.

    >>> import jostle as jo
    >>> found = rods_of(jo.Rods([(0, -1)], 1.0, points=[[0.0, 2.0]]) & jo.Rods([(1, -1)], 1.0, points=[[3.0, 2.0]]))
    >>> found.pairs.tolist(), found.points.tolist()
    ([[0, -1], [1, -2]], [[0.0, 2.0], [3.0, 2.0]])
    """
    pairs, points, count = [], [], 0
    for Q in parts(within):
        if isinstance(Q, Rods):
            at_rest = [] if Q.points is None or callable(Q.points) else [at(Q.points, 0.0)]
            some = Q.pairs[Q.pairs[:, 1] >= 0] if callable(Q.points) else Q.pairs
            pairs.append(np.where(some < 0, some - count, some))
            points += at_rest
            count += sum(map(len, at_rest))
    if not sum(map(len, pairs)):
        return None
    return RecordedRods(np.concatenate(pairs), np.concatenate(points) if points else np.zeros((0, 0)))
