"""Walking speeds of people, from their displacement over a time around each frame.

With a window w,

    v_i(t) = |x_i(t + w / 2) - x_i(t - w / 2)| / w

(Steffen & Seyfried 2010; `compute_individual_speed` of PedPy, with one-sided windows at the ends). Steps of a few
hundredths of a second sway: the speed in one step is larger than the speed at which people get ahead. Only positions in
the walkable area count. Where a person is not there at one end of the window, or took stairs in between, the other half
is used, and a shorter window if neither half is known.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from jostle._tools.arrays import Array, Booleans, Integers
from jostle.crowds.measure.moves import Frame, frames_of
from jostle.plans.plan import present
from jostle.result.solution import Solution

FRAME_STEP = 5
"""Default number of saved frames before and after a frame between which people are followed; PedPy's usual value."""
LONGEST_SIDE = 1.0
"""Longest default time before and after a frame (s): people walk a few steps in it, and hardly change their speed."""
TIME_TOLERANCE = 1e-6
"""Part of the time between frames by which a window may begin before the first frame, or end after the last one."""


class Seen(NamedTuple):
    """What is kept of a frame while windows need it."""

    q: Array
    inside: Booleans
    u: Array
    part: Integers
    """(n,) number of times that each person had taken stairs, or was absent, by then."""


class Speeds:
    """The places and the speeds of people in chosen frames of a run, in a walkable area.

    Frames are seen one after the other, and kept as long as a window needs them.

    >>> import jostle as jo
    >>> walker = jo.Sweeping(q0=[[0.5, 0.5]], velocity=[1.5, 0.0], within=jo.Balls([0.2]))
    >>> sol = jo.solve(walker, jo.Venel(), t=1.0, h=0.1)
    >>> area = jo.crowds.Room([(0, 0), (4, 0), (4, 1), (0, 1)], doors=[((4, 0), (4, 1))]).area
    >>> speeds = Speeds(sol.t, 1, area, [0, 5])
    >>> [speeds.of(k).round(9).tolist() for k in speeds.over(sol)]
    [[1.5], [1.5]]
    """

    def __init__(self, t: Array, n: int, area: object, chosen: Sequence[int], window: float | None = None) -> None:
        self.t, self.area, self.chosen = np.asarray(t), area, deque(sorted(set(chosen)))
        self.spacing = float(np.median(np.diff(self.t))) if len(self.t) > 1 else 0.0
        self.side = min(FRAME_STEP * self.spacing, LONGEST_SIDE) if window is None else window / 2.0
        self.reach = {k: self._reach(k) for k in self.chosen}
        self.first = max(min((k - reach for k, reach in self.reach.items()), default=0), 0)
        self.last = min(max((k + reach for k, reach in self.reach.items()), default=0), len(self.t) - 1)
        self.parts = np.zeros(n, dtype=np.int64)
        self.kept: dict[int, Seen] = {}

    def over(self, sol: Solution) -> Iterator[int]:
        """Read the frames that are needed, and yield the chosen ones in order of time as soon as `of` knows them."""
        needed = range(self.first, self.last + 1)
        for k, frame in zip(needed, frames_of(sol, among=needed), strict=True):
            yield from self.see(k, frame)

    def see(self, k: int, frame: Frame) -> list[int]:
        """Take the next frame; return the chosen frames whose windows end with it."""
        broken = frame.jumped | ~present(frame.q)
        if k - 1 in self.kept:
            broken |= ~present(self.kept[k - 1].q)
        self.parts = self.parts + broken
        self.kept[k] = Seen(frame.q, present(frame.q, self.area), frame.u, self.parts)
        first = self.chosen[0] if self.chosen else k
        for old in [j for j in self.kept if j < min(first - max(self.reach.values(), default=0), k - 1)]:
            del self.kept[old]
        ready = []
        while self.chosen and k >= min(self.chosen[0] + self.reach[self.chosen[0]], len(self.t) - 1):
            ready.append(self.chosen.popleft())
        return ready

    def place(self, k: int) -> Array:
        """(n, 2) positions in frame k, NaN for people who are not in the area."""
        return np.where(self.kept[k].inside[:, None], self.kept[k].q, np.nan)

    def of(self, k: int) -> Array:
        """(n,) speeds in frame k, NaN for people who are not in the area."""
        here = self.place(k)
        unknown = np.isfinite(here).all(axis=1)
        speed = np.where(unknown, np.linalg.norm(self.kept[k].u, axis=1), np.nan)  # of who is seen once
        for before, after in self._windows(k):
            (start, since), (end, until) = (self._followed(k, j) for j in (before, after))
            known = unknown & (until > since)
            speed[known] = np.linalg.norm(end - start, axis=1)[known] / (until - since)[known]
            unknown &= ~known
            if not unknown.any():
                break
        return speed

    def _followed(self, k: int, j: int | None) -> tuple[Array, Array]:
        """(n, 2) positions and (n,) times in frame j of those who are followed from there to frame k, or of frame k."""
        here, now = self.place(k), np.full(len(self.place(k)), self.t[k])
        if j is None:
            return here, now
        there = self.place(j)
        known = np.isfinite(there).all(axis=1) & (self.kept[j].part == self.kept[k].part)
        return np.where(known[:, None], there, here), np.where(known, self.t[j], now)

    def _windows(self, k: int) -> Iterator[tuple[int | None, int | None]]:
        """The frames at both ends of windows around frame k, the widest one first; None beyond the run."""
        yield self._end(k, -1.0), self._end(k, 1.0)
        for step in range(self._reach(k) - 1, 0, -1):
            yield (k - step if k >= step else None), (k + step if k + step < len(self.t) else None)

    def _reach(self, k: int) -> int:
        """The number of frames from frame k to an end of the widest window around it."""
        ends = [self._end(k, sign) for sign in (-1.0, 1.0)]
        return max((abs(j - k) for j in ends if j is not None), default=len(self.t))

    def _end(self, k: int, sign: float) -> int | None:
        """The frame nearest to one end of the window around frame k, at least the next one; None beyond the run."""
        at, slack = self.t[k] + sign * self.side, TIME_TOLERANCE * self.spacing
        if not self.t[0] - slack <= at <= self.t[-1] + slack:
            return None
        nearest = int(np.abs(self.t - at).argmin())
        j = min(nearest, k - 1) if sign < 0.0 else max(nearest, k + 1)
        return j if 0 <= j < len(self.t) else None
