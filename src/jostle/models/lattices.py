"""Lattices: n points in a box, from below, as far from each other as balls of diameter `spacing` that touch.

The last axis is the vertical, and the box may be open above. Points stay half a spacing away from the walls.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from jostle.arguments import Natural, check_arguments
from jostle.arrays import Array, finite
from jostle.errors import InvalidValue
from jostle.models.starts import Ends

SPACING_TOLERANCE = 1e-9
"""Fraction of a spacing that may be missing: a box of width 3 a holds three balls of diameter a."""


@check_arguments
def square_lattice(n: Natural, spacing: ArrayLike, *, box: Ends) -> Array:
    """n points of the square lattice, in 3-D the cubic one, filled from below: (n, d). The spacing may differ by axis.

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
    """n points of the triangular lattice, in 3-D of the hexagonal close packing, filled from below: (n, d).

    The densest ones: balls of diameter `spacing` fill pi / sqrt(12) of the plane and pi / sqrt(18) of space.

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
    """A layer of triangles."""
    rise, sheet = a * np.sqrt(3.0) / 2.0, [np.zeros((0, 2))]
    for k in range(_fitting(width[1] - offset[1], a, rise)):
        row = _row(float(width[0]), a, (offset[0] + k * a / 2.0) % a)
        sheet.append(np.hstack([row, np.full_like(row, offset[1] + k * rise)]))
    return np.concatenate(sheet)


def _stacked(n: int, layers: tuple[Array, ...], rise: float, a: Array, lower: Array, height: float) -> Array:
    """The first n points of layers that take turns, one rise above the other."""
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
    """How many balls of this size, one step apart, fit into a width."""
    return max(0, int(np.floor((width - size) / (step or size) + 1.0 + SPACING_TOLERANCE)))


def _walls(box: Ends) -> tuple[Array, Array]:
    """The lower end and the widths of a box that is open above at most."""
    lower, upper = np.array(box[0], dtype=float), np.array(box[1], dtype=float)
    if lower.shape != upper.shape or lower.shape not in ((2,), (3,)):
        raise InvalidValue(f"box must be (lower, upper) with 2 or 3 numbers each, not {box!r}")
    if not (lower < upper).all() or not np.isfinite([*lower, *upper[:-1]]).all():
        raise InvalidValue(f"the box needs lower < upper, and only its top may be open, not {box!r}")
    return lower, upper - lower


def _positive(value: ArrayLike, name: str) -> Array:
    number = finite(value, name)
    if not (number > 0.0).all():
        raise InvalidValue(f"{name} must be positive, not {value!r}")
    return number
