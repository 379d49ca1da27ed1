"""Check a posteriori whether a solution satisfies the inclusion that the theorems promise.

    q(t) in Q(t),    M du = f dt + G^T dp,    p >= 0,    supp p_i in {t : g_i(t, q(t)) = 0},    u+ = P_C u- - e P_N u-

Bernicot & Lefebvre-Lepot 2010 (1.10), Paoli 2010 (P1)-(P4), Venel 2009 (5), (23). The checks use what was saved, the
set, the force and the law, not the scheme's own residuals.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from jostle.arguments import check_arguments
from jostle.arrays import Array
from jostle.errors import InvalidValue
from jostle.problems import Motion, Sweeping
from jostle.schemes.base import Scheme
from jostle.sets.contacts import by_pair
from jostle.solution import Solution
from jostle.theory.impact_law import fresh, impact_law
from jostle.theory.places import one_sided, place, position, restitution
from jostle.theory.report import FAILS, HOLDS, UNKNOWN, Line, Report, Section
from jostle.theory.steps_taken import Taken, taken, why_not

BALANCE_TOLERANCE = 1e-6
"""An imbalance up to this fraction of the impulses is round-off and the tolerance of the solver."""
FILE_TOLERANCE = 1e-3
"""BALANCE_TOLERANCE of solutions from files, which contain numbers in single precision."""
OVERLAP_TOLERANCE = 1e-6
"""Overlaps up to this fraction of the smallest radius are round-off and the tolerance of the solver."""
BETWEEN = (0.25, 0.5, 0.75, 1.0)
"""Fractions of each step at which the gaps are checked."""
ENERGY_FIRST_ORDER = 2.0
"""Contacts may give this many times |h a| / |u| of the largest kinetic energy, a the acceleration by forces."""


@check_arguments
def promises(solution: Solution, problem: Motion | Sweeping | None = None) -> Report:
    """Check whether a solution satisfies the inclusion that the theorems promise, with residuals.

    Checked are feasibility between the nodes, the sign and support of the multipliers, the balance of momentum, the
    impact law at each impact, the work of the contacts, and the total variation of the velocity. Where steps were not
    saved (``every=``), what happened in between cannot be checked.

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

    Raises
    ------
    InvalidValue
        If `problem` does not fit the solution, or a file does not hold what a check needs.

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
    within, q, worst, where = sol.problem.within, np.asarray(sol.q, dtype=float), 0.0, ""
    for k in range(1, len(sol.t)):
        for part in (1.0,) if missing else BETWEEN:
            t = float((1.0 - part) * sol.t[k - 1] + part * sol.t[k])
            x = (1.0 - part) * q[k - 1] + part * q[k]
            here = place(sol.problem, t, x) if not np.isfinite(x).all() else None
            depth = float((within if here is None else here.within).overlap(t, x if here is None else here.q))
            if depth > worst:
                worst, where = depth, f"deepest at t = {t:.4g}"
    promised = isinstance(sol.scheme, Scheme) and sol.scheme.linearises and within.convex_gaps is True
    exact = promised and within.moving is False
    length = within.linearise(float(sol.t[0]), np.nan_to_num(q[0]), 0.0).smallest_length() if len(q) else None
    radii = within.radii_at(float(sol.t[0]))
    length = float(radii[radii > 0.0].min(initial=np.inf)) if (radii > 0.0).any() else length
    allowed = OVERLAP_TOLERANCE + (0.0 if exact else _longest_way(sol) / (length or 1.0))
    note = "" if not missing else f"at the saved times only: {missing}"
    detail = "; ".join(text for text in (where, note) if text)
    return Line("feasible", says, HOLDS if worst <= allowed else FAILS, detail, {"overlap": worst, "allowed": allowed})


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
        open_by = here.contacts.gap - here.contacts.tolerance()  # round-off of the gap is no gap
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
    size = max(step.size for step in steps)
    worst = max(steps, key=lambda step: step.imbalance)
    residual = worst.imbalance / (size or 1.0)
    allowed = BALANCE_TOLERANCE if sol.radii is None else FILE_TOLERANCE
    detail = "" if residual <= allowed else f"worst at t = {sol.t[worst.k]:.4g}"
    values = {"residual": residual, "allowed": allowed}
    return Line("momentum", says, HOLDS if residual <= allowed else FAILS, detail, values)


def _energy(sol: Solution, steps: list[Taken], missing: str) -> Line:
    """Contacts at rest take energy and never give any; with e = 1 they take none."""
    says = "contacts do no positive work"
    if not steps:
        return Line("energy", says, UNKNOWN, missing or "the masses are not in the file: give the problem")
    if isinstance(sol.problem, Motion) and sol.problem.within.moving is not False:
        return Line("energy", says, UNKNOWN, "the set may move: contacts may do work")
    kinetic = max(0.5 * max(step.metric.norm(step.after), step.metric.norm(step.before)) ** 2 for step in steps)
    inside = np.array([len(fresh(sol, step.k)) > 0 for step in steps])  # an impact takes two steps
    taken_up = np.cumsum([step.work for step in steps])[~inside]
    rise = taken_up - np.minimum.accumulate(np.append(0.0, taken_up))[:-1] if len(taken_up) else np.zeros(1)
    k = int(np.argmax(rise))
    gain = float(rise[k]) / (kinetic or 1.0)
    allowed = BALANCE_TOLERANCE + ENERGY_FIRST_ORDER * _per_step(steps)
    detail = "" if gain <= allowed else f"worst at t = {sol.t[steps[int(np.flatnonzero(~inside)[k])].k]:.4g}"
    lost = -float(taken_up[-1]) if len(taken_up) else 0.0
    values = {"taken": lost, "largest gain / kinetic": gain, "allowed": allowed}
    elastic = isinstance(sol.problem, Motion) and restitution(sol.problem) == 1.0
    if elastic and lost > (1 + inside.sum()) * allowed * kinetic:
        return Line("energy", says, FAILS, "energy is lost although e = 1", values)
    return Line("energy", says, HOLDS if gain <= allowed else FAILS, detail, values)


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
