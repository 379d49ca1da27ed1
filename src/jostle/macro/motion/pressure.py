"""The pressure that keeps a density at most one: an obstacle problem.

Mass that has arrived in cells where it does not fit is spread by the differences of a potential P >= 0,

    rho = arrived - A P,   rho <= 1,   P (1 - rho) = 0,   A = minus the Laplacian in cells of side one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from jostle._tools.arguments import check_arguments
from jostle._tools.arrays import Array
from jostle.errors import NotConverged
from jostle.macro.grid import Grid
from jostle.macro.motion.domain import Domain, check_mass, checked_density
from jostle.macro.obstacle import FivePoint, nested, obstacle

INNER_TOLERANCE = 1e-3
"""Linear systems are solved to this fraction of the tolerance."""
MAX_WARM_STEPS = 15
"""Largest number of active-set steps from the cells that were full before. Each step changes the set by about one layer
of cells, so that larger changes are found faster from coarser grids."""
MARGIN = 8
"""Width in cells of the margin around cells at least half full in which the potential is computed first."""


def hard(
    domain: Domain, arrived: Array, start: Array | None, tol: float, *, most: int = MAX_WARM_STEPS
) -> tuple[Array, int]:
    """The potential that leaves no density above one, and the number of iterations it took.

    The start is positive in cells that may be full, such as the potential of the previous step. If `most` active-set
    steps from there do not suffice, the potential is computed from coarser grids.
    """
    excess = np.where(domain.zone, arrived - 1.0, 0.0)
    if excess.max() <= 0.0:
        return np.zeros_like(excess), 0
    A, P, iterations = domain.laplacian(), np.zeros_like(excess), 0
    for box in (_box(excess), np.s_[:, :]):
        P[box], used = _spread(A.cut(box), excess[box], None if start is None else start[box], tol, most)
        iterations += used
        if not _reaches_out(P, box):
            break
    left = arrived + domain.divergence(domain.differences(P)) - 1.0
    wrong = float(np.where(P > 0.0, np.abs(left), left)[domain.zone].max())
    round_off = float(np.finfo(float).eps) * max(P.shape) * float(P.max(initial=0.0))
    if wrong > tol + round_off:
        raise NotConverged(
            f"the pressure leaves an error of {wrong:.2e} in the density, more than tol = {tol:.0e}: use a smaller h "
            f"or a larger tol"
        )
    return P, iterations


def _spread(A: FivePoint, excess: Array, start: Array | None, tol: float, most: int) -> tuple[Array, int]:
    """The potential and the iterations, from a start in at most `most` active-set steps, or else from coarser grids."""
    iterations = 0
    if start is not None and start.any():
        P, iterations = obstacle(A, excess, start, tol=INNER_TOLERANCE * tol, most=most)
        if iterations < most:
            return P, iterations
    P, more = obstacle(A, excess, nested(A, excess), tol=INNER_TOLERANCE * tol)
    return P, iterations + more


def _box(excess: Array) -> tuple[slice, slice]:
    """The part of the grid around all cells at least half full; mass that does not fit rarely spreads further."""
    near = [np.flatnonzero((excess >= -0.5).any(axis=1 - axis)) for axis in (0, 1)]
    x, y = (slice(max(int(found[0]) - MARGIN, 0), int(found[-1]) + 1 + MARGIN) for found in near)
    return x, y


def _reaches_out(P: Array, box: tuple[slice, slice]) -> bool:
    """Whether the potential is nonzero at a side of the box that is inside the grid."""
    for axis, (cut, size) in enumerate(zip(box, P.shape, strict=True)):
        for end, last in ((cut.start or 0, 0), (min(cut.stop or size, size) - 1, size - 1)):
            if end != last and P.take(end, axis=axis).any():
                return True
    return False


# The obstacle step: a density spreads until it is at most one, by the gradient of a potential.
#
#     rho' = rho + Laplace p,   p >= 0,   rho' <= 1,   p (1 - rho') = 0
#
# This is the projection on {rho <= 1} in H^-1, an obstacle problem with the five-point Laplacian. It agrees with the
# Wasserstein projection (see `wasserstein`) to first order in rho - 1, and on a disc. In general both differ: the
# second moments of a rectangle of density 2 by several per cent.


RELATIVE_TOLERANCE = 1e-8
"""Largest |1 - rho'| in cells with p > 0, and rho' - 1 elsewhere, in multiples of the largest rho."""


class ObstacleStep(NamedTuple):
    """The result of `obstacle_step`.

    Attributes
    ----------
    density : array, shape (nx, ny)
        Density rho' after the step, zero in walls and exits.
    potential : array, shape (nx, ny)
        Potential p, with rho' = rho + Laplace p.

    Examples
    --------
    >>> corridor = Grid([0, 0], [3, 1], h=1.0, closed=True)
    >>> obstacle_step(corridor, [[0.0], [1.2], [0.0]]).density.ravel().round(9).tolist()
    [0.1, 1.0, 0.1]
    """

    density: Array
    potential: Array


@check_arguments
def obstacle_step(
    grid: Grid, density: ArrayLike, walls: ArrayLike | None = None, exits: ArrayLike | None = None
) -> ObstacleStep:
    """Spread a density until it is at most one: rho' = rho + Laplace p, p >= 0, rho' <= 1, p (1 - rho') = 0.

    Nothing passes closed sides of the grid and walls. At open sides and exits p = 0, and mass that flows into them
    leaves. Without open sides and exits the mass is conserved up to round-off.

    Parameters
    ----------
    grid : Grid
        The grid.
    density : array_like, shape (nx, ny)
        Density rho, not negative; zero in walls. Mass inside exits is removed.
    walls : array_like of bool, shape (nx, ny), optional
        Cells that are walls. None: no cell is.
    exits : array_like of bool, shape (nx, ny), optional
        Cells that are exits. None: no cell is.

    Returns
    -------
    ObstacleStep
        The new density and the potential.

    Raises
    ------
    NotConverged
        If the density misses the tolerance.

    Examples
    --------
    >>> corridor = Grid([0, 0], [5, 1], h=1.0, closed=True)
    >>> density, p = obstacle_step(corridor, [[0.0], [0.0], [2.5], [0.0], [0.5]])
    >>> density.ravel().round(9).tolist(), p.ravel().round(9).tolist()
    ([0.0, 0.75, 1.0, 0.75, 0.5], [0.0, 0.0, 0.75, 0.0, 0.0])
    >>> density, p = obstacle_step(corridor, [[0.0], [0.0], [1.0], [3.0], [0.0]], exits=[[0], [0], [0], [0], [1]])
    >>> density.ravel().round(9).tolist(), p.ravel().round(9).tolist()
    ([0.0, 0.4, 1.0, 1.0, 0.0], [0.0, 0.0, 0.4, 0.8, 0.0])
    """
    domain = Domain(grid, walls, exits)
    rho = checked_density(grid, density, domain.walls)
    rho = np.where(domain.exits, 0.0, rho)
    if rho.max() <= 1.0:
        return ObstacleStep(rho, np.zeros(grid.shape))
    check_mass(domain, rho)
    P = hard(domain, rho, None, RELATIVE_TOLERANCE * float(rho.max()))[0]
    spread = rho + domain.divergence(domain.differences(P))
    return ObstacleStep(np.where(domain.exits, 0.0, spread), grid.h**2 * P)
