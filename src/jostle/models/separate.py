"""Overlapping balls moved apart: P_Q(q) for thousands of balls that overlap as deeply as they like.

First softly, by descent of the overlap

    E(q) = 1/2 sum_i min(g_i(q), 0)^2,      grad E = G^T min(g, 0),

which asks no linearised set to have points; then x_{k+1} = P_{Q~(x_k)}(q). If the gaps are convex, Q~(x) lies in Q: all
x_k are admissible, and their distance from q falls, |q - x_{k+1}|^2 <= |q - x_k|^2 - |x_{k+1} - x_k|^2.
"""

from __future__ import annotations

from collections import deque

import numpy as np
from numpy.typing import ArrayLike

from jostle.arguments import Natural, check_arguments
from jostle.arrays import Array, finite
from jostle.convex.metric import Metric, metric
from jostle.convex.polyhedron import Polyhedron
from jostle.errors import EmptySet, InvalidValue, LeftTheSet, NotConverged, UndefinedGradient
from jostle.sets.balls import Balls
from jostle.sets.base import ConstraintSet
from jostle.sets.contacts import Contacts
from jostle.solvers.automatic import Automatic
from jostle.solvers.project import require

MARGIN = 1e-7
"""Gaps are kept open by this part of the smallest radius, so that the tolerance of a projection leaves no overlap."""
ROOM = (1e-2, 1e-4, 1e-6)
"""How wide the soft stage tries to make them; the next one if there is no room for so much."""
SHAKE = 1e-3
"""Balls with the same centre are moved by about this part of the smallest radius."""
NEAR = 0.1
"""Pairs up to this part of a radius are always looked at; steps are shortened so that no others can meet."""
SWEEPS = 500
DESCENT_STEPS = 20_000
BALANCED = 1e-2
"""The descent ends where the forces balance up to this part of the overlap that is expected."""
MEMORY = 20
"""Steps that the descent remembers."""
LONGEST = 0.1
"""It moves no ball by more than this part of the smallest radius in a step."""
SUFFICIENT = 1e-4
"""The part of the expected descent that makes a step good enough; else it is halved."""


@check_arguments
def separate(
    q: ArrayLike,
    within: ConstraintSet | ArrayLike,
    *,
    mass: ArrayLike | Metric = 1.0,
    seed: Natural | np.random.Generator = 0,
    tol: float = 1e-4,
) -> Array:
    """The nearest configuration without overlap, P_Q(q) in the M-norm (a local one: Q is not convex), (n, d).

    `within` is the set Q, ``Balls(radii) & Box(...)`` say, at time 0, or just the radii. A q in Q is returned as it is.
    Otherwise overlaps may be as deep as they like; balls that touch are left 1e-7 of the smallest radius apart, and the
    search ends when a sweep moves no ball by more than tol times this radius. The seed matters only if two balls have
    the same centre.

    >>> separate([[0.0, 0.0], [1.0, 0.0]], [1.0, 1.0], mass=[3.0, 1.0]).round(5).tolist()
    [[-0.25, 0.0], [1.75, 0.0]]
    """
    target = finite(q, "q")
    if target.ndim != 2:
        raise InvalidValue(f"q has one row a ball, (n, d), not shape {target.shape}")
    if not 0.0 < tol < 1.0:
        raise InvalidValue(f"tol must lie between 0 and 1, not {tol}")
    Q = within if isinstance(within, ConstraintSet) else Balls(finite(within, "radii"))
    if Q.convex_gaps is False:
        raise InvalidValue(
            f"{Q} has gaps that are not convex, and linearised sets that leave it; try within.nearest(q)"
        )
    M, start = metric(mass, target.shape), target
    try:
        if _admissible(Q.linearise(0.0, target, 0.0)):
            return target
    except UndefinedGradient:
        start = _shaken(Q, target, np.random.default_rng(seed))
    length = _radius(Q)
    if length is None:
        raise InvalidValue(f"{Q} has no radii to compare overlaps with")
    x = _nearest(Q, _apart(Q, start, length), target, M, length, tol)
    if not _admissible(Q.linearise(0.0, x, 0.0)):
        raise LeftTheSet(f"a gap of {Q} is not convex: its linearised sets left it; try within.nearest(q)")
    return x


def _admissible(contacts: Contacts) -> bool:
    return bool((contacts.gap >= -contacts.tolerance()).all())


def _shaken(Q: ConstraintSet, q: Array, random: np.random.Generator) -> Array:
    """Every ball moved a little, so that each gap has a gradient."""
    direction, spread = random.standard_normal(q.shape), float(np.abs(q).max(initial=0.0)) or 1.0
    return q + SHAKE * (_radius(Q) or spread) * direction


def _radius(Q: ConstraintSet) -> float | None:
    """The smallest radius of a ball; None if there are only points."""
    smallest = float(Q.radii_at(0.0).min(initial=np.inf))
    return smallest if 0.0 < smallest < np.inf else None


def _apart(Q: ConstraintSet, x: Array, length: float) -> Array:
    """A configuration without overlap, not far from x: the soft stage."""
    for room in ROOM:
        x = descend(Q, x, room * length, room * length)
        contacts = Q.linearise(0.0, x, MARGIN * length)
        if contacts.gap.min(initial=np.inf) >= MARGIN * length:
            return x
    row, pairs = int(np.argmin(contacts.gap)), np.count_nonzero(contacts.gap < 0.0)
    raise EmptySet(
        f"no room was found for {len(x)} balls: moved apart as far as they go, {pairs} pairs still overlap, "
        f"{contacts.describe(row)} by {-contacts.gap[row]:.2g}. Take a larger box or smaller radii, or "
        f"another q: that they are jammed here does not prove that there is no room elsewhere"
    )


def _nearest(Q: ConstraintSet, x: Array, target: Array, M: Metric, length: float, tol: float) -> Array:
    """x_{k+1} = P_{Q~(y_k)}(target) from an admissible x, until it stands still.

    With y_k = x_k + k / (k + 3) (x_k - x_{k-1}) it is faster, and stays in Q too. With y_k = x_k the distance is sure
    to fall, which is the way back whenever it did not.
    """
    y, k, distance, reach = x, 0, M.norm((x - target).ravel()), length
    for _ in range(SWEEPS):
        z, reach = _swept(Q, y, target, M, reach, y is x)
        further = np.inf if z is None else M.norm((z - target).ravel())
        if z is None or (y is not x and further > distance):
            y, k = x, 0
            continue
        moved, distance, straight = largest(z - x), further, y is x
        x, y, k = z, z + k / (k + 3.0) * (z - x), k + 1
        if moved <= tol * length:
            if straight:
                return x
            y, k = x, 0
    raise NotConverged(
        f"after {SWEEPS} sweeps balls still move by {moved / length:.2g} of the smallest radius in each: between deep "
        f"overlaps many configurations are about as near. Loosen tol, or give a q with less overlap"
    )


def _swept(
    Q: ConstraintSet, y: Array, target: Array, M: Metric, reach: float, admissible: bool
) -> tuple[Array | None, float]:
    """P_{Q~(y)}(target), None if it cannot be had from this y, and how far to look next time.

    If pairs that were left out could meet on the way there, it is shortened: with y, all of it is in Q~(y).
    """
    solver = Automatic(tol=MARGIN / 4.0)
    contacts = Q.linearise(0.0, y, reach)
    K = Polyhedron(
        contacts.G, contacts.gap - MARGIN * contacts.length,
        length=contacts.length, describe=contacts.describe, noise=contacts.noise,
    )  # fmt: skip
    try:
        P = require(solver.project(target - y, K, M), solver)
    except (EmptySet, NotConverged):
        if admissible:
            raise
        return None, reach
    furthest = largest(P.point)
    if 2.0 * furthest <= contacts.reach:
        return y + P.point, max(4.0 * furthest, NEAR * (_radius(Q) or 0.0))
    longer = max(reach, min(4.0 * reach, 4.0 * furthest))
    return (y + contacts.reach / (2.0 * furthest) * P.point if admissible else None), longer


def descend(Q: ConstraintSet, x: Array, unit: float, room: float = 0.0) -> Array:
    """Less overlap: descent of E, for gaps less the room, until no force exceeds 1 % of a unit.

    Quasi-Newton with a short memory (Nocedal 1980), written out, as SciPy's depends on the threads of its BLAS.
    """

    def overlap(y: Array) -> tuple[float, Array]:
        contacts = Q.linearise(0.0, unit * y.reshape(x.shape), room)
        g = np.minimum(contacts.gap - room, 0.0) / unit
        return 0.5 * _inner(g, g), contacts.G.adjoint(g)

    y, memory = x.ravel() / unit, deque[tuple[Array, Array, float]](maxlen=MEMORY)
    E, gradient = overlap(y)
    longest = LONGEST * (_radius(Q) or np.inf) / unit
    for _ in range(DESCENT_STEPS):
        if np.abs(gradient).max(initial=0.0) <= BALANCED:
            break
        step = -_newton(gradient, memory)
        step /= max(1.0, largest(step.reshape(x.shape)) / longest)
        slope = _inner(gradient, step)
        while (there := overlap(y + step))[0] > E + SUFFICIENT * slope:
            step, slope = 0.5 * step, 0.5 * slope
        if not there[0] < E:
            break
        change = there[1] - gradient
        if (product := _inner(change, step)) > 0.0:
            memory.append((step, change, product))
        y = y + step
        E, gradient = there
    return unit * y.reshape(x.shape)


def _newton(gradient: Array, memory: deque[tuple[Array, Array, float]]) -> Array:
    """The inverse of a matrix that maps the last steps to the last changes of the gradient, times the gradient."""
    v, parts = gradient.copy(), []
    for step, change, product in reversed(memory):
        parts.append(_inner(step, v) / product)
        v -= parts[-1] * change
    if memory:
        _, change, product = memory[-1]
        v *= product / _inner(change, change)
    for (step, change, product), part in zip(memory, reversed(parts), strict=True):
        v += (part - _inner(change, v) / product) * step
    return v


def _inner(a: Array, b: Array) -> float:
    """a . b, in the same order whatever the number of threads."""
    return float(np.einsum("k,k->", a, b))


def largest(u: Array) -> float:
    """The longest displacement of a ball."""
    return float(np.sqrt(np.einsum("nd,nd->n", u, u).max(initial=0.0)))
