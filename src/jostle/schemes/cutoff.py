"""The contacts of a step: those within the cutoff, checked afterwards and extended if a body went further."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from jostle import kernels
from jostle._tools.arrays import Array, contiguous, highest, lowest, place_of, squares
from jostle._tools.frozen import with_fields
from jostle.contacts import Contacts, Cutoff, by_pair, of_bodies
from jostle.convex.metric import Metric
from jostle.convex.projection import Projection
from jostle.convex.rows import Rows
from jostle.errors import EmptySet, InvalidValue, NotFinite
from jostle.kernels.parallel import chunks_of
from jostle.pose import Pose
from jostle.schemes.friction import project_on_contacts, without_contacts
from jostle.schemes.state import MIN_WARM_CONTACTS, Impulses, State
from jostle.sets.base import ConstraintSet
from jostle.solvers.base import STUCK, Solver, check_round_off, relative_to_closing

Found = TypeVar("Found")
CUTOFF_FACTOR = 4.0
"""Initial contact search radius, in multiples of the displacement in one step, where all bodies share one radius."""
MEAN_FACTOR, SPREAD_FACTOR = 0.5, 1.0
"""The initial search radius of a body is its own displacement plus these multiples of the mean and of the standard
deviation of the displacements of all moving bodies: a body that is pushed moves about as far as those who push it."""
RETURN = 0.25
"""Gaps and overlaps that count as closed return to zero at this fraction of the velocity that counts as sticking. At
more than that, piles do not converge; at zero, their overlaps grow up to the most that is allowed."""
WIDENING_FACTOR = 1.5
"""The widened search radius, in multiples of the displacement that exceeded the last one."""


def project_velocity(
    solver: Solver, problem: Any, state: State, h: float, w: Array, M: Metric, gap_tol: float | None = 0.0
) -> tuple[Contacts, tuple[Projection, Impulses]]:
    """P_{K_h(t + h, q)} w for the state (t, q), Bernicot & Lefebvre-Lepot 2010 (1.13).

    gap_tol is None where velocities are not kept from step to step; where they are, it is the gap at which surfaces
    with friction touch, over their length, and 0 without friction.
    """
    within, pose, free = problem.within, state.pose, state.pose.velocities(w)

    def attempt(cutoff: Cutoff) -> tuple[Contacts, Array, tuple[Projection, Impulses]]:
        contacts = within.contacts(state.t + h, pose, cutoff)
        if len(contacts.gap) == 0:
            return contacts, free, without_contacts(solver, contacts, w)
        K = whole = velocities_of_step(contacts, state, h)
        check_round_off(w, whole, solver.tol)
        if gap_tol:
            K = touching(contacts, K, state, h, w, solver.tol, gap_tol)
        elif gap_tol is not None and solver.strict:
            K = relative_to_closing(K, w.ravel(), solver.tol)
        try:
            P, p = project_on_contacts(solver, problem, state, contacts, K, w, M)
        except EmptySet as error:
            if within.flat:
                raise
            raise error.because(
                "The constraints are linearised at the last q: the set itself may have points left, out of its cutoff"
            ) from None
        u = pose.velocities(P.point)
        if K is not whole and P.residual.primal > 0.0 and lowest(whole.length, np.inf) > 0.0:
            least = min(P.residual.primal, overlap_left(whole, P.point))  # lengths may have been shorter
            P = replace(P, residual=replace(P.residual, primal=least))
        return contacts, u, (P, p)

    return with_checked_cutoff(within, state.t + h, pose, h, free, state.velocities, attempt)


def overlap_left(K: Rows, w: Array) -> float:
    """The deepest overlap after a step in the rows K_h, as it is linearised, over the length of its row."""
    known = K.length > 0.0
    violation = np.where(known, -(K.margin(K.slack(w)) + K.noise), 0.0)
    if K.bound is not None:  # a motor that slips overlaps with nothing
        violation = np.where(K.bound < np.inf, 0.0, violation)
    return highest(violation / np.where(known, K.length, 1.0), 0.0)


def velocities_of_step(contacts: Contacts, state: State, h: float) -> Rows:
    """K_h. After a longer step, overlaps that it left are closed at its rate: g / h would be a high speed."""
    K = contacts.velocities(h)
    if not state.impulse_time > h:
        return K
    gap = gaps_before(contacts, state)
    left = np.minimum(gap, 0.0) if contacts.equal is None else np.where(contacts.equal, gap, np.minimum(gap, 0.0))
    return replace(K, c=K.c + (1.0 / state.impulse_time - 1.0 / h) * left)


def gaps_before(contacts: Contacts, state: State) -> Array:
    """The gaps at the time before a step, at the same positions."""
    if contacts.gap_at is None:
        return contacts.gap
    return contacts.gap_at(state.t, place_of(contacts.gap).arange(len(contacts.gap)))


def touching(contacts: Contacts, K: Rows, state: State, h: float, w: Array, tol: float, gap_tol: float) -> Rows:
    """The rows K of a step with friction, `relative_to_closing`, where surfaces that are nearly closed touch.

    Of the gaps of contacts that carried an impulse in the last step, and of overlaps, up to gap_tol times their length
    counts as closed, and returns to zero at a velocity that counts as rest. Where there are few contacts, and for gaps
    of new ones, it is what a slip may be that counts as sticking.
    """
    # What earlier steps left of gaps contradicts itself in a pile: contacts that depend on each other cannot all close
    # it, and impulses would shift from contact to contact until enough of them have opened. The motion of walls and
    # radii is never left out. Few contacts are solved to the last digit, and bodies that roll keep the accuracy of h.
    # A gap that is a little larger counts by what it has more: if all of it did, its body would fall for a step.
    left, least = gaps_before(contacts, state), min(STUCK * tol, gap_tol) * contacts.length
    most = gap_tol * contacts.length if len(left) >= MIN_WARM_CONTACTS else least
    overlaps, held = left < 0.0, np.abs(left) <= most
    if state.contacts is not None:
        held = by_pair(state.contacts.pairs, state.impulses.normal, contacts.pairs) > 0.0
    near = np.minimum(np.maximum(left, -most), most)  # np.clip takes five times as long for a few numbers
    closed = np.where(overlaps | held, near, np.where(left <= least, left, 0.0))
    if contacts.equal is not None:
        closed = np.where(contacts.equal, 0.0, closed)
    late = state.impulse_time if state.impulse_time > h else h  # see `velocities_of_step`
    allowed = closed / np.where(overlaps, late, h)
    K = relative_to_closing(with_fields(K, c=K.c - allowed), w, tol)
    slow = RETURN * STUCK * tol * K.length
    return with_fields(K, c=K.c + np.minimum(np.maximum(allowed, -slow), slow))


def with_checked_cutoff(
    within: ConstraintSet,
    t: float,
    pose: Pose,
    h: float,
    w: Array,
    before: Array,
    attempt: Callable[[Cutoff], tuple[Contacts, Array, Found]],
) -> tuple[Contacts, Found]:
    """attempt(cutoff), where pairs of bodies that are not expected to meet in a step of length h from w are left out.

    The balls, in this pose, had the velocities `before`. An attempt returns contacts, the new velocities of the balls,
    and what it found. Afterwards it is checked that none of the pairs left out met: either no ball went further than
    its cutoff, or the linearised constraints of all that a longer cutoff adds hold too, so that they would have changed
    nothing. If not, it is done again with the longer cutoff.
    """
    cutoff = first_cutoff(h, w, before)
    while True:
        contacts, u, found = attempt(cutoff)
        bodies = of_bodies(contacts.cutoff)
        if bodies and not kernels.outran(u, h, contiguous(contacts.cutoff), chunks_of(len(u))):
            return contacts, found
        ways = h * np.sqrt(squares(u) if u.ndim == 2 else (u * u).sum())
        way: Cutoff = ways if bodies else 2.0 * (highest(ways, 0.0) if ways.ndim else float(ways))
        inside: Any = way <= contacts.cutoff
        if (inside.all() if bodies else inside) or np.all(contacts.cutoff == np.inf):
            return contacts, found
        beyond = np.logical_not(inside)
        if not np.isfinite(way).all():
            raise NotFinite("the velocity that a projection returned is not finite")
        if np.any(beyond & (contacts.cutoff < cutoff)):
            part = float(np.max(way / contacts.cutoff))
            most = float(np.max(way)) / (1.0 if bodies else 2.0)
            raise InvalidValue(
                f"h = {h:g} is too large for the period: a body moves {most:g} in a step, and pairs are found up to a "
                f"gap of {2.0 * most / part:g} only; choose h below {h / part:.2g}"
            )
        cutoff = np.maximum(cutoff, WIDENING_FACTOR * way)
        more = within.contacts(t, pose, cutoff)
        new = by_pair(contacts.pairs, place_of(contacts.pairs).ones(len(contacts.pairs)), more.pairs) == 0.0
        rates = more.G @ u.ravel()  # no row of a joint is new
        if np.all(way <= more.cutoff) and (more.gap[: len(rates)] + h * rates >= 0.0)[new[: len(rates)]].all():
            return contacts, found


def first_cutoff(h: float, w: Array, before: Array) -> Cutoff:
    """Expected distance of each body in a step of length h from w, or of any two if w is not given by bodies.

    A body that was pushed in the step before, faster than w, is expected to be pushed again.
    """
    if w.ndim != 2 or len(w) == 1:
        return float(CUTOFF_FACTOR * h * np.sqrt(max(float((w * w).sum()), float((before * before).sum()))))
    return kernels.expected_ways(w, before, h, MEAN_FACTOR, SPREAD_FACTOR, chunks_of(len(w)))
