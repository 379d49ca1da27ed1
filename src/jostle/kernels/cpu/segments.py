"""Which points of the plane are near which segments: most are told apart by boxes, without a distance."""

from __future__ import annotations

import numpy as np

from jostle.kernels.cpu.jit import jit
from jostle.kernels.cpu.signatures import Floats, Floats2, Ints, OutBools, OutFloats, OutFloats2, OutInts

A_POINT = 4
"""Near segments per point for which memory is reserved at first; if there are more, the search is repeated."""


def near_segments(x: Floats2, limit: Floats, start: Floats2, along: Floats2, dual: Floats2) -> tuple[Ints, Floats]:
    """See `reference.near_segments`."""
    start, along, dual = np.ascontiguousarray(start), np.ascontiguousarray(along), np.ascontiguousarray(dual)
    k = len(start)
    boxes, far = np.empty((4, k)), np.empty(k, np.bool_)
    room = max(A_POINT * len(x), k)
    while True:
        rows, distances = np.empty(room, np.int64), np.empty(room)
        found = _search(x, limit, start, along, dual, boxes, far, rows, distances)
        if found <= room:
            return rows[:found].copy(), distances[:found].copy()
        room = found


@jit()
def _search(
    x: Floats2,
    limit: Floats,
    start: Floats2,
    along: Floats2,
    dual: Floats2,
    boxes: OutFloats2,
    far: OutBools,
    rows: OutInts,
    distances: OutFloats,
) -> int:
    """Writes as many near segments as there is room for, and returns how many there are."""
    k, found = len(start), 0
    for w in range(k):
        one, two = start[w, 0], start[w, 1]
        one_end, two_end = one + along[w, 0], two + along[w, 1]
        boxes[0, w], boxes[1, w] = min(one, one_end), max(one, one_end)
        boxes[2, w], boxes[3, w] = min(two, two_end), max(two, two_end)
    for a in range(len(x)):
        one, two, reach = x[a, 0], x[a, 1], limit[a]
        for w in range(k):  # one box after the other, without a branch: many at a time
            beside = (one - reach > boxes[1, w]) | (one + reach < boxes[0, w])
            far[w] = beside | (two - reach > boxes[3, w]) | (two + reach < boxes[2, w])
        for w in range(k):
            if far[w]:
                continue
            first, second = one - start[w, 0], two - start[w, 1]
            s = min(max(first * dual[w, 0] + second * dual[w, 1], 0.0), 1.0)
            first, second = first - s * along[w, 0], second - s * along[w, 1]
            distance = np.sqrt(first * first + second * second)
            if not distance > reach:
                if found < len(rows):
                    rows[found], distances[found] = a * k + w, distance
                found += 1
    return found
