"""Dense rows: the exact projection by an updated QR factorisation, and residuals."""

from __future__ import annotations

import numpy as np

from jostle.kernels.cpu.jit import jit
from jostle.kernels.reference import (
    CONTRADICTION,
    DEPENDENT,
    DROP,
    EMPTY,
    EPS,
    SOLVED,
    UNFINISHED,
)

SUMS = {"reassoc", "contract"}
"""Sums may be taken in any order (and so with vector instructions); nothing else is relaxed."""


@jit(fastmath=SUMS)
def _orthogonalise(Q, k, a, d, z):
    """d = Q^T a and z = a - Q d, twice, so that z is orthogonal to the k columns; returns |z|^2."""
    n = len(a)
    for i in range(n):
        z[i] = a[i]
    for i in range(k):
        d[i] = 0.0
    for _ in range(2):
        for c in range(k):
            dot = 0.0
            for i in range(n):
                dot += Q[c, i] * z[i]
            d[c] += dot
            for i in range(n):
                z[i] -= dot * Q[c, i]
    square = 0.0
    for i in range(n):
        square += z[i] * z[i]
    return square


@jit()
def _drop_column(Q, R, k, gone):
    """Take column `gone` out of the factorisation A_active^T = Q^T R by Givens rotations."""
    n = Q.shape[1]
    for c in range(gone, k - 1):
        for i in range(c + 2):
            R[i, c] = R[i, c + 1]
    for c in range(gone, k - 1):
        a, b = R[c, c], R[c + 1, c]
        length = np.hypot(a, b)
        cosine, sine = a / length, b / length
        for col in range(c, k - 1):
            upper, lower = R[c, col], R[c + 1, col]
            R[c, col] = cosine * upper + sine * lower
            R[c + 1, col] = cosine * lower - sine * upper
        for i in range(n):
            upper, lower = Q[c, i], Q[c + 1, i]
            Q[c, i] = cosine * upper + sine * lower
            Q[c + 1, i] = cosine * lower - sine * upper


@jit()
def _solve_upper(R, k, b, out):
    """R out = b for the leading k x k upper triangle."""
    for i in range(k - 1, -1, -1):
        total = b[i]
        for c in range(i + 1, k):
            total -= R[i, c] * out[c]
        out[i] = total / R[i, i]


@jit()
def _on_active(Q, R, k, active, s0, x, p, y, r):
    """x = the shortest point with s0 + A x = 0 on the active rows, and its multipliers."""
    for i in range(k):
        total = -s0[active[i]]
        for c in range(i):
            total -= R[c, i] * y[c]
        y[i] = total / R[i, i]
    x[:] = 0.0
    for c in range(k):
        for i in range(len(x)):
            x[i] += Q[c, i] * y[c]
    _solve_upper(R, k, y, r)
    for i in range(k):
        p[active[i]] = r[i]


@jit(fastmath=SUMS)
def exact(A, s0, noise, allowed, max_iterations):
    """See `reference.exact`: here with an updated QR factorisation of the active rows."""
    m, n = A.shape
    most = min(m, n)
    Q, R = np.empty((most + 1, n)), np.zeros((most + 1, most + 1))
    active, is_active = np.empty(most + 1, np.int64), np.zeros(m, np.bool_)
    settled = np.zeros(m, np.bool_)
    x, p = np.zeros(n), np.zeros(m)
    d, r, y, z = np.zeros(most + 1), np.zeros(most + 1), np.zeros(most + 1), np.empty(n)
    k, length = 0, 0.0
    for iteration in range(max_iterations):
        j, worst = -1, 0.0
        for c in range(m):
            if not is_active[c] and not settled[c]:
                s = s0[c]
                for i in range(n):
                    s += A[c, i] * x[i]
                if s < worst and s < -(noise[c] + 8 * EPS * length):
                    j, worst = c, s
        if j < 0:
            for c in range(m):
                p[c] = max(p[c], 0.0)
            return x, p, SOLVED, iteration
        while True:
            square = _orthogonalise(Q, k, A[j], d, z)
            _solve_upper(R, k, d, r)
            t1, gone = np.inf, -1
            for i in range(k):
                if r[i] > DROP and p[active[i]] < t1 * r[i]:
                    t1, gone = max(p[active[i]], 0.0) / r[i], i
            t2 = np.inf
            if square > DEPENDENT * DEPENDENT and k < n:
                t2 = max(-worst, 0.0) / square
            if t1 == np.inf and t2 == np.inf:
                sizes, noises = abs(s0[j]), noise[j]
                for i in range(k):
                    sizes += max(-r[i], 0.0) * abs(s0[active[i]])
                    noises += max(-r[i], 0.0) * noise[active[i]]
                if -worst <= max(CONTRADICTION * sizes, noises, allowed[j]):
                    p[j], settled[j] = 0.0, True
                    break
                p[:] = 0.0
                p[j] = 1.0
                for i in range(k):
                    p[active[i]] = max(-r[i], 0.0)
                return x, p, EMPTY, iteration
            t = min(t1, t2)
            for i in range(k):
                p[active[i]] -= t * r[i]
            p[j] += t
            if t2 < np.inf:
                for i in range(n):
                    x[i] += t * z[i]
                worst += t * square
            if t2 <= t1:
                for i in range(k):
                    R[i, k] = d[i]
                R[k, k] = np.sqrt(square)
                for i in range(n):
                    Q[k, i] = z[i] / R[k, k]
                active[k], is_active[j] = j, True
                k += 1
                break
            p[active[gone]], is_active[active[gone]] = 0.0, False
            _drop_column(Q, R, k, gone)
            for i in range(gone, k - 1):
                active[i] = active[i + 1]
            k -= 1
        _on_active(Q, R, k, active, s0, x, p, y, r)
        length = 0.0
        for i in range(n):
            length += x[i] * x[i]
        length = np.sqrt(length)
    return x, p, UNFINISHED, max_iterations


@jit()
def project_dense(G, c, w, root, noise_level, c_noise, allowed, max_iterations):
    """The projection of w on {c + G u >= 0} in the metric diag(1 / root^2): whiten, `exact`, go back.

    `allowed` (m,) is the violation, in units of c, that is not a contradiction. Returns (u, p, status, iterations).
    """
    m, n = G.shape
    A, s0, noise, unit = np.empty((m, n)), np.empty(m), np.empty(m), np.empty(m)
    for i in range(m):
        s, size, square = c[i], abs(c[i]), 0.0
        for k in range(n):
            s += G[i, k] * w[k]
            size += abs(G[i, k] * w[k])
            A[i, k] = G[i, k] * root[k]
            square += A[i, k] * A[i, k]
        unit[i] = np.sqrt(square) if square > 0.0 else 1.0
        for k in range(n):
            A[i, k] /= unit[i]
        s0[i], noise[i] = s / unit[i], (c_noise[i] + noise_level * size) / unit[i]
    x, p, status, iterations = exact(A, s0, noise, allowed / unit, max_iterations)
    return w + root * x, p / unit, status, iterations


@jit()
def ratios(relative, violation, stationarity, negative, product, distance, out):
    """The three residuals from their parts, where 0 / 0 = 0; infinite if a part is not finite.

    `relative` is the largest violation over its length, `violation` that of the unit rows without a length, which is
    compared with the distance moved.
    """
    if not np.isfinite(relative + violation + stationarity + negative + product + distance):
        out[:] = np.inf
        return
    parts = violation, max(stationarity, 0.0) + negative, product
    scales = distance, distance, distance**2
    for k in range(3):
        if parts[k] == 0.0:
            out[k] = 0.0
        else:
            out[k] = parts[k] / scales[k] if scales[k] > 0.0 else np.inf
    out[0] = max(out[0], relative)


@jit()
def residual_dense(G, c, w, mass, u, p, length, noise_level, c_noise, out):
    """(primal, dual, complementarity) for dense rows: see `convex.projection.residual`."""
    m, n = G.shape
    distance, size, reaction = 0.0, 0.0, np.zeros(n)
    for k in range(n):
        distance += mass[k] * (u[k] - w[k]) ** 2
        size += mass[k] * (abs(u[k]) + abs(w[k])) ** 2
    distance, size = np.sqrt(distance), np.sqrt(size)
    relative, violation, product, negative = 0.0, 0.0, 0.0, 0.0
    for i in range(m):
        s, scale, square = c[i], abs(c[i]), 0.0
        for k in range(n):
            s += G[i, k] * u[k]
            scale += abs(G[i, k]) * (abs(u[k]) + abs(w[k]))
            square += G[i, k] * G[i, k] / mass[k]
            reaction[k] += G[i, k] * p[i]
        unit = np.sqrt(square)
        if abs(s) <= c_noise[i] + noise_level * scale:
            s = 0.0
        if s < 0.0:
            if length[i] > 0.0:
                relative = max(relative, -s / length[i])
            else:
                violation = max(violation, -s / max(unit, 1e-300))
        product += abs(p[i] * s)
        negative = max(negative, -p[i] * unit)
        size += abs(p[i]) * unit
    stationarity = 0.0
    for k in range(n):
        gap = mass[k] * (u[k] - w[k]) - reaction[k]
        stationarity += gap * gap / mass[k]
    ratios(relative, violation, np.sqrt(stationarity) - noise_level * size, negative, product, distance, out)
