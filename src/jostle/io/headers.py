"""The header of a trajectory: what the file says about itself, and its data sets, checked before they are used."""

from __future__ import annotations

from typing import Any, NamedTuple

import h5py
import numpy as np

from jostle.errors import BrokenFile
from jostle.io import wall_states
from jostle.io.layout import (
    EVERYBODY,
    FORMAT,
    IMPULSE,
    NORMAL,
    POINTS,
    RADIUS,
    STATUS,
    VELOCITY,
    of_bodies,
    of_frames,
)
from jostle.io.pictures import points_of
from jostle.io.reading_images import holds_images
from jostle.io.step_records import STEPS, steps_in
from jostle.io.trust import check_size, data_set, inside

MAX_UNWRITTEN = 2**26
"""Largest number of bytes that a data set may declare beyond the end of the file, as a killed writer may leave it."""
MAX_AXES = 32
"""Largest number of axes of q that a file may declare."""


class Header(NamedTuple):
    """The header of a trajectory."""

    shape: tuple[int, ...]
    contacts: bool
    status: str
    frames: int
    steps: int
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
    if int(run["format"]) != FORMAT:
        raise BrokenFile(f"{file.filename} is not of format {FORMAT}, which this version of jostle reads")
    shape, contacts = tuple(int(k) for k in run["shape"]), bool(run["contacts"])
    if len(shape) > MAX_AXES or min(shape, default=0) < 0:
        raise BrokenFile(f"{file.filename} is damaged: it declares a q of shape {shape[:MAX_AXES]}")
    dimension = int(run["dimension"])
    _check_everybody(file, points_of(shape, dimension)[0])
    frames, steps = int(steps_of["NSteps"]), int(run["steps"])
    if min(frames, steps) < 0:
        raise BrokenFile(f"{file.filename} is damaged: it declares {frames} frames and {steps} steps")
    order, walls = int(run["order"]), int(run["walls"])
    status = run["status"].decode(errors="replace")
    return Header(shape, contacts, status, frames, steps, order, walls, dimension)


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
    return (*of_frames(said.contacts), *of_bodies(said.contacts, float), *wall_states.COLUMNS, STEPS)


def data(file: Any, name: str, said: Header) -> Any:
    """One of the data sets that grow, after checks of its type and storage."""
    if name == STEPS:
        return steps_in(file)
    tables, bodies = of_frames(said.contacts), of_bodies(said.contacts, float)
    dtype, row = (tables | bodies | wall_states.COLUMNS)[name]
    if name in (POINTS, VELOCITY, RADIUS, IMPULSE, NORMAL):  # in single or in double precision
        found = data_set(file, name, None, row)
        return found if found.dtype in (np.float32, np.float64) else data_set(file, name, dtype, row)
    return data_set(file, name, dtype, row)


def say(file: Any, frames: int, steps: int) -> None:
    """Write the numbers of valid frames and step records, after all data."""
    file.flush()
    h5py.h5a.open(file["VTKHDF/Steps"].id, b"NSteps").write(np.array([frames]))
    h5py.h5a.open(file["jostle/run"].id, b"steps").write(np.array([steps]))
    file.flush()


def say_status(file: Any, status: str) -> None:
    """Write the status."""
    h5py.h5a.open(file["jostle/run"].id, b"status").write(np.array([status.encode()], dtype=STATUS))
