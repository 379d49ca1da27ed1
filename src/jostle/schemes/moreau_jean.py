"""The Moreau-Jean scheme, on velocities, with restitution: the standard of Siconos, for comparison.

    contacts: the gaps with g(t^n + h/2, q^n) + h/2 G u^n <= 0
    M (u^{n+1} - u^n) = h f^n + G^T p,    0 <= p  ⟂  (G u^{n+1} + d^{n+1}) + e (G u^n + d^n) >= 0
    q^{n+1} = q^n + h (u^n + u^{n+1}) / 2

with d = dg/dt, the rate at which a wall approaches or a radius grows: the law is one on relative velocities. Each
contact may have an e of its own. The second line is one projection of u^n + h M^-1 f^n. At rest (d = 0), and with one e
for all contacts, it is that on the cone C of these contacts: with v = (u^{n+1} + e u^n) / (1 + e), v = P_C of
(u^n + h M^-1 f^n + e u^n) / (1 + e). Velocities obey the law exactly; positions may overlap by O(h).
(Jean 1999; Acary & Brogliato 2008.)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from jostle.arrays import Array
from jostle.convex.metric import Metric
from jostle.convex.polyhedron import Cone, Polyhedron
from jostle.convex.projection import Projection
from jostle.errors import EmptySet
from jostle.laws import ImpactLaw, coefficients
from jostle.problems import Motion
from jostle.schemes.abilities import EXCHANGE, MOVING, NOT_CONVEX, RESTITUTION, SECOND, VARIED_RESTITUTION
from jostle.schemes.base import Scheme
from jostle.schemes.reach import first_reach
from jostle.schemes.state import State
from jostle.sets.contacts import Contacts

DRIFT_NOISE = 16.0
"""The round-off of dg/dt times h, in multiples of that of the gap."""


@dataclass(frozen=True, kw_only=True)
class MoreauJean(Scheme):
    """Velocity level, e in [0, 1]; allows overlaps of order h, which ``sol.overlap`` and ``sol.gaps()`` show.

    Walls and radii may move, and each contact may have an e of its own.

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
        {SECOND, RESTITUTION, VARIED_RESTITUTION, MOVING, NOT_CONVEX, EXCHANGE}
    )

    def step(self, problem: Motion, state: State, h: float) -> State:
        t, q, u, M = state.t, state.q, state.u, problem.metric(state.q)
        predicted = u + h * problem.acceleration(t, q, u)
        contacts = problem.within.near(t + h / 2.0, q, first_reach(h, predicted, u))
        rate = contacts.G @ u.ravel()
        closed = np.flatnonzero(contacts.gap + h / 2.0 * rate <= contacts.tolerance())
        touching = contacts.only(closed)
        drift = touching.drifts(t, h)
        if problem.law.uniform is None or any(rates.any() for rates in drift):
            P = self._on_moving(problem.law, touching, state, predicted, drift, h, M)
            after, p = P.point, P.multipliers
        else:
            P, after, p = self._at_rest(problem.law.uniform, touching, state, predicted, M)
        multipliers = np.zeros(len(contacts.gap))
        multipliers[closed] = p
        return State(t + h, q + h * (u + after) / 2.0, after, P, contacts, multipliers)

    def _at_rest(
        self, e: float, touching: Contacts, state: State, predicted: Array, M: Metric
    ) -> tuple[Projection, Array, Array]:
        """v = P_C, u^{n+1} and p, where nothing moves and all contacts share one e."""
        u, C, guess = state.u, Cone(touching.G, describe=touching.describe), state.impulses_of(touching)
        guess = None if guess is None else guess / (1.0 + e)
        P = self.solver.project((predicted + e * u) / (1.0 + e), C, M, guess)
        return P, (1.0 + e) * P.point - e * u, (1.0 + e) * P.multipliers

    def _on_moving(
        self, law: ImpactLaw, touching: Contacts, state: State, predicted: Array, drift: tuple[Array, Array], h: float,
        M: Metric,
    ) -> Projection:  # fmt: skip
        """u^{n+1} = P_K of the predicted velocity, K = {v : G v + d^{n+1} + e (G u^n + d^n) >= 0}."""
        before = touching.G @ state.u.ravel() + drift[0]
        e = coefficients(law, touching, before)
        noise = DRIFT_NOISE / h * touching.noise if touching.gap_at is not None else 0.0
        K = Polyhedron(touching.G, drift[1] + e * before, describe=touching.describe, noise=noise)
        try:
            return self.solver.project(predicted, K, M, state.impulses_of(touching))
        except EmptySet as error:
            why = "No velocity obeys the law in all of them: they are squeezed, or their restitutions contradict"
            raise EmptySet(f"{error}. {why}", error.rows, error.weights) from None
