"""P_Q(w), the nearest point of Q itself in the M-norm: Paoli 2010 (7), and the catching-up algorithm.

min 1/2 |x - w|_M^2 subject to g(t, x) >= 0, by a sequence of projections on the linearised sets
Q~(t, x_k). If the gaps are convex, Q~ lies in Q: every iterate is admissible and the distance falls. The last
digits come from Newton's method on the rows that are active,

    M (x - w) = G(x)^T p,   g(x) = 0,

which needs the curvature of the gaps (differenced). Where Q is not convex the point found is a local minimum,
the one that lies towards the gradients at w. If w has no gradient (the centre of an obstacle), the search starts a
little off w, in the fixed direction (1, 1/2, 1/3, ...).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from jostle.arrays import Array, Integers
from jostle.convex.metric import Metric, metric
from jostle.convex.polyhedron import Polyhedron
from jostle.convex.projection import NO_RESIDUAL, Projection, Residual, residual
from jostle.errors import UndefinedGradient
from jostle.sets.base import ConstraintSet, Contacts
from jostle.solvers.automatic import Automatic
from jostle.solvers.base import Solver

DEFAULT = Automatic(tol=1e-10)
SWEEPS = 200
"""Largest number of linearisations."""
NEWTON_SIZE = 64
"""Newton's method differences the gradients: only up to so many coordinates."""
NEWTON_STEPS = 12
SLOW = 0.1
"""Newton's method is tried when the active rows did not change and a sweep gained less than this factor."""
ROUND_OFF = 1e-14
NUDGE = 1e-3
"""How far off a point without gradient the search starts, relative to the length."""
STEP = float(np.cbrt(np.finfo(float).eps))


def nearest(
    Q: ConstraintSet, w: Array, mass: ArrayLike | Metric, t: float, solver: Solver | None
) -> tuple[Projection, Contacts]:
    """The projection of w on Q(t) in the metric of mass, converged or not, and the contacts there."""
    solver = solver or DEFAULT
    M = metric(mass, w.shape)
    x, contacts = _start(Q, t, w)
    if x is w and contacts.gap.min(initial=0.0) >= 0.0:
        return Projection(w, np.zeros(len(contacts.gap)), NO_RESIDUAL, 0, True, solver.name), contacts
    best: tuple[Projection, Contacts] | None = None
    active, last = b"", np.inf
    for sweep in range(1, SWEEPS + 1):
        K = Polyhedron(contacts.G, contacts.gap, length=contacts.length, describe=contacts.describe)
        P = solver.project(w - x, K, M)
        x = x + P.point
        contacts = Q.linearise(t, x)
        found = _residual(w, x, contacts, M, P.multipliers)
        answer = Projection(x, P.multipliers, found, sweep, found.within(solver.tol), P.solver)
        halved = best is None or _worst(found) < 0.5 * _worst(best[0].residual)
        if best is None or _worst(found) < _worst(best[0].residual):
            best = answer, contacts
        if _worst(found) <= ROUND_OFF or (best[0].converged and not halved):
            return best
        settled, slow = active == (active := (P.multipliers > 0.0).tobytes()), _worst(found) > SLOW * last
        last = _worst(found)
        if settled and slow and w.size <= NEWTON_SIZE:
            polished = _newton(Q, t, w, answer, M, solver)
            if polished is not None:
                return polished, Q.linearise(t, polished.point)
    assert best is not None
    return best


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


def _newton(Q: ConstraintSet, t: float, w: Array, start: Projection, M: Metric, solver: Solver) -> Projection | None:
    """Newton's method from a point near the answer; None if it does not lead to one."""
    rows = np.flatnonzero(start.multipliers > 0.0)
    x, p = start.point, start.multipliers[rows]
    matrix = M.times(np.eye(w.size))
    best = start
    for iteration in range(NEWTON_STEPS):
        contacts = Q.linearise(t, x)
        G = contacts.G.toarray()[rows]
        curved = matrix - _curvature(Q, t, x, rows, p)
        system = np.block([[curved, -G.T], [G, np.zeros((len(rows), len(rows)))]])
        right = np.concatenate([G.T @ p - M.times((x - w).ravel()), -contacts.gap[rows]])
        step = np.linalg.lstsq(system, right, rcond=None)[0]
        x, p = x + step[: w.size].reshape(w.shape), p + step[w.size :]
        if not np.isfinite(x).all() or (p < 0.0).any():
            return None
        multipliers = np.zeros(len(contacts.gap))
        multipliers[rows] = p
        found = _residual(w, x, Q.linearise(t, x), M, multipliers)
        if _worst(found) >= _worst(best.residual):
            break
        good = found.within(solver.tol)
        best = Projection(x, multipliers, found, start.iterations + iteration + 1, good, start.solver)
    farther = M.norm((best.point - w).ravel()) > (1.0 + solver.tol) * M.norm((start.point - w).ravel())
    return None if not best.converged or farther else best


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
