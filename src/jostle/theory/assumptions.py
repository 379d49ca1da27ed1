"""The hypotheses (A0)-(A6) of Bernicot & Lefebvre-Lepot 2010, and (A0)-(A5') of Venel 2009, at one place.

    (A0)  g_i is smooth on U_i, which reaches further than Q_i by more than c
    (A1)  alpha <= |grad g_i| <= beta          (A2)  |dg_i/dt| <= beta         (A3)  |d grad g_i/dt| <= M
    (A4)  |D^2 g_i| <= M                       (A5)  |d^2 g_i/dt^2| <= M       (2010 only)
    (A6)  sum a_i |grad g_i| <= gamma |sum a_i grad g_i| for all a >= 0 and i in I_rho; in Venel 2009 this is (A5)
    (A6') the same for i in I, the closed contacts; in Venel 2009 this is (A5')

A set at rest needs (A6') only (Remark 1.4; Theorem 2.13).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from jostle._tools.arguments import check_arguments
from jostle._tools.arrays import Array, Integers
from jostle.analysis.venel import eta, gamma, most_neighbours, opening
from jostle.convex.linear_map import as_map
from jostle.convex.metric import Metric, metric
from jostle.convex.polyhedron import Cone
from jostle.errors import EmptySet, JostleError
from jostle.result.facts import dimension_of, period_of
from jostle.sets.base import ConstraintSet
from jostle.sets.contacts import Contacts, by_pair
from jostle.sets.differences import Differences
from jostle.theory.places import Place
from jostle.theory.report import FAILS, HOLDS, UNKNOWN, Line

# alpha, beta, M and c of (A0)-(A5): how large gradients and second derivatives of the gaps are.
#
# Bernicot & Lefebvre-Lepot 2010 (A0)-(A5), Venel 2009 (A0)-(A4). For contacts of bodies the constants are exact. The
# gap of two balls is |x| - R with x the vector between the centres, so that
#
#     |grad g| = |G|  everywhere,     |D^2 g| = |G|^2 / |x|,     U = {|x| > R / 2}:  M = 2 |G|^2 / R,  c = R / (2 |G|).
#
# For equal discs of radius r this is alpha = sqrt(2), M = 2 / r and c = r / sqrt(2), as in Venel 2009, section 4.2.
# A plane has M = 0 and no limit c. For constraints of the user, D^2 g is differenced at the configuration itself.
# All norms are those of the metric of the problem (Bernicot & Lefebvre-Lepot 2010, remark 4.1).


MAX_DIFFERENCED = 40
"""Second derivatives are differenced for at most this many coordinates."""
RELATIVE_STEP = float(np.cbrt(np.finfo(float).eps))
"""Difference step of second derivatives, relative to the size of q or to the length of the constraints."""
CONVEX_TOLERANCE = 1e-4
"""A gap counts as convex if no eigenvalue of D^2 g is below minus this fraction of the largest."""
HALF = 0.5
"""U_i reaches down to this fraction of the distance at which two bodies touch."""


@dataclass(frozen=True, eq=False)
class Constants:
    """Constants of the gaps of a place, row by row; NaN where they are not known."""

    size: Array
    """(m,) |grad g_i|."""
    curvature: Array
    """(m,) the largest |D^2 g_i| on U_i; for constraints of the user, that at q."""
    touching_radius: Array
    """(m,) the prox-regularity constant of Q_i: the radius of curvature of its boundary, infinite if it is convex."""
    margin: Array
    """(m,) c: how far U_i reaches beyond Q_i; NaN where it is not known."""
    lowest: Array
    """(m,) the smallest eigenvalue of D^2 g_i, relative to the largest in size: negative where g_i is not convex."""
    exact: bool
    """True if the constants hold at every q, and not only at this one."""
    why: str = ""
    """Why second derivatives are not known."""


def constants(place: Place) -> Constants:
    """The constants of all contacts of a place."""
    contacts, M = place.contacts, place.metric
    size = np.asarray(contacts.G.norms(M))
    if contacts.bend is not None and (not np.any(contacts.bend) or _one_mass_a_body(contacts, M)):
        return _of_bodies(contacts, size, not callable(getattr(place.problem, "mass", None)))
    unknown = np.full(len(size), np.nan)
    try:
        H = _second_derivatives(place)
    except _NotKnown as reason:
        return Constants(size, unknown, unknown, unknown, unknown, False, str(reason))
    values = np.linalg.eigvalsh(_whitened(H, M)) if len(H) else np.zeros((0, 1))
    curvature = np.abs(values).max(axis=1, initial=0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        radius = np.where(values.max(axis=1, initial=0.0) > 0.0, size / curvature, np.inf)
        lowest = np.where(curvature > 0.0, values.min(axis=1, initial=0.0) / curvature, 0.0)
    return Constants(size, curvature, radius, unknown, lowest, False)


def _one_mass_a_body(contacts: Contacts, M: Metric) -> bool:
    """Whether each body has the same mass along all axes."""
    return M.diagonal and not np.ptp(M.mass.reshape(contacts.bodies, -1), axis=1).any()


def _of_bodies(contacts: Contacts, size: Array, exact: bool) -> Constants:
    bend = np.asarray(contacts.bend)
    with np.errstate(divide="ignore", invalid="ignore"):
        R = np.where(bend > 0.0, 1.0 / bend - contacts.gap, np.where(bend < 0.0, -1.0 / bend, np.inf))
        curvature = np.where(bend == 0.0, 0.0, size**2 / (R * np.where(bend > 0.0, HALF, 1.0)))
        margin = np.where(bend < 0.0, np.nan, (1.0 - HALF) * R / size)
        radius = np.where(bend > 0.0, R / size, np.inf)
    return Constants(size, curvature, radius, margin, np.minimum(np.sign(bend), 0.0), exact)


class _NotKnown(Exception):
    """Why second derivatives cannot be differenced."""


def _second_derivatives(place: Place) -> Array:
    """(m, N, N) D^2 g_i at q, by central differences of the gradients."""
    q, contacts = place.q, place.contacts
    if q.size > MAX_DIFFERENCED:
        raise _NotKnown(
            f"second derivatives need differences, for at most {MAX_DIFFERENCED} coordinates; q has {q.size}"
        )
    scale = contacts.smallest_length() or float(np.abs(q).max(initial=0.0)) or 1.0
    flat, H = q.ravel(), np.empty((len(contacts.gap), q.size, q.size))
    for k in range(q.size):
        ends = [flat.copy(), flat.copy()]
        ends[0][k] += RELATIVE_STEP * scale
        ends[1][k] -= RELATIVE_STEP * scale
        try:
            ahead, behind = (place.within.linearise(place.t, end.reshape(q.shape)) for end in ends)
        except JostleError as error:
            raise _NotKnown(f"the gradients near q are not known: {error}") from None
        if not (np.array_equal(ahead.pairs, contacts.pairs) and np.array_equal(behind.pairs, contacts.pairs)):
            raise _NotKnown("the set returns different contacts near q")
        H[:, k] = (ahead.G.toarray() - behind.G.toarray()) / (ends[0][k] - ends[1][k])
    return (H + H.transpose(0, 2, 1)) / 2.0


def _whitened(H: Array, M: Metric) -> Array:
    """D^2 g in coordinates in which the metric is Euclidean."""
    half = np.stack([M.whiten(one) for one in H])
    return np.stack([M.whiten(one.T) for one in half])


# The rates of a moving set: derivatives of the gaps by time, for (A2), (A3) and (A5).
#
# They are differenced at the configuration. The time step of the differences is searched for, as those of gradients
# are.


RUNG = 16.0
"""Factor between neighbouring time steps of second differences."""
MAX_RUNGS = 400
"""Largest number of time steps that are tried."""
CURVED = 1e-4
"""Second differences of this size, relative to the first ones, are well above round-off."""
AGREEMENT = 0.1
"""Second derivatives by a step and by half of it agree up to this fraction, unless there is a kink in between."""


@dataclass(frozen=True, eq=False)
class Rates:
    """Derivatives of the gaps of a place by time, row by row."""

    first: Array
    """(m,) dg_i / dt."""
    turning: Array
    """(m,) |d grad g_i / dt|, in the dual norm of the metric."""
    second: Array
    """(m,) d^2 g_i / dt^2."""
    at_rest: bool
    """Whether it is known that the set does not move."""


def rates(place: Place) -> Rates:
    """The derivatives by time of all contacts of a place."""
    m = len(place.contacts.gap)
    nothing = np.zeros(m)
    if place.within.moving is False or m == 0:
        return Rates(nothing, nothing, nothing, place.within.moving is False)
    within, t, q, pairs, M = place.within, place.t, place.q, place.contacts.pairs, place.metric
    gap = place.contacts.gap

    def gaps(time: float) -> Array:
        try:
            there = within.linearise(time, q)
        except JostleError:  # at a time far from t the set may not exist: radii that shrink, say
            return np.full(m, np.nan)
        return by_pair(there.pairs, there.gap, pairs, np.nan)

    search = Differences(lambda _, time: gaps(float(time[0])))
    first = search.search(t, np.array([t]), gap).G[:, 0]
    steps = None if search.steps is None else search.steps.step[first != 0.0]
    if steps is None or len(steps) == 0:
        return Rates(nothing, nothing, nothing, False)
    s = float(np.median(steps))
    ahead, behind = (_gradients(within, t + way, q, pairs) for way in (s, -s))
    turning = np.asarray(as_map((ahead - behind) / (2.0 * s)).norms(M))
    return Rates(first, turning, _second(gaps, t, gap, s), False)


def _second(gaps: Callable[[float], Array], t: float, gap: Array, s: float) -> Array:
    """(m,) d^2 g_i / dt^2, by the first step above s that sees a curvature; 0 where none does."""
    # A step that sees more than half of it does is beyond a kink, and t itself is on a straight part.

    def differences(step: float) -> tuple[Array, Array]:
        later, earlier = gaps(t + step), gaps(t - step)
        return later - earlier, (later - gap) + (earlier - gap)

    found, known = np.zeros(len(gap)), np.zeros(len(gap), dtype=bool)
    for _ in range(MAX_RUNGS):
        first, second = differences(s)
        curved = ~known & (np.abs(second) > CURVED * np.abs(first).max(initial=0.0)) & (s > 0.0)
        if curved.any():
            half = differences(s / 2.0)[1] / (s / 2.0) ** 2
            here = second / s**2
            smooth = np.abs(here - half) <= AGREEMENT * np.abs(here)
            found[curved & smooth] = here[curved & smooth]
            known |= curved
        if known.all() or not np.isfinite(first).all():
            break
        s *= RUNG
    return found


def _gradients(within: ConstraintSet, t: float, q: Array, pairs: Integers) -> Array:
    there = within.linearise(t, q)
    rows = by_pair(there.pairs, np.arange(len(there.pairs), dtype=float), pairs).astype(int)
    return np.asarray(there.G.rows(rows).toarray())


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
        bodies = problem.bodies
        if not bodies.apart or period_of(problem.within, 2) is not None or not place.metric.diagonal:
            return None
        radii = np.broadcast_to(bodies.radii_at(place.t), (len(place.q),))
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
    radii = numbers.place.problem.bodies.radii_at(numbers.place.t)
    if numbers.bound is None or np.ptp(radii) > 0.0:
        return None
    return eta(len(numbers.place.q), float(radii.flat[0]))


def moves(numbers: Numbers) -> bool | None:
    """Whether the set moves; None if it does not say so, and nothing moves at this time and place."""
    if numbers.place.within.moving is not None:
        return numbers.place.within.moving
    return True if np.abs(numbers.of_time.first).max(initial=0.0) > 0.0 else None


def _scope(numbers: Numbers) -> str:
    return HERE if _local(numbers) else EVERYWHERE


def _local(numbers: Numbers) -> bool:
    return not numbers.of_gaps.exact
