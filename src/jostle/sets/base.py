"""Admissible sets Q(t) = {q : g_i(t, q) >= 0}: what every set can do, no constraint at all, and intersections.

`linearise(t, q)` returns the `Contacts` of a set at a configuration.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from jostle._tools.arrays import Array, Booleans, Integers, InTime, at, highest, lowest, place_of, to_host
from jostle._tools.plugins import is_of_jostle
from jostle.convex.linear_map import Dense, stacked
from jostle.convex.metric import Metric
from jostle.convex.projection import Projection
from jostle.errors import InvalidValue
from jostle.kernels.parallel import NUMBERS_A_CHUNK, concatenated, copy_all
from jostle.sets.contacts import CLOSED, Contacts, Reach, by_pair, check_owned, check_start, check_unchanged, of_bodies
from jostle.sets.differences import Differences, Searched, put_back, searched
from jostle.sets.nearest import DEFAULT_SOLVER, nearest
from jostle.sets.surfaces import Crossing, Step
from jostle.solvers.base import Solver
from jostle.solvers.project import require

# The contacts of several sets as those of their intersection.


def joined(parts: list[Contacts], q: Array) -> Contacts:
    """The contacts of all parts at q, one after the other, with constraint numbers that differ between parts."""
    total = 0
    for part in parts:
        total += len(part.gap)
    both: Integers = place_of(q).empty((2, total), dtype=np.int64)
    numbers, reach, bodies, known, equal, moving = 0, parts[0].reach, 0, True, False, False
    gaps, lengths, maps, bendings, copies, words, end = [], [], [], [], [], [], 0
    for part in parts:
        start, end = end, end + len(part.gap)
        block = both[:, start:end]
        if total < NUMBERS_A_CHUNK:
            block[:] = part.pairs.T
        else:
            copies += [(block[k], part.pairs[:, k]) for k in (0, 1)]
        reach = reach if part.reach is reach else _least(reach, part.reach)
        bodies, known = max(bodies, part.bodies), known and part.known
        equal, moving = equal or part.equal is not None, moving or part.gap_at is not None
        # a pair of bodies is described by its numbers, so that the arrays of such parts are not kept
        words.append((start, end, numbers, part.describe if part.numbers else None))
        numbers += part.numbers
        gaps.append(part.gap)
        lengths.append(part.length)
        bendings.append(part.bending)
        if end > start:
            maps.append(part.G)
    if copies:
        copy_all(copies)
    for start, end, before, _ in words:
        if before and end > start:
            i, j = both[0, start:end], both[1, start:end]
            j[i < 0] += before
            j[(i >= 0) & (j < 0)] -= before
    gap = concatenated(gaps)
    return Contacts(
        gap,
        stacked(*(maps or [parts[0].G]), pairs=both, known=known),
        both.T,
        numbers=numbers,
        length=concatenated(lengths),
        reach=reach,
        describe=partial(_describe, both, words),
        at=q,
        bending=None if None in bendings else partial(_bend, bendings),
        bodies=bodies,
        equal=_kinds_of(parts) if equal else None,
        gap_at=_gap_at(gap, parts) if moving else None,
        known=known,
    )


def _describe(pairs: Integers, words: list[tuple[int, int, int, Callable[[int], str] | None]], row: int) -> str:
    """What a row is, in the words of its part."""
    start, _, _, say = next(block for block in words if row < block[1])
    return f"balls {int(pairs[0, row])} and {int(pairs[1, row])}" if say is None else say(row - start)


def _bend(bendings: list[Any]) -> Any:
    """`Contacts.bend` of the parts, one after the other."""
    return concatenated([bending() for bending in bendings])


def _kinds_of(parts: list[Contacts]) -> Booleans:
    """(m,) which rows of all parts are equalities."""
    return np.concatenate([np.zeros(len(part.gap), dtype=bool) if part.equal is None else part.equal for part in parts])


def _least(one: Reach, other: Reach) -> Reach:
    """The smaller one of two reaches; a pair has one number, or the sum of those of its bodies."""
    if of_bodies(one) and of_bodies(other):
        return np.minimum(one, other)
    if not of_bodies(one) and not of_bodies(other):
        return min(one, other)
    bodies, pairs = (one, other) if of_bodies(one) else (other, one)
    return bodies if pairs == np.inf else np.minimum(bodies, pairs / 2.0)


def _gap_at(gap: Array, parts: list[Contacts]) -> Callable[[float, Integers], Array]:
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


def moved_row(now: Array, then: Array) -> int | None:
    """The row whose gap differs most between two times, if it differs by more than round-off; otherwise None.

    A gap that is NaN or infinite at both times does not differ.

    >>> moved_row(np.array([1.0, np.nan, np.inf]), np.array([1.5, np.nan, np.inf]))
    0
    >>> moved_row(np.array([1.0, np.nan]), np.array([1.0 + 1e-15, np.nan]))
    """
    if now.shape != then.shape:
        return min(len(now), len(then))  # the first row that only one of them has
    change, other = np.zeros(len(now)), (now != then) & ~(np.isnan(now) & np.isnan(then))
    change[other] = np.nan_to_num(np.abs(then[other] - now[other]), nan=np.inf)
    largest = np.abs(now).max(initial=0.0, where=np.isfinite(now))
    return int(np.argmax(change)) if change.max(initial=0.0) > CLOSED * largest else None


class ConstraintSet:
    """An admissible set Q(t) = {q : g_i(t, q) >= 0}. ``Q1 & Q2`` is the intersection of two sets.

    A new set inherits from this class and defines `linearise`; the attributes below describe it, and may be set in the
    class or in each object.

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
    radii_of_bodies : array, callable (t) -> array, or None
        Radii that walls beside this set take over; None: the set does not say how large the bodies are.
    takes_radii : bool
        True if the set takes over the radii of the bodies in an intersection; it then defines `with_radii`.
    remembers : type or None
        The NamedTuple class of `memory`, for checkpoints.
    memory : object
        What earlier configurations have shown and later gradients depend on; a tuple of the class `remembers`, or None.
    by_body : bool
        True if `linearise` takes a reach for each body; otherwise it gets twice the largest for all.
    on_devices : bool
        True if `linearise` takes arrays of CuPy as well, and each row is a contact of bodies; otherwise runs on a GPU
        are refused.

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
    radii_of_bodies: InTime | None = None
    takes_radii: bool = False
    remembers: type[Any] | None = Searched
    by_body: bool = False
    on_devices: bool = False

    def linearise(self, t: float, q: Array, reach: Any = np.inf) -> Contacts:
        """Gaps and gradients of the set at a configuration.

        Parameters
        ----------
        t : float
            Time.
        q : array
            Configuration: shape (d,) for one body, (n, d) for n bodies, or that of the problem.
        reach : float or array, shape (n,), default inf
            Pairs whose gap is larger may be left out: one number for all pairs, or one for each body, of which a pair
            has the sum.

        Returns
        -------
        Contacts
            One row for each constraint.
        """
        raise NotImplementedError

    def near(self, t: float, q: Array, reach: Reach) -> Contacts:
        """The contacts within reach, ready for a moving set, with the configuration that they belong to.

        Parameters
        ----------
        t : float
            Time.
        q : array
            Configuration.
        reach : float or array, shape (n,)
            Pairs whose gap is larger may be left out; see `linearise`. A set without `by_body` gets one number for all
            pairs.

        Returns
        -------
        Contacts
            The contacts, with `Contacts.gap_at` if the set may move.
        """
        if not self.by_body and of_bodies(reach):
            reach = 2.0 * highest(reach, 0.0)
        contacts = self.linearise(t, q, reach)
        if contacts.at is None:  # without it, the round-off of a gap would be an overlap, or a contact would be open
            contacts = replace(contacts, at=q)
        return contacts if self.moving is False else self.in_motion(contacts, q)

    def in_motion(self, contacts: Contacts, q: Array) -> Contacts:
        """Contacts of this set with `Contacts.gap_at`, if the set may move and did not give it.

        Parameters
        ----------
        contacts : Contacts
            Contacts of this set.
        q : array
            The configuration that they belong to.

        Returns
        -------
        Contacts
            The contacts that schemes use.
        """
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

    def gaps(self, t: float, q: Array) -> Array:
        """All gaps at a configuration, without their gradients.

        Parameters
        ----------
        t : float
            Time.
        q : array
            Configuration.

        Returns
        -------
        array, shape (m,)
            g_i(t, q).
        """
        return self.linearise(t, q).gap

    def margins(self, t: float, q: Array) -> Array:
        """How far a configuration is from violating each constraint.

        Parameters
        ----------
        t : float
            Time.
        q : array
            Configuration.

        Returns
        -------
        array, shape (m,)
            The gap of an inequality, -|g_i| of an equality: negative where q is not in Q(t).
        """
        return -np.abs(self.gaps(t, q)) if self.equalities else self.gaps(t, q)

    def gap(self, t: float, q: ArrayLike) -> float:
        """The smallest gap at a configuration.

        Parameters
        ----------
        t : float
            Time.
        q : array_like
            Configuration.

        Returns
        -------
        float
            The smallest gap, -|g_i| of an equality; infinite without constraints.
        """
        return lowest(self.margins(t, np.asarray(q, dtype=float)), np.inf)

    def overlap(self, t: float, q: Array) -> float:
        """The deepest overlap at a configuration.

        Parameters
        ----------
        t : float
            Time.
        q : array
            Configuration.

        Returns
        -------
        float
            The overlap as a fraction of the length of its constraint, such as the smallest radius; 0 if there is none.
        """
        return self.linearise(t, q, 0.0).overlap()

    def moves(self, times: tuple[float, float], q: Array) -> bool:
        """Whether the set depends on time; if it does not say so, whether its gaps differ between two times.

        Parameters
        ----------
        times : (float, float)
            The two times.
        q : array
            Configuration at which the gaps are compared.

        Returns
        -------
        bool
            `moving`, or what the comparison shows.
        """
        if self.moving is not None:
            return self.moving
        return moved_row(*(self.gaps(t, q) for t in times)) is not None

    def check_rest(self, times: tuple[float, float], q: Array) -> None:
        """Refuse a set that says that it is at rest (``moving=False``), although its gaps differ between two times.

        Parameters
        ----------
        times : (float, float)
            The two times.
        q : array
            Configuration at which the gaps are compared.
        """
        if self.moving is False:
            self.moves(times, q)

    def check_declaration(self, times: tuple[float, float], q: Array, present: Booleans | None) -> None:
        """Refuse a class outside jostle that declares ``moving = False``, although its gaps differ between two times.

        `solve` asks from time to time, since a comparison costs two linearisations. With many bodies, only gaps up to
        about the distance of neighbours are compared.

        Parameters
        ----------
        times : (float, float)
            The two times.
        q : array
            Configuration at which the gaps are compared.
        present : array of bool, shape (n,), or None
            Which bodies are present; the others are far away. None: all.
        """
        if self.moving is not False or is_of_jostle(self):
            return
        there = q if present is None else q[present]
        spread = float(np.ptp(there, axis=0).max()) if q.ndim == 2 and len(there) else 0.0
        reach = spread / len(there) ** (1.0 / q.shape[1]) if spread > 0.0 else np.inf
        before, contacts = (to_host(self.linearise(t, q, reach)) for t in times)
        then = by_pair(before.pairs, before.gap, contacts.pairs, reach)  # a pair that is left out is beyond the reach
        row = moved_row(contacts.gap, then)
        if row is None:
            return
        known = (before.pairs == contacts.pairs[row]).all(axis=1).any()
        name = type(self).__name__
        raise InvalidValue(
            f"the gap of {contacts.describe(row)} of {name} is {'' if known else 'above '}{then[row]:.6g} at "
            f"t = {times[0]:g} and {contacts.gap[row]:.6g} at t = {times[1]:g} at the same q, although {name} declares "
            f"moving = False: set moving = True in the class, or leave it out"
        )

    def check_start(self, t: float, q: Array) -> None:
        """Refuse a start that is not admissible.

        Parameters
        ----------
        t : float
            Start time.
        q : array
            Configuration at the start.

        Raises
        ------
        InfeasibleStart
            If q is not in Q(t); the message names the worst pairs.
        """
        check_start(self.linearise(t, q, reach=0.0))

    def widest(self) -> float:
        """The largest radius of a body at time 0.

        Returns
        -------
        float
            The radius; 0 if the bodies are points.
        """
        return float(self.radii_at(0.0).max(initial=0.0))

    def radii_at(self, t: float) -> Array:
        """The radii of the bodies at one time.

        Parameters
        ----------
        t : float
            Time.

        Returns
        -------
        array, shape (n,) or ()
            One for each body, or one for all; 0 if they are points.
        """
        return at(getattr(self, "radii", 0.0), t)

    def excluding(self, t: float, n: int) -> Array | None:
        """The radii of bodies of which no two may overlap.

        Parameters
        ----------
        t : float
            Time.
        n : int
            Number of bodies.

        Returns
        -------
        array, shape (n,), or None
            The radii; None if the set lets bodies overlap.
        """
        return None

    def widths(self, t: float, radii: Array, d: int) -> Array:
        """The sides of a box that holds balls of given radii.

        Parameters
        ----------
        t : float
            Time.
        radii : array, shape (n,)
            Radii of the balls.
        d : int
            Dimension of space.

        Returns
        -------
        array, shape (d,)
            The sides; infinite where nothing confines the balls.
        """
        return np.full(d, np.inf)

    def crossing(self, step: Step) -> Crossing | None:
        """A wall that the centre of a body went through in a step.

        Parameters
        ----------
        step : Step
            Times and positions before and after the step.

        Returns
        -------
        Crossing or None
            The body and the wall; None if there is none.
        """
        return None

    @property
    def crossable(self) -> bool:
        """Whether `crossing` can find anything; where it cannot, it is not asked."""
        return type(self).crossing is not ConstraintSet.crossing or "crossing" in vars(self)

    def differenced(self) -> tuple[Differences, ...]:
        """The differences that gradients of the set are computed by, which remember their steps.

        Returns
        -------
        tuple of Differences
            One for each function that is differenced.
        """
        return ()

    @property
    def recalls(self) -> bool:
        """Whether `memory` can be anything but None; where it cannot, it is not asked."""
        return type(self).memory is not ConstraintSet.memory or bool(self.differenced())

    @property
    def memory(self) -> Any:
        """What earlier configurations have shown and later gradients depend on; a tuple of `remembers`, or None."""
        return searched(self.differenced())

    @memory.setter
    def memory(self, memory: Any) -> None:
        put_back(self.differenced(), memory)

    def with_radii(self, radii: InTime) -> ConstraintSet:
        """The same set for bodies of given radii; only sets with `takes_radii` define it.

        Parameters
        ----------
        radii : array or callable (t) -> array
            Radii of the bodies.

        Returns
        -------
        ConstraintSet
            The set for these bodies.
        """
        raise NotImplementedError

    def anew(self) -> ConstraintSet:
        """The same set without the data that it stores about earlier configurations.

        Returns
        -------
        ConstraintSet
            A copy, or the set itself if it keeps nothing.
        """
        return self

    def __repr__(self) -> str:
        return type(self).__name__

    def __bool__(self) -> bool:
        raise InvalidValue("a set is not true or false: write Q1 & Q2, not Q1 and Q2")

    def __and__(self, other: ConstraintSet) -> Intersection:
        if not isinstance(other, ConstraintSet):
            raise InvalidValue(f"Q1 & Q2 is the intersection of two admissible sets, and the second is {other!r}")
        return Intersection(_parts(self) + _parts(other))

    def nearest(
        self,
        q: ArrayLike,
        *,
        mass: ArrayLike | Metric = 1.0,
        t: float = 0.0,
        solver: Solver | None = None,
    ) -> Projection:
        """The nearest admissible configuration P_Q(q) in the norm of a mass; a local one if Q is not convex.

        Parameters
        ----------
        q : array_like
            Configuration.
        mass : float, array_like or Metric, default 1.0
            One number, one for each body, one for each coordinate, or a symmetric positive definite matrix.
        t : float, default 0.0
            Time.
        solver : Solver, optional
            Solves the projections. None: ``Automatic()``.

        Returns
        -------
        Projection
            The nearest point, with its multipliers.

        Raises
        ------
        NotConverged
            If the answer misses the tolerance.

        Examples
        --------
        >>> import jostle as jo
        >>> disc = jo.Outside(centre=[0.0, 0.0], radius=1.0)
        >>> disc.nearest([0.3, 0.2], mass=[1.0, 4.0]).point.round(10).tolist()
        [0.9703379662, 0.2417524176]
        """
        solver = solver or DEFAULT_SOLVER
        return require(nearest(self, np.asarray(q, dtype=float), mass, t, solver)[0], solver)

    def part(self, chosen: Callable[[ConstraintSet], bool]) -> ConstraintSet:
        """The sets of an intersection that a function chooses, such as those with equalities.

        Parameters
        ----------
        chosen : callable (set) -> bool
            Which sets to keep.

        Returns
        -------
        ConstraintSet
            The intersection of the chosen sets; `Free` if there are none. A set that is no intersection is its only
            part.

        Examples
        --------
        >>> import jostle as jo
        >>> pendulum = jo.Rods([(0, 1)], 1.0) & jo.HalfSpace([0.0, 1.0])
        >>> pendulum.part(lambda Q: Q.equalities)
        Rods(1)
        """
        return self if chosen(self) else Free()


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

    def linearise(self, t: float, q: Array, reach: float = np.inf) -> Contacts:
        # No contacts.
        nothing = place_of(q).zeros(0)
        pairs = place_of(q).zeros((0, 2), dtype=np.int64)
        return Contacts(nothing, Dense(place_of(q).zeros((0, q.size))), pairs, numbers=0, bending=lambda: nothing)


class Combination(ConstraintSet):
    """A set made of others: what it says about itself is what they say together.

    Wrappers inherit from it, so that none forgets a member: each member of `ConstraintSet` either follows from
    `linearise`, or is combined here.
    """

    by_body = True
    crossable: bool = False

    def __init__(self, sets: tuple[ConstraintSet, ...]):
        self._arrange(sets)
        convex, moving = [Q.convex_gaps for Q in sets], [Q.moving for Q in sets]
        self.convex_gaps = False if False in convex else None if None in convex else True
        self.moving = True if True in moving else None if None in moving else False
        self.flat = all(Q.flat for Q in sets)
        self.equalities = any(Q.equalities for Q in sets)
        self.curved = any(Q.curved for Q in sets) and all(Q.curved for Q in sets if Q.convex_gaps is False)

    def _arrange(self, sets: tuple[ConstraintSet, ...]) -> None:
        """Note which of the sets need to be asked in each step."""
        self.sets = sets
        self._crossable = tuple(Q for Q in sets if Q.crossable)
        self.crossable = bool(self._crossable)
        self._watched = tuple(Q for Q in sets if _compares_gaps(type(Q)))
        """Sets that compare their gaps at two times, although they say that they are at rest."""

    def anew(self) -> ConstraintSet:
        other = copy(self)
        other._arrange(tuple(Q.anew() for Q in self.sets))
        return other

    def widest(self) -> float:
        return max((Q.widest() for Q in self.sets), default=0.0)

    def radii_at(self, t: float) -> Array:
        return max((Q.radii_at(t) for Q in self.sets), key=lambda radii: (radii.size, radii.max(initial=0.0)))

    def excluding(self, t: float, n: int) -> Array | None:
        return next((radii for Q in self.sets if (radii := Q.excluding(t, n)) is not None), None)

    def widths(self, t: float, radii: Array, d: int) -> Array:
        return np.asarray(np.min([Q.widths(t, radii, d) for Q in self.sets], axis=0, initial=np.inf))

    def crossing(self, step: Step) -> Crossing | None:
        found = (Q.crossing(step) for Q in self._crossable)
        return next((crossing for crossing in found if crossing is not None), None)

    def differenced(self) -> tuple[Differences, ...]:
        return tuple(one for Q in self.sets for one in Q.differenced())

    def moves(self, times: tuple[float, float], q: Array) -> bool:
        found = [Q.moves(times, q) for Q in self.sets]  # all of them: one may contradict what it says
        return any(found)

    def check_rest(self, times: tuple[float, float], q: Array) -> None:
        for Q in self._watched:
            Q.check_rest(times, q)

    def check_declaration(self, times: tuple[float, float], q: Array, present: Booleans | None) -> None:
        for Q in self.sets:
            Q.check_declaration(times, q, present)


class Intersection(Combination):
    """Q1 ∩ Q2 ∩ ...: all constraints at once (so obstacles add up to their union)."""

    def __init__(self, sets: tuple[ConstraintSet, ...]):
        super().__init__(_with_common_radii(sets))
        self._numbers: tuple[int, ...] | None = None
        self._of_jostle = all(is_of_jostle(Q) for Q in sets)

    def __repr__(self) -> str:
        return " & ".join(map(repr, self.sets))

    def gaps(self, t: float, q: Array) -> Array:
        return np.concatenate([Q.gaps(t, q) for Q in self.sets])

    def margins(self, t: float, q: Array) -> Array:
        return np.concatenate([Q.margins(t, q) for Q in self.sets])

    def gap(self, t: float, q: ArrayLike) -> float:
        return min((Q.gap(t, q) for Q in self.sets), default=np.inf)

    def overlap(self, t: float, q: Array) -> float:
        return max([Q.overlap(t, q) for Q in self.sets], default=0.0)

    def part(self, chosen: Callable[[ConstraintSet], bool]) -> ConstraintSet:
        sets = tuple(Q for Q in self.sets if chosen(Q))
        return Intersection(sets) if sets else Free()

    def linearise(self, t: float, q: Array, reach: Reach = np.inf) -> Contacts:
        parts = [Q.near(t, q, reach) for Q in self.sets]
        if not self._of_jostle:
            parts = [_trusted(Q, part) for Q, part in zip(self.sets, parts, strict=True)]
        self._check_numbers(parts, t)
        return joined(parts, q)

    def _check_numbers(self, parts: list[Contacts], t: float) -> None:
        """Refuse constraint numbers that a part does not own, or owns only now: no two constraints may share one."""
        if self._numbers is None:
            self._numbers = tuple(part.numbers for part in parts)
        for k, part in enumerate(parts):
            if not part.known:
                check_owned(repr(self.sets[k]), part.pairs, part.numbers)
            if part.numbers != self._numbers[k]:
                check_unchanged(repr(self.sets[k]), part.numbers, self._numbers[k], t)


def _compares_gaps(kind: type[ConstraintSet]) -> bool:
    """Whether sets of a class do more than repeat whether they say that they move."""
    return kind.moves is not ConstraintSet.moves or kind.check_rest is not ConstraintSet.check_rest


def _with_common_radii(sets: tuple[ConstraintSet, ...]) -> tuple[ConstraintSet, ...]:
    """The sets, in which walls that were given no radii have those of the balls beside them."""
    known = [Q.radii_of_bodies for Q in sets if Q.radii_of_bodies is not None]
    if not known or not any(Q.takes_radii for Q in sets):
        return sets
    if not all(_same(radii, known[0]) for radii in known[1:]):
        wall = next(Q for Q in sets if Q.takes_radii)
        raise InvalidValue(f"{wall!r} stands beside balls of different radii; give it radii=")
    return tuple(Q.with_radii(known[0]) if Q.takes_radii else Q for Q in sets)


def _trusted(Q: ConstraintSet, contacts: Contacts) -> Contacts:
    """The contacts; those of a class outside jostle are checked, also if it inherits what `known` promises."""
    return contacts if is_of_jostle(Q) or not contacts.known else replace(contacts, known=False)


def _same(one: InTime, other: InTime) -> bool:
    """Whether the radii are the same function of time, or the same numbers."""
    if callable(one) or callable(other):
        return one is other
    return np.array_equal(one, other)


def _parts(Q: ConstraintSet) -> tuple[ConstraintSet, ...]:
    return Q.sets if isinstance(Q, Intersection) else (Q,)
