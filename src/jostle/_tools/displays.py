"""Displays that a layer above all results makes: tables of results in notebooks, and the bar of a run.

A notebook calls `_repr_html_` of the last value of a cell, and ``solve(..., progress=True)`` asks for a bar. The
package tells `html` and `shown` where both come from, with `use`.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from html import escape
from typing import Any

Writer = Callable[[object], str]
"""What turns a result into HTML."""
Bar = Callable[[], AbstractContextManager[Any]]
"""What opens a bar, a function that is called after each step."""


def plain(shown: object) -> str:
    """The text of a result, without a table."""
    return f"<pre>{escape(repr(shown), quote=False)}</pre>"


_used: list[tuple[Writer, Bar]] = [(plain, nullcontext)]


def use(writer: Writer, bar: Bar) -> None:
    """Let a function write the HTML of results, and another one open bars, from now on."""
    _used[-1] = writer, bar


def html(shown: object) -> str:
    """The table of a result, as HTML."""
    return _used[-1][0](shown)


def shown(progress: Any) -> AbstractContextManager[Any]:
    """What a run calls after each step: a bar for True, nothing for False and None, otherwise the given function."""
    return _used[-1][1]() if progress is True else nullcontext(progress or None)
