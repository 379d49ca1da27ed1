"""Reading of trajectory files as a `Solution` whose arrays stay in the file until they are needed.

The file is opened for each access and not kept open: a run may continue to write it, another process may resume it,
and it may be removed. `read` sees the frames that were acknowledged when it was called. Frames are compared with their
checksums.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jostle._tools.arguments import check_arguments
from jostle._tools.arrays import Array, Booleans, Integers
from jostle.errors import BrokenFile, InvalidValue
from jostle.io import layout
from jostle.io.growing import CHECKS, IMPACTS, LazyArray, about_run, no_frame, notes, read_records, read_steps
from jostle.io.hdf5 import holds_images, of_rows, reading, rows
from jostle.io.layout import facts_in
from jostle.io.polydata import balls_of
from jostle.problems import Motion, Sweeping
from jostle.result.facts import masses_of
from jostle.result.impacts import Impacts
from jostle.result.recording import STATISTICS
from jostle.result.solution import Solution
from jostle.schemes.base import Scheme
from jostle.sets.outlines import Shape

BLOCK_SIZE = 4 * 2**20
"""Number of bytes read at once when all frames are read."""


class Source:
    """A trajectory file: its header, the positions of its frames, and functions that read one frame."""

    def __init__(self, path: Path) -> None:
        self.path = path.absolute()
        with reading(path) as file:
            self.header = said = layout.header(file)
            self.shape, self.dtype = said.shape, layout.data(file, layout.POINTS, said).dtype
            self.index, self.stats = layout.index(file, said), read_steps(file, said.steps, STATISTICS)
            self.checks = rows(file, layout.data(file, CHECKS, said), 0, said.frames)[:, 1:]
            self.facts = facts_in(file, said)
            self._walls = layout.wall_table(file, int(self.index.state.max(initial=-1)) + 1)
        self.count, self.d = said.points
        made_of = self.facts.parts
        self.everybody = np.arange(self.count) if made_of is None else made_of.owner
        """(count,) the number of the body of each point."""
        if said.form != layout.Form.of(self.facts, said.contacts, said.form.impacts):
            raise BrokenFile(f"{path} is damaged: it does not have the inertia or the clumps of bodies that turn")
        self._known: tuple[int, tuple[Shape, ...]] = (-1, ())
        """The last state of the walls that was read, and its shapes."""
        self.index.t.setflags(write=False)
        lines = int(self.index.lines.sum()) // max(len(self.index.t), 1)
        self.block = max(BLOCK_SIZE // (8 * (self.count * self.d + 6 * lines + 1)), 1)
        """Number of frames read at once when all frames are read."""

    def columns(self, name: str, missing: Any, numbers: Integers, columns: slice) -> Array:
        """(k, n, columns): some columns of a data set of points in these ascending frames; `missing` if absent."""
        index, count = self.index, self.count
        out = np.empty((len(numbers), count, self.width(name, columns)))
        out[:] = missing
        with reading(self.path) as file:
            for run in np.split(np.arange(len(numbers)), np.flatnonzero(np.diff(numbers) != 1) + 1):
                if len(run) == 0:
                    continue
                frames = numbers[run]
                first, sizes = int(index.points_at[frames[0]]), index.points[frames]
                starts = index.points_at[frames] - first
                found = rows(file, layout.data(file, name, self.header), first, int((starts + sizes).max()))
                for k, frame, start, size in zip(run, frames, starts, sizes, strict=True):
                    some = self._checked(name, int(frame), found[start : start + size])
                    chosen = some[:, columns] if some.ndim == 2 else some[:, None]
                    out[k, slice(None) if size == count else self._body(file, frame)] = chosen
        return out if self.facts.parts is None else out[:, np.unique(self.everybody, return_index=True)[1]]

    def width(self, name: str, columns: slice) -> int:
        """The number of some columns of a data set of points."""
        return len(range(*self.header.form.of_bodies[name][1] or (1,))[columns])

    def radii(self, file: Any, frame: int) -> Array:
        """The radii of one frame, 0 for absent bodies."""
        out = np.zeros(self.count)
        n, at = int(self.index.points[frame]), int(self.index.radius_at[frame])
        out[self._body(file, frame)] = self._rows(file, layout.RADIUS, frame, at, n)
        return out

    def impulses(self, file: Any, frame: int) -> Array:
        """The multipliers p != 0 of one frame."""
        return np.asarray(self._cells(file, layout.IMPULSE, frame), dtype=float)

    def pairs(self, file: Any, frame: int) -> Integers:
        """The pairs of one frame."""
        first, second = (self._cells(file, name, frame).astype(np.int64) for name in (layout.FIRST, layout.SECOND))
        if self.facts.parts is not None:
            own = first >= 0
            first, second = (
                self._balls(file, frame, own, layout.FIRST_PART, first),
                self._balls(file, frame, own & (second >= 0), layout.SECOND_PART, second),
            )
        if ((first < -1) | (first >= self.count) | ((first >= 0) & (second >= self.count))).any():
            raise BrokenFile(f"{self.path} is damaged: a contact of frame {frame} is between bodies that do not exist")
        return np.stack([first, second], axis=1)

    def normals(self, file: Any, frame: int) -> Array:
        """The normals of one frame."""
        normals = np.asarray(self._cells(file, layout.NORMAL, frame), dtype=float).reshape(-1, 3)
        return normals[:, : int(self.index.components[frame])]

    def tangential(self, file: Any, frame: int) -> Array:
        """The impulses of friction of one frame."""
        return np.asarray(self._cells(file, layout.TANGENTIAL, frame), dtype=float).reshape(-1, 3)[:, : self.d]

    def _balls(self, file: Any, frame: int, own: Booleans, name: str, body: Integers) -> Integers:
        """The numbers of balls over all bodies, by their bodies and their numbers in them, where they are `own`."""
        part = self._cells(file, name, frame).astype(np.int64)
        last = int(self.everybody[-1])
        ball = np.searchsorted(self.everybody, np.clip(body, 0, last)) + part
        wrong = own & ((body > last) | (part < 0) | (ball >= self.count))
        wrong[own & ~wrong] = self.everybody[ball[own & ~wrong]] != body[own & ~wrong]
        if wrong.any():
            raise BrokenFile(f"{self.path} is damaged: a contact of frame {frame} is between balls that do not exist")
        return np.where(own, ball, body)

    def points(self, file: Any, frame: int) -> Array:
        """The points at which the impulses of one frame act."""
        return np.asarray(self._cells(file, layout.POINT, frame), dtype=float).reshape(-1, 3)[:, : self.d]

    def rolling(self, file: Any, frame: int) -> Array:
        """The angular impulses of rolling resistance of one frame."""
        moments = np.asarray(self._cells(file, layout.ROLLING, frame), dtype=float).reshape(-1, 3)
        return moments[:, 3 - self.header.form.axes :]

    def shapes(self, file: Any, frame: int) -> tuple[Shape, ...]:
        """The shapes of the walls at the time of one frame."""
        state, (known, shapes) = int(self.index.state[frame]), self._known
        if state != known:
            shapes = layout.shapes_in(file, self._walls, state, self.facts.dimension or self.d)
            self._known = state, shapes
        return shapes

    def _body(self, file: Any, frame: int) -> Any:
        n, at = int(self.index.points[frame]), int(self.index.body_at[frame])
        body = self._rows(file, layout.BODY, frame, at, n)
        if n and not 0 <= body.min() <= body.max() < self.count:
            raise BrokenFile(f"{self.path} is damaged: frame {frame} has bodies that do not exist")
        if self.facts.parts is None:
            return body
        balls = balls_of(self.everybody, body)
        if not np.array_equal(self.everybody[balls], body):
            raise BrokenFile(f"{self.path} is damaged: frame {frame} has parts of clumps")
        return balls

    def _cells(self, file: Any, name: str, frame: int) -> Any:
        lines, at = int(self.index.lines[frame]), int(self.index.data_at[frame])
        return self._rows(file, name, frame, at + 1, lines) if lines else np.zeros(0)

    def _rows(self, file: Any, name: str, frame: int, start: int, count: int) -> Any:
        return self._checked(name, frame, rows(file, layout.data(file, name, self.header), start, count))

    def _checked(self, name: str, frame: int, values: NDArray[Any]) -> NDArray[Any]:
        """The values of a frame in a data set, after comparison with their checksum."""
        if of_rows(values) != self.checks[frame, self.header.form.checked.index(name)]:
            raise BrokenFile(f"{self.path} is damaged: {name} of frame {frame} does not match its checksum")
        return values


class States(LazyArray):
    """(frames, ...): positions, velocities, turns or spins that stay in their file until they are indexed.

    >>> import tempfile
    >>> from pathlib import Path
    >>> from jostle.io.reading import read
    >>> from jostle.io.trajectory import Writer
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with Writer(Path(folder) / "run.vtkhdf", shape=(2,), about={}) as file:
    ...         for k in range(4):
    ...             file.frame(0.1 * k, [k, 10 * k], [1.0, 10.0])
    ...     q = read(Path(folder) / "run.vtkhdf").q
    ...     q, len(q), q[-1].tolist(), q[1:3].tolist(), q[[0, 2], 1].tolist(), np.asarray(q).sum()
    (States of shape (4, 2) in run.vtkhdf, 4, [3.0, 30.0], [[1.0, 10.0], [2.0, 20.0]], [0.0, 20.0], np.float64(66.0))
    """

    def __init__(self, source: Source, name: str, missing: Any, columns: slice, row: tuple[int, ...]) -> None:
        """Some columns of a data set of points, in the shape `row` for each frame."""
        super().__init__(source.path, (len(source.index.t), *row))
        self.source, self.block = source, source.block
        self._name, self._missing, self._columns = name, missing, columns

    def __repr__(self) -> str:
        return f"States of shape {self.shape} in {self.path.name}"

    def frames(self, numbers: Integers) -> Array:
        found = self.source.columns(self._name, self._missing, numbers, self._columns)
        return found.reshape(len(numbers), *self.shape[1:])


def source_of(sol: Solution) -> Source | None:
    """The file from which a solution was read; None if it is in memory."""
    q: Any = sol.q
    return q.source if isinstance(q, States) else None


class SavedImpacts:
    """The impacts in a file, which stay there until they are asked for."""

    def __init__(self, source: Source) -> None:
        self.source = source

    def __repr__(self) -> str:
        return f"{self.source.header.impacts} impacts in {self.source.path.name}"

    def blocks(self) -> Iterator[Impacts]:
        """The impacts, some at a time."""
        said = self.source.header
        kind, bodies = said.form.of_impacts, self.source.facts.bodies
        size = max(BLOCK_SIZE // kind.itemsize, 1)
        for start in range(0, max(said.impacts, 1), size):
            with reading(self.source.path) as file:
                data, count = layout.data(file, IMPACTS, said), min(size, said.impacts - start)
                yield Impacts.of(read_records(file, data, start, count, kind, "impact"), bodies)

    def faster_than(self, speed: float) -> Impacts:
        """The impacts whose gaps closed faster than this speed."""
        found = [block.faster_than(speed).records for block in self.blocks()]
        return Impacts.of(np.concatenate(found), self.source.facts.bodies)


class Ragged(Sequence[Any]):
    """A sequence of arrays, one per frame with its own length, that stays in the file."""

    def __init__(self, source: Source, one: Callable[[Any, int], Any]) -> None:
        self._source, self._one = source, one

    def __repr__(self) -> str:
        return f"{len(self)} times {self._one.__name__} in {self._source.path.name}"

    def __len__(self) -> int:
        return len(self._source.index.t)

    def __getitem__(self, index: Any) -> Any:
        frames = range(len(self))[index]
        with reading(self._source.path) as file:
            if isinstance(frames, range):
                return tuple(self._one(file, frame) for frame in frames)
            return self._one(file, frames)

    def __iter__(self) -> Iterator[Any]:
        for start in range(0, len(self), self._source.block):
            yield from self[start : start + self._source.block]


SINGLE_PRECISION = 1e-6
"""Relative difference of radii and masses that rounding to a file in single precision may cause."""


@check_arguments
def read(
    path: str | os.PathLike[str], problem: Motion | Sweeping | None = None, scheme: Scheme | None = None
) -> Solution:
    """Read a trajectory file of a run that has ended, is running or was killed.

    `q` and `u` are read when they are indexed (`sol.q[-1]`, `sol.q[10:20]`, `np.asarray(sol.q)`). The file also
    contains the facts needed to draw and measure the run, ``sol.facts`` and ``sol.shapes(k)``, and its impacts.

    Parameters
    ----------
    path : str or path
        Name of the file.
    problem : Motion or Sweeping, optional
        The problem that was solved; it allows `sol.gaps()`, up to the precision of the file. None: unknown.
    scheme : Scheme, optional
        The scheme that solved it. None: unknown.

    Returns
    -------
    Solution
        The frames that were written when `read` was called.

    Raises
    ------
    BrokenFile
        If the file is damaged, has no frame, or is not a trajectory of bodies.

    Examples
    --------
    >>> import jostle as jo, tempfile
    >>> from jostle.io.exports import write
    >>> ball = jo.Motion(q0=[[0.0, 1.0]], force=[[0.0, -10.0]], within=jo.HalfSpace([0.0, 1.0]))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = write(jo.solve(ball, jo.Maury(), t=1.0, h=0.01), Path(folder) / "ball.vtkhdf")
    ...     sol = read(path, ball)
    ...     sol.status, sol.q.shape, sol.q[10].round(3).tolist(), bool(sol.gaps().min() > -1e-6)
    ('finished', (101, 1, 2), [[0.0, 0.945]], True)
    """
    source = Source(Path(path))
    if len(source.index.t) == 0:
        with reading(source.path) as file:
            raise no_frame(file, Path(path))
    if not isinstance(problem, Motion | Sweeping | None):
        raise InvalidValue(f"problem must be a jo.Motion or a jo.Sweeping, not {problem!r}")
    if problem is not None and problem.q0.shape != source.shape:
        raise InvalidValue(f"q in {path} has shape {source.shape}, but the problem has q0 of shape {problem.q0.shape}")
    said = source.header
    if said.order and problem is not None and said.order != (2 if isinstance(problem, Motion) else 1):
        kinds = {1: "first-order (Sweeping)", 2: "second-order (Motion)"}
        raise InvalidValue(
            f"{path} is the run of a {kinds[said.order]} problem, but problem is a {type(problem).__name__}"
        )
    if problem is not None:
        _check_bodies(problem, source)
    places = layout.POINTS if source.facts.parts is None else layout.CENTRE
    form = slice(source.d), source.shape
    lazy = (States(source, places, np.nan, *form), States(source, layout.VELOCITY, 0.0, *form))
    contacts = (Ragged(source, source.impulses), Ragged(source, source.pairs), Ragged(source, source.normals))
    of_file: tuple[Any, ...] = (source.index.t, *lazy, *contacts, source.stats, said.status)
    return replace(
        Solution(problem, scheme, *of_file), radii=Ragged(source, source.radii),
        impulse_times=source.index.impulse_time, order=said.order, walls=None if said.walls < 0 else said.walls,
        contacts_saved=said.contacts, saved_facts=source.facts, saved_shapes=Ragged(source, source.shapes),
        recorded=SavedImpacts(source) if said.form.impacts else None, **_turned(source),
    )  # fmt: skip


def _turned(source: Source) -> dict[str, Any]:
    """The turns, spins and impulses of friction in a file, as a `Solution` has them; empty if bodies do not turn."""
    axes = source.header.form.axes
    if axes == 0:
        return {}
    n = source.count if source.facts.parts is None else len(source.facts.parts.inertia)
    spins: tuple[int, ...] = (n,) if axes == 1 else (n, 3)
    if axes == 1:
        turn = States(source, layout.TURN, 0.0, slice(1), (n,))
    else:
        turn = States(source, layout.ORIENTATION, [1.0, 0.0, 0.0, 0.0], slice(4), (n, 4))
    return {
        "orientation": turn,
        "spin": States(source, layout.SPIN, 0.0, slice(3 - axes, 3), spins),
        "tangential": Ragged(source, source.tangential),
        "rolling": Ragged(source, source.rolling),
        "points": Ragged(source, source.points),
    }


def _check_bodies(problem: Motion | Sweeping, source: Source) -> None:
    """Refuse a problem whose radii or masses are not those of the file."""
    t = float(source.index.t[0])
    with reading(source.path) as file:
        in_file = {"radius": source.radii(file, 0)}
    of_problem: dict[str, Any] = {"radius": problem.bodies.radii_at(t).ravel()}
    if source.facts.masses is not None:
        in_file["mass"] = source.facts.masses
        of_problem["mass"] = masses_of(problem)
    for name, saved in in_file.items():
        given = of_problem[name]
        if given is None or given.size not in (1, len(saved)):
            continue
        wrong = ~np.isclose(given, saved, rtol=SINGLE_PRECISION, atol=0.0) & (saved > 0.0)  # 0: not there, or a point
        if wrong.any():
            body = int(np.argmax(wrong))
            bodies = problem.bodies
            called = bodies.name(body) if name == "radius" else f"{bodies.called} {body}"
            raise InvalidValue(
                f"the {name} of {called} is {saved[body]:g} in {source.path.name} and "
                f"{np.broadcast_to(given, saved.shape)[body]:g} in the problem: give the problem that was solved"
            )


@check_arguments
def about(path: str | os.PathLike[str]) -> dict[str, str]:
    """Read the notes in a trajectory or an image file: versions, machine, scheme, and other stored data.

    The entry "changes" lists what was changed each time the run was resumed.

    Parameters
    ----------
    path : str or path
        Name of the file.

    Returns
    -------
    dict of str to str
        The notes, as last changed.

    Raises
    ------
    BrokenFile
        If the file is damaged.

    Examples
    --------
    >>> import tempfile
    >>> from jostle.io.trajectory import Writer
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     Writer(Path(folder) / "run.vtkhdf", shape=(3,), about={"seed": "7"}).close()
    ...     about(Path(folder) / "run.vtkhdf")
    {'seed': '7'}
    """
    with reading(Path(path)) as file:
        if not holds_images(file):
            layout.header(file)
        noted, lines = about_run(file), notes(file)
        for change in lines:
            noted |= {str(name): str(text) for name, text in change.get("about", {}).items()}
        return noted | ({"changes": "\n".join(map(_in_words, lines))} if lines else {})


def _in_words(change: Mapping[str, Any]) -> str:
    """A change as one line: when, at which step, and old and new values."""
    changed = change.get("changed", {})
    words = [f"{name} was {old}, now {new}" for name, (old, new) in changed.items()]
    words += [f"{name} changed" for name in change.get("about", {}) if name not in changed]
    where = f"resumed after step {change.get('step')}, t = {float(change.get('t', 0.0)):.6g}"
    return f"{change.get('when')}: {where}: {'; '.join(words)}"
