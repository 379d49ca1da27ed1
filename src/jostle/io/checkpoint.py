"""Checkpoints: all that a run needs to go on to the same bits, in one file that is always whole.

A checkpoint is an .npz of float64 arrays, written under another name, synced, and renamed: what is there under its name
was written completely, whenever the process or the machine stopped. No pickle is written or read.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from jostle.arrays import Array
from jostle.errors import BrokenFile, InvalidValue, NoSuchFile, WriteFailed
from jostle.io.checkpoint_contents import Contents, arrays, check_inside
from jostle.io.container import whole
from jostle.schemes.base import Scheme, State

FORMAT = 2


class Position(NamedTuple):
    """Where a run stands."""

    state: State
    step: int
    """Steps done."""
    saved: int
    """How often a multiple of `every` was reached."""
    status: str
    frames: int
    """Frames and records of steps in the output."""
    records: int
    gap: float
    """The smallest gap at the state; inf where no contact is near."""


@dataclass(eq=False)
class Checkpoint:
    """Where to keep the state of a run, and how often: after so many seconds, and at the end.

    `random` is a generator that the forces or changes of the run draw from: its state is kept and put back.

    >>> import jostle as jo, tempfile
    >>> ball = jo.Motion(q0=[1.0], force=[-10.0], within=jo.HalfSpace([1.0]))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "ball.checkpoint"
    ...     half = jo.solve(ball, jo.Maury(), t=0.5, h=0.01, checkpoint=file)
    ...     rest = jo.solve(ball, jo.Maury(), t=1.0, h=0.01, checkpoint=file, resume=True)
    >>> whole = jo.solve(ball, jo.Maury(), t=1.0, h=0.01)
    >>> bool((rest.q[-1] == whole.q[-1]).all()), float(rest.t[0])
    (True, 0.5)
    """

    path: str | os.PathLike[str]
    seconds: float = 60.0
    random: np.random.Generator | None = None
    _last: float = field(default_factory=time.monotonic, repr=False)

    def __post_init__(self) -> None:
        if not self.seconds >= 0.0:
            raise InvalidValue(f"seconds must not be negative, it is {self.seconds}")

    def due(self) -> bool:
        """Is it time for the next one?"""
        return time.monotonic() - self._last >= self.seconds

    def save(self, run: str, position: Position) -> None:
        """Replace the checkpoint by this one; `run` says of which run it is."""
        state = position.state
        values: dict[str, Any] = {
            "format": FORMAT, "run": run, "step": position.step, "saved": position.saved, "status": position.status,
            "frames": position.frames, "records": position.records, "t": state.t, "q": state.q, "u": state.u,
            "multipliers": state.multipliers, "overshoot": state.overshoot, "duration": state.duration,
            "gap": position.gap,
        }  # fmt: skip
        if state.contacts is not None:
            values |= {"pairs": state.contacts.pairs, "normals": state.contacts.normals}
        if state.presence is not None:
            there = state.presence
            values |= {"codes": there.codes, "aside": there.aside, "start": there.start}
            values["entered"] = np.array(there.entered, dtype=np.int64).reshape(-1, 2)
        if state.memory is not None:
            values |= _kept(state.memory)
        if self.random is not None:
            values["random"] = json.dumps(self.random.bit_generator.state)
        write_whole(Path(self.path), values)
        self._last = time.monotonic()

    def load(self, run: str, problem: Any, scheme: Scheme) -> Position:
        """The position that was saved; it must be of the same run, and a state of the problem."""
        path = Path(self.path)
        kept = Contents(path, read_whole(path))
        if kept.text("run") != run:
            raise InvalidValue(f"{path} belongs to another run: {_difference(kept.text('run'), run)}")
        if self.random is not None:
            if "random" not in kept:
                raise InvalidValue(f"{path} was written without a random generator: leave out random=")
            _put_back(self.random, kept.text("random"), path)
        state = kept.state(problem, scheme)
        check_inside(path, problem, state, kept.number("gap", finite=False))
        counts = [kept.count(name) for name in ("step", "saved", "frames", "records")]
        step, saved, frames, records = counts
        return Position(state, step, saved, kept.text("status"), frames, records, kept.number("gap", finite=False))


def _put_back(random: np.random.Generator, state: str, path: Path) -> None:
    try:
        random.bit_generator.state = json.loads(state)
    except (ValueError, TypeError, KeyError) as error:
        raise BrokenFile(f"{path} is damaged: it holds no state of this random generator: {error}") from None


def _kept(memory: Any) -> dict[str, Any]:
    """The fields of what a scheme remembers."""
    fields = memory._asdict() if hasattr(memory, "_asdict") else {"": None}
    if any(np.asarray(value).dtype.kind not in "biuf" for value in fields.values()):
        raise InvalidValue(
            f"a checkpoint cannot hold the memory of this scheme, {type(memory).__name__}: it must be a NamedTuple of "
            f"numbers and arrays, named in the scheme's `remembers`"
        )
    return {f"memory.{name}": value for name, value in fields.items()}


def name_of_run(problem: Any, scheme: Scheme, t0: float, h: Any) -> str:
    """By which a checkpoint knows its run: what must be the same for the same bits."""
    sizes = np.asarray(h, dtype=float)
    parts = {
        "scheme": repr(scheme),
        "h": repr(float(sizes)) if sizes.ndim == 0 else f"{len(sizes)} steps {_digest(sizes)}",
        "start": repr(t0),
        "problem": f"{problem!r} from {_digest(problem.q0)} {_digest(getattr(problem, 'v0', problem.q0))}",
    }
    return json.dumps(parts)


def _digest(array: Array) -> str:
    return hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()[:12]


def _difference(kept: str, now: str) -> str:
    """Which parts differ, in words."""
    after = json.loads(now)
    try:
        before = dict(json.loads(kept))
    except (ValueError, TypeError):
        before = {}
    different = [name for name in after if before.get(name) != after[name]]
    return "; ".join(f"{name} was {before.get(name)}, now it is {after[name]}" for name in different)


def write_whole(path: Path, values: dict[str, Any]) -> None:
    """Write an .npz so that under its name there is the old one or the new one, and never a part."""
    try:
        with whole(path) as new, open(new, "wb") as file:
            np.savez(file, **values)
            file.flush()
            os.fsync(file.fileno())
        _sync_folder(path.parent)
    except WriteFailed as error:
        raise WriteFailed(
            f"the checkpoint {error}. The one before, if there was one, is still there; make room on the disk, or take "
            f"another one, and resume"
        ) from None


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
    if not path.exists():
        raise NoSuchFile(f"there is no checkpoint {path}; start the run without resume")
    kept = arrays(path)
    version = kept.get("format", np.zeros(()))
    if version.shape != () or version.dtype.kind not in "iu" or int(version) != FORMAT:
        raise BrokenFile(f"{path} is not a checkpoint of this version ({FORMAT}): start the run again without resume")
    return kept
