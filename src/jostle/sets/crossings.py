"""Whether the centre of a body went through a wall in one step. The gap does not show it: a thin wall has two sides.

Between the times of a step the centre goes straight from x to y, and the walls from where they are to where they will
be. Only a centre that is nearer to a wall than both of them move can have crossed it; the others are not examined, and
where no body overlaps by half its radius, those that move by less than half their radius are not even measured. A
thin wall (`Segments`, `Vessel`) is crossed if the path goes through it an odd number of times. A solid one (`Polygons`,
`Outside`) is crossed if the path meets its inside and ends beyond its middle, where the gradient of the distance points
away from that of the beginning: a body that is pushed out again would come out on the other side.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from jostle.arrays import Array, Booleans, Integers, highest, lowest, place_of
from jostle.sets.surfaces import Surfaces

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


class Crossing(NamedTuple):
    """The centre of a body went through a wall."""

    body: int
    wall: str
    moved: float
    """Distance that the body and the wall moved in the step, together."""
    clearance: float
    """Safe distance: the radius of the body, or for a point half the radius of a solid wall."""


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
