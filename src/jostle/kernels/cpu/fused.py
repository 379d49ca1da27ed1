"""`reference.gauss_seidel` on contacts of bodies: one fused pass over the rows an iteration.

A pass reads (i, j, normal, s0, p, y), writes (p, y), and moves the velocities v of the two bodies at once. What makes
it fast: no branch in it; the dimension is a constant of the compiler (the length of the tuple `axes`); indices are
unsigned (no test for negative ones), a wall being one more body with inverse mass zero; rows that carry nothing and are
far from closing are left out from one stopping test to the next; rows that follow each other share no body (see
`arrangement`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from jostle import kernels
from jostle._tools.arrays import Array
from jostle.kernels.compiling import (
    Floats2,
    Indices2,
    Ints,
    OutFloats,
    OutFloats2,
    OutFloats3,
    OutIndices2,
    OutInts,
    jit,
)
from jostle.kernels.cpu.arrangement import BEFORE, FIRST, NEAR, ROW, S0, SECOND, VIOLATION, GivenRows, P, Y, arranged
from jostle.kernels.cpu.loop import SUMS, V, at_rest, iterated, loop_of
from jostle.kernels.cpu.records import push
from jostle.kernels.parallel import cut, together
from jostle.kernels.reference.contacts import ContactRows
from jostle.kernels.reference.sweeps import FAR, Stop


@kernels.gauss_seidel.on("numpy")
def gauss_seidel(
    rows: ContactRows, unit: Array, inverse: Array, s0: Array, start: Array, stop: Stop, chunks: int,
    places: Array | None,
) -> tuple[Array, int]:  # fmt: skip
    n, d = len(inverse), rows.normal.shape[1]
    number, index, e, row, ends, groups = arranged(GivenRows(*rows, unit, s0, start, stop.violation), n, places, chunks)
    body = at_rest(number, inverse, len(ends) - 1, d, chunks)
    sweeps = _Sweeps((0,) * d, index, e, row, body, ends, np.zeros(len(ends) - 1, np.int64))
    iterations = iterated(_iterate, sweeps, groups, n, stop, chunks)
    p = np.empty(len(s0))
    together(_put_back, [(index, row, *part, p) for part in cut(len(s0), chunks)])
    return p, iterations


@jit()
def _put_back(index: Indices2, row: Floats2, first: int, last: int, p: OutFloats) -> None:
    """The multipliers of some rows, in the order in which the rows were given."""
    for c in range(first, last):
        p[index[ROW, c]] = row[P, c]


class _Sweeps(NamedTuple):
    """Rows and bodies in the order of the sweeps, see `arrangement`, and the number of rows selected in each block."""

    axes: tuple[int, ...]
    """As many numbers as space has dimensions."""
    index: OutIndices2
    e: OutFloats3
    row: OutFloats2
    body: OutFloats3
    ends: Ints
    kept: OutInts
    coulomb: bool = False


@jit(helper=True, fastmath=SUMS)
def _sweep(sweeps, block, anew, beta):
    """A Gauss-Seidel sweep over selected rows: P and Y anew, v those of P; returns (against the way of P, s0 . P).

    It starts from the entry Y of the rows, or from P where the momentum is given up.
    """
    axes, index, e, row, body, source = sweeps.axes, sweeps.index, sweeps.e, sweeps.row, sweeps.body, P if anew else Y
    first, against, linear = sweeps.ends[block], 0.0, 0.0
    for c in range(np.uint64(first), np.uint64(first + sweeps.kept[block])):
        slack, before = row[NEAR + S0, c], row[NEAR + source, c]
        q = push(axes, body, V, index[NEAR + FIRST, c], index[NEAR + SECOND, c], e, c, slack, before)
        way = q - row[NEAR + P, c]
        against -= (q - before) * way
        linear += slack * q
        row[NEAR + P, c], row[NEAR + Y, c] = q, q + beta * way
    return against, linear


@jit(helper=True, fastmath=SUMS)
def _point(sweeps, block, x):
    """x += M^-1 G^T p."""
    axes, index, e, row, body = sweeps.axes, sweeps.index, sweeps.e, sweeps.row, sweeps.body
    for c in range(sweeps.ends[block], sweeps.ends[block + 1]):
        p = row[P, c]
        if p != 0.0:
            a, b = index[FIRST, c], index[SECOND, c]
            one, two = p * body[V, a, body.shape[2] - 1], p * body[V, b, body.shape[2] - 1]
            for k in range(len(axes)):
                body[x, a, k] -= one * e[0, c, k]
                body[x, b, k] += two * e[0, c, k]


@jit(helper=True, fastmath=SUMS)
def _test(sweeps, block, x):
    """At x: sum p |s|, and how many rows are violated by too much; selects the rows of the next iterations.

    The rows that were selected so far are put back to where they belong.
    """
    axes, index, e, row, body = sweeps.axes, sweeps.index, sweeps.e, sweeps.row, sweeps.body
    first, last = sweeps.ends[block], sweeps.ends[block + 1]
    for c in range(first, first + sweeps.kept[block]):
        k = index[NEAR + ROW, c]
        row[P, k], row[Y, k] = row[NEAR + P, c], row[NEAR + Y, c]
    product, violated, to = 0.0, 0.0, first
    for c in range(first, last):
        a, b, s0 = index[FIRST, c], index[SECOND, c], row[S0, c]
        p, y, s = row[P, c], row[Y, c], s0
        for k in range(len(axes)):
            s += e[0, c, k] * (body[x, b, k] - body[x, a, k])
        product += p * abs(s)
        if not s >= -row[VIOLATION, c]:
            violated += 1.0
        if p != 0.0 or y != 0.0 or s <= FAR * abs(s - row[BEFORE, c]):
            index[NEAR + FIRST, to], index[NEAR + SECOND, to], index[NEAR + ROW, to] = a, b, c
            row[NEAR + S0, to], row[NEAR + P, to], row[NEAR + Y, to] = s0, p, y
            for k in range(len(axes)):
                e[1, to, k] = e[0, c, k]
            for k in range(len(axes), e.shape[2]):
                e[1, to, k] = 0.0
            to += 1
        row[BEFORE, c] = s
    sweeps.kept[block] = to - first
    return product, violated


_iterate = loop_of("fused", _sweep, _point, _test)
