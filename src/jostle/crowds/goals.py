"""Where people can go."""

from __future__ import annotations

from typing import NamedTuple

from jostle.arrays import Array


class Goal(NamedTuple):
    """An exit, the end of stairs, or a stop: where it can be passed, and in which direction."""

    name: str
    passable: Array
    """(2, 2) the segment on which a centre can pass."""
    outward: Array
    """(2,) the direction in which it is passed; 0 for a stop."""
    width: float
    """How wide the opening is; infinite for a stop."""
