"""kind = "grains": discs or spheres that fall, flow, swell or are shaken, between walls or in a periodic space.

With a law of friction they turn. Rigid clumps of balls take the place of single ones.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from functools import partial, reduce
from operator import and_
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self, TypeAlias

import numpy as np
from pydantic import Field, Tag, model_validator

from jostle._tools.arrays import Array, Booleans, Integers, InTime
from jostle.laws import ConvexFriction, Coulomb, ImpactLaw, Restitution
from jostle.models.movements import Movement, Shaken, Turning
from jostle.models.starts import DEFAULT_SPACING, lattice_places, random_sequential, square_lattice, triangular_lattice
from jostle.plans.outlines import segments_of
from jostle.problems import Change, Ending, Motion
from jostle.run.exchange import Outlet, Source
from jostle.scenarios.fields import (
    MAX_BODIES,
    Complaint,
    Corner,
    Corners,
    Count,
    CountOrNone,
    Line,
    Made,
    Multiple,
    NotNegative,
    Number,
    Part,
    Positive,
    PositiveList,
    PositiveOrList,
    Table,
    Vector,
    allowed,
    by_shape,
    complain,
    made,
    many,
    table_of,
)
from jostle.scenarios.problem import AnyProblem, ProblemTable, belongs_to
from jostle.scenarios.toml import Path
from jostle.schemes.capabilities import EXCHANGE, MOVING, RESTITUTION, TURNING, VARIED_RESTITUTION
from jostle.sets.balls import Balls
from jostle.sets.base import ConstraintSet
from jostle.sets.clumps import Clumps
from jostle.sets.polygons import Polygons
from jostle.sets.vessels import Vessel as VesselWall
from jostle.sets.walls import Box as BoxWall
from jostle.sets.walls import HalfSpace, Inside, Outside, Segments
from jostle.stopping import Empty

if TYPE_CHECKING:  # type checkers do not know classes that are made here
    ShakenTable: TypeAlias = Any
    TurningTable: TypeAlias = Any
else:
    ShakenTable = table_of(Shaken, values={"direction": Vector}, base=Made)
    TurningTable = table_of(Turning, values={"centre": Vector, "axis": Vector}, base=Made)


class Wall(Table):
    """The keys that all walls have."""

    only: ClassVar[int | None] = None
    """Dimension in which this kind of wall exists; None means both."""
    shaken: ShakenTable | None = Field(None, description="Oscillation of the wall along a line.")
    e: Part | None = Field(
        None, description="Restitution coefficient of grains on this wall; by default that between grains."
    )
    mu: NotNegative | None = Field(
        None, description="Friction coefficient of grains on this wall; by default that between grains."
    )
    rolling: NotNegative | None = Field(
        None, description="Rolling resistance of grains on this wall (m); by default that between grains."
    )
    surface_velocity: Vector | None = Field(
        None,
        description="Velocity of the surface of the wall along itself (m/s), like that of a belt. A wall that is "
        "shaken or turns adds the velocity of its movement.",
    )

    def of_dimension(self, d: int, path: Path = ()) -> Iterator[Complaint]:
        if self.only not in (None, d):
            yield (*path, "kind"), f"is available in dimension {self.only} only"
            return
        turning = getattr(self, "turning", None)
        if d == 2 and turning is not None and turning.axis is not None:
            yield (*path, "turning", "axis"), "must be left out in dimension 2, where walls turn in the plane"
            return
        yield from super().of_dimension(d, path)
        if self.surface_velocity is not None and len(self.surface_velocity) != d:
            given = len(self.surface_velocity)
            yield (*path, "surface_velocity"), f"must have {d} numbers, one for each dimension, not {given}"
        for name in ("shaken", "turning"):
            table = getattr(self, name, None)
            for key in ("direction", "axis"):
                vector = getattr(table, key, None)
                if vector is not None and not any(vector):
                    yield (*path, name, key), "must not be zero"

    def movement(self, d: int) -> Movement:
        return Movement(d, shaken=made(self.shaken), turning=made(getattr(self, "turning", None)))

    @property
    def moves(self) -> bool:
        return bool(self.movement(2))

    def surface(self, d: int) -> Any:
        """The `surface_velocity` for laws of friction; None if the surface is at rest."""
        moves = self.movement(d)
        if not moves:
            return self.surface_velocity
        belt = np.zeros(d) if self.surface_velocity is None else np.array(self.surface_velocity)
        return partial(_surface, moves, belt)

    def build(self, radii: InTime, d: int) -> ConstraintSet:
        """The constraint set of the library for balls with the given radii."""
        raise NotImplementedError

    def surrounds(self, x: Array) -> Booleans:
        """(m,) whether points (m, d) are on the side of the grains; only bowls and vessels have sides."""
        return np.ones(len(x), dtype=bool)


def _surface(moves: Movement, belt: Array, t: float, x: Array) -> Array:
    return moves.velocity(t, x) + belt


class Turns(Wall):
    """The keys of walls that may also turn."""

    turning: TurningTable | None = Field(None, description="Rotation of the wall around a centre.")


class Plane(Turns):
    """One side of a plane, or of a line in 2-D: normal . q >= offset |normal|."""

    vectors: ClassVar[tuple[str, ...]] = ("normal", "through")
    kind: Literal["plane"] = Field(description="A plane, or a line in 2-D.")
    normal: Vector = Field(description="Direction from the wall to the side of the grains.")
    through: Vector | None = Field(None, description="A point of the wall (m); the origin by default.")

    @model_validator(mode="after")
    def _has_a_normal(self) -> Self:
        complain([] if any(self.normal) else [(("normal",), "must not be zero")])
        return self

    def build(self, radii: InTime, d: int) -> ConstraintSet:
        moves = self.movement(d)
        normal = np.array(self.normal) / np.linalg.norm(self.normal)
        through = np.zeros(d) if self.through is None else np.array(self.through)
        if not moves:
            return HalfSpace(normal, normal @ through, radii=radii)
        return HalfSpace(moves.directions(normal), partial(moves.offset, normal, through), radii=radii)


class Box(Wall):
    """The inside of a box."""

    vectors: ClassVar[tuple[str, ...]] = ("lower", "upper")
    kind: Literal["box"] = Field(description="The inside of a box.")
    lower: Corner = Field(description="Lowest coordinates (m) of the box, one for each axis; -inf where it is open.")
    upper: Corner = Field(description="Highest coordinates (m) of the box, one for each axis; inf where it is open.")

    @model_validator(mode="after")
    def _is_not_empty(self) -> Self:
        complain(_ordered(self.lower, self.upper))
        return self

    def build(self, radii: InTime, d: int) -> ConstraintSet:
        moves = self.movement(d)
        lower, upper = np.array(self.lower), np.array(self.upper)
        return BoxWall(moves.points(lower), moves.points(upper), radii=radii)


class Path2D(Turns):
    """Thin straight walls from each point to the next."""

    only: ClassVar[int | None] = 2
    kind: Literal["segments"] = Field(description="Thin straight walls from each point to the next (2-D).")
    points: Line = Field(description="Two points [x, y] or more (m); repeat the first at the end to close the path.")

    def build(self, radii: InTime, d: int) -> ConstraintSet:
        return Segments(self.movement(d).points(segments_of(np.array(self.points))), radii=radii)


class Polygon(Turns):
    """A convex obstacle with straight sides."""

    only: ClassVar[int | None] = 2
    kind: Literal["polygon"] = Field(description="A convex obstacle with straight sides (2-D).")
    corners: Corners = Field(description="Three corners [x, y] or more (m), in order around it.")

    def build(self, radii: InTime, d: int) -> ConstraintSet:
        return Polygons(self.movement(d).points(np.array(self.corners)), radii=radii)


class Obstacles(Turns):
    """Round obstacles."""

    vectors: ClassVar[tuple[str, ...]] = ("centres",)
    kind: Literal["balls"] = Field(description="Round obstacles: discs in 2-D, spheres in 3-D.")
    centres: Annotated[tuple[Vector, ...], many(1)] = Field(description="Centres of the obstacles (m), one or more.")
    radius: Positive = Field(description="Radius of the obstacles (m).")

    def build(self, radii: InTime, d: int) -> ConstraintSet:
        return Outside(self.movement(d).points(np.array(self.centres)), self.radius, radii=radii)


class Bowl(Turns):
    """A round container."""

    vectors: ClassVar[tuple[str, ...]] = ("centre",)
    kind: Literal["bowl"] = Field(description="The inside of a disc in 2-D, of a sphere in 3-D.")
    centre: Vector = Field(description="Centre of the bowl (m).")
    radius: Positive = Field(description="Radius of the bowl (m).")

    def build(self, radii: InTime, d: int) -> ConstraintSet:
        return Inside(self.movement(d).points(np.array(self.centre)), self.radius, radii=radii)

    def surrounds(self, x: Array) -> Booleans:
        return np.asarray(np.linalg.norm(x - np.array(self.centre), axis=1) < self.radius)


class Vessel(Turns):
    """A surface of revolution: cylinder, funnel, silo, hourglass."""

    only: ClassVar[int | None] = 3
    vectors: ClassVar[tuple[str, ...]] = ("base", "axis")
    kind: Literal["vessel"] = Field(description="A surface of revolution around an axis (3-D).")
    profile: Line = Field(
        description="Outline of the vessel: two points [radius, height] or more (m), from one end to the other."
    )
    base: Vector = Field((0.0, 0.0, 0.0), description="Point of the axis from which heights are measured (m).")
    axis: Vector = Field((0.0, 0.0, 1.0), description="Direction of the axis.")

    @model_validator(mode="after")
    def _can_be_turned(self) -> Self:
        wrong: list[Complaint] = [
            (("profile", k), "must be [radius, height] with radius >= 0")
            for k, (radius, _) in enumerate(self.profile)
            if radius < 0.0
        ]
        complain(wrong + ([] if any(self.axis) else [(("axis",), "must not be zero")]))
        return self

    def build(self, radii: InTime, d: int) -> ConstraintSet:
        moves = self.movement(d)
        base, axis = moves.points(np.array(self.base)), moves.directions(np.array(self.axis))
        return VesselWall(np.array(self.profile), radii=radii, base=base, axis=axis)

    def surrounds(self, x: Array) -> Booleans:
        # (m,) whether points can be reached from the axis, at their height, without crossing the wall.
        from_base, axis = x - np.array(self.base), np.array(self.axis) / np.linalg.norm(self.axis)
        z = from_base @ axis
        rho = np.linalg.norm(from_base - z[:, None] * axis, axis=1)
        inside = np.ones(len(x), dtype=bool)
        for (r0, z0), (r1, z1) in zip(self.profile[:-1], self.profile[1:], strict=True):
            if z0 == z1:
                continue
            part = (z - z0) / (z1 - z0)
            inside &= ~((part >= 0.0) & (part <= 1.0) & (r0 + part * (r1 - r0) < rho))
        return inside


AnyWall = Annotated[Plane | Box | Path2D | Polygon | Obstacles | Bowl | Vessel, Field(discriminator="kind")]


class Size(Table):
    """One of the sizes of a mixture."""

    radius: Positive = Field(description="Radius of the grains of this size (m).")
    share: Positive = Field(1.0, description="Relative number of grains of this size.")


class Spread(Table):
    """Grains of several sizes: give either a range or a mixture."""

    uniform: Annotated[tuple[Positive, ...], many(2, 2)] | None = Field(
        None, description="The smallest and the largest radius (m) of a uniform distribution."
    )
    mixture: Annotated[tuple[Size, ...], many(1, 100)] | None = Field(
        None, description="A few sizes, each with its share of the number of grains."
    )

    @model_validator(mode="after")
    def _one_of_them(self) -> Self:
        given = [name for name in ("uniform", "mixture") if getattr(self, name) is not None]
        if len(given) != 1:
            what = "both are given" if given else "neither is given"
            complain([((), f"must have either uniform = [smallest, largest] or mixture = [...]; {what}")])
        if self.uniform is not None and self.uniform[0] > self.uniform[1]:
            complain([(("uniform",), "must be [smallest, largest], in this order")])
        return self


Radii = Annotated[
    Annotated[Positive, allowed("a positive number, a list of them, or { uniform = [from, to] }"), Tag("<one>")]
    | Annotated[PositiveList, Tag("<list>")]
    | Annotated[Spread, Tag("<table>")],
    by_shape("<one>", "<list>", "<table>"),
]


def drawn(radii: float | tuple[float, ...] | Spread, n: int, random: np.random.Generator) -> Array:
    """(n,) radii; those of a mixture in random order."""
    if isinstance(radii, float):
        return np.full(n, radii)
    if isinstance(radii, tuple):
        return np.array(radii)
    if radii.uniform is not None:
        return random.uniform(radii.uniform[0], radii.uniform[1], n)
    assert radii.mixture is not None
    return random.permutation(np.array([size.radius for size in radii.mixture])[_of_each(radii.mixture, n)])


def _of_each(tables: Sequence[Size | ClumpTable], n: int) -> Integers:
    """(n,) the numbers of tables that share n grains, in their order."""
    shares = np.array([table.share for table in tables])
    ends = np.round(np.cumsum(shares / shares.sum()) * n).astype(int)
    return np.repeat(np.arange(len(tables)), np.diff(ends, prepend=0))


class Swelling(Table):
    """All radii grow in proportion: r(t) = (1 + rate t) r(0), up to a limit if there is one."""

    rate: Positive = Field(description="Growth per second, as a fraction of the radius at the start (1/s).")
    most: Multiple | None = Field(
        None, description="Largest radius, as a multiple of the radius at the start; unlimited by default."
    )

    def of(self, radii: Array) -> Callable[[float], Array]:
        """The radii as a function of time."""
        most = np.inf if self.most is None else self.most
        return partial(_swollen, radii, self.rate, most)


def _swollen(radii: Array, rate: float, most: float, t: float) -> Array:
    return radii * min(1.0 + rate * t, most)


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
        lattice = triangular_lattice if self.lattice == "triangular" else square_lattice
        box, free = (self.lower, self.upper), partial(_free, walls)
        return lattice_places(radii, box=box, lattice=lattice, loose=self.loose, free=free, seed=random)


def _free(walls: Sequence[AnyWall], x: Array, radius: float) -> Booleans:
    """(m,) whether balls at points (m, d) are on the right side of all walls and overlap none."""
    free = np.ones(len(x), dtype=bool)
    for wall in walls:
        free &= wall.surrounds(x) & _fits(wall.build(radius, x.shape[1]), x)
    return free


PLACES_PER_BLOCK = 10_000
"""Number of places checked at the same time, which limits the memory: a vessel has about 100 gaps for each place."""


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
        """(n, d) places."""
        box = None if self.lower is None or self.upper is None else (np.array(self.lower), np.array(self.upper))
        length = None if period is None else np.asarray(period, dtype=float)
        return random_sequential(radii, box=box, period=length, seed=random)


class Points(Table):
    """Given points."""

    vectors: ClassVar[tuple[str, ...]] = ("points",)
    kind: Literal["points"] = Field(description="Given points.")
    points: Annotated[tuple[Vector, ...], many(1, MAX_BODIES)] = Field(
        description="Centres of the grains (m), one for each."
    )

    def build(self, radii: Array, walls: Sequence[AnyWall], period: object, random: np.random.Generator) -> Array:
        """(n, d) places."""
        return np.array(self.points)


Start = Annotated[Lattice | Random | Points, Field(discriminator="kind")]

AXES = "xyz"


class OutletTable(Table):
    """Grains whose centre is beyond a coordinate are removed."""

    below: Number | None = Field(None, description="Grains below this height (m) are removed.")
    above: Number | None = Field(None, description="Grains above this height (m) are removed.")
    axis: Literal["x", "y", "z"] | None = Field(
        None, description="Axis along which heights are measured; by default the vertical, which is the last axis."
    )

    @model_validator(mode="after")
    def _says_where(self) -> Self:
        if self.below is None and self.above is None:
            complain([((), "must have below = ... or above = ...")])
        return self

    def of_dimension(self, d: int, path: Path = ()) -> Iterator[Complaint]:
        if self.axis == "z" and d == 2:
            yield (*path, "axis"), 'must be "x" or "y" in dimension 2'

    def build(self, d: int) -> Outlet:
        axis = d - 1 if self.axis is None else AXES.index(self.axis)
        below = -np.inf if self.below is None else self.below
        above = np.inf if self.above is None else self.above
        return Outlet(partial(_beyond, axis, below, above))


def _beyond(axis: int, below: float, above: float, q: Array) -> Booleans:
    return np.asarray((q[:, axis] < below) | (q[:, axis] > above))


class SourceTable(Table):
    """Waiting grains enter at random places in a box."""

    vectors: ClassVar[tuple[str, ...]] = ("lower", "upper", "velocity")
    lower: Vector = Field(description="Lowest coordinates (m) of the box in which grains appear.")
    upper: Vector = Field(description="Highest coordinates (m) of the box in which grains appear.")
    rate: Positive = Field(description="Number of grains that enter per second (1/s).")
    velocity: Vector | None = Field(None, description="Velocity with which grains enter (m/s); zero by default.")

    @model_validator(mode="after")
    def _is_a_box(self) -> Self:
        pairs = zip(self.lower, self.upper, strict=False)
        complain([] if all(a <= b for a, b in pairs) else [(("upper",), f"must be above lower = {list(self.lower)}")])
        return self

    def build(self, within: ConstraintSet, seed: int) -> Callable[..., object]:
        box = (np.array(self.lower), np.array(self.upper))
        return Source(box, rate=self.rate, within=within, velocity=self.velocity or 0.0, seed=seed)


MAX_SHAPES = 100
"""Largest number of shapes of clumps."""
MAX_WALLS = 1000
"""Largest number of walls, outlets or sources."""
Several = many(0, MAX_WALLS)


class Law(Table):
    """Friction between grains, and of grains on walls. Grains then turn."""

    makes: ClassVar[type[Coulomb]]
    """The law that the table describes."""
    mu: NotNegative = Field(description="Friction coefficient.")
    e: Part = Field(0.0, description="Restitution coefficient: 0 for no rebound, 1 for a rebound without loss.")
    rolling: NotNegative = Field(0.0, description="Rolling resistance, over the normal force (m).")


class CoulombTable(Law):
    """Coulomb's law of friction."""

    makes: ClassVar[type[Coulomb]] = Coulomb
    kind: Literal["coulomb"] = Field(description="Coulomb's law of friction: grains stick, or slide.")


class ConvexTable(Law):
    """The convex relative of Coulomb's law."""

    makes: ClassVar[type[Coulomb]] = ConvexFriction
    kind: Literal["convex_friction"] = Field(
        description="The convex relative of Coulomb's law, in which a grain that slides lifts off a little."
    )


AnyLaw = Annotated[CoulombTable | ConvexTable, Field(discriminator="kind")]


class ClumpTable(Table):
    """A rigid clump of balls."""

    vectors: ClassVar[tuple[str, ...]] = ("arms",)
    arms: Annotated[tuple[Vector, ...], many(1)] = Field(
        description="Centres of the balls (m), seen from their centre of mass."
    )
    radii: PositiveOrList = Field(description="Radii of the balls (m): one for all, or one for each.")
    share: Positive = Field(1.0, description="Relative number of grains of this shape.")

    @model_validator(mode="after")
    def _one_radius_each(self) -> Self:
        if isinstance(self.radii, tuple) and len(self.radii) != len(self.arms):
            complain([(("radii",), f"must have one entry for each of the {len(self.arms)} balls")])
        return self

    @property
    def shape(self) -> tuple[Array, Array]:
        """The arms (k, d) and the radii (k,)."""
        return np.array(self.arms), np.broadcast_to(np.array(self.radii), (len(self.arms),)).astype(float)


Gravity = Annotated[
    Annotated[Number, allowed("a number, or a list with one number for each axis"), Tag("<one>")]
    | Annotated[Vector, Tag("<list>")],
    by_shape("<one>", "<list>"),
]


def shared(clumps: Sequence[ClumpTable], n: int, random: np.random.Generator) -> list[tuple[Array, Array]]:
    """The shapes (arms, radii) of n clumps, in random order."""
    shapes = [one.shape for one in clumps]
    return [shapes[kind] for kind in random.permutation(_of_each(clumps, n))]


def _volumes(radii: Array, d: int) -> Array:
    """Areas of discs, or volumes of spheres."""
    return np.asarray(math.pi * radii**2 if d == 2 else 4.0 / 3.0 * math.pi * radii**3)


class Passing(Motion):
    """A motion of grains that come and go."""

    _changes: tuple[Change, ...]

    def __init__(self, changes: tuple[Change, ...], **motion: Any):
        super().__init__(**motion)
        object.__setattr__(self, "_changes", changes)

    def changes(self) -> tuple[Change, ...]:
        return self._changes

    def ending(self) -> Ending | None:
        return Empty() if self._changes else None


class Grains(ProblemTable):
    """Discs in the plane (dimension 2) or spheres in space (dimension 3), or clumps. The last axis is vertical."""

    vectors: ClassVar[tuple[str, ...]] = ("gravity", "velocity", "period")
    endings: ClassVar[tuple[str, ...]] = ("never", "at_rest", "empty", "below", "jammed")
    kind: Literal["grains"] = Field(description="Discs or spheres that never overlap.")
    dimension: Literal[2, 3] = Field(description="2 for discs in the plane, 3 for spheres in space.")
    n: Count | None = Field(None, description="Number of grains; not needed if points or radii are lists.")
    radii: Radii | None = Field(
        description="Radius (m): one number, a list with one for each grain, { uniform = [smallest, largest] } or "
        "{ mixture = [{ radius = ..., share = ... }, ...] }."
    )
    clumps: Annotated[tuple[ClumpTable, ...], many(0, MAX_SHAPES)] = Field(
        (), description="Shapes of rigid clumps of balls, each with its share of the number of grains; they are turned "
        "at random at the start.",
    )  # fmt: skip
    swelling: Swelling | None = Field(None, description="All radii grow in time.")
    density: Positive | None = Field(
        None, description="Mass per volume (kg/m^3), in 2-D per area (kg/m^2); 1000 by default."
    )
    masses: PositiveList | None = Field(None, description="Masses (kg), one for each grain, instead of a density.")
    e: Part = Field(
        0.0,
        description="Restitution coefficient: 0 for no rebound, 1 for a rebound without loss. A law of friction has "
        "its own.",
    )
    law: AnyLaw | None = Field(None, description="Friction; none by default.")
    spin: Gravity | None = Field(
        None, description="Angular velocity of all grains at the start (rad/s): a number in 2-D, three in 3-D."
    )
    inertia: PositiveOrList | None = Field(
        None, description="Moments of inertia (kg m^2), one for all or one for each grain; of solid bodies by default."
    )
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

    @model_validator(mode="before")
    @classmethod
    def _radii_of_clumps(cls, data: Any) -> Any:
        """The keys, without radii if there are clumps, which have radii of their own."""
        if isinstance(data, dict) and data.get("clumps") and "radii" not in data:
            return {**data, "radii": None}
        return data

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        complain([*self.of_dimension(self.dimension), *self._numbers(), *self._waits(), *self._turns()])
        return self

    def _turns(self) -> Iterator[Complaint]:
        """Errors about friction, spins and clumps."""
        if self.radii is not None and self.clumps:
            yield ("radii",), "must be left out if there are clumps"
        for name in ("swelling", "period", "outlets", "sources") if self.clumps else ():
            if getattr(self, name):
                yield (name,), "must be left out if there are clumps"
        if self.law is not None and "e" in self.model_fields_set:
            yield ("e",), "must be a key of the law, if there is one"
        turning = self.law is not None or self.clumps
        for name in ("spin", "inertia") if not turning else ():
            if getattr(self, name) is not None:
                yield (name,), "needs grains that turn: set a law of friction, or clumps"
        if self.spin is not None and isinstance(self.spin, tuple) != (self.dimension == 3):
            yield ("spin",), "must be a list of three numbers in dimension 3, and one number in dimension 2"
        for k, wall in enumerate(self.walls):
            for name in ("mu", "rolling", "surface_velocity"):
                if self.law is None and getattr(wall, name) is not None:
                    yield ("walls", k, name), "needs a law of friction: set problem.law"

    def _numbers(self) -> Iterator[Complaint]:
        """Errors about lists that do not have one entry for each grain."""
        n, lists = self._number(), {("radii",): self.radii, ("masses",): self.masses, ("inertia",): self.inertia}
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
        between: list[Path] = [("e",) if self.law is None else ("law", "e")] if self._e > 0.0 else []
        return between + walls

    @property
    def _e(self) -> float:
        """The restitution between grains."""
        return self.e if self.law is None else self.law.e

    @property
    def tol(self) -> float | None:  # type: ignore[override]
        """1e-6; with friction that of `solve`, which piles reach."""
        return 1e-6 if self.law is None else None

    def ending(self) -> str:
        return "jammed" if self.swelling is not None else "empty" if self.outlets else "never"

    def needs(self) -> dict[str, Path]:
        moving: list[Path] = [("walls", k) for k, wall in enumerate(self.walls) if wall.moves]
        asked: dict[str, list[Path]] = {
            RESTITUTION: self.rebounds,
            VARIED_RESTITUTION: [("walls", k, "e") for k, wall in enumerate(self.walls) if wall.e is not None],
            MOVING: ([("swelling",)] if self.swelling is not None else []) + moving,
            EXCHANGE: [(name,) for name in ("outlets", "sources") if getattr(self, name)],
            TURNING: [(name,) for name in ("law", "clumps") if getattr(self, name)],
        }
        return {need: paths[0] for need, paths in asked.items() if paths}

    def refuses_ending(self, kind: str) -> Iterator[str]:
        if kind == "jammed" and self.swelling is None:
            yield 'can be "jammed" only if the grains swell (problem.swelling)'
        if kind == "empty" and not self.outlets:
            yield 'can be "empty" only if there is an outlet (problem.outlets)'

    def build(self, seed: int) -> AnyProblem:
        d, n, waiting = self.dimension, self._number() or 0, self._waiting()
        random = np.random.default_rng(seed)
        shapes = shared(self.clumps, n, random) if self.clumps else ()
        if self.radii is None:
            sizes = np.array([(np.linalg.norm(arms, axis=1) + radii).max() for arms, radii in shapes])
        else:
            sizes = drawn(self.radii, n, random)
        within = self._within(sizes, shapes)
        here = np.arange(n) < n - waiting
        q0 = np.zeros((n, d))
        if self.start is not None:
            with belongs_to("start"):
                q0[here] = self.start.build(sizes[here], self.walls, self.period, random)
        mass = self._masses(sizes, shapes)
        turned: dict[str, Any] = {}
        if shapes:
            turned["orientation0"] = random.uniform(0.0, 2.0 * math.pi, n) if d == 2 else random.normal(size=(n, 4))
        if self.law is not None or shapes:
            turned |= {"spin0": self.spin or 0.0, "inertia": self.inertia}
        with belongs_to("inertia") if self.inertia is not None else nullcontext():
            return Passing(
                self._changes(within, seed), q0=q0, v0=self.velocity or 0.0, mass=mass, within=within,
                force=np.outer(mass, self._acceleration()), law=self._law(within, n), present=here if waiting else None,
                **turned,
            )  # fmt: skip

    def _within(self, sizes: Array, shapes: Sequence[tuple[Array, Array]]) -> ConstraintSet:
        radii: InTime = sizes if self.swelling is None else self.swelling.of(sizes)
        sets: list[ConstraintSet]
        if shapes:
            with belongs_to("clumps"):
                sets, radii = [Clumps(shapes)], np.concatenate([radii for _, radii in shapes])
        else:
            with belongs_to("period"):
                sets = [Balls(radii, period=self.period)]
        for k, wall in enumerate(self.walls):
            with belongs_to("walls", k):
                sets.append(wall.build(radii, self.dimension))
        return reduce(and_, sets)

    def _law(self, within: ConstraintSet, n: int) -> ImpactLaw:
        """One number for all contacts, or a table if a wall has its own."""
        names = self._wall_names(within)
        between = self._by_wall(names, "e", self._e)
        restitution = Restitution(self._e) if between is None else Restitution(between, default=self._e)
        if self.law is None:
            return restitution
        mu, rolling = self._by_wall(names, "mu", self.law.mu), self._by_wall(names, "rolling", self.law.rolling)
        if rolling is not None:
            rolling = {("grains", "grains"): self.law.rolling, **rolling}
        velocities = {name: wall.surface(self.dimension) for wall, own in names for name in own}
        return self.law.makes(
            self.law.mu if mu is None else mu,
            restitution,
            self.law.rolling if rolling is None else rolling,
            groups={"grains": np.arange(n)},
            default=0.0 if mu is None else self.law.mu,
            surface_velocity={name: given for name, given in velocities.items() if given is not None},
        )

    def _wall_names(self, within: ConstraintSet) -> list[tuple[AnyWall, list[str]]]:
        """The names of the parts of each wall, such as the four sides of a box: "wall 0" and so on."""
        # The sets of the walls follow that of the balls, in the order of the walls.
        found, number = [], 0
        for wall, Q in zip(self.walls, within.sets[1:] if self.walls else (), strict=True):  # type: ignore[attr-defined]
            found.append((wall, [f"wall {number + k}" for k in range(len(Q.row_names))]))
            number += len(Q.row_names)
        return found

    def _by_wall(self, names: list[tuple[AnyWall, list[str]]], key: str, usual: float) -> dict[Any, Any] | None:
        """A coefficient for each part of a wall; None if no wall has its own."""
        given = [(getattr(wall, key), own) for wall, own in names]
        if all(value is None for value, _ in given):
            return None
        return {name: usual if value is None else value for value, own in given for name in own}

    def _masses(self, radii: Array, shapes: Sequence[tuple[Array, Array]]) -> Array:
        if self.masses is not None:
            return np.array(self.masses)
        density = 1000.0 if self.density is None else self.density
        if shapes:
            return density * np.array([_volumes(radii, self.dimension).sum() for _, radii in shapes])
        return density * _volumes(radii, self.dimension)

    def _acceleration(self) -> Array:
        if isinstance(self.gravity, tuple):
            return np.array(self.gravity)
        return np.append(np.zeros(self.dimension - 1), -self.gravity)

    def _changes(self, within: ConstraintSet, seed: int) -> tuple[Change, ...]:
        changes: list[Any] = []
        for k, source in enumerate(self.sources):
            with belongs_to("sources", k):
                changes.append(source.build(within, seed + k))
        return (*changes, *(outlet.build(self.dimension) for outlet in self.outlets))
