"""Fields on a grid of square cells in time, as VTKHDF image files, which ParaView and `read_images` read.

The group /VTKHDF is an ImageData with many time steps, one cell thick; CellData contains the fields, (frame, z, y, x).
Only jostle reads the group /jostle. Its attributes are the notes of the writer about the run.

    images          attributes: format, status of the run, closed sides of the grid, and the names of the units of
                    length, time and mass if they are known
    images/walls    (nx, ny) 1 where a cell is a wall
    images/exits    (nx, ny) 1 where a cell is an exit
    images/steps    one record per step of the run
    images/totals   one number per frame: mass, energy ...
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import astuple, dataclass, field
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import DTypeLike, NDArray

from jostle.arguments import check_arguments
from jostle.arrays import Array, Booleans
from jostle.errors import BrokenFile, InvalidValue
from jostle.facts import Units
from jostle.io.container import HDF5_ERRORS, reading
from jostle.io.new_files import whole
from jostle.io.trust import inside
from jostle.statuses import FINISHED

VERSION = (2, 2)
"""Version of the VTKHDF layout."""
FORMAT = 1
"""Version of the group /jostle/images."""
MAX_COMPRESSION = 1040
"""Largest compression factor of deflate; a file that declares more data is refused."""
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
        _write_picture(file.create_group("VTKHDF"), images)
        _write_run(file.create_group("jostle"), images)


def _write_picture(root: Any, images: Images) -> None:
    """Write the part that VTK reads."""
    (nx, ny), frames = images.shape, len(images.t)
    root.attrs["Version"] = np.array(VERSION, np.int64)
    root.attrs.create("Type", b"ImageData", dtype=h5py.string_dtype("ascii", len("ImageData")))
    root.attrs["WholeExtent"] = np.array([0, nx, 0, ny, 0, 1], np.int64)
    root.attrs["Origin"] = np.array([*images.lower, 0.0])
    root.attrs["Spacing"] = np.full(3, images.h)
    root.attrs["Direction"] = np.eye(3).ravel()
    cells, steps = root.create_group("CellData"), root.create_group("Steps")
    steps.attrs["NSteps"] = np.int64(frames)
    steps.create_dataset("Values", data=np.asarray(images.t, float))
    offsets = steps.create_group("CellDataOffsets")
    for name, values in images.fields.items():
        turned = np.swapaxes(values, 1, 2)[:, None]  # frame, z, y, x
        if turned.ndim == 5:
            turned = np.concatenate([turned, np.zeros((*turned.shape[:-1], 1))], axis=-1)
        chunk = (1, *turned.shape[1:])
        cells.create_dataset(name, data=turned, chunks=chunk, compression="gzip", compression_opts=1)
        offsets.create_dataset(name, data=np.arange(frames, dtype=np.int64))


def _write_run(root: Any, images: Images) -> None:
    """Write the part that only jostle reads."""
    for name, text in images.about.items():
        root.attrs[name] = text
    run = root.create_group("images")
    run.attrs["format"], run.attrs["status"] = FORMAT, images.status
    run.attrs["closed"] = np.array(images.closed, np.uint8)
    if images.units != Units():
        run.attrs["units"] = list(astuple(images.units))
    for name, mask in (("walls", images.walls), ("exits", images.exits)):
        if mask is not None:
            run.create_dataset(name, data=np.asarray(mask, np.uint8), compression="gzip", compression_opts=1)
    if images.steps is not None:
        run.create_dataset("steps", data=images.steps)
    totals = run.create_group("totals")
    for name, values in images.totals.items():
        totals.create_dataset(name, data=np.asarray(values, float))


def holds_images(file: Any) -> bool:
    """Whether an open HDF5 file contains images; trajectories of bodies have another type of VTK."""
    links, name = file.id.links, b"VTKHDF"
    if not links.exists(name) or links.get_info(name).type != h5py.h5l.TYPE_HARD:
        return False
    return bytes(file["VTKHDF"].attrs.get("Type", b"")) == b"ImageData"


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
    NoSuchFile
        If there is no such file.
    BrokenFile
        If the file is neither.

    Examples
    --------
    >>> import jostle as jo, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     place = Path(folder) / "run.vtkhdf"
    ...     write_images(place, Images(t=np.zeros(1), lower=np.zeros(2), h=1.0, fields={"density": np.ones((1, 2, 2))}))
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
    NoSuchFile
        If there is no such file.
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
        if not holds_images(file):
            raise BrokenFile(f"{path} does not contain fields on a grid: read a trajectory of bodies with jo.io.read")
        root, run = inside(file, "VTKHDF").attrs, inside(file, "jostle/images")
        if int(run.attrs["format"]) > FORMAT:
            raise BrokenFile(
                f"{path} was written by a newer version of jostle: this version reads format {FORMAT} of images"
            )
        _, nx, _, ny, _, _ = (int(k) for k in root["WholeExtent"])
        t, lower, h = _numbers(file, "VTKHDF/Steps/Values"), np.array(root["Origin"][:2], float), root["Spacing"][0]
        if len(t) == 0 or (np.diff(t) <= 0.0).any() or not (h > 0.0 and np.isfinite([*t, *lower, h]).all()):
            raise BrokenFile(f"{path} is damaged: its times must increase, and its grid must be finite")
        fields = {name: Frames(place, name, (len(t), nx, ny)) for name in inside(file, "VTKHDF/CellData")}
        for frames in fields.values():
            frames.check(file)
        if not fields:
            raise BrokenFile(f"{path} is damaged: it contains no field")
        masks = {
            name: _numbers(file, f"jostle/images/{name}", (nx, ny)).astype(bool)
            for name in ("walls", "exits")
            if name in run
        }
        totals = {
            str(name): _numbers(file, f"jostle/images/totals/{name}", t.shape)
            for name in inside(file, "jostle/images/totals")
        }
        (left, right), (bottom, top) = np.asarray(run.attrs["closed"]).astype(bool).tolist()
        return Images(
            t=t, lower=lower, h=float(h), fields=fields, closed=((left, right), (bottom, top)), totals=totals,
            steps=_numbers(file, "jostle/images/steps") if "steps" in run else None,
            status=str(run.attrs["status"]), about=notes(file), units=_units(run), path=place.absolute(), **masks,
        )  # fmt: skip


def _units(run: Any) -> Units:
    """The names of the units; older files have none."""
    names = [str(name) for name in np.ravel(run.attrs.get("units", []))]
    if len(names) not in (0, 3):
        raise BrokenFile(f"{run.file.filename} is damaged: it must name three units, of length, time and mass")
    return Units(*names)


def notes(file: Any) -> dict[str, str]:
    """The notes of the writer about a run."""
    return {str(name): str(text) for name, text in inside(file, "jostle").attrs.items()}


class Frames:
    """A field (frames, nx, ny) or (frames, nx, ny, 2) that stays in its file until it is indexed."""

    dtype = np.dtype(float)

    def __init__(self, path: Path, name: str, shape: tuple[int, ...]) -> None:
        self._path, self._name, self.shape = path.absolute(), f"VTKHDF/CellData/{name}", shape

    def check(self, file: Any) -> None:
        """Check the shape of the data set in the file."""
        frames, nx, ny = self.shape
        data = _data(file, self._name)
        if data.shape == (frames, 1, ny, nx, 3):
            self.shape = (frames, nx, ny, 2)
        elif data.shape != (frames, 1, ny, nx):
            raise BrokenFile(f"{self._path} is damaged: {self._name} has shape {data.shape}, not {(frames, 1, ny, nx)}")

    def __repr__(self) -> str:
        return f"{self._name.rpartition('/')[2]} of shape {self.shape} in {self._path.name}"

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, index: Any) -> Array:
        frames, *rest = index if isinstance(index, tuple) else (index,)
        with reading(self._path) as file:
            data = _data(file, self._name)
            if len(data) < len(self):
                raise BrokenFile(f"{self._path} was replaced by a shorter run while it was being read")
            found = np.asarray(data[np.arange(len(self))[frames]], float)
        one = found.ndim < len(self.shape) + 1
        found = np.swapaxes(found[None] if one else found, 2, 3)[:, 0]
        found = found[..., :2] if len(self.shape) == 4 else found
        return np.asarray(found[0][tuple(rest)] if one else found[(slice(None), *rest)])

    def __iter__(self) -> Iterator[Array]:
        return (self[k] for k in range(len(self)))

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        if copy is False:
            raise ValueError("an array in a file cannot be converted without a copy")
        return np.asarray(self[:], dtype=dtype)


def _data(file: Any, name: str) -> Any:
    """A data set stored inside the file, uncompressed or deflated."""
    found = inside(file, name)
    if not isinstance(found, h5py.Dataset):
        raise BrokenFile(f"{file.filename} is damaged: {name} is not a data set")
    made = found.id.get_create_plist()
    filters = {made.get_filter(k)[0] for k in range(made.get_nfilters())}
    if made.get_external_count() or made.get_layout() == h5py.h5d.VIRTUAL or filters - {h5py.h5z.FILTER_DEFLATE}:
        raise BrokenFile(f"{file.filename} is refused: {name} is stored in a way that jostle never uses")
    size = found.dtype.itemsize * int(np.prod(found.shape, dtype=object))
    if size > MAX_COMPRESSION * file.id.get_filesize():
        raise BrokenFile(f"{file.filename} is refused: {name} declares {size} bytes, more than the file can hold")
    return found


def _numbers(file: Any, name: str, shape: tuple[int, ...] | None = None) -> NDArray[Any]:
    data = _data(file, name)
    if shape is not None and data.shape != shape:
        raise BrokenFile(f"{file.filename} is damaged: {name} has shape {data.shape}, not {shape}")
    return np.asarray(data[()])
