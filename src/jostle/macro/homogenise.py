"""From grains to densities: the operators phi_n of Bourdin & Maury 2020, (37)-(38), and how fast they converge.

    U  ->  means over the Voronoi cells D_i, (37)  ->  Moreau's law of the discs  ->  v = u_i on D_i, (38)

Prop. 7 says that v_n -> u in L^2, with u of the macroscopic law of the same lattice. Observed: order 1 for smooth U on
both lattices. (The paper's bound (41) gives order 1/2. For hexagonal cells "v_n is in C_rho", used in its proof, is
false; the convergence is seen all the same.)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from jostle.arguments import check_arguments
from jostle.arrays import Array
from jostle.laws import Restitution, impact
from jostle.macro.grid import Velocity
from jostle.macro.isotonic import Isotonic
from jostle.macro.lattice import Field, Lattice
from jostle.macro.law import Law
from jostle.macro.packing import Packing
from jostle.solvers.base import Solver


@dataclass(frozen=True, eq=False)
class Homogenised:
    """phi_n U: the means of U by cell, and the velocities after the microscopic impact, constant in each cell.

    >>> from jostle.macro.lattice import square_lattice
    >>> v = phi(lambda x, y: (x, 0.0), square_lattice(0.5, box=([0, 0], [1, 1])))
    >>> v.velocity[:, 0].round(12).tolist(), round(v.error(lambda x, y: (x, 0.0)), 6)       # h / sqrt(12)
    ([0.25, 0.25, 0.75, 0.75], 0.144338)
    """

    discs: Lattice | Packing
    means: Array
    velocity: Array

    def error(self, u: Field) -> float:
        """The L^2 distance between v and a field u over all Voronoi cells."""
        if isinstance(self.discs, Packing):
            points, weights, owner = self.discs.quadrature
            ux, uy = u(*points.T)
            v = self.velocity[owner]
            return float(np.sqrt((weights * ((v[:, 0] - ux) ** 2 + (v[:, 1] - uy) ** 2)).sum()))
        total = 0.0
        for offset, weight in zip(*self.discs.quadrature, strict=True):
            ux, uy = u(*(self.discs.points + offset).T)
            square = (self.velocity[:, 0] - ux) ** 2 + (self.velocity[:, 1] - uy) ** 2
            total += weight * self.discs.area * float(square.sum())
        return float(np.sqrt(total))


@check_arguments
def phi(U: Field, discs: Lattice | Packing, *, restitution: float = 0.0, solver: Solver | None = None) -> Homogenised:
    """The operator (38), by Moreau's law of the discs; each disc has the mass of its cell.

    >>> from jostle.macro.lattice import square_lattice
    >>> v = phi(lambda x, y: (-x, 0.0), square_lattice(0.5, box=([-1, -1], [1, 1])))
    >>> float(abs(v.velocity).max().round(12))
    0.0
    """
    means = discs.means(U)
    if solver is None and isinstance(discs, Lattice):
        solver = Isotonic(lattice=discs)
    mass = discs.area if isinstance(discs, Lattice) else discs.areas
    hit = impact(means, discs.cone, law=Restitution(restitution), mass=mass, solver=solver)
    return Homogenised(discs, means, hit.velocity)


@dataclass(frozen=True, eq=False)
class ErrorTable:
    """Errors |phi_n U - u| in L^2, with the order observed between two lines.

    >>> ErrorTable((1, 2), (1, 4), np.array([1.0, 0.5]), np.array([0.4, 0.2])).order.round(12).tolist()
    [1.0]
    """

    n: tuple[int, ...]
    grains: tuple[int, ...]
    spacing: Array
    error: Array

    @property
    def order(self) -> Array:
        """One number between each two lines."""
        return np.asarray(np.diff(np.log(self.error)) / np.diff(np.log(self.spacing)))


@check_arguments
def homogenise(
    law: Law | Field, lattice: Callable[[int], Lattice], U: Field, n: Sequence[int], *, solver: Solver | None = None
) -> ErrorTable:
    """Errors of phi_n against a macroscopic law, or against its exact answer if that is known.

    >>> from jostle.macro.lattice import square_lattice
    >>> def lattice(n):
    ...     return square_lattice(2 / n, box=([-1, -1], [1, 1]))
    >>> table = homogenise(lambda x, y: (0.0, 1.0), lattice, lambda x, y: (-x, 1.0), (4, 8))
    >>> table.grains, bool(table.error.max() < 1e-12)
    ((16, 64), True)
    """
    u = law if callable(law) else _answer(law, U)
    found = [phi(U, lattice(k), solver=solver) for k in n]
    return ErrorTable(
        tuple(n),
        tuple(len(v.discs) for v in found),
        np.array([v.discs.spacing for v in found if isinstance(v.discs, Lattice)]),
        np.array([v.error(u) for v in found]),
    )


def _answer(law: Law, U: Field) -> Field:
    """The macroscopic answer as a field, continued from the saturated zone."""
    from scipy.ndimage import distance_transform_edt

    velocity = Velocity(law.grid, lambda x, y: U(x, y)[0], lambda x, y: U(x, y)[1])
    u = law.impact(velocity).u.cells
    nearest = distance_transform_edt(~law.saturated, return_distances=False, return_indices=True)
    after = Velocity(law.grid, *(u[..., axis][tuple(nearest)] for axis in (0, 1)))

    def field(x: Array, y: Array) -> tuple[Array, Array]:
        found = after.at(x, y)
        return found[..., 0], found[..., 1]

    return field
