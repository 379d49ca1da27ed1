"""Settings that changed when a run was resumed, stored as lines of JSON in its trajectory."""

from __future__ import annotations

import json
from typing import Any

import h5py
import numpy as np

from jostle.errors import BrokenFile
from jostle.io import layout


def note(file: Any, text: str) -> None:
    """Add a line to the changes: write the bytes, then the number of valid bytes."""
    run = file["jostle/run"]
    block, start = np.frombuffer(text.encode() + b"\n", dtype=np.uint8), int(run.attrs["changes"])
    file[layout.CHANGES].resize(start + len(block), axis=0)
    file[layout.CHANGES][start:] = block
    file.flush()
    h5py.h5a.open(run.id, b"changes").write(np.array([start + len(block)]))
    file.flush()


def notes(file: Any) -> list[dict[str, Any]]:
    """The changes that were recorded, the oldest first."""
    length = int(file["jostle/run"].attrs["changes"])
    if length == 0:
        return []
    try:
        return [dict(json.loads(line)) for line in file[layout.CHANGES][:length].tobytes().decode().splitlines()]
    except ValueError as error:
        raise BrokenFile(f"{file.filename} is damaged: its changes cannot be read ({error})") from None
