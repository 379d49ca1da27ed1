"""Checks of densities given by users: finite, not negative, zero in walls, and not more mass than fits."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from jostle.arrays import Array, Booleans, finite
from jostle.errors import InvalidValue
from jostle.macro.grid import Grid
from jostle.macro.motion.domain import Domain

MAX_EXCESS = 1e-9
"""A density may exceed one by this much, because of round-off."""
MASS_TOLERANCE = 1e-12
"""A mass may exceed the area it occupies by this fraction, because sums of many densities are rounded."""


def checked_density(grid: Grid, density: ArrayLike, walls: Booleans | None = None) -> Array:
    """(nx, ny): a density that is nowhere negative, and zero in walls.

    >>> checked_density(Grid([0, 0], [2, 1], h=1.0), [[0.5], [-0.5]])
    Traceback (most recent call last):
    ...
    jostle.errors.InvalidValue: density is -0.5 in cell (1, 0); it must not be negative
    """
    rho = finite(density, "density").view(np.ndarray)
    if rho.shape != grid.shape:
        raise InvalidValue(f"density must have one number per cell, shape {grid.shape}, not {rho.shape}")
    if rho.min() < 0.0:
        cell = _first(rho < 0.0)
        raise InvalidValue(f"density is {rho[cell]:g} in cell {cell}; it must not be negative")
    if walls is not None and (rho[walls] > 0.0).any():
        cell = _first(walls & (rho > 0.0))
        raise InvalidValue(f"density is {rho[cell]:g} in cell {cell}, which is a wall; it must be 0 there")
    return rho


def check_mass(domain: Domain, density: Array) -> None:
    """Refuse a density if an enclosed part of the domain cannot hold its mass.

    >>> room = Domain(Grid([0, 0], [2, 1], h=1.0, closed=True))
    >>> check_mass(room, np.array([[2.5], [0.0]]))
    Traceback (most recent call last):
    ...
    jostle.errors.InvalidValue: density has mass 2.5 in an area of 2 without an exit, around cell (0, 0); lower it
    """
    part, area = domain.shut, domain.grid.h**2
    mass, held = (np.bincount(part.ravel(), weights=field.ravel()) for field in (density, np.ones(part.shape)))
    full = mass > (1.0 + MASS_TOLERANCE) * held
    full[0] = False
    if full.any():
        k = int(np.flatnonzero(full)[0])
        raise InvalidValue(
            f"density has mass {mass[k] * area:.6g} in an area of {held[k] * area:.6g} without an exit, around cell "
            f"{_first(part == k)}; lower it"
        )


def _first(cells: Booleans) -> tuple[int, int]:
    i, j = np.argwhere(cells)[0]
    return int(i), int(j)
