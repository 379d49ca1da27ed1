"""Where hypotheses are checked: a configuration, the contacts that are closed there, and those that are near."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from jostle._tools.arguments import required_arguments
from jostle._tools.arrays import Array, Integers
from jostle.contacts import Contacts, by_pair
from jostle.convex.metric import Metric
from jostle.convex.polyhedron import Cone
from jostle.differences import RELATIVE_STEP, central
from jostle.errors import InvalidValue, JostleError
from jostle.laws import Coulomb, Restitution, coefficients
from jostle.pose import Pose
from jostle.problems import Motion, Sweeping
from jostle.result.solution import Solution
from jostle.schemes.paoli import Paoli
from jostle.schemes.state import State
from jostle.sets.base import ConstraintSet, of_present
from jostle.sets.presence import Presence

MAX_ALL_BODIES = 150
"""With at most this many bodies all contacts are examined, otherwise those within the cutoff."""
NEAR_PART = 0.5
"""rho of (A5) and (A6), as a fraction of the smallest length (of the smallest radius, for balls)."""
SPEEDS = (0.0, 1e-6, 1e-3, 1.0, 1e3, 1e6)
"""Speeds at which coefficients that are functions of it are compared: different values prove that they are not one."""


@dataclass(frozen=True, eq=False)
class Place:
    """A configuration q at time t, and the contacts there."""

    problem: Motion | Sweeping
    t: float
    q: Array
    within: ConstraintSet
    """The admissible set of the bodies that are there."""
    contacts: Contacts
    """All contacts, or those within the cutoff if there are many bodies; equalities are not among them."""
    closed: Integers
    """The rows of `contacts` that are active: I(t, q)."""
    near: Integers
    """The rows with g <= rho: I_rho(t, q)."""
    rho: float | None
    """None if the set has no length to choose rho by."""
    bound: Contacts
    """The closed contacts and all equalities: the rows of the impact law."""
    complete: bool
    """Whether `contacts` are all of the problem, and not only those within the cutoff, or of the bodies present."""
    outside: str
    """The constraint that q violates most, and by how much; empty if q is in Q(t)."""

    @cached_property
    def metric(self) -> Metric:
        """The metric of the problem at q."""
        return self.problem.metric(self.q)

    def cone(self, rows: Integers | None = None) -> Cone:
        """The cone of some rows, by default of the closed ones."""
        some = self.contacts.only(self.closed if rows is None else rows)
        return Cone(some.G, describe=some.describe)

    def name(self, row: int) -> str:
        """What a row of `contacts` is, in words."""
        return self.contacts.describe(int(row))


def place(
    problem: Motion | Sweeping, t: float, q: Array, rho: float | None = None, touching: Integers | None = None
) -> Place:
    """The place (t, q); the pairs `touching` count as closed at any gap. A body at NaN is not present.

    q are the positions of bodies; for clumps they are the places of their balls.
    """
    shape = problem.q0.shape
    if problem.bodies.parts is not None:
        shape = problem.bodies.parts.arms.shape
    if q.shape != shape:
        raise InvalidValue(f"q must have the shape of q0, {shape}, not {q.shape}")
    within, presence = problem.within, problem.presence
    if not np.isfinite(q).all():
        presence = Presence.of(q, np.isfinite(q).reshape(len(q), -1).all(axis=1), within.bodies.largest)
    if presence is not None:
        within, q = of_present(within, presence), presence.placed(q)
    radii = within.bodies.radii_at(t)
    lengths = np.zeros(0) if q.size == 0 else radii[radii > 0.0]
    if rho is None and lengths.size:
        rho = NEAR_PART * float(lengths.min())
    everything = (len(q) if q.ndim > 1 else 1) <= MAX_ALL_BODIES or rho is None
    contacts = within.near(t, q, np.inf if everything else 2.0 * rho)  # type: ignore[operator]
    if rho is None and (length := contacts.smallest_length()) is not None:
        rho = NEAR_PART * length
    outside, deep = "", contacts.margin + contacts.tolerance()
    if len(deep) and deep.min() < 0.0:
        row = int(np.argmin(deep))
        outside = f"the gap of {contacts.describe(row)} is {contacts.gap[row]:.3g}"
    active = contacts.gap <= contacts.tolerance()
    if touching is not None and len(touching):
        active |= by_pair(touching, np.ones(len(touching)), contacts.pairs) > 0.0
    bound = contacts.only(np.flatnonzero(active if contacts.equal is None else active | contacts.equal))
    if contacts.equal is not None:
        one_sided = np.flatnonzero(~contacts.equal)
        contacts, active = contacts.only(one_sided), active[one_sided]
    near = active if rho is None else active | (contacts.gap <= rho)
    rows, complete = (np.flatnonzero(active), np.flatnonzero(near)), everything and presence is None
    return Place(problem, t, q, within, contacts, *rows, rho, bound, complete, outside)


def places(sol: Solution, most: int) -> Iterator[tuple[int, Place]]:
    """The places of at most this many frames: half of them with the most contacts, the others evenly spread.

    Contacts with a multiplier count as closed.
    """
    problem, count = problem_of(sol), len(sol.t)
    frames = np.arange(count)
    if count > most:
        loaded = [int(np.count_nonzero(sol.multipliers[k])) for k in range(count)]
        spread = np.linspace(0, count - 1, most - most // 2).round().astype(int)
        frames = np.union1d(np.argsort(loaded, kind="stable")[::-1][: most // 2], spread)
    for k in frames.tolist():
        pairs, p = np.asarray(sol.pairs[k]), np.asarray(sol.multipliers[k])
        yield k, place(problem, float(sol.t[k]), position(sol, k), touching=pairs[p != 0.0])


def position(sol: Solution, k: int) -> Array:
    """Where the contacts of frame k were closed: Z^n for `Paoli`, q for the others."""
    projected = isinstance(sol.scheme, Paoli) and sol.z is not None and len(sol.z) == len(sol.t)
    found: Array = np.asarray(sol.z[k] if sol.z is not None and projected else sol.q[k])
    return sol.places(k) if _clumps(sol) else found.astype(float)


def _clumps(sol: Solution) -> bool:
    return isinstance(sol.problem, Motion) and sol.problem.bodies.parts is not None


def state_of(sol: Solution, k: int) -> State:
    """The state of frame k, without its contacts."""
    problem, q = problem_of(sol), np.asarray(sol.q[k], dtype=float)
    given, spins = (None if each is None else np.asarray(each[k]) for each in (sol.orientation, sol.spin))
    pose = Pose.of(problem.bodies, q, given if problem.bodies.turn else None)
    return State(float(sol.t[k]), pose, pose.joined(np.asarray(sol.u[k], dtype=float), spins))


def one_sided(sol: Solution, k: int) -> tuple[Array, Integers]:
    """The multipliers and pairs of frame k without those of equalities, whose multipliers have no sign."""
    p, pairs = np.asarray(sol.multipliers[k]), np.asarray(sol.pairs[k])
    if len(p) == 0 or not isinstance(sol.problem, Motion | Sweeping) or not sol.problem.within.equalities:
        return p, pairs
    there = sol.problem.within.linearise(float(sol.t[k]), np.asarray(sol.places(k), dtype=float))
    kinds = np.zeros(len(there.gap)) if there.equal is None else there.equal.astype(float)
    rows = by_pair(there.pairs, kinds, pairs) == 0.0
    return p[rows], pairs[rows]


class Coefficients(NamedTuple):
    """The restitution coefficients of the contacts of a place."""

    lowest: float
    highest: float
    known: bool
    """True if no contact can have another one, at no speed."""


def restitutions(place: Place) -> Coefficients:
    """The coefficients of all contacts, at several speeds if the law is a function of the speed."""
    assert isinstance(place.problem, Motion)
    law, contacts = place.problem.law, place.contacts
    if law.uniform is not None:
        return Coefficients(law.uniform, law.uniform, True)
    table = law.e if isinstance(law, Coulomb) else law
    known = isinstance(table, Restitution) and table.numbers and place.complete
    e = np.zeros(0)
    for v in SPEEDS[:1] if known else SPEEDS:
        try:
            e = np.append(e, coefficients(law, contacts, np.full(len(contacts.gap), -v)))
        except InvalidValue:  # the function of a user need not serve speeds of all sizes
            continue
    return Coefficients(float(e.min(initial=1.0)), float(e.max(initial=0.0)), known)


def restitution(problem: Motion | Sweeping) -> float | None:
    """The number e of the impact law; None if contacts have coefficients of their own."""
    return problem.law.uniform if isinstance(problem, Motion) else None


def problem_of(sol: Solution) -> Motion | Sweeping:
    """The problem of a solution; one that was read from a file has it only if it was given."""
    if not isinstance(sol.problem, Motion | Sweeping):
        raise InvalidValue(
            "the admissible set, the force and the law are not in the file: give the problem, jo.io.read(path, problem)"
        )
    return sol.problem


# Forces and desired velocities: how they change with q, u and t at one place.
#
# Whether a function of the user is continuous or Lipschitz everywhere cannot be found out from its values. What can be
# computed is its slope here: a lower bound of every Lipschitz constant.


MAX_COORDINATES = 60
"""Slopes are differenced for at most this many coordinates."""


UNDEFINED = (JostleError, ArithmeticError, ValueError)
"""What functions of the user raise at places and velocities that no run has, and that they need not serve."""


class Slopes(NamedTuple):
    """The slopes of the acceleration M^-1 f(t, q, u) of a `Motion`, or of the velocity U(t, q) of a `Sweeping`."""

    size: float
    """The value at the place, |M^-1 f| or |U|, in the norm of the metric."""
    in_q: float
    """The largest singular value of the derivative by q; NaN if it is not known."""
    in_u: float
    """The largest singular value of the derivative by u; 0 for a `Sweeping`, NaN if it is not known."""
    constant: bool
    """True if the field is the same at all times and places."""
    on_u: bool | None
    """Whether the field depends on u: True if two velocities gave two values; None if that is not known."""
    flaw: str
    """Why the field is no function of t, q and u; empty if nothing is known against it."""


def slopes(place: Place, u: Array | None = None) -> Slopes:
    """The slopes at a place, for bodies with velocity u (by default v0)."""
    problem, t, q, given = place.problem, place.t, place.q, place.problem._given
    flaw = "" if problem.past is None else "it remembers the past of the run"
    if isinstance(problem, Sweeping):
        wished = problem.velocity(t, q)
        if given is not None and not callable(given):
            return Slopes(place.metric.norm(wished.ravel()), 0.0, 0.0, True, False, "")
        flaw = flaw or _changes(wished, problem.velocity(t, q))
        return Slopes(
            place.metric.norm(wished.ravel()), _slope(lambda x: problem.velocity(t, x), q), 0.0, False, False, flaw
        )
    v = np.nan_to_num(problem.v0 if u is None else u)
    here = problem.acceleration(t, q, v)
    size = place.metric.norm(here.ravel())
    if problem.constant_force is not None and not callable(problem.mass):
        return Slopes(size, 0.0, 0.0, True, False, "")
    flaw = flaw or _changes(here, problem.acceleration(t, q, v))
    in_q = _slope(lambda x: problem.acceleration(t, x, v), q)
    function = problem.stiff.function if problem.stiff is not None else given
    if problem.constant_force is not None or (callable(function) and required_arguments(function, 3) < 3):
        return Slopes(size, in_q, 0.0, False, False, flaw)
    others = (2.0 * v, v + 1.0, v - np.cos(np.arange(v.size)).reshape(v.shape))
    in_u = _slope(lambda w: problem.acceleration(t, q, w), v)
    seen = in_u > 0.0 or any(_differs(lambda w: problem.acceleration(t, q, w), other, here) for other in others)
    return Slopes(size, in_q, in_u, False, True if seen and not flaw else None, flaw)


def _differs(field: Callable[[Array], Array], x: Array, here: Array) -> bool:
    """Whether a field has another value at x; False if it has none there."""
    try:
        return bool(_changes(here, field(x)))
    except UNDEFINED:
        return False


def _changes(first: Array, second: Array) -> str:
    same = np.array_equal(first, second, equal_nan=True)
    return "" if same else "two calls with the same arguments returned different values"


def _slope(field: Callable[[Array], Array], x: Array) -> float:
    """The largest singular value of the derivative of a field at x."""
    if x.size > MAX_COORDINATES:
        return np.nan
    if x.size == 0:
        return 0.0
    step = RELATIVE_STEP * (float(np.abs(x).max(initial=0.0)) or 1.0)
    return float(np.linalg.norm(central(lambda y: field(y).ravel(), x, step), 2))
