"""Openings of a plan: exits, stairs, doors, gaps between walls and columns, and gates, which open and close."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from jostle._tools.arguments import Count, check_arguments
from jostle._tools.arrays import Array, finite
from jostle.errors import InvalidValue
from jostle.plans.outlines import around, nearest_on, package
from jostle.plans.plan import Plan

FREE = 1e-6
"""Tolerance, relative to its length, of the test whether nothing is nearer to the middle of a line than its ends."""


class Opening(NamedTuple):
    """An opening that people pass, with its two ends (2, 2)."""

    name: str
    ends: Array

    @property
    def width(self) -> float:
        """Distance between the two ends."""
        return float(np.linalg.norm(self.ends[1] - self.ends[0]))

    def __str__(self) -> str:
        return f"{self.name} from {self.ends[0].tolist()} to {self.ends[1].tolist()}, {self.width:g} wide"


def named_openings(plan: Plan) -> list[Opening]:
    """The exits, stairs and doors of a plan.

    >>> [str(one) for one in named_openings(Plan([(0, 0), (4, 0), (4, 3), (0, 3)], exits={"east": ((4, 1), (4, 2))}))]
    ["exit 'east' from [4.0, 1.0] to [4.0, 2.0], 1 wide"]
    """
    exits = [Opening(f"exit {name!r}", ends) for name, ends in plan.exits.items()]
    stairs = [Opening(f"stairs {name!r}", link.start) for name, link in plan.links.items()]
    return exits + stairs + [Opening(f"door {k}", ends) for k, ends in enumerate(plan.doors)]


def openings(plan: Plan, narrowest: float, widest: float) -> list[Opening]:
    """The openings of a plan with narrowest <= width < widest: exits, stairs and doors first, then gaps."""
    named = named_openings(plan)
    gaps = [] if plan.convex else [Opening("the gap", ends) for ends in _gaps(plan, widest)]
    for gap in gaps:
        if all(np.linalg.norm((one.ends - gap.ends).mean(axis=0)) > FREE * widest for one in named):
            named.append(gap)
    return [one for one in named if narrowest <= one.width < widest]


def _gaps(plan: Plan, widest: float) -> Array:
    """(k, 2, 2) lines across gaps between two walls or columns that are narrower than `widest`."""
    shapely = package("shapely")
    obstacles = np.array([*shapely.linestrings(plan.walls), *shapely.get_parts(around(plan.columns))])
    tree = shapely.STRtree(obstacles)
    i, j = tree.query(obstacles, predicate="dwithin", distance=widest)
    i, j = i[i < j], j[i < j]
    lines = [shapely.get_coordinates(shapely.shortest_line(obstacles[i], obstacles[j])).reshape(-1, 2, 2)]
    walls = j < len(plan.walls)
    for a, b in ((i[walls], j[walls]), (j[walls], i[walls])):  # between parallel walls, also at the ends of both
        for end in (plan.walls[a, 0], plan.walls[a, 1]):
            lines.append(np.stack([end, nearest_on(plan.walls[b], end)], axis=1))
    found = np.concatenate(lines)
    width, middle = np.linalg.norm(found[:, 1] - found[:, 0], axis=1), shapely.points(found.mean(axis=1))
    free = shapely.distance(obstacles[tree.nearest(middle)], middle) >= (0.5 - FREE) * width
    return np.asarray(
        found[free & (width > 0.0) & (width < widest) & shapely.dwithin(plan.area, middle, FREE * widest)]
    )


@check_arguments
@dataclass(frozen=True, eq=False)
class Gate:
    """An exit or a door that opens at given times, or closes after a number of people have passed.

    Parameters
    ----------
    at : str
        Name of an exit; doors are "door 0", "door 1" and so on.
    open : array_like, shape (k, 2), optional
        Intervals (from, to) in which the gate is open (s), one after the other; the last may end at inf. None means
        that it is open from the start.
    most : int, optional
        Number of people after whom the gate closes for good. A person who passes several times counts once, and may
        come back. People who stand in the gate at that moment may pass, too. None means no limit.

    Examples
    --------
    >>> Gate("east", open=[(0.0, 30.0), (60.0, np.inf)], most=200).open.tolist()
    [[0.0, 30.0], [60.0, inf]]
    """

    at: str
    _: KW_ONLY
    open: ArrayLike | None = None
    most: Count | None = None

    def __post_init__(self) -> None:
        if self.open is None and self.most is None:
            raise InvalidValue(f"gate {self.at!r} would never change: give open=[(from, to), ...] or most=...")
        times = np.array([[-np.inf, np.inf]] if self.open is None else self.open, dtype=float)
        if times.ndim != 2 or times.shape[1:] != (2,) or not (times[:, 0] < times[:, 1]).all():
            raise InvalidValue(
                f"open must be intervals (from, to) with from < to, not {self.open!r} (gate {self.at!r})"
            )
        early = np.flatnonzero(times[1:, 0] < times[:-1, 1])
        if len(early):
            one, other = times[early[0]].tolist(), times[early[0] + 1].tolist()
            raise InvalidValue(
                f"the times of gate {self.at!r} overlap or are not in order: {one} and {other}; give intervals that "
                f"follow each other"
            )
        object.__setattr__(self, "open", times)

    def is_open(self, t: float) -> bool:
        """Tell whether the gate is open at a time, as long as fewer than `most` people have passed.

        Parameters
        ----------
        t : float
            Time of the run (s).

        Returns
        -------
        bool
            True if the time is in one of the intervals.
        """
        start, end = np.asarray(self.open).T
        return bool(((start <= t) & (t < end)).any())


def ends_of(gates: Sequence[Gate], plan: Plan) -> Array:
    """(k, 2, 2) ends of the gates; raises if a name is not on the plan."""
    known = {**plan.exits, **{f"door {k}": ends for k, ends in enumerate(plan.doors)}}
    for gate in gates:
        if gate.at not in known:
            raise InvalidValue(f"there is no exit or door {gate.at!r}; there are {', '.join(map(repr, known))}")
    if len({gate.at for gate in gates}) < len(gates):
        raise InvalidValue(f"two gates have the same name: {[gate.at for gate in gates]}")
    return finite([known[gate.at] for gate in gates], "gates")
