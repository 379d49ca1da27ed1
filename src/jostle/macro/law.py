"""The common part of the macroscopic impact laws: u = U - (1 + e) P_N U (Bourdin & Maury 2020, (3)).

A law has a cone C of admissible velocities (those that do not compress the saturated zone), the masses of its
velocities, and a solver for both. The rest is Moreau's law of `jostle.laws`, with the same residuals and errors.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from jostle._tools.arguments import set_fields
from jostle._tools.arrays import Array, Booleans
from jostle.convex.polyhedron import Cone
from jostle.convex.residuals import Residual
from jostle.errors import InvalidValue
from jostle.kernels.parallel import one_blas_thread
from jostle.laws import Impact, Restitution, impact
from jostle.macro.checks import within
from jostle.macro.grid import CELL_TOLERANCE, Grid, Outline, Velocity, mask_of, walls_around
from jostle.solvers.base import Solver

Zone = ArrayLike | Outline
"""The saturated zone: one boolean per cell, or a function of (x, y) that is negative inside."""


def by_centres(grid: Grid, outline: Outline) -> Booleans:
    """The cells whose centre lies within an outline."""
    return within(outline, *grid.centres)


def cells(grid: Grid, zone: Zone, name: str) -> Booleans:
    """The cells of a zone: its mask, or those whose centre lies within its outline."""
    return by_centres(grid, zone) if callable(zone) else mask_of(grid, zone, name)


def outline_of(zone: Zone | None) -> Outline | None:
    """The outline by which a zone was given; None if it was given by a mask."""
    return zone if callable(zone) else None


def fitting(velocity: Velocity, grid: Grid) -> Velocity:
    """Check that a velocity field belongs to this grid, and return it."""
    if not isinstance(velocity, Velocity):
        raise InvalidValue(f"velocity must be made by the grid, grid.velocity(ux, uy), not {velocity!r}")
    other, off = velocity.grid, CELL_TOLERANCE * grid.h
    if other.shape != grid.shape or np.abs([*(other.lower - grid.lower), *(other.upper - grid.upper)]).max() > off:
        raise InvalidValue(
            f"the velocity belongs to another grid, of {other.shape} cells from {other.lower.tolist()} to "
            f"{other.upper.tolist()}; the grid here has {grid.shape} cells from {grid.lower.tolist()} to "
            f"{grid.upper.tolist()}"
        )
    return velocity


@dataclass(frozen=True, eq=False, init=False)
class Law:
    """A macroscopic impact law; see `Isotropic`, `Square`, `Triangular`."""

    grid: Grid
    saturated: Booleans
    wall: Booleans
    tol: float

    def _settle(
        self,
        grid: Grid,
        saturated: Zone,
        walls: Zone | None,
        *,
        solid: Callable[[Grid, Outline], Booleans] = by_centres,
        **values: Any,
    ) -> None:
        """Set the zone, the walls and the other fields; cells behind an outlined wall leave the zone.

        `solid` finds the cells of walls that are given by an outline.
        """
        zone = cells(grid, saturated, "saturated")
        if callable(walls):
            wall = walls_around(grid, solid(grid, walls))
            zone = zone & ~wall[1:-1, 1:-1]
        else:
            wall = walls_around(grid, walls)
        if (zone & wall[1:-1, 1:-1]).any():
            raise InvalidValue("some cells are both saturated and walls")
        set_fields(self, grid=grid, saturated=zone, wall=wall, **values)

    @property
    def cone(self) -> Cone:
        """The admissible velocities."""
        raise NotImplementedError

    @property
    def mass(self) -> Array:
        """Masses of the velocities, for a density of one in the saturated zone."""
        raise NotImplementedError

    @property
    def _solver(self) -> Solver:
        """The solver of projections on the cone."""
        raise NotImplementedError

    def sample(self, velocity: Velocity) -> Array:
        """Return the velocities to which the law applies.

        Parameters
        ----------
        velocity : Velocity
            A velocity field of the grid.

        Returns
        -------
        array, shape (n, 2) or (m,)
            Velocities in the saturated cells (`Square`) or at the lattice points (`Triangular`); components on the
            moving faces, those along x first (`Isotropic`).
        """
        raise NotImplementedError

    def impact(self, velocity: Velocity, *, restitution: float = 0.0) -> Collision:
        """Apply the law: u = U - (1 + e) grad p, with a pressure for each direction of a lattice.

        Parameters
        ----------
        velocity : Velocity
            Velocity U before the impact.
        restitution : float, default 0.0
            Restitution coefficient e, between 0 and 1.

        Returns
        -------
        Collision
            The velocity after the impact, the pressures and the energy lost.

        Raises
        ------
        NotConverged
            If the projection misses its tolerance.
        """
        U, mass = self.sample(velocity), self.mass
        with one_blas_thread():  # sums over one field are too short for several threads
            hit = impact(U, self.cone, law=Restitution(restitution), mass=mass, solver=self._solver)
        before, after = (0.5 * float(np.einsum("i,i...->...", mass, v * v).sum()) for v in (U, hit.velocity))
        lost = before - after + (1.0 - restitution**2) * self._shared(velocity)
        return Collision(self._after(velocity, hit.velocity), self._pressure(hit.impulse), hit, lost)

    def _after(self, velocity: Velocity, u: Array) -> Velocity:
        """The velocity field after an impact, by the velocities u to which the law applies."""
        raise NotImplementedError

    def _pressure(self, impulse: Array) -> Any:
        """The pressures, by the impulses in the numbering of the cone."""
        raise NotImplementedError

    def _shared(self, velocity: Velocity) -> float:
        """The energy that `sample` takes from approaching cells."""
        return 0.0


@dataclass(frozen=True, eq=False)
class Collision:
    """The result of a macroscopic impact.

    Attributes
    ----------
    u : Velocity
        Velocity after the impact; outside the saturated zone it is the velocity before.
    pressure : array or tuple of array
        Impulse p >= 0, zero outside the zone. `Isotropic`: p in cells, with U - u = grad p. `Square`: (p_x, p_y) on
        faces; `Triangular`: (p_0, p_1, p_2) at the grains; with U - u = sum_k (d p_k / d e_k) e_k. The factor 1 + e is
        included.
    hit : Impact
        Velocities and impulses in the numbering of `law.cone`, with their projection.
    lost : float
        Kinetic energy lost, for a density of one. If the isotropic law is given a velocity by cells, it includes the
        energy that two approaching cells lose because their common face has one velocity.

    Examples
    --------
    >>> import jostle.macro as macro
    >>> grid = macro.Grid([0, 0], [2, 1], h=1 / 4, closed=((False, False), (True, True)))
    >>> left, right = grid.block([0, 0], [1, 1]), grid.block([1, 0], [2, 1])
    >>> after = macro.Square(grid, left | right).impact(grid.velocity(left - right, 0))
    >>> float(abs(after.u.cells).max()), after.lost, after.residual.within(1e-12)
    (0.0, 1.0, True)
    """

    u: Velocity
    pressure: Any
    hit: Impact
    lost: float

    @property
    def residual(self) -> Residual:
        """How far (u, p) is from the optimality conditions."""
        return self.hit.projection.residual

    @property
    def iterations(self) -> int:
        """Number of iterations of the solver."""
        return self.hit.projection.iterations
