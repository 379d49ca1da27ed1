"""Cholesky factors of M + G^T W G for contacts of bodies: one dense front a group of the dissection.

The front of a group holds its own bodies and the later ones that it fills in,

    F = [F11  F12]     F11 = R11^T R11,   R12 = R11^-T F12,   U = F22 - R12^T R12,
        [ .   F22]

and U is added to the front of the parent (Duff & Reid 1983). A solution goes the same ways: up the tree, each group
handing on to its parent what it leaves behind, and down again. Bodies are numbered by their places in the order of
elimination, rows of G sorted by the first of their bodies in it, and turned from that one to the other.

The first k rows of a front, the panel, lie one after the other, `width` numbers each. They become rows of R,

    R_a = (F_a - sum_{c < a} R_ca R_c) / R_aa,        with 1 / R_aa in the place of R_aa,

and what is left of the other rows is F_a - sum_{c < k} R_ca R_c. So all is one operation, a row less a combination of
rows of the panel: by loops over two rows at a time in small fronts, by matrix products in large ones. Places in flat
arrays are made unsigned (`U`): for signed ones numba asks whether they count from the end, and that keeps the loops
from being vectorised.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from jostle.kernels.compiling import (
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
    jit,
)
from jostle.kernels.cpu.dissection import Tree, units
from jostle.kernels.cpu.meeting import count_up, meet, wait_for

SUMS = {"reassoc", "contract"}
NO_PIVOT = 1e100
"""Replaces a pivot that round-off made zero or negative, so that this coordinate does not move."""
BLOCK = 32
"""Number of rows in one matrix product, in large fronts."""
LARGE = 48
"""A front is large if its panel has more rows than this; large fronts use matrix products."""
U = np.uintp


@jit(helper=True, fastmath=SUMS)
def _subtract(row: OutFloats, to: int, panel: Floats, at: int, width: int, a: int, begin: int, end: int) -> None:
    """F_a -= sum of R_ca R_c over begin <= c < end; F_a, from its diagonal on, starts at row[to]."""
    size = width - a
    c = begin
    while c + 4 <= end:
        one = at + c * width + a
        two, three, four = one + width, one + 2 * width, one + 3 * width
        w, x, y, z = panel[U(one)], panel[U(two)], panel[U(three)], panel[U(four)]
        for b in range(size):
            row[U(to + b)] -= (
                w * panel[U(one + b)] + x * panel[U(two + b)] + y * panel[U(three + b)] + z * panel[U(four + b)]
            )
        c += 4
    while c < end:
        one = at + c * width + a
        w = panel[U(one)]
        for b in range(size):
            row[U(to + b)] -= w * panel[U(one + b)]
        c += 1


@jit(helper=True, fastmath=SUMS)
def _subtract_twice(
    row: OutFloats, to: int, step: int, panel: Floats, at: int, width: int, a: int, begin: int, end: int
) -> None:
    """The same for F_a and F_{a + 1}, which starts at row[to + step + 1]: what is read serves both."""
    size, upper, lower = width - a - 1, to + 1, to + step + 1
    c = begin
    while c + 4 <= end:
        one = at + c * width + a
        two, three, four = one + width, one + 2 * width, one + 3 * width
        w, x, y, z = panel[U(one)], panel[U(two)], panel[U(three)], panel[U(four)]
        row[U(to)] -= w * w + x * x + y * y + z * z
        one, two, three, four = one + 1, two + 1, three + 1, four + 1
        ww, xx, yy, zz = panel[U(one)], panel[U(two)], panel[U(three)], panel[U(four)]
        for b in range(size):
            i, j, k, m = panel[U(one + b)], panel[U(two + b)], panel[U(three + b)], panel[U(four + b)]
            row[U(upper + b)] -= w * i + x * j + y * k + z * m
            row[U(lower + b)] -= ww * i + xx * j + yy * k + zz * m
        c += 4
    while c < end:
        one = at + c * width + a
        w = panel[U(one)]
        row[U(to)] -= w * w
        one = one + 1
        ww = panel[U(one)]
        for b in range(size):
            i = panel[U(one + b)]
            row[U(upper + b)] -= w * i
            row[U(lower + b)] -= ww * i
        c += 1


@jit(helper=True)
def _scale(panel: OutFloats, diagonal: int, size: int) -> int:
    """Divide a row of the panel, from its diagonal on, by the root of its pivot: returns 1 if that failed, else 0."""
    pivot, failed = panel[diagonal], 0
    if not pivot > 0.0:
        pivot, failed = NO_PIVOT * NO_PIVOT, 1
    scale = 1.0 / np.sqrt(pivot)
    panel[diagonal] = scale
    for b in range(1, size):
        panel[U(diagonal + b)] *= scale
    return failed


@jit(helper=True, allocates=True)
def _subtract_product(
    row: OutFloats, to: int, step: int, panel: Floats, at: int, width: int, first: int, last: int, count: int
) -> None:
    """The same, over c < count, for the rows first <= a < last together, which start at row[to], row[to + step] ..."""
    R = panel[at : at + count * width].reshape((count, width))
    product = np.dot(R[:, first:last].T.copy(), R[:, first:].copy())
    for a in range(last - first):
        for b in range(a, width - first):
            row[U(to + a * step + b)] -= product[a, b]


@jit(helper=True)
def eliminate(panel: OutFloats, at: int, k: int, width: int, rest: OutFloats, products: Any) -> int:
    """Turn the panel at panel[at] into rows of R, and eliminate its columns from the other rows.

    The other rows are in `rest`, a square of which only the upper half counts. Returns how many pivots failed. Matrix
    products are taken in large fronts unless `products` is None: to compile without them takes less time.
    """
    failed, r, large = 0, width - k, False
    if products is not None:
        large = k > LARGE
    for a in range(0, k, 2):
        diagonal, begin = at + a * width + a, 0
        if products is not None and large:
            begin = a - a % BLOCK
            if a == begin and a > 0:
                _subtract_product(panel, diagonal, width, panel, at, width, a, min(a + BLOCK, k), a)
        if a + 1 < k:
            _subtract_twice(panel, diagonal, width, panel, at, width, a, begin, a)
            failed += _scale(panel, diagonal, width - a)
            diagonal += width + 1
            begin = a
            a += 1
        _subtract(panel, diagonal, panel, at, width, a, begin, a)
        failed += _scale(panel, diagonal, width - a)
    if products is not None and large:
        for a in range(0, r, BLOCK):
            _subtract_product(rest, a * r + a, r, panel, at, width, k + a, min(k + a + BLOCK, width), k)
        return failed
    for a in range(0, r - 1, 2):
        _subtract_twice(rest, a * r + a, r, panel, at, width, k + a, 0, k)
    if r % 2:
        _subtract(rest, r * r - 1, panel, at, width, width - 1, 0, k)
    return failed


@jit(helper=True, fastmath=SUMS)
def forward(panel: Floats, at: int, k: int, width: int, v: OutFloats) -> None:
    """v becomes R^-T v in its first k entries, and what these leave of the others behind; four rows of R at a time."""
    a = 0
    while a + 4 <= k:
        one = at + a * width
        two, three, four = one + width, one + 2 * width, one + 3 * width
        w = v[a] * panel[one + a]
        x = (v[a + 1] - w * panel[one + a + 1]) * panel[two + a + 1]
        y = (v[a + 2] - w * panel[one + a + 2] - x * panel[two + a + 2]) * panel[three + a + 2]
        z = v[a + 3] - w * panel[one + a + 3] - x * panel[two + a + 3] - y * panel[three + a + 3]
        z *= panel[four + a + 3]
        v[a], v[a + 1], v[a + 2], v[a + 3] = w, x, y, z
        a += 4
        for b in range(a, width):
            v[U(b)] -= w * panel[U(one + b)] + x * panel[U(two + b)] + y * panel[U(three + b)] + z * panel[U(four + b)]
    while a < k:
        one = at + a * width
        w = v[a] * panel[one + a]
        v[a] = w
        a += 1
        for b in range(a, width):
            v[U(b)] -= w * panel[U(one + b)]


@jit(helper=True, fastmath=SUMS)
def backward(panel: Floats, at: int, k: int, width: int, v: OutFloats) -> None:
    """The first k entries of v become R11^-1 times (these less R12 times the others); four rows of R at a time."""
    a = k
    while a % 4:
        a -= 1
        one, total = at + a * width, v[a]
        for b in range(a + 1, width):
            total -= v[U(b)] * panel[U(one + b)]
        v[a] = total * panel[one + a]
    while a:
        a -= 4
        one = at + a * width
        two, three, four = one + width, one + 2 * width, one + 3 * width
        w, x, y, z = v[a], v[a + 1], v[a + 2], v[a + 3]
        for b in range(a + 4, width):
            now = v[U(b)]
            w -= now * panel[U(one + b)]
            x -= now * panel[U(two + b)]
            y -= now * panel[U(three + b)]
            z -= now * panel[U(four + b)]
        z *= panel[four + a + 3]
        y = (y - z * panel[three + a + 3]) * panel[three + a + 2]
        x = (x - z * panel[two + a + 3] - y * panel[two + a + 2]) * panel[two + a + 1]
        w = w - z * panel[one + a + 3] - y * panel[one + a + 2] - x * panel[one + a + 1]
        v[a], v[a + 1], v[a + 2], v[a + 3] = w * panel[one + a], x, y, z


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
    start: Ints, parent: Ints, rows: Ints, unit: Ints, d: int, local: OutInts, ends: OutInts2, groups: OutInts2,
    into: OutInts,
) -> None:  # fmt: skip
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


class Matrix(NamedTuple):
    """M + G^T W G: the diagonal (n d,) of M, and the rows of G, see `arranged`; W is an entry of another array."""

    mass: Floats
    start: Ints
    ends: Ints2
    e: Floats2


class Factors(NamedTuple):
    """Room for the factors L, for what `factor` works with, and for what `solve` works with (v, carry)."""

    L: OutFloats
    stack: OutFloats
    rest: OutFloats2
    """One line for each thread."""
    v: OutFloats
    carry: OutFloats
    diagonal: OutFloats3


class Team(NamedTuple):
    """The threads that factorise together, and which of them this is."""

    member: int
    owner: Ints
    """The member that eliminates each group."""
    done: OutInts
    """How often each group has been eliminated."""
    meeting: OutInts
    failed: OutInts
    """How many pivots of each member failed."""


@jit(helper=True)
def _assemble(
    matrix: Matrix, row: Floats2, weight: int, diagonal: Floats3, L: OutFloats, at: int, k: int, width: int,
    rest: OutFloats, first: int, last: int,
) -> None:  # fmt: skip
    """The front of the bodies first <= a < last from the matrix itself: only its panel, at L[at], is not zero."""
    start, ends, e = matrix.start, matrix.ends, matrix.e
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
    L: OutFloats, at: int, k: int, width: int, rest: OutFloats, stack: OutFloats, read: int, into: Ints, low: int,
    high: int,
) -> None:  # fmt: skip
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
def _diagonals(matrix: Matrix, row: Floats2, weight: int, out: OutFloats3) -> None:
    """The blocks (n, d, d) on the diagonal of the matrix."""
    mass, ends, e = matrix.mass, matrix.ends, matrix.e
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
def factor(team: Team, matrix: Matrix, row: Floats2, weight: int, plan: Plan, factors: Factors, products: Any) -> int:
    """Fill L with the factors of M + G^T W G; returns how many pivots failed, or -1 if a thread did not come.

    W is the entry `weight` of `row`; products: see `eliminate`. All threads of the team call it at the same time.
    """
    member, owner, done, meeting, failed = team
    L, stack, rest, groups, into = factors.L, factors.stack, factors.rest, plan.groups, plan.into
    d, members = matrix.e.shape[1], len(failed)
    if member == 0:
        _diagonals(matrix, row, weight, factors.diagonal)
    failed[member] = 0
    if not meet(meeting, members):
        return -1
    for g in range(groups.shape[1] - 1):
        if owner[g] != member:
            continue
        first, last, at = groups[FIRST, g], groups[LAST, g], groups[BEGIN, g]
        k, r = d * (last - first), d * (groups[BELOW, g + 1] - groups[BELOW, g])
        _assemble(matrix, row, weight, factors.diagonal, L, at, k, k + r, rest[member], first, last)
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
def solve(plan: Plan, factors: Factors, d: int, body: OutFloats2, which: int) -> None:
    """Replace the vector `which` of body, b, by the solution of R^T R x = b."""
    groups, rows, into, L, v, carry = plan.groups, plan.rows, plan.into, factors.L, factors.v, factors.carry
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
