"""Repulsion in direction: people step aside before they touch.

    e = (e0 - sum over the others of strength exp(-gap / decay) n) / |...|,     n the unit vector to the other,

where e0 is the direction of the wish that is wrapped; the speed stays. This is the direction of the collision-free
speed model (Tordeux, Chraibi & Seyfried 2016, equation (5)). It depends on the places of people alone, and it is a
smooth function of them except where the sum vanishes, and for the people SIGHT decays away, who are left out.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from jostle.arguments import NotNegative, Positive, check_arguments
from jostle.arrays import Array, Integers, Shorts, finite
from jostle.crowds.wish import Behaviour, Wish, polar
from jostle.kernels import kernels_for
from jostle.kernels.sharing import chunks_of

STRENGTH = 2.0
"""The repulsion of two people who touch, as a multiple of the wish to walk on, if nothing else is said."""
DECAY = 0.1
"""The distance in metres over which the repulsion falls by a factor e, if nothing else is said."""
SIGHT = 6.0
"""People further away than this many decays are left out: their repulsion is below 1/400 of the strength."""


@check_arguments
def repulsion(wish: Wish, radii: ArrayLike, *, strength: NotNegative = STRENGTH, decay: Positive = DECAY) -> Wish:
    """People turn away from others near them: e0 - sum of strength exp(-gap / decay) n, with the speed as before.

    >>> import jostle as jo
    >>> east = jo.crowds.FreeWish(lambda t, q: [1.0, 0.0], nearer=None)
    >>> wish = repulsion(east, 0.2, strength=1.0)
    >>> wish(0.0, np.array([[0.0, 0.0], [0.0, 0.4], [5.0, 0.0]])).round(2).tolist()    # the first two touch
    [[0.71, -0.71], [0.71, 0.71], [1.0, 0.0]]
    """
    return Repulsion(wish, finite(radii, "radii"), float(strength), float(decay))


@dataclass(frozen=True, eq=False)
class Repulsion(Behaviour):
    """See `repulsion`."""

    radii: Array
    """() or (n,)"""
    strength: float
    decay: float

    def towards(self, t: float, q: Array, goal: Integers) -> Array:
        speed, direction = polar(self.wish.towards(t, q, goal))
        radii = np.array(np.broadcast_to(self.radii, (len(q),)))
        i, j = pairs_within(q, radii, SIGHT * self.decay)
        e = kernels_for(q).turned(i, j, q, radii, direction, self.strength, self.decay)
        return np.asarray(speed[:, None] * e)


def pairs_within(q: Array, radii: Array, sight: float) -> tuple[Shorts, Shorts]:
    """(m,) and (m,) the numbers of people whose gap is at most `sight`, each pair once and in order.

    >>> i, j = pairs_within(np.array([[0.0, 0.0], [1.0, 0.0], [3.0, 0.0]]), np.full(3, 0.25), 1.0)
    >>> i.tolist(), j.tolist()
    ([0], [1])
    """
    return kernels_for(q).pair_list(q, radii + sight / 2.0, np.full(2, np.inf), chunks_of(len(q)))
