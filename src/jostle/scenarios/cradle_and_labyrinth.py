"""kind = "cradle", "labyrinth": Newton's cradle, and a ball on a board with holes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from typing import Annotated, ClassVar, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from jostle._tools.arrays import Array
from jostle.models.balls import HOLES, TILTS, cradle
from jostle.problems import Motion, Sweeping
from jostle.scenarios.fields import (
    Complaint,
    Count,
    NotNegative,
    Number,
    Part,
    Point,
    Positive,
    PositiveOrList,
    Table,
    complain,
    many,
)
from jostle.scenarios.problem import AnyProblem, ProblemTable
from jostle.scenarios.toml import Path
from jostle.schemes.capabilities import RESTITUTION
from jostle.sets.base import ConstraintSet
from jostle.sets.walls import Box, Outside

MAX_BALLS = 10_000
"""Largest number of balls of a cradle."""


class Cradle(ProblemTable):
    """Newton's cradle: balls in a row, the first of which arrive with a speed."""

    kind: Literal["cradle"] = Field(description="Newton's cradle: balls in a row.")
    n: Count = Field(5, description="Number of balls.")
    striking: Count = Field(1, description="Number of balls that arrive together.")
    speed: Positive = Field(1.0, description="Speed of the arriving balls (m/s).")
    gap: NotNegative = Field(0.0, description="Distance between neighbouring balls at rest (m); 0 if they touch.")
    radius: Positive = Field(0.5, description="Radius of all balls (m).")
    mass: PositiveOrList = Field(1.0, description="Mass (kg) of every ball, or a list with one for each.")
    e: Part = Field(1.0, description="Restitution coefficient: 0 for no rebound, 1 for a rebound without loss.")

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        wrong: list[Complaint] = []
        if self.n > MAX_BALLS:
            wrong.append((("n",), f"must be at most {MAX_BALLS} in a cradle"))
        if self.striking > self.n:
            wrong.append((("striking",), f"must be at most n = {self.n}"))
        if isinstance(self.mass, tuple) and len(self.mass) != self.n:
            wrong.append((("mass",), f"must have one entry for each of the {self.n} balls, not {len(self.mass)}"))
        complain(wrong)
        return self

    def needs(self) -> dict[str, Path]:
        return {RESTITUTION: ("e",)} if self.e > 0.0 else {}

    def build(self, seed: int) -> AnyProblem:
        row = cradle(self.n, gap=self.gap, radius=self.radius, striking=self.striking, e=self.e, mass=self.mass)
        return Motion(q0=row.q0, v0=self.speed * row.v0, within=row.within, mass=self.mass, law=row.law)


class Tilt(Table):
    """A tilt of the board that begins at a given time."""

    t: NotNegative = Field(description="Time at which the tilt begins (s).")
    velocity: Point = Field(description="Velocity [x, y] that the tilt gives a free ball (m/s).")


class Labyrinth(ProblemTable):
    """A ball that slides around holes and along the rim of a tilted board."""

    first_order: ClassVar[bool] = True

    kind: Literal["labyrinth"] = Field(description="A ball among holes on a board that is tilted.")
    q0: Point = Field((0.5, 0.6), description="Centre of the ball at the start, [x, y] (m).")
    radius: NotNegative = Field(0.0, description="Radius of the ball (m).")
    board: Point = Field((6.0, 4.0), description="Width and height of the board (m); its lower left corner is [0, 0].")
    holes: Annotated[tuple[Point, ...], many()] = Field(
        tuple((float(x), float(y)) for x, y in HOLES), description="Centres of the holes, [x, y] (m)."
    )
    hole: Positive = Field(0.5, description="Radius of the holes (m); the ball goes around them.")
    tilts: Annotated[tuple[Tilt, ...], many(1)] = Field(
        tuple(Tilt(t=t, velocity=velocity) for t, velocity in TILTS),
        description="Tilts of the board, in the order of their times.",
    )

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        times = [tilt.t for tilt in self.tilts]
        wrong: list[Complaint] = []
        if times[0] != 0.0:
            wrong.append((("tilts", 0, "t"), "must be 0: the first tilt starts with the run"))
        if any(a >= b for a, b in pairwise(times)):
            wrong.append((("tilts",), "must be sorted by their times t"))
        if min(self.board) <= 2.0 * self.radius:
            wrong.append((("board",), f"must have sides longer than the diameter of the ball, {2.0 * self.radius:g}"))
        complain(wrong)
        return self

    def build(self, seed: int) -> AnyProblem:
        times = np.array([tilt.t for tilt in self.tilts])
        tilted = partial(_tilted, times, [tilt.velocity for tilt in self.tilts])
        within: ConstraintSet = Box([0.0, 0.0], self.board, radii=self.radius)
        if self.holes:
            within = within & Outside(self.holes, self.hole, radii=self.radius)
        return Sweeping(q0=self.q0, velocity=tilted, within=within)


def _tilted(times: Array, velocities: Sequence[tuple[Number, ...]], t: float, q: Array) -> tuple[Number, ...]:
    """The velocity of the last tilt that began at t or before."""
    return velocities[int(np.searchsorted(times, t, side="right")) - 1]
