"""Checkpoints: files from which a run is resumed with a result that is bit-identical to an uninterrupted run.

A checkpoint is an uncompressed .npz file of float64 arrays, written under a temporary name, synced, and renamed: the
file under its name is always complete, whenever the process or the machine stopped.

Reading is checked, since a file may be damaged or of unknown origin. Nothing in it is unpickled. An array is allocated
only if the file has its bytes. A state is accepted only if its shapes are those of the problem, its numbers are finite,
and its overlap is not deeper than that of the saved state.
"""

from __future__ import annotations

import json
import math
import os
import re
import struct
import time
import zipfile
from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from jostle._tools.arrays import Array, Integers
from jostle._tools.rotations import AXES
from jostle.errors import BrokenFile, FileIsThere, InvalidValue, JostleError, NoSuchFile, WriteFailed
from jostle.io.identity import Run
from jostle.io.new_files import reason, whole
from jostle.pose import Pose
from jostle.problems import Motion, Remembers
from jostle.result.recording import Closing, impact_type_of, smallest_gap
from jostle.schemes.base import Scheme
from jostle.schemes.gluey import Glue
from jostle.schemes.moreau_jean import Depth
from jostle.schemes.paoli import Memory
from jostle.schemes.state import Impulses, State
from jostle.sets.presence import GONE, WAITING, Presence

READ_ERRORS = (
    OSError, ValueError, TypeError, EOFError, LookupError, RuntimeError, OverflowError, struct.error,
    zipfile.BadZipFile,
)  # fmt: skip
"""What reading a zip file of unknown origin may raise: RuntimeError, for example, if it is marked as encrypted."""
HEADER = re.compile(
    rb"\x93NUMPY\x01\x00..\{'descr': '([<>|][biufU][0-9]{1,9})', 'fortran_order': (True|False), "
    rb"'shape': \(([0-9, ]*)\), \} *\n",
    re.DOTALL,
)
"""How an array in an .npz file begins: its type, order and shape. NumPy would take any Python literal as its header."""
MAX_ENTRIES = 1000
"""Largest number of arrays in a checkpoint."""
OVERLAP_TOLERANCE = 1e-9
"""A state may overlap deeper than the saved one by this fraction of its size, because machines round differently."""


class Remembered(NamedTuple):
    """The contacts of the last step, from whose impulses the next projection starts."""

    pairs: Integers
    normals: Array


def arrays(path: Path) -> dict[str, Any]:
    """The arrays of an .npz file; pickled or compressed arrays, or arrays larger than the file, are refused."""
    try:
        if not path.is_file():
            raise BrokenFile(f"{path} is not a regular file and therefore not a checkpoint")
        with open(path, "rb") as opened, zipfile.ZipFile(opened) as archive:
            entries, size = archive.infolist(), path.stat().st_size
            if len(entries) > MAX_ENTRIES or sum(entry.file_size for entry in entries) > size:
                raise BrokenFile(
                    f"{path} is refused: it declares more than {MAX_ENTRIES} arrays, or more bytes than it has"
                )
            if any(entry.compress_type != zipfile.ZIP_STORED for entry in entries):
                raise BrokenFile(f"{path} is refused: it is compressed, which checkpoints never are")
            if any(entry.compress_size != entry.file_size for entry in entries):
                raise BrokenFile(f"{path} is damaged: its arrays have two sizes")
            return {entry.filename.removesuffix(".npy"): _array(archive, entry) for entry in entries}
    except BrokenFile:
        raise
    except READ_ERRORS as error:
        raise BrokenFile(f"{path} is not a checkpoint, or is damaged: {error}") from None


def _array(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> Any:
    content = archive.read(entry)
    header = HEADER.match(content)
    if header is None:
        raise ValueError(f"{entry.filename} is no array of numbers or letters; objects are refused")
    dtype, lengths = np.dtype(header[1].decode()), header[3].decode()
    shape, size = tuple(int(length) for length in lengths.split(",") if length.strip()), len(content) - header.end()
    if math.prod(shape) * dtype.itemsize != size:
        raise ValueError(f"{entry.filename} declares shape {shape}, but has {size} bytes")
    array = np.frombuffer(content, dtype, offset=header.end())
    array = array.reshape(shape, order="F" if header[2] == b"True" else "C").copy()
    if dtype.kind == "U":
        str(array)  # raises a ValueError if a number is no letter
    return array


class Contents:
    """The arrays of a checkpoint by name; missing or unexpected arrays raise `BrokenFile`."""

    def __init__(self, path: Path, kept: Mapping[str, Any]) -> None:
        self.path, self.kept = path, kept
        for name in self.text("names").split():
            self._found(name)

    def __contains__(self, name: str) -> bool:
        return name in self.kept

    def text(self, name: str) -> str:
        """A string."""
        found = self._found(name)
        if found.shape != () or found.dtype.kind != "U":
            raise self._wrong(name, "a string")
        return str(found)

    def run(self) -> dict[str, Any]:
        """The description of the run: tables `titles`, `fixed`, `free` and `values`, written as JSON."""
        try:
            found = json.loads(self.text("run"))
            early, now = found["values"]["early"], found["values"]["now"]
            [float(t) for t in early]
            tables = [*(found[part] for part in ("titles", "fixed", "free")), *found["fixed"].values(), *early.values()]
            if all(isinstance(table, dict) for table in [*tables, now]):
                for one in (one for values in [*early.values(), now] for one in values.values()):
                    [float(number) for number in one if not isinstance(one, str)]
                return dict(found)
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError, OverflowError):
            pass
        raise self._wrong("run", "the description of a run")

    def number(self, name: str, *, finite: bool = True) -> float:
        """A number; with finite=False it may be infinite or NaN."""
        found = self._found(name)
        if found.shape != () or found.dtype.kind not in "iuf" or (finite and not np.isfinite(found)):
            raise self._wrong(name, "a finite number" if finite else "a number")
        return float(found)

    def count(self, name: str) -> int:
        """A whole number that is not negative."""
        found = self._found(name)
        if found.shape != () or found.dtype.kind not in "iu" or found < 0:
            raise self._wrong(name, "a whole number that is not negative")
        return int(found)

    def array(self, name: str, shape: tuple[int | None, ...], *, kind: str = "f") -> Any:
        """An array of finite numbers of a shape, in which None stands for any length."""
        found = self._found(name)
        fits = len(found.shape) == len(shape) and all(
            length in (None, here) for length, here in zip(shape, found.shape, strict=True)
        )
        if not fits or found.dtype.kind not in kind or not np.isfinite(found).all():
            what = "finite numbers" if kind == "f" else "whole numbers"
            raise self._wrong(name, f"{what} of shape {tuple('any' if k is None else k for k in shape)}")
        return found.astype(np.int64 if kind == "i" else float)

    def state(self, problem: Any, scheme: Scheme) -> State:
        """The state, whose arrays must have the shapes of the problem."""
        shape = problem.q0.shape
        p = self.array("multipliers", (None,))
        contacts: Any = None
        if "pairs" in self:
            pairs = self.array("pairs", (len(p), 2), kind="i")
            if not _between_balls(pairs, _balls(problem)):
                raise self._wrong("pairs", "contacts of bodies of the problem")
            contacts = Remembered(pairs, self.array("normals", (len(p), None)))
        elif len(p):
            raise self._wrong("multipliers", "empty, since there are no pairs")
        start, impulses = problem.pose0.orientation, Impulses(p)
        if start is not None and contacts is not None:
            d = shape[-1]
            impulses = Impulses(p, self.array("tangential", (len(p), d)), self.array("rolling", (len(p), AXES[d])))
        orientation = None if start is None else self.array("orientation", start.shape)
        return State(
            self.number("t"), Pose(problem.bodies, self.array("q", shape), orientation),
            self.array("w", problem.w0.shape), None, contacts, impulses, self._memory(scheme, shape, _balls(problem)),
            self.number("overshoot"), self._presence(shape), self.number("impulse_time", finite=False),
        )  # fmt: skip

    def _presence(self, shape: tuple[int, ...]) -> Presence | None:
        if "codes" not in self:
            return None
        codes = self.array("codes", shape[:1], kind="i")
        if len(codes) and not WAITING <= codes.min() <= codes.max() <= GONE:
            raise self._wrong("codes", f"numbers from {WAITING} to {GONE}")
        entered = tuple((int(source), int(count)) for source, count in self.array("entered", (None, 2), kind="i"))
        return Presence(codes, self.array("aside", shape), self.number("start"), entered)

    def closing(self, problem: Any, state: State) -> Closing | None:
        """What the log of impacts remembers; None for a first-order problem."""
        if not isinstance(problem, Motion):
            return None
        kind, places, balls = impact_type_of(state), _seen_by_sets(problem), _balls(problem)
        rows = np.ascontiguousarray(self.array("closing.open", (None, kind.itemsize // 8), kind="i"))
        opened, value = rows.view(kind).reshape(len(rows)), self.array("closing.value", (None,))
        touching = self.array("closing.touching", (None, 2), kind="i")
        drift = self.array("closing.drift", (len(rows),))
        row, column = (self.array(f"closing.{name}", value.shape, kind="i") for name in ("row", "column"))
        h = self.number("closing.h")
        q = self.array("closing.q", places.shape if h else (0,))
        fits = h >= 0.0 and _between_balls(touching, balls) and _between_balls(opened["pair"], balls)
        fits = fits and all(np.isfinite(opened[name]).all() for name in kind.names or ())
        for numbers, most in ((row, len(rows)), (column, places.size)):
            fits = fits and 0 <= numbers.min(initial=0) <= numbers.max(initial=0) < max(most, 1)
        if not fits:
            raise BrokenFile(f"{self.path} is damaged: what it remembers of impacts does not fit the problem")
        return Closing(touching, q, h, opened, drift, row, column, value)

    def remembered(self, where: str, kind: Any, title: str) -> Any:
        """The memory of a scheme, a condition or a set, as a NamedTuple of this kind; None if there is none.

        A resumed run may have another condition `until`; if it remembers other things, it starts without a memory.
        """
        fields = {name.removeprefix(f"{where}."): self.kept[name] for name in self.kept if name.startswith(f"{where}.")}
        if not fields:
            return None
        expected = getattr(kind, "_fields", None)
        if expected is None or set(fields) != set(expected):
            if where == "until":
                return None
            raise BrokenFile(
                f"{self.path} is damaged, or of another run: {title} remembers {expected}, the file contains "
                f"{sorted(fields)}"
            )
        for name, value in fields.items():
            if value.dtype.kind not in "biuf" or not np.isfinite(value).all():
                raise self._wrong(f"{where}.{name}", "finite numbers")
        return kind(**{name: value if value.ndim else value.item() for name, value in fields.items()})

    def _memory(self, scheme: Scheme, shape: tuple[int, ...], balls: int) -> Any:
        """The memory of the scheme: arrays with the shape of q, or lists of contacts of this many balls."""
        memory = self.remembered("memory", scheme.memory_type, type(scheme).__name__)
        if memory is not None and not _fits(memory, shape, balls):
            raise BrokenFile(
                f"{self.path} is damaged: the memory of {type(scheme).__name__} does not fit q of shape {shape}"
            )
        return memory

    def _found(self, name: str) -> Any:
        if name not in self.kept:
            raise BrokenFile(f"{self.path} is damaged: the checkpoint has no {name!r}")
        return self.kept[name]

    def _wrong(self, name: str, expected: str) -> BrokenFile:
        found = self.kept.get(name)
        is_now = "" if found is None else f", not {found.dtype} of shape {found.shape}"
        return BrokenFile(f"{self.path} is damaged: {name!r} must be {expected}{is_now}")


def _seen_by_sets(problem: Any) -> Array:
    """The start as sets see it: the centres of all balls."""
    centres: Array = problem.pose0.centres
    return centres


def _balls(problem: Any) -> int:
    """The most balls that contacts can be between: one for each row of (n, d) places, or for each coordinate."""
    places = _seen_by_sets(problem)
    return len(places) if places.ndim == 2 else places.size


def _between_balls(pairs: Integers, balls: int) -> bool:
    """Whether pairs name so many balls at most; (-1, k) stands for a constraint k, and (i, -1 - k) for a wall."""
    first, second = pairs.T
    return bool(((first >= -1) & (first < balls) & ((first < 0) | (second < balls))).all())


def _fits(memory: Any, shape: tuple[int, ...], balls: int) -> bool:
    """Whether the memory of a scheme of jostle has the right shapes; other schemes cannot be checked."""
    if isinstance(memory, Memory):
        arrays_fit = all(np.shape(x) == shape for x in (memory.before, memory.z, memory.shift, memory.v_older))
        return arrays_fit and np.ndim(memory.h) == np.ndim(memory.h_older) == 0 and min(memory.h, memory.h_older) > 0.0
    if isinstance(memory, Glue | Depth):
        pairs, values = map(np.asarray, memory[:2])
        if values.ndim != 1 or pairs.shape != (len(values), 2) or pairs.dtype.kind != "i":
            return False
        return _between_balls(pairs.astype(np.int64), balls)
    return True


def check_inside(path: Path, problem: Any, state: State, saved: float) -> None:
    """Refuse a state that overlaps deeper than the saved one, because q or the problem was changed."""
    gap = smallest_gap(problem, state)
    size = float(np.abs(state.q).max(initial=0.0)) + problem.bodies.largest
    if np.isnan(saved) or gap < min(saved, 0.0) - OVERLAP_TOLERANCE * size:
        raise BrokenFile(
            f"{path} is damaged, or of another problem: q overlaps by {max(0.0, -gap):.3g} at t = {state.t:g}, but the "
            f"saved state by {max(0.0, -saved):.3g}"
        )


FORMAT = 4
"""Version of the format of checkpoints."""


def write_whole(path: Path, values: dict[str, Any], *, trial: bool = False) -> None:
    """Write an .npz file; its name always refers to a complete file, the old one or the new one. A trial is removed."""
    try:
        with whole(path, trial=trial) as new, open(new, "wb") as file:
            np.savez(file, **values)
            file.flush()
            os.fsync(file.fileno())
        _sync_folder(path.parent)
    except WriteFailed as error:
        raise WriteFailed(f"the checkpoint {error}. Free disk space, or use another disk") from None


def _sync_folder(folder: Path) -> None:
    """Wait until the new name is on the disk, where folders can be opened."""
    if os.name != "posix":
        return
    number = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)


def read_whole(path: Path) -> dict[str, Any]:
    """The arrays of a checkpoint."""
    if not os.path.lexists(path):
        raise NoSuchFile(f"there is no checkpoint {path}; start the run without resume=True")
    kept = arrays(path)
    version = kept.get("format", np.zeros(()))
    if version.shape != () or version.dtype.kind not in "iu" or int(version) != FORMAT:
        raise BrokenFile(
            f"{path} is not a checkpoint of format {FORMAT}, which this version reads: start again without resume=True"
        )
    return kept


REMEDY = (
    "resume with the original arguments (only t, every, until and strict may change), or start a new run with another "
    "checkpoint"
)
"""Advice in errors about a checkpoint that belongs to another run."""


class Position(NamedTuple):
    """The position of a run: its state, the counts of its output, and what its parts remember."""

    state: Any
    """The state of bodies, or of a density."""
    step: int
    """Number of steps done."""
    status: str
    """How well the steps were solved: 'finished', 'not converged' or 'budget'."""
    frames: int
    """Number of frames in the output; `records` is that of step records."""
    records: int
    random: str = ""
    """State of the random generator, as JSON."""
    noted: Mapping[str, Any] = {}
    """What the condition `until`, the problem and the changes remember, by name; see `jostle.problems`."""
    gap: float = np.nan
    """Smallest gap of the state; infinite where no contact is near."""
    impacts: int = 0
    """Number of impacts in the output."""
    closing: Closing | None = None
    """What the log of impacts remembers; None in a run without impacts."""
    frame_checksum: int = 0
    """Checksum of the last frame in the output, by which its file is recognised; 0 without a file."""


@dataclass(eq=False)
class Checkpoint:
    """The checkpoint of a run, with the options of its `Output`."""

    path: Path
    seconds: float
    random: np.random.Generator | None
    overwrite: bool
    written: bool = field(init=False, default=False)
    """Whether the file contains a position of this run."""
    _last: float = field(init=False, default_factory=time.monotonic)

    def due(self) -> bool:
        """Whether it is time for the next checkpoint."""
        return time.monotonic() - self._last >= self.seconds

    def check_free(self, run: Run, past: Mapping[str, Remembers], state_in: Callable[[Contents], Any]) -> None:
        """Refuse the file of another run, or one that is not a checkpoint; `past` is reminded of other things."""
        path = self.path
        if not path.parent.is_dir():  # or the error would come with the first checkpoint
            raise NoSuchFile(f"{path} cannot be created: there is no folder {path.parent}")
        if not os.path.lexists(path):
            return
        try:
            kept = Contents(path, read_whole(path))
            different = self._compared(run, kept, past, state_in)[0]
        except JostleError as error:
            raise FileIsThere(
                f"{path} exists already and is not replaced ({error}): remove it, or choose another name"
            ) from None
        if different and not self.overwrite:
            raise FileIsThere(
                f"{path} is the checkpoint of another run ({different}): choose another name, remove it, or "
                f"replace it with --overwrite, in Python Output(..., overwrite=True)"
            )

    def clear(self) -> None:
        """Remove the checkpoint that a new run replaces, because it does not belong to the new trajectory."""
        if self.overwrite:
            try:
                self.path.unlink(missing_ok=True)
            except OSError as error:
                raise WriteFailed(f"the checkpoint {self.path} cannot be replaced: {reason(error)}") from None

    def save(self, run: Run, position: Position, values: Mapping[str, Any], *, trial: bool = False) -> None:
        """Write the checkpoint, replacing the previous one; `values` are the state.

        A trial is written beside it and removed, so that a checkpoint that cannot be written is noticed early.
        """
        told = run.text(position.step, position.state)
        saved: dict[str, Any] = {
            "format": FORMAT, "run": told, "step": position.step, "status": position.status,
            "frames": position.frames, "records": position.records, "impacts": position.impacts,
            "frame_checksum": position.frame_checksum, **values,
        }  # fmt: skip
        for name, memory in position.noted.items():
            if memory is not None:
                saved |= saved_memory(memory, name)
        if self.random is not None:
            saved["random"] = position.random
        saved["names"] = " ".join(sorted(saved))
        write_whole(self.path, saved, trial=trial)
        self.written = self.written or not trial
        self._last = time.monotonic()

    def drawn(self) -> str:
        """The state of the random generator as JSON; empty without one."""
        return "" if self.random is None else json.dumps(self.random.bit_generator.state, default=_listed)

    def load(
        self, run: Run, past: Mapping[str, Remembers], state_in: Callable[[Contents], Any]
    ) -> tuple[Position, Contents]:
        """Read the checkpoint of a run, and restore the random generator and the objects that remember."""
        path = self.path
        kept = Contents(path, read_whole(path))
        step, checksum = kept.count("step"), kept.count("frame_checksum")
        frames, records, impacts = (kept.count(name) for name in ("frames", "records", "impacts"))
        different, state, noted = self._compared(run, kept, past, state_in)
        if different:
            raise InvalidValue(f"{path} belongs to another run: {different}; {REMEDY}")
        random = kept.text("random") if "random" in kept else ""
        if self.random is not None:
            if not random:
                raise InvalidValue(f"{path} was written without a random generator: remove random=")
            _put_back(self.random, random, path)
        self.written = True
        status, counts = kept.text("status"), (frames, records, random, noted)
        found = Position(state, step, status, *counts, impacts=impacts, frame_checksum=checksum)
        return found, kept

    def _compared(
        self, run: Run, kept: Contents, past: Mapping[str, Remembers], state_in: Callable[[Contents], Any]
    ) -> tuple[str, Any, dict[str, Any]]:
        """What differs between a checkpoint and a run, in words, and the state and the memories of the checkpoint."""
        told = kept.run()
        different = run.difference(told, kept.count("step")) or run.other_start(told)
        if different:
            return different, None, {}
        state = state_in(kept)
        noted = {name: kept.remembered(name, thing.memory_type, name) for name, thing in past.items()}
        for name, thing in past.items():  # the admissible set may depend on it, for example on doors that are closed
            try:
                thing.restore(deepcopy(noted[name]))
            except InvalidValue as error:
                raise BrokenFile(f"{kept.path} is damaged: the memory of {name} is invalid: {error}") from None
        return run.other_state(told, state), state, noted


def values_of_bodies(position: Position) -> dict[str, Any]:
    """The state of bodies and its smallest gap, as numbers and arrays by name."""
    state = position.state
    values: dict[str, Any] = {
        "t": state.t, "q": state.q, "w": state.w, "multipliers": state.multipliers, "overshoot": state.overshoot,
        "impulse_time": state.impulse_time, "gap": position.gap, "orientation": state.pose.orientation,
        "tangential": state.impulses.tangential, "rolling": state.impulses.rolling,
    }  # fmt: skip
    values = {name: value for name, value in values.items() if value is not None}
    if state.contacts is not None:
        values |= {"pairs": state.contacts.pairs, "normals": state.contacts.normals}
    if state.presence is not None:
        there = state.presence
        values |= {"codes": there.codes, "aside": there.aside, "start": there.start}
        values["entered"] = np.array(there.entered, dtype=np.int64).reshape(-1, 2)
    if state.memory is not None:
        values |= saved_memory(state.memory, "memory")
    if (closing := position.closing) is not None:
        rows = closing.open.view(np.int64).reshape(len(closing.open), closing.open.dtype.itemsize // 8)
        values |= saved_memory(closing._replace(open=rows), "closing")
    return values


def _put_back(random: np.random.Generator, state: str, path: Path) -> None:
    try:
        random.bit_generator.state = json.loads(state)
    except (ValueError, TypeError, LookupError, OverflowError, RecursionError, AttributeError) as error:
        raise BrokenFile(f"{path} is damaged: it contains no valid state of the random generator: {error}") from None


def _listed(value: Any) -> Any:
    """Arrays in the state of a generator, as lists."""
    return value.tolist()


def saved_memory(memory: Any, where: str) -> dict[str, Any]:
    """The fields of the memory of a scheme, a condition or a set."""
    fields = memory._asdict() if hasattr(memory, "_asdict") else {"": None}
    if any(np.asarray(value).dtype.kind not in "biuf" for value in fields.values()):
        owner = "this scheme" if where == "memory" else f"the {where}"
        raise InvalidValue(
            f"a checkpoint cannot store the memory of {owner}, {type(memory).__name__}: it must be a NamedTuple of "
            f"numbers and arrays, given as its `memory_type`"
        )
    return {f"{where}.{name}": value for name, value in fields.items()}
