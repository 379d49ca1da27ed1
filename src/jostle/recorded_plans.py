"""What is recorded about people in a building: plan, stairs and gates; and the protocols of problems that know them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from jostle._tools.arrays import Array, Integers
from jostle.errors import InvalidValue, MissingPackage

MAX_DEPTH = 32
"""Largest depth of nested parentheses in well-known text; a collection of polygons with holes needs 4."""


class Stair(NamedTuple):
    """Stairs or a lift of a recorded plan, with the fields of `crowds.Link` and the directions of its corridor (2,).

    >>> stairs = Stair(*4 * [np.zeros((2, 2))], np.zeros(2), (0.5, 0.4), np.array([[0.0, 2.0]]))
    >>> stairs.pace_at(np.array([1.0, 3.0]), back=True).tolist()
    [0.4, 1.0]
    """

    start: Array
    end: Array
    length: float
    outward: Array
    inward: Array
    paces: tuple[float, float] = (1.0, 1.0)
    """Walking speeds on steps relative to level ground, from start to end and back; files of earlier versions have
    none."""
    flights: Array = np.zeros((0, 2))
    """(k, 2) intervals with steps, along the length."""
    every: float | None = None
    travel: float = 0.0
    doors: float = 0.0

    def pace_at(self, depth: Array, *, back: bool) -> Array:
        """(n,) walking speeds relative to level ground at several depths (n,), as `crowds.Link` has them."""
        on_steps = ((depth[:, None] >= self.flights[:, 0]) & (depth[:, None] <= self.flights[:, 1])).any(axis=1)
        return np.where(on_steps, self.paces[int(back)], 1.0)


def geometry_of(wkt: str) -> Any:
    """The geometry of shapely that well-known text stands for.

    GEOS reads nested parts by recursion, and too many of them end the process, so their depth is checked first.

    >>> geometry_of("POLYGON ((0 0, 4 0, 4 3, 0 3, 0 0))").area
    12.0
    >>> geometry_of("GEOMETRYCOLLECTION (" * 40 + "POINT (0 0)" + ")" * 40)
    Traceback (most recent call last):
    jostle.errors.InvalidValue: this well-known text has parentheses nested 41 deep, more than MAX_DEPTH = 32
    """
    letters = np.frombuffer(wkt.encode(), dtype=np.uint8)
    depth = int(np.cumsum((letters == ord("(")).astype(np.int64) - (letters == ord(")"))).max(initial=0))
    if depth > MAX_DEPTH:
        raise InvalidValue(
            f"this well-known text has parentheses nested {depth} deep, more than MAX_DEPTH = {MAX_DEPTH}"
        )
    try:
        shapely = import_module("shapely")
    except ImportError:
        raise MissingPackage("a plan needs the package shapely: pip install 'jostle[crowd]'") from None
    try:
        return shapely.from_wkt(wkt)
    except shapely.errors.GEOSException as error:
        raise InvalidValue(f"this is not well-known text: {error}") from None


@dataclass(frozen=True, eq=False)
class RecordedPlan:
    """The floor plan of a crowd as stored in a file: the walkable area, exits, stairs and doors.

    >>> plan = RecordedPlan("POLYGON ((0 0, 4 0, 4 3, 0 3, 0 0))", {"door": np.array([[4, 1], [4, 2]])}, {})
    >>> plan.area.area, list(plan.exits)
    (12.0, ['door'])
    """

    wkt: str
    exits: Mapping[str, Array]
    stairs: Mapping[str, Stair]
    doors: Array = field(default_factory=lambda: np.zeros((0, 2, 2)))
    """(k, 2, 2) the doors between rooms; files of earlier versions have none."""
    labels: Mapping[str, Array] = field(default_factory=dict)
    """Names of rooms and the points (2,) where pictures show them; files of earlier versions have none."""

    @cached_property
    def area(self) -> Any:
        """The walkable area as a polygon of shapely, or one polygon per floor."""
        return geometry_of(self.wkt)

    @property
    def links(self) -> Mapping[str, Stair]:
        """The stairs and their corridors, under the names that they have in a plan with floors."""
        return self.stairs

    shafts = links


@runtime_checkable
class HasGroups(Protocol):
    """A problem whose bodies belong to groups, such as `crowds.Crowd`: names, and the group of each body."""

    groups: tuple[str, ...]
    group: Integers


@runtime_checkable
class HasFloors(Protocol):
    """A problem of people on a floor plan, such as `crowds.Crowd`."""

    plan: Any


@runtime_checkable
class HasSpeeds(Protocol):
    """A problem of people with known desired speeds, such as `crowds.Crowd`."""

    wish: Any


class RecordedGate(NamedTuple):
    """A door or an exit that opens and closes during a run."""

    name: str
    ends: Array
    """(2, 2)"""
    open: Array
    """(k, 2) the intervals (from, to) in which it is open."""
    most: int | None
    """The number of people behind whom it closes for good, if there is one."""


@runtime_checkable
class HasGates(Protocol):
    """A problem of people in a building with gates, such as `crowds.Crowd`; None if there are none."""

    gates: Any


@runtime_checkable
class HasReactions(Protocol):
    """A problem of people with reaction times before which they do not walk, such as `crowds.Crowd`."""

    reaction: Array
