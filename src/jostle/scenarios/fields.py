"""Types of the values in scenario files: numbers within limits, points, lists, and tables derived from classes.

Each type describes the values that it allows in words, for error messages. The types of TOML are kept: ``"1.0"`` is not
a number and ``true`` is not 1. Tables that know the dimension check the lengths of vectors.
"""

from __future__ import annotations

import dataclasses
import inspect
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Annotated, Any, ClassVar, Literal, Self, Union, cast

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    Tag,
    TypeAdapter,
    ValidationError,
    WrapValidator,
    create_model,
    model_validator,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from jostle._tools.plugins import Registry
from jostle._tools.suggestions import nearest
from jostle.crowds.model.walk import FASTEST
from jostle.errors import InvalidValue
from jostle.scenarios.toml import Path

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


def allowed(phrase: str, names: Iterable[str] = ()) -> WrapValidator:
    """A validator of a single value that gives the same message for every error, and suggests the nearest name."""

    def check(value: Any, handler: Callable[[Any], Any]) -> Any:
        try:
            return handler(value)
        except ValidationError:
            near = nearest(value, names) if isinstance(value, str) else ""
            hint = f'; did you mean "{near}"?' if near else ""
            raise PydanticCustomError("allowed", "{phrase}", {"phrase": _phrase(phrase, value) + hint}) from None

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
Fraction = Annotated[float, Field(gt=0.0, lt=1.0, allow_inf_nan=False), allowed("a number between 0 and 1")]
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


def many(least: int = 0, most: int = MAX_ENTRIES) -> Any:
    """The limits of the length of a list."""
    return Field(min_length=least, max_length=most, strict=False)


Vector = Annotated[tuple[Number, ...], many(2, 3)]
"""A point or a direction, in the dimension of the problem."""
Corner = Annotated[tuple[Coordinate, ...], many(2, 3)]
"""A corner of a box; coordinates may be infinite where the box is open."""
Point = Annotated[tuple[Number, ...], many(2, 2)]
"""A point of the plane."""


SHAPES = {"<text>": (str,), "<list>": (list, tuple), "<table>": (dict, BaseModel)}
"""Tags of values that may be written in several ways, with their types; "<one>" is the tag of a single value."""


def by_shape(*tags: str) -> Discriminator:
    """A value that may be written in several ways, chosen by its type; values of other types take the first way."""

    def tag(value: Any) -> str:
        return next((each for each in tags if isinstance(value, SHAPES.get(each, ()))), tags[0])

    return Discriminator(tag)


PositiveList = Annotated[tuple[Positive, ...], many(1, MAX_BODIES)]
PositiveOrList = Annotated[
    Annotated[Positive, allowed("a positive number or a list of them"), Tag("<one>")]
    | Annotated[PositiveList, Tag("<list>")],
    by_shape("<one>", "<list>"),
]


def _has_lists(value: Any) -> bool:
    return isinstance(value, list | tuple) and len(value) > 0 and isinstance(value[0], list | tuple)


Ends = Annotated[tuple[Point, ...], many(2, 2)]
"""Two points."""
Points = Annotated[tuple[Point, ...], many(1)]
Corners = Annotated[tuple[Point, ...], many(3)]
Line = Annotated[tuple[Point, ...], many(2)]
Place = Annotated[
    Annotated[Point, Tag("<one>")] | Annotated[Ends, Tag("<list>")],
    Discriminator(lambda value: "<list>" if _has_lists(value) else "<one>"),
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
    by_shape("<one>", "<text>"),
]


# Tables of scenario files that are derived from the classes that they describe.
#
# The keys of such a table are the parameters of the class. The annotation of a parameter names the values that a file
# may give, by the vocabulary VALUES; the docstring of the class describes it; and the class itself checks what belongs
# together: its error is reported at the key whose name begins the message, or else at the table.


NO_TABLE, UNKNOWN_KIND = "no_table", "unknown_kind"
"""The types of the errors that `OneOf` raises."""


class OneOf:
    """Marks a field whose value is a table of one of the kinds in open lists.

    `table` makes the table of an item of the lists; None means that the items are tables themselves. `default` is the
    kind of a table that does not name one.
    """

    def __init__(
        self,
        *lists: Registry[Any],
        table: Callable[[str, Any], type[Table]] | None = None,
        default: str | None = None,
    ):
        self.lists, self._table, self.default = lists, table, default

    def names(self) -> list[str]:
        return [name for each in self.lists for name in each.names()]

    def table(self, kind: object) -> type[Table] | None:
        """The table of a kind, or None if there is no such kind."""
        name = self.default if kind is None else kind
        for each in self.lists:
            if isinstance(name, str) and name in each:
                item: type[Table] = each.get(name)
                return item if self._table is None else self._table(name, item)
        return None

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(self._validated)

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        tables: Any = tuple(map(self.table, self.names()))
        chosen: Any = Annotated[Union[tables], Field(discriminator="kind")]  # noqa: UP007 - tables is a tuple of them
        return handler(TypeAdapter(chosen).core_schema)

    def _validated(self, value: Any) -> Table:
        if isinstance(value, Table):
            value = value.model_dump(exclude_unset=True)
        if not isinstance(value, dict):
            raise PydanticCustomError(NO_TABLE, "must be a table")
        table = self.table(value.get("kind"))
        if table is None:
            raise PydanticCustomError(UNKNOWN_KIND, "unknown kind")
        return table.model_validate({"kind": self.default} | value)


VALUES: dict[str, Any] = {
    "float": Number, "int": Whole, "bool": Switch, "str": Text, "Sequence[str]": Texts,
    "Finite": Number, "Positive": Positive, "NotNegative": NotNegative,
    "Count": Iterations, "Natural": CountOrNone, "Fraction": Fraction,
}  # fmt: skip
"""Values that a file may give for a parameter, by its annotation."""
PARAMETERS = re.compile(r"Parameters\n-+\n(.*?)(?:\n\n\w+\n-+\n|\Z)", re.DOTALL)
"""The section of a docstring that describes parameters."""


class Made(Table):
    """A table from which an object of a class is made."""

    makes: ClassVar[Any]
    """The class that the table describes."""
    _arguments: ClassVar[tuple[str, ...]] = ()
    """The keys that are arguments of the class."""
    _defaults: ClassVar[Mapping[str, Any]] = {}
    """Defaults of files where the class has other defaults or none."""

    def options(self) -> dict[str, Any]:
        """The arguments of the class that the file sets, tables replaced by what they describe."""
        set_here = {*self.model_fields_set, *self._defaults}
        return {name: made(getattr(self, name)) for name in self._arguments if name in set_here}

    def build(self) -> Any:
        """The object that the table describes."""
        return self.makes(**self.options())


class Checked(Made):
    """A table whose object is made when the file is read, so that the errors of its class have a line."""

    @model_validator(mode="after")
    def _can_be_built(self) -> Self:
        try:
            self.build()
        except InvalidValue as error:
            name, _, rest = str(error).partition(" ")
            complain([((name,), rest) if name in type(self).model_fields else ((), str(error))])
        return self


def by_kind(*tables: Any) -> Any:
    """One of several tables, chosen by its key `kind`."""
    return Annotated[Union[tables], Field(discriminator="kind")]  # noqa: UP007 - tables is a tuple of them


def made(value: Any) -> Any:
    """What a table describes; any other value as it is."""
    return value.build() if isinstance(value, Made) else value


def described(makes: Any) -> dict[str, str]:
    """The descriptions of the parameters of a class, from its docstring.

    >>> described(Made), described(dataclasses.field)
    ({}, {})
    """
    section = PARAMETERS.search(inspect.getdoc(makes) or "")
    entries = re.split(r"^(\w+) : .*\n", section[1], flags=re.MULTILINE)[1:] if section else []
    texts = (" ".join(text.split()).replace("None means", "The default is") for text in entries[1::2])
    return dict(zip(entries[::2], texts, strict=True))


def table_of(
    makes: Callable[..., Any],
    *,
    kind: str | None = None,
    leave: tuple[str, ...] = (),
    values: Mapping[str, Any] | None = None,
    own: Mapping[str, Any] | None = None,
    texts: Mapping[str, str] | None = None,
    base: type[Made] = Checked,
) -> type[Made]:
    """The table of a class.

    `leave` names the parameters that are no keys, `values` the values of those whose annotation is not in VALUES, `own`
    the defaults of files, and `texts` the descriptions that differ from the docstring.

    >>> from jostle.crowds import Normal
    >>> table = table_of(Normal, kind="normal")
    >>> sorted(table.model_fields), table(kind="normal", mean=1.0, deviation=0.0).build()
    (['deviation', 'high', 'kind', 'low', 'mean'], Normal(mean=1.0, deviation=0.0, low=-inf, high=inf))
    """
    name, summary = makes.__name__, ((makes.__doc__ or makes.__name__).strip().splitlines())[0]
    values, own, texts = values or {}, own or {}, {**described(makes), **(texts or {})}
    fields: dict[str, Any] = {}
    if kind is not None:
        fields["kind"] = (Literal[kind], Field(own.get("kind", ...), description=texts.get("kind", summary)))
    kept = dataclasses.fields(makes) if dataclasses.is_dataclass(makes) else ()
    texts |= {each.name: each.metadata["description"] for each in kept if "description" in each.metadata}
    for each in inspect.signature(makes).parameters.values():
        if each.name in leave:
            continue
        allowed = values.get(each.name, _allowed(each.annotation))
        default = own.get(each.name, _default(each.default))
        if allowed is None and default is ...:
            raise InvalidValue(
                f"{name} cannot be used in scenario files: its option {each.name!r} has no default, and its type is "
                f"none of {', '.join(VALUES)}"
            )
        if allowed is not None:
            fields[each.name] = (allowed, Field(default, description=texts.get(each.name, "")))
    table = cast("type[Made]", create_model(f"{name}Table", __base__=base, __doc__=summary, **fields))
    table.makes, table._defaults = makes, own
    table._arguments = tuple(name for name in fields if name != "kind")
    table.vectors = tuple(name for name, value in values.items() if value is Vector)
    return table


def _allowed(annotation: Any) -> Any:
    """The values of an annotation, or None if it is not in the vocabulary."""
    words = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", str(annotation))
    return VALUES.get(words.removesuffix(" | None"))


def _default(default: Any) -> Any:
    """The default of a parameter; None if JSON cannot express it, ... if it must be given."""
    if default is inspect.Parameter.empty:
        return ...
    if isinstance(default, float):
        return float(default) if math.isfinite(default) else None
    return default if default == () or isinstance(default, bool | int | str) else None
