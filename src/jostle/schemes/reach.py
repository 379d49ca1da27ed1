"""The contacts of a step: those within reach, checked afterwards and extended if a body went further."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from jostle import kernels
from jostle._tools.arrays import Array, contiguous, highest, place_of, squares
from jostle.convex.metric import Metric
from jostle.convex.rows import Rows
from jostle.errors import EmptySet, InvalidValue, NotFinite
from jostle.kernels.parallel import chunks_of
from jostle.schemes.grip import Pushed, push
from jostle.schemes.state import State
from jostle.sets.base import ConstraintSet
from jostle.sets.contacts import Contacts, Reach, by_pair, of_bodies
from jostle.solvers.base import Solver

Found = TypeVar("Found")
REACH_FACTOR = 4.0
"""Initial contact search radius, in multiples of the displacement in one step, where all bodies share one radius."""
MEAN_FACTOR, SPREAD_FACTOR = 0.5, 1.0
"""The initial search radius of a body is its own displacement plus these multiples of the mean and of the standard
deviation of the displacements of all moving bodies: a body that is pushed moves about as far as those who push it."""
WIDENING_FACTOR = 1.5
"""The widened search radius, in multiples of the displacement that exceeded the last one."""


def project_velocity(
    solver: Solver, problem: Any, state: State, h: float, w: Array, M: Metric
) -> tuple[Contacts, Pushed]:
    """P_{K_h(t + h, q)} w for the state (t, q), Bernicot & Lefebvre-Lepot 2010 (1.13)."""
    within, bodies, turning = problem.within, problem.bodies, state.turning
    places, before, free = state.q, state.u, w
    if turning is not None:
        places = bodies.places(places, turning)
        before, free = bodies.velocities(before, turning), bodies.velocities(free, turning)

    def attempt(reach: Reach) -> tuple[Contacts, Array, Pushed]:
        contacts = within.near(state.t + h, places, reach)
        K = velocities_of_step(contacts, state, h)
        try:
            pushed = push(solver, problem, state, contacts, K, w, M, turning)
            u = pushed.point if turning is None else bodies.velocities(pushed.point, pushed.turning)
            return contacts, u, pushed
        except EmptySet as error:
            if within.flat:
                raise
            raise error.because(
                "The constraints are linearised at the last q: the set itself may have points left, out of its reach"
            ) from None

    return with_checked_reach(within, state.t + h, places, h, free, before, attempt)


def velocities_of_step(contacts: Contacts, state: State, h: float) -> Rows:
    """K_h. After a longer step, overlaps that it left are closed at its rate: g / h would be a high speed."""
    K = contacts.velocities(h)
    if not state.duration > h:
        return K
    gap = contacts.gap
    if contacts.gap_at is not None:
        gap = contacts.gap_at(state.t, place_of(gap).arange(len(gap)))
    left = np.minimum(gap, 0.0) if contacts.equal is None else np.where(contacts.equal, gap, np.minimum(gap, 0.0))
    return replace(K, c=K.c + (1.0 / state.duration - 1.0 / h) * left)


def with_checked_reach(
    within: ConstraintSet,
    t: float,
    q: Array,
    h: float,
    w: Array,
    before: Array,
    attempt: Callable[[Reach], tuple[Contacts, Array, Found]],
) -> tuple[Contacts, Found]:
    """attempt(reach), where pairs of bodies that are not expected to meet in a step of length h from w are left out.

    The balls are at q, and had the velocities `before`. An attempt returns contacts, the new velocities of the balls,
    and what it found. Afterwards it is checked that none of the pairs left out met: either no ball went further than
    its reach, or the linearised constraints of all that a longer reach adds hold too, so that they would have changed
    nothing. If not, it is done again with the longer reach.
    """
    reach = first_reach(h, w, before)
    while True:
        contacts, u, found = attempt(reach)
        if of_bodies(contacts.reach) and not kernels.outran(
            contiguous(u), h, contiguous(contacts.reach), chunks_of(len(u))
        ):
            return contacts, found
        ways = h * np.sqrt(squares(u) if u.ndim == 2 else (u * u).sum())
        bodies = of_bodies(contacts.reach)
        way: Reach = ways if bodies else 2.0 * (highest(ways, 0.0) if ways.ndim else float(ways))
        inside: Any = way <= contacts.reach
        if (inside.all() if bodies else inside) or np.all(contacts.reach == np.inf):
            return contacts, found
        beyond = np.logical_not(inside)
        if not np.isfinite(way).all():
            raise NotFinite("the velocity that a projection returned is not finite")
        if np.any(beyond & (contacts.reach < reach)):
            part = float(np.max(way / contacts.reach))
            most = float(np.max(way)) / (1.0 if bodies else 2.0)
            raise InvalidValue(
                f"h = {h:g} is too large for the period: a body moves {most:g} in a step, and pairs are found up to a "
                f"gap of {2.0 * most / part:g} only; choose h below {h / part:.2g}"
            )
        reach = np.maximum(reach, WIDENING_FACTOR * way)
        more = within.near(t, q, reach)
        new = by_pair(contacts.pairs, place_of(contacts.pairs).ones(len(contacts.pairs)), more.pairs) == 0.0
        if np.all(way <= more.reach) and (more.gap + h * (more.G @ u.ravel()) >= 0.0)[new].all():
            return contacts, found


def first_reach(h: float, w: Array, before: Array) -> Reach:
    """Expected distance of each body in a step of length h from w, or of any two if w is not given by bodies.

    A body that was pushed in the step before, faster than w, is expected to be pushed again.
    """
    if w.ndim != 2 or len(w) == 1:
        return float(REACH_FACTOR * h * np.sqrt(max(float((w * w).sum()), float((before * before).sum()))))
    return kernels.expected_ways(contiguous(w), contiguous(before), h, MEAN_FACTOR, SPREAD_FACTOR, chunks_of(len(w)))
