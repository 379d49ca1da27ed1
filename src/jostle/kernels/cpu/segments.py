"""Which points of the plane are near which segments: most are told apart by boxes, without a distance."""

from __future__ import annotations

import numpy as np

from jostle.kernels.cpu.jit import jit


@jit()
def near_segments(x, limit, start, along, dual):
    """See `reference.near_segments`."""
    k = len(start)
    low, high = np.minimum(start, start + along).T.copy(), np.maximum(start, start + along).T.copy()
    size = max(4 * len(x), k)
    rows, distances, far = np.empty(size, np.int64), np.empty(size), np.empty(k, np.uint8)
    found = 0
    for a in range(len(x)):
        far[:] = 0
        for c in range(2):
            below, above = x[a, c] + limit[a], x[a, c] - limit[a]
            for w in range(k):  # one box after the other, without a branch: many at a time
                far[w] |= np.uint8(above > high[c, w]) | np.uint8(below < low[c, w])
        if found + k > size:
            size = 2 * (size + k)
            rows, distances = _longer(rows, found, size), _longer(distances, found, size)
        for w in range(k):
            if far[w]:
                continue
            first, second = x[a, 0] - start[w, 0], x[a, 1] - start[w, 1]
            s = min(max(first * dual[w, 0] + second * dual[w, 1], 0.0), 1.0)
            first, second = first - s * along[w, 0], second - s * along[w, 1]
            distance = np.sqrt(first * first + second * second)
            if not distance > limit[a]:
                rows[found], distances[found] = a * k + w, distance
                found += 1
    return rows[:found].copy(), distances[:found].copy()


@jit()
def _longer(values, count, size):
    """An array of this size with the first `count` of the values."""
    out = np.empty(size, values.dtype)
    out[:count] = values[:count]
    return out
