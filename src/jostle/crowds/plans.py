"""Floor plans: where people may walk, and where they leave.

A plan is a polygon with holes, or several rooms that touch and are joined by doors, with named exits on its boundary.
Its walls are the parts of all edges that exits and doors leave; the polygons are those of shapely. Lengths are in
metres, or in the unit of the radii.
"""

from __future__ import annotations

import reprlib
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import cached_property, partial
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from jostle._tools.arguments import check_arguments
from jostle._tools.arrays import Array, Booleans, shaped
from jostle._tools.displays import html
from jostle.crowds.dxf import read_dxf, write_dxf
from jostle.crowds.interior import MANY, OUTLET_RADII, Interior
from jostle.crowds.lifts import doors_of
from jostle.crowds.outlines import a_segment, around, cut, package, ring_edges
from jostle.crowds.plan_checks import check_links, check_openings, check_space_behind, columns_of, rooms_of, stop_on
from jostle.crowds.png import read_png, write_png
from jostle.crowds.polygons import rings, without_doubles
from jostle.crowds.stairs import Link, Stairs, passages
from jostle.crowds.walk import walk
from jostle.crowds.ways import Ways, usual_spacing
from jostle.crowds.wkt import read_wkt, write_wkt
from jostle.errors import InvalidValue
from jostle.problems import Sweeping
from jostle.run.exchange import Outlet
from jostle.schemes.state import State


@check_arguments
class Plan:
    """A floor plan: a walkable area with exits, walls and stairs.

    Parameters
    ----------
    area : polygon, array_like or sequence
        A `shapely` polygon, its corners (k, 2), or a list of rooms that doors join. Floors are drawn side by side.
    exits : dict of str to array_like, shape (2, 2)
        Exits by name: the two ends of a segment on the boundary.
    doors : sequence of array_like, shape (2, 2), default ()
        Doors: the two ends of a segment on the common edge of two rooms.
    walls : array_like, shape (k, 2, 2), default ()
        Thin walls inside, each by its two ends; the attribute `walls` holds all walls.
    columns : array_like, shape (k, 3), default ()
        Round columns, (x, y, radius) each.
    links : sequence of Link, default ()
        Stairs and lifts between floors; the attribute `links` holds them by name.
    labels : dict of str to array_like, shape (2,), default None
        Names of rooms, and the points where pictures show them.

    Attributes
    ----------
    outward : dict of str to ndarray, shape (2,)
        Unit normals of the exits that point out of the plan.
    convex : bool
        True if the plan is one convex polygon without obstacles; the shortest paths are then known in closed form.
    size : float
        Size of the walkable area with the stairs (m2).

    Raises
    ------
    InvalidValue
        If an exit or a door does not lie on an edge, if polygons cross or overlap, or if there is no exit.

    Examples
    --------
    >>> area = [(0, 0), (6, 0), (6, 2), (2, 2), (2, 5), (0, 5)]
    >>> plan = Plan(area, exits={"north": ((0.4, 5), (1.6, 5))})
    >>> len(plan.walls), plan.inside(np.array([[1.0, 4.0], [4.0, 4.0]])).tolist()
    (7, [True, False])
    >>> plan
    Plan(18 m², exits 'north', 7 walls)
    """

    exits: dict[str, Array]
    outward: dict[str, Array]
    walls: Array
    columns: Array
    doors: Array
    links: dict[str, Link]
    labels: dict[str, Array]
    convex: bool

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
        rooms, convex = rooms_of(area)
        self.columns = columns_of(columns)
        self.exits = {name: a_segment(ends, f"exit {name!r}") for name, ends in exits.items()}
        self.doors = np.array([a_segment(ends, f"door {k}") for k, ends in enumerate(doors)]).reshape(-1, 2, 2)
        self.links = {link.name: link for link in links}
        self.labels = {name: shaped(at, f"label {name!r}", 2) for name, at in (labels or {}).items()}
        if not self.exits:
            raise InvalidValue("a plan needs at least one exit")
        if len(self.links) < len(links):
            raise InvalidValue(f"two links have the same name: {[link.name for link in links]}")
        outlines = [convex.corners] if convex is not None else [ring for room in rooms for ring in rings(room)]
        edges = np.concatenate([ring_edges(ring) for ring in outlines])
        openings = np.array([*self.exits.values(), *(link.start for link in links), *self.doors])
        found = cut(edges, openings)
        check_openings(self.exits, self.links, edges, (openings, found.covered))
        self.outward = dict(zip(self.exits, found.outward, strict=False))
        ends = cut(edges, np.array([link.end for link in links]).reshape(-1, 2, 2))
        leaving = found.outward[len(self.exits) :]
        shafts = [link.shaft(a, -b) for link, a, b in zip(links, leaving, ends.outward, strict=False)]
        self._rooms = rooms
        check_links(self.links, rooms, shafts, ends.covered)
        thin = shaped(walls, "walls", -1, 2, 2)
        kept = found.walls if len(rooms) == 1 else without_doubles(found.walls)
        self.walls = np.concatenate([kept, thin, *(shaft.walls for shaft in shafts)])
        self.walls.setflags(write=False)
        self.shafts = dict(zip(self.links, shafts, strict=True))
        self._half_planes = None if len(self.columns) or links else convex
        self.convex = self._half_planes is not None and len(thin) == 0
        self._ways: dict[Hashable, Ways] = {}

    def __repr__(self) -> str:
        counts = {"door": len(self.doors), "stair": len(self.links), "column": len(self.columns)}
        more = "".join(f", {count} {name}{'s' * (count > 1)}" for name, count in counts.items() if count)
        return f"Plan({self.size:.4g} m², exits {reprlib.repr([*self.exits])[1:-1]}, {len(self.walls)} walls{more})"

    _repr_html_ = html

    @cached_property
    def area(self) -> Any:
        """The walkable area as a polygon of shapely, with the stairs; columns are holes with many corners."""
        shapely = package("shapely")
        parts = [*self._rooms, *(shaft.corners for shaft in self.shafts.values())]
        area = shapely.union_all([shapely.Polygon(part) for part in parts])
        if len(self.columns):
            area = shapely.difference(area, around(self.columns))
        shapely.prepare(area)
        return area

    @property
    def size(self) -> float:
        """Size of the walkable area with the stairs (m2)."""
        if self._half_planes is None:
            return float(self.area.area)
        x, y = self._half_planes.corners.T
        return float(abs(x @ np.roll(y, 1) - y @ np.roll(x, 1)) / 2.0)

    @classmethod
    def from_wkt(cls, text: str, exits: Mapping[str, ArrayLike] | Sequence[str] | None = None) -> Plan:
        """A plan from well-known text: polygons are rooms, a LINESTRING is an exit, a MULTILINESTRING thin walls.

        Parameters
        ----------
        text : str
            The well-known text.
        exits : dict of str to array_like, or sequence of str, optional
            The exits, or the names of those in the text. None numbers the exits of the text: "exit 0", "exit 1", ...

        Returns
        -------
        Plan
            The plan.

        Examples
        --------
        >>> Plan.from_wkt("POLYGON ((0 0, 4 0, 4 3, 0 3, 0 0))", exits={"east": ((4, 1), (4, 2))}).walls.shape
        (5, 2, 2)
        """
        return cls(**read_wkt(text, exits))

    to_wkt = write_wkt

    @classmethod
    def from_dxf(
        cls, path: str | PathLike[str], *, walls: str = "WALLS", exits: str = "EXITS", scale: float | None = None
    ) -> Plan:
        """A plan from a CAD drawing (DXF): walls on one layer, exits on another; see `dxf.read_dxf`.

        Parameters
        ----------
        path : str or path
            The file.
        walls : str, default "WALLS"
            Layer of the walls and columns.
        exits : str, default "EXITS"
            Layer of the exits; a layer EXITS-name gives its exit a name.
        scale : float, optional
            Size of a unit of the drawing (m). None means the unit in its header.

        Returns
        -------
        Plan
            The plan, in metres.

        Raises
        ------
        InvalidValue
            If the file cannot be read, if its unit is unknown or implausible, or if its walls do not close.
        """
        return cls(**read_dxf(path, walls=walls, exits=exits, scale=scale))

    to_dxf = write_dxf

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
        """A plan from a picture: black walls, red exits, everything else is floor; see `png.read_png`.

        Parameters
        ----------
        path : str or path
            The file: PNG, BMP, GIF or JPEG.
        scale : float
            Size of a pixel (m).
        walls : array_like, shape (3,), default (0, 0, 0)
            Colour of the walls: red, green and blue from 0 to 255.
        exits : array_like, shape (3,), default (255, 0, 0)
            Colour of the exits.
        tolerance : float, default 0.0
            Largest distance (m) by which oblique walls are straightened.

        Returns
        -------
        Plan
            The plan; its lower left corner is that of the picture.

        Raises
        ------
        InvalidValue
            If the picture cannot be read, or if no straight exit borders the floor.
        """
        return cls(**read_png(path, scale=scale, walls=walls, exits=exits, tolerance=tolerance))

    to_png = write_png

    def inside(self, q: Array) -> Booleans:
        """Tell which positions are in the plan, or on its stairs.

        Parameters
        ----------
        q : array_like, shape (n, 2)
            Positions (m).

        Returns
        -------
        ndarray of bool, shape (n,)
            True for positions inside.
        """
        x = np.asarray(q, dtype=float)
        if self._half_planes is not None:
            return self._half_planes.inside(x)
        return np.asarray(package("shapely").contains_xy(self.area, x[:, 0], x[:, 1]), dtype=bool)

    def outside(self, q: Array) -> Array:
        """The distance of positions from the plan.

        Parameters
        ----------
        q : array_like, shape (n, 2)
            Positions (m).

        Returns
        -------
        ndarray, shape (n,)
            Distances (m); 0 inside.

        Examples
        --------
        >>> Plan([(0, 0), (4, 0), (4, 3), (0, 3)], exits={"east": ((4, 1), (4, 2))}).outside(np.array([[6.0, 1.5]]))
        array([2.])
        """
        x = np.asarray(q, dtype=float)
        if self._half_planes is not None:
            return self._half_planes.outside(x)
        far = np.zeros(len(x))
        out = np.flatnonzero(~self.inside(x))
        far[out] = package("shapely").distance(self.area, package("shapely").points(x[out]))
        return far

    def empty(self, state: State) -> bool:
        """Tell whether everyone has left and nobody waits to enter, for ``solve(..., until=plan.empty)``.

        Parameters
        ----------
        state : State
            A state of the run.

        Returns
        -------
        bool
            True if nobody is inside.
        """
        presence = state.presence
        if presence is not None and len(presence.waiting):
            return False
        q = state.q if presence is None else state.q[presence.here]
        return not any(self.inside(some).any() for some in np.array_split(q, 1 + len(q) // MANY))

    def changes(self, people: Sweeping, beyond: float | None = None) -> list[Callable[[State], State]]:
        """The functions that a run on this plan needs, for ``solve(..., change=plan.changes(people))``.

        They remove people who have left, move people over stairs, let people enter, and open and close doors.

        Parameters
        ----------
        people : Crowd or Sweeping
            The people on the plan.
        beyond : float, optional
            Distance (m) from the plan at which people are removed. None means four times the largest radius.

        Returns
        -------
        list of callable (state) -> State
            The functions.

        Examples
        --------
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
        if self._half_planes is None:
            check_space_behind(self, limit)
        radii, wish = people.within.radii_at(0.0), getattr(people, "wish", None)
        stairs = [
            Stairs(one, np.broadcast_to(radii, len(people.q0)), people.within, wish if one.link.both else None, k)
            for k, one in enumerate(passages(self.links, self.shafts), len(self.exits))
        ]
        gates = filter(None, [getattr(people, "gates", None)])
        coming = [*getattr(people, "entries", ()), *gates, *doors_of(people.within, self)]
        return [*stairs, Outlet(partial(self._is_beyond, limit)), *coming]

    def _is_beyond(self, limit: float, q: Array) -> Booleans:
        direct = len(q) < MANY or self._half_planes is not None
        return self.outside(q) > limit if direct else self._interior.beyond(q, limit, self.outside)

    _interior = cached_property(Interior.of)

    def ways(
        self,
        radius: float,
        *,
        spacing: float | None = None,
        closed: ArrayLike = (),
        stops: Mapping[str, ArrayLike] | None = None,
    ) -> Ways:
        """The shortest paths of a disc to all exits, stairs and stops; they are computed once and kept.

        Parameters
        ----------
        radius : float
            Radius of the disc (m).
        spacing : float, optional
            Spacing of the grid (m), at most half the radius. None: a quarter of the radius, more on very large plans.
        closed : array_like, shape (k, 2, 2), default ()
            Segments that the disc does not pass.
        stops : dict of str to array_like, optional
            Points (2,) or segments (2, 2) that are also goals, by name.

        Returns
        -------
        Ways
            Distances and directions on a grid.
        """
        shut = shaped(closed, "closed", -1, 2, 2)
        goals = len(self.exits) + len(passages(self.links, self.shafts)) + len(stops or {})
        step = usual_spacing(self, float(radius), goals) if spacing is None else spacing
        places = {name: stop_on(self, name, place) for name, place in (stops or {}).items()}
        stopping = tuple((name, place.tobytes()) for name, place in places.items())
        key = (float(radius), float(step), shut.tobytes(), stopping)
        if key not in self._ways:
            self._ways[key] = Ways.on(self, float(radius), float(step), shut, places)
        return self._ways[key]

    walk = walk
