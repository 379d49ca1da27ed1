"""Output of the commands: lines, tables, figures of crowds. Text from files cannot send control sequences."""

from __future__ import annotations

import json
import math
import re
import sys
import textwrap
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from jostle.io.images import Images
from jostle.result.solution import Solution
from jostle.result.status import (
    EMPTY_BUILDING,
    KILLED,
    MESSAGES,
    RUNNING,
    STOPPED,
    iterations_in_words,
    overlap_in_words,
)
from jostle.viz.sources import AREA, LENGTH, unit_text, with_time

UNSAFE = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]|\r(?!\n)")
"""Control characters, which begin escape sequences, and marks that reverse the direction of writing."""
COMMAND = re.compile(r"`[^`]+`")
"""A command in a text."""
NARROWEST = 16
"""Smallest width of the column of values, in narrow terminals too."""
UNITS = ("B", "kB", "MB", "GB", "TB")
"""Units of file sizes, each a thousand times the one before."""


LABELS = {
    "t": "end time", "h": "time step", "every": "time between frames",
    "frames": "saved frames", "bytes": "file size", "seconds": "computing time",
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
        "status": status, "message": MESSAGES[KILLED] if status == KILLED else sol.message,
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
    from jostle.io.new_files import being_written

    return KILLED if status == RUNNING and not being_written(path) else status


def density_summary(images: Images, path: Path) -> dict[str, Any]:
    """A summary of the run of a density, from its file."""
    status, steps = status_in(images.status, path), images.steps
    found = {
        "status": status, "message": MESSAGES.get(status, status),
        "t": float(images.t[-1]), "steps": 0 if steps is None else len(steps), "frames": len(images.t),
        "cells": list(images.shape), "lower": images.lower.tolist(), "upper": images.upper.tolist(),
        "cell_size": images.h,
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


def density_in_words(images: Images) -> dict[str, str]:
    """The values of a summary that have a unit, as text."""
    units = images.units
    area = f" {unit_text(units, AREA)}".rstrip() + " at the density one"
    ends = {"at_start": 0, "at_end": -1}
    masses = {
        f"{name}_{when}": f"{images.totals[name][k]:.4g}{area}"
        for name in ("mass", "gone")
        for when, k in ends.items()
        if name in images.totals
    }
    cell = f"{images.h:.4g} {unit_text(units, LENGTH)}".rstrip()
    return {"t": with_time(f"{images.t[-1]:.4g}", units), "cell_size": cell, **masses}


def plain(text: object, encoding: str | None = None) -> str:
    """A text with escapes for control characters and for characters that the encoding lacks."""
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
    """Print two columns; lines never end inside a word, nor inside a command in backticks, so that it can be copied."""
    console = Console(highlight=False, markup=False, emoji=False)
    cells = [(plain(name, console.encoding), plain(value, console.encoding)) for name, value in rows]
    if title:
        console.print(plain(title, console.encoding), soft_wrap=True)
    width = max((len(name) for name, _ in cells), default=0)
    for name, value in cells:
        for number, line in enumerate(_wrapped(value, console.width - width - 6) or [""]):
            heading = name if number == 0 else ""
            text = Text.assemble("  ", (heading.ljust(width), style), "    ", line)
            text.rstrip()
            console.print(text, soft_wrap=True)


def _wrapped(value: str, width: int) -> list[str]:
    """The lines of a value.

    >>> _wrapped("stopped; `jostle resume a.vtkhdf` continues", 16)
    ['stopped;', '`jostle resume a.vtkhdf`', 'continues']
    """
    whole = COMMAND.sub(lambda found: found[0].replace(" ", "\0"), value)
    lines = textwrap.wrap(whole, max(width, NARROWEST), break_long_words=False, break_on_hyphens=False)
    return [line.replace("\0", " ") for line in lines]


def show_table(table: Table, rows: Iterable[Iterable[object]]) -> None:
    """Print a table with these rows of plain text."""
    console = Console(highlight=False, markup=False, emoji=False)
    for cells in rows:
        table.add_row(*(plain(cell, console.encoding) for cell in cells))
    console.print(table)


def show(values: Mapping[str, Any], as_json: bool, title: str = "", told: Mapping[str, str] | None = None) -> None:
    """Print names and values, one per line, or all as one line of JSON; lines have the words of `told`, where given."""
    if as_json:
        say(json.dumps(values))
        return
    shown = {name: value for name, value in values.items() if name not in ONLY_IN_JSON and value != ""}
    shown |= {name: text for name, text in (told or {}).items() if name in shown}
    if "crowd" in shown:
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


# Answers about crowds on the command line: figures of an evacuation, as lines and as JSON.


def people(count: int) -> str:
    """A number of people in words.

    >>> people(1), people(20)
    ('1 person', '20 people')
    """
    return f"{count} {'person' if count == 1 else 'people'}"


JAMS_SHOWN = 4
"""Largest number of jams that are printed as lines; JSON has all of them."""


def answers(sol: Solution) -> dict[str, Any]:
    """The answers about a run of people; empty for other bodies, and for runs without the necessary facts.

    >>> import jostle as jo
    >>> answers(jo.solve(jo.models.rack(), jo.Maury(), t=0.1, h=0.1))
    {}
    """
    from jostle.crowds import crowd_summary
    from jostle.errors import MissingPackage
    from jostle.plans.stored import plan_of

    if plan_of(sol) is None:
        if sol.facts.groups is not None and sol.order == 1:
            return {"note": "the plan is not in this file, so neither exits nor densities are known"}
        return {}
    try:
        crowd = crowd_summary(sol)
    except MissingPackage:
        return {
            "note": "no answers about the crowd, which need the extra crowd: `jostle doctor` shows how to install it"
        }
    ended = {"message": EMPTY_BUILDING} if sol.status == STOPPED and not crowd.inside else {}
    return {"crowd": crowd.rows(), **ended}


def lines(crowd: dict[str, Any]) -> dict[str, str]:
    """The answers as names and texts, one per line."""
    from jostle.crowds.measure.blockades import SLOW_FRACTION
    from jostle.crowds.measure.summary import LONGEST_INTERVAL
    from jostle.crowds.model.crowd import STANDSTILL

    inside = crowd["inside_at_end"]
    whom = "all have left" if not inside else f"of whom {inside} {'is' if inside == 1 else 'are'} inside at the end"
    found = {"people": f"{crowd['people']}, {whom}"}
    if crowd.get("never_inside"):
        found["never inside"] = (
            f"{people(crowd['never_inside'])}: they found no free place, or the run ended before they came"
        )
    if crowd.get("evacuation_time_95") is not None:
        last = crowd.get("evacuation_time")
        end = f"the last after {last:.1f} s" if last is not None else "not all of them"
        found["evacuation time"] = f"95 % after {crowd['evacuation_time_95']:.1f} s, {end}"
    if crowd.get("missed"):
        count = crowd["missed"]
        found["missed"] = (
            f"{count} {'person is' if count == 1 else 'people are'} inside, and all their exits have closed"
        )
    if crowd.get("standing_at_end"):
        count = crowd["standing_at_end"]
        who = "1 person was" if count == 1 else f"{count} people were"
        slow = f"slower than {100.0 * SLOW_FRACTION:g} % of their desired speed"
        found["stuck or waiting"] = f"{who} {slow} in the last {STANDSTILL:g} s"
    interval = crowd.get("time_between_frames", 0.0)
    if interval > LONGEST_INTERVAL * (1.0 + 1e-9):
        found["accuracy"] = (
            f"frames are {interval:.3g} s apart: times are known to about {interval:.3g} s, exits and flows are "
            f"estimates; save more frames with every = {LONGEST_INTERVAL:g} in [run]"
        )
    for name, use in crowd["exits"].items():
        text = people(use["people"])
        if use["people"] == 1:
            text += f", at {use['first']:.1f} s"
        elif use["people"]:
            text += f", from {use['first']:.1f} to {use['last']:.1f} s"
        if use["flow"] is not None:
            text += f", {use['flow']:.2f} people/s, {use['specific_flow']:.2f} people/s/m"
        found[f"exit {name}"] = f"{text} ({use['width']:g} m wide)"
    if crowd.get("left_elsewhere"):
        found["left elsewhere"] = f"{people(crowd['left_elsewhere'])} left the plan without crossing an exit"
    if crowd.get("worst_density") is not None:
        where = crowd["worst_density_at"]
        found["worst density"] = (
            f"{crowd['worst_density']:.1f} people/m² near ({where['x']:.1f}, {where['y']:.1f}) at {where['t']:.1f} s, "
            f"level of service {crowd['level_of_service']} of walkways"
        )
    if crowd.get("mean_time_loss") is not None:
        found["time loss"] = f"{crowd['mean_time_loss']:.1f} s on average, at most {crowd['largest_time_loss']:.1f} s"
    for number, jam in enumerate(crowd["jams"][:JAMS_SHOWN]):
        found["jams" if number == 0 else f"jam {number + 1}"] = (
            f"up to {jam['people']} people {jam['at']}, from {jam['start']:.1f} to {jam['end']:.1f} s"
        )
    if not crowd["jams"]:
        found["jams"] = "none"
    if len(crowd["jams"]) > JAMS_SHOWN:
        found["more jams"] = str(len(crowd["jams"]) - JAMS_SHOWN)
    if crowd["blocked"]:
        found["blocked"] = crowd["blockade"]
    elif "standstill" in crowd:
        found["standstill"] = crowd["standstill"]
    for number, warning in enumerate(crowd.get("warnings", ())):
        found["warning" if number == 0 else f"warning {number + 1}"] = warning
    return found
