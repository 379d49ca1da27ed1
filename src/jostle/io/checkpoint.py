"""Checkpoints: files from which a run is resumed with a result that is bit-identical to an uninterrupted run.

A checkpoint is an .npz file of float64 arrays, written under a temporary name, synced, and renamed: the file under its
name is always complete, whenever the process or the machine stopped. No pickle is written or read.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from jostle._tools.arguments import check_arguments
from jostle.errors import (
    BrokenFile,
    FileIsThere,
    InvalidValue,
    JostleError,
)
from jostle.io.checkpoint_contents import Contents, check_inside
from jostle.io.checkpoint_files import FORMAT, read_whole, write_whole
from jostle.io.run_identity import Run
from jostle.problems import Remembers
from jostle.schemes.state import State

REMEDY = (
    "resume with the original arguments (only t, every, until and strict may change), or start a new run with another "
    "checkpoint"
)
"""Advice in errors about a checkpoint that belongs to another run."""


class Position(NamedTuple):
    """The position of a run: its state, the counts of its output, and what its parts remember.

    Attributes
    ----------
    state : State
        The state.
    step : int
        Number of steps done.
    status : str
        How well the steps were solved: 'finished', 'not converged' or 'budget'.
    frames : int
        Number of frames in the output.
    records : int
        Number of step records in the output.
    random : str
        State of the random generator, as JSON.
    noted : mapping
        What the condition `until`, the problem and the changes remember, by name; see `jostle.problems`.
    gap : float
        Smallest gap of the state; infinite where no contact is near.
    within : NamedTuple or None
        What the admissible set remembers.
    """

    state: State
    step: int
    status: str
    frames: int
    records: int
    random: str = ""
    noted: Mapping[str, Any] = {}
    gap: float = np.nan
    within: Any = None


@check_arguments
@dataclass(eq=False)
class Checkpoint:
    """A file that stores the state of a run at intervals and at its end, from which the run can be resumed.

    Parameters
    ----------
    path : str or path
        Name of the file.
    seconds : float, default 60.0
        Time between two checkpoints, in seconds, not negative.
    random : numpy.random.Generator, optional
        Generator from which the forces or changes of the run draw; its state is stored and restored. None: no
        generator.
    overwrite : bool, default False
        Whether the checkpoint of another run may be replaced.

    Raises
    ------
    InvalidValue
        If `seconds` is negative.

    Examples
    --------
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
    _last: float = field(init=False, default_factory=time.monotonic, repr=False)

    def __post_init__(self) -> None:
        if not self.seconds >= 0.0:
            raise InvalidValue(f"seconds must not be negative, but is {self.seconds}")

    def due(self) -> bool:
        """Tell whether it is time for the next checkpoint.

        Returns
        -------
        bool
            True if `seconds` have passed since the last one.
        """
        return time.monotonic() - self._last >= self.seconds

    def check_free(self, run: Run, past: Mapping[str, Remembers]) -> None:
        """Check that a new run may use the file name.

        Parameters
        ----------
        run : Run
            Identity of the new run.
        past : mapping of str to Remembers
            Objects that remember something, by name; they must be reminded afterwards.

        Raises
        ------
        FileIsThere
            If the file exists and is not a checkpoint, or is that of another run and `overwrite` is false.
        """
        path = Path(self.path)
        if not os.path.lexists(path):
            return
        try:
            kept = Contents(path, read_whole(path))
            different = self._compared(run, kept, past)[0]
        except JostleError as error:
            raise FileIsThere(
                f"{path} exists already and is not replaced ({error}): remove it, or choose another name"
            ) from None
        if different and not self.overwrite:
            raise FileIsThere(
                f"{path} is the checkpoint of another run ({different}): choose another name, remove it, or use "
                f"jo.io.Checkpoint(path, overwrite=True)"
            )

    def clear(self) -> None:
        """Remove the checkpoint that a new run replaces, because it does not belong to the new trajectory."""
        if self.overwrite:
            Path(self.path).unlink(missing_ok=True)

    def save(self, run: Run, position: Position) -> None:
        """Write the checkpoint, replacing the previous one.

        Parameters
        ----------
        run : Run
            Identity of the run.
        position : Position
            Position of the run.

        Raises
        ------
        WriteFailed
            If the file cannot be written; the previous checkpoint is kept.
        InvalidValue
            If the memory of a scheme, a condition or a set is not a NamedTuple of numbers and arrays.
        """
        state = position.state
        values: dict[str, Any] = {
            "format": FORMAT, "run": run.text(position.step, state), "step": position.step, "status": position.status,
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
            values |= stored_memory(state.memory, "memory")
        for name, memory in position.noted.items():
            if memory is not None:
                values |= stored_memory(memory, name)
        if position.within is not None:
            values |= stored_memory(position.within, "within")
        if self.random is not None:
            values["random"] = position.random
        values["names"] = " ".join(sorted(values))
        write_whole(Path(self.path), values)
        self._last = time.monotonic()

    def drawn(self) -> str:
        """Return the state of the random generator.

        Returns
        -------
        str
            The state as JSON; empty without a generator.
        """
        return "" if self.random is None else json.dumps(self.random.bit_generator.state, default=_listed)

    def load(self, run: Run, past: Mapping[str, Remembers]) -> tuple[Position, dict[str, list[str]]]:
        """Read the checkpoint of a run, and restore the random generator and the objects that remember.

        Parameters
        ----------
        run : Run
            Identity of the run; it must be the same.
        past : mapping of str to Remembers
            Objects that remember something, by name.

        Returns
        -------
        position : Position
            The position that was saved.
        changes : dict of str to list
            The settings that changed: {name: [old, new]}.

        Raises
        ------
        NoSuchFile
            If there is no checkpoint.
        InvalidValue
            If the checkpoint belongs to another run.
        BrokenFile
            If the checkpoint is damaged, or of another version.
        """
        path = Path(self.path)
        kept = Contents(path, read_whole(path))
        step, frames, records = (kept.count(name) for name in ("step", "frames", "records"))
        different, state, noted = self._compared(run, kept, past)
        if different:
            raise InvalidValue(f"{path} belongs to another run: {different}; {REMEDY}")
        random = kept.text("random") if "random" in kept else ""
        if self.random is not None:
            if not random:
                raise InvalidValue(f"{path} was written without a random generator: remove random=")
            _put_back(self.random, random, path)
        assert state is not None
        gap = kept.number("gap", finite=False)
        check_inside(path, run.problem, state, gap)
        within = kept.within(run.problem)
        position = Position(state, step, kept.text("status"), frames, records, random, noted, gap, within)
        return position, run.changes(kept.json("run"))

    def _compared(
        self, run: Run, kept: Contents, past: Mapping[str, Remembers]
    ) -> tuple[str, State | None, dict[str, Any]]:
        """What differs between a checkpoint and a run, in words, and the state and the memories of the checkpoint."""
        told = kept.json("run")
        different = run.difference(told, kept.count("step")) or run.other_start(told)
        if different:
            return different, None, {}
        state = kept.state(run.problem, run.scheme)
        noted = {name: kept.remembered(name, thing, name) for name, thing in past.items()}
        for name, thing in past.items():  # the admissible set may depend on it, for example on doors that are closed
            try:
                thing.remind(deepcopy(noted[name]))
            except InvalidValue as error:
                raise BrokenFile(f"{kept.path} is damaged: the memory of {name} is invalid: {error}") from None
        return run.other_state(told, state), state, noted


def _put_back(random: np.random.Generator, state: str, path: Path) -> None:
    try:
        random.bit_generator.state = json.loads(state)
    except (ValueError, TypeError, KeyError) as error:
        raise BrokenFile(f"{path} is damaged: it contains no valid state of the random generator: {error}") from None


def _listed(value: Any) -> Any:
    """Arrays in the state of a generator, as lists."""
    return value.tolist()


def stored_memory(memory: Any, where: str) -> dict[str, Any]:
    """The fields of the memory of a scheme, a condition or a set."""
    fields = memory._asdict() if hasattr(memory, "_asdict") else {"": None}
    if any(np.asarray(value).dtype.kind not in "biuf" for value in fields.values()):
        owner = "this scheme" if where == "memory" else f"the {where}"
        raise InvalidValue(
            f"a checkpoint cannot store the memory of {owner}, {type(memory).__name__}: it must be a NamedTuple of "
            f"numbers and arrays, given as its `remembers`"
        )
    return {f"{where}.{name}": value for name, value in fields.items()}
