"""The order in which `fused` sweeps: blocks of space, and in a block rows by colour.

The blocks are those of `jostle.kernels.cpu.arrangement`. Colours are given in rounds: of the rows that share a body,
the first in an order without meaning takes the first colour that is free at both of its bodies. So they are the
same in every run, and few rounds suffice.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import cupy
import numpy as np

from jostle._tools.arrays import Array, Integers
from jostle.kernels.cuda.launch import COLOURS, each, function, on_host
from jostle.kernels.space import SAMPLE, cut_space

GROUPS = 5
"""Four groups of blocks, and that of the rows between cells that are not neighbours."""
ROWS_A_BLOCK = 250
"""Blocks have about this many rows, unless cells would become too narrow."""
ARRANGING_THREADS = 256


class Arranged(NamedTuple):
    """Bodies and rows in the order of a sweep."""

    number: Any
    """(n,) the new numbers of the bodies."""
    source: Any
    """(m,) where each row comes from."""
    begin: Any
    """(blocks COLOURS + 1,) where the rows of each colour of each block begin."""
    groups: Integers
    """(GROUPS + 1,) where the blocks of each group begin, on the host."""
    owned: Any
    """(blocks + 1,) where the bodies begin that each block of the fourth group owns."""


def arranged(i: Integers, j: Integers, n: int, d: int, places: Array | None) -> Arranged:
    """The rows of n bodies in d dimensions, whose places (n, d) may be known."""
    m = len(i)
    places = cupy.zeros((n, d)) if places is None else cupy.ascontiguousarray(places)
    cell, of_body, counts = _cells(places, i, j)
    groups = np.zeros(GROUPS + 1, np.int64)
    for one in range(GROUPS - 1):
        lines, columns = ((count + 1 - odd) // 2 for count, odd in zip(counts, divmod(one, 2), strict=True))
        groups[one + 1] = groups[one] + lines * columns
    groups[GROUPS] = groups[GROUPS - 1] + 1
    blocks, number, key = int(groups[-1]), cupy.empty(n, np.uint32), cupy.empty(m, np.uint64)
    each("number_bodies", d, n, of_body, number)
    each("assign_blocks", d, m, i, j, cell, cupy.asarray(groups), np.int64(counts[1]), key)
    key = cupy.sort(key)
    first, owned = _begin(key, blocks), _begin(of_body, int(groups[4] - groups[3]))
    owner = cupy.full(n * (len(groups) - 1), np.iinfo(np.uint64).max, np.uint64)
    source, begin = cupy.empty(m, np.uint32), cupy.empty(blocks * COLOURS + 1, np.int64)
    whole = np.int64(blocks), np.int64(len(groups) - 1), np.int64(n), cupy.asarray(groups), key, first
    room = owner, cupy.zeros_like(owner), cupy.empty(m, np.int32)
    function("arrange", d)((blocks,), (ARRANGING_THREADS,), (*whole, i, j, *room, begin, source))
    return Arranged(number, source, begin, groups, owned)


def _begin(key: Any, count: int) -> Any:
    """Where each number below count begins in the upper halves of a sorted key, and where the last one ends."""
    return cupy.searchsorted(key, cupy.arange(count + 1, dtype=np.uint64) << np.uint64(32)).astype(np.int64)


def _cells(places: Array, i: Integers, j: Integers) -> tuple[Any, Any, Integers]:
    """(n, 2) the cell of each body along the two longest axes, the sorted keys of the bodies, and how many cells there
    are along each axis, at least two.

    A body whose place is not finite, since it has left, may lie in any cell.
    """
    (n, d), every = places.shape, max(1, len(i) // SAMPLE)
    sample = cupy.empty((2, -(-len(i) // every), d))
    each("sample_rows", d, sample.shape[1], np.int64(every), i, j, places, sample)
    first, second = on_host(sample)
    cut = cut_space(first, second, len(i), ROWS_A_BLOCK, 2)
    axes, low, scale, counts = (np.append(*both)[:2] for both in zip(cut, (0, 0.0, 0.0, 2), strict=True))  # also in 1-D
    cell, key = cupy.empty((n, 2), np.int32), cupy.empty(n, np.uint64)
    each("fill_blocks", d, n, places, *axes.astype(np.int64), *low, *scale, *counts, cell, key)
    return cell, cupy.sort(key), counts
