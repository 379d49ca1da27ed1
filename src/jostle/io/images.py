"""Fields on a grid of square cells in time, as VTKHDF image files, which ParaView and `read_images` read.

A file grows with the frames of its run, as a trajectory does; see `jostle.io.growing`. The group /VTKHDF is an
ImageData with many time steps, one cell thick; CellData contains the fields, (frame, z, y, x). Only jostle reads the
group /jostle:

    run             attributes: format, closed sides of the grid, and the names of the units of length, time and mass
                    if they are known; besides, see `jostle.io.growing`
    images/walls    (nx, ny) 1 where a cell is a wall
    images/exits    (nx, ny) 1 where a cell is an exit
    images/faces    x (frames, nx + 1, ny) and y (frames, nx, ny + 1), velocities on the faces of the cells
    images/totals   one number per frame: mass, energy ...
    checksums       for each frame, the checksums of its time and totals, of each field and of its faces

The data sets walls and exits have the CRC-32 of their values as attribute "checksum", and the group run that of all
texts but the status; HDF5 itself protects attributes of fixed length.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import astuple, dataclass, field
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import h5py
import numpy as np
from numpy.typing import DTypeLike, NDArray

from jostle._tools.arguments import check_arguments
from jostle._tools.arrays import Array, Booleans, Integers
from jostle.errors import BrokenFile, InvalidValue
from jostle.io.growing import (
    CHECKS,
    FRAME_CHUNK,
    STEPS,
    Counts,
    GrowingFile,
    LazyArray,
    about_run,
    counts,
    create_data,
    create_file,
    create_run,
    no_frame,
    read_steps,
    status_of,
    steps_in,
)
from jostle.io.hdf5 import (
    check_deflated,
    check_size,
    data_set,
    holds_images,
    inside,
    of_records,
    of_rows,
    reading,
    rows,
)
from jostle.result.facts import Units
from jostle.result.status import FINISHED

VERSION = (2, 2)
"""Version of the VTKHDF layout."""
FORMAT = 3
"""Version of the format of image files."""
CHECK = "checksum"
"""Attribute of a data set: the CRC-32 of its values."""
TIME = "VTKHDF/Steps/Values"
"""Data set of the times of the frames."""
FACES = ("jostle/images/faces/x", "jostle/images/faces/y")
"""Data sets of the velocities on the faces across x and y."""
NO_STATISTICS = np.dtype([("t", float)])
"""Type of the step records of images without steps."""
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
    faces : pair of array, shapes (frames, nx + 1, ny) and (frames, nx, ny + 1), optional
        Velocities on the faces across x and y, which VTK does not read. None: unknown.
    path : path, optional
        File from which the fields are read. None: they are in memory.

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
    faces: tuple[Any, Any] | None = None
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


class Header(NamedTuple):
    """The header of an image file."""

    shape: tuple[int, int]
    """Number of cells (nx, ny) along x and y."""
    frames: int
    steps: int
    fields: tuple[str, ...]
    totals: tuple[str, ...]
    faces: bool
    """Whether the file has the velocities on the faces."""

    def columns(self) -> dict[str, tuple[DTypeLike, tuple[int, ...] | None]]:
        """The data sets with one row per frame, their types, and the shapes of their rows; None for a field."""
        nx, ny = self.shape
        found: dict[str, tuple[DTypeLike, tuple[int, ...] | None]] = {TIME: (float, ()), _offsets(self): (np.int64, ())}
        found |= {_total(name): (float, ()) for name in self.totals}
        found |= {_field(name): (float, None) for name in self.fields}
        found |= dict(zip(FACES, ((float, (nx + 1, ny)), (float, (nx, ny + 1))), strict=True)) if self.faces else {}
        return found | {CHECKS: (np.uint32, (1 + len(self.checked),))}

    @property
    def checked(self) -> tuple[str, ...]:
        """The data sets with a checksum for each frame, in the order of their checksums."""
        return (*map(_field, self.fields), *(FACES if self.faces else ()))


def _field(name: str) -> str:
    return f"VTKHDF/CellData/{name}"


def _total(name: str) -> str:
    return f"jostle/images/totals/{name}"


def _offsets(said: Header) -> str:
    """The data set with the number of each frame; those of all fields are links to that of the first one."""
    return f"VTKHDF/Steps/CellDataOffsets/{said.fields[0]}"


def header(file: Any) -> Header:
    """Read the header; `BrokenFile` if the file does not contain images."""
    name = file.filename
    if not holds_images(file):
        raise BrokenFile(f"{name} does not contain fields on a grid: read a trajectory of bodies with jo.io.read")
    if int(inside(file, "jostle/run").attrs["format"]) != FORMAT:
        raise BrokenFile(
            f"{name} was written by another version of jostle: this version reads format {FORMAT} of images"
        )
    _, nx, _, ny, _, _ = (int(k) for k in inside(file, "VTKHDF").attrs["WholeExtent"])
    fields, totals = (sorted(inside(file, group)) for group in ("VTKHDF/CellData", "jostle/images/totals"))
    if not fields or min(nx, ny) < 1:
        raise BrokenFile(f"{name} is damaged: it contains no field, or fields of {nx} x {ny} cells")
    faces = "faces" in inside(file, "jostle/images")
    return Header((nx, ny), *counts(file)[:2], tuple(fields), tuple(totals), faces)


def _data(file: Any, name: str, said: Header) -> Any:
    """One of the data sets that grow, after checks of its type and storage."""
    if name == STEPS:
        return steps_in(file)
    dtype, row = said.columns()[name]
    found = data_set(file, name, dtype, row, deflated=name in said.checked)
    if name in said.checked and found.chunks != (1, *found.shape[1:]):
        raise BrokenFile(f"{file.filename} is refused: {name} has chunks of {found.chunks}, not of one frame")
    (nx, ny), shape = said.shape, found.shape[1:]
    if row is None and shape not in ((1, ny, nx), (1, ny, nx, 3)):
        raise BrokenFile(f"{file.filename} is damaged: {name} has rows of shape {shape}, not {(1, ny, nx)}")
    return found


class ImageWriter(GrowingFile):
    """An image file that grows during a run, can be read meanwhile, and survives a killed process.

    >>> import tempfile
    >>> none = Images(t=np.zeros(0), lower=np.zeros(2), h=0.5, fields={"density": np.zeros((0, 4, 3))})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with ImageWriter(Path(folder) / "run.vtkhdf", none) as file:
    ...         file.frame(0.0, {"density": np.ones((4, 3))})
    ...     read_images(Path(folder) / "run.vtkhdf")
    density on 4 x 3 cells of side 0.5: 1 frames from t = 0 to 0
    """

    def __init__(self, path: str | os.PathLike[str], images: Images) -> None:
        """Create a file without frames, with the grid, the names of the fields and totals, and the facts of images."""
        self.path = Path(path)
        create_file(self.path, lambda file: _fill(file, images))
        self._start(Counts(), new=True)

    @classmethod
    def data_sets(cls, file: Any) -> dict[str, Any]:
        said = header(file)
        return {name: _data(file, name, said) for name in (*said.columns(), STEPS)}

    @classmethod
    def lengths(cls, file: Any, kept: Counts) -> dict[str, int]:
        return dict.fromkeys(header(file).columns(), kept.frames) | {STEPS: kept.steps}

    def _prepare(self, kept: Counts) -> None:
        super()._prepare(kept)
        self._header = header(self._file)
        self.statistics = read_steps(self._file, 0).dtype

    def frame(
        self,
        t: float,
        fields: Mapping[str, Array],
        totals: Mapping[str, float] | None = None,
        faces: tuple[Array, Array] | None = None,
    ) -> None:
        """Add a frame: its time, its fields (nx, ny) or (nx, ny, 2), its totals, and the velocities on its faces.

        The image is one cell thick, and vectors get a third component, zero, because VTK's reader requires both.
        """
        self._check_open()
        said, pending, known = self._header, self._pending, totals or {}
        sums = np.array([[known[name] for name in said.totals]], dtype=float).reshape(1, -1)
        values = {_field(name): _as_picture(fields[name]) for name in said.fields}
        values |= dict(zip(FACES, (np.asarray(some, float)[None] for some in faces or ()), strict=said.faces))
        checks = [_check_of_frame(np.array([t]), sums)[0], *(of_rows(values[name]) for name in said.checked)]
        pending.add(TIME, np.array([t], dtype=float))
        pending.add(_offsets(said), np.array([pending.frames + pending.added]))
        pending.add(CHECKS, np.array([checks], dtype=np.uint32))
        for name, total in zip(said.totals, sums.T, strict=True):
            pending.add(_total(name), total)
        for name, rows_of_one in values.items():
            pending.add(name, rows_of_one)
        pending.added += 1
        self.commit_if_due()


def _as_picture(values: Array) -> Array:
    """(1, 1, ny, nx) or (1, 1, ny, nx, 3): a field as a row of its data set."""
    turned = np.swapaxes(np.array(values, dtype=float), 0, 1)[None, None]  # a copy: the caller may change the array
    return np.concatenate([turned, np.zeros((*turned.shape[:-1], 1))], axis=-1) if turned.ndim == 5 else turned


def _check_of_frame(t: Array, totals: Array) -> NDArray[np.uint32]:
    """(frames,) the checksums of the times (frames,) and totals (frames, k)."""
    return of_records(np.column_stack([t, totals]).astype(float).view(np.int64))


def _fill(file: Any, images: Images) -> None:
    """Create the groups and data sets of an image file without frames."""
    (nx, ny), root = images.shape, file.create_group("VTKHDF")
    root.attrs["Version"] = np.array(VERSION, np.int64)
    root.attrs.create("Type", b"ImageData", dtype=h5py.string_dtype("ascii", len("ImageData")))
    root.attrs["WholeExtent"] = np.array([0, nx, 0, ny, 0, 1], np.int64)
    root.attrs["Origin"] = np.array([*images.lower, 0.0])
    root.attrs["Spacing"] = np.full(3, images.h)
    root.attrs["Direction"] = np.eye(3).ravel()
    said = Header((nx, ny), 0, 0, tuple(sorted(images.fields)), tuple(sorted(images.totals)), images.faces is not None)
    file.create_group("jostle/images/totals")
    for name, (dtype, row) in said.columns().items():
        if row is None:
            row = (1, ny, nx, 3) if images.fields[name.rpartition("/")[2]].ndim == 4 else (1, ny, nx)
        if name in said.checked:
            create_data(file, name, dtype, row, 1, compression="gzip", compression_opts=1)
        else:
            create_data(file, name, dtype, row, FRAME_CHUNK)
    for name in said.fields[1:]:
        file[f"VTKHDF/Steps/CellDataOffsets/{name}"] = file[_offsets(said)]
    run = create_run(file, NO_STATISTICS if images.steps is None else images.steps.dtype, images.about)
    run["format"], run["closed"] = FORMAT, np.array(images.closed, np.uint8)
    run[CHECK] = np.uint32(_check_of_texts(images.units, images.about))
    if images.units != Units():
        run["units"] = np.array([name.encode() for name in astuple(images.units)])
    for name, mask in (("walls", images.walls), ("exits", images.exits)):
        if mask is not None:
            saved = np.asarray(mask, np.uint8)
            made = file.create_dataset(f"jostle/images/{name}", data=saved, compression="gzip", compression_opts=1)
            made.attrs[CHECK] = np.uint32(of_rows(saved))


def _check_of_texts(units: Units, about: Mapping[str, str]) -> int:
    """Checksum of the texts of an image file."""
    texts = [*astuple(units), *(text for pair in sorted(about.items()) for text in pair)]
    return of_rows(np.frombuffer("\0".join(texts).encode(), np.uint8))


class Frames(LazyArray):
    """A field (frames, nx, ny) or (frames, nx, ny, 2), or velocities on faces, that stay in the file until indexed."""

    def __init__(self, path: Path, name: str, said: Header, row: tuple[int, ...], checks: NDArray[Any]) -> None:
        """The data set of this name, with rows of this shape and a checksum for each frame."""
        cells = (*said.shape, 2)[: len(row) - 1]
        super().__init__(path, (said.frames, *(row if name in FACES else cells)))
        self._name, self._header, self._row, self._checks = name, said, row, checks

    def __repr__(self) -> str:
        return f"{self._name.rpartition('/')[2]} of shape {self.shape} in {self.path.name}"

    def frames(self, numbers: Integers) -> Array:
        with reading(self.path) as file:
            data = _data(file, self._name, self._header)
            if len(data) < len(self):
                raise BrokenFile(f"{self.path} was replaced by a shorter run while it was being read")
            check_deflated(file, data, ((int(number), *[0] * len(self._row)) for number in numbers))
            found = np.asarray(data[numbers], float) if len(numbers) else np.zeros((0, *self._row))
        for number, values in zip(numbers, found, strict=True):
            if of_rows(values) != self._checks[number]:
                name = self._name.rpartition("/")[2]
                raise BrokenFile(f"{self.path} is damaged: {name} of frame {number} does not match its checksum")
        if self._name in FACES:
            return found
        found = np.swapaxes(found[:, 0], 1, 2)
        return np.ascontiguousarray(found[..., :2] if self.ndim == 4 else found)


@check_arguments
def are_images(path: str | os.PathLike[str]) -> bool:
    """Tell whether a file contains images, and not a trajectory of bodies.

    Parameters
    ----------
    path : str or path
        Name of the file.

    Returns
    -------
    bool
        True for an image file, False for a trajectory of bodies.

    Raises
    ------
    BrokenFile
        If the file is neither.

    Examples
    --------
    >>> import jostle as jo, tempfile
    >>> grid = jo.macro.Grid([0, 0], [2, 1], h=1 / 4)
    >>> block = jo.macro.Flow(grid=grid, density=grid.block([0, 0], [1, 1]), velocity=grid.velocity(1.0, 0))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     place = Path(folder) / "block.vtkhdf"
    ...     sol = jo.macro.solve(block, jo.macro.Splitting(), t=0.1, h=0.05, output=place)
    ...     are_images(place)
    True
    """
    with reading(Path(path)) as file:
        return holds_images(file)


@check_arguments
def read_images(path: str | os.PathLike[str]) -> Images:
    """Read the fields that `jo.macro.solve(..., output=path)` or `jostle run` wrote.

    Parameters
    ----------
    path : str or path
        Name of the file.

    Returns
    -------
    Images
        The fields and the facts about the run.

    Raises
    ------
    BrokenFile
        If the file is damaged, contains a trajectory of bodies, or was written by a newer version.

    Examples
    --------
    >>> import jostle as jo, tempfile
    >>> grid = jo.macro.Grid([0, 0], [2, 1], h=1 / 4, closed=True)
    >>> block = jo.macro.Flow(grid=grid, density=grid.block([0, 0], [1, 1]), velocity=grid.velocity(1.0, 0))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     place = Path(folder) / "block.vtkhdf"
    ...     sol = jo.macro.solve(block, jo.macro.Splitting(), t=0.5, h=0.05, every=5, output=place)
    ...     found = read_images(place)
    ...     found, round(float(found.fields["density"][-1].sum() * found.h**2), 9)
    (density, pressure, velocity on 8 x 4 cells of side 0.25: 3 frames from t = 0 to 0.5, 1.0)
    """
    place = Path(path)
    with reading(place) as file:
        said = header(file)
        if said.frames == 0:
            raise no_frame(file, place)
        root, run = inside(file, "VTKHDF").attrs, inside(file, "jostle/run").attrs
        columns = {name: _data(file, name, said) for name in said.columns()}
        for data in columns.values():
            check_size(file, data, said.frames)
        t, checks, *sums = (
            rows(file, columns[name], 0, said.frames) for name in (TIME, CHECKS, *map(_total, said.totals))
        )
        wrong = _check_of_frame(t, np.array(sums).reshape(-1, said.frames).T) != checks[:, 0]
        if wrong.any():
            raise BrokenFile(f"{path} is damaged: the time or the totals of frame {int(np.argmax(wrong))} are wrong")
        lower, h = np.array(root["Origin"][:2], float), float(root["Spacing"][0])
        if (np.diff(t) <= 0.0).any() or not (h > 0.0 and np.isfinite([*t, *lower, h]).all()):
            raise BrokenFile(f"{path} is damaged: its times must increase, and its grid must be finite")
        lazy = {
            name: Frames(place.absolute(), name, said, columns[name].shape[1:], checks[:, k])
            for k, name in enumerate(said.checked, start=1)
        }
        about, units = about_run(file), _units(path, run)
        if int(run[CHECK]) != _check_of_texts(units, about):
            raise BrokenFile(f"{path} is damaged: its texts do not match their checksum")
        (left, right), (bottom, top) = np.asarray(run["closed"]).astype(bool).tolist()
        return Images(
            t=t, lower=lower, h=h, fields={name: lazy[_field(name)] for name in said.fields},
            closed=((left, right), (bottom, top)), walls=_mask(file, "walls", said), exits=_mask(file, "exits", said),
            totals=dict(zip(said.totals, sums, strict=True)), steps=read_steps(file, said.steps),
            status=status_of(file), about=about, units=units, path=place.absolute(),
            faces=(lazy[FACES[0]], lazy[FACES[1]]) if said.faces else None,
        )  # fmt: skip


def _mask(file: Any, name: str, said: Header) -> Booleans | None:
    """The cells that are walls, or exits; None if there are none."""
    if name not in inside(file, "jostle/images"):
        return None
    data = data_set(file, f"jostle/images/{name}", np.uint8, None, deflated=True)
    if data.shape != said.shape:
        raise BrokenFile(f"{file.filename} is damaged: {name} has shape {data.shape}, not {said.shape}")
    check_deflated(file, data, product(*(range(0, n, step) for n, step in zip(data.shape, data.chunks, strict=True))))
    found = rows(file, data, 0, len(data))
    if int(data.attrs.get(CHECK, -1)) != of_rows(found):
        raise BrokenFile(f"{file.filename} is damaged: {name} does not match its checksum")
    return np.asarray(found, dtype=bool)


def _units(path: str | os.PathLike[str], run: Any) -> Units:
    """The names of the units, if they are known."""
    saved = np.ravel(run.get("units", []))
    names = [name.decode(errors="replace") if isinstance(name, bytes) else str(name) for name in saved]
    if len(names) not in (0, 3):
        raise BrokenFile(f"{path} is damaged: it must name three units, of length, time and mass")
    return Units(*names)
