"""Check whether a solution obeys the impact law at its impacts, u+ = P_C u- - e P_N u-, Paoli 2010 (2).

An impact is a step in which contacts close that were open. The schemes take two steps for it, so u- is the velocity
before the first one and u+ that after the second; what the forces do in these two steps is added to u-. C is the cone
of all contacts that are closed then. Impacts that follow one another from step to step cannot be told apart.
"""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np

from jostle.arrays import Array, Booleans, Integers
from jostle.convex.polyhedron import Cone
from jostle.errors import NotApproaching
from jostle.laws import impact
from jostle.problems import Motion
from jostle.sets.contacts import Contacts, by_pair
from jostle.solution import Solution
from jostle.theory.places import one_sided, place, position, restitution
from jostle.theory.report import FAILS, HOLDS, UNKNOWN, Line
from jostle.theory.steps_taken import Taken

SAYS = "u+ = P_C u- - e P_N u- at each impact"
LAW_TOLERANCE = 1e-6
"""Residuals of the law up to this fraction of the jump are round-off."""
FIRST_ORDER = 1.5
"""The law may be missed by this many times h (|u| / R + |a| / |jump|), R the smallest radius of curvature."""
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
    if restitution(problem) is None:
        return Line("impact law", SAYS, UNKNOWN, "contacts have different restitution coefficients")
    if problem.within.moving is not False:
        return Line("impact law", SAYS, UNKNOWN, "the set moves, or does not declare that it is at rest")
    closing = np.array([k > 0 and len(fresh(sol, k)) > 0 for k in range(len(sol.t))])
    alone = _alone(closing)
    found = [one for k in alone if (one := _residual(sol, problem, steps, k)) is not None]
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


def _residual(sol: Solution, problem: Motion, steps: list[Taken], k: int) -> Residual | None:
    """The residual of the impact in the steps that led to frames k and k + 1; None if the jump is too small."""
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
    if jump <= SMALLEST_JUMP * M.norm(gained) / 2.0:
        return None
    turned = first.h * _turning(closed, first.before, second.after)
    allowed = LAW_TOLERANCE + FIRST_ORDER * (M.norm(gained) / jump + turned)
    row = int(np.argmin(closed.G @ first.before))
    return Residual(M.norm(second.after - law) / jump, allowed, float(sol.t[k]), closed.describe(row))


def _turning(closed: Contacts, before: Array, after: Array) -> float:
    """|u| / R: how fast the normals turn; 0 for planes."""
    if closed.bend is None:
        return float(np.abs([before, after]).max(initial=0.0)) / (closed.smallest_length() or np.inf)
    speed = max(float(np.linalg.norm(before)), float(np.linalg.norm(after)))
    return speed * float(np.abs(closed.bend).max(initial=0.0))
