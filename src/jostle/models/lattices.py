"""Lattices: n points in a box, filled from below, as far apart as touching balls of diameter `spacing`.

The last axis is vertical, and the box may be open at the top. Points stay half a spacing away from the walls.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from jostle.arguments import Natural, check_arguments
from jostle.arrays import Array, finite
from jostle.errors import InvalidValue
from jostle.models.starts import Ends

SPACING_TOLERANCE = 1e-9
"""Fraction of a spacing by which a box may be too narrow: a box of width 3 a holds three balls of diameter a."""


@check_arguments
def square_lattice(n: Natural, spacing: ArrayLike, *, box: Ends) -> Array:
    """The first n points of a square lattice (cubic in 3-D) that fills a box from below.

    Points stay half a spacing away from the walls. The last axis is vertical.

    Parameters
    ----------
    n : int
        Number of points.
    spacing : float or array_like, shape (d,)
        Distance between neighbours, in the unit of the box: one positive number, or one for each axis.
    box : pair of array_like, shape (d,)
        Lower and upper corner of the box, d = 2 or 3. The upper end of the last axis may be infinite.

    Returns
    -------
    ndarray, shape (n, d)
        The points, from the lowest layer to the highest.

    Raises
    ------
    InvalidValue
        If the box has room for fewer than n points, if its corners are not in order, or if a spacing is not positive.

    Examples
    --------
    >>> square_lattice(5, 1.0, box=([0, 0], [2.5, np.inf])).tolist()
    [[0.5, 0.5], [1.5, 0.5], [0.5, 1.5], [1.5, 1.5], [0.5, 2.5]]
    """
    lower, width = _walls(box)
    a = np.broadcast_to(_positive(spacing, "spacing"), lower.shape)
    axes = [np.arange(_fitting(w, step)) * step for w, step in zip(width[:-1], a, strict=False)]
    layer = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(axes))
    return _stacked(n, (layer,), float(a[-1]), a, lower, float(width[-1]))


@check_arguments
def triangular_lattice(n: Natural, spacing: float, *, box: Ends) -> Array:
    """The first n points of a triangular lattice (hexagonal close packing in 3-D) that fills a box from below.

    These lattices are the densest: balls of diameter `spacing` fill pi / sqrt(12) of the plane and pi / sqrt(18) of
    space. Points stay half a spacing away from the walls. The last axis is vertical.

    Parameters
    ----------
    n : int
        Number of points.
    spacing : float
        Distance between neighbours, positive, in the unit of the box.
    box : pair of array_like, shape (d,)
        Lower and upper corner of the box, d = 2 or 3. The upper end of the last axis may be infinite.

    Returns
    -------
    ndarray, shape (n, d)
        The points, from the lowest layer to the highest.

    Raises
    ------
    InvalidValue
        If the box has room for fewer than n points, if its corners are not in order, or if the spacing is not positive.

    Examples
    --------
    >>> triangular_lattice(5, 1.0, box=([0, 0], [2.5, np.inf])).round(3).tolist()
    [[0.5, 0.5], [1.5, 0.5], [1.0, 1.366], [2.0, 1.366], [0.5, 2.232]]
    """
    lower, width = _walls(box)
    a = float(_positive(spacing, "spacing"))
    if len(lower) == 2:
        layers = tuple(_row(float(width[0]), a, offset) for offset in (0.0, a / 2.0))
        rise = a * np.sqrt(3.0) / 2.0
    else:
        layers = tuple(_sheet(width[:2], a, offset) for offset in ((0.0, 0.0), (a / 2.0, a / np.sqrt(12.0))))
        rise = a * np.sqrt(2.0 / 3.0)
    return _stacked(n, layers, rise, np.full(len(lower), a), lower, float(width[-1]))


def _row(width: float, a: float, offset: float) -> Array:
    return np.asarray(offset + a * np.arange(_fitting(width - offset, a)), dtype=float)[:, None]


def _sheet(width: Array, a: float, offset: tuple[float, float]) -> Array:
    """One horizontal layer of the hexagonal close packing."""
    rise, sheet = a * np.sqrt(3.0) / 2.0, [np.zeros((0, 2))]
    for k in range(_fitting(width[1] - offset[1], a, rise)):
        row = _row(float(width[0]), a, (offset[0] + k * a / 2.0) % a)
        sheet.append(np.hstack([row, np.full_like(row, offset[1] + k * rise)]))
    return np.concatenate(sheet)


def _stacked(n: int, layers: tuple[Array, ...], rise: float, a: Array, lower: Array, height: float) -> Array:
    """The first n points of a stack of layers that repeat in turn, each `rise` above the one below."""
    most = _fitting(height, float(a[-1]), rise) if np.isfinite(height) else np.inf
    points, placed, k = [np.zeros((0, len(lower)))], 0, 0
    while placed < n:
        layer = layers[k % len(layers)]
        if k >= most or not len(layers[0]):
            raise InvalidValue(
                f"the box has room for {placed} points of a lattice with spacing {a.tolist()}, not for {n}"
            )
        points.append(np.hstack([layer, np.full((len(layer), 1), k * rise)]))
        placed, k = placed + len(layer), k + 1
    return np.concatenate(points)[:n] + a / 2.0 + lower


def _fitting(width: float, size: float, step: float | None = None) -> int:
    """Number of balls of diameter `size` that fit side by side into a width, with centres one step apart."""
    return max(0, int(np.floor((width - size) / (step or size) + 1.0 + SPACING_TOLERANCE)))


def _walls(box: Ends) -> tuple[Array, Array]:
    """The lower corner and the widths of a box; only its top may be open."""
    lower, upper = np.array(box[0], dtype=float), np.array(box[1], dtype=float)
    if lower.shape != upper.shape or lower.shape not in ((2,), (3,)):
        raise InvalidValue(f"box must be (lower, upper) with 2 or 3 numbers each, not {box!r}")
    if not (lower < upper).all() or not np.isfinite([*lower, *upper[:-1]]).all():
        raise InvalidValue(f"box must have lower < upper, and only its top may be open, not {box!r}")
    return lower, upper - lower


def _positive(value: ArrayLike, name: str) -> Array:
    number = finite(value, name)
    if not (number > 0.0).all():
        raise InvalidValue(f"{name} must be positive, not {value!r}")
    return number
