"""Sets that act on each body alone: half-space, box, outside of a ball.

A configuration q is one body, shape (d,), or n of them, shape (n, d). With `radii` the bodies are balls and
gaps are measured from their surfaces. In an intersection with `Balls` or `Line`, walls take the radii of the balls
unless they are given others; ``radii=0`` keeps the centres inside. Alone, and without radii, the bodies are points.
Centres, offsets, ends and radii may be functions of time.

All gaps are convex in q, as the linearised schemes ask.
"""

from __future__ import annotations

from collections.abc import Iterator, Sized
from copy import copy
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from jostle._tools.arguments import check_arguments
from jostle._tools.arrays import (
    Array,
    Integers,
    InTime,
    at,
    finite,
    floats,
    frozen,
    lowest,
    moved_to,
    place_of,
    read_only,
    table_entries,
)
from jostle.bodies import POINTS, Bodies
from jostle.contacts import BY_NORMALS, Contacts, Cutoff, Feet, deepest, map_of_bodies, of_bodies, pairs_of_rows
from jostle.convex.linear_map import LinearMap
from jostle.convex.rows import lengths
from jostle.errors import InvalidValue, NotFinite, UndefinedGradient
from jostle.kernels.interface import MANY
from jostle.sets.balls import PairList
from jostle.sets.base import BodySet, ConstraintSet, is_body_set
from jostle.sets.cores import Cores, obstacles
from jostle.sets.surfaces import Crossing, Lines, Planes, Spheres, Step, Surfaces, crossed, movers

# What all walls share: sets that act on each body alone.
#
# A new kind of wall defines its `Surfaces`; the gaps, gradients and crossings of the bodies follow from them.


MAX_TABLE_ENTRIES = 2**15
"""Number of gaps between bodies and walls that a core computes at a time, so that they stay in the cache."""


WallRows = tuple[Integers, Array, Array, Array | None]
"""(m, 2) pairs, (m, d) normals, (m,) gaps, and (m,) what `Contacts.curvatures` says, None if it is not known."""


class Walls(BodySet):
    """k walls for each of n bodies; a new kind of wall defines `dimension`, `names` and `_surfaces`."""

    convex_gaps = True
    dimension: int
    names: tuple[str, ...]
    own_length: float | None = None
    at_rest: bool
    """Whether the walls do not move; the radii of the bodies may still change."""
    thin: bool = False
    """True if the wall is a surface without an inside, which no point can overlap; the bodies must then have radii."""

    def __init__(self, radii: InTime | None, *in_time: object):
        self.at_rest = not any(callable(value) for value in in_time)
        self._set_bodies(POINTS if radii is None else Bodies(radii))

    def for_bodies(self, bodies: Bodies) -> ConstraintSet:
        own = self.bodies.radii is not None and not self.bodies.has_cores  # roundings are those of shapes
        if own and bodies.has_cores:
            raise InvalidValue(f"{self!r} stands beside Shapes, which have roundings: leave out its radii=")
        if own and bodies.parts is None and bodies.called == self.bodies.called:
            return self
        wall = copy(self)
        wall._set_bodies(replace(self.bodies, parts=bodies.parts, called=bodies.called) if own else bodies)
        return wall

    def _set_bodies(self, bodies: Bodies) -> None:
        self.bodies = bodies
        self.moving = bodies.swell or not self.at_rest
        self._kept: dict[Any, Any] = {}
        """Walls at rest, all pairs, and all pairs and the map of a flat set, as arrays of each type."""

    @property
    def row_walls(self) -> Integers:
        """The number of the wall of each constraint number."""
        return np.arange(len(self.names))

    @property
    def row_names(self) -> tuple[str, ...]:
        """The name of the wall of each constraint number."""
        return tuple(self.names[k] for k in self.row_walls)

    @property
    def radii(self) -> Any:
        """Radii of the bodies; None if they are points."""
        return self.bodies.radii

    def _surfaces(self, t: float) -> Surfaces:
        """The walls at time t, checked."""
        raise NotImplementedError

    def _undefined(self, body: str, wall: str) -> str:
        """What to say of a body on the wall, where the distance has no gradient."""
        return f"the centre of {body} lies on {wall}; move it off the wall"

    def gaps(self, t: float, q: Array) -> Array:
        x, walls, radii, _ = self._at(t, q)
        distances = walls.distances(x)
        return (distances if radii is None else distances - radii[:, None]).ravel()

    def overlap(self, t: float, q: Array) -> float:
        if not is_body_set(self) or not self.flat or q.size * len(self.names) > MAX_TABLE_ENTRIES:
            return super().overlap(t, q)
        gaps = self.gaps(t, q)
        return deepest(gaps, lengths(self._at(t, q)[3], len(gaps), gaps))

    def gap(self, t: float, q: ArrayLike) -> float:
        x, walls, radii, _ = self._at(t, floats(q, name="q"))
        smallest = [
            (walls.nearest(x[block]) - (0.0 if radii is None else radii[block])).min()
            for block in _blocks(x, len(self.names))
        ]
        return float(np.min(smallest, initial=np.inf))

    def linearise(self, t: float, q: Array, cutoff: Cutoff = np.inf) -> Contacts:
        # The gaps and normals of all bodies and walls within the cutoff.
        x, walls, radii, length = self._at(t, q)
        n, k, kept = len(x), len(self.names), BY_NORMALS
        if n == 1 or (not of_bodies(cutoff) and cutoff == np.inf):
            cutoff = np.inf
        if isinstance(walls, Planes):
            pairs, normal, gap, curvature = self._of_planes(walls, x, radii, cutoff)
        else:
            pairs, normal, gap, curvature = self._of_others(walls, x, radii, cutoff)
        if self.flat and len(gap) == n * k:
            pairs, normal, kept = self._flat(walls, x)

        def describe(row: int) -> str:
            body, wall = pairs[row].tolist()
            return f"{self.bodies.name(body)} and {self.names[-1 - wall]}"

        return Contacts(
            gap,
            kept,
            pairs,
            constraint_count=k,
            length=length,
            cutoff=cutoff,
            describe=describe,
            at=q,
            curvature=None if curvature is None else lambda: curvature,
            part_count=n,
            gap_at=partial(self._gaps_at, x, pairs) if self.moving else None,
            normal=normal,
            known=True,
        )

    def _of_planes(self, walls: Planes, x: Array, radii: Array | None, cutoff: Cutoff) -> WallRows:
        """The rows of planes; one ball has all of them, and needs no compiled code."""
        if len(x) != 1:
            pairs, normal, gap = walls.near_balls(x, radii, cutoff)
            return pairs.T, normal, gap, place_of(x).zeros(len(gap))
        distance = walls.distances(x)[0]
        gap = distance if radii is None else distance - radii
        return self._all_pairs(x), -walls.unit, gap, place_of(x).zeros(len(gap))

    def _of_others(self, walls: Surfaces, x: Array, radii: Array | None, cutoff: Cutoff) -> WallRows:
        """The rows of walls whose gradients depend on the place."""
        n, k = len(x), len(self.names)
        if not of_bodies(cutoff) and cutoff == np.inf:
            row, distance = place_of(x).arange(n * k), walls.distances(x).ravel()
        else:
            row, distance = _near(walls, x, k, radii, cutoff)
        pairs = self._all_pairs(x) if len(row) == n * k else pairs_of_rows(row, k)
        body, wall = pairs.T[0], -1 - pairs.T[1]
        gradient, curvature = walls.slopes(x[body], wall)
        self._check(gradient, distance, body, wall)
        return pairs, -gradient, distance if radii is None else distance - radii[body], curvature

    def _gaps_at(self, x: Array, pairs: Integers, t: float, rows: Integers) -> Array:
        """The gaps of some pairs at time t."""
        body, wall = pairs[rows, 0], -1 - pairs[rows, 1]
        _, walls, radii, _ = self._at(t, x)
        distance = place_of(x).empty(len(rows))
        for block in _blocks(distance, len(self.names)):
            table = walls.distances(x[body[block]])
            distance[block] = table[place_of(x).arange(len(table)), wall[block]]
        return distance if radii is None else distance - radii[body]

    def _at(self, t: float, q: Array) -> tuple[Array, Surfaces, Array | None, float | None]:
        """(n, d) the centres of the bodies, the walls at time t, (n,) the radii, None for points, and the length."""
        q, d = floats(q, name="q"), self.dimension
        if q.size % d or (q.ndim > 1 and q.shape[-1] != d):
            raise InvalidValue(
                f"{type(self).__name__} lives in dimension {d}; q has shape {q.shape}: give (n, {d}) for n bodies"
            )
        x = q.reshape(-1, d)
        radii, smallest = self.bodies.sizes(t, x)
        if radii is None and self.thin and self.bodies.radii is None:
            raise InvalidValue(
                f"{type(self).__name__} stands for thin walls, which no point can overlap: give radii=, or intersect "
                f"it with Balls(radii)"
            )
        length = self.own_length
        if 0.0 < smallest < np.inf:
            length = smallest if length is None else min(length, smallest)
        return x, self._now(t, x), radii, length

    def _now(self, t: float, x: Array) -> Surfaces:
        """The walls at time t, for points x; those at rest are kept."""
        kept: Surfaces | None = self._kept.get(type(x))
        if kept is not None:
            return kept
        walls = moved_to(self._surfaces(t), x)
        if self.at_rest:
            self._kept[type(x)] = walls
        return walls

    def _all_pairs(self, x: Array) -> Integers:
        """(n k, 2): (body, -1 - wall) of all bodies and walls, body by body; the same array each time."""
        these = "pairs", len(x), type(x)
        if these not in self._kept:
            self._kept[these] = read_only(pairs_of_rows(place_of(x).arange(len(x) * len(self.names)), len(self.names)))
        pairs: Integers = self._kept[these]
        return pairs

    def _flat(self, walls: Surfaces, x: Array) -> tuple[Integers, Array, LinearMap]:
        """The pairs, normals and map of all rows of a flat set, which are always the same."""
        these = len(x), type(x)
        if these not in self._kept:
            pairs = self._all_pairs(x)
            normal = -walls.slopes(x[pairs.T[0]], -1 - pairs.T[1])[0]
            self._kept[these] = pairs, normal, map_of_bodies(pairs.T, normal, len(x), None)
        found: tuple[Integers, Array, LinearMap] = self._kept[these]
        return found

    def _check(self, gradient: Array, distance: Array, body: Integers, wall: Integers) -> None:
        """Refuse a missing gradient of a wall that is touched; that of a distant wall may be missing."""
        there = gradient.any(axis=1)
        if there.all():
            return
        lost = np.flatnonzero(~there & (distance <= 0.0))
        if len(lost):
            row = int(lost[0])
            raise UndefinedGradient(self._undefined(self.bodies.name(int(body[row])), self.names[int(wall[row])]))


class Obstacles(Walls):
    """Walls behind which a body can be without an overlap; whether its centre goes through one is checked.

    Corners of obstacles meet the edges of convex shapes, so that both are cores there; see `jostle.sets.cores`.
    """

    _list: PairList | None = None
    """Cores that were near each other, for the next step."""

    def cores(self, t: float) -> tuple[Array, Cores] | None:
        """The corners of the obstacles and their cores, one for each wall; None for walls around the bodies."""
        return None

    @property
    def row_walls(self) -> Integers:
        walls, made_of = super().row_walls, self.cores(0.0) if self.bodies.has_cores else None
        return walls if made_of is None else np.append(walls, np.repeat(walls, np.diff(made_of[1].start)))

    @property
    def _meets_cores(self) -> bool:
        return self.bodies.has_cores and self.cores(0.0) is not None

    def linearise(self, t: float, q: Array, cutoff: Cutoff = np.inf) -> Contacts:
        # The gaps and normals within the cutoff.
        return self._of_cores(t, q, cutoff) if self._meets_cores else super().linearise(t, q, cutoff)

    def gaps(self, t: float, q: Array) -> Array:
        return self.linearise(t, q).gap if self._meets_cores else super().gaps(t, q)

    def gap(self, t: float, q: ArrayLike) -> float:
        return lowest(self.gaps(t, floats(q, name="q")), np.inf) if self._meets_cores else super().gap(t, q)

    def _of_cores(self, t: float, q: Array, cutoff: Cutoff) -> Contacts:
        """The rows of convex shapes: a corner of a body and a wall, or the edge of a body and a corner of the wall.

        The second one has the number of the first corner of the core, and that of the corner after those of all walls.
        """
        made_of, (x, _, radii, length) = self.cores(t), self._at(t, q)
        assert made_of is not None
        assert radii is not None
        y, walls = made_of
        b = len(x)
        limit = np.append(cutoff if of_bodies(cutoff) else np.full(b, cutoff), np.zeros(len(y)))
        both, k = self.bodies.cores.and_others(walls), len(walls.rounding)
        rows, self._list = both.near(np.concatenate([x, y]), limit, self._list)
        (first, second), back = rows.pairs.T, rows.pairs[:, 0] >= b
        of_wall = np.searchsorted(walls.start, second - b, side="right") - 1
        pairs = np.stack([np.where(back, second, first), -1 - np.where(back, k + first - b, of_wall)], axis=1)
        side = np.where(back, -1.0, 1.0)[:, None]
        normal, weights, own = side * rows.normal, side * rows.weights, rows.parts < b
        parts, of_body = np.where(own, rows.parts, 0), np.where(own, weights, 0.0)
        at = np.einsum("mk,mkd->md", -of_body, x[parts]) + radii[pairs[:, 0], None] * normal
        corners, share = np.where(own, 0, rows.parts - b), np.where(own, 0.0, weights)

        def describe(row: int) -> str:
            i, j = pairs[row].tolist()
            return f"{self.bodies.body_name(i)} and {self.row_names[-1 - j]}"

        def gap_at(time: float, some: Integers) -> Array:
            later = self.cores(time)
            assert later is not None
            moved = np.einsum("mk,mkd->md", share[some], (later[0] - y)[corners[some]])
            return np.asarray(rows.gap[some] + (normal[some] * moved).sum(axis=1))

        return Contacts(
            rows.gap,
            BY_NORMALS,
            pairs,
            constraint_count=k + len(y),
            length=length,
            cutoff=cutoff,
            describe=lambda row: (
                f"{self.bodies.body_name(int(pairs[row, 0]))} and {self.row_names[-1 - pairs[row, 1]]}"
            ),
            at=x,
            part_count=b,
            gap_at=gap_at if self.moving else None,
            normal=normal,
            feet=Feet(parts, of_body, at),
            known=True,
        )

    def crossing(self, step: Step) -> Crossing | None:
        """A wall that the centre of a body went through in a step, and the body; None if there is none."""
        if self._meets_cores or (step.linearised and self.convex_gaps and self.at_rest):
            return None
        x, walls, radii, _ = self._at(step.times[0], step.ends[0])
        y = step.ends[1].reshape(x.shape)
        sway = 0.0 if self.at_rest else walls.sway(self._now(step.times[1], x))
        some, moved = movers(step, y - x, radii, sway)
        if len(some) == 0:
            return None
        row, _ = _near(walls, x[some], len(self.names), None, moved[some])
        body, wall = some[row // len(self.names)], row % len(self.names)
        through = body
        if len(body):
            there = partial(self._now, x=x)
            through = np.flatnonzero(crossed(there, step, x[body], y[body], wall, self.at_rest))
        if len(through) == 0:
            return None
        worst = int(through[int(np.argmax(moved[body[through]]))])
        one, most = int(body[worst]), float(moved[int(body[worst])])
        radius = 0.0 if radii is None else float(radii[one])
        return Crossing(one, self.names[int(wall[worst])], most, radius or (self.own_length or most) / 2.0)


def _near(walls: Surfaces, x: Array, k: int, radii: Array | None, cutoff: Cutoff) -> tuple[Integers, Array]:
    """The rows body k + wall with gap <= cutoff, and their distances. A gap that is NaN is near: it must be seen."""
    if len(x) < MANY and len(x) * k <= MAX_TABLE_ENTRIES and isinstance(x, np.ndarray):
        return walls.near(x, cutoff if radii is None else cutoff + radii)
    return _near_by_blocks(walls, x, k, radii, cutoff)


def _near_by_blocks(walls: Surfaces, x: Array, k: int, radii: Array | None, cutoff: Cutoff) -> tuple[Integers, Array]:
    """The rows body k + wall with gap <= cutoff, and their distances, block by block."""
    rows, distances = [place_of(x).zeros(0, dtype=np.int64)], [place_of(x).zeros(0)]
    for block in _blocks(x, k if walls.tabled else 1):
        limit = cutoff[block] if of_bodies(cutoff) else cutoff
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


@check_arguments
class HalfSpace(Walls):
    """The half-space {q : normal . q >= offset}: a floor, a wall, a moving or turning plane.

    Parameters
    ----------
    normal : array_like, shape (d,), or callable (t) -> array
        Normal of the plane, of any length but 0; it points to the side where the bodies are.
    offset : float or callable (t) -> float, default 0.0
        Offset of the plane, in the unit of normal . q.
    radii : float, array_like, shape (n,), or callable (t) -> array, optional
        Radii of the bodies. None: those of the balls in an intersection; otherwise the bodies are points.

    Examples
    --------
    >>> HalfSpace(normal=[0, 1]).gap(0.0, [3.0, 2.0])
    2.0
    >>> table = HalfSpace(normal=[1.0], offset=lambda t: 0.1 * np.sin(t))
    >>> table.moving
    True
    """

    on_devices = True

    def __init__(self, normal: InTime, offset: InTime = 0.0, *, radii: InTime | None = None):
        super().__init__(radii, normal, offset)
        self.normal, self.offset = frozen(normal), frozen(offset)
        self.dimension = at(normal, 0.0).size
        self._offset(0.0)
        self.names = (f"plane {self._words()}",)
        self.flat = not callable(normal)
        self._unit = self._normal(0.0) if self.flat else None
        self._surfaces(0.0)

    def _words(self) -> str:
        where = "moving" if self.moving else f"at offset {self.offset.item():g}"
        return f"with normal {'turning' if callable(self.normal) else self.normal.tolist()}, {where}"

    def _normal(self, t: float) -> tuple[Array, float]:
        normal = at(self.normal, t).ravel()
        if len(normal) != self.dimension:
            raise InvalidValue(
                f"the normal of a half-space has {len(normal)} entries at t = {t:g}, and {self.dimension} at t = 0"
            )
        size = float(np.linalg.norm(normal))
        if not 0.0 < size < np.inf:
            raise UndefinedGradient(f"the normal of a half-space is {normal.tolist()} at t = {t:g}")
        return normal / size, size

    def _offset(self, t: float) -> Array:
        offset = at(self.offset, t)
        if offset.size != 1:
            raise InvalidValue(f"the offset of a half-space is one number; at t = {t:g} it has shape {offset.shape}")
        return offset

    def _surfaces(self, t: float) -> Surfaces:
        unit, size = self._unit or self._normal(t)
        offset = self._offset(t)
        if not np.isfinite(offset).all():
            raise NotFinite(f"the offset of the {self.names[0]} is {offset.item()} at t = {t:g}; it must be finite")
        return Planes(unit[None], offset.ravel() / size)


@check_arguments
class Box(Walls):
    """The box {q : lower <= q <= upper}; infinite entries are open sides.

    Parameters
    ----------
    lower : float, array_like, shape (d,), or callable (t) -> array
        Lower corner; -inf for an open side.
    upper : float, array_like, shape (d,), or callable (t) -> array
        Upper corner; inf for an open side.
    radii : float, array_like, shape (n,), or callable (t) -> array, optional
        Radii of the bodies. None: those of the balls in an intersection; otherwise the bodies are points.

    Examples
    --------
    >>> Box(lower=[0, 0], upper=[2, np.inf]).gap(0.0, [0.5, 9.0])
    0.5
    """

    flat = on_devices = True

    def __init__(self, lower: InTime, upper: InTime, *, radii: InTime | None = None):
        super().__init__(radii, lower, upper)
        self.lower, self.upper = frozen(lower), frozen(upper)
        low, high = np.broadcast_arrays(np.atleast_1d(at(lower, 0.0)), np.atleast_1d(at(upper, 0.0)))
        for name, ends in (("lower", low), ("upper", high)):
            if np.isnan(ends).any():
                raise InvalidValue(f"{name} of the box is {ends.tolist()}; use infinity for an open side")
        if (low > high).any() or (low == np.inf).any() or (high == -np.inf).any():
            raise InvalidValue(f"box is empty: lower {low.tolist()} exceeds upper {high.tolist()}")
        self.dimension = low.size
        walled = np.concatenate([low > -np.inf, high < np.inf])
        self._sides = np.flatnonzero(walled)
        width = float((high - low).min(initial=np.inf))
        self.own_length = width if 0.0 < width < np.inf else None
        words = [f"wall q[{a}] {end}" for end in (">= lower", "<= upper") for a in range(self.dimension)]
        self.names = tuple(words[side] for side in self._sides)
        self.parallel = len(set((self._sides % self.dimension).tolist())) < 2
        """Whether all sides are across one axis, so that they only move along their normals."""

    def _surfaces(self, t: float) -> Surfaces:
        d, sides = self.dimension, self._sides
        ends = np.concatenate([np.broadcast_to(at(ends, t), (d,)) for ends in (self.lower, self.upper)])
        if np.isnan(ends).any():
            side = self._side(int(np.argmax(np.isnan(ends))))
            raise NotFinite(f"{side} of the box is nan at t = {t:g}; use infinity for an open side")
        closed = np.isfinite(ends)
        closed[sides] = False
        if closed.any():
            k = int(np.argmax(closed))
            raise InvalidValue(
                f"{self._side(k)} of the box is {ends[k]:g} at t = {t:g}, and was infinite at t = 0: an open side "
                f"stays open; start with a wall that is far away"
            )
        axis, sign = sides % d, np.where(sides < d, 1.0, -1.0)
        return Planes(sign[:, None] * np.eye(d)[axis], sign * ends[sides])

    def _side(self, k: int) -> str:
        """The name of a side: the lower ones come first."""
        end, axis = divmod(k, self.dimension)
        return f"{('lower', 'upper')[end]}[{axis}]"


@check_arguments
class Outside(Obstacles):
    """The outside of circles or spheres, {q : |q - centre_k| >= radius_k}: round obstacles.

    Parameters
    ----------
    centre : array_like, shape (d,) or (k, d), or callable (t) -> array
        Centres of the obstacles.
    radius : float, array_like, shape (k,), or callable (t) -> array
        Radii of the obstacles, 0 or more.
    radii : float, array_like, shape (n,), or callable (t) -> array, optional
        Radii of the bodies. None: those of the balls in an intersection; otherwise the bodies are points.

    Examples
    --------
    >>> Outside(centre=[[0.0, 0.0], [5.0, 0.0]], radius=1.0).gap(0.0, [2.0, 0.0])
    1.0
    """

    sign = 1.0
    kind = "obstacle"
    on_devices = True

    def __init__(self, centre: InTime, radius: InTime, *, radii: InTime | None = None):
        super().__init__(radii, centre, radius)
        self.centre, self.radius = frozen(centre), frozen(radius)
        centres = np.atleast_2d(finite(at(centre, 0.0), f"centre of {self.kind}s"))
        self.dimension = centres.shape[1]
        self.names = tuple(f"{self.kind} {k}" for k in range(len(centres)))
        size = self._sizes_of(finite(at(radius, 0.0), f"radius of {self.kind}s"), 0.0)
        if not (size >= 0).all():
            raise InvalidValue(f"radius must not be negative: {size.tolist()}")
        self.own_length = float(size.min()) or None

    def cores(self, t: float) -> tuple[Array, Cores] | None:
        surfaces = self._surfaces(t)
        assert isinstance(surfaces, Spheres)
        return surfaces.centre, obstacles(np.ones(len(surfaces.centre), np.int64), surfaces.radius)

    def _sizes_of(self, radius: Array, t: float) -> Array:
        """(k,) the radius of each obstacle."""
        if radius.shape not in ((), (1,), (len(self.names),)):
            raise InvalidValue(
                f"radius has shape {radius.shape} at t = {t:g}, and there are {len(self.names)} {self.kind}s"
            )
        return np.broadcast_to(radius, (len(self.names),))

    def _surfaces(self, t: float) -> Surfaces:
        centre = np.atleast_2d(finite(at(self.centre, t), f"centre of {self.kind}s at t = {t:g}"))
        same_number(self.names, len(centre), self.kind, t)
        radius = self._sizes_of(finite(at(self.radius, t), f"radius of {self.kind}s at t = {t:g}"), t)
        if not radius.min(initial=0.0) >= 0.0:
            k = int(np.argmin(radius))
            raise InvalidValue(f"radius of {self.names[k]} is {radius[k]:g} at t = {t:g}; it must not be negative")
        return Spheres(centre, radius, self.sign)

    def _undefined(self, body: str, wall: str) -> str:
        return (
            f"{body} sits exactly on the centre of {wall}; the distance has no gradient there: move it off the centre"
        )


# Round containers: the inside of a circle or a sphere, at rest or moving.
#
# The gap of a body of radius r in a container of radius R is g = (R - r) - |q - c|, which is concave in q. A linearised
# step keeps the body on one side of a tangent: from a place in the container, a step of length l ends at a distance of
# at most sqrt(rho^2 + l^2) from the centre, rho = R - r, and so at most
#
#     sqrt(rho^2 + l^2) - rho  <=  l^2 / (2 rho)
#
# behind the wall. The next step brings the body back. `Maury` and `Venel` measure this overshoot in each step
# (``sol.stats["overshoot"]``). With every scheme, a step in which the centre of a body leaves the container is an
# error, `LeftTheSet`.


SMALL_EXCESS = 0.1
"""A body may leave a container by this fraction of its radius, which small bodies do in steps longer than they are."""


@check_arguments
class Inside(Outside):
    """The inside of a circle or a sphere, {q : |q - centre_k| <= radius_k}: a bowl, a drum, a round hall, a string.

    `Maury` and `Venel` go up to O(h^2) through its wall, measure that and report it.

    Parameters
    ----------
    centre : array_like, shape (d,) or (k, d), or callable (t) -> array
        Centres of the containers.
    radius : float, array_like, shape (k,), or callable (t) -> array
        Radii of the containers, 0 or more.
    radii : float, array_like, shape (n,), or callable (t) -> array, optional
        Radii of the bodies. None: those of the `Balls` in an intersection; otherwise the bodies are points.

    Examples
    --------
    >>> import jostle as jo
    >>> jo.nearest([3.0, 4.0], Inside(centre=[0.0, 0.0], radius=1.0)).point.round(12).tolist()
    [0.6, 0.8]
    >>> ball = jo.Motion(q0=[0.6, 0.0], force=[0.0, -10.0], within=jo.Inside([0.0, 0.0], 1.0, radii=0.25))
    >>> jo.solve(ball, jo.Maury(), t=1.0, h=0.01).overlap < 1e-2
    True
    """

    sign = -1.0
    kind = "container"
    convex_gaps = False
    curved = True

    def cores(self, t: float) -> tuple[Array, Cores] | None:
        return None

    def crossing(self, step: Step) -> Crossing | None:
        # A body whose centre a step took out of the container, a point by more than half the container's radius,
        # a body smaller than a tenth of it by more than a tenth.
        x, before, _, _ = self._at(step.times[0], step.ends[0])
        y, walls, radii, _ = self._at(step.times[1], step.ends[1])
        assert isinstance(walls, Spheres)
        size = place_of(y).zeros((len(y), 1)) if radii is None else radii[:, None]
        room = np.maximum(np.where(size > 0.0, size, walls.radius / 2.0), SMALL_EXCESS * walls.radius)
        moved = np.sqrt(((y - x) ** 2).sum(axis=1)) + before.sway(walls)
        lost = (size - walls.distances(y) > room) & (moved > 0.0)[:, None]
        if not lost.any():
            return None
        body, wall = (int(k) for k in np.argwhere(lost)[0])
        return Crossing(body, self.names[wall], float(moved[body]), float(room[body, wall]))


# Thin straight walls in the plane, for discs.


@check_arguments
class Segments(Obstacles):
    """Thin straight walls in the plane for discs, at rest or moving.

    A thin wall has two sides and no inside: a run in which it moves past the centre of a disc in one step ends with an
    error. Use `Polygons` for walls that move fast.

    Parameters
    ----------
    ends : array_like, shape (k, 2, 2), or callable (t) -> array
        The two end points of each wall.
    radii : float, array_like, shape (n,), or callable (t) -> array, optional
        Radii of the discs. None: those of the `Balls` in an intersection.

    Examples
    --------
    >>> Segments([[[0, 0], [4, 0]]], radii=0.5).gap(0.0, [2.0, 1.5])
    1.0
    >>> import numpy as np
    >>> turnstile = Segments(lambda t: [[[0, 0], [np.cos(t), np.sin(t)]]], radii=0.1)
    >>> turnstile.moving, round(turnstile.gap(np.pi / 2, [0.5, 0.5]), 12)
    (True, 0.4)
    """

    thin = on_devices = True

    def __init__(self, ends: InTime, *, radii: InTime | None = None):
        super().__init__(radii, ends)
        self.dimension = 2
        first = self._ends_at(ends, 0.0)
        self.ends = ends if callable(ends) else frozen(first)
        self.names = tuple(
            f"segment {k}, moving" if callable(ends) else f"segment {a.tolist()} to {b.tolist()}"
            for k, (a, b) in enumerate(first)
        )

    @staticmethod
    def _ends_at(ends: InTime, t: float) -> Array:
        array = finite(ends(t), f"ends at t = {t:g}") if callable(ends) else finite(ends, "ends")
        if array.size % 4:
            raise InvalidValue(f"ends of segments have shape (k, 2, 2), two points each; these have {array.shape}")
        return array.reshape(-1, 2, 2)

    def cores(self, t: float) -> tuple[Array, Cores] | None:
        ends = self._ends_at(self.ends, t)
        return ends.reshape(-1, 2), obstacles(np.full(len(ends), 2), np.zeros(len(ends)))

    def _surfaces(self, t: float) -> Surfaces:
        ends = self._ends_at(self.ends, t)
        same_number(self.names, len(ends), "segment", t)
        return Lines.between(ends[:, 0], ends[:, 1])
