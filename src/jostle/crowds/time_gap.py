"""Speed by the gap ahead: v = min(v0, gap / T), where gap is the distance to the nearest person ahead.

This is the speed of the collision-free speed model (Tordeux, Chraibi & Seyfried 2016, equation (3)); the direction of
the wish inside stays the same. A person is ahead if their disc meets the strip of the walker's own width in the
direction of walking. People who touch do not block each other for ever if this wraps a `repulsion` with a strength
above 1, which turns both so that neither has the other ahead.

The speed depends on the positions of people alone. It is a Lipschitz function of them, with the constant 1 / T, only
where the nearest person ahead stays the same: it jumps when somebody enters the strip from the side.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from jostle._tools.arguments import Positive, check_arguments
from jostle._tools.arrays import Array, Integers, finite
from jostle.crowds.behaviour import Behaviour, polar
from jostle.crowds.ways import people_chunks
from jostle.crowds.wish import Wish
from jostle.kernels import kernels_for

FOLLOWING_TIME = 0.7
"""Default time gap T (s): a compromise for doors, corners, corridors and single files
(`python benchmarks/behaviours.py --calibrate`)."""
LONGEST_STEP = 0.1
"""Longest time step, as a fraction of T, for which flows through doors are within 5 % of those for short steps
(`python benchmarks/behaviours.py`)."""


@check_arguments
def time_gap(wish: Wish, radii: ArrayLike, *, T: Positive = FOLLOWING_TIME) -> Wish:
    """People keep a time gap T to the person ahead: v = min(v0, gap / T), where gap is the distance to that person.

    Parameters
    ----------
    wish : Wish
        The wish inside, whose speed is v0.
    radii : float or array_like, shape (n,)
        Radii of people (m), one for all or one for each.
    T : float, default 0.7
        Time gap (s), positive.

    Returns
    -------
    Wish
        The wish with lower speeds and the same directions.

    Raises
    ------
    InvalidValue
        If `wish` is not a `Wish`.

    Examples
    --------
    >>> import jostle as jo
    >>> east = jo.crowds.FreeWish(lambda t, q: [1.4, 0.0], nearer=None)
    >>> wish = time_gap(east, 0.25, T=1.0)
    >>> wish(0.0, np.array([[0.0, 0.0], [1.2, 0.0]])).round(12).tolist()        # 0.7 m are free
    [[0.7, 0.0], [1.4, 0.0]]
    """
    return TimeGap(wish, finite(radii, "radii"), float(T))


@dataclass(frozen=True, eq=False)
class TimeGap(Behaviour):
    """See `time_gap`."""

    radii: Array
    """() or (n,) radii."""
    T: float

    @property
    def longest_step(self) -> float:
        return min(self.wish.longest_step, LONGEST_STEP * self.T)

    def towards(self, t: float, q: Array, goal: Integers) -> Array:
        speed, direction = polar(self.wish.towards(t, q, goal))
        radii = np.array(np.broadcast_to(self.radii, (len(q),)))
        sight = self.T * float(speed.max(initial=0.0))
        gap = kernels_for(q).gaps_ahead(q, radii, direction, sight, people_chunks(len(q)))
        return np.asarray(np.minimum(speed, np.maximum(gap, 0.0) / self.T)[:, None] * direction)
