"""Nested dissection by position: the order in which bodies are eliminated, and the fill-in of that order.

Bodies are cut into two halves by a line or plane; a few that keep the halves apart are eliminated last, the halves
before, each cut in the same way (George 1973). The groups form a tree in postorder: a group is eliminated after its
children, and what remains of it (its front) concerns only bodies of its ancestors.

Threads share the tree: it is cut into units, subtrees with about an equal amount of work, and each group above them
alone. The cut depends on the tree alone. A group is eliminated in the same way whoever does it, and so the bits do not
depend on the number of threads.
"""

from __future__ import annotations

import numpy as np

from jostle.kernels.compiling import Floats, Floats2, Ints, Ints2, OutInts, OutInts2, jit

LEAF = 8
"""Largest number of bodies of a group that is not cut any further."""
FILL = 8
"""Numbers per body for which memory is reserved at first; if a dissection fills in more, it is repeated."""


def adjacency(i: Ints, j: Ints, n: int) -> tuple[Ints, Ints]:
    """(start, other): the bodies in contact with body a are other[start[a]:start[a + 1]]; walls (j < 0) left out."""
    start, other = np.zeros(n + 1, np.int64), np.empty(2 * len(i), np.int64)
    total = _list_neighbours(i, j, start, other)
    return start, other[:total]


@jit()
def _list_neighbours(i: Ints, j: Ints, start: OutInts, other: OutInts) -> int:
    """A counting sort: start is zero. Returns how many neighbours there are."""
    total, m = 0, len(i)
    for c in range(m):
        if j[c] >= 0:
            start[i[c]] += 1
            start[j[c]] += 1
    for a in range(len(start)):
        total += start[a]
        start[a] = total
    for c in range(m - 1, -1, -1):
        a, b = i[c], j[c]
        if b >= 0:
            start[a] -= 1
            start[b] -= 1
            other[start[a]], other[start[b]] = b, a
    return total


def dissect(x: Floats2, start: Ints, other: Ints) -> tuple[Ints, Ints, Ints, Ints]:
    """(order, first, last, parent): the bodies in their order, and the groups order[first:last], in postorder."""
    # Sorted along each axis once: parting keeps them so.
    along = np.ascontiguousarray(np.argsort(x.T, axis=1, kind="stable"))
    n = len(x)
    groups, stack = np.empty((2, 3, 2 * n + 2), np.int64)
    count = _cut(along, start, other, np.full(n, -1), np.empty(n, np.int64), stack, groups)
    # Met in the order (group, second half, first half); turned round, that is postorder.
    first, last, parent = groups[:, :count][:, ::-1].copy()
    return along[0], first, last, np.where(parent >= 0, count - 1 - parent, -1)


@jit(helper=True)
def _halved(bodies: Ints2, k: int, low: int, high: int, side: OutInts, start: Ints, other: Ints) -> int:
    """Give sides 0 and 1 to the halves of a row of bodies; the smaller number of bodies that touch the other side."""
    half, zero, one = (low + high) // 2, 0, 0
    for t in range(low, high):
        side[bodies[k, t]] = 0 if t < half else 1
    for t in range(low, high):
        if _crossing(bodies[k, t], side, start, other, 1):
            if t < half:
                zero += 1
            else:
                one += 1
    return min(zero, one)


@jit(helper=True)
def _crossing(a: int, side: Ints, start: Ints, other: Ints, most: int) -> int:
    """How many contacts of body a, counted up to `most`, lead to the other side."""
    count, beyond = 0, 1 - side[a]
    for c in range(start[a], start[a + 1]):
        if side[other[c]] == beyond:
            count += 1
            if count == most:
                break
    return count


@jit(helper=True)
def _separate(
    bodies: Ints2, k: int, low: int, high: int, side: OutInts, start: Ints, other: Ints, border: OutInts
) -> None:
    """Give side 2 to a few bodies, so that sides 0 and 1 touch no more: the one with most crossing contacts first."""
    count, largest = 0, 0
    for t in range(low, high):
        a = bodies[k, t]
        crossing = _crossing(a, side, start, other, -1)
        if crossing > 0:
            border[count] = a
            count += 1
            largest = max(largest, crossing)
    for most in range(largest, 0, -1):
        for t in range(count):
            a = border[t]
            if side[a] < 2 and _crossing(a, side, start, other, most) == most:
                side[a] = 2


@jit(helper=True)
def _parted(bodies: OutInts2, k: int, low: int, high: int, side: Ints, room: OutInts) -> tuple[int, int]:
    """Sort bodies by side, and else leave them in their order; where sides 1 and 2 begin."""
    filled, zero, both = low, low, low
    for wanted in range(3):
        zero, both = both, filled
        for t in range(low, high):
            if side[bodies[k, t]] == wanted:
                room[filled] = bodies[k, t]
                filled += 1
    for t in range(low, high):
        bodies[k, t] = room[t]
    return zero, both


@jit()
def _cut(
    along: OutInts2, start: Ints, other: Ints, side: OutInts, room: OutInts, stack: OutInts2, groups: OutInts2
) -> int:
    """Order the bodies along each axis (d, n) by dissection; fills `groups` with first, last, parent of each group.

    A group comes before its second half, and that before its first. side is -1. Returns the number of groups.
    """
    d, n = along.shape
    stack[0, 0], stack[1, 0], stack[2, 0] = 0, n, -1
    height, count = 1, 0
    while height:
        height -= 1
        low, high = stack[0, height], stack[1, height]
        groups[0, count], groups[1, count], groups[2, count] = low, high, stack[2, height]
        count += 1
        if high - low <= LEAF:
            continue
        fewest, best = n + 1, 0
        for k in range(d + 1):  # each axis, and the best once more if it was not the last
            if k == d and best == d - 1:
                break
            border = _halved(along, k if k < d else best, low, high, side, start, other)
            if border < fewest:
                fewest, best = border, k
        _separate(along, best, low, high, side, start, other, room)
        middle, end = low, low
        for k in range(d):
            middle, end = _parted(along, k, low, high, side, room)
        for t in range(low, high):
            side[along[0, t]] = -1
        groups[0, count - 1] = end
        for half in range(2):
            begin, after = (middle, end) if half else (low, middle)
            if begin < after:
                stack[0, height], stack[1, height], stack[2, height] = begin, after, count - 1
                height += 1
    return count


def fronts(order: Ints, first: Ints, last: Ints, parent: Ints, start: Ints, other: Ints) -> tuple[Ints, Ints, Ints]:
    """(place, below, rows): rows[below[g]:below[g + 1]] are the places of the later bodies that group g fills in.

    place[a] is where body a stands in the order.
    """
    n, groups = len(order), len(first)
    place, below = np.empty(n, np.int64), np.zeros(groups + 1, np.int64)
    place[order] = np.arange(n)
    room = FILL * n + 64
    while True:
        rows, child, sibling = np.empty(room, np.int64), np.full(groups, -1), np.full(groups, -1)
        total = _fill(order, place, first, last, parent, start, other, np.full(n, -1), child, sibling, below, rows)
        if total >= 0:
            return place, below, rows[:total].copy()
        room *= 2


@jit()
def _fill(
    order: Ints, place: Ints, first: Ints, last: Ints, parent: Ints, start: Ints, other: Ints, seen: OutInts,
    child: OutInts, sibling: OutInts, below: OutInts, rows: OutInts,
) -> int:  # fmt: skip
    """Fills `below` and `rows` of `fronts`; seen, child, sibling are -1. Returns the length of rows, or -1: no room."""
    n = len(order)
    for g in range(len(first)):
        begin, after = below[g], last[g]
        found = begin
        if found + n > len(rows):
            return -1
        for k in range(first[g], after):
            a = order[k]
            for c in range(start[a], start[a + 1]):
                row = place[other[c]]
                if row >= after and seen[row] != g:
                    seen[row], rows[found] = g, row
                    found += 1
        h = child[g]
        while h >= 0:
            for k in range(below[h], below[h + 1]):
                row = rows[k]
                if row >= after and seen[row] != g:
                    seen[row], rows[found] = g, row
                    found += 1
            h = sibling[h]
        _sort(rows, begin, found)
        below[g + 1] = found
        h = parent[g]
        if h >= 0:
            sibling[g], child[h] = child[h], g
    return below[len(first)]


@jit(helper=True)
def _sort(values: OutInts, low: int, high: int) -> None:
    """Sort values[low:high] by Shell's method, with the gaps of Tokuda (1992)."""
    gap = 1
    while 9 * gap < 4 * (high - low):
        gap = (9 * gap) // 4 + 1
    while gap > 0:
        for k in range(low + gap, high):
            value, at = values[k], k
            while at >= low + gap and values[at - gap] > value:
                values[at] = values[at - gap]
                at -= gap
            values[at] = value
        gap = (4 * gap) // 9


Tree = tuple[Ints, Ints, Ints, Ints, Ints]
"""(first, last, parent, below, rows) of the groups: see `dissection`."""
SHARED_WORK = 2e7
"""Number of multiplications from which on threads share a factorisation: about five milliseconds."""
SUBTREE = 1.0 / 16.0
"""Largest fraction of the work in one subtree."""


def work_of(tree: Tree, d: int) -> Floats:
    """(groups,) the multiplications that eliminate each group, in d dimensions."""
    first, last, _, below, _ = tree
    own, later = 1.0 * d * (last - first), 1.0 * d * np.diff(below)
    return np.asarray(own * (own * own / 3.0 + own * later + later * later))


def units(tree: Tree, d: int) -> Ints:
    """(groups,) the unit of each group, named by its last group; all are one unit if there is little to do."""
    count = len(tree[2])
    if (d * int(tree[1][-1])) ** 3 / 3.0 < SHARED_WORK:  # a full matrix would not take longer
        return np.full(count, count - 1)
    parent, work = tree[2].tolist(), work_of(tree, d)
    whole = float(work.sum())
    if whole < SHARED_WORK:
        return np.full(count, count - 1)
    total, begin, children = _collected(parent, work)
    unit, waiting = np.arange(count), [g for g in range(count) if parent[g] < 0]
    while waiting:
        g = waiting.pop()
        if total[g] > SUBTREE * whole:
            waiting += children[g]
        else:
            unit[begin[g] : g + 1] = g
    return unit


def owners(tree: Tree, d: int, members: int) -> Ints:
    """(groups,) the thread that eliminates each group: threads are given to subtrees according to their work."""
    parent = tree[2].tolist()
    count = len(parent)
    owner = np.zeros(count, np.int64)
    if members == 1 or (unit := units(tree, d))[0] == count - 1:
        return owner
    total, begin, children = _collected(parent, work_of(tree, d))
    waiting = [([g for g in range(count) if parent[g] < 0], 0, members)]
    while waiting:
        groups, low, high = waiting.pop()
        whole, before = sum(total[g] for g in groups), 0.0
        for g in groups:
            first = min(low + round((high - low) * before / whole), high - 1)
            before += total[g]
            last = max(low + round((high - low) * before / whole), first + 1)
            owner[begin[g] if unit[begin[g]] == g else g : g + 1] = first
            if unit[begin[g]] != g:
                waiting.append((children[g], first, last))
    return owner


def _collected(parent: list[int], work: Floats) -> tuple[list[float], list[int], list[list[int]]]:
    """Of each group: the work of the subtree that it is the root of, the first group of that, and its children."""
    total, begin = work.tolist(), list(range(len(parent)))
    children: list[list[int]] = [[] for _ in parent]
    for g, above in enumerate(parent):
        if above >= 0:
            total[above] += total[g]
            begin[above] = min(begin[above], begin[g])
            children[above].append(g)
    return total, begin, children
