"""The texts of scenario files and their TOML tables, with errors that name the line."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any

from jostle.scenarios.source import ScenarioError
from jostle.scenarios.writing import path as written_path

if TYPE_CHECKING:
    pass


MAX_FILE_SIZE = 32 * 2**20
"""Largest size of a scenario file, in bytes."""
MAX_DEPTH = 20
"""Largest depth of nested tables and lists."""


def text_of(path: FilePath) -> str:
    """The text of a file, or a `ScenarioError` that says why it cannot be read.

    >>> text_of(FilePath(__file__).parent / "shipped" / "silo.toml").splitlines()[0]
    '# Discs run out of a silo in the plane and down a slope with posts, like an avalanche.'
    """
    name = str(path)
    try:
        if path.exists() and not path.is_file() and not path.is_dir():
            raise ScenarioError([f"{name}: is a pipe or a device; scenarios are read from regular files only"])
        with path.open("rb") as file:
            content = file.read(MAX_FILE_SIZE + 1)
    except OSError as error:
        raise ScenarioError([f"{name}: cannot be read: {error.strerror or error}"]) from error
    except ScenarioError:
        raise
    except ValueError as error:
        raise ScenarioError([f"{name!r} is not a valid file name"]) from error
    if len(content) > MAX_FILE_SIZE:
        raise ScenarioError([f"{name}: is larger than {MAX_FILE_SIZE // 2**20} MB, the limit for scenario files"])
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise ScenarioError([f"{name}:{line}: is not valid UTF-8: byte {content[error.start]:#04x}"]) from error


def tables(text: str, name: str) -> dict[str, Any]:
    """The tables of a TOML text.

    >>> tables("[run]\\nt = 1.0", "mine.toml")
    {'run': {'t': 1.0}}
    """
    try:
        text.encode("utf-8")
        data = tomllib.loads(text)
    except UnicodeEncodeError as error:
        line = text.count("\n", 0, error.start) + 1
        raise ScenarioError([f"{name}:{line}: contains an invalid Unicode character, {text[error.start]!r}"]) from None
    except ValueError as error:
        raise ScenarioError([_not_toml(str(error), text, name)]) from None
    except RecursionError:
        raise ScenarioError([f"{name}: lists and tables are nested too deeply"]) from None
    check_depth(data, name)
    return data


def _not_toml(message: str, text: str, name: str) -> str:
    """tomllib's message, with the line in front."""
    match = re.fullmatch(r"(.*) \(at (?:line (\d+), column (\d+)|end of document)\)", message, re.DOTALL)
    if match is None:
        return f"{name}: invalid TOML: {message}"
    words, line, column = match.groups()
    if line is None:
        return f"{name}:{text.count(chr(10)) + 1}: invalid TOML: {words}, at the end of the file"
    return f"{name}:{line}: invalid TOML: {words}, at column {column}"


def check_depth(data: dict[str, Any], name: str) -> None:
    """Refuse tables and lists that are nested too deeply for recursive functions."""
    level: list[tuple[str, Any]] = list(data.items())
    for _ in range(MAX_DEPTH):
        level = [
            (top, inner)
            for top, value in level
            if isinstance(value, dict | list)
            for inner in (value.values() if isinstance(value, dict) else value)
        ]
        if not level:
            return
    where = written_path([level[0][0]])
    raise ScenarioError([f"{name}: {where}: lists and tables are nested deeper than {MAX_DEPTH} levels"])
