"""The contacts of few bodies as polynomials in time: gaps, what stays closed, and what the problem must be.

Between two events all accelerations are constant. The gap of a plane is then a polynomial of degree 2. For two balls
with centres apart by d(s) and radii of sum R the polynomial is |d(s)|^2 - R^2, of degree 2 if both have the same
acceleration and of degree 4 otherwise.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, NoReturn

import numpy as np

from jostle._tools.arrays import Array, Booleans, Integers, at
from jostle.convex.metric import Metric
from jostle.convex.polyhedron import Polyhedron
from jostle.errors import InvalidValue, SchemeRefuses, UnresolvedEvent
from jostle.laws import Restitution
from jostle.problems import Motion
from jostle.schemes.abilities import remedy
from jostle.sets.balls import Balls, Line
from jostle.sets.base import Free, parts
from jostle.sets.contacts import Contacts
from jostle.sets.walls import Box, HalfSpace
from jostle.solvers.dual_active_set import ActiveSet
from jostle.solvers.project import project

MAX_BODIES = 200
"""Largest number of bodies that are integrated from event to event: all pairs of them are rows of a dense matrix."""
EVENT_ROUND_OFF = 256 * float(np.finfo(float).eps)
"""Gaps, gap rates and accelerations below this fraction of the numbers they are computed from count as zero."""
MAX_IMPACTS_AT_ONCE = 1000
"""Largest number of impacts that may follow each other at the same time."""
SETS = (HalfSpace, Box, Balls, Line, Free)


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
class Rows:
    """All contacts that few bodies can have: planes G x + c >= 0, and pairs of balls |x_j - x_i| - R >= 0."""

    G: Array
    """(m, N) gradients of the planes, 0 in the rows of balls."""
    c: Array
    """(m,) offsets of the planes; -R in the rows of balls."""
    size: Array
    """(m,) lengths that say how large the round-off of a gap is, beside the coordinates."""
    balls: Integers
    """The rows of balls."""
    pairs: Integers
    describe: Callable[[int], str]
    bodies: int
    metric: Metric

    def between(self, v: Array) -> Array:
        """(k, d) v_j - v_i for the rows of balls."""
        each, (i, j) = v.reshape(self.bodies, -1), self.pairs[self.balls].T
        found: Array = each[j] - each[i]
        return found

    def gaps(self, x: Array) -> Array:
        gap = self.G @ x + self.c
        gap[self.balls] += np.linalg.norm(self.between(x), axis=1)
        return gap

    def gradients(self, x: Array, rows: Integers) -> Array:
        """(k, N) dg/dq at x of some rows."""
        G, of_balls = self.G[rows], np.flatnonzero(np.isin(rows, self.balls))
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
        by_place[self.balls] += self.between_at_most(terms)
        return np.asarray(by_place + self.size)

    @cached_property
    def _sizes_of_G(self) -> Array:
        return np.abs(self.G)

    def moved(self, x: Array, rows: Integers, terms: Array) -> Array:
        """(N,) the largest move of each coordinate in `onto` where some rows have gaps made by one of the `terms`."""
        G = self.gradients(x, rows)
        W = self.metric.solve(G)  # masses are diagonal
        gaps = (np.abs(G) * terms).max(axis=1, initial=0.0)
        found: Array = (np.abs(W) * (gaps / (G * W).sum(axis=1))[:, None]).max(axis=0, initial=0.0)
        return found

    def between_at_most(self, sizes: Array) -> Array:
        """(k,) a bound of |v_j - v_i| for the rows of balls, where |v| <= sizes."""
        each, (i, j) = np.linalg.norm(sizes.reshape(self.bodies, -1), axis=1), self.pairs[self.balls].T
        bound: Array = each[i] + each[j]
        return bound

    def equalise(self, v: Array, G: Array, wanted: Array) -> Array:
        """The vector nearest to v in the kinetic metric with G v = wanted."""
        if len(G) == 0:
            return v
        x: Any = np.linalg.lstsq(self.metric.whiten(G), wanted - G @ v, rcond=None)[0]
        moved: Array = v + self.metric.unwhiten(x)
        return moved

    def onto(self, x: Array, rows: Integers) -> Array:
        """x with the gaps of some rows, which are zero up to round-off, made zero."""
        return x + self.equalise(np.zeros(len(x)), self.gradients(x, rows), -self.gaps(x)[rows])

    def polynomials(self, x: Array, u: Array, a: Array) -> Array:
        """(m, 5) ascending coefficients of the gaps, those of balls times |d| + R."""
        found = np.zeros((len(self.c), 5))
        found[:, 0], found[:, 1], found[:, 2] = self.gaps(x), self.G @ u, self.G @ a / 2.0
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
        G = self.gradients(x, rest)
        u = self.equalise(u, G, np.zeros(len(rest)))
        zeros = np.zeros(len(self.c), dtype=np.int64)
        zeros[closed], zeros[rest] = 1, 2
        a, kept = free, rest
        if len(rest):
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
        rows = np.setdiff1d(np.arange(len(self.c)), kept)
        columns = np.arange(coefficients.shape[1]) + zeros[rows, None]
        shifted = np.hstack([coefficients, np.zeros_like(coefficients)])[rows[:, None], columns]
        undecided = ~(shifted[:, 0] > 0.0)
        if undecided.any():
            row = self.describe(int(rows[np.argmax(undecided)]))
            raise UnresolvedEvent(f"t = {t:.15g}: it cannot be decided whether {row} separate; perturb q0 or v0")
        return rows, shifted


def has_parabolas(problem: Motion) -> bool:
    """Whether all accelerations are constant between events, and all gaps polynomials of time."""
    resting = all(type(part) in SETS and part.moving is False for part in parts(problem.within))
    masses = isinstance(problem.mass, Metric) and problem.mass.diagonal
    return resting and masses and problem.constant_force is not None


def check_supported(problem: Motion) -> None:
    """Refuse what event-driven integration cannot do, and say why."""
    if problem.turning is not None:
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


def number_of_bodies(problem: Motion, contacts: Contacts) -> int:
    """The number of bodies, if it is not too large."""
    bodies = max(contacts.bodies, len(problem.q0) if problem.q0.ndim > 1 else 1)
    if bodies > MAX_BODIES:
        refuse(f"more than {MAX_BODIES} bodies; there are {bodies}")
    return bodies


def rows_of(problem: Motion) -> Rows:
    """The contacts of a problem whose motion is made of parabolas."""
    check_supported(problem)
    assert isinstance(problem.mass, Metric)
    Q = problem.within
    contacts = Q.linearise(0.0, problem.q0)
    bodies = number_of_bodies(problem, contacts)
    G: list[Array] = []
    c: list[Array] = []
    size: list[Array] = []
    balls: list[Integers] = []
    for part in parts(Q):
        if isinstance(part, Balls):
            here = part.linearise(0.0, problem.q0)
            radii = np.broadcast_to(at(part.radii, 0.0), (bodies,))
            R = radii[here.pairs].sum(axis=1)
            balls.append(sum(len(each) for each in c) + np.arange(len(R)))
            G.append(np.zeros((len(R), problem.q0.size)))
            c.append(-R)
            size.append(R)
        else:
            here = part.linearise(0.0, np.zeros(problem.q0.shape))
            G.append(here.G.toarray())
            c.append(here.gap)
            size.append(np.abs(here.gap) + here.length * bool(part.bodies.radii_at(0.0).any()))
    rows = Rows(
        np.concatenate(G),
        np.concatenate(c),
        np.concatenate(size),
        np.concatenate([np.zeros(0, dtype=np.int64), *balls]),
        contacts.pairs,
        contacts.describe,
        bodies,
        problem.mass,
    )
    if len(rows.c) != len(contacts.gap):
        raise InvalidValue(f"{Q!r} has {len(contacts.gap)} contacts at q0, expected {len(rows.c)}")
    return rows


def refuse(what: str) -> NoReturn:
    """Raise `SchemeRefuses`."""
    raise SchemeRefuses(f"solve_by_events does not support {what}. Use jo.solve with a scheme such as jo.Paoli()")
