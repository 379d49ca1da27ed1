"""Admissible sets Q(t) = {q : g_i(t, q) >= 0}: what every set can do, no constraint at all, and intersections.

`linearise(t, q)` returns the `Contacts` of a set at a configuration.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from jostle._tools.arrays import Array, Booleans, Integers, floats, highest, lowest, place_of
from jostle._tools.frozen import with_fields
from jostle._tools.plugins import is_of_jostle
from jostle.bodies import POINTS, Bodies
from jostle.contacts import (
    BY_NORMALS,
    Contacts,
    Cutoff,
    Feet,
    JointRows,
    by_pair,
    check_owned,
    check_unchanged,
    of_bodies,
)
from jostle.convex.linear_map import Dense, stacked
from jostle.errors import InvalidValue
from jostle.pose import Pose
from jostle.sets.presence import Presence
from jostle.sets.surfaces import Crossing, Step

MAX_SEARCHES = 20
"""Largest number of searches for the smallest gap of the bodies that are present."""
SEARCH_FACTOR = 4.0
"""Each search for the smallest gap looks this many times as far as the one before."""

# The contacts of several sets as those of their intersection.


def joined(parts: Sequence[Contacts], q: Array, names: Callable[[int, int], str]) -> Contacts:
    """The contacts of all parts at q, one after the other, with constraint numbers that differ between parts.

    `names` says what two bodies are called.
    """
    first, total = parts[0], 0
    for part in parts:
        total += len(part.gap)
    both, gap, normal, lengths = _written(parts, total, place_of(q))
    numbers, cutoff, count, known, equal, moving = 0, first.cutoff, 0, True, False, False
    curvature_parts, words, end = [], [], 0
    for part in parts:
        start, end = end, end + len(part.gap)
        known, equal = known and part.known, equal or part.equal is not None
        cutoff = cutoff if part.cutoff is cutoff else _least(cutoff, part.cutoff)
        count, moving = max(count, part.part_count), moving or part.gap_at is not None
        if numbers and end > start:
            i, j = both[0, start:end], both[1, start:end]
            j[i < 0] += numbers
            j[(i >= 0) & (j < 0)] -= numbers
        # a pair of bodies is described by its numbers, so that the arrays of such parts are not kept
        by_numbers = part.constraint_count == 0 and part.normal is not None and part.feet is None
        words.append((start, end, None if by_numbers else part.describe))
        numbers += part.constraint_count
        curvature_parts.append(part.curvature or partial(place_of(q).full, len(part.gap), np.nan))
    G, joints = BY_NORMALS, JointRows.joined([part.joints for part in parts if part.joints is not None])
    if normal is None:
        G = stacked(*([one.G for one in parts if one.G.shape[0]] or [first.G]), pairs=both[:, : _rows_of_parts(parts)])
    return Contacts(
        gap,
        G,
        both.T,
        constraint_count=numbers,
        length=lengths,
        cutoff=cutoff,
        describe=partial(_describe, both, words, names),
        at=q,
        curvature=partial(_curvature, curvature_parts),
        part_count=count,
        equal=_kinds_of(parts) if equal else None,
        gap_at=_gap_at(gap, parts) if moving else None,
        normal=normal,
        feet=Feet.joined(parts),
        known=known,
        joints=joints,
    )


def _rows_of_parts(parts: Sequence[Contacts]) -> int:
    """How many rows are not those of joints, which come last."""
    return sum(part.G.shape[0] for part in parts)


def _written(parts: Sequence[Contacts], total: int, place: Any) -> tuple[Integers, Array, Array | None, Array]:
    """The pairs (2, total), gaps, normals and lengths of all parts; no normals if a part has none, or other ones."""
    both, gap, lengths = place.empty((2, total), dtype=np.int64), place.empty(total), place.empty(total)
    first, alike = parts[0].normal, True
    for part in parts:
        alike = alike and part.normal is not None and part.normal.shape[1] == first.shape[1]  # type: ignore[union-attr]
        alike = alike and part.part_count == parts[0].part_count
    normal, end = place.empty((total, first.shape[1])) if alike and first is not None else None, 0
    for part in parts:
        start, end = end, end + len(part.gap)
        both[:, start:end] = part.pairs.T
        gap[start:end], lengths[start:end] = part.gap, part.length
        if normal is not None:
            normal[start:end] = part.normal
    return both, gap, normal, lengths


def _describe(
    pairs: Integers,
    words: list[tuple[int, int, Callable[[int], str] | None]],
    names: Callable[[int, int], str],
    row: int,
) -> str:
    """What a row is, in the words of its part."""
    start, _, say = next(block for block in words if row < block[1])
    return names(int(pairs[0, row]), int(pairs[1, row])) if say is None else say(row - start)


def _curvature(curvature_parts: list[Any]) -> Any:
    """`Contacts.curvatures` of the parts, one after the other."""
    return np.concatenate([curvature() for curvature in curvature_parts])


def _kinds_of(parts: Sequence[Contacts]) -> Booleans:
    """(m,) which rows of all parts are equalities."""
    return np.concatenate([np.zeros(len(one.gap), dtype=bool) if one.equal is None else one.equal for one in parts])


def _least(one: Cutoff, other: Cutoff) -> Cutoff:
    """The smaller one of two cutoffs; a pair has one number, or the sum of those of its bodies."""
    if of_bodies(one) and of_bodies(other):
        return np.minimum(one, other)
    if not of_bodies(one) and not of_bodies(other):
        return min(one, other)
    bodies, pairs = (one, other) if of_bodies(one) else (other, one)
    return bodies if pairs == np.inf else np.minimum(bodies, pairs / 2.0)


def _gap_at(gap: Array, parts: Sequence[Contacts]) -> Callable[[float, Integers], Array]:
    """`Contacts.gap_at` of contacts that are those of the parts, one after the other."""
    ends = np.cumsum([len(part.gap) for part in parts]).tolist()
    blocks = zip(ends, parts, strict=True)
    moving = [(end - len(part.gap), end, part.gap_at) for end, part in blocks if part.gap_at is not None]

    def gaps(t: float, rows: Integers) -> Array:
        found = gap[rows]
        for start, end, gap_at in moving:
            own = np.flatnonzero((rows >= start) & (rows < end))
            if len(own):
                found[own] = gap_at(t, rows[own] - start)
        return found

    return gaps


class ConstraintSet:
    """An admissible set Q(t) = {q : g_i(t, q) >= 0}. ``Q1 & Q2`` is the intersection of two sets.

    A new set inherits from this class and defines `linearise`. It may define `gaps`, if they cost less than their
    gradients; `crossing`, if a body can be behind a wall without an overlap; and `for_bodies`, if its gaps depend on
    radii. The attributes below describe it, and may be set in the class or in each object. All other methods follow
    from these.

    Attributes
    ----------
    convex_gaps : bool or None
        True if every g_i(t, .) is convex, as Bernicot & Lefebvre-Lepot 2010 and Venel 2009 ask; None: not known.
    moving : bool or None
        True if the set depends on time; None: not known. False is compared with the gaps in some steps of a run.
    equalities : bool
        True if the constraints are equalities, g_i = 0. All of a set are, or none; an intersection may have both.
    curved : bool
        True for the inside of a curved wall, where linearised schemes overshoot by O(h^2), measure that and report it.
    flat : bool
        True if every gap is linear in q, with the same gradient at all times and places.
    bodies : Bodies
        How large the bodies are, if the set says so; points by default.
    by_body : bool
        True if `linearise` takes a cutoff for each body; otherwise it gets twice the largest for all.
    of_poses : bool
        True if the gaps depend on how bodies are turned: the set has no `linearise`, but `contacts`, and is given the
        pose at the start (`bound_to`). Its rows are those of joints, the last ones of an intersection.
    hinged : array of int, shape (m,), or None
        Pairs of bodies that have no contact with each other, because they are hinged together, by their `pair_keys`.
    on_devices : bool
        True if `linearise` takes arrays of CuPy as well, and each row is a contact of bodies; otherwise runs on a GPU
        are refused.
    crossing : callable (Step) -> Crossing or None, or None
        Optional method that returns a wall that the centre of a body went through in a step, None if there is none.

    Examples
    --------
    >>> import jostle as jo
    >>> Q = jo.HalfSpace([0.0, 1.0]) & jo.Outside([0.0, 0.0], 1.0)
    >>> Q.gap(0.0, [0.0, 3.0]), Q.gap(0.0, [5.0, 0.5])
    (2.0, 0.5)
    """

    convex_gaps: bool | None = None
    moving: bool | None = None
    equalities: bool = False
    curved: bool = False
    flat: bool = False
    bodies: Bodies = POINTS
    by_body: bool = False
    of_poses: bool = False
    hinged: Integers | None = None
    on_devices: bool = False
    crossing: Callable[[Step], Crossing | None] | None = None

    def linearise(self, t: float, q: Array, cutoff: Any = np.inf) -> Contacts:
        """Gaps and gradients of the set at a configuration.

        Parameters
        ----------
        t : float
            Time.
        q : array
            Configuration: shape (d,) for one body, (n, d) for n bodies, or that of the problem.
        cutoff : float or array, shape (n,), default inf
            Pairs whose gap is larger may be left out: one number for all pairs, or one for each body, of which a pair
            has the sum.

        Returns
        -------
        Contacts
            One row for each constraint.
        """
        raise NotImplementedError

    def gaps(self, t: float, q: Array) -> Array:
        """All gaps at a configuration, without their gradients.

        Parameters
        ----------
        t, q : float, array
            Time and configuration.

        Returns
        -------
        array, shape (m,)
            g_i(t, q).
        """
        return self.linearise(t, q).gap

    def for_bodies(self, bodies: Bodies) -> ConstraintSet:
        """The same set for the bodies of an intersection.

        Parameters
        ----------
        bodies : Bodies
            How large the bodies are, according to `Balls` or `Line` in the same intersection.

        Returns
        -------
        ConstraintSet
            A copy; the set itself, if its gaps do not depend on radii, or it has its own.
        """
        return self

    def near(self, t: float, q: Array, cutoff: Cutoff) -> Contacts:
        """The contacts within the cutoff, ready for a moving set, with the configuration that they belong to.

        Parameters
        ----------
        t, q : float, array
            Time and configuration.
        cutoff : float or array, shape (n,)
            Pairs whose gap is larger may be left out; see `linearise`. A set without `by_body` gets one number for all
            pairs.

        Returns
        -------
        Contacts
            The contacts, with `Contacts.gap_at` if the set may move.
        """
        if not self.by_body and of_bodies(cutoff):
            cutoff = 2.0 * highest(cutoff, 0.0)
        contacts = self.linearise(t, q, cutoff)
        if contacts.at is None:  # without it, the round-off of a gap would be an overlap, or a contact would be open
            contacts = with_fields(contacts, at=q)
        if contacts.known and not is_of_jostle(self):  # a class that inherits what `known` says
            contacts = replace(contacts, known=False)
        return contacts if self.moving is False else in_motion(self, contacts, q)

    def contacts(self, t: float, pose: Pose, cutoff: Cutoff) -> Contacts:
        """The contacts of bodies in a pose, as `near` has them at the positions of their parts.

        Parameters
        ----------
        t, pose : float, Pose
            Time and pose.
        cutoff : float or array, shape (n,)
            Pairs whose gap is larger may be left out; see `linearise`.

        Returns
        -------
        Contacts
            The contacts; those of bodies that turn know their pose.
        """
        return in_pose(self.near(t, pose.centres, cutoff), pose)

    def bound_to(self, pose: Pose) -> ConstraintSet:
        """The same set for bodies that are in a pose at the start.

        Parameters
        ----------
        pose : Pose
            The pose at the start.

        Returns
        -------
        ConstraintSet
            The set itself, unless it has `of_poses`.
        """
        return self

    def gap(self, t: float, q: ArrayLike) -> float:
        """The smallest gap at a configuration.

        Parameters
        ----------
        t, q : float, array_like
            Time and configuration.

        Returns
        -------
        float
            The smallest gap, -|g_i| of an equality; infinite without constraints.
        """
        return lowest(margins(self, t, floats(q, name="q")), np.inf)

    def overlap(self, t: float, q: Array) -> float:
        """The deepest overlap at a configuration.

        Parameters
        ----------
        t, q : float, array
            Time and configuration.

        Returns
        -------
        float
            The overlap as a fraction of the length of its constraint, such as the smallest radius; 0 if there is none.
        """
        return self.linearise(t, q, 0.0).overlap()

    def overlap_in(self, t: float, pose: Pose) -> float:
        """The deepest overlap of bodies in a pose.

        Parameters
        ----------
        t, pose : float, Pose
            Time and pose.

        Returns
        -------
        float
            The overlap, as `overlap` has it at the positions of their parts.
        """
        return self.contacts(t, pose, 0.0).overlap() if self.of_poses else self.overlap(t, pose.centres)

    def __repr__(self) -> str:
        return type(self).__name__

    def __bool__(self) -> bool:
        raise InvalidValue("a set is not true or false: write Q1 & Q2, not Q1 and Q2")

    def __and__(self, other: ConstraintSet) -> Intersection:
        if not isinstance(other, ConstraintSet):
            raise InvalidValue(f"Q1 & Q2 is the intersection of two admissible sets, and the second is {other!r}")
        return Intersection((self, other))


class BodySet(ConstraintSet):
    """A set of contacts of bodies, whose `linearise` says all that `near` has."""

    by_body = True


def is_body_set(Q: ConstraintSet) -> bool:
    """Whether a set says all of its contacts in `linearise`; False for all classes outside jostle."""
    return isinstance(Q, BodySet) and is_of_jostle(Q)


class Free(ConstraintSet):
    """The whole space: no constraint at all.

    Examples
    --------
    >>> import jostle as jo
    >>> jo.Free().gap(0.0, [1.0, 2.0])
    inf
    """

    convex_gaps, moving, flat, on_devices = True, False, True, True

    def overlap(self, t: float, q: Array) -> float:
        # The deepest overlap, which is 0.
        return 0.0

    def gaps(self, t: float, q: Array) -> Array:
        # None.
        return place_of(q).zeros(0)

    def linearise(self, t: float, q: Array, cutoff: float = np.inf) -> Contacts:
        # No contacts.
        nothing = place_of(q).zeros(0)
        pairs = place_of(q).zeros((0, 2), dtype=np.int64)
        return Contacts(
            nothing, Dense(place_of(q).zeros((0, q.size))), pairs, constraint_count=0, curvature=lambda: nothing
        )


class Intersection(ConstraintSet):
    """Q1 ∩ Q2 ∩ ...: all constraints at once (so obstacles add up to their union).

    Sets whose gaps depend on radii, and that have none, are for the bodies that the others keep apart. With a
    `Presence`, only the bodies that are present have contacts.
    """

    by_body = True
    presence: Presence | None = None

    def __init__(self, sets: tuple[ConstraintSet, ...]):
        sets = tuple(part for Q in sets for part in (parts(Q) if getattr(Q, "presence", None) is None else (Q,)))
        sets = tuple(sorted(sets, key=lambda Q: Q.of_poses))
        self.bodies, self.sets = _with_common_bodies(sets)
        convex, moving = [Q.convex_gaps for Q in self.sets], [Q.moving for Q in self.sets]
        self.convex_gaps = False if False in convex else None if None in convex else True
        self.moving = True if True in moving else None if None in moving else False
        self.flat, self.of_poses = all(Q.flat for Q in sets), any(Q.of_poses for Q in sets)
        self.equalities = any(Q.equalities for Q in sets)
        self.curved = any(Q.curved for Q in sets) and all(Q.curved for Q in sets if Q.convex_gaps is False)
        self._numbers: dict[tuple[int, ...], int] = {}  # shared with the copies for those who are present
        self._of_bodies = tuple(is_body_set(Q) for Q in self.sets)

    def __repr__(self) -> str:
        return " & ".join(map(repr, self.sets))

    def of(self, presence: Presence) -> Intersection:
        """The same set, in which only the bodies that are present have contacts."""
        there = copy(self)
        there.presence = presence
        return there

    def gaps(self, t: float, q: Array) -> Array:
        if self.presence is not None:
            return super().gaps(t, q)
        return np.concatenate([Q.gaps(t, q) for Q in self.sets])

    def gap(self, t: float, q: ArrayLike) -> float:
        if self.presence is not None:
            return super().gap(t, q)
        return float(np.min([Q.gap(t, q) for Q in self.sets], initial=np.inf))

    def overlap(self, t: float, q: Array) -> float:
        if self.presence is not None:
            return super().overlap(t, q)
        return max([Q.overlap(t, q) for Q in self.sets], default=0.0)

    def overlap_in(self, t: float, pose: Pose) -> float:
        if self.presence is not None:
            return super().overlap_in(t, pose)
        return max([Q.overlap_in(t, pose) for Q in self.sets], default=0.0)

    def bound_to(self, pose: Pose) -> Intersection:
        there, hinged = copy(self), [Q.hinged for Q in self.sets if Q.of_poses and Q.hinged is not None]
        there.sets = tuple(copy(Q) if keeps_apart(Q) else Q.bound_to(pose) for Q in self.sets)
        for Q in there.sets if hinged else ():
            if keeps_apart(Q):
                Q.hinged = np.concatenate(hinged)
        return there

    def linearise(self, t: float, q: Array, cutoff: Cutoff = np.inf) -> Contacts:
        return self._together(t, q, cutoff, None)

    def contacts(self, t: float, pose: Pose, cutoff: Cutoff) -> Contacts:
        return in_pose(self._together(t, pose.centres, cutoff, pose), pose)

    def _together(self, t: float, q: Array, cutoff: Cutoff, pose: Pose | None) -> Contacts:
        """The contacts of all parts at q, and of joints in the pose."""
        found: list[Contacts] = []
        for k, Q in enumerate(self.sets):
            if Q.of_poses and pose is not None:
                found.append(Q.contacts(t, pose, cutoff))
            elif self._of_bodies[k]:
                found.append(Q.linearise(t, q, cutoff))
            else:
                found.append(self._checked(k, Q.near(t, q, cutoff), t, q.shape))
        contacts = joined(found, q, self.bodies.names)
        if self.presence is None:
            return contacts
        if (contacts.pairs[:, 0] < 0).any():
            raise InvalidValue(
                "bodies can come and go only within sets made of contacts of bodies (Balls, walls), not under "
                "constraints on the whole configuration"
            )
        return contacts.only(np.flatnonzero(self.presence.both_here(contacts.pairs)))

    near = linearise
    """The contacts have all that `ConstraintSet.near` adds: those of the parts do."""

    def _checked(self, k: int, found: Contacts, t: float, shape: tuple[int, ...]) -> Contacts:
        """The contacts of part k; those of a class outside jostle are checked.

        No two constraints may share a number: a part uses no numbers that it does not own, or owns only now.
        """
        if not found.known:
            check_owned(repr(self.sets[k]), found.pairs, found.constraint_count)
        before = self._numbers.setdefault((k, *shape), found.constraint_count)  # it serves problems of several sizes
        if found.constraint_count != before:
            check_unchanged(self.sets[k], found.constraint_count, before, t)
        return found


def _with_common_bodies(sets: tuple[ConstraintSet, ...]) -> tuple[Bodies, tuple[ConstraintSet, ...]]:
    """The bodies of an intersection, and the sets for these bodies."""
    apart = [Q.bodies for Q in sets if keeps_apart(Q)]
    if apart:
        taken = tuple(Q.for_bodies(apart[0]) for Q in sets)
        wall = next((Q for Q, now in zip(sets, taken, strict=True) if now.bodies is apart[0] is not Q.bodies), None)
        if wall is not None and not all(apart[0].same_radii(other) for other in apart[1:]):
            raise InvalidValue(f"{wall!r} stands beside balls of different radii; give it radii=")
        sets = taken
    said = list({id(bodies): bodies for bodies in apart or [Q.bodies for Q in sets]}.values())
    if len(said) > 1:
        return max(said, key=_telling), sets
    return said[0] if said else POINTS, sets


def _telling(bodies: Bodies) -> tuple[bool, int, float]:
    """How much radii say: those that swell say most, then lists, then large ones. Functions of time are not called."""
    return (True, 0, 0.0) if bodies.swell else (False, bodies.radii_at(0.0).size, bodies.largest)


def keeps_apart(Q: ConstraintSet) -> bool:
    """Whether a set itself keeps bodies apart; walls only share the bodies of a set that does."""
    return Q.bodies.apart and type(Q).for_bodies is ConstraintSet.for_bodies


# What is asked of a whole set, part by part: an intersection has nothing to forward.


def parts(within: ConstraintSet | None) -> tuple[ConstraintSet, ...]:
    """The sets of an intersection; none for a problem that is not known."""
    if within is None:
        return ()
    return within.sets if isinstance(within, Intersection) else (within,)


def part_of(within: ConstraintSet, chosen: Callable[[ConstraintSet], bool]) -> ConstraintSet:
    """The intersection of the parts that a function chooses, such as those with equalities; `Free` if there are none.

    >>> import jostle as jo
    >>> part_of(jo.Rods([(0, 1)], 1.0) & jo.HalfSpace([0.0, 1.0]), lambda Q: Q.equalities)
    Rods(1)
    """
    some = tuple(Q for Q in parts(within) if chosen(Q))
    if not some:
        return Free()
    if not isinstance(within, Intersection):
        return within
    return Intersection(some) if within.presence is None else Intersection(some).of(within.presence)


def of_present(within: ConstraintSet, presence: Presence) -> Intersection:
    """The set for those who are present: the others have no contacts."""
    return (within if isinstance(within, Intersection) else Intersection((within,))).of(presence)


def in_pose(contacts: Contacts, pose: Pose) -> Contacts:
    """The contacts with the pose that they belong to, if the bodies turn."""
    if pose.orientation is None:
        return contacts
    return with_fields(contacts, pose=pose, part_count=pose.centres.size // pose.q.shape[-1])


def gap_of_present(within: ConstraintSet, t: float, pose: Pose) -> float:
    """The smallest gap of the bodies that are present, those whose place is not NaN; infinite if there are none."""
    if within.of_poses:
        return lowest(within.contacts(t, pose, np.inf).margin, np.inf)
    q = pose.centres
    if np.isfinite(q).all():
        return float(within.gap(t, q))
    here = np.isfinite(q).all(axis=1)
    presence = Presence.of(q, here, within.bodies.largest)
    if not here.any():
        return np.inf
    spread = float(np.ptp(q[here], axis=0).max())
    cutoff, placed = (spread or within.bodies.largest or 1.0) / here.sum(), presence.placed(q)
    for _ in range(MAX_SEARCHES):
        contacts = of_present(within, presence).linearise(t, placed, cutoff)
        if len(contacts.gap):
            return float(contacts.margin.min())
        cutoff *= SEARCH_FACTOR
    return np.inf


def anew(Q: ConstraintSet) -> ConstraintSet:
    """A copy of a set without the arrays that it keeps for its next steps, which may be those of a device."""
    other = copy(Q)
    other.bodies = replace(Q.bodies)
    if isinstance(other, Intersection):
        other.sets = tuple(anew(part) for part in other.sets)
    elif "_kept" in vars(other):
        other._kept = {}  # type: ignore[attr-defined]
    return other


def nearest_call(Q: ConstraintSet, t: float, q: str) -> str | None:
    """The call that gives the nearest admissible place of `q`; None with clumps, joints or absent bodies.

    >>> import jostle as jo
    >>> nearest_call(jo.HalfSpace([1.0], offset=np.sin), 2.5, "q0"), nearest_call(jo.HalfSpace([1.0]), 2.5, "q0")
    ('jo.nearest(q0, within, t=2.5).point', 'jo.nearest(q0, within).point')
    """
    if Q.bodies.parts is not None or Q.of_poses or getattr(Q, "presence", None) is not None:
        return None
    return f"jo.nearest({q}, within{'' if Q.moving is False or t == 0.0 else f', t={t!r}'}).point"


def margins(Q: ConstraintSet, t: float, q: Array) -> Array:
    """How far q is from violating each constraint: the gap of an inequality, -|g_i| of an equality."""
    if not Q.equalities:
        return Q.gaps(t, q)
    if isinstance(Q, Intersection):
        if Q.presence is not None:
            return Q.linearise(t, q).margin
        return np.concatenate([margins(part, t, q) for part in Q.sets])
    return -np.abs(Q.gaps(t, q))


def in_motion(Q: ConstraintSet, contacts: Contacts, q: Array) -> Contacts:
    """The contacts of a set at q with `Contacts.gap_at`, if the set may move and did not give it."""
    if Q.moving is False or contacts.gap_at is not None:
        return contacts
    return with_fields(contacts, gap_at=partial(_gaps_of, Q, contacts.pairs, q))


def _gaps_of(Q: ConstraintSet, pairs: Integers, q: Array, t: float, rows: Integers) -> Array:
    """The gaps of some pairs at time t, for sets that do not give `Contacts.gap_at` themselves."""
    there = Q.linearise(t, q)
    found = by_pair(there.pairs, there.gap, pairs[rows], np.nan)
    if np.isnan(found).any():
        row = pairs[rows][int(np.argmax(np.isnan(found)))].tolist()
        raise InvalidValue(f"{Q!r} has no row for the pair {row} at t = {t:g}; without a cutoff it must have all")
    return found
