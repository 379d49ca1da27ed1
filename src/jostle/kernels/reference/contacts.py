"""Contacts of bodies: rows normal . (u_j - u_i), a wall at rest where j < 0."""

from __future__ import annotations

from typing import NamedTuple

from jostle._tools.arrays import Array, Integers
from jostle.kernels.interface import Kernel


class ContactRows(NamedTuple):
    """Contacts of bodies: a row normal . (u_j - u_i) for each, a wall at rest where j < 0."""

    i: Integers
    j: Integers
    normal: Array


@Kernel
def pairs_to_dense(rows: ContactRows, bodies: int) -> Array:
    """The rows as an (m, bodies * d) array G."""
    raise NotImplementedError


@Kernel
def rates(rows: ContactRows, v: Array, chunks: int) -> Array:
    """(G v)_c, v of shape (bodies, d)."""
    raise NotImplementedError


@Kernel
def magnitude(rows: ContactRows, v: Array, chunks: int) -> Array:
    """(|G| |v|)_c, v of shape (bodies, d)."""
    raise NotImplementedError


@Kernel
def adjoint(rows: ContactRows, p: Array, bodies: int, chunks: int) -> Array:
    """G^T p, of shape (bodies, d), computed by `chunks` threads."""
    raise NotImplementedError


@Kernel
def norms(rows: ContactRows, inverse: Array, chunks: int) -> Array:
    """|G_c| in the dual norm: sqrt(G_c M^-1 G_c^T), inverse (bodies, d) the diagonal of M^-1."""
    raise NotImplementedError


@Kernel
def whitened(
    rows: ContactRows, inverse: Array, w: Array, c: Array, c_noise: Array, slack: Array, chunks: int
) -> tuple[Array, Array, Array]:
    """(unit, s0, noise): the lengths of the rows, and the slack at w and its round-off in rows of length one.

    Rows of length zero stay as they are: their unit is zero, but s0 and noise are not divided.
    """
    raise NotImplementedError


@Kernel
def by_pair(pairs: Integers, values: Array, wanted: Integers, otherwise: float, chunks: int) -> Array:
    """The value of each wanted pair (m, 2), where pairs[c] has values[c]; `otherwise` for one that is not there.

    Computed by `chunks` threads.
    """
    raise NotImplementedError
