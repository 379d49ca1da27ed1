"""Plans as well-known text, the format of GIS programs and JuPedSim."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from jostle._tools.arguments import Positive
from jostle.errors import InvalidValue
from jostle.plans.formats import Outline, PlanFormat
from jostle.plans.limits import regular_file
from jostle.plans.outlines import package, segments_of
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


@dataclass(frozen=True, kw_only=True)
class WKT(PlanFormat):
    """Well-known text: polygons are rooms, a LINESTRING is an exit, a MULTILINESTRING thin walls.

    A text is written as a GEOMETRYCOLLECTION of the area, the walls inside it and the exits in order, with 17 digits,
    and without the names of exits.

    Parameters
    ----------
    scale : float, default 1.0
        Length of one unit of the text (m).
    names : sequence of str, optional
        The names of the exits of the text. None: "exit 0", "exit 1", ...
    openings : dict of str to array_like or line, optional
        The exits (m), if the text has none.

    Examples
    --------
    >>> import jostle as jo
    >>> text = "GEOMETRYCOLLECTION (POLYGON ((0 0, 4 0, 4 3, 0 3, 0 0)), LINESTRING (4 1, 4 2))"
    >>> plan = jo.crowds.WKT(names=["east"]).loads(text)
    >>> plan, jo.crowds.WKT().dumps(plan) == text
    (Plan(12 m², exits 'east', 5 walls), True)
    """

    suffixes = (".wkt",)
    scale: Positive = 1.0
    names: Sequence[str] | None = None
    openings: Mapping[str, Any] | None = None

    def read(self, path: str | PathLike[str]) -> Outline:
        return self._parsed(Path(regular_file(path, "well-known text")).read_text(encoding="utf-8"))

    def write(self, plan: Plan, path: str | PathLike[str]) -> None:
        Path(path).write_text(self.dumps(plan), encoding="utf-8")

    def loads(self, text: str) -> Plan:
        """The plan of a text.

        Parameters
        ----------
        text : str
            The well-known text.

        Returns
        -------
        Plan
            The plan.
        """
        return self._parsed(text).plan()

    def dumps(self, plan: Plan) -> str:
        """The text of a plan.

        Parameters
        ----------
        plan : Plan
            The floor plan, without stairs.

        Returns
        -------
        str
            The well-known text.
        """
        shapely = package("shapely")
        if plan.links:
            raise InvalidValue(f"well-known text cannot contain stairs; write each floor without {list(plan.links)}")
        rooms = list(shapely.get_parts(plan.area))
        inner = plan.inner_walls
        thin = [shapely.multilinestrings(shapely.linestrings(inner))] if len(inner) else []
        exits = [shapely.linestrings(ends) for ends in plan.exits.values()]
        return str(shapely.to_wkt(shapely.geometrycollections([*rooms, *thin, *exits]), rounding_precision=-1))

    def _parsed(self, text: str) -> Outline:
        shapely = package("shapely")
        geometry = shapely.transform(geometry_of(text), lambda points: self.scale * points)
        collection = geometry.geom_type == "GeometryCollection"
        parts = list(geometry.geoms) if collection else [geometry]
        rooms = [room for part in parts if "Polygon" in part.geom_type for room in shapely.get_parts(part)]
        lines = [shapely.get_coordinates(part) for part in parts if part.geom_type == "LineString"]
        thin = [
            shapely.get_coordinates(line)
            for part in parts
            if part.geom_type == "MultiLineString"
            for line in part.geoms
        ]
        if not rooms:
            raise InvalidValue(f"the text has no polygon, but {sorted({part.geom_type for part in parts})}")
        for line in lines:
            if len(line) != 2:
                raise InvalidValue(
                    f"an exit is one straight segment; this LINESTRING has {len(line)} points: {line.tolist()}"
                )
        if self.openings is not None:
            named: dict[str, Any] = dict(self.openings)
        else:
            names = [f"exit {k}" for k in range(len(lines))] if self.names is None else list(self.names)
            if len(names) != len(lines):
                raise InvalidValue(f"names has {len(names)} names, but the text has {len(lines)} exits (LINESTRINGs)")
            named = dict(zip(names, lines, strict=True))
        walls = np.concatenate([np.zeros((0, 2, 2)), *map(segments_of, thin)])
        return Outline(rooms, named, walls)
