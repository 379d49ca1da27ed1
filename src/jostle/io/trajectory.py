"""Trajectories that are written while a run goes on, and survive its end, however it comes: see `Writer`.

q of shape (n, d) with d <= 3 are n points; any other q is drawn as one point for each of its entries, on the x axis. A
body whose q is NaN is not there. A contact with a wall, or a constraint on the whole configuration, is a line from a
point to itself, as is one with a body that is not there any more. Contacts of a frame without any body are left out,
and so are normals of more than three components. The file is described in `jostle.io.layout`.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import h5py
import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from jostle.arguments import Natural, check_arguments
from jostle.errors import BrokenFile, FileInUse, FileIsThere, InvalidValue, JostleError, NoSuchFile, WriteFailed
from jostle.io import changes, layout
from jostle.io.checksums import of_rows
from jostle.io.container import (
    HDF5_ERRORS,
    LIBRARY,
    SIZE,
    Lock,
    abandon,
    beside,
    clear_flags,
    create,
    mended,
    publish,
    reading,
    reason,
    refuse_existing,
    superblock,
    writing,
)
from jostle.io.layout import Index, Kind
from jostle.io.pictures import Scene
from jostle.solution import STATISTICS

__all__ = ["BrokenFile", "FileInUse", "FileIsThere", "NoSuchFile", "WriteFailed", "Writer"]

EVERY = 0.5
"""Seconds between commits,"""
MUCH = 4 * 2**20
"""or so many bytes."""
ROOM = 2**18
"""Bytes that HDF5 may need for its own, for one commit."""
NO_PAIRS, NO_MULTIPLIERS, NO_NORMALS = np.zeros((0, 2), dtype=np.int64), np.zeros(0), np.zeros((0, 0))


@check_arguments
class Writer:
    """A trajectory file that grows while a run goes on; others may read it meanwhile, and kill -9 does not harm it.

    Frames are collected, and written when half a second has passed or a few megabytes are there: `acknowledged` frames
    are safe. So `commit_if_due` wants to be called often, as `frame` and `steps` do. Safe means against the end of the
    process, not against that of the machine: nothing waits for the disk.

    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> with Writer(Path(folder.name) / "run.vtkhdf", shape=(2, 2), about={"seed": "7"}) as file:
    ...     file.frame(0.0, [[0, 0], [2, 0]], np.zeros((2, 2)), radii=1.0)
    ...     file.commit()
    ...     file.acknowledged
    1
    >>> folder.cleanup()
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        shape: tuple[int, ...],
        contacts: bool = False,
        dtype: DTypeLike = np.float32,
        order: int | None = None,
        walls: Natural | None = None,
        about: Mapping[str, str],
    ) -> None:
        """`order` is 2 for a `Motion` and 1 for a `Sweeping`, `walls` the number of walls; None if it is not known."""
        self.path = Path(path)
        if np.dtype(dtype) not in (np.float32, np.float64):
            raise InvalidValue(f"dtype must be float32 or float64, not {np.dtype(dtype)}")
        if order not in (None, 1, 2):
            raise InvalidValue(f"order must be 2 for a Motion or 1 for a Sweeping, not {order!r}")
        kind = Kind(tuple(int(k) for k in shape), contacts, dtype, order or 0, -1 if walls is None else walls)
        _create(self.path, kind, about)
        self._start(0, 0)

    @classmethod
    def reopen(cls, path: str | os.PathLike[str], frames: int, steps: int) -> Self:
        """Go on with a file after its first so many frames and records of steps; what is behind them is dropped."""
        writer = cls.__new__(cls)
        writer.path = Path(path)
        writer._start(frames, steps)
        return writer

    def _start(self, frames: int, steps: int) -> None:
        superblock(self.path)
        self._lock = Lock(self.path)
        self._file: Any = None
        self._failure: WriteFailed | None = None
        try:
            self._check(frames, steps)
            clear_flags(self.path)
            self._file = writing(self.path)
            self._prepare(frames, steps)
        except BaseException as error:
            self._let_go()
            if isinstance(error, HDF5_ERRORS) and not isinstance(error, JostleError):
                raise BrokenFile(f"{self.path} cannot be continued: {reason(error)}") from None
            raise

    def _check(self, frames: int, steps: int) -> None:
        """Are there so many frames and records of steps?"""
        with reading(self.path, alone=True) as file:
            said = layout.looked_over(file)
        if not (0 <= frames <= said.frames and 0 <= steps <= said.steps):
            raise InvalidValue(
                f"{self.path} has {said.frames} frames and {said.steps} records of steps: it cannot be continued after "
                f"{frames} and {steps}"
            )

    def _prepare(self, frames: int, steps: int) -> None:
        """Cut the file to its first frames, and find where the next one goes."""
        file, said = self._file, layout.header(self._file)
        layout.trim(file, frames, steps)
        layout.say_status(file, "running")
        self._scene = Scene(said.shape, contacts=said.contacts, dtype=file[layout.POINTS].dtype)
        names = layout.names(said)
        self._data = {name: file[name].id for name in names}
        self._safe = {name: int(data.shape[0]) for name, data in self._data.items()}
        """How long the data sets are with what is acknowledged,"""
        self._length = dict(self._safe)
        """and with what was added."""
        self._room = ROOM + sum(int(np.prod(file[name].chunks)) * file[name].dtype.itemsize for name in names)
        self._blocks: dict[str, list[NDArray[Any]]] = {name: [] for name in names}
        self._rows: list[tuple[float, ...]] = []
        self._checks: list[list[int]] = []
        self._no_contact = {
            name: np.zeros((1, *file[name].shape[1:]), file[name].dtype) for name in names if name in layout.CELL_DATA
        }
        """What the cell of all points has as cell data."""
        self._bytes, self._last = 0, time.monotonic()
        self.acknowledged, self.acknowledged_steps = frames, steps
        index = layout.index(file, said._replace(frames=frames))
        self._known: dict[str, tuple[NDArray[Any], int, int]] = {}
        """What body and radius were last, where they were written, and their checksums."""
        if frames:
            for name, at in ((layout.BODY, int(index.body_at[-1])), (layout.RADIUS, int(index.radius_at[-1]))):
                self._known[name] = file[name][at:], at, of_rows(file[name][at:])

    def frame(
        self,
        t: float,
        q: ArrayLike,
        u: ArrayLike,
        radii: ArrayLike = 0.0,
        pairs: ArrayLike = NO_PAIRS,
        multipliers: ArrayLike = NO_MULTIPLIERS,
        normals: ArrayLike = NO_NORMALS,
        duration: float = np.nan,
    ) -> None:
        """Add a saved state: pairs, multipliers, normals and their duration as in `Solution`, radii for each or all."""
        self._check_open()
        points, velocity, body, radius, touching = self._scene.picture(q, u, radii, pairs, multipliers, normals)
        frame, n, m = self.acknowledged + len(self._rows), len(points), 0
        points_at = self._add(layout.POINTS, points)
        self._add(layout.VELOCITY, velocity)
        (body_at, *body_check), (radius_at, *radius_check) = (
            self._add_new(name, values) for name, values in ((layout.BODY, body), (layout.RADIUS, radius))
        )
        checks = [of_rows(points), of_rows(velocity), *body_check, *radius_check]
        cells_at = ends_at = data_at = components = 0
        if touching is not None:
            m, components = len(touching.impulse), touching.components
            cells_at = self._add(layout.OFFSETS, np.arange(0, 2 * max(m, 1) + 1, 2, dtype=np.int32)) - frame
            ends_at, data_at = self._add(layout.ENDS, touching.ends.ravel()), self._length[layout.IMPULSE]
            values = (touching.impulse, touching.normal, touching.first, touching.second)
            for name, value in zip(layout.CELL_DATA, values, strict=True):
                if n:
                    self._add(name, self._no_contact[name])
                self._add(name, value)
                checks.append(of_rows(value))
        self._rows.append((t, duration, n, m, components, points_at, body_at, radius_at, cells_at, ends_at, data_at))
        self._checks.append(checks + [0] * (len(layout.CHECKED) - len(checks)))
        self.commit_if_due()

    def steps(self, records: ArrayLike) -> None:
        """Add statistics of steps: records of `STATISTICS`, or one."""
        self._check_open()
        given = np.atleast_1d(np.asarray(records, dtype=STATISTICS))
        self._add(layout.STEPS, layout.records(given, self._data[layout.STEPS].dtype))
        self.commit_if_due()

    def note(self, change: Mapping[str, Any]) -> None:
        """Record a change of the run, as JSON, behind those that were recorded before; see `jostle.io.changes`."""
        self._check_open()
        text = json.dumps(change)
        try:
            self._lock.reserve(len(text) + self._room)
            changes.note(self._file, text)
        except HDF5_ERRORS as error:
            if isinstance(error, JostleError):
                raise
            raise self._failed(error) from None

    def rename(self, path: Path) -> None:
        """Take the name of another file, which is replaced; what was committed is in the new one."""
        self.commit()
        os.replace(self.path, path)
        self.path = path

    def commit_if_due(self) -> None:
        """Commit, if half a second has passed since the last time or a few megabytes are waiting."""
        if self._bytes > MUCH or time.monotonic() - self._last > EVERY:
            self.commit()

    def commit(self) -> None:
        """Write all that was added; afterwards it is acknowledged."""
        self._check_open()
        frames = self.acknowledged + len(self._rows)
        self._last = time.monotonic()
        if self._bytes == 0 and not self._rows:
            return
        if self._rows:
            self._add_rows(frames)
        try:
            self._lock.reserve(self._bytes + self._room)
        except OSError as error:
            raise self._failed(error, untouched=True) from None
        try:
            safe = {name: self._append(name, blocks) for name, blocks in self._blocks.items()}
            layout.say(self._file, frames, safe[layout.STEPS])
        except HDF5_ERRORS as error:
            raise self._failed(error) from None
        self._safe, self._blocks, self._rows, self._bytes = safe, {name: [] for name in safe}, [], 0
        self._checks = []
        self.acknowledged, self.acknowledged_steps = frames, safe[layout.STEPS]

    def close(self, status: str = "finished") -> None:
        """Commit, write the status and close; a file that is closed, or failed, stays as it is."""
        if self._file is None:
            return
        self.commit()
        try:
            layout.say_status(self._file, status)
            self._file.close()
        except HDF5_ERRORS as error:
            raise self._failed(error) from None
        self._file = None
        self._lock.trim()
        self._lock.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close("finished" if error is None else "failed")

    @property
    def broken(self) -> bool:
        """Did a write fail? Then nothing more can be written."""
        return self._failure is not None

    def _add(self, name: str, values: NDArray[Any]) -> int:
        """Keep values for the next commit; where they will begin."""
        at = self._length[name]
        self._blocks[name].append(values)
        self._length[name] = at + len(values)
        self._bytes += values.nbytes
        return at

    def _add_new(self, name: str, values: NDArray[Any]) -> tuple[int, int]:
        """The same, if they are not what was written last; where they begin, and their checksum."""
        if name not in self._known or not np.array_equal(values, self._known[name][0]):
            values = values.copy()
            self._known[name] = values, self._add(name, values), of_rows(values)
        return self._known[name][1:]

    def _add_rows(self, frames: int) -> None:
        """The data sets with one row a frame."""
        numbers = np.arange(self.acknowledged, frames)
        t, duration = np.array([row[:2] for row in self._rows], dtype=float).T
        columns = np.array([row[2:] for row in self._rows], dtype=np.int64).T
        n, m, components, points_at, body_at, radius_at, cells_at, ends_at, data_at = columns
        of_tables = Index(t, duration, *columns).checks()
        none = np.zeros_like(numbers)
        rows = {
            layout.TIME: t,
            layout.PART: numbers,
            layout.COUNT: n,
            layout.CELLS: n > 0,
            layout.LINES: m,
            layout.LINE_ENDS: 2 * m,
            layout.COMPONENTS: components,
            layout.DURATION: duration,
            layout.CHECKS: np.column_stack([of_tables, np.array(self._checks, dtype=np.uint32)]),
            layout.POINTS_AT: points_at,
            layout.BODY_AT: body_at,
            layout.RADIUS_AT: radius_at,
            layout.CELLS_AT: np.stack([numbers, cells_at, none, none], axis=1),
            layout.ENDS_AT: np.stack([none, ends_at, none, none], axis=1),
            layout.DATA_AT: data_at,
            layout.VERTICES: np.stack([none, n], axis=1).ravel(),
        }
        for name, values in rows.items():
            if name in self._blocks:
                self._blocks[name] = [values]

    def _append(self, name: str, blocks: list[NDArray[Any]]) -> int:
        """Write behind what is safe, so that a commit that was interrupted can be repeated; the new length."""
        data, old = self._data[name], self._safe[name]
        if name in layout.CONSTANT:
            data.set_extent((self.acknowledged + len(self._rows),))
        rows = np.concatenate(blocks) if len(blocks) > 1 else blocks[0] if blocks else NO_PAIRS
        if len(rows) == 0:
            return old
        start = (old, *(0 for _ in data.shape[1:]))
        data.set_extent((old + len(rows), *data.shape[1:]))
        space = data.get_space()
        space.select_hyperslab(start, rows.shape)
        data.write(h5py.h5s.create_simple(rows.shape), space, np.ascontiguousarray(rows))
        return old + len(rows)

    def _check_open(self) -> None:
        if self._failure:
            raise self._failure
        if self._file is None:
            raise InvalidValue(f"{self.path} is closed: it takes no more frames; Writer.reopen goes on with it")

    def _failed(self, error: BaseException, untouched: bool = False) -> WriteFailed:
        """Let go of the file, and say what is safe."""
        self._failure = WriteFailed(
            f"{self.path} cannot be written: {reason(error)}. Its first {self.acknowledged} frames are safe and can be "
            f"read. Make room on the disk, or take another one, and go on from the last checkpoint"
        )
        self._failure.frames = self.acknowledged
        if untouched:
            with suppress(*HDF5_ERRORS):
                layout.say_status(self._file, "failed")
                self._file.close()
                self._file = None
                self._lock.trim()
        self._let_go()
        return self._failure

    def _let_go(self) -> None:
        if self._file is not None:
            abandon(self._file)
        self._file = None
        self._lock.release()


def _create(path: Path, kind: Kind, about: Mapping[str, str]) -> None:
    """Make a trajectory without frames: first in memory, then under another name, so that it is there as a whole."""
    refuse_existing(path)
    with h5py.File(path, "w", driver="core", backing_store=False, libver=LIBRARY) as file:
        layout.create(file, kind, about)
        file.flush()
        image = file.id.get_file_image()
    new = beside(path)
    try:
        create(new, mended(image[:SIZE], len(image)) + image[SIZE:])
        publish(new, path)
    except FileNotFoundError:
        raise NoSuchFile(f"there is no folder {path.parent} for {path.name}") from None
    except JostleError:
        raise
    except OSError as error:
        raise WriteFailed(f"{path} cannot be made: {reason(error)}") from None
    finally:
        new.unlink(missing_ok=True)
