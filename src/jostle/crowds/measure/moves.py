"""What a saved run tells about people: plan, radii, speeds, and how they move between two saved frames.

People who are removed between two frames (`Outlet`) were last seen before they left. They are assumed to walk on with
their last velocity, for at most MAX_WALKING_ON times the time between the frames, so that they cross a line just before
the outlet.

The floors of a plan are drawn side by side, and stairs move people from one to the other: a jump, not a walk across the
space between. If the plan is known, a jump is detected by the floor, which differs from the floor before. Otherwise,
and on the same floor, it is detected by the displacement, if it exceeds JUMP_FACTOR times what the fastest desired or
recorded speed allows. In a plan with stairs the person walks to the end of the stairs, and on from their landing;
without a plan this way is unknown.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from jostle._tools.arrays import Array, Booleans, Integers
from jostle.crowds.model.facts import crowd_facts
from jostle.errors import InvalidValue
from jostle.plans.links import Passage
from jostle.plans.plan import Plan, floors, present
from jostle.plans.stored import plan_of
from jostle.problems import Sweeping
from jostle.result.solution import Solution

# What is known about a run of people: the floor plan, the radii and the fastest speed.


def radii_in(sol: Solution, k: int) -> Array:
    """(n,) the radii of people in frame k, from the problem or from the file; 0 if they are unknown.

    >>> import jostle as jo
    >>> walker = jo.Sweeping(q0=[[0.0, 0.0]], velocity=[1.5, 0.0], within=jo.Balls([0.2]))
    >>> radii_in(jo.solve(walker, jo.Venel(), t=1.0, h=0.5), 0).tolist()
    [0.2]
    """
    if sol.problem is not None:
        radii = sol.problem.bodies.radii_at(float(sol.t[k]))
    elif sol.radii is None:
        radii = np.zeros(())
    else:
        k = range(len(sol.t))[k]
        now, before = sol.radii[k], sol.radii[max(k - 1, 0)]
        radii = np.where(now > 0.0, now, before)  # people who left in the last step are not in the frame
    return np.broadcast_to(radii, sol.q.shape[1])


def planar(sol: Solution) -> Solution:
    """Check that a solution is one of bodies in the plane, and return it."""
    if sol.q.ndim != 3 or sol.q.shape[2] != 2:
        raise InvalidValue(f"people walk in the plane: q must have the shape (frames, n, 2), not {sol.q.shape}")
    return sol


def _states(sol: Solution, among: range | None) -> Iterator[tuple[float, Array, Array]]:
    """The times, positions and velocities in all frames or some, which are read many at a time from a file."""
    numbers = range(len(sol.t)) if among is None else among
    size = max(getattr(sol.q, "block", len(numbers)), 1)
    for start in range(numbers.start, numbers.stop, size):
        part = slice(start, min(start + size, numbers.stop))
        yield from zip(sol.t[part].tolist(), sol.q[part], sol.u[part], strict=True)


def fastest(sol: Solution, among: range | None = None) -> float:
    """The fastest speed in some frames or all: of a velocity, or of the median displacement if that is larger.

    It is infinite if all velocities are zero, because speeds are then unknown.

    >>> import jostle as jo
    >>> walker = jo.Sweeping(q0=[[0.0, 0.0]], velocity=[1.5, 0.0], within=jo.Balls([0.2]))
    >>> fastest(jo.solve(walker, jo.Venel(), t=1.0, h=0.5))
    1.5
    """
    speed, usual = 0.0, []
    time, before = 0.0, np.zeros((0, 2))
    for k, (t, q, u) in enumerate(_states(sol, among)):
        speed = max(speed, float(np.linalg.norm(u[np.isfinite(u).all(axis=1)], axis=1).max(initial=0.0)))
        if k:
            way = np.linalg.norm(q - before, axis=1) / (t - time)
            usual.append(float(np.median(way[np.isfinite(way)])) if np.isfinite(way).any() else 0.0)
        time, before = t, q
    return np.inf if speed == 0.0 else max(speed, float(np.median(usual)) if usual else 0.0)


MAX_WALKING_ON = 2.0
"""People who left walk on for at most this multiple of the time between frames, since they may have been pushed."""
JUMP_FACTOR = 3.0
"""A displacement that needs more than this multiple of the fastest speed is a jump."""


class Move(NamedTuple):
    """The motion of people between two frames, or on the last part of the way, after stairs."""

    start: Array
    """(n,) time at which each person starts."""
    end: Array
    """(n,) time at which each person arrives."""
    before: Array
    """(n, 2) positions before, NaN for absent people."""
    after: Array
    """(n, 2) positions after; for people who left, where they would have been."""
    gone: Booleans
    """(n,) whether each person left."""
    landed: Booleans
    """(n,) whether each person came off stairs to `before`."""

    def time(self, person: Integers, part: Array) -> Array:
        """The time at which a person had walked a fraction of the way; for people who left, at most the end."""
        longer = np.where(self.gone[person], MAX_WALKING_ON, 1.0)
        start, end = self.start[person], self.end[person]
        return np.asarray(np.minimum(start + part * longer * (end - start), end))


class Frame(NamedTuple):
    """A saved frame, and how people came to it from the frame before."""

    t: float
    q: Array
    u: Array
    jumped: Booleans
    """(n,) whether each person took stairs since the frame before."""
    moves: tuple[Move, ...]
    """None for the first frame; one, or two if somebody took stairs."""


def frames_of(sol: Solution, plan: Any = None, among: range | None = None) -> Iterator[Frame]:
    """The frames of a run, or some consecutive ones, each read once. By default the plan is that of the crowd."""
    stairs = _Stairs.of(planar(sol), plan, among)
    before: Frame | None = None
    for k, (t, q, u) in enumerate(_states(sol, among), start=0 if among is None else among.start):
        frame = Frame(t, q, u, np.zeros(len(q), dtype=bool), ())
        if before is not None:
            frame = frame._replace(**_between(sol, stairs, before, frame, k))
        yield frame
        before = frame


def _between(sol: Solution, stairs: _Stairs, before: Frame, after: Frame, k: int) -> dict[str, Any]:
    """Who took stairs between frame k and the one before, and the moves."""
    time, q, velocity = before.t, before.q, before.u
    gone = present(q) & ~present(after.q)
    if k == 1 and gone.any() and not velocity[gone].any():
        velocity = _wished(sol, time, q, gone)
    ahead = q + MAX_WALKING_ON * (after.t - time) * velocity
    there = np.where(gone[:, None], ahead, after.q)
    jumped = stairs.jumped(after.t - time, q, there) & ~gone
    start, end = np.full(len(q), time), np.full(len(q), after.t)
    move = Move(start, end, q, there, gone, jumped)
    return {"jumped": jumped, "moves": tuple(stairs.legs(move, radii_in(sol, k - 1))) if jumped.any() else (move,)}


def moves(sol: Solution, plan: Any = None) -> Iterator[Move]:
    """Yield one `Move` per frame, or two if somebody took stairs. By default the plan is that of the crowd."""
    for frame in frames_of(sol, plan):
        yield from frame.moves


def jumps(sol: Solution) -> Booleans:
    """(frames - 1, n) whether each person took stairs between a frame and the next."""
    return np.array([frame.jumped for frame in frames_of(sol)][1:], dtype=bool).reshape(-1, sol.q.shape[1])


def check_known(move: Move) -> None:
    """Raise if people left before the first saved time, and their velocities are unknown."""
    if np.isnan(move.after[move.gone]).any():
        raise InvalidValue(
            f"people left before t = {move.end.max():g}, the first saved time, and the file does not contain where "
            f"they walked: pass the problem, jo.io.read(path, problem)"
        )


def _wished(sol: Solution, t: float, q: Array, gone: Booleans) -> Array:
    """(n, 2) desired velocities of people who left in the first step, since a first-order run starts with u = 0."""
    if sol.problem is None and sol.order != 2:
        return np.full_like(q, np.nan)  # unknown
    if not isinstance(sol.problem, Sweeping):
        return np.zeros_like(q)
    return sol.problem.velocity(t, np.where(gone[:, None], q, q[gone][0]))


class _Stairs(NamedTuple):
    """The data by which jumps are detected."""

    plan: Plan | None
    """The floor plan with stairs, or None."""
    floors: tuple[Any, ...]
    """Polygons of the floors of the plan."""
    fastest: float
    """The fastest desired speed, or the fastest recorded one if that is unknown; infinite where nobody takes stairs."""

    @staticmethod
    def of(sol: Solution, plan: Any, among: range | None = None) -> _Stairs:
        known = plan if isinstance(plan, Plan) else plan_of(sol)
        if known is not None and not known.links:
            return _Stairs(None, (), np.inf)
        speeds = crowd_facts(sol).speeds
        quick = fastest(sol, among) if speeds is None or not speeds.any() else float(speeds.max())
        return _Stairs(known, () if known is None else tuple(floors(known.area)), quick)

    def jumped(self, duration: float, before: Array, after: Array) -> Booleans:
        """(n,) whether each person jumped instead of walking."""
        way = np.linalg.norm(after - before, axis=1)
        with np.errstate(invalid="ignore"):
            found = way > JUMP_FACTOR * self.fastest * duration
        if len(self.floors) > 1:
            here, there = self._floor(before), self._floor(after)
            found |= (here >= 0) & (there >= 0) & (here != there)
        return np.asarray(found & np.isfinite(way))

    def _floor(self, x: Array) -> Integers:
        floor = np.full(len(x), -1)
        for number, area in enumerate(self.floors):
            floor[present(x, area)] = number
        return floor

    def legs(self, move: Move, radii: Array) -> Iterator[Move]:
        """The way to the end of the stairs, and on from their landing; all others arrive with the first part."""
        jumped = move.landed
        foot, landing = move.before.copy(), move.after.copy()
        for person in np.flatnonzero(jumped):
            if self.plan is not None:
                foot[person], landing[person] = _way(self.plan, radii[person], move.before[person], move.after[person])
        first, last = (np.linalg.norm(b - a, axis=1) for a, b in ((move.before, foot), (landing, move.after)))
        total = np.where(jumped, first + last, 1.0)
        part = np.where(jumped, np.where(total > 0.0, first / np.where(total > 0.0, total, 1.0), 0.5), 1.0)
        change = move.start + part * (move.end - move.start)
        nobody = np.zeros(len(jumped), dtype=bool)
        there = np.where(jumped[:, None], foot, move.after)
        yield Move(move.start, change, move.before, there, move.gone, nobody)
        at = np.where(move.gone[:, None], np.nan, landing)
        yield Move(change, move.end, at, np.where(move.gone[:, None], np.nan, move.after), nobody, jumped)


def _way(plan: Plan, size: float, before: Array, after: Array) -> tuple[Array, Array]:
    """The end of the stairs and the landing on the shortest way over stairs, for a person of this radius."""
    found = []
    for shaft in plan.shafts.values():
        inner, outer = (Passage(shaft, back).goal(size)[0] for back in (False, True))
        for first, last in ((inner, outer), (outer, inner)):  # stairs lead in both directions
            foot, landing = _nearest(first, before, size), _nearest(last, after, size)
            found.append((np.linalg.norm(before - foot) + np.linalg.norm(after - landing), foot, landing))
    return min(found, key=lambda one: float(one[0]))[1:]


def _nearest(segment: Array, x: Array, margin: float) -> Array:
    """The point of a segment (2, 2) nearest to x, at least `margin` away from its ends."""
    along = segment[1] - segment[0]
    width = float(np.linalg.norm(along))
    aside = min(margin / width, 0.5)
    part = np.clip((x - segment[0]) @ along / width**2, aside, 1.0 - aside)
    return np.asarray(segment[0] + part * along)
