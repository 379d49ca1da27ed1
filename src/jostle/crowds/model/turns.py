"""People take turns on crowded stairs that are used both ways: one direction at a time.

On stairs two streams cannot pass each other where people are too many; a few people can, more on wide stairs than on
stairs narrower than `NARROW`. Whoever comes first goes; people who want to walk the other way wait in front of the
stairs and step out of the way of those who come. A turn ends when nobody of it is on the stairs or near them; while
others wait, at the latest after `LONGEST_TURN` times the length of the stairs, and then those who are on the stairs
walk off before the others go. Whose turn it is, and since when, is the memory of this wish.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from jostle._tools.arrays import Array, Booleans, Integers
from jostle._tools.of_run import OfRun
from jostle.crowds.model.wish import Behaviour, Wish
from jostle.errors import InvalidValue
from jostle.plans.links import Passage
from jostle.plans.plan import Plan

NARROW = 1.3
"""Width of stairs (m) below which only few people pass each other."""
LONGEST_TURN = 3.0
"""Longest turn while others wait, in seconds for each metre of the length of the stairs."""
NEAR, ROOM = 2.0, 0.6
"""Smallest distance from stairs (m) within which people wait for their turn, and the multiple of the square root of
their number (m) that it is at least: behind them others would push into the way of those who come."""
AISLE = 0.5
"""Distance (m) on both sides of the stairs that people who wait keep free, too."""
FEW, CROWDED = 3, 2.0
"""Number of people on narrow stairs and in front of them, and for each square metre (1/m2) of wider stairs, in both
directions together, who pass each other without turns."""
NOBODY = -1


class TurnStates(NamedTuple):
    """Whose turn it is on each of the stairs."""

    turn: Integers
    """(stairs,) 0 for the people who walk onwards, 1 for those who walk back, -1 for nobody."""
    began: Array
    """(stairs,) the time at which the turn began."""


class Side(NamedTuple):
    """The people who use stairs in one direction."""

    on: Booleans
    """(n,) those on the stairs."""
    near: Booleans
    """(n,) those in front of the stairs."""
    distance: float
    """Distance of the first of those in front of the stairs."""
    aside: Array
    """(n, 2) directions in which people in front of the stairs leave the way of others, aside and back; 0 beside it."""

    @property
    def people(self) -> int:
        """Number of people on the stairs and in front of them."""
        return int(self.on.sum() + self.near.sum())


class TakingTurns(Behaviour):
    """People walk over crowded stairs in one direction at a time, and wait for their turn."""

    notes = TurnStates
    _waits = OfRun()
    """(n,) who steps aside now."""

    def __init__(self, wish: Wish, plan: Plan):
        super().__init__(wish)
        self.stairs = used_both_ways(plan)
        self.note(None)

    def note(self, noted: TurnStates | None) -> None:
        count = len(self.stairs)
        if noted is None:
            noted = TurnStates(np.full(count, NOBODY), np.zeros(count))
        if len(noted.turn) != count:
            raise InvalidValue(f"the memory of turns on stairs must be of {count} stairs")
        super().note(noted)
        self._waits = None

    def towards(self, t: float, q: Array, goal: Integers) -> Array:
        wished = self.wish.towards(t, q, goal).copy()
        turn, began = (np.array(one) for one in self.noted)
        steps_aside = np.zeros(len(q), dtype=bool)
        for k, (number, passage, few) in enumerate(self.stairs):
            sides = _sides(passage, q, goal, number)
            over = (
                turn[k] != NOBODY
                and t - began[k] > LONGEST_TURN * passage.link.length
                and sides[1 - turn[k]].people > 0
            )
            if turn[k] == NOBODY or not sides[turn[k]].people or (over and not sides[turn[k]].on.any()):
                turn[k], began[k], over = _next(turn[k], sides), t, False
            for direction in (0, 1):
                if (turn[k] == 1 - direction or over) and sides[0].people + sides[1].people > few:
                    held = sides[direction].near
                    speed = np.linalg.norm(wished[held], axis=1)
                    wished[held] = speed[:, None] * sides[direction].aside[held]
                    steps_aside |= held & (wished != 0.0).any(axis=1)
        if (turn != self.noted.turn).any() or (began != self.noted.began).any():
            super().note(TurnStates(turn, began))
        self._waits = steps_aside
        return wished

    def waits(self, t: float, n: int) -> Booleans:
        found = self.wish.waits(t, n)
        return found if self._waits is None else found | self._waits


def used_both_ways(plan: Plan) -> list[tuple[int, Passage, float]]:
    """The stairs of a plan that are used both ways, each by the number and the passage of the way onwards, and the
    number of people who pass each other there."""
    found = []
    for number, one in enumerate(plan.passages, len(plan.exits)):
        width = float(np.linalg.norm(one.link.start[1] - one.link.start[0]))
        if one.link.both and not one.back:
            found.append((number, one, FEW if width < NARROW else CROWDED * width * one.link.length))
    return found


def _next(turn: int, sides: list[Side]) -> int:
    """Whose turn it is next: the others, or those who are nearer; nobody if nobody comes."""
    if not (sides[0].people or sides[1].people):
        return NOBODY
    if not (sides[0].people and sides[1].people):
        return int(sides[1].people > 0)
    if turn != NOBODY:
        return 1 - turn
    far = [0.0 if side.on.any() else side.distance for side in sides]
    return int(far[1] < far[0])


def _sides(passage: Passage, q: Array, goal: Integers, number: int) -> list[Side]:
    """The people who walk onwards over stairs of the given number, and those who walk back."""
    part, depth = passage.shaft.where(q)
    on = (part > 0.0) & (part < 1.0) & (depth > 0.0) & (depth < passage.link.length)
    ends = passage.link.start, passage.link.end
    found = []
    for direction in (0, 1):
        along = ends[direction][1] - ends[direction][0]
        width = float(np.linalg.norm(along))
        part, before = Passage(passage.shaft, back=direction == 1).where(q)
        if direction == 0:
            before = before - passage.link.length
        beside = np.abs(part - 0.5) * width - 0.5 * width
        distance = np.hypot(np.maximum(beside, 0.0), before)
        coming = (goal == number + direction) & (before > 0.0)
        near = coming & (distance < max(NEAR, ROOM * np.sqrt(coming.sum())))
        back = passage.shaft.inward if direction else -passage.shaft.outward
        aside = np.where(part < 0.5, -1.0, 1.0)[:, None] * (along / width) + back
        aside /= np.sqrt(2.0)
        aside = np.where((beside < AISLE)[:, None], aside, 0.0)
        found.append(
            Side(on & ((goal == number) == (direction == 0)), near, float(distance[near].min(initial=np.inf)), aside)
        )
    return found
