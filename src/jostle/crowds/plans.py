"""Floor plans: where people may walk, and where they leave.

A plan is a polygon with holes, or several rooms that touch and are joined by doors, with named exits on its boundary.
Its walls are what exits and doors leave of all edges; the polygons are those of shapely. Lengths are in metres, or in
whatever unit the radii have.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from jostle.arguments import check_arguments
from jostle.arrays import Array, Booleans, shaped
from jostle.crowds.dxf import read_dxf, write_dxf
from jostle.crowds.half_planes import HalfPlanes
from jostle.crowds.outlines import ON_EDGE, a_segment, around, cut, distance_to, package, ring_edges
from jostle.crowds.png import read_png, write_png
from jostle.crowds.polygons import plain_corners, polygons, rings, without_doubles
from jostle.crowds.stairs import BACK, Link, Shaft, Stairs, passages
from jostle.crowds.walk import walk
from jostle.crowds.ways import Ways, usual_spacing
from jostle.crowds.wkt import read_wkt, write_wkt
from jostle.errors import InvalidValue
from jostle.exchange import Outlet
from jostle.problems import Sweeping
from jostle.schemes.state import State

OUTLET_RADII = 4.0
"""Distance behind an exit at which people are taken out of a run by default, in multiples of the largest radius."""


@check_arguments
class Plan:
    """A walkable area with exits: a shapely polygon, its corners, or a list of rooms joined by doors.

    `exits` are segments on the boundary, by name; `doors` are segments between two rooms; `walls` are thin walls
    inside; `columns` are round ones, (x, y, radius) each; `links` are stairs to other floors, which are drawn side by
    side. `labels` are names of rooms and the points where pictures show them.

    >>> area = [(0, 0), (6, 0), (6, 2), (2, 2), (2, 5), (0, 5)]
    >>> plan = Plan(area, exits={"north": ((0.4, 5), (1.6, 5))})
    >>> len(plan.walls), plan.inside(np.array([[1.0, 4.0], [4.0, 4.0]])).tolist()
    (7, [True, False])
    """

    exits: dict[str, Array]
    """(2, 2) each."""
    outward: dict[str, Array]
    """(2,) the unit normals of the exits, out of the plan."""
    walls: Array
    """(k, 2, 2)"""
    columns: Array
    """(k, 3)"""
    doors: Array
    """(k, 2, 2) between two rooms."""
    links: dict[str, Link]
    labels: dict[str, Array]
    """(2,) each: names of rooms and the points where pictures show them."""
    convex: bool
    """Whether the plan is one convex polygon without obstacles: the shortest ways are known in closed form."""

    def __init__(
        self,
        area: Any,
        *,
        exits: Mapping[str, ArrayLike],
        doors: Sequence[ArrayLike] = (),
        walls: ArrayLike = (),
        columns: ArrayLike = (),
        links: Sequence[Link] = (),
        labels: Mapping[str, ArrayLike] | None = None,
    ):
        rooms, convex = _rooms(area)
        self.columns = _columns(columns)
        self.exits = {name: a_segment(ends, f"exit {name!r}") for name, ends in exits.items()}
        self.doors = np.array([a_segment(ends, f"door {k}") for k, ends in enumerate(doors)]).reshape(-1, 2, 2)
        self.links = {link.name: link for link in links}
        self.labels = {name: shaped(at, f"label {name!r}", 2) for name, at in (labels or {}).items()}
        if not self.exits:
            raise InvalidValue("a plan needs an exit: nobody could leave it")
        if len(self.links) < len(links):
            raise InvalidValue(f"two links have the same name: {[link.name for link in links]}")
        outlines = [convex.corners] if convex is not None else [ring for room in rooms for ring in rings(room)]
        edges = np.concatenate([ring_edges(ring) for ring in outlines])
        openings = [*self.exits.values(), *(link.start for link in links), *self.doors]
        found = cut(edges, np.array(openings))
        self._check_openings(edges, found.covered)
        self.outward = dict(zip(self.exits, found.outward, strict=False))
        ends = cut(edges, np.array([link.end for link in links]).reshape(-1, 2, 2))
        leaving = found.outward[len(self.exits) :]
        shafts = [link.shaft(a, -b) for link, a, b in zip(links, leaving, ends.outward, strict=False)]
        self._rooms = rooms
        self._check_links(shafts, ends.covered)
        thin = shaped(walls, "walls", -1, 2, 2)
        kept = found.walls if len(rooms) == 1 else without_doubles(found.walls)
        self.walls = np.concatenate([kept, thin, *(shaft.walls for shaft in shafts)])
        self.walls.setflags(write=False)
        self.shafts = dict(zip(self.links, shafts, strict=True))
        self._half_planes = None if len(self.columns) or links else convex
        self.convex = self._half_planes is not None and len(thin) == 0
        self._ways: dict[tuple[float, float, bytes], Ways] = {}

    @cached_property
    def area(self) -> Any:
        """The polygon of shapely, with the stairs; columns are holes with many corners."""
        shapely = package("shapely")
        parts = [*self._rooms, *(shaft.corners for shaft in self.shafts.values())]
        area = shapely.union_all([shapely.Polygon(part) for part in parts])
        if len(self.columns):
            area = shapely.difference(area, around(self.columns))
        shapely.prepare(area)
        return area

    @property
    def size(self) -> float:
        """The area in square metres, with the stairs."""
        if self._half_planes is None:
            return float(self.area.area)
        x, y = self._half_planes.corners.T
        return float(abs(x @ np.roll(y, 1) - y @ np.roll(x, 1)) / 2.0)

    def _check_openings(self, edges: Array, covered: Array) -> None:
        names = [f"exit {name!r}" for name in self.exits] + [f"link {name!r}" for name in self.links]
        names += [f"door {k}" for k in range(len(covered) - len(names))]
        ends = [*self.exits.values(), *(link.start for link in self.links.values())]
        for k, (name, part) in enumerate(zip(names, covered, strict=True)):
            if name.startswith("door"):
                if part < 2.0:
                    raise InvalidValue(f"{name} does not lie between two rooms: both must have an edge along it")
                continue
            if part < 1.0:
                far = distance_to(edges, ends[k]).min(axis=0).max()
                why = f"an end is {far:.3g} off the nearest edge" if far > 0.0 else "it crosses the area"
                raise InvalidValue(
                    f"{name} at {ends[k].tolist()} does not lie in an edge of the plan: {why}; move it onto the outline"
                )
            if part > 1.0:
                raise InvalidValue(f"{name} at {ends[k].tolist()} leads from one room to another; make it a door")

    def _check_links(self, shafts: list[Shaft], covered: Array) -> None:
        if not shafts:
            return
        shapely = package("shapely")
        rooms = [shapely.Polygon(room) for room in self._rooms]
        for link, shaft, part in zip(self.links.values(), shafts, covered, strict=True):
            drawn = shapely.Polygon(shaft.corners)
            if max(drawn.intersection(room).area for room in rooms) > ON_EDGE * drawn.area:
                raise InvalidValue(
                    f"the stairs of link {link.name!r}, {link.length:g} long, would run through the plan; move the "
                    f"floors apart"
                )
            if part < 1.0:
                raise InvalidValue(f"link {link.name!r} ends at {link.end.tolist()}, which is no edge of the plan")

    @classmethod
    def from_wkt(cls, text: str, exits: Mapping[str, ArrayLike] | Sequence[str] | None = None) -> Plan:
        """A plan from well-known text: polygons are rooms, a LINESTRING is an exit, a MULTILINESTRING thin walls.

        `exits` gives the exits, or names those in the text.

        >>> Plan.from_wkt("POLYGON ((0 0, 4 0, 4 3, 0 3, 0 0))", exits={"east": ((4, 1), (4, 2))}).walls.shape
        (5, 2, 2)
        """
        return cls(**read_wkt(text, exits))

    def to_wkt(self) -> str:
        """The plan as a GEOMETRYCOLLECTION that `from_wkt` reads; without names and stairs."""
        return write_wkt(self)

    @classmethod
    def from_dxf(
        cls, path: str | PathLike[str], *, walls: str = "WALLS", exits: str = "EXITS", scale: float | None = None
    ) -> Plan:
        """A plan from a CAD drawing, in metres by the unit of its header or by `scale`: see `dxf.read_dxf`."""
        return cls(**read_dxf(path, walls=walls, exits=exits, scale=scale))

    def to_dxf(self, path: str | PathLike[str]) -> None:
        """Write the walls on the layer WALLS, and each exit on a layer EXITS-name."""
        write_dxf(self, path)

    @classmethod
    def from_png(
        cls,
        path: str | PathLike[str],
        *,
        scale: float,
        walls: ArrayLike = (0, 0, 0),
        exits: ArrayLike = (255, 0, 0),
        tolerance: float = 0.0,
    ) -> Plan:
        """A plan from a picture with pixels of size `scale`: see `png.read_png`."""
        return cls(**read_png(path, scale=scale, walls=walls, exits=exits, tolerance=tolerance))

    def to_png(self, path: str | PathLike[str], *, scale: float) -> None:
        """Paint the plan with pixels of size `scale`: black walls, red exits."""
        write_png(self, path, scale=scale)

    def inside(self, q: Array) -> Booleans:
        """Which centres (n, 2) are in the plan, or on its stairs."""
        x = np.asarray(q, dtype=float)
        if self._half_planes is not None:
            return self._half_planes.inside(x)
        return np.asarray(package("shapely").contains_xy(self.area, x[:, 0], x[:, 1]), dtype=bool)

    def outside(self, q: Array) -> Array:
        """(n,) how far centres are out of the plan; 0 inside.

        >>> Plan([(0, 0), (4, 0), (4, 3), (0, 3)], exits={"east": ((4, 1), (4, 2))}).outside(np.array([[6.0, 1.5]]))
        array([2.])
        """
        x = np.asarray(q, dtype=float)
        if self._half_planes is not None:
            return self._half_planes.outside(x)
        far = np.zeros(len(x))
        out = np.flatnonzero(~self.inside(x))
        shapely = package("shapely")
        far[out] = shapely.distance(self.area, shapely.points(x[out]))
        return far

    def empty(self, state: State) -> bool:
        """Has everyone left, and does nobody wait to come in by a `Source`? For `solve(..., until=plan.empty)`."""
        presence = state.presence
        if presence is not None and len(presence.waiting):
            return False
        q = state.q if presence is None else state.q[presence.here]
        return not self.inside(q).any()

    def changes(self, people: Sweeping, beyond: float | None = None) -> list[Callable[[State], State]]:
        """What `solve(..., change=...)` needs: an `Outlet` behind the exits, stairs, entries and gates.

        People go out of the run at a distance `beyond` from the plan, OUTLET_RADII times the largest radius by default.

        >>> import jostle as jo
        >>> plan = Plan([(0, 0), (4, 0), (4, 3), (0, 3)], exits={"east": ((4, 1), (4, 2))})
        >>> people = jo.crowds.crowd(3, radius=0.25, room=plan, speed=1.4)
        >>> sol = jo.solve(people, jo.Venel(), t=9.0, h=0.05, change=plan.changes(people))
        >>> bool(np.isfinite(sol.q[-1]).any())
        False
        """
        limit = OUTLET_RADII * people.within.widest() if beyond is None else beyond
        if not limit > 0.0:
            raise InvalidValue(f"beyond must be positive, not {beyond}")
        radii = np.broadcast_to(people.within.radii_at(0.0), (len(people.q0),))
        wish = getattr(people, "wish", None)
        stairs = [
            Stairs(one, radii, people.within, wish if one.link.both else None, len(self.exits) + k)
            for k, one in enumerate(passages(self.links, self.shafts))
        ]
        gates = getattr(people, "gates", None)
        coming = [*getattr(people, "entries", ()), *([] if gates is None else [gates])]
        return [*stairs, Outlet(partial(self._is_beyond, limit)), *coming]

    def _is_beyond(self, limit: float, q: Array) -> Booleans:
        return self.outside(q) > limit

    def ways(
        self,
        radius: float,
        *,
        spacing: float | None = None,
        closed: ArrayLike = (),
        stops: Mapping[str, ArrayLike] | None = None,
    ) -> Ways:
        """The shortest ways of a disc to all exits and stops, made once and kept: see `ways.Ways`."""
        shut = shaped(closed, "closed", -1, 2, 2)
        goals = len(self.exits) + len(passages(self.links, self.shafts)) + len(stops or {})
        step = usual_spacing(self, float(radius), goals) if spacing is None else spacing
        places = {name: self.stop(name, place) for name, place in (stops or {}).items()}
        stopping = b"".join(name.encode() + place.tobytes() for name, place in places.items())
        key = (float(radius), float(step), shut.tobytes() + stopping)
        if key not in self._ways:
            self._ways[key] = Ways.on(self, float(radius), float(step), shut, places)
        return self._ways[key]

    def stop(self, name: str, place: ArrayLike) -> Array:
        """A point or a segment of the plan where people stop, as a segment (2, 2); raise if it is not inside."""
        ends = np.array(place, dtype=float)
        if ends.shape not in ((2,), (2, 2)) or not self.inside(np.atleast_2d(ends)).all():
            raise InvalidValue(f"stop {name!r} must be a point or a segment inside the plan, not {place!r}")
        if name in self.exits or name in self.links or name.removesuffix(BACK) in self.links:
            raise InvalidValue(f"stop {name!r} has the name of an exit")
        return np.array(np.broadcast_to(ends, (2, 2)))

    walk = walk

    def check_inside(self, q: Array) -> None:
        """Raise, naming the person, if somebody is outside."""
        out = np.flatnonzero(~self.inside(q))
        if len(out):
            raise InvalidValue(
                f"person {out[0]} at {q[out[0]].tolist()} is outside of the plan; put {len(out)} people inside"
            )


def _columns(columns: ArrayLike) -> Array:
    found = np.array(columns, dtype=float).reshape(-1, 3) if np.size(columns) % 3 == 0 else np.full((1, 3), np.nan)
    if not np.isfinite(found).all() or not (found[:, 2] > 0.0).all():
        raise InvalidValue(f"columns are (x, y, radius) each, with a positive radius, not {columns!r}")
    found.setflags(write=False)
    return found


def _rooms(area: Any) -> tuple[list[Any], HalfPlanes | None]:
    """The polygons of an area, and its half-planes if it is convex: then corners need no shapely."""
    corners = plain_corners(area)
    convex = None if corners is None else HalfPlanes.of(corners)
    if convex is not None:
        return [convex.corners], convex
    rooms = polygons(area)
    outlines = [ring for room in rooms for ring in rings(room)]
    return rooms, HalfPlanes.of(outlines[0]) if len(outlines) == 1 else None
