"""The result of a projection, and the residuals that it is checked by.

    min 1/2 |u - w|_M^2  subject to  s = c + G u >= 0,
    M (u - w) = G^T p,   0 <= p  ⟂  s >= 0.

The three residuals are dimensionless and are computed from (w, K, M, u, p) alone, whichever solver
made u and p:

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

import numpy as np

from jostle._tools.arrays import Array, to_host
from jostle._tools.displays import html
from jostle.convex.metric import Metric
from jostle.convex.rows import Rows

MAX_NUMBERS = 12
"""Largest number of coordinates that the text of a projection shows."""


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


@dataclass(frozen=True, eq=False, slots=True, repr=False)
class Projection:
    """The nearest point of a set, its multipliers, and how good they are.

    Attributes
    ----------
    point : array
        The projection, in the shape of the point that was projected.
    multipliers : array, shape (m,)
        p >= 0 for each row, of any sign where the row is an equality. They are not unique where rows depend on each
        other; the point is.
    residual : Residual
        How far point and multipliers are from the optimality conditions.
    iterations : int
        Iterations of all algorithms that tried, one after the other.
    converged : bool
        True if the worst residual is at most the tolerance of the solver.
    solver : str
        Name of the solver that found the point.
    remark : str
        Which algorithm or test was left out, and why: factors too large for the memory, or a proof of emptiness not
        found in time. Empty if nothing was left out.

    Examples
    --------
    >>> import jostle as jo
    >>> P = jo.project([-2.0, 1.0], jo.convex.Cone([[1.0, 0.0]]))
    >>> P.point.tolist(), P.multipliers.tolist(), P.converged, P.solver
    ([0.0, 1.0], [2.0], True, 'ActiveSet')
    >>> P
    Projection(converged: 1 iteration of ActiveSet, residual 0.0e+00, 1 row, point [0., 1.])
    """

    point: Array
    multipliers: Array
    residual: Residual
    iterations: int
    converged: bool
    solver: str
    remark: str = ""

    def __repr__(self) -> str:
        ended, point = "converged" if self.converged else "not converged", np.asarray(to_host(self.point))
        few, rows = point.size <= MAX_NUMBERS, len(self.multipliers)
        where = np.array2string(point, precision=6, separator=", ").replace("\n", "") if few else f"shape {point.shape}"
        return (
            f"Projection({ended}: {self.iterations} iteration{'s' * (self.iterations != 1)} of {self.solver}, residual "
            f"{self.residual.worst:.1e}, {rows} row{'s' * (rows != 1)}, point {where})"
        )

    _repr_html_ = html


def residual(w: Array, K: Rows, M: Metric, u: Array, p: Array) -> Residual:
    """The residuals of (u, p) as the projection of w on K in the metric M (flat vectors)."""
    return Residual(*K.G.residuals(K, M, w, u, p))
