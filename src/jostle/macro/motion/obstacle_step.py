"""The obstacle step: a density spreads until it is at most one, by the gradient of a potential.

    rho' = rho + Laplace p,   p >= 0,   rho' <= 1,   p (1 - rho') = 0

This is the projection on {rho <= 1} in H^-1, an obstacle problem with the five-point Laplacian. It agrees with the
Wasserstein projection (see `wasserstein`) to first order in rho - 1, and on a disc; elsewhere it does not: second
moments of a rectangle of density 2 differ by several per cent.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from jostle.arguments import check_arguments
from jostle.arrays import Array, Booleans
from jostle.errors import NotConverged
from jostle.macro.active_set import FivePoint, nested, obstacle
from jostle.macro.faces import SIDES
from jostle.macro.grid import Grid
from jostle.macro.motion.density import check_mass, checked_density

MAX_EXCESS = 1e-8
"""Largest |1 - rho'| in cells with p > 0, and rho' - 1 elsewhere, in multiples of the largest rho. The round-off of p,
summed along the grid, is added."""


class ObstacleStep(NamedTuple):
    """The density after an obstacle step, and the potential p that moved it.

    >>> step = obstacle_step(Grid([0, 0], [3, 1], h=1.0, closed=True), [[0.0], [1.5], [0.0]])
    >>> step.density.ravel().round(9).tolist(), step.potential.ravel().round(9).tolist()
    ([0.25, 1.0, 0.25], [0.0, 0.25, 0.0])
    """

    density: Array
    """(nx, ny): rho', zero in walls and exits."""
    potential: Array
    """(nx, ny): p, with rho' = rho + Laplace p."""


@check_arguments
def obstacle_step(
    grid: Grid, density: ArrayLike, walls: ArrayLike | None = None, exits: ArrayLike | None = None
) -> ObstacleStep:
    """Spread a density until it is at most one: rho' = rho + Laplace p, p >= 0, rho' <= 1, p (1 - rho') = 0.

    Closed sides of the grid and cells of the mask `walls` let nothing through. Open sides and cells of the mask `exits`
    have p = 0 at their edge, and what flows into them has left: the mass of the result is smaller by that much, and
    zero in exits. Without open sides and exits the mass is the same up to round-off.

    >>> corridor = Grid([0, 0], [5, 1], h=1.0, closed=True)
    >>> density, p = obstacle_step(corridor, [[0.0], [0.0], [2.5], [0.0], [0.5]])
    >>> density.ravel().round(9).tolist(), p.ravel().round(9).tolist()
    ([0.0, 0.75, 1.0, 0.75, 0.5], [0.0, 0.0, 0.75, 0.0, 0.0])
    >>> density, p = obstacle_step(corridor, [[0.0], [0.0], [1.0], [3.0], [0.0]], exits=[[0], [0], [0], [0], [1]])
    >>> density.ravel().round(9).tolist(), p.ravel().round(9).tolist()
    ([0.0, 0.4, 1.0, 1.0, 0.0], [0.0, 0.0, 0.4, 0.8, 0.0])
    """
    wall = grid.walls(walls)
    solid = wall[1:-1, 1:-1]
    outside = np.zeros(grid.shape, dtype=bool) if exits is None else grid.checked(exits, "exits") & ~solid
    rho = checked_density(grid, density, solid)
    rho[outside] = 0.0
    p = np.zeros(grid.shape)
    if rho.max() <= 1.0:
        return ObstacleStep(rho, p)
    inside = ~(solid | outside)
    A = _laplacian(inside, wall)
    check_mass(grid, rho, inside, A.extra > 0.0)
    excess = np.where(inside, rho - 1.0, 0.0)
    p = obstacle(A, excess, nested(A, excess))[0]
    spread = rho - applied(A, p)
    wrong = np.where(p > 0.0, np.abs(1.0 - spread), spread - 1.0).max()
    allowed = MAX_EXCESS * rho.max() + np.finfo(float).eps * max(grid.shape) * p.max()
    if wrong > allowed:
        raise NotConverged(
            f"the obstacle step left an error of {wrong:.2e} in the density, more than {allowed:.0e}; move the mass in "
            "several smaller steps, or use a coarser grid"
        )
    return ObstacleStep(spread, grid.h**2 * p)


def _laplacian(inside: Booleans, wall: Booleans) -> FivePoint:
    """-h^2 times the Laplacian: weight 1 between cells, 0 to a wall, and 2 to an open edge, half a cell away."""
    framed = np.pad(inside, 1)
    between, extra = [], np.zeros(inside.shape)
    for axis, (low, high) in enumerate(SIDES):
        both = framed[low] & framed[high]
        edge = np.where((framed[low] != framed[high]) & ~wall[low] & ~wall[high], 2.0, 0.0)
        before, after = (np.s_[:-1, :], np.s_[1:, :]) if axis == 0 else (np.s_[:, :-1], np.s_[:, 1:])
        extra += np.where(inside, edge[before] + edge[after], 0.0)
        between.append(np.ascontiguousarray(both[after], dtype=float))
    return FivePoint(between[0], between[1], extra)


def applied(A: FivePoint, p: Array) -> Array:
    """A p as a sum of fluxes through faces, so that what leaves one cell enters the next."""
    x, y = A.east[:-1] * (p[:-1] - p[1:]), A.north[:, :-1] * (p[:, :-1] - p[:, 1:])
    total = A.extra * p
    total[:-1] += x
    total[1:] -= x
    total[:, :-1] += y
    total[:, 1:] -= y
    return np.asarray(total)
