"""From grains to densities: the operators phi_n of Bourdin & Maury 2020, (37)-(38), and how fast they converge.

    U  ->  means over the Voronoi cells D_i, (37)  ->  Moreau's law of the discs  ->  v = u_i on D_i, (38)

Prop. 7 states that v_n -> u in L^2, where u is given by the macroscopic law of the same lattice. The observed order is
1 for smooth U on both lattices. (The bound (41) of the paper gives order 1/2. For hexagonal cells "v_n is in C_rho",
which its proof uses, is false; the convergence is observed nevertheless.)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from jostle._tools.arguments import check_arguments
from jostle._tools.arrays import Array
from jostle.laws import Restitution, impact
from jostle.macro.grid import Velocity
from jostle.macro.lattice import Field, Isotonic, Lattice
from jostle.macro.law import Law
from jostle.macro.packing import Packing
from jostle.solvers.base import Solver


@dataclass(frozen=True, eq=False)
class Homogenised:
    """The velocities of discs after a microscopic impact, as a field that is constant in each Voronoi cell.

    Attributes
    ----------
    discs : Lattice or Packing
        The discs.
    means : array, shape (n, 2)
        Means of the velocity U over the Voronoi cells.
    velocity : array, shape (n, 2)
        Velocities v of the discs after the impact.

    Examples
    --------
    >>> from jostle.macro.lattice import square_lattice
    >>> v = phi(lambda x, y: (x, 0.0), square_lattice(0.5, box=([0, 0], [1, 1])))
    >>> v.velocity[:, 0].round(12).tolist(), round(v.error(lambda x, y: (x, 0.0)), 6)       # h / sqrt(12)
    ([0.25, 0.25, 0.75, 0.75], 0.144338)
    """

    discs: Lattice | Packing
    means: Array
    velocity: Array

    def error(self, u: Field) -> float:
        """Compute the L^2 distance between v and a velocity field over all Voronoi cells.

        Parameters
        ----------
        u : callable (x, y) -> (ux, uy)
            The velocity field to compare with.

        Returns
        -------
        float
            The L^2 distance.
        """
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
    """Apply Moreau's law to discs that take the velocities of a field: the operator phi_n of (38).

    Each disc has the mean velocity of its Voronoi cell and the mass of that cell.

    Parameters
    ----------
    U : callable (x, y) -> (ux, uy)
        Velocity field before the impact.
    discs : Lattice or Packing
        The discs.
    restitution : float, default 0.0
        Restitution coefficient e, between 0 and 1.
    solver : Solver, optional
        Solves the projection. None: isotonic regressions on a lattice, `Automatic` for a packing.

    Returns
    -------
    Homogenised
        The velocities after the impact.

    Examples
    --------
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
    """Errors |phi_n U - u| in L^2 for several lattices.

    Attributes
    ----------
    n : tuple of int
        Parameters of the lattices.
    grains : tuple of int
        Number of discs of each lattice.
    spacing : array, shape (k,)
        Spacing of each lattice.
    error : array, shape (k,)
        Error on each lattice.

    Examples
    --------
    >>> ErrorTable((1, 2), (1, 4), np.array([1.0, 0.5]), np.array([0.4, 0.2])).order.round(12).tolist()
    [1.0]
    """

    n: tuple[int, ...]
    grains: tuple[int, ...]
    spacing: Array
    error: Array

    @property
    def order(self) -> Array:
        """(k - 1,): the observed order of convergence between consecutive lattices."""
        return np.asarray(np.diff(np.log(self.error)) / np.diff(np.log(self.spacing)))


@check_arguments
def homogenise(
    law: Law | Field, lattice: Callable[[int], Lattice], U: Field, n: Sequence[int], *, solver: Solver | None = None
) -> ErrorTable:
    """Measure how fast microscopic impacts on finer and finer lattices converge to a macroscopic law.

    Parameters
    ----------
    law : Isotropic, Square, Triangular or callable (x, y) -> (ux, uy)
        The macroscopic law, or its exact velocity after the impact if that is known.
    lattice : callable (int) -> Lattice
        Makes the lattice for each entry of `n`.
    U : callable (x, y) -> (ux, uy)
        Velocity field before the impact.
    n : sequence of int
        Parameters of the lattices, such as the number of discs along a side.
    solver : Solver, optional
        Solves the microscopic projections. None: isotonic regressions.

    Returns
    -------
    ErrorTable
        One error per lattice, and the observed orders.

    Examples
    --------
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
    """The velocity after the macroscopic impact as a field; outside the saturated zone, that of the nearest cell."""
    from scipy.ndimage import distance_transform_edt

    velocity = Velocity(law.grid, lambda x, y: U(x, y)[0], lambda x, y: U(x, y)[1])
    u = law.impact(velocity).u.cells
    nearest = distance_transform_edt(~law.saturated, return_distances=False, return_indices=True)
    after = Velocity(law.grid, *(u[..., axis][tuple(nearest)] for axis in (0, 1)))

    def field(x: Array, y: Array) -> tuple[Array, Array]:
        found = after.at(x, y)
        return found[..., 0], found[..., 1]

    return field
