"""The macroscopic laws: ``python benchmarks/macro.py [--quick]``.

Two blocks that collide with a field that also expands somewhere, so that the contact set has to be found:
the isotropic law at 64^2 to 1024^2 cells (microseconds a saturated cell), and beside generic QP solvers on the same
obstacle problem min 1/2 p.Ap - b.p, p >= 0 to the same residual; its orders with a known contact set, and on a curved
boundary; the square law at 2048^2; the triangular law on two blocks; the table of homogenisation.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable
from typing import Any

import curved
import numpy as np

import jostle as jo
from jostle import macro
from jostle.convex.metric import metric
from jostle.convex.residuals import residual


def blocks(n: int) -> tuple[macro.Grid, Any, macro.Velocity]:
    """Two blocks on n x n cells that meet, with waves on them."""
    grid = macro.Grid([-1, -1], [1, 1], h=2 / n)
    left, right = grid.block([-0.9, -0.7], [0, 0.6]), grid.block([0, -0.5], [0.9, 0.8])
    x, y = grid.centres
    U = grid.velocity(left - right + 0.5 * np.sin(9 * x + 4 * y), 0.5 * np.cos(7 * y - 3 * x))
    return grid, left | right, U


def timed(call: Callable[[], Any], repeat: int = 1) -> tuple[float, Any]:
    best = np.inf
    for _ in range(repeat):
        begin = time.perf_counter()
        answer = call()
        best = min(best, time.perf_counter() - begin)
    return best, answer


def isotropic(n: int, repeat: int) -> dict[str, Any]:
    grid, zone, U = blocks(n)
    seconds, after = timed(lambda: macro.Isotropic(grid, zone).impact(U), repeat)
    cells = int(zone.sum())
    return {
        "n": n, "cells": cells, "s": seconds, "us_a_cell": 1e6 * seconds / cells, "iterations": after.iterations,
        "jammed": float((after.pressure[zone] > 0).mean()), "residual": after.residual.worst,
    }  # fmt: skip


def by_piqp(A: Any, b: np.ndarray, eps: float) -> np.ndarray:
    import piqp

    solver = piqp.SparseSolver()
    solver.settings.eps_abs = solver.settings.eps_duality_gap_abs = eps
    solver.settings.eps_rel = solver.settings.eps_duality_gap_rel = 0.0
    solver.setup(A, -b, x_l=np.zeros(len(b)))
    solver.solve()
    return np.array(solver.result.x)


def by_clarabel(A: Any, b: np.ndarray, eps: float) -> np.ndarray:
    import clarabel
    from scipy.sparse import csc_matrix, eye_array, triu

    settings = clarabel.DefaultSettings()
    settings.verbose, settings.tol_feas, settings.tol_gap_abs, settings.tol_gap_rel = False, eps, eps, 0.0
    cones, minus = [clarabel.NonnegativeConeT(len(b))], csc_matrix(-eye_array(len(b)))
    solver = clarabel.DefaultSolver(csc_matrix(triu(A)), -b, minus, np.zeros(len(b)), cones, settings)
    return np.array(solver.solve().x)


def by_osqp(A: Any, b: np.ndarray, eps: float) -> np.ndarray:
    import osqp
    from scipy.sparse import csc_matrix, eye_array, triu

    solver = osqp.OSQP()
    solver.setup(
        csc_matrix(triu(A)), -b, csc_matrix(eye_array(len(b))), np.zeros(len(b)), np.full(len(b), np.inf),
        eps_abs=eps, eps_rel=0.0, max_iter=20_000, time_limit=60.0, verbose=False,
    )  # fmt: skip
    return np.array(solver.solve(raise_error=False).x)


PEERS = {"piqp": by_piqp, "clarabel": by_clarabel, "osqp": by_osqp}


def peers(n: int, tol: float) -> dict[str, Any]:
    """Seconds over ours to one residual, each peer at the loosest tolerance that reaches it."""
    from scipy.sparse import csc_matrix, diags_array

    grid, zone, U = blocks(n)
    seconds, after = timed(lambda: macro.Isotropic(grid, zone, tol=tol).impact(U), 5)
    law = macro.Isotropic(grid, zone)
    w, M = law.sample(U), metric(law.mass, law.mass.shape)
    G = law.cone.G.tocsr()
    A, b = csc_matrix(G @ diags_array(M.inverse_diagonal) @ G.T), -law.cone.slack(w)
    scale = np.abs(b).max()
    rows: dict[str, Any] = {"n": n, "tol": tol, "ours_s": seconds, "ours_residual": after.residual.worst}
    for name, solve in PEERS.items():
        for eps in (1e-4, 1e-6, 1e-8):
            try:
                spent, p = timed(lambda solve=solve, eps=eps: scale * solve(A, b / scale, eps), 2)
            except ImportError:
                break
            p = np.maximum(p, 0.0)
            found = residual(w, law.cone, M, w + M.solve(law.cone.G.adjoint(p)), p)
            rows[name] = {"ratio": spent / seconds, "residual": found.worst, "reached": found.within(tol), "eps": eps}
            if found.within(tol) or spent > 60.0:
                break
    return rows


def contact_set(sizes: tuple[int, ...]) -> dict[str, Any]:
    """Errors in L2 where p = (a^2 - r^2)_+^2 is known, and the least-squares orders of p and u."""
    a, errors = 0.6, []
    for n in sizes:
        grid = macro.Grid([-1, -1], [1, 1], h=2 / n)
        U = grid.velocity(lambda x, y: 4 * (x**2 + y**2 - a**2) * x - y, lambda x, y: 4 * (x**2 + y**2 - a**2) * y + x)
        after = macro.Isotropic(grid, np.ones(grid.shape)).impact(U)
        (x, y), (X, Y) = grid.centres, grid.places(0.0, 0.5)
        u = np.where(np.hypot(X, Y) < a, -Y, 4 * (X**2 + Y**2 - a**2) * X - Y)
        p = np.maximum(a**2 - x**2 - y**2, 0.0) ** 2
        errors.append([grid.h * np.linalg.norm(after.pressure - p), grid.h * np.linalg.norm(after.u.x - u)])
    orders = -np.polyfit(np.log(sizes), np.log(errors), 1)[0]
    return {"n": sizes, "errors": np.array(errors).tolist(), "order_p": float(orders[0]), "order_u": float(orders[1])}


def square(n: int) -> dict[str, Any]:
    """Set-up, with all matrices, and the impact."""
    grid, zone, U = blocks(n)
    best: tuple[float, float, Any] = (np.inf, np.inf, None)
    for _ in range(2):
        law = macro.Square(grid, zone)
        setup, _ = timed(lambda law=law: (law.cone, law.lattice.runs))
        seconds, after = timed(lambda law=law: law.impact(U))
        best = min(best, (seconds, setup, after.residual.worst))
    return {"n": n, "cells": int(zone.sum()), "s": best[0], "setup_s": best[1], "residual": best[2]}


def triangular(n: int, tol: float) -> dict[str, Any]:
    grid = macro.Grid([0, 0], [2, 1], h=2 / n)
    left, right = grid.block([0.2, 0.2], [1.0, 0.8]), grid.block([1.0, 0.3], [1.8, 0.7])
    law = macro.Triangular(grid, left | right, tol=tol)
    _ = law.cone
    seconds, after = timed(lambda: law.impact(grid.velocity(left - right, 0)))
    P = after.hit.projection
    return {
        "grains": len(law.lattice), "tol": tol, "s": seconds, "iterations": P.iterations, "solver": P.solver,
        "residual": P.residual.worst,
    }  # fmt: skip


def homogenisation(sizes: tuple[int, ...], sizes_disc: tuple[int, ...]) -> list[dict[str, Any]]:
    def u(x: np.ndarray) -> np.ndarray:  # of cos 2 pi x on [0, 1]: a plateau up to tan z = z, z = 2 pi x
        return np.where(x < 4.49340945791 / (2 * np.pi), -0.217233628211, np.cos(2 * np.pi * x))

    on_square = macro.homogenise(
        lambda x, y: (u(x), u(y)),
        lambda n: macro.square_lattice(1 / n, box=([0, 0], [1, 1])),
        lambda x, y: (np.cos(2 * np.pi * x), np.cos(2 * np.pi * y)),
        sizes,
    )

    def disc(n: int) -> macro.Lattice:
        return macro.triangular_lattice(1 / n, box=([-1.2, -1.2], [1.2, 1.2]), zone=lambda x, y: x**2 + y**2 < 1.0001)

    on_disc = macro.homogenise(lambda x, y: (0.3 * x, -0.1 * y), disc, lambda x, y: (0.0, -y), sizes_disc)
    return [
        {"lattice": name, "grains": table.grains, "error": table.error.tolist(), "order": table.order.round(3).tolist()}
        for name, table in (("square", on_square), ("triangular", on_disc))
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="smaller sizes, less than a minute")
    quick = parser.parse_args().quick
    result: dict[str, Any] = {"benchmark": "macro", "version": jo.__version__, "load_before": os.getloadavg()[0]}
    print(f"load of the machine before: {result['load_before']:.1f} on {os.cpu_count()} cores", flush=True)
    isotropic(32, 1), square(32), triangular(40, 1e-6)  # compiles and imports
    result["isotropic"] = [
        isotropic(n, 5 if n <= 256 else 2) for n in ((64, 128, 256, 512) if quick else (64, 128, 256, 512, 1024))
    ]
    for row in result["isotropic"]:
        print(
            f"isotropic {row['n']:5}^2  {row['cells']:8} cells  {row['s']:8.3f} s  {row['us_a_cell']:6.2f} us a cell  "
            f"{row['iterations']} iterations  {row['jammed']:.0%} jammed  residual {row['residual']:.0e}", flush=True
        )  # fmt: skip
    result["peers"] = peers(128 if quick else 256, 1e-6)
    for name in PEERS:
        if name in result["peers"]:
            print(f"{name:9} {result['peers'][name]}", flush=True)
    print({key: value for key, value in result["peers"].items() if key not in PEERS}, flush=True)
    result["contact_set"] = contact_set((64, 128, 256) if quick else (64, 128, 256, 512, 1024))
    print(result["contact_set"], flush=True)
    result["curved"] = curved.table(quick)
    curved.shown(result["curved"])
    result["square"] = square(512 if quick else 2048)
    print(result["square"], flush=True)
    result["triangular"] = [triangular(n, 1e-6) for n in ((160,) if quick else (160, 320, 660))]
    for row in result["triangular"]:
        print(row, flush=True)
    result["homogenisation"] = homogenisation(
        *(((10, 20, 40), (4, 9, 18)) if quick else ((32, 64, 128, 256), (9, 18, 36, 72)))
    )
    for row in result["homogenisation"]:
        print(row, flush=True)
    result["load_after"] = os.getloadavg()[0]
    print(f"load of the machine after: {result['load_after']:.1f}")
    print(json.dumps(result))


if __name__ == "__main__":
    main()
