"""Tables on the screen."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from jostle.solution import KILLED, MESSAGES, RUNNING, Solution

UNITS = ("B", "kB", "MB", "GB", "TB")


def summary(sol: Solution, path: Path) -> dict[str, Any]:
    """How a run went, as its trajectory has it."""
    stats, status = sol.stats, _status(sol, path)
    return {
        "status": status, "message": MESSAGES.get(status, status),
        "t": float(sol.t[-1]), "steps": len(stats), "frames": len(sol.t),
        "bodies": int(sol.q.shape[1]) if sol.q.ndim > 1 else 1,
        "worst_overlap": sol.overlap, "worst_residual": sol.residual,
        "worst_overshoot": float(stats["overshoot"].max(initial=0.0)),
        "steps_not_converged": int((~stats["converged"]).sum()),
        "iterations_a_step": float(stats["iterations"].mean()) if len(stats) else 0.0,
        "bytes": path.stat().st_size,
    }  # fmt: skip


def _status(sol: Solution, path: Path) -> str:
    """The status, where a file that says it is being written, and that nobody writes, was left by a killed process."""
    from jostle.io.container import being_written

    return KILLED if sol.status == RUNNING and not being_written(path) else sol.status


def show(values: Mapping[str, Any], as_json: bool, title: str = "") -> None:
    """Names and values: one a line, or all as a line of JSON."""
    if as_json:
        print(json.dumps(values))
        return
    table = Table(title=title or None, show_header=False, box=None, padding=(0, 2), title_justify="left")
    table.add_column(style="bold")
    table.add_column()
    for name, value in values.items():
        if name == "status" and "message" in values:
            table.add_row(name, f"{values['message']} ({value})")
            continue
        if name == "message":
            continue
        table.add_row(name.replace("_", " "), size(value) if name == "bytes" else words(value))
    Console(highlight=False).print(table)


def words(value: Any) -> str:
    """A value as one would write it."""
    if isinstance(value, float):
        return f"{value:.4g}"
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def size(count: int) -> str:
    """Bytes in words.

    >>> size(1_234_567)
    '1.2 MB'
    """
    amount = float(count)
    for unit in UNITS[:-1]:
        if amount < 1000.0:
            return f"{amount:.0f} {unit}" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= 1000.0
    return f"{amount:.1f} {UNITS[-1]}"
