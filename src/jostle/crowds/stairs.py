"""Stairs between floors that are drawn side by side in the plane.

The stairs are a corridor that leaves one floor through a segment and is as long as the way up or down. Who comes to its
end is put on the other floor, in front of another segment, as soon as there is room; until then people wait on the
stairs. All that a run has to remember is where people are: checkpoints hold it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from jostle.arguments import check_arguments
from jostle.arrays import Array
from jostle.crowds.outlines import a_segment
from jostle.errors import InvalidValue
from jostle.schemes.state import State
from jostle.sets.base import ConstraintSet
from jostle.sets.presence import Presence

ARRIVED = 0.05
"""Whoever is within this part of their radius of the end of the stairs has arrived."""
CLEAR = 1e-9
"""Gap between people who come off the stairs and the wall behind them, as a part of their radius."""


class Shaft(NamedTuple):
    """The corridor of a link: corners (4, 2) and walls (3, 2, 2)."""

    corners: Array
    walls: Array
    outward: Array
    """(2,) along which it is walked,"""
    inward: Array
    """and the unit vector into the other floor at its end."""


@check_arguments
@dataclass(frozen=True, eq=False, init=False)
class Link:
    """Stairs of a length from a segment of one floor to a segment of another; one way.

    >>> Link("up", ((4, 1), (4, 2)), ((10, 1), (10, 2)), length=6.0).length
    6.0
    """

    name: str
    start: Array
    end: Array
    length: float
    """From the start to the end of the stairs: a person of radius r and speed v is on them for (length - r) / v, if
    nobody is in the way."""

    def __init__(self, name: str, start: Any, end: Any, *, length: float):
        first, last = a_segment(start, f"start of link {name!r}"), a_segment(end, f"end of link {name!r}")
        widths = [float(np.linalg.norm(ends[1] - ends[0])) for ends in (first, last)]
        if abs(widths[0] - widths[1]) > 1e-6 * widths[0]:
            raise InvalidValue(f"link {name!r} is {widths[0]:g} wide at its start and {widths[1]:g} at its end")
        if not 0.0 < length < np.inf:
            raise InvalidValue(f"length of link {name!r} must be positive, not {length}")
        for key, value in {"name": name, "start": first, "end": last, "length": float(length)}.items():
            object.__setattr__(self, key, value)

    def shaft(self, outward: Array, inward: Array) -> Shaft:
        """The corridor that leaves the first floor in the direction `outward`, and enters the other one `inward`."""
        a, b = self.start
        far_a, far_b = a + self.length * outward, b + self.length * outward
        walls = np.array([[a, far_a], [far_a, far_b], [far_b, b]])
        return Shaft(np.array([a, far_a, far_b, b]), walls, outward, inward)

    def landing(self, shaft: Shaft, part: Array, depth: Array) -> Array:
        """(n, 2) the places at a part (n,) of the width of the end, at a depth (n,) in the other floor."""
        along = self.end[1] - self.end[0]
        return np.asarray(self.end[0] + part[:, None] * along + depth[:, None] * shaft.inward)


@dataclass(frozen=True, eq=False)
class Stairs:
    """A change for `solve`: people at the end of the stairs of a link appear on the other floor where there is room.

    Of several, the ones furthest along go first; nobody is put where they would overlap someone.
    """

    link: Link
    shaft: Shaft
    radii: Array
    within: ConstraintSet

    def __call__(self, state: State) -> State:
        here = np.ones(len(state.q), dtype=bool) if state.presence is None else state.presence.here
        along, start = self.link.start[1] - self.link.start[0], self.link.start[0]
        width = float(np.linalg.norm(along))
        depth = (state.q - start) @ self.shaft.outward
        part = (state.q - start) @ along / width**2
        due = here & (part > 0.0) & (part < 1.0) & (depth > self.link.length - (1.0 + ARRIVED) * self.radii)
        due &= depth < self.link.length
        if not due.any():
            return state
        margin = np.minimum(self.radii / width, 0.5)
        places = self.link.landing(self.shaft, np.clip(part, margin, 1.0 - margin), (1.0 + CLEAR) * self.radii)
        q = state.q
        for person in np.flatnonzero(due)[np.argsort(-depth[due], kind="stable")]:
            moved = q.copy()
            moved[person] = places[person]
            if self._free(state, moved, int(person)):
                q = moved
        return state if q is state.q else state._replace(q=q)

    def _free(self, state: State, q: Array, person: int) -> bool:
        presence = state.presence or Presence.of(q, np.ones(len(q), dtype=bool))
        contacts = presence.within(self.within).linearise(state.t, q, 0.0)
        own = (contacts.pairs == person).any(axis=1)
        return not (contacts.gap[own] < -contacts.tolerance()[own]).any()
