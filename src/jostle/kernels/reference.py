"""The definition of each kernel in plain NumPy: slow, short, and the oracle of the tests.

All work on the projection in Euclidean coordinates with unit rows: min 1/2 |x|^2 subject to
s = s0 + A x >= 0, whose solution is x = A^T p, 0 <= p ⟂ s >= 0.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from jostle.arrays import Array, Booleans, Integers

SOLVED, EMPTY, UNFINISHED = 0, 1, 2
"""How `exact` can end."""
DEPENDENT = 1e-11
"""A unit row that sticks out of the span of the others by less than this depends on them."""
DROP = 1e-12
"""A multiplier shrinks along the step if its rate exceeds this."""
CONTRADICTION = 1e-11
"""A row that cannot be satisfied by less than this part of the distances involved is round-off, not a contradiction."""
RISE = 1e-13
"""The dual objective rose if it did so by more than this part of itself."""
FAR = 3.0
"""A row is out of reach if its slack exceeds so many times what it changed between two tests."""
LEVEL = 1e-9
"""Two neighbouring values on a grid count as equal if they differ by less than this fraction of its step."""
FLAT = 0.3
"""Where a central difference of a distance is smaller than this, two ways are about equally long."""
EPS = float(np.finfo(float).eps)


def exact(A: Array, s0: Array, noise: Array, allowed: Array, max_iterations: int) -> tuple[Array, Array, int, int]:
    """The dual active-set method of Goldfarb & Idnani (1983) for min 1/2 |x|^2, s0 + A x >= 0.

    Rows of A have length one; noise is the round-off of s0. A row that cannot be satisfied, by at most `allowed`, is
    left as it is. Returns (x, p, status, iterations). If the
    status is EMPTY, p is a contradiction: p >= 0, A^T p = 0, s0 . p < 0.
    """
    m, n = A.shape
    x, p = np.zeros(n), np.zeros(m)
    active: list[int] = []
    settled: list[int] = []
    for iteration in range(max_iterations):
        s = s0 + A @ x
        s[active + settled] = 0.0
        tolerance = noise + 8 * EPS * np.linalg.norm(x)
        j = int(np.argmin(np.where(s < -tolerance, s, 0.0))) if m else 0
        if m == 0 or s[j] >= -tolerance[j]:
            return x, p, SOLVED, iteration
        while True:
            N = A[active].T
            r = np.linalg.lstsq(N, A[j], rcond=None)[0] if active else np.zeros(0)
            z = A[j] - N @ r
            falling = [k for k in range(len(active)) if r[k] > DROP]
            t1, k = min(((p[active[k]] / r[k], k) for k in falling), default=(np.inf, -1))
            t2 = -(s0[j] + A[j] @ x) / (z @ z) if z @ z > DEPENDENT**2 else np.inf
            if min(t1, t2) == np.inf:
                y = np.maximum(-r, 0.0)
                sizes, noises = abs(s0[j]) + y @ np.abs(s0[active]), noise[j] + y @ noise[active]
                if -(s0[j] + A[j] @ x) <= max(CONTRADICTION * sizes, noises, allowed[j]):
                    p[j] = 0.0
                    settled.append(j)
                    break
                p[:] = 0.0
                p[j], p[active] = 1.0, y
                return x, p, EMPTY, iteration
            t = min(t1, t2)
            p[active] -= t * r
            p[j] += t
            if t2 < np.inf:
                x = x + t * z
            if t2 <= t1:
                active.append(j)
                break
            p[active[k]] = 0.0
            del active[k]
        x, p[active] = _on_rows(A[active], s0[active])
    return x, p, UNFINISHED, max_iterations


def _on_rows(N: Array, s: Array) -> tuple[Array, Array]:
    """The shortest x with s + N x = 0, and p with x = N^T p (the rows are independent)."""
    Q, R = np.linalg.qr(N.T)
    y = np.linalg.solve(R.T, -s)
    return Q @ y, np.linalg.solve(R, y)


def next_test(iteration: int, every: int) -> int:
    """The iteration of the next stopping test: after `every` iterations, later after a tenth more."""
    return iteration + max(every, iteration // 10)


def complementary(product: float, tol: float, size: float) -> bool:
    """Is sum p |s| at most tol |x|^2? An infinite tol asks for nothing, also where x = 0."""
    return bool(tol == np.inf or product <= tol * size)


def gauss_seidel(
    A: Any, s0: Array, p: Array, violation: Array, tol: float, max_iterations: int, every: int
) -> tuple[Array, Array, int]:
    """The dual problem for unit rows: Nesterov's momentum around one Gauss-Seidel sweep over the rows.

    A sweep from y gives p; y moves on by the momentum. It starts anew from p when the sweep went against the way
    of p, or when the dual objective s0 . p + 1/2 |A^T p|^2 rose: the sweep alone lowers it, its acceleration need not.
    Stops when s_i >= -violation_i and sum p |s| <= tol |x|^2, looked at by `next_test`. From one test to the next, rows
    without a multiplier are left out if their slack exceeds `FAR` times its change since the test before. Returns
    (x, p, iterations); iterations = max_iterations means that it did not stop.
    """
    p, y, x = p.copy(), p.copy(), A.T @ p
    v, theta, lowest, restart, tested = x.copy(), 1.0, np.inf, False, 0
    s_before, kept = np.full(len(p), -np.inf), np.ones(len(p), dtype=bool)
    for iteration in range(max_iterations):
        if iteration == tested:
            tested = next_test(iteration, every)
            s = s0 + A @ x
            if (s >= -violation).all() and complementary(p @ np.abs(s), tol, x @ x):
                return x, p, iteration
            kept = (p != 0.0) | (y != 0.0) | (s <= FAR * np.abs(s - s_before))
            s_before = s
        if restart:
            theta, y, v = 1.0, p.copy(), x.copy()
        after = theta * (np.sqrt(theta * theta + 4.0) - theta) / 2.0
        beta = 0.0 if restart else theta * (1.0 - theta) / (theta * theta + after)
        p_before, x_before, against = p.copy(), x, 0.0
        for c in np.flatnonzero(kept):
            q = max(0.0, y[c] - (s0[c] + A[c] @ v))
            v = v + (q - y[c]) * A[c]
            against -= (q - y[c]) * (q - p[c])
            p[c] = q
        x, objective = v, s0 @ p + 0.5 * v @ v
        y, v, theta = p + beta * (p - p_before), x + beta * (x - x_before), after
        restart = bool(against > 0.0 or objective > lowest + RISE * abs(lowest))
        lowest = objective
    return A.T @ p, p, max_iterations


def all_pairs(q: Array, radii: Array, reach: Array, period: Array) -> tuple[Integers, Integers, Array, Array]:
    """(i, j, normal, gap), i < j, with gap |q_j - q_i| - r_i - r_j <= reach_i + reach_j, q_j the nearest image."""
    i, j = np.triu_indices(len(q), k=1)
    apart = q[j] - q[i]
    with np.errstate(invalid="ignore"):
        images = period * np.round(apart / period)
    apart = np.where(np.isfinite(period), apart - images, apart)
    distance = np.linalg.norm(apart, axis=1)
    near = ~(distance - radii[i] - radii[j] > reach[i] + reach[j])
    i, j, apart, distance = i[near], j[near], apart[near], distance[near]
    with np.errstate(invalid="ignore"):
        return i, j, apart / distance[:, None], distance - radii[i] - radii[j]


def pairs_to_dense(i: Integers, j: Integers, normal: Array, bodies: int) -> Array:
    """The rows normal . (u_j - u_i) as an (m, bodies * d) array; j < 0 is a wall at rest."""
    (m, d), axes = normal.shape, np.arange(normal.shape[1])
    dense = np.zeros((m, bodies * d))
    rows, moving = np.arange(m)[:, None], j >= 0
    dense[rows, i[:, None] * d + axes] -= normal
    dense[rows[moving], j[moving, None] * d + axes] += normal[moving]
    return dense


def by_pair(pairs: Integers, values: Array, wanted: Integers, otherwise: float) -> Array:
    """The value of each wanted pair (m, 2), where pairs[c] has values[c]; `otherwise` for one that is not there."""
    known = {tuple(pair): value for pair, value in zip(pairs.tolist(), values, strict=True)}
    return np.array([known.get(tuple(pair), otherwise) for pair in wanted.tolist()])


def near_segments(x: Array, limit: Array, start: Array, along: Array, dual: Array) -> tuple[Integers, Array]:
    """The rows point k + segment with a distance up to the limits (n,), or NaN, in order; and the distances.

    Segments are start + s along, 0 <= s <= 1, and dual = along / |along|^2; all (k, 2).
    """
    apart = x[:, None] - start
    s = np.clip((apart * dual).sum(axis=2), 0.0, 1.0)
    distance = np.linalg.norm(apart - s[..., None] * along, axis=2)
    near = ~(distance > limit[:, None])
    return np.flatnonzero(near), distance[near]


def five_point(east: Array, north: Array, extra: Array) -> Array:
    """The matrix with (A p)_c = extra_c p_c + the sum over four neighbours of weight (p_c - p_neighbour).

    All arguments (nx, ny): east is the weight between [i, j] and [i + 1, j], north between [i, j] and [i, j + 1].
    """
    number = np.arange(extra.size).reshape(extra.shape)
    A = np.diag(extra.ravel())
    for weight, here, there in ((east, np.s_[:-1, :], np.s_[1:, :]), (north, np.s_[:, :-1], np.s_[:, 1:])):
        for a, b, w in zip(number[here].ravel(), number[there].ravel(), weight[here].ravel(), strict=True):
            A[a, a], A[b, b], A[a, b], A[b, a] = A[a, a] + w, A[b, b] + w, A[a, b] - w, A[b, a] - w
    return A


def obstacle(east: Array, north: Array, extra: Array, b: Array) -> Array:
    """p >= 0, A p - b >= 0, p (A p - b) = 0 on the cells of a grid with A = `five_point`, zero where A has no diagonal.

    Primal-dual active sets, all cells jammed at first. A must be positive definite where it has a diagonal.
    """
    A, load = five_point(east, north, extra), b.ravel()
    jammed = A.diagonal() > 0.0
    there, p = jammed.copy(), np.zeros(len(load))
    for _ in range(len(load) + 1):
        p[:] = 0.0
        p[jammed] = np.linalg.solve(A[np.ix_(jammed, jammed)], load[jammed])
        following = np.where(jammed, p > 0.0, A @ p < load) & there
        if (following == jammed).all():
            break
        jammed = following
    return p.reshape(b.shape)


def isotonic(y: Array, mass: Array, low: bool, high: bool) -> tuple[Array, Array]:
    """One run: the nearest non-decreasing u to y, >= 0 after a wall (low), <= 0 before one (high); and its pressures.

    u_i is the largest, over where a block may begin, of the smallest mean of y up to where it may end. p (n + 1,) is
    the sum of mass (y - u) from a free end on; between two walls its least entry is zero.
    """
    n = len(y)
    total, sums = np.concatenate([[0.0], np.cumsum(mass)]), np.concatenate([[0.0], np.cumsum(mass * y)])
    mean = [[(sums[b] - sums[a]) / (total[b] - total[a]) for b in range(a + 1, n + 1)] for a in range(n)]
    u = np.array([max(min(mean[a][i - a :]) for a in range(i + 1)) for i in range(n)])
    u = np.maximum(u, 0.0) if low else u
    u = np.minimum(u, 0.0) if high else u
    p = np.concatenate([[0.0], np.cumsum(mass * (y - u))])
    p -= p.min() if low and high else p[-1] if low else 0.0
    return u, p


def marched(free: Booleans, start: Array, step: float) -> Array:
    """(nx, ny) the distances on the free nodes of a grid from the finite values of start; infinite where none leads.

    Fast marching (Sethian 1999): of all nodes that are not accepted, the one with the smallest `upwind` value is.
    """
    d, accepted = start.copy(), np.isfinite(start)
    while True:
        tentative = np.where(free & ~accepted, upwind(np.where(accepted, d, np.inf), step), np.inf)
        node = np.unravel_index(np.argmin(tentative), d.shape)
        if not np.isfinite(tentative[node]):
            return d
        d[node], accepted[node] = tentative[node], True


def upwind(d: Array, step: float) -> Array:
    """(nx, ny) T at each node from the others: sum over both axes of max(slope (T - base), 0)^2 = step^2.

    Towards a neighbour at d1, with d2 behind it, the difference (3 T - 4 d1 + d2) / 2 of second order has
    base = d1 + (d1 - d2) / 3 and slope 3 / 2. Unless d2 <= d1, the difference of first order is used, with base = d1
    and slope 1. Of the two sides of an axis the one with the smaller T counts. Infinite values are not known.
    """
    sides = []
    around = np.pad(d, 2, constant_values=np.inf)
    for axis, way in ((0, -1), (0, 1), (1, -1), (1, 1)):
        near, far = (np.roll(around, -way * k, axis)[2:-2, 2:-2] for k in (1, 2))
        with np.errstate(invalid="ignore"):
            rise = near - far
        second = np.isfinite(near) & np.isfinite(far) & (rise >= -LEVEL * step)
        base = np.where(second, near + np.maximum(np.where(second, rise, 0.0), 0.0) / 3.0, near)
        sides.append((base, np.where(second, 1.5, 1.0)))
    least = np.full(d.shape, np.inf)
    for x in sides[:2]:
        for y in sides[2:]:
            swap = x[0] > y[0]
            (a, slope_a), (b, slope_b) = (
                tuple(np.where(swap, v, u) for u, v in zip(one, other, strict=True)) for one, other in ((x, y), (y, x))
            )
            with np.errstate(invalid="ignore"):
                apart = b - a
                alone = ~(slope_a * apart < step)
                total = slope_a**2 + slope_b**2
                root = np.sqrt(total * step**2 - (slope_a * slope_b * apart) ** 2)
                both = a + (slope_b**2 * apart + root) / total
            least = np.minimum(least, np.where(alone, a + step / slope_a, both))
    return least


def descent(d: Array, step: float) -> Array:
    """(nodes, 2) -grad d / |grad d| of distances (nx, ny), from the finite values; 0 where none differ.

    Differences are central where both neighbours are finite, and one-sided where one is. Where the gradient is below
    FLAT, the lower neighbour along each axis decides; none, if both fall by the same, so that mirror images stay so.
    """
    gradient, least = np.zeros((*d.shape, 2)), np.zeros((*d.shape, 2))
    for axis in range(2):
        values = np.moveaxis(np.where(np.isfinite(d), d, np.nan), axis, 0)
        rise = np.full((values.shape[0] + 1, values.shape[1]), np.nan)
        rise[1:-1] = (values[1:] - values[:-1]) / step
        below, above = rise[:-1], rise[1:]
        one, other = np.where(np.isnan(below), above, below), np.where(np.isnan(above), below, above)
        gradient[..., axis] = np.moveaxis(np.nan_to_num((one + other) / 2.0), 0, axis)
        down, up = np.maximum(np.nan_to_num(below), 0.0), np.maximum(-np.nan_to_num(above), 0.0)
        either = np.where(down > up, down, -up)
        least[..., axis] = np.moveaxis(np.where(np.abs(down - up) <= LEVEL, 0.0, either), 0, axis)
    flat = np.linalg.norm(gradient, axis=-1) < FLAT
    gradient[flat] = least[flat]
    size = np.linalg.norm(gradient, axis=-1, keepdims=True)
    return np.asarray((-gradient / np.where(size > 0.0, size, 1.0)).reshape(-1, 2))
