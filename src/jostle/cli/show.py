"""Output of the commands: lines and tables. Text from files cannot send control sequences to the terminal."""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from jostle.result.solution import Solution
from jostle.result.status import KILLED, MESSAGES, RUNNING, iterations_in_words, overlap_in_words
from jostle.viz.sources import with_time

UNSAFE = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]|\r(?!\n)")
"""Control characters, which begin escape sequences, and marks that reverse the direction of writing."""
UNITS = ("B", "kB", "MB", "GB", "TB")
"""Units of file sizes, each a thousand times the one before."""


LABELS = {
    "t": "end time", "frames": "saved frames", "bytes": "file size", "seconds": "computing time",
    "steps_a_second": "steps per second", "ms_a_step": "ms per step", "first_run_s": "first run (s)",
    "second_run_s": "second run (s)", "warm_up_s": "warm-up (s)", "free_GB_here": "free disk space here (GB)",
    "plug_ins": "plug-ins",
}  # fmt: skip
"""Labels in the terminal of values whose label is not their name in JSON."""
ONLY_IN_JSON = ("worst_overshoot", "smallest_radius", "units", "iterations_a_step")
"""Values that are not shown in the terminal, because another line contains them."""


def summary(sol: Solution, path: Path) -> dict[str, Any]:
    """A summary of a run, from its trajectory."""
    stats, status = sol.stats, status_in(sol.status, path)
    radii, d = sol.facts.radii, sol.facts.dimension or 1
    return {
        "status": status, "message": MESSAGES.get(status, status),
        "t": float(sol.t[-1]), "steps": len(stats), "frames": len(sol.t),
        "bodies": math.prod(sol.q.shape[1:]) // d,
        "worst_overlap": sol.overlap, "worst_residual": sol.residual,
        "worst_overshoot": float(stats["overshoot"].max(initial=0.0)),
        "steps_not_converged": int((~stats["converged"]).sum()),
        "iterations": int(stats["iterations"].sum()),
        "iterations_a_step": float(stats["iterations"].mean()) if len(stats) else 0.0,
        "bytes": path.stat().st_size,
        "smallest_radius": float(radii.min()) if radii is not None and radii.size else None,
        "units": asdict(sol.facts.units),
    }  # fmt: skip


def in_words(sol: Solution) -> dict[str, str]:
    """The values of a summary that need more than a number in the terminal: units, and what they are measured by."""
    return {
        "t": with_time(f"{sol.t[-1]:.4g}", sol.facts.units),
        "worst_overlap": overlap_in_words(sol),
        "worst_residual": f"{sol.residual:.2g} (dimensionless)",
        "iterations": iterations_in_words(sol.stats),
    }


def status_in(status: str, path: Path) -> str:
    """The status of a run that a file contains; a run marked as running that no process writes was killed."""
    from jostle.io.locks import being_written

    return KILLED if status == RUNNING and not being_written(path) else status


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


def show(values: Mapping[str, Any], as_json: bool, title: str = "", told: Mapping[str, str] | None = None) -> None:
    """Print names and values, one per line, or all as one line of JSON; lines have the words of `told`, where given."""
    if as_json:
        say(json.dumps(values))
        return
    shown = {name: value for name, value in values.items() if name not in ONLY_IN_JSON}
    shown |= {name: text for name, text in (told or {}).items() if name in shown}
    if "crowd" in shown:
        from jostle.cli.crowds import lines

        crowd = lines(shown.pop("crowd"))
        head = [name for name in ("file", "title", "status", "message") if name in shown]
        shown = {**{name: shown[name] for name in head}, **crowd, **shown}
    if "message" in values:
        shown["status"] = f"{shown.pop('message')} ({values['status']})"
    if "bytes" in shown:
        shown["bytes"] = size(shown["bytes"])
    rows = ((LABELS.get(name, name.replace("_", " ")), words(value)) for name, value in shown.items())
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
