"""Tables chosen by their `kind` from a list that plug-ins and scripts can add to."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Annotated, Any, Protocol, Union

from pydantic import Field, GetCoreSchemaHandler, GetJsonSchemaHandler, TypeAdapter
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from jostle.scenarios.fields import Table

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
