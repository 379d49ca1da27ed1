"""What is wrong with the tables of a scenario, in words: one line for each problem."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from typing import Any, NamedTuple, get_args

from pydantic import BaseModel, ValidationError

from jostle.scenarios.source import Path, Source
from jostle.scenarios.writing import path as written_path
from jostle.scenarios.writing import value as written

LONGEST_VALUE = 60
NOTHING = object()
SHAPES = ("<one>", "<list>", "<table>", "<switch>", "<time>")
"""The tags of what may be written as a number, a list or a table, as a switch or a time."""
TABLE = "must be a table, written as [table] or { key = value }"


class Complaint(NamedTuple):
    """What is wrong with a key."""

    path: Path
    message: str
    shown: bool = False
    """Is a table that stands there shown as a value? It is wrong itself, not something in it."""


def problems(error: ValidationError, model: type[BaseModel], data: dict[str, Any], source: Source) -> list[str]:
    """All of them, in the order of their lines."""
    found = [
        (source.line(complaint.path), source.place(complaint.path) + _sentence(complaint, data))
        for details in error.errors(include_url=False)
        for complaint in _complaints(dict(details), model, data)
    ]
    return [text for _, text in sorted(found, key=lambda entry: entry[0])]


def _complaints(details: dict[str, Any], model: type[BaseModel], data: Any) -> Iterator[Complaint]:
    path, table = _walk(details["loc"], model)
    kind, context, found = details["type"], details.get("ctx", {}), _at(data, path)
    if kind == "complaints":
        for inner, message in context["complaints"]:
            yield Complaint((*path, *inner), message)
    elif kind == "extra_forbidden":
        yield Complaint(path, f"is no key of this table{_nearest(str(path[-1]), list(table.model_fields))}")
    elif kind == "missing":
        yield Complaint(path, f"is missing. {table.model_fields[str(path[-1])].description}")
    elif kind in ("union_tag_invalid", "union_tag_not_found"):
        kinds = sorted(_kinds(table.model_fields[_field(path)].annotation))
        yield Complaint((*path, "kind"), _one_of(kinds, _at(data, (*path, "kind"))), True)
    elif kind == "model_attributes_type":
        first = min(_kinds(table.model_fields[_field(path)].annotation))
        yield Complaint(path, f'must be a table, such as {{ kind = "{first}", ... }}')
    elif kind != "too_short" or not isinstance(found, list) or len(found) < context["min_length"]:
        # pydantic does not count entries that are wrong themselves
        yield Complaint(path, _words(kind, context, found, details["msg"]), True)


def _sentence(complaint: Complaint, data: Any) -> str:
    """The key, the value if it is one, and what is allowed."""
    key, found = written_path(complaint.path), _at(data, complaint.path)
    if found is NOTHING or (isinstance(found, dict) and not complaint.shown):
        return f"{key} {complaint.message}"
    return f"{key} = {_short(found)}: {complaint.message}"


def _words(kind: str, context: dict[str, Any], found: Any, reason: str) -> str:
    if kind == "allowed":
        return str(context["phrase"])
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
    return TABLE if kind in ("model_type", "dict_type") else f"is not allowed: {reason}"


def _walk(place: tuple[str | int, ...], model: type[BaseModel]) -> tuple[Path, type[BaseModel]]:
    """The path of keys, without the names of kinds that pydantic puts in between, and the table of the last key."""
    path: Path = ()
    table, inside = model, None
    for part in place:
        if isinstance(part, int):
            path = (*path, part)
            continue
        if part in SHAPES and inside is not None:
            continue
        if inside is not None:
            choices = _kinds(inside)
            table, inside = choices.get(part, choices.get("", table)), None
            if part in choices:
                continue
        path = (*path, part)
        field = table.model_fields.get(part)
        inside = None if field is None else field.annotation
    return path, table


def _kinds(annotation: Any) -> dict[str, type[BaseModel]]:
    """The tables that may stand here, by their kind; '' if they have none."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        kind = annotation.model_fields.get("kind")
        return {str(get_args(kind.annotation)[0]) if kind is not None else "": annotation}
    found: dict[str, type[BaseModel]] = {}
    for inner in get_args(annotation):
        found.update(_kinds(inner))
    return found


def _field(path: Path) -> str:
    """The last key that is not a number."""
    return next(str(part) for part in reversed(path) if isinstance(part, str))


def _at(data: Any, path: Path) -> Any:
    """What the file has there."""
    for part in path:
        there = part in data if isinstance(data, dict) else isinstance(data, list) and part in range(len(data))
        if not there:
            return NOTHING
        data = data[part]
    return data


def _short(found: Any) -> str:
    text = written(found)
    return text if len(text) <= LONGEST_VALUE else text[: LONGEST_VALUE - 4] + " ..."


def _one_of(choices: list[str], found: Any) -> str:
    names = ", ".join(f'"{name}"' for name in choices)
    hint = _nearest(found, choices, quote='"').removesuffix(_keys(choices)) if isinstance(found, str) else ""
    missing = "is missing; it " if found is NOTHING else ""
    return f"{missing}must be {'one of ' if len(choices) > 1 else ''}{names}{hint}"


def _nearest(word: str, choices: list[str], quote: str = "") -> str:
    """The nearest correct spelling, or all of them."""
    near = difflib.get_close_matches(word, choices, n=1, cutoff=0.6)
    return f"; did you mean {quote}{near[0]}{quote}?" if near else _keys(choices)


def _keys(choices: list[str]) -> str:
    return f"; its keys are {', '.join(sorted(choices))}"
