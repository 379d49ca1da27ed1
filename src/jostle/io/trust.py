"""Safe access to trajectories of unknown origin: only groups and data sets inside the file, stored as jostle does.

HDF5 lets a file refer to other files (external and soft links, external storage, virtual data sets), declare more data
than it contains, and call filters that expand a few bytes to many. A trajectory written by jostle has none of these.
The functions here check first that each part of a name is a hard link, and that the data are in chunks of this file,
unfiltered and of the expected type.
"""

from __future__ import annotations

from typing import Any

import h5py
import numpy as np

from jostle.errors import BrokenFile


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


def data_set(file: Any, name: str, dtype: Any = None, row: tuple[int, ...] = ()) -> Any:
    """A data set that grows with the frames, with this type and row shape, whose data are in the file."""
    found = inside(file, name)
    if not isinstance(found, h5py.Dataset):
        raise BrokenFile(f"{file.filename} is damaged: {name} is not a data set")
    made = found.id.get_create_plist()
    if made.get_layout() != h5py.h5d.CHUNKED or made.get_external_count():
        raise BrokenFile(f"{file.filename} is refused: the data of {name} are not stored in chunks of this file")
    if made.get_nfilters():
        raise BrokenFile(f"{file.filename} is refused: {name} is compressed or filtered, which jostle never does")
    if found.shape[1:] != row or (dtype is not None and found.dtype != np.dtype(dtype)):
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


def check_size(file: Any, data: Any, count: int, spare: int = 0) -> None:
    """Refuse rows that need more bytes than the file has plus `spare` bytes."""
    size = count * data.dtype.itemsize * int(np.prod(data.shape[1:]))
    if size > file.id.get_filesize() + spare:
        raise BrokenFile(
            f"{file.filename} is refused: {data.name[1:]} declares {size} bytes, more than the whole file has"
        )
