"""Maps of density and speed: the classic and the Voronoi values in squares that cover the walkable area."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from jostle.analysis.squares import grid_of
from jostle.analysis.voronoi import CIRCLE_QUARTER, density_of, frames
from jostle.arguments import Count, check_arguments
from jostle.arrays import Array
from jostle.io.areas import walkable
from jostle.solution import Solution


@dataclass(frozen=True, eq=False)
class Map:
    """A quantity on a grid of squares that covers the area; for `pcolormesh(map.x, map.y, map.voronoi)`."""

    x: Array
    """(c + 1,) edges of the columns."""
    y: Array
    """(r + 1,) edges of the rows, from below."""
    area: Array
    """(r, c) walkable area of each square, in which density and speed are measured."""
    classic: Array
    """(r, c) classic values; NaN where the square is outside, speeds also where nobody is."""
    voronoi: Array
    """(r, c) Voronoi values; NaN where the square is outside, speeds also where nobody is."""


@check_arguments
def density_map(
    sol: Solution,
    k: int | slice | Sequence[int] | None,
    area: Any,
    *,
    size: float,
    cutoff: float | None = None,
    quarter: Count = CIRCLE_QUARTER,
) -> Map:
    """Densities in squares that cover the walkable area, of one frame or the mean over several frames.

    By both definitions the sum over all squares of density times area is the mean number of people, with or without a
    cut-off.

    Parameters
    ----------
    sol : Solution
        A run of people in the plane.
    k : int, slice, sequence of int or None
        Number of a saved frame, or the frames to average over. None means all frames.
    area : polygon, array_like or Plan
        The walkable area as a `shapely.Polygon`, its corners (m, 2), or a plan.
    size : float
        Side of the squares, in the unit of the area (m).
    cutoff : float, optional
        Largest distance of the boundary of a cell from its person. None means no limit.
    quarter : int, default 3
        Number of sides of the polygon that approximates a quarter of the cut-off circle.

    Returns
    -------
    Map
        The maps `classic` and `voronoi` (rows, columns), NaN outside the area, with the edges `x` and `y` of the
        squares and the walkable `area` of each square.

    Raises
    ------
    InvalidValue
        If `size` or the cut-off radius is not positive.

    Examples
    --------
    >>> import jostle as jo
    >>> one = jo.Sweeping(q0=[[0.5, 0.5]], velocity=[0.0, 0.0], within=jo.Balls([0.2]))
    >>> found = density_map(jo.solve(one, jo.Venel(), t=0.1, h=0.1), -1, [(0, 0), (2, 0), (2, 1), (0, 1)], size=1.0)
    >>> found.classic.tolist(), found.voronoi.tolist()
    ([[1.0, 0.0]], [[0.5, 0.5]])
    """
    return _map(sol, k, walkable(area), size, cutoff, quarter, speeds=False)


@check_arguments
def speed_map(
    sol: Solution,
    k: int | slice | Sequence[int] | None,
    area: Any,
    *,
    size: float,
    cutoff: float | None = None,
    quarter: Count = CIRCLE_QUARTER,
) -> Map:
    """Speeds in squares that cover the walkable area, of one frame or the mean over several frames.

    The mean over several frames is taken over the frames in which the square has a speed.

    Parameters
    ----------
    sol : Solution
        A run of people in the plane.
    k : int, slice, sequence of int or None
        Number of a saved frame, or the frames to average over. None means all frames.
    area : polygon, array_like or Plan
        The walkable area as a `shapely.Polygon`, its corners (m, 2), or a plan.
    size : float
        Side of the squares, in the unit of the area (m).
    cutoff : float, optional
        Largest distance of the boundary of a cell from its person. None means no limit.
    quarter : int, default 3
        Number of sides of the polygon that approximates a quarter of the cut-off circle.

    Returns
    -------
    Map
        The maps `classic` and `voronoi` (rows, columns), NaN outside the area and where nobody is, with the edges `x`
        and `y` of the squares and the walkable `area` of each square.

    Raises
    ------
    InvalidValue
        If `size` or the cut-off radius is not positive.

    Examples
    --------
    >>> import jostle as jo
    >>> one = jo.Sweeping(q0=[[0.5, 0.5]], velocity=[1.5, 0.0], within=jo.Balls([0.2]))
    >>> found = speed_map(jo.solve(one, jo.Venel(), t=0.1, h=0.1), -1, [(0, 0), (2, 0), (2, 1), (0, 1)], size=1.0)
    >>> found.classic.tolist(), found.voronoi.tolist()
    ([[1.5, nan]], [[1.5, 1.5]])
    """
    return _map(sol, k, walkable(area), size, cutoff, quarter, speeds=True)


def _map(sol: Solution, k: Any, W: Any, size: float, cutoff: float | None, quarter: int, *, speeds: bool) -> Map:
    grid = grid_of(W, size)
    total = np.zeros((2, len(grid.squares)))
    counted = np.zeros((2, len(grid.squares)))
    for _, q, u in frames(sol, k):
        found = density_of(q, u, W, cutoff, quarter)
        classic, voronoi = grid.share(found)
        value = (found.speed if speeds else np.ones(len(found.person)), found.speed if speeds else found.density)
        sums = np.stack([classic @ value[0], voronoi @ value[1]])
        if not speeds:
            total += sums / grid.inside
            counted += 1
            continue
        weights = np.stack([classic.sum(axis=1), np.where(voronoi.sum(axis=1) > 0.0, grid.area, 0.0)])
        total += np.divide(sums, weights, out=np.zeros_like(sums), where=weights > 0.0)
        counted += weights > 0.0
    mean = np.divide(total, counted, out=np.full_like(total, np.nan), where=counted > 0.0)
    classic_map, voronoi_map, area = (values.reshape(grid.shape) for values in (*mean, grid.area))
    return Map(grid.x, grid.y, area, classic_map, voronoi_map)
