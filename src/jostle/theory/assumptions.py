"""The hypotheses (A0)-(A6) of Bernicot & Lefebvre-Lepot 2010, and (A0)-(A5') of Venel 2009, at one place.

    (A0)  g_i is smooth on U_i, which reaches further than Q_i by more than c
    (A1)  alpha <= |grad g_i| <= beta          (A2)  |dg_i/dt| <= beta         (A3)  |d grad g_i/dt| <= M
    (A4)  |D^2 g_i| <= M                       (A5)  |d^2 g_i/dt^2| <= M       (2010 only)
    (A6)  sum a_i |grad g_i| <= gamma |sum a_i grad g_i| for all a >= 0 and i in I_rho; in Venel 2009 this is (A5)
    (A6') the same for i in I, the closed contacts; in Venel 2009 this is (A5')

A set at rest needs (A6') only (Remark 1.4; Theorem 2.13).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from jostle.analysis.venel import eta, gamma, most_neighbours
from jostle.arrays import Array
from jostle.facts import dimension_of, period_of
from jostle.theory.constants import CONVEX_TOLERANCE, Constants, constants
from jostle.theory.directions import Direction, good_direction
from jostle.theory.places import Place
from jostle.theory.rates import Rates, rates
from jostle.theory.report import FAILS, HOLDS, UNKNOWN, Line

EVERYWHERE, HERE = "at every q", "at this q"


@dataclass(frozen=True, eq=False)
class Numbers:
    """Numbers at a place, each computed when it is first used."""

    place: Place

    @cached_property
    def of_gaps(self) -> Constants:
        return constants(self.place)

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
        if place.contacts.numbers or place.q.ndim != 2 or dimension_of(problem) != 2:
            return None
        radii = problem.within.excluding(place.t, len(place.q))
        if radii is None or period_of(problem.within, 2) is not None or not place.metric.diagonal:
            return None
        mass = place.metric.mass
        uneven = float(np.sqrt(mass.max() / mass.min()))
        return uneven * gamma(len(place.q), radii=radii), most_neighbours(radii)

    @cached_property
    def opening_rate(self) -> float:
        """delta of Lemma 2.10: the smallest <grad g_i, u> of the near contacts, u their good direction."""
        rows = self.place.near
        if len(rows) == 0 or self.near.u is None:
            return np.inf if len(rows) == 0 else 0.0
        return float((self.place.cone(rows).G @ self.near.u).min())

    @cached_property
    def speed_of_set(self) -> float:
        """K_L of Prop. 2.11: the Lipschitz constant of t -> Q(t), estimated by the contacts near this place."""
        rate = float(np.abs(self.of_time.first[self.place.near]).max(initial=0.0))
        return rate / self.opening_rate if rate > 0.0 else 0.0

    @cached_property
    def prox_regularity(self) -> float:
        """eta = eta_0 / gamma at this place, Prop. 2.9, eta_0 the smallest radius of curvature of a closed contact."""
        if self.closed.gamma == np.inf:
            return 0.0
        return float(self.of_gaps.touching_radius[self.place.closed].min(initial=np.inf)) / self.closed.gamma


def convex(numbers: Numbers) -> Line:
    """The line whether every gap is convex in q."""
    within, found, name, says = numbers.place.within, numbers.of_gaps, "convex", "g_i(t, .) convex"
    row = int(np.argmin(np.nan_to_num(found.lowest, nan=0.0))) if len(found.lowest) else -1
    bent = row >= 0 and found.lowest[row] < -CONVEX_TOLERANCE
    if within.convex_gaps is True:
        return Line(name, says, HOLDS, EVERYWHERE)
    if bent:
        worst = f"D^2 g has a negative eigenvalue in {numbers.place.name(row)}"
        return Line(name, says, FAILS, worst, {"eigenvalue / |D^2 g|": float(found.lowest[row])})
    if within.convex_gaps is False:
        return Line(name, says, FAILS, "the set declares that some gap is not convex")
    why = found.why or "convex at this q, not known elsewhere: tell it by @jo.constraints(convex=True)"
    return Line(name, says, UNKNOWN, why)


def smooth(numbers: Numbers) -> Line:
    """(A0)."""
    margin, says = numbers.of_gaps.margin, "g_i is C^2 beyond Q_i, up to a distance c > 0"
    if not np.isfinite(margin[~np.isinf(margin)]).all():
        row = int(np.argmax(np.isnan(margin)))
        return Line("(A0)", says, UNKNOWN, f"where {numbers.place.name(row)} is smooth outside Q is not known")
    return Line("(A0)", says, HOLDS, _scope(numbers), {"c": float(margin.min(initial=np.inf))}, local=_local(numbers))


def gradients(numbers: Numbers) -> Line:
    """(A1)."""
    size, says = numbers.of_gaps.size, "alpha <= |grad g_i| <= beta"
    if len(size) == 0:
        return Line("(A1)", says, HOLDS, "no contacts in reach")
    values = {"alpha": float(size.min()), "beta": float(size.max())}
    if values["alpha"] == 0.0:
        return Line("(A1)", says, FAILS, f"zero gradient of {numbers.place.name(int(np.argmin(size)))}", values)
    return Line("(A1)", says, HOLDS, _scope(numbers), values, local=_local(numbers), badness=-values["alpha"])


def in_time(numbers: Numbers, name: str, says: str, letter: str, derivative: Array) -> Line:
    """(A2), (A3) or (A5): a derivative by time is bounded."""
    if numbers.of_time.at_rest:
        return Line(name, says, HOLDS, "the set does not move", {letter: 0.0})
    size = np.abs(derivative)
    if not np.isfinite(size).all():
        row = int(np.argmax(~np.isfinite(size)))
        return Line(name, says, UNKNOWN, f"{numbers.place.name(row)} cannot be differentiated in time here")
    largest = float(size.max(initial=0.0))
    return Line(name, says, HOLDS, "at this t and q", {letter: largest}, local=True, badness=largest)


def curvature(numbers: Numbers) -> Line:
    """(A4)."""
    found, says = numbers.of_gaps, "|D^2 g_i| <= M"
    if found.why or np.isnan(found.curvature).any():
        return Line("(A4)", says, UNKNOWN, found.why)
    largest = float(found.curvature.max(initial=0.0))
    return Line("(A4)", says, HOLDS, _scope(numbers), {"M": largest}, local=_local(numbers), badness=largest)


def inverse_triangle(numbers: Numbers, name: str, all_near: bool, needed: bool) -> Line:
    """(A6) or (A6'), which Venel 2009 calls (A5) and (A5')."""
    place, found = numbers.place, numbers.near if all_near else numbers.closed
    says = f"sum a_i |grad g_i| <= gamma |sum a_i grad g_i|, i in {'I_rho' if all_near else 'I'}"
    if all_near and place.rho is None:
        return Line(name, says, UNKNOWN, "the set has no length from which to choose rho: give rho=", needed=needed)
    values = {"gamma": found.gamma}
    if all_near:
        values["rho"] = float(place.rho or 0.0)
    if found.balanced:
        return Line(
            name, says, FAILS, f"gradients balance each other: {found.balanced}", values, needed, badness=np.inf
        )
    bound = numbers.bound
    if bound is not None and not all_near:
        values |= {"bound": bound[0], "n_v": float(bound[1])}
        source = "Prop. 4.2 bounds it at every q" if bound[1] == 6 else "Remark 4.10 bounds it at every q"
        return Line(name, says, HOLDS, source, values, needed, badness=found.gamma)
    return Line(name, says, HOLDS, HERE, values, needed, local=True, badness=found.gamma)


def consequences(numbers: Numbers) -> tuple[Line, ...]:
    """Good directions (Lemma 2.10), the speed of the set (Prop. 2.11) and prox-regularity (Prop. 2.9)."""
    place, found = numbers.place, numbers.closed
    values = {"delta": found.delta}
    says = "a unit u with <grad g_i, u> >= delta |grad g_i|, i in I"
    if found.u is None and len(place.closed):
        good = Line("good direction", says, FAILS, f"no direction opens all of {found.balanced}", values, needed=False)
    else:
        good = Line("good direction", says, HOLDS, HERE, values, needed=False, badness=-found.delta)
    says = "Q(t) is eta-prox-regular, eta = eta_0 / gamma"
    if numbers.of_gaps.why:
        return good, Line("eta", says, UNKNOWN, numbers.of_gaps.why, needed=False)
    values = {"eta": numbers.prox_regularity}
    if (bound := _eta_bound(numbers)) is not None:
        values["Prop. 4.5"] = bound
    verdict = HOLDS if numbers.prox_regularity > 0.0 else FAILS
    return good, Line("eta", says, verdict, HERE, values, needed=False, badness=-numbers.prox_regularity)


def _eta_bound(numbers: Numbers) -> float | None:
    """eta of Prop. 4.5, for equal discs in the open plane."""
    radii = numbers.place.problem.within.excluding(numbers.place.t, len(numbers.place.q))
    if numbers.bound is None or radii is None or np.ptp(radii) > 0.0:
        return None
    return eta(len(numbers.place.q), float(radii[0]))


def moves(numbers: Numbers) -> bool | None:
    """Whether the set moves; None if it does not say so, and nothing moves at this time and place."""
    if numbers.place.within.moving is not None:
        return numbers.place.within.moving
    return True if np.abs(numbers.of_time.first).max(initial=0.0) > 0.0 else None


def _scope(numbers: Numbers) -> str:
    return HERE if _local(numbers) else EVERYWHERE


def _local(numbers: Numbers) -> bool:
    return not numbers.of_gaps.exact
