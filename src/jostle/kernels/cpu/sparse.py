"""`reference.sweep_rows` and `sweep_cones` on rows in CSR form: blocks in friction cones, and other rows after them."""

from __future__ import annotations

import numpy as np

from jostle import kernels
from jostle._tools.arrays import Array
from jostle.kernels.compiling import Bools, Floats, Floats2, Floats3, OutFloats2, OutInts, Shorts, jit
from jostle.kernels.cpu.loop import damping_after, damping_least, following_test
from jostle.kernels.reference.cones import INNER, SETTLED, Blocks
from jostle.kernels.reference.sweeps import FAR, RISE, WINDOW, Stop

P, Y, BEFORE = 0, 1, 2
"""Entries of `row`: multiplier, point that the sweep starts from, and slack or margin at the test before."""
X, V, EXACT = 0, 1, 2
"""Entries of `column`: A^T p, A^T y, and A^T p anew."""
S, Q, WANTED, MOVED = 0, 1, 2, 3
"""Entries of `block`: the slack of a block, its new multiplier, the one wanted, and the local matrix times its way."""


@kernels.sweep_rows.on("numpy")
def sweep_rows(
    data: Array, indices: Shorts, indptr: Shorts, n: int, s0: Array, start: Array, stop: Stop
) -> tuple[Array, Array, int]:
    none, free = np.zeros(0), np.zeros(len(s0), dtype=bool)
    blocks = Blocks(np.zeros((0, 1)), none, none, np.zeros((0, 1, 1)), np.zeros((0, 3)), False, none, free)
    return sweep_cones(data, indices, indptr, n, s0, start, blocks, stop)


@kernels.sweep_cones.on("numpy")
def sweep_cones(
    data: Array, indices: Shorts, indptr: Shorts, n: int, s0: Array, start: Array, blocks: Blocks, stop: Stop
) -> tuple[Array, Array, int]:
    m, (b, e) = len(s0), blocks.local.shape[:2]
    row, column, block = np.empty((3, m)), np.zeros((3, n)), np.empty((4, e))
    row[P] = row[Y] = start
    row[BEFORE] = -np.inf
    kept = np.empty(b + m - b * e, np.int64)
    indices, indptr = np.asarray(indices, np.int32), np.asarray(indptr, np.int32)
    iterations = _iterate(data, indices, indptr, s0, *blocks, *stop, row, column, block, kept)
    return column[X].copy(), row[P].copy(), iterations


@jit(helper=True)
def _row(data: Floats, indices: Shorts, first: int, last: int, column: OutFloats2, x: int) -> float:
    """The product of the row in data[first:last] with the entry x of column."""
    total = 0.0
    for e in range(first, last):
        total += data[e] * column[x, indices[e]]
    return total


@jit(helper=True)
def _add(data: Floats, indices: Shorts, first: int, last: int, factor: float, column: OutFloats2, x: int) -> None:
    """Add a multiple of the row in data[first:last] to the entry x of column."""
    for e in range(first, last):
        column[x, indices[e]] += factor * data[e]


@jit(helper=True)
def _lengths(vector: OutFloats2, entry: int, axis: Floats2, k: int) -> tuple[float, float, float]:
    """The normal part of a vector of block k, and the lengths of its tangential part and of its part of spin."""
    d = axis.shape[1]
    normal, tangent, spin = 0.0, 0.0, 0.0
    for a in range(d):
        normal += vector[entry, a] * axis[k, a]
    for a in range(d):
        tangent += (vector[entry, a] - normal * axis[k, a]) ** 2
    for a in range(d, vector.shape[1]):
        spin += vector[entry, a] ** 2
    return normal, np.sqrt(tangent), np.sqrt(spin)


@jit(helper=True)
def _solve_block(
    row: OutFloats2, source: int, first: int, block: OutFloats2, k: int,
    axis: Floats2, mu: Floats, rolling: Floats, local: Floats3, scale: Floats2, coulomb: bool,
) -> None:  # fmt: skip
    """block[Q] solves the law of block k alone, whose slack is block[S] for the multiplier row[source]."""
    d, e = axis.shape[1], block.shape[1]
    for a in range(e):
        block[Q, a] = row[source, first + a]
        block[MOVED, a] = block[S, a]
    for inner in range(INNER):
        if inner > 0:
            for a in range(e):
                total = block[S, a]
                for c in range(e):
                    total += local[k, a, c] * (block[Q, c] - row[source, first + c])
                block[MOVED, a] = total
        normal = 0.0
        for a in range(d):
            normal += block[MOVED, a] * axis[k, a]
        for a in range(d):
            along = normal * axis[k, a]
            block[WANTED, a] = block[Q, a] - (along / scale[k, 0] + (block[MOVED, a] - along) / scale[k, 1])
        for a in range(d, e):
            block[WANTED, a] = block[Q, a] - block[MOVED, a] / scale[k, 2]
        normal, tangent, spin = _lengths(block, WANTED, axis, k)
        found = normal
        if not coulomb:
            for _ in range(3):
                above, below = scale[k, 0] * normal, scale[k, 0]
                if tangent > mu[k] * found:
                    above += scale[k, 1] * mu[k] * tangent
                    below += scale[k, 1] * mu[k] * mu[k]
                if spin > rolling[k] * found:
                    above += scale[k, 2] * rolling[k] * spin
                    below += scale[k, 2] * rolling[k] * rolling[k]
                found = above / below
        found = max(found, 0.0)
        of_tangent = 1.0 if tangent <= mu[k] * found else mu[k] * found / tangent
        of_spin = 1.0 if spin <= rolling[k] * found else rolling[k] * found / spin
        change, size = 0.0, 0.0
        for a in range(e):
            if a < d:
                along = normal * axis[k, a]
                q = found * axis[k, a] + of_tangent * (block[WANTED, a] - along)
            else:
                q = of_spin * block[WANTED, a]
            change += abs(q - block[Q, a])
            size += abs(q)
            block[Q, a] = q
        if change <= SETTLED * size:
            break


@jit()
def _iterate(
    data: Floats, indices: Shorts, indptr: Shorts, s0: Floats,
    axis: Floats2, mu: Floats, rolling: Floats, local: Floats3, scale: Floats2, coulomb: bool, noise: Floats,
    free: Bools,
    violation: Floats, tol: float, max_iterations: int, every: int,
    row: OutFloats2, column: OutFloats2, block: OutFloats2, kept: OutInts,
) -> int:  # fmt: skip
    """The iteration; returns how many there were. `column` is zero."""
    m, n, b, d, e = len(s0), column.shape[1], local.shape[0], axis.shape[1], local.shape[1]
    theta, lowest, restart, tested, blocks, count, iteration = 1.0, np.inf, False, 0, 0, 0, 0
    least, steps, steps_before, equalities = damping_least(tol), 0.0, np.inf, free.any()
    damping = least
    while True:
        if iteration == min(tested, max_iterations):
            tested = following_test(iteration, every)
            for k in range(n):
                column[EXACT, k] = 0.0
            for c in range(m):
                if row[P, c] != 0.0:
                    _add(data, indices, indptr[c], indptr[c + 1], row[P, c], column, EXACT)
            size = 0.0
            for k in range(n):  # the sweeps move x and v by increments: take out what round-off left of that
                exact = column[EXACT, k]
                column[V, k] += exact - column[X, k]
                column[X, k] = exact
                size += exact * exact
            product, violated, blocks = 0.0, False, 0
            for k in range(b):
                first, loaded, p_n, dissipated = k * e, False, 0.0, 0.0
                for a in range(e):
                    c = first + a
                    block[S, a] = s0[c] + _row(data, indices, indptr[c], indptr[c + 1], column, X)
                    loaded = loaded or row[P, c] != 0.0 or row[Y, c] != 0.0
                normal, tangent, spin = _lengths(block, S, axis, k)
                for a in range(d):
                    p_n += row[P, first + a] * axis[k, a]
                    if tangent > noise[k]:
                        dissipated += row[P, first + a] * (block[S, a] - normal * axis[k, a])
                for a in range(d, e):
                    if spin > noise[k]:
                        dissipated += row[P, first + a] * block[S, a]
                margin = normal if coulomb else normal - mu[k] * tangent - rolling[k] * spin
                if abs(margin) <= noise[k]:
                    margin = 0.0
                if tangent > noise[k]:
                    dissipated += p_n * mu[k] * tangent
                if spin > noise[k]:
                    dissipated += p_n * rolling[k] * spin
                product += abs(p_n * margin) + abs(dissipated)
                violated = violated or not margin >= -violation[first]
                if loaded or margin <= FAR * abs(margin - row[BEFORE, first]):
                    kept[blocks] = k
                    blocks += 1
                row[BEFORE, first] = margin
            count = blocks
            for c in range(b * e, m):
                s = s0[c] + _row(data, indices, indptr[c], indptr[c + 1], column, X)
                product += abs(row[P, c] * s)
                margin = -abs(s) if free[c - b * e] else s
                violated = violated or not margin >= -violation[c]
                loaded = row[P, c] != 0.0 or row[Y, c] != 0.0 or free[c - b * e]
                if loaded or margin <= FAR * abs(margin - row[BEFORE, c]):
                    kept[count] = c
                    count += 1
                row[BEFORE, c] = margin
            if iteration == max_iterations or (not violated and (tol == np.inf or product <= tol * size)):
                return iteration
        if restart:
            theta = 1.0
            for k in range(n):
                column[V, k] = column[X, k]
        after = theta * (np.sqrt(theta * theta + 4.0) - theta) / 2.0
        beta = 0.0 if restart else theta * (1.0 - theta) / (theta * theta + after)
        if coulomb:
            beta = min(beta, 1.0 - damping)
        against, linear, size = 0.0, 0.0, 0.0
        source = P if restart else Y
        for r in range(blocks):
            k, first = kept[r], kept[r] * e
            for a in range(e):
                c = first + a
                block[S, a] = s0[c] + _row(data, indices, indptr[c], indptr[c + 1], column, V)
            _solve_block(row, source, first, block, k, axis, mu, rolling, local, scale, coulomb)
            for a in range(e):
                c, q = first + a, block[Q, a]
                step, way = q - row[source, c], q - row[P, c]
                _add(data, indices, indptr[c], indptr[c + 1], step, column, V)
                against -= step * way
                steps += step * step
                linear += s0[c] * q
                row[P, c], row[Y, c] = q, q + beta * way
        for r in range(blocks, count):
            c = kept[r]
            before = row[source, c]
            q = before - s0[c] - _row(data, indices, indptr[c], indptr[c + 1], column, V)
            if not (equalities and free[c - b * e]):
                q = max(0.0, q)
            step, way = q - before, q - row[P, c]
            _add(data, indices, indptr[c], indptr[c + 1], step, column, V)
            against -= step * way
            if coulomb:
                steps += step * step
            linear += s0[c] * q
            row[P, c], row[Y, c] = q, q + beta * way
        for k in range(n):
            now = column[V, k]
            size += now * now
            column[V, k] = now + beta * (now - column[X, k])
            column[X, k] = now
        objective = linear + 0.5 * size
        restart = against > 0.0 or (not coulomb and objective > lowest + RISE * abs(lowest))
        lowest, theta = objective, after
        iteration += 1
        if coulomb and iteration % WINDOW == 0:
            restart = restart or steps > steps_before
            damping = damping_after(damping, steps, steps_before, least)
            steps, steps_before = 0.0, steps
