"""Moving densities on the command line: runs, and summaries of scenarios and files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from jostle.cli.show import status_in
from jostle.errors import InvalidValue
from jostle.result.status import MESSAGES
from jostle.viz.sources import LENGTH, unit_text, with_time

if TYPE_CHECKING:
    from collections.abc import Callable

    from jostle.io import Images, Output
    from jostle.scenarios import Run


def summary(images: Images, path: Path) -> dict[str, Any]:
    """A summary of the run of a density, from its file."""
    status, steps = status_in(images.status, path), images.steps
    found = {
        "status": status, "message": MESSAGES.get(status, status),
        "t": float(images.t[-1]), "steps": 0 if steps is None else len(steps), "frames": len(images.t),
        "cells": list(images.shape), "lower": images.lower.tolist(), "upper": images.upper.tolist(), "h": images.h,
        "fields": list(images.fields),
    }  # fmt: skip
    for name in ("walls", "exits"):
        mask = getattr(images, name)
        found[f"{name}_cells"] = 0 if mask is None else int(mask.sum())
    for name, values in images.totals.items():
        found |= {f"{name}_at_start": float(values[0]), f"{name}_at_end": float(values[-1])}
    if steps is not None and len(steps):
        found |= {"largest_substeps": int(steps["substeps"].max()), "worst_excess": float(steps["excess"].max())}
    return found | {"bytes": path.stat().st_size}


def in_words(images: Images) -> dict[str, str]:
    """The values of a summary that have a unit, as text."""
    units = images.units
    return {"t": with_time(f"{images.t[-1]:.4g}", units), "h": f"{images.h:.4g} {unit_text(units, LENGTH)}".rstrip()}


def of_scenario(run: Run) -> dict[str, Any]:
    """A summary of what a scenario about a density computes."""
    problem = run.problem
    return {
        "cells": list(problem.grid.shape), "mass": problem.mass, "scheme": repr(run.scheme),
        "t": run.t, "h": run.h, "every": run.every, "steps": round(run.t / run.h),
    }  # fmt: skip


def solved(run: Run, *, device: str, output: Output, progress: Callable[[Any], object]) -> Images:
    """Run a density with the options of the commands, and read its file."""
    from jostle.io import read_images

    if device != "cpu":
        raise InvalidValue(f"densities are computed on the CPU only, not on {device!r}")
    run.solve(output=output, progress=progress)
    assert output.path is not None
    return read_images(output.path)
