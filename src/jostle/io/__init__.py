"""Files: trajectories while a run goes on, checkpoints to resume from, exports to other programs."""

from jostle.facts import SI, Facts, Groups, Units
from jostle.io.checkpoint import Checkpoint
from jostle.io.exports import EXPORTS, export, write
from jostle.io.reading import about, read, repair
from jostle.io.recorder import Output
from jostle.io.trajectory import Writer

__all__ = [
    "EXPORTS",
    "SI",
    "Checkpoint",
    "Facts",
    "Groups",
    "Output",
    "Units",
    "Writer",
    "about",
    "export",
    "read",
    "repair",
    "write",
]
