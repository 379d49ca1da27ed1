"""Stages of the routes of people: stops, waiting areas and queues."""

from __future__ import annotations

from typing import Annotated, Literal, Self

import numpy as np
from pydantic import Discriminator, Field, Tag, model_validator

from jostle.crowds.stops import AnyStop, Queue, Stop, WaitingArea
from jostle.scenarios.fields import Number, Point, Positive, Table, Text, complain
from jostle.scenarios.spreads import Times, spread

MAX_CORNERS = 10_000
"""Largest number of points of a waiting area or a queue."""

Segment = Annotated[tuple[Point, ...], Field(min_length=2, max_length=2, strict=False)]
Place = Annotated[
    Annotated[Point, Tag("<one>")] | Annotated[Segment, Tag("<list>")],
    Discriminator(lambda value: "<list>" if value and isinstance(value[0], list | tuple) else "<one>"),
]


class Waypoint(Table):
    """The keys that all stages of a route have."""

    name: Text = Field(description="Name of the stage, for the routes of groups.")
    until: Number | None = Field(None, description="Earliest time (s) at which people leave it.")

    def _one_time(self, key: str) -> None:
        if isinstance(getattr(self, key), tuple):
            complain([((key,), "must be one number or a distribution, not a list")])

    def leaving(self) -> float:
        """The earliest time at which people may leave."""
        return -np.inf if self.until is None else self.until

    def build(self) -> AnyStop:
        raise NotImplementedError


class StopTable(Waypoint):
    """A point or a segment that people pass, where they may stand for a while."""

    kind: Literal["stop"] = Field(description="A point or a segment that people pass.")
    place: Place = Field(description="The point [x, y], or the two ends of the segment (m).")
    dwell: Times = Field(0.0, description="Time (s) that each person stands there: a number or a distribution.")
    reach: Positive | None = Field(
        None, description="Distance (m) at which it counts as reached; twice the largest radius by default."
    )

    @model_validator(mode="after")
    def _has_one_time(self) -> Self:
        self._one_time("dwell")
        return self

    def build(self) -> AnyStop:
        return Stop(self.place, dwell=spread(self.dwell), until=self.leaving(), reach=self.reach)


class AreaTable(Waypoint):
    """An area in which people wait."""

    kind: Literal["area"] = Field(description="A polygon in which people wait.")
    corners: Annotated[tuple[Point, ...], Field(min_length=3, max_length=MAX_CORNERS, strict=False)] = Field(
        description="Corners [x, y] (m) of the polygon, in order around it."
    )
    dwell: Times = Field(0.0, description="Time (s) that each person waits there: a number or a distribution.")

    @model_validator(mode="after")
    def _has_one_time(self) -> Self:
        self._one_time("dwell")
        return self

    def build(self) -> AnyStop:
        return WaitingArea(self.corners, dwell=spread(self.dwell), until=self.leaving())


class QueueTable(Waypoint):
    """A queue in which people are served one after the other."""

    kind: Literal["queue"] = Field(description="A line in which people stand behind each other.")
    line: Annotated[tuple[Point, ...], Field(min_length=2, max_length=MAX_CORNERS, strict=False)] = Field(
        description="Points [x, y] (m) of the queue from its head to its tail."
    )
    service: Times = Field(description="Time (s) that each person is served at the head: a number or a distribution.")
    spacing: Positive = Field(0.6, description="Distance (m) between neighbours in the queue.")

    @model_validator(mode="after")
    def _has_one_time(self) -> Self:
        self._one_time("service")
        return self

    def build(self) -> AnyStop:
        return Queue(self.line, service=spread(self.service), spacing=self.spacing, until=self.leaving())


AnyWaypoint = Annotated[StopTable | AreaTable | QueueTable, Field(discriminator="kind")]
