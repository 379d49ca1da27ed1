"""TOML with line numbers: reading a text, the lines of its keys, and writing values that give the same when read again.

tomllib does not report the lines of keys. The scanner expects a text that `tables` has accepted. It follows headers,
keys, strings, lists and inline tables.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path as FilePath
from typing import Any

from jostle.errors import JostleError

# Where the values of a scenario come from, and the error that points to a wrong one.


Path = tuple[str | int, ...]
"""The keys that lead to a value; entries of lists are numbers."""
MAX_LISTED_ERRORS = 50
"""Largest number of errors that are listed; further ones are only counted."""


class ScenarioError(JostleError, ValueError):
    """A scenario cannot be read or built; `problems` has one line for each error."""

    def __init__(self, problems: Sequence[str]):
        more = len(problems) - MAX_LISTED_ERRORS
        shown = [*problems[:MAX_LISTED_ERRORS], *([f"... and {more} more"] if more > 0 else [])]
        super().__init__("\n".join(shown))
        self.problems = tuple(problems)

    def __reduce__(self) -> tuple[type[ScenarioError], tuple[tuple[str, ...]], dict[str, Any]]:
        return type(self), (self.problems,), vars(self)


@dataclass(frozen=True)
class Source:
    """Where the values of a scenario come from: the text, its lines, and the settings on top of it."""

    name: str
    text: str
    """The TOML text, with all settings applied."""
    lines: Mapping[Path, int]
    settings: Mapping[Path, str]
    """The setting that each changed key comes from."""

    def line(self, path: Path) -> int:
        """The line of a key, or of the table in which it is missing; 0 for a value from a setting."""
        for length in range(len(path), 0, -1):
            if path[:length] in self.settings:
                return 0
            if path[:length] in self.lines:
                return self.lines[path[:length]]
        return 1

    def place(self, path: Path) -> str:
        """The beginning of a message about a key: the file and the line, or the setting."""
        for length in range(len(path), 0, -1):
            if path[:length] in self.settings:
                return f"{self.name}, setting {self.settings[path[:length]][:80]!r}: "
        return f"{self.name}:{self.line(path)}: "

    def error(self, where: Path, message: str) -> ScenarioError:
        """The error about the key at a path."""
        return ScenarioError([f"{self.place(where)}{path(where)}: {message}"])


BARE = re.compile(r"[A-Za-z0-9_-]+")
MAX_LINE_LENGTH = 100
"""Lists with more characters are written with one entry on each line."""
HEXADECIMAL_FROM = 1024
"""Integers with more bits are written in hexadecimal, because Python limits the number of decimal digits."""


def document(data: Mapping[str, Any]) -> str:
    """A TOML text: first the values that are not tables, then the tables."""
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


BLANK = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
STRING = re.compile(r'"""(?:\\.|[^\\])*?"{3,5}|\'\'\'.*?\'{3,5}|"(?:\\.|[^"\\\n])*"|\'[^\'\n]*\'', re.DOTALL)
SCALAR = re.compile(r"[^,\]}\n#]*")


def lines(text: str) -> dict[Path, int]:
    """The line, counted from 1, of each table and key, and of each entry of a list."""
    return _Scanner(text).document()


class _Scanner:
    """The position of the scanner in the text, and the lines that it has found."""

    def __init__(self, text: str):
        self.text, self.at = text, 0
        self.counted, self.line = 0, 1
        self.found: dict[Path, int] = {}
        self.several: dict[Path, int] = {}
        """Number of tables that each [[list of tables]] has so far."""

    def document(self) -> dict[Path, int]:
        table: Path = ()
        self.skip(BLANK)
        while self.at < len(self.text):
            before = self.at
            if self.text[self.at] == "[":
                table = self.header()
            else:
                self.pair(table)
            self.skip(BLANK)
            if self.at == before:
                break
        return self.found

    def header(self) -> Path:
        """Read [a.b] or [[a.b]], and note the line of the table and of the tables that contain it."""
        line, double = self.number(), self.text.startswith("[[", self.at)
        self.at += 1 + double
        path: Path = ()
        for key in self.key():
            if path in self.several:
                path = (*path, self.several[path] - 1)
            path = (*path, key)
            self.found.setdefault(path, line)
        self.at += 1 + double
        if double:
            number = self.several.get(path, 0)
            self.several[path] = number + 1
            path = (*path, number)
        self.found[path] = line
        return path

    def pair(self, table: Path) -> None:
        """Read key = value."""
        line, path = self.number(), table
        for key in self.key():
            path = (*path, key)
            self.found.setdefault(path, line)
        self.at += 1
        self.skip(BLANK)
        self.value(path)

    def key(self) -> list[str]:
        """Read a dotted key such as a."b".c."""
        keys = []
        while True:
            self.skip(BLANK)
            if self.text.startswith(('"', "'"), self.at):
                keys.append(_unquoted(self.skip(STRING)))
            else:
                keys.append(self.skip(BARE))
            self.skip(BLANK)
            if not self.text.startswith(".", self.at):
                return keys
            self.at += 1

    def value(self, path: Path) -> None:
        first = self.text[self.at : self.at + 1]
        if first in ('"', "'"):
            self.skip(STRING)
        elif first in ("[", "{"):
            self.entries(path, "]" if first == "[" else "}")
        else:
            self.skip(SCALAR)

    def entries(self, path: Path, end: str) -> None:
        """Read the entries of a list or of an inline table."""
        self.at += 1
        self.skip(BLANK)
        number = 0
        while self.at < len(self.text) and self.text[self.at] != end:
            before = self.at
            if end == "]":
                self.found[*path, number] = self.number()
                self.value((*path, number))
                number += 1
            else:
                self.pair(path)
            self.skip(BLANK)
            if self.text.startswith(",", self.at):
                self.at += 1
                self.skip(BLANK)
            if self.at == before:
                return
        self.at += 1

    def skip(self, what: re.Pattern[str]) -> str:
        """The text that matches here, or ""; the scanner moves to its end."""
        match = what.match(self.text, self.at)
        if match is None:
            return ""
        self.at = match.end()
        return match.group()

    def number(self) -> int:
        """The current line."""
        self.line += self.text.count("\n", self.counted, self.at)
        self.counted = self.at
        return self.line


def _unquoted(text: str) -> str:
    """The value of a string in quotes."""
    try:
        return str(tomllib.loads(f"key = {text}")["key"])
    except ValueError:
        return text


MAX_FILE_SIZE = 4 * 2**20
"""Largest size of a scenario in bytes; reading one takes up to 200 times its size of memory."""
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
    check_length(content, name)
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise ScenarioError([f"{name}:{line}: is not valid UTF-8: byte {content[error.start]:#04x}"]) from error


def check_length(content: str | bytes, name: str) -> None:
    """Refuse a scenario that is larger than the limit."""
    if len(content) > MAX_FILE_SIZE:
        raise ScenarioError(
            [
                f"{name}: is larger than {MAX_FILE_SIZE // 2**20} MB, the limit for scenario files: shorten its lists, "
                f"or solve the problem in a Python program"
            ]
        )


def tables(text: str, name: str) -> dict[str, Any]:
    """The tables of a TOML text.

    >>> tables("[run]\\nt = 1.0", "mine.toml")
    {'run': {'t': 1.0}}
    """
    check_length(text, name)
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
    where = path([level[0][0]])
    raise ScenarioError([f"{name}: {where}: lists and tables are nested deeper than {MAX_DEPTH} levels"])
