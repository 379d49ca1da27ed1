"""The geometry of a plan, as the modules for ways and files need it.

They take any object with these attributes, so that `plans` can import them without a circular import.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from jostle._tools.arrays import Array, Booleans
from jostle.crowds.outlines import package
from jostle.crowds.stairs import Link, Shaft


class Geometry(Protocol):
    """Where people may walk, what is in their way, and where they leave."""

    @property
    def area(self) -> Any:
        """The walkable area as a polygon of shapely."""

    @property
    def walls(self) -> Array:
        """(k, 2, 2) all walls."""

    @property
    def columns(self) -> Array:
        """(k, 3) x, y and radius."""

    @property
    def exits(self) -> dict[str, Array]:
        """The ends (2, 2) of each exit."""

    @property
    def outward(self) -> dict[str, Array]:
        """The unit normal (2,) of each exit, out of the plan."""

    @property
    def links(self) -> dict[str, Link]:
        """Stairs to other floors."""

    @property
    def labels(self) -> dict[str, Array]:
        """(2,) each: names of rooms and where pictures show them."""

    def inside(self, q: Array) -> Booleans:
        """(n,) whether positions (n, 2) are in the plan, or on its stairs."""

    @property
    def shafts(self) -> dict[str, Shaft]:
        """The corridors of the stairs, by the names of the links."""


def inner_walls(plan: Geometry) -> Array:
    """(k, 2, 2) walls that are not on the outline of the area."""
    shapely = package("shapely")
    if len(plan.walls) == 0:
        return plan.walls
    size = max(np.ptp(np.array(plan.area.bounds).reshape(2, 2), axis=0))
    middles = shapely.points(plan.walls.mean(axis=1))
    inside: Booleans = shapely.distance(plan.area.boundary, middles) > 1e-9 * size
    return plan.walls[inside]
