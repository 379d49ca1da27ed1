"""A recorder that writes what a run saves into a trajectory, and keeps nothing of it in memory."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import metadata
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from jostle.errors import InvalidValue
from jostle.io.reading import read
from jostle.io.trajectory import Writer
from jostle.recording import contacts_of, order_of, record_of, shown, walls_of
from jostle.schemes.base import State
from jostle.solution import STATISTICS, Solution

RECORDS, SECONDS = 256, 0.2
"""Records of steps are handed on when there are so many, or after so long."""


@dataclass(frozen=True)
class Output:
    """A trajectory file that a run writes, see `jostle.io`; `about` are words to keep in it (a scenario, say).

    With `contacts` it holds the contacts that carry an impulse, with it and their normals. Positions and velocities are
    stored as float32 unless `dtype` says float64.

    >>> import jostle as jo, tempfile
    >>> ball = jo.Motion(q0=[1.0], force=[-10.0], within=jo.HalfSpace([1.0]))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     output = jo.io.Output(f"{folder}/ball.vtkhdf", dtype=np.float64)
    ...     sol = jo.solve(ball, jo.Maury(), t=1.0, h=0.01, every=0.5, output=output)
    ...     sol.t.tolist(), sol.q[-1].round(9).tolist(), len(sol.stats)
    ([0.0, 0.5, 1.0], [0.0], 100)
    """

    path: str | os.PathLike[str]
    contacts: bool = False
    dtype: DTypeLike = np.float32
    about: Mapping[str, str] = field(default_factory=dict)


def versions() -> dict[str, str]:
    """Of what a run depends on."""
    packages = ("jostle", "numpy", "scipy", "numba", "h5py")
    return {"python": platform.python_version(), **{name: metadata.version(name) for name in packages}}


class FileRecorder:
    """Has the interface of `recording.Recorder`."""

    def __init__(self, problem: Any, scheme: Any, output: Output, start: State, written: tuple[int, int] | None):
        """With `written`, frames and records of steps, it goes on with a file that is there."""
        self.problem, self.scheme, self.path = problem, scheme, output.path
        self.records: list[tuple[Any, ...]] = []
        self.handed_on = time.monotonic()
        self.saved_at = start.t
        if written is not None:
            self.saved_at = _checked(output.path, start.t, *written)
            self.writer = Writer.reopen(output.path, *written)
            return
        about = {f"version of {name}": version for name, version in versions().items()}
        about["machine"] = platform.platform()
        about |= {"scheme": repr(scheme), "problem": repr(problem), **output.about}
        self.writer = Writer(
            output.path, shape=start.q.shape, contacts=output.contacts, dtype=output.dtype,
            order=order_of(problem), walls=walls_of(problem, start.t, shown(start)), about=about,
        )  # fmt: skip
        self.save(start)

    @property
    def broken(self) -> bool:
        """Did a write fail?"""
        return self.writer.broken

    def save(self, state: State) -> None:
        radii = self.problem.within.radii_at(state.t)
        self.writer.frame(state.t, shown(state), state.u, radii, *contacts_of(state), duration=state.duration)
        self.saved_at = state.t

    def add(self, before: State, after: State, h: float) -> None:
        self.records.append(record_of(after, h))
        if len(self.records) >= RECORDS or time.monotonic() - self.handed_on > SECONDS:
            self._hand_on()

    def _hand_on(self) -> None:
        if self.records:
            self.writer.steps(np.array(self.records, dtype=STATISTICS))
        self.records, self.handed_on = [], time.monotonic()

    def written(self) -> tuple[int, int]:
        """Make all of it safe: how many frames and records of steps there are."""
        self._hand_on()
        self.writer.commit()
        return self.writer.acknowledged, self.writer.acknowledged_steps

    def solution(self, status: str) -> Solution:
        """Close the file; what it holds, read when asked for."""
        self._hand_on()
        self.writer.close(status)
        return read(self.path, self.problem, self.scheme)


def _checked(path: str | os.PathLike[str], t: float, frames: int, records: int) -> float:
    """The time of the last frame of a file that is to be cut and continued at time t: it must be that of the run."""
    if frames == 0:
        raise InvalidValue(f"the checkpoint is of a run without output: it cannot go on with {path}")
    sol = read(path)
    if len(sol.t) < frames or len(sol.stats) < records:
        raise InvalidValue(
            f"{path} has {len(sol.t)} frames of {len(sol.stats)} steps, fewer than the checkpoint counts, {frames} of "
            f"{records}: it is another file, or was cut; start again, with another output"
        )
    if records and sol.stats["t"][records - 1] != t:
        raise InvalidValue(
            f"{path} belongs to another run: its step {records} led to t = {sol.stats['t'][records - 1]:.6g}, that of "
            f"the checkpoint to {t:.6g}"
        )
    return float(sol.t[frames - 1])
