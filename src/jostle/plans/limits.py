"""Limits of drawings and pictures that plans are read from, checked before the work is done.

A file from an unknown source may be an endless pipe, or a few bytes that expand to a picture or a drawing of any size.
The limits are far above the needs of a building.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from jostle._tools.arrays import Array, Booleans
from jostle.errors import InvalidValue
from jostle.plans.outlines import package

MAX_FILE_BYTES = 64 * 2**20
"""Largest size of a file, in bytes."""
MAX_PIXELS = 25_000_000
"""Largest number of pixels of a picture: 5000 by 5000."""
MAX_RUNS = 200_000
"""Largest number of runs of pixels of one kind in the rows of a picture: a photograph has more, a plan does not."""
MAX_PICTURE_CORNERS = 20_000
"""Largest number of corners of the floor or of the exits in a picture: noise has more, a plan does not."""
MAX_ENTITIES = 200_000
"""Largest number of entities in a drawing, counting those in blocks as often as the blocks are inserted."""
MAX_NESTING = 32
"""Largest depth of nested blocks."""
MAX_CORNERS = 200_000
"""Largest number of corners of all lines of a drawing, after curves have become polylines."""
MAX_NEAR_LINES = 2_000_000
"""Largest number of pairs of segments whose bounding boxes overlap: in a plan, each segment is near a few others."""
MAX_CROSSINGS = 50_000
"""Largest number of pairs of segments that cross, each of which becomes a corner."""
PAIRS_AT_ONCE = 500_000
"""Largest number of pairs of segments that are examined at a time."""
MAX_CURVE = 10_000.0
"""Largest radius or extent of one curve, in metres."""
LARGEST_BUILDING, SMALLEST_BUILDING = 2_000.0, 1.0
"""Extents in metres beyond which the unit in the header of a drawing is taken to be wrong."""


def regular_file(path: str | os.PathLike[str], what: str) -> str:
    """The path of a file that exists, is not a pipe, a device or a folder, and is not too large.

    >>> regular_file("/", "a picture")
    Traceback (most recent call last):
    jostle.errors.InvalidValue: / cannot be read as a picture: it is not a regular file
    """
    name = os.fspath(path)
    try:
        size = os.stat(name).st_size
    except (OSError, ValueError) as error:
        raise InvalidValue(f"{name} cannot be read as {what}: {getattr(error, 'strerror', None) or error}") from None
    if not os.path.isfile(name):
        raise InvalidValue(f"{name} cannot be read as {what}: it is not a regular file")
    check(size, MAX_FILE_BYTES, name, "bytes", "MAX_FILE_BYTES")
    return name


def check(found: float, most: float, where: Any, what: str, limit: str) -> None:
    """Raise, naming the limit, if a number exceeds it.

    >>> check(7, 5, "plan.png", "pixels", "MAX_PIXELS")
    Traceback (most recent call last):
    jostle.errors.InvalidValue: plan.png has 7 pixels, more than the limit MAX_PIXELS = 5
    """
    if not found <= most:
        raise InvalidValue(f"{where} has {found:.10g} {what}, more than the limit {limit} = {most:.10g}")


def check_crossings(segments: Array, where: Any) -> None:
    """Raise if too many segments (m, 2, 2) cross each other, which GEOS would work on for hours without an end."""
    shapely = package("shapely")
    tree = shapely.STRtree(shapely.linestrings(segments))
    near, crossing, size = 0, 0, max(PAIRS_AT_ONCE // max(len(segments), 1), 1)
    for start in range(0, len(segments), size):
        one, other = tree.query(tree.geometries[start : start + size])
        one, other = one[one + start < other] + start, other[one + start < other]
        near += len(one)
        check(near, MAX_NEAR_LINES, where, "pairs of lines that are near each other", "MAX_NEAR_LINES")
        apart = _on_both_sides(segments[one], segments[other]) & _on_both_sides(segments[other], segments[one])
        crossing += int(apart.sum())
        check(crossing, MAX_CROSSINGS, where, "pairs of lines that cross", "MAX_CROSSINGS")


def _on_both_sides(segments: Array, others: Array) -> Booleans:
    """(m,) whether the ends of each other segment are on different sides of the line through a segment."""
    along, to_ends = segments[:, 1] - segments[:, 0], others - segments[:, :1]
    side = along[:, None, 0] * to_ends[:, :, 1] - along[:, None, 1] * to_ends[:, :, 0]
    return np.asarray(side[:, 0] * side[:, 1] < 0.0)
