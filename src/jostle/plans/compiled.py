"""Shortest distances on a grid with obstacles: fast marching of second order (Sethian 1999), with a binary heap.

The smallest tentative value is accepted first, and each acceptance updates the nodes that use it. A node uses, along
each axis, its neighbour and the one behind it. Values do not depend on the order in which equal values are accepted,
except for round-off: an update is a continuous function of the accepted values, and it is repeated for nodes two steps
away, whose second-order difference may have been waiting for this one.

The grid is stored with a frame of two closed nodes. Distances are infinite until they are accepted: the tentative ones
are the keys of the heap.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from jostle.kernels.compiling import (
    Bools,
    Bools2,
    Floats,
    Floats2,
    Floats3,
    Ints,
    OutFloats,
    OutFloats2,
    OutFloats3,
    OutShorts,
    jit,
    renamed,
)
from jostle.kernels.parallel import cut, together
from jostle.plans import kernels
from jostle.plans.kernels import FLAT, LEVEL, LOST

CLOSED, UNKNOWN, ACCEPTED = -3, -2, -1
"""The state of a node. From 0 on it is tentative, and the number is its place in the heap."""
FRAME = 2
"""Layers of closed nodes around the grid: no neighbour is out of range."""


NOT_WANTED = np.zeros(0, dtype=bool)


@kernels.marched.on("numpy")
def marched(
    free: Bools2,
    start: Floats2,
    step: float,
    cost: Floats2 | None = None,
    wanted: Bools2 | None = None,
    slack: float = 0.0,
) -> Floats2:
    """The distances on the free nodes, or on the wanted ones and those that are nearer: see `kernels.marched`."""
    rows, columns = free.shape
    framed = rows + 2 * FRAME, columns + 2 * FRAME
    d, state = np.full(framed, np.inf), np.full(framed, CLOSED, np.int32)
    heap, keys = np.empty(free.size + 1, np.int32), np.empty(free.size + 1)
    inside = slice(FRAME, FRAME + rows), slice(FRAME, FRAME + columns)
    d[inside] = start
    state[inside] = np.where(start < np.inf, ACCEPTED, np.where(free, UNKNOWN, CLOSED))
    lengths = np.full(1, step)
    if cost is not None:
        lengths = np.zeros(framed)
        lengths[inside] = step * cost
    asked = NOT_WANTED
    if wanted is not None:
        mask = np.zeros(framed, dtype=bool)
        mask[inside] = wanted & free & ~(start < np.inf)
        asked = mask.ravel()
    _march(d.ravel(), state.ravel(), framed[1], lengths.ravel(), asked, slack, heap, keys)
    return d[inside].copy()


@jit()
def _march(
    d: OutFloats,
    state: OutShorts,
    stride: int,
    lengths: Floats,
    wanted: Bools,
    slack: float,
    heap: OutShorts,
    keys: OutFloats,
) -> None:
    """Accept one node after the other, starting from those that are accepted.

    `lengths` are the steps of the grid times the cost at each node, or one length for all. If there are `wanted` nodes,
    the last of them to be accepted ends the march: what is further away by more than `slack` is not accepted.
    """
    size, uniform, some = 0, len(lengths) == 1, len(wanted) > 0
    limit, left = np.inf, 0
    if some:
        for node in range(len(wanted)):
            left += wanted[node]
        if left == 0:
            limit = slack
    for node in range(len(state)):
        if state[node] == UNKNOWN and (
            min(min(d[node - stride], d[node + stride]), min(d[node - 1], d[node + 1])) < np.inf
        ):
            value = _updated(d, node, stride, lengths[0 if uniform else node])
            if value < np.inf:
                heap[size], keys[size], state[node] = node, value, size
                _up(size, heap, keys, state)
                size += 1
    while size > 0 and keys[0] <= limit:
        node = np.int64(heap[0])
        d[node], state[node] = keys[0], ACCEPTED
        if some and wanted[node]:
            left -= 1
            if left == 0:
                limit = d[node] + slack
        size -= 1
        if size > 0:
            heap[0], keys[0] = heap[size], keys[size]
            _down(0, size, heap, keys, state)
        for turn in range(4):
            side = stride if turn < 2 else 1
            if turn % 2 == 0:
                side = -side
            other = node + side
            if state[other] == ACCEPTED:
                other += side
            at = np.int64(state[other])
            if at == UNKNOWN or at >= 0:
                value, before = _updated(d, other, stride, lengths[0 if uniform else other]), np.inf
                if at == UNKNOWN:
                    at = size
                    heap[at] = other
                    size += 1
                else:
                    before = keys[at]
                keys[at] = value
                if value > before:
                    _down(at, size, heap, keys, state)
                else:
                    _up(at, heap, keys, state)


@jit(helper=True)
def _updated(d: Floats, node: int, stride: int, step: float) -> float:
    """The value of a node from the accepted values around it: see `upwind` in `tests/kernel_definitions.py`."""
    x, slope_x, other_x, steep_x = _sides(d, node, stride, step)
    y, slope_y, other_y, steep_y = _sides(d, node, 1, step)
    least = _solved(x, slope_x, y, slope_y, step)
    if steep_x > slope_x:
        least = min(least, _solved(other_x, steep_x, y, slope_y, step))
        if steep_y > slope_y:
            least = min(least, _solved(other_x, steep_x, other_y, steep_y, step))
    if steep_y > slope_y:
        least = min(least, _solved(x, slope_x, other_y, steep_y, step))
    return least


@jit(helper=True)
def _sides(d: Floats, node: int, side: int, step: float) -> tuple[float, float, float, float]:
    """Base and slope of the differences along an axis, the lower base first; the other one counts if it is steeper."""
    before, slope_before = _towards(d, node, -side, step)
    after, slope_after = _towards(d, node, side, step)
    if after < before:
        return after, slope_after, before, slope_before
    return before, slope_before, after, slope_after


@jit(helper=True)
def _towards(d: Floats, node: int, side: int, step: float) -> tuple[float, float]:
    """The base and the slope of the difference towards a neighbour."""
    near, far = d[node + side], d[node + 2 * side]
    if near < np.inf and far <= near + LEVEL * step:
        return near + max(near - far, 0.0) / 3.0, 1.5
    return near, 1.0


@jit(helper=True)
def _solved(a: float, slope_a: float, b: float, slope_b: float, step: float) -> float:
    """The T with max(slope_a (T - a), 0)^2 + max(slope_b (T - b), 0)^2 = step^2; infinite if a and b are."""
    if a > b:
        a, slope_a, b, slope_b = b, slope_b, a, slope_a
    apart = b - a
    if not slope_a * apart < step:
        return a + step / slope_a
    square_a, square_b = slope_a * slope_a, slope_b * slope_b
    both = square_a + square_b
    return a + (square_b * apart + np.sqrt(both * step * step - square_a * square_b * apart * apart)) / both


@jit(helper=True)
def _up(at: int, heap: OutShorts, keys: OutFloats, state: OutShorts) -> None:
    """Move an entry of the heap towards its top until none above it is larger."""
    node, key = heap[at], keys[at]
    while at > 0:
        parent = (at - 1) // 2
        if not key < keys[parent]:
            break
        heap[at], keys[at], state[heap[parent]] = heap[parent], keys[parent], at
        at = parent
    heap[at], keys[at], state[node] = node, key, at


@jit(helper=True)
def _down(at: int, size: int, heap: OutShorts, keys: OutFloats, state: OutShorts) -> None:
    """Move an entry of the heap away from its top until none below it is smaller."""
    node, key = heap[at], keys[at]
    while 2 * at + 1 < size:
        child = 2 * at + 1
        if child + 1 < size and keys[child + 1] < keys[child]:
            child += 1
        if not keys[child] < key:
            break
        heap[at], keys[at], state[heap[child]] = heap[child], keys[child], at
        at = child
    heap[at], keys[at], state[node] = node, key, at


@kernels.descent.on("numpy")
def descent(d: Floats2, step: float, free: Bools2 | None = None, otherwise: Floats3 | None = None) -> Floats2:
    """The unit vectors along which distances fall: see `kernels.descent`."""
    if free is None or otherwise is None:
        out = np.zeros((*d.shape, 2))
        _descend(d, step, ANYWHERE, out)
    else:
        out = otherwise.copy()
        _descend(d, step, free, out)
    return out.reshape(-1, 2)


ANYWHERE = np.zeros((0, 0), dtype=bool)


@jit()
def _descend(d: Floats2, step: float, free: Bools2, out: OutFloats3) -> None:
    """Fill `out` at the free nodes, or wherever distances are finite if no node is said to be free."""
    rows, columns = d.shape
    everywhere = free.size == 0
    for i in range(rows):
        for j in range(columns):
            here = d[i, j]
            if not everywhere:
                if not free[i, j]:
                    continue
                if (
                    not here < np.inf
                    or (i > 0 and free[i - 1, j] and not d[i - 1, j] < np.inf)
                    or (i + 1 < rows and free[i + 1, j] and not d[i + 1, j] < np.inf)
                    or (j > 0 and free[i, j - 1] and not d[i, j - 1] < np.inf)
                    or (j + 1 < columns and free[i, j + 1] and not d[i, j + 1] < np.inf)
                ):
                    out[i, j, 0], out[i, j, 1] = np.nan, np.nan
                    continue
            if not here < np.inf:
                continue
            x, lower_x = _slopes(here, d[i - 1, j] if i > 0 else np.inf, d[i + 1, j] if i + 1 < rows else np.inf, step)
            y, lower_y = _slopes(
                here, d[i, j - 1] if j > 0 else np.inf, d[i, j + 1] if j + 1 < columns else np.inf, step
            )
            size = np.sqrt(x * x + y * y)
            if size < FLAT:
                x, y = lower_x, lower_y
                size = np.sqrt(x * x + y * y)
            length = size if size > 0.0 else 1.0
            out[i, j, 0], out[i, j, 1] = -x / length, -y / length


@jit(helper=True)
def _slopes(here: float, before: float, after: float, step: float) -> tuple[float, float]:
    """The mean of the slopes on both sides, and the slope towards the lower neighbour."""
    below, above = (here - before) / step, (after - here) / step
    if not before < np.inf:
        below = above
        if not after < np.inf:
            return 0.0, 0.0
    elif not after < np.inf:
        above = below
    down = max(below, 0.0) if before < np.inf else 0.0
    up = max(-above, 0.0) if after < np.inf else 0.0
    lower = 0.0 if abs(down - up) <= LEVEL else down if down > up else -up
    return (below + above) / 2.0, lower


@kernels.headings.on("numpy")
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
    """The directions of fields at the places of people: see `kernels.headings`."""
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


def _heads(
    q: Floats2, field: Ints, number: int, first_row: int, first_column: int, direction: Floats3,
    lower: Floats, step: float, rows: int, columns: int, exits: Floats3, outward: Floats2,
    begin: int, end: int, out: OutFloats2,
) -> None:  # fmt: skip
    """Fill the rows begin to end of `out` for the people of one field."""
    for a in range(begin, end):
        if field[a] == number:
            _head_one(q, a, first_row, first_column, direction, lower, step, rows, columns, exits, outward, out)


_head = jit()(renamed(_heads, "_head"))
_head_in_single = jit()(renamed(_heads, "_head_in_single", direction="Singles3"))


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
