"""Repair of trajectories and image files whose writer was killed, or whose end is missing, for VTK and ParaView."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from jostle._tools.arguments import check_arguments
from jostle.errors import BrokenFile, FileIsThere, JostleError
from jostle.io.growing import Counts, GrowingFile, say_status
from jostle.io.hdf5 import FLAGS, HDF5_ERRORS, abandon, clear_flags, holds_images, missing, reading, superblock, writing
from jostle.io.images import ImageWriter
from jostle.io.new_files import Lock, check_trajectory_name, reason, whole
from jostle.io.trajectory import Writer
from jostle.result.status import RUNNING


@check_arguments
def repair(path: str | os.PathLike[str], output: str | os.PathLike[str] | None = None) -> bool:
    """Repair a trajectory or an image file whose writer was killed or whose end is missing, for VTK and ParaView.

    `read` does not need it. All frames that are whole are kept; incomplete frames are removed. A file that is being
    written is refused; this is detected by a lock, which does not exist on Windows and on file systems without locks.

    Parameters
    ----------
    path : str or path
        Name of the file.
    output : str or path, optional
        Name of a new file for the repaired trajectory; the original is then left unchanged. None: the original is
        repaired.

    Returns
    -------
    bool
        True if the file was repaired, False if it needs no repair; nothing is written then.

    Raises
    ------
    FileInUse
        If the file is being written.
    FileIsThere
        If `output` exists already.
    BrokenFile
        If the file is damaged.

    Examples
    --------
    >>> import tempfile
    >>> from jostle.io.trajectory import Writer
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     Writer(Path(folder) / "run.vtkhdf", shape=(3,), about={}).close()
    ...     repair(Path(folder) / "run.vtkhdf")
    False
    """
    path = Path(path)
    if output is not None:
        check_trajectory_name(output)
    left_open, lost = superblock(path)[FLAGS] != 0, missing(path)
    lock = Lock(path) if output is None or os.access(path, os.W_OK) else None
    try:
        with reading(path, alone=True) as file:
            kind = ImageWriter if holds_images(file) else Writer
            said = kept = kind.look_over(file)
            if lost:
                kept = kind.whole(file, os.path.getsize(path))
            wanted, data = kind.lengths(file, kept), kind.data_sets(file)
            if not left_open and not lost and all(len(data[name]) == length for name, length in wanted.items()):
                return False
        if output is None:
            _mend(path, kind, kept, kept == said)
            return True
        if os.path.lexists(output):
            raise FileIsThere(f"{os.fspath(output)} exists already: choose another name or remove it")
        with whole(Path(output)) as new:
            shutil.copyfile(path, new)
            _mend(new, kind, kept, kept == said)
    finally:
        if lock is not None:
            lock.release()
    return True


def _mend(path: Path, kind: type[GrowingFile], kept: Counts, whole: bool) -> None:
    """Mark a file as closed and cut off the rows behind those to keep; `whole` says whether these are all."""
    clear_flags(path)
    file = writing(path)
    try:
        kind.trim(file, kept)
        if not whole:
            say_status(file, RUNNING)  # as if its writer had been killed then
        file.close()
    except HDF5_ERRORS as error:
        abandon(file)
        if isinstance(error, JostleError):
            raise
        raise BrokenFile(f"{path} cannot be repaired: {reason(error)}") from None
