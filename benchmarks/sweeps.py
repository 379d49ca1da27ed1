"""How well a sweep uses the cores: ``python benchmarks/sweeps.py [--quick] [--workers N] [--save FILE]``.

A hundred runs of the scenario ``evacuation`` by one command, ``jostle sweep evacuations.toml``: 80 people, two doors.
The parallel efficiency is the CPU time of all runs over (workers x duration of the command); the duration includes the
start of the processes, the journal and the tables. "busy" is the duration of all runs over the same: on a machine with
other work it stays near 1, where the efficiency does not. --quick makes 10 runs. --save keeps the picture of how many
people are inside, with the band that holds 90 % of the runs.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import jostle as jo

STUDY = Path(__file__).with_name("evacuations.toml").read_text(encoding="utf-8")


def measured(runs: int, workers: int, save: Path | None) -> dict[str, float]:
    """Efficiency and results of one command."""
    with tempfile.TemporaryDirectory() as folder:
        study = Path(folder) / "study.toml"
        study.write_text(STUDY.replace("repeat = 100", f"repeat = {runs}"))
        command = [sys.executable, "-m", "jostle", "sweep", study.name, "--workers", str(workers), "--quiet"]
        begin = time.perf_counter()
        subprocess.run(command, cwd=folder, check=True)
        seconds = time.perf_counter() - begin
        results = jo.study.read(Path(folder) / "study")
    times = results.summary("evacuation_time")
    if save is not None:
        picture(results, save)
    cpu, busy = float(results.seconds.sum()), sum(outcome.seconds for outcome in results.outcomes)
    return {
        "runs": len(results), "workers": workers, "seconds": round(seconds, 2), "cpu_seconds": round(cpu, 2),
        "efficiency": round(cpu / (workers * seconds), 3), "busy": round(busy / (workers * seconds), 3),
        "seconds_a_run": round(cpu / len(results), 3), "failed": len(results.failures),
        "evacuation_time": round(times.mean, 3), "low": round(times.low, 3), "high": round(times.high, 3),
    }  # fmt: skip


def picture(results: jo.study.Results, save: Path) -> None:
    """People inside over time, with the band that holds 90 % of the runs."""
    left = results.curves("leaving_times")
    t = np.linspace(0.0, max(times[np.isfinite(times)].max() for times in left), 300)
    ax = jo.viz.quantile_band(t, jo.analysis.people_inside(left, t), names=("$t$ (s)", "people inside"))
    ax.figure.savefig(save, dpi=130)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="10 runs")
    parser.add_argument("--workers", type=int, default=2, help="number of processes")
    parser.add_argument("--save", type=Path, help="keep the picture in this file")
    options = parser.parse_args()
    found = measured(10 if options.quick else 100, options.workers, options.save)
    for name, value in found.items():
        print(f"{name.replace('_', ' '):>16}  {value}")
    print(json.dumps(found))


if __name__ == "__main__":
    main()
