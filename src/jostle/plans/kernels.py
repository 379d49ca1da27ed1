"""Shortest distances on a grid, the directions in which they decrease, and where people head.

`compiled` computes these kernels; the tests have them in plain NumPy.
"""

from __future__ import annotations

from collections.abc import Sequence

from jostle._tools.arrays import Array, Booleans, Integers
from jostle.kernels.interface import kernel

LOST = 0.3
"""Length of the mean direction around a person below which two ways are about equally long."""
LEVEL = 1e-9
"""Two neighbouring values on a grid count as equal if they differ by less than this fraction of its step."""
FLAT = 0.3
"""Where a central difference of a distance is smaller than this, two paths are about equally long."""


@kernel("jostle.plans.compiled")
def marched(
    free: Booleans,
    start: Array,
    step: float,
    cost: Array | None = None,
    wanted: Booleans | None = None,
    slack: float = 0.0,
) -> Array:
    """(nx, ny) the distances on the free nodes of a grid from the finite values of start; infinite where none leads.

    They solve |grad d| = cost, where the cost (nx, ny) is 1 if it is not given. Fast marching (Sethian 1999): of all
    nodes that are not accepted, the one with the smallest upwind value of second order is. If `wanted` (nx, ny) is
    given, distances are infinite where they exceed that of the last wanted node to be accepted by more than `slack`.
    """
    raise NotImplementedError


@kernel("jostle.plans.compiled")
def descent(d: Array, step: float, free: Booleans | None = None, otherwise: Array | None = None) -> Array:
    """(nodes, 2) -grad d / |grad d| of distances (nx, ny), from the finite values; 0 where none differ.

    Differences are central where both neighbours are finite, and one-sided where one is. Where the gradient is below
    FLAT, the lower neighbour along each axis decides; none, if both fall by the same, so that mirror images stay so.

    With `free` (nx, ny) and `otherwise` (nx, ny, 2), nodes that are not free keep the vectors of `otherwise`, and free
    nodes are NaN where the distance is not known there or at a free neighbour.
    """
    raise NotImplementedError


@kernel("jostle.plans.compiled")
def headings(
    q: Array,
    field: Integers,
    fields: Sequence[tuple[tuple[int, int], Array]],
    lower: Array,
    step: float,
    shape: tuple[int, int],
    exits: Array,
    outward: Array,
    chunks: int,
) -> Array:
    """(n, 2) unit vectors at q, each interpolated in the `field` (n,) of that person; 0 where its number is negative.

    A grid has the nodes lower + step (i, j), of which there are `shape`. A field is (low, direction): its direction
    (rows, columns, 2) at the nodes from `low` on. Directions are NaN where the field does not reach, or is NaN. Where
    those around a person cancel, their sum decides, or the longest of them if the sum is small too. People beyond the
    grid head along `outward` (k, 2) of the nearest of the segments `exits` (k, 2, 2). `chunks` says how many threads
    share the work; it does not change the result.
    """
    raise NotImplementedError
