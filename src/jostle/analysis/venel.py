"""The constants of Venel 2009 for N discs: inverse triangle inequality (Prop. 4.2), prox-regularity (Prop. 4.5).

    sum a_ij |G_ij| <= gamma |sum a_ij G_ij|,   a_ij >= 0

holds with gamma = 3 sqrt(2) N (3 / sin(2 pi / N))^N for every configuration; the best constant of one configuration is
far smaller. The formula divides by zero for N = 2, where the best constant is 1 (there is one row at most).
"""

from __future__ import annotations

import numpy as np

from jostle.analysis.angles import inequality_rows
from jostle.arguments import Count, Positive, check_arguments
from jostle.convex.maps import Dense
from jostle.convex.metric import euclidean
from jostle.convex.polyhedron import Cone, Polyhedron
from jostle.errors import EmptySet, InvalidValue
from jostle.solvers.dual_active_set import ActiveSet


@check_arguments
def gamma(N: Count) -> float:
    """The constant of Prop. 4.2 for N discs; 1 for N = 1 and 2, where the formula does not apply.

    >>> round(gamma(3), 6), gamma(2)
    (529.089784, 1.0)
    """
    _check(N)
    if N <= 2:
        return 1.0
    return float(3.0 * np.sqrt(2.0) * N * (3.0 / np.sin(2.0 * np.pi / N)) ** N)


@check_arguments
def eta(N: Count, radius: Positive) -> float:
    """The prox-regularity constant of Prop. 4.5 for N discs of one radius.

    For N = 2 it is the exact constant 2 r / sqrt(2) of one pair; a single disc has no constraint: infinity.

    >>> round(eta(3, 1.0), 8)
    0.00133646
    """
    _check(N)
    if not radius > 0:
        raise InvalidValue(f"the radius must be positive, not {radius}")
    if N == 1:
        return float("inf")
    if N == 2:
        return float(np.sqrt(2.0) * radius)
    return float(radius / (6.0 * N) * (np.sin(2.0 * np.pi / N) / 3.0) ** N)


@check_arguments
def inverse_triangle(cone: Cone) -> float:
    """The best gamma of one configuration, max |G| / min |sum a G| over a >= 0 with sum a = 1, for rows of one length.

    The minimum is the distance of the origin from the convex hull of the rows, that is 1 / |v| for the shortest v with
    G v >= 1. If no such v exists, the rows can balance each other and gamma is infinite.

    >>> import jostle as jo
    >>> row = jo.Balls([0.5] * 3).linearise(0.0, np.array([[0.0, 0.0], [1.0, 0.0], [2.0, 0.0]]))
    >>> round(inverse_triangle(row.cone()), 9)
    2.0
    """
    G = inequality_rows(cone)
    if len(G) == 0:
        return 1.0
    lengths = np.linalg.norm(G, axis=1)
    unit = Dense(np.ascontiguousarray(G / lengths[:, None]))
    try:
        apart = ActiveSet().project(np.zeros(G.shape[1]), Polyhedron(unit, -np.ones(len(G))), euclidean((G.shape[1],)))
    except EmptySet:
        return float("inf")
    return float(np.linalg.norm(apart.point))


def _check(N: int) -> None:
    if N < 1:
        raise InvalidValue(f"the number of discs must be at least 1, not {N}")
