"""Journeys: people who pass several places in order before they leave.

Where people have to go next cannot be told from where they are. A journey therefore remembers it, in `stage`; each run
starts with the stages that the journey was made with, and a checkpoint holds those that have been reached.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from jostle.arguments import Natural, NotNegative, check_arguments
from jostle.arrays import Array, Integers, finite
from jostle.crowds.outlines import own_nearest
from jostle.crowds.walk import numbers
from jostle.crowds.wish import NEAREST, Behaviour, Wish
from jostle.errors import InvalidValue

Route = Sequence[str | None]


class Stages(NamedTuple):
    """What a journey remembers."""

    stage: Integers
    """(n,) how many places each person has passed."""


@check_arguments
class Journey(Behaviour):
    """Everyone passes the goals of their route one after the other; None is the nearest exit.

    The goals are the `stops` and the exits of the wish. A stop is passed when one is within `reach` of it. `stage` (n,)
    says how many places each person has passed at the start, none if it is not given.

    >>> import jostle as jo
    >>> plan = jo.crowds.Plan([(0, 0), (8, 0), (8, 4), (0, 4)], exits={"east": ((8, 1.5), (8, 2.5))})
    >>> walk = jo.crowds.walk(plan, radius=0.25, stops={"desk": (1, 3)})
    >>> journey = Journey(walk, ["desk", "east"], people=1, reach=0.5)
    >>> journey(0.0, np.array([[1.0, 1.0]])).round(6).tolist(), journey(0.0, np.array([[1.0, 2.6]])).round(1).tolist()
    ([[0.0, 1.0]], [[1.0, -0.0]])
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
    ):
        super().__init__(wish)
        names = [goal.name for goal in wish.goals]
        if not reach > 0.0:
            raise InvalidValue(f"reach must be positive, not {reach}")
        routes = _routes(route, people)
        longest = max((len(one) for one in routes), default=0)
        self.reach = reach
        self.route = np.array([numbers([*one, *[one[-1]] * (longest - len(one))], names) for one in routes])
        """(n, stages) the numbers of the goals; short routes repeat their last."""
        self.first = np.zeros(people, dtype=np.int64) if stage is None else self._checked(stage)
        """(n,) the stages at the start."""
        self.stage: Integers = self.first
        """(n,) how many places each person has passed."""

    @property
    def noted(self) -> Stages:
        return Stages(self.stage)

    def note(self, noted: Stages | None) -> None:
        self.stage = self.first if noted is None else self._checked(noted.stage)

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

    def remember(self, t: float, q: Array) -> None:
        """Those who have come to their next place go on to the one after it; several of them, if they overlap."""
        super().remember(t, q)
        places = np.array([goal.passable for goal in self.goals])
        last = self.route.shape[1] - 1
        for _ in range(last):
            goal = self.own(len(q))
            waiting = np.flatnonzero((self.stage < last) & (goal != NEAREST))
            if len(waiting) == 0:
                return
            away = q[waiting] - own_nearest(places[goal[waiting]], q[waiting])
            there = waiting[np.linalg.norm(away, axis=1) <= self.reach]
            if len(there) == 0:
                return
            self.stage = self.stage.copy()  # a checkpoint may hold the one before
            self.stage[there] += 1


def _routes(route: Route | Sequence[Route], people: int) -> list[list[str | None]]:
    """One route for each person."""
    given = list(route)
    one = [goal for goal in given if goal is None or isinstance(goal, str)]
    routes = [one] * people if len(one) == len(given) else [list(own) for own in given if own is not None]
    if len(routes) != people:
        raise InvalidValue(f"there are {len(routes)} routes and {people} people")
    if not all(routes):
        raise InvalidValue("a route needs a place to go to; None is the nearest exit")
    return routes
