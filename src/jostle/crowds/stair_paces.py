"""How fast people walk on stairs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from jostle._tools.arrays import Array, Integers, dot
from jostle.crowds.behaviour import Behaviour
from jostle.crowds.geometry import Geometry


@dataclass(frozen=True, eq=False)
class StairPaces(Behaviour):
    """People on stairs walk at the pace of these times the speed that they would have on level ground; see `Link`.

    This holds for crowds, too: with the same gaps between them people on stairs are slower by the same factor, so the
    flow over stairs is the smaller, the smaller the pace is. It is near that of Weidmann 1993 (`python
    benchmarks/validation.py`). A crowd on a plan whose stairs have a pace has this behaviour around its wish.
    """

    plan: Geometry

    def towards(self, t: float, q: Array, goal: Integers) -> Array:
        wished = self.wish.towards(t, q, goal)
        pace = self._paces(q, wished)
        return wished if (pace == 1.0).all() else pace[:, None] * wished

    def _paces(self, q: Array, wished: Array) -> Array:
        """(n,) pace at the position of each person; 1 off the stairs."""
        paces = np.ones(len(q))
        for name, link in self.plan.links.items():
            outward, along = self.plan.shafts[name].outward, link.start[1] - link.start[0]
            away = q - link.start[0]
            depth, part = dot(away, outward), dot(away, along) / float(along @ along)
            on = np.flatnonzero((depth > 0.0) & (depth < link.length) & (part > 0.0) & (part < 1.0))
            if len(on):
                back = dot(wished[on], outward) < 0.0
                ways = (link.pace_at(depth[on], back=way) for way in (False, True))
                paces[on] = np.where(back, *reversed(tuple(ways)))
        return paces
