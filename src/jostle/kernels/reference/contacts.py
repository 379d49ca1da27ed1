"""Contacts of bodies: rows normal . (u_j - u_i), a wall at rest where j < 0."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from jostle._tools.arrays import Array, Integers
from jostle.kernels.reference.dense import ROUND_OFF


class ContactRows(NamedTuple):
    """Contacts of bodies: a row normal . (u_j - u_i) for each, a wall at rest where j < 0."""

    i: Integers
    j: Integers
    normal: Array


def pairs_to_dense(rows: ContactRows, bodies: int) -> Array:
    """The rows as an (m, bodies * d) array G."""
    i, j, normal = rows
    (m, d), axes = normal.shape, np.arange(normal.shape[1])
    dense = np.zeros((m, bodies * d))
    row, moving = np.arange(m)[:, None], j >= 0
    dense[row, i[:, None] * d + axes] -= normal
    dense[row[moving], j[moving, None] * d + axes] += normal[moving]
    return dense


def rates(rows: ContactRows, v: Array, chunks: int) -> Array:
    """(G v)_c, v of shape (bodies, d)."""
    return np.asarray(pairs_to_dense(rows, len(v)) @ v.ravel())


def magnitude(rows: ContactRows, v: Array, chunks: int) -> Array:
    """(|G| |v|)_c, v of shape (bodies, d)."""
    return np.asarray(np.abs(pairs_to_dense(rows, len(v))) @ np.abs(v.ravel()))


def adjoint(rows: ContactRows, p: Array, bodies: int, chunks: int) -> Array:
    """G^T p, of shape (bodies, d), computed by `chunks` threads."""
    return np.asarray((p @ pairs_to_dense(rows, bodies)).reshape(bodies, -1))


def norms(rows: ContactRows, inverse: Array, chunks: int) -> Array:
    """|G_c| in the dual norm: sqrt(G_c M^-1 G_c^T), inverse (bodies, d) the diagonal of M^-1."""
    return np.asarray(np.sqrt(pairs_to_dense(rows, len(inverse)) ** 2 @ inverse.ravel()))


def whitened(
    rows: ContactRows, inverse: Array, w: Array, c: Array, c_noise: Array, slack: Array, chunks: int
) -> tuple[Array, Array, Array]:
    """(unit, s0, noise): the lengths of the rows, and the slack at w and its round-off in rows of length one.

    Rows of length zero stay as they are: their unit is zero, but s0 and noise are not divided.
    """
    unit, size = norms(rows, inverse, chunks), magnitude(rows, w, chunks)
    by = np.where(unit > 0.0, unit, 1.0)
    return unit, slack / by, (c_noise + ROUND_OFF * (np.abs(c) + size)) / by


def by_pair(pairs: Integers, values: Array, wanted: Integers, otherwise: float, chunks: int) -> Array:
    """The value of each wanted pair (m, 2), where pairs[c] has values[c]; `otherwise` for one that is not there.

    Computed by `chunks` threads.
    """
    known = {tuple(pair): value for pair, value in zip(pairs.tolist(), values, strict=True)}
    return np.array([known.get(tuple(pair), otherwise) for pair in wanted.tolist()])
