"""Sparse rows in CSR form: the accelerated first-order projection."""

from __future__ import annotations

import numpy as np

from jostle.kernels.cpu.jit import jit
from jostle.kernels.reference import FAR, MARGIN, POWER_STEPS, next_test

following_test = jit()(next_test)


@jit()
def _adjoint(data, indices, indptr, y, out):
    """out = A^T y."""
    out[:] = 0.0
    for c in range(len(y)):
        for e in range(indptr[c], indptr[c + 1]):
            out[indices[e]] += data[e] * y[c]


@jit()
def _row(data, indices, indptr, c, x):
    """(A x)_c."""
    total = 0.0
    for e in range(indptr[c], indptr[c + 1]):
        total += data[e] * x[indices[e]]
    return total


@jit()
def largest_eigenvalue(data, indices, indptr, n):
    """See `reference.largest_eigenvalue`; A in CSR form with n columns."""
    m = len(indptr) - 1
    y, x = 1.0 + 0.5 * np.cos(np.arange(m)), np.empty(n)
    value = 0.0
    for _ in range(POWER_STEPS):
        y /= np.sqrt((y * y).sum())
        _adjoint(data, indices, indptr, y, x)
        for c in range(m):
            y[c] = _row(data, indices, indptr, c, x)
        value = np.sqrt((y * y).sum())
    return MARGIN * value


@jit()
def accelerated(data, indices, indptr, n, s0, start, L, violation, tol, max_iterations, every):
    """See `reference.accelerated`; A in CSR form with n columns, one pass over the rows an iteration."""
    m = len(s0)
    p, y = start.copy(), start.copy()
    x, v, w = np.empty(n), np.empty(n), np.empty(n)
    _adjoint(data, indices, indptr, y, v)
    p_before, x_before = p.copy(), v.copy()
    theta, restart, tested = 1.0, False, 0
    s_before, kept = np.full(m, -np.inf), np.ones(m, np.bool_)
    for iteration in range(max_iterations):
        if iteration == tested:
            tested = following_test(iteration, every)
            _adjoint(data, indices, indptr, p, x)
            feasible, product = True, 0.0
            for c in range(m):
                s = s0[c] + _row(data, indices, indptr, c, x)
                feasible = feasible and s >= -violation[c]
                product += p[c] * abs(s)
                kept[c] = p[c] != 0.0 or y[c] != 0.0 or s <= FAR * abs(s - s_before[c])
                s_before[c] = s
            if feasible and (tol == np.inf or product <= tol * (x * x).sum()):
                return x, p, iteration
            way = ((p - p_before) ** 2).sum()
            moved = ((x - x_before) ** 2).sum()
            if moved > L * way:
                L, restart = MARGIN * moved / way, True
            p_before[:], x_before[:] = p, x
        if restart:
            theta = 1.0
        after = theta * (np.sqrt(theta * theta + 4.0) - theta) / 2.0
        beta = 0.0 if restart else theta * (1.0 - theta) / (theta * theta + after)
        w[:] = 0.0
        uphill = 0.0
        for c in range(m):
            if not kept[c]:
                continue
            gradient = s0[c] + _row(data, indices, indptr, c, v)
            q = max(0.0, y[c] - gradient / L)
            step = q - p[c]
            uphill += gradient * step
            y[c] = q + beta * step
            p[c] = q
            for e in range(indptr[c], indptr[c + 1]):
                w[indices[e]] += data[e] * y[c]
        v, w = w, v
        theta, restart = after, uphill > 0.0
    _adjoint(data, indices, indptr, p, x)
    return x, p, max_iterations
