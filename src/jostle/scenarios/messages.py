"""Error messages for the tables of a scenario, one line for each error."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple, get_args

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from jostle._tools.suggestions import here, nearest, suggestion
from jostle.scenarios.fields import NO_TABLE, SHAPES, UNKNOWN_KIND, OneOf
from jostle.scenarios.toml import Path, Source
from jostle.scenarios.toml import path as written_path
from jostle.scenarios.toml import value as written

MAX_SHOWN_VALUE = 60
"""Largest number of characters of a wrong value that an error shows."""
NOTHING = object()
"""Stands for a key that is not in the file."""
SHAPE_TAGS = ("<one>", *SHAPES)
"""Tags of values that may be written in several ways; pydantic puts them into the path of an error."""
MUST_BE_TABLE = "must be a table, written as [table] or { key = value }"


class Mistake(NamedTuple):
    """An error about a key."""

    path: Path
    message: str
    shows_tables: bool = False
    """Whether the value is shown even if it is a table, because the table itself is wrong and not a value in it."""
    names_key: bool = True
    """Whether the key and its value precede the message."""


def problems(error: ValidationError, model: type[BaseModel], data: dict[str, Any], source: Source) -> list[str]:
    """The messages of all errors, in the order of their lines."""
    found = [
        (source.line(mistake.path), source.place(mistake.path) + _sentence(mistake, data))
        for details in error.errors(include_url=False)
        for mistake in _mistakes(dict(details), model, data)
    ]
    return [text for _, text in sorted(found, key=lambda entry: entry[0])]


def _mistakes(details: dict[str, Any], model: type[BaseModel], data: Any) -> Iterator[Mistake]:
    path, table = _walk(details["loc"], model, data)
    kind, context, found = details["type"], details.get("ctx", {}), _at(data, path)
    if kind == "complaints":
        for inner, message in context["complaints"]:
            yield Mistake((*path, *inner), message)
    elif kind == "extra_forbidden":
        yield Mistake(path, _unknown_key(path, table, model, data), names_key=False)
    elif kind == "missing":
        description = table.model_fields[str(path[-1])].description
        yield Mistake(path, f"missing key {path[-1]!r} in {_table_name(path)}: {description}", names_key=False)
    elif kind in ("union_tag_invalid", "union_tag_not_found", UNKNOWN_KIND):
        where, meant = (*path, "kind"), [key for key in found if here(key, ["kind"])] if isinstance(found, dict) else []
        if meant and _at(data, where) is NOTHING:
            where = (*path, meant[0])
        message = _one_of(_kinds(table, path), _at(data, where))
        yield Mistake(where, f"here it is {written_path((*path, 'kind'))}, which {message}" if meant else message, True)
    elif kind in ("model_attributes_type", NO_TABLE):
        yield Mistake(path, f'must be a table, such as {{ kind = "{min(_kinds(table, path))}", ... }}')
    elif kind != "too_short" or not isinstance(found, list) or len(found) < context["min_length"]:
        # pydantic's count leaves out entries that are wrong themselves
        yield Mistake(path, _words(kind, context, found, details["msg"]), shows_tables=True)


def _unknown_key(path: Path, table: type[BaseModel], model: type[BaseModel], data: Any) -> str:
    """The message about a key that the table does not have: its name here, or the table that it belongs to."""
    key = str(path[-1])
    said = f"unknown key {key!r} in {_table_name(path)}; "
    if name := _named(key, table):
        return f"{said}here it is {name!r}: {table.model_fields[name].description}"
    for part, field in model.model_fields.items():
        for other in _tables(field, _at(data, (part, "kind"))).values():
            if other is not table and (name := _named(key, other)):
                return f"{said}did you mean {part}.{name}?"
    return said + suggestion(key, table.model_fields, f"the keys are {', '.join(sorted(table.model_fields))}")


def _named(key: str, table: type[BaseModel]) -> str:
    """What a key is called in a table: by its own name, or by another one than in other programs; or ""."""
    return key if key in table.model_fields else here(key, table.model_fields).partition("=")[0]


def _table_name(path: Path) -> str:
    """The table that a key is in."""
    return f"[{written_path(path[:-1])}]" if path[1:] else "the file"


def _sentence(mistake: Mistake, data: Any) -> str:
    """The key, its value if it is not a table, and the message."""
    if not mistake.names_key:
        return mistake.message
    key, found = written_path(mistake.path), _at(data, mistake.path)
    if found is NOTHING or (isinstance(found, dict) and not mistake.shows_tables):
        return f"{key}: {mistake.message}"
    return f"{key} = {_short(found)}: {mistake.message}"


def _words(kind: str, context: dict[str, Any], found: Any, reason: str) -> str:
    if kind == "allowed":
        return str(context["phrase"])
    if kind == "value_error":
        return str(context["error"])
    if kind == "literal_error":
        text = str(context["expected"])
        choices = re.findall(r"'([^']*)'", text)
        return _one_of(choices, found) if choices else f"must be {text}"
    if kind in ("too_short", "too_long"):
        least, most = context.get("min_length"), context.get("max_length")
        limit = f"at least {least}" if kind == "too_short" else f"at most {most}"
        return f"must have {limit} {'entry' if 1 in (least, most) else 'entries'}, not {context['actual_length']}"
    if kind == "tuple_type":
        return "must be a list, written as [a, b, ...]"
    return MUST_BE_TABLE if kind in ("model_type", "dict_type") else f"is not allowed: {reason}"


def _walk(place: tuple[str | int, ...], model: type[BaseModel], data: Any) -> tuple[Path, type[BaseModel]]:
    """The path of keys, without the names of kinds that pydantic puts in between, and the table of the last key."""
    path: Path = ()
    table, inside = model, None
    for part in place:
        if isinstance(part, int):
            path = (*path, part)
            continue
        if part in SHAPE_TAGS and inside is not None:
            continue
        if inside is not None:
            choices = _tables(inside, _at(data, (*path, "kind")))
            table, inside = choices.get(part, choices.get("", table)), None
            if part in choices:
                continue
        path = (*path, part)
        inside = table.model_fields.get(part)
    return path, table


def _tables(annotation: Any, kind: object) -> dict[str, type[BaseModel]]:
    """The tables allowed at a place, by their kind; '' if there are no kinds, or if the file has chosen one."""
    if isinstance(annotation, OneOf):
        chosen = annotation.table(None if kind is NOTHING else kind)
        return {} if chosen is None else {"": chosen}
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        field = annotation.model_fields.get("kind")
        return {str(get_args(field.annotation)[0]) if field is not None else "": annotation}
    return {name: table for inner in _parts(annotation) for name, table in _tables(inner, kind).items()}


def _kinds(table: type[BaseModel], path: Path) -> list[str]:
    """The kinds of tables allowed at a path, whose last key that is not a number belongs to `table`."""
    key = next(str(part) for part in reversed(path) if isinstance(part, str))
    return sorted(_names(table.model_fields[key]))


def _names(annotation: Any) -> list[str]:
    if isinstance(annotation, OneOf):
        return annotation.names()
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [name for name in _tables(annotation, NOTHING) if name]
    return [name for inner in _parts(annotation) for name in _names(inner)]


def _parts(annotation: Any) -> tuple[Any, ...]:
    """The parts of an annotation; the mark of an open list stands for all of its tables."""
    if isinstance(annotation, FieldInfo):
        return _open_or_all((*annotation.metadata, annotation.annotation))
    return _open_or_all(get_args(annotation))


def _open_or_all(parts: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(part for part in parts if isinstance(part, OneOf)) or parts


def _at(data: Any, path: Path) -> Any:
    """The value at a path of the file, or NOTHING."""
    for part in path:
        there = part in data if isinstance(data, dict) else isinstance(data, list) and part in range(len(data))
        if not there:
            return NOTHING
        data = data[part]
    return data


def _short(found: Any) -> str:
    text = written(found)
    return text if len(text) <= MAX_SHOWN_VALUE else text[: MAX_SHOWN_VALUE - 4] + " ..."


def _one_of(choices: list[str], found: Any) -> str:
    names = ", ".join(f'"{name}"' for name in choices)
    near = nearest(found, choices) if isinstance(found, str) else ""
    missing = "missing; it " if found is NOTHING else ""
    return f"{missing}must be {'one of ' if len(choices) > 1 else ''}{names}" + (near and f'; did you mean "{near}"?')
