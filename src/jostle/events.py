"""Event-driven integration of few bodies: from impact to impact, without time steps.

Between two events the accelerations are constant and the motion is a parabola. The time of the next impact is a root of
a polynomial, found to round-off. All closed contacts that do not separate take part in Moreau's law together. Contacts
with gap rate 0 stay closed where the force presses them, and the acceleration is projected on what they admit.
With e < 1 infinitely many impacts can happen in a finite time. Their limit is computed from the geometric sequence
of the flight times, and the motion goes on from there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from jostle.arguments import Count, Positive, check_arguments
from jostle.arrays import Array, Booleans, Integers, finite
from jostle.convex.polyhedron import Cone
from jostle.errors import InfeasibleStart, InvalidValue, NotConverged, UnresolvedEvent
from jostle.event_contacts import ROUND_OFF, Phase, Rows, rows_of
from jostle.laws import impact
from jostle.polynomials import first_crossing
from jostle.problems import Motion
from jostle.solution import FAILED, FINISHED, MESSAGES
from jostle.solvers.dual_active_set import ActiveSet

MAX_IMPACTS_AT_ONCE = 1000
"""Largest number of impacts that may follow each other at the same time."""
MAX_PERIOD = 6
"""Longest sequence of contacts whose repetition is recognised as an accumulation of impacts."""
STEADY, STEADY_LONG = 1e-6, 1e-2
"""Largest change of the ratio of successive flight times, over 1 - ratio, in an accumulation of impacts: of one
contact, where the sequence is geometric, and of several in turn, where it becomes so."""
REMAINING = 1e-8
"""Impacts are no longer computed one by one where their limit is nearer than this fraction of their longest flight."""
SLOWEST = 64 * float(np.finfo(float).eps)
"""Gap rates below this part of the largest velocity so far count as zero."""
TIGHT = 100.0
"""Impacts of several contacts in turn are no longer computed one by one where all their gaps are below this multiple of
the round-off."""
MAX_PRINTED = 40
"""Largest number of impacts that are printed."""


@dataclass(frozen=True, eq=False)
class Event:
    """One impact, of all contacts that have an impulse at that time."""

    t: float
    pairs: Integers
    """(k, 2): (i, j) two bodies, (i, -1 - w) body i and wall w."""
    before: Array
    """Velocity before, in the shape of q0."""
    after: Array
    """Velocity after, in the shape of q0."""
    impulse: Array
    """(k,) impulse of each contact."""


@dataclass(frozen=True, eq=False)
class Accumulation:
    """The end of infinitely many impacts: from t on the contacts stay closed, with gap rate 0."""

    t: float
    error: float
    """Estimated error of t."""
    pairs: Integers
    """(k, 2) the contacts, as in `Event`."""


@dataclass(frozen=True, eq=False, repr=False)
class EventSolution:
    """The result of `solve_by_events`: the impacts, and the motion as a sequence of parabolas.

    >>> import jostle as jo
    >>> ball = jo.Motion(q0=[1.25], force=[-10.0], within=jo.HalfSpace([1.0]), law=jo.Restitution(0.5))
    >>> print(jo.solve_by_events(ball, t=1.1))
    2 impacts until t = 1.1, finished: reached the end time
                     t  impulse by contact
                   0.5  0 - wall 0: 7.5
                     1  0 - wall 0: 3.75
    """

    problem: Motion
    events: tuple[Event, ...]
    accumulations: tuple[Accumulation, ...]
    end: float
    status: str
    starts: Array
    """(k,) start times of the parabolas."""
    parabolas: Array
    """(k, 3, N) position, velocity and acceleration at these times."""

    def q(self, t: ArrayLike) -> Array:
        """Positions at one time or an array of times: the shape of t, then that of q0."""
        s, (x, u, a) = self._at(t)
        positions: Array = x + s * u + 0.5 * s * s * a
        return positions.reshape(np.shape(t) + self.problem.q0.shape)

    def u(self, t: ArrayLike) -> Array:
        """Velocities at one time or an array of times, those after the impact at the time of an impact."""
        s, (_, u, a) = self._at(t)
        velocities: Array = u + s * a
        return velocities.reshape(np.shape(t) + self.problem.q0.shape)

    def _at(self, t: ArrayLike) -> tuple[Array, Array]:
        """Time since the start of the parabola, and the parabola, for each time."""
        times = finite(t, "t").ravel()
        if ((times < 0.0) | (times > self.end)).any():
            raise InvalidValue(f"t must lie in [0, {self.end:g}], the times of the solution")
        k = np.searchsorted(self.starts, times, side="right") - 1
        return (times - self.starts[k])[:, None], np.moveaxis(self.parabolas[k], 1, 0)

    def __repr__(self) -> str:
        more = f", {len(self.accumulations)} accumulations" if self.accumulations else ""
        return f"EventSolution({len(self.events)} impacts{more}, t = 0 to {self.end:g}, {self.status})"

    def __str__(self) -> str:
        n = len(self.events)
        lines = [f"{n} impact{'s' * (n != 1)} until t = {self.end:g}, {self.status}: {MESSAGES[self.status]}"]
        lines += [f"{'t':>18s}  impulse by contact"] if n else []
        for event in self.events[:MAX_PRINTED]:
            each = (f"{_name(i, j)}: {p:.6g}" for (i, j), p in zip(event.pairs.tolist(), event.impulse, strict=True))
            lines.append(f"{event.t:18.12g}  {', '.join(each)}")
        lines += [f"{'...':>18s}  {n - MAX_PRINTED} more impacts"] if n > MAX_PRINTED else []
        for limit in self.accumulations:
            names = ", ".join(_name(i, j) for i, j in limit.pairs.tolist())
            lines.append(f"{limit.t:18.12g}  accumulation of impacts: {names}")
        return "\n".join(lines)


def _name(i: int, j: int) -> str:
    return f"{i} - {j}" if j >= 0 else f"{i} - wall {-1 - j}"


@check_arguments
def solve_by_events(problem: Motion, *, t: Positive, max_events: Count = 100_000) -> EventSolution:
    """Integrate the motion of few bodies from 0 to t without time steps: impact times are found to round-off.

    The problem must have a constant force, one mass per body or coordinate, `Restitution(e)`, at most 20 bodies, and a
    set at rest made of `HalfSpace`, `Box`, `Balls` and `Line`; others are refused (`SchemeRefuses`). A start velocity
    that points out of the set is an impact at t = 0. Overlaps of q0 that count as round-off are removed.

    Balls that stay in contact while they move along each other do not follow parabolas; this and every other event that
    cannot be computed safely is an `UnresolvedEvent`. So are more than `max_events` events.

    Impacts that accumulate are computed one by one until their limit is near (1e-8 of their longest flight). The limit
    is in `accumulations`; in the short time before it the contacts are taken as closed. Sequences in which more than
    six impacts take turns, or that have no period, end where gap rates are round-off (1.4e-14 of the largest velocity
    so far), and are not listed.

    >>> import jostle as jo
    >>> ball = jo.Motion(q0=[1.25], force=[-10.0], within=jo.HalfSpace([1.0]), law=jo.Restitution(0.5))
    >>> sol = jo.solve_by_events(ball, t=2.0)
    >>> [event.t for event in sol.events[:3]], [round(limit.t, 12) for limit in sol.accumulations]
    ([0.5, 1.0, 1.25], [1.5])
    >>> sol.q([0.75, 1.125, 2.0]).ravel().round(12).tolist()
    [0.3125, 0.078125, 0.0]
    """
    if not isinstance(problem, Motion):
        raise InvalidValue(f"problem must be a jo.Motion, not {problem!r}")
    run = _Run(problem, float(t), int(max_events))
    try:
        run.integrate()
    except UnresolvedEvent as error:
        error.time, error.solution = run.t, run.solution(FAILED)
        raise
    except NotConverged as error:
        unresolved = UnresolvedEvent(f"t = {run.t:.15g}: the impact or the contact forces cannot be computed: {error}")
        unresolved.time, unresolved.solution = run.t, run.solution(FAILED)
        raise unresolved from error
    return run.solution(FINISHED)


class _Impact(NamedTuple):
    """What the recognition of accumulations needs to know of an impact."""

    rows: tuple[int, ...]
    flight: float
    """Time since the impact before."""
    speed: float
    """Largest rate at which a gap closed."""
    longest: float
    """Longest flight in the sequence of impacts of the same few contacts."""
    gap: Array
    """(m,) gaps at the impact."""
    noise: Array
    """(m,) round-off of the gaps."""


class _Limit(NamedTuple):
    """Where impacts accumulate."""

    remaining: float
    """Time from the last impact to the limit."""
    error: float
    rows: Integers


class _Run:
    """The state of an integration: time, flat positions and velocities, closed rows, and what is recorded."""

    def __init__(self, problem: Motion, end: float, max_events: int):
        self.problem, self.end, self.max_events = problem, end, max_events
        self.rows: Rows = rows_of(problem)
        self.free = problem.acceleration(0.0, problem.q0, problem.v0).ravel()
        self.t, self.x, self.u = 0.0, problem.q0.ravel().copy(), problem.v0.ravel().copy()
        self.fastest = 0.0
        self.sizes = self._sizes(np.abs(self.u))
        self.gap, self.noise, self.closed = self._start()
        self.kept: Integers = np.zeros(0, dtype=np.int64)
        self.flight = 0.0
        self.history: list[_Impact] = []
        self.events: list[Event] = []
        self.accumulations: list[Accumulation] = []
        self.starts: list[float] = []
        self.parabolas: list[Array] = []

    def _sizes(self, sizes: Array) -> Array:
        """(N,) the velocities that say how large the round-off of u is: those that u was computed from, and a part of
        the largest velocity so far."""
        self.fastest = max(self.fastest, float(sizes.max(initial=0.0)))
        return sizes + SLOWEST / ROUND_OFF * self.fastest

    def solution(self, status: str) -> EventSolution:
        end = self.end if status == FINISHED else self.t
        parabolas = np.array(self.parabolas or [np.array([self.x, self.u, np.zeros(self.x.size)])])
        events, accumulations = tuple(self.events), tuple(self.accumulations)
        return EventSolution(
            self.problem, events, accumulations, end, status, np.array(self.starts or [0.0]), parabolas
        )

    def integrate(self) -> None:
        for _ in range(self.max_events):
            self.x = self.rows.onto(self.x, self.closed)
            resting = self._impacts()
            phase = self.rows.phase(self.t, self.x, self.u, self.sizes, self.free, self.closed, resting)
            self.starts.append(self.t)
            self.parabolas.append(np.array([self.x, phase.u, phase.a]))
            if not self._fly(phase):
                return
        raise UnresolvedEvent(
            f"t = {self.t:.15g}: more than {self.max_events} events; raise max_events, or use jo.solve with a scheme"
        )

    def _start(self) -> tuple[Array, Array, Integers]:
        """Gaps at the start, their round-off, and which rows are closed."""
        contacts = self.problem.within.linearise(0.0, self.problem.q0)
        gap, noise = self.rows.gaps(self.x), self.rows.noise(np.abs(self.x))
        if (gap < -np.maximum(contacts.tolerance(), noise)).any():
            self.problem.within.check_start(0.0, self.problem.q0)
            row = int(np.argmin(gap))
            raise InfeasibleStart(f"q0 is not admissible: gap {gap[row]:.2e}: {self.rows.describe(row)}")
        return gap, noise, np.flatnonzero(gap <= noise)

    def _fly(self, phase: Phase) -> bool:
        """Move to the next event; False if the end comes first."""
        left, first, s = self.end - self.t, -1, np.inf
        for row, c in phase.polynomials:
            crossing = first_crossing(c, min(left, s))
            if crossing is not None and crossing < s:
                first, s = row, crossing
        if first < 0:
            self.t = self.end
            return False
        terms = np.abs(self.x) + np.abs(phase.u * s) + np.abs(0.5 * phase.a * s * s)
        self.t, self.flight = self.t + s, self.flight + s
        self.x = self.x + s * phase.u + 0.5 * s * s * phase.a
        self.sizes = self._sizes(np.abs(phase.u) + np.abs(phase.a * s))
        self.u, self.kept = phase.u + s * phase.a, phase.kept
        gap, noise = self.rows.gaps(self.x), self.rows.noise(terms)
        wrong = gap < -noise
        wrong[first] = abs(gap[first]) > noise[first]
        if wrong.any():
            row = int(np.argmax(wrong))
            raise UnresolvedEvent(f"t = {self.t:.15g}: gap {gap[row]:.2e} at an impact, in {self.rows.describe(row)}")
        self.gap, self.noise, self.closed = gap, noise, np.union1d(np.flatnonzero(gap <= noise), self.kept)
        return True

    def _impacts(self) -> Booleans:
        """Apply the law to all closed contacts that do not separate, until none approaches; which of them rest?"""
        G, impacts = self.rows.gradients(self.x), len(self.events)
        for _ in range(MAX_IMPACTS_AT_ONCE):
            rate, noise = G[self.closed] @ self.u, ROUND_OFF * (np.abs(G[self.closed]) @ self.sizes)
            resting, cone = np.abs(rate) <= noise, self.closed[rate <= noise]
            if not (rate < -noise).any():
                return self._accumulate(resting) if len(self.events) > impacts else resting
            before = self.rows.equalise(self.u, G[self.closed[resting]], np.zeros(int(resting.sum())))
            hit = impact(before, Cone(G[cone]), law=self.problem.law, mass=self.rows.metric, solver=ActiveSet())
            rows, impulse = cone[hit.impulse > 0.0], hit.impulse[hit.impulse > 0.0]
            self._record(before, hit.velocity, rows, impulse)
            self._remember(tuple(rows.tolist()), float(-rate.min()))
            moved = np.abs(hit.velocity - before)
            self.u, self.flight = hit.velocity, 0.0
            self.sizes = np.maximum(self.sizes, np.abs(self.u)) + np.where(moved > 0.0, moved.max(), 0.0)
        raise UnresolvedEvent(f"t = {self.t:.15g}: {MAX_IMPACTS_AT_ONCE} impacts at once do not end; perturb q0 or v0")

    def _remember(self, rows: tuple[int, ...], speed: float) -> None:
        """Append an impact to the history in which accumulations are recognised."""
        recent = self.history[-MAX_PERIOD:]
        again = any(one.rows == rows for one in recent)
        longest = max(recent[-1].longest, self.flight) if again else self.flight
        self.history.append(_Impact(rows, self.flight, speed, longest, self.gap, self.noise))
        if len(self.history) > 6 * MAX_PERIOD:
            del self.history[: 3 * MAX_PERIOD]

    def _record(self, before: Array, after: Array, rows: Integers, impulse: Array) -> None:
        shape = self.problem.q0.shape
        self.events.append(
            Event(self.t, self.rows.pairs[rows], before.reshape(shape), after.reshape(shape), impulse.copy())
        )

    def _accumulate(self, resting: Booleans) -> Booleans:
        """Close the contacts whose impacts accumulate now; which of the closed rows rest?"""
        found = _limit(self.history)
        if found is None or (self.t + found.remaining > self.end and found.remaining > ROUND_OFF * self.end):
            return resting
        at_rest = np.union1d(self.closed[resting], found.rows)
        if found.remaining == 0.0 and len(at_rest) > resting.sum():
            return resting
        error = max(found.error, ROUND_OFF * self.t)
        self.accumulations.append(Accumulation(self.t + found.remaining, error, self.rows.pairs[found.rows]))
        self.closed = np.union1d(self.closed, found.rows)
        self.x = self.rows.onto(self.x, self.closed)
        self.u = self.rows.equalise(self.u, self.rows.gradients(self.x)[at_rest], np.zeros(len(at_rest)))
        self.history.clear()
        return np.isin(self.closed, at_rest)


def _limit(history: Sequence[_Impact]) -> _Limit | None:
    """Where the impacts accumulate; None if they do not, or if the limit is still far.

    The time that remains is 0 where the last impacts follow each other faster than round-off can tell.

    >>> halved = [_Impact((0,), 0.5**k, 0.5**k, 1.0, np.zeros(1), np.zeros(1)) for k in range(40)]
    >>> _limit(halved[:9]) is None, _limit(halved).remaining == 0.5**39
    (True, True)
    """
    for period in range(1, min(MAX_PERIOD, len(history) // 3) + 1):
        last = history[-3 * period :]
        repeats = all(last[k].rows == last[k + period].rows for k in range(2 * period))
        if not (repeats and all(last[k].speed > last[k + period].speed for k in range(2 * period))):
            continue
        rows = np.unique([row for one in last for row in one.rows])
        T1, T2, T3 = (sum(one.flight for one in last[k * period : (k + 1) * period]) for k in range(3))
        if T3 == 0.0:
            return _Limit(0.0, T1 + T2, rows)
        if not T3 < T2 < T1:
            continue
        ratio, change = T3 / T2, abs(T3 / T2 - T2 / T1)
        found = _Limit(T3 * ratio / (1.0 - ratio), T3 * change / (1.0 - ratio) ** 2, rows)
        end = last[-1]
        low = end.speed * found.remaining <= end.noise[rows].min()  # the bounces that are left are round-off
        near = low or found.remaining <= REMAINING * end.longest
        in_turn = len({one.rows for one in last}) > 1
        if near and change <= (STEADY_LONG if in_turn else STEADY) * (1.0 - ratio):
            return found
        if in_turn and (end.gap[rows] <= TIGHT * end.noise[rows]).all():
            return found
    return None
