"""Small dense projections: the exact method.

All projections work in Euclidean coordinates with unit rows: min 1/2 |x|^2 subject to s = s0 + A x >= 0, whose solution
is x = A^T p, 0 <= p ⟂ s >= 0.
"""

from __future__ import annotations

import numpy as np

from jostle._tools.arrays import Array
from jostle.kernels.interface import Kernel

SOLVED, EMPTY, UNFINISHED = 0, 1, 2
"""How `exact` can end."""
DEPENDENT = 1e-11
"""A unit row whose distance from the span of the other rows is smaller than this depends on them."""
DROP = 1e-12
"""A multiplier shrinks along the step if its rate exceeds this."""
CONTRADICTION = 1e-11
"""A row that is missed by less than this fraction of the distances involved is round-off, not a contradiction."""
EPS = float(np.finfo(float).eps)
ROUND_OFF = 16 * EPS
"""The round-off of a sum, as a fraction of its terms."""
TINY = 1e-300
"""Smallest length of a row, so that a zero row can be divided by its length."""


@Kernel
def exact(A: Array, s0: Array, noise: Array, allowed: Array, max_iterations: int) -> tuple[Array, Array, int, int]:
    """The dual active-set method of Goldfarb & Idnani (1983) for min 1/2 |x|^2, s0 + A x >= 0.

    Rows of A have length one; noise is the round-off of s0. A row that cannot be satisfied, by at most `allowed`, is
    left as it is. Returns (x, p, status, iterations). If the
    status is EMPTY, p is a contradiction: p >= 0, A^T p = 0, s0 . p < 0.
    """
    raise NotImplementedError


@Kernel
def project_dense(
    G: Array, c: Array, w: Array, root: Array, noise_level: float, c_noise: Array, allowed: Array, max_iterations: int
) -> tuple[Array, Array, int, int]:
    """(u, p, status, iterations): the projection of w on c + G u >= 0 in the metric of the masses root^-2.

    c is known up to c_noise, and products with G up to noise_level times their terms. See `exact`.
    """
    raise NotImplementedError
