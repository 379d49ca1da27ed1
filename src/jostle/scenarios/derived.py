"""Tables of scenario files that are derived from the classes that they describe.

The keys of such a table are the parameters of the class. The annotation of a parameter names the values that a file may
give, by the vocabulary VALUES; the docstring of the class describes it; and the class itself checks what belongs
together: its error is reported at the key whose name begins the message, or else at the table.
"""

from __future__ import annotations

import dataclasses
import inspect
import math
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Annotated, Any, ClassVar, Literal, Protocol, Self, Union, cast

from pydantic import Field, GetCoreSchemaHandler, GetJsonSchemaHandler, TypeAdapter, create_model, model_validator
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from jostle.errors import InvalidValue
from jostle.scenarios.fields import (
    CountOrNone,
    Iterations,
    NotNegative,
    Number,
    Positive,
    Switch,
    Table,
    Text,
    Texts,
    Whole,
    complain,
)

NO_TABLE, UNKNOWN_KIND = "no_table", "unknown_kind"
"""The types of the errors that `OneOf` raises."""


def _itself(kind: str, table: Any) -> type[Table]:
    return table  # type: ignore[no-any-return]


class Choices(Protocol):
    """Named items: a `Registry`, or several of them."""

    def names(self) -> list[str]: ...
    def get(self, name: str, /) -> Any: ...
    def items(self) -> Iterator[tuple[str, Any]]: ...
    def __contains__(self, name: object, /) -> bool: ...


class OneOf:
    """Marks a field whose value is a table of one of the kinds in an open list.

    `table` makes the table of an item of the list, and `default` is the kind of a table that does not name one.

    Examples
    --------
    >>> from jostle.scenarios.kinds import KINDS
    >>> OneOf(KINDS).table("cradle")
    <class 'jostle.scenarios.others.Cradle'>
    """

    def __init__(
        self,
        registry: Choices,
        table: Callable[[str, Any], type[Table]] = _itself,
        default: str | None = None,
    ):
        self.registry, self._table, self.default = registry, table, default

    def names(self) -> list[str]:
        return self.registry.names()

    def table(self, kind: object) -> type[Table] | None:
        """The table of a kind, or None if there is no such kind."""
        kind = self.default if kind is None else kind
        return self._table(kind, self.registry.get(kind)) if isinstance(kind, str) and kind in self.registry else None

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(self._validated)

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        tables: Any = tuple(self._table(kind, item) for kind, item in self.registry.items())
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
    "Finite": Number, "Positive": Positive, "NotNegative": NotNegative, "Count": Iterations, "Natural": CountOrNone,
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
    return table


def _allowed(annotation: Any) -> Any:
    """The values of an annotation, or None if it is not in the vocabulary."""
    words = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", str(annotation))
    return VALUES.get(words.removesuffix(" | None"))


def _default(default: Any) -> Any:
    """The default of a parameter; None if JSON cannot express it, ... if it must be given."""
    if default is inspect.Parameter.empty:
        return ...
    finite = isinstance(default, float) and math.isfinite(default)
    return default if finite or default == () or isinstance(default, bool | int | str) else None
