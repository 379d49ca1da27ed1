"""The kernels of plans, crowds and densities in plain NumPy: what their compiled loops are compared with."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from jostle._tools.arrays import Array, Booleans, Integers
from jostle.crowds.model.kernels import ALONE, ASIDE, IN_FILE, NEAR
from jostle.plans.kernels import FLAT, LEVEL, LOST


def marched(
    free: Booleans,
    start: Array,
    step: float,
    cost: Array | None = None,
    wanted: Booleans | None = None,
    slack: float = 0.0,
) -> Array:
    # See jostle.plans.kernels.marched.
    left = None if wanted is None else wanted & free & ~np.isfinite(start)
    limit = slack if left is not None and not left.any() else np.inf
    d, accepted = start.copy(), np.isfinite(start)
    lengths = np.full(start.shape, step) if cost is None else step * cost
    while True:
        tentative = np.where(free & ~accepted, upwind(np.where(accepted, d, np.inf), lengths), np.inf)
        node = np.unravel_index(np.argmin(tentative), d.shape)
        if not np.isfinite(tentative[node]) or tentative[node] > limit:
            return d
        d[node], accepted[node] = tentative[node], True
        if left is not None and left[node]:
            left[node] = False
            limit = np.inf if left.any() else d[node] + slack


def upwind(d: Array, step: Array) -> Array:
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


def descent(d: Array, step: float, free: Booleans | None = None, otherwise: Array | None = None) -> Array:
    # See jostle.plans.kernels.descent.
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
    found = -gradient / np.where(size > 0.0, size, 1.0)
    if free is not None and otherwise is not None:
        unknown = np.pad(free & ~np.isfinite(d), 1)
        beside = unknown | np.roll(unknown, 1, 0) | np.roll(unknown, -1, 0)
        beside |= np.roll(unknown, 1, 1) | np.roll(unknown, -1, 1)
        found[beside[1:-1, 1:-1]] = np.nan
        found = np.where(free[..., None], found, otherwise)
    return np.asarray(found.reshape(-1, 2))


def headings(
    q: Array,
    field: Integers,
    fields: Sequence[tuple[tuple[int, int], Array]],
    lower: Array,
    step: float,
    shape: tuple[int, int],
    exits: Array,
    outward: Array,
    chunks: int,
) -> Array:
    # See jostle.plans.kernels.headings.
    out = np.zeros((len(q), 2))
    for a in np.flatnonzero(np.asarray(field) >= 0):
        x = (q[a] - lower) / step
        cell = np.floor(x)
        if (cell < 0).any() or (cell >= np.array(shape) - 1).any():
            out[a] = outward[np.argmin([_distance(q[a], *ends) for ends in exits])]
            continue
        low, direction = fields[field[a]]
        i, j = (cell - low).astype(int)
        if i < 0 or j < 0 or i + 1 >= direction.shape[0] or j + 1 >= direction.shape[1]:
            out[a] = np.nan
            continue
        s, t = x - cell
        corners = direction[i : i + 2, j : j + 2].reshape(4, 2).astype(float)
        way = np.array([(1 - s) * (1 - t), (1 - s) * t, s * (1 - t), s * t]) @ corners
        if np.linalg.norm(way) < LOST:
            way = corners.sum(axis=0)
        if np.linalg.norm(way) < LOST:
            way = corners[np.argmax(np.linalg.norm(corners, axis=1))]
        out[a] = way / max(float(np.linalg.norm(way)), np.finfo(float).tiny)
    return out


def _distance(x: Array, start: Array, end: Array) -> float:
    """The distance from a point to a segment."""
    along = end - start
    square = float(along @ along)
    s = min(max(float((x - start) @ along) / square, 0.0), 1.0) if square > 0.0 else 0.0
    return float(np.linalg.norm(x - start - s * along))


def turned(q: Array, radii: Array, direction: Array, strength: float, decay: float, sight: float, chunks: int) -> Array:
    # See jostle.crowds.model.kernels.turned.
    apart, gap = _apart(q, radii)
    size = np.linalg.norm(apart, axis=-1)
    push = np.where(gap <= sight, strength * np.exp(-gap / decay), 0.0) / np.where(size > 0.0, size, 1.0)
    total = direction - np.einsum("ij,ijd->id", push, apart)
    size = np.linalg.norm(total, axis=1)
    size[~direction.any(axis=1)] = 0.0
    return np.asarray(np.where(size[:, None] > 0.0, total / np.where(size > 0.0, size, 1.0)[:, None], 0.0))


def gaps_ahead(q: Array, radii: Array, direction: Array, sight: float, strip: float, chunks: int) -> Array:
    # See jostle.crowds.model.kernels.gaps_ahead.
    apart, gap = _apart(q, radii)
    along = np.einsum("ijd,id->ij", apart, direction)
    across = apart[..., 0] * direction[:, None, 1] - apart[..., 1] * direction[:, None, 0]
    width = radii[:, None] + radii
    similar = direction @ direction.T > 0.0
    strip_meets = (along > 0.0) & (np.abs(across) < strip * width)
    second = strip_meets & strip_meets.T & similar & (along < along.T)
    aside = np.clip((np.abs(across) / width - IN_FILE) / (ASIDE - IN_FILE), 0.0, 1.0)
    beside = aside * np.clip((ALONE - gap) / (ALONE - NEAR), 0.0, 1.0)
    beside[~direction.any(axis=1)] = 0.0
    ahead = np.where((gap <= sight) & strip_meets & ~second, gap, np.inf).min(axis=1, initial=np.inf)
    return np.stack([ahead, beside.max(axis=1, initial=0.0)])


def _apart(q: Array, radii: Array) -> tuple[Array, Array]:
    """The vectors (n, n, 2) from each person to each other, and the gaps (n, n), infinite to oneself."""
    apart = q[None] - q[:, None]
    gap = np.linalg.norm(apart, axis=-1) - radii[:, None] - radii
    np.fill_diagonal(gap, np.inf)
    return apart, gap


def spread(amount: Array, east: Booleans, north: Booleans, part: float, passes: int) -> Array:
    # See jostle.crowds.model.kernels.spread.
    found = amount.copy()
    for _ in range(passes):
        along = np.where(east[:-1], found[1:] - found[:-1], 0.0)
        across = np.where(north[:, :-1], found[:, 1:] - found[:, :-1], 0.0)
        gain = np.zeros_like(found)
        gain[:-1] += along
        gain[1:] -= along
        gain[:, :-1] += across
        gain[:, 1:] -= across
        found = found + part * gain
    return found


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


def obstacle(
    east: Array, north: Array, extra: Array, b: Array, start: Array, jammed: Booleans, held: Booleans,
    precision: float, tol: float, zero: float, most: int, cycles: int,
) -> tuple[Array, int, int]:  # fmt: skip
    # See jostle.macro.kernels.obstacle.
    A, load = five_point(east, north, extra), b.ravel()
    there = A.diagonal() > 0.0
    now, p = jammed.ravel() & there, np.zeros(len(load))
    for step in range(most):
        p[:] = 0.0
        p[now] = np.linalg.solve(A[np.ix_(now, now)], load[now])
        following = (np.where(now, p > 0.0, A @ p < load) | held.ravel()) & there
        if (following == now).all():
            return p.reshape(b.shape), step + 1, 0
        now = following
    return p.reshape(b.shape), most, 0


def isotonic(y: Array, mass: Array, order: Integers, starts: Integers, low: Booleans, high: Booleans) -> Array:
    # See jostle.macro.kernels.isotonic.
    u = np.empty(len(y))
    for run, (a, b) in enumerate(pairwise(starts)):
        points = order[a:b]
        u[points] = _pooled(y[points], mass[points] if len(mass) else np.ones(b - a))
        u[points] = np.maximum(u[points], 0.0) if low[run] else u[points]
        u[points] = np.minimum(u[points], 0.0) if high[run] else u[points]
    return u


def _pooled(y: Array, mass: Array) -> Array:
    """u_i is the largest, over where a block may begin, of the smallest mean of y up to where it may end."""
    n = len(y)
    total, sums = np.concatenate([[0.0], np.cumsum(mass)]), np.concatenate([[0.0], np.cumsum(mass * y)])
    mean = [[(sums[b] - sums[a]) / (total[b] - total[a]) for b in range(a + 1, n + 1)] for a in range(n)]
    return np.array([max(min(mean[a][i - a :]) for a in range(i + 1)) for i in range(n)])


def pressures(lost: Array, mass: Array, order: Integers, starts: Integers, low: Booleans, high: Booleans) -> Array:
    # See jostle.macro.kernels.pressures.
    edges = []
    for run, (a, b) in enumerate(pairwise(starts)):
        points = order[a:b]
        p = np.concatenate([[0.0], np.cumsum((mass[points] if len(mass) else 1.0) * lost[points])])
        p -= p.min() if low[run] and high[run] else p[-1] if low[run] else 0.0
        p = np.maximum(p, 0.0)
        p[0], p[-1] = p[0] if low[run] else 0.0, p[-1] if high[run] else 0.0
        edges.append(p)
    return np.concatenate(edges)


def envelopes(p: Array) -> Array:
    # See jostle.macro.kernels.envelopes.
    n = p.shape[1]
    place = np.arange(n)
    f = 0.5 * (place[:, None] - place) ** 2 + p[:, None]
    least = f.argmin(axis=2)[..., None]
    bend = np.ones_like(p)
    if n > 2:
        bend[:, 1:-1] += p[:, 2:] - 2.0 * p[:, 1:-1] + p[:, :-2]
        bend[:, 0], bend[:, -1] = bend[:, 1], bend[:, -2]
    value = np.take_along_axis(f, least, axis=2)
    gain = np.zeros_like(value)
    for step in (-1, 1):
        beside = np.clip(least + step, 0, n - 1)
        rise = np.take_along_axis(f, beside, axis=2) - value
        at, other = (np.take_along_axis(np.broadcast_to(bend[:, None], f.shape), k, axis=2) for k in (least, beside))
        curvature = np.where(beside == least, 0.0, np.minimum(at, other))
        reach = np.maximum(0.5 * curvature - rise, 0.0)
        gain = np.maximum(gain, np.divide(reach**2, 2.0 * curvature, out=np.zeros_like(reach), where=curvature > 0.0))
    return np.asarray((value - gain)[..., 0])
