"""Equalities whose multipliers have bounds, -b <= p <= b: motors of limited torque.

Between its bounds a row holds, s = 0; at a bound it slips, to the side to which p does not suffice: s <= 0 where p = b,
and s >= 0 where p = -b. Each guess of the rows that slip is one projection without bounds: those at a bound push with
it, and the others hold.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from jostle._tools.arrays import Array
from jostle.convex.metric import Metric
from jostle.convex.projection import Projection
from jostle.convex.rows import Rows
from jostle.errors import EmptySet
from jostle.kernels.reference.dense import ROUND_OFF

MAX_GUESSES = 200
"""Largest number of guesses of the rows that slip."""
OVER = 1e-9
"""A row holds with a multiplier up to this fraction above its bound, or up to the tolerance of the solver."""


def project_within_bounds(solver: Any, w: Array, K: Rows, M: Metric, guess: Array | None) -> Projection:
    """The projection of w on rows with bounds.

    First all rows hold. Rows that need more than their bound then slip, and rows that slip to the wrong side hold, all
    together; if that does not get on, one row changes at a time (Murty 1974).

    >>> from jostle.convex.linear_map import Dense
    >>> from jostle.convex.metric import metric
    >>> from jostle.solvers.automatic import Automatic
    >>> one, none = np.ones(1), np.zeros(1)
    >>> K = Rows(Dense(np.array([[1.0]])), -3.0 * one, none, none, np.array([True]), bound=2.0 * one)     # u = 3
    >>> M = metric(1.0, (1,))
    >>> [project_within_bounds(Automatic(), np.array([u]), K, M, None).point.tolist() for u in (0.0, 2.0)]
    [[2.0], [3.0]]
    """
    assert K.bound is not None
    bound, used = K.bound, 0
    limited = np.isfinite(bound)
    most = np.where(limited, bound, np.inf) * (1.0 + max(OVER, solver.tol))

    def attempt(side: Array, of_slipping: bool = True) -> tuple[Projection | None, Array]:
        nonlocal used
        slips = side != 0.0
        held, p = np.flatnonzero(~slips), np.zeros(len(bound))
        if of_slipping:
            p[slips] = side[slips] * bound[slips]
        free = w + M.solve(K.G.adjoint(p)).reshape(w.shape)
        rows = replace(K.only(held), bound=None)
        try:
            P = solver.project(free, rows, M, None if guess is None else guess[held])
        except EmptySet:
            if slips[limited].all():
                raise
            return None, p
        used += P.iterations
        p[held] = P.multipliers
        return (P if P.converged or slips[limited].all() else None), p

    side, tried, single = np.zeros(len(bound)), set(), False
    P, p = attempt(side)
    if P is None:  # such as a motor that is blocked
        P, p = attempt(np.where(limited, 1.0, 0.0), of_slipping=False)
        assert P is not None
        side = np.where(limited, np.where(K.slack(P.point) > 0.0, -1.0, 1.0), 0.0)
        P, p = attempt(side)
    for _ in range(MAX_GUESSES):
        assert P is not None
        slack, sizes = K.slack(P.point), np.abs(P.point.ravel()) + np.abs(w.ravel())
        noise = K.noise + ROUND_OFF * (np.abs(K.c) + K.G.magnitude(sizes))
        wanted = np.where(side * slack > noise, 0.0, side)
        wanted = np.where((side == 0.0) & (np.abs(p) > most), np.sign(p), wanted)
        changed = np.flatnonzero(wanted != side)
        if len(changed) == 0:
            return replace(P, multipliers=p, iterations=used)
        single = single or wanted.tobytes() in tried
        if single:
            wanted = side.copy()
            row = changed[0]
            wanted[row] = np.sign(p[row]) if side[row] == 0.0 else 0.0
        tried.add(wanted.tobytes())
        found = attempt(wanted)
        if found[0] is None and single:  # it cannot hold at all
            wanted[row] = -side[row]
            found = attempt(wanted)
        if found[0] is None:
            if single:
                break
            single = True
            continue
        side, (P, p) = wanted, found
    assert P is not None
    remark = "which of the rows with bounds slip was not found"
    return replace(P, multipliers=p, iterations=used, converged=False, remark=remark)
