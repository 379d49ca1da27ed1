"""One projection, to the same residual, by us and by the peers: ``benchmarks/projections.py [--quick] [--plane]``.

Settled piles in 2-D and 3-D and a crowd at a door (see instances.py), to residuals 1e-4, 1e-6 and 1e-8, cold. The peers
(piqp, clarabel, osqp, scs) get the problem in its best form, rows and masses scaled to one; their own tolerance is
tightened by tens until the residual, which `jostle` computes from their multipliers, is reached, and the time of that
last run counts, set-up included. What takes longer than the limit is left out.

Then the methods against the growth of iterations with depth: the same residuals by the accelerated
Gauss-Seidel sweep (`GaussSeidel`) and by second order (`InteriorPoint`).
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from instances import instance

import jostle as jo
from jostle.convex.metric import metric
from jostle.convex.residuals import residual

LOOSER = (1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10, 1e-11)
"""Tolerances that the peers are given, until the residual is reached; each second one beyond 1000 bodies."""


class Problem:
    """A projection, and the same with unit rows: min 1/2 |x|^2, s0 + A x >= 0."""

    def __init__(self, kind: str, n: int):
        from scipy.sparse import csc_matrix, diags_array

        self.w, self.K, self.mass = instance(kind, n)
        self.M = metric(self.mass, self.w.shape)
        self.unit = self.K.G.norms(self.M)
        self.A = csc_matrix(diags_array(1.0 / self.unit) @ self.K.G.tocsr() @ diags_array(self.M.root))
        self.s0 = self.K.slack(self.w) / self.unit
        self.scale = -self.s0.min()

    def residual_of(self, z: np.ndarray) -> float:
        """The residual of the multipliers of the scaled problem."""
        p = np.maximum(z, 0.0) * self.scale / self.unit
        w = self.w.ravel()
        return residual(w, self.K, self.M, w + self.M.solve(self.K.G.adjoint(p)), p).worst


def piqp(A: Any, s0: np.ndarray, eps: float, limit: float) -> np.ndarray:
    import piqp as solver_of
    from scipy.sparse import csc_matrix, eye_array

    solver = solver_of.SparseSolver()
    solver.settings.eps_abs = solver.settings.eps_duality_gap_abs = eps
    solver.settings.eps_rel = solver.settings.eps_duality_gap_rel = 0.0
    n = A.shape[1]
    solver.setup(csc_matrix(eye_array(n)), np.zeros(n), G=A, h_l=-s0)
    solver.solve()
    return np.asarray(solver.result.z_l)


def clarabel(A: Any, s0: np.ndarray, eps: float, limit: float) -> np.ndarray:
    import clarabel as solver_of
    from scipy.sparse import csc_matrix, eye_array

    settings = solver_of.DefaultSettings()
    settings.verbose, settings.time_limit = False, limit
    settings.tol_feas = settings.tol_gap_abs = eps
    settings.tol_gap_rel = 0.0
    n = A.shape[1]
    cones = [solver_of.NonnegativeConeT(len(s0))]
    return np.array(solver_of.DefaultSolver(csc_matrix(eye_array(n)), np.zeros(n), -A, s0, cones, settings).solve().z)


def osqp(A: Any, s0: np.ndarray, eps: float, limit: float) -> np.ndarray:
    import osqp as solver_of
    from scipy.sparse import csc_matrix, eye_array

    n, solver = A.shape[1], solver_of.OSQP()
    solver.setup(
        csc_matrix(eye_array(n)), np.zeros(n), A, -s0, np.full(len(s0), np.inf), eps_abs=eps, eps_rel=0.0,
        max_iter=1_000_000, time_limit=limit, verbose=False,
    )  # fmt: skip
    return -np.array(solver.solve(raise_error=False).y)


def scs(A: Any, s0: np.ndarray, eps: float, limit: float) -> np.ndarray:
    import scs as solver_of
    from scipy.sparse import csc_matrix, eye_array

    data = {"P": csc_matrix(eye_array(A.shape[1])), "A": -A, "b": s0, "c": np.zeros(A.shape[1])}
    solver = solver_of.SCS(
        data, {"l": len(s0)}, eps_abs=eps, eps_rel=0.0, max_iters=1_000_000, time_limit_secs=limit, verbose=False
    )
    return np.array(solver.solve()["y"])


PEERS: dict[str, Callable[[Any, np.ndarray, float, float], np.ndarray]] = {
    "piqp": piqp, "clarabel": clarabel, "osqp": osqp, "scs": scs,
}  # fmt: skip


def peer_times(
    problem: Problem, peer: Callable[..., np.ndarray], tols: list[float], limit: float
) -> dict[float, float]:
    """Seconds to each residual; what the limit does not allow is left out."""
    times: dict[float, float] = {}
    wanted = list(tols)
    for eps in LOOSER if len(problem.w) < 2000 else LOOSER[1::2]:
        begin = time.perf_counter()
        z = peer(problem.A, problem.s0 / problem.scale, eps, limit)
        seconds = time.perf_counter() - begin
        found = problem.residual_of(z) if np.isfinite(z).all() else np.inf
        while wanted and found <= wanted[0]:
            times[wanted.pop(0)] = seconds
        if not wanted or seconds > limit:
            break
    return times


def ours(problem: Problem, tol: float, repeat: int) -> dict[str, Any]:
    solver = jo.Automatic(tol=tol)
    best = np.inf
    for _ in range(repeat):
        begin = time.perf_counter()
        P = solver.project(problem.w, problem.K, problem.M)
        best = min(best, time.perf_counter() - begin)
    return {"s": best, "solver": P.solver, "iterations": P.iterations, "residual": P.residual.worst}


def depth(problem: Problem, tols: list[float], most: int) -> list[dict[str, Any]]:
    rows = []
    for tol in tols:
        row: dict[str, Any] = {"tol": tol}
        for solver in (jo.GaussSeidel(tol=tol, max_iterations=most), jo.InteriorPoint(tol=tol)):
            begin = time.perf_counter()
            P = solver.project(problem.w, problem.K, problem.M)
            row[solver.name] = P.iterations if P.converged else -1
            row[f"{solver.name}_s"] = time.perf_counter() - begin
        rows.append(row)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="1000 bodies only")
    parser.add_argument("--plane", action="store_true", help="discs only")
    parser.add_argument("--limit", type=float, default=60.0, help="seconds for one run of a peer")
    arguments = parser.parse_args()
    sizes = [1000] if arguments.quick else [1000, 10_000, 100_000]
    limit = 1.0 if arguments.quick else arguments.limit
    tols, cases, deep = [1e-4, 1e-6, 1e-8], [], []
    print(f"{'case':10s}{'N':>8s}{'rows':>8s}{'tol':>7s}{'ours s':>9s} {'by':14s}{'its':>7s}{'residual':>10s}"
          + "".join(f"{name:>11s}" for name in PEERS) + "   best peer / ours")  # fmt: skip
    for kind in ("pile 2-D", "crowd") if arguments.plane else ("pile 2-D", "pile 3-D", "crowd"):
        for n in sizes:
            if kind == "crowd" and n > 10_000:
                continue
            problem = Problem(kind, n)
            ours(problem, 1e-2, 1)
            times = {}
            for name, peer in PEERS.items():
                hopeless = (n > 10_000 and (name != "piqp" or kind == "pile 3-D")) or (
                    n > 1000 and (name == "osqp" or (name == "scs" and kind != "pile 3-D"))
                )
                times[name] = {} if hopeless else peer_times(problem, peer, tols, limit)
            for tol in tols:
                mine = ours(problem, tol, 3 if n <= 10_000 else 1)
                found = {name: times[name][tol] for name in PEERS if tol in times[name]}
                ratio = min(found.values()) / mine["s"] if found else np.nan
                cases.append({"case": kind, "N": n, "rows": len(problem.s0), "tol": tol, **mine, "peers": found})
                print(
                    f"{kind:10s}{n:8d}{len(problem.s0):8d}{tol:7.0e}{mine['s']:9.3f} {mine['solver']:14s}"
                    f"{mine['iterations']:7d}{mine['residual']:10.0e}"
                    + "".join(f"{found[name]:11.3f}" if name in found else f"{'-':>11s}" for name in PEERS)
                    + f"{ratio:10.1f}",
                    flush=True,
                )
            if kind != "crowd" and n <= 10_000:
                deep += [{"case": kind, "N": n, **row} for row in depth(problem, [1e-3, *tols[:2]], 100_000)]
    print("\niterations against depth (-1: not in 100 000)")
    print(f"{'case':10s}{'N':>8s}{'tol':>7s}{'Gauss-Seidel':>14s}{'s':>8s}{'second order':>14s}{'s':>8s}")
    for row in deep:
        print(
            f"{row['case']:10s}{row['N']:8d}{row['tol']:7.0e}{row['GaussSeidel']:14d}"
            f"{row['GaussSeidel_s']:8.2f}{row['InteriorPoint']:14d}{row['InteriorPoint_s']:8.2f}"
        )
    print(json.dumps({"projections": cases, "depth": deep}))


if __name__ == "__main__":
    main()
