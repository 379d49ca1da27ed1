"""How people walk, beside experiments and JuPedSim: ``python benchmarks/validation.py [--quick] [--save FILE]``.

All models walk through the same geometries in the same run, with one set of parameters each: `Pedestrians`, the
behaviour of scenario files, and two models of JuPedSim with their default parameters, the collision-free speed model
(Tordeux, Chraibi & Seyfried 2016) and the generalised centrifugal force model (Chraibi, Seyfried & Schadschneider
2010). People have the radius 0.2 m and the speed 1.34 m/s.

doors         flow a metre through doors of 0.8 to 5 m, with 115 people a metre: then the flow of the whole run is that
              of the steady state (Liao et al. 2015). Experiments: the regression J = a + b width through the flows of
              Mueller 1981, Seyfried et al. 2009 and Daamen & Hoogendoorn 2010, at widths of 0.6 to 1.8 m; the flow
              grows linearly up to 5 m (Liao et al. 2014).
single file   speed at distances of 0.5 to 2 m; v = (d - 0.36 m) / 1.06 s (Seyfried et al. 2005)
corridor      speed at 0.5 to 3 people a square metre in a corridor of 3 m; Weidmann 1993
corners       flow a metre behind the corner of an L-shaped corridor of 1.2 to 5 m
stairs        flow a metre over stairs of 2 m, up and down; Weidmann 1993; JuPedSim has no stairs
counterflow   100 people meet 100 in a corridor of 4 m x 30 m: when it is empty
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from behaviours import (
    CORNERS,
    DENSITIES,
    DOORS,
    PEDESTRIANS,
    RADIUS,
    SPACINGS,
    SPEED,
    Scene,
    box,
    corner,
    corridor,
    counterflow,
    rounded,
    seyfried,
    single_file,
    walked,
    weidmann,
)  # fmt: skip
from doors import EXPERIMENTS

import jostle as jo
from jostle.crowds import Group, Link, Pedestrians, Plan

PEERS = ("JuPedSim, speed", "JuPedSim, force")
PEOPLE_PER_METRE, FEWEST = 115, 100
"""Number of people before a door for each metre of its width, and the smallest number of people."""
NEAR = 0.3
"""Flows a metre that differ by less (people/s/m) agree with the regression."""
STAIR_FLOWS = {"up": 0.85, "down": 0.98}
"""The largest flows a metre over stairs (people/s/m), Weidmann 1993."""


def regression() -> tuple[float, float]:
    """a (people/s) and b (people/s/m) of the least-squares line J = a + b width through the experiments."""
    points = [(width, flow) for found in EXPERIMENTS.values() for width, flow in found.items()]
    slope, level = np.polyfit(*np.array(points).T, 1)
    return float(level), float(slope)


def door(model: str, width: float, seed: int = 0) -> float:
    """People a second and metre through a door, (N - 1) / (t_N - t_1) / width; 0 if not all are out."""
    n, side = max(FEWEST, round(PEOPLE_PER_METRE * width)), max(8.0, width + 4.0)
    length = n / 3.5 / (side - 2.0) + 1.0
    plan = Plan(box(0, 0, length, side), exits={"door": ((length, (side - width) / 2), (length, (side + width) / 2))})
    groups = [Group("people", n, radius=RADIUS, speed=SPEED, start=box(0.5, 1, length, side - 1))]
    t = walked(Scene(plan, groups, seed, 240.0), model).passed(0, length)
    return float((n - 1) / (t[-1] - t[0]) / width) if len(t) == n else 0.0


def stairs(model: str, pace: str, seed: int = 0) -> float:
    """People a second and metre onto stairs of 2 m, in the middle 60 % of 150 people; JuPedSim has no stairs."""
    if model != PEDESTRIANS:
        return float("nan")
    n, width = 150, 2.0
    link = Link("stairs", ((12, 3), (12, 5)), ((30, 3), (30, 5)), length=8.0, pace=pace)
    floors = [[(0, 0), (6, 0), (6, 3), (12, 3), (12, 5), (6, 5), (6, 8), (0, 8)], box(30, 0, 34, 8)]
    plan = Plan(floors, exits={"out": ((34, 0), (34, 8))}, links=[link])
    group = Group("people", n, radius=RADIUS, speed=SPEED, start=box(0, 0, 6, 8))
    people = jo.crowds.crowd(group, room=plan, seed=seed, behaviour=Pedestrians())
    sol = jo.solve(people, jo.Venel(), t=240.0, h=0.05, every=0.2, until=plan.empty, change=plan.changes(people))
    t = np.sort(jo.analysis.crossings(sol, link.start).t)
    return float((0.8 * n - 0.2 * n) / (t[int(0.8 * n)] - t[int(0.2 * n)]) / width)


Experiment = tuple[Callable[..., float], tuple[Any, ...], int, str]
VALIDATION: dict[str, Experiment] = {
    "doors": (door, DOORS, 2, "people/s/m"),
    "single file": (single_file, SPACINGS, 0, "m/s"),
    "corridor": (corridor, DENSITIES, 2, "m/s"),
    "corners": (corner, CORNERS, 1, "people/s/m"),
    "stairs": (stairs, ("up", "down"), 1, "people/s/m"),
    "counterflow": (counterflow, (100,), 1, "s"),
}
"""The function of each experiment, its cases, the number of seeds (0: nothing is random), and the unit."""
QUICK = {"doors": (1.2,), "single file": (1.0,), "corridor": (2.0,), "corners": (1.2,), "stairs": (), "counterflow": ()}


def expected(name: str, case: Any) -> float | None:
    """What experiments give, if they give a number."""
    if name == "doors":
        level, slope = regression()
        return level / case + slope
    if name == "stairs":
        return STAIR_FLOWS[case]
    return {"single file": seyfried, "corridor": weidmann}[name](case) if name in ("single file", "corridor") else None


def run(task: tuple[str, str, Any, int]) -> float:
    """The result of one model in one case with one seed; NaN if JuPedSim stops because an agent is outside."""
    name, model, case, seed = task
    measure, _, seeds, _ = VALIDATION[name]
    try:
        return measure(model, case, seed) if seeds else measure(model, case)
    except RuntimeError as error:
        print(f"{model}, {name} {case}: {error}", file=sys.stderr)
        return float("nan")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one case of the cheap experiments, one seed")
    parser.add_argument("--save", type=Path, help="keep the figures in this file")
    options = parser.parse_args()
    models = [PEDESTRIANS, *(PEERS if find_spec("jupedsim") else ())]
    tasks = [
        (name, model, case, seed)
        for name, (_, cases, seeds, _) in VALIDATION.items()
        for case in (QUICK[name] if options.quick else cases)
        for model in models
        for seed in range(1 if options.quick or model != PEDESTRIANS else max(seeds, 1))
    ]
    found: dict[tuple[str, Any, str], list[float]] = {}
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        for (name, model, case, seed), value in zip(tasks, pool.map(run, tasks), strict=True):
            print(name, case, model, seed, round(value, 3), file=sys.stderr, flush=True)
            found.setdefault((name, case, model), []).append(value)
    rows = []
    print(f"{'':<20}" + "".join(f"{model:>18}" for model in models) + f"{'experiments':>14}")
    for name, case in dict.fromkeys(key[:2] for key in found):
        means = {model: rounded(float(np.mean(found[name, case, model]))) for model in models}
        target, unit = expected(name, case), VALIDATION[name][3]
        wanted = None if target is None else round(target, 3)
        rows.append({"experiment": name, "case": case, "unit": unit, "expected": wanted, **means})
        texts = "".join(f"{'-' if value is None else f'{value:.2f}':>18}" for value in means.values())
        print(f"{name} {case!s:<8}".ljust(20) + texts + ("" if target is None else f"{target:14.2f}") + f"  {unit}")
    errors = {}
    for name in dict.fromkeys(row["experiment"] for row in rows if row["expected"] is not None):
        own = [row for row in rows if row["experiment"] == name]
        errors[name] = {
            model: rounded(float(np.mean([abs(row[model] - row["expected"]) for row in own])))
            if all(row[model] is not None for row in own)
            else None
            for model in models
        }
        print(f"mean error, {name}: " + ", ".join(f"{model} {error}" for model, error in errors[name].items()))
    level, slope = regression()
    figures = {"rows": rows, "errors": errors, "regression": [round(level, 4), round(slope, 4)], "near": NEAR}
    figures |= {"jupedsim": version("jupedsim") if len(models) > 1 else None}
    if options.save:
        options.save.write_text(json.dumps(figures, indent=1) + "\n")
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
