"""Convex cores in the plane, points, segments and polygons with a rounding: which are near each other, and where.

For two cores A and B, with the unit normal n in which they are farthest apart,

    D = max over n of  min over b in B of n . b  -  max over a in A of n . a

and the rows of the pair are vertices of one above the edge of the other that faces it. Of two edges that face each
other, these are the ends of their common part. Where cores overlap, n is the normal of an edge, and D < 0 the depth.
"""

from __future__ import annotations

from typing import NamedTuple

from jostle._tools.arrays import Array, Integers
from jostle.kernels.interface import Kernel

SAME = 1e-4
"""Two vertices closer than this, as a fraction of the edges that face each other, are one end of their common part:
that of the first core. So the row of two corners that lie on each other keeps its numbers when they move a little."""
EDGE = 1e-9
"""A vertex of the second core may be this fraction of an edge outside of it, and still counts as above it."""


class PolygonRows(NamedTuple):
    """Rows between vertices and cores."""

    pairs: Integers
    """(m, 2) the vertex, and the first vertex of the other core: numbers that a row keeps from step to step."""
    feet: Integers
    """(m, 2) the ends of the edge of the other core below the vertex."""
    weight: Array
    """(m,) where on it the foot is, 0 at its first end and 1 at its second one."""
    normal: Array
    """(m, 2) unit vectors from the core of the vertex to the other one; NaN for two points at the same place."""
    gap: Array
    """(m,) gaps along the normal, less both roundings."""


@Kernel
def near_polygons(
    x: Array, start: Integers, rounding: Array, cutoff: Array, i: Integers, j: Integers, chunks: int
) -> PolygonRows:
    """The rows of pairs (i, j) of cores with gap <= cutoff of the vertex + largest cutoff of the other core.

    x (b, 2) are the vertices of all cores, those of core k from start[k] to start[k + 1] counter-clockwise; rounding
    (k,) and cutoff (b,). Rows come in the order of the pairs; there, those of i before those of j. `chunks` threads
    share the work.
    """
    raise NotImplementedError
