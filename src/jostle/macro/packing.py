"""Discs without a lattice: contacts of touching pairs, and Voronoi cells within a box (Bourdin & Maury 2020, 5.1)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from jostle._tools.arguments import check_arguments
from jostle._tools.arrays import Array, Integers, finite
from jostle.convex.linear_map import Pairs
from jostle.convex.polyhedron import Cone
from jostle.errors import InvalidValue
from jostle.macro.checks import point, positive
from jostle.macro.lattice import Field

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
        self, points: ArrayLike, radius: float, *, box: tuple[ArrayLike, ArrayLike], touching: float = CONTACT_GAP
    ):
        centres, lower, upper = finite(points, "points"), point(box[0], "box"), point(box[1], "box")
        if centres.ndim != 2 or centres.shape[1] != 2 or len(centres) == 0:
            raise InvalidValue(f"points must have the shape (n, 2), not {centres.shape}")
        if not ((centres > lower) & (centres < upper)).all():
            raise InvalidValue("all points must lie inside the box")
        if len(np.unique(centres, axis=0)) < len(centres):
            raise InvalidValue("two discs have the same centre; all points must be distinct")
        object.__setattr__(self, "points", centres)
        object.__setattr__(self, "radius", positive(radius, "radius"))
        object.__setattr__(self, "lower", lower)
        object.__setattr__(self, "upper", upper)
        object.__setattr__(self, "touching", positive(touching, "touching"))

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
        return Cone(Pairs(i.astype(np.int64), j.astype(np.int64), normal, len(self), self.points))

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
