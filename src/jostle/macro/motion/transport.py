"""How a density and its momentum move with velocities on the faces of a grid, explicitly in time."""

from __future__ import annotations

import numpy as np

from jostle._tools.arrays import Array, Booleans
from jostle.macro.grid import after, before, between_zeros
from jostle.macro.motion.domain import VACUUM, Domain, Faces

# Mass that crosses each face while a density moves with velocities on faces: upwind, with limited slopes.
#
# The density at a face is the mean over the part of the upwind cell that crosses, for a linear profile in the cell.
# Slopes are limited by superbee (Roe 1985), so that free edges stay sharp and no density becomes negative. A cell loses
# at most its mass in a step.


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
    around = between_zeros(rho, 0, 2)
    step = around[1:] - around[:-1]
    slope = superbee(step[:-1], step[1:])
    left, right = around[1:-2], around[2:-1]
    ahead = left + 0.5 * (1.0 - part) * slope[:-1]
    behind = right - 0.5 * (1.0 + part) * slope[1:]
    crossed = np.where(part > 0.0, ahead, behind) * part
    through = domain.open[axis]
    return np.where(through, crossed if axis == 0 else crossed.T, 0.0)


def superbee(a: Array, b: Array) -> Array:
    """The steepest slope that keeps a profile with steps a and b monotone; zero at an extremum."""
    one, two = np.abs(a), np.abs(b)
    size = np.maximum(np.minimum(2.0 * one, two), np.minimum(one, 2.0 * two))
    return np.where(a * b > 0.0, np.sign(a) * size, 0.0)


# Momentum at the edge of a mass that moves inwards.
#
# A face at an edge has half the mass of the cell behind it. If its velocity points into the mass, no mass crosses it,
# its momentum would stay there, and a force would increase it without limit. The momentum is therefore shared with the
# next face inwards, as in an inelastic impact of the two, which conserves momentum and dissipates energy. The shared
# fraction is (R - r) / (R + r), with the densities r outside and R inside: all momentum at a free edge, none where the
# density is constant.


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


# Transport of momentum: velocities are on faces, each with half the mass of the two cells beside it.
#
# The mass that crosses a cell, or a corner, between two faces is the mean of the fluxes through the faces around it. It
# carries the velocity of the face that it leaves, plus half a slope with the limiter of van Leer 1974. Momentum is
# conserved. Without slopes the new velocities are means of old ones, weighted by masses, and by Jensen's inequality
# energy does not grow (Herbin, Kheriji & Latché 2014 for staggered grids). A step in which energy would grow with
# slopes is done without them.


def carried(domain: Domain, density: Array, velocity: Faces, crossed: Faces) -> Faces:
    """The momentum on each face, in cells of density one, after the crossing mass carried it along."""
    found, rest = [], density - domain.divergence(crossed)
    for axis, (masses, masses_left) in enumerate(zip(domain.means(density), domain.means(rest), strict=True)):
        fields = masses, masses_left, velocity[axis], crossed[axis], crossed[1 - axis]
        mass, left, u, along, across = fields if axis == 0 else (field.T for field in fields)
        moved = _carried(mass, u, along, across, 0.5)
        if _energy(moved, left) > float((mass * u * u).sum()):
            moved = _carried(mass, u, along, across, 0.0)
        found.append(moved if axis == 0 else moved.T)
    return found[0], found[1]


def _energy(momentum: Array, mass: Array) -> float:
    there = mass > VACUUM
    return float((momentum[there] ** 2 / mass[there]).sum())


def _carried(mass: Array, u: Array, along: Array, across: Array, slopes: float) -> Array:
    """The momentum along the first axis; `along` (n + 1, m) and `across` (n, m + 1) are the masses that crossed."""
    middle = np.concatenate([along[:1], 0.5 * (along[1:] + along[:-1]), along[-1:]])  # mass beyond the ends is gone
    around = between_zeros(across, 0)
    corner = 0.5 * (around[:-1] + around[1:])
    lost = _lost(mass, u, middle, slopes) + _lost(mass.T, u.T, corner.T, slopes).T
    return mass * u - lost


def _lost(mass: Array, u: Array, crossed: Array, slopes: float) -> Array:
    """The momentum each face loses along the first axis; `crossed` (n + 1, m) is the mass between two faces."""
    around = between_zeros(u, 0)
    carried = np.where(crossed > 0.0, around[:-1], around[1:])
    if slopes:
        step = around[1:] - around[:-1]
        half = between_zeros(slopes * van_leer(step[:-1], step[1:]), 0)
        heavy = between_zeros(mass, 0)
        ahead = half[:-1] * _rest(crossed, heavy[:-1])
        behind = half[1:] * _rest(-crossed, heavy[1:])
        carried = carried + np.where(crossed > 0.0, ahead, -behind)
    return np.diff(carried * crossed, axis=0)


def _rest(crossed: Array, mass: Array) -> Array:
    """The fraction of a mass that has not crossed; zero in a vacuum."""
    rest = np.divide(crossed, mass, out=np.ones_like(crossed), where=mass > VACUUM)
    return np.clip(1.0 - rest, 0.0, 1.0)


def van_leer(a: Array, b: Array) -> Array:
    """The harmonic mean of two steps of the same sign; zero otherwise.

    >>> van_leer(np.array([1.0, 1.0, -1.0]), np.array([1.0, 3.0, 1.0])).tolist()
    [1.0, 1.5, 0.0]
    """
    both = a * b
    return np.divide(2.0 * both, a + b, out=np.zeros_like(both), where=both > 0.0)


def velocities(domain: Domain, density: Array, momentum: Faces) -> Faces:
    """Momentum over mass on each open face, zero in a vacuum and on closed faces."""
    masses = domain.means(density)
    x, y = (
        np.divide(m, mass, out=np.zeros_like(m), where=through & (mass > VACUUM))
        for m, mass, through in zip(momentum, masses, domain.open, strict=True)
    )
    return x, y


def impulses(domain: Domain, potential: Array) -> Faces:
    """The differences of a potential on open faces: the momentum that it takes from each face, in cells."""
    x, y = (
        np.where(through, np.diff(potential, axis=axis, prepend=0.0, append=0.0), 0.0)
        for axis, through in enumerate(domain.open)
    )
    return x, y
