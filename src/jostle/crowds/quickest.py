"""Quickest paths instead of shortest paths: people avoid places where others are.

The wish is to walk along -grad d, where the potential d of a goal solves the eikonal equation

    |grad d| = 1 + own rho_own + others rho_others,     d = 0 at the goal,

rho_own is the density of the people who walk to the same goal, and rho_others that of all others, those who stand
included (Hughes 2002; Kretz 2009; Treuille, Cooper & Popovic 2006). People then use the whole width around corners, and
in counterflow they follow those who go the same way.

People look around at fixed times, the multiples of `every`, and walk by what they saw until the next of these times.
The positions and goals that they saw are the memory of this wish. A checkpoint stores it, so a resumed run is
bit-identical to an uninterrupted one.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from jostle.arguments import NotNegative, Positive, check_arguments
from jostle.arrays import Array, Booleans, Integers, finite
from jostle.crowds.behaviour import Behaviour, check_wish, polar
from jostle.crowds.floor import Floor
from jostle.crowds.walk import HasWays, alike
from jostle.crowds.ways import LAYERS, Ways, wider
from jostle.crowds.wish import Wish
from jostle.errors import InvalidValue
from jostle.kernels import kernels_for

OWN_WEIGHT, OTHERS_WEIGHT = 0.8, 4.0
"""Default weights of the densities of people with the same goal and of all others (m2)."""
DENSITY_WIDTH = 0.35
"""Default standard deviation of the Gaussian around a person (m)."""
LOOK_EVERY = 0.5
"""Default time after which people look around again (s)."""
SPACING = 0.5
"""Spacing of the grid, in radii."""
SOURCE = 2.5
"""Distance from a goal, in grid spacings, within which nodes keep the shortest distance and the shortest way."""
ON_TIME = 1e-9
"""Fraction of `every` by which a time may be missed, because the sum of many steps is not exact."""


class Seen(NamedTuple):
    """The positions and goals that people saw when they last looked around."""

    number: int
    """The time at which people looked around is number * every."""
    places: Array
    """(n, 2) positions of all people."""
    going: Integers
    """(n,) goals of all people; NOWHERE for people who stand."""


NOWHERE = -2
"""The goal of people who stand."""
NEVER = -(2**53)
"""The number of people who have not looked around yet."""


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
    """People walk the quickest way to their goal, which avoids crowded places.

    Their potential has |grad d| = 1 + own rho_own + others rho_others. People who wait on purpose, or have no way
    through open gates, keep the direction of the wish inside.

    Parameters
    ----------
    wish : Wish
        A wish with exits, such as ``plan.walk(...)``.
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
        Time after which people look around again (s).

    Returns
    -------
    Wish
        The wish with the same speeds and the new directions.

    Raises
    ------
    InvalidValue
        If the wish has no exits, or not those of the plan, or if a radius is not positive.

    Examples
    --------
    >>> import jostle as jo
    >>> plan = jo.crowds.Plan([(0, 0), (9, 0), (9, 3), (0, 3)], exits={"east": ((9, 0), (9, 3))})
    >>> q = np.array([[4.0, 1.4], [5.0, 1.5]])
    >>> wish = quickest(plan.walk(radius=0.2, speed=[1.0, 0.0]), plan, 0.2)
    >>> wish(0.0, q).round(1).tolist()                # the second person stands
    [[0.5, -0.8], [0.0, 0.0]]
    """
    check_wish(wish, "quickest")
    if not wish.goals:
        raise InvalidValue("quickest needs a wish that knows paths to exits, such as plan.walk(...), not a FreeWish")
    size = finite(radii, "radii")
    if not (size > 0.0).all() or size.ndim > 1:
        raise InvalidValue(f"radii must be positive, one for all or one for each, not {radii!r}")
    weights = Weights(float(own), float(others), float(width))
    return Quickest(wish, plan, size, weights, float(every))


class Weights(NamedTuple):
    """The weights and the width of densities; see `quickest`."""

    own: float
    others: float
    width: float


class Frame(NamedTuple):
    """The part of the potential of a goal that does not depend on people."""

    free: Booleans
    """(nx, ny) whether the goal can be reached from each node."""
    start: Array
    """(nx, ny) distances of the nodes at the goal, infinite elsewhere."""
    found: Booleans
    """(nodes,) whether the direction of each node comes from the potential."""
    layers: list[tuple[Integers, Integers, Array]]
    """For each layer of nodes along the walls: nodes (k,), neighbours (k, 9), and weights (k, 9) of the neighbours."""

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
        start[source] = distance[source] - least  # empty if a closed gate hides the goal from everyone
        return Frame(free.reshape(shape), start.reshape(shape), free & ~source, layers)


class Quickest(Behaviour):
    """See `quickest`."""

    notes: ClassVar[type[Any]] = Seen

    def __init__(self, wish: Wish, plan: HasWays, radii: Array, weights: Weights, every: float):
        if set(getattr(wish.remembers, "_fields", ())) & set(Seen._fields):
            raise InvalidValue("quickest cannot wrap a wish that was made with quickest")
        super().__init__(wish)
        self.plan, self.weights, self.every = plan, weights, every
        self.sizes, self.group = alike(radii)
        """The radius of each size of people, and the number () or (n,) of the size of each person."""
        self.stops = {goal.name: goal.passable for goal in wish.goals[wish.eligible :]}
        ways = self._ways(0, np.zeros((0, 2, 2)))
        names, known = ([one.name for one in goals] for goals in (wish.goals, ways.goals))
        if names != known:
            raise InvalidValue(
                f"the goals of the wish are {names}, those of the plan {known}: give quickest the plan of the wish"
            )
        self.floor = Floor.on(plan, ways.grid)
        self._frames: dict[tuple[int, int, bytes], Frame] = {}
        """The frames needed so far, by size, goal and closed gates."""
        self._look(None)

    def _ways(self, size: int, closed: Array) -> Ways:
        """The shortest paths of people of one size, on the grid of the floor."""
        return self.plan.ways(self.sizes[size], spacing=SPACING * self.sizes[0], closed=closed, stops=self.stops)

    @property
    def noted(self) -> Seen:
        return self._seen or Seen(NEVER, np.zeros((0, 2)), np.zeros(0, dtype=np.int64))

    def note(self, noted: Seen | None) -> None:
        seen = None if noted is None else Seen(int(noted.number), np.asarray(noted.places), np.asarray(noted.going))
        if seen is not None and (
            seen.places.shape != (len(seen.going), 2) or seen.going.max(initial=0) >= len(self.goals)
        ):
            raise InvalidValue("the memory of quickest must have a place and a goal for each person")
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
            known = (quick != 0.0).any(axis=1)  # people without a way keep the direction of the wish inside
            direction[some[known]] = quick[known]
        return speed[:, None] * direction

    def _field(self, seen: Seen, size: int, goal: int, closed: Array) -> Ways:
        """The quickest ways of people of one size to a goal, when people last looked around."""
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
