"""Speed by the gap ahead: v = min(v0, gap / T), the gap that to the nearest person ahead.

This is the speed of the collision-free speed model (Tordeux, Chraibi & Seyfried 2016, equation (3)); the direction of
the wish that is wrapped stays. Ahead are those whose disc meets the strip of the own width in the direction of walking.
On the way to the same goal only those count who are nearer to it (`Wish.order`): there is always someone who goes on.

The speed depends on the places of people alone. It is a Lipschitz function of them, with the constant 1 / T, only where
the nearest person ahead stays the same: it jumps when somebody comes into the strip from the side.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from jostle.arguments import Positive, check_arguments
from jostle.arrays import Array, Integers, finite
from jostle.crowds.repulsion import pairs_within
from jostle.crowds.strategies import TIME_GAP
from jostle.crowds.wish import Behaviour, Wish, polar
from jostle.kernels import kernels_for


@check_arguments
def time_gap(wish: Wish, radii: ArrayLike, *, T: Positive = TIME_GAP) -> Wish:
    """v = min(v0, gap / T), the gap that to the nearest person ahead: people keep a time T behind each other.

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
    """() or (n,)"""
    T: float

    def towards(self, t: float, q: Array, goal: Integers) -> Array:
        speed, direction = polar(self.wish.towards(t, q, goal))
        radii = np.array(np.broadcast_to(self.radii, (len(q),)))
        i, j = pairs_within(q, radii, self.T * float(speed.max(initial=0.0)))
        rank, to = self.wish.order(q, goal)
        gap = kernels_for(q).gaps_ahead(i, j, q, radii, direction, np.ascontiguousarray(to), rank)
        return np.asarray(np.minimum(speed, np.maximum(gap, 0.0) / self.T)[:, None] * direction)
