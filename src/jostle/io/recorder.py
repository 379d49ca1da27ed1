"""A recorder that writes the frames of a run to a trajectory file and keeps none of them in memory."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from jostle._tools.arrays import to_host
from jostle.errors import BrokenFile, FileIsThere, InvalidValue
from jostle.io import headers, layout
from jostle.io.checkpoint import Position
from jostle.io.container import reading
from jostle.io.locks import Lock
from jostle.io.new_files import beside, regular
from jostle.io.outputs import Output
from jostle.io.precision import check_precision, sufficient
from jostle.io.reading import about as noted
from jostle.io.reading import read
from jostle.io.trajectory import Writer
from jostle.kernels.threads import threads
from jostle.result.facts import Facts, Groups, drawable
from jostle.result.recording import STATISTICS, contacts_of, record_of, shown
from jostle.result.solution import Solution
from jostle.schemes.state import State

MAX_RECORDS, MAX_SECONDS = 256, 0.2
"""Largest number of step records, and largest time in seconds, before they are passed to the writer."""


@cache
def versions() -> dict[str, str]:
    """Versions of Python and of the packages on which a run depends."""
    packages = ("jostle", "numpy", "scipy", "numba", "h5py")
    return {"python": platform.python_version(), **{name: metadata.version(name) for name in packages}}


class FileRecorder:
    """Writes a run to a trajectory file, with the interface of `recording.Recorder`."""

    def __init__(
        self,
        problem: Any,
        scheme: Any,
        output: Output,
        start: State,
        resumed: Position | None = None,
        changed: Mapping[str, Sequence[str]] | None = None,
    ):
        """Create a file; or, with `resumed`, continue the existing one after this position.

        `changed` are the settings of the run that changed, {name: [old, new]}.
        """
        self.problem, self.scheme, self.path = problem, scheme, Path(output.path)
        self.records: list[tuple[Any, ...]] = []
        self.handed_on = time.monotonic()
        self.saved_at = start.t
        self.facts = _facts(problem, output, start)
        self.walls = drawable(problem.within, start.t, self.facts.dimension)
        self.counted = (0, 0)
        about = {f"version of {name}": version for name, version in versions().items()}
        about |= {"machine": platform.platform(), "threads": str(threads()), **output.about}
        if resumed is not None:
            self._go_on(output, resumed, about, changed or {})
        else:
            self._begin(output, start, about | {"scheme": repr(scheme), "problem": repr(problem), **output.about})

    def _begin(self, output: Output, start: State, about: Mapping[str, str]) -> None:
        """Create the file with its first frame. A trajectory that it replaces is kept until then."""
        places = np.concatenate([np.ravel(to_host(q)) for q in (self.problem.q0, shown(start))])
        radii = to_host(self.problem.within.radii_at(start.t))
        dtype = sufficient(places, radii) if output.dtype is None else output.dtype
        check_precision(places, radii, dtype)
        form: dict[str, Any] = {"contacts": output.contacts, "dtype": dtype, "about": about}
        form["facts"] = self.facts
        if not (output.overwrite and os.path.lexists(self.path)):
            self.writer = Writer(self.path, shape=start.q.shape, **form)
            self.save(start)
            return
        self.path = self.path.resolve()
        old, new = _replaceable(self.path), beside(self.path)
        try:
            self.writer = Writer(new, shape=start.q.shape, **form)
            self.save(start)
            self.writer.rename(self.path)
        finally:
            old.release()
            new.unlink(missing_ok=True)

    def _go_on(
        self, output: Output, resumed: Position, about: dict[str, str], changed: Mapping[str, Sequence[str]]
    ) -> None:
        """Cut the file to the frames and records of the position, and record what changed."""
        self.counted = resumed.frames, resumed.records
        self.saved_at = _checked(output, resumed.state.t, *self.counted)
        before = noted(self.path)
        new = {name: text for name, text in about.items() if before.get(name) != text}
        self.writer = Writer.reopen(self.path, *self.counted)
        if changed or new:
            when = datetime.now(UTC).isoformat(timespec="seconds")
            here = {"when": when, "step": resumed.step, "t": resumed.state.t}
            self.writer.note({**here, "changed": dict(changed), "about": new})

    @property
    def broken(self) -> bool:
        """Whether a write failed."""
        return self.writer.broken

    def save(self, state: State) -> None:
        radii = self.problem.within.radii_at(state.t)
        if self.facts.walls_move:
            self.walls = drawable(self.problem.within, state.t, self.facts.dimension)
        frame = (shown(state), state.u, radii, *contacts_of(state))
        self.writer.frame(state.t, *frame, duration=state.duration, walls=self.walls)
        self.saved_at = state.t
        self.counted = self.counted[0] + 1, self.counted[1]

    def add(self, before: State, after: State, h: float) -> None:
        self.records.append(record_of(self.problem, self.scheme.linearises, before, after, h))
        self.counted = self.counted[0], self.counted[1] + 1
        if len(self.records) >= MAX_RECORDS or time.monotonic() - self.handed_on > MAX_SECONDS:
            self._hand_on()

    def _hand_on(self) -> None:
        if self.records:
            self.writer.steps(np.array(self.records, dtype=STATISTICS))
        self.records, self.handed_on = [], time.monotonic()

    def commit(self) -> None:
        """Write everything that was added."""
        self._hand_on()
        self.writer.commit()

    def solution(self, status: str) -> Solution:
        """Close the file, and return its contents as a solution that reads them when they are needed."""
        self._hand_on()
        self.writer.close(status)
        return read(self.path, self.problem, self.scheme)


def _facts(problem: Any, output: Output, start: State) -> Facts:
    groups = None if output.groups is None else Groups.of(output.groups, len(start.q))
    return Facts.of(problem, t=start.t, q=shown(start), units=output.units, groups=groups)


def _replaceable(path: Path) -> Lock:
    """The lock of a trajectory that may be replaced; other files are refused."""
    try:
        if not regular(path):
            raise FileIsThere(f"{path} is not a regular file and is not replaced: choose another name")
        with reading(path) as file:
            headers.header(file)
    except BrokenFile as error:
        raise FileIsThere(
            f"{path} is not a readable trajectory and is not replaced ({error}): remove it, or choose another name"
        ) from None
    return Lock(path)


def _checked(output: Output, t: float, frames: int, records: int) -> float:
    """The time of the last frame of a file to be cut and continued at time t; the file must belong to the run."""
    path = output.path
    if frames == 0:
        raise InvalidValue(f"the checkpoint belongs to a run without output: it cannot be continued with output={path}")
    sol = read(path)
    if len(sol.t) < frames or len(sol.stats) < records:
        raise InvalidValue(
            f"{path} has {len(sol.t)} frames of {len(sol.stats)} steps, fewer than the checkpoint ({frames} of "
            f"{records}): it is another file, or was truncated; start again with another output"
        )
    if records and sol.stats["t"][records - 1] != t:
        raise InvalidValue(
            f"{path} belongs to another run: its step {records} ends at t = {sol.stats['t'][records - 1]:.6g}, that of "
            f"the checkpoint at {t:.6g}"
        )
    with reading(Path(path)) as file:
        stored = headers.header(file).contacts, file[layout.POINTS].dtype
    dtype = stored[1] if output.dtype is None else np.dtype(output.dtype)
    for name, now, before in zip(("contacts", "dtype"), (output.contacts, dtype), stored, strict=True):
        if now != before:
            raise InvalidValue(
                f"{path} was started with {name} = {before}, now it is {now}: resume with Output(..., {name}={before})"
            )
    return float(sol.t[frames - 1])
