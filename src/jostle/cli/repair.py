"""``jostle repair``: repairs a trajectory whose run was killed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from jostle.cli.files import beside
from jostle.cli.runs import checkpoint_of
from jostle.cli.show import say
from jostle.errors import InvalidValue


def repair(
    trajectory: Annotated[Path, typer.Argument(help="Trajectory of a run that was killed.")],
    target: Annotated[
        Path | None, typer.Argument(help="The repaired trajectory; by default NAME.repaired.vtkhdf.")
    ] = None,
    in_place: Annotated[bool, typer.Option("--in-place", help="Repair the trajectory itself.")] = False,
) -> None:
    """Repair a trajectory that a killed run left behind.

    VTK and ParaView can open the repaired file; jostle itself can also read the original. Every complete frame is
    kept. The original does not change unless --in-place is given. A trajectory that needs no repair is not copied.
    """
    from jostle.io import are_images, read, read_images
    from jostle.io import repair as repaired

    if in_place and target is not None:
        raise InvalidValue("give either a file to write or --in-place, not both")
    if are_images(trajectory):  # image files are always complete
        say(f"{trajectory} needs no repair: {len(read_images(trajectory).t)} frames")
        return
    times = read(trajectory).t
    kept = f"{len(times)} frames, up to t = {times[-1]:g}"
    made = None if in_place else target or beside(trajectory, ".repaired.vtkhdf")
    if not repaired(trajectory, made):
        say(f"{trajectory} needs no repair: {kept}")
        return
    say(f"repaired {trajectory}: {kept}" if made is None else f"saved {made}: {kept}; {trajectory} is unchanged")
    if checkpoint_of(trajectory).exists():
        say(f"continue the run with jostle resume {trajectory}", error=True)
