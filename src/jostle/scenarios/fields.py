"""What a value in a scenario file may be: numbers within limits, points, lists, tables.

Each type knows in words what it allows, so that an error can say so. TOML has types, and they are kept: ``"1.0"`` is
not a number, ``true`` is not 1. Vectors are checked against the dimension by the tables that know it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Annotated, Any, ClassVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Discriminator, Field, Tag, ValidationError, WrapValidator
from pydantic_core import PydanticCustomError

from jostle.crowds.walk import FASTEST

LARGEST = 1e15
"""No number of a scenario is larger, and no positive one is smaller than its inverse: volumes stay finite."""
MOST = 1_000_000
"""Bodies in a scenario."""
MOST_PEOPLE = 100_000
"""People in a room or a building."""
LONGEST_TEXT = 1000

Path = tuple[str | int, ...]
Complaint = tuple[Path, str]
"""Where something is wrong, seen from the table that says so, and what is allowed there."""


class Table(BaseModel):
    """A table of a scenario file: no other keys than its own, and it does not change."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=True)
    vectors: ClassVar[tuple[str, ...]] = ()
    """The keys whose values have one number for each dimension, or are lists of such."""

    def of_dimension(self, d: int, path: Path = ()) -> Iterator[Complaint]:
        """What in this table, and in those inside it, does not fit into dimension d."""
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
    """Raise all of them at once, from inside a validator."""
    if complaints:
        raise PydanticCustomError("complaints", "several", {"complaints": complaints})


def allowed(phrase: str) -> WrapValidator:
    """The validator of a single value, with one message whatever is wrong with it."""

    def check(value: Any, handler: Callable[[Any], Any]) -> Any:
        try:
            return handler(value)
        except ValidationError:
            raise PydanticCustomError("allowed", "{phrase}", {"phrase": _phrase(phrase, value)}) from None

    return WrapValidator(check)


def _phrase(phrase: str, value: Any) -> str:
    """What is allowed; the limits of size only for what is beyond them."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if "whole" in phrase or "number" not in phrase:
        return f"must be {phrase}"
    if number and abs(value) > LARGEST and "inf" not in phrase:
        return f"must be {phrase}, not larger than {LARGEST:g}"
    if number and 0.0 < value < 1.0 / LARGEST and "positive" in phrase:
        return f"must be {phrase}, not smaller than {1.0 / LARGEST:g}"
    return f"must be {phrase}"


def _or_infinite(value: float) -> float:
    """A number as large as others may be, or an infinite one."""
    if math.isinf(value) or -LARGEST <= value <= LARGEST:
        return value
    raise ValueError


Number = Annotated[float, Field(ge=-LARGEST, le=LARGEST, allow_inf_nan=False), allowed("a number")]
Positive = Annotated[
    float, Field(ge=1.0 / LARGEST, le=LARGEST, allow_inf_nan=False),
    allowed("a positive number"),
]  # fmt: skip
WalkingSpeed = Annotated[
    float, Field(ge=1.0 / LARGEST, le=FASTEST, allow_inf_nan=False),
    allowed(f"a positive number of at most {FASTEST:g} m/s; divide km/h by 3.6"),
]  # fmt: skip
NotNegative = Annotated[float, Field(ge=0.0, le=LARGEST, allow_inf_nan=False), allowed("a number that is 0 or more")]
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
Multiple = Annotated[float, Field(gt=1.0, le=LARGEST, allow_inf_nan=False), allowed("a number above 1")]
Whole = Annotated[int, Field(ge=-(2**63), lt=2**63), allowed("a whole number")]
Count = Annotated[int, Field(ge=1, le=MOST), allowed(f"a whole number from 1 to {MOST}")]
CountOrNone = Annotated[int, Field(ge=0, le=MOST), allowed(f"a whole number from 0 to {MOST}")]
People = Annotated[int, Field(ge=1, le=MOST_PEOPLE), allowed(f"a whole number from 1 to {MOST_PEOPLE}")]
Iterations = Annotated[int, Field(ge=1, le=10**9), allowed("a whole number from 1 to 1000000000")]
Samples = Annotated[int, Field(ge=1, le=64), allowed("a whole number from 1 to 64")]
Seed = Annotated[int, Field(ge=0, lt=2**63), allowed("a whole number from 0 to 2^63 - 1")]
Switch = Annotated[bool, allowed("true or false")]
Text = Annotated[str, Field(max_length=LONGEST_TEXT), allowed(f"a text of at most {LONGEST_TEXT} characters")]

Vector = Annotated[tuple[Number, ...], Field(min_length=2, max_length=3, strict=False)]
"""A point or a direction, in the dimension of the problem."""
Corner = Annotated[tuple[Coordinate, ...], Field(min_length=2, max_length=3, strict=False)]
"""An end of a box, which may be open."""
Point = Annotated[tuple[Number, ...], Field(min_length=2, max_length=2, strict=False)]
"""A point of the plane."""


def shape_of(value: Any) -> str:
    """Tells apart what may be written as a number, a list or a table."""
    return (
        "<table>" if isinstance(value, dict | BaseModel) else "<list>" if isinstance(value, list | tuple) else "<one>"
    )


PositiveOrList = Annotated[
    Annotated[Positive, allowed("a positive number or a list of them"), Tag("<one>")]
    | Annotated[Annotated[tuple[Positive, ...], Field(min_length=1, max_length=MOST, strict=False)], Tag("<list>")],
    Discriminator(lambda value: "<list>" if isinstance(value, list | tuple) else "<one>"),
]
