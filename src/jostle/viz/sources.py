"""What is shown, a solution or a file that holds one, and where it may be written to."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from jostle.errors import InvalidValue, MissingPackage
from jostle.io.reading import States, read
from jostle.solution import Solution

Shown = Solution | str | os.PathLike[str]
"""A solution, or the path of a trajectory file."""


def solution(sol: Shown) -> Solution:
    """The solution itself, or the one in the file.

    >>> solution(7)  # doctest: +IGNORE_EXCEPTION_DETAIL
    Traceback (most recent call last):
    jostle.errors.InvalidValue: give a Solution, or the path of a trajectory file, not 7
    """
    if isinstance(sol, Solution):
        return sol
    if not isinstance(sol, str | os.PathLike):
        raise InvalidValue(f"give a Solution, or the path of a trajectory file, not {sol!r}")
    return read(sol)


def file_of(sol: Solution) -> Path | None:
    """The file that a solution was read from, if it was."""
    q: Any = sol.q
    return q.source.path if isinstance(q, States) else None


def target_for(path: str | os.PathLike[str], what: str, suffixes: Sequence[str], source: Path | None) -> Path:
    """Where to write `what`: a name with one of these suffixes that is not the file which is shown.

    >>> target_for("run.html", "a page", [".html", ".htm"], None).name
    'run.html'
    >>> target_for("run.vtkhdf", "a page", [".html", ".htm"], None)
    Traceback (most recent call last):
    jostle.errors.InvalidValue: a page is a .html or .htm file, not 'run.vtkhdf': give it such a name
    """
    found = Path(path)
    if found.suffix.lower() not in suffixes:
        allowed = " or ".join(filter(None, [", ".join(suffixes[:-1]), suffixes[-1]]))
        raise InvalidValue(f"{what} is a {allowed} file, not {found.name!r}: give it such a name")
    if source is not None and os.path.exists(found) and os.path.exists(source) and os.path.samefile(found, source):
        raise InvalidValue(f"{found} is the trajectory itself, which {what} would replace: give another name")
    return found


def need_matplotlib(what: str, extra: str = "plot") -> None:
    """`MissingPackage` if matplotlib is not there, or does not work.

    >>> need_matplotlib("pictures")
    """
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise MissingPackage(f"{what} need matplotlib: pip install 'jostle[{extra}]' ({error})") from None
