"""Line numbers of the keys in a TOML text, which tomllib does not report.

The scanner expects a text that tomllib has accepted. It follows headers, keys, strings, lists and inline tables, and
skips lists that are nested too deeply.
"""

from __future__ import annotations

import re
import tomllib

from jostle.scenarios.source import Path

MAX_DEPTH = 12
"""Greatest depth at which the entries of lists and inline tables get line numbers."""
BLANK = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
STRING = re.compile(r'"""(?:\\.|[^\\])*?"{3,5}|\'\'\'.*?\'{3,5}|"(?:\\.|[^"\\\n])*"|\'[^\'\n]*\'', re.DOTALL)
BARE = re.compile(r"[A-Za-z0-9_-]+")
SCALAR = re.compile(r"[^,\]}\n#]*")
BRACKET = re.compile(r"[\[\]{}]")


def lines(text: str) -> dict[Path, int]:
    """The line, counted from 1, of each table and key, and of each entry of a list.

    >>> lines('a = 1\\n[[b]]\\nc.d = [\\n  1,\\n  2]')[("b", 0, "c", "d", 1)]
    5
    """
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
                self.pair(table, 0)
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

    def pair(self, table: Path, depth: int) -> None:
        """Read key = value."""
        line, path = self.number(), table
        for key in self.key():
            path = (*path, key)
            self.found.setdefault(path, line)
        self.at += 1
        self.skip(BLANK)
        self.value(path, depth)

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

    def value(self, path: Path, depth: int) -> None:
        first = self.text[self.at : self.at + 1]
        if first in ('"', "'"):
            self.skip(STRING)
        elif first not in ("[", "{"):
            self.skip(SCALAR)
        elif depth >= MAX_DEPTH:
            self.beyond()
        else:
            self.entries(path, depth + 1, "]" if first == "[" else "}")

    def entries(self, path: Path, depth: int, end: str) -> None:
        """Read the entries of a list or of an inline table."""
        self.at += 1
        self.skip(BLANK)
        number = 0
        while self.at < len(self.text) and self.text[self.at] != end:
            before = self.at
            if end == "]":
                self.found[*path, number] = self.number()
                self.value((*path, number), depth)
                number += 1
            else:
                self.pair(path, depth)
            self.skip(BLANK)
            if self.text.startswith(",", self.at):
                self.at += 1
                self.skip(BLANK)
            if self.at == before:
                return
        self.at += 1

    def beyond(self) -> None:
        """Skip a list or a table that is nested too deeply."""
        open_ones = 0
        while self.at < len(self.text):
            self.skip(BLANK)
            if self.text.startswith(('"', "'"), self.at):
                self.skip(STRING)
            elif bracket := self.skip(BRACKET):
                open_ones += 1 if bracket in "[{" else -1
                if not open_ones:
                    return
            else:
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
