"""Writing of trajectory files during a run; the files survive a killed process: see `Writer`.

A q of shape (n, d) with d <= 3 is stored as n points, and so is a q of shape (n d,) if the dimension d of a body is
known. Any other q is stored as one point per entry, on the x axis. A body whose q is NaN is absent. A contact with a
wall, a constraint on the whole configuration, or a contact with an absent body is a line from a point to itself.
Contacts of a frame without bodies, and normals with more than three components, are not stored. `jostle.io.layout`
describes the file. A new file appears under its name only when it is complete.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from jostle._tools.arguments import check_arguments
from jostle.errors import InvalidValue
from jostle.io import layout
from jostle.io.growing import (
    CHECKS,
    FRAME_CHUNK,
    IMPACTS,
    Counts,
    GrowingFile,
    Pending,
    create_data,
    create_file,
    create_run,
    record_type,
)
from jostle.io.hdf5 import of_rows
from jostle.io.layout import facts_in, write_facts
from jostle.io.polydata import Converter, Touching, points_of
from jostle.result.facts import Facts
from jostle.result.recording import STATISTICS, Turned
from jostle.sets.outlines import Shape, same

MIN_CHUNK, MAX_CHUNK = 1024, 32768
"""Smallest and largest number of rows per chunk of data sets with rows per body or contact."""
STATE_CHUNK = 64
"""Number of rows per chunk of data sets with rows per state of the walls."""


def _fill(
    file: Any, shape: tuple[int, ...], form: layout.Form, dtype: DTypeLike, facts: Facts, about: Mapping[str, str]
) -> None:
    """Create the groups and data sets of a trajectory without frames."""
    count = form.balls or points_of(shape, facts.dimension)[0]
    chunk = min(max(2 ** int(count - 1).bit_length(), MIN_CHUNK), MAX_CHUNK)
    for columns, rows in ((form.of_frames, FRAME_CHUNK), (form.of_bodies, chunk), (layout.WALL_COLUMNS, STATE_CHUNK)):
        for name, (kind, row) in columns.items():
            fill = 1 if name == layout.PARTS else None
            create_data(file, name, dtype if kind is None else kind, row, rows, fillvalue=fill)
    if form.impacts:
        create_data(file, IMPACTS, record_type(form.of_impacts), (), FRAME_CHUNK)
    write_facts(file, facts)
    create_data(file, "VTKHDF/Polygons/Connectivity", np.int64, (), FRAME_CHUNK)
    file.create_dataset(layout.EVERYBODY, data=np.arange(max(count, 1), dtype=np.int32))
    for name, other in form.links.items():
        file[name] = file[other]
    vtk, run = file["VTKHDF"].attrs, create_run(file, STATISTICS, about)
    vtk["Version"], vtk["Type"] = np.array([2, 2]), np.bytes_("PolyData")
    run["format"], run["shape"], run["contacts"] = layout.FORMAT, np.array(shape, dtype=np.int64), form.contacts
    run["dimension"] = facts.dimension
    run.update({name: value for name, value in (("axes", form.axes), ("balls", form.balls)) if value})
    run["order"], run["walls"] = facts.order, -1 if facts.walls is None else facts.walls


class PendingFrames(Pending):
    """Frames that were added to a trajectory but not written yet, as rows of its data sets."""

    def __init__(self, file: Any, data: Mapping[str, Any], frames: int) -> None:
        """`file` is open, and cut to its first `frames` frames; `data` are its data sets by name."""
        super().__init__(data, frames)
        said = layout.header(file)
        known = facts_in(file, said)
        form = {"dtype": data[layout.POINTS].dtype, "dimension": said.dimension, "rods": known.rods}
        self.converter = Converter(said.shape, contacts=said.contacts, bodies=known.bodies, **form)
        self.form = said.form
        self._rows: list[tuple[float, ...]] = []
        self._checks: list[list[int]] = []
        self._no_contact = {
            name: np.zeros((1, *one.shape[1:]), one.dtype)
            for name, one in data.items()
            if name in (*layout.CELL_DATA, *said.form.of_cells)
        }
        """Cell data of the cell that contains all bodies."""
        self._wall = {name: zero - (zero.dtype.kind == "i") for name, zero in self._no_contact.items()}
        """Cell data of a line of a wall, with -1 as body numbers."""
        self._known: dict[str, tuple[NDArray[Any], int, int]] = {}
        """The last values of body and radius, their positions in the file, and their checksums."""
        self._walls: tuple[Sequence[Shape], int] | None = None
        """The last shapes of the walls, and the number of their state."""
        self._dimension = said.dimension or self.converter.d
        if frames:
            self._remember(file, layout.index(file, said._replace(frames=frames)))

    def _remember(self, file: Any, index: layout.Index) -> None:
        """Read the values of the last frame that are stored only when they change."""
        n = int(index.points[-1])
        for name, at in ((layout.BODY, int(index.body_at[-1])), (layout.RADIUS, int(index.radius_at[-1]))):
            self._known[name] = file[name][at:], at, of_rows(file[name][at : at + n])
        state = int(index.state[-1])
        table = layout.wall_table(file, state + 1)
        self._walls = layout.shapes_in(file, table, state, self._dimension), state

    def add_frame(
        self, t: float, impulse_time: float, state: Sequence[Any], shapes: Sequence[Shape], turned: Turned | None
    ) -> None:
        """Add a frame: q, u, radii, pairs, multipliers, normals, the shapes of the walls, and how bodies turn."""
        walls = tuple(shapes)
        changed = self._changed(walls)
        q, u, radii, pairs, multipliers, normals = state
        data = self.converter.polydata(q, u, radii, pairs, multipliers, normals, walls, turned)
        number = self._add_walls(walls, changed)
        n, lines = data.n, len(data.walls.ends)
        body_at, body_check = self._add_new(layout.BODY, data.body, n)
        radius_at, radius_check = self._add_new(layout.RADIUS, data.radius, n)
        checks = {layout.BODY: body_check, layout.RADIUS: radius_check}
        points_at = self._length[layout.POINTS]
        of_points = {name: data.more[name.rpartition("/")[2]] for name in self.form.of_points}
        for name, values in {layout.POINTS: data.points, layout.VELOCITY: data.velocity, **of_points}.items():
            self.add(name, values)
            checks[name] = of_rows(values[:n])
        offsets = np.pad(data.ends, (1, 0)) if len(data.ends) else np.array([0, 2], dtype=np.int32)
        cells_at = self.add(layout.OFFSETS, offsets) - self.frames - len(self._rows)
        ends_at = self.add(layout.ENDS, data.joined)
        m = components = data_at = 0
        if data.touching is not None:
            m, components = len(data.touching.impulse), data.touching.components
            data_at = self._length[layout.IMPULSE]
            checks |= self._add_contacts(data.touching, min(n, 1), lines)
        self._checks.append([checks.get(name, 0) for name in self.form.checked])
        starts = (points_at, body_at, radius_at, cells_at, ends_at, data_at)
        of_walls = (len(data.walls.points), lines, len(data.walls.joined), number)
        self._rows.append((t, impulse_time, n, m, components, *starts, *of_walls))
        self.added += 1

    def _add_contacts(self, touching: Touching, cells: int, lines: int) -> dict[str, int]:
        """Add the cell data: those of the cell of all bodies, of the contacts and of walls; return their checksums."""
        values = (touching.impulse, touching.normal, touching.first, touching.second, *touching.more.values())
        checks = {}
        for name, value in zip((*layout.CELL_DATA, *self.form.of_cells), values, strict=True):
            for block in (self._no_contact[name][:cells], value, self._wall[name][[0] * lines]):
                self.add(name, block)
            checks[name] = of_rows(value)
        return checks

    def _add_new(self, name: str, values: NDArray[Any], n: int) -> tuple[int, int]:
        """Add rows if they differ from the last ones; return their position, and the checksum of the first n."""
        if name not in self._known or not np.array_equal(values, self._known[name][0]):
            values = values.copy()
            self._known[name] = values, self.add(name, values), of_rows(values[:n])
        return self._known[name][1:]

    def _changed(self, shapes: Sequence[Shape]) -> dict[str, NDArray[Any]]:
        """The rows to add for these walls; none if they are those of the previous frame."""
        if self._walls is not None and same(shapes, self._walls[0]):
            return {}
        return layout.wall_rows(shapes, self._dimension)

    def _add_walls(self, shapes: Sequence[Shape], rows: dict[str, NDArray[Any]]) -> int:
        """Add a state of the walls, if there is a new one, and return its number."""
        for name, values in rows.items():
            self.add(name, values)
        if rows:
            self._walls = shapes, 0 if self._walls is None else self._walls[1] + 1
        return 0 if self._walls is None else self._walls[1]

    def add_tables(self) -> None:
        numbers = np.arange(self.frames, self.frames + len(self._rows))
        t, impulse_time = np.array([row[:2] for row in self._rows], dtype=float).T
        index = layout.Index(t, impulse_time, *np.array([row[2:] for row in self._rows], dtype=np.int64).T)
        n, none = index.points, np.zeros_like(numbers)
        checks = np.array(self._checks, dtype=np.uint32)
        rows = {
            layout.TIME: t,
            layout.PART: numbers,
            layout.COUNT: n + index.wall_points,
            layout.CELLS: n > 0,
            layout.BODIES: n,
            layout.LINES: index.lines + index.wall_lines,
            layout.LINE_ENDS: 2 * index.lines + index.wall_ends,
            layout.COMPONENTS: index.components,
            layout.IMPULSE_TIME: impulse_time,
            CHECKS: np.column_stack([index.checks(), checks]),
            layout.WALLS: np.stack([index.wall_points, index.wall_lines, index.wall_ends, index.state], axis=1),
            layout.POINTS_AT: index.points_at,
            layout.BODY_AT: index.body_at,
            layout.RADIUS_AT: index.radius_at,
            layout.CELLS_AT: np.stack([numbers, index.cells_at, none, none], axis=1),
            layout.ENDS_AT: np.stack([none, index.ends_at, none, none], axis=1),
            layout.DATA_AT: index.data_at,
            layout.VERTICES: np.stack([none, n], axis=1).ravel(),
        }
        for name, values in rows.items():
            if name in self.blocks:
                self.blocks[name] = [values]

    def written(self) -> None:
        super().written()
        self._rows, self._checks = [], []


NO_PAIRS, NO_MULTIPLIERS, NO_NORMALS = np.zeros((0, 2), dtype=np.int64), np.zeros(0), np.zeros((0, 0))
"""Arrays of a frame without contacts."""


@check_arguments
class Writer(GrowingFile):
    """A trajectory file that grows during a run, can be read meanwhile, and survives a killed process.

    Frames are collected, and written after half a second or a few megabytes. The first `acknowledged` frames are then
    safe if the process ends, but not if the machine does: the writer does not wait for the disk.

    Parameters
    ----------
    path : str or path
        Name of the new file, .vtkhdf.
    shape : tuple of int
        Shape of q.
    contacts : bool, default False
        Whether contacts are stored.
    impacts : bool, default False
        Whether impacts are stored.
    dtype : float32 or float64, default float32
        Precision of positions and velocities.
    facts : Facts, optional
        Facts about the problem. None: unknown.
    about : mapping of str to str
        Notes to store in the file.

    Attributes
    ----------
    acknowledged : int
        Number of frames that are written.
    acknowledged_steps : int
        Number of step records that are written.
    broken : bool
        Whether a write failed; nothing more can be written then.

    Raises
    ------
    FileIsThere
        If the file exists already.

    Examples
    --------
    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> with Writer(Path(folder.name) / "run.vtkhdf", shape=(2, 2), about={"seed": "7"}) as file:
    ...     file.frame(0.0, [[0, 0], [2, 0]], np.zeros((2, 2)), radii=1.0)
    ...     file.commit()
    ...     file.acknowledged
    1
    >>> folder.cleanup()
    """

    constant = layout.CONSTANT
    statistics = STATISTICS
    _pending: PendingFrames

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        shape: tuple[int, ...],
        contacts: bool = False,
        impacts: bool = False,
        dtype: DTypeLike = np.float32,
        facts: Facts | None = None,
        about: Mapping[str, str],
    ) -> None:

        if np.dtype(dtype) not in (np.float32, np.float64):
            raise InvalidValue(f"dtype must be float32 or float64, not {np.dtype(dtype)}")
        known = Facts() if facts is None else facts
        if known.order not in (0, 1, 2):
            raise InvalidValue(f"order must be 2 for a Motion or 1 for a Sweeping, not {known.order!r}")
        self.path, form = Path(path), layout.Form.of(known, contacts, impacts)
        create_file(self.path, lambda file: _fill(file, tuple(int(k) for k in shape), form, dtype, known, about))
        self._start(Counts(), new=True)

    @classmethod
    def data_sets(cls, file: Any) -> dict[str, Any]:
        said = layout.header(file)
        return {name: layout.data(file, name, said) for name in said.form.growing}

    @classmethod
    def lengths(cls, file: Any, kept: Counts) -> dict[str, int]:
        return layout.lengths(file, kept)

    def impacts(self, records: ArrayLike) -> None:
        """Add impacts, in order of time, to a file with ``impacts=True``.

        Parameters
        ----------
        records : array_like of `result.impacts.impact_type` records
            One impact, or several.
        """
        if not self._pending.form.impacts:
            raise InvalidValue(f"{self.path} was created without impacts: give Writer(..., impacts=True)")
        self._add_records(IMPACTS, self._pending.form.of_impacts, records)

    def _rows(self, data: Mapping[str, Any], frames: int) -> PendingFrames:
        return PendingFrames(self._file, data, frames)

    def frame(
        self,
        t: float,
        q: ArrayLike,
        u: ArrayLike,
        radii: ArrayLike = 0.0,
        pairs: ArrayLike = NO_PAIRS,
        multipliers: ArrayLike = NO_MULTIPLIERS,
        normals: ArrayLike = NO_NORMALS,
        impulse_time: float = np.nan,
        walls: Sequence[Shape] = (),
        orientation: ArrayLike | None = None,
        spin: ArrayLike | None = None,
        tangential: ArrayLike | None = None,
        rolling: ArrayLike | None = None,
        points: ArrayLike | None = None,
    ) -> None:
        """Add a frame.

        Parameters
        ----------
        t : float
            Time of the frame.
        q : array_like, of the shape of q
            Positions; NaN for absent bodies.
        u : array_like, of the shape of q
            Velocities.
        radii : float or array_like, shape (n,), default 0.0
            Radii of the bodies.
        pairs : array_like of int, shape (m, 2), optional
            Bodies in contact, as in `Solution`. Default: no contacts.
        multipliers : array_like, shape (m,), optional
            Multipliers of the contacts.
        normals : array_like, shape (m, d), optional
            Normals of the contacts.
        impulse_time : float, default nan
            Time over which the multipliers acted; NaN if unknown.
        walls : sequence of Shape, default ()
            Shapes of the walls at this time, see `jostle.sets.outlines`.
        orientation : array_like, shape (n,) or (n, 4), optional
            How bodies are turned, as in `Solution`; given for bodies that turn, if the facts have their inertia.
        spin : array_like, shape (n,) or (n, 3), optional
            Spins of bodies that turn. Default: 0.
        tangential : array_like, shape (m, d), optional
            Impulses of friction in the contacts. Default: 0.
        rolling : array_like, shape (m, 1) or (m, 3), optional
            Angular impulses of rolling resistance in the contacts. Default: 0.
        points : array_like, shape (m, d), optional
            Where contacts act. None: on the surfaces of their first balls.
        """
        self._check_open()
        turned = None
        if orientation is not None:
            given, m = np.asarray(orientation), len(np.asarray(multipliers))
            axes, d = (1, 2) if given.ndim == 1 else (3, 3)
            turned = Turned(
                given,
                np.asarray(np.zeros(given.shape[:1] + (3,) * (axes == 3)) if spin is None else spin),
                np.asarray(np.zeros((m, d)) if tangential is None else tangential),
                np.asarray(np.zeros((m, axes)) if rolling is None else rolling),
                None if points is None else np.asarray(points),
            )
        self._pending.add_frame(t, impulse_time, (q, u, radii, pairs, multipliers, normals), walls, turned)
        self.commit_if_due()
