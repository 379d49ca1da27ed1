"""People on stairs and in lifts: how fast they walk there, how they come to the other floor, and the doors of lifts.

People who reach the end of stairs are moved to the other floor, in front of another segment, as soon as there is room;
until then they wait on the stairs. Where stairs are used in both directions, people who reach the segment on the other
floor are moved to the end of the corridor in the same way. A resumed run needs nothing but the positions of people,
which checkpoints store.

The cabin of a lift is the corridor of its `Link`. At the time of a trip the doors close; people whose centre is in the
cabin ride, and step off when the lift arrives at the other floor. The doors are open again when the lift has come back.
A closed door is a half-plane for the centre of each person: on the side on which the person was when it closed. It
therefore closes exactly at its time even if somebody stands in the doorway, and pushes nobody.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from jostle._tools.arrays import Array, Booleans, Integers, squares
from jostle.contacts import Contacts, Cutoff, by_pair
from jostle.crowds.model.wish import Behaviour, Wish
from jostle.errors import InvalidValue
from jostle.plans.links import Passage, paces
from jostle.plans.plan import Plan
from jostle.problems import Remembers
from jostle.schemes.state import State
from jostle.sets.base import ConstraintSet, Intersection, of_present, parts
from jostle.sets.presence import Presence
from jostle.sets.surfaces import Crossing, Step
from jostle.sets.walls import HalfSpace

ARRIVED = 0.05
"""Distance from the end of the stairs, in radii, at which a person has arrived."""
CLEAR = 1e-9
"""Gap between people who step off the stairs and the wall behind them, in radii."""
OPEN = 0
"""The phase of a lift that people may enter; the other phases are those of `Passage.phase`."""
DEEPEST = 0.05
"""A person who is pushed farther behind a closed door than this, in radii, has passed it."""


@dataclass(frozen=True, eq=False)
class StairPaces(Behaviour):
    """The speed of people on stairs is the pace of the stairs times their speed on level ground; see `Link`.

    People with the same gaps between them are slower on stairs by the same factor, so the flow over stairs falls with
    the pace; it is near that of Weidmann 1993 (`python benchmarks/validation.py`). A crowd on a plan whose stairs have
    a pace has this behaviour around its wish.
    """

    plan: Plan

    def towards(self, t: float, q: Array, goal: Integers) -> Array:
        wished = self.wish.towards(t, q, goal)
        pace = paces(self.plan.shafts.values(), q, wished)
        return wished if (pace == 1.0).all() else pace[:, None] * wished


SIDE_STEPS = (0.0, 1.0, -1.0, 2.0, -2.0, 3.0, -3.0, 4.0, -4.0)
"""Distances (in radii) to the side at which people try to appear at the other end of stairs that are used both ways."""


@dataclass(frozen=True, eq=False)
class Stairs:
    """A change for `solve`: people at the end of the stairs of a link appear on the other floor where there is room.

    People who are furthest along go first; nobody is moved to a place where they would overlap somebody. Where people
    use stairs in both directions, only those go on whose goal is there, or who have no way to it where they are; and
    they step aside, so that two people who want to take each other's place do not wait for each other for ever.
    """

    passage: Passage
    radii: Array
    within: ConstraintSet
    wish: Wish | None
    """The wish, on stairs that people use in both directions; it tells who wants to go on."""
    number: int
    """The number of the passage among the goals."""

    def __call__(self, state: State) -> State:
        link = self.passage.link
        here = np.ones(len(state.q), dtype=bool) if state.presence is None else state.presence.here
        part, left = self.passage.where(state.q)
        due = here & self.passage.inside(state.q)
        if link.every is None:
            due &= left < (1.0 + ARRIVED) * self.radii
        elif not self.passage.arrives(state.t, state.impulse_time):
            return state
        if due.any() and self.wish is not None:
            goal = self.wish.chosen(state.q)
            elsewhere = (goal != self.number) & np.isfinite(self.wish.distance(state.q, goal))
            due &= ~elsewhere if not self.passage.back else goal == self.number
        if not due.any():
            return state
        width = float(np.linalg.norm(link.start[1] - link.start[0]))
        margin = np.minimum(self.radii / width, 0.5)
        depth = (1.0 + CLEAR) * self.radii if link.every is None else np.maximum(left, (1.0 + CLEAR) * self.radii)
        aside = self.radii / width
        places = [
            self.passage.places(np.clip(part + step * aside, margin, 1.0 - margin), depth)
            for step in (SIDE_STEPS if link.both and link.every is None else (0.0,))
        ]
        q = state.q
        for person in np.flatnonzero(due)[np.argsort(left[due], kind="stable")]:
            for place in places:
                moved = q.copy()
                moved[person] = place[person]
                if self._free(state, moved, int(person)):
                    q = moved
                    break
        return state if q is state.q else state.replace(q=q)

    def _free(self, state: State, q: Array, person: int) -> bool:
        # First distances to people, because two of them may be at the same point, where a contact has no normal.
        touching = (1.0 - CLEAR) * (self.radii + self.radii[person])
        here = np.ones(len(q), dtype=bool) if state.presence is None else state.presence.here
        overlap = here & (squares(q - q[person]) < touching**2)
        if overlap.sum() > 1:  # a person overlaps themselves
            return False
        alone = Presence.of(q, np.arange(len(q)) == person, float(self.radii.max()))
        contacts = of_present(self.within, alone).linearise(state.t, alone.placed(q), 0.0)
        return not (contacts.gap < -contacts.tolerance()).any()


class LiftStates(NamedTuple):
    """The memory of the doors of lifts."""

    phase: Integers
    """(lifts,) phase of each lift, see `Passage.phase`."""
    inside: Booleans
    """(lifts, n) whether each person was in the cabin when the phase began."""


class LiftDoors(Remembers):
    """The doors of the lifts of a plan during a run: a change for `solve` that opens and closes them."""

    memory_type = LiftStates

    def __init__(self, lifts: Sequence[Passage], people: int):
        self.lifts = tuple(lifts)
        self.first = LiftStates(np.full(len(lifts), OPEN), np.zeros((len(lifts), people), dtype=bool))
        self.memory = self.first

    def restore(self, memory: LiftStates | None) -> None:
        if memory is not None and memory.inside.shape != self.first.inside.shape:
            lifts, people = self.first.inside.shape
            raise InvalidValue(f"the memory of lifts must have {lifts} lifts and {people} people")
        self.memory = self.first if memory is None else memory._replace(inside=np.asarray(memory.inside, dtype=bool))

    def __call__(self, state: State) -> State:
        phase = np.array([lift.phase(state.t) for lift in self.lifts])
        if (phase == self.memory.phase).all():
            return state
        inside = self.memory.inside.copy()
        for k in np.flatnonzero(phase != self.memory.phase):
            now = self.lifts[k].inside(state.q)
            inside[k] = now if self.memory.phase[k] == OPEN else now & inside[k]
        self.memory = LiftStates(phase, inside)
        return state


class ClosedLifts(ConstraintSet):
    """The positions in which nobody has passed the closed door of a lift."""

    by_body = True

    def __init__(self, doors: LiftDoors, radii: Array):
        self.doors, self.radii = doors, radii
        sides: list[ConstraintSet] = []
        for lift in doors.lifts:
            outward = lift.shaft.outward
            level = float(lift.link.start[0] @ outward)
            sides += [HalfSpace(outward, level, radii=0.0), HalfSpace(-outward, -level, radii=0.0)]
        self.sides = Intersection(tuple(sides))
        """The side of the cabin and the other side of each door."""
        self.convex_gaps, self.moving, self.flat = True, False, False

    def __repr__(self) -> str:
        return f"doors of {len(self.doors.lifts)} lifts"

    def linearise(self, t: float, q: Array, cutoff: Cutoff = np.inf) -> Contacts:
        # One row for each person and closed door; the door does not hold people who are elsewhere.
        contacts, memory = self.sides.near(t, q, cutoff), self.doors.memory
        person, lift, cabin_side = _doorways(contacts)
        held = (memory.phase[lift] != OPEN) & (memory.inside[lift, person] == cabin_side)
        elsewhere = self._elsewhere(contacts, q)
        if np.ndim(cutoff) > 0 or cutoff < np.inf:
            rows = np.flatnonzero(held & ~elsewhere)
        else:
            rows = np.flatnonzero(held)
            middles = np.array([one.link.start.mean(axis=0) for one in self.doors.lifts])
            distance = np.sqrt(squares(q[person] - middles[lift]))
            contacts = replace(contacts, gap=np.where(elsewhere, distance, contacts.gap))
        return replace(contacts.only(rows), length=self.radii[person[rows]])

    def _elsewhere(self, contacts: Contacts, q: Array) -> Booleans:
        """(m,) which rows are of people beside the doorway, or farther behind the door than the cabin is deep."""
        person, lift, _ = _doorways(contacts)
        beside, depth = np.ones(len(lift), dtype=bool), np.array([one.link.length for one in self.doors.lifts])
        for k, one in enumerate(self.doors.lifts):
            part, _ = one.where(q)
            beside[(lift == k) & ((part > 0.0) & (part < 1.0))[person]] = False
        return beside | (contacts.gap <= -depth[lift])

    def crossing(self, step: Step) -> Crossing | None:
        # A person who passed a closed door by more than DEEPEST radii.
        if (self.doors.memory.phase == OPEN).all():
            return None
        start, end = step.ends
        moved = np.sqrt(squares(end - start))
        at_door = self.linearise(step.times[0], start, float(moved.max(initial=0.0)))
        after, allowed = self.sides.linearise(step.times[1], end), DEEPEST * at_door.length
        passed = np.flatnonzero(by_pair(after.pairs, after.gap, at_door.pairs) < -allowed)
        if len(passed) == 0:
            return None
        person, lift, _ = (int(each[passed[0]]) for each in _doorways(at_door))
        door = f"the closed door of the lift {self.doors.lifts[lift].name!r}"
        return Crossing(person, door, float(moved[person]), float(allowed[passed[0]]))


def _doorways(contacts: Contacts) -> tuple[Integers, Integers, Booleans]:
    """Person and lift of each row, and whether the row holds the person on the side of the cabin."""
    wall = -1 - contacts.pairs[:, 1]
    return contacts.pairs[:, 0], wall // 2, wall % 2 == 0


def with_lift_doors(within: ConstraintSet, plan: Plan, radii: Array) -> ConstraintSet:
    """The positions of people, with the doors of lifts that are away for some time."""
    lifts = _lifts(plan)
    return within & ClosedLifts(LiftDoors(lifts, len(radii)), radii) if lifts else within


def doors_of(within: ConstraintSet, plan: Plan) -> list[LiftDoors]:
    """The doors that belong to a set; raises if there are none and a lift of the plan needs doors."""
    found = [one.doors for one in parts(within) if isinstance(one, ClosedLifts)]
    lifts = _lifts(plan)
    if lifts and not found:
        raise InvalidValue(
            f"the lift {lifts[0].name!r} has doors, which the admissible set of these people does not contain: make "
            f"the people with jo.crowds.crowd"
        )
    return found


def _lifts(plan: Plan) -> list[Passage]:
    """The lifts of a plan that are away for some time."""
    return [one for one in plan.passages if one.link.ride > 0.0]
