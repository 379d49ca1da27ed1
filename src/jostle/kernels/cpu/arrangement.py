"""The order in which `fused` sweeps: bodies by chunk; rows by chunk, those across chunks last, and in it by colour.

Rows that follow each other share no body (they are sorted by colour), so that none waits for the one before. That order
also needs the fewest iterations on crystals.
"""

from __future__ import annotations

import numpy as np

from jostle.kernels.cpu.jit import jit
from jostle.kernels.cpu.signatures import (
    Floats,
    Floats2,
    Floats3,
    Indices,
    Indices2,
    Ints,
    OutBits,
    OutFloats2,
    OutFloats3,
    OutIndices,
    OutIndices2,
    OutInts,
)

MOST_COLOURS = 63
"""A large ball with more small ones around it has several rows of the last colour."""
FIRST, SECOND, ROW = 0, 1, 2
"""What the entries of `index` are: the two bodies of a row, and where the row comes from; from NEAR on the same of the
rows that were selected."""
S0, P, Y, VIOLATION, BEFORE = 0, 1, 2, 6, 7
"""What the entries of `row` are: slack, multiplier, point that the sweep starts from, allowed violation, and slack at
the test before; the first three from NEAR on once more, of the rows that were selected."""
NEAR = 3


def colours(i: Ints, j: Ints, n: int) -> Ints:
    """A colour (below 64) for each row, so that rows of a colour share no body: the first that is free at both ends."""
    colour = np.empty(len(i), np.int64)
    _colour(i, j, np.zeros(n, np.uint64), colour)
    return colour


@jit()
def _colour(i: Ints, j: Ints, used: OutBits, colour: OutInts) -> None:
    one = np.uint64(1)
    for c in range(len(i)):
        a, b = i[c], j[c]
        taken = used[a]
        if b >= 0:
            taken |= used[b]
        k, bit = 0, one
        while k < MOST_COLOURS and taken & bit:
            k += 1
            bit <<= one
        colour[c] = k
        used[a] |= bit
        if b >= 0:
            used[b] |= bit


def chunked(n: int, chunks: int, places: Floats2 | None) -> Ints:
    """The chunk of each body: equal numbers along the longest axis, or along the numbering."""
    if chunks == 1 or n < chunks:
        return np.zeros(n, np.int64)
    along = np.arange(n) if places is None else max(places.T, key=np.ptp)
    cuts = n * np.arange(1, chunks) // chunks
    return np.searchsorted(np.partition(along, cuts)[cuts], along, side="right")


def arranged(
    i: Ints,
    j: Ints,
    normal: Floats2,
    unit: Floats,
    s0: Floats,
    start: Floats,
    violation: Floats,
    chunk: Ints,
    chunks: int,
) -> tuple[Indices, Indices2, Floats3, Floats2, Ints]:
    """(number, index, e, row, ends): the new numbers of the bodies, the rows in their places, and where chunks end.

    e (2, m, d) are the normals of rows of length one, and room for a selection of them. A wall is one more body: the
    one behind all others, or, with several chunks, one a chunk.
    """
    (m, d), n = normal.shape, len(chunk)
    key = colours(i, j, n)
    if chunks > 1:
        across = (j >= 0) & (chunk[i] != chunk[j])
        key += (MOST_COLOURS + 1) * np.where(across, chunks, chunk[i])
        number = _places(chunk, chunks)[0]
    else:
        number = np.arange(n, dtype=np.uint32)
    place, begin = _places(key, (MOST_COLOURS + 1) * (chunks + 1))
    index, e, row = np.empty((6, m), np.uint32), np.empty((2, m, d)), np.empty((8, m))
    _arrange(i, j, normal, unit, s0, start, violation, chunk, number, place, index, e, row)
    return number, index, e, row, begin[:: MOST_COLOURS + 1]


def _places(key: Ints, keys: int) -> tuple[Indices, Ints]:
    """The places of a stable sort by keys below `keys`, and where each key starts."""
    start, place = np.zeros(keys + 1, np.int64), np.empty(len(key), np.uint32)
    _count(key, start, place)
    return place, start


@jit()
def _count(key: Ints, start: OutInts, place: OutIndices) -> None:
    """A counting sort: start is zero, and becomes where each key starts."""
    for c in range(len(key)):
        start[key[c]] += 1
    total = 0
    for k in range(len(start)):
        total += start[k]
        start[k] = total
    for c in range(len(key) - 1, -1, -1):
        start[key[c]] -= 1
        place[c] = start[key[c]]


@jit()
def _arrange(
    i: Ints,
    j: Ints,
    normal: Floats2,
    unit: Floats,
    s0: Floats,
    start: Floats,
    violation: Floats,
    chunk: Ints,
    number: Indices,
    place: Indices,
    index: OutIndices2,
    e: OutFloats3,
    row: OutFloats2,
) -> None:
    """Write each row into its place."""
    n, d = len(number), normal.shape[1]
    for c in range(len(place)):
        k, a, b = place[c], i[c], j[c]
        index[ROW, k], index[FIRST, k] = c, number[a]
        index[SECOND, k] = number[b] if b >= 0 else n + chunk[a]
        for x in range(d):
            e[0, k, x] = normal[c, x] / unit[c]
        row[S0, k], row[P, k], row[Y, k] = s0[c], start[c], start[c]
        row[VIOLATION, k], row[BEFORE, k] = violation[c], -np.inf
