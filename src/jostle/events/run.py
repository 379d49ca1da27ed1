"""What both integrations from event to event share: which problems they take, and what they record."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from jostle._tools.arrays import Array, Booleans, Integers
from jostle.contacts import Contacts, check_start
from jostle.convex.metric import Metric
from jostle.convex.polyhedron import Polyhedron
from jostle.errors import InfeasibleStart, SchemeRefuses, UnresolvedEvent
from jostle.events.accumulations import Limit, RecentImpact
from jostle.events.solution import Accumulation, Event, EventSolution, Flight
from jostle.laws import Restitution, reflected
from jostle.problems import Motion, refuse_changes
from jostle.schemes.capabilities import remedy
from jostle.sets.balls import Balls
from jostle.sets.base import nearest_call, parts
from jostle.solvers.dual_active_set import ActiveSet
from jostle.solvers.project import project

MAX_BODIES = 200
"""Largest number of bodies that are integrated from event to event: all pairs of them are rows of a dense matrix."""
EVENT_ROUND_OFF = 256 * float(np.finfo(float).eps)
"""Gaps, gap rates and accelerations below this fraction of the numbers they are computed from count as zero."""
MAX_IMPACTS_AT_ONCE = 1000
"""Largest number of impacts that may follow each other at the same time."""


MAX_CHANGES_AT_ONCE = 1000
"""Largest number of times that contacts may be lost and closed without an impact at the same time."""


def check_supported(problem: Motion) -> None:
    """Refuse what event-driven integration cannot do, and say why."""
    if problem.bodies.turn:
        raise SchemeRefuses(f"solve_by_events has no spin, and the bodies turn; {remedy(problem)} with jo.solve")
    for part in parts(problem.within):
        if isinstance(part, Balls) and np.isfinite(part.period).any():
            refuse("Balls with a period")
    if type(problem.law) is not Restitution or problem.law.uniform is None:
        refuse(f"impact laws other than Restitution(e) with one number e; this one is {problem.law!r}")
    if problem.presence is not None:
        refuse("bodies that come and go (present=)")
    if problem.past is not None:
        refuse("forces that depend on the past of the run")
    refuse_changes(problem, "solve_by_events")


def number_of_bodies(problem: Motion, contacts: Contacts) -> int:
    """The number of bodies, if it is not too large."""
    bodies = max(contacts.part_count, len(problem.q0) if problem.q0.ndim > 1 else 1)
    if bodies > MAX_BODIES:
        refuse(f"more than {MAX_BODIES} bodies; there are {bodies}")
    return bodies


def refuse(what: str) -> NoReturn:
    """Raise `SchemeRefuses`."""
    raise SchemeRefuses(f"solve_by_events does not support {what}. Use jo.solve with a scheme such as jo.Paoli()")


class EventRun:
    """The state of an integration and what it records; a subclass says how it goes from one event to the next."""

    contacts: Any
    """All contacts that the bodies can have, with their `pairs`."""
    closed: Integers
    """The rows that are closed at this time."""

    def __init__(self, problem: Motion, start: float, end: float, max_events: int):
        self.problem, self.start, self.end, self.max_events = problem, start, end, max_events
        self.t, self.x, self.u = start, problem.q0.ravel().copy(), problem.v0.ravel().copy()
        self.flight = 0.0
        """Time since the last impact."""
        self.history: list[RecentImpact] = []
        self.events: list[Event] = []
        self.accumulations: list[Accumulation] = []
        self.flights: list[Flight] = []

    def integrate(self) -> None:
        """Go from event to event up to the end time."""
        stays = 0
        for _ in range(self.max_events):
            before = self.t, len(self.events)
            if not self.to_next_event():
                return
            stays = stays + 1 if (self.t, len(self.events)) == before else 0
            if stays > MAX_CHANGES_AT_ONCE:
                named = self.contacts.describe(int(self.closed[0]))
                raise UnresolvedEvent(
                    f"t = {self.t:.15g}: it cannot be decided whether {named} separate; perturb q0 or v0"
                )
        raise UnresolvedEvent(
            f"t = {self.t:.15g}: more than {self.max_events} events; raise max_events, or use jo.solve with a scheme"
        )

    def to_next_event(self) -> bool:
        """Treat the event at this time, and move to the next one; False if the end comes first."""
        raise NotImplementedError

    def check_round_off(self) -> None:
        """Refuse a finished motion if it hangs on rounding, as far as that is known."""

    def solution(self, status: str) -> EventSolution:
        """The motion so far."""
        raise NotImplementedError

    def reflect(
        self, before: Array, G: Array, c: Array, M: Metric, equal: Booleans | None = None
    ) -> tuple[Array, Array]:
        """Moreau's law u+ = (1 + e) P_K u- - e u- for K = {v : G v + c >= 0}, with the impulse of each row."""
        e = float(self.problem.law.number)
        if len(G) == 1 and equal is None:
            W = M.solve(G[0])
            p = max(-float(G[0] @ before + c[0]) / float(G[0] @ W), 0.0)
            return reflected(before + p * W, before, e), np.array([(1.0 + e) * p])
        P = project(before, Polyhedron(G, c, equal=equal), mass=M, solver=ActiveSet())
        return reflected(P.point, before, e), (1.0 + e) * P.multipliers

    def refuse_start(self, row: int, gap: float) -> NoReturn:
        """Say which contact q0 violates."""
        within, t = self.problem.within, self.start
        check_start(within.linearise(t, self.problem.q0, 0.0), nearest_call(within, t, "q0"))
        raise InfeasibleStart(f"q0 is not admissible: the gap of {self.contacts.describe(row)} is {gap:.2e}")

    def endless_impacts(self) -> UnresolvedEvent:
        """The error of impacts that follow each other without end at this time."""
        return UnresolvedEvent(f"t = {self.t:.15g}: {MAX_IMPACTS_AT_ONCE} impacts at once do not end; perturb q0 or v0")

    def record_flight(self, before: Array, u: Array, kept: Integers) -> None:
        """Note how a flight begins: the velocities before and after the impacts, and the rows that stay closed."""
        counts = len(self.events), len(self.accumulations)
        self.flights.append(Flight(self.t, self.x, before, u, self.closed, kept, *counts))

    def record_impact(self, rows: Integers, before: Array, after: Array, impulse: Array, rates: Array) -> None:
        """Note an impact in which some rows push."""
        shape = self.problem.q0.shape
        pairs = self.contacts.pairs[rows]
        self.events.append(Event(self.t, pairs, before.reshape(shape), after.reshape(shape), impulse, rates))

    def record_limit(self, found: Limit) -> None:
        """Note where impacts accumulate, and close the contacts that have them."""
        error = found.error + EVENT_ROUND_OFF * self.t * len(found.rows)
        self.accumulations.append(Accumulation(self.t + found.remaining, error, self.contacts.pairs[found.rows]))
        self.closed = np.union1d(self.closed, found.rows)
        self.history.clear()
