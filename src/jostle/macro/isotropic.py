"""The isotropic law: u is the projection of U on the fields with div u >= 0 in the saturated zone.

    u + grad p = U,   div u >= 0,   p >= 0,   p div u = 0        (Bourdin & Maury 2020, (14))

On a staggered grid: p in saturated cells, u on faces, and the mass of a face is half the number of its saturated
cells, so that p = 0 sits on the free boundary. At a wall u . n = 0. Then A = -Laplacian is an M-matrix, and

    p >= 0,   A p - b >= 0,   p (A p - b) = 0,   b = -div U.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from jostle.arrays import Array, Booleans, Integers
from jostle.convex.polyhedron import Cone
from jostle.macro.active_set import LOOSE, ActiveSet, obstacle
from jostle.macro.grid import Grid, Velocity
from jostle.macro.law import Collision, moreau, settle

COARSE = 1000
"""A zone of so few cells is not made coarser to find where to start."""


@dataclass(frozen=True, eq=False, init=False)
class Isotropic:
    """The isotropic law on the saturated cells of a grid; walls: a mask of cells that are walls.

    >>> grid = Grid([-1, -1], [1, 1], h=1 / 25)
    >>> law = Isotropic(grid, saturated=grid.disc([0, 0], 1.0))
    >>> after = law.impact(grid.velocity(lambda x, y: -x, lambda x, y: -y))       # u = 0, p = (1 - r^2) / 2
    >>> round(float(after.pressure.max()), 2), bool(abs(after.u.cells[law.saturated]).mean() < 0.02)
    (0.5, True)
    """

    grid: Grid
    saturated: Booleans
    wall: Booleans
    tol: float

    def __init__(self, grid: Grid, saturated: ArrayLike, *, walls: ArrayLike | None = None, tol: float = 1e-8):
        settle(self, grid, saturated, walls, tol=tol)

    @cached_property
    def _faces(self) -> tuple[tuple[Array, Booleans, Integers], ...]:
        """Along each axis: masses of the faces over h^2, those that move, and their numbers (-1 for the others)."""
        zone, faces, total = np.pad(self.saturated, 1), [], 0
        for axis in (0, 1):
            low, high = ((np.s_[:-1, 1:-1], np.s_[1:, 1:-1]), (np.s_[1:-1, :-1], np.s_[1:-1, 1:]))[axis]
            mass = 0.5 * (zone[low].astype(float) + zone[high])
            moves = (mass > 0.0) & ~self.wall[low] & ~self.wall[high]
            number = np.where(moves, np.cumsum(moves).reshape(moves.shape) - 1 + total, -1)
            total += int(moves.sum())
            faces.append((mass, moves, number))
        return tuple(faces)

    @cached_property
    def mass(self) -> Array:
        """(m,): h^2, and half of it on the free boundary."""
        return self.grid.h**2 * np.concatenate([mass[moves] for mass, moves, _ in self._faces])

    @cached_property
    def cone(self) -> Cone:
        """div u >= 0: one row per saturated cell, integrated over it."""
        from scipy.sparse import csr_array

        n = int(self.saturated.sum())
        rows, columns, signs = [], [], []
        for axis, (_, _, number) in enumerate(self._faces):
            for sign, shift in ((-1.0, 0), (1.0, 1)):
                side = (
                    number[shift : shift + self.grid.shape[0]]
                    if axis == 0
                    else number[:, shift : shift + self.grid.shape[1]]
                )
                face = side[self.saturated]
                there = face >= 0
                rows.append(np.flatnonzero(there))
                columns.append(face[there])
                signs.append(np.full(len(columns[-1]), sign * self.grid.h))
        entries = (np.concatenate(signs), (np.concatenate(rows), np.concatenate(columns)))
        return Cone(csr_array(entries, shape=(n, len(self.mass))), describe="cell {}".format)

    def sample(self, velocity: Velocity) -> Array:
        """(m,): the components on the faces that move, along x, then along y."""
        parts = [velocity.faces(axis, self.saturated)[moves] for axis, (_, moves, _) in enumerate(self._faces)]
        return np.concatenate(parts)

    def impact(self, velocity: Velocity, *, restitution: float = 0.0) -> Collision:
        """u = U - (1 + e) grad p."""
        U = self.sample(velocity)
        cell = np.argwhere(self.saturated)
        solver = ActiveSet(cell=cell, start=self._start(U), tol=self.tol)
        hit, lost = moreau(U, self, restitution, solver)
        fields = []
        for axis, (mass, moves, _) in enumerate(self._faces):
            field = np.where((mass > 0.0) & ~moves, 0.0, velocity.faces(axis, self.saturated))
            first = 0 if axis == 0 else int(self._faces[0][1].sum())
            field[moves] = hit.velocity[first : first + int(moves.sum())]
            fields.append(field)
        pressure = np.zeros(self.grid.shape)
        pressure[self.saturated] = hit.impulse
        return Collision(Velocity(self.grid, *fields), pressure, hit, lost)

    def _start(self, U: Array) -> Array | None:
        """The pressure on the grid of twice the mesh, cell by cell; None where all cells are jammed at first."""
        if int(self.saturated.sum()) <= COARSE:
            return None
        b = np.zeros(self.grid.shape)
        b[self.saturated] = -(self.cone.G @ U)
        if (b >= 0.0).all():
            return None
        return _finer(_nested(*_coarser(self.saturated, self.wall, b)), self.saturated)


def five_point(zone: Booleans, wall: Booleans) -> Any:
    """h^2 times minus the Laplacian on the cells of a zone: to a neighbour 1, to a free boundary 2, to a wall 0."""
    from scipy.sparse import csr_array

    number = np.full(wall.shape, -1)
    number[1:-1, 1:-1][zone] = np.arange(int(zone.sum()))
    own = number[1:-1, 1:-1][zone]
    diagonal = np.zeros(len(own))
    rows, columns = [own], [own]
    for around in (np.s_[:-2, 1:-1], np.s_[2:, 1:-1], np.s_[1:-1, :-2], np.s_[1:-1, 2:]):
        beside = number[around][zone]
        diagonal += np.where(beside >= 0, 1.0, np.where(wall[around][zone], 0.0, 2.0))
        rows.append(own[beside >= 0])
        columns.append(beside[beside >= 0])
    entries = np.concatenate([diagonal, -np.ones(sum(len(row) for row in rows[1:]))])
    return csr_array((entries, (np.concatenate(rows), np.concatenate(columns))), shape=(len(own), len(own)))


def _nested(zone: Booleans, wall: Booleans, b: Array) -> Array:
    """The obstacle problem on a zone, started from the answer on a coarser one: p, zero outside."""
    start = None
    if int(zone.sum()) > COARSE:
        start = _finer(_nested(*_coarser(zone, wall, b)), zone)
    p = np.zeros(zone.shape)
    p[zone] = obstacle(five_point(zone, wall), b[zone], np.argwhere(zone), start, tol=LOOSE)[0]
    return p


def _coarser(zone: Booleans, wall: Booleans, b: Array) -> tuple[Booleans, Booleans, Array]:
    """Four cells become one, saturated if one of them is; b, integrated over cells, is added up."""
    odd = [(0, n % 2) for n in zone.shape]
    four = [_four(np.pad(field, odd)) for field in (zone, wall[1:-1, 1:-1], b)]
    coarse = four[0].any(axis=(1, 3))
    border = np.zeros((coarse.shape[0] + 2, coarse.shape[1] + 2), dtype=bool)
    border[1:-1, 1:-1] = four[1].all(axis=(1, 3)) & ~coarse
    for side in (np.s_[0, :], np.s_[-1, :], np.s_[:, 0], np.s_[:, -1]):
        border[side] = wall[side][1:-1].any()
    return coarse, border, np.where(coarse, four[2].sum(axis=(1, 3)), 0.0)


def _four(field: Any) -> Any:
    nx, ny = field.shape
    return field.reshape(nx // 2, 2, ny // 2, 2)


def _finer(p: Array, zone: Booleans) -> Array:
    """The pressure of the coarse cells at the saturated fine ones."""
    fine = p.repeat(2, axis=0).repeat(2, axis=1)
    return np.asarray(fine[: zone.shape[0], : zone.shape[1]][zone])
