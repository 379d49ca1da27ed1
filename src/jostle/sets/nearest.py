"""P_Q(w), the nearest point of Q itself in the M-norm: Paoli 2010 (7), and the catching-up algorithm.

min 1/2 |x - w|_M^2 subject to g(t, x) >= 0, by a sequence of projections on the linearised sets
Q~(t, x_k). If the gaps are convex, Q~ lies in Q: every iterate is admissible and the distance falls. Near the
boundary, as in a time step, that is all; where it is slow, `curvature` goes on.

Where Q is not convex the point found is a local minimum, the one that lies towards the gradients at w. If w has no
gradient (the centre of an obstacle), or the linearised constraints contradict each other there (deep between two
obstacles), the search starts off w, in the fixed direction (1, 1/2, 1/3, ...).

Balls with more volume than the box that holds them are an empty set, which is said at once. Otherwise the search ends
when the projections that failed, in all its starts and sweeps, have taken `max_iterations` of the solver.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from jostle._tools.arguments import Finite, check_arguments
from jostle._tools.arrays import Array, Booleans, Integers, at, floats, squares
from jostle.contacts import Contacts, by_pair
from jostle.convex.linear_map import Dense, stacked
from jostle.convex.metric import Metric, metric
from jostle.convex.polyhedron import Polyhedron
from jostle.convex.projection import Projection
from jostle.convex.residuals import NO_RESIDUAL, residual
from jostle.convex.rows import Rows
from jostle.differences import RELATIVE_STEP, central
from jostle.errors import EmptySet, InvalidValue, NotConverged, NotFinite, UndefinedGradient
from jostle.kernels.reference.dense import ROUND_OFF
from jostle.sets.balls import MAX_ALL_PAIRS, Balls
from jostle.sets.base import ConstraintSet, keeps_apart, margins, parts
from jostle.sets.walls import Box
from jostle.solvers.automatic import Automatic
from jostle.solvers.base import Solver, relative_to_closing
from jostle.solvers.dual_active_set import ActiveSet
from jostle.solvers.project import require

# The nearest point of a curved set: sequential quadratic programming.
#
# The step d from x solves
#
#     min 1/2 <d, H d> + <M (x - w), d>   subject to   g(x) + G(x) d >= 0,     H = |M - sum p_i d^2 g_i / dq^2|,
#
# again a projection, in the metric H (the absolute value of a matrix is that of its eigenvalues), and is shortened
# until the merit 1/2 |x - w|_M^2 + rho sum (g_i)_- falls. A point that satisfies the optimality conditions may still be
# a saddle of the distance, as a point on an axis of symmetry can be; then the search goes on off the axis.


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
        H = metric(_positive(M.times(np.eye(x.size)) - curvature(linearise, x, p)), (w.size,))
        downhill = H.solve(M.times((w - x).ravel()))
        P = solver.project(downhill, contacts.displacements(), H)
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
        G, H = contacts.G.toarray()[rows], M.times(np.eye(x.size)) - curvature(linearise, x, p)
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
        H = M.times(np.eye(P.point.size)) - curvature(linearise, P.point, P.multipliers)
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


def curvature(linearise: Linearise, x: Array, p: Array) -> Array:
    """sum_i p_i d^2 g_i / dq^2 at x: exact where the sets know how they bend, otherwise by differences."""
    rows, here = np.flatnonzero(p), linearise(x)
    if np.isnan(here.curvatures).any():
        return _differenced(linearise, x, rows, p[rows])
    return _of_bodies(here.only(rows), x, p[rows])


def _of_bodies(contacts: Contacts, x: Array, p: Array) -> Array:
    """sum_i p_i d^2 g_i / dq^2 where each gap is that of two bodies, or of a body and a wall: b (I - n n^T)."""
    n, d = contacts.part_count, x.size // contacts.part_count
    G = contacts.G.toarray().reshape(-1, n, d)
    H, curvatures = np.zeros((n, d, n, d)), contacts.curvatures
    for row, (i, j) in enumerate(contacts.pairs.tolist()):
        normal = G[row, i]
        block = p[row] * curvatures[row] * (np.eye(d) - np.outer(normal, normal))
        H[i, :, i, :] += block
        if j >= 0:
            H[j, :, j, :] += block
            H[i, :, j, :] -= block
            H[j, :, i, :] -= block
    return H.reshape(x.size, x.size)


def _differenced(linearise: Linearise, x: Array, rows: Integers, p: Array) -> Array:
    """sum_i p_i d^2 g_i / dq^2 at x, by central differences of the gradients."""
    scale = linearise(x).smallest_length() or float(np.abs(x).max(initial=0.0)) or 1.0
    H = central(lambda y: p @ linearise(y).G.toarray()[rows], x, RELATIVE_STEP * scale)
    return np.asarray((H + H.T) / 2.0)


DEFAULT_SOLVER = Automatic(tol=1e-10)
"""The solver of the linearised problems."""
MAX_SWEEPS = 200
"""Largest number of linearisations."""
MAX_IDLE_SWEEPS = 10
"""A search among many bodies ends after this many linearisations in a row that brought nothing better."""
MAX_CURVED_SIZE = 64
"""Largest number of coordinates for which curvatures are computed, by differences of gradients."""
SLOW_FACTOR = 0.1
"""Curvature is taken into account where a sweep reduces the error to more than this fraction."""
SHALLOW_PULL = 0.1
"""Where |M (x - w)| is below this fraction of the lightest mass times the length, x is no saddle."""
MAX_ALL_ROWS = 64
"""Sets with at most this many rows use all rows from the start; larger ones start with the rows of small gaps."""
CUTOFF_FACTOR = 4.0
"""Initial contact search radius, in multiples of the deepest violation."""
MAX_FIRST_CUTOFF = 0.1
"""Largest initial search radius among many bodies, as a fraction of the length; it grows as overlaps are resolved."""
MAX_GROWTH = 4.0
"""Largest factor by which the search radius grows at a time; contradictions show among few pairs first."""
OVERFULL = 1.0 + 1e-9
"""Balls overfill a box if their volume exceeds this multiple of what they can fill, which allows for round-off."""
DENSEST_PACKING = {2: math.pi / math.sqrt(12.0), 3: math.pi / math.sqrt(18.0)}
"""Largest fraction of the plane (Fejes Tóth 1940) and of space (Hales 2005) that equal balls can fill."""
START_DISTANCES = (0.0, 1e-3, 0.5, 1.0, 2.0, 4.0)
"""Distances of the successive starts from w, relative to the length; the next one is tried if a search fails."""
CONTRADICTION_DISTANCES = (0.25, 0.1, 0.01, 1.0, 4.0)
"""Distances of the successive starts from w, relative to the length, for bodies whose constraints contradict each
other."""
MAX_STARTS = 100
"""Largest number of starts of a search among many bodies; each start may find one more contradiction."""
GOLDEN = (np.sqrt(5.0) - 1.0) / 2.0
"""The inverse of the golden ratio; its multiples modulo 1 spread the directions of the starts evenly."""


@dataclass
class Allowance:
    """What a search may spend: iterations of projections that fail, and a failure costs at least one."""

    solver: Solver
    left: int
    relative: bool
    """Whether violations count beside what the contacts close by."""

    def project(self, w: Array, K: Rows, M: Metric, guess: Array | None = None) -> Projection:
        """The projection by the solver, with no more iterations than are left."""
        solver = self.solver
        if self.relative and solver.strict:
            K = relative_to_closing(K, w, solver.tol)
        if self.left < solver.max_iterations:
            solver = replace(solver, max_iterations=max(self.left, 1))
        try:
            P = solver.project(w, K, M, guess)
        except EmptySet as error:
            self.left -= max(error.iterations, 1)
            raise
        if solver.strict and not P.converged:
            self.left -= max(P.iterations, 1)
        return P

    @property
    def spent(self) -> bool:
        """Whether no work is left."""
        return self.left <= 0


@check_arguments
def nearest(
    q: ArrayLike,
    within: ConstraintSet,
    *,
    mass: ArrayLike | Metric = 1.0,
    t: Finite = 0.0,
    solver: Solver | None = None,
) -> Projection:
    """The nearest admissible configuration P_Q(q) in the norm of a mass; a local one if Q is not convex.

    Parameters
    ----------
    q : array_like
        Configuration.
    within : ConstraintSet
        The admissible set Q.
    mass : float, array_like or Metric, default 1.0
        One number, one for each body, one for each coordinate, or a symmetric positive definite matrix.
    t : float, default 0.0
        Time at which the set is taken.
    solver : Solver, optional
        Solves the projections. None: ``Automatic()``.

    Returns
    -------
    Projection
        The nearest point, with its multipliers.

    Raises
    ------
    NotConverged
        If the answer misses the tolerance.
    InvalidValue
        If the bodies are `Clumps`, whose balls move together.

    Examples
    --------
    >>> import jostle as jo
    >>> disc = jo.Outside(centre=[0.0, 0.0], radius=1.0)
    >>> jo.nearest([0.3, 0.2], disc, mass=[1.0, 4.0]).point.round(10).tolist()
    [0.9703379662, 0.2417524176]
    """
    if within.bodies.parts is not None:
        raise InvalidValue(
            f"nearest moves each ball on its own, and the parts of a rigid body keep their places in it: move the "
            f"{within.bodies.several} apart by q0 and orientation0"
        )
    solver = solver or DEFAULT_SOLVER
    return require(nearest_with_contacts(within, floats(q, name="q"), mass, t, solver)[0], solver)


def nearest_with_contacts(
    Q: ConstraintSet, w: Array, mass: ArrayLike | Metric, t: float, solver: Solver | None, relative: bool = False
) -> Nearest:
    """The projection of w on Q(t) in the metric of mass, converged or not, and the contacts there.

    If `relative`, violations count beside the deepest one of w, so that bodies which rest are held in each short step.
    """
    solver = solver or DEFAULT_SOLVER
    M, allowance = metric(mass, w.shape), Allowance(solver, solver.max_iterations, relative)
    if not np.isfinite(w).all():
        raise NotFinite(f"the point q to project is not finite: {w.tolist()}")
    found = _of_many(Q, t, w, M, allowance) if w.ndim == 2 and len(w) > MAX_ALL_PAIRS else None
    if found is not None:
        return found
    failure: EmptySet | None = None
    for x, contacts in _starts(Q, t, w):
        if x is w and contacts.margin.min(initial=0.0) >= 0.0:
            return Projection(w.copy(), np.zeros(len(contacts.gap)), NO_RESIDUAL, 0, True, solver.name), contacts
        if (
            np.min(contacts.cutoff) < np.inf and 1 < len(w) == contacts.part_count
        ):  # in periodic space pairs come and go
            found = _of_many(Q, t, w, M, allowance)
        if found is not None:
            return found
        try:
            return _from(Q, t, w, x, contacts, M, allowance)
        except EmptySet as error:
            if Q.flat:
                raise
            failure = failure or error
        if allowance.spent:
            break
    raise _nowhere(str(w.ravel().tolist()), failure, allowance)


def _nowhere(start: str, failure: EmptySet | None, allowance: Allowance) -> NotConverged:
    most = allowance.solver.max_iterations
    given_up = f"; the search was given up after max_iterations = {most} iterations" if allowance.spent else ""
    return NotConverged(
        f"no point of Q was found from {start}: linearised there, and a little off it, the constraints "
        f"contradict each other ({failure}){given_up}. That does not prove that Q is empty; start nearer to it"
    )


def _check_volume(Q: ConstraintSet, t: float, w: Array) -> None:
    """Raise `EmptySet` if balls that exclude each other have more volume than they can fill of the box that holds them.

    Copies of the box fill space, so equal balls fill no more of it than the densest packing of space does.
    """
    n, d = len(w), w[0].size
    if not any(map(keeps_apart, parts(Q))):
        return
    radii, presence = np.broadcast_to(Q.bodies.radii_at(t), (n,)), getattr(Q, "presence", None)
    radii = radii if presence is None else np.where(presence.here, radii, 0.0)
    balls = math.pi ** (d / 2.0) / math.gamma(d / 2.0 + 1.0) * float((radii**d).sum())
    box = float(np.maximum(_widths(Q, t, radii, d), 0.0).prod())
    densest = DENSEST_PACKING.get(d, 1.0) if (radii == radii[0]).all() else 1.0
    if balls > OVERFULL * densest * box:
        size = "area" if d == 2 else "volume"
        most = f", of which equal balls fill at most {densest:.4f}" if balls <= OVERFULL * box else ""
        raise EmptySet(
            f"the set is empty: {n} balls have the {size} {balls:.4g}, and the box that holds them has {box:.4g}{most}"
            f". Take a larger box, fewer balls or smaller radii"
        )


def _widths(within: ConstraintSet, t: float, radii: Array, d: int) -> Array:
    """(d,) the sides of the box or periodic cell that holds balls of given radii; infinite if there is none."""
    widths = np.full(d, np.inf)
    for Q in parts(within):
        if isinstance(Q, Balls):
            period = np.broadcast_to(Q.period, (d,))
            cell = period >= 2.0 * radii.max(initial=0.0)  # otherwise a ball would overlap itself
            widths = np.where(cell, np.minimum(widths, period), widths)
        elif isinstance(Q, Box):
            beyond = float((radii - Q.bodies.radii_at(t)).max(initial=-np.inf))
            widths = np.minimum(widths, np.broadcast_to(at(Q.upper, t) - at(Q.lower, t), (d,)) + 2.0 * beyond)
    return widths


def _of_many(Q: ConstraintSet, t: float, w: Array, M: Metric, allowance: Allowance) -> Nearest | None:
    """The projection of many bodies, of which only pairs within the cutoff are examined; None if Q always examines all.

    Where the linearised constraints contradict each other, the search starts again with the bodies that they concern
    moved off their places, by another distance each time, until one of the searches converges.
    """
    solver = allowance.solver
    moved, parts = np.zeros(len(w), dtype=bool), [0.0, *CONTRADICTION_DISTANCES]
    best: Nearest | None = None
    failure: EmptySet | None = None
    for _ in range(MAX_STARTS):
        x = _off(Q, t, w, moved, parts[0])
        concerned = moved
        try:
            near = Q.linearise(t, x, 0.0)
            if not near.cutoff < np.inf:
                return None
            deepest = -near.margin.min(initial=0.0)
            if deepest == 0.0 and not parts[0]:
                return Projection(w.copy(), np.zeros(len(near.gap)), NO_RESIDUAL, 0, True, solver.name), near
            if not parts[0]:
                _check_volume(Q, t, w)
            far = CUTOFF_FACTOR * max(deepest, float(np.abs(x - w).max()))
            cutoff = min(far, MAX_FIRST_CUTOFF * (near.smallest_length() or np.inf))
            found = _sweep_many(Q, t, w, x, cutoff, M, allowance)
            if found[0].converged or not parts[0]:
                return found
            best = better(best, found)
        except UndefinedGradient:
            if len(parts) == 1:
                raise
            concerned = np.ones(len(w), dtype=bool)
        except _Contradiction as contradiction:
            failure, concerned = contradiction.error, np.isin(np.arange(len(w)), contradiction.bodies)
            if Q.flat:
                raise failure from None
        if allowance.spent:
            break
        if not parts[0] or not (concerned & ~moved).any():
            parts.pop(0)
        if not parts:
            break
        moved |= concerned
    if best is None:
        raise _nowhere(f"the places of {len(w)} bodies", failure, allowance)
    return best


class _Contradiction(Exception):
    """The constraints, linearised at one point, contradict each other: of which bodies, and the error that says why."""

    def __init__(self, bodies: Integers, error: EmptySet):
        super().__init__(str(error))
        self.bodies, self.error = bodies, error


def _off(Q: ConstraintSet, t: float, w: Array, moved: Booleans, part: float) -> Array:
    """The point w with some bodies moved by a part of the length, each in another direction, always the same ones."""
    if not part:
        return w
    directions = 2.0 * (GOLDEN * np.arange(1, w[moved].size + 1) % 1.0) - 1.0
    x = w.copy()
    x[moved] += part * _scale(Q, t, w) * directions.reshape(w[moved].shape)
    return x


def _sweep_many(
    Q: ConstraintSet, t: float, w: Array, x: Array, cutoff: float, M: Metric, allowance: Allowance
) -> Nearest:
    """Sweeps from x in which it is checked that no pair met that was left out.

    From sweep to sweep the rows change; multipliers follow their pairs.
    """
    guess = None
    contacts = Q.linearise(t, x, cutoff)
    best: Nearest | None = None
    since = 0
    for sweep in range(1, MAX_SWEEPS + 1):
        try:
            P = allowance.project(w - x, contacts.displacements(), M, guess)
        except EmptySet as error:
            raise _Contradiction(contacts.pairs[error.rows], error) from None
        furthest = 2.0 * float(np.sqrt(squares(P.point.reshape(len(w), -1)).max(initial=0.0)))
        if furthest > contacts.cutoff and not allowance.spent:
            if contacts.cutoff < cutoff:
                raise NotConverged(f"a body moves by {furthest / 2.0:g} in the projection: too far for the period")
            cutoff = min(2.0 * furthest, MAX_GROWTH * cutoff)
            contacts, before = Q.linearise(t, x, cutoff), contacts
            guess = by_pair(before.pairs, P.multipliers, contacts.pairs)
            continue
        x = x + P.point
        contacts, before = Q.linearise(t, x, cutoff), contacts
        guess = by_pair(before.pairs, P.multipliers, contacts.pairs)
        P = replace(P, multipliers=guess)
        answer = judged(w, x, contacts, M, P, allowance.solver, sweep)
        best = better(best, answer)
        since = 0 if best is answer else since + 1
        if best[0].converged or since == MAX_IDLE_SWEEPS or allowance.spent:
            break
    assert best is not None
    return best


def _starts(Q: ConstraintSet, t: float, w: Array) -> Iterator[tuple[Array, Contacts]]:
    """Points to start from, w first, at which all gradients exist."""
    direction = (1.0 / (1.0 + np.arange(w.size))).reshape(w.shape)
    scale = 0.0
    for part in START_DISTANCES:
        if part and not scale:
            scale = _scale(Q, t, w)
        x = w + part * scale * direction if part else w
        try:
            contacts = Q.linearise(t, x)
        except UndefinedGradient:
            if part == START_DISTANCES[-1]:
                raise
            continue
        yield x, contacts


def _scale(Q: ConstraintSet, t: float, w: Array) -> float:
    """A length to start off w by: the smallest radius, or that of the set, or the sizes of its gaps and of w."""
    radius = float(Q.bodies.radii_at(t).min(initial=np.inf))
    if 0.0 < radius < np.inf:
        return radius
    own = getattr(Q, "own_length", None) or getattr(Q, "length", None)
    if own:
        return float(own)
    with suppress(UndefinedGradient):
        return float(max(np.abs(w).max(initial=0.0), np.abs(Q.gaps(t, w)).max(initial=0.0))) or 1.0
    return float(np.abs(w).max(initial=0.0)) or 1.0


def _from(
    Q: ConstraintSet, t: float, w: Array, x: Array, contacts: Contacts, M: Metric, allowance: Allowance
) -> Nearest:
    """The search from x, with the rows that are near at first, then with those that it ran into as well."""
    margin = contacts.margin
    cutoff = CUTOFF_FACTOR * -margin.min(initial=0.0)
    near = ~(margin > (cutoff if len(margin) > MAX_ALL_ROWS else np.inf))
    while True:
        rows = np.flatnonzero(near)

        def linearise(y: Array, rows: Integers = rows) -> Contacts:
            there = Q.linearise(t, y)
            return there if len(rows) == len(there.gap) else there.only(rows)

        found = _sweep(linearise, w, x, contacts.only(rows), M, allowance)
        pull = float(np.linalg.norm(M.times((found[0].point - w).ravel())))
        length = contacts.smallest_length()
        deep = length is None or pull > SHALLOW_PULL * M.lightest * length
        if deep and not Q.flat and w.size <= MAX_CURVED_SIZE:
            found = off_saddle(linearise, w, M, allowance.solver, found)
        violated = margins(Q, t, found[0].point) < 0.0
        if not (violated & ~near).any() or allowance.spent:
            return found
        near |= violated


def _sweep(linearise: Linearise, w: Array, x: Array, contacts: Contacts, M: Metric, allowance: Allowance) -> Nearest:
    """Project w on Q~(x), go there, linearise again, until nothing changes."""
    solver = allowance.solver
    best: Nearest | None = None
    last = np.inf
    for sweep in range(1, MAX_SWEEPS + 1):
        P = allowance.project(w - x, contacts.displacements(), M)
        x = x + P.point
        contacts = linearise(x)
        answer = judged(w, x, contacts, M, P, solver, sweep)
        best, worst = better(best, answer), answer[0].residual.worst
        if worst <= ROUND_OFF or (best[0].converged and worst > 0.5 * last) or allowance.spent:
            return best
        if worst > SLOW_FACTOR * last and w.size <= MAX_CURVED_SIZE:
            return with_curvature(linearise, w, M, solver, best)
        last = worst
    assert best is not None
    return best
