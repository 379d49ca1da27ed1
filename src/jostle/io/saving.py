"""Saving the frames of a run to a file, with none of them kept in memory; `Output` says which file, and how."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from jostle._tools.arguments import check_arguments
from jostle._tools.arrays import Array, to_host
from jostle.errors import BrokenFile, FileIsThere, InvalidValue
from jostle.io import layout
from jostle.io.checkpoint import Position
from jostle.io.growing import Counts, GrowingFile, frame_checksum
from jostle.io.hdf5 import reading
from jostle.io.new_files import Lock, beside, check_trajectory_name, discard, regular
from jostle.io.reading import about as noted
from jostle.io.reading import read
from jostle.io.trajectory import Writer
from jostle.kernels.parallel import threads
from jostle.problems import Motion
from jostle.result.facts import Facts, Groups, Units, drawable
from jostle.result.recording import ImpactLog, Saver, Turned, contacts_of, record_of, shown
from jostle.result.solution import Solution
from jostle.schemes.state import State


@check_arguments
@dataclass(frozen=True)
class Output:
    """The files that a run writes: its trajectory, and the checkpoint from which it can be resumed.

    Parameters
    ----------
    path : str or path, optional
        Name of the trajectory, .vtkhdf. None keeps the saved states in memory.
    contacts : bool, default False
        Whether contacts with their impulses and normals are stored.
    dtype : float32 or float64, optional
        Precision of positions and velocities. None: float32, or float64 if bodies are so far from the origin, as in map
        coordinates, that float32 would move them by more than a thousandth of the smallest radius.
    about : mapping of str to str, optional
        Notes to store in the file, such as the name of a scenario.
    overwrite : bool, default False
        Whether an existing trajectory is replaced, when the first frame is written, and the checkpoint of another run;
        files of other kinds are never replaced.
    units : Units, optional
        Names of the units, such as `jostle.io.SI`; people on a floor plan need metres and seconds. None: unknown.
    groups : mapping of str to array_like of int, optional
        Numbers of the bodies of each group, by name. None: the groups of the problem, if it has any.
    checkpoint : str or path, optional
        Name of the file for the state of the run, at intervals and at its end. None stores no checkpoints.
    resume : bool, default False
        Whether the run of the checkpoint is continued. Its trajectory, if any, is continued too.
    seconds : float, default 60.0
        Wall-clock time between two checkpoints, in seconds, not negative.
    random : numpy.random.Generator, optional
        Generator from which the forces or changes of the run draw; the checkpoint stores and restores its state. None:
        no generator.

    Examples
    --------
    >>> import jostle as jo, numpy as np, tempfile
    >>> ball = jo.Motion(q0=[1.0], force=[-10.0], within=jo.HalfSpace([1.0]))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     output = jo.io.Output(f"{folder}/ball.vtkhdf", dtype="float64")
    ...     sol = jo.solve(ball, jo.Maury(), t=1.0, h=0.01, every=0.5, output=output)
    ...     sol.t.tolist(), sol.q[-1].round(9).tolist(), len(sol.stats)
    ([0.0, 0.5, 1.0], [0.0], 100)

    A run that is resumed from its checkpoint gives the bits of an uninterrupted run:

    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = f"{folder}/ball.checkpoint"
    ...     half = jo.solve(ball, jo.Maury(), t=0.5, h=0.01, output=jo.io.Output(checkpoint=file))
    ...     rest = jo.solve(ball, jo.Maury(), t=1.0, h=0.01, output=jo.io.Output(checkpoint=file, resume=True))
    >>> whole = jo.solve(ball, jo.Maury(), t=1.0, h=0.01)
    >>> bool((rest.q[-1] == whole.q[-1]).all()), float(rest.t[0])
    (True, 0.5)
    """

    path: str | os.PathLike[str] | None = None
    contacts: bool = False
    dtype: DTypeLike | None = None
    about: Mapping[str, str] = field(default_factory=dict)
    overwrite: bool = False
    units: Units | None = None
    groups: Mapping[str, ArrayLike] | None = None
    checkpoint: str | os.PathLike[str] | None = None
    resume: bool = False
    seconds: float = 60.0
    random: np.random.Generator | None = None

    def __post_init__(self) -> None:
        if self.checkpoint is None and self.resume:
            raise InvalidValue("resume needs a checkpoint: Output(..., checkpoint=..., resume=True)")
        if self.checkpoint is None and self.random is not None:
            raise InvalidValue("random needs a checkpoint, which stores it: Output(..., checkpoint=..., random=...)")
        if not self.seconds >= 0.0:
            raise InvalidValue(f"seconds must not be negative, but is {self.seconds}")
        if self.path is None:
            if self.contacts or self.dtype is not None or self.about or self.units is not None or self.groups:
                raise InvalidValue(
                    "contacts, dtype, about, units and groups belong to a trajectory: give its name, Output(path, ...)"
                )
            if self.checkpoint is None:
                raise InvalidValue("Output needs the name of a trajectory, of a checkpoint, or both")
            return
        if self.checkpoint is not None and os.path.realpath(self.path) == os.path.realpath(self.checkpoint):
            raise InvalidValue(f"output and checkpoint are both {self.path}: choose two names")
        check_trajectory_name(self.path)


TINY = float(np.finfo(float).tiny)
"""Smallest positive double of full precision."""
NEGLIGIBLE_ROUNDING = 1e-3
"""Single precision is chosen if it rounds positions by at most this fraction of the smallest radius."""
MAX_ROUNDING = 0.01
"""A given precision is refused if it rounds positions in the first frame by more than this fraction."""


def sufficient(q: Array, radii: ArrayLike) -> np.dtype[Any]:
    """float32, or float64 if float32 would move a body by a notable part of the smallest radius.

    >>> [str(sufficient(np.array([[x, 2.0]]), 0.2)) for x in (10.0, 5e6)]
    ['float32', 'float64']
    """
    furthest, smallest = _extent(q, radii)
    rounding = furthest * float(np.finfo(np.float32).eps) / 2.0
    return np.dtype(np.float64 if rounding > NEGLIGIBLE_ROUNDING * smallest else np.float32)


def _extent(q: ArrayLike, radii: ArrayLike) -> tuple[float, float]:
    """The largest coordinate in size, and the smallest radius, infinite for points."""
    sizes, places = np.asarray(radii, dtype=float).ravel(), np.abs(np.asarray(q, dtype=float).ravel())
    furthest = float(places[np.isfinite(places)].max(initial=0.0))
    return furthest, float(sizes[sizes > 0.0].min(initial=np.inf))


def check_precision(q: ArrayLike, radii: ArrayLike, dtype: DTypeLike) -> None:
    """Refuse positions so far from the origin that numbers of a type round them by a notable part of a radius.

    >>> check_precision([[5e6, 0.0], [5e6, 1.0]], 0.25, np.float32)             # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    jostle.errors.InvalidValue: float32 rounds positions near 5e+06 by up to 0.25, and the smallest radius is 0.25: ...
    """
    furthest, smallest = _extent(q, radii)
    rounding = float(np.finfo(dtype).eps) / 2.0 * 2.0 ** np.floor(np.log2(max(furthest, TINY)))
    if rounding > MAX_ROUNDING * smallest:
        finer = "" if np.dtype(dtype) == float else ', or dtype=np.float64 (in a scenario: precision = "float64")'
        raise InvalidValue(
            f"{np.dtype(dtype).name} rounds positions near {furthest:g} by up to {rounding:.2g}, and the smallest "
            f"radius is {smallest:g}: choose an origin near the bodies{finer}"
        )


MAX_RECORDS, MAX_IMPACTS, MAX_SECONDS = 256, 4096, 0.2
"""Largest number of step records and of impacts, and largest time in seconds, before they are passed to the writer."""


@cache
def versions() -> dict[str, str]:
    """Versions of Python and of the packages on which a run depends."""
    packages = ("jostle", "numpy", "scipy", "numba", "h5py")
    return {"python": platform.python_version(), **{name: metadata.version(name) for name in packages}}


class FileSaver(Saver):
    """Saves the frames and step records of a run to a file that grows, and keeps none of them in memory."""

    kind: ClassVar[type[GrowingFile]]
    title: ClassVar[str]
    """What the file is called in errors."""
    writer: Any
    saved_at: float = -np.inf
    counted: Counts = Counts()

    def __init__(
        self,
        output: Output,
        start: Any,
        resumed: Position | None,
        changed: Mapping[str, Sequence[str]],
        about: Mapping[str, str],
    ) -> None:
        """Create a file; or, with `resumed`, continue the existing one after this position.

        `changed` are the settings of the run that changed, {name: [old, new]}; `about` is noted in a new file.
        """
        assert output.path is not None
        self.path, self.saved_at = Path(output.path), start.t
        self.records: list[tuple[Any, ...]] = []
        self.impacts = 0
        """Number of impacts that were not passed to the writer yet."""
        self.handed_on = time.monotonic()
        noted = {f"version of {name}": version for name, version in versions().items()}
        noted |= {"machine": platform.platform(), "threads": str(threads()), **output.about}
        if resumed is not None:
            self._go_on(output, resumed, noted, changed)
        else:
            self._begin(output, start, noted | dict(about) | dict(output.about))

    def create(self, path: Path, output: Output, start: Any, about: Mapping[str, str]) -> GrowingFile:
        """A new file."""
        raise NotImplementedError

    def add_frame(self, state: Any) -> None:
        """Give a state to the writer."""
        raise NotImplementedError

    def record(self, before: Any, after: Any, h: float) -> tuple[Any, ...]:
        """The statistics of a step."""
        raise NotImplementedError

    def found(self) -> tuple[Array, Any]:
        """The times and the step records in the file."""
        raise NotImplementedError

    def read(self) -> Any:
        """The contents of the closed file as a solution that reads them when they are needed."""
        raise NotImplementedError

    def check_options(self, output: Output) -> None:
        """Refuse to continue a file with other options."""

    def _begin(self, output: Output, start: Any, about: Mapping[str, str]) -> None:
        """Create the file with its first frame. A file that it replaces is kept until then."""
        if not output.overwrite and os.path.lexists(self.path):
            raise FileIsThere(
                f"{self.path} exists already: replace it with output=jo.io.Output(path, overwrite=True), or choose "
                f"another name"
            )
        if not os.path.lexists(self.path):
            self.writer = self.create(self.path, output, start, about)
            self.save(start)
            self.commit()
            return
        self.path = self.path.resolve()
        old, new = self._replaceable(), beside(self.path)
        try:
            self.writer = self.create(new, output, start, about)
            self.save(start)
            self.writer.rename(self.path)
        finally:
            old.release()
            discard(new)

    def _replaceable(self) -> Lock:
        """The lock of a file that may be replaced; files of other kinds are refused."""
        try:
            if not regular(self.path):
                raise FileIsThere(f"{self.path} is not a regular file and is not replaced: choose another name")
            with reading(self.path) as file:
                self.kind.data_sets(file)
        except BrokenFile as error:
            raise FileIsThere(
                f"{self.path} is not {self.title} that can be read, and is not replaced ({error}): remove it, or "
                f"choose another name"
            ) from None
        return Lock(self.path)

    def _go_on(
        self, output: Output, resumed: Position, about: dict[str, str], changed: Mapping[str, Sequence[str]]
    ) -> None:
        """Cut the file to the frames and records of the position, and note what changed."""
        self.counted = Counts(resumed.frames, resumed.records, resumed.impacts)
        self.saved_at = self._check_found(resumed)
        self.check_options(output)
        before = noted(self.path)
        new = {name: text for name, text in about.items() if before.get(name) != text}
        self.writer = self.kind.reopen(self.path, *self.counted)
        if changed or new:
            when = datetime.now(UTC).isoformat(timespec="seconds")
            here = {"when": when, "step": resumed.step, "t": resumed.state.t}
            self.writer.note({**here, "changed": dict(changed), "about": new})

    def _check_found(self, resumed: Position) -> float:
        """The time of the last frame of a file to be cut and continued; the file must belong to the run."""
        path, (frames, records, _), t = self.path, self.counted, resumed.state.t
        if frames == 0:
            raise InvalidValue(
                f"the checkpoint belongs to a run without a trajectory: it cannot be continued with {path}"
            )
        times, stats = self.found()
        if len(times) < frames or len(stats) < records:
            raise InvalidValue(
                f"{path} has {len(times)} frames of {len(stats)} steps, fewer than the checkpoint ({frames} of "
                f"{records}): it is another file, or was truncated; start again with another output"
            )
        if records and stats["t"][records - 1] != t:
            raise InvalidValue(
                f"{path} belongs to another run: its step {records} ends at t = {stats['t'][records - 1]:.6g}, that of "
                f"the checkpoint at {t:.6g}"
            )
        with reading(path) as file:
            if frame_checksum(file, frames) != resumed.frame_checksum:
                raise InvalidValue(
                    f"{path} belongs to another run: its frame {frames - 1} is not that of the checkpoint; start again "
                    f"with another output"
                )
        return float(times[frames - 1])

    def frame_checksum(self, frames: int) -> int:
        return int(self.writer.frame_checksum(frames))

    @property
    def broken(self) -> bool:
        return bool(self.writer.broken)

    def save(self, state: Any) -> None:
        if self.writer.scarce:  # the frame is written at once, and its steps before it
            self._hand_on()
        self.add_frame(state)
        self.saved_at = state.t
        self.counted = self.counted._replace(frames=self.counted.frames + 1)

    def add(self, before: Any, after: Any, h: float) -> None:
        self.records.append(self.record(before, after, h))
        over = 0 if self.log is None else self.log.add(before, after, h)
        self.counted = Counts(self.counted.frames, self.counted.steps + 1, self.counted.impacts + over)
        self.impacts += over
        many = len(self.records) >= MAX_RECORDS or self.impacts >= MAX_IMPACTS
        if many or time.monotonic() - self.handed_on > MAX_SECONDS:
            self._hand_on()

    def _hand_on(self) -> None:
        if self.records:
            self.writer.steps(np.array(self.records, dtype=self.writer.statistics))
        if self.impacts and self.log is not None:
            self.writer.impacts(self.log.take())
        self.records, self.impacts, self.handed_on = [], 0, time.monotonic()

    def commit(self) -> None:
        self._hand_on()
        self.writer.commit()

    def solution(self, status: str) -> Any:
        self._hand_on()
        if self.log is not None and len(self.log.memory.open):  # the run ends before the second step of these impacts
            self.writer.impacts(self.log.memory.open)
        self.writer.close(status)
        return self.read()


class TrajectorySaver(FileSaver):
    """Saves a run of bodies to a trajectory file."""

    kind = Writer
    title = "a trajectory"

    def __init__(
        self,
        problem: Any,
        scheme: Any,
        output: Output,
        start: State,
        resumed: Position | None = None,
        changed: Mapping[str, Sequence[str]] | None = None,
    ):
        self.problem, self.scheme = problem, scheme
        groups = None if output.groups is None else Groups.of(output.groups, len(start.q))
        self.facts = Facts.of(problem, t=start.t, q=shown(start), units=output.units, groups=groups)
        self.walls = drawable(problem.within, start.t, self.facts.dimension)
        about = {"scheme": repr(scheme), "problem": repr(problem)}
        if problem.bodies.turn:
            about["law"] = repr(problem.law)
        about |= {name: value for name, value in self.facts.carried.items() if isinstance(value, str)}
        if isinstance(problem, Motion):
            self.log = ImpactLog(problem, scheme, start, None if resumed is None else resumed.closing)
        super().__init__(output, start, resumed, changed or {}, about)

    def create(self, path: Path, output: Output, start: State, about: Mapping[str, str]) -> Writer:
        places = np.concatenate([np.ravel(to_host(q)) for q in (self.problem.q0, shown(start))])
        radii = to_host(self.problem.bodies.radii_at(start.t))
        dtype = sufficient(places, radii) if output.dtype is None else output.dtype
        check_precision(places, radii, dtype)
        form: dict[str, Any] = {"contacts": output.contacts, "dtype": dtype, "about": about, "facts": self.facts}
        return Writer(path, shape=start.q.shape, impacts=self.log is not None, **form)

    def add_frame(self, state: State) -> None:
        radii = self.problem.bodies.radii_at(state.t)
        if self.facts.walls_move:
            self.walls = drawable(self.problem.within, state.t, self.facts.dimension)
        frame = (shown(state), state.u, radii, *contacts_of(state))
        self.writer.frame(state.t, *frame, impulse_time=state.impulse_time, walls=self.walls, **self._turned(state))

    def _turned(self, state: State) -> dict[str, Any]:
        """How bodies are turned and turn, and the friction between them; empty if they do not turn."""
        turned = Turned.of(state)
        return {} if turned is None else turned._asdict()

    def record(self, before: State, after: State, h: float) -> tuple[Any, ...]:
        return record_of(self.problem, self.scheme, before, after, h)

    def found(self) -> tuple[Array, Any]:
        sol = read(self.path)
        return sol.t, sol.stats

    def check_options(self, output: Output) -> None:
        with reading(self.path) as file:
            before = layout.header(file).contacts, file[layout.POINTS].dtype
        dtype = before[1] if output.dtype is None else np.dtype(output.dtype)
        for name, now, old in zip(("contacts", "dtype"), (output.contacts, dtype), before, strict=True):
            if now != old:
                raise InvalidValue(
                    f"{self.path} was started with {name} = {old}, now it is {now}: resume with Output(..., "
                    f"{name}={old})"
                )

    def read(self) -> Solution:
        return read(self.path, self.problem, self.scheme)
