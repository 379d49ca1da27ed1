"""Writing of trajectory files during a run; the files survive a killed process: see `Writer`.

A q of shape (n, d) with d <= 3 is stored as n points, and so is a q of shape (n d,) if the dimension d of a body is
known. Any other q is stored as one point per entry, on the x axis. A body whose q is NaN is absent. A contact with a
wall, a constraint on the whole configuration, or a contact with an absent body is a line from a point to itself.
Contacts of a frame without bodies, and normals with more than three components, are not stored. `jostle.io.layout`
describes the file.
"""

from __future__ import annotations

import json
import math
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

from jostle._tools.arguments import check_arguments
from jostle.errors import BrokenFile, FileInUse, FileIsThere, InvalidValue, JostleError, NoSuchFile, WriteFailed
from jostle.io import changes, frame_index, headers, layout
from jostle.io.container import HDF5_ERRORS, abandon, reading, reason, writing
from jostle.io.creation import create_trajectory
from jostle.io.locks import Lock
from jostle.io.pending import Pending
from jostle.io.step_records import STEPS, as_stored
from jostle.io.superblock import clear_flags, superblock
from jostle.result.facts import Facts
from jostle.result.recording import STATISTICS
from jostle.sets.shapes import Shape

__all__ = ["BrokenFile", "FileInUse", "FileIsThere", "NoSuchFile", "WriteFailed", "Writer"]

COMMIT_INTERVAL = 0.5
"""Largest time until frames are written, in seconds."""
MAX_PENDING_BYTES = 4 * 2**20
"""Largest number of bytes of frames that are not written yet."""
COMMIT_OVERHEAD = 2**18
"""Bytes that HDF5 may need for its own structures in one commit."""
NO_PAIRS, NO_MULTIPLIERS, NO_NORMALS = np.zeros((0, 2), dtype=np.int64), np.zeros(0), np.zeros((0, 0))
"""Arrays of a frame without contacts."""


@check_arguments
class Writer:
    """A trajectory file that grows during a run, can be read meanwhile, and survives a killed process.

    Frames are collected, and written after half a second or a few megabytes. The first `acknowledged` frames are then
    safe if the process ends, but not if the machine does: the writer does not wait for the disk.

    Parameters
    ----------
    path : str or path
        Name of the new file, .vtkhdf.
    shape : tuple of int
        Shape of q.
    contacts : bool, default False
        Whether contacts are stored.
    dtype : float32 or float64, default float32
        Precision of positions and velocities.
    facts : Facts, optional
        Facts about the problem. None: unknown.
    about : mapping of str to str
        Notes to store in the file.

    Attributes
    ----------
    acknowledged : int
        Number of frames that are written.
    acknowledged_steps : int
        Number of step records that are written.
    broken : bool
        Whether a write failed; nothing more can be written then.

    Raises
    ------
    FileIsThere
        If the file exists already.
    NoSuchFile
        If its folder does not exist.
    WriteFailed
        If the file cannot be created.

    Examples
    --------
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

        self.path = Path(path)
        create_trajectory(self.path, tuple(int(k) for k in shape), contacts, dtype, facts, about)
        self._start(0, 0, new=True)

    @classmethod
    def reopen(cls, path: str | os.PathLike[str], frames: int, steps: int) -> Self:
        """Continue a file after some of its frames; the rest is removed.

        Parameters
        ----------
        path : str or path
            Name of the file.
        frames : int
            Number of first frames to keep.
        steps : int
            Number of first step records to keep.

        Returns
        -------
        Writer
            The writer of the file.

        Raises
        ------
        InvalidValue
            If the file has fewer frames or records.
        FileInUse
            If another writer has the file open.
        BrokenFile
            If the file is damaged.
        """
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
                frame_index.trim(self._file, frames, steps)
            self._prepare(frames, steps)
        except BaseException as error:
            self._let_go()
            if isinstance(error, HDF5_ERRORS) and not isinstance(error, JostleError):
                raise BrokenFile(f"{self.path} cannot be continued: {reason(error)}") from None
            raise

    def _check(self, frames: int, steps: int) -> None:
        """Refuse a file that has fewer frames or step records."""
        with reading(self.path, alone=True) as file:
            said = headers.looked_over(file)
        if not (0 <= frames <= said.frames and 0 <= steps <= said.steps):
            raise InvalidValue(
                f"{self.path} has {said.frames} frames and {said.steps} step records: it cannot be continued after "
                f"{frames} and {steps}"
            )

    def _prepare(self, frames: int, steps: int) -> None:
        """Find the position of the next frame."""
        file, names = self._file, headers.names(headers.header(self._file))
        headers.say_status(file, "running")
        data = {name: file[name] for name in names}
        self._data, self._safe = {k: v.id for k, v in data.items()}, {k: int(v.shape[0]) for k, v in data.items()}
        """Lengths of the data sets with all acknowledged rows."""
        self._room = COMMIT_OVERHEAD + sum(math.prod(one.chunks) * one.dtype.itemsize for one in data.values())
        self._pending, self._last = Pending(file, data, frames), time.monotonic()
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
        """Add a frame.

        Parameters
        ----------
        t : float
            Time of the frame.
        q : array_like, of the shape of q
            Positions; NaN for absent bodies.
        u : array_like, of the shape of q
            Velocities.
        radii : float or array_like, shape (n,), default 0.0
            Radii of the bodies.
        pairs : array_like of int, shape (m, 2), optional
            Bodies in contact, as in `Solution`. Default: no contacts.
        multipliers : array_like, shape (m,), optional
            Multipliers of the contacts.
        normals : array_like, shape (m, d), optional
            Normals of the contacts.
        duration : float, default nan
            Time over which the multipliers acted; NaN if unknown.
        walls : sequence of Shape, default ()
            Shapes of the walls at this time, see `jostle.sets.shapes`.

        Raises
        ------
        InvalidValue
            If an array has the wrong shape, or the file is closed.
        WriteFailed
            If the file cannot be written.
        """
        self._check_open()
        self._pending.add_frame(t, duration, (q, u, radii, pairs, multipliers, normals), walls)
        self.commit_if_due()

    def steps(self, records: ArrayLike) -> None:
        """Add statistics of steps.

        Parameters
        ----------
        records : array_like of `STATISTICS` records
            One record, or several.

        Raises
        ------
        InvalidValue
            If the records do not have the fields of `STATISTICS`, or the file is closed.
        WriteFailed
            If the file cannot be written.
        """
        self._check_open()
        try:
            given = np.atleast_1d(np.asarray(records, dtype=STATISTICS))
        except (TypeError, ValueError) as error:
            fields = ", ".join(STATISTICS.names or ())
            raise InvalidValue(f"records must have the fields {fields}: {error}") from None
        self._pending.add(STEPS, as_stored(given))
        self.commit_if_due()

    def note(self, change: Mapping[str, Any]) -> None:
        """Record a change of the run as JSON; see `jostle.io.changes`.

        Parameters
        ----------
        change : mapping
            The change, in types that JSON can store.

        Raises
        ------
        WriteFailed
            If the file cannot be written.
        """
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
        """Commit, and give the file another name, replacing an existing file of that name.

        Parameters
        ----------
        path : path
            The new name.
        """
        self.commit()
        os.replace(self.path, path)
        self.path = path

    def commit_if_due(self) -> None:
        """Commit if half a second has passed since the last commit, or a few megabytes are pending."""
        if self._pending.bytes > MAX_PENDING_BYTES or time.monotonic() - self._last > COMMIT_INTERVAL:
            self.commit()

    def commit(self) -> None:
        """Write everything that was added."""
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
            headers.say(self._file, pending.frames + len(pending), safe[STEPS])
        except HDF5_ERRORS as error:
            raise self._failed(error) from None
        pending.written()
        self._safe, self.acknowledged, self.acknowledged_steps = safe, pending.frames, safe[STEPS]

    def close(self, status: str = "finished") -> None:
        """Commit, write the status of the run and close the file; a closed or failed file is left unchanged.

        Parameters
        ----------
        status : str, default "finished"
            Status of the run.

        Raises
        ------
        WriteFailed
            If the file cannot be written.
        """
        if self._file is None:
            return
        self.commit()
        try:
            headers.say_status(self._file, status)
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
        """Whether a write failed; nothing more can be written then."""
        return self._failure is not None

    def _append(self, name: str, blocks: list[NDArray[Any]]) -> int:
        """Write after the acknowledged rows, so that an interrupted commit can be repeated; return the new length."""
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
            raise InvalidValue(f"{self.path} is closed; use Writer.reopen to continue it")

    def _failed(self, error: BaseException, untouched: bool = False) -> WriteFailed:
        """Close the file, and say which frames are safe."""
        self._failure = WriteFailed(
            f"{self.path} cannot be written: {reason(error)}. Its first {self.acknowledged} frames are safe and can be "
            f"read. Free disk space, or use another disk, and resume from the last checkpoint"
        )
        self._failure.frames = self.acknowledged
        if untouched:
            with suppress(*HDF5_ERRORS):
                headers.say_status(self._file, "failed")
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
