"""Crowds in which nobody moves although people are inside: who blocks whom, and where.

A run is blocked if its status is "blocked", or if in its last STANDSTILL seconds nobody moved by more than a
fraction of their radius (STANDSTILL_DISTANCE), somebody is inside, and they want to walk. They do

- if contacts were saved and some carry a force: in a first-order run u - U = G^T p, so u = 0 and p > 0 mean U != 0;
- or if the problem is known, in a run that has not been read from a file: people have a desired speed and none of
  them waits on purpose, or the wish is a plain function and not zero.

People who missed their exits, because all of them have closed for good, do not count: they have nowhere to go.

People who stand still without pushing may wait on purpose (reaction times, queues) if their wish is not known. That is
a standstill, not a blockade. Runs of scenarios know the wish while they run, and store the result as their status.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import pairwise
from typing import Any

import numpy as np

from jostle._tools.arguments import check_arguments
from jostle._tools.arrays import Array, Booleans, Integers
from jostle.crowds.measure.leaving import Crossed, desired_speeds, known_plan, watch
from jostle.crowds.measure.moves import planar, radii_in
from jostle.crowds.model.crowd import STANDSTILL, STANDSTILL_DISTANCE, WITHOUT_PROGRESS
from jostle.crowds.model.facts import crowd_facts
from jostle.plans.openings import ends_of, named_openings
from jostle.plans.outlines import distance_to, nearest_on
from jostle.plans.plan import present, walkable
from jostle.problems import Sweeping
from jostle.result.solution import Solution
from jostle.result.status import BLOCKED
from jostle.sets.outlines import BALL, SEGMENTS

SLOW_FRACTION = 0.05
"""People who are slower than this fraction of their desired speed for STANDSTILL seconds count as stuck or waiting."""
TOUCHING_GAP = 0.01
"""People touch if the gap between them is smaller than this fraction of the smaller radius."""
BLOCKING_GAP = 0.5
"""People with a gap of less than this fraction of the smaller radius block each other, if nobody touches."""
MAX_NAMED_PEOPLE = 8
"""Largest number of people that a message names."""


@dataclass(frozen=True, eq=False)
class Blockade:
    """Who does not move, and who blocks them; see `blockade`."""

    since: float
    certain: bool
    people: Integers
    opening: str
    arch: tuple[int, ...]
    pairs: tuple[tuple[int, int], ...]

    def __str__(self) -> str:
        count = len(self.people)
        who = f"{count} {'person' if count == 1 else 'people'}"
        text = f"nobody has moved on since t = {self.since:.4g}, {who} inside; "
        if self.arch:
            text += f"an arch of {len(self.arch)} blocks {self.opening}: wall - {_listed(self.arch)} - wall"
        elif self.pairs:
            named = [f"{i} and {'a wall' if j < 0 else j}" for i, j in self.pairs[:MAX_NAMED_PEOPLE]]
            more = f" and {len(self.pairs) - MAX_NAMED_PEOPLE} more pairs" if len(self.pairs) > MAX_NAMED_PEOPLE else ""
            text += f"people who block each other, nearest to {self.opening}: {', '.join(named)}{more}"
        else:
            text += f"there are no contacts at the front, near {self.opening}"
        if not self.certain:
            text += "; they do not push, so they may be waiting on purpose"
        return text


@check_arguments
def blockade(sol: Solution, plan: Any = None) -> Blockade | None:
    """Find the blockade at the end of a run, with the arch of people that causes it.

    Parameters
    ----------
    sol : Solution
        A run of people in the plane, also one read from a file.
    plan : Plan, optional
        The floor plan. None means the plan of the run.

    Returns
    -------
    Blockade or None
        None if somebody has moved in the last 10 s, or if nobody is inside. Otherwise the fields are `since` (time of
        the last movement), `certain` (False if people may be waiting on purpose), `people` inside (m,), the `opening`
        nearest to the front of the crowd, the `arch` (people in contact from the wall on one side of the opening to
        that on the other; empty without an arch) and the `pairs` that touch, in the arch or at the front, with -1 for a
        wall; ``str`` gives a sentence.

    Examples
    --------
    >>> import jostle as jo
    >>> plan = jo.crowds.Plan([(0, 0), (5, 0), (5, 4), (0, 4)], exits={"gate": ((5, 1.75), (5, 2.25))})
    >>> q0 = [[4.0, 1.78], [4.0, 2.22]]
    >>> two = jo.crowds.crowd(2, radius=0.2, room=plan, q0=q0, wish=lambda t, q: [1.0, 0.0])
    >>> print(blockade(jo.solve(two, jo.Venel(), t=15.0, h=0.1)))
    nobody has moved on since t = 0.8, 2 people inside; an arch of 2 blocks exit 'gate': wall - 0 - 1 - wall
    """
    known = known_plan(sol, plan, "blockade")
    lines = gate_lines(sol, known)
    if any(gate.most is not None for gate in crowd_facts(sol).gates):
        watch(sol, known, *lines.values())
    return blockade_of(sol, known, missed(sol, known, lines))


def blockade_of(sol: Solution, known: Any, late: Booleans) -> Blockade | None:
    """The blockade at the end of a run in which some people (n,) missed their exits."""
    last = len(sol.t) - 1
    q, radii = np.asarray(planar(sol).q[last]), radii_in(sol, last)
    people = np.flatnonzero(present(q, walkable(known)) & ~late)
    if len(people) == 0 or last == 0:
        return None
    since = _standing_since(sol, radii)
    certain = sol.status == BLOCKED
    if certain and sol.t[last] - since < STANDSTILL * (1.0 - 1e-9):  # people step to and fro
        since = float(sol.t[last]) - WITHOUT_PROGRESS
    if not certain:
        if sol.t[last] - since < STANDSTILL * (1.0 - 1e-9):
            return None
        certain = _wants_to_walk(sol, q)
    x, r = q[people], radii[people]
    touching, reach = _touching(x, r, TOUCHING_GAP), TOUCHING_GAP
    walls = _wall_points(sol, last, x, r)
    if len(touching) == 0 and not any(len(points) for points in walls):
        touching, reach = _touching(x, r, BLOCKING_GAP), BLOCKING_GAP
    openings = {one.name: one.ends for one in named_openings(known)}
    far = dict(zip(openings, distance_to(np.array(list(openings.values())), x), strict=True))
    for name in sorted(openings, key=lambda name: float(far[name].min())):
        arch = _arch(touching, walls, openings[name], far[name]) if reach == TOUCHING_GAP else ()
        if arch:
            chain = [*(int(people[k]) for k in arch)]
            pairs = [(chain[0], -1), *pairwise(chain), (chain[-1], -1)]
            return Blockade(since, certain, people, name, tuple(chain), tuple(pairs))
    name = min(openings, key=lambda name: float(far[name].min()))
    order = sorted(touching.tolist(), key=lambda pair: float(far[name][pair].min()))
    held = tuple((int(people[i]), int(people[j])) for i, j in order)
    return Blockade(since, certain, people, name, (), held)


def gate_lines(sol: Solution, plan: Any) -> dict[str, Crossed]:
    """The crossings of each gate of a run, to be watched."""
    gates = crowd_facts(sol).gates
    return {gate.at: Crossed(ends) for gate, ends in zip(gates, ends_of(gates, plan), strict=True)}


def missed(sol: Solution, plan: Any, lines: Mapping[str, Crossed]) -> Booleans:
    """(n,) whether each person is inside at the end although all exits by which they may leave have closed for good.

    The crossings of the gates tell how many people have passed them.
    """
    q, t, facts = np.asarray(sol.q[len(sol.t) - 1]), float(sol.t[-1]), crowd_facts(sol)
    shut = {
        gate.at
        for gate in facts.gates
        if not (np.asarray(gate.open)[:, 1] > t).any()
        or (gate.most is not None and len(lines[gate.at].passed) >= gate.most)
    }
    closed = np.array([name in shut for name in plan.exits])
    usable = np.ones((len(q), len(closed)), dtype=bool)
    if facts.exits is not None and facts.exits.shape == usable.shape:  # another plan may have been given
        usable = facts.exits
    return np.asarray(present(q, walkable(plan)) & ~(usable & ~closed).any(axis=1))


def standing(sol: Solution, plan: Any, late: Booleans) -> Booleans:
    """(n,) whether each person inside was slower than SLOW_FRACTION in the last STANDSTILL seconds of a run.

    People who missed their exits (n,) do not count, nor do people who wait on purpose, if the wish of the run is known.
    """
    last, t = len(sol.t) - 1, np.asarray(sol.t)
    q, most = np.asarray(sol.q[last]), SLOW_FRACTION * STANDSTILL * desired_speeds(sol)[0]
    stands = present(q, walkable(plan)) & ~late & bool(t[last] - t[0] >= STANDSTILL * (1.0 - 1e-9))
    wish: Any = getattr(sol.problem, "wish", None)
    if hasattr(wish, "waits"):
        stands &= ~wish.waits(float(t[last]), len(q))
    if not stands.any():
        return np.asarray(stands)
    first = int(np.searchsorted(t, t[last] - STANDSTILL * (1.0 - 1e-9), side="right")) - 1
    for k in range(max(first, 0), last):
        before = np.asarray(sol.q[k])
        with np.errstate(invalid="ignore"):
            stands &= np.linalg.norm(before - q, axis=1) <= most  # absent people have NaN
    return np.asarray(stands)


def _standing_since(sol: Solution, radii: Array) -> float:
    """The saved time after which nobody came, went or moved by more than a fraction of their radius."""
    last = np.asarray(sol.q[len(sol.t) - 1])
    here = present(last)
    scale: Array = np.where(radii > 0.0, radii, float(radii.max(initial=0.0)) or 1.0)
    since = len(sol.t) - 1
    for k in range(len(sol.t) - 2, -1, -1):
        q = np.asarray(sol.q[k])
        if np.any(present(q) != here):
            break
        if np.any(np.linalg.norm(q - last, axis=1)[here] > STANDSTILL_DISTANCE * scale[here]):
            break
        since = k
    return float(sol.t[since])


def _wants_to_walk(sol: Solution, q: Array) -> bool:
    """Tell whether contacts carry forces, or somebody inside wants to walk; False if neither is known."""
    if sol.contacts_saved and np.any(np.asarray(sol.multipliers[len(sol.t) - 1])):
        return True
    if not isinstance(sol.problem, Sweeping):
        return False
    t, here = float(sol.t[-1]), present(q)
    speeds = crowd_facts(sol).speeds
    if speeds is None:  # a wish that is a plain function
        return bool(np.any(np.asarray(sol.problem.velocity(t, np.where(here[:, None], q, q[here][0])))[here]))
    wish: Any = getattr(sol.problem, "wish", None)
    waits = wish.waits(t, len(q)) if hasattr(wish, "waits") else np.zeros(len(q), dtype=bool)
    return bool(np.any(here & (speeds > 0.0) & ~waits))


def _touching(x: Array, r: Array, part: float) -> Integers:
    """(m, 2) pairs of people whose gap is smaller than the fraction `part` of the smaller radius."""
    from scipy.spatial import cKDTree

    pairs = cKDTree(x).query_pairs((2.0 + part) * float(r.max(initial=0.0)), output_type="ndarray")
    i, j = pairs.T
    gap = np.linalg.norm(x[i] - x[j], axis=1) - r[i] - r[j]
    return np.asarray(pairs[gap < part * np.minimum(r[i], r[j])])


def _wall_points(sol: Solution, k: int, x: Array, r: Array) -> list[list[Array]]:
    """For each person, the points at which they touch straight walls and columns."""
    found: list[list[Array]] = [[] for _ in x]
    for shape in sol.shapes(k):
        if shape.kind == SEGMENTS:
            ends = np.asarray(shape.points, dtype=float).reshape(-1, 2, 2)
            for near in nearest_on(ends[:, None], x):
                for person in np.flatnonzero(np.linalg.norm(x - near, axis=1) - r < TOUCHING_GAP * r):
                    found[person].append(near[person])
        elif shape.kind == BALL:
            centre, radius = np.asarray(shape.points[0]), float(shape.points[1][0])
            away = np.linalg.norm(x - centre, axis=1)
            for person in np.flatnonzero(away - r - radius < TOUCHING_GAP * r):
                found[person].append(centre + (x[person] - centre) * radius / away[person])
    return found


def _arch(touching: Integers, walls: list[list[Array]], opening: Array, far: Array) -> tuple[int, ...]:
    """The chain of contacts nearest to an opening, from the wall on one side to the other, by Dijkstra's algorithm."""
    middle, along = opening.mean(axis=0), opening[1] - opening[0]
    width = float(np.linalg.norm(along))

    def on(side: float, points: Iterable[Array]) -> bool:
        places = [float((point - middle) @ along) / width for point in points]
        return any(side * place >= (0.5 - TOUCHING_GAP) * width for place in places)

    first = [k for k, points in enumerate(walls) if on(-1.0, points)]
    last = {k for k, points in enumerate(walls) if on(1.0, points)}
    neighbours: dict[int, list[int]] = {}
    for i, j in touching.tolist():
        neighbours.setdefault(i, []).append(j)
        neighbours.setdefault(j, []).append(i)
    queue: list[tuple[float, tuple[int, ...]]] = [(float(far[k]), (k,)) for k in first]
    queue.sort()
    done: set[int] = set()
    while queue:
        cost, chain = heappop(queue)
        if chain[-1] in done:
            continue
        done.add(chain[-1])
        if chain[-1] in last:
            return chain
        for other in neighbours.get(chain[-1], []):
            if other not in done:
                heappush(queue, (cost + float(far[other]), (*chain, other)))
    return ()


def _listed(chain: tuple[int, ...]) -> str:
    if len(chain) <= MAX_NAMED_PEOPLE:
        return " - ".join(map(str, chain))
    return " - ".join([*map(str, chain[: MAX_NAMED_PEOPLE - 1]), "...", str(chain[-1])])
