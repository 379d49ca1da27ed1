"""Where crowds may lock, over many seeds: ``python benchmarks/locks.py [--quick] [--only pairs gate stairs]``.

pairs    one person from each end of a corridor of 5 m, 1.0 to 2.0 m wide, from 100 random places each, with random
         speeds of 1.0 to 1.34 m/s: who is not out within twice the time that the slower one needs alone
gate     the shipped scenario bottleneck, 75 people before a gate of 0.5 m, with 100 seeds: who is left, the flow, the
         longest time between two people. Experiments: 0.88 to 0.90 people/s at 0.4 m, 1.12 at 0.6 m (Kretz et al. 2006)
stairs   people who want to go up against as many who want to go down, stairs of 5 m and 0.9 to 2.4 m, ten seeds: when
         the building is empty, beside the times in which each half alone leaves it, added up

Each run is a task of its own, and there is one process for each core.
"""

from __future__ import annotations

import argparse
import os
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import numpy as np
from behaviours import RADIUS, SPEED, box

import jostle as jo
from jostle.crowds import Group, Link, Pedestrians, Plan
from jostle.scenarios import load, parse

LENGTH, SLOWEST = 5.0, 1.0
"""Length of the corridor (m), and the smallest desired speed in it (m/s)."""
WIDTHS = (1.0, 1.25, 1.5, 1.75, 2.0)
STAIRS = ((0.9, 20), (1.0, 20), (1.2, 20), (1.4, 40), (1.6, 40), (2.4, 80))
"""Widths of stairs (m), and the number of people in each direction."""
Task = tuple[str, Any, int]


def pair(width: float, seed: int) -> float:
    """When two people who meet are out, in multiples of the longer of their free times; infinite from 2 on."""
    plan = Plan(box(0, 0, LENGTH, width), exits={"west": ((0, 0), (0, width)), "east": ((LENGTH, 0), (LENGTH, width))})
    random = np.random.default_rng(seed)
    way, speed = random.uniform(LENGTH - 1.5, LENGTH - 0.5, 2), random.uniform(SLOWEST, SPEED, 2)
    x, y = [LENGTH - way[0], way[1]], random.uniform(1.05 * RADIUS, width - 1.05 * RADIUS, 2)
    groups = [
        Group(goal, places=[place], radius=RADIUS, speed=pace, goal=goal)
        for goal, place, pace in zip(("east", "west"), zip(x, y, strict=True), speed, strict=True)
    ]
    people = jo.crowds.crowd(groups, room=plan, behaviour=Pedestrians())
    free = float((way / speed).max())
    sol = jo.solve(people, jo.Venel(), t=2.0 * free, h=0.05, every=0.1, until=plan.empty)
    return np.inf if plan.inside(sol.q[-1]).any() else float(sol.t[-1] / free)


def gate(_: None, seed: int) -> tuple[int, float, float]:
    """People left inside of the scenario bottleneck, the flow, and the longest time between two people."""
    chosen = load("bottleneck")
    sol = parse(chosen.text, chosen.name, seed=seed).build().solve()
    use = jo.crowds.exit_use(sol)["gate"]
    return sol.q.shape[1] - use.count, use.flow, float(np.diff(use.t).max(initial=0.0))


def storeys(width: float, up: int, down: int, seed: int) -> float:
    """When two storeys that stairs join are empty; infinite if they are not after 300 s."""
    low = (6.0 - width) / 2.0
    stairs = Link(
        "stairs", ((30, low), (30, low + width)), ((10, low), (10, low + width)), length=5.0, pace="down", both=True
    )
    exits = {"street": ((0, 1), (0, 5)), "roof": ((40, 1), (40, 5))}
    plan = Plan([box(0, 0, 10, 6), box(30, 0, 40, 6)], exits=exits, links=[stairs])
    groups = [
        Group(goal, n, radius=RADIUS, speed=SPEED, goal=goal, start=start)
        for goal, n, start in (("roof", up, box(0, 0, 8.5, 6)), ("street", down, box(31.5, 0, 40, 6)))
        if n
    ]
    people = jo.crowds.crowd(groups, room=plan, seed=seed, behaviour=Pedestrians())
    sol = jo.solve(people, jo.Venel(), t=300.0, h=0.05, every=1.0, until=plan.empty)
    return float(sol.t[-1]) if sol.status == "stopped" else np.inf


def stairs(case: tuple[float, int, str], seed: int) -> float:
    """When the storeys are empty, with people of both directions or of one."""
    width, n, which = case
    return storeys(width, n * (which != "down"), n * (which != "up"), seed)


MEASURES = {"pairs": pair, "gate": gate, "stairs": stairs}


def run(task: Task) -> Any:
    name, case, seed = task
    return MEASURES[name](case, seed)


def print_table(name: str, found: dict[Any, list[Any]]) -> None:
    """Print what the seeds of each case give."""
    if name == "pairs":
        for width, times in found.items():
            ended = [time for time in times if np.isfinite(time)]
            stuck = len(times) - len(ended)
            print(f"corridor of {width} m: {stuck} of {len(times)} pairs stuck; mean {np.mean(ended):.2f}, longest "
                  f"{max(ended):.2f} of the free time")  # fmt: skip
    elif name == "gate":
        left, flows, pauses = np.array(found[None]).T
        print(f"gate of 0.5 m, {len(left)} seeds: somebody left in {(left > 0).sum()}; flow {flows.mean():.3f} +- "
              f"{flows.std(ddof=1):.3f} people/s ({flows.min():.2f} to {flows.max():.2f}); longest pause "
              f"{np.median(pauses):.1f} s (median), {pauses.max():.1f} s")  # fmt: skip
    else:
        for (width, n, which), both in found.items():
            if which == "both":
                alone = np.add(*(found[width, n, way] for way in ("up", "down")))
                print(f"stairs of {width} m, {n} against {n}: empty in {np.isfinite(both).sum()} of {len(both)} after "
                      f"{np.mean(both):.1f} s ({min(both):.1f} to {max(both):.1f}); one way each, added up "
                      f"{alone.mean():.1f} s; {np.max(both / alone):.2f} times that at most")  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="few seeds")
    parser.add_argument("--only", nargs="+", choices=list(MEASURES), default=list(MEASURES))
    options = parser.parse_args()
    os.environ.setdefault("NUMBA_NUM_THREADS", "1")  # one process for each core
    many, few = (2, 1) if options.quick else (100, 10)
    cases: dict[str, tuple[tuple[Any, ...], int]] = {
        "pairs": (WIDTHS, many), "gate": ((None,), many),
        "stairs": (tuple((*one, which) for one in reversed(STAIRS) for which in ("both", "up", "down")), few),
    }  # fmt: skip
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        for name in options.only:
            found: dict[Any, list[Any]] = {}
            tasks = [(name, case, seed) for case in cases[name][0] for seed in range(cases[name][1])]
            for (_, case, _), result in zip(tasks, pool.map(run, tasks), strict=True):
                found.setdefault(case, []).append(result)
            print_table(name, found)


if __name__ == "__main__":
    main()
