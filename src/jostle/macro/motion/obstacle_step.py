"""The obstacle step: a density spreads until it is at most one, by the gradient of a potential.

    rho' = rho + Laplace p,   p >= 0,   rho' <= 1,   p (1 - rho') = 0

This is the projection on {rho <= 1} in H^-1, an obstacle problem with the five-point Laplacian. It agrees with the
Wasserstein projection (see `wasserstein`) to first order in rho - 1, and on a disc. In general both differ: the second
moments of a rectangle of density 2 by several per cent.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from jostle.arguments import check_arguments
from jostle.arrays import Array
from jostle.macro.grid import Grid
from jostle.macro.motion.density import check_mass, checked_density
from jostle.macro.motion.domain import Domain
from jostle.macro.motion.pressure import hard

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
    InvalidValue
        If a density is negative or inside a wall, or a part of the grid without an exit cannot hold its mass.
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
    P = hard(domain, rho, None, RELATIVE_TOLERANCE * float(rho.max())).potential
    spread = rho + domain.divergence(domain.differences(P))
    return ObstacleStep(np.where(domain.exits, 0.0, spread), grid.h**2 * P)
