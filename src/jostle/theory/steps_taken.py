"""The steps of a solution, one by one: what the checks of the inclusion look at.

From the saved velocities, multipliers and normals follows for each step from t^n to t^{n+1} the impulse of the
contacts, J = G^T p, and that of the forces. All steps must have been saved.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from jostle.arrays import Array
from jostle.convex.metric import Metric, metric
from jostle.errors import InvalidValue
from jostle.problems import Motion, Sweeping
from jostle.refinement import SAME_TIME
from jostle.schemes.catching_up import CatchingUp
from jostle.schemes.maury import Maury
from jostle.schemes.moreau_jean import MoreauJean
from jostle.schemes.paoli import Paoli
from jostle.sets.contacts import by_pair
from jostle.sets.presence import Presence
from jostle.solution import Solution
from jostle.theory.places import position


@dataclass(frozen=True, eq=False)
class Taken:
    """One step of a solution, with flat arrays."""

    k: int
    """The number of the frame that it led to."""
    h: float
    before: Array
    """u^n, or the desired velocity U(t^n, q^n) of a `Sweeping`."""
    after: Array
    """u^{n+1}."""
    reaction: Array
    """J = G^T p."""
    driving: Array | None
    """The impulse of the forces, h f; zero for a `Sweeping`, None if the forces are not known."""
    metric: Metric

    @property
    def imbalance(self) -> float:
        """|M (u^{n+1} - u^n) - h f - G^T p| in the dual norm of M."""
        rest = self.metric.times(self.after - self.before) - self.reaction
        rest = rest if self.driving is None else rest - self.driving
        return self.metric.norm(self.metric.solve(rest))

    @property
    def size(self) -> float:
        """The impulses that the imbalance is compared with."""
        parts = [self.reaction, np.zeros(1)[:0] if self.driving is None else self.driving]
        dual = [self.metric.norm(self.metric.solve(part)) for part in parts if part.size]
        return sum(dual) + self.metric.norm(self.after - self.before)

    @property
    def work(self) -> float:
        """The work of the contacts, J . (u^n + u^{n+1}) / 2."""
        return float(self.reaction @ (self.before + self.after)) / 2.0


def why_not(sol: Solution) -> str:
    """Why the steps of a solution are not known; empty if they are."""
    if not sol.contacts_saved:
        return "the file contains no contacts: save them with jo.io.Output(path, contacts=True)"
    ends = sol.stats["t"]
    if len(ends) != len(sol.t) - 1 or not np.allclose(ends, sol.t[1:], rtol=0.0, atol=SAME_TIME * np.ptp(sol.t)):
        return f"only {len(sol.t) - 1} of {len(ends)} steps were saved: leave out every="
    if sol.order == 0:
        return "the file does not say of which order its problem is"
    return ""


def taken(sol: Solution) -> Iterator[Taken]:
    """All steps of a solution of which `why_not` has no objection."""
    q, u = np.asarray(sol.q), np.asarray(sol.u)
    for k in range(1, len(sol.t)):
        here = np.isfinite(q[k - 1]) & np.isfinite(q[k])  # who came in or left in this step is left out
        there = _placed(sol, q[k - 1])
        J, M = impulse(sol, k), _metric(sol, there)
        before, driving, M = _start(sol, k, there, u[k - 1], u[k], M)
        mask = here.ravel()
        yield Taken(
            k,
            float(sol.stats["h"][k - 1]),
            np.where(mask, before.ravel(), 0.0),
            np.where(mask, u[k].ravel(), 0.0),
            np.where(mask, J.ravel(), 0.0),
            None if driving is None else np.where(mask, driving.ravel(), 0.0),
            M,
        )


def impulse(sol: Solution, k: int) -> Array:
    """G^T p of the step that led to frame k, in the shape of q."""
    p, pairs, normals = np.asarray(sol.multipliers[k]), np.asarray(sol.pairs[k]), np.asarray(sol.normals[k])
    J = np.zeros(sol.q.shape[1:])
    if not p.any():
        return J
    if normals.ndim == 2 and normals.shape[1] and J.size % normals.shape[1] == 0:
        bodies = J.reshape(-1, normals.shape[1])
        np.add.at(bodies, pairs[:, 0], -p[:, None] * normals)
        two = pairs[:, 1] >= 0
        np.add.at(bodies, pairs[two, 1], p[two, None] * normals[two])
        return J
    if not isinstance(sol.problem, Motion | Sweeping):
        raise InvalidValue("the gradients are not in the file: give the problem, jo.io.read(path, problem)")
    within, (t, x) = sol.problem.within, _linearised_at(sol, k)
    contacts = within.linearise(t, x)
    each = by_pair(pairs, p, contacts.pairs)
    if contacts.equal is None or not isinstance(sol.scheme, MoreauJean):
        return contacts.G.adjoint(each).reshape(J.shape)
    h = float(sol.stats["h"][k - 1])
    middle = within.linearise(t + 1.5 * h, x + h / 2.0 * np.asarray(sol.u[k - 1]))  # where MoreauJean has equalities
    held = np.where(contacts.equal, each, 0.0)
    return (contacts.G.adjoint(each - held) + middle.G.adjoint(held)).reshape(J.shape)


def _linearised_at(sol: Solution, k: int) -> tuple[float, Array]:
    """The time and place at which the scheme linearised the constraints of the step that led to frame k."""
    if isinstance(sol.scheme, CatchingUp | Paoli):
        return float(sol.t[k - 1] if isinstance(sol.scheme, Paoli) else sol.t[k]), position(sol, k)
    early = isinstance(sol.scheme, MoreauJean)
    return float(sol.t[k - 1] if early else sol.t[k]), np.asarray(sol.q[k - 1], dtype=float)


def _placed(sol: Solution, q: Array) -> Array:
    """q with those who are not there put aside, as in the run."""
    here = np.isfinite(q)
    if here.all() or not isinstance(sol.problem, Motion | Sweeping):
        return q
    return Presence.of(q, here.all(axis=1), sol.problem.within.widest()).placed(q)


def _metric(sol: Solution, q: Array) -> Metric:
    if isinstance(sol.problem, Motion | Sweeping):
        return sol.problem.metric(q)
    if sol.facts.masses is not None:
        return metric(np.repeat(sol.facts.masses, q.size // len(sol.facts.masses)), (q.size,))
    if sol.order == 1 and not sol.facts.weighted:
        return metric(1.0, q.shape)
    raise InvalidValue("the masses are not in the file: give the problem, jo.io.read(path, problem)")


def _start(sol: Solution, k: int, q: Array, u: Array, u_next: Array, M: Metric) -> tuple[Array, Array | None, Metric]:
    """The velocity before the step, the impulse of the forces in it, and the metric of its projection."""
    problem, scheme, t = sol.problem, sol.scheme, float(sol.t[k - 1])
    if sol.order == 1:
        if not isinstance(problem, Sweeping):
            raise InvalidValue("the desired velocity is not in the file: give the problem, jo.io.read(path, problem)")
        return problem.velocity(t, q), np.zeros_like(q), M
    known = None if sol.durations is None else float(sol.durations[k])
    h = float(sol.stats["h"][k - 1]) if known is None or not np.isfinite(known) else known
    if not isinstance(problem, Motion):
        constant = sol.facts.force
        return u, None if constant is None else h * np.broadcast_to(constant, q.shape), M
    if isinstance(scheme, Maury | MoreauJean):
        predicted, M = scheme.predict(problem, t, q, u, h)
        return u, M.times((predicted - u).ravel()).reshape(q.shape), M
    implicit = isinstance(scheme, Paoli) and scheme.implicit
    return u, h * problem.force(t, q, (u + u_next) / 2.0 if implicit else u), M
