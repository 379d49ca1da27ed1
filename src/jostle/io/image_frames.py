"""Fields of an image file that stay in the file until they are indexed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import DTypeLike, NDArray

from jostle._tools.arrays import Array
from jostle.errors import BrokenFile
from jostle.io.checksums import of_rows
from jostle.io.container import reading
from jostle.io.images import CHECK
from jostle.io.trust import inside

MAX_COMPRESSION = 1040
"""Largest compression factor of deflate; a file that declares more data is refused."""


class Frames:
    """A field (frames, nx, ny) or (frames, nx, ny, 2) that stays in its file until it is indexed."""

    dtype = np.dtype(float)

    def __init__(self, path: Path, name: str, shape: tuple[int, ...]) -> None:
        self._path, self._name, self.shape = path.absolute(), f"VTKHDF/CellData/{name}", shape

    def check(self, file: Any) -> None:
        """Check the shape of the data set in the file."""
        frames, nx, ny = self.shape
        data = stored_data(file, self._name)
        if data.shape == (frames, 1, ny, nx, 3):
            self.shape = (frames, nx, ny, 2)
        elif data.shape != (frames, 1, ny, nx):
            raise BrokenFile(f"{self._path} is damaged: {self._name} has shape {data.shape}, not {(frames, 1, ny, nx)}")

    def __repr__(self) -> str:
        return f"{self._name.rpartition('/')[2]} of shape {self.shape} in {self._path.name}"

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, index: Any) -> Array:
        frames, *rest = index if isinstance(index, tuple) else (index,)
        with reading(self._path) as file:
            data = stored_data(file, self._name)
            if len(data) < len(self):
                raise BrokenFile(f"{self._path} was replaced by a shorter run while it was being read")
            chosen = np.arange(len(self))[frames]
            found = np.asarray(data[chosen], float)
            self._compare(file, chosen, found)
        one = found.ndim < len(self.shape) + 1
        found = np.swapaxes(found[None] if one else found, 2, 3)[:, 0]
        found = found[..., :2] if len(self.shape) == 4 else found
        return np.asarray(found[0][tuple(rest)] if one else found[(slice(None), *rest)])

    def _compare(self, file: Any, frames: NDArray[Any], found: Array) -> None:
        """Refuse frames that do not match their checksums."""
        name = self._name.rpartition("/")[2]
        sums = stored_numbers(file, f"jostle/images/checksums/{name}")
        for frame, values in zip(np.atleast_1d(frames), found.reshape(-1, *self._stored), strict=True):
            if frame >= len(sums) or of_rows(values) != sums[frame]:
                raise BrokenFile(f"{self._path} is damaged: {name} of frame {frame} does not match its checksum")

    @property
    def _stored(self) -> tuple[int, ...]:
        """Shape of a frame in the file."""
        _, nx, ny, *rest = self.shape
        return (1, ny, nx, 3) if rest else (1, ny, nx)

    def __iter__(self) -> Iterator[Array]:
        return (self[k] for k in range(len(self)))

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        if copy is False:
            raise ValueError("an array in a file cannot be converted without a copy")
        return np.asarray(self[:], dtype=dtype)


def stored_data(file: Any, name: str) -> Any:
    """A data set stored inside the file, uncompressed or deflated."""
    found = inside(file, name)
    if not isinstance(found, h5py.Dataset):
        raise BrokenFile(f"{file.filename} is damaged: {name} is not a data set")
    made = found.id.get_create_plist()
    filters = {made.get_filter(k)[0] for k in range(made.get_nfilters())}
    if made.get_external_count() or made.get_layout() == h5py.h5d.VIRTUAL or filters - {h5py.h5z.FILTER_DEFLATE}:
        raise BrokenFile(f"{file.filename} is refused: {name} is stored in a way that jostle never uses")
    size = found.dtype.itemsize * int(np.prod(found.shape, dtype=object))
    if size > MAX_COMPRESSION * file.id.get_filesize():
        raise BrokenFile(f"{file.filename} is refused: {name} declares {size} bytes, more than the file can hold")
    return found


def stored_numbers(file: Any, name: str, shape: tuple[int, ...] | None = None) -> NDArray[Any]:
    """The values of a data set, after comparison with their checksum."""
    data = stored_data(file, name)
    if shape is not None and data.shape != shape:
        raise BrokenFile(f"{file.filename} is damaged: {name} has shape {data.shape}, not {shape}")
    found = np.asarray(data[()])
    if int(data.attrs.get(CHECK, -1)) != of_rows(found):
        raise BrokenFile(f"{file.filename} is damaged: {name} does not match its checksum")
    return found
