"""Settled discs, around the switch of solvers at 128 rows: ``python benchmarks/settled_discs.py [--quick]``.

Discs of unequal sizes come to rest in a box. Then the CPU time of a step is measured, with `ActiveSet` started from the
rows that were active in the step before, and started without them, in turn.
"""

from __future__ import annotations

import argparse
import json
import time

import numpy as np

import jostle as jo
from jostle.solvers import dual_active_set

H, STEPS = 0.01, 50
COLD = 10**9
"""Number of guessed rows that no problem has."""


def settled(n: int) -> jo.Motion:
    """The problem of n discs at rest."""
    pile = jo.models.spheres(np.random.default_rng(1).uniform(0.35, 0.5, n), box=([0, 0], [n**0.5, np.inf]))
    sol = jo.solve(pile, jo.Maury(), t=12.0, h=H, every=10_000)
    return jo.Motion(q0=sol.q[-1], v0=sol.u[-1], force=pile.constant_force, mass=pile.mass, within=pile.within)


def step_time(problem: jo.Motion, least: int) -> tuple[float, jo.Solution]:
    """CPU time of a step in milliseconds, if at least this many active rows of a guess are tried."""
    dual_active_set.MIN_GUESSED_ROWS = least
    begin = time.process_time()
    sol = jo.solve(problem, jo.Maury(), t=STEPS * H, h=H, every=STEPS)
    return 1e3 * (time.process_time() - begin) / STEPS, sol


def main() -> None:
    """Print one line for each number of discs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer discs and repetitions")
    quick, usual, figures = parser.parse_args().quick, dual_active_set.MIN_GUESSED_ROWS, []
    print("discs  rows  from w, ms  from the step before, ms  residual  solvers")
    for n in (30, 60) if quick else (20, 30, 40, 50, 60, 80, 100, 150, 200):
        problem = settled(n)
        found = [(step_time(problem, COLD), step_time(problem, usual)) for _ in range(2 if quick else 4)]
        cold, now = (min(pair[k][0] for pair in found) for k in (0, 1))
        sol = found[0][1][1]
        rows, solvers = round(float(sol.stats["rows"].mean())), sorted({*sol.stats["solver"]})
        print(f"{n:5d} {rows:5d} {cold:11.2f} {now:25.2f} {sol.residual:9.1e}  {', '.join(solvers)}")
        figures.append({"discs": n, "rows": rows, "cold": round(cold, 2), "warm": round(now, 2)})
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
