"""The solution or file to show, and checks of the files to write."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from jostle.errors import InvalidValue, MissingPackage
from jostle.event_solution import EventSolution
from jostle.io.lazy_arrays import States
from jostle.io.reading import read
from jostle.solution import Solution

Shown = Solution | EventSolution | str | os.PathLike[str]
"""A solution, or the path of a trajectory file."""
EVENT_FRAMES = 401
"""Number of frames, evenly spaced in time, of a solution of `solve_by_events`."""


def solution(sol: Shown) -> Solution:
    """The solution itself, that of `solve_by_events` at evenly spaced times, or the solution in the file.

    >>> solution(7)  # doctest: +IGNORE_EXCEPTION_DETAIL
    Traceback (most recent call last):
    jostle.errors.InvalidValue: sol must be a Solution or the name of a trajectory file, not 7
    """
    if isinstance(sol, Solution):
        return sol
    if isinstance(sol, EventSolution):
        return sol.sampled(np.linspace(sol.start, sol.end, EVENT_FRAMES))
    if not isinstance(sol, str | os.PathLike):
        raise InvalidValue(f"sol must be a Solution or the name of a trajectory file, not {sol!r}")
    return read(sol)


def file_of(sol: Solution) -> Path | None:
    """The file from which a solution was read, or None."""
    q: Any = sol.q
    return q.source.path if isinstance(q, States) else None


def target_for(path: str | os.PathLike[str], what: str, suffixes: Sequence[str], source: Path | None) -> Path:
    """The path to write `what` to, which must have one of these suffixes and not be the trajectory itself.

    >>> target_for("run.html", "a page", [".html", ".htm"], None).name
    'run.html'
    >>> target_for("run.vtkhdf", "a page", [".html", ".htm"], None)
    Traceback (most recent call last):
    jostle.errors.InvalidValue: the name of a page must end in .html or .htm, not be 'run.vtkhdf'
    """
    found = Path(path)
    if found.suffix.lower() not in suffixes:
        allowed = " or ".join(filter(None, [", ".join(suffixes[:-1]), suffixes[-1]]))
        raise InvalidValue(f"the name of {what} must end in {allowed}, not be {found.name!r}")
    if source is not None and os.path.exists(found) and os.path.exists(source) and os.path.samefile(found, source):
        raise InvalidValue(f"{found} is the trajectory itself, which {what} would replace: choose another name")
    return found


def need_matplotlib(what: str, extra: str = "plot") -> None:
    """Raise `MissingPackage` if matplotlib is not installed, or does not work.

    >>> need_matplotlib("pictures")
    """
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise MissingPackage(f"{what} need matplotlib: pip install 'jostle[{extra}]' ({error})") from None
