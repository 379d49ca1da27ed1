"""What `barrier` does with the rows, each in one pass or two.

Rows of G are e_c . (x_j - x_i), a wall at rest where j < 0, in the order of `multifrontal.arranged`: those with i = a
are start[a] <= c < start[a + 1].
"""

from __future__ import annotations

import numpy as np

from jostle.kernels.cpu.contacts import magnitude, rates
from jostle.kernels.cpu.jit import jit
from jostle.kernels.cpu.panels import SUMS, U

ROUND_OFF = 1e-14
"""s - s0 - G x below this part of its terms is a zero: multiplied by p / s, round-off would spoil p."""
NOTHING = 1e-13
"""Rows whose weight p / s is below this do not enter the matrix: late in the iteration they only make tiny numbers."""
TINY = 1e-300
"""s and p stay at least this large."""


@jit()
def force(start, j, e, q, n):
    """G^T q, of shape (n, d); the sum for the first body of a row stays in a register."""
    d = e.shape[1]
    out = np.zeros((n, d))
    for k in range(d):
        for a in range(n):
            total = out[a, k]
            for c in range(start[a], start[a + 1]):
                push = q[c] * e[c, k]
                total -= push
                if j[c] >= 0:
                    out[U(j[c]), k] += push
            out[a, k] = total
    return out


@jit(fastmath=SUMS)
def quality(i, j, e, mass, s0, p, pull, violation, tol):
    """How far (u(p), p) is from passing the stopping test, pull = G^T p: at most 1 where it passes."""
    moved = pull / mass
    rate = rates(i, j, e, moved)
    size, worst, product = (pull * moved).sum(), 0.0, 0.0
    for c in range(len(s0)):
        slack = s0[c] + rate[c]
        worst = max(worst, -slack / violation[c])
        product += p[c] * abs(slack)
    if not np.isfinite(product + size):
        return np.inf
    return max(worst, product / (tol * size) if size > 0.0 else 0.0)


@jit()
def weights(s, p):
    """(p / s, 1 / s, 1 / p), the first zero where it is next to nothing."""
    over_s, over_p, W = 1.0 / s, 1.0 / p, np.empty(len(s))
    for c in range(len(s)):
        W[c] = 0.0 if p[c] < NOTHING * s[c] else p[c] / s[c]
    return W, over_s, over_p


@jit()
def lacks(i, j, e, s0, x, s):
    """s0 + G x - s, which a step of length 1 brings to zero."""
    rate, terms, out = rates(i, j, e, x), magnitude(i, j, e, x), np.empty(len(s))
    for c in range(len(s)):
        lack = s0[c] + rate[c] - s[c]
        out[c] = lack if abs(lack) > ROUND_OFF * (abs(s0[c]) + terms[c]) else 0.0
    return out


@jit(fastmath=SUMS)
def direction(i, j, e, dx, wanted, p, primal, over_s, over_p):
    """(ds, dp, step): ds = G dx + primal, s dp + p ds = wanted; the longest step, at most 1, that keeps s, p >= 0."""
    ds, dp, fastest = rates(i, j, e, dx), np.empty(len(p)), 1.0
    for c in range(len(p)):
        ds[c] += primal[c]
        dp[c] = (wanted[c] - p[c] * ds[c]) * over_s[c]
        fastest = max(fastest, -ds[c] * over_s[c], -dp[c] * over_p[c])
    return ds, dp, 1.0 / fastest


@jit(fastmath=SUMS)
def mean_product(s, ds, p, dp, step):
    """The mean of (s + step ds) (p + step dp)."""
    total = 0.0
    for c in range(len(s)):
        total += (s[c] + step * ds[c]) * (p[c] + step * dp[c])
    return total / len(s)
