"""`reference.sweep_grips` on contacts of balls with spin: one pass over the contacts an iteration, by several threads.

Blocks of space, groups and colours are those of `arrangement`, the iteration is that of `loop`: the bits do not depend
on the number of threads. Contacts that are selected are swept by fours that share no body (`records.grip`), in their
order. The plane is part of space: its third axis is that of the spin.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from jostle import kernels
from jostle._tools.arrays import Array
from jostle.kernels.compiling import Floats, Floats2, Indices2, Ints, OutFloats2, OutFloats3, OutIndices2, OutInts, jit
from jostle.kernels.cpu.arrangement import FIRST, ROW, SECOND, GivenRows, arranged
from jostle.kernels.cpu.loop import SUMS, V, at_rest, iterated, loop_of
from jostle.kernels.cpu.records import ARMS, BY_N, BY_T, MU, SWEPT, N, P, S, Y, grip
from jostle.kernels.memory import aligned
from jostle.kernels.parallel import cut, together
from jostle.kernels.reference.cones import Grip
from jostle.kernels.reference.sweeps import FAR, Stop

VIOLATION, NOISE, BEFORE, NUMBERS = SWEPT, SWEPT + 1, SWEPT + 2, SWEPT + 3
"""Entries of a contact beyond those of `records`: allowed violation of the normal slack, the slack that counts as zero,
and the margin at the test before; and how many entries there are."""


@kernels.sweep_grips.on("numpy")
def sweep_grips(
    grip: Grip, inverse: Array, s0: Array, start: Array, coulomb: bool, stop: Stop, chunks: int,
    places: Array | None,
) -> tuple[Array, int]:  # fmt: skip
    n, (m, d) = len(inverse), grip.normal.shape
    nothing = np.zeros(m)
    given = GivenRows(grip.i, grip.j, grip.normal, nothing + 1.0, nothing, nothing, nothing)
    number, index, _, _, ends, groups = arranged(given, n, places, chunks)
    blocks, pieces = len(ends) - 1, cut(m, chunks)
    both = (2 * number[:, None] + np.arange(2, dtype=np.uint32)).ravel()
    body = at_rest(both, inverse.ravel(), 2 * blocks, 3, chunks)
    contact, room, kept = (
        aligned((m, NUMBERS), np.float64),
        np.zeros(blocks + 1, np.int64),
        np.zeros(blocks, np.int64),
    )
    rest = grip.normal, grip.arms, grip.mu, grip.scale, grip.noise, stop.violation, s0, start, contact
    together(_enter, [(index, *part, *rest) for part in pieces])
    together(_count, [(index, ends, n, *part, room) for part in cut(blocks, chunks)])
    room = room.cumsum()
    four, bodies = aligned((room[-1], SWEPT, 4), np.float64), aligned((room[-1], 8), np.uint32)
    home = aligned((room[-1], 4), np.uint32)
    sweeps = _Sweeps((0,) * 3, index, contact, four, bodies, home, body, ends, room, kept, coulomb)
    iterations = iterated(_iterate, sweeps, groups, 2 * n, stop, chunks)
    p = np.empty((m, d))
    together(_put_back, [(index, contact, *part, p) for part in pieces])
    return p, iterations


@jit()
def _enter(
    index: Indices2, first: int, last: int, normal: Floats2, arms: Floats2, mu: Floats, scale: Floats2, noise: Floats,
    violation: Floats, s0: Floats2, start: Floats2, contact: OutFloats2,
) -> None:  # fmt: skip
    """Write the entries of some contacts."""
    d = normal.shape[1]
    for to in range(first, last):
        c = index[ROW, to]
        for k in range(3):
            contact[to, N + k], contact[to, S + k] = (normal[c, k], s0[c, k]) if k < d else (0.0, 0.0)
            contact[to, P + k] = contact[to, Y + k] = start[c, k] if k < d else 0.0
        contact[to, MU], contact[to, BY_N], contact[to, BY_T] = mu[c], 1.0 / scale[c, 0], 1.0 / scale[c, 1]
        contact[to, ARMS], contact[to, ARMS + 1] = arms[c, 0], arms[c, 1]
        contact[to, VIOLATION], contact[to, NOISE], contact[to, BEFORE] = violation[c], noise[c], -np.inf


@jit(helper=True)
def _share(index, one, other, wall):
    """Whether two contacts share a body that is not the wall."""
    a, b, i, j = index[FIRST, one], index[SECOND, one], index[FIRST, other], index[SECOND, other]
    return a in (i, j) or b == i or (b == j and b != wall)


@jit()
def _count(index: Indices2, ends: Ints, n: int, first: int, last: int, room: OutInts) -> None:
    """room[b + 1] = the most fours that block b needs: that many if all of its contacts are selected."""
    for block in range(first, last):
        begin = ends[block]
        for c in range(ends[block], ends[block + 1]):
            apart = c > begin and c < begin + 4
            for one in range(begin, c if apart else begin):
                apart = apart and not _share(index, one, c, n + block)
            if not apart:
                begin = c
                room[block + 1] += 1


@jit()
def _put_back(index: Indices2, contact: Floats2, first: int, last: int, p: OutFloats2) -> None:
    """The multipliers of some contacts, in the order in which the contacts were given."""
    for c in range(first, last):
        for k in range(p.shape[1]):
            p[index[ROW, c], k] = contact[c, P + k]


class _Sweeps(NamedTuple):
    """Contacts and bodies in the order of the sweeps, and the contacts that are swept in each block, in fours."""

    axes: tuple[int, ...]
    index: Indices2
    contact: OutFloats2
    four: OutFloats3
    """Entries of four contacts; all are zero where there are fewer."""
    bodies: OutIndices2
    """The first bodies of four contacts, and then the second ones; the wall where there are fewer."""
    home: OutIndices2
    """The numbers of four contacts; that of the first where there are fewer."""
    body: OutFloats3
    ends: Ints
    room: Ints
    """Where the fours of each block begin."""
    kept: OutInts
    """How many fours each block has."""
    coulomb: bool


@jit(helper=True, fastmath=SUMS)
def _sweep(sweeps, block, anew, beta):
    """A Gauss-Seidel sweep over selected contacts: P and Y anew, v those of P."""
    first, against, other = sweeps.room[block], 0.0, 0.0
    for k in range(first, first + sweeps.kept[block]):
        one, two = grip(sweeps.four, sweeps.bodies, k, sweeps.body, V, anew, beta, sweeps.coulomb)
        against += one
        other += two
    return against, other


@jit(helper=True, fastmath=SUMS)
def _point(sweeps, block, x):
    """x += M^-1 G^T p."""
    index, contact, body = sweeps.index, sweeps.contact, sweeps.body
    for c in range(np.uint64(sweeps.ends[block]), np.uint64(sweeps.ends[block + 1])):
        px, py, pz = contact[c, P], contact[c, P + 1], contact[c, P + 2]
        if px != 0.0 or py != 0.0 or pz != 0.0:
            nx, ny, nz = contact[c, N], contact[c, N + 1], contact[c, N + 2]
            moment = (ny * pz - nz * py, nz * px - nx * pz, nx * py - ny * px)
            for end in range(2):
                a, arm = 2 * np.uint64(index[end, c]), contact[c, ARMS + end]
                move, turn = body[V, a, 3] * (2 * end - 1), body[V, a + 1, 3] * arm
                for k, each in enumerate((px, py, pz)):
                    body[x, a, k] += move * each
                    body[x, a + 1, k] -= turn * moment[k]


@jit(helper=True, fastmath=SUMS)
def _slip(sweeps, c, x):
    """The slack of a contact at the velocities x."""
    contact, body = sweeps.contact, sweeps.body
    a, b = 2 * np.uint64(sweeps.index[FIRST, c]), 2 * np.uint64(sweeps.index[SECOND, c])
    nx, ny, nz, ri, rj = contact[c, N], contact[c, N + 1], contact[c, N + 2], contact[c, ARMS], contact[c, ARMS + 1]
    wx = ri * body[x, a + 1, 0] + rj * body[x, b + 1, 0]
    wy = ri * body[x, a + 1, 1] + rj * body[x, b + 1, 1]
    wz = ri * body[x, a + 1, 2] + rj * body[x, b + 1, 2]
    return (
        contact[c, S] + body[x, b, 0] - body[x, a, 0] - (wy * nz - wz * ny),
        contact[c, S + 1] + body[x, b, 1] - body[x, a, 1] - (wz * nx - wx * nz),
        contact[c, S + 2] + body[x, b, 2] - body[x, a, 2] - (wx * ny - wy * nx),
    )


@jit(helper=True, fastmath=SUMS)
def _test(sweeps, block, x):
    """At x: the lack of complementarity, and how many contacts are violated by too much; selects those to be swept.

    The contacts that were selected so far are put back to where they belong.
    """
    contact, four, home, first, kept = sweeps.contact, sweeps.four, sweeps.home, sweeps.room[block], sweeps.kept
    for k in range(first, first + kept[block]):
        for lane in range(3, -1, -1):  # the first one last: it is named wherever there are fewer
            for entry in range(P, SWEPT):
                contact[home[k, lane], entry] = four[k, entry, lane]
    product, violated, k, lane = 0.0, 0.0, first - 1, 4
    for c in range(np.uint64(sweeps.ends[block]), np.uint64(sweeps.ends[block + 1])):
        sx, sy, sz = _slip(sweeps, c, x)
        nx, ny, nz, mu, noise = contact[c, N], contact[c, N + 1], contact[c, N + 2], contact[c, MU], contact[c, NOISE]
        px, py, pz = contact[c, P], contact[c, P + 1], contact[c, P + 2]
        s_n, p_n = sx * nx + sy * ny + sz * nz, px * nx + py * ny + pz * nz
        tx, ty, tz = sx - s_n * nx, sy - s_n * ny, sz - s_n * nz
        slip = np.sqrt(tx * tx + ty * ty + tz * tz)
        margin = s_n if sweeps.coulomb else s_n - mu * slip
        if abs(margin) <= noise:
            margin = 0.0
        product += abs(p_n * margin)
        if slip > noise:
            product += abs(p_n * mu * slip + px * tx + py * ty + pz * tz)
        if not margin >= -contact[c, VIOLATION]:
            violated += 1.0
        loaded = p_n != 0.0 or contact[c, Y] != 0.0 or contact[c, Y + 1] != 0.0 or contact[c, Y + 2] != 0.0
        if loaded or margin <= FAR * abs(margin - contact[c, BEFORE]):
            k, lane = _add(sweeps, block, k, lane, c)
        contact[c, BEFORE] = margin
    kept[block] = k + 1 - first
    return product, violated


@jit(helper=True)
def _add(sweeps, block, k, lane, c):
    """Add a contact to four k, which has `lane` of them, or to a new four; returns that and how many it has."""
    four, home, index, bodies = sweeps.four, sweeps.home, sweeps.index, sweeps.bodies
    wall = sweeps.body.shape[1] // 2 - (len(sweeps.ends) - 1) + block
    apart = lane < 4
    for one in range(lane if apart else 0):
        apart = apart and not _share(index, home[k, one], c, wall)
    if not apart:
        k, lane = k + 1, 0
        four[k], bodies[k], home[k] = 0.0, wall, c
    for entry in range(SWEPT):
        four[k, entry, lane] = sweeps.contact[c, entry]
    home[k, lane], bodies[k, lane], bodies[k, 4 + lane] = c, index[FIRST, c], index[SECOND, c]
    return k, lane + 1


_iterate = loop_of("grips", _sweep, _point, _test)
