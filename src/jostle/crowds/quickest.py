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

from collections import namedtuple
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from jostle.arguments import NotNegative, Positive, check_arguments
from jostle.arrays import Array, Booleans, Integers, finite
from jostle.crowds.floor import Floor
from jostle.crowds.walk import HasWays, alike
from jostle.crowds.ways import LAYERS, Ways
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
    closed: ArrayLike = (),
    stops: Mapping[str, ArrayLike] | None = None,
) -> Wish:
    """People walk the quickest way to their goal, where |grad d| = 1 + own rho_own + others rho_others.

    `own` is the weight of the density of people with the same goal, `others` that of all others, in units of area; the
    densities are Gaussians of standard deviation `width`. People look around every so many seconds. `closed` and
    `stops` are those of the `walk` that is wrapped.

    >>> import jostle as jo
    >>> plan = jo.crowds.Plan([(0, 0), (9, 0), (9, 3), (0, 3)], exits={"east": ((9, 0), (9, 3))})
    >>> q = np.array([[4.0, 1.4], [5.0, 1.5]])
    >>> wish = quickest(plan.walk(radius=0.2, speed=[1.0, 0.0]), plan, 0.2)
    >>> wish(0.0, q).round(1).tolist()                # the second person stands
    [[0.7, -0.7], [0.0, 0.0]]
    """
    check_wish(wish, "quickest")
    if not wish.goals:
        raise InvalidValue("quickest needs a wish that knows ways to exits, such as plan.walk(...), not a FreeWish")
    size = finite(radii, "radii")
    if not (size > 0.0).all() or size.ndim > 1:
        raise InvalidValue(f"radii must be positive, one for all or one for each, not {radii!r}")
    widest, group = alike(size)
    ways = tuple(plan.ways(r, spacing=SPACING * widest[0], closed=closed, stops=stops) for r in widest)
    names, known = ([one.name for one in goals] for goals in (wish.goals, ways[0].goals))
    if names != known:
        raise InvalidValue(
            f"the goals of the wish are {names}, those of quickest are {known}: give it the same plan and stops"
        )
    weights = Weights(float(own), float(others), float(width))
    return Quickest(wish, ways, group, Floor.on(plan, ways[0].grid), weights, float(every))


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
        from scipy.ndimage import binary_dilation

        shape, distance = ways.grid.shape, ways.distance[goal].astype(float)
        free = np.isfinite(distance)
        least = distance.min(initial=np.inf, where=free)
        source = free & (distance <= least + SOURCE * ways.grid.step)
        known, layers = free, []
        square = np.add.outer(shape[1] * np.arange(-1, 2), np.arange(-1, 2)).ravel()
        for _ in range(LAYERS):
            wider = binary_dilation(known.reshape(shape), np.ones((3, 3))).ravel()
            new = np.flatnonzero(wider & ~known)
            around = new[:, None] + square
            weight = known[around].astype(float)
            weight /= weight.sum(axis=1, keepdims=True)
            layers.append((new[inside[new]], around[inside[new]], weight[inside[new]]))
            known = wider
        start = np.where(source, distance - least, np.inf)
        return Frame(free.reshape(shape), start.reshape(shape), free & ~source, layers)


class Quickest(Behaviour):
    """See `quickest`."""

    def __init__(
        self, wish: Wish, ways: tuple[Ways, ...], group: Integers, floor: Floor, weights: Weights, every: float
    ):
        inner = getattr(wish.remembers, "_fields", ())
        if set(inner) & set(Seen._fields):
            raise InvalidValue("quickest cannot wrap a wish that is made with quickest itself")
        object.__setattr__(self, "wish", wish)
        self.ways = ways
        """The shortest ways of people of each size, all on the grid of the floor."""
        self.group = group
        """() or (n,) whose ways each person takes."""
        self.floor, self.weights, self.every = floor, weights, every
        self._frames: dict[tuple[int, int], Frame] = {}
        """By the number of the ways and that of the goal, as they are needed."""
        self._look(None)

    @property
    def remembers(self) -> type[Any]:
        inner = getattr(self.wish.remembers, "_fields", ())
        return namedtuple("Seen", (*Seen._fields, *inner)) if inner else Seen

    @property
    def memory(self) -> Any:
        inner = self.wish.memory
        if self._seen is None and inner is None:
            return None
        seen = self._seen or Seen(NEVER, np.zeros((0, 2)), np.zeros(0, dtype=np.int64))
        return self.remembers(*seen, *(() if inner is None else inner))

    def remind(self, memory: Any) -> None:
        inner = self.wish.remembers
        if inner is not None:
            self.wish.remind(None if memory is None else inner(*memory[len(Seen._fields) :]))
        seen = None if memory is None else Seen(int(memory[0]), *(np.asarray(part) for part in memory[1:3]))
        if seen is not None and (
            seen.places.shape != (len(seen.going), 2) or seen.going.max(initial=0) >= len(self.goals)
        ):
            raise InvalidValue("what people saw must be a place and a goal for each of them")
        self._look(None if seen is None or seen.number == NEVER else seen)

    def _look(self, seen: Seen | None) -> None:
        self._seen = seen
        self._fields: dict[tuple[int, int], Ways] = {}

    def towards(self, t: float, q: Array, goal: Integers) -> Array:
        wished = self.wish.towards(t, q, goal)
        speed, direction = polar(wished)
        number, seen = int(np.floor(t / self.every + ON_TIME)), self._seen
        if seen is None or seen.number != number or len(seen.places) != len(q):
            seen = Seen(number, q.copy(), np.where(speed > 0.0, goal, NOWHERE))
            self._look(seen)
        size = np.broadcast_to(self.group, (len(q),))
        which = np.where(speed > 0.0, size * len(self.goals) + goal, NOWHERE)
        for one in np.unique(which[which >= 0]):
            k, g = divmod(int(one), len(self.goals))
            some = np.flatnonzero(which == one)
            direction[some] = self._field(seen, k, g).directions(q[some], np.zeros(len(some), dtype=np.int64))
        return speed[:, None] * direction

    def _field(self, seen: Seen, size: int, goal: int) -> Ways:
        """The quickest ways of people of a size to a goal, as they were when people last looked around."""
        if (size, goal) not in self._fields:
            self._fields[size, goal] = self._found(seen, size, goal)
        return self._fields[size, goal]

    def _found(self, seen: Seen, size: int, goal: int) -> Ways:
        ways, shape = self.ways[size], self.floor.grid.shape
        if (size, goal) not in self._frames:
            self._frames[size, goal] = Frame.of(ways, goal, self.floor.inside)
        frame = self._frames[size, goal]
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
