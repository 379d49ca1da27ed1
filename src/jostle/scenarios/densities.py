"""kind = "flow", "crowd_density": densities that move on a grid and never exceed one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from jostle._tools.arrays import Array, Booleans
from jostle.errors import InvalidValue
from jostle.laws import Restitution
from jostle.macro.grid import Grid, Velocity
from jostle.macro.motion.problems import Crowd, Flow
from jostle.macro.motion.scheme import DENSITY_SCHEMES
from jostle.scenarios.fields import Complaint, Part, Point, Positive, Share, Table, complain, many
from jostle.scenarios.problem import AnyProblem, ProblemTable, belongs_to
from jostle.scenarios.toml import Path


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


Shapes = Annotated[tuple[Annotated[Box | Disc, Field(discriminator="kind")], ...], many()]
MovingBlocks = Annotated[tuple[Annotated[MovingBox | MovingDisc, Field(discriminator="kind")], ...], many(1)]
FilledBlocks = Annotated[tuple[Annotated[FilledBox | FilledDisc, Field(discriminator="kind")], ...], many(1)]


MAX_CELLS = 4_000_000
"""Largest number of cells of a grid."""
Side = Literal["left", "right", "bottom", "top"]


class DensityTable(ProblemTable):
    """The keys that flows and crowds share: the grid, its walls and its exits."""

    endings: ClassVar[tuple[str, ...]] = ("never", "empty")
    makes: ClassVar[type[Any]]
    """The class of `jostle.macro` that the table describes."""

    lower: Point = Field((0.0, 0.0), description="The lower left corner of the grid, [x, y] (m).")
    upper: Point = Field(description="The upper right corner of the grid, [x, y] (m).")
    cell: Positive = Field(description="Side of a cell (m); a whole number of cells must fill the grid.")
    closed: Annotated[tuple[Side, ...], many(0, 4)] = Field(
        (), description="The sides that are walls: left, right, bottom, top. Mass that crosses another side is removed."
    )
    walls: Shapes = Field((), description="Walls: boxes and discs.")
    exits: Shapes = Field((), description="Exits: mass that enters them is removed.")

    @model_validator(mode="after")
    def _grid_is_not_too_fine(self) -> Self:
        sides = [(high - low) / self.cell for low, high in zip(self.lower, self.upper, strict=True)]
        if min(sides) <= 0.0:
            complain([(("upper",), "must be above and to the right of lower")])
        if sides[0] * sides[1] > MAX_CELLS:
            complain([(("cell",), f"must be larger: the grid would have more than {MAX_CELLS} cells")])
        return self

    def scheme(self) -> str:
        return "splitting"

    def scheme_fits(self, kind: str) -> Iterator[Complaint]:
        """Errors about the kind of the scheme."""
        fitting = [f'"{name}"' for name, scheme in DENSITY_SCHEMES.items() if issubclass(self.makes, scheme.solves)]
        if f'"{kind}"' not in fitting:
            yield ("scheme", "kind"), f'must be {" or ".join(fitting)} for a problem of kind "{self.kind}"'

    def refuses_ending(self, kind: str) -> Iterator[str]:
        if kind == "empty" and len(set(self.closed)) == 4 and not self.exits:
            yield 'must be "never": all sides are closed and there is no exit, so nothing can leave'

    def grid(self) -> Grid:
        with belongs_to("cell"):
            left, right, bottom, top = (side in self.closed for side in ("left", "right", "bottom", "top"))
            return Grid(self.lower, self.upper, self.cell, closed=((left, right), (bottom, top)))

    def _shared(self, grid: Grid, blocks: tuple[Any, ...]) -> dict[str, Any]:
        """The arguments that flows and crowds share."""
        density = np.zeros(grid.shape)
        for k, (block, cells) in enumerate(zip(blocks, _cells(grid, "blocks", blocks), strict=True)):
            with belongs_to("blocks", k):
                if (density[cells] > 0.0).any():
                    raise InvalidValue("overlaps an earlier block: move them apart")
            density[cells] = block.density
        masks = {
            name: np.logical_or.reduce([np.zeros(grid.shape, dtype=bool), *_cells(grid, name, shapes)])
            for name, shapes in (("walls", self.walls), ("exits", self.exits))
        }
        return {"grid": grid, "density": density, **masks}


def _cells(grid: Grid, name: str, shapes: tuple[Any, ...]) -> Iterator[Booleans]:
    """The cells of each shape; one without any centre of a cell, such as a thin wall, is an error with its line."""
    for k, shape in enumerate(shapes):
        with belongs_to(name, k):
            cells = shape.cells(grid)
        yield cells


class FlowTable(DensityTable):
    """Blocks that fly until they collide, with a density of at most one (`jo.macro.Flow`)."""

    makes: ClassVar[type[Any]] = Flow

    kind: Literal["flow"] = Field(description="Blocks of a density that fly freely until they collide.")
    blocks: MovingBlocks = Field(
        description="The density at the start: boxes and discs, each with its density and velocity."
    )
    force: Point = Field((0.0, 0.0), description="Acceleration, the same everywhere, [x, y] (m/s^2).")
    e: Part = Field(0.0, description="Restitution coefficient: 0 for no rebound, 1 for a rebound without loss.")

    def scheme_fits(self, kind: str) -> Iterator[Complaint]:
        wrong = list(super().scheme_fits(kind))
        yield from wrong
        if not wrong and self.e > 0.0 and not DENSITY_SCHEMES.get(kind).bounces:
            able = [f'"{name}"' for name, scheme in DENSITY_SCHEMES.items() if scheme.bounces]
            yield ("problem", "e"), f'must be 0 with the scheme "{kind}"; use {" or ".join(able)}'

    def build(self, seed: int) -> AnyProblem:
        grid = self.grid()
        ux, uy = np.zeros(grid.shape), np.zeros(grid.shape)
        for block in self.blocks:
            cells = block.cells(grid)
            x, y = (centre[cells] for centre in grid.centres)
            ux[cells], uy[cells] = block.field(x, y)
        shared = self._shared(grid, self.blocks)
        return Flow(velocity=grid.velocity(ux, uy), force=self.force, law=Restitution(self.e), **shared)


class CrowdDensityTable(DensityTable, Moves):
    """A crowd as a density; people have a desired velocity or walk to a point (`jo.macro.Crowd`)."""

    makes: ClassVar[type[Any]] = Crowd

    kind: Literal["crowd_density"] = Field(
        description="A crowd as a density; people have a desired velocity or walk to a point."
    )
    blocks: FilledBlocks = Field(description="Where people are at the start: boxes and discs, each with its density.")

    def build(self, seed: int) -> AnyProblem:
        grid = self.grid()
        return Crowd(velocity=self._wish(grid), **self._shared(grid, self.blocks))

    def _wish(self, grid: Grid) -> Velocity:
        return grid.velocity(lambda x, y: self.field(x, y)[0], lambda x, y: self.field(x, y)[1])


def outside_of_densities(tables: dict[str, Table]) -> Iterator[tuple[Path, str]]:
    """Errors about keys that have no meaning for a density; `tables` are the tables of the file."""
    if "solver" in tables:
        yield ("solver",), "must be left out: the schemes for densities have their own solvers"
    for table, names in (("output", ("contacts", "precision")), ("run", ("strict",))):
        for name in names:
            if table in tables and name in tables[table].model_fields_set:
                yield (table, name), "must be left out: it has no meaning for a density"
