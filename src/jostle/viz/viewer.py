"""The viewer as a file: one self-contained HTML page that plays a run in any browser."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

from jostle.arguments import check_arguments
from jostle.io.new_files import whole
from jostle.viz.document import EMBEDDED, document
from jostle.viz.encoding import text
from jostle.viz.field_values import ShownDensity
from jostle.viz.films import Drawn
from jostle.viz.fitting import SPARE_BYTES, Packed
from jostle.viz.given import Given, checked
from jostle.viz.reels import reel_of
from jostle.viz.sources import Shown, target_for

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

    Raises
    ------
    InvalidValue
        If the suffix is wrong, a quantity does not fit the bodies, or not even one frame fits into `most_bytes`.
    WriteFailed
        If the page cannot be written.

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
    reel, source = reel_of(sol, quantities)
    wanted = target_for(path, "a page", PAGES, source)
    heading, names = title or "jostle", list(checked(quantities))
    shell = len(document(heading, {}, source=EMBEDDED).encode()) + SPARE_BYTES
    shell += len(json.dumps([heading, *names])) + 200 * len(names)
    packed = Packed.of(reel, most_bytes, shell, per_byte=4 / 3, progress=progress)
    html = document(heading, {"title": heading, **packed.about}, map(text, packed.frames), source=EMBEDDED)
    with whole(wanted) as new:
        new.write_text(html, encoding="utf-8")
    return wanted
