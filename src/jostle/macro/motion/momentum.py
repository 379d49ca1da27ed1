"""Transport of momentum: velocities are on faces, each with half the mass of the two cells beside it.

The mass that crosses a cell, or a corner, between two faces is the mean of the fluxes through the faces around it. It
carries the velocity of the face that it leaves, plus half a slope with the limiter of van Leer 1974. Momentum is
conserved. Without slopes the new velocities are means of old ones, weighted by masses, and by Jensen's inequality
energy does not grow (Herbin, Kheriji & Latché 2014 for staggered grids). A step in which energy would grow with slopes
is done without them.
"""

from __future__ import annotations

import numpy as np

from jostle.arrays import Array
from jostle.macro.motion.domain import VACUUM, Domain, Faces


def carried(domain: Domain, density: Array, velocity: Faces, crossed: Faces) -> Faces:
    """The momentum on each face, in cells of density one, after the crossing mass carried it along."""
    found, rest = [], density - domain.divergence(crossed)
    for axis in (0, 1):
        rho, after, u = (field if axis == 0 else field.T for field in (density, rest, velocity[axis]))
        along, across = (crossed[0], crossed[1]) if axis == 0 else (crossed[1].T, crossed[0].T)
        mass, left = _on_faces(rho), _on_faces(after)
        moved = _carried(mass, u, along, across, 0.5)
        if _energy(moved, left) > float((mass * u * u).sum()):
            moved = _carried(mass, u, along, across, 0.0)
        found.append(moved if axis == 0 else moved.T)
    return found[0], found[1]


def _on_faces(rho: Array) -> Array:
    """The mean of the two cells beside each face across the first axis."""
    edge = np.pad(rho, ((1, 1), (0, 0)))
    return np.asarray(0.5 * (edge[1:] + edge[:-1]))


def _energy(momentum: Array, mass: Array) -> float:
    there = mass > VACUUM
    return float((momentum[there] ** 2 / mass[there]).sum())


def _carried(mass: Array, u: Array, along: Array, across: Array, slopes: float) -> Array:
    """The momentum along the first axis; `along` (n + 1, m) and `across` (n, m + 1) are the masses that crossed."""
    middle = np.concatenate([along[:1], 0.5 * (along[1:] + along[:-1]), along[-1:]])  # mass beyond the ends is gone
    corner = 0.5 * (np.pad(across, ((1, 0), (0, 0))) + np.pad(across, ((0, 1), (0, 0))))
    lost = _lost(mass, u, middle, slopes) + _lost(mass.T, u.T, corner.T, slopes).T
    return mass * u - lost


def _lost(mass: Array, u: Array, crossed: Array, slopes: float) -> Array:
    """The momentum each face loses along the first axis; `crossed` (n + 1, m) is the mass between two faces."""
    around = np.pad(u, ((1, 1), (0, 0)))
    carried = np.where(crossed > 0.0, around[:-1], around[1:])
    if slopes:
        step = np.diff(around, axis=0)
        half = np.pad(slopes * van_leer(step[:-1], step[1:]), ((1, 1), (0, 0)))
        heavy = np.pad(mass, ((1, 1), (0, 0)))
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
