"""How long programs take when kernels must be compiled, and later: ``python benchmarks/first_runs.py [--quick]``.

Each program runs twice in a process of its own, with a copy of jostle that has no compiled kernels at first. With
``--installed`` it runs with jostle as it is installed, and with the compiled kernels that the installation contains.
``--quick`` leaves out the programs that compile for long. Wall seconds are those of a quiet machine only; CPU seconds,
of a program and the processes that it starts, grow less beside other work. The last line holds both as JSON.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

EXAMPLES = Path(__file__).parent.parent / "examples"
PEOPLE = """
import jostle as jo

room = jo.crowds.Room([(0, 0), (10, 0), (10, 8), (0, 8)], doors=[((10, 3.2), (10, 4.8))])
jo.solve(jo.crowds.crowd(80, radius=0.25, room=room), jo.Venel(), t=60.0, h=0.05)
"""
PROGRAMS = {
    "bouncing_ball": [str(EXAMPLES / "bouncing_ball.py")],
    "crowd": [str(EXAMPLES / "crowd.py")],
    "hourglass": [str(EXAMPLES / "hourglass.py")],
    "80 people": ["-c", PEOPLE],
    "warm-up": ["-m", "jostle", "doctor", "--warm-up"],
}
QUICK = ("bouncing_ball", "crowd")


def copied(folder: str) -> str:
    """Copy jostle without its compiled kernels into a folder; return the folder."""
    source = Path(str(importlib.util.find_spec("jostle").origin)).parent
    shutil.copytree(source, Path(folder) / "jostle", ignore=shutil.ignore_patterns("*.nbc"))
    return folder


def seconds(program: list[str], **variables: str) -> tuple[float, float]:
    """Wall and CPU seconds of a program in an empty folder, with these environment variables."""
    with tempfile.TemporaryDirectory() as folder:
        surroundings = {**os.environ, "MPLBACKEND": "Agg", **variables}
        begin, used = time.perf_counter(), cpu_of_children()
        subprocess.run([sys.executable, *program], check=True, cwd=folder, env=surroundings, stdout=subprocess.DEVNULL)
        return time.perf_counter() - begin, cpu_of_children() - used


def cpu_of_children() -> float:
    """CPU seconds of all processes that this one has waited for."""
    times = os.times()
    return times.children_user + times.children_system


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="the ball and the small crowd alone")
    parser.add_argument("--installed", action="store_true", help="with the compiled kernels of the installation")
    options = parser.parse_args()
    chosen = QUICK if options.quick else tuple(PROGRAMS)
    figures = {}
    print(f"{'program':>14} {'first, s':>9} {'CPU, s':>9} {'later, s':>9} {'CPU, s':>9}")
    for name in chosen:
        with tempfile.TemporaryDirectory() as folder:
            variables = {} if options.installed else {"PYTHONPATH": copied(folder)}
            (first, first_cpu), (later, later_cpu) = (seconds(PROGRAMS[name], **variables) for _ in range(2))
        print(f"{name:>14} {first:9.2f} {first_cpu:9.2f} {later:9.2f} {later_cpu:9.2f}", flush=True)
        figures[name] = {"first_s": first, "first_cpu_s": first_cpu, "later_s": later, "later_cpu_s": later_cpu}
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
