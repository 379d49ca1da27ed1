"""Rows normal . (u_j - u_i), a wall at rest where j < 0: products with G and its transpose, residuals, warm starts.

`reference.pairs_to_dense` defines the matrix; each loop here is one product with it.
"""

from __future__ import annotations

import numpy as np

from jostle.kernels.cpu.jit import jit
from jostle.kernels.cpu.signatures import Floats, Floats2, Ints, Ints2, OutFloats, OutFloats2, OutInts
from jostle.kernels.reference.dense import ratios


def rates(i: Ints, j: Ints, normal: Floats2, v: Floats2) -> Floats:
    """(G v)_c, v of shape (bodies, d)."""
    out = np.empty(len(i))
    fill_rates(i, j, normal, v, out)
    return out


@jit()
def fill_rates(i: Ints, j: Ints, normal: Floats2, v: Floats2, out: OutFloats) -> None:
    """out_c = (G v)_c."""
    m, d = normal.shape
    for c in range(m):
        a, b, rate = i[c], j[c], 0.0
        for k in range(d):
            rate -= normal[c, k] * v[a, k]
        if b >= 0:
            for k in range(d):
                rate += normal[c, k] * v[b, k]
        out[c] = rate


def magnitude(i: Ints, j: Ints, normal: Floats2, v: Floats2) -> Floats:
    """(|G| |v|)_c."""
    out = np.empty(len(i))
    fill_magnitude(i, j, normal, v, out)
    return out


@jit()
def fill_magnitude(i: Ints, j: Ints, normal: Floats2, v: Floats2, out: OutFloats) -> None:
    """out_c = (|G| |v|)_c."""
    m, d = normal.shape
    for c in range(m):
        a, b, size = i[c], j[c], 0.0
        for k in range(d):
            size += abs(normal[c, k] * v[a, k])
        if b >= 0:
            for k in range(d):
                size += abs(normal[c, k] * v[b, k])
        out[c] = size


def adjoint(i: Ints, j: Ints, normal: Floats2, p: Floats, bodies: int) -> Floats2:
    """G^T p, of shape (bodies, d)."""
    out = np.zeros((bodies, normal.shape[1]))
    _add_adjoint(i, j, normal, p, out)
    return out


@jit()
def _add_adjoint(i: Ints, j: Ints, normal: Floats2, p: Floats, out: OutFloats2) -> None:
    m, d = normal.shape
    for c in range(m):
        a, b = i[c], j[c]
        for k in range(d):
            out[a, k] -= p[c] * normal[c, k]
        if b >= 0:
            for k in range(d):
                out[b, k] += p[c] * normal[c, k]


def norms(i: Ints, j: Ints, normal: Floats2, inverse: Floats2) -> Floats:
    """|G_c| in the dual norm: sqrt(G_c M^-1 G_c^T), inverse (bodies, d) the diagonal of M^-1."""
    out = np.empty(len(i))
    _fill_norms(i, j, normal, inverse, out)
    return out


@jit()
def _fill_norms(i: Ints, j: Ints, normal: Floats2, inverse: Floats2, out: OutFloats) -> None:
    m, d = normal.shape
    for c in range(m):
        a, b, square = i[c], j[c], 0.0
        for k in range(d):
            square += normal[c, k] ** 2 * inverse[a, k]
        if b >= 0:
            for k in range(d):
                square += normal[c, k] ** 2 * inverse[b, k]
        out[c] = np.sqrt(square)


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
) -> tuple[float, float, float]:
    """(primal, dual, complementarity): see `reference.residual_pairs`; u, w, mass (bodies, d)."""
    force = np.zeros(w.shape)
    return ratios(*_residual_parts(i, j, normal, c, w, mass, u, p, length, noise_level, c_noise, force))


@jit()
def _residual_parts(
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
    force: OutFloats2,
) -> tuple[float, float, float, float, float, float]:
    """The arguments of `ratios`; force is zero and becomes G^T p."""
    m, d = normal.shape
    n = len(w)
    distance, size = 0.0, 0.0
    for a in range(n):
        for k in range(d):
            distance += mass[a, k] * (u[a, k] - w[a, k]) ** 2
            size += mass[a, k] * (abs(u[a, k]) + abs(w[a, k])) ** 2
    distance, size = np.sqrt(distance), np.sqrt(size)
    relative, violation, product, negative = 0.0, 0.0, 0.0, 0.0
    for c in range(m):
        a, b = i[c], j[c]
        s, scale, square = c_[c], abs(c_[c]), 0.0
        for k in range(d):
            e = normal[c, k]
            s -= e * u[a, k]
            scale += abs(e) * (abs(u[a, k]) + abs(w[a, k]))
            square += e * e / mass[a, k]
            force[a, k] -= e * p[c]
        if b >= 0:
            for k in range(d):
                e = normal[c, k]
                s += e * u[b, k]
                scale += abs(e) * (abs(u[b, k]) + abs(w[b, k]))
                square += e * e / mass[b, k]
                force[b, k] += e * p[c]
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
    stationarity = 0.0
    for a in range(n):
        for k in range(d):
            gap = mass[a, k] * (u[a, k] - w[a, k]) - force[a, k]
            stationarity += gap * gap / mass[a, k]
    return relative, violation, np.sqrt(stationarity) - noise_level * size, negative, product, distance


SHARED_BITS = 6
"""Pairs of the same first body share a bucket if their second bodies agree in all but this many last bits."""


def by_pair(pairs: Ints2, values: Floats, wanted: Ints2, otherwise: float) -> Floats:
    """See `reference.by_pair`."""
    buckets = 1 << len(pairs).bit_length()
    out, table = np.empty(len(wanted)), np.zeros(buckets + 1 + len(pairs), np.int64)
    _look_up(np.ascontiguousarray(pairs), values, np.ascontiguousarray(wanted), otherwise, buckets, table, out)
    return out


@jit(helper=True)
def _bucket(a: int, b: int, buckets: int) -> int:
    """The bucket of a pair: near its first body, so that neighbours stay near in memory, and spread by its second."""
    return (a + (b >> SHARED_BITS) if a >= 0 else b) & (buckets - 1)


@jit()
def _look_up(
    pairs: Ints2, values: Floats, wanted: Ints2, otherwise: float, buckets: int, table: OutInts, out: OutFloats
) -> None:
    """A table, zero at first: where each bucket ends, and from `rows` on the pairs of all buckets, in their order.

    `buckets` is a power of two.
    """
    rows = buckets + 1
    for turn in range(3):
        listed = wanted if turn == 2 else pairs
        for c in range(len(listed)):
            a, b = listed[c, 0], listed[c, 1]
            bucket = _bucket(a, b, buckets)
            if turn == 0:
                table[bucket + 1] += 1
            elif turn == 1:
                table[rows + table[bucket]] = c
                table[bucket] += 1
            else:
                out[c] = otherwise
                for k in range(table[bucket - 1] if bucket > 0 else 0, table[bucket]):
                    row = table[rows + k]
                    if pairs[row, 0] == a and pairs[row, 1] == b:
                        out[c] = values[row]
                        break
        if turn == 0:
            for bucket in range(buckets):
                table[bucket + 1] += table[bucket]


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
