"""Cholesky factors of M + G^T W G for contacts of bodies: one dense front a group of the dissection.

The front of a group holds its own bodies and the later ones that it fills in,

    F = [F11  .  ]     F11 = L11 L11^T,   L21 = F21 L11^-T,   U = F22 - L21 L21^T,
        [F21  F22]

and U is added to the front of the parent (Duff & Reid 1983). L11^-1 is kept instead of L11, so that all large products
are matrix products.
"""

from __future__ import annotations

import numpy as np
from numba import njit

SUMS = {"reassoc", "contract"}
NO_PIVOT = 1e100
"""Takes the place of a pivot that round-off made zero or negative: that coordinate does not move."""


@njit(cache=True)
def sizes(first, last, below, parent, d):
    """Where the factor of each group starts, and the room that the fronts and the updates on the stack need."""
    groups = len(first)
    start = np.zeros(groups + 1, np.int64)
    largest, top, most = 0, 0, 0
    waiting = np.zeros(groups, np.int64)
    for g in range(groups):
        k, r = d * (last[g] - first[g]), d * (below[g + 1] - below[g])
        start[g + 1] = start[g] + k * (k + r)
        largest = max(largest, k + r)
        top += r * r - waiting[g]
        most = max(most, top + waiting[g])
        if parent[g] >= 0:
            waiting[parent[g]] += r * r
    return start, largest, most


@njit(cache=True, fastmath=SUMS)
def _inverse_factor(F, k, out):
    """out = L^-1 for the leading k x k block L L^T of F (the lower half is read, and overwritten by L)."""
    for a in range(k):
        for b in range(a + 1):
            dot = F[a, b]
            for c in range(b):
                dot -= F[a, c] * F[b, c]
            if a == b:
                F[a, a] = np.sqrt(dot) if dot > 0.0 else NO_PIVOT
            else:
                F[a, b] = dot / F[b, b]
    # Row a of L^-1: (e_a - sum_{c < a} L_ac row_c) / L_aa
    for a in range(k):
        out[a, :] = 0.0
        for c in range(a):
            weight = F[a, c]
            for b in range(c + 1):
                out[a, b] -= weight * out[c, b]
        out[a, a] = 1.0
        for b in range(a + 1):
            out[a, b] /= F[a, a]


@njit(cache=True)
def _assemble(F, g, k, d, first, last, below, rows, order, place, start, other, contact, e, W, diagonal, local):
    """The front of group g from the matrix itself."""
    own = last[g] - first[g]
    for row in range(first[g], last[g]):
        local[row] = row - first[g]
    for row in range(below[g], below[g + 1]):
        local[rows[row]] = own + row - below[g]
    size = d * (own + below[g + 1] - below[g])
    for a in range(size):
        for b in range(a + 1):
            F[a, b] = 0.0
    for row in range(first[g], last[g]):
        a, at = order[row], d * (row - first[g])
        for m in range(d):
            for n in range(d):
                F[at + m, at + n] = diagonal[a, m, n]
        for c in range(start[a], start[a + 1]):
            if place[other[c]] > row:
                there, w = d * local[place[other[c]]], W[contact[c]]
                for m in range(d):
                    for n in range(d):
                        F[there + m, at + n] -= w * e[contact[c], m] * e[contact[c], n]


@njit(cache=True)
def _add_child(F, U, h, d, below, rows, local):
    """F += the update U of the child h, in the places of its rows."""
    count = below[h + 1] - below[h]
    for a in range(count):
        at = d * local[rows[below[h] + a]]
        for b in range(a + 1):
            there = d * local[rows[below[h] + b]]
            for m in range(d):
                for n in range(d if b < a else m + 1):
                    F[at + m, there + n] += U[(d * a + m) * d * count + d * b + n]


@njit(cache=True)
def factor(mass, i, j, e, W, tree, graph, room, L):
    """Fill L with the factors of M + G^T W G, mass (n, d) the diagonal of M; returns how many pivots failed."""
    order, place, first, last, parent, below, rows = tree
    start, other, contact = graph
    begin, largest, most = room
    n, d = mass.shape
    diagonal = np.zeros((n, d, d))
    for a in range(n):
        for m in range(d):
            diagonal[a, m, m] = mass[a, m]
    for c in range(len(i)):
        for m in range(d):
            for k in range(d):
                add = W[c] * e[c, m] * e[c, k]
                diagonal[i[c], m, k] += add
                if j[c] >= 0:
                    diagonal[j[c], m, k] += add
    work, stack, local = np.empty(largest * largest), np.empty(most), np.zeros(n, np.int64)
    at, top, failed = np.zeros(len(first), np.int64), 0, 0
    child, sibling = np.full(len(first), -1, np.int64), np.full(len(first), -1, np.int64)
    for g in range(len(first)):
        k, r = d * (last[g] - first[g]), d * (below[g + 1] - below[g])
        F = work[: (k + r) * (k + r)].reshape((k + r, k + r))
        _assemble(F, g, k, d, first, last, below, rows, order, place, start, other, contact, e, W, diagonal, local)
        h = child[g]
        while h >= 0:
            _add_child(F, stack[at[h] :], h, d, below, rows, local)
            top = min(top, at[h])
            h = sibling[h]
        inverse = L[begin[g] : begin[g] + k * k].reshape((k, k))
        _inverse_factor(F, k, inverse)
        for a in range(k):
            failed += F[a, a] == NO_PIVOT
        at[g] = top
        if r > 0:
            L21 = L[begin[g] + k * k : begin[g + 1]].reshape((r, k))
            U = stack[top : top + r * r].reshape((r, r))
            np.dot(F[k:, :k].copy(), inverse.T, L21)
            product = np.dot(L21, L21.T)
            for a in range(r):
                for b in range(a + 1):
                    U[a, b] = F[k + a, k + b] - product[a, b]
            top += r * r
        if parent[g] >= 0:
            sibling[g], child[parent[g]] = child[parent[g]], g
    return failed


@njit(cache=True, fastmath=SUMS)
def solve(tree, room, L, b):
    """The solution of L L^T x = b, of shape (n, d)."""
    order, _, first, last, _, below, rows = tree
    begin, largest, _ = room
    n, d = b.shape
    z = np.empty((n, d))
    for row in range(n):
        for m in range(d):
            z[row, m] = b[order[row], m]
    one, two = np.empty(largest), np.empty(largest)
    for g in range(len(first)):
        k, r, to = d * (last[g] - first[g]), d * (below[g + 1] - below[g]), begin[g]
        mine = z[first[g] : last[g]].ravel()
        for a in range(k):
            total = 0.0
            for c in range(a + 1):
                total += L[to + a * k + c] * mine[c]
            one[a] = total
        for a in range(k):
            z[first[g] + a // d, a % d] = one[a]
        to += k * k
        for a in range(r):
            total = 0.0
            for c in range(k):
                total += L[to + a * k + c] * one[c]
            z[rows[below[g] + a // d], a % d] -= total
    for g in range(len(first) - 1, -1, -1):
        k, r, to = d * (last[g] - first[g]), d * (below[g + 1] - below[g]), begin[g]
        for a in range(k):
            one[a] = z[first[g] + a // d, a % d]
            two[a] = 0.0
        for a in range(r):
            weight = z[rows[below[g] + a // d], a % d]
            for c in range(k):
                one[c] -= L[to + k * k + a * k + c] * weight
        for a in range(k):
            for c in range(a + 1):
                two[c] += L[to + a * k + c] * one[a]
        for a in range(k):
            z[first[g] + a // d, a % d] = two[a]
    x = np.empty((n, d))
    for row in range(n):
        for m in range(d):
            x[order[row], m] = z[row, m]
    return x
