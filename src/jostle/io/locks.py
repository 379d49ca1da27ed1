"""Locks of trajectory files: one writer at a time, released by the system however the process ends."""

from __future__ import annotations

import errno
import importlib.util
import os
import struct
from pathlib import Path
from typing import Any

from jostle.errors import FileInUse, WriteFailed

fcntl: Any = importlib.import_module("fcntl") if importlib.util.find_spec("fcntl") else None
"""The module fcntl; None on Windows."""
LOCKED_ERRORS = (errno.EAGAIN, errno.EACCES)
"""Error numbers of a file that is locked by another process."""
LOCK_POSITION = 2**62
"""Position of the lock that `being_written` looks for, beyond the end of any file."""


class Lock:
    """A lock for writing a file, held by one writer at a time and released when its process ends, even by kill -9.

    On Linux it belongs to the open file (OFD), elsewhere to the process (`lockf`), which loses it when it closes any
    other handle of the same file. Without `fcntl` (Windows), or on a file system without locks, nothing is locked: the
    user must then ensure that two processes do not write, or repair, one file at the same time.

    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile() as file:
    ...     Lock(Path(file.name)).release()
    """

    def __init__(self, path: Path, start: int = 0) -> None:
        """Lock a file from byte `start` on; a high start avoids conflicts with libraries that lock the file too."""
        self.descriptor = -1
        try:
            self.descriptor = os.open(path, os.O_RDWR)
        except OSError as error:
            raise WriteFailed(f"{path} cannot be opened for writing: {error.strerror}") from None
        try:
            _lock(self.descriptor, start)
        except OSError as error:
            if error.errno not in LOCKED_ERRORS:
                return
            self.release()
            raise FileInUse(
                f"{path} is being written by another process, or by another Writer of this process: wait until it is "
                f"finished, or read it meanwhile with jostle.io.read"
            ) from None

    def release(self) -> None:
        """Release the lock."""
        if self.descriptor >= 0:
            os.close(self.descriptor)
        self.descriptor = -1

    __del__ = release


def _lock(descriptor: int, start: int) -> None:
    if fcntl is None:
        return
    if hasattr(fcntl, "F_OFD_SETLK"):
        fcntl.fcntl(descriptor, fcntl.F_OFD_SETLK, _for_writing(start))
    else:
        fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB, 0, start)


def _for_writing(start: int = 0) -> bytes:
    """A struct flock: a lock on the file from byte `start` on."""
    return struct.pack("hhqqi", fcntl.F_WRLCK, os.SEEK_SET, start, 0, 0)


def being_written(path: Path) -> bool:
    """Whether a writer holds the lock; True if that cannot be determined."""
    if not hasattr(fcntl, "F_OFD_GETLK"):
        return True
    try:
        with open(path, "rb") as file:
            answer = fcntl.fcntl(file, fcntl.F_OFD_GETLK, _for_writing())
    except OSError:
        return True
    return bool(struct.unpack_from("h", answer)[0] != fcntl.F_UNLCK)
