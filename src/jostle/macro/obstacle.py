"""The obstacle problem p >= 0, A p - b >= 0, p (A p - b) = 0 on a grid, by the primal-dual active set method.

Hintermüller, Ito & Kunisch 2003. A = G M^-1 G^T is the five-point Laplacian of the isotropic law, an M-matrix, so the
method ends after finitely many steps from any start. If div U <= 0 it starts with all cells jammed, and the first step
gives the solution (Bourdin & Maury 2020, Prop. 4). Otherwise it starts from the solution on a grid of twice the mesh
width, which is found in the same way.

Where walls enclose a zone, constants are in the kernel of A. If b sums to zero there, then A p = b, and min p = 0
is chosen. If the sum is negative, p is zero somewhere, and the method starts with the cells in which b > 0; it never
starts with all cells, for which A is singular. If the sum is positive, no p exists.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from jostle._tools.arrays import Array, Booleans, Integers
from jostle.convex.metric import Metric
from jostle.convex.rows import Rows
from jostle.macro import kernels
from jostle.macro.grid import after, before, beside
from jostle.solvers.base import Solver

# The five-point operator on a grid of cells, with its diagonal and its coarsening.


@dataclass(frozen=True, eq=False)
class FivePoint:
    """(A p)_c = extra_c p_c + the sum over four neighbours of weight (p_c - p_neighbour), on a grid of cells."""

    east: Array
    """(nx, ny): the weights between [i, j] and [i + 1, j]."""
    north: Array
    """(nx, ny): the weights between [i, j] and [i, j + 1]."""
    extra: Array
    """(nx, ny): the weights between each cell and the free boundary, where p = 0."""

    @classmethod
    def of_faces(cls, weights: Iterable[Array], zone: Booleans) -> FivePoint:
        """The operator for p = 0 outside a zone, by weights of the faces across x (nx + 1, ny) and y (nx, ny + 1).

        >>> FivePoint.of_faces([np.ones((3, 1)), np.zeros((2, 2))], np.array([[True], [True]])).extra.tolist()
        [[1.0], [1.0]]
        """
        between, extra = [], np.zeros(zone.shape)
        for axis, weight in enumerate(weights):
            low, high = beside(zone, axis)
            inner, alone = np.where(low & high, weight, 0.0), np.where(low != high, weight, 0.0)
            between.append(np.ascontiguousarray(inner[after(axis)]))
            extra += np.where(zone, alone[before(axis)] + alone[after(axis)], 0.0)
        return cls(between[0], between[1], extra)

    @property
    def diagonal(self) -> Array:
        """(nx, ny): the diagonal of A; zero in cells outside the zone."""
        total = self.extra + self.east + self.north
        total[1:] += self.east[:-1]
        total[:, 1:] += self.north[:, :-1]
        return total

    def applied(self, p: Array) -> Array:
        """(nx, ny): A p as a sum of fluxes through faces, so that the flux out of one cell enters the next."""
        x, y = self.east[:-1] * (p[:-1] - p[1:]), self.north[:, :-1] * (p[:, :-1] - p[:, 1:])
        total = self.extra * p
        total[:-1] += x
        total[1:] -= x
        total[:, :-1] += y
        total[:, 1:] -= y
        return np.asarray(total)

    def cut(self, box: tuple[slice, slice]) -> FivePoint:
        """The operator on the cells of a box, for p = 0 in all other cells.

        >>> row = FivePoint(np.array([[1.0], [1.0], [0.0]]), np.zeros((3, 1)), np.zeros((3, 1)))
        >>> row.cut(np.s_[1:2, :]).extra.tolist(), row.cut(np.s_[1:3, :]).extra.ravel().tolist()
        ([[2.0]], [1.0, 0.0])
        """
        (x, _, _), (y, _, _) = (cut.indices(size) for cut, size in zip(box, self.extra.shape, strict=True))
        east, north, extra = (field[box].copy() for field in (self.east, self.north, self.extra))
        extra[-1] += east[-1]
        extra[:, -1] += north[:, -1]
        east[-1], north[:, -1] = 0.0, 0.0
        if x > 0:
            extra[0] += self.east[x - 1, box[1]]
        if y > 0:
            extra[:, 0] += self.north[box[0], y - 1]
        return FivePoint(east, north, extra)

    def coarser(self) -> FivePoint:
        """Merge four cells into one. Two faces become one of twice the width at twice the distance: sums are halved."""
        east, north, extra = (in_fours(field) for field in (self.east, self.north, self.extra))
        return FivePoint(
            0.5 * east[:, 1].sum(axis=2), 0.5 * north[:, :, :, 1].sum(axis=1), 0.5 * extra.sum(axis=(1, 3))
        )


def in_fours(field: Array) -> Array:
    """(nx / 2, 2, ny / 2, 2): the four cells of each coarse cell, padded with zeros if a size is odd."""
    padded = np.pad(field, [(0, n % 2) for n in field.shape])
    nx, ny = padded.shape
    return padded.reshape(nx // 2, 2, ny // 2, 2)


LINEAR_TOLERANCE = 1e-4
"""Relative residual of the last linear system, as a fraction of tol: for n cells, sum p |s| may be sqrt(n) times it."""
LOOSE_TOLERANCE = 1e-3
"""Relative residual of linear systems before the active set is final, and of those on coarser grids."""
SIGN_TOLERANCE = 1e-10
"""Pressures below this fraction of the largest, and rates below this fraction of |b|, count as zero."""
MAX_COARSEST_CELLS = 1000
"""Grids with at most this many cells are not coarsened to find a start."""
SUM_TOLERANCE = 1e-12
"""Sums of b over an enclosed zone count as zero below this fraction of the sum of |b|."""
MAX_CYCLES = 200
"""Largest number of multigrid cycles for one linear system."""


@dataclass(frozen=True, kw_only=True, eq=False)
class PrimalDualActiveSet(Solver):
    """Primal-dual active sets for a cone whose rows are the cells of a grid, in order, with G M^-1 G^T = A.

    >>> import jostle as jo
    >>> chain, two = jo.convex.Cone([[-1.0, 1.0, 0.0], [0.0, -1.0, 1.0]]), np.ones((2, 1), dtype=bool)
    >>> A = FivePoint(np.array([[1.0], [0.0]]), np.zeros((2, 1)), np.ones((2, 1)))
    >>> P = PrimalDualActiveSet(matrix=A, zone=two).project([1.0, 0.0, 0.0], chain)
    >>> P.point.round(12).tolist(), P.multipliers.round(12).tolist()
    ([0.333333333333, 0.333333333333, 0.333333333333], [0.666666666667, 0.333333333333])
    """

    matrix: FivePoint
    zone: Booleans
    """(nx, ny): the cells that are rows of the cone."""
    tol: float = 1e-8
    max_iterations: int = 200

    def _solve(self, w: Array, K: Rows, M: Metric, slack: Array, guess: Array | None) -> tuple[Array, Array, int]:
        b = np.zeros(self.zone.shape)
        b[self.zone] = -slack
        start = None
        if guess is not None:
            start = np.zeros_like(b)
            start[self.zone] = guess
        elif (b < 0.0).any():
            start = nested(self.matrix, b)
        field, iterations = obstacle(self.matrix, b, start, tol=LINEAR_TOLERANCE * self.tol, most=self.max_iterations)
        p = field[self.zone]
        return w + M.solve(K.G.adjoint(p)), p, iterations


def obstacle(
    A: FivePoint, b: Array, start: Array | None = None, *, tol: float = 1e-12, most: int = 200
) -> tuple[Array, int]:
    """Solve p >= 0, A p >= b, p (A p - b) = 0 to |r| <= tol |b|, in at most `most` iterations: (p, iterations)."""
    diagonal = A.diagonal
    there = diagonal > 0.0
    shut, pins, label = shut_in(A, there)
    extra = A.extra
    jammed = there if start is None else ((start > 0.0) | shut) & there
    if len(pins):
        roomy = _has_room(b, label)
        shut, pins = shut & ~roomy[label], pins[~roomy[label.ravel()[pins]]]
        jammed = np.where(roomy[label], _some(b, label, start) & there, jammed)
        extra = extra.copy()
        extra.ravel()[pins] += diagonal.ravel()[pins]
    first = np.zeros_like(b) if start is None else start
    box, p = _bounds(there), np.zeros_like(b)
    east, north, extra, load, first = (np.ascontiguousarray(field[box]) for field in (A.east, A.north, extra, b, first))
    cells = np.ascontiguousarray(jammed[box]), np.ascontiguousarray(shut[box])
    tolerances = max(tol, LOOSE_TOLERANCE), tol, SIGN_TOLERANCE
    p[box], iterations, _ = kernels.obstacle(east, north, extra, load, first, *cells, *tolerances, most, MAX_CYCLES)
    if len(pins):
        low = np.full(label.max() + 1, np.inf)
        np.minimum.at(low, label, p)
        p = np.where(shut, p - low[label], p)
    return np.maximum(p, 0.0), int(iterations)


def linear_solution(A: FivePoint, b: Array, tol: float) -> Array:
    """Solve A x = b to |r| <= tol |b|, without a constraint on the sign of x."""
    every = A.diagonal > 0.0  # all cells are active and stay so
    start = np.zeros_like(b)
    x, _, _ = kernels.obstacle(A.east, A.north, A.extra, b, start, every, every, tol, tol, 0.0, 1, MAX_CYCLES)
    return x


def nested(A: FivePoint, b: Array) -> Array:
    """A start for `obstacle`: the pressure on the grid of twice the mesh width, found in the same way."""
    coarse, load = A.coarser(), in_fours(b).sum(axis=(1, 3))
    start = nested(coarse, load) if load.size > MAX_COARSEST_CELLS else None
    p = obstacle(coarse, load, start, tol=LOOSE_TOLERANCE)[0]
    return np.asarray(p.repeat(2, axis=0).repeat(2, axis=1)[: b.shape[0], : b.shape[1]])


def shut_in(A: FivePoint, there: Booleans) -> tuple[Booleans, Integers, Integers]:
    """Find connected parts without a free boundary: their cells, one cell of each, and the part of every cell.

    Neighbours with zero weight between them, such as cells on both sides of a thin wall, are not connected. The parts
    are labelled on a finer grid that has an entry for each weight between two cells.
    """
    from scipy.ndimage import label

    fine = np.zeros([2 * n - 1 for n in there.shape], dtype=bool)
    fine[::2, ::2], fine[1::2, ::2], fine[::2, 1::2] = there, A.east[:-1] > 0.0, A.north[:, :-1] > 0.0
    parts, count = label(fine)
    part = parts[::2, ::2]
    open_part = np.bincount(part.ravel(), weights=A.extra.ravel(), minlength=count + 1) > 0.0
    open_part[0] = True
    if open_part.all():
        return np.zeros_like(there), np.zeros(0, dtype=int), part
    found, first = np.unique(part, return_index=True)
    return ~open_part[part], np.asarray(first[~open_part[found]]), part


def _has_room(b: Array, label: Integers) -> Booleans:
    """(parts,): whether the sum of b over a part is negative."""
    total, size = (np.bincount(label.ravel(), weights=field.ravel()) for field in (b, np.abs(b)))
    return np.asarray(total < -SUM_TOLERANCE * size)


def _some(b: Array, label: Integers, start: Array | None) -> Booleans:
    """Initial active cells of parts with room: those with start > 0, or with b > 0 if start > 0 in the whole part."""
    loaded = b > 0.0
    if start is None:
        return loaded
    chosen = start > 0.0
    everything = np.bincount(label.ravel(), weights=~chosen.ravel()) == 0.0
    return np.where(everything[label], loaded, chosen)


def _bounds(there: Booleans) -> tuple[slice, slice]:
    """The smallest box that contains all given cells."""
    ends = [np.flatnonzero(there.any(axis=1 - axis)) for axis in (0, 1)]
    first, second = (slice(int(found[0]), int(found[-1]) + 1) if len(found) else slice(0, 1) for found in ends)
    return first, second
