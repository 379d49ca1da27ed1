"""Rows normal . (u_j - u_i), a wall at rest where j < 0: products with G and its transpose, residuals, warm starts."""

from __future__ import annotations

import cupy
import numpy as np

from jostle import kernels
from jostle._tools.arrays import Array, Integers
from jostle.kernels.cuda.launch import SUMMING_BLOCKS, each, floats, incident, on_host, whole
from jostle.kernels.reference.contacts import ContactRows
from jostle.kernels.reference.dense import ROUND_OFF
from jostle.kernels.reference.residuals import Answer, residual_of_sums

RESIDUALS, OF_ROWS, LARGEST = 8, 5, 3
"""Numbers that a block of threads finds about its rows and bodies, how many of them are of rows, and how many of those
are maxima; the others are sums."""


@kernels.rates.on("cupy")
def rates(rows: ContactRows, v: Array, chunks: int) -> Array:
    return _of_rows("rates", rows, v)


@kernels.magnitude.on("cupy")
def magnitude(rows: ContactRows, v: Array, chunks: int) -> Array:
    return _of_rows("magnitude", rows, v)


@kernels.norms.on("cupy")
def norms(rows: ContactRows, inverse: Array, chunks: int) -> Array:
    return _of_rows("norms", rows, inverse)


@kernels.whitened.on("cupy")
def whitened(
    rows: ContactRows, inverse: Array, w: Array, c: Array, c_noise: Array, slack: Array, chunks: int
) -> tuple[Array, Array, Array]:
    unit, s0, noise = cupy.empty((3, len(c)))
    i, j, normal = rows
    given = *whole(i, j), *floats(normal, inverse, w, c, c_noise, slack)
    each("whitened", normal.shape[1], len(c), *given, np.float64(ROUND_OFF), unit, s0, noise)
    return unit, s0, noise


def _of_rows(name: str, rows: ContactRows, v: Array) -> Array:
    i, j, normal = rows
    out: Array = cupy.empty(len(i))
    each(name, normal.shape[1], len(i), *whole(i, j), *floats(normal, v), out)
    return out


@kernels.adjoint.on("cupy")
def adjoint(rows: ContactRows, p: Array, bodies: int, chunks: int) -> Array:
    """See `reference.adjoint`: the rows of a body are added up in their order, the same in every run."""
    i, j, normal = rows
    d = normal.shape[1]
    out: Array = cupy.zeros((bodies, d))
    each("adjoint", d, bodies, *incident(i, j, bodies), *floats(normal, p), out)
    return out


@kernels.residual_pairs.on("cupy")
def residual_pairs(rows: ContactRows, answer: Answer, chunks: int) -> tuple[float, float, float]:
    (i, j), (normal,) = whole(rows.i, rows.j), floats(rows.normal)
    c, c_noise, length, w, mass, u, p = floats(*answer)
    d, found = normal.shape[1], cupy.zeros((SUMMING_BLOCKS, RESIDUALS))
    given = i, j, normal, c, w, mass, u, p, length, np.float64(ROUND_OFF), c_noise
    each("row_residuals", d, len(i), *given, found, most=SUMMING_BLOCKS)
    force = adjoint(ContactRows(i, j, normal), p, len(w), chunks)
    each("body_residuals", d, len(w), w, mass, u, force, found, most=SUMMING_BLOCKS)
    of_blocks = on_host(found)
    return residual_of_sums(*of_blocks[:, :LARGEST].max(axis=0).tolist(), *of_blocks[:, LARGEST:].sum(axis=0).tolist())


@kernels.by_pair.on("cupy")
def by_pair(pairs: Integers, values: Array, wanted: Integers, otherwise: float, chunks: int) -> Array:
    known, listed = _columns(pairs), _columns(wanted)
    slots = 1 << (2 * len(pairs) + 1).bit_length()
    slot, out = cupy.zeros(slots, np.int32), cupy.empty(len(wanted))
    each("store_pairs", 1, len(pairs), *known, np.uint64(slots), slot)
    (values,) = floats(values)
    each("look_up", 1, len(wanted), *listed, *known, values, np.uint64(slots), slot, np.float64(otherwise), out)
    return out  # type: ignore[no-any-return]


def _columns(pairs: Integers) -> tuple[Integers, Integers, np.int64]:
    """The two columns of pairs (m, 2), and how far apart the entries of each are, in numbers."""
    pairs = pairs.astype(np.int64, copy=False)
    return pairs[:, 0], pairs[:, 1], np.int64(pairs.strides[0] // pairs.itemsize)
