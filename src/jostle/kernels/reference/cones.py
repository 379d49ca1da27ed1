"""Rows in blocks whose multipliers lie in a friction cone: sweeps over them, and how far an answer is from the law.

A block has d rows, the relative velocity s of a contact in space, and with rolling resistance the relative spin s_R
after them. With the axis n, s_n = s . n and s_T = s - s_n n:

    K = {|p_T| <= mu p_n, |p_R| <= rolling p_n},     K* = {s_n >= mu |s_T| + rolling |s_R|}

    convex law     s in K*,                                     p in K,   p . s = 0
    Coulomb's law  s + (mu |s_T| + rolling |s_R|) n in K*,      p in K,   p . s + (mu |s_T| + rolling |s_R|) p_n = 0

The local matrix of a block is the change of its s with its p. Where it has the form W_n n n^T + W_t (1 - n n^T) + W_r
(contacts of balls), one formula solves the law of one block; otherwise a matrix of that form which majorises the local
one gives a convergent iteration.
"""

from __future__ import annotations

from math import inf, sqrt
from typing import NamedTuple

import numpy as np

from jostle._tools.arrays import Array, Booleans, Integers, Shorts
from jostle.kernels.interface import Kernel
from jostle.kernels.reference.dense import ROUND_OFF, TINY
from jostle.kernels.reference.residuals import Answer, ratios
from jostle.kernels.reference.sweeps import Stop

INNER = 12
"""Largest number of local iterations of a block whose local matrix has no closed formula."""
COUPLED = 1e-13
"""What couples two parts of a block counts if it exceeds this fraction of their own size."""
SETTLED = 1e-12
"""Local iterations end when p changes by less than this fraction of itself."""


class Blocks(NamedTuple):
    """The kinds of the rows: blocks in cones come first, rows of length one with s >= 0 or s = 0 after them."""

    axis: Array
    """(b, d) the normals."""
    mu: Array
    rolling: Array
    """(b,) zeros where a block has d rows only."""
    local: Array
    """(b, e, e) the local matrices."""
    scale: Array
    """(b, 3) W_n, W_t, W_r of the matrices that majorise them, or equal them."""
    coulomb: bool
    noise: Array
    """(b,) slacks up to this count as zero in the stopping test."""
    free: Booleans
    """Which of the rows after the blocks are equalities."""


def parts(vectors: Array, axis: Array) -> tuple[Array, Array, Array]:
    """The normal parts (b,) of vectors (b, e) of blocks, their tangential parts (b, d), and their parts of spin."""
    d = axis.shape[1]
    normal = np.einsum("bd,bd->b", vectors[:, :d], axis)
    return normal, vectors[:, :d] - normal[:, None] * axis, vectors[:, d:]


def lengths(vectors: Array) -> Array:
    """(b,) the lengths of vectors (b, d)."""
    return np.asarray(np.sqrt(np.einsum("bd,bd->b", vectors, vectors)))


def _put_together(normal: Array, tangent: Array, spin: Array, axis: Array, mu: Array, rolling: Array) -> Array:
    """(b, e) the vectors of K with these normal parts, whose other parts are shortened where they are too long."""
    tangent_factor = np.minimum(1.0, mu * normal / np.maximum(lengths(tangent), TINY))
    spin_factor = np.minimum(1.0, rolling * normal / np.maximum(lengths(spin), TINY))
    tangent, spin = tangent_factor[:, None] * tangent, spin_factor[:, None] * spin
    return np.concatenate([normal[:, None] * axis + tangent, spin], axis=1)


def nearest_in_cones(wanted: Array, axis: Array, mu: Array, rolling: Array, scale: Array) -> Array:
    """(b, e) the nearest vectors in K, in the metric W_n n n^T + W_t (1 - n n^T) + W_r."""
    normal, tangent, spin = parts(wanted, axis)
    t, r, found, (W_n, W_t, W_r) = lengths(tangent), lengths(spin), normal, scale.T
    for _ in range(3):  # an increasing, concave, piecewise linear function: Newton's method ends at its zero
        slip, roll = t > mu * found, r > rolling * found
        above = W_n * normal + slip * W_t * mu * t + roll * W_r * rolling * r
        found = above / (W_n + slip * W_t * mu**2 + roll * W_r * rolling**2)
    return _put_together(np.maximum(found, 0.0), tangent, spin, axis, mu, rolling)


def divided(s: Array, axis: Array, scale: Array) -> Array:
    """(b, e) slacks divided by the matrices W_n n n^T + W_t (1 - n n^T) + W_r."""
    (normal, tangent, spin), (W_n, W_t, W_r) = parts(s, axis), scale.T
    return np.concatenate([(normal / W_n)[:, None] * axis + tangent / W_t[:, None], spin / W_r[:, None]], axis=1)


def metrics_of_blocks(local: Array, axis: Array) -> Array:
    """(b, 3) the smallest W_n, W_t, W_r whose matrix W_n n n^T + W_t (1 - n n^T) + W_r majorises each local matrix.

    The three parts of a block are made independent by |b| <= (b + b) / 2 for what couples two of them. A part that
    nothing moves has the number of the normal part, or one.
    """
    d = axis.shape[1]
    n = np.concatenate([axis, np.zeros((len(axis), local.shape[1] - d))], axis=1)
    along = np.einsum("bij,bj->bi", local, n)
    W_n = np.einsum("bi,bi->b", along, n)
    aside, spin = (along - W_n[:, None] * n)[:, :d], along[:, d:]
    flat = np.eye(d) - axis[:, :, None] * axis[:, None, :]
    W_t = _largest(flat @ local[:, :d, :d] @ flat)
    W_r = _largest(local[:, d:, d:])
    with_t, with_r = lengths(aside), lengths(spin)
    between = np.sqrt(np.square(flat @ local[:, :d, d:]).sum(axis=(1, 2)))
    found = np.stack([W_n, W_t, W_r], axis=1)
    for one, other, coupling in ((0, 1, with_t), (0, 2, with_r), (1, 2, between)):
        ratio = np.sqrt(np.maximum(found[:, one], TINY)) / np.sqrt(np.maximum(found[:, other], TINY))
        coupled = coupling > COUPLED * np.sqrt(found[:, one] * found[:, other])
        found[:, one] += np.where(coupled, coupling * ratio, 0.0)
        found[:, other] += np.where(coupled, coupling / ratio, 0.0)
    W_n = np.where(found[:, 0] > 0.0, found[:, 0], 1.0)
    return np.stack([W_n, *(np.where(COUPLED * W_n < W, W, W_n) for W in found[:, 1:].T)], axis=1)


def _largest(matrices: Array) -> Array:
    """(b,) the largest eigenvalue of each symmetric matrix, zero where there is nothing."""
    if matrices.shape[1] == 0:
        return np.zeros(len(matrices))
    return np.asarray(np.linalg.eigvalsh(matrices)[:, -1])


def sizes_of_blocks(vectors: Array, axis: Array, scale: Array) -> Array:
    """(b,) the lengths of vectors (b, e) in the metric W_n n n^T + W_t (1 - n n^T) + W_r."""
    normal, tangent, spin = parts(vectors, axis)
    return np.asarray(
        np.sqrt(scale[:, 0] * normal**2 + scale[:, 1] * lengths(tangent) ** 2 + scale[:, 2] * lengths(spin) ** 2)
    )


def laws_of_blocks(
    s: Array, p: Array, axis: Array, mu: Array, rolling: Array, coulomb: bool, noise: Array | float = 0.0
) -> tuple[Array, Array]:
    """(b,) how far s (b, e) is from violating the law of its block, and the lack of complementarity with p (b, e).

    Margins, slips and relative spins up to the noise (b,) count as zero.
    """
    (s_n, s_T, s_R), (p_n, p_T, p_R) = parts(s, axis), parts(p, axis)
    slip, roll = lengths(s_T), lengths(s_R)
    margin = s_n if coulomb else s_n - mu * slip - rolling * roll
    margin = np.where(np.abs(margin) <= noise, 0.0, margin)
    slides = np.where(slip <= noise, 0.0, p_n * mu * slip + (p_T * s_T).sum(axis=1))
    rolls = np.where(roll <= noise, 0.0, p_n * rolling * roll + (p_R * s_R).sum(axis=1))
    return margin, np.abs(p_n * margin) + np.abs(slides + rolls)


def natural_map(s: Array, p: Array, axis: Array, mu: Array, rolling: Array, scale: Array, coulomb: bool) -> Array:
    """(b,) |p - P_K(p - W^-1 (s + mu |s_T| n))| of each block in the metric W of `scale`.

    The convex law has no mu |s_T| n.
    """
    d = axis.shape[1]
    if coulomb:
        _, slip, roll = parts(s, axis)
        s = s.copy()
        s[:, :d] += (mu * lengths(slip) + rolling * lengths(roll))[:, None] * axis
    nearest = nearest_in_cones(p - divided(s, axis, scale), axis, mu, rolling, scale)
    return sizes_of_blocks(p - nearest, axis, scale)


@Kernel
def sweep_cones(
    data: Array, indices: Shorts, indptr: Shorts, n: int, s0: Array, start: Array, blocks: Blocks, stop: Stop
) -> tuple[Array, Array, int]:
    """`cone_sweeps` over rows in CSR form with n columns, from the multipliers `start`."""
    raise NotImplementedError


class GripRows(NamedTuple):
    """Contacts of balls with spin: blocks of d rows (v_j - w_j x r_j n) - (v_i + w_i x r_i n), a wall where j < 0.

    Where blocks are higher than d, the relative spins w_j - w_i are the other rows.
    """

    i: Integers
    j: Integers
    normal: Array
    arms: Array
    """(m, 2) the distances r_i and r_j."""


class Grip(NamedTuple):
    """Contacts of balls with spin, their friction cones and their local matrices."""

    i: Integers
    j: Integers
    normal: Array
    arms: Array
    """(m, 2) the distances r_i and r_j."""
    mu: Array
    scale: Array
    """(m, 2) W_n and W_t."""
    noise: Array
    """(m,) slacks up to this count as zero in the stopping test."""


def _ends(rows: GripRows, values: Array) -> tuple[Array, Array]:
    """(m, d + s) the values (bodies, d + s) of both bodies of each contact, zero for a wall."""
    return values[rows.i], np.where((rows.j >= 0)[:, None], values[np.maximum(rows.j, 0)], 0.0)


@Kernel
def rates_grips(rows: GripRows, v: Array, height: int, chunks: int) -> Array:
    """(m, height) the blocks of G v, for the velocities and spins v (bodies, d + s)."""
    raise NotImplementedError


@Kernel
def adjoint_grips(rows: GripRows, p: Array, bodies: int, chunks: int) -> Array:
    """(bodies, d + s) the impulses and moments G^T p of p (m, height)."""
    raise NotImplementedError


def sizes_grips(rows: GripRows, values: Array, power: int, height: int) -> Array:
    """(m, height) the products of |G|^power, entry by entry, with values (bodies, d + s) of all coordinates."""
    (one, other), d = _ends(rows, values), rows.normal.shape[1]
    n, arms, total = np.abs(rows.normal) ** power, np.abs(rows.arms) ** power, one + other
    spin = arms[:, :1] * one[:, d:] + arms[:, 1:] * other[:, d:]
    if d == 2:
        sizes = total[:, :d] + n[:, ::-1] * spin
    else:
        ahead, behind = [1, 2, 0], [2, 0, 1]
        sizes = total[:, :d] + n[:, ahead] * spin[:, behind] + n[:, behind] * spin[:, ahead]
    return sizes if height == d else np.concatenate([sizes, total[:, d:]], axis=1)


def metrics_of_grips(rows: GripRows, inverse: Array) -> Array:
    """(m, 2) W_n and W_t of each contact, for inverse masses and inertias (bodies, 2)."""
    one, other = _ends(rows, inverse)
    W_n = one[:, 0] + other[:, 0]
    return np.stack([W_n, W_n + one[:, 1] * rows.arms[:, 0] ** 2 + other[:, 1] * rows.arms[:, 1] ** 2], axis=1)


@Kernel
def whitened_grips(
    rows: GripRows, mu: Array, inverse: Array, w: Array, c: Array, c_noise: Array, guess: Array, chunks: int
) -> tuple[Array, Array, Array]:
    """(scale, noise, start): W_n and W_t, the round-off of the slack at w, and a guess moved into the cones.

    c, its round-off and the guess have shape (m, d); inverse (bodies, 2) are the inverse masses and inertias.
    """
    raise NotImplementedError


@Kernel
def residual_grips(
    rows: GripRows, mu: Array, coulomb: bool, answer: Answer, chunks: int
) -> tuple[float, float, float, float]:
    """(primal, dual, complementarity, natural) of an answer, see `residual_of_cones`.

    c, its round-off, the lengths and p have shape (m, d), the others (bodies, d + s); the coordinates of a velocity
    have the same mass, and those of a spin the same inertia.
    """
    raise NotImplementedError


def residual_of_cones(
    s: Array, noise: Array, p: Array, length: Array,
    axis: Array, mu: Array, rolling: Array, scale: Array, coulomb: bool,
    others: tuple[Array, Array, Array, Array, Booleans], stationarity: float, distance: float,
) -> tuple[float, float, float, float]:  # fmt: skip
    """(primal, dual, complementarity, natural) of blocks in cones and other rows.

    s, its noise and p are those of the blocks, of shape (b, e); `others` are the same of the other rows, where the
    slack is zero if it is noise: slack, multipliers, lengths, |G_i|, and which of them are equalities. The natural map
    is |p - P_K(p - W^-1 (s + mu |s_T| n))|, over the distance; all else is that of `residual_dense`. Margins, slips and
    relative spins below their noise count as zero, except in the natural map.
    """
    cones, (slack, pushed, others_length, unit, free) = (axis, mu, rolling), others
    margin, product = laws_of_blocks(s, p, *cones, coulomb, lengths(noise))
    violation = np.append(np.maximum(-margin, 0.0), np.where(free, np.abs(slack), np.maximum(-slack, 0.0)))
    known, units = np.append(length, others_length), np.append(np.sqrt(scale[:, 0]), unit)
    relative = float((violation / np.where(known > 0.0, known, np.inf)).max(initial=0.0))
    moved_by = float((np.where(known > 0.0, 0.0, violation) / np.maximum(units, TINY)).max(initial=0.0))
    away = sizes_of_blocks(p - nearest_in_cones(p, *cones, scale), axis, scale)
    away = np.where(away <= ROUND_OFF * sizes_of_blocks(p, axis, scale), 0.0, away)
    negative = max(float(away.max(initial=0.0)), float((np.where(free, 0.0, -pushed) * unit).max(initial=0.0)))
    complementarity = float(product.sum() + np.abs(pushed) @ np.abs(slack))
    step = pushed * unit**2 - np.maximum(pushed * unit**2 - slack, 0.0)
    step = np.where(free, slack, step) / np.maximum(unit, TINY)
    total = np.square(natural_map(s, p, *cones, scale, coulomb)).sum() + np.square(step).sum()
    found = ratios(relative, moved_by, stationarity, negative, complementarity, distance)
    return *found, natural_over(float(total), distance)


def natural_over(square: float, distance: float) -> float:
    """The square root of the natural map's square over the distance, where 0 / 0 = 0."""
    return sqrt(square) / distance if distance > 0.0 else (0.0 if square == 0.0 else inf)


@Kernel
def sweep_grips(
    grip: Grip, inverse: Array, s0: Array, start: Array, coulomb: bool, stop: Stop, chunks: int,
    places: Array | None,
) -> tuple[Array, int]:  # fmt: skip
    """(p, iterations) of `cone_sweeps` over contacts of balls, from the multipliers `start` (m, d); s0 (m, d) at rest.

    inverse (bodies, 2) are the inverse masses and inertias. The allowed violation is that of the normal slack of each
    contact. An implementation may take the contacts in an order of its own, which may depend on the places (bodies, d)
    of the bodies, if known; `chunks` threads share the work.
    """
    raise NotImplementedError
