"""``jostle report``: the report of a crowd as one HTML page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from jostle.cli.files import Overwrite, Trajectory, beside, check_free
from jostle.cli.show import say, size
from jostle.errors import InvalidValue


def report(
    trajectory: Trajectory,
    target: Annotated[Path | None, typer.Argument(help="Report file, .html; by default NAME.html.")] = None,
    film: Annotated[bool, typer.Option(help="Put the film into the report.")] = True,
    overwrite: Overwrite = False,
) -> None:
    """Save a report about a crowd as one HTML file.

    It has the plan, a film, curves, maps, tables, assumptions and versions.
    """
    from jostle.io import are_images, read
    from jostle.viz.sources import need_matplotlib, target_for
    from jostle.viz.viewer import PAGES

    need_matplotlib("reports")
    import matplotlib

    matplotlib.use("Agg")
    from jostle.viz import report as written

    if are_images(trajectory):
        raise InvalidValue(f"{trajectory} contains a density, not people: see jostle info {trajectory}")
    wanted = target_for(target or beside(trajectory, ".html"), "a report", PAGES, trajectory)
    check_free(wanted, overwrite)
    made = written(read(trajectory), wanted, film=film)
    say(f"{made} ({size(made.stat().st_size)})")
