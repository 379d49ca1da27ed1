"""Quickest paths instead of shortest paths: people avoid places where others are.

The wish is to walk along -grad d, where the potential d of a goal solves the eikonal equation

    |grad d| = 1 + own rho_own + others rho_others,     d = 0 at the goal,

rho_own is the density of the people who walk to the same goal, and rho_others that of all others, those who stand
included (Hughes 2002; Kretz 2009; Treuille, Cooper & Popovic 2006). People then use the whole width around corners, and
in counterflow they follow those who go the same way.

People look around once in each interval of length `every`, those with different goals at different instants, and walk
by what they saw until they look again. If two people who meet looked at the same instants, both would step aside to the
same side, again and again. The positions and goals that they saw are the memory of this wish. A checkpoint stores it,
so a resumed run is bit-identical to an uninterrupted one.

Gaussians around people make the densities. They solve the heat equation with a point mass at each person at the start,
at the time at which the Gaussian around a person far from walls has the standard deviation `width`. Walls let nothing
through: the integral of the density is n in a corridor, too, and nobody affects the other side of a wall. A wall is
represented by the links between nodes that it cuts, up to half a grid spacing away from its true position.

A potential is found only as far as people need it. Fast marching finds its values in ascending order, so it can end
once the nodes around all people with this goal are known. It runs on a window of the grid, the rectangle around these
people and the goal, which is widened if the march comes to its border. What is found at a node depends neither on the
window nor on where the march ended.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from jostle._tools.arguments import NotNegative, Positive, check_arguments
from jostle._tools.arrays import Array, Booleans, Integers, contiguous, finite
from jostle._tools.of_run import OfRun
from jostle.crowds.model.kernels import spread
from jostle.crowds.model.walk import similar_sizes
from jostle.crowds.model.wish import Behaviour, Wish, check_wish, polar
from jostle.errors import InvalidValue
from jostle.kernels.parallel import cut, threads, together
from jostle.plans.kernels import descent, headings, marched
from jostle.plans.outlines import around, package
from jostle.plans.plan import Plan
from jostle.plans.ways import LAYERS, Grid, Ways, layers_around, people_chunks, shortest_paths, squares_around

LARGEST_PART = 0.2
"""Largest fraction of a difference that two neighbouring nodes exchange in one pass. Close to 1/4, odd and even nodes
would keep different values; beyond 1/4, values would grow."""


@dataclass(frozen=True, eq=False)
class Floor:
    """A grid on a plan, with the links between neighbouring nodes that no wall cuts."""

    grid: Grid
    east: Booleans
    """(nx, ny) whether node (i, j) and node (i + 1, j) are on the same side of all walls."""
    north: Booleans
    """(nx, ny) whether node (i, j) and node (i, j + 1) are on the same side of all walls."""
    inside: Booleans
    """(nodes,) whether each node is in the plan."""

    @staticmethod
    def on(plan: Plan, grid: Grid) -> Floor:
        """The links of a grid on a plan."""
        shapely = package("shapely")
        outlines = shapely.get_parts(shapely.boundary(around(plan.columns))) if len(plan.columns) else []
        walls = np.array([*shapely.linestrings(plan.walls), *outlines])
        points = shapely.get_coordinates(shapely.segmentize(walls, grid.step / 2.0))
        index = np.floor((points - grid.lower) / grid.step + 0.5).astype(np.int64)
        around_them = np.stack(np.meshgrid([-1, 0, 1], [-1, 0, 1], indexing="ij"), axis=-1).reshape(-1, 2)
        near = np.unique((index[:, None] + around_them).reshape(-1, 2), axis=0)
        near = near[((near >= 0) & (near < np.array(grid.shape))).all(axis=1)]
        tree, start = shapely.STRtree(walls), grid.lower + grid.step * near
        links = []
        for axis in range(2):
            end = start + grid.step * np.eye(2)[axis]
            lines = shapely.linestrings(np.stack([start, end], axis=1))
            cut = np.unique(tree.query(lines, predicate="intersects")[0])
            open_ones = np.ones(grid.shape, dtype=bool)
            open_ones[tuple(near[cut].T)] = False
            links.append(open_ones)
        return Floor(grid, links[0], links[1], np.asarray(shapely.contains_xy(plan.area, grid.nodes())))

    def density(self, q: Array, weights: Array, width: float) -> tuple[Window, Array]:
        """The sum of weights (n,) of people at q per unit area at the nodes, in the window outside of which it is 0.

        People outside the grid do not count. All threads share the work, and their number does not change the result.
        """
        grid = self.grid
        variance = (width / grid.step) ** 2 / 2.0
        passes = int(np.ceil(variance / LARGEST_PART))
        x = (q - grid.lower) / grid.step
        on = ((x >= 0.0) & (x < np.array(grid.shape) - 1.0)).all(axis=1) & (weights > 0.0)
        if not on.any():
            return Window((0, 0), (0, 0)), np.zeros((0, 0))
        x, weights = x[on], weights[on] / grid.step**2
        low = np.floor(x)
        part, cells = x - low, low.astype(np.int64)
        window = Window.between(cells.min(axis=0) - passes, cells.max(axis=0) + 2 + passes, grid.shape)
        i, j = (cells - window.low).T
        nodes, shares = [], []
        for a, b in ((0, 0), (0, 1), (1, 0), (1, 1)):
            nodes.append((i + a) * window.shape[1] + j + b)
            shares.append(weights * np.abs(1 - a - part[:, 0]) * np.abs(1 - b - part[:, 1]))
        size = window.shape[0] * window.shape[1]
        amount = np.bincount(np.concatenate(nodes), np.concatenate(shares), size).reshape(window.shape)
        out = np.zeros(window.shape)
        rows = cut(len(out), max(1, min(threads(), len(out) // (2 * passes))))
        together(self._spread, [(window, amount, out, variance / passes, passes, *some) for some in rows])
        return window, out

    def _spread(
        self, window: Window, amount: Array, out: Array, part: float, passes: int, first: int, last: int
    ) -> None:
        """Fill rows of a density. They depend on as many rows on both sides as there are passes."""
        rows = slice(max(first - passes, 0), min(last + passes, len(amount)))
        low, high = window.low[0] + rows.start, window.low[0] + rows.stop
        east, north = (np.ascontiguousarray(one[low:high, window.slices[1]]) for one in (self.east, self.north))
        found = spread(amount[rows], east, north, part, passes)
        out[first:last] = found[first - rows.start : last - rows.start]


class Window(NamedTuple):
    """A rectangle of nodes of a grid: rows low[0] to high[0] - 1, columns low[1] to high[1] - 1."""

    low: tuple[int, int]
    high: tuple[int, int]

    @staticmethod
    def between(low: Integers, high: Integers, shape: tuple[int, int]) -> Window:
        """The part of a rectangle that lies on a grid of the given shape."""
        a, b = np.clip(low, 0, shape), np.clip(high, 0, shape)
        return Window((int(a[0]), int(a[1])), (int(b[0]), int(b[1])))

    @staticmethod
    def around(some: Booleans) -> Window:
        """The smallest rectangle that contains some nodes (nx, ny), one or more."""
        rows, columns = (np.flatnonzero(some.any(axis=axis)) for axis in (1, 0))
        return Window((int(rows[0]), int(columns[0])), (int(rows[-1]) + 1, int(columns[-1]) + 1))

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and columns."""
        return self.high[0] - self.low[0], self.high[1] - self.low[1]

    @property
    def slices(self) -> tuple[slice, slice]:
        """The rows and columns of the grid."""
        return slice(self.low[0], self.high[0]), slice(self.low[1], self.high[1])


SOURCE = 2.5
"""Distance from a goal, in grid spacings, within which nodes keep the shortest distance and the shortest path."""
NEEDED = LAYERS
"""Number of nodes around a cell, in each direction, on which the directions in the cell depend."""
SLACK = 3.0
"""Distance, in grid spacings at the highest cost, by which a march goes on after the last node that people need."""
MARGIN = 64
"""Number of nodes around people and goal that the window of a goal has at first."""
SPARE_MARGIN = 64
"""Number of nodes that the next window of a goal has beyond those that the last march reached."""


class Frame(NamedTuple):
    """The part of the potential of a goal that does not depend on people."""

    nodes: Integers
    """(k, 2) nodes at the goal, which keep the shortest distance and the shortest path."""
    values: Array
    """(k,) their distances."""
    layers: list[tuple[Integers, Array]]
    """For each layer of nodes along the walls: nodes (k, 2), and weights (k, 9) of the square of nodes around each."""

    @staticmethod
    def of(ways: Ways, goal: int, inside: Booleans) -> Frame:
        """The frame of a goal."""
        shape, distance = ways.grid.shape, ways.distance[goal].astype(float)
        free = np.isfinite(distance)
        least = distance.min(initial=np.inf, where=free)
        source = np.flatnonzero(free & (distance <= least + SOURCE * ways.grid.step))
        layers = []
        for new, _, weight in layers_around(ways.grid, free, inside):
            layers.append((_places(new, shape), weight / weight.sum(axis=1, keepdims=True)))
        return Frame(_places(source, shape), distance[source] - least, layers)


class Potential(NamedTuple):
    """The directions of the quickest paths to a goal in a window of the grid; NaN where they are not known."""

    window: Window
    direction: Array
    """(rows, columns, 2) unit vectors."""
    margin: int
    """Number of nodes around people and goal that were needed, with some to spare."""


def potential(
    ways: Ways,
    goal: int,
    frame: Frame,
    density: tuple[Window, Array],
    cells: Integers | None,
    margin: int,
) -> Potential:
    """The quickest paths of people in the given cells (n, 2), or on the whole grid if these are None.

    `density` is that of people times their weights. The first window has `margin` nodes around the people and the goal.
    """
    shape, step = ways.grid.shape, ways.grid.step
    if len(frame.nodes) == 0:  # closed gates cut off the goal: there is no way from anywhere
        return Potential(Window((0, 0), shape), np.zeros((*shape, 2)), margin)
    needed = frame.nodes if cells is None else np.concatenate([cells - NEEDED, cells + 1 + NEEDED, frame.nodes])
    least, most = needed.min(axis=0, initial=max(shape)), needed.max(axis=0, initial=0)
    while True:
        window = (
            Window.between(least - margin, most + 1 + margin, shape) if cells is not None else Window((0, 0), shape)
        )
        free = np.isfinite(ways.distance[goal].reshape(shape)[window.slices])
        start = np.full(window.shape, np.inf)
        goal_nodes = tuple((frame.nodes - window.low).T)
        start[goal_nodes] = frame.values
        cost = _cost(*density, window)
        wanted = None if cells is None else _around(cells, window)
        d = marched(free, start, step, cost, wanted, SLACK * step * float(cost.max()))
        known = np.isfinite(d)
        if not _on_border(known, window, shape):
            break
        margin *= 2
    free[goal_nodes] = False
    if cells is None:
        free &= known
    static = ways.direction[(goal, *window.slices)].astype(float)
    direction = descent(d, step, free, static).reshape(*window.shape, 2)
    _fill_layers(direction, frame, window, shape)
    reached = Window.around(known)
    spare = max([0, *(least - window.low - reached.low), *(reached.high - (most + 1 - np.array(window.low)))])
    return Potential(window, direction, int(spare) + SPARE_MARGIN)


def _cost(there: Window, density: Array, window: Window) -> Array:
    """(rows, columns) 1 + the density in a window; the density is 0 outside of its own window."""
    cost = np.ones(window.shape)
    low, high = np.maximum(window.low, there.low), np.minimum(window.high, there.high)
    if (low < high).all():
        own, other = (tuple(map(slice, low - one.low, high - one.low)) for one in (window, there))
        cost[own] += density[other]
    return cost


def _places(nodes: Integers, shape: tuple[int, int]) -> Integers:
    """(k, 2) rows and columns of nodes (k,)."""
    return np.stack(np.divmod(nodes, shape[1]), axis=1)


def _around(cells: Integers, window: Window) -> Booleans:
    """(rows, columns) whether directions in the cells (n, 2) depend on each node of the window."""
    some = np.zeros(window.shape, dtype=bool)
    flat, offsets = some.ravel(), np.arange(-NEEDED, NEEDED + 2)
    rows, columns = (
        np.clip(one[:, None] + offsets, 0, size - 1)
        for one, size in zip((cells - window.low).T, window.shape, strict=True)
    )
    for row in (rows * window.shape[1]).T:
        for column in columns.T:
            flat[row + column] = True
    return some


def _on_border(known: Booleans, window: Window, shape: tuple[int, int]) -> bool:
    """Whether a known node lies on the border of the window, where the grid goes on."""
    sides = (known[0], known[:, 0], known[-1], known[:, -1])
    goes_on = (*(low > 0 for low in window.low), *(high < size for high, size in zip(window.high, shape, strict=True)))
    return any(bool(side.any()) for side, more in zip(sides, goes_on, strict=True) if more)


def _fill_layers(direction: Array, frame: Frame, window: Window, shape: tuple[int, int]) -> None:
    """Fill the layers along the walls with the means of the nodes around them; NaN at a border of the window."""
    values = direction.reshape(-1).view(complex)
    for places, weights in frame.layers:
        local = places - window.low
        inner = ((local > 0) & (local < np.array(window.shape) - 1)).all(axis=1)
        new = local[inner, 0] * window.shape[1] + local[inner, 1]
        values[new] = np.einsum("nk,nk->n", weights[inner], values[squares_around(new, window.shape[1])])
        edge = local[~inner & ((local >= 0) & (local < window.shape)).all(axis=1)]
        direction[tuple(edge.T)] = np.nan


OWN_WEIGHT, OTHERS_WEIGHT = 0.8, 4.0
"""Default weights of the densities of people with the same goal and of all others (m2)."""
DENSITY_WIDTH = 0.35
"""Default standard deviation of the Gaussian around a person (m)."""
LOOK_EVERY = 0.5
"""Default mean time after which people look around again (s)."""
SPACING = 0.5
"""Spacing of the grid, in radii."""
ON_TIME = 1e-9
"""Fraction of `every` by which a time may be missed, because the sum of many steps is not exact."""


DELAYS = 64
"""Number of intervals after which the instants at which people look around repeat."""


class Seen(NamedTuple):
    """What people saw when they last looked around, by their goal."""

    number: Integers
    """(goals,) people with a goal looked around when their number of looks became this."""
    places: Array
    """(goals, n, 2) positions of all people at that time."""
    going: Integers
    """(goals, n) goals of all people at that time; NOWHERE for people who stand."""


NOWHERE = -2
"""The goal of people who stand."""
NEVER = -(2**53)
"""Number of the last look of people who have not looked around yet."""


class Weights(NamedTuple):
    """The weights and the width of densities; see `Quickest`."""

    own: float
    others: float
    width: float


class Key(NamedTuple):
    """What a potential depends on, besides the people."""

    size: int
    """Number of the size of people."""
    goal: int
    closed: bytes
    """Closed gates."""


LAST = 2
"""Number of attempts to find a potential only as far as people need it, before it is found on the whole grid."""


@check_arguments
class Quickest(Behaviour):
    """People walk the quickest way to their goal, which avoids crowded places.

    Their potential has |grad d| = 1 + own rho_own + others rho_others. People who wait on purpose, or have no way
    through open gates, keep the direction of the wish inside.

    Parameters
    ----------
    wish : Wish
        A wish with exits, such as ``jo.crowds.walk(plan, ...)``.
    plan : Plan
        The floor plan of the wish.
    radii : float or array_like, shape (n,)
        Radii of people (m), one for all or one for each.
    own : float, default 0.8
        Weight of the density of people with the same goal (m2), 0 or more.
    others : float, default 4.0
        Weight of the density of all other people (m2), 0 or more.
    width : float, default 0.35
        Standard deviation of the Gaussian around each person that makes the density (m).
    every : float, default 0.5
        Mean time after which people look around again (s).

    Examples
    --------
    >>> import jostle as jo
    >>> plan = jo.crowds.Plan([(0, 0), (9, 0), (9, 3), (0, 3)], exits={"east": ((9, 0), (9, 3))})
    >>> q = np.array([[4.0, 1.4], [5.0, 1.5]])
    >>> wish = Quickest(jo.crowds.walk(plan, radius=0.2, speed=[1.0, 0.0]), plan, 0.2)
    >>> wish(0.0, q).round(1).tolist()                # the second person stands
    [[0.5, -0.8], [0.0, 0.0]]
    """

    notes: ClassVar[type[Any]] = Seen
    _densities = OfRun()
    """The densities of people times their weights, by the goal of those who see them."""
    _potentials = OfRun()
    """The potentials that were found in them, by their keys."""

    def __init__(
        self,
        wish: Wish,
        plan: Plan,
        radii: ArrayLike,
        *,
        own: NotNegative = OWN_WEIGHT,
        others: NotNegative = OTHERS_WEIGHT,
        width: Positive = DENSITY_WIDTH,
        every: Positive = LOOK_EVERY,
    ):
        check_wish(wish, "Quickest")
        if not wish.goals:
            raise InvalidValue(
                "Quickest needs a wish that knows paths to exits, such as jo.crowds.walk(plan, ...), not a FreeWish"
            )
        size = finite(radii, "radii")
        if not (size > 0.0).all() or size.ndim > 1:
            raise InvalidValue(f"radii must be positive, one for all or one for each, not {radii!r}")
        if set(getattr(wish.memory_type, "_fields", ())) & set(Seen._fields):
            raise InvalidValue("Quickest cannot wrap a wish that was made with Quickest")
        super().__init__(wish)
        self.plan, self.weights, self.every = plan, Weights(float(own), float(others), float(width)), float(every)
        self.sizes, self.group = similar_sizes(size)
        """The radius of each size of people, and the number () or (n,) of the size of each person."""
        self.stops = {goal.name: goal.passable for goal in wish.goals[wish.eligible :]}
        ways = self._ways(0, np.zeros((0, 2, 2)))
        names, known = ([one.name for one in goals] for goals in (wish.goals, ways.goals))
        if names != known:
            raise InvalidValue(
                f"the goals of the wish are {names}, those of the plan {known}: give Quickest the plan of the wish"
            )
        self.floor = Floor.on(plan, ways.grid)
        self._outside: dict[int, tuple[Array, Array]] = {}
        """Where people beyond the grid go, by the number of their size; see `Ways.outside`."""
        self._frames: dict[Key, Frame] = {}
        """The frames needed so far."""
        self._margins: dict[Key, int] = {}
        """The margins that the windows of the last potentials needed."""
        # (goals, DELAYS) when people with each goal look around, as a fraction of the interval; the first at its start
        self._delays = np.random.default_rng(0).random((len(wish.goals), DELAYS))
        self._delays[0] = 0.0
        self.note(None)

    def _ways(self, size: int, closed: Array) -> Ways:
        """The shortest paths of people of one size, on the grid of the floor."""
        return shortest_paths(
            self.plan, self.sizes[size], spacing=SPACING * self.sizes[0], closed=closed, stops=self.stops
        )

    @property
    def _options(self) -> dict[str, float]:
        return {**self.weights._asdict(), "every": self.every}

    def note(self, noted: Seen | None) -> None:
        seen = self._nothing(0) if noted is None else noted
        goals, n = seen.going.shape
        if goals != len(self._delays) or seen.places.shape != (goals, n, 2) or seen.going.max(initial=0) >= goals:
            raise InvalidValue("the memory of Quickest must have a place and a goal for each person and goal")
        self.noted, self._densities, self._potentials = seen, {}, {}

    def _nothing(self, n: int) -> Seen:
        """What n people have seen before they look around for the first time."""
        goals = len(self._delays)
        return Seen(np.full(goals, NEVER), np.zeros((goals, n, 2)), np.full((goals, n), NOWHERE))

    def _look(self, t: float, q: Array, going: Integers, goals: Integers) -> None:
        """The people with some goals look around if it is their time."""
        seen = self.noted
        if seen.places.shape[1] != len(q):
            seen = self._nothing(len(q))
        number = self._number(t, goals)
        due = number != seen.number[goals]
        if not due.any():
            return
        who = goals[due]
        seen = Seen(seen.number.copy(), seen.places.copy(), seen.going.copy())
        seen.number[who], seen.places[who], seen.going[who] = number[due], q, going
        self.noted = seen
        self._densities = {goal: one for goal, one in self._densities.items() if goal not in who}
        self._potentials = {key: one for key, one in self._potentials.items() if key.goal not in who}

    def _number(self, t: float, goals: Integers) -> Integers:
        """(k,) number of the last look before the time t of people with the given goals (k,)."""
        whole, part = np.divmod(t / self.every + ON_TIME, 1.0)
        return np.asarray(int(whole) - (part < self._delays[goals, int(whole) % DELAYS]))

    def _density(self, goal: int) -> tuple[Window, Array]:
        """The density of people times their weights, as seen by those who walk to a goal."""
        found: tuple[Window, Array] | None = self._densities.get(goal)
        if found is None:
            own, others, width = self.weights
            weights = np.where(self.noted.going[goal] == goal, own, others)
            found = self._densities[goal] = self.floor.density(self.noted.places[goal], weights, width)
        return found

    def towards(self, t: float, q: Array, goal: Integers) -> Array:
        wished = self.wish.towards(t, q, goal)
        speed, direction = polar(wished)
        walks = (speed > 0.0) & ~self.wish.waits(t, len(q))
        size, goals = np.broadcast_to(self.group, (len(q),)), len(self._delays)
        which, closed = np.where(walks, size * goals + goal, NOWHERE), self.closed
        numbers = np.flatnonzero(np.bincount(which[walks], minlength=1))
        if len(numbers) == 0:
            return speed[:, None] * direction
        self._look(t, q, np.where(walks, goal, NOWHERE), np.unique(numbers % goals))
        keys = [Key(*divmod(int(one), goals), closed.tobytes()) for one in numbers]
        field = np.where(walks, np.searchsorted(numbers, which), NOWHERE)
        quick = self._headings(q, field, keys, closed)
        known = (quick != 0.0).any(axis=1)  # people without a way keep the direction of the wish inside
        return speed[:, None] * (quick if known.all() else np.where(known[:, None], quick, direction))

    def _headings(self, q: Array, field: Integers, keys: list[Key], closed: Array) -> Array:
        """(n, 2) directions of the quickest ways of people in the potentials of the given numbers (n,)."""
        # A potential that does not reach all people is found again, for where they are now, then on the whole grid.
        size = keys[0].size
        if size not in self._outside:
            self._outside[size] = self._ways(size, closed).outside
        missing = [k for k, key in enumerate(keys) if key not in self._potentials]
        attempts = 0
        while True:
            pieces = [
                (
                    keys[k],
                    self._ways(keys[k].size, closed),
                    self._density(keys[k].goal),
                    self._cells(q[field == k]),
                    attempts >= LAST,
                )
                for k in missing
            ]
            self._potentials.update(together(self._found, pieces))
            fields = [(one.window.low, one.direction) for one in (self._potentials[key] for key in keys)]
            outside, chunks = self._outside[size], people_chunks(len(q))
            quick = headings(contiguous(q), field, fields, *self.floor.grid, *outside, chunks)
            missing = np.unique(field[np.isnan(quick[:, 0])]).tolist()
            if not missing or attempts >= LAST:
                return np.asarray(np.nan_to_num(quick))
            attempts += 1

    def _cells(self, q: Array) -> Integers:
        """(k, 2) cells of the people on the grid."""
        x = np.floor((q - self.floor.grid.lower) / self.floor.grid.step)
        return x[((x >= 0.0) & (x < np.array(self.floor.grid.shape) - 1.0)).all(axis=1)].astype(np.int64)

    def _found(
        self, key: Key, ways: Ways, density: tuple[Window, Array], cells: Integers, whole: bool
    ) -> tuple[Key, Potential]:
        """The potential of a key, for people in the given cells or on the whole grid."""
        if key not in self._frames:
            self._frames[key] = Frame.of(ways, key.goal, self.floor.inside)
        margin = self._margins.get(key, MARGIN)
        found = potential(ways, key.goal, self._frames[key], density, None if whole else cells, margin)
        self._margins[key] = found.margin
        return key, found
