"""The nearest point of a curved set: sequential quadratic programming.

The step d from x solves

    min 1/2 <d, H d> + <M (x - w), d>   subject to   g(x) + G(x) d >= 0,     H = |M - sum p_i d^2 g_i / dq^2|,

again a projection, in the metric H (the absolute value of a matrix is that of its eigenvalues), and is shortened until
the merit 1/2 |x - w|_M^2 + rho sum (g_i)_- falls. A point that satisfies the optimality conditions may still be a
saddle of the distance, as a point on an axis of symmetry can be; then the search goes on off the axis.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

import numpy as np

from jostle.arrays import Array, Integers
from jostle.convex.maps import Dense, stacked
from jostle.convex.metric import Metric, metric
from jostle.convex.polyhedron import Polyhedron
from jostle.convex.projection import Projection, residual
from jostle.errors import EmptySet
from jostle.kernels.reference.dense import ROUND_OFF
from jostle.sets.contacts import Contacts
from jostle.solvers.base import Solver
from jostle.solvers.dual_active_set import ActiveSet

Linearise = Callable[[Array], Contacts]
"""The constraints of one set at one time, linearised at a point."""
Nearest = tuple[Projection, Contacts]
"""The projection on a set, and the contacts there."""
MAX_STEPS = 60
"""Largest number of steps of the search with curvature."""
MAX_NEWTON_STEPS = 12
"""Largest number of Newton steps at the end of the search."""
RANK_TOLERANCE = 1e-8
"""Eigenvalues of H are raised to this fraction of the largest; singular values below it count as zero."""
MAX_HALVINGS = 30
"""Largest number of halvings in a line search."""
PENALTY_FACTOR = 2.0
"""The penalty rho, in multiples of the largest multiplier."""
SADDLE_CURVATURE = 1e-6
"""A curvature below minus this fraction of the largest entry of H makes a saddle."""
ESCAPE_DISTANCE = 0.1
"""Step away from a saddle along its negative curvature, relative to the distance from w."""
MAX_ESCAPES = 4
"""Largest number of saddles that a search leaves."""
RELATIVE_STEP = float(np.cbrt(np.finfo(float).eps))
"""Difference step of second derivatives, relative to the size of q."""


def from_here(contacts: Contacts) -> Polyhedron:
    """The linearised set as seen from x: {d : g + G d >= 0}."""
    return Polyhedron(
        contacts.G,
        contacts.compatible_gap(),
        length=contacts.length,
        describe=contacts.describe,
        noise=contacts.noise,
        equal=contacts.equal,
    )


def judged(w: Array, x: Array, contacts: Contacts, M: Metric, P: Projection, solver: Solver, number: int) -> Nearest:
    """The point x with the multipliers of P as an answer, judged by the non-linear problem, with the gradients at x."""
    found = residual(w.ravel(), contacts.positions(x), M, x.ravel(), P.multipliers)
    return Projection(x, P.multipliers, found, number, found.within(solver.tol), P.solver, P.remark), contacts


def better(best: Nearest | None, answer: Nearest) -> Nearest:
    """The better of the best answer so far and another one."""
    return answer if best is None or answer[0].residual.worst < best[0].residual.worst else best


def with_curvature(linearise: Linearise, w: Array, M: Metric, solver: Solver, best: Nearest) -> Nearest:
    """Sequential quadratic programming from a point near the answer."""
    start, contacts = best
    x, p, last = start.point, start.multipliers, np.inf
    for step in range(MAX_STEPS):
        H = metric(_positive(_hessian(linearise, x, p, M)), (w.size,))
        downhill = H.solve(M.times((w - x).ravel()))
        P = solver.project(downhill, from_here(contacts), H)
        x, contacts = _shortened(linearise, w, x, contacts, P, M)
        p = P.multipliers
        answer = judged(w, x, contacts, M, P, solver, start.iterations + step + 1)
        best, worst = better(best, answer), answer[0].residual.worst
        if worst <= ROUND_OFF or (best[0].converged and worst > 0.5 * last):
            break
        last = worst
    return best if best[0].converged else _newton(linearise, w, M, solver, best)


def _newton(linearise: Linearise, w: Array, M: Metric, solver: Solver, best: Nearest) -> Nearest:
    """The last digits: Newton's method for M (x - w) = G(x)^T p, g(x) = 0 on the rows that carry something."""
    start = best[0]
    rows, equal = _active(start.multipliers, best[1]), best[1].equal
    x, p = start.point, start.multipliers.copy()
    for step in range(MAX_NEWTON_STEPS):
        contacts, before = linearise(x), best[0].residual.worst
        G, H = contacts.G.toarray()[rows], _hessian(linearise, x, p, M)
        system = np.block([[H, -G.T], [G, np.zeros((len(rows), len(rows)))]])
        right = np.concatenate([G.T @ p[rows] - M.times((x - w).ravel()), -contacts.gap[rows]])
        change = np.linalg.lstsq(system, right, rcond=None)[0]
        x = x + change[: w.size].reshape(w.shape)
        p[rows] += change[w.size :]
        if not np.isfinite(x).all() or (p < 0.0 if equal is None else (p < 0.0) & ~equal).any():
            break
        P = Projection(x, p.copy(), start.residual, 0, False, start.solver)
        best = better(best, judged(w, x, linearise(x), M, P, solver, start.iterations + step + 1))
        if best[0].residual.worst >= before:
            break
    return best


def off_saddle(linearise: Linearise, w: Array, M: Metric, solver: Solver, found: Nearest) -> Nearest:
    """The answer found, or a nearer one if it is a saddle of the distance."""
    for _ in range(MAX_ESCAPES):
        P, contacts = found
        active = _active(P.multipliers, contacts)
        H = _hessian(linearise, P.point, P.multipliers, M)
        tangent = _null_space(contacts.G.toarray()[active])
        if tangent.shape[1] == 0:
            return found
        curvatures, directions = np.linalg.eigh(tangent.T @ H @ tangent)
        if curvatures[0] >= -SADDLE_CURVATURE * np.abs(H).max():
            return found
        way = ESCAPE_DISTANCE * float(np.linalg.norm(P.point - w)) * (tangent @ directions[:, 0])
        x = P.point + way.reshape(w.shape)
        beside = linearise(x)
        found = with_curvature(linearise, w, M, solver, judged(w, x, beside, M, P, solver, P.iterations))
    return found


def _shortened(
    linearise: Linearise, w: Array, x: Array, contacts: Contacts, P: Projection, M: Metric
) -> tuple[Array, Contacts]:
    """x + a d with the largest a = 1, 1/2, 1/4, ... for which the merit falls.

    The full step is also tried with a correction of second order, which takes it back to the curved boundary.
    """
    d = P.point.reshape(x.shape)
    rho = PENALTY_FACTOR * np.abs(P.multipliers).max(initial=0.0)

    def merit(y: Array, at: Contacts) -> float:
        violated = float(np.minimum(at.margin, 0.0).sum())
        return 0.5 * M.inner((y - w).ravel(), (y - w).ravel()) - float(rho) * violated

    now = merit(x, contacts)
    allowed = now + ROUND_OFF * abs(now)
    full = linearise(x + d)
    if merit(x + d, full) <= allowed:
        return x + d, full
    active = np.flatnonzero(P.multipliers > 0.0)
    boundary = Polyhedron(
        stacked(full.G, Dense(-full.G.toarray()[active])),
        np.concatenate([full.gap, -full.gap[active]]),
        equal=None if full.equal is None else np.append(full.equal, np.zeros(len(active), dtype=bool)),
    )
    with suppress(EmptySet):  # then there is no such correction
        back = x + d + ActiveSet().project(np.zeros_like(x), boundary, M).point
        corrected = linearise(back)
        if merit(back, corrected) <= allowed:
            return back, corrected
    for halving in range(1, MAX_HALVINGS):
        y = x + d / 2.0**halving
        at = linearise(y)
        if merit(y, at) <= allowed:
            return y, at
    return x, contacts


def _active(p: Array, contacts: Contacts) -> Integers:
    """The rows on whose boundary a point with multipliers p is: those that carry something, and equalities."""
    return np.flatnonzero(p > 0.0 if contacts.equal is None else (p > 0.0) | contacts.equal)


def _positive(H: Array) -> Array:
    """H with its eigenvalues replaced by their absolute values, none of them negligible."""
    values, vectors = np.linalg.eigh(H)
    size = np.abs(values)
    positive = (vectors * np.maximum(size, RANK_TOLERANCE * size.max(initial=0.0))) @ vectors.T
    return np.asarray((positive + positive.T) / 2.0)


def _null_space(rows: Array) -> Array:
    """An orthonormal basis, as columns, of the vectors that are orthogonal to all rows."""
    _, sizes, vectors = np.linalg.svd(rows)
    rank = int((sizes > RANK_TOLERANCE * sizes.max(initial=0.0)).sum())
    return np.asarray(vectors[rank:].T)


def _hessian(linearise: Linearise, x: Array, p: Array, M: Metric) -> Array:
    """M - sum p_i d^2 g_i / dq^2 at x."""
    rows, here = np.flatnonzero(p), linearise(x)
    if here.bend is None:
        return M.times(np.eye(x.size)) - _differenced(linearise, x, rows, p[rows])
    return M.times(np.eye(x.size)) - _of_bodies(here.only(rows), x, p[rows])


def _of_bodies(contacts: Contacts, x: Array, p: Array) -> Array:
    """sum_i p_i d^2 g_i / dq^2 where each gap is that of two bodies, or of a body and a wall: b (I - n n^T)."""
    n, d = contacts.bodies, x.size // contacts.bodies
    G = contacts.G.toarray().reshape(-1, n, d)
    H = np.zeros((n, d, n, d))
    for row, (i, j) in enumerate(contacts.pairs.tolist()):
        normal = G[row, i]
        block = p[row] * float(contacts.bend[row]) * (np.eye(d) - np.outer(normal, normal))  # type: ignore[index]
        H[i, :, i, :] += block
        if j >= 0:
            H[j, :, j, :] += block
            H[i, :, j, :] -= block
            H[j, :, i, :] -= block
    return H.reshape(x.size, x.size)


def _differenced(linearise: Linearise, x: Array, rows: Integers, p: Array) -> Array:
    """sum_i p_i d^2 g_i / dq^2 at x, by central differences of the gradients."""
    flat = x.ravel()
    scale = linearise(x).smallest_length() or np.abs(flat).max(initial=0.0) or 1.0
    H = np.empty((flat.size, flat.size))
    for k in range(flat.size):
        ahead, behind = flat.copy(), flat.copy()
        ahead[k] += RELATIVE_STEP * scale
        behind[k] -= RELATIVE_STEP * scale
        forces = [p @ linearise(y.reshape(x.shape)).G.toarray()[rows] for y in (ahead, behind)]
        H[:, k] = (forces[0] - forces[1]) / (ahead[k] - behind[k])
    return (H + H.T) / 2.0
