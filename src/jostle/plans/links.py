"""Stairs and lifts between floors that are drawn side by side in the plane.

Stairs are a corridor that leaves one floor through a segment and is as long as the way up or down. People who reach its
end are moved to the other floor, in front of another segment. The corridor of a lift is its cabin.
"""

from __future__ import annotations

from collections.abc import Mapping
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


class Shaft(NamedTuple):
    """The corridor of a link, with its corners (4, 2) and walls (3, 2, 2)."""

    corners: Array
    walls: Array
    outward: Array
    """(2,) unit vector along the corridor, out of the first floor."""
    inward: Array
    """(2,) unit vector into the other floor at its end."""


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
    >>> stairs.pace_at(np.array([1.0, 3.0]), back=False).round(3).tolist()
    [0.518, 1.0]
    >>> lift = Link("lift", ((4, 1), (4, 2)), ((10, 1), (10, 2)), length=1.5, every=40.0, travel=8.0, doors=2.0)
    >>> lift.ride, [lift.phase(t) for t in (39.0, 40.0, 52.0, 64.0)]
    (12.0, [0, 1, 2, 0])
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

    def stored(self) -> dict[str, Any]:
        """The arguments of the link as lists, numbers and texts, which a file can store.

        Returns
        -------
        dict
            The arguments.
        """
        names = ("name", "start", "end", "length", "pace", "flights", "both", "every", "travel", "doors")
        return {
            name: value.tolist() if isinstance(value := getattr(self, name), np.ndarray) else value for name in names
        }

    @property
    def ride(self) -> float:
        """Time from the departure of a lift until people step off, travel + 2 doors (s).

        Nobody enters or leaves the cabin until the lift has come back, 2 ride after the departure.
        """
        return self.travel + 2.0 * self.doors

    def phase(self, t: float) -> int:
        """What a lift does at a time.

        Parameters
        ----------
        t : float
            Time of the run (s).

        Returns
        -------
        int
            0 if people may enter, 1 while they ride, 2 while the lift comes back without letting anybody in.
        """
        if self.every is None:
            return 0
        left, arrived, back = (_times(t - after, self.every) for after in (0.0, self.ride, 2.0 * self.ride))
        return 1 if left > arrived else 2 if arrived > back else 0

    def arrives(self, t: float, duration: float) -> bool:
        """Tell whether a lift arrives at the other floor in a step.

        Parameters
        ----------
        t : float
            Time at the end of the step (s).
        duration : float
            Length of the step (s).

        Returns
        -------
        bool
            True if people step off.
        """
        since = t - self.ride
        return self.every is not None and _times(since, self.every) > _times(since - duration, self.every)

    def pace_at(self, depth: Array, *, back: bool) -> Array:
        """The pace at several depths along the stairs.

        Parameters
        ----------
        depth : ndarray, shape (n,)
            Distances from the start along the stairs (m).
        back : bool
            True for people who walk from the end to the start.

        Returns
        -------
        ndarray, shape (n,)
            Walking speeds relative to level ground.
        """
        pace = self.pace
        if isinstance(pace, str):
            pace = STAIR_PACES[pace if not back else "down" if pace == "up" else "up"]
        on_steps = ((depth[:, None] >= self.flights[:, 0]) & (depth[:, None] <= self.flights[:, 1])).any(axis=1)
        return np.where(on_steps, pace, 1.0)

    def shaft(self, outward: Array, inward: Array) -> Shaft:
        """The corridor of the stairs.

        Parameters
        ----------
        outward : ndarray, shape (2,)
            Unit vector in which it leaves the first floor.
        inward : ndarray, shape (2,)
            Unit vector in which it enters the other floor.

        Returns
        -------
        Shaft
            The corridor with its corners and walls.
        """
        a, b = self.start
        far_a, far_b = a + self.length * outward, b + self.length * outward
        walls = np.array([[a, far_a], [far_a, far_b], [far_b, b]])
        return Shaft(np.array([a, far_a, far_b, b]), walls, outward, inward)

    def landing(self, shaft: Shaft, part: Array, depth: Array) -> Array:
        """The places on the other floor where people step off the stairs.

        Parameters
        ----------
        shaft : Shaft
            The corridor of the stairs.
        part : ndarray, shape (n,)
            Positions along `end`, from 0 to 1.
        depth : ndarray, shape (n,)
            Distances from `end` into the other floor (m).

        Returns
        -------
        ndarray, shape (n, 2)
            The places (m).
        """
        along = self.end[1] - self.end[0]
        return np.asarray(self.end[0] + part[:, None] * along + depth[:, None] * shaft.inward)


class Passage(NamedTuple):
    """A way over stairs, in one direction."""

    name: str
    link: Link
    shaft: Shaft
    back: bool

    def goal(self, radius: float) -> tuple[Array, Array]:
        """The segment (2, 2) where people arrive before they are moved to the other side, and their direction."""
        if self.back:
            return self.link.end + radius * self.shaft.inward, -self.shaft.inward
        return self.link.start + (self.link.length - radius) * self.shaft.outward, self.shaft.outward

    def places(self, part: Array, depth: Array) -> Array:
        """(n, 2) places where people step off, at a part (n,) of the width and a distance (n,) from the wall behind."""
        if not self.back:
            return self.link.landing(self.shaft, part, depth)
        along = self.link.start[1] - self.link.start[0]
        inside = (self.link.length - depth)[:, None] * self.shaft.outward
        return np.asarray(self.link.start[0] + part[:, None] * along + inside)

    def where(self, q: Array) -> tuple[Array, Array]:
        """(n,) part of the width and (n,) distance from the wall at which people arrive."""
        start, end = self.link.end if self.back else self.link.start
        along = end - start
        part = dot(q - start, along) / float(along @ along)
        if self.back:
            return part, dot(q - start, self.shaft.inward)
        return part, self.link.length - dot(q - start, self.shaft.outward)

    def inside(self, q: Array) -> Booleans:
        """(n,) whether each person is on the stairs, or in front of their end on the way back."""
        part, left = self.where(q)
        return np.asarray((part > 0.0) & (part < 1.0) & (left > 0.0) & (left < self.link.length))


def passages(links: Mapping[str, Link], shafts: Mapping[str, Shaft]) -> list[Passage]:
    """All passages over stairs: that of each link, and the way back where people use it in both directions."""
    found = []
    for name, link in links.items():
        found.append(Passage(name, link, shafts[name], False))
        if link.both:
            found.append(Passage(name + BACK, link, shafts[name], True))
    return found


def _times(t: float, every: float) -> int:
    """How often an interval has passed, up to round-off; 0 before it has passed for the first time."""
    return max(int(np.floor(t / every + LIFT_TIME_TOLERANCE)), 0)
