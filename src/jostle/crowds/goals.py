"""The goals that people walk to."""

from __future__ import annotations

from typing import NamedTuple

from jostle._tools.arrays import Array


class Goal(NamedTuple):
    """An exit, the end of stairs, or a stop: where it can be passed, and in which direction."""

    name: str
    passable: Array
    """(2, 2) segment on which the centre of a person can pass."""
    outward: Array
    """(2,) direction in which the goal is passed; 0 for a stop."""
    width: float
    """Width of the opening; infinite for a stop."""
