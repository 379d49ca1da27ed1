"""What is checked at the start and in each step, whatever the scheme: what sets declare, and that states are in Q."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from jostle._tools.arrays import Array, Booleans, Integers, highest, lowest, to_host
from jostle._tools.plugins import is_of_jostle
from jostle.bodies import neighbour_distance
from jostle.contacts import CLOSED, Contacts, by_pair, check_bodies, check_owned
from jostle.convex.metric import Metric
from jostle.errors import InvalidValue, LeftTheSet, NotFinite
from jostle.kernels.parallel import all_finite
from jostle.problems import Motion, Sweeping, smallest_length
from jostle.schemes.capabilities import NOT_CONVEX, remedy
from jostle.schemes.state import State
from jostle.sets.base import ConstraintSet, keeps_apart, margins, part_of, parts
from jostle.sets.gradient_search import Differences, wrong_entry
from jostle.sets.surfaces import Crossing, Step
from jostle.sets.user import UserSet

# Before a step: whether sets move, and whether those that declare to be at rest are.


Parts = tuple[ConstraintSet, ...]
"""The parts of a set, `jostle.sets.base.parts`."""
Times = tuple[float, float]


def moved_row(now: Array, then: Array) -> int | None:
    """The row whose gap differs most between two times, if it differs by more than round-off; otherwise None.

    A gap that is NaN or infinite at both times does not differ.
    """
    if now.shape != then.shape:
        return min(len(now), len(then))  # the first row that only one of them has
    change, other = np.zeros(len(now)), (now != then) & ~(np.isnan(now) & np.isnan(then))
    change[other] = np.nan_to_num(np.abs(then[other] - now[other]), nan=np.inf)
    largest = np.abs(now).max(initial=0.0, where=np.isfinite(now))
    return int(np.argmax(change)) if change.max(initial=0.0) > CLOSED * largest else None


def moves(sets: Parts, times: Times, q: Array) -> bool:
    """Whether a set depends on time; where it does not say so, whether its gaps at q differ between two times."""
    found = False
    for Q in sets:  # all of them: the function of a user may contradict what was said of it
        known = Q.moving is True or (Q.moving is False and not isinstance(Q, UserSet))
        found |= bool(Q.moving) if known else _moves(Q, times, q)
    return found


def check_rest(sets: Parts, times: Times, q: Array) -> None:
    """Refuse `@constraints` that were given with ``moving=False``, although their gaps differ between two times."""
    for Q in sets:
        if Q.moving is False and isinstance(Q, UserSet):
            _moves(Q, times, q)


def _moves(Q: ConstraintSet, times: Times, q: Array) -> bool:
    """Whether the gaps of a set differ; an error if the function of a user does, and was said to be at rest."""
    now, then = (Q.gaps(t, q) for t in times)
    if not isinstance(Q, UserSet):
        return moved_row(now, then) is not None
    if len(now) != len(then):
        raise InvalidValue(
            f"{Q.name} returned {len(now)} gaps at t = {times[0]:g} and {len(then)} at t = {times[1]:g}: return "
            f"the same number at all times, a large one for a constraint that does not act"
        )
    row = moved_row(now, then)
    if row is not None and Q.moving is False:
        raise InvalidValue(
            f"constraint {row} of {Q.name} is {now[row]:.6g} at t = {times[0]:g} and {then[row]:.6g} at "
            f"t = {times[1]:g}, although moving=False was given: leave it out"
        )
    return row is not None


def check_declaration(sets: Parts, times: Times, q: Array, present: Booleans | None) -> None:
    """Refuse a class outside jostle that declares ``moving = False``, although its gaps differ between two times.

    `solve` asks from time to time, since a comparison costs two linearisations. With many bodies, only gaps up to
    about the distance of neighbours are compared; bodies that are not present are far away.
    """
    for Q in sets:
        if Q.moving is False and not is_of_jostle(Q):
            _check_declaration(Q, times, q, present)


def _check_declaration(Q: ConstraintSet, times: Times, q: Array, present: Booleans | None) -> None:
    """Refuse one set whose gaps differ between two times."""
    cutoff = neighbour_distance(q if present is None else q[present])
    before, contacts = (to_host(Q.linearise(t, q, cutoff)) for t in times)
    then = by_pair(before.pairs, before.gap, contacts.pairs, cutoff)  # a pair that is left out is beyond the cutoff
    row = moved_row(contacts.gap, then)
    if row is None:
        return
    known = (before.pairs == contacts.pairs[row]).all(axis=1).any()
    name = type(Q).__name__
    raise InvalidValue(
        f"the gap of {contacts.describe(row)} of {name} is {'' if known else 'above '}{then[row]:.6g} at "
        f"t = {times[0]:g} and {contacts.gap[row]:.6g} at t = {times[1]:g} at the same q, although {name} declares "
        f"moving = False: set moving = True in the class, or leave it out"
    )


# After a step, and at the start.


MAX_EQUALITY_ERROR = 0.25
"""Largest error of an equality after a step, as a fraction of the most that the step could have changed its gap by: the
motion of the bodies, and of the set itself."""
NEARBY = 4.0
"""Rows whose gap before a step is at most this multiple of the longest displacement are looked at for convexity."""
CONVEX = "The linearised constraint keeps q in Q only where the gap is convex in q"


COARSEST = 1e-7
"""Largest unit in the last place of a coordinate, as a fraction of the smallest length of the bodies and walls."""
FEWEST_UNITS = 100.0
"""Points, which have no length, move in a step by at least this many units in the last place of their coordinates."""


def check_resolution(problem: Motion | Sweeping, state: State) -> None:
    """Refuse coordinates that are not finite, or so large that round-off is no longer small beside the bodies.

    Gaps, and velocities that are differences of positions over h, would be round-off: balls would gain energy.
    """
    sizes, swells = _sizes(problem, state), problem.bodies.swell
    length = smallest_length(problem.bodies, problem.within, state.t) if swells else problem.smallest_length
    largest = highest(sizes, 0.0)
    if not math.isfinite(largest):
        check_finite(state.q, "position")
    if math.ulp(largest) > COARSEST * length:
        raise _too_far(problem, sizes, f"the smallest length of the bodies and walls, {length:.3g}")


def check_displacement(problem: Motion | Sweeping, state: State, displacement: float, steps: int) -> None:
    """Refuse coordinates so large that their round-off is no longer small beside the largest displacement in a step.

    Bodies that do not move in all steps together, up to round-off, are at rest.
    """
    sizes = _sizes(problem, state)
    unit = math.ulp(highest(sizes, 0.0))
    if 0.0 < displacement < FEWEST_UNITS * unit and unit <= steps * displacement:
        raise _too_far(problem, sizes, f"the largest displacement of a step, {displacement:.3g}")


def _sizes(problem: Motion | Sweeping, state: State) -> Array:
    """The coordinates of the balls in size, zero for bodies that are not present."""
    sizes = np.abs(state.centres.reshape(state.centres.shape or 1))
    return sizes if state.presence is None else np.where(state.presence.here[:, None], sizes, 0.0)


def _too_far(problem: Motion | Sweeping, sizes: Array, beside: str) -> InvalidValue:
    """The error that the round-off of the largest coordinate is not small beside a length."""
    sizes = to_host(sizes)
    place = int(sizes.argmax())
    where = f"q[{place}]"
    if sizes.ndim == 2:
        ball, axis = divmod(place, sizes.shape[1])
        where = f"coordinate {axis} of {problem.bodies.name(ball)}"
    return too_far(where, float(sizes.flat[place]), beside)


def too_far(where: str, size: float, beside: str) -> InvalidValue:
    """The error that the round-off of a coordinate of some size is not small beside a length."""
    return InvalidValue(
        f"{where} is {size:.6g} in size, where one unit in the last place is {math.ulp(size):.2g}: that is not small "
        f"beside {beside}. Shift the origin near the bodies, in q0 and in all walls"
    )


def check_finite(values: Array, name: str) -> None:
    """Raise `NotFinite`, naming the coordinate, if the positions or velocities of this name are not finite."""
    if not all_finite(values):
        body = tuple(int(k) for k in np.argwhere(~np.isfinite(values))[0])
        raise NotFinite(f"{name} {body} became {float(values[body])}")


def check_returned(name: str, before: State, after: Any) -> None:
    """Refuse what the step of a scheme returned if it is no state, or its arrays do not fit."""
    if isinstance(after, State) and after.projection is not None and isinstance(after.contacts, Contacts):
        arrays = zip((after.q, after.w, after.multipliers), (before.q, before.w, after.contacts.gap), strict=True)
        if all(getattr(one, "shape", None) == other.shape and one.dtype == other.dtype for one, other in arrays):
            return
    raise InvalidValue(
        f"the step of {name} must return a state with its projection and contacts: State.of(t + h, q, u, projection, "
        f"contacts, multipliers), q and u of {before.q.dtype} and of shape {before.q.shape}, and a multiplier for each "
        f"of its contacts"
    )


def check_inside(name: str, tol: float, problem: Motion | Sweeping, before: State, after: State) -> None:
    """Raise `LeftTheSet` if a linearised step left Q(t), where it is not known that the gaps are convex.

    `name` is that of the scheme, `tol` the tolerance of its solver.
    """
    t, q, within = after.t, after.centres, part_of(problem.within, lambda Q: Q.convex_gaps is None)
    if lowest(margins(within, t, q), 0.0) >= 0.0:
        return
    contacts = within.near(t, q, np.inf)
    allowed = _round_off(tol, problem, contacts, before, after)
    if problem.bodies.parts is not None:
        allowed = allowed + contacts.G.magnitude(np.abs(_curved(before, after)).ravel())
    if not (contacts.margin < -allowed).any():
        return
    row = int(np.argmin(contacts.margin + allowed))
    wrong = _wrong_gradient(within, t, before.centres, contacts.pairs[row])
    raise LeftTheSet(
        f"{name} left the set: gap {contacts.gap[row]:.3e} in {contacts.describe(row)}. "
        + (wrong or f"{CONVEX}; {remedy(problem, NOT_CONVEX)}")
    )


def _curved(before: State, after: State) -> Array:
    """(b, d) how far the balls of clumps, which turn, end from the tangents that the linearised constraints see."""
    assert after.projection is not None
    tangents = (after.t - before.t) * before.pose.velocities(after.projection.point)
    return np.asarray(after.centres - before.centres - tangents)


def check_convexity(tol: float, within: ConstraintSet, before: State, after: State) -> None:
    """Raise `LeftTheSet` if a step shows that a user declares ``convex_gaps = True`` or ``convex=True`` wrongly.

    A convex gap is at least as large as its linearisation g + G (q' - q) at the q before the step, which the step kept
    >= 0. `tol` is the tolerance of the solver.
    """
    if before.presence is not None or after.projection is None or not after.projection.converged:
        return
    for Q in parts(within):
        of_user = isinstance(Q, UserSet)
        if Q.convex_gaps is not True or Q.equalities or (is_of_jostle(Q) and not of_user):
            continue
        if of_user and lowest(Q.gaps(after.t, after.centres), 0.0) >= 0.0:  # without the gradient, which is costly
            continue
        here, way = Q.near(after.t, after.centres, 0.0), after.centres - before.centres
        if lowest(here.gap, 0.0) >= 0.0:
            continue
        cutoff = np.inf if way.ndim == 1 else NEARBY * float(np.abs(way).max())
        start = Q.near(after.t, before.centres, cutoff)
        linear = by_pair(start.pairs, start.gap + (start.G @ way.ravel()), here.pairs, -np.inf)
        below = to_host(here.gap - linear + (1.0 + tol / CLOSED) * here.tolerance(np.abs(way)))
        gap, name = to_host(here.gap), type(Q).__name__
        row = int(np.argmin(np.where(gap < 0.0, below, np.inf)))
        if gap[row] < 0.0 and below[row] < 0.0:
            said, mend = f" of {name}", "correct the gradient G, or set convex_gaps to False or None"
            declared = f"{name} declares convex_gaps = True"
            if of_user:
                said, declared, mend = "", "convex=True was given", "correct the gradient, or leave out convex=True"
            raise LeftTheSet(
                f"the gap of {here.describe(row)}{said} is {gap[row]:.3e} after a step, and by its linearisation "
                f"{float(linear[row]):.3e}, although {declared}: {mend}"
            )


def check_kinds(within: ConstraintSet, contacts: Contacts, state: State) -> None:
    """Raise `InvalidValue` if a set names what it does not have or hides its equalities, or two keep bodies apart."""
    apart = [type(Q).__name__ for Q in parts(within) if keeps_apart(Q)]
    if len(apart) > 1:
        raise InvalidValue(
            f"{' and '.join(apart)} keep the same bodies apart, so that each pair would have several contacts: leave "
            f"one out (Line and Clumps have no period)"
        )
    check_owned(repr(within), contacts.pairs, contacts.constraint_count)
    if state.centres.ndim == 2:
        check_bodies(repr(within), contacts.pairs, len(state.centres), within.bodies)
    if contacts.equal is not None and not within.equalities:
        raise InvalidValue(f"{within!r} has equalities but does not declare them: set equalities = True in its class")
    if within.equalities:
        equal = part_of(within, lambda Q: Q.equalities)
        found = equal.contacts(state.t, state.pose, np.inf)
        if len(found.gap) and (found.equal is None or not found.equal.all()):
            raise InvalidValue(
                f"{equal!r} declares that its constraints are equalities, but not all are: build its "
                f"Contacts with equal=, and put inequalities into another set"
            )


def check_equalities(name: str, tol: float, problem: Motion | Sweeping, before: State, after: State) -> None:
    """Raise `LeftTheSet` if an equality is violated by as much as the bodies and the set itself moved in the step.

    An error of second order in the step is small beside the step itself. Where it is not, the linearised equality has
    nothing to do with the true one: the step is too long, or the equalities cannot all hold. Motion is measured by the
    larger one of the speeds before and after the step, since a body that turns back moves by less than its speeds say.
    A gap that a longer step left, and that does not grow any more, is no error of this step.
    """
    contacts, equal = after.contacts, part_of(problem.within, lambda Q: Q.equalities)
    gap = equal.contacts(after.t, after.pose, np.inf).gap
    if contacts is None or contacts.equal is None or len(gap) == 0:
        return
    h, way = after.t - before.t, after.centres - before.centres
    speeds = (float(np.abs(state.velocities).max()) for state in (before, after))
    furthest = max(float(np.abs(way).max()), *(h * speed for speed in speeds))
    moved = contacts.magnitude(furthest, h * float(np.abs(np.stack([before.w, after.w])).max()))[contacts.equal]
    allowed = MAX_EQUALITY_ERROR * moved + _round_off(tol, problem, contacts, before, after)[contacts.equal]
    if (np.abs(gap) <= allowed).all():
        return
    drift = np.abs(equal.contacts(after.t, before.pose, np.inf).drifts(before.t, h)).max(axis=0)
    allowed += MAX_EQUALITY_ERROR * h * drift
    earlier = np.abs(equal.contacts(before.t, before.pose, np.inf).gap)
    allowed = np.maximum(allowed, earlier + MAX_EQUALITY_ERROR * allowed)
    row = int(np.argmax(np.abs(gap) - allowed))
    if abs(gap[row]) <= allowed[row]:
        return
    there = np.flatnonzero(contacts.equal)[row]
    raise LeftTheSet(
        f"{name} left the set: gap {gap[row]:.3e} in {contacts.describe(int(there))}, after a step in which bodies "
        f"moved by up to {furthest:.3g}. The step is too long for the linearised equality, or the equalities cannot "
        f"all hold; choose h below {h / 2.0:.2g}"
    )


def _round_off(tol: float, problem: Motion | Sweeping, contacts: Contacts, before: State, after: State) -> Array:
    """(m,) how far the round-off of a step, and the tolerance of the solver, may leave the rows violated."""
    # A row without a length is compared with what the step moved: the way from q to q', and the displacement
    # h M^-1 G^T p that the projection took away, all that moves near the origin, where bodies are held at rest. The
    # centre of a ball of a clump is a sum, whose terms may be larger.
    bodies, length, h, turn = problem.bodies, contacts.length, after.t - before.t, after.pose.orientation is not None
    way = np.abs(after.centres - before.centres) + after.pose.terms
    if turn and isinstance(bodies.mass, Metric):
        pushed = h * np.abs(bodies.mass.solve(after.pushes()))
        each = pushed.reshape(-1, way.shape[-1])[bodies.owners(np.arange(way.size // way.shape[-1]))]
        way += each.reshape(way.shape)
    tolerance = contacts.tolerance(way)
    if after.contacts is not None and not turn and not (length > 0.0).all():
        M = problem.metric(before.q)
        push = h * M.norm(M.solve(after.contacts.G.adjoint(after.multipliers)))
        tolerance = tolerance + np.where(length > 0.0, 0.0, CLOSED * push * contacts.G.norms(M))
    return (1.0 + tol / CLOSED) * tolerance


def _wrong_gradient(within: ConstraintSet, t: float, q: Array, pair: Integers) -> str | None:
    """What is wrong with the gradient at q of the row of a pair, by differences of its gap; None if it is right."""
    here = within.linearise(t, q)
    rows = np.flatnonzero((here.pairs == pair).all(axis=1))
    if len(rows) != 1 or len(within.gaps(t, q)) != len(here.gap):
        return None
    given = here.G.rows(rows).toarray()
    found = Differences(lambda time, place: within.gaps(time, place)[rows]).search(t, q, here.gap[rows])
    wrong = wrong_entry(given, found)
    if wrong is None:
        return None
    return (
        f"Its gradient is wrong: d/dq[{wrong[1]}] is {given[wrong]:.6g} at t = {t:g}, and differences of the gap give "
        f"{found.G[wrong]:.6g}; correct the gradient of the set"
    )


def check_depth(within: ConstraintSet, before: State, after: State) -> None:
    """Raise `LeftTheSet` if a constraint of the user is violated by more than the length that was given for it."""
    for Q in parts(within):
        if not isinstance(Q, UserSet) or not Q.length or Q.equalities:
            continue
        gap = Q.gaps(after.t, after.centres)
        row = int(np.argmin(gap)) if len(gap) else 0
        if len(gap) and gap[row] < -Q.length:
            h = after.t - before.t
            raise LeftTheSet(
                f"constraint {row} of {Q.name} is {gap[row]:.3e} after a step of h = {h:.3g}, violated by more than "
                f"its length {Q.length:g}: a body may have gone through; choose h below "
                f"{h * Q.length / -gap[row] / 2.0:.2g}"
            )


def check_crossings(linearises: bool, sets: tuple[ConstraintSet, ...], before: State, after: State) -> None:
    """Raise `LeftTheSet` if the centre of a body went through a wall or a ball: the next steps would not notice.

    `linearises` says whether the scheme keeps the constraints linearised at the state before.
    """
    here = None if before.presence is None else before.presence.here
    for Q in sets:
        if Q.crossing is not None:
            held = linearises and after.projection is not None and after.projection.converged
            gaps = None if after.contacts is None else after.contacts.gap
            found = Q.crossing(Step((before.t, after.t), (before.centres, after.centres), held, gaps, here))
            if found is not None:
                raise _went_through(found, Q.bodies.name(found.body), after.t - before.t)


def _went_through(found: Crossing, body: str, h: float) -> LeftTheSet:
    """The error that says which body went through which wall or ball, and which step would be safe."""
    remedy = f"{found.clearance:.3g} is safe; choose h below {h * found.clearance / found.moved:.2g}"
    if found.moved < found.clearance:
        remedy = f"they had overlapped before; choose h below {h / 2.0:.2g}, or a solver that leaves no overlaps"
    return LeftTheSet(
        f"the centre of {body} went through {found.wall}: together they moved by {found.moved:.3g} in a "
        f"step of h = {h:.3g}, and {remedy}"
    )
