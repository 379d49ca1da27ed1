"""Exact contacts at the price of game physics: ``python benchmarks/game_physics.py [--quick]``.

10 000 discs fall and settle in a box, frictionless and inelastic, with the same time step: pymunk with its default 10
iterations, Box2D v3 (its WebAssembly build in node) with its default 4 sub-steps, and Maury's scheme with a budget,
of a fixed number of iterations or until no overlap exceeds a part of the smallest radius, in the same run. Time a step,
by the clock and of all processors together (other programs disturb the latter less, so the ratios are those of it), and
the worst overlap over r0, while settling (after the first third of the steps) and settled (the last tenth). The same
code computes the overlap of all of them, over all pairs and walls, in each tenth step (fifth with --quick). For jostle
the last column is a bound over all steps: gaps are convex, so that no overlap is larger than the violation of the
linearised constraints.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scenes import Stopwatch, pile_of_discs

import jostle as jo
from jostle.kernels.parallel import threads

R0 = 0.5
GRAVITY = 10.0
MOST = 1000
"""Iterations at most, where a budget ends at an overlap."""
SUBSTEPS = 4
"""Sub-steps in a step of Box2D: the number that its manual recommends."""
Times = tuple[float, float]
"""Seconds of a step: by the clock, and of all processors together."""


def masses(problem: jo.Motion) -> list[float]:
    return problem.mass.mass.reshape(-1, 2)[:, 0].tolist()  # type: ignore[union-attr]


def height(problem: jo.Motion) -> float:
    """Height of the side walls of the peers: no disc gets there."""
    return 4.0 * float(problem.q0[:, 1].max())


class Pymunk:
    """The scene in pymunk, as a beginner would write it: default settings, friction and elasticity zero."""

    def __init__(self, problem: jo.Motion, radii: np.ndarray, width: float, h: float):
        import pymunk

        self.space, self.h = pymunk.Space(), h
        self.space.gravity = (0.0, -GRAVITY)
        self.bodies = []
        for place, radius, m in zip(problem.q0.tolist(), radii.tolist(), masses(problem), strict=True):
            body = pymunk.Body(m, pymunk.moment_for_circle(m, 0.0, radius))
            body.position = tuple(place)
            shape = pymunk.Circle(body, radius)
            shape.friction = shape.elasticity = 0.0
            self.space.add(body, shape)
            self.bodies.append(body)
        high = height(problem)
        for a, b in (((0.0, 0.0), (width, 0.0)), ((0.0, 0.0), (0.0, high)), ((width, 0.0), (width, high))):
            wall = pymunk.Segment(self.space.static_body, a, b, 0.0)
            wall.friction = wall.elasticity = 0.0
            self.space.add(wall)

    def step(self) -> None:
        self.space.step(self.h)

    def q(self) -> np.ndarray:
        return np.array([tuple(body.position) for body in self.bodies])


def box2d_command() -> list[str]:
    """The command that runs box2d.mjs; a LookupError says what is not installed."""
    node = shutil.which("node", path=str(Path(sys.prefix) / "bin")) or shutil.which("node")
    if node is None:
        raise LookupError("node not found")
    entry = Path(sys.prefix) / "node_modules/box2d3-wasm/build/dist/es/entry.mjs"
    if not entry.exists():
        raise LookupError(f"no npm package box2d3-wasm in {sys.prefix}")
    return [node, str(Path(__file__).with_name("box2d.mjs")), str(entry)]


def box2d(problem: jo.Motion, radii: np.ndarray, width: float, run: dict[str, float]) -> list[Any]:
    """The scene in Box2D v3, sleep switched off and other settings default: what box2d.mjs says at each look.

    All output is collected before any of it is read, so that reading does not compete with the threads of Box2D.
    """
    scene = {
        "q0": problem.q0.tolist(), "radii": radii.tolist(), "masses": masses(problem), "width": width,
        "height": height(problem), "gravity": GRAVITY, "substeps": SUBSTEPS, **run,
    }  # fmt: skip
    done = subprocess.run(box2d_command(), input=json.dumps(scene), stdout=subprocess.PIPE, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def measured(step: Callable[[], None], overlap: Callable[[], float], steps: int, looks: int) -> dict[str, float]:
    """Steps and looks at the overlap in each step whose number `looks` divides; then as in `summary`."""
    times, overlaps = [], []
    for number in range(1, steps + 1):
        begin, used = time.perf_counter(), time.process_time()
        step()
        times.append((time.perf_counter() - begin, time.process_time() - used))
        if number % looks == 0:
            overlaps.append(overlap())
    return summary(times, overlaps)


def summary(times: list[Times], overlaps: list[float]) -> dict[str, float]:
    """Milliseconds a step and the worst overlap / r0, settling (a third of the steps on) and settled (last tenth).

    The overlaps are those of every k-th step, the last step included.
    """
    part, steps = {}, len(times)
    looks = steps // len(overlaps)
    late = steps - steps // 10
    for name, first, last in (("settling", steps // 3, late), ("settled", late, steps)):
        part[f"{name}_ms"], part[f"{name}_cpu_ms"] = (1e3 * np.mean(times[first:last], axis=0)).tolist()
        part[f"{name}_overlap"] = max(overlaps[first // looks : last // looks]) / R0
    return part


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="2500 discs instead of 10 000, fewer budgets")
    quick = parser.parse_args().quick
    side = 50 if quick else 100
    problem, h, _ = pile_of_discs(side, side)
    radii = np.asarray(problem.within.sets[0].radii)  # type: ignore[attr-defined]
    steps, looks = (600, 5) if quick else (900, 10)

    def overlap(q: np.ndarray) -> float:
        return -problem.within.gap(0.0, q)

    rows: list[dict[str, Any]] = []
    peer = Pymunk(problem, radii, float(side), h)
    rows.append({"run": "pymunk, 10 iterations", **measured(peer.step, lambda: overlap(peer.q()), steps, looks)})
    try:
        for workers in sorted({1, threads()}):
            run = {"h": h, "steps": steps, "looks": looks, "workers": workers}
            looked = box2d(problem, radii, float(side), run)
            times = [(wall / 1e3, used / 1e3) for look in looked for wall, used in look["times"]]
            row = summary(times, [overlap(np.array(look["q"])) for look in looked])
            rows.append({"run": f"Box2D v3, {SUBSTEPS} sub-steps, threads: {workers}", **row})
    except LookupError as missing:
        print(f"Box2D left out: {missing}; `make bench` installs node and box2d3-wasm in its environment")
    counts, parts = ((40, 120), (1e-3, 1e-4)) if quick else ((40, 80, 120, 240), (1e-3, 5e-4, 1e-4))
    budgets = {f"budget of {most}": jo.GaussSeidel(max_iterations=most, budget=True) for most in counts}
    budgets |= {f"overlap {part:.0e}": jo.GaussSeidel(max_iterations=MOST, budget=True, overlap=part) for part in parts}
    for name, budget in budgets.items():
        watch = Stopwatch(pile_of_discs(side, side)[0], jo.Maury(solver=budget), h)
        watch.step(2)

        def look(watch: Stopwatch = watch) -> float:
            return overlap(watch.state.q)

        row = measured(watch.step, look, steps, looks)
        mean, bound = watch.iterations / watch.steps, watch.primal * radii.min() / R0
        rows.append({"run": f"jostle, {name}", **row, "residual": watch.residual, "iterations": mean, "bound": bound})
    print(f"{side * side} discs, h = {h:.2g}, {steps} steps, {threads()} threads for jostle, one for pymunk")
    columns = (
        "settling ms",
        "CPU ms",
        "overlap/r0",
        "CPU/pymunk",
        "smaller",
        "settled ms",
        "CPU ms",
        "overlap/r0",
        "CPU/pymunk",
        "smaller",
        "bound",
    )
    print(f"{'run':34s}" + "".join(f"{column:>12s}" for column in columns))
    for row in rows:
        words = f"{row['run']:34s}"
        for part in ("settling", "settled"):
            row[f"{part}_cpu_ratio"] = row[f"{part}_cpu_ms"] / rows[0][f"{part}_cpu_ms"]
            row[f"{part}_overlap_ratio"] = rows[0][f"{part}_overlap"] / max(row[f"{part}_overlap"], 1e-300)
            words += f"{row[f'{part}_ms']:12.1f}{row[f'{part}_cpu_ms']:12.1f}{row[f'{part}_overlap']:12.1e}"
            words += f"{row[f'{part}_cpu_ratio']:12.2f}{row[f'{part}_overlap_ratio']:12.1f}"
        print(words + (f"{row['bound']:12.1e}" if "bound" in row else ""))
    print(json.dumps({"N": side * side, "h": h, "rows": rows}))


if __name__ == "__main__":
    main()
