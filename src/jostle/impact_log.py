"""Which contacts close in a step and how fast, and the work of contacts and moving walls."""

from __future__ import annotations

from typing import Any

import numpy as np

from jostle.arrays import Array, Integers, moved_to, place_of, to_host
from jostle.impact_times import ImpactTimes
from jostle.recorded_impacts import Impacts
from jostle.schemes.state import POSITION_ROUND_OFF, State
from jostle.sets.base import ConstraintSet
from jostle.sets.contacts import Contacts, by_pair

MIN_APPROACH = 1e-9
"""A gap that closes at less than this fraction of the velocities is not an approach."""
NO_PAIRS = np.zeros((0, 2), dtype=np.int64)


class ImpactLog:
    """Finds the contacts that close: a pair with p > 0 now that had p = 0 in the step before; no equalities."""

    def __init__(self, within: ConstraintSet, start: State, linearised: bool = True) -> None:
        self.within, self.linearised = within, linearised
        self.events: list[tuple[float, Integers, Array, Array, Array, Array]] = []
        self.times = ImpactTimes(None)
        pairs, p, _ = contacts_of(start)
        self.touching = pairs[p != 0.0]
        self.fresh: Contacts | None = None
        self.same: tuple[Any, Any] = None, None
        """The active rows and the pairs of the step before: if they are the same again, nothing closes."""

    def add(self, before: State, after: State, h: float) -> None:
        contacts, p = after.contacts, after.multipliers
        assert contacts is not None
        self.times.begin(before, h)
        active = p != 0.0 if contacts.equal is None else (p != 0.0) & ~contacts.equal  # equalities do not close
        unchanged = contacts.pairs is self.same[1] and active.tobytes() == self.same[0].tobytes()
        self.same = active, contacts.pairs
        if unchanged and self.fresh is None:
            return
        rows = np.flatnonzero(active)
        pairs = contacts.pairs[rows]
        self._second_step(before, after, h, pairs, p[rows])
        touching = moved_to(self.touching, pairs)
        new = rows[by_pair(touching, place_of(pairs).ones(len(touching)), pairs) == 0.0]
        if len(new):
            chosen = self.within.in_motion(contacts, before.q).only(new)
            drift = drifts(chosen, before.t, h, self.linearised)
            rate = chosen.G @ before.u.ravel() + drift[0]
            speeds = MIN_APPROACH * np.abs(before.u) + POSITION_ROUND_OFF * np.abs(before.q) / h
            rate = np.where(np.abs(rate) <= chosen.G.magnitude(speeds.ravel()), 0.0, rate)
            rate_after = chosen.G @ after.u.ravel() + drift[1]
            moments = self.times.find(before, chosen, rate)
            self.events.append((after.t, *map(to_host, (chosen.pairs, rate, rate_after, p[new], moments))))
            self.fresh = chosen
        self.touching = pairs

    def _second_step(self, before: State, after: State, h: float, pairs: Integers, p: Array) -> None:
        """Continue the impact of the step before in this step."""
        if self.fresh is None:
            return
        chosen = self.fresh
        _, _, _, rate_after, impulse, _ = self.events[-1]
        impulse += to_host(by_pair(pairs, p, chosen.pairs))
        rate_after[:] = to_host(chosen.G @ after.u.ravel() + drifts(chosen, before.t, h, self.linearised)[1])
        self.fresh = None

    def result(self) -> Impacts:
        if not self.events:
            nothing = np.zeros(0)
            return Impacts(nothing, NO_PAIRS, nothing, nothing, nothing, nothing)
        t = np.concatenate([np.full(len(event[1]), event[0]) for event in self.events])
        columns = [np.concatenate([event[k] for event in self.events]) for k in range(1, 6)]
        return Impacts(t, *columns)


def drifts(contacts: Contacts, t: float, h: float, linearised: bool) -> tuple[Array, Array]:
    """dg/dt of contacts before and after a step from t to t + h, where their bodies stay.

    A step that keeps linearised constraints has one rate of each wall; other steps have one at each of their ends.
    """
    if contacts.gap_at is None or not linearised:
        return contacts.drifts(t, h)
    rows = place_of(contacts.gap).arange(len(contacts.gap))
    mean = (contacts.gap_at(t + h, rows) - contacts.gap_at(t, rows)) / h
    return mean, mean


def works(within: ConstraintSet, linearised: bool, before: State, after: State, h: float) -> tuple[float, float]:
    """The energy that the contacts dissipated in a step of a `Motion`, and the work of walls and radii that move.

    The kinetic energy changes by the impulses times the mean of the two velocities. With the rates c = G u + dg/dt of
    the gaps, the contacts add p . G (u^n + u^{n+1}) / 2 = p . (c^n + c^{n+1}) / 2 - p . (d^n + d^{n+1}) / 2: what is
    dissipated, with the other sign, and the work of what moves.
    """
    contacts, p = after.contacts, after.multipliers
    assert contacts is not None
    rows = np.flatnonzero(p)
    if len(rows) == 0:
        return 0.0, 0.0
    mean = contacts.G @ (0.5 * (before.u + after.u).ravel())
    if within.moving is False:
        return -float((p * mean).sum()), 0.0
    drift = drifts(within.in_motion(contacts, before.q).only(rows), before.t, h, linearised)
    work = -0.5 * float((p[rows] * (drift[0] + drift[1])).sum())
    return work - float((p * mean).sum()), work


def contacts_of(state: State) -> tuple[Integers, Array, Array]:
    """The pairs, multipliers and normals of the step that led to the state."""
    if state.contacts is None:
        return NO_PAIRS, state.multipliers, np.zeros((0, 0))
    return state.contacts.pairs, state.multipliers, state.contacts.normals
