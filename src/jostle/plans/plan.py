"""Floor plans: where people may walk, and where they leave.

A plan is a polygon with holes, or several rooms that touch and are joined by doors, with named exits on its boundary.
Its walls are the parts of all edges that exits and doors leave; the polygons are those of shapely. Lengths are in
metres, or in the unit of the radii.
"""

from __future__ import annotations

import reprlib
from collections.abc import Hashable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from jostle._tools.arguments import check_arguments
from jostle._tools.arrays import Array, Booleans, finite, shaped
from jostle._tools.displays import html
from jostle.errors import InvalidValue
from jostle.plans.areas import Area
from jostle.plans.links import Link, Passage, Shaft
from jostle.plans.outlines import (
    ON_EDGE,
    HalfPlanes,
    a_segment,
    around,
    cut,
    distance_to,
    geometry,
    package,
    plain_corners,
    polygons,
    ring_edges,
    rings,
    segments_of,
    without_doubles,
)

if TYPE_CHECKING:
    from jostle.schemes.state import State

CELLS = 128
"""Number of cells along each side of the rectangle around a plan."""
MANY = 2000
"""Number of people from which on the cells of a plan are worth finding."""


@check_arguments
class Plan:
    """A floor plan: a walkable area with exits, walls and stairs.

    Parameters
    ----------
    area : polygon, array_like or sequence
        A `shapely` polygon, its corners (k, 2), a `pedpy.WalkableArea`, or a list of rooms that doors join. Floors are
        drawn side by side.
    exits : dict of str to array_like, shape (2, 2), or line
        Exits by name: the two ends of a segment on the boundary, as points or as a `shapely.LineString`.
    doors : sequence of array_like, shape (2, 2), or line, default ()
        Doors: the two ends of a segment on the common edge of two rooms.
    walls : array_like, shape (k, 2, 2), default ()
        Thin walls inside, each by its two ends; the attribute `walls` holds all walls.
    columns : array_like, shape (k, 3), default ()
        Round columns, (x, y, radius) each.
    links : sequence of Link, default ()
        Stairs and lifts between floors; the attribute `links` holds them by name.
    labels : dict of str to array_like, shape (2,), default None
        Names of rooms, and the points where pictures show them.
    areas : sequence of Area, default ()
        Named parts such as rows of seats and gangways; the attribute `areas` holds them by name.

    Attributes
    ----------
    outward : dict of str to ndarray, shape (2,)
        Unit normals of the exits that point out of the plan.
    convex : bool
        True if the plan is one convex polygon without obstacles; the shortest paths are then known in closed form.

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
    areas: dict[str, Area]
    convex: bool
    half_planes: HalfPlanes | None
    """The half-planes of a plan that is one convex polygon without columns and stairs; None for other plans."""

    def __init__(
        self,
        area: Any,
        *,
        exits: Mapping[str, Any],
        doors: Sequence[Any] = (),
        walls: ArrayLike = (),
        columns: ArrayLike = (),
        links: Sequence[Link] = (),
        labels: Mapping[str, ArrayLike] | None = None,
        areas: Sequence[Area] = (),
    ):
        rooms, convex = rooms_of(area)
        self.columns = columns_of(columns)
        self.exits = {name: a_segment(ends, f"exit {name!r}") for name, ends in exits.items()}
        self.doors = np.array([a_segment(ends, f"door {k}") for k, ends in enumerate(doors)]).reshape(-1, 2, 2)
        self.links = {link.name: link for link in links}
        self.labels = {name: shaped(at, f"label {name!r}", 2) for name, at in (labels or {}).items()}
        self.areas = {one.name: one for one in areas}
        if len(self.areas) < len(areas):
            raise InvalidValue(f"two areas have the same name: {[one.name for one in areas]}")
        if not self.exits:
            raise InvalidValue("a plan needs at least one exit")
        if len(self.links) < len(links):
            raise InvalidValue(f"two links have the same name: {[link.name for link in links]}")
        outlines = [convex.corners] if convex is not None else [ring for room in rooms for ring in rings(room)]
        edges = np.concatenate([ring_edges(ring) for ring in outlines])
        openings = np.array([*self.exits.values(), *(link.start for link in links), *self.doors])
        found = cut(edges, openings)
        names = [f"exit {name!r}" for name in self.exits] + [f"link {name!r}" for name in self.links]
        names += [f"door {k}" for k in range(len(self.doors))]
        check_openings(names, openings, found.covered, edges)
        self.outward = dict(zip(self.exits, found.outward, strict=False))
        ends = cut(edges, np.array([link.end for link in links]).reshape(-1, 2, 2))
        leaving = found.outward[len(self.exits) :]
        self.shafts = {link.name: Shaft(link, a, -b) for link, a, b in zip(links, leaving, ends.outward, strict=False)}
        self._rooms = rooms
        check_links(self.shafts, rooms, ends.covered)
        thin = self._thin = shaped(walls, "walls", -1, 2, 2)
        kept = found.walls if len(rooms) == 1 else without_doubles(found.walls)
        self.walls = np.concatenate([kept, thin, *(segments_of(shaft.corners) for shaft in self.shafts.values())])
        self.walls.setflags(write=False)
        self.half_planes = None if len(self.columns) or links else convex
        self.convex = self.half_planes is not None and len(thin) == 0

    @cached_property
    def kept(self) -> dict[Hashable, Any]:
        """What functions of the plan compute once, such as `shortest_paths`; it does not make another plan of it."""
        return {}

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
        if self.half_planes is None:
            return float(self.area.area)
        x, y = self.half_planes.corners.T
        return float(abs(x @ np.roll(y, 1) - y @ np.roll(x, 1)) / 2.0)

    @property
    def passages(self) -> list[Passage]:
        """All ways over stairs, in the order of their numbers among the goals, which follow those of the exits."""
        return [Passage(one, back) for one in self.shafts.values() for back in (False, True)[: 1 + one.link.both]]

    @property
    def inner_walls(self) -> Array:
        """(k, 2, 2) walls that are not on the outline of the area."""
        if len(self.walls) == 0:
            return self.walls
        shapely = package("shapely")
        size = max(np.ptp(np.array(self.area.bounds).reshape(2, 2), axis=0))
        inside = shapely.distance(self.area.boundary, shapely.points(self.walls.mean(axis=1))) > 1e-9 * size
        return np.asarray(self.walls[inside])

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
        if self.half_planes is not None:
            return self.half_planes.inside(x)
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
        if self.half_planes is not None:
            return self.half_planes.outside(x)
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

    @cached_property
    def _interior(self) -> Interior:
        return Interior.of(self)


@check_arguments
def Room(corners: Any, *, doors: Sequence[Any]) -> Plan:
    """The plan of one room: a polygon whose doors are the exits "door 0", "door 1", ...

    Parameters
    ----------
    corners : array_like, shape (k, 2), or polygon
        Corners of the room (m), in order around it, a `shapely` polygon, or a `pedpy.WalkableArea`.
    doors : sequence of array_like, shape (2, 2), or line
        The two ends of each door, on an edge of the room, as points or as a `shapely.LineString`.

    Returns
    -------
    Plan
        The floor plan.

    Examples
    --------
    >>> import numpy as np
    >>> room = Room([(0, 0), (10, 0), (10, 8), (0, 8)], doors=[((10, 3.2), (10, 4.8))])
    >>> room.inside(np.array([[5.0, 4.0], [11.0, 4.0]])).tolist(), list(room.exits)
    ([True, False], ['door 0'])
    """
    if len(doors) == 0:
        raise InvalidValue("a room needs at least one door")
    area = geometry(corners) if hasattr(geometry(corners), "geom_type") else shaped(corners, "corners", -1, 2)
    return Plan(area, exits={f"door {k}": a_segment(door, f"door {k}") for k, door in enumerate(doors)})


class Interior(NamedTuple):
    """The rectangle around a plan, and those of its cells that lie in the plan as a whole.

    >>> import jostle as jo
    >>> plan = jo.crowds.Plan([(0, 0), (6, 0), (6, 2), (2, 2), (2, 5), (0, 5)], exits={"north": ((0.4, 5), (1.6, 5))})
    >>> Interior.of(plan).contains(np.array([[1.0, 4.0], [4.0, 4.0], [1.0, 7.0]])).tolist()
    [True, False, False]
    """

    low: Array
    high: Array
    cells: Booleans
    """(CELLS, CELLS) whether the plan covers each cell."""

    @staticmethod
    def of(plan: Plan) -> Interior:
        """The interior of a plan."""
        shapely = package("shapely")
        low, high = np.array(plan.area.bounds).reshape(2, 2)
        x, y = (np.linspace(a, b, CELLS + 1) for a, b in zip(low, high, strict=True))
        boxes = shapely.box(x[:-1, None], y[None, :-1], x[1:, None], y[None, 1:])
        return Interior(low, high, np.asarray(shapely.covers(plan.area, boxes)))

    def contains(self, q: Array) -> Booleans:
        """(n,) whether positions (n, 2) are in cells that the plan covers; False near its outline."""
        part = (q - self.low) / (self.high - self.low)
        there = np.asarray((part[:, 0] >= 0.0) & (part[:, 0] < 1.0) & (part[:, 1] >= 0.0) & (part[:, 1] < 1.0))
        i, j = (CELLS * np.where(there[:, None], part, 0.0)).astype(np.int64).T
        return np.asarray(there & self.cells[i, j])


def far_from(plan: Plan, limit: float, q: Array) -> Booleans:
    """(n,) whether positions (n, 2) are farther from a plan than a limit; most of many people are inside."""
    if len(q) < MANY or plan.half_planes is not None:
        return np.asarray(plan.outside(q) > limit)
    interior = plan._interior
    found = np.asarray(np.maximum(interior.low - q, q - interior.high).max(axis=1) > limit)
    near = np.flatnonzero(~found & ~interior.contains(q))
    found[near] = plan.outside(q[near]) > limit
    return found


def columns_of(columns: ArrayLike) -> Array:
    """(k, 3) round columns, checked."""
    found = np.array(columns, dtype=float).reshape(-1, 3) if np.size(columns) % 3 == 0 else np.full((1, 3), np.nan)
    if not np.isfinite(found).all() or not (found[:, 2] > 0.0).all():
        raise InvalidValue(f"columns must be (x, y, radius) each, with a positive radius, not {columns!r}")
    found.setflags(write=False)
    return found


def rooms_of(area: Any) -> tuple[list[Any], HalfPlanes | None]:
    """The polygons of an area, and its half-planes if it is convex; convex areas do not need shapely."""
    corners = plain_corners(area)
    convex = None if corners is None else HalfPlanes.of(corners)
    if convex is not None:
        return [convex.corners], convex
    rooms = polygons(area)
    outlines = [ring for room in rooms for ring in rings(room)]
    return rooms, HalfPlanes.of(outlines[0]) if len(outlines) == 1 else None


def check_openings(names: list[str], openings: Array, covered: Array, edges: Array) -> None:
    """Raise, naming the opening, if one does not lie on an edge, or if two overlap; `covered` (k,) is that of `Cut`."""
    for name, ends, part in zip(names, openings, covered, strict=True):
        if name.startswith("door"):
            if part < 2.0:
                raise InvalidValue(f"{name} does not lie between two rooms: both need an edge along it")
            continue
        if part < 1.0:
            far = distance_to(edges, ends).min(axis=0).max()
            why = f"an end is {far:.3g} away from the nearest edge" if far > 0.0 else "it crosses the area"
            raise InvalidValue(
                f"{name} at {ends.tolist()} does not lie on an edge of the plan: {why}; move it onto the outline"
            )
        if part > 1.0:
            raise InvalidValue(f"{name} at {ends.tolist()} leads from one room to another; make it a door")
    for k in range(len(openings)):
        for j in range(k):
            if cut(openings[[j]], openings[[k]]).covered[0] > 0.0:
                raise InvalidValue(
                    f"{names[j]} and {names[k]} overlap, at {openings[j].tolist()} and {openings[k].tolist()}: move "
                    f"one of them, or make them one opening"
                )


def check_links(shafts: Mapping[str, Shaft], outlines: list[Any], covered: Array) -> None:
    """Raise, naming the stairs, if they run through the plan or do not end on an edge."""
    if not shafts:
        return
    shapely = package("shapely")
    rooms = [shapely.Polygon(room) for room in outlines]
    others: list[tuple[str, Any]] = []
    for shaft, part in zip(shafts.values(), covered, strict=True):
        link, drawn = shaft.link, shapely.Polygon(shaft.corners)
        for name, other in others:
            if drawn.intersection(other).area > ON_EDGE * drawn.area:
                raise InvalidValue(
                    f"the stairs of links {name!r} and {link.name!r} would run through each other; move the floors "
                    f"apart"
                )
        others.append((link.name, drawn))
        if max(drawn.intersection(room).area for room in rooms) > ON_EDGE * drawn.area:
            raise InvalidValue(
                f"the stairs of link {link.name!r}, {link.length:g} long, would run through the plan; move the "
                f"floors apart"
            )
        if part < 1.0:
            raise InvalidValue(f"link {link.name!r} ends at {link.end.tolist()}, which is not on an edge of the plan")


def check_space_behind(plan: Plan, beyond: float) -> None:
    """Raise, naming the exit, if people who leave meet another part of the plan before they are removed.

    They are removed at a distance `beyond` from the whole plan, so that the space behind an exit must be twice as deep.
    """
    if plan.half_planes is not None:
        return
    shapely = package("shapely")
    for name, ends in plan.exits.items():
        far = 2.0 * beyond * plan.outward[name]
        space = shapely.Polygon([ends[0], ends[1], ends[1] + far, ends[0] + far])
        parts = shapely.get_parts(space.intersection(plan.area))
        parts = parts[shapely.area(parts) > ON_EDGE * space.area]
        if len(parts):
            gap = float(((shapely.get_coordinates(parts) - ends[0]) @ plan.outward[name]).min())
            raise InvalidValue(
                f"{gap:.3g} m behind exit {name!r} is another part of the plan, which would hold up people who leave: "
                f"they are removed {beyond:.3g} m from the plan, and need {2.0 * beyond:.3g} m of free space. Move the "
                f"floors and stairs apart, or remove people earlier: crowd(..., outlet=...), or outlet = ... in a "
                f"scenario file"
            )


def check_inside(plan: Plan, q: Array) -> None:
    """Raise, naming the person, if somebody is outside the plan."""
    out = np.flatnonzero(~plan.inside(q))
    if len(out):
        raise InvalidValue(
            f"person {out[0]} at {q[out[0]].tolist()} is outside the plan ({len(out)} in all); move them inside"
        )


# Walkable areas, given as polygons of shapely, corners, or floor plans.


def walkable(area: Any, name: str = "area") -> Any:
    """The walkable area as a geometry of shapely, from a `Polygon`, a `MultiPolygon`, corners (k, 2), or a `Plan`.

    The area of a plan with several floors is a `MultiPolygon` that includes the stairs. Errors call it `name`.

    >>> import jostle as jo
    >>> walkable([(0, 0), (4, 0), (4, 3), (0, 3)]).area
    12.0
    >>> walkable(jo.crowds.Room([(0, 0), (4, 0), (4, 3), (0, 3)], doors=[((4, 1), (4, 2))])).area
    12.0
    """
    shapely, area = package("shapely"), geometry(area)
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
