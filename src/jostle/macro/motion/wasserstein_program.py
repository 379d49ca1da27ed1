"""The Wasserstein projection on {rho <= 1} as a linear program, for small grids: an oracle for `wasserstein`.

    min sum_ij pi_ij |x_i - x_j|^2,    pi >= 0,    sum_j pi_ij = rho_i h^2,    sum_i pi_ij <= h^2

Mass sits at the centres of the cells and is exact there. Displacements shorter than a cell cost too much: compare it
with `wasserstein_projection` where mass moves by several cells.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from jostle.arguments import check_arguments
from jostle.arrays import Array
from jostle.errors import InvalidValue, NotConverged
from jostle.macro.grid import Grid
from jostle.macro.motion.density import check_mass, checked_density
from jostle.macro.motion.domain import Domain

MAX_ROUTES = 2_000_000
"""Largest number of pairs of a cell with mass and a cell of the grid."""


@check_arguments
def wasserstein_program(grid: Grid, density: ArrayLike) -> tuple[Array, float]:
    """The projected density, and W2^2, of masses at the centres of the cells of a small closed grid.

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
            f"density has mass in {len(sources)} of {n} cells: the linear program has {len(sources) * n} unknowns, and "
            f"{MAX_ROUTES} is the most; use wasserstein_projection, or a coarser grid"
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
