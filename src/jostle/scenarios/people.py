"""kind = "crowd": groups of people on a floor plan of one or more rooms, with doors, stairs and exits.

The tables of groups, stairs, stops, gates, distributions and behaviours are derived from the classes in `jostle.crowds`
that they describe.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache, partial
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self, TypeAlias

import numpy as np
from pydantic import AfterValidator, Field, Tag, model_validator

from jostle._tools.arrays import Array
from jostle.crowds.measure.summary import LONGEST_INTERVAL
from jostle.crowds.model.behaviours import BEHAVIOURS, AvoidJams, behaving
from jostle.crowds.model.crowd import OUTLET_RADII, crowd
from jostle.crowds.model.crowd import Crowd as People
from jostle.crowds.model.defaults import BEHAVIOUR
from jostle.crowds.model.distributions import SPEEDS, LogNormal, Normal, Uniform
from jostle.crowds.model.groups import Group, arrivals, timetable
from jostle.crowds.model.journeys import AnyStop, Queue, Stop, WaitingArea, check_stop
from jostle.crowds.model.walk import FASTEST
from jostle.crowds.model.wish import Behaviour, Wish
from jostle.errors import JostleError
from jostle.plans.areas import Area
from jostle.plans.links import BACK, Link
from jostle.plans.openings import Gate
from jostle.plans.outlines import package
from jostle.plans.plan import Plan
from jostle.scenarios.drawings import Drawings
from jostle.scenarios.fields import (
    MAX_PEOPLE,
    Checked,
    Complaint,
    Corners,
    Ends,
    Intervals,
    Lengths,
    Line,
    Made,
    NotNegative,
    Number,
    OneOf,
    Pace,
    Place,
    Point,
    Points,
    Positive,
    Switch,
    Table,
    Text,
    WalkingSpeed,
    allowed,
    by_kind,
    by_shape,
    complain,
    many,
    table_of,
)
from jostle.scenarios.fields import People as HowMany
from jostle.scenarios.problem import AnyProblem, ProblemTable, belongs_to
from jostle.scenarios.toml import Path
from jostle.schemes.capabilities import EXCHANGE

DEFAULT_STEP = 0.05
"""Time step (s) if the file does not set it; `solve` warns of steps above 0.07 s."""

DISTRIBUTIONS = (
    table_of(Normal, kind="normal"),
    table_of(LogNormal, kind="log-normal"),
    table_of(Uniform, kind="uniform"),
)


def _spread(one: Any, words: str, example: str, lists: bool = True) -> Any:
    """A number, or a list of them, or a table such as a distribution."""
    phrase = allowed(f"{words}; or {'a list of them, or ' * lists}a distribution such as {{ kind = {example} }}")
    number, table = Annotated[one, phrase, Tag("<one>")], Annotated[by_kind(*DISTRIBUTIONS), Tag("<table>")]
    several_of = Annotated[tuple[one, ...], many(1, MAX_PEOPLE), Tag("<list>")]
    if not lists:
        return Annotated[number | table, by_shape("<one>", "<table>")]
    return Annotated[number | several_of | table, by_shape("<one>", "<list>", "<table>")]


def _known(name: str) -> str:
    if name not in SPEEDS:
        raise ValueError
    return name


LATE = '"log-normal", mean = 60.0, deviation = 30.0'
Radius = _spread(Positive, "a positive number", '"uniform", low = 0.18, high = 0.22')
Times = _spread(NotNegative, "a number that is 0 or more", LATE)
OneTime = _spread(NotNegative, "a number that is 0 or more", LATE, lists=False)
Speed: Any = Annotated[
    Annotated[
        _spread(
            WalkingSpeed,
            f"a positive number of at most {FASTEST:g} m/s; divide km/h by 3.6",
            '"normal", mean = 1.34, deviation = 0.26',
        ),
        Tag("<one>"),
    ]
    | Annotated[
        str,
        AfterValidator(_known),
        allowed("one of " + ", ".join(f'"{name}"' for name in SPEEDS), SPEEDS),
        Tag("<text>"),
    ],
    by_shape("<one>", "<text>"),
]


class TimetableTable(Table):
    """A number of people at each of several times."""

    kind: Literal["timetable"] = Field(description="A number of people at each of several times.")
    rows: Lengths = Field(description="Rows [time (s), number of people].")

    @model_validator(mode="after")
    def _counts(self) -> Self:
        complain([(("rows", k), "must be [time, whole number]") for k, (_, n) in enumerate(self.rows) if n != round(n)])
        return self

    def times(self, n: int) -> Array:
        """The time of entry of each person."""
        return timetable(self.rows)

    def last(self, n: int) -> float:
        """The time of the last row."""
        return float(max(t for t, _ in self.rows))


class SteadyTable(Table):
    """People who enter one after the other."""

    kind: Literal["steady"] = Field(description="People enter one after the other at a constant rate.")
    rate: Positive = Field(description="Number of people who enter per second (1/s).")
    start: NotNegative = Field(0.0, description="Time at which the first person enters (s).")

    def times(self, n: int) -> Array:
        """The time of entry of each of n people."""
        return arrivals(n, rate=self.rate, start=self.start)

    def last(self, n: int) -> float:
        """The time at which the last of n people is due."""
        return self.start + (n - 1) / self.rate


Enters: Any = Annotated[
    Annotated[
        NotNegative,
        allowed('a time, a list of times, or a table such as { kind = "timetable", rows = [[0.0, 10], [60.0, 20]] }'),
        Tag("<one>"),
    ]
    | Annotated[tuple[NotNegative, ...], many(1, MAX_PEOPLE), Tag("<list>")]
    | Annotated[by_kind(*DISTRIBUTIONS, TimetableTable, SteadyTable), Tag("<table>")],
    by_shape("<one>", "<list>", "<table>"),
]


class RoomTable(Table):
    """A room: a polygon, with holes for obstacles such as desks."""

    corners: Corners = Field(description="Corners [x, y] (m) of the room, in order around it.")
    holes: Annotated[tuple[Corners, ...], many()] = Field(
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


class Waypoint(Checked):
    """The keys that all stages of a route have."""

    name: Text = Field(description="Name of the stage, for the routes of groups.")


class GroupBase(Made):
    """The checks of a group of people."""

    @model_validator(mode="after")
    def _says_where(self: Any) -> Any:
        if (self.n is None) == (self.places is None):
            complain([((), "must have either n = ... or places = ...")])
        if self.places is not None and self.start is not None:
            complain([(("start",), "must not be given together with places")])
        count = self.size
        if isinstance(self.enters, TimetableTable) and len(self.enters.times(count)) != count:
            found = len(self.enters.times(count))
            complain([(("enters",), f"must be a timetable of n = {count} people, not of {found}")])
        for key in ("radius", "speed", "reaction", "enters"):
            value = getattr(self, key)
            if isinstance(value, tuple) and len(value) != count:
                complain([((key,), f"must have {count} numbers, one for each person, not {len(value)}")])
        return self

    @property
    def size(self: Any) -> int:
        """The number of people."""
        return len(self.places) if self.places is not None else int(self.n or 0)

    def named(self: Any, number: int) -> str:
        """The name of the group, or the default name of the group with this number."""
        return f"group {number}" if self.name is None else str(self.name)

    def group(self: Any, number: int) -> Group:
        """The group with this number."""
        said = self.options() | {"name": self.named(number)}
        if isinstance(self.enters, TimetableTable | SteadyTable):
            said["enters"] = self.enters.times(self.size)
        if isinstance(self.speed, str):
            said["speed"] = SPEEDS[self.speed]
        return Group(**said)

    def last_entry(self: Any) -> float:
        """The time at which the last person is due; 0 for a distribution, whose times are drawn later."""
        if isinstance(self.enters, TimetableTable | SteadyTable):
            return self.enters.last(self.size)
        return float(np.max(self.enters)) if isinstance(self.enters, tuple | float) else 0.0


if TYPE_CHECKING:  # type checkers do not know classes that are made here
    GroupTable: TypeAlias = Any
    StairsTable: TypeAlias = Any
    AreaTable: TypeAlias = Any
    GateTable: TypeAlias = Any
    WaypointTable: TypeAlias = Any
else:
    GroupTable = table_of(
        Group,
        values={
            "n": HowMany, "radius": Radius, "speed": Speed, "reaction": Times, "goal": Text, "start": Corners,
            "places": Points, "knows": Annotated[tuple[Text, ...], many(1)], "enters": Enters, "family": HowMany,
        },
        own={"name": None},
        base=GroupBase,
    )  # fmt: skip
    StairsTable = table_of(
        Link, values={"start": Ends, "end": Ends, "length": Positive, "pace": Pace, "flights": Lengths}
    )
    AreaTable = table_of(Area, values={"corners": Corners})
    GateTable = table_of(Gate, values={"open": Intervals, "most": HowMany})
    WaypointTable = by_kind(
        table_of(Stop, kind="stop", values={"place": Place, "dwell": OneTime}, base=Waypoint),
        table_of(WaitingArea, kind="area", values={"corners": Corners, "dwell": OneTime}, base=Waypoint),
        table_of(Queue, kind="queue", values={"line": Line, "service": OneTime}, base=Waypoint),
    )


class BehaviourBase(Made):
    """A behaviour with its options."""

    kind: str

    def build(self) -> Any:
        # The behaviour as `crowd` takes it.
        made_later = isinstance(self.makes, type) and issubclass(self.makes, Behaviour)
        return partial(self.makes, **self.options()) if made_later else self.makes(**self.options())


@cache
def behaviour_table(kind: str, makes: Any) -> type[Made]:
    """The table of a behaviour, whose keys are its options.

    >>> sorted(behaviour_table("inhibition", BEHAVIOURS.get("inhibition")).model_fields)
    ['T', 'kind']
    """
    return table_of(makes, kind=kind, leave=("wish", "plan", "radii"), base=BehaviourBase)


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
    rooms: Annotated[tuple[RoomTable, ...], many(1)] = Field(
        (), description="Rooms; doors join those that share an edge. Required without a plan."
    )
    exits: Annotated[tuple[ExitTable, ...], many(1)] = Field((), description="Exits. Required without a plan.")
    doors: Annotated[tuple[Ends, ...], many()] = Field(
        (), description="Doors between two rooms, each given by two points (m) of their common edge."
    )
    walls: Annotated[tuple[Ends, ...], many()] = Field(
        (), description="Thin walls inside, each given by its two ends (m)."
    )
    labels: Annotated[tuple[LabelTable, ...], many()] = Field(
        (), description="Names of rooms, which pictures and reports show."
    )
    areas: Annotated[tuple[AreaTable, ...], many()] = Field(
        (), description="Named parts such as rows of seats and gangways, for pictures and for the names of jams."
    )
    columns: Annotated[tuple[Annotated[tuple[Number, ...], many(3, 3)], ...], many()] = Field(
        (), description="Round columns, [x, y, radius] each (m)."
    )
    stairs: Annotated[tuple[StairsTable, ...], many()] = Field((), description="Stairs between floors.")
    stops: Annotated[tuple[WaypointTable, ...], many()] = Field(
        (), description="Places that the routes of groups pass: stops, waiting areas and queues."
    )
    gates: Annotated[tuple[GateTable, ...], many()] = Field((), description="Doors and exits that open and close.")
    groups: Annotated[tuple[GroupTable, ...], many(1)] = Field(description="Groups of people.")
    behaviour: Annotated[BehaviourBase, OneOf(BEHAVIOURS, table=behaviour_table)] = Field(
        {"kind": BEHAVIOUR},
        validate_default=True,
        description=f'How people react to each other; {{ kind = "{BEHAVIOUR}" }} by default.',
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
        complain(wrong)
        return self

    def _behave(self, wish: Wish, plan: Plan, radii: Array) -> Wish:
        """The wish with the behaviour."""
        return behaving(self.behaviour.build(), AvoidJams(wish) if self.avoid_jams else wish, plan, radii)

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
                area, exits=exits, doors=self.doors, walls=self.walls, columns=self.columns, links=links, labels=labels,
                areas=[one.build() for one in self.areas],
            )  # fmt: skip
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
                yield (("stairs", k, "every"), f"must let the lift arrive before the end of the run, t = {t:g}")
        for k, stop in enumerate(self.stops):
            if stop.until is not None and stop.until >= t:
                yield ("stops", k, "until"), f"must be before the end of the run, t = {t:g}: nobody would ever go on"
        for k, group in enumerate(self.groups):
            if isinstance(group.reaction, float) and group.reaction >= t:
                yield ("groups", k, "reaction"), f"must be before the end of the run, t = {t:g}: nobody would ever walk"
            if group.last_entry() >= t:
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
                check_stop(plan, stop.name, stops[stop.name])
        gates = [gate.build() for gate in self.gates]
        people = partial(
            crowd, room=plan, seed=seed, stops=stops, gates=gates, behaviour=self._behave, outlet=self.outlet
        )
        with belongs_to("groups"):
            groups: list[Group] = []
            for k, group in enumerate(self.groups):
                with belongs_to(k):
                    groups.append(group.group(k))
            try:
                return people(groups)
            except JostleError:
                for k in range(len(groups)):
                    with belongs_to(k):
                        people(groups[: k + 1])
                raise

    def build(self, seed: int) -> AnyProblem:
        return self._people(self.floor_plan(), seed)


def _quoted(names: Sequence[str]) -> str:
    return ", ".join(f'"{name}"' for name in names)
