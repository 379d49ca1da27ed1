"""Which points are near which boxes: a cheap look before distances to many walls are computed."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True)
def near_boxes(x, limit, low, high):
    """See `reference.near_boxes`."""
    k, d = low.shape
    lows, highs = low.T.copy(), high.T.copy()
    rows, far = np.empty(max(4 * len(x), k), np.int64), np.empty(k, np.uint8)
    found = 0
    for a in range(len(x)):
        far[:] = 0
        for c in range(d):
            below, above = x[a, c] + limit[a], x[a, c] - limit[a]
            for w in range(k):  # one box after the other, without a branch: many at a time
                far[w] |= np.uint8(above > highs[c, w]) | np.uint8(below < lows[c, w])
        if found + k > len(rows):
            more = np.empty(2 * (len(rows) + k), np.int64)
            more[:found] = rows[:found]
            rows = more
        for w in range(k):
            rows[found] = a * k + w
            found += 1 - far[w]
    return rows[:found].copy()
