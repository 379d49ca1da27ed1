"""The obstacle problem on a grid."""

from __future__ import annotations

import numpy as np

from jostle._tools.arrays import Array, Booleans


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
    east: Array,
    north: Array,
    extra: Array,
    b: Array,
    start: Array,
    jammed: Booleans,
    held: Booleans,
    precision: float,
    tol: float,
    zero: float,
    most: int,
    cycles: int,
) -> tuple[Array, int, int]:
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
