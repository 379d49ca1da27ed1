"""New trajectory files without frames, which appear under their name only when they are complete."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import DTypeLike

from jostle.errors import InvalidValue, JostleError, NoSuchFile, WriteFailed
from jostle.io import stored_facts, wall_states
from jostle.io.container import LIBRARY_VERSION, reason
from jostle.io.layout import (
    CHANGES,
    EVERYBODY,
    FORMAT,
    LINKS,
    LINKS_OF_CONTACTS,
    PARTS,
    STATUS,
    of_bodies,
    of_frames,
)
from jostle.io.new_files import beside, create, publish, refuse_existing
from jostle.io.pictures import points_of
from jostle.io.step_records import RECORD, STEPS
from jostle.io.superblock import SIZE, mended
from jostle.result.facts import Facts

MIN_CHUNK, MAX_CHUNK = 1024, 32768
"""Smallest and largest number of rows per chunk of data sets with rows per body or contact."""
FRAME_CHUNK = 512
"""Number of rows per chunk of data sets with one row per frame or step."""
STATE_CHUNK = 64
"""Number of rows per chunk of data sets with rows per state of the walls."""


def create_trajectory(
    path: Path, shape: tuple[int, ...], contacts: bool, dtype: DTypeLike, facts: Facts | None, about: Mapping[str, str]
) -> None:
    """Create a trajectory: first in memory, then under a temporary name, then under its own."""
    if np.dtype(dtype) not in (np.float32, np.float64):
        raise InvalidValue(f"dtype must be float32 or float64, not {np.dtype(dtype)}")
    known = Facts() if facts is None else facts
    if known.order not in (0, 1, 2):
        raise InvalidValue(f"order must be 2 for a Motion or 1 for a Sweeping, not {known.order!r}")
    refuse_existing(path)
    with h5py.File(path, "w", driver="core", backing_store=False, libver=LIBRARY_VERSION) as file:
        _fill(file, shape, contacts, dtype, known, about)
        file.flush()
        image = file.id.get_file_image()
    new = beside(path)
    try:
        create(new, mended(image[:SIZE], len(image)) + image[SIZE:])
        publish(new, path)
    except FileNotFoundError:
        raise NoSuchFile(f"{path} cannot be created: there is no folder {path.parent}") from None
    except JostleError:
        raise
    except OSError as error:
        raise WriteFailed(f"{path} cannot be created: {reason(error)}") from None
    finally:
        new.unlink(missing_ok=True)


def _fill(
    file: Any, shape: tuple[int, ...], contacts: bool, dtype: DTypeLike, facts: Facts, about: Mapping[str, str]
) -> None:
    """Create the groups and data sets of a trajectory without frames."""
    count, _ = points_of(shape, facts.dimension)

    def data(name: str, type_: DTypeLike, row: tuple[int, ...], chunk: int) -> None:
        fill = 1 if name == PARTS else None
        options = {"maxshape": (None, *row), "chunks": (chunk, *row), "fillvalue": fill}
        file.create_dataset(name, shape=(0, *row), dtype=type_, **options)

    for name, column in of_frames(contacts).items():
        data(name, *column, FRAME_CHUNK)
    for name, column in of_bodies(contacts, dtype).items():
        data(name, *column, _chunk_rows(count))
    for name, column in wall_states.COLUMNS.items():
        data(name, *column, STATE_CHUNK)
    stored_facts.create(file, facts)
    data(STEPS, RECORD, (), FRAME_CHUNK)
    data("VTKHDF/Polygons/Connectivity", np.int64, (), FRAME_CHUNK)
    file.create_dataset(EVERYBODY, data=np.arange(max(count, 1), dtype=np.int32))
    for name, other in (LINKS | (LINKS_OF_CONTACTS if contacts else {})).items():
        file[name] = file[other]
    vtk, run = file["VTKHDF"].attrs, file.create_group("jostle/run").attrs
    vtk["Version"], vtk["Type"] = np.array([2, 2]), np.bytes_("PolyData")
    file["VTKHDF/Steps"].attrs["NSteps"] = np.int64(0)
    run["format"], run["shape"], run["contacts"] = FORMAT, np.array(shape, dtype=np.int64), contacts
    run["dimension"] = facts.dimension
    run["order"], run["walls"] = facts.order, -1 if facts.walls is None else facts.walls
    run["status"], run["steps"] = np.array(b"running", dtype=STATUS), np.int64(0)
    data(CHANGES, np.uint8, (), MIN_CHUNK)
    run["changes"] = np.int64(0)
    for key, text in about.items():
        try:
            file["jostle"].attrs[key] = str(text)
        except ValueError as error:
            raise InvalidValue(f"about[{key!r}] cannot be stored as text: {error}") from None


def _chunk_rows(count: int) -> int:
    """Number of rows per chunk for a number of bodies: a power of two."""
    return int(min(max(2 ** int(count - 1).bit_length(), MIN_CHUNK), MAX_CHUNK))
