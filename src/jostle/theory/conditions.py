"""The hypotheses (H1)-(H6) of Paoli 2010 and (H1)-(H5) of Paoli 2005, at one place.

                 Paoli 2010                                   Paoli 2005
    (H1)  the force is continuous                   ... and Lipschitz in q and u
    (H2)  grad g_i != 0 near g_i = 0                ... and K is convex
    (H3)  the gradients of closed contacts are linearly independent (both)
    (H4)  M is C^1, positive definite               F is consistent with the force
    (H5)  F is consistent with the force            <grad g_a, grad g_b> <= 0: the angle condition for e = 0
    (H6)  <e_a, e_b> = 0: the angle condition for e > 0, in the metric M^-1, e_a = M^-1/2 grad g_a / |...|

(H6) is (8) of Paoli 2010 at q_1 = q_2.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from jostle.analysis.angles import cosines
from jostle.convex.metric import Metric
from jostle.convex.polyhedron import Cone
from jostle.problems import Motion
from jostle.theory.assumptions import EVERYWHERE, HERE, Numbers
from jostle.theory.places import Place, Slopes
from jostle.theory.report import FAILS, HOLDS, UNKNOWN, Line

ANGLE_TOLERANCE = 1e-7
"""Cosines up to this size count as zero: a computed configuration has no more digits."""
RANK_TOLERANCE = 1e-7
"""Gradients depend on each other if a singular value is below this fraction of the largest."""
MAX_NAMED_ROWS = 4
"""Largest number of dependent gradients that are named."""
INDEPENDENT = "the gradients of the closed contacts are linearly independent"


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


def angle(place: Place, name: str, e_positive: bool, needed: bool = True) -> Line:
    """(H5) of Paoli 2005, or (H6) of Paoli 2010."""
    says = "<grad g_a, grad g_b> = 0 in the metric M^-1" if e_positive else "<grad g_a, grad g_b> <= 0"
    cone = place.cone()
    found = steepest(cone, place.metric, e_positive)
    if found is None:
        return Line(name, says, HOLDS, "fewer than two contacts closed", {}, needed, True, -np.inf)
    size = abs(found.cosine) if e_positive else found.cosine
    values = {"cosine": found.cosine}
    if size <= ANGLE_TOLERANCE:
        return Line(name, says, HOLDS, HERE, values, needed, local=True, badness=size)
    one, other = (cone.describe(row) for row in found.rows)
    inside = np.degrees(np.pi - np.arccos(np.clip(found.cosine, -1.0, 1.0)))
    where = f"between {one} and {other}: interior angle {inside:.4g} degrees"
    return Line(name, says, FAILS, where, values, needed, badness=size)


def independent(place: Place) -> Line:
    """(H3)."""
    m = len(place.closed)
    if m == 0:
        return Line("(H3)", INDEPENDENT, HOLDS, "no contact is closed", {}, True, True, -np.inf)
    cone = place.cone()
    rows = place.metric.whiten(cone.G.toarray())
    rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    left, sizes, _ = np.linalg.svd(rows, full_matrices=True)
    rank = int((sizes > RANK_TOLERANCE * sizes[0]).sum())
    smallest = float(sizes[-1]) if rank == m else 0.0
    values = {"gradients": float(m), "rank": float(rank), "smallest singular value": smallest}
    if rank == m:
        return Line("(H3)", INDEPENDENT, HOLDS, HERE, values, local=True, badness=-smallest)
    weights = np.abs(left[:, rank:]).max(axis=1)
    chosen = np.argsort(-weights, kind="stable")[: int((weights > RANK_TOLERANCE).sum())]
    more = f" and {len(chosen) - MAX_NAMED_ROWS} more" if len(chosen) > MAX_NAMED_ROWS else ""
    named = "; ".join(cone.describe(int(row)) for row in sorted(chosen[:MAX_NAMED_ROWS].tolist()))
    return Line("(H3)", INDEPENDENT, FAILS, f"dependent: {named}{more}", values, badness=float(m - rank))


def force(name: str, found: Slopes, lipschitz: bool) -> Line:
    """(H1)."""
    says = "the force is continuous" + (", Lipschitz in q and u" if lipschitz else "")
    if found.constant:
        return Line(name, says, HOLDS, "the acceleration is constant", {"slope": 0.0})
    values = {"slope in q": found.in_q, "slope in u": found.in_u}
    steepest_here = float(np.nan_to_num(max(found.in_q, found.in_u)))
    return Line(name, says, UNKNOWN, "a function; its slope is known here only", values, badness=steepest_here)


def gradients(numbers: Numbers) -> Line:
    """(H2) of Paoli 2010."""
    size, says = numbers.of_gaps.size[numbers.place.near], "grad g_i != 0 where g_i = 0, and Lipschitz"
    if (size == 0.0).any():
        row = int(numbers.place.near[int(np.argmin(size))])
        return Line("(H2)", says, FAILS, f"zero gradient of {numbers.place.name(row)}")
    values = {"smallest |grad g|": float(size.min())} if len(size) else {}
    exact = numbers.of_gaps.exact
    return Line("(H2)", says, HOLDS, EVERYWHERE if exact else HERE, values, local=not exact)


def convex_set(numbers: Numbers) -> Line:
    """(H2) of Paoli 2005: K is convex."""
    place, found, says = numbers.place, numbers.of_gaps, "K is convex, grad g_i != 0"
    if place.within.flat:
        return Line("(H2)", says, HOLDS, "all gaps are linear")
    if found.why:
        return Line("(H2)", says, UNKNOWN, found.why)
    bent = np.flatnonzero(np.isfinite(found.touching_radius))
    if len(bent):
        row = int(bent[np.argmin(found.touching_radius[bent])])
        radius = {"radius of curvature": float(found.touching_radius[row])}
        return Line("(H2)", says, FAILS, f"K bends inwards at {place.name(row)}", radius)
    if found.exact:
        return Line("(H2)", says, HOLDS, EVERYWHERE)
    return Line("(H2)", says, UNKNOWN, "no gap bends inwards at this q; elsewhere it is not known")


def mass(place: Place) -> Line:
    """(H4) of Paoli 2010."""
    says, M = "M is C^1 and positive definite", place.metric
    values = {"smallest eigenvalue": M.lightest}
    if isinstance(place.problem, Motion) and callable(place.problem.mass):
        return Line("(H4)", says, UNKNOWN, "a function M(q), positive definite at this q", values)
    return Line("(H4)", says, HOLDS, "M is constant", values)


def consistent(name: str) -> Line:
    """(H5) of Paoli 2010 and (H4) of Paoli 2005."""
    return Line(name, "F(t, q, u, 0) = M^-1 f(t, q, u)", HOLDS, "Paoli takes F = M^-1 f")
