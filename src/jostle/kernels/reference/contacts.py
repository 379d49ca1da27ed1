"""Contacts of bodies: rows normal . (u_j - u_i), a wall at rest where j < 0."""

from __future__ import annotations

import numpy as np

from jostle._tools.arrays import Array, Integers
from jostle.kernels.reference.dense import residual_dense


def pairs_to_dense(i: Integers, j: Integers, normal: Array, bodies: int) -> Array:
    """The rows normal . (u_j - u_i) as an (m, bodies * d) array; j < 0 is a wall at rest."""
    (m, d), axes = normal.shape, np.arange(normal.shape[1])
    dense = np.zeros((m, bodies * d))
    rows, moving = np.arange(m)[:, None], j >= 0
    dense[rows, i[:, None] * d + axes] -= normal
    dense[rows[moving], j[moving, None] * d + axes] += normal[moving]
    return dense


def rates(i: Integers, j: Integers, normal: Array, v: Array, chunks: int) -> Array:
    """(G v)_c, v of shape (bodies, d)."""
    return np.asarray(pairs_to_dense(i, j, normal, len(v)) @ v.ravel())


def magnitude(i: Integers, j: Integers, normal: Array, v: Array, chunks: int) -> Array:
    """(|G| |v|)_c, v of shape (bodies, d)."""
    return np.asarray(np.abs(pairs_to_dense(i, j, normal, len(v))) @ np.abs(v.ravel()))


def adjoint(i: Integers, j: Integers, normal: Array, p: Array, bodies: int, chunks: int) -> Array:
    """G^T p, of shape (bodies, d), computed by `chunks` threads."""
    return np.asarray((p @ pairs_to_dense(i, j, normal, bodies)).reshape(bodies, -1))


def norms(i: Integers, j: Integers, normal: Array, inverse: Array, chunks: int) -> Array:
    """|G_c| in the dual norm: sqrt(G_c M^-1 G_c^T), inverse (bodies, d) the diagonal of M^-1."""
    return np.asarray(np.sqrt(pairs_to_dense(i, j, normal, len(inverse)) ** 2 @ inverse.ravel()))


def whitened(
    i: Integers,
    j: Integers,
    normal: Array,
    inverse: Array,
    w: Array,
    c: Array,
    c_noise: Array,
    slack: Array,
    noise_level: float,
    chunks: int,
) -> tuple[Array, Array, Array]:
    """(unit, s0, noise): the lengths of the rows, and the slack at w and its round-off in rows of length one.

    Rows of length zero stay as they are: their unit is zero, but s0 and noise are not divided.
    """
    unit, size = norms(i, j, normal, inverse, chunks), magnitude(i, j, normal, w, chunks)
    by = np.where(unit > 0.0, unit, 1.0)
    return unit, slack / by, (c_noise + noise_level * (np.abs(c) + size)) / by


def residual_pairs(
    i: Integers,
    j: Integers,
    normal: Array,
    c: Array,
    w: Array,
    mass: Array,
    u: Array,
    p: Array,
    length: Array,
    noise_level: float,
    c_noise: Array,
    chunks: int,
) -> tuple[float, float, float]:
    """`residual_dense` of these rows; w, mass and u of shape (bodies, d); computed by `chunks` threads."""
    G = pairs_to_dense(i, j, normal, len(w))
    return residual_dense(G, c, w.ravel(), mass.ravel(), u.ravel(), p, length, noise_level, c_noise)


def by_pair(pairs: Integers, values: Array, wanted: Integers, otherwise: float, chunks: int) -> Array:
    """The value of each wanted pair (m, 2), where pairs[c] has values[c]; `otherwise` for one that is not there.

    Computed by `chunks` threads.
    """
    known = {tuple(pair): value for pair, value in zip(pairs.tolist(), values, strict=True)}
    return np.array([known.get(tuple(pair), otherwise) for pair in wanted.tolist()])
