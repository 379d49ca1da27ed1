"""`reference.gauss_seidel` on contacts of bodies: one fused pass over the rows an iteration.

A pass reads (i, j, normal, s0, p, y), writes (p, y), and moves the velocities v of the two bodies at once. What makes
it fast: no branch in it; the dimension is a constant of the compiler (the length of the tuple `axes`); indices are
unsigned (no test for negative ones), a wall being one more body with inverse mass zero; rows that carry nothing and are
far from closing are left out from one stopping test to the next; rows that follow each other share no body (see
`arrangement`).

Threads take blocks of rows that share no body (see `arrangement`), and pieces of bodies, and wait for each other after
each group of blocks (see `meeting`); sums are taken for each block and each piece, and then in their order. So the bits
do not depend on the number of threads. Each thread follows the whole iteration, and decides the same from the same
sums.
"""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from jostle import kernels
from jostle._tools.arrays import Array
from jostle.kernels.compiling import (
    Floats,
    Floats2,
    Indices,
    Indices2,
    Ints,
    OutFloats,
    OutFloats2,
    OutFloats3,
    OutIndices2,
    OutInts,
    jit,
)
from jostle.kernels.cpu.arrangement import (
    BEFORE,
    FIRST,
    NEAR,
    ROW,
    S0,
    SECOND,
    VIOLATION,
    GivenRows,
    P,
    Y,
    arranged,
    cuts,
)
from jostle.kernels.cpu.meeting import ABANDONED, LATE, WHOLE, clock, meet, new_meeting
from jostle.kernels.cpu.records import carry_on, push, width
from jostle.kernels.memory import working_memory
from jostle.kernels.parallel import cut, in_step, judge, together
from jostle.kernels.reference.contacts import ContactRows
from jostle.kernels.reference.sweeps import DRIFT, FAR, RISE, Stop, next_test

SUMS = {"reassoc", "contract"}
V, X, OTHER = 0, 1, 2
"""Entries of `body`: the velocities v of y, the velocities x of p, and a working array for new values of x."""
PIECE = 512
"""Number of bodies in a piece; in the phases of the bodies, threads share the pieces."""

following_test = jit(helper=True)(next_test)


@kernels.gauss_seidel.on("numpy")
def gauss_seidel(
    rows: ContactRows,
    unit: Array,
    inverse: Array,
    s0: Array,
    start: Array,
    stop: Stop,
    chunks: int,
    places: Array | None,
) -> tuple[Array, int]:
    n, d = len(inverse), rows.normal.shape[1]
    with working_memory() as memory:
        number, index, e, row, ends, groups = arranged(
            GivenRows(*rows, unit, s0, start, stop.violation), n, places, chunks, memory
        )
        blocks, pieces = len(ends) - 1, -(-n // PIECE)
        body = memory.array((3, n + blocks, width(d)), np.float64)
        body[:, n:] = 0.0
        together(_weigh, [(number, inverse, *part, body) for part in cut(n, chunks)])
        sums, kept = np.zeros((2, 2, blocks + pieces)), np.zeros(blocks, np.int64)
        meeting, with_rows = new_meeting(), [(a, b) for a, b in pairwise(groups) if ends[b] > ends[a]]

        def divided(members: int) -> Any:
            of_pieces = pieces * np.arange(members + 1) // members
            tasks = np.array([*(a + cuts(ends[a : b + 1], members) for a, b in with_rows), of_pieces])
            rest = index, e, row, body, ends, kept, tasks, n, sums, *stop[1:]
            return _iterate, [((0,) * d, member, meeting, *rest) for member in range(members)]

        iterations, members = in_step(chunks, divided, partial(meeting.__setitem__, ABANDONED, 1))
        judge(members, float(meeting[LATE]), float(meeting[WHOLE]))
        p = np.empty(len(s0))
        together(_put_back, [(index, row, *part, p) for part in cut(len(s0), chunks)])
    return p, iterations


@jit()
def _weigh(number: Indices, inverse: Floats, first: int, last: int, body: OutFloats3) -> None:
    """Write the records of some bodies at rest: their masses, and zeros."""
    end = body.shape[2] - 1
    for a in range(first, last):
        k = number[a]
        for x in range(end):
            body[V, k, x] = body[X, k, x] = body[OTHER, k, x] = 0.0
        body[V, k, end] = inverse[a]
        body[X, k, end] = body[OTHER, k, end] = 1.0 / inverse[a]


@jit()
def _put_back(index: Indices2, row: Floats2, first: int, last: int, p: OutFloats) -> None:
    """The multipliers of some rows, in the order in which the rows were given."""
    for c in range(first, last):
        p[index[ROW, c]] = row[P, c]


class _Sweeps(NamedTuple):
    """Rows and bodies in the order of the sweeps, see `arrangement`, and the number of rows selected in each block."""

    index: OutIndices2
    e: OutFloats3
    row: OutFloats2
    body: OutFloats3
    ends: Ints
    kept: OutInts


@jit(helper=True, fastmath=SUMS)
def _sweep(axes, sweeps, first, last, source, beta):
    """A Gauss-Seidel sweep over selected rows: P and Y anew, v those of P; returns (against the way of P, s0 . P).

    It starts from the entry `source` of the rows: Y, or P where the momentum is given up.
    """
    index, e, row, body = sweeps.index, sweeps.e, sweeps.row, sweeps.body
    against, linear = 0.0, 0.0
    for c in range(np.uint64(first), np.uint64(last)):
        slack, before = row[NEAR + S0, c], row[NEAR + source, c]
        q = push(axes, body, V, index[NEAR + FIRST, c], index[NEAR + SECOND, c], e, c, slack, before)
        way = q - row[NEAR + P, c]
        against -= (q - before) * way
        linear += slack * q
        row[NEAR + P, c], row[NEAR + Y, c] = q, q + beta * way
    return against, linear


@jit(helper=True, fastmath=SUMS)
def _move_on(axes, first, last, body, x, beta):
    """x = v, the velocities of p; v those of y; returns |x|^2_M."""
    size = 0.0
    for a in range(np.uint64(first), np.uint64(last)):
        size += carry_on(axes, body, V, x, a, beta)
    return size


@jit(helper=True, fastmath=SUMS)
def _point(axes, sweeps, first, last, x):
    """x += M^-1 G^T p."""
    index, e, row, body = sweeps.index, sweeps.e, sweeps.row, sweeps.body
    for c in range(first, last):
        p = row[P, c]
        if p != 0.0:
            a, b = index[FIRST, c], index[SECOND, c]
            one, two = p * body[V, a, body.shape[2] - 1], p * body[V, b, body.shape[2] - 1]
            for k in range(len(axes)):
                body[x, a, k] -= one * e[0, c, k]
                body[x, b, k] += two * e[0, c, k]


@jit(helper=True, fastmath=SUMS)
def _test(axes, sweeps, first, last, kept, x):
    """At x: sum p |s|, how many rows are violated by too much, and how many are selected for the next iterations.

    The rows that were selected so far are put back to where they belong.
    """
    index, e, row, body = sweeps.index, sweeps.e, sweeps.row, sweeps.body
    for c in range(first, first + kept):
        k = index[NEAR + ROW, c]
        row[P, k], row[Y, k] = row[NEAR + P, c], row[NEAR + Y, c]
    product, violated, to = 0.0, 0.0, first
    for c in range(first, last):
        a, b, s0 = index[FIRST, c], index[SECOND, c], row[S0, c]
        p, y, s = row[P, c], row[Y, c], s0
        for k in range(len(axes)):
            s += e[0, c, k] * (body[x, b, k] - body[x, a, k])
        product += p * abs(s)
        if not s >= -row[VIOLATION, c]:
            violated += 1.0
        if p != 0.0 or y != 0.0 or s <= FAR * abs(s - row[BEFORE, c]):
            index[NEAR + FIRST, to], index[NEAR + SECOND, to], index[NEAR + ROW, to] = a, b, c
            row[NEAR + S0, to], row[NEAR + P, to], row[NEAR + Y, to] = s0, p, y
            for k in range(len(axes)):
                e[1, to, k] = e[0, c, k]
            for k in range(len(axes), e.shape[2]):
                e[1, to, k] = 0.0
            to += 1
        row[BEFORE, c] = s
    return product, violated, to - first


@jit(helper=True, fastmath=SUMS)
def _correct(axes, first, last, body, x, exact):
    """Sweeps move v and x by increments: take out what round-off left of that; returns |exact|^2_M."""
    size = 0.0
    for a in range(first, last):
        square = 0.0
        for k in range(len(axes)):
            now = body[exact, a, k]
            body[V, a, k] += now - body[x, a, k]
            square += now * now
        size += square * body[exact, a, body.shape[2] - 1]
    return size


@jit(helper=True)
def _copy(axes, first, last, body, to, x):
    """The velocities `to` become those of x, or zero if x < 0."""
    for a in range(first, last):
        for k in range(len(axes)):
            body[to, a, k] = body[x, a, k] if x >= 0 else 0.0


SWEEP, POINT, TEST, MOVE_ON, CLEAR, CORRECT, RESTART = range(7)
"""The phases. Phases of the rows: a sweep; new velocities x of p; the stopping test at x. Phases of the bodies: the
momentum; zeros before x is computed again; the correction of round-off; the restart without momentum."""


@jit(helper=True)
def _work(axes, sweeps, phase, unit, n, sums, half, x, now, beta, source):
    """What a block or a piece does in a phase: two sums, and in a test how many rows are selected."""
    body, ends, kept = sweeps.body, sweeps.ends, sweeps.kept
    one, two = 0.0, 0.0
    if phase <= TEST:
        first, last = ends[unit], ends[unit + 1]
        if phase == SWEEP:
            one, two = _sweep(axes, sweeps, first, first + kept[unit], source, beta)
        elif phase == POINT:
            _point(axes, sweeps, first, last, now)
        else:
            one, two, kept[unit] = _test(axes, sweeps, first, last, kept[unit], x)
    else:
        first, last = unit * PIECE, min((unit + 1) * PIECE, n)
        if phase == MOVE_ON:
            one = _move_on(axes, first, last, body, x, beta)
        elif phase == CORRECT:
            one = _correct(axes, first, last, body, x, now)
        else:
            _copy(axes, first, last, body, now if phase == CLEAR else V, -1 if phase == CLEAR else x)
    place = unit if phase <= TEST else len(ends) - 1 + unit
    sums[half, 0, place], sums[half, 1, place] = one, two


@jit(fastmath=SUMS)
def _iterate(axes, member, meeting, index, e, row, body, ends, kept, tasks, n, sums, tol, max_iterations, every):
    """What a thread, `member`, does of the iteration; returns how many iterations there were.

    All bodies are at rest, and `kept` is zero.

    tasks[g, r] is the first block of group g that thread r takes; the last row of tasks is that of the pieces. `sums`
    holds those of the blocks and then those of the pieces, at first zero: blocks of a group without rows are never
    swept. The sums of a phase are read while others write those of the next one, into the other half.
    """
    sweeps, groups, members = _Sweeps(index, e, row, body, ends, kept), tasks.shape[0] - 1, tasks.shape[1] - 1
    begin = clock()
    theta, beta, source, lowest, size = 1.0, 0.0, Y, np.inf, 0.0
    iteration, tested, phase, against, linear = 0, 0, CLEAR, 0.0, 0.0
    x, now, half, exact = X, OTHER, 0, False
    while True:
        of_rows = phase <= TEST
        for group in range(0 if of_rows else groups, groups if of_rows else groups + 1):
            for unit in range(tasks[group, member], tasks[group, member + 1]):
                _work(axes, sweeps, phase, unit, n, sums, half, x, now, beta, source)
            if not meet(meeting, members):
                return -1
        one, two = 0.0, 0.0
        for place in range(0 if of_rows else len(ends) - 1, len(ends) - 1 if of_rows else sums.shape[2]):
            one += sums[half, 0, place]
            two += sums[half, 1, place]
        half = 1 - half
        if phase == SWEEP:
            against, linear, phase = one, two, MOVE_ON
            continue
        if phase in (CLEAR, POINT, RESTART):
            phase = POINT if phase == CLEAR else CORRECT if phase == POINT else SWEEP
            continue
        if phase == CORRECT:
            size, x, phase, exact = one, now, TEST, True
            continue
        if phase == MOVE_ON:
            size, exact = one, False
            objective = linear + 0.5 * one
            source = P if against > 0.0 or objective > lowest + RISE * abs(lowest) else Y
            lowest = objective
            iteration += 1
            if iteration == min(tested, max_iterations):
                phase = TEST
                continue
        else:
            passed = two == 0.0 and (tol == np.inf or one <= tol * size)
            if iteration >= max_iterations or (passed and (exact or DRIFT < tol < np.inf)):
                if member == 0:
                    meeting[WHOLE] = clock() - begin
                return iteration
            if passed:  # up to round-off
                phase, now = CLEAR, X + OTHER - x
                continue
            tested = iteration + following_test(0, every) if exact else following_test(iteration, every)
        if source == P:
            theta = 1.0
        after = theta * (np.sqrt(theta * theta + 4.0) - theta) / 2.0
        beta = 0.0 if source == P else theta * (1.0 - theta) / (theta * theta + after)
        theta, phase = after, RESTART if source == P else SWEEP
