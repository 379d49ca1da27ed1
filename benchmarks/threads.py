"""How sweeps and whole steps of spheres gain from threads, and that their bits do not depend on them.

    python benchmarks/threads.py [--quick] [--sizes 10000 100000]

sweep      nanoseconds a row and sweep of `GaussSeidel` on a shaken lattice
colliding  seconds of one step of `Maury` at 1e-4 on a shaken lattice that is pressed together, far from rest
settled    seconds of one step, at 1e-4 or 400 iterations, of a lattice that has been pressed together by its weight

for 1, 2, 4 ... threads. Before that it prints how many times as many rows as one thread several threads sweep if each
has a problem of its own and they share nothing: the machine allows hardly more. "one block" is the sweep and the
settled step on one thread with all rows in one block, as small problems are swept. The script fails if a result depends
on the number of threads. The last line holds all figures as JSON.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from threading import Barrier
from typing import Any

import numpy as np
from spheres import dense_rows

import jostle as jo
from jostle import kernels
from jostle.kernels import ContactRows, Stop
from jostle.kernels.cpu import arrangement
from jostle.kernels.parallel import most_threads, use_threads
from jostle.schemes.state import State

MOST_ITERATIONS = 400
"""Of a settled step: a million spheres would take thousands, each like the others."""
SETTLING_STEPS = 5
TIMES = "sweep", "colliding", "settled"
SPHERES_APART = 5000
"""Number of spheres of each thread that shares nothing with the others."""


def digest(array: np.ndarray) -> str:
    return sha256(array.tobytes()).hexdigest()[:12]


def lattice(n: int, spacing: float) -> np.ndarray:
    """(n, 3) the first places of a cubic lattice, the last axis running fastest."""
    k = np.arange(int(np.ceil(n ** (1 / 3))))
    return spacing * np.stack(np.meshgrid(k, k, k, indexing="ij"), axis=-1).reshape(-1, 3)[:n]


Sweeps = Callable[[int, int], tuple[float, np.ndarray]]


def sweeps(G: Any, inverse: np.ndarray, s0: np.ndarray) -> Sweeps:
    """A function of the numbers of threads and of iterations: (seconds, multipliers)."""
    m = len(s0)
    start, never, unit = np.ones(m), np.full(m, -np.inf), np.full(m, np.sqrt(2.0))

    def run(threads: int, iterations: int) -> tuple[float, np.ndarray]:
        begin = time.perf_counter()
        p, _ = kernels.gauss_seidel(
            ContactRows(G.i, G.j, G.normal),
            unit,
            inverse,
            s0,
            start,
            Stop(never, 0.0, iterations, 10_000),
            threads,
            G.positions,
        )
        return time.perf_counter() - begin, p

    return run


def sweep(n: int, seconds: float) -> Callable[[int], tuple[float, str]]:
    """A function of the number of threads: (nanoseconds a row and sweep, digest of the multipliers)."""
    rows = dense_rows(n)
    run, m = sweeps(*rows), len(rows[-1])

    def measured(threads: int) -> tuple[float, str]:
        _, p = run(threads, 12)
        few, many, end = np.inf, np.inf, time.perf_counter() + seconds
        while time.perf_counter() < end or many == np.inf:
            few, many = min(few, run(threads, 4)[0]), min(many, run(threads, 44)[0])
        return 1e9 * (many - few) / 40.0 / m, digest(p)

    return measured


def apart(counts: list[int], rounds: int) -> dict[str, float]:
    """How many times as many rows as one thread several threads sweep, each those of a problem of its own.

    In each round all begin at the same time, and the last one counts, as it does where threads wait for each other.
    """
    own = [sweeps(*dense_rows(SPHERES_APART)) for _ in range(counts[-1])]
    times: dict[int, float] = {}
    for count in counts:
        meeting = Barrier(count)

        def together(run: Sweeps, meeting: Barrier = meeting) -> list[float]:
            found = []
            for _ in range(rounds):
                meeting.wait()
                found.append(run(1, 100)[0])
            return found

        with ThreadPoolExecutor(count) as pool:
            times[count] = float(np.median(np.max(list(pool.map(together, own[:count])), axis=0)))
    return {str(count): count / counts[0] * times[counts[0]] / seconds for count, seconds in times.items()}


def step(problem: jo.Motion, scheme: Any, state: State, h: float, repeats: int) -> tuple[float, int, str]:
    """(median of the seconds, iterations, digest of the positions) of a step."""
    times = []
    for _ in range(repeats):
        begin = time.perf_counter()
        after = scheme.advance(problem, state, h)
        times.append(time.perf_counter() - begin)
    assert after.projection is not None
    return float(np.median(times)), after.projection.iterations, digest(after.q)


def colliding(n: int) -> tuple[jo.Motion, Any, State, float]:
    """Spheres with random velocities that a flow towards a corner presses together."""
    q, random = lattice(n, 1.01), np.random.default_rng(0)
    within = jo.Balls(np.full(n, 0.5)) & jo.Box([-0.5] * 3, [np.inf] * 3)
    problem = jo.Motion(q0=q, v0=-0.2 * q + random.normal(size=(n, 3)), within=within)
    scheme = jo.Maury(solver=jo.GaussSeidel(tol=1e-4))
    return problem, scheme, scheme.start(problem, 0.0), 0.02


def settled(n: int) -> tuple[jo.Motion, Any, State, float]:
    """Spheres of unlike sizes that rest on each other: radii a little less than half a cell, in a box."""
    random, h = np.random.default_rng(0), 0.02
    radii = random.uniform(0.498, 0.5, n)
    q = lattice(n, 1.0)
    width = float(q.max()) + 0.5
    within = jo.Balls(radii) & jo.Box([-0.5] * 3, [width, width, np.inf], radii=radii)
    problem = jo.Motion(q0=q, force=np.tile([0.0, 0.0, -10.0], (n, 1)), within=within)
    scheme = jo.Maury(solver=jo.GaussSeidel(tol=1e-4, max_iterations=MOST_ITERATIONS, budget=True))
    state = scheme.start(problem, 0.0)
    for _ in range(SETTLING_STEPS):
        state = scheme.advance(problem, state, h)
    return problem, scheme, state, h


def measured(n: int, counts: list[int], quick: bool) -> dict[str, Any]:
    """All figures of n spheres, printed as they come."""
    use_threads(counts[-1])
    sweeping, repeats = sweep(n, 0.3 if quick else 2.0), 3 if quick else 5
    scenes = colliding(n), settled(n)
    figures: dict[str, Any] = {}
    for count in counts:
        use_threads(count)
        ns, *bits = sweeping(count)
        steps = [step(*scene, repeats) for scene in scenes]
        row = {"sweep": ns, "colliding": steps[0][0], "settled": steps[1][0], "iterations": [one[1] for one in steps]}
        figures[str(count)] = {**row, "bits": [*bits, *(one[2] for one in steps)]}
        gains = [figures[str(counts[0])][name] / row[name] for name in TIMES]
        print(
            f"{n:9d} {count:9d} {ns:9.2f} {gains[0]:6.2f} {steps[0][0]:9.4f} {gains[1]:6.2f} {steps[1][0]:9.4f} "
            f"{gains[2]:6.2f}   {steps[0][1]}, {steps[1][1]}; {' '.join(figures[str(count)]['bits'])}",
            flush=True,
        )
        if figures[str(count)]["bits"] != figures[str(counts[0])]["bits"]:
            sys.exit(f"the bits depend on the number of threads: {counts[0]} and {count}")
    return figures


def in_one_block(n: int, quick: bool) -> dict[str, float]:
    """The sweep and the settled step on one thread, all rows in one block."""
    scene, usual = settled(n), arrangement.BLOCKED_ROWS
    use_threads(1)
    arrangement.BLOCKED_ROWS = sys.maxsize
    try:
        ns, seconds = sweep(n, 0.3 if quick else 2.0)(1)[0], step(*scene, 2 if quick else 5)[0]
    finally:
        arrangement.BLOCKED_ROWS = usual
    print(f"{n:9d} one block {ns:9.2f} {'':6} {'':9} {'':6} {seconds:9.4f}", flush=True)
    return {"sweep": ns, "settled": seconds}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer spheres, within a minute")
    parser.add_argument("--sizes", type=int, nargs="+", help="numbers of spheres")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2, 4, 8, 16], help="numbers of threads")
    chosen = parser.parse_args()
    sizes = chosen.sizes or ([10_000, 30_000] if chosen.quick else [10_000, 100_000, 1_000_000])
    counts = [count for count in chosen.threads if count <= most_threads()]
    figures: dict[str, Any] = {"apart": apart(counts, 10 if chosen.quick else 40)}
    gains = ", ".join(f"{gain:.1f}" for gain in figures["apart"].values())
    print(f"threads that share nothing sweep {gains} times as many rows as one")
    print(
        f"{'spheres':>9} {'threads':>9} {'ns a row':>9} {'gain':>6} {'colliding':>9} {'gain':>6} {'settled':>9} "
        f"{'gain':>6}   iterations; bits"
    )
    for n in sizes:
        figures[str(n)] = measured(n, counts, chosen.quick)
        if n <= 10_000:
            figures[str(n)]["one block"] = in_one_block(n, chosen.quick)
    print(f"the bits are the same for {', '.join(map(str, counts))} threads")
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
