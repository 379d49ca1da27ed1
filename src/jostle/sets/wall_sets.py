"""What all walls share: sets that act on each body alone.

A new kind of wall defines its `Surfaces`; the gaps, gradients and crossings of the bodies follow from them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sized
from copy import copy
from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from jostle.arrays import (
    Array,
    Integers,
    InTime,
    at,
    contiguous,
    frozen,
    moved_to,
    place_of,
    read_only,
    table_entries,
)
from jostle.convex.maps import Dense, LinearMap, Pairs
from jostle.errors import InvalidValue, UndefinedGradient
from jostle.kernels import offers
from jostle.sets.base import ConstraintSet
from jostle.sets.contacts import Contacts, Reach, of_bodies
from jostle.sets.crossings import Crossing, Step, crossed, movers
from jostle.sets.numbering import pairs_of_rows
from jostle.sets.radii import body_radii
from jostle.sets.surfaces import Surfaces
from jostle.solvers.base import DENSE_KERNELS

MAX_TABLE_ENTRIES = 2**15
"""Number of gaps between bodies and walls that a core computes at a time, so that they stay in the cache."""

Sizes = tuple[Array | None, float | None]
"""The radii of the bodies, None for points; and the smallest length in sight."""


class Walls(ConstraintSet):
    """k walls for each of n bodies; a new kind of wall defines `dimension`, `names` and `_surfaces`."""

    convex_gaps = by_body = True
    passable: bool = False
    """True if a body can be on the other side of the wall without an overlap."""
    dimension: int
    names: tuple[str, ...]
    own_length: float | None = None
    thin: bool = False
    """True if the wall is a surface without an inside, which no point can overlap; the bodies must then have radii."""

    def __init__(self, radii: InTime | None, *in_time: object):
        self.takes_radii = radii is None
        self._at_rest = not any(callable(value) for value in in_time)
        self._set_radii(0.0 if radii is None else radii)

    def with_radii(self, radii: InTime) -> ConstraintSet:
        wall = copy(self)
        wall.takes_radii = False
        wall._set_radii(radii)
        return wall

    def anew(self) -> ConstraintSet:
        wall = copy(self)
        wall._set_radii(self.radii)
        return wall

    def _set_radii(self, radii: InTime) -> None:
        self.radii = frozen(radii)
        self.moving = callable(radii) or not self._at_rest
        self._resting: dict[type, Surfaces] = {}
        """The walls as arrays of each type, if they are at rest. Those that move are asked for each time."""
        self._maps: dict[tuple[int, type], LinearMap] = {}
        self._pairs: dict[tuple[int, type], Integers] = {}
        self._known: dict[tuple[int, type], Sizes] = {}

    def _surfaces(self, t: float) -> Surfaces:
        """The walls at time t, checked."""
        raise NotImplementedError

    def _undefined(self, body: int, wall: str) -> str:
        """What to say of a body on the wall, where the distance has no gradient."""
        return f"the centre of body {body} lies on {wall}; move it off the wall"

    def gaps(self, t: float, q: Array) -> Array:
        x = self._bodies(q)
        distances = self._now(t, x).distances(x)
        radii, _ = self._sizes(t, x)
        return (distances if radii is None else distances - radii[:, None]).ravel()

    def gap(self, t: float, q: ArrayLike) -> float:
        x = self._bodies(np.asarray(q, dtype=float))
        walls = self._now(t, x)
        radii, _ = self._sizes(t, x)
        smallest = [
            (walls.nearest(x[block]) - (0.0 if radii is None else radii[block])).min()
            for block in _blocks(x, len(self.names))
        ]
        return float(np.min(smallest, initial=np.inf))

    def linearise(self, t: float, q: Array, reach: Reach = np.inf) -> Contacts:
        x = self._bodies(q)
        n, k = len(x), len(self.names)
        walls = self._now(t, x)
        radii, length = self._sizes(t, x)
        if n == 1 or (not of_bodies(reach) and reach == np.inf):
            distance, pairs, reach = walls.distances(x).ravel(), self._all_pairs(x), np.inf
        else:
            distance, pairs = _near(walls, x, k, radii, reach)
            pairs = self._all_pairs(x) if len(pairs) == n * k else pairs
        G, bend = self._gradients(walls, x, pairs, distance)
        gap = distance if radii is None else distance - radii[pairs[:, 0]]

        def describe(row: int) -> str:
            body, wall = pairs[row].tolist()
            return f"body {body} and {self.names[-1 - wall]}"

        return Contacts(
            gap, G, pairs, numbers=k, length=length, reach=reach, describe=describe, at=q, bend=bend, bodies=n,
            gap_at=partial(self._gaps_at, x, pairs) if self.moving else None, known=True,
        )  # fmt: skip

    def _gaps_at(self, x: Array, pairs: Integers, t: float, rows: Integers) -> Array:
        """The gaps of some pairs at time t."""
        body, wall = pairs[rows, 0], -1 - pairs[rows, 1]
        walls, (radii, _) = self._now(t, x), self._sizes(t, x)
        distance = place_of(x).empty(len(rows))
        for block in _blocks(distance, len(self.names)):
            table = walls.distances(x[body[block]])
            distance[block] = table[place_of(x).arange(len(table)), wall[block]]
        return distance if radii is None else distance - radii[body]

    def crossing(self, step: Step) -> Crossing | None:
        if not self.passable or (step.linearised and self.convex_gaps and self._at_rest):
            return None
        x, y = (self._bodies(q) for q in step.ends)
        walls = self._now(step.times[0], x)
        sway = 0.0 if self._at_rest else walls.sway(self._now(step.times[1], x))
        radii, _ = self._sizes(step.times[0], x)
        some, moved = movers(step, y - x, radii, sway)
        if len(some) == 0:
            return None
        _, pairs = _near(walls, x[some], len(self.names), None, moved[some])
        body, wall = some[pairs[:, 0]], -1 - pairs[:, 1]
        through = body
        if len(body):
            there = partial(self._now, x=x)
            through = np.flatnonzero(crossed(there, step, x[body], y[body], wall, self._at_rest))
        if len(through) == 0:
            return None
        row = int(through[int(np.argmax(moved[body[through]]))])
        one, most = int(body[row]), float(moved[int(body[row])])
        radius = 0.0 if radii is None else float(radii[one])
        return Crossing(one, self.names[int(wall[row])], most, radius or (self.own_length or most) / 2.0)

    def _bodies(self, q: Array) -> Array:
        """(n, d) the centres."""
        d = self.dimension
        if q.size % d or (q.ndim > 1 and q.shape[-1] != d):
            raise InvalidValue(f"{type(self).__name__} lives in dimension {d}; q has shape {q.shape}")
        return q.reshape(-1, d)

    def _now(self, t: float, x: Array) -> Surfaces:
        """The walls at time t, for points x."""
        if not self._at_rest:
            return moved_to(self._surfaces(t), x)
        if type(x) not in self._resting:
            self._resting[type(x)] = moved_to(self._surfaces(0.0), x)
        return self._resting[type(x)]

    def _all_pairs(self, x: Array) -> Integers:
        """(n k, 2): (body, -1 - wall) of all bodies and walls, body by body; the same array each time."""
        of_these = len(x), type(x)
        if of_these not in self._pairs:
            self._pairs[of_these] = read_only(
                pairs_of_rows(place_of(x).arange(len(x) * len(self.names)), len(self.names))
            )
        return self._pairs[of_these]

    def _sizes(self, t: float, x: Array) -> Sizes:
        """The sizes of the bodies x (n, d), or of n radii."""
        of_these = len(x), type(x)
        if not callable(self.radii) and of_these in self._known:
            return self._known[of_these]
        radii, length = self._sizes_at(t, len(x))
        sizes = None if radii is None else moved_to(radii, x), length
        if not callable(self.radii):
            self._known[of_these] = sizes
        return sizes

    def _sizes_at(self, t: float, n: int) -> Sizes:
        if self.thin and self.takes_radii:
            raise InvalidValue(
                f"{type(self).__name__} stands for thin walls, which no point can overlap: give radii=, or intersect "
                f"it with Balls(radii)"
            )
        radii = at(self.radii, t)
        if not (radii.ndim or radii):
            return None, self.own_length
        radii = body_radii(radii, n, t, allow_zero=True)
        smallest = float(radii.min(initial=np.inf))
        if not 0.0 < smallest < np.inf:
            return radii, self.own_length
        return radii, smallest if self.own_length is None else min(self.own_length, smallest)

    def _gradients(self, walls: Surfaces, x: Array, pairs: Integers, distance: Array) -> tuple[LinearMap, Array | None]:
        """G and the bends of the rows; a flat set that keeps all its rows keeps the map as well."""
        n = len(x)
        everything = len(pairs) == n * len(self.names)
        G = self._maps.get((n, type(x))) if self.flat and everything else None
        if G is not None:
            return G, place_of(x).zeros(len(pairs))
        body, j = contiguous(pairs.T, np.int64)
        wall = -1 - j
        gradient, bend = walls.slopes(x[body], wall)
        if not self.flat:
            self._check(gradient, distance, body, wall)
        dense = n == 1 and offers(x, DENSE_KERNELS)
        G = Dense(gradient) if dense else Pairs(body, j, contiguous(-gradient), n, known=True)
        if self.flat and everything:
            self._maps[n, type(x)] = G
        return G, bend

    def _check(self, gradient: Array, distance: Array, body: Integers, wall: Integers) -> None:
        """Refuse a missing gradient of a wall that is touched; that of a distant wall may be missing."""
        there = gradient.any(axis=1)
        if there.all():
            return
        lost = np.flatnonzero(~there & (distance <= 0.0))
        if len(lost):
            row = int(lost[0])
            raise UndefinedGradient(self._undefined(int(body[row]), self.names[int(wall[row])]))


def _near(walls: Surfaces, x: Array, k: int, radii: Array | None, reach: Reach) -> tuple[Array, Integers]:
    """The distances and pairs of the rows with gap <= reach. A gap that is NaN is near: it must be seen."""
    found = walls.near_many(x, 0.0 if radii is None else radii, reach)
    if found is None:
        found = _near_by_blocks(walls, x, k, radii, reach)
    row, distance = found
    return distance, pairs_of_rows(row, k)


def _near_by_blocks(walls: Surfaces, x: Array, k: int, radii: Array | None, reach: Reach) -> tuple[Integers, Array]:
    """The rows body k + wall with gap <= reach, and their distances, block by block."""
    rows, distances = [place_of(x).zeros(0, dtype=np.int64)], [place_of(x).zeros(0)]
    for block in _blocks(x, k if walls.tabled else 1):
        limit = reach[block] if of_bodies(reach) else reach
        row, distance = walls.near(x[block], limit if radii is None else limit + radii[block])
        rows.append(block.start * k + row)
        distances.append(distance)
    return np.concatenate(rows), np.concatenate(distances)


def _blocks(x: Array, k: int) -> Iterator[slice]:
    """The bodies x (n, ...) in portions, each with at most about MAX_TABLE_ENTRIES gaps on a core."""
    size = max(table_entries(x, MAX_TABLE_ENTRIES) // max(k, 1), 1)
    return (slice(first, first + size) for first in range(0, len(x), size))


def same_number(before: Sized, number: int, kind: str, t: float) -> None:
    """Refuse a number of walls that changes with time: each wall keeps its number."""
    if number != len(before):
        raise InvalidValue(
            f"there are {number} {kind}s at t = {t:g}, and {len(before)} at t = 0; their number is fixed"
        )
