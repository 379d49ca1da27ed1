"""Cholesky factors of M + G^T W G for contacts of bodies: one dense front a group of the dissection.

The front of a group holds its own bodies and the later ones that it fills in,

    F = [F11  F12]     F11 = R11^T R11,   R12 = R11^-T F12,   U = F22 - R12^T R12,
        [ .   F22]

and U is added to the front of the parent (Duff & Reid 1983). A solution goes the same ways: up the tree, each group
handing on to its parent what it leaves behind, and down again. Bodies are numbered by their places in the order of
elimination, rows of G sorted by the first of their bodies in it, and turned from that one to the other.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from jostle.kernels.cpu.jit import jit
from jostle.kernels.cpu.meeting import count_up, meet, wait_for
from jostle.kernels.cpu.panels import U, backward, eliminate, forward
from jostle.kernels.cpu.signatures import (
    Floats,
    Floats2,
    Floats3,
    Ints,
    Ints2,
    OutFloats,
    OutFloats2,
    OutFloats3,
    OutInts,
    OutInts2,
)
from jostle.kernels.cpu.subtrees import Tree, units

ONE, OTHER, COLUMN = 0, 1, 2
"""What the entries of `ends` are: the bodies of a row of G, and where the other one stands in the front of the one."""
FIRST, LAST, BELOW, CHILD, SIBLING, BEGIN, AT = 0, 1, 2, 3, 4, 5, 6
"""What the entries of `groups` are. The bodies of a group are FIRST <= a < LAST; the later ones that it fills in are in
`rows` from BELOW on, up to the BELOW of the next group. CHILD is its last child, SIBLING the child of the same
parent before it (-1: none). Its panel starts at BEGIN among the factors, and its update waits AT this place of the
stack. Entries behind the last group are sizes."""


class Plan(NamedTuple):
    """The data that all factorisations of a projection share."""

    groups: Ints2
    """(7, groups + 1): see `AT`."""
    rows: Ints
    """The places of the bodies that each group fills in."""
    into: Ints
    """The places of their coordinates in the front of the group's parent."""

    def sizes(self, d: int) -> tuple[int, int, int, int, int]:
        """The numbers in the factors, on the stack, in the largest update, in the widest front, and carried on."""
        first, last, below = self.groups[:3]
        own, later = d * (last - first)[:-1], d * np.diff(below)
        largest = int(later.max(initial=0))
        widest = int((own + later).max(initial=0))
        return int(self.groups[BEGIN, -1]), int(self.groups[AT, -1]), largest * largest, widest, len(self.into)


def arranged(i: Ints, j: Ints, e: Floats2, place: Ints) -> tuple[Ints, Ints2, Floats2, Ints]:
    """(rows, ends, e, start): the rows in the order of their first bodies, those of body a from start[a] on.

    Bodies are their places; the first of the two is eliminated first, and e turned round with them where need be.
    """
    m = len(i)
    start, rows, ends, turned = (
        np.zeros(len(place) + 1, np.int64),
        np.empty(m, np.int64),
        np.empty((3, m), np.int64),
        np.empty(e.shape),
    )
    _arrange(i, j, e, place, start, rows, ends, turned)
    return rows, ends, turned, start


@jit()
def _arrange(
    i: Ints, j: Ints, e: Floats2, place: Ints, start: OutInts, rows: OutInts, ends: OutInts2, turned: OutFloats2
) -> None:
    """A counting sort by the first body; start is zero."""
    m = len(i)
    for turn in range(2):
        for c in range(m - 1, -1, -1):
            a, b, sign = place[i[c]], -1, 1.0
            if j[c] >= 0:
                b = place[j[c]]
                if b < a:
                    a, b, sign = b, a, -1.0
            if turn == 0:
                start[a] += 1
            else:
                start[a] -= 1
                to = start[a]
                rows[to], ends[ONE, to], ends[OTHER, to] = c, a, b
                for k in range(e.shape[1]):
                    turned[to, k] = sign * e[c, k]
        if turn == 0:
            total = 0
            for a in range(len(start)):
                total += start[a]
                start[a] = total


def layout(ends: Ints2, start: Ints, tree: Tree, d: int) -> Plan:
    """The plan of a tree; fills in the columns of `ends`."""
    first, last, parent, below, rows = tree
    groups = np.zeros((7, len(first) + 1), np.int64)
    groups[FIRST, :-1], groups[LAST, :-1], groups[BELOW] = first, last, below
    groups[CHILD] = groups[SIBLING] = -1
    into = np.empty(d * len(rows), np.int64)
    _lay_out(start, parent, rows, units(tree, d), d, np.empty(len(start), np.int64), ends, groups, into)
    return Plan(groups, rows, into)


@jit()
def _lay_out(
    start: Ints,
    parent: Ints,
    rows: Ints,
    unit: Ints,
    d: int,
    local: OutInts,
    ends: OutInts2,
    groups: OutInts2,
    into: OutInts,
) -> None:
    """Fills in CHILD, SIBLING, BEGIN, AT, COLUMN and into. Each unit has a part of the stack for itself."""
    count, top, most = len(parent), 0, 0
    for g in range(count):
        if g > 0 and unit[g] != unit[g - 1]:
            top = most
        first, last, below, after = groups[FIRST, g], groups[LAST, g], groups[BELOW, g], groups[BELOW, g + 1]
        k, r = d * (last - first), d * (after - below)
        groups[BEGIN, g + 1] = groups[BEGIN, g] + k * (k + r)
        for a in range(first, last):
            local[a] = d * (a - first)
        for row in range(below, after):
            local[rows[row]] = k + d * (row - below)
        for c in range(start[first], start[last]):
            if ends[OTHER, c] >= 0:
                ends[COLUMN, c] = local[ends[OTHER, c]]
        h = groups[CHILD, g]
        while h >= 0:
            for row in range(groups[BELOW, h], groups[BELOW, h + 1]):
                for m in range(d):
                    into[d * row + m] = local[rows[row]] + m
            if unit[h] == unit[g]:
                top = min(top, groups[AT, h])
            h = groups[SIBLING, h]
        groups[AT, g] = top
        top += r * (r + 1) // 2
        most = max(most, top)
        h = parent[g]
        if h >= 0:
            groups[SIBLING, g], groups[CHILD, h] = groups[CHILD, h], g
    groups[AT, count] = most


@jit(helper=True)
def _assemble(
    L: OutFloats,
    at: int,
    k: int,
    width: int,
    rest: OutFloats,
    first: int,
    last: int,
    start: Ints,
    ends: Ints2,
    e: Floats2,
    row: Floats2,
    weight: int,
    diagonal: Floats3,
) -> None:
    """The front of the bodies first <= a < last from the matrix itself: only its panel, at L[at], is not zero."""
    d, r = e.shape[1], width - k
    for a in range(at, at + k * width):
        L[a] = 0.0
    for a in range(r * r):
        rest[a] = 0.0
    for a in range(first, last):
        own = d * (a - first)
        to = at + own * width
        for m in range(d):
            for n in range(m, d):
                L[to + own + n] = diagonal[a, m, n]
            for c in range(start[a], start[a + 1]):
                if ends[OTHER, c] >= 0:
                    push, column = row[weight, c] * e[c, m], to + ends[COLUMN, c]
                    for n in range(d):
                        L[column + n] -= push * e[c, n]
            to += width


@jit(helper=True)
def _add_child(
    L: OutFloats,
    at: int,
    k: int,
    width: int,
    rest: OutFloats,
    stack: OutFloats,
    read: int,
    into: Ints,
    low: int,
    high: int,
) -> None:
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


@jit(helper=True)
def _diagonals(mass: Floats, ends: Ints2, e: Floats2, row: Floats2, weight: int, out: OutFloats3) -> None:
    """The blocks (n, d, d) on the diagonal of M + G^T W G, mass (n d,) the diagonal of M."""
    n, d, _ = out.shape
    for a in range(n):
        for m in range(d):
            for k in range(m, d):
                out[a, m, k] = mass[a * d + m] if k == m else 0.0
    for c in range(e.shape[0]):
        a, b = ends[ONE, c], ends[OTHER, c]
        for m in range(d):
            push = row[weight, c] * e[c, m]
            for k in range(m, d):
                out[a, m, k] += push * e[c, k]
                if b >= 0:
                    out[b, m, k] += push * e[c, k]


@jit(helper=True)
def factor(
    member: int,
    owner: Ints,
    done: OutInts,
    meeting: OutInts,
    failed: OutInts,
    mass: Floats,
    ends: Ints2,
    start: Ints,
    e: Floats2,
    row: Floats2,
    weight: int,
    groups: Ints2,
    into: Ints,
    L: OutFloats,
    stack: OutFloats,
    rest: OutFloats2,
    diagonal: OutFloats3,
    products: Any,
) -> int:
    """Fill L with the factors of M + G^T W G; returns how many pivots failed, or -1 if a thread did not come.

    mass (n d,) is the diagonal of M; W is the entry `weight` of `row`; products: see `panels.eliminate`. All threads
    call it at the same time: `member` is one of len(failed), and eliminates the groups that it owns. done counts how
    often each group has been eliminated.
    """
    d, members = e.shape[1], len(failed)
    if member == 0:
        _diagonals(mass, ends, e, row, weight, diagonal)
    failed[member] = 0
    if not meet(meeting, members):
        return -1
    for g in range(groups.shape[1] - 1):
        if owner[g] != member:
            continue
        first, last, at = groups[FIRST, g], groups[LAST, g], groups[BEGIN, g]
        k, r = d * (last - first), d * (groups[BELOW, g + 1] - groups[BELOW, g])
        _assemble(L, at, k, k + r, rest[member], first, last, start, ends, e, row, weight, diagonal)
        h = groups[CHILD, g]
        while h >= 0:
            if owner[h] != member and not wait_for(done, h, done[g] + 1, meeting):
                return -1
            low, high = d * groups[BELOW, h], d * groups[BELOW, h + 1]
            _add_child(L, at, k, k + r, rest[member], stack, groups[AT, h], into, low, high)
            h = groups[SIBLING, h]
        failed[member] += eliminate(L, at, k, k + r, rest[member], products)
        to = groups[AT, g]
        for a in range(r):
            for b in range(r - a):
                stack[U(to + b)] = rest[member, U(a * r + a + b)]
            to += r - a
        if members > 1:
            count_up(done, g)
    if not meet(meeting, members):
        return -1
    total = 0
    for one in range(members):
        total += failed[one]
    return total


@jit(helper=True)
def solve(
    groups: Ints2,
    rows: Ints,
    into: Ints,
    d: int,
    L: OutFloats,
    v: OutFloats,
    carry: OutFloats,
    body: OutFloats2,
    which: int,
) -> None:
    """Replace the vector `which` of body, b, by the solution of R^T R x = b."""
    count = groups.shape[1] - 1
    for g in range(count):
        k, own = d * (groups[LAST, g] - groups[FIRST, g]), d * groups[FIRST, g]
        low, high = d * groups[BELOW, g], d * groups[BELOW, g + 1]
        width = k + high - low
        for a in range(width):
            v[a] = body[which, U(own + a)] if a < k else 0.0
        h = groups[CHILD, g]
        while h >= 0:
            for a in range(d * groups[BELOW, h], d * groups[BELOW, h + 1]):
                v[U(into[U(a)])] += carry[U(a)]
            h = groups[SIBLING, h]
        forward(L, groups[BEGIN, g], k, width, v)
        for a in range(k):
            body[which, U(own + a)] = v[a]
        for a in range(high - low):
            carry[U(low + a)] = v[U(k + a)]
    for g in range(count - 1, -1, -1):
        width, own = d * (groups[LAST, g] - groups[FIRST, g]), d * groups[FIRST, g]
        k = width
        for a in range(k):
            v[a] = body[which, U(own + a)]
        for row in range(groups[BELOW, g], groups[BELOW, g + 1]):
            for m in range(d):
                v[U(width + m)] = body[which, U(d * rows[U(row)] + m)]
            width += d
        backward(L, groups[BEGIN, g], k, width, v)
        for a in range(k):
            body[which, U(own + a)] = v[a]
