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

from typing import Any, ClassVar, NamedTuple, cast

import numpy as np
from numpy.typing import ArrayLike

from jostle._tools.arguments import NotNegative, Positive, check_arguments
from jostle._tools.arrays import Array, Integers, finite
from jostle.crowds.behaviour import Behaviour, check_wish, polar
from jostle.crowds.floor import Density, Floor
from jostle.crowds.potentials import MARGIN, Frame, Potential, potential
from jostle.crowds.walk import HasWays, alike
from jostle.crowds.ways import Ways, people_chunks
from jostle.crowds.wish import Wish
from jostle.errors import InvalidValue
from jostle.kernels import kernels_for
from jostle.kernels.sharing import together

OWN_WEIGHT, OTHERS_WEIGHT = 0.8, 4.0
"""Default weights of the densities of people with the same goal and of all others (m2)."""
DENSITY_WIDTH = 0.35
"""Default standard deviation of the Gaussian around a person (m)."""
LOOK_EVERY = 0.5
"""Default time after which people look around again (s)."""
SPACING = 0.5
"""Spacing of the grid, in radii."""
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


class Key(NamedTuple):
    """What a potential depends on, besides the people."""

    size: int
    """Number of the size of people."""
    goal: int
    closed: bytes
    """Closed gates."""


LAST = 2
"""Number of attempts to find a potential only as far as people need it, before it is found on the whole grid."""


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
        self._frames: dict[Key, Frame] = {}
        """The frames needed so far."""
        self._margins: dict[Key, int] = {}
        """The margins that the windows of the last potentials needed."""
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
        self._density: Density | None = None
        self._potentials: dict[Key, Potential] = {}

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
        numbers = np.flatnonzero(np.bincount(which[walks], minlength=1))
        if len(numbers) == 0:
            return speed[:, None] * direction
        keys = [Key(*divmod(int(one), len(self.goals)), closed.tobytes()) for one in numbers]
        field = np.where(walks, np.searchsorted(numbers, which), NOWHERE)
        quick = self._headings(seen, q, field, keys, closed)
        known = (quick != 0.0).any(axis=1)  # people without a way keep the direction of the wish inside
        return speed[:, None] * (quick if known.all() else np.where(known[:, None], quick, direction))

    def _headings(self, seen: Seen, q: Array, field: Integers, keys: list[Key], closed: Array) -> Array:
        """(n, 2) directions of the quickest ways of people in the potentials of the given numbers (n,).

        A potential that does not reach all people is found again, with the people of now, and then on the whole grid.
        """
        if self._density is None:
            own, others, width = self.weights
            going = seen.going if own > 0.0 or others > 0.0 else seen.going[:0]
            self._density = Density.of(self.floor, seen.places[: len(going)], going, width)
        ways, grid = {key.size: self._ways(key.size, closed) for key in keys}, self.floor.grid
        missing = [k for k, key in enumerate(keys) if key not in self._potentials]
        attempts = 0
        while True:
            pieces = [(keys[k], ways[keys[k].size], self._cells(q[field == k]), attempts >= LAST) for k in missing]
            self._potentials.update(together(self._found, pieces))
            fields = [(one.window.low, one.direction) for one in (self._potentials[key] for key in keys)]
            outside = ways[keys[0].size].outside
            quick = kernels_for(q).headings(q, field, fields, *grid, *outside, people_chunks(len(q)))
            missing = np.unique(field[np.isnan(quick[:, 0])]).tolist()
            if not missing or attempts >= LAST:
                return np.nan_to_num(quick)
            attempts += 1

    def _cells(self, q: Array) -> Integers:
        """(k, 2) cells of the people on the grid."""
        x = np.floor((q - self.floor.grid.lower) / self.floor.grid.step)
        return x[((x >= 0.0) & (x < np.array(self.floor.grid.shape) - 1.0)).all(axis=1)].astype(np.int64)

    def _found(self, key: Key, ways: Ways, cells: Integers, whole: bool) -> tuple[Key, Potential]:
        """The potential of a key, for people in the given cells or on the whole grid."""
        if key not in self._frames:
            self._frames[key] = Frame.of(ways, key.goal, self.floor.inside)
        density, weights = cast(Density, self._density), (self.weights.own, self.weights.others)
        margin = self._margins.get(key, MARGIN)
        found = potential(ways, key.goal, self._frames[key], density, weights, None if whole else cells, margin)
        self._margins[key] = found.margin
        return key, found
