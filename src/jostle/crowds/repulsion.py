"""Repulsion in direction: people step aside before they touch.

    e = (e0 - sum over the others of strength exp(-gap / decay) n) / |...|,     n the unit vector to the other,

where e0 is the direction of the wish inside; the speed stays the same. This is the direction of the collision-free
speed model (Tordeux, Chraibi & Seyfried 2016, equation (5)). It depends on the positions of people alone, and it is a
smooth function of them except where the sum vanishes, and where people at the distance of SIGHT decays are left out.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from jostle._tools.arguments import NotNegative, Positive, check_arguments
from jostle._tools.arrays import Array, Integers, finite
from jostle.crowds.behaviour import Behaviour, polar
from jostle.crowds.ways import people_chunks
from jostle.crowds.wish import Wish
from jostle.kernels import kernels_for

STRENGTH = 2.0
"""Default repulsion of two people who touch, relative to the wish to walk on."""
DECAY = 0.1
"""Default distance over which the repulsion falls by a factor e (m)."""
SIGHT = 6.0
"""Largest gap, in decays, of people who repel each other: beyond it the repulsion is below 1/400 of the strength."""


@check_arguments
def repulsion(wish: Wish, radii: ArrayLike, *, strength: NotNegative = STRENGTH, decay: Positive = DECAY) -> Wish:
    """People turn away from others near them: e0 - sum of strength exp(-gap / decay) n, with the same speed.

    Parameters
    ----------
    wish : Wish
        The wish inside, whose direction is e0.
    radii : float or array_like, shape (n,)
        Radii of people (m), one for all or one for each.
    strength : float, default 2.0
        Repulsion of two people who touch, relative to the wish to walk on; 0 or more.
    decay : float, default 0.1
        Distance over which the repulsion falls by a factor e (m).

    Returns
    -------
    Wish
        The wish with new directions.

    Raises
    ------
    InvalidValue
        If `wish` is not a `Wish`.

    Examples
    --------
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
    """() or (n,) radii."""
    strength: float
    decay: float

    def towards(self, t: float, q: Array, goal: Integers) -> Array:
        speed, direction = polar(self.wish.towards(t, q, goal))
        radii = np.array(np.broadcast_to(self.radii, (len(q),)))
        sight, chunks = SIGHT * self.decay, people_chunks(len(q))
        e = kernels_for(q).turned(q, radii, direction, self.strength, self.decay, sight, chunks)
        return np.asarray(speed[:, None] * e)
