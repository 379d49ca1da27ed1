"""The format of a trajectory file: data sets, header, index of its frames, facts about the problem, cuts of a file.

The group /VTKHDF is a PolyData with many time steps, as VTK 9.4, ParaView 5.13 and later versions read it:

    Points, PointData/velocity, body, radius         the bodies present, then points of walls and rods, by frame
    Vertices                                         one cell of all bodies, so that ParaView shows them
    Lines                                            one line per contact with p != 0, then those of walls and rods
    CellData/impulse, normal                         data of each cell, only if contacts are stored
    CellData/first_body, second_body                 the pair of each contact
    PointData/spin, orientation                      of bodies that turn: spins, quaternions (w, x, y, z)
    PointData/turn                                   of bodies that turn in the plane: angles
    PointData/part, centre                           of clumps: the number of each ball in its body; the centres of mass
    CellData/tangential, rolling                     the impulses of friction and of rolling resistance
    CellData/point                                   of bodies that turn: where the impulses act; NaN for other rows
    CellData/first_part, second_part                 of clumps: the numbers of both balls in their bodies
    Polygons, Strips                                 empty
    Steps                                            times, and the positions at which the entries of each frame begin

PointData/body are the body numbers, -1 for points of walls. body and radius are stored only when they change, and
Steps/PointDataOffsets points to the last change. CellData has one entry for the cell of all bodies, then those of the
contacts, whose two bodies are the pair of `Contacts.pairs`, then those of the walls, whose bodies are -1. Data of
points and of cells share no name: readers such as pyvista look a name up in both.

The points of clumps are their balls: "clump 2, ball 1" has the body 2 and the part 1, as `Bodies.name` says. velocity,
spin, orientation and centre are those of the body, the same for all of its balls.

VTK finds the beginning of the Lines/Offsets of a frame in two ways: up to 9.4 as CellOffsets + (frames before), later
by counting frames until their cells sum up to CellOffsets. Both agree if each frame advances CellOffsets by at least
one, so a frame without lines leaves one entry unused. (A cell without points instead makes vtkCellCenters crash.)

Only jostle reads the group /jostle.

    about           the notes of the writer about the run, as JSON
    steps           the statistics of the steps
    impacts         the impacts of a second-order problem, in order of time, as `result.impacts.impact_type` has them
    normals         the number of components of the normals of each frame
    impulse_times   the time over which the multipliers of each frame acted: a force is p / impulse_time
    checksums       checksums of the data of each frame
    walls/points    (k, 3) the points of the shapes of all walls, one shape after the other; see `jostle.sets.outlines`
    walls/shapes    (k, 2) for each shape, the position of its kind in `KINDS` and its number of points
    walls/states    (k, 3) for each state of the walls, the numbers of shapes and points, and a checksum
    walls/frames    for each frame, the numbers of points, of lines and of ends of lines that VTK draws, and the number
                    of the state of the walls; a state is stored again only when it changes
    problem         facts about the problem, see `write_facts`
    changes         lines of JSON, one for each time the run was resumed with changed settings

The attributes of /jostle/run are the number of axes about which bodies turn (only if they do), the number of balls
(only of clumps), the shape of q, the dimension of the space of one body (0 if unknown), the order of
the problem (2 for `Motion`, 1 for `Sweeping`, 0 if unknown), the number of walls (-1 if unknown), the status, and the
numbers of valid step records, of valid impacts and of valid bytes of changes. Steps/NSteps is the number of valid
frames.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, NamedTuple

import h5py
import numpy as np
from numpy.typing import DTypeLike, NDArray

from jostle._tools.arrays import Array, Integers
from jostle._tools.rotations import AXES
from jostle.bodies import Parts
from jostle.errors import BrokenFile, InvalidValue
from jostle.io.growing import CHECKS, IMPACTS, STEPS, Counts, counts, record_type, status_of, steps_in
from jostle.io.hdf5 import Checks, data_set, holds_images, inside, of_records, of_rows, rows
from jostle.io.polydata import points_of
from jostle.result.facts import Facts, Groups, SavedRods, Units
from jostle.result.impacts import impact_type
from jostle.result.recording import STATISTICS
from jostle.sets.outlines import KINDS, Shape, checked

Column = tuple[DTypeLike | None, tuple[int, ...]]
"""The type of a data set, None for the precision of the file, float32 or float64; and the shape of a row."""

FORMAT = 1
"""Version of the format of trajectories."""

BODY = "VTKHDF/PointData/body"
RADIUS = "VTKHDF/PointData/radius"
POINTS = "VTKHDF/Points"
VELOCITY = "VTKHDF/PointData/velocity"
VERTICES = "VTKHDF/Vertices/Offsets"
OFFSETS = "VTKHDF/Lines/Offsets"
ENDS = "VTKHDF/Lines/Connectivity"
IMPULSE, NORMAL, FIRST, SECOND = CELL_DATA = tuple(
    f"VTKHDF/CellData/{name}" for name in ("impulse", "normal", "first_body", "second_body")
)
EVERYBODY = "VTKHDF/Vertices/Connectivity"
NOTHING = "VTKHDF/Polygons/NumberOfCells"
PARTS = "VTKHDF/Steps/NumberOfParts"
CONSTANT = (NOTHING, PARTS)
"""Data sets that contain only their fill values, 0 and 1, and take no space."""

TIME = "VTKHDF/Steps/Values"
PART = "VTKHDF/Steps/PartOffsets"
COUNT = "VTKHDF/NumberOfPoints"
CELLS = "VTKHDF/Vertices/NumberOfCells"
BODIES = "VTKHDF/Vertices/NumberOfConnectivityIds"
"""Number of bodies in each frame."""
LINES = "VTKHDF/Lines/NumberOfCells"
LINE_ENDS = "VTKHDF/Lines/NumberOfConnectivityIds"
COMPONENTS = "jostle/normals"
IMPULSE_TIME = "jostle/impulse_times"
WALLS = "jostle/walls/frames"
POINTS_AT = "VTKHDF/Steps/PointOffsets"
BODY_AT = "VTKHDF/Steps/PointDataOffsets/body"
RADIUS_AT = "VTKHDF/Steps/PointDataOffsets/radius"
CELLS_AT = "VTKHDF/Steps/CellOffsets"
ENDS_AT = "VTKHDF/Steps/ConnectivityIdOffsets"
DATA_AT = "VTKHDF/Steps/CellDataOffsets/impulse"

LINKS = {
    "VTKHDF/Steps/PointDataOffsets/velocity": POINTS_AT,
    "VTKHDF/Polygons/NumberOfConnectivityIds": NOTHING,
    "VTKHDF/Polygons/Offsets": NOTHING,
    "VTKHDF/Strips": "VTKHDF/Polygons",
}
"""Second names of data sets, in place of equal data sets."""
CHECKED = (POINTS, VELOCITY, BODY, RADIUS, *CELL_DATA)
"""Data sets with a checksum for the rows of each frame; the checksum of its entries in the tables comes first."""
LINKS_OF_CONTACTS = {name.replace("/CellData/", "/Steps/CellDataOffsets/"): DATA_AT for name in CELL_DATA[1:]}
SPIN, ORIENTATION, TURN, BALL, CENTRE = OF_TURNING = tuple(
    f"VTKHDF/PointData/{name}" for name in ("spin", "orientation", "turn", "part", "centre")
)
TANGENTIAL, ROLLING, POINT, FIRST_PART, SECOND_PART = CELLS_OF_TURNING = tuple(
    f"VTKHDF/CellData/{name}" for name in ("tangential", "rolling", "point", "first_part", "second_part")
)


class Form(NamedTuple):
    """What a file stores besides the states of balls that do not turn."""

    contacts: bool = False
    axes: int = 0
    """Number of axes about which bodies turn: 1 in the plane, 3 in space, 0 if they do not turn."""
    balls: int = 0
    """Number of balls of clumps; 0 if each body is one ball."""
    impacts: bool = False

    @classmethod
    def of(cls, facts: Facts, contacts: bool, impacts: bool) -> Form:
        """The form of the file of a problem."""
        axes = 0 if facts.inertia is None else facts.inertia.shape[1]
        return cls(contacts, axes, 0 if facts.parts is None else len(facts.parts.owner), impacts)

    @property
    def of_impacts(self) -> np.dtype[Any]:
        """The type of an impact: with the impulse of friction if bodies turn."""
        return impact_type(next((d for d, axes in AXES.items() if axes == self.axes), 0))

    @property
    def of_points(self) -> dict[str, Column]:
        """The data sets of points of bodies that turn."""
        if self.axes == 0:
            return {}
        columns: dict[str, Column] = {SPIN: (None, (3,)), ORIENTATION: (None, (4,))}
        if self.axes == 1:
            columns[TURN] = None, ()
        return columns | ({BALL: (np.int32, ()), CENTRE: (None, (3,))} if self.balls else {})

    @property
    def of_cells(self) -> dict[str, Column]:
        """The data sets of contacts of bodies that turn."""
        if not (self.axes and self.contacts):
            return {}
        columns: dict[str, Column] = dict.fromkeys((TANGENTIAL, ROLLING, POINT), (None, (3,)))
        return columns | (dict.fromkeys((FIRST_PART, SECOND_PART), (np.int32, ())) if self.balls else {})

    @property
    def checked(self) -> tuple[str, ...]:
        """Data sets with a checksum for the rows of each frame."""
        return (*CHECKED, *self.of_points, *self.of_cells)

    @property
    def links(self) -> dict[str, str]:
        """Second names of data sets, in place of equal data sets."""
        steps = {f"VTKHDF/Steps/PointDataOffsets/{name.rpartition('/')[2]}": POINTS_AT for name in self.of_points}
        steps |= {f"VTKHDF/Steps/CellDataOffsets/{name.rpartition('/')[2]}": DATA_AT for name in self.of_cells}
        return LINKS | (LINKS_OF_CONTACTS if self.contacts else {}) | steps

    @property
    def of_frames(self) -> dict[str, Column]:
        """The data sets with one row per frame."""
        numbers = [PART, COUNT, CELLS, POINTS_AT, BODY_AT, RADIUS_AT, NOTHING, PARTS, LINES, LINE_ENDS, BODIES]
        numbers += [DATA_AT] if self.contacts else []
        columns: dict[str, Column] = dict.fromkeys(numbers, (np.int64, ()))
        columns |= {TIME: (np.float64, ()), CELLS_AT: (np.int64, (4,)), ENDS_AT: (np.int64, (4,))}
        columns |= {
            IMPULSE_TIME: (np.float64, ()),
            CHECKS: (np.uint32, (1 + len(self.checked),)),
            WALLS: (np.int64, (4,)),
        }
        return columns | ({COMPONENTS: (np.int8, ())} if self.contacts else {})

    @property
    def of_bodies(self) -> dict[str, Column]:
        """The data sets with rows per body, contact or line of a wall."""
        columns: dict[str, Column] = {
            POINTS: (None, (3,)), VELOCITY: (None, (3,)), BODY: (np.int32, ()), RADIUS: (None, ()),
            VERTICES: (np.int32, ()), OFFSETS: (np.int32, ()), ENDS: (np.int32, ()),
        }  # fmt: skip
        of_contacts: dict[str, Column] = {
            IMPULSE: (None, ()), NORMAL: (None, (3,)), FIRST: (np.int32, ()), SECOND: (np.int32, ()),
        }  # fmt: skip
        return columns | (of_contacts if self.contacts else {}) | self.of_points | self.of_cells

    @property
    def columns(self) -> dict[str, Column]:
        """All data sets that grow, but the step records and the impacts."""
        return {**self.of_frames, **self.of_bodies, **WALL_COLUMNS}

    @property
    def growing(self) -> tuple[str, ...]:
        """The names of all data sets that grow."""
        return (*self.columns, STEPS, *((IMPACTS,) if self.impacts else ()))


WALL_CORNERS, WALL_SHAPES, WALL_STATES = "jostle/walls/points", "jostle/walls/shapes", "jostle/walls/states"
"""Data sets of the walls: corners, shapes, and the shapes of each state."""
WALL_COLUMNS: dict[str, Column] = {
    WALL_CORNERS: (np.float64, (3,)), WALL_SHAPES: (np.int64, (2,)), WALL_STATES: (np.int64, (3,)),
}  # fmt: skip
"""Data sets of the walls, with their types and the shapes of their rows."""


def wall_rows(shapes: Sequence[Shape], d: int) -> dict[str, NDArray[Any]]:
    """The rows to add to each data set for a new state of the walls."""
    for shape in shapes:
        if shape.points.shape[1] != d:
            raise InvalidValue(f"the walls have dimension {shape.points.shape[1]}, the bodies {d}")
    corners = np.zeros((sum(len(shape.points) for shape in shapes), 3))
    if len(corners):
        corners[:, :d] = np.concatenate([shape.points for shape in shapes])
    table = np.array([(KINDS.index(shape.kind), len(shape.points)) for shape in shapes], dtype=np.int64).reshape(-1, 2)
    return {
        WALL_CORNERS: corners,
        WALL_SHAPES: table,
        WALL_STATES: np.array([[len(shapes), len(corners), _check_of_walls(table, corners)]]),
    }


def wall_table(file: Any, count: int) -> Integers:
    """(count, 3) the states of the walls."""
    return np.asarray(rows(file, data_set(file, WALL_STATES, *WALL_COLUMNS[WALL_STATES]), 0, count))


def wall_lengths(table: Integers) -> dict[str, int]:
    """The length of each data set with these states."""
    return {WALL_STATES: len(table), WALL_SHAPES: int(table[:, 0].sum()), WALL_CORNERS: int(table[:, 1].sum())}


def shapes_in(file: Any, table: Integers, state: int, d: int) -> tuple[Shape, ...]:
    """The shapes of one state."""
    if not 0 <= state < len(table):
        raise BrokenFile(f"{file.filename} is damaged: it has no state {state} of the walls")
    before, (count, points, check) = table[:state, :2].sum(axis=0), table[state]
    found = [
        rows(file, data_set(file, name, *WALL_COLUMNS[name]), int(start), int(length))
        for name, start, length in ((WALL_SHAPES, before[0], count), (WALL_CORNERS, before[1], points))
    ]
    if _check_of_walls(*found) != check or found[0][:, 1].sum() != points or not _known_kinds(found[0]):
        raise BrokenFile(f"{file.filename} is damaged: state {state} of the walls does not match its checksum")
    ends = np.cumsum(found[0][:, 1])
    try:
        return tuple(
            checked(Shape(KINDS[kind], found[1][end - size : end, :d]), "a wall")
            for (kind, size), end in zip(found[0].tolist(), ends, strict=True)
        )
    except InvalidValue as error:
        raise BrokenFile(f"{file.filename} is damaged: {error}") from None


def _known_kinds(table: NDArray[Any]) -> bool:
    return bool(((table[:, 0] >= 0) & (table[:, 0] < len(KINDS)) & (table[:, 1] >= 0)).all())


def _check_of_walls(table: NDArray[Any], corners: NDArray[Any]) -> int:
    return of_rows(np.concatenate([table.ravel().view(np.uint8), corners.ravel().view(np.uint8)]))


MAX_AXES = 32
"""Largest number of axes of q that a file may declare."""


class Header(NamedTuple):
    """The header of a trajectory."""

    shape: tuple[int, ...]
    form: Form
    status: str
    frames: int
    steps: int
    impacts: int
    order: int
    """2 for `Motion`, 1 for `Sweeping`, 0 if unknown."""
    walls: int
    """Number of walls, -1 if unknown."""
    dimension: int
    """Dimension of the space of one body, 0 if unknown."""

    @property
    def contacts(self) -> bool:
        """Whether contacts are stored."""
        return self.form.contacts

    @property
    def points(self) -> tuple[int, int]:
        """The number of points as which a configuration is stored, and their dimension."""
        count, d = points_of(self.shape, self.dimension)
        return self.form.balls or count, d


def header(file: Any) -> Header:
    """Read the header; `BrokenFile` if the file is not a trajectory."""
    if holds_images(file):
        raise BrokenFile(
            f"{file.filename} contains fields on a grid, not bodies: read it with jo.io.read_images, draw it with "
            f"jo.viz.densities"
        )
    run = inside(file, "jostle/run").attrs
    if int(run["format"]) != FORMAT:
        raise BrokenFile(f"{file.filename} is not of format {FORMAT}, which this version of jostle reads")
    shape = tuple(int(k) for k in run["shape"])
    form = Form(bool(run["contacts"]), int(run.get("axes", 0)), int(run.get("balls", 0)), IMPACTS in file)
    if len(shape) > MAX_AXES or min(shape, default=0) < 0:
        raise BrokenFile(f"{file.filename} is damaged: it declares a q of shape {shape[:MAX_AXES]}")
    dimension = int(run["dimension"])
    if form.axes not in (0, AXES.get(dimension)) or form.balls < 0:
        raise BrokenFile(f"{file.filename} is damaged: it declares bodies that turn about {form.axes} axes")
    _check_everybody(file, form.balls or points_of(shape, dimension)[0])
    order, walls = int(run["order"]), int(run["walls"])
    return Header(shape, form, status_of(file), *counts(file), order, walls, dimension)


def _check_everybody(file: Any, bodies: int) -> None:
    """Check that the file contains the number of each body, so that it cannot declare more bodies than it has."""
    everybody, count = inside(file, EVERYBODY), max(bodies, 1)
    size = everybody.id.get_storage_size() if isinstance(everybody, h5py.Dataset) else 0
    if size < 4 * count or size > file.id.get_filesize() or everybody.shape != (count,):
        raise BrokenFile(f"{file.filename} is damaged: it declares {count} points, but contains fewer")


def data(file: Any, name: str, said: Header) -> Any:
    """One of the data sets that grow, after checks of its type and storage."""
    if name == STEPS:
        return steps_in(file, STATISTICS)
    if name == IMPACTS:
        return data_set(file, name, record_type(said.form.of_impacts))
    dtype, row = said.form.columns[name]
    found = data_set(file, name, dtype, row)
    return found if dtype is not None or found.dtype == np.float32 else data_set(file, name, np.float64, row)


class Index(NamedTuple):
    """The index of the frames: times, numbers of points and lines, and the positions at which these begin."""

    t: Array
    impulse_time: Array
    points: Integers
    """Number of bodies."""
    lines: Integers
    """Number of contacts."""
    components: Integers
    points_at: Integers
    body_at: Integers
    radius_at: Integers
    cells_at: Integers
    ends_at: Integers
    data_at: Integers
    wall_points: Integers
    wall_lines: Integers
    wall_ends: Integers
    state: Integers
    """Number of the state of the walls."""

    def checks(self) -> Checks:
        """(k,) the checksum of the entries of each frame."""
        columns = [np.asarray(column, dtype=float if k < 2 else np.int64) for k, column in enumerate(self)]
        return of_records(np.stack([column.view(np.int64) for column in columns], axis=1))

    def lengths(self) -> dict[str, int]:
        """Length of each data set that the frames need."""
        frames = len(self.t)
        if frames == 0:
            return {}
        n, m, _, points_at, body_at, radius_at, cells_at, ends_at, data_at, *walls = (int(one[-1]) for one in self[2:])
        points, lines, ends = n + walls[0], m + walls[1], 2 * m + walls[2]
        return {
            **dict.fromkeys((POINTS, VELOCITY, *OF_TURNING), points_at + points),
            **dict.fromkeys((*CELL_DATA, *CELLS_OF_TURNING), data_at + lines + (n > 0)),
            BODY: body_at + points,
            RADIUS: radius_at + points,
            VERTICES: 2 * frames,
            ENDS: ends_at + ends,
            OFFSETS: frames + cells_at + max(lines, 1),
        }


def index(file: Any, said: Header) -> Index:
    """The index of the valid frames."""
    frames, contacts = said.frames, said.contacts

    def column(name: str) -> Any:
        return rows(file, data(file, name, said), 0, frames)

    cells_at, ends_at = (column(name)[:, 1] for name in (CELLS_AT, ENDS_AT))
    nothing = np.zeros(frames, dtype=np.int64)
    components, data_at = (column(name) if contacts else nothing for name in (COMPONENTS, DATA_AT))
    walls = column(WALLS).T
    lines = column(LINES) - walls[1]
    points_at, body_at, radius_at = (column(name) for name in (POINTS_AT, BODY_AT, RADIUS_AT))
    t, points, impulse_time = column(TIME), column(COUNT) - walls[0], column(IMPULSE_TIME)
    starts = (points_at, body_at, radius_at, cells_at, ends_at, data_at)
    found = Index(t, impulse_time, points, lines, components, *starts, *walls)
    wrong = found.checks() != column(CHECKS)[:, 0]
    wrong |= np.min(found[2:], axis=0) < 0
    wrong |= (points > said.points[0]) | (components > 3)
    if wrong.any():
        raise BrokenFile(
            f"{file.filename} is damaged: the entries of frame {int(np.argmax(wrong))} in the tables are wrong"
        )
    return found


def lengths(file: Any, kept: Counts) -> dict[str, int]:
    """Lengths of the data sets for given numbers of frames, step records and impacts."""
    frames = kept.frames
    said = header(file)._replace(frames=frames)
    found = index(file, said)
    grown = found.lengths() | dict.fromkeys(said.form.of_frames, frames)
    if frames:
        grown |= wall_lengths(wall_table(file, int(found.state[-1]) + 1))
    grown |= {STEPS: kept.steps, IMPACTS: kept.impacts}
    return {name: grown.get(name, 0) for name in said.form.growing}


# Facts about the problem in a trajectory: numbers per body as data sets, everything else as JSON.
#
#     jostle/problem/radii     (n,), or empty if they change
#     jostle/problem/masses    (n,), or empty
#     jostle/problem/groups    (n,), or empty: the position of the group of each body in the list of names
#     jostle/problem/force     the entries of a constant force, or empty
#     jostle/problem/inertia   (n s,), only if bodies turn
#     jostle/problem/text      UTF-8: dimension, what a body is called, period, names of walls and groups, units;
#                              whether a first-order problem has a mass; rods whose points do not move; the numbers of
#                              motors among constraints; under "carried" what the problem itself says, such as the plan
#                              of a crowd, which is not understood here
#
# Only of clumps and shapes, as `Parts` describes them: owner (b,), arms (b d,), axes (n,) or (4 n,), shape_inertia
# (n s,), and core (b,), empty for clumps; their length is in the text.
#
# The attribute "checksum" of jostle/problem covers all of them.


PROBLEM = "jostle/problem"
"""Group of the facts about the problem."""
CHECK = "checksum"
"""Attribute of the checksum of all facts."""
COLUMNS: dict[str, DTypeLike] = {
    "radii": np.float64, "masses": np.float64, "groups": np.int32, "force": np.float64, "text": np.uint8,
}  # fmt: skip
"""Data sets of the facts about the problem, with their types."""
OF_CLUMPS: dict[str, DTypeLike] = {
    "owner": np.int32, "arms": np.float64, "axes": np.float64, "shape_inertia": np.float64,
    "core": np.int32,
}  # fmt: skip
"""Data sets of the facts about clumps and shapes, with their types."""
MAX_CHUNK_ROWS = 1024
"""Largest number of rows of a chunk."""


def write_facts(file: Any, facts: Facts) -> None:
    """Write the facts into a new file."""
    arrays = _arrays(facts)
    for name, values in arrays.items():
        chunk = (min(max(len(values), 1), MAX_CHUNK_ROWS),)
        file.create_dataset(f"{PROBLEM}/{name}", data=values, maxshape=(None,), chunks=chunk)
    file[PROBLEM].attrs[CHECK] = np.uint32(_check(arrays))


def facts_in(file: Any, said: Header) -> Facts:
    """The facts stored in a file with this header."""
    arrays, columns = {}, dict(COLUMNS)
    columns |= {"inertia": np.float64} if f"{PROBLEM}/inertia" in file else {}
    columns |= OF_CLUMPS if f"{PROBLEM}/owner" in file else {}
    for name, dtype in columns.items():
        data = data_set(file, f"{PROBLEM}/{name}", dtype)
        arrays[name] = rows(file, data, 0, len(data))
    if _check(arrays) != int(inside(file, PROBLEM).attrs[CHECK]):
        raise BrokenFile(f"{file.filename} is damaged: {PROBLEM} does not match its checksum")
    try:
        return _facts(arrays, said.shape, said.order, None if said.walls < 0 else said.walls)
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError) as error:
        raise BrokenFile(f"{file.filename} is damaged: its facts about the problem cannot be read ({error})") from None


def _arrays(facts: Facts) -> dict[str, NDArray[Any]]:
    groups = facts.groups
    said: dict[str, Any] = {
        "dimension": facts.dimension,
        "called": facts.called,
        "period": None if facts.period is None else [None if np.isinf(L) else float(L) for L in facts.period],
        "wall_names": list(facts.wall_names),
        "walls_move": facts.walls_move,
        "groups": None if groups is None else list(groups.names),
        "units": asdict(facts.units),
        "carried": dict(facts.carried),
    }
    if facts.weighted:
        said["weighted"] = True
    if rods := [rods for rods in facts.rods if rods.at_rest]:
        said["rods"] = [
            {"pairs": one.pairs.tolist(), "points": None if one.points is None else np.asarray(one.points).tolist()}
            for one in rods
        ]
    if facts.motors:
        said["motors"] = list(facts.motors)
    turning: dict[str, NDArray[Any]] = {}
    if facts.inertia is not None:
        turning["inertia"] = _flat(facts.inertia)
    if (made_of := facts.parts) is not None:
        said["length"] = made_of.length
        shapes = _flat(made_of.arms), _flat(made_of.axes), _flat(made_of.inertia)
        core = np.zeros(0) if made_of.core is None else made_of.core
        turning |= dict(zip(OF_CLUMPS, (made_of.owner.astype(np.int32), *shapes, core.astype(np.int32)), strict=True))
    return {
        "radii": _flat(facts.radii),
        "masses": _flat(facts.masses),
        "groups": np.zeros(0, np.int32) if groups is None else np.asarray(groups.number, dtype=np.int32),
        "force": _flat(facts.force),
        "text": np.frombuffer(json.dumps(said).encode(), dtype=np.uint8),
        **turning,
    }


def _flat(values: Array | None) -> Array:
    return np.zeros(0) if values is None else np.asarray(values, dtype=float).ravel()


def _facts(arrays: dict[str, NDArray[Any]], shape: tuple[int, ...], order: int, walls: int | None) -> Facts:
    said = json.loads(arrays["text"].tobytes().decode())
    d, period = int(said["dimension"]), said["period"]
    bodies = int(np.prod(shape)) // max(d, 1)
    names = tuple(str(name) for name in said["wall_names"])
    if period is not None:
        period = np.array([np.inf if L is None else float(L) for L in period])
    made_of = _clumps(arrays, float(said["length"]), bodies, d) if "owner" in arrays else None
    balls = bodies if made_of is None else len(made_of.owner)
    for name, count in (("radii", balls), ("masses", bodies), ("groups", bodies), ("force", int(np.prod(shape)))):
        if len(arrays[name]) not in (0, count):
            raise ValueError(f"{len(arrays[name])} {name} of {count}")
    if (period is not None and period.shape != (d,)) or len(names) not in (0, walls):
        raise ValueError("a list of another length")
    return Facts(
        order=order,
        dimension=d,
        period=period,
        walls=walls,
        wall_names=names,
        walls_move=bool(said["walls_move"]),
        radii=arrays["radii"] if len(arrays["radii"]) else None,
        masses=arrays["masses"] if len(arrays["masses"]) else None,
        force=arrays["force"].reshape(shape) if len(arrays["force"]) else None,
        groups=_groups(arrays["groups"], said["groups"]),
        units=Units(**{name: str(said["units"][name]) for name in ("length", "time", "mass")}),
        weighted=bool(said.get("weighted", False)),
        rods=tuple(_rods(one, balls, d) for one in said.get("rods", [])),
        motors=tuple(int(number) for number in said.get("motors", [])),
        inertia=arrays["inertia"].reshape(bodies, AXES[d]) if "inertia" in arrays else None,
        parts=made_of,
        called=str(said["called"]),
        carried=dict(said["carried"]),
    )


def _clumps(arrays: dict[str, NDArray[Any]], length: float, bodies: int, d: int) -> Parts:
    owner, arms = arrays["owner"].astype(np.int64), arrays["arms"].reshape(-1, d)
    axes, inertia = arrays["axes"].reshape((bodies,) if d == 2 else (bodies, 4)), arrays["shape_inertia"]
    if len(arms) != len(owner) or not np.array_equal(np.unique(owner), np.arange(bodies)):
        raise ValueError("clumps whose balls belong to no body")
    if (np.diff(owner) < 0).any():
        raise ValueError("clumps whose balls are not one after the other")
    core = arrays["core"].astype(np.int64) if len(arrays["core"]) else None
    if core is not None and (len(core) != len(owner) or not set(np.diff(core, prepend=-1)) <= {0, 1}):
        raise ValueError("shapes whose corners are not one core after the other")
    return Parts(owner, arms, axes, inertia.reshape(bodies, AXES[d]), length, core)


def _rods(said: dict[str, Any], balls: int, dimension: int) -> SavedRods:
    pairs = np.array(said["pairs"], dtype=np.int64).reshape(-1, 2)
    points = None if said["points"] is None else np.array(said["points"], dtype=float)
    if points is not None and (points.ndim != 2 or points.shape[1] != dimension):
        raise ValueError(f"points of shape {points.shape}")
    last = 0 if points is None else len(points)
    if len(pairs) and not (pairs[:, 0].min() >= 0 and -last <= pairs.min() <= pairs.max() < balls):
        raise ValueError("rods between bodies or points that do not exist")
    return SavedRods(pairs, points)


def _groups(number: NDArray[Any], names: list[str] | None) -> Groups | None:
    if names is None:
        return None
    if len(number) and not -1 <= number.min() <= number.max() < len(names):
        raise ValueError("groups that have no name")
    return Groups(tuple(str(name) for name in names), number.astype(np.int64))


def _check(arrays: dict[str, NDArray[Any]]) -> int:
    return of_rows(np.concatenate([each.view(np.uint8) for each in arrays.values()]))
