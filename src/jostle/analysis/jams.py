"""Jams: where and when people could not walk at their own speed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from jostle.analysis.evacuation import leaving_times
from jostle.analysis.exits import distance_to_segment, known_plan, openings_of
from jostle.analysis.walks import stretches
from jostle.arguments import check_arguments
from jostle.arrays import Array
from jostle.solution import Solution

JAM_PEOPLE = 5
"""Smallest number of people at one opening that make a jam."""
JAM_DURATION = 2.0
"""Shortest total duration of a jam (s)."""


@dataclass(frozen=True, eq=False)
class Jam:
    """People who hardly move in front of an opening; see `jams`."""

    opening: str
    """Nearest exit, stairs or door."""
    people: int
    """Largest number of people in the jam at the same time."""
    t: float
    """Time of the largest number of people."""
    place: Array
    """(2,) mean position of the people in the jam at that time."""
    start: float
    end: float
    duration: float
    """Total time between start and end for which at least JAM_PEOPLE people were in the jam."""


@check_arguments
def jams(sol: Solution, plan: Any = None) -> list[Jam]:
    """The jams at the exits, stairs and doors of a floor plan, the largest first.

    People are in a jam while they are slower than 20 % of their desired speed; each belongs to the opening that is
    nearest in a straight line. A jam has at least 5 people and lasts for at least 2 s in all.

    Parameters
    ----------
    sol : Solution
        A run of people in the plane.
    plan : Plan, optional
        The floor plan. None means the plan of the run.

    Returns
    -------
    list of Jam
        For each jam the `opening`, the largest number of `people` at the same time, its time `t` and the mean `place`
        of these people, the `start`, the `end`, and the `duration` in all.

    Raises
    ------
    InvalidValue
        If the plan of the run is not known.

    Examples
    --------
    >>> import jostle as jo
    >>> plan = jo.crowds.Plan([(0, 0), (5, 0), (5, 4), (0, 4)], exits={"gate": ((5, 1.5), (5, 2.0))})
    >>> people = jo.crowds.crowd(20, radius=0.2, room=plan, speed=1.3)
    >>> sol = jo.solve(people, jo.Venel(), t=20.0, h=0.05, change=plan.changes(people))
    >>> [(jam.opening, jam.people >= 10) for jam in jams(sol)]
    [("exit 'gate'", True)]
    """
    known = known_plan(sol, plan, "jams")
    left, openings = leaving_times(sol, known), openings_of(known)
    best: dict[str, tuple[int, float, Array]] = {}
    spans: dict[str, list[tuple[float, float]]] = {}
    for each in stretches(sol, known, left):
        who = np.flatnonzero(each.jammed)
        if len(who) < JAM_PEOPLE:
            continue
        far = np.stack([distance_to_segment(each.place[who], ends) for ends in openings.values()])
        nearest = far.argmin(axis=0)
        for number, name in enumerate(openings):
            here = who[nearest == number]
            if len(here) < JAM_PEOPLE:
                continue
            t = float(each.start[here].min())
            spans.setdefault(name, []).append((t, float((each.start + each.dt)[here].max())))
            if len(here) > best.get(name, (0,))[0]:
                best[name] = (len(here), t, each.place[here].mean(axis=0))
    found = []
    for name, (people, t, place) in best.items():
        duration = float(sum(end - start for start, end in spans[name]))
        if duration >= JAM_DURATION:
            found.append(Jam(name, people, t, place, spans[name][0][0], spans[name][-1][1], duration))
    return sorted(found, key=lambda jam: -jam.people)
