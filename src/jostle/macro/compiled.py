"""The loops of densities in numba: see `jostle.macro.kernels`."""

from __future__ import annotations

from math import inf

import numpy as np

from jostle.kernels.compiling import (
    Bools,
    Bools2,
    Floats,
    Floats2,
    Ints,
    Ints2,
    OutBools,
    OutFloats,
    OutFloats2,
    OutInts,
    OutInts2,
    jit,
)
from jostle.kernels.reference.dense import ROUND_OFF
from jostle.macro import kernels
from jostle.macro.kernels import COLLAPSED, FLEETING, LEVEL, SLOWEST

# Blocks on a line from impact to impact: the times of all contacts in a tournament tree.
#
# Body k is point k - 1, and bodies 0 and n + 1 are the walls. Contact k is that between body k and the one before. A
# cluster has the number of its first body, so that its contact on the left has the same number.

Y, V, A, MASS, SINCE, GAP, RATE, OFFSET = range(8)
"""Columns of the state, one line of the cache: position, velocity, acceleration and mass of a cluster, and their time;
gap and rate of its contact on the left during a burst; velocity relative to the first cluster of its impact."""
CLOSED, AT_REST = 1, 2
"""Bits of the part that a contact takes in an impact: closed, and not separating; at rest, up to round-off."""
NOW, FASTEST = range(2)
"""Places of the time of the last impact, and of the largest velocity so far."""
IMPACTS, MERGERS, PARABOLAS = range(3)
"""Places of the numbers of impacts and mergers so far, and of the parabolas since the buffer was last emptied."""
BITS = 3
"""Each node of the tournament tree holds the smallest of 2^BITS below: one line of the cache."""
BUFFERED = 1000
"""Smallest number of parabolas that are kept before the buffer is emptied."""

closing_time = jit(helper=True)(kernels.closing_time)


@kernels.collisions.on("numpy")
def collisions(
    y: Floats, v: Floats, a: Floats, mass: Floats, walls: Floats, e: float, until: float, scale: float, most: int
) -> tuple[Floats, OutInts, Floats, OutInts2, Floats, int]:
    """The parabolas and mergers of n points up to a time: see `kernels.collisions`."""
    n = len(y)
    state = np.zeros((n + 2, 8))
    state[1:-1, :4] = np.stack([y, v, a, mass], axis=1)
    state[0, Y], state[-1, Y] = walls
    first, last, name = np.arange(n + 2), np.arange(n + 2), np.arange(n + 2) - 1
    name[-1] = -2
    held, changed, part = np.zeros(n + 2, dtype=bool), np.zeros(n + 2, dtype=bool), np.zeros(n + 2, np.int64)
    held[[0, -1]] = True
    tree, levels = _tree(n + 2)
    so_far = np.array([0.0, np.abs(v).max(initial=0.0)])
    level, counts, stack = LEVEL * np.abs(a).max(initial=0.0), np.zeros(3, np.int64), np.empty(n + 2, np.int64)
    clusters, parabolas = np.empty(2 * n + BUFFERED, np.int64), np.empty((2 * n + BUFFERED, 3))
    pairs, merged = np.empty((n + 1, 4), np.int64), np.empty((n + 1, 4))
    _watch_all(state, tree, levels, so_far, level, scale)
    found = []
    while True:
        more = _follow(
            state, first, last, name, held, changed, part, tree, levels, so_far, counts, stack,
            clusters, parabolas, pairs, merged, e, until, scale, level, most,
        )  # fmt: skip
        found.append((clusters[: counts[PARABOLAS]].copy(), parabolas[: counts[PARABOLAS]].copy()))
        counts[PARABOLAS] = 0
        if not more:
            break
    k = counts[MERGERS]
    every = (np.concatenate(column) for column in zip(*found, strict=True))
    return np.array([so_far[NOW], tree[-1]]), *every, pairs[:k].copy(), merged[:k].copy(), int(counts[IMPACTS])


def _tree(leaves: int) -> tuple[Floats, Ints]:
    """A tournament tree without times, level by level from the leaves to the root, and where each level begins."""
    sizes = []
    while leaves > 1:
        sizes.append(-(-leaves >> BITS << BITS))
        leaves = sizes[-1] >> BITS
    levels = np.concatenate([[0], np.cumsum(sizes)])
    return np.full(levels[-1] + 1, np.inf), levels


@jit(helper=True)
def _between(state: OutFloats2, left: int, right: int, now: float, scale: float) -> tuple[float, float, float, float]:
    """The gap, its rate and its change of rate now, and its round-off."""
    s, t = now - state[left, SINCE], now - state[right, SINCE]
    gap = (
        state[right, Y]
        + t * (state[right, V] + 0.5 * t * state[right, A])
        - state[left, Y]
        - s * (state[left, V] + 0.5 * s * state[left, A])
    )
    place = state[left, Y] if abs(state[left, Y]) < inf else state[right, Y]
    rate = state[right, V] + t * state[right, A] - state[left, V] - s * state[left, A]
    return gap, rate, state[right, A] - state[left, A], ROUND_OFF * (scale + abs(place))


@jit(helper=True)
def _next_impact(state: OutFloats2, left: int, right: int, so_far: OutFloats, level: float, scale: float) -> float:
    """The time of the next impact of a contact."""
    gap, rate, change, noise = _between(state, left, right, so_far[NOW], scale)
    return so_far[NOW] + closing_time(gap, rate, change, noise, SLOWEST * so_far[FASTEST], level)


@jit()
def _watch_all(state: OutFloats2, tree: OutFloats, levels: Ints, so_far: OutFloats, level: float, scale: float) -> None:
    """The times of all contacts, and the tree above them."""
    for k in range(1, len(state)):
        tree[k] = _next_impact(state, k - 1, k, so_far, level, scale)
    for height in range(1, len(levels)):
        for node in range(levels[height] - levels[height - 1] >> BITS):
            tree[levels[height] + node] = _least(tree, levels[height - 1] + (node << BITS))


@jit(helper=True)
def _least(tree: OutFloats, start: int) -> float:
    """The smallest of the nodes under one."""
    least = tree[start]
    for node in range(start + 1, start + (1 << BITS)):
        least = min(least, tree[node])
    return least


@jit(helper=True)
def _set_time(tree: OutFloats, levels: Ints, contact: int, time: float) -> None:
    """Set the time of a contact, and update the nodes above it."""
    node = contact
    tree[node] = time
    for height in range(1, len(levels)):
        least = tree[levels[height - 1] + node]
        node >>= BITS
        place = levels[height] + node
        if least > tree[place]:
            least = _least(tree, levels[height - 1] + (node << BITS))
        if least == tree[place]:
            return
        tree[place] = least


@jit(helper=True)
def _first_contact(tree: OutFloats, levels: Ints) -> int:
    """The contact with the smallest time; the leftmost one of several."""
    node, least = 0, tree[len(tree) - 1]
    for height in range(len(levels) - 2, -1, -1):
        node <<= BITS
        while tree[levels[height] + node] != least:
            node += 1
    return node


@jit(helper=True)
def _sum(one: float, other: float) -> float:
    """The sum of two numbers; zero where they cancel to round-off."""
    total = one + other
    return 0.0 if abs(total) <= ROUND_OFF * (abs(one) + abs(other)) else total


@jit(helper=True)
def _admit(state: OutFloats2, cluster: int, so_far: OutFloats) -> None:
    """Move a cluster to the time of the burst."""
    s = so_far[NOW] - state[cluster, SINCE]
    state[cluster, Y] += s * (state[cluster, V] + 0.5 * s * state[cluster, A])
    state[cluster, V] += s * state[cluster, A]
    state[cluster, SINCE] = so_far[NOW]
    so_far[FASTEST] = max(so_far[FASTEST], abs(state[cluster, V]))


@jit(helper=True)
def _resolve(
    state: OutFloats2, first: OutInts, tree: OutFloats, levels: Ints, contact: int, so_far: OutFloats, scale: float
) -> None:
    """Find the gap and the rate of a contact of the burst, and take its time out of the tree."""
    if 0 < contact < len(state):
        gap, rate, _, noise = _between(state, first[contact - 1], contact, so_far[NOW], scale)
        state[contact, GAP] = 0.0 if gap <= noise else gap
        state[contact, RATE] = 0.0 if abs(rate) <= SLOWEST * so_far[FASTEST] else rate
        _set_time(tree, levels, contact, inf)


@jit(helper=True)
def _grow(
    state: OutFloats2, first: OutInts, last: OutInts, tree: OutFloats, levels: Ints, contact: int, begin: int,
    end: int, so_far: OutFloats, scale: float,
) -> tuple[int, int]:  # fmt: skip
    """The clusters of the burst, with those at a contact that closes, and those that touch them."""
    if begin > end:
        begin, end = first[contact - 1], last[contact]
        _admit(state, begin, so_far)
        _admit(state, contact, so_far)
        _resolve(state, first, tree, levels, begin, so_far, scale)
        _resolve(state, first, tree, levels, contact, so_far, scale)
        _resolve(state, first, tree, levels, end + 1, so_far, scale)
    while begin > 0 and (begin >= contact or state[begin, GAP] == 0.0):
        begin = first[begin - 1]
        _admit(state, begin, so_far)
        _resolve(state, first, tree, levels, begin, so_far, scale)
    while end + 1 < len(state) and (end < contact or state[end + 1, GAP] == 0.0):
        _admit(state, end + 1, so_far)
        end = last[end + 1]
        _resolve(state, first, tree, levels, end + 1, so_far, scale)
    state[contact, GAP] = 0.0
    return begin, end


@jit(helper=True)
def _collide(
    state: OutFloats2, first: OutInts, last: OutInts, held: OutBools, changed: OutBools, part: OutInts, begin: int,
    end: int, so_far: OutFloats, scale: float, e: float,
) -> None:  # fmt: skip
    """Moreau's law for all contacts of the clusters begin to end that are closed and do not separate."""
    k = last[begin] + 1
    while k <= end:
        noise = _between(state, first[k - 1], k, so_far[NOW], scale)[3]
        part[k] = CLOSED if state[k, GAP] == 0.0 and state[k, RATE] <= 0.0 else 0
        if state[k, GAP] <= noise and abs(state[k, RATE]) <= SLOWEST * so_far[FASTEST]:
            part[k] |= AT_REST
        k = last[k] + 1
    k = last[begin] + 1
    while k <= end:
        if not part[k] & CLOSED:
            k = last[k] + 1
            continue
        left, closing = first[k - 1], 0.0
        while k <= end and part[k] & CLOSED:
            closing = max(closing, -state[k, RATE])
            k = last[k] + 1
        used = e
        if closing <= COLLAPSED * so_far[FASTEST]:  # the limit of infinitely many impacts: all contacts close together
            used = 0.0
            while left > begin and part[left] & AT_REST:
                left = first[left - 1]
            while k <= end and part[k] & AT_REST:
                k = last[k] + 1
        _hit(state, first, last, held, changed, left, k - 1, used)


@jit(helper=True)
def _hit(
    state: OutFloats2, first: OutInts, last: OutInts, held: OutBools, changed: OutBools, begin: int, end: int, e: float
) -> None:
    """Give the clusters begin to end one place, and the velocities of Moreau's law."""
    y, mean, mass, offset = state[begin, Y], 0.0, state[begin, MASS], 0.0
    at_rest, wall, of_wall = held[begin], y, 0.0
    state[begin, OFFSET] = 0.0
    k = last[begin] + 1
    while k <= end:
        offset += state[k, RATE]
        state[k, OFFSET] = offset
        mass += state[k, MASS]
        if mass > 0.0:
            y += state[k, MASS] / mass * (state[k, Y] - y)
            mean += state[k, MASS] / mass * (offset - mean)
        if held[k]:
            at_rest, wall, of_wall = True, state[k, Y], offset
        state[k, GAP], state[k, RATE] = 0.0, -e * state[k, RATE] + 0.0
        k = last[k] + 1
    if at_rest:
        y, mean = wall, of_wall
    k = begin
    while k <= end:
        if not held[k]:
            state[k, Y], changed[k] = y, True
            state[k, V] += (1.0 + e) * (mean - state[k, OFFSET])
        k = last[k] + 1
    if not held[begin]:
        state[begin, RATE] = _sum(state[begin, RATE], (1.0 + e) * mean)
    if end + 1 < len(state) and not held[first[end]]:
        state[end + 1, RATE] = _sum(state[end + 1, RATE], (1.0 + e) * (offset - mean))


@jit(helper=True)
def _join(state: OutFloats2, held: OutBools, first: OutInts, last: OutInts, left: int, right: int) -> None:
    mass = state[left, MASS] + state[right, MASS]
    if held[left] or held[right]:
        if not held[left]:
            state[left, Y] = state[right, Y]
        state[left, V], state[left, A], held[left] = 0.0, 0.0, True
    else:
        part = state[right, MASS] / mass
        state[left, V] += part * (state[right, V] - state[left, V])
        state[left, A] += part * (state[right, A] - state[left, A])
    state[left, MASS] = mass
    last[left] = last[right]
    first[last[left]] = left


@jit(helper=True)
def _merge(
    state: OutFloats2, first: OutInts, last: OutInts, name: OutInts, held: OutBools, changed: OutBools,
    so_far: OutFloats, counts: OutInts, stack: OutInts, pairs: OutInts2, merged: OutFloats2, begin: int, end: int,
    level: float,
) -> None:  # fmt: skip
    """Join those of the clusters begin to end that are at rest with each other, and that nothing pulls apart."""
    top, k = -1, begin
    while k <= end:
        top += 1
        stack[top] = k
        k = last[k] + 1
        while top > 0:
            left, right = stack[top - 1], stack[top]
            if state[right, GAP] > 0.0 or state[right, RATE] != 0.0 or state[right, A] - state[left, A] > level:
                break
            m = counts[MERGERS]
            pairs[m, 0], pairs[m, 1] = name[left], name[right]
            _join(state, held, first, last, left, right)
            pairs[m, 2], pairs[m, 3] = max(left, 1) - 1, min(last[left], len(state) - 2) - 1
            merged[m, 0], merged[m, 1] = so_far[NOW], state[left, V]
            merged[m, 2], merged[m, 3] = state[left, MASS], state[left, A]
            name[left], changed[left] = len(state) - 2 + m, True
            counts[MERGERS] += 1
            top -= 1


@jit(helper=True)
def _record(
    state: OutFloats2, last: OutInts, name: OutInts, changed: OutBools, counts: OutInts, clusters: OutInts,
    parabolas: OutFloats2, begin: int, end: int, now: float,
) -> None:  # fmt: skip
    """Begin a parabola for each cluster whose velocity has changed."""
    k = begin
    while k <= end:
        if changed[k] and name[k] >= 0:
            p = counts[PARABOLAS]
            clusters[p] = name[k]
            parabolas[p, 0], parabolas[p, 1], parabolas[p, 2] = now, state[k, Y], state[k, V]
            counts[PARABOLAS] += 1
        changed[k] = False
        k = last[k] + 1


@jit(helper=True)
def _soonest(state: OutFloats2, first: OutInts, last: OutInts, begin: int, end: int, level: float) -> tuple[float, int]:
    """The time until the next contact of the clusters begin to end closes, and this contact."""
    soonest, contact = inf, -1
    k = max(begin, last[0] + 1)
    while k <= end + 1 and k < len(state):
        change = state[k, A] - state[first[k - 1], A]
        time = closing_time(state[k, GAP], state[k, RATE], change, 0.0, 0.0, level)
        if time < soonest:
            soonest, contact = time, k
        k = last[k] + 1
    return soonest, contact


@jit(helper=True)
def _move(state: OutFloats2, first: OutInts, last: OutInts, begin: int, end: int, s: float, now: float) -> None:
    """Advance the clusters begin to end, and their contacts."""
    k = max(begin, last[0] + 1)
    while k <= end + 1 and k < len(state):
        gap, rate, change = state[k, GAP], state[k, RATE], s * (state[k, A] - state[first[k - 1], A])
        after = gap + s * (rate + 0.5 * change)
        state[k, GAP] = 0.0 if after < ROUND_OFF * (gap + s * (abs(rate) + abs(change))) else after
        state[k, RATE] = _sum(rate, change)
        k = last[k] + 1
    k = begin
    while k <= end:
        state[k, Y] += s * (state[k, V] + 0.5 * s * state[k, A])
        state[k, V] += s * state[k, A]
        state[k, SINCE] = now
        k = last[k] + 1


@jit()
def _follow(
    state: OutFloats2, first: OutInts, last: OutInts, name: OutInts, held: OutBools, changed: OutBools, part: OutInts,
    tree: OutFloats, levels: Ints, so_far: OutFloats, counts: OutInts, stack: OutInts, clusters: OutInts,
    parabolas: OutFloats2, pairs: OutInts2, merged: OutFloats2, e: float, until: float, scale: float, level: float,
    most: int,
) -> bool:  # fmt: skip
    """Continue until the time, the largest number of impacts, or until the buffer may be full; True if it may."""
    bodies, root = len(state), len(tree) - 1
    fleeting = FLEETING if 0.0 < e < 1.0 else 0.0
    while counts[IMPACTS] < most and tree[root] < inf and tree[root] <= until:
        if counts[PARABOLAS] + 2 * bodies > len(clusters):
            return True
        contact = _first_contact(tree, levels)
        so_far[NOW] = max(so_far[NOW], tree[root])
        start, elapsed, recorded, begin, end = so_far[NOW], 0.0, 0.0, 0, -1
        while True:
            begin, end = _grow(state, first, last, tree, levels, contact, begin, end, so_far, scale)
            counts[IMPACTS] += 1
            _collide(state, first, last, held, changed, part, begin, end, so_far, scale, e)
            _merge(state, first, last, name, held, changed, so_far, counts, stack, pairs, merged, begin, end, level)
            s, contact = _soonest(state, first, last, begin, end, level)
            if start + elapsed + s > tree[root]:
                s, contact = max(tree[root] - so_far[NOW], 0.0), _first_contact(tree, levels)
            if s > fleeting * so_far[NOW] or start + elapsed + s > until or counts[IMPACTS] >= most:
                break
            if counts[PARABOLAS] + 2 * bodies > len(clusters):
                break
            elapsed += s
            if elapsed - recorded > ROUND_OFF * start:
                _record(state, last, name, changed, counts, clusters, parabolas, begin, end, so_far[NOW])
                so_far[NOW], recorded = start + elapsed, elapsed
            _move(state, first, last, begin, end, s, so_far[NOW])
        _record(state, last, name, changed, counts, clusters, parabolas, begin, end, so_far[NOW])
        k = max(begin, last[0] + 1)
        while k <= end + 1 and k < bodies:
            _set_time(tree, levels, k, _next_impact(state, first[k - 1], k, so_far, level, scale))
            k = last[k] + 1
    return False


# The obstacle problem on a grid: primal-dual active sets around conjugate gradients, preconditioned by multigrid.
#
# All grids of the hierarchy lie one after the other in flat arrays, each with a rim of empty cells. Four cells become
# one; the coarse matrix P^T A P is halved, because a coarse face is twice as long and twice as far from its neighbours,
# and so carries as much as a fine one (Braess 1995). One red-black Gauss-Seidel sweep down and its mirror image up make
# the cycle symmetric. Sums have a fixed order: if the compiler chose it, the last bits would depend on the version of a
# loop that runs, which addresses of arrays decide.


FEW = 40
"""Largest number of cells of a grid that is not made coarser."""
SETTLE = 12
"""Number of sweeps on the coarsest grid."""
HALF = 0.5
TIGHTER = 1e-5
"""Factor by which the allowed residual is reduced once no cell changes sides, or after PATIENCE steps."""
PATIENCE = 10
"""Number of steps after which the smaller residual is required."""


@kernels.obstacle.on("numpy")
def obstacle(
    east: Floats2, north: Floats2, extra: Floats2, b: Floats2, start: Floats2, jammed: Bools2, held: Bools2,
    precision: float, tol: float, zero: float, most: int, cycles: int,
) -> tuple[Floats2, int, int]:  # fmt: skip
    """See `kernels.obstacle`: (p, steps, cycles). jammed: the cells to start from; held: those that stay jammed.

    Linear systems are solved to |r| <= precision |b| as long as cells change sides, and to tol |b| in the end. A
    pressure below the fraction `zero` of the largest, or a rate below this fraction of the largest |b|, has no sign.
    """
    nx, ny = b.shape
    table, length = _levels(nx, ny)
    framed, cells = (nx + 2, ny + 2), np.s_[1:-1, 1:-1]
    D, E, N, inverse, z, r = (np.zeros(length) for _ in range(6))
    size = framed[0] * framed[1]
    diagonal, eastward, northward = (grid[:size].reshape(framed) for grid in (D, E, N))
    eastward[1:nx, 1:-1], northward[1:-1, 1:ny] = east[:-1], north[:, :-1]
    diagonal[cells] = extra + eastward[cells] + northward[cells] + eastward[:-2, 1:-1] + northward[1:-1, :-2]
    p, rhs, d, Ad = (np.zeros(framed) for _ in range(4))
    there, inside, stays = diagonal > 0.0, np.zeros(framed, np.bool_), np.zeros(framed, np.bool_)
    inside[cells], stays[cells] = jammed & there[cells], held
    rhs[cells], p[cells] = np.where(there[cells], b, 0.0), np.where(inside[cells], start, 0.0)
    flat = (array.ravel() for array in (p, d, Ad, rhs, inside, stays | ~there))
    step, spent = _active_sets(table, D, E, N, inverse, z, r, *flat, precision, tol, zero, most, cycles)
    return p[cells].copy(), step, spent


def _levels(nx: int, ny: int) -> tuple[Ints2, int]:
    """(l, 4): rows, columns, place of the first entry, stride of each grid; and the length of all of them."""
    table, first = [], 0
    while True:
        table.append((nx, ny, first, ny + 2))
        first += (nx + 2) * (ny + 2)
        if nx * ny <= FEW:
            return np.array(table), first
        nx, ny = (nx + 1) // 2, (ny + 1) // 2


@jit(helper=True)
def _grid(table: Ints2, level: int) -> tuple[int, int, int, int]:
    """Rows, columns, place of the first entry, and stride of a grid."""
    return table[level, 0], table[level, 1], table[level, 2], table[level, 3]


@jit(helper=True)
def _coarsen(table: Ints2, level: int, D: OutFloats, E: OutFloats, N: OutFloats, inverse: OutFloats) -> None:
    """The matrix on the next grid, of those cells that have an `inverse`."""
    nx, ny, o, s = _grid(table, level)
    nX, nY, f, S = _grid(table, level + 1)
    for k in range(f, f + (nX + 2) * (nY + 2)):
        D[k], E[k], N[k], inverse[k] = 0.0, 0.0, 0.0, 0.0
    for i in range(1, nx + 1):
        for j in range(1, ny + 1):
            k = o + i * s + j
            if inverse[k] == 0.0:
                continue
            K = f + ((i + 1) >> 1) * S + ((j + 1) >> 1)
            D[K] += HALF * D[k]
            if E[k] != 0.0 and inverse[k + s] != 0.0:
                if i & 1:
                    D[K] -= E[k]
                else:
                    E[K] += HALF * E[k]
            if N[k] != 0.0 and inverse[k + 1] != 0.0:
                if j & 1:
                    D[K] -= N[k]
                else:
                    N[K] += HALF * N[k]
    for K in range(f, f + (nX + 2) * (nY + 2)):
        if D[K] > 0.0:
            inverse[K] = 1.0 / D[K]


@jit(helper=True, fastmath={"contract"})
def _colour(
    table: Ints2, level: int, E: Floats, N: Floats, inverse: Floats, x: OutFloats, r: Floats, colour: int
) -> None:
    """x = D^-1 (r + the neighbours' part) in the cells of one colour."""
    nx, ny, o, s = _grid(table, level)
    for i in range(1, nx + 1):
        for k in range(o + i * s + 1 + ((i + colour) & 1), o + i * s + ny + 1, 2):
            x[k] = inverse[k] * (r[k] + E[k] * x[k + s] + E[k - s] * x[k - s] + N[k] * x[k + 1] + N[k - 1] * x[k - 1])


@jit(helper=True, fastmath={"contract"})
def _restrict(
    table: Ints2, level: int, D: Floats, E: Floats, N: Floats, inverse: Floats, x: OutFloats, r: OutFloats
) -> None:
    """The residual, which is zero in the cells of the colour swept last, added up over four cells."""
    nx, ny, o, s = _grid(table, level)
    nX, nY, f, S = _grid(table, level + 1)
    for k in range(f, f + (nX + 2) * (nY + 2)):
        r[k], x[k] = 0.0, 0.0
    for i in range(1, nx + 1):
        row = f + ((i + 1) >> 1) * S
        for j in range(1 + ((i + 1) & 1), ny + 1, 2):
            k = o + i * s + j
            if inverse[k] != 0.0:
                beside = E[k] * x[k + s] + E[k - s] * x[k - s] + N[k] * x[k + 1] + N[k - 1] * x[k - 1]
                r[row + ((j + 1) >> 1)] += r[k] - D[k] * x[k] + beside


@jit(helper=True)
def _prolong(table: Ints2, level: int, inverse: Floats, x: OutFloats) -> None:
    """x on a grid += x on the next one."""
    nx, ny, o, s = _grid(table, level)
    _, _, f, S = _grid(table, level + 1)
    for i in range(1, nx + 1):
        row = f + ((i + 1) >> 1) * S
        for j in range(1, ny + 1):
            k = o + i * s + j
            if inverse[k] != 0.0:
                x[k] += x[row + ((j + 1) >> 1)]


@jit(helper=True)
def _cycle(table: Ints2, D: Floats, E: Floats, N: Floats, inverse: Floats, x: OutFloats, r: OutFloats) -> None:
    """x = one V-cycle on r, a symmetric approximation of A^-1 r, on the finest grid of both."""
    last = len(table) - 1
    for k in range(table[0, 2], table[0, 2] + (table[0, 0] + 2) * table[0, 3]):
        x[k] = 0.0
    for step in range(2 * last + 2 * SETTLE):  # down, on the coarsest grid, and up again
        down, level = step < last + SETTLE, last
        if step < last:
            level = step
        elif step >= last + 2 * SETTLE:
            level = 2 * last + 2 * SETTLE - 1 - step
            _prolong(table, level, inverse, x)
        first = 1 if down else 0
        for colour in range(2):
            _colour(table, level, E, N, inverse, x, r, first if colour == 0 else 1 - first)
        if step < last:
            _restrict(table, level, D, E, N, inverse, x, r)


@jit(helper=True, fastmath={"contract"})
def _times(table: Ints2, D: Floats, E: Floats, N: Floats, x: Floats, out: OutFloats) -> None:
    """out = A x on the finest grid."""
    nx, ny, _, s = _grid(table, 0)
    for i in range(1, nx + 1):
        for k in range(i * s + 1, i * s + ny + 1):
            out[k] = D[k] * x[k] - E[k] * x[k + s] - E[k - s] * x[k - s] - N[k] * x[k + 1] - N[k - 1] * x[k - 1]


@jit(helper=True, fastmath={"contract"})
def _dot(x: Floats, y: Floats, size: int) -> float:
    """x . y in a fixed order, in four sums that do not wait for each other."""
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    whole = size - size % 4
    for k in range(0, whole, 4):
        a += x[k] * y[k]
        b += x[k + 1] * y[k + 1]
        c += x[k + 2] * y[k + 2]
        d += x[k + 3] * y[k + 3]
    for k in range(whole, size):
        a += x[k] * y[k]
    return (a + b) + (c + d)


@jit(helper=True, fastmath={"contract"})
def _conjugate_gradients(
    table: Ints2, D: Floats, E: Floats, N: Floats, inverse: Floats, p: OutFloats, r: OutFloats, z: OutFloats,
    d: OutFloats, Ad: OutFloats, enough: float, most: int,
) -> int:  # fmt: skip
    """A p = b in the cells with an inverse; r = b - A p there, zero elsewhere, comes in and goes out."""
    size = len(p)
    rz_before = 0.0
    for step in range(most):
        if _dot(r, r, size) <= enough:
            return step
        _cycle(table, D, E, N, inverse, z, r)
        rz = _dot(r, z, size)
        beta = rz / rz_before if step else 0.0
        for k in range(size):
            d[k] = z[k] + beta * d[k]
        _times(table, D, E, N, d, Ad)
        curvature = _dot(d, Ad, size)
        if not curvature > 0.0:  # the residual is so small that its square is zero: the load is zero in all these cells
            return step
        way = rz / curvature
        for k in range(size):
            if inverse[k] != 0.0:
                p[k] += way * d[k]
                r[k] -= way * Ad[k]
        rz_before = rz
    return most


@jit()
def _active_sets(
    table: Ints2, D: OutFloats, E: OutFloats, N: OutFloats, inverse: OutFloats, z: OutFloats, r: OutFloats,
    p: OutFloats, d: OutFloats, Ad: OutFloats, rhs: Floats, inside: OutBools, stays: Bools, precision: float,
    tol: float, zero: float, most: int, cycles: int,
) -> tuple[int, int]:  # fmt: skip
    """p becomes the pressures, `inside` the jammed cells; returns (steps, cycles)."""
    size, scale, spent, step = len(p), 0.0, 0, 0
    for k in range(size):
        scale = max(scale, abs(rhs[k]))
    for step in range(1, most + 1):
        whole, small, changed = 0.0, 0.0, 0
        _times(table, D, E, N, p, Ad)
        for k in range(size):
            inverse[k], r[k] = 0.0, 0.0
            if inside[k]:
                inverse[k], r[k] = 1.0 / D[k], rhs[k] - Ad[k]
                whole += rhs[k] * rhs[k]
        for level in range(len(table) - 1):
            _coarsen(table, level, D, E, N, inverse)
        spent += _conjugate_gradients(table, D, E, N, inverse, p, r, z, d, Ad, precision * precision * whole, cycles)
        _times(table, D, E, N, p, Ad)
        for k in range(size):
            small = max(small, zero * abs(p[k]))
        for k in range(size):
            if stays[k]:
                continue
            if inside[k] and p[k] < -small:
                inside[k], p[k] = False, 0.0
                changed += 1
            elif not inside[k] and Ad[k] - rhs[k] < -zero * scale:
                inside[k] = True
                changed += 1
        if changed == 0 and precision <= tol:
            break
        if changed == 0 or step % PATIENCE == 0:
            precision = max(tol, TIGHTER * precision)
    return step, spent


# Isotonic regression along many runs of points: pools of adjacent violators, all runs in one call.


@kernels.isotonic.on("numpy")
def isotonic(y: Floats, mass: Floats, order: Ints, starts: Ints, low: Bools, high: Bools) -> Floats:
    """The projection of y, run by run: see `kernels.isotonic`. mass of length 0: all one."""
    n = len(order)
    out = np.empty(n)
    _pool(y, mass, order, starts, low, high, np.empty(n), np.empty(n), np.empty(n, np.int64), out)
    return out


@jit()
def _pool(
    y: Floats, mass: Floats, order: Ints, starts: Ints, low: Bools, high: Bools, value: OutFloats, weight: OutFloats,
    first: OutInts, out: OutFloats,
) -> None:  # fmt: skip
    """Blocks of a run lie on a stack: their values, weights, and where they begin."""
    alike = len(mass) == 0
    for run in range(len(low)):
        a, end, top = starts[run], starts[run + 1], -1
        for c in range(a, end):
            v, m, begin = y[order[c]], 1.0 if alike else mass[order[c]], c
            while top >= 0 and value[top] >= v:
                v = (weight[top] * value[top] + m * v) / (weight[top] + m)
                m += weight[top]
                begin = first[top]
                top -= 1
            top += 1
            value[top], weight[top], first[top] = v, m, begin
        for block in range(top, -1, -1):
            v = value[block]
            if low[run]:
                v = max(v, 0.0)
            if high[run]:
                v = min(v, 0.0)
            for c in range(first[block], end):
                out[order[c]] = v
            end = first[block]


@kernels.pressures.on("numpy")
def pressures(lost: Floats, mass: Floats, order: Ints, starts: Ints, low: Bools, high: Bools) -> Floats:
    """The pressures at the edges of all runs, never negative, for lost = y - u: see `kernels.isotonic`."""
    out = np.empty(len(order) + len(low))
    _add_up(lost, mass, order, starts, low, high, out)
    return out


@jit()
def _add_up(lost: Floats, mass: Floats, order: Ints, starts: Ints, low: Bools, high: Bools, out: OutFloats) -> None:
    alike = len(mass) == 0
    for run in range(len(low)):
        a, b = starts[run], starts[run + 1]
        e, p, least = a + run, 0.0, 0.0
        out[e] = 0.0
        for c in range(a, b):
            p += lost[order[c]] * (1.0 if alike else mass[order[c]])
            out[e + 1 + c - a] = p
            least = min(least, p)
        base = 0.0
        if low[run]:
            base = least if high[run] else p
        for c in range(e, e + b - a + 1):
            out[c] = max(out[c] - base, 0.0)
        if not low[run]:
            out[e] = 0.0
        if not high[run]:
            out[e + b - a] = 0.0


# Lower envelopes of parabolas along the rows of a table, in time proportional to its size.
#
# Felzenszwalb & Huttenlocher 2012: the parabolas of the envelope lie on a stack, with the places where each begins.


@kernels.envelopes.on("numpy")
def envelopes(p: Floats2) -> Floats2:
    """The least (i - y)^2 / 2 + p(y) along each row: see `kernels.envelopes`."""
    m, n = p.shape
    out = np.empty((m, n))
    _envelopes(np.ascontiguousarray(p), np.empty(n, np.int64), np.empty(n + 1), np.ones(n), out)
    return out


@jit()
def _envelopes(p: Floats2, apex: OutInts, begin: OutFloats, bend: OutFloats, out: OutFloats2) -> None:
    m, n = p.shape
    for row in range(m):
        top, apex[0], begin[0], begin[1] = 0, 0, -np.inf, np.inf
        for j in range(1, n):
            while True:
                a = apex[top]
                cut = (p[row, j] - p[row, a]) / (j - a) + 0.5 * (j + a)
                if cut > begin[top]:
                    break
                top -= 1
            top += 1
            apex[top], begin[top], begin[top + 1] = j, cut, np.inf
        for j in range(1, n - 1):
            bend[j] = 1.0 + p[row, j - 1] - 2.0 * p[row, j] + p[row, j + 1]
        if n > 2:
            bend[0], bend[n - 1] = bend[1], bend[n - 2]
        top = 0
        for i in range(n):
            while begin[top + 1] < i:
                top += 1
            j = apex[top]
            value, gain = 0.5 * (i - j) ** 2 + p[row, j], 0.0
            for other in range(max(j - 1, 0), min(j + 2, n)):
                curvature = min(bend[j], bend[other])
                reach = 0.5 * curvature - (0.5 * (i - other) ** 2 + p[row, other] - value)
                if other != j and curvature > 0.0 and reach > 0.0:
                    gain = max(gain, reach * reach / (2.0 * curvature))
            out[row, i] = value - gain
