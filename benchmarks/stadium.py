"""People leave a stadium: ``python benchmarks/stadium.py [--quick] [--people N] [--minutes M]``.

N people (100 000 unless said) stand at two a square metre in a square hall around a square block, which has five exits
of 4 m in each of two opposite sides. They walk by `Pedestrians`, the behaviour of scenario files, with time steps of
0.05 s, until the hall is empty or M minutes (10 unless said) have passed. Printed are the times for the ways, for the
people and for a step, the peak memory, and how many people are out. Times are processor times of all threads, and wall
times. --quick takes 1000 people.
"""

from __future__ import annotations

import argparse
import json
import os
import time

import numpy as np
from ways import RADIUS, peak, stadium

import jostle as jo

DENSITY, SPEED, H = 2.0, 1.34, 0.05
LONGEST = 7200.0
"""The end of the run in seconds, if the hall is not empty before."""


class Watch:
    """Processor and wall time since the last look."""

    def __init__(self) -> None:
        self.cpu, self.wall = time.process_time(), time.perf_counter()

    def __call__(self, name: str) -> dict[str, float]:
        cpu, wall = time.process_time(), time.perf_counter()
        found = {f"{name}_cpu_s": round(cpu - self.cpu, 2), f"{name}_wall_s": round(wall - self.wall, 2)}
        self.cpu, self.wall = cpu, wall
        print(found, flush=True)
        return found


def leave(n: int, minutes: float) -> dict[str, float]:
    """What it takes to let n people leave, for some minutes at most."""
    plan, watch = stadium(float(np.sqrt(n / DENSITY / 0.96))), Watch()  # the block takes 4 % of the square
    ways = plan.ways(RADIUS)
    found: dict[str, float] = {"people": n, "nodes": ways.distance.shape[1], **watch("ways")}
    people = jo.crowds.crowd(n, radius=RADIUS, speed=SPEED, room=plan, seed=0, behaviour=jo.crowds.Pedestrians())
    found |= watch("people")
    end, steps = time.perf_counter() + 60.0 * minutes, 0

    def over(state: jo.schemes.base.State) -> bool:
        nonlocal steps
        steps += 1
        return plan.empty(state) or time.perf_counter() > end

    sol = jo.solve(people, jo.Venel(), t=LONGEST, h=H, every=10.0, until=over, change=plan.changes(people))
    took = watch("run")
    here = np.isfinite(sol.q[-1]).all(axis=1) & plan.inside(np.nan_to_num(sol.q[-1], nan=-1.0))
    found |= took | {"steps": steps, "simulated_s": round(float(sol.t[-1]), 2), "out": n - int(here.sum())}
    found |= {"cpu_s_a_step": round(took["run_cpu_s"] / steps, 4), "overlap_radii": float(sol.overlap)}
    return found | {"peak_MB": round(peak() / 2**20)}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="1000 people")
    parser.add_argument("--people", type=int, default=100_000)
    parser.add_argument("--minutes", type=float, default=10.0, help="the longest time of the run")
    options = parser.parse_args()
    leave(1000, 0.1)  # compile
    result = leave(1000 if options.quick else options.people, options.minutes)
    print(json.dumps(result | {"cores": os.cpu_count()}))
