"""The constants of Venel 2009 for N discs: inverse triangle inequality (Prop. 4.2), prox-regularity (Prop. 4.5).

    sum a_ij |G_ij| <= gamma |sum a_ij G_ij|,   a_ij >= 0

holds for every configuration of equal discs with gamma = 3 sqrt(2) N a^N, a = 3 / sin(2 pi / N), and for discs of
different radii, each with at most n_v neighbours, with gamma = n_v N b^N / sqrt(2),

    b = 2 sqrt(n_v) / min(sin(pi / (n_v + 1)), sin(2 pi / N)),    n_v <= pi / arcsin(r_min / (r_min + r_max))

(Remark 4.10: b^N bounds each multiplier, and there are at most n_v N / 2 of them). The best constant of a single
configuration is far smaller. The formulas divide by zero for N = 2, where the best constant is 1 because there is at
most one row.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from jostle._tools.arguments import Count, Positive, check_arguments
from jostle._tools.arrays import Array, finite
from jostle.analysis.angles import check_inequalities
from jostle.convex.metric import Metric, metric
from jostle.convex.polyhedron import Cone, Polyhedron
from jostle.errors import EmptySet, InvalidValue
from jostle.solvers.automatic import Automatic
from jostle.solvers.project import require

COUNT_ROUND_OFF = 1e-9
"""Distance below which a bound for the number of neighbours is rounded up to a whole number: six for equal discs."""


@check_arguments
def gamma(N: Count, *, radii: ArrayLike | None = None) -> float:
    """The constant gamma of the inverse triangle inequality for N discs: Venel 2009, Prop. 4.2 and Remark 4.10.

    Parameters
    ----------
    N : int
        Number of discs, at least 1.
    radii : array_like, shape (N,), optional
        Radii of the discs. None means equal discs.

    Returns
    -------
    float
        The constant. It is 1 for N = 1 and 2, where the formulas do not apply, and inf where it exceeds the largest
        floating-point number.

    Examples
    --------
    >>> round(gamma(3), 6), gamma(2), round(gamma(3, radii=[1.0, 1.0, 2.0]))
    (529.089784, 1.0, 139751)
    """
    n_v = 6 if radii is None else most_neighbours(radii)
    if N <= 2:
        return 1.0
    turn = np.sin(2.0 * np.pi / N)
    equal = radii is None or np.ptp(finite(radii, "radii")) == 0.0
    base = 3.0 / turn if equal else 2.0 * np.sqrt(n_v) / min(np.sin(np.pi / (n_v + 1)), turn)
    with np.errstate(over="ignore"):
        return float(n_v / 2.0 * np.sqrt(2.0) * N * base**N)


@check_arguments
def most_neighbours(radii: ArrayLike) -> int:
    """The largest number n_v of discs that can touch one of them at the same time: Venel 2009, Remark 4.10.

    Parameters
    ----------
    radii : array_like
        Radii of the discs, positive.

    Returns
    -------
    int
        The bound n_v, 6 for equal discs.

    Examples
    --------
    >>> most_neighbours([1.0, 1.0]), most_neighbours([1.0, 2.0])
    (6, 9)
    """
    r = finite(radii, "radii")
    if r.size == 0 or not (r > 0.0).all():
        raise InvalidValue(f"radii must be positive, not {radii!r}")
    bound = np.pi / np.arcsin(r.min() / (r.min() + r.max()))
    return int(np.floor(bound + COUNT_ROUND_OFF))


@check_arguments
def eta(N: Count, radius: Positive) -> float:
    """The prox-regularity constant eta of Venel 2009, Prop. 4.5, for N equal discs.

    Parameters
    ----------
    N : int
        Number of discs, at least 1.
    radius : float
        Radius of the discs, positive.

    Returns
    -------
    float
        The constant, in the unit of `radius`. For N = 2 it is the exact constant 2 r / sqrt(2) of one pair, and inf for
        N = 1, where there is no constraint.

    Examples
    --------
    >>> round(eta(3, 1.0), 8)
    0.00133646
    """
    if N == 1:
        return float("inf")
    if N == 2:
        return float(np.sqrt(2.0) * radius)
    return float(radius / (6.0 * N) * (np.sin(2.0 * np.pi / N) / 3.0) ** N)


@check_arguments
def inverse_triangle(cone: Cone, mass: ArrayLike | Metric = 1.0) -> float:
    """The best constant gamma of one configuration: the maximum of sum a_i |G_i| / |sum a_i G_i| over a >= 0.

    With unit rows it is 1 over the distance of the origin from their convex hull. It is infinite if the rows can
    balance each other, like those of a ball between two walls.

    Parameters
    ----------
    cone : Cone
        The cone of the active contacts, such as ``contacts.cone()``; its rows are the gradients G_i of the gaps.
    mass : float, array_like or Metric, default 1.0
        Masses that define the metric of the norms.

    Returns
    -------
    float
        The constant, at least 1; 1 without contacts.

    Examples
    --------
    >>> import jostle as jo
    >>> row = jo.Balls([0.5] * 3).linearise(0.0, np.array([[0.0, 0.0], [1.0, 0.0], [2.0, 0.0]]))
    >>> round(inverse_triangle(row.cone()), 9)
    2.0
    """
    check_inequalities(cone)
    M = metric(mass, (cone.G.shape[1],))
    if cone.G.shape[0] == 0:
        return 1.0
    try:
        return M.norm(opening(cone, M))
    except EmptySet:
        return float("inf")


def opening(cone: Cone, M: Metric) -> Array:
    """The shortest v with G_i v >= |G_i| for all rows, which opens all contacts; |v|_M is the constant gamma.

    Raises `EmptySet`, which names the rows that balance each other, if there is no such v.
    """
    solver = Automatic()
    rates = Polyhedron(cone.G, -cone.G.norms(M), describe=cone.describe)
    return require(solver.project(np.zeros(cone.G.shape[1]), rates, M), solver).point
