"""Stairs and lifts between floors that are drawn side by side in the plane.

Stairs are a corridor that leaves one floor through a segment and is as long as the way up or down. People who reach its
end are moved to the other floor, in front of another segment. The corridor of a lift is its cabin.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from jostle._tools.arguments import NotNegative, Positive, check_arguments
from jostle._tools.arrays import Array, Booleans, dot
from jostle.errors import InvalidValue
from jostle.plans.outlines import a_segment

STAIR_PACES = {"up": 0.610 / 1.34, "down": 0.694 / 1.34}
"""Horizontal walking speed on stairs relative to level ground (Weidmann 1993: 0.610 m/s upwards and 0.694 m/s
downwards, 1.34 m/s on level ground)."""
BACK = " (back)"
"""Suffix of the name of stairs for the way against their direction."""
LIFT_TIME_TOLERANCE = 1e-9
"""Fraction of the interval by which a lift may leave early, because the sum of many steps is not exact."""


@check_arguments
@dataclass(frozen=True, eq=False, init=False)
class Link:
    """Stairs from a segment of one floor to a segment of another, or a lift.

    A person of radius r and speed v is on the stairs for (length - r) / v if nobody is in the way and the pace is 1.

    Parameters
    ----------
    name : str
        Name of the stairs.
    start : array_like, shape (2, 2)
        Ends of the segment on the boundary of the first floor (m).
    end : array_like, shape (2, 2)
        Ends of the segment on the boundary of the other floor (m), as wide as `start`.
    length : float
        Length of the stairs (m), positive.
    pace : float or str, default 1.0
        Walking speed on the flights relative to level ground, from start to end; "up" or "down" for the values of
        Weidmann 1993, which are exchanged for people who walk back.
    flights : array_like, shape (k, 2), optional
        Intervals (from, to) with steps, along the length (m); between them are level landings. None means that the
        whole length has steps.
    both : bool, default False
        True for stairs that people use in both directions.
    every : float, optional
        Time between two trips of a lift (s): the corridor is its cabin, and everyone in it is moved to the other floor
        at once; people for whom there is no room wait for the next trip. None means stairs.
    travel : float, default 0.0
        Time that a lift moves from one floor to the other (s), and the same time back.
    doors : float, default 0.0
        Time in which the doors of a lift open, and in which they close (s).

    Examples
    --------
    >>> Link("up", ((4, 1), (4, 2)), ((10, 1), (10, 2)), length=6.0).length
    6.0
    >>> stairs = Link("down", ((4, 1), (4, 2)), ((10, 1), (10, 2)), length=6.0, pace="down", flights=[(0, 2), (4, 6)])
    >>> stairs.flights.tolist()
    [[0.0, 2.0], [4.0, 6.0]]
    >>> Link("lift", ((4, 1), (4, 2)), ((10, 1), (10, 2)), length=1.5, every=40.0, travel=8.0, doors=2.0).ride
    12.0
    """

    name: str
    start: Array
    end: Array
    length: float
    pace: float | str
    flights: Array
    both: bool
    every: float | None
    travel: float
    doors: float

    def __init__(
        self,
        name: str,
        start: Any,
        end: Any,
        *,
        length: float,
        pace: float | str = 1.0,
        flights: ArrayLike | None = None,
        both: bool = False,
        every: Positive | None = None,
        travel: NotNegative = 0.0,
        doors: NotNegative = 0.0,
    ):
        first, last = a_segment(start, f"start of link {name!r}"), a_segment(end, f"end of link {name!r}")
        widths = [float(np.linalg.norm(ends[1] - ends[0])) for ends in (first, last)]
        if abs(widths[0] - widths[1]) > 1e-6 * widths[0]:
            raise InvalidValue(f"link {name!r} is {widths[0]:g} wide at its start and {widths[1]:g} at its end")
        if not 0.0 < length < np.inf:
            raise InvalidValue(f"length of link {name!r} must be positive, not {length}")
        if pace not in STAIR_PACES if isinstance(pace, str) else not 0.0 < pace < np.inf:
            raise InvalidValue(f'pace of link {name!r} must be a positive number, "up" or "down", not {pace!r}')
        steps = np.array([[0.0, length]] if flights is None else flights, dtype=float)
        if (
            steps.ndim != 2
            or steps.shape[1:] != (2,)
            or not (steps[:, 0] < steps[:, 1]).all()
            or not (steps.min(initial=0.0) >= 0.0 and steps.max(initial=0.0) <= length)
        ):
            raise InvalidValue(f"flights of link {name!r} must be intervals (from, to) within its length {length:g}")
        if every is not None and both:
            raise InvalidValue(
                f"link {name!r} is a lift (every={every:g}) and goes one way: add another link for the way back"
            )
        if every is not None and pace != 1.0:
            raise InvalidValue(f"link {name!r} is a lift, in which nobody walks: leave out pace")
        if every is None and (travel or doors):
            raise InvalidValue(
                f"link {name!r} has a travel time or doors, but no time between two trips: give a lift every="
            )
        values = {"name": name, "start": first, "end": last, "length": float(length), "pace": pace, "flights": steps}
        values |= {"both": bool(both), "every": every, "travel": float(travel), "doors": float(doors)}
        for key, value in values.items():
            object.__setattr__(self, key, value)
        if every is not None and not 2.0 * self.ride < every:
            raise InvalidValue(
                f"the lift {name!r} is to leave every {every:g} s, but with travel={travel:g} and doors={doors:g} it "
                f"is back only after {2.0 * self.ride:g} s: give every= more than that"
            )

    @property
    def ride(self) -> float:
        """Time from the departure of a lift until people step off, travel + 2 doors (s).

        Nobody enters or leaves the cabin until the lift has come back, 2 ride after the departure.
        """
        return self.travel + 2.0 * self.doors


class Shaft(NamedTuple):
    """The corridor of a link on a plan."""

    link: Link
    outward: Array
    """(2,) unit vector along the corridor, out of the first floor."""
    inward: Array
    """(2,) unit vector into the other floor at its end."""

    @property
    def corners(self) -> Array:
        """(4, 2) corners of the corridor; the walls are the edges from each to the next."""
        a, b = self.link.start
        return np.array([a, a + self.link.length * self.outward, b + self.link.length * self.outward, b])

    def where(self, q: Array) -> tuple[Array, Array]:
        """(n,) part of the width and (n,) depth along the corridor at positions (n, 2)."""
        along, away = self.link.start[1] - self.link.start[0], q - self.link.start[0]
        return dot(away, along) / float(along @ along), dot(away, self.outward)

    def paces(self, depth: Array, back: Booleans) -> Array:
        """(n,) walking speeds at depths (n,) relative to level ground, of people who walk onwards or back."""
        pace, flights = self.link.pace, self.link.flights
        onwards, again = pace, pace
        if isinstance(pace, str):
            onwards, again = STAIR_PACES[pace], STAIR_PACES["down" if pace == "up" else "up"]
        on_steps = ((depth[:, None] >= flights[:, 0]) & (depth[:, None] <= flights[:, 1])).any(axis=1)
        return np.where(on_steps, np.where(back, again, onwards), 1.0)


def paces(shafts: Iterable[Shaft], q: Array, way: Array) -> Array:
    """(n,) walking speeds of people at q (n, 2) in directions (n, 2), relative to level ground; 1 off the stairs."""
    found = np.ones(len(q))
    for shaft in shafts:
        part, depth = shaft.where(q)
        on = np.flatnonzero((depth > 0.0) & (depth < shaft.link.length) & (part > 0.0) & (part < 1.0))
        if len(on):
            found[on] = shaft.paces(depth[on], dot(way[on], shaft.outward) < 0.0)
    return found


class Passage(NamedTuple):
    """A way over stairs, in one direction."""

    shaft: Shaft
    back: bool

    @property
    def link(self) -> Link:
        """The stairs or the lift."""
        return self.shaft.link

    @property
    def name(self) -> str:
        """The name of the stairs, with a suffix for the way back."""
        return self.link.name + BACK * self.back

    def phase(self, t: float) -> int:
        """What a lift does: 0 if people may enter, 1 while they ride, 2 while it comes back and lets nobody in.

        >>> lift = Link("lift", ((4, 1), (4, 2)), ((10, 1), (10, 2)), length=1.5, every=40.0, travel=8.0, doors=2.0)
        >>> there = Passage(Shaft(lift, np.array([1.0, 0.0]), np.array([1.0, 0.0])), back=False)
        >>> [there.phase(t) for t in (39.0, 40.0, 52.0, 64.0)]
        [0, 1, 2, 0]
        """
        every, ride = self.link.every, self.link.ride
        if every is None:
            return 0
        left, arrived, back = (_times(t - after, every) for after in (0.0, ride, 2.0 * ride))
        return 1 if left > arrived else 2 if arrived > back else 0

    def arrives(self, t: float, duration: float) -> bool:
        """Tell whether people step off a lift in the step of this duration that ends at the time t."""
        since, every = t - self.link.ride, self.link.every
        return every is not None and _times(since, every) > _times(since - duration, every)

    def goal(self, radius: float) -> tuple[Array, Array]:
        """The segment (2, 2) where people arrive before they are moved to the other side, and their direction."""
        if self.back:
            return self.link.end + radius * self.shaft.inward, -self.shaft.inward
        return self.link.start + (self.link.length - radius) * self.shaft.outward, self.shaft.outward

    def places(self, part: Array, depth: Array) -> Array:
        """(n, 2) places where people step off, at a part (n,) of the width and a distance (n,) from the wall behind."""
        if self.back:
            ends, inside = self.link.start, (self.link.length - depth)[:, None] * self.shaft.outward
        else:
            ends, inside = self.link.end, depth[:, None] * self.shaft.inward
        return np.asarray(ends[0] + part[:, None] * (ends[1] - ends[0]) + inside)

    def where(self, q: Array) -> tuple[Array, Array]:
        """(n,) part of the width and (n,) distance from the wall at which people arrive."""
        if not self.back:
            part, depth = self.shaft.where(q)
            return part, self.link.length - depth
        along, away = self.link.end[1] - self.link.end[0], q - self.link.end[0]
        return dot(away, along) / float(along @ along), dot(away, self.shaft.inward)

    def inside(self, q: Array) -> Booleans:
        """(n,) whether each person is on the stairs, or in front of their end on the way back."""
        part, left = self.where(q)
        return np.asarray((part > 0.0) & (part < 1.0) & (left > 0.0) & (left < self.link.length))


def _times(t: float, every: float) -> int:
    """How often an interval has passed, up to round-off; 0 before it has passed for the first time."""
    return max(int(np.floor(t / every + LIFT_TIME_TOLERANCE)), 0)
