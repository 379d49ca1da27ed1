"""Where the frames of a run of a density are saved: in memory, or in an image file that grows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from jostle._tools.arrays import Array
from jostle.errors import InvalidValue
from jostle.io.checkpoint import Position
from jostle.io.images import ImageWriter, check_path, read_images
from jostle.io.saving import FileSaver, Output
from jostle.macro.motion.problems import Crowd, Flow, State
from jostle.macro.motion.result import STATISTICS, Evolution, cell_velocities, energy, facts_of
from jostle.macro.motion.scheme import Scheme
from jostle.result.facts import Units
from jostle.result.status import RUNNING


class Pressures(NamedTuple):
    """The pressures since the last saved frame."""

    total: Array
    """(nx, ny) their integral in time."""
    since: float
    """The time over which they were added up."""
    saved: bool
    """Whether a frame with their mean has been saved, so that the next step begins a new mean."""


class MeanPressure:
    """The mean pressure since the last saved frame; a checkpoint keeps it, as all that `jostle.problems.Remembers`.

    >>> mean = MeanPressure((1, 1))
    >>> mean.add(np.array([[1.0]]), h=0.5)
    >>> mean.add(np.array([[2.0]]), h=0.5)
    >>> mean.frame(State(1.0, np.ones((1, 1)), (np.zeros((2, 1)), np.zeros((1, 2))), np.zeros((1, 1)))).pressure.item()
    1.5
    """

    remembers = Pressures

    def __init__(self, shape: tuple[int, int]) -> None:
        self._shape = shape
        self.memory: Pressures | None = None

    def remind(self, memory: Pressures | None) -> None:
        if memory is not None and (np.shape(memory.total) != self._shape or not memory.since > 0.0):
            raise InvalidValue(f"a pressure of shape {np.shape(memory.total)} over a time of {memory.since}")
        self.memory = memory

    def add(self, pressure: Array, h: float) -> None:
        """Add the pressure of a step of length h."""
        old = self.memory
        total, since = (np.zeros(self._shape), 0.0) if old is None or old.saved else (old.total, old.since)
        self.memory = Pressures(total + h * pressure, since + h, saved=False)

    def frame(self, state: State) -> State:
        """The state with the mean pressure."""
        return state if self.memory is None else state._replace(pressure=self.memory.total / self.memory.since)

    def saved(self) -> None:
        """Begin a new mean with the next step."""
        self.memory = None if self.memory is None else self.memory._replace(saved=True)


def record_of(problem: Crowd | Flow, state: State, h: float) -> tuple[Any, ...]:
    """A record of `STATISTICS` of the step of length h that led to the state."""
    mass = float(state.density.sum()) * problem.grid.h**2
    excess = max(float(state.density.max()) - 1.0, 0.0)
    return (state.t, h, state.substeps, state.iterations, excess, mass, state.gone, energy(problem.domain, state))


class DensitySaver:
    """Keeps the frames and step records of a run in memory."""

    broken = False
    counted = (0, 0)
    """Number of frames and of step records in a file."""

    def __init__(self, problem: Crowd | Flow, scheme: Scheme, mean: MeanPressure, start: State) -> None:
        self.problem, self.scheme, self.mean = problem, scheme, mean
        self.frames, self.records = [mean.frame(start)], list[tuple[Any, ...]]()

    @property
    def saved_at(self) -> float:
        """The time of the last saved state."""
        return self.frames[-1].t

    def save(self, state: State) -> None:
        self.frames.append(self.mean.frame(state))
        self.mean.saved()

    def add(self, before: State, after: State, h: float) -> None:
        self.mean.add(after.pressure, h)
        self.records.append(record_of(self.problem, after, h))

    def commit(self) -> None:
        """Nothing is in a file."""

    def seal(self, frames: int) -> int:
        """Nothing is in a file."""
        return 0

    def solution(self, status: str) -> Evolution:
        frames = self.frames
        x, y = (np.stack([frame.velocity[axis] for frame in frames]) for axis in (0, 1))
        density, pressure = (np.stack([getattr(frame, name) for frame in frames]) for name in ("density", "pressure"))
        times, gone = (np.array([getattr(frame, name) for frame in frames]) for name in ("t", "gone"))
        stats = np.array(self.records, dtype=STATISTICS)
        return Evolution(self.problem, self.scheme, status, times, density, (x, y), pressure, gone, stats)


class ImageSaver(FileSaver):
    """Saves a run of a density to an image file."""

    kind = ImageWriter
    title = "an image file"

    def __init__(
        self,
        problem: Crowd | Flow,
        scheme: Scheme,
        mean: MeanPressure,
        output: Output,
        start: State,
        resumed: Position | None,
        changed: Mapping[str, Sequence[str]],
    ) -> None:
        if output.contacts or output.groups:
            raise InvalidValue("a density has no contacts and no groups of bodies: remove contacts= and groups=")
        if output.dtype is not None and np.dtype(output.dtype) != float:
            raise InvalidValue(f"densities are stored in double precision: remove dtype={np.dtype(output.dtype).name}")
        assert output.path is not None
        check_path(output.path)
        self.problem, self.scheme, self.mean = problem, scheme, mean
        super().__init__(output, start, resumed, changed, {})

    def create(self, path: Path, output: Output, start: State, about: Mapping[str, str]) -> ImageWriter:
        facts = facts_of(self.problem, self.scheme, about)
        nx, ny = self.problem.grid.shape
        none = np.zeros((0, nx, ny))
        fields = {"density": none, "pressure": none, "velocity": np.zeros((0, nx, ny, 2))}
        totals = dict.fromkeys(("mass", "gone", "energy"), np.zeros(0))
        faces = np.zeros((0, nx + 1, ny)), np.zeros((0, nx, ny + 1))
        about_run = {"steps": np.zeros(0, dtype=STATISTICS), "units": output.units or Units(), "status": RUNNING}
        return ImageWriter(path, facts(t=np.zeros(0), fields=fields, totals=totals, faces=faces, **about_run))

    def add_frame(self, state: State) -> None:
        frame = self.mean.frame(state)
        self.mean.saved()
        fields = {"density": frame.density, "pressure": frame.pressure, "velocity": cell_velocities(frame.velocity)}
        mass = float(frame.density.sum()) * self.problem.grid.h**2
        totals = {"mass": mass, "gone": frame.gone, "energy": energy(self.problem.domain, frame)}
        self.writer.frame(frame.t, fields, totals, frame.velocity)

    def record(self, before: State, after: State, h: float) -> tuple[Any, ...]:
        self.mean.add(after.pressure, h)
        return record_of(self.problem, after, h)

    def found(self) -> tuple[Array, Any]:
        images = read_images(self.path)
        return images.t, images.steps

    def read(self) -> Evolution:
        images = read_images(self.path)
        fields, faces, stats = images.fields, images.faces, images.steps
        assert faces is not None
        assert stats is not None
        here = images.status, images.t, fields["density"], faces, fields["pressure"], images.totals["gone"], stats
        return Evolution(self.problem, self.scheme, *here, images)
