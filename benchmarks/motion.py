"""Densities that move: ``python benchmarks/motion.py [--quick] [--doors]``.

One step of each model on two blocks that collide obliquely, and of a crowd, at 256^2 and 512^2 cells; the obstacle
problem of such a step beside a peer, an active-set loop with the sparse direct solver of SciPy; and the observed
orders of exact solutions. It takes about four minutes of one core. With ``--doors`` also the flow through doors as
people and as a density, which takes some minutes more.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from itertools import product
from typing import Any

import numpy as np

import jostle as jo
from jostle.macro import Barrier, Crowd, Flow, Grid, Impacts, Splitting
from jostle.macro.motion.pressure import hard

WANTED = {256: 2.0, 512: 10.0}
"""Seconds that one step may take."""
REPEAT_SECONDS = 5.0
"""A measurement is repeated only if it took less than this time, in seconds."""
MODELS = {
    "crowd, splitting": (Splitting(), None),
    "flow, splitting": (Splitting(), 0.0),
    "flow, barrier": (Barrier(eps=1e-6), 0.0),
    "flow, isotropic impacts": (Impacts(), 0.0),
    "flow, isotropic impacts, e = 0.5": (Impacts(), 0.5),
    "flow, square impacts": (Impacts(structure="square"), 0.0),
    "flow, triangular impacts": (Impacts(structure="triangular"), 0.0),
}


def to_centre(t: float, q: np.ndarray) -> np.ndarray:
    return -q / np.linalg.norm(q, axis=1, keepdims=True)


def problem(n: int, e: float | None, density: float = 1.0) -> Crowd | Flow:
    grid = Grid([-1.2, -1.2], [1.2, 1.2], h=2.4 / n)
    left, right = grid.block([-0.9, -0.7], [0, 0.2]), grid.block([0, -0.2], [0.9, 0.7])
    if e is None:
        return Crowd(grid=grid, density=0.9 * grid.disc([0, 0], 1.0), velocity=to_centre)
    velocity = grid.velocity(left - right, 0)
    return Flow(grid=grid, density=density * (left | right), velocity=velocity, law=jo.Restitution(e))


def step(name: str, n: int, repeat: int = 2) -> dict[str, Any]:
    """Seconds for one step after a few others, that is not cut."""
    scheme, e = MODELS[name]
    made = problem(n, e, 0.99 if isinstance(scheme, Barrier) else 1.0)
    h = 0.2 * made.grid.h
    state = scheme.start(made, 0.0)
    for _ in range(2):
        state = scheme.advance(made, state, h)
    best = np.inf
    for _ in range(repeat):
        begin = time.perf_counter()
        after = scheme.advance(made, state, h)
        seconds = time.perf_counter() - begin
        best = min(best, seconds / after.substeps)
        if seconds > REPEAT_SECONDS:
            break
    return {"model": name, "n": n, "s": best, "iterations": after.iterations, "wanted": WANTED.get(n)}


def by_direct_solver(A: Any, excess: np.ndarray) -> tuple[np.ndarray, int]:
    """A p >= excess, p >= 0, complementary: primal-dual active sets, each linear system by SciPy."""
    from scipy.sparse.linalg import spsolve

    p, slack, active, count = np.zeros_like(excess), -excess, excess > 0.0, 0
    while True:
        count += 1
        where = np.flatnonzero(active)
        p = np.zeros_like(excess)
        p[where] = spsolve(A[where][:, where].tocsc(), excess[where])
        slack = A @ p - excess
        now = p - slack > 0.0
        if (now == active).all() or count == 200:
            return p, count
        active = now


def peer(n: int) -> dict[str, Any]:
    """The projection of a crowd's step, from nothing, by ours and by the direct solver."""
    made = problem(n, None)
    grid, domain = made.grid, made.domain
    arrived = np.where(np.hypot(*grid.centres) < 0.6, 1.05, made.density)
    A = sparse(domain)
    excess = np.where(domain.zone, arrived - 1.0, 0.0).ravel()
    hard(domain, arrived, None, 1e-8)
    begin = time.perf_counter()
    found = hard(domain, arrived, None, 1e-8)[0]
    ours = time.perf_counter() - begin
    begin = time.perf_counter()
    other, count = by_direct_solver(A, excess)
    theirs = time.perf_counter() - begin
    apart = float(np.abs(found.ravel() - other).max() / np.abs(other).max())
    return {"n": n, "ours_s": ours, "scipy_s": theirs, "ratio": theirs / ours, "loops": count, "apart": apart}


def sparse(domain: Any) -> Any:
    from scipy.sparse import coo_array

    A, number = domain.laplacian(), np.arange(domain.zone.size).reshape(domain.zone.shape)
    i, j, v = [number.ravel()], [number.ravel()], [A.diagonal.ravel()]
    for weight, low, high in ((A.east[:-1], number[:-1], number[1:]), (A.north[:, :-1], number[:, :-1], number[:, 1:])):
        i += [low.ravel(), high.ravel()]
        j += [high.ravel(), low.ravel()]
        v += [-weight.ravel(), -weight.ravel()]
    size = domain.zone.size
    return coo_array((np.concatenate(v), (np.concatenate(i), np.concatenate(j))), shape=(size, size)).tocsr()


def radial(n: int, rho: float = 0.25, t: float = 0.3, radius: float = 0.9) -> dict[str, float]:
    """A crowd that walks to the centre fills a disc: R_s = t sqrt(rho) / (1 - sqrt(rho)), p = R_s - r."""
    grid = Grid([-1, -1], [1, 1], h=2 / n)
    r = np.hypot(*grid.centres)
    crowd = Crowd(grid=grid, density=np.where(r < radius, rho, 0.0), velocity=to_centre)
    sol = jo.macro.solve(crowd, Splitting(), t=t, h=0.4 * grid.h, every=t)
    full = t * np.sqrt(rho) / (1.0 - np.sqrt(rho))
    exact = np.where(r < full, 1.0, np.where(r < radius - t, rho * (r + t) / r, 0.0))
    p = sol.scheme.advance(crowd, sol.state(-1), 1e-3 * grid.h).pressure
    area = (sol.density[-1] > 0.9).sum() * grid.h**2
    return {
        "radial crowd, density in L1": float(np.abs(sol.density[-1] - exact).sum()) * grid.h**2,
        "radial crowd, saturated radius": abs(float(np.sqrt(area / np.pi)) - full),
        "radial crowd, pressure in L1": float(np.abs(p - np.maximum(full - r, 0.0)).sum()) * grid.h**2,
    }


def riemann(n: int, rho: float = 0.5, t: float = 0.3) -> dict[str, float]:
    """Masses that fly against each other: sigma = rho u / (1 - rho), p = rho u^2 / (1 - rho)."""
    grid = Grid([-1, 0], [1, 8 / n], h=2 / n, closed=((False, False), (True, True)))
    x, _ = grid.centres
    start = rho * (np.abs(x) < 0.9)
    flow = Flow(grid=grid, density=start, velocity=grid.velocity(lambda x, y: -np.sign(x), 0))
    sol = jo.macro.solve(flow, Splitting(), t=t, h=0.4 * grid.h, every=t)
    front = rho / (1.0 - rho) * t
    exact = np.where(np.abs(x) < front, 1.0, np.where(np.abs(x) < 0.9 - t, rho, 0.0))
    right = x[:, 0] > 0.0
    falling = sol.density[-1][right, 0]
    last = int(np.flatnonzero(falling > 0.5 * (1.0 + rho))[-1])
    level = (falling[last] - 0.5 * (1.0 + rho)) / (falling[last] - falling[last + 1])
    crossing = float(x[right, 0][last] + level * grid.h)
    return {
        "Riemann problem, density in L1": float(np.abs(sol.density[-1] - exact)[:, 0].sum()) * grid.h,
        "Riemann problem, front": abs(crossing - front),
        "Riemann problem, pressure in the middle": abs(float(sol.pressure[-1, n // 2, 0]) - rho / (1.0 - rho)),
    }


def translation(n: int) -> dict[str, float]:
    """A block that nothing meets, along a diagonal."""
    grid, t = Grid([-1, -1], [1, 1], h=2 / n), 0.5
    block = grid.block([-0.75, -0.75], [0.0, 0.0])
    sol = jo.macro.solve(
        Flow(grid=grid, density=block, velocity=grid.velocity(1.0, 1.0)), Splitting(), t=t, h=0.2 * grid.h, every=t
    )
    exact = grid.block([-0.75 + t, -0.75 + t], [t, t])
    return {"translation of a block, density in L1": float(np.abs(sol.density[-1] - exact).sum()) * grid.h**2}


def bounces(n: int) -> dict[str, float]:
    """Two blocks of length 1 fly 0.2 each, bounce, and part with the velocities -e and e."""
    grid, found = Grid([-2.5, 0], [2.5, 8 / n], h=2 / n, closed=((False, False), (True, True))), {}
    left, right = grid.block([-1.2, 0], [-0.2, 1]), grid.block([0.2, 0], [1.2, 1])
    x = grid.places(0.0, 0.5)[0]
    for e in (1.0, 0.5):
        flow = Flow(grid=grid, density=left | right, velocity=grid.velocity(left - right, 0), law=jo.Restitution(e))
        sol = jo.macro.solve(flow, Impacts(), t=0.5, h=0.4 * grid.h, every=0.5)
        mass = np.where(x > 0.0, sol.domain.means(sol.density[-1])[0], 0.0)
        velocity = float((mass * sol.velocity[0][-1]).sum() / mass.sum())
        found[f"bouncing blocks, e = {e:g}, velocity"] = abs(velocity - e)
        found[f"bouncing blocks, e = {e:g}, energy"] = abs(float(sol.energy[-1] / sol.energy[0]) - e**2)
    return found


def orders(sizes: tuple[int, ...]) -> list[dict[str, Any]]:
    """Errors on several grids, and the least-squares order."""
    found: list[dict[str, Any]] = []
    for case in (radial, riemann, translation, bounces):
        errors = [case(n) for n in sizes]
        for name in errors[0]:
            values = [error[name] for error in errors]
            order = -float(np.polyfit(np.log(sizes), np.log(np.maximum(values, 1e-16)), 1)[0])
            found.append({"case": name, "n": sizes, "errors": values, "order": order})
    return found


def text(rows: list[dict[str, Any]]) -> str:
    """The table of orders."""
    lines = [f"{'':42}" + "".join(f"{n:>10}" for n in rows[0]["n"]) + "     order"]
    for row in rows:
        lines.append(f"{row['case']:42}" + "".join(f"{e:10.2e}" for e in row["errors"]) + f"{row['order']:10.2f}")
    return "\n".join(lines)


def door(width: float, n: int = 1000, radius: float = 0.25) -> dict[str, Any]:
    """Seconds until nine tenths have left a room of 20 m by 20 m, as people and as a density."""
    room = jo.crowds.Room([(0, 0), (20, 0), (20, 20), (0, 20)], doors=[((20, 10 - width / 2), (20, 10 + width / 2))])
    people = jo.crowds.crowd(n, room=room, radius=radius, speed=1.4, seed=1, behaviour=jo.crowds.Plain())

    def nearly(state: Any) -> bool:
        here = state.q[np.isfinite(state.q).all(axis=1)]
        return bool(room.inside(here).sum() <= n / 10)

    out = jo.Outlet(lambda q: q[:, 0] > 21.0)
    discs = jo.solve(people, jo.Venel(), t=600.0, h=0.2, every=10.0, changes=out, until=nearly)
    crowd = jo.crowds.density(n, room=room, radius=radius, speed=1.4, h=0.5)
    fluid = jo.macro.solve(
        crowd, Splitting(), t=600.0, h=0.1, every=10.0, until=lambda state: state.gone >= 0.9 * crowd.mass
    )
    return {"width": width, "people_s": float(discs.t[-1]), "density_s": float(fluid.t[-1])}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="smaller sizes, less than a minute")
    parser.add_argument("--doors", action="store_true", help="also people beside a density at doors")
    options = parser.parse_args()
    quick = options.quick
    result: dict[str, Any] = {"benchmark": "motion", "version": jo.__version__, "load_before": os.getloadavg()[0]}
    print(f"load of the machine before: {result['load_before']:.1f} on {os.cpu_count()} cores", flush=True)
    for name in MODELS:
        step(name, 32, 1)  # compiles and imports
    result["steps"] = []
    for n, name in product((128, 256) if quick else (256, 512), MODELS):
        row = step(name, n)
        result["steps"].append(row)
        wanted = f", wanted {row['wanted']:g}" if row["wanted"] else ""
        print(f"{name:34} {n:4}^2  {row['s']:7.3f} s{wanted}  {row['iterations']} iterations", flush=True)
    result["peers"] = [peer(n) for n in ((128,) if quick else (128, 256))]
    for row in result["peers"]:
        print(
            f"projection at {row['n']}^2: {row['ours_s']:.3f} s; SciPy's direct solver {row['scipy_s']:.2f} s in "
            f"{row['loops']} loops, {row['ratio']:.1f} times as long; they differ by {row['apart']:.0e}", flush=True
        )  # fmt: skip
    result["orders"] = orders((32, 64, 128) if quick else (32, 64, 128, 256))
    print(text(result["orders"]), flush=True)
    if options.doors:
        result["doors"] = [door(width) for width in (1.5, 3.0, 6.0)]
        for row in result["doors"]:
            print(row, flush=True)
    result["load_after"] = os.getloadavg()[0]
    print(f"load of the machine after: {result['load_after']:.1f}")
    print(json.dumps(result))


if __name__ == "__main__":
    main()
