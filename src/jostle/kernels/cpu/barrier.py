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

from jostle.kernels.cpu.contacts import rates
from jostle.kernels.cpu.dissection import adjacency, dissect, fronts
from jostle.kernels.cpu.multifrontal import arranged, factor, layout, room, solve
from jostle.kernels.cpu.passes import TINY, direction, force, lacks, mean_product, quality, weights

CLOSE = 0.995
"""How much of the way to the boundary is gone."""
CORRECTIONS = 2
"""At most so many corrections of Gondzio's: a solve costs a tenth of a factorisation."""
LONGER, LONGER_BY = 1.08, 0.1
"""They aim at a step longer by this factor, and by so much,"""
EVEN = 0.1
"""after which each s_c p_c lies between EVEN and 1 / EVEN times the wanted one;"""
WORTHWHILE = 0.01
"""one that lengthens the step by less is the last, and not taken."""
PATIENCE = 8
"""It ends when so many iterations brought nothing better: round-off has the last word."""
LEAST = 0.1
"""The s_c p_c are not wanted smaller than this part of what the stopping test allows them: beyond, round-off rules."""
NEAR = 1e4
"""Nearer than this to passing, round-off in p shows, and is corrected."""


@njit(cache=True)
def _positive(s, p):
    """Mehrotra's start: s and p moved up until they are positive, and about equally so."""
    s, p = s + max(0.0, -1.5 * s.min()), p + max(0.0, -1.5 * p.min())
    product = (s * p).sum()
    if product == 0.0:
        return s + 1.0, p + 1.0
    return s + 0.5 * product / p.sum(), p + 0.5 * product / s.sum()


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
def interior_point(i, j, e, mass, s0, places, violation, tol, max_iterations):
    """min 1/2 |x|_M^2, s0 + G x >= 0 for unit rows in the metric: returns (p, iterations, how far from passing)."""
    n, d = mass.shape
    graph = adjacency(i, j, n)
    order, first, last, parent = dissect(places, graph[0], graph[1])
    place, below, fill = fronts(order, first, last, parent, graph[0], graph[1])
    tree = first, last, parent, below, fill
    by, i, j, e, start = arranged(i, j, e, place)
    mass, s0, violation = mass[order], s0[by], violation[by]
    rows, plan, W = (i, j, e, start), layout(j, start, tree, d), np.ones(len(i))
    work = room(tree, plan, d)
    factor(mass, rows, W, tree, plan, work)
    x = solve(tree, plan, work, -force(start, j, e, s0, n))
    s = s0 + rates(i, j, e, x)
    s, p = _positive(s, -s)
    best, reached, since = p, np.inf, 0
    for iteration in range(max_iterations + 1):
        given, pull = p, force(start, j, e, p, n)
        dual = mass * x - pull
        found = quality(i, j, e, mass, s0, p, pull, violation, tol)
        if iteration > 0 and 1.0 < found < NEAR:
            # M x = G^T p holds but for round-off; the p of x is the better one
            given = np.maximum(p + W * rates(i, j, e, solve(tree, plan, work, dual)), 0.0)
            found = quality(i, j, e, mass, s0, given, force(start, j, e, given, n), violation, tol)
        since += 1
        if found < reached:
            best, reached, since = given, found, 0
        if reached <= 1.0 or iteration == max_iterations or since > PATIENCE:
            break
        W, over_s, over_p = weights(s, p)
        if factor(mass, rows, W, tree, plan, work):
            break
        primal = lacks(i, j, e, s0, x, s)
        target, wanted = 0.0, -s * p
        dx, ds, dp, step = x, s, p, 0.0
        for trial in range(2 + CORRECTIONS):
            new_dx = solve(tree, plan, work, force(start, j, e, (wanted - p * primal) * over_s, n) - dual)
            new_ds, new_dp, longest = direction(i, j, e, new_dx, wanted, p, primal, over_s, over_p)
            if trial > 1 and longest < step + WORTHWHILE:
                break
            dx, ds, dp, step = new_dx, new_ds, new_dp, longest
            if trial == 0:
                mean = mean_product(s, ds, p, dp, 0.0)
                least = LEAST * tol * (pull * pull / mass).sum() / len(s)
                target = max((mean_product(s, ds, p, dp, step) / mean) ** 3 * mean, least)
                wanted = -s * p + target - ds * dp
            elif step < 1.0 - LONGER_BY:
                wanted = wanted + _evened(s, ds, p, dp, step, target)
            else:
                break
        step = min(1.0, CLOSE * step) if step < 1.0 else 1.0
        x, s, p = x + step * dx, np.maximum(s + step * ds, TINY), np.maximum(p + step * dp, TINY)
        if not np.isfinite(s.sum() + p.sum()):
            break
    p = np.empty(len(s))
    p[by] = best
    return p, iteration, reached
