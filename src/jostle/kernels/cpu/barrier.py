"""Second order on contacts of bodies: a primal-dual interior point method (Mehrotra 1992).

The slack s and the multipliers p stay positive and s_c p_c is driven to zero. Each iteration factorises

    M + G^T diag(p / s) G

once (see `multifrontal`) and solves with it some times: the step that would end it all; from how far that one can be
gone the right centring and second-order correction; then, as long as they lengthen the step, corrections that bring
the s_c p_c at its end nearer to each other (Gondzio 1996). What is returned is the p of the best point seen, judged by
the stopping test at u(p) = w + M^-1 G^T p.

The stopping test cannot tell whether the iteration goes on well: it compares sum p |s| with |u(p) - w|^2, and where the
answer is near w both fall together for many iterations. Progress is a fall of any of four measures: the stopping test,
the mean of s_c p_c, the largest |s0 + G x - s|, and the largest |M x - G^T p|.
"""

from __future__ import annotations

import numpy as np

from jostle.kernels.cpu.contacts import rates
from jostle.kernels.cpu.dissection import adjacency, dissect, fronts
from jostle.kernels.cpu.jit import jit
from jostle.kernels.cpu.multifrontal import arranged, factor, layout, room, room_needed, solve
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
"""The iteration ends when this many steps in a row made no progress: round-off keeps it from going on."""
FALL = 0.9
"""A measure of progress has fallen if it is below this part of its smallest value so far."""
LEAST = 0.1
"""The s_c p_c are not wanted smaller than this part of what the stopping test allows them: beyond, round-off rules."""
NEAR = 1e4
"""Nearer than this to passing, round-off in p shows, and is corrected."""


@jit()
def _positive(s, p):
    """Mehrotra's start: s and p moved up until they are positive, and about equally so."""
    s, p = s + max(0.0, -1.5 * s.min()), p + max(0.0, -1.5 * p.min())
    product = (s * p).sum()
    if product == 0.0:
        return s + 1.0, p + 1.0
    return s + 0.5 * product / p.sum(), p + 0.5 * product / s.sum()


@jit()
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


@jit()
def _fallen(now, lowest):
    """Has any measure fallen? Enters those that have into `lowest`."""
    any_fell = False
    for k in range(len(lowest)):
        if now[k] < FALL * lowest[k]:
            lowest[k], any_fell = now[k], True
    return any_fell


@jit()
def interior_point(i, j, e, mass, s0, places, violation, tol, max_iterations, most_numbers):
    """min 1/2 |x|_M^2, s0 + G x >= 0 for unit rows in the metric.

    Returns (p, iterations, how far from passing, numbers in the factors). If the factors would have more than
    `most_numbers` numbers, nothing is computed: p is zero.
    """
    n, d = mass.shape
    graph = adjacency(i, j, n)
    order, first, last, parent = dissect(places, graph[0], graph[1])
    place, below, fill = fronts(order, first, last, parent, graph[0], graph[1])
    tree = first, last, parent, below, fill
    by, i, j, e, start = arranged(i, j, e, place)
    mass, s0, violation = mass[order], s0[by], violation[by]
    rows, plan, W = (i, j, e, start), layout(j, start, tree, d), np.ones(len(i))
    numbers = room_needed(tree, plan, d)
    if numbers > most_numbers:
        return np.zeros(len(s0)), 0, np.inf, numbers
    work = room(tree, plan, d)
    factor(mass, rows, W, tree, plan, work)
    x = solve(tree, plan, work, -force(start, j, e, s0, n))
    s = s0 + rates(i, j, e, x)
    s, p = _positive(s, -s)
    best, reached, since, lowest = p, np.inf, 0, np.full(4, np.inf)
    for iteration in range(max_iterations + 1):
        given, pull = p, force(start, j, e, p, n)
        dual, primal = mass * x - pull, lacks(i, j, e, s0, x, s)
        found = quality(i, j, e, mass, s0, p, pull, violation, tol)
        if iteration > 0 and 1.0 < found < NEAR:
            # M x = G^T p holds but for round-off; the p of x is the better one
            given = np.maximum(p + W * rates(i, j, e, solve(tree, plan, work, dual)), 0.0)
            found = quality(i, j, e, mass, s0, given, force(start, j, e, given, n), violation, tol)
        since = 0 if _fallen((found, (s * p).mean(), np.abs(primal).max(), np.abs(dual).max()), lowest) else since + 1
        if found < reached:
            best, reached = given, found
        if reached <= 1.0 or iteration == max_iterations or since > PATIENCE:
            break
        W, over_s, over_p = weights(s, p)
        if factor(mass, rows, W, tree, plan, work):
            break
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
    return p, iteration, reached, numbers
