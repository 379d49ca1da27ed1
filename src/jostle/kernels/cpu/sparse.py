"""`reference.gauss_seidel` on rows in CSR form: general rows alone, or together with contacts of bodies."""

from __future__ import annotations

import numpy as np

from jostle.kernels.cpu.jit import jit
from jostle.kernels.reference import FAR, RISE, next_test

following_test = jit()(next_test)


@jit()
def _row(data, indices, first, last, x):
    """The product of the row in data[first:last] with x."""
    total = 0.0
    for e in range(first, last):
        total += data[e] * x[indices[e]]
    return total


@jit()
def sweep_rows(data, indices, indptr, n, s0, start, violation, tol, max_iterations, every):
    """See `reference.gauss_seidel`; unit rows in CSR form with n columns. Returns (A^T p, p, iterations)."""
    m = len(s0)
    p, y, s_before, kept = start.copy(), start.copy(), np.full(m, -np.inf), np.empty(m, np.int64)
    x, v, exact = np.zeros(n), np.zeros(n), np.zeros(n)
    theta, lowest, restart, tested, count, iteration = 1.0, np.inf, False, 0, 0, 0
    while True:
        if iteration in (tested, max_iterations):
            tested = following_test(iteration, every)
            for k in range(n):
                exact[k] = 0.0
            for c in range(m):
                if p[c] != 0.0:
                    for e in range(indptr[c], indptr[c + 1]):
                        exact[indices[e]] += data[e] * p[c]
            size = 0.0
            for k in range(n):  # the sweeps move x and v by increments: take out what round-off left of that
                v[k] += exact[k] - x[k]
                x[k] = exact[k]
                size += x[k] * x[k]
            product, violated, count = 0.0, False, 0
            for c in range(m):
                s = s0[c] + _row(data, indices, indptr[c], indptr[c + 1], x)
                product += p[c] * abs(s)
                violated = violated or not s >= -violation[c]
                if p[c] != 0.0 or y[c] != 0.0 or s <= FAR * abs(s - s_before[c]):
                    kept[count] = c
                    count += 1
                s_before[c] = s
            if iteration == max_iterations or (not violated and (tol == np.inf or product <= tol * size)):
                return x, p, iteration
        if restart:
            theta = 1.0
            for k in range(n):
                v[k] = x[k]
        after = theta * (np.sqrt(theta * theta + 4.0) - theta) / 2.0
        beta = 0.0 if restart else theta * (1.0 - theta) / (theta * theta + after)
        against, linear = 0.0, 0.0
        for r in range(count):
            c = kept[r]
            before = p[c] if restart else y[c]
            q = max(0.0, before - s0[c] - _row(data, indices, indptr[c], indptr[c + 1], v))
            step, way = q - before, q - p[c]
            for e in range(indptr[c], indptr[c + 1]):
                v[indices[e]] += step * data[e]
            against -= step * way
            linear += s0[c] * q
            p[c], y[c] = q, q + beta * way
        size = 0.0
        for k in range(n):
            now = v[k]
            size += now * now
            v[k] = now + beta * (now - x[k])
            x[k] = now
        objective = linear + 0.5 * size
        restart = against > 0.0 or objective > lowest + RISE * abs(lowest)
        lowest, theta = objective, after
        iteration += 1
