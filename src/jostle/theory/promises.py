"""Check a posteriori whether a solution satisfies the inclusion that the theorems promise.

    q(t) in Q(t),    M du = f dt + G^T dp,    p >= 0,    supp p_i in {t : g_i(t, q(t)) = 0},    u+ = P_C u- - e P_N u-

Bernicot & Lefebvre-Lepot 2010 (1.10), Paoli 2010 (P1)-(P4), Venel 2009 (5), (23). The checks use what was saved, the
set, the force and the law, not the scheme's own residuals.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from jostle._tools.arguments import check_arguments
from jostle._tools.arrays import Array, Booleans, Integers
from jostle.analysis.forces import coefficients
from jostle.contacts import Contacts, by_pair
from jostle.convex.metric import Metric, metric
from jostle.convex.polyhedron import Cone
from jostle.errors import InvalidValue, NotApproaching
from jostle.laws import Coulomb, impact
from jostle.problems import Motion, Sweeping
from jostle.result.solution import Solution
from jostle.run.refinement import SAME_TIME
from jostle.schemes.catching_up import CatchingUp
from jostle.schemes.maury import Maury
from jostle.schemes.moreau_jean import MoreauJean
from jostle.schemes.paoli import Paoli
from jostle.sets.presence import Presence
from jostle.theory.overlaps import OVERLAP_TOLERANCE, Overlap, overlaps, relative_speeds, size_of
from jostle.theory.places import one_sided, place, position, restitution
from jostle.theory.report import FAILS, HOLDS, UNKNOWN, Line, Report, Section

# The steps of a solution, one by one: what the checks of the inclusion look at.
#
# From the saved velocities, multipliers and normals follows for each step from t^n to t^{n+1} the impulse of the
# contacts, J = G^T p, and that of the forces. All steps must have been saved.


@dataclass(frozen=True, eq=False)
class Taken:
    """One step of a solution, with flat arrays."""

    k: int
    """The number of the frame that it led to."""
    h: float
    before: Array
    """u^n, or the desired velocity U(t^n, q^n) of a `Sweeping`."""
    after: Array
    """u^{n+1}."""
    reaction: Array
    """J = G^T p."""
    driving: Array | None
    """The impulse of the forces, h f; zero for a `Sweeping`, None if the forces are not known."""
    metric: Metric

    @property
    def imbalance(self) -> float:
        """|M (u^{n+1} - u^n) - h f - G^T p| in the dual norm of M."""
        rest = self.metric.times(self.after - self.before) - self.reaction
        rest = rest if self.driving is None else rest - self.driving
        return self.metric.norm(self.metric.solve(rest))

    @property
    def size(self) -> float:
        """The impulses that the imbalance is compared with."""
        parts = [self.reaction, np.zeros(1)[:0] if self.driving is None else self.driving]
        dual = [self.metric.norm(self.metric.solve(part)) for part in parts if part.size]
        return sum(dual) + self.metric.norm(self.after - self.before)

    @property
    def work(self) -> float:
        """The work of the contacts, J . (u^n + u^{n+1}) / 2."""
        return float(self.reaction @ (self.before + self.after)) / 2.0


def why_not(sol: Solution) -> str:
    """Why the steps of a solution are not known; empty if they are."""
    if not sol.contacts_saved:
        return "the file contains no contacts: save them with jo.io.Output(path, contacts=True)"
    ends = sol.stats["t"]
    if len(ends) != len(sol.t) - 1 or not np.allclose(ends, sol.t[1:], rtol=0.0, atol=SAME_TIME * np.ptp(sol.t)):
        return f"only {len(sol.t) - 1} of {len(ends)} steps were saved: leave out every="
    if sol.order == 0:
        return "the file does not say of which order its problem is"
    return ""


def taken(sol: Solution) -> Iterator[Taken]:
    """All steps of a solution of which `why_not` has no objection."""
    q, u = np.asarray(sol.q), np.asarray(sol.u)
    for k in range(1, len(sol.t)):
        here = np.isfinite(q[k - 1]) & np.isfinite(q[k])  # who came in or left in this step is left out
        there = _placed(sol, q[k - 1])
        J, M = impulse(sol, k), _metric(sol, there)
        before, driving, M = _start(sol, k, there, u[k - 1], u[k], M)
        mask = here.ravel()
        yield Taken(
            k,
            float(sol.stats["h"][k - 1]),
            np.where(mask, before.ravel(), 0.0),
            np.where(mask, u[k].ravel(), 0.0),
            np.where(mask, J.ravel(), 0.0),
            None if driving is None else np.where(mask, driving.ravel(), 0.0),
            M,
        )


def impulse(sol: Solution, k: int) -> Array:
    """G^T p of the step that led to frame k, in the shape of q."""
    p, pairs, normals = np.asarray(sol.multipliers[k]), np.asarray(sol.pairs[k]), np.asarray(sol.normals[k])
    J = np.zeros(sol.q.shape[1:])
    if not p.any():
        return J
    if normals.ndim == 2 and normals.shape[1] and J.size % normals.shape[1] == 0:
        bodies, made_of = J.reshape(-1, normals.shape[1]), sol.problem.bodies.parts if sol.problem else None
        owner = np.arange(len(bodies)) if made_of is None else made_of.owner
        push = p[:, None] * normals + (0.0 if sol.tangential is None else np.asarray(sol.tangential[k]))
        np.add.at(bodies, owner[pairs[:, 0]], -push)
        two = pairs[:, 1] >= 0
        np.add.at(bodies, owner[pairs[two, 1]], push[two])
        return J
    if not isinstance(sol.problem, Motion | Sweeping):
        raise InvalidValue("the gradients are not in the file: give the problem, jo.io.read(path, problem)")
    contacts = sol.problem.within.linearise(*_linearised_at(sol, k))
    return contacts.G.adjoint(by_pair(pairs, p, contacts.pairs)).reshape(J.shape)


def _linearised_at(sol: Solution, k: int) -> tuple[float, Array]:
    """The time and place at which the scheme linearised the constraints of the step that led to frame k."""
    if isinstance(sol.scheme, CatchingUp | Paoli):
        return float(sol.t[k - 1] if isinstance(sol.scheme, Paoli) else sol.t[k]), position(sol, k)
    before = np.asarray(sol.q[k - 1], dtype=float)
    if isinstance(sol.scheme, MoreauJean):  # at midpoints
        h = float(sol.stats["h"][k - 1])
        return float(sol.t[k - 1]) + h / 2.0, before + h / 2.0 * np.asarray(sol.u[k - 1])
    return float(sol.t[k]), before


def _placed(sol: Solution, q: Array) -> Array:
    """q with those who are not there put aside, as in the run."""
    here = np.isfinite(q)
    if here.all() or not isinstance(sol.problem, Motion | Sweeping):
        return q
    return Presence.of(q, here.all(axis=1), sol.problem.bodies.largest).placed(q)


def _metric(sol: Solution, q: Array) -> Metric:
    if isinstance(sol.problem, Motion | Sweeping):
        return sol.problem.metric(q)
    if sol.facts.masses is not None:
        return metric(np.repeat(sol.facts.masses, q.size // len(sol.facts.masses)), (q.size,))
    if sol.order == 1 and not sol.facts.weighted:
        return metric(1.0, q.shape)
    raise InvalidValue("the masses are not in the file: give the problem, jo.io.read(path, problem)")


def _start(sol: Solution, k: int, q: Array, u: Array, u_next: Array, M: Metric) -> tuple[Array, Array | None, Metric]:
    """The velocity before the step, the impulse of the forces in it, and the metric of its projection."""
    problem, scheme, t = sol.problem, sol.scheme, float(sol.t[k - 1])
    if sol.order == 1:
        if not isinstance(problem, Sweeping):
            raise InvalidValue("the desired velocity is not in the file: give the problem, jo.io.read(path, problem)")
        return problem.velocity(t, q), np.zeros_like(q), M
    known = None if sol.impulse_times is None else float(sol.impulse_times[k])
    h = float(sol.stats["h"][k - 1]) if known is None or not np.isfinite(known) else known
    if not isinstance(problem, Motion):
        constant = sol.facts.force
        return u, None if constant is None else h * np.broadcast_to(constant, q.shape), M
    if isinstance(scheme, Maury | MoreauJean):
        predicted, M = scheme.predict(problem, t, q, u, h)
        return u, M.times((predicted - u).ravel()).reshape(q.shape), M
    implicit = isinstance(scheme, Paoli) and scheme.implicit
    return u, h * problem.force(t, q, (u + u_next) / 2.0 if implicit else u), M


# Check whether a solution obeys the impact law at its impacts, u+ = P_C u- - e P_N u-, Paoli 2010 (2).
#
# An impact is a step in which contacts close that were open. The schemes take two steps for it, so u- is the velocity
# before the first one and u+ that after the second; what the forces do in these two steps is added to u-. C is the cone
# of all contacts that are closed then. Impacts that follow one another from step to step cannot be told apart.


SAYS = "u+ = P_C u- - e P_N u- at each impact"
LAW_TOLERANCE = 1e-6
"""Residuals of the law up to this fraction of the jump are round-off, and so are jumps up to this one of the speeds."""
FIRST_ORDER = 1.5
"""The velocity after an impact may miss the law by this many times h (v^2 / R + |a|): normals turn, and forces act."""
SMALLEST_SPEED = 1e-10
"""Jumps up to this fraction of the fastest velocities of a run are round-off."""
SMALLEST_JUMP = 6.0
"""A jump that is smaller than this many times what the forces do in one step belongs to a contact at rest."""


class Residual(NamedTuple):
    """How far the velocity after an impact is from that of the law, relative to the jump."""

    worst: float
    allowed: float
    t: float
    name: str


def impact_law(sol: Solution, steps: list[Taken]) -> Line:
    """The worst residual of the impact law over all impacts."""
    problem = sol.problem
    if not isinstance(problem, Motion):
        return Line("impact law", SAYS, UNKNOWN, "the law is not in the file: jo.io.read(path, problem)")
    if problem.bodies.turn:
        return Line("impact law", SAYS, UNKNOWN, "bodies turn, and the law has friction: see the line friction")
    if restitution(problem) is None:
        return Line("impact law", SAYS, UNKNOWN, "contacts have different restitution coefficients")
    if problem.within.moving is not False:
        return Line("impact law", SAYS, UNKNOWN, "the set moves, or does not declare that it is at rest")
    closing = np.array([k > 0 and len(fresh(sol, k)) > 0 for k in range(len(sol.t))])
    alone = _alone(closing)
    fastest = max((step.metric.norm(step.before) for step in steps), default=0.0)
    found = [one for k in alone if (one := _residual(sol, problem, steps, k, fastest)) is not None]
    if not found and closing.sum() > len(alone):
        why = "contacts close in one step after the other, so that impacts cannot be told apart: take shorter steps"
        return Line("impact law", SAYS, UNKNOWN, why, {"impacts": 0.0})
    if not found:
        return Line("impact law", SAYS, HOLDS, "there was no impact", {"impacts": 0.0})
    bad = max(found, key=lambda one: one.worst / one.allowed)
    values = {"impacts": float(len(found)), "residual / jump": bad.worst, "allowed": bad.allowed}
    where = f"worst at t = {bad.t:.4g}, {bad.name}"
    return Line("impact law", SAYS, HOLDS if bad.worst <= bad.allowed else FAILS, where, values)


def fresh(sol: Solution, k: int) -> Integers:
    """The pairs that carry an impulse in the step that led to frame k and did not in the step before; no equalities."""
    now, before = (pairs[p != 0.0] for p, pairs in (one_sided(sol, j) for j in (k, k - 1)))
    new: Integers = now[by_pair(before, np.ones(len(before)), now) == 0.0] if len(now) else now
    return new


def _alone(closing: Booleans) -> list[int]:
    """The frames after whose step contacts have closed, and none closed in the steps beside it."""
    beside = np.zeros(len(closing) + 2, dtype=bool)
    beside[1:-1] = closing
    alone = closing & ~beside[:-2] & ~beside[2:]
    alone[-1:] = False  # the second step of the impact is missing
    return [int(k) for k in np.flatnonzero(alone)]


def _residual(sol: Solution, problem: Motion, steps: list[Taken], k: int, fastest: float) -> Residual | None:
    """The residual of the impact in the steps that led to frames k and k + 1; None if the jump is too small.

    It is too small beside the velocities before it, beside the forces, or beside the fastest velocities of the run.
    """
    first, second = steps[k - 1], steps[k]
    touching = np.concatenate([np.asarray(sol.pairs[j])[np.asarray(sol.multipliers[j]) != 0.0] for j in (k, k + 1)])
    here = place(problem, float(sol.t[k]), position(sol, k), touching=touching)
    M, closed = here.metric, here.bound
    forces = [np.zeros_like(first.before) if one.driving is None else one.driving for one in (first, second)]
    gained = M.solve(forces[0] + forces[1])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotApproaching)
        cone = Cone(closed.G, describe=closed.describe, equal=closed.equal)
        law = impact(first.before + gained, cone, law=problem.law, mass=M).velocity
    jump = M.norm(law - first.before)
    noise = max(LAW_TOLERANCE * M.norm(first.before), SMALLEST_SPEED * fastest)
    if jump <= max(SMALLEST_JUMP * M.norm(gained) / 2.0, noise):
        return None
    turned = first.h * _turning(closed, M, first.before, second.after)
    allowed = LAW_TOLERANCE + FIRST_ORDER * (M.norm(gained) + turned) / jump
    row = int(np.argmin(closed.G @ first.before))
    return Residual(M.norm(second.after - law) / jump, allowed, float(sol.t[k]), closed.describe(row))


def _turning(closed: Contacts, M: Metric, before: Array, after: Array) -> float:
    """v^2 / R: the acceleration that turning normals give to bodies that slide past each other at v; 0 for planes."""
    bends = closed.curvatures
    unknown = np.divide(1.0, closed.length, out=np.zeros(len(bends)), where=closed.length > 0.0)
    speed = np.maximum(relative_speeds(closed, before), relative_speeds(closed, after))
    rates = speed**2 * np.abs(np.where(np.isnan(bends), unknown, bends)) / closed.G.norms(M)
    return float(rates.max(initial=0.0))


BALANCE_TOLERANCE = 1e-6
"""An imbalance up to this fraction of the impulses is round-off and the tolerance of the solver."""
ROUND_OFF = 16.0 * float(np.finfo(float).eps)
"""Round-off of velocities, as a fraction of themselves and of places over h."""
FILE_TOLERANCE = 1e-3
"""BALANCE_TOLERANCE of solutions from files, which contain numbers in single precision."""
ENERGY_FIRST_ORDER = 2.0
"""Contacts may give this many times |h a| / |u| of the largest kinetic energy, a the acceleration by forces."""

GAIN_TOLERANCE = 1e-4
"""Friction beyond its limit, and energy that contacts give, up to these fractions are the tolerance of the solver."""
MOBILISED = 1e-3
"""A contact is mobilised, |p_T| = mu p_n, up to this fraction."""


@check_arguments
def promises(solution: Solution, problem: Motion | Sweeping | None = None) -> Report:
    """Check whether a solution satisfies the inclusion that the theorems promise, with residuals.

    Checked are feasibility between the nodes, the sign and support of the multipliers, the balance of momentum, the
    impact law at each impact, the work of the contacts, and the total variation of the velocity; with friction, that
    each tangential impulse is within its limit. Where steps were not saved (``every=``), what happened in between
    cannot be checked.

    Parameters
    ----------
    solution : Solution
        The solution.
    problem : Motion or Sweeping, optional
        Its problem, for a solution that was read from a file without it. None: that of the solution.

    Returns
    -------
    Report
        One line for each check.

    Examples
    --------
    >>> import jostle as jo
    >>> ball = jo.Motion(q0=[1.0], force=[-9.81], within=jo.HalfSpace([1.0]), law=jo.Restitution(0.8))
    >>> report = jo.theory.promises(jo.solve(ball, jo.Paoli(), t=1.0, h=0.01))
    >>> [line.verdict for line in report]
    ['holds', 'holds', 'holds', 'holds', 'holds', 'holds', 'holds']
    >>> report["impact law"].values["impacts"]
    1.0
    """
    if problem is not None:
        solution = _with(solution, problem)
    missing = why_not(solution)
    steps = [] if missing else _steps(solution)
    second = solution.order != 1
    lines = [_feasible(solution, missing), _signs(solution), _support(solution), _momentum(solution, steps, missing)]
    if second:
        law = impact_law(solution, steps) if steps else Line("impact law", "u+ = P_C u- - e P_N u-", UNKNOWN, missing)
        if solution.tangential is not None and isinstance(solution.problem, Motion):
            lines.append(_friction(solution, solution.problem))
        lines += [law, _energy(solution, steps, missing)]
    lines.append(_variation(solution, steps, missing))
    source = "Bernicot & Lefebvre-Lepot 2010 (1.10), Paoli 2010 (P)" if second else "Venel 2009 (5)"
    title = f"Promises, t = {solution.t[0]:.4g} to {solution.t[-1]:.4g}, {len(solution.stats)} steps"
    return Report(title, (Section(source, "the solution satisfies the inclusion", tuple(lines), asked=False),))


def _with(sol: Solution, problem: Motion | Sweeping) -> Solution:
    if not isinstance(problem, Motion | Sweeping):
        raise InvalidValue(f"problem must be a jo.Motion or a jo.Sweeping, not {problem!r}")
    if problem.q0.shape != sol.q.shape[1:]:
        raise InvalidValue(f"q of the solution has the shape {sol.q.shape[1:]}, that of the problem {problem.q0.shape}")
    return replace(sol, problem=problem)


def _steps(sol: Solution) -> list[Taken]:
    """The steps; none if the file does not say enough."""
    if not isinstance(sol.problem, Motion | Sweeping) and (sol.order == 1 or sol.facts.masses is None):
        return []
    return list(taken(sol))


def _longest_way(sol: Solution) -> float:
    """h |u|: the longest way of a body in one step."""
    h = float(sol.stats["h"].max(initial=0.0))
    u = np.nan_to_num(np.asarray(sol.u))
    return h * float(np.linalg.norm(u.reshape(len(u), -1, u.shape[-1]), axis=2).max(initial=0.0))


def _feasible(sol: Solution, missing: str) -> Line:
    """q_h(t) in Q(t), at the nodes and between them."""
    says = "q(t) in Q(t), between the nodes too"
    if not isinstance(sol.problem, Motion | Sweeping):
        return Line("feasible", says, UNKNOWN, "the set is not in the file: jo.io.read(path, problem)")
    worst = Overlap(0.0, OVERLAP_TOLERANCE, "") if len(sol.t) == 1 else max(overlaps(sol, missing), key=Overlap.excess)
    where = worst.where if worst.depth > 0.0 else ""
    detail = "; ".join(text for text in (where, missing and f"at the saved times only: {missing}") if text)
    verdict = HOLDS if worst.depth <= worst.allowed else FAILS
    return Line("feasible", says, verdict, detail, {"overlap": worst.depth, "allowed": worst.allowed})


def _signs(sol: Solution) -> Line:
    """p >= 0."""
    says = "p >= 0"
    if not sol.contacts_saved:
        return Line("p >= 0", says, UNKNOWN, why_not(sol))
    lowest = [float(np.min(one_sided(sol, k)[0], initial=0.0)) for k in range(len(sol.t))]
    largest = max(float(np.max(np.abs(sol.multipliers[k]), initial=0.0)) for k in range(len(sol.t)))
    k = int(np.argmin(lowest))
    verdict = HOLDS if -lowest[k] <= BALANCE_TOLERANCE * largest else FAILS
    detail = "" if verdict == HOLDS else f"p = {lowest[k]:.3g} at t = {sol.t[k]:.4g}"
    return Line("p >= 0", says, verdict, detail, {"smallest / largest": lowest[k] / (largest or 1.0)})


def _support(sol: Solution) -> Line:
    """Multipliers are positive only where the gap is zero."""
    says = "p_i > 0 only where g_i = 0"
    if not isinstance(sol.problem, Motion | Sweeping) or not sol.contacts_saved:
        return Line("support", says, UNKNOWN, "the gaps are not in the file: jo.io.read(path, problem)")
    largest = max(float(np.max(sol.multipliers[k], initial=0.0)) for k in range(len(sol.t)))
    worst, where = 0.0, ""
    for k in range(1, len(sol.t)):
        p, pairs = one_sided(sol, k)
        x = position(sol, k)
        loaded = pairs[p > BALANCE_TOLERANCE * largest]
        if not np.isfinite(x).all():  # who left after the step has no gap any more
            there = np.asarray(np.isfinite(x).all(axis=1))
            loaded = loaded[there[loaded[:, 0]] & ((loaded[:, 1] < 0) | there[np.maximum(loaded[:, 1], 0)])]
        if len(loaded) == 0:
            continue
        here = place(sol.problem, float(sol.t[k]), x, rho=_longest_way(sol) or None, touching=loaded)
        rate = np.where(here.contacts.pairs[:, 0] >= 0, 1.0, size_of(here.contacts))  # gaps of the user have any unit
        open_by = (here.contacts.gap - here.contacts.tolerance()) / rate  # round-off of the gap is no gap
        gap = by_pair(here.contacts.pairs, open_by, loaded, np.inf)
        row = int(np.argmax(gap))
        if gap[row] > worst:
            worst, where = float(gap[row]), f"widest at t = {sol.t[k]:.4g}, pair {tuple(loaded[row].tolist())}"
    allowed = _longest_way(sol)
    return Line("support", says, HOLDS if worst <= allowed else FAILS, where, {"gap": worst, "allowed": allowed})


def _momentum(sol: Solution, steps: list[Taken], missing: str) -> Line:
    """M du = f dt + G^T dp, step by step."""
    second = sol.order != 1
    says = "M (u^{n+1} - u^n) = h f + G^T p" if second else "M (u - U) = G^T p"
    if not steps or any(step.driving is None for step in steps):
        return Line("momentum", says, UNKNOWN, missing or "masses or forces are not in the file: give the problem")
    size = max(max(step.size, _round_off(sol, step) / BALANCE_TOLERANCE) for step in steps)
    worst = max(steps, key=lambda step: step.imbalance)
    residual = worst.imbalance / (size or 1.0)
    allowed = BALANCE_TOLERANCE if sol.radii is None else FILE_TOLERANCE
    detail = "" if residual <= allowed else f"worst at t = {sol.t[worst.k]:.4g}"
    values = {"residual": residual, "allowed": allowed}
    return Line("momentum", says, HOLDS if residual <= allowed else FAILS, detail, values)


def _round_off(sol: Solution, step: Taken) -> float:
    """The round-off of the velocities of a step, which some schemes compute from places."""
    q = np.nan_to_num(np.asarray(sol.q[step.k], dtype=float)).ravel()
    return ROUND_OFF * (step.metric.norm(step.after) + step.metric.norm(q) / step.h)


def _energy(sol: Solution, steps: list[Taken], missing: str) -> Line:
    """Contacts at rest take energy and never give any; with e = 1 they take none."""
    says = "contacts do no positive work"
    if not steps:
        return Line("energy", says, UNKNOWN, missing or "the masses are not in the file: give the problem")
    if isinstance(sol.problem, Motion) and sol.problem.within.moving is not False:
        return Line("energy", says, UNKNOWN, "the set may move: contacts may do work")
    kinetic = max(0.5 * max(step.metric.norm(step.after), step.metric.norm(step.before)) ** 2 for step in steps)
    if sol.spin is not None:
        return _energy_with_spins(sol, max(kinetic, float(sol.energy().kinetic.max())))
    impacts = np.array([len(fresh(sol, step.k)) > 0 for step in steps])
    inside = impacts if sol.scheme is None or isinstance(sol.scheme, Paoli) else np.zeros_like(impacts)  # of two steps
    taken_up = np.cumsum([step.work for step in steps])[~inside]
    rise = taken_up - np.minimum.accumulate(np.append(0.0, taken_up))[:-1] if len(taken_up) else np.zeros(1)
    k, gain, lost = int(np.argmax(rise)), float(rise.max()), -float(taken_up[-1]) if len(taken_up) else 0.0
    elastic = isinstance(sol.problem, Motion) and restitution(sol.problem) == 1.0
    each = (BALANCE_TOLERANCE + ENERGY_FIRST_ORDER * _per_step(steps)) * kinetic
    most = (1.0 + impacts.sum()) * each
    if gain > each or (elastic and lost > most):  # else it does not matter how normals turn
        turned = sum(_work_of_turning(sol, steps, int(j)) for j in np.flatnonzero(inside))
        each, most = each + turned, most + turned
    worst = f"worst at t = {sol.t[steps[int(np.flatnonzero(~inside)[k])].k]:.4g}" if gain > each else ""
    scale = kinetic or 1.0
    values = {"taken": lost, "largest gain / kinetic": gain / scale, "allowed": each / scale}
    if elastic and lost > most:
        values["allowed"] = most / scale
        return Line("energy", says, FAILS, "energy is lost although e = 1", values)
    return Line("energy", says, FAILS if worst else HOLDS, worst, values)


def _work_of_turning(sol: Solution, steps: list[Taken], j: int) -> float:
    """What the work of an impact, whose first step is steps[j], may differ by because its normals turn meanwhile.

    Paoli's impact has an impulse in each of two steps, along the normals n and n' there. With one normal it obeys the
    law; with two, an impulse p of the second step has the direction n' for n, and works p |n' - n| |v| more or less at
    most, v the relative velocity of the surfaces.
    """
    if not isinstance(sol.problem, Motion) or sol.problem.law.uniform == 0.0 or j + 1 == len(steps):
        return 0.0
    both, units = (steps[j].k, steps[j + 1].k), []
    p = np.concatenate([np.asarray(sol.multipliers[k]) for k in both])
    pairs = np.concatenate([np.asarray(sol.pairs[k]) for k in both])[p != 0.0]
    speed = np.zeros(len(pairs))
    for k, u in zip(both, (steps[j].before, steps[j + 1].after), strict=True):
        contacts = place(sol.problem, float(sol.t[k]), position(sol, k), touching=pairs).contacts
        rows = by_pair(contacts.pairs, np.arange(len(contacts.gap), dtype=float), pairs, np.nan)
        known = np.isfinite(rows)
        chosen = contacts.only(np.where(known, rows, 0).astype(int))
        units.append(np.where(known[:, None], chosen.G.toarray() / size_of(chosen)[:, None], np.nan))
        speed = np.maximum(speed, relative_speeds(chosen, u))
    turned = np.nan_to_num(np.linalg.norm(units[1] - units[0], axis=1))
    return float((np.abs(p[p != 0.0]) * speed * turned).sum())


def _energy_with_spins(sol: Solution, kinetic: float) -> Line:
    """The energy that contacts took from velocities and spins together, as each step recorded it."""
    taken_up = np.cumsum(sol.stats["dissipated"])
    highest = np.maximum.accumulate(np.append(0.0, taken_up))[1:]  # the first impact may create energy, too
    rise = float(np.max(highest - taken_up, initial=0.0)) / (kinetic or 1.0)
    values = {"taken": float(taken_up[-1]) if len(taken_up) else 0.0, "largest gain / kinetic": rise}
    verdict = HOLDS if rise <= GAIN_TOLERANCE else FAILS
    return Line("energy", "contacts take energy, from velocities and spins together", verdict, "", values)


def _friction(sol: Solution, problem: Motion) -> Line:
    """|p_T| <= mu p_n in each contact."""
    assert sol.tangential is not None
    says, law = "|p_T| <= mu p_n", problem.law if isinstance(problem.law, Coulomb) else Coulomb(0.0)
    if not sol.contacts_saved:
        return Line("friction", says, UNKNOWN, why_not(sol))
    largest = max(float(np.max(sol.multipliers[k], initial=0.0)) for k in range(len(sol.t))) or 1.0
    worst, where, mobilised = 0.0, "", 0
    for k in range(1, len(sol.t)):
        touching = np.asarray(sol.pairs[k])[:, 0] >= 0
        p, pairs = np.asarray(sol.multipliers[k])[touching], np.asarray(sol.pairs[k])[touching]
        if len(p) == 0:
            continue
        length = np.linalg.norm(np.asarray(sol.tangential[k])[touching], axis=1)
        limit = coefficients(law, pairs) * p
        beyond = (length - limit) / largest
        mobilised += int(((length >= (1.0 - MOBILISED) * limit) & (limit > BALANCE_TOLERANCE * largest)).sum())
        row = int(np.argmax(beyond))
        if beyond[row] > worst:
            worst, where = float(beyond[row]), f"worst at t = {sol.t[k]:.4g}, pair {tuple(pairs[row].tolist())}"
    values = {"beyond / largest p": worst, "mobilised": float(mobilised)}
    return Line("friction", says, HOLDS if worst <= GAIN_TOLERANCE else FAILS, where, values)


def _per_step(steps: list[Taken]) -> float:
    """How much the forces change the velocities in one step, relative to the largest velocity."""
    speed = max(max(step.metric.norm(step.after), step.metric.norm(step.before)) for step in steps)
    pushes = [step.metric.norm(step.metric.solve(step.driving)) for step in steps if step.driving is not None]
    return max(pushes, default=0.0) / (speed or 1.0)


def _variation(sol: Solution, steps: list[Taken], missing: str) -> Line:
    """The total variation of the velocity, which stays bounded as h -> 0 (Prop. 2.4)."""
    says = "Var(u) is finite; that it stays bounded as h -> 0 needs several runs: jo.theory.convergence"
    u: Array = np.nan_to_num(np.asarray(sol.u)).reshape(len(sol.t), -1)
    if not steps:
        return Line("variation", says, UNKNOWN, missing or "the masses are not in the file: give the problem")
    jumps = [step.metric.norm(u[step.k] - u[step.k - 1]) for step in steps]
    return Line("variation", says, HOLDS, "", {"Var(u)": float(np.sum(jumps))})
