"""Admissible sets Q(t) = {q : g_i(t, q) >= 0}: what every set can do, no constraint at all, and intersections.

`linearise(t, q)` returns the `Contacts` of a set at a configuration.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import replace
from functools import partial, reduce
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from jostle.arrays import Array, Booleans, Integers, InTime, at, highest, lowest, place_of
from jostle.convex.maps import Dense, stacked
from jostle.convex.metric import Metric
from jostle.convex.projection import Projection
from jostle.errors import InvalidValue
from jostle.sets.contacts import CLOSED, Contacts, Reach, by_pair, check_start, of_bodies
from jostle.sets.crossings import Crossing, Step
from jostle.sets.differences import Differences
from jostle.sets.memory import Searched, put_back, searched
from jostle.sets.nearest import DEFAULT_SOLVER, nearest
from jostle.sets.numbering import check_owned, check_unchanged
from jostle.solvers.base import Solver
from jostle.solvers.project import require


class ConstraintSet:
    """Q(t). A new set defines `linearise`; ``Q1 & Q2`` intersects.

    >>> import jostle as jo
    >>> Q = jo.HalfSpace([0.0, 1.0]) & jo.Outside([0.0, 0.0], 1.0)
    >>> Q.gap(0.0, [0.0, 3.0]), Q.gap(0.0, [5.0, 0.5])
    (2.0, 0.5)
    """

    convex_gaps: bool | None = None
    """Is every g_i(t, .) convex, as Bernicot & Lefebvre-Lepot 2010 and Venel 2009 ask? None: not known."""
    moving: bool | None = None
    """Does the set depend on time? None: not known."""
    equalities: bool = False
    """Are the constraints of the set equalities, g_i = 0? All of them are, or none; an intersection may have both."""
    curved: bool = False
    """Is it the inside of a curved wall, where linearised schemes overshoot by O(h^2), measure that and report it?"""
    flat: bool = False
    """Is every gap linear in q, with the same gradient at all times and places?"""
    radii_of_bodies: InTime | None = None
    """The radii that walls beside this set take over; None: it does not say how large the bodies are."""
    takes_radii: bool = False
    """Does the set take over the radii of the bodies in an intersection (`with_radii`)?"""
    remembers: type[Any] | None = Searched
    """The NamedTuple that `memory` is, for checkpoints."""
    by_body: bool = False
    """Does `linearise` take a reach for each body? If not, it gets twice the largest for all."""
    on_devices: bool = False
    """Does `linearise` take arrays of CuPy as well, and is each row a contact of bodies? If not, runs on a GPU are
    refused."""

    def linearise(self, t: float, q: Array, reach: Any = np.inf) -> Contacts:
        """Gaps and gradients at (t, q); pairs further apart than reach (see `Reach`) may be left out."""
        raise NotImplementedError

    def near(self, t: float, q: Array, reach: Reach) -> Contacts:
        """`linearise`, with the reach of each body for a set that knows one for all only, and `Contacts.gap_at`."""
        if of_bodies(reach) and not self.by_body:
            reach = 2.0 * highest(reach, 0.0)
        return self.in_motion(self.linearise(t, q, reach), q)

    def in_motion(self, contacts: Contacts, q: Array) -> Contacts:
        """The contacts of this set at q, with a `Contacts.gap_at` if the set may move and did not give one."""
        if self.moving is False or contacts.gap_at is not None:
            return contacts
        return replace(contacts, gap_at=partial(self._gaps_of, contacts.pairs, q))

    def _gaps_of(self, pairs: Integers, q: Array, t: float, rows: Integers) -> Array:
        """The gaps of some pairs at time t, for sets that do not give `Contacts.gap_at` themselves."""
        there = self.linearise(t, q)
        found = by_pair(there.pairs, there.gap, pairs[rows], np.nan)
        if np.isnan(found).any():
            row = pairs[rows][int(np.argmax(np.isnan(found)))].tolist()
            raise InvalidValue(f"{self!r} has no row for the pair {row} at t = {t:g}; without a reach it must have all")
        return found

    def with_radii(self, radii: InTime) -> ConstraintSet:
        """The same set for bodies of these radii; for sets with `takes_radii` only."""
        raise NotImplementedError

    def anew(self) -> ConstraintSet:
        """The same set without what it keeps of the configurations that it has seen."""
        return self

    def __repr__(self) -> str:
        return type(self).__name__

    def __bool__(self) -> bool:
        raise InvalidValue("a set is not true or false: write Q1 & Q2, not Q1 and Q2")

    def __and__(self, other: ConstraintSet) -> Intersection:
        return Intersection(_parts(self) + _parts(other))

    def gaps(self, t: float, q: Array) -> Array:
        """All g_i(t, q), without their gradients."""
        return self.linearise(t, q).gap

    def margins(self, t: float, q: Array) -> Array:
        """All g_i(t, q), and -|g_i(t, q)| of equalities: negative where q is not in Q(t)."""
        return -np.abs(self.gaps(t, q)) if self.equalities else self.gaps(t, q)

    def gap(self, t: float, q: ArrayLike) -> float:
        """The smallest gap at (t, q), -|g_i| of equalities; infinite without constraints."""
        return lowest(self.margins(t, np.asarray(q, dtype=float)), np.inf)

    def overlap(self, t: float, q: Array) -> float:
        """The deepest overlap at (t, q), over the length of its constraint; 0 if there is none."""
        return self.linearise(t, q, 0.0).overlap()

    def nearest(
        self,
        q: ArrayLike,
        *,
        mass: ArrayLike | Metric = 1.0,
        t: float = 0.0,
        solver: Solver | None = None,
    ) -> Projection:
        """P_Q(q): the nearest point of Q(t) in the M-norm (a local one if Q is not convex).

        >>> import jostle as jo
        >>> disc = jo.Outside(centre=[0.0, 0.0], radius=1.0)
        >>> disc.nearest([0.3, 0.2], mass=[1.0, 4.0]).point.round(10).tolist()
        [0.9703379662, 0.2417524176]
        """
        solver = solver or DEFAULT_SOLVER
        return require(nearest(self, np.asarray(q, dtype=float), mass, t, solver)[0], solver)

    def widest(self) -> float:
        """The largest radius of a body at time 0; 0 if there are none."""
        return float(self.radii_at(0.0).max(initial=0.0))

    def radii_at(self, t: float) -> Array:
        """The radii of the bodies at time t: one for each, or one for all; 0 if they are points."""
        return at(getattr(self, "radii", 0.0), t)

    def excluding(self, t: float, n: int) -> Array | None:
        """(n,) the radii of bodies of which no two may overlap; None if they may."""
        return None

    def widths(self, t: float, radii: Array, d: int) -> Array:
        """(d,) the sides of a box that holds balls of these radii; infinite where nothing confines them."""
        return np.full(d, np.inf)

    def curved_part(self) -> ConstraintSet:
        """The curved walls alone."""
        return self if self.curved else Free()

    def unknown_part(self) -> ConstraintSet:
        """The sets alone of which it is not known whether their gaps are convex."""
        return self if self.convex_gaps is None else Free()

    def moves(self, times: tuple[float, float], q: Array) -> bool:
        """Does the set depend on time? If it does not say so: do its gaps at q differ between the two times?"""
        if self.moving is not None:
            return self.moving
        now, then = (self.gaps(t, q) for t in times)
        return bool(np.abs(then - now).max(initial=0.0) > CLOSED * np.abs(now).max(initial=0.0))

    def equal_part(self) -> ConstraintSet:
        """The sets alone that have equalities."""
        return self if self.equalities else Free()

    def crossing(self, step: Step) -> Crossing | None:
        """A wall that the centre of a body went through in the step, if any."""
        return None

    def differenced(self) -> tuple[Differences, ...]:
        """The differences that gradients of the set are computed by, which remember their steps."""
        return ()

    @property
    def memory(self) -> Any:
        """What earlier configurations have shown and later gradients depend on: `remembers`, or None if nothing."""
        return searched(self.differenced())

    @memory.setter
    def memory(self, memory: Any) -> None:
        put_back(self.differenced(), memory)

    def check_start(self, t: float, q: Array) -> None:
        """Raise `InfeasibleStart`, naming the worst pairs, if q is not in Q(t)."""
        check_start(self.linearise(t, q, reach=0.0))


class Free(ConstraintSet):
    """The whole space: no constraint at all.

    >>> import jostle as jo
    >>> jo.Free().gap(0.0, [1.0, 2.0])
    inf
    """

    convex_gaps, moving, flat, on_devices = True, False, True, True

    def overlap(self, t: float, q: Array) -> float:
        return 0.0

    def linearise(self, t: float, q: Array, reach: float = np.inf) -> Contacts:
        nothing = place_of(q).zeros(0)
        pairs = place_of(q).zeros((0, 2), dtype=np.int64)
        return Contacts(nothing, Dense(place_of(q).zeros((0, q.size))), pairs, numbers=0, bend=nothing)


class Intersection(ConstraintSet):
    """Q1 ∩ Q2 ∩ ...: all constraints at once (so obstacles add up to their union)."""

    by_body = True

    def __init__(self, sets: tuple[ConstraintSet, ...]):
        self.sets = sets = _with_common_radii(sets)
        self._numbers: tuple[int, ...] | None = None
        convex, moving = [Q.convex_gaps for Q in sets], [Q.moving for Q in sets]
        self.convex_gaps = False if False in convex else None if None in convex else True
        self.moving = True if True in moving else None if None in moving else False
        self.flat = all(Q.flat for Q in sets)
        if any(Q.equalities for Q in sets):  # without them, checkpoints describe it as they did before there were any
            self.equalities = True
        self.curved = any(Q.curved for Q in sets) and all(Q.curved for Q in sets if Q.convex_gaps is False)

    def anew(self) -> ConstraintSet:
        other = copy(self)
        other.sets = tuple(Q.anew() for Q in self.sets)
        return other

    def __repr__(self) -> str:
        return " & ".join(map(repr, self.sets))

    def gaps(self, t: float, q: Array) -> Array:
        return np.concatenate([Q.gaps(t, q) for Q in self.sets])

    def margins(self, t: float, q: Array) -> Array:
        return np.concatenate([Q.margins(t, q) for Q in self.sets])

    def gap(self, t: float, q: ArrayLike) -> float:
        return min((Q.gap(t, q) for Q in self.sets), default=np.inf)

    def overlap(self, t: float, q: Array) -> float:
        return max((Q.overlap(t, q) for Q in self.sets), default=0.0)

    def widest(self) -> float:
        return max((Q.widest() for Q in self.sets), default=0.0)

    def radii_at(self, t: float) -> Array:
        return max((Q.radii_at(t) for Q in self.sets), key=lambda radii: (radii.size, radii.max(initial=0.0)))

    def excluding(self, t: float, n: int) -> Array | None:
        return next((radii for Q in self.sets if (radii := Q.excluding(t, n)) is not None), None)

    def widths(self, t: float, radii: Array, d: int) -> Array:
        return np.asarray(np.min([Q.widths(t, radii, d) for Q in self.sets], axis=0, initial=np.inf))

    def curved_part(self) -> ConstraintSet:
        return _all_of([Q for Q in self.sets if Q.curved])

    def unknown_part(self) -> ConstraintSet:
        return _all_of([Q for Q in self.sets if Q.convex_gaps is None])

    def equal_part(self) -> ConstraintSet:
        return _all_of([Q for Q in self.sets if Q.equalities])

    def crossing(self, step: Step) -> Crossing | None:
        found = (Q.crossing(step) for Q in self.sets)
        return next((crossing for crossing in found if crossing is not None), None)

    def differenced(self) -> tuple[Differences, ...]:
        return tuple(one for Q in self.sets for one in Q.differenced())

    def moves(self, times: tuple[float, float], q: Array) -> bool:
        return any(Q.moves(times, q) for Q in self.sets)

    def linearise(self, t: float, q: Array, reach: Reach = np.inf) -> Contacts:
        parts = [Q.near(t, q, reach) for Q in self.sets]
        sizes = [len(part.gap) for part in parts]
        ends = np.cumsum(sizes)
        first, second = both = place_of(q).empty((2, sum(sizes)), dtype=np.int64)
        numbers = 0
        for part, end, size, own in zip(parts, ends, sizes, self._owned(parts, t), strict=True):
            i, j = first[end - size : end], second[end - size : end]
            i[:], j[:] = part.pairs.T
            if numbers:
                j[i < 0] += numbers
                j[(i >= 0) & (j < 0)] -= numbers
            numbers += own
        # of two bodies the numbers say all: not to keep the arrays of parts without constraints of their own
        words = [part.describe if part.numbers else None for part in parts]

        def describe(row: int) -> str:
            block = int(np.searchsorted(ends, row, side="right"))
            say, here = words[block], row - int(ends[block] - sizes[block])
            return f"balls {int(first[row])} and {int(second[row])}" if say is None else say(here)

        gap = np.concatenate([part.gap for part in parts])
        return Contacts(
            gap,
            stacked(*[part.G for part in parts], pairs=both),
            both.T,
            numbers=numbers,
            length=np.concatenate([part.length for part in parts]),
            reach=_least([part.reach for part in parts]),
            describe=describe,
            at=q,
            bend=None if any(part.bend is None for part in parts) else np.concatenate([part.bend for part in parts]),
            bodies=max(part.bodies for part in parts),
            equal=_kinds_of(parts),
            gap_at=_gap_at(gap, ends, parts),
        )

    def _owned(self, parts: list[Contacts], t: float) -> tuple[int, ...]:
        """How many constraint numbers each part owns, checked: two constraints must never share one."""
        owned = tuple(part.numbers for part in parts)
        self._numbers = self._numbers or owned
        for Q, part, before in zip(self.sets, parts, self._numbers, strict=True):
            check_owned(repr(Q), part.pairs, part.numbers)
            check_unchanged(repr(Q), part.numbers, before, t)
        return owned


def _with_common_radii(sets: tuple[ConstraintSet, ...]) -> tuple[ConstraintSet, ...]:
    """The sets, in which walls that were given no radii have those of the balls beside them."""
    known = [Q.radii_of_bodies for Q in sets if Q.radii_of_bodies is not None]
    if not known or not any(Q.takes_radii for Q in sets):
        return sets
    if not all(_same(radii, known[0]) for radii in known[1:]):
        wall = next(Q for Q in sets if Q.takes_radii)
        raise InvalidValue(f"{wall!r} stands beside balls of different radii; give it radii=")
    return tuple(Q.with_radii(known[0]) if Q.takes_radii else Q for Q in sets)


def _same(one: InTime, other: InTime) -> bool:
    """Are the radii the same function of time, or the same numbers?"""
    if callable(one) or callable(other):
        return one is other
    return np.array_equal(one, other)


def _kinds_of(parts: list[Contacts]) -> Booleans | None:
    """(m,) which rows of all parts are equalities; None if none is."""
    if all(part.equal is None for part in parts):
        return None
    return np.concatenate([np.zeros(len(part.gap), dtype=bool) if part.equal is None else part.equal for part in parts])


def _least(reaches: list[Reach]) -> Reach:
    """What all of them reach."""
    of_pairs = min((reach for reach in reaches if not of_bodies(reach)), default=np.inf)
    each = [reach for reach in reaches if of_bodies(reach)]
    return reduce(np.minimum, each, of_pairs / 2.0) if each else of_pairs


def _gap_at(gap: Array, ends: Integers, parts: list[Contacts]) -> Callable[[float, Integers], Array] | None:
    """`Contacts.gap_at` of contacts that are those of the parts, one after the other, each up to its end."""
    blocks = zip(ends.tolist(), parts, strict=True)
    moving = [(end - len(part.gap), end, part.gap_at) for end, part in blocks if part.gap_at is not None]
    if not moving:
        return None

    def gaps(t: float, rows: Integers) -> Array:
        found = gap[rows]
        for start, end, gap_at in moving:
            own = np.flatnonzero((rows >= start) & (rows < end))
            if len(own):
                found[own] = gap_at(t, rows[own] - start)
        return found

    return gaps


def _all_of(sets: list[ConstraintSet]) -> ConstraintSet:
    return Intersection(tuple(sets)) if sets else Free()


def _parts(Q: ConstraintSet) -> tuple[ConstraintSet, ...]:
    return Q.sets if isinstance(Q, Intersection) else (Q,)
