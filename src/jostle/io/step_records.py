"""Step records of a run, `STATISTICS`, as stored in a trajectory."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from jostle.errors import BrokenFile
from jostle.io.checksums import of_records
from jostle.io.trust import data_set, rows
from jostle.result.recording import STATISTICS
from jostle.solvers.base import MAX_NAME_LENGTH

STEPS = "jostle/steps"
"""Data set of the step records."""
CHECK = "checksum"
"""Field of the checksum of a record."""
RECORD = np.dtype(
    [(n, f"S{MAX_NAME_LENGTH}" if n == "solver" else STATISTICS[n]) for n in STATISTICS.names or ()] + [(CHECK, "u4")]
)
"""Type of a stored record of `STATISTICS`, with its checksum."""


def as_stored(given: NDArray[Any]) -> NDArray[Any]:
    """Statistics of steps as they are stored."""
    stored = np.zeros(len(given), dtype=RECORD)
    for name in set(given.dtype.names or ()) & set(RECORD.names or ()):
        stored[name] = np.strings.encode(given[name], "ascii", "replace") if name == "solver" else given[name]
    stored[CHECK] = of_records(stored)  # computed with the checksum field set to 0
    return stored


def steps_in(file: Any) -> Any:
    """The data set of the records, after checks of its type."""
    found = data_set(file, STEPS)
    if found.dtype != RECORD:
        raise BrokenFile(f"{file.filename} is damaged: {STEPS} does not contain step records")
    return found


def statistics(file: Any, count: int) -> NDArray[Any]:
    """The statistics of the first steps."""
    stored = rows(file, steps_in(file), 0, count)
    checks = stored[CHECK].copy()
    stored[CHECK] = 0
    wrong = of_records(stored) != checks
    if wrong.any():
        step = int(np.argmax(wrong)) + 1
        raise BrokenFile(f"{file.filename} is damaged: the record of step {step} does not match its checksum")
    stats = np.empty(len(stored), dtype=STATISTICS)
    for name in STATISTICS.names or ():
        stats[name] = stored[name]
    return stats
