"""The order in which `fused` sweeps: blocks of space, and in a block rows by colour.

Space is cut into cells along its two longest axes. The rows within a cell are a block, and these blocks are the first
group: they share no body, and have most of the rows, so that most bodies stay with one thread. A row between two
neighbouring cells belongs to a second block of the componentwise smaller one, and so touches bodies of that cell and of
the next ones only: blocks whose cells agree in the parity of both indices share no body, and form one of four more
groups. Rows between cells that are not neighbours (large balls, periodic boxes) are a last group, of one block. The
groups are swept one after the other, the blocks of a group at the same time. The order depends on the problem alone,
not on the number of threads, and so do the bits.

Rows that follow each other in a block share no body (they are sorted by colour), so that none waits for the one before.
That order also needs the fewest iterations on crystals.
"""

from __future__ import annotations

from itertools import pairwise, product
from typing import NamedTuple

import numpy as np

from jostle.kernels.compiling import (
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
    OutInts2,
    OutShorts2,
    Shorts2,
    jit,
)
from jostle.kernels.cpu.records import width
from jostle.kernels.memory import aligned
from jostle.kernels.parallel import cut, together
from jostle.kernels.space import SAMPLE, cut_space

MOST_COLOURS = 63
"""Number of colours; if a large ball has more neighbours than this, several of its rows have the last colour."""
BLOCKED_ROWS = 20_000
"""If there are fewer rows than this, they form one block."""
LEAST_ROWS_A_BLOCK, ROWS_A_BLOCK, BLOCKS = 250, 1000, 64
"""Blocks have about ROWS_A_BLOCK rows. If this gives fewer than BLOCKS blocks, they have fewer rows, unless the cells
would become too narrow."""
GROUPS = 6
"""Number of groups: the rows within cells, four groups of rows between neighbouring cells, and those between others."""
FIRST, SECOND, ROW = 0, 1, 2
"""Entries of `index`: the two bodies of a row, and the number of the row before the arrangement. From NEAR on, the same
entries of the selected rows."""
S0, P, Y, VIOLATION, BEFORE = 0, 1, 2, 6, 7
"""Entries of `row`: slack, multiplier, starting point of the sweep, allowed violation, and slack at the previous test.
From NEAR on, the first three entries of the selected rows."""
NEAR = 3


class GivenRows(NamedTuple):
    """Contacts as they are given: bodies, normals, lengths of the rows, slacks, multipliers, allowed violations."""

    i: Ints
    j: Ints
    normal: Floats2
    unit: Floats
    s0: Floats
    start: Floats
    violation: Floats


class Arranged(NamedTuple):
    """Bodies and rows in the order of a sweep."""

    number: Indices
    """(n,) the new numbers of the bodies."""
    index: Indices2
    """(6, m): see `FIRST`. A wall is one more body, one for each block, behind all others."""
    e: Floats3
    """(2, m, width) the normals of rows of length one, and room for records of a selection of them: see `records`."""
    row: Floats2
    """(8, m): see `S0`."""
    ends: Ints
    """(blocks + 1,) where the rows of each block begin."""
    groups: Ints
    """(groups + 1,) where the blocks of each group begin."""


def arranged(given: GivenRows, n: int, places: Floats2 | None, chunks: int) -> Arranged:
    """The rows of n bodies, whose places (n, d) may be known, arranged by `chunks` threads."""
    i, j, (m, d) = given.i, given.j, given.normal.shape
    block, groups, number = aligned((m,), np.int64), np.array([0, 1]), np.arange(n, dtype=np.uint32)
    if places is not None and m >= BLOCKED_ROWS:
        cell, counts = _cells(places, i, j, chunks)
        even_and_odd = [((count + 1) // 2, count // 2) for count in counts]
        groups = np.cumsum([0, counts.prod(), *(one * two for one, two in product(*even_and_odd)), 1])
        together(_assign, [(i, j, cell, groups, int(counts[1]), *part, block) for part in cut(m, chunks)])
        number = _sorted(cell[:, 0].astype(np.int64) * counts[1] + cell[:, 1], int(counts[0] * counts[1]), chunks)[0]
    else:
        block[:] = 0
    _, order, ends = _sorted(block, int(groups[-1]), chunks)
    index, e = aligned((6, m), np.uint32), aligned((2, m, width(d)), np.float64)
    row, colour = aligned((8, m), np.float64), aligned((m,), np.int64)
    group = np.repeat(np.arange(len(groups) - 1), np.diff(groups))
    used = aligned((n * (len(groups) - 1),), np.uint64)
    used[:] = 0
    place = np.zeros((len(ends) - 1, MOST_COLOURS + 1), np.int64)
    rest = *given, ends, group, number, order, used, colour, place, index, e, row
    together(_arrange, [(*part, *rest) for part in pairwise(cuts(ends, chunks).tolist())])
    return Arranged(number, index, e, row, ends, groups)


def cuts(ends: Ints, chunks: int) -> Ints:
    """(chunks + 1,) where the units begin that each chunk takes, so that chunks have about equally many entries."""
    wanted = ends[0] + (ends[-1] - ends[0]) * np.arange(chunks + 1) // chunks
    found = np.searchsorted(ends[:-1], wanted, side="left")
    found[0], found[-1] = 0, len(ends) - 1
    return found


def _cells(places: Floats2, i: Ints, j: Ints, chunks: int) -> tuple[Shorts2, Ints]:
    """(n, 2) the cell of each body along the two longest axes, and how many there are along each.

    A body whose place is not finite, since it has left, lies in the first cell: any cell is safe.
    """
    some = slice(None, None, max(1, len(j) // SAMPLE))
    second = np.where(j[some, None] >= 0, places[j[some]], np.nan)
    rows_a_block = min(ROWS_A_BLOCK, max(LEAST_ROWS_A_BLOCK, len(i) // BLOCKS))
    axes, low, scale, counts = cut_space(places[i[some]], second, len(i), rows_a_block, 1)
    cell = np.zeros((len(places), 2), np.int32)
    together(_enter, [(places, *part, axes, low, scale, counts, cell) for part in cut(len(places), chunks)])
    return cell, np.append(counts, 1)[:2]


@jit()
def _enter(
    places: Floats2, first: int, last: int, axes: Ints, low: Floats, scale: Floats, counts: Ints, cell: OutShorts2
) -> None:
    """The cells of some bodies along the axes; cell is zero."""
    for a in range(first, last):
        for k in range(len(axes)):
            way = (places[a, axes[k]] - low[k]) * scale[k]
            if way >= 0.0:  # not of a body that is nowhere
                cell[a, k] = int(min(way, counts[k] - 1.0))


@jit()
def _assign(i: Ints, j: Ints, cell: Shorts2, groups: Ints, columns: int, first: int, last: int, block: OutInts) -> None:
    """The block of each of some rows; `columns` is how many cells there are along the second axis."""
    for c in range(first, last):
        a, b = i[c], j[c]
        one, two = cell[a, 0], cell[a, 1]
        if b >= 0:
            other, another = cell[b, 0], cell[b, 1]
            if abs(one - other) > 1 or abs(two - another) > 1:
                block[c] = groups[GROUPS - 1]
                continue
            if one != other or two != another:
                one, two = min(one, other), min(two, another)
                odd = two % 2
                block[c] = groups[1 + 2 * (one % 2) + odd] + (one // 2) * ((columns + 1 - odd) // 2) + two // 2
                continue
        block[c] = one * columns + two


def _sorted(key: Ints, keys: int, chunks: int) -> tuple[Indices, Indices, Ints]:
    """A stable sort by keys below `keys`: the place of each, the one in each place, and where each key starts."""
    place, order, parts = np.empty(len(key), np.uint32), np.empty(len(key), np.uint32), cut(len(key), chunks)
    start = np.zeros((chunks, keys), np.int64)
    together(_count, [(key, *part, start[r]) for r, part in enumerate(parts)])
    before = np.cumsum(start.T.ravel()) - start.T.ravel()  # those of a key in the first chunk, in the second, ...
    start[:] = before.reshape(keys, chunks).T
    first = np.append(start[0], len(key))
    together(_place, [(key, *part, start[r], place, order) for r, part in enumerate(parts)])
    return place, order, first


@jit()
def _count(key: Ints, first: int, last: int, number: OutInts) -> None:
    """number, zero at first, becomes how many of some entries have each key."""
    for c in range(first, last):
        number[key[c]] += 1


@jit()
def _place(key: Ints, first: int, last: int, start: OutInts, place: OutIndices, order: OutIndices) -> None:
    """The places of some entries, those of each key from start[key] on."""
    for c in range(first, last):
        to = start[key[c]]
        start[key[c]] += 1
        place[c] = to
        order[to] = c


class _Work(NamedTuple):
    """The order of the rows so far, and the arrays that `_colour` and `_write` fill."""

    number: Indices
    order: Indices
    """The rows of each block, one block after the other."""
    used: OutBits
    """(groups n,) the colours of the rows of each body in each group; zero at first."""
    colour: OutInts
    place: OutInts2
    """(blocks, colours) how many rows have each colour, then where they begin; zero at first."""
    index: OutIndices2
    e: OutFloats3
    row: OutFloats2


@jit(helper=True)
def _colour(given: GivenRows, work: _Work, block: int, first: int, last: int, at: int) -> None:
    """A colour (below 64) for each row of a block, so that rows of a colour share no body: the first free at both ends.

    The bodies of the group of the block are those from `at` on in `work.used`.
    """
    i, j, order, used, colour, place = given.i, given.j, work.order, work.used, work.colour, work.place
    one = np.uint64(1)
    for k in range(first, last):
        c = order[k]
        a, b = i[c], j[c]
        taken = used[at + a]
        if b >= 0:
            taken |= used[at + b]
        found, bit = 0, one
        while found < MOST_COLOURS and taken & bit:
            found += 1
            bit <<= one
        colour[k] = found
        place[block, found] += 1
        used[at + a] |= bit
        if b >= 0:
            used[at + b] |= bit
    total = first
    for found in range(MOST_COLOURS + 1):
        total, place[block, found] = total + place[block, found], total


@jit(helper=True)
def _write(given: GivenRows, work: _Work, block: int, first: int, last: int, wall: int) -> None:
    """Write the rows of a block into their places, those of a colour after each other."""
    i, j, normal, unit, s0, start, violation = given
    number, order, _, colour, place, index, e, row = work
    d = normal.shape[1]
    for at in range(first, last):
        c, to = order[at], place[block, colour[at]]
        place[block, colour[at]] += 1
        a, b = i[c], j[c]
        index[ROW, to], index[FIRST, to] = c, number[a]
        index[SECOND, to] = number[b] if b >= 0 else wall
        for x in range(d):
            e[0, to, x] = normal[c, x] / unit[c]
        row[S0, to], row[P, to], row[Y, to] = s0[c], start[c], start[c]
        row[VIOLATION, to], row[BEFORE, to] = violation[c], -np.inf


@jit()
def _arrange(
    first_block: int, last_block: int,
    i: Ints, j: Ints, normal: Floats2, unit: Floats, s0: Floats, start: Floats, violation: Floats,
    ends: Ints, group: Ints,
    number: Indices, order: Indices, used: OutBits, colour: OutInts, place: OutInts2, index: OutIndices2, e: OutFloats3,
    row: OutFloats2,
) -> None:  # fmt: skip
    """Colour the rows of some blocks, and write them into their places."""
    given = GivenRows(i, j, normal, unit, s0, start, violation)
    work = _Work(number, order, used, colour, place, index, e, row)
    n = len(number)
    for b in range(first_block, last_block):
        first, last = ends[b], ends[b + 1]
        _colour(given, work, b, first, last, n * group[b])
        _write(given, work, b, first, last, n + b)
