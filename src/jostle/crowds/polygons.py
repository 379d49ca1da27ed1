"""The polygons of plans: they are checked and decomposed into rings and walls."""

from __future__ import annotations

from typing import Any

import numpy as np

from jostle._tools.arrays import Array
from jostle.crowds.outlines import ON_EDGE, package
from jostle.errors import InvalidValue


def plain_corners(area: Any) -> Array | None:
    """(k, 2) corners of an area that is given by numbers; None if it is given otherwise.

    >>> plain_corners([(0, 0), (4, 0), (0, 3)]).shape, plain_corners([[(0, 0), (4, 0), (0, 3)]]) is None
    ((3, 2), True)
    """
    try:
        corners = np.array(area, dtype=float)
    except (TypeError, ValueError):
        return None
    return corners if corners.ndim == 2 and corners.shape[1] == 2 and np.isfinite(corners).all() else None


def polygons(area: Any) -> list[Any]:
    """The polygons of an area, checked: simple, counter-clockwise, holes clockwise, not overlapping."""
    shapely = package("shapely")
    if isinstance(area, shapely.Geometry):
        rooms = [part for part in shapely.get_parts(area) if part.geom_type == "Polygon"]
    elif isinstance(area, str) or not hasattr(area, "__len__"):
        raise InvalidValue(f"area must be a polygon of shapely, or its corners (k, 2), not {area!r}")
    elif len(area) and all(isinstance(part, shapely.Geometry) or plain_corners(part) is not None for part in area):
        rooms = [room for part in area for room in polygons(part)]
    else:
        try:
            rooms = [shapely.Polygon(np.array(area, dtype=float))]
        except (TypeError, ValueError) as error:
            raise InvalidValue(f"area must be a polygon of shapely, or its corners (k, 2): {error}") from None
    if not rooms or any(room.is_empty for room in rooms):
        raise InvalidValue("the area has no polygon, or an empty one")
    for room in rooms:
        if not room.is_valid:
            raise InvalidValue(
                f"the area is not simple: {shapely.is_valid_reason(room)}. Its outline must not touch or cross itself; "
                f"correct it, or try shapely.make_valid(area)"
            )
    for k, room in enumerate(rooms):
        for j in range(k):
            common = rooms[j].intersection(room).area
            if common > ON_EDGE * room.area:
                raise InvalidValue(f"rooms {j} and {k} overlap by {common:.3g} square metres; merge them or move one")
    return [shapely.remove_repeated_points(shapely.orient_polygons(room)) for room in rooms]


def rings(room: Any) -> list[Array]:
    """The corners of the outline and of the holes, without points between two edges on one line."""
    rings = [np.array(ring.coords)[:-1, :2] for ring in (room.exterior, *room.interiors)]
    ways = [(ring - np.roll(ring, 1, axis=0), np.roll(ring, -1, axis=0) - ring) for ring in rings]
    return [ring[a[:, 0] * b[:, 1] != a[:, 1] * b[:, 0]] for ring, (a, b) in zip(rings, ways, strict=True)]


def without_doubles(walls: Array) -> Array:
    """The walls, where those between two rooms, which are edges of both, are kept once."""
    shapely = package("shapely")
    lines = shapely.line_merge(shapely.union_all(shapely.linestrings(walls)))
    straight = [shapely.get_coordinates(shapely.simplify(line, 0.0)) for line in shapely.get_parts(lines)]
    return np.concatenate([np.stack([line[:-1], line[1:]], axis=1) for line in straight])
