"""`reference.gauss_seidel` on contacts of bodies: one fused pass over the rows an iteration.

A pass reads (i, j, normal, s0, p, y), writes (p, y), and moves the velocities v of the two bodies at once. What makes
it fast: no branch in it; the dimension is a constant of the compiler (the length of the tuple `axes`); indices are
unsigned (no test for negative ones), a wall being one more body with inverse mass zero; rows that carry nothing and are
far from closing are left out from one stopping test to the next; rows that follow each other share no body (they are
sorted by colour), so that none waits for the one before. That order also needs the fewest iterations on crystals.

Threads: bodies are cut into as many chunks, along the longest axis of space where their places are known. Rows within a
chunk touch no body of another, so all chunks sweep at the same time; rows across chunks come after, on one thread. That
is the order of one serial sweep: the bits depend on the number of chunks, and on nothing else.
"""

from __future__ import annotations

import os

import numba
import numpy as np
from numba import prange

from jostle.errors import InvalidValue
from jostle.kernels.cpu.jit import jit
from jostle.kernels.cpu.naming import renamed
from jostle.kernels.reference import FAR, RISE, next_test

SUMS = {"reassoc", "contract"}
MOST_COLOURS = 63
"""A large ball with more small ones around it has several rows of the last colour."""
MOST_CHUNKS = 512
"""More threads are not used."""
WORTH_THREADS = 20_000
"""Rows from which a second thread pays: handing out the work costs some microseconds a pass."""

following_test = jit()(next_test)


_forked = False
"""Is this a forked child? GNU OpenMP ends a child that goes on with the threads of its parent."""


def _note_fork() -> None:
    global _forked
    _forked = True


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_note_fork)


def threads() -> int:
    """How many threads the kernels use: all cores, or as many as NUMBA_NUM_THREADS or numba.set_num_threads say.

    One in a child that was forked off (start children by `spawn` to give them more).
    """
    return 1 if _forked else min(int(numba.get_num_threads()), MOST_CHUNKS)


def use_threads(count):
    """Let the kernels use so many threads, at most as many as the machine has cores (or NUMBA_NUM_THREADS)."""
    most = int(numba.config.NUMBA_NUM_THREADS)
    if not 1 <= count <= most:
        raise InvalidValue(f"threads must be between 1 and {most}, the cores that there are, not {count}")
    numba.set_num_threads(count)


def gauss_seidel(i, j, normal, unit, inverse, s0, start, violation, tol, max_iterations, every, chunks, places):
    """`reference.gauss_seidel` for the rows normal . (v_j - v_i), divided by their length `unit`.

    inverse (bodies,) are the inverse masses; places (bodies, d) or None. Returns (p, iterations).
    """
    n, d = len(inverse), normal.shape[1]
    order, ends, contacts, with_walls = _arranged(
        i, j, normal, unit, inverse, s0, start, violation, _chunks(n, chunks, places), chunks
    )
    p, iterations = (_parallel if chunks > 1 else _serial)(
        (0,) * d, *contacts, with_walls, tol, max_iterations, every, ends, n
    )
    multipliers = np.empty(len(order))
    multipliers[order] = p
    return multipliers, iterations


@jit()
def _sorted(key, keys):
    """The places of a stable sort by keys below `keys`, and where each key starts."""
    start = np.zeros(keys + 1, np.int64)
    for k in key:
        start[k + 1] += 1
    for k in range(keys):
        start[k + 1] += start[k]
    place, filled = np.empty(len(key), np.uint32), start[:-1].copy()
    for c in range(len(key)):
        place[c] = filled[key[c]]
        filled[key[c]] += 1
    return place, start


@jit()
def _arranged(i, j, normal, unit, inverse, s0, start, violation, chunk, chunks):
    """Bodies and rows in the order of the sweep: by chunk (the rows across chunks last), and in it by colour."""
    m, n, d = len(i), len(inverse), normal.shape[1]
    number, _ = _sorted(chunk, chunks)
    key = colours(i, j, n)
    for c in range(m):
        across = j[c] >= 0 and chunk[i[c]] != chunk[j[c]]
        key[c] += (MOST_COLOURS + 1) * (chunks if across else chunk[i[c]])
    place, begin = _sorted(key, (MOST_COLOURS + 1) * (chunks + 1))
    order, first, second = np.empty(m, np.uint32), np.empty(m, np.uint32), np.empty(m, np.uint32)
    e, values = np.empty((m, d)), (np.empty(m), np.empty(m), np.empty(m))
    for c in range(m):
        k = place[c]
        order[k], first[k] = c, number[i[c]]
        second[k] = number[j[c]] if j[c] >= 0 else n + chunk[i[c]]
        for x in range(d):
            e[k, x] = normal[c, x] / unit[c]
        values[0][k], values[1][k], values[2][k] = s0[c], start[c], violation[c]
    with_walls = np.zeros(n + chunks)
    for body in range(n):
        with_walls[number[body]] = inverse[body]
    return order, begin[:: MOST_COLOURS + 1].copy(), (first, second, e, *values), with_walls


@jit()
def colours(i, j, n):
    """A colour (below 64) for each row, so that rows of a colour share no body: the first that is free at both ends."""
    used, colour = np.zeros(n, np.uint64), np.zeros(len(i), np.int64)
    for c in range(len(i)):
        taken = used[i[c]] | (used[j[c]] if j[c] >= 0 else np.uint64(0))
        k = 0
        while k < MOST_COLOURS and (taken >> np.uint64(k)) & np.uint64(1):
            k += 1
        colour[c] = k
        used[i[c]] |= np.uint64(1) << np.uint64(k)
        if j[c] >= 0:
            used[j[c]] |= np.uint64(1) << np.uint64(k)
    return colour


def _chunks(n, chunks, places):
    """The chunk of each body: equal numbers along the longest axis, or along the numbering."""
    if chunks == 1 or n < chunks:
        return np.zeros(n, np.int64)
    along = np.arange(n) if places is None else max(places.T, key=np.ptp)
    cuts = n * np.arange(1, chunks) // chunks
    return np.searchsorted(np.partition(along, cuts)[cuts], along, side="right")


@jit(fastmath=SUMS)
def _sweep(axes, first, last, i, j, e, s0, inverse, y, start, p, v, beta):
    """A Gauss-Seidel sweep from `start` over some rows: p and y anew, v those of p; (against the way of p, s0 . p)."""
    against, linear = 0.0, 0.0
    for c in range(first, last):
        a, b = i[c], j[c]
        gradient = s0[c]
        for k in range(len(axes)):
            gradient += e[c, k] * (v[b, k] - v[a, k])
        before = start[c]
        q = max(0.0, before - gradient)
        step, way = q - before, q - p[c]
        against -= step * way
        linear += s0[c] * q
        p[c], y[c] = q, q + beta * way
        one, two = step * inverse[a], step * inverse[b]
        for k in range(len(axes)):
            v[a, k] -= one * e[c, k]
            v[b, k] += two * e[c, k]
    return against, linear


@jit(fastmath=SUMS)
def _scatter(axes, first, last, i, j, e, inverse, p, v):
    """v += M^-1 G^T p."""
    for c in range(first, last):
        a, b = i[c], j[c]
        one, two = p[c] * inverse[a], p[c] * inverse[b]
        for k in range(len(axes)):
            v[a, k] -= one * e[c, k]
            v[b, k] += two * e[c, k]


@jit(fastmath=SUMS)
def _move_on(axes, first, last, inverse, v, x, beta):
    """x = v, the velocities of p; v those of y; returns |x|^2_M."""
    size = 0.0
    for a in range(first, last):
        for k in range(len(axes)):
            now = v[a, k]
            size += now * now / inverse[a]
            v[a, k] = now + beta * (now - x[a, k])
            x[a, k] = now
    return size


@jit(fastmath=SUMS)
def _test(axes, first, last, contacts, x, state, kept, near, now):
    """At x: sum p |s|, how many rows are violated by too much, and how many stay for the next iterations.

    The first `kept` rows of the block in `near` and `now` are those of the iterations before.
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
        violated += not s >= -violation[c]
        if p[c] != 0.0 or y[c] != 0.0 or s <= FAR * abs(s - s_before[c]):
            near_i[stay], near_j[stay], near_s0[stay], row[stay] = a, b, s0[c], c
            near_p[stay], near_y[stay] = p[c], y[c]
            for k in range(len(axes)):
                near_e[stay, k] = e[c, k]
            stay += 1
        s_before[c] = s
    return product, violated, stay - first


SWEEP, MOVE_ON, POINT, TEST = 0, 1, 2, 3
"""The phases: a sweep; the momentum of the bodies; the velocities x of p, anew; the stopping test there. One loop goes
through them, so that the parallel code, slow to compile, is short."""


@jit()
def _work(axes, phase, r, ends, kept, bodies, contacts, state, near, now, inverse, v, x, beta, restart):
    """What block r does in a phase; returns two sums, and how many rows are kept."""
    i, j, e, s0, _ = near
    p, y = now
    first = ends[r]
    if phase == SWEEP:
        start = p if restart else y
        against, linear = _sweep(axes, first, first + kept, i, j, e, s0, inverse, y, start, p, v, beta)
        return against, linear, kept
    if phase == MOVE_ON:
        return _move_on(axes, bodies[r], bodies[r + 1], inverse, v, x, beta), 0.0, kept
    if phase == POINT:
        _scatter(axes, first, first + kept, i, j, e, inverse, p, x)
        return 0.0, 0.0, kept
    product, violated, stay = _test(axes, first, ends[r + 1], contacts, x, state, kept, near, now)
    return product, float(violated), stay


@jit()
def _total(parts):
    """Their sum, in order; the last one, of the rows across chunks, is used up."""
    total = 0.0
    for part in parts:
        total += part
    parts[-1] = 0.0
    return total


@jit()
def _corrected(inverse, v, x, exact):
    """Sweeps move v and x by increments: take out what round-off left of that; returns |exact|^2_M."""
    size = 0.0
    for a in range(len(v)):
        for k in range(v.shape[1]):
            v[a, k] += exact[a, k] - x[a, k]
            if exact[a, k] != 0.0:
                size += exact[a, k] ** 2 / inverse[a]
    return size


@jit()
def _copied(v, x):
    v[:] = x


def _loop(axes, i, j, e, s0, start, violation, inverse, tol, max_iterations, every, ends, n):
    m, chunks = len(i), len(ends) - 2
    bodies = np.linspace(0, n, chunks + 1).astype(np.int64)
    one, two, kept = np.zeros(chunks + 1), np.zeros(chunks + 1), np.diff(ends)
    contacts = i, j, e, s0, violation
    state = start, start.copy(), np.full(m, -np.inf)
    near, now = (i.copy(), j.copy(), e.copy(), s0.copy(), np.arange(m).astype(np.uint32)), (start.copy(), start.copy())
    shape = len(inverse), len(axes)
    v, x = np.zeros(shape), np.zeros(shape)
    theta, beta, restart, lowest, linear, size = 1.0, 0.0, False, np.inf, 0.0, 0.0
    iteration, tested, phase, against, exact = 0, 0, POINT, 0.0, np.zeros(shape)
    while True:
        for r in prange(chunks):
            one[r], two[r], kept[r] = _work(
                axes, phase, r, ends, kept[r], bodies, contacts, state, near, now, inverse, v, exact, beta, restart
            )
        if phase != MOVE_ON:
            one[chunks], two[chunks], kept[chunks] = _work(
                axes, phase, chunks, ends, kept[chunks], bodies, contacts, state, near, now, inverse, v, exact, beta,
                restart,
            )  # fmt: skip
        first_sum, second_sum = _total(one), _total(two)
        if phase == SWEEP:
            against, linear, phase = first_sum, second_sum, MOVE_ON
            continue
        if phase == MOVE_ON:
            objective = linear + 0.5 * first_sum
            restart = against > 0.0 or objective > lowest + RISE * abs(lowest)
            lowest = objective
            iteration += 1
            if iteration in (tested, max_iterations):
                phase, exact = POINT, np.zeros_like(x)
                continue
        if phase == POINT:
            size = _corrected(inverse, v, x, exact)
            x, phase = exact, TEST
            continue
        if phase == TEST:
            passed = second_sum == 0.0 and (tol == np.inf or first_sum <= tol * size)
            if passed or iteration >= max_iterations:
                return state[0], iteration
            tested = following_test(iteration, every)
        if restart:
            _copied(v, x)
            theta = 1.0
        after = theta * (np.sqrt(theta * theta + 4.0) - theta) / 2.0
        beta = 0.0 if restart else theta * (1.0 - theta) / (theta * theta + after)
        theta, phase = after, SWEEP


_serial = jit(fastmath=SUMS)(_loop)
_parallel = jit(parallel=True, fastmath=SUMS)(renamed(_loop, "_loop_parallel"))
