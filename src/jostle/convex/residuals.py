"""How good the answer to a projection is, by (w, K, M, u, p) alone, whichever solver made u and p.

    min 1/2 |u - w|_M^2  subject to  s = c + G u >= 0,
    M (u - w) = G^T p,   0 <= p  ⟂  s >= 0.

The three residuals are dimensionless:

    primal           the largest violation -s_i over the length of its row
    dual             |M (u - w) - G^T p| over |M (u - w)|, and p < 0 in the same unit
    complementarity  sum |p| |s| over |u - w|_M^2

For an equality, s_i = 0, the violation is |s_i|, and p_i may have any sign. For a block in a friction cone the
violation is -s_n by Coulomb's law and mu |s_T| - s_n by the convex one. The dual residual has the distance of p from
the cone, and the complementarity is the sum of p_n times the violation or the slack and of mu p_n |s_T| + p_T . s_T.
The natural map |p - P_K(p - rho (s + mu |s_T| n))| is a fourth residual, for information.

From a tolerance of 1e-6 on, slacks of contacts with friction up to tol / 4 times their length count as zero in the
first and the third residual (`Rows.with_noise`), but not in the natural map.

The sum has |s|, not s: in p . s violated and slack rows cancel. eta = sqrt(2 sum p |s|) / |u - w|_M
estimates the relative error of u: 1/2 |u - u*|_M^2 <= p.s + p*.(-s)_+ with p in the place of p*.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import numpy as np

from jostle._tools.arrays import Array
from jostle.convex.cones import Cones
from jostle.convex.linear_map import LinearMap
from jostle.convex.metric import Metric
from jostle.convex.rows import Rows
from jostle.kernels import Answer
from jostle.kernels.reference.cones import residual_of_cones
from jostle.kernels.reference.dense import ROUND_OFF
from jostle.kernels.reference.residuals import ratios

TINY = float(np.finfo(float).tiny)


@dataclass(frozen=True, slots=True)
class Residual:
    """How far a pair (u, p) is from the optimality conditions of a projection; dimensionless.

    Attributes
    ----------
    primal : float
        Largest violation of a row, as a fraction of its length.
    dual : float
        |M (u - w) - G^T p| as a fraction of |M (u - w)|, and negative multipliers in the same unit.
    complementarity : float
        Sum of |p| |s| over all rows, as a fraction of |u - w|_M^2.
    natural : float
        With friction cones, the distance of the multipliers from p = P_K(p - rho (s + mu |s_T| n)), as a fraction of
        |u - w|_M; by the convex law without mu |s_T| n. Otherwise 0.

    Examples
    --------
    >>> r = Residual(primal=1e-9, dual=0.0, complementarity=2e-8)
    >>> r.eta, r.within(1e-7)
    (0.0002, True)
    """

    primal: float
    dual: float
    complementarity: float
    natural: float = 0.0

    @property
    def eta(self) -> float:
        """Estimate of the relative error of u, |u - u*|_M / |u - w|_M."""
        return float(np.sqrt(2.0 * self.complementarity))

    @property
    def worst(self) -> float:
        """The largest of primal, dual and complementarity."""
        return max(self.primal, self.dual, self.complementarity)

    def within(self, tol: float) -> bool:
        """Whether every residual is at most a tolerance.

        Parameters
        ----------
        tol : float
            The tolerance.

        Returns
        -------
        bool
            True if the worst residual is at most `tol`.
        """
        return self.worst <= tol


NO_RESIDUAL = Residual(0.0, 0.0, 0.0)


def residual(w: Array, K: Rows, M: Metric, u: Array, p: Array) -> Residual:
    """The residuals of (u, p) as the projection of w on K in the metric M (flat vectors)."""
    if M.diagonal and K.equal is None:
        compiled = K.G.residuals(Answer(K.c, K.noise, K.length, w, M.mass, u, p), K.cones, M)
        if compiled is not None:
            return Residual(*compiled)
    return Residual(*(_general(w, K, M, u, p) if K.cones is None else _with_cones(w, K, K.cones, M, u, p)))


def _general(w: Array, K: Rows, M: Metric, u: Array, p: Array) -> tuple[float, float, float]:
    """The primal, dual and complementarity residuals of rows of any form."""
    if not np.isfinite(u).all() or not np.isfinite(p).all():
        return np.inf, np.inf, np.inf
    slack = K.c + (K.G @ u)
    noise = K.noise + ROUND_OFF * (np.abs(K.c) + K.G.magnitude(np.abs(u) + np.abs(w)))
    slack = np.where(np.abs(slack) <= noise, 0.0, slack)
    unit = K.G.norms(M)
    violation, known = np.maximum(-slack, 0.0), K.length > 0.0
    pushed = -p
    if K.equal is not None:  # a slack of any sign violates an equality, and its multiplier has any sign
        violation, pushed = np.where(K.equal, np.abs(slack), violation), np.where(K.equal, 0.0, pushed)
    relative = (violation[known] / K.length[known]).max(initial=0.0)
    moved_by = (violation[~known] / np.maximum(unit[~known], TINY)).max(initial=0.0)
    negative = max(0.0, float((pushed * unit).max(initial=0.0)))
    product = float(np.abs(p) @ np.abs(slack))
    return ratios(relative, moved_by, _imbalance(K.G, M, w, u, p, unit), negative, product, M.norm(u - w))


def _with_cones(w: Array, K: Rows, cones: Cones, M: Metric, u: Array, p: Array) -> tuple[float, float, float, float]:
    """The primal, dual and complementarity residuals and the natural map where rows are in friction cones.

    Margins, slips and relative spins below their noise count as zero, except in the natural map.
    """
    if not np.isfinite(u).all() or not np.isfinite(p).all():
        return np.inf, np.inf, np.inf, np.inf
    first, G = cones.rows, K.G
    slack = K.c + (G @ u)
    noise = K.noise + ROUND_OFF * (np.abs(K.c) + G.magnitude(np.abs(u) + np.abs(w)))
    norms, scale = G.norms(M), G.majorants(cones.axis, cones.height, M)
    free = np.zeros(len(slack) - first, dtype=bool) if K.equal is None else K.equal[first:]
    others = np.where(np.abs(slack) <= noise, 0.0, slack)[first:], p[first:], K.length[first:], norms[first:], free
    kinds = cones.axis, cones.mu, cones.resistance, scale, cones.coulomb
    s, fuzz, q = cones.blocks_of(slack), cones.blocks_of(noise), cones.blocks_of(p)
    length, lack = cones.blocks_of(K.length)[:, 0], _imbalance(G, M, w, u, p, norms)
    return residual_of_cones(s, fuzz, q, length, *kinds, others, lack, M.norm(u - w))


def _imbalance(G: LinearMap, M: Metric, w: Array, u: Array, p: Array, unit: Array) -> float:
    """|M (u - w) - G^T p| in the dual norm, less its round-off; unit has the lengths of the rows."""
    gap, size = M.times(u - w) - G.adjoint(p), np.abs(w) + np.abs(u)
    rounding = ROUND_OFF * (M.norm(size) + float(np.abs(p) @ unit))
    if not M.diagonal:  # an ill-conditioned matrix loses digits of its own
        sizes = np.abs(M.root) @ (np.abs(M.mass) @ size + np.abs(p) @ np.abs(G.toarray()))
        rounding = max(rounding, ROUND_OFF * sqrt(float(sizes.dot(sizes))))
    return sqrt(max(float(gap @ M.solve(gap)), 0.0)) - rounding
