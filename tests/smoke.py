"""Try an installed jostle in an environment without extras: ``python tests/smoke.py``.

What needs no extra must work. What needs one must say which one, as in ``pip install 'jostle[plot]'``. `make dist` runs
this script in an empty environment into which it has installed the wheel.
"""

from __future__ import annotations

import importlib.util
import io
import os
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

OPTIONAL = ("matplotlib", "imageio_ffmpeg", "PIL", "gsd", "anywidget", "pyarrow", "distributed", "cupy", "shapely")
"""Modules that extras install, and that must be missing here."""
STUDY = """
scenario = "cradle_apart"
measures = ["end_time"]
[design]
kind = "grid"
parameters = { run.h = [0.01] }
"""


def main() -> None:
    """Run all checks in a temporary folder; the first one that fails ends the script."""
    present = [name for name in OPTIONAL if importlib.util.find_spec(name)]
    assert not present, f"this environment has extras: {present}"
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        without_extras()
        count = functions_that_need_extras() + commands_that_need_extras()
    print(f"jostle works without extras on Python {sys.version.split()[0]}; {count} calls name the extra they need")


def without_extras() -> None:
    """Solve a problem, project a point, and run a scenario from the command line."""
    import jostle as jo

    ball = jo.Motion(q0=[0.0, 1.0], force=[0.0, -9.81], within=jo.HalfSpace(normal=[0, 1]), law=jo.Restitution(0.8))
    sol = jo.solve(ball, jo.Paoli(), t=2.0, h=1e-3)
    assert len(sol.impacts()) == 3
    nearest = jo.project([-1.0, -2.0], jo.convex.Polyhedron([[1.0, 0.0], [0.0, 1.0]], [0.0, 0.0])).point
    assert abs(nearest).max() < 1e-12
    command = Path(sysconfig.get_path("scripts")) / "jostle"
    said = subprocess.run([command, "--version"], capture_output=True, text=True, check=True).stdout
    assert said == f"jostle {jo.__version__}\n", said
    for line in (
        "list",
        "run cradle_apart --set run.t=1 --output run.vtkhdf",
        "info run.vtkhdf",
        "view run.vtkhdf -o run.html",
    ):
        code, text = jostle(line)
        assert code == 0, text
    assert Path("run.html").stat().st_size > 0
    assert len(jo.io.read("run.vtkhdf").t) > 10


def functions_that_need_extras() -> int:
    """Call every public function that needs an extra; return their number."""
    import jostle as jo
    from jostle import viz
    from jostle.crowds.measure.pedestrians import to_pedpy
    from jostle.study.tables import write_table

    sol = jo.io.read("run.vtkhdf")
    people = jo.Sweeping(q0=[[0.0, 0.0], [3.0, 0.0]], velocity=[1.0, 0.0], within=jo.Free())
    walk = jo.solve(people, jo.Venel(), t=0.2, h=0.1)
    works = {"OUTLINES", "QUANTITIES", "Drawn", "Frame", "Quantity", "Server", "Shape", "page", "serve", "widget"}
    calls: list[tuple[str, Callable[[], object]]] = [
        ("plot", lambda name=name: getattr(viz, name)) for name in viz.__all__ if name not in works
    ]
    for name in ("plan.dxf", "plan.png"):
        Path(name).touch()
    room = jo.crowds.Room([(0, 0), (10, 0), (10, 8), (0, 8)], doors=[((10, 3), (10, 5))])
    calls += [
        ("notebook", lambda: viz.widget(sol)),
        ("tables", lambda: write_table({"x": [1.0]}, "table.parquet")),
        ("export", lambda: jo.io.export("run.vtkhdf", "run.gsd")),
        ("crowd", lambda: to_pedpy(walk)),
        ("crowd", lambda: room.area),
        ("crowd", lambda: jo.crowds.write_plan(room, "plan.dxf")),
        ("crowd", lambda: jo.crowds.WKT().loads("POLYGON ((0 0, 1 0, 1 1, 0 0))")),
        ("crowd", lambda: jo.crowds.read_plan("plan.dxf", jo.crowds.DXF())),
        ("crowd", lambda: jo.crowds.read_plan("plan.png", jo.crowds.Picture(scale=0.1))),
        ("gpu", lambda: jo.solve(people, jo.Venel(), t=0.1, h=0.1, device="cuda")),
    ]
    for extra, call in calls:
        try:
            call()
        except jo.JostleError as error:
            assert f"jostle[{extra}]" in str(error), f"expected jostle[{extra}] in: {error}"  # noqa: PT017 - not a pytest
        else:
            raise AssertionError(f"call {calls.index((extra, call))} does not need jostle[{extra}]")
    return len(calls)


def commands_that_need_extras() -> int:
    """Run every command that needs an extra; return their number."""
    import jostle as jo

    Path("study.toml").write_text(STUDY, encoding="utf-8")
    lines = {
        "plot run.vtkhdf": "plot", "movie run.vtkhdf": "movie", "report run.vtkhdf": "plot",
        "export run.vtkhdf -o run.gsd": "export", "run cradle_apart --device cuda --output gpu.vtkhdf": "gpu",
        "dev verify": "crowd", "sweep study.toml --dask 127.0.0.1:9": "cluster",
    }  # fmt: skip
    for line, extra in lines.items():
        code, text = jostle(line)
        assert code, f"{line} did not fail: {text}"
        assert f"jostle[{extra}]" in text, f"{line} does not name jostle[{extra}]: {text}"
        assert "Traceback" not in text, text
    crowds = 0
    for name in jo.scenarios.names():
        code, text = jostle(f"info {name}")
        assert code == 0 or "jostle[crowd]" in text, text
        crowds += code != 0
    return len(lines) + crowds


def jostle(line: str) -> tuple[int, str]:
    """The exit code of a command, and what it prints."""
    from jostle.cli import main as command

    said = io.StringIO()
    with redirect_stdout(said), redirect_stderr(said):
        try:
            command(line.split())
        except SystemExit as ended:
            return int(ended.code or 0), said.getvalue()
    return 0, said.getvalue()


if __name__ == "__main__":
    main()
