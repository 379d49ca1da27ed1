"""How people walk, beside experiments and JuPedSim: ``python benchmarks/validation.py [--quick] [--save FILE]``.

One process for each core runs the cases, the longest first. Each result is appended to the file --results as soon as it
is known; a run that was interrupted continues with the results in this file. The last line of the output is JSON.
``--set T=0.8 own=1.5`` gives `Pedestrians` other parameters. ``--ours`` does not run JuPedSim, and keeps its figures in
the file of ``--save``. ``--verify`` runs the
tests of `jostle dev verify` with these parameters instead, ``--junction`` shows what the densities at the T-junction
depend on, and ``--trade`` compares several sets of parameters in the experiments that have a band.

All models walk through the same geometries, with one set of parameters each: `Pedestrians`, the behaviour of scenario
files, and two models of JuPedSim with their default parameters, the collision-free speed model (Tordeux, Chraibi &
Seyfried 2016) and the generalised centrifugal force model (Chraibi, Seyfried & Schadschneider 2010). People have the
radius 0.2 m and the speed 1.34 m/s.

The Hermes experiments are those of Zhang et al. 2011 and 2012, evaluated with the Voronoi method; their numbers, run by
run, stand in the history of JuPedSim (commit d65c9f30, Utest/Validation). Ours are means over the steady time: the
number of people in an area divided by the area, their speed over 0.8 s, and the number of people who pass a line.
Voronoi cells give the same mean densities where people are spread evenly.

doors          flow a metre through doors of 0.8 to 5 m, with 115 people a metre: then the flow of the whole run is that
               of the steady state (Liao et al. 2015). Experiments: the regression J = a + b width through the flows of
               Mueller 1981, Seyfried et al. 2009 and Daamen & Hoogendoorn 2010, at widths of 0.6 to 1.8 m; the flow
               grows linearly up to 5 m (Liao et al. 2014)
narrow doors   flow of a hundred people through doors of 0.6 to 1.2 m; Kretz, Gruenebohm & Schreckenberg 2006
single file    speed at 0.64 to 2.36 people a metre (Seyfried et al. 2005)
corridor       speed at 0.5 to 3 people a square metre in a corridor of 3 m, all at the same density; Weidmann 1993
ring           the same in a corridor of 1.8 m; Hermes, closed ring
open corridor  density and speed in a corridor of 3 m x 8 m behind a waiting crowd, whose entrance or exit is narrow;
               the expected speed is that of the experiments, interpolated at our density
corners        flow a metre behind the corner of an L-shaped corridor of 1.2 to 5 m; Hermes: 2.4 m
T-junction     two streams of 90 people merge, all corridors are 2.4 m wide: flow a metre behind the junction, densities
               and speeds in front of it and behind it; Hermes, run 240-240
bidirectional  two streams meet in a corridor of 3.6 m: flow a metre of both at the density that arises; Hermes
stairs         flow a metre over stairs of 2 m, up and down; Weidmann 1993; JuPedSim has no stairs
counterflow    100 people meet 100 in a corridor of 4 m x 30 m: when it is empty
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
from typing import Any, NamedTuple

import numpy as np
from behaviours import (
    CORNERS,
    DENSITIES,
    DOORS,
    PEDESTRIANS,
    RADIUS,
    SPEED,
    Model,
    Paths,
    Scene,
    box,
    corner,
    corridor,
    counterflow,
    rounded,
    single_file,
    walked,
)  # fmt: skip
from behaviours import door as door_of_100
from doors import EXPERIMENTS

import jostle as jo
from jostle.crowds import Group, Link, Pedestrians, Plan, weidmann
from jostle.verification import situations, verify
from jostle.verification.situations import STAIR_FLOWS

PEERS = ("JuPedSim, speed", "JuPedSim, force")
PEOPLE_PER_METRE, FEWEST = 115, 100
"""Number of people before a door for each metre of its width, and the smallest number of people."""
NEAR = 0.3
"""Flows a metre that differ by less (people/s/m) agree with the regression."""


def regression() -> tuple[float, float]:
    """a (people/s) and b (people/s/m) of the least-squares line J = a + b width through the experiments."""
    points = [(width, flow) for found in EXPERIMENTS.values() for width, flow in found.items()]
    slope, level = np.polyfit(*np.array(points).T, 1)
    return float(level), float(slope)


def door(model: Model, width: float, seed: int = 0) -> float:
    """People a second and metre through a door, (N - 1) / (t_N - t_1) / width; 0 if not all are out."""
    n, side = max(FEWEST, round(PEOPLE_PER_METRE * width)), max(8.0, width + 4.0)
    length = n / 3.5 / (side - 2.0) + 1.0
    plan = Plan(box(0, 0, length, side), exits={"door": ((length, (side - width) / 2), (length, (side + width) / 2))})
    groups = [Group("people", n, radius=RADIUS, speed=SPEED, start=box(0.5, 1, length, side - 1))]
    t = walked(Scene(plan, groups, seed, 240.0), model).passed(0, length)
    return float((n - 1) / (t[-1] - t[0]) / width) if len(t) == n else 0.0


def stairs(model: Model, pace: str, seed: int = 0) -> float:
    """People a second and metre onto stairs of 2 m, in the middle 60 % of 150 people; JuPedSim has no stairs."""
    if model in PEERS:
        return float("nan")
    n, width = 150, 2.0
    link = Link("stairs", ((12, 3), (12, 5)), ((30, 3), (30, 5)), length=8.0, pace=pace)
    floors = [[(0, 0), (6, 0), (6, 3), (12, 3), (12, 5), (6, 5), (6, 8), (0, 8)], box(30, 0, 34, 8)]
    plan = Plan(floors, exits={"out": ((34, 0), (34, 8))}, links=[link])
    group = Group("people", n, radius=RADIUS, speed=SPEED, start=box(0, 0, 6, 8))
    people = jo.crowds.crowd(group, room=plan, seed=seed, behaviour=Pedestrians() if model == PEDESTRIANS else model)
    sol = jo.solve(people, jo.Venel(), t=240.0, h=0.05, every=0.2, until=plan.empty)
    t = np.sort(jo.crowds.crossings(sol, link.start).t)
    return float((0.8 * n - 0.2 * n) / (t[int(0.8 * n)] - t[int(0.2 * n)]) / width)


class Steady(NamedTuple):
    """People while the middle part of the crowd passes a line: positions (k, n, 2), their speeds (k, n), the flow."""

    q: np.ndarray
    speed: np.ndarray
    flow: float
    """People a second who pass the line."""

    def inside(self, x0: float, y0: float, x1: float, y1: float) -> tuple[float, float]:
        """Density and mean speed in a rectangle."""
        with np.errstate(invalid="ignore"):
            there = ((self.q > (x0, y0)) & (self.q < (x1, y1))).all(axis=2)
        density = there.sum() / len(there) / ((x1 - x0) * (y1 - y0))
        return float(density), float(np.nanmean(self.speed[there])) if there.any() else float("nan")


SPEED_FRAMES = 2
"""Speeds are those from this number of saved frames (0.2 s) before to this number after a frame."""


def steady(paths: Paths, passed: np.ndarray, begin: float, end: float) -> Steady | None:
    """The time between the passages of two fractions of all people; None if too few pass."""
    n = paths.q.shape[1]
    first, last = int(begin * n), int(end * n)
    if len(passed) <= last:
        return None
    k = SPEED_FRAMES
    speed = (
        np.linalg.norm(paths.q[2 * k :] - paths.q[: -2 * k], axis=2) / (paths.t[2 * k :] - paths.t[: -2 * k])[:, None]
    )
    now = (paths.t[k:-k] >= passed[first]) & (paths.t[k:-k] < passed[last])
    return Steady(paths.q[k:-k][now], speed[now], float((last - first) / (passed[last] - passed[first])))


def kretz_door(model: Model, width: float, seed: int = 0) -> float:
    """People a second through a door."""
    return width * door_of_100(model, width, seed)


def file_speed(model: Model, density: float) -> float:
    """The speed of people who walk behind each other, people a metre."""
    return single_file(model, 1.0 / density)


def ring(model: Model, density: float, seed: int = 0) -> float:
    """The speed in a corridor of 1.8 m."""
    return corridor(model, density, seed, width=1.8)


def open_corridor(model: Model, widths: str, seed: int = 0) -> dict[str, float]:
    """Density, speed and flow in a corridor of 3 m x 8 m behind a waiting crowd; "entrance / exit" are widths."""
    entrance, out = map(float, widths.split(" / "))
    n, middle = 180, 4.5
    low, high = middle - entrance / 2, middle + entrance / 2
    door = [(9, low), (9.2, low), (9.2, 3)], [(9.2, 6), (9.2, high), (9, high)]
    area = [
        (0, 0),
        (9, 0),
        *door[0][: 3 if low > 3 else 1],
        (17, 3),
        (17, 6),
        *door[1][0 if low > 3 else 2 :],
        (9, 9),
        (0, 9),
    ]
    plan = Plan(area, exits={"east": ((17, middle - out / 2), (17, middle + out / 2))})
    groups = [Group("people", n, radius=RADIUS, speed=SPEED, start=box(0.5, 0.5, 9, 8.5))]
    paths = walked(Scene(plan, groups, seed, 240.0), model)
    found = steady(paths, paths.passed(0, 13.0), 0.25, 0.7)
    if found is None:
        return dict.fromkeys(OPEN, 0.0)
    density, speed = found.inside(12, 3, 14, 6)
    return {"density": density, "speed": speed, "flow": found.flow / 3.0}


def bidirectional(model: Model, start: float, seed: int = 0) -> dict[str, float]:
    """Density, speed and flow of both directions in the middle of a corridor, from a density at the start."""
    b, length, half, n = 3.6, 44.0, 20.0, round(start * 3.6 * 20.0)
    plan = Plan(box(0, 0, length, b), exits={"west": ((0, 0), (0, b)), "east": ((length, 0), (length, b))})
    starts = {"east": box(0, 0, half, b), "west": box(length - half, 0, length, b)}
    groups = [Group(to, n, radius=RADIUS, speed=SPEED, goal=to, start=where) for to, where in starts.items()]
    paths = walked(Scene(plan, groups, seed, 180.0), model)
    passed = [
        Paths(paths.t, paths.q[:, who]).passed(0, length / 2, sign)
        for who, sign in ((slice(n), 1.0), (slice(n, None), -1.0))
    ]
    found = steady(paths, np.sort(np.concatenate(passed)), 0.3, 0.7)
    if found is None:
        return dict.fromkeys(OPEN, 0.0)
    density, speed = found.inside(length / 2 - 2, 0, length / 2 + 2, b)
    return {"density": density, "speed": speed, "flow": found.flow / b}


def hermes_corner(model: Model, width: float, seed: int = 0) -> dict[str, float]:
    """Flow behind a corner, densities and speeds from 2.1 to 0.1 m in front of it and from 1 to 3 m behind it."""
    feed, n = 27.0, int(60 * width)
    area = [(0, 0), (feed + width, 0), (feed + width, 8 + width), (feed, 8 + width), (feed, width), (0, width)]
    plan = Plan(area, exits={"north": ((feed, 8 + width), (feed + width, 8 + width))})
    groups = [Group("people", n, radius=RADIUS, speed=SPEED, start=box(0, 0, feed - 1, width))]
    paths = walked(Scene(plan, groups, seed, 240.0), model)
    found = steady(paths, paths.passed(1, width + 2.0), 0.15, 0.6)
    if found is None:
        return dict.fromkeys(CORNER, 0.0)
    before, behind = (
        found.inside(feed - 2.1, 0, feed - 0.1, width),
        found.inside(feed, width + 1, feed + width, width + 3),
    )
    return dict(zip(CORNER, (found.flow / width, *before, *behind), strict=True))


ARM = 16.0
"""Length of the corridors in front of the T-junction."""


def merging(model: Model, b: float, seed: int, n: int = 90) -> Paths:
    """Where the people of two streams of n are who merge at a T-junction."""
    stem, end = 9.0, 2 * ARM + b
    area = [(0, 0), (end, 0), (end, b), (ARM + b, b), (ARM + b, b + stem), (ARM, b + stem), (ARM, b), (0, b)]
    plan = Plan(area, exits={"north": ((ARM, b + stem), (ARM + b, b + stem))})
    starts = {"left": box(0, 0, ARM - 1, b), "right": box(ARM + b + 1, 0, end, b)}
    groups = [Group(name, n, radius=RADIUS, speed=SPEED, start=start) for name, start in starts.items()]
    return walked(Scene(plan, groups, seed, 240.0), model)


def merged(paths: Paths, b: float, begin: float, end: float) -> dict[str, float]:
    """Flow, densities and speeds at the T-junction while two fractions of all people pass."""
    found = steady(paths, paths.passed(1, b + 2.0), begin, end)
    if found is None:
        return dict.fromkeys(JUNCTION, 0.0)
    left, right = found.inside(ARM - 2.1, 0, ARM - 0.1, b), found.inside(ARM + b + 1, 0, ARM + b + 3, b)
    behind = found.inside(ARM, b + 1, ARM + b, b + 3)
    return dict(zip(JUNCTION, (found.flow / b, *left, *right, *behind), strict=True))


def t_junction(model: Model, width: float, seed: int = 0) -> dict[str, float]:
    """Flow, densities and speeds where two streams merge, while 15 % to 60 % of all people pass."""
    return merged(merging(model, width, seed), width, 0.15, 0.6)


def print_junction(parameters: dict[str, float]) -> None:
    """Print what the densities at the T-junction depend on: time, number of people, distance behind it."""
    b = 2.4
    for n in (90, 60):
        paths = merging(Pedestrians(**parameters), b, 0, n)
        for begin, end in ((0.15, 0.6), (0.05, 0.2), (0.15, 0.3), (0.3, 0.45), (0.45, 0.6)):
            words = ", ".join(f"{name} {value:.2f}" for name, value in merged(paths, b, begin, end).items())
            print(f"{n} people in each arm, while {begin:.0%} to {end:.0%} pass: {words}", flush=True)
        found = steady(paths, paths.passed(1, b + 2.0), 0.15, 0.6)
        for y in np.arange(0.0, 4.0, 0.5) if found else ():
            density, speed = found.inside(ARM, b + y, ARM + b, b + y + 0.5)
            print(
                f"{n} people in each arm, {y:.1f} m to {y + 0.5:.1f} m behind: density {density:.2f}, speed {speed:.2f}"
            )


FLOW_UNIT, DENSITY_UNIT, SPEED_UNIT = "people/s/m", "people/m²", "m/s"
JUNCTION = {
    "flow behind": (FLOW_UNIT, 1.66), "density left": (DENSITY_UNIT, 2.82), "speed left": (SPEED_UNIT, 0.32),
    "density right": (DENSITY_UNIT, 2.93), "speed right": (SPEED_UNIT, 0.33),
    "density behind": (DENSITY_UNIT, 2.35), "speed behind": (SPEED_UNIT, 0.71),
}  # fmt: skip
"""The quantities that are measured at the T-junction, their units, and the run 240-240 of the experiment."""
CORNER = {
    "flow behind": (FLOW_UNIT, 1.46), "density before": (DENSITY_UNIT, 2.02), "speed before": (SPEED_UNIT, 0.75),
    "density behind": (DENSITY_UNIT, 1.55), "speed behind": (SPEED_UNIT, 0.91),
}  # fmt: skip
"""The same at the corner of 2.4 m; the flow is the mean of 1.52 and 1.40 in the two areas of run 240-240."""
OPEN = {"density": (DENSITY_UNIT, None), "speed": (SPEED_UNIT, None), "flow": (FLOW_UNIT, None)}
"""The quantities in the open corridor and in two streams that meet; they are compared at the density that arises."""
OPEN_CORRIDOR = (
    (0.40, 1.47), (0.66, 1.45), (1.19, 1.20), (1.47, 1.16), (1.80, 0.98), (2.38, 0.55), (2.56, 0.43), (2.79, 0.33),
    (3.36, 0.18),
)  # fmt: skip
RING = ((0.34, 1.11), (0.73, 0.94), (1.27, 0.70), (1.71, 0.56), (2.26, 0.42), (2.70, 0.35), (3.27, 0.23), (3.71, 0.17))
BIDIRECTIONAL = ((0.45, 1.52), (0.67, 1.31), (0.99, 1.18), (1.61, 0.85), (2.25, 0.56), (2.56, 0.52))
"""Densities (people/m2) and speeds (m/s) of the Hermes experiments: corridor of 3 m, ring of 1.8 m, two directions."""
SINGLE_FILE = ((0.64, 0.93), *situations.FILE, (2.36, 0.05))
"""People a metre and speeds (m/s), Seyfried et al. 2005."""
KRETZ = {0.4: (0.88, 0.90), 0.6: (1.12, 1.12), 0.8: (1.39, 1.46), 1.0: (1.71, 2.02), 1.2: (2.03, 2.29)}
"""People a second through doors by their width, from the smallest to the largest of the experiments."""
Result = float | dict[str, float]
SEEDS = 10
"""Number of seeds of `Pedestrians` in experiments with people at random places; JuPedSim has one seed."""
Experiment = tuple[Callable[..., Result], tuple[Any, ...], bool, str]
VALIDATION: dict[str, Experiment] = {
    "doors": (door, DOORS, True, FLOW_UNIT),
    "narrow doors": (kretz_door, tuple(width for width in KRETZ if width > 2 * RADIUS), True, "people/s"),
    "single file": (file_speed, tuple(density for density, _ in SINGLE_FILE), False, SPEED_UNIT),
    "corridor": (corridor, DENSITIES, True, SPEED_UNIT),
    "ring": (ring, tuple(density for density, _ in RING), True, SPEED_UNIT),
    "open corridor": (open_corridor, ("0.7 / 3", "1.2 / 3", "2 / 3", "3 / 3", "3 / 2", "3 / 1.5", "3 / 1"), True, ""),
    "corners": (corner, CORNERS, True, FLOW_UNIT),
    "corner of 2.4 m": (hermes_corner, (2.4,), True, ""),
    "T-junction": (t_junction, (2.4,), True, ""),
    "bidirectional": (bidirectional, (0.25, 0.5, 0.75, 1.0, 1.4), True, ""),
    "stairs": (stairs, ("up", "down"), True, FLOW_UNIT),
    "counterflow": (counterflow, (100,), True, "s"),
}
"""The function of each experiment, its cases, whether people start at random places, and the unit."""
QUANTITIES: dict[str, dict[str, tuple[str, float | None]]] = {
    "T-junction": JUNCTION, "corner of 2.4 m": CORNER, "open corridor": OPEN, "bidirectional": OPEN,
}  # fmt: skip
"""The experiments that give several quantities: their units, and the experiment's values."""
CURVES = {"open corridor": OPEN_CORRIDOR, "bidirectional": BIDIRECTIONAL}
"""Experiments that are compared at the density that arises."""
QUICK = {"doors": (0.8,), "single file": (1.14,), "corridor": (2.0,), "corners": (1.2,)}
"""The cases of --quick, all with one seed."""
LONGEST_FIRST = ("doors", "corners", "T-junction", "counterflow", "corner of 2.4 m", "bidirectional")
"""Experiments whose cases take longest; of these the wide ones."""
WIDEST_FOR_FORCE = {"doors": 1.2, "narrow doors": 0.6, "corners": 2.0, "corner of 2.4 m": 0.0, "T-junction": 0.0}
"""Widest cases of the force model: it stops in all of them, and in wider ones only after minutes."""
OPEN_FOR_PEERS = {PEERS[0]: ("1.2 / 3", "2 / 3", "3 / 3", "3 / 2", "3 / 1.5", "3 / 1"), PEERS[1]: ("0.7 / 3",)}
"""Widths of the open corridor for JuPedSim: the speed model is not through an entrance of 0.7 m after 100 s of
processor time, and the force model stops there."""
Task = tuple[str, str, Any, int]
"""An experiment, a model, a case and a seed."""


def expected(name: str, case: Any, quantity: str = "", density: float | None = None) -> float | None:
    """The number that experiments give, or None; where they give a curve, the number at our density."""
    level, slope = regression()
    if name in CURVES:
        known = quantity in ("speed", "flow") and density is not None and CURVES[name][0][0] <= density
        if not known or density > CURVES[name][-1][0]:
            return None
        speed = float(np.interp(density, *np.array(CURVES[name]).T))
        return round(speed if quantity == "speed" else density * speed, 3)
    if name in QUANTITIES:
        return QUANTITIES[name][quantity][1]
    curves: dict[str, Callable[[Any], float]] = {
        "doors": lambda width: level / width + slope, "narrow doors": lambda width: float(np.mean(KRETZ[width])),
        "single file": dict(SINGLE_FILE).__getitem__, "ring": dict(RING).__getitem__, "stairs": STAIR_FLOWS.__getitem__,
        "corridor": lambda density: float(weidmann(density)),
    }  # fmt: skip
    return round(curves[name](case), 3) if name in curves else None


def run(task: Task, parameters: dict[str, float]) -> Result:
    """The result of one model in one case with one seed; NaN if JuPedSim stops because an agent is outside."""
    name, model, case, seed = task
    measure, _, random, _ = VALIDATION[name]
    walker = Pedestrians(**parameters) if model == PEDESTRIANS else model
    try:
        return measure(walker, case, seed) if random else measure(walker, case)
    except RuntimeError as error:
        print(f"{model}, {name} {case}: {error}", file=sys.stderr)
        return dict.fromkeys(QUANTITIES[name], float("nan")) if name in QUANTITIES else float("nan")


def length(task: Task) -> float:
    """A number that is the larger, the longer a task takes."""
    name, _, case, _ = task
    return float(case) if name in LONGEST_FIRST else 0.0


def measured(tasks: list[Task], kept: Path | None, parameters: dict[str, float]) -> dict[Task, Result]:
    """The results of all tasks; those in the file `kept` are read, the others are computed and appended to it."""
    found: dict[Task, Result] = {}
    if kept is not None and kept.exists():
        for line in kept.read_text().splitlines():
            *task, result = json.loads(line)
            found[tuple(task)] = result  # type: ignore[index]
    rest = sorted((task for task in tasks if task not in found), key=length, reverse=True)
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        running = {pool.submit(run, task, parameters): task for task in rest}
        for done in as_completed(running):
            task = running[done]
            found[task] = done.result()
            print(*task, found[task], file=sys.stderr, flush=True)
            if kept is not None:
                with kept.open("a") as file:
                    file.write(json.dumps([*task, found[task]]) + "\n")
    return {task: found[task] for task in tasks}


def table(results: dict[Task, Result], models: list[str]) -> list[dict[str, Any]]:
    """The mean of the seeds of each experiment, case, quantity and model, beside the experiments.

    "spread" is the standard deviation over the seeds, where there are several, and "locked" the number of seeds in
    which people did not get through; these do not count in the mean, which is 0 if all are such.
    """
    values: dict[tuple[str, Any, str], dict[str, list[float]]] = {}
    for (name, model, case, _), result in results.items():
        for quantity, value in (result if isinstance(result, dict) else {"": result}).items():
            values.setdefault((name, case, quantity), {}).setdefault(model, []).append(value)
    rows = []
    for (name, case, quantity), found in values.items():
        through = {m: [one for one in found[m] if one not in (0.0, np.inf)] for m in models if m in found}
        means = {model: float(np.mean(some)) if some else found[model][0] for model, some in through.items()}
        density = values.get((name, case, "density"), {}).get(PEDESTRIANS)
        target = expected(name, case, quantity, None if density is None else float(np.mean(density)))
        unit = QUANTITIES[name][quantity][0] if quantity else VALIDATION[name][3]
        row = {"experiment": name, "case": case, "quantity": quantity, "unit": unit, "expected": target}
        row["stopped"] = [model for model, mean in means.items() if np.isnan(mean)]
        row["spread"] = {
            model: rounded(float(np.std(some, ddof=1))) for model, some in through.items() if len(some) > 1
        }
        row["locked"] = {m: len(found[m]) - len(some) for m, some in through.items() if len(some) < len(found[m])}
        rows.append(row | {model: rounded(mean) for model, mean in means.items()})
    return rows


class Band(NamedTuple):
    """A figure that experiments give as a range."""

    what: str
    unit: str
    low: float
    high: float
    rows: Callable[[dict[str, Any]], bool]
    """Whether a row of the table belongs to it."""
    figure: Callable[[Any], Any] = np.mean
    """The figure from the values of these rows."""
    error: bool = False
    """Whether the figure is made of the distances to the experiment."""


def _is(name: str, *quantities: str) -> Callable[[dict[str, Any]], bool]:
    return lambda row: row["experiment"] == name and (not quantities or row["quantity"] in quantities)


PLATEAU = 1.5, 3.2
"""Densities (people/m2) between which the flow of two streams that meet does not depend on the density."""
BANDS = (
    Band("T-junction, flow behind", FLOW_UNIT, 1.51, 1.81, _is("T-junction", "flow behind")),
    Band("T-junction, density behind", DENSITY_UNIT, 2.0, 2.7, _is("T-junction", "density behind")),
    Band("T-junction, density in front", DENSITY_UNIT, 2.5, 3.2, _is("T-junction", "density left", "density right")),
    Band("corner of 2.4 m, flow", FLOW_UNIT, 1.40, 1.52, _is("corner of 2.4 m", "flow behind")),
    Band("two directions, flow at 1.5 to 3.2 people/m²", FLOW_UNIT, 1.24, 1.36, _is("bidirectional", "flow")),
    Band("single file, mean error", SPEED_UNIT, 0.0, 0.06, _is("single file"), error=True),
    Band("doors of 0.8 to 5 m, smallest flow", FLOW_UNIT, 1.7, 2.1, _is("doors"), min),
    Band("doors of 0.8 to 5 m, largest flow", FLOW_UNIT, 1.7, 2.1, _is("doors"), max),
)
"""What one set of parameters should reach."""


def reached(rows: list[dict[str, Any]], models: list[str]) -> list[dict[str, Any]]:
    """The figure of each model for each band; None where the model has no result."""
    dense = {
        (model, row["case"])
        for row in rows
        for model in models
        if _is("bidirectional", "density")(row) and PLATEAU[0] <= (row.get(model) or 0.0) <= PLATEAU[1]
    }
    found = []
    for band in BANDS:
        line: dict[str, Any] = {"what": band.what, "unit": band.unit, "low": band.low, "high": band.high}
        for model in models:
            own = [row for row in rows if band.rows(row) and row["experiment"] != "bidirectional"]
            own += [row for row in rows if band.rows(row) and (model, row["case"]) in dense]
            values = [row.get(model) for row in own]
            if band.error:
                values = [None if v is None else abs(v - row["expected"]) for v, row in zip(values, own, strict=True)]
            line[model] = rounded(float(band.figure(values))) if values and None not in values else None
        found.append(line)
    return found


def scatter(results: dict[Task, Result]) -> list[float | None]:
    """The standard deviation of each band's figure over the seeds of `Pedestrians`; None where nothing is random."""
    found: list[list[float]] = [[] for _ in BANDS]
    for seed in sorted({task[3] for task in results}):
        one = table({task: result for task, result in results.items() if task[3] == seed}, [PEDESTRIANS])
        for values, line in zip(found, reached(one, [PEDESTRIANS]), strict=True):
            values += [] if line[PEDESTRIANS] is None else [line[PEDESTRIANS]]
    return [rounded(float(np.std(values, ddof=1))) if len(values) > 1 else None for values in found]


def mean_errors(rows: list[dict[str, Any]], models: list[str]) -> dict[str, dict[str, float | None]]:
    """The mean distance of each model to the experiments that give numbers; None if the model has no result."""
    errors: dict[str, dict[str, float | None]] = {}
    for name in ("doors", "single file", "corridor", "ring", "stairs"):
        own = [row for row in rows if row["experiment"] == name]
        for model in models if own else ():
            known = all(row.get(model) is not None for row in own)
            error = float(np.mean([abs(row[model] - row["expected"]) for row in own])) if known else None
            errors.setdefault(name, {})[model] = None if error is None else rounded(error)
    return errors


CANDIDATES: tuple[dict[str, float], ...] = (
    {},
    {"T_file": 0.7},
    {"strip": 0.7},
    {"strip": 0.5},
    {"T": 0.9, "strip": 0.7, "strength": 4.0},
)
"""Parameters of `Pedestrians` that --trade compares."""
TRADE: dict[str, tuple[float, float]] = {
    "T-junction, flow": (1.51, 1.81), "density behind": (2.0, 2.7), "density in front": (2.5, 3.2),
    "corner": (1.40, 1.52), "two directions": (1.24, 1.36), "single file, error": (0.0, 0.06),
    "door of 1 m": (1.7, 2.1), "door of 2.4 m": (1.7, 2.1),
}  # fmt: skip
"""What --trade measures, and the bands of the experiments."""


def traded(task: tuple[dict[str, float], int]) -> list[float]:
    """What a set of parameters reaches with a seed in each experiment, with a hundred people before the doors."""
    parameters, seed = task
    model = Pedestrians(**parameters)
    junction, both = t_junction(model, 2.4, seed), bidirectional(model, 0.75, seed)
    return [
        junction["flow behind"], junction["density behind"], (junction["density left"] + junction["density right"]) / 2,
        hermes_corner(model, 2.4, seed)["flow behind"], both["flow"],
        float(np.mean([abs(file_speed(model, density) - speed) for density, speed in SINGLE_FILE])),
        door_of_100(model, 1.0, seed), door_of_100(model, 2.4, seed),
    ]  # fmt: skip


def trade(save: Path | None, seeds: int) -> None:
    """Print what each of the candidates reaches: mean and standard deviation over the seeds."""
    candidates = []
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        tasks = [(parameters, seed) for parameters in CANDIDATES for seed in range(seeds)]
        results = np.array(list(pool.map(traded, tasks))).reshape(len(CANDIDATES), seeds, len(TRADE))
    for parameters, found in zip(CANDIDATES, results, strict=True):
        words = ", ".join(f"{name} = {value:g}" for name, value in parameters.items()) or "default"
        means, spreads = (
            dict(zip(TRADE, map(rounded, some), strict=True))
            for some in (found.mean(axis=0), found.std(axis=0, ddof=1))
        )
        candidates.append({"parameters": words, "figures": means, "spread": spreads})
        print(candidates[-1])
    if save:
        save.write_text(json.dumps({"bands": TRADE, "seeds": seeds, "candidates": candidates}, indent=1) + "\n")


def print_verdicts(parameters: dict[str, float]) -> None:
    """Print what `jostle dev verify` finds with these parameters of `Pedestrians`."""
    situations.BEHAVIOUR["behaviour"] = {"kind": "pedestrians", **parameters}
    for line in verify():
        print(f"{line.guideline} {line.number}: {line.verdict}. {line.found}", flush=True)


def keep_peers(figures: dict[str, Any], before: dict[str, Any]) -> None:
    """Add the figures of JuPedSim from earlier ones."""
    old = {(row["experiment"], row["case"], row["quantity"]): row for row in before["rows"]}
    for row in figures["rows"]:
        kept = old.get((row["experiment"], row["case"], row["quantity"]), {})
        row["stopped"] += [model for model in kept.get("stopped", ()) if model in PEERS]
        row |= {model: kept[model] for model in PEERS if model in kept}
    lines = [*zip(figures["bands"], before["bands"], strict=True)]
    lines += [(error, before["errors"].get(name, {})) for name, error in figures["errors"].items()]
    for line, kept in lines:
        line |= {model: kept[model] for model in PEERS if model in kept}
    figures["jupedsim"] = before["jupedsim"]


def parameter(text: str) -> tuple[str, float]:
    """A parameter of `Pedestrians` from the command line, NAME=VALUE."""
    name, value = text.split("=")
    return name, float(value)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="one case of the cheap experiments, one seed")
    parser.add_argument("--ours", action="store_true", help="leave out JuPedSim")
    parser.add_argument("--seeds", type=int, default=SEEDS, help="number of seeds of Pedestrians")
    parser.add_argument("--set", type=parameter, nargs="+", default=[], help="parameters of Pedestrians, such as T=0.8")
    parser.add_argument("--only", nargs="+", default=list(VALIDATION), help="only these experiments")
    parser.add_argument("--trade", action="store_true", help="compare the candidates for the parameters of Pedestrians")
    parser.add_argument("--verify", action="store_true", help="the tests of guidelines, with the parameters of --set")
    parser.add_argument("--junction", action="store_true", help="what the densities at the T-junction depend on")
    parser.add_argument("--save", type=Path, help="keep the figures in this file")
    parser.add_argument("--results", type=Path, help="append each result to this file, and continue with those in it")
    options = parser.parse_args()
    os.environ.setdefault("NUMBA_NUM_THREADS", "1")  # one process for each core
    if options.trade:
        trade(options.save, options.seeds)
        return
    if options.verify or options.junction:
        (print_verdicts if options.verify else print_junction)(dict(options.set))
        return
    models = [PEDESTRIANS, *(PEERS if find_spec("jupedsim") and not options.ours else ())]
    tasks = [
        (name, model, case, seed)
        for name, (_, cases, random, _) in VALIDATION.items()
        if name in options.only
        for case in (QUICK.get(name, ()) if options.quick else cases)
        for model in models
        for seed in range(options.seeds if random and not options.quick and model == PEDESTRIANS else 1)
        if model != PEERS[1] or name not in WIDEST_FOR_FORCE or case <= WIDEST_FOR_FORCE[name]
        if model not in PEERS or name != "open corridor" or case in OPEN_FOR_PEERS[model]
    ]
    results = measured(tasks, options.results, dict(options.set))
    rows = table(results, models)
    print(f"{'':<40}" + "".join(f"{model:>18}" for model in models) + f"{'experiments':>14}")
    for row in rows:
        texts = "".join(f"{'-' if row.get(model) is None else f'{row[model]:.2f}':>18}" for model in models)
        target = "" if row["expected"] is None else f"{row['expected']:.2f}"
        print(f"{row['experiment']} {row['case']} {row['quantity']}".ljust(40) + texts + f"{target:>14}  {row['unit']}")
    errors, bands = mean_errors(rows, models), reached(rows, models)
    for name, error in errors.items():
        print(f"mean error, {name}: " + ", ".join(f"{model} {value}" for model, value in error.items()))
    for line, spread in zip(bands, scatter(results), strict=True):
        line["spread"] = spread
        words = [f"{line['what']}: {line['low']:g} to {line['high']:g} {line['unit']}".ljust(66)]
        for model in models:
            value = line[model]
            verdict = "-" if value is None else "reached" if line["low"] <= value <= line["high"] else "missed"
            words.append(f"{'' if value is None else f'{value:.2f} '}{verdict}".rjust(18))
        print("".join(words))
    level, slope = regression()
    figures = {"rows": rows, "errors": errors, "bands": bands, "regression": [round(level, 4), round(slope, 4)]}
    figures |= {"near": NEAR, "parameters": dict(options.set), "seeds": options.seeds}
    figures |= {"curves": {"open corridor": OPEN_CORRIDOR, "ring": RING, "bidirectional": BIDIRECTIONAL}}
    figures |= {"jupedsim": version("jupedsim") if len(models) > 1 else None}
    if options.save:
        if options.ours and options.save.exists():
            keep_peers(figures, json.loads(options.save.read_text()))
        options.save.write_text(json.dumps(figures, indent=1) + "\n")
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
