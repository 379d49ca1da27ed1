"""Fields on a grid of cells in time, as a VTKHDF file of images: ParaView opens it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import h5py
import numpy as np

from jostle.arrays import Array
from jostle.errors import InvalidValue

VERSION = (2, 2)


def check_path(path: str | os.PathLike[str]) -> None:
    """Refuse a path that ParaView would not take for such a file, or whose folder is not there.

    >>> check_path("density.h5")
    Traceback (most recent call last):
    ...
    jostle.errors.InvalidValue: fields are written as .vtkhdf, not as density.h5
    """
    place = Path(path)
    if place.suffix != ".vtkhdf":
        raise InvalidValue(f"fields are written as .vtkhdf, not as {place}")
    if not place.absolute().parent.is_dir():
        raise InvalidValue(f"the folder of {place} does not exist")


def write_images(path: str | os.PathLike[str], t: Array, lower: Array, h: float, fields: Mapping[str, Array]) -> None:
    """Write fields (frames, nx, ny) and (frames, nx, ny, 2) on square cells of side h, under another name first.

    The image is one cell thick, and vectors get a third component, zero: VTK's reader asks for both.
    """
    check_path(path)
    place = Path(path)
    beside = place.with_name(place.name + ".part")
    with h5py.File(beside, "w") as file:
        root = file.create_group("VTKHDF")
        _, nx, ny = next(iter(fields.values())).shape[:3]
        root.attrs["Version"] = np.array(VERSION, np.int64)
        root.attrs.create("Type", b"ImageData", dtype=h5py.string_dtype("ascii", len("ImageData")))
        root.attrs["WholeExtent"] = np.array([0, nx, 0, ny, 0, 1], np.int64)
        root.attrs["Origin"] = np.array([*lower, 0.0])
        root.attrs["Spacing"] = np.array([h, h, h])
        root.attrs["Direction"] = np.eye(3).ravel()
        cells = root.create_group("CellData")
        steps = root.create_group("Steps")
        steps.attrs["NSteps"] = np.int64(len(t))
        steps.create_dataset("Values", data=np.asarray(t, float))
        offsets = steps.create_group("CellDataOffsets")
        for name, field in fields.items():
            turned = np.swapaxes(field, 1, 2)[:, None]  # frame, z, y, x
            if turned.ndim == 5:
                turned = np.concatenate([turned, np.zeros((*turned.shape[:-1], 1))], axis=-1)
            cells.create_dataset(name, data=turned, compression="gzip", compression_opts=1)
            offsets.create_dataset(name, data=np.arange(len(t), dtype=np.int64))
    beside.replace(place)
