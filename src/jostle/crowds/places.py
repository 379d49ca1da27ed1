"""Places of people at the start: at random in a plan, or on a loosened lattice where they stand close together.

Random sequential addition fills at most 0.547 of an area with equal discs (Feder 1980), which is 4.3 people of radius
0.2 m per square metre. Denser crowds stand on random nodes of a triangular lattice that is as wide as possible, and
each person is shifted at random as far as the lattice is wider than two radii.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from jostle._tools.arrays import Array, Booleans, Integers, shaped
from jostle.crowds.outlines import package
from jostle.crowds.plans import Plan
from jostle.errors import InvalidValue
from jostle.models.starts import STRICT_FACTOR, Cell, Placed, filled
from jostle.sets.surfaces import Lines
from jostle.sets.walls import MAX_TABLE_ENTRIES

MOST_RANDOM = 0.47
"""Largest packing fraction at which people are placed by random sequential addition."""
HALVINGS = 30
"""Number of bisection steps to find the widest lattice."""
DENSEST = np.pi / np.sqrt(12.0)
"""Packing fraction of the densest packing of equal discs."""
TRIES = 100_000
"""Number of consecutive random places without room after which the plan counts as full."""


def free_places(
    radii: Array, plan: Plan, region: Any, random: np.random.Generator, taken: tuple[Array, Array] | None = None
) -> Array:
    """(n, 2) random places in the plan, or in a polygon in it, where discs overlap neither walls nor each other.

    `taken` has the places (m, 2) and radii (m,) of other people.

    >>> from jostle.crowds.rooms import Room
    >>> room = Room([(0, 0), (9, 0), (9, 9), (0, 9)], doors=[((9, 4), (9, 5))])
    >>> q = free_places(np.full(100, 0.25), room, None, np.random.default_rng(0))
    >>> bool(room.inside(q).all() and q.min() > 0.25)
    True
    """
    others, sizes = (np.zeros((0, 2)), np.zeros(0)) if taken is None else taken
    before = len(others)
    everyone = np.concatenate([sizes, radii])

    def empty() -> _InPlan:
        placed = _InPlan(plan, region, everyone)
        if before:
            placed.take(np.arange(before), others)
        return placed

    def full(left: Integers, tries: int) -> InvalidValue:
        return InvalidValue("there is no room")

    first = empty()  # raises if the region is not a polygon, before its area is needed
    wanted = float((np.pi * radii**2).sum()) / max(_area(plan, region), np.finfo(float).tiny)
    if wanted <= MOST_RANDOM:
        try:
            return filled(first, everyone, random, TRIES, full)[before:]
        except InvalidValue:
            pass  # too little room between walls and other people; a lattice may still fit
    return _lattice(empty(), radii, before, random, wanted)


def _area(plan: Plan, region: Any) -> float:
    """The size of the area in which people are placed."""
    if region is None:
        return plan.size
    return float(package("shapely").intersection(_polygon(region), plan.area).area)


def _polygon(region: Any) -> Any:
    shapely = package("shapely")
    return region if isinstance(region, shapely.Geometry) else shapely.Polygon(shaped(region, "start", -1, 2))


def _lattice(placed: _InPlan, radii: Array, before: int, random: np.random.Generator, wanted: float) -> Array:
    """(n, 2) places on the widest possible triangular lattice, each shifted at random as far as there is room."""
    n, size = len(radii), float(radii.max())
    widest, offset = before + int(radii.argmax()), random.random(2)
    low, high = placed.space.lower, placed.space.upper

    def places(spacing: float) -> Array:
        step = spacing * STRICT_FACTOR * STRICT_FACTOR
        rows = np.arange(np.ceil((high - low)[1] / (step * np.sqrt(0.75))) + 2)
        columns = np.arange(np.ceil((high - low)[0] / step) + 2)
        j, i = (grid.ravel() for grid in np.meshgrid(rows, columns, indexing="ij"))
        x = np.stack([i + 0.5 * (j % 2), np.sqrt(0.75) * j], axis=1) * step + low - offset * step
        return np.asarray(x[placed._free(np.full(len(x), widest), x)])

    tight = places(2.0 * size)
    if len(tight) < n:
        area = n * float(np.pi * (radii**2).mean()) / wanted
        raise InvalidValue(
            f"no place was found for person {len(tight)} of {n}, {2.0 * size:g} wide: a lattice has room for "
            f"{len(tight)}, {len(tight) / area:.2f} per square metre (at most {DENSEST / (np.pi * size**2):.2f} far "
            f"from walls); take fewer people or a larger room, or give their places"
        )
    least, most = 2.0 * size, 2.0 * float(np.ptp([low, high], axis=0).max())
    for _ in range(HALVINGS):
        middle = 0.5 * (least + most)
        least, most = (middle, most) if len(places(middle)) >= n else (least, middle)
    found = random.permutation(places(least))[:n]
    angle, far = random.uniform(0.0, 2.0 * np.pi, n), 0.5 * (least - 2.0 * size) * np.sqrt(random.random(n))
    moved = found + far[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    free = placed._free(np.full(n, widest), moved)
    return np.where(free[:, None], moved, found)


class _InPlan(Placed):
    """The people in a plan who have a place."""

    def __init__(self, plan: Plan, region: Any, radii: Array):
        corners = plan.walls.reshape(-1, 2)
        lower, upper = corners.min(axis=0), corners.max(axis=0)
        self.region = None
        if region is not None:
            shapely = package("shapely")
            self.region = _polygon(region)
            if not self.region.is_valid or not self.region.intersection(plan.area).area > 0.0:
                raise InvalidValue(
                    f"the region in which people start must be a polygon that does not cross itself and overlaps the "
                    f"plan, not {self.region.wkt}"
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
            free[some] = self.walls.nearest(places[some]) > STRICT_FACTOR * self.radii[ball[some]]
        for x, y, radius in self.plan.columns:
            apart = np.hypot(*(places - [x, y]).T) - radius
            free &= apart > STRICT_FACTOR * self.radii[ball]
        some = np.flatnonzero(free)
        if len(some):
            free[some] = super()._free(ball[some], places[some])
        return np.asarray(free)
