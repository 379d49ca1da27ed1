"""The rods of a run, as they are drawn: which bodies and points they join."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from jostle.arrays import Array, Integers, InTime, at
from jostle.sets.base import ConstraintSet
from jostle.sets.rods import Rods
from jostle.shapes import parts


class RecordedRods(NamedTuple):
    """Rods between bodies, or between bodies and points."""

    pairs: Integers
    """(m, 2) the bodies of each rod; -1 - k in second place for point k."""
    points: InTime | None
    """(k, d) the points, or a function of the time; None if there are none."""

    @property
    def at_rest(self) -> bool:
        """Whether the points do not move, so that a file can store them."""
        return not callable(self.points)

    def ends(self, t: float, x: Array) -> Array:
        """(m, 2, d) both ends of each rod, for bodies at x (n, d).

        >>> RecordedRods(np.array([[0, -1]]), np.array([[0.0, 2.0]])).ends(0.0, np.array([[0.0, 1.0]])).tolist()
        [[[0.0, 1.0], [0.0, 2.0]]]
        """
        places = x if self.points is None else np.concatenate([x, at(self.points, t)[::-1]])  # point k is -1 - k
        return np.asarray(places[self.pairs])


def rods_of(within: ConstraintSet) -> tuple[RecordedRods, ...]:
    """The rods among the parts of a set.

    >>> import jostle as jo
    >>> len(rods_of(jo.Balls([0.1]) & Rods([(0, -1)], 1.0, points=[[0.0, 0.0]])))
    1
    """
    return tuple(RecordedRods(part.pairs, part.points) for part in parts(within) if isinstance(part, Rods))
