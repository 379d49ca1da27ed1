"""What derivatives cost: that of a projection beside the projection, and the gradient of a run beside the run.

    python benchmarks/gradients.py [--quick] [--sizes 10 1000 10000]

projection  processor seconds of one projection of about n contacts at 1e-8, of `of_projection` (which projects at 1e-12
            and finds the active rows), and of one product J v and J^T v with its derivative
run         closed contacts at the end, and processor seconds of a run of n discs of a dense heap, with `solve` at 1e-8;
            of `sensitivity`, which is the same run at 1e-12 with all derivatives of its steps; of the gradient of one
            number, by `reverse`; of the gradient if only as many states as the square root of the number of steps are
            stored; and the ratio of a whole gradient (`sensitivity` and `reverse`) to the run

The last line holds all figures as JSON.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from collections.abc import Callable
from math import isqrt
from typing import Any

import numpy as np
import scipy.linalg  # noqa: F401  its import is not part of what is measured

import jostle as jo

STEP = 0.02
SETTLING_STEPS = 8
"""Steps before a projection of many contacts is taken out of a run."""


def discs(n: int) -> jo.Motion:
    """A dense heap: discs of slightly different sizes in a box, on a triangular lattice that collapses."""
    rng = np.random.default_rng(0)
    side = int(np.ceil(np.sqrt(n)))
    row, place = np.divmod(np.arange(n), side)
    q = 2.002 * np.stack([place + 0.5 * (row % 2), 0.5 * np.sqrt(3.0) * row], axis=1) + 1.001
    within = jo.Balls(rng.uniform(0.98, 1.0, n)) & jo.Box([0.0, 0.0], [2.002 * (side + 0.5), np.inf])
    return jo.Motion(q0=q, v0=0.3 * rng.normal(size=(n, 2)), force=[0.0, -10.0], within=within)


def active(run: jo.gradients.Sensitivity, problem: jo.Motion) -> int:
    """The number of contacts that are closed at the end of a run."""
    return int((problem.within.near(0.0, run.q, 1.0).gap < 1e-6).sum())


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """Processor seconds of all threads, and what the work returns."""
    start = time.process_time()
    found = work()
    return time.process_time() - start, found


def projection(n: int) -> dict[str, float]:
    """The times of a projection and of its derivative, for the contacts of n discs that fall."""
    problem, scheme = discs(n), jo.Maury()
    state = scheme.start(problem, 0.0)
    for _ in range(SETTLING_STEPS):
        state = scheme.advance(problem, state, STEP)
    w = state.u + np.array([0.0, -10.0 * STEP])
    K = problem.within.near(state.t + STEP, state.q, 0.2).velocities(STEP)
    jo.gradients.of_projection(w, K)  # compile and import
    plain, _ = timed(lambda: jo.project(w, K))
    whole, derivative = timed(lambda: jo.gradients.of_projection(w, K))
    v = np.random.default_rng(1).normal(size=w.shape)
    forward, _ = timed(lambda: derivative.forward(w=v))
    reverse, _ = timed(lambda: derivative.reverse(v))
    rows = {"n": n, "contacts": len(K.c), "active": len(derivative.active)}
    return rows | {"project": plain, "of_projection": whole, "forward": forward, "reverse": reverse}


def run(n: int, steps: int) -> dict[str, float]:
    """The times of a run and of its gradient."""
    problem, scheme, t = discs(n), jo.Maury(), steps * STEP
    jo.sensitivity(problem, scheme, t=2 * STEP, h=STEP).reverse(q=1.0)  # compile and import
    plain, _ = timed(lambda: jo.solve(problem, scheme, t=t, h=STEP, every=steps))
    whole, kept = timed(lambda: jo.sensitivity(problem, scheme, t=t, h=STEP))
    reverse, _ = timed(lambda: kept.reverse(q=1.0))
    stored = jo.sensitivity(problem, scheme, t=t, h=STEP, checkpoints=isqrt(steps))
    again, _ = timed(lambda: stored.reverse(q=1.0))
    figures = {"solve": plain, "sensitivity": whole, "reverse": reverse, "with checkpoints": again}
    counts = {"weak steps": len(kept.weak), "rounded": len(kept.rounded)}
    start = {"n": n, "steps": steps, "contacts": active(kept, problem)}
    return start | figures | {"ratio": (whole + reverse) / plain} | counts


def table(rows: list[dict[str, float]]) -> None:
    """Print rows of figures below their names."""
    print("  ".join(f"{name:>16}" for name in rows[0]))
    for row in rows:
        print("  ".join(f"{value:16.4g}" if isinstance(value, float) else f"{value:16d}" for value in row.values()))
    print()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer steps, within 50 s")
    parser.add_argument("--sizes", type=int, nargs="+", default=[10, 1000, 10_000])
    given = parser.parse_args()
    warnings.simplefilter("ignore", jo.errors.WeakContacts)
    warnings.simplefilter("ignore", jo.errors.RoundedEvents)
    most = 40_000 if given.quick else 200_000
    projections = [projection(n) for n in given.sizes if n >= 100]
    if projections:
        table(projections)
    runs = [run(n, min(max(most // n, 8), 200)) for n in given.sizes]
    table(runs)
    print(json.dumps({"python": sys.version.split()[0], "projection": projections, "run": runs}))


if __name__ == "__main__":
    main()
