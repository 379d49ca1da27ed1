"""Stiff forces: the metric in which a scheme takes them implicitly, and a watch over those that it takes explicitly.

A scheme that moves positions by q^{n+1} = q^n + h v, v = (1 - theta) u^n + theta u^{n+1}, takes a force with slopes
K = -df/dq and C = -df/du at q^n + theta h v and v, linearised:

    (M + theta h C + theta^2 h^2 K) (u^{n+1} - u^n) = h f + G^T p,    f = f(q^n, u^n) - theta h K u^n

That is one projection, in the effective metric W = M + theta h C + theta^2 h^2 K. Theta is 1 for `Maury`, the implicit
Euler method, and 1/2 for `MoreauJean`, the trapezoidal rule. If K and C are symmetric and not negative, the energy of a
linear force does not grow, for all h.

An explicit force, or the part of it that the given slopes leave out, is stable if h^2 K + 2 h C < 4 W. With longer
steps the fastest mode turns round in each step, and grows until a wall holds it. Both can be measured without calling
the force: a^n = (u^{n+1} - u^n - M^-1 G^T p) / h is the acceleration by the force in a step. It belongs to the place
that is h u^n away from that of the step before, and along this way h^2 K / M is -h (a^n - a^{n-1}) . u^n / |u^n|^2. If
a^n, of all bodies or of one, turns round, this number exceeds 4, and a^n has grown or has turned round in many steps in
succession, then the force is examined: it is called at both places at one time, which separates its slopes from what
changes in time, and half way, which separates springs from switches. (Hairer, Lubich & Wanner 2006, I.1.)
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from jostle._tools.arrays import Array, dot
from jostle.convex.metric import Metric, metric
from jostle.errors import InvalidValue, NotFinite, UnstableStep, warn
from jostle.problems import Motion
from jostle.schemes.base import Scheme
from jostle.schemes.state import State

STABLE = 4.0
"""Limit of h^2 K + 2 h C, in multiples of M, up to which explicit steps are stable."""
NOTABLE_GROWTH = 8.0
"""A force that turned round in successive steps is examined when |a|^2 has grown by this factor."""
NOTABLE_TURNS = 16
"""A force is examined when it turned round in this many successive steps, even if walls keep it from growing."""
PAUSE = 100
"""Number of steps between two examinations of single bodies, each of which calls the force five times."""
QUIET_STEPS, QUIET = 4, 1e-6
"""A force is quiet after this many steps in which it changed by no more than this fraction."""
BLOW = 1.2
"""A step in which a quiet force turns a velocity round and makes it faster by this factor is examined."""
BLOW_STIFFNESS = 1.0
"""h^2 K from which on, in multiples of M, the slope of the force explains such a step."""
STRAIGHT = 0.5
"""A force is a spring, and no switch, if its value half way is nearer to the mean of its values at both ends than this
fraction of half their difference."""


def effective_metric(problem: Motion, theta: float, t: float, q: Array, u: Array, h: float) -> Metric:
    """W = M + theta h C + theta^2 h^2 K at one state; M if the force has no slopes, or theta is 0."""
    M, stiff = problem.metric(q), problem.stiff
    if stiff is None or theta == 0.0:
        return M
    W: Metric | None = stiff._known(theta, M, h)
    if W is not None:
        return W
    K, C = stiff.slopes(t, q, u)
    try:
        W = metric(_sum(M.mass, _sum(theta * h * C, (theta * h) ** 2 * K)), (q.size,))
    except InvalidValue as error:
        raise InvalidValue(
            f"M + theta h C + (theta h)^2 K is not positive definite at t = {t:g}, for h = {h:g} and theta = {theta:g} "
            f"({error}): choose a smaller h, or leave what is negative out of the stiffness and the damping"
        ) from None
    stiff._keep(theta, M, h, W)
    return W


def stiffness_times(problem: Motion, t: float, q: Array, u: Array) -> Array:
    """K u at one state, in the shape of q, for a force with slopes."""
    assert problem.stiff is not None
    K = problem.stiff.slopes(t, q, u)[0]
    return (K * u.ravel() if K.ndim == 1 else K @ u.ravel()).reshape(q.shape)


def _sum(A: Array, B: Array) -> Array:
    """A + B, of which each is a diagonal or a matrix."""
    if A.ndim == B.ndim:
        return A + B
    return (np.diag(A) if A.ndim == 1 else A) + (np.diag(B) if B.ndim == 1 else B)


class _Step(NamedTuple):
    """A step as the next one needs it."""

    before: State
    after: State
    a: Array
    """The acceleration by the force."""


class ForceWatch:
    """Warns, once in a run, if the force is too stiff for the steps."""

    def __init__(self, problem: Motion, scheme: Scheme):
        self.problem, self.theta = problem, scheme.theta
        self.last: _Step | None = None
        self.growth, self.turns = np.ones(1), np.zeros(1, dtype=int)
        """The growth of |a|^2 and the number of steps since the force last did not turn round: of all bodies together,
        and then of each body."""
        self.quiet = np.zeros(1, dtype=int)
        """Number of steps in which the force on each body did not change."""
        self.next_body, self.done = 0, False
        """The first step at which a single body may be examined; True if no step needs to be looked at any more."""

    @staticmethod
    def of(problem: Any, scheme: Scheme) -> ForceWatch | None:
        """The watch over a run, if its force can be stiff and the velocities of the scheme obey its balance."""
        if not isinstance(problem, Motion) or problem.constant_force is not None or not scheme.balances:
            return None
        return ForceWatch(problem, scheme)

    def after(self, before: State, state: State, h: float, number: int) -> None:
        """Look at a step, and warn if it is one of a force that is too stiff."""
        if self.done:
            return
        M, last = self.problem.metric(before.q), self.last
        u, a = before.u.ravel(), (state.u - before.u).ravel()
        if state.contacts is not None and state.multipliers.any():
            a = a - M.solve(state.pushes())
        a = a / h
        self.last = _Step(before, state, a)
        if last is None or not _same(last.after, before):
            self.turns[:] = 0
            return
        if M.diagonal and isinstance(a, np.ndarray) and self._blow(M, last.a, before, a, h, number):
            return
        against = _parts(M, before.q, a, last.a)
        if not (against < 0.0).any():
            self.turns[:] = 0
            return
        slope, size = h * _parts(M, before.q, last.a - a, u), _parts(M, before.q, u, u)
        turned = (against < 0.0) & (slope > STABLE * size)
        grown = _parts(M, before.q, a, a) / np.where(turned, _parts(M, before.q, last.a, last.a), np.inf)
        before_this = np.where(self.turns > 0, self.growth, 1.0)
        self.growth = np.where(turned, np.maximum(before_this * grown, 1.0), 1.0)
        self.turns = np.where(turned, self.turns + 1, 0)
        notable = self.turns >= NOTABLE_TURNS  # of a single body no less: the examination would draw random forces
        if notable[0] or self.growth[0] >= NOTABLE_GROWTH:
            alone = np.flatnonzero(self.growth[1:] >= NOTABLE_GROWTH)
            self._examine(last.before, before, h, number, int(alone[0]) if len(alone) == 1 else None)
        elif notable.any() and number >= self.next_body:
            body = int(np.argmax(np.where(notable, self.turns, -1))) - 1
            self._examine(last.before, before, h, number, body)
            self.next_body = number + PAUSE

    def _blow(self, M: Metric, before_this: Array, before: State, a: Array, h: float, number: int) -> bool:
        """Whether the force drove a body back faster than it came in one step, as a penalty floor does; then warn."""
        u, now, then = (x.reshape(len(before.q), -1) for x in (before.u, a, before_this))
        same = (np.abs(now - then) <= QUIET * np.abs(now).max(axis=1, keepdims=True)).all(axis=1)
        quiet, self.quiet = self.quiet, np.where(same, self.quiet + 1, 0)
        after = u + h * now
        blown = (quiet >= QUIET_STEPS) & ((u * after).sum(axis=1) < 0.0)
        blown &= (after**2).sum(axis=1) > BLOW**2 * (u**2).sum(axis=1)
        if number < self.next_body or self.problem.past is not None or not blown.any():
            return False
        body, self.next_body = int(np.argmax(blown)), number + PAUSE
        force, way = self.problem.force, np.zeros_like(before.q)
        way[body] = 0.01 * h * before.u[body]
        size = M.inner(way.ravel(), way.ravel())
        if not size > 0.0:  # a body that has all but come to rest, so slow that its square is zero
            return False
        here = force(before.t, before.q, before.u)
        if (here != force(before.t, before.q, before.u)).any():  # random forces do not depend on the state alone
            self.done = True
            return True
        for start in (before.q, before.q + 0.5 * h * before.u):  # where schemes take the force
            f = [force(before.t, start + k * way, before.u).ravel() for k in (0.0, 1.0, 2.0)]
            K, further = (-float(dot(f[k + 1] - f[k], way.ravel())) / size for k in (0, 1))
            if h * h * K > BLOW_STIFFNESS and abs(further - K) <= STRAIGHT * K:
                faster = float(np.linalg.norm(after[body]) / np.linalg.norm(u[body]))
                self._warn_of_blow(before, body, faster, K, h, number)
                return True
        return False

    def _warn_of_blow(self, before: State, body: int, faster: float, K: float, h: float, number: int) -> None:
        self.done = True
        what = "body" if before.q.ndim > 1 else "coordinate"
        warn(
            f"step {number} (t = {before.t + h:.6g}): the force on {what} {body} is too stiff for h = {h:g}, and the "
            f"result is wrong. It acted for one step, turned the velocity round and made it {faster:.3g} times as "
            f"fast; its slope there is h^2 K / M = {h * h * K:.3g} (K = -df/dq). Choose h well below "
            f"{1.0 / np.sqrt(K):.2g}; or let a wall hold the body, within=jo.HalfSpace(...); or give the force with "
            f"its slopes, force=jo.StiffForce(f, stiffness=K), and use Maury or MoreauJean",
            UnstableStep,
        )

    def _examine(self, earlier: State, now: State, h: float, number: int, body: int | None) -> None:
        """Measure the slopes of the force between two states, of all bodies or of one, and warn of unstable steps."""
        part = 0 if body is None else body + 1
        growth, turns, self.turns[part] = float(self.growth[part]), int(self.turns[part]), 0
        if self.problem.past is not None:
            self.done = True
            return
        if body is not None:
            q, u = now.q.copy(), now.u.copy()
            q[body], u[body] = earlier.q[body], earlier.u[body]
            earlier = earlier.replace(q=q, u=u)
        t, force, middle = now.t, self.problem.force, ((now.q + earlier.q) / 2.0, (now.u + earlier.u) / 2.0)
        here, again = force(t, now.q, now.u), force(t, now.q, now.u)
        if (here != again).any():  # random forces do not depend on the state alone
            self.done = True
            return
        moved, there = force(t, earlier.q, now.u), force(t, earlier.q, earlier.u)
        W = effective_metric(self.problem, self.theta, t, now.q, now.u, h)
        (K, steepest), (C, strongest) = (
            _slopes(W, moved - here, now.q - earlier.q),
            _slopes(W, there - moved, now.u - earlier.u),
        )
        if not h * h * K + 2.0 * h * C > STABLE:
            return
        stiffness, damping = h * h * steepest, h * strongest
        try:
            half = force(t, *middle)
        except NotFinite:
            return  # the force is not defined between the two states: it is no spring
        if np.abs(half - (here + there) / 2.0).max() > STRAIGHT * np.abs(here - there).max() / 2.0:
            return  # a switch, about which the motion chatters
        self.done = True
        # the h' with (h'/h)^2 stiffness + 2 (h'/h) damping = 4
        longest = h * STABLE / (damping + float(np.sqrt(damping**2 + STABLE * stiffness)))
        what = f"h^2 K / M = {stiffness:.3g} and h C / M = {damping:.3g}" if damping else f"h^2 K / M = {stiffness:.3g}"
        grew = f"the energy of its impulse grew by a factor of {growth:.3g}" if growth > 2.0 else "only walls held it"
        where = "" if body is None else f" on {'body' if now.q.ndim > 1 else 'coordinate'} {body}"
        partly = "slopes that are closer to its own" if self.problem.stiff else "its slopes"
        warn(
            f"step {number} (t = {now.t + h:.6g}): the force{where} is too stiff for h = {h:g}, and the result is "
            f"wrong. It turned round in each of the last {turns + 1} steps, and {grew}; between the last two its "
            f"slopes are {what} (K = -df/dq, C = -df/du), and explicit steps need h^2 K + 2 h C < {STABLE:g} M. Choose "
            f"h well below {longest:.2g}, or give the force with {partly}, force=jo.StiffForce(f, stiffness=K, "
            f"damping=C), and use Maury or MoreauJean",
            UnstableStep,
        )


def _parts(M: Metric, q: Array, x: Array, y: Array) -> Array:
    """x . M y: of all bodies together, and then, if M is a diagonal on the CPU, of each body."""
    whole = np.array([float(M.inner(x, y))])
    if len(q) == 1 or not M.diagonal or not isinstance(x, np.ndarray):
        return whole
    return np.concatenate([whole, (M.mass * x * y).reshape(len(q), -1).sum(axis=1)])


def _same(one: State, other: State) -> bool:
    """Whether two states have the same positions and velocities."""
    return one is other or bool((one.q == other.q).all() and (one.u == other.u).all())


def _slopes(W: Metric, change: Array, way: Array) -> tuple[float, float]:
    """How much a force falls along a way, in multiples of W: y . x / x . W x, at least 0, and y . W^-1 y / y . x."""
    # The second slope is closer to the largest one, if some coordinates move without a change of force.
    y, x = change.ravel(), way.ravel()
    work, size = float(dot(y, x)), W.inner(x, x)
    return (work / size, float(dot(y, W.solve(y))) / work) if work > 0.0 and size > 0.0 else (0.0, 0.0)
