"""Check the hypotheses of the theorems, (A0)-(A6) and (H1)-(H6), and the largest h of each scheme."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from jostle._tools.arguments import Finite, Positive, check_arguments
from jostle._tools.arrays import Array, finite
from jostle.convex.cones import Cones
from jostle.convex.linear_map import LinearMap
from jostle.convex.polyhedron import Polyhedron
from jostle.errors import EmptySet, InvalidValue, NotConverged, SchemeRefuses
from jostle.laws import Coulomb
from jostle.pose import Pose
from jostle.problems import Motion, Sweeping
from jostle.result.solution import Solution
from jostle.schemes.base import Scheme
from jostle.schemes.catching_up import CatchingUp
from jostle.schemes.friction import friction_blocks
from jostle.schemes.maury import Maury
from jostle.schemes.moreau_jean import MoreauJean
from jostle.schemes.paoli import Paoli
from jostle.schemes.venel import Venel
from jostle.solvers.gauss_seidel import GaussSeidel
from jostle.solvers.project import project
from jostle.theory import assumptions, conditions
from jostle.theory.assumptions import Numbers, lowest
from jostle.theory.gaps import HERE
from jostle.theory.places import Place, Slopes, place, places, slopes, state_of
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


Step = tuple[float, bool]
"""The largest h, NaN if it is not known, and whether it is known for more than this q and t."""


def _within_c(numbers: Numbers, field: Slopes, v: float) -> Step:
    """h K_L = c."""
    speed, c = numbers.speed_of_set, lowest(numbers.gaps, "c")
    known = numbers.place.within.moving is False or (c == np.inf and speed < np.inf)
    return (np.inf if speed == 0.0 else 0.0 if speed == np.inf else c / speed), known


def _contracting(numbers: Numbers, field: Slopes, v: float) -> Step:
    """h = 2 / L."""
    return (np.inf if field.in_u == 0.0 else 2.0 / field.in_u), field.on_u is False


def _within_eta(numbers: Numbers, field: Slopes, v: float) -> Step:
    """h v + h^2 |F| = eta; for a `Sweeping` h (|U| + K_L) = eta."""
    if numbers.flat:
        return np.inf, True
    eta, known = numbers.prox_regularity, numbers.place.within.moving is False
    known = known and all(each.where != HERE for each in numbers.gaps)
    if isinstance(numbers.place.problem, Sweeping):
        speed = field.size + numbers.speed_of_set
        return (np.inf if speed == 0.0 else 0.0 if speed == np.inf else eta / speed), known
    if (v == 0.0 and field.size == 0.0) or eta == np.inf:
        return np.inf, known
    return 2.0 * eta / (v + float(np.sqrt(v * v + 4.0 * field.size * eta))), known


class Limit(NamedTuple):
    """The largest h of a scheme: in words, and from the numbers and the slopes of a place and the velocity there."""

    name: str
    scheme: Scheme
    says: str
    largest: Callable[[Numbers, Slopes, float], Step]


SECOND_ORDER = (
    Limit("Maury", Maury(), "h K_L < c", _within_c),
    Limit("Paoli", Paoli(), "h |u| + h^2 |F| < eta", _within_eta),
    Limit("Paoli, implicit", Paoli(implicit=True), "h < 2 / L", _contracting),
    Limit("MoreauJean", MoreauJean(), "every h", lambda numbers, field, v: (np.inf, True)),
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
    speed = numbers.place.metric.norm(np.nan_to_num(v).ravel()) if isinstance(problem, Motion) else 0.0
    return Section(TITLE, "", tuple(_line(each, numbers, field, speed) for each in limits))


def _line(limit: Limit, numbers: Numbers, field: Slopes, v: float) -> Line:
    name, says = limit.name, limit.says
    try:
        limit.scheme.check(numbers.place.problem)
    except SchemeRefuses as refusal:
        return Line(name, says, FAILS, str(refusal), needed=False)
    h, known = limit.largest(numbers, field, v)
    if np.isnan(h):
        return Line(name, says, UNKNOWN, "c, eta or a slope is not known", needed=False)
    if h == 0.0:
        return Line(name, says, FAILS, "no step is short enough", {"h": h}, needed=False, badness=np.inf)
    verdict, why = (HOLDS, "") if known else (UNKNOWN, f"an estimate {HERE} and t")
    return Line(name, says, verdict, why, {"h": h}, needed=False, local=not known, badness=-h)


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

    Each hypothesis holds (with its constants), fails (with a place where it does), or is not known (with what was seen,
    and what would decide it). It holds only if it is known at every q and t for which it is asked: what was seen at
    this q alone is no proof. For balls and walls much is known at every q, for constraints of the user little. Along a
    solution each line is shown at the saved time at which it is worst; contacts with a multiplier count as closed. The
    theorems do not cover friction, nor clumps: then a section of its own says what is known about each step.

    Parameters
    ----------
    problem : Motion, Sweeping or Solution
        The problem, or a solution to check along.
    q : array_like, optional
        A configuration of Q(t); not used along a solution. None: q0.
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

    def there(x: ArrayLike, time: float) -> Place:
        return place(problem, time, problem.pose0.at(finite(x, "q")).centres, rho)

    start = there(problem.q0, 0.0)
    here = start if q is None and t == 0.0 else there(problem.q0 if q is None else q, t)
    if here.outside and (q is not None or t != 0.0):
        raise InvalidValue(
            f"q is not in Q(t) at t = {here.t:g}: {here.outside}; the hypotheses are about configurations of Q(t)"
        )
    pose = problem.pose0 if q is None else problem.pose0.at(finite(q, "q"))
    return _at(here, None, _start(start, None), pose)


def _along(sol: Solution) -> Report:
    """The worst of each line along a solution."""
    start: tuple[Line, ...] = ()
    found = {}
    for k, one in places(sol, MAX_FRAMES):
        u = np.asarray(sol.u[k])
        start = start or _start(one, u)
        found[float(sol.t[k])] = _at(one, u, start, state_of(sol, k).pose)
    seen = "" if len(found) == len(sol.t) else f", at {len(found)} of {len(sol.t)} saved times"
    return worst(f"Hypotheses along the solution, t = {sol.t[0]:.4g} to {sol.t[-1]:.4g}{seen}", found)


def _at(here: Place, u: Array | None, start: tuple[Line, ...], pose: Pose) -> Report:
    """The report of one place, with the velocity u (by default v0), and the lines about the start of the motion."""
    counts = f"{len(here.closed)} of {len(here.contacts.gap)} contacts closed"
    title = f"Hypotheses at t = {here.t:.4g}: {counts}"
    friction = () if pose.orientation is None else (steps_with_friction(here, pose),)
    if here.problem.bodies.parts is not None:
        return Report(title, friction)
    numbers, field = Numbers(here), slopes(here, u)
    one_sided = (*_inequalities(here), *_without_friction(here.problem))
    sections: tuple[Section, ...]
    if isinstance(here.problem, Sweeping):
        sections = (_venel(numbers, field, start),)
    else:
        known = (_maury(numbers, field, start), _paoli_2005(numbers, field, start), _paoli_2010(numbers, field, start))
        sections = known
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
    """(A0)-(A4) and what (1.5) supposes, which both papers ask."""
    return (
        assumptions.convex(numbers),
        assumptions.not_empty(numbers),
        assumptions.smooth(numbers),
        assumptions.gradients(numbers),
        assumptions.rate(numbers),
        assumptions.turning_rate(numbers),
        assumptions.curvature(numbers),
    )


def _maury(numbers: Numbers, field: Slopes, start: tuple[Line, ...]) -> Section:
    moves, (inside, *admissible) = assumptions.moves(numbers) is not False, start
    lines = (
        *_gaps(numbers),
        assumptions.acceleration(numbers),
        assumptions.inverse_triangle(numbers, "(A6)", True, moves),
        assumptions.inverse_triangle(numbers, "(A6')", False, True),
        conditions.without_velocity(field),
        conditions.lipschitz("(1.16)", "|f(t, q) - f(t, q')| <= K_L |q - q'|", field),
        conditions.bounded("(1.17)", "|f(t, q)| <= F(t), F integrable", field),
        conditions.inelastic(numbers),
        conditions.constant_mass(numbers, "M does not depend on q (remark 4.1)"),
        inside,
        *(replace(line, needed=False) for line in admissible),  # step 6 of the proof: else u(0+) = P_C v0
        *assumptions.consequences(numbers),
    )
    return Section(MAURY, "a subsequence of Maury's scheme converges to a solution, which exists for all times", lines)


def _venel(numbers: Numbers, field: Slopes, start: tuple[Line, ...]) -> Section:
    moves = assumptions.moves(numbers) is not False
    lines = (
        *_gaps(numbers),
        assumptions.inverse_triangle(numbers, "(A5)", True, moves),
        assumptions.inverse_triangle(numbers, "(A5')", False, True),
        conditions.integrable("(13)", "U(., q) is Riemann-integrable in t", field),
        conditions.lipschitz("(14)", "|U(t, q) - U(t, q')| <= K |q - q'|", field),
        conditions.bounded("(15)", "|U(t, q)| <= L (1 + |q|)", field),
        *start,
        *assumptions.consequences(numbers),
    )
    return Section(VENEL, "there is one solution, and Venel's scheme converges to it", lines)


def _paoli_2005(numbers: Numbers, field: Slopes, start: tuple[Line, ...]) -> Section:
    lines = (
        conditions.force(field, lipschitz=True),
        conditions.convex_set(numbers),
        conditions.independent(numbers),
        conditions.consistent("(H4)", field, implicit=True),
        conditions.obtuse(numbers),
        conditions.inelastic(numbers),
        conditions.constant_mass(numbers, "M does not depend on q: the equation is u'' = f"),
        conditions.at_rest(numbers),
        *start,
    )
    return Section(PAOLI_2005, "a subsequence of Paoli's scheme converges, and the limit obeys the impact law", lines)


def _paoli_2010(numbers: Numbers, field: Slopes, start: tuple[Line, ...]) -> Section:
    lines = (
        conditions.force(field, lipschitz=False),
        conditions.gradients(numbers),
        conditions.independent(numbers),
        conditions.mass(numbers),
        conditions.consistent("(H5)", field, implicit=False),
        conditions.orthogonal(numbers),
        conditions.one_restitution(numbers),
        conditions.at_rest(numbers),
        *start,
    )
    return Section(PAOLI_2010, "a subsequence of Paoli's scheme converges to a solution, on some interval", lines)


def _start(here: Place, u: Array | None) -> tuple[Line, ...]:
    """The lines whether the start is in Q, and for a `Motion` whether its velocity is admissible."""
    inside = Line("q0", "q0 in Q", FAILS if here.outside else HOLDS, here.outside)
    if not isinstance(here.problem, Motion):
        return (inside,)
    says = "q0 in the interior of Q, or v0 in the cone of admissible velocities"
    if here.outside:
        return inside, Line("start", says, FAILS, "q0 is not in Q")
    if len(here.closed) == 0:
        return inside, Line("start", says, HOLDS, "no contact is closed")
    v = here.problem.v0 if u is None else np.nan_to_num(u)
    v = v if here.problem.bodies.parts is None else np.zeros_like(here.q)
    chosen = here.contacts.only(here.closed)
    rate = chosen.G @ v.ravel() + Numbers(here).of_time.first[here.closed]
    row = int(np.argmin(rate))
    values = {"lowest gap rate": float(rate[row])}
    if rate[row] >= -ADMISSIBLE_TOLERANCE * float(chosen.G.magnitude(v.ravel())[row]):
        return inside, Line("start", says, HOLDS, "", values)
    return inside, Line("start", says, FAILS, f"{chosen.describe(row)} approach: u(0+) is not v0", values)


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


def steps_with_friction(here: Place, pose: Pose) -> Section:
    """What is known about a step from a place, for bodies that turn."""
    assert isinstance(here.problem, Motion)
    chosen = here.contacts.only(here.closed[here.contacts.pairs[here.closed, 0] >= 0])
    if len(chosen.gap) == 0:
        exists, unique = Line("existence", EXISTS, HOLDS, "no contact is closed", badness=-np.inf), True
    else:
        rubbing = here.problem.law if isinstance(here.problem.law, Coulomb) else Coulomb(0.0)
        G, cones = friction_blocks(rubbing, replace(chosen, pose=pose), here.t)
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
