"""How fast people walk on stairs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from jostle.arrays import Array, Integers
from jostle.crowds.geometry import Geometry
from jostle.crowds.wish import Behaviour, polar

CROWDED_STAIRS = 0.6
"""Walking speed in a crowd on stairs relative to that on level ground with the same gaps, because people keep a longer
time gap. With this value the flows over stairs are near those of Weidmann 1993, 0.85 people/s/m upwards and 0.98
downwards (`python benchmarks/validation.py`)."""


@dataclass(frozen=True, eq=False)
class StairPaces(Behaviour):
    """People on stairs walk at their own speed times the pace of the stairs, and slower in a crowd; see `Link`.

    Where the wish inside has the speed v on level ground, and v0 is the desired speed, the speed on stairs is the
    smaller one of pace v0 and CROWDED_STAIRS v. Stairs with a pace above CROWDED_STAIRS have pace v instead of the
    latter. A crowd on a plan whose stairs have a pace has this behaviour around its wish.
    """

    plan: Geometry

    def towards(self, t: float, q: Array, goal: Integers) -> Array:
        wished = self.wish.towards(t, q, goal)
        pace = self._paces(q, wished)
        on = np.flatnonzero(pace != 1.0)
        if len(on) == 0:
            return wished
        speed, direction = polar(wished[on])
        own = np.minimum(pace[on] * self.wish.speeds(len(q))[on], np.maximum(pace[on], CROWDED_STAIRS) * speed)
        wished = wished.copy()
        wished[on] = own[:, None] * direction
        return wished

    def _paces(self, q: Array, wished: Array) -> Array:
        """(n,) pace at the position of each person; 1 off the stairs."""
        paces = np.ones(len(q))
        for name, link in self.plan.links.items():
            outward, along = self.plan.shafts[name].outward, link.start[1] - link.start[0]
            depth, part = (q - link.start[0]) @ outward, (q - link.start[0]) @ along / float(along @ along)
            on = np.flatnonzero((depth > 0.0) & (depth < link.length) & (part > 0.0) & (part < 1.0))
            if len(on):
                back = wished[on] @ outward < 0.0
                ways = (link.pace_at(depth[on], back=way) for way in (False, True))
                paces[on] = np.where(back, *reversed(tuple(ways)))
        return paces
