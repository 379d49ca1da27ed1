"""The shapes of the walls in a trajectory: stored again only when they change.

    jostle/walls/points   (k, 3) the points of all shapes, one shape after the other; see `jostle.sets.shapes`
    jostle/walls/shapes   (k, 2) for each shape, the position of its kind in `KINDS` and its number of points
    jostle/walls/states   (k, 3) for each state of the walls, the numbers of shapes and points, and a checksum

Each frame stores the number of the state of the walls at its time.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from jostle._tools.arrays import Integers
from jostle.errors import BrokenFile, InvalidValue
from jostle.io.checksums import of_rows
from jostle.io.trust import data_set, rows
from jostle.sets.shapes import KINDS, Shape, checked

CORNERS, SHAPES, STATES = "jostle/walls/points", "jostle/walls/shapes", "jostle/walls/states"
"""Data sets of the walls: corners, shapes, and the shapes of each state."""
COLUMNS: dict[str, tuple[DTypeLike, tuple[int, ...]]] = {
    CORNERS: (np.float64, (3,)), SHAPES: (np.int64, (2,)), STATES: (np.int64, (3,)),
}  # fmt: skip
"""Data sets of the walls, with their types and the shapes of their rows."""


def rows_of(shapes: Sequence[Shape], d: int) -> dict[str, NDArray[Any]]:
    """The rows to add to each data set for a new state of the walls."""
    for shape in shapes:
        if shape.points.shape[1] != d:
            raise InvalidValue(f"the walls have dimension {shape.points.shape[1]}, the bodies {d}")
    corners = np.zeros((sum(len(shape.points) for shape in shapes), 3))
    if len(corners):
        corners[:, :d] = np.concatenate([shape.points for shape in shapes])
    table = np.array([(KINDS.index(shape.kind), len(shape.points)) for shape in shapes], dtype=np.int64).reshape(-1, 2)
    return {CORNERS: corners, SHAPES: table, STATES: np.array([[len(shapes), len(corners), _check(table, corners)]])}


def table_of(file: Any, count: int) -> Integers:
    """(count, 3) the states of the walls."""
    return np.asarray(rows(file, data_set(file, STATES, *COLUMNS[STATES]), 0, count))


def lengths(table: Integers) -> dict[str, int]:
    """The length of each data set with these states."""
    return {STATES: len(table), SHAPES: int(table[:, 0].sum()), CORNERS: int(table[:, 1].sum())}


def shapes_in(file: Any, table: Integers, state: int, d: int) -> tuple[Shape, ...]:
    """The shapes of one state."""
    if not 0 <= state < len(table):
        raise BrokenFile(f"{file.filename} is damaged: it has no state {state} of the walls")
    before, (count, points, check) = table[:state, :2].sum(axis=0), table[state]
    found = [
        rows(file, data_set(file, name, *COLUMNS[name]), int(start), int(length))
        for name, start, length in ((SHAPES, before[0], count), (CORNERS, before[1], points))
    ]
    if _check(*found) != check or found[0][:, 1].sum() != points or not _known(found[0]):
        raise BrokenFile(f"{file.filename} is damaged: state {state} of the walls does not match its checksum")
    ends = np.cumsum(found[0][:, 1])
    try:
        return tuple(
            checked(Shape(KINDS[kind], found[1][end - size : end, :d]), "a wall")
            for (kind, size), end in zip(found[0].tolist(), ends, strict=True)
        )
    except InvalidValue as error:
        raise BrokenFile(f"{file.filename} is damaged: {error}") from None


def _known(table: NDArray[Any]) -> bool:
    return bool(((table[:, 0] >= 0) & (table[:, 0] < len(KINDS)) & (table[:, 1] >= 0)).all())


def _check(table: NDArray[Any], corners: NDArray[Any]) -> int:
    return of_rows(np.concatenate([table.ravel().view(np.uint8), corners.ravel().view(np.uint8)]))
