"""Curved boundaries: cut faces, a staircase of cells, and a fitted mesh: ``python benchmarks/curved.py``.

The isotropic law on a disc of radius R with p = (R^2 - r^2) exp(x) and u = W, div W = 0, known in closed form: U is
grad p + W. Errors of p and u in L2 (on grids at the points where they sit), their orders, and seconds. The fitted mesh
has triangles with p linear and u constant on each (P1-P0, scikit-fem, a direct solver), and is left out where
scikit-fem is not installed. Then the same disc as a vessel, with a round wall.
"""

from __future__ import annotations

import json
import time
from typing import Any

import numpy as np

from jostle import macro

R = 0.9


def W(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return x * np.exp(y), -np.exp(y)


def pressure(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return (R**2 - x**2 - y**2) * np.exp(x)


def U(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    wx, wy = W(x, y)
    return wx + (R**2 - x**2 - y**2 - 2.0 * x) * np.exp(x), wy - 2.0 * y * np.exp(x)


def on_a_grid(n: int, curved: bool) -> tuple[int, float, float, float]:
    """(unknown pressures, error of p, error of u, seconds)."""
    grid = macro.Grid([-1, -1], [1, 1], h=2 / n)
    begin = time.perf_counter()
    law = macro.Isotropic(grid, macro.Disc([0, 0], R) if curved else grid.disc([0, 0], R))
    after = law.impact(grid.velocity(lambda x, y: U(x, y)[0], lambda x, y: U(x, y)[1]))
    seconds = time.perf_counter() - begin
    x, y = (c[law.saturated] for c in grid.centres)
    wrong_p = grid.h * float(np.linalg.norm(after.pressure[law.saturated] - pressure(x, y)))
    exact = np.where(np.arange(len(law.mass)) < law.faces[0].count, *W(*law.places.T))
    return len(x), wrong_p, float(np.sqrt(law.mass @ (after.hit.velocity - exact) ** 2)), seconds


def in_a_vessel(n: int, curved: bool) -> tuple[int, float, float, float]:
    """The same for a round wall: u runs along circles, p is any function, known up to a constant."""
    grid = macro.Grid([-1, -1], [1, 1], h=2 / n)
    inside = grid.disc([0, 0], R)

    def u(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return -y * np.cos(3.0 * (x**2 + y**2)), x * np.cos(3.0 * (x**2 + y**2))

    U = grid.velocity(
        lambda x, y: u(x, y)[0] + 2.0 * np.cos(2.0 * x + 0.3) * np.cos(y) + 2.0 * x * y,
        lambda x, y: u(x, y)[1] - np.sin(2.0 * x + 0.3) * np.sin(y) + x**2,
    )
    begin = time.perf_counter()
    if curved:
        law = macro.Isotropic(grid, np.ones(grid.shape), walls=lambda x, y: R - np.hypot(x, y))
    else:
        law = macro.Isotropic(grid, inside, walls=~inside)
    after = law.impact(U)
    seconds = time.perf_counter() - begin
    x, y = (c[inside] for c in grid.centres)
    p = after.pressure[inside] - np.sin(2.0 * x + 0.3) * np.cos(y) - x**2 * y
    exact = np.where(np.arange(len(law.mass)) < law.faces[0].count, *u(*law.places.T))
    wrong_u = float(np.sqrt(law.mass @ (after.hit.velocity - exact) ** 2))
    return int(law.saturated.sum()), grid.h * float(np.linalg.norm(p - p.mean())), wrong_u, seconds


def on_a_fitted_mesh(refinements: int) -> tuple[int, float, float, float]:
    """The same by finite elements; all of the disc is jammed, so that one linear system is the answer."""
    from skfem import Basis, BilinearForm, ElementTriP1, Functional, LinearForm, MeshTri, condense, solve
    from skfem.helpers import dot, grad

    mesh = MeshTri.init_circle(refinements).scaled(R)
    begin = time.perf_counter()
    basis = Basis(mesh, ElementTriP1(), intorder=4)
    stiffness = BilinearForm(lambda p, q, _: dot(grad(p), grad(q))).assemble(basis)
    load = LinearForm(lambda q, w: sum(a * b for a, b in zip(U(*w.x), grad(q), strict=True))).assemble(basis)
    p = solve(*condense(stiffness, load, D=basis.get_dofs()))
    found = basis.interpolate(p)
    seconds = time.perf_counter() - begin
    middle = mesh.p[:, mesh.t].mean(axis=1)  # u is constant on each triangle: its mean is U there less grad p
    u = np.stack(U(*middle)) - found.grad[:, :, 0]

    def wrong_u(w: Any) -> np.ndarray:
        return sum((exact - u[k][:, None]) ** 2 for k, exact in enumerate(W(*w.x)))

    error_p = np.sqrt(Functional(lambda w: (w["p"] - pressure(*w.x)) ** 2).assemble(basis, p=found))
    return len(basis.complement_dofs(basis.get_dofs())), error_p, np.sqrt(Functional(wrong_u).assemble(basis)), seconds


def table(quick: bool) -> list[dict[str, Any]]:
    sizes, refinements = ((32, 64, 128), (4, 5, 6)) if quick else ((64, 128, 256, 512), (5, 6, 7, 8))
    runs = {
        "cut faces": lambda k: on_a_grid(sizes[k], True),
        "staircase": lambda k: on_a_grid(sizes[k], False),
        "fitted mesh": lambda k: on_a_fitted_mesh(refinements[k]),
        "wall, cut": lambda k: in_a_vessel(sizes[k], True),
        "wall, stairs": lambda k: in_a_vessel(sizes[k], False),
    }
    rows = []
    for name, run in runs.items():
        before = None
        for k in range(len(sizes)):
            try:
                unknowns, p, u, seconds = min((run(k) for _ in range(2)), key=lambda found: found[3])
            except ImportError:
                break
            row = {"boundary": name, "unknowns": unknowns, "error_p": p, "error_u": u, "s": seconds}
            if before is not None:
                ratio = 0.5 * np.log(unknowns / before["unknowns"])
                row["order_p"] = float(np.log(before["error_p"] / p) / ratio)
                row["order_u"] = float(np.log(before["error_u"] / u) / ratio)
            rows.append(row)
            before = row
    return rows


def shown(rows: list[dict[str, Any]]) -> None:
    for row in rows:
        order = f"  order {row['order_p']:4.2f} {row['order_u']:4.2f}" if "order_p" in row else ""
        print(
            f"{row['boundary']:12} {row['unknowns']:7} unknowns  {row['s']:7.3f} s  "
            f"error p {row['error_p']:.1e}  u {row['error_u']:.1e}{order}", flush=True
        )  # fmt: skip


def main() -> None:
    rows = table(quick=False)
    shown(rows)
    print(json.dumps({"benchmark": "curved", "rows": rows}))


if __name__ == "__main__":
    main()
