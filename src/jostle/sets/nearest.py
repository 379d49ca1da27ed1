"""P_Q(w), the nearest point of Q itself in the M-norm: Paoli 2010 (7), and the catching-up algorithm.

min 1/2 |x - w|_M^2 subject to g(t, x) >= 0, by a sequence of projections on the linearised sets
Q~(t, x_k). If the gaps are convex, Q~ lies in Q: every iterate is admissible and the distance falls. Near the
boundary, as in a time step, that is all. Where it is slow, the curvature of the gaps is taken into account (sequential
quadratic programming): the step d from x solves

    min 1/2 <d, H d> + <M (x - w), d>   subject to   g(x) + G(x) d >= 0,     H = |M - sum p_i d^2 g_i / dq^2|,

again a projection, in the metric H, and is shortened until the merit 1/2 |x - w|_M^2 + rho sum (g_i)_- falls.

Where Q is not convex the point found is a local minimum, the one that lies towards the gradients at w. If w has no
gradient (the centre of an obstacle), the search starts a little off w, in the fixed direction (1, 1/2, 1/3, ...).
"""

from __future__ import annotations

from contextlib import suppress

import numpy as np
from numpy.typing import ArrayLike

from jostle.arrays import Array, Integers
from jostle.convex.maps import Dense, stacked
from jostle.convex.metric import Metric, metric
from jostle.convex.polyhedron import Polyhedron
from jostle.convex.projection import NO_RESIDUAL, Projection, Residual, residual
from jostle.errors import EmptySet, UndefinedGradient
from jostle.sets.base import ConstraintSet, Contacts
from jostle.solvers.automatic import Automatic
from jostle.solvers.base import Solver
from jostle.solvers.exact import Exact

DEFAULT = Automatic(tol=1e-10)
SWEEPS = 200
"""Largest number of linearisations."""
CURVED_SIZE = 64
"""Curvatures are differences of gradients: only up to so many coordinates."""
CURVED_STEPS = 60
SLOW = 0.1
"""Curvature is taken into account when a sweep gained less than this factor."""
FLAT = 1e-8
"""Smallest eigenvalue of H, relative to the largest."""
HALVINGS = 30
PENALTY = 2.0
"""rho, as a multiple of the largest multiplier."""
ROUND_OFF = 1e-14
NUDGE = 1e-3
"""How far off a point without gradient the search starts, relative to the length."""
STEP = float(np.cbrt(np.finfo(float).eps))


Nearest = tuple[Projection, Contacts]


def nearest(Q: ConstraintSet, w: Array, mass: ArrayLike | Metric, t: float, solver: Solver | None) -> Nearest:
    """The projection of w on Q(t) in the metric of mass, converged or not, and the contacts there."""
    solver = solver or DEFAULT
    M = metric(mass, w.shape)
    x, contacts = _start(Q, t, w)
    if x is w and contacts.gap.min(initial=0.0) >= 0.0:
        return Projection(w, np.zeros(len(contacts.gap)), NO_RESIDUAL, 0, True, solver.name), contacts
    best: Nearest | None = None
    last = np.inf
    for sweep in range(1, SWEEPS + 1):
        try:
            P = solver.project(w - x, _here(contacts), M)
        except EmptySet as error:
            error.add_note(
                f"(Q linearised at {x.ravel().tolist()}, on the way from {w.ravel().tolist()} to Q)"
            )
            raise
        x = x + P.point
        contacts = Q.linearise(t, x)
        best = _better(best, w, x, contacts, M, P, solver, sweep)
        worst = _worst(_residual(w, x, contacts, M, P.multipliers))
        if worst <= ROUND_OFF or (best[0].converged and worst > 0.5 * last):
            return best
        if worst > SLOW * last and w.size <= CURVED_SIZE:
            return _with_curvature(Q, t, w, M, solver, best)
        last = worst
    assert best is not None
    return best


def _here(contacts: Contacts) -> Polyhedron:
    """The linearised set as seen from x: {d : g + G d >= 0}."""
    return Polyhedron(contacts.G, contacts.gap, length=contacts.length, describe=contacts.describe)


def _better(
    best: Nearest | None, w: Array, x: Array, contacts: Contacts, M: Metric, P: Projection, solver: Solver, number: int
) -> Nearest:
    """The better of the best answer so far and the point x with the multipliers of P."""
    found = _residual(w, x, contacts, M, P.multipliers)
    if best is not None and _worst(best[0].residual) <= _worst(found):
        return best
    return Projection(x, P.multipliers, found, number, found.within(solver.tol), P.solver), contacts


def _start(Q: ConstraintSet, t: float, w: Array) -> tuple[Array, Contacts]:
    try:
        return w, Q.linearise(t, w)
    except UndefinedGradient:
        direction = (1.0 / (1.0 + np.arange(w.size))).reshape(w.shape)
        scale = getattr(Q, "own_length", None) or np.abs(w).max() or 1.0
        x = w + NUDGE * scale * direction
        return x, Q.linearise(t, x)


def _worst(r: Residual) -> float:
    return max(r.primal, r.dual, r.complementarity)


def _residual(w: Array, x: Array, contacts: Contacts, M: Metric, p: Array) -> Residual:
    """The optimality conditions of the non-linear problem at x, with the gradients at x."""
    return residual(w.ravel(), contacts.positions(x), M, x.ravel(), p)


def _with_curvature(Q: ConstraintSet, t: float, w: Array, M: Metric, solver: Solver, best: Nearest) -> Nearest:
    """Sequential quadratic programming from a point near the answer."""
    (start, contacts), flat = best, (w.size,)
    x, p = start.point, start.multipliers
    matrix, last = M.times(np.eye(w.size)), np.inf
    for step in range(CURVED_STEPS):
        H = _positive(matrix - _curvature(Q, t, x, np.flatnonzero(p), p[p != 0.0]))
        metric_H = metric(H, flat)
        downhill = metric_H.solve(M.times((w - x).ravel()))
        P = solver.project(downhill, _here(contacts), metric_H)
        x, contacts = _shortened(Q, t, w, x, contacts, P, M)
        p = P.multipliers
        best = _better(best, w, x, contacts, M, P, solver, start.iterations + step + 1)
        worst = _worst(_residual(w, x, contacts, M, p))
        if worst <= ROUND_OFF or (best[0].converged and worst > 0.5 * last):
            break
        last = worst
    return best


def _shortened(
    Q: ConstraintSet, t: float, w: Array, x: Array, contacts: Contacts, P: Projection, M: Metric
) -> tuple[Array, Contacts]:
    """x + a d with the largest a = 1, 1/2, 1/4, ... for which the merit falls.

    The full step is also tried with a correction of second order, which takes it back to the curved boundary.
    """
    d = P.point.reshape(x.shape)
    rho = PENALTY * P.multipliers.max(initial=0.0)

    def merit(y: Array, at: Contacts) -> float:
        violated = float(np.minimum(at.gap, 0.0).sum())
        return 0.5 * M.inner((y - w).ravel(), (y - w).ravel()) - float(rho) * violated

    now = merit(x, contacts)
    allowed = now + ROUND_OFF * abs(now)
    full = Q.linearise(t, x + d)
    if merit(x + d, full) <= allowed:
        return x + d, full
    active = np.flatnonzero(P.multipliers > 0.0)
    boundary = Polyhedron(
        stacked(full.G, Dense(-full.G.toarray()[active])), np.concatenate([full.gap, -full.gap[active]])
    )
    with suppress(EmptySet):  # then there is no such correction
        back = x + d + Exact().project(np.zeros_like(x), boundary, M).point
        corrected = Q.linearise(t, back)
        if merit(back, corrected) <= allowed:
            return back, corrected
    for halving in range(1, HALVINGS):
        y = x + d / 2.0**halving
        at = Q.linearise(t, y)
        if merit(y, at) <= allowed:
            return y, at
    return x, contacts


def _positive(H: Array) -> Array:
    """H with its eigenvalues replaced by their absolute values, none of them negligible."""
    values, vectors = np.linalg.eigh(H)
    size = np.abs(values)
    positive = (vectors * np.maximum(size, FLAT * size.max(initial=0.0))) @ vectors.T
    return np.asarray((positive + positive.T) / 2.0)


def _curvature(Q: ConstraintSet, t: float, x: Array, rows: Integers, p: Array) -> Array:
    """sum_i p_i d^2 g_i / dq^2 at x, by central differences of the gradients."""
    flat = x.ravel()
    scale = np.abs(flat).max(initial=0.0) or 1.0
    H = np.empty((flat.size, flat.size))
    for k in range(flat.size):
        ahead, behind = flat.copy(), flat.copy()
        ahead[k] += STEP * scale
        behind[k] -= STEP * scale
        forces = [p @ Q.linearise(t, y.reshape(x.shape)).G.toarray()[rows] for y in (ahead, behind)]
        H[:, k] = (forces[0] - forces[1]) / (ahead[k] - behind[k])
    return (H + H.T) / 2.0
