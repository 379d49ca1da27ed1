"""Files that are written whole: under a temporary name until they are complete, and by one writer at a time.

Temporary files that killed processes left behind are removed when the same target is written again.
"""

from __future__ import annotations

import errno
import importlib.util
import os
import re
import secrets
import stat
import struct
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from jostle.errors import FileInUse, FileIsThere, InvalidValue, JostleError, WriteFailed

# Locks of trajectory files: one writer at a time, released by the system however the process ends.


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


def remove_leftovers(folder: Path, begin: str, end: str, held: Callable[[Path], bool]) -> None:
    """Remove the files ``<begin><process>.<random><end>`` whose process has ended.

    `held(path)` tells whether the lock of a file is held, because its process may run on another machine.
    """
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.startswith(begin) and entry.name.endswith(end) and entry.is_file(follow_symlinks=False):
                process = entry.name.removeprefix(begin).split(".")[0]
                if process.isdecimal() and not _alive(int(process)) and not held(Path(entry.path)):
                    os.unlink(entry.path)


def _alive(process: int) -> bool:
    """Whether a process with this number runs on this machine; True if that cannot be determined."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True


MAX_STEM = 40
"""Largest number of characters of a name in the name of its temporary file; file systems allow 255 bytes."""
TEMPORARY_SUFFIX = ".new"
"""Suffix of files that are being written."""


def beside(path: Path) -> Path:
    """An unpredictable temporary name in the same folder for a file that is being written.

    A checksum distinguishes targets with the same beginning. Files that killed processes left for this target are
    removed.
    """
    begin = f".{path.name[:MAX_STEM]}.{zlib.crc32(os.fsencode(path.name)):08x}."
    remove_leftovers(path.parent, begin, TEMPORARY_SUFFIX, being_written)
    return path.with_name(f"{begin}{os.getpid()}.{secrets.token_hex(8)}{TEMPORARY_SUFFIX}")


def create(path: Path, content: bytes = b"") -> None:
    """Create a file that must not exist; a symbolic link of this name is not followed."""
    with open(path, "xb"):
        pass
    if content:
        path.write_bytes(content)


def regular(path: Path) -> bool:
    """Whether a path is a regular file, and not a folder, a device or a pipe."""
    try:
        return stat.S_ISREG(os.stat(path).st_mode)
    except OSError:
        return False


def discard(path: Path) -> None:
    """Remove a file that nobody needs, if possible; on a disk that takes no changes, an error came before."""
    with suppress(OSError):
        path.unlink()


TRAJECTORY_SUFFIXES = (".vtkhdf", ".hdf", ".hdf5", ".h5")
"""Suffixes of the names of trajectories; ParaView opens those with the first one."""


def check_trajectory_name(path: str | os.PathLike[str]) -> None:
    """Refuse the name of a file of another kind for a trajectory, which is an HDF5 file.

    >>> check_trajectory_name("run.csv")
    Traceback (most recent call last):
    ...
    jostle.errors.InvalidValue: the name of a trajectory must end in .vtkhdf (or .hdf, .hdf5, .h5), not be 'run.csv': \
    save it as run.vtkhdf, then make other files of it with jostle export, plot, movie or view -o
    """
    found = Path(path)
    if found.suffix.lower() not in TRAJECTORY_SUFFIXES:
        first, *others = TRAJECTORY_SUFFIXES
        raise InvalidValue(
            f"the name of a trajectory must end in {first} (or {', '.join(others)}), not be {found.name!r}: save it as "
            f"{found.stem or 'run'}{first}, then make other files of it with jostle export, plot, movie or view -o"
        )


def refuse_existing(path: Path) -> None:
    """Raise `FileIsThere` if a file exists."""
    if os.path.lexists(path):
        raise FileIsThere(f"{path} exists already: choose another name, or remove it")


def publish(new: Path, path: Path) -> None:
    """Give a finished file its name, which must be free."""
    try:
        os.link(new, path)
    except FileExistsError:
        refuse_existing(path)
        raise
    except OSError:  # a file system without links
        refuse_existing(path)
        os.rename(new, path)
    else:
        new.unlink()


@contextmanager
def whole(path: Path, *more: type[Exception], trial: bool = False) -> Iterator[Path]:
    """A new empty file to write, which gets its name when it is complete; `more` are errors like OSError.

    A trial is removed instead: it shows whether the file can be written.
    """
    new, lock = beside(path), None
    failures: tuple[type[Exception], ...] = (OSError, *more)
    try:
        if path.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        if path.exists() and not regular(path):
            raise WriteFailed(f"{path} cannot be written: it is not a regular file")
        create(new)  # fails early if the folder cannot be written
        lock = Lock(new, LOCK_POSITION)  # so that it is not taken for a leftover
        yield new
        if not trial:
            os.replace(new, path)
    except JostleError:
        raise
    except failures as error:
        raise WriteFailed(f"{path} cannot be written: {reason(error)}") from None
    finally:
        if lock is not None:
            lock.release()
        discard(new)


def reason(error: BaseException) -> str:
    """The cause of an error in a few words, without the addresses and times that h5py adds."""
    said = getattr(error, "strerror", None) or str(error.args[-1] if error.args else error)
    found = re.search(r"error message = '([^']+)'", said)
    return found.group(1) if found else " ".join(said.strip("'\"").split())[:200]
