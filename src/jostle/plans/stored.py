"""Plans in trajectories: the arguments of a plan as a file stores them, and the plan of a run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np

from jostle._tools.arrays import finite
from jostle.errors import InvalidValue, MissingPackage
from jostle.plans.areas import Area
from jostle.plans.links import Link
from jostle.plans.outlines import all_corners, package
from jostle.plans.plan import Plan

if TYPE_CHECKING:
    from jostle.result.facts import Facts
    from jostle.result.solution import Solution


def stored(plan: Plan) -> dict[str, Any]:
    """The arguments of a plan as lists, numbers and texts, which a file can store; `restored` makes the plan of them.

    >>> stored(Plan([(0, 0), (4, 0), (4, 3)], exits={"east": ((4, 1), (4, 2))}))["exits"]
    {'east': [[4.0, 1.0], [4.0, 2.0]]}
    """
    rooms = [
        [room.tolist()] if isinstance(room, np.ndarray) else [ring.tolist() for ring in all_corners(room)]
        for room in plan._rooms
    ]
    found: dict[str, Any] = {"rooms": rooms, "exits": {name: ends.tolist() for name, ends in plan.exits.items()}}
    given = {"doors": plan.doors, "walls": plan._thin, "columns": plan.columns}
    found |= {name: value.tolist() for name, value in given.items() if len(value)}
    if plan.links:
        found["links"] = [
            {key: np.asarray(value).tolist() for key, value in vars(link).items()} for link in plan.links.values()
        ]
    if plan.labels:
        found["labels"] = {name: at.tolist() for name, at in plan.labels.items()}
    if plan.areas:
        found["areas"] = [
            {"name": one.name, "corners": np.asarray(one.corners).tolist(), "counts": one.counts}
            for one in plan.areas.values()
        ]
    return found


def restored(values: Mapping[str, Any]) -> Plan:
    """The plan whose arguments a file has stored."""
    try:
        rooms = [[finite(ring, "rooms") for ring in room] for room in values["rooms"]]
        plain = len(rooms) == 1 and len(rooms[0]) == 1
        links = [Link(**link) for link in values.get("links", ())]
        area = rooms[0][0] if plain else [package("shapely").Polygon(room[0], room[1:]) for room in rooms]
        areas = [Area(**one) for one in values.get("areas", ())]
        more = {name: values[name] for name in ("doors", "walls", "columns", "labels") if name in values}
        return Plan(area, exits=values["exits"], links=links, areas=areas, **more)
    except InvalidValue:
        raise
    except (ValueError, TypeError, LookupError, AttributeError, OverflowError) as error:
        raise InvalidValue(f"the stored floor plan is damaged: {error}") from None


_restored: WeakKeyDictionary[Facts, Plan | None] = WeakKeyDictionary()
"""The plans that were restored, by the facts of their trajectories."""


def plan_of(sol: Solution) -> Plan | None:
    """The floor plan of a run, from its problem or from its file; None if it is unknown, or needs a missing package.

    >>> import jostle as jo
    >>> room = jo.crowds.Room([(0, 0), (5, 0), (5, 4), (0, 4)], doors=[((5, 1.2), (5, 2.8))])
    >>> sol = jo.solve(jo.crowds.crowd(1, radius=0.25, room=room), jo.Venel(), t=0.1, h=0.05)
    >>> plan_of(sol) is room
    True
    """
    own = getattr(sol.problem, "plan", None)
    if isinstance(own, Plan):
        return own
    facts = sol.facts
    if facts not in _restored:
        said = facts.carried.get("plan")
        try:
            _restored[facts] = None if said is None else restored(said)
        except MissingPackage:
            return None
    return _restored[facts]
