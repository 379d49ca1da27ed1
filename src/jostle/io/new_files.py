"""New files: written under a temporary name, which becomes their own when they are complete.

Temporary files that killed processes left behind are removed when the same target is written again.
"""

from __future__ import annotations

import errno
import os
import re
import secrets
import stat
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from jostle.errors import FileIsThere, JostleError, WriteFailed
from jostle.io.locks import LOCK_POSITION, Lock, being_written


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


def reason(error: BaseException) -> str:
    """The cause of an error in a few words, without the addresses and times that h5py adds."""
    said = getattr(error, "strerror", None) or str(error.args[-1] if error.args else error)
    found = re.search(r"error message = '([^']+)'", said)
    return found.group(1) if found else " ".join(said.strip("'\"").split())[:200]
