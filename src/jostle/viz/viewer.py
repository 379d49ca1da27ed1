"""The viewer as a file: one self-contained HTML page that plays a run in any browser."""

from __future__ import annotations

import json
import os
import re
from base64 import b64encode
from collections.abc import Callable, Iterable
from dataclasses import asdict
from functools import cache
from hashlib import sha256
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

from jostle._tools.arguments import check_arguments
from jostle._tools.colours import DARK, FONTS, LIGHT
from jostle.io.new_files import whole
from jostle.viz.encoding import SPARE_BYTES, Given, Packed, checked, encoder_of, text
from jostle.viz.films import Drawn
from jostle.viz.sources import Shown, ShownDensity, file_of, run_of, target_for

# The HTML page of the viewer, joined from the markup, the styles and the scripts of the folder web.
#
# All pages share one script. A page in a file contains its frames (embedded.js), a served page requests them
# (served.js), and a page in a notebook gets them from Python (notebook.js). A content security policy in the page lets
# the browser run only these scripts, identified by their hash, and send nothing to other machines.


SCRIPTS = (
    "source.js", "fields.js", "camera.js", "palette.js", "webgl.js", "cells.js", "glass.js", "raster.js",
    "quantities.js", "stage.js", "field_stage.js", "between.js", "picking.js", "picked_body.js", "picked_cell.js",
    "curve.js", "axes.js", "trails.js", "cut.js", "photo.js", "hands.js", "viewer.js",
)  # fmt: skip
"""JavaScript files of every page, in the order in which they run."""
EMBEDDED, SERVED, NOTEBOOK = "embedded.js", "served.js", "notebook.js"
"""JavaScript files that get the frames from the page itself, from a server, and from a notebook."""


@cache
def part(name: str) -> str:
    """The text of a file in the folder web."""
    return (files("jostle.viz") / "web" / name).read_text(encoding="utf-8")


def script(source: str) -> str:
    """The whole script, with one source of frames.

    >>> "fetch(" in script(SERVED), "fetch(" in script(EMBEDDED)
    (True, False)
    """
    themes = json.dumps({"light": asdict(LIGHT), "dark": asdict(DARK)})
    return "\n".join([f"const THEMES = {themes};", *(part(name) for name in (*SCRIPTS, source))])


@cache
def style() -> str:
    """The style sheet of the viewer: the colours of the system's theme, or of the class `light` or `dark`."""
    light, dark = (f"color-scheme: {name}; {theme.variables()}" for name, theme in (("light", LIGHT), ("dark", DARK)))
    return (
        f":root, :host {{ --fonts: {FONTS}; {light} }}\n"
        f"@media (prefers-color-scheme: dark) {{ :root, :host {{ {dark} }} }}\n"
        f".light {{ {light} }}\n.dark {{ {dark} }}\n{part('viewer.css')}"
    )


def markup() -> str:
    """The HTML of the viewer, with the logo."""
    discs = "".join(re.findall("<circle[^>]*>", part("logo.svg")))
    return part("viewer.html").replace("@discs@", discs)


@cache
def policy(source: str) -> str:
    """The content security policy: the page may run its own script, and request data from its own server.

    >>> [rule.split()[0] for rule in policy(EMBEDDED).split("; ")]
    ['default-src', 'script-src', 'style-src', 'img-src', 'base-uri', 'form-action']
    >>> "connect-src 'self'" in policy(SERVED)
    True
    """
    rules = [
        "default-src 'none'",
        f"script-src {_hash(script(source))}",
        f"style-src {_hash(style())}",
        "img-src data:",
        "base-uri 'none'",
        "form-action 'none'",
    ]
    return "; ".join(rules + ["connect-src 'self'"] * (source == SERVED))


def document(title: str, about: dict[str, Any] | None = None, frames: Iterable[str] = (), *, source: str) -> str:
    """The HTML page.

    >>> document("A pile", source=SERVED).count("<title>A pile</title>")
    1
    """
    parts = {
        "title": escape(title),
        "policy": policy(source),
        "style": style(),
        "icon": "data:image/svg+xml;base64," + b64encode(part("logo.svg").encode()).decode(),
        "markup": markup(),
        "about": json.dumps(about, allow_nan=False).replace("<", "\\u003c"),
        "frames": "\n".join(frames),
        "script": script(source),
    }
    return re.sub("@(" + "|".join(parts) + ")@", lambda found: parts[found[1]], part("page.html"))


def _hash(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


PAGES = (".html", ".htm")
"""File formats of pages."""


@check_arguments
def page(
    sol: Shown | ShownDensity,
    path: str | os.PathLike[str],
    *,
    title: str = "",
    quantities: Given | None = None,
    most_bytes: int = 40_000_000,
    progress: Callable[[Drawn], object] | None = None,
) -> Path:
    """Write a self-contained HTML page that plays a run in any browser, without network access.

    If the file would be larger than `most_bytes`, positions are rounded to 16 bits (finer than a hundredth of the
    smallest radius), and the values of a density to 16 bits of their range in each frame. If that is not enough, frames
    are left out evenly, and the page says so.

    Parameters
    ----------
    sol : Solution, EventSolution, Evolution, Images, str or path
        A solution, the run of a density, or the name of a file.
    path : str or path
        Name of the page, .html.
    title : str, default ""
        Title of the page; empty: "jostle".
    quantities : mapping of str to array_like or callable, optional
        Further numbers by which bodies are coloured, by name: one per body (n,), one per frame and body (k, n), or a
        function of the frame number. None: only the quantities in `jostle.viz.QUANTITIES`.
    most_bytes : int, default 40_000_000
        Largest size of the page, in bytes.
    progress : callable (Drawn) -> object, optional
        Called after each frame; `jostle.terminal.progress_bar` makes one that shows a bar. None: nothing is called.

    Returns
    -------
    Path
        The page.

    Examples
    --------
    >>> import jostle as jo, tempfile
    >>> sol = jo.solve(jo.models.rack(), jo.Maury(), t=2.0, h=0.1)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     html = page(sol, f"{folder}/rack.html", title="The break").read_text()
    >>> links = html.replace("http-equiv", "").replace("http://www.w3.org/2000/svg", "")
    >>> "<title>The break</title>" in html, "http" in links
    (True, False)
    """
    run = run_of(sol)
    encoder = encoder_of(run, quantities)
    wanted = target_for(path, "a page", PAGES, file_of(run))
    heading, names = title or "jostle", list(checked(quantities))
    shell = len(document(heading, {}, source=EMBEDDED).encode()) + SPARE_BYTES
    shell += len(json.dumps([heading, *names])) + 200 * len(names)
    packed = Packed.of(encoder, most_bytes, shell, per_byte=4 / 3, progress=progress)
    html = document(heading, {"title": heading, **packed.about}, map(text, packed.frames), source=EMBEDDED)
    with whole(wanted) as new:
        new.write_text(html, encoding="utf-8")
    return wanted
