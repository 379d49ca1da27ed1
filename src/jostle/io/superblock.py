"""The superblock of an HDF5 file, and how the mark of a killed writer is removed from it.

HDF5 marks in the superblock, the first 48 bytes, that a file is being written; a killed process leaves that mark
behind, and VTK and ParaView then refuse the file. Layout of the superblock, version 3 (HDF5 File Format Specification
3.0, II.A):

    0  signature, 8 bytes       11  consistency flags: 1 open for writing, 4 by one writer with many readers (SWMR)
    8  version, 3               28  end of file, 8 bytes
    9  sizes of addresses, 8 8  44  checksum: Jenkins' lookup3 of the 44 bytes before
"""

from __future__ import annotations

import io
import os
import time
from pathlib import Path
from typing import Any

from jostle.errors import BrokenFile, NoSuchFile
from jostle.io.checksums import lookup3

SIGNATURE = b"\x89HDF\r\n\x1a\n"
"""The first bytes of an HDF5 file."""


VERSION, FLAGS, END, CHECKSUM, SIZE = 8, 11, 28, 44, 48
"""Positions of the fields of the superblock of HDF5, and its size, in bytes."""


MAX_READS = 20
"""Largest number of attempts to read a superblock that is being written."""


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
        if lookup3(block[:CHECKSUM]) == int.from_bytes(block[CHECKSUM:], "little"):
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
    return new + lookup3(new).to_bytes(4, "little")


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
