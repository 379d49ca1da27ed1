"""Event-driven integration of few bodies: from impact to impact, without time steps.

Between two events the accelerations are constant and the motion is a parabola; `smooth_events` has the other case. The
time of the next impact is a root of a polynomial, found to round-off. All closed contacts that do not separate take
part in Moreau's law together. Contacts with gap rate 0 stay closed where the force presses them, and the acceleration
is projected on what they admit.
With e < 1 infinitely many impacts can happen in a finite time. Their limit is computed from the geometric sequence
of the flight times, and the motion continues from there.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from jostle._tools.arguments import Count, check_arguments
from jostle._tools.arrays import Array, Booleans, Integers
from jostle.convex.polyhedron import Cone
from jostle.errors import InfeasibleStart, InvalidValue, NotConverged, UnresolvedEvent
from jostle.events.accumulations import RecentImpact, limit_of, remember
from jostle.events.contacts import EVENT_ROUND_OFF, MAX_IMPACTS_AT_ONCE, Phase, Rows, has_parabolas, rows_of
from jostle.events.smooth import SmoothRun
from jostle.events.solution import Accumulation, Event, EventSolution, Flight
from jostle.laws import impact
from jostle.problems import Motion
from jostle.result.status import FAILED, FINISHED
from jostle.run.steps import Span, start_and_end
from jostle.sets.contacts import check_start
from jostle.solvers.dual_active_set import ActiveSet

# The first time at which a polynomial gap becomes negative, to round-off.
#
# Up to degree 2 the root is a formula without cancellation. For higher degrees the roots of the derivatives cut the
# time into intervals on which the polynomial is monotone, so that no crossing is missed; each crossing is found by
# bisection.


BOUND_ROUND_OFF = 1e-9
"""Fraction of its constant term by which the bound of a polynomial is lowered, so that round-off never lifts it."""
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


SLOWEST = 64 * float(np.finfo(float).eps)
"""Gap rates below this fraction of the largest velocity so far, and gaps below this fraction of the largest coordinates
so far that they are differences of, count as zero."""


@check_arguments
def solve_by_events(problem: Motion, *, t: Span, max_events: Count = 100_000) -> EventSolution:
    """Integrate the motion of few bodies from impact to impact, without time steps.

    Under a constant force, with one mass per body or coordinate, inside a set at rest made of `HalfSpace`, `Box`,
    `Balls` and `Line`, the motion consists of parabolas and impact times are exact to round-off. Balls that stay in
    contact while they move along each other do not follow parabolas; they are an `UnresolvedEvent`.

    Other forces f(t, q, u), masses M(q), walls that move, `Outside`, `Inside`, `Rods` and `@constraints`
    are integrated to about 1e-10 (Runge-Kutta of order 8 with a relative error of 1e-12 per step), to about 1e-8 where
    contacts or equalities without ``gradient=`` hold. They must be smooth between impacts, also a little before the
    start and after the end. Walls that move are sampled at 2000 times; a contact that closes and opens again between
    two of them can be missed.

    Rods and other equalities hold at all times. They have no restitution, and impacts do not list them.

    Each event costs time in proportion to the number of pairs of bodies.

    A start velocity that points out of the set is an impact at the start. The part of v0 that violates equalities is
    lost before, without an impact. Overlaps of q0 that count as round-off are removed.

    Impacts that accumulate are computed one by one until their limit is near (1e-8 of their longest flight), or the
    bounces that are left are as low as round-off. The limit is in `accumulations`; in the short time before it the
    contacts are taken as closed. Sequences in which more than
    six impacts take turns, or that have no period, end where gap rates are round-off (1.4e-14 of the largest velocity
    so far), and are not listed.

    Parameters
    ----------
    problem : Motion
        The motion of at most 200 bodies, whose law has one number e.
    t : float or pair of float
        End time; the motion starts at time 0. A pair (t0, t1): start and end time.
    max_events : int, default 100000
        Largest number of events.

    Returns
    -------
    EventSolution
        Positions and velocities as functions of time, with `events` and `accumulations`.

    Raises
    ------
    SchemeRefuses
        If the problem has more than 200 bodies, a law without one number e, or anything else that is not
        supported.
    InfeasibleStart
        If q0 is not in the admissible set, or violates an equality.
    UnresolvedEvent
        If an event cannot be computed safely, or there are more than `max_events` events; ``error.solution`` holds the
        motion until then.

    Examples
    --------
    >>> import jostle as jo
    >>> ball = jo.Motion(q0=[1.25], force=[-10.0], within=jo.HalfSpace([1.0]), law=jo.Restitution(0.5))
    >>> sol = jo.solve_by_events(ball, t=2.0)
    >>> [event.t for event in sol.events[:3]], [round(limit.t, 12) for limit in sol.accumulations]
    ([0.5, 1.0, 1.25], [1.5])
    >>> sol.q([0.75, 1.125, 2.0]).ravel().round(12).tolist()
    [0.3125, 0.078125, 0.0]
    >>> jo.solve_by_events(jo.models.double_pendulum(), t=1.0).events[0].t.__round__(10)
    0.4565225691
    >>> rod = jo.Rods([(0, -1)], 1.0, points=[[0.0, 0.0]])
    >>> pendulum = jo.solve_by_events(jo.Motion(q0=[[0.0, -1.0]], v0=[[1.0, 0.0]], within=rod), t=np.pi / 6.0)
    >>> pendulum.q(np.pi / 6.0).round(10).tolist()
    [[0.5, -0.8660254038]]
    """
    return integrated(problem, t, int(max_events)).solution(FINISHED)


def integrated(problem: Motion, t: Span, max_events: int) -> _Run | SmoothRun:
    """The finished integration of a motion, with its flights; errors carry the solution until then."""
    if not isinstance(problem, Motion):
        raise InvalidValue(f"problem must be a jo.Motion, not {problem!r}")
    start, end = start_and_end(t)
    if end == start:
        raise InvalidValue(f"t must be a time after the start {start:g}, not {end:g}")
    run = (_Run if has_parabolas(problem) else SmoothRun)(problem, start, end, max_events)
    try:
        run.integrate()
    except UnresolvedEvent as error:
        error.time, error.solution = run.t, run.solution(FAILED)
        raise
    except NotConverged as error:
        unresolved = UnresolvedEvent(f"t = {run.t:.15g}: the impact or the contact forces cannot be computed: {error}")
        unresolved.time, unresolved.solution = run.t, run.solution(FAILED)
        raise unresolved from error
    return run


class _Run:
    """The state of an integration: time, flat positions and velocities, closed rows, and what is recorded."""

    def __init__(self, problem: Motion, start: float, end: float, max_events: int):
        self.problem, self.start, self.end, self.max_events = problem, start, end, max_events
        self.rows: Rows = rows_of(problem)
        self.free = problem.acceleration(start, problem.q0, problem.v0).ravel()
        self.t, self.x, self.u = start, problem.q0.ravel().copy(), problem.v0.ravel().copy()
        self.fastest = 0.0
        self.sizes = self._sizes(np.abs(self.u))
        self.reach: Array = np.zeros(self.x.size)
        """(N,) the largest lengths so far whose round-off is in the coordinates."""
        self.gap, self.noise, self.closed = self._start()
        self.kept: Integers = np.zeros(0, dtype=np.int64)
        self.flight = 0.0
        self.history: list[RecentImpact] = []
        self.events: list[Event] = []
        self.accumulations: list[Accumulation] = []
        self.flights: list[Flight] = []
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
        return EVENT_ROUND_OFF * self.rows.lengths(terms + held + SLOWEST / EVENT_ROUND_OFF * self.reach)

    def solution(self, status: str) -> EventSolution:
        end = self.end if status == FINISHED else self.t
        parabolas = np.array(self.parabolas or [np.array([self.x, self.u, np.zeros(self.x.size)])])
        events, accumulations = tuple(self.events), tuple(self.accumulations)
        return EventSolution(
            self.problem, events, accumulations, end, status, np.array(self.starts or [self.start]), parabolas
        )

    def integrate(self) -> None:
        for _ in range(self.max_events):
            self._close()
            before, resting = self.u, self._impacts()
            phase = self.rows.phase(self.t, self.x, self.u, self.sizes, self.free, self.closed, resting)
            self.starts.append(self.t)
            self.parabolas.append(np.array([self.x, phase.u, phase.a]))
            counts = len(self.events), len(self.accumulations)
            self.flights.append(Flight(self.t, self.x, before, phase.u, self.closed, phase.kept, *counts))
            if not self._fly(phase):
                return
        raise UnresolvedEvent(
            f"t = {self.t:.15g}: more than {self.max_events} events; raise max_events, or use jo.solve with a scheme"
        )

    def _close(self) -> None:
        """Make the gaps of the closed rows zero, and those of all rows that this closes."""
        # The round-off of each coordinate is handed on to the coordinates that are moved.
        closed = self.closed[:0]
        while len(closed) < len(self.closed):
            closed = self.closed
            self.x = self.rows.onto(self.x, closed)
            self.closed = np.union1d(closed, np.flatnonzero(self.rows.gaps(self.x) <= 0.0))
        self.reach = np.maximum(self.reach, self.rows.moved(self.x, self.closed, self.reach))

    def _start(self) -> tuple[Array, Array, Integers]:
        """Gaps at the start, their round-off, and which rows are closed."""
        contacts = self.problem.within.linearise(0.0, self.problem.q0)
        gap, noise = self.rows.gaps(self.x), self._noise(np.abs(self.x), np.zeros(self.x.size))
        if (gap < -np.maximum(contacts.tolerance(), noise)).any():
            check_start(self.problem.within.linearise(0.0, self.problem.q0, 0.0))
            row = int(np.argmin(gap))
            raise InfeasibleStart(f"q0 is not admissible: the gap of {self.rows.describe(row)} is {gap[row]:.2e}")
        return gap, noise, np.flatnonzero(gap <= noise)

    def _fly(self, phase: Phase) -> bool:
        """Move to the next event; False if the end comes first."""
        crossing = first_of(phase.polynomials, self.end - self.t)
        if crossing is None:
            self.t = self.end
            return False
        first, s = phase.rows[crossing[0]], crossing[1]
        terms = np.abs(self.x) + np.abs(phase.u * s) + np.abs(0.5 * phase.a * s * s)
        held = self.rows.moved(self.x, phase.kept, self.sizes * s + 0.5 * np.abs(self.free) * s * s)
        self.t, self.flight = self.t + s, self.flight + s
        self.x = self.x + s * phase.u + 0.5 * s * s * phase.a
        self.sizes = self._sizes(np.abs(phase.u) + np.abs(phase.a * s))
        self.u, self.kept = phase.u + s * phase.a, phase.kept
        gap, noise = self.rows.gaps(self.x), self._noise(terms, held)
        wrong = gap < -noise
        wrong[first] = abs(gap[first]) > noise[first]
        if wrong.any():
            row = int(np.argmax(wrong))
            raise UnresolvedEvent(f"t = {self.t:.15g}: gap {gap[row]:.2e} at an impact, in {self.rows.describe(row)}")
        self.gap, self.noise, self.closed = gap, noise, np.union1d(np.flatnonzero(gap <= noise), self.kept)
        return True

    def _impacts(self) -> Booleans:
        """Apply the law to all closed contacts that do not separate, until none approaches; return which ones rest."""
        impacts = len(self.events)
        for _ in range(MAX_IMPACTS_AT_ONCE):
            G = self.rows.gradients(self.x, self.closed)
            rate, noise = G @ self.u, EVENT_ROUND_OFF * (np.abs(G) @ self.sizes)
            resting, stays = np.abs(rate) <= noise, rate <= noise
            if not (rate < -noise).any():
                if len(self.events) > impacts and self._accumulate(self.closed[resting]):
                    continue
                return resting
            before = self.rows.equalise(self.u, G[resting], np.zeros(int(resting.sum())))
            hit = impact(before, Cone(G[stays]), law=self.problem.law, mass=self.rows.metric, solver=ActiveSet())
            pushed = hit.impulse > 0.0
            rows, impulse = self.closed[stays][pushed], hit.impulse[pushed]
            rates = np.array([G[stays][pushed] @ v for v in (before, hit.velocity)])
            self._record(before, hit.velocity, rows, impulse, rates)
            remember(self.history, tuple(rows.tolist()), self.flight, float(-rate.min()), self.gap, self.noise)
            moved = np.abs(hit.velocity - before)
            self.u, self.flight = hit.velocity, 0.0
            self.sizes = np.maximum(self.sizes, np.abs(self.u)) + np.where(moved > 0.0, moved.max(), 0.0)
        raise UnresolvedEvent(f"t = {self.t:.15g}: {MAX_IMPACTS_AT_ONCE} impacts at once do not end; perturb q0 or v0")

    def _record(self, before: Array, after: Array, rows: Integers, impulse: Array, rates: Array) -> None:
        shape = self.problem.q0.shape
        self.events.append(
            Event(self.t, self.rows.pairs[rows], before.reshape(shape), after.reshape(shape), impulse.copy(), rates)
        )

    def _accumulate(self, at_rest: Integers) -> bool:
        """Close the contacts whose impacts accumulate now, and all that the limit closes; return whether any do."""
        found = limit_of(self.history, at_rest)
        if found is None or (self.t + found.remaining > self.end and found.remaining > EVENT_ROUND_OFF * self.end):
            return False
        error = max(found.error, EVENT_ROUND_OFF * self.t)
        self.accumulations.append(Accumulation(self.t + found.remaining, error, self.rows.pairs[found.rows]))
        at_rest = np.union1d(at_rest, found.rows)
        self.closed = np.union1d(self.closed, found.rows)
        self._close()
        self.u = self.rows.equalise(self.u, self.rows.gradients(self.x, at_rest), np.zeros(len(at_rest)))
        self.history.clear()
        return True
