"""How fast people walk on stairs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from jostle.arrays import Array, Integers
from jostle.crowds.geometry import Geometry
from jostle.crowds.wish import Behaviour


@dataclass(frozen=True, eq=False)
class StairPaces(Behaviour):
    """Nobody wishes to walk faster on stairs than the pace of these times their own speed; see `Link`.

    A crowd on a plan whose stairs have a pace has this behaviour around its wish.
    """

    plan: Geometry

    def towards(self, t: float, q: Array, goal: Integers) -> Array:
        wished = self.wish.towards(t, q, goal)
        limit = self._limits(q, wished)
        slow = np.flatnonzero(limit < np.inf)
        if len(slow) == 0:
            return wished
        speed = np.linalg.norm(wished[slow], axis=1)
        most = limit[slow] * self.wish.speeds(len(q))[slow]
        wished = wished.copy()
        wished[slow] *= np.where(speed > most, most / np.where(speed > 0.0, speed, 1.0), 1.0)[:, None]
        return wished

    def _limits(self, q: Array, wished: Array) -> Array:
        """(n,) the pace where each person is; infinite off the stairs."""
        limit = np.full(len(q), np.inf)
        for name, link in self.plan.links.items():
            outward, along = self.plan.shafts[name].outward, link.start[1] - link.start[0]
            depth, part = (q - link.start[0]) @ outward, (q - link.start[0]) @ along / float(along @ along)
            on = np.flatnonzero((depth > 0.0) & (depth < link.length) & (part > 0.0) & (part < 1.0))
            if len(on):
                back = wished[on] @ outward < 0.0
                ways = (link.pace_at(depth[on], back=way) for way in (False, True))
                limit[on] = np.where(back, *reversed(tuple(ways)))
        return limit
