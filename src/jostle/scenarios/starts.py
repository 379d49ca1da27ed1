"""Where grains start: free places of a lattice, random places in a box, or given points."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, ClassVar, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from jostle._tools.arrays import Array, Booleans
from jostle.errors import InvalidValue
from jostle.models.starts import random_sequential, square_lattice, triangular_lattice
from jostle.scenarios.fields import MAX_BODIES, Complaint, Corner, Multiple, Table, Vector, complain
from jostle.scenarios.walls import AnyWall
from jostle.sets.base import ConstraintSet

MAX_PLACES_IN_LAYER = 4 * MAX_BODIES
"""Largest number of places in one layer of a lattice."""
PLACES_PER_GRAIN = 1000
"""Largest number of lattice places that are searched for each grain."""
PLACES_PER_BLOCK = 10_000
"""Number of places checked at the same time, which limits the memory: a vessel has about 100 gaps for each place."""
DEFAULT_SPACING = 1.02
"""Distance between neighbouring places of a lattice, in multiples of the largest diameter."""


def _ordered(lower: Sequence[float] | None, upper: Sequence[float] | None) -> list[Complaint]:
    if lower is None or upper is None or all(a < b for a, b in zip(lower, upper, strict=False)):
        return []
    return [(("upper",), f"must be above lower = {list(lower)}")]


class Lattice(Table):
    """The places of a lattice in a box, filled from below. Places inside a wall or outside a vessel are left out."""

    vectors: ClassVar[tuple[str, ...]] = ("lower", "upper")
    kind: Literal["lattice"] = Field(description="Free places of a loose lattice, filled from below.")
    lower: Vector = Field(description="Lowest coordinates (m) of the box that is filled.")
    upper: Corner = Field(description="Highest coordinates (m) of the box that is filled; the last may be inf.")
    lattice: Literal["triangular", "square"] = Field(
        "triangular", description='"triangular", the densest (hexagonal layers in 3-D), or "square" (cubic in 3-D).'
    )
    loose: Multiple = Field(
        DEFAULT_SPACING, description="Distance between neighbouring places, in multiples of the largest diameter."
    )

    @model_validator(mode="after")
    def _is_a_box(self) -> Self:
        complain(_ordered(self.lower, self.upper))
        if not np.isfinite(self.upper[:-1]).all():
            complain([(("upper",), "must be finite; only the top, its last number, may be inf")])
        return self

    def build(self, radii: Array, walls: Sequence[AnyWall], period: object, random: np.random.Generator) -> Array:
        """(n, d) places, each shifted a little at random."""
        n, largest, d = len(radii), float(radii.max()), len(self.lower)
        spacing = 2.0 * largest * self.loose
        lower, upper = np.array(self.lower), np.array(self.upper)
        places = np.prod(np.maximum((upper[:-1] - lower[:-1]) / spacing, 1.0))
        if places > MAX_PLACES_IN_LAYER:
            raise InvalidValue(f"a layer of the lattice would have {places:.1e} places; take a narrower box")
        room = spacing / 2.0 - largest
        clear = [wall.build(largest + room, d) for wall in walls]
        lattice = triangular_lattice if self.lattice == "triangular" else square_lattice
        looked, most = n, min(PLACES_PER_GRAIN * (n + PLACES_PER_GRAIN // 10), MAX_PLACES_IN_LAYER)
        while True:
            x = lattice(looked, spacing, box=(lower, np.append(upper[:-1], np.inf)))
            free = x[:, -1] + spacing / 2.0 <= upper[-1] * (1.0 + 1e-9)
            above = not free[-1]
            for wall, Q in zip(walls, clear, strict=True):
                free &= wall.surrounds(x) & _fits(Q, x)
            found = x[free]
            if len(found) >= n:
                return np.asarray(found[:n] + room / np.sqrt(d) * random.uniform(-1.0, 1.0, (n, d)))
            if above or looked >= most:
                raise InvalidValue(
                    f"there are places for {len(found)} grains with radii up to {largest:g}, not for {n}; take fewer "
                    f"or smaller grains, or a larger box"
                )
            looked = min(2 * looked, most)


def _fits(Q: ConstraintSet, x: Array) -> Booleans:
    """(m,) whether a ball at each point does not overlap the wall."""
    blocks = (x[first : first + PLACES_PER_BLOCK] for first in range(0, len(x), PLACES_PER_BLOCK))
    smallest = [Q.gaps(0.0, block).reshape(len(block), -1).min(axis=1, initial=np.inf) for block in blocks]
    return np.asarray(np.concatenate(smallest) >= 0.0)


class Random(Table):
    """Random places in a box: one grain after the other is put where there is room."""

    vectors: ClassVar[tuple[str, ...]] = ("lower", "upper")
    kind: Literal["random"] = Field(description="Random places: one grain after the other is put where there is room.")
    lower: Corner | None = Field(
        None, description="Lowest coordinates (m) of the box; -inf along periodic axes. Left out if all are periodic."
    )
    upper: Corner | None = Field(
        None, description="Highest coordinates (m) of the box; inf along periodic axes. Left out if all are periodic."
    )

    @model_validator(mode="after")
    def _is_a_box(self) -> Self:
        if (self.lower is None) != (self.upper is None):
            missing = "lower" if self.lower is None else "upper"
            complain([((), f"must have both lower and upper, or neither in a periodic space; {missing} is missing")])
        complain(_ordered(self.lower, self.upper))
        return self

    def build(self, radii: Array, walls: Sequence[AnyWall], period: object, random: np.random.Generator) -> Array:
        """(n, d)."""
        box = None if self.lower is None or self.upper is None else (np.array(self.lower), np.array(self.upper))
        length = None if period is None else np.asarray(period, dtype=float)
        return random_sequential(radii, box=box, period=length, seed=random)


class Points(Table):
    """Given points."""

    vectors: ClassVar[tuple[str, ...]] = ("points",)
    kind: Literal["points"] = Field(description="Given points.")
    points: Annotated[tuple[Vector, ...], Field(min_length=1, max_length=MAX_BODIES, strict=False)] = Field(
        description="Centres of the grains (m), one for each."
    )

    def build(self, radii: Array, walls: Sequence[AnyWall], period: object, random: np.random.Generator) -> Array:
        """(n, d)."""
        return np.array(self.points)


Start = Annotated[Lattice | Random | Points, Field(discriminator="kind")]
