"""The floor plan of a crowd as a trajectory file stores it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from jostle.arrays import Array
from jostle.errors import MissingPackage


class Stair(NamedTuple):
    """Stairs of a recorded plan: start and end (2, 2), length, and the outward and inward directions (2,)."""

    start: Array
    end: Array
    length: float
    outward: Array
    inward: Array


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
        try:
            return import_module("shapely").from_wkt(self.wkt)
        except ImportError:
            raise MissingPackage("a plan needs the package shapely: pip install 'jostle[crowd]'") from None

    @property
    def links(self) -> Mapping[str, Stair]:
        """The stairs, under the name that they have in a plan with floors."""
        return self.stairs

    @property
    def shafts(self) -> Mapping[str, Stair]:
        """The corridors of the stairs, under the name that they have in a plan with floors."""
        return self.stairs
