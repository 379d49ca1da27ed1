"""The obstacle problem on a grid: primal-dual active sets around conjugate gradients, preconditioned by multigrid.

All grids of the hierarchy lie one after the other in flat arrays, each with a rim of cells that are not there. Four
cells become one; the coarse matrix P^T A P is halved, because faces twice as long and twice as far apart carry what
one carried (Braess 1995). One red-black Gauss-Seidel sweep down and its mirror image up make the cycle symmetric.
"""

from __future__ import annotations

import numpy as np

from jostle.kernels.cpu.jit import jit

FEW = 40
"""A grid of so few cells is not made coarser,"""
SETTLE = 12
"""but swept so many times."""
HALF = 0.5
TIGHTER = 1e-5
"""So much smaller a residual is asked for when no cell changes sides any more,"""
PATIENCE = 10
"""or after so many steps."""


@jit()
def _levels(nx, ny):
    """(l, 4): rows, columns, place of the first entry, stride of each grid; and the length of all of them."""
    table, first = np.empty((64, 4), np.int64), 0
    level = 0
    while True:
        table[level] = nx, ny, first, ny + 2
        first += (nx + 2) * (ny + 2)
        level += 1
        if nx * ny <= FEW:
            return table[:level].copy(), first
        nx, ny = (nx + 1) // 2, (ny + 1) // 2


@jit()
def _lay_out(east, north, extra, D, E, N):
    """The finest grid: couplings to the right and upwards, and the diagonal."""
    nx, ny = extra.shape
    s = ny + 2
    for i in range(nx):
        for j in range(ny):
            k = (i + 1) * s + j + 1
            if i + 1 < nx:
                E[k] = east[i, j]
            if j + 1 < ny:
                N[k] = north[i, j]
            D[k] = extra[i, j] + E[k] + N[k] + E[k - s] + N[k - 1]


@jit()
def _coarsen(table, level, D, E, N, inverse):
    """The matrix on the next grid, of those cells that have an `inverse`."""
    nx, ny, o, s = table[level]
    nX, nY, f, S = table[level + 1]
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


@jit(fastmath={"contract"})
def _colour(nx, ny, o, s, E, N, inverse, x, r, colour):
    """x = D^-1 (r + the neighbours' part) in the cells of one colour."""
    for i in range(1, nx + 1):
        for k in range(o + i * s + 1 + ((i + colour) & 1), o + i * s + ny + 1, 2):
            x[k] = inverse[k] * (r[k] + E[k] * x[k + s] + E[k - s] * x[k - s] + N[k] * x[k + 1] + N[k - 1] * x[k - 1])


@jit(fastmath={"contract"})
def _restrict(table, level, D, E, N, inverse, x, r):
    """The residual, which is zero in the cells of the colour swept last, added up over four cells."""
    nx, ny, o, s = table[level]
    nX, nY, f, S = table[level + 1]
    for k in range(f, f + (nX + 2) * (nY + 2)):
        r[k], x[k] = 0.0, 0.0
    for i in range(1, nx + 1):
        row = f + ((i + 1) >> 1) * S
        for j in range(1 + ((i + 1) & 1), ny + 1, 2):
            k = o + i * s + j
            if inverse[k] != 0.0:
                beside = E[k] * x[k + s] + E[k - s] * x[k - s] + N[k] * x[k + 1] + N[k - 1] * x[k - 1]
                r[row + ((j + 1) >> 1)] += r[k] - D[k] * x[k] + beside


@jit()
def _prolong(table, level, inverse, x):
    nx, ny, o, s = table[level]
    _, _, f, S = table[level + 1]
    for i in range(1, nx + 1):
        row = f + ((i + 1) >> 1) * S
        for j in range(1, ny + 1):
            k = o + i * s + j
            if inverse[k] != 0.0:
                x[k] += x[row + ((j + 1) >> 1)]


@jit()
def _cycle(table, D, E, N, inverse, x, r):
    """x = one V-cycle on r, a symmetric approximation of A^-1 r, on the finest grid of both."""
    last = len(table) - 1
    for k in range(table[0, 2], table[0, 2] + (table[0, 0] + 2) * table[0, 3]):
        x[k] = 0.0
    for level in range(last):
        nx, ny, o, s = table[level]
        _colour(nx, ny, o, s, E, N, inverse, x, r, 1)
        _colour(nx, ny, o, s, E, N, inverse, x, r, 0)
        _restrict(table, level, D, E, N, inverse, x, r)
    nx, ny, o, s = table[last]
    for sweep in range(2 * SETTLE):
        first = 1 if sweep < SETTLE else 0
        _colour(nx, ny, o, s, E, N, inverse, x, r, first)
        _colour(nx, ny, o, s, E, N, inverse, x, r, 1 - first)
    for level in range(last - 1, -1, -1):
        nx, ny, o, s = table[level]
        _prolong(table, level, inverse, x)
        _colour(nx, ny, o, s, E, N, inverse, x, r, 0)
        _colour(nx, ny, o, s, E, N, inverse, x, r, 1)


@jit(fastmath={"contract", "reassoc"})
def _times(nx, ny, s, D, E, N, x, out):
    """out = A x on the finest grid, and x . out."""
    total = 0.0
    for i in range(1, nx + 1):
        for k in range(i * s + 1, i * s + ny + 1):
            out[k] = D[k] * x[k] - E[k] * x[k + s] - E[k - s] * x[k - s] - N[k] * x[k + 1] - N[k - 1] * x[k - 1]
            total += x[k] * out[k]
    return total


@jit(fastmath={"contract", "reassoc"})
def _dot(x, y, size):
    total = 0.0
    for k in range(size):
        total += x[k] * y[k]
    return total


@jit(fastmath={"contract", "reassoc"})
def _conjugate_gradients(table, D, E, N, inverse, p, r, z, d, Ad, enough, most):
    """A p = b in the cells with an inverse; r = b - A p there, zero elsewhere, comes in and goes out."""
    nx, ny, _, s = table[0]
    size = (nx + 2) * s
    rz_before = 0.0
    for step in range(most):
        if _dot(r, r, size) <= enough:
            return step
        _cycle(table, D, E, N, inverse, z, r)
        rz = _dot(r, z, size)
        beta = rz / rz_before if step else 0.0
        for k in range(size):
            d[k] = z[k] + beta * d[k]
        way = rz / _times(nx, ny, s, D, E, N, d, Ad)
        for k in range(size):
            if inverse[k] != 0.0:
                p[k] += way * d[k]
                r[k] -= way * Ad[k]
        rz_before = rz
    return most


@jit()
def obstacle(east, north, extra, b, start, jammed, held, precision, tol, zero, most, cycles):
    """See `reference.obstacle`: (p, steps, cycles). jammed: the cells to start from; held: those that stay jammed.

    Linear systems are solved to |r| <= precision |b| as long as cells change sides, and to tol |b| in the end. A
    pressure below the part `zero` of the largest, or a rate below this part of the largest |b|, has no sign.
    """
    nx, ny = b.shape
    table, length = _levels(nx, ny)
    s, size = ny + 2, (nx + 2) * (ny + 2)
    D, E, N, inverse = np.zeros(length), np.zeros(length), np.zeros(length), np.zeros(length)
    z, r = np.zeros(length), np.zeros(length)
    p, d, Ad, rhs = np.zeros(size), np.zeros(size), np.zeros(size), np.zeros(size)
    there, stays, inside = np.zeros(size, np.bool_), np.zeros(size, np.bool_), np.zeros(size, np.bool_)
    _lay_out(east, north, extra, D, E, N)
    scale = 0.0
    for i in range(nx):
        for j in range(ny):
            k = (i + 1) * s + j + 1
            there[k] = D[k] > 0.0
            if there[k]:
                rhs[k], inside[k], stays[k] = b[i, j], jammed[i, j], held[i, j]
                p[k] = start[i, j] if jammed[i, j] else 0.0
                scale = max(scale, abs(b[i, j]))
    spent = 0
    for step in range(1, most + 1):
        whole = 0.0
        _times(nx, ny, s, D, E, N, p, Ad)
        for k in range(size):
            inverse[k] = 1.0 / D[k] if inside[k] else 0.0
            r[k] = rhs[k] - Ad[k] if inside[k] else 0.0
            whole += rhs[k] ** 2 if inside[k] else 0.0
        for level in range(len(table) - 1):
            _coarsen(table, level, D, E, N, inverse)
        spent += _conjugate_gradients(table, D, E, N, inverse, p, r, z, d, Ad, precision**2 * whole, cycles)
        _times(nx, ny, s, D, E, N, p, Ad)
        small = 0.0
        for k in range(size):
            small = max(small, zero * abs(p[k]))
        changed = 0
        for k in range(size):
            if not there[k] or stays[k]:
                continue
            if inside[k] and p[k] < -small:
                inside[k], p[k] = False, 0.0
                changed += 1
            elif not inside[k] and Ad[k] - rhs[k] < -zero * scale:
                inside[k] = True
                changed += 1
        if changed == 0:
            if precision <= tol:
                break
            precision = max(tol, TIGHTER * precision)
        elif step % PATIENCE == 0:
            precision = max(tol, TIGHTER * precision)
    out = np.empty((nx, ny))
    for i in range(nx):
        for j in range(ny):
            out[i, j] = p[(i + 1) * s + j + 1]
    return out, step, spent
