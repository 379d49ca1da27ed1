"""Rich displays: how results show themselves in a notebook.

A notebook calls `_repr_html_` of the last value of a cell. Tables are made in a layer above all results: the package
tells `html` where, with `use`.
"""

from __future__ import annotations

from collections.abc import Callable
from html import escape

Writer = Callable[[object], str]
"""What turns a result into HTML."""


def plain(shown: object) -> str:
    """The text of a result, without a table."""
    return f"<pre>{escape(repr(shown), quote=False)}</pre>"


_writers: list[Writer] = [plain]


def use(writer: Writer) -> None:
    """Let a function write the HTML of results from now on."""
    _writers[-1] = writer


def html(shown: object) -> str:
    """The table of a result, as HTML."""
    return _writers[-1](shown)
