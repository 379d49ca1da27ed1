"""Checkpoints of a moving density: a resumed run is bit-identical to an uninterrupted run."""

from __future__ import annotations

import json
import os
import time
import zipfile
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from jostle.errors import BrokenFile, InvalidValue
from jostle.io.checkpoint import Checkpoint as File
from jostle.io.checkpoint import stored_memory
from jostle.io.checkpoint_contents import Contents
from jostle.io.run_identity import CHANGEABLE, Called, Run
from jostle.macro.motion.problems import Crowd, Flow
from jostle.macro.motion.scheme import Scheme
from jostle.macro.motion.state import State
from jostle.macro.velocity import Velocity
from jostle.past import Remembers
from jostle.steps import Grid as Steps

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
        chosen = to if isinstance(to, File) else File(to)
        if chosen.random is not None:
            raise InvalidValue("the run of a density uses no random numbers: remove random= from the checkpoint")
        self.path, self.saved = Path(chosen.path), time.monotonic()
        self.seconds, self.overwrite = chosen.seconds, chosen.overwrite
        free = dict.fromkeys(CHANGEABLE)
        called = Called(partial(_functions, problem), past=past.get("velocity"))
        self.steps, self.run = steps, Run(problem, scheme, (), (steps.start, steps.end), steps.sizes, free, called)

    def check_free(self) -> None:
        """Refuse to overwrite another run."""
        if self.path.exists() and not self.overwrite:
            raise InvalidValue(f"{self.path} exists: add resume=True to continue from it, or remove it to start again")

    def due(self) -> bool:
        return time.monotonic() - self.saved >= self.seconds

    def save(self, run: Any, number: int) -> None:
        """Write the whole run to a temporary file and rename it, so that a failed write loses nothing."""
        states = [*run.frames, run.state]
        kept: dict[str, Any] = {"run": self.run.text(number)}
        kept |= {name: np.stack([getattr(state, name) for state in states]) for name in FIELDS}
        kept |= {name: np.array([getattr(state, name) for state in states]) for name in NUMBERS}
        kept |= {f"velocity{axis}": np.stack([state.velocity[axis] for state in states]) for axis in (0, 1)}
        records = np.array(run.records, dtype=float) if run.records else np.zeros((0, 8))
        kept |= {"records": records, "sum": run.pressure, "since": run.since, "number": number}
        for name, memory in run.memories.items():
            if memory is not None:
                kept |= stored_memory(memory, name)
        kept["names"] = " ".join(sorted(kept))
        beside = self.path.with_name(self.path.name + ".part")
        with beside.open("wb") as file:
            np.savez(file, **kept)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(self.path)
        self.saved = time.monotonic()

    def load(self, run: Any) -> int:
        """Restore the run from the file, and return the number of steps done."""
        if not self.path.exists():
            raise InvalidValue(f"{self.path} does not exist: start the run without resume=True")
        try:
            with np.load(self.path, allow_pickle=False) as kept:
                found = {name: kept[name] for name in kept.files}
        except (OSError, ValueError, zipfile.BadZipFile) as error:
            raise BrokenFile(f"{self.path} is not a checkpoint, or is damaged: {error}") from None
        if not {"run", "names"} <= found.keys():
            raise BrokenFile(f"{self.path} is not a checkpoint of a density, or is of an older version: remove it")
        done = int(found["number"])
        told = json.loads(str(found["run"]))
        other = self.run.difference(told, done) or self.run.other_start(told)
        if other:
            raise InvalidValue(f"{self.path} belongs to another run: {other}; only t, every and until may change")
        self.steps.check_reached(done, float(found["t"][-1]))
        states = [
            State(
                float(found["t"][k]), found["density"][k], (found["velocity0"][k], found["velocity1"][k]),
                found["pressure"][k], float(found["gone"][k]), int(found["iterations"][k]), int(found["substeps"][k]),
            )
            for k in range(len(found["t"]))
        ]  # fmt: skip
        contents = Contents(self.path, found)
        memories = {name: contents.remembered(name, thing, name) for name, thing in self.past.items()}
        try:
            run.remind(memories)
        except InvalidValue as error:
            raise BrokenFile(f"{self.path} is damaged, in the memory of {' or '.join(memories)}: {error}") from None
        *run.frames, run.state = states
        run.records = [
            (*record[:2], int(record[2]), int(record[3]), *record[4:]) for record in found["records"].tolist()
        ]
        run.pressure, run.since = found["sum"], float(found["since"])
        return done


def _functions(problem: Crowd | Flow, t: float, state: None) -> dict[str, Callable[[], Any]]:
    """The desired velocity of a crowd, which does not depend on the state."""
    if isinstance(problem, Flow) or isinstance(problem.velocity, Velocity):
        return {}
    return {"velocity": lambda: np.concatenate([faces.ravel() for faces in problem.wish(t)])}
