"""How the space of contacts is cut into cells, from which the sweeps on CPUs and GPUs make their blocks.

Some rows tell where there are contacts; bodies outside lie in the cells at the edge. So those who have left, and were
put aside far away, do not count.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from jostle._tools.arrays import Array, Integers, squares

SAMPLE = 1000
"""Approximate number of rows in the sample."""
PATCHES = 16
"""Number of patches along an axis of the bounding box, which tell how much of it has rows."""
NARROWEST = 2.0
"""Smallest width of a cell, in mean distances of two bodies in contact."""


class Cut(NamedTuple):
    """Cells along the two longest axes; in one dimension, along the only one."""

    axes: Integers
    low: Array
    """Where the cells begin along each axis."""
    scale: Array
    """Number of cells per unit of length."""
    counts: Integers


def cut_space(first: Array, second: Array, rows: int, rows_a_block: int, least: int) -> Cut:
    """first, second: (k, d) where the two bodies of some of the rows are, NaN for walls and for bodies without a place.

    A cell shall have about `rows_a_block` rows, and an axis at least `least` cells.
    """
    known = np.isfinite(first.sum(axis=1))
    if not known.all():
        first, second = first[known], second[known]
    if len(first) == 0:
        first = second = np.zeros((1, first.shape[1]))
    along = np.ascontiguousarray(first.T)
    low = along.min(axis=1)
    extent = along.max(axis=1) - low
    axes = np.sort(np.argsort(extent, kind="stable")[-2:])
    apart = squares(second - first)
    apart = np.sort(apart[np.isfinite(apart)])
    typical = float(np.sqrt(apart[len(apart) // 2])) if len(apart) else float(extent.max())
    size = np.where(extent[axes] > 0.0, extent[axes], 1.0)
    area = size.prod() * share((first[:, axes] - low[axes]) / size)
    width = max(NARROWEST * typical, float((area * rows_a_block / max(rows, 1)) ** (1.0 / len(axes))))
    counts = np.maximum(size / width, least).astype(np.int64)
    return Cut(axes, low[axes], counts / size, counts)


def share(where: Array) -> float:
    """How much of the unit square, or interval, has rows, of which some are at `where`: 1 if they lie everywhere alike,
    1 / k if they fill one of k patches."""
    patches = float(PATCHES ** where.shape[1])
    patch = np.minimum(where * PATCHES, PATCHES - 1).astype(np.int64) @ PATCHES ** np.arange(where.shape[1])
    held, number = np.bincount(patch), len(where)
    together = float((held * (held - 1.0)).sum()) / max(number * (number - 1), 1)  # how often two share a patch
    return 1.0 / max(together * patches, 1.0)
