"""Opening and closing of the HDF5 file of a trajectory, for reading while it is written and after a crash."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from jostle.errors import BrokenFile, JostleError
from jostle.io.locks import being_written
from jostle.io.superblock import FLAGS, Mended, superblock

LIBRARY_VERSION = ("v110", "v110")
"""The oldest HDF5 format with SWMR; the HDF5 library inside ParaView reads it."""
HDF5_ERRORS = (OSError, RuntimeError, LookupError, ValueError, TypeError, AttributeError, OverflowError)
"""Exceptions of h5py for a file with unexpected contents."""
MAX_CLOSINGS = 5
"""Largest number of attempts to close a file after a failed write; HDF5 needs two or three."""


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
