"""The kernels of contacts and bodies in plain NumPy: slow, short, and the oracle of the compiled loops."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import Any, NamedTuple

import numpy as np

from jostle._tools.arrays import Array, Integers, Shorts, squares
from jostle.kernels import Answer, Blocks, Cone, ContactRows, Grip, GripRows, Lever, LeverRows, PolygonRows, Stop
from jostle.kernels.reference.bodies import common_way
from jostle.kernels.reference.cones import (
    INNER,
    SETTLED,
    _ends,
    _put_together,
    divided,
    laws_of_blocks,
    lengths,
    metrics_of_blocks,
    metrics_of_grips,
    nearest_in_cones,
    parts,
    residual_of_cones,
    sizes_grips,
)
from jostle.kernels.reference.dense import (
    CONTRADICTION,
    DEPENDENT,
    DROP,
    EMPTY,
    EPS,
    ROUND_OFF,
    SOLVED,
    TINY,
    UNFINISHED,
)
from jostle.kernels.reference.levers import LOCAL_STEPS
from jostle.kernels.reference.polygons import EDGE, SAME
from jostle.kernels.reference.residuals import ratios
from jostle.kernels.reference.sweeps import FAR, RISE, WINDOW, damped, least_damping, next_test

# --- dense ---


def exact(A: Array, s0: Array, noise: Array, allowed: Array, max_iterations: int) -> tuple[Array, Array, int, int]:
    # See jostle.kernels.reference.dense.
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


def project_dense(
    G: Array, c: Array, w: Array, root: Array, noise_level: float, c_noise: Array, allowed: Array, max_iterations: int
) -> tuple[Array, Array, int, int]:
    # See jostle.kernels.reference.dense.
    white = G * root
    unit = np.sqrt((white**2).sum(axis=1))
    unit[unit == 0.0] = 1.0
    noise = c_noise + noise_level * (np.abs(c) + np.abs(G) @ np.abs(w))
    rows = white / unit[:, None], (c + G @ w) / unit, noise / unit, allowed / unit
    x, p, status, iterations = exact(*rows, max_iterations)
    return w + root * x, np.maximum(p, 0.0) / unit, status, iterations


# --- contacts ---


def pairs_to_dense(rows: ContactRows, bodies: int) -> Array:
    # See jostle.kernels.reference.contacts.
    i, j, normal = rows
    (m, d), axes = normal.shape, np.arange(normal.shape[1])
    dense = np.zeros((m, bodies * d))
    row, moving = np.arange(m)[:, None], j >= 0
    dense[row, i[:, None] * d + axes] -= normal
    dense[row[moving], j[moving, None] * d + axes] += normal[moving]
    return dense


def rates(rows: ContactRows, v: Array, chunks: int) -> Array:
    # See jostle.kernels.reference.contacts.
    return np.asarray(pairs_to_dense(rows, len(v)) @ v.ravel())


def magnitude(rows: ContactRows, v: Array, chunks: int) -> Array:
    # See jostle.kernels.reference.contacts.
    return np.asarray(np.abs(pairs_to_dense(rows, len(v))) @ np.abs(v.ravel()))


def adjoint(rows: ContactRows, p: Array, bodies: int, chunks: int) -> Array:
    # See jostle.kernels.reference.contacts.
    return np.asarray((p @ pairs_to_dense(rows, bodies)).reshape(bodies, -1))


def norms(rows: ContactRows, inverse: Array, chunks: int) -> Array:
    # See jostle.kernels.reference.contacts.
    return np.asarray(np.sqrt(pairs_to_dense(rows, len(inverse)) ** 2 @ inverse.ravel()))


def whitened(
    rows: ContactRows, inverse: Array, w: Array, c: Array, c_noise: Array, slack: Array, chunks: int
) -> tuple[Array, Array, Array]:
    # See jostle.kernels.reference.contacts.
    unit, size = norms(rows, inverse, chunks), magnitude(rows, w, chunks)
    by = np.where(unit > 0.0, unit, 1.0)
    return unit, slack / by, (c_noise + ROUND_OFF * (np.abs(c) + size)) / by


def by_pair(pairs: Integers, values: Array, wanted: Integers, otherwise: float, chunks: int) -> Array:
    # See jostle.kernels.reference.contacts.
    known = {tuple(pair): value for pair, value in zip(pairs.tolist(), values, strict=True)}
    return np.array([known.get(tuple(pair), otherwise) for pair in wanted.tolist()])


# --- cells ---


def all_pairs(q: Array, radii: Array, cutoff: Array, period: Array) -> tuple[Integers, Array, Array]:
    # See jostle.kernels.reference.cells.
    i, j = np.triu_indices(len(q), k=1)
    apart = q[j] - q[i]
    with np.errstate(invalid="ignore"):
        images = period * np.round(apart / period)
    apart = np.where(np.isfinite(period), apart - images, apart)
    distance = np.linalg.norm(apart, axis=1)
    near = ~(distance - radii[i] - radii[j] > cutoff[i] + cutoff[j])
    i, j, apart, distance = i[near], j[near], apart[near], distance[near]
    with np.errstate(invalid="ignore"):
        return np.stack([i, j]), apart / distance[:, None], distance - radii[i] - radii[j]


def pair_list(q: Array, radii: Array, period: Array, chunks: int) -> tuple[Shorts, Shorts]:
    # See jostle.kernels.reference.cells.
    i, j = all_pairs(q, radii, np.zeros(len(q)), period)[0]
    return i.astype(np.int32), j.astype(np.int32)


def near(
    i: Shorts, j: Shorts, q: Array, radii: Array, cutoff: Array, period: Array, chunks: int
) -> tuple[Integers, Array, Array]:
    # See jostle.kernels.reference.cells.
    listed = set(zip(i.tolist(), j.tolist(), strict=True))
    pairs, normal, gap = all_pairs(q, radii, cutoff, period)
    kept = [(one, other) in listed for one, other in pairs.T.tolist()]
    return pairs[:, kept], normal[kept], gap[kept]


def near_polygons(
    x: Array, start: Integers, rounding: Array, cutoff: Array, i: Integers, j: Integers, chunks: int
) -> PolygonRows:
    # See jostle.kernels.reference.polygons.
    rows = [row for a, b in zip(i, j, strict=True) for row in _rows_of_cores(x, start, rounding, cutoff, a, b)]
    columns = [np.array([row[k] for row in rows]) for k in range(5)]
    pairs, feet = (column.astype(np.int64).reshape(-1, 2) for column in columns[:2])
    return PolygonRows(pairs, feet, columns[2].astype(float), columns[3].reshape(-1, 2), columns[4].astype(float))


def _rows_of_cores(x, start, rounding, cutoff, a, b):
    A, B = (np.arange(start[k], start[k + 1]) for k in (a, b))
    both = rounding[a] + rounding[b]
    distance, n, vertex, edge = _nearest_features(x, A, B)
    rows = [row for row in _above(x, A, B, n, both, SAME) if not row[4] > cutoff[row[0][0]] + cutoff[B].max()]
    found, first = list(rows), len(rows)
    for row in _above(x, B, A, -n, both, EDGE if first else SAME):
        length = np.linalg.norm(x[row[1][1]] - x[row[1][0]])
        across = np.array([n[1], -n[0]])
        twice = any(
            abs((x[one[0][0]] - x[row[0][0]]) @ across) <= SAME * length and abs(one[4] - row[4]) <= SAME * length
            for one in rows
        )
        if not twice and not row[4] > cutoff[row[0][0]] + cutoff[A].max():
            found.append(row)
    length = np.linalg.norm(x[edge[1]] - x[edge[0]])
    if not min((row[4] for row in found), default=np.inf) <= distance - both + EDGE * (length + abs(distance)):
        m, other = (n, B) if vertex in A else (-n, A)
        along = x[edge[1]] - x[edge[0]]
        s = (x[vertex] - x[edge[0]]) @ along / (along @ along) if along.any() else 0.0
        s = np.clip(s, 0.0, 1.0) if distance > 0.0 else s
        if not distance - both > cutoff[vertex] + cutoff[other].max():
            found.append(((vertex, other[0]), edge, s, m, distance - both))
    return found


def _edges_of(core):
    return [(core[k], core[(k + 1) % len(core)]) for k in range(len(core) if len(core) > 1 else 0)]


def _nearest_features(x, A, B):
    """(distance, unit normal, vertex, edge) of two cores."""
    best = (-np.inf, np.full(2, np.nan), B[0], (A[0], A[0]))
    for P, Q, sign in ((A, B, 1.0), (B, A, -1.0)):
        for e, f in _edges_of(P):
            along = x[f] - x[e]
            n = np.array([along[1], -along[0]]) / np.linalg.norm(along)
            heights = (x[Q] - x[e]) @ n
            if heights.min() > best[0]:
                best = heights.min(), sign * n, Q[heights.argmin()], (e, f)
    if best[0] > 0.0:
        along, from_end = x[best[3][1]] - x[best[3][0]], x[best[2]] - x[best[3][0]]
        if 0.0 <= from_end @ along <= along @ along:
            return best
    elif len(A) > 2 or len(B) > 2 or _segments_cross(x, A, B):
        return best
    nearest = []
    for P, Q, sign in ((A, B, 1.0), (B, A, -1.0)):
        for v in P:
            for e, f in _edges_of(Q)[: len(Q) if len(Q) > 2 else 1] or [(Q[0], Q[0])]:
                along = x[f] - x[e]
                s = np.clip((x[v] - x[e]) @ along / (along @ along), 0.0, 1.0) if e != f else 0.0
                nearest.append((x[e] + s * along - x[v], sign, v, (e, f)))
    apart, sign, v, edge = min(nearest, key=lambda one: one[0] @ one[0])
    distance = np.linalg.norm(apart)
    length = np.linalg.norm(x[best[3][1]] - x[best[3][0]])
    if distance > EDGE * length or best[0] == -np.inf:
        return distance, sign * apart / distance, v, edge
    return best


def _segments_cross(x, A, B):
    if len(A) < 2 or len(B) < 2:
        return False
    u, v, w = x[A[1]] - x[A[0]], x[B[1]] - x[B[0]], x[B[0]] - x[A[0]]
    area = u[0] * v[1] - u[1] * v[0]
    if abs(area) <= EDGE * np.linalg.norm(u) * np.linalg.norm(v):
        return False
    s, r = (w[0] * v[1] - w[1] * v[0]) / area, (w[0] * u[1] - w[1] * u[0]) / area
    return 0.0 <= s <= 1.0 and 0.0 <= r <= 1.0


def _above(x, P, Q, n, both, outside):
    """The rows of vertices of P above the edge of Q that faces them; n is from P to Q."""
    heights = x[Q] @ -n
    top = int(heights.argmax())
    after, before = (top + 1) % len(Q), top - 1
    one, two = (Q[top], Q[after]) if heights[after] >= heights[before] else (Q[before], Q[top])
    if len(Q) == 2:
        one, two = Q
    along, across = x[two] - x[one], np.array([n[1], -n[0]])
    width = along @ across
    if not abs(width) > EDGE * np.linalg.norm(along):
        return
    for v in P:
        s = (x[v] - x[one]) @ across / width
        if -outside <= s <= 1.0 + outside:
            yield (v, Q[0]), (one, two), s, n, n @ (x[one] + s * along - x[v]) - both


def near_segments(x: Array, limit: Array, start: Array, along: Array, dual: Array) -> tuple[Integers, Array]:
    # See jostle.kernels.reference.cells.
    apart = x[:, None] - start
    s = np.clip((apart * dual).sum(axis=2), 0.0, 1.0)
    distance = np.linalg.norm(apart - s[..., None] * along, axis=2)
    near = ~(distance > limit[:, None])
    return np.flatnonzero(near), distance[near]


# --- bodies ---


def expected_ways(u: Array, v: Array, h: float, of_mean: float, of_spread: float, chunks: int) -> Array:
    # See jostle.kernels.reference.bodies.
    speeds = np.sqrt(np.maximum(squares(u), squares(v)))
    sums = float(np.count_nonzero(speeds)), float(speeds.sum()), float(speeds @ speeds)
    ways: Array = h * (speeds + common_way(*sums, of_mean, of_spread))
    return ways


def outran(u: Array, h: float, cutoff: Array, chunks: int) -> bool:
    # See jostle.kernels.reference.bodies.
    return not (h * np.sqrt(squares(u)) <= cutoff).all()


def stayed(q: Array, before: Array, radii: Array, cutoff: Array, room: Array, chunks: int) -> bool:
    # See jostle.kernels.reference.bodies.
    way = q - before
    strayed = np.sqrt(squares(way - way.mean(axis=0)))
    return bool((radii + cutoff + strayed <= room).all())


def near_planes(
    x: Array, radii: Array, cutoff: Array, unit: Array, offset: Array, chunks: int
) -> tuple[Integers, Array, Array]:
    # See jostle.kernels.reference.bodies.
    distance = np.where(unit == 0.0, 0.0, x[:, None] * unit).sum(axis=2) - offset
    body, plane = np.nonzero(~(distance > (cutoff + radii)[:, None]))
    gap = distance[body, plane] - np.broadcast_to(radii, len(x))[body]
    return np.stack([body, -1 - plane]), -unit[plane], gap


# --- residuals ---


def residual_dense(G: Array, answer: Answer) -> tuple[float, float, float]:
    # See jostle.kernels.reference.residuals.
    c, c_noise, length, w, mass, u, p = answer
    if not (np.isfinite(u).all() and np.isfinite(p).all()):
        return np.inf, np.inf, np.inf
    s, terms = c + G @ u, np.abs(c) + np.abs(G) @ (np.abs(u) + np.abs(w))
    s[np.abs(s) <= c_noise + ROUND_OFF * terms] = 0.0
    unit, violation = np.sqrt((G**2 / mass).sum(axis=1)), np.maximum(-s, 0.0)
    distance = np.sqrt((mass * (u - w) ** 2).sum())
    known = length > 0.0
    relative = (violation[known] / length[known]).max(initial=0.0)
    in_units = (violation[~known] / np.maximum(unit[~known], TINY)).max(initial=0.0)
    gap = mass * (u - w) - G.T @ p
    rounding = ROUND_OFF * (np.sqrt((mass * (np.abs(u) + np.abs(w)) ** 2).sum()) + np.abs(p) @ unit)
    stationarity = np.sqrt((gap**2 / mass).sum()) - rounding
    negative = (-p * unit).max(initial=0.0)
    return ratios(relative, in_units, stationarity, negative, float(np.abs(p) @ np.abs(s)), distance)


def residual_pairs(rows: ContactRows, answer: Answer, chunks: int) -> tuple[float, float, float]:
    # See jostle.kernels.reference.residuals.
    w, mass, u = (vector.ravel() for vector in (answer.w, answer.mass, answer.u))
    return residual_dense(pairs_to_dense(rows, len(answer.w)), answer._replace(w=w, mass=mass, u=u))


def project_few(
    G: Array, rows: tuple[Array, Array, Array], w: Array, mass: Array, root: Array, tol: float, max_iterations: int
) -> tuple[Array, Array, int, int, tuple[float, float, float]]:
    # See jostle.kernels.reference.residuals.
    c, c_noise, length = rows
    u, p, status, iterations = project_dense(G, c, w, root, ROUND_OFF, c_noise, tol * length, max_iterations)
    if not (c + G @ w > -inf).all():  # the round-off of an infinite slack is infinite, too
        status = UNFINISHED
    return u, p, status, iterations, residual_dense(G, Answer(c, c_noise, length, w, mass, u, p))


# --- sweeps ---


def complementary(product: float, tol: float, size: float) -> bool:
    """Is sum p |s| at most tol |x|^2? An infinite tol asks for nothing, also where x = 0."""
    return bool(tol == np.inf or product <= tol * size)


class Laws(NamedTuple):
    """What units of rows that are swept as one, such as those of a contact with friction, do and obey."""

    rows: list[slice]
    """The rows of each unit."""
    step: Callable[[int, Array, Array], Array]
    """step(k, y, s): the multipliers that solve unit k alone, whose slack is s for its multipliers y."""
    test: Callable[[Array, Array], tuple[Array, float]]
    """test(s, p): how far each unit is from being violated, and the lack of complementarity of all of them."""
    coulomb: bool = False
    """Whether the momentum is limited, as Coulomb's law needs it, which is not the minimum of a function."""


def accelerated_sweeps(A: Any, s0: Array, p: Array, stop: Stop, laws: Laws | None = None) -> tuple[Array, Array, int]:
    """The dual problem for unit rows: Nesterov's momentum around one Gauss-Seidel sweep over the rows, or over units.

    A sweep from y gives p; y moves on by the momentum. It starts anew from p when the sweep went against the way
    of p, or when the dual objective s0 . p + 1/2 |A^T p|^2 rose: the sweep alone lowers it, its acceleration need not.
    By Coulomb's law it starts anew, and is limited to less, when the steps of `WINDOW` sweeps were larger than those of
    the sweeps before. Stops when s_i >= -violation_i and sum p |s| <= tol |x|^2, looked at by `next_test`; the
    violation of a unit is that of its first row. From one test to the next, rows without a multiplier are left out if
    their slack exceeds `FAR` times its change since the test before. Returns (x, p, iterations); iterations =
    max_iterations means that it did not stop.
    """
    violation, tol, max_iterations, every = stop
    if laws is None:
        each = [slice(k, k + 1) for k in range(len(p))]
        laws = Laws(each, lambda k, y, s: np.maximum(0.0, y - s), lambda s, p: (s, float(p @ np.abs(s))))
    rows, step, test, coulomb = laws
    allowed = violation[[at.start for at in rows]]
    p, y, x = p.copy(), p.copy(), A.T @ p
    v, theta, lowest, restart, tested = x.copy(), 1.0, np.inf, False, 0
    before, kept = np.full(len(rows), -np.inf), np.ones(len(rows), dtype=bool)
    damping, steps, steps_before = least_damping(tol), 0.0, np.inf
    for iteration in range(max_iterations):
        if iteration == tested:
            tested = next_test(iteration, every)
            margin, product = test(s0 + A @ x, p)
            if (margin >= -allowed).all() and complementary(product, tol, x @ x):
                return x, p, iteration
            loaded = np.array([p[at].any() or y[at].any() for at in rows], dtype=bool)
            kept, before = loaded | (margin <= FAR * np.abs(margin - before)), margin
        if restart:
            theta, y, v = 1.0, p.copy(), x.copy()
        after = theta * (np.sqrt(theta * theta + 4.0) - theta) / 2.0
        beta = 0.0 if restart else theta * (1.0 - theta) / (theta * theta + after)
        if coulomb:
            beta = min(beta, 1.0 - damping)
        p_before, x_before, against = p.copy(), x, 0.0
        for k in np.flatnonzero(kept).tolist():
            at = rows[k]
            q = step(k, y[at], s0[at] + A[at] @ v)
            v = v + A[at].T @ (q - y[at])
            against -= float((q - y[at]) @ (q - p[at]))
            steps += float((q - y[at]) @ (q - y[at]))
            p[at] = q
        x, objective = v, s0 @ p + 0.5 * v @ v
        y, v, theta = p + beta * (p - p_before), x + beta * (x - x_before), after
        restart = bool(against > 0.0 or (not coulomb and objective > lowest + RISE * abs(lowest)))
        lowest = objective
        if (iteration + 1) % WINDOW == 0:
            restart = restart or (coulomb and steps > steps_before)
            damping = damped(damping, steps, steps_before, least_damping(tol))
            steps, steps_before = 0.0, steps
    return A.T @ p, p, max_iterations


def from_csr(data: Array, indices: Shorts, indptr: Shorts, n: int) -> Array:
    """Rows in CSR form with n columns as a dense array."""
    A = np.zeros((len(indptr) - 1, n))
    np.add.at(A, (np.repeat(np.arange(len(A)), np.diff(indptr)), indices), data)
    return A


def sweep_rows(
    data: Array, indices: Shorts, indptr: Shorts, n: int, s0: Array, start: Array, stop: Stop
) -> tuple[Array, Array, int]:
    # See jostle.kernels.reference.sweeps.
    return accelerated_sweeps(from_csr(data, indices, indptr, n), s0, start, stop)


def gauss_seidel(
    rows: ContactRows, unit: Array, inverse: Array, s0: Array, start: Array, stop: Stop, chunks: int,
    places: Array | None,
) -> tuple[Array, int]:  # fmt: skip
    # See jostle.kernels.reference.sweeps.
    A = pairs_to_dense(rows, len(inverse)) * np.sqrt(np.repeat(inverse, rows.normal.shape[1]))
    _, p, iterations = accelerated_sweeps(A / unit[:, None], s0, start, stop)
    return p, iterations


def interior_point(
    rows: ContactRows, mass: Array, s0: Array, start: Array, places: Array, violation: Array, tol: float,
    max_iterations: int, most_numbers: int, chunks: int,
) -> tuple[Array, int, float, int]:  # fmt: skip
    # See jostle.kernels.reference.sweeps.
    A, nothing = pairs_to_dense(rows, len(mass)) / np.sqrt(mass.ravel()), np.zeros(len(s0))
    x, p, _, iterations = exact(A, s0, nothing, nothing, max_iterations)
    s, size = s0 + A @ x, float(x @ x)
    product = float(p @ np.abs(s)) / (tol * size) if size > 0.0 else 0.0
    return p, iterations, max(product, float((-s / violation).max(initial=0.0))), 0


# --- cones ---


def coulomb_step(wanted: Array, axis: Array, mu: Array, rolling: Array) -> Array:
    """Multipliers by Coulomb's law: the normal part is not negative, and bounds the others, which do not move it."""
    normal, tangent, spin = parts(wanted, axis)
    return _put_together(np.maximum(normal, 0.0), tangent, spin, axis, mu, rolling)


def block_step(y: Array, s: Array, blocks: Blocks, k: int, inner: int = INNER) -> Array:
    """The multiplier that solves the law of block k alone, whose slack is s for the multiplier y."""
    axis, mu, rolling, local, scale = (array[k : k + 1] for array in blocks[:5])
    q = y
    for _ in range(inner):
        before, wanted = q, (q - divided((s + local[0] @ (q - y))[None], axis, scale)[0])[None]
        law = coulomb_step(wanted, axis, mu, rolling)
        q = (law if blocks.coulomb else nearest_in_cones(wanted, axis, mu, rolling, scale))[0]
        if np.abs(q - before).sum() <= SETTLED * np.abs(q).sum():
            break
    return q


def cone_sweeps(
    A: Any, s0: Array, p: Array, blocks: Blocks, stop: Stop, inner: int = INNER
) -> tuple[Array, Array, int]:
    """`accelerated_sweeps` over blocks and the rows after them, in coordinates where the metric is Euclidean."""
    b, e = blocks.local.shape[:2]

    def step(k: int, y: Array, s: Array) -> Array:
        if k < b:
            return block_step(y, s, blocks, k, inner)
        return y - s if blocks.free[k - b] else np.maximum(0.0, y - s)

    def test(s: Array, p: Array) -> tuple[Array, float]:
        on_blocks = s[: b * e].reshape(b, e), p[: b * e].reshape(b, e)
        margin, product = laws_of_blocks(*on_blocks, *blocks[:3], blocks.coulomb, blocks.noise)
        others = s[b * e :]
        margin = np.append(margin, np.where(blocks.free, -np.abs(others), others))
        return margin, float(product.sum() + np.abs(p[b * e :]) @ np.abs(others))

    rows = [slice(k, k + e) for k in range(0, b * e, e)] + [slice(k, k + 1) for k in range(b * e, len(s0))]
    return accelerated_sweeps(A, s0, p, stop, Laws(rows, step, test, blocks.coulomb))


def sweep_cones(
    data: Array, indices: Shorts, indptr: Shorts, n: int, s0: Array, start: Array, blocks: Blocks, stop: Stop
) -> tuple[Array, Array, int]:
    # See jostle.kernels.reference.cones.
    return cone_sweeps(from_csr(data, indices, indptr, n), s0, start, blocks, stop)


def rates_grips(rows: GripRows, v: Array, height: int, chunks: int) -> Array:
    # See jostle.kernels.reference.cones.
    (one, other), n, d = _ends(rows, v), rows.normal, rows.normal.shape[1]
    spin, slip = rows.arms[:, :1] * one[:, d:] + rows.arms[:, 1:] * other[:, d:], other[:, :d] - one[:, :d]
    slip = slip + spin * n[:, ::-1] * np.asarray([1.0, -1.0], like=n) if d == 2 else slip - np.cross(spin, n)
    return slip if height == d else np.concatenate([slip, other[:, d:] - one[:, d:]], axis=1)


def adjoint_grips(rows: GripRows, p: Array, bodies: int, chunks: int) -> Array:
    # See jostle.kernels.reference.cones.
    i, j, n, arms = rows
    d, moving = n.shape[1], j >= 0
    push, rest = p[:, :d], p[:, d:] if p.shape[1] > d else 0.0
    moment = (push[:, :1] * n[:, 1:] - push[:, 1:] * n[:, :1]) if d == 2 else np.cross(push, n)
    one = np.concatenate([-push, arms[:, :1] * moment - rest], axis=1)
    other = np.concatenate([push, arms[:, 1:] * moment + rest], axis=1)[moving]
    sums = [np.bincount(i, a, bodies) + np.bincount(j[moving], b, bodies) for a, b in zip(one.T, other.T, strict=True)]
    return np.stack(sums, axis=1)


def whitened_grips(
    rows: GripRows, mu: Array, inverse: Array, w: Array, c: Array, c_noise: Array, guess: Array, chunks: int
) -> tuple[Array, Array, Array]:
    # See jostle.kernels.reference.cones.
    scale, d = metrics_of_grips(rows, inverse), rows.normal.shape[1]
    noise = lengths(c_noise + ROUND_OFF * (np.abs(c) + sizes_grips(rows, np.abs(w), 1, d)))
    return scale, noise, nearest_in_cones(guess, rows.normal, mu, 0.0 * mu, scale[:, [0, 1, 0]])


def residual_grips(
    rows: GripRows, mu: Array, coulomb: bool, answer: Answer, chunks: int
) -> tuple[float, float, float, float]:
    # See jostle.kernels.reference.cones.
    c, c_noise, length, w, mass, u, p = answer
    if not (np.isfinite(u).all() and np.isfinite(p).all()):
        return np.inf, np.inf, np.inf, np.inf
    d, none = c.shape[1], c[:0, 0]
    slack = c + rates_grips(rows, u, d, chunks)
    noise = c_noise + ROUND_OFF * (np.abs(c) + sizes_grips(rows, np.abs(u) + np.abs(w), 1, d))
    scale = metrics_of_grips(rows, 1.0 / mass[:, [0, d]])[:, [0, 1, 0]]
    pushes = (np.abs(p) * np.sqrt(sizes_grips(rows, 1.0 / mass, 2, d))).sum()
    gap = mass * (u - w) - adjoint_grips(rows, p, len(w), chunks)
    rounding = ROUND_OFF * (np.sqrt((mass * (np.abs(u) + np.abs(w)) ** 2).sum()) + pushes)
    distance, lack = np.sqrt((mass * (u - w) ** 2).sum()), np.sqrt((gap**2 / mass).sum()) - rounding
    cones = rows.normal, mu, 0.0 * mu, scale, coulomb
    others = none, none, none, none, none > 0.0
    return residual_of_cones(slack, noise, p, length[:, 0], *cones, others, float(lack), float(distance))


def grips_to_dense(rows: GripRows, bodies: int) -> Array:
    """The rows as an (m d, bodies (d + s)) array G; the coordinates of a body are its velocity and its spin."""
    d = rows.normal.shape[1]
    width = 3 if d == 2 else 6
    basis = np.eye(bodies * width).reshape(-1, bodies, width)
    return np.stack([rates_grips(rows, v, d, 1).ravel() for v in basis], axis=1)


def sweep_grips(
    grip: Grip, inverse: Array, s0: Array, start: Array, coulomb: bool, stop: Stop, chunks: int,
    places: Array | None,
) -> tuple[Array, int]:  # fmt: skip
    # See jostle.kernels.reference.cones.
    (m, d), unit = grip.normal.shape, np.sqrt(grip.scale[:, 0])
    masses = inverse.repeat([d, 1 if d == 2 else 3], axis=1).ravel()
    by_row = unit.repeat(d)
    A = grips_to_dense(GripRows(*grip[:4]), len(inverse)) * np.sqrt(masses) / by_row[:, None]
    flat = np.eye(d) - grip.normal[:, :, None] * grip.normal[:, None, :]
    ratio = grip.scale[:, 1] / grip.scale[:, 0]
    local = np.eye(d) + (ratio - 1.0)[:, None, None] * flat
    scale, nothing = np.stack([np.ones(m), ratio, np.ones(m)], axis=1), np.zeros(m)
    free = np.zeros(0, dtype=bool)
    blocks = Blocks(grip.normal, grip.mu, nothing, local, scale, coulomb, grip.noise / unit, free)
    allowed = stop._replace(violation=(stop.violation / unit).repeat(d))
    _, p, iterations = cone_sweeps(A, s0.ravel() / by_row, start.ravel() * by_row, blocks, allowed)
    return (p / by_row).reshape(m, d), iterations


# --- levers ---


def _of_second(rows: LeverRows, values: Array) -> Array:
    """(m, d + s) the values (bodies, d + s) of the second body of each contact, zero for a wall."""
    return np.where((rows.j >= 0)[:, None], values[np.maximum(rows.j, 0)], 0.0)


def rates_levers(rows: LeverRows, v: Array) -> Array:
    # See jostle.kernels.reference.levers.
    i, _, first, second = rows
    return np.asarray(np.einsum("mec,mc->me", first, v[i]) + np.einsum("mec,mc->me", second, _of_second(rows, v)))


def adjoint_levers(rows: LeverRows, p: Array, bodies: int) -> Array:
    # See jostle.kernels.reference.levers.
    i, j, first, second = rows
    out, moving = np.zeros((bodies, first.shape[2])), j >= 0
    np.add.at(out, i, np.einsum("mec,me->mc", first, p))
    np.add.at(out, j[moving], np.einsum("mec,me->mc", second, p)[moving])
    return out


def local_levers(rows: LeverRows, inverse: Array) -> Array:
    # See jostle.kernels.reference.levers.
    i, _, first, second = rows
    one, other = first * inverse[i][:, None], second * _of_second(rows, inverse)[:, None]
    return np.asarray(np.einsum("mec,mfc->mef", one, first) + np.einsum("mec,mfc->mef", other, second))


def _noise(rows: LeverRows, cone: Cone, c: Array, c_noise: Array, sizes: Array) -> Array:
    """(m, 2) what counts as zero in margins and slips, where velocities have these sizes (bodies, d + s)."""
    size = rates_levers(LeverRows(rows.i, rows.j, np.abs(rows.first), np.abs(rows.second)), sizes)
    round_off = lengths(c_noise + ROUND_OFF * (np.abs(c) + size))
    return np.stack([round_off, np.maximum(round_off, cone.stuck)], axis=1)


def whitened_levers(
    rows: LeverRows, cone: Cone, coulomb: bool, inverse: Array, w: Array, c: Array, c_noise: Array, guess: Array
) -> tuple[Array, Array, Array, Array, Array, Array]:
    # See jostle.kernels.reference.levers.
    local = local_levers(rows, inverse)
    scale, (normal, mu, _) = metrics_of_blocks(local, cone.normal), cone
    s0, noise = c + rates_levers(rows, w), _noise(rows, cone, c, c_noise, np.abs(w))
    s_n, s_T, _ = parts(s0, normal)
    margin = s_n if coulomb else s_n - mu * lengths(s_T)
    start = nearest_in_cones(guess, normal, mu, 0.0 * mu, scale)
    margin = np.where(np.abs(margin) <= noise[:, 0], 0.0, margin)
    return local, np.ascontiguousarray(scale[:, :2]), noise, s0, start, margin


def sweep_levers(
    lever: Lever, inverse: Array, s0: Array, start: Array, coulomb: bool, stop: Stop, chunks: int,
    places: Array | None,
) -> tuple[Array, int]:  # fmt: skip
    # See jostle.kernels.reference.levers.
    i, j, first, second, normal, mu, local, scale, noise = lever
    (m, d), unit = normal.shape, np.sqrt(scale[:, 0])
    by_row, square = unit.repeat(d), scale[:, :1]
    basis = np.eye(inverse.size).reshape(-1, *inverse.shape)
    A = (
        np.stack([rates_levers(LeverRows(i, j, first, second), v).ravel() for v in basis], axis=1)
        * np.sqrt(inverse.ravel())
        / by_row[:, None]
    )
    scales = np.concatenate([scale / square, np.ones((m, 1))], axis=1)
    free, nothing = np.zeros(0, dtype=bool), np.zeros(m)
    blocks = Blocks(normal, mu, nothing, local / square[:, None], scales, coulomb, noise[:, 0] / unit, free)
    allowed = stop._replace(violation=(stop.violation / unit).repeat(d))
    _, p, iterations = cone_sweeps(A, s0.ravel() / by_row, start.ravel() * by_row, blocks, allowed, LOCAL_STEPS)
    return (p / by_row).reshape(m, d), iterations


def residual_levers(rows: LeverRows, cone: Cone, coulomb: bool, answer: Answer) -> tuple[float, float, float, float]:
    # See jostle.kernels.reference.levers.
    c, c_noise, length, w, mass, u, p = answer
    if not (np.isfinite(u).all() and np.isfinite(p).all()):
        return np.inf, np.inf, np.inf, np.inf
    none, local = c[:0, 0], local_levers(rows, 1.0 / mass)
    noise = _noise(rows, cone, c, c_noise, np.abs(u) + np.abs(w))
    pushes = (np.abs(p) * np.sqrt(np.einsum("mee->me", local))).sum()
    gap = mass * (u - w) - adjoint_levers(rows, p, len(w))
    rounding = ROUND_OFF * (np.sqrt((mass * (np.abs(u) + np.abs(w)) ** 2).sum()) + pushes)
    distance, lack = np.sqrt((mass * (u - w) ** 2).sum()), np.sqrt((gap**2 / mass).sum()) - rounding
    kinds = cone.normal, cone.mu, 0.0 * cone.mu, metrics_of_blocks(local, cone.normal), coulomb
    others = none, none, none, none, none > 0.0
    slack = c + rates_levers(rows, u)
    return residual_of_cones(slack, noise[:, :1], p, length[:, 0], *kinds, others, float(lack), float(distance))
