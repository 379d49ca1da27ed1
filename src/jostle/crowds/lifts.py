"""Doors of lifts: while a lift is away, nobody enters or leaves its cabin.

The cabin of a lift is the corridor of its `Link`. At the time of a trip the doors close; people whose centre is in the
cabin ride, and step off when the lift arrives at the other floor. The doors are open again when the lift has come back.
A closed door is a half-plane for the centre of each person: on the side on which the person was when it closed. It
therefore closes exactly at its time even if somebody stands in the doorway, and pushes nobody.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar, NamedTuple

import numpy as np

from jostle.arrays import Array, Booleans, Integers
from jostle.crowds.geometry import Geometry
from jostle.crowds.stairs import Passage, passages
from jostle.errors import InvalidValue
from jostle.schemes.state import State
from jostle.sets.base import ConstraintSet, Intersection
from jostle.sets.contacts import Contacts, Reach
from jostle.sets.walls import HalfSpace

OPEN = 0
"""The phase of a lift that people may enter; the other phases are those of `Link.phase`."""
DEEPEST = 0.05
"""Distance behind a closed door, in radii, beyond which a person is elsewhere, such as on the other floor."""


class LiftStates(NamedTuple):
    """The memory of the doors of lifts."""

    phase: Integers
    """(lifts,) phase of each lift, see `Link.phase`."""
    inside: Booleans
    """(lifts, n) whether each person was in the cabin when the phase began."""


class LiftDoors:
    """The doors of the lifts of a plan during a run: a change for `solve` that opens and closes them."""

    remembers: ClassVar[type[Any]] = LiftStates

    def __init__(self, lifts: Sequence[Passage], people: int):
        self.lifts = tuple(lifts)
        self.first = LiftStates(np.full(len(lifts), OPEN), np.zeros((len(lifts), people), dtype=bool))
        self.memory: LiftStates = self.first

    def remind(self, memory: LiftStates | None) -> None:
        if memory is not None and memory.inside.shape != self.first.inside.shape:
            lifts, people = self.first.inside.shape
            raise InvalidValue(f"the memory of lifts must have {lifts} lifts and {people} people")
        self.memory = self.first if memory is None else memory._replace(inside=np.asarray(memory.inside, dtype=bool))

    def __call__(self, state: State) -> State:
        phase = np.array([lift.link.phase(state.t) for lift in self.lifts])
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

    def linearise(self, t: float, q: Array, reach: Reach = np.inf) -> Contacts:
        contacts = self.sides.near(t, q, reach)
        person, wall = contacts.pairs[:, 0], -1 - contacts.pairs[:, 1]
        lift, cabin_side = wall // 2, wall % 2 == 0
        memory = self.doors.memory
        kept = (memory.phase[lift] != OPEN) & (memory.inside[lift, person] == cabin_side)
        kept &= contacts.gap > -DEEPEST * self.radii[person]
        for k, one in enumerate(self.doors.lifts):
            part, _ = one.where(q)
            kept &= (lift != k) | ((part > 0.0) & (part < 1.0))[person]
        found = contacts.only(np.flatnonzero(kept))
        return replace(found, length=self.radii[found.pairs[:, 0]])


def with_lift_doors(within: ConstraintSet, plan: Geometry, radii: Array) -> ConstraintSet:
    """The positions of people, with the doors of lifts that are away for some time."""
    lifts = _lifts(plan)
    return within & ClosedLifts(LiftDoors(lifts, len(radii)), radii) if lifts else within


def doors_of(within: ConstraintSet, plan: Geometry) -> list[LiftDoors]:
    """The doors that belong to a set; raises if there are none and a lift of the plan needs doors."""
    sets = within.sets if isinstance(within, Intersection) else (within,)
    found = [one.doors for one in sets if isinstance(one, ClosedLifts)]
    lifts = _lifts(plan)
    if lifts and not found:
        raise InvalidValue(
            f"the lift {lifts[0].name!r} has doors, which the admissible set of these people does not contain: make "
            f"the people with jo.crowds.crowd"
        )
    return found


def _lifts(plan: Geometry) -> list[Passage]:
    """The lifts of a plan that are away for some time."""
    return [one for one in passages(plan.links, plan.shafts) if one.link.ride > 0.0]
