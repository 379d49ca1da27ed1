"""Second order on contacts of bodies: a primal-dual interior point method (Mehrotra 1992).

The slack s and the multipliers p stay positive and s_c p_c is driven to zero. Each iteration factorises

    M + G^T diag(p / s) G

once (see `multifrontal`) and solves with it some times: the step that would end it all; from how far that one can be
gone the right centring and second-order correction; then, as long as they lengthen the step, corrections that bring
the s_c p_c at its end nearer to each other (Gondzio 1996). What is returned is the p of the best point seen, judged by
the stopping test at u(p) = w + M^-1 G^T p.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from jostle.kernels.cpu.contacts import adjoint, magnitude, rates
from jostle.kernels.cpu.dissection import adjacency, dissect, fronts
from jostle.kernels.cpu.multifrontal import factor, sizes, solve

CLOSE = 0.995
"""How much of the way to the boundary is gone."""
CORRECTIONS = 2
"""At most so many corrections of Gondzio's: a solve costs an eighth of a factorisation."""
LONGER, LONGER_BY = 1.08, 0.1
"""They aim at a step longer by this factor, and by so much,"""
EVEN = 0.1
"""after which each s_c p_c lies between EVEN and 1 / EVEN times the wanted one;"""
WORTHWHILE = 0.01
"""one that lengthens the step by less is the last, and not taken."""
NOTHING = 1e-13
"""Rows whose weight p / s is below this do not enter the matrix: late in the iteration they only make tiny numbers."""
PATIENCE = 8
"""It ends when so many iterations brought nothing better: round-off has the last word."""
TINY = 1e-300
ROUND_OFF = 1e-14
"""s - s0 - G x below this part of its terms is a zero: multiplied by p / s, round-off would spoil p."""
NEAR = 1e4
"""Nearer than this to passing, round-off in p shows, and is corrected."""


@njit(cache=True)
def contact_graph(i, j, n):
    """(start, other, contact): the neighbours of each body, and the rows through which they touch."""
    start, other = adjacency(i, j, n)
    contact, filled = np.empty(len(other), np.int64), start[:-1].copy()
    for c in range(len(i)):
        if j[c] >= 0:
            contact[filled[i[c]]] = contact[filled[j[c]]] = c
            filled[i[c]] += 1
            filled[j[c]] += 1
    return start, other, contact


@njit(cache=True)
def _positive(s, p):
    """Mehrotra's start: s and p moved up until they are positive, and about equally so."""
    s, p = s + max(0.0, -1.5 * s.min()), p + max(0.0, -1.5 * p.min())
    product = (s * p).sum()
    if product == 0.0:
        return s + 1.0, p + 1.0
    return s + 0.5 * product / p.sum(), p + 0.5 * product / s.sum()


@njit(cache=True)
def _longest(s, ds, p, dp):
    """The largest step, at most 1, that keeps s and p from becoming negative."""
    step = 1.0
    for c in range(len(s)):
        if ds[c] < 0.0:
            step = min(step, -s[c] / ds[c])
        if dp[c] < 0.0:
            step = min(step, -p[c] / dp[c])
    return step


@njit(cache=True)
def _evened(s, ds, p, dp, step, target):
    """What the s_c p_c at the end of a longer step lack to, or exceed, the range around the target."""
    aim, lack = min(1.0, LONGER * step + LONGER_BY), np.zeros(len(s))
    for c in range(len(s)):
        product = (s[c] + aim * ds[c]) * (p[c] + aim * dp[c])
        if product < EVEN * target:
            lack[c] = EVEN * target - product
        elif product > target / EVEN:
            lack[c] = max(target / EVEN - product, -target / EVEN)
    return lack


@njit(cache=True)
def _quality(i, j, e, mass, s0, p, violation, tol):
    """How far (u(p), p) is from passing the stopping test: at most 1 where it passes."""
    moved = adjoint(i, j, e, p, len(mass)) / mass
    slack = s0 + rates(i, j, e, moved)
    size, worst, product = (mass * moved * moved).sum(), 0.0, 0.0
    for c in range(len(s0)):
        worst = max(worst, -slack[c] / violation[c])
        product += p[c] * abs(slack[c])
    if not np.isfinite(product + size):
        return np.inf
    return max(worst, product / (tol * size) if size > 0.0 else 0.0)


@njit(cache=True)
def interior_point(i, j, e, mass, s0, places, violation, tol, max_iterations):
    """min 1/2 |x|_M^2, s0 + G x >= 0 for unit rows in the metric: returns (p, iterations, how far from passing)."""
    n, d = mass.shape
    graph = contact_graph(i, j, n)
    order, first, last, parent = dissect(places, graph[0], graph[1])
    place, below, rows = fronts(order, first, last, parent, graph[0], graph[1])
    tree = order, place, first, last, parent, below, rows
    room = sizes(first, last, below, parent, d)
    L, W = np.empty(room[0][-1]), np.ones(len(i))
    factor(mass, i, j, e, W, tree, graph, room, L)
    x = solve(tree, room, L, -adjoint(i, j, e, s0, n))
    s = s0 + rates(i, j, e, x)
    s, p = _positive(s, -s)
    best, quality, since = p, np.inf, 0
    for iteration in range(max_iterations + 1):
        given = p
        found = _quality(i, j, e, mass, s0, given, violation, tol)
        if iteration > 0 and 1.0 < found < NEAR:
            # M x = G^T p holds but for round-off; the p of x is the better one
            z = solve(tree, room, L, mass * x - adjoint(i, j, e, p, n))
            given = np.maximum(p + W * rates(i, j, e, z), 0.0)
            found = _quality(i, j, e, mass, s0, given, violation, tol)
        since += 1
        if found < quality:
            best, quality, since = given, found, 0
        if quality <= 1.0 or iteration == max_iterations or since > PATIENCE:
            break
        W = np.where(p < NOTHING * s, 0.0, p / s)
        if factor(mass, i, j, e, W, tree, graph, room, L):
            break
        dual = mass * x - adjoint(i, j, e, p, n)
        primal = s0 + rates(i, j, e, x) - s
        primal[np.abs(primal) <= ROUND_OFF * (np.abs(s0) + magnitude(i, j, e, x))] = 0.0
        mean, target, wanted = (s * p).sum() / len(s), 0.0, -s * p
        dx, ds, dp, step = x, s, p, 0.0
        for trial in range(2 + CORRECTIONS):
            new_dx = solve(tree, room, L, adjoint(i, j, e, (wanted - p * primal) / s, n) - dual)
            new_ds = rates(i, j, e, new_dx) + primal
            new_dp = (wanted - p * new_ds) / s
            longest = _longest(s, new_ds, p, new_dp)
            if trial > 1 and longest < step + WORTHWHILE:
                break
            dx, ds, dp, step = new_dx, new_ds, new_dp, longest
            if trial == 0:
                after = ((s + step * ds) * (p + step * dp)).sum() / len(s)
                target = (after / mean) ** 3 * mean
                wanted = -s * p + target - ds * dp
            elif step < 1.0 - LONGER_BY:
                wanted = wanted + _evened(s, ds, p, dp, step, target)
            else:
                break
        step = min(1.0, CLOSE * step) if step < 1.0 else 1.0
        x, s, p = x + step * dx, s + step * ds, p + step * dp
        s, p = np.maximum(s, TINY), np.maximum(p, TINY)
        if not np.isfinite(s.sum() + p.sum()):
            break
    return best, iteration, quality
