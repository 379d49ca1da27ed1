"""Trajectories that are written while a run goes on, and survive its end, however it comes: see `Writer`.

q of shape (n, d) with d <= 3 are n points, and so is a q of shape (n d,) where the dimension d of a body is known; any
other q is drawn as one point for each of its entries, on the x axis. A body whose q is NaN is not there. A contact with
a wall, or a constraint on the whole configuration, is a line from a point to itself, as is one with a body that is not
there any more. Contacts of a frame without any body are left out, and so are normals of more than three components. The
file is described in `jostle.io.layout`.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import h5py
import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from jostle.arguments import check_arguments
from jostle.errors import BrokenFile, FileInUse, FileIsThere, InvalidValue, JostleError, NoSuchFile, WriteFailed
from jostle.facts import Facts
from jostle.io import changes, layout
from jostle.io.container import (
    HDF5_ERRORS,
    LIBRARY_VERSION,
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
from jostle.io.layout import Kind
from jostle.io.pending import Pending
from jostle.io.step_records import STEPS, as_stored
from jostle.shapes import Shape
from jostle.step_statistics import STATISTICS

__all__ = ["BrokenFile", "FileInUse", "FileIsThere", "NoSuchFile", "WriteFailed", "Writer"]

COMMIT_INTERVAL = 0.5
"""Frames are written at the latest after this many seconds."""
MAX_PENDING_BYTES = 4 * 2**20
"""Frames are written at the latest when this many bytes wait."""
COMMIT_OVERHEAD = 2**18
"""Bytes that HDF5 may need for its own structures in one commit."""
NO_PAIRS, NO_MULTIPLIERS, NO_NORMALS = np.zeros((0, 2), dtype=np.int64), np.zeros(0), np.zeros((0, 0))
"""Arrays of a frame without contacts."""


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
        facts: Facts | None = None,
        about: Mapping[str, str],
    ) -> None:
        """A new file; `facts` say what is known of the problem, and `about` are words to keep."""
        self.path = Path(path)
        if np.dtype(dtype) not in (np.float32, np.float64):
            raise InvalidValue(f"dtype must be float32 or float64, not {np.dtype(dtype)}")
        known = Facts() if facts is None else facts
        if known.order not in (0, 1, 2):
            raise InvalidValue(f"order must be 2 for a Motion or 1 for a Sweeping, not {known.order!r}")
        kind = Kind(tuple(int(k) for k in shape), contacts, dtype, known)
        _create(self.path, kind, about)
        self._start(0, 0, new=True)

    @classmethod
    def reopen(cls, path: str | os.PathLike[str], frames: int, steps: int) -> Self:
        """Continue a file after its first `frames` frames and `steps` records of steps; the rest is dropped."""
        writer = cls.__new__(cls)
        writer.path = Path(path)
        writer._start(frames, steps)
        return writer

    def _start(self, frames: int, steps: int, *, new: bool = False) -> None:
        superblock(self.path)
        self._lock = Lock(self.path)
        self._file: Any = None
        self._failure: WriteFailed | None = None
        try:
            if not new:
                self._check(frames, steps)
                clear_flags(self.path)
            self._file = writing(self.path)
            if not new:
                layout.trim(self._file, frames, steps)
            self._prepare(frames, steps)
        except BaseException as error:
            self._let_go()
            if isinstance(error, HDF5_ERRORS) and not isinstance(error, JostleError):
                raise BrokenFile(f"{self.path} cannot be continued: {reason(error)}") from None
            raise

    def _check(self, frames: int, steps: int) -> None:
        """Raise `InvalidValue` if the file holds fewer frames or records of steps."""
        with reading(self.path, alone=True) as file:
            said = layout.looked_over(file)
        if not (0 <= frames <= said.frames and 0 <= steps <= said.steps):
            raise InvalidValue(
                f"{self.path} has {said.frames} frames and {said.steps} records of steps: it cannot be continued after "
                f"{frames} and {steps}"
            )

    def _prepare(self, frames: int, steps: int) -> None:
        """Find where the next frame goes."""
        file, names = self._file, layout.names(layout.header(self._file))
        layout.say_status(file, "running")
        self._data = {name: file[name].id for name in names}
        self._safe = {name: int(data.shape[0]) for name, data in self._data.items()}
        """How long the data sets are with what is acknowledged."""
        chunks = (int(np.prod(file[name].chunks)) * file[name].dtype.itemsize for name in names)
        self._room = COMMIT_OVERHEAD + sum(chunks)
        self._pending, self._last = Pending(file, frames), time.monotonic()
        self.acknowledged, self.acknowledged_steps = frames, steps

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
        walls: Sequence[Shape] = (),
    ) -> None:
        """Add a saved state: pairs, multipliers, normals and their duration as in `Solution`, radii for each or all.

        `walls` are the shapes of the walls at its time, see `jostle.shapes`.
        """
        self._check_open()
        self._pending.add_frame(t, duration, (q, u, radii, pairs, multipliers, normals), walls)
        self.commit_if_due()

    def steps(self, records: ArrayLike) -> None:
        """Add statistics of steps: records of `STATISTICS`, or one."""
        self._check_open()
        try:
            given = np.atleast_1d(np.asarray(records, dtype=STATISTICS))
        except (TypeError, ValueError) as error:
            fields = ", ".join(STATISTICS.names or ())
            raise InvalidValue(f"records must have one value for each of {fields}: {error}") from None
        self._pending.add(STEPS, as_stored(given, self._data[STEPS].dtype))
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
        if self._pending.bytes > MAX_PENDING_BYTES or time.monotonic() - self._last > COMMIT_INTERVAL:
            self.commit()

    def commit(self) -> None:
        """Write all that was added; afterwards it is acknowledged."""
        self._check_open()
        pending = self._pending
        self._last = time.monotonic()
        if pending.bytes == 0 and not len(pending):
            return
        if len(pending):
            pending.add_tables()
        try:
            self._lock.reserve(pending.bytes + self._room)
        except OSError as error:
            raise self._failed(error, untouched=True) from None
        try:
            safe = {name: self._append(name, blocks) for name, blocks in pending.blocks.items()}
            layout.say(self._file, pending.frames + len(pending), safe[STEPS])
        except HDF5_ERRORS as error:
            raise self._failed(error) from None
        pending.written()
        self._safe, self.acknowledged, self.acknowledged_steps = safe, pending.frames, safe[STEPS]

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

    def _append(self, name: str, blocks: list[NDArray[Any]]) -> int:
        """Write behind what is safe, so that a commit that was interrupted can be repeated; the new length."""
        data, old = self._data[name], self._safe[name]
        if name in layout.CONSTANT:
            data.set_extent((self._pending.frames + len(self._pending),))
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
    with h5py.File(path, "w", driver="core", backing_store=False, libver=LIBRARY_VERSION) as file:
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
