"""The index of the frames of a trajectory, by which the rows of each frame are found, and cuts of a file."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from jostle._tools.arrays import Array, Integers
from jostle.errors import BrokenFile
from jostle.io import wall_states
from jostle.io.checksums import Checks, of_records
from jostle.io.headers import Header, data, header, names, say
from jostle.io.layout import (
    BODY,
    BODY_AT,
    CELL_DATA,
    CELLS_AT,
    CHECKS,
    COMPONENTS,
    COUNT,
    DATA_AT,
    DURATION,
    ENDS,
    ENDS_AT,
    LINES,
    OFFSETS,
    POINTS,
    POINTS_AT,
    RADIUS,
    RADIUS_AT,
    TIME,
    VELOCITY,
    VERTICES,
    WALLS,
    of_frames,
)
from jostle.io.step_records import STEPS
from jostle.io.trust import rows


class Index(NamedTuple):
    """The index of the frames: times, numbers of points and lines, and the positions at which these begin."""

    t: Array
    duration: Array
    points: Integers
    """Number of bodies."""
    lines: Integers
    """Number of contacts."""
    components: Integers
    points_at: Integers
    body_at: Integers
    radius_at: Integers
    cells_at: Integers
    ends_at: Integers
    data_at: Integers
    wall_points: Integers
    wall_lines: Integers
    wall_ends: Integers
    state: Integers
    """Number of the state of the walls."""

    def checks(self) -> Checks:
        """(k,) the checksum of the entries of each frame."""
        columns = [np.asarray(column, dtype=float if k < 2 else np.int64) for k, column in enumerate(self)]
        return of_records(np.stack([column.view(np.int64) for column in columns], axis=1))

    def lengths(self) -> dict[str, int]:
        """Length of each data set that the frames need."""
        frames = len(self.t)
        if frames == 0:
            return {}
        n, m, _, points_at, body_at, radius_at, cells_at, ends_at, data_at, *walls = (int(one[-1]) for one in self[2:])
        points, lines, ends = n + walls[0], m + walls[1], 2 * m + walls[2]
        return {
            **dict.fromkeys((POINTS, VELOCITY), points_at + points),
            **dict.fromkeys(CELL_DATA, data_at + lines + (n > 0)),
            BODY: body_at + points,
            RADIUS: radius_at + points,
            VERTICES: 2 * frames,
            ENDS: ends_at + ends,
            OFFSETS: frames + cells_at + max(lines, 1),
        }


def index(file: Any, said: Header) -> Index:
    """The index of the valid frames."""
    frames, contacts = said.frames, said.contacts

    def column(name: str) -> Any:
        return rows(file, data(file, name, said), 0, frames)

    cells_at, ends_at = (column(name)[:, 1] for name in (CELLS_AT, ENDS_AT))
    nothing = np.zeros(frames, dtype=np.int64)
    components, data_at = (column(name) if contacts else nothing for name in (COMPONENTS, DATA_AT))
    walls = column(WALLS).T
    lines = column(LINES) - walls[1]
    points_at, body_at, radius_at = (column(name) for name in (POINTS_AT, BODY_AT, RADIUS_AT))
    t, points, duration = column(TIME), column(COUNT) - walls[0], column(DURATION)
    starts = (points_at, body_at, radius_at, cells_at, ends_at, data_at)
    found = Index(t, duration, points, lines, components, *starts, *walls)
    wrong = found.checks() != column(CHECKS)[:, 0]
    wrong |= np.min(found[2:], axis=0) < 0
    wrong |= (points > said.points[0]) | (components > 3)
    if wrong.any():
        raise BrokenFile(
            f"{file.filename} is damaged: the entries of frame {int(np.argmax(wrong))} in the tables are wrong"
        )
    return found


def lengths(file: Any, frames: int, steps: int) -> dict[str, int]:
    """Lengths of the data sets for given numbers of frames and step records."""
    said = header(file)._replace(frames=frames)
    found = index(file, said)
    grown = found.lengths() | dict.fromkeys(of_frames(said.contacts), frames) | {STEPS: steps}
    if frames:
        grown |= wall_states.lengths(wall_states.table_of(file, int(found.state[-1]) + 1))
    return {name: grown.get(name, 0) for name in names(said)}


def trim(file: Any, frames: int, steps: int) -> None:
    """Keep only the first `frames` frames and `steps` step records; the counts are changed before the data."""
    wanted, said = lengths(file, frames, steps), header(file)
    say(file, frames, steps)
    for name, length in wanted.items():
        found = data(file, name, said)
        if len(found) < length:
            raise BrokenFile(f"{file.filename} is damaged: {name} has {len(found)} of {length} entries")
        if len(found) > length:
            found.resize(length, axis=0)
    file.flush()
