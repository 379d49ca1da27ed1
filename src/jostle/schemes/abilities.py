"""What each scheme can do, in one table, so that a refusal names a scheme that accepts the very same problem.

A problem has needs (`needs_of`), a scheme has abilities (`SCHEMES`): it refuses a problem that needs another one.
"""

from __future__ import annotations

from typing import Any

from jostle.convex.metric import Metric
from jostle.errors import SchemeRefuses
from jostle.problems import Motion, Sweeping

SECOND, FIRST = "second order", "first order"
RESTITUTION, VARIABLE_MASS, MOVING = "restitution", "variable mass", "moving set"
NOT_CONVEX, EXCHANGE = "gaps that are not convex", "bodies that come and go"

SCHEMES = {
    "Maury": frozenset({SECOND, MOVING, EXCHANGE}),
    "Paoli": frozenset({SECOND, RESTITUTION, VARIABLE_MASS, NOT_CONVEX}),
    "MoreauJean": frozenset({SECOND, RESTITUTION, NOT_CONVEX, EXCHANGE}),
    "Venel": frozenset({FIRST, MOVING, EXCHANGE}),
    "CatchingUp": frozenset({FIRST, MOVING, NOT_CONVEX}),
}
"""The abilities of each scheme."""

REASONS = {
    SECOND: "solves first-order problems (Sweeping), not {kind}",
    FIRST: "solves second-order problems (Motion), not {kind}",
    RESTITUTION: "is a scheme for e = 0, the problem has e = {e:g}",
    VARIABLE_MASS: "needs a constant mass, the problem has M(q)",
    MOVING: "needs a set that does not move",
    NOT_CONVEX: "linearises the gaps and stays in Q only if they are convex in q; the inside of a ball is not",
    EXCHANGE: "projects all bodies together, none may come or go",
}
"""Why a scheme refuses a problem with a need that is not among its abilities."""


def needs_of(problem: Any) -> frozenset[str]:
    """What a scheme for the problem must be able to do, as far as the problem says.

    >>> import jostle as jo
    >>> sorted(needs_of(jo.Motion(q0=[1.0], law=jo.Restitution(0.5))))
    ['restitution', 'second order']
    """
    if not isinstance(problem, Motion | Sweeping):
        return frozenset()
    second, within = isinstance(problem, Motion), problem.within
    found = {
        SECOND: second,
        FIRST: not second,
        RESTITUTION: isinstance(problem, Motion) and problem.law.e != 0.0,
        VARIABLE_MASS: isinstance(problem, Motion) and not isinstance(problem.mass, Metric),
        MOVING: within.moving is True,
        NOT_CONVEX: within.convex_gaps is False and not within.curved,
        EXCHANGE: problem.presence is not None,
    }
    return frozenset(need for need, there in found.items() if there)


def remedy(problem: Any, also: str | None = None) -> str:
    """What to do about a refusal: the schemes that accept the problem, or that none does; `also` is one more need."""
    needs = needs_of(problem) | ({also} if also else set())
    able = [name for name, abilities in SCHEMES.items() if needs <= abilities]
    if able:
        return f"use {able[0]}" if len(able) == 1 else f"use {', '.join(able[:-1])} or {able[-1]}"
    words = ", ".join(sorted(needs - {SECOND, FIRST}))
    order = SECOND if SECOND in needs else FIRST
    frame = "; if the set moves as a whole, write the problem in its frame, where it rests" if MOVING in needs else ""
    return f"no scheme of jostle solves a problem of {order} that has all of: {words}{frame}"


def refusal(scheme: str, need: str, problem: Any) -> SchemeRefuses:
    """The refusal of a problem that has a need which the scheme does not meet."""
    if not isinstance(problem, Motion | Sweeping):
        wanted = "jo.Motion (second order) or jo.Sweeping (first order)"
        return SchemeRefuses(f"{scheme} {REASONS[need].format(kind=type(problem).__name__)}; give a {wanted}")
    e = problem.law.e if isinstance(problem, Motion) else 0.0
    why = REASONS[need].format(kind=type(problem).__name__, e=e)
    return SchemeRefuses(f"{scheme} {why}; {remedy(problem, need)}")
