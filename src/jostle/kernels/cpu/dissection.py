"""In which order to eliminate bodies, and what that fills in: nested dissection by their places.

Bodies are cut into two halves by a line or plane; a few that keep the halves apart are eliminated last, the halves
before, each cut in the same way (George 1973). The groups form a tree in postorder: a group is eliminated after its
children, and what remains of it (its front) concerns only bodies of its ancestors.
"""

from __future__ import annotations

import numpy as np

from jostle.kernels.cpu.jit import jit

LEAF = 8
"""Groups of at most so many bodies are not cut any further."""


@jit()
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


@jit()
def _halved(bodies, side, start, other):
    """Give sides 0 and 1 to the halves of a row of bodies; how many of the side with fewer such touch the other one."""
    half, zero, one = len(bodies) // 2, 0, 0
    for t in range(len(bodies)):
        side[bodies[t]] = 0 if t < half else 1
    for a in bodies:
        for c in range(start[a], start[a + 1]):
            if side[other[c]] == 1 - side[a]:
                zero, one = zero + 1 - side[a], one + side[a]
                break
    return min(zero, one)


@jit()
def _crossing(a, side, start, other):
    """How many contacts of body a lead to the other side."""
    count = 0
    for c in range(start[a], start[a + 1]):
        count += side[other[c]] == 1 - side[a]
    return count


@jit()
def _separate(bodies, side, start, other, border):
    """Give side 2 to a few bodies, so that sides 0 and 1 touch no more: the one with most crossing contacts first."""
    count, largest = 0, 0
    for a in bodies:
        crossing = _crossing(a, side, start, other)
        if crossing > 0:
            border[count] = a
            count, largest = count + 1, max(largest, crossing)
    for most in range(largest, 0, -1):
        for k in range(count):
            a = border[k]
            if side[a] < 2 and _crossing(a, side, start, other) >= most:
                side[a] = 2


@jit()
def _parted(bodies, side, room):
    """Sort bodies by side, and else leave them in their order; how many there are on sides 0 and 1."""
    filled, zero, both = 0, 0, 0
    for wanted in range(3):
        zero, both = both, filled
        for a in bodies:
            if side[a] == wanted:
                room[filled] = a
                filled += 1
    for t in range(filled):
        bodies[t] = room[t]
    return zero, both


@jit()
def dissect(x, start, other):
    """(order, first, last, parent): the bodies in their order, and the groups order[first:last], in postorder."""
    n, d = x.shape
    most = 2 * n + 2
    # Sorted along each axis once: parting keeps them so.
    along, side, room = np.empty((d, n), np.int64), np.full(n, -1, np.int64), np.empty(n, np.int64)
    for k in range(d):
        along[k] = np.argsort(x[:, k].copy())
    first, last, parent = np.empty(most, np.int64), np.empty(most, np.int64), np.empty(most, np.int64)
    stack = np.empty((most, 3), np.int64)
    stack[0, 0], stack[0, 1], stack[0, 2] = 0, n, -1
    height, groups = 1, 0
    while height:
        height -= 1
        low, high, parent[groups] = stack[height, 0], stack[height, 1], stack[height, 2]
        first[groups], last[groups] = low, high
        groups += 1
        if high - low <= LEAF:
            continue
        fewest, best = n + 1, 0
        for k in range(d):
            border = _halved(along[k, low:high], side, start, other)
            if border < fewest:
                fewest, best = border, k
        if best < d - 1:
            _halved(along[best, low:high], side, start, other)
        _separate(along[best, low:high], side, start, other, room)
        middle, end = low, low
        for k in range(d):
            zero, both = _parted(along[k, low:high], side, room)
            middle, end = low + zero, low + both
        for t in range(low, high):
            side[along[0, t]] = -1
        first[groups - 1] = end
        for begin, after in ((low, middle), (middle, end)):
            if begin < after:
                stack[height, 0], stack[height, 1], stack[height, 2] = begin, after, groups - 1
                height += 1
    # Met in the order (group, second half, first half); turned round, that is postorder.
    turned = np.empty(groups, np.int64)
    for g in range(groups):
        turned[groups - 1 - g] = groups - 1 - parent[g] if parent[g] >= 0 else -1
    return along[0].copy(), first[:groups][::-1].copy(), last[:groups][::-1].copy(), turned


@jit()
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
