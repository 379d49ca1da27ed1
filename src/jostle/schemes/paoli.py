"""Paoli's schemes, on positions: Paoli 2010 (4)-(7) with restitution and M(q), Paoli 2005 (1.4)-(1.6).

    U^1     = Proj_K (u_0 + h v_0 + h z(h)),    z(h) -> 0                                          (4)
    W^n     = (2 U^n - (1 - e) U^{n-1} + h^2 F^n) / (1 + e)                                         (5)
    Z^n     = Proj_K W^n  in the metric of M(U^n)                                                 (7)
    U^{n+1} = -e U^{n-1} + (1 + e) Z^n                                                             (6)

with F^n = M(U^n)^-1 g(t^n, U^n, (U^n - U^{n-1}) / h); or, implicit, with the velocity (U^{n+1} - U^{n-1}) / 2h, found
by fixed point, Paoli 2005 (1.6). With steps that change, the path is traced back with the steps of now, X^{n+1} = X^n +
h_n V^{n-2}, X^2 = U^0, which is U^{n-1} if they are equal, and (5)-(6) become

    W^n = (U^n + h_n V^{n-1} + h_n (h_n + h_{n-1}) / 2 F^n + e X^{n+1}) / (1 + e),    V^n = (U^{n+1} - U^n) / h_n,
    U^{n+1} = -e X^{n+1} + (1 + e) Z^n,

so that a velocity v becomes exactly -e v at a wall, whatever the steps. In free flight X is reset to U^n - h_n
V^{n-1}, so that it stays within one step of the path. Where there are equalities and e > 0, X is projected on them:
they have no restitution, and U^{n+1} then leaves them by O(h^2) only.

Guarantee: Z^n is in K; U^n is too if e = 0, and leaves it by at most O(h) if e > 0 (``sol.z`` has the Z^n). K need
not be convex; a wall or a ball that is jumped over, because it is thinner than h |v|, is an error (`LeftTheSet`). Order
1 with impacts; without, 2, but 1 if an explicit force depends on the velocity.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from jostle._tools.arguments import Finite
from jostle._tools.arrays import Array, Booleans, Integers, finite
from jostle.contacts import Contacts, Cutoff, by_pair
from jostle.convex.metric import Metric
from jostle.errors import CloseImpacts, NoContraction, SchemeRefuses, warn
from jostle.laws import aimed, reflected
from jostle.problems import Motion
from jostle.schemes.base import Scheme
from jostle.schemes.capabilities import EQUALITIES, NOT_CONVEX, RESTITUTION, SCHEMES, SECOND, VARIABLE_MASS, needs_of
from jostle.schemes.state import POSITION_ROUND_OFF, Impulses, State
from jostle.sets.base import part_of
from jostle.sets.nearest import Nearest, nearest_with_contacts

# Impacts that follow one another too fast for Paoli's scheme, and the time step that separates them.
#
# With e > 0 the scheme takes two steps for an impact: Z touches in both, and only then does the velocity obey the law.
# A second impact that is coupled with the first one, by a body in common, must come later than that. If it does not,
# both are treated as one, whatever their order, or the second one reflects a velocity that is half way through the
# first: the result is another one and its energy may be larger or smaller than e allows. Contacts that were closed
# before, or close at the same time, are one impact by Moreau's law, and so are contacts whose gradients are orthogonal
# in the kinetic metric (condition (H6) of Paoli 2010).
#
# There is no warning of an oblique impact of two balls, in which the normal turns during the two steps: its energy is
# wrong by O(h), a part of up to 0.4 h v / d for equal balls of diameter d at the relative speed v.


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
    """The pairs that close in the first step, and whether the run has been warned."""
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
    """Warn if contacts close in the first step, which has no restitution; returns whether there was a warning."""
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
    """Warn if a contact closes while an impact that is coupled with it goes on; returns whether there was a warning."""
    # A contact closes if it carries an impulse and did not in the step before, or if it would be open without the
    # others.
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
    """(delay, first row, second row) of two impacts: one that the motion started, and one that came later."""
    # The second one is new and closed later, or is pushed: it closed later, or is not over yet.
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
    """The gaps at q of contacts that are closed now: at q they were open by no more than the bodies moved since."""
    # An impact in between may have made the bodies faster than they were at q: their velocities there say nothing.
    cutoff: Cutoff = np.inf
    if q.ndim == 2 and closed.at is not None:
        cutoff = np.linalg.norm(closed.at - q, axis=1) + closed.tolerance().max(initial=0.0)
    there = problem.within.near(t, q, cutoff)
    return by_pair(there.pairs, there.gap, closed.pairs, np.nan)


def _among(pairs: Integers, some: Integers) -> Booleans:
    return np.asarray(by_pair(some, np.ones(len(some)), pairs) != 0.0)


def _advice(problem: Motion, delay: float) -> str:
    """What to do about impacts that follow each other after this delay."""
    advice = f"Choose h up to {delay / STEPS_OF_AN_IMPACT:.2g}"
    if needs_of(problem) <= SCHEMES.get("moreau_jean").capabilities:
        advice += ", or MoreauJean, which obeys the law at each contact whatever h, and overlaps by O(h)"
    return advice


FIXED_POINT_TOLERANCE = 1e-13
"""The fixed point has converged when it moves by less than this fraction of |U^{n+1} - U^n| or |U^n|."""
FIXED_POINT_STEPS = 20_000
"""Largest number of iterations of the fixed point."""
MIN_ITERATIONS = 5
"""The increments of the fixed point must shrink after this many iterations."""


class Memory(NamedTuple):
    """What the scheme remembers of the steps before: U^{n-1}, h_{n-1}, Z^{n-1}, X^n - U^{n-2}, h_{n-2} and V^{n-2}."""

    before: Array
    h: float
    z: Array
    shift: Array
    h_older: float
    v_older: Array
    fresh: Integers = NO_PAIRS
    """Pairs that closed in the last step."""
    warned: bool = False
    """True if there was a warning that impacts are too close for h."""


@dataclass(frozen=True, kw_only=True)
class Paoli(Scheme):
    """Paoli's scheme on positions, with restitution: Paoli 2010, (4)-(7); if implicit, Paoli 2005, (1.4)-(1.6).

    For bodies with inertia, e in [0, 1], masses M(q), and sets that need not be convex.

    Parameters
    ----------
    solver : Solver, default Automatic()
        Solves the projections.
    z : float or callable (h) -> array, default 0.5
        Chooses the first step, z(h) = z h F(0) in (4): 1/2 is second order, 0 leaves the force out of the first step, 1
        is the choice of Siconos; or a function z(h).
    implicit : bool, default False
        True takes the velocity of the force at the new time, by fixed-point iterations (e = 0 only).

    Examples
    --------
    >>> import jostle as jo
    >>> ball = jo.Motion(q0=[1.0], v0=[-1.0], within=jo.HalfSpace([1.0]), law=jo.Restitution(0.5))
    >>> jo.solve(ball, jo.Paoli(), t=1.8, h=0.03).u[-1].round(12).tolist()
    [0.5]
    """

    capabilities: ClassVar[frozenset[str]] = frozenset({SECOND, RESTITUTION, VARIABLE_MASS, NOT_CONVEX, EQUALITIES})
    memory_type: ClassVar[type[Any] | None] = Memory
    balances: ClassVar[bool] = True

    z: Finite | Callable[[float], Array] = 0.5
    implicit: bool = False

    def check(self, problem: Motion) -> None:
        super().check(problem)
        if self.implicit and problem.law.number != 0.0:
            raise SchemeRefuses(
                f"Paoli takes the force implicitly for e = 0 only (Paoli 2005), the problem has e = "
                f"{problem.law.number:g}; use implicit=False"
            )

    def projects_positions(self, problem: Motion) -> bool:
        # Whether the residual of a step bounds the overlaps of its q.
        return problem.law.number == 0.0

    def step(self, problem: Motion, state: State, h: float) -> State:
        # One step: (4) for the first one, (5)-(7) for the others.
        if state.memory is None or _was_changed(state):
            return self._first(problem, state, h)
        t, q, u, e, M = state.t, state.q, state.u, problem.law.number, problem.metric(state.q)
        before, h_before = state.memory.before, state.memory.h
        X = _traced_back(problem, state, h)
        if e > 0.0 and problem.within.equalities:
            X = nearest_with_contacts(part_of(problem.within, lambda Q: Q.equalities), X, M, t, self.solver)[0].point

        def correct(F: Array) -> tuple[Nearest, Array]:
            W = aimed(free(q, before, h, h_before, F), X, e)
            Z = nearest_with_contacts(problem.within, W, M, t, self.solver, relative=True)
            return Z, reflected(Z[0].point, X, e)

        F = None if self.implicit else _acceleration(problem, M, t, q, u)
        Z, after = self._fixed_point(problem, state, correct, h) if F is None else correct(F)
        memory = Memory(q, h, Z[0].point, X - before, h_before, u, *watch(problem, state, h, Z, F, M))
        # The velocities belong to the middles of the steps, the first of them to the start: (4)-(5) with z = 1/2.
        return _state(state, h, Z, after, (1.0 + e) / h, memory, (h + h_before) / 2.0)

    def _first(self, problem: Motion, state: State, h: float) -> State:
        """(4): the first step, from u_0 and v_0."""
        t, q, v, M = state.t, state.q, state.u, problem.metric(state.q)
        F = _acceleration(problem, M, t, q, v)
        z = finite(self.z(h), "what z(h) returned") if callable(self.z) else self.z * h * F
        Z = nearest_with_contacts(problem.within, q + h * v + h * z, M, t, self.solver, relative=True)
        rest = np.zeros_like(q)
        memory = Memory(q, h, Z[0].point, rest, h, rest, *watch_first(problem, state, h, Z, F))
        return _state(state, h, Z, Z[0].point, 1.0 / h, memory, h / 2.0)

    def _fixed_point(
        self, problem: Motion, state: State, correct: Callable[[Array], tuple[Nearest, Array]], h: float
    ) -> tuple[Nearest, Array]:
        """U^{n+1} = Proj_K(2 U^n - U^{n-1} + h^2 F(U^{n+1})), Paoli 2005 (1.5)-(1.6): contracts if h < 2 / L."""
        t, q, u = state.t, state.q, state.u
        before, h_before = state.memory.before, state.memory.h
        found, after = correct(problem.acceleration(t, q, u))
        last, factor, largest = np.inf, 0.0, 0.0
        for iteration in range(FIXED_POINT_STEPS):
            velocity = (after - before) / (h + h_before)
            found, corrected = correct(problem.acceleration(t, q, velocity))
            change = float(np.linalg.norm(corrected - after))
            moved = float(np.linalg.norm(corrected - q))
            after = corrected
            if change <= FIXED_POINT_TOLERANCE * max(moved, float(np.linalg.norm(q))):
                return found, after
            factor = change / last
            largest = max(largest, factor)
            if iteration >= MIN_ITERATIONS and factor >= 1.0:
                break
            last = change
        raise NoContraction(
            f"the fixed point of the implicit force does not contract{'' if factor >= 1.0 else ' fast enough'}: h = "
            f"{h:g}, an iteration multiplies the error by up to {largest:.4g}; it contracts for h < 2 / L, L the "
            f"Lipschitz constant of F in the velocity: choose h well below {h / largest:.2g}, or implicit=False"
        )


def free(q: Any, before: Any, h: float, h_before: float, F: Any) -> Any:
    """U^n + h_n V^{n-1} + h_n (h_n + h_{n-1}) / 2 F^n: the next position without contacts, of numbers or arrays."""
    return q + h / h_before * (q - before) + h * (h + h_before) / 2.0 * F


def _acceleration(problem: Motion, M: Metric, t: float, q: Array, u: Array) -> Array:
    """F = M^-1 g, in a metric that is known already."""
    return M.solve(problem.force(t, q, u).ravel()).reshape(q.shape)


def _was_changed(state: State) -> bool:
    """Whether a change gave the state another q or u than the last step; the scheme then restarts from them."""
    before, h = state.memory.before, state.memory.h
    moved = np.abs(state.q - before - h * state.u).max(initial=0.0)
    size = max(np.abs(state.q).max(initial=0.0), np.abs(before).max(initial=0.0))
    return bool(moved > POSITION_ROUND_OFF * size)


def _traced_back(problem: Motion, state: State, h: float) -> Array:
    """X^{n+1}: where the path was one step of length h ago; it is reset in free flight."""
    memory, q = state.memory, state.q
    shift = memory.shift + (h - memory.h_older) * memory.v_older
    if shift.any() and not state.multipliers.any():
        back = q - h * state.u
        if min(problem.within.gap(state.t, back), problem.within.gap(state.t, q)) >= 0.0:
            return np.asarray(back)
    return np.asarray(memory.before + shift)


def _state(
    state: State, h: float, Z: Nearest, after: Array, per_impulse: float, memory: Memory, impulse_time: float
) -> State:
    P, contacts = Z
    u, p = (after - state.q) / h, Impulses(per_impulse * P.multipliers)
    return State(state.t + h, state.pose.at(after), u, P, contacts, p, memory, impulse_time=impulse_time)
