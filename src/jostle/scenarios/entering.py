"""When people enter, and when doors and exits are open."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import Discriminator, Field, Tag, model_validator

from jostle.crowds.entries import arrivals, timetable
from jostle.crowds.gates import Gate
from jostle.scenarios.fields import (
    MAX_PEOPLE,
    Coordinate,
    NotNegative,
    People,
    Positive,
    Table,
    Text,
    allowed,
    complain,
    shape_of,
)
from jostle.scenarios.spreads import LogNormalTable, NormalTable, UniformTable, spread

MAX_ROWS = 10_000
"""Largest number of rows of a timetable, or of intervals of a gate."""


class TimetableTable(Table):
    """A number of people at each of several times."""

    kind: Literal["timetable"] = Field(description="A number of people at each of several times.")
    rows: Annotated[
        tuple[Annotated[tuple[NotNegative, ...], Field(min_length=2, max_length=2, strict=False)], ...],
        Field(min_length=1, max_length=MAX_ROWS, strict=False),
    ] = Field(description="Rows [time (s), number of people].")

    @model_validator(mode="after")
    def _counts(self) -> Self:
        complain([(("rows", k), "must be [time, whole number]") for k, (_, n) in enumerate(self.rows) if n != round(n)])
        return self

    def count(self) -> int:
        """The number of people in the timetable."""
        return round(sum(n for _, n in self.rows))

    def last(self) -> float:
        """The time of the last row."""
        return max(t for t, _ in self.rows)


class SteadyTable(Table):
    """People who enter one after the other."""

    kind: Literal["steady"] = Field(description="People enter one after the other at a constant rate.")
    rate: Positive = Field(description="Number of people who enter per second (1/s).")
    start: NotNegative = Field(0.0, description="Time at which the first person enters (s).")


AnyTimes = Annotated[
    NormalTable | LogNormalTable | UniformTable | TimetableTable | SteadyTable, Field(discriminator="kind")
]
Enters = Annotated[
    Annotated[
        NotNegative,
        allowed('a time, a list of times, or a table such as { kind = "timetable", rows = [[0.0, 10], [60.0, 20]] }'),
        Tag("<one>"),
    ]
    | Annotated[tuple[NotNegative, ...], Field(min_length=1, max_length=MAX_PEOPLE, strict=False), Tag("<list>")]
    | Annotated[AnyTimes, Tag("<table>")],
    Discriminator(shape_of),
]


def entering(value: Any, n: int) -> Any:
    """The argument `enters` of a `jostle.crowds.Group` of n people.

    >>> entering(SteadyTable(kind="steady", rate=0.5), 2).tolist(), entering(3.0, 2)
    ([0.0, 2.0], 3.0)
    """
    if isinstance(value, TimetableTable):
        return timetable(value.rows)
    return arrivals(n, rate=value.rate, start=value.start) if isinstance(value, SteadyTable) else spread(value)


def last_entry(value: Any, n: int) -> float:
    """The time at which the last person is due; 0 for a distribution, whose times are drawn later."""
    if isinstance(value, TimetableTable):
        return value.last()
    if isinstance(value, SteadyTable):
        return value.start + (n - 1) / value.rate
    return max(value) if isinstance(value, tuple) else value if isinstance(value, float) else 0.0


class GateTable(Table):
    """A door or an exit that opens and closes."""

    at: Text = Field(description='Name of an exit, or of a door: "door 0", "door 1" in the order of the list.')
    open: (
        Annotated[
            tuple[Annotated[tuple[Coordinate, ...], Field(min_length=2, max_length=2, strict=False)], ...],
            Field(min_length=1, max_length=MAX_ROWS, strict=False),
        ]
        | None
    ) = Field(None, description="Intervals [from, to] (s) in which it is open; the last may end at inf.")
    most: People | None = Field(None, description="Number of people after whom it closes for good.")

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if self.open is None and self.most is None:
            complain([((), "must have open = [[from, to], ...] or most = ...")])
        for k, (start, end) in enumerate(self.open or ()):
            if not start < end:
                complain([(("open", k), "must be [from, to] with from < to")])
        return self

    def build(self) -> Gate:
        return Gate(self.at, open=self.open, most=self.most)
