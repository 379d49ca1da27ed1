"""Repair of trajectories whose writer was killed, for VTK and ParaView."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from jostle._tools.arguments import check_arguments
from jostle.errors import BrokenFile, FileIsThere, JostleError
from jostle.io import frame_index, headers
from jostle.io.container import HDF5_ERRORS, abandon, reading, reason, writing
from jostle.io.locks import Lock
from jostle.io.new_files import whole
from jostle.io.superblock import FLAGS, clear_flags, superblock


@check_arguments
def repair(path: str | os.PathLike[str], output: str | os.PathLike[str] | None = None) -> bool:
    """Repair a trajectory whose writer was killed, so that VTK and ParaView open it.

    `read` does not need it. All frames that `read` sees are kept; incomplete frames are removed. A file that is being
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
    NoSuchFile
        If there is no such file.
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
    left_open = superblock(path)[FLAGS] != 0
    lock = Lock(path) if output is None or os.access(path, os.W_OK) else None
    try:
        with reading(path, alone=True) as file:
            said = headers.looked_over(file)
            lengths = frame_index.lengths(file, said.frames, said.steps)
            if not left_open and all(len(headers.data(file, name, said)) == n for name, n in lengths.items()):
                return False
        if output is None:
            _mend(path, said.frames, said.steps)
            return True
        if os.path.lexists(output):
            raise FileIsThere(f"{os.fspath(output)} exists already: choose another name or remove it")
        with whole(Path(output)) as new:
            shutil.copyfile(path, new)
            _mend(new, said.frames, said.steps)
    finally:
        if lock is not None:
            lock.release()
    return True


def _mend(path: Path, frames: int, steps: int) -> None:
    """Mark a file as closed and cut off the rows behind these frames and steps."""
    clear_flags(path)
    file = writing(path)
    try:
        frame_index.trim(file, frames, steps)
        file.close()
    except HDF5_ERRORS as error:
        abandon(file)
        if isinstance(error, JostleError):
            raise
        raise BrokenFile(f"{path} cannot be repaired: {reason(error)}") from None
