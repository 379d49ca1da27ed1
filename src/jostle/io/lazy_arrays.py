"""Arrays of a trajectory that stay in their file until they are indexed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from jostle._tools.arrays import Array
from jostle.io.container import reading
from jostle.io.frames_in_file import Source


class States:
    """(k, *shape): an array that stays in its file; it can be indexed, iterated, or converted to a NumPy array.

    >>> import tempfile
    >>> from pathlib import Path
    >>> from jostle.io.reading import read
    >>> from jostle.io.trajectory import Writer
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with Writer(Path(folder) / "run.vtkhdf", shape=(2,), about={}) as file:
    ...         for k in range(4):
    ...             file.frame(0.1 * k, [k, 10 * k], [1.0, 10.0])
    ...     q = read(Path(folder) / "run.vtkhdf").q
    ...     q, len(q), q[-1].tolist(), q[1:3].tolist(), q[[0, 2], 1].tolist(), np.asarray(q).sum()
    (States of shape (4, 2) in run.vtkhdf, 4, [3.0, 30.0], [[1.0, 10.0], [2.0, 20.0]], [0.0, 20.0], np.float64(66.0))
    """

    dtype = np.dtype(float)

    def __init__(self, source: Source, name: str, missing: float) -> None:
        self.source, self._name, self._missing = source, name, missing
        self.shape = (len(source.index.t), *source.shape)
        self.ndim, self.size = len(self.shape), int(np.prod(self.shape))

    def __repr__(self) -> str:
        return f"States of shape {self.shape} in {self.source.path.name}"

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, index: Any) -> Any:
        head, *rest = (index or (Ellipsis,)) if isinstance(index, tuple) else (index,)
        if head is None or head is Ellipsis or (np.ndim(head) > 1 and np.asarray(head).dtype == bool):
            return np.asarray(self)[index]
        chosen = np.arange(len(self))[head]
        frames, place = np.unique(chosen, return_inverse=True)
        block = self.source.states(self._name, self._missing, frames)
        if isinstance(head, slice):
            return block[(slice(None, None, -1 if (head.step or 1) < 0 else 1), *rest)]
        return block[(place.reshape(np.shape(chosen)) if np.ndim(chosen) else 0, *rest)]

    def __iter__(self) -> Iterator[Array]:
        for start in range(0, len(self), self.source.block):
            yield from self[start : start + self.source.block]

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        if copy is False:
            raise ValueError("an array in a file cannot be converted without a copy")
        return np.asarray(self[:], dtype=dtype)


class Ragged(Sequence[Any]):
    """A sequence of arrays, one per frame with its own length, that stays in the file."""

    def __init__(self, source: Source, one: Callable[[Any, int], Any]) -> None:
        self._source, self._one = source, one

    def __repr__(self) -> str:
        return f"{len(self)} times {self._one.__name__} in {self._source.path.name}"

    def __len__(self) -> int:
        return len(self._source.index.t)

    def __getitem__(self, index: Any) -> Any:
        frames = range(len(self))[index]
        with reading(self._source.path) as file:
            if isinstance(frames, range):
                return tuple(self._one(file, frame) for frame in frames)
            return self._one(file, frames)

    def __iter__(self) -> Iterator[Any]:
        for start in range(0, len(self), self._source.block):
            yield from self[start : start + self._source.block]
