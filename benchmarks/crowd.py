"""A jam at a door, beside cromosim and JuPedSim: ``python benchmarks/crowd.py [--quick]``.

N people (radius 0.2 m, speed 1.2 m/s) crowd before a door of 1.0 m in a square room, three to a square metre. After a
time in which they gather, the same places are given to jostle (Venel's scheme, residual 1e-4), to cromosim (the same
model, cvxopt) and to JuPedSim (its collision-free speed model, dt = 0.01, its own). Processor time of all threads; the
overlaps of all are measured by one function, at every step of 0.05 s, against the same exact walls. Ten thousand people
leave a hall by eight exits, until it is empty. At last five thousand people press towards the barrier of a stage for
300 steps (``--only pressed`` runs this case alone).
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.spatial import cKDTree

import jostle as jo

RADIUS, SPEED, WIDTH, H, TOL = 0.2, 1.2, 1.0, 0.05, 1e-4
DENSITY = 3.0
"""People per square metre before they gather."""
GATHER = 6.0
"""Time (s) in which people gather before the door."""
APART = 1e-4
"""How much larger the radius (m) is while people gather, so that their places are admissible to the last digit."""
PIXEL = 0.05
"""Side (m) of a pixel of cromosim's plan."""
TURNS = 3
"""Runs of each code with up to 1000 people, in turns; the best one counts, because they last less than a second."""
SEEN = 0.1
"""Largest gap (m) of two people whom cromosim takes for neighbours, as in its own examples."""
OWN_STEP = 0.01
"""Time step (s) of JuPedSim."""
ROUND_OFF = 1e-6
"""How much smaller the radius (m) is for JuPedSim, which refuses people who touch."""


@dataclass
class Run:
    """What one code did with the jam."""

    code: str
    n: int
    cpu: float
    wall: float
    simulated: float
    person_steps: int
    """Of 0.05 s."""
    people: float
    walls: float
    """The worst gaps, in metres."""
    left: int

    def row(self) -> dict[str, float | int | str]:
        return {
            "code": self.code, "N": self.n, "left": self.left,
            "cpu_us_a_person_step": round(1e6 * self.cpu / self.person_steps, 2),
            "wall_us_a_person_step": round(1e6 * self.wall / self.person_steps, 2),
            "cpu_a_simulated_second": round(self.cpu / self.simulated, 4),
            "worst_gap_people_mm": round(1e3 * self.people, 4), "worst_gap_walls_mm": round(1e3 * self.walls, 4),
        }  # fmt: skip


def room(n: int) -> jo.crowds.Plan:
    side = np.sqrt(n / DENSITY)
    door = ((side, (side - WIDTH) / 2.0), (side, (side + WIDTH) / 2.0))
    return jo.crowds.Plan([(0, 0), (side, 0), (side, side), (0, side)], exits={"door": door})


def gaps(q: np.ndarray, walls: np.ndarray) -> tuple[float, float]:
    """The smallest gap between two people, and to a wall."""
    pairs = cKDTree(q).query_pairs(2.5 * RADIUS, output_type="ndarray")
    apart = np.linalg.norm(q[pairs[:, 0]] - q[pairs[:, 1]], axis=1) - 2.0 * RADIUS
    a, along = walls[:, 0], walls[:, 1] - walls[:, 0]
    part = np.einsum("nkd,kd->nk", q[:, None] - a, along) / np.einsum("kd,kd->k", along, along)
    foot = a + np.clip(part, 0.0, 1.0)[..., None] * along
    off = np.linalg.norm(q[:, None] - foot, axis=-1) - RADIUS
    return float(apart.min(initial=np.inf)), float(off.min(initial=np.inf))


def worst(frames: list[np.ndarray], walls: np.ndarray) -> tuple[float, float]:
    found = np.array([gaps(q, walls) for q in frames if len(q)])
    return float(found[:, 0].min()), float(found[:, 1].min())


def gathered(n: int, plan: jo.crowds.Plan) -> np.ndarray:
    """(n', 2) where people are after they have gathered before the door."""
    people = jo.crowds.crowd(n, radius=RADIUS + APART, room=plan, speed=SPEED, seed=n, behaviour=jo.crowds.Plain())
    scheme = jo.Venel(solver=jo.Automatic(tol=TOL))
    q = jo.solve(people, scheme, t=GATHER, h=H, every=GATHER).q[-1]
    q = q[np.isfinite(q).all(axis=1)]
    return q[q[:, 0] < plan.area.bounds[2] - RADIUS]


def ours(q0: np.ndarray, plan: jo.crowds.Plan, steps: int) -> Run:
    people = jo.crowds.crowd(len(q0), radius=RADIUS, room=plan, speed=SPEED, q0=q0, behaviour=jo.crowds.Plain())
    scheme = jo.Venel(solver=jo.Automatic(tol=TOL))
    cpu, wall = time.process_time(), time.perf_counter()
    jo.solve(people, scheme, t=steps * H, h=H, every=steps)
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    sol = jo.solve(people, scheme, t=steps * H, h=H, every=1)  # again, to the same bits
    frames = [q[np.isfinite(q).all(axis=1)] for q in sol.q]
    there = sum(len(q) for q in frames[:-1])
    return Run("jostle", len(q0), cpu, wall, steps * H, there, *worst(frames, plan.walls), len(q0) - len(frames[-1]))


def cromosim(q0: np.ndarray, plan: jo.crowds.Plan, steps: int) -> Run:
    from cromosim.domain import Destination, Domain
    from cromosim.micro import compute_contacts, projection
    from matplotlib.lines import Line2D

    side, margin = plan.area.bounds[2], 1.0
    pixels = round((side + 2.0 * margin) / PIXEL)
    with contextlib.redirect_stdout(io.StringIO()), tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        # its shapes are drawn from the corner of the picture, its people are placed from (xmin, ymin)
        domain = Domain(name="room", pixel_size=PIXEL, xmin=-margin, ymin=-margin, width=pixels, height=pixels)
        for (x0, y0), (x1, y1) in plan.walls + margin:
            domain.add_shape(Line2D([x0, x1], [y0, y1], linewidth=1), outline_color=[0, 0, 0])
        (x0, y0), (x1, y1) = plan.exits["door"] + margin + [1.5 * RADIUS, 0.0]
        domain.add_shape(Line2D([x0, x1], [y0, y1], linewidth=1), outline_color=[255, 0, 0])
        domain.build_domain()
        domain.add_destination(Destination(name="door", colors=[[255, 0, 0]], excluded_colors=[[0, 0, 0]]))
    people = np.column_stack([q0, np.full(len(q0), RADIUS), np.full(len(q0), SPEED)])
    frames, cpu, wall, there = [q0], 0.0, 0.0, 0
    with contextlib.redirect_stdout(io.StringIO()):
        for _ in range(steps):
            there += len(people)
            begin = time.process_time(), time.perf_counter()
            _, _, wish = domain.people_desired_velocity(people, ["door"] * len(people))
            contacts = compute_contacts(domain, people, SEEN)
            _, _, u, _, _ = projection(H, people, contacts, wish, method="cvxopt")
            people[:, :2] += H * np.asarray(u).reshape(-1, 2)
            cpu, wall = cpu + time.process_time() - begin[0], wall + time.perf_counter() - begin[1]
            people = people[people[:, 0] < side + RADIUS]
            frames.append(people[:, :2].copy())
    return Run(
        "cromosim", len(q0), cpu, wall, steps * H, there, *worst(frames, plan.walls), len(q0) - len(people)
    )  # fmt: skip


def jupedsim(q0: np.ndarray, plan: jo.crowds.Plan, steps: int) -> Run:
    import jupedsim as jps
    import shapely

    side = plan.area.bounds[2]
    (_, low), (_, high) = np.sort(plan.exits["door"], axis=0)
    geometry = shapely.union(plan.area, shapely.box(side, low, side + 2.0, high))
    simulation = jps.Simulation(model=jps.CollisionFreeSpeedModel(), geometry=geometry, dt=OWN_STEP)
    exit_ = simulation.add_exit_stage(shapely.box(side + RADIUS, low, side + 2.0, high))
    journey = simulation.add_journey(jps.JourneyDescription([exit_]))
    for x, y in q0:
        simulation.add_agent(
            jps.CollisionFreeSpeedModelAgentParameters(
                position=(x, y), journey_id=journey, stage_id=exit_, desired_speed=SPEED, radius=RADIUS - ROUND_OFF
            )
        )
    frames, cpu, wall, there = [q0], 0.0, 0.0, 0
    for _ in range(steps):
        there += simulation.agent_count()
        begin = time.process_time(), time.perf_counter()
        simulation.iterate(round(H / OWN_STEP))
        cpu, wall = cpu + time.process_time() - begin[0], wall + time.perf_counter() - begin[1]
        frames.append(np.array([agent.position for agent in simulation.agents()]).reshape(-1, 2))
    return Run(
        "JuPedSim", len(q0), cpu, wall, steps * H, there, *worst(frames, plan.walls), len(q0) - simulation.agent_count()
    )  # fmt: skip


def hall(n: int) -> dict[str, float]:
    """All of them leave a hall by eight exits of three metres."""
    side = np.sqrt(n / 2.0)
    first, last = side / 3.0, 2.0 * side / 3.0
    along = [(first - 1.5, first + 1.5), (last - 1.5, last + 1.5)]
    exits = {f"south {a:.0f}": ((a, 0), (b, 0)) for a, b in along} | {
        f"north {a:.0f}": ((b, side), (a, side)) for a, b in along
    }
    exits |= {f"west {a:.0f}": ((0, b), (0, a)) for a, b in along} | {
        f"east {a:.0f}": ((side, a), (side, b)) for a, b in along
    }
    plan = jo.crowds.Plan([(0, 0), (side, 0), (side, side), (0, side)], exits=exits)
    people = jo.crowds.crowd(n, radius=RADIUS, room=plan, speed=SPEED, seed=n, behaviour=jo.crowds.Plain())
    scheme = jo.Venel(solver=jo.Automatic(tol=TOL))
    wall = time.perf_counter()
    sol = jo.solve(people, scheme, t=600.0, h=H, every=1.0, until=plan.empty)
    wall = time.perf_counter() - wall
    frames = [q[np.isfinite(q).all(axis=1)] for q in sol.q]
    people_gap, walls_gap = worst([q for q in frames if len(q) > 1], plan.walls)
    return {
        "N": n, "status": sol.status, "empty_after_s": round(float(sol.t[-1]), 2), "wall_s": round(wall, 1),
        "steps": len(sol.stats),
        "worst_violation_of_a_step": float(sol.stats["primal"].max()),
        "worst_gap_people_mm": round(1e3 * people_gap, 4), "worst_gap_walls_mm": round(1e3 * walls_gap, 4),
    }  # fmt: skip


def pressed(n: int, steps: int, tol: float) -> dict[str, float | int | dict[str, int]]:
    """All of them press at 1.2 m/s towards a stage behind one wall; people stand three to a square metre at first."""
    side = np.sqrt(n / DENSITY)
    plan = jo.crowds.Plan(
        [(0, 0), (side, 0), (side, side), (0, side)], exits={"gate": ((side, side - 3.0), (side, side))}
    )
    stage = np.array([side / 2.0, -side / 8.0])

    def towards(t: float, q: np.ndarray) -> np.ndarray:
        way = stage - q
        return SPEED * way / np.linalg.norm(way, axis=1, keepdims=True)

    people = jo.crowds.crowd(n, radius=RADIUS, room=plan, wish=towards, seed=n)
    cpu, wall = time.process_time(), time.perf_counter()
    sol = jo.solve(people, jo.Venel(solver=jo.Automatic(tol=tol)), t=steps * H, h=H, every=steps)
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    by = {str(name): int((sol.stats["solver"] == name).sum()) for name in np.unique(sol.stats["solver"])}
    return {
        "N": n, "steps": steps, "tol": tol, "cpu_s": round(cpu, 1), "wall_s": round(wall, 1),
        "cpu_us_a_person_step": round(1e6 * cpu / n / steps, 2),
        "iterations_a_step": round(float(sol.stats["iterations"].mean()), 1), "steps_of_solvers": by,
        "worst_gap_people_mm": round(1e3 * gaps(sol.q[-1], plan.walls)[0], 4),
    }  # fmt: skip


def table(runs: list[Run]) -> None:
    head = ("code", "N", "left", "CPU us/p-step", "wall us/p-step", "CPU/sim. s", "people mm", "walls mm")
    print("{:<10}{:>7}{:>6}{:>15}{:>16}{:>12}{:>12}{:>11}".format(*head))
    for run in runs:
        print("{:<10}{:>7}{:>6}{:>15}{:>16}{:>12}{:>12}{:>11}".format(*run.row().values()))


def rows_of_pressed(quick: bool) -> list[dict[str, float | int | dict[str, int]]]:
    """The pressed crowd at the tolerance of the other runs, and at the default one."""
    rows = [pressed(1000 if quick else 5000, 60 if quick else 300, tol) for tol in (TOL, 1e-8)]
    for row in rows:
        print("{N} people press for {steps} steps to tol {tol:g}: {cpu_s} s of processor time".format(**row))
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few steps, small crowds")
    parser.add_argument("--only", choices=["pressed"], help="run one case alone")
    options = parser.parse_args()
    quick = options.quick
    if options.only:
        pressed(300, 5, TOL)  # compile
        print(json.dumps({"pressed": rows_of_pressed(quick), "cores": os.cpu_count()}))
        return
    codes: list[Callable[..., Run]] = [ours, cromosim, jupedsim]
    runs, ratios = [], {}
    ours(gathered(50, room(50)), room(50), 5)  # compile
    for n in (200, 800) if quick else (200, 800, 3000):
        plan, steps = room(n), 20 if quick else 100
        q0 = gathered(n, plan)
        turns = [[code(q0, plan, steps) for code in codes] for _ in range(1 if quick or n > 1000 else TURNS)]
        a, b, c = found = [min(runs_of_one, key=lambda run: run.wall) for runs_of_one in zip(*turns, strict=True)]
        runs += found
        table(found)
        ratios[str(n)] = {
            "cromosim/jostle_wall": round(b.wall / b.person_steps / (a.wall / a.person_steps), 2),
            "cromosim/jostle_cpu": round(b.cpu / b.person_steps / (a.cpu / a.person_steps), 2),
            "jupedsim/jostle_cpu_a_simulated_second": round(c.cpu / c.person_steps / (a.cpu / a.person_steps), 2),
        }
    sizes = (1000,) if quick else (1000, 10_000)
    grown = [ours(gathered(n, room(n)), room(n), 20 if quick else 100) for n in sizes]
    table(grown)
    left = hall(1000 if quick else 10_000)
    print("{N} people left a hall by eight exits in {empty_after_s} s, {steps} steps: {wall_s} s".format(**left))
    growth = (grown[-1].wall / grown[-1].person_steps) / (grown[0].wall / grown[0].person_steps)
    print(json.dumps({
        "ratios": ratios, "runs": [run.row() for run in runs + grown],
        "growth_of_a_person_step_1000_to_10000": round(growth, 2), "hall": left, "pressed": rows_of_pressed(quick),
        "cores": os.cpu_count(),
    }))  # fmt: skip


if __name__ == "__main__":
    main()
