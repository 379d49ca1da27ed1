"""The answer to a projection, and the residuals by which anyone can check it.

    min 1/2 |u - w|_M^2  subject to  s = c + G u >= 0,
    M (u - w) = G^T p,   0 <= p  ⟂  s >= 0.

The three residuals are dimensionless and are computed from (w, K, M, u, p) alone, whichever solver
made u and p:

    primal           the largest violation -s_i over the length of its row
    dual             |M (u - w) - G^T p| over |M (u - w)|, and p < 0 in the same unit
    complementarity  sum p |s| over |u - w|_M^2

The sum has |s|, not s: in p . s violated and slack rows cancel. eta = sqrt(2 sum p |s|) / |u - w|_M
estimates the relative error of u: 1/2 |u - u*|_M^2 <= p.s + p*.(-s)_+ with p in the place of p*.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from jostle.arrays import Array
from jostle.convex.maps import Dense, Pairs
from jostle.convex.metric import Metric
from jostle.convex.polyhedron import Polyhedron
from jostle.kernels import compiled

ROUND_OFF = 16 * float(np.finfo(float).eps)
"""A slack below this times |c| + |G| (|u| + |w|), plus the noise of K, is a zero: it was not computed any better."""


TINY = float(np.finfo(float).tiny)


@dataclass(frozen=True, slots=True)
class Residual:
    """How far a pair (u, p) is from the optimality conditions; dimensionless.

    >>> r = Residual(primal=1e-9, dual=0.0, complementarity=2e-8)
    >>> r.eta, r.within(1e-7)
    (0.0002, True)
    """

    primal: float
    dual: float
    complementarity: float

    @property
    def eta(self) -> float:
        """Estimate of the relative error of u, |u - u*|_M / |u - w|_M."""
        return float(np.sqrt(2.0 * self.complementarity))

    @property
    def worst(self) -> float:
        """The largest of the three."""
        return max(self.primal, self.dual, self.complementarity)

    def within(self, tol: float) -> bool:
        """Is every residual at most tol?"""
        return self.worst <= tol


NO_RESIDUAL = Residual(0.0, 0.0, 0.0)


@dataclass(frozen=True, eq=False, slots=True)
class Projection:
    """The nearest point of a set, its multipliers, and how good they are.

    >>> import jostle as jo
    >>> P = jo.project([-2.0, 1.0], jo.Cone([[1.0, 0.0]]))
    >>> P.point.tolist(), P.multipliers.tolist(), P.converged, P.solver
    ([0.0, 1.0], [2.0], True, 'Exact')
    """

    point: Array
    """The projection, in the shape of what was projected."""
    multipliers: Array
    """p >= 0, one per row. Not unique when rows depend on each other; the point is."""
    residual: Residual
    iterations: int
    """Iterations of all solvers that tried, one after the other."""
    converged: bool
    solver: str
    """The name of the solver that made it."""
    remark: str = ""
    """Which method or test was left out, and why: factors too large for the memory, a proof of emptiness not found in
    time. Empty if nothing was left out."""


def residual(w: Array, K: Polyhedron, M: Metric, u: Array, p: Array) -> Residual:
    """The residuals of (u, p) as the projection of w on K in the metric M (flat vectors)."""
    if isinstance(K.G, Dense) and M.diagonal:
        out = np.empty(3)
        compiled().residual_dense(K.G.array, K.c, w, M.mass, u, p, K.length, ROUND_OFF, K.noise, out)
        return Residual(*out.tolist())
    if isinstance(K.G, Pairs) and M.diagonal:
        out, shape = np.empty(3), (K.G.bodies, K.G.dimension)
        by_body = (vector.reshape(shape) for vector in (w, M.mass, u))
        compiled().residual_pairs(K.G.i, K.G.j, K.G.normal, K.c, *by_body, p, K.length, ROUND_OFF, K.noise, out)
        return Residual(*out.tolist())
    if not np.isfinite(u).all() or not np.isfinite(p).all():
        return Residual(np.inf, np.inf, np.inf)
    slack = K.c + (K.G @ u)
    noise = K.noise + ROUND_OFF * (np.abs(K.c) + K.G.magnitude(np.abs(u) + np.abs(w)))
    slack = np.where(np.abs(slack) <= noise, 0.0, slack)
    moved, reaction = u - w, K.G.adjoint(p)
    distance = M.norm(moved)
    unit = K.G.norms(M)

    violation, known = np.maximum(-slack, 0.0), K.length > 0.0
    relative = (violation[known] / K.length[known]).max(initial=0.0)
    moved_by = (violation[~known] / np.maximum(unit[~known], TINY)).max(initial=0.0)

    gap = M.times(moved) - reaction
    stationarity = np.sqrt(max(float(gap @ M.solve(gap)), 0.0))
    rounding = ROUND_OFF * (M.norm(np.abs(w) + np.abs(u)) + float(np.abs(p) @ unit))
    if not M.diagonal:  # an ill-conditioned matrix loses digits of its own
        sizes = np.abs(M.mass) @ (np.abs(w) + np.abs(u)) + np.abs(p) @ np.abs(K.G.toarray())
        rounding = max(rounding, ROUND_OFF * float(np.linalg.norm(np.abs(M.root) @ sizes)))
    negative = max(0.0, float((-p * unit).max(initial=0.0)))
    product = float(np.abs(p) @ np.abs(slack))
    return Residual(
        max(float(relative), _ratio(float(moved_by), distance)),
        _ratio(max(float(stationarity) - rounding, 0.0) + negative, distance),
        _ratio(product, distance**2),
    )


def _ratio(size: float, scale: float) -> float:
    """size / scale, where 0 / 0 = 0 and x / 0 = infinity."""
    if size == 0.0:
        return 0.0
    return size / scale if scale > 0.0 else np.inf
