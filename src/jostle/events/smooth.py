"""Event-driven integration under smooth forces, with masses M(q) and walls that move.

Between two events M(q) q'' = f(t, q, q') + G^T lambda is integrated to a relative error of 1e-12 a step, where lambda
is such that the contacts that stay closed do so; after each step, q and q' are projected on g = 0 and on gap rates 0.
The next event is the first at which a gap closes or a contact force vanishes. Impacts obey Moreau's law for the gap
rates G u + dg/dt, so that a wall that moves hits as well: with K = {v : G v + dg/dt >= 0} of all closed contacts that
do not separate, u+ = (1 + e) P_K u- - e u-.

Rods and other equalities are contacts that are always closed: lambda has either sign, and G v + dg/dt = 0 in K.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from jostle._tools.arrays import Array, Booleans, Integers
from jostle._tools.smooth_paths import Piece, follow
from jostle.convex.metric import Metric
from jostle.convex.polyhedron import Polyhedron
from jostle.errors import UnresolvedEvent
from jostle.events.accumulations import Limit, limit_of, remember
from jostle.events.run import EVENT_ROUND_OFF, MAX_IMPACTS_AT_ONCE, EventRun, check_supported, number_of_bodies, refuse
from jostle.events.solution import EventSolution
from jostle.laws import reflected
from jostle.problems import Motion
from jostle.result.status import FINISHED
from jostle.sets.balls import Balls, Line
from jostle.sets.base import Free, parts
from jostle.sets.contacts import Contacts
from jostle.sets.rods import Rods
from jostle.sets.user import UserSet, differences_of
from jostle.sets.walls import Box, HalfSpace, Inside, Outside
from jostle.solvers.dual_active_set import ActiveSet
from jostle.solvers.project import project

# Derivatives of smooth functions of one variable, by central differences extrapolated to step zero (Richardson 1911).
#
# The differences with the steps h, h/2, h/4 and h/8 have errors in powers of h^2, of which the first three are removed.
# `best_step` chooses h. Along a motion h is chosen once, so that the error that is left is a smooth function as well.


HALVINGS = 3
"""Number of times that a step is halved for one derivative."""
STEPS = 12
"""Number of steps, each half as long as the one before, among which the best one is chosen."""

Function = Callable[[float], Array]
Differences = Callable[[Function, list[float]], list[Array]]


class Step(NamedTuple):
    """The step of a derivative, the error that it has there, and the derivative."""

    h: float
    error: Array
    value: Array


def first_differences(f: Function, steps: list[float]) -> list[Array]:
    """(f(h) - f(-h)) / 2h for each step h."""
    return [(f(h) - f(-h)) / (2.0 * h) for h in steps]


def second_differences(f: Function, steps: list[float]) -> list[Array]:
    """(f(h) - 2 f(0) + f(-h)) / h^2 for each step h."""
    middle = f(0.0)
    return [((f(h) - middle) + (f(-h) - middle)) / (h * h) for h in steps]


def extrapolated(differences: Differences, f: Function, h: float) -> Array:
    """f'(0) or f''(0) by differences with steps from h down to h / 8.

    >>> float(extrapolated(first_differences, lambda s: np.array([np.exp(s)]), 0.1)[0].round(13))
    1.0
    """
    return _at_zero(differences(f, _halved(h, HALVINGS + 1)))


def best_step(differences: Differences, f: Function, longest: float) -> Step:
    """The step of at most `longest` whose derivative differs least from that of half the step.

    >>> step = best_step(second_differences, lambda s: np.array([np.cos(s)]), 10.0)
    >>> 0.01 < step.h < 2.0, step.error[0] < 1e-10, abs(step.value[0] + 1.0) < 1e-10
    (True, np.True_, np.True_)
    """
    steps = _halved(longest, STEPS + HALVINGS)
    all_of_them = differences(f, steps)
    found = [_at_zero(all_of_them[k : k + HALVINGS + 1]) for k in range(STEPS)]
    changes = [np.abs(one - other) for one, other in pairwise(found)]
    best = int(np.argmin([change.max(initial=0.0) for change in changes]))
    return Step(steps[best], changes[best], found[best])


def _halved(h: float, count: int) -> list[float]:
    """h, h / 2, h / 4, ..."""
    return [h * 0.5**k for k in range(count)]


def _at_zero(row: list[Array]) -> Array:
    """Differences with steps of which each is half the one before, extrapolated to step zero."""
    for power in range(1, HALVINGS + 1):
        row = [fine + (fine - coarse) / (4.0**power - 1.0) for coarse, fine in pairwise(row)]
    return row[0]


# The contacts of few bodies under smooth forces: gaps, their rates and second derivatives along a motion.
#
# The gap rate is G u + dg/dt. A contact that stays closed has G a + b = 0, where b is the second derivative of
# g(t + s, q + s u) in s at s = 0: curvature of the wall, its turning and its acceleration. Both dg/dt and b are
# differences of the gaps, extrapolated to step zero, where they are not known to vanish.


LONGEST_DIFFERENCE = 0.05
"""Longest step of differences in time, as a fraction of the time that is integrated."""
LONGEST_MOVE = 0.05
"""Longest step of differences along a motion, as a fraction of the lengths whose differences are the gaps."""
SMOOTH_SETS = (HalfSpace, Box, Balls, Line, Outside, Inside, Rods, UserSet, Free)
"""Sets whose gaps are smooth functions of time and place, one row for each contact at all times."""


class Rates(NamedTuple):
    """Gap rates and how large their round-off is."""

    rate: Array
    noise: Array


class SmoothContacts:
    """All contacts that few bodies can have, as smooth functions of time and place."""

    def __init__(self, problem: Motion, t: float, end: float):
        check_supported(problem)
        names = [each.__name__ for each in SMOOTH_SETS if each not in (UserSet, Free)]
        for part in parts(problem.within):
            if type(part) not in SMOOTH_SETS:
                refuse(f"sets other than {', '.join(names)} and @constraints, as {part!r}")
        self.problem, self.within, self.shape = problem, problem.within, problem.q0.shape
        start = self.within.linearise(t, problem.q0)
        number_of_bodies(problem, start)
        self.pairs, self.describe = start.pairs, start.describe
        self.equal: Booleans = np.zeros(len(start.gap), dtype=bool) if start.equal is None else start.equal
        self.still = self.within.moving is False
        self.flat = self.within.flat
        self.by_gradients = self.still and not differences_of(self.within)
        self.longest = LONGEST_DIFFERENCE * (end - t)
        self.size = start.smallest_length() or float(self.sizes(start, problem.q0.ravel()).max(initial=0.0)) or 1.0

    def linearise(self, t: float, q: Array) -> Contacts:
        """Gaps and gradients at flat positions q."""
        contacts = self.within.linearise(t, q.reshape(self.shape))
        if len(contacts.pairs) != len(self.pairs) or not np.array_equal(contacts.pairs, self.pairs):
            raise UnresolvedEvent(
                f"t = {t:.15g}: the contacts are not the same, or not in the same order, as at the start"
            )
        return contacts

    def gaps(self, t: float, q: Array) -> Array:
        gap = self.within.gaps(t, q.reshape(self.shape))
        sound = len(gap) == len(self.pairs) and np.isfinite(gap).all()
        return gap if sound else self.linearise(t, q).gap  # which says what is wrong

    def sizes(self, contacts: Contacts, q: Array) -> Array:
        """(m,) the lengths that the gaps are differences of."""
        return np.asarray(np.abs(contacts.gap) + contacts.length + contacts.G.magnitude(np.abs(q)))

    def metric(self, q: Array) -> Metric:
        return self.problem.metric(q.reshape(self.shape))

    def acceleration(self, t: float, q: Array, u: Array) -> Array:
        """M^-1 f, without contact forces."""
        return self.problem.acceleration(t, q.reshape(self.shape), u.reshape(self.shape)).ravel()

    def drift(self, t: float, q: Array) -> Rates:
        """dg/dt at rest."""
        if self.still:
            nothing = np.zeros(len(self.pairs))
            return Rates(nothing, nothing)
        step = best_step(first_differences, lambda s: self.gaps(t + s, q), self.longest)
        return Rates(step.value, 4.0 * step.error)

    def rates(self, t: float, q: Array, u: Array, fastest: float) -> Rates:
        """G u + dg/dt; round-off is that of velocities of the size `fastest`."""
        G, drift = self.linearise(t, q).G, self.drift(t, q)
        noise = EVENT_ROUND_OFF * (G.magnitude(np.full(len(u), fastest)) + np.abs(drift.rate)) + drift.noise
        return Rates(G @ u + drift.rate, noise)

    def bend(self, t: float, q: Array, u: Array, rows: Integers, step: float) -> Array:
        """b: the second derivative of the gaps of some rows along q + s u, by differences of this step in s.

        Fast motions take shorter steps, so that they do not move further than a part of the lengths around.
        """
        if self.flat:
            if self.still:
                return np.zeros(len(rows))
            return extrapolated(second_differences, lambda s: self.gaps(t + s, q)[rows], step)
        fastest = float(np.linalg.norm(u)) / (LONGEST_MOVE * self.size)
        differences = first_differences if self.by_gradients else second_differences
        return extrapolated(differences, self._along(t, q, u, rows), step / (1.0 + step * fastest))

    def forced(self, t: float, q: Array, u: Array, kept: Integers, step: float) -> tuple[Array, Array]:
        """The acceleration with the forces that keep some rows closed, and these forces; `step` is that of `bend`."""
        a = self.acceleration(t, q, u)
        if len(kept) == 0:
            return a, np.zeros(0)
        G = self.linearise(t, q).G.toarray()[kept]
        return equalised(a, G, -self.bend(t, q, u, kept, step), self.metric(q))

    def bend_step(self, t: float, q: Array, rows: Integers) -> float:
        """The step in time that `bend` needs near here."""
        if self.still:
            return self.longest
        return best_step(second_differences, lambda s: self.gaps(t + s, q)[rows], self.longest).h

    def _along(self, t: float, q: Array, u: Array, rows: Integers) -> Function:
        """The gaps of some rows along q + s u, or their rates if these do not need differences."""
        if self.by_gradients:
            return lambda s: np.asarray(self.linearise(t, q + s * u).G @ u)[rows]
        return lambda s: self.gaps(t + s, q + s * u)[rows]


def equalised(v: Array, G: Array, wanted: Array, M: Metric) -> tuple[Array, Array]:
    """The vector nearest to v in the metric M with G v = wanted, and the multipliers p with M (v' - v) = G^T p."""
    if len(G) == 0:
        return v, np.zeros(0)
    white = M.whiten(G)
    p: Any = np.linalg.lstsq(white @ white.T, wanted - G @ v, rcond=None)[0]
    return v + M.solve(G.T @ p), p


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
LONGEST_STEP = 1.0 / 256.0
"""Longest integration step near moving walls, as a fraction of the time that is integrated."""
FIRST_TIME = 1e-3
"""Part of the time that is integrated after which a motion from rest has its first size."""


class SmoothRun(EventRun):
    """The integration of a motion under smooth forces, with masses M(q) and walls that move."""

    contacts: SmoothContacts

    def __init__(self, problem: Motion, start: float, end: float, max_events: int):
        super().__init__(problem, start, end, max_events)
        self.contacts = SmoothContacts(problem, start, end)
        self.fastest, self.strongest = float(np.abs(self.u).max(initial=0.0)), self._strongest_at_the_start()
        self.lengths: Array = np.zeros(0)
        """(m,) the largest lengths so far that the gaps are differences of."""
        self.closed = self._start()
        self.kept: Integers = np.flatnonzero(self.contacts.equal)
        """The rows that stayed closed in the last flight."""
        self.released: Integers = np.zeros(0, dtype=np.int64)
        self.pieces: list[Piece] = []
        self.origins: list[Array] = []

    def _strongest_at_the_start(self) -> float:
        """The largest acceleration of a body that stays where it starts: the size of the first motion from rest."""
        times = np.linspace(self.start, self.end, 17)
        return max(float(np.abs(self.contacts.acceleration(t, self.x, self.u)).max(initial=0.0)) for t in times)

    def solution(self, status: str) -> EventSolution:
        end = self.end if status == FINISHED else self.t
        pieces, origins = self.pieces, self.origins
        if not pieces:
            there = np.concatenate([np.zeros(len(self.x)), self.u])
            pieces, origins = [Piece(self.start, self.t, lambda t: there)], [self.x]
        starts = np.array([piece.start for piece in pieces])
        parabolas = np.zeros((len(pieces), 3, len(self.x)))
        parabolas[:, 0] = origins
        parabolas[:, 1] = [piece.y(piece.start)[len(self.x) :] for piece in pieces]
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
        G, drift, impacts, e = here.G.toarray(), self.contacts.drift(self.t, self.x).rate, len(self.events), self._e
        for _ in range(MAX_IMPACTS_AT_ONCE):
            found = self.contacts.rates(self.t, self.x, self.u, self.fastest)
            equal = self.contacts.equal[self.closed]
            rate, noise = np.where(equal, 0.0, found.rate[self.closed]), found.noise[self.closed]  # they are settled
            resting, rows = np.abs(rate) <= noise, self.closed[rate <= noise]
            if not (rate < -noise).any():
                return self._accumulate(resting) if len(self.events) > impacts else resting
            at_rest = self.closed[resting]
            before, _ = equalised(self.u, G[at_rest], -drift[at_rest], M)
            equal = self.contacts.equal[rows]
            K = Polyhedron(G[rows], np.where(equal, -G[rows] @ before, drift[rows]), equal=equal)
            P = project(before, K, mass=M, solver=ActiveSet())
            after, impulse = reflected(P.point, before, e), (1.0 + e) * P.multipliers
            pushing = (impulse > 0.0) & ~equal
            hit, impulse = rows[pushing], impulse[pushing]
            rates = np.array([G[hit] @ v + drift[hit] for v in (before, after)])
            self.record_impact(hit, before, after, impulse, rates)
            speed, noise = float(-rate.min()), EVENT_ROUND_OFF * self.lengths
            remember(self.history, tuple(hit.tolist()), self.flight, speed, here.gap, noise)
            self.u, self.flight = after, 0.0
            self.fastest = max(self.fastest, float(np.abs(after).max(initial=0.0)))
        raise self.endless_impacts()

    @property
    def _e(self) -> float:
        return float(self.problem.law.number)

    def _accumulate(self, resting: Booleans) -> Booleans:
        """Close the contacts whose impacts accumulate now; return which of the closed rows rest."""
        found = self._low_bounces() or limit_of(self.history, self.closed[resting])
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
        step = self.contacts.bend_step(self.t, self.x, resting)
        bend = self.contacts.bend(self.t, self.x, self.u, resting, step)
        self.strongest = max(self.strongest, float(np.abs(bend).max(initial=0.0)))
        small, equal = NO_FORCE * (np.abs(G) @ np.full(len(free), self.strongest)), self.contacts.equal[resting]
        M = self.contacts.metric(self.x)
        jointed, _ = equalised(free, G[equal], -bend[equal], M)
        bend[equal] = -G[equal] @ jointed  # rods that depend on each other agree to round-off
        found = project(free, Polyhedron(G, bend, equal=equal), mass=M, solver=ActiveSet())
        pressed: Integers = resting[equal | (G @ found.point + bend <= small)]
        return pressed

    def _fly(self, kept: Integers) -> bool:
        """Integrate to the next event; False if the end comes first."""
        n, origin, start = len(self.x), self.x, self.t
        others = np.setdiff1d(np.arange(len(self.contacts.pairs)), kept)
        loose = ~self.contacts.equal[kept]
        step = self.contacts.bend_step(self.t, self.x, kept) if len(kept) else 0.0

        def forced(t: float, y: Array) -> tuple[Array, Array]:
            return self.contacts.forced(t, origin + y[:n], y[n:], kept, step)

        def derivative(t: float, y: Array) -> Array:
            return np.concatenate([y[n:], forced(t, y)[0]])

        def watched(t: float, y: Array) -> Array:
            gaps = self.contacts.gaps(t, origin + y[:n])[others] if len(others) else np.zeros(0)
            return np.concatenate([gaps, forced(t, y)[1][loose] if loose.any() else np.zeros(0)])

        def corrected(t: float, y: Array) -> Array:
            self._check_smooth(t, origin + y[:n], y[n:], kept, step)
            x = self._onto(t, origin + y[:n], kept)
            return np.concatenate([x - origin, self._settled(t, x, y[n:], kept)])

        force = NO_FORCE * self.strongest * float(np.abs(self.contacts.metric(self.x).mass).max(initial=0.0))
        floor = np.concatenate([FLOOR * self.lengths[others], np.full(int(loose.sum()), force)])
        y = np.concatenate([np.zeros(n), self.u])
        longest = np.inf if self.contacts.still else LONGEST_STEP * (self.end - self.start)
        sizes, correct = self._tolerances(n), corrected if len(kept) else None
        path = follow(derivative, start, y, self.end, watched, floor, sizes, longest, correct)
        pieces = [piece for piece in path.pieces if piece.end > piece.start]
        self.pieces += pieces
        self.origins += [origin] * len(pieces)
        self.t, self.flight = float(path.t), self.flight + (path.t - start)
        self.x, self.u = origin + path.y[:n], path.y[n:]
        self.fastest = max(self.fastest, float(np.abs(self.u).max(initial=0.0)))
        if path.crossed is None:
            return False
        self._check_smooth(self.t, self.x, self.u, kept, step)
        middles = (np.abs(piece.y(0.5 * (piece.start + piece.end))[:n]) for piece in pieces)
        moved = np.max([np.zeros(n), *middles], axis=0)
        self._arrive(path.crossed, kept[loose], others, moved)
        return True

    def _check_smooth(self, t: float, x: Array, u: Array, kept: Integers, step: float) -> None:
        """Refuse contacts that stay closed at a kink of their gaps, where half the step gives another force."""
        if len(kept) == 0 or (self.contacts.still and self.contacts.flat):
            return
        one, other = (self.contacts.bend(t, x, u, kept, part * step) for part in (1.0, 0.5))
        change = np.abs(one - other)
        if change.max() > SMOOTH * self.strongest:
            named = self.contacts.describe(int(kept[np.argmax(change)]))
            raise UnresolvedEvent(
                f"t = {t:.15g}: the gap of {named} has a kink near here, such as that of a wall that stops or of "
                f"max(); events need smooth gaps: smooth it, or use jo.solve with a scheme"
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

    def _tolerances(self, n: int) -> Array:
        """(2 N,) the sizes of displacements and velocities below which errors are absolute."""
        time = FIRST_TIME * (self.end - self.start)
        speed, first = self.fastest, self.strongest * time
        if speed <= CLOSED * first:  # at rest so far, up to the error of the integration
            speed = first or 1.0
        return np.concatenate([np.full(n, speed * time), np.full(n, speed)])
