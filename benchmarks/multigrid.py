"""The multigrid of the isotropic law beside pyamg: ``python benchmarks/multigrid.py [--quick]``.

Two blocks collide on n x n cells. Linear: one system A p = b on all saturated cells, to a residual of 1e-10 |b|.
Obstacle: p >= 0, A p >= b, p (A p - b) = 0, by primal-dual active sets from the same start to the same residual; in
each step pyamg sets up a hierarchy for the jammed cells (classical Ruge-Stüben, or smoothed aggregation) and conjugate
gradients solve with it. Our kernel does all of it in one call. Set-up is counted, as each step has another matrix.
pyamg has no wheels for Linux on ARM: there it is built from source.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pyamg
from scipy.sparse import csr_array

from jostle import macro
from jostle.macro.obstacle import FivePoint, nested, obstacle
from macro import blocks

TOL, LOOSE = 1e-10, 1e-3
"""Residual of the last linear system over |b|, and of those in which cells still change sides, as in our kernel."""
MAX_STEPS = 200
SOLVERS = {"Ruge-Stüben": pyamg.ruge_stuben_solver, "aggregation": pyamg.smoothed_aggregation_solver}


def sparse(A: FivePoint) -> Any:
    """The matrix on all cells of the grid, row by row."""
    nx, ny = A.extra.shape
    number = np.arange(nx * ny).reshape(nx, ny)
    i = np.concatenate([number[:-1].ravel(), number[:, :-1].ravel()])
    j = np.concatenate([number[1:].ravel(), number[:, 1:].ravel()])
    weight = np.concatenate([A.east[:-1].ravel(), A.north[:, :-1].ravel()])
    rows, columns = np.concatenate([i, j, number.ravel()]), np.concatenate([j, i, number.ravel()])
    entries = np.concatenate([-weight, -weight, A.diagonal.ravel()])
    return csr_array((entries, (rows, columns)), shape=(nx * ny, nx * ny))


def linear(make: Callable[..., Any], A: Any, b: np.ndarray, start: np.ndarray, tol: float) -> np.ndarray:
    hierarchy = make(A)
    return np.asarray(hierarchy.solve(b, x0=start, tol=tol, accel="cg", maxiter=200))


def by_pyamg(make: Callable[..., Any], A: Any, b: np.ndarray, start: np.ndarray) -> tuple[np.ndarray, int]:
    """Primal-dual active sets, as in `jostle.macro.compiled.obstacle`."""
    there = A.diagonal() > 0.0
    jammed, p, tol = (start > 0.0) & there, np.where(start > 0.0, start, 0.0), LOOSE
    for step in range(1, MAX_STEPS + 1):
        rows = np.flatnonzero(jammed)
        x = linear(make, A[rows][:, rows], b[rows], p[rows], tol)
        p = np.zeros_like(p)
        p[rows] = x
        rate = A @ p - b
        small = 1e-10 * np.abs(p).max()
        following = np.where(jammed, p >= -small, rate < -1e-10 * np.abs(b).max()) & there
        if (following == jammed).all():
            if tol <= TOL:
                return np.maximum(p, 0.0), step
            tol = TOL
        p[~following] = 0.0
        jammed = following
    raise RuntimeError(f"no answer after {MAX_STEPS} steps")


def timed(call: Callable[[], Any], repeat: int) -> tuple[float, Any]:
    best = np.inf
    for _ in range(repeat):
        begin = time.perf_counter()
        answer = call()
        best = min(best, time.perf_counter() - begin)
    return best, answer


def compared(n: int, repeat: int) -> list[dict[str, Any]]:
    grid, zone, U = blocks(n)
    law = macro.Isotropic(grid, zone)
    five, field = law.matrix, np.zeros(grid.shape)
    field[law.saturated] = -(law.cone.G @ law.sample(U))
    A, there = sparse(five), five.diagonal.ravel() > 0.0
    rows = np.flatnonzero(there)
    inner, squeeze = A[rows][:, rows], np.where(five.diagonal > 0.0, 1.0, 0.0)
    found = []
    ours, (p, _) = timed(lambda: obstacle(five, squeeze, tol=TOL), repeat)
    b, zero = squeeze.ravel()[rows], np.zeros(len(rows))
    line = {"case": "linear", "n": n, "cells": len(rows), "jostle s": ours}
    for name, make in SOLVERS.items():
        seconds, x = timed(lambda make=make: linear(make, inner, b, zero, TOL), repeat)  # type: ignore[misc]
        line |= {f"{name} s": seconds, f"{name} ratio": seconds / ours}
        line[f"{name} difference"] = float(np.abs(x - p.ravel()[rows]).max() / p.max())
    found.append(line)
    start = nested(five, field)
    ours, (p, steps) = timed(lambda: obstacle(five, field, start, tol=TOL), repeat)
    line = {"case": "obstacle", "n": n, "cells": len(rows), "jostle s": ours, "steps": steps}
    for name, make in SOLVERS.items():
        seconds, (x, _) = timed(lambda make=make: by_pyamg(make, A, field.ravel(), start.ravel()), repeat)  # type: ignore[misc]
        line |= {f"{name} s": seconds, f"{name} ratio": seconds / ours}
        line[f"{name} difference"] = float(np.abs(x - p.ravel()).max() / p.max())
    found.append(line)
    return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small grids")
    sizes, repeat = ((64, 128), 1) if parser.parse_args().quick else ((64, 256, 1024), 3)
    compared(32, 1)
    lines = [line for n in sizes for line in compared(n, repeat)]
    print(
        f"{'case':10s}{'n':>6s}{'cells':>9s}{'jostle s':>10s}"
        + "".join(f"{name:>13s} s   ratio   diff" for name in SOLVERS)
    )
    for line in lines:
        peers = "".join(
            f"{line[f'{name} s']:15.3f}{line[f'{name} ratio']:8.1f}{line[f'{name} difference']:7.0e}"
            for name in SOLVERS
        )
        print(f"{line['case']:10s}{line['n']:6d}{line['cells']:9d}{line['jostle s']:10.4f}{peers}")
    print(json.dumps({"multigrid": lines}))
