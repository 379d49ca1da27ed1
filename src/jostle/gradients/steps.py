"""The derivative of one step of `Maury`, `Venel` or `CatchingUp`.

Each step of these schemes is one projection, whose derivative is that of `gradients.projection`. For `Maury`,

    w = u + h M^-1 f(t, q, u),    u' = P_K w,    K = {v : g(q) / h + G(q) v >= 0},    q' = q + h u',

the changes (dq, du) of a state lead, with the Hessians H_i of the gaps of the active rows, to

    M du' - G^T dp = M dw + sum p_i H_i dq,        G du' = -(G dq / h + (dq . H_i u')_i),       dq' = dq + h du'.

`Venel` has w = U(t, q). `CatchingUp` linearises at the new point x itself: M - sum p_i H_i takes the place of M, and
the right-hand sides have no Hessians. The reverse mode solves the same systems.

`Paoli` and `MoreauJean` with e > 0 are refused: their steps are differentiable, but the derivatives do not tend to that
of the motion, whatever h. For a ball that bounces once they give -0.8 and +1.0, and the motion has +0.19. With e = 0
`MoreauJean` is wrong as well: the overlap that an impact leaves changes as much as the start does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from jostle._tools.arrays import Array, Booleans, Integers, read_only
from jostle.contacts import Contacts, by_pair
from jostle.convex.metric import Metric
from jostle.convex.rows import Rows
from jostle.differences import RELATIVE_STEP
from jostle.errors import InvalidValue, SchemeRefuses
from jostle.gradients.functions import Slopes
from jostle.gradients.projection import Saddle, active_rows, check_certain, times_mass
from jostle.problems import Motion, Sweeping, refuse_changes
from jostle.schemes.base import Scheme
from jostle.schemes.catching_up import CatchingUp
from jostle.schemes.cutoff import velocities_of_step
from jostle.schemes.maury import Maury, gauss
from jostle.schemes.moreau_jean import MoreauJean
from jostle.schemes.paoli import Paoli
from jostle.schemes.state import State
from jostle.schemes.venel import Venel
from jostle.sets.balls import Balls, Line
from jostle.sets.base import ConstraintSet, anew, parts
from jostle.sets.user import differences_of
from jostle.sets.walls import Walls
from jostle.solvers.project import not_converged

CURVATURE_STEP, ROUGH_CURVATURE_STEP = 1e-4, 1e-3
"""Steps of the differences of gradients, relative to a length: of sets with exact gradients, and of sets whose
gradients are differences themselves."""
CATCHING_UP_TOLERANCE = 1e-10
"""Largest tolerance of the projections of `CatchingUp`, which are not linear and are not improved afterwards."""
INERT = 1e-6
"""A weak contact whose slack changes by less than this fraction of the velocities stays closed for all changes."""
ROUND_OFF_OF_CHANGES = 1e-11
"""Changes below this fraction of the largest one in the run are round-off."""


class Change(NamedTuple):
    """Changes of the data of a run: of masses, of radii (n,) and of theta."""

    mass: Array | None
    radii: Array | None
    theta: Array | None


class Sums:
    """What the reverse mode adds up over the steps: derivatives with respect to masses, radii and theta."""

    def __init__(self, run: Run):
        N = run.problem.q0.size
        self.mass = np.zeros(N if run.metric.diagonal else (N, N))
        self.radii = np.zeros(run.bodies)
        self.theta = np.zeros(len(run.twins))


class Run:
    """A run that is differentiated: its problem and scheme, and what their steps share."""

    def __init__(self, problem: Any, scheme: Scheme, theta: Array | None):
        self.theta = theta
        self.problem = problem if theta is None else _built(problem, theta)
        _check(self.problem, scheme)
        self.scheme = scheme
        if isinstance(scheme, CatchingUp) and scheme.solver.tol > CATCHING_UP_TOLERANCE:
            self.scheme = replace(scheme, solver=replace(scheme.solver, tol=CATCHING_UP_TOLERANCE))
        self.metric: Metric = self.problem.metric(self.problem.q0)
        self.beside = anew(self.problem.within)
        """A copy of the admissible set for differences, so that the run itself keeps its bits."""
        self.differences = differences_of(self.beside)
        q0, sets = self.problem.q0, parts(self.problem.within)
        self.bodies = len(q0) if q0.ndim > 1 else 1
        first = self.problem.within.near(0.0, q0, 0.0)
        if first.part_count > 1 and q0.size % first.part_count == 0:
            self.bodies = first.part_count
        self.numbers = [Q.near(0.0, q0, 0.0).constraint_count for Q in sets]
        common = self.problem.within.bodies
        self.shares = share_radii(self.problem.within)
        self.sized, self.length = common.radii is not None, common.largest
        motion = isinstance(self.problem, Motion)
        value, given = (self.problem.force if motion else self.problem.velocity), self.problem._given
        self.slopes = Slopes(value, given, motion, self.length)
        self.twins: list[tuple[Any, Any, float]] = []
        if theta is not None:
            for k in np.ndindex(theta.shape):
                step = RELATIVE_STEP * (abs(float(theta[k])) or 1.0)
                ahead, behind = theta.copy(), theta.copy()
                ahead[k], behind[k] = theta[k] + step, theta[k] - step
                twins = _built(problem, ahead), _built(problem, behind)
                for twin in twins:
                    check_twin(twin, self.problem)
                self.twins.append((*twins, float(ahead[k] - behind[k])))

    @property
    def differenced(self) -> tuple[str, ...]:
        """What is differentiated by differences."""
        found = []
        if self.slopes.differenced:
            found.append("force" if isinstance(self.problem, Motion) else "velocity")
        unknown = [repr(Q) for Q in parts(self.problem.within) if Q.near(0.0, self.problem.q0, 0.0).curvature is None]
        return (*found, *unknown, *(["theta"] if self.twins else []))

    def step(self, before: State, h: float, t: float) -> tuple[Step, State]:
        """A step with its derivative, and the state that it leads to."""
        after = self.scheme.advance(self.problem, before, h, t)
        assert after.projection is not None
        if not after.projection.converged:
            raise not_converged(after.projection, self.scheme.solver)
        step: Step = KINDS[type(self.scheme)](self, before, after, h)
        return step, step.end(after)

    def swelling(self, pairs: Integers) -> Array:
        """(m, 2) how much each gap shrinks if the radii of its two bodies grow: 1 or 0."""
        found = np.zeros(pairs.shape)
        i, j = pairs.T
        if not self.sized:
            return found
        found[(i >= 0) & (j >= 0)] = 1.0
        first = 0
        for own, shares in zip(self.numbers, self.shares, strict=True):
            if shares:
                found[(i >= 0) & (j < -first) & (j >= -first - own), 0] = 1.0
            first += own
        return found


def share_radii(within: ConstraintSet) -> list[bool]:
    """For each part of a set: whether its gaps depend on the radii that all parts have in common."""
    common = within.bodies
    return [isinstance(Q, Balls | Line | Walls) and common.same_radii(Q.bodies) for Q in parts(within)]


class Curvature:
    """The Hessians H_i of the gaps of some rows, by products.

    Exact where a gap is that of two bodies or of a body and a wall, H = b (I - n n^T); differences of gradients
    otherwise.
    """

    def __init__(self, run: Run, contacts: Contacts, rows: Integers, t: float, q: Array):
        self.run, self.t, self.q, self.cutoff = run, t, q, contacts.cutoff
        self.pairs, self.bodies = contacts.pairs[rows], contacts.part_count
        curvatures = contacts.curvatures[rows]
        unknown = np.isnan(curvatures)
        self.known = np.flatnonzero(~unknown & (curvatures != 0.0))
        self.unknown = np.flatnonzero(unknown)
        if len(self.known):
            self.i, self.j = self.pairs[self.known].T
            self.curvature = curvatures[self.known]
            self.normal = contacts.only(rows[self.known]).normals

    def _apart(self, v: Array) -> Array:
        """(m, d) the velocities v of the second bodies relative to the first ones, without their normal parts."""
        each = v.reshape(self.bodies, -1)
        apart = np.where((self.j >= 0)[:, None], each[np.maximum(self.j, 0)], 0.0) - each[self.i]
        return np.asarray(apart - (apart * self.normal).sum(axis=1)[:, None] * self.normal)

    def rates(self, v: Array, u: Array) -> Array:
        """(m,) v . H_i u."""
        found = np.zeros(len(self.pairs))
        if len(self.known):
            found[self.known] = self.curvature * (self._apart(v) * self._apart(u)).sum(axis=1)
        if len(self.unknown) and v.any():
            found[self.unknown] = self._differenced(v, lambda there: by_pair(there.pairs, there.G @ u, self.missing))
        return found

    def force(self, y: Array, v: Array) -> Array:
        """(N,) sum y_i H_i v."""
        found = np.zeros(v.size)
        if len(self.known):
            pull = (y[self.known] * self.curvature)[:, None] * self._apart(v)
            each, two = found.reshape(self.bodies, -1), self.j >= 0
            np.subtract.at(each, self.i, pull)
            np.add.at(each, self.j[two], pull[two])
        if len(self.unknown) and v.any():
            load = y[self.unknown]
            found += self._differenced(v, lambda there: there.G.adjoint(by_pair(self.missing, load, there.pairs)))
        return found

    @property
    def missing(self) -> Integers:
        """Pairs of the rows whose Hessians are not known."""
        return np.ascontiguousarray(self.pairs[self.unknown])

    def _differenced(self, v: Array, value: Callable[[Contacts], Array]) -> Array:
        """The derivative along v of something that is linear in G, by differences of fourth order."""
        run, q = self.run, self.q
        part = ROUGH_CURVATURE_STEP if run.differences else CURVATURE_STEP
        step = part * (run.length or float(np.abs(q).max(initial=0.0)) or 1.0) / float(np.abs(v).max())
        way, before = v.reshape(q.shape), [one.memory for one in run.differences]
        values = []
        for distance in (1.0, -1.0, 2.0, -2.0):
            for one, memory in zip(run.differences, before, strict=True):
                one.restore(memory)
            values.append(value(run.beside.near(self.t, q + distance * step * way, _wider(self.cutoff, q))))
        return (8.0 * (values[0] - values[1]) - (values[2] - values[3])) / (12.0 * step)


def _wider(cutoff: Any, q: Array) -> Any:
    """A cutoff that has all rows of a step, also a little beside it."""
    return np.inf if q.ndim < 2 else 1.5 * cutoff


class Touching:
    """Some rows of a step: how c + G u changes with what the step depends on, at a fixed u."""

    def __init__(self, step: Step, rows: Integers):
        contacts = step.contacts
        self.step, self.rows, self.G, self.pairs = step, rows, contacts.G.rows(rows), contacts.pairs[rows]
        self.rate, self.overlap = (each[rows] for each in (step.rates_of_offsets(), step.rates_of_overlaps()))
        self.swell = step.run.swelling(self.pairs)
        q = step.place.reshape(step.before.q.shape)
        self.curvature = Curvature(step.run, contacts, rows, step.t_contacts, q)
        self.earlier: Contacts | None = None
        """The contacts at the time before the step, if overlaps of a moving set are closed in it."""
        if self.overlap.any():
            self.earlier = step.run.beside.near(step.before.t, q, _wider(contacts.cutoff, q))

    def times(self, dq: Array) -> Array:
        """(m,) the change of the offsets c with the positions before the step."""
        found = self.rate * (self.G @ dq)
        if self.earlier is not None:
            before = by_pair(self.earlier.pairs, self.earlier.G @ dq, self.pairs)
            found = found + self.overlap * (before - self.G @ dq)
        return np.asarray(found)

    def adjoint(self, z: Array) -> Array:
        """(N,) the derivative of <z, c> with respect to the positions before the step."""
        if self.earlier is None:
            return self.G.adjoint(self.rate * z)
        before = self.earlier.G.adjoint(by_pair(self.pairs, self.overlap * z, self.earlier.pairs))
        return np.asarray(self.G.adjoint((self.rate - self.overlap) * z) + before)

    def change(self, dq: Array, change: Change) -> Array:
        """(m,) the change of c + G u for changes of the positions, the radii and theta."""
        found = self.step.change_of_rows(self, dq)
        if change.radii is not None:
            i, j = np.maximum(self.pairs, 0).T
            found = found - self.rate * (self.swell[:, 0] * change.radii[i] + self.swell[:, 1] * change.radii[j])
        if change.theta is not None:
            for size, (ahead, behind, width) in zip(change.theta, self.step.run.twins, strict=True):
                found = found + size * (self.values(ahead.within)[0] - self.values(behind.within)[0]) / width
        return found

    def values(self, within: ConstraintSet, p: Array | None = None) -> tuple[Array, Array]:
        """c + G u of the same rows in another admissible set, and G^T p."""
        step = self.step
        q = step.place.reshape(step.before.q.shape)
        cutoff = _wider(step.contacts.cutoff, q)
        there = within.near(step.t_contacts, q, cutoff)
        gap = by_pair(there.pairs, there.gap, self.pairs, np.nan)
        found = gap * self.rate
        if self.overlap.any():
            earlier = within.near(step.before.t, q, cutoff)
            found = found + self.overlap * (by_pair(earlier.pairs, earlier.gap, self.pairs, np.nan) - gap)
        if step.linearised_before:
            found = found + by_pair(there.pairs, there.G @ step.u, self.pairs, np.nan)
        if np.isnan(found).any():
            row = int(self.rows[int(np.argmax(np.isnan(found)))])
            raise InvalidValue(
                f"{step.contacts.describe(row)} is not among the constraints for all theta near the given one"
            )
        return found, np.zeros(0) if p is None else there.G.adjoint(by_pair(self.pairs, p, there.pairs))


class Step:
    """The derivative of one step. A scheme defines what the step projects and where its constraints are linearised.

    Changes of a state are flat. (r, b) are the right-hand sides of the `Saddle`.
    """

    w: Array
    """(N,) the point that is projected."""
    u: Array
    """(N,) the projection."""
    place: Array
    """(N,) where the constraints are linearised."""
    linearised_before = True
    """Whether the constraints are linearised at the state before the step."""
    second_order = False
    """Whether velocities are part of the state, so that impacts change them."""

    def __init__(self, run: Run, before: State, after: State, h: float):
        assert after.contacts is not None
        assert after.projection is not None
        self.run, self.before, self.h, self.t_contacts, self.end_time = run, before, h, before.t + h, after.t
        self.contacts, self.M = after.contacts, run.problem.metric(before.q)
        K = self.linearise(before, after)
        self.active, self.weak, exact, p = active_rows(self.w, K, self.M, after.projection)
        self.p = p[self.active]
        if self.linearised_before:
            self.u = exact
        self.rows = Touching(self, self.active) if len(self.active) else None
        self.saddle = Saddle(self.contacts.G.rows(self.active), self.M, self.curvature())

    def linearise(self, before: State, after: State) -> Rows:
        """Set w, u and place, and return the rows of the projection."""
        raise NotImplementedError

    def end(self, after: State) -> State:
        """The state after the step, with the exact projection."""
        return after

    def forces(self) -> Array:
        """(active,) the contact forces, whose impulses in this step are the multipliers p."""
        return self.p / self.h

    def rates_of_offsets(self) -> Array:
        """(m,) how the offset c of each row changes with its gap."""
        raise NotImplementedError

    def rates_of_overlaps(self) -> Array:
        """(m,) how much of these rates belongs to the gaps at the time before the step, if the set moves."""
        return np.zeros(len(self.contacts.gap))

    def change_of_rows(self, rows: Touching, dq: Array) -> Array:
        """(m,) the change of c + G u with the positions before the step."""
        raise NotImplementedError

    def curvature(self) -> Callable[[Array], Array] | None:
        """The products with sum p_i H_i, if the constraints are linearised at the projection itself."""
        return None

    def point(self, problem: Any) -> Array:
        """(N,) the point that this step projects in a problem, which may have another theta."""
        raise NotImplementedError

    def point_forward(self, dq: Array, du: Array, change: Change) -> Array:
        """The change of w, except by theta."""
        raise NotImplementedError

    def point_reverse(self, of_w: Array, sums: Sums) -> tuple[Array, Array]:
        """The derivatives with respect to q and u before the step, through w."""
        raise NotImplementedError

    def forward(self, dq: Array, du: Array, change: Change) -> tuple[Array, Array]:
        """The changes of q and u after the step, for those before it."""
        raise NotImplementedError

    def reverse(self, of_q: Array, of_u: Array, sums: Sums) -> tuple[Array, Array]:
        """The derivatives with respect to q and u before the step, for those with respect to q and u after it."""
        raise NotImplementedError

    def opens(self, dq: Array, new_q: Array, new_u: Array, change: Change, largest: float) -> Booleans:
        """(weak,) which weak rows open or are violated by changes that lead to these; `largest` is that of any dq."""
        rows, moved = Touching(self, self.weak), new_u if self.linearised_before else new_q
        rates = rows.change(dq, change) + (rows.G @ moved)
        scale = rows.rate * rows.G.magnitude(np.abs(dq)) + rows.G.magnitude(np.abs(moved))
        noise = ROUND_OFF_OF_CHANGES * largest * rows.rate * rows.G.magnitude(np.ones(len(dq)))
        return np.asarray(np.abs(rates) > INERT * scale + noise)

    def is_ambiguous(self, dq: Array, new_q: Array, change: Change, rng: np.random.Generator) -> bool:
        """Whether the change of the projection depends on the choice of the multipliers, which dependent rows allow."""
        y = self.saddle.self_stress(rng)
        if y is None or self.rows is None:
            return True
        rates = self.rows.change(dq, change)
        force = self.rows.curvature.force(y, dq if self.linearised_before else new_q)
        moved, _ = self.saddle.solve(force, np.zeros(len(y)))
        contradiction = abs(float(y @ rates)) > INERT * float(np.abs(y) @ np.abs(rates))
        return contradiction or bool(np.abs(moved).max() > INERT * np.abs(self.M.solve(force)).max())

    def projected(self, dq: Array, du: Array, change: Change) -> Array:
        """The change of the projection."""
        r = self.M.times(self.point_forward(dq, du, change))
        if change.mass is not None:
            r = r - _times(change.mass, self.u - self.w, self.before.q.shape)
        b = np.zeros(len(self.active))
        if self.rows is not None:
            b = -self.rows.change(dq, change)
            if self.linearised_before:
                r = r + self.rows.curvature.force(self.p, dq)
        if change.theta is not None:
            for size, (of_r, _) in zip(change.theta, self.by_theta(), strict=True):
                r = r + size * of_r
        return self.saddle.solve(r, b)[0]

    def pulled_back(self, of_projection: Array, sums: Sums) -> tuple[Array, Array]:
        """The derivatives with respect to q and u before the step, through the projection."""
        a, z = self.saddle.solve(of_projection, np.zeros(len(self.active)))
        _add_mass(sums, a, self.u - self.w)
        for k, (of_r, of_b) in enumerate(self.by_theta()):
            sums.theta[k] += a @ of_r + z @ of_b
        of_q, of_u = self.point_reverse(self.M.times(a), sums)
        if self.rows is None:
            return of_q, of_u
        rows, loads = self.rows, self.rows.rate * z
        for side in (0, 1):
            np.add.at(sums.radii, np.maximum(rows.pairs[:, side], 0), rows.swell[:, side] * loads)
        if self.linearised_before:
            of_q = of_q + rows.curvature.force(self.p, a) - rows.curvature.force(z, self.u) - rows.adjoint(z)
        return of_q, of_u

    def by_theta(self) -> Iterator[tuple[Array, Array]]:
        """(r, b) for a change of each entry of theta, by differences of w, c, G and M."""
        for ahead, behind, width in self.run.twins:
            mass = (ahead.metric(self.before.q).mass - behind.metric(self.before.q).mass) / width
            r = self.M.times((self.point(ahead) - self.point(behind)) / width) - _product(mass, self.u - self.w)
            b = np.zeros(len(self.active))
            if self.rows is not None:
                (c, push), (other_c, other_push) = (self.rows.values(one.within, self.p) for one in (ahead, behind))
                r, b = r + (push - other_push) / width, (other_c - c) / width
            yield r, b


class VelocityStep(Step):
    """A step that projects a velocity on K_h, and moves by q' = q + h u': `Maury` and `Venel`."""

    def linearise(self, before: State, after: State) -> Rows:
        self.place, self.u = before.q.ravel(), after.u.ravel()
        self.w = self.point(self.run.problem)
        return velocities_of_step(self.contacts, before, self.h)

    def end(self, after: State) -> State:
        u = self.u.reshape(after.u.shape)
        return after.replace(q=read_only(self.before.q + self.h * u), u=read_only(u))

    def rates_of_offsets(self) -> Array:
        contacts, before, h = self.contacts, self.before, self.h
        rates = np.full(len(contacts.gap), 1.0 / h)
        if before.impulse_time > h:
            if contacts.gap_at is not None and contacts.equal is not None:
                raise InvalidValue("equalities that move need steps of equal length: choose h so that it divides t")
            rates[(self._gaps_before() < 0.0) | (False if contacts.equal is None else contacts.equal)] = (
                1.0 / before.impulse_time
            )
        return rates

    def _gaps_before(self) -> Array:
        """(m,) the gaps at the time before the step."""
        contacts, before = self.contacts, self.before
        return contacts.gap if contacts.gap_at is None else contacts.gap_at(before.t, np.arange(len(contacts.gap)))

    def rates_of_overlaps(self) -> Array:
        impulse_time, h = self.before.impulse_time, self.h
        if self.contacts.gap_at is None or not impulse_time > h:
            return super().rates_of_overlaps()
        return np.where(self._gaps_before() < 0.0, 1.0 / impulse_time - 1.0 / h, 0.0)

    def change_of_rows(self, rows: Touching, dq: Array) -> Array:
        return rows.times(dq) + rows.curvature.rates(dq, self.u)

    def forward(self, dq: Array, du: Array, change: Change) -> tuple[Array, Array]:
        new = self.projected(dq, du, change)
        return dq + self.h * new, new

    def reverse(self, of_q: Array, of_u: Array, sums: Sums) -> tuple[Array, Array]:
        before_q, before_u = self.pulled_back(of_u + self.h * of_q, sums)
        return of_q + before_q, before_u


class MauryStep(VelocityStep):
    """A step of `Maury`: w = u + h M^-1 f(t, q, u)."""

    second_order = True

    def _samples(self) -> Iterator[tuple[float, float]]:
        """(time, weight) of the average force."""
        points, weights = gauss(self.run.scheme.samples)  # type: ignore[attr-defined]
        return ((self.before.t + self.h * float(s), float(weight)) for s, weight in zip(points, weights, strict=True))

    def point(self, problem: Any) -> Array:
        before = self.before
        scheme: Any = self.run.scheme
        return np.asarray(scheme.predict(problem, before.t, before.q, before.u, self.h)[0].ravel())

    def point_forward(self, dq: Array, du: Array, change: Change) -> Array:
        q, u, shape = self.before.q, self.before.u, self.before.q.shape
        impulse = np.zeros(q.size)
        if not self.run.slopes.constant:
            ways = dq.reshape(shape), du.reshape(shape)
            for t, weight in self._samples():
                impulse += self.h * weight * self.run.slopes.forward(t, q, u, *ways).ravel()
        if change.mass is not None:
            impulse = impulse - _times(change.mass, self.w - u.ravel(), shape)
        return np.asarray(du + self.M.solve(impulse))

    def point_reverse(self, of_w: Array, sums: Sums) -> tuple[Array, Array]:
        q, u = self.before.q, self.before.u
        a = self.M.solve(of_w)
        _add_mass(sums, a, self.w - u.ravel())
        of_q, of_u = np.zeros(q.size), of_w
        if not self.run.slopes.constant:
            for t, weight in self._samples():
                more = self.run.slopes.reverse(t, q, u, self.h * weight * a.reshape(q.shape))
                of_q, of_u = of_q + more[0].ravel(), of_u + more[1].ravel()
        return of_q, of_u


class VenelStep(VelocityStep):
    """A step of `Venel`: w = U(t, q)."""

    def forces(self) -> Array:
        return self.p

    def point(self, problem: Any) -> Array:
        return problem.velocity(self.before.t, self.before.q).ravel()  # type: ignore[no-any-return]

    def point_forward(self, dq: Array, du: Array, change: Change) -> Array:
        return _slope_forward(self, dq)

    def point_reverse(self, of_w: Array, sums: Sums) -> tuple[Array, Array]:
        return _slope_reverse(self, of_w), np.zeros_like(of_w)


class CatchingUpStep(Step):
    """A step of `CatchingUp`: the projection of q + h U(t, q) on the set itself, u = (q' - q) / h."""

    linearised_before = False

    def linearise(self, before: State, after: State) -> Rows:
        self.u = self.place = after.q.ravel()
        self.w = self.point(self.run.problem)
        return self.contacts.positions(after.q)

    def rates_of_offsets(self) -> Array:
        return np.ones(len(self.contacts.gap))

    def change_of_rows(self, rows: Touching, dq: Array) -> Array:
        return np.zeros(len(rows.rate))

    def curvature(self) -> Callable[[Array], Array] | None:
        rows = self.rows
        return None if rows is None else lambda v: rows.curvature.force(self.p, v)

    def point(self, problem: Any) -> Array:
        before = self.before
        return (before.q + self.h * problem.velocity(before.t, before.q)).ravel()  # type: ignore[no-any-return]

    def point_forward(self, dq: Array, du: Array, change: Change) -> Array:
        return dq + self.h * _slope_forward(self, dq)

    def point_reverse(self, of_w: Array, sums: Sums) -> tuple[Array, Array]:
        return of_w + self.h * _slope_reverse(self, of_w), np.zeros_like(of_w)

    def forward(self, dq: Array, du: Array, change: Change) -> tuple[Array, Array]:
        new = self.projected(dq, du, change)
        return new, (new - dq) / self.h

    def reverse(self, of_q: Array, of_u: Array, sums: Sums) -> tuple[Array, Array]:
        before_q, before_u = self.pulled_back(of_q + of_u / self.h, sums)
        return before_q - of_u / self.h, before_u


KINDS: dict[type[Scheme], Any] = {Maury: MauryStep, Venel: VenelStep, CatchingUp: CatchingUpStep}
"""The schemes that have derivatives."""


def _slope_forward(step: Step, dq: Array) -> Array:
    """The change of the desired velocity."""
    t, q, u = step.before.t, step.before.q, step.before.u
    return step.run.slopes.forward(t, q, u, dq.reshape(q.shape), np.zeros_like(q)).ravel()


def _slope_reverse(step: Step, of_w: Array) -> Array:
    """The gradient of <of_w, U> with respect to q."""
    t, q, u = step.before.t, step.before.q, step.before.u
    return step.run.slopes.reverse(t, q, u, of_w.reshape(q.shape))[0].ravel()


def _product(mass: Array, v: Array) -> Array:
    return mass * v if mass.ndim < 2 else mass @ v


def _times(mass: Array, v: Array, shape: tuple[int, ...]) -> Array:
    """The product of a change of the mass with a flat vector."""
    return times_mass(mass, v.reshape(shape)).ravel()


def _add_mass(sums: Sums, a: Array, moved: Array) -> None:
    """Add the derivative of -<a, dM moved> with respect to M."""
    sums.mass -= a * moved if sums.mass.ndim < 2 else (np.outer(a, moved) + np.outer(moved, a)) / 2.0


def _built(problem: Callable[[Array], Any], theta: Array) -> Any:
    """The problem of a theta."""
    found = problem(theta.copy())
    if not isinstance(found, Motion | Sweeping):
        raise InvalidValue(f"the function of theta must return a jo.Motion or a jo.Sweeping, not {found!r}")
    return found


def check_twin(twin: Any, problem: Any) -> Any:
    """Refuse a function of theta that returns problems of different kinds."""
    if type(twin) is not type(problem) or twin.q0.shape != problem.q0.shape:
        raise InvalidValue("the function of theta must return problems of the same kind, with q0 of the same shape")
    return twin


def _check(problem: Any, scheme: Scheme) -> None:
    """Refuse schemes and problems without a derivative."""
    name = type(scheme).__name__
    if isinstance(scheme, Paoli | MoreauJean):
        if isinstance(problem, Motion) and problem.law.uniform == 0.0:
            why = (
                "the derivative of Paoli with e = 0 is not available"
                if isinstance(scheme, Paoli)
                else "the derivative of MoreauJean does not converge to that of the motion, also with e = 0: a ball on "
                "a floor has +1.0 instead of 0, because the overlap that its impact leaves changes as its start does"
            )
            raise SchemeRefuses(f"{why}; use Maury, which solves the same problem")
        raise SchemeRefuses(
            f"the derivative of {name} with e > 0 does not converge to that of the motion, whatever h: for a ball that "
            f"bounces once, MoreauJean has +1.0 and Paoli -0.8 instead of +0.19; use jo.sensitivity_by_events"
        )
    if type(scheme) not in KINDS:
        raise SchemeRefuses(f"{name} has no derivative; use Maury, Venel or CatchingUp")
    scheme.check(problem)
    check_certain(scheme.solver)
    reasons = {
        "bodies that turn (friction, clumps, shapes)": problem.bodies.turn,
        "a StiffForce": getattr(problem, "stiff", None) is not None,
        "bodies that come and go": problem.presence is not None,
        "a force or velocity that depends on the past of the run": problem.past is not None,
    }
    for words, there in reasons.items():
        if there:
            raise SchemeRefuses(f"derivatives of runs are not available for {words}: leave it out")
    refuse_changes(problem, "sensitivity")
