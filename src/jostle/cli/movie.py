"""``jostle movie``: save a trajectory as a film."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from jostle.cli.files import Colour, Overwrite, Trajectory, beside, check_free, shown
from jostle.cli.show import say


def movie(
    trajectory: Trajectory,
    target: Annotated[Path | None, typer.Argument(help="Film file, .mp4 or .gif; by default NAME.mp4.")] = None,
    speed: Annotated[float, typer.Option(help="Seconds of the run that one second of film shows.")] = 1.0,
    colour: Colour = None,
    overwrite: Overwrite = False,
) -> None:
    """Save a film of a trajectory or of a moving density. It has 25 pictures per second."""
    from jostle.terminal import progress_bar
    from jostle.viz.films import KINDS
    from jostle.viz.sources import need_matplotlib, target_for

    need_matplotlib("films", "movie")
    from jostle.viz.movie import animate

    wanted = target_for(target or beside(trajectory, ".mp4"), "a film", KINDS, trajectory)
    check_free(wanted, overwrite)
    with progress_bar() as bar:
        say(animate(shown(trajectory), wanted, speed=speed, colour=colour, progress=bar))
