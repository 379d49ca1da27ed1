"""A trajectory as a film: ``jostle movie``."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from jostle.cli.files import Trajectory, beside, solution
from jostle.cli.show import say


class Colour(StrEnum):
    """What the colours of bodies say."""

    speed = "speed"
    pressure = "pressure"


def movie(
    trajectory: Trajectory,
    target: Annotated[Path | None, typer.Argument(help="The film, .mp4 or .gif; by default NAME.mp4.")] = None,
    speed: Annotated[float, typer.Option(help="The time that passes in a second of the film.")] = 1.0,
    colour: Annotated[Colour, typer.Option(help="What the colours say.")] = Colour.speed,
) -> None:
    """A film of a trajectory, 25 pictures a second."""
    from jostle.terminal import progress_bar
    from jostle.viz.sources import need_matplotlib

    need_matplotlib("films", "movie")
    from jostle.viz.movie import animate

    with progress_bar() as bar:
        made = animate(
            solution(trajectory),
            target or beside(trajectory, ".mp4"),
            speed=speed,
            colour=colour.value,
            progress=bar,
        )
    say(made)
