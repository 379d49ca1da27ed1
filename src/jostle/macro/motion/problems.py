"""What is to be solved: a crowd that wishes to move, or a mass that flies until it is full.

d rho / dt + div(rho u) = 0,   0 <= rho <= 1

crowd:  u = U - grad p,   p >= 0,   p (1 - rho) = 0        (Maury, Roudneff-Chupin & Santambrogio 2010)
flow:   d(rho u) / dt + div(rho u x u) + grad p = rho f    (Bourdin & Maury 2020, (46), with a law of impact)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from jostle.arguments import check_arguments
from jostle.arrays import Array, finite
from jostle.errors import InvalidValue, NotFinite
from jostle.laws import Restitution
from jostle.macro.grid import Grid, Velocity
from jostle.macro.law import fitting
from jostle.macro.motion.density import MAX_EXCESS, checked_density
from jostle.macro.motion.domain import Domain, Faces
from jostle.macro.motion.passages import Passage
from jostle.macro.motion.state import State

EMPTY = 1e-3
"""A problem is empty when less than this part of its mass is left."""
WishedVelocity = Callable[[float, Array], ArrayLike]
"""U(t, q): the velocities (n, 2) that people at the places q (n, 2) wish for, as for `Sweeping`."""


@check_arguments
@dataclass(frozen=True, eq=False, kw_only=True)
class Crowd:
    """People as a density, full at one, who move with the velocity they wish for as far as the others let them.

    `density` is one number a cell, `velocity` the wish: a velocity of the grid, or a function U(t, q) as for people who
    are followed one by one. `walls` and `exits` are masks of cells. `barriers` are walls without thickness: two masks
    of the faces across x, (nx + 1, ny), and across y, (nx, ny + 1). `passages` lead from some cells to others: stairs.
    What enters an exit, or leaves through a side of the grid that is not closed, is gone. `jo.crowds.density` makes a
    crowd from a floor plan.

    >>> import jostle as jo
    >>> grid = jo.macro.Grid([0, 0], [4, 1], h=1 / 4, closed=True)
    >>> people = jo.macro.Crowd(grid=grid, density=0.5 * grid.block([0, 0], [2, 1]), velocity=grid.velocity(1.0, 0))
    >>> people.mass
    1.0
    """

    grid: Grid
    density: ArrayLike
    velocity: Velocity | WishedVelocity
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
                f"velocity must be one of the grid, grid.velocity(ux, uy), or a function U(t, q), not {self.velocity!r}"
            )

    @property
    def mass(self) -> float:
        """At the start."""
        return float(np.sum(self.density)) * self.grid.h**2

    def empty(self, state: State) -> bool:
        """Is less than a thousandth of the mass left? For `macro.solve(..., until=people.empty)`."""
        return _empty(self, state)

    @cached_property
    def places(self) -> Array:
        """(n, 2): the centres of the cells of the domain."""
        x, y = self.grid.centres
        return np.stack([x[self.domain.zone], y[self.domain.zone]], axis=-1)

    def wish(self, t: float) -> Faces:
        """U on the faces: of a function, the mean of the cells of the domain beside each."""
        if isinstance(self.velocity, Velocity):
            return _through(self.domain, (self.velocity.faces(0), self.velocity.faces(1)))
        wished = np.asarray(self.velocity(t, self.places), dtype=float)
        if wished.shape != self.places.shape:
            raise InvalidValue(
                f"the wished velocity of {len(self.places)} places must have shape {self.places.shape}, not "
                f"{wished.shape}"
            )
        if not np.isfinite(wished).all():
            k = int(np.flatnonzero(~np.isfinite(wished).all(axis=1))[0])
            raise NotFinite(f"the wished velocity at {self.places[k].tolist()}, t = {t:g}, is {wished[k].tolist()}")
        field = np.zeros((*self.grid.shape, 2))
        field[self.domain.zone] = wished
        cells = self.grid.velocity(field[..., 0], field[..., 1])
        there = self.domain.zone.astype(float)
        return _through(self.domain, (cells.faces(0, there), cells.faces(1, there)))


@check_arguments
@dataclass(frozen=True, eq=False, kw_only=True)
class Flow:
    """A mass with a density of at most one that flies freely until it meets more than fits.

    `density` is one number a cell, `velocity` a velocity of the grid, `force` an acceleration (fx, fy). `walls` and
    `exits` are masks of cells. What enters an exit, or leaves through a side of the grid that is not closed, is gone.

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
        object.__setattr__(self, "force", force)
        if not isinstance(self.law, Restitution) or self.law.uniform is None:
            raise InvalidValue(f"law must have one number e in a flow, as in law=jo.Restitution(0.5), not {self.law!r}")

    @property
    def mass(self) -> float:
        """At the start."""
        return float(np.sum(self.density)) * self.grid.h**2

    def empty(self, state: State) -> bool:
        """Is less than a thousandth of the mass left? For `macro.solve(..., until=flow.empty)`."""
        return _empty(self, state)

    def start(self) -> Faces:
        """The velocity on the faces at the start: of cells the mean of the two beside, by their masses."""
        moved = self.velocity.faces(0, self.density), self.velocity.faces(1, self.density)
        heavy = self.domain.means(np.asarray(self.density))
        return _through(self.domain, tuple(np.where(mass > 0.0, u, 0.0) for u, mass in zip(moved, heavy, strict=True)))


def _empty(problem: Crowd | Flow, state: State) -> bool:
    return float(state.density.sum()) * problem.grid.h**2 <= EMPTY * problem.mass


def _through(domain: Domain, field: tuple[Array, ...]) -> Faces:
    """A field on the faces, zero on those that are closed."""
    x, y = (np.where(through, values, 0.0) for values, through in zip(field, domain.open, strict=True))
    return x, y


def _settle(problem: Crowd | Flow) -> None:
    """Check the density and where it may be."""
    grid, given = problem.grid, np.asarray(problem.density)
    more = (problem.barriers, problem.passages) if isinstance(problem, Crowd) else ()
    domain = Domain(grid, problem.walls, problem.exits, *more)
    rho = checked_density(grid, np.full(grid.shape, given) if given.ndim == 0 else given, domain.walls)
    for wrong, why in (
        (rho > 1.0 + MAX_EXCESS, "at most 1 fits into a cell: scale it, or spread it by jo.macro.obstacle_step"),
        ((rho > 0.0) & domain.exits, "this is an exit: leave it empty"),
    ):
        if wrong.any():
            i, j = np.argwhere(wrong)[0]
            raise InvalidValue(f"density is {rho[i, j]:g} in cell ({i}, {j}); {why}")
    rho = np.minimum(rho, 1.0)
    rho.setflags(write=False)
    if domain.exits.any():  # then nobody may be shut in
        shut = np.bincount(domain.shut.ravel(), weights=rho.ravel())
        shut[0] = 0.0
        if shut.any():
            k = int(np.argmax(shut))
            i, j = np.argwhere(domain.shut == k)[0]
            raise InvalidValue(
                f"a mass of {shut[k] * grid.h**2:.3g} around cell ({i}, {j}) cannot reach an exit: walls cut it off; "
                f"open them, or leave that part empty"
            )
    object.__setattr__(problem, "density", rho)
    object.__setattr__(problem, "domain", domain)
