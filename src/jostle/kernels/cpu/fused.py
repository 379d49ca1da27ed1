"""Nesterov's method on contacts of bodies: `reference.accelerated`, one fused pass over the rows an iteration.

A pass reads (i, j, normal, s0, p, y), writes (p, y) and scatters the impulses of y. What makes it fast: no branch in it;
the dimension is a constant of the compiler; indices are unsigned (no test for negative ones), a wall being one more
body with inverse mass zero. Rows are cut into as many chunks as there are threads, each with its own buffer of
impulses, summed in order: the bits depend on the number of chunks, and on nothing else.
"""

from __future__ import annotations

from functools import cache

import numba
import numpy as np
from numba import njit, prange

from jostle.kernels.reference import MARGIN, POWER_STEPS, next_test

SUMS = {"reassoc", "contract"}
WORTH_THREADS = 20_000
"""Rows from which a second thread pays: handing out the work costs a few microseconds a pass."""

following_test = njit(cache=True)(next_test)


def threads() -> int:
    """How many threads the kernels use: all cores, or as many as NUMBA_NUM_THREADS or numba.set_num_threads say."""
    return int(numba.get_num_threads())


def accelerated_pairs(i, j, normal, inverse, s0, start, violation, tol, max_iterations, every, chunks):
    """`reference.accelerated` for the rows normal . (v_j - v_i), divided by their length; inverse (bodies, d) the diagonal of M^-1.

    s0, start and violation are for rows of length one. Returns (v, p, iterations): v = M^-1 G^T p.
    """
    n, d = inverse.shape
    walls = np.where(j < 0, n, j).astype(np.uint32)
    with_wall = np.zeros((n + 1, d))
    with_wall[:n] = inverse
    loop = _compiled(d, chunks > 1)
    v, p, iterations = loop(
        i.astype(np.uint32), walls, normal, with_wall, s0, start, violation, tol, max_iterations, every, chunks
    )
    return v[:n], p, iterations


@cache
def _compiled(d, parallel):
    """The loop for d dimensions: numba unrolls what runs over coordinates."""

    @njit(cache=True, fastmath=SUMS)
    def sweep(first, last, i, j, e, s0, y, p, v, w, step, beta):
        """One iteration on the rows of a chunk; w collects the impulses of the new y."""
        uphill = 0.0
        for c in range(first, last):
            a, b = i[c], j[c]
            gradient = s0[c]
            for k in range(d):
                gradient += e[c, k] * (v[b, k] - v[a, k])
            q = max(0.0, y[c] - gradient * step)
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
    def rates(first, last, i, j, e, v, out):
        """out = G v, and the sum of its squares."""
        square = 0.0
        for c in range(first, last):
            a, b, rate = i[c], j[c], 0.0
            for k in range(d):
                rate += e[c, k] * (v[b, k] - v[a, k])
            out[c] = rate
            square += rate * rate
        return square

    @njit(cache=True, fastmath=SUMS)
    def test(first, last, i, j, e, s0, p, p_before, v, violation):
        """(sum p |s|, sum (p - p_before)^2, the number of rows violated by too much)."""
        product, way, violated = 0.0, 0.0, 0
        for c in range(first, last):
            a, b, s = i[c], j[c], s0[c]
            for k in range(d):
                s += e[c, k] * (v[b, k] - v[a, k])
            product += p[c] * abs(s)
            way += (p[c] - p_before[c]) ** 2
            violated += s < -violation[c]
            p_before[c] = p[c]
        return product, way, violated

    @njit(cache=True, fastmath=SUMS)
    def gather(first, last, w, inverse, low, high, v, v_before):
        """v = M^-1 w summed over the chunks, w = 0; returns |v|^2_M and |v - v_before|^2_M."""
        size, moved = 0.0, 0.0
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
        if len(v_before):
            for a in range(first, last):
                for k in range(d):
                    moved += (v[a, k] - v_before[a, k]) ** 2 / inverse[a, k]
                    v_before[a, k] = v[a, k]
        return size, moved

    @njit(cache=True, parallel=parallel, fastmath=SUMS)
    def loop(i, j, normal, inverse, s0, start, violation, tol, max_iterations, every, chunks):
        m, n = len(i), len(inverse) - 1
        rows = np.linspace(0, m, chunks + 1).astype(np.int64)
        bodies = np.linspace(0, n, chunks + 1).astype(np.int64)
        low, high = np.full(chunks, n), np.full(chunks, n)
        part, part2, part3 = np.zeros(chunks), np.zeros(chunks), np.zeros(chunks, np.int64)
        e, y, p, p_before = np.empty((m, d)), np.empty(m), np.empty(m), np.empty(m)
        v, x, x_before, w = np.zeros((n + 1, d)), np.zeros((n + 1, d)), np.zeros((n, d)), np.zeros((chunks, n + 1, d))
        nothing = np.empty((0, d))
        for r in prange(chunks):
            first, last = n, 0
            for c in range(rows[r], rows[r + 1]):
                a, b, square = i[c], j[c], 0.0
                for k in range(d):
                    square += normal[c, k] ** 2 * (inverse[a, k] + inverse[b, k])
                unit = np.sqrt(square) if square > 0.0 else 1.0
                for k in range(d):
                    e[c, k] = normal[c, k] / unit
                y[c] = 1.0 + 0.5 * np.cos(c)
                p[c] = start[c]
                p_before[c] = start[c]
                first = min(first, np.int64(a), np.int64(b))
                last = max(last, np.int64(a) + 1, np.int64(b) + 1 if b < n else 0)
            low[r], high[r] = first, last

        L = 0.0
        for _ in range(POWER_STEPS):
            for r in prange(chunks):
                scatter(rows[r], rows[r + 1], i, j, e, y, w[r])
            for r in prange(chunks):
                gather(bodies[r], bodies[r + 1], w, inverse, low, high, v, nothing)
            before = np.sqrt((y * y).sum())
            for r in prange(chunks):
                part[r] = rates(rows[r], rows[r + 1], i, j, e, v, y)
            L = MARGIN * np.sqrt(part.sum()) / before

        for r in prange(chunks):
            for c in range(rows[r], rows[r + 1]):
                y[c] = start[c]
            scatter(rows[r], rows[r + 1], i, j, e, y, w[r])
        for r in prange(chunks):
            gather(bodies[r], bodies[r + 1], w, inverse, low, high, v, x_before)
        theta, restart, tested = 1.0, False, 0
        for iteration in range(max_iterations):
            if iteration == tested:
                tested = following_test(iteration, every)
                for r in prange(chunks):
                    scatter(rows[r], rows[r + 1], i, j, e, p, w[r])
                for r in prange(chunks):
                    part[r], part2[r] = gather(bodies[r], bodies[r + 1], w, inverse, low, high, x, x_before)
                size, moved = part.sum(), part2.sum()
                for r in prange(chunks):
                    part[r], part2[r], part3[r] = test(
                        rows[r], rows[r + 1], i, j, e, s0, p, p_before, x, violation
                    )
                if part3.sum() == 0 and part.sum() <= tol * size:
                    return x, p, iteration
                way = part2.sum()
                if moved > L * way:
                    L, restart = MARGIN * moved / way, True
            if restart:
                theta = 1.0
            after = theta * (np.sqrt(theta * theta + 4.0) - theta) / 2.0
            beta = 0.0 if restart else theta * (1.0 - theta) / (theta * theta + after)
            for r in prange(chunks):
                part[r] = sweep(rows[r], rows[r + 1], i, j, e, s0, y, p, v, w[r], 1.0 / L, beta)
            for r in prange(chunks):
                gather(bodies[r], bodies[r + 1], w, inverse, low, high, v, nothing)
            theta, restart = after, part.sum() > 0.0
        for r in prange(chunks):
            scatter(rows[r], rows[r + 1], i, j, e, p, w[r])
        for r in prange(chunks):
            gather(bodies[r], bodies[r + 1], w, inverse, low, high, x, nothing)
        return x, p, max_iterations

    return loop
