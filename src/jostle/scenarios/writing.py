"""Writing the values of a scenario as TOML; reading the text again gives the same values."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

BARE = re.compile(r"[A-Za-z0-9_-]+")
MAX_LINE_LENGTH = 100
"""Lists with more characters are written with one entry on each line."""
HEXADECIMAL_FROM = 1024
"""Integers with more bits are written in hexadecimal, because Python limits the number of decimal digits."""


def document(data: Mapping[str, Any]) -> str:
    """A TOML text: first the values that are not tables, then the tables.

    >>> print(document({"title": "two", "run": {"t": 1.0, "until": {"kind": "never"}}}))
    title = "two"
    <BLANKLINE>
    [run]
    t = 1.0
    until = { kind = "never" }
    <BLANKLINE>
    """
    tables = {name: item for name, item in data.items() if isinstance(item, Mapping)}
    parts = [_pairs({name: item for name, item in data.items() if name not in tables})]
    parts += [f"[{key(name)}]\n{_pairs(table)}" for name, table in tables.items()]
    return "\n".join(part for part in parts if part)


def value(item: Any) -> str:
    """One value as TOML writes it.

    >>> value([1.0, True, {"a": "b\\n"}])
    '[1.0, true, { a = "b\\\\n" }]'
    """
    if isinstance(item, str):
        return json.dumps(item, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(item, bool):
        return "true" if item else "false"
    if isinstance(item, Mapping):
        inside = ", ".join(f"{key(name)} = {value(inner)}" for name, inner in item.items())
        return f"{{ {inside} }}" if inside else "{}"
    if isinstance(item, list | tuple):
        return f"[{', '.join(value(inner) for inner in item)}]"
    return hex(item) if isinstance(item, int) and item.bit_length() > HEXADECIMAL_FROM else str(item)


def _pairs(table: Mapping[str, Any]) -> str:
    return "".join(f"{key(name)} = {_entry(item)}\n" for name, item in table.items())


def _entry(item: Any) -> str:
    """A value; long lists take several lines."""
    text = value(item)
    if isinstance(item, list | tuple) and len(text) > MAX_LINE_LENGTH:
        return "[\n" + "".join(f"    {value(inner)},\n" for inner in item) + "]"
    return text


def path(parts: Iterable[str | int]) -> str:
    """The dotted path of a key, with the numbers of list entries.

    >>> path(["walls", 0, "a key"])
    'walls.0."a key"'
    """
    return ".".join(str(part) if isinstance(part, int) else key(part) for part in parts)


def key(name: str) -> str:
    """A key as TOML writes it, with quotes where it needs them."""
    return name if BARE.fullmatch(name) else value(name)
