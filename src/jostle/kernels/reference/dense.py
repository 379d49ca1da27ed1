"""Small dense projections: the exact method.

All projections work in Euclidean coordinates with unit rows: min 1/2 |x|^2 subject to s = s0 + A x >= 0, whose solution
is x = A^T p, 0 <= p ⟂ s >= 0.
"""

from __future__ import annotations

import numpy as np

from jostle._tools.arrays import Array

SOLVED, EMPTY, UNFINISHED = 0, 1, 2
"""How `exact` can end."""
DEPENDENT = 1e-11
"""A unit row whose distance from the span of the other rows is smaller than this depends on them."""
DROP = 1e-12
"""A multiplier shrinks along the step if its rate exceeds this."""
CONTRADICTION = 1e-11
"""A row that is missed by less than this fraction of the distances involved is round-off, not a contradiction."""
EPS = float(np.finfo(float).eps)
ROUND_OFF = 16 * EPS
"""The round-off of a sum, as a fraction of its terms."""
TINY = 1e-300
"""Smallest length of a row, so that a zero row can be divided by its length."""


def exact(A: Array, s0: Array, noise: Array, allowed: Array, max_iterations: int) -> tuple[Array, Array, int, int]:
    """The dual active-set method of Goldfarb & Idnani (1983) for min 1/2 |x|^2, s0 + A x >= 0.

    Rows of A have length one; noise is the round-off of s0. A row that cannot be satisfied, by at most `allowed`, is
    left as it is. Returns (x, p, status, iterations). If the
    status is EMPTY, p is a contradiction: p >= 0, A^T p = 0, s0 . p < 0.
    """
    m, n = A.shape
    x, p = np.zeros(n), np.zeros(m)
    active: list[int] = []
    settled: list[int] = []
    for iteration in range(max_iterations):
        s = s0 + A @ x
        s[active + settled] = 0.0
        tolerance = noise + 8 * EPS * np.linalg.norm(x)
        j = int(np.argmin(np.where(s < -tolerance, s, 0.0))) if m else 0
        if m == 0 or s[j] >= -tolerance[j]:
            return x, p, SOLVED, iteration
        while True:
            N = A[active].T
            r = np.linalg.lstsq(N, A[j], rcond=None)[0] if active else np.zeros(0)
            z = A[j] - N @ r
            falling = [k for k in range(len(active)) if r[k] > DROP]
            t1, k = min(((p[active[k]] / r[k], k) for k in falling), default=(np.inf, -1))
            t2 = -(s0[j] + A[j] @ x) / (z @ z) if z @ z > DEPENDENT**2 else np.inf
            if min(t1, t2) == np.inf:
                y = np.maximum(-r, 0.0)
                sizes, noises = abs(s0[j]) + y @ np.abs(s0[active]), noise[j] + y @ noise[active]
                if -(s0[j] + A[j] @ x) <= max(CONTRADICTION * sizes, noises, allowed[j]):
                    p[j] = 0.0
                    settled.append(j)
                    break
                p[:] = 0.0
                p[j], p[active] = 1.0, y
                return x, p, EMPTY, iteration
            t = min(t1, t2)
            p[active] -= t * r
            p[j] += t
            if t2 < np.inf:
                x = x + t * z
            if t2 <= t1:
                active.append(j)
                break
            p[active[k]] = 0.0
            del active[k]
        x, p[active] = _on_rows(A[active], s0[active])
    return x, p, UNFINISHED, max_iterations


def _on_rows(N: Array, s: Array) -> tuple[Array, Array]:
    """The shortest x with s + N x = 0, and p with x = N^T p (the rows are independent)."""
    Q, R = np.linalg.qr(N.T)
    y = np.linalg.solve(R.T, -s)
    return Q @ y, np.linalg.solve(R, y)


def project_dense(
    G: Array, c: Array, w: Array, root: Array, noise_level: float, c_noise: Array, allowed: Array, max_iterations: int
) -> tuple[Array, Array, int, int]:
    """(u, p, status, iterations): the projection of w on c + G u >= 0 in the metric of the masses root^-2.

    c is known up to c_noise, and products with G up to noise_level times their terms. See `exact`.
    """
    white = G * root
    unit = np.sqrt((white**2).sum(axis=1))
    unit[unit == 0.0] = 1.0
    noise = c_noise + noise_level * (np.abs(c) + np.abs(G) @ np.abs(w))
    rows = white / unit[:, None], (c + G @ w) / unit, noise / unit, allowed / unit
    x, p, status, iterations = exact(*rows, max_iterations)
    return w + root * x, np.maximum(p, 0.0) / unit, status, iterations
