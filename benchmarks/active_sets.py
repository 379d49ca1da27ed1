"""`ActiveSet` beside daqp: ``python benchmarks/active_sets.py [--quick]``.

Small projections min 1/2 |u - w|_M^2, c + G u >= 0, from random clusters of discs and from racks with twice as many
contacts as they need. Both solvers get the same arrays. Times: `ActiveSet.project` as a user calls it; our kernel
alone, from G, c, w and M; daqp from the same, with the scaling in NumPy that it needs; and daqp alone, on scaled
arrays. Then racks whose masses differ by orders of magnitude, none of which is empty: how many each solver calls empty.
Then sets that are empty: how many each solver calls so, with how many correct proofs.
"""

from __future__ import annotations

import argparse
import json
from typing import Any

import daqp
import numpy as np
from small import best_of, contacts

import jostle as jo
from jostle import kernels
from jostle.convex.metric import Metric, metric
from jostle.convex.residuals import residual
from jostle.errors import EmptySet
from jostle.kernels.reference.dense import ROUND_OFF

TIGHTER = {"primal_tol": 1e-9}
"""Settings of daqp beside its defaults, of which primal_tol is 1e-6."""


def rack(side: int, spread: float = 0.0, seed: int = 0) -> tuple[np.ndarray, jo.convex.Polyhedron, np.ndarray]:
    """A square rack of discs that touch, in a box; masses from 10^-spread to 10^spread."""
    random = np.random.default_rng([side, seed])
    x, y = (axis.ravel() for axis in np.meshgrid(np.arange(side), np.arange(side), indexing="ij"))
    q = np.stack([x, y], axis=1).astype(float)
    within = jo.Balls(np.full(len(q), 0.5)) & jo.Box([-0.5, -0.5], [side - 0.5, side - 0.5], radii=0.5)
    K = within.linearise(0.0, q, 1e-6).velocities(0.01)
    K = jo.convex.Polyhedron(K.G.toarray(), K.c, length=1.0)
    return random.normal(size=q.shape) - [0.0, 1.0], K, 10.0 ** random.uniform(-spread, spread, len(q))


def by_kernel(w: np.ndarray, K: jo.convex.Polyhedron, M: Metric) -> tuple[np.ndarray, np.ndarray]:
    """What `ActiveSet` calls."""
    u, p, _, _ = kernels.project_dense(
        K.G.toarray(), K.c, w.ravel(), M.root, ROUND_OFF, K.noise, 1e-10 * K.length, 10_000
    )
    return u, p


def scaled(w: np.ndarray, K: jo.convex.Polyhedron, M: Metric) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A, s and the lengths of rows: the projection is that of 0 on {s + A x >= 0}, for M^(1/2) (u - w) = x."""
    G = K.G.toarray()
    A = M.whiten(G)
    unit = np.sqrt(np.einsum("ij,ij->i", A, A))
    return A / unit[:, None], (K.c + G @ w.ravel()) / unit, unit


def solved(A: np.ndarray, s: np.ndarray, **settings: float) -> Any:
    n = A.shape[1]
    return daqp.solve(np.eye(n), np.zeros(n), -A, s, np.full(len(s), -1e30), **settings)


def by_daqp(w: np.ndarray, K: jo.convex.Polyhedron, M: Metric, **settings: float) -> tuple[np.ndarray, np.ndarray, int]:
    A, s, unit = scaled(w, K, M)
    x, _, flag, info = solved(A, s, **settings)
    return w.ravel() + M.unwhiten(x), np.maximum(info["lam"], 0.0) / unit, flag


def compared(name: str, w: np.ndarray, K: jo.convex.Polyhedron, mass: np.ndarray, seconds: float) -> dict[str, Any]:
    M = metric(mass, w.shape)
    u, p = by_kernel(w, K, M)
    v, lam, flag = by_daqp(w, K, M)
    ours, theirs = (residual(w.ravel(), K, M, point, dual) for point, dual in ((u, p), (v, lam)))
    A, s, _ = scaled(w, K, M)
    return {
        "case": name, "rows": len(K.c), "active": int((p > 0.0).sum()),
        "solver us": 1e6 * best_of(lambda: jo.ActiveSet().project(w, K, M), seconds),
        "kernel us": 1e6 * best_of(lambda: by_kernel(w, K, M), seconds),
        "daqp us": 1e6 * best_of(lambda: by_daqp(w, K, M), seconds),
        "daqp alone us": 1e6 * best_of(lambda: solved(A, s), seconds),
        "flag": flag, "difference of u": float(np.abs(u - v).max() / np.abs(u - w.ravel()).max()),
        "kernel residual": ours.worst, "daqp residual": theirs.worst,
    }  # fmt: skip


def called_empty(spread: float, count: int) -> dict[str, float]:
    """Of some racks with masses from 10^-spread to 10^spread: how many are called empty."""
    found = {"mass ratio": 10.0 ** (2 * spread), "racks": count, "ActiveSet": 0, "daqp": 0, "daqp, tol 1e-9": 0}
    for seed in range(count):
        w, K, mass = rack(2 + seed % 6, spread, seed)
        M = metric(mass, w.shape)
        found["ActiveSet"] += not jo.ActiveSet().project(w, K, M).converged
        found["daqp"] += by_daqp(w, K, M)[2] != 1
        found["daqp, tol 1e-9"] += by_daqp(w, K, M, **TIGHTER)[2] != 1
    return found


def empty_sets(count: int) -> dict[str, int]:
    """How many of some empty sets each solver calls empty, and how many proofs y >= 0, G^T y = 0, c.y < 0 are right."""
    found = {"sets": count, "ActiveSet": 0, "ActiveSet proofs": 0, "daqp": 0, "daqp proofs": 0}
    for seed in range(count):
        random = np.random.default_rng(seed)
        n, m = 6, 9
        G = random.normal(size=(m, n))
        weights = random.uniform(0.1, 1.0, m - 1)
        G = np.vstack([G[:-1], -(weights @ G[:-1])])
        c = random.normal(size=m)
        c[-1] = -(weights @ c[:-1]) - 10.0 ** random.uniform(-8, 0)
        K, w = jo.convex.Polyhedron(G, c, length=1.0), random.normal(size=n)
        try:
            jo.ActiveSet().project(w, K)
        except EmptySet as error:
            found["ActiveSet"] += 1
            found["ActiveSet proofs"] += proves(G, c, error.weights)
        _, y, flag = by_daqp(w, K, metric(1.0, w.shape))
        found["daqp"] += flag == -1
        found["daqp proofs"] += flag == -1 and proves(G, c, y)
    return found


def proves(G: np.ndarray, c: np.ndarray, y: np.ndarray | None) -> bool:
    if y is None or not (y >= 0.0).all() or not y.any():
        return False
    return bool(np.abs(G.T @ y).max() <= 1e-9 * (np.abs(G).T @ y).max() and c @ y < 0.0)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="shorter measurements")
    quick = parser.parse_args().quick
    seconds = 0.3 if quick else 2.0
    cases = {f"cluster of {rows}": contacts(rows) for rows in (3, 10, 30, 100, 128)}
    cases |= {f"rack {side} x {side}": rack(side) for side in (2, 4, 7)}
    rows = [compared(name, *case, seconds) for name, case in cases.items()]
    names = (
        "solver us",
        "kernel us",
        "daqp us",
        "daqp alone us",
        "daqp/kernel",
        "alone/kernel",
        "diff of u",
        "residuals",
    )
    print(f"{'case':16s}{'rows':>5s}{'active':>7s}" + "".join(f"{name:>{len(name) + 2}s}" for name in names))
    for row in rows:
        print(f"{row['case']:16s}{row['rows']:5d}{row['active']:7d}{row['solver us']:11.1f}{row['kernel us']:11.1f}"
              f"{row['daqp us']:9.1f}{row['daqp alone us']:15.1f}{row['daqp us'] / row['kernel us']:13.2f}"
              f"{row['daqp alone us'] / row['kernel us']:14.2f}{row['difference of u']:11.0e}"
              f"{row['kernel residual']:6.0e}{row['daqp residual']:6.0e}")  # fmt: skip
    wrong = [called_empty(spread, 36 if quick else 120) for spread in (0.0, 2.0, 3.0, 4.0, 6.0)]
    for line in wrong:
        print(f"racks called empty: {line}")
    empty = empty_sets(200 if quick else 1000)
    print(f"empty sets: {empty}")
    print(json.dumps({"projections": rows, "called empty": wrong, "empty": empty}))
