"""The dense arithmetic of one front: rows of the upper factor R, where F = R^T R.

The first k rows of a front, the panel, lie one after the other, `width` numbers each. They become rows of R,

    R_a = (F_a - sum_{c < a} R_ca R_c) / R_aa,        with 1 / R_aa in the place of R_aa,

and what is left of the other rows is F_a - sum_{c < k} R_ca R_c. So all is one operation, a row less a combination of
rows of the panel: by loops over two rows at a time in small fronts, by matrix products in large ones.

Places in flat arrays are made unsigned (`U`): for signed ones numba asks whether they count from the end, and that
keeps the loops from being vectorised.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from jostle.kernels.cpu.jit import jit
from jostle.kernels.cpu.signatures import Floats, OutFloats

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
    """Turn the panel at panel[at] into rows of R, and the other rows into what is left of them.

    These are in `rest`, in a square, of which only the upper half counts. Returns how many pivots failed. Matrix
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
