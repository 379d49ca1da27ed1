"""New trajectory files without frames, which appear under their name only when they are complete."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import h5py
import numpy as np
from numpy.typing import DTypeLike

from jostle.errors import InvalidValue, JostleError, NoSuchFile, WriteFailed
from jostle.facts import Facts
from jostle.io import layout
from jostle.io.container import LIBRARY_VERSION, reason
from jostle.io.new_files import beside, create, publish, refuse_existing
from jostle.io.superblock import SIZE, mended


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
        layout.create(file, layout.Kind(shape, contacts, dtype, known), about)
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
