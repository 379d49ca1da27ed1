"""A small writer of TOML: the values of a scenario, so that reading them again gives the same."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

BARE = re.compile(r"[A-Za-z0-9_-]+")
LONG = 100
"""Lists longer than this in characters have one entry a line."""
LONG_INTEGER = 1024
"""Bits of an integer from which on it is written in hexadecimal: Python refuses to write very long ones otherwise."""


def document(data: Mapping[str, Any]) -> str:
    """A TOML text: what is no table first, then the tables.

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
    return hex(item) if isinstance(item, int) and item.bit_length() > LONG_INTEGER else str(item)


def _pairs(table: Mapping[str, Any]) -> str:
    return "".join(f"{key(name)} = {_entry(item)}\n" for name, item in table.items())


def _entry(item: Any) -> str:
    """A value, a long list on several lines."""
    text = value(item)
    if isinstance(item, list | tuple) and len(text) > LONG:
        return "[\n" + "".join(f"    {value(inner)},\n" for inner in item) + "]"
    return text


def path(parts: Iterable[str | int]) -> str:
    """A key with those of the tables around it, and the numbers of entries of lists.

    >>> path(["walls", 0, "a key"])
    'walls.0."a key"'
    """
    return ".".join(str(part) if isinstance(part, int) else key(part) for part in parts)


def key(name: str) -> str:
    """A key as TOML writes it, with quotes where it needs them."""
    return name if BARE.fullmatch(name) else value(name)
