"""Random close packings: balls that grow until they jam, and overlapping balls moved apart.

The method begins like that of O'Hern, Silbert, Liu & Nagel (2003): random points, and descent of the overlap with
smaller and smaller radii. It ends like that of Torquato & Jiao (2010): the largest growth s of all radii that the
linearised gaps allow,

    min 1/2 |u|^2 + k/2 (s - S)^2   subject to   g + G u - (r_i + r_j) s >= 0.

This is a projection of (0, S), with the growth as an additional coordinate. No iterate overlaps. The multipliers are
contact forces: when s = 0 they balance on every ball, G^T p = 0.
"""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from jostle._tools.arguments import Fraction, Natural, check_arguments
from jostle._tools.arrays import Array, Integers, finite
from jostle.bodies import body_radii
from jostle.contacts import Contacts
from jostle.convex.linear_map import Sparse
from jostle.convex.metric import Metric, metric
from jostle.convex.polyhedron import Polyhedron
from jostle.convex.projection import Projection
from jostle.errors import EmptySet, InvalidValue, LeftTheSet, NotConverged, UndefinedGradient
from jostle.models.starts import Cell, Ends, ball_volume, cell
from jostle.sets.balls import Balls
from jostle.sets.base import ConstraintSet
from jostle.solvers.automatic import Automatic
from jostle.solvers.gauss_seidel import GaussSeidel
from jostle.solvers.project import require

# Overlapping balls moved apart: P_Q(q) for thousands of balls that may overlap deeply.
#
# The first stage minimises the overlap
#
#     E(q) = 1/2 sum_i min(g_i(q), 0)^2,      grad E = G^T min(g, 0),
#
# and works even where a linearised set is empty. The second stage iterates x_{k+1} = P_{Q~(x_k)}(q). If the gaps are
# convex, Q~(x) lies in Q: all x_k are admissible, and their distance from q falls, |q - x_{k+1}|^2 <= |q - x_k|^2 -
# |x_{k+1} - x_k|^2.


GAP_MARGIN = 1e-7
"""Gaps are kept open by this fraction of the smallest radius, so that the solver's tolerance leaves no overlap."""
GAP_WIDTHS = (1e-2, 1e-4, 1e-6)
"""Gap widths that the descent tries to reach, in smallest radii; it goes on to the next if there is no room."""
SHAKE_AMPLITUDE = 1e-3
"""Typical random displacement of the balls, in smallest radii, if two of them have the same centre."""
MIN_SEARCH_RADIUS = 0.1
"""Least contact search radius, in radii; steps are shortened so that pairs beyond the search radius cannot meet."""
MAX_SWEEPS = 500
"""Largest number of projections."""
MAX_DESCENT_STEPS = 20_000
"""Largest number of steps of the descent."""
BALANCE_TOLERANCE = 1e-2
"""The descent ends where the forces balance up to this fraction of the expected overlap."""
STORED_STEPS = 20
"""Number of previous steps that the quasi-Newton descent stores."""
MAX_DISPLACEMENT = 0.1
"""Largest displacement of a ball in one step of the descent, in smallest radii."""
SUFFICIENT_DECREASE = 1e-4
"""A step is accepted if it achieves this fraction of the decrease that the slope predicts; otherwise it is halved."""


@check_arguments
def separate(
    q: ArrayLike,
    within: ConstraintSet | ArrayLike,
    *,
    mass: ArrayLike | Metric = 1.0,
    seed: Natural | np.random.Generator = 0,
    tol: Fraction = 1e-4,
) -> Array:
    """The nearest configuration without overlap, P_Q(q) in the M-norm: a local minimum, since Q is not convex.

    A q in Q is returned unchanged. Otherwise overlaps may be arbitrarily deep. Balls that touch in the result are left
    1e-7 of the smallest radius apart.

    Parameters
    ----------
    q : array_like, shape (n, d)
        Positions of the balls.
    within : ConstraintSet or array_like, shape (n,)
        The set Q at time 0, such as ``Balls(radii) & Box(...)``; or the radii of balls without walls.
    mass : float, array_like or Metric, default 1.0
        Masses that define the M-norm: heavy balls move less.
    seed : int or numpy.random.Generator, default 0
        Source of the random displacement of balls; it is used only if two of them have the same centre.
    tol : float, default 1e-4
        The search ends when a sweep moves no ball by more than `tol` smallest radii; between 0 and 1.

    Returns
    -------
    ndarray, shape (n, d)
        The positions without overlap.

    Raises
    ------
    NotConverged
        If no configuration without overlap was found near q, or balls still move by more than `tol` after 500 sweeps.
    LeftTheSet
        If the linearised sets leave the set, because a gap that was thought convex is not.

    Examples
    --------
    >>> separate([[0.0, 0.0], [1.0, 0.0]], [1.0, 1.0], mass=[3.0, 1.0]).round(5).tolist()
    [[-0.25, 0.0], [1.75, 0.0]]
    """
    target = finite(q, "q")
    if target.ndim != 2:
        raise InvalidValue(f"q must have one row per ball, shape (n, d), not {target.shape}")
    Q = within if isinstance(within, ConstraintSet) else Balls(finite(within, "radii"))
    if Q.convex_gaps is False:
        raise InvalidValue(
            f"the gaps of {Q} are not convex, so its linearised sets leave it; try jo.nearest(q, within)"
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
        raise LeftTheSet(f"a gap of {Q} is not convex: its linearised sets left it; try jo.nearest(q, within)")
    return x


def _admissible(contacts: Contacts) -> bool:
    return bool((contacts.gap >= -contacts.tolerance()).all())


def _shaken(Q: ConstraintSet, q: Array, random: np.random.Generator) -> Array:
    """The positions after a small random displacement of every ball, so that each gap has a gradient."""
    direction, spread = random.standard_normal(q.shape), float(np.abs(q).max(initial=0.0)) or 1.0
    return q + SHAKE_AMPLITUDE * (_radius(Q) or spread) * direction


def _radius(Q: ConstraintSet) -> float | None:
    """The smallest radius of a ball; None if there are only points."""
    smallest = float(Q.bodies.radii_at(0.0).min(initial=np.inf))
    return smallest if 0.0 < smallest < np.inf else None


def _apart(Q: ConstraintSet, x: Array, length: float) -> Array:
    """A configuration without overlap near x, found by descent."""
    for room in GAP_WIDTHS:
        x = descend(Q, x, room * length, room * length)
        contacts = Q.linearise(0.0, x, GAP_MARGIN * length)
        if contacts.gap.min(initial=np.inf) >= GAP_MARGIN * length:
            return x
    row, pairs = int(np.argmin(contacts.gap)), np.count_nonzero(contacts.gap < 0.0)
    raise NotConverged(
        f"no room was found for {len(x)} balls: after the descent {pairs} pairs still overlap, "
        f"{contacts.describe(row)} by {-contacts.gap[row]:.2g}. Take a larger box, smaller radii, or "
        f"another q: a jam here does not prove that there is no room elsewhere"
    )


def _nearest(Q: ConstraintSet, x: Array, target: Array, M: Metric, length: float, tol: float) -> Array:
    """The limit of x_{k+1} = P_{Q~(y_k)}(target) from an admissible x."""
    # The extrapolation y_k = x_k + k / (k + 3) (x_k - x_{k-1}) is faster, and its iterates stay in Q as well. With
    # y_k = x_k the distance always falls; the iteration returns to it whenever the extrapolation increased it.
    y, k, distance, cutoff = x, 0, M.norm((x - target).ravel()), length
    for _ in range(MAX_SWEEPS):
        z, cutoff = _swept(Q, y, target, M, cutoff, y is x)
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
        f"after {MAX_SWEEPS} sweeps balls still move by {moved / length:.2g} of the smallest radius per sweep: with "
        f"deep overlaps many configurations are almost equally near. Increase tol, or give a q with less overlap"
    )


def _swept(
    Q: ConstraintSet, y: Array, target: Array, M: Metric, cutoff: float, admissible: bool
) -> tuple[Array | None, float]:
    """P_{Q~(y)}(target), or None if there is none for this y, and the contact search radius of the next sweep."""
    # The step is shortened if pairs beyond the search radius could meet on its way; all of the segment lies in Q~(y).
    solver = Automatic(tol=GAP_MARGIN / 4.0)
    contacts = Q.linearise(0.0, y, cutoff)
    K = Polyhedron(
        contacts.G, contacts.gap - GAP_MARGIN * contacts.length,
        length=contacts.length, describe=contacts.describe, noise=contacts.noise,
    )  # fmt: skip
    try:
        P = require(solver.project(target - y, K, M), solver)
    except (EmptySet, NotConverged):
        if admissible:
            raise
        return None, cutoff
    furthest = largest(P.point)
    if 2.0 * furthest <= contacts.cutoff:
        return y + P.point, max(4.0 * furthest, MIN_SEARCH_RADIUS * (_radius(Q) or 0.0))
    longer = max(cutoff, min(4.0 * cutoff, 4.0 * furthest))
    return (y + contacts.cutoff / (2.0 * furthest) * P.point if admissible else None), longer


def descend(Q: ConstraintSet, x: Array, unit: float, room: float = 0.0) -> Array:
    """Minimise the overlap E of gaps that are `room` wide, until no force exceeds 1 % of `unit`.

    This is L-BFGS (Nocedal 1980), written out because the result of SciPy's depends on the number of BLAS threads.
    """

    def overlap(y: Array) -> tuple[float, Array]:
        contacts = Q.linearise(0.0, unit * y.reshape(x.shape), room)
        g = np.minimum(contacts.gap - room, 0.0) / unit
        return 0.5 * _inner(g, g), contacts.G.adjoint(g)

    y, memory = x.ravel() / unit, deque[tuple[Array, Array, float]](maxlen=STORED_STEPS)
    E, gradient = overlap(y)
    longest = MAX_DISPLACEMENT * (_radius(Q) or np.inf) / unit
    for _ in range(MAX_DESCENT_STEPS):
        if np.abs(gradient).max(initial=0.0) <= BALANCE_TOLERANCE:
            break
        step = -_newton(gradient, memory)
        step /= max(1.0, largest(step.reshape(x.shape)) / longest)
        slope = _inner(gradient, step)
        while (there := overlap(y + step))[0] > E + SUFFICIENT_DECREASE * slope:
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
    """The gradient times the inverse of a matrix that maps the last steps to the last changes of the gradient."""
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
    """a . b, summed in an order that does not depend on the number of threads."""
    return float(np.einsum("k,k->", a, b))


def largest(u: Array) -> float:
    """The longest displacement of a ball."""
    return float(np.sqrt(np.einsum("nd,nd->n", u, u).max(initial=0.0)))


INITIAL_FRACTIONS = {2: 0.86, 3: 0.66}
"""Packing fraction at the start, by dimension, with overlaps counted twice: a little more than in the final packing."""
MAX_DESCENT_OVERLAP = 3e-3
"""Mean overlap per ball, in mean radii, at which the descent ends and the projections begin."""
SHRINK_DIVISOR = 6.0
"""Radii shrink by the mean overlap divided by this number; the overlap falls three to five times as much."""
GROWTH_FACTOR = 1.1
"""Factor by which the radii grow if nothing overlaps at the start."""
TARGET_GROWTH = 1e-2
"""S, the target growth of the radii in each projection."""
GROWTH_WEIGHT = 1e3
"""k, the weight of the growth against displacements, in units of n r^2."""
RELATIVE_TOLERANCE = 0.05
"""Tolerance of a projection, as a fraction of the growth in the projection before it."""
MAX_TOLERANCE = 1e-4
"""Largest tolerance of a projection, in radii."""
MAX_PROJECTIONS = 500
"""Largest number of projections."""
MIN_RELATIVE_FORCE = 1e-6
"""A contact belongs to the packing if its force is more than this fraction of the largest force."""


class Packing(NamedTuple):
    """Balls that can grow no further, and the contacts that hold them."""

    q: Array
    """(n, d) positions, not wrapped into the period."""
    radii: Array
    """(n,) radii."""
    pairs: Integers
    """(m, 2) contacts that carry a force: two balls, or a ball and a wall, as in `Contacts.pairs`."""
    forces: Array
    """(m,) contact forces with mean 1, which balance on each ball."""


@check_arguments
def random_close_packing(
    radii: ArrayLike,
    *,
    box: Ends | None = None,
    period: ArrayLike | None = None,
    seed: Natural | np.random.Generator = 0,
    tol: Fraction = 1e-6,
) -> Packing:
    """Balls with given relative radii, jammed at random in a box or in a periodic space, in 2-D or 3-D.

    No two balls overlap, and the radii are the largest possible up to the relative error `tol`. In a large periodic
    space equal spheres fill 0.64 of the volume; equal numbers of discs of radii 1 and 1.4 fill 0.84 of the area (equal
    discs partly crystallise). The packing is isostatic: in a periodic space the N balls that are not rattlers have
    2 d (1 - 1/N) + 2/N contacts each on average.

    Parameters
    ----------
    radii : array_like, shape (n,)
        Radii of the balls up to a common factor, positive.
    box : pair of array_like, shape (d,), optional
        Lower and upper corner of the box. None means that every axis has a period.
    period : float or array_like, shape (d,), optional
        Period along each axis, infinite for an axis with walls. None means walls along every axis.
    seed : int or numpy.random.Generator, default 0
        Source of the random positions at the start.
    tol : float, default 1e-6
        Relative growth of the radii in one projection below which the packing counts as jammed, between 0 and 1.

    Returns
    -------
    Packing
        Named tuple (q, radii, pairs, forces): the positions (n, d), not wrapped into the period; the radii (n,); the
        contacts (m, 2) that carry a force, as in `Contacts.pairs`; and their forces (m,), with mean 1, which balance on
        each ball.

    Raises
    ------
    NotConverged
        If the radii still grow by more than `tol` after 500 projections.

    Examples
    --------
    >>> packing = random_close_packing(np.repeat([1.0, 1.4], 30), period=[1.0, 1.0])
    >>> bool(0.78 < np.pi * (packing.radii**2).sum() < 0.87)
    True
    """
    space = cell(box, period)
    d = len(space.lower)
    if d not in INITIAL_FRACTIONS:
        raise InvalidValue(f"random_close_packing is for discs and spheres, in dimension 2 or 3, not {d}")
    size = finite(radii, "radii")
    size = body_radii(size, size.size, 0.0)
    random = np.random.default_rng(seed)
    q = space.lower + random.random((len(size), d)) * (space.upper - space.lower)
    size = size * (INITIAL_FRACTIONS[d] * space.volume / ball_volume(size, d)) ** (1.0 / d)
    q, size = _quenched(space, q, size)
    return _jammed(space, q, size, tol)


def _quenched(space: Cell, q: Array, radii: Array) -> tuple[Array, Array]:
    """Points and radii after relaxation: the radii shrink until the balls overlap only a little."""
    expected, overlaps = 0.1, False
    while True:
        mean = float(radii.mean())
        q = descend(space.within(radii), q, expected * mean)
        overlap = -float(np.minimum(space.within(radii).linearise(0.0, q, 0.0).gap, 0.0).sum()) / (len(q) * mean)
        if overlap <= BALANCE_TOLERANCE * expected and not overlaps:
            radii = GROWTH_FACTOR * radii
        elif overlap <= MAX_DESCENT_OVERLAP:
            return q, radii
        else:
            overlaps, expected = True, 0.3 * overlap
            radii = radii * (1.0 - overlap / SHRINK_DIVISOR)


def _jammed(space: Cell, q: Array, radii: Array, tol: float) -> Packing:
    """The radii as large as they can be without overlap: a sequence of projections."""
    radii = radii * (1.0 + _spare(space, q, radii, 0.0))
    s = TARGET_GROWTH
    for _ in range(MAX_PROJECTIONS):
        contacts, P = _grown(space, q, radii, min(MAX_TOLERANCE, RELATIVE_TOLERANCE * s))
        u, s = P.point[:-1].reshape(q.shape), float(P.point[-1])
        closer = 2.0 * (largest(u) + s * float(radii.max()))
        part = min(1.0, float(contacts.cutoff) / closer)
        q = q + part * u
        radii = radii * (1.0 + _spare(space, q, radii, part * s))
        if part == 1.0 and s <= tol:
            forces = P.multipliers
            carry = np.flatnonzero(forces > MIN_RELATIVE_FORCE * forces.max(initial=0.0))
            return Packing(q, radii, contacts.pairs[carry], forces[carry] / forces[carry].mean())
        s = max(s, tol)
    raise NotConverged(
        f"after {MAX_PROJECTIONS} projections the radii still grow by {s:.1e} in each; increase tol = {tol:.1e}"
    )


def _grown(space: Cell, q: Array, radii: Array, tol: float) -> tuple[Contacts, Projection]:
    """The projection of (0, S): the displacements u of all balls, and the growth s."""
    from scipy.sparse import csr_array, hstack

    contacts = space.within(radii).linearise(0.0, q, MIN_SEARCH_RADIUS * float(radii.max()))
    column = csr_array(-_sums(contacts, radii)[:, None])
    K = Polyhedron(
        Sparse(csr_array(hstack([contacts.G.tocsr(), column]))), contacts.gap,
        length=contacts.length, describe=contacts.describe, noise=contacts.noise,
    )  # fmt: skip
    wished = np.append(np.zeros(q.size), TARGET_GROWTH)
    mass = np.append(np.ones(q.size), GROWTH_WEIGHT * len(q) * float((radii**2).mean()))
    solver = GaussSeidel(tol=tol)
    return contacts, require(solver.project(wished, K, mass), solver)


def _spare(space: Cell, q: Array, radii: Array, most: float) -> float:
    """Relative amount by which all radii can grow without overlap (negative: must shrink), at most `most`."""
    contacts = space.within(radii).linearise(0.0, q, MIN_SEARCH_RADIUS * float(radii.max()))
    return float((contacts.gap / _sums(contacts, radii)).min(initial=most))


def _sums(contacts: Contacts, radii: Array) -> Array:
    """(m,) r_i + r_j, or r_i at a wall: the rate at which each gap closes when the radii grow."""
    i, j = contacts.pairs.T
    return np.asarray(radii[i] + np.where(j >= 0, radii[np.maximum(j, 0)], 0.0))
