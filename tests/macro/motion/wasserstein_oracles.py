"""The Wasserstein projection on {rho <= 1} by two other methods, on a line and on small grids.

On a line, with m the mass to the left, the position X(m) of mass must satisfy dX/dm >= 1. So X - m is the isotonic
regression of its initial value, clipped at the ends of the line (Natile & Savaré 2009).

On a grid, mass is concentrated at the centres of the cells, and the plan solves a linear program:

    min sum_ij pi_ij |x_i - x_j|^2,    pi >= 0,    sum_j pi_ij = rho_i h^2,    sum_i pi_ij <= h^2

Displacements shorter than a cell are overestimated there: compare where mass moves by several cells.
"""

import numpy as np
from scipy.optimize import isotonic_regression, linprog
from scipy.sparse import csr_array

PARCELS = 64
"""Number of equal parts into which the mass of each cell of a line is cut."""


def on_a_line(density, h):
    """(n,) the projected density between two walls, and W2^2."""
    rho = np.asarray(density, dtype=float)
    n, total = len(rho), rho.sum()
    assert rho.min() >= 0.0
    assert total <= n
    part = np.repeat(rho / PARCELS, PARCELS)
    place = (np.arange(n * PARCELS) + 0.5) / PARCELS
    place, part = place[part > 0.0], part[part > 0.0]
    before = np.cumsum(part) - 0.5 * part
    moved = np.clip(isotonic_regression(place - before, weights=part).x, 0.0, n - total) + before
    left = moved - 0.5 * part
    edges, mass = np.stack([left, left + part], axis=1).ravel(), np.zeros(2 * len(part))
    mass[1::2] = np.cumsum(part)
    mass[2::2] = mass[1:-1:2]
    return np.diff(np.interp(np.arange(n + 1.0), edges, mass)), (part * (moved - place) ** 2).sum() * h**3


def by_linear_program(grid, density):
    """(nx, ny) the projected density on a grid whose sides are closed, and W2^2."""
    rho = np.asarray(density, dtype=float)
    sources, n = np.flatnonzero(rho), rho.size
    if len(sources) == 0:
        return rho, 0.0
    place = np.argwhere(np.ones(grid.shape, dtype=bool))
    cost = ((place[sources][:, None] - place) ** 2).sum(axis=2).ravel()
    route = np.arange(len(cost))
    leave = csr_array((np.ones(len(cost)), (route // n, route)))
    arrive = csr_array((np.ones(len(cost)), (route % n, route)))
    found = linprog(cost, A_eq=leave, b_eq=rho.ravel()[sources], A_ub=arrive, b_ub=np.ones(n), method="highs")
    assert found.status == 0, found.message
    return (arrive @ found.x).reshape(grid.shape), found.fun * grid.h**4
