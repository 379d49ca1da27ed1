"""The HDF5 file of a trajectory: locks, the flags of a file that was left open, opening and closing.

A writer holds a lock on its file, which the system releases however the process ends. HDF5 itself marks in the
superblock, the first 48 bytes, that a file is being written; a killed process leaves that mark behind, and VTK and
ParaView then refuse the file. Layout of the superblock, version 3 (HDF5 File Format Specification 3.0, II.A):

    0  signature, 8 bytes       11  consistency flags: 1 open for writing, 4 by one writer with many readers (SWMR)
    8  version, 3               28  end of file, 8 bytes
    9  sizes of addresses, 8 8  44  checksum: Jenkins' lookup3 of the 44 bytes before
"""

from __future__ import annotations

import errno
import importlib.util
import io
import os
import re
import secrets
import stat
import struct
import tempfile
import time
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from jostle.errors import BrokenFile, FileInUse, FileIsThere, JostleError, NoSuchFile, WriteFailed
from jostle.io.leftovers import remove_leftovers

fcntl: Any = importlib.import_module("fcntl") if importlib.util.find_spec("fcntl") else None
"""The module fcntl; None on Windows."""

SIGNATURE = b"\x89HDF\r\n\x1a\n"
"""The first bytes of an HDF5 file."""
VERSION, FLAGS, END, CHECKSUM, SIZE = 8, 11, 28, 44, 48
"""Positions of the fields of the superblock of HDF5, and its size, in bytes."""
LIBRARY_VERSION = ("v110", "v110")
"""The oldest HDF5 format with SWMR; the HDF5 library inside ParaView reads it."""
HDF5_ERRORS = (OSError, RuntimeError, LookupError, ValueError, TypeError, AttributeError, OverflowError)
"""Exceptions of h5py for a file with unexpected contents."""
LOCKED_ERRORS = (errno.EAGAIN, errno.EACCES)
"""Error numbers of a file that is locked by another process."""
FULL_DISK_ERRORS = (errno.ENOSPC, errno.EFBIG, errno.EDQUOT)
"""Error numbers of a disk that is full."""
MAX_READS = 20
"""Largest number of attempts to read a superblock that is being written."""
MAX_STEM = 40
"""Largest number of characters of a name in the name of its temporary file; file systems allow 255 bytes."""
LOCK_POSITION = 2**62
"""Position of the lock that `being_written` looks for, beyond the end of any file."""
TEMPORARY_SUFFIX = ".new"
"""Suffix of files that are being written."""
MAX_CLOSINGS = 5
"""Largest number of attempts to close a file after a failed write; HDF5 needs two or three."""


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
        self._descriptor = -1
        try:
            self._descriptor = os.open(path, os.O_RDWR)
        except OSError as error:
            raise WriteFailed(f"{path} cannot be opened for writing: {error.strerror}") from None
        try:
            _lock(self._descriptor, start)
        except OSError as error:
            if error.errno not in LOCKED_ERRORS:
                return
            self.release()
            raise FileInUse(
                f"{path} is being written by another process, or by another Writer of this process: wait until it is "
                f"finished, or read it meanwhile with jostle.io.read"
            ) from None

    def reserve(self, room: int) -> None:
        """Reserve bytes on the disk after the used ones, so that a full disk is noticed before a write."""
        if hasattr(os, "posix_fallocate"):
            used = self._used()
            missing = used + room - os.fstat(self._descriptor).st_size
            if missing > 0:
                try:
                    os.posix_fallocate(self._descriptor, used + room - missing, missing)
                except OSError as error:
                    if error.errno in FULL_DISK_ERRORS:
                        raise

    def trim(self) -> None:
        """Release reserved bytes that were not used; the file must be closed."""
        os.truncate(self._descriptor, self._used())

    def release(self) -> None:
        """Release the lock."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
        self._descriptor = -1

    __del__ = release

    def _used(self) -> int:
        os.lseek(self._descriptor, END, os.SEEK_SET)
        return int.from_bytes(os.read(self._descriptor, 8), "little")


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


def superblock(path: Path) -> bytes:
    """The superblock of the file, which must be a complete HDF5 file."""
    for attempt in range(MAX_READS):
        block, length = _beginning(path)
        if length == 0:
            raise BrokenFile(f"{path} is empty: it is not a trajectory")
        if not block.startswith(SIGNATURE):
            raise BrokenFile(f"{path} is not an HDF5 file and therefore not a trajectory: it begins with {block[:8]!r}")
        if len(block) < SIZE:
            raise BrokenFile(f"{path} is truncated: it has only {length} bytes")
        if block[VERSION:FLAGS] != b"\3\x08\x08":
            raise BrokenFile(f"{path} is an HDF5 file, but not a trajectory written by jostle")
        if checksum(block[:CHECKSUM]) == int.from_bytes(block[CHECKSUM:], "little"):
            break
        if attempt == MAX_READS - 1:
            raise BrokenFile(f"{path} is damaged: the checksum of its superblock is wrong")
        time.sleep(0.001)  # a writer may be writing it
    end = int.from_bytes(block[END : END + 8], "little")
    if end > length and not block[FLAGS]:
        raise BrokenFile(f"{path} is truncated: it has {length} of {end} bytes. Copy it again")
    return block


def _beginning(path: Path) -> tuple[bytes, int]:
    try:
        if path.exists() and not path.is_file() and not path.is_dir():
            raise BrokenFile(f"{path} is a pipe or a device, not a trajectory")
        with open(path, "rb") as file:
            return file.read(SIZE), os.fstat(file.fileno()).st_size
    except FileNotFoundError:
        raise NoSuchFile(f"there is no file {path}") from None
    except BrokenFile:
        raise
    except OSError as error:
        raise BrokenFile(f"{path} cannot be read: {error.strerror}") from None


def clear_flags(path: Path) -> bool:
    """Clear the mark that the file is being written; the caller holds its lock. False if there was no mark."""
    block = superblock(path)
    if block[FLAGS] == 0:
        return False
    end = max(os.path.getsize(path), int.from_bytes(block[END : END + 8], "little"))
    with open(path, "r+b", buffering=0) as file:
        file.truncate(end)
        file.write(mended(block, end))
    return True


def mended(block: bytes, end: int) -> bytes:
    """The superblock as if the file had been closed.

    During an append HDF5 may use more or less of the file than the superblock says. The end must be after all used
    bytes, otherwise the next writer would overwrite them, and not after the end of the file, which HDF5 refuses.
    """
    new = block[:FLAGS] + b"\0" + block[FLAGS + 1 : END] + end.to_bytes(8, "little") + block[END + 8 : CHECKSUM]
    return new + checksum(new).to_bytes(4, "little")


class Mended(io.FileIO):
    """A file whose writer was killed, read as if it had been closed properly."""

    def __init__(self, path: Path, block: bytes) -> None:
        super().__init__(path, "rb")
        self._block = mended(block, os.path.getsize(path))

    def __repr__(self) -> str:
        return str(self.name)  # h5py uses it as the file name

    def readinto(self, buffer: Any) -> int:
        at, count = self.tell(), super().readinto(buffer) or 0
        beginning = self._block[at : at + count]
        memoryview(buffer).cast("B")[: len(beginning)] = beginning
        return count


def checksum(data: bytes) -> int:
    """Jenkins' lookup3, the checksum of HDF5.

    >>> hex(checksum(b"Four score and seven years ago"))
    '0x17770551'
    """

    def turned(x: int, by: int) -> int:
        return (x << by | x >> (32 - by)) & 0xFFFFFFFF

    a = b = c = (0xDEADBEEF + len(data)) & 0xFFFFFFFF
    blocks = max((len(data) + 11) // 12, 1)
    words = struct.unpack(f"<{3 * blocks}I", data.ljust(12 * blocks, b"\0"))
    for k in range(0, len(words), 3):
        a, b, c = ((x + word) & 0xFFFFFFFF for x, word in zip((a, b, c), words[k : k + 3], strict=True))
        if k + 3 < len(words):
            for by in (4, 6, 8, 16, 19, 4):
                a = (a - c & 0xFFFFFFFF) ^ turned(c, by)
                a, b, c = b, c + b & 0xFFFFFFFF, a
        elif data:
            for by in (14, 11, 25, 16, 4, 14, 24):
                c = ((c ^ b) - turned(b, by)) & 0xFFFFFFFF
                a, b, c = b, c, a
    return b if data else c


@contextmanager
def reading(path: Path, *, alone: bool = False) -> Iterator[Any]:
    """Open the file for reading, even while it is written; errors of h5py become `BrokenFile`.

    `alone` means that the caller holds the lock, so that nobody else is writing.
    """
    try:
        with ExitStack() as opened, np.errstate(invalid="ignore"):
            yield opened.enter_context(_for_reading(path, alone, opened))
    except JostleError:
        raise
    except HDF5_ERRORS as error:
        raise BrokenFile(f"{path} cannot be read as a jostle trajectory: {reason(error)}") from None


def _for_reading(path: Path, alone: bool, opened: ExitStack) -> Any:
    """Open with SWMR only if the file is being written: HDF5 then takes damage for a write in progress, and waits."""
    block = superblock(path)
    if block[FLAGS] and (alone or not being_written(path)):
        return h5py.File(opened.enter_context(Mended(path, block)), "r")
    if block[FLAGS]:
        return _opened(path, h5py.h5f.ACC_RDONLY | h5py.h5f.ACC_SWMR_READ)
    try:
        return _opened(path, h5py.h5f.ACC_RDONLY)
    except HDF5_ERRORS:
        if superblock(path)[FLAGS] == 0:
            raise
        return _for_reading(path, alone, opened)  # a writer opened the file meanwhile


def writing(path: Path) -> Any:
    """Open the file for one writer and many readers; the caller holds its lock and has cleared its flags."""
    try:
        return _opened(path, h5py.h5f.ACC_RDWR | h5py.h5f.ACC_SWMR_WRITE)
    except HDF5_ERRORS as error:
        raise BrokenFile(f"{path} cannot be opened for writing: {reason(error)}") from None


def _opened(path: Path, how: int) -> Any:
    """Open the file in the one way that readers and writers of a process must share, as HDF5 shares its state."""
    access = h5py.h5p.create(h5py.h5p.FILE_ACCESS)
    access.set_libver_bounds(h5py.h5f.LIBVER_V110, h5py.h5f.LIBVER_V110)
    access.set_file_locking(False, True)
    return h5py.File(h5py.h5f.open(os.fsencode(path), how, access))


def abandon(file: Any) -> None:
    """Close a file on a failing disk without writing to it again.

    HDF5 writes pending data when a file is closed, which would fail again, and again when Python ends. The data go to a
    file in memory instead, which is discarded.
    """
    with suppress(*HDF5_ERRORS):
        handle = file.id.get_vfd_handle()
        with _nowhere() as nowhere:
            os.dup2(nowhere.fileno(), handle)
    for _ in range(MAX_CLOSINGS):
        with suppress(*HDF5_ERRORS):
            file.close()
            return


def _nowhere() -> Any:
    return open(os.memfd_create("nowhere"), "wb") if hasattr(os, "memfd_create") else tempfile.TemporaryFile()


def reason(error: BaseException) -> str:
    """The cause of an error in a few words, without the addresses and times that h5py adds."""
    said = getattr(error, "strerror", None) or str(error.args[-1] if error.args else error)
    found = re.search(r"error message = '([^']+)'", said)
    return found.group(1) if found else " ".join(said.strip("'\"").split())[:200]


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


def refuse_existing(path: Path) -> None:
    """Raise `FileIsThere` if a file exists."""
    if os.path.lexists(path):
        raise FileIsThere(f"{path} exists already: choose another name, remove it, or continue it with Writer.reopen")


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
def whole(path: Path, *more: type[Exception]) -> Iterator[Path]:
    """A new empty file to write, which gets its name when it is complete; `more` are errors like OSError."""
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
        os.replace(new, path)
    except JostleError:
        raise
    except failures as error:
        raise WriteFailed(f"{path} cannot be written: {reason(error)}") from None
    finally:
        if lock is not None:
            lock.release()
        with suppress(OSError):
            new.unlink()
