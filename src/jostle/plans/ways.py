"""The shortest paths of a disc to the exits of a plan.

The centre of a disc of radius r can be where the walls are at least r away. There the length of the shortest way to an
exit solves the eikonal equation |grad d| = 1, d = 0 at the exit (Maury & Venel 2008, section 2). Near the exit and in
sight of it, distance and direction are exact: straight to the nearest point that a centre can pass. From there the
distance is continued on a grid by second-order fast marching (Sethian 1999), and people want to walk along -grad d.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from jostle._tools.arguments import Positive, check_arguments
from jostle._tools.arrays import Array, Booleans, Integers, contiguous, shaped
from jostle.errors import InvalidValue
from jostle.kernels.parallel import chunks_of, together
from jostle.plans.kernels import descent, headings, marched
from jostle.plans.links import BACK
from jostle.plans.outlines import around, distance_to, nearest_on, package, shrunk
from jostle.plans.plan import Plan


class Goal(NamedTuple):
    """An exit, the end of stairs, or a stop: where it can be passed, and in which direction."""

    name: str
    passable: Array
    """(2, 2) segment on which the centre of a person can pass."""
    outward: Array
    """(2,) direction in which the goal is passed; 0 for a stop."""
    width: float
    """Width of the opening; infinite for a stop."""


SPACING, WIDEST_SPACING = 0.25, 0.5
"""Spacing of the grid in radii: the usual and the largest value."""
FINE_VALUES = 20_000_000
"""Largest number of values, nodes times goals, at the usual spacing; the spacing of larger grids is wider."""
FIT = 1e-6
"""Clearance that a disc needs, in radii. In a door that is exactly as wide as a person, the linearised constraints
leave half of the remaining way at each step, and round-off stops the person there."""
MARGIN = 4
"""Number of nodes around the plan."""
LAYERS = 2
"""Number of layers of nodes along the walls that get the mean direction of the nodes beside them; nobody is further in
this band than a fraction of the spacing."""
NECK = 1.5
"""Distance, in grid spacings, from the middle of an opening that is too narrow, within which nodes are closed, so that
no node on one side of it is a neighbour of a node on the other side."""
MOST_NODES = 40_000_000
"""Largest number of nodes of a grid."""
NODES_AT_ONCE = 40_000_000
"""Number of nodes, of all goals for which ways are found at the same time, which bounds the memory that they need."""
SIGHT = 128
"""Distance from an exit, in grid spacings, up to which nodes are tested for whether they see it."""
DISTANCE_TOLERANCE = 1e-9
"""Relative difference below which distances from an exit count as equal."""
MOST_DOUBLES = 4_000_000
"""Largest number of values, nodes times exits, in double precision; more values are stored in single precision."""
TOUCH = 0.25
"""Distance, in grid spacings, by which a line of sight may leave the area where a disc fits."""
BEYOND = 0.25
"""Distance behind an exit, in radii, of the point at which people who see the exit aim."""
PEOPLE_A_CHUNK = 2000
"""A thread is given at least this many people: with fewer, starting the threads costs more than they gain."""


class Grid(NamedTuple):
    """Nodes lower + step (i, j), i < shape[0], j < shape[1], each in the middle of its cell."""

    lower: Array
    step: float
    shape: tuple[int, int]

    @staticmethod
    def around(plan: Plan, step: float) -> Grid:
        """A grid that is symmetric about the middle of the plan."""
        low, high = np.array(plan.area.bounds).reshape(2, 2)
        number = np.ceil((high - low) / step).astype(int) + 1 + 2 * MARGIN
        if float(number[0]) * float(number[1]) > MOST_NODES:
            raise InvalidValue(
                f"the paths on this plan need a grid of {number[0]} x {number[1]} nodes; give a spacing above {step:g}"
            )
        return Grid((low + high) / 2.0 - step * (number - 1) / 2.0, step, (int(number[0]), int(number[1])))

    def nodes(self) -> Array:
        """(nodes, 2) positions of the nodes."""
        axes = [start + self.step * np.arange(size) for start, size in zip(self.lower, self.shape, strict=True)]
        return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 2)

    def cells(self, x: Array) -> Integers:
        """(n,) numbers of the cells that contain points (n, 2)."""
        index = np.floor((x - self.lower) / self.step + 0.5).astype(np.int64)
        return np.asarray(index[:, 0] * self.shape[1] + index[:, 1])

    def crossed(self, line: Array) -> Integers:
        """Numbers of the cells that a line crosses, from points (n, 2) of it that are close together."""
        aside = 0.23 * self.step * np.array([[0, 0], [1, 0], [-1, 0], [0, 1], [0, -1]])
        return self.cells((line[:, None] + aside).reshape(-1, 2))


@dataclass(frozen=True, eq=False)
class Ways:
    """Distances and directions to each goal of a plan, exits first, at the nodes of a grid.

    >>> import jostle as jo
    >>> plan = jo.crowds.Plan([(0, 0), (6, 0), (6, 2), (2, 2), (2, 5), (0, 5)], exits={"north": ((0.4, 5), (1.6, 5))})
    >>> ways = jo.crowds.shortest_paths(plan, 0.25)
    >>> ways.directions(np.array([[1.0, 4.0], [5.0, 1.0]]), np.array([0, 0])).round(2).tolist()
    [[0.0, 1.0], [-0.97, 0.24]]
    """

    radius: float
    """Radius of the discs for which the ways are found."""
    grid: Grid
    goals: tuple[Goal, ...]
    exits: int
    """Number of exits, which are the first goals."""
    eligible: int
    """Number of exits and stairs; the goals after them are stops."""
    distance: Array
    """(goals, nodes) lengths of the ways by each goal to an exit; infinite where there is none."""
    direction: Any
    """(goals, nx, ny, 2) unit vectors, in single or double precision."""
    nearest: Integers
    """(nodes,) goal of the shortest way."""

    @staticmethod
    def on(plan: Plan, radius: float, step: float, closed: Array, stops: Mapping[str, Array]) -> Ways:
        """The ways of discs of a given radius, on a grid with a given spacing, that do not cross closed segments."""
        grid = Grid.around(plan, step)
        goals = goals_of(plan, radius)
        eligible = len(goals)
        goals += tuple(Goal(name, place, np.zeros(2), np.inf) for name, place in stops.items())
        if step > WIDEST_SPACING * radius * (1.0 + FIT):
            raise InvalidValue(f"the spacing {step:g} must be at most half the radius {radius:g}")
        shapely = package("shapely")
        lines = shapely.linestrings(np.concatenate([plan.walls, closed]))
        wide = radius * (1.0 + FIT)
        necks = _too_narrow([*lines, *shapely.get_parts(around(plan.columns))], wide)
        taken = [*shapely.buffer(lines, wide), around(plan.columns, wide), *shapely.buffer(necks, NECK * step)]
        free = shapely.difference(plan.area, shapely.union_all(taken))
        sight = shapely.buffer(free, TOUCH * step)
        shapely.prepare(sight)
        parts = [part for part in shapely.get_parts(free) if part.geom_type == "Polygon"]
        nodes = grid.nodes()
        label = _labels(grid, nodes, parts)
        precision: Any = np.float64 if len(goals) * len(nodes) <= MOST_DOUBLES else np.float32
        distance: Array = np.full((len(goals), len(nodes)), np.inf, precision)
        direction = np.zeros((len(goals), len(nodes), 2), precision)
        outside = np.flatnonzero(wider(grid, label == 0))  # all others are inside
        outside = outside[~shapely.contains_xy(plan.area, nodes[outside])]
        out = _outward(goals[: len(plan.exits)], nodes[outside])
        areas, seeing = Areas(grid, label), Lock()

        def find(g: int) -> None:
            line = shapely.linestrings(goals[g].passable)
            allowed = radius if g >= eligible else 4.0 * FIT * radius
            reached = tuple(k + 1 for k, part in enumerate(parts) if shapely.distance(part, line) <= allowed)
            if goals[g].width >= 2.0 * radius * (1.0 + FIT) and reached:
                source = _source(grid, goals[g])
                free = areas.around(reached, source)
                distance[g], direction[g] = _march(grid, goals[g], source, free, nodes, sight, radius, seeing)
            direction[g, outside] = out

        at_once = max(2, NODES_AT_ONCE // len(nodes))
        for first in range(0, len(goals), at_once):
            together(find, [(g,) for g in range(first, min(first + at_once, len(goals)))])
        distance[:eligible] += _remaining(plan, radius, grid, distance[:eligible])[:, None]
        nearest = distance[:eligible].argmin(axis=0)
        known = _spread(grid, np.asarray(np.isfinite(distance[:eligible]).any(axis=0)))
        nearest = nearest if known is None else nearest[known]
        direction = direction.reshape(len(goals), *grid.shape, 2)
        return Ways(radius, grid, goals, len(plan.exits), eligible, distance, direction, nearest)

    def directions(self, q: Array, goal: Integers) -> Array:
        """(n, 2) unit vectors from q along the shortest ways to the goals (n,)."""
        fields = [((0, 0), one) for one in self.direction]
        return headings(contiguous(q), goal, fields, *self.grid, *self.outside, people_chunks(len(q)))

    @cached_property
    def outside(self) -> tuple[Array, Array]:
        """The exits (k, 2, 2) and their outward normals (k, 2): people beyond the grid head away from the nearest."""
        exits = self.goals[: self.exits]
        return np.array([goal.passable for goal in exits]), np.array([goal.outward for goal in exits])

    def choice(self, q: Array) -> Integers:
        """(n,) number of the goal with the shortest way, at the nearest node."""
        node, there = self._node(q)
        return np.asarray(np.where(there, self.nearest[node], 0))

    def length(self, q: Array, goal: Integers) -> Array:
        """(n,) lengths of the ways from q to the goals (n,), linear around the nearest node."""
        node, there = self._node(q)
        far = np.where(there, self.distance[goal, node], np.inf)
        away = q - self.grid.lower - self.grid.step * np.stack(np.divmod(node, self.grid.shape[1]), axis=1)
        return np.asarray(far - np.where(there, np.einsum("nd,nd->n", away, self.directions(q, goal)), 0.0))

    def lengths(self, q: Array) -> Array:
        """(goals, n) lengths of the ways to each goal, at the nearest node; infinite where there is none."""
        node, there = self._node(q)
        return np.asarray(np.where(there, self.distance[:, node], np.inf))

    def _node(self, q: Array) -> tuple[Integers, Booleans]:
        (x, y), (rows, columns) = (q - self.grid.lower).T / self.grid.step, self.grid.shape
        i, j = np.rint(x), np.rint(y)
        there = (i >= 0) & (i < rows) & (j >= 0) & (j < columns)
        node = (np.where(there, i, 0.0) * columns + np.where(there, j, 0.0)).astype(np.int64)
        return node, there


@check_arguments
def shortest_paths(
    plan: Plan,
    radius: Positive,
    *,
    spacing: Positive | None = None,
    closed: ArrayLike = (),
    stops: Mapping[str, ArrayLike] | None = None,
) -> Ways:
    """The shortest paths of a disc to all exits, stairs and stops of a plan; they are computed once and kept.

    Parameters
    ----------
    plan : Plan
        The floor plan.
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

    Examples
    --------
    >>> import jostle as jo
    >>> room = jo.crowds.Room([(0, 0), (10, 0), (10, 8), (0, 8)], doors=[((10, 3.2), (10, 4.8))])
    >>> paths = jo.crowds.shortest_paths(room, 0.25)
    >>> paths.directions(np.array([[5.0, 4.0]]), np.array([0])).tolist()
    [[1.0, 0.0]]
    """
    shut = shaped(closed, "closed", -1, 2, 2)
    goals = len(plan.exits) + len(plan.passages) + len(stops or {})
    step = usual_spacing(plan, float(radius), goals) if spacing is None else spacing
    places = {name: stop_on(plan, name, place) for name, place in (stops or {}).items()}
    stopping = tuple((name, place.tobytes()) for name, place in places.items())
    key = (float(radius), float(step), shut.tobytes(), stopping)
    if key not in plan.kept:
        plan.kept[key] = Ways.on(plan, float(radius), float(step), shut, places)
    found: Ways = plan.kept[key]
    return found


def stop_on(plan: Plan, name: str, place: ArrayLike) -> Array:
    """A point or a segment where people stop, as a segment (2, 2); raises if it is not inside the plan."""
    ends = np.array(place, dtype=float)
    if ends.shape not in ((2,), (2, 2)) or not plan.inside(np.atleast_2d(ends)).all():
        raise InvalidValue(f"stop {name!r} must be a point or a segment inside the plan, not {place!r}")
    if name in plan.exits or name in plan.links or name.removesuffix(BACK) in plan.links:
        raise InvalidValue(f"stop {name!r} has the name of an exit or of stairs")
    return np.array(np.broadcast_to(ends, (2, 2)))


def people_chunks(n: int) -> int:
    """Into how many chunks loops over n people are cut: one for each thread, unless there are few people."""
    return chunks_of(n, PEOPLE_A_CHUNK)


def usual_spacing(plan: Plan, radius: float, goals: int) -> float:
    """The spacing of the grid for a number of goals: SPACING of the radius, or wider if there were too many nodes.

    >>> import jostle as jo
    >>> exits = {"a": ((0, 1), (0, 3))}
    >>> small, large = (jo.crowds.Plan([(0, 0), (x, 0), (x, x), (0, x)], exits=exits) for x in (10, 300))
    >>> usual_spacing(small, 0.2, 1), round(usual_spacing(large, 0.2, 1), 4)
    (0.05, 0.0671)
    """
    fine = SPACING * radius
    low, high = np.array(plan.area.bounds).reshape(2, 2)
    values = goals * float(np.prod((high - low) / fine))
    return float(min(fine * max(np.sqrt(values / FINE_VALUES), 1.0), WIDEST_SPACING * radius))


def goals_of(plan: Plan, radius: float) -> tuple[Goal, ...]:
    """The exits and stairs of a plan as goals of discs of a radius."""
    ends = [(name, ends, plan.outward[name]) for name, ends in plan.exits.items()]
    ends += [(one.name, *one.goal(radius)) for one in plan.passages]
    return tuple(
        Goal(name, shrunk(segment, radius), outward, float(np.linalg.norm(segment[1] - segment[0])))
        for name, segment, outward in ends
    )


def _too_narrow(obstacles: list[Any], radius: float) -> Any:
    """Lines across openings between obstacles that are slightly too narrow for a disc of the given radius."""
    # On the grid, the areas on the two sides of such an opening might touch.
    shapely = package("shapely")
    i, j = shapely.STRtree(obstacles).query(obstacles, predicate="dwithin", distance=2.0 * radius)
    across = shapely.shortest_line(np.take(obstacles, i[i < j]), np.take(obstacles, j[i < j]))
    return across[shapely.length(across) > radius]


def _labels(grid: Grid, nodes: Array, parts: list[Any]) -> NDArray[np.int32]:
    """(nodes,) k + 1 for cells in part k of the area where a disc fits, 0 for all others."""
    # A cell belongs to a part if its node does, or if the outline of the part goes through it.
    shapely = package("shapely")
    label = np.zeros(len(nodes), dtype=np.int32)
    for k, part in enumerate(parts, start=1):
        shapely.prepare(part)
        label[shapely.contains_xy(part, nodes)] = k
        label[grid.crossed(shapely.get_coordinates(shapely.segmentize(part.boundary, grid.step / 4.0)))] = k
    return label


class Areas:
    """The connected cells where a disc fits, found once for all goals in the same parts of the plan."""

    def __init__(self, grid: Grid, label: NDArray[np.int32]):
        self.grid, self.label, self.lock = grid, label, Lock()
        self._known: dict[tuple[int, ...], tuple[Booleans, Integers]] = {}

    def around(self, parts: tuple[int, ...], source: Integers) -> Booleans:
        """(nodes,) whether each cell of the given parts is connected to the cells `source`."""
        with self.lock:
            if parts not in self._known:
                cells = np.isin(self.label, parts)
                self._known[parts] = cells, self._numbered(cells)
        cells, number = self._known[parts]
        if not cells[source].all():
            cells = cells.copy()
            cells[source] = True
            number = self._numbered(cells)
        wanted = np.unique(number[source])
        return np.asarray(number == wanted[0] if len(wanted) == 1 else np.isin(number, wanted))

    def _numbered(self, cells: Booleans) -> Integers:
        from scipy.ndimage import label

        return np.asarray(label(cells.reshape(self.grid.shape))[0].ravel())


def _march(
    grid: Grid, goal: Goal, source: Integers, free: Booleans, nodes: Array, sight: Any, radius: float, seeing: Lock
) -> tuple[Array, Array]:
    """(nodes,) lengths of the ways to a goal and (nodes, 2) their directions, which are exact in sight of the goal."""
    # `source` has the numbers of the cells of the goal. Only one thread at a time may test what is in sight, because
    # the first test prepares `sight`.
    start = np.full(len(nodes), np.inf)
    start[source] = np.linalg.norm(nodes[source] - nearest_on(goal.passable, nodes[source]), axis=1)
    with seeing:
        seen, target = _seen(grid, goal, free, nodes, sight)
    start[seen] = np.linalg.norm(target - nodes[seen], axis=1)
    d = marched(free.reshape(grid.shape), start.reshape(grid.shape), grid.step)
    direction = descent(d, grid.step)
    way = target + BEYOND * radius * goal.outward - nodes[seen]
    size = np.linalg.norm(way, axis=1, keepdims=True)
    direction[seen] = way / np.where(size > 0.0, size, 1.0)
    distance = d.ravel()
    return distance, _extended(grid, direction, np.isfinite(distance))


def _source(grid: Grid, goal: Goal) -> Integers:
    """The numbers of the cells that a goal crosses."""
    length = float(np.linalg.norm(goal.passable[1] - goal.passable[0]))
    points = np.linspace(goal.passable[0], goal.passable[1], 2 + int(4.0 * length / grid.step))
    return np.unique(grid.cells(points) if length == 0.0 else grid.crossed(points))


def _seen(grid: Grid, goal: Goal, free: Booleans, nodes: Array, sight: Any) -> tuple[Integers, Array]:
    """The numbers (n,) of the free nodes that see a goal, and its nearest points (n, 2)."""
    # A node sees a point if the line between them stays in the area `sight`, where discs fit.
    reach = SIGHT * grid.step * (1.0 + DISTANCE_TOLERANCE)
    low = np.floor((goal.passable.min(axis=0) - reach - grid.lower) / grid.step).astype(int)
    high = np.ceil((goal.passable.max(axis=0) + reach - grid.lower) / grid.step).astype(int)
    i, j = (np.arange(max(a, 0), min(b + 1, n)) for a, b, n in zip(low, high, grid.shape, strict=True))
    near = np.add.outer(grid.shape[1] * i, j).ravel()
    near = near[free[near]]
    target = nearest_on(goal.passable, nodes[near])
    within = np.linalg.norm(target - nodes[near], axis=1) <= reach
    near, target = near[within], target[within]
    shapely = package("shapely")
    lines = shapely.linestrings(np.stack([nodes[near], target + DISTANCE_TOLERANCE * grid.step * goal.outward], axis=1))
    seen = shapely.covers(sight, lines)
    return near[seen], target[seen]


def _extended(grid: Grid, direction: Array, known: Booleans) -> Array:
    """The directions, extended to LAYERS of nodes around the known ones by the mean of their neighbours."""
    for new, square, weight in layers_around(grid, known):
        direction[new] = np.einsum("nk,nkd->nd", weight, direction[square]) / weight.sum(axis=1, keepdims=True)
    return direction


def layers_around(
    grid: Grid, known: Booleans, inside: Booleans | None = None
) -> Iterator[tuple[Integers, Integers, Array]]:
    """Each of LAYERS around known nodes: its nodes (n,), the squares (n, 9) around them, and 1 where those are known.

    With `inside` (nodes,), layers have only nodes inside.
    """
    for _ in range(LAYERS):
        wide = wider(grid, known)
        new = np.flatnonzero(wide & ~known)
        new = new if inside is None else new[inside[new]]
        square = squares_around(new, grid.shape[1])
        yield new, square, known[square].astype(float)
        known = wide


def squares_around(nodes: Integers, columns: int) -> Integers:
    """(n, 9) numbers of the nodes in the square around each node (n,) of a grid with a number of columns."""
    return np.asarray(nodes[:, None] + np.add.outer(columns * np.arange(-1, 2), np.arange(-1, 2)).ravel())


def wider(grid: Grid, known: Booleans) -> Booleans:
    """(nodes,) whether each node is known or one of the eight neighbours of a known node."""
    rows = known.reshape(grid.shape).copy()
    rows[1:] |= known.reshape(grid.shape)[:-1]
    rows[:-1] |= known.reshape(grid.shape)[1:]
    found = rows.copy()
    found[:, 1:] |= rows[:, :-1]
    found[:, :-1] |= rows[:, 1:]
    return np.asarray(found.ravel())


def _spread(grid: Grid, known: Booleans) -> Integers | None:
    """(nodes,) nearest known node of each node; None if no node is known."""
    from scipy.ndimage import distance_transform_edt

    if not known.any():
        return None
    index = distance_transform_edt(~known.reshape(grid.shape), return_distances=False, return_indices=True)
    return np.asarray(index[0] * grid.shape[1] + index[1]).ravel()


def _outward(exits: tuple[Goal, ...], x: Array) -> Array:
    """(n, 2) directions out of the plan, by the exit nearest to x."""
    if len(x) == 0:
        return np.zeros((0, 2))
    far = distance_to(np.array([goal.passable for goal in exits]), x)
    return np.asarray(np.array([goal.outward for goal in exits])[far.argmin(axis=0)])


def _remaining(plan: Plan, radius: float, grid: Grid, distance: Array) -> Array:
    """(goals,) length of the way from each goal to an exit: 0 for exits, the way behind them for stairs."""
    rest = np.zeros(len(distance))
    first = len(plan.exits)
    rest[first:] = np.inf
    landings = [one.places(np.array([0.5]), np.array([1.5 * radius])) for one in plan.passages]
    for _ in landings:
        for k, landing in enumerate(landings):
            rest[first + k] = float((distance[:, grid.cells(landing)[0]] + rest).min()) + 0.5 * radius
    return rest
