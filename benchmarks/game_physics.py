"""Exact contacts at the price of game physics: ``python benchmarks/game_physics.py [--quick]``.

10 000 discs fall and settle in a box, frictionless and inelastic, with the same time step: pymunk with its default 10
iterations, and Maury's scheme with a `Budget`, of a fixed number of iterations or until no overlap exceeds a part of
the smallest radius, in the same run. Time a step, and the worst overlap over r0, while settling (after the first third
of the steps) and settled (the last tenth). Our overlap is that of the worst step, pymunk's is looked at in each tenth
step.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from scenes import Stopwatch, pile_of_discs

import jostle as jo
from jostle.kernels.threads import threads

R0 = 0.5
MOST = 1000
"""Iterations at most, where a budget ends at an overlap."""


class Pymunk:
    """The scene in pymunk, as a beginner would write it: default settings, friction and elasticity zero."""

    def __init__(self, problem: jo.Motion, radii: np.ndarray, width: float, h: float):
        import pymunk

        self.space, self.h = pymunk.Space(), h
        self.space.gravity = (0.0, -10.0)
        self.bodies = []
        mass = problem.mass.mass.reshape(-1, 2)[:, 0]  # type: ignore[union-attr]
        for place, radius, m in zip(problem.q0.tolist(), radii.tolist(), mass.tolist(), strict=True):
            body = pymunk.Body(m, pymunk.moment_for_circle(m, 0.0, radius))
            body.position = tuple(place)
            shape = pymunk.Circle(body, radius)
            shape.friction = shape.elasticity = 0.0
            self.space.add(body, shape)
            self.bodies.append(body)
        high = 4.0 * float(problem.q0[:, 1].max())
        for a, b in (((0.0, 0.0), (width, 0.0)), ((0.0, 0.0), (0.0, high)), ((width, 0.0), (width, high))):
            wall = pymunk.Segment(self.space.static_body, a, b, 0.0)
            wall.friction = wall.elasticity = 0.0
            self.space.add(wall)

    def step(self) -> None:
        self.space.step(self.h)

    def q(self) -> np.ndarray:
        return np.array([tuple(body.position) for body in self.bodies])


def measured(step: Callable[[], None], overlap: Callable[[], float], steps: int, looks: int) -> dict[str, float]:
    """Milliseconds a step and the worst overlap / r0, settling (a third of the steps on) and settled (last tenth)."""
    part, times, worst = {}, [], []
    for number in range(1, steps + 1):
        begin = time.perf_counter()
        step()
        times.append(time.perf_counter() - begin)
        if number % looks == 0:
            worst.append((number, overlap() / R0))
    for name, first in (("settling", steps // 3), ("settled", steps - steps // 10)):
        last = steps - steps // 10 if name == "settling" else steps
        part[f"{name}_ms"] = 1e3 * float(np.mean(times[first:last]))
        part[f"{name}_overlap"] = max(found for number, found in worst if first < number <= last)
    return part


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="2500 discs instead of 10 000")
    quick = parser.parse_args().quick
    side = 50 if quick else 100
    problem, h, _ = pile_of_discs(side, side)
    radii = np.asarray(problem.within.sets[0].radii)  # type: ignore[attr-defined]
    steps, looks = (600, 5) if quick else (900, 10)
    within = problem.within

    rows: list[dict[str, Any]] = []
    peer = Pymunk(problem, radii, float(side), h)
    rows.append(
        {"run": "pymunk, 10 iterations", **measured(peer.step, lambda: -within.gap(0.0, peer.q()), steps, looks)}
    )
    budgets = {f"Budget of {most}": jo.Budget(max_iterations=most) for most in (40, 80, 120, 240)}
    budgets |= {f"overlap {part:.0e}": jo.Budget(max_iterations=MOST, overlap=part) for part in (1e-3, 5e-4, 1e-4)}
    for name, budget in budgets.items():
        watch = Stopwatch(pile_of_discs(side, side)[0], jo.Maury(solver=budget), h)
        watch.step(2)

        def overlap(watch: Stopwatch = watch) -> float:
            """The gaps are convex: no overlap is larger than the violation of the linearised constraints."""
            return float(watch.state.projection.residual.primal * radii.min())  # type: ignore[union-attr]

        row = measured(watch.step, overlap, steps, 1)
        mean = watch.iterations / watch.steps
        rows.append({"run": f"jostle, {name}", **row, "residual": watch.residual, "iterations": mean})
    print(f"{side * side} discs, h = {h:.2g}, {steps} steps, {threads()} threads for jostle, one for pymunk")
    columns = (
        "settling ms",
        "overlap/r0",
        "time/pymunk",
        "smaller",
        "settled ms",
        "overlap/r0",
        "time/pymunk",
        "smaller",
    )
    print(f"{'run':24s}" + "".join(f"{column:>12s}" for column in columns))
    for row in rows:
        words = f"{row['run']:24s}"
        for part in ("settling", "settled"):
            row[f"{part}_time_ratio"] = row[f"{part}_ms"] / rows[0][f"{part}_ms"]
            row[f"{part}_overlap_ratio"] = rows[0][f"{part}_overlap"] / max(row[f"{part}_overlap"], 1e-300)
            words += f"{row[f'{part}_ms']:12.1f}{row[f'{part}_overlap']:12.1e}"
            words += f"{row[f'{part}_time_ratio']:12.2f}{row[f'{part}_overlap_ratio']:12.0f}"
        print(words)
    print(json.dumps({"N": side * side, "h": h, "rows": rows}))


if __name__ == "__main__":
    main()
