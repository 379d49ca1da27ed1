"""Contacts of balls with spin: products with G and its transpose, what a projection starts from, and residuals."""

from __future__ import annotations

import cupy
import numpy as np

from jostle import kernels
from jostle._tools.arrays import Array
from jostle.kernels.cuda.contacts import LARGEST, OF_ROWS
from jostle.kernels.cuda.contacts import RESIDUALS as RESIDUALS_OF_PAIRS
from jostle.kernels.cuda.launch import SUMMING_BLOCKS, each, floats, incident, on_host, whole, with_friction
from jostle.kernels.reference.cones import GripRows, natural_over
from jostle.kernels.reference.dense import ROUND_OFF
from jostle.kernels.reference.residuals import Answer, residual_of_sums

RESIDUALS = 6
"""Numbers that a block of threads finds about its contacts; those from `LARGEST` on are sums."""


@kernels.rates_grips.on("cupy")
def rates_grips(rows: GripRows, v: Array, height: int, chunks: int) -> Array:
    i, j, normal, arms = rows
    out: Array = cupy.empty((len(i), height))
    given = *whole(i, j), *floats(normal, arms, v), np.int64(height)
    each("rates_grips", with_friction(normal.shape[1]), len(i), *given, out)
    return out


@kernels.adjoint_grips.on("cupy")
def adjoint_grips(rows: GripRows, p: Array, bodies: int, chunks: int) -> Array:
    """See `reference.adjoint_grips`: the contacts of a body are added up in their order, the same in every run."""
    i, j, normal, arms = rows
    kind = with_friction(normal.shape[1])
    out: Array = cupy.zeros((bodies, kind.width))
    given = *incident(i, j, bodies), *floats(normal, arms, p), np.int64(p.shape[1])
    each("adjoint_grips", kind, bodies, *given, out)
    return out


@kernels.whitened_grips.on("cupy")
def whitened_grips(
    rows: GripRows, mu: Array, inverse: Array, w: Array, c: Array, c_noise: Array, guess: Array, chunks: int
) -> tuple[Array, Array, Array]:
    i, j, normal, arms = rows
    m, d = normal.shape
    scale, noise, start = cupy.empty((m, 2)), cupy.empty(m), cupy.empty((m, d))
    given = *whole(i, j), *floats(normal, arms, mu, inverse, w, c, c_noise, guess), np.float64(ROUND_OFF)
    each("whitened_grips", with_friction(d), m, *given, scale, noise, start)
    return scale, noise, start


@kernels.residual_grips.on("cupy")
def residual_grips(
    rows: GripRows, mu: Array, coulomb: bool, answer: Answer, chunks: int
) -> tuple[float, float, float, float]:
    i, j, normal, arms = rows
    c, c_noise, length, w, mass, u, p = floats(*answer)
    found, of_bodies = (cupy.zeros((SUMMING_BLOCKS, count)) for count in (RESIDUALS, RESIDUALS_OF_PAIRS))
    contacts = *whole(i, j), *floats(normal, arms, mu), np.int64(coulomb), 1.0 / mass
    given = *contacts, c, c_noise, length, w, u, p, np.float64(ROUND_OFF)
    each("residuals_grips", with_friction(normal.shape[1]), len(i), *given, found, most=SUMMING_BLOCKS)
    force = adjoint_grips(rows, p, len(w), chunks)
    each("body_residuals", 1, w.size, w, mass, u, force, of_bodies, most=SUMMING_BLOCKS)
    of_contacts = on_host(found)
    squares, sizes, lack = on_host(of_bodies)[:, OF_ROWS:].sum(axis=0).tolist()
    relative, violation, outside = of_contacts[:, :LARGEST].max(axis=0).tolist()
    product, pushes, natural = of_contacts[:, LARGEST:].sum(axis=0).tolist()
    three = residual_of_sums(relative, violation, outside, product, pushes, squares, sizes, lack)
    return *three, natural_over(natural, float(np.sqrt(squares))) if np.isfinite(three[0]) else np.inf
