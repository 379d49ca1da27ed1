"""Cards as HTML: a table with a caption beside a drawing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from html import escape

MAX_NAMES = 6
"""Largest number of names that a row of a table lists."""
STYLES = {
    "div": "display:flex;flex-wrap:wrap;gap:1em;align-items:center",
    "table": "border-collapse:collapse;margin:0;color:inherit;font-size:inherit",
    "caption": "text-align:left;font-weight:bold;padding:0 0 .3em;caption-side:top;color:inherit",
    "th": "text-align:left;font-weight:normal;opacity:.7;padding:.1em 1em .1em 0;vertical-align:top",
    "td": "text-align:left;padding:.1em 0",
}
"""Styles of the elements of a card; colours are those of the page."""


def write_card(title: str, rows: Mapping[str, object], drawing: str = "") -> str:
    """A table with a title, and a drawing beside it; names and values are escaped.

    >>> "a &lt;b&gt;" in write_card("Run", {"title": "a <b>"})
    True
    """
    cells = "".join(
        f'<tr style="background:none">{_tag("th", escape(str(name)))}{_tag("td", escape(str(value)))}</tr>'
        for name, value in rows.items()
        if value not in (None, "")
    )
    return _tag("div", _tag("table", f"{_tag('caption', escape(title))}<tbody>{cells}</tbody>") + drawing)


def _tag(name: str, inside: str) -> str:
    return f'<{name} style="{STYLES[name]}">{inside}</{name}>'


def listed(words: Iterable[str]) -> str:
    """Some names, and how many more there are."""
    names = list(words)
    more = len(names) - MAX_NAMES
    return ", ".join(names[:MAX_NAMES]) + (f" and {more} more" if more > 0 else "")


def short_number(value: float) -> str:
    return f"{value:.4g}"


def small_number(value: float) -> str:
    return f"{value:.1e}" if value else "0"
