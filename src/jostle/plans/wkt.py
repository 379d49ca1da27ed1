"""Plans as well-known text, the format of GIS programs and JuPedSim."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from jostle.errors import InvalidValue
from jostle.plans.outlines import package, segments_of

if TYPE_CHECKING:
    from jostle.plans.plan import Plan


MAX_DEPTH = 32
"""Largest depth of nested parentheses in well-known text; a collection of polygons with holes needs 4."""


def geometry_of(wkt: str) -> Any:
    """The geometry of shapely that well-known text stands for.

    GEOS reads nested parts by recursion, and too many of them end the process, so their depth is checked first.
    """
    letters = np.frombuffer(wkt.encode(), dtype=np.uint8)
    depth = int(np.cumsum((letters == ord("(")).astype(np.int64) - (letters == ord(")"))).max(initial=0))
    if depth > MAX_DEPTH:
        raise InvalidValue(
            f"this well-known text has parentheses nested {depth} deep, more than MAX_DEPTH = {MAX_DEPTH}"
        )
    shapely = package("shapely")
    try:
        return shapely.from_wkt(wkt)
    except shapely.errors.GEOSException as error:
        raise InvalidValue(f"this is not well-known text: {error}") from None


def read_wkt(text: str, exits: Mapping[str, Any] | Sequence[str] | None, *, scale: float = 1.0) -> dict[str, Any]:
    """The arguments of `Plan`: polygons are rooms, a LINESTRING is an exit, a MULTILINESTRING thin walls.

    `scale` is the length of one unit of the text in metres; exits given as a mapping are in metres already.

    >>> text = "GEOMETRYCOLLECTION (POLYGON ((0 0, 4 0, 4 3, 0 3, 0 0)), LINESTRING (4 1, 4 2))"
    >>> sorted(read_wkt(text, ["east"])), read_wkt(text, ["east"])["exits"]["east"].tolist()
    (['area', 'exits', 'walls'], [[4.0, 1.0], [4.0, 2.0]])
    """
    shapely = package("shapely")
    geometry = shapely.transform(geometry_of(text), lambda points: scale * points)
    collection = geometry.geom_type == "GeometryCollection"
    parts = list(geometry.geoms) if collection else [geometry]
    rooms = [room for part in parts if "Polygon" in part.geom_type for room in shapely.get_parts(part)]
    lines = [shapely.get_coordinates(part) for part in parts if part.geom_type == "LineString"]
    thin = [
        shapely.get_coordinates(line) for part in parts if part.geom_type == "MultiLineString" for line in part.geoms
    ]
    if not rooms:
        raise InvalidValue(f"the text has no polygon, but {sorted({part.geom_type for part in parts})}")
    for line in lines:
        if len(line) != 2:
            raise InvalidValue(
                f"an exit is one straight segment; this LINESTRING has {len(line)} points: {line.tolist()}"
            )
    if isinstance(exits, Mapping):
        named: dict[str, Any] = dict(exits)
    else:
        names = [f"exit {k}" for k in range(len(lines))] if exits is None else list(exits)
        if len(names) != len(lines):
            raise InvalidValue(f"exits has {len(names)} names, but the text has {len(lines)} exits (LINESTRINGs)")
        named = dict(zip(names, lines, strict=True))
    walls = np.concatenate([np.zeros((0, 2, 2)), *map(segments_of, thin)])
    return {"area": rooms, "exits": named, "walls": walls}


def write_wkt(plan: Plan) -> str:
    """The plan as well-known text that `Plan.from_wkt` reads, without the names of exits."""
    shapely = package("shapely")
    if plan.links:
        raise InvalidValue(f"well-known text cannot contain stairs; write each floor without {list(plan.links)}")
    rooms = list(shapely.get_parts(plan.area))
    inner = plan.inner_walls
    thin = [shapely.multilinestrings(shapely.linestrings(inner))] if len(inner) else []
    exits = [shapely.linestrings(ends) for ends in plan.exits.values()]
    return str(shapely.to_wkt(shapely.geometrycollections([*rooms, *thin, *exits]), rounding_precision=-1))
