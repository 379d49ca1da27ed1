"""What people do about the others near them, and how dense they are on a grid.

A pair (i, j) of people at q, of radii r, has the gap |q_j - q_i| - r_i - r_j and the normal n from i to j.
"""

from __future__ import annotations

import numpy as np

from jostle.arrays import Array, Booleans, Shorts


def turned(i: Shorts, j: Shorts, q: Array, radii: Array, direction: Array, strength: float, decay: float) -> Array:
    """(n, 2) the unit vectors along direction - sum of strength exp(-gap / decay) n; 0 where the sum or direction is 0.

    The sum is over all pairs in which a person is; Tordeux, Chraibi & Seyfried 2016, equation (5).
    """
    away, gap = _apart(i, j, q, radii)
    push = strength * np.exp(-gap / decay)[:, None] * away
    total = direction.copy()
    np.subtract.at(total, i, push)
    np.add.at(total, j, push)
    size = np.linalg.norm(total, axis=1)
    size[~direction.any(axis=1)] = 0.0
    return np.asarray(np.where(size[:, None] > 0.0, total / np.where(size > 0.0, size, 1.0)[:, None], 0.0))


def gaps_ahead(i: Shorts, j: Shorts, q: Array, radii: Array, direction: Array) -> Array:
    """(n,) the smallest gap to a person ahead; infinite if nobody is.

    Ahead are those whose disc meets the strip of the own width in the direction of walking.
    """
    normal, gap = _apart(i, j, q, radii)
    least = np.full(len(q), np.inf)
    for one, other, towards in ((i, j, normal), (j, i, -normal)):
        (x, y), (a, b) = towards.T, direction[one].T
        width = radii[one] + radii[other]
        ahead = (x * a + y * b > 0.0) & (np.abs(x * b - y * a) * (gap + width) < width)
        np.minimum.at(least, one[ahead], gap[ahead])
    return least


def _apart(i: Shorts, j: Shorts, q: Array, radii: Array) -> tuple[Array, Array]:
    """The normals (m, 2) and the gaps (m,) of pairs."""
    apart = q[j] - q[i]
    size = np.sqrt(apart[:, 0] ** 2 + apart[:, 1] ** 2)
    return apart / np.where(size > 0.0, size, 1.0)[:, None], size - radii[i] - radii[j]


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
