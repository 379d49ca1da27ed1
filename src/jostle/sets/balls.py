"""Balls that do not overlap, D_ij = |q_j - q_i| - (r_i + r_j) >= 0, and balls on a line.

Bernicot & Lefebvre-Lepot 2010, section 4; Venel 2009 (40). The gaps are convex, so their linearised
constraint keeps the balls apart whatever the step. Radii may depend on time: the constraint is taken at
t^{n+1}, which contains the rate r_i' + r_j' that the printed cone of section 4 leaves out.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from jostle import kernels
from jostle._tools.arguments import check_arguments
from jostle._tools.arrays import (
    Array,
    Booleans,
    Integers,
    InTime,
    Shorts,
    at,
    contiguous,
    floats,
    frozen,
    highest,
    lowest,
    moved_to,
    place_of,
    squares,
)
from jostle.bodies import Bodies, body_radii, pair_keys
from jostle.contacts import BY_NORMALS, Contacts, Cutoff, of_bodies
from jostle.convex.linear_map import Dense, LinearMap, NormalRows
from jostle.convex.rows import lengths
from jostle.errors import InvalidValue, NotFinite, UndefinedGradient
from jostle.kernels.parallel import all_finite, by_rows, chunks_of, threads
from jostle.sets.base import BodySet, ConstraintSet
from jostle.sets.surfaces import Crossing, Step

TINY = float(np.finfo(float).tiny)
FIRST_SEARCH_RADIUS = 0.1
"""First search radius of `gap` for many balls, as a fraction of the mean radius."""


@check_arguments
class Balls(BodySet):
    """n balls in d dimensions that may touch and never overlap; q has shape (n, d).

    Parameters
    ----------
    radii : array_like, shape (n,), or callable (t) -> array
        Radii of the balls, positive; one number for all, or one for each, and they may depend on time.
    period : float or array_like, shape (d,), optional
        Period of space along each axis; infinite along an open one. Positions are not wrapped. None: space is not
        periodic.

    Examples
    --------
    >>> Balls([1.0, 2.0]).gap(0.0, [[0.0, 0.0], [3.0, 4.0]])
    2.0
    >>> Balls([1.0, 1.0], period=[10.0, np.inf]).gap(0.0, [[0.5, 0.0], [9.5, 0.0]])       # they overlap by 1
    -1.0
    """

    convex_gaps = on_devices = True

    def __init__(self, radii: InTime, *, period: ArrayLike | None = None):
        self.bodies, self.moving = Bodies(radii, apart=True, called="ball"), callable(radii)
        self.period = frozen(np.inf if period is None else period)
        if not (self.period > 0.0).all():
            raise InvalidValue(f"period must be positive, infinite for an open axis, not {self.period.tolist()}")
        self._open = bool((self.period == np.inf).all())
        self._kept: dict[Any, Any] = {}
        """The lists of neighbours and the periods, as arrays of each type; and the shape (n, d) of each shape of q."""

    @property
    def radii(self) -> Any:
        """Radii of the balls."""
        return self.bodies.radii

    def linearise(self, t: float, q: Array, cutoff: Cutoff = np.inf) -> Contacts:
        # The pairs of balls within the cutoff, with their gaps and normals.
        x, radii, smallest = self._bodies(t, q)
        own = of_bodies(cutoff)
        (pairs, normal, gap), each = self._near(x, radii, contiguous(cutoff) if own else _each(cutoff, x))
        i, j = pairs
        self._check_centres(x, smallest, pairs, normal, gap)
        return Contacts(
            gap,
            BY_NORMALS,
            pairs.T,
            constraint_count=0,
            length=smallest,
            cutoff=each if own else min(cutoff, 2.0 * lowest(each, np.inf)),
            describe=lambda row: self.bodies.names(int(i[row]), int(j[row])),
            at=floats(q, name="q"),
            curvature=partial(by_rows, _curvature, (gap, i, j), radii),
            part_count=len(x),
            gap_at=partial(self._gaps_at, (x, radii, gap), (i, j)) if self.moving else None,
            normal=normal,
            known=True,
        )

    def overlap(self, t: float, q: Array) -> float:
        if self._is_changed:
            return super().overlap(t, q)
        x, radii, smallest = self._bodies(t, q)
        if len(x) == 0:
            return 0.0
        (pairs, normal, gap), _ = self._near(x, radii, _each(0.0, x))
        self._check_centres(x, smallest, pairs, normal, gap)
        return abs(lowest(gap, 0.0)) / smallest

    def crossing(self, step: Step) -> Crossing | None:
        """Two balls of which the centre of one went through the other in a step; they need not overlap after it.

        Parameters
        ----------
        step : Step
            Times and positions before and after the step.

        Returns
        -------
        Crossing or None
            The smaller ball and the other one; None if there are none.
        """
        if step.linearised or self._is_changed:
            return None
        x, radii, smallest = self._bodies(step.times[0], step.ends[0])
        way = step.ends[1].reshape(x.shape) - x
        if 2.0 * np.sqrt(x.shape[1]) * highest(np.abs(way), 0.0) < smallest:
            return None
        there = place_of(x).arange(len(x)) if step.here is None else np.flatnonzero(step.here)
        x, radii, way = x[there], radii[there], way[there]
        moved = np.sqrt(squares(way))
        period = moved_to(np.broadcast_to(self.period, x.shape[1:]).copy(), x)
        cutoff = moved if self._open else np.minimum(moved, furthest(radii, self.period) / 2.0)
        (i, j), normal, gap = near_pairs(x, radii, cutoff, period, None)[0]
        apart, relative = gap + radii[i] + radii[j], way[j] - way[i]
        along, squared = apart * (normal * relative).sum(axis=1), squares(relative)
        behind = apart**2 + along < 0.0
        nearest = apart**2 - along**2 / np.where(behind, squared, 1.0)  # squared distance from the straight path
        behind &= nearest < np.maximum(radii[i], radii[j]) ** 2
        through = np.flatnonzero(behind if self.hinged is None else behind & self._unhinged(there[i], there[j]))
        if len(through) == 0:
            return None
        row = int(through[int(np.argmax(squared[through]))])
        one, other = int(i[row]), int(j[row])
        if radii[one] > radii[other]:  # the centre of the smaller one was inside the larger one
            one, other = other, one
        safe = float(radii[one] + radii[other])
        return Crossing(int(there[one]), self.bodies.name(int(there[other])), float(np.sqrt(squared[row])), safe)

    @property
    def _is_changed(self) -> bool:
        """Whether the rows are those of another class: of clumps, or of a user."""
        return type(self).linearise is not Balls.linearise

    def _near(self, x: Array, radii: Array, cutoff: Any) -> tuple[tuple[Integers, Array, Array], Array]:
        """(pairs (2, m), normal, gap) within the cutoff, by the list that serves such arrays; and the cutoff."""
        period = self._kept.get((x.shape[1], type(x)))
        if period is None:
            if self.period.ndim and len(self.period) != x.shape[1]:
                raise InvalidValue(f"there are {len(self.period)} periods, the balls live in dimension {x.shape[1]}")
            period = moved_to(np.broadcast_to(self.period, x.shape[1:]).copy(), x)
            self._kept[x.shape[1], type(x)] = period
        if not self._open:
            cutoff = np.minimum(cutoff, furthest(radii, self.period) / 2.0)
        found, self._kept[type(x)] = near_pairs(x, radii, cutoff, period, self._kept.get(type(x)))
        if self.hinged is not None:
            (i, j), normal, gap = found
            free = self._unhinged(i, j)
            found = np.ascontiguousarray(found[0][:, free]), normal[free], gap[free]
        return found, cutoff

    def _unhinged(self, i: Integers, j: Integers) -> Booleans:
        """(m,) which pairs of balls do not belong to bodies that are hinged together."""
        return ~np.isin(pair_keys(self.bodies.owners(i), self.bodies.owners(j)), np.asarray(self.hinged))

    def _gaps_at(
        self, now: tuple[Array, Array, Array], pairs: tuple[Integers, Integers], t: float, rows: Integers
    ) -> Array:
        """The gaps of some pairs at time t, from the positions, radii and gaps of now: only the radii change."""
        (x, radii, gap), (i, j) = now, (body[rows] for body in pairs)
        growth = self._bodies(t, x)[1] - radii
        return gap[rows] - (growth[i] + growth[j])

    def gap(self, t: float, q: ArrayLike) -> float:
        # The smallest gap between two balls.
        x, radii, _ = self._bodies(t, floats(q, name="q"))
        if len(x) <= MAX_ALL_PAIRS:
            return super().gap(t, x)
        cutoff, most = FIRST_SEARCH_RADIUS * float(radii.mean()), furthest(radii, self.period)
        while True:
            (_, _, gap), _ = self._near(x, radii, _each(min(cutoff, most), x))
            if len(gap) or cutoff >= most:
                return lowest(gap, np.inf)
            cutoff = 4.0 * cutoff if np.isfinite(cutoff) else most

    def _bodies(self, t: float, q: Array) -> tuple[Array, Array, float]:
        """(n, d) positions, (n,) radii, and the smallest of these."""
        q = floats(q, name="q")
        shape = self._kept.get(q.shape)
        if shape is None:
            shape = self._shape(q.shape, self.bodies.radii_at(t).shape)
            if not self.moving:
                self._kept[q.shape] = shape
        x = q.reshape(shape)
        radii, smallest = self.bodies.sizes(t, x)
        if radii is None or not smallest > 0.0:
            radii = body_radii(self.bodies.radii_at(t), len(x), t, called=self.bodies.called)  # which refuses zeros
        return x, radii, smallest

    def _check_centres(self, x: Array, smallest: float, pairs: Integers, normal: Array, gap: Array) -> None:
        """Refuse two balls with the same centre, which overlap by both radii; those of clumps may have none."""
        if lowest(gap, np.inf) > -2.0 * smallest and self.bodies.parts is None:
            return
        if all_finite(normal) or not all_finite(x):
            return
        i, j = pairs[:, int(np.argmin(np.isfinite(normal).all(axis=1)))].tolist()
        raise UndefinedGradient(
            f"{self.bodies.names(i, j)} have the same centre {x[i].tolist()}; the direction between them is undefined: "
            f"move one of them"
        )

    def _shape(self, q: tuple[int, ...], radii: tuple[int, ...]) -> tuple[int, int]:
        """The number of balls and the dimension of space, from the shapes of q and of the radii."""
        size = math.prod(q)
        if radii == () and len(q) == 1 and size > 1:
            raise InvalidValue(
                f"one radius does not say whether q of shape {q} is one ball or {size} balls on a line: give q "
                f"the shape (1, {size}) or ({size}, 1)"
            )
        n = (radii or q)[0]
        if n == 0 and size == 0:
            return 0, 1
        if n == 0 or size % n or (len(q) > 1 and q[0] != n):
            raise InvalidValue(f"there are {n} radii; q has shape {q}, expected ({n}, d)")
        return n, size // n


def _curvature(gap: Array, i: Integers, j: Integers, radii: Array) -> Array:
    """1 / distance, which round-off may make zero."""
    curvature: Array = 1.0 / np.maximum(gap + radii[i] + radii[j], TINY)
    return curvature


def _each(cutoff: Any, x: Array) -> Array:
    """(n,) the cutoff of each ball: half of what a pair has."""
    return place_of(x).full(len(x), cutoff / 2.0)


@check_arguments
class Line(ConstraintSet):
    """Balls on a line that keep their order, q_{i+1} - q_i >= r_i + r_{i+1}, between two walls or none.

    Parameters
    ----------
    radii : array_like, shape (n,), or callable (t) -> array
        Radii of the balls, 0 or more; they may depend on time.
    lower : float, default -inf
        Position of the wall below the first ball; -inf: no wall.
    upper : float, default inf
        Position of the wall above the last ball; inf: no wall.

    Examples
    --------
    >>> Line([0.5, 0.5, 1.0], lower=-1.0).linearise(0.0, np.array([0.0, 1.0, 3.0])).gap.tolist()
    [0.5, 0.0, 0.5]
    """

    convex_gaps = flat = True

    def __init__(self, radii: InTime, *, lower: float = -np.inf, upper: float = np.inf):
        self.bodies, self.moving = Bodies(radii, apart=True, called="ball"), callable(radii)
        self.lower, self.upper = lower, upper
        if not (lower < np.inf and upper > -np.inf and lower <= upper):
            raise InvalidValue(
                f"the walls of a line are at lower = {lower} and upper = {upper}; lower must not exceed upper, and "
                f"-infinity and infinity stand for no wall"
            )
        n = at(radii, 0.0).size
        left = np.arange(-1, n)
        right = left + 1
        kept = np.ones(n + 1, dtype=bool)
        kept[0], kept[-1] = lower > -np.inf, upper < np.inf
        if n == 0:
            kept[:] = False
        self._rows = kept
        # A wall is row (body, -1) below the first ball and (body, -2) above the last.
        i = np.where(left < 0, right, left)
        j = np.where(left < 0, -1, np.where(right == n, -2, right))
        normal = np.where(left < 0, -1.0, 1.0)[:, None]
        pairs = NormalRows(i[kept], j[kept], normal[kept], n)
        self._G: LinearMap = Dense(pairs.toarray()) if n <= MAX_ALL_PAIRS else pairs
        self._pairs = np.stack([pairs.i, pairs.j], axis=1)
        self._known: tuple[Array | float, Array] | None = None
        """The radii and the lengths of the rows, if they do not depend on time."""

    @property
    def radii(self) -> Any:
        """Radii of the balls."""
        return self.bodies.radii

    def linearise(self, t: float, q: Array, cutoff: float = np.inf) -> Contacts:
        # The gaps between neighbours, and those of the two walls.
        x, n = q.ravel(), len(self._rows) - 1
        if len(x) != n:
            raise InvalidValue(f"there are {n} radii; q has shape {q.shape}")
        radii, length = self._known or self._sizes(t, x)
        ends = np.empty((2, n + 1))
        ends[0, 0], ends[1, -1] = self.lower, self.upper
        np.add(x, radii, out=ends[0, 1:])
        np.subtract(x, radii, out=ends[1, :-1])
        return Contacts(
            (ends[1] - ends[0])[self._rows],
            self._G,
            self._pairs,
            constraint_count=2,
            length=length,
            describe=self._describe,
            at=q,
            curvature=partial(np.zeros, len(self._pairs)),
            part_count=n,
            gap_at=(lambda time, rows: self.linearise(time, q).gap[rows]) if self.moving else None,
            known=True,
        )

    def _sizes(self, t: float, x: Array) -> tuple[Array | float, Array]:
        """The radii at time t and the lengths of the rows."""
        given = self.bodies.radii_at(t).size
        if given != len(x):
            raise InvalidValue(f"there are {given} radii at t = {t:g}, and {len(x)} balls")
        radii, smallest = self.bodies.sizes(t, x)
        length = lengths(smallest if 0.0 < smallest < np.inf else None, len(self._pairs))
        sizes = 0.0 if radii is None else radii, length
        if not self.moving:
            self._known = sizes
        return sizes

    def _describe(self, row: int) -> str:
        i, j = self._pairs[row]
        if j >= 0:
            return self.bodies.names(i, j)
        return f"{self.bodies.name(i)} and the {'lower' if j == -1 else 'upper'} wall"


# Neighbouring balls: the pairs (i, j, normal, gap) within the cutoff, from a list that lasts for several steps.
#
# Each ball has a cutoff, the way it may go in a step: a pair is within the cutoff if gap <= cutoff_i + cutoff_j. The
# list holds the pairs whose rooms met when it was made, a room being a ball around the same centre, larger than the
# radius and the cutoff. It serves as long as each ball, with its cutoff, stays within its room, where only that counts
# which it did not go together with all the others:
#
#     r + cutoff + |dq - mean dq| <= room.
#
# So one fast ball makes no long list for the others.
#
# The answer does not depend on the list: pairs come sorted, with i < j, whether it is old or new.


MAX_ALL_PAIRS = 64
"""With at most this many balls all pairs are examined, without a list of neighbours."""
SKIN = 0.15
"""Margin of the neighbour list, as a fraction of the mean radius."""
CUTOFF_MARGIN = 2.0
"""Margin of the neighbour list, in multiples of the cutoff: the list then lasts for several steps."""
PARALLEL_BALLS = 20_000
"""From this many balls on, the list is made by all threads."""


class PairList(NamedTuple):
    """The pairs whose rooms met at the configuration q."""

    i: Shorts
    j: Shorts
    q: Array
    room: Array

    def serves(self, q: Array, radii: Array, cutoff: Array) -> bool:
        """Whether all pairs within the cutoff at q are in the list."""
        if q.shape != self.q.shape:
            return False
        return kernels.stayed(q, self.q, radii, contiguous(cutoff), self.room, chunks_of(len(q)))


def pair_list(q: Array, radii: Array, cutoff: Array, period: Array) -> PairList:
    """A new list, with some room to move."""
    most = furthest(radii, period) / 2.0
    room = radii + np.minimum(CUTOFF_MARGIN * cutoff + SKIN * float(radii.mean()), most)
    chunks = threads() if len(q) >= PARALLEL_BALLS else 1
    i, j = kernels.pair_list(q, room, period, chunks)
    return PairList(i, j, q.copy(), room)


def near_pairs(
    q: Array, radii: Array, cutoff: Array, period: Array, known: PairList | None
) -> tuple[tuple[Integers, Array, Array], PairList | None]:
    """(pairs (2, m), normal, gap) with gap <= cutoff_i + cutoff_j, i < j, in order; and the list, for next time."""
    if not (isinstance(q, np.ndarray) and q.flags.c_contiguous and q.dtype == float and radii.flags.c_contiguous):
        q, radii = contiguous(q), contiguous(radii)
    n, d = q.shape
    if known is None or not known.serves(q, radii, cutoff):  # a list serves only where all numbers are finite
        if n <= MAX_ALL_PAIRS or d > 3 or not all_finite(cutoff):
            return kernels.all_pairs(q, radii, cutoff, period), None
        if not all_finite(q):
            ball = int(np.argmin(np.isfinite(q).all(axis=1)))
            raise NotFinite(f"the position of ball {ball} is {q[ball].tolist()}")
        known = pair_list(q, radii, cutoff, period)
    return kernels.near(known.i, known.j, q, radii, cutoff, period, chunks_of(len(known.i))), known


def furthest(radii: Array, period: Array) -> float:
    """The largest gap at which a pair still has one nearest image: half a period less two radii."""
    shortest = lowest(period, np.inf)
    if shortest == np.inf or len(radii) == 0:
        return np.inf
    largest = float(radii.max())
    room = shortest / 2.0 - 2.0 * largest
    if not room > 0.0:
        raise InvalidValue(
            f"the period {shortest:g} is too short for balls of radius {largest:g}: two of them could touch on "
            f"both sides; it must exceed four radii"
        )
    return room
