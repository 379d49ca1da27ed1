"""Rows normal . (u_j - u_i), a wall at rest where j < 0: products with G and its transpose, residuals, warm starts.

`reference.pairs_to_dense` defines the matrix; each loop here is one product with it.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from jostle import kernels
from jostle._tools.arrays import Array, Integers
from jostle.kernels.compiling import Floats, Floats2, Ints, Ints2, OutFloats, OutFloats2, OutInts, jit
from jostle.kernels.parallel import cut, together
from jostle.kernels.reference.contacts import ContactRows
from jostle.kernels.reference.dense import ROUND_OFF
from jostle.kernels.reference.residuals import Answer, add_coordinate, add_row, residual_of_sums


@kernels.rates.on("numpy")
def rates(rows: ContactRows, v: Array, chunks: int) -> Array:
    """(G v)_c, v of shape (bodies, d)."""
    return _of_rows(_fill_rates, rows, v, chunks)


def _of_rows(fill: Callable[..., None], rows: ContactRows, v: Array, chunks: int) -> Array:
    """One number for each row, the chunks being parts of the rows."""
    i, j, normal = rows
    m = len(i)
    out = np.empty(m)
    if chunks == 1:
        fill(i, j, normal, v, 0, m, out)
    else:
        together(fill, [(*rows, v, *part, out) for part in cut(m, chunks)])
    return out


@jit()
def _fill_rates(i: Ints, j: Ints, normal: Floats2, v: Floats2, first: int, last: int, out: OutFloats) -> None:
    """out_c = (G v)_c."""
    d = normal.shape[1]
    for c in range(first, last):
        a, b, rate = i[c], j[c], 0.0
        for k in range(d):
            rate -= normal[c, k] * v[a, k]
        if b >= 0:
            for k in range(d):
                rate += normal[c, k] * v[b, k]
        out[c] = rate


@kernels.magnitude.on("numpy")
def magnitude(rows: ContactRows, v: Array, chunks: int) -> Array:
    """(|G| |v|)_c."""
    return _of_rows(_fill_magnitude, rows, v, chunks)


@jit()
def _fill_magnitude(i: Ints, j: Ints, normal: Floats2, v: Floats2, first: int, last: int, out: OutFloats) -> None:
    """out_c = (|G| |v|)_c."""
    d = normal.shape[1]
    for c in range(first, last):
        a, b, size = i[c], j[c], 0.0
        for k in range(d):
            size += abs(normal[c, k] * v[a, k])
        if b >= 0:
            for k in range(d):
                size += abs(normal[c, k] * v[b, k])
        out[c] = size


@kernels.adjoint.on("numpy")
def adjoint(rows: ContactRows, p: Array, bodies: int, chunks: int) -> Array:
    """G^T p, of shape (bodies, d). Each of the chunks is a part of the bodies, and looks at all rows for them."""
    out = np.zeros((bodies, rows.normal.shape[1]))
    if chunks == 1:
        _add_adjoint(*rows, p, 0, bodies, out)
        return out
    together(_add_adjoint, [(*rows, p, first, last, out) for first, last in cut(bodies, chunks)])
    return out


@jit()
def _add_adjoint(i: Ints, j: Ints, normal: Floats2, p: Floats, first: int, last: int, out: OutFloats2) -> None:
    """out_a += (G^T p)_a of the bodies first <= a < last, row by row."""
    m, d = normal.shape
    for c in range(m):
        a, b = i[c], j[c]
        if first <= a < last:
            for k in range(d):
                out[a, k] -= p[c] * normal[c, k]
        if first <= b < last:
            for k in range(d):
                out[b, k] += p[c] * normal[c, k]


@kernels.norms.on("numpy")
def norms(rows: ContactRows, inverse: Array, chunks: int) -> Array:
    """|G_c| in the dual norm: sqrt(G_c M^-1 G_c^T), inverse (bodies, d) the diagonal of M^-1."""
    return _of_rows(_fill_norms, rows, inverse, chunks)


@jit()
def _fill_norms(i: Ints, j: Ints, normal: Floats2, inverse: Floats2, first: int, last: int, out: OutFloats) -> None:
    d = normal.shape[1]
    for c in range(first, last):
        a, b, square = i[c], j[c], 0.0
        for k in range(d):
            square += normal[c, k] ** 2 * inverse[a, k]
        if b >= 0:
            for k in range(d):
                square += normal[c, k] ** 2 * inverse[b, k]
        out[c] = np.sqrt(square)


@kernels.whitened.on("numpy")
def whitened(
    rows: ContactRows, inverse: Array, w: Array, c: Array, c_noise: Array, slack: Array, chunks: int
) -> tuple[Array, Array, Array]:
    unit, s0, noise = out = np.empty((3, len(c)))
    given = *rows, inverse, w, c, c_noise, slack
    together(_fill_whitened, [(*given, *part, out) for part in cut(len(c), chunks)])
    return unit, s0, noise


@jit()
def _fill_whitened(
    i: Ints,
    j: Ints,
    normal: Floats2,
    inverse: Floats2,
    w: Floats2,
    c_: Floats,
    c_noise: Floats,
    slack: Floats,
    first: int,
    last: int,
    out: OutFloats2,
) -> None:
    """out_c = (unit, s0, noise) of some rows."""
    d = normal.shape[1]
    for c in range(first, last):
        a, b, square, size = i[c], j[c], 0.0, abs(c_[c])
        for k in range(d):
            e = normal[c, k]
            square += e * e * inverse[a, k]
            size += abs(e * w[a, k])
        if b >= 0:
            for k in range(d):
                e = normal[c, k]
                square += e * e * inverse[b, k]
                size += abs(e * w[b, k])
        unit = np.sqrt(square)
        by = unit if unit > 0.0 else 1.0
        out[0, c], out[1, c], out[2, c] = unit, slack[c] / by, (c_noise[c] + ROUND_OFF * size) / by


BLOCK = 8192
"""Rows, or bodies, whose residuals are added up together; the sums of the blocks are then added in their order."""
MAXIMA = 3
"""Of what `add_row` finds, this many numbers are maxima; the others are sums."""

_add_row, _add_coordinate = jit(helper=True)(add_row), jit(helper=True)(add_coordinate)


@kernels.residual_pairs.on("numpy")
def residual_pairs(rows: ContactRows, answer: Answer, chunks: int) -> tuple[float, float, float]:
    c, c_noise, length, w, mass, u, p = answer
    force = adjoint(rows, p, len(w), chunks)
    of_rows, of_bodies = np.zeros((max(1, -(-len(c) // BLOCK)), 5)), np.empty((-(-len(w) // BLOCK), 3))
    given = *rows, c, c_noise, length, w, mass, u, p, of_rows
    together(_residual_rows, [(*given, *part) for part in cut(len(of_rows), chunks)])
    together(_residual_bodies, [(w, mass, u, force, of_bodies, *part) for part in cut(len(of_bodies), chunks)])
    if len(of_rows) > 1:
        of_rows[0, :MAXIMA], of_rows[0, MAXIMA:] = of_rows[:, :MAXIMA].max(axis=0), of_rows[:, MAXIMA:].sum(axis=0)
    sums = of_bodies[0] if len(of_bodies) == 1 else of_bodies.sum(axis=0)
    return residual_of_sums(*of_rows[0].tolist(), *sums.tolist())


@jit()
def _residual_rows(
    i: Ints,
    j: Ints,
    normal: Floats2,
    c_: Floats,
    c_noise: Floats,
    length: Floats,
    w: Floats2,
    mass: Floats2,
    u: Floats2,
    p: Floats,
    out: OutFloats2,
    first: int,
    last: int,
) -> None:
    """out[block] = what `add_row` finds in the rows of a block, for the blocks first <= block < last."""
    m, d = normal.shape
    for block in range(first, last):
        found = (0.0, 0.0, 0.0, 0.0, 0.0)
        for c in range(block * BLOCK, min((block + 1) * BLOCK, m)):
            a, b = i[c], j[c]
            s, scale, square = c_[c], abs(c_[c]), 0.0
            for k in range(d):
                e = normal[c, k]
                s -= e * u[a, k]
                scale += abs(e) * (abs(u[a, k]) + abs(w[a, k]))
                square += e * e / mass[a, k]
            if b >= 0:
                for k in range(d):
                    e = normal[c, k]
                    s += e * u[b, k]
                    scale += abs(e) * (abs(u[b, k]) + abs(w[b, k]))
                    square += e * e / mass[b, k]
            found = _add_row(found, s, scale, square, p[c], length[c], c_noise[c])
        for k in range(5):
            out[block, k] = found[k]


@jit()
def _residual_bodies(
    w: Floats2, mass: Floats2, u: Floats2, force: Floats2, out: OutFloats2, first: int, last: int
) -> None:
    """out[block] = what `add_coordinate` finds in the bodies of a block, first <= block < last; force is G^T p."""
    n, d = w.shape
    for block in range(first, last):
        found = (0.0, 0.0, 0.0)
        for a in range(block * BLOCK, min((block + 1) * BLOCK, n)):
            for k in range(d):
                found = _add_coordinate(found, u[a, k], w[a, k], mass[a, k], force[a, k])
        for k in range(3):
            out[block, k] = found[k]


MAX_COMPARISONS = 4096
"""Pairs are compared one by one if there are at most this many comparisons; otherwise they are looked up."""
SHARED_BITS = 6
"""Pairs of the same first body share a bucket if their second bodies agree in all but this many last bits."""


@kernels.by_pair.on("numpy")
def by_pair(pairs: Integers, values: Array, wanted: Integers, otherwise: float, chunks: int) -> Array:
    """See `reference.by_pair`. Most pairs are usually in order, and found from where the one before was found."""
    known, asked = np.ascontiguousarray(pairs.T), np.ascontiguousarray(wanted.T)
    if len(pairs) * len(wanted) <= MAX_COMPARISONS:
        out = np.empty(len(wanted))
        _compare(known, values, asked, otherwise, out)
        return out
    first, last = _longest_run(known, chunks)
    others = len(pairs) - (last - first)
    buckets = 1 << others.bit_length()
    out, table = np.empty(len(wanted)), np.zeros(buckets + 1 + others, np.int64)
    _fill_buckets(known, first, last, buckets, table)
    rest = otherwise, first, last, buckets, table, out
    together(_look_up, [(known, values, asked, *part, *rest) for part in cut(len(wanted), chunks)])
    return out


@jit()
def _compare(pairs: Ints2, values: Floats, wanted: Ints2, otherwise: float, out: OutFloats) -> None:
    """The values of the wanted pairs, by comparing each with all pairs."""
    for c in range(wanted.shape[1]):
        out[c] = otherwise
        for k in range(pairs.shape[1]):
            if pairs[0, k] == wanted[0, c] and pairs[1, k] == wanted[1, c]:
                out[c] = values[k]


def _longest_run(pairs: Ints2, chunks: int) -> tuple[int, int]:
    """The first <= c < last of the longest run of pairs, each of which comes before the next."""
    m, begin = pairs.shape[1], 0
    runs = []
    for start, first, last, end in together(_find_breaks, [(pairs, *part) for part in cut(m, chunks)]):
        if start < end:
            runs += [(begin, start), (first, last)]
            begin = end - 1
    return max([*runs, (begin, m)], key=lambda run: run[1] - run[0])


@jit(helper=True)
def _less(pairs: Ints2, c: int, a: int, b: int) -> bool:
    """Does pair c come before (a, b)?"""
    return pairs[0, c] < a or (pairs[0, c] == a and pairs[1, c] < b)


@jit()
def _find_breaks(pairs: Ints2, first: int, last: int) -> tuple[int, int, int, int]:
    """Where a pair from first to last does not come after the one before: the first such place, the longest run between
    two such places, and one more than the last such place; the first place is `last`, and the end 0, if there is none.
    """
    start, end, longest, until, begin = last, 0, first, first, first
    for c in range(max(first, 1), last):
        if not _less(pairs, c - 1, pairs[0, c], pairs[1, c]):
            if start == last:
                start = c
            elif c - begin > until - longest:
                longest, until = begin, c
            begin, end = c, c + 1
    return start, longest, until, end


@jit(helper=True)
def _bucket(a: int, b: int, buckets: int) -> int:
    """The bucket of a pair: near its first body, so that neighbours stay near in memory, and spread by its second."""
    return (a + (b >> SHARED_BITS) if a >= 0 else b) & (buckets - 1)


@jit()
def _fill_buckets(pairs: Ints2, first: int, last: int, buckets: int, table: OutInts) -> None:
    """The pairs but first <= c < last in a table, zero at first: where each bucket ends; then the pairs of each."""
    rows, m = buckets + 1, pairs.shape[1]
    for turn in range(2):
        for k in range(m - (last - first)):
            c = k if k < first else k + last - first
            bucket = _bucket(pairs[0, c], pairs[1, c], buckets)
            if turn == 0:
                table[bucket + 1] += 1
            else:
                table[rows + table[bucket]] = c
                table[bucket] += 1
        if turn == 0:
            for bucket in range(buckets):
                table[bucket + 1] += table[bucket]


@jit()
def _look_up(
    pairs: Ints2,
    values: Floats,
    wanted: Ints2,
    begin: int,
    end: int,
    otherwise: float,
    first: int,
    last: int,
    buckets: int,
    table: Ints,
    out: OutFloats,
) -> None:
    """The values of the wanted pairs begin <= c < end.

    The pairs first <= c < last are in order; the others are in a table, see `_fill_buckets`. `buckets` is a power of
    two.
    """
    rows, at, others = buckets + 1, first, pairs.shape[1] > last - first
    for c in range(begin, end):
        a, b = wanted[0, c], wanted[1, c]
        if at > first and not _less(pairs, at - 1, a, b):
            at = first
        high, step = at, 1
        while high < last and _less(pairs, high, a, b):
            at = high + 1
            high += step
            step *= 2
        high = min(high, last)
        while at < high:
            middle = (at + high) // 2
            if _less(pairs, middle, a, b):
                at = middle + 1
            else:
                high = middle
        if at < last and pairs[0, at] == a and pairs[1, at] == b:
            out[c] = values[at]
            continue
        out[c] = otherwise
        if others:
            bucket = _bucket(a, b, buckets)
            for k in range(table[bucket - 1] if bucket > 0 else 0, table[bucket]):
                row = table[rows + k]
                if pairs[0, row] == a and pairs[1, row] == b:
                    out[c] = values[row]
                    break


@kernels.pairs_to_dense.on("numpy")
def pairs_to_dense(rows: ContactRows, bodies: int) -> Array:
    m, d = rows.normal.shape
    dense = np.zeros((m, bodies * d))
    _add_dense(*rows, dense)
    return dense


@jit()
def _add_dense(i: Ints, j: Ints, normal: Floats2, out: OutFloats2) -> None:
    m, d = normal.shape
    for c in range(m):
        for k in range(d):
            out[c, i[c] * d + k] -= normal[c, k]
            if j[c] >= 0:
                out[c, j[c] * d + k] += normal[c, k]
