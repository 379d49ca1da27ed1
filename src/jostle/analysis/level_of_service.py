"""Maps of a crowd over a whole run: mean and worst density, speed, jam time; and levels of service.

The densities are Voronoi densities in squares (see `jostle.analysis.voronoi`), at evenly spaced saved times. Levels of
service A (free) to F (jammed) are those of Fruin, Pedestrian Planning and Design, 1971: the area for each person in
square feet, converted to people per square metre.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from jostle.analysis.crowds import leaving_times
from jostle.analysis.exits import known_plan
from jostle.analysis.voronoi import CIRCLE_QUARTER, _density, _grid
from jostle.analysis.walks import stretches
from jostle.arguments import Count, check_arguments
from jostle.arrays import Array, Integers, numbers
from jostle.errors import InvalidValue
from jostle.io.areas import present, walkable
from jostle.io.moves import planar
from jostle.solution import Solution

SQUARE_FOOT = 0.3048**2
"""A square foot in square metres."""
FRUIN_AREAS = {"walkways": (35, 25, 15, 10, 5), "stairs": (20, 15, 10, 7, 4), "queues": (13, 10, 7, 3, 2)}
"""The smallest area for each person, in square feet, of the levels A to E (Fruin 1971)."""
FRUIN = {use: tuple(1.0 / (feet * SQUARE_FOOT) for feet in areas) for use, areas in FRUIN_AREAS.items()}
"""The largest density of the levels A to E, in people per square metre."""
LEVELS = "ABCDEF"
"""Names of the levels of service."""
SMALLEST_SHARE = 0.3
"""Squares of which less than this part is walkable have no density of their own."""
MAP_FRAMES = 40
"""Number of saved times that a map looks at by default."""


@check_arguments
def level_of_service(density: ArrayLike, *, use: str = "walkways") -> NDArray[np.str_]:
    """The level of service A to F of densities in people per square metre; '' where the density is NaN.

    `use` is "walkways", "stairs" or "queues".

    >>> level_of_service([0.2, 1.0, 3.0]).tolist(), level_of_service(3.0, use="queues").tolist()
    (['A', 'D', 'F'], 'D')
    """
    if use not in FRUIN:
        raise InvalidValue(f"use must be one of {', '.join(map(repr, FRUIN))}, not {use!r}")
    values = numbers(density, "density")
    if (values < 0.0).any():
        raise InvalidValue(f"a density must not be negative, not {values[values < 0.0].flat[0]}")
    number = np.searchsorted(FRUIN[use], values, side="right")
    return np.where(np.isnan(values), "", np.array(list(LEVELS))[np.minimum(number, len(LEVELS) - 1)])


@dataclass(frozen=True, eq=False)
class CrowdMaps:
    """What happened where, on a grid of squares: for `pcolormesh(maps.x, maps.y, maps.worst)`; see `crowd_maps`."""

    x: Array
    """(c + 1,) the edges of the columns."""
    y: Array
    """(r + 1,) the edges of the rows, from below."""
    mean: Array
    """(r, c) the mean density over the looked-at times; NaN outside and in squares that are hardly walkable."""
    worst: Array
    """(r, c) the largest density at any of them."""
    when: Array
    """(r, c) the time of the largest density."""
    speed: Array
    """(r, c) the mean speed of those in the square; NaN where nobody was."""
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
    """Density, speed and jam time in squares of a size, of a plan, by default that of the crowd.

    Densities and speeds are those of some saved times, evenly spaced from start to end. The densities are Voronoi
    densities, which take about 0.1 ms for each person and time; or, if `counted`, people over the area of a square.

    >>> import jostle as jo
    >>> plan = jo.crowds.Plan([(0, 0), (4, 0), (4, 2), (0, 2)], exits={"east": ((4, 0.5), (4, 1.5))})
    >>> sol = jo.solve(jo.crowds.crowd(6, radius=0.2, room=plan, speed=1.2), jo.Venel(), t=1.0, h=0.1)
    >>> maps = crowd_maps(sol, size=2.0)
    >>> maps.worst.shape, bool(maps.peak[0] >= 6 / 8), bool((maps.mean <= maps.worst).all())
    ((1, 2), True, True)
    """
    known = known_plan(sol, plan, "crowd_maps")
    W = walkable(known)
    grid = _grid(W, size)
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
            found = _density(q, u, W, None, CIRCLE_QUARTER)
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
    """(n,) the numbers of the squares in which the points x (n, 2) are."""
    column, row = (
        np.clip(np.searchsorted(edges, x[:, axis], side="right") - 1, 0, len(edges) - 2)
        for axis, edges in enumerate((grid.x, grid.y))
    )
    return np.asarray(row * grid.shape[1] + column)
