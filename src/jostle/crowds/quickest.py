"""Quickest instead of shortest ways: people avoid the places where others are.

The wish is to walk along -grad d, where the potential d of a goal solves the eikonal equation

    |grad d| = 1 + own rho_own + others rho_others,     d = 0 at the goal,

rho_own is the density of the people who walk to the same goal, and rho_others that of all others, those who stand
included (Hughes 2002; Kretz 2009; Treuille, Cooper & Popovic 2006). Around corners people then use the whole width, and
in counterflow they follow those who go the same way.

People look around at fixed times, the multiples of `every`, and walk by what they saw until the next of these times.
What they saw is the memory of this wish: who was where, going to which goal. A checkpoint holds it, so a run that is
resumed is bit-identical to one that was not interrupted.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from jostle.arguments import NotNegative, Positive, check_arguments
from jostle.arrays import Array, Booleans, Integers, finite
from jostle.crowds.floor import Floor
from jostle.crowds.walk import HasWays, alike
from jostle.crowds.ways import LAYERS, Ways, wider
from jostle.crowds.wish import Behaviour, Wish, check_wish, polar
from jostle.errors import InvalidValue
from jostle.kernels import kernels_for

OWN_WEIGHT, OTHERS_WEIGHT = 0.8, 4.0
"""The area in square metres by which a density is multiplied: own and others, if nothing else is said."""
DENSITY_WIDTH = 0.35
"""The standard deviation in metres of the Gaussian around a person."""
LOOK_EVERY = 0.5
"""The time in seconds after which people look around again."""
SPACING = 0.5
"""The spacing of the grid, as a part of the radius."""
SOURCE = 2.5
"""Nodes up to this many steps of the grid from a goal keep the shortest distance and the shortest way."""
ON_TIME = 1e-9
"""A time counts as reached this part of `every` before it: the sum of many steps is not exact."""


class Seen(NamedTuple):
    """What people saw when they last looked around."""

    number: int
    """Which of the times it was: number * every."""
    places: Array
    """(n, 2) where everyone was."""
    going: Integers
    """(n,) to which goal; NOWHERE for those who stand."""


NOWHERE = -2
"""The goal of those who stand."""
NEVER = -(2**53)
"""The number of the time at which people have not looked around yet."""


@check_arguments
def quickest(
    wish: Wish,
    plan: HasWays,
    radii: ArrayLike,
    *,
    own: NotNegative = OWN_WEIGHT,
    others: NotNegative = OTHERS_WEIGHT,
    width: Positive = DENSITY_WIDTH,
    every: Positive = LOOK_EVERY,
) -> Wish:
    """People walk the quickest way to their goal, where |grad d| = 1 + own rho_own + others rho_others.

    `own` is the weight of the density of people with the same goal, `others` that of all others, in units of area; the
    densities are Gaussians of standard deviation `width`. People look around every `every` seconds. Those who wait of
    their own accord, or have no way through the gates that are open, go where the wish inside says.

    >>> import jostle as jo
    >>> plan = jo.crowds.Plan([(0, 0), (9, 0), (9, 3), (0, 3)], exits={"east": ((9, 0), (9, 3))})
    >>> q = np.array([[4.0, 1.4], [5.0, 1.5]])
    >>> wish = quickest(plan.walk(radius=0.2, speed=[1.0, 0.0]), plan, 0.2)
    >>> wish(0.0, q).round(1).tolist()                # the second person stands
    [[0.5, -0.8], [0.0, 0.0]]
    """
    check_wish(wish, "quickest")
    if not wish.goals:
        raise InvalidValue("quickest needs a wish that knows ways to exits, such as plan.walk(...), not a FreeWish")
    size = finite(radii, "radii")
    if not (size > 0.0).all() or size.ndim > 1:
        raise InvalidValue(f"radii must be positive, one for all or one for each, not {radii!r}")
    weights = Weights(float(own), float(others), float(width))
    return Quickest(wish, plan, size, weights, float(every))


class Weights(NamedTuple):
    """How much densities count: see `quickest`."""

    own: float
    others: float
    width: float


class Frame(NamedTuple):
    """What of the potential of a goal does not depend on people."""

    free: Booleans
    """(nx, ny) where the goal can be reached."""
    start: Array
    """(nx, ny) the distances of the nodes at the goal, else infinite."""
    found: Booleans
    """(nodes,) where the way comes from the potential."""
    layers: list[tuple[Integers, Integers, Array]]
    """Nodes (k,) along the walls, those (k, 9) around each, and the weights (k, 9) of their directions."""

    @staticmethod
    def of(ways: Ways, goal: int, inside: Booleans) -> Frame:
        """The frame of a goal."""
        shape, distance = ways.grid.shape, ways.distance[goal].astype(float)
        free = np.isfinite(distance)
        least = distance.min(initial=np.inf, where=free)
        source = free & (distance <= least + SOURCE * ways.grid.step)
        known, layers = free, []
        square = np.add.outer(shape[1] * np.arange(-1, 2), np.arange(-1, 2)).ravel()
        for _ in range(LAYERS):
            wide = wider(ways.grid, known)
            new = np.flatnonzero(wide & ~known)
            around = new[:, None] + square
            weight = known[around].astype(float)
            weight /= weight.sum(axis=1, keepdims=True)
            layers.append((new[inside[new]], around[inside[new]], weight[inside[new]]))
            known = wide
        start = np.full(len(distance), np.inf)
        start[source] = distance[source] - least  # nowhere, if a closed gate hides the goal from everyone
        return Frame(free.reshape(shape), start.reshape(shape), free & ~source, layers)


class Quickest(Behaviour):
    """See `quickest`."""

    notes: ClassVar[type[Any]] = Seen

    def __init__(self, wish: Wish, plan: HasWays, radii: Array, weights: Weights, every: float):
        if set(getattr(wish.remembers, "_fields", ())) & set(Seen._fields):
            raise InvalidValue("quickest cannot wrap a wish that is made with quickest itself")
        super().__init__(wish)
        self.plan, self.weights, self.every = plan, weights, every
        self.sizes, self.group = alike(radii)
        """The radii of people of each size, and () or (n,) the number of the size of each person."""
        self.stops = {goal.name: goal.passable for goal in wish.goals[wish.eligible :]}
        ways = self._ways(0, np.zeros((0, 2, 2)))
        names, known = ([one.name for one in goals] for goals in (wish.goals, ways.goals))
        if names != known:
            raise InvalidValue(f"the goals of the wish are {names}, those of the plan {known}: give quickest its plan")
        self.floor = Floor.on(plan, ways.grid)
        self._frames: dict[tuple[int, int, bytes], Frame] = {}
        """By the number of the size, that of the goal, and what is closed, as they are needed."""
        self._look(None)

    def _ways(self, size: int, closed: Array) -> Ways:
        """The shortest ways of people of a size, on the grid of the floor."""
        return self.plan.ways(self.sizes[size], spacing=SPACING * self.sizes[0], closed=closed, stops=self.stops)

    @property
    def noted(self) -> Seen:
        return self._seen or Seen(NEVER, np.zeros((0, 2)), np.zeros(0, dtype=np.int64))

    def note(self, noted: Seen | None) -> None:
        seen = None if noted is None else Seen(int(noted.number), np.asarray(noted.places), np.asarray(noted.going))
        if seen is not None and (
            seen.places.shape != (len(seen.going), 2) or seen.going.max(initial=0) >= len(self.goals)
        ):
            raise InvalidValue("what people saw must be a place and a goal for each of them")
        self._look(None if seen is None or seen.number == NEVER else seen)

    def _look(self, seen: Seen | None) -> None:
        self._seen = seen
        self._fields: dict[tuple[int, int, bytes], Ways] = {}

    def towards(self, t: float, q: Array, goal: Integers) -> Array:
        wished = self.wish.towards(t, q, goal)
        speed, direction = polar(wished)
        walks = (speed > 0.0) & ~self.wish.waits(t, len(q))
        number, seen = int(np.floor(t / self.every + ON_TIME)), self._seen
        if seen is None or seen.number != number or len(seen.places) != len(q):
            seen = Seen(number, q.copy(), np.where(walks, goal, NOWHERE))
            self._look(seen)
        size = np.broadcast_to(self.group, (len(q),))
        which, closed = np.where(walks, size * len(self.goals) + goal, NOWHERE), self.closed
        for one in np.unique(which[which >= 0]):
            k, g = divmod(int(one), len(self.goals))
            some = np.flatnonzero(which == one)
            quick = self._field(seen, k, g, closed).directions(q[some], np.zeros(len(some), dtype=np.int64))
            known = (quick != 0.0).any(axis=1)  # who has no way keeps the direction of the wish inside
            direction[some[known]] = quick[known]
        return speed[:, None] * direction

    def _field(self, seen: Seen, size: int, goal: int, closed: Array) -> Ways:
        """The quickest ways of people of a size to a goal, as they were when people last looked around."""
        key = size, goal, closed.tobytes()
        if key not in self._fields:
            ways = self._ways(size, closed)
            if key not in self._frames:
                self._frames[key] = Frame.of(ways, goal, self.floor.inside)
            self._fields[key] = self._found(seen, ways, self._frames[key], goal)
        return self._fields[key]

    def _found(self, seen: Seen, ways: Ways, frame: Frame, goal: int) -> Ways:
        shape = self.floor.grid.shape
        nodes = shape[0] * shape[1]
        direction = ways.direction[goal * nodes : (goal + 1) * nodes].astype(complex)
        own, cost = seen.going == goal, np.ones(shape)
        for people, weight in ((own, self.weights.own), (~own, self.weights.others)):
            if weight > 0.0 and people.any():
                cost += weight * self.floor.density(seen.places[people], self.weights.width)
        d = kernels_for(cost).marched(frame.free, frame.start, ways.grid.step, cost)
        quick = kernels_for(d).descent(d, ways.grid.step).view(complex).ravel()
        direction[frame.found] = quick[frame.found]
        for new, around, shares in frame.layers:
            direction[new] = np.einsum("nk,nk->n", shares, direction[around])
        return replace(ways, direction=direction)
