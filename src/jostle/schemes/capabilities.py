"""What problems need and schemes can do: a scheme refuses a problem that needs more, and names schemes that accept it.

Each scheme class says what it can do, in `Scheme.capabilities`. A class that inherits this from another scheme is never
recommended: it may solve another problem, as `Gluey` does. `SCHEMES` lists all schemes.
"""

from __future__ import annotations

from typing import Any, ClassVar, Protocol

from jostle._tools.plugins import Registry
from jostle.convex.metric import Metric
from jostle.errors import InvalidValue, SchemeRefuses
from jostle.problems import Motion, Sweeping


class Capable(Protocol):
    """A class of schemes, as far as the list of schemes knows it."""

    capabilities: ClassVar[frozenset[str]]


def _check_scheme(name: str, item: Any) -> None:
    if not (isinstance(item, type) and hasattr(item, "capabilities") and hasattr(item, "step")):
        raise InvalidValue(f"the scheme {name!r} must be a class that inherits from jo.Scheme, not {item!r}")


SCHEMES: Registry[type[Capable]] = Registry("jostle.schemes", "scheme", check=_check_scheme)
"""All schemes by the name that scenario files use; the package `jostle.schemes` adds those of jostle."""


SECOND, FIRST = "second order", "first order"
RESTITUTION, VARIABLE_MASS, MOVING = "restitution", "a variable mass", "a moving set"
NOT_CONVEX, EXCHANGE = "gaps that are not convex", "bodies that come and go"
METRIC, EQUALITIES = "a mass in first order", "equality constraints"
VARIED_RESTITUTION = "restitution that differs between contacts"
STIFF = "a StiffForce"
TURNING = "bodies that turn"
"""Needs of problems, which are capabilities of schemes."""

REASONS = {
    SECOND: "solves first-order problems (Sweeping), not {kind}",
    FIRST: "solves second-order problems (Motion), not {kind}",
    RESTITUTION: "is a scheme for e = 0, the problem has {e}",
    VARIED_RESTITUTION: "reflects the whole configuration with one number e, the problem has {e}",
    VARIABLE_MASS: "needs a constant mass, the problem has M(q)",
    MOVING: "needs a set that does not move",
    NOT_CONVEX: "linearises the gaps and stays in Q only if they are convex in q, which these are not",
    EXCHANGE: "projects all bodies together, none may come or go",
    METRIC: "projects in the Euclidean metric, the problem has a mass",
    EQUALITIES: "has no room for equality constraints, and the problem has some",
    STIFF: "takes forces explicitly, and the force is a StiffForce",
    TURNING: "has no spin, and the bodies turn: the problem has friction, clumps or shapes",
}
"""Why a scheme refuses a problem with a need that is not among its capabilities."""


def needs_of(problem: Any) -> frozenset[str]:
    """What a scheme must be able to do to solve the problem.

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
        RESTITUTION: isinstance(problem, Motion) and problem.law.uniform != 0.0,
        VARIED_RESTITUTION: isinstance(problem, Motion) and problem.law.uniform is None,
        VARIABLE_MASS: isinstance(problem, Motion) and not isinstance(problem.mass, Metric),
        MOVING: within.moving is True,
        NOT_CONVEX: within.convex_gaps is False and not within.curved,
        EXCHANGE: problem.presence is not None,
        METRIC: isinstance(problem, Sweeping) and problem.mass is not None,
        EQUALITIES: within.equalities,
        STIFF: isinstance(problem, Motion) and problem.stiff is not None,
        TURNING: problem.bodies.turn,
    }
    return frozenset(need for need, there in found.items() if there)


def able(needs: frozenset[str]) -> dict[str, type[Capable]]:
    """The schemes that meet all needs, by their names in scenario files.

    >>> list(able(frozenset({SECOND, RESTITUTION})))
    ['paoli', 'moreau_jean']
    """
    return {name: each for name, each in SCHEMES.items() if "capabilities" in vars(each) and needs <= each.capabilities}


def remedy(problem: Any, also: str | None = None) -> str:
    """What to do about a refusal: which schemes accept the problem, if any; `also` is one more need."""
    needs = needs_of(problem) | ({also} if also else set())
    names = [_imported_name(each) for each in able(needs).values()]
    if names:
        return f"use {in_words(names)}"
    frame = "; if the set moves as a whole, write the problem in its frame, where it rests" if MOVING in needs else ""
    return f"{nobody(needs)}{frame}"


def nobody(needs: frozenset[str]) -> str:
    """The sentence that no scheme meets all of these needs.

    >>> nobody(frozenset({SECOND, VARIABLE_MASS, MOVING}))
    'no known scheme solves a second-order problem with all of: a moving set, a variable mass'
    """
    order = "second-order" if SECOND in needs else "first-order"
    return f"no known scheme solves a {order} problem with all of: {', '.join(sorted(needs - {SECOND, FIRST}))}"


def in_words(names: list[str]) -> str:
    """The names as a choice.

    >>> in_words(["a", "b", "c"])
    'a, b or c'
    """
    return " or ".join([", ".join(names[:-1]), names[-1]] if names[1:] else names)


def _imported_name(scheme: type[Capable]) -> str:
    """The name of a scheme, with its module if it belongs to a plug-in."""
    inside = scheme.__module__.partition(".")[0] in ("jostle", "__main__")
    return scheme.__name__ if inside else f"{scheme.__module__}.{scheme.__name__}"


def refusal(scheme: str, need: str, problem: Any) -> SchemeRefuses:
    """The error for a problem with a need that the scheme does not meet."""
    if not isinstance(problem, Motion | Sweeping):
        wanted = "jo.Motion (second order) or jo.Sweeping (first order)"
        return SchemeRefuses(f"{scheme} {REASONS[need].format(kind=type(problem).__name__)}; give a {wanted}")
    one = problem.law.uniform if isinstance(problem, Motion) else 0.0
    e = "an e that differs between contacts or speeds" if one is None else f"e = {one:g}"
    why = REASONS[need].format(kind=type(problem).__name__, e=e)
    return SchemeRefuses(f"{scheme} {why}; {remedy(problem, need)}")
