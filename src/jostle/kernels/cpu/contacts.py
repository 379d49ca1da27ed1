"""Rows normal . (u_j - u_i), a wall at rest where j < 0: products with G and its transpose, residuals, warm starts.

`reference.pairs_to_dense` defines the matrix; each loop here is one product with it.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from jostle.kernels.cpu.jit import jit
from jostle.kernels.cpu.signatures import Floats, Floats2, Ints, Ints2, OutFloats, OutFloats2, OutInts
from jostle.kernels.reference.dense import ratios
from jostle.kernels.sharing import cut, together


def rates(i: Ints, j: Ints, normal: Floats2, v: Floats2, chunks: int) -> Floats:
    """(G v)_c, v of shape (bodies, d)."""
    return _of_rows(_fill_rates, i, j, normal, v, chunks)


def _of_rows(fill: Callable[..., None], i: Ints, j: Ints, normal: Floats2, v: Floats2, chunks: int) -> Floats:
    """One number for each row, the chunks being parts of the rows."""
    out = np.empty(len(i))
    if chunks == 1:
        fill(i, j, normal, v, 0, len(i), out)
    else:
        together(fill, [(i, j, normal, v, *part, out) for part in cut(len(i), chunks)])
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


def magnitude(i: Ints, j: Ints, normal: Floats2, v: Floats2, chunks: int) -> Floats:
    """(|G| |v|)_c."""
    return _of_rows(_fill_magnitude, i, j, normal, v, chunks)


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


def adjoint(i: Ints, j: Ints, normal: Floats2, p: Floats, bodies: int, chunks: int) -> Floats2:
    """G^T p, of shape (bodies, d). Each of the chunks is a part of the bodies, and looks at all rows for them."""
    out = np.zeros((bodies, normal.shape[1]))
    if chunks == 1:
        _add_adjoint(i, j, normal, p, 0, bodies, out)
        return out
    together(_add_adjoint, [(i, j, normal, p, first, last, out) for first, last in cut(bodies, chunks)])
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


def norms(i: Ints, j: Ints, normal: Floats2, inverse: Floats2, chunks: int) -> Floats:
    """|G_c| in the dual norm: sqrt(G_c M^-1 G_c^T), inverse (bodies, d) the diagonal of M^-1."""
    return _of_rows(_fill_norms, i, j, normal, inverse, chunks)


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


def whitened(
    i: Ints,
    j: Ints,
    normal: Floats2,
    inverse: Floats2,
    w: Floats2,
    c: Floats,
    c_noise: Floats,
    slack: Floats,
    noise_level: float,
    chunks: int,
) -> tuple[Floats, Floats, Floats]:
    """(unit, s0, noise): see `reference.whitened`."""
    unit, s0, noise = out = np.empty((3, len(i)))
    rows = i, j, normal, inverse, w, c, c_noise, slack, noise_level
    together(_fill_whitened, [(*rows, *part, out) for part in cut(len(i), chunks)])
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
    noise_level: float,
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
        out[0, c], out[1, c], out[2, c] = unit, slack[c] / by, (c_noise[c] + noise_level * size) / by


BLOCK = 8192
"""Rows, or bodies, whose residuals are added up together; the sums of the blocks are then added in their order."""
RELATIVE, VIOLATION, NEGATIVE, PRODUCT, SIZE = range(5)
"""What `_residual_rows` finds in a block: three maxima, and two sums."""
DISTANCE, SIZE_OF_BODIES, STATIONARITY = range(3)
"""What `_residual_bodies` finds in a block: three sums."""


def residual_pairs(
    i: Ints,
    j: Ints,
    normal: Floats2,
    c: Floats,
    w: Floats2,
    mass: Floats2,
    u: Floats2,
    p: Floats,
    length: Floats,
    noise_level: float,
    c_noise: Floats,
    chunks: int,
) -> tuple[float, float, float]:
    """(primal, dual, complementarity): see `reference.residual_pairs`; u, w, mass (bodies, d)."""
    force = adjoint(i, j, normal, p, len(w), chunks)
    of_rows, of_bodies = np.empty((-(-len(i) // BLOCK), 5)), np.empty((-(-len(w) // BLOCK), 3))
    rows = i, j, normal, c, w, mass, u, p, length, noise_level, c_noise, of_rows
    together(_residual_rows, [(*rows, first, last) for first, last in cut(len(of_rows), chunks)])
    together(_residual_bodies, [(w, mass, u, force, of_bodies, *part) for part in cut(len(of_bodies), chunks)])
    if len(of_rows) > 1:
        of_rows[0, :PRODUCT], of_rows[0, PRODUCT:] = of_rows[:, :PRODUCT].max(axis=0), of_rows[:, PRODUCT:].sum(axis=0)
    distance, size, stationarity = np.sqrt(of_bodies[0] if len(of_bodies) == 1 else of_bodies.sum(axis=0)).tolist()
    row = of_rows[0].tolist() if len(of_rows) else [0.0] * (SIZE + 1)
    dual = stationarity - noise_level * (size + row[SIZE])
    return ratios(row[RELATIVE], row[VIOLATION], dual, row[NEGATIVE], row[PRODUCT], distance)


@jit()
def _residual_rows(
    i: Ints,
    j: Ints,
    normal: Floats2,
    c_: Floats,
    w: Floats2,
    mass: Floats2,
    u: Floats2,
    p: Floats,
    length: Floats,
    noise_level: float,
    c_noise: Floats,
    out: OutFloats2,
    first: int,
    last: int,
) -> None:
    """Fills out[block], see `SIZE`, of the blocks of rows first <= block < last."""
    m, d = normal.shape
    for block in range(first, last):
        relative, violation, negative, product, size = 0.0, 0.0, 0.0, 0.0, 0.0
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
            unit = np.sqrt(square)
            if abs(s) <= c_noise[c] + noise_level * scale:
                s = 0.0
            if s < 0.0:
                if length[c] > 0.0:
                    relative = max(relative, -s / length[c])
                else:
                    violation = max(violation, -s / max(unit, 1e-300))
            product += abs(p[c] * s)
            negative = max(negative, -p[c] * unit)
            size += abs(p[c]) * unit
        out[block, RELATIVE], out[block, VIOLATION], out[block, NEGATIVE] = relative, violation, negative
        out[block, PRODUCT], out[block, SIZE] = product, size


@jit()
def _residual_bodies(
    w: Floats2, mass: Floats2, u: Floats2, force: Floats2, out: OutFloats2, first: int, last: int
) -> None:
    """Fills out[block], see `STATIONARITY`, of the blocks of bodies first <= block < last; force is G^T p."""
    n, d = w.shape
    for block in range(first, last):
        distance, size, stationarity = 0.0, 0.0, 0.0
        for a in range(block * BLOCK, min((block + 1) * BLOCK, n)):
            for k in range(d):
                way = u[a, k] - w[a, k]
                gap = mass[a, k] * way - force[a, k]
                distance += mass[a, k] * way**2
                size += mass[a, k] * (abs(u[a, k]) + abs(w[a, k])) ** 2
                stationarity += gap * gap / mass[a, k]
        out[block, DISTANCE], out[block, SIZE_OF_BODIES], out[block, STATIONARITY] = distance, size, stationarity


MAX_COMPARISONS = 4096
"""Pairs are compared one by one if there are at most this many comparisons; otherwise they are looked up."""
SHARED_BITS = 6
"""Pairs of the same first body share a bucket if their second bodies agree in all but this many last bits."""


def by_pair(pairs: Ints2, values: Floats, wanted: Ints2, otherwise: float, chunks: int) -> Floats:
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


def pairs_to_dense(i: Ints, j: Ints, normal: Floats2, bodies: int) -> Floats2:
    """See `reference.pairs_to_dense`."""
    m, d = normal.shape
    dense = np.zeros((m, bodies * d))
    _add_dense(i, j, normal, dense)
    return dense


@jit()
def _add_dense(i: Ints, j: Ints, normal: Floats2, out: OutFloats2) -> None:
    m, d = normal.shape
    for c in range(m):
        for k in range(d):
            out[c, i[c] * d + k] -= normal[c, k]
            if j[c] >= 0:
                out[c, j[c] * d + k] += normal[c, k]
