"""Accelerated sweeps (`tests/contact_definitions.py`) by several threads, over rows (`fused`) or friction cones.

Threads take blocks of rows that share no body (see `arrangement`), and pieces of bodies, and wait for each other after
each group of blocks (see `meeting`); sums are taken for each block and each piece, and then in their order. So the bits
do not depend on the number of threads. Each thread follows the whole iteration, and decides the same from the same
sums.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from jostle.kernels.compiling import Floats, Indices, Ints, OutFloats3, jit
from jostle.kernels.cpu.arrangement import cuts
from jostle.kernels.cpu.meeting import ABANDONED, LATE, WHOLE, clock, meet, new_meeting
from jostle.kernels.cpu.records import carry_on, width
from jostle.kernels.memory import aligned
from jostle.kernels.parallel import cut, in_step, judge, together
from jostle.kernels.reference.sweeps import DRIFT, RISE, WINDOW, Stop, damped, least_damping, next_test

SUMS = {"reassoc", "contract"}
V, X, OTHER = 0, 1, 2
"""Entries of `body`: the velocities v of y, the velocities x of p, and a working array for new values of x."""
PIECE = 512
"""Number of records of bodies in a piece; in the phases of the bodies, threads share the pieces."""
SWEEP, POINT, TEST, MOVE_ON, CLEAR, CORRECT, RESTART = range(7)
"""The phases. Phases of the rows: a sweep; new velocities x of p; the stopping test at x. Phases of the bodies: the
momentum; zeros before x is computed again; the correction of round-off; the restart without momentum."""

following_test, damping_after, damping_least = (jit(helper=True)(each) for each in (next_test, damped, least_damping))


def at_rest(number: Indices, inverse: Floats, walls: int, d: int, chunks: int) -> OutFloats3:
    """The records of bodies at rest, one for each inverse mass, in the places `number`; those of walls are the last."""
    n = len(number)
    body = aligned((3, n + walls, width(d)), np.float64)
    body[:, n:] = 0.0
    together(_weigh, [(number, inverse, *part, body) for part in cut(n, chunks)])
    return body


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


def iterated(iterate: Callable[..., int], sweeps: Any, groups: Ints, n: int, stop: Stop, chunks: int) -> int:
    """The number of iterations of a loop that `loop_of` made, on groups of blocks and n records of bodies at rest."""
    ends, pieces, meeting = sweeps.ends, -(-n // PIECE), new_meeting()
    sums = np.zeros((2, 2, len(ends) - 1 + pieces))
    with_rows = [(a, b) for a, b in pairwise(groups) if ends[b] > ends[a]]

    def divided(members: int) -> Any:
        of_pieces = pieces * np.arange(members + 1) // members
        tasks = np.array([*(a + cuts(ends[a : b + 1], members) for a, b in with_rows), of_pieces])
        return iterate, [(sweeps, member, meeting, tasks, n, sums, *stop[1:]) for member in range(members)]

    iterations, members = in_step(chunks, divided, partial(meeting.__setitem__, ABANDONED, 1))
    judge(members, float(meeting[LATE]), float(meeting[WHOLE]))
    return iterations


@jit(helper=True, fastmath=SUMS)
def _move_on(axes, first, last, body, x, beta):
    """x = v, the velocities of p; v those of y; returns |x|^2_M."""
    size = 0.0
    for a in range(np.uint64(first), np.uint64(last)):
        size += carry_on(axes, body, V, x, a, beta)
    return size


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


def loop_of(
    name: str, sweep: Callable[..., Any], point: Callable[..., Any], test: Callable[..., Any]
) -> Callable[..., int]:
    """The compiled loop over rows, stored on disk under a name, from what a block of rows does in each phase.

    - sweep(sweeps, block, anew, beta): a sweep over the selected rows of a block, without momentum if `anew`; returns
      how far it goes against the way of p, and the linear term s0 . p of the dual objective, by Coulomb's law instead
      the square of the steps of all multipliers;
    - point(sweeps, block, x): x += M^-1 G^T p;
    - test(sweeps, block, x): the lack of complementarity at x, and how many rows are violated by too much; it selects
      the rows of the next iterations.

    `sweeps` is a NamedTuple with at least axes (as many numbers as the vectors in the records have), body, ends and
    coulomb.
    """

    @jit(helper=True)
    def work(sweeps, phase, unit, n, sums, half, x, now, beta, anew):
        """What a block or a piece does in a phase: two sums."""
        axes, body = sweeps.axes, sweeps.body
        one, two = 0.0, 0.0
        if phase == SWEEP:
            one, two = sweep(sweeps, unit, anew, beta)
        elif phase == POINT:
            point(sweeps, unit, now)
        elif phase == TEST:
            one, two = test(sweeps, unit, x)
        else:
            first, last = unit * PIECE, min((unit + 1) * PIECE, n)
            if phase == MOVE_ON:
                one = _move_on(axes, first, last, body, x, beta)
            elif phase == CORRECT:
                one = _correct(axes, first, last, body, x, now)
            else:
                _copy(axes, first, last, body, now if phase == CLEAR else V, -1 if phase == CLEAR else x)
        place = unit if phase <= TEST else len(sweeps.ends) - 1 + unit
        sums[half, 0, place], sums[half, 1, place] = one, two

    @jit(name=name, fastmath=SUMS)
    def iterate(sweeps, member, meeting, tasks, n, sums, tol, max_iterations, every):
        """What a thread, `member`, does of the iteration; returns how many iterations there were.

        All bodies are at rest, and no rows are selected.

        tasks[g, r] is the first block of group g that thread r takes; the last row of tasks is that of the pieces.
        `sums` holds those of the blocks and then those of the pieces, at first zero: blocks of a group without rows
        are never swept. The sums of a phase are read while others write those of the next one, into the other half.
        """
        blocks, groups, members = len(sweeps.ends) - 1, tasks.shape[0] - 1, tasks.shape[1] - 1
        begin = clock()
        theta, beta, anew, lowest, size = 1.0, 0.0, False, np.inf, 0.0
        iteration, tested, phase, against, linear = 0, 0, CLEAR, 0.0, 0.0
        x, now, half, exact = X, OTHER, 0, False
        least, steps, steps_before = damping_least(tol), 0.0, np.inf
        damping = least
        while True:
            of_rows = phase <= TEST
            for group in range(0 if of_rows else groups, groups if of_rows else groups + 1):
                for unit in range(tasks[group, member], tasks[group, member + 1]):
                    work(sweeps, phase, unit, n, sums, half, x, now, beta, anew)
                if not meet(meeting, members):
                    return -1
            one, two = 0.0, 0.0
            for place in range(0 if of_rows else blocks, blocks if of_rows else sums.shape[2]):
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
                size, exact, anew = one, False, against > 0.0
                iteration += 1
                if sweeps.coulomb:
                    steps += linear
                    if iteration % WINDOW == 0:
                        anew = anew or steps > steps_before
                        damping = damping_after(damping, steps, steps_before, least)
                        steps, steps_before = 0.0, steps
                else:
                    objective = linear + 0.5 * one
                    anew = anew or objective > lowest + RISE * abs(lowest)
                    lowest = objective
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
            if anew:
                theta = 1.0
            after = theta * (np.sqrt(theta * theta + 4.0) - theta) / 2.0
            beta = 0.0 if anew else theta * (1.0 - theta) / (theta * theta + after)
            if sweeps.coulomb:
                beta = min(beta, 1.0 - damping)
            theta, phase = after, RESTART if anew else SWEEP

    return iterate
