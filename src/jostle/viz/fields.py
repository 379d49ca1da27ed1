"""Densities, pressures and velocities of a continuum: one number or one arrow per cell."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from numpy.typing import ArrayLike

from jostle._tools.arguments import Positive
from jostle._tools.arrays import Array
from jostle._tools.colours import VERMILION
from jostle.crowds.measure.crowding import Map
from jostle.errors import InvalidValue
from jostle.macro.grid import Grid, Velocity, mask_of
from jostle.macro.lattice import Lattice
from jostle.viz.style import CELL_COLOURS, axes, plot

MAX_ARROWS = 28
"""Largest number of arrows along an axis."""
LONGEST_ARROW = 1.6
"""Length of the longest arrow, in distances between arrows."""


@plot
def field(
    on: Grid | Map | Lattice,
    values: ArrayLike,
    *,
    zone: ArrayLike | None = None,
    name: str = "",
    ax: Axes | None = None,
) -> Axes:
    """Draw a scalar field, such as a density or a pressure, with one colour per cell.

    Parameters
    ----------
    on : Grid, Map or Lattice
        The cells: a `macro.Grid` (cells or faces), a map of `jostle.analysis`, or a lattice.
    values : array_like
        One number per cell, face or lattice point; cells with NaN are left white.
    zone : array_like of bool, optional
        Cells to draw. None: all cells.
    name : str, default ""
        Label of the colour bar.
    ax : matplotlib Axes, optional
        Where to draw. None: a new figure, with a colour bar.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> import jostle.macro as macro
    >>> grid = macro.Grid([0, 0], [2, 1], h=1 / 8, closed=((False, False), (True, True)))
    >>> left, right = grid.block([0, 0], [1, 1]), grid.block([1, 0], [2, 1])
    >>> after = macro.Isotropic(grid, left | right).impact(grid.velocity(left - right, 0))
    >>> ax = field(grid, after.pressure, name="$p$")
    >>> round(float(ax.collections[0].get_array().max()), 9), ax.get_aspect()        # 1 where they meet, less h / 2
    (0.9375, 1.0)
    >>> plt.close(ax.figure)
    """
    numbers = np.array(values, dtype=float)
    ax, alone = axes(ax, (6.4, 4.0)), ax is None
    shown: Any
    if isinstance(on, Lattice):
        if numbers.shape != (len(on),):
            raise InvalidValue(
                f"values must have shape ({len(on)},), one number per lattice point, not {numbers.shape}"
            )
        numbers = numbers if zone is None else np.where(np.asarray(zone), numbers, np.nan)
        known = np.ma.masked_invalid(numbers)
        shown = PolyCollection(list(_cells(on)), array=known, cmap=CELL_COLOURS, edgecolor="face")
        ax.add_collection(shown)
        ax.autoscale_view()
    else:
        x, y, numbers = _edges(on, numbers)
        if zone is not None:
            numbers = np.where(np.asarray(zone).T if isinstance(on, Grid) else zone, numbers, np.nan)
        shown = ax.pcolormesh(x, y, np.ma.masked_invalid(numbers), cmap=CELL_COLOURS, rasterized=True)
    shown.set_clim(vmin=min(0.0, float(np.nanmin(numbers, initial=0.0))))
    ax.set(xlabel="$x$", ylabel="$y$", aspect="equal")
    if alone:
        ax.figure.colorbar(shown, ax=ax, label=name, shrink=0.8)
    return ax


@plot
def arrows(
    velocity: Velocity, *, zone: ArrayLike | None = None, fastest: Positive | None = None, ax: Axes | None = None
) -> Axes:
    """Draw a velocity field as arrows, one per cell or fewer on large grids.

    Parameters
    ----------
    velocity : Velocity
        The velocity field of a `macro.Grid`.
    zone : array_like of bool, shape (nx, ny), optional
        Cells in which arrows are drawn. None: all cells.
    fastest : float, optional
        Speed of the longest arrow, positive; use the same value to compare two fields. None: the largest speed.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> import jostle.macro as macro
    >>> grid = macro.Grid([0, 0], [2, 1], h=1 / 2)
    >>> ax = arrows(grid.velocity(1.0, lambda x, y: y))
    >>> ax.collections[0].U.tolist() == [1.0] * 8, ax.collections[0].V.tolist()[:2]
    (True, [0.25, 0.75])
    >>> plt.close(ax.figure)
    """
    ax, grid = axes(ax, (6.4, 4.0)), velocity.grid
    stride = -(-max(grid.shape) // MAX_ARROWS)
    chosen = (slice(stride // 2, None, stride),) * 2
    inside = np.ones(grid.shape, dtype=bool) if zone is None else mask_of(grid, zone, "zone")
    here = inside[chosen]
    x, y = (each[chosen][here] for each in grid.centres)
    u = velocity.cells[chosen][here]
    if fastest is None:
        fastest = float(np.linalg.norm(u, axis=1).max(initial=0.0)) or 1.0
    scale = fastest / (LONGEST_ARROW * stride * grid.h)
    ax.quiver(x, y, *u.T, color=VERMILION, angles="xy", scale_units="xy", scale=scale, width=0.0035)
    (left, bottom), (right, top) = grid.lower, grid.upper
    ax.set(xlabel="$x$", ylabel="$y$", aspect="equal", xlim=(left, right), ylim=(bottom, top))
    return ax


def _edges(on: Grid | Map, values: Array) -> tuple[Array, Array, Array]:
    """The edges of the cells along x and y, and the values by rows, as pcolormesh needs them."""
    if isinstance(on, Map):
        if values.shape != (len(on.y) - 1, len(on.x) - 1):
            raise InvalidValue(
                f"values must have the shape of the map, ({len(on.y) - 1}, {len(on.x) - 1}), not {values.shape}"
            )
        return on.x, on.y, values
    across_x, across_y = on.face_shapes
    kinds = {on.shape: (0.0, 0.0), across_x: (0.5, 0.0), across_y: (0.0, 0.5)}
    if values.shape not in kinds:
        expected = f"{on.shape} (cells), {across_x} or {across_y} (faces)"
        raise InvalidValue(f"values must have shape {expected}, not {values.shape}")
    back = kinds[values.shape]
    x, y = (on.lower[k] + on.h * (np.arange(values.shape[k] + 1) - back[k]) for k in (0, 1))
    return x, y, values.T


def _cells(lattice: Lattice) -> Array:
    """(n, 4 or 6, 2): the corners of the Voronoi cells."""
    sides = 2 * len(lattice.e)
    turn = np.arctan2(lattice.e[0, 1], lattice.e[0, 0])
    angles = turn + np.pi * (2 * np.arange(sides) + 1) / sides
    corners = lattice.spacing / 2.0 / np.cos(np.pi / sides) * np.stack([np.cos(angles), np.sin(angles)], axis=1)
    return np.asarray(lattice.points[:, None] + corners)
