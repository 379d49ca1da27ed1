"""Journeys: people who pass several places in order before they leave, and stand at some of them.

The next place of a person does not follow from their position. A journey therefore has a memory; each run starts with
the stages that the journey was made with, and a checkpoint stores those that have been reached.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from jostle._tools.arguments import Natural, NotNegative, check_arguments
from jostle._tools.arrays import Array, Booleans, Integers, finite
from jostle.crowds.behaviour import Behaviour
from jostle.crowds.distributions import Distribution
from jostle.crowds.stops import AnyStop, Queue, Stop, WaitingArea
from jostle.crowds.walk import numbers
from jostle.crowds.wish import NEAREST, Wish
from jostle.errors import InvalidValue

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

    Raises
    ------
    InvalidValue
        If a name is not a goal of the wish, if a route is empty, or if the numbers of routes and people differ.

    Examples
    --------
    >>> import jostle as jo
    >>> plan = jo.crowds.Plan([(0, 0), (8, 0), (8, 4), (0, 4)], exits={"east": ((8, 1.5), (8, 2.5))})
    >>> walk = jo.crowds.walk(plan, radius=0.25, stops={"desk": (1, 3)})
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
        reach: NotNegative,
        stage: ArrayLike | None = None,
        stops: Mapping[str, AnyStop] | None = None,
        seed: Natural | np.random.Generator = 0,
    ):
        super().__init__(wish)
        names = [goal.name for goal in wish.goals]
        if not reach > 0.0:
            raise InvalidValue(f"reach must be positive, not {reach}")
        routes = _routes(route, people)
        longest = max((len(one) for one in routes), default=0)
        self.reach = reach
        self.route = np.array([numbers([*one, *[one[-1]] * (longest - len(one))], names) for one in routes])
        """(n, stages) numbers of the goals; short routes repeat their last goal."""
        self.last = np.array([len(one) - 1 for one in routes])
        """(n,) last stage of each person."""
        self.stops = _stops(stops or {}, wish)
        random = np.random.default_rng(seed)
        self.dwell = {goal: _dwell(stop, people, random) for goal, stop in self.stops.items()}
        """(n,) time that each person stands, for each goal."""
        self.spots = {
            goal: stop.points(people, random) for goal, stop in self.stops.items() if isinstance(stop, WaitingArea)
        }
        first = np.zeros(people, dtype=np.int64) if stage is None else self._checked(stage)
        none = np.zeros(people, dtype=bool)
        self.first = Stages(first, none, np.zeros(people), np.full(people, NO_TICKET))
        """The memory at the start of a run."""
        self.now = self.first
        """The current memory."""

    @property
    def stage(self) -> Integers:
        """(n,) number of places that each person has passed."""
        return self.now.stage

    @property
    def noted(self) -> Stages:
        return self.now

    def note(self, noted: Stages | None) -> None:
        if noted is None:
            self.now = self.first
            return
        people = (len(self.route),)
        if any(np.shape(value) != people for value in noted[1:]):
            raise InvalidValue(f"the memory of a journey must have one value for each of {people[0]} people")
        self.now = noted._replace(stage=self._checked(noted.stage))

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
        return self.now.there | self.wish.waits(t, n)

    def towards(self, t: float, q: Array, goal: Integers) -> Array:
        """The desired velocities of people: zero at a stop, towards their own place in a waiting area or a queue.

        Parameters
        ----------
        t : float
            Time of the run (s).
        q : ndarray, shape (n, 2)
            Positions of all people (m).
        goal : ndarray of int, shape (n,)
            Numbers of their goals.

        Returns
        -------
        ndarray, shape (n, 2)
            Velocities (m/s).
        """
        wished = self.wish.towards(t, q, goal)
        there = self.now.there
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
        """Note who has reached their next place, and who goes on because their time there is over.

        Parameters
        ----------
        t : float
            Time of the run (s).
        q : ndarray, shape (n, 2)
            Positions of all people (m).
        """
        super().remember(t, q)
        for _ in range(2 * self.route.shape[1]):
            before = self.now
            goal = self.own(len(q))
            for number, stop in self.stops.items():
                here = (goal == number) & (before.stage < self.last)
                if here.any():
                    self._arrive(t, q, stop, here)
                    self._go_on(t, number, here)
            if self.now is before:
                return

    def _arrive(self, t: float, q: Array, stop: AnyStop, here: Booleans) -> None:
        """Note who has reached a stop; in a queue, time counts from the arrival at its head."""
        new = np.flatnonzero(here & ~self.now.there)
        if isinstance(stop, Queue):
            self._queue(t, q, stop, here, new)
            return
        new = new[stop.reached(q[new], self.reach)] if len(new) else new
        if len(new):
            there, since = self.now.there.copy(), self.now.since.copy()  # a checkpoint may hold the old arrays
            there[new], since[new] = True, t
            self.now = self.now._replace(there=there, since=since)

    def _queue(self, t: float, q: Array, queue: Queue, here: Booleans, new: Integers) -> None:
        """Let people who reach the end of a queue join it; the clock runs only for the person at its head."""
        inside = np.flatnonzero(here & self.now.there)
        end = queue.places(np.array([len(inside)]))[0]
        ticket = self.now.ticket
        for person in new[np.argsort(np.linalg.norm(q[new] - end, axis=1), kind="stable")]:
            line = np.concatenate([queue.places(np.arange(len(inside) + 1)), queue.target[:1]])
            if np.linalg.norm(q[person] - line, axis=1).min() > self.reach:
                continue
            ticket = ticket.copy()
            ticket[person] = ticket.max() + 1
            inside = np.append(inside, person)
        if len(inside) == 0:
            return
        there, since = self.now.there.copy(), self.now.since.copy()
        there[inside] = True
        head = inside[ticket[inside].argmin()]
        waiting = inside[inside != head]
        since[waiting] = t
        if head in new or np.linalg.norm(q[head] - queue.head) > self.reach:
            since[head] = t
        if (since != self.now.since).any() or len(inside) > (here & self.now.there).sum():
            self.now = self.now._replace(there=there, since=since, ticket=ticket)

    def _go_on(self, t: float, number: int, here: Booleans) -> None:
        """Let people go on whose time at a stop is over."""
        over = here & self.now.there & (t >= self.now.since + self.dwell[number]) & (t >= self.stops[number].until)
        if isinstance(self.stops[number], Queue) and over.any():
            over &= self.now.ticket == self.now.ticket[here & self.now.there].min()
        if not over.any():
            return
        self.now = self.now._replace(
            stage=self.now.stage + over, there=self.now.there & ~over, ticket=np.where(over, NO_TICKET, self.now.ticket)
        )

    def _line(self, queue: Queue, who: Integers, n: int) -> Array:
        """(n, 2) places of the people in a queue."""
        place = np.zeros((n, 2))
        place[who[np.argsort(self.now.ticket[who])]] = queue.places(np.arange(len(who)))
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
