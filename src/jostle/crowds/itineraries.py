"""Routes, known exits and families of the groups of a crowd."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from jostle._tools.arrays import Array, Booleans
from jostle.crowds.families import ALONE, Together, neighbours
from jostle.crowds.groups import Group
from jostle.crowds.journeys import Journey
from jostle.crowds.knowledge import KnownExits
from jostle.crowds.plans import Plan
from jostle.crowds.stairs import Passage, passages
from jostle.crowds.stops import AnyStop, Stop
from jostle.crowds.wish import Wish
from jostle.errors import InvalidValue

ENDS = np.array([0.0, 1.0])
"""Fractions of the width of stairs at their two sides."""
REACH_RADII = 2.0
"""Distance at which a stop counts as reached, in multiples of the largest radius."""


@dataclass(frozen=True, eq=False)
class Itinerary:
    """The routes, known exits and families of groups on a plan; names that are not on the plan are errors."""

    groups: Sequence[Group]
    stops: Mapping[str, AnyStop]
    plan: Plan

    def __post_init__(self) -> None:
        exits, links = list(self.plan.exits), [one.name for one in self._ways]
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
        """Raise if a group has a route, known exits or families, which wish= would ignore."""
        for group in self.groups:
            for what, said in {"route": group.route, "knows": group.knows, "family": group.family > 1}.items():
                if said:
                    raise InvalidValue(f"a crowd with wish= takes no {what}: make it part of the wish")

    def around(self, walk: Wish, unhindered: Wish, q: Array, radii: Array, random: np.random.Generator) -> Wish:
        """The walk of people at q with the routes, known exits and families of their groups.

        It raises if somebody cannot reach a stop. `unhindered` is the walk while all gates are open, because people may
        have to wait at a gate on their route.
        """
        wish = walk
        if any(group.knows is not None for group in self.groups):
            wish = KnownExits(wish, self._known(wish))
        if any(group.family > 1 for group in self.groups):
            wish = Together(wish, self._families(q))
        routes = self._complete(unhindered, [[*group.route, goal] for group in self.groups for goal in group.goals], q)
        if all(len(route) == 1 for route in routes):
            return wish
        reach = REACH_RADII * float(radii.max())
        arrivals = {one.name: Stop(one.places(ENDS, np.full(2, float(radii.max()))), reach=reach) for one in self._ways}
        used = {name for route in routes for name in route}
        stops = {**self.stops, **{name: stop for name, stop in arrivals.items() if name in used}}
        return Journey(wish, routes, people=len(q), reach=reach, stops=stops, seed=random)

    @property
    def _ways(self) -> list[Passage]:
        return passages(self.plan.links, self.plan.shafts)

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

    def _complete(self, wish: Wish, routes: list[list[str | None]], q: Array) -> list[list[str | None]]:
        """The routes with the stairs from floor to floor added; raises if somebody cannot reach a place."""
        if all(route == [None] or (len(route) == 1 and not self._ways) for route in routes):
            return routes
        names, over = [goal.name for goal in wish.goals], Floors(wish, self._ways, len(q))
        found: list[list[str | None]] = []
        far = wish.lengths(q)
        for person, route in enumerate(routes):
            here, where, legs = far[:, person], "the start", list[str | None]()
            for name in route:
                way = [] if name is None else over.stairs(person, here, names.index(name))
                if way is None or (name is None and not np.isfinite(here[: wish.eligible]).any()):
                    goal = "an exit" if name is None else repr(name)
                    raise InvalidValue(
                        f"person {person} at {q[person].round(3).tolist()} cannot walk from {where} to {goal}: every "
                        f"path is blocked by a wall or by a narrow opening; open a door, add stairs, or move the goal"
                    )
                legs += [*(self._ways[k].name for k in way), name]
                if name is not None and name in self.stops:
                    here = over.from_place(self.stops[name].target.mean(axis=0))[:, person]
                elif name in over.names:
                    here = over.after[over.names.index(name)][:, person]
                where = repr(name)
            found.append(legs)
        return found


class Floors:
    """Which stairs lead from one place to another, for each of n people."""

    def __init__(self, wish: Wish, ways: Sequence[Passage], n: int):
        self.wish, self.n, self.names = wish, n, [one.name for one in ways]
        self.goals = [[goal.name for goal in wish.goals].index(name) for name in self.names]
        size = float(wish.widest(n).max()) if ways else 0.0
        landings = [one.places(np.array([0.5]), np.array([2.0 * size]))[0] for one in ways]
        self.after = [self.from_place(place) for place in landings]
        """(goals, n) length of the way to each goal from the end of each of the stairs."""
        ends = [one.goal(size)[0].mean(axis=0) for one in ways]
        self.behind = [self.from_place(place)[goal] for place, goal in zip(ends, self.goals, strict=True)]
        """(n,) length behind each of the stairs that is part of the length of the way to them."""

    def from_place(self, place: Array) -> Array:
        """(goals, n) length of the way from a place to each goal."""
        return self.wish.lengths(np.tile(place, (self.n, 1)))

    def stairs(self, person: int, here: Array, goal: int) -> list[int] | None:
        """The numbers of the stairs on the way to a goal: fewest stairs first, then shortest; None without a way."""
        open_ways: list[tuple[float, list[int], Array]] = [(0.0, [], here)]
        for _ in range(len(self.goals) + 1):
            arrived = [(far + there[goal], way) for far, way, there in open_ways if np.isfinite(there[goal])]
            if arrived:
                return min(arrived)[1]
            open_ways = [
                (far + float(there[number] - self.behind[k][person]), [*way, k], self.after[k][:, person])
                for far, way, there in open_ways
                for k, number in enumerate(self.goals)
                if k not in way and np.isfinite(there[number])
            ]
        return None
