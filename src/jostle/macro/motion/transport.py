"""Mass that crosses each face while a density moves with velocities on faces: upwind, with limited slopes.

The density at a face is the mean over the part of the upwind cell that crosses, for a linear profile in the cell.
Slopes are limited by superbee (Roe 1985), so that free edges stay sharp and no density becomes negative. A cell loses
at most its mass in a step.
"""

from __future__ import annotations

import numpy as np

from jostle.arrays import Array
from jostle.macro.motion.domain import Domain, Faces, after, before

MAX_CROSSED = 0.5
"""Largest fraction of a cell that leaves in one step, for constant densities; slopes may double it."""


def crossing(domain: Domain, velocity: Faces, h: float) -> float:
    """The largest fraction of a cell that leaves in time h, if its density is constant."""
    rate = np.zeros(domain.grid.shape)
    for axis, speed in enumerate(velocity):
        rate += np.maximum(speed[after(axis)], 0.0) - np.minimum(speed[before(axis)], 0.0)
    return float(rate[domain.zone].max(initial=0.0)) * h / domain.grid.h


def flux(domain: Domain, density: Array, velocity: Faces, h: float) -> Faces:
    """The mass that crosses each face in time h, in cells."""
    x, y = (_along(domain, density, velocity[axis] * (h / domain.grid.h), axis) for axis in (0, 1))
    return x, y


def _along(domain: Domain, density: Array, way: Array, axis: int) -> Array:
    """The mass that crosses the faces along one axis; `way` is the displacement of each face, in cells."""
    rho, part = (density, way) if axis == 0 else (density.T, way.T)
    around = np.pad(rho, ((2, 2), (0, 0)))
    step = np.diff(around, axis=0)
    slope = superbee(step[:-1], step[1:])
    left, right = around[1:-2], around[2:-1]
    ahead = left + 0.5 * (1.0 - part) * slope[:-1]
    behind = right - 0.5 * (1.0 + part) * slope[1:]
    crossed = np.where(part > 0.0, ahead, behind) * part
    through = domain.open[axis]
    return np.where(through, crossed if axis == 0 else crossed.T, 0.0)


def superbee(a: Array, b: Array) -> Array:
    """The steepest slope that keeps a profile with steps a and b monotone; zero at an extremum.

    >>> superbee(np.array([1.0, 1.0, -1.0]), np.array([1.0, 3.0, 1.0])).tolist()
    [1.0, 2.0, 0.0]
    """
    one, two = np.abs(a), np.abs(b)
    size = np.maximum(np.minimum(2.0 * one, two), np.minimum(one, 2.0 * two))
    return np.where(a * b > 0.0, np.sign(a) * size, 0.0)
