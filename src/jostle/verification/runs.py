"""Scenarios of the tests: how they are made from a few numbers and solved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from jostle.result.solution import Solution
from jostle.scenarios import ScenarioError, parse
from jostle.scenarios.toml import document

RADIUS, SPEED = 0.2, 1.34
"""Default radius (m) and desired speed (m/s) of the people in the tests."""
UNKNOWN_KEY = "unknown key"
"""Words of the error about a key that scenarios do not have in this version."""
Corners = Sequence[Sequence[float]]


class NotApplicable(Exception):
    """A test needs something that this version does not model; the message names it."""


@dataclass(frozen=True)
class Outcome:
    """The result of a test in words, and whether the test passed."""

    found: str
    passed: bool


def rectangle(x0: float, y0: float, x1: float, y1: float) -> Corners:
    """The corners of a rectangle.

    >>> rectangle(0, 0, 2, 1)
    [[0, 0], [2, 0], [2, 1], [0, 1]]
    """
    return [[x0, y0], [x1, y0], [x1, y1], [x0, y1]]


def solved(
    rooms: Sequence[Corners],
    exits: Mapping[str, Corners],
    groups: Sequence[Mapping[str, Any]],
    *,
    t: float,
    h: float = 0.05,
    every: float = 0.25,
    refused: str = UNKNOWN_KEY,
    **more: Any,
) -> Solution:
    """Solve a scenario of a crowd; raises `NotApplicable` if it needs something that scenarios do not have.

    `refused` has words of the error message of a version that does not have it.

    >>> sol = solved([rectangle(0, 0, 4, 2)], {"east": [[4, 0], [4, 2]]}, [{"places": [[1, 1]]}], t=5.0)
    >>> sol.status
    'stopped'
    """
    problem = {
        "kind": "crowd",
        "rooms": [{"corners": corners} for corners in rooms],
        "exits": [{"name": name, "ends": ends} for name, ends in exits.items()],
        "groups": [{"radius": RADIUS, "speed": SPEED, **group} for group in groups],
        **more,
    }
    return _solved(document({"problem": problem, "run": {"t": t, "h": h, "every": every}}), refused)


@cache
def _solved(text: str, refused: str) -> Solution:
    try:
        run = parse(text, "the scenario").build()
    except ScenarioError as error:
        wrong = [line.strip() for line in str(error).splitlines() if refused in line]
        if wrong:
            raise NotApplicable(f"this version does not have it ({wrong[0]})") from None
        raise
    sol: Solution = run.solve()
    return sol
