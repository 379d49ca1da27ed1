"""The error of a projection in the velocities of light bodies, which the norm of the masses hides.

The residuals of a projection compare with |u - w|_M, in which an error e of a body of mass m beside one of mass M that
is pushed counts as sqrt(m / M) e. Where masses differ much, errors are compared row by row with the velocities of the
bodies in that row instead:

    violation    -s_i
    slack        the smaller one of s_i, and of the velocity |G_i|^2 p_i that the multiplier alone would give
    imbalance    (|G| |u - w - M^-1 G^T p|)_i, beyond one hundredth: multipliers of an exact u have round-off

over (|G| |u - w|)_i, less what round-off, and the tolerance of the row, allow.
"""

from __future__ import annotations

import numpy as np

from jostle._tools.arrays import Array, to_host
from jostle.convex.metric import Metric
from jostle.convex.rows import Rows
from jostle.kernels.reference.cones import laws_of_blocks, lengths
from jostle.kernels.reference.dense import ROUND_OFF, TINY

MAX_PLAIN_RATIO = 1e4
"""Up to this ratio of masses, the norm of the masses shows the errors of all bodies well enough."""
MAX_IMBALANCE = 0.01
"""Largest imbalance that round-off of multipliers explains: light bodies between heavy ones are pushed from both sides
by impulses that cancel, and u may be known much better than these."""


def error_of_light_bodies(w: Array, K: Rows, M: Metric, u: Array, p: Array, tol: float) -> float:
    """The largest error of a row of (u, p), as a fraction of the velocity |u - w| of its bodies (flat vectors).

    >>> from jostle.convex.linear_map import Dense
    >>> from jostle.convex.metric import metric
    >>> K, M = Rows(Dense(np.eye(2)), np.zeros(2), np.zeros(2), np.zeros(2), None), metric([1e8, 1.0], (2,))
    >>> w, u, p = np.array([-1.0, -1.0]), np.array([0.0, 0.5]), np.array([1e8, 1.5])
    >>> round(error_of_light_bodies(w, K, M, u, p, 1e-8), 6)
    0.333333
    """
    w, K, M, u, p = to_host(w), to_host(K), to_host(M), to_host(u), to_host(p)
    G, moved = K.G, np.abs(u - w)
    imbalance = G.magnitude(u - w - M.solve(G.adjoint(p)))
    noise = K.noise + ROUND_OFF * (np.abs(K.c) + G.magnitude(np.abs(u) + np.abs(w)))
    slack, velocity, pushed = K.c + (G @ u), G.magnitude(moved), np.abs(p) * G.norms(M) ** 2
    missed: Array = np.where(slack < 0.0, -slack, np.minimum(slack, pushed))
    if K.equal is not None:
        missed = np.where(K.equal, np.abs(slack), missed)
    if K.cones is not None:
        _of_blocks(missed, velocity, slack, pushed, noise, p, K)
    allowed = noise + tol * (K.length + velocity.max(initial=0.0))
    error = np.maximum(np.maximum(missed, imbalance - MAX_IMBALANCE * velocity) - allowed, 0.0)
    return float((error / np.maximum(velocity, TINY)).max(initial=0.0))


def _of_blocks(missed: Array, velocity: Array, slack: Array, pushed: Array, noise: Array, p: Array, K: Rows) -> None:
    """Write what each block of rows in a friction cone misses, and its velocity, into its rows of slip."""
    cones = K.cones
    assert cones is not None
    s, p_of, fuzz, d = cones.blocks_of(slack), cones.blocks_of(p), cones.blocks_of(noise), cones.axis.shape[1]
    margin, product = laws_of_blocks(s, p_of, cones.axis, cones.mu, cones.resistance, cones.coulomb, lengths(fuzz))
    slip = np.minimum(product / np.maximum(lengths(p_of), TINY), lengths(cones.blocks_of(pushed)))
    cones.blocks_of(missed)[:, :d] = np.maximum(slip, -margin)[:, None]
    moved = cones.blocks_of(velocity)[:, :d]
    moved[:] = moved.max(axis=1, keepdims=True)
