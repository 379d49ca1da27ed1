"""Where people stand at the start: random sequential addition in a plan."""

from __future__ import annotations

from typing import Any

import numpy as np

from jostle.arrays import Array, Booleans, Integers, shaped
from jostle.crowds.outlines import package
from jostle.crowds.plans import Plan
from jostle.errors import InvalidValue
from jostle.models.starts import STRICT, Cell, Placed, filled
from jostle.sets.surfaces import Lines
from jostle.sets.walls import MAX_TABLE_ENTRIES

TRIES = 100_000
"""Number of random places without room for anybody, one after the other, from which on the plan counts as full."""


def free_places(
    radii: Array, plan: Plan, region: Any, random: np.random.Generator, taken: tuple[Array, Array] | None = None
) -> Array:
    """(n, 2) random places of the plan, or of a polygon in it, where discs overlap neither walls nor each other.

    `taken` are the places (m, 2) and radii (m,) of others.

    >>> from jostle.crowds.rooms import Room
    >>> room = Room([(0, 0), (9, 0), (9, 9), (0, 9)], doors=[((9, 4), (9, 5))])
    >>> q = free_places(np.full(100, 0.25), room, None, np.random.default_rng(0))
    >>> bool(room.inside(q).all() and q.min() > 0.25)
    True
    """
    others, sizes = (np.zeros((0, 2)), np.zeros(0)) if taken is None else taken
    before = len(others)

    def full(left: Integers, tries: int) -> InvalidValue:
        person, n = int(left[0]) - before, len(radii)
        return InvalidValue(
            f"no place was found for person {person} of {n}, {2.0 * radii[person]:g} wide, when {n - len(left)} were "
            f"placed at random; take fewer, or a larger room, or give their places"
        )

    everyone = np.concatenate([sizes, radii])
    placed = _InPlan(plan, region, everyone)
    if before:
        placed.take(np.arange(before), others)
    return filled(placed, everyone, random, TRIES, full)[before:]


class _InPlan(Placed):
    """The people who have a place."""

    def __init__(self, plan: Plan, region: Any, radii: Array):
        corners = plan.walls.reshape(-1, 2)
        lower, upper = corners.min(axis=0), corners.max(axis=0)
        self.region = None
        if region is not None:
            shapely = package("shapely")
            given = isinstance(region, shapely.Geometry)
            self.region = region if given else shapely.Polygon(shaped(region, "start", -1, 2))
            if not self.region.is_valid or not self.region.intersection(plan.area).area > 0.0:
                raise InvalidValue(
                    f"the region in which people start must be a polygon that does not cross itself, and some of it "
                    f"must be in the plan; it is {self.region.wkt}"
                )
            shapely.prepare(self.region)
            lower, upper = np.array(self.region.bounds).reshape(2, 2)
            lower, upper = lower - radii.max(), upper + radii.max()
        super().__init__(Cell(lower, upper, np.full(2, np.inf)), radii)
        self.plan, self.walls = plan, Lines.between(plan.walls[:, 0], plan.walls[:, 1])

    def _free(self, ball: Integers, places: Array) -> Booleans:
        free = self.plan.inside(places)
        if self.region is not None:
            free &= package("shapely").contains_xy(self.region, places)
        at_all = np.flatnonzero(free)
        size = max(MAX_TABLE_ENTRIES // max(len(self.plan.walls), 1), 1)
        for first in range(0, len(at_all), size):
            some = at_all[first : first + size]
            free[some] = self.walls.nearest(places[some]) > STRICT * self.radii[ball[some]]
        for x, y, radius in self.plan.columns:
            apart = np.hypot(*(places - [x, y]).T) - radius
            free &= apart > STRICT * self.radii[ball]
        some = np.flatnonzero(free)
        if len(some):
            free[some] = super()._free(ball[some], places[some])
        return np.asarray(free)
