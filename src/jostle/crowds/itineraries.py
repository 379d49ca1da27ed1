"""What the groups of a crowd do on their way: the stops of their routes, the exits they know, the families in them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from jostle.arrays import Array, Booleans
from jostle.crowds.families import ALONE, Together, neighbours
from jostle.crowds.groups import Group
from jostle.crowds.journeys import Journey
from jostle.crowds.knowledge import KnownExits
from jostle.crowds.plans import Plan
from jostle.crowds.stairs import passages
from jostle.crowds.stops import AnyStop, Stop
from jostle.crowds.wish import NEAREST, Wish
from jostle.errors import InvalidValue

ENDS = np.array([0.0, 1.0])
"""The parts of the width of stairs at their two sides."""
REACH_RADII = 2.0
"""Distance from a stop within which it counts as reached, in multiples of the largest radius."""


@dataclass(frozen=True, eq=False)
class Itinerary:
    """The routes, known exits and families of groups on a plan; names that are not on the plan are refused."""

    groups: Sequence[Group]
    stops: Mapping[str, AnyStop]
    plan: Plan

    def __post_init__(self) -> None:
        exits, links = list(self.plan.exits), [one.name for one in passages(self.plan.links, self.plan.shafts)]
        for group in self.groups:
            self._check_names(group, "route", group.route, [*self.stops, *links])
            self._check_names(group, "knows", group.knows or (), [*exits, *links])

    def _check_names(self, group: Group, what: str, names: Sequence[str], known: list[str]) -> None:
        for name in names:
            if name not in known:
                words = ", ".join(map(repr, known)) or "none: give crowd(..., stops={...})"
                kind = "stops and stairs" if what == "route" else "exits and stairs"
                raise InvalidValue(f"{what} of group {group.name!r} names {name!r}; the {kind} are {words}")

    def check_unused(self) -> None:
        """Raise if something is said that a wish of one's own would ignore."""
        for group in self.groups:
            for what, said in {"route": group.route, "knows": group.knows, "family": group.family > 1}.items():
                if said:
                    raise InvalidValue(f"with a wish of its own a crowd takes no {what}: make it part of the wish")

    def around(self, walk: Wish, q: Array, radii: Array, random: np.random.Generator) -> Wish:
        """The walk of people at q with all that their groups say; a stop that somebody cannot reach is refused."""
        wish = walk
        if any(group.knows is not None for group in self.groups):
            wish = KnownExits(wish, self._known(wish))
        if any(group.family > 1 for group in self.groups):
            wish = Together(wish, self._families(q))
        routes = [[*group.route, goal] for group in self.groups for goal in group.goals]
        if all(len(route) == 1 for route in routes):
            return wish
        self._check_routes(wish, routes, q)
        reach = REACH_RADII * float(radii.max())
        ways = passages(self.plan.links, self.plan.shafts)
        arrivals = {one.name: Stop(one.places(ENDS, np.full(2, float(radii.max()))), reach=reach) for one in ways}
        stops = {**self.stops, **{name: stop for name, stop in arrivals.items() if any(name in r for r in routes)}}
        return Journey(wish, routes, people=len(q), reach=reach, stops=stops, seed=random)

    def _known(self, wish: Wish) -> Booleans:
        names = [goal.name for goal in wish.goals[: wish.eligible]]
        rows = [
            [group.knows is None or name in group.knows for name in names]
            for group in self.groups
            for _ in range(group.size)
        ]
        return np.array(rows, dtype=bool)

    def _families(self, q: Array) -> Array:
        family, first, count = np.full(len(q), ALONE), 0, 0
        for group in self.groups:
            own = slice(first, first + group.size)
            if group.family > 1:
                family[own] = count + neighbours(q[own], group.family)
                count = int(family.max()) + 1
            first += group.size
        return family

    def _check_routes(self, wish: Wish, routes: list[list[str | None]], q: Array) -> None:
        """Raise, naming the person and the stop, if somebody cannot walk from one place of their route to the next."""
        names = [goal.name for goal in wish.goals]
        ways = {one.name: one for one in passages(self.plan.links, self.plan.shafts)}
        where, before = np.array(q), np.array(["the start"] * len(q), dtype=object)
        for stage in range(max(map(len, routes))):
            names_now = [route[stage] if stage < len(route) else None for route in routes]
            left = np.array([stage < len(route) for route in routes])
            nearest = wish.chosen(where)
            goal = np.array([NEAREST if name is None else names.index(name) for name in names_now])
            goal = np.where(goal == NEAREST, nearest, goal)
            lost = np.flatnonzero(left & ~np.isfinite(wish.distance(where, goal)))
            if len(lost):
                person = int(lost[0])
                raise InvalidValue(
                    f"person {person} cannot walk from {before[person]} at {where[person].round(3).tolist()} to "
                    f"{names[goal[person]]!r}: a wall or a door that is too narrow is on all ways, or it is on another "
                    f"floor; open a door, move the stop, or name the stairs between them in the route"
                )
            for person in map(int, np.flatnonzero(left)):
                name = names[goal[person]]
                way = ways.get(name)
                if way is not None:
                    depth = np.array([2.0 * float(wish.widest(len(q))[person])])
                    where[person] = way.places(np.array([0.5]), depth)[0]
                elif name in self.stops:
                    where[person] = self.stops[name].target.mean(axis=0)
                before[person] = repr(name)
