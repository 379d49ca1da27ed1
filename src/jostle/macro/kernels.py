"""The loops of densities: envelopes of parabolas, the obstacle problem, isotonic regression."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from jostle._tools.arrays import Array, Booleans, Integers
from jostle.kernels.interface import kernel


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


@kernel("jostle.macro.compiled")
def obstacle(
    east: Array, north: Array, extra: Array, b: Array, start: Array, jammed: Booleans, held: Booleans,
    precision: float, tol: float, zero: float, most: int, cycles: int,
) -> tuple[Array, int, int]:  # fmt: skip
    """(p, steps, cycles) with p >= 0, A p - b >= 0, p (A p - b) = 0 on the cells of a grid, A = `five_point`.

    Primal-dual active sets: the jammed cells to start from are given; those that are held stay jammed. p is zero where
    A has no diagonal; elsewhere A must be positive definite. Linear systems are solved here without a start, exactly.
    An implementation may start from `start` and solve them up to `precision`, in the last steps up to tol (of |b|), in
    no more than `cycles` cycles each; there an entry of p below the part `zero` of the largest, or one of A p - b below
    that part of the largest |b|, has no sign.
    """
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


@kernel("jostle.macro.compiled")
def isotonic(y: Array, mass: Array, order: Integers, starts: Integers, low: Booleans, high: Booleans) -> Array:
    """(n,) run by run, the nearest non-decreasing u to y, >= 0 after a wall (low), <= 0 before one (high).

    The points of run r are order[starts[r]:starts[r + 1]]; mass of length 0: all one.
    """
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


@kernel("jostle.macro.compiled")
def pressures(lost: Array, mass: Array, order: Integers, starts: Integers, low: Booleans, high: Booleans) -> Array:
    """(n + runs,) at the edges of all runs, the sum of mass times what was lost, from a free end on.

    Between two walls the least pressure is zero; at a free end it is zero, and nowhere is it negative.
    """
    edges = []
    for run, (a, b) in enumerate(pairwise(starts)):
        points = order[a:b]
        p = np.concatenate([[0.0], np.cumsum((mass[points] if len(mass) else 1.0) * lost[points])])
        p -= p.min() if low[run] and high[run] else p[-1] if low[run] else 0.0
        p = np.maximum(p, 0.0)
        p[0], p[-1] = p[0] if low[run] else 0.0, p[-1] if high[run] else 0.0
        edges.append(p)
    return np.concatenate(edges)


@kernel("jostle.macro.compiled")
def envelopes(p: Array) -> Array:
    """(m, n): for each row, and i = 0 ... n - 1, the least (i - y)^2 / 2 + p(y) over 0 <= y <= n - 1.

    The least value over the whole numbers y = j is looked for first. Between j and its neighbours p is then taken for a
    parabola, with the smaller of the second differences at both ends (that of the next place at an end of the row), so
    that a kink of p stays one.
    """
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
