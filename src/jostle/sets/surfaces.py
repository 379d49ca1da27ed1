"""Walls as they are at one time: distances of points, their gradients, and their curvatures. Points in, arrays out.

The tables of distances are filled wall by wall, so that the loop over the bodies is the inner one: for k walls and n
bodies they are (k, n) in memory, and (n, k) to the reader.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from jostle import kernels
from jostle._tools.arrays import Array, Booleans, Integers, contiguous, highest, lowest, place_of
from jostle.contacts import of_bodies
from jostle.kernels.parallel import chunks_of

JOINT = 1e-9
"""A path that misses the end of a wall by less than this fraction of its length crosses it: joints are tight."""


class Surfaces:
    """k walls at one time."""

    __slots__ = ()
    tabled: ClassVar[bool] = True
    """True if `near` makes a table of the distances of all bodies to all walls."""
    solid: ClassVar[bool] = False
    """True if the walls have an inside; False if they have two sides."""
    straight: ClassVar[bool] = True
    """True if `hit` is exact for a straight path through walls at rest."""

    def distances(self, x: Array) -> Array:
        """(n, k) of points (n, d)."""
        raise NotImplementedError

    def nearest(self, x: Array) -> Array:
        """(n,) the distances of points (n, d) to the nearest wall; infinite without walls."""
        return np.asarray(self.distances(x).min(axis=1, initial=np.inf))

    def near(self, x: Array, limit: Array | float) -> tuple[Integers, Array]:
        """The rows body k + wall with a distance up to the limit, one or (n,), or NaN; in order, and the distances."""
        distance = self.distances(x)
        far = limit < distance.T
        row = (~far.T).ravel().nonzero()[0]
        return row, distance.ravel()[row]

    def slopes(self, x: Array, wall: Integers) -> tuple[Array, Array | None]:
        """Of m points (m, d), each with one wall (m,): gradients (m, d), zero where there is none; and curvatures."""
        raise NotImplementedError

    def hit(self, after: Any, x: Array, y: Array, wall: Integers) -> Booleans:
        """(m,) which of the paths from x to y, (m, d), go through their wall on its way to where it is in `after`."""
        raise NotImplementedError

    def sway(self, after: Any) -> float:
        """Largest distance that a point of a wall moves to its place in `after`."""
        raise NotImplementedError


@dataclass(frozen=True, eq=False, slots=True)
class Planes(Surfaces):
    """unit_k . x - offset_k; unit (k, d), offset (k,).

    Sums are taken coordinate by coordinate, as by the kernel. In `distances`, a point with a coordinate that is not
    finite has no finite distance to any plane.
    """

    unit: Array
    offset: Array

    def distances(self, x: Array) -> Array:
        heights = self.unit[:, :1] * x[:, 0]
        for c in range(1, x.shape[1]):
            heights += self.unit[:, c, None] * x[:, c]
        heights -= self.offset[:, None]
        return heights.T

    def slopes(self, x: Array, wall: Integers) -> tuple[Array, Array]:
        return self.unit[wall], place_of(x).zeros(len(wall))

    def near_balls(self, x: Array, radii: Array | None, cutoff: Array | float) -> tuple[Integers, Array, Array]:
        """The (pairs (2, m), normal, gap) with gap <= cutoff of balls at x (n, d), and points if the radii are None."""
        radii = place_of(x).zeros(1) if radii is None else radii
        cutoffs = contiguous(cutoff) if of_bodies(cutoff) else place_of(x).full(1, float(cutoff))
        chunks = chunks_of(len(x) * len(self.unit))
        return kernels.near_planes(contiguous(x), radii, cutoffs, self.unit, self.offset, chunks)


@dataclass(frozen=True, eq=False, slots=True)
class Spheres(Surfaces):
    """sign (|x - centre_k| - radius_k); centre (k, d), radius (k,), sign 1 outside and -1 inside."""

    centre: Array
    radius: Array
    sign: float
    solid: ClassVar[bool] = True

    def distances(self, x: Array) -> Array:
        square: Array = sum((a - centre[:, None]) ** 2 for a, centre in zip(x.T, self.centre.T, strict=True))
        return (self.sign * (np.sqrt(square) - self.radius[:, None])).T

    def slopes(self, x: Array, wall: Integers) -> tuple[Array, Array]:
        apart = x - self.centre[wall]
        distance = np.sqrt(np.einsum("md,md->m", apart, apart))
        distance[distance == 0.0] = 1.0
        return self.sign * apart / distance[:, None], self.sign / distance

    def hit(self, after: Spheres, x: Array, y: Array, wall: Integers) -> Booleans:
        start, along = x - self.centre[wall], (y - after.centre[wall]) - (x - self.centre[wall])
        square = np.einsum("md,md->m", along, along)
        s = np.clip(-np.einsum("md,md->m", start, along) / np.where(square > 0.0, square, 1.0), 0.0, 1.0)
        nearest = start + s[:, None] * along
        inside: Booleans = np.einsum("md,md->m", nearest, nearest) < np.maximum(self.radius, after.radius)[wall] ** 2
        return inside

    def sway(self, after: Spheres) -> float:
        return _longest(after.centre - self.centre) + highest(np.abs(after.radius - self.radius), 0.0)


@dataclass(frozen=True, eq=False, slots=True)
class Lines(Surfaces):
    """|x - P x| in the plane, with P x = start + s along, s in [0, 1], the nearest point of segment k; all (k, 2)."""

    start: Array
    along: Array
    tabled: ClassVar[bool] = False
    dual: Array
    """along / |along|^2, zero for a segment that is a point: s = dual . (x - start)."""

    @classmethod
    def between(cls, a: Array, b: Array) -> Lines:
        along = b - a
        square = np.einsum("kd,kd->k", along, along)[:, None]
        return cls(a, along, along / np.where(square > 0.0, square, 1.0))

    def apart(self, first: Array, second: Array, wall: Integers | None = None) -> tuple[Array, Array, Array]:
        """The two components of x - P x, and s: of each point and its wall (m,), or of all walls and points (k, n)."""
        lines = (self.start, self.along, self.dual)
        start, along, dual = (a[:, None] for a in lines) if wall is None else (a[wall] for a in lines)
        first, second = first - start[..., 0], second - start[..., 1]
        s = np.minimum(np.maximum(first * dual[..., 0] + second * dual[..., 1], 0.0), 1.0)
        return first - s * along[..., 0], second - s * along[..., 1], s

    def distances(self, x: Array) -> Array:
        first, second, _ = self.apart(x[:, 0], x[:, 1])
        return np.sqrt(first * first + second * second).T

    def near(self, x: Array, limit: Array | float) -> tuple[Integers, Array]:
        x, limits = contiguous(x), limit_of_each(limit, x)
        return kernels.near_segments(x, limits, self.start, self.along, self.dual)

    def slopes(self, x: Array, wall: Integers) -> tuple[Array, Array]:
        first, second, s = self.apart(x[:, 0], x[:, 1], wall)
        distance = np.sqrt(first * first + second * second)
        distance[distance == 0.0] = 1.0
        at_an_end = (s == 0.0) | (s == 1.0)
        return np.stack([first, second], axis=1) / distance[:, None], np.where(at_an_end, 1.0 / distance, 0.0)

    def hit(self, after: Lines, x: Array, y: Array, wall: Integers) -> Booleans:
        (height, s), (height_after, s_after) = self._beside(x, wall), after._beside(y, wall)
        change = height - height_after
        s = s + height / np.where(change == 0.0, 1.0, change) * (s_after - s)
        through: Booleans = ((height >= 0.0) != (height_after >= 0.0)) & (s >= -JOINT) & (s <= 1.0 + JOINT)
        return through

    def sway(self, after: Lines) -> float:
        return max(_longest(after.start - self.start), _longest(after.start + after.along - self.start - self.along))

    def _beside(self, x: Array, wall: Integers) -> tuple[Array, Array]:
        """How high x is above the line through the segment (in units of its length, with a sign), and s unclipped."""
        apart, along = x - self.start[wall], self.along[wall]
        height = along[:, 0] * apart[:, 1] - along[:, 1] * apart[:, 0]
        return height, np.einsum("md,md->m", apart, self.dual[wall])


def limit_of_each(limit: Array | float, x: Array) -> Array:
    """(n,) the limit of each of the points (n, d), if it is not given for each."""
    return limit if of_bodies(limit) else place_of(x).full(len(x), limit)


def _longest(vectors: Array) -> float:
    return math.sqrt(highest(np.einsum("kd,kd->k", vectors, vectors), 0.0))


# Whether the centre of a body went through a wall in one step. The gap does not show it: a thin wall has two sides.
#
# Between the times of a step the centre goes straight from x to y, and the walls from where they are to where they will
# be. Only a centre that is nearer to a wall than both of them move can have crossed it; the others are not examined,
# and where no body overlaps by half its radius, those that move by less than half their radius are not even measured. A
# thin wall (`Segments`, `Vessel`) is crossed if the path goes through it an odd number of times. A solid one
# (`Polygons`, `Outside`) is crossed if the path meets its inside and ends beyond its middle, where the gradient of the
# distance points away from that of the beginning: a body that is pushed out again would come out on the other side.


PIECES = 32
"""Straight pieces that the path is cut into where the wall moves or is curved."""


class Step(NamedTuple):
    """What is known of a step."""

    times: tuple[float, float]
    ends: tuple[Array, Array]
    """q at both times."""
    linearised: bool = False
    """True if the step kept the constraints linearised at the first q: no convex wall at rest is crossed then."""
    gaps: Array | None = None
    """The gaps at the first q. None: not known."""
    here: Booleans | None = None
    """(n,) which bodies are present; the others have no contacts where they are put aside. None: all of them."""


class Crossing(NamedTuple):
    """The centre of a body went through a wall or a ball."""

    body: int
    wall: str
    """The name of the wall or ball."""
    moved: float
    """Distance that the body and the wall or ball moved in the step, together."""
    clearance: float
    """Safe distance: the radius of the body, for a point half the radius of a solid wall, or the radii of two balls."""


def movers(step: Step, way: Array, radii: Array | None, sway: float) -> tuple[Integers, Array]:
    """The bodies that may have crossed a wall, and how far each (n,) and the walls moved together; way is (n, d)."""
    none, half = place_of(way).zeros(0, dtype=np.int64), 0.0 if radii is None else lowest(radii, np.inf) / 2.0
    furthest = float(np.sqrt(way.shape[1]) * highest(np.abs(way), 0.0)) + sway
    shallow = step.gaps is not None and -lowest(step.gaps, 0.0) <= half
    if furthest == 0.0 or (furthest < half and shallow):
        return none, place_of(way).zeros(0)
    moved = np.sqrt(np.einsum("nd,nd->n", way, way)) + sway
    return np.flatnonzero(moved >= radii / 2.0 if shallow and radii is not None else moved > 0.0), moved


def crossed(
    walls: Callable[[float], Surfaces], step: Step, x: Array, y: Array, wall: Integers, at_rest: bool
) -> Booleans:
    """(m,) which of the paths from x to y, (m, d), go through their wall (m,)."""
    first, last = (walls(t) for t in step.times)
    pieces = 1 if at_rest and first.straight else PIECES
    hits, before, place = place_of(wall).zeros(len(wall), dtype=np.int64), first, x
    for part in np.arange(1, pieces + 1) / pieces:
        after = last if at_rest or part == 1.0 else walls((1.0 - part) * step.times[0] + part * step.times[1])
        there = y if part == 1.0 else x + part * (y - x)
        hits += before.hit(after, place, there, wall)
        before, place = after, there
    if not first.solid:
        odd: Booleans = hits % 2 == 1
        return odd
    beyond: Booleans = np.einsum("md,md->m", first.slopes(x, wall)[0], last.slopes(y, wall)[0]) < 0.0
    return (hits > 0) & beyond
