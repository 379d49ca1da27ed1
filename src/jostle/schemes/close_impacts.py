"""Impacts that follow one another too fast for Paoli's scheme, and the time step that separates them.

With e > 0 the scheme takes two steps for an impact: Z touches in both, and only then does the velocity obey the law. A
second impact that is coupled with the first one, by a body in common, must come later than that. If it does not, both
are treated as one, whatever their order, or the second one reflects a velocity that is half way through the first: the
result is another one and its energy may be larger or smaller than e allows. Contacts that were closed before, or close
at the same time, are one impact by Moreau's law, and so are contacts whose gradients are orthogonal in the kinetic
metric (condition (H6) of Paoli 2010).

There is no warning of an oblique impact of two balls, in which the normal turns during the two steps: its energy is
wrong by O(h), a part of up to 0.4 h v / d for equal balls of diameter d at the relative speed v.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from jostle.arrays import Array, Booleans, Integers
from jostle.convex.metric import Metric
from jostle.errors import CloseImpacts, warn
from jostle.problems import Motion
from jostle.schemes import SCHEMES
from jostle.schemes.abilities import needs_of
from jostle.schemes.state import State
from jostle.sets.contacts import Contacts, Reach, by_pair
from jostle.sets.curvature import Nearest

STEPS_OF_AN_IMPACT = 2
"""A second impact must be this many steps later than the first one."""
GRAZING = 0.05
"""A gap that closes at less than this fraction of the speeds is not an impact: so bodies slide along curved walls."""
RESTING = 4.0
"""A gap that closes at less than what the force gives in this many steps is not an impact: so bodies come to rest."""
SIMULTANEOUS = 1e-6
"""Contacts that close within this fraction of a time step of each other close at the same time."""
NOT_OVER = 0.5
"""If one impact is not over when the other one starts, they are taken to be at least this fraction of a step apart."""
COUPLED = 1e-9
"""Gradients are orthogonal if the cosine of their angle is smaller."""
NO_PAIRS = np.zeros((0, 2), dtype=np.int64)


class Motions(NamedTuple):
    """A position at which contacts had just closed, and the velocity with which they did."""

    q: Array
    u: Array


def watch(problem: Motion, state: State, h: float, Z: Nearest, F: Array | None, M: Metric) -> tuple[Integers, bool]:
    """The pairs that close in this step, and whether the run has been warned; F is None for an implicit force."""
    (P, contacts), warned = Z, state.memory.warned
    if problem.law.number > 0.0 and not warned and F is not None:
        warned = _warn_of_sequence(problem, state, h, contacts, P.multipliers, F, M)
    return _closing(state, contacts, P.multipliers), warned


def watch_first(problem: Motion, state: State, h: float, Z: Nearest, F: Array) -> tuple[Integers, bool]:
    """The same for the first step."""
    P, contacts = Z
    warned = _warn_of_first_step(problem, state, h, contacts, P.multipliers, F)
    return _closing(state, contacts, P.multipliers), warned


def _closing(state: State, contacts: Contacts, p: Array) -> Integers:
    """The pairs of the contacts that carry an impulse p now, and did not in the step that led to the state."""
    rows = _carrying(contacts, p)
    if state.contacts is None or len(rows) == 0:
        return contacts.pairs[rows]
    before = by_pair(state.contacts.pairs, state.multipliers, contacts.pairs[rows])
    return np.asarray(contacts.pairs[rows[before == 0.0]])


def _carrying(contacts: Contacts, p: Array) -> Integers:
    """The rows of contacts that carry an impulse; equalities always do, and do not close."""
    return np.flatnonzero(p if contacts.equal is None else np.where(contacts.equal, 0.0, p))


def _warn_of_first_step(problem: Motion, state: State, h: float, contacts: Contacts, p: Array, F: Array) -> bool:
    """Warn if contacts close in the first step, which has no restitution; was there a warning?"""
    rows = _carrying(contacts, p)
    if problem.law.number == 0.0 or len(rows) == 0:
        return False
    chosen = contacts.only(rows)
    rate = chosen.G @ state.u.ravel()
    hits = np.flatnonzero(rate < -_slow(chosen, h, F, state.u))
    if len(hits) == 0:
        return False
    gap = _gaps(problem, state.t, state.q, chosen)
    delay = np.maximum(gap[hits], 0.0) / -rate[hits]
    first = int(np.argmin(delay))
    words = f"{chosen.describe(int(hits[first]))} collide in the first step, which has no restitution: energy is lost"
    if delay[first] * -rate[hits[first]] <= chosen.tolerance()[hits[first]]:
        start = f"Start before the impact: at a q0 at which they are apart by more than h = {h:g} times the speed"
        warn(f"{words}. {start}", CloseImpacts)
    else:
        warn(f"{words}. {_advice(problem, float(delay[first]))}", CloseImpacts)
    return True


def _warn_of_sequence(
    problem: Motion, state: State, h: float, contacts: Contacts, p: Array, F: Array, M: Metric
) -> bool:
    """Warn if a contact closes in this step while an impact that is coupled with it goes on; was there a warning?

    A contact closes if it carries an impulse and did not in the step before, or if it would be open without the others.
    """
    rows = _carrying(contacts, p)
    if len(rows) < 2:
        return False
    chosen = contacts.only(rows)
    new = _among(chosen.pairs, _closing(state, contacts, p))
    if not new.any():
        return False
    now, before = Motions(state.q, state.u), Motions(state.memory.before, state.memory.v_older)
    going_on = _among(chosen.pairs, state.memory.fresh) & ~new
    pushed = chosen.G @ M.solve(chosen.G.adjoint(p[rows])) < -chosen.tolerance()  # open at W: closed by other impulses
    found: list[tuple[float, int, int]] = []
    for started, motion in ((new, now), (going_on, before)):
        if started.any():
            found += _sequences(problem, state.t, h, chosen, (started, new, pushed), motion, F, M)
    if not found:
        return False
    delay, first, second = min(found)
    warn(
        f"{chosen.describe(first)} and {chosen.describe(second)} collide within {delay:.2g} of each other at t = "
        f"{state.t:.6g}, which is less than {STEPS_OF_AN_IMPACT} steps of h = {h:g}: Paoli treats them as one impact, "
        f"and the velocities and the energy after it are wrong. {_advice(problem, delay)}",
        CloseImpacts,
    )
    return True


def _sequences(
    problem: Motion, t: float, h: float, contacts: Contacts, kinds: tuple[Booleans, Booleans, Booleans],
    motion: Motions, F: Array, M: Metric,
) -> list[tuple[float, int, int]]:  # fmt: skip
    """(delay, first row, second row) of impacts: one that started by the motion, and one that did not at the same time.

    The second one is new and closed later, or is pushed: it closed later, or is not over yet.
    """
    started, new, pushed = kinds
    G, e, tolerance = contacts.G, problem.law.number, contacts.tolerance()
    rate, slow = G @ motion.u.ravel(), _slow(contacts, h, F, motion.u)
    first = np.flatnonzero(started & (rate < -slow))
    if len(first) == 0:
        return []
    gap = _gaps(problem, t, motion.q, contacts)
    size = G.norms(M)
    found = []
    for c in first.tolist():
        unit = np.zeros(len(rate))
        unit[c] = 1.0
        coupling = G @ M.solve(G.adjoint(unit))
        after = rate - (1.0 + e) * rate[c] * coupling / coupling[c]
        left = gap - gap[c] / rate[c] * rate  # the gaps when c closed
        fastest = np.minimum(rate, after)
        later = (left > np.maximum(tolerance, -SIMULTANEOUS * h * fastest)) & (fastest < -slow)
        follows = ((new & later) | (pushed & (rate - after > slow))) & (np.abs(coupling) > COUPLED * size * size[c])
        follows[c] = False
        delay = np.where(later, left / np.where(later, -fastest, 1.0), NOT_OVER * h)
        found += [(float(delay[d]), c, int(d)) for d in np.flatnonzero(follows)]
    return found


def _slow(contacts: Contacts, h: float, F: Array, u: Array) -> Array:
    """(m,) the rate of each gap up to which its closing is not an impact."""
    G = contacts.G
    return np.asarray(GRAZING * G.magnitude(np.abs(u).ravel()) + RESTING * h * G.magnitude(np.abs(F).ravel()))


def _gaps(problem: Motion, t: float, q: Array, closed: Contacts) -> Array:
    """The gaps at q of contacts that are closed now: at q they were open by no more than the bodies moved since.

    An impact in between may have made the bodies faster than they were at q: their velocities there say nothing.
    """
    reach: Reach = np.inf
    if q.ndim == 2 and closed.at is not None:
        reach = np.linalg.norm(closed.at - q, axis=1) + closed.tolerance().max(initial=0.0)
    there = problem.within.near(t, q, reach)
    return by_pair(there.pairs, there.gap, closed.pairs, np.nan)


def _among(pairs: Integers, some: Integers) -> Booleans:
    return np.asarray(by_pair(some, np.ones(len(some)), pairs) != 0.0)


def _advice(problem: Motion, delay: float) -> str:
    other = needs_of(problem) <= SCHEMES.get("moreau_jean").abilities
    text = f"Choose h up to {delay / STEPS_OF_AN_IMPACT:.2g}"
    return (
        f"{text}, or MoreauJean, which obeys the law at each contact whatever h, and overlaps by O(h)"
        if other
        else text
    )
