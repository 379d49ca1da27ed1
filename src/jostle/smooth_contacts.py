"""The contacts of few bodies under smooth forces: gaps, their rates and second derivatives along a motion.

The gap rate is G u + dg/dt. A contact that stays closed has G a + b = 0, where b is the second derivative of
g(t + s, q + s u) in s at s = 0: curvature of the wall, its turning and its acceleration. Both dg/dt and b are
differences of the gaps, extrapolated to step zero, where they are not known to vanish.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from jostle.arrays import Array, Booleans, Integers
from jostle.convex.metric import Metric
from jostle.errors import UnresolvedEvent
from jostle.event_contacts import EVENT_ROUND_OFF, check_supported, number_of_bodies, parts_of, refuse
from jostle.extrapolation import Function, best_step, extrapolated, first_difference, second_difference
from jostle.problems import Motion
from jostle.sets.balls import Balls, Line
from jostle.sets.base import Free
from jostle.sets.contacts import Contacts
from jostle.sets.containers import Inside
from jostle.sets.rods import Rods
from jostle.sets.user import UserSet
from jostle.sets.walls import Box, HalfSpace, Outside

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
        for part in parts_of(problem):
            if type(part) not in SMOOTH_SETS:
                refuse(f"sets other than {', '.join(names)}, @constraints and @equalities, as {part!r}")
        self.problem, self.within, self.shape = problem, problem.within, problem.q0.shape
        start = self.within.linearise(t, problem.q0)
        number_of_bodies(problem, start)
        self.pairs, self.describe = start.pairs, start.describe
        self.equal: Booleans = np.zeros(len(start.gap), dtype=bool) if start.equal is None else start.equal
        self.still = self.within.moving is False
        self.flat = self.within.flat
        self.by_gradients = self.still and not self.within.differenced()
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
        step = best_step(first_difference, lambda s: self.gaps(t + s, q), self.longest)
        return Rates(extrapolated(first_difference, lambda s: self.gaps(t + s, q), step.h), 4.0 * step.error)

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
            return extrapolated(second_difference, lambda s: self.gaps(t + s, q)[rows], step)
        fastest = float(np.linalg.norm(u)) / (LONGEST_MOVE * self.size)
        difference = first_difference if self.by_gradients else second_difference
        return extrapolated(difference, self._along(t, q, u, rows), step / (1.0 + step * fastest))

    def bend_step(self, t: float, q: Array, rows: Integers) -> float:
        """The step in time that `bend` needs near here."""
        if self.still:
            return self.longest
        return best_step(second_difference, lambda s: self.gaps(t + s, q)[rows], self.longest).h

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
