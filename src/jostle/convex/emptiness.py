"""Is a polyhedron empty? Farkas' lemma, answered by the multipliers of a failed projection or by a linear program.

{u : c + G u >= 0} is empty if and only if some y >= 0 has G^T y = 0 and c . y < 0: then
0 <= y . (c + G u) = c . y < 0 for every u. The y is the proof, and names the rows that contradict
each other. The multipliers of a first-order method on an empty set grow without end in the direction of such a y.
"""

from __future__ import annotations

import numpy as np

from jostle.arrays import Array, highest, to_host
from jostle.convex.metric import Metric
from jostle.convex.polyhedron import Polyhedron
from jostle.errors import EmptySet

SMALLEST_CONTRADICTION = 1e-6
"""How negative c . y must be, relative to the largest |c_i|, to outweigh the program's tolerance."""
BALANCED = 1e-8
"""How large G^T y may be for a y that sums to one: a tenth of the tolerance of the linear program."""
GROWN = 1e-6
"""Multipliers below this part of the largest one do not belong to the contradiction."""
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


def contradiction(K: Polyhedron, M: Metric, tol: float = 0.0) -> Array | None:
    """y >= 0 with G^T y = 0 and c . y < 0, or None if there is none.

    A contradiction that a violation of tol times the length of K would remove does not count. Raises `Undecided` if the
    linear program is too large, or is not solved within its limit of iterations.

    >>> from jostle.convex.metric import metric
    >>> K = Polyhedron([[1.0], [-1.0]], [-1.0, 0.0])          # u >= 1 and u <= 0
    >>> contradiction(K, metric(1.0, (1,))).tolist()
    [0.5, 0.5]
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
    total = np.ones((1, len(c)))
    found = linprog(
        c / scale,
        A_eq=vstack([csr_array(rows.T), csr_array(total)]),
        b_eq=np.append(np.zeros(K.G.shape[1]), 1.0),
        method="highs-ipm",
        options={"maxiter": MOST_ITERATIONS},
    )
    if found.status == INFEASIBLE:
        return None
    if found.status != 0:
        raise Undecided(f"the linear program that decides it was not solved ({found.message.strip().rstrip('.')})")
    allowed = float(found.x @ (to_host(K.noise + tol * K.length) / unit))
    if -found.fun <= max(SMALLEST_CONTRADICTION, allowed / scale):
        return None
    return np.asarray(found.x) / unit


def proven_by(p: Array, slack: Array, K: Polyhedron, M: Metric, tol: float = 0.0) -> Array | None:
    """The y that multipliers p >= 0 have grown to, if it proves that K is empty; slack = c + G w at any w.

    >>> from jostle.convex.metric import metric
    >>> K = Polyhedron([[1.0], [-1.0]], [-1.0, 0.0])          # u >= 1 and u <= 0
    >>> proven_by(np.array([5.0, 5.0]), K.c, K, metric(1.0, (1,))).tolist()
    [0.5, 0.5]
    >>> proven_by(np.array([5.0, 4.0]), K.c, K, metric(1.0, (1,))) is None
    True
    """
    unit = K.G.norms(M)
    unit = np.where(unit > 0.0, unit, 1.0)
    y = p * unit
    y = np.where(y > GROWN * highest(y, 0.0), y, 0.0)
    total = float(y.sum())
    scale = highest(np.abs(slack / unit), 0.0)
    if not 0.0 < total < np.inf or scale == 0.0:
        return None
    y /= total * unit
    rest, missing = K.G.adjoint(y), -float(y @ slack)
    imbalance = M.norm(M.solve(rest))
    allowed = float(y @ (K.noise + tol * K.length))
    return y if imbalance <= BALANCED and missing > max(SMALLEST_CONTRADICTION * scale, allowed) else None


def empty_set(K: Polyhedron, y: Array, iterations: int = 0) -> EmptySet:
    """The error that says why K is empty, which a solver found out after that many iterations."""
    y = to_host(y)
    rows = np.flatnonzero(y > 1e-9 * y.max())
    named = "; ".join(K.describe(int(row)) for row in rows[:MAX_NAMED_ROWS])
    more = f" and {len(rows) - MAX_NAMED_ROWS} more" if len(rows) > MAX_NAMED_ROWS else ""
    return EmptySet(
        f"the set is empty: these constraints contradict each other: {named}{more} (weights y >= 0 "
        f"with G^T y = 0 give c . y = {float(to_host(K.c) @ y):.3g} < 0). Walls that close, radii that grow "
        f"into a jam, or half-spaces that do not meet do this; relax one of them",
        rows,
        y,
        iterations,
    )
