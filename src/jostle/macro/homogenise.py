"""From grains to densities: the operators phi_n of Bourdin & Maury 2020, (37)-(38), and how fast they converge.

    U  ->  means over the Voronoi cells D_i, (37)  ->  Moreau's law of the discs  ->  v = u_i on D_i, (38)

Prop. 7 states that v_n -> u in L^2, where u is given by the macroscopic law of the same lattice. The observed order is
1 for smooth U on both lattices. (The bound (41) of the paper gives order 1/2. For hexagonal cells "v_n is in C_rho",
which its proof uses, is false; the convergence is observed nevertheless.)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from jostle._tools.arguments import Positive, check_arguments, set_fields
from jostle._tools.arrays import Array, Integers, finite
from jostle.convex.linear_map import NormalRows
from jostle.convex.polyhedron import Cone
from jostle.errors import InvalidValue
from jostle.laws import Restitution, impact
from jostle.macro.checks import point
from jostle.macro.grid import Velocity
from jostle.macro.lattice import Field, Isotonic, Lattice
from jostle.macro.law import Law
from jostle.solvers.base import Solver

# Discs without a lattice: contacts of touching pairs, and Voronoi cells within a box (Bourdin & Maury 2020, 5.1).


CONTACT_GAP = 1e-6
"""Discs whose gap is below this fraction of a radius touch."""


@check_arguments
@dataclass(frozen=True, eq=False, init=False)
class Packing:
    """Discs of one radius at arbitrary points of a box, with their contacts and Voronoi cells.

    Parameters
    ----------
    points : array_like, shape (n, 2)
        Centres of the discs, inside the box and distinct.
    radius : float
        Radius of the discs, positive.
    box : (array_like, array_like), each of shape (2,)
        Lower and upper corner of the box that bounds the Voronoi cells.
    touching : float, default 1e-6
        Discs whose gap is at most this fraction of a radius are in contact.

    Examples
    --------
    >>> pair = Packing([[0.5, 0.5], [1.5, 0.5]], 0.5, box=([0, 0], [2, 1]))
    >>> pair.areas.round(12).tolist(), pair.cone.G.shape, pair.means(lambda x, y: (x, y)).round(12).tolist()
    ([1.0, 1.0], (1, 4), [[0.5, 0.5], [1.5, 0.5]])
    """

    points: Array
    radius: float
    lower: Array
    upper: Array
    touching: float

    def __init__(
        self, points: ArrayLike, radius: Positive, *, box: tuple[ArrayLike, ArrayLike], touching: Positive = CONTACT_GAP
    ):
        centres, lower, upper = finite(points, "points"), point(box[0], "box"), point(box[1], "box")
        if centres.ndim != 2 or centres.shape[1] != 2 or len(centres) == 0:
            raise InvalidValue(f"points must have the shape (n, 2), not {centres.shape}")
        if not ((centres > lower) & (centres < upper)).all():
            raise InvalidValue("all points must lie inside the box")
        if len(np.unique(centres, axis=0)) < len(centres):
            raise InvalidValue("two discs have the same centre; all points must be distinct")
        set_fields(self, points=centres, radius=float(radius), lower=lower, upper=upper, touching=float(touching))

    def __len__(self) -> int:
        return len(self.points)

    @cached_property
    def cone(self) -> Cone:
        """The admissible velocities (2): one row per pair of discs in contact."""
        from scipy.spatial import cKDTree

        reach = 2.0 * self.radius + self.touching * self.radius
        pairs = cKDTree(self.points).query_pairs(reach, output_type="ndarray").reshape(-1, 2)
        i, j = pairs[np.lexsort(pairs.T[::-1])].T
        apart = self.points[j] - self.points[i]
        normal = apart / np.sqrt((apart**2).sum(axis=1))[:, None]
        return Cone(NormalRows(i.astype(np.int64), j.astype(np.int64), normal, len(self), self.points))

    @cached_property
    def quadrature(self) -> tuple[Array, Array, Integers]:
        """(q, 2) points, (q,) areas and (q,) disc numbers: midpoints of the sides of triangles, exact to degree 2.

        Points mirrored at the sides of the box make the Voronoi cells end there.
        """
        from scipy.spatial import Voronoi

        mirrored = [self.points]
        for axis in (0, 1):
            for side in (self.lower[axis], self.upper[axis]):
                image = self.points.copy()
                image[:, axis] = 2.0 * side - image[:, axis]
                mirrored.append(image)
        diagram = Voronoi(np.concatenate(mirrored))
        corners, owners = [], []
        for k in range(len(self)):
            cell = diagram.vertices[diagram.regions[diagram.point_region[k]]]
            centre = self.points[k]
            angle = np.arctan2(cell[:, 1] - centre[1], cell[:, 0] - centre[0])
            cell = cell[np.argsort(angle)]
            following = np.roll(cell, -1, axis=0)
            corners.append(np.stack([np.broadcast_to(centre, cell.shape), cell, following], axis=1))
            owners.append(np.full(len(cell), k))
        triangles, owner = np.concatenate(corners), np.concatenate(owners)
        a, b = triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0]
        area = 0.5 * np.abs(a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0])
        middles = 0.5 * (triangles + np.roll(triangles, -1, axis=1))
        return middles.reshape(-1, 2), np.repeat(area / 3.0, 3), np.repeat(owner, 3)

    @cached_property
    def areas(self) -> Array:
        """(n,): the areas of the Voronoi cells."""
        _, weights, owner = self.quadrature
        return np.bincount(owner, weights=weights, minlength=len(self)).astype(float)

    def means(self, field: Field) -> Array:
        """Average a velocity field over the Voronoi cells, (37).

        Parameters
        ----------
        field : callable (x, y) -> (ux, uy)
            The velocity field.

        Returns
        -------
        array, shape (n, 2)
            The mean velocity in each Voronoi cell.
        """
        points, weights, owner = self.quadrature
        values = field(*points.T)
        sums = [np.bincount(owner, weights=weights * np.asarray(v, dtype=float), minlength=len(self)) for v in values]
        return np.stack(sums, axis=1) / self.areas[:, None]


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
