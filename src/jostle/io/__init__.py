"""Files: trajectories while a run goes on, checkpoints to resume from, exports to other programs."""

from jostle.facts import SI, Facts, Groups
from jostle.io.checkpoint import Checkpoint
from jostle.io.exports import export, write
from jostle.io.reading import about, read, repair
from jostle.io.recorder import Output
from jostle.io.trajectory import Writer

__all__ = ["SI", "Checkpoint", "Facts", "Groups", "Output", "Writer", "about", "export", "read", "repair", "write"]
