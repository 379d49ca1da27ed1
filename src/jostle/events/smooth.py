"""Event-driven integration under smooth forces, with masses M(q) and walls that move.

Between two events M(q) q'' = f(t, q, q') + G^T lambda is integrated to a relative error of 1e-12 a step, where lambda
is such that the contacts that stay closed do so; after each step, q and q' are projected on g = 0 and on gap rates 0.
The next event is the first at which a gap closes or a contact force vanishes. Impacts obey Moreau's law for the gap
rates G u + dg/dt, so that a wall that moves hits as well: with K = {v : G v + dg/dt >= 0} of all closed contacts that
do not separate, u+ = (1 + e) P_K u- - e u-.

Rods and other equalities are contacts that are always closed: lambda has either sign, and G v + dg/dt = 0 in K.
"""

from __future__ import annotations

from functools import cache, cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from jostle._tools.arrays import Array, Booleans, Integers
from jostle._tools.smooth_paths import RELATIVE_TOLERANCE, Piece, follow
from jostle.contacts import Contacts
from jostle.convex.metric import Metric
from jostle.convex.polyhedron import Polyhedron
from jostle.differences import (
    EPS,
    FIRST_NOISE,
    SECOND_NOISE,
    Derivatives,
    Function,
    continued,
    differentiated,
    extrapolated,
    first_differences,
    second_differences,
)
from jostle.errors import UnresolvedEvent
from jostle.events.accumulations import Limit, comes_before, died_out, limit_of, remember
from jostle.events.run import EVENT_ROUND_OFF, MAX_IMPACTS_AT_ONCE, EventRun, check_supported, number_of_bodies, refuse
from jostle.events.solution import EventSolution
from jostle.problems import Motion
from jostle.result.status import FINISHED
from jostle.sets.balls import Balls, Line
from jostle.sets.base import Free, parts
from jostle.sets.rods import Rods
from jostle.sets.user import UserSet, differences_of
from jostle.sets.walls import Box, HalfSpace, Inside, Outside
from jostle.solvers.dual_active_set import ActiveSet
from jostle.solvers.project import project

# The contacts of few bodies under smooth forces: gaps, their rates and second derivatives along a motion.
#
# The gap rate is G u + dg/dt. A contact that stays closed has G a + b = 0, where b is the second derivative of g(t + s,
# q + s u) in s at s = 0: curvature of the wall, its turning and its acceleration. Both dg/dt and b are differences of
# the gaps, extrapolated to step zero, where they are not known to vanish. Their steps follow from how the gaps vary, in
# time and along the motion, and not from how long the run is. Within one integration step they stay the same, so that
# the error that is left is a smooth function as well.


LONGEST_DIFFERENCE = 0.05
"""How far before the start and after the end a moving set is looked at, as a fraction of the time that is integrated:
the longest step of differences in time, for sets that hardly change."""
PACE_SERVES = 0.25
"""How long the step that suits the motion of the walls serves at most, as a fraction of the longest one."""
CANCELLED = 8.0 * EPS
"""Sums below this fraction of their terms are zero: the round-off of an acceleration would move bodies at rest."""
GAP_NOISE = 2.0 * EPS
"""Round-off of gaps, as a fraction of the lengths that they are differences of."""
SMOOTH_SETS = (HalfSpace, Box, Balls, Line, Outside, Inside, Rods, UserSet, Free)
"""Sets whose gaps are smooth functions of time and place, one row for each contact at all times."""


GOLDEN = (5.0**0.5 - 1.0) / 2.0
"""The golden ratio, whose multiples are far from those of any period."""


class Rates(NamedTuple):
    """Gap rates and how large their round-off is."""

    rate: Array
    noise: Array


class Steps(NamedTuple):
    """Steps of differences along a motion: the longest one in time, and how far the bodies may move meanwhile."""

    time: float
    length: float

    def along(self, u: Array) -> float:
        """The step in time at the velocity u."""
        changes = 1.0 / self.time + float(np.linalg.norm(u)) / self.length
        return 1.0 / changes if changes > 0.0 else np.inf


class SmoothContacts:
    """All contacts that few bodies can have, as smooth functions of time and place."""

    def __init__(self, problem: Motion, t: float, end: float):
        check_supported(problem)
        names = [each.__name__ for each in SMOOTH_SETS if each not in (UserSet, Free)]
        for part in parts(problem.within):
            if type(part) not in SMOOTH_SETS:
                refuse(f"sets other than {', '.join(names)} and @constraints, as {part!r}")
        self.problem, self.within, self.shape = problem, problem.within, problem.q0.shape
        self._begin, self._end = t, end
        self._metric = problem.mass if isinstance(problem.mass, Metric) else None
        start = self.start
        self.bodies = number_of_bodies(problem, start)
        self.pairs, self.describe = start.pairs, start.describe
        self.equal: Booleans = np.zeros(len(start.gap), dtype=bool) if start.equal is None else start.equal
        self.still = self.within.moving is False
        self.flat = self.within.flat
        self.by_gradients = self.still and not differences_of(self.within)
        self.longest = LONGEST_DIFFERENCE * (end - t)
        self._linearised: tuple[float, bytes, Contacts] | None = None
        """The contacts that were asked for last, when and where."""
        self._asked: tuple[float, bytes] | None = None
        self._found: dict[bytes, Derivatives] = {}
        self._gap_at: Function
        """When and where `changes` was asked last, what it found for which rows, and the gaps as a function of time."""
        self._served: dict[tuple[str, bytes], Derivatives] = {}
        """The derivatives that were found where the steps in use were searched for."""
        self._pace = -np.inf, 0.0
        """When it was asked about all gaps, and the step of differences that suits them."""

    @cached_property
    def start(self) -> Contacts:
        """The contacts at the start."""
        return self.within.linearise(self._begin, self.problem.q0)

    @cached_property
    def size(self) -> float:
        """The smallest length, or that of the positions or of the first motion."""
        length = float(self.sizes(self.start, self.problem.q0.ravel()).max(initial=0.0))
        return self.start.smallest_length() or length or self._first_length(self._begin, self._end)

    @cached_property
    def straight(self) -> tuple[Array, Array] | None:
        """G^T and c if the gaps are G q + c at all times."""
        if not (self.still and self.flat):
            return None
        return self.start.G.toarray().T, self.within.linearise(self._begin, np.zeros(self.shape)).gap

    def linearise(self, t: float, q: Array) -> Contacts:
        """Gaps and gradients at flat positions q."""
        last, place = self._linearised, q.tobytes()
        if last is not None and last[0] == t and last[1] == place:
            return last[2]
        contacts = self.within.linearise(t, q.reshape(self.shape))
        if len(contacts.pairs) != len(self.pairs) or not np.array_equal(contacts.pairs, self.pairs):
            raise UnresolvedEvent(
                f"t = {t:.15g}: the contacts are not the same, or not in the same order, as at the start"
            )
        self._linearised = t, place, contacts
        return contacts

    def gaps(self, t: float, q: Array) -> Array:
        gap = self.within.gaps(t, q.reshape(self.shape))
        sound = len(gap) == len(self.pairs) and np.isfinite(gap).all()
        return gap if sound else self.linearise(t, q).gap  # which says what is wrong

    def gaps_along(self, times: Array, places: Array) -> Array:
        """(k, m) the gaps at times (k,) and flat positions (k, N)."""
        if self.straight is not None:
            return np.asarray(places @ self.straight[0] + self.straight[1])
        return np.array([self.gaps(t, q) for t, q in zip(times.tolist(), places, strict=True)])

    def sizes(self, contacts: Contacts, q: Array) -> Array:
        """(m,) the lengths that the gaps are differences of."""
        return np.asarray(np.abs(contacts.gap) + contacts.length + contacts.G.magnitude(np.abs(q)))

    @property
    def constant_mass(self) -> bool:
        return self._metric is not None

    def metric(self, q: Array) -> Metric:
        return self.problem.metric(q.reshape(self.shape))

    def acceleration(self, t: float, q: Array, u: Array) -> Array:
        """M^-1 f, without contact forces."""
        q, M = q.reshape(self.shape), self._metric
        return (M or self.problem.metric(q)).solve(self.problem.force(t, q, u.reshape(self.shape)).ravel())

    def first_acceleration(self, t: float, end: float) -> float:
        """The largest acceleration at the start, or a part of what it may become: the size of the first motion."""
        q, u = self.problem.q0.ravel(), self.problem.v0.ravel()
        here, *later = (float(np.abs(self.acceleration(s, q, u)).max(initial=0.0)) for s in _spread(t, end))
        return max(here, FIRST_FORCE * max(later))

    def _first_length(self, t: float, end: float) -> float:
        """How far the walls or else the bodies move: the length that is left for points at the origin."""
        q, speed = self.problem.q0.ravel(), float(np.abs(self.problem.v0).max(initial=0.0))
        walls = 0.0 if self.still else max(float(np.abs(self.gaps(s, q)).max(initial=0.0)) for s in _spread(t, end))
        time = self._first_change(t, end)
        return walls or time * (speed + time * self.first_acceleration(t, end)) or 1.0

    def _first_change(self, t: float, end: float) -> float:
        """The time in which the velocity at the start changes by its own size, at most that of the run."""
        q, u = self.problem.q0.ravel(), self.problem.v0.ravel()
        a, h, speed = self.acceleration(t, q, u), SHORTEST_FIRST * (end - t), float(np.abs(u).max(initial=0.0))
        while 4.0 * h < end - t:
            there = self.acceleration(t + h, q + h * (u + 0.5 * h * a), u + h * a)
            if np.abs(h * there if speed > 0.0 else there - a).max() > (speed or np.abs(a).max()):
                return h
            h *= 4.0
        return end - t

    def changes(self, t: float, q: Array, rows: Integers | None = None) -> Derivatives:
        """The first and second derivatives of some gaps with respect to time, where the bodies stay."""
        rows = np.arange(len(self.pairs)) if rows is None else rows
        asked, known = (t, q.tobytes()), rows.tobytes()
        if self._asked != asked:
            self._asked, self._found, self._gap_at = asked, {}, cache(lambda s: self.gaps(t + s, q))
        if known not in self._found:
            noise, gap_at = GAP_NOISE * self.sizes(self.linearise(t, q), q)[rows], self._gap_at
            self._found[known] = self._search(("time", known), lambda s: gap_at(s)[rows], self.longest, noise, abs(t))
            if len(rows) == len(self.pairs):
                self._pace = t, self._found[known].first_step
        return self._found[known]

    def _search(self, what: tuple[str, bytes], f: Function, longest: float, noise: Array, size: float) -> Derivatives:
        """The derivatives of a function by the steps that served for it the last time, if they still do."""
        before = self._served.get(what)
        found = None if before is None else continued(f, before, longest, noise, size)
        if found is None:
            found = self._served[what] = differentiated(f, longest, noise, size)
        return found

    def change_time(self, t: float, q: Array) -> float:
        """The step of differences in time that suits how the gaps change about this time."""
        asked, found = self._pace
        serves = abs(t - asked) <= min(found, PACE_SERVES * self.longest)
        return found if serves else self.changes(t, q).first_step

    def drift(self, t: float, q: Array) -> Rates:
        """dg/dt at rest."""
        if self.still:
            nothing = np.zeros(len(self.pairs))
            return Rates(nothing, nothing)
        found = self.changes(t, q)
        return Rates(found.first, 4.0 * found.first_error)

    def rates(self, t: float, q: Array, u: Array, fastest: float) -> Rates:
        """G u + dg/dt; round-off is that of velocities of the size `fastest`."""
        G, drift = self.linearise(t, q).G, self.drift(t, q)
        noise = EVENT_ROUND_OFF * (G.magnitude(np.full(len(u), fastest)) + np.abs(drift.rate)) + drift.noise
        return Rates(G @ u + drift.rate, noise)

    def curvature(self, t: float, q: Array, u: Array, rows: Integers, steps: Steps) -> Array:
        """b: the second derivative of the gaps of some rows along q + s u, by differences with these steps."""
        if self._is_straight(u, rows):
            return np.zeros(len(rows))
        if self._is_known(rows):
            return self._bend_of_distances(t, q, u, rows)
        differences = first_differences if self.by_gradients else second_differences
        return extrapolated(differences, self._along(t, q, u, rows), steps.along(u))

    def steps(self, t: float, q: Array, u: Array, rows: Integers) -> Steps:
        """The steps that `curvature` needs near here, in time and along the motion."""
        if len(rows) == 0:
            return Steps(np.inf, np.inf)
        time = np.inf if self.still else self.changes(t, q, rows).second_step
        if self.flat or self._is_known(rows):
            return Steps(time, np.inf)
        ways = (u, self.acceleration(t, q, u), np.ones(len(q)))
        here, way = self.linearise(t, q), next(v / np.linalg.norm(v) for v in ways if v.any())
        if self.by_gradients:
            noise = GAP_NOISE * here.G.magnitude(np.ones(len(q)))
            along = lambda s: np.asarray(self.linearise(t, q + s * way).G @ way)[rows]  # noqa: E731
        else:
            noise = GAP_NOISE * self.sizes(here, q)
            along = lambda s: self.gaps(t, q + s * way)[rows]  # noqa: E731
        found = self._search(("way", rows.tobytes()), along, self.size, noise[rows], float(np.abs(q).max()))
        return Steps(time, found.first_step if self.by_gradients else found.second_step)

    def error_of_curvature(self, t: float, q: Array, u: Array, rows: Integers, steps: Steps) -> Array:
        """How far `curvature` may be from b, by its value at half the steps and by round-off."""
        if self._is_straight(u, rows) or self._is_known(rows):
            return np.zeros(len(rows))
        half = Steps(steps.time / 2.0, steps.length / 2.0)
        change = np.abs(self.curvature(t, q, u, rows, steps) - self.curvature(t, q, u, rows, half))
        return np.asarray(change + self.noise_of_bend(t, q, u, rows, steps))

    def noise_of_bend(self, t: float, q: Array, u: Array, rows: Integers, steps: Steps) -> Array:
        """The round-off of `curvature`."""
        if self._is_straight(u, rows) or self._is_known(rows):
            return np.zeros(len(rows))
        here, h = self.linearise(t, q), steps.along(u)
        if self.by_gradients:
            return np.asarray(FIRST_NOISE * GAP_NOISE / h * here.G.magnitude(np.abs(u))[rows])
        return np.asarray(SECOND_NOISE * GAP_NOISE / h**2 * self.sizes(here, q)[rows])

    def _is_straight(self, u: Array, rows: Integers) -> bool:
        """Whether the gaps of some rows are known to have no second derivative along a motion."""
        return len(rows) == 0 or (self.still and (self.flat or not u.any()))

    def _is_known(self, rows: Integers) -> bool:
        """Whether some rows are distances at rest, whose second derivatives have a formula."""
        return self.still and not np.isnan(self.start.curvatures[rows]).any()

    def _bend_of_distances(self, t: float, q: Array, u: Array, rows: Integers) -> Array:
        """|w|^2 / d - (n . w)^2 / d for distances d of two bodies that pass each other with velocity w."""
        here, each = self.linearise(t, q), u.reshape(self.bodies, -1)
        i, j = self.pairs[rows].T
        w = np.where(j[:, None] >= 0, each[np.maximum(j, 0)], 0.0) - each[i]
        along = here.G.toarray()[rows] @ u
        return np.asarray(here.curvatures[rows] * ((w * w).sum(axis=1) - along * along))

    def forced(self, t: float, q: Array, u: Array, kept: Integers, steps: Steps) -> tuple[Array, Array]:
        """The acceleration with forces that keep some rows closed, and these forces; steps as in `curvature`."""
        a = self.acceleration(t, q, u)
        if len(kept) == 0:
            return a, np.zeros(0)
        G = self.linearise(t, q).G.toarray()[kept]
        return equalised(a, G, -self.curvature(t, q, u, kept, steps), self.metric(q))

    def _along(self, t: float, q: Array, u: Array, rows: Integers) -> Function:
        """The gaps of some rows along q + s u, or their rates if these do not need differences."""
        if self.by_gradients:
            return lambda s: np.asarray(self.linearise(t, q + s * u).G @ u)[rows]
        return lambda s: self.gaps(t + s, q + s * u)[rows]


def _spread(t: float, end: float) -> list[float]:
    """The start and some times of a run that are no multiples of a period."""
    return [t + part * (end - t) for part in (GOLDEN * np.arange(17) % 1.0).tolist()]


def equalised(v: Array, G: Array, wanted: Array, M: Metric) -> tuple[Array, Array]:
    """The vector nearest to v in the metric M with G v = wanted, and the multipliers p with M (v' - v) = G^T p."""
    if len(G) == 0:
        return v, np.zeros(0)
    p: Any
    if len(G) == 1:
        W = M.solve(G[0])
        p = (wanted - G @ v) / float(G[0] @ W)
        push = p * W
    else:
        white = M.whiten(G)
        p = np.linalg.lstsq(white @ white.T, wanted - G @ v, rcond=None)[0]
        push = M.solve(G.T @ p)
    return np.where(np.abs(v + push) <= CANCELLED * (np.abs(v) + np.abs(push)), 0.0, v + push), p


CLOSED = 1e-11
"""Gaps below this fraction of the lengths they are differences of are closed at an event: integration is no better."""
FLOOR = 4 * float(np.finfo(float).eps)
"""Gaps below minus this fraction of the lengths they are differences of have crossed zero."""
LOW = 1e-12
"""Bounces lower than this fraction of the lengths around are no longer computed one by one."""
NO_FORCE = 1e-12
"""Contact forces up to this fraction of the forces are zero."""
SMOOTH = 1e-3
"""Contact forces that change by more than this fraction of the forces with the step of differences are at a kink."""
KINK = 1e-6
"""Gaps and gap rates of closed contacts above this fraction of the lengths and velocities are those of a kink."""
FIRST_FORCE = 1e-6
"""Accelerations below this fraction of those that follow say nothing about the size of the first motion."""
STEPS_A_FLIGHT = 4.0
"""A flight begins with at most this part of the duration of the one before it."""
LONGEST_STEP = 1.0 / 256.0
"""Longest integration step near moving walls, as a fraction of the time that is integrated."""
LONGEST_HELD = 1.0 / 128.0
"""The same where all contacts stay closed: the force is computed at sixteen times a step."""
STEPS_OF_CHANGE = 16.0
"""Longest integration step near moving walls, in the steps of differences that suit their motion: a period of an
oscillation has at least 15 samples."""
SHORTEST_FIRST = 2.0**-60
"""The search for the time in which the first velocity changes begins at this part of the run."""
FIRST_TIME = 1e-3
"""A motion from rest has its first size after this part of the time that is integrated, or of the time in which it
crosses the lengths around, if that is shorter."""


class SmoothRun(EventRun):
    """The integration of a motion under smooth forces, with masses M(q) and walls that move."""

    contacts: SmoothContacts

    def __init__(self, problem: Motion, start: float, end: float, max_events: int):
        super().__init__(problem, start, end, max_events)
        self.contacts = SmoothContacts(problem, start, end)
        self.fastest = float(np.abs(self.u).max(initial=0.0))
        self.strongest = self.contacts.first_acceleration(start, end)
        self.lengths: Array = np.zeros(0)
        """(m,) the largest lengths so far that the gaps are differences of."""
        self.closed = self._start()
        self.kept: Integers = np.flatnonzero(self.contacts.equal)
        """The rows that stayed closed in the last flight."""
        self.released: Integers = np.zeros(0, dtype=np.int64)
        self.step: float | None = None
        """The step with which a flight begins."""
        self.pieces: list[Piece] = []
        self.origins: list[Array] = []

    def solution(self, status: str) -> EventSolution:
        end = self.end if status == FINISHED else self.t
        pieces, origins = self.pieces, self.origins
        if not pieces:
            there = np.concatenate([np.zeros(len(self.x)), self.u])
            pieces, origins = [Piece(self.start, self.t, lambda t: there, there)], [self.x]
        starts = np.array([piece.start for piece in pieces])
        parabolas = np.zeros((len(pieces), 3, len(self.x)))
        parabolas[:, 0] = origins
        parabolas[:, 1] = [piece.first[len(self.x) :] for piece in pieces]
        found = tuple(self.events), tuple(self.accumulations)
        return EventSolution(self.problem, *found, end, status, starts, parabolas, tuple(pieces))

    def to_next_event(self) -> bool:
        self.x = self._onto(self.t, self.x, self.closed)
        self.u = self._settled(self.t, self.x, self.u, self.kept)
        before, resting = self.u, self._impacts()
        self.kept = self._pressed(self.closed[resting])
        self.record_flight(before, self.u, self.kept)
        return self._fly(self.kept)

    def _start(self) -> Integers:
        """The rows that are closed at the start."""
        contacts = self.contacts.linearise(self.start, self.x)
        if (contacts.margin < -contacts.tolerance()).any():
            row = int(np.argmin(contacts.margin))
            self.refuse_start(row, float(contacts.gap[row]))
        self.lengths = self.contacts.sizes(contacts, self.x)
        return np.flatnonzero(contacts.gap <= np.maximum(contacts.tolerance(), CLOSED * self.lengths))

    def _onto(self, t: float, x: Array, rows: Integers) -> Array:
        """x with the gaps of some rows, which are zero up to the error of the integration, made zero."""
        here = self.contacts.linearise(t, x)
        step, _ = equalised(np.zeros(len(x)), here.G.toarray()[rows], -here.gap[rows], self.contacts.metric(x))
        return x + step

    def _settled(self, t: float, x: Array, u: Array, rows: Integers) -> Array:
        """u with the gap rates of some rows, which are zero up to the error of the integration, made zero."""
        G, drift = self.contacts.linearise(t, x).G.toarray()[rows], self.contacts.drift(t, x).rate[rows]
        return equalised(u, G, -drift, self.contacts.metric(x))[0]

    def _impacts(self) -> Booleans:
        """Apply the law to all closed contacts that do not separate, until none approaches; return which rest."""
        here, M = self.contacts.linearise(self.t, self.x), self.contacts.metric(self.x)
        G, drift = here.G.toarray(), self.contacts.drift(self.t, self.x).rate
        hits: list[tuple[Integers, float]] = []
        for _ in range(MAX_IMPACTS_AT_ONCE):
            found = self.contacts.rates(self.t, self.x, self.u, self.fastest)
            equal = self.contacts.equal[self.closed]
            rate, noise = np.where(equal, 0.0, found.rate[self.closed]), found.noise[self.closed]  # they are settled
            resting, rows = np.abs(rate) <= noise, self.closed[rate <= noise]
            if not (rate < -noise).any():
                died = self.closed[died_out(hits, self.closed, rate, noise) & ~equal & ~resting]
                return self._accumulate(resting, died) if hits else resting
            at_rest = self.closed[resting]
            before, _ = equalised(self.u, G[at_rest], -drift[at_rest], M)
            equal = self.contacts.equal[rows]
            c = np.where(equal, -G[rows] @ before, drift[rows])
            after, impulse = self.reflect(before, G[rows], c, M, equal if equal.any() else None)
            pushing = (impulse > 0.0) & ~equal
            hit, impulse = rows[pushing], impulse[pushing]
            rates = np.array([G[hit] @ v + drift[hit] for v in (before, after)])
            self.record_impact(hit, before, after, impulse, rates)
            speed, noise = float(-rate.min()), EVENT_ROUND_OFF * self.lengths
            remember(self.history, tuple(hit.tolist()), self.flight, speed, here.gap, noise)
            hits.append((hit, speed))
            self.u, self.flight = after, 0.0
            self.fastest = max(self.fastest, float(np.abs(after).max(initial=0.0)))
        raise self.endless_impacts()

    @property
    def _e(self) -> float:
        return float(self.problem.law.number)

    def _accumulate(self, resting: Booleans, died: Integers) -> Booleans:
        """Close the contacts whose impacts accumulate now or `died` out; return which of the closed rows rest."""
        found = self._low_bounces() or limit_of(self.history, self.closed[resting])
        if found is not None and found.remaining > 0.0:
            here = self.contacts.linearise(self.t, self.x)
            rate = self.contacts.rates(self.t, self.x, self.u, self.fastest).rate
            loose = np.where(self.contacts.equal, np.inf, here.gap)
            if comes_before(found, self.contacts.pairs, self.closed, loose, rate):
                found = None
        if found is None and len(died):
            found = Limit(0.0, 0.0, np.union1d(self.closed[resting], died))
        if found is None or self.t + found.remaining > self.end:
            return resting
        at_rest = np.union1d(self.closed[resting], found.rows)
        self.record_limit(found)
        self.x = self._onto(self.t, self.x, self.closed)
        self.u = self._settled(self.t, self.x, self.u, at_rest)
        return np.isin(self.closed, at_rest)

    def _low_bounces(self) -> Limit | None:
        """The limit of the bounces of one contact that are so low that only the integration error tells them apart."""
        e, last = self._e, self.history[-3:]
        if len(last) < 3 or not 0.0 < e < 1.0 or len(last[-1].rows) != 1 or len({one.rows for one in last}) > 1:
            return None
        (row,), flight, speed = last[-1].rows, last[-1].flight, last[-1].speed
        shrinks = all(one.speed > other.speed for one, other in pairwise(last))
        if not (shrinks and flight < last[-2].flight and e * speed * flight / 4.0 <= LOW * self.lengths[row]):
            return None
        remaining = flight * e / (1.0 - e)
        unsteady = abs(flight / last[-2].flight - e) + FLOOR * self.lengths[row] / (speed * flight)
        return Limit(remaining, remaining * unsteady, np.array([row]))

    def _pressed(self, resting: Integers) -> Integers:
        """The resting rows that the forces keep closed, and all equalities."""
        resting = np.setdiff1d(resting, self.released)
        free = self.contacts.acceleration(self.t, self.x, self.u)
        self.strongest = max(self.strongest, float(np.abs(free).max(initial=0.0)))
        if len(resting) == 0:
            return resting
        self.u = self._settled(self.t, self.x, self.u, resting)
        G = self.contacts.linearise(self.t, self.x).G.toarray()[resting]
        here = self.t, self.x, self.u, resting
        steps = self.contacts.steps(*here)
        curvature, error = self.contacts.curvature(*here, steps), self.contacts.error_of_curvature(*here, steps)
        self.strongest = max(self.strongest, float(np.abs(curvature).max(initial=0.0)))
        small, equal = NO_FORCE * (np.abs(G) @ np.full(len(free), self.strongest)), self.contacts.equal[resting]
        small = small + 4.0 * error
        M = self.contacts.metric(self.x)
        jointed, _ = equalised(free, G[equal], -curvature[equal], M)
        curvature[equal] = -G[equal] @ jointed  # rods that depend on each other agree to round-off
        found = project(free, Polyhedron(G, curvature, equal=equal), mass=M, solver=ActiveSet())
        pressed: Integers = resting[equal | (G @ found.point + curvature <= small)]
        return pressed

    def _fly(self, kept: Integers) -> bool:
        """Integrate to the next event; False if the end comes first."""
        n, origin, start, contacts = len(self.x), self.x, self.t, self.contacts
        others = np.setdiff1d(np.arange(len(contacts.pairs)), kept)
        loose = ~contacts.equal[kept]
        first = steps = contacts.steps(self.t, self.x, self.u, kept)

        def forced(t: float, y: Array) -> tuple[Array, Array]:
            return contacts.forced(t, origin + y[:n], y[n:], kept, steps)

        def derivative(t: float, y: Array) -> Array:
            a = forced(t, y)[0] if len(kept) else contacts.acceleration(t, origin + y[:n], y[n:])
            return np.concatenate([y[n:], a])

        def watched(times: Array, y: Array) -> Array:
            gaps = contacts.gaps_along(times, origin + y[:, :n]) if len(others) else np.zeros((len(y), 0))
            if len(kept) == 0:
                return gaps
            if not loose.any():
                return gaps[:, others]
            forces = [forced(t, state)[1][loose] for t, state in zip(times.tolist(), y, strict=True)]
            return np.hstack([gaps[:, others], forces])

        def corrected(t: float, y: Array) -> Array:
            nonlocal steps
            x = self._onto(t, origin + y[:n], kept)
            self._check_smooth(t, x, y[n:], kept, contacts.gaps(t, origin + y[:n]))
            u = self._settled(t, x, y[n:], kept)
            before, steps = steps, contacts.steps(t, x, u, kept)
            self._check_force((t, x, u, kept), first, before, steps)
            return np.concatenate([x - origin, u])

        def longest(t: float, y: Array) -> float:
            steps = LONGEST_STEP if len(others) else LONGEST_HELD
            return min(steps * (self.end - self.start), STEPS_OF_CHANGE * contacts.change_time(t, origin + y[:n]))

        floor = np.concatenate([FLOOR * self.lengths[others], self._least_forces(kept, steps)[loose]])
        y = np.concatenate([np.zeros(n), self.u])
        sizes, correct = self._tolerances(kept, steps), corrected if len(kept) else None
        law: Any = derivative
        if len(kept) == 0 and self.problem.constant_force is not None and contacts.constant_mass:
            law, self.step = contacts.acceleration(start, origin, self.u), self._first_time()
        path = follow(
            law, start, y, self.end, watched, floor, sizes, None if contacts.still else longest, correct,
            self.step, len(kept) == 0, contacts.still or len(others) == 0,
        )  # fmt: skip
        self.step = None if path.step is None else min(path.step, (path.t - start) / STEPS_A_FLIGHT) or None
        pieces = [piece for piece in path.pieces if piece.end > piece.start]
        self.pieces += pieces
        self.origins += [origin] * len(pieces)
        self.t, self.flight = float(path.t), self.flight + (path.t - start)
        self.x, self.u = origin + path.y[:n], path.y[n:]
        passed = np.max(np.abs([path.y, *(piece.first for piece in pieces)]), axis=0)
        self.fastest = max(self.fastest, float(passed[n:].max(initial=0.0)))
        self._check_smooth(self.t, self.x, self.u, kept, contacts.gaps(self.t, self.x))
        if path.crossed is None:
            return False
        here = self.t, self.x, self.u, kept
        self._check_force(here, first, steps, contacts.steps(*here))
        self._arrive(path.crossed, kept[loose], others, passed[:n])
        return True

    def _check_smooth(self, t: float, x: Array, u: Array, kept: Integers, gap: Array) -> None:
        """Refuse contacts that stay closed if an integration step across a kink has opened their `gap`."""
        if len(kept) == 0:
            return
        here, drift = self.contacts.linearise(t, x), self.contacts.drift(t, x)
        speed = max(self.fastest, float(np.abs(u).max()), self.strongest * self._first_time())
        far = max(self.contacts.size, float(np.abs(x).max()))
        rate, opened = np.abs(here.G @ u + drift.rate), np.abs(gap)
        fast = rate > KINK * (here.G.magnitude(np.full(len(u), speed)) + np.abs(drift.rate)) + drift.noise
        wide = opened > KINK * here.G.magnitude(np.full(len(x), far))
        if (fast | wide)[kept].any():
            raise self._kink(t, int(kept[np.argmax((fast | wide)[kept])]))

    def _check_force(
        self, here: tuple[float, Array, Array, Integers], first: Steps, steps: Steps, other: Steps
    ) -> None:
        """Refuse contacts that stay closed beside a kink, where `other` steps than those so far give another force.

        A force is not known either where its steps are so much shorter than the `first` ones that it is round-off.
        """
        if len(here[-1]) == 0:
            return
        contacts = self.contacts
        change: Array | float = 0.0
        if other != steps:
            change = np.abs(contacts.curvature(*here, steps) - contacts.curvature(*here, other))
        noise = 4.0 * (contacts.noise_of_bend(*here, steps) + contacts.noise_of_bend(*here, other))
        known = SMOOTH * max(self.strongest, self.fastest / first.along(here[2]))
        if (np.maximum(change - noise, noise) > known).any():
            raise self._kink(here[0], int(here[-1][np.argmax(np.maximum(change, noise))]))

    def _kink(self, t: float, row: int) -> UnresolvedEvent:
        return UnresolvedEvent(
            f"t = {t:.15g}: the gap of {self.contacts.describe(row)} has a kink near here, such as that of a wall that "
            f"stops or of max(); events need smooth gaps: smooth it, or use jo.solve with a scheme"
        )

    def _arrive(self, crossed: int, held: Integers, others: Integers, moved: Array) -> None:
        """Find the closed rows and the `held` contact that was released at an event; `moved` is how far bodies went."""
        here = self.contacts.linearise(self.t, self.x)
        self.lengths = np.maximum(self.lengths, self.contacts.sizes(here, self.x) + here.G.magnitude(moved))
        gap, allowed = here.gap, CLOSED * self.lengths
        if (gap[others] < -allowed[others]).any():
            row = int(others[np.argmin(gap[others] / allowed[others])])
            raise UnresolvedEvent(
                f"t = {self.t:.15g}: gap {gap[row]:.2e} at an event, in {self.contacts.describe(row)}"
            )
        self.closed = np.union1d(np.flatnonzero(gap <= allowed), self.kept)
        released = crossed >= len(others)
        self.released = held[crossed - len(others) :][:1] if released else held[:0]
        if not released:
            self.closed = np.union1d(self.closed, others[crossed : crossed + 1])

    def _least_forces(self, kept: Integers, steps: Steps) -> Array:
        """(k,) the forces of some contacts that cannot be told from none."""
        here, contacts = (self.t, self.x, self.u, kept), self.contacts
        G, M = contacts.linearise(self.t, self.x).G.toarray()[kept], contacts.metric(self.x)
        small = NO_FORCE * np.abs(G).sum(axis=1) * self.strongest + 4.0 * contacts.error_of_curvature(*here, steps)
        return np.array([each / float(row @ M.solve(row)) for each, row in zip(small, G, strict=True)])

    def _first_time(self) -> float:
        """The time in which a motion gets its first size: a part of all, or of that in which it crosses the lengths."""
        time, size = FIRST_TIME * (self.end - self.start), self.contacts.size
        if self.strongest > 0.0:
            time = min(time, FIRST_TIME * float(np.sqrt(size / self.strongest)))
        if self.fastest > 0.0:
            time = min(time, FIRST_TIME * size / self.fastest)
        if self.fastest > 0.0 and self.strongest > 0.0:
            time = min(time, FIRST_TIME * self.fastest / self.strongest)
        return time

    def _tolerances(self, kept: Integers, steps: Steps) -> Array:
        """(2 N,) the sizes of displacements and velocities below which errors are absolute."""
        n, time = len(self.x), self._first_time()
        speed, first = self.fastest, self.strongest * time
        if speed <= CLOSED * first:  # at rest so far, up to the error of the integration
            speed = first or 1.0
        length = speed * time
        if len(kept):  # closer than the error of the contact forces is not possible, nor needed: gaps are corrected
            error = (
                float(self.contacts.error_of_curvature(self.t, self.x, self.u, kept, steps).max()) / RELATIVE_TOLERANCE
            )
            h = steps.along(self.u) if error > 0.0 else 0.0
            length, speed = length + error * h * h, speed + error * h
        return np.concatenate([np.full(n, length), np.full(n, speed)])
