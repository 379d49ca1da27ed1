"""Second order on contacts of bodies: a primal-dual interior point method (Mehrotra 1992).

The slack s and the multipliers p stay positive and s_c p_c is driven to zero. Each iteration factorises

    M + G^T diag(p / s) G

once (see `multifrontal`) and solves several systems with it. The first one gives the affine step, towards s_c p_c = 0.
The length to which this step stays feasible determines the centring and the second-order correction of the next one.
Further corrections bring the s_c p_c closer to each other (Gondzio 1996), as long as they lengthen the step. The
result is the p of the best point so far, judged by the stopping test at u(p) = w + M^-1 G^T p.

The stopping test does not show whether the iteration makes progress: it compares sum p |s| with |u(p) - w|^2, and if
the solution is close to w, both decrease together for many iterations. There is progress if one of four measures
decreases: the stopping test, the mean of s_c p_c, the largest |s0 + G x - s|, and the largest |M x - G^T p|.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from jostle.kernels.cpu.dissection import adjacency, dissect, fronts
from jostle.kernels.cpu.jit import jit
from jostle.kernels.cpu.meeting import ABANDONED, new_meeting
from jostle.kernels.cpu.multifrontal import arranged, factor, layout, solve
from jostle.kernels.cpu.naming import renamed
from jostle.kernels.cpu.panels import LARGE
from jostle.kernels.cpu.passes import (
    BEST,
    DP,
    DS,
    DUAL,
    DX,
    GIVEN,
    MOVED,
    PULL,
    PUSH,
    S0,
    VIOLATION,
    WANTED,
    WEIGHT,
    P,
    S,
    X,
    advance,
    balance,
    corrected,
    direction,
    force,
    lacks,
    mean_product,
    moved,
    pushed,
    quality,
    rate,
    weights,
)
from jostle.kernels.cpu.signatures import Floats, Floats2, Ints, Ints2, OutFloats, OutFloats2, OutFloats3, OutInts
from jostle.kernels.cpu.subtrees import SHARED_WORK, owners, work_of
from jostle.kernels.teams import in_step

CLOSE = 0.995
"""Length of a step, as a fraction of the distance to the boundary."""
CORRECTIONS = 2
"""Largest number of Gondzio's corrections in an iteration: a solve costs a tenth of a factorisation."""
LONGER, LONGER_BY = 1.08, 0.1
"""A Gondzio correction aims at LONGER times the length of the step, plus LONGER_BY."""
EVEN = 0.1
"""A Gondzio correction aims at s_c p_c between EVEN and 1 / EVEN times their target."""
WORTHWHILE = 0.01
"""A Gondzio correction that lengthens the step by less than this is discarded, and no other one is tried."""
PATIENCE = 8
"""The iteration ends after this many steps in a row without progress, which round-off then prevents."""
FALL = 0.9
"""A measure of progress has decreased if it is below this fraction of its smallest value so far."""
LEAST = 0.1
"""Smallest target of s_c p_c, as a fraction of what the stopping test allows; round-off dominates below it."""
MOST_MEMBERS = 8
"""Largest number of threads that factorise: the longest path through the tree has an eighth of the work."""
NEAR = 1e4
"""Round-off in p is corrected once the stopping test is missed by less than this factor."""


def interior_point(
    i: Ints,
    j: Ints,
    e: Floats2,
    mass: Floats2,
    s0: Floats,
    places: Floats2,
    violation: Floats,
    tol: float,
    max_iterations: int,
    most_numbers: int,
    chunks: int,
) -> tuple[Floats, int, float, int]:
    """min 1/2 |x|_M^2, s0 + G x >= 0 for unit rows in the metric.

    Returns (p, iterations, how far from passing, numbers in the factors). If the factors would have more than
    `most_numbers` numbers, nothing is computed: p is zero.
    """
    (n, d), m = mass.shape, len(i)
    start, other = adjacency(i, j, n)
    order, first, last, parent = dissect(places, start, other)
    place, below, rows = fronts(order, first, last, parent, start, other)
    by, ends, e, start = arranged(i, j, e, place)
    tree = first, last, parent, below, rows
    plan = layout(ends, start, tree, d)
    sizes = plan.sizes(d)
    if sum(sizes) > most_numbers:
        return np.zeros(m), 0, np.inf, sum(sizes)
    row, body = np.empty((16, m)), np.empty((6, n * d))
    row[S0], row[VIOLATION] = s0[by], violation[by]
    large = d * int((last - first).max()) > LARGE
    L, stack, rest, v, carry = sizes
    meeting, masses = new_meeting(), mass[order].ravel()

    def divided(members: int) -> Any:
        shared, failed = (owners(tree, d, members), np.zeros(len(first), np.int64)), np.zeros(members, np.int64)
        room = (
            np.empty(L),
            np.empty(stack),
            np.empty((members, rest)),
            np.empty(v),
            np.empty(carry),
            np.empty((n, d, d)),
        )

        def work(member: int) -> tuple[int, float]:
            found: tuple[int, float] = (_iterate_with_products if large else _iterate)(
                member, *shared, meeting, failed, masses, start, ends, e, *plan, tol, max_iterations, row, body,
                *room, np.full(4, np.inf), True if large else None,
            )  # fmt: skip
            meeting[ABANDONED] = 1  # the others wait for the next factorisation
            return found

        return work, [(member,) for member in range(members)]

    most = min(chunks, MOST_MEMBERS) if work_of(tree, d).sum() >= SHARED_WORK else 1
    (iterations, found), _ = in_step(most, divided, partial(meeting.__setitem__, ABANDONED, 1))
    p = np.empty(m)
    p[by] = row[BEST]
    return p, iterations, found, sum(sizes)


@jit(helper=True)
def _positive(row: OutFloats2) -> None:
    """Mehrotra's start: s and p = -s moved up until they are positive, and about equally so."""
    m, lowest, highest = row.shape[1], np.inf, -np.inf
    for c in range(m):
        lowest, highest = min(lowest, row[S, c]), max(highest, row[S, c])
    up_s, up_p = max(0.0, -1.5 * lowest), max(0.0, 1.5 * highest)
    product, sum_s, sum_p = 0.0, 0.0, 0.0
    for c in range(m):
        s, p = row[S, c] + up_s, up_p - row[S, c]
        row[S, c], row[P, c] = s, p
        product += s * p
        sum_s += s
        sum_p += p
    more_s, more_p = (0.5 * product / sum_p, 0.5 * product / sum_s) if product != 0.0 else (1.0, 1.0)
    for c in range(m):
        row[S, c] += more_s
        row[P, c] += more_p


@jit(helper=True)
def _centred(row: OutFloats2, way: int, target: float) -> None:
    """WANTED = target - s p - ds dp: the centring and the second-order correction."""
    for c in range(row.shape[1]):
        row[WANTED, c] = target - row[S, c] * row[P, c] - row[DS + way, c] * row[DP + way, c]


@jit(helper=True)
def _evened(row: OutFloats2, way: int, step: float, target: float) -> None:
    """WANTED += the amount by which the s_c p_c at the end of a longer step miss the range around the target."""
    aim = min(1.0, LONGER * step + LONGER_BY)
    for c in range(row.shape[1]):
        product = (row[S, c] + aim * row[DS + way, c]) * (row[P, c] + aim * row[DP + way, c])
        if product < EVEN * target:
            row[WANTED, c] += EVEN * target - product
        elif product > target / EVEN:
            row[WANTED, c] += max(target / EVEN - product, -target / EVEN)


@jit(helper=True)
def _fallen(k: int, now: float, lowest: OutFloats) -> bool:
    """Whether measure k has decreased; if it has, store it in `lowest`."""
    fell = now < FALL * lowest[k]
    if fell:
        lowest[k] = now
    return fell


def _loop(
    member: int,
    owner: Ints,
    done: OutInts,
    meeting: OutInts,
    failed: OutInts,
    mass: Floats,
    start: Ints,
    ends: Ints2,
    e: Floats2,
    groups: Ints2,
    rows: Ints,
    into: Ints,
    tol: float,
    max_iterations: int,
    row: OutFloats2,
    body: OutFloats2,
    L: OutFloats,
    stack: OutFloats,
    rest: OutFloats2,
    v: OutFloats,
    carry: OutFloats,
    diagonal: OutFloats3,
    lowest: OutFloats,
    products: Any,
) -> tuple[int, float]:
    """Fills the entry BEST of row, given S0 and VIOLATION; returns (iterations, how far from passing).

    The arrays after `body` are room to work in; `lowest` is infinite. Thread 0 does all of it; the other members of the
    team take part in the factorisations, until it ends.
    """
    m, d = e.shape
    for c in range(m if member == 0 else 0):
        row[WEIGHT, c] = 1.0
    while True:
        status = factor(
            member, owner, done, meeting, failed, mass, ends, start, e, row, WEIGHT, groups, into, L, stack, rest,
            diagonal, products,
        )  # fmt: skip
        if member == 0:
            break
        if status < 0:
            return 0, np.inf
    force(start, ends, e, row, S0, body, X)
    solve(groups, rows, into, d, L, v, carry, body, X)
    for a in range(len(mass)):
        body[X, a] = -body[X, a]
    for c in range(m):
        row[S, c] = row[S0, c] + rate(c, ends, e, body, X)
    _positive(row)
    reached, since, judged, iteration = np.inf, 0, P, 0
    while True:
        force(start, ends, e, row, P, body, PULL)
        dual, pulled, (mean, primal) = balance(mass, body), moved(mass, body, PULL), lacks(ends, e, row, body)
        judged, found = P, quality(ends, e, row, P, body, pulled, tol)
        if iteration > 0 and 1.0 < found < NEAR:
            # M x = G^T p holds but for round-off; the p of x is the better one
            for a in range(len(mass)):
                body[MOVED, a] = body[DUAL, a]
            solve(groups, rows, into, d, L, v, carry, body, MOVED)
            corrected(ends, e, row, body)
            force(start, ends, e, row, GIVEN, body, MOVED)
            judged, found = GIVEN, quality(ends, e, row, GIVEN, body, moved(mass, body, MOVED), tol)
        fell = _fallen(0, found, lowest)
        fell = _fallen(1, mean, lowest) or fell
        fell = _fallen(2, primal, lowest) or fell
        fell = _fallen(3, dual, lowest) or fell
        since = 0 if fell else since + 1
        if found < reached or iteration == 0:
            reached = found
            for c in range(m):
                row[BEST, c] = row[judged, c]
        if reached <= 1.0 or iteration == max_iterations or since > PATIENCE:
            return iteration, reached
        weights(row)
        status = factor(
            member, owner, done, meeting, failed, mass, ends, start, e, row, WEIGHT, groups, into, L, stack, rest,
            diagonal, products,
        )  # fmt: skip
        if status != 0:
            return iteration, reached
        target, way, step = 0.0, 0, 0.0
        for trial in range(2 + CORRECTIONS):
            pushed(row)
            force(start, ends, e, row, PUSH, body, DX + 1 - way)
            for a in range(len(mass)):
                body[DX + 1 - way, a] -= body[DUAL, a]
            solve(groups, rows, into, d, L, v, carry, body, DX + 1 - way)
            longest = direction(ends, e, row, body, 1 - way)
            if trial > 1 and longest < step + WORTHWHILE:
                break
            way, step = 1 - way, longest
            if trial == 0:
                fall = mean_product(row, way, step) / mean
                target = max(fall * fall * fall * mean, LEAST * tol * pulled / m)
                _centred(row, way, target)
            elif step < 1.0 - LONGER_BY:
                _evened(row, way, step, target)
            else:
                break
        total = advance(row, body, way, min(1.0, CLOSE * step) if step < 1.0 else 1.0)
        if not np.isfinite(total):
            return iteration, reached
        iteration += 1


_iterate = jit()(renamed(_loop, "_iterate", products="Nothing"))
_iterate_with_products = jit(allocates=True)(renamed(_loop, "_iterate_with_products", products="bool"))
