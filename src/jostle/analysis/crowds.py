"""Who crossed a line, when, and the flow.

Between two saved frames people walk straight on, leave, or take stairs, which does not count as a walk across what lies
between: see `jostle.io.moves`. With t_1 <= ... <= t_N the times at which N people pass a line of width b for the first
time (Seyfried et al. 2009; N(t) as in PedPy's `compute_n_t`),

    flow            J = (N - 1) / (t_N - t_1), or the slope of the least-squares line through (t_i, i)
    specific flow   J_s = J / b
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from jostle.arguments import check_arguments
from jostle.arrays import Array, Integers, finite
from jostle.errors import InvalidValue
from jostle.io.crowd_runs import HasStairs
from jostle.io.moves import known, moves
from jostle.solution import Solution

END_TOLERANCE = 1e-12
"""Fraction of its length by which a line is extended at both ends, to allow for round-off."""


@dataclass(frozen=True, eq=False)
class Crossings:
    """The crossings of a line, in order of time; see `crossings`."""

    t: Array
    person: Integers
    direction: Integers
    """(m,) +1 from the left to the right of the line, seen from its first end to its second; -1 back."""
    place: Array
    """(m, 2) points at which the line is crossed."""

    def __len__(self) -> int:
        return len(self.t)


@check_arguments
def crossings(sol: Solution, line: ArrayLike, *, plan: HasStairs | None = None) -> Crossings:
    """When, where and in which direction people cross a line segment.

    A person has crossed the line once they are beyond it; a person who stops on the line, or turns back there, has not.

    Parameters
    ----------
    sol : Solution
        A run of people in the plane.
    line : array_like, shape (2, 2)
        The two ends of the segment, ((x, y), (x, y)).
    plan : Plan, optional
        A plan with stairs, on which people change floors. None means the plan of the run.

    Returns
    -------
    Crossings
        One entry for each crossing, in order of time: `t`, `person`, `direction` and `place` (m, 2). The direction is
        +1 from the left to the right of the line, seen from its first end to its second, and -1 back. The door of a
        `Room` whose ends run counter-clockwise around it is left in direction +1.

    Raises
    ------
    InvalidValue
        If the ends of the line are not two different points.

    Examples
    --------
    >>> import jostle as jo
    >>> walker = jo.Sweeping(q0=[[0.0, 0.0]], velocity=[1.0, 0.0], within=jo.Balls([0.2]))
    >>> found = crossings(jo.solve(walker, jo.Venel(), t=1.0, h=0.1), ((0.25, -1), (0.25, 1)))
    >>> found.t.round(9).tolist(), found.person.tolist(), found.direction.tolist()
    ([0.25], [0], [1])
    """
    first, along, length = _segment(line)
    right = np.array([along[1], -along[0]])
    side: Array | None = None
    found = []
    for move in known(moves(sol, plan)):
        height = [(x - first) @ right for x in (move.before, move.after)]
        was, now = (np.nan_to_num(np.sign(h)) for h in height)
        side = was if side is None else np.where(move.landed, was, side)
        person = np.flatnonzero(side * now < 0.0)
        part = height[0][person] / (height[0] - height[1])[person]
        place = move.before[person] + part[:, None] * (move.after - move.before)[person]
        at = (place - first) @ along
        on = np.abs(at - length / 2.0) <= (0.5 + END_TOLERANCE) * length
        found.append((move.time(person, part)[on], person[on], now[person][on], place[on]))
        side = np.where(now != 0.0, now, side)
    if not found:
        return Crossings(np.zeros(0), np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64), np.zeros((0, 2)))
    t, who, direction, place = (np.concatenate(column) for column in zip(*found, strict=True))
    order = np.argsort(t, kind="stable")
    return Crossings(t[order], who[order], direction[order].astype(np.int64), place[order])


def _segment(line: ArrayLike) -> tuple[Array, Array, float]:
    ends = finite(line, "line")
    if ends.shape != (2, 2) or (ends[0] == ends[1]).all():
        raise InvalidValue(f"a line needs two different points ((x, y), (x, y)), not {ends.tolist()}")
    length = float(np.linalg.norm(ends[1] - ends[0]))
    return ends[0], (ends[1] - ends[0]) / length, length


@dataclass(frozen=True, eq=False)
class Flow:
    """The number of people who passed a line over time; see `flow`."""

    t: Array
    """(k,) saved times."""
    count: Integers
    """(k,) N(t), the number of people who had passed by each saved time."""
    passed: Array
    """(N,) times at which people passed for the first time, sorted."""
    mean: float
    """J in people per second between the first and the last passage; NaN if fewer than two passed, or all at once."""
    slope: float
    """J as the slope of N(t) in people per second; NaN if fewer than two passed, or all at once."""
    width: float

    @property
    def specific(self) -> float:
        """J_s in people per second and metre of width; NaN if J is NaN."""
        return self.mean / self.width


@check_arguments
def flow(sol: Solution, line: ArrayLike, *, direction: int = 0, plan: HasStairs | None = None) -> Flow:
    """The number of people who have passed a line as a function of time, and the flow through it.

    Parameters
    ----------
    sol : Solution
        A run of people in the plane.
    line : array_like, shape (2, 2)
        The two ends of the line, ((x, y), (x, y)).
    direction : int, default 0
        +1 or -1 counts only people who cross in this direction (see `crossings`), 0 counts both.
    plan : Plan, optional
        A plan with stairs, on which people change floors. None means the plan of the run.

    Returns
    -------
    Flow
        The fields are the saved times `t` (k,), the `count` N(t) (k,), the first times `passed` (N,) of N people, the
        `mean` flow (N - 1) / (t_N - t_1) and the `slope` of N(t) in people per second, the `width` of the line, and the
        `specific` flow per metre.

    Raises
    ------
    InvalidValue
        If the ends of the line are not two different points, or if `direction` is not -1, 0 or +1.

    Examples
    --------
    >>> import jostle as jo
    >>> file = jo.Sweeping(q0=[[-0.8 * k, 0.0] for k in range(6)], velocity=[1.2, 0.0], within=jo.Balls([0.2] * 6))
    >>> found = flow(jo.solve(file, jo.Venel(), t=10.0, h=0.05), ((2, -1), (2, 1)))
    >>> int(found.count[-1]), round(found.mean, 9), round(found.slope, 9), round(found.specific, 9)
    (6, 1.5, 1.5, 0.75)
    """
    if direction not in (-1, 0, 1):
        raise InvalidValue(f"direction must be +1, -1, or 0 for both, not {direction}")
    crossed = crossings(sol, line, plan=plan)
    chosen = np.full(len(crossed), True) if direction == 0 else crossed.direction == direction
    _, first = np.unique(crossed.person[chosen], return_index=True)
    passed = np.sort(crossed.t[chosen][first])
    count = np.searchsorted(passed, sol.t, side="right")
    mean = slope = np.nan
    if len(passed) > 1 and passed[-1] > passed[0]:
        mean = (len(passed) - 1) / float(passed[-1] - passed[0])
        off = passed - passed.mean()
        slope = float(off @ np.arange(len(passed)) / (off @ off))
    return Flow(np.asarray(sol.t), count, passed, mean, slope, _segment(line)[2])
