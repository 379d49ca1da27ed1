"""kind = "building": groups of people on a floor plan of several rooms, with doors, stairs and exits."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
from pydantic import Discriminator, Field, Tag, model_validator

from jostle.arrays import Array
from jostle.crowds.crowd import crowd
from jostle.crowds.outlines import package
from jostle.crowds.places import free_places
from jostle.crowds.plans import Plan
from jostle.crowds.stairs import Link
from jostle.crowds.strategies import AvoidJams
from jostle.crowds.walk import walk
from jostle.errors import JostleError
from jostle.scenarios.endings import EmptyOrBlocked
from jostle.scenarios.fields import (
    Complaint,
    Number,
    Path,
    People,
    Point,
    Positive,
    Switch,
    Table,
    Text,
    WalkingSpeed,
    allowed,
    complain,
)
from jostle.scenarios.problem import Built, ProblemTable, belongs_to
from jostle.schemes.abilities import EXCHANGE

MOST_ENTRIES = 10_000

Corners = Annotated[tuple[Point, ...], Field(min_length=3, max_length=MOST_ENTRIES, strict=False)]
Ends = Annotated[tuple[Point, ...], Field(min_length=2, max_length=2, strict=False)]
Column = Annotated[tuple[Number, ...], Field(min_length=3, max_length=3, strict=False)]
Inhibition = Annotated[
    Annotated[Switch, Tag("<switch>")] | Annotated[Positive, allowed("true, false or a positive time"), Tag("<time>")],
    Discriminator(lambda value: "<switch>" if isinstance(value, bool) else "<time>"),
]


class RoomTable(Table):
    """A room: a polygon, with holes where columns and desks stand."""

    corners: Corners = Field(description="Its corners [x, y] (m), one after the other.")
    holes: Annotated[tuple[Corners, ...], Field(max_length=MOST_ENTRIES, strict=False)] = Field(
        (), description="Columns, desks and the like: the corners of each (m)."
    )


class ExitTable(Table):
    """A way out of the building."""

    name: Text = Field(description="Its name, for the goals of groups.")
    ends: Ends = Field(description="From one point [x, y] of an outer edge to another (m).")


class StairsTable(Table):
    """Stairs from one floor to another; floors are drawn side by side."""

    name: Text = Field(description="Their name.")
    start: Ends = Field(description="The segment (m) through which they leave a floor.")
    end: Ends = Field(description="The segment (m) in front of which people come off them, as wide.")
    length: Positive = Field(description="Their length (m).")


class GroupTable(Table):
    """People who start together and have the same goal."""

    n: People | None = Field(None, description="How many people, at random places.")
    region: Corners | None = Field(None, description="The polygon (m) in which they start; the whole plan if not said.")
    places: Annotated[tuple[Point, ...], Field(min_length=1, max_length=MOST_ENTRIES, strict=False)] | None = Field(
        None, description="Instead of n and region: where each of them starts, [x, y] (m)."
    )
    radius: Positive = Field(0.2, description="Radius of a person (m).")
    speed: WalkingSpeed = Field(1.34, description="How fast they wish to walk (m/s).")
    goal: Text | None = Field(None, description="The name of the exit they go to; the nearest if not said.")

    @model_validator(mode="after")
    def _says_where(self) -> Self:
        if (self.n is None) == (self.places is None):
            complain([((), "must have either n = ... or places = ...")])
        if self.places is not None and self.region is not None:
            complain([(("region",), "must not be given together with places")])
        return self

    @property
    def size(self) -> int:
        return self.n if self.places is None and self.n is not None else len(self.places or ())

    @property
    def radii(self) -> Array:
        """(size,)"""
        return np.full(self.size, self.radius)


class Building(ProblemTable):
    """People who leave a building."""

    first_order: ClassVar[bool] = True
    endings: ClassVar[tuple[str, ...]] = ("never", "empty")

    kind: Literal["building"] = Field(description="Groups of people on a floor plan.")
    rooms: Annotated[tuple[RoomTable, ...], Field(min_length=1, max_length=MOST_ENTRIES, strict=False)] = Field(
        description="The rooms; doors join those that share an edge."
    )
    exits: Annotated[tuple[ExitTable, ...], Field(min_length=1, max_length=MOST_ENTRIES, strict=False)] = Field(
        description="The ways out."
    )
    doors: Annotated[tuple[Ends, ...], Field(max_length=MOST_ENTRIES, strict=False)] = Field(
        (), description="Doors between two rooms, each from one point of their common edge to another (m)."
    )
    walls: Annotated[tuple[Ends, ...], Field(max_length=MOST_ENTRIES, strict=False)] = Field(
        (), description="Thin walls inside, each from a point to another (m)."
    )
    columns: Annotated[tuple[Column, ...], Field(max_length=MOST_ENTRIES, strict=False)] = Field(
        (), description="Round columns, [x, y, radius] each (m)."
    )
    stairs: Annotated[tuple[StairsTable, ...], Field(max_length=MOST_ENTRIES, strict=False)] = Field(
        (), description="Stairs between floors."
    )
    groups: Annotated[tuple[GroupTable, ...], Field(min_length=1, max_length=MOST_ENTRIES, strict=False)] = Field(
        description="The people."
    )
    inhibition: Inhibition = Field(
        True, description="Nobody walks faster than the free way ahead over a time T (s); true: the calibrated T."
    )
    avoid_jams: Switch = Field(False, description="Do those without a goal take the exit where they are out soonest?")

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        wrong: list[Complaint] = []
        exits, stairs = [table.name for table in self.exits], [table.name for table in self.stairs]
        for key, names in (("exits", exits), ("stairs", stairs)):
            for k, name in enumerate(names):
                if (exits + stairs).count(name) > 1:
                    wrong.append(((key, k, "name"), "must not be the name of another exit or stairs"))
        for k, group in enumerate(self.groups):
            if group.goal is not None and group.goal not in exits:
                known = ", ".join(f'"{name}"' for name in exits)
                wrong.append((("groups", k, "goal"), f"must be one of the exits {known}"))
        complain(wrong)
        return self

    def ending(self) -> str:
        return "empty"

    def needs(self) -> dict[str, Path]:
        return {EXCHANGE: ()}

    def plan(self) -> Plan:
        """The floor plan."""
        shapely = package("shapely")
        with belongs_to("rooms"):
            rooms = [shapely.Polygon(room.corners, room.holes) for room in self.rooms]
        exits = {one.name: one.ends for one in self.exits}
        try:
            links = [Link(way.name, way.start, way.end, length=way.length) for way in self.stairs]
            return Plan(rooms, exits=exits, doors=self.doors, walls=self.walls, columns=self.columns, links=links)
        except JostleError:
            self._blame(rooms, exits)
            raise

    def _blame(self, rooms: list[Any], exits: dict[str, Any]) -> None:
        """Raise what is wrong with the plan at the first key without which it is not."""
        somewhere = {"": self.rooms[0].corners[:2]}
        with belongs_to("rooms"):
            Plan(rooms, exits=somewhere)
        with belongs_to("columns"):
            Plan(rooms, exits=somewhere, columns=self.columns)
        for k, (name, ends) in enumerate(exits.items()):
            with belongs_to("exits", k):
                Plan(rooms, exits={name: ends})
        for k, door in enumerate(self.doors):
            with belongs_to("doors", k):
                Plan(rooms, exits=somewhere, doors=[door])
        for k, way in enumerate(self.stairs):
            with belongs_to("stairs", k):
                Plan(rooms, exits=exits, links=[Link(way.name, way.start, way.end, length=way.length)])

    def _places(self, plan: Plan, seed: int) -> Array:
        """(n, 2) where everyone starts, in the order of the groups; those with places of their own have them first."""
        random = np.random.default_rng(seed)
        found = {k: np.array(group.places) for k, group in enumerate(self.groups) if group.places is not None}
        for k, group in enumerate(self.groups):
            if k not in found:
                others = [np.zeros((0, 2)), *found.values()], [np.zeros(0), *(self.groups[j].radii for j in found)]
                taken = np.concatenate(others[0]), np.concatenate(others[1])
                with belongs_to("groups", k):
                    found[k] = free_places(group.radii, plan, group.region, random, taken)
        return np.concatenate([found[k] for k in range(len(self.groups))])

    def build(self, seed: int) -> Built:
        plan = self.plan()
        places = self._places(plan, seed)
        sizes = [group.size for group in self.groups]
        radii = np.concatenate([group.radii for group in self.groups])
        speeds = np.repeat([group.speed for group in self.groups], sizes)
        goals = [group.goal for group, size in zip(self.groups, sizes, strict=True) for _ in range(size)]
        way = walk(plan, radius=radii, speed=speeds, goal=goals)
        wish = AvoidJams(way) if self.avoid_jams else way
        with belongs_to("groups"):
            people = crowd(len(radii), radius=radii, room=plan, q0=places, wish=wish, inhibition=self.inhibition)
        return Built(people, tuple(plan.changes(people)), EmptyOrBlocked(plan.empty, radii))
