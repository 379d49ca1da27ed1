"""Files of frames that grow during a run: trajectories of bodies (`jostle.io.trajectory`) and images of densities.

Frames are collected, and appended to the data sets after half a second or a few megabytes. First the rows are written
and flushed, then the numbers of valid frames and step records: a process that is killed at any moment leaves a file
whose valid frames are complete. The next writer overwrites the rows behind them. Space on the disk is reserved before
the frames of a write are computed, so that none is lost when the disk becomes full, and the file is still whole then.
Where there is no space for a whole write, each frame is written at once.

All of these files have the attribute NSteps of /VTKHDF/Steps, the number of valid frames, and the group /jostle, which
only jostle reads:

    about      the notes of the writer about the run, as JSON
    steps      one record per step of the run, each with a checksum
    changes    lines of JSON, one for each time the run was resumed with changed settings
    run        attributes: the status of the run, the numbers of valid step records, of valid impacts and of valid bytes
               of changes
"""

from __future__ import annotations

import json
import math
import os
import time
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, ClassVar, NamedTuple, Self

import h5py
import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin
from numpy.typing import ArrayLike, DTypeLike, NDArray

from jostle._tools.arrays import Array, Integers
from jostle.errors import BrokenFile, FileIsThere, InvalidValue, JostleError, NoSuchFile, WriteFailed
from jostle.io.hdf5 import (
    HDF5_ERRORS,
    LIBRARY_VERSION,
    MAX_UNWRITTEN,
    SIZE,
    abandon,
    check_size,
    clear_flags,
    data_set,
    inside,
    mended,
    of_records,
    of_rows,
    reading,
    reserve,
    rows,
    rows_within,
    superblock,
    trim_reserved,
    writing,
)
from jostle.io.new_files import Lock, being_written, beside, create, discard, publish, reason, refuse_existing
from jostle.result.status import FAILED, RUNNING

COMMIT_INTERVAL = 0.5
"""Largest time until frames are written, in seconds."""
MAX_PENDING_BYTES = 4 * 2**20
"""Largest number of bytes of frames that are not written yet."""
COMMIT_OVERHEAD = 2**18
"""Bytes that HDF5 may need for its own structures in one commit."""
FRAME_CHUNK = 512
"""Number of rows per chunk of data sets with one row per frame or step."""
STATUS = np.dtype("S64")
"""Type of the saved status of a run."""
STEPS = "jostle/steps"
"""Data set of the step records."""
IMPACTS = "jostle/impacts"
"""Data set of the impacts, which only trajectories of second-order problems have."""
RECORD_CHECK = "checksum"
"""Field of the checksum of a record."""
ABOUT = "jostle/about"
"""Data set of UTF-8 bytes: the notes of the writer about the run, as JSON. HDF5 keeps attributes with texts in
a heap without checksums, and one wrong bit in it makes HDF5 read for ever."""
CHECKS = "jostle/checksums"
"""Data set with a row of checksums for each frame."""
CHANGES = "jostle/changes"
"""Data set of UTF-8 bytes: one line of JSON per resume with changed settings."""
CHANGES_CHUNK = 1024
"""Number of bytes per chunk of the changes."""


class Counts(NamedTuple):
    """The numbers of first frames, step records and impacts of a file."""

    frames: int = 0
    steps: int = 0
    impacts: int = 0


def create_file(path: Path, fill: Callable[[Any], None]) -> None:
    """Create a file that `fill` fills: first in memory, then under a temporary name, then under its own."""
    refuse_existing(path)
    with h5py.File(path, "w", driver="core", backing_store=False, libver=LIBRARY_VERSION) as file:
        fill(file)
        file.flush()
        image = file.id.get_file_image()
    new = beside(path)
    try:
        create(new, mended(image[:SIZE], len(image)) + image[SIZE:])
        publish(new, path)
    except FileNotFoundError:
        raise NoSuchFile(f"{path} cannot be created: there is no folder {path.parent}") from None
    except JostleError:
        raise
    except OSError as error:
        raise WriteFailed(f"{path} cannot be created: {reason(error)}") from None
    finally:
        discard(new)


def create_data(file: Any, name: str, dtype: DTypeLike, row: tuple[int, ...], chunk: int, **more: Any) -> None:
    """Create an empty data set that grows, with rows of a shape."""
    file.create_dataset(name, shape=(0, *row), dtype=dtype, maxshape=(None, *row), chunks=(chunk, *row), **more)


def create_run(file: Any, statistics: np.dtype[Any], about: Mapping[str, str]) -> Any:
    """Create the parts that all files have, and return the attributes of the run."""
    file["VTKHDF/Steps"].attrs["NSteps"] = np.int64(0)
    create_data(file, STEPS, record_type(statistics), (), FRAME_CHUNK)
    create_data(file, CHANGES, np.uint8, (), CHANGES_CHUNK)
    run = file.create_group("jostle/run").attrs
    run["status"] = np.array(b"running", dtype=STATUS)
    run["steps"], run["impacts"], run["changes"] = np.int64(0), np.int64(0), np.int64(0)
    texts = {str(name): str(text) for name, text in about.items()}
    for name, text in texts.items():
        try:
            (name + text).encode()
        except UnicodeEncodeError as error:
            raise InvalidValue(f"about[{name!r}] cannot be stored as text: {error}") from None
    saved = np.frombuffer(json.dumps(texts).encode(), dtype=np.uint8)
    made = file.create_dataset(ABOUT, data=saved, maxshape=(None,), chunks=saved.shape)
    made.attrs[RECORD_CHECK] = np.uint32(of_rows(saved))
    return run


def record_type(kind: np.dtype[Any]) -> np.dtype[Any]:
    """The type of a record in a file: strings in ASCII, and a checksum."""
    fields = [(name, kind[name]) for name in kind.names or ()]
    text = [(name, f"S{kind.itemsize // 4}" if kind.kind == "U" else kind) for name, kind in fields]
    return np.dtype([*text, (RECORD_CHECK, "u4")])


def as_saved(given: NDArray[Any]) -> NDArray[Any]:
    """Records as they are saved."""
    saved = np.zeros(len(given), dtype=record_type(given.dtype))
    for name in given.dtype.names or ():
        text = given.dtype[name].kind == "U"
        saved[name] = np.strings.encode(given[name], "ascii", "replace") if text else given[name]
    saved[RECORD_CHECK] = of_records(saved)  # computed with the checksum field set to 0
    return saved


def steps_in(file: Any, statistics: np.dtype[Any] | None = None) -> Any:
    """The data set of the step records, after checks of its type; None: of numbers by any names."""
    found = data_set(file, STEPS)
    kinds = [found.dtype[name].kind for name in found.dtype.names or ()]
    if found.dtype != record_type(statistics) if statistics is not None else set(kinds) - set("biuf") or not kinds:
        raise BrokenFile(f"{file.filename} is damaged: {STEPS} does not contain step records")
    return found


def read_steps(file: Any, count: int, statistics: np.dtype[Any] | None = None) -> NDArray[Any]:
    """The records of the first steps, after comparison with their checksums."""
    return read_records(file, steps_in(file, statistics), 0, count, statistics, "step")


def read_records(
    file: Any, data: Any, start: int, count: int, kind: np.dtype[Any] | None, title: str
) -> NDArray[Any]:  # fmt: skip
    """Some records of a data set, after comparison with their checksums; `kind` is their type in memory, if known."""
    saved = rows(file, data, start, count)
    checks = saved[RECORD_CHECK].copy()
    saved[RECORD_CHECK] = 0
    wrong = of_records(saved) != checks
    if wrong.any():
        number = start + int(np.argmax(wrong)) + 1
        raise BrokenFile(f"{file.filename} is damaged: the record of {title} {number} does not match its checksum")
    known = kind or np.dtype([(name, saved.dtype[name]) for name in saved.dtype.names if name != RECORD_CHECK])
    found = np.empty(len(saved), dtype=known)
    for name in known.names or ():
        found[name] = saved[name]
    return found


def counts(file: Any) -> Counts:
    """The numbers of valid frames, step records and impacts."""
    run = inside(file, "jostle/run").attrs
    found = Counts(int(inside(file, "VTKHDF/Steps").attrs["NSteps"]), int(run["steps"]), int(run["impacts"]))
    if min(found) < 0:
        raise BrokenFile(f"{file.filename} is damaged: it declares {found}")
    return found


def status_of(file: Any) -> str:
    """The status of the run."""
    return str(inside(file, "jostle/run").attrs["status"].decode(errors="replace"))


def say(file: Any, valid: Counts) -> None:
    """Write the numbers of valid frames, step records and impacts, after all data."""
    file.flush()
    run = file["jostle/run"].id
    h5py.h5a.open(file["VTKHDF/Steps"].id, b"NSteps").write(np.array([valid.frames]))
    h5py.h5a.open(run, b"steps").write(np.array([valid.steps]))
    h5py.h5a.open(run, b"impacts").write(np.array([valid.impacts]))
    file.flush()


def say_status(file: Any, status: str) -> None:
    """Write the status."""
    h5py.h5a.open(file["jostle/run"].id, b"status").write(np.array([status.encode()], dtype=STATUS))


def note(file: Any, text: str) -> None:
    """Add a line to the changes: write the bytes, then the number of valid bytes."""
    run = file["jostle/run"]
    block, start = np.frombuffer(text.encode() + b"\n", dtype=np.uint8), int(run.attrs["changes"])
    file[CHANGES].resize(start + len(block), axis=0)
    file[CHANGES][start:] = block
    file.flush()
    h5py.h5a.open(run.id, b"changes").write(np.array([start + len(block)]))
    file.flush()


def notes(file: Any) -> list[dict[str, Any]]:
    """The changes of the run, the oldest first."""
    length = int(inside(file, "jostle/run").attrs["changes"])
    if length == 0:
        return []
    try:
        saved = rows(file, data_set(file, CHANGES, np.uint8), 0, length)
        return [dict(json.loads(line)) for line in saved.tobytes().decode().splitlines()]
    except ValueError as error:
        raise BrokenFile(f"{file.filename} is damaged: its changes cannot be read ({error})") from None


def frame_checksum(file: Any, frames: int) -> int:
    """A number by which a frame is recognised: the checksum of all checksums of the last one of some first frames."""
    return int(of_rows(rows(file, data_set(file, CHECKS, np.uint32, None), frames - 1, 1)))


def no_frame(file: Any, path: Path) -> BrokenFile:
    """The error about a file without frames."""
    status = status_of(file)
    if being_written(path):
        return BrokenFile(f"{path} contains no frame yet: its run is in progress")
    if status == RUNNING:
        return BrokenFile(f"{path} contains no frame: its run was killed before it saved one; start it again")
    return BrokenFile(f"{path} contains no frame (its status is {status!r})")


def about_run(file: Any) -> dict[str, str]:
    """The notes of the writer about the run, as they were when it began."""
    found = data_set(file, ABOUT, np.uint8)
    saved = rows(file, found, 0, len(found))
    try:
        if of_rows(saved) != int(found.attrs[RECORD_CHECK]):
            raise ValueError("they do not match their checksum")
        return {str(name): str(text) for name, text in dict(json.loads(saved.tobytes())).items()}
    except (ValueError, TypeError, KeyError) as error:
        raise BrokenFile(f"{file.filename} is damaged: its notes about the run cannot be read ({error})") from None


class Pending:
    """Rows that were added to the data sets of a file but not written yet."""

    def __init__(self, data: Mapping[str, Any], frames: int) -> None:
        """`data` are the data sets of a file by name, cut to its first `frames` frames."""
        self.blocks: dict[str, list[NDArray[Any]]] = {name: [] for name in data}
        self.frames, self.added, self.bytes = frames, 0, 0
        """Numbers of frames in the file, of frames that are not written yet, and of bytes that are not written yet."""
        self._length = {name: int(one.shape[0]) for name, one in data.items()}
        """Lengths of the data sets, including added rows."""

    def add(self, name: str, values: NDArray[Any]) -> int:
        """Add rows to a data set, and return the position of the first row."""
        at = self._length[name]
        self.blocks[name].append(values)
        self._length[name] = at + len(values)
        self.bytes += values.nbytes
        return at

    def add_tables(self) -> None:
        """Set the rows of the data sets with one row per frame; the call may be repeated."""

    def written(self) -> None:
        """Note that all rows are in the file."""
        self.frames += self.added
        self.blocks = {name: [] for name in self.blocks}
        self.added, self.bytes = 0, 0


class GrowingFile:
    """A file of frames that grows during a run, can be read meanwhile, and survives a killed process.

    A subclass says which data sets grow, and adds rows to `_pending`.
    """

    constant: ClassVar[tuple[str, ...]] = ()
    """Data sets with one row per frame that contain only their fill values."""
    statistics: np.dtype[Any]
    """Type of the step records."""
    path: Path
    acknowledged: int
    acknowledged_steps: int
    scarce: bool
    """Whether the disk has no space for all frames of the next commit, so that each is written at once."""

    @classmethod
    def reopen(cls, path: str | os.PathLike[str], frames: int, steps: int, impacts: int = 0) -> Self:
        """Continue a file after some of its frames; the rest is removed.

        Parameters
        ----------
        path : str or path
            Name of the file.
        frames : int
            Number of first frames to keep.
        steps : int
            Number of first step records to keep.
        impacts : int, default 0
            Number of first impacts to keep.

        Returns
        -------
        Writer
            The writer of the file.

        Raises
        ------
        FileInUse
            If another writer has the file open.
        BrokenFile
            If the file is damaged.
        """
        writer = cls.__new__(cls)
        writer.path = Path(path)
        writer._start(Counts(frames, steps, impacts))
        return writer

    @classmethod
    def data_sets(cls, file: Any) -> dict[str, Any]:
        """The data sets that grow with the frames, after checks of the header, of their types and of their storage."""
        raise NotImplementedError

    @classmethod
    def lengths(cls, file: Any, kept: Counts) -> dict[str, int]:
        """Lengths of the data sets for given numbers of frames, step records and impacts."""
        raise NotImplementedError

    def _rows(self, data: Mapping[str, Any], frames: int) -> Pending:
        """Where the rows of new frames are collected."""
        return Pending(data, frames)

    def frame_checksum(self, frames: int) -> int:
        """A number by which this run's frame is recognised: the checksum of the last one of some first frames."""
        return frame_checksum(self._file, frames)

    @classmethod
    def look_over(cls, file: Any) -> Counts:
        """The numbers of frames, step records and impacts, after reading all tables of HDF5 once.

        With damaged tables, HDF5 would block a writer for ever.
        """
        for found in cls.data_sets(file).values():
            check_size(file, found, len(found), spare=MAX_UNWRITTEN)  # counting chunks takes long for large sizes
            found.id.get_num_chunks()
        return counts(file)

    @classmethod
    def whole(cls, file: Any, length: int) -> Counts:
        """The numbers of first frames, step records and impacts all of which are within the first bytes of a file."""
        frames, steps, impacts = counts(file)
        there = {name: rows_within(data, length) for name, data in cls.data_sets(file).items()}

        def lost(count: int) -> bool:
            try:
                return any(there[name] < wanted for name, wanted in cls.lengths(file, Counts(count)).items())
            except BrokenFile:  # the tables of these frames are missing
                return True

        first = bisect_left(range(1, frames + 1), True, key=lost)
        return Counts(first, min(steps, there[STEPS]), min(impacts, there.get(IMPACTS, 0)))

    @classmethod
    def trim(cls, file: Any, kept: Counts) -> None:
        """Keep only the first frames, step records and impacts; the counts are changed before the data."""
        wanted, data = cls.lengths(file, kept), cls.data_sets(file)
        say(file, kept)
        for name, length in wanted.items():
            found = data[name]
            if len(found) < length:
                raise BrokenFile(f"{file.filename} is damaged: {name} has {len(found)} of {length} entries")
            if len(found) > length:
                found.resize(length, axis=0)
        file.flush()

    def _start(self, kept: Counts, *, new: bool = False) -> None:
        superblock(self.path)
        self._lock = Lock(self.path)
        self._file: Any = None
        self._failure: JostleError | None = None
        try:
            if not new:
                self._check(kept)
                clear_flags(self.path)
            self._file = writing(self.path)
            if not new:
                self.trim(self._file, kept)
            self._prepare(kept)
        except BaseException as error:
            self._let_go()
            if isinstance(error, HDF5_ERRORS) and not isinstance(error, JostleError):
                raise BrokenFile(f"{self.path} cannot be continued: {reason(error)}") from None
            raise

    def _check(self, kept: Counts) -> None:
        """Refuse a file that has fewer frames, step records or impacts."""
        with reading(self.path, alone=True) as file:
            found = self.look_over(file)
        if not all(0 <= wanted <= there for wanted, there in zip(kept, found, strict=True)):
            raise InvalidValue(
                f"{self.path} has {found.frames} frames, {found.steps} step records and {found.impacts} impacts: it "
                f"cannot be continued after {kept.frames}, {kept.steps} and {kept.impacts}"
            )

    def _prepare(self, kept: Counts) -> None:
        """Find the position of the next frame."""
        file = self._file
        say_status(file, "running")
        data = self.data_sets(file)
        self._data, self._safe = {k: v.id for k, v in data.items()}, {k: int(v.shape[0]) for k, v in data.items()}
        """Lengths of the data sets with all acknowledged rows."""
        self._room = COMMIT_OVERHEAD + sum(math.prod(one.chunks) * one.dtype.itemsize for one in data.values())
        self._pending, self._last = self._rows(data, kept.frames), time.monotonic()
        self.acknowledged, self.acknowledged_steps = kept.frames, kept.steps
        self._reserve_next()

    def _reserve_next(self) -> None:
        """Reserve the space of all frames of the next commit, before they are computed."""
        try:
            reserve(self._lock.descriptor, MAX_PENDING_BYTES + self._room)
            self.scarce = False
        except OSError:
            self.scarce = True

    def steps(self, records: ArrayLike) -> None:
        """Add statistics of steps.

        Parameters
        ----------
        records : array_like of `STATISTICS` records
            One record, or several.
        """
        self._add_records(STEPS, self.statistics, records)

    def _add_records(self, name: str, kind: np.dtype[Any], records: ArrayLike) -> None:
        """Add one or several records of a type to a data set."""
        self._check_open()
        try:
            given = np.atleast_1d(np.asarray(records, dtype=kind))
        except (TypeError, ValueError) as error:
            raise InvalidValue(f"records must have the fields {', '.join(kind.names or ())}: {error}") from None
        self._pending.add(name, as_saved(given))
        self.commit_if_due()

    def note(self, change: Mapping[str, Any]) -> None:
        """Save a change of the run as a line of JSON."""
        self._check_open()
        text = json.dumps(change)
        try:
            reserve(self._lock.descriptor, len(text) + self._room)
            note(self._file, text)
        except HDF5_ERRORS as error:
            if isinstance(error, JostleError):
                raise
            raise self._failed(error) from None

    def rename(self, path: Path) -> None:
        """Commit, and give the file another name, replacing an existing file of that name."""
        self.commit()
        os.replace(self.path, path)
        self.path = path

    def commit_if_due(self) -> None:
        """Commit if half a second has passed since the last commit, a few megabytes are pending, or space is scarce."""
        long_ago = time.monotonic() - self._last > COMMIT_INTERVAL
        if self.scarce or long_ago or self._pending.bytes > MAX_PENDING_BYTES:
            self.commit()

    def commit(self) -> None:
        """Write everything that was added, and check that the file still has its name.

        Raises
        ------
        NoSuchFile
            If another program removed or renamed the file meanwhile.
        FileIsThere
            If another program replaced the file meanwhile; the other file is kept.
        """
        self._check_open()
        self._last = time.monotonic()
        if self._pending.bytes or self._pending.added:
            self._write_pending()
        self._check_name()

    def _write_pending(self) -> None:
        pending = self._pending
        if pending.added:
            pending.add_tables()
        try:
            reserve(self._lock.descriptor, pending.bytes + self._room)
        except OSError as error:
            raise self._failed(error, untouched=True) from None
        try:
            safe = {name: self._append(name, blocks) for name, blocks in pending.blocks.items()}
            say(self._file, Counts(pending.frames + pending.added, safe[STEPS], safe.get(IMPACTS, 0)))
        except HDF5_ERRORS as error:
            raise self._failed(error) from None
        pending.written()
        self._safe, self.acknowledged, self.acknowledged_steps = safe, pending.frames, safe[STEPS]
        self._reserve_next()

    def close(self, status: str = "finished") -> None:
        """Commit, write the status of the run and close the file; a closed or failed file is left unchanged.

        Parameters
        ----------
        status : str, default "finished"
            Status of the run.

        Raises
        ------
        NoSuchFile, FileIsThere
            If another program removed, renamed or replaced the file meanwhile; see `commit`.
        """
        if self._file is None:
            return
        self.commit()
        try:
            self._finish(status)
        except HDF5_ERRORS as error:
            raise self._failed(error) from None
        self._lock.release()

    def _finish(self, status: str) -> None:
        """Write the status, and close the file."""
        say_status(self._file, status)
        self._file.close()
        self._file = None
        trim_reserved(self._lock.descriptor)

    def _check_name(self) -> None:
        """End the run if its file has lost its name, where nobody would look for its frames."""
        try:
            if os.path.samestat(os.fstat(self._lock.descriptor), os.stat(self.path)):
                return
            self._failure = FileIsThere(
                f"{self.path} was replaced by another program while this run wrote it: it is kept"
            )
        except FileNotFoundError:
            self._failure = NoSuchFile(
                f"{self.path} was removed or renamed while this run wrote it: the run ends. Its first "
                f"{self.acknowledged} frames are in the renamed file, if there is one"
            )
        except OSError:  # of a file system that does not answer now
            return
        with suppress(*HDF5_ERRORS):
            self._finish(FAILED)
        self._let_go()
        raise self._failure

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
        if name in self.constant:
            data.set_extent((self._pending.frames + self._pending.added,))
        count = sum(len(block) for block in blocks)
        if count == 0:
            return old
        new = np.ascontiguousarray(np.concatenate(blocks) if len(blocks) > 1 else blocks[0])
        data.set_extent((old + count, *data.shape[1:]))
        space = data.get_space()
        space.select_hyperslab((old, *(0 for _ in data.shape[1:])), new.shape)
        data.write(h5py.h5s.create_simple(new.shape), space, new)
        return old + count

    def _check_open(self) -> None:
        if self._failure:
            raise self._failure
        if self._file is None:
            raise InvalidValue(f"{self.path} is closed; use Writer.reopen to continue it")

    def _failed(self, error: BaseException, untouched: bool = False) -> WriteFailed:
        """Close the file, and say which frames are safe."""
        safe = f"Its first {self.acknowledged} frames are safe and can be read"
        failure = WriteFailed(
            f"{self.path} cannot be written: {reason(error)}. {safe if self.acknowledged else 'It has no frame'}. Free "
            f"disk space, or use another disk"
        )
        self._failure, failure.frames = failure, self.acknowledged
        if untouched:
            with suppress(*HDF5_ERRORS):
                self._finish(FAILED)
        self._let_go()
        return failure

    def _let_go(self) -> None:
        if self._file is not None:
            abandon(self._file)
        self._file = None
        self._lock.release()


class LazyArray(NDArrayOperatorsMixin):
    """(frames, ...): an array that stays in its file; it can be indexed, iterated, or converted to a NumPy array.

    Arithmetic and functions of NumPy read all of it.

    A subclass reads some frames.
    """

    dtype = np.dtype(float)
    block = 1
    """Number of frames that are read at once in an iteration."""

    def __init__(self, path: Path, shape: tuple[int, ...]) -> None:
        self.path, self.shape = path, shape
        self.ndim, self.size = len(shape), int(np.prod(shape))

    def frames(self, numbers: Integers) -> Array:
        """(k, ...): the values in these ascending frames."""
        raise NotImplementedError

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, index: Any) -> Any:
        head, *rest = (index or (Ellipsis,)) if isinstance(index, tuple) else (index,)
        if head is None or head is Ellipsis or (np.ndim(head) > 1 and np.asarray(head).dtype == bool):
            return np.asarray(self)[index]
        chosen = np.arange(len(self))[head]
        numbers, place = np.unique(chosen, return_inverse=True)
        values = self.frames(numbers)
        if isinstance(head, slice):
            return values[(slice(None, None, -1 if (head.step or 1) < 0 else 1), *rest)]
        return values[(place.reshape(np.shape(chosen)) if np.ndim(chosen) else 0, *rest)]

    def __iter__(self) -> Iterator[Array]:
        for start in range(0, len(self), self.block):
            yield from self[start : start + self.block]

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        return getattr(ufunc, method)(*(np.asarray(x) if isinstance(x, LazyArray) else x for x in inputs), **options)

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        if copy is False:
            raise ValueError("an array in a file cannot be converted without a copy")
        return np.asarray(self[:], dtype=dtype)
