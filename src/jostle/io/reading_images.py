"""Reading of image files: fields on a grid, which stay in the file until they are indexed."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from jostle._tools.arguments import check_arguments
from jostle.errors import BrokenFile
from jostle.io.container import reading
from jostle.io.image_frames import Frames, stored_numbers
from jostle.io.images import CHECK, FORMAT, Images, of_texts
from jostle.io.trust import inside
from jostle.result.facts import Units


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
    >>> from jostle.io.images import write_images
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
        if int(run.attrs["format"]) != FORMAT:
            raise BrokenFile(
                f"{path} was written by another version of jostle: this version reads format {FORMAT} of images"
            )
        _, nx, _, ny, _, _ = (int(k) for k in root["WholeExtent"])
        t, lower, h = (
            stored_numbers(file, "VTKHDF/Steps/Values"),
            np.array(root["Origin"][:2], float),
            root["Spacing"][0],
        )
        if len(t) == 0 or (np.diff(t) <= 0.0).any() or not (h > 0.0 and np.isfinite([*t, *lower, h]).all()):
            raise BrokenFile(f"{path} is damaged: its times must increase, and its grid must be finite")
        fields = {name: Frames(place, name, (len(t), nx, ny)) for name in inside(file, "VTKHDF/CellData")}
        for frames in fields.values():
            frames.check(file)
        if not fields:
            raise BrokenFile(f"{path} is damaged: it contains no field")
        masks = {
            name: stored_numbers(file, f"jostle/images/{name}", (nx, ny)).astype(bool)
            for name in ("walls", "exits")
            if name in run
        }
        totals = {
            str(name): stored_numbers(file, f"jostle/images/totals/{name}", t.shape)
            for name in inside(file, "jostle/images/totals")
        }
        status, about, units = str(run.attrs["status"]), notes(file), _units(run)
        if int(run.attrs[CHECK]) != of_texts(status, units, about):
            raise BrokenFile(f"{path} is damaged: its texts do not match their checksum")
        (left, right), (bottom, top) = np.asarray(run.attrs["closed"]).astype(bool).tolist()
        return Images(
            t=t, lower=lower, h=float(h), fields=fields, closed=((left, right), (bottom, top)), totals=totals,
            steps=stored_numbers(file, "jostle/images/steps") if "steps" in run else None,
            status=status, about=about, units=units, path=place.absolute(), **masks,
        )  # fmt: skip


def _units(run: Any) -> Units:
    """The names of the units, if they are known."""
    names = [str(name) for name in np.ravel(run.attrs.get("units", []))]
    if len(names) not in (0, 3):
        raise BrokenFile(f"{run.file.filename} is damaged: it must name three units, of length, time and mass")
    return Units(*names)


def notes(file: Any) -> dict[str, str]:
    """The notes of the writer about a run."""
    return {str(name): str(text) for name, text in inside(file, "jostle").attrs.items()}
