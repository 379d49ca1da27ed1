"""What `barrier` does with the rows and the bodies, each in one pass or two.

Rows of G are e_c . (x_j - x_i), a wall at rest where j < 0, in the order of `multifrontal.arranged`: those with i = a
are start[a] <= c < start[a + 1]. All vectors of one number a row are entries of the array `row` (16, m), and all of one
number a coordinate are entries of `body` (6, n d).
"""

from __future__ import annotations

import numpy as np

from jostle.kernels.cpu.jit import jit
from jostle.kernels.cpu.multifrontal import ONE, OTHER
from jostle.kernels.cpu.panels import SUMS, U
from jostle.kernels.cpu.signatures import Floats, Floats2, Ints, Ints2, OutFloats2

S0, VIOLATION, WEIGHT, S, P, PRIMAL, OVER_S, OVER_P, WANTED, GIVEN, BEST, PUSH, DS, DP = (*range(13), 14)
"""Entries of `row`: s0 and the allowed violation; p / s, s, p, s0 + G x - s, 1 / s, 1 / p; the target of s dp + p ds;
the p that is judged, and the best one; a right-hand side; two directions of s (DS, DS + 1) and of p (DP, DP + 1)."""
X, DUAL, PULL, MOVED, DX = range(5)
"""Entries of `body`: x, M x - G^T p, G^T p, M^-1 G^T p (or a right-hand side, or a solution), and two
directions, DX and DX + 1."""
SLACK_NOISE = 1e-14
"""s - s0 - G x counts as zero below this fraction of its terms: multiplied by p / s, its round-off would spoil p."""
NOTHING = 1e-13
"""Rows whose weight p / s is below this are left out of the matrix, to which they would add only tiny numbers."""
TINY = 1e-300
"""Smallest value of s and p."""


@jit(helper=True)
def rate(c: int, ends: Ints2, e: Floats2, body: Floats2, which: int) -> float:
    """(G x)_c for the vector `which` of body."""
    d, total = e.shape[1], 0.0
    a, b = d * ends[ONE, c], d * ends[OTHER, c]
    for k in range(d):
        total -= e[c, k] * body[which, U(a + k)]
    if b >= 0:
        for k in range(d):
            total += e[c, k] * body[which, U(b + k)]
    return total


@jit(helper=True)
def force(start: Ints, ends: Ints2, e: Floats2, row: Floats2, which: int, body: OutFloats2, to: int) -> None:
    """The vector `to` of body becomes G^T q, q the entry `which` of row; sums of first bodies stay in a register."""
    n, d = len(start) - 1, e.shape[1]
    for a in range(n * d):
        body[to, a] = 0.0
    for k in range(d):
        for a in range(n):
            total = body[to, U(a * d + k)]
            for c in range(start[a], start[a + 1]):
                push, b = row[which, c] * e[c, k], ends[OTHER, c]
                total -= push
                if b >= 0:
                    body[to, U(b * d + k)] += push
            body[to, U(a * d + k)] = total


@jit(helper=True)
def lacks(ends: Ints2, e: Floats2, row: OutFloats2, body: Floats2) -> tuple[float, float]:
    """PRIMAL = s0 + G x - s, which a step of length 1 brings to zero; returns the mean of s_c p_c and max |PRIMAL|."""
    d, m = e.shape[1], e.shape[0]
    product, largest = 0.0, 0.0
    for c in range(m):
        a, b = d * ends[ONE, c], d * ends[OTHER, c]
        s, total = row[S, c], row[S0, c]
        terms = abs(total)
        for k in range(d):
            term = e[c, k] * body[X, U(a + k)]
            total -= term
            terms += abs(term)
            if b >= 0:
                term = e[c, k] * body[X, U(b + k)]
                total += term
                terms += abs(term)
        total -= s
        if abs(total) <= SLACK_NOISE * terms:
            total = 0.0
        row[PRIMAL, c] = total
        product += s * row[P, c]
        largest = max(largest, abs(total))
    return product / m, largest


@jit(helper=True, fastmath=SUMS)
def balance(mass: Floats, body: OutFloats2) -> float:
    """DUAL = M x - G^T p; returns max |DUAL|."""
    largest = 0.0
    for a in range(len(mass)):
        lack = mass[a] * body[X, a] - body[PULL, a]
        body[DUAL, a] = lack
        largest = max(largest, abs(lack))
    return largest


@jit(helper=True, fastmath=SUMS)
def moved(mass: Floats, body: OutFloats2, pull: int) -> float:
    """MOVED = M^-1 G^T p, where the vector `pull` of body is G^T p; returns |MOVED|^2_M."""
    size = 0.0
    for a in range(len(mass)):
        now = body[pull, a]
        body[MOVED, a] = now / mass[a]
        size += now * now / mass[a]
    return size


@jit(helper=True, fastmath=SUMS)
def quality(ends: Ints2, e: Floats2, row: Floats2, p: int, body: Floats2, size: float, tol: float) -> float:
    """How far (u(p), p) is from passing the stopping test, for the entry p of row: at most 1 where it passes."""
    worst, product = 0.0, 0.0
    for c in range(e.shape[0]):
        slack = row[S0, c] + rate(c, ends, e, body, MOVED)
        worst = max(worst, -slack / row[VIOLATION, c])
        product += row[p, c] * abs(slack)
    if not np.isfinite(product + size):
        return np.inf
    return max(worst, product / (tol * size) if size > 0.0 else 0.0)


@jit(helper=True)
def corrected(ends: Ints2, e: Floats2, row: OutFloats2, body: Floats2) -> None:
    """GIVEN = max(p + W G MOVED, 0)."""
    for c in range(e.shape[0]):
        row[GIVEN, c] = max(row[P, c] + row[WEIGHT, c] * rate(c, ends, e, body, MOVED), 0.0)


@jit(helper=True)
def weights(row: OutFloats2) -> None:
    """WEIGHT = p / s, zero where it is next to nothing; OVER_S and OVER_P; and the first WANTED, -s p."""
    for c in range(row.shape[1]):
        s, p = row[S, c], row[P, c]
        row[WEIGHT, c] = 0.0 if p < NOTHING * s else p / s
        row[OVER_S, c], row[OVER_P, c], row[WANTED, c] = 1.0 / s, 1.0 / p, -s * p


@jit(helper=True)
def pushed(row: OutFloats2) -> None:
    """PUSH = (WANTED - p PRIMAL) / s."""
    for c in range(row.shape[1]):
        row[PUSH, c] = (row[WANTED, c] - row[P, c] * row[PRIMAL, c]) * row[OVER_S, c]


@jit(helper=True, fastmath=SUMS)
def direction(ends: Ints2, e: Floats2, row: OutFloats2, body: Floats2, way: int) -> float:
    """ds = G dx + PRIMAL, s dp + p ds = WANTED for direction 0 or 1; returns the longest step <= 1 with s, p >= 0."""
    fastest = 1.0
    for c in range(e.shape[0]):
        over_s = row[OVER_S, c]
        ds = rate(c, ends, e, body, DX + way) + row[PRIMAL, c]
        dp = (row[WANTED, c] - row[P, c] * ds) * over_s
        row[DS + way, c], row[DP + way, c] = ds, dp
        fastest = max(fastest, -ds * over_s, -dp * row[OVER_P, c])
    return 1.0 / fastest


@jit(helper=True, fastmath=SUMS)
def mean_product(row: Floats2, way: int, step: float) -> float:
    """The mean of (s + step ds) (p + step dp)."""
    total, m = 0.0, row.shape[1]
    for c in range(m):
        total += (row[S, c] + step * row[DS + way, c]) * (row[P, c] + step * row[DP + way, c])
    return total / m


@jit(helper=True)
def advance(row: OutFloats2, body: OutFloats2, way: int, step: float) -> float:
    """Make a step: x, s and p anew; returns the sum of s and p, which is not finite if any of them is not."""
    total = 0.0
    for a in range(body.shape[1]):
        body[X, a] += step * body[DX + way, a]
    for c in range(row.shape[1]):
        s = max(row[S, c] + step * row[DS + way, c], TINY)
        p = max(row[P, c] + step * row[DP + way, c], TINY)
        row[S, c], row[P, c] = s, p
        total += s + p
    return total
