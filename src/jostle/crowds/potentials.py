"""The potential of a goal among people, found only as far as people need it.

The potential solves |grad d| = 1 + own rho_own + others rho_others (see `quickest`). Fast marching finds its values in
ascending order, so it can end once the nodes around all people with this goal are known. It runs on a window of the
grid, the rectangle around these people and the goal, which is widened if the march comes to its border. What is found
at a node depends neither on the window nor on where the march ended.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from jostle._tools.arrays import Array, Booleans, Integers
from jostle.crowds.floor import Density, Window
from jostle.crowds.ways import LAYERS, Ways, wider
from jostle.kernels import kernels_for

SOURCE = 2.5
"""Distance from a goal, in grid spacings, within which nodes keep the shortest distance and the shortest path."""
NEEDED = LAYERS
"""Number of nodes around a cell, in each direction, on which the directions in the cell depend."""
SLACK = 8.0
"""Distance, in grid spacings at the highest cost, by which a march goes on after the last node that people need."""
MARGIN = 64
"""Number of nodes around people and goal that the window of a goal has at first."""
SPARE_MARGIN = 16
"""Number of nodes that the next window of a goal has beyond those that the last march reached."""


class Frame(NamedTuple):
    """The part of the potential of a goal that does not depend on people."""

    nodes: Integers
    """(k, 2) nodes at the goal, which keep the shortest distance and the shortest path."""
    values: Array
    """(k,) their distances."""
    layers: list[tuple[Integers, Array]]
    """For each layer of nodes along the walls: nodes (k, 2), and weights (k, 9) of the square of nodes around each."""

    @staticmethod
    def of(ways: Ways, goal: int, inside: Booleans) -> Frame:
        """The frame of a goal."""
        shape, distance = ways.grid.shape, ways.distance[goal].astype(float)
        free = np.isfinite(distance)
        least = distance.min(initial=np.inf, where=free)
        source = np.flatnonzero(free & (distance <= least + SOURCE * ways.grid.step))
        known, layers = free, []
        square = np.add.outer(shape[1] * np.arange(-1, 2), np.arange(-1, 2)).ravel()
        for _ in range(LAYERS):
            wide = wider(ways.grid, known)
            new = np.flatnonzero(wide & ~known)
            new = new[inside[new]]
            weight = known[new[:, None] + square].astype(float)
            weight /= weight.sum(axis=1, keepdims=True)
            layers.append((_places(new, shape), weight))
            known = wide
        return Frame(_places(source, shape), distance[source] - least, layers)


class Potential(NamedTuple):
    """The directions of the quickest paths to a goal in a window of the grid; NaN where they are not known."""

    window: Window
    direction: Array
    """(rows, columns, 2) unit vectors."""
    margin: int
    """Number of nodes around people and goal that were needed, with some to spare."""


def potential(
    ways: Ways,
    goal: int,
    frame: Frame,
    density: Density,
    weights: tuple[float, float],
    cells: Integers | None,
    margin: int,
) -> Potential:
    """The quickest paths of people in the given cells (n, 2), or on the whole grid if these are None.

    `weights` are those of people with the same goal and of all others. The first window has `margin` nodes around the
    people and the goal.
    """
    shape, step = ways.grid.shape, ways.grid.step
    needed = frame.nodes if cells is None else np.concatenate([cells - NEEDED, cells + 1 + NEEDED, frame.nodes])
    least, most = needed.min(axis=0, initial=max(shape)), needed.max(axis=0, initial=0)
    while True:
        window = (
            Window.between(least - margin, most + 1 + margin, shape) if cells is not None else Window((0, 0), shape)
        )
        free = np.isfinite(ways.distance[goal].reshape(shape)[window.slices])
        start = np.full(window.shape, np.inf)
        goal_nodes = tuple((frame.nodes - window.low).T)
        start[goal_nodes] = frame.values
        cost = density.cost(goal, window, *weights)
        wanted = None if cells is None else _around(cells, window)
        d = kernels_for(cost).marched(free, start, step, cost, wanted, SLACK * step * float(cost.max()))
        known = np.isfinite(d)
        if not _on_border(known, window, shape):
            break
        margin *= 2
    free[goal_nodes] = False
    if cells is None:
        free &= known
    static = ways.direction[(goal, *window.slices)].astype(float)
    direction = kernels_for(d).descent(d, step, free, static).reshape(*window.shape, 2)
    _fill_layers(direction, frame, window, shape)
    reached = Window.around(known)
    spare = max([0, *(least - window.low - reached.low), *(reached.high - (most + 1 - np.array(window.low)))])
    return Potential(window, direction, int(spare) + SPARE_MARGIN)


def _places(nodes: Integers, shape: tuple[int, int]) -> Integers:
    """(k, 2) rows and columns of nodes (k,)."""
    return np.stack(np.divmod(nodes, shape[1]), axis=1)


def _around(cells: Integers, window: Window) -> Booleans:
    """(rows, columns) whether directions in the cells (n, 2) depend on each node of the window."""
    some = np.zeros(window.shape, dtype=bool)
    flat, offsets = some.ravel(), np.arange(-NEEDED, NEEDED + 2)
    rows, columns = (
        np.clip(one[:, None] + offsets, 0, size - 1)
        for one, size in zip((cells - window.low).T, window.shape, strict=True)
    )
    for row in (rows * window.shape[1]).T:
        for column in columns.T:
            flat[row + column] = True
    return some


def _on_border(known: Booleans, window: Window, shape: tuple[int, int]) -> bool:
    """Whether a known node lies on the border of the window, where the grid goes on."""
    sides = (known[0], known[:, 0], known[-1], known[:, -1])
    goes_on = (*(low > 0 for low in window.low), *(high < size for high, size in zip(window.high, shape, strict=True)))
    return any(bool(side.any()) for side, more in zip(sides, goes_on, strict=True) if more)


def _fill_layers(direction: Array, frame: Frame, window: Window, shape: tuple[int, int]) -> None:
    """Fill the layers along the walls with the means of the nodes around them; NaN at a border of the window."""
    values = direction.reshape(-1).view(complex)
    square = np.add.outer(window.shape[1] * np.arange(-1, 2), np.arange(-1, 2)).ravel()
    for places, weights in frame.layers:
        local = places - window.low
        inner = ((local > 0) & (local < np.array(window.shape) - 1)).all(axis=1)
        new = local[inner, 0] * window.shape[1] + local[inner, 1]
        values[new] = np.einsum("nk,nk->n", weights[inner], values[new[:, None] + square])
        edge = local[~inner & ((local >= 0) & (local < window.shape)).all(axis=1)]
        direction[tuple(edge.T)] = np.nan
