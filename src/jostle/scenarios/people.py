"""kind = "crowd": groups of people on a floor plan of one or more rooms, with doors, stairs and exits."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Discriminator, Field, Tag, model_validator

from jostle.crowds.crowd import Crowd as People
from jostle.crowds.crowd import crowd
from jostle.crowds.groups import Group
from jostle.crowds.outlines import package
from jostle.crowds.plans import OUTLET_RADII, Plan
from jostle.crowds.stairs import Link
from jostle.crowds.strategies import TIME_GAP, AvoidJams
from jostle.errors import JostleError
from jostle.scenarios.behaviours import DEFAULT, Behaviour, InhibitionTable, PlainTable
from jostle.scenarios.endings import EmptyOrBlocked
from jostle.scenarios.fields import (
    Complaint,
    Number,
    Path,
    Point,
    Positive,
    Switch,
    Table,
    Text,
    WalkingSpeed,
    allowed,
    complain,
)
from jostle.scenarios.fields import People as HowMany
from jostle.scenarios.problem import Built, ProblemTable, belongs_to
from jostle.schemes.abilities import EXCHANGE

MOST_ENTRIES = 10_000
DEFAULT_STEP = 0.05
"""The time step (s) if the file does not say; `solve` warns of steps above 0.07 s."""

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
    """People with a name in common, who start together and have the same goal."""

    name: Text | None = Field(None, description='Its name in results; "group 0", "group 1", ... if not said.')
    n: HowMany | None = Field(None, description="How many people, at random places.")
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

    def named(self, number: int) -> str:
        """Its name, if it is the group with this number."""
        return f"group {number}" if self.name is None else self.name

    def build(self, number: int) -> Group:
        where = {"start": self.region, "places": self.places}
        return Group(self.named(number), self.n, radius=self.radius, speed=self.speed, goal=self.goal, **where)


class Crowd(ProblemTable):
    """People who leave a room or a building."""

    first_order: ClassVar[bool] = True
    endings: ClassVar[tuple[str, ...]] = ("never", "empty")
    step: ClassVar[float | None] = DEFAULT_STEP

    kind: Literal["crowd"] = Field(description="Groups of people on a floor plan.")
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
    behaviour: Behaviour | None = Field(
        None, description="What people do about each other; quickest ways, repulsion and time gaps if not said."
    )
    inhibition: Inhibition | None = Field(
        None,
        description='Instead of behaviour: true or a time T (s) stands for { kind = "inhibition", T = ... }, false for '
        '{ kind = "plain" }.',
    )
    avoid_jams: Switch = Field(
        False, description="People without a goal choose the exit with the shortest expected time."
    )
    outlet: Positive | None = Field(
        None,
        description=f"Distance behind an exit (m) at which people are taken out of the run; {OUTLET_RADII:g} times the "
        f"largest radius if not said.",
    )

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        wrong: list[Complaint] = []
        exits, stairs = [table.name for table in self.exits], [table.name for table in self.stairs]
        for key, names in (("exits", exits), ("stairs", stairs)):
            for k, name in enumerate(names):
                if (exits + stairs).count(name) > 1:
                    wrong.append(((key, k, "name"), "must not be the name of another exit or stairs"))
        groups = [group.named(k) for k, group in enumerate(self.groups)]
        for k, group in enumerate(self.groups):
            if groups.count(groups[k]) > 1:
                wrong.append((("groups", k, "name"), "must not be the name of another group"))
            if group.goal is not None and group.goal not in exits:
                known = ", ".join(f'"{name}"' for name in exits)
                wrong.append((("groups", k, "goal"), f"must be one of the exits {known}"))
        if self.behaviour is not None and self.inhibition is not None:
            wrong.append((("inhibition",), "must not be given together with behaviour"))
        complain(wrong)
        return self

    def _behaviour(self) -> Behaviour:
        """What people do about each other."""
        if self.inhibition is None:
            return DEFAULT if self.behaviour is None else self.behaviour
        if self.inhibition is False:
            return PlainTable(kind="plain")
        return InhibitionTable(kind="inhibition", T=TIME_GAP if self.inhibition is True else self.inhibition)

    def ending(self) -> str:
        return "empty"

    def needs(self) -> dict[str, Path]:
        return {EXCHANGE: ()}

    def plan(self) -> Plan:
        """The floor plan."""
        rooms = [
            package("shapely").Polygon(room.corners, room.holes) if room.holes else room.corners for room in self.rooms
        ]
        area = rooms if len(rooms) > 1 else rooms[0]
        exits = {one.name: one.ends for one in self.exits}
        try:
            links = [Link(way.name, way.start, way.end, length=way.length) for way in self.stairs]
            return Plan(area, exits=exits, doors=self.doors, walls=self.walls, columns=self.columns, links=links)
        except JostleError:
            self._blame(area, exits)
            raise

    def _blame(self, area: Any, exits: dict[str, Any]) -> None:
        """Raise what is wrong with the plan at the first key without which it is not."""
        somewhere = {"": self.rooms[0].corners[:2]}
        with belongs_to("rooms"):
            Plan(area, exits=somewhere)
        with belongs_to("columns"):
            Plan(area, exits=somewhere, columns=self.columns)
        for k, (name, ends) in enumerate(exits.items()):
            with belongs_to("exits", k):
                Plan(area, exits={name: ends})
        for k, door in enumerate(self.doors):
            with belongs_to("doors", k):
                Plan(area, exits=somewhere, doors=[door])
        for k, way in enumerate(self.stairs):
            with belongs_to("stairs", k):
                Plan(area, exits=exits, links=[Link(way.name, way.start, way.end, length=way.length)])

    def _people(self, plan: Plan, seed: int) -> People:
        """The groups on the plan; what does not fit is an error of the first group with which it does not."""
        groups: list[Group] = []
        for k, group in enumerate(self.groups):
            with belongs_to(k):
                groups.append(group.build(k))
        try:
            return crowd(groups, room=plan, seed=seed)
        except JostleError:
            for k in range(len(groups)):
                with belongs_to(k):
                    crowd(groups[: k + 1], room=plan, seed=seed)
            raise

    def build(self, seed: int) -> Built:
        plan = self.plan()
        with belongs_to("groups"):
            people = self._people(plan, seed)
        radii, wish = people.within.radii_at(0.0), people.wish
        if self.avoid_jams:
            wish = AvoidJams(wish)
        people = people.wishing(self._behaviour().build(wish, plan, radii))
        return Built(people, tuple(plan.changes(people, beyond=self.outlet)), EmptyOrBlocked(plan.empty, radii))
