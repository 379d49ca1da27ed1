"""Free motion, then a projection on {rho <= 1}: the splitting of Maury & Preux 2017 for flows, and of Maury,
Roudneff-Chupin & Santambrogio 2010 for crowds.

    arrived = density after free motion with u^n in time h
    rho^{n+1} = arrived + Laplace P,   P >= 0,   rho^{n+1} <= 1,   P (1 - rho^{n+1}) = 0
    u^{n+1} = transported u^n - grad P / h (flows);   u^{n+1} = U - grad P / h (crowds)

The projection is the obstacle step, which agrees with the Wasserstein projection to first order in the excess.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from jostle._tools.arrays import Array
from jostle.macro.grid import between_zeros
from jostle.macro.motion.domain import VACUUM, Domain, Faces, passed
from jostle.macro.motion.pressure import Spread, hard
from jostle.macro.motion.problems import Crowd, Flow, State
from jostle.macro.motion.scheme import Scheme, emptied, flux

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
    edge = between_zeros(rho, 0)
    return np.asarray(0.5 * (edge[1:] + edge[:-1]))


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


@dataclass(frozen=True, kw_only=True)
class Splitting(Scheme):
    """Free motion, then projection onto {rho <= 1}: Maury & Preux 2017; for crowds Maury et al. 2010.

    For crowds, and for flows with e = 0. The velocity after a step follows from the displacement of the mass.

    Parameters
    ----------
    tol : float, default 1e-8
        How much a density may exceed one, between 0 and 1.

    Examples
    --------
    >>> import jostle as jo
    >>> grid = jo.macro.Grid([0, 0], [4, 1], h=1 / 8, closed=True)
    >>> people = jo.macro.Crowd(grid=grid, density=0.5 * grid.block([0, 0], [2, 1]), velocity=grid.velocity(1.0, 0))
    >>> after = jo.macro.solve(people, jo.macro.Splitting(), t=4.0, h=0.05)
    >>> after.density[-1][:, 0].round(3).tolist()[-9:]              # all stand at the right wall
    [0.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]
    """

    def step(self, problem: Crowd | Flow, state: State, u: Faces, h: float) -> State:
        # Advance the density by one step that is short enough; `advance` cuts longer steps.
        domain, side = problem.domain, problem.grid.h
        free = flux(domain, state.density, u, h)
        arrived = state.density - domain.divergence(free)
        P, iterations = self.spread(problem, state, arrived, h)
        back = domain.differences(P)
        crossed = free[0] - back[0], free[1] - back[1]
        full = arrived + domain.divergence(back)
        if isinstance(problem, Flow):
            m, (x, y) = carried(domain, state.density, u, crossed), impulses(domain, P)
            u = velocities(domain, full, (m[0] - side / h * x, m[1] - side / h * y))
            pressure = P * (side / h) ** 2
        else:
            full = passed(domain.passages, full, u, h / domain.grid.h)
            u, pressure = (u[0] - side / h * back[0], u[1] - side / h * back[1]), P * side**2 / h
        density, gone = emptied(problem, full, crossed)
        return State(state.t + h, density, u, pressure, state.gone + gone, iterations)

    def spread(self, problem: Crowd | Flow, state: State, arrived: Array, h: float) -> Spread:
        """Find the potential that spreads mass in excess of the density one.

        Parameters
        ----------
        problem : Crowd or Flow
            The problem.
        state : State
            The state at the beginning of the step.
        arrived : array, shape (nx, ny)
            Density after free motion.
        h : float
            Length of the step.

        Returns
        -------
        Spread
            The potential and the number of solver iterations.

        Raises
        ------
        NotConverged
            If the density misses the tolerance.
        """
        return hard(problem.domain, arrived, state.pressure, self.tol)
