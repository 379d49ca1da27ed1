"""Small corrections that make a density admissible: one in a saturated zone, and between 0 and 1 elsewhere.

    rho' = rho + Laplace m,     m = a + b - c

where a makes the density one in the zone (a linear system, a = 0 outside), b >= 0 spreads densities above one (an
obstacle problem), and c >= 0 removes densities below zero (the same problem for 1 - rho). All are fluxes between cells,
so that mass is conserved up to round-off and moves no further than necessary. Lengths are in cells; the sides are
closed.
"""

from __future__ import annotations

import numpy as np

from jostle.arrays import Array, Booleans
from jostle.kernels import kernels_for
from jostle.macro.active_set import nested, obstacle
from jostle.macro.five_point import FivePoint
from jostle.macro.motion.density import MAX_EXCESS

TOLERANCE = 1e-10
"""Relative residual of the linear system."""
DENSITY_ROUND_OFF = 1e-13
"""Densities below zero by less than this are rounded to zero."""
MAX_CYCLES = 200
"""Largest number of multigrid cycles for the linear system."""


def repaired(density: Array, zone: Booleans) -> tuple[Array, Array]:
    """(nx, ny) each: the admissible density with a saturated zone, and the potential m of the fluxes that lead to it.

    >>> density, m = repaired(np.array([[0.0, 0.8, 1.4, 0.5]]), np.array([[False, True, True, False]]))
    >>> density.round(9).tolist(), m.round(9).tolist()
    ([[0.0, 1.0, 1.0, 0.7]], [[0.0, 0.0, 0.2, 0.0]])
    """
    everywhere = _neighbours(np.ones(density.shape, dtype=bool))
    m = _filling(density, zone)
    found = density - everywhere.applied(m)
    if found.max() > 1.0 + MAX_EXCESS:
        m = m + obstacle(everywhere, found - 1.0, np.where(zone | (found > 1.0), 1.0, 0.0))[0]
        found = density - everywhere.applied(m)
    if found.min() < -DENSITY_ROUND_OFF:
        m = m - obstacle(everywhere, -found, nested(everywhere, -found))[0]
        found = density - everywhere.applied(m)
    return np.maximum(found, 0.0), m


def _filling(density: Array, zone: Booleans) -> Array:
    """a = 0 outside a zone with density + Laplace a = 1 inside; a = 0 if the zone is the whole grid."""
    if zone.all() or not zone.any():
        return np.zeros(density.shape)
    A = _neighbours(zone)
    whole = _neighbours(np.ones(zone.shape, dtype=bool))
    border = np.where(zone, whole.diagonal - A.diagonal, 0.0)
    load = np.where(zone, density - 1.0, 0.0)
    zero = np.zeros(zone.shape)
    return kernels_for(load).obstacle(
        A.east, A.north, border, load, zero, zone, zone, TOLERANCE, TOLERANCE, 0.0, 1, MAX_CYCLES
    )[0]


def _neighbours(zone: Booleans) -> FivePoint:
    """Weight 1 between cells of a zone."""
    east, north = np.zeros(zone.shape), np.zeros(zone.shape)
    east[:-1] = zone[1:] & zone[:-1]
    north[:, :-1] = zone[:, 1:] & zone[:, :-1]
    return FivePoint(east, north, np.zeros(zone.shape))
