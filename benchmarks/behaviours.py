"""Behaviours of people beside experiments: ``python benchmarks/behaviours.py [--quick] [--calibrate] [--save FILE]``.

People of radius 0.2 m and speed 1.34 m/s, with time steps of 0.05 s unless said.

doors         flow a metre of doors of 0.8 to 5 m; experiments: 1.9 people/s/m (Seyfried et al. 2009)
corners       flow a metre behind the corner of an L-shaped corridor of 1.2 to 5 m
counterflow   people who meet in a corridor of 4 m x 30 m: when it is empty
standing      somebody stands in the middle of a corridor of 3 m, forty people walk by: when they are out
crossing      23 people cross a room of 10 m x 10 m to one of four exits each: when it is empty
single file   speed against the distance d of people in a row; v = (d - 0.36 m) / 1.06 s (Seyfried et al. 2005)
corridor      speed against density in a corridor of 3 m; Weidmann 1993
steps         flow of a door of 1.2 m against the time step

`Pedestrians` is how people walk in buildings, `inhibition` what was the default of scenarios before it, `plain` the
model of Venel 2009. Where JuPedSim is installed, its collision-free speed model, its anticipation velocity model (Xu et
al. 2021) and its generalised centrifugal force model (Chraibi et al. 2010), whose people are ellipses, walk through the
same doors, corners and corridors with their default parameters and a step of 0.01 s.
--calibrate prints the errors of candidates for the parameters of `Pedestrians`: the mean relative errors of doors,
single files and corridors. Of those that lock nowhere and serve all doors and corners the best one is chosen.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import jostle as jo
from jostle.crowds import Group, Pedestrians, Plan, weidmann

RADIUS, SPEED, H = 0.2, 1.34, 0.05
OWN_STEP = 0.01
"""The time step of JuPedSim in seconds."""
FLOW_PER_METRE, CLEARLY, FALL = 1.9, 0.2, 0.25
"""Flow of experiments with bottlenecks in people/s/m; how far from it doors of a candidate may be, one seed each; by
which part the flow a metre behind a corner may fall from the narrowest to the widest corridor."""
DOORS = (0.8, 0.9, 1.0, 1.2, 1.8, 2.4, 3.6, 5.0)
CORNERS = (1.2, 2.0, 3.0, 5.0)
STEPS = (0.01, 0.02, 0.05, 0.1, 0.2)
SPACINGS = (0.5, 0.7, 1.0, 1.5, 2.0)
DENSITIES = (0.5, 1.0, 1.5, 2.0, 3.0)
JUPEDSIM = {
    "JuPedSim, speed": "CollisionFreeSpeedModel",
    "JuPedSim, anticipation": "AnticipationVelocityModel",
    "JuPedSim, force": "GeneralizedCentrifugalForceModel",
}
PEDESTRIANS = "Pedestrians"
Model = str | Pedestrians
"""The name of a model, or the parameters of one."""


class Scene(NamedTuple):
    """Who walks where."""

    plan: Plan
    groups: list[Group]
    seed: int
    longest: float
    """When the run ends at the latest."""


class Paths(NamedTuple):
    """Where people were: t (k,), q (k, n, 2), NaN for those who are out."""

    t: np.ndarray
    q: np.ndarray

    def passed(self, axis: int, level: float, sign: float = 1.0) -> np.ndarray:
        """The times in order at which people passed a level of a coordinate for the first time."""
        at = sign * (self.q[..., axis] - level)
        with np.errstate(invalid="ignore"):
            steps = (at[:-1] < 0.0) & (at[1:] >= 0.0)
        first = steps.argmax(axis=0)
        who = np.flatnonzero(steps.any(axis=0))
        before, after = at[first[who], who], at[first[who] + 1, who]
        part = before / (before - after)
        return np.sort(self.t[first[who]] + part * np.diff(self.t)[first[who]])

    def inside(self) -> int:
        """The number of people at the end."""
        return int(np.isfinite(self.q[-1]).all(axis=1).sum())


def walked(scene: Scene, model: Model, h: float = H) -> Paths:
    """The people of a scene, walking by a model until the plan is empty."""
    if isinstance(model, str) and model in JUPEDSIM:
        return walked_by_jupedsim(scene, JUPEDSIM[model])
    behaviour = {"plain": jo.crowds.Plain(), PEDESTRIANS: Pedestrians(), "inhibition": jo.crowds.Inhibition}.get(
        model, model
    )
    people = jo.crowds.crowd(scene.groups, room=scene.plan, seed=scene.seed, behaviour=behaviour)
    waiting = people.wish.speeds(len(people.q0)) == 0.0

    def over(state: jo.schemes.base.State) -> bool:
        return state.presence is not None and not (state.presence.here & ~waiting).any()

    sol = jo.solve(people, jo.Venel(), t=scene.longest, h=h, every=0.2, until=over)
    if sol.status == "blocked":  # nobody moves any more
        return Paths(np.append(sol.t, scene.longest), np.concatenate([sol.q, sol.q[-1:]]))
    return Paths(sol.t, sol.q)


def walked_by_jupedsim(scene: Scene, name: str) -> Paths:
    """The same people with a model of JuPedSim, with its defaults but for radius and speed."""
    import jupedsim as jps
    import shapely

    plan, outlet = scene.plan, 1.0
    people = jo.crowds.crowd(scene.groups, room=plan, seed=scene.seed, behaviour=jo.crowds.Plain())
    boxes = {}
    for key, ends in plan.exits.items():
        out = outlet * plan.outward[key]
        boxes[key] = shapely.Polygon([*ends, ends[1] + out, ends[0] + out])
    geometry = shapely.union_all([plan.area, *boxes.values()])
    simulation = jps.Simulation(model=getattr(jps, name)(), geometry=geometry, dt=OWN_STEP)
    stages = {}
    for key, ends in plan.exits.items():
        near, far = RADIUS * plan.outward[key], outlet * plan.outward[key]
        stages[key] = simulation.add_exit_stage(shapely.Polygon([*(ends + near), ends[1] + far, ends[0] + far]))
    journeys = {key: simulation.add_journey(jps.JourneyDescription([stage])) for key, stage in stages.items()}
    parameters, numbers = getattr(jps, f"{name}AgentParameters"), {}
    size = {"radius": RADIUS - 1e-6} if "radius" in parameters.__dataclass_fields__ else {}  # else ellipses, from rest
    speeds, goals = people.wish.speeds(len(people.q0)), people.wish.chosen(people.q0)
    for k, (x, y) in enumerate(people.q0):
        key = list(plan.exits)[goals[k]]
        of = {"position": (x, y), "journey_id": journeys[key], "stage_id": stages[key], "desired_speed": speeds[k]}
        numbers[simulation.add_agent(parameters(**of, **size))] = k
    t, q = [0.0], [people.q0.copy()]
    waiting = int((speeds == 0.0).sum())
    while t[-1] < scene.longest and simulation.agent_count() > waiting:
        simulation.iterate(20)
        now = np.full(people.q0.shape, np.nan)
        for agent in simulation.agents():
            now[numbers[agent.id]] = agent.position
        t.append(t[-1] + 20 * OWN_STEP)
        q.append(now)
    found = np.array(q)
    gone = ~np.isfinite(found).all(axis=2)
    for k, end in enumerate(gone.argmax(axis=0)):  # those who are out have passed the exit
        if gone[:, k].any():
            found[end, k] = found[end - 1, k] + 3.0 * RADIUS * plan.outward[list(plan.exits)[goals[k]]]
    return Paths(np.array(t), found)


def box(x0: float, y0: float, x1: float, y1: float) -> list[tuple[float, float]]:
    return [(x0, y0), (x1, y0), (x1, y1), (x0, y1)]


def door(model: Model, width: float, seed: int = 0, h: float = H) -> float:
    """People a second and metre through a door."""
    plan = Plan(box(0, 0, 8, 8), exits={"door": ((8, 4 - width / 2), (8, 4 + width / 2))})
    groups = [Group("people", 100, radius=RADIUS, speed=SPEED, start=box(3, 1, 8, 7))]
    t = walked(Scene(plan, groups, seed, 180.0), model, h).passed(0, 8.0)
    return float((len(t) - 1) / (t[-1] - t[0]) / width) if len(t) == 100 else 0.0


def corner(model: Model, width: float, seed: int = 0) -> float:
    """People a second and metre behind a corner, in the middle 70 % of 60 people a metre; 0 if they are stuck."""
    feed = 27.0
    area = [(0, 0), (feed + width, 0), (feed + width, 8 + width), (feed, 8 + width), (feed, width), (0, width)]
    plan = Plan(area, exits={"north": ((feed, 8 + width), (feed + width, 8 + width))})
    n = int(60 * width)
    groups = [Group("people", n, radius=RADIUS, speed=SPEED, start=box(0, 0, feed - 1, width))]
    t = walked(Scene(plan, groups, seed, 240.0), model).passed(1, width + 2.0)
    first, last = int(0.15 * n), int(0.85 * n)
    return float((last - first) / (t[last] - t[first]) / width) if len(t) > last else 0.0


def counterflow(model: Model, n: int, seed: int = 0) -> float:
    """When n people have passed n others in a corridor of 4 m; infinite if they have not after three minutes."""
    plan = Plan(box(0, 0, 30, 4), exits={"west": ((0, 0), (0, 4)), "east": ((30, 0), (30, 4))})
    starts = {"east": box(0, 0, 14, 4), "west": box(16, 0, 30, 4)}
    groups = [Group(to, n, radius=RADIUS, speed=SPEED, goal=to, start=where) for to, where in starts.items()]
    paths = walked(Scene(plan, groups, seed, 180.0), model)
    return float(paths.t[-1]) if paths.t[-1] < 180.0 else np.inf


def standing(model: Model, seed: int = 0) -> float:
    """When forty people are out of a corridor of 15 m x 3 m in which somebody stands; infinite if not in a minute."""
    plan = Plan(box(0, 0, 15, 3), exits={"east": ((15, 0), (15, 3))})
    groups = [Group("standing", places=[[9.0, 1.5]], radius=RADIUS, speed=0.0)]
    groups += [Group("walking", 40, radius=RADIUS, speed=SPEED, start=box(0, 0, 7, 3))]
    paths = walked(Scene(plan, groups, seed, 60.0), model)
    return float(paths.t[-1]) if paths.t[-1] < 60.0 else np.inf


def crossing(model: Model, seed: int = 0) -> float:
    """When 23 people have crossed a room to one of four exits each; infinite if they have not in a minute."""
    exits = {
        "west": ((0, 4), (0, 6)),
        "east": ((10, 4), (10, 6)),
        "south": ((4, 0), (6, 0)),
        "north": ((4, 10), (6, 10)),
    }
    goals = [list(exits)[k] for k in np.random.default_rng(seed).integers(0, 4, 23)]
    groups = [Group("people", 23, radius=RADIUS, speed=SPEED, goal=goals)]
    paths = walked(Scene(Plan(box(0, 0, 10, 10), exits=exits), groups, seed, 60.0), model)
    return float(paths.t[-1]) if paths.t[-1] < 60.0 else np.inf


def single_file(model: Model, spacing: float) -> float:
    """The speed of people who walk behind each other at a distance, before the first ones have an effect."""
    n, width = 30, 0.6
    length = spacing * n + 4.0
    plan = Plan(box(0, 0, length, width), exits={"east": ((length, 0), (length, width))})
    places = np.stack([0.4 + spacing * np.arange(n), np.full(n, width / 2)], axis=1)
    groups = [Group("people", places=places, radius=RADIUS, speed=SPEED)]
    paths = walked(Scene(plan, groups, 0, 3.0), model)
    return float(np.mean(paths.q[-1, 2:8, 0] - paths.q[5, 2:8, 0]) / (paths.t[-1] - paths.t[5]))


def corridor(model: Model, density: float, seed: int = 0, width: float = 3.0) -> float:
    """The mean speed along a corridor at a density of people, in its middle, before its ends have an effect."""
    plan = Plan(box(0, 0, 22, width), exits={"east": ((22, 0), (22, width))})
    groups = [Group("people", round(density * 20 * width), radius=RADIUS, speed=SPEED, start=box(0, 0, 20, width))]
    paths = walked(Scene(plan, groups, seed, 4.0), model)
    there = (paths.q[0, :, 0] > 4.0) & (paths.q[0, :, 0] < 10.0)
    return float(np.mean(paths.q[-1, there, 0] - paths.q[5, there, 0]) / (paths.t[-1] - paths.t[5]))


def seyfried(spacing: float) -> float:
    return min(max((spacing - 0.36) / 1.06, 0.0), SPEED)


SEEDS = 10
"""Number of seeds of `Pedestrians`; the other models have one."""
EXPERIMENTS: dict[str, tuple[Callable[..., float], tuple[Any, ...], int]] = {
    "doors": (door, DOORS, SEEDS),
    "corners": (corner, CORNERS, SEEDS),
    "counterflow": (counterflow, (50, 100), SEEDS),
    "standing": (standing, (), SEEDS),
    "crossing": (crossing, (), SEEDS),
    "single file": (single_file, SPACINGS, 0),
    "corridor": (corridor, DENSITIES, SEEDS),
}
"""The function of each experiment, its cases, and the number of seeds; 0: nothing is random."""
QUICK: dict[str, tuple[tuple[Any, ...], int]] = {
    "doors": ((0.8, 1.2), 1), "corners": ((1.2,), 1), "counterflow": ((20,), 1), "standing": ((), 1),
    "crossing": ((), 1), "single file": ((0.7, 1.5), 0), "corridor": ((2.0,), 1),
}  # fmt: skip
CALIBRATION: dict[str, tuple[tuple[Any, ...], int]] = {
    "doors": ((0.8, 1.2, 2.4, 5.0), 1), "corners": ((1.2, 5.0), 1), "counterflow": ((100,), 1), "standing": ((), 1),
    "crossing": ((), 1), "single file": (SPACINGS, 0), "corridor": (DENSITIES, 1),
}  # fmt: skip
Task = tuple[str, Model, tuple[Any, ...], dict[str, Any]]


def run(task: Task) -> float:
    name, model, case, options = task
    try:
        return door(model, *case, **options) if name == "steps" else EXPERIMENTS[name][0](model, *case, **options)
    except (jo.NotConverged, RuntimeError):  # RuntimeError: JuPedSim refuses a start or loses an agent
        return float("nan")


def tasks(models: list[Model], chosen: dict[str, tuple[tuple[Any, ...], int]]) -> list[Task]:
    """All models in the chosen cases of each experiment, with their number of seeds."""
    found: list[Task] = []
    for name, (cases, seeds) in chosen.items():
        for case in [(one,) for one in cases] or [()]:
            for model in models:
                found += [(name, model, case, {"seed": s} if seeds else {}) for s in range(max(seeds, 1))]
    return found


def measured(work: list[Task]) -> dict[tuple[Any, ...], list[float]]:
    """The results of each experiment, case and model."""
    found: dict[tuple[Any, ...], list[float]] = {}
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        for (name, model, case, options), value in zip(work, pool.map(run, work), strict=True):
            print(name, model, *case, *options.values(), round(value, 3), file=sys.stderr, flush=True)
            found.setdefault((name, case, options.get("h"), model), []).append(value)
    return found


def expected(name: str, case: tuple[Any, ...]) -> float | None:
    if name == "doors":
        return FLOW_PER_METRE
    curves = {"single file": seyfried, "corridor": weidmann}
    return float(curves[name](*case)) if name in curves else None


def print_table(found: dict[tuple[Any, ...], list[float]], models: list[Model]) -> list[dict[str, Any]]:
    """One row for each case, with the mean over the seeds, infinite if one locked, and the spread of Pedestrians."""
    rows = []
    print(f"{'':<24}" + "".join(f"{model:>24}" for model in models) + f"{'experiment':>12}")
    for name, case, h in dict.fromkeys(key[:3] for key in found):
        values = {
            str(model): float(np.mean(found[name, case, h, model]))
            for model in models
            if (name, case, h, model) in found
        }
        target, some = expected(name, case), found.get((name, case, h, PEDESTRIANS), [])
        spread = float(np.std(some, ddof=1)) if len(some) > 1 else 0.0
        label = " ".join([name, *(f"{one:g}" for one in case), *([] if h is None else [f"h = {h:g}"])])
        row = "".join(f"{values[str(m)]:>24.2f}" if str(m) in values else f"{'':>24}" for m in models)
        print(f"{label:<24}{row}{'' if target is None else f'{target:12.2f}'}  +-{spread:.2f}")
        said = {"experiment": name, "case": list(case), "h": h, "expected": target}
        rows.append(said | {k: rounded(v) for k, v in values.items()} | {"spread": rounded(spread)})
    return rows


def rounded(value: float) -> float | None:
    """A number that JSON knows; None if it is infinite or not known."""
    return round(value, 3) if np.isfinite(value) else None


def cost() -> float:
    """CPU time of a run with Pedestrians, as a multiple of that with the inhibition: 400 people before a door."""
    plan = Plan(box(0, 0, 16, 16), exits={"door": ((16, 7.4), (16, 8.6))})
    scene = Scene(plan, [Group("people", 400, radius=RADIUS, speed=SPEED, start=box(3, 1, 16, 15))], 0, 5.0)
    seconds: dict[str, float] = {}
    for _ in range(3):
        for model in ("inhibition", PEDESTRIANS):
            begin = time.process_time()
            walked(scene, model)
            seconds[model] = min(seconds.get(model, np.inf), time.process_time() - begin)
    return seconds[PEDESTRIANS] / seconds["inhibition"]


def calibrate(candidates: list[Pedestrians]) -> dict[str, Any]:
    """The errors of candidates: the mean relative distance to the experiments that give a number, and what locks."""
    best: tuple[float, Pedestrians] | None = None
    for one in candidates:
        found = measured(tasks([one], CALIBRATION))
        errors: dict[str, list[float]] = {}
        locked = 0
        mean = {key[:2]: float(np.mean(values)) for key, values in found.items() if key[3] == one}
        for (name, case), value in mean.items():
            target = expected(name, case)
            locked += not np.isfinite(value)
            if target is not None:
                errors.setdefault(name, []).append(abs(value - target) / target)
        fall = 1.0 - mean["corners", (CORNERS[-1],)] / mean["corners", (CORNERS[0],)]
        off = max(abs(mean["doors", (width,)] - FLOW_PER_METRE) for width in CALIBRATION["doors"][0])
        total = float(np.mean([np.mean(values) for values in errors.values()]))
        words = ", ".join(f"{name} {np.mean(values):.2f}" for name, values in errors.items())
        print({" ".join([key[0], *map(str, key[1])]): round(value, 2) for key, value in mean.items()})
        print(
            f"{one}: {total:.3f} ({words}); doors off by {off:.2f}; corners fall by {fall:.0%}; locked {locked}",
            flush=True,
        )
        good = locked == 0 and off <= CLEARLY and fall <= FALL
        if good and (best is None or total < best[0]):
            best = total, one
    return {"best": None if best is None else asdict(best[1]), "error": None if best is None else round(best[0], 3)}


CANDIDATES = [Pedestrians(T=T, own=own) for own in (0.8, 1.5) for T in (0.7, 0.6, 0.8)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few cases, one seed")
    parser.add_argument("--calibrate", action="store_true", help="compare parameters of Pedestrians")
    parser.add_argument("--save", type=Path, help="keep the figures in this file")
    options = parser.parse_args()
    if options.calibrate:
        print(json.dumps(calibrate(CANDIDATES)))
        return
    others: list[Model] = [] if options.quick else ["inhibition", "plain"]
    if find_spec("jupedsim") is None:
        print("JuPedSim is not installed; its models are left out")
    elif not options.quick:
        others += list(JUPEDSIM)
    models = [PEDESTRIANS, *others]
    work: list[Task] = tasks(
        [PEDESTRIANS], QUICK if options.quick else {name: one[1:] for name, one in EXPERIMENTS.items()}
    )
    steps, seeds = (STEPS[2:], 1) if options.quick else (STEPS, SEEDS)
    work += [("steps", PEDESTRIANS, (1.2,), {"h": h, "seed": seed}) for h in steps for seed in range(seeds)]
    work += tasks(others, CALIBRATION)
    rows = print_table(measured(work), models)
    figures = {"rows": rows, "cost_beside_inhibition": round(cost(), 2)}
    print(f"cost of a person-step: {figures['cost_beside_inhibition']} times that with the inhibition")
    if options.save:
        options.save.write_text(json.dumps(figures, indent=1) + "\n")
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
