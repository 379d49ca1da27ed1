"""The time loop of moving densities, the counterpart of `jostle.solve`."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from jostle._tools.arguments import check_arguments
from jostle._tools.arrays import Array
from jostle._tools.displays import shown
from jostle._tools.of_run import new_run
from jostle.errors import InvalidValue
from jostle.io.checkpoint import Contents, Position
from jostle.io.images import ImageWriter, check_path, read_images
from jostle.io.saving import FileSaver, Output
from jostle.macro.grid import Velocity
from jostle.macro.motion.problems import Crowd, Flow, State
from jostle.macro.motion.result import STATISTICS, Evolution, cell_velocities, energy, facts_of
from jostle.macro.motion.scheme import Scheme
from jostle.problems import Remembers
from jostle.result.facts import Units
from jostle.result.recording import Saver
from jostle.result.status import RUNNING
from jostle.run.checkpoints import Checkpoints
from jostle.run.loop import Progress, Steps, files_of, follow
from jostle.run.steps import Grid, Saving, Span


@check_arguments
def solve(
    problem: Crowd | Flow,
    scheme: Scheme,
    *,
    t: Span,
    h: float | ArrayLike,
    every: int | float | None = None,
    until: Callable[[State], bool] | None = None,
    output: str | os.PathLike[str] | Output | None = None,
    progress: bool | Callable[[Progress[State]], object] | None = None,
) -> Evolution:
    """Advance a density in time, from 0 (or t[0]) to t (or t[1]) with steps of length h.

    A step in which more than half the mass of a cell would leave it is cut into parts; `stats["substeps"]` counts them.

    Parameters
    ----------
    problem : Crowd or Flow
        The problem.
    scheme : Splitting, Barrier or Impacts
        The scheme.
    t : float or (float, float)
        The end time, or the start and the end time.
    h : float or array_like
        Length of a step, or the lengths of all steps. If the time is not a multiple of h, the last step is shorter.
    every : int or float, optional
        Number of steps between two saved frames (int), or the time between them (float). None: every step is saved. The
        first and the last frame are always saved.
    until : callable (State) -> bool, optional
        Ends the run when it is true; `problem.empty` is true when less than a thousandth of the mass is left. A
        condition that depends on the past of the run inherits from `jostle.problems.Remembers`. None: the end is at t.
    output : str, path or jostle.io.Output, optional
        Image file to write (.vtkhdf), for ParaView, `jostle.io.read_images` and the pictures of `jostle.viz`. Frames go
        into it during the run, and the result reads them from there. None keeps the frames in memory. An `Output` also
        names the checkpoint. With ``resume=True`` the run continues from it, bit-identical to an uninterrupted run;
        only t, `every` and `until` may differ from the first call. A run that `until` has ended continues from the step
        before. Frames are added to the file; without a file, the result begins at the checkpoint.
    progress : bool or callable (Progress) -> object, optional
        True shows a bar, as in `jostle.solve`. A function is called after each step. None: nothing is called.

    Returns
    -------
    Evolution
        The frames, with the status of the run and statistics of its steps.

    Raises
    ------
    SchemeRefuses
        If the scheme cannot solve the problem.
    NotConverged
        If the pressure of a step misses its tolerance. Errors during the run have the frames so far in
        `error.solution`.
    Interrupted
        After Ctrl-C, or another signal that raises KeyboardInterrupt; `error.solution` has the frames so far.
    FileIsThere
        If the output file, or the checkpoint of another run, exists already, or another program replaced the output
        file meanwhile.
    FileInUse
        If another run writes the output file.

    Examples
    --------
    >>> import jostle as jo, numpy as np
    >>> grid = jo.macro.Grid([-1, -1], [1, 1], h=1 / 16, closed=True)
    >>> to_centre = lambda t, q: -q / np.linalg.norm(q, axis=1, keepdims=True)
    >>> people = jo.macro.Crowd(grid=grid, density=0.5 * grid.disc([0, 0], 0.9), velocity=to_centre)
    >>> jo.macro.solve(people, jo.macro.Splitting(), t=0.2, h=0.02)
    Splitting of a Crowd on 32 x 32 cells: finished, reached the end time
    t = 0 to 0.2, 10 steps, 11 frames; mass 1.26562 of 1.26562, 0 gone
    """
    if not isinstance(scheme, Scheme):
        raise InvalidValue(f"scheme must be an object such as jo.macro.Splitting(), with parentheses, not {scheme!r}")
    if not isinstance(problem, Crowd | Flow):
        raise InvalidValue(f"problem must be a jo.macro.Crowd or a jo.macro.Flow, not {problem!r}")
    scheme.check(problem)
    grid, mean = Grid.of(t, h), MeanPressure(problem.grid.shape)
    due, files = Saving(every, grid.start), files_of(output)
    _check_output(files)
    free = {"every": every, "until": until, "strict": True, "device": "cpu"}
    things = {"until": until, "velocity": problem.velocity, "pressure": mean}

    def saver(state: State, resumed: Position | None) -> DensitySaver | ImageSaver:
        if files is None or files.path is None:
            return DensitySaver(problem, scheme, mean, state)
        return ImageSaver(problem, scheme, mean, files, state, resumed, keeping.changed)

    with new_run(), shown(progress) as told:
        keeping = CheckpointsOfDensity(files, problem, scheme, grid, free, things)
        found: Evolution = follow(Steps(keeping, saver), due, () if until is None else (until,), told)
    return found


def _check_output(output: Output | None) -> None:
    """Refuse an output that asks for what the run of a density does not have."""
    if output is None:
        return
    if output.random is not None:
        raise InvalidValue("the run of a density uses no random numbers: remove random= from the output")
    if output.path is None:
        return
    if output.contacts or output.groups:
        raise InvalidValue("a density has no contacts and no groups of bodies: remove contacts= and groups=")
    if output.dtype is not None and np.dtype(output.dtype) != float:
        raise InvalidValue(f"densities are stored in double precision: remove dtype={np.dtype(output.dtype).name}")
    check_path(output.path)


# The checkpoints of a run of a density.


class CheckpointsOfDensity(Checkpoints):
    """The checkpoints of a run of a density, if it has any."""

    compared = "velocity"

    def functions(self, t: float, state: State | None) -> dict[str, Callable[[], Any]]:
        # The desired velocity of a crowd, which does not depend on the state.
        problem = self.problem
        if isinstance(problem, Flow) or isinstance(problem.velocity, Velocity):
            return {}
        return {"velocity": lambda: np.concatenate([faces.ravel() for faces in problem.wish(t)])}

    def values(self, position: Position) -> dict[str, Any]:
        state: State = position.state
        x, y = state.velocity
        return state._asdict() | {"velocity": x, "velocity_y": y}

    def state_in(self, kept: Contents) -> State:
        nx, ny = self.problem.grid.shape
        density, pressure = (kept.array(name, (nx, ny)) for name in ("density", "pressure"))
        velocity = kept.array("velocity", (nx + 1, ny)), kept.array("velocity_y", (nx, ny + 1))
        numbers = kept.number("gone"), kept.count("iterations"), kept.count("substeps")
        return State(kept.number("t"), density, velocity, pressure, *numbers)


# Where the frames of a run of a density are saved: in memory, or in an image file that grows.


class Pressures(NamedTuple):
    """The pressures since the last saved frame."""

    total: Array
    """(nx, ny) their integral in time."""
    since: float
    """The time over which they were added up."""
    saved: bool
    """Whether a frame with their mean has been saved, so that the next step begins a new mean."""


class MeanPressure(Remembers):
    """The mean pressure since the last saved frame; a checkpoint keeps it, as all that `jostle.problems.Remembers`.

    >>> mean = MeanPressure((1, 1))
    >>> mean.add(np.array([[1.0]]), h=0.5)
    >>> mean.add(np.array([[2.0]]), h=0.5)
    >>> mean.frame(State(1.0, np.ones((1, 1)), (np.zeros((2, 1)), np.zeros((1, 2))), np.zeros((1, 1)))).pressure.item()
    1.5
    """

    memory_type = Pressures

    def __init__(self, shape: tuple[int, int]) -> None:
        self._shape = shape

    def restore(self, memory: Pressures | None) -> None:
        if memory is not None and (np.shape(memory.total) != self._shape or not memory.since > 0.0):
            raise InvalidValue(f"a pressure of shape {np.shape(memory.total)} over a time of {memory.since}")
        self.memory = memory

    def add(self, pressure: Array, h: float) -> None:
        """Add the pressure of a step of length h."""
        old: Pressures | None = self.memory
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


class DensitySaver(Saver):
    """Keeps the frames and step records of a run in memory."""

    def __init__(self, problem: Crowd | Flow, scheme: Scheme, mean: MeanPressure, start: State) -> None:
        self.problem, self.scheme, self.mean = problem, scheme, mean
        self.frames, self.records = [mean.frame(start)], list[tuple[Any, ...]]()

    def save(self, state: State) -> None:
        self.frames.append(self.mean.frame(state))
        self.mean.saved()

    def add(self, before: State, after: State, h: float) -> None:
        self.mean.add(after.pressure, h)
        self.records.append(record_of(self.problem, after, h))

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
