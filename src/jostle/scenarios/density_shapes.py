"""The shapes of blocks, walls and exits in scenarios of densities."""

from __future__ import annotations

from typing import Annotated, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from jostle._tools.arrays import Array, Booleans
from jostle.macro.grid import Grid
from jostle.scenarios.fields import Complaint, Point, Positive, Share, Table, complain

MAX_SHAPES = 10_000
"""Largest number of blocks, walls or exits."""


class Box(Table):
    """A rectangle."""

    kind: Literal["box"] = Field(description="A rectangle with sides along the axes.")
    lower: Point = Field(description="Lower left corner of the rectangle, [x, y] (m).")
    upper: Point = Field(description="Upper right corner of the rectangle, [x, y] (m).")

    def cells(self, grid: Grid) -> Booleans:
        return np.asarray(grid.block(self.lower, self.upper), dtype=bool)


class Disc(Table):
    """A disc."""

    kind: Literal["disc"] = Field(description="A disc with a centre and a radius.")
    centre: Point = Field(description="Centre of the disc, [x, y] (m).")
    radius: Positive = Field(description="Radius of the disc (m).")

    def cells(self, grid: Grid) -> Booleans:
        return np.asarray(grid.disc(self.centre, self.radius), dtype=bool)


class Filled(Table):
    """A shape that is filled with a density at the start."""

    density: Share = Field(1.0, description="The density at the start, above 0 and at most 1.")


class Moves(Table):
    """A velocity: the same everywhere, or towards a point."""

    velocity: Point | None = Field(None, description="Velocity [x, y] (m/s); zero by default.")
    towards: Point | None = Field(None, description="Instead of velocity: the point [x, y] (m) to move to.")
    speed: Positive | None = Field(None, description="Speed (m/s) towards the point; 1 by default.")

    @model_validator(mode="after")
    def _is_one_velocity(self) -> Self:
        wrong: list[Complaint] = []
        if self.velocity is not None and self.towards is not None:
            wrong.append((("towards",), "must be left out where velocity is given"))
        if self.speed is not None and self.towards is None:
            wrong.append((("speed",), "belongs to towards = [x, y]; without it give velocity = [x, y]"))
        complain(wrong)
        return self

    def field(self, x: Array, y: Array) -> tuple[Array, Array]:
        """The components of the velocity at some places; zero at the point to move to."""
        if self.towards is None:
            ux, uy = self.velocity or (0.0, 0.0)
            return np.full_like(x, ux), np.full_like(y, uy)
        dx, dy = self.towards[0] - x, self.towards[1] - y
        away, fast = np.hypot(dx, dy), 1.0 if self.speed is None else self.speed
        scale = np.divide(fast, away, out=np.zeros_like(away), where=away > 0.0)
        return scale * dx, scale * dy


class MovingBox(Box, Filled, Moves):
    """A rectangle filled with a density that moves."""


class MovingDisc(Disc, Filled, Moves):
    """A disc filled with a density that moves."""


class FilledBox(Box, Filled):
    """A rectangle filled with people."""


class FilledDisc(Disc, Filled):
    """A disc filled with people."""


Shapes = Annotated[
    tuple[Annotated[Box | Disc, Field(discriminator="kind")], ...], Field(max_length=MAX_SHAPES, strict=False)
]
MovingBlocks = Annotated[
    tuple[Annotated[MovingBox | MovingDisc, Field(discriminator="kind")], ...],
    Field(min_length=1, max_length=MAX_SHAPES, strict=False),
]
FilledBlocks = Annotated[
    tuple[Annotated[FilledBox | FilledDisc, Field(discriminator="kind")], ...],
    Field(min_length=1, max_length=MAX_SHAPES, strict=False),
]
