"""The layout of a trajectory file: which data sets there are, and how long they are after so many frames.

The group /VTKHDF is a PolyData of many time steps as VTK 9.4 and later, and ParaView, read it:

    Points, PointData/velocity, body, radius         the bodies that are there, frame after frame
    Vertices                                         one cell of all points, so that ParaView shows them
    Lines, CellData/impulse, normal, body, partner   with contacts: a line for each contact with p > 0
    Polygons, Strips                                 nothing
    Steps                                            times, and for each frame where its entries begin

PointData/body are the numbers of the bodies; body and radius are stored when they change, and Steps/PointDataOffsets
points to the last change. CellData has one entry for the cell of all points, and then those of the contacts: body and
partner are the pair of `Contacts.pairs`.

Where the Lines/Offsets of a frame begin, VTK finds in two ways: up to 9.4 as CellOffsets + (frames before), later by
counting frames until their cells sum up to CellOffsets. Both agree if each frame moves CellOffsets on by at least one:
so a frame without contacts leaves one entry unused. (A cell without points in its stead makes vtkCellCenters crash.)

The group /jostle is ours: its attributes are what the file is about, /jostle/steps the statistics of the steps,
/jostle/normals the number of components of the normals of each frame, and the attributes of /jostle/run the shape of
q, the status, and how many records of steps count. A frame counts when Steps/NSteps says so. /jostle/changes are lines
of JSON, one for each time that the run was resumed with something changed; the attribute `changes` of /jostle/run says
how many of its bytes count.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any, NamedTuple

import h5py
import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from jostle.arrays import Array, Integers
from jostle.errors import BrokenFile, InvalidValue
from jostle.solution import STATISTICS

Floats = NDArray[np.floating[Any]]
Numbers = NDArray[np.int32]
Column = tuple[DTypeLike, tuple[int, ...]]
"""The type of a data set, and the shape of a row."""

FORMAT = 1
RECORD = np.dtype([(name, "S16" if name == "solver" else STATISTICS[name]) for name in STATISTICS.names or ()])
"""A record of `STATISTICS` as it is stored."""
STATUS = np.dtype("S64")
FEWEST, MOST, A_FRAME = 1024, 32768, 512
"""Rows of a chunk: of what grows with the bodies, at least and at most; of what has one row a frame or a step."""

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
STEPS = "jostle/steps"
CHANGES = "jostle/changes"
"""Bytes of UTF-8: a line of JSON for each resume that changed something."""
NOTHING = "VTKHDF/Polygons/NumberOfCells"
PARTS = "VTKHDF/Steps/NumberOfParts"
CONSTANT = (NOTHING, PARTS)
"""These hold their fill value, 0 and 1, and take no space."""

TIME = "VTKHDF/Steps/Values"
PART = "VTKHDF/Steps/PartOffsets"
COUNT = "VTKHDF/NumberOfPoints"
CELLS = "VTKHDF/Vertices/NumberOfCells"
LINES = "VTKHDF/Lines/NumberOfCells"
LINE_ENDS = "VTKHDF/Lines/NumberOfConnectivityIds"
COMPONENTS = "jostle/normals"
POINTS_AT = "VTKHDF/Steps/PointOffsets"
BODY_AT = "VTKHDF/Steps/PointDataOffsets/body"
RADIUS_AT = "VTKHDF/Steps/PointDataOffsets/radius"
CELLS_AT = "VTKHDF/Steps/CellOffsets"
ENDS_AT = "VTKHDF/Steps/ConnectivityIdOffsets"
DATA_AT = "VTKHDF/Steps/CellDataOffsets/impulse"

LINKS = {
    "VTKHDF/Steps/PointDataOffsets/velocity": POINTS_AT,
    "VTKHDF/Vertices/NumberOfConnectivityIds": COUNT,
    "VTKHDF/Polygons/NumberOfConnectivityIds": NOTHING,
    "VTKHDF/Polygons/Offsets": NOTHING,
    "VTKHDF/Strips": "VTKHDF/Polygons",
}
"""Data sets that would be equal are one with two names."""
LINKS_OF_CONTACTS = {f"VTKHDF/Steps/CellDataOffsets/{name}": DATA_AT for name in ("normal", "body", "partner")}


NOBODY = np.zeros(0, dtype=np.int64)


class Index(NamedTuple):
    """Where the frames are: for each its time, how many points and lines it has, and where they begin."""

    t: Array
    points: Integers
    lines: Integers
    components: Integers
    points_at: Integers
    body_at: Integers
    radius_at: Integers
    cells_at: Integers
    ends_at: Integers
    data_at: Integers

    def lengths(self) -> dict[str, int]:
        """How long each data set is that the frames need."""
        frames = len(self.t)
        if frames == 0:
            return {}
        n, m, _, points_at, body_at, radius_at, cells_at, ends_at, data_at = (int(column[-1]) for column in self[1:])
        cells = data_at + m + (n > 0)
        return {
            **dict.fromkeys((POINTS, VELOCITY), points_at + n),
            **dict.fromkeys(CELL_DATA, cells),
            BODY: body_at + n,
            RADIUS: radius_at + n,
            VERTICES: 2 * frames,
            ENDS: ends_at + 2 * m,
            OFFSETS: frames + cells_at + max(m, 1),
        }


def of_frames(contacts: bool) -> dict[str, Column]:
    """The data sets with one row a frame: their types, and the shapes of a row."""
    numbers = [PART, COUNT, CELLS, POINTS_AT, BODY_AT, RADIUS_AT, NOTHING, PARTS]
    numbers += [LINES, LINE_ENDS, DATA_AT] if contacts else []
    columns: dict[str, Column] = dict.fromkeys(numbers, (np.int64, ()))
    columns |= {TIME: (np.float64, ()), CELLS_AT: (np.int64, (4,)), ENDS_AT: (np.int64, (4,))}
    return columns | ({COMPONENTS: (np.int8, ())} if contacts else {})


def of_bodies(contacts: bool, dtype: DTypeLike) -> dict[str, Column]:
    """The data sets with rows for each body or contact."""
    columns: dict[str, Column] = {
        POINTS: (dtype, (3,)), VELOCITY: (dtype, (3,)), BODY: (np.int32, ()), RADIUS: (dtype, ()),
        VERTICES: (np.int32, ()),
    }  # fmt: skip
    of_contacts: dict[str, Column] = {
        OFFSETS: (np.int32, ()), ENDS: (np.int32, ()), IMPULSE: (dtype, ()), NORMAL: (dtype, (3,)),
        FIRST: (np.int32, ()), SECOND: (np.int32, ()),
    }  # fmt: skip
    return columns | (of_contacts if contacts else {})


def create(file: Any, shape: tuple[int, ...], contacts: bool, dtype: DTypeLike, about: Mapping[str, str]) -> None:
    """Make the groups and data sets of a trajectory without any frame."""
    count, _ = points_of(shape)

    def data(name: str, type_: DTypeLike, row: tuple[int, ...], chunk: int) -> None:
        fill = 1 if name == PARTS else None
        options = {"maxshape": (None, *row), "chunks": (chunk, *row), "fillvalue": fill}
        file.create_dataset(name, shape=(0, *row), dtype=type_, **options)

    for name, column in of_frames(contacts).items():
        data(name, *column, A_FRAME)
    for name, column in of_bodies(contacts, dtype).items():
        data(name, *column, chunk_rows(count))
    data(STEPS, RECORD, (), A_FRAME)
    data("VTKHDF/Polygons/Connectivity", np.int64, (), A_FRAME)
    file.create_dataset("VTKHDF/Vertices/Connectivity", data=np.arange(max(count, 1), dtype=np.int32))
    for name, other in (LINKS | (LINKS_OF_CONTACTS if contacts else {"VTKHDF/Lines": "VTKHDF/Polygons"})).items():
        file[name] = file[other]
    vtk, run = file["VTKHDF"].attrs, file.create_group("jostle/run").attrs
    vtk["Version"], vtk["Type"] = np.array([2, 2]), np.bytes_("PolyData")
    file["VTKHDF/Steps"].attrs["NSteps"] = np.int64(0)
    run["format"], run["shape"], run["contacts"] = FORMAT, np.array(shape, dtype=np.int64), contacts
    run["status"], run["steps"] = np.array(b"running", dtype=STATUS), np.int64(0)
    data(CHANGES, np.uint8, (), FEWEST)
    run["changes"] = np.int64(0)
    for key, text in about.items():
        try:
            file["jostle"].attrs[key] = str(text)
        except ValueError as error:
            raise InvalidValue(f"about[{key!r}] cannot be stored as text: {error}") from None


def chunk_rows(count: int) -> int:
    """How many rows a chunk has for so many bodies: a power of two."""
    return int(min(max(2 ** int(count - 1).bit_length(), FEWEST), MOST))


class Header(NamedTuple):
    """What a trajectory says of itself."""

    shape: tuple[int, ...]
    contacts: bool
    status: str
    frames: int
    steps: int


def header(file: Any) -> Header:
    """How many frames and steps count, and of what; `BrokenFile` if it is not a trajectory."""
    if "jostle/run" not in file or "VTKHDF/Steps" not in file:
        raise BrokenFile(f"{file.filename} is an HDF5 file, but not a trajectory written by jostle")
    run = file["jostle/run"].attrs
    if run["format"] > FORMAT:
        raise BrokenFile(f"{file.filename} was written by a newer jostle: this one reads format {FORMAT} of it")
    shape, contacts = tuple(int(k) for k in run["shape"]), bool(run["contacts"])
    frames, steps = int(file["VTKHDF/Steps"].attrs["NSteps"]), int(run["steps"])
    if min(frames, steps) < 0:
        raise BrokenFile(f"{file.filename} is damaged: it says that it has {frames} frames and {steps} steps")
    return Header(shape, contacts, run["status"].decode(errors="replace"), frames, steps)


def looked_over(file: Any) -> Header:
    """The header, when all that HDF5 needs to find data was read once: for a writer it would wait for damage to end."""
    said = header(file)
    for name in names(said.contacts):
        file[name].id.get_num_chunks()
    return said


def names(contacts: bool) -> tuple[str, ...]:
    """All data sets that grow."""
    return (*of_frames(contacts), *of_bodies(contacts, float), STEPS)


def index(file: Any, frames: int, contacts: bool) -> Index:
    """Where the first so many frames are."""

    def column(name: str) -> Any:
        values = file[name][:frames]
        if len(values) < frames:
            raise BrokenFile(f"{file.filename} is damaged: {name} has {len(values)} entries for {frames} frames")
        return values

    cells_at, ends_at = (column(name)[:, 1] for name in (CELLS_AT, ENDS_AT))
    nothing = np.zeros(frames, dtype=np.int64)
    lines, components, data_at = (column(name) if contacts else nothing for name in (LINES, COMPONENTS, DATA_AT))
    points_at, body_at, radius_at = (column(name) for name in (POINTS_AT, BODY_AT, RADIUS_AT))
    return Index(
        column(TIME), column(COUNT), lines, components, points_at, body_at, radius_at, cells_at, ends_at, data_at
    )


def lengths(file: Any, frames: int, steps: int) -> dict[str, int]:
    """How long the data sets are with so many frames and records of steps."""
    contacts = header(file).contacts
    grown = index(file, frames, contacts).lengths() | dict.fromkeys(of_frames(contacts), frames) | {STEPS: steps}
    return {name: grown.get(name, 0) for name in names(contacts)}


def trim(file: Any, frames: int, steps: int) -> None:
    """Take away all but the first so many frames and records of steps: first what counts, then the data."""
    say(file, frames, steps)
    for name, length in lengths(file, frames, steps).items():
        data = file[name]
        if len(data) < length:
            raise BrokenFile(f"{file.filename} is damaged: {name} has {len(data)} of {length} entries")
        if len(data) > length:
            data.resize(length, axis=0)
    file.flush()


def say(file: Any, frames: int, steps: int) -> None:
    """Write that so many frames and records of steps count, behind all data."""
    file.flush()
    h5py.h5a.open(file["VTKHDF/Steps"].id, b"NSteps").write(np.array([frames]))
    h5py.h5a.open(file["jostle/run"].id, b"steps").write(np.array([steps]))
    file.flush()


def say_status(file: Any, status: str) -> None:
    """Write the status."""
    h5py.h5a.open(file["jostle/run"].id, b"status").write(np.array([status.encode()], dtype=STATUS))


def points_of(shape: tuple[int, ...]) -> tuple[int, int]:
    """How many points a q of this shape is, and in how many dimensions.

    >>> points_of((5, 2)), points_of((5,)), points_of((5, 4))
    ((5, 2), (5, 1), (20, 1))
    """
    return (shape[0], shape[1]) if len(shape) == 2 and 1 <= shape[1] <= 3 else (prod(shape), 1)


class Touching(NamedTuple):
    """The contacts with p > 0 of one state."""

    ends: Numbers
    """(m, 2) which points the lines join."""
    first: Numbers
    """(m,) the pairs, as in `Contacts.pairs`."""
    second: Numbers
    impulse: Floats
    normal: Floats
    """(m, 3)"""
    components: int
    """How many of the three are those of the normals; 0 where there are no normals, or too many components."""


class Picture(NamedTuple):
    """One state: the bodies that are there, and their contacts."""

    points: Floats
    """(n, 3)"""
    velocity: Floats
    body: Numbers
    """(n,) their numbers."""
    radius: Floats
    touching: Touching | None


class Scene:
    """Turns states whose q has one shape into pictures.

    >>> scene = Scene((2, 2), contacts=True)
    >>> contacts = [[0, 1], [1, -1]], [3.0, 0.0], [[1, 0], [0, -1]]
    >>> picture = scene.picture([[0, 0], [2, 0]], np.zeros((2, 2)), 1.0, *contacts)
    >>> picture.points.tolist(), picture.touching.ends.tolist(), picture.touching.impulse.tolist()
    ([[0.0, 0.0, 0.0], [2.0, 0.0, 0.0]], [[0, 1]], [3.0])
    """

    def __init__(self, shape: tuple[int, ...], *, contacts: bool = False, dtype: DTypeLike = np.float32) -> None:
        self.shape, self.contacts, self.dtype = tuple(shape), contacts, np.dtype(dtype)
        self.count, self.d = points_of(self.shape)
        self.everybody = np.arange(self.count, dtype=np.int32)

    def picture(
        self, q: ArrayLike, u: ArrayLike, radii: ArrayLike, pairs: ArrayLike, multipliers: ArrayLike, normals: ArrayLike
    ) -> Picture:
        """The state (q, u); radii one for each point, or one for all."""
        x, v = np.asarray(q), np.asarray(u)
        if x.shape != self.shape or v.shape != self.shape:
            raise InvalidValue(f"q and u must have the shape {self.shape}, not {x.shape} and {v.shape}")
        x, v = x.reshape(self.count, self.d), v.reshape(self.count, self.d)
        radius = np.asarray(radii, dtype=self.dtype)
        if radius.shape != (self.count,):
            radius = self.broadcast(radius)
        body, absent = self.everybody, np.isnan(x)
        if absent.any():
            here = ~absent.any(axis=1)
            x, v, radius, body = x[here], v[here], radius[here], body[here]
        points, velocity = np.zeros((2, len(x), 3), dtype=self.dtype)
        points[:, : self.d], velocity[:, : self.d] = x, v
        touching = self._touching(body, pairs, multipliers, normals) if self.contacts else None
        return Picture(points, velocity, body, radius, touching)

    def broadcast(self, radii: Floats) -> Floats:
        """(n,) the radii of all points: from one for all, or one for each body, drawn as one point or as many."""
        by_entry = self.shape != (self.count, self.d)
        if radii.size not in (1, self.count) and not (by_entry and radii.size and self.count % radii.size == 0):
            raise InvalidValue(f"there are {self.count} points, and radii of shape {radii.shape}")
        return np.repeat(radii.ravel(), self.count // max(radii.size, 1))

    def _touching(self, body: Numbers, pairs: ArrayLike, multipliers: ArrayLike, normals: ArrayLike) -> Touching:
        p, pair, n = np.asarray(multipliers), np.asarray(pairs), np.asarray(normals)
        if pair.shape != (len(p), 2) or len(n) != len(p):
            raise InvalidValue(f"there are {len(p)} multipliers, pairs of shape {pair.shape}, normals of {n.shape}")
        active = np.flatnonzero(p > 0.0) if len(body) else NOBODY
        if len(active) < len(p):
            p, pair, n = p.take(active), pair.take(active, axis=0), n.take(active, axis=0)
        components = n.shape[1] if n.shape[1] <= 3 else 0
        normal = np.zeros((len(p), 3), dtype=self.dtype)
        normal[:, :components] = n[:, :components]
        first, second = np.array(pair.T, dtype=np.int32, order="C")
        return Touching(self._ends(body, first, second), first, second, p.astype(self.dtype), normal, components)

    def _ends(self, body: Numbers, first: Numbers, second: Numbers) -> Numbers:
        """The points that the lines join."""
        ends = np.stack([first, np.where(second < 0, first, second)], axis=1)
        if len(ends) == 0:
            return ends
        if len(body) == self.count and first.min() >= 0 and ends.max() < self.count:
            return ends
        place = np.full(max(int(ends.max()) + 2, self.count + 1), -1, dtype=np.int32)
        place[body] = np.arange(len(body))
        ends[first < 0] = -1
        ends = place[ends]
        return np.asarray(np.maximum(np.where(ends < 0, ends[:, ::-1], ends), 0))
