"""The layout of a trajectory file: its data sets, and their lengths after a number of frames.

The group /VTKHDF is a PolyData with many time steps, as VTK 9.4, ParaView 5.13 and later versions read it:

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
numbers of valid step records and of valid bytes of changes. Steps/NSteps is the number of valid frames.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import DTypeLike

Column = tuple[DTypeLike, tuple[int, ...]]
"""The type of a data set, and the shape of a row."""

FORMAT = 1
"""Version of the format of trajectories."""
STATUS = np.dtype("S64")
"""Type of the stored status of a run."""

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
"""Number of bodies in each frame."""
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


def of_frames(contacts: bool) -> dict[str, Column]:
    """The data sets with one row per frame, with their types and row shapes."""
    numbers = [PART, COUNT, CELLS, POINTS_AT, BODY_AT, RADIUS_AT, NOTHING, PARTS, LINES, LINE_ENDS, BODIES]
    numbers += [DATA_AT] if contacts else []
    columns: dict[str, Column] = dict.fromkeys(numbers, (np.int64, ()))
    columns |= {TIME: (np.float64, ()), CELLS_AT: (np.int64, (4,)), ENDS_AT: (np.int64, (4,))}
    columns |= {DURATION: (np.float64, ()), CHECKS: (np.uint32, (1 + len(CHECKED),)), WALLS: (np.int64, (4,))}
    return columns | ({COMPONENTS: (np.int8, ())} if contacts else {})


def of_bodies(contacts: bool, dtype: DTypeLike) -> dict[str, Column]:
    """The data sets with rows per body, contact or line of a wall."""
    columns: dict[str, Column] = {
        POINTS: (dtype, (3,)), VELOCITY: (dtype, (3,)), BODY: (np.int32, ()), RADIUS: (dtype, ()),
        VERTICES: (np.int32, ()), OFFSETS: (np.int32, ()), ENDS: (np.int32, ()),
    }  # fmt: skip
    of_contacts: dict[str, Column] = {
        IMPULSE: (dtype, ()), NORMAL: (dtype, (3,)), FIRST: (np.int32, ()), SECOND: (np.int32, ()),
    }  # fmt: skip
    return columns | (of_contacts if contacts else {})
