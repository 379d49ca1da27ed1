"""Places that routes of people pass: stops, waiting areas and queues."""

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
    """What all places of a route have."""

    name: Text = Field(description="Its name, for the routes of groups.")
    until: Number | None = Field(None, description="Nobody goes on before this time (s).")

    def _one_time(self, key: str) -> None:
        if isinstance(getattr(self, key), tuple):
            complain([((key,), "must be one number or a distribution, not a list")])

    def leaving(self) -> float:
        """The earliest time at which people may go on."""
        return -np.inf if self.until is None else self.until

    def build(self) -> AnyStop:
        raise NotImplementedError


class StopTable(Waypoint):
    """A point or a segment that people pass, where they may stand for a while."""

    kind: Literal["stop"] = Field(description="A point or a segment.")
    place: Place = Field(description="The point [x, y], or the ends of the segment (m).")
    dwell: Times = Field(0.0, description="How long they stand there (s): a number or a distribution.")
    reach: Positive | None = Field(
        None, description="Distance (m) within which it counts as reached; twice the largest radius if not said."
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
        description="Its corners [x, y] (m), one after the other."
    )
    dwell: Times = Field(0.0, description="How long each waits there (s): a number or a distribution.")

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
        description="Points [x, y] (m) from its head to its tail."
    )
    service: Times = Field(description="How long each stands at its head (s): a number or a distribution.")
    spacing: Positive = Field(0.6, description="Distance (m) between people who stand in it.")

    @model_validator(mode="after")
    def _has_one_time(self) -> Self:
        self._one_time("service")
        return self

    def build(self) -> AnyStop:
        return Queue(self.line, service=spread(self.service), spacing=self.spacing, until=self.leaving())


AnyWaypoint = Annotated[StopTable | AreaTable | QueueTable, Field(discriminator="kind")]
