"""Nesterov's method on contacts of bodies: `reference.accelerated`, one fused pass over the rows an iteration.

A pass reads (i, j, normal, s0, p, y), writes (p, y) and scatters the impulses of y. What makes it fast: no branch in it;
the dimension is a constant of the compiler; indices are unsigned (no test for negative ones), a wall being one more
body with inverse mass zero. Rows are cut into as many chunks as there are threads, each with its own buffer of
impulses, summed in order: the bits depend on the number of chunks, and on nothing else.

Rows are scaled so that A A^T <= I, by a bound that needs no iteration: see `reference.row_scales`.
"""

from __future__ import annotations

from functools import cache

import numba
import numpy as np
from numba import njit, prange

from jostle.kernels.cpu.contacts import row_scales
from jostle.kernels.reference import next_test

SUMS = {"reassoc", "contract"}
WORTH_THREADS = 20_000
"""Rows from which a second thread pays: handing out the work costs a few microseconds a pass."""

following_test = njit(cache=True)(next_test)


def threads() -> int:
    """How many threads the kernels use: all cores, or as many as NUMBA_NUM_THREADS or numba.set_num_threads say."""
    return int(numba.get_num_threads())


def accelerated_pairs(i, j, normal, inverse, s0, start, violation, tol, max_iterations, every, chunks):
    """`reference.accelerated` for the rows normal . (v_j - v_i), divided by `row_scales`, with L = 1.

    inverse (bodies, d) is the diagonal of M^-1. Returns (v, p, iterations): v = M^-1 G^T p.
    """
    n, d = inverse.shape
    second = np.where(j < 0, n, j).astype(np.uint32)
    with_wall = np.zeros((n + 1, d))
    with_wall[:n] = inverse
    scale = row_scales(i, j, normal, inverse)
    v, p, iterations = _compiled(d, chunks > 1)(
        i.astype(np.uint32), second, normal / scale[:, None], with_wall, s0 / scale, start * scale, violation / scale,
        tol, max_iterations, every, chunks,
    )  # fmt: skip
    return v[:n], p / scale, iterations


@cache
def _compiled(d, parallel):
    """The loop for d dimensions: numba unrolls what runs over coordinates."""

    @njit(cache=True, fastmath=SUMS)
    def sweep(first, last, i, j, e, s0, y, p, v, w, beta):
        """One iteration on the rows of a chunk; w collects the impulses of the new y."""
        uphill = 0.0
        for c in range(first, last):
            a, b = i[c], j[c]
            gradient = s0[c]
            for k in range(d):
                gradient += e[c, k] * (v[b, k] - v[a, k])
            q = max(0.0, y[c] - gradient)
            change = q - p[c]
            uphill += gradient * change
            z = q + beta * change
            y[c], p[c] = z, q
            for k in range(d):
                impulse = z * e[c, k]
                w[a, k] -= impulse
                w[b, k] += impulse
        return uphill

    @njit(cache=True, fastmath=SUMS)
    def scatter(first, last, i, j, e, y, w):
        """w += G^T y."""
        for c in range(first, last):
            a, b = i[c], j[c]
            for k in range(d):
                impulse = y[c] * e[c, k]
                w[a, k] -= impulse
                w[b, k] += impulse

    @njit(cache=True, fastmath=SUMS)
    def test(first, last, i, j, e, s0, p, v, violation):
        """sum p |s|, and the number of rows violated by too much."""
        product, violated = 0.0, 0
        for c in range(first, last):
            a, b, s = i[c], j[c], s0[c]
            for k in range(d):
                s += e[c, k] * (v[b, k] - v[a, k])
            product += p[c] * abs(s)
            violated += s < -violation[c]
        return product, violated

    @njit(cache=True, fastmath=SUMS)
    def gather(first, last, w, inverse, low, high, v):
        """v = M^-1 w summed over the chunks, w = 0; returns |v|^2_M."""
        size = 0.0
        for a in range(first, last):
            for k in range(d):
                v[a, k] = 0.0
        for r in range(len(w)):
            for a in range(max(first, low[r]), min(last, high[r])):
                for k in range(d):
                    v[a, k] += w[r, a, k]
                    w[r, a, k] = 0.0
            if first == 0:
                w[r, -1] = 0.0  # the wall
        for a in range(first, last):
            for k in range(d):
                impulse = v[a, k]
                v[a, k] = impulse * inverse[a, k]
                size += v[a, k] * impulse
        return size

    @njit(cache=True, parallel=parallel, fastmath=SUMS)
    def loop(i, j, e, inverse, s0, start, violation, tol, max_iterations, every, chunks):
        m, n = len(i), len(inverse) - 1
        rows = np.linspace(0, m, chunks + 1).astype(np.int64)
        bodies = np.linspace(0, n, chunks + 1).astype(np.int64)
        low, high = np.full(chunks, n), np.full(chunks, 0)
        part, count = np.zeros(chunks), np.zeros(chunks, np.int64)
        y, p = start.copy(), start.copy()
        v, x, w = np.zeros((n + 1, d)), np.zeros((n + 1, d)), np.zeros((chunks, n + 1, d))
        for r in prange(chunks):
            for c in range(rows[r], rows[r + 1]):
                a, b = np.int64(i[c]), np.int64(j[c])
                low[r] = min(low[r], a, b)
                high[r] = max(high[r], a + 1, b + 1 if b < n else 0)
            scatter(rows[r], rows[r + 1], i, j, e, y, w[r])
        for r in prange(chunks):
            gather(bodies[r], bodies[r + 1], w, inverse, low, high, v)
        theta, restart, tested = 1.0, False, 0
        for iteration in range(max_iterations):
            if iteration == tested:
                tested = following_test(iteration, every)
                for r in prange(chunks):
                    scatter(rows[r], rows[r + 1], i, j, e, p, w[r])
                for r in prange(chunks):
                    part[r] = gather(bodies[r], bodies[r + 1], w, inverse, low, high, x)
                size = part.sum()
                for r in prange(chunks):
                    part[r], count[r] = test(rows[r], rows[r + 1], i, j, e, s0, p, x, violation)
                if count.sum() == 0 and part.sum() <= tol * size:
                    return x, p, iteration
            if restart:
                theta = 1.0
            after = theta * (np.sqrt(theta * theta + 4.0) - theta) / 2.0
            beta = 0.0 if restart else theta * (1.0 - theta) / (theta * theta + after)
            for r in prange(chunks):
                part[r] = sweep(rows[r], rows[r + 1], i, j, e, s0, y, p, v, w[r], beta)
            for r in prange(chunks):
                gather(bodies[r], bodies[r + 1], w, inverse, low, high, v)
            theta, restart = after, part.sum() > 0.0
        for r in prange(chunks):
            scatter(rows[r], rows[r + 1], i, j, e, p, w[r])
        for r in prange(chunks):
            gather(bodies[r], bodies[r + 1], w, inverse, low, high, x)
        return x, p, max_iterations

    return loop
