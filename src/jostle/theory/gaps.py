"""What is known of the gaps g_i of a set: bounds of their derivatives at every q, or else their values at one place.

The gap of a body to a wall, an obstacle or another body is a distance, less a radius. With x the vector from the
nearest centre or corner, at a distance of at least R where g >= 0,

    grad g = G,     |D^2 g| <= w / |x|,     U = {|x| > R / 2}:     M = 2 w / R,     c = R / (2 sqrt(w)),

with w the largest |G|^2. R is the sum of two radii, or that of a body and an obstacle; at the corner of a polygon or
the end of a thin wall it is the radius of the body; at a plane it is infinite. For equal discs of radius r this gives
alpha = sqrt(2), M = 2 / r and c = r / sqrt(2), as in Venel 2009, section 4.2. Of constraints of the user, D^2 g is
differenced at the configuration itself, and nothing is known elsewhere. All norms are those of the metric of the
problem (Bernicot & Lefebvre-Lepot 2010, remark 4.1).

The boundary of {g >= 0} has the curvature of the tangential part of D^2 g, divided by |grad g| (Venel 2009, Prop. 2.7):
it does not change if g is replaced by another function with the same zeros.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from jostle._tools.arrays import Array, Integers, at
from jostle.contacts import Contacts, by_pair
from jostle.convex.linear_map import as_map
from jostle.convex.metric import Metric
from jostle.differences import RELATIVE_STEP, central
from jostle.errors import JostleError
from jostle.sets.balls import Balls, Line
from jostle.sets.base import ConstraintSet, parts
from jostle.sets.gradient_search import Differences
from jostle.sets.polygons import Polygons
from jostle.sets.walls import Box, HalfSpace, Inside, Outside, Segments
from jostle.theory.places import Place

EVERYWHERE, NOW, HERE = "at every q", "at this t", "at this q"
"""Where bounds are known to hold."""
MAX_DIFFERENCED = 40
"""Second derivatives are differenced for at most this many coordinates."""
STRAIGHT = 1e-4
"""Eigenvalues of D^2 g up to this fraction of the largest, or of |grad g| / |q|, are errors of the differences."""
HALF = 0.5
"""U_i reaches down to this fraction of the distance at which two bodies touch."""


@dataclass(frozen=True, eq=False)
class Bounds:
    """Bounds of all gaps of one set; NaN where they are not known."""

    alpha: float
    """The smallest |grad g_i|."""
    beta: float
    """The largest |grad g_i|."""
    M: float
    """The largest |D^2 g_i| on U_i; for constraints of the user, that at q."""
    c: float
    """How far U_i reaches beyond Q_i."""
    radius: float
    """The smallest radius of curvature of the boundaries that bend inwards; infinite if none does."""
    where: str
    """EVERYWHERE, NOW or HERE."""
    metric_only: bool = False
    """True if HERE is said because the metric depends on q, while the gaps are known at every q."""
    kink: str = ""
    """Where in Q_i a gap has no derivative; empty if it has derivatives on U_i, or if that is not known."""
    jumps: str = ""
    """Where D^2 g jumps, so that grad g is Lipschitz only."""
    why: str = ""
    """Why second derivatives are not known."""
    lowest: float = 0.0
    """The smallest eigenvalue of D^2 g_i at q, relative to the largest in size: negative where g_i is not convex."""
    named: str = ""
    """The constraint with this eigenvalue."""
    bend: float = np.inf
    """The smallest radius of curvature at q of a closed constraint whose boundary bends inwards."""


def bounds_of(place: Place) -> tuple[Bounds, ...]:
    """The bounds of all sets of a place that have gaps."""
    found = (_bounds(Q, place) for Q in parts(place.within) if not Q.equalities)
    return tuple(each for each in found if each is not None)


def _bounds(Q: ConstraintSet, place: Place) -> Bounds | None:
    """The bounds of one set; None if it has no gaps."""
    round_ = type(Q) in SHAPES and not Q.flat
    contacts = Q.near(place.t, place.q, 0.0 if round_ else np.inf)
    n = contacts.part_count if place.q.size else 0
    if (n * (n - 1 if isinstance(Q, Balls) else len(getattr(Q, "names", ()))) if round_ else len(contacts.gap)) == 0:
        return None
    if type(Q) not in SHAPES:
        return _at_one_place(Q, place, contacts)
    shape = SHAPES[type(Q)](Q, place.t)
    low, high = _sizes(place.metric, contacts.part_count, 2 if isinstance(Q, Balls) else 1)
    if Q.flat:
        sizes = np.asarray(contacts.G.norms(place.metric))
        low, high = float(sizes.min()), float(sizes.max())
    with np.errstate(divide="ignore"):
        M = np.inf if isinstance(Q, Inside) else float(np.divide(high**2, HALF * shape.R))
    radius = np.inf if isinstance(Q, Inside) else shape.R * low / high**2
    c = 0.0 if shape.kink else (1.0 - HALF) * shape.R / high
    varies = callable(getattr(place.problem, "mass", None))
    where = HERE if varies else NOW if shape.changes else EVERYWHERE
    return Bounds(low, high, M, c, radius, where, varies, kink=shape.kink, jumps=shape.jumps)


def _sizes(M: Metric, n: int, touching: int) -> tuple[float, float]:
    """The smallest and largest |G| that unit normals may have, in contacts of one body or of two, of n bodies."""
    if M.diagonal:
        inverse = 1.0 / M.mass.reshape(n, -1)
        low, high = np.sort(inverse.min(axis=1)), np.sort(inverse.max(axis=1))
    else:
        values = np.linalg.eigvalsh(M.mass)
        low, high = np.full(n, 1.0 / values[-1]), np.full(n, 1.0 / values[0])
    return float(np.sqrt(low[:touching].sum())), float(np.sqrt(high[-touching:].sum()))


class Shape(NamedTuple):
    """What bounds depend on."""

    R: float
    """Smallest distance of a body that touches from the centre, corner or end that it touches; infinite at planes."""
    changes: bool = False
    """True if R depends on time."""
    kink: str = ""
    jumps: str = ""


def _planes(Q: HalfSpace | Box | Line, t: float) -> Shape:
    return Shape(np.inf)


def _balls(Q: Balls, t: float) -> Shape:
    radii = np.sort(np.ravel(Q.bodies.radii_at(t)))
    two = 2.0 * float(radii[0]) if len(radii) == 1 else float(radii[:2].sum())
    periodic = bool(np.isfinite(Q.period).any())
    return Shape(two, Q.bodies.swell, "of the nearest image has a kink half a period away" if periodic else "")


def _obstacles(Q: Outside, t: float) -> Shape:
    radii = at(Q.radius, t).ravel()
    R = float(radii.min(initial=np.inf)) + _smallest(Q, t)
    changes = callable(Q.radius) or Q.bodies.swell
    return Shape(R, changes, "" if R > 0.0 else "has a kink at the centre of an obstacle of radius 0")


def _containers(Q: Inside, t: float) -> Shape:
    return Shape(float(at(Q.radius, t).min()) - _smallest(Q, t), kink="has a kink at the centre of the container")


def _corners(Q: Segments | Polygons, t: float) -> Shape:
    R, kind = _smallest(Q, t), "ends of a segment" if isinstance(Q, Segments) else "corners of a polygon"
    kink = "" if R > 0.0 else f"of a point has a kink at the {kind}"
    return Shape(R, Q.bodies.swell, kink, f"D^2 g jumps where edges and {kind.split()[0]} meet, grad g is Lipschitz")


def _smallest(Q: ConstraintSet, t: float) -> float:
    """The smallest radius of the bodies, 0 for points."""
    return float(np.min(Q.bodies.radii_at(t), initial=np.inf)) if Q.bodies.radii is not None else 0.0


SHAPES: Mapping[type[ConstraintSet], Callable[[Any, float], Shape]] = {
    HalfSpace: _planes, Box: _planes, Line: _planes, Balls: _balls, Outside: _obstacles, Inside: _containers,
    Segments: _corners, Polygons: _corners,
}  # fmt: skip
"""The sets whose gaps are known at every q."""


def _at_one_place(Q: ConstraintSet, place: Place, contacts: Contacts) -> Bounds:
    """The bounds of a set whose gaps are known at q only."""
    M = place.metric
    size = np.asarray(contacts.G.norms(M))
    nan, ends = np.nan, (float(size.min()), float(size.max()))
    try:
        H = _second_derivatives(Q, place, contacts)
    except _NotKnown as reason:
        return Bounds(*ends, nan, nan, nan, HERE, why=str(reason))
    white, unit = _whitened(H, M), M.whiten(contacts.G.toarray())
    scale = float(M.norm(place.q.ravel())) or contacts.smallest_length() or 1.0
    values = np.linalg.eigvalsh(white)
    curvature = np.abs(values).max(axis=1, initial=0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        normal = unit / size[:, None]
        lowest = np.where(curvature > STRAIGHT * size / scale, values[:, 0] / curvature, 0.0)
        along = np.eye(place.q.size) - normal[:, :, None] * normal[:, None, :]
        bent = np.linalg.eigvalsh(np.nan_to_num(along @ white @ along))[:, -1]
        bends = bent > STRAIGHT * np.maximum(curvature, size / scale)
        radius = np.where(bends, size / bent, np.inf)
    row, closed = int(np.argmin(lowest)), contacts.gap <= contacts.tolerance()
    return Bounds(
        *ends, float(curvature.max()), nan, float(radius.min()) if closed.all() else nan, HERE,
        lowest=float(lowest[row]), named=contacts.describe(row), bend=float(radius[closed].min(initial=np.inf)),
    )  # fmt: skip


class _NotKnown(Exception):
    """Why second derivatives cannot be differenced."""


def _second_derivatives(Q: ConstraintSet, place: Place, contacts: Contacts) -> Array:
    """(m, N, N) D^2 g_i at q, by central differences of the gradients."""
    q = place.q
    if q.size > MAX_DIFFERENCED:
        raise _NotKnown(
            f"second derivatives need differences, for at most {MAX_DIFFERENCED} coordinates; q has {q.size}"
        )
    scale = contacts.smallest_length() or float(np.abs(q).max(initial=0.0)) or 1.0

    def gradients(x: Array) -> Array:
        try:
            there = Q.linearise(place.t, x)
        except JostleError as error:
            raise _NotKnown(f"the gradients near q are not known: {error}") from None
        if not np.array_equal(there.pairs, contacts.pairs):
            raise _NotKnown("the set returns different contacts near q")
        return there.G.toarray()

    H = central(gradients, q, RELATIVE_STEP * scale)
    return np.asarray((H + H.transpose(0, 2, 1)) / 2.0)


def _whitened(H: Array, M: Metric) -> Array:
    """D^2 g in coordinates in which the metric is Euclidean."""
    half = np.stack([M.whiten(one) for one in H])
    return np.stack([M.whiten(one.T) for one in half])


# The rates of a moving set: derivatives of the gaps by time, for (A2), (A3) and (A5).
#
# They are differenced at the configuration. The time step of the differences is searched for, as those of gradients
# are.


RUNG = 16.0
"""Factor between neighbouring time steps of second differences."""
MAX_RUNGS = 400
"""Largest number of time steps that are tried."""
CURVED = 1e-4
"""Second differences of this size, relative to the first ones, are well above round-off."""
AGREEMENT = 0.1
"""Second derivatives by a step and by half of it agree up to this fraction, unless there is a kink in between."""


@dataclass(frozen=True, eq=False)
class Rates:
    """Derivatives of the gaps of a place by time, row by row."""

    first: Array
    """(m,) dg_i / dt."""
    turning: Array
    """(m,) |d grad g_i / dt|, in the dual norm of the metric."""
    second: Array
    """(m,) d^2 g_i / dt^2."""
    at_rest: bool
    """Whether it is known that the set does not move."""


def rates(place: Place) -> Rates:
    """The derivatives by time of all contacts of a place."""
    m = len(place.contacts.gap)
    nothing = np.zeros(m)
    if place.within.moving is False or m == 0:
        return Rates(nothing, nothing, nothing, place.within.moving is False)
    within, t, q, pairs, M = place.within, place.t, place.q, place.contacts.pairs, place.metric
    gap = place.contacts.gap

    def gaps(time: float) -> Array:
        try:
            there = within.linearise(time, q)
        except JostleError:  # at a time far from t the set may not exist: radii that shrink, say
            return np.full(m, np.nan)
        return by_pair(there.pairs, there.gap, pairs, np.nan)

    search = Differences(lambda _, time: gaps(float(time[0])))
    first = search.search(t, np.array([t]), gap).G[:, 0]
    steps = None if search.memory is None else search.memory.step[first != 0.0]
    if steps is None or len(steps) == 0:
        return Rates(nothing, nothing, nothing, False)
    s = float(np.median(steps))
    ahead, behind = (_gradients(within, t + way, q, pairs) for way in (s, -s))
    turning = np.asarray(as_map((ahead - behind) / (2.0 * s)).norms(M))
    return Rates(first, turning, _second(gaps, t, gap, s), False)


def _second(gaps: Callable[[float], Array], t: float, gap: Array, s: float) -> Array:
    """(m,) d^2 g_i / dt^2, by the first step above s that sees a curvature; 0 where none does."""
    # A step that sees more than half of it does is beyond a kink, and t itself is on a straight part.

    def differences(step: float) -> tuple[Array, Array]:
        later, earlier = gaps(t + step), gaps(t - step)
        return later - earlier, (later - gap) + (earlier - gap)

    found, known = np.zeros(len(gap)), np.zeros(len(gap), dtype=bool)
    for _ in range(MAX_RUNGS):
        first, second = differences(s)
        curved = ~known & (np.abs(second) > CURVED * np.abs(first).max(initial=0.0)) & (s > 0.0)
        if curved.any():
            half = differences(s / 2.0)[1] / (s / 2.0) ** 2
            here = second / s**2
            smooth = np.abs(here - half) <= AGREEMENT * np.abs(here)
            found[curved & smooth] = here[curved & smooth]
            known |= curved
        s *= RUNG
        if known.all() or not np.isfinite(first).all() or not np.isfinite(s):
            break
    return found


def _gradients(within: ConstraintSet, t: float, q: Array, pairs: Integers) -> Array:
    there = within.linearise(t, q)
    rows = by_pair(there.pairs, np.arange(len(there.pairs), dtype=float), pairs).astype(int)
    return np.asarray(there.G.rows(rows).toarray())
