"""Doors and exits that open and close during a run: at given times, or after a number of people have passed.

A closed gate is a wall, as exact as all others. People who stand in a gate when it closes may leave it on either side;
it is closed for everybody else. People know which gates are closed and take the shortest way through open ones to a
goal of theirs; a person without such a way waits in front of a closed gate, and nobody takes an exit that they do not
know.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from jostle._tools.arrays import Array, Booleans, Integers, dot
from jostle.contacts import Contacts, Cutoff
from jostle.crowds.model.wish import Behaviour, Wish
from jostle.errors import InvalidValue
from jostle.plans.openings import Gate
from jostle.plans.outlines import distance_to
from jostle.problems import Remembers
from jostle.schemes.state import State
from jostle.sets.base import ConstraintSet
from jostle.sets.surfaces import Crossing, Step
from jostle.sets.walls import Segments

JUMP_RADII = 4.0
"""Longest displacement by walking in one step, in radii. Longer ones are jumps along stairs, which pass no gate."""


class GateStates(NamedTuple):
    """The memory of gates."""

    shut: Booleans
    """(gates,) whether each gate is closed."""
    passed: Booleans
    """(gates, n) whether each person has passed each gate, in any direction."""
    places: Array
    """(n, 2) positions of people after the last step."""
    through: Booleans
    """(gates, n) whether each person may pass each closed gate: who has stood in it since it closed, to leave it on
    either side, and who is one of the people for whom it was open."""


class Gates(Remembers):
    """The gates of a plan during a run: a change for `solve` that opens and closes them."""

    memory_type = GateStates

    def __init__(self, gates: Sequence[Gate], ends: Array, radii: Array, q0: Array):
        self.gates, self.ends, self.radii = tuple(gates), ends, radii
        wanted = np.array([not gate.is_open(0.0) for gate in gates])
        nobody = np.zeros((len(gates), len(radii)), dtype=bool)
        self.first = GateStates(wanted, nobody, np.array(q0), nobody)
        self.memory = self.first

    def restore(self, memory: GateStates | None) -> None:
        if memory is None:
            self.memory = self.first
            return
        if any(np.shape(now) != np.shape(first) for now, first in zip(memory, self.first, strict=True)):
            raise InvalidValue(f"the memory of gates must have {len(self.gates)} gates and {len(self.radii)} people")
        found = {name: np.asarray(getattr(memory, name), dtype=bool) for name in ("shut", "passed", "through")}
        self.memory = memory._replace(**found)

    @property
    def shut(self) -> Booleans:
        """(gates,) whether each gate is closed."""
        return np.asarray(self.memory.shut)

    @property
    def closed(self) -> Array:
        """(k, 2, 2) ends of the closed gates."""
        return self.ends[self.shut]

    def opens_later(self, t: float) -> bool:
        """Tell whether a closed gate will open after the time t."""
        return any(
            shut and (gate.most is None or who.sum() < gate.most) and bool((np.asarray(gate.open)[:, 0] > t).any())
            for gate, shut, who in zip(self.gates, self.shut, self.memory.passed, strict=True)
        )

    def __call__(self, state: State) -> State:
        before = self.memory
        here = np.ones(len(state.q), dtype=bool) if state.presence is None else state.presence.here
        walked = here & (np.linalg.norm(state.q - before.places, axis=1) <= JUMP_RADII * self.radii)
        passed = before.passed | (walked & np.array([_crossed(ends, before.places, state.q) for ends in self.ends]))
        inside = here & (distance_to(self.ends, state.q) < self.radii)
        late = np.array([not gate.is_open(state.t) for gate in self.gates])
        full = [gate.most is not None and who.sum() >= gate.most for gate, who in zip(self.gates, passed, strict=True)]
        wanted = late | full
        stands = inside & wanted[:, None] & (before.through | ~before.shut[:, None])
        through = stands | (passed & (wanted & ~late)[:, None])
        self.memory = GateStates(wanted, passed, state.q, through)
        return state


def _crossed(ends: Array, old: Array, new: Array) -> Booleans:
    """(n,) whether the path of each person from old to new crosses the segment."""
    a, along = ends[0], ends[1] - ends[0]
    side_old, side_new = (along[0] * (q - a)[:, 1] - along[1] * (q - a)[:, 0] for q in (old, new))
    change = (side_old < 0.0) != (side_new < 0.0)
    share = side_old / np.where(side_old == side_new, 1.0, side_old - side_new)
    part = dot(old + share[:, None] * (new - old) - a, along) / float(along @ along)
    return np.asarray(change & (part >= 0.0) & (part <= 1.0))


class ClosedGates(ConstraintSet):
    """The set {q : dist(q, gate) >= radius} for all closed gates and all people who did not stand in them."""

    by_body = True

    def __init__(self, gates: Gates, radii: Array):
        self.gates, self.radii = gates, radii
        self.leaves = Segments(gates.ends, radii=radii)
        self.convex_gaps, self.moving, self.flat = self.leaves.convex_gaps, False, False

    def __repr__(self) -> str:
        return f"{len(self.gates.gates)} gates"

    def linearise(self, t: float, q: Array, cutoff: Cutoff = np.inf) -> Contacts:
        contacts, memory = self.leaves.near(t, q, cutoff), self.gates.memory
        gate, person = -1 - contacts.pairs[:, 1], contacts.pairs[:, 0]
        return contacts.only(np.flatnonzero(memory.shut[gate] & ~memory.through[gate, person]))

    def crossing(self, step: Step) -> Crossing | None:
        start, end = step.ends
        for number in np.flatnonzero(self.gates.shut):
            held = np.where(self.gates.memory.through[number][:, None], start, end)
            leaf = Segments(self.gates.ends[[number]], radii=self.radii)
            found: Crossing | None = leaf.crossing(step._replace(ends=(start, held)))
            if found is not None:
                return found
        return None


@dataclass(frozen=True, eq=False)
class GatedWalk(Behaviour):
    """The walk to exits by the shortest way through open gates; in front of a closed gate if there is no such way.

    The wish inside is the walk while all gates are open.
    """

    gates: Gates
    find: Callable[[Array], Wish]
    """Finds the walk that does not pass given segments (k, 2, 2)."""
    _walks: dict[bytes, Wish] = field(default_factory=dict)
    """The walks found so far, by the closed gates."""

    @property
    def _now(self) -> Wish:
        shut = self.gates.shut
        if not shut.any():
            return self.wish
        if shut.tobytes() not in self._walks:
            self._walks[shut.tobytes()] = self.find(self.gates.ends[shut])
        return self._walks[shut.tobytes()]

    @property
    def closed(self) -> Array:
        return self.gates.closed

    def chosen(self, q: Array) -> Integers:
        now = self._now.chosen(q)
        stuck = ~np.isfinite(self._now.distance(q, now))
        return np.where(stuck, self.wish.chosen(q), now) if stuck.any() else now

    def towards(self, t: float, q: Array, goal: Integers) -> Array:
        stuck = ~np.isfinite(self._now.distance(q, goal))
        wished = self._now.towards(t, q, goal)
        return np.where(stuck[:, None], self.wish.towards(t, q, goal), wished) if stuck.any() else wished

    def distance(self, q: Array, goal: Integers) -> Array:
        far = self._now.distance(q, goal)
        stuck = ~np.isfinite(far)
        return np.where(stuck, self.wish.distance(q, goal), far) if stuck.any() else far

    def cut_off(self, q: Array, goal: Integers) -> Booleans:
        return ~np.isfinite(self._now.distance(q, goal)) & np.isfinite(self.wish.distance(q, goal))

    def lengths(self, q: Array) -> Array:
        far = self._now.lengths(q)
        stuck = ~np.isfinite(far[: self.eligible]).any(axis=0)
        return np.where(stuck, self.wish.lengths(q), far) if stuck.any() else far

    order = Wish.order  # by the distances above, not by those of the wish inside


def check_gates(gates: Gates, find: Callable[[Array], Wish], q: Array) -> None:
    """Raise, naming the gate and the person, if somebody has no way to an exit because a gate never opens."""
    never = np.array([not (np.asarray(gate.open)[:, 1] > 0.0).any() for gate in gates.gates])
    if not never.any():
        return
    walk = find(gates.ends[never])
    lost = np.flatnonzero(~np.isfinite(walk.length(q)))
    if len(lost):
        name = gates.gates[int(np.argmax(never))].at
        raise InvalidValue(
            f"gate {name!r} never opens, and person {int(lost[0])} at {q[lost[0]].round(3).tolist()} has no other way "
            f"out: open the gate at some time, open=[(from, to), ...], or add another exit"
        )
