"""The Moreau-Jean scheme, on velocities, with restitution: the standard of Siconos, for comparison.

    m^n = q^n + h u^n / 2,    contacts: the gaps with g(t^n + h/2, m^n) <= 0
    M (u^{n+1} - u^n) = h f^n + G^T p,    0 <= p  ⟂  (G u^{n+1} + d^{n+1}) + e (G u^n + d^n) >= 0
    q^{n+1} = q^n + h (u^n + u^{n+1}) / 2

with d = dg/dt, the rate at which a wall approaches or a radius grows: the law is one on relative velocities. Each
contact may have an e of its own. The second line is one projection of u^n + h M^-1 f^n. At rest (d = 0), and with one e
for all contacts, it is that on the cone C of these contacts: with v = (u^{n+1} + e u^n) / (1 + e), v = P_C of
(u^n + h M^-1 f^n + e u^n) / (1 + e). Velocities obey the law exactly; positions may overlap by O(h). (Jean 1999; Acary
& Brogliato 2008.)

The midpoints obey m^{n+1} = m^n + h u^{n+1}, which is a step of Maury's scheme. All rows are linearised there, so that
a curved wall turns the velocity without a change of its length. A body that moves past the middle of an obstacle in
half a step would find itself on its other side; for such rows the gradient is that of q^n. Along the inside of a curved
wall, and along a rod, the law alone would let the gap shrink by h^2 |v|^2 / 2 R in every step, without end. Therefore
equalities, which are always active and have no restitution, hold at the next midpoint, and no gap sinks below the
largest one, delta, that it has had at a midpoint since it closed:

    g + H (G u^{n+1} + d^{n+1}) = 0 in equalities,    g + H (G u^{n+1} + d^{n+1}) >= delta in the others

with H the longest step so far, so that a short step does not make a high speed of an error that a long one left. Gaps
of equalities then stay O(h H) for all times, and bodies never sink by more than the h |G u| of their impact and O(h H).
Positions are of order 2 where there are no impacts. A start velocity across equalities is first projected on
{u : G u + d = 0}, as by an impact at the start.

With friction, restitution belongs to contacts that close: one that carried an impulse in the step before has e = 0, for
its normal turned, and nothing hit. Friction and restitution can contradict each other: no impulses make a disc bounce
out of a corner that locks (mu > 1 for a right angle). If a projection ends without an answer, the contacts that close
and have large impulses lose their e in this step, then all that close, and a warning (`Wedged`) says so.

The force is taken at the midpoints, f^n = f(t^n + h/2, m^n, u^n), which then move by the scheme of Störmer and Verlet:
between impacts positions are of order 2, unless the force depends on the velocity, and springs are stable for w h < 2.
At (t^n, q^n) springs of every w and h would gain energy. A `StiffForce` is taken implicitly, by the trapezoidal rule:
W = M + h/2 C + h^2/4 K stands for M, see `jostle.schemes.stiffness`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np

from jostle._tools.arrays import Array, Booleans, Integers, lowest, squares
from jostle.contacts import Contacts, Cutoff, Feet, by_pair
from jostle.convex.linear_map import stacked
from jostle.convex.metric import Metric
from jostle.convex.projection import Projection
from jostle.convex.rows import Rows
from jostle.errors import EmptySet, LongStep, Wedged, warn
from jostle.laws import Coulomb, aimed, coefficients, reflected
from jostle.pose import Pose
from jostle.problems import Motion
from jostle.schemes.base import Scheme
from jostle.schemes.capabilities import (
    EQUALITIES,
    EXCHANGE,
    MOVING,
    NOT_CONVEX,
    RESTITUTION,
    SECOND,
    STIFF,
    TURNING,
    VARIED_RESTITUTION,
)
from jostle.schemes.cutoff import RETURN, first_cutoff
from jostle.schemes.friction import has_friction, project_on_contacts
from jostle.schemes.state import Impulses, State
from jostle.schemes.stiffness import effective_metric
from jostle.sets.base import ConstraintSet, part_of
from jostle.solvers.base import CLOSING_FACTOR, STUCK, check_round_off

DRIFT_NOISE = 16.0
"""The round-off of dg/dt times h, in multiples of that of the gap."""
BOUNCING_ITERATIONS, PER_COORDINATE = 3000, 6
"""Most iterations, and most for each coordinate, of a step with friction in which contacts bounce; then those that lock
do not. `Automatic` has tried Newton's method twice by then."""
LOCKED = (0.1, 0.0)
"""Contacts lose their restitution if their impulse exceeds this fraction of the largest one; then all of them do."""


MAX_SINKING, SAFE_SINKING = 0.25, 0.01
"""Bodies that come to rest sink by g h^2. The largest and a safe fraction of the smallest radius."""


class Depth(NamedTuple):
    """The largest gap that each closed contact has had at a midpoint since it closed, and the longest step so far."""

    pairs: Integers
    gap: Array
    h: float

    @staticmethod
    def of(touching: Contacts, before: Depth | None, h: float) -> Depth:
        """The largest gaps of the contacts that touch now; `before` has those of the last step."""
        if before is None:
            return Depth(touching.pairs, touching.gap, h)
        known = by_pair(before.pairs, before.gap, touching.pairs, -np.inf)
        return Depth(touching.pairs, np.maximum(touching.gap, known), max(h, before.h))


@dataclass(frozen=True, kw_only=True)
class MoreauJean(Scheme):
    """The Moreau-Jean scheme on velocities, with restitution: Jean 1999; the standard scheme of Siconos.

    For bodies with inertia, e in [0, 1]. Positions may overlap by O(h), which ``sol.overlap`` shows: by h v where they
    collide at the velocity v, and by g h^2 where they come to rest, in each layer of a heap. Walls and radii may move,
    and each contact may have its own e.

    Parameters
    ----------
    solver : Solver, default Automatic()
        Solves the projections.

    Examples
    --------
    >>> import jostle as jo
    >>> ball = jo.Motion(q0=[1.0], v0=[-1.0], within=jo.HalfSpace([1.0]), law=jo.Restitution(0.5))
    >>> jo.solve(ball, jo.MoreauJean(), t=1.8, h=0.03).u[-1].round(12).tolist()
    [0.5]
    >>> piston = jo.HalfSpace([1.0], offset=lambda t: 2.0 * t)
    >>> ball = jo.Motion(q0=[1.0], v0=[-1.0], within=piston, law=jo.Restitution(0.5))
    >>> jo.solve(ball, jo.MoreauJean(), t=1.8, h=0.03).u[-1].round(12).tolist()       # 0.5 + 1.5 times 2
    [3.5]
    """

    capabilities: ClassVar[frozenset[str]] = frozenset(
        {SECOND, RESTITUTION, VARIED_RESTITUTION, MOVING, NOT_CONVEX, EXCHANGE, EQUALITIES, STIFF, TURNING}
    )
    memory_type: ClassVar[type[Any] | None] = Depth
    theta: ClassVar[float] = 0.5
    balances: ClassVar[bool] = True

    def step(self, problem: Motion, state: State, h: float) -> State:
        # One step: Moreau's law for the velocities, and positions by their mean.
        begun = self.begun(problem, state, h)
        if begun is not state:
            state = state.replace(w=begun.w, contacts=None)
        t, q, u, pose = state.t, state.q, state.u, state.pose
        middle, w = pose.moved(state.w, h / 2.0)
        predicted, W = middle.with_spins(*self.predict(problem, t, q, u, h), problem.spun(t + h / 2.0, middle, w, h))
        way = h / 2.0 * u if pose.centres is q else middle.centres - pose.centres
        before, free = state.velocities, middle.velocities(predicted)
        contacts = _at_midpoint(problem.within, t + h / 2.0, pose, middle, way, first_cutoff(h, free, before))
        kept = self.solver.tol * contacts.length
        if has_friction(problem):
            slowed = h * contacts.G.magnitude(np.abs(free - before).ravel())
            kept[: len(slowed)] = np.maximum(kept[: len(slowed)], slowed)
        closed = _closed(contacts, state, h / 2.0 * (np.abs(before) + np.abs(free)), kept)
        touching = contacts.only(closed)
        if lowest(touching.gap + MAX_SINKING * touching.length, 0.0) < 0.0:
            _warn_of_sinking(problem, h)
        sinks = problem.within.convex_gaps is not True or problem.within.equalities
        depth = Depth.of(touching, state.memory, h) if sinks else None
        P, after, p = self._impact(problem, touching, depth, state, (middle, w), predicted, h, W)
        pose, after = middle.moved(after, h / 2.0)
        q = by_mean(q, u, pose.translation(after), h)
        return State(t + h, pose.at(q), after, P, contacts, _of_all(p, closed, len(contacts.gap)), depth)

    def predict(self, problem: Motion, t: float, q: Array, u: Array, h: float) -> tuple[Array, Metric]:
        """The velocity after a step without contacts, u^n + h W^-1 f, and the metric W = M + h/2 C + h^2/4 K.

        Parameters
        ----------
        problem, t, q, u, h : Motion, float, array, array, float
            The problem; time, positions and velocities before the step; and the time step.

        Returns
        -------
        predicted : array
            The velocity that the contacts change, in the shape of q.
        W : Metric
            The metric of the projection; M for a force without slopes.
        """
        W = problem.metric(q) if problem.stiff is None else effective_metric(problem, self.theta, t, q, u, h)
        f = problem.force(t + h / 2.0, q + h / 2.0 * u, u)
        return u + h * W.solve(f.ravel()).reshape(q.shape), W

    def _impact(
        self, problem: Motion, touching: Contacts, depth: Depth | None, state: State, middle: tuple[Pose, Array],
        predicted: Array, h: float, M: Metric,
    ) -> tuple[Projection, Array, Impulses]:  # fmt: skip
        """The law in all contacts that touch: the projection, w after it, and the impulses."""
        pose, w = middle
        law, drift = problem.law, touching.drifts(state.t, h)
        at_rest = touching.gap_at is None or not any(rates.any() for rates in drift)
        plain = depth is None and touching.equal is None and pose.orientation is None
        if plain and at_rest and law.uniform is not None:
            guess, zeros = state.impulses_of(touching), np.zeros(len(touching.gap))
            e, C = law.uniform, Rows(touching.G, zeros, zeros, zeros, None, touching.describe)
            P = self.solver.project(aimed(predicted, w, e), C, M, None if guess is None else guess / (1.0 + e))
            return P, reflected(P.point, w, e), Impulses((1.0 + e) * P.multipliers)
        before = touching.rates(w) + drift[0]
        bounce = coefficients(law, touching, before) * before
        held = np.zeros(len(bounce), dtype=bool)
        if isinstance(law, Coulomb) and state.contacts is not None:
            held = by_pair(state.contacts.pairs, state.impulses.normal, touching.pairs) > 0.0
            bounce = np.where(held, 0.0, bounce)
        K = _rows_of_law(touching, depth, drift[1], bounce, h)
        check_round_off(predicted, K, self.solver.tol)
        if held.any():  # what earlier steps left of gaps closes at a velocity that counts as rest
            closing = -lowest(K.slack(predicted), 0.0)
            slow = RETURN * STUCK * self.solver.tol * CLOSING_FACTOR * closing
            K = replace(K, c=K.c + np.where(held, np.clip(touching.gap / h, 0.0, slow), 0.0))
        solver, bouncing = self.solver, (bounce < 0.0) & isinstance(law, Coulomb)
        few = max(BOUNCING_ITERATIONS, PER_COORDINATE * state.q.size)
        if bouncing.any() and solver.strict and solver.max_iterations > few:
            solver = replace(solver, max_iterations=few)
        try:
            P, p = project_on_contacts(solver, problem, state, touching, K, predicted, M)
            for part in LOCKED if bouncing.any() and solver.strict else ():
                if P.converged:
                    break
                locked = bouncing & (p.normal >= part * p.normal.max())
                free = replace(K, c=np.where(locked, np.maximum(K.c, drift[1]), K.c))
                P, p = project_on_contacts(self.solver, problem, state, touching, free, predicted, M)
                _warn_of_wedge(state.t, locked)
            return P, P.point, p
        except EmptySet as error:
            why = "No velocity obeys the law in all of them: they are squeezed, or their restitutions contradict"
            raise error.because(why) from None

    def begun(self, problem: Motion, state: State, h: float) -> State:
        # At the start, with the nearest velocities that have G u + dg/dt = 0 in all equalities.
        if state.memory is not None or not problem.within.equalities:
            return state
        there = part_of(problem.within, lambda Q: Q.equalities).contacts(state.t, state.pose, np.inf)
        zeros = np.zeros(len(there.gap))
        G, drift = there.on_velocities, there.drifts(state.t, h)[0]
        rates = Rows(G, drift, zeros, zeros, there.equal, there.describe, bound=there.bounds(0.0))
        _, M = state.pose.with_spins(state.u, problem.metric(state.q), state.w)
        P, p = project_on_contacts(self.solver, problem, state, there, rates, state.w, M)
        return state.replace(w=P.point, projection=P, contacts=there, impulses=p)


def by_mean(q: Any, u: Any, after: Any, h: float) -> Any:
    """q^{n+1} = q^n + h (u^n + u^{n+1}) / 2, of numbers or arrays."""
    return q + h * (u + after) / 2.0


def _rows_of_law(touching: Contacts, depth: Depth | None, drift: Array, bounce: Array, h: float) -> Rows:
    """G u + dg/dt + bounce >= 0, with e times the rates before as bounce, where gaps sink no deeper than `depth`."""
    c, zeros, equal, round_off = drift + bounce, np.zeros(len(touching.gap)), touching.equal, touching.noise / h
    length, noise = zeros, zeros if touching.gap_at is None else DRIFT_NOISE * round_off
    if depth is not None:
        c = np.minimum(c, drift + (touching.gap - depth.gap) / depth.h)
        c = np.maximum(c, np.where(touching.gap > 0.0, drift + touching.gap / depth.h, -np.inf))
        noise = np.maximum(noise, round_off)
        if equal is not None:
            later = replace(touching, gap=touching.gap + depth.h * drift)
            c = np.where(equal, later.compatible_gap() / depth.h, c)
            noise, length = np.where(equal, round_off, noise), np.where(equal, touching.length / h, 0.0)
    return Rows(touching.on_velocities, c, length, noise, equal, touching.describe, bound=touching.bounds(h))


def _warn_of_sinking(problem: Motion, h: float) -> None:
    """Warn that bodies which come to rest sink deep into each other, if they do so in steps of this length."""
    force, radii = problem.constant_force, problem.bodies.radii_at(0.0)
    smallest = lowest(radii[radii > 0.0], np.inf)
    if force is None or not smallest < np.inf or not isinstance(problem.mass, Metric):
        return
    sinks = h * h * float(np.abs(problem.mass.solve(force.ravel())).max(initial=0.0)) / smallest
    if sinks > MAX_SINKING:
        warn(
            f"h = {h:g} is too long for bodies of this size: what comes to rest under this force sinks by up to "
            f"{sinks:.2g} of the smallest radius into what it lies on, with MoreauJean; choose h below "
            f"{np.sqrt(SAFE_SINKING / sinks) * h:.2g}",
            LongStep,
        )


def _warn_of_wedge(t: float, locked: Booleans) -> None:
    """Warn that contacts did not bounce."""
    warn(
        f"no impulses obeyed friction and restitution together in the step from t = {t:g}, as where a body is wedged: "
        f"{int(locked.sum())} of the contacts that closed had e = 0 in it",
        Wedged,
    )


def _of_all(p: Impulses, rows: Integers, m: int) -> Impulses:
    """The impulses of some of m contacts, as those of all of them."""

    def spread(values: Array) -> Array:
        every = np.zeros((m, *values.shape[1:]))
        every[rows] = values
        return every

    return Impulses(*(values if values is None else spread(values) for values in p))  # type: ignore[arg-type]


def _at_midpoint(within: ConstraintSet, t: float, pose: Pose, middle: Pose, way: Array, cutoff: Cutoff) -> Contacts:
    """The contacts at the middle; rows that were jumped over have the gradient of the start, and g + G way as gap."""
    # Such a row opens at q + way so fast that it would have been violated at q, and it closes at q. Where bodies move
    # by less than half of the length of a row, none is jumped over.
    there = within.contacts(t, middle, cutoff)
    if within.flat or there.G.shape[0] == 0:
        return there
    opening = there.G @ way.ravel()
    suspect = (opening > 0.0) & (there.gap[: len(opening)] < opening)
    if there.equal is not None:
        suspect &= ~there.equal[: len(opening)]
    if not suspect.any():
        return there
    furthest = float(np.sqrt(squares(way) if way.ndim == 2 else (way * way).sum()).max())
    suspect &= 2.0 * furthest >= there.length[: len(opening)]
    if not suspect.any():
        return there
    here = within.contacts(t, pose, cutoff)
    closing = here.G @ way.ravel()
    jumped = here.only(np.flatnonzero((closing < 0.0) & (here.gap[: len(closing)] + closing <= 0.0)))
    seen = by_pair(there.pairs[: len(suspect)][suspect], np.ones(np.count_nonzero(suspect)), jumped.pairs) > 0.0
    jumped = jumped.only(np.flatnonzero(seen))
    kept = there.only(np.flatnonzero(by_pair(jumped.pairs, np.ones(len(jumped.gap)), there.pairs) == 0.0))
    return _beside(kept, jumped, jumped.G @ way.ravel()) if len(jumped.gap) else there


def _beside(kept: Contacts, jumped: Contacts, change: Array) -> Contacts:
    """The contacts at a midpoint, and after their parts those that were jumped over, whose gaps change by G way."""
    first, last, size = kept.G.shape[0], kept.G.shape[0] + len(change), len(kept.gap)
    feet = Feet.joined([kept, jumped])

    def describe(row: int) -> str:
        return (
            jumped.describe(row - first)
            if first <= row < last
            else kept.describe(row if row < first else row - len(change))
        )

    def gap_at(t: float, rows: Integers) -> Array:
        gap, new = np.insert(kept.gap, first, jumped.gap + change)[rows], (rows >= first) & (rows < last)
        if kept.gap_at is not None:
            gap[~new] = kept.gap_at(t, np.where(rows < first, rows, rows - len(change))[~new])
        if jumped.gap_at is not None:
            gap[new] = jumped.gap_at(t, rows[new] - first) + change[rows[new] - first]
        return gap

    return replace(
        kept,
        gap=np.insert(kept.gap, first, jumped.gap + change),
        G=stacked(kept.G, jumped.G),
        normal=None,
        feet=None if feet is None else feet.only(np.insert(np.arange(size), first, size + np.arange(len(change)))),
        pairs=np.insert(kept.pairs, first, jumped.pairs, axis=0),
        length=np.insert(kept.length, first, jumped.length),
        describe=describe,
        curvature=None,
        equal=None if kept.equal is None else np.insert(kept.equal, first, np.zeros(len(change), dtype=bool)),
        gap_at=None if kept.gap_at is None and jumped.gap_at is None else gap_at,
    )


def _closed(contacts: Contacts, state: State, way: Array, kept: Array) -> Integers:
    """The rows with a gap <= 0, up to the round-off of places and of the ways to them, and all equalities.

    A contact that carried an impulse in the last step stays closed up to the gap `kept`: what a projection leaves of
    its velocity would open it otherwise, and bodies that rest would fall for a step, or through each other.
    """
    near = ~(contacts.gap > contacts.tolerance(way))  # NaN is closed, and then an error of the projection
    if state.contacts is not None:
        held = by_pair(state.contacts.pairs, state.impulses.normal, contacts.pairs) > 0.0
        near |= held & (contacts.gap <= kept)
    return np.flatnonzero(near if contacts.equal is None else near | contacts.equal)
