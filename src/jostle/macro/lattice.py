"""Lattices of touching discs: square and triangular, in any orientation.

Bourdin & Maury 2020, section 4, figures 3 and 5. With u_k = u . e_k, the constraints (22) and (32) state that u_k does
not decrease along lines of direction e_k. The square lattice has two directions, the triangular lattice three:
e_0 = (1, 0), e_1, e_2 = (-1/2, +-sqrt(3)/2). (In (33) the third component has the wrong sign.)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from jostle.arrays import Array, Booleans, Integers
from jostle.convex.maps import Pairs
from jostle.convex.polyhedron import Cone
from jostle.macro.checks import OfPlaces
from jostle.macro.runs import Runs

EMPTY, WALL = -1, -2
"""Entries of `Lattice.number` at sites without a disc and at sites in a wall."""
SQUARE = np.array([[1.0, 0.0], [0.0, 1.0]])
"""Directions of the contacts on the square lattice."""
TRIANGULAR = np.array([[1.0, 0.0], [-0.5, np.sqrt(0.75)], [-0.5, -np.sqrt(0.75)]])
"""Directions of the contacts on the triangular lattice."""
STEPS = np.array([[1, 0], [0, 1], [-1, -1]])
"""The directions in the basis (e_0, e_1): e_2 = -e_0 - e_1 on the triangular lattice."""
Zone = OfPlaces
"""A condition (x, y) -> bool that is true inside a zone."""
Field = Callable[[Array, Array], tuple[Any, Any]]
"""A velocity field (x, y) -> (u_x, u_y)."""


@dataclass(frozen=True, eq=False)
class Lattice:
    """Touching discs on a square or triangular lattice, made by `square_lattice` or `triangular_lattice`.

    The point [i, j] is at origin + spacing (i e_0 + j e_1).

    Attributes
    ----------
    spacing : float
        Distance of neighbouring points, which is the diameter of the discs.
    e : array, shape (2, 2) or (3, 2)
        Directions of the contacts.
    origin : array, shape (2,)
        Position of the point [0, 0].
    number : array of int
        Number of the disc at [i, j]; -1 where there is none, -2 in a wall. The outermost rows and columns hold no disc.
    place : array of int, shape (n, 2)
        Indices [i, j] of each disc.
    points : array, shape (n, 2)
        Centres of the discs.
    area : float
        Area of a Voronoi cell.
    cone : Cone
        The admissible velocities: one row per contact, walls included.

    Examples
    --------
    >>> from jostle.macro.lattice_zones import square_lattice
    >>> lattice = square_lattice(0.5, box=([0, 0], [1, 1]))
    >>> lattice.points.tolist(), lattice.cone.G.shape
    ([[0.25, 0.25], [0.25, 0.75], [0.75, 0.25], [0.75, 0.75]], (4, 8))
    """

    spacing: float
    e: Array
    origin: Array
    number: Integers

    @cached_property
    def place(self) -> Integers:
        """(n, 2): the indices [i, j] of each disc."""
        found = np.argwhere(self.number >= 0)
        return np.asarray(found[np.argsort(self.number[tuple(found.T)])])

    @cached_property
    def points(self) -> Array:
        """(n, 2): the centres of the discs."""
        i, j = self.place.T
        return self.origin + self.spacing * np.stack(
            [i * self.e[0, axis] + j * self.e[1, axis] for axis in (0, 1)], axis=1
        )

    def __len__(self) -> int:
        return len(self.place)

    @property
    def area(self) -> float:
        """Area of a Voronoi cell, which is a square or a hexagon."""
        return self.spacing**2 * float(np.abs(np.linalg.det(self.e[:2])))

    @cached_property
    def runs(self) -> tuple[Runs, ...]:
        """The runs of discs in contact, one entry per direction."""
        return tuple(self._runs(step) for step in STEPS[: len(self.e)])

    def _runs(self, step: Integers) -> Runs:
        i, j = self.place.T
        line, along = (j, i) if step[0] == 1 else (i, j) if step[0] == 0 else (i - j, -i)
        order = _line_by_line(line, backwards=step[0] < 0)
        sorted_line, sorted_along = line[order], along[order]
        breaks = (np.diff(sorted_line) != 0) | (np.diff(sorted_along) != 1)
        starts = np.concatenate([[0], np.flatnonzero(breaks) + 1, [len(order)]]) if len(order) else np.array([0])
        first, last = self.place[order[starts[:-1]]], self.place[order[starts[1:] - 1]]
        low = self.number[tuple((first - step).T)] == WALL
        high = self.number[tuple((last + step).T)] == WALL
        return Runs(order, starts, low, high)

    @cached_property
    def cone(self) -> Cone:
        """The admissible velocities (2) of the discs: one row per contact, in the order of the runs, walls included."""
        counts = [int(runs.closed.sum()) for runs in self.runs]
        i, j = np.empty((2, sum(counts)), dtype=np.int64)
        normal, last = np.empty((sum(counts), 2)), 0
        for e, runs, count in zip(self.e, self.runs, counts, strict=True):
            before, after = np.full((2, len(runs.inner)), -1)
            before[runs.edges], after[runs.edges - 1] = runs.order, runs.order
            here, last = slice(last, last + count), last + count
            i[here], j[here], normal[here] = before[runs.closed], after[runs.closed], e
        begins = i < 0
        if begins.any():  # after a wall
            i[begins], j[begins], normal[begins] = j[begins], -1, -normal[begins]
        return Cone(Pairs(i, j, normal, len(self), self.points if len(self.e) > 2 else None))

    @cached_property
    def quadrature(self) -> tuple[Array, Array]:
        """(q, 2) offsets and (q,) weights with sum one for means over a Voronoi cell, exact at least to degree 3."""
        corners = _square_cell() if len(self.e) == 2 else _hexagon()
        turn = self.e[0]
        offsets, weights = corners
        rotated = offsets @ np.array([turn, [-turn[1], turn[0]]])
        return self.spacing * rotated, weights

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
        offsets, weights = self.quadrature
        total = np.zeros((len(self), 2))
        for offset, weight in zip(offsets, weights, strict=True):
            ux, uy = field(*(self.points + offset).T)
            total[:, 0] += weight * ux
            total[:, 1] += weight * uy
        return total


def _line_by_line(line: Integers, backwards: bool) -> Integers:
    """The order of points along lines, for points sorted by their indices; backwards reverses each line."""
    n, number = len(line), line - line.min(initial=0)
    short = number.astype(np.uint16) if number.max(initial=0) < 2**16 else number  # sorted by radix
    if backwards:
        return np.asarray(n - 1 - np.argsort(short[::-1], kind="stable"))
    return np.argsort(short, kind="stable")


def numbered(inside: Booleans, wall: Booleans) -> Integers:
    """Number the points inside; WALL and EMPTY elsewhere."""
    number = np.where(wall, WALL, EMPTY).astype(np.int64)
    number[inside] = np.arange(int(inside.sum()))
    return number


def _square_cell() -> tuple[Array, Array]:
    x, w = np.polynomial.legendre.leggauss(4)
    points = np.stack(np.meshgrid(x / 2.0, x / 2.0, indexing="ij"), axis=-1).reshape(-1, 2)
    return points, np.outer(w, w).ravel() / 4.0


def _hexagon() -> tuple[Array, Array]:
    """Six triangles, each with the 6-point rule of degree 4 (Dunavant 1985)."""
    a, b, wa = 0.445948490915965, 0.091576213509771, 0.223381589678011
    barycentric = np.array([[1 - 2 * s if k == m else s for m in range(3)] for s in (a, b) for k in range(3)])
    weights = np.array([wa] * 3 + [1.0 / 3.0 - wa] * 3)
    angle = np.pi / 6.0 + np.arange(7) * np.pi / 3.0
    corner = np.stack([np.cos(angle), np.sin(angle)], axis=1) / np.sqrt(3.0)
    points = [barycentric @ np.array([[0.0, 0.0], corner[k], corner[k + 1]]) for k in range(6)]
    return np.concatenate(points), np.tile(weights, 6) / 6.0
