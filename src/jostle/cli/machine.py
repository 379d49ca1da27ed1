"""``jostle doctor``: checks the installation and the speed of the machine."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import shutil
import tempfile
import time
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from jostle._tools.installing import installing
from jostle.cli.runs import Json
from jostle.cli.show import say, show
from jostle.errors import BrokenPlugin, DeviceUnavailable

EXTRAS = {
    "plot": ("pictures and plots", ("matplotlib",)),
    "movie": ("films as mp4 and gif", ("matplotlib", "imageio-ffmpeg", "pillow")),
    "crowd": ("floor plans (DXF, PNG, shapely) and PedPy", ("shapely", "ezdxf", "pillow", "pedpy")),
    "export": ("GSD files for OVITO", ("gsd",)),
    "notebook": ("the viewer in notebooks", ("anywidget",)),
    "tables": ("Parquet tables of studies", ("pyarrow",)),
    "cluster": ("studies on a Dask cluster", ("dask", "distributed")),
    "torch": ("derivatives of runs in PyTorch", ("torch",)),
    "jax": ("derivatives of runs in JAX", ("jax",)),
    "gpu": ("runs on an NVIDIA GPU", ("cupy-cuda12x",)),
}
"""Extras that users install: their purpose and their packages."""


WarmUp = Annotated[bool, typer.Option("--warm-up", help="First compile all kernels, on all cores.")]


def doctor(as_json: Json = False, warm_up: WarmUp = False) -> None:
    """Check the installation and list the extras."""
    from jostle.io.saving import versions

    found: dict[str, Any] = {f"version_{name}": version for name, version in versions().items()}
    found |= {
        "machine": platform.platform(),
        "processor": platform.processor() or platform.machine(),
        "cores": os.cpu_count(),
    }
    if warm_up:
        found |= _warm_up(Console(stderr=True, quiet=as_json))
    extras = {name: _extra(name) for name in EXTRAS}
    absent = [name for name, said in extras.items() if said.startswith(MISSING)]
    found |= _kernels() | _disk() | {f"extra_{name}": said for name, said in extras.items()}
    found |= {"ffmpeg": _ffmpeg(), "gpu": _gpu(), "browser": "any, for `jostle view` and saved pages; no extra needed"}
    plugins = _plugins()
    found |= {"plug_ins": plugins or "none"}
    if as_json:
        found |= {"install": {name: installing(extras=name) for name in absent}}
    show(found, as_json)
    if not as_json:
        broken = any(one.startswith(BROKEN) for one in plugins)
        verdict = "jostle works, but a plug-in is broken: update or remove it." if broken else "jostle works."
        say(f"{verdict} Extras that are missing are optional.")
        if absent:
            say("To install one of them (`jostle[all]` is all of them but torch, jax and gpu):")
        for name in absent:
            say(f"  {installing(extras=name)}")


MISSING = "missing"
"""The first word about an extra without its packages."""


def _extra(name: str) -> str:
    """The purpose of an extra, with the versions of its packages, or with those that are missing."""
    purpose, packages = EXTRAS[name]
    present, missing = [], []
    for package in packages:
        try:
            present.append(f"{package} {importlib.metadata.version(package)}")
        except importlib.metadata.PackageNotFoundError:
            missing.append(package)
    if missing:
        return f"{MISSING} {', '.join(missing)}: {purpose}"
    return f"{', '.join(present)}: {purpose}"


def _ffmpeg() -> str:
    """The program that writes mp4 films, or how to install it."""
    try:
        from imageio_ffmpeg import get_ffmpeg_exe

        return str(get_ffmpeg_exe())
    except ImportError:
        return f"{MISSING}: it comes with the extra movie"
    except RuntimeError as error:  # the package is installed without its program
        return f"{MISSING}: {error}"


def _gpu() -> str:
    """Whether runs can be computed on a GPU, and if not, why."""
    from jostle.run.devices import array_module

    try:
        array_module("cuda")
    except DeviceUnavailable as error:
        return str(error).partition(". To install it")[0]  # the commands are listed below
    return "usable: device='cuda'"


BROKEN = "broken: "


def _plugins() -> list[str]:
    """The plug-ins of installed packages, and which of them are broken."""
    from jostle.crowds.model.behaviours import BEHAVIOURS
    from jostle.io.exports import EXPORTS
    from jostle.macro.motion.scheme import DENSITY_SCHEMES
    from jostle.plans.formats import PLAN_FORMATS
    from jostle.scenarios import KINDS
    from jostle.schemes import SCHEMES
    from jostle.sets.outlines import OUTLINES
    from jostle.solvers import SOLVERS
    from jostle.study.measures import CURVES, MEASURES
    from jostle.viz.quantities import QUANTITIES

    found = []
    lists = (
        KINDS,
        SCHEMES,
        DENSITY_SCHEMES,
        SOLVERS,
        BEHAVIOURS,
        MEASURES,
        CURVES,
        EXPORTS,
        PLAN_FORMATS,
        QUANTITIES,
        OUTLINES,
    )
    for each in lists:
        try:
            names = each.added()
        except BrokenPlugin as error:  # two packages define the same name
            found.append(f"{BROKEN}{error}")
            continue
        for name in names:
            try:
                each.get(name)
                found.append(f"{each.noun} {name}")
            except BrokenPlugin as error:
                found.append(f"{BROKEN}{error}")
    return found


def _warm_up(console: Console) -> dict[str, Any]:
    """Compile all kernels, with a bar."""
    from jostle.kernels.cpu.warm_up import warm_up
    from jostle.kernels.parallel import threads

    begin, done = time.perf_counter(), 0
    columns = BarColumn(), MofNCompleteColumn(), TextColumn("compiled"), TimeElapsedColumn()
    with Progress(*columns, console=console, disable=not console.is_terminal) as bar:
        task = bar.add_task("", total=None)
        for _, done, total in warm_up(threads()):
            bar.update(task, total=total, completed=done)
    return {"kernels_compiled": done, "warm_up_s": time.perf_counter() - begin}


def _kernels() -> dict[str, Any]:
    """Run a small pile twice; the first run may compile."""
    import jostle as jo
    from jostle.kernels.parallel import threads

    pile = jo.models.spheres(np.full(200, 0.5), box=([0, 0], [12, np.inf]))
    seconds = []
    for _ in range(2):
        begin = time.perf_counter()
        sol = jo.solve(pile, jo.Maury(solver=jo.Automatic(tol=1e-6)), t=0.3, h=0.01)
        seconds.append(time.perf_counter() - begin)
    return {
        "threads": threads(), "first_run_s": seconds[0], "second_run_s": seconds[1], "worst_residual": sol.residual,
    }  # fmt: skip


def _disk() -> dict[str, Any]:
    """Write and read a trajectory in the temporary folder, and measure the free space of the current folder."""
    import jostle as jo

    ball = jo.Motion(q0=[[0.0, 1.0]], force=[[0.0, -10.0]], within=jo.HalfSpace([0.0, 1.0]))
    with tempfile.TemporaryDirectory() as folder:
        sol = jo.solve(ball, jo.Maury(), t=1.0, h=0.01, output=Path(folder) / "ball.vtkhdf")
        frames = len(sol.q[:])
    return {"trajectory": f"{frames} frames written and read", "free_GB_here": shutil.disk_usage(".").free / 1e9}
