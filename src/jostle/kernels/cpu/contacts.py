"""Rows normal . (u_j - u_i), a wall at rest where j < 0: products with G and its transpose, residuals, warm starts.

`reference.pairs_to_dense` defines the matrix; each loop here is one product with it.
"""

from __future__ import annotations

import numpy as np

from jostle.kernels.cpu.dense import ratios
from jostle.kernels.cpu.jit import jit


@jit()
def rates(i, j, normal, v):
    """(G v)_c, v of shape (bodies, d)."""
    m, d = normal.shape
    out = np.empty(m)
    for c in range(m):
        a, b, rate = i[c], j[c], 0.0
        for k in range(d):
            rate -= normal[c, k] * v[a, k]
        if b >= 0:
            for k in range(d):
                rate += normal[c, k] * v[b, k]
        out[c] = rate
    return out


@jit()
def magnitude(i, j, normal, v):
    """(|G| |v|)_c."""
    m, d = normal.shape
    out = np.empty(m)
    for c in range(m):
        a, b, size = i[c], j[c], 0.0
        for k in range(d):
            size += abs(normal[c, k] * v[a, k])
        if b >= 0:
            for k in range(d):
                size += abs(normal[c, k] * v[b, k])
        out[c] = size
    return out


@jit()
def adjoint(i, j, normal, p, bodies):
    """G^T p, of shape (bodies, d)."""
    m, d = normal.shape
    out = np.zeros((bodies, d))
    for c in range(m):
        a, b = i[c], j[c]
        for k in range(d):
            out[a, k] -= p[c] * normal[c, k]
        if b >= 0:
            for k in range(d):
                out[b, k] += p[c] * normal[c, k]
    return out


@jit()
def norms(i, j, normal, inverse):
    """|G_c| in the dual norm: sqrt(G_c M^-1 G_c^T), inverse (bodies, d) the diagonal of M^-1."""
    m, d = normal.shape
    out = np.empty(m)
    for c in range(m):
        a, b, square = i[c], j[c], 0.0
        for k in range(d):
            square += normal[c, k] ** 2 * inverse[a, k]
        if b >= 0:
            for k in range(d):
                square += normal[c, k] ** 2 * inverse[b, k]
        out[c] = np.sqrt(square)
    return out


@jit()
def residual_pairs(i, j, normal, c_, w, mass, u, p, length, noise_level, c_noise, out):
    """(primal, dual, complementarity): see `convex.projection.residual`; u, w, mass (bodies, d)."""
    m, d = normal.shape
    n = len(w)
    distance, size, force = 0.0, 0.0, np.zeros((n, d))
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
    ratios(relative, violation, np.sqrt(stationarity) - noise_level * size, negative, product, distance, out)


SHARED_BITS = 6
"""Pairs of the same first body share a bucket if their second bodies agree in all but this many last bits."""


@jit()
def _bucket(a, b, buckets):
    """The bucket of a pair: near its first body, so that neighbours stay near in memory, and spread by its second."""
    return (a + (b >> SHARED_BITS) if a >= 0 else b) % buckets


@jit()
def by_pair(pairs, values, wanted, otherwise):
    """See `reference.by_pair`."""
    buckets = 1
    for c in range(len(pairs)):
        buckets = max(buckets, pairs[c, 0] + 1)
    buckets = max(buckets, len(pairs))
    start = np.zeros(buckets + 1, np.int64)
    for c in range(len(pairs)):
        start[_bucket(pairs[c, 0], pairs[c, 1], buckets) + 1] += 1
    for bucket in range(buckets):
        start[bucket + 1] += start[bucket]
    rows, filled = np.empty(len(pairs), np.int64), start[:-1].copy()
    for c in range(len(pairs)):
        bucket = _bucket(pairs[c, 0], pairs[c, 1], buckets)
        rows[filled[bucket]] = c
        filled[bucket] += 1
    out = np.full(len(wanted), otherwise)
    for c in range(len(wanted)):
        bucket = _bucket(wanted[c, 0], wanted[c, 1], buckets)
        for k in range(start[bucket], start[bucket + 1]):
            if pairs[rows[k], 0] == wanted[c, 0] and pairs[rows[k], 1] == wanted[c, 1]:
                out[c] = values[rows[k]]
                break
    return out


@jit()
def pairs_to_dense(i, j, normal, bodies):
    """See `reference.pairs_to_dense`."""
    m, d = normal.shape
    dense = np.zeros((m, bodies * d))
    for c in range(m):
        for k in range(d):
            dense[c, i[c] * d + k] -= normal[c, k]
            if j[c] >= 0:
                dense[c, j[c] * d + k] += normal[c, k]
    return dense
