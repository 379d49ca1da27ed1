"""Journeys: people who pass several places in order before they leave, and stand at some of them.

The next place of a person does not follow from their position. A journey therefore has a memory; each run starts with
the stages that the journey was made with, and a checkpoint stores those that have been reached.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from jostle._tools.arguments import Natural, Positive, check_arguments
from jostle._tools.arrays import Array, Booleans, Integers, finite, shaped
from jostle.crowds.model.behaviours import ALONE, KnownExits, Together, neighbours
from jostle.crowds.model.distributions import Distribution
from jostle.crowds.model.groups import Group
from jostle.crowds.model.walk import goal_numbers
from jostle.crowds.model.wish import NEAREST, Behaviour, Wish
from jostle.errors import InvalidValue
from jostle.plans.links import Passage
from jostle.plans.outlines import nearest_on, package
from jostle.plans.plan import Plan
from jostle.plans.ways import stop_on


@check_arguments
@dataclass(frozen=True, eq=False)
class Stop:
    """A point or a segment that people pass, where they may stand for a while.

    Parameters
    ----------
    place : array_like, shape (2,) or (2, 2)
        The point, or the two ends of the segment (m).
    dwell : float or Distribution, default 0.0
        Time that each person stands there (s): one for all, or drawn for each.
    until : float, default -inf
        Earliest time at which people leave (s).
    reach : float, optional
        Distance (m) at which the stop counts as reached. None means the reach of the journey.

    Examples
    --------
    >>> Stop((2.0, 1.0), dwell=30.0).target.tolist()
    [[2.0, 1.0], [2.0, 1.0]]
    """

    place: ArrayLike
    _: KW_ONLY
    dwell: float | Distribution = 0.0
    until: float = -np.inf
    reach: Positive | None = None

    def __post_init__(self) -> None:
        ends = finite(self.place, "place")
        if ends.shape not in ((2,), (2, 2)):
            raise InvalidValue(f"place of a stop must be a point or a segment, not of shape {ends.shape}")
        object.__setattr__(self, "place", np.array(np.broadcast_to(ends, (2, 2))))
        _check_times(self.dwell, self.until)

    @property
    def target(self) -> Array:
        """(2, 2) segment to which people walk."""
        return np.asarray(self.place)

    def _reached(self, q: Array, reach: float) -> Booleans:
        """(n,) who has reached the stop, within its own reach or that of the journey."""
        away = q - nearest_on(self.target, q)
        return np.asarray(np.linalg.norm(away, axis=1) <= (reach if self.reach is None else self.reach))


@check_arguments
@dataclass(frozen=True, eq=False)
class WaitingArea:
    """A polygon in which people wait, each at a point of their own.

    Parameters
    ----------
    corners : array_like, shape (k, 2)
        Corners of the polygon (m), in order around it.
    dwell : float or Distribution, default 0.0
        Time that each person waits (s): one for all, or drawn for each.
    until : float, default -inf
        Earliest time at which people leave (s).

    Examples
    --------
    >>> WaitingArea([(0, 0), (4, 0), (4, 2), (0, 2)], until=120.0).target.tolist()
    [[2.0, 1.0], [2.0, 1.0]]
    """

    corners: ArrayLike
    _: KW_ONLY
    dwell: float | Distribution = 0.0
    until: float = -np.inf

    def __post_init__(self) -> None:
        corners = shaped(self.corners, "corners", -1, 2)
        shape = package("shapely").Polygon(corners) if len(corners) > 2 else None
        if shape is None or not shape.is_valid or not shape.area > 0.0:
            raise InvalidValue(f"a waiting area must be a polygon that does not cross itself, not {corners.tolist()}")
        object.__setattr__(self, "corners", corners)
        _check_times(self.dwell, self.until)

    @property
    def target(self) -> Array:
        """(2, 2) a point of the area, as a segment."""
        point = package("shapely").Polygon(self.corners).representative_point()
        return np.array([[point.x, point.y]] * 2)

    def _reached(self, q: Array, reach: float) -> Booleans:
        """(n,) who is in the area; its edge counts, not the reach of the journey."""
        return np.asarray(package("shapely").contains_xy(package("shapely").Polygon(self.corners), q), dtype=bool)

    def _points(self, n: int, random: np.random.Generator) -> Array:
        """(n, 2) random points in the area."""
        corners = np.asarray(self.corners)
        found = np.empty((0, 2))
        while len(found) < n:
            tried = random.uniform(corners.min(axis=0), corners.max(axis=0), (2 * n + 8, 2))
            found = np.concatenate([found, tried[self._reached(tried, 0.0)]])
        return found[:n]


@check_arguments
@dataclass(frozen=True, eq=False)
class Queue:
    """A line in which people stand one behind the other and are served at its head, in the order in which they came.

    People walk to the tail, then up to the last person in the line. If there are more people than places, the queue
    continues along its last piece.

    Parameters
    ----------
    line : array_like, shape (k, 2)
        Points of the line from its head to its tail (m).
    service : float or Distribution
        Time that each person is served at the head (s): one for all, or drawn for each.
    spacing : float, default 0.6
        Distance between neighbours in the queue (m).
    until : float, default -inf
        Earliest time at which people leave (s).

    Examples
    --------
    >>> Queue([(2.0, 0.0), (2.0, 4.0)], service=20.0, spacing=0.8).target.tolist()
    [[2.0, 4.0], [2.0, 4.0]]
    """

    line: ArrayLike
    _: KW_ONLY
    service: float | Distribution
    spacing: Positive = 0.6
    until: float = -np.inf

    def __post_init__(self) -> None:
        line = shaped(self.line, "line", -1, 2)
        if len(line) < 2 or not (np.linalg.norm(np.diff(line, axis=0), axis=1) > 0.0).all():
            raise InvalidValue(f"the line of a queue must be two or more different points, not {line.tolist()}")
        object.__setattr__(self, "line", line)
        _check_times(self.service, self.until)

    @property
    def dwell(self) -> float | Distribution:
        """The time that each person stands at the head."""
        return self.service

    @property
    def target(self) -> Array:
        """(2, 2) tail of the queue, to which people walk, as a segment."""
        return np.array([np.asarray(self.line)[-1]] * 2)

    def _places(self, number: Integers) -> Array:
        """(k, 2) places in the queue, by their numbers (k,) from the head, which is 0.

        >>> Queue([(2.0, 0.0), (2.0, 4.0)], service=20.0, spacing=0.8)._places(np.array([0, 2])).round(6).tolist()
        [[2.0, 0.0], [2.0, 1.6]]
        """
        line = np.asarray(self.line, dtype=float)
        pieces = np.diff(line, axis=0)
        lengths = np.linalg.norm(pieces, axis=1)
        before = np.concatenate([[0.0], np.cumsum(lengths)])
        along = self.spacing * number
        piece = np.clip(np.searchsorted(before, along, side="right") - 1, 0, len(pieces) - 1)
        part = (along - before[piece]) / lengths[piece]
        return np.asarray(line[piece] + part[:, None] * pieces[piece])


AnyStop = Stop | WaitingArea | Queue


def check_stop(plan: Plan, name: str, stop: AnyStop) -> None:
    """Raise if a stop is not inside the plan, or if people cannot stand along the line of a queue."""
    stop_on(plan, name, stop.target)
    if not isinstance(stop, Queue):
        return
    shapely, corners = package("shapely"), np.asarray(stop.line, dtype=float)
    line, walls = shapely.LineString(corners), shapely.linestrings(plan.inner_walls)
    if not plan.area.covers(line) or shapely.crosses(line, walls).any():
        raise InvalidValue(
            f"the line of queue {name!r}, {corners.tolist()}, passes a wall or leaves the plan, where nobody can "
            f"stand: move its points, or add one at each bend"
        )
    if line.length < stop.spacing:
        raise InvalidValue(
            f"the line of queue {name!r} is {line.length:.3g} m long, too short for two people {stop.spacing:g} m "
            f"apart: make it longer, or spacing= smaller"
        )


def _check_times(dwell: float | Distribution, until: float) -> None:
    if not isinstance(dwell, Distribution) and not 0.0 <= dwell < np.inf:
        raise InvalidValue(f"dwell and service must be 0 or more, in seconds, not {dwell}")
    if not until < np.inf:
        raise InvalidValue(f"until must be a time, not {until}: nobody would ever leave")


Route = Sequence[str | None]
NO_TICKET = -1
"""The ticket of people who are not in a queue."""


class Stages(NamedTuple):
    """The memory of a journey."""

    stage: Integers
    """(n,) number of places that each person has passed."""
    there: Booleans
    """(n,) whether each person has reached their next place and stands there."""
    since: Array
    """(n,) time at which each person reached the place, or the head of a queue."""
    ticket: Integers
    """(n,) order in which people joined a queue, or NO_TICKET."""


@check_arguments
class Journey(Behaviour):
    """People pass the goals of their route one after the other, and stand or queue at some of them.

    Parameters
    ----------
    wish : Wish
        A wish whose goals include the stops and exits of the routes.
    route : sequence of str, or sequence of sequences
        Names of the goals in order, one route for all or one for each person; None as a name is the nearest exit.
    people : int
        Number of people.
    reach : float
        Distance (m) at which a stop counts as reached, positive.
    stage : array_like of int, shape (n,), optional
        Number of goals that each person has passed at the start. None means 0 for all.
    stops : dict of str to Stop, WaitingArea or Queue, optional
        Where people stand, by name. Other goals are passed without standing.
    seed : int or numpy.random.Generator, default 0
        Source of random dwell times and waiting places.

    Examples
    --------
    >>> import jostle as jo
    >>> plan = jo.crowds.Plan([(0, 0), (8, 0), (8, 4), (0, 4)], exits={"east": ((8, 1.5), (8, 2.5))})
    >>> walk = jo.crowds.walk(plan, radius=0.25, speed=1.0, stops={"desk": (1, 3)})
    >>> journey = Journey(walk, ["desk", "east"], people=1, reach=0.5)
    >>> journey(0.0, np.array([[1.0, 1.0]])).round(6).tolist(), journey(0.0, np.array([[1.0, 2.6]])).round(1).tolist()
    ([[0.0, 1.0]], [[1.0, -0.0]])
    >>> slow = Journey(walk, ["desk", "east"], people=1, reach=0.5, stops={"desk": Stop((1, 3), dwell=9.0)})
    >>> [slow(t, np.array([[1.0, 2.6]])).round(1).tolist() for t in (0.0, 10.0)]
    [[[0.0, 0.0]], [[1.0, -0.0]]]
    """

    notes: ClassVar[type[Any]] = Stages

    def __init__(
        self,
        wish: Wish,
        route: Route | Sequence[Route],
        *,
        people: Natural,
        reach: Positive,
        stage: ArrayLike | None = None,
        stops: Mapping[str, AnyStop] | None = None,
        seed: Natural | np.random.Generator = 0,
    ):
        super().__init__(wish)
        names = [goal.name for goal in wish.goals]
        routes = _routes(route, people)
        longest = max((len(one) for one in routes), default=0)
        self.reach = reach
        self.route = np.array([goal_numbers([*one, *[one[-1]] * (longest - len(one))], names) for one in routes])
        """(n, stages) numbers of the goals; short routes repeat their last goal."""
        self.last = np.array([len(one) - 1 for one in routes])
        """(n,) last stage of each person."""
        self.stops = _stops(stops or {}, wish)
        random = np.random.default_rng(seed)
        self.dwell = {goal: _dwell(stop, people, random) for goal, stop in self.stops.items()}
        """(n,) time that each person stands, for each goal."""
        self.spots = {
            goal: stop._points(people, random) for goal, stop in self.stops.items() if isinstance(stop, WaitingArea)
        }
        first = np.zeros(people, dtype=np.int64) if stage is None else self._checked(stage)
        none = np.zeros(people, dtype=bool)
        self.first = Stages(first, none, np.zeros(people), np.full(people, NO_TICKET))
        """The memory at the start of a run."""
        self.noted = self.first

    @property
    def stage(self) -> Integers:
        """(n,) number of places that each person has passed."""
        return np.asarray(self.noted.stage)

    def note(self, noted: Stages | None) -> None:
        if noted is None:
            self.noted = self.first
            return
        people = (len(self.route),)
        if any(np.shape(value) != people for value in noted[1:]):
            raise InvalidValue(f"the memory of a journey must have one value for each of {people[0]} people")
        self.noted = noted._replace(stage=self._checked(noted.stage))

    def _checked(self, stage: ArrayLike) -> Integers:
        people, stages = self.route.shape
        found = finite(stage, "stage").astype(np.int64)
        if found.shape != (people,) or (found < 0).any() or (found >= max(stages, 1)).any():
            raise InvalidValue(f"stage must be one number below {stages} for each of {people} people")
        return found

    def own(self, n: int) -> Integers:
        return np.asarray(self.route[np.arange(n), self.stage])

    def chosen(self, q: Array) -> Integers:
        goal = self.own(len(q))
        nearest = goal == NEAREST
        return np.where(nearest, self.wish.chosen(q), goal) if nearest.any() else goal

    def waits(self, t: float, n: int) -> Booleans:
        return np.asarray(self.noted.there) | self.wish.waits(t, n)

    def towards(self, t: float, q: Array, goal: Integers) -> Array:
        # The desired velocities of people: zero at a stop, towards their own place in a waiting area or a queue.
        wished = self.wish.towards(t, q, goal)
        there = self.noted.there
        if not there.any():
            return wished
        found = np.where(there[:, None], 0.0, wished)
        own, speeds = self.own(len(q)), self.wish.speeds(len(q))
        for number, stop in self.stops.items():
            who = np.flatnonzero(there & (own == number))
            if len(who) and not isinstance(stop, Stop):
                place = self.spots[number] if isinstance(stop, WaitingArea) else self._line(stop, who, len(q))
                found[who] = _approach(place[who] - q[who], speeds[who], self.reach)
        return found

    def remember(self, t: float, q: Array) -> None:
        # Note who has reached their next place, and who goes on because their time there is over.
        super().remember(t, q)
        for _ in range(2 * self.route.shape[1]):
            before = self.noted
            goal = self.own(len(q))
            for number, stop in self.stops.items():
                here = (goal == number) & (before.stage < self.last)
                if here.any():
                    self._arrive(t, q, stop, here)
                    self._go_on(t, number, here)
            if self.noted is before:
                return

    def _arrive(self, t: float, q: Array, stop: AnyStop, here: Booleans) -> None:
        """Note who has reached a stop; in a queue, time counts from the arrival at its head."""
        new = np.flatnonzero(here & ~self.noted.there)
        if isinstance(stop, Queue):
            self._queue(t, q, stop, here, new)
            return
        new = new[stop._reached(q[new], self.reach)] if len(new) else new
        if len(new):
            there, since = self.noted.there.copy(), self.noted.since.copy()  # a checkpoint may hold the old arrays
            there[new], since[new] = True, t
            self.noted = self.noted._replace(there=there, since=since)

    def _queue(self, t: float, q: Array, queue: Queue, here: Booleans, new: Integers) -> None:
        """Let people who reach the end of a queue join it; the clock runs only for the person at its head."""
        inside = np.flatnonzero(here & self.noted.there)
        end = queue._places(np.array([len(inside)]))[0]
        ticket = self.noted.ticket
        for person in new[np.argsort(np.linalg.norm(q[new] - end, axis=1), kind="stable")]:
            line = np.concatenate([queue._places(np.arange(len(inside) + 1)), queue.target[:1]])
            if np.linalg.norm(q[person] - line, axis=1).min() > self.reach:
                continue
            ticket = ticket.copy()
            ticket[person] = ticket.max() + 1
            inside = np.append(inside, person)
        if len(inside) == 0:
            return
        there, since = self.noted.there.copy(), self.noted.since.copy()
        there[inside] = True
        head = inside[ticket[inside].argmin()]
        waiting = inside[inside != head]
        since[waiting] = t
        if head in new or np.linalg.norm(q[head] - np.asarray(queue.line)[0]) > self.reach:
            since[head] = t
        if (since != self.noted.since).any() or len(inside) > (here & self.noted.there).sum():
            self.noted = self.noted._replace(there=there, since=since, ticket=ticket)

    def _go_on(self, t: float, number: int, here: Booleans) -> None:
        """Let people go on whose time at a stop is over."""
        over = here & self.noted.there & (t >= self.noted.since + self.dwell[number]) & (t >= self.stops[number].until)
        if isinstance(self.stops[number], Queue) and over.any():
            over &= self.noted.ticket == self.noted.ticket[here & self.noted.there].min()
        if not over.any():
            return
        self.noted = self.noted._replace(
            stage=self.noted.stage + over,
            there=self.noted.there & ~over,
            ticket=np.where(over, NO_TICKET, self.noted.ticket),
        )

    def _line(self, queue: Queue, who: Integers, n: int) -> Array:
        """(n, 2) places of the people in a queue."""
        place = np.zeros((n, 2))
        place[who[np.argsort(self.noted.ticket[who])]] = queue._places(np.arange(len(who)))
        return place


def _approach(way: Array, speed: Array, reach: float) -> Array:
    """(n, 2) velocities towards places, slower within the distance `reach`."""
    far = np.linalg.norm(way, axis=1)
    return np.asarray(way / np.where(far > 0.0, far, 1.0)[:, None] * (speed * np.minimum(far / reach, 1.0))[:, None])


def _dwell(stop: AnyStop, people: int, random: np.random.Generator) -> Array:
    if not isinstance(stop.dwell, Distribution):
        return np.full(people, float(stop.dwell))
    found = stop.dwell.draw(people, random)
    if (found < 0.0).any():
        raise InvalidValue(
            f"a dwell time of {found.min():.3g} s was drawn from {stop.dwell}; give the distribution a limit low = 0"
        )
    return found


def _stops(given: Mapping[str, AnyStop], wish: Wish) -> dict[int, AnyStop]:
    """The stop of each goal, by its number; goals without a given stop are passed without standing."""
    names = [goal.name for goal in wish.goals]
    for name in given:
        if name not in names:
            known = ", ".join(map(repr, names))
            raise InvalidValue(f"stop {name!r} is not a goal of the wish ({known}): add it to walk(..., stops=...)")
    return {k: given.get(goal.name, Stop(goal.passable)) for k, goal in enumerate(wish.goals)}


def _routes(route: Route | Sequence[Route], people: int) -> list[list[str | None]]:
    """One route for each person."""
    given = list(route)
    one = [goal for goal in given if goal is None or isinstance(goal, str)]
    routes = [one] * people if len(one) == len(given) else [list(own) for own in given if own is not None]
    if len(routes) != people:
        raise InvalidValue(f"there are {len(routes)} routes, but {people} people")
    if not all(routes):
        raise InvalidValue("a route must have at least one goal; None is the nearest exit")
    return routes


ENDS = np.array([0.0, 1.0])
"""Fractions of the width of stairs at their two sides."""
REACH_RADII = 2.0
"""Distance at which a stop counts as reached, in multiples of the largest radius."""


@dataclass(frozen=True, eq=False)
class Itinerary:
    """The routes, known exits and families of groups on a plan; names that are not on the plan are errors."""

    groups: Sequence[Group]
    stops: Mapping[str, AnyStop]
    plan: Plan

    def __post_init__(self) -> None:
        exits, links = list(self.plan.exits), [one.name for one in self.plan.passages]
        for name, stop in self.stops.items():
            check_stop(self.plan, name, stop)
        for group in self.groups:
            self._check_names(group, "route", group.route, [*self.stops, *links])
            self._check_names(group, "knows", group.knows or (), [*exits, *links])

    def _check_names(self, group: Group, what: str, names: Sequence[str], known: list[str]) -> None:
        for name in names:
            if name not in known:
                words = ", ".join(map(repr, known)) or "none: give crowd(..., stops={...})"
                kind = "stops and stairs" if what == "route" else "exits and stairs"
                raise InvalidValue(f"{what} of group {group.name!r} names {name!r}; the {kind} are {words}")

    def check_unused(self) -> None:
        """Raise if a group has a route, known exits or families, which wish= would ignore."""
        for group in self.groups:
            for what, said in {"route": group.route, "knows": group.knows, "family": group.family > 1}.items():
                if said:
                    raise InvalidValue(f"a crowd with wish= takes no {what}: make it part of the wish")

    def knowing(self, walk: Wish) -> Wish:
        """The walk of people who take none of the exits that their group does not know."""
        return KnownExits(walk, self._known) if any(group.knows is not None for group in self.groups) else walk

    @property
    def exits(self) -> Booleans:
        """(n, exits) whether each person may leave by each exit: by their own goal, or by any that they know."""
        names, goals = list(self.plan.exits), [goal for group in self.groups for goal in group.goals]
        found = self._known[:, : len(names)].copy()
        for person, goal in enumerate(goals):
            if goal is not None:
                found[person] = [name == goal for name in names]
        return found

    def around(self, walk: Wish, unhindered: Wish, q: Array, radii: Array, random: np.random.Generator) -> Wish:
        """The walk of people at q with the routes and families of their groups.

        It raises if somebody cannot reach a stop. `unhindered` is the walk while all gates are open, because people may
        have to wait at a gate on their route.
        """
        wish = walk
        if any(group.family > 1 for group in self.groups):
            wish = Together(wish, self._families(q))
        routes = self._complete(unhindered, [[*group.route, goal] for group in self.groups for goal in group.goals], q)
        if all(len(route) == 1 for route in routes):
            return wish
        reach = REACH_RADII * float(radii.max())
        arrivals = {
            one.name: Stop(one.places(ENDS, np.full(2, float(radii.max()))), reach=reach) for one in self.plan.passages
        }
        used = {name for route in routes for name in route}
        stops = {**self.stops, **{name: stop for name, stop in arrivals.items() if name in used}}
        return Journey(wish, routes, people=len(q), reach=reach, stops=stops, seed=random)

    @property
    def _known(self) -> Booleans:
        """(n, exits and stairs) whether each person knows each of them."""
        names = [*self.plan.exits, *(one.name for one in self.plan.passages)]
        rows = [[group.knows is None or name in group.knows for name in names] for group in self.groups]
        return np.repeat(np.array(rows, dtype=bool), [group.size for group in self.groups], axis=0)

    def _families(self, q: Array) -> Array:
        family, first, count = np.full(len(q), ALONE), 0, 0
        for group in self.groups:
            own = slice(first, first + group.size)
            if group.family > 1:
                family[own] = count + neighbours(q[own], group.family)
                count = int(family.max()) + 1
            first += group.size
        return family

    def _complete(self, wish: Wish, routes: list[list[str | None]], q: Array) -> list[list[str | None]]:
        """The routes with the stairs from floor to floor added; raises if somebody cannot reach a place."""
        if all(route == [None] or (len(route) == 1 and not self.plan.passages) for route in routes):
            return routes
        names, over = [goal.name for goal in wish.goals], Floors(wish, self.plan.passages, len(q))
        found: list[list[str | None]] = []
        far = wish.lengths(q)
        for person, route in enumerate(routes):
            here, where, legs = far[:, person], "the start", list[str | None]()
            for name in route:
                way = [] if name is None else over.stairs(person, here, names.index(name))
                if way is None or (name is None and not np.isfinite(here[: wish.eligible]).any()):
                    goal = "an exit" if name is None else repr(name)
                    raise InvalidValue(
                        f"person {person} at {q[person].round(3).tolist()} cannot walk from {where} to {goal}: every "
                        f"path is blocked by a wall or by a narrow opening; open a door, add stairs, or move the goal"
                    )
                legs += [*(self.plan.passages[k].name for k in way), name]
                if name is not None and name in self.stops:
                    here = over.from_place(self.stops[name].target.mean(axis=0))[:, person]
                elif name in over.names:
                    here = over.after[over.names.index(name)][:, person]
                where = repr(name)
            found.append(legs)
        return found


class Floors:
    """Which stairs lead from one place to another, for each of n people."""

    def __init__(self, wish: Wish, ways: Sequence[Passage], n: int):
        self.wish, self.n, self.names = wish, n, [one.name for one in ways]
        self.goals = [[goal.name for goal in wish.goals].index(name) for name in self.names]
        size = float(wish.widest(n).max()) if ways else 0.0
        landings = [one.places(np.array([0.5]), np.array([2.0 * size]))[0] for one in ways]
        self.after = [self.from_place(place) for place in landings]
        """(goals, n) length of the way to each goal from the end of each of the stairs."""
        ends = [one.goal(size)[0].mean(axis=0) for one in ways]
        self.behind = [self.from_place(place)[goal] for place, goal in zip(ends, self.goals, strict=True)]
        """(n,) length behind each of the stairs that is part of the length of the way to them."""

    def from_place(self, place: Array) -> Array:
        """(goals, n) length of the way from a place to each goal."""
        return self.wish.lengths(np.tile(place, (self.n, 1)))

    def stairs(self, person: int, here: Array, goal: int) -> list[int] | None:
        """The numbers of the stairs on the way to a goal: fewest stairs first, then shortest; None without a way."""
        open_ways: list[tuple[float, list[int], Array]] = [(0.0, [], here)]
        for _ in range(len(self.goals) + 1):
            arrived = [(far + there[goal], way) for far, way, there in open_ways if np.isfinite(there[goal])]
            if arrived:
                return min(arrived)[1]
            open_ways = [
                (far + float(there[number] - self.behind[k][person]), [*way, k], self.after[k][:, person])
                for far, way, there in open_ways
                for k, number in enumerate(self.goals)
                if k not in way and np.isfinite(there[number])
            ]
        return None
