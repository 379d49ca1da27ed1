"""`reference.sweep_grips` on contacts of balls with spin: one pass over the contacts an iteration, by several threads.

Blocks of space, groups and colours are those of `arrangement`, the phases and the sums those of `fused`: the bits do
not depend on the number of threads. A body is a record of eight numbers: its velocity, its spin, mass and inertia. The
plane is part of space: its third axis is that of the spin.
"""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from jostle import kernels
from jostle._tools.arrays import Array
from jostle.kernels.compiling import Indices2, Ints, Ints2, OutFloats2, OutFloats3, OutIndices, OutInts, jit
from jostle.kernels.cpu.arrangement import FIRST, ROW, SECOND, GivenRows, arranged, cuts
from jostle.kernels.cpu.fused import (
    CLEAR,
    CORRECT,
    MOVE_ON,
    OTHER,
    PIECE,
    POINT,
    RESTART,
    SUMS,
    SWEEP,
    TEST,
    V,
    X,
    following_test,
)
from jostle.kernels.cpu.meeting import ABANDONED, LATE, WHOLE, clock, meet, new_meeting
from jostle.kernels.memory import working_memory
from jostle.kernels.parallel import in_step, judge
from jostle.kernels.reference.cones import DAMPING, WINDOW, Grip, damped
from jostle.kernels.reference.sweeps import DRIFT, FAR, RISE, Stop

WIDTH, MASS, INERTIA = 8, 6, 7
"""Length of the record of a body, and the places of its mass and inertia; beside the velocities v they are inverse."""
AXIS, ARMS, MU, W_N, W_T, SLACK, VIOLATION, BEFORE, NOISE, NUMBERS = 0, 3, 5, 6, 7, 8, 11, 12, 13, 14
"""Entries of `grip`: normal, arms, friction coefficient, 1 / W_n, 1 / W_t, slack at w, allowed violation of the normal
slack, the margin at the test before, and the slack that counts as zero."""
P, Y = 0, 3
"""Entries of `push`: the multiplier, and the one that the sweep starts from."""

_damped = jit(helper=True)(damped)


@kernels.sweep_grips.on("numpy")
def sweep_grips(
    grip: Grip, inverse: Array, s0: Array, start: Array, coulomb: bool, stop: Stop, chunks: int,
    places: Array | None,
) -> tuple[Array, int]:  # fmt: skip
    n, (m, d) = len(inverse), grip.normal.shape
    nothing = np.zeros(m)
    with working_memory() as memory:
        given = GivenRows(grip.i, grip.j, grip.normal, nothing + 1.0, nothing, nothing, nothing)
        number, index, _, _, ends, groups = arranged(given, n, places, chunks, memory)
        order = index[ROW]
        table, push = np.zeros((m, NUMBERS)), np.zeros((m, 6))
        table[:, AXIS : AXIS + d], table[:, ARMS : ARMS + 2] = grip.normal[order], grip.arms[order]
        table[:, MU], table[:, W_N : W_T + 1] = grip.mu[order], 1.0 / grip.scale[order]
        table[:, SLACK : SLACK + d], table[:, NOISE] = s0[order], grip.noise[order]
        table[:, VIOLATION], table[:, BEFORE] = stop.violation[order], -np.inf
        push[:, P : P + d] = push[:, Y : Y + d] = start[order]
        blocks, pieces = len(ends) - 1, -(-n // PIECE)
        body = np.zeros((3, n + blocks, WIDTH))
        body[V, number, MASS:] = inverse
        body[X, number, MASS:] = body[OTHER, number, MASS:] = 1.0 / inverse
        chosen, kept = np.zeros(m, np.uint32), np.zeros(blocks, np.int64)
        sums, meeting = np.zeros((2, 2, blocks + pieces)), new_meeting()
        with_rows = [(a, b) for a, b in pairwise(groups) if ends[b] > ends[a]]

        def divided(members: int) -> Any:
            of_pieces = pieces * np.arange(members + 1) // members
            tasks = np.array([*(a + cuts(ends[a : b + 1], members) for a, b in with_rows), of_pieces])
            rest = index, table, push, body, ends, chosen, kept, tasks, n, sums, coulomb, *stop[1:]
            return _iterate, [(member, meeting, *rest) for member in range(members)]

        iterations, members = in_step(chunks, divided, partial(meeting.__setitem__, ABANDONED, 1))
        judge(members, float(meeting[LATE]), float(meeting[WHOLE]))
        p = np.empty((m, d))
        p[order] = push[:, P : P + d]
    return p, iterations


class _Sweeps(NamedTuple):
    """Contacts and bodies in the order of the sweeps, and the numbers of the contacts that are swept in each block."""

    index: Indices2
    grip: OutFloats2
    push: OutFloats2
    body: OutFloats3
    ends: Ints
    chosen: OutIndices
    kept: OutInts


@jit(helper=True, fastmath=SUMS)
def _slip(grip, c, body, x, a, b):
    """The slack of a contact at the velocities x."""
    nx, ny, nz = grip[c, AXIS], grip[c, AXIS + 1], grip[c, AXIS + 2]
    ri, rj = grip[c, ARMS], grip[c, ARMS + 1]
    wx = ri * body[x, a, 3] + rj * body[x, b, 3]
    wy = ri * body[x, a, 4] + rj * body[x, b, 4]
    wz = ri * body[x, a, 5] + rj * body[x, b, 5]
    return (
        grip[c, SLACK] + body[x, b, 0] - body[x, a, 0] - (wy * nz - wz * ny),
        grip[c, SLACK + 1] + body[x, b, 1] - body[x, a, 1] - (wz * nx - wx * nz),
        grip[c, SLACK + 2] + body[x, b, 2] - body[x, a, 2] - (wx * ny - wy * nx),
    )


@jit(helper=True, fastmath=SUMS)
def _push(grip, c, body, x, a, b, px, py, pz):
    """The velocities x change by an impulse at a contact; the inverse masses are beside v."""
    nx, ny, nz = grip[c, AXIS], grip[c, AXIS + 1], grip[c, AXIS + 2]
    tx, ty, tz = ny * pz - nz * py, nz * px - nx * pz, nx * py - ny * px
    move, turn = body[V, a, MASS], grip[c, ARMS] * body[V, a, INERTIA]
    body[x, a, 0] -= move * px
    body[x, a, 1] -= move * py
    body[x, a, 2] -= move * pz
    body[x, a, 3] -= turn * tx
    body[x, a, 4] -= turn * ty
    body[x, a, 5] -= turn * tz
    move, turn = body[V, b, MASS], grip[c, ARMS + 1] * body[V, b, INERTIA]
    body[x, b, 0] += move * px
    body[x, b, 1] += move * py
    body[x, b, 2] += move * pz
    body[x, b, 3] -= turn * tx
    body[x, b, 4] -= turn * ty
    body[x, b, 5] -= turn * tz


@jit(helper=True, fastmath=SUMS)
def _sweep(sweeps, first, last, source, beta, coulomb):
    """A Gauss-Seidel sweep over selected contacts: P and Y anew, v those of P.

    Returns how far the sweep goes against the way of P, and the linear term s0 . P of the dual objective, by Coulomb's
    law instead the square of the steps of all multipliers.
    """
    index, grip, push, body = sweeps.index, sweeps.grip, sweeps.push, sweeps.body
    against, other = 0.0, 0.0
    for at in range(np.uint64(first), np.uint64(last)):
        c = sweeps.chosen[at]
        a, b = index[FIRST, c], index[SECOND, c]
        sx, sy, sz = _slip(grip, c, body, V, a, b)
        nx, ny, nz = grip[c, AXIS], grip[c, AXIS + 1], grip[c, AXIS + 2]
        yx, yy, yz = push[c, source], push[c, source + 1], push[c, source + 2]
        by_n, by_t, mu = grip[c, W_N], grip[c, W_T], grip[c, MU]
        s_n, y_n = sx * nx + sy * ny + sz * nz, yx * nx + yy * ny + yz * nz
        wanted = y_n - by_n * s_n
        tx = yx - by_t * sx - (y_n - by_t * s_n) * nx
        ty = yy - by_t * sy - (y_n - by_t * s_n) * ny
        tz = yz - by_t * sz - (y_n - by_t * s_n) * nz
        t = np.sqrt(tx * tx + ty * ty + tz * tz)
        if not coulomb and t > mu * wanted:
            ratio = by_n / by_t
            wanted = (wanted + ratio * mu * t) / (1.0 + ratio * mu * mu)
        wanted = max(wanted, 0.0)
        most = mu * wanted
        factor = most / t if t > most else 1.0
        qx, qy, qz = wanted * nx + factor * tx, wanted * ny + factor * ty, wanted * nz + factor * tz
        dx, dy, dz = qx - yx, qy - yy, qz - yz
        _push(grip, c, body, V, a, b, dx, dy, dz)
        wx, wy, wz = qx - push[c, P], qy - push[c, P + 1], qz - push[c, P + 2]
        against -= (dx * wx + dy * wy + dz * wz) / by_n
        if coulomb:
            other += (dx * dx + dy * dy + dz * dz) / by_n
        else:
            other += grip[c, SLACK] * qx + grip[c, SLACK + 1] * qy + grip[c, SLACK + 2] * qz
        push[c, P], push[c, P + 1], push[c, P + 2] = qx, qy, qz
        push[c, Y], push[c, Y + 1], push[c, Y + 2] = qx + beta * wx, qy + beta * wy, qz + beta * wz
    return against, other


@jit(helper=True, fastmath=SUMS)
def _point(sweeps, first, last, x):
    """x += M^-1 G^T p."""
    index, grip, push, body = sweeps.index, sweeps.grip, sweeps.push, sweeps.body
    for c in range(np.uint64(first), np.uint64(last)):
        px, py, pz = push[c, P], push[c, P + 1], push[c, P + 2]
        if px != 0.0 or py != 0.0 or pz != 0.0:
            _push(grip, c, body, x, index[FIRST, c], index[SECOND, c], px, py, pz)


@jit(helper=True, fastmath=SUMS)
def _test(sweeps, first, last, x, coulomb):
    """At x: the lack of complementarity, how many contacts are violated by too much, how many are selected."""
    index, grip, push, body = sweeps.index, sweeps.grip, sweeps.push, sweeps.body
    product, violated, to = 0.0, 0.0, first
    for c in range(np.uint64(first), np.uint64(last)):
        sx, sy, sz = _slip(grip, c, body, x, index[FIRST, c], index[SECOND, c])
        nx, ny, nz = grip[c, AXIS], grip[c, AXIS + 1], grip[c, AXIS + 2]
        px, py, pz = push[c, P], push[c, P + 1], push[c, P + 2]
        s_n, p_n = sx * nx + sy * ny + sz * nz, px * nx + py * ny + pz * nz
        tx, ty, tz = sx - s_n * nx, sy - s_n * ny, sz - s_n * nz
        slip, noise = np.sqrt(tx * tx + ty * ty + tz * tz), grip[c, NOISE]
        margin = s_n if coulomb else s_n - grip[c, MU] * slip
        if abs(margin) <= noise:
            margin = 0.0
        product += abs(p_n * margin)
        if slip > noise:
            product += abs(p_n * grip[c, MU] * slip + px * tx + py * ty + pz * tz)
        if not margin >= -grip[c, VIOLATION]:
            violated += 1.0
        loaded = p_n != 0.0 or push[c, Y] != 0.0 or push[c, Y + 1] != 0.0 or push[c, Y + 2] != 0.0
        if loaded or margin <= FAR * abs(margin - grip[c, BEFORE]):
            sweeps.chosen[to] = c
            to += 1
        grip[c, BEFORE] = margin
    return product, violated, to - first


@jit(helper=True, fastmath=SUMS)
def _move_on(first, last, body, x, beta):
    """x = v, the velocities of p; v those of y; returns |x|^2_M."""
    size = 0.0
    for a in range(np.uint64(first), np.uint64(last)):
        for k in range(MASS):
            now = body[V, a, k]
            body[V, a, k] = now + beta * (now - body[x, a, k])
            body[x, a, k] = now
        size += _square(body, x, a)
    return size


@jit(helper=True, fastmath=SUMS)
def _square(body, x, a):
    """The square of the velocities x of a body in the metric."""
    vx, vy, vz = body[x, a, 0], body[x, a, 1], body[x, a, 2]
    wx, wy, wz = body[x, a, 3], body[x, a, 4], body[x, a, 5]
    return body[x, a, MASS] * (vx * vx + vy * vy + vz * vz) + body[x, a, INERTIA] * (wx * wx + wy * wy + wz * wz)


@jit(helper=True)
def _work(sweeps, phase, unit, n, sums, half, x, now, beta, source, coulomb):
    """What a block or a piece does in a phase: two sums, and in a test how many contacts are selected."""
    body, ends, kept = sweeps.body, sweeps.ends, sweeps.kept
    one, two = 0.0, 0.0
    if phase <= TEST:
        first, last = ends[unit], ends[unit + 1]
        if phase == SWEEP:
            one, two = _sweep(sweeps, first, first + kept[unit], source, beta, coulomb)
        elif phase == POINT:
            _point(sweeps, first, last, now)
        else:
            one, two, kept[unit] = _test(sweeps, first, last, x, coulomb)
    else:
        first, last = unit * PIECE, min((unit + 1) * PIECE, n)
        if phase == MOVE_ON:
            one = _move_on(first, last, body, x, beta)
        else:
            for a in range(first, last):
                for k in range(MASS):
                    if phase == CORRECT:
                        body[V, a, k] += body[now, a, k] - body[x, a, k]
                    elif phase == CLEAR:
                        body[now, a, k] = 0.0
                    else:
                        body[V, a, k] = body[x, a, k]
                if phase == CORRECT:
                    one += _square(body, now, a)
    place = unit if phase <= TEST else len(ends) - 1 + unit
    sums[half, 0, place], sums[half, 1, place] = one, two


@jit(fastmath=SUMS)
def _iterate(
    member: int, meeting: OutInts, index: Indices2, grip: OutFloats2, push: OutFloats2, body: OutFloats3, ends: Ints,
    chosen: OutIndices, kept: OutInts, tasks: Ints2, n: int, sums: OutFloats3, coulomb: bool,
    tol: float, max_iterations: int, every: int,
) -> int:  # fmt: skip
    """What a thread, `member`, does of the iteration; returns how many iterations there were. See `fused`."""
    sweeps = _Sweeps(index, grip, push, body, ends, chosen, kept)
    groups, members = tasks.shape[0] - 1, tasks.shape[1] - 1
    begin = clock()
    theta, beta, source, lowest, size = 1.0, 0.0, Y, np.inf, 0.0
    iteration, tested, phase, against, linear = 0, 0, CLEAR, 0.0, 0.0
    x, now, half, exact = X, OTHER, 0, False
    damping, steps, steps_before = DAMPING, 0.0, np.inf
    while True:
        of_rows = phase <= TEST
        for group in range(0 if of_rows else groups, groups if of_rows else groups + 1):
            for unit in range(tasks[group, member], tasks[group, member + 1]):
                _work(sweeps, phase, unit, n, sums, half, x, now, beta, source, coulomb)
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
            iteration += 1
            source = P if against > 0.0 else Y
            if coulomb:
                steps += linear
                if iteration % WINDOW == 0:
                    if steps > steps_before:
                        source = P
                    damping = _damped(damping, steps, steps_before)
                    steps, steps_before = 0.0, steps
            else:
                objective = linear + 0.5 * one
                if objective > lowest + RISE * abs(lowest):
                    source = P
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
        if source == P:
            theta = 1.0
        after = theta * (np.sqrt(theta * theta + 4.0) - theta) / 2.0
        beta = 0.0 if source == P else theta * (1.0 - theta) / (theta * theta + after)
        if coulomb:
            beta = min(beta, 1.0 - damping)
        theta, phase = after, RESTART if source == P else SWEEP
