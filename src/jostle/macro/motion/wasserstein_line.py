"""The Wasserstein projection on {rho <= 1} in one dimension: one isotonic regression.

With m the mass to the left, the position X(m) of mass must satisfy dX/dm >= 1. So X - m is the isotonic regression of
its initial value, clipped at the ends of the line (Natile & Savaré 2009). W2^2 is the integral of the squared change of
X.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from jostle._tools.arguments import Positive, check_arguments
from jostle._tools.arrays import Array, finite
from jostle.errors import InvalidValue
from jostle.macro.motion.domain import MASS_TOLERANCE

PARCELS = 64
"""Number of equal parts into which the mass of each cell is cut."""


@check_arguments
def wasserstein_line(density: ArrayLike, h: Positive) -> tuple[Array, float]:
    """Project a density on a line on {rho <= 1} in the Wasserstein distance W2, between two walls.

    Parameters
    ----------
    density : array_like, shape (n,)
        Density in the cells, not negative; its mass must fit between the walls.
    h : float
        Length of a cell, positive.

    Returns
    -------
    density : array, shape (n,)
        The projected density.
    squared_distance : float
        W2^2 between both densities.

    Raises
    ------
    InvalidValue
        If a density is negative, or the mass exceeds the length of the line.

    Examples
    --------
    >>> density, squared_distance = wasserstein_line([0.0, 0.0, 3.0, 0.0, 0.0], h=1.0)
    >>> density.round(9).tolist(), round(squared_distance, 3)                    # X = 2.5 + 3 (x - 2.5)
    ([0.0, 1.0, 1.0, 1.0, 0.0], 1.0)
    """
    from scipy.optimize import isotonic_regression

    rho = finite(density, "density")
    if rho.ndim != 1 or len(rho) == 0 or rho.min() < 0.0:
        raise InvalidValue(f"density must be numbers >= 0, shape (n,), not {density!r}")
    n, total = len(rho), float(rho.sum())
    if total > (1.0 + MASS_TOLERANCE) * n:
        raise InvalidValue(f"density has mass {total * h:.6g} in a length of {n * h:.6g}; lower the density")
    if rho.max() <= 1.0:
        return rho, 0.0
    part = np.repeat(rho / PARCELS, PARCELS)
    place = (np.arange(n * PARCELS) + 0.5) / PARCELS
    place, part = place[part > 0.0], part[part > 0.0]
    before = np.cumsum(part) - 0.5 * part
    gap = np.clip(isotonic_regression(place - before, weights=part).x, 0.0, max(n - total, 0.0))
    moved = gap + before
    return _in_cells(moved, part, n), float((part * (moved - place) ** 2).sum()) * h**3


def _in_cells(place: Array, part: Array, n: int) -> Array:
    """(n,): the density in cells of parcels whose lengths equal their masses."""
    left = place - 0.5 * part
    edges, mass = np.stack([left, left + part], axis=1).ravel(), np.zeros(2 * len(part))
    mass[1::2] = np.cumsum(part)
    mass[2::2] = mass[1:-1:2]
    return np.asarray(np.diff(np.interp(np.arange(n + 1.0), edges, mass)))
