"""Convex cores in space, points, segments, polyhedra and smooth ones with a rounding: where they are nearest.

For two cores A and B, with the unit normal n in which they are farthest apart,

    D = max over n of  min over b in B of n . b  -  max over a in A of n . a

and the rows of the pair are the corners of what the two faces that face each other have in common, seen along n:
corners of one above the face of the other, and crossings of their edges. All have the normal n, except for the ends
of segments above each other, which have their own. Where cores overlap, n is the normal of a face or of two edges, and
D < 0 the depth. Smooth cores have one row, at their support points.
"""

from __future__ import annotations

from typing import NamedTuple

from jostle._tools.arrays import Array, Integers
from jostle.kernels.interface import Kernel

SAME = 1e-4
"""Corners of the common part of two faces that are closer than this, as a fraction of the extent of the cores, count
as one: that of a corner of the first core. So a row keeps its numbers when the corners move a little."""
EDGE = 1e-9
"""A corner may be this fraction of the extent outside of a face, and still counts as above it."""
MOST_POINTS = 8
"""Largest number of rows of a pair: two quadrilaterals have at most this many corners in common."""
GAP = 1e-13
"""The nearest points are found when the duality gap is at most this fraction of the distance."""
TOUCHING = 1e-10
"""Cores closer than this, as a fraction of their extent, count as overlapping."""


class Solids(NamedTuple):
    """The corners, edges and faces of each shape that cores have, the corners counted from 0 in each."""

    edge_start: Integers
    """(s + 1,) the first edge of each shape."""
    edges: Integers
    """(e, 2) the two corners of each edge."""
    face_start: Integers
    """(s + 1,) the first face of each shape; those without faces are points, segments or smooth."""
    corner_start: Integers
    """(f + 1,) the first entry of each face in `corners`."""
    corners: Integers
    """The corners of the faces, counter-clockwise seen from outside."""
    exponent: Array
    """(s,) the exponents of smooth shapes, 0 of others. The corners of a smooth shape are its centre and, for each
    semi-axis, its end."""
    inset: Array
    """(s,) how far a smooth core lies inside of its semi-axes; 0 of others."""


class SolidRows(NamedTuple):
    """Rows between the nearest points of cores."""

    pairs: Integers
    """(m, 2) numbers that a row keeps from step to step: a corner and the first corner of the other core, or two
    corners of edges that cross."""
    normal: Array
    """(m, 3) unit vectors from the core of the first number of the pair to the other one; NaN for two points at the
    same place."""
    gap: Array
    """(m,) gaps along the normal, less both roundings."""
    parts: Integers
    """(m, k) the corners between which the two points of a row lie."""
    weights: Array
    """(m, k) their weights: negative with the sum -1 for the first point, and with the sum 1 for the second one."""


@Kernel
def near_solids(
    x: Array,
    start: Integers,
    rounding: Array,
    cutoff: Array,
    kind: Integers,
    solids: Solids,
    i: Integers,
    j: Integers,
    chunks: int,
) -> SolidRows:
    """The rows of pairs (i, j) of cores with gap <= the sum of the cutoffs of both.

    x (b, 3) are the corners of all cores, those of core k from start[k] to start[k + 1]; rounding, cutoff and kind, the
    number of its shape in `solids`, (k,). Rows come in the order of the pairs. `chunks` threads share the work.
    """
    raise NotImplementedError
