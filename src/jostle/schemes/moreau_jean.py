"""The Moreau-Jean scheme, on velocities, with restitution: the standard of Siconos, for comparison.

    contacts: the gaps with g(t^n + h/2, q^n) + h/2 G u^n <= 0
    M (u^{n+1} - u^n) = h f^n + G^T p,    0 <= p  ⟂  (G u^{n+1} + d^{n+1}) + e (G u^n + d^n) >= 0
    q^{n+1} = q^n + h (u^n + u^{n+1}) / 2

with d = dg/dt, the rate at which a wall approaches or a radius grows: the law is one on relative velocities. Each
contact may have an e of its own. The second line is one projection of u^n + h M^-1 f^n. At rest (d = 0), and with one e
for all contacts, it is that on the cone C of these contacts: with v = (u^{n+1} + e u^n) / (1 + e), v = P_C of
(u^n + h M^-1 f^n + e u^n) / (1 + e). Velocities obey the law exactly; positions may overlap by O(h).
(Jean 1999; Acary & Brogliato 2008.)

Equalities are always active, and have no restitution. With G u^{n+1} = 0 the gap of a rod would grow by h^2 |v|^2 / L
in every step, without end. The midpoints m^n = q^n + h u^n / 2 obey m^{n+1} = m^n + h u^{n+1}, which is a step of
Maury's scheme, and so equalities are linearised there:

    g(m^n) + h G(m^n) u^{n+1} = 0

Gaps of equalities then stay O(h^2) for all times, and positions are of order 2 where there are no impacts. A start
velocity across equalities is first projected on {u : G u = 0}, as by an impact at the start.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from jostle.arguments import explain_wrong_calls
from jostle.arrays import Array, Integers
from jostle.convex.maps import stacked
from jostle.convex.metric import Metric
from jostle.convex.polyhedron import Cone, Polyhedron
from jostle.convex.projection import Projection
from jostle.errors import EmptySet
from jostle.laws import ImpactLaw, coefficients
from jostle.problems import Motion
from jostle.schemes.abilities import EQUALITIES, EXCHANGE, MOVING, NOT_CONVEX, RESTITUTION, SECOND, VARIED_RESTITUTION
from jostle.schemes.base import Scheme
from jostle.schemes.reach import first_reach
from jostle.schemes.state import State
from jostle.sets.contacts import Contacts

DRIFT_NOISE = 16.0
"""The round-off of dg/dt times h, in multiples of that of the gap."""


@explain_wrong_calls
@dataclass(frozen=True, kw_only=True)
class MoreauJean(Scheme):
    """Second order on velocities, e in [0, 1]; positions may overlap by O(h), which ``sol.overlap`` shows.

    Walls and radii may move, and each contact may have its own e.

    Parameters
    ----------
    solver : Solver, default Automatic()
        Solves the projections.

    Examples
    --------
    >>> import jostle as jo
    >>> ball = jo.Motion(q0=[1.0], v0=[-1.0], within=jo.HalfSpace([1.0]), law=jo.Restitution(0.5))
    >>> jo.solve(ball, jo.MoreauJean(), t=1.8, h=0.03).u[-1].round(12).tolist()
    [0.5]
    >>> piston = jo.HalfSpace([1.0], offset=lambda t: 2.0 * t)
    >>> ball = jo.Motion(q0=[1.0], v0=[-1.0], within=piston, law=jo.Restitution(0.5))
    >>> jo.solve(ball, jo.MoreauJean(), t=1.8, h=0.03).u[-1].round(12).tolist()       # 0.5 + 1.5 times 2
    [3.5]
    """

    abilities: ClassVar[frozenset[str]] = frozenset(
        {SECOND, RESTITUTION, VARIED_RESTITUTION, MOVING, NOT_CONVEX, EXCHANGE, EQUALITIES}
    )

    def step(self, problem: Motion, state: State, h: float) -> State:
        """One step: Moreau's law for the velocities, and positions by their mean.

        Parameters
        ----------
        problem : Motion
            The problem of the bodies that are present.
        state : State
            The state before the step.
        h : float
            Time step.

        Returns
        -------
        State
            The state after the step.

        Raises
        ------
        EmptySet
            If no velocity obeys the law in all contacts: they are squeezed, or their coefficients contradict each
            other.
        """
        t, q, u, M = state.t, state.q, state.u, problem.metric(state.q)
        if state.projection is None and problem.within.equalities:
            u = self._along_equalities(problem, t, q, u, M)
        predicted = u + h * problem.acceleration(t, q, u)
        contacts = problem.within.near(t + h / 2.0, q, first_reach(h, predicted, u))
        if contacts.equal is not None:
            contacts = _with_equalities_at_midpoint(problem, contacts, t, q, u, h)
        rate = contacts.G @ u.ravel()
        closed = _closed(contacts, rate, h, np.abs(u) + np.abs(predicted))
        P, after, p = self._impact(problem.law, contacts.only(closed), state, u, rate[closed], predicted, h, M)
        multipliers = np.zeros(len(contacts.gap))
        multipliers[closed] = p
        return State(t + h, q + h * (u + after) / 2.0, after, P, contacts, multipliers)

    def _impact(
        self, law: ImpactLaw, touching: Contacts, state: State, u: Array, rate: Array, predicted: Array, h: float,
        M: Metric,
    ) -> tuple[Projection, Array, Array]:  # fmt: skip
        """The law in all contacts that touch: the projection, u^{n+1} and p."""
        guess, drift = state.impulses_of(touching), _drifts(touching, state.t, h)
        if law.uniform is None or any(rates.any() for rates in drift):
            P = self._on_moving(law, touching, guess, rate, predicted, drift, h, M)
            return P, P.point, P.multipliers
        e = law.uniform
        C, guess = _velocities(touching, rate, e, h), None if guess is None else guess / (1.0 + e)
        P = self.solver.project((predicted + e * u) / (1.0 + e), C, M, guess)
        return P, (1.0 + e) * P.point - e * u, (1.0 + e) * P.multipliers

    def _on_moving(
        self, law: ImpactLaw, touching: Contacts, guess: Array | None, rate: Array, predicted: Array,
        drift: tuple[Array, Array], h: float, M: Metric,
    ) -> Projection:  # fmt: skip
        """u^{n+1} = P_K of the predicted velocity, K = {v : G v + d^{n+1} + e (G u^n + d^n) >= 0}; in equalities
        K has g + h G v = 0."""
        before = rate + drift[0]
        c = drift[1] + coefficients(law, touching, before) * before
        noise = DRIFT_NOISE / h * touching.noise if touching.gap_at is not None else np.zeros(len(c))
        length, equal = np.zeros(len(c)), touching.equal
        if equal is not None:
            c, noise = np.where(equal, touching.gap / h, c), np.where(equal, touching.noise / h, noise)
            length = np.where(equal, touching.length / h, 0.0)
        K = Polyhedron(touching.G, c, length=length, describe=touching.describe, noise=noise, equal=equal)
        try:
            return self.solver.project(predicted, K, M, guess)
        except EmptySet as error:
            why = "No velocity obeys the law in all of them: they are squeezed, or their restitutions contradict"
            raise error.because(why) from None

    def _along_equalities(self, problem: Motion, t: float, q: Array, u: Array, M: Metric) -> Array:
        """The nearest velocity to u with G u = 0 in all equalities."""
        there = problem.within.equal_part().linearise(t, q)
        return self.solver.project(u, Cone(there.G, describe=there.describe, equal=there.equal), M).point


def _closed(contacts: Contacts, rate: Array, h: float, speed: Array) -> Integers:
    """The rows with g + h/2 G u^n <= 0, up to the round-off of places and speeds, and all equalities."""
    near = contacts.gap + h / 2.0 * rate <= contacts.tolerance(h / 2.0 * speed)
    return np.flatnonzero(near if contacts.equal is None else near | contacts.equal)


def _drifts(contacts: Contacts, t: float, h: float) -> tuple[Array, Array]:
    """dg/dt at both ends of the step; zero in equalities, whose gaps are taken at the end of the step."""
    first, last = contacts.drifts(t, h)
    if contacts.equal is None:
        return first, last
    return np.where(contacts.equal, 0.0, first), np.where(contacts.equal, 0.0, last)


def _with_equalities_at_midpoint(
    problem: Motion, contacts: Contacts, t: float, q: Array, u: Array, h: float
) -> Contacts:
    """The contacts, the equalities last, with the gaps and gradients of these at q + h u / 2 and the time that goes
    with the next midpoint."""
    there = problem.within.equal_part().linearise(t + 1.5 * h, q + h / 2.0 * u)
    assert there.equal is not None
    assert contacts.equal is not None
    there = there.only(np.flatnonzero(there.equal))
    open_rows = np.flatnonzero(~contacts.equal)
    loose, order = contacts.only(open_rows), np.append(open_rows, np.flatnonzero(contacts.equal))
    return replace(
        contacts.only(order),
        gap=np.append(loose.gap, there.gap),
        G=stacked(loose.G, there.G),
        length=np.append(loose.length, there.length),
        bend=None,
    )


def _velocities(contacts: Contacts, rate: Array, e: float, h: float) -> Polyhedron:
    """The v = (u^{n+1} + e u^n) / (1 + e) that closed contacts allow: the cone C, and g + h G u^{n+1} = 0."""
    if contacts.equal is None:
        return Cone(contacts.G, describe=contacts.describe)
    return Polyhedron(
        contacts.G,
        np.where(contacts.equal, (contacts.gap / h - e * rate) / (1.0 + e), 0.0),
        length=np.where(contacts.equal, contacts.length / h, 0.0),
        describe=contacts.describe,
        noise=np.where(contacts.equal, contacts.noise / h, 0.0),
        equal=contacts.equal,
    )
