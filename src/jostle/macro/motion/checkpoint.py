"""Checkpoints of a moving density: a resumed run is bit-identical to an uninterrupted run."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from jostle.errors import BrokenFile, FileIsThere, InvalidValue, JostleError
from jostle.io.checkpoint import Checkpoint as File
from jostle.io.checkpoint import stored_memory
from jostle.io.checkpoint_contents import Contents
from jostle.io.checkpoint_files import FORMAT, read_whole, write_whole
from jostle.io.run_identity import CHANGEABLE, Called, Run
from jostle.macro.grid import Velocity
from jostle.macro.motion.problems import Crowd, Flow, State
from jostle.macro.motion.result import STATISTICS
from jostle.macro.motion.scheme import Scheme
from jostle.problems import Remembers
from jostle.run.steps import Grid as Steps

FIELDS = ("density", "pressure")
NUMBERS = ("t", "gone", "iterations", "substeps")


class Checkpoint:
    """A checkpoint file, which also stores the problem, the scheme and the steps it belongs to."""

    def __init__(
        self,
        to: str | os.PathLike[str] | File,
        problem: Crowd | Flow,
        scheme: Scheme,
        steps: Steps,
        past: Mapping[str, Remembers],
    ) -> None:
        self.past = past
        self.file = chosen = to if isinstance(to, File) else File(to)
        if chosen.random is not None:
            raise InvalidValue("the run of a density uses no random numbers: remove random= from the checkpoint")
        self.path, self.saved = Path(chosen.path), time.monotonic()
        self.seconds = chosen.seconds
        free = dict.fromkeys(CHANGEABLE)
        called = Called(partial(_functions, problem), past=past.get("velocity"))
        self.steps, self.run = steps, Run(problem, scheme, (), (steps.start, steps.end), steps.sizes, free, called)

    def check_free(self) -> None:
        """Refuse to overwrite another file, and, unless the user asked for it, another run or this one."""
        if not os.path.lexists(self.path):
            return
        try:
            Contents(self.path, read_whole(self.path)).json("run")
        except JostleError as error:
            raise FileIsThere(
                f"{self.path} exists already and is not replaced ({error}): remove it, or choose another name"
            ) from None
        if not self.file.overwrite:
            raise FileIsThere(
                f"{self.path} exists: add resume=True to continue from it, remove it, or use "
                f"jo.io.Checkpoint(path, overwrite=True)"
            )

    def due(self) -> bool:
        return time.monotonic() - self.saved >= self.seconds

    def save(self, run: Any, number: int) -> None:
        """Write the whole run; a failed write loses nothing."""
        states = [*run.frames, run.state]
        kept: dict[str, Any] = {"format": FORMAT, "run": self.run.text(number)}
        kept |= {name: np.stack([getattr(state, name) for state in states]) for name in FIELDS}
        kept |= {name: np.array([getattr(state, name) for state in states]) for name in NUMBERS}
        kept |= {f"velocity{axis}": np.stack([state.velocity[axis] for state in states]) for axis in (0, 1)}
        records = np.array(run.records, dtype=float).reshape(-1, len(STATISTICS.names or ()))
        kept |= {"records": records, "sum": run.pressure, "since": run.since, "step": number}
        for name, memory in run.memories.items():
            if memory is not None:
                kept |= stored_memory(memory, name)
        kept["names"] = " ".join(sorted(kept))
        write_whole(self.path, kept)
        self.saved = time.monotonic()

    def load(self, run: Any) -> int:
        """Restore the run from the file, and return the number of steps done."""
        contents = Contents(self.path, read_whole(self.path))
        done, told = contents.count("step"), contents.json("run")
        other = self.run.difference(told, done) or self.run.other_start(told)
        if other:
            raise InvalidValue(f"{self.path} belongs to another run: {other}; only t, every and until may change")
        (nx, ny), t = run.problem.grid.shape, contents.array("t", (None,))
        if len(t) == 0:
            raise BrokenFile(f"{self.path} is damaged: it has no state")
        self.steps.check_reached(done, float(t[-1]))
        density, pressure = (contents.array(name, (len(t), nx, ny)) for name in FIELDS)
        x, y = (contents.array(f"velocity{k}", (len(t), nx + (k == 0), ny + (k == 1))) for k in (0, 1))
        gone, iterations, substeps = (
            contents.array(name, (len(t),), kind=kind) for name, kind in zip(NUMBERS[1:], "fii", strict=True)
        )
        states = [
            State(
                float(t[k]), density[k], (x[k], y[k]), pressure[k], float(gone[k]), int(iterations[k]), int(substeps[k])
            )
            for k in range(len(t))
        ]
        memories = {name: contents.remembered(name, thing, name) for name, thing in self.past.items()}
        try:
            run.remind(memories)
        except InvalidValue as error:
            raise BrokenFile(f"{self.path} is damaged, in the memory of {' or '.join(memories)}: {error}") from None
        *run.frames, run.state = states
        records = contents.array("records", (None, len(STATISTICS.names or ())))
        run.records = [(*record[:2], int(record[2]), int(record[3]), *record[4:]) for record in records.tolist()]
        run.pressure, run.since = contents.array("sum", (nx, ny)), contents.number("since")
        return done


def _functions(problem: Crowd | Flow, t: float, state: None) -> dict[str, Callable[[], Any]]:
    """The desired velocity of a crowd, which does not depend on the state."""
    if isinstance(problem, Flow) or isinstance(problem.velocity, Velocity):
        return {}
    return {"velocity": lambda: np.concatenate([faces.ravel() for faces in problem.wish(t)])}
