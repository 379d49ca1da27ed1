"""The loops of densities in numba: see `jostle.macro.kernels`."""

from __future__ import annotations

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
    jit,
)
from jostle.macro import kernels

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
