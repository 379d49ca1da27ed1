"""What the commands do with moving densities: summaries of their files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from jostle.solution import MESSAGES, RUNNING

if TYPE_CHECKING:
    from jostle.io import Images

UNFINISHED = "not finished: the run is under way, or was killed"
"""Nobody holds a lock on a file of fields, so that a run which goes on and one that was killed look the same."""


def summary(images: Images, path: Path) -> dict[str, Any]:
    """A summary of the run of a density, from its file."""
    status, steps = images.status, images.steps
    found = {
        "status": status, "message": UNFINISHED if status == RUNNING else MESSAGES.get(status, status),
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
