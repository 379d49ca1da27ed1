"""Rows normal . (u_j - u_i), a wall at rest where j < 0: products with G and its transpose, residuals, warm starts."""

from __future__ import annotations

import cupy
import numpy as np

from jostle._tools.arrays import Array, Integers
from jostle.kernels.cuda.launch import SUMMING_BLOCKS, each, floats, incident, on_host, whole
from jostle.kernels.reference.dense import ratios

RESIDUALS, LARGEST = 8, 3
"""Numbers that a block of threads finds about its rows and bodies, and how many of them are maxima; the others are
sums."""


def rates(i: Integers, j: Integers, normal: Array, v: Array, chunks: int) -> Array:
    """See `reference.rates`."""
    return _of_rows("rates", i, j, normal, v)


def magnitude(i: Integers, j: Integers, normal: Array, v: Array, chunks: int) -> Array:
    """See `reference.magnitude`."""
    return _of_rows("magnitude", i, j, normal, v)


def norms(i: Integers, j: Integers, normal: Array, inverse: Array, chunks: int) -> Array:
    """See `reference.norms`."""
    return _of_rows("norms", i, j, normal, inverse)


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
    """See `reference.whitened`."""
    unit, s0, noise = cupy.empty((3, len(i)))
    rows = floats(normal, inverse, w, c, c_noise, slack)
    each("whitened", normal.shape[1], len(i), *whole(i, j), *rows, np.float64(noise_level), unit, s0, noise)
    return unit, s0, noise


def _of_rows(name: str, i: Integers, j: Integers, normal: Array, v: Array) -> Array:
    out: Array = cupy.empty(len(i))
    each(name, normal.shape[1], len(i), *whole(i, j), *floats(normal, v), out)
    return out


def adjoint(i: Integers, j: Integers, normal: Array, p: Array, bodies: int, chunks: int) -> Array:
    """See `reference.adjoint`: the rows of a body are added up in their order, the same in every run."""
    d = normal.shape[1]
    out: Array = cupy.zeros((bodies, d))
    each("adjoint", d, bodies, *incident(i, j, bodies), *floats(normal, p), out)
    return out


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
    """See `reference.residual_pairs`."""
    d, found = normal.shape[1], cupy.zeros((SUMMING_BLOCKS, RESIDUALS))
    (i, j), (normal, c, w, mass, u) = whole(i, j), floats(normal, c, w, mass, u)
    p, length, c_noise = floats(p, length, c_noise)
    rows = i, j, normal, c, w, mass, u, p, length, np.float64(noise_level), c_noise
    each("row_residuals", d, len(i), *rows, found, most=SUMMING_BLOCKS)
    force = adjoint(i, j, normal, p, len(w), chunks)
    each("body_residuals", d, len(w), w, mass, u, force, found, most=SUMMING_BLOCKS)
    of_blocks = on_host(found)
    relative, violation, negative = of_blocks[:, :LARGEST].max(axis=0).tolist()
    product, pushes, squares, sizes, lack = of_blocks[:, LARGEST:].sum(axis=0).tolist()
    distance, size, lacking = np.sqrt([squares, sizes, lack]).tolist()
    stationarity = lacking - noise_level * (size + pushes)
    return ratios(relative, violation, stationarity, negative, product, distance)


def by_pair(pairs: Integers, values: Array, wanted: Integers, otherwise: float, chunks: int) -> Array:
    """See `reference.by_pair`."""
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
