"""Momentum at the edge of a mass that moves inwards.

A face at an edge has half of the mass of the cell behind it. If its velocity points into the mass, nothing crosses it,
since there is nothing to come: its momentum would stay where it is, and a force would add to it for ever. So it is
shared with the next face inwards, as in an inelastic impact of the two, which conserves momentum and takes energy. The
part that is shared is (R - r) / (R + r), with the densities r outside and R inside: all of it at a free edge, nothing
where the density is constant.
"""

from __future__ import annotations

import numpy as np

from jostle.arrays import Array, Booleans
from jostle.macro.motion.domain import VACUUM, Domain, Faces

AT_A_TIME = 1.0 / 3.0
"""A face may take part in three such impacts: with this fraction of each, energy does not grow."""


def shared(domain: Domain, density: Array, velocity: Faces) -> Faces:
    """The velocities after the edges have shared their momentum."""
    masses, found = domain.means(density), []
    for axis in (0, 1):
        rho, u, mass = (field if axis == 0 else field.T for field in (density, velocity[axis], masses[axis]))
        free = domain.open[axis] if axis == 0 else domain.open[axis].T
        changed = _shared(rho, u, mass, free)
        changed = changed - _shared(rho[::-1], -u[::-1], mass[::-1], free[::-1])[::-1]
        moved = u + np.divide(changed, mass, out=np.zeros_like(u), where=free & (mass > VACUUM))
        found.append(moved if axis == 0 else moved.T)
    return found[0], found[1]


def _shared(rho: Array, u: Array, mass: Array, free: Booleans) -> Array:
    """The momentum that faces get whose upper neighbours move down into the cell between, less what those give."""
    outside = np.concatenate([rho[1:], np.zeros_like(rho[:1])])
    total = rho + outside
    part = np.divide(np.maximum(rho - outside, 0.0), total, out=np.zeros_like(rho), where=total > VACUUM)
    low, high = (slice(None, -1), slice(1, None))
    approach = np.where(free[high], np.minimum(u[high] - np.where(free[low], u[low], 0.0), 0.0), 0.0)
    approach = np.where(u[high] < 0.0, approach, 0.0)
    below = np.where(free[low], mass[low], np.inf)
    heavy = (mass[high] > VACUUM) & (below > VACUUM)
    both = np.divide(mass[high], 1.0 + mass[high] / np.where(heavy, below, 1.0), out=np.zeros_like(rho), where=heavy)
    given = AT_A_TIME * part * both * approach
    change = np.zeros_like(u)
    change[low] += given
    change[high] -= given
    return change
