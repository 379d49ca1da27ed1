"""The impact law applied wherever the density is one: equation (46) of Bourdin & Maury 2020, with restitution e.

    the mass moves freely; mass that does not fit is spread and carries its momentum along
    in the cells that are full then:  u^{n+1} = u - (1 + e) grad p,   div u <= 0 where p > 0

or the law of a square or triangular lattice instead of the isotropic law. Free transport smears the edges of a body
over a few cells. With e > 0 the isotropic law counts dense cells at an edge as full, so that a body bounces as a whole:
see EDGE_DENSITY.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from jostle._tools.arrays import Array, Booleans
from jostle.errors import InvalidValue, NotApproaching
from jostle.macro.grid import Velocity
from jostle.macro.law import Collision
from jostle.macro.motion.domain import Faces
from jostle.macro.motion.pressure import INNER_TOLERANCE, hard
from jostle.macro.motion.problems import Flow, State
from jostle.macro.motion.scheme import Scheme, emptied
from jostle.macro.motion.transport import carried, flux, impulses, velocities
from jostle.macro.obstacle import nested, obstacle
from jostle.macro.square import Square
from jostle.macro.triangular import Triangular

FULL = 1e-6
"""A cell is full if its density is this close to one."""
MAX_GROWING_STEPS = 100
"""Largest number of active-set steps from the cells that are full after free motion. The set grows by one layer of
cells per step."""
EDGE_DENSITY = 0.1
"""With e > 0, cells at the edge of a full zone count as full from a density of 1 - EDGE_DENSITY e on. They have the
velocity of the zone: if they kept it while the zone bounces, they would collide with it again at once."""
EDGE_CELLS = 8
"""Largest width of the edge of a full zone, in cells."""
AT_REST = 1e-10
"""Grains approach if their relative velocity exceeds this fraction of the largest velocity."""
LATTICES = {"square": Square, "triangular": Triangular}
"""The laws of lattices by the names of structures."""


@dataclass(frozen=True, kw_only=True)
class Impacts(Scheme):
    """Moreau's impact law wherever the density reaches one: Bourdin & Maury 2020, (46).

    For flows with any restitution coefficient.

    Parameters
    ----------
    tol : float, default 1e-8
        How much a density may exceed one, between 0 and 1.
    structure : {"isotropic", "square", "triangular"}, default "isotropic"
        The impact law in full cells; lattices are aligned with the axes of the grid. Walls and closed sides are rough
        for the triangular lattice, and take momentum along them; see `Triangular`.

    Examples
    --------
    >>> import jostle as jo
    >>> grid = jo.macro.Grid([0, 0], [4, 1], h=1 / 8, closed=((False, False), (True, True)))
    >>> left, right = grid.block([1, 0], [2, 1]), grid.block([2, 0], [3, 1])
    >>> blocks = jo.macro.Flow(grid=grid, density=left | right, velocity=grid.velocity(left - right, 0),
    ...                        law=jo.Restitution(0.5))
    >>> after = jo.macro.solve(blocks, jo.macro.Impacts(), t=0.2, h=0.05)
    >>> round(float(after.energy[-1] / after.energy[0]), 2)
    0.25
    """

    solves: ClassVar[tuple[type[Any], ...]] = (Flow,)
    bounces: ClassVar[bool] = True

    structure: str = "isotropic"

    def __post_init__(self) -> None:
        super().__post_init__()
        known = ["isotropic", *LATTICES]
        if self.structure not in known:
            raise InvalidValue(f"structure must be one of {', '.join(known)}, not {self.structure!r}")

    def step(self, problem: Flow, state: State, u: Faces, h: float) -> State:
        # Advance the density by one step that is short enough; `advance` cuts longer steps.
        domain = problem.domain
        free = flux(domain, state.density, u, h)
        arrived = state.density - domain.divergence(free)
        # a small excess in a corner of a large full zone raises the potential in the whole zone, which coarser grids
        # miss, because the corner has room there
        P, iterations = hard(
            domain, arrived, np.where(arrived >= 1.0 - self.tol, self.tol, 0.0), self.tol, most=MAX_GROWING_STEPS
        )
        back = domain.differences(P)
        crossed = free[0] - back[0], free[1] - back[1]
        moved = arrived + domain.divergence(back)
        u = velocities(domain, moved, carried(domain, state.density, u, crossed))
        full = domain.zone & (moved >= 1.0 - FULL)
        hit = self._isotropic if self.structure == "isotropic" else self._lattice
        if self.structure == "isotropic" and problem.law.number > 0.0:
            full = _with_edges(full, domain.zone & (moved >= 1.0 - EDGE_DENSITY * problem.law.number))
        u, p, used = hit(problem, moved, full, u) if full.any() else (u, np.zeros_like(moved), 0)
        density, gone = emptied(problem, moved, crossed)
        return State(state.t + h, density, u, p / h, state.gone + gone, iterations + used)

    def _isotropic(self, problem: Flow, density: Array, full: Booleans, u: Faces) -> tuple[Faces, Array, int]:
        """The isotropic law with the masses of the faces, so that the edge of a full zone pushes the mass beyond it."""
        domain, masses = problem.domain, problem.domain.means(density)
        A = domain.laplacian(masses, full)
        approach = np.where(full, -domain.divergence(u), 0.0)
        if not (approach > 0.0).any():
            return u, np.zeros_like(density), 0
        p, iterations = obstacle(A, approach, nested(A, approach), tol=INNER_TOLERANCE * self.tol)
        p *= 1.0 + problem.law.number
        push = impulses(domain, p)
        x, y = (
            v - np.divide(change, mass, out=np.zeros_like(v), where=change != 0.0)
            for v, change, mass in zip(u, push, masses, strict=True)
        )
        return (x, y), problem.grid.h * p, iterations

    def _lattice(self, problem: Flow, density: Array, full: Booleans, u: Faces) -> tuple[Faces, Array, int]:
        """The law of a lattice in cells; half the momentum change of a cell goes to each of its faces."""
        domain, before = problem.domain, Velocity(problem.grid, *u)
        law = LATTICES[self.structure](problem.grid, full, walls=domain.walls)
        U = law.sample(before)
        if law.cone.slack(U).min(initial=0.0) >= -AT_REST * np.abs(U).max(initial=0.0):
            return u, np.zeros_like(density), 0
        with warnings.catch_warnings():  # separating contacts may approach after the impact; the next step handles them
            warnings.simplefilter("ignore", NotApproaching)
            after = law.impact(before, restitution=problem.law.number)
        change = np.where(full[..., None], after.u.cells - before.cells, 0.0)
        change[full] += (_momentum(law, after, U) - change.sum(axis=(0, 1))) / full.sum()
        share = domain.means(change[..., 0])[0], domain.means(change[..., 1])[1]
        m = tuple(mass * v + part for mass, v, part in zip(domain.means(density), u, share, strict=True))
        return velocities(domain, density, (m[0], m[1])), _mean_pressure(full, after), after.iterations


def _with_edges(full: Booleans, dense: Booleans) -> Booleans:
    """(nx, ny): the full cells, and the dense cells at their edges that belong to the same body."""
    from scipy.ndimage import binary_dilation

    return np.asarray(binary_dilation(full, iterations=EDGE_CELLS, mask=dense | full))


def _momentum(law: Any, after: Collision, before: Array) -> Array:
    """(2,): the momentum change of the grains, in cells; the cells must change by the same amount."""
    return np.asarray(law.mass @ (after.hit.velocity - before) / law.grid.h**2)


def _mean_pressure(full: Booleans, after: Collision) -> Array:
    """(nx, ny): half the trace of the stress."""
    if len(after.pressure) == 2:
        x, y = after.pressure
        return np.asarray(np.where(full, 0.25 * (x[1:] + x[:-1] + y[:, 1:] + y[:, :-1]), 0.0))
    return np.where(full, 0.5 * float(sum(part.mean() for part in after.pressure)), 0.0)
