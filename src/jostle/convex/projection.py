"""The result of a projection.

    min 1/2 |u - w|_M^2  subject to  s = c + G u >= 0,
    M (u - w) = G^T p,   0 <= p  ⟂  s >= 0.

`jostle.convex.residuals` says how good u and p are.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from jostle._tools.arrays import Array, to_host
from jostle._tools.displays import html
from jostle.convex.residuals import Residual

MAX_NUMBERS = 12
"""Largest number of coordinates that the text of a projection shows."""


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
