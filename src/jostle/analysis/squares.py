"""Squares that cover a walkable area, for maps."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from jostle.analysis.voronoi import Density
from jostle.arrays import Array
from jostle.errors import InvalidValue
from jostle.io.areas import needed

SQUARE_TOLERANCE = 1e-9
"""A last column or row that is narrower than this fraction of a square is left out."""


class Grid(NamedTuple):
    """Squares that cover a polygon, row by row."""

    x: Array
    y: Array
    squares: NDArray[Any]
    """(s,) part of each square inside the polygon."""
    area: Array
    """(s,) area of the part of each square inside the polygon."""

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.y) - 1, len(self.x) - 1

    @property
    def inside(self) -> Array:
        """(s,) area, NaN where it is zero."""
        return np.where(self.area > 0.0, self.area, np.nan)

    def share(self, found: Density) -> tuple[Any, Any]:
        """Two sparse arrays (s, m): 1 if the person is in the square, and the area that their cell shares with it."""
        from scipy.sparse import csr_array

        shapely = needed("shapely")
        size = (len(self.squares), len(found.person))
        columns = self.shape[1]
        column, row = (
            np.clip(np.searchsorted(edges, place, side="right") - 1, 0, len(edges) - 2)
            for edges, place in zip((self.x, self.y), found.place.T, strict=True)
        )
        here = csr_array((np.ones(size[1]), (row * columns + column, np.arange(size[1]))), shape=size)
        cell, square = shapely.STRtree(self.squares).query(found.cells, predicate="intersects")
        shared = shapely.area(shapely.intersection(found.cells[cell], self.squares[square]))
        return here, csr_array((shared, (square, cell)), shape=size)


def grid_of(W: Any, size: float) -> Grid:
    shapely = needed("shapely")
    if not 0.0 < size < np.inf:
        raise InvalidValue(f"the size of the squares must be positive and finite, not {size}")
    low, high = np.reshape(W.bounds, (2, 2))
    count = np.maximum(np.ceil((high - low) / size - SQUARE_TOLERANCE), 1).astype(int)
    x, y = (low[axis] + size * np.arange(count[axis] + 1) for axis in (0, 1))
    x0, y0 = (values.ravel() for values in np.meshgrid(x[:-1], y[:-1]))
    x1, y1 = (values.ravel() for values in np.meshgrid(x[1:], y[1:]))
    squares = shapely.intersection(shapely.box(x0, y0, x1, y1), W)
    return Grid(x, y, squares, shapely.area(squares))
