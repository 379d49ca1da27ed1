"""Nesterov's method on contacts of bodies: `reference.accelerated`, one fused pass over the rows an iteration.

A pass reads (i, j, normal, s0, p, y), writes (p, y) and scatters the impulses of y. What makes it fast: no branch in it;
the dimension is a constant of the compiler (the length of the tuple `axes`); indices are unsigned (no test for negative ones), a wall being one more
body with inverse mass zero. Rows are cut into as many chunks as there are threads, each with its own buffer of
impulses, summed in order: the bits depend on the number of chunks, and on nothing else.

Rows that carry nothing and are far from closing are left out from one stopping test to the next: each chunk keeps the others
together, in the order they have.

Rows are scaled so that A A^T <= I, by a bound that needs no iteration: see `reference.row_scales`.
"""

from __future__ import annotations

import numba
import numpy as np
from numba import njit, prange

from jostle.kernels.cpu.contacts import row_scales
from jostle.kernels.cpu.naming import renamed
from jostle.kernels.reference import FAR, next_test

SUMS = {"reassoc", "contract"}
WORTH_THREADS = 20_000
"""Rows from which a second thread pays: handing out the work costs a few microseconds a pass."""

START, SWEEP, POINT, TEST = 0, 1, 2, 3
"""The phases: impulses of the start; an iteration; the point u(p) of the multipliers; the stopping test there. One loop
goes through them, so that the parallel code, slow to compile, is short."""

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
    rows, bodies = (np.linspace(0, size, chunks + 1).astype(np.int64) for size in (len(i), n))
    low, high = _touched(i, j, rows)
    v, p, iterations = (_parallel if chunks > 1 else _serial)(
        (0,) * d, i.astype(np.uint32), second, normal / scale[:, None], with_wall, s0 / scale, start * scale,
        violation / scale,
        tol, max_iterations, every, rows, bodies, low, high,
    )  # fmt: skip
    return v[:n], p / scale, iterations


def _touched(i, j, rows):
    """The first body that the rows of each chunk touch, and the one after the last."""
    low, high = np.zeros(len(rows) - 1, np.int64), np.zeros(len(rows) - 1, np.int64)
    for r, (first, last) in enumerate(zip(rows[:-1], rows[1:], strict=True)):
        if first < last:
            a, b = i[first:last], j[first:last]
            low[r] = min(a.min(), np.where(b < 0, a, b).min())
            high[r] = max(a.max(), b.max()) + 1
    return low, high


@njit(cache=True, fastmath=SUMS)
def _sweep(axes, first, last, i, j, e, s0, y, p, v, w, beta):
    """One iteration on the rows of a chunk; w collects the impulses of the new y."""
    uphill = 0.0
    for c in range(first, last):
        a, b = i[c], j[c]
        gradient = s0[c]
        for k in range(len(axes)):
            gradient += e[c, k] * (v[b, k] - v[a, k])
        q = max(0.0, y[c] - gradient)
        change = q - p[c]
        uphill += gradient * change
        z = q + beta * change
        y[c], p[c] = z, q
        for k in range(len(axes)):
            impulse = z * e[c, k]
            w[a, k] -= impulse
            w[b, k] += impulse
    return uphill

@njit(cache=True, fastmath=SUMS)
def _scatter(axes, first, last, i, j, e, y, w):
    """w += G^T y."""
    for c in range(first, last):
        a, b = i[c], j[c]
        for k in range(len(axes)):
            impulse = y[c] * e[c, k]
            w[a, k] -= impulse
            w[b, k] += impulse

@njit(cache=True, fastmath=SUMS)
def _test(axes, first, last, contacts, x, state, kept, near, now):
    """At the point x: sum p |s|, whether a row is violated by too much, and the rows that stay for the next iterations.

    The first `kept` rows of the chunk in `near` and `now` are those of the iterations before.
    """
    i, j, e, s0, violation = contacts
    p, y, s_before = state
    near_i, near_j, near_e, near_s0, row = near
    near_p, near_y = now
    for c in range(first, first + kept):
        p[row[c]], y[row[c]] = near_p[c], near_y[c]
    product, violated, stay = 0.0, 0, first
    for c in range(first, last):
        a, b, s = i[c], j[c], s0[c]
        for k in range(len(axes)):
            s += e[c, k] * (x[b, k] - x[a, k])
        product += p[c] * abs(s)
        violated += s < -violation[c]
        if p[c] != 0.0 or y[c] != 0.0 or s <= FAR * abs(s - s_before[c]):
            near_i[stay], near_j[stay], near_s0[stay], row[stay] = a, b, s0[c], c
            near_p[stay], near_y[stay] = p[c], y[c]
            for k in range(len(axes)):
                near_e[stay, k] = e[c, k]
            stay += 1
        s_before[c] = s
    return product, violated, stay - first


@njit(cache=True, fastmath=SUMS)
def _gather(axes, first, last, w, inverse, low, high, v):
    """v = M^-1 w summed over the chunks, w = 0; returns |v|^2_M."""
    size = 0.0
    for a in range(first, last):
        for k in range(len(axes)):
            v[a, k] = 0.0
    for r in range(len(w)):
        for a in range(max(first, low[r]), min(last, high[r])):
            for k in range(len(axes)):
                v[a, k] += w[r, a, k]
                w[r, a, k] = 0.0
        if first == 0:
            w[r, -1] = 0.0  # the wall
    for a in range(first, last):
        for k in range(len(axes)):
            impulse = v[a, k]
            v[a, k] = impulse * inverse[a, k]
            size += v[a, k] * impulse
    return size

@njit(cache=True)
def _work(axes, phase, first, last, contacts, state, kept, near, now, v, x, w, beta):
    """What a chunk does in a phase; returns a sum, a count, and how many rows are kept."""
    if phase == TEST:
        return _test(axes, first, last, contacts, x, state, kept, near, now)
    i, j, e, s0, _ = near
    p, y = now
    if phase == SWEEP:
        return _sweep(axes, first, first + kept, i, j, e, s0, y, p, v, w, beta), 0, kept
    _scatter(axes, first, first + kept, i, j, e, y if phase == START else p, w)
    return 0.0, 0, kept


def _loop(axes, i, j, e, inverse, s0, start, violation, tol, max_iterations, every, rows, bodies, low, high):
    n, m, chunks = len(inverse) - 1, len(i), len(rows) - 1
    part, count, kept = np.zeros(chunks), np.zeros(chunks, np.int64), np.diff(rows)
    contacts = i, j, e, s0, violation
    state = start.copy(), start.copy(), np.full(m, -np.inf)
    near, now = (i.copy(), j.copy(), e.copy(), s0.copy(), np.arange(m)), (start.copy(), start.copy())
    v, x, w = np.zeros((n + 1, len(axes))), np.zeros((n + 1, len(axes))), np.zeros((chunks, n + 1, len(axes)))
    theta, beta, restart, size = 1.0, 0.0, False, 0.0
    iteration, tested, phase = 0, 0, START
    while True:
        for r in prange(chunks):
            part[r], count[r], kept[r] = _work(
                axes, phase, rows[r], rows[r + 1], contacts, state, kept[r], near, now, v, x, w[r], beta
            )
        total = part.sum()
        if phase == TEST:
            if iteration >= max_iterations or (count.sum() == 0 and total <= tol * size):
                return x, state[0], iteration
        else:
            into = x if phase == POINT else v
            for r in prange(chunks):
                part[r] = _gather(axes, bodies[r], bodies[r + 1], w, inverse, low, high, into)
            size = part.sum()
        if phase == SWEEP:
            iteration, restart = iteration + 1, total > 0.0
        if phase == POINT:
            phase = TEST
        elif phase != TEST and (iteration == tested or iteration == max_iterations):
            phase, tested = POINT, following_test(iteration, every)
        else:
            phase = SWEEP
            theta = 1.0 if restart else theta
            after = theta * (np.sqrt(theta * theta + 4.0) - theta) / 2.0
            beta = 0.0 if restart else theta * (1.0 - theta) / (theta * theta + after)
            theta = after


_serial = njit(cache=True, fastmath=SUMS)(_loop)
_parallel = njit(cache=True, parallel=True, fastmath=SUMS)(renamed(_loop, "_loop_parallel"))
