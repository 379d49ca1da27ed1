"""Is a polyhedron empty? Farkas' lemma, answered by a linear program.

{u : c + G u >= 0} is empty if and only if some y >= 0 has G^T y = 0 and c . y < 0: then
0 <= y . (c + G u) = c . y < 0 for every u. The y is the proof, and names the rows that contradict
each other.
"""

from __future__ import annotations

import numpy as np

from jostle.arrays import Array
from jostle.convex.metric import Metric
from jostle.convex.polyhedron import Polyhedron
from jostle.errors import EmptySet

SMALLEST_CONTRADICTION = 1e-6
"""How negative c . y must be, relative to the largest |c_i|, to outweigh the program's tolerance."""
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

    unit = K.G.norms(M)
    unit = np.where(unit > 0, unit, 1.0)
    rows = diags_array(1.0 / unit) @ K.G.tocsr()
    if rows.nnz > MOST_ENTRIES:
        raise Undecided(f"the linear program that decides it has {rows.nnz} entries, more than {MOST_ENTRIES}")
    if M.diagonal:
        rows = rows @ diags_array(M.root)
    c = K.c / unit
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
    allowed = float(found.x @ ((K.noise + tol * K.length) / unit))
    if -found.fun <= max(SMALLEST_CONTRADICTION, allowed / scale):
        return None
    return np.asarray(found.x) / unit


def empty_set(K: Polyhedron, y: Array) -> EmptySet:
    """The error that says why K is empty."""
    rows = np.flatnonzero(y > 1e-9 * y.max())
    named = "; ".join(K.describe(int(row)) for row in rows[:MAX_NAMED_ROWS])
    more = f" and {len(rows) - MAX_NAMED_ROWS} more" if len(rows) > MAX_NAMED_ROWS else ""
    return EmptySet(
        f"the set is empty: these constraints contradict each other: {named}{more} (weights y >= 0 "
        f"with G^T y = 0 give c . y = {float(K.c @ y):.3g} < 0). Walls that close, radii that grow "
        f"into a jam, or half-spaces that do not meet do this; relax one of them",
        rows,
        y,
    )
