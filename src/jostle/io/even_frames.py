"""Evenly spaced frames of a crowd, for programs that have frames and a rate instead of times."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from jostle._tools.arrays import Array, Integers
from jostle.errors import InvalidValue
from jostle.io.crowd_runs import planar
from jostle.io.moves import Move, moves
from jostle.plans.areas import present, walkable
from jostle.result.solution import Solution

SPACING_TOLERANCE = 1e-6
"""Times are evenly spaced if none is off by more than this fraction of the spacing."""
NO_FRAME = "the solution has no frames"
"""Error message about a solution without frames."""


class People(NamedTuple):
    """The people in one frame."""

    number: int
    """Number of the frame."""
    person: Integers
    """(m,) the numbers of the people who are present."""
    place: Array
    """(m, 2) their positions."""
    velocity: Array
    """(m, 2) their velocities."""


def frame_rate(sol: Solution) -> float:
    """Frames per second of evenly spaced saved times.

    >>> import jostle as jo
    >>> walker = jo.Sweeping(q0=[[0.0, 0.0]], velocity=[1.0, 0.0], within=jo.Balls([0.2]))
    >>> frame_rate(jo.solve(walker, jo.Venel(), t=1.0, h=0.05, every=2))
    10.0
    """
    if len(sol.t) == 0:
        raise InvalidValue(NO_FRAME)
    if len(sol.t) == 1:
        raise InvalidValue("a solution with one frame has no frame rate: save more frames, or give rate=...")
    spacing = (sol.t[-1] - sol.t[0]) / (len(sol.t) - 1)
    off = np.abs(np.diff(sol.t) - spacing)
    if off.max() > SPACING_TOLERANCE * spacing:
        k = int(off.argmax())
        raise InvalidValue(
            f"the saved times are not evenly spaced: {spacing:.6g} s on average, but {sol.t[k + 1] - sol.t[k]:.6g} s "
            f"after t = {sol.t[k]:g}. Give rate=..., the frames per second at which people are interpolated"
        )
    return float(f"{1.0 / spacing:.12g}")


def usual_rate(sol: Solution) -> float:
    """Frames per second from the median spacing of the saved times, because the last frame of a run may be off.

    >>> import jostle as jo
    >>> walker = jo.Sweeping(q0=[[0.0, 0.0]], velocity=[1.0, 0.0], within=jo.Balls([0.2]))
    >>> usual_rate(jo.solve(walker, jo.Venel(), t=1.05, h=0.05, every=2))
    10.0
    """
    if len(sol.t) < 2:
        return frame_rate(sol)
    return float(f"{1.0 / float(np.median(np.diff(sol.t))):.12g}")


def frames(sol: Solution, *, rate: float | None = None, inside: Any = None, plan: Any = None) -> Iterator[People]:
    """Yield the people of each frame, at the saved times or at a given rate; with `inside`, only those in an area.

    A plan with stairs, by default that of the crowd, determines how people move between floors.

    >>> import jostle as jo
    >>> walker = jo.Sweeping(q0=[[0.0, 0.0]], velocity=[1.0, 0.0], within=jo.Balls([0.2]))
    >>> sol = jo.solve(walker, jo.Venel(), t=1.0, h=0.25)
    >>> [float(people.place[0, 0]) for people in frames(sol, rate=2.0)]
    [0.0, 0.5, 1.0]
    """
    planar(sol)
    if len(sol.t) == 0:
        raise InvalidValue(NO_FRAME)
    polygon = None if inside is None else walkable(inside)
    states = enumerate(zip(sol.q, sol.u, strict=True)) if rate is None else _at_rate(sol, rate, plan)
    for number, (q, u) in states:
        person = np.flatnonzero(present(q, polygon))
        yield People(number, person, q[person], u[person])


def _at_rate(sol: Solution, rate: float, plan: Any) -> Iterator[tuple[int, tuple[Array, Array]]]:
    """q and u at evenly spaced times, linear between the saved times and on both sides of a jump."""
    if not 0.0 < rate < np.inf:
        raise InvalidValue(f"rate must be positive and finite, in frames per second, not {rate}")
    last = int(np.floor((sol.t[-1] - sol.t[0]) * rate * (1.0 + SPACING_TOLERANCE)))
    times = np.minimum(sol.t[0] + np.arange(last + 1) / rate, sol.t[-1])
    yield 0, (sol.q[0], sol.u[0])
    number, k, legs = 1, 1, []
    for move in moves(sol, plan):
        legs.append(move)
        if not (move.end == sol.t[k]).all():
            continue
        before, after = sol.u[k - 1], sol.u[k]
        while number <= last and times[number] <= sol.t[k]:
            part = (times[number] - sol.t[k - 1]) / (sol.t[k] - sol.t[k - 1])
            exact = part == 1.0
            q = sol.q[k] if exact else _on_the_way(legs, float(times[number]))
            yield number, (q, after if exact else (1.0 - part) * before + part * after)
            number += 1
        k, legs = k + 1, []


def _on_the_way(legs: list[Move], t: float) -> Array:
    """(n, 2) positions at a time, on the last part of the way that each person began; NaN for people who left."""
    place = np.full_like(legs[0].before, np.nan)
    for leg in legs:
        begun = (leg.start <= t) & ~leg.gone
        length = leg.end - leg.start
        part = np.clip(np.divide(t - leg.start, length, out=np.ones_like(length), where=length > 0.0), 0.0, 1.0)
        x = (1.0 - part[:, None]) * leg.before + part[:, None] * leg.after
        place = np.where(begun[:, None], x, place)
    return place
