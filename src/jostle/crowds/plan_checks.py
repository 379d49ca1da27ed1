"""Checks of floor plans: rooms, columns, openings, stairs, stops and the places of people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from jostle._tools.arrays import Array
from jostle.crowds.geometry import Geometry
from jostle.crowds.half_planes import HalfPlanes
from jostle.crowds.outlines import ON_EDGE, cut, distance_to, package
from jostle.crowds.polygons import plain_corners, polygons, rings
from jostle.crowds.stairs import BACK, Link, Shaft
from jostle.errors import InvalidValue


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


def check_openings(
    exits: Mapping[str, Array], links: Mapping[str, Link], edges: Array, cuts: tuple[Array, Array]
) -> None:
    """Raise, naming the opening, if an exit or a door does not lie on an edge, or if two openings overlap.

    `cuts` are the openings (k, 2, 2), and which part of each is on edges (k,), as in `Cut`.
    """
    openings, covered = cuts
    names = [f"exit {name!r}" for name in exits] + [f"link {name!r}" for name in links]
    names += [f"door {k}" for k in range(len(covered) - len(names))]
    ends = [*exits.values(), *(link.start for link in links.values())]
    for k, (name, part) in enumerate(zip(names, covered, strict=True)):
        if name.startswith("door"):
            if part < 2.0:
                raise InvalidValue(f"{name} does not lie between two rooms: both need an edge along it")
            continue
        if part < 1.0:
            far = distance_to(edges, ends[k]).min(axis=0).max()
            why = f"an end is {far:.3g} away from the nearest edge" if far > 0.0 else "it crosses the area"
            raise InvalidValue(
                f"{name} at {ends[k].tolist()} does not lie on an edge of the plan: {why}; move it onto the outline"
            )
        if part > 1.0:
            raise InvalidValue(f"{name} at {ends[k].tolist()} leads from one room to another; make it a door")
    for k in range(1, len(openings)):
        for j in np.flatnonzero([cut(openings[[i]], openings[[k]]).covered[0] > 0.0 for i in range(k)]):
            raise InvalidValue(
                f"{names[j]} and {names[k]} overlap, at {openings[j].tolist()} and {openings[k].tolist()}: move one "
                f"of them, or make them one opening"
            )


def check_links(links: Mapping[str, Link], outlines: list[Any], shafts: list[Shaft], covered: Array) -> None:
    """Raise, naming the stairs, if they run through the plan or do not end on an edge."""
    if not shafts:
        return
    shapely = package("shapely")
    rooms = [shapely.Polygon(room) for room in outlines]
    others: list[tuple[str, Any]] = []
    for link, shaft, part in zip(links.values(), shafts, covered, strict=True):
        drawn = shapely.Polygon(shaft.corners)
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


def stop_on(plan: Geometry, name: str, place: ArrayLike) -> Array:
    """A point or a segment where people stop, as a segment (2, 2); raises if it is not inside the plan."""
    ends = np.array(place, dtype=float)
    if ends.shape not in ((2,), (2, 2)) or not plan.inside(np.atleast_2d(ends)).all():
        raise InvalidValue(f"stop {name!r} must be a point or a segment inside the plan, not {place!r}")
    if name in plan.exits or name in plan.links or name.removesuffix(BACK) in plan.links:
        raise InvalidValue(f"stop {name!r} has the name of an exit or of stairs")
    return np.array(np.broadcast_to(ends, (2, 2)))


def check_space_behind(plan: Geometry, beyond: float) -> None:
    """Raise, naming the exit, if people who leave meet another part of the plan before they are removed.

    They are removed at a distance `beyond` from the whole plan, so that the space behind an exit must be twice as deep.
    """
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
                f"floors and stairs apart, or remove people earlier: changes(people, beyond=...), or outlet = ... in a "
                f"scenario file"
            )


def check_inside(plan: Geometry, q: Array) -> None:
    """Raise, naming the person, if somebody is outside the plan."""
    out = np.flatnonzero(~plan.inside(q))
    if len(out):
        raise InvalidValue(
            f"person {out[0]} at {q[out[0]].tolist()} is outside the plan ({len(out)} in all); move them inside"
        )
