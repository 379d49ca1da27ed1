"""Spheres and people on a GPU, beside the same steps on all cores.

    python benchmarks/gpu.py [--quick] [--only bound scale box friction settled agree people]

bound   the memory's bandwidth (a copy), and a sweep of a shaken lattice beside what its bytes would take
scale   one step of a lattice that is pressed together, from 10^4 to 10^7 spheres: time a step and a row, bytes a row
box     SCoPI's box of spheres, falling, colliding, settling: steps a second, and the same steps on all cores
friction  the same box with Coulomb's law, mu = 0.3
settled the same box with friction when its spheres have come to rest, on the GPU alone
agree   the same box on both for 100 steps: positions, energy, momentum, overlaps; beside it two runs on the CPU whose
        tolerances differ by a factor of ten
people  a hall that is left by ten exits, on the GPU until it is empty, on all cores for a while: time a step on both

Needs a GPU that CuPy can use. Times are those of whole steps, after one that compiles. The last line holds all figures
as JSON.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from scenes import box_of_spheres

import jostle as jo
from jostle import kernels
from jostle.kernels import ContactRows, Stop
from jostle.kernels.parallel import threads
from jostle.run.devices import Device, array_module
from jostle.schemes.state import State

COPIED = 2**28
"""Numbers that are copied to measure the bandwidth."""
BYTES_A_ROW, BYTES_A_BODY = 8 + 24 + 8 + 16 + 16, 128
"""What a sweep in 3-D reads and writes of each row (bodies, normal, slack, p and y twice), and of each body for the
momentum; the velocities that rows read and write come from the second cache while they fit."""


class Steps:
    """Steps of a problem on a device, timed."""

    def __init__(self, problem: Any, scheme: Any, device: str, start: State | None = None) -> None:
        self.problem, self.scheme, self.where = problem, scheme, Device(device, problem, scheme)
        self.state = self.where.moved(scheme.start(problem, 0.0) if start is None else start)

    def step(self, h: float, count: int = 1) -> dict[str, float]:
        """Means over the steps, and their largest residual."""
        self.wait()
        begin, iterations, worst = time.perf_counter(), 0, 0.0
        for _ in range(count):
            self.state = self.scheme.advance(self.where.problem, self.state, h)
            iterations += self.state.projection.iterations
            worst = max(worst, self.state.projection.residual.worst)
        self.wait()
        return {
            "ms": 1e3 * (time.perf_counter() - begin) / count, "iterations": iterations / count, "residual": worst,
            "rows": len(self.state.multipliers), "active": int((self.state.multipliers > 0.0).sum()),
        }  # fmt: skip

    def until(self, t: float, h: float) -> None:
        while self.state.t < t:
            self.state = self.scheme.advance(self.where.problem, self.state, h)

    def wait(self) -> None:
        if self.where.place is not np:
            self.where.place.cuda.Device().synchronize()

    def here(self) -> State:
        return self.where.host(self.state)


def bound(quick: bool) -> dict[str, float]:
    """A sweep over all rows of a lattice, beside a copy of as many bytes."""
    cupy = array_module("cuda")
    numbers = cupy.zeros((2, COPIED))
    copy = _best(lambda: cupy.copyto(numbers[1], numbers[0]), 5)
    numbers = None
    side = 47 if quick else 100
    k = np.arange(side)
    q = cupy.asarray(1.01 * np.stack(np.meshgrid(k, k, k, indexing="ij"), axis=-1).reshape(-1, 3))
    n, free = len(q), cupy.full(3, np.inf)
    radii, reach = cupy.full(n, 0.5), cupy.full(n, 0.05)
    (i, j), normal, gap = kernels.near(*kernels.pair_list(q, radii + 0.1, free, 1), q, radii, reach, free, 1)
    m = len(i)
    unit, inverse, never = cupy.full(m, np.sqrt(2.0)), cupy.ones(n), cupy.full(m, -np.inf)

    def sweeps(count: int) -> None:
        rest = unit, inverse, gap - 0.05, cupy.ones(m), Stop(never, 0.0, count, 10_000), 1, q
        kernels.gauss_seidel(ContactRows(i, j, normal), *rest)

    seconds = (_best(lambda: sweeps(104), 3) - _best(lambda: sweeps(4), 3)) / 100.0
    speed, least = 16.0 * COPIED / copy, BYTES_A_ROW * m + BYTES_A_BODY * n
    print(f"copy {speed / 1e12:.2f} TB/s; sweep of {m} rows {1e6 * seconds:.0f} us, {1e9 * seconds / m:.3f} ns a row, "
          f"{seconds * speed / least:.1f} times what {least / m:.0f} bytes a row take")  # fmt: skip
    return {
        "copy_TB_s": speed / 1e12, "rows": m, "sweep_us": 1e6 * seconds, "ns_a_row": 1e9 * seconds / m,
        "bytes_a_row": least / m, "times_the_bound": seconds * speed / least,
    }  # fmt: skip


def _best(work: Callable[[], object], times: int) -> float:
    cupy = array_module("cuda")
    found = []
    for _ in range(times + 1):
        cupy.cuda.Device().synchronize()
        begin = time.perf_counter()
        work()
        cupy.cuda.Device().synchronize()
        found.append(time.perf_counter() - begin)
    return min(found[1:])


def pressed(n: int) -> jo.Motion:
    """n spheres of a loose lattice that fly towards one of its corners, the furthest of them ten times as fast as any
    flies by chance."""
    k, random = np.arange(int(np.ceil(n ** (1 / 3)))), np.random.default_rng(0)
    q = 1.01 * np.stack(np.meshgrid(k, k, k, indexing="ij"), axis=-1).reshape(-1, 3)[:n]
    within = jo.Balls(np.full(n, 0.5)) & jo.Box([-0.5] * 3, [np.inf] * 3)
    return jo.Motion(q0=q, v0=-10.0 * q / q.max() + random.normal(size=q.shape), within=within)


def scale(quick: bool) -> list[dict[str, Any]]:
    cupy, found = array_module("cuda"), []
    print(f"{'spheres':>9} {'rows':>9} {'iterations':>10} {'ms a step':>10} {'ns a row':>9} {'bytes a row':>11}")
    for n in (10_000, 100_000) if quick else (10_000, 100_000, 1_000_000, 10_000_000):
        pool = cupy.get_default_memory_pool()
        pool.free_all_blocks()
        steps = Steps(pressed(n), jo.Maury(solver=jo.GaussSeidel(tol=1e-4)), "cuda")
        start = steps.state
        for _ in range(2):  # the first compiles; the second starts from what the first one left
            steps.step(0.02)
            steps.state = start
        row = {"N": n, **steps.step(0.02)}
        row |= {"ns_a_row": 1e6 * row["ms"] / row["rows"], "bytes_a_row": pool.total_bytes() / row["rows"]}
        its, ms, ns, size = (row[name] for name in ("iterations", "ms", "ns_a_row", "bytes_a_row"))
        print(f"{n:9d} {row['rows']:9d} {its:10.0f} {ms:10.2f} {ns:9.1f} {size:11.0f}", flush=True)
        found.append(row)
    return found


HEADER = (
    f"{'spheres':>9} {'tol':>6} {'t':>5} {'rows':>9} {'active':>9} {'its':>6} {'residual':>9} {'ms':>9} {'steps/s':>8}"
    f" {'cores, ms':>10} {'cores/GPU':>9}"
)


def box(quick: bool, mu: float = 0.0) -> list[dict[str, Any]]:
    """Each moment is reached on the GPU; from there some steps on both."""
    found = []
    print(HEADER)
    for side, moments in ((22, (0.2, 1.0, 2.2, 4.0)), (46, (0.2, 1.0, 2.2)), (100, (0.2, 1.0, 2.2))):
        problem, h, _ = box_of_spheres(side, mu=mu)
        steps = Steps(problem, jo.Maury(solver=jo.GaussSeidel(tol=1e-4)), "cuda")
        for moment in moments[: 2 if quick else None]:
            steps.until(moment, h)
            here = steps.here()
            for tol in (1e-4, 1e-6) if mu == 0.0 else (1e-4,):
                row = {"N": side**3, "tol": tol, "t": moment, **moment_of(problem, h, here, tol, 2 if quick else 5)}
                print(
                    f"{side**3:9d} {tol:6.0e} {moment:5.1f} {row['rows']:9d} {row['active']:9d}"
                    f" {row['iterations']:6.0f}"
                    f" {row['residual']:9.1e} {row['ms']:9.2f} {1e3 / row['ms']:8.1f} {row['cores_ms']:10.1f}"
                    f" {row['cores_over_gpu']:9.1f}",
                    flush=True,
                )
                found.append(row)
    return found


MOST_SWEEPS = 5000
"""Largest number of sweeps of a step of a settled pile; steps that need more are counted as missed."""


def settled(quick: bool) -> list[dict[str, Any]]:
    """Steps of piles with friction at several moments, which are reached at 1e-4; sweeps of each step."""
    found = []
    for side, moments in ((46, (4.0, 8.0)), (100, (1.0, 2.2, 4.0))):
        problem, h, _ = box_of_spheres(side, mu=0.3)
        steps = Steps(problem, jo.Maury(solver=jo.GaussSeidel(tol=1e-4)), "cuda")
        for moment in moments[: 1 if quick else None]:
            begin = time.perf_counter()
            steps.until(moment, h)
            here, reached = steps.here(), time.perf_counter() - begin
            speed = float(np.sqrt((here.u**2).sum(axis=1).mean()))
            print(f"{side**3} spheres at t = {moment:g} after {reached:.0f} s, rms velocity {speed:.2e}", flush=True)
            for tol in (1e-4, 1e-6):
                solver = jo.GaussSeidel(tol=tol, max_iterations=MOST_SWEEPS, budget=True)
                run = Steps(problem, jo.Maury(solver=solver), "cuda", here)
                run.step(h)
                rows = [run.step(h) for _ in range(3 if quick else 10)]
                sweeps, ms = [row["iterations"] for row in rows], float(np.mean([row["ms"] for row in rows]))
                row = {
                    "N": side**3, "t": moment, "tol": tol, "contacts": rows[-1]["rows"], "active": rows[-1]["active"],
                    "sweeps": float(np.mean(sweeps)), "most": max(sweeps), "rms": speed, "ms": ms,
                    "missed": sum(row["residual"] > tol for row in rows), "steps_a_second": 1e3 / ms,
                }  # fmt: skip
                print("  ".join(f"{key} {value:.4g}" for key, value in row.items()), flush=True)
                found.append(row)
    return found


def moment_of(problem: jo.Motion, h: float, here: State, tol: float, count: int) -> dict[str, float]:
    """Some steps on the GPU and one on all cores, both after one that is not timed."""
    scheme = jo.Maury(solver=jo.GaussSeidel(tol=tol))
    there, beside = (Steps(problem, scheme, device, here) for device in ("cuda", "cpu"))
    there.step(h)
    row = there.step(h, count)
    if len(here.q) > 200_000 and row["iterations"] > 200:  # minutes on a few cores
        return row | {"cores_ms": float("nan"), "cores_over_gpu": float("nan")}
    beside.step(h)
    cores = beside.step(h)["ms"]
    return row | {"cores_ms": cores, "cores_over_gpu": cores / row["ms"]}


def agree(quick: bool) -> dict[str, float]:
    """100 steps of the same box from the same moment: how far the two runs are apart."""
    problem, h, r0 = box_of_spheres(10 if quick else 22)
    tol, steps = 1e-8, 100
    start = Steps(problem, jo.Maury(solver=jo.GaussSeidel(tol=1e-6)), "cuda")
    start.until(1.5, h)
    here, ends = start.here(), []
    for device, fine in (("cpu", tol), ("cuda", tol), ("cpu", tol / 10.0)):
        run = Steps(problem, jo.Maury(solver=jo.GaussSeidel(tol=fine)), device, here)
        run.step(h, steps)
        ends.append(run.here())
    mass = problem.metric(problem.q0).mass.reshape(problem.q0.shape)
    one, two, finer = ends
    found = {
        "N": len(one.q), "steps": steps, "tol": tol,
        "positions_over_r0": float(np.abs(one.q - two.q).max() / r0),
        "mean_over_r0": float(np.abs(one.q - two.q).mean() / r0),
        "finer_over_r0": float(np.abs(one.q - finer.q).max() / r0),
        "finer_mean_over_r0": float(np.abs(one.q - finer.q).mean() / r0),
        "energy": float((mass * two.u**2).sum() / (mass * one.u**2).sum() - 1.0),
        "momentum": float(np.abs((mass * (one.u - two.u)).sum(axis=0)).max() / np.abs(mass * one.u).sum()),
        "overlap_over_r0_cpu": max(0.0, -problem.within.gap(one.t, one.q)) / r0,
        "overlap_over_r0_gpu": max(0.0, -problem.within.gap(two.t, two.q)) / r0,
    }  # fmt: skip
    print(json.dumps(found))
    return found


MOST_SECONDS = {"cuda": 480.0, "cpu": 40.0}
"""So long each of the two may take with its people."""

PEOPLE_TOLERANCE = 1e-3
"""Residual of the projections: a violation of this part of a radius is 0.2 mm."""


def people(quick: bool) -> dict[str, float]:
    """Everybody walks straight to the nearest of ten exits of 11 m, before which they crowd; then they are gone."""
    n, seconds = (5000, 5.0) if quick else (100_000, 300.0)
    side, random = np.sqrt(n / 2.0), np.random.default_rng(0)
    doors, k = np.linspace(0.1, 0.9, 5) * side, int(np.ceil(np.sqrt(n)))
    half, beyond = side / 40.0, np.array([-3.0, side + 3.0])
    q0 = (np.stack(np.divmod(np.arange(n), k), axis=1) + 0.5) * side / k + random.uniform(-0.05, 0.05, (n, 2))

    def wished(t: float, q: np.ndarray) -> np.ndarray:
        door = doors[np.clip(q[:, 0] / side * 5.0, 0, 4).astype(int)]
        aside = np.clip(q[:, 0] - door, 0.5 - half, half - 0.5)
        way = np.stack([door + aside, beyond[(q[:, 1] > side / 2.0).astype(int)]], axis=1) - q
        return 1.2 * way / np.linalg.norm(way, axis=1, keepdims=True)

    ends = np.r_[0.0, np.stack([doors - half, doors + half], axis=1).ravel(), side].reshape(-1, 2)
    walls = [[[a, y], [b, y]] for y in (0.0, side) for a, b in ends]
    within = jo.Balls(np.full(n, 0.2)) & jo.Box([0.0, -np.inf], [side, np.inf]) & jo.Segments(walls)
    problem = jo.Sweeping(q0=q0, velocity=wished, within=within)
    outlet = jo.Outlet(lambda q: (q[:, 1] < -0.5) | (q[:, 1] > side + 0.5))
    found: dict[str, float] = {"N": n}
    solver = jo.GaussSeidel(tol=PEOPLE_TOLERANCE)
    for device in ("cuda", "cpu"):
        jo.solve(problem, jo.Venel(solver=solver), t=1.0, h=0.1, changes=outlet, device=device)  # compiles
        end = time.perf_counter() + MOST_SECONDS[device]

        def done(state: State, end: float = end) -> bool:
            gone = state.presence is not None and not state.presence.here.any()
            return gone or time.perf_counter() > end

        how = {"t": seconds, "h": 0.1, "every": 100, "until": done, "change": outlet, "device": device}
        sol = jo.solve(problem, jo.Venel(solver=solver), **how)
        stats, took = sol.stats, time.perf_counter() - end + MOST_SECONDS[device]
        row = {
            "t": float(sol.t[-1]), "steps": len(stats), "ms_a_step": 1e3 * took / len(stats),
            "left": int(np.isnan(sol.q[-1]).any(axis=1).sum()), "iterations": float(stats["iterations"].mean()),
            "worst_violation": float(stats["primal"].max()),
        }  # fmt: skip
        print(device, row, flush=True)
        found |= {f"{device}_{name}": value for name, value in row.items()}
    return found


PARTS: dict[str, Callable[[bool], Any]] = {
    "bound": bound, "scale": scale, "agree": agree, "box": box, "friction": partial(box, mu=0.3), "settled": settled,
    "people": people,
}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="smaller sizes, under a minute")
    parser.add_argument("--only", nargs="*", choices=list(PARTS), default=list(PARTS))
    chosen = parser.parse_args()
    array_module("cuda")
    figures: dict[str, Any] = {"threads": threads()}
    for name, part in PARTS.items():
        if name in chosen.only:
            figures[name] = part(chosen.quick)
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
