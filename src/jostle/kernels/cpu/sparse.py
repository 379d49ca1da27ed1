"""`reference.sweep_rows`, on rows in CSR form: general rows alone, or together with contacts of bodies."""

from __future__ import annotations

import numpy as np

from jostle import kernels
from jostle._tools.arrays import Array
from jostle.kernels.compiling import Floats, OutFloats2, OutInts, Shorts, jit
from jostle.kernels.cpu.fused import following_test
from jostle.kernels.reference.sweeps import FAR, RISE, Stop


@kernels.sweep_rows.on("numpy")
def sweep_rows(
    data: Array, indices: Shorts, indptr: Shorts, n: int, s0: Array, start: Array, stop: Stop
) -> tuple[Array, Array, int]:
    m = len(s0)
    row, column = np.empty((3, m)), np.zeros((3, n))
    row[P] = row[Y] = start
    row[BEFORE] = -np.inf
    indices, indptr = np.asarray(indices, np.int32), np.asarray(indptr, np.int32)
    iterations = _iterate(data, indices, indptr, s0, *stop, row, column, np.empty(m, np.int64))
    return column[X].copy(), row[P].copy(), iterations


P, Y, BEFORE = 0, 1, 2
"""What the entries of `row` are: multiplier, point that the sweep starts from, and slack at the test before."""
X, V, EXACT = 0, 1, 2
"""What the entries of `column` are: A^T p, A^T y, and A^T p anew."""


@jit(helper=True)
def _row(data: Floats, indices: Shorts, first: int, last: int, column: OutFloats2, x: int) -> float:
    """The product of the row in data[first:last] with the entry x of column."""
    total = 0.0
    for e in range(first, last):
        total += data[e] * column[x, indices[e]]
    return total


@jit()
def _iterate(
    data: Floats,
    indices: Shorts,
    indptr: Shorts,
    s0: Floats,
    violation: Floats,
    tol: float,
    max_iterations: int,
    every: int,
    row: OutFloats2,
    column: OutFloats2,
    kept: OutInts,
) -> int:
    """The iteration; returns how many there were. `column` is zero."""
    m, n = len(s0), column.shape[1]
    theta, lowest, restart, tested, count, iteration = 1.0, np.inf, False, 0, 0, 0
    while True:
        if iteration == min(tested, max_iterations):
            tested = following_test(iteration, every)
            for k in range(n):
                column[EXACT, k] = 0.0
            for c in range(m):
                p = row[P, c]
                if p != 0.0:
                    for e in range(indptr[c], indptr[c + 1]):
                        column[EXACT, indices[e]] += data[e] * p
            size = 0.0
            for k in range(n):  # the sweeps move x and v by increments: take out what round-off left of that
                exact = column[EXACT, k]
                column[V, k] += exact - column[X, k]
                column[X, k] = exact
                size += exact * exact
            product, violated, count = 0.0, False, 0
            for c in range(m):
                s, p = s0[c] + _row(data, indices, indptr[c], indptr[c + 1], column, X), row[P, c]
                product += p * abs(s)
                violated = violated or not s >= -violation[c]
                if p != 0.0 or row[Y, c] != 0.0 or s <= FAR * abs(s - row[BEFORE, c]):
                    kept[count] = c
                    count += 1
                row[BEFORE, c] = s
            if iteration == max_iterations or (not violated and (tol == np.inf or product <= tol * size)):
                return iteration
        if restart:
            theta = 1.0
            for k in range(n):
                column[V, k] = column[X, k]
        after = theta * (np.sqrt(theta * theta + 4.0) - theta) / 2.0
        beta = 0.0 if restart else theta * (1.0 - theta) / (theta * theta + after)
        against, linear, size = 0.0, 0.0, 0.0
        for r in range(count):
            c = kept[r]
            before = row[P, c] if restart else row[Y, c]
            q = max(0.0, before - s0[c] - _row(data, indices, indptr[c], indptr[c + 1], column, V))
            step, way = q - before, q - row[P, c]
            for e in range(indptr[c], indptr[c + 1]):
                column[V, indices[e]] += step * data[e]
            against -= step * way
            linear += s0[c] * q
            row[P, c], row[Y, c] = q, q + beta * way
        for k in range(n):
            now = column[V, k]
            size += now * now
            column[V, k] = now + beta * (now - column[X, k])
            column[X, k] = now
        objective = linear + 0.5 * size
        restart = against > 0.0 or objective > lowest + RISE * abs(lowest)
        lowest, theta = objective, after
        iteration += 1
