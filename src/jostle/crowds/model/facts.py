"""What a trajectory keeps of a crowd, for measures and pictures: speeds, reaction times, gates and known exits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from jostle._tools.arrays import Array, Booleans, Integers, finite
from jostle.errors import InvalidValue
from jostle.plans.openings import Gate

if TYPE_CHECKING:
    from jostle.result.facts import Facts
    from jostle.result.solution import Solution


class CrowdFacts(NamedTuple):
    """What is known of the people of a run; the defaults are those of a run of something else."""

    speeds: Array | None = None
    """(n,) desired speeds; None if they are unknown."""
    reaction: Array | None = None
    """(n,) times before which people do not walk; None if they are unknown."""
    gates: tuple[Gate, ...] = ()
    """Doors and exits that open and close."""
    exits: Booleans | None = None
    """(n, exits) whether each person may leave by each exit, in a crowd with gates; None if that is unknown."""
    goals: Integers | None = None
    """(n,) exit that each person was given, -1 for people without one; None if nobody was given one."""


_read: WeakKeyDictionary[Facts, CrowdFacts] = WeakKeyDictionary()
"""What was read, by the facts of the trajectories."""


def crowd_facts(sol: Solution) -> CrowdFacts:
    """What is known of the people of a run.

    >>> import jostle as jo
    >>> room = jo.crowds.Room([(0, 0), (5, 0), (5, 4), (0, 4)], doors=[((5, 1.2), (5, 2.8))])
    >>> crowd_facts(jo.solve(jo.crowds.crowd(2, radius=0.25, room=room, speed=1.2), jo.Venel(), t=0.1, h=0.05)).speeds
    array([1.2, 1.2])
    """
    facts = sol.facts
    if facts not in _read:
        said, n = facts.carried, sol.q.shape[1]
        try:
            _read[facts] = CrowdFacts(
                _of_people("speeds", said.get("speeds"), n), _of_people("reaction", said.get("reaction"), n),
                tuple(Gate(one["at"], open=one["open"], most=one["most"]) for one in said.get("gates", ())),
                _exits(said.get("exits"), n),
                None if said.get("goals") is None else np.broadcast_to(np.array(said["goals"], dtype=np.int64), (n,)),
            )  # fmt: skip
        except (ValueError, TypeError, LookupError, AttributeError, OverflowError) as error:
            raise InvalidValue(f"the stored facts about people are damaged: {error}") from None
    return _read[facts]


def _of_people(name: str, said: Any, n: int) -> Array | None:
    if said is None:
        return None
    found = finite(said, name)
    if found.shape not in ((), (n,)) or (found < 0.0).any():
        raise ValueError(f"{name} of shape {found.shape} for {n} people")
    return np.array(np.broadcast_to(found, (n,)))


def _exits(said: Any, n: int) -> Booleans | None:
    if said is None:
        return None
    sets, number = np.array(said["sets"], dtype=bool), np.array(said["number"], dtype=np.int64)
    if sets.ndim != 2 or number.shape != (n,) or number.min(initial=0) < 0:
        raise ValueError(f"exits of shape {sets.shape} for {len(number)} people")
    return np.asarray(sets[number])
