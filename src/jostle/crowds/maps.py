"""Maps of a crowd over a whole run: mean and worst density, speed and jam time.

The densities are Voronoi densities in squares (see `jostle.crowds.crowding`), at evenly spaced saved times.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from jostle._tools.arguments import Count, check_arguments
from jostle._tools.arrays import Array, Integers
from jostle.crowds.crowding import CIRCLE_QUARTER, density_of, grid_of
from jostle.crowds.delays import stretches
from jostle.crowds.leaving import known_plan, leaving_times
from jostle.io.crowd_runs import planar
from jostle.plans.areas import present, walkable
from jostle.result.solution import Solution

SMALLEST_SHARE = 0.3
"""Smallest walkable fraction of a square that has a density."""
MAP_FRAMES = 40
"""Default number of saved times that a map looks at."""


@dataclass(frozen=True, eq=False)
class CrowdMaps:
    """Maps of a run on a grid of squares, for `pcolormesh(maps.x, maps.y, maps.worst)`; see `crowd_maps`."""

    x: Array
    """(c + 1,) edges of the columns."""
    y: Array
    """(r + 1,) edges of the rows, from below."""
    mean: Array
    """(r, c) mean density over the times looked at; NaN outside and in squares that are hardly walkable."""
    worst: Array
    """(r, c) largest density at any of the times looked at."""
    when: Array
    """(r, c) time of the largest density."""
    speed: Array
    """(r, c) mean speed of the people in the square; NaN where nobody was."""
    jammed: Array
    """(r, c) person-seconds in jams, per square metre, over the whole run."""

    @property
    def peak(self) -> tuple[float, float, tuple[float, float]]:
        """The largest density, its time, and the middle of its square; NaN if nobody was in the area."""
        if not np.isfinite(self.worst).any() or not np.nanmax(self.worst) > 0.0:
            return np.nan, np.nan, (np.nan, np.nan)
        row, column = np.unravel_index(np.nanargmax(self.worst), self.worst.shape)
        place = (self.x[column : column + 2].mean(), self.y[row : row + 2].mean())
        return float(self.worst[row, column]), float(self.when[row, column]), (float(place[0]), float(place[1]))


@check_arguments
def crowd_maps(
    sol: Solution, plan: Any = None, *, size: float = 1.0, frames: Count = MAP_FRAMES, counted: bool = False
) -> CrowdMaps:
    """Maps of density, speed and jam time over a whole run, in squares that cover a floor plan.

    Densities and speeds are means over saved times that are evenly spaced from start to end. Voronoi densities take
    about 0.1 ms for each person and time.

    Parameters
    ----------
    sol : Solution
        A run of people in the plane.
    plan : Plan, optional
        The floor plan. None means the plan of the run.
    size : float, default 1.0
        Side of the squares, in the unit of the plan (m).
    frames : int, default 40
        Number of saved times to look at.
    counted : bool, default False
        True divides the number of people in a square by its area, instead of Voronoi densities.

    Returns
    -------
    CrowdMaps
        Maps (rows, columns) of the `mean` and the `worst` density, the time `when` it occurred, the mean `speed` and
        the time `jammed` (person-seconds per square metre), with the edges `x` and `y` of the squares; `peak` is the
        largest density with its time and place.

    Examples
    --------
    >>> import jostle as jo
    >>> plan = jo.crowds.Plan([(0, 0), (4, 0), (4, 2), (0, 2)], exits={"east": ((4, 0.5), (4, 1.5))})
    >>> sol = jo.solve(jo.crowds.crowd(6, radius=0.2, room=plan, speed=1.2), jo.Venel(), t=1.0, h=0.1)
    >>> maps = crowd_maps(sol, size=2.0)
    >>> maps.worst.shape, bool(maps.peak[0] >= 6 / 8), bool((maps.mean <= maps.worst).all())
    ((1, 2), True, True)
    """
    known = known_plan(sol, plan, "crowd_maps")
    W = walkable(known)
    grid = grid_of(W, size)
    usable = grid.area >= SMALLEST_SHARE * size**2
    squares = len(grid.squares)
    total, worst, when = np.zeros(squares), np.zeros(squares), np.full(squares, np.nan)
    speed, there = np.zeros(squares), np.zeros(squares)
    looked_at = np.unique(np.linspace(0, len(sol.t) - 1, min(frames, len(sol.t))).round().astype(int))
    for k in looked_at.tolist():
        q, u = np.asarray(planar(sol).q[k]), np.asarray(sol.u[k])
        who = np.flatnonzero(present(q, W))
        if len(who) == 0:
            continue
        square = _squares(grid, q[who])
        if counted:
            rho = np.bincount(square, minlength=squares) / grid.inside
        else:
            found = density_of(q, u, W, None, CIRCLE_QUARTER)
            rho = (grid.share(found)[1] @ found.density) / grid.inside
        total += np.nan_to_num(rho)
        larger = rho > worst
        worst, when = np.where(larger, rho, worst), np.where(larger, sol.t[k], when)
        if k:  # velocities belong to the step before a frame
            speed += np.bincount(square, np.linalg.norm(u[who], axis=1), squares)
            there += np.bincount(square, minlength=squares)
    jammed = np.zeros(squares)
    for each in stretches(sol, known, leaving_times(sol, known)):
        who = np.flatnonzero(each.jammed)
        jammed += np.bincount(_squares(grid, each.place[who]), each.dt[who], squares)
    mean_speed = np.divide(speed, there, out=np.full(squares, np.nan), where=there > 0.0)
    layers = (total / len(looked_at), worst, when, mean_speed, jammed / grid.inside)
    return CrowdMaps(grid.x, grid.y, *(np.where(usable, layer, np.nan).reshape(grid.shape) for layer in layers))


def _squares(grid: Any, x: Array) -> Integers:
    """(n,) numbers of the squares that contain the points x (n, 2)."""
    column, row = (
        np.clip(np.searchsorted(edges, x[:, axis], side="right") - 1, 0, len(edges) - 2)
        for axis, edges in enumerate((grid.x, grid.y))
    )
    return np.asarray(row * grid.shape[1] + column)
