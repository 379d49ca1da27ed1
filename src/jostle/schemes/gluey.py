"""Gluey contacts, the limit of a thin viscous film: Lefebvre 2009; Bernicot & Lefebvre-Lepot 2010, remark 4.3.

Each contact has a state gamma <= 0 of its glue: minus the impulse that has pressed it so far. While gamma < 0 the
contact cannot open; pulling pays the glue back, and at gamma = 0 the contact is free again:

    gamma' = -lambda,    gamma <= 0,    gamma < 0  =>  g = 0.

The step is that of Maury, but contacts may pull, with at most their glue, p >= gamma^n:

    M (u^{n+1} - u^n) = h f^n + G^T p,    gamma^{n+1} = gamma^n - p,    0 <= -gamma^{n+1}  ⟂  g / h + G u^{n+1} >= 0.

So gamma is never positive, and need not be cut off there: in the step in which its glue is used up a contact pulls with
what is left of it, p = gamma^n, and opens with the velocity that remains. (To hold it for this whole step and then put
gamma = 0, as SCoPI does, takes away up to h |f| of momentum, and all of a blow.) If G does not change, M u + G^T gamma
is the momentum that the forces alone would give, and u is its projection: impulses are exact, the time of unsticking is
known up to a step. Where G changes all is of order 1. A finite glue, as between rough particles, is
gamma^{n+1} = max(gamma^n - p, weakest).

How it is solved. A glued contact is kept by two rows with p = p1 - p2,

    g / h + G u >= 0    and    g / h + G u <= s,    s = g / h + G v,

where v is one motion that closes the gaps of all glued contacts as far as that is possible. Usually s = 0. But a step
goes along the tangent: two discs that turn about each other part by O(h^2). In a cluster with more contacts than
velocities not all such gaps can be closed at once, and the equalities s = 0 may contradict each other; those of one
motion v cannot. So glued gaps stay O(h^2), nothing overlaps, and glue keeps momentum and angular momentum. Contacts
that would need p < gamma, or that a moving set tears apart, lose their second row and are given p = gamma + p1.

In such clusters p and gamma are not unique, but u is (for an infinite glue): it depends on them through G^T gamma.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np

from jostle._tools.arrays import Array, Booleans, Integers
from jostle.contacts import CLOSED, Contacts, Cutoff, by_pair
from jostle.convex.linear_map import stacked
from jostle.convex.metric import Metric
from jostle.convex.projection import Projection
from jostle.convex.rows import Rows
from jostle.errors import EmptySet, InvalidValue
from jostle.problems import Motion
from jostle.schemes.capabilities import EQUALITIES, TURNING, needs_of, refusal
from jostle.schemes.cutoff import CUTOFF_FACTOR, with_checked_cutoff
from jostle.schemes.maury import Maury
from jostle.schemes.state import Impulses, State
from jostle.sets.base import ConstraintSet
from jostle.solvers.base import relative_to_closing

MAX_ROUNDS = 12
"""Number of searches for contacts whose glue is overdrawn; after that every contact is treated as overdrawn."""
PULL_FACTOR = 100.0
"""The pull of v on glued contacts, as a multiple of the pull that closes the widest gap of a pair alone."""
OPEN_SHARE = 0.01
"""The fraction of the widest glued gap that stays open. With s = 0 a cluster has no freedom, and the solvers need many
times their iterations."""
EPS, TINY = float(np.finfo(float).eps), float(np.finfo(float).tiny)


class Glue(NamedTuple):
    """The contacts that are glued at one time, sorted by pair.

    Attributes
    ----------
    pairs : array of int, shape (k, 2)
        Who is glued to whom, as in `Contacts.pairs`.
    gamma : array, shape (k,)
        gamma < 0: minus the impulse that is to be paid back.

    Examples
    --------
    >>> Glue(np.array([[0, -1]]), np.array([-2.0])).gamma.tolist()
    [-2.0]
    """

    pairs: Integers
    gamma: Array


NO_GLUE = Glue(np.zeros((0, 2), dtype=np.int64), np.zeros(0))


def glue(state: State) -> Glue:
    """The glued pairs of a state of `Gluey`, with the glue of each.

    Parameters
    ----------
    state : State
        A state of a run with `Gluey`.

    Returns
    -------
    Glue
        `pairs` and `gamma` of the glued contacts; empty for states of other schemes.

    Examples
    --------
    >>> import jostle as jo
    >>> ball = jo.Motion(q0=[0.0], force=lambda t, q: [-10.0 if t < 0.5 else 10.0], within=jo.HalfSpace([1.0]))
    >>> history = []
    >>> def watch(state):
    ...     history.append((state.t, glue(state).gamma.round(12).tolist()))
    ...     return False
    >>> sol = jo.solve(ball, Gluey(), t=1.25, h=0.125, until=watch)
    >>> history[3], history[5], history[9]
    ((0.5, [-5.0]), (0.75, [-2.5]), (1.25, []))
    """
    return state.memory if isinstance(state.memory, Glue) else NO_GLUE


@dataclass(frozen=True, kw_only=True)
class Gluey(Maury):
    """Maury's scheme with gluey contacts: Lefebvre 2009; Bernicot & Lefebvre-Lepot 2010, remark 4.3.

    A contact opens only after it has been pulled with the impulse that pressed it.
    The multipliers of a state are the impulses p of either sign; `glue(state)` has gamma.

    Parameters
    ----------
    solver : Solver, default Automatic()
        Solves the projections.
    samples : int, default 2
        Number of Gauss points of the average force over a step; a constant force is not sampled.
    weakest : float, default -inf
        Smallest gamma, at most 0: the glue forgets what exceeds it. -inf is glue that never forgets, 0 is Maury's
        scheme.

    Examples
    --------
    >>> import jostle as jo
    >>> ball = jo.Motion(q0=[0.0], force=lambda t, q: [-1.0 if t < 1.0 else 1.0], within=jo.HalfSpace([1.0]))
    >>> sol = jo.solve(ball, Gluey(), t=3.0, h=0.25)                      # pressed from 0 to 1, it leaves at 2
    >>> sol(2.0).tolist(), sol.u[-1].tolist()
    ([0.0], [1.0])
    >>> sol = jo.solve(ball, Gluey(weakest=-0.5), t=3.0, h=0.25)          # ... at 1.5
    >>> sol(1.5).tolist(), sol.u[-1].tolist()
    ([0.0], [1.5])
    """

    memory_type: ClassVar[type[Any] | None] = Glue
    on_devices: ClassVar[bool] = False

    gap_tol: float = field(init=False, repr=False, default=0.0)
    weakest: float = -np.inf

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.weakest <= 0.0:
            raise InvalidValue(f"weakest must not be positive: gamma lies between it and 0; it is {self.weakest}")

    def check(self, problem: Motion) -> None:
        # Refuse a problem that the scheme cannot solve, such as one with equalities.
        super().check(problem)
        for need in (EQUALITIES, TURNING):
            if need in needs_of(problem):
                raise refusal(type(self).__name__, need, problem)

    def step(self, problem: Motion, state: State, h: float) -> State:
        # One step of Maury's scheme in which glued contacts may pull, p >= gamma^n.
        t, q, u, within = state.t, state.q, state.u, problem.within
        predicted, M = self.predict(problem, t, q, u, h)

        def attempt(cutoff: Cutoff) -> tuple[Contacts, Array, tuple[_Known, Projection, Booleans]]:
            known = _known(within, state, h, cutoff, M)
            P, held = self._project(known, self._closest(known, within.flat), predicted)
            return known.contacts, P.point, (known, P, held)

        contacts, (known, P, held) = with_checked_cutoff(within, t + h, state.pose, h, predicted, u, attempt)
        memory = _remembered(contacts.pairs, self._paid(known, P, held))
        return State(t + h, *state.pose.moved(P.point, h), P, contacts, Impulses(P.multipliers), memory)

    def _paid(self, known: _Known, P: Projection, held: Booleans) -> Array:
        """gamma^{n+1}. An open contact has no glue, though a solver may have left it a small multiplier."""
        touching = held | (P.multipliers - known.gamma >= known.K.slack(P.point) / known.squared)
        return np.where(touching, np.clip(known.gamma - P.multipliers, self.weakest, 0.0), 0.0)

    def _project(self, known: _Known, closest: Array, predicted: Array) -> tuple[Projection, Booleans]:
        """u^{n+1} with the signed impulses p, and which contacts were held by their glue."""
        K, M, gamma = known.K, known.M, known.gamma
        held = gamma < 0.0
        for attempt in range(MAX_ROUNDS + 1):
            if attempt == MAX_ROUNDS:
                held = np.zeros_like(held)
            given = np.where(held, 0.0, gamma)
            w = predicted + M.solve(K.G.adjoint(given)).reshape(predicted.shape) if given.any() else predicted
            rows = np.flatnonzero(held)
            try:
                P = self._held(known, w, rows, closest[rows])
            except EmptySet as error:
                torn = rows if error.rows is None else rows[error.rows[error.rows >= len(gamma)] - len(gamma)]
                if len(torn) == 0:
                    raise
                held[torn] = False
                continue
            p = P.multipliers + given
            overdrawn = held & (p < gamma)
            if not overdrawn.any():
                break
            held = held & ~overdrawn
        return replace(P, multipliers=p), held

    def _held(self, known: _Known, w: Array, rows: Integers, closest: Array) -> Projection:
        """The projection on K_h, and on g / h + G u <= closest for some rows; their multipliers are p1 - p2."""
        K, m = known.K, len(known.K.c)
        guess = None if known.guess is None else _split(known.guess, rows)
        if len(rows):
            K = _with_upper(K, rows, closest)
        P = self.solver.project(w, relative_to_closing(K, w, self.solver.tol), known.M, guess)
        if len(rows) == 0:
            return P
        p = P.multipliers[:m].copy()
        p[rows] -= P.multipliers[m:]
        return replace(P, multipliers=p)

    def _closest(self, known: _Known, flat: bool) -> Array:
        """(m,) g / h + G v for a motion v that closes the gaps of the glued contacts as far as they can be closed."""
        K, M, glued = known.still, known.M, known.gamma < 0.0
        slack, widest = K.c, float(K.c[glued].max(initial=0.0))
        allowed = (1.0 + self.solver.tol / CLOSED) * known.tolerance
        if (slack > allowed)[glued].any():
            pull = np.where(glued, PULL_FACTOR * widest / known.squared, 0.0)
            P = self.solver.project(-M.solve(K.G.adjoint(pull)), K, M)
            closed = K.slack(P.point)
            slack = closed if P.converged or closed.min() >= -OPEN_SHARE * widest else slack
        width = 0.0 if flat else np.maximum(OPEN_SHARE * widest, self.solver.tol * K.length)
        # Where some overlap, by round-off or the tolerance of the solver, all may open by as much: these must part.
        return np.asarray(np.maximum(slack, width) - slack[glued].min(initial=0.0))


class _Known(NamedTuple):
    """What is known in a step before the projection."""

    contacts: Contacts
    K: Rows
    """K_h(t^{n+1}, q^n)."""
    still: Rows
    """K_h with the gaps of t^n, as if the set did not move."""
    gamma: Array
    """(m,) gamma^n, 0 if not glued."""
    M: Metric
    guess: Array | None
    """(m,) the impulses of the step before."""
    h: float

    @property
    def squared(self) -> Array:
        """(m,) |G_i|^2 in the dual norm: the velocity that an impulse of 1 gives to each gap."""
        return np.maximum(self.K.G.norms(self.M) ** 2, TINY)

    @property
    def tolerance(self) -> Array:
        """(m,) a slack that counts as none."""
        return self.contacts.tolerance() / self.h


def _known(within: ConstraintSet, state: State, h: float, cutoff: Cutoff, M: Metric) -> _Known:
    """The contacts within the cutoff, or further if a glued pair is, and their glue."""
    # In a step a glued gap grows by less than the bodies move; but the set may move too, and at rest the cutoff is 0.
    glued = glue(state)
    if state.presence is not None:
        there = state.presence.both_here(glued.pairs)
        glued = Glue(glued.pairs[there], glued.gamma[there])
    while True:
        contacts = within.near(state.t + h, state.q, cutoff)
        gamma = by_pair(glued.pairs, glued.gamma, contacts.pairs)
        everything, limited = np.all(contacts.cutoff == np.inf), np.any(contacts.cutoff < cutoff)
        if everything or limited or np.count_nonzero(gamma) >= len(glued.gamma):
            break
        longer = CUTOFF_FACTOR * np.maximum(cutoff, EPS * float(np.abs(state.q).max(initial=0.0)))
        cutoff = longer if np.all(longer > 0.0) else np.inf
    K = still = contacts.velocities(h)
    if within.moving is not False and gamma.any():
        then = within.near(state.t, state.q, contacts.cutoff)
        gap = by_pair(then.pairs, then.gap, contacts.pairs, np.nan)
        still = replace(contacts, gap=np.where(np.isnan(gap), contacts.gap, gap)).velocities(h)
    return _Known(contacts, K, still, gamma, M, state.impulses_of(contacts), h)


def _with_upper(K: Rows, rows: Integers, closest: Array) -> Rows:
    """c + G u >= 0, and c + G u <= closest for some rows."""
    m = len(K.c)

    def describe(row: int) -> str:
        return K.describe(row) if row < m else f"{K.describe(int(rows[row - m]))} (glued)"

    return Rows(
        stacked(K.G, K.G.rows(rows).opposite()),
        np.concatenate([K.c, closest - K.c[rows]]),
        np.concatenate([K.length, K.length[rows]]),
        np.concatenate([K.noise, K.noise[rows]]),
        None,
        describe,
    )


def _split(p: Array, rows: Integers) -> Array:
    """The multipliers of the lower rows, and of the upper rows of some contacts, from p = p1 - p2."""
    return np.concatenate([np.maximum(p, 0.0), np.maximum(-p[rows], 0.0)])


def _remembered(pairs: Integers, gamma: Array) -> Glue:
    """The glued ones, sorted by pair."""
    rows = np.flatnonzero(gamma < 0.0)
    rows = rows[np.lexsort((pairs[rows, 1], pairs[rows, 0]))]
    return Glue(pairs[rows], gamma[rows])
