"""The five-point operator on a grid of cells, with its diagonal and its coarsening."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from jostle.arrays import Array


@dataclass(frozen=True, eq=False)
class FivePoint:
    """(A p)_c = extra_c p_c + the sum over four neighbours of weight (p_c - p_neighbour), on a grid of cells.

    >>> row = FivePoint(np.array([[1.0], [0.0]]), np.zeros((2, 1)), np.array([[2.0], [2.0]]))
    >>> row.diagonal.ravel().tolist(), row.coarser().extra.tolist()
    ([3.0, 3.0], [[2.0]])
    """

    east: Array
    """(nx, ny): the weights between [i, j] and [i + 1, j]."""
    north: Array
    """(nx, ny): the weights between [i, j] and [i, j + 1]."""
    extra: Array
    """(nx, ny): the weights between each cell and the free boundary, where p = 0."""

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
