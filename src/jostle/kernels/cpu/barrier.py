"""Second order on contacts of bodies: a primal-dual interior point method (Mehrotra 1992).

The slack s and the multipliers p stay positive and s_c p_c is driven to zero. Each iteration factorises

    M + G^T diag(p / s) G

once (see `multifrontal`) and solves several systems with it. The first one gives the affine step, towards s_c p_c = 0.
The length to which this step stays feasible determines the centring and the second-order correction of the next one.
Further corrections bring the s_c p_c closer to each other (Gondzio 1996), as long as they lengthen the step. The
result is the p of the best point so far, judged by the stopping test at u(p) = w + M^-1 G^T p.

The iteration starts from the multipliers of the step before, where there are any (`_near_guess`): s_c p_c is raised to
its mean there, since a point close to the boundary would allow short steps only. In a crowd that is pressed against a
barrier this halves the number of iterations. Otherwise the start is that of Mehrotra, which takes a factorisation.

The stopping test does not show whether the iteration makes progress: it compares sum p |s| with |u(p) - w|^2, and if
the solution is close to w, both decrease together for many iterations. There is progress if one of four measures
decreases: the stopping test, the mean of s_c p_c, the largest |s0 + G x - s|, and the largest |M x - G^T p|.

Rows of G are e_c . (x_j - x_i), a wall at rest where j < 0, in the order of `multifrontal.arranged`: those with i = a
are start[a] <= c < start[a + 1]. All vectors of one number a row are entries of the array `row` (16, m), and all of one
number a coordinate are entries of `body` (6, n d).
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from jostle import kernels
from jostle._tools.arrays import Array
from jostle.kernels.compiling import (
    Floats,
    Floats2,
    Ints,
    Ints2,
    OutFloats,
    OutFloats2,
    OutFloats3,
    OutInts,
    jit,
    renamed,
)
from jostle.kernels.cpu.dissection import SHARED_WORK, adjacency, dissect, fronts, owners, work_of
from jostle.kernels.cpu.meeting import ABANDONED, new_meeting
from jostle.kernels.cpu.multifrontal import (
    LARGE,
    ONE,
    OTHER,
    SUMS,
    Factors,
    Matrix,
    Plan,
    Team,
    U,
    arranged,
    factor,
    layout,
    solve,
)
from jostle.kernels.parallel import in_step
from jostle.kernels.reference.contacts import ContactRows

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


LEAST_LOAD = 0.1
"""At the start, rows with less than this fraction of the mean multiplier of the guess count as if they had it."""
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


@kernels.interior_point.on("numpy")
def interior_point(
    rows: ContactRows, mass: Array, s0: Array, start: Array, places: Array, violation: Array, tol: float,
    max_iterations: int, most_numbers: int, chunks: int,
) -> tuple[Array, int, float, int]:  # fmt: skip
    """min 1/2 |x|_M^2, s0 + G x >= 0 for unit rows in the metric, from the multipliers `start`, unless all are zero.

    Returns (p, iterations, how far from passing, numbers in the factors). If the factors would have more than
    `most_numbers` numbers, nothing is computed: p is zero.
    """
    (n, d), m = mass.shape, len(s0)
    neighbours = adjacency(rows.i, rows.j, n)
    order, first, last, parent = dissect(places, *neighbours)
    place, below, filled = fronts(order, first, last, parent, *neighbours)
    by, ends, e, begin = arranged(*rows, place)
    tree = first, last, parent, below, filled
    plan = layout(ends, begin, tree, d)
    sizes = plan.sizes(d)
    if sum(sizes) > most_numbers:
        return np.zeros(m), 0, np.inf, sum(sizes)
    row, body = np.empty((16, m)), np.empty((6, n * d))
    row[S0], row[VIOLATION], row[P] = s0[by], violation[by], start[by]
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
                member, *shared, meeting, failed, masses, begin, ends, e, *plan, tol, max_iterations, row, body,
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
def _near_guess(start: Ints, ends: Ints2, e: Floats2, mass: Floats, row: OutFloats2, body: OutFloats2) -> bool:
    """Start from the multipliers in P, with all s_c p_c raised to their mean; False if there are none."""
    m, total, product = row.shape[1], 0.0, 0.0
    for c in range(m):
        total += row[P, c]
    least = LEAST_LOAD * total / m
    if not least > 0.0:
        return False
    force(start, ends, e, row, P, body, X)
    for a in range(len(mass)):
        body[X, a] /= mass[a]
    for c in range(m):
        s = row[S0, c] + rate(c, ends, e, body, X)
        row[S, c] = s
        product += row[P, c] * s if s > 0.0 else -max(row[P, c], least) * s
    mean = product / m
    if not 0.0 < mean < np.inf:
        return False
    for c in range(m):
        s = max(row[S, c], mean / max(row[P, c], least))
        row[S, c], row[P, c] = s, max(row[P, c], mean / s)
    return True


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
    member: int, owner: Ints, done: OutInts, meeting: OutInts, failed: OutInts, mass: Floats, start: Ints, ends: Ints2,
    e: Floats2, groups: Ints2, rows: Ints, into: Ints, tol: float, max_iterations: int, row: OutFloats2,
    body: OutFloats2, L: OutFloats, stack: OutFloats, rest: OutFloats2, v: OutFloats, carry: OutFloats,
    diagonal: OutFloats3, lowest: OutFloats, products: Any,
) -> tuple[int, float]:  # fmt: skip
    """Fills the entry BEST of row, given S0, VIOLATION and the guess P; returns (iterations, how far from passing).

    The arrays after `body` are room to work in; `lowest` is infinite. Thread 0 does all of it; the other members of the
    team take part in the factorisations, until it ends.
    """
    m, d = e.shape
    team, matrix = Team(member, owner, done, meeting, failed), Matrix(mass, start, ends, e)
    plan, factors = Plan(groups, rows, into), Factors(L, stack, rest, v, carry, diagonal)
    if member > 0 or not _near_guess(start, ends, e, mass, row, body):
        for c in range(m if member == 0 else 0):
            row[WEIGHT, c] = 1.0
        while True:
            status = factor(team, matrix, row, WEIGHT, plan, factors, products)
            if member == 0:
                break
            if status < 0:
                return 0, np.inf
        force(start, ends, e, row, S0, body, X)
        solve(plan, factors, d, body, X)
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
            solve(plan, factors, d, body, MOVED)
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
        status = factor(team, matrix, row, WEIGHT, plan, factors, products)
        if status != 0:
            return iteration, reached
        target, way, step = 0.0, 0, 0.0
        for trial in range(2 + CORRECTIONS):
            pushed(row)
            force(start, ends, e, row, PUSH, body, DX + 1 - way)
            for a in range(len(mass)):
                body[DX + 1 - way, a] -= body[DUAL, a]
            solve(plan, factors, d, body, DX + 1 - way)
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
