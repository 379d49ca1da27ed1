"""In which order to eliminate bodies, and what that fills in: nested dissection by their places.

Bodies are cut into two halves by a line or plane; a few that keep the halves apart are eliminated last, the halves
before, each cut in the same way (George 1973). The groups form a tree in postorder: a group is eliminated after its
children, and what remains of it (its front) concerns only bodies of its ancestors.
"""

from __future__ import annotations

import numpy as np
from numba import njit

LEAF = 8
"""Groups of at most so many bodies are not cut any further."""


@njit(cache=True)
def adjacency(i, j, n):
    """(start, other): the bodies in contact with body a are other[start[a]:start[a + 1]]; walls (j < 0) left out."""
    start = np.zeros(n + 1, np.int64)
    for c in range(len(i)):
        if j[c] >= 0:
            start[i[c] + 1] += 1
            start[j[c] + 1] += 1
    for a in range(n):
        start[a + 1] += start[a]
    other, filled = np.empty(start[n], np.int64), start[:-1].copy()
    for c in range(len(i)):
        if j[c] >= 0:
            other[filled[i[c]]] = j[c]
            other[filled[j[c]]] = i[c]
            filled[i[c]] += 1
            filled[j[c]] += 1
    return start, other


@njit(cache=True)
def _boundary(bodies, side, start, other):
    """How many bodies of side 0 touch side 1, and of side 1 side 0."""
    count = np.zeros(2, np.int64)
    for a in bodies:
        for k in range(start[a], start[a + 1]):
            if side[other[k]] == 1 - side[a]:
                count[side[a]] += 1
                break
    return count


@njit(cache=True)
def _separate(bodies, side, start, other):
    """Give side 2 to a few bodies, so that sides 0 and 1 touch no more: the one with most crossing contacts first."""
    crossing = np.zeros(len(bodies), np.int64)
    for k in range(len(bodies)):
        a = bodies[k]
        for c in range(start[a], start[a + 1]):
            crossing[k] += side[other[c]] == 1 - side[a]
    border = np.flatnonzero(crossing)
    for most in range(crossing.max() if len(bodies) else 0, 0, -1):
        for k in border:
            a, left = bodies[k], 0
            if side[a] < 2:
                for c in range(start[a], start[a + 1]):
                    left += side[other[c]] == 1 - side[a]
                if left >= most:
                    side[a] = 2


@njit(cache=True)
def dissect(x, start, other):
    """(order, first, last, parent): the bodies in their order, and the groups order[first:last], in postorder."""
    n, d = x.shape
    order, side = np.arange(n), np.full(n, -1, np.int64)
    most = 2 * n + 2
    first, last, parent = np.empty(most, np.int64), np.empty(most, np.int64), np.empty(most, np.int64)
    stack = np.empty((most, 3), np.int64)
    stack[0] = 0, n, -1
    height, groups = 1, 0
    while height:
        height -= 1
        low, high, above = stack[height]
        bodies = order[low:high].copy()
        if len(bodies) <= LEAF:
            first[groups], last[groups], parent[groups] = low, high, above
            groups += 1
            continue
        fewest, best = len(bodies) + 1, np.empty(0, np.int64)
        half = len(bodies) // 2
        for k in range(d):
            along = np.argsort(x[bodies, k])
            side[bodies[along[:half]]] = 0
            side[bodies[along[half:]]] = 1
            border = _boundary(bodies, side, start, other).min()
            if border < fewest:
                fewest, best = border, along
        side[bodies[best[:half]]] = 0
        side[bodies[best[half:]]] = 1
        _separate(bodies, side, start, other)
        ends = low + np.array([0, (side[bodies] == 0).sum(), (side[bodies] < 2).sum()])
        first[groups], last[groups], parent[groups] = ends[2], high, above
        filled = ends.copy()
        for a in bodies:
            order[filled[side[a]]] = a
            filled[side[a]] += 1
            side[a] = -1
        for k in range(2):
            if ends[k] < ends[k + 1]:
                stack[height] = ends[k], ends[k + 1], groups
                height += 1
        groups += 1
    # Met in the order (group, second half, first half); turned round, that is postorder.
    turned = np.where(parent[:groups] < 0, -1, groups - 1 - parent[:groups])[::-1].copy()
    return order, first[:groups][::-1].copy(), last[:groups][::-1].copy(), turned


@njit(cache=True)
def fronts(order, first, last, parent, start, other):
    """(place, below, rows): rows[below[g]:below[g + 1]] are the places of the later bodies that group g fills in.

    place[a] is where body a stands in the order.
    """
    n, groups = len(order), len(first)
    place, seen = np.empty(n, np.int64), np.full(n, -1, np.int64)
    for k in range(n):
        place[order[k]] = k
    child, sibling = np.full(groups, -1, np.int64), np.full(groups, -1, np.int64)
    below, rows = np.zeros(groups + 1, np.int64), np.empty(8 * n + 64, np.int64)
    for g in range(groups):
        found = below[g]
        if found + n > len(rows):
            rows = np.concatenate((rows, np.empty(len(rows) + n, np.int64)))
        for k in range(first[g], last[g]):
            a = order[k]
            for c in range(start[a], start[a + 1]):
                row = place[other[c]]
                if row >= last[g] and seen[row] != g:
                    seen[row], rows[found] = g, row
                    found += 1
        h = child[g]
        while h >= 0:
            for k in range(below[h], below[h + 1]):
                row = rows[k]
                if row >= last[g] and seen[row] != g:
                    seen[row], rows[found] = g, row
                    found += 1
            h = sibling[h]
        rows[below[g] : found].sort()
        below[g + 1] = found
        if parent[g] >= 0:
            sibling[g], child[parent[g]] = child[parent[g]], g
    return place, below, rows[: below[groups]].copy()
