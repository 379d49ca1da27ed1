"""The Moreau-Jean scheme, on velocities, with restitution: the standard of Siconos, for comparison.

    contacts: the gaps with g(q^n) + h/2 G u^n <= 0
    M (u^{n+1} - u^n) = h f^n + G^T p,    0 <= p  ⟂  G u^{n+1} + e G u^n >= 0
    q^{n+1} = q^n + h (u^n + u^{n+1}) / 2

With v = (u^{n+1} + e u^n) / (1 + e) the second line is one projection on the cone C of these contacts, v = P_C of
(u^n + h M^-1 f^n + e u^n) / (1 + e). Velocities obey the law exactly; positions may overlap by O(h).
(Jean 1999; Acary & Brogliato 2008.)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from jostle.convex.polyhedron import Cone
from jostle.problems import Motion
from jostle.schemes.abilities import EXCHANGE, NOT_CONVEX, RESTITUTION, SECOND
from jostle.schemes.base import Scheme
from jostle.schemes.reach import first_reach
from jostle.schemes.state import State


@dataclass(frozen=True, kw_only=True)
class MoreauJean(Scheme):
    """Velocity level, e in [0, 1]; allows overlaps of order h, which ``sol.overlap`` and ``sol.gaps()`` show.

    >>> import jostle as jo
    >>> ball = jo.Motion(q0=[1.0], v0=[-1.0], within=jo.HalfSpace([1.0]), law=jo.Restitution(0.5))
    >>> jo.solve(ball, jo.MoreauJean(), t=1.8, h=0.03).u[-1].round(12).tolist()
    [0.5]
    """

    abilities: ClassVar[frozenset[str]] = frozenset({SECOND, RESTITUTION, NOT_CONVEX, EXCHANGE})

    def step(self, problem: Motion, state: State, h: float) -> State:
        t, q, u = state.t, state.q, state.u
        e, M = problem.law.e, problem.metric(q)
        predicted = u + h * problem.acceleration(t, q, u)
        contacts = problem.within.near(t, q, first_reach(h, predicted, u))
        rate = contacts.G @ u.ravel()
        closed = np.flatnonzero(contacts.gap + h / 2.0 * rate <= contacts.tolerance())
        touching = contacts.only(closed)
        C = Cone(touching.G, describe=touching.describe)
        guess = state.impulses_of(touching)
        guess = None if guess is None else guess / (1.0 + e)
        P = self.solver.project((predicted + e * u) / (1.0 + e), C, M, guess)
        after = (1.0 + e) * P.point - e * u
        multipliers = np.zeros(len(contacts.gap))
        multipliers[closed] = (1.0 + e) * P.multipliers
        return State(t + h, q + h * (u + after) / 2.0, after, P, contacts, multipliers)
