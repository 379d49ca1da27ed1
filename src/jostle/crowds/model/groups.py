"""Groups of people: their number, size and speed, where they start or enter, and where they go.

People start at random places in a plan, or on a loosened lattice where they stand close together. Random sequential
addition fills at most 0.547 of an area with equal discs (Feder 1980), which is 4.3 people of radius 0.2 m per square
metre. Denser crowds stand on random nodes of a triangular lattice that is as wide as possible, and each person is
shifted at random as far as the lattice is wider than two radii.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from jostle._tools.arguments import Count, Finite, Positive, check_arguments
from jostle._tools.arrays import Array, Booleans, Integers, finite, shaped
from jostle.bodies import body_radii
from jostle.crowds.model.defaults import RADIUS, SPEED
from jostle.crowds.model.distributions import Distribution
from jostle.crowds.model.walk import check_reaction, check_speed, warn_of_speeds
from jostle.errors import InvalidValue
from jostle.models.starts import STRICT_FACTOR, Cell, Placed, filled
from jostle.plans.outlines import package, plain_corners
from jostle.plans.plan import Plan
from jostle.schemes.state import State
from jostle.sets.base import ConstraintSet, of_present
from jostle.sets.presence import PRESENT
from jostle.sets.surfaces import Lines
from jostle.sets.walls import MAX_TABLE_ENTRIES

# People who enter during a run, by a timetable.


MAX_PEOPLE = 1e8
"""Largest number of people in a timetable."""
LATEST = 366 * 86_400.0
"""Latest time of entry in seconds: a year."""
MAX_TRIES = 10_000
"""Number of random points outside a region after which it counts as empty."""


@check_arguments
def timetable(table: ArrayLike) -> Array:
    """Times at which people enter, from a table; for ``Group(..., enters=...)``.

    Parameters
    ----------
    table : array_like, shape (k, 2)
        Rows (time in seconds, number of people).

    Returns
    -------
    ndarray, shape (n,)
        The time (s) of each person.

    Examples
    --------
    >>> timetable([(0.0, 2), (60.0, 3)]).tolist()
    [0.0, 0.0, 60.0, 60.0, 60.0]
    """
    rows = finite(table, "table")
    whole = rows.ndim == 2 and rows.shape[1] == 2 and (rows[:, 1] == np.rint(rows[:, 1])).all()
    if not whole or (rows[:, 1] < 0.0).any() or rows[:, 1].sum() > MAX_PEOPLE:
        raise InvalidValue(f"table must have rows (time, number of people), not {table!r}")
    return np.repeat(rows[:, 0], rows[:, 1].astype(np.int64))


@check_arguments
def arrivals(n: Count, *, rate: Positive, start: Finite = 0.0) -> Array:
    """Times at which people enter one after the other at a constant rate; for ``Group(..., enters=...)``.

    Parameters
    ----------
    n : int
        Number of people.
    rate : float
        People per second.
    start : float, default 0.0
        Time of the first person (s).

    Returns
    -------
    ndarray, shape (n,)
        The time (s) of each person.

    Examples
    --------
    >>> arrivals(3, rate=0.5, start=10.0).tolist()
    [10.0, 12.0, 14.0]
    """
    return np.asarray(start + np.arange(n) / rate)


@dataclass(frozen=True, eq=False)
class Entry:
    """A change for `solve`: people of a group enter at random places in a region, each from a given time on.

    A place must be free: people who find none try again at another place after the next step. The places depend on the
    seed, the person and the time alone, so that a resumed run needs no memory of them.
    """

    region: Any
    """Polygon of shapely in which people appear."""
    who: Integers
    """(k,) numbers of the people."""
    times: Array
    """(k,) times at which the people are due (s)."""
    within: ConstraintSet
    seed: int

    def __call__(self, state: State) -> State:
        presence = state.presence
        if presence is None:
            return state
        due = np.intersect1d(self.who[self.times <= state.t], presence.waiting)
        if len(due) == 0:
            return state
        moment = int(np.float64(state.t).view(np.uint64))
        q = state.q.copy()
        q[due] = [point_in(self.region, np.random.default_rng([self.seed, int(body), moment])) for body in due]
        contacts = of_present(self.within, presence.changed(due, PRESENT)).linearise(state.t, q, 0.0)
        first, second = contacts.pairs[contacts.gap < 0.0].T
        new = np.zeros(len(q), dtype=bool)
        new[due] = True
        refused = np.unique(np.where(new[np.maximum(second, 0)] & (second >= 0), second, first))
        here = presence.changed(np.setdiff1d(due, refused), PRESENT)
        return state.replace(q=q).with_presence(here)


def point_in(region: Any, random: np.random.Generator) -> Array:
    """(2,) a random point in a polygon of shapely.

    >>> import shapely
    >>> point_in(shapely.box(0, 0, 2, 1), np.random.default_rng(0)).round(3).tolist()
    [1.274, 0.27]
    """
    low, high = np.array(region.bounds).reshape(2, 2)
    for _ in range(MAX_TRIES):
        point = random.uniform(low, high)
        if package("shapely").contains_xy(region, *point):
            return np.asarray(point)
    raise InvalidValue(f"no random point was found in the region {region.wkt} in which people enter")


def regions(plan_area: Any, start: Any, size: float) -> Any:
    """The part of a plan, or of the region `start` in it, where a disc of radius `size` can have its centre."""
    shapely = package("shapely")
    inner = shapely.buffer(plan_area, -size)
    if start is None:
        return inner
    region = polygon_of(start)
    found = shapely.intersection(region, inner)
    if not found.area > 0.0:
        raise InvalidValue(
            f"the region in which people enter, {region.wkt}, has no room for a person {2.0 * size:g} wide"
        )
    return found


MOST_RANDOM = 0.47
"""Largest packing fraction at which people are placed by random sequential addition."""
HALVINGS = 30
"""Number of bisection steps to find the widest lattice."""
DENSEST = np.pi / np.sqrt(12.0)
"""Packing fraction of the densest packing of equal discs."""
TRIES = 100_000
"""Number of consecutive random places without room after which the plan counts as full."""


def free_places(
    radii: Array, plan: Plan, region: Any, random: np.random.Generator, taken: tuple[Array, Array] | None = None
) -> Array:
    """(n, 2) random places in the plan, or in a polygon in it, where discs overlap neither walls nor each other.

    `taken` has the places (m, 2) and radii (m,) of other people.

    >>> from jostle.plans.plan import Room
    >>> room = Room([(0, 0), (9, 0), (9, 9), (0, 9)], doors=[((9, 4), (9, 5))])
    >>> q = free_places(np.full(100, 0.25), room, None, np.random.default_rng(0))
    >>> bool(room.inside(q).all() and q.min() > 0.25)
    True
    """
    others, sizes = (np.zeros((0, 2)), np.zeros(0)) if taken is None else taken
    before = len(others)
    everyone = np.concatenate([sizes, radii])

    def empty() -> _InPlan:
        placed = _InPlan(plan, region, everyone)
        if before:
            placed.take(np.arange(before), others)
        return placed

    def full(left: Integers, tries: int) -> InvalidValue:
        return InvalidValue("there is no room")

    first = empty()
    widest, room = 2.0 * float(radii.max()), float(np.ptp(plan.walls.reshape(-1, 2), axis=0).max())
    if widest > room:
        raise InvalidValue(f"a person is {widest:g} m wide, and the plan {room:g} m: check the units of both")
    wanted = float((np.pi * radii**2).sum()) / max(first.size, np.finfo(float).tiny)
    if wanted <= MOST_RANDOM:
        try:
            return filled(first, everyone, random, TRIES, full)[before:]
        except InvalidValue:
            pass  # too little room between walls and other people; a lattice may still fit
    return _lattice(empty(), radii, before, random, wanted)


def polygon_of(region: Any) -> Any:
    """A region as a polygon of shapely, which may be given by its corners."""
    shapely = package("shapely")
    return region if isinstance(region, shapely.Geometry) else shapely.Polygon(shaped(region, "start", -1, 2))


def _lattice(placed: _InPlan, radii: Array, before: int, random: np.random.Generator, wanted: float) -> Array:
    """(n, 2) places on the widest possible triangular lattice, each shifted at random as far as there is room."""
    n, size = len(radii), float(radii.max())
    widest, offset = before + int(radii.argmax()), random.random(2)
    low, high = placed.space.lower, placed.space.upper

    def places(spacing: float) -> Array:
        step = spacing * STRICT_FACTOR * STRICT_FACTOR
        rows = np.arange(np.ceil((high - low)[1] / (step * np.sqrt(0.75))) + 2)
        columns = np.arange(np.ceil((high - low)[0] / step) + 2)
        j, i = (grid.ravel() for grid in np.meshgrid(rows, columns, indexing="ij"))
        x = np.stack([i + 0.5 * (j % 2), np.sqrt(0.75) * j], axis=1) * step + low - offset * step
        return np.asarray(x[placed._free(np.full(len(x), widest), x)])

    tight = places(2.0 * size)
    if len(tight) < n:
        area = n * float(np.pi * (radii**2).mean()) / wanted
        raise InvalidValue(
            f"no place was found for person {len(tight)} of {n}, {2.0 * size:g} m wide: a lattice has room for "
            f"{len(tight)}, {len(tight) / area:.2f} per square metre (at most {DENSEST / (np.pi * size**2):.2f} far "
            f"from walls); take fewer people or a larger room, or give their places"
        )
    least, most = 2.0 * size, 2.0 * float(np.ptp([low, high], axis=0).max())
    for _ in range(HALVINGS):
        middle = 0.5 * (least + most)
        least, most = (middle, most) if len(places(middle)) >= n else (least, middle)
    found = random.permutation(places(least))[:n]
    angle, far = random.uniform(0.0, 2.0 * np.pi, n), 0.5 * (least - 2.0 * size) * np.sqrt(random.random(n))
    moved = found + far[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    free = placed._free(np.full(n, widest), moved)
    return np.where(free[:, None], moved, found)


class _InPlan(Placed):
    """The people in a plan who have a place."""

    def __init__(self, plan: Plan, region: Any, radii: Array):
        corners = plan.walls.reshape(-1, 2)
        lower, upper = corners.min(axis=0), corners.max(axis=0)
        self.region, self.size = None, plan.size
        if region is not None:
            shapely = package("shapely")
            self.region = polygon_of(region)
            self.size = float(self.region.intersection(plan.area).area) if self.region.is_valid else 0.0
            if not self.size > 0.0:
                raise InvalidValue(
                    f"the region in which people start must be a polygon that does not cross itself and overlaps the "
                    f"plan, not {self.region.wkt}"
                )
            shapely.prepare(self.region)
            lower, upper = np.array(self.region.bounds).reshape(2, 2)
            lower, upper = lower - radii.max(), upper + radii.max()
        super().__init__(Cell(lower, upper, np.full(2, np.inf)), radii)
        self.plan, self.walls = plan, Lines.between(plan.walls[:, 0], plan.walls[:, 1])

    def _free(self, ball: Integers, places: Array) -> Booleans:
        free = self.plan.inside(places)
        if self.region is not None:
            free &= package("shapely").contains_xy(self.region, places)
        at_all = np.flatnonzero(free)
        size = max(MAX_TABLE_ENTRIES // max(len(self.plan.walls), 1), 1)
        for first in range(0, len(at_all), size):
            some = at_all[first : first + size]
            free[some] = self.walls.nearest(places[some]) > STRICT_FACTOR * self.radii[ball[some]]
        for x, y, radius in self.plan.columns:
            apart = np.hypot(*(places - [x, y]).T) - radius
            free &= apart > STRICT_FACTOR * self.radii[ball]
        some = np.flatnonzero(free)
        if len(some):
            free[some] = super()._free(ball[some], places[some])
        return np.asarray(free)


ONE_GROUP = "people"
"""Name of the only group of a crowd that is made without groups."""
UNSAID = {"radius": RADIUS, "speed": SPEED, "reaction": 0.0}
"""Defaults of `crowd` that groups replace."""
DRAWN = {
    "radius": (np.greater, "above 0"),
    "speed": (np.greater, "above 0"),
    "reaction": (np.greater_equal, "0 or more"),
    "enters": (np.greater_equal, "0 or more"),
}
"""Properties that may be drawn from a distribution, with the values that are possible."""


@check_arguments
@dataclass(frozen=True, eq=False)
class Group:
    """A group of people with a name, for `crowd`: n people at random places, or one at each of given places.

    Parameters
    ----------
    name : str
        Name of the group.
    n : int, optional
        Number of people at random places. Either `n` or `places` is required.
    radius : float, array_like or Distribution, default 0.2
        Radius (m): one for all, one for each, or drawn from a distribution.
    speed : float, array_like or Distribution, default 1.34
        Desired speed (m/s): one for all, one for each, or drawn.
    reaction : float, array_like or Distribution, default 0.0
        Pre-movement time (s), before which nobody walks: one for all, one for each, or drawn.
    goal : str or sequence of str, optional
        Name of the exit of all or of each person. None means the nearest exit.
    start : polygon or array_like, shape (k, 2), optional
        Region of the random places, a `shapely.Polygon` or its corners. None means the whole plan.
    places : array_like, shape (n, 2), optional
        Position of each person at the start (m).
    route : sequence of str, default ()
        Names of the stops and stairs that people pass before they leave; see `crowd`.
    knows : sequence of str, optional
        Names of the exits and stairs that people know; people without a goal choose among them. None means all.
    family : int, default 1
        Number of people in a family; neighbours at the start form a family and stay together.
    enters : float, array_like or Distribution, default 0.0
        Times at which people enter, in the region `start` (s); see `timetable` and `arrivals`. People with the time 0
        are present from the start.

    Examples
    --------
    >>> from jostle.crowds.model.distributions import Normal
    >>> pupils = Group("pupils", 24, radius=0.2, speed=Normal(1.2, 0.2, low=0.6, high=1.8), goal="stairs")
    >>> teacher = Group("teacher", places=[[1.0, 2.0]], radius=0.25, speed=1.4, reaction=5.0)
    >>> pupils.size, teacher.size
    (24, 1)
    >>> pupils.drawn(np.random.default_rng(0)).speeds[:3].round(3).tolist()
    [1.225, 1.174, 1.328]
    """

    name: str
    n: int | None = None
    _: KW_ONLY
    radius: ArrayLike | Distribution = RADIUS
    speed: ArrayLike | Distribution = SPEED
    reaction: ArrayLike | Distribution = 0.0
    goal: str | Sequence[str | None] | None = None
    start: Any = None
    places: ArrayLike | None = None
    route: Sequence[str] = ()
    knows: Sequence[str] | None = None
    family: Count = 1
    enters: ArrayLike | Distribution = 0.0

    def __post_init__(self) -> None:
        if (self.n is None) == (self.places is None):
            raise InvalidValue(f"group {self.name!r} needs either n=..., a number of people, or places=... (n, 2)")
        if self.places is not None:
            places = finite(self.places, "places")
            if places.ndim != 2 or places.shape[1:] != (2,):
                raise InvalidValue(f"places of group {self.name!r} have shape {places.shape}, expected (n, 2)")
            if self.start is not None:
                raise InvalidValue(f"group {self.name!r} has places, so it takes no start")
            places.setflags(write=False)
            object.__setattr__(self, "places", places)
        if not (self.start is None or hasattr(self.start, "geom_type") or plain_corners(self.start) is not None):
            raise InvalidValue(f"start must be a polygon of shapely, or its corners (k, 2), not {self.start!r}")
        for name in ("start", "radius", "speed", "reaction", "enters"):
            object.__setattr__(self, name, deepcopy(getattr(self, name)))
        if self.size < 1:
            raise InvalidValue(f"a group must have at least one person, not {self.size}")
        for name in ("speed", "reaction", "enters"):
            self._check_numbers(name)
        if self.places is not None and (isinstance(self.enters, Distribution) or np.any(np.asarray(self.enters) > 0.0)):
            raise InvalidValue(f"group {self.name!r} has places, so it is present from the start and takes no enters")
        if not isinstance(self.speed, Distribution) and not isinstance(self.radius, Distribution):
            speed = np.asarray(self.speed, dtype=float)
            check_speed(speed, self.radii)
            warn_of_speeds(speed, self.radii)
        if not (self.goal is None or isinstance(self.goal, str)) and len(self.goal) != self.size:
            raise InvalidValue(f"goal has {len(self.goal)} names, but there are {self.size} people")
        if self.knows is not None:
            if not self.knows:
                raise InvalidValue(f"group {self.name!r} knows no exit: give knows= at least one name, or leave it out")
            for goal in set(self.goals) - {None, *self.knows}:
                raise InvalidValue(
                    f"group {self.name!r} has the goal {goal!r}, which it does not know: add it to knows"
                )

    @property
    def size(self) -> int:
        """Number of people."""
        return len(np.asarray(self.places)) if self.n is None else int(self.n)

    def _check_numbers(self, name: str) -> None:
        """Raise unless a property is a distribution, or has numbers of 0 or more, one for all or one for each."""
        given = getattr(self, name)
        if isinstance(given, Distribution):
            return
        values = finite(given, name)
        if (values < 0.0).any():
            raise InvalidValue(f"{name} must not be negative, not {given!r}")
        if values.shape not in ((), (self.size,)):
            raise InvalidValue(f"{name} has shape {values.shape}, but there are {self.size} people")
        if name == "reaction":
            check_reaction(values)
        if name == "enters" and (values > LATEST).any():
            raise InvalidValue(f"enters is {values.max():g} s, and must be at most {LATEST:g} s, a year")

    @property
    def radii(self) -> Array:
        """(size,) radii."""
        return np.array(body_radii(finite(self._known("radius"), "radius"), self.size, 0.0))

    @property
    def speeds(self) -> Array:
        """(size,) desired speeds."""
        return self._each("speed")

    @property
    def reactions(self) -> Array:
        """(size,) reaction times, before which nobody walks."""
        return self._each("reaction")

    @property
    def times_of_entry(self) -> Array:
        """(size,) times of entry; 0 for people who are present from the start."""
        return self._each("enters")

    def _each(self, name: str) -> Array:
        return np.array(np.broadcast_to(np.asarray(self._known(name), dtype=float), (self.size,)))

    def _known(self, name: str) -> Any:
        value = getattr(self, name)
        if isinstance(value, Distribution):
            raise InvalidValue(f"{name} of group {self.name!r} is a distribution ({value}): use group.drawn(random)")
        return value

    def drawn(self, random: np.random.Generator) -> Group:
        """The same group with numbers in place of its distributions.

        Parameters
        ----------
        random : numpy.random.Generator
            Source of random numbers.

        Returns
        -------
        Group
            The group with one number for each person.
        """
        found: dict[str, Any] = {}
        for name, (possible, words) in DRAWN.items():
            given = getattr(self, name)
            if not isinstance(given, Distribution):
                continue
            found[name] = given.draw(self.size, random)
            person = int(found[name].argmin())
            if not possible(found[name][person], 0.0):
                raise InvalidValue(
                    f"group {self.name!r}: the {name} {found[name][person]:.3g} was drawn for person {person} from its "
                    f"distribution ({given}), but it must be {words}; give the distribution a limit low = ..."
                )
        return replace(self, **found) if found else self

    @property
    def goals(self) -> list[str | None]:
        """The name of the exit of each person, or None."""
        return [self.goal] * self.size if self.goal is None or isinstance(self.goal, str) else list(self.goal)


def groups_of(n: int | Group | Sequence[Group], said: dict[str, Any]) -> list[Group]:
    """The given groups, or one group of n people."""
    if isinstance(n, Group | Sequence):
        groups = [n] if isinstance(n, Group) else list(n)
        names = [group.name for group in groups]
        for name, value in said.items():
            if not (value is None or (name in UNSAID and np.ndim(value) == 0 and value == UNSAID[name])):
                raise InvalidValue(f"a crowd of groups takes no {name}: give it to each Group")
        if not groups or len(set(names)) < len(names):
            raise InvalidValue(f"a crowd needs at least one group, and groups with different names, not {names}")
        return groups
    if np.ndim(n):
        raise InvalidValue(
            f"n must be a number of people or groups, not an array of shape {np.shape(n)}; give positions as q0="
        )
    q0 = said.pop("q0")
    if q0 is None:
        return [Group(ONE_GROUP, int(n), **said)]
    if said["start"] is not None:
        raise InvalidValue("give q0 or start, not both: start is the region of random places")
    places = finite(q0, "q0")
    if places.shape != (n, 2):
        raise InvalidValue(f"q0 has shape {places.shape}, expected ({n}, 2)")
    return [Group(ONE_GROUP, places=places, **said)]


def places_of(groups: Sequence[Group], plan: Plan, random: np.random.Generator) -> Array:
    """(n, 2) places of all people at the start, in the order of the groups; given places are taken first.

    People who enter later get points of the region in which they will appear.

    >>> plan = Plan([(0, 0), (4, 0), (4, 3), (0, 3)], exits={"east": ((4, 1), (4, 2))})
    >>> groups = [Group("a", 2, radius=0.2), Group("b", places=[[2.0, 1.5]], radius=0.3)]
    >>> places_of(groups, plan, np.random.default_rng(0))[2].tolist()
    [2.0, 1.5]
    """
    found = {k: np.asarray(group.places) for k, group in enumerate(groups) if group.places is not None}
    here = {k: np.ones(len(places), dtype=bool) for k, places in found.items()}
    for k, group in enumerate(groups):
        if k in found:
            continue
        taken = (
            np.concatenate([np.zeros((0, 2)), *(places[here[j]] for j, places in found.items())]),
            np.concatenate([np.zeros(0), *(groups[j].radii[here[j]] for j in found)]),
        )
        now = group.times_of_entry == 0.0
        try:
            places = np.empty((group.size, 2))
            if now.any():
                places[now] = free_places(group.radii[now], plan, group.start, random, taken)
            if not now.all():
                region = regions(plan.area, group.start, float(group.radii.max()))
                places[~now] = [point_in(region, random) for _ in range(int((~now).sum()))]
            found[k], here[k] = places, now
        except InvalidValue as error:
            raise error if len(groups) == 1 else InvalidValue(f"group {group.name!r}: {error}") from None
    return np.concatenate([found[k] for k in range(len(groups))])
