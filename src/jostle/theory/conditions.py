"""The hypotheses (H1)-(H6) of Paoli 2010 and (H1)-(H5) of Paoli 2005, and what all theorems ask of forces and laws.

                  Paoli 2010                                   Paoli 2005
     (H1)  the force is continuous                   ... and Lipschitz in q and u
     (H2)  grad g_i != 0 near g_i = 0                ... and K is convex, with inner points
     (H3)  the gradients of closed contacts are linearly independent (both)
     (H4)  M is C^1, positive definite               F is consistent with the force
     (H5)  F is consistent with the force            <grad g_a, grad g_b> <= 0 along the motion, for e = 0
     (H6)  <e_a, e_b> = 0 where both are closed, in the metric M^-1, e_a = M^-1/2 grad g_a / |...|; more precisely (8)

One function for each. All but (H5) of 2005 are asked at every q of K. Planes at rest have the same gradients
everywhere, so that all pairs of them can be looked at; contacts of other kinds are known at q only.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from jostle._tools.arrays import Array, Booleans
from jostle.analysis.angles import cosines
from jostle.convex.metric import Metric
from jostle.convex.polyhedron import Cone
from jostle.problems import Motion
from jostle.sets.walls import HalfSpace, Inside
from jostle.theory import assumptions
from jostle.theory.assumptions import Numbers, elsewhere, lowest
from jostle.theory.gaps import EVERYWHERE, HERE
from jostle.theory.places import UNDEFINED, Place, Slopes, restitutions
from jostle.theory.report import FAILS, HOLDS, UNKNOWN, Line

ANGLE_TOLERANCE = 1e-7
"""Cosines up to this size count as zero: a computed configuration has no more digits."""
RANK_TOLERANCE = 1e-7
"""Gradients depend on each other if a singular value is below this fraction of the largest."""
PARALLEL = 1e-12
"""Gradients whose cosine differs from 1 or -1 by less than this are parallel."""
MAX_NAMED_ROWS = 4
"""Largest number of dependent gradients that are named."""
MAX_PLANES = 500
"""The angles between all planes are looked at for at most this many."""
INDEPENDENT = "the gradients of the closed contacts are linearly independent"
ALONE = "there is one constraint, or none"


# Forces and desired velocities.


def _field(name: str, says: str, field: Slopes, values: dict[str, float]) -> Line:
    """A line about a function of the user, whose values and slopes are known at this place only."""
    if field.flaw:
        return Line(name, says, FAILS, field.flaw)
    if field.constant:
        return Line(name, says, HOLDS, "a constant", values)
    largest = float(np.nan_to_num(max(values.values(), default=0.0)))
    return Line(name, says, UNKNOWN, f"a function; it is known {HERE} only", values, local=True, badness=largest)


def lipschitz(name: str, says: str, field: Slopes) -> Line:
    """(1.16) of Bernicot & Lefebvre-Lepot 2010, (14) of Venel 2009."""
    return _field(name, says, field, {"slope": field.in_q})


def bounded(name: str, says: str, field: Slopes) -> Line:
    """(1.17) of Bernicot & Lefebvre-Lepot 2010, (15) of Venel 2009."""
    return _field(name, says, field, {"size": field.size})


def integrable(name: str, says: str, field: Slopes) -> Line:
    """(13) of Venel 2009."""
    return _field(name, says, field, {})


def without_velocity(field: Slopes) -> Line:
    """The force of (1.6) of Bernicot & Lefebvre-Lepot 2010 is a function of t and q."""
    name, says = "f(t, q)", "the force does not depend on the velocity"
    if field.flaw:
        return Line(name, says, FAILS, field.flaw)
    if field.on_u is None:
        return Line(name, says, UNKNOWN, "a function of (t, q, u); other u gave the same value here", local=True)
    values = {"slope in u": field.in_u}
    return (
        Line(name, says, FAILS, "another velocity gives another force", values)
        if field.on_u
        else Line(name, says, HOLDS)
    )


def force(field: Slopes, lipschitz: bool) -> Line:
    """(H1)."""
    says = "the force is continuous" + (", Lipschitz in q and u" if lipschitz else "")
    return _field("(H1)", says, field, {"slope in q": field.in_q, "slope in u": field.in_u})


def consistent(name: str, field: Slopes, implicit: bool) -> Line:
    """(H5) of Paoli 2010 and (H4) of Paoli 2005."""
    says = "F(t, q, u, 0) = M^-1 f(t, q, u)"
    if not implicit or field.on_u is False:
        return Line(name, says, HOLDS, "Paoli takes F = M^-1 f")
    return Line(name, says, HOLDS, "Paoli(implicit=True) takes F = f, with the velocity (U^{n+1} - U^{n-1}) / 2h")


# Laws, masses and time.


def inelastic(numbers: Numbers) -> Line:
    """e = 0, in Bernicot & Lefebvre-Lepot 2010 and Paoli 2005."""
    found, says = restitutions(numbers.place), "inelastic impacts"
    if found.highest > 0.0:
        return Line("e = 0", says, FAILS, "" if found.known else "the largest that was seen", {"e": found.highest})
    if found.known:
        return Line("e = 0", says, HOLDS, "", {"e": 0.0})
    return Line("e = 0", says, UNKNOWN, "the law is a function, or contacts are not all known", local=True)


def one_restitution(numbers: Numbers) -> Line:
    """One e in [0, 1] for all contacts, (2) of Paoli 2010; for e = 0 see its part I, which asks less than (H6)."""
    found, says = restitutions(numbers.place), "one e in [0, 1] for all contacts and speeds"
    if found.highest > found.lowest:
        return Line("e", says, FAILS, "", {"smallest e": found.lowest, "largest e": found.highest})
    if found.known:
        return Line("e", says, HOLDS, "", {"e": found.highest})
    return Line("e", says, UNKNOWN, "the law is a function, or contacts are not all known", local=True)


def constant_mass(numbers: Numbers, says: str) -> Line:
    """M is one matrix, by which coordinates can be scaled."""
    constant = not callable(getattr(numbers.place.problem, "mass", None))
    return Line("mass", says, HOLDS if constant else FAILS, "" if constant else "the problem has a function M(q)")


def mass(numbers: Numbers) -> Line:
    """(H4) of Paoli 2010."""
    place, says = numbers.place, "M is C^1 and positive definite"
    values = {"smallest eigenvalue": place.metric.lightest} if place.q.size else {}
    if isinstance(place.problem, Motion) and callable(place.problem.mass):
        return Line("(H4)", says, UNKNOWN, f"a function M(q), positive definite {HERE}", values, local=True)
    return Line("(H4)", says, HOLDS, "M is constant", values)


def at_rest(numbers: Numbers) -> Line:
    """K does not depend on time, in both papers of Paoli."""
    moves, says = assumptions.moves(numbers), "K does not depend on time"
    if moves is None:
        return Line("rest", says, UNKNOWN, "the set does not declare it; nothing moves at this t and q")
    return Line("rest", says, FAILS if moves else HOLDS, "the set moves" if moves else "")


# Gradients of one constraint, and convexity.


def gradients(numbers: Numbers) -> Line:
    """(H2) of Paoli 2010."""
    says, gaps = "grad g_i != 0 where g_i = 0, and Lipschitz", numbers.gaps
    if kink := _kink(numbers):
        return Line("(H2)", says, FAILS, kink)
    values = {"smallest |grad g|": lowest(gaps, "alpha")} if gaps else {}
    if all(each.where != HERE or each.metric_only for each in gaps):
        return Line("(H2)", says, HOLDS, EVERYWHERE, values)
    return Line("(H2)", says, UNKNOWN, elsewhere(), values, local=True)


def _kink(numbers: Numbers) -> str:
    """Where on the boundary of K a gap has no gradient, in words."""
    return next((f"the gap {each.kink}" for each in numbers.gaps if each.kink and each.radius == 0.0), "")


def convex_set(numbers: Numbers) -> Line:
    """(H2) of Paoli 2005: K is convex, with inner points."""
    place, says = numbers.place, "K is convex and has inner points, grad g_i != 0"
    if len(place.closed) == 1 and (radius := _radius(numbers)) < np.inf:
        bent = f"K bends inwards at {place.name(int(place.closed[0]))}"
        return Line("(H2)", says, FAILS, bent, {"radius of curvature": radius})
    if numbers.balls_alone and len(place.q) > 1:
        return Line("(H2)", says, FAILS, "a ball may be on either side of another one, but not in the middle")
    if kink := _kink(numbers):
        return Line("(H2)", says, FAILS, kink)
    if between := _between(numbers):
        return Line("(H2)", says, FAILS, between)
    if not all(Q.flat or type(Q) in (HalfSpace, Inside) for Q in numbers.sets):
        return Line("(H2)", says, UNKNOWN, "that K is convex was not disproved, and is not known", local=True)
    if numbers.closed.balanced:
        why = f"no inner point: gradients balance each other: {numbers.closed.balanced}"
        return Line("(H2)", says, FAILS, why)
    return Line("(H2)", says, HOLDS, "all walls are planes, or the inside of balls")


def _radius(numbers: Numbers) -> float:
    """The radius of curvature of the boundary at the one closed contact, if it bends inwards; else infinite."""
    closed = numbers.place.contacts.only(numbers.place.closed)
    bend = float(closed.curvatures[0])
    if np.isnan(bend):
        return min(each.bend for each in numbers.gaps)
    flat = bend <= 0.0 or closed.normals.shape[1] < 2
    return np.inf if flat else 1.0 / (bend * float(closed.G.norms(numbers.place.metric)[0]))


SCAN = 2.0 ** np.arange(-6, 13)
"""How far beyond a boundary its other side is looked for, in multiples of the gap or of the length."""
MAX_SCANNED = 3
"""The boundaries of at most this many constraints, those nearest to q, are looked at."""


def _between(numbers: Numbers) -> str:
    """Two points of K between which there is one that is not in K, in words; empty if none were found."""
    # From q straight towards a boundary and beyond it: where the line comes back into K, K is not convex.
    place, contacts = numbers.place, numbers.place.contacts
    if place.outside or len(contacts.gap) == 0:
        return ""
    size = contacts.G.norms(place.metric)
    for row in np.argsort(contacts.gap, kind="stable")[:MAX_SCANNED].tolist():
        if not size[row] > 0.0:
            continue
        inwards = -place.metric.solve(contacts.G.rows(np.array([row])).toarray()[0]) / size[row]
        gap, length = float(contacts.gap[row] / size[row]), float(contacts.length[row] / size[row])
        scale = max(gap, length) or place.metric.norm(place.q.ravel()) or 1.0
        left = False
        for step in SCAN:
            x = place.q + (gap + step * scale) * inwards.reshape(place.q.shape)
            try:
                with np.errstate(all="ignore"):
                    there = place.within.near(place.t, x, 0.0)
            except UNDEFINED:  # such as where two centres meet
                continue
            margin = float(np.min(there.margin + there.tolerance(), initial=np.inf))
            if left and (there.margin >= 0.0).all():
                return f"q and {_digits(x)} are in K, but not all that is between them"
            left = left or margin < 0.0
    return ""


# Gradients of two constraints: (H3), (H5), (H6).


class Angle(NamedTuple):
    """Two rows of a cone and the cosine of the angle between their gradients."""

    rows: tuple[int, int]
    cosine: float


def steepest(cone: Cone, M: Metric, either_sign: bool) -> Angle | None:
    """The two gradients with the largest cosine, or with the largest |cosine|; None with fewer than two rows."""
    if cone.G.shape[0] < 2:
        return None
    c = cosines(cone, M)
    size = np.abs(c) if either_sign else c.copy()
    np.fill_diagonal(size, -np.inf)
    i, j = np.unravel_index(int(np.argmax(size)), size.shape)
    return Angle((int(min(i, j)), int(max(i, j))), float(c[i, j]))


class Planes(NamedTuple):
    """The angles between the planes of a set at rest, which are the same everywhere."""

    cosine: Array
    meet: Booleans
    """(m, m) True unless two planes are parallel and apart."""


def _planes(numbers: Numbers) -> Planes | None:
    """All angles; None if the set has other gaps, may move, or has too many planes."""
    place, m = numbers.place, len(numbers.place.contacts.gap)
    constant = not callable(getattr(place.problem, "mass", None))
    if not (numbers.flat and place.complete and constant and place.within.moving is False and m <= MAX_PLANES):
        return None
    c = cosines(place.cone(np.arange(m)), place.metric)
    gap = place.contacts.gap / place.contacts.G.norms(place.metric)
    apart = np.where(c > 0.0, gap[:, None] - gap, gap[:, None] + gap)
    far = np.abs(apart) > place.contacts.tolerance().max(initial=0.0) / place.contacts.G.norms(place.metric)
    return Planes(c, ~((np.abs(c) > 1.0 - PARALLEL) & far))


def obtuse(numbers: Numbers) -> Line:
    """(H5) of Paoli 2005, along the motion."""
    return _angle(numbers, "(H5)", "<grad g_a, grad g_b> <= 0 along the motion", either_sign=False)


def orthogonal(numbers: Numbers) -> Line:
    """(H6) of Paoli 2010: (8) at q_1 = q_2."""
    return _angle(numbers, "(H6)", "<grad g_a, grad g_b> = 0 in the metric M^-1", either_sign=True)


def _angle(numbers: Numbers, name: str, says: str, either_sign: bool) -> Line:
    place = numbers.place
    cone = place.cone()
    found = steepest(cone, place.metric, either_sign)
    size = -np.inf if found is None else abs(found.cosine) if either_sign else found.cosine
    values = {} if found is None else {"cosine": found.cosine}
    if found is not None and size > ANGLE_TOLERANCE:
        return Line(name, says, FAILS, _named(cone, found), values, badness=size)
    if numbers.alone:
        return Line(name, says, HOLDS, ALONE, values, badness=size)
    planes = _planes(numbers)
    if planes is None:
        return Line(name, says, UNKNOWN, elsewhere(), values, local=True, badness=size)
    sizes = np.abs(planes.cosine) if either_sign else planes.cosine
    wrong = np.triu(planes.meet & (sizes > ANGLE_TOLERANCE), 1)
    if not wrong.any():
        return Line(name, says, HOLDS, f"{EVERYWHERE}: the angles between planes are the same", values, badness=size)
    every = place.cone(np.arange(len(place.contacts.gap)))
    for i, j in np.argwhere(wrong).tolist():
        corner = _corner(place, i, j)
        if corner is None:
            continue
        where = _named(every, Angle((i, j), float(planes.cosine[i, j])))
        at_corner = f"{where}, at q = {np.array2string(corner, precision=4, threshold=8)}"
        if either_sign:
            return Line(name, says, FAILS, at_corner, {"cosine": float(planes.cosine[i, j])}, badness=size)
        return Line(
            name, says, UNKNOWN, f"holds {HERE}; fails {at_corner}, if the motion goes there", values, local=True
        )
    return Line(name, says, UNKNOWN, elsewhere(), values, local=True, badness=size)


def _digits(x: Array) -> str:
    """A configuration in a few digits."""
    return np.array2string(x, precision=4, threshold=8, suppress_small=True)


def _named(cone: Cone, found: Angle) -> str:
    one, other = (cone.describe(row) for row in found.rows)
    inside = np.degrees(np.pi - np.arccos(np.clip(found.cosine, -1.0, 1.0)))
    return f"between {one} and {other}: interior angle {inside:.4g} degrees"


def _corner(place: Place, i: int, j: int) -> Array | None:
    """The nearest point of two planes to q, if it is in K: there both are closed."""
    rows = np.array([i, j])
    white = place.metric.whiten(place.contacts.G.rows(rows).toarray())
    way = np.linalg.lstsq(white, -place.contacts.gap[rows], rcond=None)[0]
    x = place.q + place.metric.unwhiten(way).reshape(place.q.shape)
    there = place.within.near(place.t, x, np.inf)
    tolerance = there.tolerance(np.full(x.shape, np.linalg.norm(x - place.q)))
    if (there.margin < -tolerance).any() or (there.gap[rows] > tolerance[rows]).any():
        return None
    return np.asarray(x)


def independent(numbers: Numbers) -> Line:
    """(H3) of both papers."""
    place, m = numbers.place, len(numbers.place.closed)
    values, badness = {}, -np.inf
    if m:
        cone = place.cone()
        left, sizes = _singular(place, cone)
        rank = int((sizes > RANK_TOLERANCE * sizes[0]).sum())
        smallest = float(sizes[-1]) if rank == m else 0.0
        values, badness = {"gradients": float(m), "rank": float(rank), "smallest singular value": smallest}, -smallest
        if rank < m:
            return Line("(H3)", INDEPENDENT, FAILS, _dependent(cone, left[:, rank:]), values, badness=float(m - rank))
    if numbers.alone:
        return Line("(H3)", INDEPENDENT, HOLDS, ALONE, values, badness=badness)
    planes = _planes(numbers)
    if planes is None or not _all_independent(place, planes):
        return Line("(H3)", INDEPENDENT, UNKNOWN, elsewhere(), values, local=True, badness=badness)
    return Line(
        "(H3)", INDEPENDENT, HOLDS, f"{EVERYWHERE}: all planes that meet are independent", values, badness=badness
    )


def _singular(place: Place, cone: Cone) -> tuple[Array, Array]:
    """The left singular vectors and the singular values of the unit gradients of a cone."""
    rows = place.metric.whiten(cone.G.toarray())
    left, sizes, _ = np.linalg.svd(rows / np.linalg.norm(rows, axis=1, keepdims=True), full_matrices=True)
    return left, sizes


def _dependent(cone: Cone, null: Array) -> str:
    """The gradients that depend on each other, by the vectors y with y G = 0."""
    weights = np.abs(null).max(axis=1)
    chosen = np.argsort(-weights, kind="stable")[: int((weights > RANK_TOLERANCE).sum())]
    more = f" and {len(chosen) - MAX_NAMED_ROWS} more" if len(chosen) > MAX_NAMED_ROWS else ""
    named = "; ".join(cone.describe(int(row)) for row in sorted(chosen[:MAX_NAMED_ROWS].tolist()))
    return f"dependent: {named}{more}"


def _all_independent(place: Place, planes: Planes) -> bool:
    """Whether one plane of each direction are independent of each other, and two of one direction never meet."""
    parallel = np.abs(planes.cosine) > 1.0 - PARALLEL
    if (np.triu(parallel & planes.meet, 1)).any():
        return False
    first = np.unique(np.argmax(parallel, axis=1))
    _, sizes = _singular(place, place.cone(first))
    return len(first) <= len(sizes) and bool((sizes > RANK_TOLERANCE * sizes[0]).all()) and len(first) <= place.q.size
