"""Where the values of a scenario come from, and the error that points to a wrong one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from jostle.errors import JostleError

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
