"""How sweeps and whole steps of spheres gain from threads, and that their bits do not depend on them.

    python benchmarks/threads.py [--quick]

Nanoseconds a row and sweep of `GaussSeidel`, and seconds of one step of `Maury` at 1e-4 on a shaken lattice that is
pressed together, for 1, 2, 4 ... threads. The last line holds all figures as JSON.
"""

from __future__ import annotations

import argparse
import json
import time
from hashlib import sha256
from typing import Any

import numpy as np
from spheres import dense_rows

import jostle as jo
from jostle.kernels import cpu
from jostle.kernels.threads import most_threads, use_threads


def sweep(n: int, threads: int, seconds: float) -> tuple[float, int, str]:
    """(nanoseconds a row and sweep, rows, a digest of the multipliers)."""
    G, inverse, s0 = dense_rows(n)
    m = len(s0)
    start, never, unit = np.ones(m), np.full(m, -np.inf), np.full(m, np.sqrt(2.0))

    def run(iterations: int) -> tuple[float, np.ndarray]:
        begin = time.perf_counter()
        p, _ = cpu.gauss_seidel(
            G.i, G.j, G.normal, unit, inverse, s0, start, never, 0.0, iterations, 10_000, threads, G.places
        )
        return time.perf_counter() - begin, p

    _, p = run(12)
    few, many, end = np.inf, np.inf, time.perf_counter() + seconds
    while time.perf_counter() < end or many == np.inf:
        few, many = min(few, run(4)[0]), min(many, run(44)[0])
    return 1e9 * (many - few) / 40.0 / m, m, sha256(p.tobytes()).hexdigest()[:12]


def step(n: int, repeats: int) -> tuple[float, int, str]:
    """(seconds, iterations, a digest of the positions) of a step of n spheres."""
    k, random = np.arange(int(np.ceil(n ** (1 / 3)))), np.random.default_rng(0)
    q = 1.01 * np.stack(np.meshgrid(k, k, k, indexing="ij"), axis=-1).reshape(-1, 3)[:n]
    within = jo.Balls(np.full(n, 0.5)) & jo.Box([-0.5] * 3, [np.inf] * 3)
    problem = jo.Motion(q0=q, v0=-0.2 * q + random.normal(size=(n, 3)), within=within)
    scheme = jo.Maury(solver=jo.GaussSeidel(tol=1e-4))
    start, best = scheme.start(problem, 0.0), np.inf
    for _ in range(repeats):
        begin = time.perf_counter()
        state = scheme.advance(problem, start, 0.02)
        best = min(best, time.perf_counter() - begin)
    assert state.projection is not None
    return best, state.projection.iterations, sha256(state.q.tobytes()).hexdigest()[:12]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer spheres and threads")
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 100_000, 1_000_000], help="numbers of spheres")
    chosen = parser.parse_args()
    quick, sizes = chosen.quick, [10_000, 50_000] if chosen.quick else chosen.sizes
    counts = [count for count in (1, 2, 4, 8, 16, 32) if count <= most_threads()]
    figures: dict[str, Any] = {}
    print(f"{'spheres':>9} {'threads':>7} {'ns a row':>9} {'gain':>6} {'step, s':>9} {'gain':>6}  iterations, bits")
    for n in sizes:
        first = None
        for count in counts:
            use_threads(count)
            ns, rows, bits = sweep(n, count, 0.5 if quick else 2.0)
            seconds, iterations, of_step = step(n, 2 if quick else 3)
            first = first or (ns, seconds)
            print(
                f"{n:9d} {count:7d} {ns:9.2f} {first[0] / ns:6.2f} {seconds:9.4f} {first[1] / seconds:6.2f}"
                f"  {iterations}, {bits} {of_step}",
                flush=True,
            )
            figures[f"{n} {count}"] = {
                "rows": rows, "ns_a_row": ns, "step_s": seconds, "iterations": iterations, "bits": [bits, of_step],
            }  # fmt: skip
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
