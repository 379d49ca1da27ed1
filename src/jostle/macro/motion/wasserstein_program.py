"""The Wasserstein projection on {rho <= 1} as a linear program, for small grids: a reference for `wasserstein`.

    min sum_ij pi_ij |x_i - x_j|^2,    pi >= 0,    sum_j pi_ij = rho_i h^2,    sum_i pi_ij <= h^2

Mass is concentrated at the centres of the cells, where the solution is exact. Displacements shorter than a cell are
overestimated: compare it with `wasserstein_projection` where mass moves by several cells.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from jostle._tools.arguments import check_arguments
from jostle._tools.arrays import Array
from jostle.errors import InvalidValue, NotConverged
from jostle.macro.grid import Grid
from jostle.macro.motion.domain import Domain, check_mass, checked_density

MAX_ROUTES = 2_000_000
"""Largest number of pairs of a cell with mass and a cell of the grid."""


@check_arguments
def wasserstein_program(grid: Grid, density: ArrayLike) -> tuple[Array, float]:
    """Project a density on {rho <= 1} in the Wasserstein distance W2 by linear programming, on a small grid.

    All sides of the grid count as closed. The masses sit at the centres of the cells, so distances are multiples of h.

    Parameters
    ----------
    grid : Grid
        The grid; cells with mass times all cells may be at most 2 000 000.
    density : array_like, shape (nx, ny)
        Density in the cells, not negative; its mass must fit into the grid.

    Returns
    -------
    density : array, shape (nx, ny)
        The projected density.
    squared_distance : float
        W2^2 between both densities.

    Raises
    ------
    InvalidValue
        If a density is negative, the mass does not fit, or the linear program is too large.
    NotConverged
        If the linear program was not solved.

    Examples
    --------
    >>> corridor = Grid([0, 0], [5, 1], h=1.0, closed=True)
    >>> density, squared_distance = wasserstein_program(corridor, [[0.0], [0.0], [3.0], [0.0], [0.0]])
    >>> density.ravel().tolist(), squared_distance
    ([0.0, 1.0, 1.0, 1.0, 0.0], 2.0)
    """
    from scipy.optimize import linprog
    from scipy.sparse import csr_array

    rho = checked_density(grid, density)
    check_mass(Domain(Grid(grid.lower, grid.upper, grid.h, closed=True)), rho)
    sources, n = np.flatnonzero(rho), rho.size
    if len(sources) == 0:
        return rho, 0.0
    if len(sources) * n > MAX_ROUTES:
        raise InvalidValue(
            f"density has mass in {len(sources)} of {n} cells: the linear program has {len(sources) * n} unknowns, at "
            f"most {MAX_ROUTES} are allowed; use wasserstein_projection, or a coarser grid"
        )
    place = np.argwhere(np.ones(grid.shape, dtype=bool))
    cost = ((place[sources][:, None] - place) ** 2).sum(axis=2).ravel()
    route = np.arange(len(cost))
    leave = csr_array((np.ones(len(cost)), (route // n, route)))
    arrive = csr_array((np.ones(len(cost)), (route % n, route)))
    found = linprog(cost, A_eq=leave, b_eq=rho.ravel()[sources], A_ub=arrive, b_ub=np.ones(n), method="highs")
    if found.status != 0:
        raise NotConverged(f"the linear program of the Wasserstein projection was not solved: {found.message}")
    return (arrive @ found.x).reshape(grid.shape), float(found.fun) * grid.h**4
