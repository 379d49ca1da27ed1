"""Walls of grains, one table for each: planes, boxes, segments, polygons, balls, bowls and vessels."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Annotated, ClassVar, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from jostle._tools.arrays import Array, Booleans, InTime
from jostle.scenarios.fields import Complaint, Corner, Part, Path, Point, Positive, Table, Vector, complain
from jostle.scenarios.movement import Movement, Shaken, Turning
from jostle.sets.base import ConstraintSet
from jostle.sets.polygons import Polygons
from jostle.sets.vessels import Vessel as VesselWall
from jostle.sets.walls import Box as BoxWall
from jostle.sets.walls import HalfSpace, Inside, Outside, Segments

MAX_POINTS = 10_000
"""Largest number of points of a wall."""


class Wall(Table):
    """The keys that all walls have."""

    only: ClassVar[int | None] = None
    """Dimension in which this kind of wall exists; None means both."""
    shaken: Shaken | None = Field(None, description="Oscillation of the wall along a line.")
    e: Part | None = Field(
        None, description="Restitution coefficient of grains on this wall; by default that between grains."
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
        for name in ("shaken", "turning"):
            table = getattr(self, name, None)
            for key in ("direction", "axis"):
                vector = getattr(table, key, None)
                if vector is not None and not any(vector):
                    yield (*path, name, key), "must not be zero"

    def movement(self, d: int) -> Movement:
        return Movement(d, self.shaken, getattr(self, "turning", None))

    @property
    def moves(self) -> bool:
        return bool(self.movement(2))

    def build(self, radii: InTime, d: int) -> ConstraintSet:
        """The constraint set of the library for balls with the given radii."""
        raise NotImplementedError

    def surrounds(self, x: Array) -> Booleans:
        """(m,) whether points (m, d) are on the side of the grains; only bowls and vessels have sides."""
        return np.ones(len(x), dtype=bool)


class Turns(Wall):
    """The keys of walls that may also turn."""

    turning: Turning | None = Field(None, description="Rotation of the wall around a centre.")


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
        pairs = zip(self.lower, self.upper, strict=False)
        complain([] if all(a < b for a, b in pairs) else [(("upper",), f"must be above lower = {list(self.lower)}")])
        return self

    def build(self, radii: InTime, d: int) -> ConstraintSet:
        moves = self.movement(d)
        lower, upper = np.array(self.lower), np.array(self.upper)
        return BoxWall(moves.points(lower), moves.points(upper), radii=radii)


class Path2D(Turns):
    """Thin straight walls from each point to the next."""

    only: ClassVar[int | None] = 2
    kind: Literal["segments"] = Field(description="Thin straight walls from each point to the next (2-D).")
    points: Annotated[tuple[Point, ...], Field(min_length=2, max_length=MAX_POINTS, strict=False)] = Field(
        description="Two points [x, y] or more (m); repeat the first at the end to close the path."
    )

    def build(self, radii: InTime, d: int) -> ConstraintSet:
        points = np.array(self.points)
        return Segments(self.movement(d).points(np.stack([points[:-1], points[1:]], axis=1)), radii=radii)


class Polygon(Turns):
    """A convex obstacle with straight sides."""

    only: ClassVar[int | None] = 2
    kind: Literal["polygon"] = Field(description="A convex obstacle with straight sides (2-D).")
    corners: Annotated[tuple[Point, ...], Field(min_length=3, max_length=MAX_POINTS, strict=False)] = Field(
        description="Three corners [x, y] or more (m), in order around it."
    )

    def build(self, radii: InTime, d: int) -> ConstraintSet:
        return Polygons(self.movement(d).points(np.array(self.corners)), radii=radii)


class Balls(Turns):
    """Round obstacles."""

    vectors: ClassVar[tuple[str, ...]] = ("centres",)
    kind: Literal["balls"] = Field(description="Round obstacles: discs in 2-D, spheres in 3-D.")
    centres: Annotated[tuple[Vector, ...], Field(min_length=1, max_length=MAX_POINTS, strict=False)] = Field(
        description="Centres of the obstacles (m), one or more."
    )
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
    profile: Annotated[tuple[Point, ...], Field(min_length=2, max_length=MAX_POINTS, strict=False)] = Field(
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
        """(m,) whether points can be reached from the axis, at their height, without crossing the wall."""
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


AnyWall = Annotated[Plane | Box | Path2D | Polygon | Balls | Bowl | Vessel, Field(discriminator="kind")]
