"""How people walk, beside experiments and JuPedSim: ``python benchmarks/validation.py [--quick] [--save FILE]``.

One process for each core runs the cases, the longest first. Each result is appended to the file --results as soon as it
is known; a run that was interrupted continues with the results in this file. The last line of the output is JSON.

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
T-junction    two streams of 90 people merge, all corridors are 2.4 m wide: flow a metre behind the junction, densities
              and speeds in front of it and behind it. Zhang et al. 2013: at the same density people are slower in front
              than behind; the two branches are alike
stairs        flow a metre over stairs of 2 m, up and down; Weidmann 1993; JuPedSim has no stairs
counterflow   100 people meet 100 in a corridor of 4 m x 30 m: when it is empty
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, as_completed
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
    sol = jo.solve(people, jo.Venel(), t=240.0, h=0.05, every=0.2, until=plan.empty, change=people.changes())
    t = np.sort(jo.crowds.crossings(sol, link.start).t)
    return float((0.8 * n - 0.2 * n) / (t[int(0.8 * n)] - t[int(0.2 * n)]) / width)


def t_junction(model: str, width: float, seed: int = 0) -> dict[str, float]:
    """Flow, densities and speeds where two streams merge, while the 15th to the 60th of 100 people pass."""
    arm, stem, n = 16.0, 9.0, 90
    b, end = width, 2 * arm + width
    area = [(0, 0), (end, 0), (end, b), (arm + b, b), (arm + b, b + stem), (arm, b + stem), (arm, b), (0, b)]
    plan = Plan(area, exits={"north": ((arm, b + stem), (arm + b, b + stem))})
    starts = {"left": box(0, 0, arm - 1, b), "right": box(arm + b + 1, 0, end, b)}
    groups = [Group(name, n, radius=RADIUS, speed=SPEED, start=start) for name, start in starts.items()]
    paths = walked(Scene(plan, groups, seed, 240.0), model)
    passed = paths.passed(1, b + 2.0)
    if len(passed) < int(0.6 * 2 * n) + 1:
        return dict.fromkeys(JUNCTION, 0.0)
    first, last = passed[int(0.15 * 2 * n)], passed[int(0.6 * 2 * n)]
    steady = (paths.t[:-1] >= first) & (paths.t[:-1] < last)
    x, y = paths.q[:-1, :, 0][steady], paths.q[:-1, :, 1][steady]
    speed = (np.linalg.norm(np.diff(paths.q, axis=0), axis=2) / np.diff(paths.t)[:, None])[steady]
    with np.errstate(invalid="ignore"):
        aside = np.abs(x - (arm + b / 2)) - b / 2
        branches = (aside > 0.5) & (aside < 2.5)
        left, right = branches & (x < arm), branches & (x > arm)
        behind = (y > b + 0.5) & (y < b + 2.5)
    found = {"flow behind": (int(0.6 * 2 * n) - int(0.15 * 2 * n)) / (last - first) / b}
    for name, there in (("left", left), ("right", right), ("behind", behind)):
        found[f"density {name}"] = there.sum() / len(there) / (2.0 * b)
        found[f"speed {name}"] = np.nanmean(speed[there])
    return {name: float(value) for name, value in found.items()}


JUNCTION = {
    "flow behind": "people/s/m", "density left": "people/m²", "density right": "people/m²",
    "density behind": "people/m²", "speed left": "m/s", "speed right": "m/s", "speed behind": "m/s",
}  # fmt: skip
"""The quantities that are measured at the T-junction, and their units."""
Result = float | dict[str, float]
Experiment = tuple[Callable[..., Result], tuple[Any, ...], int, str]
VALIDATION: dict[str, Experiment] = {
    "doors": (door, DOORS, 1, "people/s/m"),
    "single file": (single_file, SPACINGS, 0, "m/s"),
    "corridor": (corridor, DENSITIES, 2, "m/s"),
    "corners": (corner, CORNERS, 1, "people/s/m"),
    "T-junction": (t_junction, (2.4,), 2, ""),
    "stairs": (stairs, ("up", "down"), 1, "people/s/m"),
    "counterflow": (counterflow, (100,), 1, "s"),
}
"""The function of each experiment, its cases, the number of seeds (0: nothing is random), and the unit."""
QUICK = {"doors": (0.8,), "single file": (1.0,), "corridor": (2.0,), "corners": (1.2,)}
"""The cases of --quick, all with one seed."""
LONGEST_FIRST = ("doors", "corners", "T-junction", "counterflow")
"""Experiments whose cases take longest; of these the wide ones."""
WIDEST_FOR_FORCE = {"doors": 1.2, "corners": 2.0}
"""Widest cases of the force model: it stops in all of them, and in wider ones only after minutes."""
Task = tuple[str, str, Any, int]
"""An experiment, a model, a case and a seed."""


def expected(name: str, case: Any) -> float | None:
    """The number that experiments give, or None."""
    level, slope = regression()
    if name == "stairs":
        return STAIR_FLOWS[case]
    curves = {"doors": lambda width: level / width + slope, "single file": seyfried, "corridor": weidmann}
    return round(curves[name](case), 3) if name in curves else None


def run(task: Task) -> Result:
    """The result of one model in one case with one seed; NaN if JuPedSim stops because an agent is outside."""
    name, model, case, seed = task
    measure, _, seeds, _ = VALIDATION[name]
    try:
        return measure(model, case, seed) if seeds else measure(model, case)
    except RuntimeError as error:
        print(f"{model}, {name} {case}: {error}", file=sys.stderr)
        return dict.fromkeys(JUNCTION, float("nan")) if name == "T-junction" else float("nan")


def length(task: Task) -> float:
    """A number that is the larger, the longer a task takes."""
    name, _, case, _ = task
    return float(case) if name in LONGEST_FIRST else 0.0


def measured(tasks: list[Task], kept: Path | None) -> dict[Task, Result]:
    """The results of all tasks; those in the file `kept` are read, the others are computed and appended to it."""
    found: dict[Task, Result] = {}
    if kept is not None and kept.exists():
        for line in kept.read_text().splitlines():
            *task, result = json.loads(line)
            found[tuple(task)] = result  # type: ignore[index]
    rest = sorted((task for task in tasks if task not in found), key=length, reverse=True)
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        running = {pool.submit(run, task): task for task in rest}
        for done in as_completed(running):
            task = running[done]
            found[task] = done.result()
            print(*task, found[task], file=sys.stderr, flush=True)
            if kept is not None:
                with kept.open("a") as file:
                    file.write(json.dumps([*task, found[task]]) + "\n")
    return {task: found[task] for task in tasks}


def table(results: dict[Task, Result], models: list[str]) -> list[dict[str, Any]]:
    """The mean of the seeds of each experiment, case and model, beside the experiments."""
    values: dict[tuple[str, Any, str], dict[str, list[float]]] = {}
    for (name, model, case, _), result in results.items():
        several = result if isinstance(result, dict) else {case: result}
        for key, value in several.items():
            values.setdefault((name, key, unit_of(name, key)), {}).setdefault(model, []).append(value)
    rows = []
    for (name, case, unit), found in values.items():
        target = expected(name, case)
        means = {model: float(np.mean(found[model])) for model in models if model in found}
        stopped = [model for model, mean in means.items() if np.isnan(mean)]
        figures = {model: rounded(mean) for model, mean in means.items()}
        rows.append({"experiment": name, "case": case, "unit": unit, "expected": target, "stopped": stopped, **figures})
    return rows


def unit_of(name: str, case: Any) -> str:
    return JUNCTION[case] if name == "T-junction" else VALIDATION[name][3]


def mean_errors(rows: list[dict[str, Any]], models: list[str]) -> dict[str, dict[str, float | None]]:
    """The mean distance of each model to the experiments that give numbers; None if the model has no result."""
    errors: dict[str, dict[str, float | None]] = {}
    for name in dict.fromkeys(row["experiment"] for row in rows if row["expected"] is not None):
        own = [row for row in rows if row["experiment"] == name]
        for model in models:
            known = all(row.get(model) is not None for row in own)
            error = float(np.mean([abs(row[model] - row["expected"]) for row in own])) if known else None
            errors.setdefault(name, {})[model] = None if error is None else rounded(error)
    return errors


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="one case of the cheap experiments, one seed")
    parser.add_argument("--save", type=Path, help="keep the figures in this file")
    parser.add_argument("--results", type=Path, help="append each result to this file, and continue with those in it")
    options = parser.parse_args()
    os.environ.setdefault("NUMBA_NUM_THREADS", "1")  # one process for each core
    models = [PEDESTRIANS, *(PEERS if find_spec("jupedsim") else ())]
    tasks = [
        (name, model, case, seed)
        for name, (_, cases, seeds, _) in VALIDATION.items()
        for case in (QUICK.get(name, ()) if options.quick else cases)
        for model in models
        for seed in range(1 if options.quick or model != PEDESTRIANS else max(seeds, 1))
        if model != PEERS[1] or name not in WIDEST_FOR_FORCE or case <= WIDEST_FOR_FORCE[name]
    ]
    rows = table(measured(tasks, options.results), models)
    print(f"{'':<28}" + "".join(f"{model:>18}" for model in models) + f"{'experiments':>14}")
    for row in rows:
        texts = "".join(f"{'-' if row.get(model) is None else f'{row[model]:.2f}':>18}" for model in models)
        target = "" if row["expected"] is None else f"{row['expected']:.2f}"
        print(f"{row['experiment']} {row['case']}".ljust(28) + texts + f"{target:>14}  {row['unit']}")
    errors = mean_errors(rows, models)
    for name, error in errors.items():
        print(f"mean error, {name}: " + ", ".join(f"{model} {value}" for model, value in error.items()))
    level, slope = regression()
    figures = {"rows": rows, "errors": errors, "regression": [round(level, 4), round(slope, 4)], "near": NEAR}
    figures |= {"jupedsim": version("jupedsim") if len(models) > 1 else None}
    if options.save:
        options.save.write_text(json.dumps(figures, indent=1) + "\n")
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
