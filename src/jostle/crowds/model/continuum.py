"""A crowd on a floor plan as a density: the macroscopic counterpart of `crowd`.

The plan is covered by square cells. A cell belongs to the room if its centre lies in the plan, and it is joined to a
neighbour unless the line between their centres meets a wall. So thin walls, slanted walls and columns let nothing
through, whatever their position in the grid. Cells that are entered through an exit are exit cells.

A wish that does not change in time is evaluated once on the faces of cells, such that a path leads from every cell to
an exit. Cells approximate slanted walls roughly: people who follow a wish along a wall may enter a cell that all wishes
lead into, and none out of. From such a cell they wish to go to a neighbour from which a way leads on.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from jostle._tools.arguments import Positive, check_arguments
from jostle._tools.arrays import Array, Booleans, Integers
from jostle.crowds.model.defaults import RADIUS, SPEED
from jostle.crowds.model.groups import polygon_of
from jostle.crowds.model.walk import walk
from jostle.crowds.model.wish import Behaviour, FreeWish, Wish
from jostle.errors import InvalidValue
from jostle.macro.grid import Grid, after, before
from jostle.macro.motion.domain import Domain, Faces, Passage, leaving_speeds
from jostle.macro.motion.problems import Crowd
from jostle.plans.links import Shaft
from jostle.plans.openings import Opening, named_openings
from jostle.plans.outlines import around, package
from jostle.plans.plan import Plan

ZERO = 1e-9
"""Wishes below this fraction of the largest wish are zero."""
WAYS = ((0, 1), (0, -1), (1, 1), (1, -1))
"""The four neighbours of a cell: axis and sign of the direction."""


def steady(people: Crowd) -> Crowd:
    """The same crowd, with its wish evaluated once in each cell."""
    domain, grid = people.domain, people.grid
    U = np.zeros((*grid.shape, 2))
    U[domain.zone] = np.asarray(people.velocity(0.0, people.places))  # type: ignore[operator]
    fastest = float(np.linalg.norm(U, axis=-1).max(initial=0.0))
    known = np.linalg.norm(U, axis=-1) > ZERO * fastest
    while True:
        reached = np.zeros_like(known)
        for axis, way in WAYS:
            new = domain.zone & ~known & ~reached & _joined(domain, axis, way) & np.roll(known, -way, axis)
            U[new, axis] = way * fastest
            reached |= new
        if not reached.any():
            break
        known |= reached
    lost = domain.zone & ~known & (np.asarray(people.density) > 0.0)
    if lost.any():
        i, j = np.argwhere(lost)[0]
        place = [float(centre[i, j]) for centre in grid.centres]
        raise InvalidValue(f"the wish at {place} is zero: no path leads from there to the goal; keep that part empty")
    there = domain.zone.astype(float)
    cells = grid.velocity(U[..., 0], U[..., 1])
    u = _leading_out(domain, U, (cells.faces(0, there).copy(), cells.faces(1, there).copy()), fastest)
    return replace(people, velocity=grid.velocity(*u))


def _leading_out(domain: Domain, U: Array, u: Faces, fastest: float) -> Faces:
    """The velocities u on faces, changed where no way leads from a cell to an exit or a passage."""
    least = ZERO * fastest
    free = _led_out(domain, u, least)
    while True:
        best, choice = np.full(free.shape, -np.inf), np.full(free.shape, -1)
        for k, (axis, way) in enumerate(WAYS):
            possible = domain.zone & ~free & _joined(domain, axis, way) & np.roll(free, -way, axis)
            better = possible & (way * U[..., axis] > best)
            best[better], choice[better] = way * U[better, axis], k
        if (choice < 0).all():
            return u
        for k, (axis, way) in enumerate(WAYS):
            u[axis][_faces(axis, way)][choice == k] = way * fastest
        free |= choice >= 0


def _led_out(domain: Domain, u: Faces, least: float) -> Booleans:
    """(nx, ny) whether the velocities lead from each cell to an exit, an open side or a passage; True in exits."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import breadth_first_order

    number = np.arange(domain.zone.size).reshape(domain.zone.shape)
    outside = domain.zone.size
    where, here = [number[domain.exits]], [np.full(int(domain.exits.sum()), outside)]
    for axis, way in WAYS:
        out = way * u[axis][_faces(axis, way)] > least
        out &= domain.zone & _joined(domain, axis, way)
        where.append(number[out])
        here.append(np.roll(number, -way, axis)[out])
    for passage in domain.passages:
        leaves = passage.start[leaving_speeds(passage, u) > least]
        where.append(number[tuple(leaves.T)])
        here.append(np.full(len(leaves), outside))
    i, j = np.concatenate(here), np.concatenate(where)
    graph = coo_array((np.ones(len(i)), (i, j)), shape=(outside + 1, outside + 1)).tocsr()
    found = breadth_first_order(graph, outside, return_predecessors=False)
    led = np.zeros(outside + 1, dtype=bool)
    led[found] = True
    return np.asarray(led[:-1].reshape(domain.zone.shape))


def _faces(axis: int, way: int) -> tuple[slice, slice]:
    """The face of each cell in a direction, among the faces of an axis."""
    return after(axis) if way > 0 else before(axis)


def _joined(domain: Domain, axis: int, way: int) -> Booleans:
    """(nx, ny) whether the face of each cell in a direction is open."""
    return domain.open[axis][_faces(axis, way)]


MARGIN = 2
"""Number of cells around the plan."""
MAX_CELLS = 16_000_000
"""Largest number of cells."""
ON_WALL = 1e-6
"""Distance from a wall, in cells, up to which the centre of a cell lies on the wall."""
CLEARANCE = 0.25
"""Distance of ways from walls, in cells."""
LAST_STEP = 0.32
"""Distance from the end of stairs, in cells, within which cells are left out, because ways end before them."""
SPACING = 0.125
"""Grid spacing for the ways, in cells."""


@check_arguments
def densest_packing(radius: Positive) -> float:
    """Number of people per unit area where the density is one: 1 / (2 sqrt(3) r^2), the triangular lattice of discs.

    The mass of a density times this number is a number of people.

    Parameters
    ----------
    radius : float
        Radius of a person (m), positive.

    Returns
    -------
    float
        People per square metre.

    Examples
    --------
    >>> round(densest_packing(0.25), 2)
    4.62
    """
    return float(1.0 / (2.0 * np.sqrt(3.0) * radius**2))


@check_arguments
def density(
    n: float | Callable[[Array, Array], ArrayLike],
    *,
    room: Plan,
    radius: Positive = RADIUS,
    h: Positive,
    speed: Positive = SPEED,
    goal: str | None = None,
    start: Any = None,
    wish: Wish | Callable[[float, Array], ArrayLike] | None = None,
) -> Crowd:
    """People on a floor plan as a density on square cells, who want to leave by the nearest exit.

    The density is one where discs of the given radius are packed as densely as possible: see `densest_packing`. All
    people have the same radius and speed. The default wish is that of points and does not change in time. In corners
    where it does not know a way, and where the walls of cells would hold people who follow it, they wish to go to a
    neighbouring cell from which a way leads on.

    The width of exits, doors and stairs is a whole number of cells: those whose centres they face. Choose an h that
    divides their widths. On stairs people walk at the same speed; at their end they wait until there is room on the
    other floor.

    Parameters
    ----------
    n : float or callable (x, y) -> array
        Number of people, spread evenly over `start`; or people per unit area as a function of position.
    room : Plan
        The floor plan.
    radius : float, default 0.2
        Radius of a person (m).
    h : float
        Side of a cell (m), at most the width of each opening.
    speed : float, default 1.34
        Desired speed (m/s).
    goal : str, optional
        Name of the exit. None means the nearest exit.
    start : polygon or array_like, shape (k, 2), optional
        Region in which people are at the start, a `shapely.Polygon` or its corners. None means the whole plan.
    wish : Wish or callable (t, q) -> array, shape (n, 2), optional
        Replaces the walk to an exit, with its speed and goal. It must not depend on other people.

    Returns
    -------
    macro.Crowd
        The problem, for `jo.macro.solve`.

    Examples
    --------
    >>> import jostle as jo
    >>> room = jo.crowds.Room([(0, 0), (5, 0), (5, 4), (0, 4)], doors=[((5, 1.5), (5, 2.5))])
    >>> people = density(40, room=room, radius=0.25, speed=1.4, h=0.25)
    >>> sol = jo.macro.solve(people, jo.macro.Splitting(), t=20.0, h=0.05, every=1.0)
    >>> inside = sol.mass * densest_packing(0.25)
    >>> round(float(inside[0]), 9), bool(inside[-1] < 0.01)
    (40.0, True)
    """
    grid = _grid(room, h)
    x, y = grid.centres
    centres = np.stack([x.ravel(), y.ravel()], axis=-1)
    obstacles = _Obstacles(room)
    free = room.inside(centres) & ~obstacles.near(centres, ON_WALL * h) & ~_behind_goals(room, centres, h)
    free = free.reshape(grid.shape)
    exits, barriers = np.zeros(grid.shape, dtype=bool), []
    crossed: dict[str, int] = {}
    for axis in (0, 1):
        low, high = before(axis), after(axis)
        lines = np.stack([np.stack([x[side], y[side]], axis=-1) for side in (low, high)], axis=-2)
        touched = free[low] | free[high]
        closed = np.zeros(touched.shape, dtype=bool)
        closed[touched] = obstacles.meet(lines[touched])
        for opening in named_openings(room):
            through = np.zeros_like(closed)
            through[touched] = _meet(opening.ends, lines[touched])
            through &= ~closed
            crossed[opening.name] = crossed.get(opening.name, 0) + int(through.sum())
            if opening.name.startswith("exit"):
                exits[low] |= through & free[high] & ~free[low]
                exits[high] |= through & free[low] & ~free[high]
        barriers.append(np.pad(closed, [(1, 1) if k == axis else (0, 0) for k in (0, 1)]))
    _check_openings(room, h, crossed)
    passages = [_passage(shaft, grid, free) for shaft in room.shafts.values()]
    people = Crowd(
        grid=grid,
        density=_start(n, grid, free, radius, start),
        velocity=_wish(room, h, speed, goal, wish),
        walls=~free & ~exits,
        exits=exits,
        barriers=(barriers[0], barriers[1]),
        passages=passages,
    )
    if isinstance(wish, FreeWish) or not (wish is None or isinstance(wish, Wish)):
        return people  # the wish may change in time
    return steady(people)


def _grid(plan: Plan, h: float) -> Grid:
    """Cells that begin at the lower left corner of the plan, so that walls at multiples of h lie between cells."""
    low, high = np.array(plan.area.bounds).reshape(2, 2)
    number = np.ceil((high - low) / h - ON_WALL).astype(int)
    if float(number[0] + 2 * MARGIN) * float(number[1] + 2 * MARGIN) > MAX_CELLS:
        raise InvalidValue(f"h = {h:g} gives a grid of {number[0]} x {number[1]} cells; take a larger h")
    return Grid(low - MARGIN * h, low + (number + MARGIN) * h, h, closed=True)


class _Obstacles:
    """The walls and columns of a plan, in a tree."""

    def __init__(self, plan: Plan) -> None:
        shapely = package("shapely")
        discs = [disc for disc in shapely.get_parts(around(plan.columns)) if not disc.is_empty]
        self.tree = shapely.STRtree([*shapely.linestrings(plan.walls), *discs])

    def near(self, points: Array, distance: float) -> Booleans:
        """(n,) whether an obstacle is within a distance of points (n, 2)."""
        shapely, found = package("shapely"), np.zeros(len(points), dtype=bool)
        found[self.tree.query(shapely.points(points), predicate="dwithin", distance=distance)[0]] = True
        return found

    def meet(self, lines: Array) -> Booleans:
        """(n,) whether lines (n, 2, 2) meet an obstacle."""
        shapely, found = package("shapely"), np.zeros(len(lines), dtype=bool)
        found[self.tree.query(shapely.linestrings(lines), predicate="intersects")[0]] = True
        return found


def _meet(segment: Array, lines: Array) -> Booleans:
    shapely = package("shapely")
    one = shapely.linestrings(segment)
    shapely.prepare(one)
    return np.asarray(shapely.intersects(one, shapely.linestrings(lines)), dtype=bool)


def _behind_goals(plan: Plan, places: Array, h: float) -> Booleans:
    """(n,) whether places are behind the point near the end of stairs to which people walk."""
    found = np.zeros(len(places), dtype=bool)
    for shaft in plan.shafts.values():
        (part, depth), length = shaft.where(places), shaft.link.length
        found |= (part > 0.0) & (part < 1.0) & (depth < length) & (depth > length - LAST_STEP * h)
    return found


def _passage(shaft: Shaft, grid: Grid, free: Booleans) -> Passage:
    """The passage from the last cells of stairs to the first cells of the other floor."""
    link = shaft.link
    if link.every is not None:
        raise InvalidValue(
            f"link {link.name!r} is a lift, which takes people at fixed times; a density has only stairs"
        )
    last = link.start + link.length * shaft.outward
    start = _rows(grid, free, last, -shaft.outward)
    end = _rows(grid, free, link.end, shaft.inward)
    for cells, ends in ((start, last), (end, link.end)):
        if len(cells) == 0:
            raise InvalidValue(
                f"{Opening(f'stairs {link.name!r}', ends)}: no cell of side h = {grid.h:g} fits; take a smaller h"
            )
    return Passage(start, end, shaft.outward)


def _rows(grid: Grid, free: Booleans, segment: Array, inward: Array) -> Integers:
    """(m, 2) first cells behind a segment in the direction `inward`, from its first end to its second."""
    along = segment[1] - segment[0]
    width = float(np.linalg.norm(along))
    places = np.stack(grid.centres, axis=-1) - segment[0]
    depth, part = places @ inward, places @ along / width**2
    axis = int(np.argmax(np.abs(inward)))
    near = free & (part > 0.0) & (part < 1.0) & (depth > 0.0) & (depth < 2.0 * grid.h)
    line = np.indices(grid.shape)[1 - axis]
    first = np.full(grid.shape[1 - axis], np.inf)
    np.minimum.at(first, line[near], depth[near])
    chosen = near & (depth <= first[line])
    cells = np.argwhere(chosen)
    return np.asarray(cells[np.argsort(part[chosen], kind="stable")])


def _check_openings(plan: Plan, h: float, crossed: dict[str, int]) -> None:
    """Raise, naming the opening, if it is too narrow for the cells."""
    for opening in named_openings(plan):
        if opening.width < h * (1.0 - ON_WALL) or crossed[opening.name] == 0:
            raise InvalidValue(
                f"{opening} is too narrow for cells of side h = {h:g}: take h = {opening.width / 2.0:.3g} or less, a "
                f"fraction of the width if possible"
            )


def _start(
    n: float | Callable[[Array, Array], ArrayLike], grid: Grid, free: Booleans, radius: float, start: Any
) -> Array:
    """(nx, ny) density at the start."""
    full, (x, y), where = densest_packing(radius), grid.centres, free
    if start is not None:
        where = free & package("shapely").contains_xy(polygon_of(start), x, y)
    if callable(n):
        return np.where(where, np.broadcast_to(np.asarray(n(x, y), dtype=float), x.shape) / full, 0.0)
    area = float(where.sum()) * grid.h**2
    if not 0.0 <= n <= full * area * (1.0 + ON_WALL):
        raise InvalidValue(
            f"{n:g} people of radius {radius:g} do not fit into an area of {area:g}: at most {int(full * area)} do"
        )
    return np.where(where, min(n / (full * area), 1.0) if area else 0.0, 0.0)


def _wish(
    plan: Plan, h: float, speed: float, goal: str | None, wish: Wish | Callable[[float, Array], ArrayLike] | None
) -> Wish | Callable[[float, Array], ArrayLike]:
    if wish is None:
        spacing = None if plan.convex else SPACING * h
        return walk(plan, radius=CLEARANCE * h, speed=speed, goal=goal, spacing=spacing)
    if goal is not None or speed != SPEED:
        raise InvalidValue("a density with wish= takes neither speed nor goal: make them part of the wish")
    if isinstance(wish, Behaviour):
        raise InvalidValue(
            f"{type(wish).__name__} depends on other people or on the past of each person, which a density does not "
            f"have: give a plain wish, such as jo.crowds.walk(plan, ...), or a function of (t, q)"
        )
    widest = 0.0 if isinstance(wish, FreeWish) or not isinstance(wish, Wish) else float(wish.widest(1)[0])
    if widest > h / 2.0:
        raise InvalidValue(
            f"the wish is that of people of radius {widest:g}, who keep further away from walls than cells of side h = "
            f"{h:g}: make it with jo.crowds.walk(plan, radius={CLEARANCE * h:g})"
        )
    return wish
