"""Cholesky factors of M + G^T W G for contacts of bodies: one dense front a group of the dissection.

The front of a group holds its own bodies and the later ones that it fills in,

    F = [F11  F12]     F11 = R11^T R11,   R12 = R11^-T F12,   U = F22 - R12^T R12,
        [ .   F22]

and U is added to the front of the parent (Duff & Reid 1983). A solution goes the same ways: up the tree, each group
handing on to its parent what it leaves behind, and down again. Bodies are numbered by their places in the order of
elimination, rows of G sorted by the first of their bodies in it, and turned from that one to the other.
"""

from __future__ import annotations

import numpy as np

from jostle.kernels.cpu.jit import jit
from jostle.kernels.cpu.panels import U, backward, eliminate, forward


@jit()
def arranged(i, j, e, place):
    """(rows, i, j, e, start): the rows in the order of their first bodies, those of body a from start[a] on.

    Bodies are their places; i is the first of the two, and e turned round with them where need be.
    """
    m, n, d = len(i), len(place), e.shape[1]
    start = np.zeros(n + 1, np.int64)
    one, two = np.empty(m, np.int64), np.empty(m, np.int64)
    for c in range(m):
        a, b = place[i[c]], place[j[c]] if j[c] >= 0 else -1
        one[c], two[c] = (b, a) if 0 <= b < a else (a, b)
        start[one[c] + 1] += 1
    for a in range(n):
        start[a + 1] += start[a]
    filled, rows = start[:-1].copy(), np.empty(m, np.int64)
    first, second, turned = np.empty(m, np.int64), np.empty(m, np.int64), np.empty((m, d))
    for c in range(m):
        to = filled[one[c]]
        filled[one[c]] += 1
        rows[to], first[to], second[to] = c, one[c], two[c]
        sign = 1.0 if place[i[c]] == one[c] else -1.0
        for k in range(d):
            turned[to, k] = sign * e[c, k]
    return rows, first, second, turned, start


@jit()
def layout(j, start, tree, d):
    """What stays the same from one factorisation to the next: (begin, at, into, column, child, sibling).

    begin[g] is where the panel of group g starts among the factors, at[g] where its update waits on the stack;
    into[d * below[g]:] are the places of its rows in the front of its parent; column[c] is where the later body of row
    c stands in the front of the earlier one.
    """
    first, last, parent, below, rows = tree
    groups = len(first)
    begin, at, local = np.zeros(groups + 1, np.int64), np.zeros(groups + 1, np.int64), np.zeros(len(start), np.int64)
    into, column = np.empty(d * len(rows), np.int64), np.full(len(j), -1, np.int64)
    child, sibling = np.full(groups, -1, np.int64), np.full(groups, -1, np.int64)
    top = 0
    for g in range(groups):
        k, r = d * (last[g] - first[g]), d * (below[g + 1] - below[g])
        begin[g + 1] = begin[g] + k * (k + r)
        for a in range(first[g], last[g]):
            local[a] = d * (a - first[g])
        for row in range(below[g], below[g + 1]):
            local[rows[row]] = k + d * (row - below[g])
        for c in range(start[first[g]], start[last[g]]):
            if j[c] >= 0:
                column[c] = local[j[c]]
        h = child[g]
        while h >= 0:
            for row in range(below[h], below[h + 1]):
                for m in range(d):
                    into[d * row + m] = local[rows[row]] + m
            top = min(top, at[h])
            h = sibling[h]
        at[g], top = top, top + r * (r + 1) // 2
        at[groups] = max(at[groups], top)
        if parent[g] >= 0:
            sibling[g], child[parent[g]] = child[parent[g]], g
    return begin, at, into, column, child, sibling


@jit()
def _widths(tree, d):
    """The largest update of a group, and its widest front, in coordinates."""
    first, last, _, below, _ = tree
    largest, widest = 0, 0
    for g in range(len(first)):
        k, r = d * (last[g] - first[g]), d * (below[g + 1] - below[g])
        largest, widest = max(largest, r), max(widest, k + r)
    return largest, widest


@jit()
def room_needed(tree, plan, d):
    """How many numbers `room` makes room for."""
    largest, widest = _widths(tree, d)
    begin, at, into = plan[:3]
    return begin[-1] + at[-1] + largest * largest + widest + len(into)


@jit()
def room(tree, plan, d):
    """(L, stack, rest, v, carry): room for the factors, the updates, one of them, a front of a vector, its updates."""
    largest, widest = _widths(tree, d)
    begin, at, into = plan[:3]
    return np.empty(begin[-1]), np.empty(at[-1]), np.empty(largest * largest), np.empty(widest), np.empty(len(into))


@jit()
def _assemble(L, at, k, width, rest, first, last, start, j, e, W, column, diagonal):
    """The front of the bodies first <= a < last from the matrix itself: only its panel, at L[at], is not zero."""
    d, r = e.shape[1], width - k
    L[at : at + k * width] = 0.0
    rest[: r * r] = 0.0
    for a in range(first, last):
        row = at + d * (a - first) * width
        for m in range(d):
            for n in range(m, d):
                L[row + m * width + d * (a - first) + n] = diagonal[a, m, n]
        for c in range(start[a], start[a + 1]):
            if j[c] >= 0:
                for m in range(d):
                    for n in range(d):
                        L[row + m * width + column[c] + n] -= W[c] * e[c, m] * e[c, n]


@jit()
def _add_child(L, at, k, width, rest, stack, read, into, low, high):
    """The front += the update of a child, its upper half by rows from stack[read] on, in the places into[low:high]."""
    r = width - k
    for a in range(low, high):
        to = into[a]
        if to < k:
            to = at + to * width
            for b in range(a, high):
                L[U(to + into[U(b)])] += stack[U(read + b - a)]
        else:
            to = (to - k) * r - k
            for b in range(a, high):
                rest[U(to + into[U(b)])] += stack[U(read + b - a)]
        read += high - a


@jit()
def _diagonals(mass, i, j, e, W):
    """The blocks (n, d, d) on the diagonal of M + G^T W G, mass (n, d) the diagonal of M."""
    n, d = mass.shape
    out = np.zeros((n, d, d))
    for a in range(n):
        for m in range(d):
            out[a, m, m] = mass[a, m]
    for c in range(len(i)):
        for m in range(d):
            for k in range(m, d):
                add = W[c] * e[c, m] * e[c, k]
                out[i[c], m, k] += add
                if j[c] >= 0:
                    out[j[c], m, k] += add
    return out


@jit()
def factor(mass, rows, W, tree, plan, work):
    """Fill L, the first of work, with the factors of M + G^T W G; returns how many pivots failed.

    mass (n, d) is the diagonal of M; rows are (i, j, e, start) of `arranged`.
    """
    first, last, _, below, _ = tree
    begin, at, into, column, child, sibling = plan
    L, stack, rest, _, _ = work
    i, j, e, start = rows
    d, failed, diagonal = e.shape[1], 0, _diagonals(mass, i, j, e, W)
    for g in range(len(first)):
        k, r = d * (last[g] - first[g]), d * (below[g + 1] - below[g])
        _assemble(L, begin[g], k, k + r, rest, first[g], last[g], start, j, e, W, column, diagonal)
        h = child[g]
        while h >= 0:
            _add_child(L, begin[g], k, k + r, rest, stack, at[h], into, d * below[h], d * below[h + 1])
            h = sibling[h]
        failed += eliminate(L, begin[g], k, k + r, rest)
        to = at[g]
        for a in range(r):
            for b in range(r - a):
                stack[U(to + b)] = rest[U(a * r + a + b)]
            to += r - a
    return failed


@jit()
def solve(tree, plan, work, b):
    """The solution of R^T R x = b, of shape (n, d)."""
    first, last, _, below, rows = tree
    begin, _, into, _, child, sibling = plan
    L, _, _, v, carry = work
    x, d = b.copy(), b.shape[1]
    z = x.reshape(x.size)
    for g in range(len(first)):
        k, own, low, high = d * (last[g] - first[g]), d * first[g], d * below[g], d * below[g + 1]
        width = k + high - low
        for a in range(k):
            v[a] = z[U(own + a)]
        v[k:width] = 0.0
        h = child[g]
        while h >= 0:
            for a in range(d * below[h], d * below[h + 1]):
                v[U(into[U(a)])] += carry[U(a)]
            h = sibling[h]
        forward(L, begin[g], k, width, v)
        for a in range(k):
            z[U(own + a)] = v[a]
        for a in range(high - low):
            carry[U(low + a)] = v[U(k + a)]
    for g in range(len(first) - 1, -1, -1):
        k, own = d * (last[g] - first[g]), d * first[g]
        for a in range(k):
            v[a] = z[U(own + a)]
        width = k
        for row in range(below[g], below[g + 1]):
            for m in range(d):
                v[U(width + m)] = z[U(d * rows[U(row)] + m)]
            width += d
        backward(L, begin[g], k, width, v)
        for a in range(k):
            z[U(own + a)] = v[a]
    return x
