"""Problems for moving densities: a crowd with a desired velocity, or a mass that flies until it is full.

d rho / dt + div(rho u) = 0,   0 <= rho <= 1

crowd:  u = U - grad p,   p >= 0,   p (1 - rho) = 0        (Maury, Roudneff-Chupin & Santambrogio 2010)
flow:   d(rho u) / dt + div(rho u x u) + grad p = rho f    (Bourdin & Maury 2020, (46), with an impact law)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from jostle._tools.arguments import check_arguments, set_fields
from jostle._tools.arrays import Array, finite
from jostle.errors import InvalidValue, NotFinite
from jostle.laws import Restitution
from jostle.macro.grid import Grid, Velocity
from jostle.macro.law import fitting
from jostle.macro.motion.domain import MAX_EXCESS, Domain, Faces, Passage, checked_density

# The state of a moving density at one time.


class State(NamedTuple):
    """A moving density at one time: the input and the output of a step of a scheme.

    Attributes
    ----------
    t : float
        Time.
    density : array, shape (nx, ny)
        Density in the cells, between 0 and 1.
    velocity : tuple of array
        Velocities on the faces across x, (nx + 1, ny), and across y, (nx, ny + 1).
    pressure : array, shape (nx, ny)
        Mean pressure in the cells over the last step.
    gone : float
        Mass that has left through exits and open sides.
    iterations : int
        Number of solver iterations in the last step.
    substeps : int
        Number of parts into which the last step was cut.

    Examples
    --------
    >>> import jostle as jo
    >>> grid = jo.macro.Grid([0, 0], [4, 1], h=1.0, closed=True)
    >>> flow = jo.macro.Flow(grid=grid, density=grid.block([0, 0], [1, 1]), velocity=grid.velocity(1.0, 0))
    >>> scheme = jo.macro.Splitting()
    >>> state = scheme.advance(flow, scheme.start(flow, 0.0), h=0.5)
    >>> state.density.ravel().tolist(), state.substeps
    ([0.5, 0.5, 0.0, 0.0], 1)
    """

    t: float
    density: Array
    velocity: Faces
    pressure: Array
    gone: float = 0.0
    iterations: int = 0
    substeps: int = 0


EMPTY_FRACTION = 1e-3
"""A domain counts as empty when less than this fraction of the initial mass is left."""
DesiredVelocity = Callable[[float, Array], ArrayLike]
"""U(t, q): the desired velocities (n, 2) of people at the points q (n, 2), as for `Sweeping`."""


class OfMass:
    """What both problems have: a mass on a grid."""

    grid: Grid
    density: ArrayLike

    @property
    def mass(self) -> float:
        """Mass at the start: the sum of the density times the area of a cell."""
        return float(np.sum(self.density)) * self.grid.h**2

    def empty(self, state: State) -> bool:
        """Tell whether less than a thousandth of the mass is left; use it as `macro.solve(..., until=people.empty)`.

        Parameters
        ----------
        state : State
            The state of the run.

        Returns
        -------
        bool
            True if less than a thousandth of the mass is left.
        """
        return float(state.density.sum()) * self.grid.h**2 <= EMPTY_FRACTION * self.mass


@check_arguments
@dataclass(frozen=True, eq=False, kw_only=True)
class Crowd(OfMass):
    """People as a density of at most one, who move with their desired velocity as far as the others allow.

    `jo.crowds.density` makes a crowd from a floor plan. Mass that enters an exit, or leaves through an open side of the
    grid, is removed.

    Parameters
    ----------
    grid : Grid
        The grid.
    density : float or array_like, shape (nx, ny)
        Density at the start, between 0 and 1; 1 is the densest packing. Zero in walls and exits.
    velocity : Velocity or callable (t, q) -> array
        Desired velocity: a field of the grid, or a function that returns the velocities (n, 2) at points q (n, 2).
    walls : array_like of bool, shape (nx, ny), optional
        Cells that are walls. None: only the closed sides of the grid are walls.
    exits : array_like of bool, shape (nx, ny), optional
        Cells that are exits. None: no exits.
    barriers : (array_like, array_like) of bool, optional
        Walls without thickness: faces across x, (nx + 1, ny), and across y, (nx, ny + 1), that nobody can pass. None:
        no barriers.
    passages : sequence of Passage, default ()
        One-way passages between cells, such as stairs.

    Examples
    --------
    >>> import jostle as jo
    >>> grid = jo.macro.Grid([0, 0], [4, 1], h=1 / 4, closed=True)
    >>> people = jo.macro.Crowd(grid=grid, density=0.5 * grid.block([0, 0], [2, 1]), velocity=grid.velocity(1.0, 0))
    >>> people.mass
    1.0
    """

    grid: Grid
    density: ArrayLike
    velocity: Velocity | DesiredVelocity
    walls: ArrayLike | None = None
    exits: ArrayLike | None = None
    barriers: tuple[ArrayLike, ArrayLike] | None = None
    passages: Sequence[Passage] = ()
    domain: Domain = field(init=False, repr=False)

    def __post_init__(self) -> None:
        _settle(self)
        if isinstance(self.velocity, Velocity):
            fitting(self.velocity, self.grid)
        elif not callable(self.velocity):
            raise InvalidValue(
                f"velocity must be made by grid.velocity(ux, uy), or be a function U(t, q), not {self.velocity!r}"
            )

    @cached_property
    def places(self) -> Array:
        """(n, 2): the centres of the cells in which people can be."""
        x, y = self.grid.centres
        return np.stack([x[self.domain.zone], y[self.domain.zone]], axis=-1)

    def wish(self, t: float) -> Faces:
        """Return the desired velocity on the faces at a time.

        On a face, a desired velocity given as a function is the mean of the two cells beside it, of those in the
        domain.

        Parameters
        ----------
        t : float
            The time.

        Returns
        -------
        x, y : array, shapes (nx + 1, ny) and (nx, ny + 1)
            Desired velocity on the faces across x and across y; zero on closed faces.
        """
        if isinstance(self.velocity, Velocity):
            return _through(self.domain, (self.velocity.faces(0), self.velocity.faces(1)))
        wished = np.asarray(self.velocity(t, self.places), dtype=float)
        if wished.shape != self.places.shape:
            raise InvalidValue(
                f"the desired velocity at {len(self.places)} points must have shape {self.places.shape}, not "
                f"{wished.shape}"
            )
        if not np.isfinite(wished).all():
            k = int(np.flatnonzero(~np.isfinite(wished).all(axis=1))[0])
            raise NotFinite(f"the desired velocity at {self.places[k].tolist()}, t = {t:g}, is {wished[k].tolist()}")
        field = np.zeros((*self.grid.shape, 2))
        field[self.domain.zone] = wished
        cells = self.grid.velocity(field[..., 0], field[..., 1])
        there = self.domain.zone.astype(float)
        return _through(self.domain, (cells.faces(0, there), cells.faces(1, there)))


@check_arguments
@dataclass(frozen=True, eq=False, kw_only=True)
class Flow(OfMass):
    """A mass with a density of at most one that moves freely until it is saturated.

    Mass that enters an exit, or leaves through an open side of the grid, is removed.

    Parameters
    ----------
    grid : Grid
        The grid.
    density : float or array_like, shape (nx, ny)
        Density at the start, between 0 and 1. Zero in walls and exits.
    velocity : Velocity
        Velocity at the start.
    force : array_like, shape (2,), default (0, 0)
        Acceleration (fx, fy), such as gravity.
    law : Restitution, default Restitution()
        Impact law, with one restitution coefficient e for all impacts.
    walls : array_like of bool, shape (nx, ny), optional
        Cells that are walls. None: only the closed sides of the grid are walls.
    exits : array_like of bool, shape (nx, ny), optional
        Cells that are exits. None: no exits.

    Examples
    --------
    >>> import jostle as jo
    >>> grid = jo.macro.Grid([0, 0], [4, 1], h=1 / 4, closed=True)
    >>> left, right = grid.block([0, 0], [1, 1]), grid.block([2, 0], [3, 1])
    >>> blocks = jo.macro.Flow(grid=grid, density=left | right, velocity=grid.velocity(left - right, 0))
    >>> blocks.mass
    2.0
    """

    grid: Grid
    density: ArrayLike
    velocity: Velocity
    force: ArrayLike = (0.0, 0.0)
    law: Restitution = field(default_factory=Restitution)
    walls: ArrayLike | None = None
    exits: ArrayLike | None = None
    domain: Domain = field(init=False, repr=False)

    def __post_init__(self) -> None:
        _settle(self)
        fitting(self.velocity, self.grid)
        force = finite(self.force, "force")
        if force.shape != (2,):
            raise InvalidValue(f"force must be two numbers (fx, fy), an acceleration, not {self.force!r}")
        set_fields(self, force=force)
        if not isinstance(self.law, Restitution) or self.law.uniform is None:
            raise InvalidValue(f"law must have one coefficient e, as in jo.Restitution(0.5), not {self.law!r}")

    def start(self) -> Faces:
        """Return the velocity on the faces at the start.

        A velocity given in cells is averaged over the two cells beside a face, weighted by their masses.

        Returns
        -------
        x, y : array, shapes (nx + 1, ny) and (nx, ny + 1)
            Velocity on the faces across x and across y; zero on closed faces and where there is no mass.
        """
        moved = self.velocity.faces(0, self.density), self.velocity.faces(1, self.density)
        heavy = self.domain.means(np.asarray(self.density))
        return _through(self.domain, tuple(np.where(mass > 0.0, u, 0.0) for u, mass in zip(moved, heavy, strict=True)))


def _through(domain: Domain, field: tuple[Array, ...]) -> Faces:
    """A field on the faces, set to zero on closed faces."""
    x, y = (np.where(through, values, 0.0) for values, through in zip(field, domain.open, strict=True))
    return x, y


def _settle(problem: Crowd | Flow) -> None:
    """Check the density and build the domain."""
    grid, density = problem.grid, np.asarray(problem.density)
    given = {"walls", "exits", "barriers"} & vars(problem).keys()
    set_fields(problem, **{name: deepcopy(getattr(problem, name)) for name in given})
    more = (problem.barriers, problem.passages) if isinstance(problem, Crowd) else ()
    domain = Domain(grid, problem.walls, problem.exits, *more)
    rho = checked_density(grid, np.full(grid.shape, density) if density.ndim == 0 else density, domain.walls)
    for wrong, why in (
        (rho > 1.0 + MAX_EXCESS, "at most 1 fits into a cell: scale it, or spread it by jo.macro.obstacle_step"),
        ((rho > 0.0) & domain.exits, "this is an exit: leave it empty"),
    ):
        if wrong.any():
            i, j = np.argwhere(wrong)[0]
            raise InvalidValue(f"density is {rho[i, j]:g} in cell ({i}, {j}); {why}")
    rho = np.minimum(rho, 1.0)
    rho.setflags(write=False)
    if domain.exits.any():  # then all mass must be able to reach an exit
        shut = np.bincount(domain.shut.ravel(), weights=rho.ravel())
        shut[0] = 0.0
        if shut.any():
            k = int(np.argmax(shut))
            i, j = np.argwhere(domain.shut == k)[0]
            raise InvalidValue(
                f"a mass of {shut[k] * grid.h**2:.3g} around cell ({i}, {j}) cannot reach an exit, because of walls; "
                f"open them, or leave that part empty"
            )
    set_fields(problem, density=rho, domain=domain)
