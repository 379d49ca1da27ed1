"""Frames that were added to a trajectory but not written yet, as rows of its data sets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jostle.io import frame_index, headers, layout, stored_facts, wall_states
from jostle.io.checksums import of_rows
from jostle.io.frame_index import Index
from jostle.io.pictures import Picture, Scene
from jostle.sets.shapes import Shape, same


class Pending:
    """Collects the rows to append to each data set of the file."""

    def __init__(self, file: Any, data: Mapping[str, Any], frames: int) -> None:
        """`file` is open, and cut to its first `frames` frames; `data` are its data sets by name."""
        said = headers.header(file)
        known = stored_facts.facts_in(file, said.shape, said.order, said.walls)
        form = {"dtype": data[layout.POINTS].dtype, "dimension": said.dimension, "rods": known.rods}
        self.scene = Scene(said.shape, contacts=said.contacts, **form)
        self.blocks: dict[str, list[NDArray[Any]]] = {name: [] for name in data}
        self.bytes = 0
        self.frames = frames
        """Number of frames in the file."""
        self._length = {name: int(one.shape[0]) for name, one in data.items()}
        """Lengths of the data sets, including added rows."""
        self._rows: list[tuple[float, ...]] = []
        self._checks: list[list[int]] = []
        self._no_contact = {
            name: np.zeros((1, *one.shape[1:]), one.dtype) for name, one in data.items() if name in layout.CELL_DATA
        }
        """Cell data of the cell that contains all bodies."""
        self._wall = {name: zero - (zero.dtype.kind == "i") for name, zero in self._no_contact.items()}
        """Cell data of a line of a wall, with -1 as body numbers."""
        self._known: dict[str, tuple[NDArray[Any], int, int]] = {}
        """The last values of body and radius, their positions in the file, and their checksums."""
        self._walls: tuple[Sequence[Shape], int] | None = None
        """The last shapes of the walls, and the number of their state."""
        self._dimension = said.dimension or self.scene.d
        if frames:
            self._remember(file, frame_index.index(file, said._replace(frames=frames)))

    def __len__(self) -> int:
        """Number of frames that are not written yet."""
        return len(self._rows)

    def _remember(self, file: Any, index: Index) -> None:
        """Read the values of the last frame that are stored only when they change."""
        n = int(index.points[-1])
        for name, at in ((layout.BODY, int(index.body_at[-1])), (layout.RADIUS, int(index.radius_at[-1]))):
            self._known[name] = file[name][at:], at, of_rows(file[name][at : at + n])
        state = int(index.state[-1])
        table = wall_states.table_of(file, state + 1)
        self._walls = wall_states.shapes_in(file, table, state, self._dimension), state

    def add(self, name: str, values: NDArray[Any]) -> int:
        """Add rows to a data set, and return the position of the first row."""
        at = self._length[name]
        self.blocks[name].append(values)
        self._length[name] = at + len(values)
        self.bytes += values.nbytes
        return at

    def add_frame(self, t: float, duration: float, state: Sequence[Any], shapes: Sequence[Shape]) -> None:
        """Add a frame: q, u, radii, pairs, multipliers, normals, and the shapes of the walls."""
        walls = tuple(shapes)
        changed = self._changed(walls)
        q, u, radii, pairs, multipliers, normals = state
        picture = self.scene.picture(q, u, radii, pairs, multipliers, normals, walls)
        number = self._add_walls(walls, changed)
        n, lines = picture.n, len(picture.walls.ends)
        points_at = self.add(layout.POINTS, picture.points)
        self.add(layout.VELOCITY, picture.velocity)
        body_at, body_check = self._add_new(layout.BODY, picture.body, n)
        radius_at, radius_check = self._add_new(layout.RADIUS, picture.radius, n)
        cells_at, ends_at = self._add_lines(picture)
        data_at, of_contacts = self._add_contacts(picture, lines)
        m, components = (
            (0, 0) if picture.touching is None else (len(picture.touching.impulse), picture.touching.components)
        )
        checks = [of_rows(picture.points[:n]), of_rows(picture.velocity[:n]), body_check, radius_check, *of_contacts]
        self._checks.append(checks + [0] * (len(layout.CHECKED) - len(checks)))
        starts = (points_at, body_at, radius_at, cells_at, ends_at, data_at)
        of_walls = (len(picture.walls.points), lines, len(picture.walls.joined), number)
        self._rows.append((t, duration, n, m, components, *starts, *of_walls))

    def _add_lines(self, picture: Picture) -> tuple[int, int]:
        offsets = np.pad(picture.ends, (1, 0)) if len(picture.ends) else np.array([0, 2], dtype=np.int32)
        cells_at = self.add(layout.OFFSETS, offsets) - self.frames - len(self._rows)
        return cells_at, self.add(layout.ENDS, picture.joined)

    def _add_contacts(self, picture: Picture, lines: int) -> tuple[int, list[int]]:
        """Add the cell data; return their position, and the checksums of those of the contacts."""
        touching = picture.touching
        if touching is None:
            return 0, []
        at, checks = self._length[layout.IMPULSE], []
        values = (touching.impulse, touching.normal, touching.first, touching.second)
        for name, value in zip(layout.CELL_DATA, values, strict=True):
            for block in (self._no_contact[name][: min(picture.n, 1)], value, self._wall[name][[0] * lines]):
                self.add(name, block)
            checks.append(of_rows(value))
        return at, checks

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
        return wall_states.rows_of(shapes, self._dimension)

    def _add_walls(self, shapes: Sequence[Shape], rows: dict[str, NDArray[Any]]) -> int:
        """Add a state of the walls, if there is a new one, and return its number."""
        for name, values in rows.items():
            self.add(name, values)
        if rows:
            self._walls = shapes, 0 if self._walls is None else self._walls[1] + 1
        return 0 if self._walls is None else self._walls[1]

    def add_tables(self) -> None:
        """Set the rows of the data sets with one row per frame; the call may be repeated."""
        numbers = np.arange(self.frames, self.frames + len(self._rows))
        t, duration = np.array([row[:2] for row in self._rows], dtype=float).T
        index = Index(t, duration, *np.array([row[2:] for row in self._rows], dtype=np.int64).T)
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
            layout.DURATION: duration,
            layout.CHECKS: np.column_stack([index.checks(), checks]),
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
        """Note that all rows are in the file."""
        self.frames += len(self._rows)
        self.blocks = {name: [] for name in self.blocks}
        self._rows, self._checks, self.bytes = [], [], 0
