"""Equalities in a small dense projection: eliminated by a QR factorisation, before the active-set method starts.

In Euclidean coordinates with unit rows the problem is min 1/2 |x|^2 subject to s0_E + E x = 0 and s0_I + A x >= 0. With
E^T = Q R, the shortest x that satisfies the equalities is x_E = -Q R^-T s0_E, and

    x = x_E + y,    y = A'^T p,    A' = A - A Q Q^T,    min 1/2 |y|^2 subject to s0_I + A x_E + A' y >= 0,

which has inequalities alone. The multipliers of the equalities follow from R p_E = Q^T (x - A^T p). Rows of E that
depend on others are left out, with multiplier zero, if they agree with these; if they do not, the set is empty.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from jostle.arrays import Array, Booleans, Integers
from jostle.kernels import kernels_for
from jostle.kernels.reference.dense import CONTRADICTION, DEPENDENT, EMPTY, EPS, SOLVED


class Rows(NamedTuple):
    """s0 + A x >= 0, with equality in some rows, which all have length one."""

    A: Array
    s0: Array
    noise: Array
    """(m,) the round-off of s0."""
    allowed: Array
    """(m,) a row that cannot be satisfied, by at most this much, is left as it is."""
    equal: Booleans


def project_with_equalities(rows: Rows, max_iterations: int) -> tuple[Array, Array, int, int]:
    """(x, p, status, iterations) of min 1/2 |x|^2, as `kernels.reference.exact` returns them.

    >>> A, equal = np.array([[0.6, 0.8], [1.0, 0.0]]), np.array([True, False])
    >>> rows = Rows(A, np.array([-1.0, -1.0]), np.zeros(2), np.zeros(2), equal)
    >>> x, p, status, _ = project_with_equalities(rows, 10)
    >>> x.round(12).tolist(), p.round(12).tolist(), status == SOLVED
    ([1.0, 0.5], [0.625, 0.625], True)
    """
    A, s0, noise, allowed, equal = rows
    first, rest = np.flatnonzero(equal), np.flatnonzero(~equal)
    Q, R, order = _factors(A[first])
    rank = len(R)
    kept, others = first[order[:rank]], first[order[rank:]]
    p = np.zeros(len(s0))
    z = _solve(R, -s0[kept], transposed=True)
    x = Q @ z
    turned = _solve(R, R[:, rank:])  # E_others = turned^T E_kept
    left = s0[others] + A[others] @ x
    sizes = np.abs(s0[others]) + np.abs(turned.T) @ np.abs(s0[kept])
    noises = noise[others] + np.abs(turned.T) @ noise[kept] + 8 * EPS * float(np.linalg.norm(x))
    beyond = np.abs(left) - np.maximum(np.maximum(CONTRADICTION * sizes, noises), allowed[others])
    if beyond.max(initial=0.0) > 0.0:
        worst = int(np.argmax(beyond))
        sign = -np.sign(left[worst])
        p[others[worst]], p[kept] = sign, -sign * turned[:, worst]
        return x, p, EMPTY, 0
    if len(rest) == 0:
        p[kept] = _solve(R, z)
        return x, p, SOLVED, 1
    shadow = A[rest] @ Q
    inside = A[rest] - shadow @ Q.T
    inside -= (inside @ Q) @ Q.T  # once more, for the digits that the first subtraction lost
    inside[np.einsum("ij,ij->i", inside, inside) <= DEPENDENT**2] = 0.0
    n, start = A.shape[1], s0[rest] + A[rest] @ x
    rounding = noise[rest] + 8 * EPS * float(np.linalg.norm(x))
    y, p[rest], status, iterations = kernels_for(s0).project_dense(
        np.ascontiguousarray(inside), start, np.zeros(n), np.ones(n), 0.0, rounding, allowed[rest], max_iterations
    )
    pull = shadow.T @ p[rest]
    p[kept] = _solve(R, -pull if status == EMPTY else z - pull)
    return x + y, p, status, iterations


def _factors(E: Array) -> tuple[Array, Array, Integers]:
    """Q (n, k), R (k, m) and an order of the m rows of E with E[order]^T = Q R, k being the rank of E.

    LAPACK is called without SciPy's checks, which take longer than the factorisation of a few rows.
    """
    from scipy.linalg.lapack import dgeqp3, dorgqr

    packed, pivots, tau, _, _ = dgeqp3(E.T)
    size = min(packed.shape)
    rank = int((np.abs(packed.diagonal()) > DEPENDENT).sum())
    Q, _, _ = dorgqr(packed[:, :size], tau)
    return Q[:, :rank], np.triu(packed[:rank]), pivots - 1


def _solve(R: Array, right: Array, transposed: bool = False) -> Array:
    """The solution with the triangle R of `_factors`, or with its transpose."""
    from scipy.linalg.lapack import dtrtrs

    rank = len(R)
    return (
        dtrtrs(R[:, :rank], right, trans=transposed)[0] if rank and right.size else np.zeros((rank, *right.shape[1:]))
    )
