"""By which exit each person left, and when: N(t) and the flow of each exit.

With t_1 <= ... <= t_N the times at which N people left by an exit of width b,

    flow            J = (N - 1) / (t_N - t_1)
    specific flow   J_s = J / b
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from jostle.analysis.crowds import crossings
from jostle.analysis.evacuation import leaving_times
from jostle.arguments import check_arguments
from jostle.arrays import Array, Integers
from jostle.errors import InvalidValue
from jostle.io.areas import present, walkable
from jostle.io.crowd_runs import plan_of, planar
from jostle.io.moves import known as known_moves
from jostle.io.moves import moves
from jostle.solution import Solution

NO_PLAN = (
    "the plan of this run is unknown, and so are its exits: give the plan, such as {asked}(sol, plan), or run it "
    "with jo.crowds.crowd or a scenario of kind 'crowd', whose files contain the plan"
)
"""Message for runs whose plan is not known."""
RUNNING_SPEED = 3.0
"""Largest speed of a person between two frames, in m/s."""


@dataclass(frozen=True, eq=False)
class ExitUse:
    """The people who left by one exit, with their times; see `exit_use`."""

    name: str
    width: float
    person: Integers
    """(N,) numbers of the people who left by this exit, in order of time."""
    t: Array
    """(N,) times at which people left by this exit."""

    @property
    def count(self) -> int:
        """The number of people who left by this exit."""
        return len(self.t)

    @property
    def flow(self) -> float:
        """J in people per second between the first and the last; NaN if fewer than two left, or all at once."""
        if len(self.t) < 2 or self.t[-1] <= self.t[0]:
            return np.nan
        return (len(self.t) - 1) / float(self.t[-1] - self.t[0])

    @property
    def specific(self) -> float:
        """J_s in people per second and metre of width; NaN if J is NaN."""
        return self.flow / self.width

    def passed(self, t: Array) -> Integers:
        """N(t), the number of people who had left by this exit at the times t."""
        return np.searchsorted(self.t, t, side="right")


def known_plan(sol: Solution, plan: Any, asked: str) -> Any:
    """The given plan, or the plan of the run; raises if neither is known."""
    found = plan_of(sol) if plan is None else plan
    if found is None:
        raise InvalidValue(NO_PLAN.format(asked=asked))
    if not getattr(found, "exits", None):
        raise InvalidValue(f"{asked} needs a plan with named exits, such as jo.crowds.Plan, not {plan!r}")
    return found


@check_arguments
def exit_use(sol: Solution, plan: Any = None) -> dict[str, ExitUse]:
    """The people who left by each exit of a floor plan, with their times.

    Everyone is counted once, at the exit that they crossed last before they left the plan. The path of a person between
    two frames is taken as straight. If it misses all exits, the exit nearest to its end counts, provided that they
    could run there.

    Parameters
    ----------
    sol : Solution
        A run of people in the plane.
    plan : Plan, optional
        The floor plan. None means the plan of the run.

    Returns
    -------
    dict of str to ExitUse
        For each exit its `name`, its `width`, the numbers `person` (N,) and the times `t` (N,) of the people who left,
        their `count`, the `flow` in people per second, and the `specific` flow per metre of width.

    Raises
    ------
    InvalidValue
        If the plan of the run is not known, or has no named exits.

    Examples
    --------
    >>> import jostle as jo
    >>> exits = {"west": ((0, 1), (0, 2)), "east": ((9, 1), (9, 2.2))}
    >>> plan = jo.crowds.Plan([(0, 0), (9, 0), (9, 3), (0, 3)], exits=exits)
    >>> people = jo.crowds.crowd(3, radius=0.2, room=plan, q0=[[1, 1], [2, 1], [8, 1]])
    >>> sol = jo.solve(people, jo.Venel(), t=20.0, h=0.05, until=plan.empty, change=plan.changes(people))
    >>> [(one.name, one.count, round(one.width, 9)) for one in exit_use(sol).values()]
    [('west', 2, 1.0), ('east', 1, 1.2)]
    """
    known = known_plan(sol, plan, "exit_use")
    left = leaving_times(sol, known)
    names = list(known.exits)
    last, by = np.full(len(left), -np.inf), np.full(len(left), -1)
    for number, ends in enumerate(known.exits.values()):
        found = crossings(sol, ends, plan=known)
        for t, who in zip(found.t, found.person, strict=True):
            if t >= last[who]:
                last[who], by[who] = t, number
    unknown = (by < 0) & np.isfinite(left)
    if unknown.any():
        by[unknown] = _nearest_exits(sol, known)[unknown]
    uses = {}
    for number, name in enumerate(names):
        who = np.flatnonzero((by == number) & np.isfinite(left))
        who = who[np.argsort(left[who], kind="stable")]
        width = float(np.linalg.norm(np.diff(np.asarray(known.exits[name]), axis=0)))
        uses[name] = ExitUse(name, width, who, left[who])
    return uses


def _nearest_exits(sol: Solution, plan: Any) -> Integers:
    """(n,) exit nearest to the end of the path of each person, or -1 if they could not have run there in the time."""
    polygon = walkable(plan)
    inside = present(np.asarray(planar(sol).q[0]), polygon)
    by = np.full(len(inside), -1)
    for move in known_moves(moves(sol, plan)):
        now = present(move.after, polygon) & ~move.gone
        person = np.flatnonzero(inside & ~now)
        ends = move.after[person]
        far = np.array([distance_to_segment(ends, np.asarray(exit_, dtype=float)) for exit_ in plan.exits.values()])
        reach = RUNNING_SPEED * (move.end - move.start)[person]
        by[person] = np.where(far.min(axis=0) <= reach, far.argmin(axis=0), -1)
        inside = now
    return by


def openings_of(plan: Any) -> dict[str, Array]:
    """The exits, stairs and doors of a plan as segments (2, 2), by their names in messages.

    >>> import jostle as jo
    >>> plan = jo.crowds.Plan([(0, 0), (4, 0), (4, 3), (0, 3)], exits={"east": ((4, 1), (4, 2))})
    >>> list(openings_of(plan))
    ["exit 'east'"]
    """
    named = {f"exit {name!r}": np.asarray(ends, dtype=float) for name, ends in plan.exits.items()}
    named |= {f"stairs {name!r}": np.asarray(link.start) for name, link in getattr(plan, "links", {}).items()}
    return named | {f"door {k}": np.asarray(ends) for k, ends in enumerate(getattr(plan, "doors", ()))}


def distance_to_segment(x: Array, ends: Array) -> Array:
    """(n,) the distance of the points x (n, 2) to the segment ends (2, 2).

    >>> distance_to_segment(np.array([[0.0, 2.0], [5.0, 0.0]]), np.array([[-1.0, 0.0], [1.0, 0.0]])).tolist()
    [2.0, 4.0]
    """
    along = ends[1] - ends[0]
    part = np.clip((x - ends[0]) @ along / (along @ along), 0.0, 1.0)
    return np.asarray(np.linalg.norm(x - ends[0] - part[:, None] * along, axis=1))
