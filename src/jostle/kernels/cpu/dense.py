"""Dense rows: the exact projection by an updated QR factorisation, and residuals."""

from __future__ import annotations

import numpy as np

from jostle import kernels
from jostle._tools.arrays import Array
from jostle.kernels.compiling import Floats, Floats2, Ints2, OutFloats, OutFloats2, OutInts2, jit
from jostle.kernels.cpu.contacts import _add_coordinate, _add_row
from jostle.kernels.reference.dense import CONTRADICTION, DEPENDENT, DROP, EMPTY, EPS, ROUND_OFF, SOLVED, UNFINISHED
from jostle.kernels.reference.residuals import Answer, residual_of_sums

SUMS = {"reassoc", "contract"}
"""Sums may be taken in any order (and so with vector instructions); nothing else is relaxed."""


@kernels.exact.on("numpy")
def exact(
    A: Floats2, s0: Floats, noise: Floats, allowed: Floats, max_iterations: int
) -> tuple[Floats, Floats, int, int]:
    """See `reference.exact`."""
    n = A.shape[1]
    return project_dense(A, s0, np.zeros(n), np.ones(n), 0.0, noise, allowed, max_iterations)


@kernels.project_dense.on("numpy")
def project_dense(
    G: Floats2, c: Floats, w: Floats, root: Floats, noise_level: float, c_noise: Floats, allowed: Floats,
    max_iterations: int,
) -> tuple[Floats, Floats, int, int]:  # fmt: skip
    """See `reference.project_dense`: here with an updated QR factorisation of the active rows."""
    m, n = G.shape
    most = min(m, n) + 1
    u, p, rows = np.zeros(n), np.zeros(m), np.empty((3, m))
    work, lists = np.empty((m + 2 * most + VECTORS, n + 1)), np.zeros((2, m + 1), np.int64)
    status, iterations = _active_set(
        G, c, w, root, noise_level, c_noise, allowed, max_iterations, u, p, rows, work, lists
    )
    return u, p, status, iterations


@kernels.project_few.on("numpy")
def project_few(
    G: Floats2, rows: tuple[Floats, Floats, Floats], w: Floats, mass: Floats, root: Floats, tol: float,
    max_iterations: int,
) -> tuple[Floats, Floats, int, int, tuple[float, float, float]]:  # fmt: skip
    m, n = G.shape
    most = min(m, n) + 1
    u, p, of_rows = np.zeros((2, n)), np.zeros(m), np.empty((4, m))
    work, lists = np.empty((m + 2 * most + VECTORS, n + 1)), np.zeros((2, m + 1), np.int64)
    status, iterations, *parts = _project_few(
        G, *rows, w, mass, root, tol, max_iterations, u[0], u[1], p, of_rows, work, lists
    )
    return u[0], p, status, iterations, residual_of_sums(*parts)


S0, NOISE, UNIT, ALLOWED = 0, 1, 2, 3
"""What the entries of `rows` are: (c + G w) / unit, its round-off, the lengths of the rows in the metric, and by how
much they may be violated."""
ACTIVE, EXCLUDED = 0, 1
"""What the entries of `lists` are: the active rows, and whether a row is left out of the search."""
VECTORS = 4
D, Z, Y, RATE = -4, -3, -2, -1
"""The rows of `work` are, one block after the other, those of A = G root / unit, of Q and R with A_active^T = Q^T R,
and four vectors, counted from the end: Q a and a - Q^T Q a for the row a that enters, R^-T s0, and how fast the
multipliers fall."""


@jit(helper=True)
def _whiten(
    G: Floats2, c: Floats, w: Floats, root: Floats, noise_level: float, c_noise: Floats, rows: OutFloats2,
    work: OutFloats2,
) -> None:  # fmt: skip
    """Fills `rows`, and A."""
    m, n = G.shape
    for i in range(m):
        s, square = c[i], 0.0
        size = abs(s)
        for k in range(n):
            g = G[i, k]
            a, b = g * root[k], g * w[k]
            s += b
            size += abs(b)
            work[i, k] = a
            square += a * a
        length = np.sqrt(square) if square > 0.0 else 1.0
        for k in range(n):
            work[i, k] /= length
        rows[S0, i], rows[UNIT, i], rows[NOISE, i] = s / length, length, (c_noise[i] + noise_level * size) / length


@jit(helper=True, fastmath=SUMS)
def _orthogonalise(n: int, j: int, q: int, k: int, work: OutFloats2) -> float:
    """D = Q A_j and Z = A_j - Q^T D, twice, so that Z is orthogonal to the k rows from q on; returns |Z|^2."""
    for i in range(n):
        work[Z, i] = work[j, i]
    for i in range(k):
        work[D, i] = 0.0
    for _ in range(2):
        for c in range(k):
            dot = 0.0
            for i in range(n):
                dot += work[q + c, i] * work[Z, i]
            work[D, c] += dot
            for i in range(n):
                work[Z, i] -= dot * work[q + c, i]
    square = 0.0
    for i in range(n):
        square += work[Z, i] * work[Z, i]
    return square


@jit(helper=True)
def _drop_column(n: int, q: int, r: int, k: int, gone: int, work: OutFloats2) -> None:
    """Take column `gone` out of the factorisation by Givens rotations, which leaves k columns."""
    for c in range(gone, k):
        for i in range(c + 2):
            work[r + i, c] = work[r + i, c + 1]
    for c in range(gone, k):
        a, b = work[r + c, c], work[r + c + 1, c]
        length = np.hypot(a, b)
        cosine, sine = a / length, b / length
        for turn in range(2):
            row, begin, end = (q + c, 0, n) if turn else (r + c, c, k)
            for i in range(begin, end):
                upper, lower = work[row, i], work[row + 1, i]
                work[row, i] = cosine * upper + sine * lower
                work[row + 1, i] = cosine * lower - sine * upper


@jit(helper=True)
def _solve_upper(r: int, k: int, work: OutFloats2, right: int) -> None:
    """R RATE = the vector `right`, for the leading k x k upper triangle."""
    for i in range(k - 1, -1, -1):
        total = work[right, i]
        for c in range(i + 1, k):
            total -= work[r + i, c] * work[RATE, c]
        work[RATE, i] = total / work[r + i, i]


@jit(helper=True)
def _on_active(
    q: int, r: int, k: int, rows: Floats2, lists: Ints2, x: OutFloats, p: OutFloats, work: OutFloats2
) -> float:
    """x = the shortest point with s0 + A x = 0 on the active rows, and its multipliers; returns |x|."""
    n = len(x)
    for i in range(n):
        x[i] = 0.0
    for c in range(k):
        total = -rows[S0, lists[ACTIVE, c]]
        for i in range(c):
            total -= work[r + i, c] * work[Y, i]
        total /= work[r + c, c]
        work[Y, c] = total
        for i in range(n):
            x[i] += work[q + c, i] * total
    _solve_upper(r, k, work, Y)
    for i in range(k):
        p[lists[ACTIVE, i]] = work[RATE, i]
    square = 0.0
    for i in range(n):
        square += x[i] * x[i]
    return np.sqrt(square)


@jit(fastmath=SUMS)
def _active_set(
    G: Floats2,
    c: Floats,
    w: Floats,
    root: Floats,
    noise_level: float,
    c_noise: Floats,
    allowed: Floats,
    max_iterations: int,
    x: OutFloats,
    p: OutFloats,
    rows: OutFloats2,
    work: OutFloats2,
    lists: OutInts2,
) -> tuple[int, int]:
    """x becomes the projection of w, and p its multipliers; returns (status, iterations). x, p and lists are zero.

    Rows that are active, and those that are left violated by what is allowed, are excluded from the search.
    """
    m, n = G.shape
    q, r = m, m + min(m, n) + 1
    k, length, status, iteration = 0, 0.0, UNFINISHED, 0
    _whiten(G, c, w, root, noise_level, c_noise, rows, work)
    while status == UNFINISHED and iteration < max_iterations:
        j, worst = -1, 0.0
        for i in range(m):
            if not lists[EXCLUDED, i]:
                s = rows[S0, i]
                for b in range(n):
                    s += work[i, b] * x[b]
                if s < worst and s < -(rows[NOISE, i] + 8 * EPS * length):
                    j, worst = i, s
        if j < 0:
            status = SOLVED
            break
        while True:
            square = _orthogonalise(n, j, q, k, work)
            _solve_upper(r, k, work, D)
            t1, gone = np.inf, -1
            for i in range(k):
                now, rate = p[lists[ACTIVE, i]], work[RATE, i]
                if rate > DROP and now < t1 * rate:
                    t1, gone = max(now, 0.0) / rate, i
            t2 = max(-worst, 0.0) / square if square > DEPENDENT * DEPENDENT and k < n else np.inf
            t = min(t1, t2)
            if t == np.inf:
                sizes, noises = abs(rows[S0, j]), rows[NOISE, j]
                for i in range(k):
                    a, rise = lists[ACTIVE, i], max(-work[RATE, i], 0.0)
                    sizes += rise * abs(rows[S0, a])
                    noises += rise * rows[NOISE, a]
                lists[EXCLUDED, j], p[j] = 1, 0.0
                if -worst > max(CONTRADICTION * sizes, noises, allowed[j] / rows[UNIT, j]):
                    status = EMPTY
                break
            for i in range(k):
                p[lists[ACTIVE, i]] -= t * work[RATE, i]
            p[j] += t
            if t2 < np.inf:
                for i in range(n):
                    x[i] += t * work[Z, i]
                worst += t * square
            if t2 <= t1:
                size = np.sqrt(square)
                for i in range(k):
                    work[r + i, k] = work[D, i]
                work[r + k, k] = size
                for i in range(n):
                    work[q + k, i] = work[Z, i] / size
                lists[ACTIVE, k], lists[EXCLUDED, j] = j, 1
                k += 1
                break
            a = lists[ACTIVE, gone]
            p[a], lists[EXCLUDED, a] = 0.0, 0
            k -= 1
            _drop_column(n, q, r, k, gone, work)
            for i in range(gone, k):
                lists[ACTIVE, i] = lists[ACTIVE, i + 1]
        if status == EMPTY:
            for i in range(m):
                p[i] = 0.0
            for i in range(k):
                p[lists[ACTIVE, i]] = -work[RATE, i]
            p[j] = 1.0
        else:
            length = _on_active(q, r, k, rows, lists, x, p, work)
            iteration += 1
    for i in range(m):
        p[i] = max(p[i], 0.0) / rows[UNIT, i]
    for i in range(n):
        x[i] = w[i] + root[i] * x[i]
    return status, iteration


@jit()
def _project_few(
    G: Floats2, c: Floats, c_noise: Floats, length: Floats, w: Floats, mass: Floats, root: Floats, tol: float,
    max_iterations: int, u: OutFloats, reaction: OutFloats, p: OutFloats, rows: OutFloats2, work: OutFloats2,
    lists: OutInts2,
) -> tuple[int, int, float, float, float, float, float, float, float, float]:  # fmt: skip
    """The status and the iterations of the projection, and the parts of its residuals."""
    finite = True
    for i in range(len(c)):
        slack = c[i]
        for k in range(len(w)):
            slack += G[i, k] * w[k]
        finite = finite and slack > -np.inf
        rows[ALLOWED, i] = tol * length[i]
    status, iterations = _active_set(
        G, c, w, root, ROUND_OFF, c_noise, rows[ALLOWED], max_iterations, u, p, rows, work, lists
    )
    if not finite:
        status = UNFINISHED
    return status, iterations, *_measured(G, c, c_noise, length, w, mass, u, p, reaction)


@kernels.residual_dense.on("numpy")
def residual_dense(G: Array, answer: Answer) -> tuple[float, float, float]:
    return residual_of_sums(*_residual_parts(G, *answer, np.zeros(len(answer.w))))


@jit()
def _residual_parts(
    G: Floats2, c: Floats, c_noise: Floats, length: Floats, w: Floats, mass: Floats, u: Floats, p: Floats,
    reaction: OutFloats,
) -> tuple[float, float, float, float, float, float, float, float]:  # fmt: skip
    return _measured(G, c, c_noise, length, w, mass, u, p, reaction)


@jit(helper=True)
def _measured(
    G: Floats2, c: Floats, c_noise: Floats, length: Floats, w: Floats, mass: Floats, u: Floats, p: Floats,
    reaction: OutFloats,
) -> tuple[float, float, float, float, float, float, float, float]:  # fmt: skip
    """What `add_row` finds in all rows, and `add_coordinate` in all coordinates; reaction is zero, becomes G^T p."""
    m, n = G.shape
    of_rows = (0.0, 0.0, 0.0, 0.0, 0.0)
    for i in range(m):
        s, square = c[i], 0.0
        scale = abs(s)
        for k in range(n):
            g, now = G[i, k], u[k]
            s += g * now
            scale += abs(g) * (abs(now) + abs(w[k]))
            square += g * g / mass[k]
            reaction[k] += g * p[i]
        of_rows = _add_row(of_rows, s, scale, square, p[i], length[i], c_noise[i])
    of_coordinates = (0.0, 0.0, 0.0)
    for k in range(n):
        of_coordinates = _add_coordinate(of_coordinates, u[k], w[k], mass[k], reaction[k])
    return of_rows + of_coordinates
