"""Whether a polyhedron is empty, by the multipliers of a failed projection or a linear program (Farkas' lemma).

{u : c + G u >= 0} is empty if and only if some y >= 0 has G^T y = 0 and c . y < 0: then
0 <= y . (c + G u) = c . y < 0 for every u. The y is the proof, and names the rows that contradict
each other. The multipliers of a first-order method on an empty set grow without end in the direction of such a y.
The weight of an equality may have any sign.

Solvers and linear programs find a y with G^T y = 0 up to their tolerance in their metric. That proves nothing: with
columns or masses of different size, or rows that are nearly parallel, the set may have points far away. `proof` makes
|G^T y| as small as the round-off of the entries of G,

    |sum_i y_i G_ik| <= ROUND_OFF sum_i |y_i G_ik|    for every coordinate k,

which depends neither on units nor on masses, or finds no proof. Then no u satisfies every row by more than the
round-off ROUND_OFF |G_i| |u| of its terms. Nobody else raises `EmptySet` because of such weights.
"""

from __future__ import annotations

from itertools import pairwise
from math import fsum

import numpy as np

from jostle._tools.arrays import Array, dot, highest, to_host
from jostle.convex.metric import Metric
from jostle.convex.rows import Rows
from jostle.errors import EmptySet

EPS = float(np.finfo(float).eps)
ROUND_OFF = 4.0 * EPS
"""How large a sum of products y_i G_ik may be, as a fraction of the sum of their sizes, to count as zero."""
REFINEMENTS = 8
"""Largest number of corrections of weights until their sums are round-off."""
SMALLEST_SUM = 1e-280
"""Sums of products below this size are not taken for zero: the products may have lost their digits."""

SMALLEST_CONTRADICTION = 1e-6
"""How negative c . y must be, relative to the largest |c_i|, to outweigh the program's tolerance."""
BALANCED = 1e-8
"""How large G^T y may be for a y that sums to one: a tenth of the tolerance of the linear program."""
GROWN = 1e-6
"""Multipliers below this fraction of the largest one do not belong to the contradiction."""
MAX_NAMED_ROWS = 6
"""Largest number of rows that the error message names."""
MOST_ENTRIES = 200_000
"""Linear programs with more non-zero entries in G are not tried: they would take minutes."""
INFEASIBLE = 2
"""The status of SciPy's `linprog` for constraints without a solution: no weights y have G^T y = 0 and sum to one."""
MOST_ITERATIONS = 200
"""The linear program is given up after this many iterations of its interior point method; thirty are usual."""


class Undecided(Exception):
    """Whether a polyhedron is empty was not found out; the message says why."""


def contradiction(K: Rows, M: Metric, tol: float = 0.0) -> Array | None:
    """y >= 0 (of any sign in equalities) with G^T y = 0 and c . y < 0, a `proof`; or None if there is none.

    A contradiction that a violation of tol times the length of K would remove does not count. Raises `Undecided` if the
    linear program is too large, is not solved within its limit of iterations, or if its weights are no proof.
    """
    from scipy.optimize import linprog
    from scipy.sparse import csr_array, diags_array, vstack

    unit = to_host(K.G.norms(M))
    unit = np.where(unit > 0, unit, 1.0)
    rows = diags_array(1.0 / unit) @ K.G.tocsr()
    if rows.nnz > MOST_ENTRIES:
        raise Undecided(f"the linear program that decides it has {rows.nnz} entries, more than {MOST_ENTRIES}")
    if M.diagonal:
        rows = rows @ diags_array(to_host(M.root))
    c = to_host(K.c) / unit
    scale = np.abs(c).max(initial=0.0)
    if scale == 0.0:
        return None
    also = np.zeros(0, dtype=np.int64) if K.equal is None else np.flatnonzero(K.equal)  # y = y_+ - y_-
    signed, signed_c = vstack([rows, -csr_array(rows)[also]]), np.append(c, -c[also])
    found = linprog(
        signed_c / scale,
        A_eq=vstack([csr_array(signed.T), csr_array(np.ones((1, len(signed_c))))]),
        b_eq=np.append(np.zeros(K.G.shape[1]), 1.0),
        method="highs-ipm",
        options={"maxiter": MOST_ITERATIONS},
    )
    if found.status == INFEASIBLE:
        return None
    if found.status != 0:
        raise Undecided(f"the linear program that decides it was not solved ({found.message.strip().rstrip('.')})")
    y = np.array(found.x[: len(c)])
    y[also] -= found.x[len(c) :]
    allowed = float(np.abs(y) @ (to_host(K.noise + tol * K.length) / unit))
    if -found.fun <= max(SMALLEST_CONTRADICTION, allowed / scale):
        return None
    proven = proof(K, y / unit, tol)
    if proven is None:
        raise Undecided("constraints contradict each other near the point, but there may be points far away from it")
    return proven


def proven_by(p: Array, slack: Array, K: Rows, M: Metric, tol: float = 0.0) -> Array | None:
    """The `proof` that K is empty to which multipliers p have grown, if there is one; slack = c + G w at any w."""
    unit = K.G.norms(M)
    unit = np.where(unit > 0.0, unit, 1.0)
    y = p * unit
    size = y if K.equal is None else np.where(K.equal, np.abs(y), y)
    grown = size > GROWN * highest(size, 0.0)
    y = np.where(grown, y, 0.0)
    total = float(np.abs(y).sum())
    scale = highest(np.abs(slack / unit), 0.0)
    if not 0.0 < total < np.inf or scale == 0.0:
        return None
    y /= total * unit
    rest, missing = K.G.adjoint(y), -float(dot(y, slack))
    imbalance = M.norm(M.solve(rest))
    allowed = float(dot(np.abs(y), K.noise + tol * K.length))
    if imbalance > BALANCED or missing <= max(SMALLEST_CONTRADICTION * scale, allowed):
        return None
    return proof(K, y, tol)


def proof(K: Rows, y: Array, tol: float = 0.0) -> Array | None:
    """Weights near y whose sums G^T y are round-off, with c . y < 0; None if there are none near y.

    The round-off of c, and a violation of tol times the length of K, do not make c . y negative.
    """
    K, y = to_host(K), to_host(y)
    rows = np.flatnonzero(y)
    few = K.only(rows)
    weights = _balanced(few, y[rows] / np.abs(y[rows]).max(initial=0.0))
    if weights is None:
        return None
    terms, allowed = weights * few.c, np.abs(weights) @ (few.noise + tol * few.length)
    if not -fsum(terms) > allowed + EPS * np.abs(terms).sum():
        return None
    found = np.zeros(len(y))
    found[rows] = weights
    return found


def _balanced(K: Rows, y: Array) -> Array | None:
    """Weights near y, zero or of the same signs, whose sums G^T y are round-off; None if none were found."""
    from scipy.sparse import csc_array, diags_array
    from scipy.sparse.linalg import lsmr

    G = csc_array(K.G.tocsr())
    for _ in range(REFINEMENTS):
        products = csc_array(diags_array(y) @ G)
        sizes = np.asarray(abs(products).sum(axis=0)).ravel()
        touched = np.flatnonzero(sizes)
        if not (sizes[touched] >= SMALLEST_SUM).all() or not np.isfinite(sizes).all():
            return None
        # The products are rounded by EPS / 2 at most, and fsum adds them up exactly.
        sums = np.array([fsum(products.data[first:end]) for first, end in pairwise(products.indptr)])
        if (np.abs(sums) <= (ROUND_OFF - EPS) * sizes).all():
            return y
        relative = csc_array(diags_array(1.0 / sizes[touched]) @ products[:, touched].T)
        change = lsmr(relative, -sums[touched] / sizes[touched], atol=EPS, btol=EPS)[0]
        y = y * np.maximum(1.0 + change, 0.0)  # without rows that nothing balances
    return None


def empty_set(K: Rows, y: Array, iterations: int = 0) -> EmptySet:
    """The error that says why K is empty, by a `proof` that a solver found after that many iterations."""
    y = to_host(y)
    rows = np.flatnonzero(np.abs(y) > 1e-9 * np.abs(y).max())
    named = "; ".join(K.describe(int(row)) for row in rows[:MAX_NAMED_ROWS])
    more = f" and {len(rows) - MAX_NAMED_ROWS} more" if len(rows) > MAX_NAMED_ROWS else ""
    rods = "" if K.equal is None else "change the length of a rod, "
    rods += "give motors a max_torque, " if "motor" in named else ""
    signs = "y >= 0" if K.equal is None else "y, of any sign in equalities,"
    return EmptySet(
        f"no admissible point is left, because these constraints contradict each other: {named}{more}. Move walls "
        f"apart, make bodies smaller, {rods}or leave one of these constraints out",
        rows,
        y,
        iterations,
        proof=f"the weights {signs} in error.weights have G^T y = 0, up to the round-off of the entries of G, and "
        f"c . y = {float(to_host(K.c) @ y):.3g} < 0 (Farkas' lemma)",
    )
