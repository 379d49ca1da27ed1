"""Openings that may be too narrow for people: exits, stairs, doors, and gaps between walls and columns."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from jostle._tools.arrays import Array
from jostle.crowds.outlines import around, own_nearest, package
from jostle.crowds.plans import Plan
from jostle.crowds.ways import FIT
from jostle.crowds.wish import Wish
from jostle.errors import InvalidValue

FREE = 1e-6
"""Tolerance, relative to its length, of the test whether nothing is nearer to the middle of a line than its ends."""


class Opening(NamedTuple):
    """An opening that people pass, with its two ends (2, 2)."""

    name: str
    ends: Array
    width: float

    @staticmethod
    def of(name: str, ends: Array) -> Opening:
        return Opening(name, ends, float(np.linalg.norm(ends[1] - ends[0])))

    def __str__(self) -> str:
        return f"{self.name} from {self.ends[0].tolist()} to {self.ends[1].tolist()}, {self.width:g} wide"


def openings(plan: Plan, narrowest: float, widest: float) -> list[Opening]:
    """The openings of a plan with narrowest <= width < widest: doors, exits and stairs first, then gaps.

    >>> rooms = [[(0, 0), (4, 0), (4, 3), (0, 3)], [(4, 0), (8, 0), (8, 3), (4, 3)]]
    >>> plan = Plan(rooms, exits={"east": ((8, 1), (8, 2))}, doors=[((4, 1), (4, 1.6))], walls=[((2, 0.5), (2, 3))])
    >>> [str(one) for one in openings(plan, 0.3, 0.8)]
    ['door 0 from [4.0, 1.0] to [4.0, 1.6], 0.6 wide', 'the gap from [2.0, 0.0] to [2.0, 0.5], 0.5 wide']
    """
    named = [Opening.of(f"door {k}", ends) for k, ends in enumerate(plan.doors)]
    named += [Opening.of(f"exit {name!r}", ends) for name, ends in plan.exits.items()]
    named += [Opening.of(f"stairs {name!r}", link.start) for name, link in plan.links.items()]
    gaps = [] if plan.convex else [Opening.of("the gap", ends) for ends in _gaps(plan, widest)]
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
            lines.append(np.stack([end, own_nearest(plan.walls[b], end)], axis=1))
    found = np.concatenate(lines)
    width, middle = np.linalg.norm(found[:, 1] - found[:, 0], axis=1), shapely.points(found.mean(axis=1))
    free = shapely.distance(obstacles[tree.nearest(middle)], middle) >= (0.5 - FREE) * width
    return np.asarray(
        found[free & (width > 0.0) & (width < widest) & shapely.dwithin(plan.area, middle, FREE * widest)]
    )


def check_ways(plan: Plan, q: Array, radii: Array, wish: Wish) -> None:
    """Raise, naming the person and the opening, if somebody cannot leave; wishes without exits are not checked."""
    if not wish.goals:
        return
    lost = np.flatnonzero(~np.isfinite(wish.length(q)))
    if len(lost):
        person, others = int(lost[0]), f", nor can {len(lost) - 1} others" if len(lost) > 1 else ""
        names = [f"{name!r} ({np.linalg.norm(ends[1] - ends[0]):g} wide)" for name, ends in plan.exits.items()]
        raise InvalidValue(
            f"person {person} at {q[person].tolist()}, {2.0 * radii[person]:g} wide, cannot reach their exit{others}: "
            f"every path to it is blocked by a wall, or by a door or an exit that is too narrow. The exits are "
            f"{', '.join(names)}; widen one, open a door, or use smaller radii"
        )
    _check_openings(plan, q, radii, wish.widest(len(q)))


def _check_openings(plan: Plan, q: Array, radii: Array, widest: Array) -> None:
    """Raise if somebody is too wide for an opening that their wish takes for passable."""
    wide = np.flatnonzero(radii > widest)
    if len(wide) == 0:
        return
    passable, needed = ((1.0 + FIT) * 2.0 * size[wide] for size in (widest, radii))
    for opening in openings(plan, float(passable.min()), float(needed.max())):
        stuck = wide[(passable <= opening.width) & (opening.width < needed)]
        if len(stuck):
            person = int(stuck[0])
            raise InvalidValue(
                f"person {person} at {q[person].tolist()} is {2.0 * radii[person]:g} wide and does not fit through "
                f"{opening}, but the wish was made for people {2.0 * widest[person]:g} wide: make it with their "
                f"radius, such as plan.walk(radius={radii[person]:g}), or widen the opening"
            )
