"""Types of the values in scenario files: numbers within limits, points, lists, tables.

Each type describes the values that it allows in words, for error messages. The types of TOML are kept: ``"1.0"`` is not
a number and ``true`` is not 1. Tables that know the dimension check the lengths of vectors.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Discriminator, Field, Tag, ValidationError, WrapValidator
from pydantic_core import PydanticCustomError

from jostle.crowds.walk import FASTEST

MAX_NUMBER = 1e15
"""Largest number in a scenario; its inverse is the smallest positive number. With this limit volumes stay finite."""
MAX_BODIES = 1_000_000
"""Largest number of bodies in a scenario."""
MAX_PEOPLE = 100_000
"""Largest number of people in a room or a building."""
MAX_ENTRIES = 10_000
"""Largest number of entries in a list."""
MAX_TEXT_LENGTH = 1000
"""Largest number of characters of a title or a name."""

Path = tuple[str | int, ...]
Complaint = tuple[Path, str]
"""The path of a key, relative to the table that complains, and what is allowed there."""


class Table(BaseModel):
    """A table of a scenario file; unknown keys are errors, and its values cannot be changed."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=True)
    vectors: ClassVar[tuple[str, ...]] = ()
    """Keys whose values are vectors, or lists of vectors, with one number for each dimension."""

    def of_dimension(self, d: int, path: Path = ()) -> Iterator[Complaint]:
        """Errors about vectors in this table, and in the tables inside it, that do not have d numbers."""
        for name in type(self).model_fields:
            value = getattr(self, name)
            if name in self.vectors:
                yield from _vectors_of_dimension(value, d, (*path, name))
            for place, table in _tables_in(value, (*path, name)):
                yield from table.of_dimension(d, place)


def _vectors_of_dimension(value: Any, d: int, path: Path) -> Iterator[Complaint]:
    if not isinstance(value, tuple) or not value:
        return
    if isinstance(value[0], tuple):
        for k, inner in enumerate(value):
            yield from _vectors_of_dimension(inner, d, (*path, k))
    elif len(value) != d:
        yield path, f"must have {d} numbers, one for each dimension, not {len(value)}"


def _tables_in(value: Any, path: Path) -> Iterator[tuple[Path, Table]]:
    if isinstance(value, Table):
        yield path, value
    elif isinstance(value, tuple):
        for k, inner in enumerate(value):
            yield from _tables_in(inner, (*path, k))


def complain(complaints: list[Complaint]) -> None:
    """Raise one error with all complaints, from inside a validator."""
    if complaints:
        raise PydanticCustomError("complaints", "several", {"complaints": complaints})


def allowed(phrase: str) -> WrapValidator:
    """A validator of a single value that gives the same message for every error."""

    def check(value: Any, handler: Callable[[Any], Any]) -> Any:
        try:
            return handler(value)
        except ValidationError:
            raise PydanticCustomError("allowed", "{phrase}", {"phrase": _phrase(phrase, value)}) from None

    return WrapValidator(check)


def _phrase(phrase: str, value: Any) -> str:
    """The message; it mentions the limits of size only if the value exceeds them."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if "whole" in phrase or "number" not in phrase:
        return f"must be {phrase}"
    if number and abs(value) > MAX_NUMBER and "inf" not in phrase:
        return f"must be {phrase}, not larger than {MAX_NUMBER:g}"
    if number and 0.0 < value < 1.0 / MAX_NUMBER and "positive" in phrase:
        return f"must be {phrase}, not smaller than {1.0 / MAX_NUMBER:g}"
    return f"must be {phrase}"


def _or_infinite(value: float) -> float:
    """Check that a number is within the limits, or infinite."""
    if math.isinf(value) or -MAX_NUMBER <= value <= MAX_NUMBER:
        return value
    raise ValueError


Number = Annotated[float, Field(ge=-MAX_NUMBER, le=MAX_NUMBER, allow_inf_nan=False), allowed("a number")]
Positive = Annotated[
    float, Field(ge=1.0 / MAX_NUMBER, le=MAX_NUMBER, allow_inf_nan=False),
    allowed("a positive number"),
]  # fmt: skip
WalkingSpeed = Annotated[
    float, Field(ge=1.0 / MAX_NUMBER, le=FASTEST, allow_inf_nan=False),
    allowed(f"a positive number of at most {FASTEST:g} m/s; divide km/h by 3.6"),
]  # fmt: skip
NotNegative = Annotated[float, Field(ge=0.0, le=MAX_NUMBER, allow_inf_nan=False), allowed("a number that is 0 or more")]
NotPositive = Annotated[
    float, Field(le=0.0), AfterValidator(_or_infinite), allowed("a number that is 0 or less, or -inf")
]
Part = Annotated[float, Field(ge=0.0, le=1.0, allow_inf_nan=False), allowed("a number from 0 to 1")]
ProperPart = Annotated[float, Field(ge=0.0, lt=1.0, allow_inf_nan=False), allowed("a number from 0 to less than 1")]
Share = Annotated[float, Field(gt=0.0, le=1.0, allow_inf_nan=False), allowed("a number above 0, at most 1")]
Tolerance = Annotated[
    float, Field(ge=1e-15, lt=1.0, allow_inf_nan=False), allowed("a number from 1e-15 to less than 1")
]
Coordinate = Annotated[float, AfterValidator(_or_infinite), allowed("a number, or inf or -inf where it is open")]
Multiple = Annotated[float, Field(gt=1.0, le=MAX_NUMBER, allow_inf_nan=False), allowed("a number above 1")]
Whole = Annotated[int, Field(ge=-(2**63), lt=2**63), allowed("a whole number")]
Count = Annotated[int, Field(ge=1, le=MAX_BODIES), allowed(f"a whole number from 1 to {MAX_BODIES}")]
CountOrNone = Annotated[int, Field(ge=0, le=MAX_BODIES), allowed(f"a whole number from 0 to {MAX_BODIES}")]
People = Annotated[int, Field(ge=1, le=MAX_PEOPLE), allowed(f"a whole number from 1 to {MAX_PEOPLE}")]
Iterations = Annotated[int, Field(ge=1, le=10**9), allowed("a whole number from 1 to 1000000000")]
Samples = Annotated[int, Field(ge=1, le=64), allowed("a whole number from 1 to 64")]
Seed = Annotated[int, Field(ge=0, lt=2**63), allowed("a whole number from 0 to 2^63 - 1")]
Switch = Annotated[bool, allowed("true or false")]
Text = Annotated[str, Field(max_length=MAX_TEXT_LENGTH), allowed(f"a text of at most {MAX_TEXT_LENGTH} characters")]

Vector = Annotated[tuple[Number, ...], Field(min_length=2, max_length=3, strict=False)]
"""A point or a direction, in the dimension of the problem."""
Corner = Annotated[tuple[Coordinate, ...], Field(min_length=2, max_length=3, strict=False)]
"""A corner of a box; coordinates may be infinite where the box is open."""
Point = Annotated[tuple[Number, ...], Field(min_length=2, max_length=2, strict=False)]
"""A point of the plane."""


def shape_of(value: Any) -> str:
    """The tag of a value that may be a number, a list or a table."""
    return (
        "<table>" if isinstance(value, dict | BaseModel) else "<list>" if isinstance(value, list | tuple) else "<one>"
    )


PositiveOrList = Annotated[
    Annotated[Positive, allowed("a positive number or a list of them"), Tag("<one>")]
    | Annotated[
        Annotated[tuple[Positive, ...], Field(min_length=1, max_length=MAX_BODIES, strict=False)], Tag("<list>")
    ],
    Discriminator(lambda value: "<list>" if isinstance(value, list | tuple) else "<one>"),
]


def many(least: int = 0, most: int = MAX_ENTRIES) -> Any:
    """The limits of the length of a list."""
    return Field(min_length=least, max_length=most, strict=False)


Ends = Annotated[tuple[Point, ...], many(2, 2)]
"""Two points."""
Points = Annotated[tuple[Point, ...], many(1)]
Corners = Annotated[tuple[Point, ...], many(3)]
Line = Annotated[tuple[Point, ...], many(2)]
Place = Annotated[
    Annotated[Point, Tag("<one>")] | Annotated[Ends, Tag("<list>")],
    Discriminator(lambda value: "<list>" if value and isinstance(value[0], list | tuple) else "<one>"),
]
"""A point, or the two ends of a segment."""
Intervals = Annotated[tuple[Annotated[tuple[Coordinate, ...], many(2, 2)], ...], many(1)]
"""Intervals [from, to] of time."""
Lengths = Annotated[tuple[Annotated[tuple[NotNegative, ...], many(2, 2)], ...], many(1)]
"""Intervals [from, to] of lengths."""
Texts = Annotated[tuple[Text, ...], many()]
Pace = Annotated[
    Annotated[Positive, allowed('a positive number, "up" or "down"'), Tag("<one>")]
    | Annotated[Literal["up", "down"], allowed('a positive number, "up" or "down"'), Tag("<text>")],
    Discriminator(lambda value: "<text>" if isinstance(value, str) else "<one>"),
]
