"""Rows normal . (u_j - u_i), a wall at rest where j < 0: products with G and its transpose, residuals, warm starts.

`reference.pairs_to_dense` defines the matrix; each loop here is one product with it.
"""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True)
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


@njit(cache=True)
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


@njit(cache=True)
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


@njit(cache=True)
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


@njit(cache=True)
def residual_pairs(i, j, normal, c_, w, mass, u, p, length, noise_level, c_noise, out):
    """(primal, dual, complementarity): see `convex.projection.residual`; u, w, mass (bodies, d), length 0 is none."""
    m, d = normal.shape
    n = len(w)
    distance, size, force = 0.0, 0.0, np.zeros((n, d))
    for a in range(n):
        for k in range(d):
            distance += mass[a, k] * (u[a, k] - w[a, k]) ** 2
            size += mass[a, k] * (abs(u[a, k]) + abs(w[a, k])) ** 2
    distance, size = np.sqrt(distance), np.sqrt(size)
    violation, product, negative = 0.0, 0.0, 0.0
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
            violation = max(violation, -s / (length if length > 0.0 else max(unit, 1e-300)))
        product += abs(p[c] * s)
        negative = max(negative, -p[c] * unit)
        size += abs(p[c]) * unit
    stationarity = 0.0
    for a in range(n):
        for k in range(d):
            gap = mass[a, k] * (u[a, k] - w[a, k]) - force[a, k]
            stationarity += gap * gap / mass[a, k]
    stationarity = np.sqrt(stationarity) - noise_level * size
    stationarity = (stationarity if not stationarity <= 0.0 else 0.0) + negative
    if not np.isfinite(distance + product + stationarity):
        out[:] = np.inf
        return
    out[0] = violation
    if length <= 0.0 and violation > 0.0:
        out[0] = violation / distance if distance > 0.0 else np.inf
    out[1] = out[2] = 0.0
    if stationarity > 0.0:
        out[1] = stationarity / distance if distance > 0.0 else np.inf
    if product > 0.0:
        out[2] = product / distance**2 if distance > 0.0 else np.inf


@njit(cache=True)
def carry(old, values, new):
    """For each pair of `new` (m, 2) the value it has in `old`, zero if it is not there: see `reference.carry`."""
    most = -1
    for c in range(len(old)):
        most = max(most, old[c, 0])
    start = np.zeros(most + 3, np.int64)
    for c in range(len(old)):
        start[old[c, 0] + 2] += 1
    for a in range(most + 2):
        start[a + 1] += start[a]
    rows, filled = np.empty(len(old), np.int64), start.copy()
    for c in range(len(old)):
        a = old[c, 0] + 1
        rows[filled[a]] = c
        filled[a] += 1
    out = np.zeros(len(new))
    for c in range(len(new)):
        a = new[c, 0] + 1
        if c < len(old) and old[c, 0] == new[c, 0] and old[c, 1] == new[c, 1]:
            out[c] = values[c]
        elif a < most + 2:
            for k in range(start[a], start[a + 1]):
                if old[rows[k], 1] == new[c, 1]:
                    out[c] = values[rows[k]]
                    break
    return out


@njit(cache=True)
def all_pairs(q, radii, reach, period):
    """See `reference.all_pairs`."""
    n, d = q.shape
    most = n * (n - 1) // 2
    first, second = np.empty(most, np.int64), np.empty(most, np.int64)
    normal, gap = np.empty((most, d)), np.empty(most)
    way = np.empty(d)
    m = 0
    for i in range(n):
        for j in range(i + 1, n):
            square = 0.0
            for k in range(d):
                way[k] = q[j, k] - q[i, k]
                if period[k] < np.inf:
                    way[k] -= period[k] * np.round(way[k] / period[k])
                square += way[k] * way[k]
            distance = np.sqrt(square)
            apart = distance - radii[i] - radii[j]
            if not apart > reach:
                first[m], second[m], gap[m] = i, j, apart
                for k in range(d):
                    normal[m, k] = way[k] / distance if distance > 0.0 else np.nan
                m += 1
    return first[:m].copy(), second[:m].copy(), normal[:m].copy(), gap[:m].copy()


@njit(cache=True)
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
