"""Momentum at the edge of a mass that moves inwards.

A face at an edge has half the mass of the cell behind it. If its velocity points into the mass, no mass crosses it, its
momentum would stay there, and a force would increase it without limit. The momentum is therefore shared with the next
face inwards, as in an inelastic impact of the two, which conserves momentum and dissipates energy. The shared fraction
is (R - r) / (R + r), with the densities r outside and R inside: all momentum at a free edge, none where the density is
constant.
"""

from __future__ import annotations

import numpy as np

from jostle.arrays import Array, Booleans
from jostle.macro.motion.domain import VACUUM, Domain, Faces

IMPACT_FRACTION = 1.0 / 3.0
"""Fraction of each impact that is applied. A face takes part in at most three, so that energy does not grow."""


def shared(domain: Domain, density: Array, velocity: Faces) -> Faces:
    """The velocities after momentum was shared at edges."""
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
    """The momentum gained by faces whose upper neighbours move down towards them, minus what the neighbours lose."""
    outside = np.concatenate([rho[1:], np.zeros_like(rho[:1])])
    total = rho + outside
    part = np.divide(np.maximum(rho - outside, 0.0), total, out=np.zeros_like(rho), where=total > VACUUM)
    low, high = (slice(None, -1), slice(1, None))
    approach = np.where(free[high], np.minimum(u[high] - np.where(free[low], u[low], 0.0), 0.0), 0.0)
    approach = np.where(u[high] < 0.0, approach, 0.0)
    below = np.where(free[low], mass[low], np.inf)
    heavy = (mass[high] > VACUUM) & (below > VACUUM)
    both = np.divide(mass[high], 1.0 + mass[high] / np.where(heavy, below, 1.0), out=np.zeros_like(rho), where=heavy)
    given = IMPACT_FRACTION * part * both * approach
    change = np.zeros_like(u)
    change[low] += given
    change[high] -= given
    return change
