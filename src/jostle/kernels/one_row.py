"""Projections with a single row, in plain Python: a ball above a floor needs no numba, which takes seconds to compile.

The same functions as `project_dense` and `residual_dense` of the kernels. A step of one ball takes as long with them as
with compiled code: some microseconds of two hundred.
"""

from __future__ import annotations

from math import inf

import numpy as np

from jostle._tools.arrays import Array
from jostle.kernels.reference.dense import CONTRADICTION, EMPTY, ROUND_OFF, SOLVED, UNFINISHED
from jostle.kernels.reference.residuals import Answer, add_coordinate, add_row, residual_of_sums

MAX_COORDINATES = 6
"""Rows of more coordinates than this are left to compiled code."""


def serves(G: Array) -> bool:
    """Is this a single row of a few coordinates?"""
    rows, coordinates = G.shape
    return bool(rows == 1 and coordinates <= MAX_COORDINATES)


def project_dense(
    G: Array, c: Array, w: Array, root: Array, noise_level: float, c_noise: Array, allowed: Array, max_iterations: int
) -> tuple[Array, Array, int, int]:
    """See `reference.project_dense`: w moves along M^-1 G^T until c + G w = 0, if that is negative."""
    s = c.item()
    size, square, white, roots = abs(s), 0.0, [], root.tolist()
    for g, x, factor in zip(G.tolist()[0], w.tolist(), roots, strict=False):
        product, a = g * x, g * factor
        s += product
        size += abs(product)
        square += a * a
        white.append(a)
    noise = c_noise.item() + noise_level * size
    if max_iterations == 0 or not s < -noise:
        return w.copy(), np.zeros(1), SOLVED if max_iterations else UNFINISHED, 0
    if square == 0.0:
        empty = -s > max(CONTRADICTION * -s, noise, allowed.item())
        return w.copy(), np.full(1, float(empty)), EMPTY if empty else SOLVED, 0 if empty else 1
    push = -s / square
    moved = [push * a * factor for a, factor in zip(white, roots, strict=False)]
    return w + np.array(moved), np.full(1, push), SOLVED if max_iterations > 1 else UNFINISHED, 1


def project_few(
    G: Array, rows: tuple[Array, Array, Array], w: Array, mass: Array, root: Array, tol: float, max_iterations: int
) -> tuple[Array, Array, int, int, tuple[float, float, float]]:
    """See `reference.project_few`."""
    c, c_noise, length = rows
    u, p, status, iterations = project_dense(G, c, w, root, ROUND_OFF, c_noise, tol * length, max_iterations)
    if not c.item() + sum(g * x for g, x in zip(G.tolist()[0], w.tolist(), strict=False)) > -inf:
        status = UNFINISHED
    return u, p, status, iterations, residual_dense(G, Answer(c, c_noise, length, w, mass, u, p))


def residual_dense(G: Array, answer: Answer) -> tuple[float, float, float]:
    """See `reference.residual_dense`."""
    c, c_noise, length, w, mass, u, p = answer
    s, push, square = c.item(), p.item(), 0.0
    scale, of_coordinates = abs(s), (0.0, 0.0, 0.0)
    for g, m, now, before in zip(G.tolist()[0], mass.tolist(), u.tolist(), w.tolist(), strict=False):
        s += g * now
        scale += abs(g) * (abs(now) + abs(before))
        square += g * g / m
        of_coordinates = add_coordinate(of_coordinates, now, before, m, g * push)
    of_row = add_row((0.0, 0.0, 0.0, 0.0, 0.0), s, scale, square, push, length.item(), c_noise.item())
    return residual_of_sums(*of_row, *of_coordinates)
