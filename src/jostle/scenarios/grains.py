"""kind = "grains": discs or spheres that fall, flow, swell or are shaken, between walls or in a periodic space."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import reduce
from operator import and_
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
from pydantic import Discriminator, Field, Tag, model_validator

from jostle._tools.arrays import Array
from jostle.laws import ImpactLaw, Restitution
from jostle.problems import Motion
from jostle.scenarios.endings import nobody_left
from jostle.scenarios.fields import (
    MAX_BODIES,
    Complaint,
    Corner,
    Count,
    CountOrNone,
    Number,
    Part,
    Path,
    Positive,
    Vector,
    allowed,
    complain,
    shape_of,
)
from jostle.scenarios.gates import OutletTable, SourceTable
from jostle.scenarios.problem import Built, Change, ProblemTable, belongs_to
from jostle.scenarios.radii import Radii, Swelling, drawn, in_time
from jostle.scenarios.starts import Points, Start
from jostle.scenarios.walls import AnyWall
from jostle.schemes.base import EXCHANGE, MOVING, RESTITUTION, VARIED_RESTITUTION
from jostle.sets.balls import Balls
from jostle.sets.base import ConstraintSet

MAX_WALLS = 1000
"""Largest number of walls, outlets or sources."""
Several = Field(default=(), max_length=MAX_WALLS, strict=False)
Gravity = Annotated[
    Annotated[Number, allowed("a number, or a list with one number for each axis"), Tag("<one>")]
    | Annotated[Vector, Tag("<list>")],
    Discriminator(lambda value: shape_of(value) if isinstance(value, list | tuple) else "<one>"),
]


class Grains(ProblemTable):
    """Discs in the plane (dimension 2) or spheres in space (dimension 3). The last axis is vertical."""

    vectors: ClassVar[tuple[str, ...]] = ("gravity", "velocity", "period")
    endings: ClassVar[tuple[str, ...]] = ("never", "at_rest", "empty", "below", "jammed")
    tol: ClassVar[float | None] = 1e-6

    kind: Literal["grains"] = Field(description="Discs or spheres that never overlap.")
    dimension: Literal[2, 3] = Field(description="2 for discs in the plane, 3 for spheres in space.")
    n: Count | None = Field(None, description="Number of grains; not needed if points or radii are lists.")
    radii: Radii = Field(
        description="Radius (m): one number, a list with one for each grain, { uniform = [smallest, largest] } or "
        "{ mixture = [{ radius = ..., share = ... }, ...] }."
    )
    swelling: Swelling | None = Field(None, description="All radii grow in time.")
    density: Positive | None = Field(
        None, description="Mass per volume (kg/m^3), in 2-D per area (kg/m^2); 1000 by default."
    )
    masses: Annotated[tuple[Positive, ...], Field(min_length=1, max_length=MAX_BODIES, strict=False)] | None = Field(
        None, description="Masses (kg), one for each grain, instead of a density."
    )
    e: Part = Field(0.0, description="Restitution coefficient: 0 for no rebound, 1 for a rebound without loss.")
    gravity: Gravity = Field(
        9.81, description="Gravitational acceleration (m/s^2): a number, downwards, or a list with one for each axis."
    )
    velocity: Vector | None = Field(None, description="Velocity of all grains at the start (m/s); zero by default.")
    period: Corner | None = Field(None, description="Periods of space (m), one for each axis; inf along open axes.")
    start: Start | None = Field(
        None, description="Positions of the grains at t = 0. Without this table all grains wait for a source."
    )
    waiting: CountOrNone | None = Field(
        None, description="Number of grains that wait for a source, counted from the end of the lists."
    )
    walls: Annotated[tuple[AnyWall, ...], Several] = Field((), description="Walls and obstacles.")
    outlets: Annotated[tuple[OutletTable, ...], Several] = Field((), description="Where grains are removed.")
    sources: Annotated[tuple[SourceTable, ...], Several] = Field((), description="Where waiting grains enter.")

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        complain([*self.of_dimension(self.dimension), *self._numbers(), *self._waits()])
        return self

    def _numbers(self) -> Iterator[Complaint]:
        """Errors about lists that do not have one entry for each grain."""
        n, lists = self._number(), {("radii",): self.radii, ("masses",): self.masses}
        if isinstance(self.start, Points) and not self._waiting():
            lists[("start", "points")] = self.start.points  # type: ignore[index, assignment]
        if n is None:
            yield ("n",), "missing; set the number of grains"
            return
        for path, entries in lists.items():
            if isinstance(entries, tuple) and len(entries) != n:
                hint = "; a range of radii is { uniform = [smallest, largest] }" if path == ("radii",) else ""
                yield path, f"must have one entry for each of the {n} grains, not {len(entries)}{hint}"
        if self.density is not None and self.masses is not None:
            yield ("masses",), "must not be given together with a density"
        if self.period is not None and not all(length > 0.0 for length in self.period):
            yield ("period",), "must be positive; inf along open axes"

    def _waits(self) -> Iterator[Complaint]:
        n, waiting = self._number(), self._waiting()
        if n is None:
            return
        if waiting > n:
            yield ("waiting",), f"must be at most n = {n}"
        elif waiting < n and self.start is None:
            yield ("start",), f"missing; {n - waiting} grains do not wait for a source and need a place"
        elif waiting == n and self.start is not None:
            yield ("start",), "must be left out if all grains wait for a source"
        if waiting and not self.sources:
            yield ("sources",), f"missing; {waiting} grains wait for a source"
        if self.sources and not waiting:
            yield ("waiting",), "missing; set the number of grains that wait for a source"
        if isinstance(self.start, Points) and waiting and len(self.start.points) != n - waiting:
            yield ("start", "points"), f"must be {n - waiting} points, one for each grain that does not wait"

    def _number(self) -> int | None:
        if self.n is not None:
            return self.n
        lists: list[Any] = [self.radii, self.masses]
        if isinstance(self.start, Points):
            lists.insert(0, self.start.points)
        found = [len(entries) for entries in lists if isinstance(entries, tuple)]
        return found[0] if found else None

    def _waiting(self) -> int:
        if self.waiting is not None:
            return self.waiting
        return (self._number() or 0) if self.start is None else 0

    def scheme(self) -> str:
        return "maury" if not self.rebounds else "moreau_jean"

    @property
    def rebounds(self) -> list[Path]:
        """The keys that ask for a rebound."""
        walls: list[Path] = [("walls", k, "e") for k, wall in enumerate(self.walls) if wall.e]
        return ([("e",)] if self.e > 0.0 else []) + walls

    def ending(self) -> str:
        return "jammed" if self.swelling is not None else "empty" if self.outlets else "never"

    def needs(self) -> dict[str, Path]:
        moving: list[Path] = [("walls", k) for k, wall in enumerate(self.walls) if wall.moves]
        asked: dict[str, list[Path]] = {
            RESTITUTION: self.rebounds,
            VARIED_RESTITUTION: [("walls", k, "e") for k, wall in enumerate(self.walls) if wall.e is not None],
            MOVING: ([("swelling",)] if self.swelling is not None else []) + moving,
            EXCHANGE: [(name,) for name in ("outlets", "sources") if getattr(self, name)],
        }
        return {need: paths[0] for need, paths in asked.items() if paths}

    def refuses_ending(self, kind: str) -> Iterator[str]:
        if kind == "jammed" and self.swelling is None:
            yield 'can be "jammed" only if the grains swell (problem.swelling)'
        if kind == "empty" and not self.outlets:
            yield 'can be "empty" only if there is an outlet (problem.outlets)'

    def build(self, seed: int) -> Built:
        d, n, waiting = self.dimension, self._number() or 0, self._waiting()
        random = np.random.default_rng(seed)
        sizes = drawn(self.radii, n, random)
        within = self._within(sizes)
        here = np.arange(n) < n - waiting
        q0 = np.zeros((n, d))
        if self.start is not None:
            with belongs_to("start"):
                q0[here] = self.start.build(sizes[here], self.walls, self.period, random)
        mass = self._masses(sizes)
        problem = Motion(
            q0=q0, v0=self.velocity or 0.0, mass=mass, force=np.outer(mass, self._acceleration()), within=within,
            law=self._law(within), present=here if waiting else None,
        )  # fmt: skip
        return Built(problem, self._change(within, seed), nobody_left)

    def _within(self, sizes: Array) -> ConstraintSet:
        radii = in_time(sizes, self.swelling)
        with belongs_to("period"):
            sets: list[ConstraintSet] = [Balls(radii, period=self.period)]
        for k, wall in enumerate(self.walls):
            with belongs_to("walls", k):
                sets.append(wall.build(radii, self.dimension))
        return reduce(and_, sets)

    def _law(self, within: ConstraintSet) -> ImpactLaw:
        """One number for all contacts, or a table if a wall has its own.

        The sets of the walls follow that of the balls, in the order of the walls.
        """
        if all(wall.e is None for wall in self.walls):
            return Restitution(self.e)
        between, number = {}, 0
        for wall, Q in zip(self.walls, within.sets[1:], strict=True):  # type: ignore[attr-defined]
            for _ in Q.names:
                between[f"wall {number}"] = self.e if wall.e is None else wall.e
                number += 1
        return Restitution(between, otherwise=self.e)

    def _masses(self, radii: Array) -> Array:
        if self.masses is not None:
            return np.array(self.masses)
        density = 1000.0 if self.density is None else self.density
        return density * (math.pi * radii**2 if self.dimension == 2 else 4.0 / 3.0 * math.pi * radii**3)

    def _acceleration(self) -> Array:
        if isinstance(self.gravity, tuple):
            return np.array(self.gravity)
        return np.append(np.zeros(self.dimension - 1), -self.gravity)

    def _change(self, within: ConstraintSet, seed: int) -> tuple[Change, ...]:
        changes: list[Any] = []
        for k, source in enumerate(self.sources):
            with belongs_to("sources", k):
                changes.append(source.build(within, seed + k))
        return (*changes, *(outlet.build(self.dimension) for outlet in self.outlets))
