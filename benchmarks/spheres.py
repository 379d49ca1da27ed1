"""Hard spheres at scale: ``python benchmarks/spheres.py [--quick] [--only box fall dense bandwidth memory]``.

box        SCoPI's box of 1000 spheres, falling and nearly settled, at residual 1e-6
fall       the same box from 10^3 to 10^6 spheres, falling: time a step against N
dense      10^5 spheres colliding at residual 1e-3
bandwidth  the fused iteration beside the memory's bandwidth: bytes a row, triad measured in the same run
memory     bytes a row at the peak of a step, of the whole process

`overlap/r` is the worst violation of a step over the smallest radius; the gaps are convex, so no overlap is larger.
"""

from __future__ import annotations

import argparse
import json
import resource
import time
from collections.abc import Callable
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from numba import njit
from scenes import HEADER, Stopwatch, box_of_spheres, line

import jostle as jo
from jostle import kernels
from jostle.kernels import ContactRows, Stop
from jostle.kernels.parallel import threads

SCOPI_SETTLED, SCOPI_FALL = 0.98, 0.89
"""CPU seconds a step of SCoPI (APGD, tolerance 1e-3) on this box of 1000, measured once on a machine like that of the
documentation: nobody publishes such figures."""


def box(quick: bool) -> list[dict[str, Any]]:
    """Free fall, impact, and nearly settled (about 2000 contacts, as in SCoPI's figure)."""
    problem, h, _ = box_of_spheres(10)
    watch = Stopwatch(problem, jo.Maury(solver=jo.Automatic(tol=1e-6)), h)
    watch.step(10)
    watch.reset()
    watch.step(5)
    rows = [watch.row("box, free fall", 1e-6)]
    while watch.state.t < 2.2:
        watch.step()
    watch.reset()
    watch.step(5)
    rows.append(watch.row("box, colliding", 1e-6))
    while watch.state.t < (3.4 if quick else 4.0):
        watch.step()
    watch.reset()
    watch.step(5)
    rows.append(watch.row("box, nearly settled", 1e-6))
    while watch.state.t < (3.6 if quick else 20.0):
        watch.step()
    watch.reset()
    watch.step(5)
    rows.append(watch.row("box, settled", 1e-6))
    return rows


def fall(quick: bool) -> list[dict[str, Any]]:
    """Falling boxes: the pairs are looked for and checked, hardly any row is active."""
    rows = []
    for side in (10, 22, 46) if quick else (10, 22, 46, 100):
        problem, h, _ = box_of_spheres(side)
        watch = Stopwatch(problem, jo.Maury(solver=jo.Automatic(tol=1e-3)), h)
        watch.step(3)
        watch.reset()
        watch.step(10)
        rows.append(watch.row(f"falling, {side}^3", 1e-3))
    return rows


def dense(quick: bool) -> list[dict[str, Any]]:
    """10^5 spheres: half of them fall on the other half."""
    side = 22 if quick else 46
    problem, h, _ = box_of_spheres(side)
    watch = Stopwatch(problem, jo.Maury(solver=jo.Automatic(tol=1e-3)), h)
    while watch.state.t < 2.2:
        watch.step()
    watch.reset()
    watch.step(5)
    return [watch.row(f"colliding, {side}^3", 1e-3)]


@njit(cache=True)
def add(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> None:
    for k in range(len(a)):
        a[k] = b[k] + 0.3 * c[k]


def triad(size: int, seconds: float = 0.5) -> float:
    """Bytes a second of a = b + x c on one core: two read, one written and, before that, fetched."""
    b, c = np.random.default_rng(0).uniform(size=(2, size))
    a = np.zeros(size)
    add(a, b, c)
    best, end = np.inf, time.perf_counter() + seconds
    while time.perf_counter() < end:
        begin = time.perf_counter()
        add(a, b, c)
        best = min(best, time.perf_counter() - begin)
    return 32.0 * size / best


def bandwidth(quick: bool) -> dict[str, Any]:
    """Nanoseconds a row of the fused iteration on a dense random packing of 10^5 spheres, and its bound."""
    n, d = (30_000 if quick else 100_000), 3
    G, inverse, s0 = dense_rows(n)
    m = len(s0)
    start, never, unit = np.ones(m), np.full(m, -np.inf), np.full(m, np.sqrt(2.0))

    def per_row(chunks: int) -> float:
        def run(iterations: int) -> float:
            begin = time.perf_counter()
            rows, stop = ContactRows(G.i, G.j, G.normal), Stop(never, 0.0, iterations, 10_000)
            kernels.gauss_seidel(rows, unit, inverse, s0, start, stop, chunks, G.positions)
            return time.perf_counter() - begin

        run(2)
        few, many = min(run(10) for _ in range(10)), min(run(110) for _ in range(10))
        return (many - few) / 100.0 / m

    # a row: i, j, normal, s0, p and y read and written; its two bodies: v read and written, and the inverse mass (rows
    # are sorted by colour, so that a body comes back when it has left the near caches); the momentum: v and x of bodies
    stream = 8 + 8 * d + 8 + 32 + (8 * d * 4 + 8) * n / m
    bytes_a_row, least = stream + 2 * (16 * d + 8), stream + (16 * d + 8) * n / m
    speed, one = triad(int(m * bytes_a_row / 24)), per_row(1)
    cores = threads()
    result = {
        "N": n, "rows": m, "bytes_a_row": bytes_a_row, "triad_GB_s": speed / 1e9,
        "bound_ns_a_row": 1e9 * bytes_a_row / speed, "one_core_ns_a_row": 1e9 * one,
        "times_the_bound": one * speed / bytes_a_row, "bytes_bodies_once": least,
        "times_the_bound_bodies_once": one * speed / least, "cores": cores,
    }  # fmt: skip
    if cores > 1:
        result["all_cores_ns_a_row"] = 1e9 * per_row(cores)
        result["gain_of_all_cores"] = result["one_core_ns_a_row"] / result["all_cores_ns_a_row"]
    return result


def dense_rows(n: int) -> tuple[jo.convex.NormalRows, np.ndarray, np.ndarray]:
    """The contacts of n spheres on a shaken close lattice, bodies numbered along it."""
    random, side = np.random.default_rng(0), int(np.ceil(n ** (1 / 3)))
    k = np.arange(side)
    lattice = np.stack(np.meshgrid(k, k, k, indexing="ij"), axis=-1).reshape(-1, 3)[:n].astype(float)
    q = lattice + random.uniform(-0.1, 0.1, (n, 3))
    contacts = jo.Balls(np.full(n, 0.5)).linearise(0.0, q, 0.25)
    assert isinstance(contacts.G, jo.convex.NormalRows)
    return contacts.G, np.ones(n), contacts.gap - 0.05


def peak_of_a_step(n: int) -> tuple[int, int]:
    """(rows, how far two steps of n spheres on a shaken lattice raise the memory of this process at their peak)."""
    k, random = np.arange(int(np.ceil(n ** (1 / 3)))), np.random.default_rng(0)
    q = 1.1 * np.stack(np.meshgrid(k, k, k, indexing="ij"), axis=-1).reshape(-1, 3)[:n]
    q += random.uniform(-0.02, 0.02, (n, 3))
    within = jo.Balls(np.full(n, 0.5)) & jo.Box([-1.0] * 3, [np.inf] * 3, radii=0.5)
    problem = jo.Motion(q0=q, v0=4.0 * random.normal(size=(n, 3)), within=within)
    scheme = jo.Maury(solver=jo.GaussSeidel(max_iterations=60, budget=True))
    state = scheme.start(problem, 0.0)
    before = int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
    rows = 0
    for _ in range(2):
        state = scheme.advance(problem, state, 0.05)
        rows = max(rows, len(state.multipliers))
    return rows, 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before


def memory_in_this_process(n: int) -> dict[str, Any]:
    peak_of_a_step(n // 16)  # what compiled code and libraries take
    rows, peak = peak_of_a_step(n)
    return {"N": n, "rows": rows, "bytes_a_row": peak / rows}


def memory(quick: bool) -> dict[str, Any]:
    """Bytes a row at the peak of a step, in a process of its own."""
    with get_context("spawn").Pool(1) as pool:
        return pool.apply(memory_in_this_process, (100_000 if quick else 400_000,))


PARTS: dict[str, Callable[[bool], list[dict[str, Any]]]] = {"box": box, "fall": fall, "dense": dense}
ALONE = ("bandwidth", "memory")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="smaller sizes, under a minute")
    parser.add_argument("--only", nargs="*", choices=[*PARTS, *ALONE], default=[*PARTS, *ALONE])
    arguments = parser.parse_args()
    result: dict[str, Any] = {}
    print(HEADER)
    for name, part in PARTS.items():
        if name in arguments.only:
            result[name] = part(arguments.quick)
            for row in result[name]:
                print(line(row), flush=True)
    if "box" in result:
        free, settled = result["box"][0]["step_ms"], result["box"][2]["step_ms"]
        result["scopi_over_ours_settled"] = 1e3 * SCOPI_SETTLED / settled
        print(f"SCoPI's 0.98 s nearly settled: {1e3 * SCOPI_SETTLED / settled:.0f} times ours; free fall {free:.2f} ms")
    if len(result.get("fall", ())) > 1:
        first, last = result["fall"][0], result["fall"][-1]
        power = np.log(last["step_ms"] / first["step_ms"]) / np.log(last["N"] / first["N"])
        result["fall_exponent"] = power
        print(f"falling: time a step grows like N^{power:.2f} from {first['N']} to {last['N']}")
    if "bandwidth" in arguments.only:
        result["bandwidth"] = found = bandwidth(arguments.quick)
        print(
            f"fused iteration, {found['N']} spheres: {found['one_core_ns_a_row']:.1f} ns a row on one core; bound "
            f"{found['bound_ns_a_row']:.1f} ({found['bytes_a_row']:.0f} bytes a row, triad {found['triad_GB_s']:.1f} "
            f"GB/s): {found['times_the_bound']:.2f} times ({found['times_the_bound_bodies_once']:.2f} if bodies came "
            f"only once a sweep, {found['bytes_bodies_once']:.0f} bytes); {found['cores']} cores gain "
            f"{found.get('gain_of_all_cores', 1.0):.2f}"
        )
    if "memory" in arguments.only:
        result["memory"] = found = memory(arguments.quick)
        print(f"memory: {found['bytes_a_row']:.0f} bytes a row at the peak of a step ({found['rows']} rows)")
    print(json.dumps(result))


if __name__ == "__main__":
    main()
