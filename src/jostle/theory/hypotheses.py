"""Check the hypotheses of the theorems, (A0)-(A6) and (H1)-(H6), and the largest h of each scheme."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from jostle._tools.arguments import Finite, Positive, check_arguments
from jostle._tools.arrays import Array, finite
from jostle.analysis.angles import cosines
from jostle.bodies import Turning
from jostle.convex.linear_map import LinearMap
from jostle.convex.metric import Metric
from jostle.convex.polyhedron import Cone, Polyhedron
from jostle.convex.rows import Cones
from jostle.errors import EmptySet, InvalidValue, NotConverged, SchemeRefuses
from jostle.laws import Coulomb
from jostle.problems import Motion, Sweeping
from jostle.result.solution import Solution
from jostle.schemes.base import Scheme
from jostle.schemes.catching_up import CatchingUp
from jostle.schemes.grip import grip
from jostle.schemes.maury import Maury
from jostle.schemes.moreau_jean import MoreauJean
from jostle.schemes.paoli import Paoli
from jostle.schemes.venel import Venel
from jostle.solvers.gauss_seidel import GaussSeidel
from jostle.solvers.project import project
from jostle.theory import assumptions
from jostle.theory.assumptions import EVERYWHERE, HERE, Numbers
from jostle.theory.places import Place, Slopes, place, places, restitution, slopes, turning_of
from jostle.theory.report import FAILS, HOLDS, UNKNOWN, Line, Report, Section, worst

# The largest time step h for which each scheme is well defined at a place.
#
#     Maury       h K_L < c          Bernicot & Lefebvre-Lepot 2010, Prop. 2.1: q^n stays where the gradients exist
#     Venel       h K_L < c          Venel 2009, Prop. 3.1
#     CatchingUp  h (|U| + K_L) < eta     the point to be projected has one nearest point (Venel 2009, Def. 2.3)
#     Paoli       h |u| + h^2 |F| < eta   the same for W^n; no limit if K is convex
#     Paoli(implicit=True)  h < 2 / L     Paoli 2005, below (1.6): the fixed point contracts
#     MoreauJean  every h: it projects on a cone
#
# K_L is the Lipschitz constant of t -> Q(t), 0 for a set at rest; c is that of (A0); eta the prox-regularity constant
# at the place; L the Lipschitz constant of F in the velocity. All are those of one place: estimates, not bounds.


TITLE = "Largest h for which the schemes are well defined (estimates at this place)"


def _within_c(numbers: Numbers, field: Slopes, v: float) -> float:
    """h K_L = c."""
    speed, c = numbers.speed_of_set, float(numbers.of_gaps.margin.min(initial=np.inf))
    return np.inf if speed == 0.0 else c / speed


def _contracting(numbers: Numbers, field: Slopes, v: float) -> float:
    """h = 2 / L."""
    return np.inf if field.in_u == 0.0 else 2.0 / field.in_u


def _within_eta(numbers: Numbers, field: Slopes, v: float) -> float:
    """h v + h^2 |F| = eta; for a `Sweeping` h (|U| + K_L) = eta."""
    if numbers.place.within.flat:
        return np.inf
    eta = np.nan if numbers.of_gaps.why else numbers.prox_regularity
    if isinstance(numbers.place.problem, Sweeping):
        speed = field.size + numbers.speed_of_set
        return eta / speed if speed > 0.0 else np.inf
    if (v == 0.0 and field.size == 0.0) or eta == np.inf:
        return np.inf
    return 2.0 * eta / (v + float(np.sqrt(v * v + 4.0 * field.size * eta)))


class Limit(NamedTuple):
    """The largest h of a scheme: in words, and from the numbers and the slopes of a place and the velocity there."""

    name: str
    scheme: Scheme
    says: str
    largest: Callable[[Numbers, Slopes, float], float]


SECOND_ORDER = (
    Limit("Maury", Maury(), "h K_L < c", _within_c),
    Limit("Paoli", Paoli(), "h |u| + h^2 |F| < eta", _within_eta),
    Limit("Paoli, implicit", Paoli(implicit=True), "h < 2 / L", _contracting),
    Limit("MoreauJean", MoreauJean(), "every h", lambda numbers, field, v: np.inf),
)
FIRST_ORDER = (
    Limit("Venel", Venel(), "h K_L < c", _within_c),
    Limit("CatchingUp", CatchingUp(), "h (|U| + K_L) < eta", _within_eta),
)


def largest_steps(numbers: Numbers, field: Slopes, u: Array | None) -> Section:
    """One line for each scheme, at the velocity u, by default v0."""
    problem = numbers.place.problem
    v = getattr(problem, "v0", np.zeros(1)) if u is None else u
    limits = SECOND_ORDER if isinstance(problem, Motion) else FIRST_ORDER
    return Section(TITLE, "", tuple(_line(each, numbers, field, float(np.linalg.norm(v))) for each in limits))


def _line(limit: Limit, numbers: Numbers, field: Slopes, v: float) -> Line:
    name, says = limit.name, limit.says
    try:
        limit.scheme.check(numbers.place.problem)
    except SchemeRefuses as refusal:
        return Line(name, says, FAILS, str(refusal), needed=False)
    h = limit.largest(numbers, field, v)
    if np.isnan(h):
        why = numbers.of_gaps.why or "a constant of (A0) or a slope is not known"
        return Line(name, says, UNKNOWN, why, needed=False)
    return Line(name, says, HOLDS if h > 0.0 else FAILS, "", {"h": h}, needed=False, badness=-h)


MAX_FRAMES = 100
"""Largest number of saved times that are checked along a trajectory; half of them are those with the most contacts."""
ADMISSIBLE_TOLERANCE = 1e-9
"""A gap that closes at less than this fraction of the speeds does not close."""

MAURY = "Bernicot & Lefebvre-Lepot 2010, Theorem 1.3"
VENEL = "Venel 2009, Theorems 2.12, 2.13 and 3.4"
PAOLI_2005 = "Paoli 2005, Theorem 1.1"
PAOLI_2010 = "Paoli 2010"


@check_arguments
def hypotheses(
    problem: Motion | Sweeping | Solution, q: ArrayLike | None = None, t: Finite = 0.0, *, rho: Positive | None = None
) -> Report:
    """Check what the theorems of the papers ask, at one configuration of a problem or along a solution.

    Each hypothesis holds, fails (where, by how much), or cannot be checked (why). What is asked for every q of the
    admissible set is checked at this q, unless the set is made of balls and walls, whose constants are known at every
    q; the table says which. Along a solution each line is shown at the saved time at which it is worst; contacts with a
    multiplier count as closed. The theorems do not cover friction, nor clumps: then a section of its own says what is
    known about each step.

    Parameters
    ----------
    problem : Motion, Sweeping or Solution
        The problem, or a solution to check along.
    q : array_like, optional
        The configuration; not used along a solution. None: q0.
    t : float, default 0.0
        The time; not used along a solution.
    rho : float, optional
        The distance rho of (A5) and (A6), in the unit of q; positive. None: half of the smallest radius.

    Returns
    -------
    Report
        One section for each theorem, and the largest time step of each scheme.

    Examples
    --------
    >>> import jostle as jo
    >>> wedge = jo.HalfSpace([0.0, 1.0]) & jo.HalfSpace([0.75**0.5, 0.5])               # interior angle: 120 degrees
    >>> report = jo.theory.hypotheses(jo.Motion(q0=[0.0, 0.0], v0=[0.0, 1.0], within=wedge))
    >>> report["Paoli 2005 (H5)"].verdict, round(report["Paoli 2005 (H5)"].values["cosine"], 9)
    ('fails', 0.5)
    >>> report["(A6')"].verdict, round(report["(A6')"].values["gamma"], 6)               # 1 / cos 30
    ('holds', 1.154701)
    """
    if isinstance(problem, Solution):
        return _along(problem)
    if not isinstance(problem, Motion | Sweeping):
        raise InvalidValue(f"problem must be a jo.Motion, a jo.Sweeping or a Solution, not {problem!r}")
    given, turning = problem.q0 if q is None else finite(q, "q"), getattr(problem, "turning", None)
    return _at(place(problem, t, problem.bodies.places(given, turning), rho), None, q is None, turning)


def _along(sol: Solution) -> Report:
    """The worst of each line along a solution."""
    found = {
        float(sol.t[k]): _at(one, np.asarray(sol.u[k]), k == 0, turning_of(sol, k))
        for k, one in places(sol, MAX_FRAMES)
    }
    seen = "" if len(found) == len(sol.t) else f", at {len(found)} of {len(sol.t)} saved times"
    return worst(f"Hypotheses along the solution, t = {sol.t[0]:.4g} to {sol.t[-1]:.4g}{seen}", found)


def _at(here: Place, u: Array | None, start: bool, turning: Turning | None = None) -> Report:
    """The report of one place, with the velocity u (by default v0); `start` says whether the motion begins there."""
    counts = f"{len(here.closed)} of {len(here.contacts.gap)} contacts closed"
    title = f"Hypotheses at t = {here.t:.4g}: {counts}"
    friction = () if turning is None else (steps_with_friction(here, turning),)
    if here.problem.bodies.clumped is not None:
        return Report(title, friction)
    numbers, field = Numbers(here), slopes(here, u)
    one_sided = (*_inequalities(here), *_without_friction(here.problem))
    if isinstance(here.problem, Sweeping):
        venel = _venel(numbers, field)
        return Report(title, (replace(venel, lines=(*one_sided, *venel.lines)), largest_steps(numbers, field, u)))
    begin = (_start(here, u),) if start else ()
    free = _independent(here)
    sections: tuple[Section, ...] = (
        _maury(numbers, field, begin),
        _paoli_2005(numbers, field, free, begin),
        _paoli_2010(numbers, field, free, begin),
    )
    sections = tuple(replace(section, lines=(*one_sided, *section.lines)) for section in sections)
    return Report(title, (*sections, *friction, largest_steps(numbers, field, u)))


def _without_friction(problem: Motion | Sweeping) -> tuple[Line, ...]:
    """The line that the theorems do not cover friction, if there is some."""
    law = getattr(problem, "law", None)
    if not isinstance(law, Coulomb) or (law.mu == 0.0 and not law.rolls):
        return ()
    why = "the law has friction; the other lines are about the same contacts without it"
    return (Line("mu = 0", "contacts push along their normals only", FAILS, why),)


def _inequalities(here: Place) -> tuple[Line, ...]:
    """The line that the theorems do not cover equalities, if there are some."""
    equal = here.bound.equal
    if equal is None:
        return ()
    which = f"such as {here.bound.describe(int(np.argmax(equal)))}; the other lines are about the inequalities alone"
    return (Line("inequalities", "all constraints are g_i >= 0", FAILS, which, {"equalities": float(equal.sum())}),)


def _gaps(numbers: Numbers) -> tuple[Line, ...]:
    """(A0)-(A4), which both papers ask."""
    time = numbers.of_time
    return (
        assumptions.convex(numbers),
        assumptions.smooth(numbers),
        assumptions.gradients(numbers),
        assumptions.in_time(numbers, "(A2)", "|dg_i/dt| <= beta", "beta", time.first),
        assumptions.in_time(numbers, "(A3)", "|d grad g_i/dt| <= M", "M", time.turning),
        assumptions.curvature(numbers),
    )


def _maury(numbers: Numbers, field: Slopes, begin: tuple[Line, ...]) -> Section:
    moves = assumptions.moves(numbers) is not False
    lines = (
        *_gaps(numbers),
        assumptions.in_time(numbers, "(A5)", "|d^2 g_i/dt^2| <= M", "M", numbers.of_time.second),
        assumptions.inverse_triangle(numbers, "(A6)", True, moves),
        assumptions.inverse_triangle(numbers, "(A6')", False, True),
        _field("(1.16), (1.17)", "f is Lipschitz in q and bounded", field, {"slope": field.in_q}),
        _inelastic(numbers.place),
        _constant_mass(numbers.place),
        *(replace(line, needed=False) for line in begin),  # step 6 of the proof: else u(0+) = P_C v0
        *assumptions.consequences(numbers),
    )
    return Section(MAURY, "a subsequence of Maury's scheme converges to a solution, which exists for all times", lines)


def _venel(numbers: Numbers, field: Slopes) -> Section:
    moves = assumptions.moves(numbers) is not False
    lines = (
        *_gaps(numbers),
        assumptions.inverse_triangle(numbers, "(A5)", True, moves),
        assumptions.inverse_triangle(numbers, "(A5')", False, True),
        _field("(13)-(15)", "U is Lipschitz in q, integrable in t", field, {"slope": field.in_q}),
        *assumptions.consequences(numbers),
    )
    return Section(VENEL, "there is one solution, and Venel's scheme converges to it", lines)


def _paoli_2005(numbers: Numbers, field: Slopes, free: Line, begin: tuple[Line, ...]) -> Section:
    here = numbers.place
    lines = (
        _force(field, lipschitz=True),
        _convex_set(numbers),
        free,
        _consistent("(H4)"),
        _angle(here, "(H5)", e_positive=False),
        _inelastic(here),
        _at_rest(numbers),
        *begin,
    )
    return Section(PAOLI_2005, "a subsequence of Paoli's scheme converges, and the limit obeys the impact law", lines)


def _paoli_2010(numbers: Numbers, field: Slopes, free: Line, begin: tuple[Line, ...]) -> Section:
    here = numbers.place
    lines = (
        _force(field, lipschitz=False),
        _gradients(numbers),
        free,
        _mass(here),
        _consistent("(H5)"),
        _angle(here, "(H6)", e_positive=True),
        _at_rest(numbers),
        *begin,
    )
    return Section(PAOLI_2010, "a subsequence of Paoli's scheme converges to a solution, on some interval", lines)


def _field(name: str, says: str, field: Slopes, slopes: dict[str, float]) -> Line:
    """The line whether a force or a velocity is Lipschitz: its slopes are known at this place only."""
    if field.constant:
        return Line(name, says, HOLDS, "the acceleration is constant", {"slope": 0.0})
    steepest_here = float(np.nan_to_num(max(slopes.values())))
    return Line(name, says, UNKNOWN, "a function; its slope is known here only", slopes, badness=steepest_here)


def _force(field: Slopes, lipschitz: bool) -> Line:
    """(H1)."""
    says = "the force is continuous" + (", Lipschitz in q and u" if lipschitz else "")
    return _field("(H1)", says, field, {"slope in q": field.in_q, "slope in u": field.in_u})


def _inelastic(here: Place) -> Line:
    e = restitution(here.problem)
    if e is None:
        return Line("e = 0", "inelastic impacts", FAILS, "the law has other coefficients")
    return Line("e = 0", "inelastic impacts", HOLDS if e == 0.0 else FAILS, "", {"e": e})


def _constant_mass(here: Place) -> Line:
    constant = not (isinstance(here.problem, Motion) and callable(here.problem.mass))
    says = "M does not depend on q (remark 4.1)"
    return Line("mass", says, HOLDS if constant else FAILS, "" if constant else "the problem has a function M(q)")


def _at_rest(numbers: Numbers) -> Line:
    moves, says = assumptions.moves(numbers), "K does not depend on time"
    if moves is None:
        return Line("rest", says, UNKNOWN, "the set does not declare it; nothing moves at this t and q")
    return Line("rest", says, FAILS if moves else HOLDS, "the set moves" if moves else "")


def _start(here: Place, u: Array | None) -> Line:
    """The line whether the start is in the interior, or its velocity admissible."""
    says = "q0 in the interior of Q, or v0 in the cone of admissible velocities"
    v = (here.problem.v0 if isinstance(here.problem, Motion) else np.zeros_like(here.q)) if u is None else u
    if len(here.closed) == 0:
        return Line("start", says, HOLDS, "no contact is closed")
    chosen = here.contacts.only(here.closed)
    rate = chosen.G @ v.ravel() + Numbers(here).of_time.first[here.closed]
    row = int(np.argmin(rate))
    values = {"lowest gap rate": float(rate[row])}
    if rate[row] >= -ADMISSIBLE_TOLERANCE * float(chosen.G.magnitude(v.ravel())[row]):
        return Line("start", says, HOLDS, "", values)
    return Line("start", says, FAILS, f"{chosen.describe(row)} approach: u(0+) is not v0", values)


# The hypotheses (H1)-(H6) of Paoli 2010 and (H1)-(H5) of Paoli 2005, at one place.
#
#                  Paoli 2010                                   Paoli 2005
#     (H1)  the force is continuous                   ... and Lipschitz in q and u
#     (H2)  grad g_i != 0 near g_i = 0                ... and K is convex
#     (H3)  the gradients of closed contacts are linearly independent (both)
#     (H4)  M is C^1, positive definite               F is consistent with the force
#     (H5)  F is consistent with the force            <grad g_a, grad g_b> <= 0: the angle condition for e = 0
#     (H6)  <e_a, e_b> = 0: the angle condition for e > 0, in the metric M^-1, e_a = M^-1/2 grad g_a / |...|
#
# (H6) is (8) of Paoli 2010 at q_1 = q_2.


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


def _angle(place: Place, name: str, e_positive: bool) -> Line:
    """(H5) of Paoli 2005, or (H6) of Paoli 2010."""
    says = "<grad g_a, grad g_b> = 0 in the metric M^-1" if e_positive else "<grad g_a, grad g_b> <= 0"
    cone = place.cone()
    found = steepest(cone, place.metric, e_positive)
    if found is None:
        return Line(name, says, HOLDS, "fewer than two contacts closed", {}, True, True, -np.inf)
    size = abs(found.cosine) if e_positive else found.cosine
    values = {"cosine": found.cosine}
    if size <= ANGLE_TOLERANCE:
        return Line(name, says, HOLDS, HERE, values, local=True, badness=size)
    one, other = (cone.describe(row) for row in found.rows)
    inside = np.degrees(np.pi - np.arccos(np.clip(found.cosine, -1.0, 1.0)))
    where = f"between {one} and {other}: interior angle {inside:.4g} degrees"
    return Line(name, says, FAILS, where, values, badness=size)


def _independent(place: Place) -> Line:
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


def _gradients(numbers: Numbers) -> Line:
    """(H2) of Paoli 2010."""
    size, says = numbers.of_gaps.size[numbers.place.near], "grad g_i != 0 where g_i = 0, and Lipschitz"
    if (size == 0.0).any():
        row = int(numbers.place.near[int(np.argmin(size))])
        return Line("(H2)", says, FAILS, f"zero gradient of {numbers.place.name(row)}")
    values = {"smallest |grad g|": float(size.min())} if len(size) else {}
    exact = numbers.of_gaps.exact
    return Line("(H2)", says, HOLDS, EVERYWHERE if exact else HERE, values, local=not exact)


def _convex_set(numbers: Numbers) -> Line:
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


def _mass(place: Place) -> Line:
    """(H4) of Paoli 2010."""
    says, M = "M is C^1 and positive definite", place.metric
    values = {"smallest eigenvalue": M.lightest}
    if isinstance(place.problem, Motion) and callable(place.problem.mass):
        return Line("(H4)", says, UNKNOWN, "a function M(q), positive definite at this q", values)
    return Line("(H4)", says, HOLDS, "M is constant", values)


def _consistent(name: str) -> Line:
    """(H5) of Paoli 2010 and (H4) of Paoli 2005."""
    return Line(name, "F(t, q, u, 0) = M^-1 f(t, q, u)", HOLDS, "Paoli takes F = M^-1 f")


# What is known about a step with friction: it has a solution, which need not be unique.
#
# A step of Coulomb's law has a solution if some velocity opens every closed contact faster than mu times its sliding,
# G v in the interior of K* (Acary, Cadoux, Lemarechal & Malick 2011). The shortest v with s_n - 1 >= mu |s_T|
# is one convex projection. The convex law is a projection itself: its velocity exists if K is not empty, and is unique.


COULOMB = "Coulomb's law (Acary, Cadoux, Lemaréchal & Malick 2011)"
CONVEX = "The convex law of friction (Anitescu 2006)"
FRICTIONLESS = "Bodies that turn, without friction"
TOLERANCE = 1e-6
"""Tolerance of the projection that finds a velocity that opens all contacts."""
MAX_SWEEPS = 20_000
"""Largest number of sweeps of this projection, which never ends if there is no such velocity."""


def steps_with_friction(here: Place, turning: Turning) -> Section:
    """What is known about a step from a place, for bodies that turn."""
    assert isinstance(here.problem, Motion)
    chosen = here.contacts.only(here.closed[here.contacts.pairs[here.closed, 0] >= 0])
    if len(chosen.gap) == 0:
        exists, unique = Line("existence", EXISTS, HOLDS, "no contact is closed", badness=-np.inf), True
    else:
        places = here.q.reshape(-1, here.problem.q0.shape[-1])
        G, cones = grip(here.problem, chosen, turning, here.t, places)
        exists, unique = _opening(here, G, cones), not (cones.coulomb and np.any(cones.mu))
    said = "one convex projection" if unique else "several velocities and impulses may solve the same step"
    law = here.problem.law
    title = FRICTIONLESS if not isinstance(law, Coulomb) else COULOMB if law.exact else CONVEX
    lines = (
        exists,
        Line("uniqueness", "the velocity after a step is unique", HOLDS if unique else FAILS, said, needed=False),
        Line("convergence", "the steps converge as h -> 0", UNKNOWN, MEASURE, needed=False),
    )
    return Section(title, "each step has a solution", lines)


EXISTS = "some velocity opens each closed contact faster than mu times its sliding"
MEASURE = "the papers treat neither friction nor spin; jo.theory.convergence measures it"


def _opening(here: Place, G: LinearMap, cones: Cones) -> Line:
    """The line whether a velocity opens all closed contacts in the cones, and how fast for its length."""
    problem = here.problem
    c = np.zeros((len(cones.mu), cones.height))
    c[:, : cones.axis.shape[1]] = -cones.axis
    K = Polyhedron(G, c.ravel(), cones=cones._replace(coulomb=False))
    M = problem.bodies.with_inertia(problem.metric(problem.q0), problem.q0.shape)
    try:
        found = project(np.zeros(G.shape[1]), K, mass=M, solver=GaussSeidel(tol=TOLERANCE, max_iterations=MAX_SWEEPS))
    except EmptySet as error:
        return Line("existence", EXISTS, FAILS, f"none was found, and a step may have no solution: {error}")
    except NotConverged:
        why = f"no such velocity was found in {MAX_SWEEPS} sweeps: contacts may be jammed"
        return Line("existence", EXISTS, UNKNOWN, why, badness=np.inf)
    delta = 1.0 / M.norm(found.point.ravel())
    return Line("existence", EXISTS, HOLDS, "at this q", {"delta": delta}, local=True, badness=-delta)
