"""What people do about the others near them, and how dense they are on a grid.

Two people i and j at q, of radii r, have the gap |q_j - q_i| - r_i - r_j and the normal n from i to j.
"""

from __future__ import annotations

import numpy as np

from jostle._tools.arrays import Array, Booleans
from jostle.kernels.interface import kernel


@kernel("jostle.crowds.compiled")
def turned(q: Array, radii: Array, direction: Array, strength: float, decay: float, sight: float, chunks: int) -> Array:
    """(n, 2) the unit vectors along direction - sum of strength exp(-gap / decay) n; 0 where the sum or direction is 0.

    The sum is over all others whose gap is at most `sight`; Tordeux, Chraibi & Seyfried 2016, equation (5). `chunks`
    says how many threads share the work; it does not change the result.
    """
    apart, gap = _apart(q, radii)
    size = np.linalg.norm(apart, axis=-1)
    push = np.where(gap <= sight, strength * np.exp(-gap / decay), 0.0) / np.where(size > 0.0, size, 1.0)
    total = direction - np.einsum("ij,ijd->id", push, apart)
    size = np.linalg.norm(total, axis=1)
    size[~direction.any(axis=1)] = 0.0
    return np.asarray(np.where(size[:, None] > 0.0, total / np.where(size > 0.0, size, 1.0)[:, None], 0.0))


@kernel("jostle.crowds.compiled")
def gaps_ahead(q: Array, radii: Array, direction: Array, sight: float, strip: float, chunks: int) -> Array:
    """(n,) the smallest gap to a person ahead; infinite if nobody is within a gap of `sight`.

    Ahead are those whose centre is less than `strip` times both radii aside from the direction of walking; with
    strip = 1 their discs meet the strip of the own width. `chunks` says how many threads share the work; it does not
    change the result.
    """
    apart, gap = _apart(q, radii)
    along = np.einsum("ijd,id->ij", apart, direction)
    across = apart[..., 0] * direction[:, None, 1] - apart[..., 1] * direction[:, None, 0]
    ahead = (gap <= sight) & (along > 0.0) & (np.abs(across) < strip * (radii[:, None] + radii))
    return np.asarray(np.where(ahead, gap, np.inf).min(axis=1, initial=np.inf))


def _apart(q: Array, radii: Array) -> tuple[Array, Array]:
    """The vectors (n, n, 2) from each person to each other, and the gaps (n, n), infinite to oneself."""
    apart = q[None] - q[:, None]
    gap = np.linalg.norm(apart, axis=-1) - radii[:, None] - radii
    np.fill_diagonal(gap, np.inf)
    return apart, gap


@kernel("jostle.crowds.compiled")
def spread(amount: Array, east: Booleans, north: Booleans, part: float, passes: int) -> Array:
    """(nx, ny) an amount at the nodes after some passes, in each of which neighbours exchange part of what they have.

    Node (i, j) exchanges with (i + 1, j) where east[i, j], and with (i, j + 1) where north[i, j]; the last row of east
    and the last column of north are not used. This is the explicit scheme for the heat equation with walls that let
    nothing through: the sum stays, and far from walls a single amount becomes a Gaussian of variance 2 part passes.
    """
    found = amount.copy()
    for _ in range(passes):
        along = np.where(east[:-1], found[1:] - found[:-1], 0.0)
        across = np.where(north[:, :-1], found[:, 1:] - found[:, :-1], 0.0)
        gain = np.zeros_like(found)
        gain[:-1] += along
        gain[1:] -= along
        gain[:, :-1] += across
        gain[:, 1:] -= across
        found = found + part * gain
    return found
