"""Settings ``key.sub=value``: the changes that ``--set`` makes to the tables of a scenario."""

from __future__ import annotations

import copy
import re
import tomllib
from collections.abc import Iterable
from typing import Any, NamedTuple

from jostle.scenarios.source import Path
from jostle.scenarios.writing import path as written

MAX_DEPTH = 12
"""Largest number of keys in the path of a setting."""
WORD = re.compile(r"[A-Za-z][\w ./+-]*")
"""A value without quotes that is taken as a text."""


class Changed(NamedTuple):
    """The tables after all settings have been applied."""

    data: dict[str, Any]
    origins: dict[Path, str]
    """The setting that each changed key comes from."""
    wrong: list[tuple[str, str]]
    """The settings that could not be applied, each with the reason."""


class _Refused(Exception):
    """The reason why a setting cannot be applied."""


def changed(data: dict[str, Any], settings: Iterable[str]) -> Changed:
    """The tables with some values replaced or added.

    >>> changed({"walls": [{"e": 0}]}, ["walls.0.e=0.5", "title=two words"]).data
    {'walls': [{'e': 0.5}], 'title': 'two words'}
    """
    after = Changed(copy.deepcopy(data), {}, [])
    for setting in settings:
        try:
            keys, value = _split(setting)
            after.origins[_put(after.data, keys, value)] = setting
        except _Refused as error:
            after.wrong.append((setting, str(error)))
    return after


def _split(setting: str) -> tuple[list[str], Any]:
    key, equals, text = setting.partition("=")
    keys = [part.strip() for part in key.split(".")]
    if not equals or not all(keys) or len(keys) > MAX_DEPTH or not _printable(setting):
        raise _Refused("must be key=value, such as problem.n=200")
    return keys, _value(text.strip())


def _printable(text: str) -> bool:
    """Is it valid Unicode? The shell passes other bytes on as lone surrogates."""
    return not any("\ud800" <= character <= "\udfff" for character in text)


def _value(text: str) -> Any:
    """A TOML value, or a bare word."""
    try:
        found = tomllib.loads(f"value = {text}")
    except (ValueError, RecursionError) as error:
        if WORD.fullmatch(text):
            return text
        raise _Refused(f"the value {text[:60]!r} is neither TOML nor a word") from error
    if len(found) != 1:
        raise _Refused(f"the value {text[:60]!r} has more than one line")
    return found["value"]


def _put(data: dict[str, Any], path: list[str], value: Any) -> Path:
    """Write the value into the tables and return its path; entries of lists are numbers."""
    here: Any = data
    done: Path = ()
    for key in path[:-1]:
        if isinstance(here, list):
            number = _number(here, key, done)
            here, done = here[number], (*done, number)
        elif isinstance(here, dict):
            here, done = here.setdefault(key, {}), (*done, key)
        else:
            break
    last: str | int = path[-1]
    if isinstance(here, list):
        last = _number(here, path[-1], done)
    elif not isinstance(here, dict):
        raise _Refused(f"{written(done)} is neither a table nor a list")
    here[last] = value
    return (*done, last)


def _number(entries: list[Any], key: str, path: Path) -> int:
    if key.isascii() and key.isdecimal() and len(key) < 10 and int(key) < len(entries):
        return int(key)
    known = f"entries 0 to {len(entries) - 1}" if entries else "no entries"
    raise _Refused(f"{written(path)} is a list with {known}; it has no entry {key!r}")
