"""Event-driven integration where the motion consists of parabolas: constant forces, flat walls and balls at rest.

Between two events all accelerations are constant. The gap of a plane is then a polynomial of degree 2. For two balls
with centres apart by d(s) and radii of sum R the polynomial is |d(s)|^2 - R^2, of degree 2 if both have the same
acceleration and of degree 4 otherwise. The time of the next impact is its root, found to round-off. Contacts with gap
rate 0 stay closed where the force presses them, and the acceleration is projected on what they admit.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from jostle._tools.arrays import Array, Booleans, Integers, at
from jostle.convex.metric import Metric
from jostle.convex.polyhedron import Polyhedron
from jostle.errors import InvalidValue, UnresolvedEvent
from jostle.events.accumulations import FAINT, LONG_FLIGHT, Limit, comes_before, died_out, limit_of, remember
from jostle.events.run import EVENT_ROUND_OFF, MAX_IMPACTS_AT_ONCE, EventRun, check_supported, number_of_bodies
from jostle.events.solution import EventSolution
from jostle.problems import Motion
from jostle.result.status import FAILED, FINISHED
from jostle.sets.balls import Balls, Line
from jostle.sets.base import Free, parts
from jostle.sets.walls import Box, HalfSpace
from jostle.solvers.dual_active_set import ActiveSet
from jostle.solvers.project import project

SETS = (HalfSpace, Box, Balls, Line, Free)
"""Sets whose gaps are polynomials of time between events."""
SLOWEST = 64 * float(np.finfo(float).eps)
"""Gap rates below this fraction of the largest velocity so far, and gaps below this fraction of the largest coordinates
so far that they are differences of, count as zero."""

FINER = 1.0 / 8.0
"""Factor by which less counts as zero in the second run of a motion in which contacts have impacts at the same time."""
SAME_MOTION = 1e-8
"""Largest distance of two equal motions, as a fraction of the longest way."""
COMPARED = 33
"""Number of times, beside those of the impacts, at which two motions are compared."""

# The first time at which a polynomial gap becomes negative, to round-off.
#
# Up to degree 2 the root is a formula without cancellation. For higher degrees the roots of the derivatives cut the
# time into intervals on which the polynomial is monotone, so that no crossing is missed; each crossing is found by
# bisection.


BOUND_ROUND_OFF = 1e-9
"""Fraction of its constant term by which the bound of a polynomial is lowered, so that round-off never lifts it."""
MAX_ROWS_ONE_BY_ONE = 16
"""Up to this number of polynomials the crossings of all are computed."""
MAX_BISECTIONS = 2000
"""Bisection of an interval of floats ends after fewer halvings than this."""


def first_crossing(c: Sequence[float], end: float) -> float | None:
    """The smallest s in (0, end] at which c[0] + c[1] s + c[2] s^2 + ... goes from positive to negative.

    c[0] must be positive. A root at which the polynomial only touches zero is not a crossing.

    >>> first_crossing([1.0, 0.0, -4.0], 9.0), first_crossing([1.0, -2.0, 1.0], 9.0)
    (0.5, None)
    >>> first_crossing([1.0, 0.0, -4.0], 0.4) is None
    True
    """
    degree = max((k for k, value in enumerate(c) if value != 0.0), default=0)
    if degree <= 2:
        s = _first_root_of_parabola(*c[: degree + 1], *[0.0] * (2 - degree))
        return s if s <= end else None
    before = 0.0
    for after in [*_turning_points(c[: degree + 1], end), end]:
        if value_at(c, after) < 0.0:
            return _sign_change(c, before, after)
        before = after
    return None


def first_of(c: Array, end: float) -> tuple[int, float] | None:
    """The row of c (k, d) whose polynomial crosses zero first in (0, end], and where.

    Rows that stay positive up to the earliest crossing so far by the bound c[0] + min(c[1], 0) s + ... are left out.

    >>> first_of(np.array([[1.0, 0.0, -4.0], [1.0, -4.0, 0.0], [1.0, 1.0, 0.0]]), 9.0)
    (1, 0.25)
    """
    found, s = None, end
    if len(c) <= MAX_ROWS_ONE_BY_ONE:
        for k, row in enumerate(c.tolist()):
            crossing = first_crossing(row, s)
            if crossing is not None and (found is None or crossing < s):
                found, s = (k, crossing), crossing
        return found
    possible, powers, falling = np.arange(len(c)), np.arange(1, c.shape[1]), np.minimum(c[:, 1:], 0.0)
    while True:
        lowest = c[possible, 0] * (1.0 - BOUND_ROUND_OFF) + falling[possible] @ s**powers
        possible, lowest = possible[lowest <= 0.0], lowest[lowest <= 0.0]
        if len(possible) == 0:
            return found
        k = int(possible[np.argmin(lowest / c[possible, 0])])
        crossing = first_crossing(c[k].tolist(), s)
        if crossing is not None:
            found, s = (k, crossing), crossing
        possible = possible[possible != k]


def value_at(c: Sequence[float], s: float) -> float:
    """The value of a polynomial with ascending coefficients c.

    >>> value_at([1.0, 2.0, 3.0], 2.0)
    17.0
    """
    value = 0.0
    for each in reversed(c):
        value = value * s + each
    return value


def _first_root_of_parabola(c: float, b: float, a: float) -> float:
    """The first crossing of c + b s + a s^2 with c > 0; infinite if there is none."""
    discriminant = b * b - 4.0 * a * c
    if a > 0.0 and (b >= 0.0 or discriminant <= 0.0):
        return math.inf
    if a == 0.0:
        return -c / b if b < 0.0 else math.inf
    root = math.sqrt(discriminant)
    return 2.0 * c / (root - b) if b <= 0.0 else (b + root) / (-2.0 * a)


def _turning_points(c: Sequence[float], end: float) -> list[float]:
    """Points of (0, end), in order, between which the polynomial is monotone."""
    slope = [k * value for k, value in enumerate(c)][1:]
    points, before = [], 0.0
    for after in [*(_turning_points(slope, end) if len(slope) > 1 else []), end]:
        low, high = value_at(slope, before), value_at(slope, after)
        if low * high < 0.0:
            points.append(_sign_change(slope, before, after))
        if after < end:
            points.append(after)
        before = after
    return points


def _sign_change(c: Sequence[float], low: float, high: float) -> float:
    """Where a polynomial that is monotone between low and high changes its sign, by bisection down to neighbours."""
    rising = value_at(c, high) > 0.0
    for _ in range(MAX_BISECTIONS):
        middle = 0.5 * (low + high)
        if not low < middle < high:
            break
        if (value_at(c, middle) > 0.0) == rising:
            high = middle
        else:
            low = middle
    return high


# The contacts as polynomials in time: gaps, and what stays closed.


class Phase(NamedTuple):
    """What happens from one event to the next."""

    u: Array
    a: Array
    kept: Integers
    """The rows that stay closed."""
    rows: Integers
    """The rows that can close."""
    polynomials: Array
    """(k, 5) ascending coefficients of these rows. Zero gaps are divided out, so that all are positive at 0."""


@dataclass(frozen=True, eq=False)
class PolynomialContacts:
    """All contacts that few bodies can have: planes G x + c >= 0, and pairs of balls |x_j - x_i| - R >= 0."""

    G: Array
    """(m, N) gradients of the planes, 0 in the rows of balls."""
    c: Array
    """(m,) offsets of the planes; -R in the rows of balls."""
    size: Array
    """(m,) lengths that, beside the coordinates, set the round-off of a gap."""
    balls: Integers
    """The rows of balls."""
    pairs: Integers
    describe: Callable[[int], str]
    bodies: int
    metric: Metric

    def between(self, v: Array) -> Array:
        """(k, d) v_j - v_i for the rows of balls."""
        each, (i, j) = v.reshape(self.bodies, -1), self.pairs[self.balls].T
        return np.asarray(each[j] - each[i])

    def gaps(self, x: Array) -> Array:
        gap = self.G @ x + self.c
        if len(self.balls):
            gap[self.balls] += np.linalg.norm(self.between(x), axis=1)
        return gap

    def gradients(self, x: Array, rows: Integers) -> Array:
        """(k, N) dg/dq at x of some rows."""
        G = self.G[rows]
        if len(self.balls) == 0:
            return G
        of_balls = self._is_ball[rows].nonzero()[0]
        i, j = self.pairs[rows[of_balls]].T
        each = x.reshape(self.bodies, -1)
        by_body = G.reshape(len(rows), *each.shape)
        d = each[j] - each[i]
        normal = d / np.linalg.norm(d, axis=1)[:, None]
        by_body[of_balls, i], by_body[of_balls, j] = -normal, normal
        return G

    def lengths(self, terms: Array) -> Array:
        """(m,) the lengths that the gaps are differences of, where the coordinates are sums of `terms` (N,)."""
        by_place = self._sizes_of_G @ terms
        if len(self.balls):
            by_place[self.balls] += self.between_at_most(terms)
        return np.asarray(by_place + self.size)

    @cached_property
    def _sizes_of_G(self) -> Array:
        return np.abs(self.G)

    @cached_property
    def _all_rows(self) -> Integers:
        return np.arange(len(self.c))

    @cached_property
    def _is_ball(self) -> Booleans:
        """(m,) whether each row is a pair of balls."""
        found = np.zeros(len(self.c), dtype=bool)
        found[self.balls] = True
        return found

    def moved(self, x: Array, rows: Integers, terms: Array) -> Array:
        """(N,) the largest move of each coordinate in `onto` where some rows have gaps made by one of the `terms`."""
        if len(rows) == 0:
            return np.zeros(len(x))
        G = self.gradients(x, rows)
        W = self.metric.solve(G)  # masses are diagonal
        gaps = (np.abs(G) * terms).max(axis=1, initial=0.0)
        return np.asarray((np.abs(W) * (gaps / (G * W).sum(axis=1))[:, None]).max(axis=0, initial=0.0))

    def between_at_most(self, sizes: Array) -> Array:
        """(k,) a bound of |v_j - v_i| for the rows of balls, where |v| <= sizes."""
        each, (i, j) = np.linalg.norm(sizes.reshape(self.bodies, -1), axis=1), self.pairs[self.balls].T
        return np.asarray(each[i] + each[j])

    def equalise(self, v: Array, G: Array, wanted: Array) -> Array:
        """The vector nearest to v in the kinetic metric with G v = wanted."""
        if len(G) == 0:
            return v
        if len(G) == 1:
            W = self.metric.solve(G[0])
            return np.asarray(v + W * ((wanted - G @ v) / (G @ W)))
        x: Any = np.linalg.lstsq(self.metric.whiten(G), wanted - G @ v, rcond=None)[0]
        return v + self.metric.unwhiten(x)

    def onto(self, x: Array, rows: Integers) -> Array:
        """x with the gaps of some rows, which are zero up to round-off, made zero."""
        return x + self.equalise(np.zeros(len(x)), self.gradients(x, rows), -self.gaps(x)[rows])

    def polynomials(self, x: Array, u: Array, a: Array) -> Array:
        """(m, 5) ascending coefficients of the gaps, those of balls times |d| + R."""
        found = np.zeros((len(self.c), 5))
        found[:, 0], found[:, 1], found[:, 2] = self.gaps(x), self.G @ u, self.G @ a / 2.0
        if len(self.balls) == 0:
            return found
        d, w, b = (self.between(v) for v in (x, u, a))
        rows = self.balls
        found[rows, 0] *= np.linalg.norm(d, axis=1) - self.c[rows]
        found[rows, 1] = 2.0 * (d * w).sum(axis=1)
        found[rows, 2] = (w * w).sum(axis=1) + (d * b).sum(axis=1)
        found[rows, 3] = (w * b).sum(axis=1)
        found[rows, 4] = (b * b).sum(axis=1) / 4.0
        return found

    def phase(
        self, t: float, x: Array, u: Array, sizes: Array, free: Array, closed: Integers, resting: Booleans
    ) -> Phase:
        """The motion after an event: the free acceleration projected on what the resting contacts admit.

        `sizes` (N,) are the velocities that u was computed from. `resting` says which of the closed rows have gap
        rate 0; the others separate.
        """
        rest = closed[resting]
        zeros = np.zeros(len(self.c), dtype=np.int64)
        zeros[closed], zeros[rest] = 1, 2
        a, kept = free, rest
        if len(rest):
            G = self.gradients(x, rest)
            u = self.equalise(u, G, np.zeros(len(rest)))
            bent = self._bent(x, u, sizes)[rest]
            found = project(free, Polyhedron(G, bent), mass=self.metric, solver=ActiveSet())
            small = EVENT_ROUND_OFF * (np.abs(G) @ np.abs(free) + np.abs(free).max() + bent)
            holds = G @ found.point + bent <= small
            kept, bent, forces = rest[holds], bent[holds], found.multipliers[holds]
            a = self.equalise(found.point, G[holds], -bent)
            leave = self._leave(t, x, a, np.abs(free).max(), kept, bent, forces)
            zeros[kept[leave]] = 4
            kept = kept[~leave]
        return Phase(u, a, kept, *self._that_can_close(t, self.polynomials(x, u, a), kept, zeros))

    def _bent(self, x: Array, u: Array, sizes: Array) -> Array:
        """(m,) |w|^2 / |d|, by which the gap rate of two balls that pass each other with velocity w grows."""
        bent, w = np.zeros(len(self.c)), self._across(x, u)
        w[w <= EVENT_ROUND_OFF * self.between_at_most(sizes)] = 0.0
        bent[self.balls] = w * w / np.linalg.norm(self.between(x), axis=1)
        return bent

    def _across(self, x: Array, v: Array) -> Array:
        """(k,) the size of v_j - v_i across the line through the centres, for the rows of balls."""
        d, w = self.between(x), self.between(v)
        normal = d / np.linalg.norm(d, axis=1)[:, None]
        return np.asarray(np.linalg.norm(w - (w * normal).sum(axis=1)[:, None] * normal, axis=1))

    def _leave(
        self, t: float, x: Array, a: Array, largest: float, kept: Integers, bent: Array, forces: Array
    ) -> Booleans:
        """Which of the kept rows separate later than in second order; balls that would roll are an error."""
        turns = np.zeros(len(self.c), dtype=bool)
        turns[self.balls] = self._across(x, a) > EVENT_ROUND_OFF * largest
        turning = turns[kept]
        wrong = (bent > 0.0) | (turning & (forces > EVENT_ROUND_OFF * forces.max(initial=0.0)))
        if wrong.any():
            raise UnresolvedEvent(
                f"t = {t:.15g}: {self.describe(int(kept[np.argmax(wrong)]))} stay in contact and move along each "
                f"other, on curves that are not parabolas; use jo.solve with a small step"
            )
        return turning

    def _that_can_close(self, t: float, coefficients: Array, kept: Integers, zeros: Integers) -> tuple[Integers, Array]:
        """The rows that are not kept, and their polynomials without the `zeros` lowest coefficients."""
        for k in zeros.nonzero()[0]:
            known = coefficients[k, zeros[k] :].copy()
            coefficients[k] = 0.0
            coefficients[k, : len(known)] = known
        rows, shifted = self._all_rows, coefficients
        if len(kept):
            rows = np.delete(rows, kept)
            shifted = coefficients[rows]
        decided = shifted[:, 0] > 0.0
        if not decided.all():
            row = self.describe(int(rows[np.argmin(decided)]))
            raise UnresolvedEvent(f"t = {t:.15g}: it cannot be decided whether {row} separate; perturb q0 or v0")
        return rows, shifted


def has_parabolas(problem: Motion) -> bool:
    """Whether all accelerations are constant between events, and all gaps polynomials of time."""
    resting = all(type(part) in SETS and part.moving is False for part in parts(problem.within))
    masses = isinstance(problem.mass, Metric) and problem.mass.diagonal
    return resting and masses and problem.constant_force is not None


def polynomial_contacts(problem: Motion) -> PolynomialContacts:
    """The contacts of a problem whose motion is made of parabolas."""
    check_supported(problem)
    assert isinstance(problem.mass, Metric)
    Q = problem.within
    contacts = Q.linearise(0.0, problem.q0)
    bodies = number_of_bodies(problem, contacts)
    rows: list[tuple[Array, Array, Array, Booleans]] = []
    for part in parts(Q):
        if isinstance(part, Balls):
            here = part.linearise(0.0, problem.q0)
            radii = np.broadcast_to(at(part.radii, 0.0), (bodies,))
            R = radii[here.pairs].sum(axis=1)
            rows.append((np.zeros((len(R), problem.q0.size)), -R, R, np.ones(len(R), dtype=bool)))
        else:
            here = part.linearise(0.0, np.zeros(problem.q0.shape))
            size = np.abs(here.gap) + here.length * bool(part.bodies.radii_at(0.0).any())
            rows.append((here.G.toarray(), here.gap, size, np.zeros(len(here.gap), dtype=bool)))
    G, c, sizes, balls = (np.concatenate(column) for column in zip(*rows, strict=True))
    if len(c) != len(contacts.gap):
        raise InvalidValue(f"{Q!r} has {len(contacts.gap)} contacts at q0, expected {len(c)}")
    pairs = contacts.pairs, contacts.describe
    return PolynomialContacts(G, c, sizes, np.flatnonzero(balls), *pairs, bodies, problem.mass)


class ParabolicRun(EventRun):
    """The integration of a motion that consists of parabolas."""

    contacts: PolynomialContacts

    def __init__(self, problem: Motion, start: float, end: float, max_events: int, round_off: float = EVENT_ROUND_OFF):
        super().__init__(problem, start, end, max_events)
        self.contacts, self.round_off, self.tangled = polynomial_contacts(problem), round_off, False
        self.free = problem.acceleration(start, problem.q0, problem.v0).ravel()
        self.fastest = 0.0
        self.sizes = self._sizes(np.abs(self.u))
        self.reach: Array = np.zeros(self.x.size)
        """(N,) the largest lengths so far whose round-off is in the coordinates."""
        self.gap, self.noise, self.closed = self._start()
        self.kept: Integers = np.zeros(0, dtype=np.int64)
        self.unclear: Integers = np.zeros(0, dtype=np.int64)
        """Rows that round-off has closed: bodies that no force holds, after impacts that did not accumulate."""
        self.starts: list[float] = []
        self.parabolas: list[Array] = []

    def _sizes(self, sizes: Array) -> Array:
        """(N,) the velocities that set the round-off of u: those it was computed from, and a part of the largest."""
        self.fastest = max(self.fastest, float(sizes.max(initial=0.0)))
        return sizes + SLOWEST / EVENT_ROUND_OFF * self.fastest

    def _noise(self, terms: Array, held: Array) -> Array:
        """(m,) the round-off of the gaps; `terms` (N,) are the sizes of the terms that the coordinates are sums of."""
        # A coordinate that is 0 has the round-off of the places that the body came from, and of the moves that contacts
        # `held` up.
        self.reach = np.maximum(self.reach, terms)
        return self.round_off * self.contacts.lengths(terms + held + SLOWEST / EVENT_ROUND_OFF * self.reach)

    def check_round_off(self) -> None:
        """Refuse a motion that is another one where fewer gaps and gap rates count as zero.

        Where three or more contacts have impacts in ever shorter times, their order may be lost in round-off.
        """
        if not (self.tangled and 0.0 < float(self.problem.law.number) < 1.0):
            return
        other = ParabolicRun(self.problem, self.start, self.end, self.max_events, FINER * self.round_off)
        times = np.unique(np.append(np.linspace(self.start, self.end, COMPARED), [event.t for event in self.events]))
        here = self.solution(FINISHED).q(times).reshape(len(times), -1)
        try:
            other.integrate()
            there = other.solution(FINISHED).q(times).reshape(len(times), -1)
        except UnresolvedEvent:
            there = other.solution(FAILED).q(times[times < other.t]).reshape(-1, here.shape[1])
        same = np.abs(here[: len(there)] - there).max(axis=1) <= SAME_MOTION * np.ptp(here, axis=0).max()
        if len(there) < len(here) or not same.all():
            self.t = float(times[np.append(same, False).argmin()])
            self.events = [event for event in self.events if event.t < self.t]
            self.accumulations = [limit for limit in self.accumulations if limit.t < self.t]
            raise UnresolvedEvent(
                f"t = {self.t:.15g}: the motion hangs on rounding before here: several contacts have impacts in ever "
                f"shorter times, in an order that round-off decides; perturb q0 or v0"
            )

    def solution(self, status: str) -> EventSolution:
        end = self.end if status == FINISHED else self.t
        parabolas = np.array(self.parabolas or [np.array([self.x, self.u, np.zeros(self.x.size)])])
        events, accumulations = tuple(self.events), tuple(self.accumulations)
        return EventSolution(
            self.problem, events, accumulations, end, status, np.array(self.starts or [self.start]), parabolas
        )

    def to_next_event(self) -> bool:
        self._close()
        before, resting = self.u, self._impacts()
        phase = self.contacts.phase(self.t, self.x, self.u, self.sizes, self.free, self.closed, resting)
        self.starts.append(self.t)
        self.parabolas.append(np.array([self.x, phase.u, phase.a]))
        self.record_flight(before, phase.u, phase.kept)
        return self._fly(phase)

    def _close(self) -> None:
        """Make the gaps of the closed rows zero, and those of all rows that this closes."""
        # The round-off of each coordinate is handed on to the coordinates that are moved.
        closed = self.closed[:0]
        while len(closed) < len(self.closed):
            closed = self.closed
            self.x = self.contacts.onto(self.x, closed)
            shut = self.contacts.gaps(self.x) <= 0.0
            shut[closed] = True
            self.closed = shut.nonzero()[0]
        self.reach = np.maximum(self.reach, self.contacts.moved(self.x, self.closed, self.reach))

    def _start(self) -> tuple[Array, Array, Integers]:
        """Gaps at the start, their round-off, and which rows are closed."""
        contacts = self.problem.within.linearise(0.0, self.problem.q0)
        gap, noise = self.contacts.gaps(self.x), self._noise(np.abs(self.x), np.zeros(self.x.size))
        if (gap < -np.maximum(contacts.tolerance(), noise)).any():
            self.refuse_start(int(np.argmin(gap)), float(gap.min()))
        return gap, noise, np.flatnonzero(gap <= noise)

    def _fly(self, phase: Phase) -> bool:
        """Move to the next event; False if the end comes first."""
        crossing = first_of(phase.polynomials, self.end - self.t)
        if crossing is None:
            self.t = self.end
            return False
        first, s = phase.rows[crossing[0]], crossing[1]
        terms = np.abs(self.x) + np.abs(phase.u * s) + np.abs(0.5 * phase.a * s * s)
        held = self.contacts.moved(self.x, phase.kept, self.sizes * s + 0.5 * np.abs(self.free) * s * s)
        self.t, self.flight = self.t + s, self.flight + s
        self.x = self.x + s * phase.u + 0.5 * s * s * phase.a
        self.sizes = self._sizes(np.abs(phase.u) + np.abs(phase.a * s))
        self.u, self.kept = phase.u + s * phase.a, phase.kept
        gap, noise = self.contacts.gaps(self.x), self._noise(terms, held)
        wrong = gap < -noise
        wrong[first] = abs(gap[first]) > noise[first]
        if wrong.any():
            row = int(np.argmax(wrong))
            named = self.contacts.describe(row)
            raise UnresolvedEvent(f"t = {self.t:.15g}: gap {gap[row]:.2e} at an impact, in {named}")
        shut = gap <= noise
        shut[self.kept] = True
        self.gap, self.noise, self.closed = gap, noise, shut.nonzero()[0]
        return True

    def _impacts(self) -> Booleans:
        """Apply the law to all closed contacts that do not separate, until none approaches; return which ones rest."""
        hits: list[tuple[Integers, float]] = []
        flight, G = self.flight, None
        for _ in range(MAX_IMPACTS_AT_ONCE):
            if G is None:
                G = self.contacts.gradients(self.x, self.closed)
                sizes = np.abs(G)
            rate, noise = G @ self.u, self.round_off * (sizes @ self.sizes)
            resting, stays = np.abs(rate) <= noise, rate <= noise
            if not (rate < -noise).any():
                at_rest = died_out(hits, self.closed, rate, noise)
                if hits and self._accumulate(self.closed[resting], self.closed[at_rest & ~resting]):
                    hits, G = [], None
                    continue
                self._note_unclear(hits, flight, resting)
                return resting
            held, still = G[resting], G[stays]
            before = self.contacts.equalise(self.u, held, np.zeros(len(held)))
            after, impulse = self.reflect(before, still, np.zeros(len(still)), self.contacts.metric)
            pushed = impulse > 0.0
            rows, impulse, pushing = self.closed[stays][pushed], impulse[pushed], still[pushed]
            self.record_impact(rows, before, after, impulse, np.array([pushing @ before, pushing @ after]))
            self.tangled = self.tangled or bool(hits) or len(rows) > 1
            speed = float(-rate.min())
            if len(self.unclear) and speed > FAINT * self.fastest and np.isin(rows, self.unclear).any():
                named = self.contacts.describe(int(np.intersect1d(rows, self.unclear)[0]))
                raise UnresolvedEvent(
                    f"t = {self.t:.15g}: round-off decides whether {named} touch when they are hit; perturb q0 or v0"
                )
            remember(self.history, tuple(rows.tolist()), self.flight, speed, self.gap, self.noise)
            hits.append((rows, speed))
            moved = np.abs(after - before)
            self.u, self.flight = after, 0.0
            self.sizes = np.maximum(self.sizes, np.abs(self.u)) + np.where(moved > 0.0, moved.max(), 0.0)
        raise self.endless_impacts()

    def _note_unclear(self, hits: list[tuple[Integers, float]], flight: float, resting: Booleans) -> None:
        """Note contacts that faint impacts at the same time leave at rest although they do not accumulate."""
        closed = self.closed[resting]
        if len(self.unclear):
            self.unclear = np.intersect1d(self.unclear, closed)
        if len(hits) < 2 or self.free.any() or hits[0][1] > FAINT * self.fastest or not self.history:
            return
        if flight > LONG_FLIGHT * self.history[-1].longest:
            self.unclear = np.union1d(self.unclear, np.intersect1d(np.concatenate([rows for rows, _ in hits]), closed))

    def _accumulate(self, at_rest: Integers, died: Integers) -> bool:
        """Close the contacts whose impacts accumulate now, and all that the limit closes; return whether any do.

        Those of the contacts that `died` out at this time do.
        """
        found = limit_of(self.history, at_rest)
        if found is not None and found.remaining > 0.0:
            rate = self.contacts.gradients(self.x, np.arange(len(self.gap))) @ self.u
            if comes_before(found, self.contacts.pairs, self.closed, self.gap, rate):
                found = None
        if found is None and len(died):
            found = Limit(0.0, 0.0, np.union1d(at_rest, died))
        if found is None or (self.t + found.remaining > self.end and found.remaining > EVENT_ROUND_OFF * self.end):
            return False
        at_rest = np.union1d(at_rest, found.rows)
        self.record_limit(found)
        self._close()
        self.u = self.contacts.equalise(self.u, self.contacts.gradients(self.x, at_rest), np.zeros(len(at_rest)))
        return True
