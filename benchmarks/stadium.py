"""People leave a stadium: ``python benchmarks/stadium.py [--people N] [--within S] [--minutes M] [--output FOLDER]``.

N people (100 000 unless said) stand at two a square metre in a square hall around a square block. Two opposite sides
have exits of 4 m, as many as let everyone out within S seconds at 2 people a second and metre (480 unless said, the 8
minutes that guides ask for). People walk by `Pedestrians`, the behaviour of scenario files, with time steps of 1/16 s
(flows are converged up to 0.07 s), until the hall is empty or M minutes (10 unless said) of wall time have passed.

With --output, the run is stored in FOLDER at its end: the same command, given again, continues it, until the hall is
empty. FOLDER/out.csv then has the number of people out every ten seconds of simulated time.

Printed are the times for the ways, for the people, and for a step of a person, the peak memory, and how many people are
out; the last line is JSON. Times are processor times of all threads, and wall times. --quick takes 1000 people.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # sums of 100 000 numbers are slower on several threads

import numpy as np
from ways import RADIUS, peak, stadium

import jostle as jo
from jostle.kernels.cpu.warm_up import warm_up
from jostle.kernels.parallel import threads

DENSITY, SPEED, H = 2.0, 1.34, 0.0625
FLOW, WIDTH = 2.0, 4.0
"""People a second and metre of an exit, and the width of an exit (m)."""
LONGEST = 7200.0
"""The end of the run in seconds, if the hall is not empty before."""
TELL_EVERY = 10.0
"""Simulated time between two lines of the report (s)."""


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


class Counting:
    """Counts the people who are out after each step; ends the run when nobody is left or the time is over."""

    def __init__(self, plan: jo.crowds.Plan, n: int, end: float, report: Path | None):
        self.plan, self.n, self.end, self.report = plan, n, end, report
        self.steps = self.person_steps = self.out = 0
        self.empty, self.told, self.t = False, -np.inf, 0.0

    def __call__(self, state: jo.schemes.State) -> bool:
        here = self.n if state.presence is None else int(np.count_nonzero(state.presence.here))
        self.steps, self.person_steps = self.steps + 1, self.person_steps + here
        self.out, self.t = self.n - here, state.t
        self.empty = self.plan.empty(state)
        if self.empty:
            self.out = self.n
        if state.t >= self.told + TELL_EVERY - H / 2.0 or self.empty:
            self.told = state.t
            print(f"t = {state.t:7.2f} s: {self.out} of {self.n} out, {peak() / 2**30:.2f} GB", flush=True)
            if self.report is not None:
                with self.report.open("a") as file:
                    file.write(f"{state.t:.2f},{self.out}\n")
        return self.empty or time.perf_counter() > self.end


def leave(n: int, within: float, minutes: float, folder: Path | None = None) -> dict[str, float]:
    """What it takes to let n people leave by exits for `within` seconds, for some minutes of wall time at most; the run
    in a folder is continued."""
    begin, watch = time.perf_counter(), Watch()
    exits_a_side = max(1, round(n / (FLOW * within * WIDTH * 2)))
    plan = stadium(float(np.sqrt(n / DENSITY / 0.96)), exits_a_side)  # the block takes 4 % of the square
    ways = jo.crowds.shortest_paths(plan, RADIUS, spacing=RADIUS / 2.0)
    found: dict[str, float] = {"people": n, "exits": 2 * exits_a_side, "nodes": ways.distance.shape[1], **watch("ways")}
    people = jo.crowds.crowd(n, radius=RADIUS, speed=SPEED, room=plan, seed=0, behaviour=jo.crowds.Pedestrians())
    found |= watch("people")
    kept = None if folder is None else folder / "run.checkpoint"
    resume = kept is not None and kept.exists()
    counting = Counting(plan, n, begin + 60.0 * minutes, None if folder is None else folder / "out.csv")
    sol = jo.solve(
        people,
        jo.Venel(),
        t=LONGEST,
        h=H,
        every=LONGEST,
        until=counting,
        output=None if kept is None else jo.io.Output(checkpoint=kept, resume=resume),
    )
    took = watch("run")
    found |= took | {"steps": counting.steps, "simulated_s": round(counting.t, 2), "out": counting.out}
    found |= {"empty": counting.empty, "person_steps": counting.person_steps, "overlap_radii": float(sol.overlap)}
    for kind in ("cpu", "wall"):
        found[f"{kind}_us_a_person_step"] = round(1e6 * took[f"run_{kind}_s"] / max(counting.person_steps, 1), 3)
        found[f"{kind}_s_a_step"] = round(took[f"run_{kind}_s"] / max(counting.steps, 1), 4)
    return found | {"resumed": resume, "peak_MB": round(peak() / 2**20), "threads": threads()}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="1000 people, for 12 s at most")
    parser.add_argument("--people", type=int, default=100_000)
    parser.add_argument("--within", type=float, default=480.0, help="seconds in which the exits let everyone out")
    parser.add_argument("--minutes", type=float, default=10.0, help="the longest wall time of the run")
    parser.add_argument("--output", type=Path, help="folder that keeps the run, to be continued")
    options = parser.parse_args()
    if options.output is not None:
        options.output.mkdir(parents=True, exist_ok=True)
    for _ in warm_up(os.cpu_count() or 1):
        pass  # kernels are compiled by all cores, unless the cache has them
    n, minutes = (1000, 0.2) if options.quick else (options.people, options.minutes)
    print(json.dumps(leave(n, options.within, minutes, options.output) | {"cores": os.cpu_count()}))
