"""HDF5 files that survive a killed process, that can be read while they are written, and that may come from strangers.

Three dangers are met here, and docs/about/files.md says which test shows each of them.

**A killed writer.** HDF5 marks in the superblock, the first 48 bytes, that a file is being written; a killed process
leaves that mark behind, and VTK and ParaView then refuse the file. `Mended` reads such a file as if it had been closed,
and `clear_flags` removes the mark. Layout of the superblock, version 3 (HDF5 File Format Specification 3.0, II.A):

    0  signature, 8 bytes       11  consistency flags: 1 open for writing, 4 by one writer with many readers (SWMR)
    8  version, 3               28  end of file, 8 bytes
    9  sizes of addresses, 8 8  44  checksum: Jenkins' lookup3 of the 44 bytes before

**Damaged bytes.** HDF5 protects its own tables by checksums (`lookup3`), but not the data. Its filter `fletcher32`
would, but a chunk is rewritten with the next frame, and a process killed meanwhile would leave old frames with a wrong
checksum. Each frame therefore has its own checksums, written once: the CRC-32 of its rows in each data set (`of_rows`),
and a weighted sum of words (mod 2^32, odd weights), which is faster for many short rows, for its entries in the tables
and for each step record (`of_records`).

**Files of unknown origin.** HDF5 lets a file refer to other files (external and soft links, external storage, virtual
data sets), declare more data than it contains, and call filters that expand a few bytes to many. A file written by
jostle has none of these. `inside` and `data_set` check first that each part of a name is a hard link, and that the data
are in chunks of this file, unfiltered and of the expected type.
"""

from __future__ import annotations

import errno
import io
import math
import os
import struct
import tempfile
import time
import zlib
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from jostle.errors import BrokenFile, JostleError, NoSuchFile
from jostle.io.new_files import being_written, reason

Checks = NDArray[np.uint32]
MULTIPLIER = 0x9E3779B97F4A7C15
"""2^64 divided by the golden ratio, rounded to an odd number; its powers are the weights of a checksum."""


def of_rows(values: NDArray[Any]) -> int:
    """CRC-32 of an array's bytes.

    >>> of_rows(np.zeros(3)) == of_rows(np.zeros(3)), of_rows(np.zeros(3)) == of_rows(np.zeros(4))
    (True, False)
    """
    return zlib.crc32(np.ascontiguousarray(values).reshape(-1).view(np.uint8).data)


def of_records(values: NDArray[Any]) -> Checks:
    """(k,) one checksum per record, or per row of an array with 8 bytes per entry.

    >>> some = np.array([[1, 2], [1, 2], [2, 1]])
    >>> first, second, third = of_records(some).tolist()
    >>> first == second, first == third
    (True, False)
    """
    k = len(values)
    plain = (
        np.ascontiguousarray(values).reshape(k, -1).view(np.uint8).reshape(k, -1) if k else np.zeros((0, 1), np.uint8)
    )
    padded = np.pad(plain, ((0, 0), (0, -plain.shape[1] % 4)))
    words = padded.view("<u4").astype(np.uint64)
    weights = np.cumprod(np.full(words.shape[1] + 1, MULTIPLIER, dtype=np.uint64))
    sums = words @ weights[1:] + weights[0]  # not 0 for a row of zeros
    return np.asarray((sums ^ sums >> np.uint64(32)) & np.uint64(0xFFFFFFFF), dtype=np.uint32)


def lookup3(data: bytes) -> int:
    """Jenkins' lookup3, the checksum of HDF5."""

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


SIGNATURE = b"\x89HDF\r\n\x1a\n"
"""The first bytes of an HDF5 file."""


VERSION, FLAGS, END, CHECKSUM, SIZE = 8, 11, 28, 44, 48
"""Positions of the fields of the superblock of HDF5, and its size, in bytes."""


MAX_UNWRITTEN = 2**26
"""Largest number of bytes that may be missing at the end of a file: a killed writer or a copy may leave it so."""
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
    if _end(block) > length + MAX_UNWRITTEN:
        raise BrokenFile(f"{path} is truncated: it has {length} of {_end(block)} bytes. Copy it again")
    return block


def _end(block: bytes) -> int:
    """The number of bytes of a file, as its superblock says."""
    return int.from_bytes(block[END : END + 8], "little")


def missing(path: Path) -> int:
    """The number of bytes that are missing at the end of a file; they are read as zeros."""
    block, length = _beginning(path)
    return max(_end(block) - length, 0)


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
    """Clear the mark that the file is being written, and add missing bytes; the caller holds its lock.

    False if there was no mark, and nothing is missing.
    """
    block = superblock(path)
    if block[FLAGS] == 0 and not missing(path):
        return False
    end = max(os.path.getsize(path), _end(block))
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
    """A file whose writer was killed, or which is truncated, read as if it had been closed properly.

    Missing bytes are zeros, so that what is there can be read; checksums tell where they matter.
    """

    def __init__(self, path: Path, block: bytes) -> None:
        super().__init__(path, "rb")
        self._end = max(os.path.getsize(path), _end(block))
        self._block = mended(block, self._end)

    def __repr__(self) -> str:
        return str(self.name)  # h5py uses it as the file name

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        return super().seek(offset + self._end) if whence == os.SEEK_END else super().seek(offset, whence)

    def readinto(self, buffer: Any) -> int:
        at, count, view = self.tell(), super().readinto(buffer) or 0, memoryview(buffer).cast("B")
        beginning = self._block[at : at + count]
        view[: len(beginning)] = beginning
        size = max(count, min(len(view), self._end - at))
        view[count:size] = bytes(size - count)
        return size


LIBRARY_VERSION = ("v110", "v110")
"""The oldest HDF5 format with SWMR; the HDF5 library inside ParaView reads it."""
HDF5_ERRORS = (OSError, RuntimeError, LookupError, ValueError, TypeError, AttributeError, OverflowError)
"""Exceptions of h5py for a file with unexpected contents."""
FULL_DISK_ERRORS = (errno.ENOSPC, errno.EFBIG, errno.EDQUOT)
"""Error numbers of a disk that is full."""
MAX_COMPRESSION = 1040
"""Largest compression factor of deflate; a file that declares more data is refused."""
MAX_CHUNK_SIZE = 2**24
"""Largest number of bytes of a chunk that is not deflated, in a file that is smaller; those of jostle have less."""
MIN_DEFLATED = 64
"""Bytes that deflate may add to very short data."""
SPARE_BYTES = 4096
"""Number of unused bytes at the end of a closed file."""
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
    except BrokenFile as error:
        raise _truncated(path, str(error), alone) or error from None
    except JostleError:
        raise
    except HDF5_ERRORS as error:
        said = f"{path} cannot be read as a jostle trajectory: {reason(error)}"
        raise _truncated(path, said, alone) or BrokenFile(said) from None


def _truncated(path: Path, said: str, alone: bool) -> BrokenFile | None:
    """The error about a file that cannot be read because its end is missing; None if nothing is missing."""
    lost = missing(path)
    if lost == 0 or f"{path} is truncated" in said:
        return None
    advice = "" if alone else ", or keep its whole frames with `jostle dev repair`"
    return BrokenFile(f"{path} is truncated: its last {lost} bytes are missing. Copy it again{advice} ({said})")


def _for_reading(path: Path, alone: bool, opened: ExitStack) -> Any:
    """Open with SWMR only if the file is being written: HDF5 then takes damage for a write in progress, and waits."""
    block = superblock(path)
    if missing(path) if block[FLAGS] == 0 else (alone or not being_written(path)):
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


def reserve(descriptor: int, room: int) -> None:
    """Reserve bytes on the disk after the used ones of an open file, so that a full disk is noticed before a write."""
    if hasattr(os, "posix_fallocate"):
        used = _used(descriptor)
        missing = used + room - os.fstat(descriptor).st_size
        if missing > 0:
            try:
                os.posix_fallocate(descriptor, used + room - missing, missing)
            except OSError as error:
                if error.errno in FULL_DISK_ERRORS:
                    raise


def trim_reserved(descriptor: int) -> None:
    """Release reserved bytes that were not used, but for a few; the file must be closed.

    The last bytes in use may be tables without which nothing can be read. So the file ends with bytes that may be lost.
    """
    os.truncate(descriptor, _used(descriptor) + SPARE_BYTES)


def _used(descriptor: int) -> int:
    """Number of bytes in use, as the superblock says."""
    os.lseek(descriptor, END, os.SEEK_SET)
    return int.from_bytes(os.read(descriptor, 8), "little")


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


def inside(file: Any, name: str) -> Any:
    """The group or data set of this name, reached by hard links only.

    >>> with h5py.File("example", "w", driver="core", backing_store=False) as file:
    ...     file["numbers"], file["elsewhere"] = [1, 2], h5py.ExternalLink("other.h5", "/numbers")
    ...     print(inside(file, "numbers").shape)
    ...     inside(file, "elsewhere")
    Traceback (most recent call last):
    ...
    jostle.errors.BrokenFile: example is refused: elsewhere is a link to another place, which jostle never writes
    """
    parts = name.encode().split(b"/")
    for depth in range(1, len(parts) + 1):
        part = b"/".join(parts[:depth])
        if not file.id.links.exists(part):
            raise BrokenFile(
                f"{file.filename} is an HDF5 file, but not a trajectory written by jostle: it has no {name}"
            )
        if file.id.links.get_info(part).type != h5py.h5l.TYPE_HARD:
            raise BrokenFile(
                f"{file.filename} is refused: {name} is a link to another place, which jostle never writes"
            )
    return file[name]


def data_set(
    file: Any, name: str, dtype: Any = None, row: tuple[int, ...] | None = (), *, deflated: bool = False
) -> Any:
    """A data set that grows, with this type and row shape (None: any), whose data are in the file, maybe deflated."""
    found = inside(file, name)
    if not isinstance(found, h5py.Dataset):
        raise BrokenFile(f"{file.filename} is damaged: {name} is not a data set")
    made = found.id.get_create_plist()
    if made.get_layout() != h5py.h5d.CHUNKED or made.get_external_count():
        raise BrokenFile(f"{file.filename} is refused: the data of {name} are not stored in chunks of this file")
    filters = {made.get_filter(k)[0] for k in range(made.get_nfilters())}
    if filters - ({h5py.h5z.FILTER_DEFLATE} if deflated else set()):
        raise BrokenFile(f"{file.filename} is refused: {name} is compressed or filtered, which jostle never does")
    chunk = math.prod(found.chunks) * found.dtype.itemsize
    if filters and any(length > max(there, 1) for length, there in zip(found.chunks, found.shape, strict=True)):
        raise BrokenFile(f"{file.filename} is refused: {name} has chunks that are larger than the data")
    if not filters and chunk > max(MAX_CHUNK_SIZE, file.id.get_filesize()):
        raise BrokenFile(f"{file.filename} is refused: {name} has chunks of {chunk} bytes, more than the whole file")
    if (row is not None and found.shape[1:] != row) or (dtype is not None and found.dtype != np.dtype(dtype)):
        raise BrokenFile(
            f"{file.filename} is damaged: {name} has rows of shape {found.shape[1:]} and type {found.dtype}, not "
            f"{row} and {'' if dtype is None else np.dtype(dtype)}"
        )
    return found


def rows(file: Any, data: Any, start: int, count: int) -> Any:
    """The rows start to start + count of a data set; more bytes than the file has are refused."""
    if start < 0 or count < 0 or start + count > len(data):
        raise BrokenFile(
            f"{file.filename} is damaged: {data.name[1:]} ends after {len(data)} of {start + count} entries"
        )
    check_size(file, data, count)
    return data[start : start + count]


def check_deflated(file: Any, data: Any, starts: Iterable[tuple[int, ...]]) -> None:
    """Refuse chunks that begin at these places, if they need more bytes than deflate makes: HDF5 would inflate all."""
    most = 2 * math.prod(data.chunks) * data.dtype.itemsize + MIN_DEFLATED
    for start in starts:
        if data.id.get_chunk_info_by_coord(start).size > most:
            raise BrokenFile(f"{file.filename} is refused: a chunk of {data.name[1:]} inflates to more than its data")


def rows_within(data: Any, length: int) -> int:
    """The number of first rows of a data set that are within the first bytes of its file."""
    row, whole = data.dtype.itemsize * math.prod(data.shape[1:]), len(data)
    filtered = data.id.get_create_plist().get_nfilters()

    def look(chunk: Any) -> None:
        nonlocal whole
        if chunk.byte_offset + chunk.size > length:
            there = 0 if filtered else max(length - chunk.byte_offset, 0) // row
            whole = min(whole, chunk.chunk_offset[0] + there)

    data.id.chunk_iter(look)
    return whole


def check_size(file: Any, data: Any, count: int, spare: int = 0) -> None:
    """Refuse rows that need more bytes than the file can hold, plus `spare` bytes."""
    size = count * data.dtype.itemsize * int(np.prod(data.shape[1:], dtype=object))
    most = file.id.get_filesize() * (MAX_COMPRESSION if data.id.get_create_plist().get_nfilters() else 1)
    if size > most + spare:
        raise BrokenFile(
            f"{file.filename} is refused: {data.name[1:]} declares {size} bytes, more than the whole file can hold"
        )


def holds_images(file: Any) -> bool:
    """Whether an open HDF5 file contains images; trajectories of bodies have another type of VTK."""
    links, name = file.id.links, b"VTKHDF"
    if not links.exists(name) or links.get_info(name).type != h5py.h5l.TYPE_HARD:
        return False
    return bytes(file["VTKHDF"].attrs.get("Type", b"")) == b"ImageData"
