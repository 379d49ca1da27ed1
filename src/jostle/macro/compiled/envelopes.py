"""Lower envelopes of parabolas along the rows of a table, in time proportional to its size.

Felzenszwalb & Huttenlocher 2012: the parabolas of the envelope lie on a stack, with the places where each begins.
"""

from __future__ import annotations

import numpy as np

from jostle.kernels.compiling import Floats2, OutFloats, OutFloats2, OutInts, jit
from jostle.macro import kernels


@kernels.envelopes.on("numpy")
def envelopes(p: Floats2) -> Floats2:
    """The least (i - y)^2 / 2 + p(y) along each row: see `kernels.envelopes`."""
    m, n = p.shape
    out = np.empty((m, n))
    _envelopes(np.ascontiguousarray(p), np.empty(n, np.int64), np.empty(n + 1), np.ones(n), out)
    return out


@jit()
def _envelopes(p: Floats2, apex: OutInts, begin: OutFloats, bend: OutFloats, out: OutFloats2) -> None:
    m, n = p.shape
    for row in range(m):
        top, apex[0], begin[0], begin[1] = 0, 0, -np.inf, np.inf
        for j in range(1, n):
            while True:
                a = apex[top]
                cut = (p[row, j] - p[row, a]) / (j - a) + 0.5 * (j + a)
                if cut > begin[top]:
                    break
                top -= 1
            top += 1
            apex[top], begin[top], begin[top + 1] = j, cut, np.inf
        for j in range(1, n - 1):
            bend[j] = 1.0 + p[row, j - 1] - 2.0 * p[row, j] + p[row, j + 1]
        if n > 2:
            bend[0], bend[n - 1] = bend[1], bend[n - 2]
        top = 0
        for i in range(n):
            while begin[top + 1] < i:
                top += 1
            j = apex[top]
            value, gain = 0.5 * (i - j) ** 2 + p[row, j], 0.0
            for other in range(max(j - 1, 0), min(j + 2, n)):
                curvature = min(bend[j], bend[other])
                reach = 0.5 * curvature - (0.5 * (i - other) ** 2 + p[row, other] - value)
                if other != j and curvature > 0.0 and reach > 0.0:
                    gain = max(gain, reach * reach / (2.0 * curvature))
            out[row, i] = value - gain
