"""Files of checkpoints, each complete or absent under its name."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from jostle.errors import (
    BrokenFile,
    NoSuchFile,
    WriteFailed,
)
from jostle.io.checkpoint_contents import arrays
from jostle.io.new_files import whole

FORMAT = 3
"""Version of the format of checkpoints."""


def write_whole(path: Path, values: dict[str, Any]) -> None:
    """Write an .npz file such that its name always refers to a complete file, the old one or the new one."""
    try:
        with whole(path) as new, open(new, "wb") as file:
            np.savez(file, **values)
            file.flush()
            os.fsync(file.fileno())
        _sync_folder(path.parent)
    except WriteFailed as error:
        raise WriteFailed(
            f"the checkpoint {error}. The previous checkpoint, if any, is kept; free disk space, or use another disk, "
            f"and resume"
        ) from None


def _sync_folder(folder: Path) -> None:
    """Wait until the new name is on the disk, where folders can be opened."""
    if os.name != "posix":
        return
    number = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)


def read_whole(path: Path) -> dict[str, Any]:
    """The arrays of a checkpoint."""
    if not os.path.lexists(path):
        raise NoSuchFile(f"there is no checkpoint {path}; start the run without resume=True")
    kept = arrays(path)
    version = kept.get("format", np.zeros(()))
    if version.shape != () or version.dtype.kind not in "iu" or int(version) != FORMAT:
        raise BrokenFile(
            f"{path} is not a checkpoint of format {FORMAT}, which this version reads: start again without resume=True"
        )
    return kept
