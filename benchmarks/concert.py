"""Five thousand people at a concert press towards a barrier, then leave: ``python benchmarks/concert.py [--quick]``.

The program of the guide on concerts (docs/guides/concert.md) with 5000 people. At first, people within 5 m of the
barrier press towards it, then people within 10 m, then everybody. Afterwards all leave by four gates.
``--save concert.png`` draws the crowd and the force on the barrier.
"""

from __future__ import annotations

import argparse
import json
import os
import time

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.collections import EllipseCollection

import jostle as jo
from jostle._tools.colours import BLUE, VERMILION
from jostle.crowds.measure.pressing import MASS, RELAXATION_TIME, THRESHOLDS
from jostle.viz.style import BODY_COLOURS

SPEED, DENSITY = 1.3, 4.0
RADII = (0.18, 0.22)
"""Smallest and largest radius of a person, in metres."""
PUSH = MASS * SPEED / RELAXATION_TIME
"""Force of a person who presses and cannot move, in newtons."""
STAGES = ((0.0, 5.0), (10.0, 10.0), (20.0, np.inf))
"""From these times on (s), people within these distances of the barrier (m) press."""
END, H, TOL = 30.0, 0.05, 1e-4
CRUSH_BARRIER = 5.0
"""Load of crush barriers that are 5 m apart, in kN/m: Green Guide, table 11.2, first row."""


def yard(width: float, depth: float, gate: float) -> jo.crowds.Plan:
    """The yard before the stage: the barrier is its side y = 0, and four gates are far from it."""
    left, right, side = width / 4.0, 3.0 * width / 4.0, depth - gate - 1.0
    gates = {
        "north-west": ((left, depth), (left + gate, depth)),
        "north-east": ((right - gate, depth), (right, depth)),
        "west": ((0.0, side), (0.0, side + gate)),
        "east": ((width, side), (width, side + gate)),
    }
    return jo.crowds.Plan([(0, 0), (width, 0), (width, depth), (0, depth)], exits=gates)


def reach(t: float) -> float:
    """How far from the barrier people press at a time."""
    return [far for since, far in STAGES if since <= t][-1]


def press(t: float, q: np.ndarray) -> np.ndarray:
    """The desired velocities: towards the barrier at SPEED, or zero for people who stand further away."""
    return np.column_stack([np.zeros(len(q)), np.where(q[:, 1] < reach(t), -SPEED, 0.0)])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="480 people")
    parser.add_argument("--stay", action="store_true", help="do not simulate how people leave")
    parser.add_argument("--save", metavar="FILE", help="draw the crowd and the force on the barrier")
    options = parser.parse_args()
    n, width, gate = (480, 8.0, 1.2) if options.quick else (5000, 40.0, 4.0)
    plan = yard(width, n / DENSITY / width, gate)
    barrier = int(np.argmin(plan.walls[:, :, 1].max(axis=1)))
    scheme = jo.Venel(solver=jo.Automatic(tol=TOL))
    radii = np.random.default_rng(1).uniform(*RADII, n)
    people = jo.crowds.crowd(n, radius=radii, room=plan, wish=press, seed=1)
    cpu = time.process_time()
    sol = jo.solve(people, scheme, t=END, h=H, every=0.5)
    found = {"people": n, "push_N": PUSH, "cpu_pressing_s": round(time.process_time() - cpu, 1), "stages": []}
    newtons = MASS / RELAXATION_TIME
    load = np.array([jo.crowds.crowd_pressure(sol, k).walls[barrier] for k in range(len(sol.t))])
    load *= newtons / width / 1e3
    forces = jo.crowds.crowd_forces(sol)
    ends = [*(since for since, _ in STAGES[1:]), END]
    for (since, far), end in zip(STAGES, ends, strict=True):
        last = int(np.searchsorted(sol.t, end)) - (end < END)
        pressing = int((sol.q[last][:, 1] < far).sum())
        of_all = jo.crowds.voronoi(sol, last, plan)
        front = of_all.density[of_all.place[:, 1] < 5.0]
        found["stages"].append({
            "until_s": float(sol.t[last]), "press_within_m": far if far < np.inf else "all", "pressing": pressing,
            "load_kN_m": round(float(load[(sol.t > end - 5.0) & (sol.t <= sol.t[last])].mean()), 2),
            "peak_kN_m": round(float(load[(sol.t > since) & (sol.t <= sol.t[last])].max()), 2),
            "push_of_all_kN_m": round(pressing * PUSH / width / 1e3, 2),
            "median_density_front_5_m": round(float(np.median(front)), 2),
            "median_load_of_a_person_N": round(float(np.median(forces.load[last][sol.q[last][:, 1] < 5.0])), 0),
        })  # fmt: skip
    found["crushed"] = {limit.name: forces.exceeded(limit) for limit in THRESHOLDS}
    if options.save:
        draw(sol, load, radii, forces.load[-1], options.save)
    print(json.dumps(found | {"cores": os.cpu_count()}), flush=True)
    if not options.stay:
        leaving = jo.crowds.crowd(
            n, radius=(1.0 - TOL) * radii, room=plan, q0=sol.q[-1], speed=1.34, behaviour=jo.crowds.Pedestrians()
        )
        cpu = time.process_time()
        out = jo.solve(leaving, scheme, t=900.0, h=H, every=1.0, until=plan.empty)
        last = float(jo.crowds.evacuation_time(out))
        found |= {
            "empty_after_s": round(last, 1), "status": out.status, "cpu_leaving_s": round(time.process_time() - cpu, 1),
            "people_a_minute_and_metre": round(60.0 * n / last / (4.0 * gate), 1),
            "by_gate": {name: int(use.count) for name, use in jo.crowds.exit_use(out).items()},
        }  # fmt: skip
        print(json.dumps(found | {"cores": os.cpu_count()}))


def draw(sol: jo.Solution, load: np.ndarray, radii: np.ndarray, forces: np.ndarray, path: str) -> None:
    """The crowd at the end, coloured by the load of each person, and the force on the barrier over time."""
    jo.viz.use_style()
    figure, (crowd, force) = plt.subplots(2, 1, figsize=(8, 7.2), height_ratios=(3, 2), layout="constrained")
    size = 2.0 * radii
    discs = EllipseCollection(
        size, size, np.zeros(len(size)), units="xy", offsets=sol.q[-1], transOffset=crowd.transData
    )
    discs.set(array=forces / 1e3, cmap=BODY_COLOURS)
    crowd.add_collection(discs)
    crowd.set(aspect="equal", xlabel="$x$ (m)", ylabel="$y$ (m)", title="all press towards the barrier, y = 0")
    crowd.autoscale_view()
    figure.colorbar(discs, ax=crowd, label="load of a person (kN)", shrink=0.8)
    force.plot(sol.t, load, color=BLUE, label="force on the barrier")
    force.axhline(CRUSH_BARRIER, color=VERMILION, linestyle="--", label="crush barriers 5 m apart (Green Guide)")
    for (since, _), text in zip(STAGES, ("people within 5 m press", "people within 10 m", "all press"), strict=True):
        force.text(since + 0.9, 0.4, text, fontsize=9)
    force.set(xlabel="time (s)", ylabel="force on the barrier (kN/m)", ylim=(0.0, None))
    force.legend(loc="upper left")
    figure.savefig(path, dpi=110)


if __name__ == "__main__":
    main()
