"""What writing costs: ``python benchmarks/writing.py [--quick]``.

10^5 spheres in the middle of their collision, at residual 1e-3: each step is saved with its contacts and impulses into
a trajectory. The time spent in that, as a part of the time of the run; the bytes; how long it takes to read a frame
back; and how long a checkpoint takes (there is one a minute). Smaller runs are measured as well.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scenes import Stopwatch, box_of_spheres

import jostle as jo
from jostle.io.saving import TrajectorySaver
from jostle.run.checkpoints import CheckpointsOfRun

COLLIDING = 2.2
"""The time at which most spheres collide."""


class Meter:
    """Adds up the time in some methods."""

    def __init__(self) -> None:
        self.seconds, self.calls = 0.0, 0

    def watch(self, owner: Any, *names: str) -> None:
        for name in names:
            setattr(owner, name, self.timed(getattr(owner, name)))

    def timed(self, method: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            begin = time.perf_counter()
            try:
                return method(*arguments)
            finally:
                self.seconds += time.perf_counter() - begin
                self.calls += 1

        return call


def measured(problem: jo.Motion, h: float, steps: int, tol: float, folder: Path) -> dict[str, Any]:
    meter, keeping = Meter(), Meter()
    saved = {owner: dict(vars(owner)) for owner in (TrajectorySaver, CheckpointsOfRun)}
    meter.watch(TrajectorySaver, "save", "add", "solution")
    keeping.watch(CheckpointsOfRun, "save")
    path = folder / "run.vtkhdf"
    output = jo.io.Output(path, contacts=True, checkpoint=folder / "run.checkpoint")
    begin = time.perf_counter()
    sol = jo.solve(problem, jo.Maury(solver=jo.Automatic(tol=tol)), t=steps * h, h=h, every=1, output=output)
    total = time.perf_counter() - begin
    for owner, methods in saved.items():
        for name in ("save", "add", "solution"):
            if name in methods:
                setattr(owner, name, methods[name])
    begin = time.perf_counter()
    contacts = len(sol.multipliers[steps // 2])
    sol.q[steps // 2]
    reading = time.perf_counter() - begin
    frames, size = len(sol.t), path.stat().st_size
    path.unlink()
    (folder / "run.checkpoint").unlink()
    return {
        "N": len(problem.q0), "steps": steps, "contacts": contacts, "step_ms": 1e3 * total / steps,
        "writing_ms_a_frame": 1e3 * meter.seconds / frames, "part_of_the_run": meter.seconds / total,
        "checkpoint_ms": 1e3 * keeping.seconds / keeping.calls,
        "bytes_a_frame": size / frames, "reading_ms_a_frame": 1e3 * reading,
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="10 000 spheres instead of 100 000")
    quick = parser.parse_args().quick
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for side, steps in ((10, 400), (22, 40)) if quick else ((10, 400), (22, 60), (46, 30)):
            problem, h, _ = box_of_spheres(side)
            watch = Stopwatch(problem, jo.Maury(solver=jo.Automatic(tol=1e-3)), h)
            while watch.state.t < COLLIDING:
                watch.step()
            q, u = np.array(watch.state.q), np.array(watch.state.u)
            started = jo.Motion(
                q0=jo.nearest(q, problem.within).point,
                v0=u,
                force=problem.constant_force,
                mass=problem.mass.mass.reshape(q.shape)[:, 0],
                within=problem.within,
            )
            rows.append(measured(started, h, steps, 1e-3, Path(folder)))
    columns = ("N", "contacts", "step ms", "writing ms", "part %", "MB/frame", "reading ms", "checkpoint ms")
    print("".join(f"{column:>14s}" for column in columns))
    for row in rows:
        shown = (row["step_ms"], row["writing_ms_a_frame"], 100.0 * row["part_of_the_run"], row["bytes_a_frame"] / 1e6)
        shown += (row["reading_ms_a_frame"], row["checkpoint_ms"])
        print(f"{row['N']:14d}{row['contacts']:14d}" + "".join(f"{value:14.2f}" for value in shown))
    print(json.dumps({"rows": rows}))


if __name__ == "__main__":
    main()
