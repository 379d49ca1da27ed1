"""The frames of a trajectory file, read one by one and compared with their checksums."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jostle._tools.arrays import Array, Integers
from jostle.errors import BrokenFile
from jostle.io import frame_index, headers, layout, stored_facts, wall_states
from jostle.io.checksums import of_rows
from jostle.io.container import reading
from jostle.io.step_records import statistics
from jostle.io.trust import rows
from jostle.sets.shapes import Shape

BLOCK_SIZE = 4 * 2**20
"""Number of bytes read at once when all frames are read."""


class Source:
    """A trajectory file: its header, the positions of its frames, and functions that read one frame."""

    def __init__(self, path: Path) -> None:
        self.path = path.absolute()
        with reading(path) as file:
            self.header = said = headers.header(file)
            self.shape, self.dtype = said.shape, headers.data(file, layout.POINTS, said).dtype
            self.index, self.stats = frame_index.index(file, said), statistics(file, said.steps)
            self.checks = rows(file, headers.data(file, layout.CHECKS, said), 0, said.frames)[:, 1:]
            self.facts = stored_facts.facts_in(file, said.shape, said.order, said.walls)
            self._walls = wall_states.table_of(file, int(self.index.state.max(initial=-1)) + 1)
        self.count, self.d = said.points
        self._known: tuple[int, tuple[Shape, ...]] = (-1, ())
        """The last state of the walls that was read, and its shapes."""
        self.index.t.setflags(write=False)
        lines = int(self.index.lines.sum()) // max(len(self.index.t), 1)
        self.block = max(BLOCK_SIZE // (8 * (self.count * self.d + 6 * lines + 1)), 1)
        """Number of frames read at once when all frames are read."""

    def states(self, name: str, missing: float, numbers: Integers) -> Array:
        """(k, *shape): values of the bodies in these ascending frames; `missing` for absent bodies."""
        index, count = self.index, self.count
        out = np.full((len(numbers), count, self.d), missing)
        with reading(self.path) as file:
            for run in np.split(np.arange(len(numbers)), np.flatnonzero(np.diff(numbers) != 1) + 1):
                if len(run) == 0:
                    continue
                frames = numbers[run]
                first, sizes = int(index.points_at[frames[0]]), index.points[frames]
                starts = index.points_at[frames] - first
                found = rows(file, headers.data(file, name, self.header), first, int((starts + sizes).max()))
                for k, frame, start, size in zip(run, frames, starts, sizes, strict=True):
                    some = self._checked(name, int(frame), found[start : start + size])[:, : self.d]
                    out[k, slice(None) if size == count else self._body(file, frame)] = some
        return out.reshape(len(numbers), *self.shape)

    def radii(self, file: Any, frame: int) -> Array:
        """The radii of one frame, 0 for absent bodies."""
        out = np.zeros(self.count)
        n, at = int(self.index.points[frame]), int(self.index.radius_at[frame])
        out[self._body(file, frame)] = self._rows(file, layout.RADIUS, frame, at, n)
        return out

    def impulses(self, file: Any, frame: int) -> Array:
        """The multipliers p != 0 of one frame."""
        return np.asarray(self._cells(file, layout.IMPULSE, frame), dtype=float)

    def pairs(self, file: Any, frame: int) -> Integers:
        """The pairs of one frame."""
        first, second = (self._cells(file, name, frame).astype(np.int64) for name in (layout.FIRST, layout.SECOND))
        if ((first < -1) | (first >= self.count) | ((first >= 0) & (second >= self.count))).any():
            raise BrokenFile(f"{self.path} is damaged: a contact of frame {frame} is between bodies that do not exist")
        return np.stack([first, second], axis=1)

    def normals(self, file: Any, frame: int) -> Array:
        """The normals of one frame."""
        normals = np.asarray(self._cells(file, layout.NORMAL, frame), dtype=float).reshape(-1, 3)
        return normals[:, : int(self.index.components[frame])]

    def shapes(self, file: Any, frame: int) -> tuple[Shape, ...]:
        """The shapes of the walls at the time of one frame."""
        state, (known, shapes) = int(self.index.state[frame]), self._known
        if state != known:
            shapes = wall_states.shapes_in(file, self._walls, state, self.facts.dimension or self.d)
            self._known = state, shapes
        return shapes

    def _body(self, file: Any, frame: int) -> Any:
        n, at = int(self.index.points[frame]), int(self.index.body_at[frame])
        body = self._rows(file, layout.BODY, frame, at, n)
        if n and not 0 <= body.min() <= body.max() < self.count:
            raise BrokenFile(f"{self.path} is damaged: frame {frame} has bodies that do not exist")
        return body

    def _cells(self, file: Any, name: str, frame: int) -> Any:
        lines, at = int(self.index.lines[frame]), int(self.index.data_at[frame])
        return self._rows(file, name, frame, at + 1, lines) if lines else np.zeros(0)

    def _rows(self, file: Any, name: str, frame: int, start: int, count: int) -> Any:
        return self._checked(name, frame, rows(file, headers.data(file, name, self.header), start, count))

    def _checked(self, name: str, frame: int, values: NDArray[Any]) -> NDArray[Any]:
        """The values of a frame in a data set, after comparison with their checksum."""
        if of_rows(values) != self.checks[frame, layout.CHECKED.index(name)]:
            raise BrokenFile(f"{self.path} is damaged: {name} of frame {frame} does not match its checksum")
        return values
