"""How far an answer is from the optimality conditions of a projection.

    min 1/2 |u - w|_M^2  subject to  s = c + G u >= 0,      M (u - w) = G^T p,   0 <= p  ⟂  s >= 0

`add_row` and `add_coordinate` are the formulas for one row and one coordinate,
from which compiled loops and plain Python (`kernels.one_row`) add them up.
"""

from __future__ import annotations

from math import inf, isfinite, sqrt
from typing import NamedTuple

from jostle._tools.arrays import Array
from jostle.kernels.interface import Kernel
from jostle.kernels.reference.contacts import ContactRows
from jostle.kernels.reference.dense import ROUND_OFF, TINY


class Answer(NamedTuple):
    """A point u and multipliers p, the answer to the projection of w on c + G u >= 0 in the metric of the masses."""

    c: Array
    c_noise: Array
    """The round-off of c."""
    length: Array
    """What the violation of each row is compared with; 0: the distance |u - w|."""
    w: Array
    mass: Array
    u: Array
    p: Array


@Kernel
def residual_dense(G: Array, answer: Answer) -> tuple[float, float, float]:
    """(primal, dual, complementarity) of an answer: how far it is from the optimality conditions.

    With s = c + G u, zero where it is round-off, and |.| the norm of the masses: the largest violation -s_i over its
    length, or if that is 0 over |G_i| |u - w|; |M (u - w) - G^T p|, less its round-off, and the largest -p_i |G_i|,
    over |u - w|; and sum p |s| over |u - w|^2. Infinite if something is not finite.
    """
    raise NotImplementedError


@Kernel
def residual_pairs(rows: ContactRows, answer: Answer, chunks: int) -> tuple[float, float, float]:
    """`residual_dense` of contacts; w, mass and u of shape (bodies, d); computed by `chunks` threads."""
    raise NotImplementedError


@Kernel
def project_few(
    G: Array, rows: tuple[Array, Array, Array], w: Array, mass: Array, root: Array, tol: float, max_iterations: int
) -> tuple[Array, Array, int, int, tuple[float, float, float]]:
    """`project_dense` of w on few rows, and the residuals of its answer; rows are c, its round-off and the lengths."""
    raise NotImplementedError


def add_row(
    so_far: tuple[float, float, float, float, float], s: float, scale: float, square: float, p: float, length: float,
    noise: float,
) -> tuple[float, float, float, float, float]:  # fmt: skip
    """The largest violations over lengths, and over |G_i| where there is none; the largest -p |G_i|; the sums of |p s|
    and of |p| |G_i|: those so far, and of one more row with the slack s, whose terms add up to `scale`, and |G_i|^2.
    """
    relative, violation, negative, product, size = so_far
    unit = sqrt(square)
    if abs(s) <= noise + ROUND_OFF * scale:
        s = 0.0
    if s < 0.0:
        if length > 0.0:
            relative = max(relative, -s / length)
        else:
            violation = max(violation, -s / max(unit, TINY))
    return relative, violation, max(negative, -p * unit), product + abs(p * s), size + abs(p) * unit


def add_coordinate(
    so_far: tuple[float, float, float], u: float, w: float, mass: float, force: float
) -> tuple[float, float, float]:
    """The sums of m (u - w)^2, of m (|u| + |w|)^2 and of (m (u - w) - force)^2 / m: those so far, and one more term.

    The force is G^T p.
    """
    distance, size, stationarity = so_far
    way, sizes = u - w, abs(u) + abs(w)
    gap = mass * way - force
    return distance + mass * (way * way), size + mass * (sizes * sizes), stationarity + gap * gap / mass


def residual_of_sums(
    relative: float, violation: float, negative: float, product: float, pushes: float, squares: float, sizes: float,
    lack: float,
) -> tuple[float, float, float]:  # fmt: skip
    """The three residuals, from what `add_row` found in all rows and `add_coordinate` in all coordinates."""
    rounding = ROUND_OFF * (sqrt(sizes) + pushes)
    return ratios(relative, violation, sqrt(lack) - rounding, negative, product, sqrt(squares))


def ratios(
    relative: float, violation: float, stationarity: float, negative: float, product: float, distance: float
) -> tuple[float, float, float]:
    """The three residuals from their parts, where 0 / 0 = 0; infinite if a part is not finite.

    `relative` is the largest violation over its length, `violation` that of the unit rows without a length, which is
    compared with the distance moved.
    """
    if not isfinite(relative + violation + stationarity + negative + product + distance):
        return inf, inf, inf
    dual = max(stationarity, 0.0) + negative
    if distance > 0.0:
        return (
            float(max(violation / distance, relative)),
            float(dual / distance),
            float(product / (distance * distance)),
        )
    return float(relative) if violation == 0.0 else inf, 0.0 if dual == 0.0 else inf, 0.0 if product == 0.0 else inf
