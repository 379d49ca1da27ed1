"""Where people head: directions between the nodes of grids, person by person."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from jostle.kernels.cpu.jit import jit
from jostle.kernels.cpu.signatures import Floats, Floats2, Floats3, Ints, OutFloats2, Singles3
from jostle.kernels.reference.headings import LOST
from jostle.kernels.sharing import cut, together


def headings(
    q: Floats2,
    field: Ints,
    fields: Sequence[tuple[tuple[int, int], Any]],
    lower: Floats,
    step: float,
    shape: tuple[int, int],
    exits: Floats3,
    outward: Floats2,
    chunks: int,
) -> Floats2:
    """The directions of fields at the places of people: see `reference.headings`."""
    out = np.zeros((len(q), 2))
    number = np.ascontiguousarray(field)
    people = np.bincount(number[number >= 0], minlength=len(fields))
    parts = cut(len(q), -(-chunks // max(int(np.count_nonzero(people)), 1)))
    pieces = [
        (
            _head if direction.dtype == np.float64 else _head_in_single,
            (q, number, k, *low, direction, lower, step, *shape, exits, outward, *part, out),
        )
        for k, (low, direction) in enumerate(fields)
        if people[k]
        for part in parts
    ]
    together(lambda head, arguments: head(*arguments), pieces)
    return out


@jit()
def _head(
    q: Floats2, field: Ints, number: int, first_row: int, first_column: int, direction: Floats3,
    lower: Floats, step: float, rows: int, columns: int, exits: Floats3, outward: Floats2,
    begin: int, end: int, out: OutFloats2,
) -> None:  # fmt: skip
    """Fill the rows begin to end of `out` for the people of one field."""
    for a in range(begin, end):
        if field[a] == number:
            _head_one(q, a, first_row, first_column, direction, lower, step, rows, columns, exits, outward, out)


@jit()
def _head_in_single(
    q: Floats2, field: Ints, number: int, first_row: int, first_column: int, direction: Singles3,
    lower: Floats, step: float, rows: int, columns: int, exits: Floats3, outward: Floats2,
    begin: int, end: int, out: OutFloats2,
) -> None:  # fmt: skip
    """The same in a field of single precision."""
    for a in range(begin, end):
        if field[a] == number:
            _head_one(q, a, first_row, first_column, direction, lower, step, rows, columns, exits, outward, out)


@jit(helper=True)
def _head_one(
    q: Floats2, a: int, first_row: int, first_column: int, direction: Any,
    lower: Floats, step: float, rows: int, columns: int, exits: Floats3, outward: Floats2, out: OutFloats2,
) -> None:  # fmt: skip
    """Fill one row of `out`."""
    x, y = (q[a, 0] - lower[0]) / step, (q[a, 1] - lower[1]) / step
    low, left = np.floor(x), np.floor(y)
    if not (low >= 0.0 and left >= 0.0 and low < rows - 1 and left < columns - 1):
        k = _nearest(q[a, 0], q[a, 1], exits)
        out[a, 0], out[a, 1] = outward[k, 0], outward[k, 1]
        return
    i, j = int(low) - first_row, int(left) - first_column
    if i < 0 or j < 0 or i + 1 >= direction.shape[0] or j + 1 >= direction.shape[1]:
        out[a, 0], out[a, 1] = np.nan, np.nan
        return
    x, y = x - low, y - left
    one, two = _between(direction, i, j, x, y, 0), _between(direction, i, j, x, y, 1)
    size = np.sqrt(one * one + two * two)
    if size < LOST:
        one, two, most = 0.0, 0.0, -1.0
        clear_one, clear_two = 0.0, 0.0
        for k in range(4):
            this = np.float64(direction[i + k // 2, j + k % 2, 0])
            that = np.float64(direction[i + k // 2, j + k % 2, 1])
            one, two = one + this, two + that
            length = np.sqrt(this * this + that * that)
            if length > most:
                most, clear_one, clear_two = length, this, that
        size = np.sqrt(one * one + two * two)
        if size < LOST:
            one, two, size = clear_one, clear_two, max(most, np.finfo(np.float64).tiny)
    out[a, 0], out[a, 1] = one / size, two / size


@jit(helper=True)
def _between(direction: Any, i: int, j: int, x: float, y: float, k: int) -> float:
    """The bilinear interpolation of a component at (x, y) in the cell (i, j)."""
    here, next_x = np.float64(direction[i, j, k]), np.float64(direction[i + 1, j, k])
    below = here + y * (np.float64(direction[i, j + 1, k]) - here)
    return below + x * (next_x + y * (np.float64(direction[i + 1, j + 1, k]) - next_x) - below)


@jit(helper=True)
def _nearest(x: float, y: float, segments: Floats3) -> int:
    """The number of the segment that is nearest to a point; the first of several."""
    best, found = np.inf, 0
    for k in range(len(segments)):
        a, b = segments[k, 0, 0], segments[k, 0, 1]
        along, across = segments[k, 1, 0] - a, segments[k, 1, 1] - b
        square = along * along + across * across
        s = min(max(((x - a) * along + (y - b) * across) / square, 0.0), 1.0) if square > 0.0 else 0.0
        one, two = x - a - s * along, y - b - s * across
        far = one * one + two * two
        if far < best:
            best, found = far, k
    return found
