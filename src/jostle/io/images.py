"""Fields on a grid of square cells in time, as VTKHDF image files, which ParaView and `read_images` read.

The group /VTKHDF is an ImageData with many time steps, one cell thick; CellData contains the fields, (frame, z, y, x).
Only jostle reads the group /jostle. Its attributes are the notes of the writer about the run.

    images          attributes: format, status of the run, closed sides of the grid, and the names of the units of
                    length, time and mass if they are known
    images/walls    (nx, ny) 1 where a cell is a wall
    images/exits    (nx, ny) 1 where a cell is an exit
    images/steps    one record per step of the run
    images/totals   one number per frame: mass, energy ...
    images/checksums  (frames,) for each field, the CRC-32 of each of its frames

Each data set outside CellData has the CRC-32 of its values as attribute "checksum", and the group images that of all
texts; HDF5 itself protects attributes that are numbers.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import astuple, dataclass, field
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from jostle._tools.arrays import Array, Booleans
from jostle.errors import InvalidValue
from jostle.io.checksums import of_rows
from jostle.io.container import HDF5_ERRORS
from jostle.io.new_files import whole
from jostle.result.facts import Units
from jostle.result.status import FINISHED

VERSION = (2, 2)
"""Version of the VTKHDF layout."""
FORMAT = 2
"""Version of the group /jostle/images."""
CHECK = "checksum"
"""Attribute of a data set: the CRC-32 of its values."""
Sides = tuple[tuple[bool, bool], tuple[bool, bool]]
"""Which sides of the grid are closed: ((left, right), (bottom, top))."""


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Images:
    """Fields on a grid of square cells in time, with the facts needed to draw and explain them.

    Parameters
    ----------
    t : array, shape (frames,)
        Times of the frames.
    lower : array, shape (2,)
        Lower left corner of the grid.
    h : float
        Side of a cell.
    fields : mapping of str to array, shape (frames, nx, ny) or (frames, nx, ny, 2)
        Scalar and vector fields by name; fields of a file are read when they are indexed.
    closed : ((left, right), (bottom, top)), default all False
        Which sides of the grid are closed.
    walls : array of bool, shape (nx, ny), optional
        Cells that are walls. None: no walls.
    exits : array of bool, shape (nx, ny), optional
        Cells that are exits. None: no exits.
    totals : mapping of str to array, shape (frames,), optional
        Totals in time, such as mass and energy.
    steps : structured array, optional
        One record per step of the run. None: no records.
    status : str, default "finished"
        How the run ended.
    about : mapping of str to str, optional
        Notes about the run.
    units : Units, optional
        Names of the units.
    path : path, optional
        File from which the fields are read. None: they are in memory.

    Attributes
    ----------
    shape : tuple of int
        Number of cells (nx, ny) along x and y.
    upper : array, shape (2,)
        Upper right corner of the grid.

    Examples
    --------
    >>> density = np.zeros((2, 4, 3))
    >>> Images(t=np.array([0.0, 1.0]), lower=np.zeros(2), h=0.5, fields={"density": density})
    density on 4 x 3 cells of side 0.5: 2 frames from t = 0 to 1
    """

    t: Array
    lower: Array
    h: float
    fields: Mapping[str, Any]
    closed: Sides = ((False, False), (False, False))
    walls: Booleans | None = None
    exits: Booleans | None = None
    totals: Mapping[str, Array] = field(default_factory=dict)
    steps: NDArray[Any] | None = None
    status: str = FINISHED
    about: Mapping[str, str] = field(default_factory=dict)
    units: Units = field(default_factory=Units)
    path: Path | None = None

    @property
    def shape(self) -> tuple[int, int]:
        """Number of cells (nx, ny) along x and y."""
        _, nx, ny = next(iter(self.fields.values())).shape[:3]
        return int(nx), int(ny)

    @property
    def upper(self) -> Array:
        """(2,): the upper right corner of the grid."""
        return self.lower + self.h * np.array(self.shape)

    def __repr__(self) -> str:
        nx, ny = self.shape
        times = f"{len(self.t)} frames from t = {self.t[0]:g} to {self.t[-1]:g}"
        return f"{', '.join(self.fields)} on {nx} x {ny} cells of side {self.h:g}: {times}"


def check_path(path: str | os.PathLike[str]) -> None:
    """Refuse a path that does not end in .vtkhdf, or whose folder does not exist.

    >>> check_path("density.h5")
    Traceback (most recent call last):
    ...
    jostle.errors.InvalidValue: the name of an image file must end in .vtkhdf, not be density.h5
    """
    place = Path(path)
    if place.suffix != ".vtkhdf":
        raise InvalidValue(f"the name of an image file must end in .vtkhdf, not be {place}")
    if not place.absolute().parent.is_dir():
        raise InvalidValue(f"the folder of {place} does not exist")


def write_images(path: str | os.PathLike[str], images: Images) -> None:
    """Write an image file. It gets its name when it is complete, and then replaces an existing file.

    The image is one cell thick, and vectors get a third component, zero, because VTK's reader requires both.
    """
    check_path(path)
    with whole(Path(path), *HDF5_ERRORS) as new, h5py.File(new, "w", libver=("v110", "v110")) as file:
        checks = _write_picture(file.create_group("VTKHDF"), images)
        _write_run(file.create_group("jostle"), images, checks)


def _store(group: Any, name: str, values: NDArray[Any], **how: Any) -> None:
    """Write a data set with its checksum."""
    group.create_dataset(name, data=values, **how).attrs[CHECK] = np.uint32(of_rows(values))


def of_texts(status: str, units: Units, about: Mapping[str, str]) -> int:
    """Checksum of the texts of an image file."""
    texts = [status, *astuple(units), *(text for pair in sorted(about.items()) for text in pair)]
    return of_rows(np.frombuffer("\0".join(texts).encode(), np.uint8))


def _write_picture(root: Any, images: Images) -> dict[str, NDArray[np.uint32]]:
    """Write the part that VTK reads, and return the checksums of the frames of each field."""
    (nx, ny), frames = images.shape, len(images.t)
    root.attrs["Version"] = np.array(VERSION, np.int64)
    root.attrs.create("Type", b"ImageData", dtype=h5py.string_dtype("ascii", len("ImageData")))
    root.attrs["WholeExtent"] = np.array([0, nx, 0, ny, 0, 1], np.int64)
    root.attrs["Origin"] = np.array([*images.lower, 0.0])
    root.attrs["Spacing"] = np.full(3, images.h)
    root.attrs["Direction"] = np.eye(3).ravel()
    cells, steps = root.create_group("CellData"), root.create_group("Steps")
    steps.attrs["NSteps"] = np.int64(frames)
    _store(steps, "Values", np.asarray(images.t, float))
    checks: dict[str, NDArray[np.uint32]] = {}
    offsets = steps.create_group("CellDataOffsets")
    for name, values in images.fields.items():
        turned = np.swapaxes(values, 1, 2)[:, None]  # frame, z, y, x
        if turned.ndim == 5:
            turned = np.concatenate([turned, np.zeros((*turned.shape[:-1], 1))], axis=-1)
        chunk = (1, *turned.shape[1:])
        cells.create_dataset(name, data=turned, chunks=chunk, compression="gzip", compression_opts=1)
        offsets.create_dataset(name, data=np.arange(frames, dtype=np.int64))
        checks[name] = np.array([of_rows(frame) for frame in turned], np.uint32)
    return checks


def _write_run(root: Any, images: Images, checks: Mapping[str, NDArray[np.uint32]]) -> None:
    """Write the part that only jostle reads."""
    for name, text in images.about.items():
        root.attrs[name] = text
    run = root.create_group("images")
    run.attrs["format"], run.attrs["status"] = FORMAT, images.status
    run.attrs["closed"] = np.array(images.closed, np.uint8)
    run.attrs[CHECK] = np.uint32(of_texts(images.status, images.units, images.about))
    if images.units != Units():
        run.attrs["units"] = list(astuple(images.units))
    for name, mask in (("walls", images.walls), ("exits", images.exits)):
        if mask is not None:
            _store(run, name, np.asarray(mask, np.uint8), compression="gzip", compression_opts=1)
    if images.steps is not None:
        _store(run, "steps", images.steps)
    totals, sums = run.create_group("totals"), run.create_group("checksums")
    for name, values in images.totals.items():
        _store(totals, name, np.asarray(values, float))
    for name, found in checks.items():
        _store(sums, name, found)
