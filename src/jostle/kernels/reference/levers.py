"""Contacts at the ends of levers, such as those of clumps: blocks of rows on the velocities and spins of two bodies.

Unlike those of balls (`cones.GripRows`), the local matrix of such a contact is any matrix: its normal and its tangents
are coupled. A sweep takes a few steps of the inner iteration of `cones.block_step` in each block.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from jostle._tools.arrays import Array, Integers
from jostle.kernels.reference.cones import (
    Blocks,
    cone_sweeps,
    lengths,
    metrics_of_blocks,
    nearest_in_cones,
    parts,
    residual_of_cones,
)
from jostle.kernels.reference.dense import ROUND_OFF
from jostle.kernels.reference.residuals import Answer
from jostle.kernels.reference.sweeps import Stop

LOCAL_STEPS = 2
"""Local iterations of each block in a sweep. With twelve, piles of clumps need about a twentieth fewer sweeps."""


class LeverRows(NamedTuple):
    """Blocks of rows on the velocities v (bodies, d + s), which are velocities and spins, of two bodies each."""

    i: Integers
    j: Integers
    """(m,) the second bodies, negative for a wall."""
    first: Array
    """(m, e, d + s) the gradients with respect to v_i. Their first d columns are minus one on the diagonal, or zero."""
    second: Array
    """(m, e, d + s) the gradients with respect to v_j, zero for a wall; their first d columns have ones."""


class Cone(NamedTuple):
    """The friction cones of blocks: their normals (m, d), mu (m,), and the slips (m,) that count as sticking."""

    normal: Array
    mu: Array
    stuck: Array


class Lever(NamedTuple):
    """Contacts as they are swept."""

    i: Integers
    j: Integers
    first: Array
    second: Array
    """See `LeverRows`."""
    normal: Array
    mu: Array
    local: Array
    """(m, d, d) the local matrices."""
    scale: Array
    """(m, 2) W_n and W_t of the matrices that majorise them."""
    noise: Array
    """(m, 2) in the stopping test, margins up to the first and slips up to the second count as zero."""


def _of_second(rows: LeverRows, values: Array) -> Array:
    """(m, d + s) the values (bodies, d + s) of the second body of each contact, zero for a wall."""
    return np.where((rows.j >= 0)[:, None], values[np.maximum(rows.j, 0)], 0.0)


def rates_levers(rows: LeverRows, v: Array) -> Array:
    """(m, e) the blocks of G v."""
    i, _, first, second = rows
    return np.asarray(np.einsum("mec,mc->me", first, v[i]) + np.einsum("mec,mc->me", second, _of_second(rows, v)))


def adjoint_levers(rows: LeverRows, p: Array, bodies: int) -> Array:
    """(bodies, d + s) the impulses and moments G^T p of p (m, e)."""
    i, j, first, second = rows
    out, moving = np.zeros((bodies, first.shape[2])), j >= 0
    np.add.at(out, i, np.einsum("mec,me->mc", first, p))
    np.add.at(out, j[moving], np.einsum("mec,me->mc", second, p)[moving])
    return out


def local_levers(rows: LeverRows, inverse: Array) -> Array:
    """(m, e, e) the local matrices G_k M^-1 G_k^T, for the inverse masses (bodies, d + s) of all coordinates."""
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
    """(local, scale, noise, s0, start, margin): what `Lever` has of contacts, their slack at w, a guess moved into the
    cones, and how far w is from violating each contact, zero below its noise.

    c, its round-off and the guess have shape (m, d); inverse (bodies, d + s) are the inverse masses of all coordinates.
    """
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
    """(p, iterations) of `cone_sweeps` over the contacts, from the multipliers `start` (m, d); s0 (m, d) at rest.

    The allowed violation is that of the normal slack of each contact. An implementation may take the contacts in an
    order of its own, which may depend on the places (bodies, d) of the bodies, if known; `chunks` threads share the
    work.
    """
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
    """(primal, dual, complementarity, natural) of an answer, see `residual_of_cones`.

    c, its round-off, the lengths and p have shape (m, d), the others (bodies, d + s).
    """
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
