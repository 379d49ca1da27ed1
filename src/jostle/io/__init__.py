"""Files: trajectories of runs, checkpoints to resume from, and exports to other programs."""

from jostle.io.exports import EXPORTS, export, write
from jostle.io.images import Images, are_images, read_images
from jostle.io.reading import about, read
from jostle.io.repairing import repair
from jostle.io.saving import Output
from jostle.io.trajectory import Writer
from jostle.result.facts import SI, Facts, Groups, Units

__all__ = [
    "EXPORTS",
    "SI",
    "Facts",
    "Groups",
    "Images",
    "Output",
    "Units",
    "Writer",
    "about",
    "are_images",
    "export",
    "read",
    "read_images",
    "repair",
    "write",
]
