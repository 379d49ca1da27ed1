"""Contacts at the ends of levers, such as those of clumps: blocks of rows on the velocities and spins of two bodies.

Unlike those of balls (`cones.GripRows`), the local matrix of such a contact is any matrix: its normal and its tangents
are coupled. A sweep takes a few steps of the inner iteration of `cones.block_step` in each block.
"""

from __future__ import annotations

from typing import NamedTuple

from jostle._tools.arrays import Array, Integers
from jostle.kernels.interface import Kernel
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


@Kernel
def rates_levers(rows: LeverRows, v: Array) -> Array:
    """(m, e) the blocks of G v."""
    raise NotImplementedError


@Kernel
def adjoint_levers(rows: LeverRows, p: Array, bodies: int) -> Array:
    """(bodies, d + s) the impulses and moments G^T p of p (m, e)."""
    raise NotImplementedError


@Kernel
def local_levers(rows: LeverRows, inverse: Array) -> Array:
    """(m, e, e) the local matrices G_k M^-1 G_k^T, for the inverse masses (bodies, d + s) of all coordinates."""
    raise NotImplementedError


@Kernel
def whitened_levers(
    rows: LeverRows, cone: Cone, coulomb: bool, inverse: Array, w: Array, c: Array, c_noise: Array, guess: Array
) -> tuple[Array, Array, Array, Array, Array, Array]:
    """(local, scale, noise, s0, start, margin): what `Lever` has of contacts, their slack at w, a guess moved into the
    cones, and how far w is from violating each contact, zero below its noise.

    c, its round-off and the guess have shape (m, d); inverse (bodies, d + s) are the inverse masses of all coordinates.
    """
    raise NotImplementedError


@Kernel
def sweep_levers(
    lever: Lever, inverse: Array, s0: Array, start: Array, coulomb: bool, stop: Stop, chunks: int,
    places: Array | None,
) -> tuple[Array, int]:  # fmt: skip
    """(p, iterations) of `cone_sweeps` over the contacts, from the multipliers `start` (m, d); s0 (m, d) at rest.

    The allowed violation is that of the normal slack of each contact. An implementation may take the contacts in an
    order of its own, which may depend on the places (bodies, d) of the bodies, if known; `chunks` threads share the
    work.
    """
    raise NotImplementedError


@Kernel
def residual_levers(rows: LeverRows, cone: Cone, coulomb: bool, answer: Answer) -> tuple[float, float, float, float]:
    """(primal, dual, complementarity, natural) of an answer, see `residual_of_cones`.

    c, its round-off, the lengths and p have shape (m, d), the others (bodies, d + s).
    """
    raise NotImplementedError
