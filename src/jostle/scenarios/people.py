"""kind = "crowd": groups of people on a floor plan of one or more rooms, with doors, stairs and exits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Discriminator, Field, Tag, model_validator

from jostle._tools.arrays import Array
from jostle.crowds.crowd import Crowd as People
from jostle.crowds.crowd import crowd
from jostle.crowds.groups import Group
from jostle.crowds.interior import OUTLET_RADII
from jostle.crowds.outlines import package
from jostle.crowds.plan_checks import stop_on
from jostle.crowds.plans import Plan
from jostle.crowds.stairs import BACK, Link
from jostle.crowds.stops import AnyStop
from jostle.crowds.strategies import TIME_GAP, AvoidJams
from jostle.crowds.summary import LONGEST_INTERVAL
from jostle.crowds.wish import Wish
from jostle.errors import JostleError
from jostle.scenarios.behaviours import DEFAULT, Behaviour, InhibitionTable, PlainTable
from jostle.scenarios.drawings import Drawings
from jostle.scenarios.endings import EmptyOrBlocked
from jostle.scenarios.entering import Enters, GateTable, TimetableTable, entering, last_entry
from jostle.scenarios.fields import (
    Complaint,
    NotNegative,
    Number,
    Path,
    Point,
    Positive,
    Switch,
    Table,
    Text,
    allowed,
    complain,
)
from jostle.scenarios.fields import People as HowMany
from jostle.scenarios.problem import Built, ProblemTable, belongs_to
from jostle.scenarios.spreads import Radius, Speed, Times, spread
from jostle.scenarios.waypoints import AnyWaypoint
from jostle.schemes.base import EXCHANGE

MOST_ENTRIES = 10_000
"""Largest number of entries in a list."""
DEFAULT_STEP = 0.05
"""Time step (s) if the file does not set it; `solve` warns of steps above 0.07 s."""

Corners = Annotated[tuple[Point, ...], Field(min_length=3, max_length=MOST_ENTRIES, strict=False)]
Ends = Annotated[tuple[Point, ...], Field(min_length=2, max_length=2, strict=False)]
Column = Annotated[tuple[Number, ...], Field(min_length=3, max_length=3, strict=False)]
Pace = Annotated[
    Annotated[Positive, allowed('a positive number, "up" or "down"'), Tag("<one>")]
    | Annotated[Literal["up", "down"], allowed('a positive number, "up" or "down"'), Tag("<text>")],
    Discriminator(lambda value: "<text>" if isinstance(value, str) else "<one>"),
]
Inhibition = Annotated[
    Annotated[Switch, Tag("<switch>")] | Annotated[Positive, allowed("true, false or a positive time"), Tag("<time>")],
    Discriminator(lambda value: "<switch>" if isinstance(value, bool) else "<time>"),
]


class RoomTable(Table):
    """A room: a polygon, with holes for obstacles such as desks."""

    corners: Corners = Field(description="Corners [x, y] (m) of the room, in order around it.")
    holes: Annotated[tuple[Corners, ...], Field(max_length=MOST_ENTRIES, strict=False)] = Field(
        (), description="Obstacles such as desks: the corners [x, y] (m) of each."
    )


class LabelTable(Table):
    """The name of a room, for pictures."""

    name: Text = Field(description="Name of a room.")
    place: Point = Field(description="Point [x, y] (m) where pictures show the name.")


class ExitTable(Table):
    """A way out of the building."""

    name: Text = Field(description="Name of the exit, for the goals of groups.")
    ends: Ends = Field(description="Two points [x, y] (m) of an outer edge, between which the exit lies.")


class StairsTable(Table):
    """Stairs from one floor to another; floors are drawn side by side."""

    name: Text = Field(description="Name of the stairs, for the routes of groups.")
    start: Ends = Field(description="Segment (m) of an outer edge where the stairs leave a floor.")
    end: Ends = Field(description="Segment (m), as wide as start, where people step off the stairs.")
    length: Positive = Field(description="Length of the stairs (m).")
    pace: Pace = Field(
        1.0, description='Speed on stairs relative to level ground; "up" or "down" for the values of Weidmann 1993.'
    )
    flights: (
        Annotated[
            tuple[Annotated[tuple[NotNegative, ...], Field(min_length=2, max_length=2, strict=False)], ...],
            Field(min_length=1, max_length=MOST_ENTRIES, strict=False),
        ]
        | None
    ) = Field(None, description="Intervals [from, to] with steps, along the length (m); landings lie between them.")
    both: Switch = Field(False, description="True if people walk the stairs in both directions.")
    every: Positive | None = Field(
        None, description="Time (s) between two trips of a lift, which carries everyone in it to the other floor."
    )
    travel: NotNegative = Field(0.0, description="Time (s) that a lift moves from one floor to the other.")
    doors: NotNegative = Field(0.0, description="Time (s) in which the doors of a lift open, and in which they close.")

    def build(self) -> Link:
        said: dict[str, Any] = {"pace": self.pace, "flights": self.flights, "both": self.both, "every": self.every}
        return Link(self.name, self.start, self.end, length=self.length, travel=self.travel, doors=self.doors, **said)


class GroupTable(Table):
    """People who start together and have the same goal."""

    name: Text | None = Field(None, description='Name of the group in results; "group 0", "group 1", ... by default.')
    n: HowMany | None = Field(None, description="Number of people, who start at random places.")
    region: Corners | None = Field(None, description="Polygon (m) in which they start; the whole plan by default.")
    places: Annotated[tuple[Point, ...], Field(min_length=1, max_length=MOST_ENTRIES, strict=False)] | None = Field(
        None, description="Instead of n and region: the place [x, y] (m) of each person at the start."
    )
    radius: Radius = Field(0.2, description="Radius of a person (m): a number, one for each, or a distribution.")
    speed: Speed = Field(
        1.34,
        description='Desired walking speed (m/s): a number, one for each person, a distribution, or "weidmann".',
    )
    reaction: Times = Field(
        0.0,
        description="Pre-movement time (s): a number, one for each person, or a distribution.",
    )
    goal: Text | None = Field(None, description="Name of the exit that they walk to; the nearest by default.")
    route: Annotated[tuple[Text, ...], Field(max_length=MOST_ENTRIES, strict=False)] = Field(
        (), description="Names of the stops and stairs that they pass before they leave."
    )
    knows: Annotated[tuple[Text, ...], Field(min_length=1, max_length=MOST_ENTRIES, strict=False)] | None = Field(
        None, description="Names of the exits and stairs that they know; all by default."
    )
    enters: Enters = Field(
        0.0,
        description="Times (s) at which they enter, in their region: a time, one for each person, a distribution, a "
        "timetable, or a steady rate. People with the time 0 are present from the start.",
    )
    family: HowMany = Field(1, description="Number of people in a family: neighbours at the start stay together.")

    @model_validator(mode="after")
    def _says_where(self) -> Self:
        if (self.n is None) == (self.places is None):
            complain([((), "must have either n = ... or places = ...")])
        if self.places is not None and self.region is not None:
            complain([(("region",), "must not be given together with places")])
        count = self.n if self.places is None else len(self.places)
        if isinstance(self.enters, TimetableTable) and self.enters.count() != count:
            complain([(("enters",), f"must be a timetable of n = {count} people, not of {self.enters.count()}")])
        for key in ("radius", "speed", "reaction", "enters"):
            value = getattr(self, key)
            if isinstance(value, tuple) and len(value) != count:
                complain([((key,), f"must have {count} numbers, one for each person, not {len(value)}")])
        return self

    @property
    def size(self) -> int:
        """The number of people."""
        return len(self.places) if self.places is not None else int(self.n or 0)

    def named(self, number: int) -> str:
        """The name of the group, or the default name of the group with this number."""
        return f"group {number}" if self.name is None else self.name

    def build(self, number: int) -> Group:
        said: dict[str, Any] = {"start": self.region, "places": self.places, "goal": self.goal}
        said |= {"route": self.route, "knows": self.knows, "family": self.family}
        said["enters"] = entering(self.enters, self.size)
        each = {name: spread(getattr(self, name)) for name in ("radius", "speed", "reaction")}
        return Group(self.named(number), self.n, **each, **said)


class Crowd(ProblemTable):
    """People who leave a room or a building."""

    first_order: ClassVar[bool] = True
    endings: ClassVar[tuple[str, ...]] = ("never", "empty")
    step: ClassVar[float | None] = DEFAULT_STEP
    longest_interval: ClassVar[float | None] = LONGEST_INTERVAL

    kind: Literal["crowd"] = Field(description="Groups of people on a floor plan.")
    plan: Drawings | None = Field(
        None, description="Drawing of the floor plan (.dxf, .png or .wkt), or a list with one for each floor."
    )
    rooms: Annotated[tuple[RoomTable, ...], Field(min_length=1, max_length=MOST_ENTRIES, strict=False)] = Field(
        (), description="Rooms; doors join those that share an edge. Required without a plan."
    )
    exits: Annotated[tuple[ExitTable, ...], Field(min_length=1, max_length=MOST_ENTRIES, strict=False)] = Field(
        (), description="Exits. Required without a plan."
    )
    doors: Annotated[tuple[Ends, ...], Field(max_length=MOST_ENTRIES, strict=False)] = Field(
        (), description="Doors between two rooms, each given by two points (m) of their common edge."
    )
    walls: Annotated[tuple[Ends, ...], Field(max_length=MOST_ENTRIES, strict=False)] = Field(
        (), description="Thin walls inside, each given by its two ends (m)."
    )
    labels: Annotated[tuple[LabelTable, ...], Field(max_length=MOST_ENTRIES, strict=False)] = Field(
        (), description="Names of rooms, which pictures and reports show."
    )
    columns: Annotated[tuple[Column, ...], Field(max_length=MOST_ENTRIES, strict=False)] = Field(
        (), description="Round columns, [x, y, radius] each (m)."
    )
    stairs: Annotated[tuple[StairsTable, ...], Field(max_length=MOST_ENTRIES, strict=False)] = Field(
        (), description="Stairs between floors."
    )
    stops: Annotated[tuple[AnyWaypoint, ...], Field(max_length=MOST_ENTRIES, strict=False)] = Field(
        (), description="Places that the routes of groups pass: stops, waiting areas and queues."
    )
    gates: Annotated[tuple[GateTable, ...], Field(max_length=MOST_ENTRIES, strict=False)] = Field(
        (), description="Doors and exits that open and close."
    )
    groups: Annotated[tuple[GroupTable, ...], Field(min_length=1, max_length=MOST_ENTRIES, strict=False)] = Field(
        description="Groups of people."
    )
    behaviour: Behaviour | None = Field(
        None, description='How people react to each other; { kind = "pedestrians" } by default.'
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
        description=f"Distance behind an exit (m) at which people are removed; by default {OUTLET_RADII:g} times the "
        f"largest radius.",
    )

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        wrong: list[Complaint] = [
            ((), f"the key '{key}' is missing: give {key} = [...], or plan = \"floor.dxf\" in a file")
            for key in ("rooms", "exits")
            if not getattr(self, key)
        ]
        exits, stairs = [table.name for table in self.exits], [table.name for table in self.stairs]
        stops = [table.name for table in self.stops]
        for key, names in (("exits", exits), ("stairs", stairs), ("stops", stops)):
            for k, name in enumerate(names):
                if (exits + stairs + stops).count(name) > 1:
                    wrong.append(((key, k, "name"), "must not be the name of another exit, stairs or stop"))
        ways = [*stairs, *(table.name + BACK for table in self.stairs if table.both)]
        gated = [*exits, *(f"door {k}" for k in range(len(self.doors)))]
        for k, gate in enumerate(self.gates):
            if gate.at not in gated or [one.at for one in self.gates].count(gate.at) > 1:
                wrong.append((("gates", k, "at"), f"must be one of {_quoted(gated)}, each once"))
        groups = [group.named(k) for k, group in enumerate(self.groups)]
        for k, group in enumerate(self.groups):
            if groups.count(groups[k]) > 1:
                wrong.append((("groups", k, "name"), "must not be the name of another group"))
            if group.goal is not None and group.goal not in exits:
                wrong.append((("groups", k, "goal"), f"must be one of the exits {_quoted(exits)}"))
            for key, known in (("route", [*stops, *ways]), ("knows", [*exits, *ways])):
                for j, name in enumerate(getattr(group, key) or ()):
                    if name not in known:
                        words = _quoted(known) or "none: add a table [[problem.stops]]"
                        wrong.append((("groups", k, key, j), f"must be one of {words}"))
        if self.behaviour is not None and self.inhibition is not None:
            wrong.append((("inhibition",), "must not be given together with behaviour"))
        complain(wrong)
        return self

    def _behaviour(self) -> Behaviour:
        """The table of the behaviour."""
        if self.inhibition is None:
            return DEFAULT if self.behaviour is None else self.behaviour
        if self.inhibition is False:
            return PlainTable(kind="plain")
        return InhibitionTable(kind="inhibition", T=TIME_GAP if self.inhibition is True else self.inhibition)

    def _behave(self, wish: Wish, plan: Plan, radii: Array) -> Wish:
        """The wish with the behaviour."""
        return self._behaviour().build(AvoidJams(wish) if self.avoid_jams else wish, plan, radii)

    def ending(self) -> str:
        return "empty"

    def needs(self) -> dict[str, Path]:
        return {EXCHANGE: ()}

    def floor_plan(self) -> Plan:
        """The floor plan."""
        rooms = [
            package("shapely").Polygon(room.corners, room.holes) if room.holes else room.corners for room in self.rooms
        ]
        area = rooms if len(rooms) > 1 else rooms[0]
        exits = {one.name: one.ends for one in self.exits}
        try:
            links = [way.build() for way in self.stairs]
            labels = {one.name: one.place for one in self.labels}
            return Plan(
                area, exits=exits, doors=self.doors, walls=self.walls, columns=self.columns, links=links, labels=labels
            )
        except JostleError:
            self._blame(area, exits)
            raise

    def _blame(self, area: Any, exits: dict[str, Any]) -> None:
        """Raise the error of the plan at the first key that causes it."""
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
                Plan(area, exits=exits, links=[way.build()])

    def beyond(self, t: float) -> Iterator[Complaint]:
        for k, way in enumerate(self.stairs):
            if way.every is not None and way.every + way.travel + 2.0 * way.doors >= t:
                yield (
                    ("stairs", k, "every"),
                    f"must let the lift arrive before the end of the run, t = {t:g}",
                )
        for k, stop in enumerate(self.stops):
            if stop.leaving() >= t:
                yield ("stops", k, "until"), f"must be before the end of the run, t = {t:g}: nobody would ever go on"
        for k, group in enumerate(self.groups):
            if isinstance(group.reaction, float) and group.reaction >= t:
                yield ("groups", k, "reaction"), f"must be before the end of the run, t = {t:g}: nobody would ever walk"
            if last_entry(group.enters, group.size) >= t:
                yield (
                    ("groups", k, "enters"),
                    f"must end before the end of the run, t = {t:g}: somebody would never come",
                )
        for k, gate in enumerate(self.gates):
            for j, (start, _) in enumerate(gate.open or ()):
                if start >= t:
                    yield ("gates", k, "open", j), f"must begin before the end of the run, t = {t:g}"

    def _people(self, plan: Plan, seed: int) -> People:
        """The groups on the plan; an error is attributed to the first group that causes it."""
        stops: dict[str, AnyStop] = {}
        for k, stop in enumerate(self.stops):
            with belongs_to("stops", k):
                stops[stop.name] = stop.build()
                stop_on(plan, stop.name, stops[stop.name].target)
        gates = [gate.build() for gate in self.gates]
        said = {"room": plan, "seed": seed, "stops": stops, "gates": gates, "behaviour": self._behave}
        with belongs_to("groups"):
            return self._groups(said)

    def _groups(self, said: dict[str, Any]) -> People:
        groups: list[Group] = []
        for k, group in enumerate(self.groups):
            with belongs_to(k):
                groups.append(group.build(k))
        try:
            return crowd(groups, **said)
        except JostleError:
            for k in range(len(groups)):
                with belongs_to(k):
                    crowd(groups[: k + 1], **said)
            raise

    def build(self, seed: int) -> Built:
        plan = self.floor_plan()
        people = self._people(plan, seed)
        until = EmptyOrBlocked(plan.empty, people.within.radii_at(0.0), people.anyone_waits)
        return Built(people, tuple(plan.changes(people, beyond=self.outlet)), until)


def _quoted(names: Sequence[str]) -> str:
    return ", ".join(f'"{name}"' for name in names)
