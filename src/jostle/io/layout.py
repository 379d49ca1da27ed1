"""The layout of a trajectory file: its data sets, and their lengths after a number of frames.

The group /VTKHDF is a PolyData with many time steps, as VTK 9.4 and later, and ParaView, read it:

    Points, PointData/velocity, body, radius         the bodies present, then points of walls and rods, by frame
    Vertices                                         one cell of all bodies, so that ParaView shows them
    Lines                                            one line per contact with p != 0, then those of walls and rods
    CellData/impulse, normal, body, partner          data of each cell, only if contacts are stored
    Polygons, Strips                                 empty
    Steps                                            times, and the positions at which the entries of each frame begin

PointData/body are the body numbers, -1 for points of walls. body and radius are stored only when they change, and
Steps/PointDataOffsets points to the last change. CellData has one entry for the cell of all bodies, then those of the
contacts, whose body and partner are the pair of `Contacts.pairs`, then those of the walls, whose body is -1.

VTK finds the beginning of the Lines/Offsets of a frame in two ways: up to 9.4 as CellOffsets + (frames before), later
by counting frames until their cells sum up to CellOffsets. Both agree if each frame advances CellOffsets by at least
one, so a frame without lines leaves one entry unused. (A cell without points instead makes vtkCellCenters crash.)

Only jostle reads the group /jostle. Its attributes are the notes of the writer about the run.

    steps           the statistics of the steps
    normals         the number of components of the normals of each frame
    durations       the time over which the multipliers of each frame acted: a force is p / duration
    checksums       checksums of the data of each frame
    walls           the shapes of the walls, see `wall_states`; walls/frames has, for each frame, the numbers of points,
                    of lines and of ends of lines that VTK draws, and the number of the state of the walls
    problem         facts about the problem, see `stored_facts`
    changes         lines of JSON, one for each time the run was resumed with changed settings

The attributes of /jostle/run are the shape of q, the dimension of the space of one body (0 if unknown), the order of
the problem (2 for `Motion`, 1 for `Sweeping`, 0 if unknown), the number of walls (-1 if unknown), the status, and the
numbers of valid step records and of valid bytes of changes. Steps/NSteps is the number of valid frames. Files of format
1 have no order, durations, checksums and changes; files of formats 1 and 2 have no dimension, walls and facts.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import h5py
import numpy as np
from numpy.typing import DTypeLike

from jostle.arrays import Array, Integers
from jostle.errors import BrokenFile, InvalidValue
from jostle.facts import Facts
from jostle.io import stored_facts, wall_states
from jostle.io.checksums import Checks, of_records
from jostle.io.images import holds_images
from jostle.io.pictures import points_of
from jostle.io.step_records import RECORD, STEPS, steps_in
from jostle.io.trust import check_size, data_set, inside, rows

Column = tuple[DTypeLike, tuple[int, ...]]
"""The type of a data set, and the shape of a row."""

FORMAT = 3
"""Version of the format of trajectories."""
MAX_UNWRITTEN = 2**26
"""Largest number of bytes that a data set may declare beyond the end of the file, as a killed writer may leave it."""
MAX_AXES = 32
"""Largest number of axes of q that a file may declare."""
STATUS = np.dtype("S64")
"""Type of the stored status of a run."""
MIN_CHUNK, MAX_CHUNK = 1024, 32768
"""Smallest and largest number of rows per chunk of data sets with rows per body or contact."""
FRAME_CHUNK = 512
"""Number of rows per chunk of data sets with one row per frame or step."""
STATE_CHUNK = 64
"""Number of rows per chunk of data sets with rows per state of the walls."""

BODY = "VTKHDF/PointData/body"
RADIUS = "VTKHDF/PointData/radius"
POINTS = "VTKHDF/Points"
VELOCITY = "VTKHDF/PointData/velocity"
VERTICES = "VTKHDF/Vertices/Offsets"
OFFSETS = "VTKHDF/Lines/Offsets"
ENDS = "VTKHDF/Lines/Connectivity"
IMPULSE, NORMAL, FIRST, SECOND = CELL_DATA = tuple(
    f"VTKHDF/CellData/{name}" for name in ("impulse", "normal", "body", "partner")
)
CHANGES = "jostle/changes"
"""Data set of UTF-8 bytes: one line of JSON per resume with changed settings."""
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
"""Number of bodies in each frame; up to format 2 another name of COUNT."""
LINES = "VTKHDF/Lines/NumberOfCells"
LINE_ENDS = "VTKHDF/Lines/NumberOfConnectivityIds"
COMPONENTS = "jostle/normals"
DURATION = "jostle/durations"
CHECKS = "jostle/checksums"
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
LINKS_OF_CONTACTS = {f"VTKHDF/Steps/CellDataOffsets/{name}": DATA_AT for name in ("normal", "body", "partner")}


class Index(NamedTuple):
    """The index of the frames: times, numbers of points and lines, and the positions at which these begin."""

    t: Array
    duration: Array
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

    def checks(self, version: int) -> Checks:
        """(k,) the checksum of the entries of each frame."""
        of_version = self if version > 2 else self[: self._fields.index("wall_points")]
        columns = [np.asarray(column, dtype=float if k < 2 else np.int64) for k, column in enumerate(of_version)]
        return of_records(np.stack([column.view(np.int64) for column in columns], axis=1))

    def lengths(self) -> dict[str, int]:
        """Length of each data set that the frames need."""
        frames = len(self.t)
        if frames == 0:
            return {}
        n, m, _, points_at, body_at, radius_at, cells_at, ends_at, data_at, *walls = (int(one[-1]) for one in self[2:])
        points, lines, ends = n + walls[0], m + walls[1], 2 * m + walls[2]
        return {
            **dict.fromkeys((POINTS, VELOCITY), points_at + points),
            **dict.fromkeys(CELL_DATA, data_at + lines + (n > 0)),
            BODY: body_at + points,
            RADIUS: radius_at + points,
            VERTICES: 2 * frames,
            ENDS: ends_at + ends,
            OFFSETS: frames + cells_at + max(lines, 1),
        }


def of_frames(contacts: bool, version: int) -> dict[str, Column]:
    """The data sets with one row per frame in this version of the format, with their types and row shapes."""
    numbers = [PART, COUNT, CELLS, POINTS_AT, BODY_AT, RADIUS_AT, NOTHING, PARTS]
    numbers += [LINES, LINE_ENDS] if contacts or version > 2 else []
    numbers += [BODIES] if version > 2 else []
    numbers += [DATA_AT] if contacts else []
    columns: dict[str, Column] = dict.fromkeys(numbers, (np.int64, ()))
    columns |= {TIME: (np.float64, ()), CELLS_AT: (np.int64, (4,)), ENDS_AT: (np.int64, (4,))}
    columns |= {COMPONENTS: (np.int8, ())} if contacts else {}
    columns |= {DURATION: (np.float64, ()), CHECKS: (np.uint32, (1 + len(CHECKED),))} if version > 1 else {}
    return columns | ({WALLS: (np.int64, (4,))} if version > 2 else {})


def of_bodies(contacts: bool, dtype: DTypeLike, version: int) -> dict[str, Column]:
    """The data sets with rows per body, contact or line of a wall."""
    columns: dict[str, Column] = {
        POINTS: (dtype, (3,)), VELOCITY: (dtype, (3,)), BODY: (np.int32, ()), RADIUS: (dtype, ()),
        VERTICES: (np.int32, ()),
    }  # fmt: skip
    of_lines: dict[str, Column] = dict.fromkeys((OFFSETS, ENDS), (np.int32, ()))
    of_contacts: dict[str, Column] = {
        IMPULSE: (dtype, ()), NORMAL: (dtype, (3,)), FIRST: (np.int32, ()), SECOND: (np.int32, ()),
    }  # fmt: skip
    columns |= of_lines if contacts or version > 2 else {}
    return columns | (of_contacts if contacts else {})


class Kind(NamedTuple):
    """The properties of a trajectory that do not change while it is written."""

    shape: tuple[int, ...]
    contacts: bool
    dtype: DTypeLike
    facts: Facts


def create(file: Any, kind: Kind, about: Mapping[str, str]) -> None:
    """Create the groups and data sets of a trajectory without frames."""
    count, _ = points_of(kind.shape, kind.facts.dimension)
    contacts = kind.contacts

    def data(name: str, type_: DTypeLike, row: tuple[int, ...], chunk: int) -> None:
        fill = 1 if name == PARTS else None
        options = {"maxshape": (None, *row), "chunks": (chunk, *row), "fillvalue": fill}
        file.create_dataset(name, shape=(0, *row), dtype=type_, **options)

    for name, column in of_frames(contacts, FORMAT).items():
        data(name, *column, FRAME_CHUNK)
    for name, column in of_bodies(contacts, kind.dtype, FORMAT).items():
        data(name, *column, chunk_rows(count))
    for name, column in wall_states.COLUMNS.items():
        data(name, *column, STATE_CHUNK)
    stored_facts.create(file, kind.facts)
    data(STEPS, RECORD, (), FRAME_CHUNK)
    data("VTKHDF/Polygons/Connectivity", np.int64, (), FRAME_CHUNK)
    file.create_dataset(EVERYBODY, data=np.arange(max(count, 1), dtype=np.int32))
    for name, other in (LINKS | (LINKS_OF_CONTACTS if contacts else {})).items():
        file[name] = file[other]
    vtk, run = file["VTKHDF"].attrs, file.create_group("jostle/run").attrs
    vtk["Version"], vtk["Type"] = np.array([2, 2]), np.bytes_("PolyData")
    file["VTKHDF/Steps"].attrs["NSteps"] = np.int64(0)
    run["format"], run["shape"], run["contacts"] = FORMAT, np.array(kind.shape, dtype=np.int64), contacts
    run["dimension"] = kind.facts.dimension
    run["order"], run["walls"] = kind.facts.order, -1 if kind.facts.walls is None else kind.facts.walls
    run["status"], run["steps"] = np.array(b"running", dtype=STATUS), np.int64(0)
    data(CHANGES, np.uint8, (), MIN_CHUNK)
    run["changes"] = np.int64(0)
    for key, text in about.items():
        try:
            file["jostle"].attrs[key] = str(text)
        except ValueError as error:
            raise InvalidValue(f"about[{key!r}] cannot be stored as text: {error}") from None


def chunk_rows(count: int) -> int:
    """Number of rows per chunk for a number of bodies: a power of two."""
    return int(min(max(2 ** int(count - 1).bit_length(), MIN_CHUNK), MAX_CHUNK))


class Header(NamedTuple):
    """The header of a trajectory."""

    shape: tuple[int, ...]
    contacts: bool
    status: str
    frames: int
    steps: int
    version: int
    """The version of the format."""
    order: int
    """2 for `Motion`, 1 for `Sweeping`, 0 if unknown."""
    walls: int
    """Number of walls, -1 if unknown."""
    dimension: int
    """Dimension of the space of one body, 0 if unknown."""

    @property
    def points(self) -> tuple[int, int]:
        """The number of points as which a configuration is stored, and their dimension."""
        return points_of(self.shape, self.dimension)


def header(file: Any) -> Header:
    """Read the header; `BrokenFile` if the file is not a trajectory."""
    if holds_images(file):
        raise BrokenFile(f"{file.filename} contains fields on a grid, not bodies: read it with jo.io.read_images")
    run, steps_of = inside(file, "jostle/run").attrs, inside(file, "VTKHDF/Steps").attrs
    version = int(run["format"])
    if version > FORMAT:
        raise BrokenFile(
            f"{file.filename} was written by a newer version of jostle: this version reads up to format {FORMAT}"
        )
    shape, contacts = tuple(int(k) for k in run["shape"]), bool(run["contacts"])
    if len(shape) > MAX_AXES or min(shape, default=0) < 0:
        raise BrokenFile(f"{file.filename} is damaged: it declares a q of shape {shape[:MAX_AXES]}")
    dimension = int(run["dimension"]) if version > 2 else 0
    _check_everybody(file, points_of(shape, dimension)[0])
    frames, steps = int(steps_of["NSteps"]), int(run["steps"])
    if min(frames, steps) < 0:
        raise BrokenFile(f"{file.filename} is damaged: it declares {frames} frames and {steps} steps")
    order, walls = (int(run["order"]), int(run["walls"])) if version > 1 else (0, -1)
    status = run["status"].decode(errors="replace")
    return Header(shape, contacts, status, frames, steps, version, order, walls, dimension)


def _check_everybody(file: Any, bodies: int) -> None:
    """Check that the file contains the number of each body, so that it cannot declare more bodies than it has."""
    everybody, count = inside(file, EVERYBODY), max(bodies, 1)
    stored = everybody.id.get_storage_size() if isinstance(everybody, h5py.Dataset) else 0
    if stored < 4 * count or stored > file.id.get_filesize() or everybody.shape != (count,):
        raise BrokenFile(f"{file.filename} is damaged: it declares {count} points, but contains fewer")


def looked_over(file: Any) -> Header:
    """The header, after reading all tables of HDF5 once; with damaged tables, HDF5 would block a writer for ever."""
    said = header(file)
    for name in names(said):
        found = data(file, name, said)
        check_size(file, found, len(found), spare=MAX_UNWRITTEN)  # counting chunks takes long for large sizes
        found.id.get_num_chunks()
    return said


def names(said: Header) -> tuple[str, ...]:
    """All data sets that grow with the frames."""
    walls = wall_states.COLUMNS if said.version > 2 else ()
    tables, bodies = of_frames(said.contacts, said.version), of_bodies(said.contacts, float, said.version)
    return (*tables, *bodies, *walls, STEPS)


def data(file: Any, name: str, said: Header) -> Any:
    """One of the data sets that grow, after checks of its type and storage."""
    if name == STEPS:
        return steps_in(file)
    tables, bodies = of_frames(said.contacts, said.version), of_bodies(said.contacts, float, said.version)
    dtype, row = (tables | bodies | wall_states.COLUMNS)[name]
    if name in (POINTS, VELOCITY, RADIUS, IMPULSE, NORMAL):  # in single or in double precision
        found = data_set(file, name, None, row)
        return found if found.dtype in (np.float32, np.float64) else data_set(file, name, dtype, row)
    return data_set(file, name, dtype, row)


def index(file: Any, said: Header) -> Index:
    """The index of the valid frames."""
    frames, contacts = said.frames, said.contacts

    def column(name: str) -> Any:
        return rows(file, data(file, name, said), 0, frames)

    cells_at, ends_at = (column(name)[:, 1] for name in (CELLS_AT, ENDS_AT))
    nothing, unknown = np.zeros(frames, dtype=np.int64), np.full(frames, np.nan)
    components, data_at = (column(name) if contacts else nothing for name in (COMPONENTS, DATA_AT))
    walls = column(WALLS).T if said.version > 2 else np.zeros((4, frames), dtype=np.int64)
    lines = (column(LINES) if contacts or said.version > 2 else nothing) - walls[1]
    points_at, body_at, radius_at = (column(name) for name in (POINTS_AT, BODY_AT, RADIUS_AT))
    t, points, duration = column(TIME), column(COUNT) - walls[0], column(DURATION) if said.version > 1 else unknown
    starts = (points_at, body_at, radius_at, cells_at, ends_at, data_at)
    found = Index(t, duration, points, lines, components, *starts, *walls)
    wrong = np.zeros(frames, dtype=bool) if said.version == 1 else found.checks(said.version) != column(CHECKS)[:, 0]
    wrong |= np.min(found[2:], axis=0) < 0
    wrong |= (points > said.points[0]) | (components > 3)
    if wrong.any():
        raise BrokenFile(
            f"{file.filename} is damaged: the entries of frame {int(np.argmax(wrong))} in the tables are wrong"
        )
    return found


def lengths(file: Any, frames: int, steps: int) -> dict[str, int]:
    """Lengths of the data sets for given numbers of frames and step records."""
    said = header(file)._replace(frames=frames)
    found = index(file, said)
    grown = found.lengths() | dict.fromkeys(of_frames(said.contacts, said.version), frames) | {STEPS: steps}
    if said.version > 2 and frames:
        grown |= wall_states.lengths(wall_states.table_of(file, int(found.state[-1]) + 1))
    return {name: grown.get(name, 0) for name in names(said)}


def trim(file: Any, frames: int, steps: int) -> None:
    """Keep only the first `frames` frames and `steps` step records; the counts are changed before the data."""
    wanted, said = lengths(file, frames, steps), header(file)
    say(file, frames, steps)
    for name, length in wanted.items():
        found = data(file, name, said)
        if len(found) < length:
            raise BrokenFile(f"{file.filename} is damaged: {name} has {len(found)} of {length} entries")
        if len(found) > length:
            found.resize(length, axis=0)
    file.flush()


def say(file: Any, frames: int, steps: int) -> None:
    """Write the numbers of valid frames and step records, after all data."""
    file.flush()
    h5py.h5a.open(file["VTKHDF/Steps"].id, b"NSteps").write(np.array([frames]))
    h5py.h5a.open(file["jostle/run"].id, b"steps").write(np.array([steps]))
    file.flush()


def say_status(file: Any, status: str) -> None:
    """Write the status."""
    h5py.h5a.open(file["jostle/run"].id, b"status").write(np.array([status.encode()], dtype=STATUS))
