"""Maury's scheme for inelastic contacts: Bernicot & Lefebvre-Lepot 2010, (1.11)-(1.15).

    f^n     = 1/h int_{t^n}^{t^{n+1}} f(s, q^n) ds
    u^{n+1} = P_{K_h(t^{n+1}, q^n)} [u^n + h M^-1 f^n]                                         (1.13)
    q^{n+1} = q^n + h u^{n+1}                                                               (1.14)

Guarantee: if every gap is convex in q, q^n stays in Q(t^n) for every h; no body passes through another, or through a
wall at rest. In free flight it is the Störmer-Verlet scheme without its first half kick: order 1, and order 2 if
started with v0 - h f(0) / 2M. With equalities it is SHAKE (Ryckaert, Ciccotti & Berendsen 1977) with linearised
constraints: the same orders, and gaps that stay O(h^2) for all times. A `StiffForce` is taken implicitly, at q^n + h
u^{n+1}, by the linearly implicit Euler method: (1.13) in the metric M + h C + h^2 K, see `jostle.schemes.stiffness`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np

from jostle._tools.arguments import Count
from jostle._tools.arrays import Array
from jostle.convex.metric import Metric
from jostle.errors import InvalidValue
from jostle.problems import Motion
from jostle.schemes.base import Scheme
from jostle.schemes.capabilities import EQUALITIES, EXCHANGE, MOVING, SECOND, STIFF, TURNING
from jostle.schemes.cutoff import overlap_left, project_velocity, velocities_of_step
from jostle.schemes.friction import has_friction
from jostle.schemes.state import State
from jostle.schemes.stiffness import effective_metric, stiffness_times

MAX_GAP_TOL = 0.1
"""Surfaces with a larger gap, as a fraction of the smallest radius, are visibly apart."""


@dataclass(frozen=True, kw_only=True)
class Maury(Scheme):
    """Maury's scheme for inelastic contacts: Bernicot & Lefebvre-Lepot 2010, (1.11)-(1.15); the scheme of SCoPI.

    For bodies with inertia that do not bounce (e = 0), and many constraints, which may move. No overlaps at any
    step size, if every gap is convex in q.

    Parameters
    ----------
    solver : Solver, default Automatic()
        Solves the projections.
    samples : int, default 2
        Number of Gauss points of the average force f^n over a step; a constant force is not sampled.
    gap_tol : float, default 1e-4
        With Coulomb's law, surfaces that touched in the step before still do up to this gap, as a fraction of their
        length (the smallest radius), and overlaps up to it are not closed at once: in a pile, what is left of gaps
        contradicts itself. From 0, which switches it off for studies of convergence, to 0.1. Without friction it has
        no effect.

    Examples
    --------
    >>> import jostle as jo
    >>> ball = jo.Motion(q0=[1.0], force=[-10.0], within=jo.HalfSpace([1.0]))
    >>> jo.solve(ball, jo.Maury(), t=1.0, h=0.01).q[-1].round(12).tolist()
    [0.0]
    """

    capabilities: ClassVar[frozenset[str]] = frozenset({SECOND, MOVING, EXCHANGE, EQUALITIES, STIFF, TURNING})
    linearises: ClassVar[bool] = True
    theta: ClassVar[float] = 1.0
    balances: ClassVar[bool] = True
    on_devices: ClassVar[bool] = True

    samples: Count = 2
    gap_tol: float = 1e-4

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0.0 <= self.gap_tol <= MAX_GAP_TOL:
            raise InvalidValue(f"gap_tol is a fraction of the radius, from 0 to {MAX_GAP_TOL:g}, not {self.gap_tol}")

    def overlap_at_start(self, problem: Motion) -> float:
        return self.gap_tol + self.solver.tol if has_friction(problem) and self.gap_tol > 0.0 else 0.0

    def step(self, problem: Motion, state: State, h: float) -> State:
        # One step: (1.13)-(1.14) of Bernicot & Lefebvre-Lepot 2010.
        pose, gap_tol = state.pose, self.gap_tol if has_friction(problem) else 0.0
        spun = problem.spun(state.t + h / 2.0, pose, state.w, h)
        predicted, W = pose.with_spins(*self.predict(problem, state.t, state.q, state.u, h), spun)
        contacts, (P, p) = project_velocity(self.solver, problem, state, h, predicted, W, gap_tol)
        overlap = 0.0
        if gap_tol:  # the residual does not have overlaps that count as closed
            overlap = overlap_left(velocities_of_step(contacts, state, h), P.point)
        return State(state.t + h, *pose.moved(P.point, h), P, contacts, p, overshoot=overlap)

    def predict(self, problem: Motion, t: float, q: Array, u: Array, h: float) -> tuple[Array, Metric]:
        """The velocity after a step without contacts, u^n + h W^-1 (f^n - h K u^n), and the metric W = M + h C + h^2 K.

        Parameters
        ----------
        problem, t, q, u, h : Motion, float, array, array, float
            The problem; time, positions and velocities before the step; and the time step.

        Returns
        -------
        predicted : array
            The velocity that is projected, in the shape of q.
        W : Metric
            The metric of the projection; M for a force without slopes.
        """
        f = problem.constant_force
        if f is None:
            f = self._mean_force(problem, t, q, u, h)
        if problem.stiff is None:
            W = problem.bodies.metric(q)
        else:
            W, f = effective_metric(problem, self.theta, t, q, u, h), f - h * stiffness_times(problem, t, q, u)
        return u + h * W.solve(f.ravel()).reshape(q.shape), W

    def _mean_force(self, problem: Motion, t: float, q: Array, u: Array, h: float) -> Array:
        """The average f^n of a force over a step, at fixed positions and velocities."""
        points, weights = gauss(self.samples)
        values = [problem.force(t + h * s, q, u) for s in points]
        mean: Array = sum(weight * value for weight, value in zip(weights, values, strict=True))
        return mean


@lru_cache
def gauss(samples: int) -> tuple[Array, Array]:
    """The points and weights of Gauss and Legendre on [0, 1]."""
    points, weights = np.polynomial.legendre.leggauss(samples)
    return (points + 1.0) / 2.0, weights / 2.0
