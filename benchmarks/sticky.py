"""Blocks on a line: ``python benchmarks/sticky.py [--quick]``.

The merge tree of up to 10^6 sticky blocks, and their places at one time by both routes, beside SciPy's isotonic
regression and a plain queue of events in Python (`heapq`); a column that falls on a floor; a gas with e = 0.9 between
two walls. Seconds are those of the fastest of a few runs, without compilation; processor seconds stand beside them,
because other programs may run.
"""

from __future__ import annotations

import argparse
import heapq
import json
import os
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import isotonic_regression

import jostle as jo
from jostle import macro


def timed(call: Callable[[], Any], repeat: int = 3) -> tuple[float, float, Any]:
    """Seconds, seconds of the processor, and the answer."""
    best = (np.inf, np.inf)
    for _ in range(repeat):
        begin, worked = time.perf_counter(), time.process_time()
        answer = call()
        best = min(best, (time.perf_counter() - begin, time.process_time() - worked))
    return *best, answer


def blocks(n: int, **how: Any) -> macro.StickyBlocks:
    random = np.random.default_rng(0)
    return macro.StickyBlocks(np.arange(n) * 1.2 / n, 1 / n, random.normal(size=n), **how)


def plain_queue(y: list[float], v: list[float], mass: list[float]) -> list[tuple[float, int, int]]:
    """Mergers of points without forces: a queue of Python, from which outdated entries are dropped."""
    n, since, found = len(y), [0.0] * len(y), []
    before, after, alive, queue = list(range(-1, n - 1)), [*range(1, n), -1], [True] * n, []

    def watch(a: int, b: int, now: float) -> None:
        if a >= 0 and b >= 0 and v[a] > v[b]:
            gap = y[b] + v[b] * (now - since[b]) - y[a] - v[a] * (now - since[a])
            heapq.heappush(queue, (now + max(gap, 0.0) / (v[a] - v[b]), a, b))

    for k in range(n - 1):
        watch(k, k + 1, 0.0)
    while queue:
        now, a, b = heapq.heappop(queue)
        if not (alive[a] and alive[b]):
            continue
        total, c = mass[a] + mass[b], len(mass)
        alive[a] = alive[b] = False
        y.append(sum(mass[k] * (y[k] + v[k] * (now - since[k])) for k in (a, b)) / total)
        v.append((mass[a] * v[a] + mass[b] * v[b]) / total)
        mass.append(total), since.append(now), alive.append(True), before.append(before[a]), after.append(after[b])
        if before[a] >= 0:
            after[before[a]] = c
        if after[b] >= 0:
            before[after[b]] = c
        found.append((now, a, b))
        watch(before[c], c, now)
        watch(c, after[c], now)
    return found


def sticky(n: int) -> dict[str, Any]:
    """The merge tree and the places at t = 0.01, each from the start."""
    row, t = blocks(n), 0.01
    tree_s, tree_cpu, tree = timed(lambda: blocks(n).mergers())
    at_s, at_cpu, x = timed(lambda: row.at(t))
    row.mergers()
    followed_s, followed_cpu, followed = timed(lambda: row._followed(t))
    free = row.x + t * row.v - row.before
    _, scipy_cpu, _ = timed(lambda: isotonic_regression(free, weights=row.lengths))
    return {
        "n": n, "mergers": len(tree), "tree_s": tree_s, "tree_cpu_s": tree_cpu, "at_s": at_s, "at_cpu_s": at_cpu,
        "followed_s": followed_s, "followed_cpu_s": followed_cpu, "difference": float(np.abs(x - followed).max()),
        "at_over_isotonic": at_cpu / scipy_cpu, "tree_over_isotonic": tree_cpu / scipy_cpu,
    }  # fmt: skip


def beside_a_plain_queue(n: int) -> dict[str, Any]:
    row = blocks(n)
    _, ours, tree = timed(lambda: blocks(n).mergers())
    lists = (row.x - row.before).tolist(), row.v.tolist(), row.lengths.tolist()
    _, plain, found = timed(lambda: plain_queue(*(list(one) for one in lists)), 1)
    times = np.array([merger[0] for merger in found])
    same = len(times) == len(tree) and bool(np.allclose(times, tree.time, rtol=1e-9))
    return {"n": n, "ours_cpu_s": ours, "plain_cpu_s": plain, "ratio": plain / ours, "same_mergers": same}


def column(n: int) -> dict[str, Any]:
    """Blocks fall on a floor and stay there: n mergers."""

    def fall() -> macro.StickyBlocks:
        return blocks(n, acceleration=-1.0, walls=(0.0, np.inf))

    seconds, cpu, tree = timed(lambda: fall().mergers(), 2)
    return {"n": n, "mergers": len(tree), "s": seconds, "cpu_s": cpu}


def gas(n: int, t: float) -> dict[str, Any]:
    """Blocks with e = 0.9 between two walls."""

    def box() -> macro.StickyBlocks:
        return blocks(n, restitution=0.9, walls=(0.0, 1.2))

    seconds, cpu, _ = timed(lambda: box().at(t), 1)
    impacts = len(box()._history(t).start) - n
    return {"n": n, "t": t, "parabolas": impacts, "s": seconds, "us_a_parabola": 1e6 * cpu / max(impacts, 1)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer sizes, less than a minute")
    quick = parser.parse_args().quick
    result: dict[str, Any] = {"benchmark": "sticky", "version": jo.__version__, "load_before": os.getloadavg()[0]}
    print(f"load of the machine before: {result['load_before']:.1f} on {os.cpu_count()} cores", flush=True)
    blocks(10).mergers()  # compiles
    result["sticky"] = [sticky(n) for n in ((10**5, 10**6) if quick else (10**4, 10**5, 10**6, 3 * 10**6))]
    for row in result["sticky"]:
        print(
            f"{row['n']:8} blocks  merge tree {row['tree_s']:6.3f} s (processor {row['tree_cpu_s']:6.3f} s)  at(t) "
            f"{row['at_s']:6.3f} s ({row['at_cpu_s']:6.3f} s)  followed(t) {row['followed_s']:6.3f} s  difference "
            f"{row['difference']:.0e}  tree / isotonic regression {row['tree_over_isotonic']:.0f}", flush=True
        )  # fmt: skip
    result["plain_queue"] = beside_a_plain_queue(10**5 if quick else 10**6)
    print(result["plain_queue"], flush=True)
    result["column"] = column(10**5 if quick else 10**6)
    print(result["column"], flush=True)
    result["gas"] = gas(10**4, 1e-3 if quick else 1e-2)
    print(result["gas"], flush=True)
    result["load_after"] = os.getloadavg()[0]
    print(f"load of the machine after: {result['load_after']:.1f}")
    print(json.dumps(result))


if __name__ == "__main__":
    main()
