"""Which thread eliminates which groups of a dissection: subtrees at the same time, then the groups above them.

The tree is cut into units: subtrees with about an equal amount of work, and each group above them alone. The cut
depends on the tree alone. A group is eliminated in the same way whoever does it, and so the bits do not depend on the
number of threads.
"""

from __future__ import annotations

import numpy as np

from jostle.kernels.cpu.signatures import Floats, Ints

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
    parent, unit = tree[2].tolist(), units(tree, d)
    count = len(parent)
    owner = np.zeros(count, np.int64)
    if members == 1 or unit[0] == count - 1:
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
