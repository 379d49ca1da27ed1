"""The push-forward of a density by a map of the faces of a grid, which conserves mass, and the cost of the map.

The map takes each cell to the rectangle between the images of its faces. The mass of the cell is spread evenly over the
rectangle and divided among the cells that it covers. For small displacements, density times displacement crosses each
face, so that a map x - grad q adds the five-point Laplacian of q to a density of one. Lengths are in cells.
"""

from __future__ import annotations

import numpy as np

from jostle.arrays import Array, Integers

MIN_WIDTH = 1e-9
"""Smallest width of the image of a cell, in cells."""


def pushed(density: Array, x: Array, y: Array) -> Array:
    """(nx, ny): the density after faces across x moved to x (nx + 1, ny), and those across y to y (nx, ny + 1).

    >>> pushed(np.array([[1.0], [0.0]]), np.array([[0.0], [1.5], [2.0]]), np.array([[0.0, 1.0]] * 2)).tolist()
    [[0.6666666666666666], [0.3333333333333333]]
    """
    nx, ny = density.shape
    there = density > 0.0
    mass = density[there]
    column, across = _shares(x[:-1][there], x[1:][there], nx)
    row, along = _shares(y[:, :-1][there], y[:, 1:][there], ny)
    total = np.zeros((nx + len(across) - 1) * (ny + len(along) - 1))
    stride = ny + len(along) - 1
    for a, part_x in enumerate(across):
        for b, part_y in enumerate(along):
            place = (column + a) * stride + row + b
            total += np.bincount(place, weights=mass * part_x * part_y, minlength=len(total))
    return total.reshape(-1, stride)[:nx, :ny]


def cost(density: Array, x: Array, y: Array) -> float:
    """The integral of density |T - identity|^2, for the map that is linear along both axes in each cell.

    >>> cost(np.array([[2.0]]), np.array([[0.0], [3.0]]), np.array([[0.0, 1.0]]))
    2.6666666666666665
    """
    nx, ny = density.shape
    right, up = x - np.arange(nx + 1.0)[:, None], y - np.arange(ny + 1.0)
    squares = _mean_square(right[:-1], right[1:]) + _mean_square(up[:, :-1], up[:, 1:])
    return float((density * squares).sum())


def _shares(low: Array, high: Array, cells: int) -> tuple[Integers, list[Array]]:
    """The first cell of each interval, and the fractions of the interval in this cell, the next one, and so on."""
    middle, width = 0.5 * (low + high), np.maximum(high - low, MIN_WIDTH)
    low, high = middle - 0.5 * width, middle + 0.5 * width
    first = np.clip(np.floor(low).astype(np.int64), 0, cells - 1)
    most = int((np.ceil(high).astype(np.int64) - first).max(initial=1))
    parts = [np.maximum(np.minimum(high, first + k + 1) - np.maximum(low, first + k), 0.0) for k in range(most)]
    total = np.sum(parts, axis=0)  # less than the width where round-off moves an image beyond a side
    return first, [part / total for part in parts]


def _mean_square(a: Array, b: Array) -> Array:
    """The mean of the square of a function that is linear between a and b."""
    return (a * a + a * b + b * b) / 3.0
