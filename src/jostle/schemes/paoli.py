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
not be convex; a wall that is jumped over, because it is thinner than h |v|, is an error (`LeftTheSet`). Order 1 with
impacts, 2 without.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np

from jostle.arguments import Finite
from jostle.arrays import Array, Integers, finite
from jostle.convex.metric import Metric
from jostle.errors import NoContraction, SchemeRefuses
from jostle.problems import Motion
from jostle.schemes.abilities import EQUALITIES, NOT_CONVEX, RESTITUTION, SECOND, VARIABLE_MASS
from jostle.schemes.base import Scheme
from jostle.schemes.close_impacts import NO_PAIRS, watch, watch_first
from jostle.schemes.state import POSITION_ROUND_OFF, State
from jostle.sets.curvature import Nearest
from jostle.sets.nearest import nearest
from jostle.solvers.automatic import Automatic
from jostle.solvers.base import Solver

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
    """Second order on positions, restitution e in [0, 1], masses M(q), sets that need not be convex.

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

    abilities: ClassVar[frozenset[str]] = frozenset({SECOND, RESTITUTION, VARIABLE_MASS, NOT_CONVEX, EQUALITIES})
    remembers: ClassVar[type[Any] | None] = Memory
    balances: ClassVar[bool] = True

    solver: Solver = field(default_factory=Automatic)
    z: Finite | Callable[[float], Array] = 0.5
    implicit: bool = False

    def check(self, problem: Motion) -> None:
        """Refuse a problem that the scheme cannot solve.

        Parameters
        ----------
        problem : Motion
            The problem.

        Raises
        ------
        SchemeRefuses
            If the problem needs more than the scheme can do, or `implicit` is True and e > 0.
        """
        super().check(problem)
        if self.implicit and problem.law.number != 0.0:
            raise SchemeRefuses(
                f"Paoli takes the force implicitly for e = 0 only (Paoli 2005), the problem has e = "
                f"{problem.law.number:g}; use implicit=False"
            )

    def projects_positions(self, problem: Motion) -> bool:
        """Whether the residual of a step bounds the overlaps of its q.

        Parameters
        ----------
        problem : Motion
            The problem.

        Returns
        -------
        bool
            True if e = 0: then q itself is projected.
        """
        return problem.law.number == 0.0

    def step(self, problem: Motion, state: State, h: float) -> State:
        """One step: (4) for the first one, (5)-(7) for the others.

        Parameters
        ----------
        problem : Motion
            The problem of the bodies that are present.
        state : State
            The state before the step.
        h : float
            Time step.

        Returns
        -------
        State
            The state after the step.

        Raises
        ------
        NoContraction
            If the fixed point of an implicit force does not contract: h is too large.
        """
        if state.memory is None or _was_changed(state):
            return self._first(problem, state, h)
        t, q, u, e, M = state.t, state.q, state.u, problem.law.number, problem.metric(state.q)
        before, h_before = state.memory.before, state.memory.h
        X = _traced_back(problem, state, h)
        if e > 0.0 and problem.within.equalities:
            X = nearest(problem.within.part(lambda Q: Q.equalities), X, M, t, self.solver)[0].point

        def correct(F: Array) -> tuple[Nearest, Array]:
            W = (q + h / h_before * (q - before) + h * (h + h_before) / 2.0 * F + e * X) / (1.0 + e)
            Z = nearest(problem.within, W, M, t, self.solver)
            return Z, (1.0 + e) * Z[0].point - e * X

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
        Z = nearest(problem.within, q + h * v + h * z, M, t, self.solver)
        rest = np.zeros_like(q)
        memory = Memory(q, h, Z[0].point, rest, h, rest, *watch_first(problem, state, h, Z, F))
        return _state(state, h, Z, Z[0].point, 1.0 / h, memory, h / 2.0)

    def _fixed_point(
        self,
        problem: Motion,
        state: State,
        correct: Callable[[Array], tuple[Nearest, Array]],
        h: float,
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
    state: State, h: float, Z: Nearest, after: Array, per_impulse: float, memory: Memory, duration: float
) -> State:
    P, contacts = Z
    u = (after - state.q) / h
    return State(state.t + h, after, u, P, contacts, per_impulse * P.multipliers, memory, duration=duration)
