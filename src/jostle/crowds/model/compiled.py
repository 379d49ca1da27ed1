"""What people do about the others near them, person by person; and how dense they are, in passes over a grid.

Each person looks through the cells around. Sums are made in the order of the cells, whatever the number of threads.
"""

from __future__ import annotations

import numpy as np

from jostle.crowds.model import kernels
from jostle.crowds.model.kernels import ALONE, ASIDE, IN_FILE, NEAR
from jostle.kernels.compiling import (
    Bools2,
    Floats,
    Floats2,
    Ints,
    Ints2,
    OutFloats2,
    OutFloats3,
    OutInts,
    OutInts2,
    jit,
)
from jostle.kernels.parallel import cut, together

MOST_CELLS = 2.0**30
"""Largest number of cells along an axis; if there were more, they are made wider."""
TINY = 1e-300
"""Smallest width of a cell."""
ROW_STRIDE = 0x9E3779B1
"""Difference of the numbers of neighbouring rows of cells, an odd number that spreads rows over the table."""


@kernels.turned.on("numpy")
def turned(
    q: Floats2, radii: Floats, direction: Floats2, strength: float, decay: float, sight: float, chunks: int
) -> Floats2:
    """The directions that others have turned: see `kernels.turned`."""
    out = np.empty((len(q), 2))
    table = _table(q, radii, direction, sight)
    together(_turn, [(*table, sight, strength, decay, *part, out) for part in cut(len(q), chunks)])
    return out


@kernels.gaps_ahead.on("numpy")
def gaps_ahead(q: Floats2, radii: Floats, direction: Floats2, sight: float, strip: float, chunks: int) -> Floats2:
    """The free distances to the next person ahead, and who is beside: see `kernels.gaps_ahead`."""
    out = np.empty((2, len(q)))
    table = _table(q, radii, direction, max(sight, ALONE))
    together(_look_ahead, [(*table, sight, strip, *part, out) for part in cut(len(q), chunks)])
    return out


def _table(q: Floats2, radii: Floats, direction: Floats2, sight: float) -> tuple[Ints, Floats2, Ints2, Ints]:
    """People by the cells of a square grid, as wide as two people can see each other.

    Cells (i, j) of a row i follow each other in a table of about two buckets a person. The result is the numbers of
    people by bucket (n,), then in this order their x, y, radius and direction (n, 5) and their cells (n, 2), then where
    each bucket starts.
    """
    n = len(q)
    order, start = np.empty(n, np.int64), np.zeros((1 << (2 * n).bit_length()) + 1, np.int64)
    cells, people, by_bucket = np.empty((n, 2), np.int64), np.empty((n, 5)), np.empty((n, 2), np.int64)
    _sort(q, radii, direction, sight, cells, order, start, people, by_bucket)
    return order, people, by_bucket, start


@jit()
def _sort(
    q: Floats2,
    radii: Floats,
    direction: Floats2,
    sight: float,
    cells: OutInts2,
    order: OutInts,
    start: OutInts,
    people: OutFloats2,
    by_bucket: OutInts2,
) -> None:
    """Fill the table; `start` is zero."""
    n, last, width = len(q), len(start) - 2, TINY
    low, left, high, right = np.inf, np.inf, -np.inf, -np.inf
    for a in range(n):
        low, high = min(low, q[a, 0]), max(high, q[a, 0])
        left, right = min(left, q[a, 1]), max(right, q[a, 1])
        width = max(width, 2.0 * radii[a] + sight)
    width = max(width, max(high - low, right - left) / MOST_CELLS)
    for a in range(n):
        cells[a, 0], cells[a, 1] = int((q[a, 0] - low) / width), int((q[a, 1] - left) / width)
        start[_bucket(cells[a, 0], cells[a, 1], last)] += 1
    total = 0
    for bucket in range(len(start)):
        total += start[bucket]
        start[bucket] = total
    for a in range(n - 1, -1, -1):
        bucket = _bucket(cells[a, 0], cells[a, 1], last)
        start[bucket] -= 1
        k = start[bucket]
        order[k] = a
        by_bucket[k, 0], by_bucket[k, 1] = cells[a, 0], cells[a, 1]
        people[k, 0], people[k, 1], people[k, 2] = q[a, 0], q[a, 1], radii[a]
        people[k, 3], people[k, 4] = direction[a, 0], direction[a, 1]


@jit(helper=True)
def _bucket(i: int, j: int, last: int) -> int:
    """The bucket of a cell; those of a row follow each other."""
    return (i * ROW_STRIDE + j) & last


@jit()
def _turn(
    order: Ints,
    people: Floats2,
    cells: Ints2,
    start: Ints,
    sight: float,
    strength: float,
    decay: float,
    begin: int,
    end: int,
    out: OutFloats2,
) -> None:
    """Fill `out` for the people begin to end of the table."""
    last = len(start) - 2
    for a in range(begin, end):
        one, two = people[a, 3], people[a, 4]
        walks = one != 0.0 or two != 0.0
        if walks:
            for i in range(cells[a, 0] - 1, cells[a, 0] + 2):
                for j in range(cells[a, 1] - 1, cells[a, 1] + 2):
                    bucket = _bucket(i, j, last)
                    for b in range(start[bucket], start[bucket + 1]):
                        if cells[b, 0] != i or cells[b, 1] != j or a == b:
                            continue
                        x, y = people[b, 0] - people[a, 0], people[b, 1] - people[a, 1]
                        touching = people[a, 2] + people[b, 2]
                        square = x * x + y * y
                        if square > (touching + sight) ** 2:
                            continue
                        apart = np.sqrt(square)
                        push = strength * np.exp(-(apart - touching) / decay)
                        scale = push / apart if apart > 0.0 else 0.0
                        one -= scale * x
                        two -= scale * y
        size = np.sqrt(one * one + two * two) if walks else 0.0
        out[order[a], 0] = one / size if size > 0.0 else 0.0
        out[order[a], 1] = two / size if size > 0.0 else 0.0


@jit()
def _look_ahead(
    order: Ints,
    people: Floats2,
    cells: Ints2,
    start: Ints,
    sight: float,
    strip: float,
    begin: int,
    end: int,
    out: OutFloats2,
) -> None:
    """Fill `out` for the people begin to end of the table."""
    last, reach = len(start) - 2, max(sight, ALONE)
    for a in range(begin, end):
        one, two, least, beside = people[a, 3], people[a, 4], np.inf, 0.0
        if one != 0.0 or two != 0.0:
            for i in range(cells[a, 0] - 1, cells[a, 0] + 2):
                for j in range(cells[a, 1] - 1, cells[a, 1] + 2):
                    bucket = _bucket(i, j, last)
                    for b in range(start[bucket], start[bucket + 1]):
                        x, y = people[b, 0] - people[a, 0], people[b, 1] - people[a, 1]
                        touching, square = people[a, 2] + people[b, 2], x * x + y * y
                        if square > (touching + reach) ** 2:
                            continue
                        across = abs(x * two - y * one)
                        ahead = x * one + y * two > 0.0 and across < strip * touching
                        aside = across > IN_FILE * touching and beside < 1.0
                        if not (ahead or aside) or cells[b, 0] != i or cells[b, 1] != j:
                            continue
                        gap = np.sqrt(square) - touching
                        if (
                            ahead
                            and gap < least
                            and gap <= sight
                            and not _goes_first(x, y, people[a], people[b], strip * touching)
                        ):
                            least = gap
                        if aside and gap < ALONE:
                            part = min((across / touching - IN_FILE) / (ASIDE - IN_FILE), 1.0)
                            beside = max(beside, part * min((ALONE - gap) / (ALONE - NEAR), 1.0))
        out[0, order[a]], out[1, order[a]] = least, beside


@jit(helper=True)
def _goes_first(x: float, y: float, a: Floats, b: Floats, width: float) -> bool:
    """Whether a person a goes before b, who is ahead of them at (x, y): b has a straighter ahead, on a similar way."""
    along, back = x * a[3] + y * a[4], -(x * b[3] + y * b[4])
    return back > along and abs(x * b[4] - y * b[3]) < width and a[3] * b[3] + a[4] * b[4] > 0.0


@kernels.spread.on("numpy")
def spread(amount: Floats2, east: Bools2, north: Bools2, part: float, passes: int) -> Floats2:
    """An amount after some passes of exchange between neighbours: see `kernels.spread`."""
    both = np.empty((2, *amount.shape))
    both[0] = amount
    free = np.zeros(amount.shape, dtype=bool)
    free[1:-1, 1:-1] = (east[1:-1] & east[:-2])[:, 1:-1] & north[1:-1, 1:-1] & north[1:-1, :-2]
    _exchange(both, east, north, np.flatnonzero(~free), part, passes)
    return both[passes % 2]


@jit()
def _exchange(both: OutFloats3, east: Bools2, north: Bools2, bound: Ints, part: float, passes: int) -> None:
    """Pass after pass from one half of `both` to the other.

    `bound` are the nodes at the edge of the grid and those with a closed link: the loop over all other nodes has no
    branches, so that several of them are computed at a time.
    """
    _, rows, columns = both.shape
    for k in range(passes):
        amount, out = both[k % 2], both[1 - k % 2]
        for i in range(1, rows - 1):
            above, here, below, to = amount[i + 1], amount[i], amount[i - 1], out[i]
            for j in range(1, columns - 1):
                x = here[j]
                to[j] = x + part * ((above[j] - x) + (below[j] - x) + (here[j + 1] - x) + (here[j - 1] - x))
        for node in bound:
            i, j = node // columns, node % columns
            x, gain = amount[i, j], 0.0
            if i + 1 < rows and east[i, j]:
                gain += amount[i + 1, j] - x
            if i > 0 and east[i - 1, j]:
                gain += amount[i - 1, j] - x
            if j + 1 < columns and north[i, j]:
                gain += amount[i, j + 1] - x
            if j > 0 and north[i, j - 1]:
                gain += amount[i, j - 1] - x
            out[i, j] = x + part * gain
