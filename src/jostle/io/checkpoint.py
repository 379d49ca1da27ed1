"""Checkpoints: all that a run needs to go on to the same bits, in one file that is always whole.

A checkpoint is an .npz of float64 arrays, written under another name, synced, and renamed: what is there under its name
was written completely, whenever the process or the machine stopped. No pickle is written or read.
"""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from jostle.arguments import check_arguments
from jostle.arrays import Array
from jostle.errors import (
    BrokenFile,
    FileIsThere,
    InvalidValue,
    JostleError,
    NoSuchFile,
    WriteFailed,
)
from jostle.io.checkpoint_contents import Contents, arrays, check_inside
from jostle.io.container import whole
from jostle.io.identity import describe, differences, digest, listed
from jostle.kernels.threads import threads
from jostle.past import Remembers
from jostle.schemes.base import Scheme
from jostle.schemes.state import State

FORMAT = 3
"""Version of the format of checkpoints."""
CHANGEABLE = ("t", "every", "until", "strict", "threads", "device")
"""What may change when a run is resumed."""
NOT_RECORDED = "not recorded"
"""Stands for an argument that an older checkpoint does not hold."""
ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
"""The address of an object in memory, which differs in each process."""
MAX_TITLE = 160
"""Largest number of characters of a description in an error."""
REMEDY = (
    "resume with what the run began with (only t, every, until and strict may change), or start a new run with another "
    "checkpoint"
)
"""What to do if a checkpoint belongs to another run."""


class Position(NamedTuple):
    """Where a run stands."""

    state: State
    step: int
    """Number of steps done."""
    status: str
    """How well the steps were solved: 'finished', 'not converged' or 'budget'."""
    frames: int
    """Number of frames in the output."""
    records: int
    """Number of records of steps in the output."""
    random: str = ""
    """The state of the random generator, as JSON."""
    noted: Mapping[str, Any] = {}
    """What the condition `until`, the problem and the changes remember, by name; see `jostle.past`."""
    gap: float = np.nan
    """The smallest gap at the state; inf where no contact is near."""
    within: Any = None
    """What the admissible set remembers."""


class Run:
    """What identifies a run: `fixed` must be the same when it is resumed, `free` may change."""

    def __init__(
        self, problem: Any, scheme: Scheme, change: Any, start: float, h: Array, free: dict[str, Any], random: Any
    ):
        self.sizes = h
        things = {"scheme": scheme, "problem": problem, "change": change}
        self.titles = {name: ADDRESS.sub("", repr(thing)) for name, thing in things.items()}
        self.fixed = {name: describe(thing, random) for name, thing in things.items()}
        self.fixed["start"] = {"": repr(start)}
        told = free | {"threads": threads()}
        self.free = {name: _free(name, told[name], random) for name in CHANGEABLE}

    def text(self, done: int) -> str:
        """The description of the run that a checkpoint keeps after `done` steps, as JSON."""
        return json.dumps({"titles": self.titles, "fixed": self._fixed(done), "free": self.free})

    def _fixed(self, done: int) -> dict[str, dict[str, str]]:
        """With the steps done: those that are not done yet may change."""
        if self.sizes.ndim == 0:
            return self.fixed | {"h": {"": repr(float(self.sizes))}}
        if len(self.sizes) < done:
            return self.fixed | {"h": {"": f"{len(self.sizes)} steps"}}
        return self.fixed | {"h": {"": f"{done} steps {digest(self.sizes[:done].tobytes())}"}}

    def difference(self, kept: dict[str, Any], done: int) -> str:
        """In what the run of a checkpoint differs from this one, in words; empty if it does not."""
        now = self._fixed(done)
        words = []
        for name in ("h", "start", "scheme", "problem", "change"):
            changed = differences(kept["fixed"].get(name, {}), now[name])
            if not changed:
                continue
            before, after = (str(titles.get(name, ""))[:MAX_TITLE] for titles in (kept["titles"], self.titles))
            if name in ("h", "start"):
                words.append(f"{name} was {changed[0][1]}, now it is {changed[0][2]}")
            elif before != after:
                words.append(f"{name} was {before}, now it is {after} ({listed(changed, _was)})")
            else:
                words.append(f"{name} was {before} and is another one now: {listed(changed, _was)}")
        return "; ".join(words)

    def changes(self, kept: dict[str, Any]) -> dict[str, list[str]]:
        """{name: [old, new]} of what may change and did."""
        before = {name: str(kept["free"].get(name, NOT_RECORDED)) for name in CHANGEABLE}
        return {name: [before[name], self.free[name]] for name in CHANGEABLE if before[name] != self.free[name]}


def _was(place: str, old: str, new: str) -> str:
    return f"{place or 'it'} was {old}, now {new}"


def _free(name: str, value: Any, random: Any) -> str:
    if name != "until" or value is None:
        return repr(value)
    return f"{getattr(value, '__name__', type(value).__name__)} {digest(describe(value, random))}"


@check_arguments
@dataclass(eq=False)
class Checkpoint:
    """Where to keep the state of a run, and how often: every `seconds` seconds, and at the end.

    `random` is a generator that the forces or changes of the run draw from: its state is kept and put back. A
    checkpoint of another run is replaced only with `overwrite`.

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
    overwrite: bool = False
    _last: float = field(default_factory=time.monotonic, repr=False)

    def __post_init__(self) -> None:
        if not self.seconds >= 0.0:
            raise InvalidValue(f"seconds must not be negative, it is {self.seconds}")

    def due(self) -> bool:
        """Is it time for the next one?"""
        return time.monotonic() - self._last >= self.seconds

    def check_free(self, run: Run) -> None:
        """`FileIsThere` if a new run must not replace what is there under this name."""
        path = Path(self.path)
        if not os.path.lexists(path):
            return
        try:
            kept = Contents(path, read_whole(path))
            different = run.difference(kept.json("run"), kept.count("step"))
        except JostleError as error:
            raise FileIsThere(
                f"{path} is there already and is not replaced ({error}): remove it, or choose another name"
            ) from None
        if different and not self.overwrite:
            raise FileIsThere(
                f"{path} is the checkpoint of another run ({different}): choose another name, remove it, or ask for "
                f"it to be overwritten"
            )

    def clear(self) -> None:
        """Remove the checkpoint that a new run replaces: it does not belong to the new trajectory."""
        if self.overwrite:
            Path(self.path).unlink(missing_ok=True)

    def save(self, run: Run, position: Position) -> None:
        """Replace the checkpoint by this one; `run` says of which run."""
        state = position.state
        values: dict[str, Any] = {
            "format": FORMAT, "run": run.text(position.step), "step": position.step, "status": position.status,
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
            values |= _kept(state.memory, "memory")
        for name, memory in position.noted.items():
            if memory is not None:
                values |= _kept(memory, name)
        if position.within is not None:
            values |= _kept(position.within, "within")
        if self.random is not None:
            values["random"] = position.random
        values["names"] = " ".join(sorted(values))
        write_whole(Path(self.path), values)
        self._last = time.monotonic()

    def drawn(self) -> str:
        """The state of the random generator, as JSON."""
        return "" if self.random is None else json.dumps(self.random.bit_generator.state, default=_listed)

    def load(
        self, run: Run, problem: Any, scheme: Scheme, past: Mapping[str, Remembers]
    ) -> tuple[Position, dict[str, list[str]]]:
        """The position that was saved, and what changed: {name: [old, new]}.

        The position must be of the same run, and its state one of the problem. `past` is what remembers something.
        """
        path = Path(self.path)
        kept = Contents(path, read_whole(path))
        step, frames, records = (kept.count(name) for name in ("step", "frames", "records"))
        different = run.difference(kept.json("run"), step)
        if different:
            raise InvalidValue(f"{path} belongs to another run: {different}; {REMEDY}")
        random = kept.text("random") if "random" in kept else ""
        if self.random is not None:
            if not random:
                raise InvalidValue(f"{path} was written without a random generator: leave out random=")
            _put_back(self.random, random, path)
        state, gap = kept.state(problem, scheme), kept.number("gap", finite=False)
        noted = {name: kept.remembered(name, thing, name) for name, thing in past.items()}
        for name, thing in past.items():  # the set may depend on it: doors that are open or closed
            try:
                thing.remind(noted[name])
            except InvalidValue as error:
                raise BrokenFile(f"{path} is damaged, in the memory of the {name}: {error}") from None
        check_inside(path, problem, state, gap)
        within = kept.within(problem)
        position = Position(state, step, kept.text("status"), frames, records, random, noted, gap, within)
        return position, run.changes(kept.json("run"))


def _put_back(random: np.random.Generator, state: str, path: Path) -> None:
    try:
        random.bit_generator.state = json.loads(state)
    except (ValueError, TypeError, KeyError) as error:
        raise BrokenFile(f"{path} is damaged: it holds no state of this random generator: {error}") from None


def _listed(value: Any) -> Any:
    """Arrays in the state of a generator, as lists."""
    return value.tolist()


def _kept(memory: Any, where: str) -> dict[str, Any]:
    """The fields of what a scheme, a condition or a set remembers."""
    fields = memory._asdict() if hasattr(memory, "_asdict") else {"": None}
    if any(np.asarray(value).dtype.kind not in "biuf" for value in fields.values()):
        owner = "this scheme" if where == "memory" else f"the {where}"
        raise InvalidValue(
            f"a checkpoint cannot hold the memory of {owner}, {type(memory).__name__}: it must be a NamedTuple of "
            f"numbers and arrays, named in its `remembers`"
        )
    return {f"{where}.{name}": value for name, value in fields.items()}


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
    if not os.path.lexists(path):
        raise NoSuchFile(f"there is no checkpoint {path}; start the run without resume")
    kept = arrays(path)
    version = kept.get("format", np.zeros(()))
    if version.shape != () or version.dtype.kind not in "iu" or int(version) != FORMAT:
        raise BrokenFile(f"{path} is not a checkpoint of this version ({FORMAT}): start the run again without resume")
    return kept
