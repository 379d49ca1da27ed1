"""Output of the commands: lines and tables. Text from files cannot send control sequences to the terminal."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from jostle.solution import Solution
from jostle.statuses import KILLED, MESSAGES, RUNNING

UNSAFE = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]|\r(?!\n)")
"""Control characters, which begin escape sequences, and marks that reverse the direction of writing."""
UNITS = ("B", "kB", "MB", "GB", "TB")
"""Units of file sizes, each a thousand times the one before."""


def summary(sol: Solution, path: Path) -> dict[str, Any]:
    """A summary of a run, from its trajectory."""
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
    """The status of a run; a run marked as running that no process writes was killed."""
    from jostle.io.container import being_written

    return KILLED if sol.status == RUNNING and not being_written(path) else sol.status


def plain(text: object, encoding: str | None = None) -> str:
    """A text with escapes for control characters and for characters that the encoding lacks.

    >>> print(plain("a \\x1b[31mred\\x1b[0m title, caf\\xe9", "ascii"))
    a \\x1b[31mred\\x1b[0m title, caf\\xe9
    """
    escaped = UNSAFE.sub(lambda found: found[0].encode("unicode_escape").decode(), str(text))
    encoding = encoding or "utf-8"
    return escaped.encode(encoding, "backslashreplace").decode(encoding)


def say(text: object = "", *, error: bool = False, end: str = "\n") -> None:
    """Print a line; errors and remarks go to stderr."""
    stream = sys.stderr if error else sys.stdout
    print(plain(text, stream.encoding), end=end, file=stream, flush=True)


def show_warning(message: Warning | str, *_: object, **__: object) -> None:
    """Print a warning as a line on stderr, without its source line."""
    say(f"warning: {message}", error=True)


def show_rows(rows: Iterable[tuple[object, object]], title: str = "", style: str = "") -> None:
    """Print a table of two columns."""
    console = Console(highlight=False, markup=False, emoji=False)
    name = plain(title, console.encoding) or None
    table = Table(title=name, show_header=False, box=None, padding=(0, 2), title_justify="left")
    table.add_column(style=style, no_wrap=True)
    table.add_column(overflow="fold")  # long names continue on the next line, so that they can be copied
    for cells in rows:
        table.add_row(*(plain(cell, console.encoding) for cell in cells))
    console.print(table)


def show(values: Mapping[str, Any], as_json: bool, title: str = "") -> None:
    """Print names and values, one per line, or all as one line of JSON."""
    if as_json:
        say(json.dumps(values))
        return
    shown = dict(values)
    if "crowd" in shown:
        from jostle.cli.crowds import lines

        told = lines(shown.pop("crowd"))
        head = [name for name in ("file", "title", "status", "message") if name in shown]
        shown = {**{name: shown[name] for name in head}, **told, **shown}
    if "message" in values:
        shown["status"] = f"{shown.pop('message')} ({values['status']})"
    rows = (
        (name.replace("_a_", " per ").replace("_", " "), size(value) if name == "bytes" else words(value))
        for name, value in shown.items()
    )
    show_rows(rows, title, style="bold")


def words(value: Any) -> str:
    """A value as text."""
    if isinstance(value, float):
        return f"{value:.4g}"
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def size(count: int) -> str:
    """A number of bytes with its unit.

    >>> size(1_234_567)
    '1.2 MB'
    """
    amount = float(count)
    for unit in UNITS[:-1]:
        if amount < 1000.0:
            return f"{amount:.0f} {unit}" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= 1000.0
    return f"{amount:.1f} {UNITS[-1]}"
