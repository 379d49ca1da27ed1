"""The hypotheses (A0)-(A6) of Bernicot & Lefebvre-Lepot 2010, and (A0)-(A5') of Venel 2009, one function for each.

    (A0)  g_i is smooth on U_i, which reaches further than Q_i by more than c
    (A1)  alpha <= |grad g_i| <= beta          (A2)  |dg_i/dt| <= beta         (A3)  |d grad g_i/dt| <= M
    (A4)  |D^2 g_i| <= M                       (A5)  |d^2 g_i/dt^2| <= M       (2010 only)
    (A6)  sum a_i |grad g_i| <= gamma |sum a_i grad g_i| for all a >= 0 and i in I_rho; in Venel 2009 this is (A5)
    (A6') the same for i in I, the closed contacts; in Venel 2009 this is (A5')

All are asked at every t, and at every q of U_i or Q. A line holds if this is known; what was seen at one place only is
no proof, and the line says so. A set at rest needs (A6') only (Remark 1.4; Theorem 2.13).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from jostle._tools.arguments import check_arguments
from jostle._tools.arrays import Array, at
from jostle.analysis.venel import eta, gamma, most_neighbours, opening
from jostle.convex.metric import Metric, metric
from jostle.convex.polyhedron import Cone
from jostle.errors import EmptySet
from jostle.result.facts import dimension_of, period_of
from jostle.sets.balls import Balls
from jostle.sets.base import ConstraintSet, parts
from jostle.sets.gradient_search import Differences
from jostle.sets.walls import HalfSpace
from jostle.theory.gaps import EVERYWHERE, HERE, STRAIGHT, Bounds, Rates, bounds_of, rates
from jostle.theory.places import Place
from jostle.theory.report import FAILS, HOLDS, UNKNOWN, Line

# Good directions: a unit vector u that opens all closed contacts at once (Venel 2009, Lemma 2.10).
#
#     <grad g_i, u> >= delta |grad g_i| > 0     for all i in I(t, q)
#
# The largest delta is 1 / gamma, with gamma the best constant of the inverse triangle inequality (A5') at q: both are
# solved by the shortest v with <grad g_i, v> >= |grad g_i|, one projection. Where no such u exists, some gradients
# balance each other.


MAX_NAMED_ROWS = 3
"""Largest number of gradients that balance each other and are named."""


@dataclass(frozen=True, eq=False)
class Direction:
    """A good direction of a cone; the result of `good_direction`.

    Attributes
    ----------
    u : array or None
        The unit vector, flat, |u|_M = 1; None if there is none.
    delta : float
        The smallest <G_i, u> / |G_i|, which no other direction exceeds; 0 if there is none, 1 without contacts.
    gamma : float
        1 / delta: the best constant of the inverse triangle inequality.
    balanced : str
        The contacts whose gradients balance each other, in words; empty if there is a good direction.

    Examples
    --------
    >>> import jostle as jo
    >>> good_direction(jo.convex.Cone([[2.0, 0.0]])).u.tolist()
    [1.0, 0.0]
    """

    u: Array | None
    delta: float
    gamma: float
    balanced: str


@check_arguments
def good_direction(cone: Cone, mass: ArrayLike | Metric = 1.0) -> Direction:
    """The unit vector that opens all contacts of a cone fastest, and how fast it opens them.

    Parameters
    ----------
    cone : Cone
        The closed contacts.
    mass : float, array_like or Metric, default 1.0
        One number, one for each body, one for each coordinate, or a symmetric positive definite matrix.

    Returns
    -------
    Direction
        The direction, or the contacts that leave none.

    Examples
    --------
    >>> import jostle as jo
    >>> found = good_direction(jo.convex.Cone([[1.0, 0.0], [0.0, 1.0]]))
    >>> found.u.round(6).tolist(), round(found.delta, 6), round(found.gamma, 6)
    ([0.707107, 0.707107], 0.707107, 1.414214)
    >>> good_direction(jo.convex.Cone([[1.0], [-1.0]])).balanced
    'row 0; row 1'
    """
    M = metric(mass, (cone.G.shape[1],))
    if cone.G.shape[0] == 0:
        return Direction(None, 1.0, 1.0, "")
    try:
        v = opening(cone, M)
    except EmptySet as error:
        rows = np.arange(0) if error.rows is None else error.rows
        more = f" and {len(rows) - MAX_NAMED_ROWS} more" if len(rows) > MAX_NAMED_ROWS else ""
        named = "; ".join(cone.describe(int(row)) for row in rows[:MAX_NAMED_ROWS])
        return Direction(None, 0.0, float("inf"), named + more)
    gamma = M.norm(v)
    return Direction(v / gamma, 1.0 / gamma, gamma, "")


@dataclass(frozen=True, eq=False)
class Numbers:
    """Numbers at a place, each computed when it is first used."""

    place: Place

    @cached_property
    def gaps(self) -> tuple[Bounds, ...]:
        return bounds_of(self.place)

    @cached_property
    def flat(self) -> bool:
        """Whether all gaps are linear in q, with gradients that do not depend on time."""
        return all(Q.flat for Q in self.sets)

    @cached_property
    def sets(self) -> tuple[ConstraintSet, ...]:
        """The parts of the set that have inequalities; one ball has none with itself."""
        few, every = len(self.place.q) < 2, parts(self.place.within)
        return tuple(Q for Q in every if not Q.equalities and not (type(Q) is Balls and few))

    @cached_property
    def alone(self) -> bool:
        """Whether the problem has at most one constraint."""
        return self.place.complete and len(self.place.contacts.gap) <= 1

    @cached_property
    def of_time(self) -> Rates:
        return rates(self.place)

    @cached_property
    def closed(self) -> Direction:
        """The good direction of the closed contacts: gamma of (A6')."""
        return good_direction(self.place.cone(), self.place.metric)

    @cached_property
    def near(self) -> Direction:
        """The good direction of the contacts with g <= rho: gamma of (A6)."""
        if len(self.place.near) == len(self.place.closed):
            return self.closed
        return good_direction(self.place.cone(self.place.near), self.place.metric)

    @cached_property
    def bound(self) -> tuple[float, int] | None:
        """gamma of Prop. 4.2 or Remark 4.10, with n_v, where they apply: discs in the open plane, without walls."""
        place, problem = self.place, self.place.problem
        if not self.balls_alone or dimension_of(problem) > 2 or not place.metric.diagonal:
            return None
        radii = np.broadcast_to(problem.bodies.radii_at(place.t), (len(place.q),))
        mass = place.metric.mass
        uneven = float(np.sqrt(mass.max() / mass.min()))
        return uneven * gamma(len(place.q), radii=radii), most_neighbours(radii)

    @cached_property
    def balls_alone(self) -> bool:
        """Whether the set is that of balls in open space of dimension 1 to 3, without walls."""
        place, d = self.place, dimension_of(self.place.problem)
        if place.q.ndim != 2 or not 1 <= d <= 3 or len(place.q) == 0:
            return False
        balls = all(type(Q) is Balls for Q in parts(place.within))
        return balls and place.problem.bodies.apart and period_of(place.problem.within, d) is None

    @cached_property
    def opening_rate(self) -> float:
        """delta of Lemma 2.10: the smallest <grad g_i, u> of the near contacts, u their good direction."""
        rows = self.place.near
        if len(rows) == 0 or self.near.u is None:
            return np.inf if len(rows) == 0 else 0.0
        return float((self.place.cone(rows).G @ self.near.u).min())

    @cached_property
    def speed_of_set(self) -> float:
        """K_L = beta / delta of Prop. 2.11: the Lipschitz constant of t -> Q(t), estimated at this place.

        beta is that of all constraints, closed or not: a step may lead to any of them.
        """
        beta, delta = float(np.abs(self.of_time.first).max(initial=0.0)), self.opening_rate
        if beta == 0.0:
            return 0.0
        return beta / min(delta, lowest(self.gaps, "alpha")) if delta > 0.0 else np.inf

    @cached_property
    def prox_regularity(self) -> float:
        """eta = eta_0 / gamma at this place, Prop. 2.9, eta_0 the smallest radius of curvature; NaN if it is not known.

        The radii are those of all constraints, closed or not: a step may lead to any of them.
        """
        if self.closed.gamma == np.inf:
            return 0.0
        return lowest(self.gaps, "radius") / self.closed.gamma


def lowest(gaps: tuple[Bounds, ...], name: str) -> float:
    """The smallest of the values of all sets; NaN if one is not known, infinite without sets."""
    return float(np.min([getattr(each, name) for each in gaps], initial=np.inf))


def highest(gaps: tuple[Bounds, ...], name: str) -> float:
    """The largest of the values of all sets; NaN if one is not known, 0 without sets."""
    return float(np.max([getattr(each, name) for each in gaps], initial=0.0))


def _known(numbers: Numbers, name: str, says: str, values: dict[str, float], detail: str = "") -> Line:
    """The line of a bound on all gaps, which holds if it is known at every t and q."""
    why = next((each.why for each in numbers.gaps if each.why), "")
    badness = max((abs(value) for value in values.values() if np.isfinite(value)), default=0.0)
    where = next((each.where for each in numbers.gaps if each.where != EVERYWHERE), EVERYWHERE)
    if where == EVERYWHERE:
        return Line(name, says, HOLDS, "; ".join(part for part in (where, detail) if part), values, badness=badness)
    return Line(name, says, UNKNOWN, why or elsewhere(where), values, local=True, badness=badness)


def elsewhere(where: str = HERE) -> str:
    """What is said of a hypothesis that holds at one place, or at one time, and may fail at others."""
    return f"holds {where}, not known {'at other times' if where != HERE else 'elsewhere'}"


def convex(numbers: Numbers) -> Line:
    """The line whether every gap is convex in q."""
    within, name, says = numbers.place.within, "convex", "g_i(t, .) convex"
    periodic = next((each.kink for each in numbers.gaps if "image" in each.kink), "")
    if periodic:
        return Line(name, says, FAILS, f"the gap {periodic}: it is not convex on the whole space")
    bent = min(numbers.gaps, key=lambda each: each.lowest, default=None)
    if bent is not None and bent.lowest < -STRAIGHT:
        detail = f"D^2 g has a negative eigenvalue in {bent.named}"
        return Line(name, says, FAILS, detail, {"eigenvalue / |D^2 g|": bent.lowest})
    if within.convex_gaps is True:
        return Line(name, says, HOLDS, EVERYWHERE)
    if within.convex_gaps is False:
        return Line(name, says, FAILS, "the set declares that some gap is not convex")
    why = next((each.why for each in numbers.gaps if each.why), "")
    return Line(name, says, UNKNOWN, why or f"{elsewhere()}: tell it by @jo.constraints(convex=True)")


def smooth(numbers: Numbers) -> Line:
    """(A0)."""
    says, c = "g_i is C^2 beyond Q_i, up to a distance c > 0", lowest(numbers.gaps, "c")
    for each in numbers.gaps:
        if each.kink:
            return Line("(A0)", says, FAILS, f"the gap {each.kink}", {"c": 0.0})
    if np.isnan(c):
        return Line("(A0)", says, UNKNOWN, "where all gaps are smooth beyond Q is not known")
    return _known(numbers, "(A0)", says, {"c": c}, next((each.jumps for each in numbers.gaps if each.jumps), ""))


def gradients(numbers: Numbers) -> Line:
    """(A1)."""
    says, gaps = "alpha <= |grad g_i| <= beta", numbers.gaps
    if not gaps:
        return Line("(A1)", says, HOLDS, "there are no constraints")
    for each in gaps:
        if each.kink:
            return Line("(A1)", says, FAILS, f"the gap {each.kink}: it has no gradient there")
    return _known(numbers, "(A1)", says, {"alpha": lowest(gaps, "alpha"), "beta": highest(gaps, "beta")})


def rate(numbers: Numbers) -> Line:
    """(A2)."""
    turning = next((Q for Q in parts(numbers.place.within) if isinstance(Q, HalfSpace) and _turns(Q, numbers)), None)
    if turning is None:
        return _in_time("(A2)", "|dg_i/dt| <= beta", "beta", numbers.of_time.first, numbers)
    why = f"the {turning.names[0]} turns: dg/dt = n'(t) . q - offset'(t) grows with |q| along it without end"
    return Line("(A2)", "|dg_i/dt| <= beta", FAILS, why, _largest("beta", numbers.of_time.first))


def _turns(Q: HalfSpace, numbers: Numbers) -> bool:
    """Whether the normal of a plane turns at this time."""
    if Q.flat:
        return False

    def unit(t: float) -> Array:
        normal = at(Q.normal, t).ravel()
        return np.asarray(normal / np.linalg.norm(normal))

    t = numbers.place.t
    found = Differences(lambda _, time: unit(float(time[0]))).search(t, np.array([t]), unit(t))
    return bool((np.abs(found.G[:, 0]) > found.error).any())


def turning_rate(numbers: Numbers) -> Line:
    """(A3)."""
    says = "|d grad g_i/dt| <= M"
    if all(Q.moving is False or Q.flat or type(Q) is Balls for Q in parts(numbers.place.within)):
        return Line("(A3)", says, HOLDS, "gradients do not depend on time", {"M": 0.0})
    return _in_time("(A3)", says, "M", numbers.of_time.turning, numbers)


def acceleration(numbers: Numbers) -> Line:
    """(A5) of Bernicot & Lefebvre-Lepot 2010."""
    return _in_time("(A5)", "|d^2 g_i/dt^2| <= M", "M", numbers.of_time.second, numbers)


def _largest(letter: str, derivative: Array) -> dict[str, float]:
    return {letter: float(np.abs(derivative).max(initial=0.0))}


def _in_time(name: str, says: str, letter: str, derivative: Array, numbers: Numbers) -> Line:
    """(A2), (A3) or (A5): a derivative by time is bounded, which one time cannot show."""
    if numbers.place.within.moving is False:
        return Line(name, says, HOLDS, "the set does not move", {letter: 0.0})
    if not np.isfinite(derivative).all():
        row = int(np.argmax(~np.isfinite(derivative)))
        return Line(name, says, UNKNOWN, f"{numbers.place.name(row)} cannot be differentiated in time here")
    values = _largest(letter, derivative)
    why = "at this t and q; the set may jump, or move faster, at others"
    return Line(name, says, UNKNOWN, why, values, local=True, badness=values[letter])


def curvature(numbers: Numbers) -> Line:
    """(A4)."""
    largest, says = highest(numbers.gaps, "M"), "|D^2 g_i| <= M"
    for each in numbers.gaps:
        if np.isinf(each.M):
            return Line("(A4)", says, FAILS, f"the gap {each.kink}: D^2 g is not bounded near it", {"M": np.inf})
    return _known(numbers, "(A4)", says, {} if np.isnan(largest) else {"M": largest})


def inverse_triangle(numbers: Numbers, name: str, all_near: bool, needed: bool) -> Line:
    """(A6) or (A6'), which Venel 2009 calls (A5) and (A5')."""
    place, found, closed = numbers.place, numbers.near if all_near else numbers.closed, numbers.closed
    says = f"sum a_i |grad g_i| <= gamma |sum a_i grad g_i|, i in {'I_rho' if all_near else 'I'}"
    values = {"gamma": found.gamma}
    if all_near:
        values |= {} if place.rho is None else {"rho": place.rho}
    if closed.balanced:
        why = f"gradients balance each other: {closed.balanced}"
        return Line(name, says, FAILS, why, values, needed, badness=np.inf)
    bound = numbers.bound
    if bound is not None and not all_near:
        values |= {"bound": bound[0], "n_v": float(bound[1])}
    source = _everywhere(numbers)
    if source:
        return Line(name, says, HOLDS, source, values, needed, badness=found.gamma)
    if found.balanced:
        why = f"gradients balance each other for this rho: {found.balanced}; a smaller one may do"
        return Line(name, says, UNKNOWN, why, values, needed, local=True, badness=np.inf)
    if all_near and place.rho is None:
        return Line(name, says, UNKNOWN, "the set has no length from which to choose rho: give rho=", needed=needed)
    return Line(name, says, UNKNOWN, elsewhere(), values, needed, local=True, badness=found.gamma)


def _everywhere(numbers: Numbers) -> str:
    """Why (A6) and (A6') hold at every t and q, with some rho and gamma; empty if it is not known."""
    place, bound = numbers.place, numbers.bound
    if numbers.alone:
        return f"{EVERYWHERE}: there is one constraint" if len(place.contacts.gap) else "there are no constraints"
    if numbers.balls_alone and place.within.moving is False:
        if bound is None:
            return "Lemma 4.2 of Bernicot & Lefebvre-Lepot 2010 bounds it at every q"
        return f"{'Prop. 4.2' if bound[1] == 6 else 'Remark 4.10'} bounds it at every q"
    if not (place.complete and numbers.flat):
        return ""
    # From each q, the direction to an inner point opens all that is closed there, and there are finitely many I.
    if place.within.moving is False and _has_inner_point(numbers):
        return f"{EVERYWHERE}: the walls are planes, and Q has inner points"
    cone = place.cone(np.arange(len(place.contacts.gap)))
    together = good_direction(cone, place.metric)
    return "" if together.balanced else f"{EVERYWHERE}: one direction opens all planes, wherever they are"


def _has_inner_point(numbers: Numbers) -> bool:
    """Whether a step from q along the good direction opens all planes."""
    contacts, u = numbers.place.contacts, numbers.closed.u
    if u is None:
        return bool((contacts.gap > 0.0).all())
    rate = contacts.G @ u
    closing = rate < 0.0
    longest = float(np.min(contacts.gap[closing] / -rate[closing], initial=np.inf))
    opened = float(np.max(-contacts.gap[rate > 0.0] / rate[rate > 0.0], initial=0.0))
    step = longest / 2.0 if longest < np.inf else 2.0 * opened or 1.0
    return bool((contacts.gap + step * rate > 0.0).all())


def not_empty(numbers: Numbers) -> Line:
    """The line whether Q(t) has a point at each time, which (1.5) of 2010 and (4) of Venel 2009 suppose."""
    says = "Q(t) is not empty"
    if numbers.place.within.moving is False and not numbers.place.outside:
        return Line("Q(t)", says, HOLDS, "the set does not move, and q is in it")
    if numbers.balls_alone:
        return Line("Q(t)", says, HOLDS, "there is room for all balls")
    if numbers.place.complete and numbers.flat and _everywhere(numbers):
        return Line("Q(t)", says, HOLDS, "one direction leads away from all planes")
    return Line("Q(t)", says, UNKNOWN, "walls that move may close it at some t", local=True)


def consequences(numbers: Numbers) -> tuple[Line, ...]:
    """Good directions (Lemma 2.10) and prox-regularity (Prop. 2.9), at this q."""
    place, found = numbers.place, numbers.closed
    values = {"delta": found.delta}
    says = "a unit u with <grad g_i, u> >= delta |grad g_i|, i in I"
    if found.u is None and len(place.closed):
        good = Line("good direction", says, FAILS, f"no direction opens all of {found.balanced}", values, needed=False)
    else:
        good = Line("good direction", says, HOLDS, HERE, values, needed=False, badness=-found.delta)
    says, eta_here = "Q(t) is eta-prox-regular, eta = eta_0 / gamma", numbers.prox_regularity
    if np.isnan(eta_here):
        why = next((each.why for each in numbers.gaps if each.why), "")
        why = why or "how constraints of the user bend is known only where they are closed"
        return good, Line("eta", says, UNKNOWN, why, needed=False)
    values = {"eta": eta_here}
    if (bound := _eta_bound(numbers)) is not None:
        values["Prop. 4.5"] = bound
    if eta_here == 0.0:
        return good, Line("eta", says, FAILS, "a corner, or contacts that balance each other", values, needed=False)
    if any(each.where == HERE for each in numbers.gaps):
        return good, Line("eta", says, UNKNOWN, elsewhere(), values, needed=False, local=True, badness=-eta_here)
    return good, Line("eta", says, HOLDS, HERE, values, needed=False, badness=-eta_here)


def _eta_bound(numbers: Numbers) -> float | None:
    """eta of Prop. 4.5, for equal discs in the open plane."""
    radii = numbers.place.problem.bodies.radii_at(numbers.place.t)
    if numbers.bound is None or np.ptp(radii) > 0.0:
        return None
    return eta(len(numbers.place.q), float(radii.flat[0]))


def moves(numbers: Numbers) -> bool | None:
    """Whether the set moves; None if it does not say so, and nothing moves at this time and place."""
    if numbers.place.within.moving is not None:
        return numbers.place.within.moving
    return True if np.abs(numbers.of_time.first).max(initial=0.0) > 0.0 else None
