"""Walkable areas, given as polygons of shapely, corners, or floor plans."""

from __future__ import annotations

from typing import Any

import numpy as np

from jostle._tools.arrays import Array, Booleans, finite
from jostle.errors import InvalidValue
from jostle.plans.outlines import package
from jostle.plans.plan import Plan


def walkable(area: Any, name: str = "area") -> Any:
    """The walkable area as a geometry of shapely, from a `Polygon`, a `MultiPolygon`, corners (k, 2), or a `Plan`.

    The area of a plan with several floors is a `MultiPolygon` that includes the stairs. Errors call it `name`.

    >>> import jostle as jo
    >>> walkable([(0, 0), (4, 0), (4, 3), (0, 3)]).area
    12.0
    >>> walkable(jo.crowds.Room([(0, 0), (4, 0), (4, 3), (0, 3)], doors=[((4, 1), (4, 2))])).area
    12.0
    """
    shapely = package("shapely")
    if isinstance(area, shapely.Geometry):
        found = area
    elif isinstance(area, Plan):
        found = area.area
    else:
        corners = finite(area, name)
        if corners.ndim != 2 or corners.shape[1] != 2 or len(corners) < 3:
            raise InvalidValue(
                f"{name} must have at least three corners (x, y), not be an array of shape {corners.shape}"
            )
        found = shapely.Polygon(corners)
    if not isinstance(found, shapely.Polygon | shapely.MultiPolygon):
        raise InvalidValue(f"{name} must be a polygon, several polygons, or a floor plan, not {type(found).__name__}")
    if not found.is_valid or not found.area > 0.0:
        raise InvalidValue(f"{name} must be a polygon that does not cross itself: {shapely.is_valid_reason(found)}")
    return found


def floors(area: Any) -> list[Any]:
    """The disjoint polygons of an area, one per floor of a plan.

    >>> len(floors(walkable([(0, 0), (4, 0), (4, 3), (0, 3)])))
    1
    """
    return list(package("shapely").get_parts(area))


def present(q: Array, polygon: Any = None) -> Booleans:
    """(n,) who is present, and inside an area of shapely or on its boundary, if one is given.

    >>> q = np.array([[0.5, 0.5], [7.0, 0.5], [np.nan, np.nan]])
    >>> present(q).tolist(), present(q, walkable([(0, 0), (1, 0), (1, 1), (0, 1)])).tolist()
    ([True, True, False], [True, False, False])
    """
    there: Booleans = np.asarray(np.isfinite(q).all(axis=1))
    if polygon is not None:
        there[there] = package("shapely").intersects_xy(polygon, q[there])
    return there
